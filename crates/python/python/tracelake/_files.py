"""Paths, URLs and patterns that match one file alone."""

from __future__ import annotations

import os
import re
from collections.abc import Generator, Iterable
from contextlib import contextmanager

from . import _tracelake
from ._errors import FailedError, TracelakeError, UsageError, missing_file

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
    # What looks like a URL with a secret would be repeated in messages. A name need not be UTF-8.
    text = path.encode(errors="replace").decode()
    is_path = _tracelake.redacted(text) == text or path.startswith(".") or os.path.isabs(path)
    if _URL_OR_MISSPELT.match(path) or "://" in path or not is_path:
        raise UsageError(f"{name}: {_tracelake.redacted(text)} is a URL; name a path on a disk")
    return path


def place(path: str) -> str:
    """A path, or a URL without user name, password and query: what an error says of it.

    >>> place("/data/lake"), place("https://me:secret@host/lake?sig=1")
    ('/data/lake', 'https://…@host/lake?…')
    """
    return _tracelake.redacted(path) if "://" in path else path


def shown(path: str) -> str:
    """An absolute path or a URL for people: relative if it is below the current directory."""
    here = os.getcwd()
    return os.path.relpath(path, here) if not is_url(path) and path.startswith(here + os.sep) else place(path)


@contextmanager
def reading(root: str, what: str) -> Generator[None]:
    """Raises what an engine raises while it reads a lake as an error of this package, without the secrets of its URL."""
    try:
        yield
    except TracelakeError:
        raise
    except Exception as error:
        engines = ("pyarrow", "polars", "duckdb", "_duckdb") if is_url(root) else ("pyarrow", "polars")
        if type(error).__module__.partition(".")[0] not in engines and not isinstance(error, OSError):
            raise
        reason, hint = f"cannot read {what}: {place(' '.join(str(error).split()))}", "verify the lake"
        if isinstance(error, FileNotFoundError):
            failed: FailedError = missing_file(place(root), reason, hint)
        else:
            failed = FailedError(f"{place(root)}: {reason}; {hint}")
            failed.path, failed.hint = place(root), hint
        # The engine's own text has the whole URL.
        raise failed from (None if is_url(root) else error)


def below(root: str, path: str) -> str:
    """The file with this relative path, with forward slashes, in a lake."""
    if not is_url(root):
        return os.path.join(root, *path.split("/"))
    # The query of a URL is for the server, and stays whatever the file.
    place, mark, query = root.partition("?") if root.lower().startswith("http") else (root, "", "")
    return f"{place.rstrip('/')}/{path}{mark}{query}"


def sql_list(files: Iterable[str]) -> str:
    """Files as a list for DuckDB, which takes each of them for a pattern."""
    return f"[{', '.join(sql_text(_tracelake.duckdb_pattern(file)) for file in files)}]"


def hadoop_path(path: str) -> str:
    """An absolute path or a URL as a path for Spark, whose default file system may be another one."""
    return path if is_url(path) else f"file://{path}"


def sql_text(value: str) -> str:
    """A text in SQL.

    >>> sql_text("it's")
    "'it''s'"
    """
    return "'" + value.replace("'", "''") + "'"
