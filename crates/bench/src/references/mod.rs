//! Tools that people trust, run beside our own kernels at equal settings: the seam and its table.
//!
//! An adapter says beside which experiments its tool can stand, with which command line (a plain value), and what the
//! tool's output means (a pure function, tested on recorded outputs). Finding a tool is [`detect`]'s, running it
//! [`run`]'s business; when it runs, how often, and what the ratio says are the runner's and `stats`'. The tools are
//! programs of their own: nothing of them is linked or copied.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use model::experiment::Experiment;
use model::sample::MetricName;
use model::wire::HeldFile;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

#[cfg(test)]
mod broken;
pub mod catalogue;
pub mod detect;
mod disk;
mod examples;
#[cfg(test)]
mod explained;
mod fio;
mod hpcc;
mod hpcc_stream;
pub mod hpl;
mod ioping;
mod iozone;
mod iperf;
mod iperf3;
mod likwid_bench;
mod listening;
mod memory;
mod multichase;
mod own_files;
mod own_folder;
mod ping;
mod pmbw;
mod rules;
pub mod run;
pub mod search;
mod sockperf;
mod stream;
mod sysbench;
#[cfg(test)]
mod tests;
mod xlinpack;

pub use rules::{Reason, Rule, Side, explain};

/// Every tool; a new one is one file and one line here.
pub static REFERENCES: &[&dyn Reference] = &[
    &likwid_bench::LikwidBench,
    &stream::Stream,
    &pmbw::Pmbw,
    &multichase::Multichase,
    &sysbench::Sysbench,
    &hpl::Hpl,
    &hpcc::Hpcc,
    &xlinpack::Xlinpack,
    &fio::Fio,
    &ioping::Ioping,
    &iozone::Iozone,
    &iperf3::Iperf3,
    &iperf::Iperf,
    &sockperf::Sockperf,
    &ping::Ping,
];

/// Stands for the port in the command lines of tools that need a server: which one is free is known only when the
/// server is started.
pub const PORT: &str = "{port}";

/// Stands for the path of a tool's own folder in its environment: it is made when the tool is started.
pub const FOLDER: &str = "{folder}";

/// Stands, as an argument of its own, for the paths of a tool's own files: they are made when the tool is started.
pub const FILES: &str = "{files}";

/// A tool that can stand beside our own kernels.
pub trait Reference: Sync {
    /// What is fixed about it.
    fn about(&self) -> &'static About;

    /// A small experiment that it stands beside, to try it with.
    fn example(&self) -> Experiment;

    /// Whether it can measure what this experiment measures, at equal settings.
    ///
    /// # Errors
    /// One sentence: why not.
    fn stands_beside(&self, experiment: &Experiment) -> Result<(), String>;

    /// How it is called. Pure.
    ///
    /// # Errors
    /// One sentence: it does not stand beside this experiment, or the target lacks what it needs.
    fn invocation(&self, target: &Target<'_>) -> Result<Invocation, String>;

    /// What its output says. Pure.
    ///
    /// # Errors
    /// One sentence: the tool says that it failed, or what it printed is not what its version prints.
    fn parse(&self, version: &str, output: &Output, experiment: &Experiment) -> Result<Reading, String>;

    /// What it sent, in bytes per second, if more of it was lost than the experiment allows: the figure is none then, and
    /// it is to be run slower. Pure.
    fn too_fast(&self, _experiment: &Experiment, _reading: &Reading) -> Option<f64> {
        None
    }

    /// Which of its rules hold here. Pure.
    fn reasons(&self, version: &str, experiment: &Experiment, reading: &Reading) -> Vec<Reason>;
}

/// What is fixed about a tool.
#[derive(Debug, PartialEq, Eq)]
pub struct About {
    /// Its id in documents and options.
    pub tool: &'static str,
    /// The program's file name.
    pub program: &'static str,
    /// The file name of the program that starts its processes; `None` where it starts by itself.
    pub launcher: Option<&'static str>,
    /// How it is known that a program is this tool, and which version of it.
    pub version: Version,
    /// The experiments that it stands beside, in a few words.
    pub stands_beside: &'static str,
    /// What is equal on both sides, for a sentence.
    pub equal: &'static str,
    /// What is known to set its figures apart from ours.
    pub rules: &'static [&'static Rule],
    /// How to get it.
    pub how_to_get: &'static str,
}

