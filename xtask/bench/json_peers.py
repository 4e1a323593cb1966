"""The peers of `peers.py` on lines of JSON.

The types of columns are as there, or {"struct": [[name, type]]} and {"list": type}. "texts" has the paths of integers
that the files spell as strings, such as "time" or "usage.cpus": Polars and pyarrow read them as text and cast them.
"""

import json
import sys
from pathlib import Path

from peers import ROWS, SQL, copy_sql, run_duckdb, write_row_groups


def sql_type(kind):
    if isinstance(kind, str):
        return SQL[kind]
    if "list" in kind:
        return f"{sql_type(kind['list'])}[]"
    fields = ", ".join(f'"{name}" {sql_type(field)}' for name, field in kind["struct"])
    return f"STRUCT({fields})"


def typed(kind, path, texts, of_engine, struct, list_of):
    """The type of an engine; of the columns whose paths are in `texts`, that of texts."""
    if isinstance(kind, str):
        return of_engine["Utf8" if path in texts else kind]
    if "list" in kind:
        return list_of(typed(kind["list"], f"{path}[]", texts, of_engine, struct, list_of))
    fields = [(name, typed(field, f"{path}.{name}", texts, of_engine, struct, list_of)) for name, field in kind["struct"]]
    return struct(fields)


def duckdb(job, order):
    sql = copy_sql(job, order, "read_json", sql_type, "format='newline_delimited', auto_detect=false")
    run_duckdb(job, order, sql)


def polars_types(columns, texts=()):
    """The types of Polars, by the names of the columns."""
    import polars

    kinds = {
        "Int64": polars.Int64,
        "Int32": polars.Int32,
        "Float64": polars.Float64,
        "Boolean": polars.Boolean,
        "Utf8": polars.String,
    }
    return {
        name: typed(kind, name, texts, kinds, lambda fields: polars.Struct(dict(fields)), polars.List)
        for name, kind in columns
    }


def arrow_types(columns, texts=()):
    """The types of pyarrow, as a schema."""
    import pyarrow

    kinds = {
        "Int64": pyarrow.int64(),
        "Int32": pyarrow.int32(),
        "Float64": pyarrow.float64(),
        "Boolean": pyarrow.bool_(),
        "Utf8": pyarrow.string(),
    }
    return pyarrow.schema(
        [(name, typed(kind, name, texts, kinds, pyarrow.struct, pyarrow.list_)) for name, kind in columns]
    )


def polars(job):
    import polars

    read, wanted = polars_types(job["columns"], set(job["texts"])), polars_types(job["columns"])
    frame = polars.scan_ndjson(job["files"], schema=read)
    frame = frame.with_columns(polars.col(name).cast(kind) for name, kind in wanted.items() if kind != read[name])
    frame.sink_parquet(f"{job['out']}/data.parquet", compression="zstd", row_group_size=ROWS)


def pyarrow(job):
    from concurrent.futures import ThreadPoolExecutor

    import pyarrow
    import pyarrow.json
    import pyarrow.parquet

    read, wanted = arrow_types(job["columns"], set(job["texts"])), arrow_types(job["columns"])
    parse = pyarrow.json.ParseOptions(explicit_schema=read, unexpected_field_behavior="error")
    block = pyarrow.json.ReadOptions(block_size=16 << 20)

    def one(path):
        out = f"{job['out']}/{Path(path).name}.parquet"
        with (
            pyarrow.input_stream(path, compression="gzip") as text,
            pyarrow.json.open_json(text, block, parse) as batches,
            pyarrow.parquet.ParquetWriter(out, wanted, compression="zstd") as writer,
        ):
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
