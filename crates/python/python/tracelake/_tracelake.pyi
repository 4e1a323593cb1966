"""The extension module; use the package."""

import os
from collections.abc import Sequence
from typing import final

from ._errors import TracelakeError
from ._progress import Watch

__version__: str
__all__ = [
    "Reader",
    "__version__",
    "arrow_schema",
    "cluster",
    "commit",
    "convert",
    "describe",
    "duckdb_pattern",
    "duckdb_views",
    "facts",
    "fetch",
    "generate",
    "inspect_path",
    "main",
    "manifest",
    "open_descriptors",
    "panic",
    "prepare",
    "query_command",
    "read_part",
    "redacted",
    "release_lake",
    "shown_time",
    "spark_named",
    "spark_pattern",
    "traces",
    "verify_lake",
]

def main(arguments: Sequence[str]) -> int: ...
def query_command(arguments: Sequence[str]) -> int | tuple[str, list[str]]: ...
def open_descriptors() -> None: ...
def redacted(text: str) -> str: ...
def convert(arguments: Sequence[str], watch: Watch | None) -> str: ...
def fetch(arguments: Sequence[str], watch: Watch | None) -> str: ...
def cluster(arguments: Sequence[str], watch: Watch | None) -> str: ...
def prepare(arguments: Sequence[str], shards: int | None, watch: Watch | None) -> str: ...
def commit(
    lake: str | os.PathLike[str], max_rejects: int | None, threads: int | None
) -> str: ...
def facts(lake: str | os.PathLike[str]) -> str: ...
def manifest(lake: str | os.PathLike[str]) -> str: ...
def inspect_path(path: str | os.PathLike[str], trace: str | None) -> str: ...
def verify_lake(
    lake: str | os.PathLike[str],
    source: str | os.PathLike[str] | None,
    digest: str | None,
    threads: int | None,
    watch: Watch | None,
) -> tuple[str, list[TracelakeError]]: ...
def release_lake(
    lake: str | os.PathLike[str],
    switches: tuple[bool, bool, bool],
    date: str | None,
    since: str | os.PathLike[str] | None,
    threads: int | None,
    watch: Watch | None,
) -> tuple[str, list[TracelakeError]]: ...
def generate(
    trace: str, out: str | os.PathLike[str], numbers: tuple[int, int, int], form: str, watch: Watch | None
) -> str: ...
def traces() -> list[str]: ...
def describe(trace: str, table: str | None, form: str) -> str: ...
def duckdb_pattern(path: str) -> str: ...
def duckdb_views(trace: str, table: str, files: str) -> str: ...
def shown_time(trace: str, table: str, time: int) -> str: ...
def spark_pattern(path: str) -> str: ...
def spark_named(trace: str, table: str) -> list[str]: ...
def arrow_schema(trace: str, table: str, of_paths: list[str]) -> object: ...
def read_part(
    path: str | os.PathLike[str],
    trace: str | None,
    table: str | None,
    selection: dict[str, str],
    rejects: bool,
    threads: int | None,
) -> Reader: ...

@final
class Reader:
    """One published file, to be read once as Arrow record batches by any Arrow library."""

    @property
    def trace(self) -> str:
        """The name of the trace that was given or recognised."""
    @property
    def table(self) -> str:
        """The name of the table that was given or recognised."""
    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
    @property
    def error(self) -> TracelakeError | None:
        """Why the rows ended early; ``None`` while nothing is wrong."""
    @property
    def rejected(self) -> int:
        """Rows that were left out so far."""
    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

def panic() -> None: ...
