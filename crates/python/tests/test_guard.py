"""Hostile queries, which try to read or change something other than the lake's tables."""

from __future__ import annotations

import http.server
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

import tracelake
from tracelake import _figures, _guard, _queries

duckdb = pytest.importorskip("duckdb")
pytest.importorskip("pyarrow")

#: The names of all built-in traces, as the program lists them at the beginning of lines.
_LISTED = subprocess.run([sys.executable, "-m", "tracelake", "schema"], capture_output=True, text=True, check=True)
TRACES = [line.split()[0] for line in _LISTED.stdout.splitlines() if line and not line.startswith(" ")]

NEEDS = (_queries.Need("job_events", "any"),)


@pytest.fixture
def engine(lake: tracelake.Manifest) -> Iterator[_queries.Engine]:
    with _queries.engine(_queries.Lake(lake.path), _queries.Limits()) as engine:
        yield engine


@pytest.fixture
def secrets(tmp_path: Path) -> Path:
    """Files next to the lake that no query may read."""
    folder = tmp_path / "secrets"
    folder.mkdir()
    (folder / "key.csv").write_text("key\nhunter2\n")
    (folder / "key.json").write_text('{"key": "hunter2"}\n')
    duckdb.connect().execute(f"COPY (SELECT 'hunter2' AS key) TO '{folder}/key.parquet'")
    with duckdb.connect(str(folder / "key.duckdb")) as database:
        database.execute("CREATE TABLE key AS SELECT 'hunter2' AS key")
    return folder


#: Queries that DuckDB answers without a guard.
READS = [
    "SELECT * FROM read_csv('{secrets}/key.csv')",
    "SELECT * FROM '{secrets}/key.csv'",
    "SELECT * FROM read_text('{secrets}/key.csv')",
    "SELECT * FROM read_blob('{secrets}/key.csv')",
    "SELECT * FROM sniff_csv('{secrets}/key.csv')",
    "SELECT * FROM read_json('{secrets}/key.json')",
    "SELECT * FROM glob('{secrets}/*')",
    "SELECT * FROM read_parquet('{secrets}/key.parquet')",
    "SELECT * FROM '{secrets}/key.parquet'",
    "SELECT * FROM parquet_metadata('{secrets}/key.parquet')",
    "SELECT * FROM parquet_kv_metadata('{secrets}/*.parquet')",
    "SELECT (SELECT key FROM '{secrets}/key.csv') FROM job_events LIMIT 1",
    "WITH a AS (SELECT * FROM read_text('{secrets}/key.csv')) SELECT * FROM a",
    "SELECT * FROM job_events WHERE event_type IN (SELECT size FROM read_text('{secrets}/key.csv'))",
    "SELECT * FROM query('SELECT * FROM read_text(''{secrets}/key.csv'')')",
    "SELECT * FROM read_text('{lake}/_tracelake/manifest.json')",
    "SELECT * FROM read_parquet('{lake}/*/*/*.parquet')",
    "SELECT * FROM read_parquet('{lake}/../secrets/key.parquet')",
    "SELECT * FROM duckdb_settings()",
    "SELECT * FROM duckdb_secrets()",
    "SELECT * FROM information_schema.tables",
    "SELECT * FROM json_execute_serialized_sql(json_serialize_sql('SELECT 1'))",
    "SELECT current_setting('temp_directory')",
    "SELECT * FROM task_events",
    "SELECT * FROM in_python",
    "SHOW TABLES",
    "DESCRIBE job_events",
]

#: Statements that are no query of rows.
STATEMENTS = [
    "COPY job_events TO '{secrets}/out.csv'",
    "COPY (SELECT 1) TO '{secrets}/out.csv'",
    "EXPORT DATABASE '{secrets}/out'",
    "ATTACH '{secrets}/key.duckdb'",
    "INSTALL httpfs",
    "LOAD httpfs",
    "SET threads = 1",
    "SET enable_external_access = true",
    "SET lock_configuration = false",
    "RESET lock_configuration",
    "PRAGMA threads = 1",
    "PRAGMA database_list",
    "CALL pragma_version()",
    "CREATE TABLE other AS SELECT 1",
    "CREATE OR REPLACE TEMP VIEW job_events AS SELECT 1",
    "DROP VIEW job_events",
    "PREPARE other AS SELECT 1",
    "BEGIN",
    "USE memory",
    "EXPLAIN ANALYZE SELECT 1",
    "SELECT 1; SELECT 2",
    "SELECT 1; COPY (SELECT 1) TO '{secrets}/out.csv'",
    "SELECT 1) TO '{secrets}/out.csv' (FORMAT csv) --",
    "SELECT 1 /*",
    "",
    "-- nothing",
]


