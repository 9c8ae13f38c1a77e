//! Why something about a plan could not be done.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;

use model::cluster::PLAN_SCHEMA;

use crate::scheduler::error::SchedulerError;

/// A result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Why something about a plan could not be done.
#[derive(Debug)]
pub enum Error {
    /// A file or folder cannot be written.
    Write(PathBuf, io::Error),
    /// A file cannot be read; `what` is in front of its path, empty or such as "the plan ".
    Read(&'static str, PathBuf, io::Error),
    /// A folder cannot be listed.
    List(PathBuf, io::Error),
    /// The time of a file cannot be read.
    Stat(PathBuf, io::Error),
    /// A value cannot be encoded.
    Encode(String, serde_json::Error),
    /// The kernel gives no random bytes for this.
    Random(&'static str, rustix::io::Errno),
    /// The program cannot be copied into the plan's folder.
    CopyProgram(PathBuf, Box<Error>),
    /// The folder has no plan.
    NoPlan(PathBuf),
    /// The plan has another schema.
    PlanSchema(PathBuf, String),
    /// The folder of a new plan is a file.
    FolderIsFile(PathBuf),
    /// The folder of a new plan has a plan.
    HasPlan(PathBuf),
    /// The folder of a new plan has a part of a plan.
    HasUnfinishedPlan(PathBuf),
    /// The folder of a new plan has another file.
    NotEmpty(PathBuf, String),
    /// A plan with more nodes than the most that it can have.
    TooManyNodes(usize, usize),
    /// What was asked for is no plan.
    Request(&'static str),
    /// A node's name cannot be part of a file's name.
    NodeName(String),
    /// A node is listed twice.
    DuplicateNode(String),
    /// The lease is too short or too long, in seconds.
    LeaseSeconds(f64),
    /// The suite, or what is asked of it, is invalid.
    Suite(String),
    /// The plan has no such node.
    NodeNotInPlan(String, String),
    /// The plan was made by another version than this program.
    ProgramVersion(String, String),
    /// The plan's program cannot be started.
    StartProgram(String, io::Error),
    /// The state of a child process cannot be read.
    ChildLost(io::Error),
    /// The node has no address on the plan's network: node, network, the node's addresses.
    NoAddressOn(String, String, String),
    /// The node has no address.
    NoAddress(String),
    /// The server of a node cannot be started: program, reason.
    StartServer(PathBuf, String),
    /// The state of the server of a node cannot be read.
    ServerLost(io::Error),
    /// The server of a node has ended.
    ServerEnded(ExitStatus),
    /// Another worker has started a server for this node.
    ServerReplaced,
    /// All addresses of a host are also ours: host, addresses.
    OwnAddresses(String, String),
    /// No address of a host accepts a connection: host, addresses with the reasons.
    Unreachable(String, String),
    /// The scheduler failed.
    Scheduler(SchedulerError),
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

/// What to do about a file that cannot be written.
fn advice(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => "; free some space there and run it again",
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            "; the plan's folder must be writable on every node"
        }
        _ => "",
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Write(path, error) => write!(f, "cannot write '{}': {error}{}", path.display(), advice(error)),
            Self::Read(what, path, error) => write!(f, "cannot read {what}'{}': {error}", path.display()),
            Self::List(path, error) => write!(f, "cannot look through '{}': {error}", path.display()),
            Self::Stat(path, error) => write!(f, "cannot look at '{}': {error}", path.display()),
            Self::Encode(what, error) => write!(f, "cannot put {what} into words: {error}"),
            Self::Random(what, error) => write!(f, "cannot draw {what} from the kernel's random numbers: {error}"),
            Self::CopyProgram(program, error) => write!(f, "cannot copy the program '{}': {error}", program.display()),
            Self::StartProgram(program, error) => write!(f, "cannot start the plan's program '{program}': {error}"),
            Self::ChildLost(error) => write!(f, "the child is lost: {error}"),
            Self::Scheduler(error) => error.fmt(f),
            Self::NoAddressOn(..)
            | Self::NoAddress(_)
            | Self::StartServer(..)
            | Self::ServerLost(_)
            | Self::ServerEnded(_)
            | Self::ServerReplaced
            | Self::OwnAddresses(..)
            | Self::Unreachable(..) => self.fmt_network(f),
            _ => self.fmt_plan(f),
        }
    }
}

impl Error {
    /// What is wrong with a plan, its folder or what was asked for.
    fn fmt_plan(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoPlan(path) => write!(f, "'{}' holds no plan: make one with assay cluster plan", path.display()),
            Self::PlanSchema(path, schema) => {
                write!(f, "the plan '{}' is a '{schema}', and this program reads {PLAN_SCHEMA}", path.display())
            }
            Self::FolderIsFile(path) => write!(f, "'{}' is a file; name a folder for the plan", path.display()),
            Self::HasPlan(path) => write!(
                f,
                "'{}' holds a plan already: go on with it by assay cluster run, or name another folder",
                path.display()
            ),
            Self::HasUnfinishedPlan(path) => write!(
                f,
                "'{}' holds a plan that was cut off while it was made: remove the folder, and make the plan again",
                path.display()
            ),
            Self::NotEmpty(path, other) => {
                write!(f, "'{}' is not empty: there is '{other}' in it; name a new folder", path.display())
            }
            Self::TooManyNodes(count, most) => write!(f, "{count} nodes are more than the {most} that a plan can have"),
            Self::NodeName(name) => write!(
                f,
                "'{}' is no name for a node: letters, digits, '-', '_' and '.', not beginning with a dot, at most 200",
                name.escape_debug()
            ),
            Self::DuplicateNode(name) => write!(f, "the node '{name}' is named twice; name each once"),
            Self::LeaseSeconds(seconds) => write!(f, "a lease is between 1 s and a day, not {seconds} s"),
            Self::NodeNotInPlan(plan, node) => {
                write!(f, "the plan '{plan}' has no node '{node}'; name one with --node")
            }
            Self::ProgramVersion(plan, ours) => write!(
                f,
                "the plan was made by assay {plan}, and this is assay {ours}: all nodes must run the program in the \
                 plan's folder"
            ),
            Self::Request(sentence) => f.write_str(sentence),
            Self::Suite(sentence) => f.write_str(sentence),
            _ => Ok(()),
        }
    }

    /// What is wrong with the network between nodes.
    fn fmt_network(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoAddressOn(node, network, own) => write!(
                f,
                "node {node} has no address on '{network}', which the plan names for the network between nodes; it has \
                 {own}; name an interface or a subnet that every node has"
            ),
            Self::NoAddress(node) => write!(f, "node {node} has no address under which others could reach it"),
            Self::StartServer(program, why) => {
                write!(f, "cannot open this node's door with '{}': {why}", program.display())
            }
            Self::ServerLost(error) => write!(f, "the server of this node's door is lost: {error}"),
            Self::ServerEnded(status) => write!(f, "the server of this node's door has ended ({status})"),
            Self::ServerReplaced => f.write_str("another worker has opened this node's door meanwhile"),
            Self::OwnAddresses(host, addresses) => write!(f, "all addresses of {host} are also ours: {addresses}"),
            Self::Unreachable(host, tried) => write!(
                f,
                "no address of {host} answers: {tried}; a firewall may be in the way, or name the network with assay \
                 cluster plan --network"
            ),
            _ => Ok(()),
        }
    }
}

impl std::error::Error for Error {}

impl From<SchedulerError> for Error {
    fn from(error: SchedulerError) -> Self {
        Self::Scheduler(error)
    }
}

impl From<Error> for String {
    fn from(error: Error) -> Self {
        error.to_string()
    }
}
