"""A secret of a URL is in no message, log, object or file, wherever the URL is given."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

import tracelake
from tracelake import _commands

SECRET = "K7MDENG"

#: Arguments that hold it, or were meant to be such a URL; HOST has no such files.
FORMS = [
    f"http://user:{SECRET}@HOST/nosuch",
    f"http://HOST/nosuch?X-Amz-Signature={SECRET}",
    f"https://HOST/nosuch#access_token={SECRET}",
    f" https://user:{SECRET}@host/lake",
    f"https:/user:{SECRET}@host/lake",
    f"https%3A%2F%2Fuser%3A{SECRET}%40host",
    f"s3://AKIA:{SECRET}@bucket/lake",
    f"user:{SECRET}@host",
    f"sig={SECRET}",
]


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def url(lake: tracelake.Lake) -> Iterator[str]:
    """The lake on a web server, with a user name, a password and a query that it needn't have."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=lake.path))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://user:{SECRET}@127.0.0.1:{server.server_port}?sig={SECRET}"
    server.shutdown()


def _host(url: str) -> str:
    return url.partition("@")[2].partition("?")[0]


def all_of(error: BaseException) -> str:
    """Everything that an error says by itself or in a traceback, here and in another process."""
    texts = [str(error), repr(error), repr(error.args), repr(vars(error))]
    texts += traceback.format_exception(error, limit=0)
    with suppress(pickle.PicklingError, TypeError):
        again = pickle.loads(pickle.dumps(error))
        texts += [str(again), repr(again), repr(vars(again))]
    return "\n".join(texts)


def refused(call: Callable[[], object]) -> str:
    """What the error of a call says."""
    try:
        made = call()
    except tracelake.TracelakeError as error:
        return all_of(error)
    pytest.fail(f"no error, but {made!r}")


@pytest.mark.parametrize("form", FORMS)
def test_a_command_repeats_no_secret(
    form: str, url: str, lake: tracelake.Lake, capfd: pytest.CaptureFixture[str]
) -> None:
    path, form = lake.path, form.replace("HOST", _host(url))
    for arguments in (
        [form],
        [path, form],
        [path, "--only", form],
        [path, "--tables", form],
        [path, "--cell", form],
        [path, "--fail-on", form],
        [path, "--memory", form],
        [path, "--threads", form],
        [path, "--time-limit", form],
        [path, f"--nosuch={form}"],
        [path, "-o", form],
        [path, "out", "--tables", form],
        [form, "out"],
        [path, "out", "--cell", form],
        [path, "out", form],
    ):
        for command in ("check", "report", "derive"):
            with suppress(SystemExit):
                _commands.run([command, *arguments])
            said = "".join(capfd.readouterr())
            assert SECRET not in said, (command, arguments, said)


