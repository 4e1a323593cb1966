"""The right exception for everything that can be wrong, and nothing printed."""

from __future__ import annotations

import dataclasses
import gzip
import os
import pickle
import re
import sys
from pathlib import Path
from typing import Any

import pytest

import tracelake
from tracelake import _tracelake

PART = "job_events/part-00000-of-00002.csv.gz"


@pytest.fixture(autouse=True)
def _silent(capfd: pytest.CaptureFixture[str]) -> Any:
    yield
    assert capfd.readouterr() == ("", "")


def break_a_row(source: Path) -> None:
    part = source / PART
    lines = gzip.decompress(part.read_bytes()).split(b"\n")
    lines[2] = b"12x" + lines[2]
    part.write_bytes(gzip.compress(b"\n".join(lines)))


def test_a_bad_row(own_source: Path) -> None:
    break_a_row(own_source)
    with pytest.raises(tracelake.BadRowError) as caught:
        tracelake.convert(own_source, "lake")
    error = caught.value
    assert error.exit_code == 4
    assert error.path == str(own_source / PART)
    assert (error.line, error.column, error.field) == (3, 1, "job_events.time")
    assert error.value is not None and error.value.startswith("12x")
    assert error.hint == 'correct it, or pass on_bad_row="reject" to set such rows aside'
    assert str(error).startswith(f"{error.path}:3:1: job_events.time: ") and str(error).endswith(error.hint)
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), again.line) == (type(error), str(error), 3)


def test_a_rejected_row_is_counted(own_source: Path) -> None:
    break_a_row(own_source)
    lake = tracelake.convert(own_source, "lake", on_bad_row="reject")
    assert lake.rejected == lake["job_events"].rejected == 1
    assert lake["job_events"].parts[0].rejects is not None


def test_corrupt_input(own_source: Path) -> None:
    part = own_source / PART
    part.write_bytes(part.read_bytes()[:-20])
    with pytest.raises(tracelake.CorruptInputError, match="the file is cut off") as caught:
        tracelake.convert(own_source, "lake")
    assert caught.value.exit_code == 5
    assert caught.value.path == str(part)


def test_a_missing_source() -> None:
    with pytest.raises(tracelake.FailedError, match="nosuch: there is no such file") as caught:
        tracelake.convert("nosuch", "lake")
    assert caught.value.exit_code == 1
    assert isinstance(caught.value.__cause__, FileNotFoundError)


@pytest.mark.parametrize("look", [tracelake.open, tracelake.verify, tracelake.release, tracelake.check, lambda path: tracelake.scan(path, "t")])
def test_a_missing_lake(look: Any) -> None:
    with pytest.raises(FileNotFoundError, match="^nosuch: not a finished lake") as caught:
        look("nosuch")
    assert isinstance(caught.value, (tracelake.MissingLakeError, tracelake.RefusedError)) and caught.value.exit_code == 6
    assert (caught.value.filename, caught.value.errno, caught.value.path) == ("nosuch", 2, "nosuch")


@pytest.mark.parametrize("look", [tracelake.inspect, tracelake.read_part, lambda path: tracelake.convert(path, "lake")])
def test_a_missing_file_is_a_file_not_found_error(look: Any) -> None:
    with pytest.raises(FileNotFoundError, match="^nosuch: there is no such file") as caught:
        look("nosuch")
    assert isinstance(caught.value, tracelake.MissingFileError) and isinstance(caught.value, tracelake.FailedError)
    again = pickle.loads(pickle.dumps(caught.value))
    assert (type(again), str(again), again.errno, again.path) == (type(caught.value), str(caught.value), 2, "nosuch")


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="Windows has no such files")
@pytest.mark.parametrize(
    "write",
    [
        lambda source, lake: tracelake.generate("google-2011-v2.1", "file/trace"),
        lambda source, lake: tracelake.derive(lake, "file/derived"),
        lambda source, lake: tracelake.report(lake, "file/page.html"),
    ],
)
def test_what_can_not_be_written_is_an_os_error(write: Any, source: Path, lake: tracelake.Lake) -> None:
    pytest.importorskip("duckdb")
    pytest.importorskip("matplotlib")
    Path("file").write_text("not a directory")
    with pytest.raises(tracelake.FailedError) as caught:
        write(source, lake)
    assert isinstance(caught.value, OSError), caught.value


