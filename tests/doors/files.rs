//! The files: what each is, what it is named, and what becomes of it.

use std::fmt;
use std::fs;
use std::io::{Cursor, Read, Write};
use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, StringArray};
use flate2::read::MultiGzDecoder;
use parquet::arrow::ArrowWriter;
use tracelake_schema::{Kind, Syntax, TRACES, Table};
use tracelake_testkit::{gzip, outside, shared, xz, zstd};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

/// The outcome of converting a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    /// It's converted, or its table is known and the message says what isn't as published.
    Recognised,
    /// The message asks which trace it is of.
    Asked,
    /// No known table is like it, or it can't be read.
    Refused,
}

use Outcome::{Asked, Recognised, Refused};

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Recognised => "recognised",
            Asked => "asked",
            Refused => "refused",
        })
    }
}

/// A file that is given to `convert`.
pub(super) struct File {
    pub(super) what: &'static str,
    pub(super) name: &'static str,
    pub(super) bytes: fn() -> Vec<u8>,
    pub(super) arguments: &'static [&'static str],
    pub(super) outcome: Outcome,
    /// The table that it's taken for, or what the message says.
    pub(super) says: &'static str,
}

const fn file(
    what: &'static str,
    name: &'static str,
    bytes: fn() -> Vec<u8>,
    outcome: Outcome,
    says: &'static str,
) -> File {
    File {
        what,
        name,
        bytes,
        arguments: &[],
        outcome,
        says,
    }
}

const fn with(file: File, arguments: &'static [&'static str]) -> File {
    File { arguments, ..file }
}

/// A published file, decompressed.
fn text(path: &str) -> Vec<u8> {
    let bytes = fs::read(shared(path)).unwrap();
    if !path.ends_with(".gz") {
        return bytes;
    }
    let mut text = Vec::new();
    MultiGzDecoder::new(&bytes[..])
        .read_to_end(&mut text)
        .unwrap();
    text
}

/// The first lines of a published file.
fn head(path: &str, lines: usize) -> Vec<u8> {
    let text = text(path);
    let lines = text.split_inclusive(|&byte| byte == b'\n').take(lines);
    lines.collect::<Vec<_>>().concat()
}

/// The table of this name that is published as CSV.
fn table(name: &str) -> &'static Table {
    let mut tables = TRACES.iter().filter_map(|trace| trace.table(name));
    tables.find(|table| table.syntax == Syntax::Csv).unwrap()
}

/// The rows of a published file, after a line with the published names of its columns.
fn with_header(name: &str, path: &str) -> Vec<u8> {
    let table = table(name);
    let names = table
        .fields
        .iter()
        .map(|&index| &*table.columns[index].content);
    let names = names.collect::<Vec<_>>().join(",") + "\n";
    [names.as_bytes(), &head(path, 100)].concat()
}

/// The rows of a published file as pandas saves them: integers with a fraction of zero.
fn by_pandas(name: &str, path: &str) -> Vec<u8> {
    let table = table(name);
    let text = String::from_utf8(head(path, 100)).unwrap();
    let lines = text.lines().map(|line| {
        let fields = line.split(',').zip(&table.fields).map(|(field, &index)| {
            let is_integer = matches!(table.columns[index].kind, Kind::Integer | Kind::Code);
            match is_integer && !field.is_empty() {
                true => format!("{field}.0"),
                false => field.to_owned(),
            }
        });
        fields.collect::<Vec<_>>().join(",") + "\n"
    });
    lines.collect::<String>().into_bytes()
}

/// Rows with each line changed.
fn changed(bytes: &[u8], change: impl Fn(usize, &str) -> String) -> Vec<u8> {
    let text = str::from_utf8(bytes).unwrap();
    let lines = text.lines().enumerate();
    lines
        .map(|(number, line)| change(number, line) + "\n")
        .collect::<String>()
        .into_bytes()
}

