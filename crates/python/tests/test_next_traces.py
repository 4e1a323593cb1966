"""Lakes of the traces that can't be generated, made of rows in their published form: everything reads them."""

from __future__ import annotations

import gzip
import io
import tarfile
from datetime import timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

import tracelake
from tracelake import _queries

duckdb: Any = pytest.importorskip("duckdb")
pl: Any = pytest.importorskip("polars")

ID = "+ZcrOp5/c/fJ6mVgP5qMZlOAGDwyjaaDNM0WoWOt2IDb47gT0UwK9lFwkPQv3C7Q"


def _vms(parts: int, size: str, deployments: str) -> dict[str, str]:
    files = {
        "vmtable/vmtable.csv.gz": f"{ID},{'s' * 64},{'d' * 88},0,2591700,99,3.4,10.1,Delay-insensitive,{size}\r\n",
        "subscriptions/subscriptions.csv.gz": f"{'s' * 64},0,1\r\n",
        # As the release assets of the publisher's repository are named.
        f"trace_data_{deployments}_{deployments}.csv.gz": f"{'d' * 88},1\r\n",
    }
    for number in range(1, 4):
        start = (number - 1) * 600
        rows = "".join(f"{start + step},{ID},2.052803,3.911587,2.86979\r\n" for step in (0, 300))
        files[f"vm_cpu_readings/vm_cpu_readings-file-{number}-of-{parts}.csv.gz"] = rows
    return files


#: How the texts of files begin that have a header.
HEADERS = ("TIMESTAMP,", "sn,", "name,", "instance_sn,")

#: The files of each trace, by their names.
TRACES: dict[str, dict[str, str]] = {
    "azure-vm-2017": _vms(125, "1,1.75", "deployment"),
    "azure-vm-2019": _vms(195, ">24,>64", "deployments"),
    "azure-llm-2023": {
        f"AzureLLMInferenceTrace_{kind}.csv": "TIMESTAMP,ContextTokens,GeneratedTokens\r\n"
        "2023-11-16 18:17:03.9799600,4808,10\r\n2023-11-16 18:17:04.0319600,3180,8"
        for kind in ("code", "conv")
    },
    "azure-llm-2024": {
        f"AzureLLMInferenceTrace_{kind}_1week.csv": "TIMESTAMP,ContextTokens,GeneratedTokens\n"
        "2024-05-10 00:00:00.009930+00:00,2162,5\n2024-05-10 00:00:00.017335+00:00,2399,6\n"
        for kind in ("code", "conv")
    },
    "alibaba-gpu-2020": {
        "pai_job_table.tar.gz": "4b3f,8cb3,5854,Terminated,4550879.0,4551416.0\n",
        "pai_task_table.tar.gz": "4b3f,tensorflow,1.0,Terminated,4550880.0,4551400.0,600.0,29.3,50.0,MISC\n",
        "pai_instance_table.tar.gz": "4b3f,tensorflow,0d39,54db,8cb3,Terminated,4550881.0,4551399.0,82e5\n",
        "pai_sensor_table.tar.gz": "4b3f,tensorflow,54db,8cb3,82e5,/dev/nvidia0,29.2,16.5,1.4,2.3,1.2,2.0,210.5,45.0,100,120\n",
        "pai_group_tag_table.tar.gz": "8cb3,5854,,fbeb,nmt\n",
        "pai_machine_spec.tar.gz": "82e5,T4,96,512,2\n",
        "pai_machine_metric.tar.gz": "54db,82e5,4550881,4551399,0.0029,3.58,14.9,87.8,18.3,111649584.6,5.05,18.5\n",
    },
    "alibaba-gpu-2023": {
        **{
            f"openb_node_list_{nodes}_node.csv": f"sn,cpu_milli,memory_mib,gpu,model\n{rows}openb-node-1,96000,786432,8,V100M32\n"
            for nodes, rows in {"all": "openb-node-0,32000,262144,0,\n", "gpu": ""}.items()
        },
        "openb_pod_list_default.csv": "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,"
        "deletion_time,scheduled_time\nopenb-pod-0,12000,16384,1,1000,,LS,Running,0,12537496,0\n"
        "openb-pod-1,6000,12288,1,460,V100M32,BE,Pending,427061,12902960,\n",
        "openb_pod_list_multigpu20.csv": "name,cpu_milli,memory_mib,num_gpu,gpu_milli\n"
        "openb-pod-0,12000,16384,1,1000\n",
    },
    "alibaba-gpu-2025": {
        "disaggregated_DLRM_trace.csv": "instance_sn,role,app_name,cpu_request,cpu_limit,gpu_request,gpu_limit,rdma_request,"
        "rdma_limit,memory_request,memory_limit,disk_request,disk_limit,max_instance_per_node,creation_time,scheduled_time,"
        "deletion_time\ninstance_0,HN,app_0,12,12,1,1,25,25,120.0,120.0,640.0,800.0,8,,,\n"
        "instance_1,CN,app_0,64,64,0,0,25,25,320.0,320.0,340.0,800.0,-1,1435629.0,1435631.0,2592000.0\n",
    },
}


