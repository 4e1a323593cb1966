//! The program `tracelake`: arguments to options, options to work, outcomes to an exit code.

use std::ffi::{OsStr, OsString};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use crate::{cli, cluster_command, described, descriptors, pages, panics, report};
use clap::{CommandFactory, Parser};
use serde_json::{Value, to_value};
#[cfg(unix)]
use signal_hook::consts::SIGXFSZ;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use tracelake_convert::draft::draft;
use tracelake_convert::given_trace::given_trace;
use tracelake_convert::plan::{Plan, Request};
use tracelake_convert::run::{self, Outcome, Room, RunOptions};
use tracelake_convert::{discover, plan};
use tracelake_core::Context;
use tracelake_core::error::{Error, ErrorKind, Result};
use tracelake_core::redact::redacted;
use tracelake_core::words::for_shell;
use tracelake_lake::{Commit, HOME};
use tracelake_location::Location;
use tracelake_schema::TRACES;
use tracelake_schema::description::JSON_SCHEMA;
use tracelake_verify::since::{self, Changes};
use tracelake_verify::{Verdict, Verification};
use tracelake_verify::{export, inspect, release};
use tracing_subscriber::Layer;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use crate::cli::{
    Cli, Command, CommitArgs, CompletionsArgs, ConvertArgs, ExportArgs, FetchArgs, GenerateArgs,
    InspectArgs, ManArgs, ReleaseArgs, SchemaArgs, VerifyArgs, lake_to_make, limited,
};
use crate::report::{FETCH, PlannedWork, Reporter};

/// The exit code of a run that is done, but rejected rows.
const REJECTED: u8 = 3;

/// The exit code of a run that is done.
const DONE: u8 = 0;

/// Runs the program and returns its exit code. `arguments` begins with the name of the program.
///
/// The binary `tracelake` is this function. It lives in the library so that another front end, such
/// as a Python console script, can be the same program. It writes to stdout and stderr and installs
/// signal handlers and a panic hook, so call it from nothing but a front end.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    // Without stderr, the exit code is all that can be said.
    if descriptors::open().is_err() {
        return exit_code(ErrorKind::Failed);
    }
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    limit_arenas();
    panics::keep();
    // A panic is a mistake of ours, and ends the command. It is caught only to be reported like any other error: with an
    // exit code that is documented, and as JSON where that was asked for. Nothing that the command used is used again.
    let code = catch_unwind(AssertUnwindSafe(|| run_command(&arguments)));
    code.unwrap_or_else(|_| {
        let error = panics::error();
        match wants_json(&arguments) {
            true => report::json_error(&error),
            false => report::error(&error),
        }
        exit_code(error.kind())
    })
}

/// Gives the allocator as many arenas as there are processors, instead of eight times as many. Otherwise each thread
/// that waits for the disk has its own, and the facts of finished parts keep its free memory from all others: 100,000
/// small parts took 499 MiB, and take 145 to 160 on two processors, as the threads happen to meet.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn limit_arenas() {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let arenas = processors.try_into().unwrap_or(libc::c_int::MAX);
    // SAFETY: this changes a setting of the allocator, before the program starts a thread.
    #[expect(unsafe_code, reason = "measured above")]
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, arenas);
    }
}

