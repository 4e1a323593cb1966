"""What the checks find in published rows is what docs/check.md explains."""

from __future__ import annotations

import csv
import json
import re
import shutil
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

import tracelake

pytest.importorskip("duckdb")

ROOT = Path(__file__).parents[3]
ROWS = ROOT.parent / "shared" / "data"

#: The name in the page, the folder, and files that get another name.
SOURCES = [
    ("Google, job and machine events", "google-2011", {}),
    (
        "Google, task events, parts 12 and 13, with the machine events",
        "google-2011-task-events",
        {"../google-2011/machine_events": "machine_events", "task_events": "task_events"},
    ),
    ("Google, first 600 rows", "google-2011-heads", {}),
    ("Alibaba, samples", "alibaba-2018", {}),
    ("Alibaba, 2,000 rows of container usage", "alibaba-2018-head", {}),
    (
        "Borg, Kaggle file",
        "borg-2019",
        {
            "borg_traces_data-60-records.csv": "borg_traces_data.csv",
            "instance_usage-1-row.json": "instance_usage-000000000000.json",
        },
    ),
    ("Alibaba GPU 2023, one list of nodes and one of pods", "next/alibaba-gpu-2023", {}),
    ("Alibaba GPU 2025, first 2,999 rows", "next/alibaba-gpu-2025", {}),
    ("Azure LLM 2023, the service code", "next/azure-llm-2023", {}),
    ("Mooncake, first 300 rows of conversation", "next/mooncake", {}),
    ("Bailian, one record", "next/qwen-bailian", {"README-record.txt": "qwen_traceA_blksz_16.jsonl"}),
    ("Alibaba GenAI 2026, first 1,499 rows of two tables", "next/alibaba-genai-2026", {}),
    ("Alibaba spot GPU 2026, the nodes", "next/alibaba-spot-gpu-2026", {}),
    ("Azure Functions 2021, six rows", "next/azure-functions-2021", {}),
    ("Azure Functions 2019, three rows of durations", "next/azure-functions-2019", {}),
    ("Azure VM noise, 1,499 runs of a benchmark", "next/azure-vm-noise-2024", {}),
    ("Philly, the publisher's examples", "next/philly", {}),
    ("BurstGPT, the first four rows of the third file", "next/burstgpt", {}),
    ("Alibaba microservices 2021, one call", "next/alibaba-microservices", {"MSCallGraph_0.csv": "MSCallGraph_0.csv"}),
    ("Helios, three rows", "next/helios", {"cluster_log.csv": "Venus/cluster_log.csv"}),
    ("Acme, two rows of Kalos", "next/acme", {}),
]


def explained() -> set[tuple[str, str, str, int]]:
    """The rows of the table of findings."""
    section = (ROOT / "docs" / "check.md").read_text().split("## What the checks find in published rows")[1]
    rows: set[tuple[str, str, str, int]] = set()
    for line in section.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| ") and cells[0] != "rows":
            rows.add((cells[0], cells[1].strip("`"), cells[2], int(cells[3].replace(",", ""))))
    return rows


@pytest.mark.skipif(not ROWS.is_dir(), reason="there are no published rows next to the project")
def test_every_finding_is_explained() -> None:
    found: set[tuple[str, str, str, int]] = set()
    for name, folder, renamed in SOURCES:
        source = ROWS / folder
        if renamed:
            source = Path(folder)
            for old, new in renamed.items():
                (source / new).parent.mkdir(parents=True, exist_ok=True)
                copy = shutil.copytree if (ROWS / folder / old).is_dir() else shutil.copy
                copy(ROWS / folder / old, source / new)
        lake = f"{Path(folder).name}-lake"
        tracelake.convert(source, lake, allow_missing=True)
        report = tracelake.check(lake)
        assert report and report.having("passed"), report
        found |= {(name, one.check, one.finding, one.violations) for one in report.findings}
    assert found == explained()


