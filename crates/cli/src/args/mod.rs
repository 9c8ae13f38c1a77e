//! The command line: names, values and help. What the values lead to is in `commands`.

use std::net::SocketAddr;
use std::path::PathBuf;

use bench::net::{Target, listen_address};
use bench::reference::REFERENCES;
use bench::suite::{IsaChoice, Leading, NodePair, Order, Threads, parse_alignment};
use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::error::ErrorKind;
use clap::parser::ValueSource::CommandLine;
use clap::{ArgMatches, Args, CommandFactory, FromArgMatches, Parser, Subcommand};
use model::experiment::Area;
use model::io::{
    Direction, DiskCache, DiskEngine, DiskLayout, DiskOp, DiskPattern, DiskSync, NetMode, Protocol, Segmentation, Wait,
};
use model::isa::{CpuOp, Element, MemoryOp, MemoryPattern, Pages, Placement};
use model::linpack::{LinpackEngine, LinpackOp};
use model::unit::{parse_seconds, parse_size};

use crate::commands::cluster::ClusterCommand;
use crate::commands::cluster::agent::{AgentArgs, AttemptArgs};

/// The deepest queue that can be asked for, which is what the disk engine takes.
const MOST_DEPTH: i64 = 1024;

const EXAMPLES: &str = "\
Examples:
  assay                                     measure this machine, in two minutes
  assay run quick --area cpu --json c.json  one area, and the document in a file
  assay info                                what this machine is and could do
";

const RUN_EXAMPLES: &str = "\
Examples:
  assay run quick --list                    what would be measured, how long
  assay run standard --time-budget 5m       until narrow, 5 minutes at most
  assay run classic --area cpu              the classic tables
";

const CPU_EXAMPLES: &str = "\
Examples:
  assay cpu                                 every precision and instruction set
  assay cpu --op fma --type fp64 --isa avx2 one kernel
  assay cpu --type int8,bf16 --threads 1,2,4
";

const LINPACK_EXAMPLES: &str = "\
Examples:
  assay linpack                             LINPACK and DGEMM, on 1 and all cores
  assay linpack --n 2000,5000,10000 --threads 1,2
  assay linpack --n 10000 --lda n,padded    what padding of the columns does
";

const MEMORY_EXAMPLES: &str = "\
Examples:
  assay memory                              bandwidth and latency of the memory
  assay memory --pattern chase --pages 4KiB latency with small pages
  assay memory --op read,copy_nt --working-set 4GiB
";

const DISK_EXAMPLES: &str = "\
Examples:
  assay disk --dir /data                    the disk under /data, direct I/O
  assay disk --pattern random --op read --depth 1,8,32,128
  assay disk --references fio               with fio beside it, interleaved
";

const NET_EXAMPLES: &str = "\
Examples:
  assay net                                 TCP and UDP over loopback
  assay net --to node7 --key-file KEY       to 'assay net serve' on another host
  assay net --references iperf3,sockperf    with the trusted tools beside it
";

const SERVE_EXAMPLES: &str = "\
Examples:
  assay net serve                           for this machine alone
  assay net serve --listen 0.0.0.0 --key-file KEY
  assay net serve --once --listen [::1]:5300
";

const INFO_EXAMPLES: &str = "\
Examples:
  assay info                                this machine, its peaks, the sources
  assay info --json                         the same for programs
  assay info --capture DIR                  saves all that is read; --sysroot DIR replays
";

const DOCTOR_EXAMPLES: &str = "\
Examples:
  assay doctor                              is this machine quiet, and set up well?
  assay doctor --json                       the same for programs
  assay doctor && assay                     measure only if it is
";

const REFERENCES_EXAMPLES: &str = "\
Examples:
  assay references                          which trusted tools are here, and how to get the others
  assay references --check                  run each of them once and read what it prints
  assay references --tool stream=/opt/stream --json
";

