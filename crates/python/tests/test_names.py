"""The names of the package: what is public is listed, and an import takes nothing and little time."""

from __future__ import annotations

import builtins
import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

import tracelake


def test_import_star_shadows_nothing() -> None:
    names: dict[str, object] = {}
    exec("from tracelake import *", names)
    names.pop("__builtins__")
    assert set(names) == set(tracelake.__all__)
    assert not set(names) & set(dir(builtins)) and not any(name.startswith("_") for name in names)


def test_what_is_public_is_listed() -> None:
    listed = [name for name in dir(tracelake) if not name.startswith("_")]
    assert listed == sorted([*tracelake.__all__, "open"])
    for name in listed:
        assert getattr(tracelake, name) is not None
    # Nothing public is left out: the other names are what the module needs.
    others = {name for name in vars(tracelake) if not name.startswith("_")} - set(listed)
    assert others <= {"TYPE_CHECKING", "annotations", "import_module"}, others


def test_every_public_name_has_a_docstring() -> None:
    for name in tracelake.__all__:
        public = getattr(tracelake, name)
        if isinstance(public, type) and public.__module__.startswith("tracelake"):
            assert public.__doc__, name
            for member in vars(public).values():
                if callable(member) and not getattr(member, "__name__", "_").startswith("_"):
                    assert member.__doc__, f"{name}.{member.__name__}"


def test_an_import_needs_no_optional_package() -> None:
    program = "import sys, tracelake; print(*(name.partition('.')[0] for name in sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    optional = {"duckdb", "matplotlib", "numpy", "pandas", "polars", "pyarrow", "pyspark", "IPython"}
    assert not set(done.stdout.split()) & optional


@pytest.mark.skipif(importlib.util.find_spec("mypy") is None, reason="mypy is not installed")
def test_the_stubs_are_those_of_the_extension(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mypy.stubtest", "tracelake._tracelake"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
