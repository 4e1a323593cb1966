"""Tables of a lake in pyarrow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from . import _files, _filter
from ._errors import UsageError, missing_extra

if TYPE_CHECKING:
    from ._named import Shown
    from ._table_files import TableFiles

try:
    # It has no annotations.
    pa: Any = import_module("pyarrow")
    pc: Any = import_module("pyarrow.compute")
    ds: Any = import_module("pyarrow.dataset")
    fs: Any = import_module("pyarrow.fs")
except ImportError as missing:
    raise missing_extra("pyarrow", "arrow") from missing


def dataset(table: TableFiles) -> Any:
    """The files of a table as a Dataset, with ``cell`` and ``file_number`` from their paths."""
    filesystem, files = _place(table)
    reads = ds.IpcFileFormat() if table.format == "arrow" else ds.ParquetFileFormat()
    schema = reads.inspect(files[0], filesystem)
    for name in table.partitions:
        schema = schema.append(pa.field(name, pa.string() if name == "cell" else pa.int32()))
    values = [
        _filter.all_of(
            (ds.field(name) == _partition(name, getattr(part, name)) for name in table.partitions), pc.scalar(True)
        )
        for part in table.parts
    ]
    return ds.FileSystemDataset.from_paths(
        files, schema=schema, format=reads, filesystem=filesystem, partitions=values
    )


def _partition(name: str, value: Any) -> Any:
    return pa.scalar(value, pa.string() if name == "cell" else pa.int32())


def _place(table: TableFiles) -> tuple[Any, list[str]]:
    """The file system of a table, and the paths of its files there."""
    files = table.files
    if not _files.is_url(table.root):
        return fs.LocalFileSystem(), files
    if not table.root.lower().startswith(("s3://", "gs://")):
        reason = "pyarrow reads lakes on a disk, in S3 and in Google Cloud Storage"
        raise UsageError(f"{_files.place(table.root)}: {reason}; read with scan or to_polars")
    filesystem, _ = fs.FileSystem.from_uri(table.root)
    return filesystem, [file.partition("://")[2] for file in files]


def scanner(table: TableFiles, columns: list[str] | None, filter: object, named: bool) -> Any:
    """A Scanner of some columns and rows of a table."""
    rows = dataset(table)
    shown = table.shown(rows.schema.names, named)
    made = {one.name: _expression(one, rows.schema.field(one.source).type) for one in shown.values()}
    wanted = shown if columns is None else table.chosen(columns, shown)
    return rows.scanner(columns={name: made[name] for name in wanted}, filter=_condition_of(filter, shown, made, named))


def filtered(table: TableFiles, filter: object) -> Any:
    """The rows of a table for which a filter holds, as a Dataset."""
    rows = dataset(table)
    if filter is None:
        return rows
    shown = table.shown(rows.schema.names, False)
    return rows.filter(_condition_of(filter, shown, {name: pc.field(name) for name in shown}, False))


def _condition_of(filter: object, shown: Mapping[str, Shown], made: Mapping[str, Any], named: bool) -> Any:
    if filter is None:
        return None
    if isinstance(filter, pc.Expression):
        if named:
            raise UsageError(
                "filter: an expression of pyarrow is about the plain columns; with named=True, pass tuples "
                'such as [("file_number", "<", 10)]'
            )
        return filter
    groups = _filter.conditions(filter, shown, "an expression of pyarrow")
    return _filter.any_of([_all(group, made) for group in groups], pc.scalar(False))


def _all(group: Sequence[_filter.Condition], made: Mapping[str, Any]) -> Any:
    return _filter.all_of([_condition(one, made[one.column.name]) for one in group], pc.scalar(True))


def _condition(condition: _filter.Condition, column: Any) -> Any:
    value = condition.value
    if value is None:
        return column.is_null() if condition.operator == "==" else column.is_valid()
    if condition.operator in ("in", "not in"):
        is_in = column.isin(value) if value else pc.scalar(False)
        return is_in if condition.operator == "in" else ~is_in & column.is_valid()
    return _filter.COMPARED[condition.operator](column, value)


def _expression(shown: Shown, kind: Any) -> Any:
    """The expression that makes a column; ``kind`` is the type of its source."""
    source = pc.field(shown.source)
    value = source
    if shown.nulls:
        is_null = _filter.any_of([source == pa.scalar(one, kind) for one in shown.nulls], pc.scalar(False))
        value = pc.if_else(is_null, pa.scalar(None, kind), source)
    if shown.made == "seconds":
        return value.cast(pa.float64(), safe=False) / float(shown.units)
    if shown.made == "timestamp":
        return _timestamp(shown, value, kind)
    if shown.made == "code":
        cases = [(source == pa.scalar(code, kind), name) for code, name in shown.codes]
        return _case(cases, source.cast(pa.string()))
    if shown.made == "range":
        cases = [(_is_within(source, one.first, one.last), one.name) for one in shown.ranges]
        return _case(cases, pa.scalar(None, pa.string()))
    if shown.made == "integer":
        return _integer(source)
    return value


def _case(cases: Sequence[tuple[Any, str]], otherwise: Any) -> Any:
    names = [str(place) for place in range(len(cases))]
    # A struct that is NULL where the first condition is would make the whole NULL.
    tests = pc.make_struct(
        *(pc.coalesce(test, pa.scalar(False)) for test, _ in cases),
        options=pc.MakeStructOptions(names, field_nullability=[True] * len(cases)),
    )
    return pc.case_when(tests, *(pa.scalar(text, pa.string()) for _, text in cases), otherwise)


def _is_within(source: Any, first: int, last: int | None) -> Any:
    return source >= first if last is None else (source >= first) & (source <= last)


def _timestamp(shown: Shown, value: Any, kind: Any) -> Any:
    if shown.is_float:
        micros = pc.round(value * float(shown.scale), round_mode="half_towards_infinity")
        return (micros.cast(pa.int64(), safe=False) + shown.offset).cast(pa.timestamp("us"))
    least, most = shown.times
    fits = pc.if_else(_is_within(value, least, most), value, pa.scalar(None, kind)).cast(pa.int64())
    return pc.add(pc.multiply(fits, shown.scale), shown.offset).cast(pa.timestamp("us"))


def _integer(source: Any) -> Any:
    """The number of a text of digits, if it fits into 64 bits: a cast would fail at the others."""
    is_integer = pc.match_substring_regex(source, "^-?[0-9]+$")
    digits = pc.replace_substring_regex(source, "^-?0*", "")
    length = pc.binary_length(digits)
    most = pc.if_else(pc.starts_with(source, "-"), "9223372036854775808", "9223372036854775807")
    fits = (length < 19) | ((length == 19) & (digits <= most))
    return pc.if_else(is_integer & fits, source, pa.scalar(None, pa.string())).cast(pa.int64())
