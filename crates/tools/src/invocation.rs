//! How a tool is called, as a value.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use model::experiment::Experiment;
use model::wire::HeldFile;

/// Placeholder for the port in command lines.
pub const PORT: &str = "{port}";

/// Placeholder for the path of the tool's working folder in its environment.
pub const FOLDER: &str = "{folder}";

/// Placeholder argument for the paths of the tool's own files.
pub const FILES: &str = "{files}";

/// The benchmark that a tool is compared with, and its resources.
#[derive(Clone, Copy, Debug)]
pub struct Target<'a> {
    pub experiment: &'a Experiment,
    pub program: &'a Path,
    /// The program that starts its processes, if it needs one.
    pub launcher: Option<&'a Path>,
    /// CPUs of our threads; for the network, of the client's.
    pub cpus: &'a [u32],
    /// CPUs of the server's threads, for the network.
    pub other_cpus: &'a [u32],
    /// Seconds to measure. Some tools round to whole seconds.
    pub seconds: f64,
    pub file: Option<&'a HeldFile>,
    /// Our value in the same metric, to size the work; `None`: the tool sizes it.
    pub our_rate: Option<f64>,
    /// The tool's version; empty if it reports none.
    pub version: &'a str,
    /// Offered load in bytes per second; `None`: as fast as possible.
    pub offered_rate: Option<f64>,
    /// Bytes of the receive buffer that the kernel grants our datagrams; `None`: the system's default.
    pub receive_buffer: Option<u64>,
}

/// A command line with its environment and its needs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Invocation {
    /// Program and arguments, with [`PORT`] as a placeholder.
    pub argv: Vec<String>,
    /// Complete environment.
    pub env: BTreeMap<String, String>,
    /// CPUs that it may use; empty: all.
    pub cpus: Vec<u32>,
    pub server: Option<Server>,
    /// Contents of its working folder.
    pub folder: Option<OwnFolder>,
    /// Files that it lays out itself.
    pub own_files: Option<OwnFiles>,
    /// Files that it works on, checked before the start.
    pub files: Vec<NeededFile>,
    /// Settings that it would change if they differed, checked before the start.
    pub settings: Vec<NeededSetting>,
    pub otherwise: Option<Otherwise>,
    /// Estimated seconds of a run, start and end included.
    pub expected_seconds: f64,
    pub timeout_seconds: f64,
}

/// The temporary folder in which a tool is started.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OwnFolder {
    pub files: BTreeMap<&'static str, String>,
    /// The file with its results, if it does not print them.
    pub results: Option<&'static str>,
}

/// Nameless, initially empty files for a tool that lays out its data itself; removed afterwards.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OwnFiles {
    /// A directory on their file system.
    pub directory: PathBuf,
    pub count: u32,
    /// Bytes that it writes to each; there must be room for them.
    pub bytes_each: u64,
}

/// A second command line, without a feature that our own kernels also do without where they must.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Otherwise {
    /// The message of the failed first try.
    pub when_it_says: &'static str,
    pub argv: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Server {
    /// Program and arguments, with [`PORT`] as a placeholder.
    pub argv: Vec<String>,
    /// Complete environment.
    pub env: BTreeMap<String, String>,
    /// CPUs that it may use; empty: all.
    pub cpus: Vec<u32>,
    pub listens_for: ListensFor,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ListensFor {
    #[default]
    Tcp,
    Udp,
}

/// A file that a tool gets only at full size, because it would create, extend or truncate it otherwise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NeededFile {
    pub path: PathBuf,
    /// Minimum size in bytes.
    pub bytes: u64,
    /// Whether the tool overwrites it: our contents must then be laid out again.
    pub overwritten: bool,
}

/// A system setting that a tool would change: it runs only where there is nothing to change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NeededSetting {
    pub path: &'static str,
    /// The file must contain one of these words.
    pub one_of: &'static [&'static str],
}

impl<'a> Target<'a> {
    /// A run of the program for this many seconds, with no other resource.
    pub const fn new(experiment: &'a Experiment, program: &'a Path, seconds: f64) -> Self {
        Self {
            experiment,
            program,
            launcher: None,
            cpus: &[],
            other_cpus: &[],
            seconds,
            file: None,
            our_rate: None,
            version: "",
            offered_rate: None,
            receive_buffer: None,
        }
    }

    pub(crate) fn held_file(&self, tool: &str) -> Result<&HeldFile, String> {
        self.file.ok_or_else(|| format!("{tool} needs the file of the benchmark"))
    }
}

impl Invocation {
    /// The program with these words as arguments; `seconds` are the estimate and the timeout.
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

/// Every tool's environment: no search path, the C locale, and the working folder as home.
pub fn bare_environment() -> BTreeMap<String, String> {
    [("LC_ALL", "C"), ("HOME", FOLDER), ("TMPDIR", FOLDER)]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into()
}

/// The environment of an OpenMP program with its threads pinned to these CPUs.
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

pub(crate) fn command_line(program: &Path, words: &str) -> Vec<String> {
    let words = words.split_whitespace().map(str::to_owned);
    std::iter::once(program.to_string_lossy().into_owned()).chain(words).collect()
}

pub(crate) fn distinct(cpus: &[u32]) -> Vec<u32> {
    let mut cpus = cpus.to_vec();
    cpus.sort_unstable();
    cpus.dedup();
    cpus
}
