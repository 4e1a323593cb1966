"""Wide rows: a run of columns is a list, and a query makes a table with a row for each of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import tracelake

duckdb: Any = pytest.importorskip("duckdb")
pytest.importorskip("pyarrow")
import pyarrow.parquet as pq  # noqa: E402

ROWS = Path(__file__).parents[4] / "shared" / "data" / "next" / "azure-functions-2019"
FILE = "function_durations_percentiles.anon.d01.csv"
PERCENTS = [0, 1, 25, 50, 75, 99, 100]
NAMES = [f"percentile_Average_{percent}" for percent in PERCENTS]

DESCRIPTION = f"""
family = "azure-functions"
[[table]]
name = "durations"
file = "{FILE}"
csv.header = "by-name"
[table.columns]
HashOwner = "text"
HashApp = "text"
HashFunction = "text"
Average = "float"
Count = "integer"
Minimum = "float"
Maximum = "float"
percentiles = {{ kind = "list", columns = {NAMES}, field = [{{ kind = "float" }}] }}
[[query_table]]
name = "duration_percentiles"
summary = "One row for each function and percentile."
needs = ["durations"]
column = [
    {{ name = "hash_function", doc = "The function." }},
    {{ name = "number", doc = "The number of the percentile, from 1." }},
    {{ name = "duration", doc = "How long it took." }},
]
sql = '''
SELECT hashfunction AS hash_function, unnest(range(1, len(percentiles) + 1)) AS number, unnest(percentiles) AS duration
FROM durations
'''
"""


def test_a_row_for_each_item_is_what_duckdb_makes_of_the_columns(tmp_path: Path) -> None:
    if not ROWS.exists():
        pytest.skip("needs the published rows in ../shared/data")
    trace = tmp_path / "azure.toml"
    trace.write_text(DESCRIPTION)
    lake = tracelake.convert(ROWS, tmp_path / "lake", trace=str(trace))
    assert tracelake.verify(lake, source=ROWS)
    source = f"read_csv('{ROWS / FILE}', all_varchar = true)"
    columns = ", ".join(f"{name}::DOUBLE" for name in NAMES)
    expected = duckdb.sql(f"SELECT HashFunction, [{columns}] FROM {source}").fetchall()
    [part] = lake["durations"].parts
    rows = pq.ParquetFile(Path(lake.path, part.output.path)).read().to_pylist()
    assert [(row["hashfunction"], row["percentiles"]) for row in rows] == expected

    derived = tracelake.derive(tmp_path / "lake", tmp_path / "derived")
    table = derived["duration_percentiles"]
    assert table.rows == len(PERCENTS) * len(expected) > 0
    found = derived.duckdb().sql("SELECT hash_function, number, duration FROM duration_percentiles").fetchall()
    long = duckdb.sql(f"UNPIVOT (SELECT * FROM {source}) ON {', '.join(NAMES)} INTO NAME name VALUE value")
    unpivoted = long.select("HashFunction, name, value::DOUBLE").fetchall()
    assert sorted(found) == sorted((owner, NAMES.index(name) + 1, value) for owner, name, value in unpivoted)
