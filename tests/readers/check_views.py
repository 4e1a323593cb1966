"""Runs the statements of `tracelake schema --as duckdb` in DuckDB, loads the lake as they say, and
holds the views against views.py.

In and out as in check.py, with two more keys in: "ddl", the statements, and "schema", what
`tracelake schema --as json` says.
"""

import json
import sys

import duckdb
import views


def main():
    request = json.load(sys.stdin)
    findings, tables = [], {}
    duckdb.execute("SET TimeZone = 'Asia/Kathmandu'")
    duckdb.execute(request["ddl"])
    described = {table["name"]: table for table in request["schema"]["tables"]}
    for table in request["tables"]:
        name = table["name"]
        glob = table["directory"].replace("'", "''") + "/**/*.parquet"
        duckdb.execute(
            f'INSERT INTO "{name}" BY NAME SELECT * FROM read_parquet(\'{glob}\', hive_partitioning = true)'
        )
        view = duckdb.sql(f'SELECT * FROM "{name}_named"')
        description = dict(described[name], epoch=request["schema"]["epoch"])
        wanted = views.expected(description, table["parts"])
        rows = view.fetchall()
        findings += views.differences("duckdb", name, view.columns, rows, wanted)
        tables[name] = {"rows": len(rows)}
    json.dump({"findings": findings, "tables": tables}, sys.stdout)


main()
