"""Tables that queries make of a lake, written as a lake of their own."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from . import _errors, _files, _lake, _queries, _show, _steps, _tracelake
from ._errors import RefusedError, UsageError

if TYPE_CHECKING:
    import duckdb

#: Where the facts of a derived lake are.
FACTS = os.path.join("_tracelake", "derived.json")


@dataclass(frozen=True)
class DerivedTable:
    """One derived table."""

    name: str
    rows: int
    #: Its file, relative to the directory.
    path: str
    bytes: int
    #: The SHA-256 of the file.
    sha256: str


@dataclass(frozen=True, eq=False, repr=False)
class DerivedLake(Mapping[str, DerivedTable]):
    """Derived tables by their names, and what they were made from."""

    #: The directory, absolute.
    path: str
    trace: str
    #: The version of tracelake.
    version: str
    #: The engine that ran the queries, and its version.
    engine: str
    engine_version: str
    #: The SHA-256 of the manifest of the lake that the tables were made from.
    source_sha256: str
    tables: tuple[DerivedTable, ...]
    #: The tables that weren't made, each with the reason.
    skipped: Mapping[str, str]
    #: The cell that they were made from; ``None`` for a lake without cells.
    cell: str | None = None
    #: The trace of the other lake that they were joined with, and the SHA-256 of its manifest; ``None`` without one.
    with_trace: str | None = None
    with_sha256: str | None = None
    #: Where its files are read from: ``path``, but absolute.
    root: str = ""

    def __getitem__(self, table: str) -> DerivedTable:
        for one in self.tables:
            if one.name == table:
                return one
        raise _errors.unknown(f"{self.path} has no table", str(table), list(self))

    def __iter__(self) -> Iterator[str]:
        return (table.name for table in self.tables)

    def __len__(self) -> int:
        return len(self.tables)

    def __eq__(self, other: object) -> bool:
        return self.path == other.path if isinstance(other, DerivedLake) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.path)

    def duckdb(self) -> duckdb.DuckDBPyConnection:
        """A DuckDB connection with a view of each table."""
        try:
            import duckdb
        except ImportError as missing:
            raise _errors.missing_extra("duckdb", "duckdb") from missing
        connection = duckdb.connect()
        for table in self.tables:
            file = _files.sql_list([os.path.join(self.root, *table.path.split("/"))])
            connection.execute(
                f'CREATE VIEW "{table.name}" AS SELECT * FROM read_parquet({file}, hive_partitioning = false)'
            )
        return connection

    def to_json(self) -> str:
        """Everything, as JSON."""
        facts = asdict(self)
        del facts["root"]
        return json.dumps(facts, indent=2)

    def _lines(self) -> list[str]:
        lines = [f"{one.name}: {_show.several(one.rows, 'row')}" for one in self.tables]
        return lines + [f"{name}: skipped, {reason}" for name, reason in self.skipped.items()]

    def _title(self) -> str:
        cell = "" if self.cell is None else f", cell {self.cell}"
        return f"Tables derived from {self.trace}{cell} in {_files.shown(self.path)}, by {self.engine} {self.engine_version}"

    def __repr__(self) -> str:
        return "\n".join([self._title(), *(f"  {line}" for line in self._lines())])

    def _repr_html_(self) -> str:
        rows = [[one.name, _show.count(one.rows)] for one in self.tables]
        rows += [[name, f"skipped, {reason}"] for name, reason in self.skipped.items()]
        return _show.html_table(self._title(), ["table", " rows"], rows)


def derive(
    lake: _queries.Lake,
    out: str,
    *,
    tables: str | Iterable[str] | None,
    allow_missing: bool,
    limits: _queries.Limits,
    other: _queries.OtherLake | None = None,
    steps: _steps.Steps | None = None,
) -> DerivedLake:
    """Makes the tables next to OUT, and renames them to it when they are complete."""
    steps = steps or _steps.Steps()
    said: dict[str, Any] = {one["name"]: one for one in lake.said["query_tables"]}
    names = _queries.chosen(tables, list(said), "derived table")
    if os.path.lexists(out) and not (os.path.isdir(out) and not os.listdir(out)):
        raise RefusedError(f"{out}: not empty; choose a new directory, or remove it")
    if _within(out, lake.manifest.root):
        raise UsageError(f"{out}: within the lake; choose a directory outside of it")
    if other is not None:
        _check_other(other, [said[name]["with"] for name in names if said[name]["with"]], lake)
        if _within(out, other.manifest.root):
            raise UsageError(f"{out}: within the other lake; choose a directory outside of it")
    skipped: dict[str, str] = {}
    for name in names:
        needs = _queries.needs(said[name])
        reason = lake.empty(needs) or lake.out_of_order(said[name]) or (None if allow_missing else lake.missing(needs))
        reason = reason or _lacks_other(other, said[name]["with"], allow_missing)
        if reason:
            skipped[name] = reason
    if len(skipped) == len(names):
        helps = not allow_missing and any(lake.empty(_queries.needs(said[name])) is None for name in names)
        raise _nothing(lake, skipped, "; pass allow_missing=True or --allow-missing" if helps else "")
    root = os.path.abspath(out)
    staging = f"{root}.unfinished"
    shutil.rmtree(staging, ignore_errors=True)
    os.makedirs(os.path.join(staging, "_tracelake"))
    try:
        files = {name: _file(staging, name) for name in names if name not in skipped}
        with _queries.engine(lake, limits, files.values(), other) as engine:
            facts = _facts(lake, engine, other)
            steps.begin(len(files))
            made = [_write(said[name], engine, file, facts, steps) for name, file in files.items()]
        derived = DerivedLake(path=root, **facts, tables=tuple(made), skipped=skipped, root=root)
        _note(derived, said, staging)
        if os.path.isdir(root):
            os.rmdir(root)
        os.replace(staging, root)
    except BaseException:
        shutil.rmtree(staging, ignore_errors=True)
        raise
    return derived


def _nothing(lake: _queries.Lake, skipped: Mapping[str, str], hint: str) -> RefusedError:
    """Why no table can be made."""
    reasons = "; ".join(f"{name}: {reason}" for name, reason in skipped.items())
    reasons = reasons or "the trace has no such tables"
    return RefusedError(f"{lake.manifest.path}: nothing to derive: {reasons}{hint}")


def _check_other(other: _queries.OtherLake, wanted: Sequence[Mapping[str, Any]], lake: _queries.Lake) -> None:
    """Refuses a lake that no table is joined with."""
    families = {str(one["family"]) for one in wanted}
    if not families:
        raise UsageError(f"{lake.manifest.path}: no table of {lake.manifest.trace} is joined with another lake; leave --with out")
    if other.family not in families:
        raise UsageError(
            f"{other.manifest.path}: a lake of {other.manifest.trace}; pass one of {', '.join(sorted(families))} with --with"
        )


def _lacks_other(other: _queries.OtherLake | None, wanted: Mapping[str, Any] | None, allow_missing: bool) -> str | None:
    """Why a table that is joined with another lake can't be made."""
    if wanted is None:
        return None
    if other is None:
        return f"pass a lake of {wanted['family']} with --with"
    return other.lacks(wanted["tables"], allow_missing)


