//! `assay cluster`, and the commands that it runs on the nodes: their options.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use model::cluster::Pairing;
use model::experiment::Area;
use model::unit::parse_seconds;
use report::cluster::FORMS;

pub(super) const CLUSTER_EXAMPLES: &str = "\
Examples:
  assay cluster plan --idle --area cpu,memory PLAN   what is to be measured, in a folder all nodes see
  assay cluster run PLAN                             workers on the nodes, until all is measured
  assay cluster report PLAN                          which nodes are slow, and probably why
";

#[derive(Debug, Args)]
pub(crate) struct Cluster {
    #[command(subcommand)]
    pub(crate) command: ClusterCommand,
}

/// What can be done with a cluster.
#[derive(Debug, Subcommand)]
pub(crate) enum ClusterCommand {
    /// Say what is to be measured on which nodes, in a folder that all of them see.
    #[command(before_help = PLAN_EXAMPLES)]
    Plan(Box<PlanArgs>),
    /// Start workers on the nodes of a plan, through Slurm or ssh, until every task is over.
    ///
    /// It can be ended and run again at any time. The exit status is 1 if a task failed or is left.
    #[command(before_help = RUN_EXAMPLES)]
    Run(RunArgs),
    /// Say how far a plan is, and why nodes wait.
    Status(StatusArgs),
    /// Say which nodes are slow, and probably why.
    #[command(before_help = REPORT_EXAMPLES)]
    Report(ReportArgs),
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

/// What is to be measured, and where.
#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("which").required(true))]
pub(crate) struct PlanArgs {
    /// The folder, absent or empty, that all nodes see under the same path.
    pub(crate) folder: PathBuf,
    /// The nodes: names, or where Slurm is an expression of its, such as n[1-4],gpu7.
    #[arg(long, value_name = "NODE,…", group = "which")]
    pub(crate) nodes: Option<String>,
    /// All nodes of a partition of Slurm.
    #[arg(long, value_name = "NAME", group = "which")]
    pub(crate) partition: Option<String>,
    /// All nodes of Slurm.
    #[arg(long, group = "which")]
    pub(crate) all: bool,
    /// The nodes of Slurm that are idle now.
    #[arg(long, group = "which")]
    pub(crate) idle: bool,
    /// A file with a node a line, as ssh knows it; what follows a # is passed over, - is standard input.
    #[arg(long, value_name = "FILE", group = "which")]
    pub(crate) hosts: Option<PathBuf>,
    /// The suite, or a file that ends in .toml, which becomes part of the plan.
    #[arg(long, value_name = "SUITE", default_value = "quick")]
    pub(crate) suite: String,
    /// Only these areas; net, the network of a node with itself, only where it is named.
    #[arg(long, value_delimiter = ',', value_name = "AREA,…")]
    pub(crate) area: Vec<Area>,
    /// Only ids that match; `*` does not cross `/`, `**` does.
    #[arg(long, value_name = "GLOB")]
    pub(crate) filter: Option<String>,
    /// Exactly so many repetitions a row; no stop rule.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) repeat: Option<u32>,
    /// Between which nodes the network is measured: all pairs, ring (shifts by 1, 2, 4 … and random pairs), random, none.
    #[arg(long, value_name = "PAIRS", default_value = "none", value_parser = parse_pairing)]
    pub(crate) pairs: Pairs,
    /// The interface (ib0) or the subnet (10.1.0.0/16) that the network is measured on.
    #[arg(long, value_name = "NAME|SUBNET", requires = "pairs")]
    pub(crate) network: Option<String>,
    /// HPL across all nodes by MPI, once they have done the rest; where xhpl is on every node, by default in their PATH.
    #[arg(long, value_name = "PATH", num_args = 0..=1, require_equals = true, default_missing_value = "xhpl")]
    pub(crate) hpl: Option<String>,
    /// How long HPL may take: so large is the system that it solves, and no larger than 80 % of the memory.
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = parse_hpl_time, requires = "hpl")]
    pub(crate) hpl_time: f64,
    /// What starts HPL's processes, such as "srun --mpi=pmix"; by default srun in a job, else mpirun.
    #[arg(long, value_name = "WORDS", requires = "hpl")]
    pub(crate) hpl_launcher: Option<String>,
    /// The directory on each node that disks are measured in; by default what `assay run` takes there.
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
    /// The program on each node, by its absolute path; by default a copy of this one in the folder.
    #[arg(long, value_name = "PATH")]
    pub(crate) program: Option<PathBuf>,
    /// After so long without a sign of life a worker's task is somebody else's.
    #[arg(long, value_name = "TIME", default_value = "2m", value_parser = parse_seconds)]
    pub(crate) lease: f64,
    /// How often a task is tried.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(crate) attempts: u32,
    /// Seed of order, data, permutations and pairs.
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Say what the plan would be, and write nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// What else each `assay run` is called with, after --.
    #[arg(last = true, value_name = "OPTION")]
    pub(crate) options: Vec<String>,
}

/// How pairs are chosen; `None` for no pairs. A type of its own, since an option that may be absent reads otherwise.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pairs(pub(crate) Option<Pairing>);

fn parse_pairing(text: &str) -> std::result::Result<Pairs, String> {
    if text == "none" {
        Ok(Pairs(None))
    } else {
        text.parse().map(|pairing| Pairs(Some(pairing))).map_err(|why: String| format!("{why}, none"))
    }
}

/// The least time of HPL: starting its processes alone takes seconds.
const LEAST_HPL_SECONDS: f64 = 5.0;

