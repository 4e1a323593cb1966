//! The forms in which each trace is published: real rows where they are at hand, else rows made in the form of the
//! publisher's documents.

use std::fs;
use std::sync::Arc;

use crate::streams::tar_gz;
use tracelake_schema::{Files, Syntax, TRACES, Table, Trace};
use tracelake_testkit::{Scratch, gzip, outside};

use super::{convert_and_verify, file_numbers, rows, trace_with, traces_with};

/// A row of VMs: created and deleted, category, cores, memory.
fn vm(id: &str, times: &str, category: &str, size: &str) -> String {
    format!(
        "{id},{},{},{times},100,3.4240942342446719,10.194309,{category},{size}\r\n",
        "s".repeat(64),
        "d".repeat(88)
    )
}

/// Files of readings are numbered from 1, as published, and their names say which of two traces they are of.
#[test]
fn readings_of_vms() {
    let mut seen = 0;
    for trace in traces_with("vm_cpu_readings") {
        let parts = trace.table("vm_cpu_readings").unwrap().parts;
        let scratch = Scratch::new();
        let id = "+ZcrOp5/c/fJ6mVgP5qMZlOAGDwyjaaDNM0WoWOt2IDb47gT0UwK9lFwkPQv3C7Q";
        for (number, time) in [(1, 0), (2, 300), (parts, 2_591_700)] {
            let text = format!("{time},{id},2.052803,3.911587,2.86979\r\n{time},b,0,100,1e-05\r\n");
            let name = format!("vm_cpu_readings-file-{number}-of-{parts}.csv.gz");
            scratch.file(&format!("vm_cpu_readings/{name}"), &gzip(text.as_bytes()));
        }
        let vms = vm(id, "0,2591700", "Delay-insensitive", "1,1.75")
            + &vm("b", "2290500,2292300", "Unkown", "8,56");
        scratch.file("vmtable/vmtable.csv.gz", &gzip(vms.as_bytes()));
        convert_and_verify(&scratch, trace, &[]);
        let numbers = [1, 2, u64::from(parts)];
        assert_eq!(file_numbers(&scratch.out(), "vm_cpu_readings"), numbers);
        let readings = rows(&scratch.out(), "vm_cpu_readings");
        assert_eq!(readings.len(), 6);
        assert_eq!(readings[0], ["0", id, "2.052803", "3.911587", "2.86979"]);
        assert_eq!(readings[3], ["300", "b", "0.0", "100.0", "1e-5"]);
        let vms = rows(&scratch.out(), "vmtable");
        assert_eq!(vms[1][3..5], ["2290500", "2292300"]);
        assert_eq!(
            vms[1][5..9],
            ["100.0", "3.424094234244672", "10.194309", "Unkown"]
        );
        seen += 1;
    }
    assert_eq!(seen, 2);
}

/// The highest buckets of cores and memory are texts, which only the later trace has.
#[test]
fn buckets_of_vms() {
    let sizes = |trace: &Trace| {
        let table = trace.table("vmtable").unwrap();
        table.column("vm_core_count_bucket").is_some()
    };
    let traces = traces_with("vmtable");
    let later = traces.iter().find(|trace| sizes(trace)).unwrap();
    let scratch = Scratch::new();
    let text = vm("a", "0,300", "Unknown", ">24,>64") + &vm("b", "0,300", "Interactive", "2,4");
    scratch.file("vmtable.csv.gz", &gzip(text.as_bytes()));
    convert_and_verify(&scratch, later, &["--trace", &later.name]);
    let vms = rows(&scratch.out(), "vmtable");
    assert_eq!(vms[0][9..], [">24", ">64"]);
    assert_eq!(vms[1][9..], ["2", "4"]);
    let earlier = traces.iter().find(|trace| !sizes(trace)).unwrap();
    scratch
        .convert(&["--trace", &earlier.name, "--overwrite"])
        .refuses(4, ">24");
}

