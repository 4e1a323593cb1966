"""Compares an Arrow lake with the Parquet lake of the same source, value by value, with pyarrow (which
maps the files into memory), Polars, DuckDB through pyarrow, and pandas.

In (one JSON object a line on stdin):
    {"tables": [{"name", "columns": [{"name", "comment", "unit"}],
                 "parquet": directory, "arrow": directory,
                 "parts": [{"parquet", "arrow"}]}],
     "compressed": whether the Arrow files are}
    where paths are absolute.

Out (one JSON object for each on stdout):
    {"findings": [text], "tables": {name: {"rows": n}}}
"""

import json
import sys

import duckdb
import pandas
import polars
import polars.testing
import pyarrow
import pyarrow.dataset
import pyarrow.ipc
import pyarrow.parquet

BATCH_ROWS = 1 << 16

findings = []


def by_pyarrow(part, table, compressed):
    expected = pyarrow.parquet.ParquetFile(part["parquet"]).read()
    with pyarrow.memory_map(part["arrow"]) as mapped:
        before = pyarrow.total_allocated_bytes()
        file = pyarrow.ipc.open_file(mapped)
        found = file.read_all()
        if not compressed and pyarrow.total_allocated_bytes() > before:
            findings.append(f"{part['arrow']}: pyarrow copied values of a mapped file")
        if found.schema.remove_metadata() != expected.schema.remove_metadata():
            findings.append(f"{part['arrow']}: pyarrow has the schema {found.schema}")
        if not found.equals(expected):
            findings.append(f"{part['arrow']}: pyarrow reads other values")
        for field, column in zip(found.schema, table["columns"], strict=True):
            metadata = {key.decode(): value.decode() for key, value in (field.metadata or {}).items()}
            if field.name != column["name"]:
                findings.append(f"{part['arrow']}: column {field.name}, not {column['name']}")
            if (metadata.get("comment"), metadata.get("unit")) != (column["comment"], column["unit"]):
                findings.append(f"{part['arrow']}: {field.name} has the metadata {metadata}")
        rows = [file.get_batch(index).num_rows for index in range(file.num_record_batches)]
        if any(number != BATCH_ROWS for number in rows[:-1]) or any(number > BATCH_ROWS for number in rows):
            findings.append(f"{part['arrow']}: batches of {rows} rows")
    return len(expected)


def by_polars(part):
    expected = polars.read_parquet(part["parquet"], hive_partitioning=False)
    for found in (
        polars.read_ipc(part["arrow"]),
        polars.scan_ipc(part["arrow"], hive_partitioning=False).collect(),
    ):
        try:
            polars.testing.assert_frame_equal(found, expected, check_exact=True)
        except AssertionError as error:
            findings.append(f"{part['arrow']}: Polars: {error}")


def by_pandas(part):
    try:
        pandas.testing.assert_frame_equal(
            pandas.read_feather(part["arrow"]), pandas.read_parquet(part["parquet"], partitioning=None), check_exact=True
        )
    except AssertionError as error:
        findings.append(f"{part['arrow']}: pandas: {error}")


def by_duckdb(table):
    arrow = pyarrow.dataset.dataset(table["arrow"], format="ipc", partitioning="hive")
    parquet = duckdb.read_parquet(table["parquet"] + "/**/*.parquet", hive_partitioning=True)
    names = ", ".join('"' + column["name"] + '"' for column in table["columns"]) + ", file_number"
    for less, more in (("arrow", "parquet"), ("parquet", "arrow")):
        query = f"SELECT count(*) FROM (SELECT {names} FROM {more} EXCEPT ALL SELECT {names} FROM {less})"
        odd = duckdb.sql(query).fetchall()[0][0]
        if odd:
            findings.append(f"DuckDB: {odd} rows of {table['name']} are only in the {more} lake")
    return duckdb.sql("SELECT count(*) FROM arrow").fetchall()[0][0]


def answer(request):
    tables = {}
    findings.clear()
    for table in request["tables"]:
        rows = 0
        for part in table["parts"]:
            rows += by_pyarrow(part, table, request["compressed"])
            by_polars(part)
            by_pandas(part)
        found = by_duckdb(table)
        if found != rows:
            findings.append(f"DuckDB: {found} rows of {table['name']}, not {rows}")
        tables[table["name"]] = {"rows": rows}
    return {"findings": findings, "tables": tables}


for line in sys.stdin:
    print(json.dumps(answer(json.loads(line))), flush=True)
