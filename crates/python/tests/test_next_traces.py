"""Lakes of the traces that can't be generated, made of rows in their published form: everything reads them."""

from __future__ import annotations

import gzip
import io
import json
import re
import tarfile
import zipfile
from datetime import timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

import tracelake
from tracelake import _queries

from lakes import Row

duckdb: Any = pytest.importorskip("duckdb")
pl: Any = pytest.importorskip("polars")
pa: Any = pytest.importorskip("pyarrow")
pq: Any = pytest.importorskip("pyarrow.parquet")

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


def _pod(number: int, **other: Any) -> Row:
    """A pod of alibaba-gpu-2026 in an hour."""
    return {
        "pod_id": f"pod{number}", "workload_id": "load1", "server_id": f"server{number % 2}", "cluster_id": "cluster1",
        "state_public": "Running", "gpu_spec_public": "GPU-A", "server_gpu_count": 8.0, "server_cpu_capacity_cores": 96.0,
        "priority_class": "HP", "job_type_public": "training", "model_type_public": "genai", "is_genai_request": True,
        "gpu_request": 1.0, "gpu_mem_request": 80.0, "cpu_request_cores": 12.0, "used_gpu_hours": 0.98, "avg_gpu_sm_util": 41.5,
        "avg_gpu_mem_gib": 61.25, "avg_cpu_request_util": 0.3, "avg_memory_util": 0.5, "ready_status": True,
        "schedule_delay_sec": 3, "ready_delay_sec": 20, **other,
    }  # fmt: skip


def _server(number: int) -> Row:
    return {
        "server_id": f"server{number}", "cluster_id": "cluster1", "asw_id": "asw1" if number else None,
        "gpu_spec_public": "GPU-A", "gpu_count": 8.0, "cpu_capacity_cores": 96.0,
    }  # fmt: skip


def _gpu_2026() -> dict[str, list[Row]]:
    files: dict[str, list[Row]] = {}
    unknown = dict.fromkeys(("workload_id", "gpu_mem_request", "avg_gpu_sm_util", "ready_status", "schedule_delay_sec", "ready_delay_sec"))
    for day, hour in ((0, 22), (0, 23), (1, 0)):
        at = f"day={day}/hour={hour:02}/part-000.parquet"
        files[f"asi_opensource_pod_hourly/{at}"] = [
            _pod(1), _pod(2, gpu_request=0.0, used_gpu_hours=0.0, state_public="Standby", is_genai_request=False, model_type_public="unknown"),
            _pod(3 + hour, priority_class="LP", job_type_public="dev", **unknown),
        ]  # fmt: skip
        # One archive is as it was downloaded, the other tables are unpacked.
        files[f"asi_opensource_server_hourly.zip/asi_opensource_server_hourly/{at}"] = [_server(0), _server(1)]
    files["asi_opensource_network_hourly/day=0/hour=23/part-000.parquet"] = [
        {"server_id": f"server{number}", "rx_gibps_avg": 0.5 * number, "tx_gibps_avg": 0.25} for number in (0, 1)
    ]
    spans = ("pod_id", "workload_id", "server_id", "gpu_spec_public", "priority_class", "job_type_public", "model_type_public",
             "is_genai_request", "gpu_request", "schedule_delay_sec", "ready_delay_sec", "ready_status")  # fmt: skip
    files["asi_opensource_job_execution_summary/part-000.parquet"] = [
        {**{name: pod[name] for name in spans}, "duration_hours": 2.0, "schedule_status": True}
        for pod in (_pod(1), _pod(1), _pod(25, **unknown))
    ]
    return files


