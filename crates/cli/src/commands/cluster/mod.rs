//! `assay cluster`: the crate `cluster` works on a plan's folder, `report::cluster` renders.

pub(crate) mod agent;
mod cancel;
mod plan;
mod report;
mod run;
mod status;

use crate::args::cluster::ClusterCommand;
use crate::exit::Result;

pub(crate) fn cluster(command: &ClusterCommand) -> Result {
    match command {
        ClusterCommand::Plan(arguments) => plan::plan(arguments),
        ClusterCommand::Run(arguments) => run::run(arguments),
        ClusterCommand::Status(arguments) => status::status(arguments),
        ClusterCommand::Cancel(arguments) => cancel::cancel(arguments),
        ClusterCommand::Report(arguments) => report::report(arguments),
    }
}
