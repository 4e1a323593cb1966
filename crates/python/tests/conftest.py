"""A small trace and its lake, made once; every test runs in an empty directory of its own."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import tempfile
from pathlib import Path

import pytest

import tracelake

TRACE = "google-2011-v2.1"


def _is_simulated(trace: str) -> bool:
    with tempfile.TemporaryDirectory() as directory:
        try:
            tracelake.generate(trace, Path(directory) / "trace", parts=1, rows=1)
        except tracelake.TracelakeError as error:
            assert "no simulation makes the rows" in str(error)
            return False
    return True


# The traces whose rows can be made.
SIMULATED = [trace for trace in tracelake.traces() if _is_simulated(trace)]

# Tests that a shell runs in the background inherit that SIGINT is ignored, and so would the program.
signal.signal(signal.SIGINT, signal.default_int_handler)


# Spark's workers would otherwise begin with the first python3 on PATH, which may lack pyarrow.
os.environ["PYSPARK_PYTHON"] = sys.executable


@pytest.fixture(autouse=True)
def _empty_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="session")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A synthetic trace, which no test changes."""
    path = tmp_path_factory.mktemp("source") / "trace"
    tracelake.generate(TRACE, path, parts=2, rows=4000)
    return path


@pytest.fixture(scope="session")
def lake(source: Path, tmp_path_factory: pytest.TempPathFactory) -> tracelake.Manifest:
    """Its lake, which no test changes."""
    return tracelake.convert(source, tmp_path_factory.mktemp("lake") / "lake")


@pytest.fixture
def own_source(source: Path, tmp_path: Path) -> Path:
    """A copy of the trace without its checksums, to be broken."""
    copy = tmp_path / "own"
    shutil.copytree(source, copy)
    (copy / "SHA256SUM").unlink()
    return copy
