"""Writes the rows of our files with every other writer, one file per file: rewrite.py, JSON on stdin and stdout.

In: {"table": name, "files": [ours], "folders": {writer: directory}}
Out: what `queries.picked` picks from the first file
"""

import json
import sys
from pathlib import Path

import duckdb
import polars
import pyarrow
import pyarrow.parquet

import queries


def duckdb_copy(rows, path):
    duckdb.sql(f"COPY rows TO '{path}' (FORMAT parquet, COMPRESSION zstd)")


def polars_write(rows, path):
    polars.from_arrow(rows).write_parquet(path, compression="zstd")


def pyarrow_write(rows, path):
    pyarrow.parquet.write_table(rows, path, compression="zstd")


WRITERS = {"DuckDB": duckdb_copy, "Polars": polars_write, "pyarrow": pyarrow_write}


def main():
    task = json.load(sys.stdin)
    for path in task["files"]:
        rows = pyarrow.parquet.ParquetFile(path).read()
        # The descriptions in our files are not the others' to write.
        fields = [pyarrow.field(field.name, field.type, field.nullable) for field in rows.schema]
        rows = rows.cast(pyarrow.schema(fields))
        for writer, folder in task["folders"].items():
            WRITERS[writer](rows, str(Path(folder) / Path(path).name))
    json.dump(queries.picked(task["table"], task["files"][0]), sys.stdout)


if __name__ == "__main__":
    main()