def test_what_is_not_a_lake(source: Path) -> None:
    for look in (tracelake.open, tracelake.verify, tracelake.release):
        with pytest.raises(tracelake.RefusedError) as caught:
            look(source)
        assert caught.value.exit_code == 6 and caught.value.hint
    with pytest.raises(tracelake.RefusedError):
        tracelake.scan(source, "job_events")


def test_an_output_that_is_something_else(source: Path) -> None:
    Path("full").mkdir()
    Path("full/notes.txt").write_text("mine")
    with pytest.raises(tracelake.RefusedError):
        tracelake.convert(source, "full")
    Path("file").write_text("not a directory")
    with pytest.raises(tracelake.RefusedError, match="file: not a directory"):
        tracelake.convert(source, "file/lake")
    with pytest.raises(tracelake.RefusedError):
        tracelake.generate("google-2011-v2.1", "full")


def test_other_options_than_those_of_the_lake(source: Path) -> None:
    tracelake.convert(source, "lake", tables="machine_events")
    with pytest.raises(tracelake.RefusedError, match="compression was .* overwrite=True"):
        tracelake.convert(source, "lake", compression="snappy")
    tracelake.convert(source, "lake", tables="machine_events", compression="snappy", overwrite=True)


def test_a_disk_that_is_too_small() -> None:
    large = Path("large/job_events/part-00000-of-00001.csv.gz")
    large.parent.mkdir(parents=True)
    with large.open("wb") as file:
        file.truncate(8_000_000_000_000)
    with pytest.raises(tracelake.RefusedError, match="too little room: .* ignore_disk_space=True"):
        tracelake.convert("large", "roomy", trace="google-2011-v2.1")
    with pytest.raises(tracelake.CorruptInputError):
        tracelake.convert("large", "roomy", trace="google-2011-v2.1", ignore_disk_space=True)


@pytest.mark.parametrize(
    "call",
    [
        lambda src: tracelake.convert(src, "lake", trace="nosuch"),
        lambda src: tracelake.convert(src, "lake", tables="nosuch"),
        lambda src: tracelake.convert(src, "lake", parts="2-1"),
        lambda src: tracelake.convert(src, "lake", threads=0),
        lambda src: tracelake.convert(src, "lake", threads=-1),
        lambda src: tracelake.convert(src, "lake", memory="1 byte"),
        lambda src: tracelake.convert(src, "lake", layout="nosuch"),
        lambda src: tracelake.convert(src, "lake", compression="lz4"),
        lambda src: tracelake.convert(src, "lake", max_rejects=1),
        lambda src: tracelake.verify(src, threads=0),
        lambda src: tracelake.generate("nosuch", "made"),
        lambda src: tracelake.generate("google-2011-v2.1", "made", rows=0),
        lambda src: tracelake.generate("google-2011-v2.1", "made", seed=-1),
        lambda src: tracelake.schema("nosuch"),
        lambda src: tracelake.schema("google-2011-v2.1", "nosuch"),
        lambda src: tracelake.schema("google-2011-v2.1", "job_events").to("nosuch"),
    ],
)
def test_values_that_cannot_be_used(call: Any, source: Path) -> None:
    with pytest.raises(tracelake.UsageError) as caught:
        call(source)
    assert isinstance(caught.value, ValueError) and caught.value.exit_code == 2
    assert "--" not in str(caught.value)
    assert not Path("lake").exists() and not Path("made").exists()