/// How a tool is known, and its version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// It says its version when it is run with `argument`, behind `prefix`.
    Asked {
        /// What it is run with.
        argument: &'static str,
        /// What stands before the version in its answer.
        prefix: &'static str,
        /// The oldest version whose options and output are known: major and minor.
        oldest: (u32, u32),
    },
    /// It measures whatever it is run with; the version stands in its program's file, behind `prefix`.
    Written {
        /// What stands before the version in the file.
        prefix: &'static str,
        /// The oldest version whose output is known: major and minor.
        oldest: (u32, u32),
    },
    /// It has no version to ask for. It is known by words in its program's file that others do not have.
    Marked {
        /// The words.
        words: &'static str,
    },
    /// It has no version to ask for. It is known by the help that it prints when it is run with `argument`.
    Unsaid {
        /// What it is run with.
        argument: &'static str,
        /// Words of its help, on one line, that others do not have.
        help: &'static str,
    },
}

/// What a tool is to stand beside, and where.
#[derive(Clone, Copy, Debug)]
pub struct Target<'a> {
    /// Our experiment.
    pub experiment: &'a Experiment,
    /// The program, as found.
    pub program: &'a Path,
    /// The program that starts its processes, as found, where it needs one.
    pub launcher: Option<&'a Path>,
    /// The CPUs of our threads; of the measuring end's, for the network.
    pub cpus: &'a [u32],
    /// The CPUs of the other end's threads, for the network.
    pub other_cpus: &'a [u32],
    /// Seconds that the tool is to measure. Tools that count in whole seconds measure a whole number of them.
    pub seconds: f64,
    /// The file of a disk experiment.
    pub file: Option<&'a HeldFile>,
    /// Our own figure in the same metric, to size a tool's work by; `None` makes tools find their own size.
    pub our_rate: Option<f64>,
    /// The tool's version; empty where it says none.
    pub version: &'a str,
    /// Bytes per second that the tool is to offer, where it is looked for how much gets through; `None` for as many as it
    /// can.
    pub offered_rate: Option<f64>,
}

/// How a tool is called, as a value.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Invocation {
    /// The program's path and its arguments, in which [`PORT`] stands for a port.
    pub argv: Vec<String>,
    /// Its whole environment.
    pub env: BTreeMap<String, String>,
    /// The CPUs that it may use: it inherits them from the thread that starts it. Empty for all.
    pub cpus: Vec<u32>,
    /// The server that it talks to.
    pub server: Option<Server>,
    /// What it finds in the folder that it is started in, and what it leaves there of use; `None` for nothing.
    pub folder: Option<OwnFolder>,
    /// The files of its own that it works on, where it lays out its data itself.
    pub own_files: Option<OwnFiles>,
    /// Files that it works on. They are looked at before it is started.
    pub files: Vec<NeededFile>,
    /// Settings that it would change if they were others. They are looked at before it is started.
    pub settings: Vec<NeededSetting>,
    /// How it is called again where it cannot be called so.
    pub otherwise: Option<Otherwise>,
    /// Seconds that a run takes, start and end included, as a guess.
    pub expected_seconds: f64,
    /// Seconds after which it is ended.
    pub timeout_seconds: f64,
}

/// What is in the folder of its own that every tool is started in, and that is gone after it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OwnFolder {
    /// What it finds there: texts by the names of their files.
    pub files: BTreeMap<&'static str, String>,
    /// The file that it writes its results to, if it does not print them. What is in it counts as printed.
    pub results: Option<&'static str>,
}

/// Files of its own for a tool that lays out its data itself: empty when it is started, without names, and gone after it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OwnFiles {
    /// The directory whose file system they are on.
    pub directory: PathBuf,
    /// How many.
    pub count: u32,
    /// Bytes that the tool will write to each. Without room for them it is not started.
    pub bytes_each: u64,
}

/// A second way to call a tool, for what our own kernels also do without where they must.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Otherwise {
    /// What a tool that failed must have said for it.
    pub when_it_says: &'static str,
    /// The program's path and its arguments.
    pub argv: Vec<String>,
}

/// The other end of a tool.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Server {
    /// The program's path and its arguments, in which [`PORT`] stands for a port.
    pub argv: Vec<String>,
    /// Its whole environment.
    pub env: BTreeMap<String, String>,
    /// The CPUs that it may use. Empty for all.
    pub cpus: Vec<u32>,
    /// What it listens for.
    pub listens_for: ListensFor,
}

/// The transport at which a server waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ListensFor {
    /// Connections.
    #[default]
    Tcp,
    /// Datagrams.
    Udp,
}

/// A file that a tool is given: ours, of the full size. A tool is never given one that it would have to create, extend
/// or truncate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NeededFile {
    /// Where the tool opens it.
    pub path: PathBuf,
    /// Bytes that it must have at least.
    pub bytes: u64,
    /// Whether the tool writes over it: our own contents are gone then and must be laid out again before they are read.
    pub overwritten: bool,
}

