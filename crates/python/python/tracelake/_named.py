"""The columns that a table shows: those of its files, or with ``named=True`` those of the SQL view ``<table>_named``.

A :class:`Shown` says what a column is made of; the engines make it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from ._schema import Column, TableSchema, ValueRange

#: ``plain``: the values as they are, without those of ``nulls``. ``seconds`` and ``timestamp``: of a time.
#: ``code``: the name of a code, or its digits if it has no name. ``range``: the name of the range of a value.
#: ``integer``: the number that a text spells.
Made = Literal["plain", "seconds", "timestamp", "code", "range", "integer"]

#: The kinds of columns, by the Python type of their values.
Kind = Literal["integer", "float", "text", "boolean", "timestamp", "nested"]

_UNITS = {"microseconds": 1_000_000, "milliseconds": 1_000, "seconds": 1}

_KINDS: dict[str, Kind] = {
    "Int32": "integer",
    "Int64": "integer",
    "Float64": "float",
    "Utf8": "text",
    "Boolean": "boolean",
}

#: The integers of 64 bits.
LEAST, MOST = -(2**63), 2**63 - 1


@dataclass(frozen=True)
class Shown:
    """One column that is shown."""

    name: str
    #: The column of the files.
    source: str
    made: Made
    kind: Kind
    #: Values that are shown as NULL.
    nulls: tuple[int, ...] = ()
    #: The names of codes, whether they are shown or not.
    codes: tuple[tuple[int, str], ...] = ()
    ranges: tuple[ValueRange, ...] = ()
    #: Of a time: its units in a second, and microseconds from 1970 to the time 0.
    units: int = 1
    offset: int = 0
    #: Whether the values of the source are floats.
    is_float: bool = False
    #: Whether the values are times of a known zone.
    is_utc: bool = False

    @property
    def scale(self) -> int:
        """Microseconds in a unit."""
        return 1_000_000 // self.units

    @property
    def times(self) -> tuple[int, int]:
        """The least and the largest time whose timestamp fits into 64 bits."""
        return max(LEAST, -((self.offset - LEAST) // self.scale)), min(MOST, (MOST - self.offset) // self.scale)


def plain(schema: TableSchema, there: Iterable[str]) -> list[Shown]:
    """The columns of the files as they are, and those of their paths."""
    return [_itself(schema, name) for name in there]


def named(schema: TableSchema, there: Iterable[str]) -> list[Shown]:
    """The columns of the named view, made of the columns that are there."""
    shown: list[Shown] = []
    for name in there:
        column = schema.get(name)
        shown += [_itself(schema, name)] if column is None else _of(column, schema.epoch)
    return shown


def _itself(schema: TableSchema, name: str) -> Shown:
    """A column as it is in the files, or in their paths."""
    column = schema.get(name)
    if column is None:
        return Shown(name, name, "plain", "text" if name == "cell" else "integer")
    return Shown(name, name, "plain", _kind(column), codes=tuple(column.codes.items()), is_utc=_is_utc(column))


def _kind(column: Column) -> Kind:
    return "timestamp" if column.type.startswith("Timestamp") else _KINDS.get(column.type, "nested")


def _is_utc(column: Column) -> bool:
    return column.type.startswith("Timestamp") and "UTC" in column.type


def _of(column: Column, epoch: int | None) -> list[Shown]:
    """The columns of the named view for one column, as `tracelake schema --as duckdb` has them."""
    name, kind = column.name, _kind(column)
    nulls = (*column.sentinels, *column.invalid)
    itself = Shown(name, name, "plain", kind)
    unit, _, since = (column.unit or "").partition(" since ")
    if since and unit in _UNITS:
        offset = (epoch or 0) * 1_000_000
        is_float = kind == "float"
        return [
            Shown(f"{name}_seconds", name, "seconds", "float", nulls, units=_UNITS[unit], is_float=is_float),
            Shown(
                f"{name}_timestamp", name, "timestamp", "timestamp", nulls,
                units=_UNITS[unit], offset=offset, is_float=is_float,
            ),
            itself,
        ]  # fmt: skip
    if column.codes:
        return [Shown(name, name, "code", "text", codes=tuple(column.codes.items()))]
    if column.ranges:
        return [Shown(f"{name}_range", name, "range", "text", ranges=column.ranges), itself]
    if column.format.endswith("_OR_INTEGER"):
        return [Shown(f"{name}_integer", name, "integer", "integer"), itself]
    return [Shown(name, name, "plain", kind, nulls, is_float=kind == "float", is_utc=_is_utc(column))]