@pytest.mark.parametrize(
    "call",
    [
        lambda src: tracelake.convert(5, "lake"),
        lambda src: tracelake.convert(src, None),
        lambda src: tracelake.convert(src, "lake", trace=5),
        lambda src: tracelake.convert(src, "lake", tables=5),
        lambda src: tracelake.convert(src, "lake", tables=[5]),
        lambda src: tracelake.convert(src, "lake", threads="2"),
        lambda src: tracelake.convert(src, "lake", threads=True),
        lambda src: tracelake.convert(src, "lake", allow_missing="no"),
        lambda src: tracelake.convert(src, "lake", allow_missing=1),
        lambda src: tracelake.convert(src, "lake", overwrite="false"),
        lambda src: tracelake.convert(src, "lake", on_bad_row=True),
        lambda src: tracelake.convert(src, "lake", tables={"job_events": 1}),
        lambda src: tracelake.convert(src, "lake", parts=[True]),
        lambda src: tracelake.convert(src, "lake", shard="0/2"),
        lambda src: tracelake.release(src, allow_missing="no"),
        lambda src: tracelake.release(src, allow_rejects=1),
        lambda src: tracelake.release(src, delta="yes"),
        lambda src: tracelake.release(src, since=7),
        lambda src: tracelake.release(src, date=20260601),
        lambda src: tracelake.verify(src, digest=5),
        lambda src: tracelake.check(src, allow_missing="no"),
        lambda src: tracelake.check(src, watch=5),
        lambda src: tracelake.check(src, cell=5),
        lambda src: tracelake.check(src, memory=1.5),
        lambda src: tracelake.derive(src, "made", allow_missing="no"),
        lambda src: tracelake.derive(src, 5),
        lambda src: tracelake.report(src, 5),
        lambda src: tracelake.read_part(src, on_bad_row=True),
        lambda src: tracelake.read_part(src, trace=5),
        lambda src: tracelake.scan(src, 5),
        lambda src: tracelake.scan(src, "job_events", named="no"),
        lambda src: tracelake.open(5),
        lambda src: tracelake.spark.read(None, src, "job_events", named="no"),
        lambda src: tracelake.spark.convert(None, src, "lake", ignore_disk_space="no"),
        lambda src: tracelake.spark.convert(None, src, "lake", shards="2"),
        lambda src: tracelake.spark.convert(None, src, "lake", overwrite=True),
        lambda src: tracelake.convert(src, "lake", memory=1.5),
        lambda src: tracelake.convert(src, "lake", progress=5),
        lambda src: tracelake.convert(src, "lake", nosuch=1),
        lambda src: tracelake.generate(5, "made"),
        lambda src: tracelake.generate("google-2011-v2.1", "made", rows="5"),
        lambda src: tracelake.schema(None),
        lambda src: tracelake.verify(None),
        lambda src: tracelake.inspect(3.5),
    ],
)
def test_wrong_types(call: Any, source: Path) -> None:
    with pytest.raises(TypeError) as caught:
        call(source)
    assert isinstance(caught.value, tracelake.TracelakeError) and not isinstance(caught.value, ValueError)
    assert isinstance(caught.value, tracelake.WrongTypeError) and caught.value.exit_code == 2
    named = set(re.findall(r"[a-z_]+", str(caught.value)))
    assert named & {"src", "out", "lake", "path", "source", "trace", "tables", "threads", "memory", "progress"} or named & {
        "allow_missing", "allow_rejects", "overwrite", "ignore_disk_space", "on_bad_row", "parts", "shard", "shards", "cell",
        "watch", "rows", "table", "named", "nosuch", "delta", "since", "date", "digest",
    }, str(caught.value)  # fmt: skip
    assert not Path("lake").exists() and not Path("made").exists()


