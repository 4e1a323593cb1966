"""A reader of one published file: a context manager of record batches, with a schema."""

from __future__ import annotations

import gzip
import logging
from pathlib import Path

import pytest

import tracelake

pa = pytest.importorskip("pyarrow")

PART = "task_events/part-00000-of-00002.csv.gz"


def test_it_yields_the_batches_of_the_lake(source: Path, lake: tracelake.Lake) -> None:
    table = lake["task_events"]
    with tracelake.read_part(source / PART) as reader:
        batches = list(reader)
    assert all(isinstance(batch, pa.RecordBatch) for batch in batches)
    first = table.to_arrow(filter=[("file_number", "==", 0)]).drop_columns("file_number")
    assert pa.Table.from_batches(batches).equals(first)


def test_it_is_read_once_and_not_after_it_was_closed(source: Path) -> None:
    with tracelake.read_part(source / PART) as reader:
        assert next(iter(reader)).num_rows > 0
        with pytest.raises(tracelake.UsageError, match="taken before"):
            next(iter(reader))
    with tracelake.read_part(source / PART) as unread:
        pass
    for use in (lambda: next(iter(unread)), lambda: pa.table(unread)):
        with pytest.raises(tracelake.UsageError, match="the reader is closed"):
            use()


def test_its_schema_is_that_of_the_table(source: Path) -> None:
    reader = tracelake.read_part(source / PART)
    assert (reader.trace, reader.table) == ("google-2011-v2.1", "task_events")
    assert repr(reader).startswith("<tracelake.Reader of google-2011-v2.1 task_events: time, ")
    found = reader.schema
    assert found == tracelake.schema("google-2011-v2.1", "task_events") and "event_type" in found
    given = tracelake.read_part(source / PART, trace="google-2011-v2", table="task_events")
    assert given.schema == tracelake.schema("google-2011-v2", "task_events")
    assert pa.schema(given) == pa.schema(given.schema)


def test_a_broken_file_raises_the_error_of_the_package(own_source: Path) -> None:
    part = own_source / PART
    lines = gzip.decompress(part.read_bytes()).split(b"\n")
    lines[2] = b"12x" + lines[2]
    part.write_bytes(gzip.compress(b"\n".join(lines)))
    with tracelake.read_part(part) as reader, pytest.raises(tracelake.BadRowError) as caught:
        for _ in reader:
            pass
    assert (caught.value.path, caught.value.line, caught.value.field) == (str(part), 3, "task_events.time")
    with tracelake.read_part(part, on_bad_row="reject") as reader:
        assert sum(batch.num_rows for batch in reader) == len(lines) - 2 and reader.rejected == 1


def test_what_happens_is_logged(source: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, logger="tracelake"):
        lake = tracelake.convert(source, "lake", tables="job_events", parts=[0], allow_missing=True)
        tracelake.convert(source, "lake", tables="job_events", parts=[0], allow_missing=True)
        tracelake.verify(lake)
    assert {record.name for record in caplog.records} == {"tracelake"}
    said = [record.getMessage() for record in caplog.records if record.levelno == logging.INFO]
    rows = f"{lake.rows:,} rows"
    assert said == [f"job_events 0: {rows}", f"job_events 0: {rows}, kept", f"job_events 0: {rows}, verified"]
    assert "job_events 0: started" in caplog.messages


def test_warnings_are_logged_and_kept(source: Path, caplog: pytest.LogCaptureFixture) -> None:
    again = tracelake.convert(source, "lake", tables=["job_events", "machine_events"], parts=1)
    warned = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert again.warnings and list(again.warnings) == warned


def test_without_a_handler_nothing_is_printed(source: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert any(isinstance(one, logging.NullHandler) for one in logging.getLogger("tracelake").handlers)
    tracelake.convert(source, "lake", tables="job_events", parts=[0], allow_missing=True)
    assert capfd.readouterr() == ("", "")
