"""Paths as arguments."""

from __future__ import annotations

import os
from typing import Union

#: A path, as ``open`` takes it.
StrPath = Union[str, "os.PathLike[str]"]
