"""Tables of a lake in Polars."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from . import _filter
from ._errors import missing_extra

if TYPE_CHECKING:
    import polars as pl

    from ._named import Shown
    from ._table_files import TableFiles

try:
    import polars
except ImportError as missing:
    raise missing_extra("polars", "polars") from missing


def scan(table: TableFiles, columns: list[str] | None, filter: object, named: bool) -> pl.LazyFrame:
    """The files of a table as a LazyFrame, with ``cell`` and ``file_number`` from their paths."""
    frame = _files_of(table)
    if columns is None and filter is None and not named:
        return frame
    there = frame.collect_schema().names()
    shown = table.shown(there, named)
    if named:
        frame = frame.select(_expression(one).alias(one.name) for one in shown.values())
    if isinstance(filter, polars.Expr):
        frame = frame.filter(filter)
    elif filter is not None:
        groups = _filter.conditions(filter, shown, "a Polars expression")
        frame = frame.filter(_filter.any_of([_all(group) for group in groups], polars.lit(False)))
    return frame if columns is None else frame.select(table.chosen(columns, shown))


def _files_of(table: TableFiles) -> pl.LazyFrame:
    files = table.files
    reads: Any = polars.scan_ipc if table.format == "arrow" else polars.scan_parquet
    partitions: dict[str, Any] = {name: polars.String() if name == "cell" else polars.Int32() for name in table.partitions}
    if table.layout == "hive" and "=" not in table.root:
        frame: pl.LazyFrame = reads(files, glob=False, hive_partitioning=True, hive_schema=partitions)
        return frame
    # Polars would read columns from the names of the directories that the lake is in, too, and knows nothing of the
    # numbers in the names of files.
    frames: list[pl.LazyFrame] = [
        reads(file, glob=False, hive_partitioning=False).with_columns(
            polars.lit(getattr(part, name), dtype=kind).alias(name) for name, kind in partitions.items()
        )
        for file, part in zip(files, table.parts, strict=True)
    ]
    return polars.concat(frames)


def _all(group: Sequence[_filter.Condition]) -> pl.Expr:
    every: pl.Expr = _filter.all_of(map(_condition, group), polars.lit(True))
    return every


def _condition(condition: _filter.Condition) -> pl.Expr:
    column, value = polars.col(condition.column.name), condition.value
    if value is None:
        return column.is_null() if condition.operator == "==" else column.is_not_null()
    if condition.operator in ("in", "not in"):
        # Without values, the type of the list would be unknown.
        is_in = column.is_in(value) if value else polars.lit(False)
        return is_in if condition.operator == "in" else ~is_in & column.is_not_null()
    compared: pl.Expr = _filter.COMPARED[condition.operator](column, value)
    return compared


def _expression(shown: Shown) -> pl.Expr:
    """The expression that makes a column."""
    source = polars.col(shown.source)
    value = source
    if shown.nulls:
        is_null = _filter.any_of([source == one for one in shown.nulls], polars.lit(False))
        value = polars.when(is_null).then(None).otherwise(source)
    if shown.made == "seconds":
        # Polars multiplies by the reciprocal of a number, which rounds twice; it divides by a column.
        units = value * 0 + shown.units
        return value.cast(polars.Float64) / units.cast(polars.Float64)
    if shown.made == "timestamp":
        return _timestamp(shown, value)
    if shown.made == "code":
        codes = dict(shown.codes)
        digits = source.cast(polars.String)
        return source.replace_strict(list(codes), list(codes.values()), default=digits, return_dtype=polars.String)
    if shown.made == "range":
        made: Any = polars.when(polars.lit(False)).then(polars.lit(None, dtype=polars.String))
        for one in shown.ranges:
            is_within = source >= one.first
            if one.last is not None:
                is_within &= source <= one.last
            made = made.when(is_within).then(polars.lit(one.name))
        ranges: pl.Expr = made.otherwise(None)
        return ranges
    if shown.made == "integer":
        is_integer = source.str.contains("^-?[0-9]+$")
        return polars.when(is_integer).then(source.str.to_integer(strict=False, dtype=polars.Int64)).otherwise(None)
    return value


def _timestamp(shown: Shown, value: pl.Expr) -> pl.Expr:
    if shown.is_float:
        micros = (value * shown.scale).round().cast(polars.Int64, strict=False) + shown.offset
        return micros.cast(polars.Datetime("us"))
    least, most = shown.times
    fits = polars.when(value.is_between(least, most)).then(value).otherwise(None)
    return (fits * shown.scale + shown.offset).cast(polars.Datetime("us"))


