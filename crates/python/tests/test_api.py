"""The results of the functions, and how a run is watched and stopped."""

from __future__ import annotations

import hashlib
import inspect
import json
import os
import signal
import threading
from pathlib import Path

import pytest

import tracelake


def files(lake: str | Path) -> dict[str, bytes]:
    """Every file of a lake with its bytes."""
    root = Path(lake)
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def test_convert_returns_what_the_manifest_says(lake: tracelake.Manifest) -> None:
    said = json.loads(Path(lake.path, "_tracelake", "manifest.json").read_text())
    assert (lake.trace, lake.version, lake.options) == (said["trace"], said["version"], said["options"])
    assert len(said["tables"]) == len(lake.tables) > 1
    for table, facts in zip(said["tables"], lake.tables):
        assert (facts.name, facts.rows) == (table["name"], table["rows"])
        assert [part.output.sha256 for part in facts.parts] == [part["output"]["sha256"] for part in table["parts"]]
    assert tracelake.open(lake.path) == lake
    assert lake.rows == sum(table["rows"] for table in said["tables"])


def test_a_lake_shows_itself(lake: tracelake.Manifest) -> None:
    usage = lake["task_usage"]
    assert usage.time_min is not None and usage.time_max is not None and usage.time_min < usage.time_max
    for shown in (repr(lake), lake._repr_html_()):
        for text in ("google-2011-v2.1", "task_usage", f"{usage.rows:,}", f"{usage.time_max:,} µs = "):
            assert text in shown
    assert lake._repr_html_().count("<tr>") == len(lake.tables) + 1
    with pytest.raises(KeyError):
        lake["no_table"]


def test_what_is_shown_in_a_notebook_is_escaped(source: Path) -> None:
    made = tracelake.convert(source, "<b>lake", tables="machine_events")
    assert "<b>" not in made._repr_html_()


def test_inspect_a_lake_and_a_source(lake: tracelake.Manifest, source: Path) -> None:
    of_lake, of_source = tracelake.inspect(lake.path), tracelake.inspect(source)
    assert (of_lake.what, of_source.what) == ("lake", "source")
    assert [one.rows for one in of_lake.tables] == [one.rows for one in lake.tables]
    assert {one.rows for one in of_source.tables} == {None}
    assert "task_usage" in repr(of_source) and "task_usage" in of_lake._repr_html_()


def test_options_are_those_of_the_command_line(source: Path) -> None:
    made = tracelake.convert(
        os.fsencode(source).decode(),
        "lake",
        trace="google-2011-v2.1",
        tables=["job_events", "task_events"],
        parts=[1],
        threads=1,
        memory="1GB",
        on_bad_row="reject",
        max_rejects=0,
        allow_missing=True,
        layout="flat",
        compression="snappy",
        checksums="none",
    )
    assert [table.name for table in made.tables] == ["job_events", "task_events"]
    assert [part.file_number for table in made.tables for part in table.parts] == [1, 1]
    assert made.options["layout"] == "flat" and made.options["compression"] == "snappy"
    # It says what was done: no row was rejected.
    assert made.options["on_bad_row"] == "fail"


def test_verify_finds_what_is_wrong(source: Path) -> None:
    lake = tracelake.convert(source, "lake")
    verified = tracelake.verify("lake", source)
    assert verified and verified.values > 0 and verified.findings == ()
    assert verified.rows == lake.rows
    damaged = Path("lake", lake.tables[0].parts[0].output.path)
    damaged.write_bytes(damaged.read_bytes()[:-1])
    verified = tracelake.verify("lake")
    assert not verified
    (finding,) = verified.findings
    assert isinstance(finding, tracelake.CorruptInputError)
    assert finding.path == str(damaged)
    assert str(finding) in repr(verified)
    with pytest.raises(tracelake.CorruptInputError):
        verified.raise_if_wrong()
    with pytest.raises(tracelake.CorruptInputError):
        tracelake.release("lake", allow_missing=True)


def test_release_writes_its_files(source: Path) -> None:
    tracelake.convert(source, "lake", tables=["job_events"], parts="0")
    with pytest.raises(tracelake.RefusedError, match="allow_missing=True"):
        tracelake.release("lake")
    with pytest.raises(tracelake.UsageError, match="'2026-02-30' is not a day"):
        tracelake.release("lake", allow_missing=True, date="2026-02-30")
    released = tracelake.release("lake", allow_missing=True, date="2026-06-01")
    assert all(Path("lake", name).is_file() for name in released.files)
    assert "ro-crate-metadata.json" in released.files
    (lacking,) = released.warnings
    assert "_tracelake/release.toml lacks" in lacking


def test_a_digest_names_a_lake(source: Path) -> None:
    tracelake.convert(source, "lake", tables=["job_events"], parts="0")
    digest = hashlib.sha256(Path("lake/_tracelake/manifest.json").read_bytes()).hexdigest()
    assert tracelake.inspect("lake").digest == digest
    assert tracelake.inspect(source).digest is None
    assert tracelake.verify("lake", digest=digest)
    other = hashlib.sha256(b"").hexdigest()
    (finding,) = tracelake.verify("lake", digest=other).findings
    assert digest in str(finding) and other in str(finding)
    with pytest.raises(tracelake.UsageError, match="not a SHA-256"):
        tracelake.verify("lake", digest="beef")


