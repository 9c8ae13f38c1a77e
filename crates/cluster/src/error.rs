//! Errors of this crate. Each message is complete: what failed, on what, and why.

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;

use model::cluster::PLAN_SCHEMA;
use model::experiment::Area;
use model::number::rough_duration;

use crate::scheduler::accounting::TimeLimit;
use crate::scheduler::error::SchedulerError;

/// A result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Why something about a plan could not be done.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "each variant's message describes it")]
pub enum Error {
    #[error("cannot write '{}': {}{}", .0.display(), .1, advice(.1))]
    Write(PathBuf, io::Error),
    /// The first field is in front of the path: empty, or such as "the plan ".
    #[error("cannot read {0}'{1}': {2}")]
    Read(&'static str, PathBuf, io::Error),
    #[error("cannot list '{0}': {1}")]
    List(PathBuf, io::Error),
    #[error("cannot encode {0}: {1}")]
    Encode(String, serde_json::Error),
    #[error("cannot get random bytes for {0}: {1}")]
    Random(&'static str, rustix::io::Errno),
    #[error("cannot copy the program '{0}': {1}")]
    CopyProgram(PathBuf, Box<Error>),
    #[error("'{0}' has no plan. Make one with assay cluster plan, or mount the file system that it is on")]
    NoPlan(PathBuf),
    #[error(
        "the plan '{0}' is lost ({1}): it was moved or deleted, or its file system is no longer mounted. \
         Restore it and run it again"
    )]
    PlanLost(PathBuf, io::Error),
    #[error("'{0}' has no plan. Choose the folder of an earlier plan with --history")]
    NoEarlierPlan(PathBuf),
    #[error("the plan '{0}' is a '{1}', and this program reads {PLAN_SCHEMA}")]
    PlanSchema(PathBuf, String),
    #[error("the plan '{0}' has the name '{1}', which leads out of its folder. Make the plan again")]
    OutsideName(PathBuf, String),
    #[error(
        "the folder '{0}' belongs to another user, or everybody may write to it. Copy the plan into a folder of your own"
    )]
    ForeignPlan(PathBuf),
    #[error("'{0}' is a file. Choose a folder for the plan")]
    FolderIsFile(PathBuf),
    #[error("'{0}' already has a plan. Run it with assay cluster run, or choose another folder")]
    HasPlan(PathBuf),
    #[error("'{0}' has an incomplete plan. Remove the folder and make the plan again")]
    HasUnfinishedPlan(PathBuf),
    #[error("'{0}' is not empty: it contains '{1}'. Choose a new folder")]
    NotEmpty(PathBuf, String),
    #[error("{0} nodes are too many: a plan can have at most {1}")]
    TooManyNodes(usize, usize),
    #[error("{0}")]
    Request(&'static str),
    #[error(
        "'{}' is not a valid node name: use letters, digits, '-', '_' and '.', no leading dot, at most 200",
        .0.escape_debug()
    )]
    NodeName(String),
    #[error("all pairs of {0} nodes are too many: at most {1} nodes. Use --pairs ring")]
    TooManyPairs(usize, usize),
    #[error("the node '{0}' is listed twice. List each node once")]
    DuplicateNode(String),
    #[error(
        "the suite has no benchmark of the area '{0}' that can be planned. Remove it from --area, or change --filter"
    )]
    EmptyArea(Area),
    #[error(
        "the task {task} takes about {}, but jobs in the partition '{partition}' can take {} (limit of {}), of which {} are \
         for tasks. Choose another partition, or plan less with --filter or --repeat",
        rough_duration(*seconds), rough_duration(limit.seconds as f64), limit.by, rough_duration(*usable)
    )]
    TimeLimit { task: String, seconds: f64, partition: String, limit: TimeLimit, usable: f64 },
    #[error("a lease must be between 1 s and a day, not {0} s")]
    LeaseSeconds(f64),
    #[error("{0}")]
    Suite(String),
    #[error("the plan '{0}' has no node '{1}'. Choose one with --node")]
    NodeNotInPlan(String, String),
    #[error("the plan was made by assay {0}, but this is assay {1}. Run the program in the plan's folder on all nodes")]
    ProgramVersion(String, String),
    #[error("cannot start a thread: {0}")]
    Thread(io::Error),
    #[error("cannot start the plan's program '{0}': {1}")]
    StartProgram(String, io::Error),
    #[error("the child is lost: {0}")]
    ChildLost(io::Error),
    #[error(
        "node {0} has no address on '{1}', the plan's network between nodes; it has {2}. Choose an interface or a \
         subnet that every node has"
    )]
    NoAddressOn(String, String, String),
    #[error("node {0} has no address that other nodes can reach")]
    NoAddress(String),
    #[error("cannot start this node's server with '{0}': {1}")]
    StartServer(PathBuf, String),
    #[error("this node's server is lost: {0}")]
    ServerLost(io::Error),
    #[error("this node's server has ended ({0})")]
    ServerEnded(ExitStatus),
    #[error("another worker has started a server on this node")]
    ServerReplaced,
    #[error("all addresses of {0} are also addresses of this node: {1}")]
    OwnAddresses(String, String),
    #[error(
        "no address of {0} answers: {1}. Check the firewall, or choose the network with assay cluster plan --network"
    )]
    Unreachable(String, String),
    #[error(transparent)]
    Scheduler(#[from] SchedulerError),
}

/// The error that a file or folder cannot be written.
pub fn cannot_write(path: &Path) -> impl Fn(io::Error) -> Error {
    let path = path.to_owned();
    move |error| Error::Write(path.clone(), error)
}

/// The error that a file cannot be read.
pub fn cannot_read(path: &Path) -> impl Fn(io::Error) -> Error {
    let path = path.to_owned();
    move |error| Error::Read("", path.clone(), error)
}

fn advice(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => ". Free some space there and run it again",
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            ". The plan's folder must be writable on every node"
        }
        _ => "",
    }
}

impl From<Error> for String {
    fn from(error: Error) -> Self {
        error.to_string()
    }
}
