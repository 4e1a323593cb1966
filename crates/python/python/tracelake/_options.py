"""Keyword arguments of the package as options of the command line."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Literal, Union

from ._errors import UsageError

#: A path, as ``open`` takes it.
StrPath = Union[str, "os.PathLike[str]"]


def convert_arguments(
    *,
    trace: str | None,
    cell: str | None,
    tables: str | Iterable[str] | None,
    parts: str | int | Iterable[int] | None,
    threads: int | None,
    memory: str | int | None,
    on_bad_row: Literal["fail", "reject"],
    max_rejects: int | None,
    allow_missing: bool,
    layout: Literal["hive", "flat"],
    format: Literal["parquet", "arrow"],
    compression: str,
    part_rows: int | None,
    row_group_rows: int | None,
    derive: str | Iterable[str] | None,
    checksums: StrPath | None,
    overwrite: bool = False,
    take_over: bool = False,
    ignore_disk_space: bool = False,
) -> list[str]:
    """The options of ``tracelake convert``."""
    options: list[tuple[str, str | None]] = [
        ("trace", None if trace is None else text("trace", trace)),
        ("cell", None if cell is None else text("cell", cell)),
        ("tables", names("tables", tables)),
        ("parts", part_numbers(parts)),
        ("threads", integer("threads", threads)),
        ("memory", memory if isinstance(memory, str) else integer("memory", memory)),
        ("on-bad-row", text("on_bad_row", on_bad_row)),
        ("max-rejects", integer("max_rejects", max_rejects)),
        ("layout", text("layout", layout)),
        ("format", text("format", format)),
        ("compression", text("compression", compression)),
        ("part-rows", integer("part_rows", part_rows)),
        ("row-group-rows", integer("row_group_rows", row_group_rows)),
        ("derive", names("derive", derive)),
        ("checksums", None if checksums is None else path(checksums)),
    ]
    switches = {
        "allow-missing": allow_missing,
        "overwrite": overwrite,
        "take-over": take_over,
        "ignore-disk-space": ignore_disk_space,
    }
    arguments = [f"--{name}={value}" for name, value in options if value is not None]
    return arguments + [f"--{name}" for name, is_on in switches.items() if is_on]


def path(value: StrPath) -> str:
    """A path as text, with the home directory in place of ``~``."""
    return os.path.expanduser(os.fsdecode(os.fspath(value)))


def text(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{name}: expected a str, not {type(value).__name__}")
    return value


def names(name: str, value: str | Iterable[str] | None) -> str | None:
    """A name or several, as the command line takes them."""
    if value is None or isinstance(value, str):
        return value
    return ",".join(text(name, one) for one in value)


def integer(name: str, value: object) -> str | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{name}: expected an int, not {type(value).__name__}")
    return str(value)


def part_numbers(parts: str | int | Iterable[int] | None) -> str | None:
    if parts is None or isinstance(parts, str):
        return parts
    numbers = [parts] if isinstance(parts, int) else parts
    return ",".join(integer("parts", number) or "" for number in numbers)


def thread_count(threads: int | None) -> int | None:
    integer("threads", threads)
    if threads is not None and not 1 <= threads <= 1024:
        raise UsageError(f"threads: {threads} is not from 1 to 1024")
    return threads
