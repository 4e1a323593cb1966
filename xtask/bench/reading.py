"""What a process of its own reads of an output: reading.py rows|queries|lengths DIRECTORY, JSON on stdout.

It is apart from bench.py so that the process that measures stays small: Linux hands the peak memory
of a process on to the programs that it starts.
"""

import json
import statistics
import sys
import time
from pathlib import Path

import duckdb
import polars
import pyarrow.parquet


def rows(glob):
    return duckdb.sql(f"SELECT count(*) FROM read_parquet('{glob}')").fetchall()[0][0]


def queries(glob):
    """A full-column aggregate, a group by machine, one job by its id: medians of five in ms."""
    source = f"read_parquet('{glob}')"
    job = duckdb.sql(f"SELECT job_id FROM {source} LIMIT 1 OFFSET 1000").fetchall()[0][0]
    scan = polars.scan_parquet(glob, hive_partitioning=False)
    mean = polars.col("cpu_rate").mean()
    asked = [
        lambda: duckdb.sql(f"SELECT avg(cpu_rate) FROM {source}").fetchall(),
        lambda: duckdb.sql(f"SELECT machine_id, avg(cpu_rate) FROM {source} GROUP BY 1").fetchall(),
        lambda: duckdb.sql(f"SELECT count(*) FROM {source} WHERE job_id = {job}").fetchall(),
        lambda: scan.select(mean).collect(),
        lambda: scan.group_by("machine_id").agg(mean).collect(),
        lambda: scan.filter(polars.col("job_id") == job).select(polars.len()).collect(),
    ]
    return [clock(query) for query in asked]


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


def clock(query):
    taken = []
    for _ in range(5):
        begun = time.perf_counter()
        query()
        taken.append((time.perf_counter() - begun) * 1000)
    return statistics.median(taken)


json.dump({"rows": rows, "queries": queries, "lengths": lengths}[sys.argv[1]](f"{sys.argv[2]}/**/*.parquet"), sys.stdout)
