"""The names of the package: what is public is listed, and an import takes nothing and little time."""

from __future__ import annotations

import ast
import builtins
import importlib.util
import subprocess
import sys
from graphlib import TopologicalSorter
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


def test_modules_form_no_circle() -> None:
    package = Path(tracelake.__file__).parent
    modules = {path.stem: path.read_text(encoding="utf-8") for path in package.glob("*.py")}
    used = {
        name: {one if one in modules else "__init__" for one in _imported(text)} - {name}
        for name, text in modules.items()
    }
    # Imports in functions and those for types are found, too.
    assert {"_asking", "_checks", "spark"} < used["__init__"] and "_queries" in used["_asking"]
    assert used["__main__"] == {"_commands"} and "__init__" in used["_commands"]
    # A circle is a CycleError, which names its modules.
    TopologicalSorter(used).prepare()


def _imported(text: str) -> set[str]:
    """The modules and names of the package that a module imports anywhere; an empty name for the package itself."""
    paths: list[str] = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            paths += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            parts = ["tracelake"] * node.level + ([node.module] if node.module else [])
            paths += [".".join([*parts, alias.name]) for alias in node.names]
    found = {path.partition(".")[2].partition(".")[0] for path in paths if path.partition(".")[0] == "tracelake"}
    return found - {"_tracelake"}


@pytest.mark.skipif(importlib.util.find_spec("mypy") is None, reason="mypy is not installed")
def test_the_stubs_are_those_of_the_extension(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mypy.stubtest", "tracelake._tracelake"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
