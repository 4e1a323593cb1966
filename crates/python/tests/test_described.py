"""A trace from a description file: the lake, its views and its schema need the lake alone."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from pathlib import Path

import duckdb
import polars as pl
import pyarrow as pa
import pytest

import tracelake
from tracelake import _tracelake

DESCRIPTION = """
family = "rides"
licence = "CC0-1.0"
citation = "Us"
[[trace]]
name = "rides-1"
title = "Rides"
document = "A letter"
[[table]]
name = "select"
summary = "One row for each ride."
files = "named"
names = ["rides_{city}.csv"]
time = "when"
[table.captures]
city = ["north", "south"]
[table.csv]
header = true
null = ["NA"]
[[table.column]]
name = "when"
content = "Start Time"
kind = "date-time"
zone = "published"
format = "TIME"
obfuscation = "unchanged"
doc = "When it's begun; a \\"quote\\"."
[[table.column]]
name = "from"
content = "from"
kind = "integer"
format = "INTEGER"
integral_floats = true
obfuscation = "unchanged"
doc = "Where."
[[table.column]]
name = "city"
content = "city"
kind = "text"
format = "STRING"
capture = "city"
obfuscation = "unchanged"
doc = "The city."
"""


@pytest.fixture
def rides(tmp_path: Path) -> tracelake.Manifest:
    """A lake whose description is gone."""
    source, trace = tmp_path / "rides", tmp_path / "rides.toml"
    source.mkdir()
    trace.write_text(DESCRIPTION)
    (source / "rides_north.csv").write_text("Start Time,from\n2024-05-01T08:00:00+02:00,7.0\n")
    (source / "rides_south.csv").write_text("Start Time,from\n2024-05-01T08:00:00.5Z,NA\n")
    assert tracelake.inspect(source, trace=str(trace)).trace == "rides-1"
    reader = tracelake.read_part(source / "rides_north.csv", trace=str(trace))
    assert pa.table(reader).to_pylist() == [
        {"when": datetime(2024, 5, 1, 6, tzinfo=timezone.utc), "from": 7, "city": "north"}
    ]
    schema = tracelake.schema(str(trace), "select")
    assert pa.schema(schema).field("when").type == pa.timestamp("us", "UTC")
    made = tracelake.convert(source, tmp_path / "lake", trace=str(trace))
    trace.unlink()
    return made


def test_every_engine_reads_a_described_lake(rides: tracelake.Manifest) -> None:
    """Names that are keywords of SQL are quoted, and date-times are timestamps."""
    lake = tracelake.open(rides.path)
    assert lake.trace == "rides-1" and lake.description is not None
    times = [datetime(2024, 5, 1, 6, tzinfo=timezone.utc), datetime(2024, 5, 1, 8, 0, 0, 500_000, tzinfo=timezone.utc)]
    frame = lake["select"].to_polars()
    assert frame.schema["when"] == pl.Datetime("us", "UTC")
    assert frame["when"].to_list() == times
    assert frame["from"].to_list() == [7, None]
    assert frame["city"].to_list() == ["north", "south"]
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    lake.duckdb(connection)
    query = 'SELECT epoch_us("when"), "from", city, file_number FROM "select" ORDER BY file_number'
    rows = connection.execute(query).fetchall()
    micros = [int(time.timestamp() * 1_000_000) for time in times]
    assert rows == [(micros[0], 7, "north", 0), (micros[1], None, "south", 1)]
    named = connection.execute('SELECT "from" FROM select_named ORDER BY file_number').fetchall()
    assert named == [(7,), (None,)]
    assert lake["select"].schema["when"].type == "Timestamp<us, UTC>"
    assert "CREATE OR REPLACE VIEW" in lake["select"].schema.to("duckdb")
    assert tracelake.verify(lake)


def test_a_mistake_names_file_and_line(tmp_path: Path) -> None:
    """The error has the place as attributes."""
    trace = tmp_path / "wrong.toml"
    trace.write_text(DESCRIPTION.replace('kind = "text"', 'kind = "string"'))
    with pytest.raises(tracelake.UsageError) as caught:
        tracelake.schema(str(trace))
    assert caught.value.path == str(trace) and caught.value.line == 1 + DESCRIPTION[: DESCRIPTION.index('"city"\ncontent')].count("\n")
    assert "is not one of integer" in str(caught.value)


#: What a page, a query, a card or a table of Markdown could take for something else than text.
HOSTILE = "</title><script>alert('$x$')</script> \"a\" 'b' `c` | d\\e *f* [g](javascript:h) -- i; $$j$$"


def test_what_a_description_says_stays_text(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    hostile = json.dumps(HOSTILE)
    text = DESCRIPTION.replace('licence = "CC0-1.0"', f"licence = {hostile}\nanomalies = [{hostile}]\ndownload = {hostile}")
    for key in ('citation = "Us"', 'title = "Rides"', 'document = "A letter"', 'summary = "One row for each ride."'):
        text = text.replace(key, f"{key.split(' ')[0]} = {hostile}")
    text = text.replace('doc = "Where."', f'doc = {hostile}\nunit = {hostile}').replace('content = "from"', f"content = {hostile}")
    text = text.replace("header = true\n", "")
    text += f"""
[[check]]
name = "rides_from"
sentence = {hostile}
document = {hostile}
needs = ["select"]
sql = "SELECT {HOSTILE.split("'")[0].replace('"', '')!r} AS finding FROM \\"select\\" WHERE \\"from\\" = 7"
[[figure]]
name = "rides"
title = {hostile}
caption = {hostile}
needs = ["select"]
plot = "numbers"
x = {hostile}
y = {hostile}
sql = "SELECT 'rides' AS x, '' AS series, count(*) AS y FROM \\"select\\""
"""
    source, trace = tmp_path / "rides", tmp_path / "rides.toml"
    source.mkdir()
    trace.write_text(text)
    (source / "rides_north.csv").write_text("2024-05-01T08:00:00+02:00,7.0\n")
    (source / "rides_south.csv").write_text("2024-05-01T08:00:00.5Z,NA\n")
    lake = tracelake.convert(source, tmp_path / "lake", trace=str(trace))

    # SQL: the views are made, and comments hold what was said.
    connection = lake.duckdb()
    assert connection.execute('SELECT sum("from") FROM select_named').fetchone() == (7,)
    # The printed ones are for the directory of the lake.
    plain = duckdb.connect()
    plain.execute(f"SET file_search_path = '{lake.path}'")
    plain.execute(_described(trace, "duckdb"))
    assert plain.execute('SELECT sum("from") FROM select_named').fetchone() == (7,)

    # Pages: the text is shown and runs nothing.
    (checked,) = tracelake.check(lake)
    assert checked.status == "failed" and checked.sentence == HOSTILE
    page = tracelake.report(lake, tmp_path / "report.html")
    html = (tmp_path / "report.html").read_text()
    assert "<script" not in html and "&lt;script&gt;" in html, page
    tracelake.release(lake)
    card = (tmp_path / "lake" / "README.md").read_text()
    dictionary = _described(trace, "markdown")
    for document in (card.split("---\n", 2)[2], dictionary):
        assert "<script" not in document and "&lt;/title>" in document
        assert "$x$" not in document.replace("\\$", "")
    croissant = json.loads((tmp_path / "lake" / "croissant.json").read_text())
    assert croissant["license"] == HOSTILE or HOSTILE in json.dumps(croissant["license"]), croissant["license"]
    assert tracelake.verify(lake)


def _described(trace: Path, form: str) -> str:
    return _tracelake.describe(str(trace), None, form)
