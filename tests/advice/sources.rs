//! Sources: what is there, what isn't, and what it's named.

use std::fs;

use tracelake_testkit::{Scratch, good_line, gzip};

use super::{Advice, CONVERT, advice, change, good, remove, rename, retype};
use crate::described::language::one_table;
use crate::streams::{tar, tar_gz};

const HASH: &str = "HofLGzk1Or/8Ildj2+Lqv0UGGvY82NLoni8+J/Yy0RU=";

const SHARD: &str = "instance_usage-000000000000.json.gz";

const META: &str = "m_1,0,219,17,96,100,USING\n";

/// Writes a description of readings, whose table has these lines.
fn readings(scratch: &Scratch, table: &str) {
    let text = one_table(table, &[("time", "kind = \"integer\"")]);
    fs::write(scratch.path().join("weather.toml"), text).unwrap();
}

const DESCRIBED: &str = "convert SRC OUT --trace DIR/weather.toml";

/// A file alone at the top of the source, which is replaced by a table.
const fn instead(says: &'static str, make: fn(&Scratch)) -> Advice {
    change(says, make, CONVERT, |s| {
        for entry in fs::read_dir(s.src()).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => fs::remove_dir_all(path).unwrap(),
                false => fs::remove_file(path).unwrap(),
            }
        }
        good(s);
    })
}

