"""Tables of a lake in pandas."""

from __future__ import annotations

from ._arrow_types import ArrowTable
from ._errors import missing_extra

try:
    import pandas
except ImportError as missing:
    raise missing_extra("pandas", "pandas") from missing


def frame(table: ArrowTable) -> pandas.DataFrame:
    """A table of pyarrow as a DataFrame, whose columns keep their Arrow types."""
    made: pandas.DataFrame = table.to_pandas(types_mapper=pandas.ArrowDtype)
    return made