def _functions_2019() -> dict[str, str]:
    archive, ids = "azurefunctions-dataset2019.tar.xz", ["a" * 64, "b" * 64, "c" * 64]
    function = f"{ids[0]},{ids[1]},{ids[2]}"
    minutes = ",".join(map(str, range(1, 1441)))
    averages = ",".join(f"percentile_Average_{one}" for one in (0, 1, 25, 50, 75, 99, 100))
    memory = ",".join(f"AverageAllocatedMb_pct{one}" for one in (1, 5, 25, 50, 75, 95, 99, 100))

    def invoked(every: int) -> str:
        return ",".join(str(minute // every if minute % every == 0 else 0) for minute in range(1440))

    files: dict[str, str] = {}
    for day in (1, 2, 3):
        files[f"{archive}/invocations_per_function_md.anon.d{day:02}.csv"] = (
            f"HashOwner,HashApp,HashFunction,Trigger,{minutes}\n{function},http,{invoked(7)}\n"
            f"{function.replace('c', 'd')},timer,{invoked(5 * day)}\n"
        )
        files[f"{archive}/function_durations_percentiles.anon.d{day:02}.csv"] = (
            f"HashOwner,HashApp,HashFunction,Average,Count,Minimum,Maximum,{averages}\n"
            f"{function},100,2880,0.0,2595.0,0,0,0,1,1,1376,2595\n{function.replace('c', 'd')},11,37815,,,1,1,3,5,8,155,3146\n"
        )
    files[f"{archive}/app_memory_percentiles.anon.d01.csv"] = (
        f"HashOwner,HashApp,SampleCount,AverageAllocatedMb,{memory}\n{ids[0]},{ids[1]},1437,120,90,95,101.5,118,130,150,160,210\n"
    )
    return files


def _maas_2026() -> dict[str, str | list[Row]]:
    instance: Row = {
        "day": 140, "instance_id": "i_1", "app_id": "a_1", "model_id": "s_1", "base_id": "-", "cluster_id": "c_1", "site_id": "z_1",
        "gpu_type": "g_1", "workload": "online", "model_arch": "moe", "params_b": 235.0, "pd_role": "decode", "gpu_count": 0.5,
        "gpu_hours": 12.0, "samples": 288, "zero_samples": 2, "sm_util": 35.5, "gpu_mem_util": 88.0, "cpu_usage": 4.5,
        "mem_usage": 60.0, "base_arch": "unknown", "variant_arch": "moe", "gpu_mem_alloc": 48.0,
    }  # fmt: skip
    window: Row = {
        "instance_id": "i_1", "time_s": 140 * 86_400, "cluster_id": "c_1", "gpu_count": 0.5, "sm_util": 35.5,
        "gpu_mem_util": 88.0, "cpu_usage": 4.5, "mem_usage": 60.0, "samples": 15,
    }  # fmt: skip
    return {
        # Two segments of a day; an empty text isn't NULL.
        "instance_daily/part_0.parquet": [instance, {**instance, "pd_role": "fused", "model_id": "b_2", "base_id": "", "params_b": None}],
        "instance_daily/part_10.parquet": [{**instance, "day": 171}, {**instance, "day": 173, "gpu_type": None, "sm_util": None}],
        "instance_week_5min.zip/instance_week_5min/part_0.parquet": [
            window, {**window, "gpu_count": 1.0}, {**window, "time_s": 140 * 86_400 + 300, "samples": 1, "mem_usage": None},
        ],
        "app_metrics.csv.zip/app_metrics.csv": "time_s,app_id,gpu_type,series_id,pd_role,metric,value\n"
        "12096000,a_1,g_1,r_1,prefill,ttft,412.5\n12099600,a_1,\\N,r_1,\\N,qps_norm,0.25\n",
    }  # fmt: skip


#: How the texts of files begin that have a header.
HEADERS = (
    "TIMESTAMP,", "sn,", "name,", "instance_sn,", "id,", "job_id,", "job_name,", "gpu_model,", "time,", "machine_id,", "app,",
    "timestamp,", "timestamp_anon,", "value,", "gmt_create,", "predict_type,", "time_s,", "Timestamp,", "HashOwner,", ",",
    "machineId,",
)  # fmt: skip

#: The files of each trace by their names, and of an archive after its own: texts, or the rows of Parquet files.
TRACES: dict[str, dict[str, Any]] = {
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
    "alibaba-gpu-2026": _gpu_2026(),
    "alibaba-maas-2026": _maas_2026(),
    "acme-2023": {
        "trace_seren.csv": "job_id,user,node_num,gpu_num,cpu_num,type,state,submit_time,start_time,end_time,duration,queue,"
        "gpu_time\n5778432,u5907,1,8,128,Other,FAILED,2023-03-01 00:18:22+08:00,2023-03-01 00:18:54+08:00,"
        "2023-03-01 00:20:51+08:00,117,32,936.0\n5778469,u5907,1,8,128,Other,COMPLETED,2023-03-01 00:23:58+08:00,"
        "2023-03-01 00:24:11+08:00,2023-03-01 01:09:04+08:00,2693,13,21544.0\n",
        "trace_kalos.csv": "job_id,user,node_num,gpu_num,cpu_num,mem_per_pod_GB,shared_mem_per_pod,type,state,submit_time,"
        "start_time,end_time,fail_time,stop_time,duration,queue,gpu_time\ndlctk696s0jbvitv,uf794,8,64,960,1000,100.0,Other,"
        "FAILED,2023-05-17 11:00:58+00:00,2023-05-17 11:01:08+00:00,2023-05-17 11:01:16+00:00,2023-05-17 11:01:16+00:00,,18,"
        "10.0,1152.0\ndlc1t2ypl09b8qtp,uf794,8,64,960,1000,100.0,Other,CANCELLED,2023-05-17 11:28:42+00:00,"
        "2023-05-17 11:28:54+00:00,2023-05-17 11:30:04+00:00,,2023-05-17 11:30:04+00:00,82,12.0,5248.0\n",
        "cluster_summary.csv": "id,job_num,cpu_job_num,gpu_job_num,avg_run_time_gpu,avg_que_time_gpu,avg_gpu_num,"
        "med_run_time_gpu,med_que_time_gpu,med_gpu_num,max_run_time_gpu,max_gpu,complete_rate_gpu,cancel_rate_gpu,"
        "fail_rate_gpu,complete_gpu_time,cancel_gpu_time,fail_gpu_time,complete_rate_gpu_time,cancel_rate_gpu_time,"
        "fail_rate_gpu_time,avg_run_time_cpu,avg_que_time_cpu,med_run_time_cpu,med_que_time_cpu,complete_rate_cpu,"
        "cancel_rate_cpu,fail_rate_cpu\nKalos,62413,42506,19907,1259.689,214.179,26.77,124.0,17.0,1.0,625740.0,1024.0,0.541,"
        "0.062,0.397,1667685146.0,3239202064.0,426292851.0,0.313,0.607,0.08,118.352,88.401,22.0,9.0,0.86,0.001,0.14\n"
        "PAI,1260920,0,1037085,4787.109,401.742,0.683,480.667,9.0,0.5,626371.0,8.0,,,,,,,,,,,,,,,,\n",
    },
    "alibaba-genai-2026": {
        **{
            f"{name}.tar.gz": "timestamp_anon,value,container_ip\n1662859290.0,2639.0,086b31f81b1cf0f15e43fe568e3fb8e4\n"
            "1662863404.0,12766.5,47d94ec84e80267e738db2caca3d9184\n"
            for name in (
                "basemodel_update_latency_anon", "controlnet_latency_data_anon", "lora_update_latency_anon",
                "model_predict_data_anon", "pipeline_inference_data_anon", "pipeline_update_latency_anon",
                "pod_gpu_memory_used_bytes_anon",
            )
        },
        **{
            f"{name}.tar.gz": "value,timestamp_anon,container_ip\n0.35,1662858720.0,23b8eba99c14e73d454503a55ae96989\n"
            "0.0,1662859720.0,11415d99a127e215d2148a1f6600007f\n"
            for name in ("pod_gpu_duty_cycle_anon", "pod_memory_util_anon")
        },
        "qps.tar.gz": "timestamp_anon,value,container_ip,request_type\n1662859176.0,0.09000000000000001,,API Requests\n"
        "1662859233.0,0.2,23b8eba99c14e73d454503a55ae96989,Generative Requests\n",
        "queue_rt_raw_anon.tar.gz": "value,container_ip,timestamp_anon\n"
        "196.0,dfe00e981377fa8e0a9aefbc9b2e9369,1662859347.0\n425.0,081177dd05d758b23a62391e75a1bb34,1662859803.0\n",
        "queue_size_raw_anon.tar.gz": "value,container_ip,timestamp_anon\n0.0,,1662858720.0\n3.0,,1662858777.0\n",
        "lora_request_trace.tar.gz": "gmt_create,predict_type,predict_status,exec_time_seconds,groupId,prompt_length,"
        "negative_prompt_length,num_images_per_prompt,num_inference_steps,checkpoint_model_version_id,num_lora\n"
        "2024-11-15 16:57:50,TXT_2_IMG,SUCCEED,32.0,G0000,63.0,26.0,1.0,30.0,M0000,0\n"
        "2024-11-15 18:16:14,IMG_2_IMG,FAILED,143.0,G0001,93.0,,1.0,40.0,M0001,2\n",
        "data_trace_processed.tar.gz": "predict_type,exec_time_seconds,style_type,prompt_length,negative_prompt_length,"
        "num_images_per_prompt,num_inference_steps,checkpoint_model_version_id,lora_args\n"
        "e867a9754d73155e90d62f88dbedfc62,22.0,88585aaa7d5402c0928a0c8639c83bab,54.0,26.0,1.0,30.0,"
        "0a80ffe64c68aa574e80e6c9b9f5308a,[]\nf54c9d4e8a16832ef4cd01da8f723c8c,105.0,,27.0,,8.0,30.0,"
        "f9c4915ff864089286f00a0da73721b7,\"[{'modelVersionId': 'b37242925ffe0da400d9b98c254b9fcd', 'scale': 0.8}]\"\n",
    },
    "alibaba-microservices-2022": {
        "NodeMetricsUpdate_0.tar.gz": "timestamp,nodeid,cpu_utilization,memory_utilization\n"
        "60000,NODE_10632,0.266488095525847,0.159064258887333\n",
        "MSMetricsUpdate_0.tar.gz": "timestamp,msname,msinstanceid,nodeid,cpu_utilization,memory_utilization\n"
        "180000,MS_21881,MS_21881_POD_0,NODE_11517,0.21995999999530616,0.833001454671224\n",
        "MCRRTUpdate_0.tar.gz": "timestamp,msname,msinstanceid,nodeid,providerrpc_rt,providerrpc_mcr,consumerrpc_rt,"
        "consumerrpc_mcr,writemc_rt,writemc_mcr,readmc_rt,readmc_mcr,writedb_rt,writedb_mcr,readdb_rt,readdb_mcr,consumermq_rt,"
        "consumermq_mcr,providermq_rt,providermq_mcr,http_mcr,http_rt\n60000,MS_73317,MS_73317_POD_1797,NODE_3619,"
        "10.119451170298627,1.216773932801612e-05,9.996974281391829,7.169679436055699e-12,0.0,0.0,0.40625,3.142596113773332e-07,"
        "0.0,0.0,0.9693548387096775,6.088779970435831e-06,0.0,0.0,24.4218009478673,2.0721493125192907e-06,0.0,0.0\n",
        "CallGraph_0.tar.gz": "timestamp,traceid,service,rpc_id,rpctype,um,uminstanceid,interface,dm,dminstanceid,rt\n"
        "115352,T_11560863075,S_153587416,0.1,rpc,MS_58845,MS_58845_POD_0,xOuy6-80Vt,MS_71712,MS_71712_POD_244,2.0\n"
        "115353,T_11560863075,S_153587416,0.1,rpc,MS_58845,MS_58845_POD_0,xOuy6-80Vt,MS_71712,MS_71712_POD_244,-1.0\n",
    },
    "alibaba-spot-gpu-2026": {
        "job_info_df.csv": "job_name,organization,gpu_model,cpu_request,gpu_request,worker_num,submit_time,duration,job_type\n"
        "239255,13,A10,20,1,1,0,2764799,HP\n437260,57,A100-SXM4-80GB,15,1,16,9589663,41060,Spot\n",
        "node_info_df.csv": "gpu_model,gpu_capacity_num,cpu_num,node_name\nGPU-series-1,4,192,0\nA10,1,128,2\n",
    },
    "alibaba-2017": {
        f"alibaba-trace-2017.tar.xz/{name}.csv": text
        for name, text in {
            "server_event": "0,1,add,,64,0.6899697150103833,1.0\n40000,1,softerror,agent_check,,,\n",
            "server_usage": "39600,1,34.92,41.8,41.85,20.62,20.52,20.3\n39900,1,35.1,42,41.85,20.1,20.2,20.3\n",
            "batch_task": "10996,11002,16,110,1,Terminated,50,0.0016273762206\n11000,12000,17,111,42,Failed,50,0.01\n",
            # The second row is as a user shows it in an issue.
            "batch_instance": "41561,41618,120,686,299,Terminated,1,1,1.43,0.57,0.016,0.009\n65351,65517,,,269,Running,1,1,,,,\n"
            "-12,65,16,110,5,Terminated,2,2,0.5,0.5,0.01,0.01\n",
            "container_event": "0,Create,1681,56,4,0.042409339165997983,0.0340851218221338,42|43|44|45\n"
            "34424,Remove,2160,1038,4,0.042409339165997983,0.056808536370223005,12|13|14|15\n",
            "container_usage": "44700,9088,9.199999999999992,35.70000076289956,5.659999847414268,0.3200000047682117,"
            "0.3600000083444044,0.4000000059600084,0.2258861563823704,0.2572154391695187,2.60268044472,2.83470249176\n",
        }.items()
    },
    "azure-vm-noise-2024": {
        f"test_suite={suite}/test_name={test}/vm_lifespan={lifespan}/vm_region=eastus/vm_sku={sku}/unit={unit}.csv": (
            f"value,runtime,starttime,VM_id\n3112.0,90.96,2023-09-02 21:36:44.480,0\n{other},91.08,2023-09-02 22:38:54.260,1\n"
        )
        for suite, test, lifespan, sku, unit, other in (
            ("Redis", "Test:_GET_-_Parallel_Connections:_50", "long", "B8ms", "Requests Per Second", "2418.0"),
            ("Redis", "Test:_GET_-_Parallel_Connections:_50", "short", "D8s_v5", "Requests Per Second", "3120.5"),
            ("Sysbench", "Test:_CPU", "short", "B8ms", "Events Per Second", "9000"),
        )
    },
    "philly-2017": {
        f"trace-data.tar.xz/trace-data/{name}": text
        for name, text in {
            "cluster_job_log": json.dumps(
                [
                    {
                        "status": "Pass", "vc": "ee9e8c", "jobid": "application_1506638472019_14199",
                        "attempts": [
                            {
                                "start_time": f"2017-10-07 01:1{minute}:09", "end_time": end,
                                "detail": [{"ip": ip, "gpus": ["gpu0", "gpu1"]} for ip in machines],
                            }
                            for minute, end, machines in ((2, "2017-10-07 01:13:00", ["m47"]), (3, "2017-10-09 06:53:12", ["m47", "m412"]))
                        ],
                        "submitted_time": "2017-10-07 01:11:39", "user": "ce2f4c",
                    },
                    {
                        "status": "Killed", "vc": "ee9e8c", "jobid": "application_1506638472019_14200",
                        "attempts": [{"start_time": None, "end_time": "None", "detail": [{"ip": "m47", "gpus": ["gpu7"]}]}],
                        "submitted_time": "2017-10-08 01:11:39", "user": "ce2f4c",
                    },
                    {
                        "status": "Failed", "vc": "11cb48", "jobid": "application_1506638472019_14201", "attempts": [],
                        "submitted_time": "2017-10-08 02:11:39", "user": "ce2f4c",
                    },
                ],
                indent=4,
            ),
            "cluster_gpu_util": f"time,machineId,{','.join(f'gpu{gpu}_util' for gpu in range(8))}\n"
            "2017-10-03 00:08:00 PDT,m29,60.8,99.366666667,100.0,63.333333333,100.0,100.0,100.0,100.0,\n"
            "2017-12-03 00:08:00 PST,m29,NA,NA,0.0,0.5,30,100.0,100.0,,\n",
            "cluster_cpu_util": "time, machine_id, cpu_util\n2017-11-27 00:04:00 PST,m29,31.845\n2017-11-27 00:05:00 PST,m29,NA\n",
            "cluster_mem_util": "time, machine_id, mem_total, mem_free\n2017-10-03 00:06:00 PDT,m29,528272672.0,2030730.6667\n"
            "2017-10-03 00:07:00 PDT,m29,NA,NA\n",
            "cluster_machine_list": "machineId, number of GPUs, single GPU mem\nm31,8, 24GB\nm51,2, 12GB\n",
        }.items()
    },
    "alibaba-microservices-2021": {
        "Node_0.tar.gz": "timestamp,nodeid,cpu_utilization,memory_utilization\n"
        "1000,ff1fb31957db767c5be4de2855488f128532efc2df0a673c6fa3e7718d10f355,0.7236219289416774,0.738378997619996\n",
        "MSResource_0.tar.gz": "timestamp,msname,msinstanceid,nodeid,cpu_utilization,memory_utilization\n"
        f"0,{'9' * 64},{'4' * 64},{'e' * 64},0.1299166666654249,0.6126489639282227\n",
        # As users show its header.
        "MSResource_1.tar.gz": ",msname,msinstanceid,nodeid,instance_cpu_usage,instance_memory_usage,timestamp\n"
        f"0,{'9' * 64},{'4' * 64},{'e' * 64},0.13,0.61,3600000\n1,{'9' * 64},{'5' * 64},{'e' * 64},0.23,0.61,3600000\n",
        "MSRTQps_0.tar.gz": "timestamp,msname,msinstanceid,metrics,value\n"
        f"6600000,{'1' * 64},{'0' * 64},consumerRPC_RT,9.14142215173143\n",
        "MSRTQps_1.tar.gz": f",timestamp,msname,msinstanceid,metric,value\n0,60000,{'1' * 64},{'0' * 64},providerRPC_MCR,2.5\n",
        "MSCallGraph_0.tar.gz": ",traceid,timestamp,rpcid,um,rpctype,dm,interface,rt\n"
        f"0,015101cd15919399974329000e,16397576,0.1.1.2.50,{'3' * 64},rpc,{'b' * 64},{'a' * 64},13\n"
        f"1,015101cd15919399974329000e,16397577,0.1.1.2.50,{'3' * 64},rpc,(?),{'a' * 64},-12.0\n",
    },
    "azure-functions-2019": _functions_2019(),
    "burstgpt-2024": {
        "BurstGPT_1.csv": "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\r\n"
        "5,ChatGPT,472,18,490,Conversation log\r\n45,ChatGPT,1087,230,1317,Conversation log\r\n"
        "118,GPT-4,417,276,693,Conversation log\r\n",
        **{
            name: "Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
            "19440110.0,1722ac82-0a46-4bf0-aa08-89794e7a2b3f,43,GPT-4,906,446,1352,Conversation log\n"
            "19440161.0,,2,ChatGPT,36,29,65,API log\n"
            for name in ("BurstGPT_3.csv", "BurstGPT_without_fails_3.csv")
        },
        "BurstGPT_without_fails_1.csv": "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
        "5,ChatGPT,472,18,490,Conversation log\n45,ChatGPT,1087,230,1317,Conversation log\n",
    },
    "azure-functions-2021": {
        "AzureFunctionsInvocationTraceForTwoWeeksJan2021.txt": "app,func,end_timestamp,duration\n"
        f"{'7' * 64},{'3' * 64},5160.142570018768,0.134\n{'1' * 64},{'c' * 64},5161.280997037888,42.356\n",
    },
    "azure-lmm-2025": {
        "AzureLMMInferenceTrace_multimodal.csv.gz": "TIMESTAMP,NumImages,ContextTokens,GeneratedTokens\n"
        "2024-10-15T12:00:00.269Z,0,770,491\n2024-10-15T12:00:05.819Z,1,949,126\n",
    },
    "google-power-2019": {
        **{
            f"cell{cell}_{pdu}.csv.gz": "time,cell,pdu,measured_power_util,production_power_util,bad_measurement_data,"
            f"bad_production_power_data\n900000000,{cell},{pdu},0.6512,0.41,false,false\n"
            f"600000000,{cell},{pdu},0.66,0.42,false,true\n"
            for cell, pdu in (("a", "pdu6"), ("f", "pdu17"), ("i", "mvpp1"))
        },
        "machine_to_pdu_mapping.csv.gz": "machine_id,cell,pdu\n4246147567,a,pdu6\n102893,f,pdu17\n",
    },
    "helios-2020": {
        f"{cluster}/cluster_log.csv": "job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,"
        "queue\n1425511,uXBbc,vcJkd,1,1,1,COMPLETED,2020-06-09 18:41:01,2020-06-09 18:41:01,2020-06-10 04:55:09,36848,0\n"
        "1425512,uVMrF,vchbv,4,16,1,FAILED,2020-06-09 18:41:27,2020-06-09 18:41:28,2020-06-09 18:45:37,249,1\n"
        for cluster in ("Earth", "Venus")
    },
    "mooncake-2025": {
        f"{workload}_trace.jsonl": '{"timestamp": 0, "input_length": 600, "output_length": 500, "hash_ids": [0, 1]}\n'
        '{"timestamp": 27482, "input_length": 6955, "output_length": 52, "hash_ids": [46, 47, 48, 49, 50, 51, 52, 53, 54, 55, '
        "56, 57, 2353, 2354]}\n"
        for workload in ("conversation", "synthetic", "mooncake")
    },
    "qwen-bailian-2025": {
        f"qwen_{scenario}_blksz_16.jsonl": '{"chat_id": 55, "parent_chat_id": -1, "timestamp": 0.5, "input_length": 33, '
        '"output_length": 10, "type": "text", "turn": 1, "hash_ids": [1, 2, 3]}\n{"chat_id": 159, "parent_chat_id": 55, '
        '"timestamp": 61.114, "input_length": 521, "output_length": 132, "type": "text", "turn": 2, '
        '"hash_ids": [1089, 1090, 1091, 6326, 13148]}\n'
        for scenario in ("traceA", "coder")
    },
}


def made(trace: str) -> Path:
    """A source with the files of a trace."""
    source, tars = Path("source"), dict[str, list[tuple[str, bytes]]]()
    for name, content in TRACES[trace].items():
        data = content.encode() if isinstance(content, str) else _parquet(content)
        if name.endswith(".tar.gz"):
            held = io.BytesIO()
            with tarfile.open(fileobj=held, mode="w") as archive:
                member = tarfile.TarInfo(name.replace(".tar.gz", ".csv"))
                member.size = len(data)
                archive.addfile(member, io.BytesIO(data))
            data = held.getvalue()
        archive_name, is_member, member_name = name.partition(".tar.xz/")
        if is_member:
            tars.setdefault(f"{archive_name}.tar.xz", []).append((member_name, data))
            continue
        archive_name, is_member, member_name = name.partition(".zip/")
        path = source / (f"{archive_name}.zip" if is_member else name)
        path.parent.mkdir(parents=True, exist_ok=True)
        if is_member:
            with zipfile.ZipFile(path, "a") as zipped:
                zipped.writestr(member_name, data)
        else:
            path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    source.mkdir(exist_ok=True)
    for name, members in tars.items():
        with tarfile.open(source / name, "w:xz") as archive:
            for member_name, data in members:
                member = tarfile.TarInfo(member_name)
                member.size = len(data)
                archive.addfile(member, io.BytesIO(data))
    return source


def _parquet(rows: list[Row]) -> bytes:
    held = io.BytesIO()
    # Publishers compress with it, and two row groups are more than one.
    pq.write_table(pa.Table.from_pylist(rows), held, compression="zstd", row_group_size=2)
    return held.getvalue()


def _rows(content: str | list[Row]) -> int:
    if isinstance(content, list):
        return len(content)
    if content.startswith("["):
        return len(json.loads(content))
    return len(content.strip().splitlines()) - content.startswith(HEADERS)


@pytest.mark.parametrize("trace", TRACES)
def test_everything_reads_a_lake_of_the_trace(trace: str) -> None:
    source = made(trace)
    lake = tracelake.convert(source, "lake", trace=trace, allow_missing=True)
    expected = sum(map(_rows, TRACES[trace].values()))
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
    wanted = [one["name"] for one in _queries.described(trace)["query_tables"] if not one["with"]]
    if wanted:
        derived = tracelake.derive("lake", "derived", tables=wanted, allow_missing=True)
        assert sorted([*derived, *derived.skipped]) == sorted(wanted)
        for name, table in derived.items():
            counted = derived.duckdb().execute(f"SELECT count(*) FROM {name}").fetchone()
            assert counted == (table.rows,) and table.rows > 0
    page = tracelake.report("lake", "report.html")
    text = Path("report.html").read_text()
    assert page and trace in text and all(name in text for name in lake)
    tracelake.release("lake", allow_missing=True)
    assert tracelake.verify("lake") and Path("lake/SHA256SUMS").is_file()


@pytest.mark.parametrize("trace", ["alibaba-gpu-2026", "alibaba-maas-2026"])
def test_rows_of_parquet_are_those_that_were_written(trace: str) -> None:
    expected: dict[str, list[Row]] = {}
    for path, content in TRACES[trace].items():
        if isinstance(content, list):
            directory = re.search(r"day=(\d+)/hour=(\d+)/", path)
            named = {} if directory is None else {"day": int(directory[1]), "hour": int(directory[2])}
            table = path.removesuffix(".parquet").split(".zip/")[-1].split("/")[0].removeprefix("asi_opensource_")
            expected.setdefault(table, []).extend({**named, **row} for row in content)
    lake = tracelake.convert(made(trace), "lake", trace=trace, allow_missing=True)
    assert expected.keys() == {name for name in lake if name != "app_metrics"}
    for name, rows in expected.items():
        table = lake[name]
        parts = [str(Path("lake") / part.output.path) for part in sorted(table.parts, key=lambda part: part.file_number)]
        read = [row for part in parts for row in pq.ParquetFile(part).read().to_pylist()]
        assert read == rows, name
        columns = ", ".join(f'"{column}"' for column in rows[0])
        assert sorted(map(repr, duckdb.read_parquet(parts).query("lake", f"SELECT {columns} FROM lake").fetchall())) == sorted(
            repr(tuple(row.values())) for row in rows
        ), name
    if trace == "alibaba-maas-2026":
        text = pq.ParquetFile(Path("lake") / lake["app_metrics"].parts[0].output.path).read().to_pylist()
        assert [(row["gpu_type"], row["pd_role"], row["value"]) for row in text] == [("g_1", "prefill", 412.5), (None, None, 0.25)]


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
