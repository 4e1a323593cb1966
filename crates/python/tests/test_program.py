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