const COMPARE_EXAMPLES: &str = "\
Examples:
  assay compare BASE NEW                    two runs: changed, same, or cannot tell
  assay compare BASE NEW --format markdown  a table for a pull request
  assay compare --live 'cpu --threads 1' 'cpu --threads 1' --switch-b 'CMD'
";

const CLUSTER_EXAMPLES: &str = "\
Examples:
  assay cluster plan --idle --area cpu,memory PLAN   what is to be measured, in a folder all nodes see
  assay cluster run PLAN                             workers on the nodes, until all is measured
  assay cluster report PLAN                          which nodes are slow, and probably why
";

const REPORT_EXAMPLES: &str = "\
Examples:
  assay report RUN                          the page: report.html in the run's folder
  assay report RUN --format csv -o run.csv  one line per metric
  assay report RUN --table classic-cpu      one table, for a spreadsheet
";

/// Tells how close a Linux machine comes to its own limits, why, and whether the number can be trusted.
///
/// Without a command the quick suite is measured and stored.
#[derive(Debug, Parser)]
#[command(name = "assay", version, before_help = EXAMPLES, args_conflicts_with_subcommands = true, max_term_width = 100)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,

    #[command(flatten)]
    pub(crate) measure: Measure,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Measure a suite: quick (default), standard, rigorous, classic, steady, or a file that ends in .toml.
    #[command(before_help = RUN_EXAMPLES)]
    Run(Run),
    /// Measure arithmetic.
    #[command(before_help = CPU_EXAMPLES)]
    Cpu(Cpu),
    /// Measure the solution of dense systems of equations, and products of matrices.
    #[command(before_help = LINPACK_EXAMPLES)]
    Linpack(Linpack),
    /// Measure memory.
    #[command(before_help = MEMORY_EXAMPLES)]
    Memory(Memory),
    /// Measure a disk: reads and writes in order and at random, past the page cache and through it.
    #[command(before_help = DISK_EXAMPLES)]
    Disk(Disk),
    /// Measure the network: streams and round trips over loopback.
    #[command(before_help = NET_EXAMPLES)]
    Net(Net),
    /// Ask what to measure, show the plan and the command that comes to the same, and run it.
    Guide,
    /// Say what this machine is, what it could do at best, and how each figure was worked out.
    #[command(before_help = INFO_EXAMPLES)]
    Info(Info),
    /// Say in five seconds whether numbers taken now can be trusted, and what to change.
    #[command(before_help = DOCTOR_EXAMPLES)]
    Doctor(Doctor),
    /// Say which trusted tools are here, what each can stand beside, and how to get the others.
    ///
    /// The exit status is 1 if a tool failed when it was tried.
    #[command(before_help = REFERENCES_EXAMPLES)]
    References(References),
    /// Say what changed between two runs, what did not, and what cannot be told.
    ///
    /// The exit status is 1 if anything changed for the worse, else 3 if anything cannot be told, else 0; 2 if there is
    /// nothing to compare.
    #[command(before_help = COMPARE_EXAMPLES)]
    Compare(Compare),
    /// Show a run again: as text, CSV or JSON.
    #[command(before_help = REPORT_EXAMPLES)]
    Report(Report),
    /// List the runs in the store, or show one of them.
    Runs(Runs),
    /// Measure the same on many nodes, and say which of them are slow.
    #[command(before_help = CLUSTER_EXAMPLES)]
    Cluster(Cluster),
    /// Do a node's tasks of a plan; started on the nodes by 'assay cluster run'.
    #[command(hide = true)]
    Agent(AgentArgs),
    /// Become another command of this program, which ends when the given process does.
    #[command(hide = true)]
    Attempt(AttemptArgs),
    /// One launch of one experiment; started by the program itself.
    #[command(hide = true)]
    Worker,
    /// Print the JSON schema of run.json, or of a cluster's cluster.json.
    #[command(hide = true)]
    Schema(SchemaArgs),
}

/// Which schema.
#[derive(Debug, Args)]
pub(crate) struct SchemaArgs {
    /// The form of document.
    #[arg(value_name = "FORM", default_value = "run", value_parser = clap::builder::PossibleValuesParser::new(::report::schema::FORMS.iter().map(|form| form.name)))]
    pub(crate) form: String,
}