def _digest_of(manifest: _lake.Lake) -> str:
    with open(os.path.join(manifest.root, "_tracelake", "manifest.json"), "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def _facts(lake: _queries.Lake, engine: _queries.Engine, other: _queries.OtherLake | None) -> dict[str, str]:
    version = engine.connection.execute("SELECT library_version FROM pragma_version()").fetchone()
    cell = {} if lake.cell is None else {"cell": lake.cell}
    joined = {} if other is None else {"with_trace": other.manifest.trace, "with_sha256": _digest_of(other.manifest)}
    return {
        "trace": lake.manifest.trace,
        **cell,
        "version": _tracelake.__version__,
        "engine": "DuckDB",
        "engine_version": "" if version is None else str(version[0]),
        "source_sha256": _digest_of(lake.manifest),
        **joined,
    }


def _path(name: str) -> str:
    """The file of a derived table, relative to the directory."""
    return f"{name}/part-00000-of-00001.parquet"


def _file(out: str, name: str) -> str:
    return os.path.join(out, *_path(name).split("/"))


def _write(
    said: Mapping[str, Any], engine: _queries.Engine, file: str, facts: Mapping[str, str], steps: _steps.Steps
) -> DerivedTable:
    name: str = said["name"]
    steps.start(name)
    os.makedirs(os.path.dirname(file))
    metadata = {f"tracelake.{key}": value for key, value in facts.items()}
    metadata["tracelake.table"] = name
    metadata["tracelake.columns"] = json.dumps(said["columns"])
    pairs = ", ".join(f"{_files.sql_text(key)}: {_files.sql_text(value)}" for key, value in metadata.items())
    with_tables = said["with"]["tables"] if said["with"] else ()
    rows = engine.write(name, said["sql"], _queries.needs(said), file, f"{{{pairs}}}", with_tables)
    with open(file, "rb") as made:
        digest = hashlib.file_digest(made, "sha256") if hasattr(hashlib, "file_digest") else _digest(made)
    steps.finish(name, _show.several(rows, "row"))
    return DerivedTable(name, rows, _path(name), os.path.getsize(file), digest.hexdigest())


def _digest(file: Any) -> Any:
    """``hashlib.file_digest``, which Python 3.10 lacks."""
    digest = hashlib.sha256()
    while block := file.read(1 << 20):
        digest.update(block)
    return digest


def _note(derived: DerivedLake, said: Mapping[str, Any], out: str) -> None:
    """Writes what the tables are and what they were made from."""
    facts: dict[str, Any] = {"tool": "tracelake", **asdict(derived)}
    del facts["path"], facts["root"]
    for name in ("cell", "with_trace", "with_sha256"):
        if facts[name] is None:
            del facts[name]
    for table in facts["tables"]:
        query = said[table["name"]]
        table.update(summary=query["summary"], columns=query["columns"], sql=query["sql"])
    with open(os.path.join(out, FACTS), "w", encoding="utf-8") as file:
        json.dump(facts, file, indent=2)
        file.write("\n")


def _within(path: str, directory: str) -> bool:
    parent, child = os.path.realpath(directory), os.path.realpath(path)
    return os.path.commonpath([parent, child]) == parent


__all__: Sequence[str] = ("DerivedLake", "DerivedTable", "derive")
