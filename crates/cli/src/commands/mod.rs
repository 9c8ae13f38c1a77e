//! The commands, a file each.

mod cluster;
mod compare;
mod doctor;
mod guide;
mod info;
mod measure;
mod net_serve;
pub(crate) mod program;
mod references;
mod report;
mod runs;
pub(crate) mod setup;

use std::io::{self, BufReader};

use areas::Choices;

use crate::args::measure::OneArea;
use crate::args::net::NetCommand;
use crate::args::results::SchemaArgs;
use crate::args::{Arguments, Command};
use crate::exit::{Outcome, Result, print};

/// Carries out a command line. `began` is the time at which the program began, or the last question was answered.
pub(crate) fn carry_out(arguments: Arguments, began: f64) -> Result {
    match arguments.command {
        None => measure::suite(None, &arguments.measure, began),
        Some(Command::Run(run)) => measure::suite(run.suite.as_deref(), &run.measure, began),
        Some(Command::Cpu(OneArea { choice: cpu, measure })) => {
            measure::area(areas::cpu::suite(&cpu), Choices { cpu, ..Choices::default() }, &measure, began)
        }
        Some(Command::Linpack(OneArea { choice: linpack, measure })) => {
            measure::area(areas::linpack::suite(&linpack), Choices { linpack, ..Choices::default() }, &measure, began)
        }
        Some(Command::Memory(OneArea { choice: memory, measure })) => {
            measure::area(areas::memory::suite(&memory), Choices { memory, ..Choices::default() }, &measure, began)
        }
        Some(Command::Disk(OneArea { choice: disk, measure })) => {
            measure::area(areas::disk::suite(&disk), Choices { disk, ..Choices::default() }, &measure, began)
        }
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
        Some(Command::Show(show)) => runs::show(&show),
        Some(Command::Runs) => runs::runs(),
        Some(Command::Cluster(of)) => cluster::cluster(&of.command),
        Some(Command::Agent(arguments)) => cluster::agent::agent(&arguments),
        Some(Command::Attempt(arguments)) => cluster::agent::attempt(&arguments),
        Some(Command::Worker) => Ok(worker()),
        Some(Command::Schema(of)) => schema(&of),
        Some(Command::Completions { shell }) => setup::completions(&shell),
        Some(Command::Man { folder }) => setup::man(&folder),
    }
}

/// Runs one process run of one benchmark; the task is on standard input.
fn worker() -> Outcome {
    let mut input = BufReader::new(io::stdin().lock());
    // If the parent no longer reads, there is nothing left to do.
    let _ = bench::worker::serve(&mut input, &mut io::stdout());
    Outcome::Done
}

fn schema(arguments: &SchemaArgs) -> Result {
    let form = ::report::schema::form(&arguments.form)
        .ok_or_else(|| format!("unknown kind of document '{}'", arguments.form))?;
    print(form.schema().map_err(|error| error.to_string())?.as_bytes())?;
    Ok(Outcome::Done)
}
