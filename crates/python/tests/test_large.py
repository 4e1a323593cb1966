"""A check of a large lake stays below 2 GB of memory, as docs/check.md says."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

import pytest

import tracelake

pytest.importorskip("duckdb")

#: Rows of the largest table, which is that of usage.
ROWS = int(os.environ.get("TRACELAKE_LARGE_ROWS", 0))

#: The most memory of the whole process.
LIMIT = 2_000_000_000

PROGRAM = Path(sys.executable).with_name("tracelake")


@pytest.mark.skipif(not ROWS, reason="100 million rows take 20 minutes and 20 GB of disk: set TRACELAKE_LARGE_ROWS=100000000")
@pytest.mark.parametrize("trace", ["google-2011-v2.1", "borg-2019"])
def test_a_check_of_many_rows_stays_below_its_limit(trace: str) -> None:
    tracelake.generate(trace, "trace", parts=max(2, ROWS // 1_000_000), rows=ROWS, seed=1)
    lake = tracelake.convert("trace", "lake")
    assert max(table.rows for table in lake.values()) >= ROWS
    subprocess.run(["rm", "-r", "trace"], check=True)
    begun = time.monotonic()
    command = [PROGRAM, "check", "lake", "--json"]
    checked = subprocess.run(command, capture_output=True, text=True, check=False)
    took = time.monotonic() - begun
    # The largest process that ended, in kilobytes on Linux: the check, as nothing else ran here that is larger.
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
    print(f"{trace}, {ROWS:,} rows: {took:.0f} s, {peak / 1e6:.0f} MB, {json.loads(checked.stdout)['counts']}")
    assert checked.returncode == 0, checked.stdout
    assert peak < LIMIT
