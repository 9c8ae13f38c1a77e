//! `assay cluster`, and the commands that it runs on the nodes: their options.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use model::cluster::Pairing;
use model::experiment::Area;
use model::unit::parse_seconds;
use report::cluster::FORMS;

use super::measure::WORKLOAD;

const NODES: &str = "Nodes";
const NETWORK: &str = "Network and HPL";
const TASKS: &str = "Tasks";

pub(super) const CLUSTER_EXAMPLES: &str = "\
Examples:
  assay cluster plan --idle --area cpu,memory PLAN   plan, in a folder that all nodes see
  assay cluster run PLAN                             run it, through Slurm or ssh
  assay cluster report PLAN                          find slow nodes and their causes
";

#[derive(Debug, Args)]
pub(crate) struct Cluster {
    #[command(subcommand)]
    pub(crate) command: ClusterCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ClusterCommand {
    /// Plan what to measure on which nodes, in a folder that all nodes see.
    #[command(before_help = PLAN_EXAMPLES)]
    Plan(Box<PlanArgs>),
    /// Run a plan through Slurm or ssh until every task has finished.
    ///
    /// Stop and repeat it at any time; finished tasks stay finished. The exit status is 1 if a task has no result.
    #[command(before_help = RUN_EXAMPLES)]
    Run(RunArgs),
    /// Print the progress of a plan and why nodes wait.
    Status(StatusArgs),
    /// End the jobs and workers of a plan. Its tasks stay, and run continues with them.
    Cancel(CancelArgs),
    /// Find slow nodes and their probable causes.
    #[command(before_help = REPORT_EXAMPLES)]
    Report(ReportArgs),
}

const PLAN_EXAMPLES: &str = "\
Examples:
  assay cluster plan --hosts FILE PLAN               the quick suite on these hosts
  assay cluster plan --nodes n1,n2 --area cpu PLAN   one area on two nodes
  assay cluster plan --nodes n1,n2 --pairs all PLAN  also the network between them
";

const RUN_EXAMPLES: &str = "\
Examples:
  assay cluster run PLAN --dry-run                   print the scripts, submit nothing
  assay cluster run PLAN --sbatch=--account=physics  through Slurm, within your limits
  assay cluster run PLAN --launcher ssh              by ssh instead of Slurm
";

const REPORT_EXAMPLES: &str = "\
Examples:
  assay cluster report PLAN                   summary here, all formats to PLAN/report
  assay cluster report PLAN --format drain    the slow nodes, one per line
  assay cluster report PLAN --history OLD     nodes slower than in an earlier plan
";

#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
#[command(group = clap::ArgGroup::new("which").required(true))]
pub(crate) struct PlanArgs {
    /// The plan's folder: absent or empty, and visible to all nodes under this path.
    pub(crate) folder: PathBuf,
    /// Nodes by name, or a Slurm expression such as n[1-4],gpu7.
    #[arg(long, value_name = "LIST", help_heading = NODES, group = "which")]
    pub(crate) nodes: Option<String>,
    /// All nodes of Slurm partitions; a node of several is in the first.
    #[arg(long, value_delimiter = ',', value_name = "LIST", help_heading = NODES, group = "which")]
    pub(crate) partition: Vec<String>,
    /// All Slurm nodes.
    #[arg(long, help_heading = NODES, group = "which")]
    pub(crate) all: bool,
    /// Slurm nodes that are idle now.
    #[arg(long, help_heading = NODES, group = "which")]
    pub(crate) idle: bool,
    /// File with one ssh host per line; - is standard input.
    #[arg(long, value_name = "FILE", help_heading = NODES, group = "which")]
    pub(crate) hosts: Option<PathBuf>,
    /// Not these nodes.
    #[arg(long, value_name = "LIST", help_heading = NODES)]
    pub(crate) exclude: Option<String>,
    /// Do not reserve whole nodes; results then contain other jobs' load.
    ///
    /// Jobs get the CPUs and memory of --sbatch lines, such as --cpus-per-task, else the site's default.
    #[arg(long, help_heading = NODES, conflicts_with = "hosts")]
    pub(crate) shared: bool,
    /// The suite, or a file that ends in .toml.
    #[arg(long, value_name = "SUITE", default_value = "quick", help_heading = WORKLOAD)]
    pub(crate) suite: String,
    /// Only these areas: cpu, linpack, memory, disk, net (loopback, only if named).
    #[arg(long, value_delimiter = ',', value_name = "LIST", help_heading = WORKLOAD)]
    pub(crate) area: Vec<Area>,
    /// Only ids that match; * does not cross a slash, ** does.
    #[arg(long, value_delimiter = ',', value_name = "GLOB", help_heading = WORKLOAD)]
    pub(crate) filter: Vec<String>,
    /// Take exactly N samples per benchmark.
    #[arg(long, value_name = "N", help_heading = WORKLOAD, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) repeat: Option<u32>,
    /// Pairs of nodes between which to measure the network: all, ring, random, none.
    ///
    /// ring is shifts by 1, 2, 4 … and random pairs.
    #[arg(long, value_name = "PAIRS", help_heading = NETWORK, default_value = "none", value_parser = parse_pairing)]
    pub(crate) pairs: Pairs,
    /// Interface (ib0) or subnet (10.1.0.0/16) to measure.
    #[arg(long, value_name = "NAME|SUBNET", help_heading = NETWORK, requires = "pairs")]
    pub(crate) network: Option<String>,
    /// Also run HPL over all nodes by MPI; PATH of xhpl on every node.
    #[arg(long, value_name = "PATH", help_heading = NETWORK, num_args = 0..=1, require_equals = true, default_missing_value = "xhpl")]
    pub(crate) hpl: Option<String>,
    /// Target duration of HPL; determines the problem size.
    #[arg(long, value_name = "TIME", hide_short_help = true, help_heading = NETWORK, default_value = "10m", value_parser = |text: &str| at_least("5s", text), requires = "hpl")]
    pub(crate) hpl_time: f64,
    /// Launcher of HPL's processes, such as "srun --mpi=pmix" [default: srun in a job, else mpirun].
    #[arg(long, value_name = "COMMAND", hide_short_help = true, help_heading = NETWORK, requires = "hpl")]
    pub(crate) hpl_launcher: Option<String>,
    /// Directory for disk benchmarks on each node [default: each node's store].
    #[arg(long, value_name = "DIR", help_heading = WORKLOAD)]
    pub(crate) dir: Option<PathBuf>,
    /// Absolute path of the program on each node [default: a link or copy in the folder].
    #[arg(long, value_name = "PATH", hide_short_help = true, help_heading = TASKS)]
    pub(crate) program: Option<PathBuf>,
    /// Reassign a task after this long without a heartbeat.
    #[arg(long, hide_short_help = true, help_heading = TASKS, value_name = "TIME", default_value = "2m", value_parser = parse_seconds)]
    pub(crate) lease: f64,
    /// Attempts per task.
    #[arg(long, hide_short_help = true, help_heading = TASKS, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(crate) attempts: u32,
    /// Seed of order, data, permutations and pairs.
    #[arg(long, value_name = "N", default_value_t = 1, hide_short_help = true, help_heading = TASKS)]
    pub(crate) seed: u64,
    /// Print the plan and write nothing.
    #[arg(long, help_heading = TASKS)]
    pub(crate) dry_run: bool,
    /// Options for 'assay run' on every node, after --.
    #[arg(last = true, value_name = "OPTION")]
    pub(crate) options: Vec<String>,
}

/// How pairs are chosen; `None` for no pairs. clap would read a plain `Option` as an optional argument.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pairs(pub(crate) Option<Pairing>);

fn parse_pairing(text: &str) -> Result<Pairs, String> {
    if text == "none" {
        Ok(Pairs(None))
    } else {
        text.parse().map(|pairing| Pairs(Some(pairing))).map_err(|why: String| format!("{why}, none"))
    }
}

/// A duration of at least this much.
fn at_least(least: &str, text: &str) -> Result<f64, String> {
    let seconds = parse_seconds(text)?;
    if seconds >= parse_seconds(least)? { Ok(seconds) } else { Err(format!("'{text}' is too short: at least {least}")) }
}

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// The plan's folder.
    pub(crate) folder: PathBuf,
    /// How to start workers [default: as planned].
    #[arg(long, default_value = "auto", hide_default_value = true, value_name = "NAME")]
    pub(crate) launcher: Launcher,
    /// Maximum jobs in the queue [default: what the user's limits leave; over ssh all nodes].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_jobs: Option<u32>,
    /// Maximum nodes per job.
    #[arg(long, value_name = "N", default_value_t = 128, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) nodes_per_job: u32,
    /// Maximum nodes measured at the same time [default: all idle nodes].
    #[arg(long, alias = "at-once", value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_concurrent: Option<u32>,
    /// Time limit of each job [default: the expected remaining time, and a margin].
    #[arg(long, hide_short_help = true, value_name = "TIME", value_parser = |text: &str| at_least("1m", text))]
    pub(crate) time: Option<f64>,
    /// Line for every job script, such as --sbatch=--account=physics; repeatable.
    #[arg(long, value_name = "LINE", allow_hyphen_values = true)]
    pub(crate) sbatch: Vec<String>,
    /// Configuration file for ssh.
    #[arg(long, value_name = "FILE")]
    pub(crate) ssh_config: Option<PathBuf>,
    /// Run tasks without a result again.
    #[arg(long)]
    pub(crate) retry: bool,
    /// Leave the tasks of these nodes for later.
    #[arg(long, value_name = "LIST")]
    pub(crate) exclude: Option<String>,
    /// Do not confirm slow nodes by a second measurement.
    #[arg(long)]
    pub(crate) no_confirm: bool,
    /// Give up on Slurm or a node after this long without an answer.
    #[arg(long, alias = "patience", value_name = "TIME", default_value = "10m", value_parser = parse_seconds)]
    pub(crate) unreachable_timeout: f64,
    /// Interval between polls [default: 5 s, growing to 60 s while nothing changes].
    #[arg(long, hide_short_help = true, value_name = "TIME", value_parser = parse_seconds)]
    pub(crate) poll: Option<f64>,
    /// Print the scripts and submit nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Launcher {
    /// As planned, else the current allocation, else Slurm.
    Auto,
    /// Slurm.
    Slurm,
    /// The plan's nodes, by ssh.
    Ssh,
    /// All nodes on this host, one after another: to try a plan.
    Here,
}

