"""Arguments of the package: refused by name if their type is wrong, and written as options of the command line."""

from __future__ import annotations

import ast
import inspect
import os
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar, cast

from ._convert_options import OPTIONS, ConvertOptions
from ._errors import UsageError, WrongTypeError, wrong_type
from ._paths import StrPath

#: The annotation of an option that has few values, such as ``Literal["hive", "flat"]``.
_CHOICE = re.compile(r"Literal\[(.*)\]")

_Function = TypeVar("_Function", bound=Callable[..., Any])


def convert_arguments(options: Mapping[str, object]) -> list[str]:
    """The options of ``tracelake convert``; those that are ``None`` or ``False`` are left out."""
    arguments: list[str] = []
    for name, value in options.items():
        if name not in OPTIONS:
            raise WrongTypeError(f"convert() got an unexpected keyword argument '{name}'")
        if value is None:
            continue
        option = f"--{name.replace('_', '-')}"
        kind, _ = OPTIONS[name]
        _check_choice(name, value)
        if kind != "switch":
            arguments.append(f"{option}={_WRITERS[kind](name, value)}")
        elif switch(name, value):
            arguments.append(option)
    return arguments


def cluster_arguments(options: Mapping[str, object]) -> list[str]:
    """The options of ``tracelake cluster``; those that are ``None`` or ``False`` are left out."""
    kinds = {
        "by": "text", "tables": "names", "files": "integer", "file_size": "size", "memory": "size", "spill": "path",
        "threads": "integer",
    }  # fmt: skip
    given = {name: value for name, value in options.items() if value is not None}
    written = [f"--{name.replace('_', '-')}={_WRITERS[kind](name, given[name])}" for name, kind in kinds.items() if name in given]
    switches = [f"--{name}" for name in ("compact", "overwrite") if switch(name, options[name])]
    return [*written, *switches]


def _check_choice(name: str, value: object) -> None:
    """Refuses a text that isn't one of the values of an option that has few."""
    choice = _CHOICE.fullmatch(str(_annotations()[name]))
    known: tuple[str, ...] = ast.literal_eval(f"({choice[1]},)") if choice else ()
    if known and isinstance(value, str) and value not in known:
        raise UsageError(f"{name}: expected {' or '.join(map(repr, known))}, not {value!r}")


def selection(**options: object) -> dict[str, str]:
    """The options that select rows and columns, as the command line takes them."""
    given = {name: value for name, value in options.items() if value is not None}
    return {name: _WRITERS[OPTIONS[name][0]](name, value) for name, value in given.items()}


def takes_convert_options(*left_out: str, **other: object) -> Callable[[_Function], _Function]:
    """Shows the options of ``convert``, but for those left out, in the signature of a function that takes them by
    ``**options``. ``other`` has defaults that differ."""

    def with_signature(function: _Function) -> _Function:
        signature = inspect.signature(function)
        own = [one for one in signature.parameters.values() if one.kind is not one.VAR_KEYWORD]
        annotations = _annotations()
        options = [
            inspect.Parameter(
                name,
                inspect.Parameter.KEYWORD_ONLY,
                default=other.get(name, default),
                annotation=annotations[name],
            )
            for name, (_, default) in OPTIONS.items()
            if name not in left_out
        ]
        last = [one for one in own if one.kind is one.KEYWORD_ONLY]
        first = [one for one in own if one.kind is not one.KEYWORD_ONLY]
        cast(Any, function).__signature__ = signature.replace(parameters=[*first, *options, *last])
        return function

    return with_signature


def _annotations() -> Mapping[str, object]:
    kinds = ConvertOptions.__annotations__.items()
    return {name: getattr(kind, "__forward_arg__", kind) for name, kind in kinds}


def path(name: str, value: object) -> str:
    """A path as text, with the home directory in place of ``~``."""
    if not isinstance(value, (str, bytes, os.PathLike)):
        raise wrong_type(name, "a path", value)
    return os.path.expanduser(os.fsdecode(cast(StrPath, value)))


def text(name: str, value: object) -> str:
    """A text."""
    if not isinstance(value, str):
        raise wrong_type(name, "a str", value)
    return value


def optional_text(name: str, value: object) -> str | None:
    """A text, or ``None``."""
    return None if value is None else text(name, value)


def switch(name: str, value: object) -> bool:
    """``True`` or ``False``, and nothing that would only be taken for one."""
    if not isinstance(value, bool):
        raise wrong_type(name, "True or False", value)
    return value


def names(name: str, value: object) -> list[str]:
    """A name or several."""
    if isinstance(value, str):
        return [value]
    return [text(name, one) for one in _several(name, value)]


def _joined(name: str, value: object) -> str:
    """A name or several, as the command line takes them."""
    return ",".join(names(name, value))


def _several(name: str, value: object) -> Iterable[object]:
    if not isinstance(value, Iterable) or isinstance(value, (bytes, dict)):
        raise wrong_type(name, "one or several", cast(Any, value))
    return cast("Iterable[object]", value)


def number(name: str, value: object) -> int:
    """An integer."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise wrong_type(name, "an int", value)
    return value


def number_within(name: str, value: object, least: int, most: int) -> int:
    """An integer in a range."""
    found = number(name, value)
    if not least <= found <= most:
        raise UsageError(f"{name}: {found} is not from {least} to {most}")
    return found


def thread_count(threads: object) -> int | None:
    """A number of threads, or ``None``."""
    return None if threads is None else number_within("threads", threads, 1, 1024)


def seconds(name: str, value: object) -> float | None:
    """A number of seconds above 0, or ``None``."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise wrong_type(name, "a number of seconds", value)
    if not 0 < value < float("inf"):
        raise UsageError(f"{name}: {value} is no number of seconds above 0")
    return float(value)


def size(name: str, value: object) -> str | int | None:
    """A size such as ``"2GiB"``, a number of bytes, or ``None``."""
    return value if value is None or isinstance(value, str) else number(name, value)


def _part_numbers(name: str, value: Any) -> str:
    if isinstance(value, str):
        return value
    numbers = [value] if isinstance(value, int) else _several(name, value)
    return ",".join(str(number(name, one)) for one in numbers)


#: How values are written, by the names of `OPTIONS`.
_WRITERS: dict[str, Callable[[str, Any], str]] = {
    "integer": lambda name, value: str(number(name, value)),
    "names": _joined,
    "part_numbers": _part_numbers,
    "path": path,
    "size": lambda name, value: str(size(name, value)),
    "text": text,
}
