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

mod browser;
mod builds;
mod cluster;
mod codegen;
mod deny;
mod documents;
mod family;
mod harness;
mod invariants;
mod passes;
mod peers;
mod set_up;
mod shell;
mod simulate;
mod steps;
mod tally;
mod trust;
mod unprivileged;
mod watch;

use std::process::ExitCode;

use shell::Shell;
use steps::{STEPS, run_all, run_one};

fn main() -> ExitCode {
    let shell = Shell::at_root();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let step = |name: &String| STEPS.iter().find(|step| step.name == name);
    match arguments.as_slice() {
        [name] if name == "test" => run_all(&shell),
        [name, flag, rest @ ..] if name == "test" && flag == "--cluster" => cluster::test(&shell, rest),
        [name, rest @ ..] if name == "cluster" => cluster::run(&shell, rest),
        [name, rest @ ..] if name == "codegen" => codegen::run(&shell, rest),
        [name, rest @ ..] if name == "peers" => peers::run(&shell, rest),
        [name, rest @ ..] if name == "simulate" => simulate::run(&shell, rest),
        [name, rest @ ..] if name == "trust" => trust::run(&shell, rest),
        [name] if step(name).is_some() => step(name).map_or(ExitCode::FAILURE, |step| run_one(&shell, step)),
        _ => {
            print!("{}", steps::usage());
            ExitCode::from(2)
        }
    }
}