/// Integers that are written with a fraction of zero; a separate archive for each table.
#[test]
fn jobs_on_gpus() {
    let trace = trace_with("pai_job_table");
    let scratch = Scratch::new();
    let texts = [
        (
            "pai_job_table",
            "4b3f,8cb3,5854,Terminated,4550879.0,4551416.0\na,b,c,Running,1.0,\n",
        ),
        (
            "pai_task_table",
            "4b3f,tensorflow,1.0,Terminated,1739162.0,1739200.0,600.0,29.296875,50.0,MISC\n",
        ),
        (
            "pai_instance_table",
            "4b3f,tensorflow,0d39,54db,8cb3,Terminated,2081336.0,2083889.0,82e5\n",
        ),
        (
            "pai_sensor_table",
            "4b3f,tensorflow,54db,8cb3,82e5,/dev/nvidia0,140.1451612903226,116.0625,1.4,2.3,1.2,2.3,21271328.384615384,16376189.8,2922.4,3419.7\n",
        ),
        ("pai_group_tag_table", "8cb3,5854,,fbeb,nmt\n"),
        ("pai_machine_spec", "82e5,T4,96,512,2\n"),
        (
            "pai_machine_metric",
            "54db,82e5,6150435,6150689,0.0028667003281999497,3.58,14.9,87.8,18.2,111649584.57,5.05,18.5\n",
        ),
    ];
    assert_eq!(trace.tables.len(), texts.len());
    for (table, text) in texts {
        let archive = tar_gz(&[(&format!("{table}.csv"), text)]);
        scratch.file(&format!("{table}.tar.gz"), &archive);
    }
    convert_and_verify(&scratch, trace, &["--checksums", "none"]);
    let jobs = rows(&scratch.out(), "pai_job_table");
    assert_eq!(jobs[0][3..], ["Terminated", "4550879", "4551416"]);
    assert_eq!(jobs[1][3..], ["Running", "1", "NULL"]);
    let tasks = rows(&scratch.out(), "pai_task_table");
    assert_eq!(tasks[0][2..6], ["1", "Terminated", "1739162", "1739200"]);
    assert_eq!(rows(&scratch.out(), "pai_machine_metric")[0][2], "6150435");
    // Half an instance is none.
    let half = "4b3f,tensorflow,1.5,Terminated,1.0,1.0,600.0,29.3,50.0,MISC\n";
    fs::remove_file(scratch.src().join("pai_task_table.tar.gz")).unwrap();
    scratch.file("pai_task_table.csv", half.as_bytes());
    scratch
        .convert(&["--tables", "pai_task_table", "--overwrite"])
        .refuses(4, "inst_num");
}

/// Each list of pods is a part, whose number doesn't depend on the lists that are there.
#[test]
fn lists_of_pods() {
    let trace = trace_with("openb_pods");
    let header = "name,cpu_milli,memory_mib,num_gpu,gpu_milli";
    let more = "gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time";
    let row = "openb-pod-0000,12000,16384,1,1000";
    let scratch = Scratch::new();
    for (list, rest) in [
        ("default", ",LS,Running,0,12537496,0"),
        ("gpuspec33", "V100M16|V100M32,BE,Pending,427061,12902960,"),
    ] {
        let text = format!("{header},{more}\n{row},{rest}\n");
        scratch.file(&format!("openb_pod_list_{list}.csv"), text.as_bytes());
    }
    let text = format!("{header}\n{row}\n{row}\n");
    scratch.file("openb_pod_list_multigpu50.csv", text.as_bytes());
    let nodes = "sn,cpu_milli,memory_mib,gpu,model\nopenb-node-0000,32000,262144,0,\n";
    scratch.file("openb_node_list_all_node.csv", nodes.as_bytes());
    convert_and_verify(&scratch, trace, &[]);
    assert_eq!(file_numbers(&scratch.out(), "openb_pods"), [0, 19]);
    assert_eq!(file_numbers(&scratch.out(), "openb_pods_multi_gpu"), [3]);
    let pods = rows(&scratch.out(), "openb_pods");
    assert_eq!(pods[0][..2], ["default", "openb-pod-0000"]);
    assert_eq!(
        pods[0][6..],
        ["NULL", "LS", "Running", "0", "12537496", "0"]
    );
    assert_eq!(pods[1][..2], ["gpuspec33", "openb-pod-0000"]);
    assert_eq!(pods[1][6..9], ["V100M16|V100M32", "BE", "Pending"]);
    assert_eq!(pods[1][11], "NULL");
    let several = rows(&scratch.out(), "openb_pods_multi_gpu");
    assert_eq!(
        several[1],
        [
            "multigpu50",
            "openb-pod-0000",
            "12000",
            "16384",
            "1",
            "1000"
        ]
    );
    assert_eq!(rows(&scratch.out(), "openb_nodes")[0][0], "all");
}

