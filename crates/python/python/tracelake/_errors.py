"""The exceptions: one class for each exit code of the program, and subclasses that are built-in exceptions, too."""

from __future__ import annotations

import difflib
import errno
import os
import re
import shlex
from collections.abc import Generator, Sequence
from contextlib import contextmanager

from . import _tracelake
from ._convert_options import OPTIONS

__all__ = [
    "AccessDeniedError",
    "BadRowError",
    "CorruptInputError",
    "FailedError",
    "MissingExtraError",
    "MissingFileError",
    "MissingLakeError",
    "RefusedError",
    "StoppedError",
    "StorageError",
    "TracelakeError",
    "UnknownNameError",
    "UsageError",
    "WrongTypeError",
]


class TracelakeError(Exception):
    """An error: the reason, the place, and what to do about it.

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
    #: Advice on what to do.
    hint: str | None = None

    def __str__(self) -> str:
        # Some built-in exceptions would show their arguments in another way.
        return str(self.args[0]) if self.args else ""

    def __reduce__(self) -> tuple[object, ...]:
        facts = dict(self.__dict__)
        if isinstance(self, OSError):
            facts |= {"errno": self.errno, "strerror": self.strerror, "filename": self.filename}
        return (type(self), self.args, facts)


class FailedError(TracelakeError):
    """Reading or writing failed, or something is missing."""


class StorageError(FailedError, OSError):
    """The operating system refused to read or write; ``errno`` is its number."""


class MissingFileError(StorageError, FileNotFoundError):
    """A file or directory doesn't exist."""


class AccessDeniedError(StorageError, PermissionError):
    """A file or directory may not be read or written."""


class _ArgumentError(TracelakeError):
    """An error whose text may repeat an argument, which loses the secrets of a URL."""

    exit_code = 2

    def __init__(self, text: str = "") -> None:
        super().__init__(_tracelake.redacted(text))


class UsageError(_ArgumentError, ValueError):
    """Arguments that can't be used."""


class UnknownNameError(UsageError, KeyError):
    """A lake has no table of this name, or a table no such column."""


class WrongTypeError(_ArgumentError, TypeError):
    """An argument of a wrong type."""


class BadRowError(TracelakeError):
    """A bad row, too many rejected rows, or a file that doesn't match its table."""

    exit_code = 4


class CorruptInputError(TracelakeError):
    """Broken gzip, a wrong checksum, or a damaged lake."""

    exit_code = 5


class RefusedError(TracelakeError):
    """The lake is locked, isn't a lake, isn't finished, or was made with other options."""

    exit_code = 6


class MissingLakeError(RefusedError, FileNotFoundError):
    """There is nothing where a lake was expected."""


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

# Options of the command line that are keyword arguments here. `--shard` and others are the program's alone.
_SWITCHES = {name for name, (kind, _) in OPTIONS.items() if kind == "switch"} | {"allow_rejects"}
_PASS_VALUE = re.compile(r"pass --([a-z]+(?:-[a-z]+)*) ([A-Za-z0-9][A-Za-z0-9.:_-]*)")
_WITH_VALUE = re.compile(r"--(on-bad-row|checksums) (reject|fail|none)\b")
_OPTION = re.compile(r"--([a-z]+(?:-[a-z]+)*)\b")
_CONVERT = re.compile(r"tracelake convert (.+)$")
_INVALID = re.compile(r"invalid value '(.*)' for '([a-z_]+) <[^>]*>'(?:: (.*))?$")
_MEANT = re.compile(r"\bdid you mean ([\w.-]+(?: or [\w.-]+)*)\?")


def pythonic(text: str) -> str:
    """Options and commands of the command line as Python.

    >>> pythonic("correct it, or pass --on-bad-row reject; pass --allow-missing or a smaller --threads")
    'correct it, or pass on_bad_row="reject"; pass allow_missing=True or a smaller threads'
    >>> pythonic("name the trace with --trace; tracelake schema lists them")
    'name the trace with trace; tracelake.traces() lists them'
    >>> pythonic("finish with tracelake commit lake --remove-unnamed, which removes them")
    'finish with tracelake commit lake --remove-unnamed, which removes them'
    >>> pythonic("invalid value '0' for '--threads <N>': expected a whole number from 1 to 1024")
    "threads: expected a whole number from 1 to 1024, not '0'"
    >>> pythonic("did you mean cpus or cpu? it has cpus, cpu")
    "did you mean 'cpus' or 'cpu'? it has cpus, cpu"
    >>> pythonic("make a lake of it first: tracelake convert 'my trace' lake")
    "make a lake of it first: tracelake.convert('my trace', 'lake')"
    """

    def keyword(match: re.Match[str]) -> str:
        return match[1].replace("-", "_")

    def with_value(match: re.Match[str]) -> str:
        name = keyword(match)
        is_value = name in OPTIONS and name not in _SWITCHES
        return f'pass {name}="{match[2]}"' if is_value else match[0]

    def option(match: re.Match[str]) -> str:
        name = keyword(match)
        if name in _SWITCHES:
            return f"{name}=True"
        return name if name in OPTIONS else match[0]

    def convert(match: re.Match[str]) -> str:
        try:
            words = shlex.split(match[1])
        except ValueError:
            return match[0]
        if words == ["SRC", "OUT"]:
            return "tracelake.convert(src, out)"
        return f"tracelake.convert({', '.join(map(repr, words))})" if len(words) == 2 else match[0]

    text = _PASS_VALUE.sub(with_value, text)
    text = _WITH_VALUE.sub(lambda match: f'{keyword(match)}="{match[2]}"', text)
    text = _OPTION.sub(option, text)
    text = _INVALID.sub(_invalid, text)
    text = _MEANT.sub(lambda match: f"did you mean {' or '.join(map(repr, match[1].split(' or ')))}?", text)
    text = text.replace("tracelake schema lists", "tracelake.traces() lists")
    text = text.replace("tracelake schema TRACE prints", "tracelake.schema(trace).to('text') says")
    return _CONVERT.sub(convert, text)


