//! The binary `tracelake`.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(tracelake::program::run(std::env::args_os()))
}
