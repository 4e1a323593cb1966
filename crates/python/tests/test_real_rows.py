"""What the checks find in published rows is what docs/check.md explains."""

from __future__ import annotations

import shutil
from pathlib import Path

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
