//! `assay cluster`: the same experiments on many nodes. Each command is a file with its own options; what they do with a
//! plan's folder is in the crate `cluster`, what is printed in `report::cluster`.

pub(crate) mod agent;
mod plan;
mod report;
mod run;
mod status;

use crate::args::cluster::ClusterCommand;
use crate::exit::Result;

/// Carries out a command on a cluster.
pub(crate) fn cluster(command: &ClusterCommand) -> Result {
    match command {
        ClusterCommand::Plan(arguments) => plan::plan(arguments),
        ClusterCommand::Run(arguments) => run::run(arguments),
        ClusterCommand::Status(arguments) => status::status(arguments),
        ClusterCommand::Report(arguments) => report::report(arguments),
    }
}
