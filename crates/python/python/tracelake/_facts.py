"""The facts of parts and files, as the manifest has them."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from typing import Any

from . import _files
from ._errors import CorruptInputError


@dataclass(frozen=True)
class FileFacts:
    """One file."""

    #: A relative path with forward slashes.
    path: str
    #: Its size.
    bytes: int
    #: The SHA-256 of its bytes, in lower-case hexadecimal.
    sha256: str


@dataclass(frozen=True)
class PartFacts:
    """One part of a table; see the manifest in the documentation for each field."""

    file_number: int
    source: FileFacts
    rows_in: int
    rows_out: int
    rows_rejected: int
    sentinels_mapped: int
    time_min: int | None
    time_max: int | None
    output: FileFacts
    rejects: FileFacts | None = None
    of: int | None = None
    left_out: int | None = None
    #: The cell, in a lake that is partitioned by cell.
    cell: str | None = None
    #: 1 if its first line was accepted as a header.
    headers_accepted: int = 0
    #: 1 if its first column was accepted as an index.
    indexes_accepted: int = 0
    #: 1 if a byte order mark was accepted at its start.
    boms_accepted: int = 0
    #: Integers that were accepted although they are spelled ``5.0``.
    integral_floats_accepted: int = 0
    #: Fields that were accepted as NULL although they aren't empty.
    nulls_accepted: int = 0
    #: Rows that the lake's selection leaves out; ``None`` if it selects no rows of the table.
    rows_not_selected: int | None = None

    def file(self, root: str, table: str, layout: str) -> str:
        """Its file in a lake, whose path has to say the same part and cell."""
        cell = [] if self.cell is None else [f"cell={self.cell}"]
        number = [f"file_number={self.file_number}"] if layout == "hive" else []
        directory, _, name = self.output.path.rpartition("/")
        is_name = re.fullmatch(rf"part-{self.file_number:05}(-of-[0-9]+)?\.(parquet|arrow)", name)
        file = _files.below(root, self.output.path)
        if directory != "/".join([table, *cell, *number]) or is_name is None:
            reason = f"the manifest gives part {self.file_number} of {table} another path than its facts"
            error = CorruptInputError(f"{_files.place(file)}: {reason}; verify the lake")
            error.path, error.hint = _files.place(file), "verify the lake"
            raise error
        return file


def part_facts(said: dict[str, Any]) -> PartFacts:
    files: dict[str, Any] = {
        name: FileFacts(**known(FileFacts, said[name])) for name in ("source", "output", "rejects") if said.get(name)
    }
    return PartFacts(**(known(PartFacts, said) | files))


def known(kind: Any, said: dict[str, Any]) -> dict[str, Any]:
    """The items that are fields of a class; those that a later version adds are left out."""
    return {one.name: said[one.name] for one in fields(kind) if one.name in said}
