//! The command line: names, values and help. What the values lead to is in `commands`.

pub(crate) mod cluster;
pub(crate) mod machine;
pub(crate) mod measure;
pub(crate) mod net;
pub(crate) mod results;

use std::ffi::OsString;
use std::path::PathBuf;

use self::cluster::{AgentArgs, AttemptArgs, CLUSTER_EXAMPLES, Cluster};
use self::machine::{DOCTOR_EXAMPLES, Doctor, INFO_EXAMPLES, Info, REFERENCES_EXAMPLES, References};
use crate::commands::program::VERSION;
use crate::environment::Color;
use areas::cpu::CpuChoice;
use areas::disk::DiskChoice;
use areas::linpack::LinpackChoice;
use areas::memory::MemoryChoice;
use clap::error::ErrorKind;
use clap::parser::ValueSource::CommandLine;
use clap::{ArgMatches, CommandFactory, FromArgMatches, Parser, Subcommand};
use measure::{CPU_EXAMPLES, DISK_EXAMPLES, LINPACK_EXAMPLES, MEMORY_EXAMPLES, Measure, OneArea, RUN_EXAMPLES, Run};
use net::{NET_EXAMPLES, Net};
use results::{COMPARE_EXAMPLES, Compare, REPORT_EXAMPLES, Report, SHOW_EXAMPLES, SchemaArgs, Show};

/// The help of the program: on one screen of 24 lines, its commands in groups.
const HELP: &str = "\
Examples:
  assay                           measure this machine: the quick suite, two minutes
  assay disk --dir /data          measure one area, with its own options
  assay compare BASE NEW          what changed between two stored runs

Usage: assay [OPTIONS]            the options of 'assay run', see assay run --help
       assay <COMMAND>            assay COMMAND -h is short, --help is complete

Measure
  run                             a suite: quick, standard, rigorous, classic, steady, FILE.toml
  cpu, linpack, memory, disk, net one area
  guide                           choose interactively
Look at results
  show                            the full tables of a stored run
  report, runs                    print a stored run as HTML, text, CSV …; list the runs
  compare                         two runs, or two programs or settings measured alternately
This machine
  info                            hardware, limits, and the source of each value
  doctor                          would results be reliable now?
Cluster
  cluster                         measure many nodes through Slurm, find the slow ones
Setup
  references, completions, man    reference tools; completions for a shell; manual pages
";

/// Benchmarks a Linux machine, compares each result with the hardware's limit, and says how far to trust it.
#[derive(Debug, Parser)]
#[command(name = "assay", version, long_version = VERSION.as_str(), override_help = HELP, args_conflicts_with_subcommands = true, max_term_width = 100)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,

    #[command(flatten)]
    pub(crate) measure: Measure,

    /// Colour the output: auto is on a terminal.
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        default_value = "auto",
        hide_short_help = true,
        help_heading = "Global"
    )]
    pub(crate) color: Color,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Measure a suite.
    #[command(before_help = RUN_EXAMPLES)]
    Run(Run),
    /// Measure arithmetic.
    #[command(before_help = CPU_EXAMPLES)]
    Cpu(OneArea<CpuChoice>),
    /// Measure LINPACK and matrix products.
    #[command(before_help = LINPACK_EXAMPLES)]
    Linpack(OneArea<LinpackChoice>),
    /// Measure memory bandwidth and latency.
    #[command(before_help = MEMORY_EXAMPLES)]
    Memory(OneArea<MemoryChoice>),
    /// Measure a disk: sequential and random reads and writes.
    #[command(before_help = DISK_EXAMPLES)]
    Disk(OneArea<DiskChoice>),
    /// Measure a network: streams, datagrams, round trips.
    #[command(before_help = NET_EXAMPLES)]
    Net(Net),
    /// Ask what to measure, show the plan and the equivalent command, and run it.
    Guide,
    /// Print this machine's hardware and limits, and the source of each value.
    #[command(before_help = INFO_EXAMPLES)]
    Info(Info),
    /// Check in five seconds whether results would be reliable now, and what to change.
    #[command(before_help = DOCTOR_EXAMPLES)]
    Doctor(Doctor),
    /// List the reference tools: installed ones, and how to get the others.
    ///
    /// The exit status is 1 if a tool failed its check.
    #[command(before_help = REFERENCES_EXAMPLES)]
    References(References),
    /// Compare two runs: changed, unchanged, inconclusive.
    ///
    /// The exit status is 1 if a result regressed, else 3 if one is inconclusive, else 0; 2 if there is nothing to
    /// compare.
    #[command(before_help = COMPARE_EXAMPLES)]
    Compare(Compare),
    /// Print a stored run: HTML, text, CSV, JSON and more.
    #[command(before_help = REPORT_EXAMPLES)]
    Report(Report),
    /// Print the full tables of a stored run.
    #[command(before_help = SHOW_EXAMPLES)]
    Show(Show),
    /// List the runs in the store.
    Runs,
    /// Measure many nodes and find the slow ones.
    #[command(before_help = CLUSTER_EXAMPLES)]
    Cluster(Cluster),
    /// Print the script that completes commands, options, runs and ids in a shell.
    Completions {
        /// The shell.
        #[arg(value_parser = ["bash", "zsh", "fish"])]
        shell: String,
    },
    /// Write the manual pages to a folder.
    Man {
        /// The folder.
        #[arg(value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
        folder: PathBuf,
    },
    /// Run a node's tasks of a plan; started by 'assay cluster run'.
    #[command(hide = true)]
    Agent(AgentArgs),
    /// Run another command that exits with the given process.
    #[command(hide = true)]
    Attempt(AttemptArgs),
    /// One process run of one benchmark; started by the program itself.
    #[command(hide = true)]
    Worker,
    /// Print the JSON schema of run.json or cluster.json.
    #[command(hide = true)]
    Schema(SchemaArgs),
}

