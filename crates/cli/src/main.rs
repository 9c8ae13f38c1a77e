//! `assay`: the command line. The only crate that reads arguments and environment, prints, and exits.
#![forbid(unsafe_code)]

mod args;
mod commands;
mod environment;
mod exit;
mod progress;
mod stack;

use std::process::ExitCode;

use exit::Outcome;

fn main() -> ExitCode {
    let began = bench::host::program_began();
    stack::with_room(run, began)
}

fn run(began: f64) -> ExitCode {
    bench::host::survive_file_size_limit();
    commands::setup::answer_shell();
    let arguments = args::parse();
    environment::set_color(arguments.color);
    let outcome = commands::carry_out(arguments, began);
    exit::status(&outcome.unwrap_or_else(Outcome::Unusable))
}
