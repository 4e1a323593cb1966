"""The exceptions: one class for each exit code of the program."""

from __future__ import annotations

import re

__all__ = [
    "BadRowError",
    "CorruptInputError",
    "FailedError",
    "MissingExtraError",
    "RefusedError",
    "StoppedError",
    "TracelakeError",
    "UsageError",
]


class TracelakeError(Exception):
    """What went wrong, where, and what to do about it.

    The text is one line: ``path:line:column: table.column: reason; hint``. Whatever isn't known is
    ``None``.
    """

    #: The exit code that the program ends with.
    exit_code: int = 1
    #: The file or directory.
    path: str | None = None
    #: The line, from 1.
    line: int | None = None
    #: The first byte of the field in its line, from 1.
    column: int | None = None
    #: ``table`` or ``table.column``.
    field: str | None = None
    #: The value that is wrong, with control characters escaped, cut after 80 bytes.
    value: str | None = None
    #: What to do.
    hint: str | None = None


class FailedError(TracelakeError):
    """Reading or writing failed, or something is missing."""


class UsageError(TracelakeError, ValueError):
    """Arguments that can't be used."""

    exit_code = 2


class BadRowError(TracelakeError):
    """A bad row, too many rejected rows, or a file that doesn't match its table."""

    exit_code = 4


class CorruptInputError(TracelakeError):
    """Broken gzip, a wrong checksum, or a damaged lake."""

    exit_code = 5


class RefusedError(TracelakeError):
    """The lake is locked, isn't a lake, isn't finished, or was made with other options."""

    exit_code = 6


class StoppedError(TracelakeError):
    """Stopped by a signal; finished parts are kept."""

    exit_code = 130


class MissingExtraError(TracelakeError, ImportError):
    """An optional package is missing."""

    exit_code = 2


_CLASSES: dict[int, type[TracelakeError]] = {
    kind.exit_code: kind
    for kind in (FailedError, UsageError, BadRowError, CorruptInputError, RefusedError, StoppedError)
}

# `--on-bad-row reject` is `on_bad_row="reject"` here, and `--allow-missing` is `allow_missing=True`.
_WITH_VALUE = re.compile(r"--(on-bad-row|checksums) (reject|fail|none)\b")
_SWITCH = re.compile(
    r"--(allow-missing|allow-rejects|overwrite|take-over|ignore-disk-space)\b"
)
_OPTION = re.compile(r"--([a-z]+(?:-[a-z]+)*)\b")


def _pythonic(text: str) -> str:
    """Options of the command line as the keyword arguments of this package.

    >>> _pythonic("correct it, or pass --on-bad-row reject; pass --allow-missing or a smaller --threads")
    'correct it, or pass on_bad_row="reject"; pass allow_missing=True or a smaller threads'
    """

    def keyword(match: re.Match[str]) -> str:
        return match[1].replace("-", "_")

    text = _WITH_VALUE.sub(lambda match: f'{keyword(match)}="{match[2]}"', text)
    text = _SWITCH.sub(lambda match: f"{keyword(match)}=True", text)
    return _OPTION.sub(keyword, text)


def from_code(
    code: int,
    message: str,
    *,
    path: str | None = None,
    line: int | None = None,
    column: int | None = None,
    field: str | None = None,
    value: str | None = None,
    hint: str | None = None,
) -> TracelakeError:
    """The exception of an exit code; called by the extension module."""
    kind = _CLASSES.get(code, StoppedError if code > 128 else FailedError)
    # A path or a value may look like an option, so only the rest of the message is rewritten.
    if hint is not None and message.endswith(hint):
        message = message[: -len(hint)] + _pythonic(hint)
    if kind is UsageError:
        message = _pythonic(message)
    error = kind(message)
    error.exit_code = code
    error.path, error.line, error.column = path, line, column
    error.field, error.value = field, value
    error.hint = None if hint is None else _pythonic(hint)
    return error