@pytest.mark.parametrize("form", FORMS)
def test_no_error_of_a_function_has_a_secret(form: str, url: str, lake: tracelake.Lake, source: Path) -> None:
    form = form.replace("HOST", _host(url))
    given: Any = form
    calls: list[Callable[[], object]] = [
        lambda: tracelake.check(form),
        lambda: tracelake.check(lake, only=form),
        lambda: tracelake.check(lake, only=[form]),
        lambda: tracelake.check(lake, cell=form),
        lambda: tracelake.check(lake, memory=form),
        lambda: tracelake.check(lake, threads=given),
        lambda: tracelake.check(lake).fails(form),
        lambda: tracelake.check(lake)[form],
        lambda: tracelake.report(form),
        lambda: tracelake.report(lake, cell=form),
        lambda: tracelake.derive(form, "derived"),
        lambda: tracelake.derive(lake, "derived", tables=form),
        lambda: tracelake.derive(lake, "derived", cell=form),
        lambda: tracelake.open(form),
        lambda: tracelake.scan(form, "job_events"),
        lambda: lake[form],
        lambda: lake.scan(form),
        lambda: lake["job_events"].to_polars(columns=form),
        lambda: lake["job_events"].to_polars(filter=[(form, "==", 1)]),
        lambda: lake["job_events"].to_polars(filter=[("job_id", given, 1)]),
        lambda: lake["job_events"].to_polars(filter=[("job_id", "==", form)]),
        lambda: tracelake.convert(form, "lake"),
        lambda: tracelake.convert(source, "lake", tables=form),
        lambda: tracelake.convert(source, "lake", trace=form),
        lambda: tracelake.convert(source, "lake", checksums=form),
        lambda: tracelake.convert(source, "lake", sample="0/2", sample_by=form),
        lambda: tracelake.convert(source, "lake", columns=form),
        lambda: tracelake.convert(source, "lake", progress=given),
        lambda: tracelake.convert(source, "lake", **{form: 1}),  # type: ignore[arg-type]
        lambda: tracelake.verify(form),
        lambda: tracelake.verify(lake, source=form),
        lambda: tracelake.inspect(form),
        lambda: tracelake.inspect(source, trace=form),
        lambda: tracelake.release(form),
        lambda: tracelake.generate(form, "trace"),
        lambda: tracelake.schema(form),
        lambda: tracelake.schema(lake.trace, form),
        lambda: tracelake.schema(lake.trace)[form],
        lambda: tracelake.read_part(form),
        lambda: tracelake.read_part(source / "job_events/part-00000-of-00002.csv.gz", table=form),
        lambda: tracelake.read_part(source / "job_events/part-00000-of-00002.csv.gz", sample=form),
        lambda: tracelake.read_part(
            source / "job_events/part-00000-of-00002.csv.gz", sample="0/2", sample_by=form
        ),
        lambda: tracelake.read_part(source / "job_events/part-00000-of-00002.csv.gz", on_bad_row=given),
        lambda: tracelake.report(lake, form),
        lambda: tracelake.derive(lake, form),
        lambda: tracelake.generate(lake.trace, form),
        lambda: tracelake.convert(source, form),
    ]
    for number, call in enumerate(calls):
        said = refused(call)
        assert SECRET not in said, (number, said)


def test_a_lake_and_its_tables_show_no_secret_of_their_url(url: str, capfd: pytest.CaptureFixture[str]) -> None:
    lake = tracelake.open(url)
    table = lake["job_events"]
    shown = [repr(lake), str(lake), lake._repr_html_(), repr(table), table._repr_html_()]
    assert not [text for text in shown if SECRET in text]
    assert "127.0.0.1" in repr(lake) and "127.0.0.1" in repr(table)

    # The engine is asked for the same files as before, and none of them comes.
    assert all(SECRET in file for file in table.files)
    for call in (
        lambda: lake["nosuch"],
        lambda: lake.scan("nosuch"),
        lambda: table.to_arrow(),
        lambda: table.to_pandas(),
        lambda: tracelake.check(url),
        lambda: tracelake.report(url),
        lambda: tracelake.derive(url, "derived"),
        lambda: tracelake.release(url),
        lambda: tracelake.inspect(url),
        lambda: tracelake.verify(url),
    ):
        assert SECRET not in refused(call)
    engines: list[Callable[[], object]] = [table.to_polars, table.head, lake.duckdb]
    engines.append(lambda: table.scan(columns="time"))
    for engine in engines:
        try:
            engine()
        except tracelake.TracelakeError as error:
            assert SECRET not in all_of(error)
    assert SECRET not in "".join(capfd.readouterr())


@pytest.mark.parametrize("level", ["", "debug", "trace"])
def test_no_process_shows_a_secret(level: str, url: str, lake: tracelake.Lake, source: Path) -> None:
    program = [sys.executable, "-m", "tracelake"]
    for arguments in (
        ["check", url],
        ["report", url],
        ["report", lake.path, "-o", url],
        ["derive", url, "derived"],
        ["derive", lake.path, url],
        ["inspect", url],
        ["verify", url],
        ["verify", lake.path, "--source", url],
        ["convert", url, "out"],
        ["convert", source, url],
    ):
        run = subprocess.run(
            [*program, *map(str, arguments)], capture_output=True, text=True, env={**os.environ, "RUST_LOG": level}
        )
        assert SECRET not in run.stdout + run.stderr, (arguments, run.stderr)
    for file in Path.cwd().rglob("*"):
        assert SECRET not in str(file)
        assert not file.is_file() or SECRET.encode() not in file.read_bytes(), file
