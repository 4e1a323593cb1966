"""The files of a lake, exactly as its manifest names them: nothing is searched for, so nothing else is read."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from ._errors import CorruptInputError, UsageError, missing_file

if TYPE_CHECKING:
    from ._table import PartFacts, Table

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")

#: URLs, and what ``pathlib`` makes of them: ``s3:/bucket``. A single letter is a drive.
_URL_OR_MISSPELT = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")


def is_url(path: str) -> bool:
    """Whether a text is a URL, as the program decides it."""
    return _URL.match(path) is not None


def absolute(path: str) -> str:
    """A path that doesn't depend on the current directory; a URL without a slash at its end."""
    return path.rstrip("/") if is_url(path) else os.path.abspath(path)


def on_disk(name: str, path: str) -> str:
    """A path; a URL is refused."""
    if _URL_OR_MISSPELT.match(path):
        raise UsageError(f"{name}: {path} is a URL; name a path on a disk")
    return path


def shown(path: str) -> str:
    """An absolute path for people: relative if it is below the current directory."""
    here = os.getcwd()
    return os.path.relpath(path, here) if not is_url(path) and path.startswith(here + os.sep) else path


def of_table(table: Table) -> list[str]:
    """The files of a table in the order of the manifest, absolute.

    The path of each says its part and cell, as the manifest does, so both may be read from it. Raises
    :class:`CorruptInputError` where it doesn't, and :class:`MissingFileError` if a file on disk is missing.
    """
    files = [below(table.root, _checked(table, part)) for part in table.parts]
    if not is_url(table.root):
        for file in files:
            if not os.path.isfile(file):
                raise missing_file(file, "the manifest names this file, but it is missing", "verify the lake")
    return files


def _checked(table: Table, part: PartFacts) -> str:
    """The path of a part, relative to the lake."""
    cell = [] if part.cell is None else [f"cell={part.cell}"]
    number = [f"file_number={part.file_number}"] if table.layout == "hive" else []
    directory, _, name = part.output.path.rpartition("/")
    is_name = re.fullmatch(rf"part-{part.file_number:05}(-of-[0-9]+)?\.(parquet|arrow)", name)
    if directory != "/".join([table.name, *cell, *number]) or is_name is None:
        file = below(table.root, part.output.path)
        reason = f"the manifest gives part {part.file_number} of {table.name} another path than its facts"
        error = CorruptInputError(f"{file}: {reason}; verify the lake")
        error.path, error.hint = file, "verify the lake"
        raise error
    return part.output.path


def below(root: str, path: str) -> str:
    """What has this relative path, with forward slashes, in a lake."""
    if not is_url(root):
        return os.path.join(root, *path.split("/"))
    # What follows a question mark is about the server, whatever file is asked for.
    place, mark, query = root.partition("?") if root.lower().startswith("http") else (root, "", "")
    return f"{place.rstrip('/')}/{path}{mark}{query}"


def sql_list(files: Iterable[str]) -> str:
    """Files as a list for DuckDB, which takes each of them for a pattern."""
    return f"[{', '.join(sql_text(pattern(file)) for file in files)}]"


def pattern(file: str) -> str:
    """A pattern that matches a file alone.

    >>> pattern("/data/g[1]/a*.parquet"), pattern("https://host/a?key=[1]")
    ('/data/g[[]1]/a[*].parquet', 'https://host/a?key=[1]')
    """
    # On a web server, DuckDB looks for nothing.
    is_web = is_url(file) and file.lower().startswith("http")
    return file if is_web else re.sub(r"[*?[]", r"[\g<0>]", file)


def hadoop_pattern(file: str) -> str:
    r"""A pattern that matches a file alone, for Spark.

    >>> hadoop_pattern("/data/g[1]"), hadoop_pattern("s3://bucket/a{b}")
    ('file:///data/g\\[1\\]', 's3://bucket/a\\{b\\}')
    """
    return re.sub(r"[\\{}\[\]*?^]", r"\\\g<0>", hadoop_path(file))


def hadoop_path(path: str) -> str:
    """An absolute path or a URL as a path for Spark, whose default file system may be another one."""
    return path if is_url(path) else f"file://{path}"


def sql_text(value: str) -> str:
    """A text in SQL.

    >>> sql_text("it's")
    "'it''s'"
    """
    return "'" + value.replace("'", "''") + "'"
