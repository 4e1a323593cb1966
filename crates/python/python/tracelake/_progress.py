"""Events of a run, and ways to show them."""

from __future__ import annotations

import importlib
import logging
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TextIO, Union

from . import _show
from ._errors import TracelakeError, UsageError, WrongTypeError

Kind = Literal[
    "begun", "started", "read", "finished", "kept", "verified", "fetched", "warning", "generated"
]


@dataclass(frozen=True)
class Event:
    """Something that happened during a run; ``None`` is what its kind doesn't have.

    ``begun``: the work begins, on ``bytes`` of input. ``started``: a part. ``read``: ``bytes`` more
    of the input. ``finished``: a part, of ``rows`` and ``rejected`` rows, ``bytes`` large. ``kept``:
    a part of an earlier run, whose input has ``bytes``. ``verified``: a part, of ``rows`` rows.
    ``fetched``: a file of ``bytes``, by its ``path`` below the directory; ``kept`` if it was there before.
    ``warning``: ``text``. ``generated``: ``rows`` of a part so far.
    """

    kind: Kind
    table: str | None = None
    file_number: int | None = None
    rows: int | None = None
    rejected: int | None = None
    bytes: int | None = None
    text: str | None = None
    #: The cell of the part, in a lake that is partitioned by cell.
    cell: str | None = None
    path: str | None = None
    kept: bool | None = None


#: Called with each event, in the thread that called the function.
Callback = Callable[[Event], object]

#: A callback; ``"auto"`` or ``True`` (a bar on a terminal, a line in a notebook, otherwise nothing);
#: ``"bar"``; ``"text"``; ``None``, ``False`` or ``"none"``.
Progress = Union[Callback, Literal["auto", "bar", "text", "none"], bool, None]


#: Logs warnings, and finished parts as INFO. Without a handler, nothing is printed.
_LOGGER = logging.getLogger("tracelake")
_LOGGER.addHandler(logging.NullHandler())


class Watch(Protocol):
    """The callback of the extension module."""

    def __call__(self, kind: Any, **fields: Any) -> None: ...


class Watcher:
    """Hands events to the callback and keeps warnings for the result."""

    def __init__(self, progress: Progress) -> None:
        self.warnings: list[str] = []
        self._show, self._end = _shower(progress)

    def __call__(self, kind: Any, **fields: Any) -> None:
        event = Event(kind, **fields)
        if event.text is not None:
            self.warnings.append(event.text)
        _log(event)
        self._show(event)

    def __enter__(self) -> Watcher:
        return self

    def __exit__(self, *_: object) -> None:
        self._end()


def _nothing() -> None:
    pass


def _shower(progress: Progress) -> tuple[Callback, Callable[[], None]]:
    is_closed = sys.stderr is None and progress in ("bar", "text")
    if progress is None or progress is False or progress == "none" or is_closed:
        return (lambda _: None), _nothing
    if callable(progress):
        return progress, _nothing
    if progress is True or progress == "auto":
        notebook = _notebook()
        if notebook is not None:
            line = Line(notebook)
        elif sys.stderr is not None and sys.stderr.isatty():
            line = Line(_terminal(sys.stderr))
        else:
            return (lambda _: None), _nothing
    elif progress == "bar" and sys.stderr is not None:
        line = Line(_terminal(sys.stderr))
    elif progress == "text":
        return _print_lines, _nothing
    else:
        raise _refused(progress)
    return line.show, line.end


def _refused(progress: object) -> TracelakeError:
    kind = UsageError if isinstance(progress, str) else WrongTypeError
    return kind(f"progress: expected a function, 'auto', 'bar', 'text', 'none', a bool or None, not {progress!r}")


def _notebook() -> Callable[[str], None] | None:
    """Writes one line of a notebook's output over and over; ``None`` outside of a notebook."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if shell is None or not hasattr(shell, "kernel"):
        return None
    display: Any = importlib.import_module("IPython.display")
    handle = display.display({"text/plain": ""}, raw=True, display_id=True)

    def write(text: str) -> None:
        if text:
            handle.update({"text/plain": text}, raw=True)

    return write


def _terminal(stream: TextIO) -> Callable[[str], None]:
    def write(text: str) -> None:
        # Back to the start of the line, and clear it.
        stream.write(f"\r\x1b[K{text}")
        stream.flush()

    return write


class Line:
    """One line that says how far a run is."""

    def __init__(self, write: Callable[[str], None]) -> None:
        self._write = write
        self._total = self._done = 0
        self._begun = time.monotonic()
        self._what = ""

    def show(self, event: Event) -> None:
        """Shows an event."""
        if event.kind == "begun":
            self._total = event.bytes or 0
        elif event.kind in ("read", "kept") or event.kept:
            self._done += event.bytes or 0
        elif event.kind == "fetched":
            self._what = event.path or ""
        elif event.kind in ("started", "generated"):
            self._what = _part(event)
        self._write(self.text(time.monotonic() - self._begun))

    def text(self, seconds: float) -> str:
        """The line after `seconds` seconds."""
        if not self._total:
            return self._what
        share = min(self._done / self._total, 1.0)
        bar = "=" * int(30 * share)
        rate = self._done / 1e6 / seconds if seconds > 0 else 0.0
        return f"{bar:<30} {share:4.0%} {rate:.0f} MB/s  {self._what}"

    def end(self) -> None:
        """Clears the line of a terminal."""
        self._write("")


def _part(event: Event) -> str:
    of_cell = "" if event.cell is None else f" of cell {event.cell}"
    return f"{event.table} {event.file_number}{of_cell}"


def _line(event: Event) -> str | None:
    """A part that is done, in words."""
    if event.kind == "finished":
        rejected = f", {event.rejected:,} rejected" if event.rejected else ""
        return f"{_part(event)}: {_show.several(event.rows or 0, 'row')}{rejected}"
    if event.kind == "fetched":
        return f"{event.path}: {_show.size(event.bytes or 0)}{', kept' if event.kept else ''}"
    if event.kind in ("kept", "verified"):
        return f"{_part(event)}: {_show.several(event.rows or 0, 'row')}, {event.kind}"
    return None


def _print_lines(event: Event) -> None:
    line = f"warning: {event.text}" if event.kind == "warning" else _line(event)
    if line is not None and event.kind != "verified":
        print(line, file=sys.stderr)


def _log(event: Event) -> None:
    if event.kind == "warning":
        _LOGGER.warning("%s", event.text)
    elif event.kind == "started":
        _LOGGER.debug("%s: started", _part(event))
    else:
        line = _line(event)
        if line is not None:
            _LOGGER.info("%s", line)
