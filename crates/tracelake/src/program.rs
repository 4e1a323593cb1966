//! The program `tracelake`: arguments to options, options to work, outcomes to an exit code.

use std::ffi::{OsStr, OsString};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use crate::{cli, pages, report};
use clap::{CommandFactory, Parser};
#[cfg(unix)]
use signal_hook::consts::SIGXFSZ;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use tracelake_convert::draft::draft;
use tracelake_convert::plan::{Plan, Request};
use tracelake_convert::run::{self, Commit, CommitOptions, Outcome, Room, RunOptions};
use tracelake_convert::{discover, plan};
use tracelake_core::error::{Error, ErrorKind, Result};
use tracelake_core::event::Event;
use tracelake_core::words::for_shell;
use tracelake_generate::{Error as GenerateError, generate_until};
use tracelake_lake::store::{HOME, Unnamed};
use tracelake_location::{Location, redacted};
use tracelake_schema::render;
use tracelake_verify::{Verdict, Verification};
use tracelake_verify::{inspect, release};
use tracing_subscriber::Layer;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use crate::cli::{
    Cli, Command, CommitArgs, CompletionsArgs, ConvertArgs, GenerateArgs, InspectArgs, ManArgs,
    ReleaseArgs, SchemaArgs, SchemaForm, VerifyArgs,
};
use crate::report::{PlannedWork, Reporter};

/// The exit code of a run that is done, but rejected rows.
const REJECTED: u8 = 3;

/// The exit code of a run that is done.
const DONE: u8 = 0;

/// Runs the program and returns its exit code. `arguments` begins with the name of the program.
///
/// The binary `tracelake` is this function. It lives in the library so that another front end, such
/// as a Python console script, can be the same program. It writes to stdout and stderr and installs
/// signal handlers, so call it from nothing but a front end.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    // Silent unless asked for: RUST_LOG=debug shows what the libraries say.
    let asked = std::env::var("RUST_LOG")
        .ok()
        .filter(|asked| !asked.is_empty());
    let filter: Option<Targets> = asked.and_then(|asked| asked.parse().ok());
    let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr);
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let warnings = report::LoggedWarnings {
        in_json: wants_json(&arguments),
    };
    let logging = tracing_subscriber::registry()
        .with(lines.with_filter(filter.unwrap_or_default()))
        .with(warnings.with_filter(report::LoggedWarnings::filter()))
        .try_init();
    if let Err(error) = logging {
        // Another logger of the same process stays in place.
        tracing::debug!("{error}");
    }
    let cli = match parsed(&arguments) {
        Ok(cli) => cli,
        Err(answer) => return not_a_command(&answer, wants_json(&arguments)),
    };
    let outcome = match cli.command {
        Command::Convert(args) => Ok(convert(&args)),
        Command::Commit(args) => Ok(commit(&args)),
        Command::Verify(args) => Ok(verify(&args)),
        Command::Release(args) => release(&args),
        Command::Inspect(args) => inspect(&args),
        Command::Schema(args) => schema(&args),
        Command::Generate(args) => generate(&args),
        Command::Check(_) => Err(elsewhere("check", "check")),
        Command::Report(_) => Err(elsewhere("report", "report")),
        Command::Derive(_) => Err(elsewhere("derive", "check")),
        Command::Completions(args) => completions(&args),
        Command::Man(args) => man(&args),
    };
    outcome.unwrap_or_else(|error| {
        report::error(&error);
        exit_code(error.kind())
    })
}

/// Reads the arguments. What is wrong with them is said without the secrets that they may hold.
fn parsed(arguments: &[OsString]) -> std::result::Result<Cli, clap::Error> {
    let answer = match Cli::try_parse_from(arguments) {
        Ok(cli) => return Ok(cli),
        Err(answer) => answer,
    };
    let shown: Vec<OsString> = arguments
        .iter()
        .map(|argument| match redacted(&argument.to_string_lossy()) {
            shown if shown == argument.to_string_lossy() => argument.clone(),
            shown => shown.into(),
        })
        .collect();
    if shown == arguments {
        return Err(answer);
    }
    Err(match Cli::try_parse_from(&shown) {
        Err(answer) => answer,
        Ok(_) => Cli::command().error(
            clap::error::ErrorKind::InvalidValue,
            "an argument that holds a URL is wrong",
        ),
    })
}

/// Whether the arguments ask for JSON lines, even if they are wrong.
fn wants_json(arguments: &[OsString]) -> bool {
    let mut pairs = arguments.windows(2).map(|pair| (&pair[0], &pair[1]));
    pairs.any(|(option, value)| option == "--progress" && value == "json")
        || arguments
            .iter()
            .any(|argument| argument == "--progress=json")
}