impl Arguments {
    pub(crate) fn read<'a>(words: impl IntoIterator<Item = &'a str>) -> Result<Self, String> {
        Self::try_parse_from(words.into_iter().map(OsString::from)).map_err(|error| {
            let text = error.to_string();
            text.lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned()
        })
    }

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

/// Options that `--resume` accepts; all others are those of the interrupted run.
const WITH_RESUME: &[&str] = &[
    "resume",
    "retry_failed",
    "suite",
    "tool",
    "time_budget",
    "write_budget",
    "wait_quiet",
    "key_file",
    "json",
    "details",
    "fail_below",
    "quiet",
    "color",
];

/// Reads the command line; exits with status 2 and a message if it is wrong.
pub(crate) fn parse() -> Arguments {
    let mut command = command();
    let read = command.clone().try_get_matches().and_then(|matches| {
        irrelevant(&mut command, &matches)?;
        contradiction(&mut command, &matches)?;
        Arguments::from_arg_matches(&matches)
    });
    read.unwrap_or_else(|error| error.exit())
}

/// The command line, where a command does not show the options that mean nothing to it.
pub(crate) fn command() -> clap::Command {
    let mut command = Arguments::command();
    for name in AREA_COMMANDS {
        command = command.mut_subcommand(name, |area| {
            OF_SUITES
                .iter()
                .filter(|(id, _)| !means_something(name, id))
                .fold(area, |area, (id, _)| area.mut_arg(id, |argument| argument.hide(true)))
        });
    }
    command.build();
    command
}

pub(crate) const AREA_COMMANDS: [&str; 5] = ["cpu", "linpack", "memory", "disk", "net"];

/// Options of suites that mean nothing to the command of an area, and what to do instead.
const OF_SUITES: [(&str, &str); 4] = [
    ("area", "it measures one area. Use 'assay run --area'"),
    ("exact_workload", "it states no totals. Use 'assay run classic --exact-workload'"),
    ("dir", "it writes to no disk. Use 'assay disk' or 'assay run'"),
    ("write_budget", "it writes to no disk. Use 'assay disk' or 'assay run'"),
];

fn means_something(command: &str, id: &str) -> bool {
    command == "disk" && matches!(id, "dir" | "write_budget")
}

