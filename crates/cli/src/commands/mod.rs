//! What each command does, a file each.

mod cluster;
mod compare;
mod doctor;
mod guide;
mod info;
mod measure;
mod net_serve;
mod program;
mod references;
mod report;
mod runs;
mod tools;

use std::io::{self, BufReader};

use crate::args::net::NetCommand;
use crate::args::results::SchemaArgs;
use crate::args::{Arguments, Command};
use crate::exit::{Outcome, Result, print};

/// Carries out a command line. `began` is when the program began, or the last question was answered.
pub(crate) fn carry_out(arguments: Arguments, began: f64) -> Result {
    match arguments.command {
        None => measure::quick(&arguments.measure, began),
        Some(Command::Run(run)) => measure::suite(&run, began),
        Some(Command::Cpu(cpu)) => measure::cpu(&cpu, began),
        Some(Command::Linpack(linpack)) => measure::linpack(&linpack, began),
        Some(Command::Memory(memory)) => measure::memory(&memory, began),
        Some(Command::Disk(disk)) => measure::disk(&disk, began),
        Some(Command::Net(net)) => match &net.command {
            Some(NetCommand::Serve(serve)) => net_serve::serve(serve),
            None => measure::net(&net, began),
        },
        Some(Command::Guide) => guide::guide(carry_out),
        Some(Command::Info(info)) => info::info(&info, began),
        Some(Command::Doctor(doctor)) => doctor::doctor(&doctor, began),
        Some(Command::References(references)) => references::references(&references),
        Some(Command::Compare(compare)) => compare::compare(&compare, began),
        Some(Command::Report(report)) => report::report(&report),
        Some(Command::Runs(runs)) => runs::runs(&runs),
        Some(Command::Cluster(of)) => cluster::cluster(&of.command),
        Some(Command::Agent(arguments)) => cluster::agent::agent(&arguments),
        Some(Command::Attempt(arguments)) => cluster::agent::attempt(&arguments),
        Some(Command::Worker) => Ok(worker()),
        Some(Command::Schema(of)) => schema(&of),
    }
}

/// Carries out one launch of one experiment: the task comes on standard input.
fn worker() -> Outcome {
    let mut input = BufReader::new(io::stdin().lock());
    // If nobody listens any more there is nothing left to do, and nobody to tell.
    let _ = bench::worker::serve(&mut input, &mut io::stdout());
    Outcome::Done
}

/// Prints the schema of a form of document.
fn schema(arguments: &SchemaArgs) -> Result {
    let form =
        ::report::schema::form(&arguments.form).ok_or_else(|| format!("there is no form '{}'", arguments.form))?;
    let text = serde_json::to_string_pretty(&form.schema()).map_err(|error| error.to_string())?;
    print(format!("{text}\n").as_bytes())?;
    Ok(Outcome::Done)
}
