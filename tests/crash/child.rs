//! A run of the program that can be watched, signalled and measured while it works.

use std::fs;
use std::io::{BufRead, BufReader, PipeReader, PipeWriter, Read, Write, pipe};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{OnceLock, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use tracelake_testkit::{Run, Scratch, generate, program, trace};

/// The longest time that counts as at once.
pub(crate) const AT_ONCE: Duration = Duration::from_secs(5);

/// How long anything may take before it counts as hanging.
pub(crate) const HANGS: Duration = Duration::from_secs(60);

/// A source that keeps the program busy for a while, and the lake of an undisturbed run; made once,
/// never changed.
pub(crate) fn busy() -> &'static Scratch {
    static BUSY: OnceLock<Scratch> = OnceLock::new();
    BUSY.get_or_init(|| {
        let scratch = Scratch::new();
        fs::remove_dir(scratch.src()).unwrap();
        let size = ["--parts", "4", "--rows", "60000"];
        generate(&trace().name, &scratch.src(), &size);
        scratch.convert_well(&[]);
        scratch
    })
}

/// A run of `convert` that reports its events as JSON lines.
pub(crate) struct Working {
    child: Child,
    stderr: BufReader<PipeReader>,
    /// The other end, which the program writes to.
    writer: PipeWriter,
    said: String,
}

/// The bytes a pipe is filled with, which the program never says; shorter than any event, so that no
/// event finds room where this does not.
const FILLER: &str = "\0\0\0\0\0\0\0\0";

impl Working {
    /// Starts with one thread, so that the work takes its time.
    pub(crate) fn start(src: &Path, out: &Path, more: &[&str]) -> Self {
        Self::start_under(program(), src, out, more)
    }

    /// Like [`Self::start`], by a command that becomes the program, such as `strace -D`.
    pub(crate) fn start_under(mut command: Command, src: &Path, out: &Path, more: &[&str]) -> Self {
        command.arg("convert").args([src, out]);
        command.args(["--threads", "1", "--progress", "json"]);
        command.args(more);
        Self::start_as_it_is(command)
    }

    /// Starts a command that has all of its arguments.
    pub(crate) fn start_as_it_is(mut command: Command) -> Self {
        let (reader, writer) = pipe().unwrap();
        let child = command
            .stdout(Stdio::null())
            .stderr(writer.try_clone().unwrap())
            .spawn()
            .unwrap();
        Self {
            child,
            stderr: BufReader::new(reader),
            writer,
            said: String::new(),
        }
    }

    /// Fills the pipe that the program reports its events to: its next event holds it until the test
    /// reads, and it cannot end without reporting something.
    pub(crate) fn hold(&self) {
        let mut writer = self.writer.try_clone().unwrap();
        let (tell, told) = mpsc::channel();
        thread::spawn(move || {
            while writer.write_all(FILLER.as_bytes()).is_ok() && tell.send(()).is_ok() {}
        });
        told.recv().unwrap();
        while told.recv_timeout(Duration::from_millis(200)).is_ok() {}
    }

    /// Whether it ends within this time; nothing of what it says is read.
    pub(crate) fn ends_within(&mut self, limit: Duration) -> bool {
        let begun = Instant::now();
        while self.child.try_wait().unwrap().is_none() {
            if begun.elapsed() > limit {
                return false;
            }
            thread::sleep(Duration::from_millis(2));
        }
        true
    }

    /// Waits for the first line that holds `text`.
    pub(crate) fn wait_for(&mut self, text: &str) {
        loop {
            let mut line = String::new();
            let read = self.stderr.read_line(&mut line).unwrap();
            assert!(read > 0, "ended before '{text}': {}", self.said);
            self.said += &line;
            if line.contains(text) {
                return;
            }
        }
    }

    /// Sends a signal by its name.
    pub(crate) fn signal(&self, name: &str) {
        Self::signal_to(name, self.child.id());
    }

    /// Sends a signal to the first child of the command, such as the program that `unshare --fork` runs.
    pub(crate) fn signal_to_its_child(&self, name: &str) {
        let parent = self.child.id();
        let children = fs::read_to_string(format!("/proc/{parent}/task/{parent}/children"));
        let child = children
            .unwrap()
            .split(' ')
            .next()
            .unwrap()
            .parse()
            .unwrap();
        Self::signal_to(name, child);
    }

    fn signal_to(name: &str, process: u32) {
        let kill = format!("kill -{name} {process}");
        assert!(
            Command::new("sh")
                .args(["-c", &kill])
                .status()
                .unwrap()
                .success()
        );
    }

    /// Waits for the end; all that was said is in `stderr`, the code of a killed one is -1.
    pub(crate) fn end(mut self) -> (Run, Duration) {
        let begun = Instant::now();
        // With a writer left, there would be no end to read to.
        drop(self.writer);
        self.stderr.read_to_string(&mut self.said).unwrap();
        let code = self.child.wait().unwrap().code().unwrap_or(-1);
        let (stdout, stderr) = (String::new(), self.said.replace(FILLER, ""));
        let run = Run {
            code,
            stdout,
            stderr,
        };
        (run, begun.elapsed())
    }
}

/// Runs a command that says little, and returns the most memory that it ever held, in bytes; one
/// that hangs is killed and has the code -9.
pub(crate) fn measured(mut command: Command) -> (Run, u64) {
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let (mut stdout, mut stderr) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
    let said = thread::spawn(move || {
        let mut said = Vec::new();
        stderr.read_to_end(&mut said).unwrap();
        said
    });
    let data = thread::spawn(move || {
        let mut data = Vec::new();
        stdout.read_to_end(&mut data).unwrap();
        data
    });
    let (begun, mut peak) = (Instant::now(), 0);
    let code = loop {
        // The kernel keeps the high-water mark, so the last look before the end is the truth.
        let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
        // Until it is the program, it is a copy of this process, with all the memory that this has.
        let status = status.strip_prefix("Name:\ttracelake").unwrap_or_default();
        let mark = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = mark.and_then(|mark| mark.trim().trim_end_matches(" kB").parse::<u64>().ok());
        peak = peak.max(kib.unwrap_or_default() * 1024);
        if let Some(status) = child.try_wait().unwrap() {
            break status.code().unwrap_or(-1);
        }
        if begun.elapsed() > HANGS {
            child.kill().unwrap();
            child.wait().unwrap();
            break -9;
        }
        thread::sleep(Duration::from_millis(2));
    };
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    let (stdout, stderr) = (text(data.join().unwrap()), text(said.join().unwrap()));
    let run = Run {
        code,
        stdout,
        stderr,
    };
    (run, peak)
}

/// Runs the program with these arguments; see [`measured`].
pub(crate) fn within_time(arguments: &[&str]) -> Run {
    let mut command = program();
    command.args(arguments);
    measured(command).0
}
