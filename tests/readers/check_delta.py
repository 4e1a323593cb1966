"""Reads a lake by its Delta logs, with each reader that the request names, and compares rows, partition values and the
rows of one part and of some times with pyarrow's reading of the files.

In and out as in check.py, but any number of them, one a line, with one more key in: "readers", the names of some of those
below. Parts may have a "cell".
"""

import collections
import functools
import json
import os
import pathlib
import sys

import pyarrow.parquet

findings = []


def with_deltalake(directory):
    import deltalake

    return deltalake.DeltaTable(directory).to_pyarrow_table().to_pylist()


def with_polars(directory):
    import polars

    return polars.scan_delta(directory).collect().to_arrow().to_pylist()


@functools.cache
def duckdb_with_delta():
    import duckdb
    import duckdb_extension_delta

    [extension] = pathlib.Path(duckdb_extension_delta.__file__).parent.rglob("*.duckdb_extension")
    connection = duckdb.connect()
    connection.execute(f"LOAD '{extension}'; SET TimeZone = 'UTC'")
    return connection


def with_duckdb(directory):
    connection = duckdb_with_delta()
    return connection.sql(f"SELECT * FROM delta_scan('{directory}')").to_arrow_table().to_pylist()


def some_with_deltalake(directory, condition):
    import deltalake

    table = deltalake.DeltaTable(directory)
    return table.to_pyarrow_table(filters=[condition]).num_rows


def some_with_polars(directory, condition):
    import polars

    column, operator, value = condition
    column = polars.col(column)
    chosen = column == value if operator == "=" else column >= value
    return polars.scan_delta(directory).filter(chosen).collect().height


def some_with_duckdb(directory, condition):
    column, operator, value = condition
    connection = duckdb_with_delta()
    found = connection.sql(f"SELECT count(*) FROM delta_scan('{directory}') WHERE \"{column}\" {operator} {value}")
    return found.fetchone()[0]


READERS = {
    "deltalake": (with_deltalake, some_with_deltalake),
    "polars": (with_polars, some_with_polars),
    "duckdb": (with_duckdb, some_with_duckdb),
}


def plain(value):
    """One form for all readers: a zone of UTC has several names."""
    if isinstance(value, dict):
        return {name: plain(item) for name, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    if getattr(value, "tzinfo", None) is not None:
        return ("UTC", value.timestamp(), value.microsecond)
    return value


def counted(rows):
    return collections.Counter(repr([(name, plain(value)) for name, value in sorted(row.items())]) for row in rows)


def answer(request):
    tables = {}
    findings.clear()
    for table in request["tables"]:
        name, directory, expected = table["name"], table["directory"], []
        for part in table["parts"]:
            added = {"file_number": part["number"]}
            if part.get("cell") is not None:
                added["cell"] = part["cell"]
            # The path names partitions, which pyarrow would add by itself.
            rows = pyarrow.parquet.ParquetFile(part["output"]).read().to_pylist()
            expected += [row | added for row in rows]
        wanted = counted(expected)
        last = max(part["number"] for part in table["parts"])
        conditions = [(("file_number", "=", last), sum(row["file_number"] == last for row in expected))]
        time = table.get("time")
        times = sorted(row[time] for row in expected if row[time] is not None) if time else []
        if times:
            middle = times[len(times) // 2]
            conditions.append(((time, ">=", middle), sum(one >= middle for one in times)))
        for reader in request["readers"]:
            read, read_some = READERS[reader]
            rows = read(directory)
            counts = counted(rows)
            more, fewer = counts - wanted, wanted - counts
            if more or fewer:
                findings.append(f"{reader}: {name}: {more.most_common(1)}, not {fewer.most_common(1)}")
            for condition, count in conditions:
                found = read_some(directory, condition)
                if found != count:
                    findings.append(f"{reader}: {name}: {found} rows where {condition}, not {count}")
        tables[name] = {"rows": len(expected)}
    return {"findings": findings, "tables": tables}


def main():
    # What the libraries print must not mix with the answers.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line))), file=answers, flush=True)


main()
