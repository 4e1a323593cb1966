"""Reads a lake with DuckDB, Polars, pyarrow and pandas, and compares them with each other and with
DuckDB's own reading of the source.

In (one JSON object on stdin):
    {"tables": [{"name", "directory", "columns": [{"name", "type", "nullable", "comment"}],
                 "fields": [column name of each field of the source],
                 "parts": [{"number", "source", "output"}]}]}
    where type is int64, int32, double, boolean or string, and paths are absolute.

Out (one JSON object on stdout):
    {"findings": [text], "tables": {name: {"rows": n, "values": n, "file_numbers": [n]}}}

Sums of integers are taken modulo 2^64, because the readers differ in what they do past it; sums of
floats are compared to nine digits, because the readers add in different orders. The sum of a text
column is that of its lengths.
"""

import json
import math
import sys

import duckdb
import numpy
import pandas
import polars
import pyarrow
import pyarrow.compute
import pyarrow.dataset
import pyarrow.parquet

SQL = {"int64": "BIGINT", "int32": "INTEGER", "double": "DOUBLE", "boolean": "BOOLEAN", "string": "VARCHAR"}
PHYSICAL = {"int64": "INT64", "int32": "INT32", "double": "DOUBLE", "boolean": "BOOLEAN", "string": "BYTE_ARRAY"}
ARROW = {
    "int64": pyarrow.int64(),
    "int32": pyarrow.int32(),
    "double": pyarrow.float64(),
    "boolean": pyarrow.bool_(),
    "string": pyarrow.string(),
}
INTEGERS = ("int64", "int32")

findings = []


def quoted(name):
    return '"' + name.replace('"', '""') + '"'


def text(path):
    return "'" + path.replace("'", "''") + "'"


def facts(kind, rows, nulls, total, low, high):
    """One form for all readers; None where there is no value."""
    if rows == nulls:
        total = low = high = None
    elif kind in INTEGERS:
        total, low, high = int(total) % 2**64, int(low), int(high)
    elif kind == "double":
        total, low, high = float(total), float(low), float(high)
    elif kind == "boolean":
        total, low, high = int(total), bool(low), bool(high)
    else:
        total, low, high = int(total), str(low), str(high)
    return {"rows": int(rows), "nulls": int(nulls), "sum": total, "min": low, "max": high}


def by_duckdb(table):
    glob = text(table["directory"] + "/**/*.parquet")
    relation = f"read_parquet({glob}, hive_partitioning = true)"
    found = {}
    for column in table["columns"]:
        name, kind = quoted(column["name"]), column["type"]
        summed = {"string": f"length({name})", "boolean": f"{name}::INTEGER"}.get(kind, name)
        row = duckdb.sql(
            f"SELECT count(*), count(*) - count({name}), sum({summed}), min({name}), max({name}) FROM {relation}"
        ).fetchall()[0]
        found[column["name"]] = facts(kind, *row)
    numbers = duckdb.sql(f"SELECT DISTINCT file_number FROM {relation} ORDER BY 1").fetchall()
    return found, [int(number) for (number,) in numbers]


def by_polars(table):
    frame = polars.scan_parquet(table["directory"], hive_partitioning=True).collect()
    found = {}
    for column in table["columns"]:
        series, kind = frame[column["name"]], column["type"]
        summed = {"string": lambda: series.str.len_chars(), "int32": lambda: series.cast(polars.Int64)}.get(kind, lambda: series)()
        found[column["name"]] = facts(kind, len(series), series.null_count(), summed.sum(), series.min(), series.max())
    return found, sorted(int(number) for number in frame["file_number"].unique())


def by_pyarrow(table):
    data = pyarrow.dataset.dataset(table["directory"], format="parquet", partitioning="hive").to_table()
    found = {}
    for column in table["columns"]:
        values, kind = data[column["name"]], column["type"]
        if values.type != ARROW[kind]:
            findings.append(f"pyarrow: {table['name']}.{column['name']} is {values.type}")
        summed = {
            "string": lambda: pyarrow.compute.utf8_length(values),
            "int32": lambda: values.cast(pyarrow.int64()),
            "boolean": lambda: values.cast(pyarrow.int64()),
        }.get(kind, lambda: values)()
        ends = pyarrow.compute.min_max(values).as_py()
        total = pyarrow.compute.sum(summed).as_py()
        found[column["name"]] = facts(kind, len(values), values.null_count, total, ends["min"], ends["max"])
    return found, sorted(set(data["file_number"].to_pylist()))


def by_pandas(table):
    plain = pandas.read_parquet(table["directory"])
    masked = pandas.read_parquet(table["directory"], dtype_backend="numpy_nullable")
    found = {}
    for column in table["columns"]:
        name, kind = column["name"], column["type"]
        if not column["nullable"] and kind in INTEGERS and plain[name].dtype != numpy.dtype(kind):
            findings.append(f"pandas: {table['name']}.{name} is {plain[name].dtype}, not {kind}")
        # What is mandatory is looked at as pandas gives it by default.
        values = masked[name] if column["nullable"] else plain[name]
        there = values.dropna()
        if kind == "string":
            total = sum(len(value) for value in there)
        elif kind == "double":
            total = float(there.astype("float64").sum())
        else:
            # Python's integers have no end.
            total = sum(int(value) for value in there)
        low, high = (there.min(), there.max()) if len(there) else (None, None)
        found[name] = facts(kind, len(values), len(values) - len(there), total, low, high)
    return found, sorted(int(number) for number in plain["file_number"].unique())


