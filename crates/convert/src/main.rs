//! The program `tracelake`: arguments to options, options to work, outcomes to an exit code.

mod cli;
mod report;

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize};

use clap::Parser;
#[cfg(unix)]
use signal_hook::consts::SIGXFSZ;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use tracelake_convert::error::{Error, ErrorKind, Result};
use tracelake_convert::event::Event;
use tracelake_convert::run::{self, Conduct};
use tracelake_convert::verify::Verdict;
use tracelake_convert::{inspect, plan, release, verify};
use tracelake_schema::render;

use cli::{
    Cli, Command, ConvertArgs, GenerateArgs, InspectArgs, ReleaseArgs, SchemaArgs, SchemaForm,
    VerifyArgs,
};
use report::Reporter;

/// The exit code of a run that is done, but rejected rows.
const REJECTED: u8 = 3;

fn main() -> ExitCode {
    // Silent unless asked for: RUST_LOG=debug shows what the libraries say.
    let filter = tracing_subscriber::EnvFilter::from_default_env();
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .init();
    let outcome = match Cli::parse().command {
        Command::Convert(args) => convert(&args),
        Command::Verify(args) => verify(&args),
        Command::Release(args) => release(&args),
        Command::Inspect(args) => inspect(&args),
        Command::Schema(args) => schema(&args),
        Command::Generate(args) => generate(&args),
    };
    outcome.unwrap_or_else(|error| {
        report::error(&error);
        exit_code(error.kind())
    })
}

fn exit_code(kind: ErrorKind) -> ExitCode {
    u8::try_from(kind.exit_code()).map_or(ExitCode::FAILURE, ExitCode::from)
}

fn convert(args: &ConvertArgs) -> Result<ExitCode> {
    let plan = plan::plan(&args.request()?)?;
    let reporter = Reporter::new(args.progress, plan.bytes());
    for warning in &plan.warnings {
        reporter.show(Event::Warning(warning.clone()));
    }
    if args.dry_run {
        reporter.finish();
        print(&report::plan_text(&plan))?;
        return Ok(ExitCode::SUCCESS);
    }
    let stop = stop_on_signals()?;
    let conduct = Conduct {
        threads: args.threads(),
        parts: args.parts_at_a_time(),
        overwrite: args.overwrite,
        max_rejects: args.max_rejects,
        stop: &stop,
    };
    let outcome = run::convert(&plan, &args.out, conduct, &|event| reporter.show(event));
    reporter.finish();
    let outcome = outcome?;
    reporter.close(&plan, &outcome);
    let rejected = outcome
        .manifest
        .parts()
        .any(|(_, part)| part.rows_rejected > 0);
    Ok(if rejected {
        ExitCode::from(REJECTED)
    } else {
        ExitCode::SUCCESS
    })
}

/// Lets SIGINT and SIGTERM ask for a stop; the second one ends the program at once.
fn stop_on_signals() -> Result<Arc<AtomicUsize>> {
    let stop = Arc::new(AtomicUsize::new(0));
    let deaf = |error| {
        Error::new(
            ErrorKind::Failed,
            format!("cannot listen to signals: {error}"),
        )
    };
    let asked = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        let number = usize::try_from(signal).unwrap_or_default();
        flag::register_conditional_shutdown(signal, 128 + signal, Arc::clone(&asked))
            .and_then(|_| flag::register(signal, Arc::clone(&asked)))
            .and_then(|_| flag::register_usize(signal, Arc::clone(&stop), number))
            .map_err(deaf)?;
    }
    // Without a handler a file size limit ends the program; with one the write fails and is told.
    #[cfg(unix)]
    flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false))).map_err(deaf)?;
    Ok(stop)
}

fn verify(args: &VerifyArgs) -> Result<ExitCode> {
    let reporter = Reporter::new(cli::ProgressArg::None, 0);
    let source = args.source.as_deref();
    let verdict = verify::verify(&args.out, source, cli::all_threads(), &|event| {
        reporter.show(event)
    })?;
    report::verdict(&verdict, source.is_some(), reporter.elapsed());
    Ok(judged(&verdict))
}

fn judged(verdict: &Verdict) -> ExitCode {
    if verdict.findings.is_empty() {
        return ExitCode::SUCCESS;
    }
    // Whatever is wrong with a lake, to its user it is broken input.
    exit_code(ErrorKind::Corrupt)
}

fn release(args: &ReleaseArgs) -> Result<ExitCode> {
    let reporter = Reporter::new(cli::ProgressArg::None, 0);
    let watch = |event| reporter.show(event);
    let verdict = release::release(&args.out, args.allow(), cli::all_threads(), &watch)?;
    report::verdict(&verdict, false, reporter.elapsed());
    report::released(&verdict);
    Ok(judged(&verdict))
}

fn inspect(args: &InspectArgs) -> Result<ExitCode> {
    let inventory = inspect::inspect(&args.path)?;
    if args.json {
        let json = report::inventory_json(&inventory)
            .map_err(|error| Error::new(ErrorKind::Failed, error.to_string()))?;
        print(&json)?;
    } else {
        print(&report::inventory_text(&inventory))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn schema(args: &SchemaArgs) -> Result<ExitCode> {
    let text = match args.subject()? {
        None => render::overview(),
        Some((trace, table)) => match args.form {
            SchemaForm::Text => render::text(trace, table),
            SchemaForm::Json => render::json(trace, table),
            SchemaForm::Duckdb => render::duckdb(trace, table),
            SchemaForm::Spark => render::spark(trace, table),
            SchemaForm::Markdown => render::markdown(trace, table),
        },
    };
    print(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn generate(args: &GenerateArgs) -> Result<ExitCode> {
    let reporter = Reporter::generating();
    let begun = std::time::Instant::now();
    let made =
        tracelake_generate::generate(args.trace()?, &args.out, &args.options(), &|t, p, r| {
            reporter.generated(t, p, r);
        });
    reporter.finish();
    let made = made.map_err(|error| {
        let kind = match error {
            tracelake_generate::Error::Options(_) => ErrorKind::Usage,
            tracelake_generate::Error::NotEmpty(_) => ErrorKind::Refused,
            _ => ErrorKind::Failed,
        };
        Error::new(kind, error.to_string()).because(error)
    })?;
    report::generated(&made, begun.elapsed());
    Ok(ExitCode::SUCCESS)
}

fn print(text: &str) -> Result<()> {
    report::print(text).map_err(|error| {
        Error::new(
            ErrorKind::Failed,
            format!("cannot write to stdout: {error}"),
        )
        .because(error)
    })
}
