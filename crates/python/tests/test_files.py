"""Queries read the files that a manifest names and no others, wherever the lake is and whatever it is called."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

import tracelake

pl = pytest.importorskip("polars")
duckdb = pytest.importorskip("duckdb")

PROGRAM = Path(sys.executable).with_name("tracelake")

#: A directory, and another one that its name matches where it is taken for a pattern.
NAMES = [
    ("g[1]", "g1"),
    ("[!a]", "b"),
    ("a*b", "axb"),
    ("**", "any"),
    ("q?", "qx"),
    ("{a,b}", "a"),
    ("x]", None),
    ("year=2011", None),
    ("file_number=9", None),
    ("cell=b", None),
    ("100%20x", "100 x"),
    ("sp ace", None),
    ("it's", None),
    ('d"q', None),
    ("h#x", "h"),
    ("d$x", None),
    ("é", None),
    ("~", None),
]

posix = pytest.mark.skipif(os.name == "nt", reason="Windows has no such names")


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake of other rows."""
    directory = tmp_path_factory.mktemp("other")
    tracelake.generate("google-2011-v2.1", directory / "trace", parts=2, rows=3000, seed=9)
    tracelake.convert(directory / "trace", directory / "lake")
    return directory / "lake"


#: Checks of all the rows of a table, and of a few parts at a time.
CHECKS = ["task_life_cycle", "task_usage_sorted", "job_events_sorted"]


