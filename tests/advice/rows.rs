//! Rows that don't fit, and files that aren't tables.

use tracelake_testkit::{Scratch, good_line, good_row, gzip, zstd_with_window};

use super::{Advice, CONVERT, advice, change, good, remove, rename, retype};

const PART: &str = "job_events/part-00000-of-00001.csv";
const HEADER: &str =
    "time,missing info,job ID,event type,user,scheduling class,job name,logical job name";
const ZIPPED: &str = "job_events/part-00000-of-00001.csv.gz";

/// Writes the only part of job events, and takes away what was there.
fn jobs(scratch: &Scratch, text: &[u8]) {
    let _ = std::fs::remove_dir_all(scratch.src().join("job_events"));
    scratch.file(PART, text);
}

fn row() -> String {
    format!("{}\n", good_row("job_events"))
}

const SHARD: &str = "collection_events-000000000000.json";

pub(super) const ADVICE: &[Advice] = &[
    retype(
        "correct it, or pass --on-bad-row reject to set such rows aside",
        |s| jobs(s, b"600,,3418309,0,,2,,\nx,,1,0,,2,,\n"),
        CONVERT,
        "convert SRC OUT --on-bad-row reject",
    ),
    retype(
        "pass --accept header to skip it, or remove the line",
        |s| jobs(s, format!("{HEADER}\n{}", row()).as_bytes()),
        CONVERT,
        "convert SRC OUT --accept header",
    ),
    change(
        "this looks like a header, which the published files do not have: remove the line",
        |s| {
            jobs(
                s,
                format!(
                    "Timestamp,missing,id,type,user,class,name,logical\n{}",
                    row()
                )
                .as_bytes(),
            )
        },
        CONVERT,
        good_jobs,
    ),
    retype(
        "pass --accept header,index to skip it and its unnamed column, or take the published file",
        |s| jobs(s, format!(",{HEADER}\n0,{}", row()).as_bytes()),
        CONVERT,
        "convert SRC OUT --accept header,index",
    ),
    retype(
        "the number of the row as its first column: pass --accept index, or use the published file",
        |s| jobs(s, format!("0,{}", row()).as_bytes()),
        CONVERT,
        "convert SRC OUT --accept index",
    ),
    retype(
        "NULL as another program writes it: pass --accept null=NaN, or use the published file",
        |s| jobs(s, b"600,NaN,1,0,,2,,\n"),
        CONVERT,
        "convert SRC OUT --accept null=NaN",
    ),
    change(
        "the file has 9 fields where the table has 8: take the published file",
        |s| {
            jobs(s, format!("row,time,missing_info,job_id,event_type,user,scheduling_class,job_name,logical_job_name\n0,{}", row()).as_bytes())
        },
        CONVERT,
        good_jobs,
    ),
    retype(
        "UTF-8 with a byte order mark: pass --accept bom, or remove its first three bytes",
        |s| jobs(s, format!("\u{feff}{}", row()).as_bytes()),
        CONVERT,
        "convert SRC OUT --accept bom",
    ),
    change(
        "UTF-16: convert it to UTF-8 without a byte order mark",
        |s| jobs(s, b"\xff\xfe6\x000\x000\x00,\x00\n\x00"),
        CONVERT,
        good_jobs,
    ),
    change(
        "a JSON array: write one object a line, as jq -c '.[]' does",
        |s| s.file(SHARD, b"[{\"time\":\"0\"}]\n"),
        CONVERT,
        |s| s.file(SHARD, b"{\"time\":\"0\"}\n"),
    ),
    change(
        "CSV, and collection_events is published as JSON lines: take the published file",
        |s| s.file(SHARD, b"0,1,2\n"),
        CONVERT,
        |s| s.file(SHARD, b"{\"time\":\"0\"}\n"),
    ),
    retype(
        "JSON lines, and job_events is published as CSV: name the right trace with --trace",
        |s| jobs(s, b"{\"time\":\"0\"}\n"),
        CONVERT,
        "convert SRC OUT --trace borg-2019",
    ),
    change(
        "exported as CSV: download the published instance_usage-*.json.gz",
        |s| {
            jobs(s, b"start_time,end_time,collection_id,instance_index,machine_id,alloc_collection_id\n")
        },
        CONVERT,
        good_jobs,
    ),
    change(
        "binary data or UTF-16, not CSV: download the file again",
        |s| jobs(s, b"0,,1,0\0,\n"),
        CONVERT,
        good_jobs,
    ),
    retype(
        "pass --accept integral-floats, or use the published file",
        |s| jobs(s, b"600.0,,1,0,,2,,\n"),
        CONVERT,
        "convert SRC OUT --accept integral-floats",
    ),
    change(
        "a file that a spreadsheet saved again, which cuts digits off: use the published file",
        |s| jobs(s, b"600,,1.68E+11,0,,2,,\n"),
        CONVERT,
        good_jobs,
    ),
    change(
        "fields separated by ';': separate them by ','",
        |s| jobs(s, row().replace(',', ";").as_bytes()),
        CONVERT,
        good_jobs,
    ),
    retype(
        "but this run expects google-2011-v2.1; pass --trace google-2011-v2",
        |s| {
            let row = good_row("task_usage").rsplit_once(',').unwrap().0;
            s.only("task_usage", format!("{row}\n").as_bytes());
        },
        "convert SRC OUT --trace google-2011-v2.1",
        "convert SRC OUT --trace google-2011-v2",
    ),
    retype(
        "vmtable of azure-vm-2019 has such values; pass --trace azure-vm-2019",
        |s| {
            let ids = ["A+", "B+", "C+"].map(|id| id.repeat(32)).join(",");
            s.file(
                "vmtable.csv.gz",
                &gzip(format!("{ids},0,300,1,1,1,Unknown,>24,>64\n").as_bytes()),
            );
        },
        "convert SRC OUT --trace azure-vm-2017",
        "convert SRC OUT --trace azure-vm-2019",
    ),
    change(
        "task_events has 13 fields: is this file in the right place?",
        |s| jobs(s, good_line("task_events").as_bytes()),
        CONVERT,
        |s| rename(s, PART, "task_events/part-00000-of-00001.csv"),
    ),
    change(
        "name the right one with --tables or --trace",
        |s| jobs(s, "x,,1,0,,2,,\n".repeat(30).as_bytes()),
        CONVERT,
        good_jobs,
    ),
    // The text of a file.
    change(
        "compressed with gzip twice; decompress it once",
        |s| s.file(ZIPPED, &gzip(&gzip(row().as_bytes()))),
        CONVERT,
        good,
    ),
    retype(
        "pass a larger --memory, with a smaller --threads",
        |s| jobs(s, &zstd_with_window(26, row().as_bytes())),
        CONVERT,
        "convert SRC OUT --threads 1 --memory 512M",
    ),
    change(
        "download the file again",
        |s| {
            let bytes = gzip(row().as_bytes());
            s.file(ZIPPED, &bytes[..bytes.len() - 9]);
        },
        CONVERT,
        good,
    ),
    change(
        "even have a gzip header; download it again",
        |s| s.file(ZIPPED, b""),
        CONVERT,
        good,
    ),
    change(
        "a zip archive: unpack it first",
        |s| s.file(ZIPPED, &gzip(b"PK\x03\x04\0\0")),
        CONVERT,
        good,
    ),
    change(
        "fetch the file with: git lfs pull",
        |s| jobs(s, b"version https://git-lfs.github.com/spec/v1\n"),
        CONVERT,
        good_jobs,
    ),
    change(
        "this is not a table of a trace; download the file again",
        |s| jobs(s, &vec![b'x'; (1 << 20) + 2]),
        CONVERT,
        good_jobs,
    ),
    // A header of a described or a built-in table.
    change(
        "pass --accept bom, or remove the first three bytes of the file",
        |s| nodes(s, "\u{feff}sn,cpu_milli,memory_mib,gpu,model\n".as_bytes()),
        NODES,
        good_nodes,
    ),
    change(
        "pass --accept index to leave the unnamed first column out",
        |s| nodes(s, b",sn,cpu_milli,memory_mib,gpu,model\n"),
        NODES,
        good_nodes,
    ),
    change(
        "replace the separators, or change them in the description of the trace",
        |s| nodes(s, b"sn;cpu_milli;memory_mib;gpu;model\n"),
        NODES,
        good_nodes,
    ),
    change(
        "the first line has to be the published header, which is sn, cpu_milli, memory_mib, gpu, model: take the published file",
        |s| nodes(s, b"sn,cpu,memory,gpu,model\n"),
        NODES,
        good_nodes,
    ),
    // Checksums and schema.csv.
    retype(
        "download it again, or pass --checksums none to skip this check",
        |s| {
            good(s);
            s.file(
                "SHA256SUM",
                format!(
                    "{}  job_events/part-00000-of-00001.csv.gz\n",
                    "0".repeat(64)
                )
                .as_bytes(),
            );
        },
        CONVERT,
        "convert SRC OUT --checksums none",
    ),
    change(
        "move schema.csv away if it is of another trace, and download it again otherwise",
        |s| {
            good(s);
            s.file("schema.csv", b"table,column\nmachine,cpu\n");
        },
        CONVERT,
        |s| remove(s, "schema.csv"),
    ),
    change(
        "name the right trace with --trace, or move schema.csv away",
        |s| {
            good(s);
            s.file("schema.csv", b"file pattern,field number,content,format,mandatory\nweather/part,1,rain,FLOAT,NO\n");
        },
        CONVERT,
        |s| remove(s, "schema.csv"),
    ),
    advice(
        "name it AzureLLMInferenceTrace_{service}.csv",
        |s| {
            s.file(
                "requests.csv",
                b"TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:17:03.9799600,4808,10\n",
            )
        },
        "convert SRC/requests.csv OUT",
        |s| rename(s, "requests.csv", "AzureLLMInferenceTrace_code.csv"),
        "convert SRC/AzureLLMInferenceTrace_code.csv OUT",
    ),
];

const NODES: &str = "convert SRC OUT --allow-missing";

fn nodes(scratch: &Scratch, text: &[u8]) {
    scratch.file("openb_node_list_all_node.csv", text);
}

fn good_nodes(scratch: &Scratch) {
    nodes(scratch, b"sn,cpu_milli,memory_mib,gpu,model\n");
}

fn good_jobs(scratch: &Scratch) {
    jobs(scratch, row().as_bytes());
}