fn zipped(name: &str, bytes: &[u8]) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    zip.start_file(name, SimpleFileOptions::default()).unwrap();
    zip.write_all(bytes).unwrap();
    zip.finish().unwrap().into_inner()
}

const MACHINES: &str = "google-2011/machine_events/part-00000-of-00001.csv.gz";
const JOBS: &str = "google-2011/job_events/part-00175-of-00500.csv.gz";
const TASKS: &str = "google-2011-heads/task_events.csv";
const USAGE: &str = "google-2011-heads/task_usage.csv";
const ATTRIBUTES: &str = "google-2011-heads/machine_attributes.csv";
const META: &str = "alibaba-2018/machine_meta.csv";
const BATCH: &str = "alibaba-2018/batch_task.csv";
const CONTAINERS: &str = "alibaba-2018/container_meta.csv";
const KAGGLE: &str = "borg-2019/borg_traces_data-60-records.csv";
const SHARD: &str = "borg-2019/instance_usage-1-row.json";
const REQUESTS: &str = "next/azure-llm-2023/AzureLLMInferenceTrace_code.csv";
const PODS: &str = "next/alibaba-gpu-2023/openb_pod_list_default.csv";
const GPU_2025: &str = "next/alibaba-gpu-2025/disaggregated_DLRM_trace.csv";