def test_release_adds_delta_logs_and_says_what_changed(source: Path) -> None:
    tracelake.convert(source, "old", tables=["job_events"])
    lake = tracelake.convert(source, "lake", tables=["job_events", "machine_events"], compression="snappy")
    assert tracelake.release("lake", allow_missing=True).changes is None
    released = tracelake.release("lake", allow_missing=True, delta=True, since="old")
    for name in lake:
        assert f"{name}/_delta_log/00000000000000000000.json" in released.files
    assert all(Path("lake", name).is_file() for name in released.files)
    assert tracelake.verify("lake") and len(tracelake.open("lake")["job_events"].to_arrow()) == lake["job_events"].rows
    changes = released.changes
    assert changes is not None and changes.made_differently == ("compression was zstd:3 and is now snappy",)
    by_name = {table.name: table for table in changes.tables}
    for name, table in lake.items():
        paths = tuple(part.output.path for part in table.parts)
        found = by_name[name]
        assert (found.added, tuple(one.path for one in found.changed)) == (((), paths) if name == "job_events" else (paths, ()))
        assert (found.removed, found.unchanged, found.bytes) == ((), 0, table.bytes)
    with pytest.raises(tracelake.MissingLakeError):
        tracelake.release("lake", allow_missing=True, since="nowhere")


def test_generate_is_reproducible() -> None:
    made = [tracelake.generate("google-2011-v2.1", name, parts=1, rows=500, seed=7) for name in ("a", "b")]
    assert made[0].tables == made[1].tables
    assert files("a") == files("b")
    assert "task_usage" in repr(made[0]) and "task_usage" in made[0]._repr_html_()


def test_every_trace_has_a_schema() -> None:
    for name in tracelake.traces():
        trace = tracelake.schema(name)
        assert trace.name == name and len(trace) > 0
        for table in trace.values():
            assert tracelake.schema(name, table.name) == table
            assert table.name in repr(trace) and len(table) > 0
            assert all(column in table._repr_html_() for column in table)


def test_events_come_in_the_calling_thread_and_add_up(source: Path) -> None:
    events: list[tracelake.Event] = []
    threads: set[int] = set()

    def watch(event: tracelake.Event) -> None:
        events.append(event)
        threads.add(threading.get_ident())

    lake = tracelake.convert(source, "lake", progress=watch)
    assert threads == {threading.get_ident()}
    parts = sum(len(table.parts) for table in lake.tables)
    finished = [event for event in events if event.kind == "finished"]
    assert len(finished) == parts
    assert sum(event.rows or 0 for event in finished) == lake.rows
    begun = [event.bytes for event in events if event.kind == "begun"]
    assert begun == [sum(event.bytes or 0 for event in events if event.kind == "read")]
    events.clear()
    tracelake.convert(source, "lake", progress=watch)
    assert [event.kind for event in events] == ["begun"] + ["kept"] * parts


def test_a_callback_that_raises_stops_the_run(source: Path, lake: tracelake.Manifest) -> None:
    class Enough(Exception):
        pass

    def watch(event: tracelake.Event) -> None:
        raise Enough

    with pytest.raises(Enough):
        tracelake.convert(source, "stopped", progress=watch)
    tracelake.convert(source, "stopped")
    assert files("stopped") == files(lake.path)


def test_ctrl_c_leaves_a_lake_that_resumes(source: Path, lake: tracelake.Manifest) -> None:
    def interrupt(event: tracelake.Event) -> None:
        if event.kind == "begun":
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        tracelake.convert(source, "stopped", progress=interrupt, threads=1)
    tracelake.convert(source, "stopped")
    assert files("stopped") == files(lake.path)


def test_ctrl_c_stops_verify_and_generate(source: Path, lake: tracelake.Manifest) -> None:
    def interrupt(event: tracelake.Event) -> None:
        os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        tracelake.verify(lake.path, source, progress=interrupt)
    with pytest.raises(KeyboardInterrupt):
        tracelake.generate("google-2011-v2.1", "made", rows=2_000_000, progress=interrupt)
    assert sum(path.stat().st_size for path in Path("made").rglob("*.gz")) < 10_000_000


def test_two_conversions_at_a_time(source: Path, lake: tracelake.Manifest) -> None:
    made: list[tracelake.Manifest] = []
    threads = [
        threading.Thread(target=lambda name=name: made.append(tracelake.convert(source, name)))
        for name in ("one", "two")
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 2
    assert files("one") == files("two") == files(lake.path)


def test_text_and_bar_go_to_stderr(source: Path, capfd: pytest.CaptureFixture[str]) -> None:
    tracelake.convert(source, "text", tables="machine_events", progress="text")
    out, err = capfd.readouterr()
    assert out == "" and err.startswith("machine_events 0: ")
    tracelake.convert(source, "bar", tables="machine_events", progress="bar")
    out, err = capfd.readouterr()
    assert out == "" and "100%" in err and err.endswith("\r\x1b[K")
    tracelake.convert(source, "auto", tables="machine_events", progress="auto")
    assert capfd.readouterr() == ("", "")


def test_options_of_convert_are_keywords() -> None:
    shown = inspect.signature(tracelake.convert).parameters
    assert list(shown)[:2] == ["src", "out"]
    assert shown["layout"].default == "hive"
    assert shown["row_group_rows"].default is None
    assert shown["tables"].annotation == "str | Iterable[str] | None"
    assert "shard" not in shown and "options" not in shown
    on_spark = inspect.signature(tracelake.spark.convert).parameters
    assert set(shown) - set(on_spark) == {"overwrite"}
    assert on_spark["threads"].default == 1
    for wrong, says in [({"shard": "0/2"}, "unexpected"), ({"tables": 3}, "tables"), ({"threads": "2"}, "threads")]:
        with pytest.raises(TypeError, match=says):
            tracelake.convert("no-source", "out", **wrong)  # type: ignore[arg-type]