def made(trace: str) -> Path:
    """A source with the files of a trace."""
    source = Path("source")
    for name, text in TRACES[trace].items():
        data = text.encode()
        if name.endswith(".tar.gz"):
            held = io.BytesIO()
            with tarfile.open(fileobj=held, mode="w") as archive:
                member = tarfile.TarInfo(name.replace(".tar.gz", ".csv"))
                member.size = len(data)
                archive.addfile(member, io.BytesIO(data))
            data = held.getvalue()
        path = source / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return source


def _rows(text: str) -> int:
    return len(text.strip().splitlines()) - text.startswith(HEADERS)


@pytest.mark.parametrize("trace", TRACES)
def test_everything_reads_a_lake_of_the_trace(trace: str) -> None:
    source = made(trace)
    lake = tracelake.convert(source, "lake", trace=trace, allow_missing=True)
    expected = sum(_rows(text) for text in TRACES[trace].values())
    assert sum(table.rows for table in lake.values()) == expected
    assert tracelake.verify("lake", source=source)

    for name, table in lake.items():
        frame = table.scan().collect()
        assert len(frame) == table.rows
        views = lake.duckdb()
        counted = views.execute(f"SELECT count(*) FROM {name}").fetchone()
        named = views.execute(f"SELECT count(*) FROM {name}_named").fetchone()
        assert counted == named == (table.rows,)
        for column, kind in frame.schema.items():
            values = frame[column]
            known, least = views.execute(f'SELECT count("{column}"), min("{column}")::VARCHAR FROM {name}').fetchone()
            assert known == len(values) - values.null_count(), column
            if kind == pl.Int64 or kind == pl.String:
                assert least == (None if known == 0 else str(values.min())), column

    checked = tracelake.check("lake")
    assert checked and checked.having("passed"), checked
    assert not checked.having("failed"), checked
    wanted = [one["name"] for one in _queries.described(trace)["query_tables"]]
    if wanted:
        derived = tracelake.derive("lake", "derived", allow_missing=True)
        assert sorted([*derived, *derived.skipped]) == sorted(wanted)
        for name, table in derived.items():
            counted = derived.duckdb().execute(f"SELECT count(*) FROM {name}").fetchone()
            assert counted == (table.rows,) and table.rows > 0
    page = tracelake.report("lake", "report.html")
    text = Path("report.html").read_text()
    assert page and trace in text and all(name in text for name in lake)
    tracelake.release("lake", allow_missing=True)
    assert tracelake.verify("lake") and Path("lake/SHA256SUMS").is_file()


@pytest.mark.parametrize("trace", ["azure-llm-2023", "azure-llm-2024"])
def test_date_times_are_filtered_by_tuples(trace: str) -> None:
    pytest.importorskip("pyarrow")
    tracelake.convert(made(trace), "lake", trace=trace)
    table = tracelake.open("lake")["inference_requests"]
    times = sorted(table.to_polars()["timestamp"].to_list())
    low, high = times[0], times[-1]
    for moment in (low, high):
        aware = moment if moment.tzinfo else moment.replace(tzinfo=timezone.utc)
        for given in (moment, aware, aware.replace(tzinfo=None), aware.astimezone(timezone(timedelta(hours=9)))):
            for sign, is_kept in (("==", lambda one, m=moment: one == m), ("<", lambda one, m=moment: one < m), (">=", lambda one, m=moment: one >= m)):
                expected = sum(map(is_kept, times))
                for named in (False, True):
                    asked = {"filter": [("timestamp", sign, given)], "named": named}
                    assert table.to_polars(**asked).height == expected, asked
                    assert table.to_arrow(**asked).num_rows == expected, asked
            assert table.to_polars(filter=[("timestamp", "in", [given])]).height == times.count(moment)
    with pytest.raises(TypeError, match="timestamp has values of type datetime, and 5 is none"):
        table.to_polars(filter=[("timestamp", "<", 5)])
