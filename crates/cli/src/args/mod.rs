//! The command line: names, values and help. What the values lead to is in `commands`.

pub(crate) mod cluster;
pub(crate) mod cpu;
pub(crate) mod disk;
pub(crate) mod linpack;
pub(crate) mod machine;
pub(crate) mod measure;
pub(crate) mod memory;
pub(crate) mod net;
pub(crate) mod results;

use self::cluster::{AgentArgs, AttemptArgs, CLUSTER_EXAMPLES, Cluster};
use self::machine::{DOCTOR_EXAMPLES, Doctor, INFO_EXAMPLES, Info, REFERENCES_EXAMPLES, References};
use clap::error::ErrorKind;
use clap::parser::ValueSource::CommandLine;
use clap::{ArgMatches, CommandFactory, FromArgMatches, Parser, Subcommand};
use cpu::{CPU_EXAMPLES, Cpu};
use disk::{DISK_EXAMPLES, Disk};
use linpack::{LINPACK_EXAMPLES, Linpack};
use measure::{Measure, RUN_EXAMPLES, Run};
use memory::{MEMORY_EXAMPLES, Memory};
use net::{NET_EXAMPLES, Net};
use results::{COMPARE_EXAMPLES, Compare, REPORT_EXAMPLES, Report, Runs, SchemaArgs};

const EXAMPLES: &str = "\
Examples:
  assay                                     measure this machine, in two minutes
  assay run quick --area cpu --json c.json  one area, and the document in a file
  assay info                                what this machine is and could do
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
