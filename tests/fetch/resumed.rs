//! Interrupted, and run again.

use std::fs;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::sleep;
use std::time::Duration;

use super::{MOON, PART, Station, below, damaged, moon, serve};
use tracelake_testkit::server::{Answer, Asked, Server};
use tracelake_testkit::{ended, gzip, plain};

/// Whether a request is for a part, from this byte on.
fn is_from(asked: &Asked, start: usize) -> bool {
    asked.path.ends_with(PART) && asked.range().is_some_and(|(from, _)| from >= start)
}

/// Fetches a part from a server that dies in its middle; then from one with the same files.
#[test]
fn a_file_is_resumed_in_the_middle() {
    const MIDDLE: usize = 1 << 20;
    let dies = Arc::new(AtomicBool::new(true));
    let alive = Arc::clone(&dies);
    let (server, files) = serve(false, move |asked| {
        match is_from(asked, MIDDLE) && alive.load(Ordering::Relaxed) {
            true => Answer::Status(403, Vec::new(), String::new()),
            false => Answer::Well,
        }
    });
    let station = Station::new(&server, MOON);
    let only = ["--tables", "jobs", "--parts", "1"];
    station.fetch(&only).refuses(1, "403");
    let partial = format!("{PART}.partial");
    let names = [partial.clone(), format!("{partial}.json")];
    assert_eq!(station.names(), names);
    let has = station.files()[&partial].len();
    assert!(0 < has && has < files[PART].len(), "{has}");
    // `convert` says what such a file is.
    let other = station.dir().join("craters.csv.gz");
    fs::write(&other, &files["craters.csv.gz"]).unwrap();
    let mut convert = plain();
    convert.args(["convert", "--allow-missing"]);
    convert.arg(station.dir()).arg(station.scratch.out());
    convert.arg("--trace").arg(station.description());
    let converted = ended(convert.output().unwrap());
    for ending in ["", ".json"] {
        let says = "it looks like a download that hasn't finished; finish the download";
        converted.prints(&format!("{partial}{ending} is skipped: {says}"));
    }
    fs::remove_file(other).unwrap();

    dies.store(false, Ordering::Relaxed);
    let before = server.asked().len();
    station.fetch(&only).exits(0);
    assert_eq!(station.names(), [PART]);
    assert!(station.files()[PART] == files[PART]);
    let asked = server.asked().split_off(before);
    let asked: Vec<&Asked> = asked.iter().filter(|it| it.path.ends_with(PART)).collect();
    // The size, and then nothing that was there.
    assert!(
        asked[1..].iter().all(|asked| is_from(asked, has)),
        "{asked:?}"
    );
}

/// A file that changed at the server, or that nothing is known of, is begun again.
#[test]
fn a_file_that_changed_is_begun_again() {
    let (server, files) = serve(false, |_| Answer::Well);
    let station = Station::new(&server, MOON);
    let only = ["--tables", "jobs", "--parts", "1"];
    let path = station.dir().join(PART);
    let beside = |ending: &str| path.with_file_name(format!("part-00001-of-00003.csv.gz{ending}"));
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let whole = &files[PART];
    let url = format!("{}/moon/{PART}", server.url());
    let size = whole.len();
    let described = |url: &str, bytes: usize, etag: &str| {
        format!("{{\"url\": \"{url}\", \"bytes\": {bytes}, \"etag\": {etag:?}, \"modified\": 0}}")
    };
    for description in [
        String::new(),
        "no JSON".to_owned(),
        described(&url, size, "\"another\""),
        described(&url, size + 1, "\"another\""),
        described(&url.replace("moon", "sun"), size, "\"another\""),
    ] {
        fs::write(beside(".partial"), b"something else").unwrap();
        match &description[..] {
            "" => {}
            text => fs::write(beside(".partial.json"), text).unwrap(),
        }
        let run = station.fetch(&only);
        assert_eq!(run.code, 0, "{description}: {}", run.stderr);
        assert_eq!(station.names(), [PART], "{description}");
        assert!(fs::read(&path).unwrap() == *whole, "{description}");
        fs::remove_file(&path).unwrap();
    }
}

/// A file that changes while it is read is begun again, at most twice.
#[test]
fn a_file_that_changes_while_it_is_read_is_begun_again() {
    for (changes, code) in [(1, 0), (9, 1)] {
        let count = Mutex::new(0);
        let (server, files) = serve(false, move |asked| {
            let mut count = count.lock().unwrap();
            if is_from(asked, 1 << 20) && *count < changes {
                *count += 1;
            }
            if asked.path.ends_with(PART) && changes > 1 || *count < changes {
                return Answer::Tag(format!("\"{}\"", *count));
            }
            Answer::Well
        });
        let station = Station::new(&server, MOON);
        let run = station.fetch(&["--tables", "jobs", "--parts", "1"]);
        assert_eq!(run.code, code, "{changes}: {}", run.stderr);
        match code {
            0 => assert!(station.files()[PART] == files[PART]),
            _ => run.says("changed while it was read"),
        }
    }
}