/// A setting of the system that a tool would change of its own accord. It is run only where there is nothing for it to
/// change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NeededSetting {
    /// Its file.
    pub path: &'static str,
    /// What its file may say: one of these words must be in it.
    pub one_of: &'static [&'static str],
}

/// What a tool printed, and how it ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Output {
    /// Its standard output.
    pub stdout: String,
    /// Its standard error.
    pub stderr: String,
    /// Its exit status; `None` if a signal ended it.
    pub status: Option<i32>,
}

/// A tool's figure, in our terms.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reading {
    /// The metric of ours that it stands beside.
    pub metric: MetricName,
    /// The figure in that metric's base unit, `bytes_factor` included.
    pub value: f64,
    /// What its bytes were multiplied by to count as ours.
    pub bytes_factor: f64,
    /// What else it reports, in base units.
    pub details: Map<String, Value>,
}

/// The tool of this id.
pub fn find(tool: &str) -> Option<&'static dyn Reference> {
    REFERENCES.iter().copied().find(|reference| reference.about().tool == tool)
}

/// Reads bytes as what each tool printed beside its example, and forgets what they said: for tests and the fuzzer, to which
/// it matters that nothing panics.
#[doc(hidden)]
pub fn read_as_every_output(bytes: &[u8]) {
    let output = Output { stdout: String::from_utf8_lossy(bytes).into_owned(), stderr: String::new(), status: Some(0) };
    for reference in REFERENCES {
        let experiment = reference.example();
        if let Ok(reading) = reference.parse("", &output, &experiment) {
            reference.reasons("", &experiment, &reading);
        }
    }
}

/// The environment of every tool: no search path, no locale but the one that writes numbers with a point, and its own
/// folder for whatever it would write into a home.
fn bare_environment() -> BTreeMap<String, String> {
    [("LC_ALL", "C"), ("HOME", FOLDER), ("TMPDIR", FOLDER)]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into()
}

/// Arguments as they are handed over.
fn arguments<const N: usize>(program: &Path, rest: [String; N]) -> Vec<String> {
    std::iter::once(program.to_string_lossy().into_owned()).chain(rest).filter(|word| !word.is_empty()).collect()
}

/// Distinct CPUs, ascending: an affinity mask knows no more.
fn distinct(cpus: &[u32]) -> Vec<u32> {
    let mut cpus = cpus.to_vec();
    cpus.sort_unstable();
    cpus.dedup();
    cpus
}

/// A figure that a rate or a duration can be.
fn positive(tool: &str, what: &str, value: f64) -> Result<f64, String> {
    if value.is_finite() && value > 0.0 {
        Ok(value)
    } else {
        Err(format!("{tool} reports {value} as its {what}: that is no measurement"))
    }
}

/// What a tool complains of, for a sentence: the first line that calls itself an error, since what launchers such as
/// `srun` say later only follows from it; else the last line, but no rule of dashes; what it printed otherwise, if nothing.
fn complaint(output: &Output) -> String {
    let says = |line: &&str| line.chars().any(char::is_alphanumeric);
    let is_error = |line: &&str| line.split_once("rror:").is_some_and(|(_, what)| !what.trim().is_empty());
    let telling = |text: &str| {
        let mut lines = text.lines().map(str::trim).filter(says);
        lines.clone().find(is_error).or_else(|| lines.next_back()).map(str::to_owned)
    };
    let line = telling(&output.stderr).or_else(|| telling(&output.stdout));
    line.map_or_else(|| "it printed nothing".to_owned(), |line| line.chars().take(200).collect())
}

/// How a tool ended that did not succeed.
///
/// # Errors
/// The sentence; `Ok` if it did succeed.
fn succeeded(tool: &str, output: &Output) -> Result<(), String> {
    match output.status {
        Some(0) => Ok(()),
        Some(status) => Err(format!("{tool} left with status {status}: {}", complaint(output))),
        None => Err(format!("{tool} was ended by a signal: {}", complaint(output))),
    }
}

/// Major and minor of a version, as far as they are numbers: `3.7-no.git` is (3, 7).
fn major_minor(version: &str) -> Option<(u32, u32)> {
    let mut parts = version.split('.').map(|part| {
        let digits: String = part.chars().take_while(char::is_ascii_digit).collect();
        digits.parse::<u32>().ok()
    });
    Some((parts.next()??, parts.next().flatten().unwrap_or(0)))
}
