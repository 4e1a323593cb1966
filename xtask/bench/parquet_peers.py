"""The peers of `peers.py` on Parquet: each rewrites the files with the types of the table.

The types of columns are those of `json_peers.py`.
"""

import json
import sys
from pathlib import Path

from json_peers import arrow_types, polars_types, sql_type
from peers import ROWS, copy_to, run_duckdb, write_row_groups


def duckdb(job, order):
    columns = ", ".join(f'"{name}"::{sql_type(kind)} AS "{name}"' for name, kind in job["columns"])
    files = ", ".join(f"'{path}'" for path in job["files"])
    run_duckdb(job, order, copy_to(job, order, f"SELECT {columns} FROM read_parquet([{files}])"))


def polars(job):
    import polars

    wanted = polars_types(job["columns"])
    frame = polars.scan_parquet(job["files"], glob=False)
    frame = frame.select(polars.col(name).cast(kind) for name, kind in wanted.items())
    frame.sink_parquet(f"{job['out']}/data.parquet", compression="zstd", row_group_size=ROWS)


def pyarrow(job):
    from concurrent.futures import ThreadPoolExecutor

    import pyarrow.parquet

    wanted = arrow_types(job["columns"])

    def one(path):
        out = f"{job['out']}/{Path(path).name}.parquet"
        batches = pyarrow.parquet.ParquetFile(path).iter_batches(1 << 16)
        with pyarrow.parquet.ParquetWriter(out, wanted, compression="zstd") as writer:
            write_row_groups(writer, (batch.cast(wanted) for batch in batches))

    with ThreadPoolExecutor(job["threads"]) as pool:
        list(pool.map(one, job["files"]))


PEERS = {
    "DuckDB": lambda job: duckdb(job, order=True),
    "DuckDB, per thread": lambda job: duckdb(job, order=False),
    "Polars": polars,
    "pyarrow": pyarrow,
}

if __name__ == "__main__":
    PEERS[sys.argv[1]](json.loads(Path(sys.argv[2]).read_text()))