def _filled(sql: str, secrets: Path, lake: tracelake.Manifest) -> str:
    return sql.replace("{secrets}", str(secrets)).replace("{lake}", lake.path)


@pytest.mark.parametrize("sql", READS + STATEMENTS)
def test_a_query_reads_the_tables_of_the_lake_alone(
    sql: str, engine: _queries.Engine, secrets: Path, lake: tracelake.Manifest
) -> None:
    in_python = [1]
    before = sorted(os.listdir(secrets))
    with pytest.raises(tracelake.FailedError, match=r"^a_check: .*(and nothing else|verify the lake)$") as caught:
        engine.rows("a_check", _filled(sql, secrets, lake), NEEDS)
    assert caught.value.exit_code == 1
    assert "hunter2" not in str(caught.value)
    assert sorted(os.listdir(secrets)) == before and in_python == [1]
    # The engine isn't worse for it.
    assert engine.rows("another", "SELECT count(*) AS n FROM job_events", NEEDS)[0]["n"] > 0


@pytest.mark.parametrize("sql", READS + STATEMENTS)
def test_the_locked_connection_alone_gives_nothing_away(
    sql: str, engine: _queries.Engine, secrets: Path, lake: tracelake.Manifest
) -> None:
    """The parser and the lock are two walls: this is what the second one stops by itself."""
    in_python = ["hunter2"]
    before = sorted(os.listdir(secrets))
    said: Any = ""
    try:
        said = engine.connection.execute(_filled(sql, secrets, lake)).fetchall()
    except (duckdb.Error, AttributeError):
        pass
    assert "hunter2" not in str(said) and in_python
    assert sorted(os.listdir(secrets)) == before
    assert engine.connection.execute("SELECT current_setting('lock_configuration')").fetchone() == (True,)
    assert engine.connection.execute("SELECT current_setting('enable_external_access')").fetchone() == (False,)


def test_the_environment_is_no_table(engine: _queries.Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACELAKE_SECRET", "hunter2")
    with pytest.raises(tracelake.FailedError, match="it calls getenv"):
        engine.rows("a_check", "SELECT getenv('TRACELAKE_SECRET')", NEEDS)
    with pytest.raises(duckdb.Error):
        engine.connection.execute("SELECT getenv('TRACELAKE_SECRET')")


def test_no_server_hears_of_a_query(engine: _queries.Engine) -> None:
    heard: list[str] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            heard.append(self.path)
            self.send_error(404)

        do_HEAD = do_GET

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever).start()
        url = f"http://127.0.0.1:{server.server_port}/a.csv"
        for sql in (f"SELECT * FROM read_csv('{url}')", f"SELECT * FROM '{url}'", f"SELECT * FROM read_text('{url}')"):
            with pytest.raises(tracelake.FailedError):
                engine.rows("a_check", sql, NEEDS)
            with pytest.raises(duckdb.Error):
                engine.connection.execute(sql)
        server.shutdown()
    assert heard == []


def test_what_a_query_may_do(engine: _queries.Engine) -> None:
    for sql in [
        "SELECT count(*) AS n FROM job_events;",
        "WITH a AS (SELECT event_type FROM job_events) SELECT count(*) AS n FROM a -- and a remark",
        "WITH RECURSIVE a(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM a WHERE n < 5) SELECT max(n) AS n FROM a, job_events",
        "SELECT n FROM range(5) AS numbers(n) ORDER BY n DESC LIMIT 1",
        "SELECT unnest([3, 4]) AS n",
        "VALUES (1)",
        "FROM job_events SELECT count(*) AS n",
        "SELECT ';' AS n FROM job_events LIMIT 1",
    ]:
        assert engine.rows("a_check", sql, NEEDS), sql