pub use crate::cli::keywords::{Keyword, keywords};

/// The request of `tracelake convert` arguments, for a front end that carries it out itself.
#[derive(Debug)]
pub struct Conversion {
    /// The request.
    pub request: Request,
    /// The lake.
    pub out: Location,
    arguments: Box<ConvertArgs>,
}

impl Conversion {
    /// How the run is carried out.
    #[must_use]
    pub fn run_options<'a>(&self, stop: &'a Arc<AtomicUsize>) -> RunOptions<'a> {
        self.arguments.run_options(stop)
    }
}

/// Reads the arguments of `tracelake convert`, without the name of the program and of the command.
///
/// # Errors
/// [`ErrorKind::Usage`], as the program would say it.
pub fn conversion(arguments: impl IntoIterator<Item = OsString>) -> Result<Conversion> {
    let start = ["tracelake", "convert"].map(OsString::from);
    let arguments: Vec<OsString> = start.into_iter().chain(arguments).collect();
    let cli = parsed(&arguments).map_err(|answer| {
        let text = answer.to_string();
        let reason = text.lines().next().unwrap_or_default();
        let reason = reason.strip_prefix("error: ").unwrap_or(reason);
        Error::new(ErrorKind::Usage, reason).because(answer)
    })?;
    let Command::Convert(args) = cli.command else {
        unreachable!("the arguments begin with `convert`");
    };
    Ok(Conversion {
        request: args.request()?,
        out: args.out()?,
        arguments: args,
    })
}

/// The number of processors that this process may use: the default number of threads.
#[must_use]
pub fn all_threads() -> usize {
    cli::all_threads()
}

/// Prints the help, the version or what is wrong with the arguments.
fn not_a_command(answer: &clap::Error, wants_json: bool) -> u8 {
    if wants_json && answer.use_stderr() {
        let text = answer.to_string();
        let reason = text.lines().next().unwrap_or_default();
        let reason = reason.strip_prefix("error: ").unwrap_or(reason);
        report::json_error(&Error::new(ErrorKind::Usage, reason));
        return exit_code(ErrorKind::Usage);
    }
    let printed = report::unless_closed(answer.print());
    match printed {
        // Without stderr the exit code is all that can be said.
        Err(error) if !answer.use_stderr() => {
            report::error(&cannot_print(error));
            exit_code(ErrorKind::Failed)
        }
        _ => u8::try_from(answer.exit_code()).expect("clap exits with 0 or 2"),
    }
}

fn exit_code(kind: ErrorKind) -> u8 {
    u8::try_from(kind.exit_code()).expect("exit codes are below 256")
}

fn convert(args: &ConvertArgs) -> u8 {
    let mut reporter = Reporter::new(args.progress);
    convert_with(args, &mut reporter).unwrap_or_else(|error| {
        reporter.error(&error);
        exit_code(error.kind())
    })
}

fn convert_with(args: &ConvertArgs, reporter: &mut Reporter) -> Result<u8> {
    let request = args.request()?;
    let out = args.out()?;
    let plan = plan::plan(&request).map_err(|error| hint_swapped(error, &request.source, &out))?;
    discover::refuse_inside(&request.source, &out)?;
    let stop = stop_on_signals()?;
    let run_options = args.run_options(&stop);
    let plan_file = args
        .shard
        .map(|shard| plan.to_file(shard.of, args.max_rejects));
    let shared = plan_file.as_ref().zip(args.shard);
    if args.dry_run {
        warn(&plan, reporter);
        let found = run::preview(&plan, &out, run_options)?;
        let room = Room::of(&plan, &found, &out, run_options);
        let text =
            report::plan_text(&plan, &found, shared) + &report::room_text(&room, &run_options);
        print(&text)?;
        if !args.ignore_disk_space {
            room.check(&out)?;
        }
        return Ok(DONE);
    }
    // How many parts a file is cut into is known when it was read.
    let (parts, bytes) = match shared {
        None => (plan.parts().count() as u64, plan.bytes()),
        Some((file, shard)) => file.share(shard.index),
    };
    reporter.start(PlannedWork {
        command: "convert",
        parts: plan.streams.is_empty().then_some(parts),
        bytes,
        shard: args.shard,
    });
    warn(&plan, reporter);
    let outcome = run::convert(&plan, &out, run_options, &|event| reporter.show(event))?;
    reporter.finish();
    report::print_conversion_summary(reporter, &plan, &out, &outcome);
    Ok(done(&outcome))
}