#: Published files that the csv module reads as well: the folder, the file, its table, and how many rows it has.
PLAIN_CSV = [
    ("next/burstgpt", "BurstGPT_3.csv", "inference_requests", 4),
    ("next/azure-functions-2019", "function_durations_percentiles.anon.d01.csv", "function_durations", 3),
    ("next/alibaba-microservices", "MSCallGraph_0.csv", "ms_call_graph", 1),
    ("next/azure-vm-noise-2024", "unit=IOPS.csv", "benchmark_runs", 1499),
    ("next/philly", "cluster_gpu_util", "cluster_gpu_util", 1),
    ("next/philly", "cluster_cpu_util", "cluster_cpu_util", 1),
]
PACIFIC = {"PDT": timezone(timedelta(hours=-7)), "PST": timezone(timedelta(hours=-8))}


def lake_name(published: str) -> str:
    """The name in the lake of a published column."""
    return re.sub("(?<=[a-z])(?=[A-Z])", "_", published).lower().replace(" ", "_") or "row_index"


def is_same(text: str, value: Any) -> bool:
    """Whether a field spells a value."""
    if value is None:
        return text in ("", "NA")
    if isinstance(value, (int, float)):
        return float(text) == value
    if isinstance(value, datetime):
        moment, _, zone = text.rpartition(" ") if text[-3:] in PACIFIC else (text, "", "")
        return datetime.fromisoformat(moment).replace(tzinfo=PACIFIC.get(zone)) == value
    return text == value


def read_plainly(file: Path) -> Iterator[dict[str, str]]:
    with file.open(newline="") as lines:
        for row in csv.DictReader(lines):
            # The rows of one file end with a comma.
            yield {name: text for name, text in row.items() if name is not None}


@pytest.mark.skipif(not ROWS.is_dir(), reason="there are no published rows next to the project")
@pytest.mark.parametrize(("folder", "name", "table", "rows"), PLAIN_CSV)
def test_rows_are_those_that_the_csv_module_reads(folder: str, name: str, table: str, rows: int) -> None:
    pytest.importorskip("polars")
    lake = tracelake.convert(ROWS / folder, "lake", tables=table, allow_missing=True)
    assert tracelake.verify("lake", source=ROWS / folder)
    file = next((ROWS / folder).rglob(name))
    expected = list(read_plainly(file))
    by_polars = lake[table].scan().collect().to_dicts()
    by_duckdb = lake.duckdb().sql(f"FROM {table}").to_arrow_table().to_pylist()
    assert len(expected) == len(by_polars) == len(by_duckdb) == rows
    captured = dict(re.findall(r"(\w+)=([^/]+?)(?:/|\.csv$)", str(file.relative_to(ROWS / folder))))
    for read in (by_polars, by_duckdb):
        for fields, row in zip(expected, read, strict=True):
            run = [text for column, text in fields.items() if re.fullmatch("gpu[0-7]_util", column)]
            if run:
                assert all(map(is_same, run, row["gpu_util"])) and len(run) == len(row["gpu_util"]) == 8
            for column, text in {**fields, **captured}.items():
                if text not in run:
                    assert is_same(text, row[lake_name(column)]), column


@pytest.mark.skipif(not ROWS.is_dir(), reason="there are no published rows next to the project")
def test_jobs_of_philly_are_those_that_the_json_module_reads() -> None:
    pytest.importorskip("polars")
    lake = tracelake.convert(ROWS / "next" / "philly", "lake", tables="cluster_job_log")
    (expected,) = json.loads((ROWS / "next" / "philly" / "cluster_job_log").read_text())
    (read,) = lake["cluster_job_log"].scan().drop("file_number", strict=False).collect().to_dicts()
    for times in [read, *read["attempts"]]:
        for name in ("submitted_time", "start_time", "end_time"):
            if name in times:
                times[name] = str(times[name])
    assert read == expected