def test_times_with_a_zone_come_as_times_in_utc(
    lake: tracelake.Manifest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    file = tmp_path / "part-00000.parquet"
    with _queries.engine(_queries.Lake(lake.path), _queries.Limits(), [str(file)]) as engine:
        engine.write("a_table", "SELECT TIMESTAMPTZ '2024-05-10 23:30:00+00:00' AS t", (), str(file), "{a: 'b'}")
        monkeypatch.setattr(engine._lake, "files", lambda table, numbers=None: f"['{file}']")
        sql = "SELECT t, {'at': t} AS example, date_trunc('day', t) AS day FROM job_events"
        (row,) = engine.rows("a_check", sql, NEEDS)
    moment = datetime(2024, 5, 10, 23, 30)
    assert row == {"t": moment, "example": {"at": moment}, "day": datetime(2024, 5, 10)}


def test_a_query_ends_after_its_time(lake: tracelake.Manifest) -> None:
    slow = "SELECT sum(a.range * b.range) FROM range(10000000) a, range(10000000) b"
    began = time.monotonic()
    with _queries.engine(_queries.Lake(lake.path), _queries.Limits(time_limit=0.3)) as engine:
        with pytest.raises(tracelake.FailedError, match=r"^a_check: stopped after 0.3 s; allow more time$"):
            engine.rows("a_check", slow, NEEDS)
        # The next query has time of its own.
        assert engine.rows("another", "SELECT 1 AS n", NEEDS) == [{"n": 1}]
    assert time.monotonic() - began < 30


def test_a_query_stays_within_its_memory(lake: tracelake.Manifest) -> None:
    large = "SELECT list(repeat('x', 1000) || range) AS texts FROM range(1000000)"
    with _queries.engine(_queries.Lake(lake.path), _queries.Limits(memory="100MB")) as engine:
        with pytest.raises(tracelake.FailedError, match=r"(?s)^a_check: .*; allow more memory$"):
            engine.rows("a_check", large, NEEDS)


def test_a_query_has_only_so_many_rows(engine: _queries.Engine) -> None:
    assert len(engine.rows("a_check", f"SELECT * FROM range({_guard.MAX_ROWS})", NEEDS)) == _guard.MAX_ROWS
    with pytest.raises(tracelake.FailedError, match="^a_check: the query has more than 100,000 rows; let it count them$"):
        engine.rows("a_check", f"SELECT * FROM range({_guard.MAX_ROWS + 1})", NEEDS)


def test_other_traces_have_an_hour_and_built_in_ones_no_end(lake: tracelake.Manifest) -> None:
    built_in = _queries.Lake(lake.path)
    assert not built_in.is_foreign and _queries.Limits().seconds(built_in) is None
    built_in.is_foreign = True
    assert _queries.Limits().seconds(built_in) == _guard.TIME_LIMIT
    assert _queries.Limits(time_limit=5).seconds(built_in) == 5


@pytest.mark.parametrize("wrong", [0, -1, float("inf"), float("nan")])
def test_no_time_is_no_limit(wrong: float, lake: tracelake.Manifest) -> None:
    with pytest.raises(tracelake.UsageError, match="^time_limit: "):
        tracelake.check(lake, time_limit=wrong)


def test_a_derived_table_is_written_to_its_file_alone(
    lake: tracelake.Manifest, secrets: Path, tmp_path: Path
) -> None:
    file = tmp_path / "out.parquet"
    with _queries.engine(_queries.Lake(lake.path), _queries.Limits(), [str(file)]) as engine:
        count = engine.write("a_table", "SELECT event_type FROM job_events -- and a remark", NEEDS, str(file), "{a: 'b'}")
        assert count == lake["job_events"].rows
        for sql in (f"SELECT 1) TO '{secrets}/out' (FORMAT csv) --", f"SELECT * FROM '{secrets}/key.csv'", "SELECT 1; SELECT 2"):
            with pytest.raises(tracelake.FailedError, match="^a_table: "):
                engine.write("a_table", sql, NEEDS, str(file), "{a: 'b'}")
        with pytest.raises(tracelake.FailedError, match="^a_table: Permission Error"):
            engine.write("a_table", "SELECT 1", NEEDS, str(tmp_path / "other.parquet"), "{a: 'b'}")
    assert not (tmp_path / "other.parquet").exists() and not (secrets / "out").exists()
    assert duckdb.connect().execute(f"SELECT count(*) FROM '{file}'").fetchone() == (count,)


def test_no_query_writes_to_the_lake(engine: _queries.Engine, lake: tracelake.Manifest, tmp_path: Path) -> None:
    """The lock allows the files of the manifest, so it is the parser that keeps them from being written."""
    file = lake["job_events"].files[0]
    before = Path(file).read_bytes()
    copies = [f"COPY (SELECT 1) TO '{file}'", f"SELECT 1) TO '{file}' (FORMAT parquet) --"]
    for sql in copies:
        with pytest.raises(tracelake.FailedError, match="^a_check: "):
            engine.rows("a_check", sql, NEEDS)
        with pytest.raises(tracelake.FailedError, match="^a_table: "):
            engine.write("a_table", sql, NEEDS, str(tmp_path / "out.parquet"), "{a: 'b'}")
    assert Path(file).read_bytes() == before and not (tmp_path / "out.parquet").exists()


@pytest.mark.parametrize("trace", TRACES)
def test_every_query_of_a_built_in_trace_is_allowed(trace: str) -> None:
    said = _queries.described(trace)
    with duckdb.connect(config=_guard.settings()) as connection:
        _guard.lock(connection, [])
        for one in [*said["checks"], *said["figures"], *said["query_tables"]]:
            others = (one.get("with") or {"tables": ()})["tables"]
            tables = [*(need.table for need in _queries.needs(one)), *(f"with.{table}" for table in others)]
            assert _guard.checked(connection, one["name"], one["sql"], tables) == one["sql"]


HOSTILE = "</title><script>alert('$x$')</script>\u202e"


def test_a_page_shows_what_a_description_says_and_runs_none_of_it(
    lake: tracelake.Manifest, tmp_path: Path
) -> None:
    pytest.importorskip("matplotlib")
    from tracelake import _report

    queried = _queries.Lake(lake.path)
    figures = [dict(one, title=HOSTILE, caption=HOSTILE, x=HOSTILE, y=HOSTILE) for one in queried.said["figures"]]
    quoted = HOSTILE.replace("'", "''")
    bars = next(one for one in figures if one["plot"] == "bars")
    bars["sql"] = f"SELECT '{quoted}' AS x, '{quoted}' AS series, count(*) AS y FROM job_events"
    bars |= {"name": "checks", "needs": [{"table": "job_events", "parts": "any"}]}
    checks = [dict(one, sentence=HOSTILE, document=HOSTILE) for one in queried.said["checks"]]
    texts = dict.fromkeys(("title", "licence", "citation", "url"), HOSTILE)
    queried.said = queried.said | texts | {"figures": figures, "checks": checks}
    made = _report.report(queried, str(tmp_path / "page.html"), limits=_queries.Limits())
    page = (tmp_path / "page.html").read_text()
    assert "checks" in made.figures and '<section id="all-checks">' in page
    assert "<script" not in page and "\u202e" not in page
    assert "&lt;script&gt;alert(&#x27;$x$&#x27;)" in page


@pytest.mark.parametrize(
    ("plot", "row", "reason"),
    [
        ("lines", {"x": "one", "series": "", "y": 1}, "x is 'one' and not a number"),
        ("bars", {"x": 1, "series": "", "y": 1}, "x is 1 and not a text"),
        ("bars", {"x": "one", "series": "", "y": "much"}, "y is 'much' and no number"),
        ("numbers", {"x": "one", "y": 1}, "its columns are x, y"),
    ],
)
def test_a_figure_needs_numbers(plot: str, row: dict[str, Any], reason: str) -> None:
    with pytest.raises(tracelake.FailedError, match=f"^a_figure: {reason}; a figure of {plot} has the columns"):
        _figures.numbers({"name": "a_figure", "plot": plot}, [row])
