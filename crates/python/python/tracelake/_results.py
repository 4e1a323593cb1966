"""Results of the functions: plain, immutable objects with a readable form for people."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from . import _files, _show
from ._errors import TracelakeError
from ._facts import known


@dataclass(frozen=True)
class TableInventory:
    """One table of a lake or of a source; where there are cells, of one cell."""

    name: str
    parts: int
    missing: tuple[int, ...]
    rows: int | None
    rejected: int | None
    published_rows: int | None
    more_than_published: int | None
    #: The size of its files; ``None`` if that of one isn't known, as in the list of a web server.
    bytes: int | None
    time_min: int | None
    time_max: int | None
    #: The cell, where there are cells.
    cell: str | None = None
    #: ``time_min`` and ``time_max`` as people read them.
    times: tuple[str, str] | None = None
    #: Whether parts were missing in the lake that it was clustered from.
    lacked_parts: bool = False


@dataclass(frozen=True, repr=False)
class Inventory:
    """The contents of a lake or of a source."""

    #: ``lake`` or ``source``.
    what: str
    trace: str
    #: Whether the lake is finished; ``None`` for a source.
    finished: bool | None
    tables: tuple[TableInventory, ...]
    #: Tables of the trace that aren't there.
    absent: tuple[str, ...]
    #: The SHA-256 of the manifest, which names a whole lake; ``None`` where there is none.
    digest: str | None = None

    def _rows(self) -> list[list[str]]:
        return [
            [
                one.name if one.cell is None else f"{one.name} of cell {one.cell}",
                _show.count(one.parts),
                _show.count(len(one.missing)),
                _show.text(one.rows, _show.count),
                _show.text(one.bytes, _show.size),
                *(one.times or ("", "")),
            ]
            for one in self.tables
        ]

    def _notes(self) -> list[str]:
        absent = [f"absent: {', '.join(self.absent)}"] if self.absent else []
        return absent + (["not finished: run convert again"] if self.finished is False else [])

    def __repr__(self) -> str:
        return _show.text_table(f"{self.what} of {self.trace}", _INVENTORY, self._rows(), self._notes())

    def _repr_html_(self) -> str:
        return _show.html_table(f"{self.what} of {self.trace}", _INVENTORY, self._rows(), self._notes())


@dataclass(frozen=True)
class GeneratedTable:
    """One generated table."""

    name: str
    parts: int
    rows: int
    bytes: int


@dataclass(frozen=True, repr=False)
class Generated:
    """A synthetic trace."""

    #: Its directory, absolute.
    path: str
    trace: str
    tables: tuple[GeneratedTable, ...]

    def _rows(self) -> list[list[str]]:
        return [[one.name, _show.count(one.parts), _show.count(one.rows), _show.size(one.bytes)] for one in self.tables]

    def __repr__(self) -> str:
        return _show.text_table(f"Synthetic {self.trace} in {_files.shown(self.path)}", _GENERATED, self._rows())

    def _repr_html_(self) -> str:
        return _show.html_table(f"Synthetic {self.trace} in {_files.shown(self.path)}", _GENERATED, self._rows())


@dataclass(frozen=True, repr=False)
class Fetched:
    """The published files of a trace, in a directory."""

    #: The directory, absolute.
    path: str
    trace: str
    #: Files that this call fetched, and their bytes.
    fetched: int
    bytes: int
    #: Files that were there, and right.
    kept: int
    #: Files that were checked by a published SHA-256, by the checks of their compression, and by their size alone.
    by_digest: int
    by_format: int
    by_size: int
    #: Files that were there, of which neither digest nor size are published.
    unchecked: int
    #: Tables that were left out, and why; and other warnings.
    warnings: tuple[str, ...]

    def _rows(self) -> list[list[str]]:
        numbers = (self.fetched, self.kept, self.by_digest, self.by_format, self.by_size, self.unchecked)
        return [[*map(_show.count, numbers)]]

    def _title(self) -> str:
        return f"Files of {self.trace} in {_files.shown(self.path)}"

    def __repr__(self) -> str:
        return _show.text_table(self._title(), _FETCHED, self._rows(), list(self.warnings))

    def _repr_html_(self) -> str:
        return _show.html_table(self._title(), _FETCHED, self._rows(), list(self.warnings))


@dataclass(frozen=True, repr=False)
class Verification:
    """The result of a verification; true if nothing is wrong."""

    #: Parts that were checked.
    parts: int
    #: Rows of the lake.
    rows: int
    #: Values that were compared with the source.
    values: int
    #: Parts of the source that the lake doesn't have.
    not_converted: int
    #: Everything that is wrong.
    findings: tuple[TracelakeError, ...]
    #: Parts of the lake that weren't compared, because the source is of another cell.
    not_compared: int = 0

    def __bool__(self) -> bool:
        return not self.findings

    def raise_if_wrong(self) -> None:
        """Raises the first finding, if there is one."""
        for finding in self.findings:
            raise finding

    def __repr__(self) -> str:
        compared = f", {_show.several(self.values, 'value')} compared with the source" if self.values else ""
        what = f"{_show.several(self.parts, 'part')}, {_show.several(self.rows, 'row')}{compared}"
        lines = [f"{what}: {len(self.findings)} wrong"]
        if self.not_compared:
            lines.append(f"  not compared with a source: {_show.several(self.not_compared, 'part')} of other cells")
        return "\n".join(lines + [f"  {finding}" for finding in self.findings])

    def _repr_html_(self) -> str:
        first, *findings = repr(self).splitlines()
        return _show.html_table(first, ["what is wrong"], [[finding.strip()] for finding in findings])


@dataclass(frozen=True)
class ChangedFile:
    """A file of a lake that has other bytes than in an older one."""

    #: Its path in the lake.
    path: str
    #: The path of its source, if that has other bytes, too.
    source: str | None


@dataclass(frozen=True)
class TableChanges:
    """The outputs and rejects files of a table, compared with those of an older lake."""

    name: str
    added: tuple[str, ...]
    changed: tuple[ChangedFile, ...]
    removed: tuple[str, ...]
    #: How many files have the bytes that they had.
    unchanged: int
    #: The size of the files that are added or changed.
    bytes: int


@dataclass(frozen=True)
class LakeChanges:
    """The changes from an older lake to a newer one of the same trace."""

    tables: tuple[TableChanges, ...]
    #: How the two lakes were made differently, such as ``compression was zstd:3 and is now snappy``.
    made_differently: tuple[str, ...]


@dataclass(frozen=True, repr=False)
class Release:
    """The files that make a lake publishable."""

    #: The directory of the lake, absolute.
    path: str
    #: Names in the directory of the lake.
    files: tuple[str, ...]
    verification: Verification
    #: What the release lacks, as a sentence each.
    warnings: tuple[str, ...] = ()
    #: What changed since the lake that ``since`` names.
    changes: LakeChanges | None = None

    def _title(self) -> str:
        return f"Release files in {_files.shown(self.path)}"

    def _rows(self) -> list[list[str]]:
        return [[name] for name in self.files]

    def __repr__(self) -> str:
        return _show.text_table(self._title(), ["file"], self._rows())

    def _repr_html_(self) -> str:
        return _show.html_table(self._title(), ["file"], self._rows())


# Headings; those that begin with a blank are of numbers.
_INVENTORY = ["table", " parts", " missing", " rows", " size", " time from", " to"]
_FETCHED = [" fetched", " kept", " by SHA-256", " by compression", " by size", " unchecked"]
_GENERATED = ["table", " parts", " rows", " size"]


def inventory(text: str) -> Inventory:
    """An inventory from its JSON."""
    said = json.loads(text)
    tables = (
        TableInventory(**known(TableInventory, {name: _frozen(value) for name, value in table.items()}))
        for table in said["tables"]
    )
    return Inventory(
        said["what"], said["trace"], said["finished"], tuple(tables), tuple(said["absent"]), said.get("digest")
    )


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]


def fetched(path: str, text: str, warnings: list[str]) -> Fetched:
    """What was fetched, from its JSON."""
    return Fetched(**known(Fetched, {**json.loads(text), "path": _files.absolute(path), "warnings": tuple(warnings)}))


def generated(path: str, text: str) -> Generated:
    """A synthetic trace, from its JSON."""
    said = json.loads(text)
    tables = tuple(GeneratedTable(**known(GeneratedTable, table)) for table in said["tables"])
    return Generated(_files.absolute(path), said["trace"], tables)


def verification(found: tuple[str, list[TracelakeError]]) -> Verification:
    """A verification from its totals and findings."""
    said = json.loads(found[0])
    return Verification(
        said["parts"],
        said["rows"],
        said["values"],
        said["not_converted"],
        tuple(found[1]),
        said["not_compared"],
    )


def release(path: str, found: tuple[str, list[TracelakeError]], warnings: list[str]) -> Release:
    """A release; raises the first finding, since nothing was written then."""
    checked = verification(found)
    checked.raise_if_wrong()
    said = json.loads(found[0])
    changes = _changes(said["changes"])
    return Release(_files.absolute(path), tuple(said["files"]), checked, tuple(warnings), changes)


def _changes(said: dict[str, Any] | None) -> LakeChanges | None:
    """The changes since another lake, from their JSON."""
    if said is None:
        return None
    tables = tuple(
        TableChanges(
            table["name"],
            tuple(table["added"]),
            tuple(ChangedFile(file["path"], file["source"]) for file in table["changed"]),
            tuple(table["removed"]),
            table["unchanged"],
            table["bytes"],
        )
        for table in said["tables"]
    )
    return LakeChanges(tables, tuple(said["made_differently"]))