pub(super) const FILES: &[File] = &[
    // Real files under other names.
    file(
        "machine events, renamed",
        "data.csv",
        || text(MACHINES),
        Recognised,
        "machine_events of google-2011-v2.1",
    ),
    file(
        "machine events, renamed and compressed",
        "m (1).csv.gz",
        || gzip(&text(MACHINES)),
        Recognised,
        "machine_events of",
    ),
    file(
        "machine events, without an extension",
        "machines",
        || head(MACHINES, 500),
        Recognised,
        "machine_events of",
    ),
    file(
        "job events, part 175",
        "a.csv",
        || text(JOBS),
        Recognised,
        "job_events of google-2011-v2.1",
    ),
    file(
        "job events, part 176",
        "b.csv",
        || text("google-2011/job_events/part-00176-of-00500.csv.gz"),
        Recognised,
        "job_events of",
    ),
    file(
        "job events, part 177",
        "c.csv",
        || text("google-2011/job_events/part-00177-of-00500.csv.gz"),
        Recognised,
        "job_events of",
    ),
    file(
        "job events, in a foreign directory",
        "x/part-00175-of-00500.csv.gz",
        || gzip(&text(JOBS)),
        Recognised,
        "job_events of",
    ),
    file(
        "task events, part 0",
        "events.csv",
        || text(TASKS),
        Recognised,
        "task_events of",
    ),
    file(
        "task events, part 12",
        "12.csv",
        || {
            head(
                "google-2011-task-events/task_events/part-00012-of-00500.csv.gz",
                5_000,
            )
        },
        Recognised,
        "task_events of",
    ),
    file(
        "task events, part 13",
        "13.csv",
        || {
            head(
                "google-2011-task-events/task_events/part-00013-of-00500.csv.gz",
                5_000,
            )
        },
        Recognised,
        "task_events of",
    ),
    file(
        "task usage",
        "u.csv",
        || text(USAGE),
        Recognised,
        "task_usage of google-2011-v2.1",
    ),
    file(
        "task usage of version 2",
        "u2.csv",
        || {
            changed(&text(USAGE), |_, line| {
                line.rsplit_once(',').unwrap().0.to_owned()
            })
        },
        Recognised,
        "task_usage of google-2011-v2",
    ),
    file(
        "machine attributes",
        "attr.csv",
        || text(ATTRIBUTES),
        Recognised,
        "machine_attributes of google-2011-v2.1",
    ),
    file(
        "machine meta",
        "servers.csv",
        || text(META),
        Recognised,
        "machine_meta of alibaba-2018",
    ),
    file(
        "machine usage",
        "cpu.csv",
        || text("alibaba-2018/machine_usage.csv"),
        Recognised,
        "machine_usage of alibaba-2018",
    ),
    file(
        "batch tasks",
        "dag.csv",
        || text(BATCH),
        Recognised,
        "batch_task of alibaba-2018",
    ),
    file(
        "container meta, three rows",
        "c3.csv",
        || text(CONTAINERS),
        Recognised,
        "container_meta of alibaba-2018",
    ),
    file(
        "container usage, ten rows",
        "c10.csv",
        || text("alibaba-2018/container_usage.csv"),
        Recognised,
        "container_usage of alibaba-2018",
    ),
    file(
        "container usage without container ids",
        "c2000.csv",
        || text("alibaba-2018-head/container_usage.csv"),
        Recognised,
        "container_usage of alibaba-2018",
    ),
    file(
        "a Borg shard",
        "shard.json",
        || text(SHARD),
        Recognised,
        "instance_usage of borg-2019",
    ),
    file(
        "the Kaggle file",
        "kaggle.csv",
        || text(KAGGLE),
        Recognised,
        "of borg-2019",
    ),
    file(
        "disaggregated pods",
        "dlrm.csv",
        || text(GPU_2025),
        Recognised,
        "of alibaba-gpu-2025",
    ),
    file(
        "pods, whose name is a column",
        "pods.csv",
        || text(PODS),
        Recognised,
        "name it openb_pod_list_",
    ),
    file(
        "nodes, whose name is a column",
        "nodes.csv",
        || text("next/alibaba-gpu-2023/openb_node_list_all_node.csv"),
        Recognised,
        "name it openb_node_list_",
    ),
    file(
        "requests, whose name is a column",
        "llm.csv",
        || text(REQUESTS),
        Recognised,
        "name it AzureLLMInferenceTrace_",
    ),
    // Saved again.
    file(
        "machine meta with CRLF",
        "crlf.csv",
        || changed(&head(META, 50), |_, line| format!("{line}\r")),
        Recognised,
        "machine_meta of",
    ),
    file(
        "machine meta without the last line ending",
        "end.csv",
        || head(META, 50).trim_ascii_end().to_vec(),
        Recognised,
        "machine_meta of",
    ),
    file(
        "job events with a header",
        "header.csv",
        || with_header("job_events", JOBS),
        Recognised,
        "pass --accept header",
    ),
    with(
        file(
            "job events with a header that is accepted",
            "header.csv",
            || with_header("job_events", JOBS),
            Recognised,
            "job_events of",
        ),
        &["--accept", "header"],
    ),
    file(
        "machine events with an index",
        "index.csv",
        || {
            changed(&with_header("machine_events", MACHINES), |number, line| {
                if number == 0 {
                    format!(",{line}")
                } else {
                    format!("{number},{line}")
                }
            })
        },
        Recognised,
        "a header, which the published files do not have: pass --accept header,index to skip it and its unnamed column",
    ),
    file(
        "task usage by pandas",
        "pandas.csv",
        || by_pandas("task_usage", USAGE),
        Recognised,
        "--accept integral-floats",
    ),
    with(
        file(
            "task usage by pandas, accepted",
            "pandas.csv",
            || by_pandas("task_usage", USAGE),
            Recognised,
            "task_usage of",
        ),
        &["--accept", "integral-floats"],
    ),
    file(
        "machine meta with a byte order mark",
        "bom.csv",
        || [b"\xef\xbb\xbf", &head(META, 50)[..]].concat(),
        Recognised,
        "byte order mark",
    ),
    file(
        "machine meta with semicolons",
        "semicolons.csv",
        || changed(&head(META, 50), |_, line| line.replace(',', ";")),
        Refused,
        "7 fields separated by ';'",
    ),
    file(
        "machine meta in quotes",
        "quotes.csv",
        || {
            changed(&head(META, 50), |_, line| {
                format!("\"{}\"", line.replace(',', "\",\""))
            })
        },
        Asked,
        "and machine_meta of alibaba-2018, and not such values: in line 1, ",
    ),
    file(
        "job events by a spreadsheet",
        "sheet.csv",
        || {
            changed(&head(JOBS, 50), |_, line| {
                let mut fields: Vec<&str> = line.split(',').collect();
                fields[2] = "6.34E+09";
                fields.join(",")
            })
        },
        Asked,
        "job_id is '6.34E+09'",
    ),
    file(
        "the header of a table alone",
        "names.csv",
        || text("next/alibaba-gpu-2020/pai_instance_table.header"),
        Recognised,
        "a header",
    ),
    file(
        "machine events, compressed twice",
        "twice.csv.gz",
        || gzip(&gzip(&head(MACHINES, 50))),
        Refused,
        "compressed with gzip twice",
    ),
    file(
        "machine events, with zstd and no such ending",
        "m.data",
        || zstd(&head(MACHINES, 50)),
        Recognised,
        "machine_events of",
    ),
    file(
        "container meta, with xz",
        "c.csv.xz",
        || xz(&head(CONTAINERS, 1)),
        Recognised,
        "container_meta of",
    ),
    // Cut.
    file(
        "machine usage, twenty rows",
        "20.csv",
        || head("alibaba-2018/machine_usage.csv", 20),
        Recognised,
        "machine_usage of",
    ),
    file(
        "container meta, one row",
        "1.csv",
        || head(CONTAINERS, 1),
        Recognised,
        "container_meta of",
    ),
    file(
        "job events, one row",
        "one.csv",
        || head(JOBS, 1),
        Recognised,
        "job_events of",
    ),
    file(
        "machine events, one row",
        "tiny.csv",
        || head(MACHINES, 1),
        Asked,
        "too little to tell",
    ),
    with(
        file(
            "machine events, one row, with its trace",
            "tiny.csv",
            || head(MACHINES, 1),
            Recognised,
            "machine_events of",
        ),
        &["--trace", "google-2011-v2.1"],
    ),
    file(
        "job events, cut in a row",
        "cut.csv",
        || {
            let head = head(JOBS, 50);
            head[..head.len() - 60].to_vec()
        },
        Asked,
        "in line 50",
    ),
    file("an empty file", "empty.csv", Vec::new, Refused, "no row"),
    file(
        "blank lines",
        "blank.csv",
        || b"\n\n\n".to_vec(),
        Refused,
        "no row",
    ),
    // Of others.
    file(
        "the trace's own schema.csv",
        "schema (1).csv",
        || text("google-2011/schema.csv"),
        Asked,
        "schema --new",
    ),
    file(
        "five columns of words",
        "words.csv",
        || b"red,blue,green,white,black\nup,down,left,right,on\n".repeat(20),
        Asked,
        "it has 5 fields, like ",
    ),
    file(
        "seven columns of numbers",
        "numbers.csv",
        || b"1,2,3,4,5,6,7\n8,9,10,11,12,13,14\n".repeat(20),
        Asked,
        "and machine_meta of alibaba-2018, and not such values: in line 1, ",
    ),
    file(
        "three columns of numbers",
        "xyz.csv",
        || b"1,2,3\n4,5,6\n".repeat(20),
        Asked,
        "schema --new",
    ),
    file(
        "forty columns",
        "wide.csv",
        || {
            (1..=40)
                .map(|n| n.to_string())
                .collect::<Vec<_>>()
                .join(",")
                .into_bytes()
        },
        Refused,
        "no known table has 40 fields",
    ),
    file(
        "Acme's jobs",
        "trace_kalos.csv",
        || text("next/acme/trace_kalos.csv"),
        Recognised,
        "kalos_jobs of acme-2023",
    ),
    file(
        "Helios' jobs",
        "cluster_log.csv",
        || text("next/helios/cluster_log.csv"),
        Recognised,
        "name it ",
    ),
    file(
        "BurstGPT",
        "BurstGPT_3.csv",
        || text("next/burstgpt/BurstGPT_3.csv"),
        Recognised,
        "inference_requests of burstgpt-2024",
    ),
    file(
        "BurstGPT, renamed",
        "requests.csv",
        || text("next/burstgpt/BurstGPT_3.csv"),
        Asked,
        "pass --trace burstgpt-2024 --tables inference_requests",
    ),
    file(
        "Philly's CPU use",
        "cluster_cpu_util",
        || text("next/philly/cluster_cpu_util"),
        Recognised,
        "cluster_cpu_util of philly-2017",
    ),
    file(
        "Philly's use of GPUs, whose rows end with a comma",
        "gpus.csv",
        || text("next/philly/cluster_gpu_util"),
        Recognised,
        "cluster_gpu_util of philly-2017",
    ),
    file(
        "a benchmark of machines, without its directories",
        "unit=IOPS.csv",
        || b"value,runtime,starttime,VM_id\n3112.0,90.96,2023-09-02 21:36:44.480,0\n".to_vec(),
        Recognised,
        "its name doesn't say {test_suite}",
    ),
    file(
        "tasks of 2017, whose table has a name of 2018",
        "batch_task.csv",
        || {
            b"10996,11002,16,110,1,Terminated,50,0.0016\n11000,12000,17,111,42,Failed,50,0.01\n"
                .to_vec()
        },
        Recognised,
        "batch_task of alibaba-2017",
    ),
    file(
        "tasks of 2017, renamed",
        "tasks.csv",
        || {
            b"10996,11002,16,110,1,Terminated,50,0.0016\n11000,12000,17,111,42,Failed,50,0.01\n"
                .repeat(20)
        },
        Recognised,
        "batch_task of alibaba-2017",
    ),
    file(
        "tasks of 2018 in the archive that was published",
        "batch_task.tar.gz",
        || {
            let row = "M1,1,j_1,1,Terminated,157213,157295,100.00,0.30\n";
            crate::streams::tar_gz(&[("batch_task.csv", row)])
        },
        Recognised,
        "batch_task of alibaba-2018",
    ),
    file(
        "Philly's jobs",
        "cluster_job_log",
        || text("next/philly/cluster_job_log"),
        Recognised,
        "cluster_job_log of philly-2017",
    ),
    file(
        "Philly's jobs, renamed",
        "jobs.json",
        || text("next/philly/cluster_job_log"),
        Recognised,
        "cluster_job_log of philly-2017",
    ),
    file(
        "requests for pictures",
        "lora.csv",
        || text("next/alibaba-genai-2026/lora_request_trace.csv"),
        Recognised,
        "lora_request_trace of alibaba-genai-2026",
    ),
    file(
        "duty cycles",
        "duty.csv",
        || text("next/alibaba-genai-2026/pod_gpu_duty_cycle_anon.csv"),
        Asked,
        "pass --trace alibaba-genai-2026 --tables",
    ),
    file(
        "spot nodes",
        "node_info_df.csv",
        || text("next/alibaba-spot-gpu-2026/node_info_df.csv"),
        Recognised,
        "gpu_nodes of alibaba-spot-gpu-2026",
    ),
    file(
        "calls of microservices",
        "MSCallGraph_0.csv",
        || text("next/alibaba-microservices/MSCallGraph_0.csv"),
        Recognised,
        "ms_call_graph of alibaba-microservices-2021",
    ),
    file(
        "calls of microservices, renamed",
        "calls.csv",
        || text("next/alibaba-microservices/MSCallGraph_0.csv"),
        Recognised,
        "ms_call_graph of alibaba-microservices-2021",
    ),
    file(
        "containers of microservices, renamed",
        "containers.csv",
        || text("next/alibaba-microservices/v2022-MSResource_0.csv"),
        Recognised,
        "ms_metrics of alibaba-microservices-2022",
    ),
    file(
        "containers of microservices under other names",
        "containers.csv",
        || {
            let id = |digit: &str| digit.repeat(64);
            let row = format!("7,{},{},{},0.13,0.61,60000", id("9"), id("4"), id("e"));
            let header =
                ",msname,msinstanceid,nodeid,instance_cpu_usage,instance_memory_usage,timestamp";
            format!("{header}\n{row}\n").into_bytes()
        },
        Recognised,
        "ms_resources of alibaba-microservices-2021",
    ),
    file(
        "percentiles of functions",
        "function_durations_percentiles.anon.d01.csv",
        || text("next/azure-functions-2019/function_durations_percentiles.anon.d01.csv"),
        Recognised,
        "function_durations of azure-functions-2019",
    ),
    file(
        "percentiles of functions, renamed",
        "percentiles.csv",
        || text("next/azure-functions-2019/function_durations_percentiles.anon.d01.csv"),
        Recognised,
        "function_durations: its name doesn't say {day}",
    ),
    file(
        "Mooncake's requests",
        "conversation_trace.jsonl",
        || text("next/mooncake/conversation_trace.jsonl"),
        Recognised,
        "inference_requests of mooncake-2025",
    ),
    file(
        "Mooncake's requests, renamed",
        "mooncake.json",
        || text("next/mooncake/conversation_trace.jsonl"),
        Asked,
        "pass --trace mooncake-2025",
    ),
    file(
        "Bailian's requests",
        "qwen_coder_blksz_16.jsonl",
        || text("next/qwen-bailian/README-record.txt"),
        Recognised,
        "inference_requests of qwen-bailian-2025",
    ),
    file(
        "Bailian's requests, renamed",
        "requests.json",
        || text("next/qwen-bailian/README-record.txt"),
        Recognised,
        "its name doesn't say {scenario}, which is a column; name it qwen_{scenario}_blksz_16.jsonl",
    ),
    file(
        "duty cycles under their name",
        "pod_gpu_duty_cycle_anon.csv",
        || text("next/alibaba-genai-2026/pod_gpu_duty_cycle_anon.csv"),
        Recognised,
        "pod_gpu_duty_cycle of alibaba-genai-2026",
    ),
    file(
        "invocations of functions",
        "AzureFunctionsInvocationTraceForTwoWeeksJan2021.txt",
        || text("next/azure-functions-2021/AzureFunctionsInvocationTraceForTwoWeeksJan2021.txt"),
        Recognised,
        "function_invocations of azure-functions-2021",
    ),
    file(
        "invocations of functions, renamed",
        "calls.csv",
        || text("next/azure-functions-2021/AzureFunctionsInvocationTraceForTwoWeeksJan2021.txt"),
        Recognised,
        "function_invocations of azure-functions-2021",
    ),
    file(
        "a RAR archive",
        "AzureFunctionsInvocationTraceForTwoWeeksJan2021.rar",
        || b"Rar!\x1a\x07\x01\0".to_vec(),
        Refused,
        "unpack it first",
    ),
    file(
        "power of a domain",
        "cella_pdu6.csv",
        || {
            b"time,cell,pdu,measured_power_util,production_power_util,bad_measurement_data,bad_production_power_data\n\
              900000000,a,pdu6,0.65,0.41,false,false\n"
                .to_vec()
        },
        Recognised,
        "pdu_power of google-power-2019",
    ),
    file(
        "multimodal requests, renamed",
        "lmm.csv",
        || {
            b"TIMESTAMP,NumImages,ContextTokens,GeneratedTokens\n2024-10-15T12:00:00.269Z,0,770,491\n"
                .to_vec()
        },
        Recognised,
        "inference_requests of azure-lmm-2025",
    ),
    file(
        "a shard with a field of its own",
        "odd.json",
        || {
            changed(&text(SHARD), |_, line| {
                line.replacen('{', "{\"colour\":1,", 1)
            })
        },
        Asked,
        "a field 'colour'",
    ),
    file(
        "a list of shards' rows",
        "list.json",
        || [b"[", &text(SHARD)[..], b"]"].concat(),
        Refused,
        "a JSON array",
    ),
    file(
        "Google's Parquet",
        "machines.parquet",
        text_of_parquet,
        Recognised,
        "machine_events of borg-2019",
    ),
    file(
        "pods of an hour",
        "asi_opensource_pod_hourly/day=12/hour=05/part-000.parquet",
        || parquet("pod_hourly"),
        Recognised,
        "pod_hourly of alibaba-gpu-2026",
    ),
    file(
        "spans of pods",
        "asi_opensource_job_execution_summary/part-000.parquet",
        || parquet("job_execution_summary"),
        Recognised,
        "job_execution_summary of alibaba-gpu-2026",
    ),
    file(
        "an archive of servers by the hour",
        "asi_opensource_server_hourly.zip",
        || {
            zipped(
                "asi_opensource_server_hourly/day=0/hour=23/part-000.parquet",
                &parquet("server_hourly"),
            )
        },
        Recognised,
        "server_hourly of alibaba-gpu-2026",
    ),
    file(
        "instances of a week",
        "instance_week_5min/part_20.parquet",
        || parquet("instance_week_5min"),
        Recognised,
        "instance_week_5min of alibaba-maas-2026",
    ),
    file(
        "an archive of instances",
        "instance_daily.zip",
        || zipped("instance_daily/part_0.parquet", &parquet("instance_daily")),
        Recognised,
        "instance_daily of alibaba-maas-2026",
    ),
    file(
        "an archive of metrics of applications",
        "app_metrics.csv.zip",
        || {
            let text = "time_s,app_id,gpu_type,series_id,pd_role,metric,value\n\
                        12096000,a_1,\\N,r_1,\\N,qps_norm,0.25\n";
            zipped("app_metrics.csv", text.as_bytes())
        },
        Recognised,
        "app_metrics of alibaba-maas-2026",
    ),
    file(
        "instances of a day, renamed",
        "instances.parquet",
        || parquet("instance_daily"),
        Recognised,
        "instance_daily of alibaba-maas-2026",
    ),
    file(
        "a web page",
        "page.csv",
        || b"<!DOCTYPE html><html></html>".to_vec(),
        Refused,
        "a web page",
    ),
    file(
        "a Git LFS pointer",
        "lfs.csv",
        || b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n".to_vec(),
        Refused,
        "git lfs pull",
    ),
    file(
        "a picture",
        "cat.png",
        || b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec(),
        Refused,
        "no known table",
    ),
    file(
        "a text",
        "README.md",
        || b"# Notes\n\nThis is a text, and no table.\n".to_vec(),
        Refused,
        "no known table",
    ),
    file(
        "an archive of others",
        "photos.zip",
        || zipped("cat.jpeg", b"cat"),
        Asked,
        "name the trace with --trace",
    ),
];

/// A row of a table that is published as Parquet.
fn parquet(name: &str) -> Vec<u8> {
    let table = TRACES.iter().find_map(|trace| trace.table(name)).unwrap();
    let columns = table.fields.iter().map(|&index| {
        let column = &table.columns[index];
        let values: ArrayRef = match column.kind {
            Kind::Integer => Arc::new(Int64Array::from(vec![300])),
            Kind::Float => Arc::new(Float64Array::from(vec![0.5])),
            Kind::Boolean => Arc::new(BooleanArray::from(vec![true])),
            _ => Arc::new(StringArray::from(vec!["x"])),
        };
        (&*column.content, values)
    });
    let rows = RecordBatch::try_from_iter(columns).unwrap();
    let mut writer = ArrowWriter::try_new(Vec::new(), rows.schema(), None).unwrap();
    writer.write(&rows).unwrap();
    writer.into_inner().unwrap()
}

/// Google's Parquet shard, whose name says gzip.
fn text_of_parquet() -> Vec<u8> {
    let path = outside("data/next/borg-2019-parquet/machine_events-000000000000.parquet.gz");
    fs::read(path).unwrap()
}