/// Kills the program again and again while it fetches many files, each time a few requests later.
#[test]
fn a_killed_fetch_resumes_to_equal_files() {
    const FILES: usize = 200;
    let description = MOON.replace("parts = 3", &format!("parts = {FILES}"));
    let part = |number: usize| format!("jobs/part-{number:05}-of-{FILES:05}.csv.gz");
    let mut files = moon();
    let large = files[PART].clone();
    files.retain(|name, _| !name.starts_with("jobs/"));
    for number in 0..FILES {
        let bytes = match number % 50 {
            0 => large.clone(),
            _ => gzip(format!("{number},x\n").as_bytes()),
        };
        files.insert(part(number), bytes);
    }
    let server = Server::start(below("moon", &files), |_| Answer::Well);
    let station = Station::new(&server, &description);
    let (mut kills, mut interrupted) = (0, 0);
    loop {
        let mut command = station.command(plain(), &[]);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        // Each run asks for the sizes of what is left first.
        let finished = station
            .names()
            .iter()
            .filter(|name| !name.contains(".partial"))
            .count();
        let until = server.asked().len() + FILES - finished + 25;
        let status = loop {
            match child.try_wait().unwrap() {
                Some(status) => break status,
                None if server.asked().len() >= until => child.kill().unwrap(),
                None => sleep(Duration::from_millis(1)),
            }
        };
        for (name, bytes) in station.files() {
            let is_whole = name.contains(".partial") || bytes == files[&name];
            assert!(is_whole, "{name} isn't whole");
            interrupted += usize::from(name.ends_with(".partial") && !bytes.is_empty());
        }
        if status.success() {
            break;
        }
        assert!(status.code().is_none(), "it failed: {status}");
        kills += 1;
        assert!(kills < FILES, "it never ends");
    }
    assert!(kills > 3 && interrupted > 0, "{kills} {interrupted}");
    assert!(station.files() == files, "{:?}", station.names());
}

/// Ctrl-C ends it at once, also while a server is waited for.
#[test]
fn a_signal_stops_it_and_the_next_run_resumes() {
    let (server, files) = serve(true, |asked| {
        match is_from(asked, 1 << 20) && asked.before < 9 {
            true => Answer::Silent,
            false => Answer::Well,
        }
    });
    let station = Station::new(&server, MOON);
    let mut command = station.command(plain(), &[]);
    let child = command.stderr(Stdio::piped()).spawn().unwrap();
    while !server.asked().iter().any(|asked| is_from(asked, 1 << 20)) {
        sleep(Duration::from_millis(1));
    }
    let pid = child.id().to_string();
    assert!(
        Command::new("kill")
            .args(["-INT", &pid])
            .status()
            .unwrap()
            .success()
    );
    let stopped = ended(child.wait_with_output().unwrap());
    stopped.refuses(
        130,
        "stopped; finished files are kept; run the same command again to resume",
    );
    drop(server);
    let (server, _) = serve(true, |_| Answer::Well);
    let text = MOON.replace("SERVER", &server.url());
    fs::write(station.description(), text).unwrap();
    station.fetch(&[]).exits(0);
    assert!(station.files()[PART] == files[PART]);
}

/// A finished file that is wrong is named, and left alone.
#[test]
fn a_finished_file_that_is_wrong_is_not_replaced() {
    let (server, files) = serve(true, |_| Answer::Well);
    let station = Station::new(&server, MOON);
    station.fetch(&[]).exits(0);
    let path = station.dir().join(PART);
    let wrong = damaged(&files[PART]);
    fs::write(&path, &wrong).unwrap();
    let run = station.fetch(&[]);
    run.refuses(5, "and the published one");
    run.says("remove it, and run the same command again");
    assert!(fs::read(&path).unwrap() == wrong);
    fs::remove_file(&path).unwrap();
    station.fetch(&[]).exits(0);
    assert!(fs::read(&path).unwrap() == files[PART]);

    // What a run leaves that is killed just after it has finished a file.
    let names = station.names();
    for ending in [".partial", ".partial.json"] {
        fs::write(station.dir().join(format!("{PART}{ending}")), "{}").unwrap();
    }
    station.fetch(&[]).exits(0);
    assert_eq!(station.names(), names);
}
