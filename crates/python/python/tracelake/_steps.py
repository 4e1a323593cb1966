"""Progress of the commands of this package: a bar on a terminal, lines, or JSON lines."""

from __future__ import annotations

import json
import shutil
import sys
import threading
import time
from contextlib import suppress
from typing import Any

#: A bar appears after this many seconds, and is drawn again after these.
_QUICK = 1.0
_REDRAW = 0.2


class Steps:
    """Progress of a command by its checks, figures or tables; this one shows nothing."""

    def begin(self, number: int) -> None:
        """Sets the number of steps."""

    def start(self, name: str) -> None:
        """A step begins."""

    def finish(self, name: str, outcome: str) -> None:
        """It has ended."""


class ShownSteps(Steps):
    """Shows the steps of a command on stderr, as ``--progress`` says."""

    def __init__(self, command: str, how: str) -> None:
        self._command = command
        self._how = "bar" if how == "auto" and sys.stderr.isatty() else how
        self._begun = time.monotonic()
        self._total = self._done = 0
        self._name = ""
        self._is_over = threading.Event()
        self._bar: threading.Thread | None = None

    @property
    def is_for_people(self) -> bool:
        """Whether the end of the work is reported in words."""
        return self._how not in ("json", "none")

    def begin(self, number: int) -> None:
        """Sets the number of steps."""
        self._total = number
        if self._how == "json":
            self._line(event="start", command=self._command, steps=number)
        elif self._how == "bar":
            self._bar = threading.Thread(target=self._draw, daemon=True)
            self._bar.start()

    def start(self, name: str) -> None:
        """A step begins."""
        self._name = name

    def finish(self, name: str, outcome: str) -> None:
        """It has ended."""
        self._done += 1
        if self._how == "plain":
            say(f"{name}: {outcome}")
        elif self._how == "json":
            self._line(
                event="step", name=name, outcome=outcome, steps_done=self._done, steps=self._total, seconds=self._seconds()
            )

    def end(self) -> None:
        """Clears the bar."""
        self._is_over.set()
        if self._bar is not None:
            self._bar.join()

    def done(self, **facts: object) -> None:
        """Says in a JSON line, if these were asked for, that all went well."""
        if self._how == "json":
            self._line(event="done", command=self._command, **facts, seconds=self._seconds())

    def _seconds(self) -> float:
        return round(time.monotonic() - self._begun, 3)

    def _line(self, **facts: Any) -> None:
        say(json.dumps(facts))

    def _draw(self) -> None:
        is_drawn = False
        with suppress(OSError, ValueError):
            while not self._is_over.wait(_REDRAW):
                if self._seconds() >= _QUICK:
                    is_drawn = True
                    # Back to the start of the line, and clear it.
                    sys.stderr.write(f"\r\x1b[K{self.text(shutil.get_terminal_size().columns)}")
                    sys.stderr.flush()
            if is_drawn:
                sys.stderr.write("\r\x1b[K")
                sys.stderr.flush()

    def text(self, columns: int) -> str:
        """The bar, as wide as a terminal with that many columns has room for."""
        length = int(30 * self._done / max(1, self._total))
        bar = ("=" * length + ">")[:30]
        return f"{bar:<30} {self._done} of {self._total}  {self._seconds():.0f} s  {self._name}"[: columns - 1]


def say(text: str) -> None:
    """Writes one line to stderr. If stderr is closed, the line is lost."""
    with suppress(OSError, ValueError):
        print(text, file=sys.stderr, flush=True)