/// The exit code of a run that ended well.
fn done(outcome: &Outcome) -> u8 {
    match outcome.manifest.rows_rejected() {
        0 => DONE,
        _ => REJECTED,
    }
}

fn commit(args: &CommitArgs) -> u8 {
    let mut reporter = Reporter::new(args.progress);
    commit_with(args, &mut reporter).unwrap_or_else(|error| {
        reporter.error(&error);
        exit_code(error.kind())
    })
}

fn commit_with(args: &CommitArgs, reporter: &mut Reporter) -> Result<u8> {
    let stop = stop_on_signals()?;
    let out = Location::parse(args.out.as_os_str())?.interrupted_by(&run::until_stopped(&stop));
    let commit = Commit::open(&out, Duration::ZERO)?;
    reporter.start(PlannedWork {
        command: "commit",
        parts: None,
        bytes: commit.bytes(),
        shard: None,
    });
    let mut options = CommitOptions::new(args.threads(), &stop);
    options.max_rejects = args.max_rejects;
    if args.remove_unnamed {
        options.unnamed = Unnamed::Remove;
    }
    options.verify_outputs = args.verify_outputs;
    let outcome = commit.finish(options, &|event| reporter.show(event))?;
    reporter.finish();
    report::committed(reporter, &outcome);
    Ok(done(&outcome))
}

fn warn(plan: &Plan, reporter: &Reporter) {
    for warning in &plan.warnings {
        reporter.show(Event::Warning(warning.clone()));
    }
}

/// Says so when SRC doesn't exist or is a lake, and OUT is a source: the two were probably swapped.
fn hint_swapped(error: Error, source: &Location, out: &Location) -> Error {
    let may_be_lake = source
        .as_path()
        .is_some_and(|source| !source.exists() || source.join(HOME).is_dir());
    if !may_be_lake || !discover::is_source(out) {
        return error;
    }
    error.hint(format!(
        "{out} is a source: name the source first, as in tracelake convert {} {}",
        for_shell(out),
        for_shell(source)
    ))
}

/// Lets SIGINT and SIGTERM ask for a stop; the second one ends the program at once. A signal that the
/// caller ignores, as `nohup` and shells do for background jobs, stays ignored.
fn stop_on_signals() -> Result<Arc<AtomicUsize>> {
    let stop = Arc::new(AtomicUsize::new(0));
    let deaf = |error| {
        Error::new(
            ErrorKind::Failed,
            format!("cannot listen to signals: {error}"),
        )
    };
    let asked = Arc::new(AtomicBool::new(false));
    let ignored = ignored_signals();
    for signal in [SIGINT, SIGTERM] {
        if ignored >> (signal - 1) & 1 == 1 {
            continue;
        }
        let number = usize::try_from(signal).expect("signals have positive numbers");
        flag::register_conditional_shutdown(signal, 128 + signal, Arc::clone(&asked))
            .and_then(|_| flag::register(signal, Arc::clone(&asked)))
            .and_then(|_| flag::register_usize(signal, Arc::clone(&stop), number))
            .map_err(deaf)?;
    }
    // Without a handler, a file size limit ends the program; with one, the write fails and the error says so.
    #[cfg(unix)]
    flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false))).map_err(deaf)?;
    Ok(stop)
}

/// The signals that were ignored when the program started, as a mask whose lowest bit is signal 1. Linux
/// alone shows without unsafe code; elsewhere none.
fn ignored_signals() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let hex = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = hex.and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok());
    mask.unwrap_or_default()
}

fn verify(args: &VerifyArgs) -> u8 {
    let mut reporter = Reporter::new(args.progress);
    verify_with(args, &mut reporter).unwrap_or_else(|error| {
        reporter.error(&error);
        exit_code(error.kind())
    })
}

fn verify_with(args: &VerifyArgs, reporter: &mut Reporter) -> Result<u8> {
    let source = args
        .source
        .as_deref()
        .map(|source| Location::parse(source.as_os_str()))
        .transpose()?;
    let verification =
        Verification::open(&Location::parse(args.out.as_os_str())?, source.as_ref())?;
    reporter.start(PlannedWork {
        command: "verify",
        parts: Some(verification.parts()),
        bytes: verification.bytes(),
        shard: None,
    });
    let verdict = verification.run(cli::all_threads(), &|event| reporter.show(event))?;
    reporter.finish();
    if args.json {
        print(&report::verdict_json(&verdict))?;
    } else {
        report::verified(reporter, &verdict, source.is_some());
    }
    Ok(judged(&verdict))
}

fn judged(verdict: &Verdict) -> u8 {
    verdict.kind().map_or(DONE, exit_code)
}