/// A header that isn't the published one ends the run with its line.
#[test]
fn a_header_is_the_published_one() {
    let trace = trace_with("openb_nodes");
    let scratch = Scratch::new();
    let nodes = "sn,cpu_milli,gpu,memory_mib,model\nopenb-node-0000,32000,0,262144,\n";
    scratch.file("openb_node_list_gpu_node.csv", nodes.as_bytes());
    scratch
        .convert(&["--trace", &trace.name, "--allow-missing"])
        .refuses(4, "memory_mib");
}

/// Dates and times with a digit more than microseconds, and with a zone.
#[test]
fn requests_to_language_models() {
    let mut traces = traces_with("inference_requests");
    // The others have no services.
    traces.retain(|trace| trace.tables[0].column("service").is_some());
    assert_eq!(traces.len(), 2);
    let header = "TIMESTAMP,ContextTokens,GeneratedTokens";
    let naive = format!(
        "{header}\r\n2023-11-16 18:17:03.9799600,4808,10\r\n2023-11-16 18:17:04.0319600,3180,8"
    );
    let zoned = format!(
        "{header}\n2024-05-10 00:00:00.009930+00:00,2162,5\n2024-05-10 01:00:00+01:00,2399,6\n"
    );
    let mut seen = 0;
    for (file, text, first, second) in [
        (
            "AzureLLMInferenceTrace_conv.csv",
            naive,
            "2023-11-16T18:17:03.979960",
            "2023-11-16T18:17:04.031960",
        ),
        (
            "AzureLLMInferenceTrace_conv_1week.csv",
            zoned,
            "1715299200009930 us in UTC",
            "1715299200000000 us in UTC",
        ),
    ] {
        let zone = file.contains("week");
        let kind = |trace: &&&'static std::sync::Arc<Trace>| {
            let table = trace.table("inference_requests").unwrap();
            table.columns.iter().any(|column| column.mandatory) != zone
        };
        let trace = traces.iter().find(kind).unwrap();
        let scratch = Scratch::new();
        scratch.file(file, text.as_bytes());
        convert_and_verify(&scratch, trace, &[]);
        let requests = rows(&scratch.out(), "inference_requests");
        assert_eq!(requests[0][..2], ["conv", first]);
        assert_eq!(requests[1][..2], ["conv", second]);
        assert_eq!(file_numbers(&scratch.out(), "inference_requests"), [1]);
        seen += 1;
    }
    assert_eq!(seen, 2);
}

/// The published rows at hand, in folders with the names of their traces.
#[test]
#[cfg_attr(not(published_data), ignore = "needs ../shared/data")]
fn real_rows() {
    let mut seen = 0;
    for trace in TRACES {
        let folder = outside("data/next").join(&trace.name);
        let is_named =
            |table: &Arc<Table>| table.files == Files::Named && table.syntax == Syntax::Csv;
        if !folder.is_dir() || !trace.tables.iter().all(is_named) {
            continue;
        }
        let scratch = Scratch::new();
        let mut lines = 0;
        for file in fs::read_dir(folder).unwrap() {
            let file = file.unwrap();
            if !file.path().is_file() || file.file_name() == "SOURCE.txt" {
                continue;
            }
            let text = fs::read_to_string(file.path()).unwrap();
            // Without the header.
            lines += text.lines().count() - 1;
            scratch.file(file.file_name().to_str().unwrap(), text.as_bytes());
        }
        if lines == 0 {
            // Its files are in directories.
            continue;
        }
        convert_and_verify(&scratch, trace, &[]);
        let tables = trace.tables.iter().map(|table| &*table.name);
        let read: usize = tables.map(|table| rows(&scratch.out(), table).len()).sum();
        assert_eq!(read, lines, "{}", trace.name);
        seen += 1;
    }
    assert_eq!(seen, 4);
}
