//! `assay cluster`: the same experiments on many nodes. Each command is a file with its own options; what they do with a
//! plan's folder is in the crate `cluster`, what is printed in `report::cluster`.

pub(crate) mod agent;
mod plan;
mod report;
mod run;
mod status;

use clap::Subcommand;

use crate::exit::Result;

/// What can be done with a cluster.
#[derive(Debug, Subcommand)]
pub(crate) enum ClusterCommand {
    /// Say what is to be measured on which nodes, in a folder that all of them see.
    #[command(before_help = PLAN_EXAMPLES)]
    Plan(Box<plan::PlanArgs>),
    /// Start workers on the nodes of a plan, through Slurm or ssh, until every task is over.
    ///
    /// It can be ended and run again at any time. The exit status is 1 if a task failed or is left.
    #[command(before_help = RUN_EXAMPLES)]
    Run(run::RunArgs),
    /// Say how far a plan is, and why nodes wait.
    Status(status::StatusArgs),
    /// Say which nodes are slow, and probably why.
    #[command(before_help = REPORT_EXAMPLES)]
    Report(report::ReportArgs),
}

const PLAN_EXAMPLES: &str = "\
Examples:
  assay cluster plan --hosts FILE PLAN               the quick suite on these nodes
  assay cluster plan --nodes n1,n2 --area cpu PLAN   one area of it on two
  assay cluster plan --nodes n1,n2 --pairs all PLAN  and the network between them
";

const RUN_EXAMPLES: &str = "\
Examples:
  assay cluster run PLAN --dry-run                   every script, nothing submitted
  assay cluster run PLAN --sbatch=--account=physics  through Slurm, never above your limits
  assay cluster run PLAN --launcher ssh              the plan's nodes by ssh
";

const REPORT_EXAMPLES: &str = "\
Examples:
  assay cluster report PLAN                   the summary; page, tables and lists into PLAN/report
  assay cluster report PLAN --format drain    the nodes confirmed to be slow, a name a line
  assay cluster report PLAN --format csv -o values.csv
";

/// Carries out a command on a cluster.
pub(crate) fn cluster(command: &ClusterCommand) -> Result {
    match command {
        ClusterCommand::Plan(arguments) => plan::plan(arguments),
        ClusterCommand::Run(arguments) => run::run(arguments),
        ClusterCommand::Status(arguments) => status::status(arguments),
        ClusterCommand::Report(arguments) => report::report(arguments),
    }
}
