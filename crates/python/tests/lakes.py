"""Lakes with planted faults: rows of a generated lake, edited in its Parquet files."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import tracelake

Row = dict[str, Any]
Edit = Callable[[list[Row]], None]


def copy_of(lake: Path, directory: Path) -> Path:
    """A copy of a lake, to be edited."""
    copy = directory / "edited"
    shutil.copytree(lake, copy)
    return copy


def file_of(lake: Path, table: str, number: int) -> Path:
    """The file of a part."""
    (path,) = (part.output.path for part in tracelake.open(lake)[table].parts if part.file_number == number)
    return lake / path


def edit(lake: Path, table: str, number: int, change: Edit) -> None:
    """Rewrites a part with its rows changed. The manifest stays as it is: checks are about rows."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    file = file_of(lake, table, number)
    # A partition column would be read from the path.
    old = pq.ParquetFile(file).read()
    rows: list[Row] = old.to_pylist()
    change(rows)
    pq.write_table(pa.Table.from_pylist(rows, schema=old.schema), file)


def find(rows: list[Row], **values: Any) -> int:
    """The index of the first row with these values."""
    return next(
        index for index, row in enumerate(rows) if all(row[name] == value for name, value in values.items())
    )
