"""Prints the rows or the sizes of an output as JSON: outputs.py rows|lengths DIRECTORY.

A program of its own, so that the process that measures stays small: Linux hands the peak memory
of a process on to the programs that it starts.
"""

import json
import sys
from pathlib import Path

import duckdb
import pyarrow.parquet


def rows(glob):
    return duckdb.sql(f"SELECT count(*) FROM read_parquet('{glob}')").fetchall()[0][0]


def lengths(glob):
    """The size of all files, of their column chunks, of their footers, and of the rest."""
    total = columns = footers = 0
    for path in Path(glob.split("/**")[0]).rglob("*.parquet"):
        footer = pyarrow.parquet.ParquetFile(path).metadata
        total += path.stat().st_size
        footers += footer.serialized_size
        for group in map(footer.row_group, range(footer.num_row_groups)):
            chunks = map(group.column, range(group.num_columns))
            columns += sum(chunk.total_compressed_size for chunk in chunks)
    return [f"{length:,}" for length in (total, columns, footers, total - columns - footers)]


json.dump({"rows": rows, "lengths": lengths}[sys.argv[1]](f"{sys.argv[2]}/**/*.parquet"), sys.stdout)