#[derive(Debug, Args)]
pub(crate) struct Cluster {
    #[command(subcommand)]
    pub(crate) command: ClusterCommand,
}

#[derive(Debug, Args)]
pub(crate) struct Run {
    /// The suite: quick (the default), standard, rigorous, classic, steady, or a file that ends in .toml.
    pub(crate) suite: Option<String>,

    #[command(flatten)]
    pub(crate) measure: Measure,
}

#[derive(Debug, Args)]
pub(crate) struct Cpu {
    /// What to compute: fma, dot, matrix, muladd, add, plain, `all_pipes`.
    #[arg(long, value_delimiter = ',')]
    pub(crate) op: Vec<CpuOp>,
    /// Element types: fp64, fp32, fp16, bf16, int8, int16, int32, int64.
    #[arg(long = "type", value_name = "TYPE", value_delimiter = ',')]
    pub(crate) elements: Vec<Element>,
    /// Instruction sets: vector (the widest here), all, scalar, sse2, avx2, avx512, `avx512_vnni`, amx …
    #[arg(long, value_delimiter = ',')]
    pub(crate) isa: Vec<IsaChoice>,

    #[command(flatten)]
    pub(crate) measure: Measure,
}

#[derive(Debug, Args)]
pub(crate) struct Linpack {
    /// What is computed: lu (a solution in fp64), `lu_mixed` (the same by factors in fp32, or in bf16 of HPL-MxP's dominant
    /// matrix), gemm (a product).
    #[arg(long, value_delimiter = ',')]
    pub(crate) op: Vec<LinpackOp>,
    /// Whose solver does it: own, faer, system (the BLAS and LAPACK that are installed).
    #[arg(long, value_delimiter = ',')]
    pub(crate) engine: Vec<LinpackEngine>,
    /// Orders of the systems; auto, the default, is the largest multiple of 1000 that half of the memory holds and that all
    /// cores are expected to solve in some seconds.
    #[arg(long, value_name = "N,…", value_delimiter = ',')]
    pub(crate) n: Vec<Order>,
    /// Columns that are factored at a time; by default what suits the caches.
    #[arg(long, value_name = "N,…", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub(crate) nb: Vec<u32>,
    /// Elements from one column to the next: a number, n (none between columns), padded (an odd number of cache lines, the
    /// default).
    #[arg(long, value_name = "N,…", value_delimiter = ',')]
    pub(crate) lda: Vec<Leading>,
    /// Alignment of the matrix: a power of two from 8B to 2MiB.
    #[arg(long, value_name = "SIZE,…", value_delimiter = ',', value_parser = parse_alignment)]
    pub(crate) align: Vec<u64>,
    /// Element types: fp64, fp32 for products and for the factors of `lu_mixed`, bf16 for these alone.
    #[arg(long = "type", value_name = "TYPE", value_delimiter = ',')]
    pub(crate) elements: Vec<Element>,
    /// Instruction sets: vector (the widest here), all, scalar, avx2, avx512.
    #[arg(long, value_delimiter = ',')]
    pub(crate) isa: Vec<IsaChoice>,

    #[command(flatten)]
    pub(crate) measure: Measure,
}