fn parse_hpl_time(text: &str) -> std::result::Result<f64, String> {
    let seconds = parse_seconds(text)?;
    if seconds >= LEAST_HPL_SECONDS { Ok(seconds) } else { Err(format!("'{text}' is too short: at least 5s")) }
}

/// How workers are started.
#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// The plan's folder.
    pub(crate) folder: PathBuf,
    /// What starts workers: slurm, ssh (the plan's nodes are hosts), here (all on this host, one after another: to try
    /// a plan out); auto takes the allocation that it is in, else Slurm.
    #[arg(long, default_value = "auto")]
    pub(crate) launcher: Launcher,
    /// At most so many jobs in the queue, and never more than the user's limits leave; over ssh as many as there are
    /// nodes.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_jobs: Option<u32>,
    /// At most so many nodes in a job.
    #[arg(long, value_name = "N", default_value_t = 128, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) nodes_per_job: u32,
    /// At most so many nodes measured at the same moment; by default as many as are idle.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) at_once: Option<u32>,
    /// The time limit of each job; by default what is expected to be left, and some more.
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub(crate) time: Option<f64>,
    /// A line for every job's script, such as --sbatch=--account=physics; as often as needed.
    #[arg(long, value_name = "LINE", allow_hyphen_values = true)]
    pub(crate) sbatch: Vec<String>,
    /// A configuration file for ssh.
    #[arg(long, value_name = "FILE")]
    pub(crate) ssh_config: Option<PathBuf>,
    /// Do not measure slow nodes a second time.
    #[arg(long)]
    pub(crate) no_confirm: bool,
    /// How long Slurm, or a node, may be away before it is given up.
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = parse_seconds)]
    pub(crate) patience: f64,
    /// Time between two looks; by default from 5 s, growing to 60 s while nothing changes.
    #[arg(long, value_name = "TIME", value_parser = parse_seconds)]
    pub(crate) poll: Option<f64>,
    /// Print every script, and submit nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// What starts workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Launcher {
    /// The allocation that we are in, else Slurm.
    Auto,
    /// Slurm.
    Slurm,
    /// The plan's nodes as hosts.
    Ssh,
    /// This host, in the place of each node.
    Here,
}

/// The shortest time of a job: Slurm counts in minutes, and a worker has to begin and to end.
const LEAST_TIME_SECONDS: f64 = 60.0;

fn parse_time(text: &str) -> std::result::Result<f64, String> {
    let seconds = parse_seconds(text)?;
    if seconds >= LEAST_TIME_SECONDS { Ok(seconds) } else { Err(format!("'{text}' is too short: at least 1m")) }
}

/// Which plan, and for how long.
#[derive(Debug, Args)]
pub(crate) struct StatusArgs {
    /// The plan's folder.
    pub(crate) folder: PathBuf,
    /// Go on telling until nothing is left to do.
    #[arg(long)]
    pub(crate) watch: bool,
    /// For programs: the state as JSON, one line each time.
    #[arg(long)]
    pub(crate) json: bool,
    /// How often the folder is looked at.
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = parse_seconds, requires = "watch")]
    pub(crate) poll: f64,
}

/// Which plan, and in what form.
#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// The plan's folder.
    pub(crate) folder: PathBuf,
    /// One form: html, json, csv, junit, drain or terminal; by default all of them as files in the plan's folder, and
    /// the summary here.
    #[arg(long, value_name = "FORM", value_parser = clap::builder::PossibleValuesParser::new(FORMS.iter().map(|form| form.name)))]
    pub(crate) format: Option<String>,
    /// Where that form goes; - is standard output.
    #[arg(short, long, value_name = "FILE", requires = "format")]
    pub(crate) output: Option<PathBuf>,
}

/// Which node's tasks are done, and how long.
#[derive(Debug, Args)]
pub(crate) struct AgentArgs {
    /// The plan's folder.
    #[arg(long, value_name = "DIR")]
    pub(crate) plan: PathBuf,
    /// The node, by its name in the plan; by default what Slurm calls it, else this host's name.
    #[arg(long)]
    pub(crate) node: Option<String>,
    /// End before this moment, in seconds since 1970; by default a minute before the end of the Slurm job.
    #[arg(long, value_name = "SECONDS", conflicts_with = "for_time")]
    pub(crate) until: Option<f64>,
    /// End before so much time has passed.
    #[arg(long = "for", id = "for_time", value_name = "TIME", value_parser = parse_seconds)]
    pub(crate) for_time: Option<f64>,
    /// Which tasks.
    #[arg(long, default_value = "all")]
    pub(crate) role: Tasks,
    /// How long to wait for other nodes to measure the network with, while there is none.
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = parse_seconds)]
    pub(crate) linger: f64,
}

/// Which tasks an agent does.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Tasks {
    /// All.
    All,
    /// Parts of the suite.
    Suite,
    /// The network between nodes.
    Net,
}

/// What an agent's child is told.
#[derive(Debug, Args)]
pub(crate) struct AttemptArgs {
    /// The process with which this one ends.
    pub(crate) parent: u32,
    /// Another program than this one that it becomes.
    #[arg(long, value_name = "PATH")]
    pub(crate) program: Option<PathBuf>,
    /// The command of that program.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, required = true)]
    pub(crate) words: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_jobs_time_is_no_shorter_than_slurm_counts() {
        assert_eq!(parse_time("2h"), Ok(7200.0));
        assert!(parse_time("30s").unwrap_err().contains("at least 1m"));
    }
}
