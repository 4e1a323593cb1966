"""The options of ``tracelake convert`` as keyword arguments.

Generated from the command line by `cargo xtask gen`; do not edit.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, TypedDict

from ._paths import StrPath


class ConvertOptions(TypedDict, total=False):
    trace: str | None
    """Name of the trace: acme-2023, alibaba-2017, alibaba-2018, alibaba-genai-2026, alibaba-gpu-2020, alibaba-gpu-2023, alibaba-gpu-2025, alibaba-gpu-2026, alibaba-maas-2026, alibaba-microservices-2021, alibaba-microservices-2022, alibaba-spot-gpu-2026, azure-functions-2019, azure-functions-2021, azure-llm-2023, azure-llm-2024, azure-lmm-2025, azure-vm-2017, azure-vm-2019, azure-vm-noise-2024, borg-2019, burstgpt-2024, google-2011-v2.1, google-2011-v2, google-power-2019, helios-2020, mooncake-2025, philly-2017, qwen-bailian-2025; or a description of another trace, for example ./my-trace.toml [default: recognised from file names, first rows and schema.csv]"""
    cell: str | None
    """Cell that SRC belongs to, for a trace published by cell, for example a [default: taken from the name of the directory or bucket]"""
    tables: str | Iterable[str] | None
    """Convert only these tables, for example job_events,task_events"""
    parts: str | int | Iterable[int] | None
    """Convert only the parts with these file numbers, of each cell, for example 0-9,17"""
    allow_missing: bool
    """Convert what there is even if parts are missing"""
    checksums: StrPath | None
    """File of SHA-256 checksums to check the source against, or none [default: SHA256SUM in SRC, if there is one]"""
    layout: Literal["hive", "flat"]
    """Directories of the lake: hive (one file_number=N directory per part) or flat"""
    format: Literal["parquet", "arrow"]
    """Format of the output files: parquet, or arrow for Arrow IPC files (Feather v2)"""
    compression: str
    """Compression: zstd, zstd:1 to zstd:22, snappy (Parquet only) or none"""
    on_bad_row: Literal["fail", "reject"]
    """What to do with a row that can't be converted: fail stops the run, reject writes the row to a rejects file with its position and the reason"""
    part_rows: int | None
    """Rows per part, for tables that are published in one file [default: 16777216]"""
    row_group_rows: int | None
    """The most rows in a row group of a Parquet file, from 65536 [default: 524288]"""
    accept: str | None
    """Read files that aren't as published: header skips a first line with the names of the columns, index skips an unnamed first column, bom a byte order mark, integral-floats reads 5.0 as the integer 5, null=TEXT reads a text as NULL; for example header,integral-floats,null=NaN"""
    source_form: Literal["json", "parquet"] | None
    """Form of the source, where a table is there in both: json or parquet"""
    sample: str | None
    """Keep the rows of class I of N (from 0), for example 0/16: those whose key has this hash, in all tables"""
    sample_by: str | None
    """Key to sample by, for example job or machine; tables without it stay whole [default: the key of each table]"""
    columns: str | Iterable[str] | None
    """Keep these columns, as TABLE.COLUMN,TABLE.COLUMN, or as bare names of one table; tables that aren't named keep all of theirs"""
    time: str | None
    """Keep the rows from FROM up to, but without, TO, and special times such as 0: in the trace's unit, as 1h30m..2d, or as dates where it is known when time 0 was; FROM or TO may be left out"""
    derive: str | Iterable[str] | None
    """Derive another table: dag makes batch_task_edges from the task dependencies encoded in task names"""
    overwrite: bool
    """Replace the lake in OUT. A directory that isn't a lake is still refused"""
    ignore_disk_space: bool
    """Begin even if the disk of OUT is clearly too small for the lake"""
    max_rejects: int | None
    """Stop the run when the lake has more rejected rows than this"""
    threads: int | None
    """Number of threads [default: one per processor]"""
    memory: str | int | None
    """Memory limit, for example 512M or 2GiB [default: 128 MB plus 128 MB per thread]"""


#: The options by their names: how a value is written on the command line, and the default.
OPTIONS: dict[str, tuple[str, str | bool | None]] = {
    "trace": ("text", None),
    "cell": ("text", None),
    "tables": ("names", None),
    "parts": ("part_numbers", None),
    "allow_missing": ("switch", False),
    "checksums": ("path", None),
    "layout": ("text", "hive"),
    "format": ("text", "parquet"),
    "compression": ("text", "zstd"),
    "on_bad_row": ("text", "fail"),
    "part_rows": ("integer", None),
    "row_group_rows": ("integer", None),
    "accept": ("text", None),
    "source_form": ("text", None),
    "sample": ("text", None),
    "sample_by": ("text", None),
    "columns": ("names", None),
    "time": ("text", None),
    "derive": ("names", None),
    "overwrite": ("switch", False),
    "ignore_disk_space": ("switch", False),
    "max_rejects": ("integer", None),
    "threads": ("integer", None),
    "memory": ("size", None),
}