#[derive(Debug, Args)]
pub(crate) struct Memory {
    /// Order of the visits: sequential, random, chase, pair (of cores).
    #[arg(long, value_delimiter = ',')]
    pub(crate) pattern: Vec<MemoryPattern>,
    /// What is done: `read`, `write`, `copy`, `write_nt`, `copy_nt`, `triad`, `triad_nt`, `mix_3_1` …; `load` (chase),
    /// `increment` (random), `handoff` (pair).
    #[arg(long, value_delimiter = ',')]
    pub(crate) op: Vec<MemoryOp>,
    /// Bytes per block, for `read`, `write` and `copy`, in order and at random.
    #[arg(long, value_name = "SIZE,…", value_delimiter = ',', value_parser = parse_size)]
    pub(crate) block: Vec<u64>,
    /// Bytes over all threads and arrays; by default at least four times the last-level cache.
    #[arg(long, value_name = "SIZE,…", value_delimiter = ',', value_parser = parse_size)]
    pub(crate) working_set: Vec<u64>,
    /// Page sizes: 2MiB, 4KiB.
    #[arg(long, value_delimiter = ',')]
    pub(crate) pages: Vec<Pages>,
    /// Instruction sets: vector (the widest here up to 256 bits), all, sse2, avx2, avx512.
    #[arg(long, value_delimiter = ',')]
    pub(crate) isa: Vec<IsaChoice>,
    /// Independent chains of a chase, 1 to 32 a thread.
    #[arg(long, value_name = "N,…", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=32))]
    pub(crate) chains: Vec<u32>,
    /// Which cores are filled first: compact, scatter.
    #[arg(long, value_delimiter = ',')]
    pub(crate) placement: Vec<Placement>,
    /// Memory nodes of threads and of their memory, such as 0-0,0-1; by default all pairs where there are several.
    #[arg(long, value_name = "NODE-NODE,…", value_delimiter = ',')]
    pub(crate) nodes: Vec<NodePair>,

    #[command(flatten)]
    pub(crate) measure: Measure,
}

#[derive(Debug, Args)]
pub(crate) struct Disk {
    /// Order of the visits: sequential, random, backward, strided.
    #[arg(long, value_delimiter = ',')]
    pub(crate) pattern: Vec<DiskPattern>,
    /// What is done: read, write, mixed, rewrite, reread.
    #[arg(long, value_delimiter = ',')]
    pub(crate) op: Vec<DiskOp>,
    /// Bytes per request; by default 1MiB in order and 4KiB at random. Through the page cache any size, else multiples of
    /// the device's blocks.
    #[arg(long, value_name = "SIZE,…", value_delimiter = ',', value_parser = parse_size)]
    pub(crate) block: Vec<u64>,
    /// Requests in flight per thread; by default 1 and 32.
    #[arg(long, value_name = "N,…", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=MOST_DEPTH))]
    pub(crate) depth: Vec<u32>,
    /// Bytes of each test file; by default 1GiB, or what there is room for.
    #[arg(long, value_name = "SIZE,…", value_delimiter = ',', value_parser = parse_size)]
    pub(crate) size: Vec<u64>,
    /// How requests reach the kernel: `io_uring` (the default, else `libaio`, else `sync`), `libaio`, `sync` (threads that
    /// wait), `null` (no device: our own loop).
    #[arg(long, value_delimiter = ',')]
    pub(crate) engine: Vec<DiskEngine>,
    /// Whether the page cache is bypassed (`O_DIRECT`): `true`, or `false`, which is the same as --cache cold,warm.
    #[arg(long, value_name = "BOOL,…", num_args = 0..=1, default_missing_value = "true", value_delimiter = ',', conflicts_with = "cache")]
    pub(crate) direct: Vec<bool>,
    /// What a write waits for: none, dsync (the data is on the medium), sync (and what describes it).
    #[arg(long, value_delimiter = ',')]
    pub(crate) sync: Vec<DiskSync>,
    /// What the page cache may do: bypassed (direct I/O), cold (emptied for the file before), warm (filled before).
    #[arg(long, value_delimiter = ',')]
    pub(crate) cache: Vec<DiskCache>,
    /// How threads share files: shared, `per_thread`.
    #[arg(long, value_delimiter = ',')]
    pub(crate) layout: Vec<DiskLayout>,
    /// Per cent of the highest rate at which requests begin, at random moments; latency is then from the moment each was due.
    #[arg(long, value_name = "N,…", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(crate) load_percent: Vec<u32>,

