"""Keyword arguments of the package as options of the command line."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar, cast

from ._convert_options import OPTIONS, ConvertOptions
from ._errors import UsageError
from ._paths import StrPath

_Function = TypeVar("_Function", bound=Callable[..., Any])


def convert_arguments(options: Mapping[str, object]) -> list[str]:
    """The options of ``tracelake convert``; those that are ``None`` or ``False`` are left out."""
    arguments: list[str] = []
    for name, value in options.items():
        if name not in OPTIONS:
            raise TypeError(f"convert() got an unexpected keyword argument '{name}'")
        if value is None:
            continue
        option = f"--{name.replace('_', '-')}"
        kind, _ = OPTIONS[name]
        if kind != "switch":
            arguments.append(f"{option}={_WRITERS[kind](name, value)}")
        elif value:
            arguments.append(option)
    return arguments


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


def path(value: StrPath) -> str:
    """A path as text, with the home directory in place of ``~``."""
    return os.path.expanduser(os.fsdecode(os.fspath(value)))


def _path(name: str, value: object) -> str:
    if not isinstance(value, (str, os.PathLike)):
        raise TypeError(f"{name}: expected a path, not {type(value).__name__}")
    return path(cast(StrPath, value))


def text(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{name}: expected a str, not {type(value).__name__}")
    return value


def _names(name: str, value: Any) -> str:
    """A name or several, as the command line takes them."""
    if isinstance(value, str):
        return value
    return ",".join(text(name, one) for one in _several(name, value))


def _several(name: str, value: object) -> Iterable[object]:
    if not isinstance(value, Iterable):
        raise TypeError(f"{name}: expected one or several, not {type(value).__name__}")
    return cast("Iterable[object]", value)


def integer(name: str, value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{name}: expected an int, not {type(value).__name__}")
    return str(value)


def _part_numbers(name: str, value: Any) -> str:
    if isinstance(value, str):
        return value
    numbers = [value] if isinstance(value, int) else _several(name, value)
    return ",".join(integer(name, number) for number in numbers)


def _size(name: str, value: object) -> str:
    return value if isinstance(value, str) else integer(name, value)


def thread_count(threads: int | None) -> int | None:
    if threads is None:
        return None
    integer("threads", threads)
    if not 1 <= threads <= 1024:
        raise UsageError(f"threads: {threads} is not from 1 to 1024")
    return threads


#: How values are written, by the names of `OPTIONS`.
_WRITERS: dict[str, Callable[[str, Any], str]] = {
    "integer": integer,
    "names": _names,
    "part_numbers": _part_numbers,
    "path": _path,
    "size": _size,
    "text": text,
}