pub(super) const ADVICE: &[Advice] = &[
    // Nothing to convert.
    instead("a 7z archive; unpack it first", |s| {
        s.file("job_events.7z", b"7z")
    }),
    instead(
        "a download that hasn't finished; finish the download",
        |s| s.file("job_events.csv.gz.aria2", b""),
    ),
    retype(
        "pass --source-form json or --source-form parquet",
        |s| {
            s.file("instance_usage-000000000000.parquet.gz", b"PAR1");
            s.file(SHARD, &gzip(b"{\"start_time\":\"1\"}\n"));
        },
        CONVERT,
        "convert SRC OUT --source-form json",
    ),
    retype(
        "leave --source-form out, or download these files",
        |s| s.file(SHARD, &gzip(b"{\"start_time\":\"1\"}\n")),
        "convert SRC OUT --source-form parquet",
        CONVERT,
    ),
    instead(
        "no known table has a file of this name; if no known trace has it, describe it: tracelake schema --new",
        |s| s.file("usage.parquet", b"PAR1"),
    ),
    instead("a spreadsheet; use the published file", |s| {
        s.file("usage.xlsx", b"PK")
    }),
    instead("download instance_usage-*.json.gz", |s| {
        s.file("instance_usage.csv", b"1,2\n")
    }),
    instead(
        "expected the directories and files of a published trace, with their published names",
        |_| {},
    ),
    change(
        "expected files such as job_events/part-00000-of-00500.csv.gz",
        |_| {},
        "convert SRC OUT --trace google-2011-v2.1",
        good,
    ),
    change(
        "expected files such as readings-1.csv",
        |s| {
            readings(
                s,
                "files = \"named\"\nnames = [\"readings-{n}.csv\"]\nfirst = 1",
            )
        },
        DESCRIBED,
        |s| s.file("readings-1.csv", b"1\n"),
    ),
    retype(
        "to convert it alone, name the file itself",
        |s| {
            s.file(
                "jobs.csv",
                format!("600,,3418309,0,{HASH},2,{HASH},{HASH}\n").as_bytes(),
            )
        },
        CONVERT,
        "convert SRC/jobs.csv OUT",
    ),
    change(
        "such as part-00000-of-00500.csv.gz: rename it",
        |s| s.file("job_events/a.csv", good_line("job_events").as_bytes()),
        CONVERT,
        |s| rename(s, "job_events/a.csv", "job_events/part-00000-of-00001.csv"),
    ),
    change(
        "rename it to borg_traces_data.csv",
        |s| s.file("archive.csv", header("borg_traces_data").as_bytes()),
        CONVERT,
        |s| rename(s, "archive.csv", "borg_traces_data.csv"),
    ),
    change(
        "rename it to job_events, if it is that table",
        |s| {
            s.part(
                "clusterdata-job_events",
                0,
                1,
                good_line("job_events").as_bytes(),
            )
        },
        CONVERT,
        |s| rename(s, "clusterdata-job_events", "job_events"),
    ),
    retype(
        "to convert it, name backup as SRC",
        |s| {
            s.part(
                "backup/job_events",
                0,
                1,
                good_line("job_events").as_bytes(),
            )
        },
        CONVERT,
        "convert SRC/backup OUT",
    ),
    retype(
        "describe it: tracelake schema --new",
        |s| s.file("x.csv", b"4,a\n5,b\n"),
        "convert SRC/x.csv OUT",
        "schema --new SRC/x.csv",
    ),
    // Which trace.
    retype(
        "if it is machine_events of google-2011-v2.1, pass --trace google-2011-v2.1 --tables machine_events",
        |s| s.file("x.csv", format!("0,5,0,{HASH},0.5,0.2493\n").as_bytes()),
        "convert SRC/x.csv OUT",
        "convert SRC/x.csv OUT --trace google-2011-v2.1 --tables machine_events",
    ),
    retype(
        "this looks like alibaba-2018: leave --trace out, or pass --trace alibaba-2018",
        |s| s.file("x.csv", META.repeat(9).as_bytes()),
        "convert SRC/x.csv OUT --trace google-2011-v2.1",
        "convert SRC/x.csv OUT",
    ),
    retype(
        "name the trace with --trace; tracelake schema lists them",
        |s| {
            good(s);
            s.file("machine_meta.csv", META.as_bytes());
        },
        CONVERT,
        "convert SRC OUT --trace alibaba-2018",
    ),
    retype(
        "name the trace with --trace: azure-vm-2017 or azure-vm-2019",
        |s| {
            s.file(
                "vmtable.csv.gz",
                &gzip(b"v,s,d,0,300,100,3.4,10.1,Interactive,1,1.75\n"),
            )
        },
        CONVERT,
        "convert SRC OUT --trace azure-vm-2017",
    ),
    retype(
        "name the trace with --trace: alibaba-2017 or alibaba-2018",
        |s| s.file("download.tar.gz", &tar_gz(&[("machine_meta.csv", META)])),
        "convert SRC/download.tar.gz OUT",
        "convert SRC/download.tar.gz OUT --trace alibaba-2018",
    ),
    change(
        "convert the published collection_events-*.json.gz; an export in another format can't be read",
        |s| s.file("collection_events.csv", b"time,collection_id\n1,2\n"),
        "convert SRC/collection_events.csv OUT",
        |s| s.file("collection_events.csv", b"{\"time\":\"0\"}\n"),
    ),
    retype(
        "name the table with --tables, or put the file into a directory of its name",
        |s| s.file("x.csv.gz", &gzip(b"")),
        "convert SRC/x.csv.gz OUT",
        "convert SRC/x.csv.gz OUT --tables job_events",
    ),
    retype(
        "leave it out of --tables, or download it",
        good,
        "convert SRC OUT --tables task_usage",
        CONVERT,
    ),
    retype(
        "it has a name of azure-vm-2019; this looks like azure-vm-2019: leave --trace out",
        |s| {
            s.file(
                "vm_cpu_readings-file-3-of-195.csv.gz",
                &gzip(b"300,a,1,2,1.5\n"),
            )
        },
        "convert SRC/vm_cpu_readings-file-3-of-195.csv.gz OUT --trace azure-vm-2017",
        "convert SRC/vm_cpu_readings-file-3-of-195.csv.gz OUT",
    ),
    // Parts.
    retype(
        "download them, or pass --allow-missing to convert the others",
        |s| s.part("job_events", 0, 2, b""),
        CONVERT,
        "convert SRC OUT --allow-missing",
    ),
    retype(
        "1 part is missing: 1; download them, or pass --allow-missing",
        |s| s.part("job_events", 0, 2, b""),
        "inspect SRC",
        "inspect SRC --allow-missing",
    ),
    change(
        "as job_events/part-00000-of-00001.csv; move one of them away",
        |s| {
            good(s);
            s.file("job_events/part-00000-of-00001.csv", b"");
        },
        CONVERT,
        |s| remove(s, "job_events/part-00000-of-00001.csv"),
    ),
    change(
        "file number 3 is not below 3; rename it, or move it away",
        |s| s.part("job_events", 3, 3, b""),
        "convert SRC OUT --allow-missing",
        |s| {
            rename(
                s,
                "job_events/part-00003-of-00003.csv.gz",
                "job_events/part-00002-of-00003.csv.gz",
            )
        },
    ),
    retype(
        "move one kind away, or pass --allow-missing to take both",
        |s| {
            s.part("job_events", 0, 2, b"");
            s.part("job_events", 1, 3, b"");
        },
        CONVERT,
        "convert SRC OUT --allow-missing",
    ),
    retype(
        "change --parts: job_events has part 0",
        good,
        "convert SRC OUT --parts 7",
        "convert SRC OUT --parts 0",
    ),
    change(
        "holds the same table as machine_meta.csv; move one of them away",
        |s| {
            s.file("machine_meta.csv", META.as_bytes());
            s.file("machine_meta.csv.gz", &gzip(META.as_bytes()));
        },
        CONVERT,
        |s| remove(s, "machine_meta.csv.gz"),
    ),
    change(
        "is here whole and in pieces; move one of them away",
        |s| {
            let tar = tar_gz(&[("machine_meta.csv", META)]);
            s.file("machine_meta.tar.gz", &tar);
            s.file("machine_meta.tar.gz.partaa", &tar);
        },
        CONVERT,
        |s| remove(s, "machine_meta.tar.gz.partaa"),
    ),
    change(
        "download the missing piece",
        |s| {
            let tar = tar_gz(&[("machine_meta.csv", META)]);
            s.file("machine_meta.tar.gz.partaa", &tar[..9]);
            s.file("machine_meta.tar.gz.partac", &tar[9..]);
        },
        CONVERT,
        |s| {
            rename(
                s,
                "machine_meta.tar.gz.partac",
                "machine_meta.tar.gz.partab",
            )
        },
    ),
    change(
        "but is not a file; move it away",
        |s| {
            fs::create_dir_all(s.src().join("job_events/part-00000-of-00001.csv.gz")).unwrap();
        },
        CONVERT,
        |s| {
            remove(s, "job_events");
            good(s);
        },
    ),
    advice(
        "has a control character in its name; rename it",
        |s| s.file("a\u{1}.csv", META.as_bytes()),
        "convert SRC/a\u{1}.csv OUT --tables machine_meta",
        |s| rename(s, "a\u{1}.csv", "a.csv"),
        "convert SRC/a.csv OUT --tables machine_meta",
    ),
    #[cfg(unix)]
    change(
        "name the directory that it points to, or put the file itself here",
        |s| {
            fs::write(s.path().join("jobs"), "600,,3418309,0,,2,,\n").unwrap();
            fs::create_dir(s.src().join("job_events")).unwrap();
            let link = s.src().join("job_events/part-00000-of-00001.csv");
            std::os::unix::fs::symlink(s.path().join("jobs"), link).unwrap();
        },
        CONVERT,
        |s| {
            remove(s, "job_events");
            good(s);
        },
    ),
    change(
        "make the names in the description differ more, or move the file away",
        |s| {
            readings(
                s,
                "files = \"named\"\nnames = [\"{a}{b}.csv\"]\ncaptures = { a = [\"x\", \"xy\"], b = [\"yz\", \"z\"] }",
            );
            s.file("xyz.csv", b"1\n");
        },
        DESCRIBED,
        |s| remove(s, "xyz.csv"),
    ),
    // Archives.
    retype(
        "google-2011-v2.1 is not published in archives; unpack it, and name the directory of its files",
        |s| {
            s.file("x.tar.gz", &tar_gz(&[("a.csv", "1\n")]));
            good(s);
        },
        "convert SRC/x.tar.gz OUT --trace google-2011-v2.1",
        CONVERT,
    ),
    change(
        "may hold the table of machine_meta.csv too; move one of them away",
        |s| {
            s.file("machine_meta.csv", META.as_bytes());
            s.file(
                "clusterdata2018.tar.gz",
                &tar_gz(&[("machine_meta.csv", META)]),
            );
        },
        CONVERT,
        |s| remove(s, "machine_meta.csv"),
    ),
    change(
        "a second member of one table; make an archive of what belongs together",
        |s| {
            s.file(
                "machine_meta.tar.gz",
                &tar_gz(&[("machine_meta.csv", META), ("x/machine_meta.csv", META)]),
            )
        },
        "convert SRC OUT --checksums none",
        |s| {
            s.file(
                "machine_meta.tar.gz",
                &tar_gz(&[("machine_meta.csv", META)]),
            );
        },
    ),
    change(
        "make an archive of what belongs together, with names that differ",
        |s| archived(s, &[("1.csv", "1\n"), ("x/1.csv", "1\n")]),
        DESCRIBED,
        |s| archived(s, &[("1.csv", "1\n"), ("2.csv", "1\n")]),
    ),
    advice(
        "download it again; if it's complete, unpack it and pass --allow-missing",
        |s| archived(s, &[("1.csv", "1\n"), ("3.csv", "1\n")]),
        "convert SRC OUT --trace DIR/weather.toml --allow-missing",
        |s| {
            remove(s, "machines.tar");
            s.file("1.csv", b"1\n");
            s.file("3.csv", b"1\n");
        },
        "convert SRC DIR/new --trace DIR/weather.toml --allow-missing",
    ),
    change(
        "if it holds archives, unpack it and name their directory",
        |s| s.file("machine_meta.tar.gz", &tar_gz(&[("readme.txt", "x")])),
        CONVERT,
        |s| {
            remove(s, "machine_meta.tar.gz");
            s.file("machine_meta.csv", META.as_bytes());
        },
    ),
    change(
        "if it holds archives or compressed files, unpack it and name their directory",
        |s| {
            readings(s, CALLS);
            s.file("calls_0.tar.gz", &tar_gz(&[("readme.txt", "x")]));
        },
        DESCRIBED,
        |s| s.file("calls_0.tar.gz", &tar_gz(&[("a.csv", "1\n")])),
    ),
    change(
        "unpack it, and describe the names of the files in it",
        |s| {
            readings(s, CALLS);
            s.file(
                "calls_0.tar.gz",
                &tar_gz(&[("a.csv", "1\n"), ("b.csv", "2\n")]),
            );
        },
        DESCRIBED,
        |s| {
            remove(s, "calls_0.tar.gz");
            s.file("a.csv", b"1\n");
            readings(s, "files = \"named\"\nnames = [\"a.csv\"]");
        },
    ),
    change(
        "this is not a tar archive, or not a whole one: download it again",
        |s| s.file("machine_meta.tar.gz", &gzip(&vec![b'x'; 1024])),
        "convert SRC OUT --checksums none",
        |s| {
            s.file(
                "machine_meta.tar.gz",
                &tar_gz(&[("machine_meta.csv", META)]),
            )
        },
    ),
    // Cells.
    change(
        "move it into the directory of its cell, or name one cell's directory as SRC",
        |s| {
            s.file(
                "clusterdata_2019_a/machine_events-000000000000.json.gz",
                &gzip(b"{\"time\":\"0\"}\n"),
            );
            s.file(
                "machine_attributes-000000000000.json.gz",
                &gzip(b"{\"time\":\"0\"}\n"),
            );
        },
        "convert SRC OUT --trace borg-2019",
        |s| remove(s, "machine_attributes-000000000000.json.gz"),
    ),
    retype(
        "google-2011-v2.1 is not published by cell; leave --cell out",
        good,
        "convert SRC OUT --cell a",
        CONVERT,
    ),
    retype(
        "its cells are a, b, c",
        shard,
        "convert SRC OUT --cell z",
        "convert SRC OUT --cell a",
    ),
    retype(
        "leave --cell out, or name the directory of cell b, such as clusterdata_2019_b",
        |s| {
            s.file(
                "clusterdata_2019_a/machine_events-000000000000.json.gz",
                &gzip(b"{\"time\":\"0\"}\n"),
            )
        },
        "convert SRC OUT --cell b",
        CONVERT,
    ),
    // SRC and OUT.
    advice(
        "check the path: SRC is the directory or file that was downloaded, or a URL",
        |_| {},
        "convert SRC/nosuch OUT",
        |s| s.file("nosuch/machine_meta.csv", META.as_bytes()),
        "convert SRC/nosuch OUT",
    ),
    retype(
        "name a directory for the lake that is outside the source",
        good,
        "convert SRC SRC/lake",
        CONVERT,
    ),
    retype(
        "name the source first, as in tracelake convert",
        |s| {
            good(s);
            fs::create_dir_all(s.out().join("_tracelake")).unwrap();
        },
        "convert OUT SRC",
        "convert SRC DIR/new",
    ),
    retype(
        "name the source first and the lake second: tracelake convert SRC OUT",
        |s| {
            good(s);
            fs::create_dir_all(s.out().join("_tracelake")).unwrap();
        },
        "convert OUT DIR/new",
        "convert SRC DIR/new",
    ),
];

