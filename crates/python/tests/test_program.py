"""The program on PATH."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import tracelake

PROGRAM = Path(sys.executable).with_name("tracelake")


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, check=False)


def test_it_is_the_program(source: Path, lake: tracelake.Manifest) -> None:
    assert run("--version").stdout == f"tracelake {tracelake.__version__}\n"
    made = run("convert", source, "lake")
    assert (made.returncode, made.stdout) == (0, "")
    assert "task_usage" in made.stderr
    assert [table.parts for table in tracelake.open("lake").tables] == [table.parts for table in lake.tables]


def test_it_ends_with_the_exit_codes(source: Path) -> None:
    assert run("verify", source).returncode == 6
    assert run("convert", "nosuch", "lake").returncode == 1
    assert run("nosuch").returncode == 2


def test_the_module_is_the_program() -> None:
    made = subprocess.run([sys.executable, "-m", "tracelake", "--version"], capture_output=True, text=True)
    assert made.stdout == f"tracelake {tracelake.__version__}\n"


@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_ctrl_c_stops_it_without_a_traceback(lake: tracelake.Manifest) -> None:
    tracelake.generate("google-2011-v2.1", "large", parts=2, rows=200_000)
    program = subprocess.Popen(
        [PROGRAM, "convert", "large", "lake", "--threads", "1", "--progress", "json"],
        stderr=subprocess.PIPE,
        text=True,
    )
    assert program.stderr is not None
    # Its first line says that a part has begun, so the handlers are installed.
    first = program.stderr.readline()
    program.send_signal(signal.SIGINT)
    begun = time.monotonic()
    rest = program.stderr.read()
    assert program.wait(60) == 130, first + rest
    assert time.monotonic() - begun < 30
    assert "stopped; finished parts are kept" in rest and "Traceback" not in rest
    assert len(tracelake.convert("large", "lake").tables) == 6


#: Runs what follows without stdin, stdout and stderr.
CLOSED = ["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh"]


@pytest.mark.skipif(os.name == "nt", reason="descriptors")
def test_nothing_that_is_said_gets_into_a_file(source: Path, lake: tracelake.Manifest) -> None:
    """The numbers of closed descriptors are those of the next files that are opened."""
    lake_of = "import sys, tracelake; tracelake.convert(sys.argv[1], 'function', progress='text', threads=2)"
    closed_later = f"import os, tracelake; os.closerange(0, 3); {lake_of.replace('function', 'later')}"
    of_lake = "import sys, tracelake; tracelake.derive(sys.argv[1], 'tables'); tracelake.report(sys.argv[1], 'page')"
    for arguments in (
        [PROGRAM, "convert", source, "program", "--progress", "plain"],
        [sys.executable, "-m", "tracelake", "convert", source, "module", "--progress", "json"],
        [sys.executable, "-c", lake_of, source],
        [sys.executable, "-c", closed_later, source],
        [PROGRAM, "release", "program", "--allow-missing"],
        [PROGRAM, "check", lake.path],
        [PROGRAM, "derive", lake.path, "derived"],
        [PROGRAM, "report", lake.path, "-o", "page.html"],
        [sys.executable, "-c", of_lake, lake.path],
    ):
        run = subprocess.run([*CLOSED, *map(str, arguments)], env={**os.environ, "RUST_LOG": "trace"})
        assert run.returncode == 0, arguments
    for made in ("program", "module", "function", "later"):
        assert tracelake.verify(made, source=source).findings == ()
        for file in Path(made).rglob("*"):
            assert not file.is_file() or b"rows" not in file.read_bytes()[:100], file
    for page in ("page.html", "page"):
        assert Path(page).read_text().startswith("<!")
    assert run_with_closed(source, "one", 0) == run_with_closed(source, "two", 1, 2) == 0
    assert tracelake.verify("one").findings == tracelake.verify("two").findings == ()


def run_with_closed(source: Path, out: str, *closed: int) -> int:
    """Converts without some of the descriptors; returns the exit code."""
    without = " ".join(f"{number}>&-" for number in closed)
    command = ["sh", "-c", f'exec "$@" {without}', "sh", PROGRAM, "convert", source, out]
    return subprocess.run([str(one) for one in command]).returncode