    #[command(flatten)]
    pub(crate) measure: Measure,
}

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Net {
    #[command(subcommand)]
    pub(crate) command: Option<NetCommand>,
    /// The server at the other end; without it both ends are on this machine. The port is 5211 unless named.
    #[arg(long, value_name = "HOST[:PORT]", value_parser = Target::parse, group = "other_end")]
    pub(crate) to: Option<Target>,
    /// The file with the key that the server asks for; - is standard input.
    #[arg(long, value_name = "FILE", requires = "other_end")]
    pub(crate) key_file: Option<PathBuf>,
    /// Transports: tcp, udp.
    #[arg(long, value_delimiter = ',')]
    pub(crate) protocol: Vec<Protocol>,
    /// What is done: stream (tcp), `no_drop` (udp, the highest rate within a loss goal), blast (udp, as much as goes),
    /// pingpong, connect (tcp), load (round trips while streams run), transfer (a fixed amount there and back).
    #[arg(long, value_delimiter = ',')]
    pub(crate) mode: Vec<NetMode>,
    /// Bytes per send, or per message; by default 128KiB in a stream, 1472B in a datagram and 1 byte there and back.
    #[arg(long, value_name = "SIZE,…", value_delimiter = ',', value_parser = parse_size)]
    pub(crate) block: Vec<u64>,
    /// Which way the bytes of a stream go: up (to the server), down, both at once.
    #[arg(long, value_delimiter = ',')]
    pub(crate) direction: Vec<Direction>,
    /// Whether the sends of a TCP stream are asked to spare their copy: true, false.
    #[arg(long, value_name = "BOOL,…", value_delimiter = ',', action = clap::ArgAction::Append)]
    pub(crate) zero_copy: Vec<bool>,
    /// Who cuts datagrams from large sends: off (one system call a batch of them), gso (the kernel or the device).
    #[arg(long, value_delimiter = ',')]
    pub(crate) segmentation: Vec<Segmentation>,
    /// How a round trip is waited for: blocking (asleep), spinning (asking again and again).
    #[arg(long, value_delimiter = ',')]
    pub(crate) wait: Vec<Wait>,
    /// Datagrams of a million that the highest rate may lose: 0, 1, 1000 or any other number below a million.
    #[arg(long, value_name = "PPM,…", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(0..1_000_000))]
    pub(crate) loss_goal: Vec<u32>,

    #[command(flatten)]
    pub(crate) measure: Measure,
}

#[derive(Debug, Subcommand)]
pub(crate) enum NetCommand {
    /// Be the other end for 'assay net --to' on other hosts, one visitor at a time, until a signal ends it.
    #[command(before_help = SERVE_EXAMPLES)]
    Serve(Serve),
}

#[derive(Debug, Args)]
pub(crate) struct Serve {
    /// The address to listen on, for TCP and UDP; by default 127.0.0.1:5211. Any but a loopback address needs a key.
    #[arg(long, value_name = "ADDR[:PORT]", value_parser = |text: &str| listen_address(Some(text)))]
    pub(crate) listen: Option<SocketAddr>,
    /// The file with the key that visitors must know, at least 16 bytes; - is standard input.
    #[arg(long, value_name = "FILE")]
    pub(crate) key_file: Option<PathBuf>,
    /// End after the first visitor.
    #[arg(long)]
    pub(crate) once: bool,
    /// So many visitors measure at the same time, and disturb each other.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=64))]
    pub(crate) concurrent: u32,
    /// The longest visit.
    #[arg(long, value_name = "TIME", default_value = "1h", value_parser = parse_seconds)]
    pub(crate) most_seconds: f64,
    /// The most that is sent by UDP, in bytes of data per second, such as 100MB.
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub(crate) udp_rate: Option<u64>,
}

