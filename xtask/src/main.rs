//! `cargo xtask`: everything that is done to the repository and not by the program.
//!
//! `cargo xtask test` is all that must hold, on a fresh machine with Rust and nothing else; each of its steps is a
//! command of its own. No part of the program depends on this crate, and none of the program's rules about clocks,
//! printing and the environment bind it. It contains no measurement.
#![forbid(unsafe_code)]
#![allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "this is a program for developers: it reads argv, prints, and times its steps"
)]

mod arm;
mod browser;
mod codegen;
mod deny;
mod dist;
mod documents;
mod invariants;
mod release;
mod similar;
mod steps;
mod test_runs;

use std::process::ExitCode;

use steps::{STEPS, finish, run_all};
use xtask::shell::Shell;

fn main() -> ExitCode {
    let shell = Shell::at_root();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let named = arguments.first().and_then(|name| STEPS.iter().find(|step| step.name == name));
    let tally = match (arguments.as_slice(), named) {
        ([name], _) if name == "test" => return run_all(&shell),
        ([name, rest @ ..], _) if name == "codegen" => codegen::run(&shell, rest),
        ([name, rest @ ..], _) if name == "similar" => return similar::run(&shell, rest),
        ([name, rest @ ..], _) if name == "release" => return release::run(&shell, rest),
        ([_], Some(step)) => Some((step.run)(&shell)),
        _ => None,
    };
    tally.map_or_else(
        || {
            print!("{}", steps::usage());
            ExitCode::from(2)
        },
        |tally| finish(&tally),
    )
}