fn release(args: &ReleaseArgs) -> Result<u8> {
    let reporter = Reporter::new(cli::ProgressArg::None);
    let watch = |event| reporter.show(event);
    let verdict = release::release(
        &Location::parse(args.out.as_os_str())?,
        args.allow(),
        cli::all_threads(),
        &watch,
    )?;
    report::verdict(&verdict, false, reporter.elapsed());
    report::released(&verdict);
    Ok(judged(&verdict))
}

fn inspect(args: &InspectArgs) -> Result<u8> {
    let inventory = inspect::inspect_as(Location::parse(args.path.as_os_str())?, args.trace()?)?;
    if args.json {
        let json = report::inventory_json(&inventory)
            .map_err(|error| Error::new(ErrorKind::Failed, error.to_string()))?;
        print(&json)?;
    } else {
        print(&report::inventory_text(&inventory))?;
    }
    Ok(DONE)
}

fn schema(args: &SchemaArgs) -> Result<u8> {
    if let Some(sample) = &args.new {
        print(&draft(&Location::parse(sample.as_os_str())?)?)?;
        return Ok(DONE);
    }
    let text = match args.subject()? {
        None => render::overview(),
        Some((trace, table)) => match args.form {
            SchemaForm::Text => render::text(trace, table),
            SchemaForm::Json => render::json(trace, table),
            SchemaForm::Duckdb => render::duckdb(trace, table),
            SchemaForm::Spark => render::spark(trace, table),
            SchemaForm::Markdown => render::markdown(trace, table),
            SchemaForm::Checks => render::checks(trace, table),
        },
    };
    print(&text)?;
    Ok(DONE)
}

fn generate(args: &GenerateArgs) -> Result<u8> {
    let reporter = Reporter::generating();
    let begun = std::time::Instant::now();
    let stop = stop_on_signals()?;
    let watch = |table: &str, part, rows| {
        reporter.generated(table, part, rows);
        match stop.load(Ordering::Relaxed) {
            0 => ControlFlow::Continue(()),
            _ => ControlFlow::Break(()),
        }
    };
    let out = on_disk(args.out.as_os_str())?;
    let made = generate_until(args.trace()?, &out, &args.options(), &watch);
    reporter.finish();
    let made = made.map_err(|error| {
        let signal = i32::try_from(stop.load(Ordering::Relaxed));
        let signal = signal.expect("0 or the number of a signal");
        let kind = match error {
            GenerateError::Options(_) | GenerateError::Unsupported(_) => ErrorKind::Usage,
            GenerateError::NotEmpty(_) | GenerateError::Unfinished(_) => ErrorKind::Refused,
            GenerateError::Stopped(_) => ErrorKind::Stopped(signal),
            _ => ErrorKind::Failed,
        };
        Error::new(kind, error.to_string()).because(error)
    })?;
    report::generated(&made, begun.elapsed());
    Ok(DONE)
}

/// The directory that a trace is generated into, which a URL can't be.
///
/// # Errors
/// [`ErrorKind::Usage`] for a URL, and as [`Location::parse`].
pub fn on_disk(out: &OsStr) -> Result<PathBuf> {
    match Location::parse(out)? {
        Location::Disk(path) => Ok(path),
        Location::Url(url) => Err(
            Error::new(ErrorKind::Usage, "a trace is generated on a disk")
                .at(url.to_string())
                .hint("name a directory"),
        ),
    }
}

/// The error for a command of the Python package, whose own program carries it out before.
fn elsewhere(command: &str, extra: &str) -> Error {
    let reason =
        format!("{command} is a command of the Python package, and this is the program alone");
    Error::new(ErrorKind::Usage, reason).hint(cli::in_python(extra))
}

fn completions(args: &CompletionsArgs) -> Result<u8> {
    print(&pages::completions(Cli::command(), args.shell))?;
    Ok(DONE)
}

fn man(args: &ManArgs) -> Result<u8> {
    let name = args.command.as_deref();
    let page = pages::man(Cli::command(), name).ok_or_else(|| {
        let name = name.expect("tracelake itself has a page");
        Error::new(ErrorKind::Usage, format!("there is no command {name:?}"))
            .hint("`tracelake --help` lists the commands")
    })?;
    print(&page)?;
    Ok(DONE)
}

fn print(text: &str) -> Result<()> {
    report::print(text).map_err(cannot_print)
}

fn cannot_print(error: std::io::Error) -> Error {
    Error::new(
        ErrorKind::Failed,
        format!("cannot write to stdout: {error}"),
    )
    .because(error)
}
