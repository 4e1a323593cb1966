"""Names for the types of pyarrow, which has no annotations: to a type checker, they are ``Any``."""

from __future__ import annotations

from typing import Any

#: A ``pyarrow.Table``.
ArrowTable = Any
#: A ``pyarrow.RecordBatch``.
ArrowBatch = Any
#: A ``pyarrow.dataset.Dataset``, or where it says so a ``pyarrow.dataset.Scanner``.
ArrowDataset = Any
#: A ``pyarrow.compute.Expression``.
ArrowExpression = Any