fn run_command(arguments: &[OsString]) -> u8 {
    // Silent unless asked for: RUST_LOG=debug shows what the libraries say.
    let asked = std::env::var("RUST_LOG")
        .ok()
        .filter(|asked| !asked.is_empty());
    let filter: Option<Targets> = asked.and_then(|asked| asked.parse().ok());
    let lines = tracing_subscriber::fmt::layer().with_writer(|| report::LogWriter);
    let warnings = report::LoggedWarnings {
        in_json: wants_json(arguments),
    };
    let logging = tracing_subscriber::registry()
        .with(lines.with_filter(filter.unwrap_or_default()))
        .with(warnings.with_filter(report::LoggedWarnings::filter()))
        .try_init();
    if let Err(error) = logging {
        // Another logger of the same process stays in place.
        tracing::debug!("{error}");
    }
    let cli = match parsed(arguments) {
        Ok(cli) => cli,
        Err(answer) => return not_a_command(&answer, wants_json(arguments)),
    };
    let outcome = match cli.command {
        Command::Convert(args) => carry_out(Reporter::new(args.progress), |context, reporter| {
            convert(&args, context, reporter)
        }),
        Command::Fetch(args) => carry_out(Reporter::new(args.progress), |context, reporter| {
            fetch(&args, context, reporter)
        }),
        Command::Commit(args) => carry_out(Reporter::new(args.progress), |context, reporter| {
            commit(&args, context, reporter)
        }),
        Command::Cluster(args) => carry_out(Reporter::new(args.progress), |context, reporter| {
            let text = cluster_command::run(&args, context, reporter)?;
            text.map_or(Ok(()), |text| print(&text))?;
            Ok(DONE)
        }),
        Command::Verify(args) => carry_out(Reporter::new(args.progress), |context, reporter| {
            verify(&args, context, reporter)
        }),
        Command::Release(args) => carry_out(Reporter::new(args.progress), |context, reporter| {
            release(&args, context, reporter)
        }),
        Command::Inspect(args) => {
            carry_out(Reporter::silent(), |context, _| inspect(&args, context))
        }
        Command::Export(args) => carry_out(Reporter::silent(), |context, _| export(&args, context)),
        Command::Schema(args) => carry_out(Reporter::silent(), |context, _| schema(&args, context)),
        Command::Generate(args) => carry_out(Reporter::generating(), |context, reporter| {
            generate(&args, context, reporter)
        }),
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
pub use crate::descriptors::open as open_descriptors;
pub use crate::panics::{error as panic_error, keep as keep_panics};

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
    pub fn run_options(&self) -> RunOptions {
        self.arguments.run_options()
    }

    /// The context, limited to the threads that are asked for.
    #[must_use]
    pub fn within(&self, context: &Context) -> Context {
        self.arguments.within(context)
    }
}

/// Reads the arguments of `tracelake convert`, without the name of the program and of the command.
///
/// # Errors
/// [`ErrorKind::Usage`], as the program would say it.
pub fn conversion(arguments: impl IntoIterator<Item = OsString>) -> Result<Conversion> {
    let Command::Convert(args) = command_of("convert", arguments)? else {
        unreachable!("the arguments begin with `convert`");
    };
    Ok(Conversion {
        request: args.request()?,
        out: lake_to_make(&args.out, args.overwrite)?,
        arguments: args,
    })
}

/// A download that the arguments of `tracelake fetch` ask for, for a front end that carries it out itself.
#[derive(Debug)]
pub struct Fetching {
    /// The request.
    pub request: tracelake_fetch::Request,
    /// The directory to download to.
    pub dir: PathBuf,
}

/// Reads the arguments of `tracelake fetch`, without the name of the program and of the command.
///
/// # Errors
/// [`ErrorKind::Usage`], as the program would say it.
pub fn fetching(arguments: impl IntoIterator<Item = OsString>) -> Result<Fetching> {
    let Command::Fetch(args) = command_of("fetch", arguments)? else {
        unreachable!("the arguments begin with `fetch`");
    };
    let trace = args.trace()?.filter(|_| !args.list);
    let trace = trace.ok_or_else(|| Error::new(ErrorKind::Usage, "no trace is named"))?;
    Ok(Fetching {
        request: args.request(trace),
        dir: args.dir()?,
    })
}

/// Makes the lake that the arguments of `tracelake cluster` ask for, without the name of the program and of the command;
/// `begin` gets the number of bytes to read.
///
/// # Errors
/// [`ErrorKind::Usage`] for the arguments, as the program would say it, and those of the work.
pub fn cluster(
    context: &Context,
    arguments: impl IntoIterator<Item = OsString>,
    begin: impl FnOnce(u64),
) -> Result<Outcome> {
    let Command::Cluster(args) = command_of("cluster", arguments)? else {
        unreachable!("the arguments begin with `cluster`");
    };
    let work = cluster_command::Clustering::new(&args, context)?;
    begin(work.plan.bytes());
    work.carry_out()
}

/// Reads the arguments of a command, without the name of the program and of the command.
fn command_of(name: &str, arguments: impl IntoIterator<Item = OsString>) -> Result<Command> {
    let start = ["tracelake", name].map(OsString::from);
    let arguments: Vec<OsString> = start.into_iter().chain(arguments).collect();
    let cli = parsed(&arguments).map_err(|answer| {
        let text = answer.to_string();
        let reason = text.lines().next().unwrap_or_default();
        let reason = reason.strip_prefix("error: ").unwrap_or(reason);
        Error::new(ErrorKind::Usage, reason).because(answer)
    })?;
    Ok(cli.command)
}

/// A command of the Python package, as it was asked for.
#[derive(Debug)]
pub struct QueryCommand {
    /// The command and its options but for the paths, as a JSON object. Options that weren't given and have no default are
    /// null.
    pub options: String,
    /// The lake; for a page or a directory that is made, also where.
    pub paths: Vec<PathBuf>,
}

/// Reads the arguments of a command of the Python package, which begin with the name of the program. Help is printed,
/// and so is what is wrong with them.
///
/// # Errors
/// The exit code, if nothing is left to do. Any other command is carried out as by [`run()`].
pub fn query_command(
    arguments: impl IntoIterator<Item = OsString>,
) -> std::result::Result<QueryCommand, u8> {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let cli =
        parsed(&arguments).map_err(|answer| not_a_command(&answer, wants_json(&arguments)))?;
    let command = |name: &str, options: serde_json::Result<Value>, paths: &[&PathBuf]| {
        let mut options = options.expect("options are names, numbers and switches");
        options["command"] = name.into();
        QueryCommand {
            options: options.to_string(),
            paths: paths.iter().map(|path| path.to_path_buf()).collect(),
        }
    };
    Ok(match &cli.command {
        Command::Check(args) => command("check", to_value(args), &[&args.lake]),
        Command::Report(args) => command("report", to_value(args), &[&args.lake, &args.out]),
        Command::Derive(args) => {
            let paths = [Some(&args.lake), Some(&args.out), args.with.as_ref()];
            let paths: Vec<&PathBuf> = paths.into_iter().flatten().collect();
            command("derive", to_value(args), &paths)
        }
        _ => return Err(run(arguments)),
    })
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

/// Carries out a command in a context that signals cancel. The reporter shows its events, and its error.
fn carry_out(
    reporter: Reporter,
    work: impl FnOnce(&Context, &Reporter) -> Result<u8>,
) -> Result<u8> {
    let reporter = Arc::new(reporter);
    let listener = Arc::clone(&reporter);
    let context = Context::new().with_events(move |event| listener.show(event));
    let done = stop_on_signals(&context).and_then(|()| work(&context, &reporter));
    Ok(done.unwrap_or_else(|error| {
        reporter.error(&error);
        exit_code(error.kind())
    }))
}

fn convert(args: &ConvertArgs, context: &Context, reporter: &Reporter) -> Result<u8> {
    let context = &args.within(context);
    let request = args.request()?;
    let out = lake_to_make(&args.out, args.overwrite)?;
    let plan = plan::plan(context, &request)
        .map_err(|error| hint_swapped(error, &request.source, &out))?;
    discover::refuse_inside(&request.source, &out)?;
    let run_options = args.run_options();
    let plan_file = args.shard.map(|shard| plan.to_file(shard.of));
    let shared = plan_file.as_ref().zip(args.shard);
    if args.dry_run {
        warn(context, &plan);
        let found = run::preview(context, &plan, &out, run_options)?;
        let room = Room::of(context, &plan, &found, &out, run_options);
        let text =
            report::plan_text(&plan, &found, shared) + &report::room_text(&room, context.threads());
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
    warn(context, &plan);
    let outcome = run::convert(context, &plan, &out, run_options)?;
    reporter.finish();
    report::print_conversion_summary(reporter, &plan, &out, &outcome);
    Ok(done(&outcome))
}

/// The exit code of a run that ended well.
fn done(outcome: &Outcome) -> u8 {
    code_of_rejects(outcome.manifest.rows_rejected())
}

fn code_of_rejects(rows: u64) -> u8 {
    match rows {
        0 => DONE,
        _ => REJECTED,
    }
}

fn fetch(args: &FetchArgs, context: &Context, reporter: &Reporter) -> Result<u8> {
    let trace = args.trace()?;
    if args.list {
        let all = match trace {
            Some(trace) => vec![trace],
            None => TRACES.iter().cloned().collect(),
        };
        let mut text = String::new();
        for trace in &all {
            text += &report::offers_text(trace, &tracelake_fetch::offers(trace)?);
        }
        print(&text)?;
        return Ok(DONE);
    }
    let Some(trace) = trace else {
        unreachable!("the arguments name a trace or ask for the list");
    };
    let dir = args.dir()?;
    let plan = tracelake_fetch::plan(context, &args.request(trace))?;
    for (table, why) in &plan.left_out {
        context.warn(format!("{table} is left out: {why}"));
    }
    reporter.start(PlannedWork {
        command: FETCH,
        parts: Some(plan.files.len() as u64),
        bytes: plan.bytes(),
        shard: None,
    });
    let outcome = tracelake_fetch::fetch(context, &plan, &dir)?;
    reporter.finish();
    report::fetched(reporter, &outcome);
    Ok(DONE)
}

fn commit(args: &CommitArgs, context: &Context, reporter: &Reporter) -> Result<u8> {
    let context = limited(context, args.threads);
    let out = Location::parse(args.out.as_os_str())?;
    if args.forget {
        let forgotten = args.to_forget().carry_out(&context, &out)?;
        report::forgotten(reporter, &forgotten);
        return Ok(DONE);
    }
    let commit = Commit::open(&context, &out, args.options())?;
    reporter.start(PlannedWork {
        command: "commit",
        parts: None,
        bytes: Some(commit.bytes()),
        shard: None,
    });
    let committed = commit.finish()?;
    reporter.finish();
    let Some(manifest) = committed else {
        // What was removed was all there was.
        return Ok(DONE);
    };
    let outcome = Outcome::committed(manifest);
    report::committed(reporter, &outcome);
    Ok(done(&outcome))
}

fn warn(context: &Context, plan: &Plan) {
    for warning in &plan.warnings {
        context.warn(warning.clone());
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

/// Lets SIGINT and SIGTERM cancel a context; the second one ends the program at once. A signal that the
/// caller ignores, as `nohup` and shells do for background jobs, stays ignored.
fn stop_on_signals(context: &Context) -> Result<()> {
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
            .and_then(|_| flag::register_usize(signal, context.signal(), number))
            .map_err(deaf)?;
    }
    // Without a handler, a file size limit ends the program; with one, the write fails and the error says so.
    #[cfg(unix)]
    flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false))).map_err(deaf)?;
    Ok(())
}

/// The signals that were ignored when the program started, as a mask whose lowest bit is signal 1. Linux
/// alone shows without unsafe code; elsewhere none.
fn ignored_signals() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let hex = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = hex.and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok());
    mask.unwrap_or_default()
}

