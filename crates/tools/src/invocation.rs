//! How a tool is called, as a value.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use model::experiment::Experiment;
use model::wire::HeldFile;

use crate::error::ToolError;

/// Stands for the port in the command lines of tools that need a server: which one is free is known only when the
/// server is started.
pub const PORT: &str = "{port}";

/// Stands for the path of a tool's own folder in its environment: it is made when the tool is started.
pub const FOLDER: &str = "{folder}";

/// Stands, as an argument of its own, for the paths of a tool's own files: they are made when the tool is started.
pub const FILES: &str = "{files}";

/// What a tool is compared with, and where.
#[derive(Clone, Copy, Debug)]
pub struct Target<'a> {
    /// Our benchmark.
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
    /// The file of a disk benchmark.
    pub file: Option<&'a HeldFile>,
    /// Our own value in the same metric, to size a tool's work by; `None` makes tools find their own size.
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
    /// Seconds that a run takes, start and end included, as an estimate.
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

impl Target<'_> {
    /// The file of a disk benchmark.
    pub(crate) fn held_file(&self, tool: &str) -> Result<&HeldFile, ToolError> {
        self.file.ok_or_else(|| ToolError::Uncallable(format!("{tool} needs the file of the benchmark")))
    }
}

impl Invocation {
    /// The program with these words behind it, on the CPUs of our threads. `seconds` are what a run is expected to take
    /// and what it may take at most.
    pub(crate) fn new(target: &Target<'_>, words: &str, seconds: [f64; 2]) -> Self {
        let [expected_seconds, timeout_seconds] = seconds;
        Self {
            argv: command_line(target.program, words),
            env: bare_environment(),
            cpus: distinct(target.cpus),
            expected_seconds,
            timeout_seconds,
            ..Self::default()
        }
    }
}

/// The environment of every tool: no search path, no locale but the one that writes numbers with a point, and its own
/// folder for whatever it would write into a home.
pub fn bare_environment() -> BTreeMap<String, String> {
    [("LC_ALL", "C"), ("HOME", FOLDER), ("TMPDIR", FOLDER)]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into()
}

/// The environment of a program with OpenMP: as many threads as ours, each on a CPU of its own among these.
pub(crate) fn openmp_environment(threads: u32, cpus: &[u32]) -> BTreeMap<String, String> {
    let mut environment = bare_environment();
    let mut set = |name: &str, value: String| environment.insert(name.to_owned(), value);
    set("OMP_NUM_THREADS", threads.to_string());
    set("OMP_DYNAMIC", "false".to_owned());
    if !cpus.is_empty() {
        let places: Vec<String> = distinct(cpus).iter().map(|cpu| format!("{{{cpu}}}")).collect();
        set("OMP_PROC_BIND", "close".to_owned());
        set("OMP_PLACES", places.join(","));
    }
    environment
}

/// A program's path and the words of a text, which has no path.
pub(crate) fn command_line(program: &Path, words: &str) -> Vec<String> {
    let words = words.split_whitespace().map(str::to_owned);
    std::iter::once(program.to_string_lossy().into_owned()).chain(words).collect()
}

/// Distinct CPUs, ascending: an affinity mask knows no more.
pub(crate) fn distinct(cpus: &[u32]) -> Vec<u32> {
    let mut cpus = cpus.to_vec();
    cpus.sort_unstable();
    cpus.dedup();
    cpus
}
