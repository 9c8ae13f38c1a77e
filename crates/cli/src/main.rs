//! `assay`: the command line. The only crate that reads arguments and environment, prints, and exits.
//!
//! What a command does is said in `commands`; here is how the program begins, and the one place where its exit status
//! is decided.
#![forbid(unsafe_code)]

mod args;
mod commands;
mod environment;
mod exit;
mod progress;

use std::process::ExitCode;

use args::{Command, NetCommand};
use exit::Outcome;

fn main() -> ExitCode {
    let began = bench::host::monotonic_raw_seconds();
    let arguments = args::parse();
    let outcome = match arguments.command {
        None => commands::run::quick(&arguments.measure, began),
        Some(Command::Run(run)) => commands::run::suite(&run, began),
        Some(Command::Cpu(cpu)) => commands::run::cpu(&cpu, began),
        Some(Command::Linpack(linpack)) => commands::run::linpack(&linpack, began),
        Some(Command::Memory(memory)) => commands::run::memory(&memory, began),
        Some(Command::Disk(disk)) => commands::run::disk(&disk, began),
        Some(Command::Net(net)) => match &net.command {
            Some(NetCommand::Serve(serve)) => commands::net_serve::serve(serve),
            None => commands::run::net(&net, began),
        },
        Some(Command::Info(info)) => commands::info::info(&info, began),
        Some(Command::Doctor(doctor)) => commands::doctor::doctor(&doctor, began),
        Some(Command::References(references)) => commands::references::references(&references),
        Some(Command::Compare(compare)) => commands::compare::compare(&compare, began),
        Some(Command::Report(report)) => commands::report::report(&report),
        Some(Command::Runs(runs)) => commands::runs::runs(&runs),
        Some(Command::Worker) => Ok(commands::worker()),
        Some(Command::Schema) => commands::schema(),
    };
    exit::status(outcome.unwrap_or_else(Outcome::Unusable))
}