/// Refuses an option that means nothing to its command.
fn irrelevant(command: &mut clap::Command, matches: &ArgMatches) -> Result<(), clap::Error> {
    let Some((name, matches)) = matches.subcommand().filter(|(name, _)| AREA_COMMANDS.contains(name)) else {
        return Ok(());
    };
    let given = |id: &str| matches.value_source(id) == Some(CommandLine);
    let found = OF_SUITES.iter().find(|(id, _)| !means_something(name, id) && given(id));
    let Some((id, why)) = found else { return Ok(()) };
    let sentence = format!("'assay {name}' does not accept '--{}': {why}\n", id.replace('_', "-"));
    Err(command.error(ErrorKind::ArgumentConflict, sentence))
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
    let refused = |argument: &&clap::Arg| {
        let id = argument.get_id().as_str();
        given(id) && !WITH_RESUME.contains(&id)
    };
    let Some(argument) = command.get_arguments().find(refused) else { return Ok(()) };
    let argument = argument.get_long().map_or_else(|| argument.get_id().to_string(), |long| format!("--{long}"));
    let sentence = format!("'{argument}' cannot be used with --resume: the run keeps its settings\n");
    Err(command.error(ErrorKind::ArgumentConflict, sentence))
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        command().debug_assert();
    }

    /// The error of a command line whose options are valid one by one.
    fn contradiction_in(line: &str) -> Option<String> {
        let mut command = command();
        let matches = command.try_get_matches_from_mut(line.split(' ')).unwrap();
        contradiction(&mut command, &matches).err().map(|error| error.to_string())
    }

    #[test]
    fn resume_accepts_output_budgets_and_tools_only() {
        for fine in [
            "assay --resume x",
            "assay run --resume x",
            "assay run classic --resume x --time-budget 1h --quiet",
            "assay cpu --resume x --json - --retry-failed --wait-quiet 5s",
            "assay net --resume x",
            "assay run --resume x --tool fio=/opt/fio",
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
            let sentence = contradiction_in(line).unwrap_or_else(|| panic!("{line} was accepted"));
            assert!(sentence.contains(named) && sentence.contains("--resume"), "{sentence}");
        }
        for wrong in ["assay --retry-failed", "assay net --resume x --to y", "assay net --key-file k"] {
            assert!(Arguments::command().try_get_matches_from(wrong.split(' ')).is_err(), "{wrong}");
        }
    }

    fn help(name: &str, is_long: bool) -> String {
        let mut command = command().term_width(100);
        let mut names = name.split(' ').filter(|name| !name.is_empty());
        let found = names.try_fold(&mut command, |command, name| command.find_subcommand_mut(name));
        let found = found.unwrap_or_else(|| panic!("no command {name}"));
        if is_long { found.render_long_help().to_string() } else { found.render_help().to_string() }
    }

    const COMMANDS: [&str; 18] = [
        "",
        "run",
        "cpu",
        "linpack",
        "memory",
        "disk",
        "net",
        "net serve",
        "info",
        "doctor",
        "references",
        "compare",
        "report",
        "show",
        "cluster",
        "cluster plan",
        "cluster run",
        "cluster report",
    ];

    #[test]
    fn every_command_begins_its_help_with_three_examples() {
        for name in COMMANDS {
            let help = help(name, true);
            assert!(help.lines().take(4).all(|line| line.chars().count() < 90), "{name}: wrapped on narrow terminals");
            assert!(help.starts_with("Examples:\n"), "{name}: {help}");
            assert_eq!(help.lines().skip(1).take_while(|line| line.starts_with("  assay")).count(), 3, "{name}");
        }
    }

    #[test]
    fn the_short_help_fits_a_screen_and_no_help_has_markup() {
        for name in COMMANDS {
            let short = help(name, false);
            let most = if name.is_empty() { 24 } else { 40 };
            assert!(short.lines().count() <= most, "{name}: {} lines\n{short}", short.lines().count());
            assert!(!help(name, true).contains('`'), "{name}");
        }
    }

    #[test]
    fn the_program_s_help_lists_every_command() {
        let command = command();
        for shown in command.get_subcommands().filter(|shown| !shown.is_hide_set() && shown.get_name() != "help") {
            assert!(HELP.split(['\n', ' ', ',']).any(|word| word == shown.get_name()), "{}", shown.get_name());
        }
    }

    #[test]
    fn a_command_refuses_what_means_nothing_to_it() {
        for (line, why) in [
            ("assay cpu --area disk", "one area"),
            ("assay memory --dir /data", "writes to no disk"),
            ("assay disk --exact-workload", "states no totals"),
        ] {
            let mut command = command();
            let matches = command.try_get_matches_from_mut(line.split(' ')).unwrap();
            let error = irrelevant(&mut command, &matches).unwrap_err().to_string();
            assert!(error.contains(why), "{line}: {error}");
        }
        for (name, hidden) in [("cpu", "--dir"), ("net", "--write-budget"), ("disk", "--area")] {
            assert!(!help(name, true).contains(hidden), "{name} shows {hidden}");
        }
        assert!(help("disk", true).contains("--dir"));
    }

    const REFERENCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/commands.md");

    fn reference() -> String {
        let mut text =
            "# Commands and options\n\nThe complete help of every command, written from the program.\n".to_owned();
        for name in COMMANDS {
            let title = format!("assay {name}");
            let help = help(name, true);
            let lines: Vec<&str> = help.lines().map(str::trim_end).collect();
            let _ = write!(text, "\n## {}\n\n```text\n{}\n```\n", title.trim_end(), lines.join("\n").trim_end());
        }
        text
    }

    #[test]
    fn the_reference_is_the_help() {
        let found = std::fs::read_to_string(REFERENCE).unwrap_or_default();
        assert!(found == reference(), "write it: cargo test -p assay write_the_reference -- --ignored");
    }

    #[test]
    #[ignore = "writes docs/reference/commands.md"]
    fn write_the_reference() {
        std::fs::write(REFERENCE, reference()).unwrap();
    }
}