@pytest.fixture(scope="module")
def expected(
    lake: tracelake.Manifest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[tracelake.CheckReport, tracelake.DerivedLake]:
    """The findings in the lake, and the tables derived from it, where its name is harmless."""
    derived = tracelake.derive(lake.path, tmp_path_factory.mktemp("expected") / "derived")
    return tracelake.check(lake.path, only=CHECKS), derived


def placed(lake: tracelake.Manifest, other: Path, name: str, decoy: str | None) -> Path:
    """A copy of the lake below a directory of this name, and the other lake below the decoy."""
    shutil.copytree(lake.path, Path(name, "lake"))
    if decoy is not None:
        shutil.copytree(other, Path(decoy, "lake"))
    return Path(name).absolute() / "lake"


@posix
@pytest.mark.parametrize(("name", "decoy"), NAMES)
def test_no_name_is_a_pattern(
    name: str,
    decoy: str | None,
    lake: tracelake.Manifest,
    other: Path,
    expected: tuple[tracelake.CheckReport, tracelake.DerivedLake],
) -> None:
    place = placed(lake, other, name, decoy)
    moved = tracelake.open(place)
    here, there = lake.duckdb(), moved.duckdb()
    for table in lake.tables:
        frame = moved.scan(table.name)
        assert frame.collect().equals(lake.scan(table.name).collect())
        assert frame.collect_schema() == lake.scan(table.name).collect_schema()
        second = frame.filter(pl.col("file_number") == 1).collect()
        assert second.height == sum(part.rows_out for part in table.parts if part.file_number == 1)
        for view in (table.name, f"{table.name}_named"):
            query = f"SELECT * FROM {view} ORDER BY ALL"
            assert there.execute(f"DESCRIBE {view}").fetchall() == here.execute(f"DESCRIBE {view}").fetchall()
            assert there.execute(query).fetchall() == here.execute(query).fetchall()
    assert tracelake.check(place, only=CHECKS).results == expected[0].results
    derived = tracelake.derive(place, place.parent / "derived")
    assert derived.source_sha256 == hashlib.sha256(Path(place, "_tracelake/manifest.json").read_bytes()).hexdigest()
    for made in expected[1].tables:
        query = f"SELECT * FROM {made.name}"
        found, wanted = derived.duckdb().sql(query), expected[1].duckdb().sql(query)
        assert found.columns == wanted.columns
        assert found.fetchall() == [tuple(pytest.approx(value) for value in row) for row in wanted.fetchall()]


@posix
@pytest.mark.parametrize(("name", "decoy"), [("g[1]", "g1"), ("year=2011", None)])
def test_a_report_of_such_a_lake(name: str, decoy: str | None, lake: tracelake.Manifest, other: Path) -> None:
    pytest.importorskip("matplotlib")
    place = placed(lake, other, name, decoy)
    expected = tracelake.report(lake.path, "expected.html")
    made = tracelake.report(place, place.parent / "page.html")
    assert (made.figures, made.skipped) == (expected.figures, expected.skipped)
    assert made.checks.results == expected.checks.results
    nulls = [Path(page).read_text().partition('<section id="empty-values">')[2] for page in (made.path, expected.path)]
    assert nulls[0] == nulls[1] != ""


@posix
@pytest.mark.parametrize(("name", "decoy"), NAMES)
@pytest.mark.parametrize("layout", ["hive", "flat"])
def test_no_name_is_a_pattern_for_arrow_files(name: str, decoy: str | None, layout: str, source: Path) -> None:
    lake = tracelake.convert(source, "lake", tables="job_events", layout=layout, format="arrow")  # type: ignore[arg-type]
    other = tracelake.convert(source, "other", tables="job_events", parts="1", layout=layout, format="arrow", allow_missing=True)  # type: ignore[arg-type]
    place = placed(lake, Path(other.path), name, decoy)
    assert tracelake.scan(place, "job_events").collect().equals(lake.scan("job_events").collect())


@posix
@pytest.mark.parametrize("layout", ["hive", "flat"])
def test_the_cell_is_that_of_the_lake(layout: str) -> None:
    tracelake.generate("borg-2019", "clusterdata_2019_a", rows=300)
    lake = tracelake.convert("clusterdata_2019_a", "cell=b/file_number=9/lake", layout=layout, cell="a")  # type: ignore[arg-type]
    assert lake.cells == ("a",)
    for table in lake.tables:
        assert lake.scan(table.name).collect()["cell"].unique().to_list() == ["a"]
        for view in (table.name, f"{table.name}_named"):
            assert lake.duckdb().sql(f"SELECT DISTINCT cell FROM {view}").fetchall() == [("a",)]


def test_results_are_read_from_where_they_were_made(source: Path) -> None:
    lake = tracelake.convert(source, "lake", tables=["task_events"])
    opened = tracelake.open("lake")
    derived = tracelake.derive("lake", "derived", tables="task_lifetimes")
    frame, connection = lake.scan("task_events"), lake.duckdb()
    Path("elsewhere").mkdir()
    os.chdir("elsewhere")
    for one in (frame, lake.scan("task_events"), opened.scan("task_events")):
        assert one.collect().height == lake.rows
    for each in (connection, lake.duckdb(), opened.duckdb()):
        assert each.sql("SELECT count(*) FROM task_events").fetchall() == [(lake.rows,)]
    made = derived["task_lifetimes"].rows
    assert derived.duckdb().sql("SELECT count(*) FROM task_lifetimes").fetchall() == [(made,)]


def test_a_stray_file_is_not_counted(
    lake: tracelake.Manifest, source: Path, expected: tuple[tracelake.CheckReport, tracelake.DerivedLake]
) -> None:
    copy = tracelake.convert(source, "copy")
    part = Path("copy", copy["task_events"].parts[0].output.path)
    for stray in ("copy.parquet", "part-00007-of-00008.parquet"):
        shutil.copy(part, part.parent / stray)
        shutil.copy(part, part.parent.parent / stray)
    rows_of = [table.rows for table in lake.tables]
    assert [copy.scan(table.name).collect().height for table in copy.tables] == rows_of
    connection = copy.duckdb()
    counted = [connection.sql(f"SELECT count(*) FROM {table.name}").fetchall()[0][0] for table in copy.tables]
    assert counted == rows_of
    assert tracelake.check("copy", only=CHECKS).results == expected[0].results
    rows = [(table.name, table.rows) for table in tracelake.derive("copy", "derived").tables]
    assert rows == [(table.name, table.rows) for table in expected[1].tables]
    assert len(tracelake.verify("copy").findings) == 4


def test_a_missing_file_is_an_error_that_names_it(source: Path) -> None:
    lake = tracelake.convert(source, "lake")
    frame = lake.scan("job_events")
    gone = Path("lake", lake["job_events"].parts[1].output.path).absolute()
    gone.unlink()
    calls = [
        lambda: lake.scan("job_events"),
        lake.duckdb,
        lambda: tracelake.check("lake"),
        lambda: tracelake.report("lake", "page.html"),
        lambda: tracelake.derive("lake", "derived"),
    ]
    for call in calls:
        with pytest.raises(tracelake.FailedError, match="is missing; verify the lake") as caught:
            call()
        assert caught.value.path == str(gone)
    with pytest.raises(FileNotFoundError):
        frame.collect()
    assert sorted(path.name for path in Path().iterdir()) == ["lake"]


def resealed(lake: Path, old: str, new: str) -> None:
    """Rewrites a manifest, with the digest of what it says now."""
    path = lake / "_tracelake" / "manifest.json"
    body, _, _ = path.read_text().rpartition('  "sha256": ')
    assert old in body
    body = body.replace(old, new)
    path.write_text(f'{body}  "sha256": "{hashlib.sha256(body.encode()).hexdigest()}"\n}}\n')


@pytest.mark.parametrize(
    "path",
    [
        "../other/job_events/file_number=1/part-00001-of-00002.parquet",
        "job_events/file_number=0/part-00001-of-00002.parquet",
        "job_events/file_number=1/part-00000-of-00002.parquet",
        "task_events/file_number=1/part-00001-of-00002.parquet",
        "job_events/file_number=1/*.parquet",
    ],
)
def test_a_path_that_contradicts_its_facts_is_refused(path: str, lake: tracelake.Manifest) -> None:
    shutil.copytree(lake.path, "lake")
    shutil.copytree(lake.path, "other")
    resealed(Path("lake"), "job_events/file_number=1/part-00001-of-00002.parquet", path)
    with pytest.raises(tracelake.CorruptInputError, match="another path than its facts"):
        tracelake.scan("lake", "job_events")
    with pytest.raises(tracelake.CorruptInputError):
        tracelake.check("lake")


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("url", ["s3://bucket/place", "gs://bucket/place", "https://127.0.0.1:1/place"])
def test_what_needs_a_disk_refuses_urls_before_it_works(url: str, lake: tracelake.Manifest) -> None:
    calls = [
        lambda: tracelake.check(url),
        lambda: tracelake.report(url, "page.html"),
        lambda: tracelake.derive(url, "derived"),
        lambda: tracelake.report(lake.path, url),
        lambda: tracelake.report(lake.path, Path(url)),
        lambda: tracelake.derive(lake.path, url),
        lambda: tracelake.derive(lake.path, Path(url)),
        lambda: tracelake.generate("google-2011-v2.1", url),
        lambda: tracelake.generate("google-2011-v2.1", Path(url)),
    ]
    for call in calls:
        with pytest.raises(tracelake.UsageError):
            call()
    commands = [
        ("check", url),
        ("report", url),
        ("derive", url, "derived"),
        ("report", lake.path, "-o", url),
        ("derive", lake.path, url),
        ("generate", "google-2011-v2.1", url),
    ]
    for command in commands:
        ended = run(*command)
        assert (ended.returncode, ended.stdout, ended.stderr.count("\n")) == (2, "", 1), ended.stderr
    assert list(Path().iterdir()) == []


def test_a_page_needs_an_existing_directory(lake: tracelake.Manifest) -> None:
    pytest.importorskip("matplotlib")
    Path("directory").mkdir()
    for out in ("nosuch/page.html", "directory"):
        with pytest.raises(tracelake.FailedError, match="existing directory"):
            tracelake.report(lake.path, out)


@posix
def test_the_home_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    tracelake.generate("google-2011-v2.1", "~/trace", rows=2000)
    lake = tracelake.convert("~/trace", Path("~/lake"))
    assert tracelake.open("~/lake") == lake
    assert tracelake.verify("~/lake", "~/trace")
    assert tracelake.scan("~/lake", "job_events").collect().height == lake["job_events"].rows
    assert tracelake.check("~/lake")
    tracelake.report("~/lake", "~/page.html")
    tracelake.derive("~/lake", "~/derived")
    assert tracelake.read_part("~/trace/machine_events/part-00000-of-00001.csv.gz").columns
    assert {path.name for path in home.iterdir()} >= {"trace", "lake", "page.html", "derived"}
    assert [path.name for path in tmp_path.iterdir()] == ["home"]
    for command in (("convert", "~/trace", "~/other"), ("generate", "google-2011-v2.1", "~/other"), ("verify", "~/lake")):
        ended = run(*command)
        assert ended.returncode == 2 and "home directory" in ended.stderr


class Ranges(SimpleHTTPRequestHandler):
    """A web server of the current directory that sends parts of files, as others do."""

    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def do_GET(self) -> None:
        self.answer(is_sent=True)

    def do_HEAD(self) -> None:
        self.answer(is_sent=False)

    def answer(self, *, is_sent: bool) -> None:
        path = Path(self.translate_path(self.path))
        content = path.read_bytes() if path.is_file() else None
        asked = self.headers.get("Range")
        body = content or b""
        if content is not None and asked is not None:
            first, _, last = asked.removeprefix("bytes=").partition("-")
            start = int(first) if first else max(0, len(body) - int(last))
            end = int(last) + 1 if first and last else len(body)
            body = body[start:end]
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {start}-{start + len(body) - 1}/{len(content)}")
        else:
            self.send_response(404 if content is None else 200)
        self.send_header("Accept-Ranges", "bytes")
        self.send_header("ETag", f'"{len(content or b"")}"')
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if is_sent:
            self.wfile.write(body)


@pytest.fixture
def web(tmp_path: Path) -> Iterator[str]:
    """A web server of the current directory."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), lambda *of: Ranges(*of, directory=str(tmp_path)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    thread.join()
    server.server_close()


@posix
@pytest.mark.parametrize("place", ["lake", "year=2011/lake", "lake?key=secret"])
def test_a_lake_on_a_web_server_is_scanned(place: str, lake: tracelake.Manifest, web: str) -> None:
    shutil.copytree(lake.path, place.partition("?")[0])
    moved = tracelake.open(f"{web}/{place}")
    for table in lake.tables:
        assert moved.scan(table.name).collect().equals(lake.scan(table.name).collect())
