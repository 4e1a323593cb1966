"""Runs the statements of `tracelake schema --as duckdb` in DuckDB in the lake's directory, as they are
printed, and compares the views with the files, with the catalog's descriptions and with views.py.

Input and output are as in check.py, with two more keys in the input: "ddl", the statements, and
"schema", the output of `tracelake schema --as json`.
"""

import json
import os
import sys

import duckdb
import views


def check_files(name, described, table):
    """The plain view of a table has its rows, the numbers of its parts and its comments."""
    findings = []
    parts = {}
    for part in table["parts"]:
        count = duckdb.read_parquet(part["output"]).aggregate("count(*)").fetchall()[0][0]
        parts[part["number"]] = parts.get(part["number"], 0) + count
    found = dict(duckdb.sql(f'SELECT file_number, count(*) FROM "{name}" GROUP BY 1').fetchall())
    if found != {number: rows for number, rows in parts.items() if rows}:
        findings.append(f"duckdb: {name}: rows by part {found}, not {parts}")
    comment = duckdb.sql(f"SELECT comment FROM duckdb_views() WHERE view_name = '{name}'").fetchall()
    if comment != [(described["summary"],)]:
        findings.append(f"duckdb: {name}: comment {comment}")
    comments = dict(
        duckdb.sql(f"SELECT column_name, comment FROM duckdb_columns() WHERE table_name = '{name}'").fetchall()
    )
    for column in described["columns"]:
        text = comments.get(column["name"]) or ""
        if not text.startswith(column["doc"]):
            findings.append(f"duckdb: {name}.{column['name']}: comment {text!r}")
    return findings


def main():
    request = json.load(sys.stdin)
    findings, tables = [], {}
    duckdb.execute("SET TimeZone = 'Asia/Kathmandu'")
    os.chdir(request["lake"])
    # Twice: the statements replace what they made before.
    duckdb.execute(request["ddl"])
    duckdb.execute(request["ddl"])
    described = {table["name"]: table for table in request["schema"]["tables"]}
    for table in request["tables"]:
        name = table["name"]
        findings += check_files(name, described[name], table)
        view = duckdb.sql(f'SELECT * FROM "{name}_named"')
        description = dict(described[name], epoch=request["schema"]["epoch"])
        wanted = views.expected(description, table["parts"])
        rows = view.fetchall()
        findings += views.differences("duckdb", name, view.columns, rows, wanted)
        tables[name] = {"rows": len(rows)}
    json.dump({"findings": findings, "tables": tables}, sys.stdout)


main()