def test_hints_speak_of_arguments(source: Path) -> None:
    part = source / PART
    Path("odd").mkdir()
    with gzip.open("odd/x.csv.gz", "wb") as odd:
        odd.write(b"a,b,c\n")
    calls = {
        'pass trace="google-2011-v2.1"': lambda: tracelake.read_part(part, trace="borg-2019"),
        "table": lambda: tracelake.read_part("odd/x.csv.gz", trace="google-2011-v2.1"),
        "tables": lambda: tracelake.convert("odd/x.csv.gz", "lake", trace="google-2011-v2.1"),
        "tracelake.convert(": lambda: tracelake.verify(source),
    }
    for says, call in calls.items():
        with pytest.raises(tracelake.TracelakeError) as caught:
            call()
        assert caught.value.hint is not None and re.search(rf"(?<!\w){re.escape(says)}", caught.value.hint), caught.value
        assert "--" not in caught.value.hint and caught.value.hint in str(caught.value)


def test_a_missing_extra_is_named(lake: tracelake.Manifest, monkeypatch: pytest.MonkeyPatch) -> None:
    table = lake["job_events"]
    uses: list[tuple[str, Any]] = [
        ("polars", table.scan),
        ("polars", table.head),
        ("duckdb", lake.duckdb),
        ("pandas", table.to_pandas),
        ("pyarrow", table.to_arrow),
        ("pyarrow", table.dataset),
    ]
    for extra, use in uses:
        monkeypatch.setitem(sys.modules, extra, None)
        monkeypatch.delitem(sys.modules, f"tracelake._{extra.removeprefix('py')}", raising=False)
        named = "arrow" if extra == "pyarrow" else extra
        with pytest.raises(tracelake.MissingExtraError, match=f"pip install 'tracelake\\[{named}\\]'"):
            use()
        monkeypatch.undo()
    assert issubclass(tracelake.MissingExtraError, ImportError)


def test_a_panic_is_an_exception() -> None:
    with pytest.raises(tracelake.FailedError, match="internal error: panicked at .*asked for") as caught:
        _tracelake.panic()
    assert caught.value.hint is not None and "report" in caught.value.hint


def test_paths_that_are_not_utf_8() -> None:
    with pytest.raises(tracelake.FailedError) as caught:
        tracelake.convert(b"nosuch\xff", "lake")  # type: ignore[arg-type]
    assert caught.value.path is not None and caught.value.path.startswith("nosuch")


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda src: tracelake.convert(src, "made", layout="nosuch"), "^layout: expected 'hive' or 'flat', not 'nosuch'$"),
        (lambda src: tracelake.convert(src, "made", format="csv"), "^format: expected 'parquet' or 'arrow', not 'csv'$"),
        (lambda src: tracelake.convert(src, "made", on_bad_row="skip"), "^on_bad_row: expected 'fail' or 'reject', not 'skip'$"),
        (lambda src: tracelake.generate("borg-2019", "made", form="csv"), "^form: expected 'json' or 'parquet', not 'csv'$"),  # type: ignore[arg-type]
        (lambda src: tracelake.generate("google-2011-v2", "made", form="parquet"), "a trace that has one: borg-2019$"),
        (lambda src: tracelake.convert(src, "made", threads=0), "^threads: expected a whole number from 1 to 1024, not '0'$"),
        (lambda src: tracelake.convert(src, "made", compression="lz4"), "^compression: expected zstd, .*, not 'lz4'$"),
        (lambda src: tracelake.convert(src, "made", tables="job_event"), "did you mean 'job_events'"),
        (lambda src: tracelake.schema("google-2011-v2.1", "job_event"), "did you mean 'job_events'"),
    ],
)
def test_a_wrong_value_is_answered_with_those_that_fit(call: Any, says: str, source: Path) -> None:
    with pytest.raises(tracelake.UsageError, match=says):
        call(source)
    assert not Path("made").exists()


def test_what_is_nowhere_is_not_to_be_converted_again() -> None:
    with pytest.raises(tracelake.MissingLakeError, match="^nosuch: not a finished lake: there is nothing here; check the path$"):
        tracelake.open("nosuch")


def test_one_is_singular(source: Path, lake: tracelake.Lake) -> None:
    assert "1 row in 1 file" in repr(dataclasses.replace(lake["machine_events"], rows=1))
    assert "1 part, 1 row: 0 wrong" in repr(tracelake.Verification(1, 1, 0, 0, ()))
