//! `cargo lab`: measures Assay itself and writes docs/evidence. It is slow, and `cargo xtask test` runs only its tests named `smoke`.
#![forbid(unsafe_code)]
#![allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "this is a program for developers: it reads argv, prints, and times its steps"
)]

mod expectations;
mod fuzz;
mod held;
mod hostile;
mod kills;
mod peers;
mod record;
mod replay;
mod simulate;
mod slurm;
mod source;
mod trust;

use std::process::ExitCode;

use xtask::shell::Shell;

fn main() -> ExitCode {
    let shell = Shell::at_root();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (usage, done) = match arguments.split_first().map(|(name, rest)| (name.as_str(), rest)) {
        Some(("cluster", rest)) => return slurm::run(&shell, rest),
        Some(("expectations", rest)) => return expectations::run(&shell, rest),
        Some(("hostile", rest)) => (hostile::USAGE, hostile::run(&shell, rest)),
        Some(("kills", rest)) => (kills::USAGE, kills::run(&shell, rest)),
        Some(("fuzz", rest)) => (fuzz::USAGE, fuzz::run(&shell, rest)),
        Some(("peers", rest)) => (peers::USAGE, peers::run(&shell, rest).map(|()| true)),
        Some(("replay", rest)) => (replay::USAGE, replay::run(&shell, rest)),
        Some(("simulate", rest)) => (simulate::USAGE, simulate::run(&shell, rest).map(|()| true)),
        Some(("trust", rest)) => (trust::USAGE, trust::run(&shell, rest).map(|()| true)),
        _ => {
            println!("Usage: cargo lab COMMAND");
            for (usage, about) in COMMANDS {
                println!("\n  {usage}\n      {about}");
            }
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(reason) => {
            println!("{reason}\nUsage: cargo lab {usage}");
            ExitCode::from(2)
        }
    }
}

const COMMANDS: [(&str, &str); 9] = [
    (peers::USAGE, "compare with reference tools, and write docs/evidence/performance.md"),
    (trust::USAGE, "test values, intervals, verdicts and warnings, and write docs/evidence/trust.md"),
    (slurm::USAGE, "start a Slurm of four nodes on this machine, and test on it"),
    (hostile::USAGE, "send hostile connections to a server, and write a section of docs/evidence/security.md"),
    (kills::USAGE, "kill and interrupt runs at random times, and write a section of docs/evidence/security.md"),
    (expectations::USAGE, "read public sources, and write crates/machine/data"),
    (fuzz::USAGE, "run every fuzz target, and write docs/evidence/security.md"),
    (replay::USAGE, "discover machines recorded by other projects, and write docs/evidence/discovery.md"),
    (simulate::USAGE, "simulate clusters, and write docs/evidence/cluster-simulation.md"),
];