def same(one, other):
    if isinstance(one, float) and isinstance(other, float):
        return one == other or math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-300)
    return one == other


def compare_readers(table):
    readers = {"duckdb": by_duckdb, "polars": by_polars, "pyarrow": by_pyarrow, "pandas": by_pandas}
    first = None
    for reader, read in readers.items():
        found, numbers = read(table)
        expected = [part["number"] for part in table["parts"]]
        if numbers != sorted(expected):
            findings.append(f"{reader}: {table['name']}: file numbers {numbers}, not {expected}")
        if first is None:
            first = found
        for column, values in found.items():
            for fact, value in values.items():
                if not same(value, first[column][fact]):
                    findings.append(f"{reader}: {table['name']}.{column}: {fact} {value!r}, duckdb {first[column][fact]!r}")
    return first


def compare_with_source(table, part):
    """Every value of a part in its place, and the rows as a bag, both ways."""
    types = ", ".join(
        f"{text(name)}: {text(SQL[next(c['type'] for c in table['columns'] if c['name'] == name)])}"
        for name in table["fields"]
    )
    source = (
        f"read_csv({text(part['source'])}, columns = {{{types}}}, header = false, auto_detect = false, "
        "delim = ',', quote = '', escape = '', nullstr = '', strict_mode = true)"
    )
    lake = f"read_parquet({text(part['output'])}, hive_partitioning = false)"
    names = [quoted(name) for name in table["fields"]]
    listed = ", ".join(names)
    counts = [duckdb.sql(f"SELECT count(*) FROM {relation}").fetchall()[0][0] for relation in (source, lake)]
    if counts[0] != counts[1]:
        findings.append(f"{part['output']}: {counts[1]} rows, its source {counts[0]}")
    for less, more in ((source, lake), (lake, source)):
        query = f"SELECT count(*) FROM (SELECT {listed} FROM {more} EXCEPT ALL SELECT {listed} FROM {less})"
        odd = duckdb.sql(query).fetchall()[0][0]
        if odd:
            findings.append(f"{part['output']}: {odd} rows are only in {'the source' if more == source else 'the lake'}")
    differs = " OR ".join(f"s.{name} IS DISTINCT FROM l.{name}" for name in names)
    odd = duckdb.sql(
        f"SELECT count(*) FROM (SELECT {listed} FROM {source}) s POSITIONAL JOIN (SELECT {listed} FROM {lake}) l WHERE {differs}"
    ).fetchall()[0][0]
    if odd:
        findings.append(f"{part['output']}: {odd} rows differ from the source in place")
    return counts[1]


def check_file(table, part):
    """The properties that other readers rely on: plain types, REQUIRED where nothing is missing, comments."""
    file = pyarrow.parquet.ParquetFile(part["output"])
    metadata, schema = file.metadata, file.schema_arrow
    if schema.names != [column["name"] for column in table["columns"]]:
        findings.append(f"{part['output']}: columns {schema.names}")
        return
    for index, column in enumerate(table["columns"]):
        place = f"{part['output']}: {column['name']}"
        field, stored = schema.field(index), metadata.schema.column(index)
        comment = (field.metadata or {}).get(b"comment", b"").decode()
        if comment != column["comment"]:
            findings.append(f"{place}: comment {comment!r}")
        if field.type != ARROW[column["type"]] or stored.physical_type != PHYSICAL[column["type"]]:
            findings.append(f"{place}: {field.type}, stored as {stored.physical_type}")
        if field.nullable != column["nullable"] or (stored.max_definition_level > 0) != column["nullable"]:
            findings.append(f"{place}: nullable is {field.nullable}")
        if stored.max_repetition_level > 0:
            findings.append(f"{place}: repeated")
        for group in range(metadata.num_row_groups):
            chunk = metadata.row_group(group).column(index)
            odd = set(chunk.encodings) - {"PLAIN", "RLE", "RLE_DICTIONARY", "PLAIN_DICTIONARY", "BIT_PACKED"}
            if odd or not chunk.is_stats_set:
                findings.append(f"{place}: encodings {chunk.encodings}, statistics {chunk.is_stats_set}")
    for group in range(metadata.num_row_groups):
        rows = metadata.row_group(group).num_rows
        if rows > 1 << 20:
            findings.append(f"{part['output']}: a row group of {rows} rows")


def main():
    request = json.load(sys.stdin)
    tables = {}
    for table in request["tables"]:
        found = compare_readers(table)
        rows = 0
        for part in table["parts"]:
            check_file(table, part)
            rows += compare_with_source(table, part)
        first = next(iter(found.values()))
        if rows != first["rows"]:
            findings.append(f"{table['name']}: {first['rows']} rows, but {rows} in its parts")
        tables[table["name"]] = {
            "rows": rows,
            "values": rows * len(table["fields"]),
            "file_numbers": [part["number"] for part in table["parts"]],
        }
    json.dump({"findings": findings, "tables": tables}, sys.stdout)


main()
