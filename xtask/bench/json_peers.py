"""The peers of `peers.py` on lines of JSON.

The types of columns are as there, or {"struct": [[name, type]]} and {"list": type}. "texts" has the paths of integers
that the files spell as strings, such as "time" or "usage.cpus": Polars and pyarrow read them as text and cast them.
"""

import json
import sys
from pathlib import Path

ROWS = 1 << 20
SQL = {"Int64": "BIGINT", "Int32": "INTEGER", "Float64": "DOUBLE", "Boolean": "BOOLEAN", "Utf8": "VARCHAR"}


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
    import duckdb

    columns = ", ".join(f"'{name}': '{sql_type(kind)}'" for name, kind in job["columns"])
    files = ", ".join(f"'{path}'" for path in job["files"])
    out = f"{job['out']}/data.parquet" if order else job["out"]
    options = f"FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE {ROWS}"
    options += "" if order else ", PER_THREAD_OUTPUT, OVERWRITE_OR_IGNORE"
    read = f"read_json([{files}], columns={{{columns}}}, format='newline_delimited', auto_detect=false)"
    connection = duckdb.connect()
    connection.execute(f"SET threads = {job['threads']}")
    connection.execute(f"SET preserve_insertion_order = {str(order).lower()}")
    connection.execute(f"COPY (SELECT * FROM {read}) TO '{out}' ({options})")


def polars(job):
    import polars

    kinds = {
        "Int64": polars.Int64,
        "Int32": polars.Int32,
        "Float64": polars.Float64,
        "Boolean": polars.Boolean,
        "Utf8": polars.String,
    }

    def schema(texts):
        return {
            name: typed(kind, name, texts, kinds, lambda fields: polars.Struct(dict(fields)), polars.List)
            for name, kind in job["columns"]
        }

    read, wanted = schema(set(job["texts"])), schema(set())
    frame = polars.scan_ndjson(job["files"], schema=read)
    frame = frame.with_columns(polars.col(name).cast(kind) for name, kind in wanted.items() if kind != read[name])
    frame.sink_parquet(f"{job['out']}/data.parquet", compression="zstd", row_group_size=ROWS)


def pyarrow(job):
    from concurrent.futures import ThreadPoolExecutor

    import pyarrow
    import pyarrow.json
    import pyarrow.parquet

    kinds = {
        "Int64": pyarrow.int64(),
        "Int32": pyarrow.int32(),
        "Float64": pyarrow.float64(),
        "Boolean": pyarrow.bool_(),
        "Utf8": pyarrow.string(),
    }

    def schema(texts):
        return pyarrow.schema(
            [(name, typed(kind, name, texts, kinds, pyarrow.struct, pyarrow.list_)) for name, kind in job["columns"]]
        )

    read, wanted = schema(set(job["texts"])), schema(set())
    parse = pyarrow.json.ParseOptions(explicit_schema=read, unexpected_field_behavior="error")
    block = pyarrow.json.ReadOptions(block_size=16 << 20)

    def one(path):
        out = f"{job['out']}/{Path(path).name}.parquet"
        with (
            pyarrow.input_stream(path, compression="gzip") as text,
            pyarrow.json.open_json(text, block, parse) as batches,
            pyarrow.parquet.ParquetWriter(out, wanted, compression="zstd") as writer,
        ):
            held, rows = [], 0
            for batch in batches:
                held.append(pyarrow.Table.from_batches([batch]).cast(wanted))
                rows += batch.num_rows
                if rows >= ROWS:
                    writer.write_table(pyarrow.concat_tables(held), row_group_size=ROWS)
                    held, rows = [], 0
            if held:
                writer.write_table(pyarrow.concat_tables(held), row_group_size=ROWS)

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