/// Options of every measuring command.
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
#[derive(Debug, Args)]
pub(crate) struct Measure {
    /// Thread counts, such as 1,2,4; `all` is one per core, `doubling` 1, 2, 4 … all, `smt` one per hardware thread. Up to
    /// 1024; more than the CPUs take turns.
    #[arg(long, value_delimiter = ',', value_name = "N,…")]
    pub(crate) threads: Vec<Threads>,
    /// Exactly so many repetitions a row; no stop rule.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) repeat: Option<u32>,
    /// For the whole command, such as 90s; rows it leaves no time for are skipped.
    #[arg(long, value_name = "TIME", value_parser = parse_seconds)]
    pub(crate) time_budget: Option<f64>,
    /// What may be written to disks in all, such as 20GB, or `none` for no limit; rows it leaves nothing for are skipped.
    #[arg(long, value_name = "SIZE", value_parser = parse_write_budget)]
    pub(crate) write_budget: Option<u64>,
    /// Do the totals that a suite states (classic: 10^12 operations a row) in full, however long that takes; three times,
    /// or as --repeat says.
    #[arg(long, conflicts_with = "verify")]
    pub(crate) exact_workload: bool,
    /// Wait for others to finish, in all for at most this long, such as 60s; then measure all the same.
    #[arg(long, value_name = "TIME", value_parser = parse_seconds)]
    pub(crate) wait_quiet: Option<f64>,
    /// Only these areas of the suite: cpu, linpack, memory, disk, net.
    #[arg(long, value_delimiter = ',', value_name = "AREA,…")]
    pub(crate) area: Vec<Area>,
    /// Only ids that match; `*` does not cross `/`, `**` does.
    #[arg(long, value_name = "GLOB")]
    pub(crate) filter: Option<String>,
    /// Print the plan, one id a line with its expected cost, and measure nothing.
    #[arg(long, conflicts_with = "verify")]
    pub(crate) list: bool,
    /// Run each experiment once, briefly, and check its results.
    #[arg(long)]
    pub(crate) verify: bool,
    /// The directory that disks are measured in; by default the store's. The test file has no name and is gone afterwards.
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
    #[arg(long, value_delimiter = ',', value_name = "NAME,…", help = references_help())]
    pub(crate) references: Vec<String>,
    /// Where a reference tool is, if not where programs are looked for.
    #[arg(long, value_name = "NAME=PATH")]
    pub(crate) tool: Vec<String>,
    /// A fact only you know, such as `memory.channels=12` or `disk.read_iops=1e6`.
    #[arg(long, value_delimiter = ',', value_name = "KEY=VALUE")]
    pub(crate) declare: Vec<String>,
    /// Go on with a run that was cut off: its folder, its run.json, or its name in the store. What is left is measured as it
    /// was asked then; only what is printed, and what it may take of time and writes, can be said anew.
    #[arg(long, value_name = "RUN", group = "other_end")]
    pub(crate) resume: Option<String>,
    /// With --resume: try again what failed.
    #[arg(long, requires = "resume")]
    pub(crate) retry_failed: bool,
    /// Seed of order, data and permutations.
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// The run's folder; must be absent or empty. By default a new one in the store.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Also write the document there; with - nothing else goes to standard output.
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// No progress.
    #[arg(long)]
    pub(crate) quiet: bool,
    /// Of the plan only how many rows it has, and how long they take; for the guide.
    #[arg(skip)]
    pub(crate) brief: bool,
}

impl Arguments {
    /// The options of a measuring command, if it is one.
    pub(crate) const fn measure_mut(&mut self) -> Option<&mut Measure> {
        match &mut self.command {
            None => Some(&mut self.measure),
            Some(Command::Run(run)) => Some(&mut run.measure),
            Some(Command::Cpu(cpu)) => Some(&mut cpu.measure),
            Some(Command::Linpack(linpack)) => Some(&mut linpack.measure),
            Some(Command::Memory(memory)) => Some(&mut memory.measure),
            Some(Command::Disk(disk)) => Some(&mut disk.measure),
            Some(Command::Net(net)) => Some(&mut net.measure),
            Some(_) => None,
        }
    }
}

/// What may be said of a run that is gone on with: the rest was said when it was begun.
const SAID_ANEW: &[&str] =
    &["resume", "retry_failed", "suite", "time_budget", "write_budget", "wait_quiet", "key_file", "json", "quiet"];