fn verify(args: &VerifyArgs, context: &Context, reporter: &Reporter) -> Result<u8> {
    let source = args
        .source
        .as_deref()
        .map(|source| Location::parse(source.as_os_str()))
        .transpose()?;
    let lake = Location::parse(args.out.as_os_str())?;
    let verification = Verification::open(context, &lake, source.as_ref())?;
    let verification = verification.with_digest(args.digest.as_deref())?;
    reporter.start(PlannedWork {
        command: "verify",
        parts: Some(verification.parts()),
        bytes: Some(verification.bytes()),
        shard: None,
    });
    let verdict = verification.run()?;
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

fn release(args: &ReleaseArgs, context: &Context, reporter: &Reporter) -> Result<u8> {
    let lake = Location::parse(args.out.as_os_str())?;
    // What can't be opened is refused below.
    if let Ok(verification) = Verification::open(context, &lake, None) {
        reporter.start(PlannedWork {
            command: "release",
            parts: Some(verification.parts()),
            bytes: Some(verification.bytes()),
            shard: None,
        });
    }
    let old = args.since.as_ref().map(|old| {
        let old = Location::parse(old.as_os_str())?;
        since::old_manifest(context, &old, &lake)
    });
    let old = old.transpose()?;
    let verdict = release::release(context, &lake, &args.options())?;
    reporter.finish();
    report::say_verdict(&verdict, false, reporter.elapsed());
    report::released(&lake, &verdict);
    if let Some(old) = old.filter(|_| verdict.is_ok()) {
        let changes = Changes::between(&old, &verdict.manifest);
        print(&report::changes_text(&changes))?;
    }
    Ok(judged(&verdict))
}

fn export(args: &ExportArgs, context: &Context) -> Result<u8> {
    let lake = Location::parse(args.lake.as_os_str())?;
    let exported = export::export(context, &lake, &args.file, &args.options())?;
    report::exported(&args.file, &exported, args.drop_empty);
    Ok(DONE)
}

fn inspect(args: &InspectArgs, context: &Context) -> Result<u8> {
    let path = Location::parse(args.path.as_os_str())?;
    let trace = args.trace.as_deref().map(given_trace).transpose()?;
    let inventory = inspect::inspect_as(context, path.clone(), trace.as_ref())?;
    if args.json {
        let json = report::inventory_json(&inventory)
            .map_err(|error| Error::new(ErrorKind::Failed, error.to_string()))?;
        print(&json)?;
    } else {
        print(&report::inventory_text(&inventory))?;
    }
    match inventory.missing().filter(|_| !args.allow_missing) {
        Some(missing) => Err(missing.at(&path)),
        None => Ok(DONE),
    }
}

fn schema(args: &SchemaArgs, context: &Context) -> Result<u8> {
    let text = match &args.new {
        Some(sample) => draft(context, &Location::parse(sample.as_os_str())?)?,
        None if args.json_schema => JSON_SCHEMA.to_owned(),
        None => described::text(args)?,
    };
    print(&text)?;
    Ok(DONE)
}

fn generate(args: &GenerateArgs, context: &Context, reporter: &Reporter) -> Result<u8> {
    let out = on_disk(args.out.as_os_str())?;
    let made = tracelake_generate::generate(context, args.trace()?, &out, &args.options())?;
    reporter.finish();
    report::generated(&made, reporter.elapsed());
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

/// The error for a command of the Python package, whose own program carries it out.
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The table of exit codes, which `docs/exit-codes.md` explains.
    #[test]
    fn the_table_of_exit_codes() {
        assert_eq!([0, 1, 9].map(code_of_rejects), [DONE, REJECTED, REJECTED]);
        assert_eq!((DONE, REJECTED), (0, 3));
        for (kind, code) in [
            (ErrorKind::Failed, 1),
            (ErrorKind::Usage, 2),
            (ErrorKind::Misfit, 4),
            (ErrorKind::Corrupt, 5),
            (ErrorKind::Refused, 6),
            (ErrorKind::Stopped(SIGINT), 130),
            (ErrorKind::Stopped(SIGTERM), 143),
        ] {
            assert_eq!(exit_code(kind), code, "{kind:?}");
        }
    }
}