/// An archive of these parts, and its description.
fn archived(scratch: &Scratch, members: &[(&str, &str)]) {
    let members = members.iter().map(|(name, text)| (*name, text.as_bytes()));
    let archive = tar(&members.collect::<Vec<_>>());
    scratch.file("machines.tar", &archive);
    readings(
        scratch,
        "files = \"named\"\nnames = [\"{n}.csv\"]\nfirst = 1",
    );
    let file = scratch.path().join("weather.toml");
    let text = fs::read_to_string(&file).unwrap().replace(
        "[[table]]",
        &format!(
            "[[trace.archive]]\nnames = [\"machines.tar\"]\nsha256 = \"{}\"\nsize = \"1K\"\n[[table]]",
            tracelake_testkit::sha256(&archive)
        ),
    );
    fs::write(file, text).unwrap();
    let _ = fs::remove_dir_all(scratch.out());
}

const CALLS: &str = "files = \"named\"\nnames = [\"calls_{n}.tar.gz\"]";

fn shard(scratch: &Scratch) {
    scratch.file(
        "machine_events-000000000000.json.gz",
        &gzip(b"{\"time\":\"0\"}\n"),
    );
}

/// The published header of a table.
fn header(name: &str) -> String {
    let mut tables = tracelake_schema::TRACES
        .iter()
        .filter_map(|trace| trace.table(name));
    let table = tables.next().unwrap();
    let names = table
        .fields
        .iter()
        .map(|&index| &*table.columns[index].content);
    names.collect::<Vec<_>>().join(",") + "\n"
}
