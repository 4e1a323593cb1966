"""Published cluster traces as a typed, reproducible Parquet lake.

>>> import tracelake
>>> made = tracelake.generate("google-2011-v2.1", "trace", rows=2000)
>>> lake = tracelake.convert("trace", "lake")
>>> lake["machine_events"].rows > 0
True
>>> bool(tracelake.verify("lake", source="trace"))
True
"""

from __future__ import annotations

from importlib import import_module

from . import _tracelake
from ._asking import check, derive, report
from ._errors import (
    AccessDeniedError,
    BadRowError,
    CorruptInputError,
    FailedError,
    MissingExtraError,
    MissingFileError,
    MissingLakeError,
    RefusedError,
    StoppedError,
    StorageError,
    TracelakeError,
    UnknownNameError,
    UsageError,
    WrongTypeError,
)
from ._facts import FileFacts, PartFacts
from ._lake import Lake
from ._making import cluster, convert, fetch, generate, inspect, release, verify
from ._progress import Callback, Event, Progress
from ._reader import Reader
from ._reading import open as open  # public, but not in __all__
from ._reading import read_part, scan, schema, traces
from ._results import (
    ChangedFile,
    Fetched,
    Generated,
    GeneratedTable,
    Inventory,
    LakeChanges,
    Release,
    TableChanges,
    TableInventory,
    Verification,
)
from ._schema import Column, TableSchema, TraceSchema, ValueRange
from ._table import Table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from . import spark
    from ._checks import CheckReport, CheckResult, Finding
    from ._derive import DerivedLake, DerivedTable
    from ._report import Report

#: Names whose modules are imported when they are first used, so that an import of the package is quick.
_LAZY = {
    "CheckReport": "_checks",
    "CheckResult": "_checks",
    "DerivedLake": "_derive",
    "DerivedTable": "_derive",
    "Finding": "_checks",
    "Report": "_report",
    "spark": "spark",
}

#: The names of :class:`Lake` and :class:`Table` before they were mappings and had rows.
Manifest = Lake
TableFacts = Table

__version__ = _tracelake.__version__

#: The names that ``import *`` brings: all public ones but ``open`` and ``__version__``, which would replace the caller's.
__all__ = [
    "AccessDeniedError",
    "BadRowError",
    "Callback",
    "ChangedFile",
    "CheckReport",
    "CheckResult",
    "Column",
    "CorruptInputError",
    "DerivedLake",
    "DerivedTable",
    "Event",
    "FailedError",
    "Fetched",
    "FileFacts",
    "Finding",
    "Generated",
    "GeneratedTable",
    "Inventory",
    "Lake",
    "LakeChanges",
    "Manifest",
    "MissingExtraError",
    "MissingFileError",
    "MissingLakeError",
    "PartFacts",
    "Progress",
    "Reader",
    "RefusedError",
    "Release",
    "Report",
    "StoppedError",
    "StorageError",
    "Table",
    "TableChanges",
    "TableFacts",
    "TableInventory",
    "TableSchema",
    "TraceSchema",
    "TracelakeError",
    "UnknownNameError",
    "UsageError",
    "ValueRange",
    "Verification",
    "WrongTypeError",
    "check",
    "cluster",
    "convert",
    "derive",
    "fetch",
    "generate",
    "inspect",
    "read_part",
    "release",
    "report",
    "scan",
    "schema",
    "spark",
    "traces",
    "verify",
]


def __getattr__(name: str) -> object:
    if name not in _LAZY:
        raise AttributeError(f"module 'tracelake' has no attribute '{name}'")
    module = import_module(f".{_LAZY[name]}", __name__)
    return module if _LAZY[name] == name else getattr(module, name)


def __dir__() -> list[str]:
    return sorted([*__all__, "open", "__version__", "__all__", "__doc__", "__file__", "__name__", "__path__"])
