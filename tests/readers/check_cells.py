"""Reads a table of a lake of several cells with DuckDB, Polars, pyarrow and pandas, and compares the rows
of each cell with the manifest. Arguments: the lake, the table, and the statements of its views."""

import collections
import json
import pathlib
import sys

import duckdb
import pandas
import polars
import pyarrow.dataset

lake, table, views = sys.argv[1:]
manifest = json.loads((pathlib.Path(lake) / "_tracelake/manifest.json").read_text())
[facts] = [one for one in manifest["tables"] if one["name"] == table]
expected = collections.Counter()
for part in facts["parts"]:
    expected[part["cell"]] += part["rows_out"]
expected = dict(expected)
assert len(expected) == 2, expected

directory = f"{lake}/{table}"
glob = f"{directory}/**/*.parquet"
counted = duckdb.sql(f"SELECT cell, count(*) FROM read_parquet('{glob}', hive_partitioning = true) GROUP BY ALL")
assert dict(counted.fetchall()) == expected
connection = duckdb.connect()
connection.execute(views)
for view in (table, f"{table}_named"):
    counted = connection.sql(f"SELECT cell, count(*) FROM {view} GROUP BY ALL")
    assert dict(counted.fetchall()) == expected, view
    names = [row[0] for row in connection.sql(f"DESCRIBE {view}").fetchall()]
    assert names[-2:] == ["cell", "file_number"], names

frame = polars.scan_parquet(directory, hive_partitioning=True)
assert dict(frame.group_by("cell").len().collect().iter_rows()) == expected

dataset = pyarrow.dataset.dataset(directory, partitioning="hive")
for cell, rows in expected.items():
    assert dataset.count_rows(filter=pyarrow.dataset.field("cell") == cell) == rows, cell

counts = pandas.read_parquet(directory)["cell"].astype(str).value_counts()
assert counts.to_dict() == expected
