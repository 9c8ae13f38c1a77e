//! A plan's folder: the path of each file, and reading and writing files whole. [`crate::claims::claim`] decides who may
//! write what; [`model::cluster`] has the contents.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use bench::store::{MOST_DOCUMENT_BYTES, write_whole};
use model::cluster::{PLAN_SCHEMA, Plan};
use model::json::FromJson;
use serde::Serialize;
use sys::file::read_regular;

use crate::error::{Error, Result, cannot_write};

/// Name of the file by which a worker claims a node, without its suffix. No task's name begins with a dot.
pub(crate) const NODE: &str = ".node";
pub(crate) const OUTCOME: &str = "outcome.json";
pub(crate) const FACTS: &str = "facts.json";

/// The states that a task's file can be in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are those of the folders")]
pub enum State {
    Waiting,
    /// Claimed by a worker.
    Running,
    Done,
    /// Attempts that failed; the task itself is elsewhere.
    Failed,
    /// What attempts are writing; the task itself is in `running`.
    Work,
}

impl State {
    /// The folder's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Running => "running",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Work => "work",
        }
    }
}

/// A plan's folder; it need not exist yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folder {
    path: PathBuf,
}

#[expect(missing_docs, reason = "each has the name of its contents")]
impl Folder {
    pub fn at(path: &Path) -> Self {
        Self { path: path.to_owned() }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn plan(&self) -> Result<Plan> {
        let path = self.path.join("plan.json");
        let plan: Plan = read(&path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => Error::NoPlan(self.path.clone()),
            _ => Error::Read("the plan ", path.clone(), error),
        })?;
        if plan.schema == PLAN_SCHEMA { Ok(plan) } else { Err(Error::PlanSchema(path, plan.schema)) }
    }

    /// The program that nodes run.
    pub fn program(&self, plan: &Plan) -> PathBuf {
        self.path.join(&plan.program_path)
    }

    /// The folder of a node's tasks in this state.
    pub fn tasks(&self, state: State, node: &str) -> PathBuf {
        self.path.join(state.name()).join(node)
    }

    pub(crate) fn open_tasks(&self, node: &str) -> (PathBuf, PathBuf) {
        (self.tasks(State::Waiting, node), self.tasks(State::Running, node))
    }

    pub(crate) fn waiting_task(&self, node: &str, task: &str) -> PathBuf {
        self.tasks(State::Waiting, node).join(format!("{task}.json"))
    }

    /// The file with the outcome of a finished task.
    pub fn outcome(&self, node: &str, task: &str) -> PathBuf {
        self.tasks(State::Done, node).join(task).join(OUTCOME)
    }

    /// The folder with the facts of a node and its workers.
    pub fn node(&self, node: &str) -> PathBuf {
        self.path.join("nodes").join(node)
    }

    pub fn jobs(&self) -> PathBuf {
        self.path.join("jobs")
    }

    /// The folder of probe files, with which a job's nodes prove that they see the plan's folder.
    pub fn probes(&self) -> PathBuf {
        self.path.join("probe")
    }

    /// The folder of what jobs print, a file for each.
    pub fn log(&self) -> PathBuf {
        self.path.join("log")
    }

    pub fn report(&self) -> PathBuf {
        self.path.join("report")
    }
}

/// The UTF-8 names in a folder, unsorted; none where it does not exist.
pub fn names(folder: &Path) -> Result<Vec<String>> {
    let cannot_list = |error: io::Error| Error::List(folder.to_owned(), error);
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(cannot_list(error)),
    };
    let mut names = Vec::new();
    for entry in entries {
        names.extend(entry.map_err(cannot_list)?.file_name().into_string().ok());
    }
    Ok(names)
}

pub(crate) fn make_folder(path: &Path) -> Result<()> {
    fs::create_dir_all(path).map_err(cannot_write(path))
}

/// Reads a file of the folder: `InvalidData` where its text is not what is expected.
pub fn read<T: FromJson>(path: &Path) -> io::Result<T> {
    T::from_json(&read_regular(path, MOST_DOCUMENT_BYTES)?)
        .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

/// Writes a file of the folder whole or not at all, and the folders that it is in.
pub(crate) fn write<T: Serialize>(path: &Path, value: &T) -> Result<()> {
    let bytes =
        serde_json::to_vec_pretty(value).map_err(|error| Error::Encode(format!("'{}'", path.display()), error))?;
    let made = path.parent().map_or(Ok(()), fs::create_dir_all);
    made.and_then(|()| write_whole(path, &bytes)).map_err(cannot_write(path))
}

/// Whether a name can be part of a file's name: at most 200 letters, digits, `-`, `_` and `.`, no dot in front.
pub(crate) fn is_plain_name(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    !name.is_empty() && name.len() <= 200 && !name.starts_with('.') && name.bytes().all(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_could_leave_the_folder_are_not_plain() {
        for name in ["n1", "node-07.rack_3", "a"] {
            assert!(is_plain_name(name), "{name}");
        }
        for name in ["", ".", "..", ".node", "a/b", "a@b", "ä", "a b", "a\0b", &"n".repeat(201)] {
            assert!(!is_plain_name(name), "{name}");
        }
    }
}