def _invalid(match: re.Match[str]) -> str:
    """What is wrong with the value of an argument."""
    value, name, reason = match.groups()
    if reason is None:
        return f"{name}: '{value}' is no value of it"
    return f"{name}: {reason}" if reason.startswith(value) else f"{name}: {reason}, not '{value}'"


def near(name: str, known: Sequence[str]) -> str:
    """Names the nearest known name, after a semicolon, if one is near.

    >>> near("job_event", ["job_events", "task_events"]), near("x", ["job_events"])
    ("; did you mean 'job_events'?", '')
    """
    found = difflib.get_close_matches(name, known, n=1)
    return f"; did you mean {found[0]!r}?" if found else ""


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
    cause: OSError | None = None,
) -> TracelakeError:
    """The exception of an exit code; called by the extension module."""
    kind = _CLASSES.get(code, StoppedError if code > 128 else FailedError)
    if cause is not None and kind is FailedError:
        kind = of_system(cause)
    elif kind is RefusedError and path is not None and "://" not in path and not os.path.lexists(path):
        kind = MissingLakeError
    # A path or a value may look like an option, so only the rest of the message is rewritten.
    if hint is not None and message.endswith(hint):
        message = message[: -len(hint)] + pythonic(hint)
    if kind is UsageError:
        message = pythonic(message)
    error = kind(message)
    # The library has taken the secrets out, and knows what isn't one.
    error.args = (message,)
    error.exit_code = code
    error.path, error.line, error.column = path, line, column
    error.field, error.value = field, value
    error.hint = None if hint is None else pythonic(hint)
    if isinstance(error, OSError):
        error.filename = path
        error.errno = errno.ENOENT if cause is None else cause.errno
        error.strerror = os.strerror(errno.ENOENT) if cause is None else cause.strerror
    error.__cause__ = cause
    return error


def renamed(error: TracelakeError, option: str, argument: str) -> TracelakeError:
    """The error of a function whose argument has another name than the option that the hint names."""
    if error.hint is None:
        return error
    hint = re.sub(rf"\b{option}\b", argument, error.hint)
    error.args = (str(error).removesuffix(error.hint) + hint,)
    error.hint = hint
    return error


def of_system(cause: OSError) -> type[FailedError]:
    """The class for what the operating system said."""
    if isinstance(cause, FileNotFoundError):
        return MissingFileError
    return AccessDeniedError if isinstance(cause, PermissionError) else StorageError


@contextmanager
def writing(path: str) -> Generator[None]:
    """Raises what the operating system says while a file or directory is written as an error of this package."""
    try:
        yield
    except TracelakeError:
        raise
    except OSError as error:
        failed = of_system(error)(f"{path}: cannot be written: {error}")
        failed.path = path
        if isinstance(failed, OSError):
            failed.errno, failed.strerror, failed.filename = error.errno, error.strerror, path
        raise failed from error


def missing_file(path: str, reason: str, hint: str) -> MissingFileError:
    """The error of a file that is named but missing."""
    error = MissingFileError(f"{path}: {reason}; {hint}")
    error.path = error.filename = path
    error.errno, error.strerror = errno.ENOENT, os.strerror(errno.ENOENT)
    error.hint = hint
    return error


def missing_extra(package: str, extra: str | None = None) -> MissingExtraError:
    """The error of a package that isn't installed, and the extra that brings it, if there is one."""
    hint = f"pip install {package}" if extra is None else f"pip install 'tracelake[{extra}]'"
    error = MissingExtraError(f"{package} is not installed; {hint}")
    error.hint = hint
    return error


def unknown(what: str, name: str, known: list[str]) -> UnknownNameError:
    """The error of a name that something doesn't have, with the nearest name and those that it has."""
    hint = f"it has {', '.join(known)}{near(name, known)}"
    error = UnknownNameError(f"{what} '{name}'; {hint}")
    error.hint = hint
    return error


def wrong_type(name: str, expected: str, value: object, hint: str | None = None) -> WrongTypeError:
    """The error of an argument of a wrong type.

    >>> str(wrong_type("threads", "an int", "2"))
    'threads: expected an int, not str'
    """
    text = f"{name}: expected {expected}, not {type(value).__name__}"
    error = WrongTypeError(text if hint is None else f"{text}; {hint}")
    error.hint = hint
    return error