/// A budget of writes: a size, or `none`, which is more than can ever be written.
fn parse_write_budget(text: &str) -> Result<u64, String> {
    if text == "none" { Ok(u64::MAX) } else { parse_size(text) }
}

/// Reads the command line; whatever is wrong with it ends the program, with a sentence and status 2.
pub(crate) fn parse() -> Arguments {
    let mut command = Arguments::command();
    command.build();
    let read = command.clone().try_get_matches().and_then(|matches| {
        contradiction(&mut command, &matches)?;
        Arguments::from_arg_matches(&matches)
    });
    read.unwrap_or_else(|error| error.exit())
}

/// An option that contradicts `--resume`, anywhere on the command line.
fn contradiction(command: &mut clap::Command, matches: &ArgMatches) -> Result<(), clap::Error> {
    if let Some((name, matches)) = matches.subcommand()
        && let Some(command) = command.find_subcommand_mut(name)
    {
        contradiction(command, matches)?;
    }
    let given = |id: &str| matches.try_contains_id(id).is_ok() && matches.value_source(id) == Some(CommandLine);
    if !given("resume") {
        return Ok(());
    }
    let anew = |argument: &&clap::Arg| {
        let id = argument.get_id().as_str();
        given(id) && !SAID_ANEW.contains(&id)
    };
    let Some(argument) = command.get_arguments().find(anew) else { return Ok(()) };
    let argument = argument.get_long().map_or_else(|| argument.get_id().to_string(), |long| format!("--{long}"));
    let sentence = format!("'{argument}' cannot be used with --resume: the run goes on as it was asked\n");
    Err(command.error(ErrorKind::ArgumentConflict, sentence))
}

/// The help of `--references`, with the name of every tool.
fn references_help() -> String {
    let tools: Vec<&str> = REFERENCES.iter().map(|reference| reference.about().tool).collect();
    format!("Run these trusted tools beside our own measurements, in turn: {}; all; none", tools.join(", "))
}

#[derive(Debug, Args)]
pub(crate) struct Info {
    /// For programs: the machine and its peaks as JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Read a recorded machine instead of this one.
    #[arg(long, value_name = "DIR", conflicts_with = "capture")]
    pub(crate) sysroot: Option<PathBuf>,
    /// Show the file system and the block devices behind this directory too, and what a measurement would find there;
    /// nothing is written.
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
    /// Save all that is read of this machine under DIR, which must be absent or empty.
    #[arg(long, value_name = "DIR")]
    pub(crate) capture: Option<PathBuf>,
    /// A fact only you know, such as `memory.channels=12` or `disk.read_iops=1e6`.
    #[arg(long, value_delimiter = ',', value_name = "KEY=VALUE")]
    pub(crate) declare: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Doctor {
    /// For programs: the checks as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct References {
    /// Run each tool that is here once, briefly, and read what it prints.
    #[arg(long)]
    pub(crate) check: bool,
    /// Where a tool is, if not where programs are looked for.
    #[arg(long, value_name = "NAME=PATH")]
    pub(crate) tool: Vec<String>,
    /// Where the file of a disk tool is made for its check; by default the store's directory.
    #[arg(long, value_name = "DIR", requires = "check")]
    pub(crate) dir: Option<PathBuf>,
    /// For programs: the list as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Compare {
    /// The run to compare with: its folder, its run.json, or its name in the store. With --live: options, or another
    /// assay and its options.
    #[arg(value_name = "BASE")]
    pub(crate) base: String,
    /// The run to be compared; with --live: options, or another assay and its options.
    #[arg(value_name = "NEW")]
    pub(crate) new: String,
    /// Measure both now, in turn.
    #[arg(long)]
    pub(crate) live: bool,
    /// The command that switches the machine to side A; it is run at the end as well.
    #[arg(long, value_name = "CMD", requires = "live")]
    pub(crate) switch_a: Option<String>,
    /// The command that switches the machine to side B.
    #[arg(long, value_name = "CMD", requires = "live")]
    pub(crate) switch_b: Option<String>,
    /// Exactly so many pairs; by default 8 to 40, until every row has its verdict.
    #[arg(long, value_name = "N", requires = "live", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) pairs: Option<u32>,
    /// For the whole live comparison, such as 5m.
    #[arg(long, value_name = "TIME", requires = "live", value_parser = parse_seconds)]
    pub(crate) time_budget: Option<f64>,
    /// Seed of the live order.
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// No progress.
    #[arg(long)]
    pub(crate) quiet: bool,
    /// For programs: the comparison as JSON, the same as --format json.
    #[arg(long, conflicts_with = "format")]
    pub(crate) json: bool,
    /// The form.
    #[arg(long, default_value = "text", value_parser = ["text", "json", "markdown"])]
    pub(crate) format: String,
    /// Write to this file instead of standard output.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Report {
    /// A run's folder, its run.json, or its name in the store.
    #[arg(value_name = "RUN")]
    pub(crate) run: String,
    /// The form; html where none is named.
    #[arg(long, value_parser = formats())]
    pub(crate) format: Option<String>,
    /// Only this table, as csv unless another form of tables is named: classic-cpu, memory-measured … (for a name that
    /// there is none of, the names are told).
    #[arg(long, value_name = "NAME")]
    pub(crate) table: Option<String>,
    /// Write to this file, - for standard output. Where none is named, html goes to report.html in the run's folder and
    /// every other form to standard output.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Write only the charts, as SVG files, to this absent or empty folder; as PNG too if built with --features png.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["format", "table", "output"])]
    pub(crate) charts: Option<PathBuf>,
}

/// The forms of a report, each with what it is.
fn formats() -> PossibleValuesParser {
    PossibleValuesParser::new(
        report::RENDERERS.iter().map(|renderer| PossibleValue::new(renderer.name).help(renderer.about)),
    )
}

#[derive(Debug, Args)]
pub(crate) struct Runs {
    /// Show this run.
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }

    /// What is wrong with a command line that is right word by word, if anything.
    fn contradiction_in(line: &str) -> Option<String> {
        let mut command = Arguments::command();
        let matches = command.try_get_matches_from_mut(line.split(' ')).unwrap();
        contradiction(&mut command, &matches).err().map(|error| error.to_string())
    }

    #[test]
    fn a_run_that_goes_on_is_asked_nothing_anew() {
        for fine in [
            "assay --resume x",
            "assay run --resume x",
            "assay run classic --resume x --time-budget 1h --quiet",
            "assay cpu --resume x --json - --retry-failed --wait-quiet 5s",
            "assay net --resume x",
            "assay cpu --threads 2",
        ] {
            assert_eq!(contradiction_in(fine), None, "{fine}");
        }
        for (line, named) in [
            ("assay --resume x --seed 1", "--seed"),
            ("assay run --resume x --threads 2", "--threads"),
            ("assay cpu --isa avx2 --resume x", "--isa"),
            ("assay run --resume x --list", "--list"),
        ] {
            let sentence = contradiction_in(line).unwrap_or_else(|| panic!("{line} was taken"));
            assert!(sentence.contains(named) && sentence.contains("--resume"), "{sentence}");
        }
        for wrong in ["assay --retry-failed", "assay net --resume x --to y", "assay net --key-file k"] {
            assert!(Arguments::command().try_get_matches_from(wrong.split(' ')).is_err(), "{wrong}");
        }
    }

    #[test]
    fn every_measuring_command_begins_its_help_with_three_examples() {
        for name in ["", "run", "cpu", "linpack", "memory", "disk", "net", "info", "report"] {
            let mut command = Arguments::command();
            let help = match command.find_subcommand_mut(name) {
                Some(found) => found.render_help().to_string(),
                None => command.render_help().to_string(),
            };
            assert!(help.lines().take(4).all(|line| line.chars().count() < 90), "{name}: wrapped on narrow terminals");
            assert!(help.starts_with("Examples:\n"), "{name}: {help}");
            assert_eq!(help.lines().skip(1).take_while(|line| line.starts_with("  assay")).count(), 3, "{name}");
        }
    }
}