#[derive(Debug, Args)]
pub(crate) struct StatusArgs {
    /// The plan's folder.
    pub(crate) folder: PathBuf,
    /// Repeat until every task has finished.
    #[arg(long)]
    pub(crate) watch: bool,
    /// Print JSON, one line per look.
    #[arg(long)]
    pub(crate) json: bool,
    /// Interval between looks.
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = parse_seconds, requires = "watch")]
    pub(crate) poll: f64,
}

/// Options of `assay cluster cancel`.
#[derive(Debug, Args)]
pub(crate) struct CancelArgs {
    /// The plan's folder.
    pub(crate) folder: PathBuf,
    /// Wait at most this long for workers to end.
    #[arg(long, value_name = "TIME", default_value = "1m", value_parser = parse_seconds)]
    pub(crate) timeout: f64,
}

/// Options of `assay cluster report`.
#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// The plan's folder.
    pub(crate) folder: PathBuf,
    /// One format [default: all, as files in the plan's folder].
    #[arg(long, value_name = "FORMAT", value_parser = clap::builder::PossibleValuesParser::new(FORMS.iter().map(|form| form.name)))]
    pub(crate) format: Option<String>,
    /// Compare each node with its own results in an earlier plan's folder.
    #[arg(long, value_name = "EARLIER")]
    pub(crate) history: Option<PathBuf>,
    /// End with status 1 if a result is below its expected range or slower than before.
    #[arg(long)]
    pub(crate) fail_below: bool,
    /// End with status 1 if a node is slow, 3 if the verdict is inconclusive.
    #[arg(long)]
    pub(crate) fail_on_slow: bool,
    /// Output file; - is standard output.
    #[arg(short, long, value_name = "FILE", requires = "format")]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct AgentArgs {
    /// The plan's folder.
    #[arg(long, value_name = "DIR")]
    pub(crate) plan: PathBuf,
    /// The node's name in the plan [default: Slurm's name for it, else the host name].
    #[arg(long)]
    pub(crate) node: Option<String>,
    /// Exit before this time, in seconds since 1970 [default: a minute before the job ends].
    #[arg(long, value_name = "SECONDS", conflicts_with = "for_time")]
    pub(crate) until: Option<f64>,
    /// Exit before this much time has passed.
    #[arg(long = "for", id = "for_time", value_name = "TIME", value_parser = parse_seconds)]
    pub(crate) for_time: Option<f64>,
    /// The tasks to run.
    #[arg(long, default_value = "all")]
    pub(crate) role: Tasks,
    /// How long to wait for a partner for network tasks.
    #[arg(long, value_name = "TIME", default_value = "2m", value_parser = parse_seconds)]
    pub(crate) linger: f64,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Tasks {
    /// All.
    All,
    /// Parts of the suite.
    Suite,
    /// The network between nodes.
    Net,
}

#[derive(Debug, Args)]
pub(crate) struct AttemptArgs {
    /// The process to exit with.
    pub(crate) parent: u32,
    /// The program to run [default: this one].
    #[arg(long, value_name = "PATH")]
    pub(crate) program: Option<PathBuf>,
    /// The command of that program.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, required = true)]
    pub(crate) words: Vec<String>,
}
