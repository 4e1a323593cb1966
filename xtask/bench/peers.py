"""One conversion by one of the peers, in a process of its own: peers.py PEER JOB.json

JOB is {"files": [path], "columns": [[name, type]], "out": directory, "threads": n} with the types
Int64, Int32, Float64, Boolean and Utf8. Every peer gets the column types, writes zstd and row groups
of about a million rows, and may use all threads.
"""

import json
import sys
from pathlib import Path

SQL = {"Int64": "BIGINT", "Int32": "INTEGER", "Float64": "DOUBLE", "Boolean": "BOOLEAN", "Utf8": "VARCHAR"}
ROWS = 1 << 20


def duckdb_sql(job, order):
    return copy_sql(job, order, "read_csv", SQL.__getitem__, "header=false, delim=',', quote='', auto_detect=false")


def copy_sql(job, order, function, sql_type, rest):
    """Reads the files by a function of DuckDB, with these types and arguments, and copies them to Parquet."""
    columns = ", ".join(f"'{name}': '{sql_type(kind)}'" for name, kind in job["columns"])
    files = ", ".join(f"'{path}'" for path in job["files"])
    return copy_to(job, order, f"SELECT * FROM {function}([{files}], columns={{{columns}}}, {rest})")


def copy_to(job, order, query):
    """Copies the rows of a query to Parquet."""
    out = f"{job['out']}/data.parquet" if order else job["out"]
    options = f"FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE {ROWS}"
    options += "" if order else ", PER_THREAD_OUTPUT, OVERWRITE_OR_IGNORE"
    return f"COPY ({query}) TO '{out}' ({options})"


def duckdb(job, order):
    run_duckdb(job, order, duckdb_sql(job, order))


def run_duckdb(job, order, sql):
    import duckdb

    connection = duckdb.connect()
    connection.execute(f"SET threads = {job['threads']}")
    connection.execute(f"SET preserve_insertion_order = {str(order).lower()}")
    connection.execute(sql)


def polars(job):
    import polars

    kinds = {
        "Int64": polars.Int64,
        "Int32": polars.Int32,
        "Float64": polars.Float64,
        # Polars reads only true and false as booleans.
        "Boolean": polars.Int8,
        "Utf8": polars.String,
    }
    frame = polars.scan_csv(
        job["files"],
        has_header=False,
        schema={name: kinds[kind] for name, kind in job["columns"]},
        quote_char=None,
    )
    booleans = [name for name, kind in job["columns"] if kind == "Boolean"]
    frame = frame.with_columns(polars.col(name).cast(polars.Boolean) for name in booleans)
    frame.sink_parquet(f"{job['out']}/data.parquet", compression="zstd", row_group_size=ROWS)


def pyarrow(job):
    from concurrent.futures import ThreadPoolExecutor

    import pyarrow
    import pyarrow.csv
    import pyarrow.parquet

    kinds = {
        "Int64": pyarrow.int64(),
        "Int32": pyarrow.int32(),
        "Float64": pyarrow.float64(),
        "Boolean": pyarrow.bool_(),
        "Utf8": pyarrow.string(),
    }
    schema = pyarrow.schema([(name, kinds[kind]) for name, kind in job["columns"]])
    read = pyarrow.csv.ReadOptions(column_names=schema.names, block_size=16 << 20)
    parse = pyarrow.csv.ParseOptions(quote_char=False)
    convert = pyarrow.csv.ConvertOptions(column_types=schema, strings_can_be_null=True, null_values=[""])

    def one(path):
        out = f"{job['out']}/{Path(path).parent.name}-{Path(path).name}.parquet"
        with (
            pyarrow.csv.open_csv(path, read, parse, convert) as batches,
            pyarrow.parquet.ParquetWriter(out, schema, compression="zstd") as writer,
        ):
            write_row_groups(writer, batches)

    with ThreadPoolExecutor(job["threads"]) as pool:
        list(pool.map(one, job["files"]))


def write_row_groups(writer, batches):
    """Writes batches with pyarrow, in row groups of about ROWS rows."""
    import pyarrow

    held, rows = [], 0
    for batch in batches:
        held.append(batch)
        rows += batch.num_rows
        if rows >= ROWS:
            writer.write_table(pyarrow.Table.from_batches(held), row_group_size=ROWS)
            held, rows = [], 0
    if held:
        writer.write_table(pyarrow.Table.from_batches(held), row_group_size=ROWS)


def chdb(job):
    import chdb

    kinds = {"Int64": "Int64", "Int32": "Int32", "Float64": "Float64", "Boolean": "Bool", "Utf8": "String"}
    columns = ", ".join(f"`{name}` Nullable({kinds[kind]})" for name, kind in job["columns"])
    files = job["files"][0] if len(job["files"]) == 1 else job["files"][0].rsplit("/", 1)[0] + "/*.csv.gz"
    chdb.query(
        f"INSERT INTO FUNCTION file('{job['out']}/data.parquet', 'Parquet')"
        f" SELECT * FROM file('{files}', 'CSV', '{columns}')"
        f" SETTINGS max_threads = {job['threads']}, input_format_csv_empty_as_default = 1,"
        " output_format_parquet_compression_method = 'zstd',"
        f" output_format_parquet_row_group_size = {ROWS}"
    )


PEERS = {
    "DuckDB": lambda job: duckdb(job, order=True),
    "DuckDB, per thread": lambda job: duckdb(job, order=False),
    "Polars": polars,
    "pyarrow": pyarrow,
    "chDB": chdb,
}

if __name__ == "__main__":
    PEERS[sys.argv[1]](json.loads(Path(sys.argv[2]).read_text()))
