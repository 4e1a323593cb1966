"""Runs the snippets of docs/catalogs.md beside a lake, and compares the rows that they find with pyarrow's reading of the
files.

In as check_delta.py, with two more keys: "page", the text of the page, and "directory", that of `catalog-lake`. Out: as in
check.py, with "snippets", how many ran.
"""

import collections
import contextlib
import io
import json
import os
import pathlib
import re
import sys

import duckdb
import duckdb_extension_ducklake
import pyarrow.parquet

findings = []


def main():
    request = json.load(sys.stdin)
    answer = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    os.chdir(request["directory"])
    [events] = [table for table in request["tables"] if table["name"] == "job_events"]
    expected, snippets = [], 0
    for part in events["parts"]:
        rows = pyarrow.parquet.ParquetFile(part["output"]).read().to_pylist()
        expected += [row | {"file_number": part["number"]} for row in rows]
    by_part = sorted(collections.Counter(row["file_number"] for row in expected).items())
    names = {}
    for title, section in re.findall(r"\n## (\w+)\n(.*?)(?=\n## |\Z)", request["page"], re.DOTALL):
        for language, text in re.findall(r"```(python|sql)\n(.*?)```", section, re.DOTALL):
            snippets += 1
            if language == "sql":
                [extension] = pathlib.Path(duckdb_extension_ducklake.__file__).parent.rglob("*.duckdb_extension")
                connection = duckdb.connect()
                connection.execute(f"LOAD '{extension}'")
                *setup, query = [one for one in text.split(";\n") if one.strip()]
                for statement in setup:
                    connection.execute(statement)
                found = connection.sql(query).fetchall()
                if found != by_part:
                    findings.append(f"{title}: {found}, not {by_part}")
                rows = connection.sql("FROM catalog.job_events").to_arrow_table().to_pylist()
                compare(title, rows, expected)
                continue
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(text, names)
            if not printed.getvalue().strip():
                findings.append(f"{title}: nothing is printed")
    # What the snippets made is right, and so is what the page says of NULLs.
    compare("Delta", names["events"].collect().to_arrow().to_pylist(), expected)
    rows = names["table"].scan().to_arrow().to_pylist()
    compare("Iceberg", rows, [{name: row[name] for name in row if name != "file_number"} for row in expected])
    check_trap(names)
    json.dump({"findings": findings, "tables": {}, "snippets": snippets}, answer)
    answer.close()


def check_trap(names):
    """A table with the column `file_number` has NULL in it, as the page says."""
    import pyarrow

    schema = names["pq"].read_schema(names["files"][0]).append(pyarrow.field("file_number", pyarrow.int32()))
    table = names["catalog"].create_table("traces.trap", schema=schema)
    table.add_files(names["files"])
    found = set(table.scan().to_arrow().column("file_number").to_pylist())
    if found != {None}:
        findings.append(f"Iceberg: file_number is {found}: the page says that it is NULL")


def compare(title, rows, expected):
    counted = [collections.Counter(repr(sorted(row.items())) for row in some) for some in (rows, expected)]
    if counted[0] != counted[1]:
        findings.append(f"{title}: {len(rows)} rows that differ from the files' {len(expected)}")


main()
