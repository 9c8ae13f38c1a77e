//! A plan's folder: where each file is, and reading and writing them whole. Who may write what is said in
//! [`super::claim`]; what is in the files in [`model::cluster`].

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use model::cluster::{PLAN_SCHEMA, Plan};
use serde::Serialize;
use serde::de::DeserializeOwned;

use bench::store::write_whole;

/// The states that a task's file can be in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Nobody has claimed it.
    Waiting,
    /// Somebody has.
    Running,
    /// It is over.
    Done,
    /// Attempts that came to nothing; the task itself is elsewhere.
    Failed,
    /// What attempts are writing; the task itself is in `running`.
    Work,
}

impl State {
    /// The folder's name.
    #[must_use]
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

/// A plan's folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folder {
    path: PathBuf,
}

impl Folder {
    /// The folder at this path, there or not yet.
    #[must_use]
    pub fn at(path: &Path) -> Self {
        Self { path: path.to_owned() }
    }

    /// Its path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The plan in it.
    ///
    /// # Errors
    /// A sentence: there is none, it cannot be read, or it is of another kind or version.
    pub fn plan(&self) -> Result<Plan, String> {
        let path = self.path.join("plan.json");
        let plan: Plan = read(&path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => {
                format!("'{}' holds no plan: make one with assay cluster plan", self.path.display())
            }
            _ => format!("cannot read the plan '{}': {error}", path.display()),
        })?;
        if plan.schema == PLAN_SCHEMA {
            Ok(plan)
        } else {
            Err(format!("the plan '{}' is a '{}', and this program reads {PLAN_SCHEMA}", path.display(), plan.schema))
        }
    }

    /// Where a node's tasks of a state are.
    #[must_use]
    pub fn tasks(&self, state: State, node: &str) -> PathBuf {
        self.path.join(state.name()).join(node)
    }

    /// Where it is told what a node is and who works there.
    #[must_use]
    pub fn node(&self, node: &str) -> PathBuf {
        self.path.join("nodes").join(node)
    }

    /// Where submitted jobs are noted.
    #[must_use]
    pub fn jobs(&self) -> PathBuf {
        self.path.join("jobs")
    }

    /// Where probe files are, by which a job's nodes show that they see this folder.
    #[must_use]
    pub fn probes(&self) -> PathBuf {
        self.path.join("probe")
    }

    /// Where what jobs print goes.
    #[must_use]
    pub fn log(&self) -> PathBuf {
        self.path.join("log")
    }

    /// Where the report goes.
    #[must_use]
    pub fn report(&self) -> PathBuf {
        self.path.join("report")
    }
}

/// The names in a folder, in no order; a folder that is not there holds none. A name that is no text is none of ours.
///
/// # Errors
/// A sentence: the folder cannot be read.
pub fn names(folder: &Path) -> Result<Vec<String>, String> {
    let cannot_read = |error: io::Error| format!("cannot look through '{}': {error}", folder.display());
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(cannot_read(error)),
    };
    let mut names = Vec::new();
    for entry in entries {
        names.extend(entry.map_err(cannot_read)?.file_name().into_string().ok());
    }
    Ok(names)
}

/// Reads a file of the folder.
///
/// # Errors
/// What the system said, or `InvalidData` with what is wrong with the text.
pub fn read<T: DeserializeOwned>(path: &Path) -> io::Result<T> {
    let bytes = fs::read(path)?;
    serde_json::from_slice(&bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

/// Writes a file of the folder whole or not at all, and the folders that it is in.
///
/// # Errors
/// A sentence with the path and what to do.
pub fn write<T: Serialize>(path: &Path, value: &T) -> Result<(), String> {
    let bytes = serde_json::to_vec_pretty(value)
        .map_err(|error| format!("cannot put '{}' into words: {error}", path.display()))?;
    let made = path.parent().map_or(Ok(()), fs::create_dir_all);
    made.and_then(|()| write_whole(path, &bytes)).map_err(|error| cannot_write(path, &error))
}

/// Why a file of the folder cannot be written, and what to do.
#[must_use]
pub fn cannot_write(path: &Path, error: &io::Error) -> String {
    let advice = match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => "; free some space there and run it again",
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            "; the plan's folder must be writable on every node"
        }
        _ => "",
    };
    format!("cannot write '{}': {error}{advice}", path.display())
}

/// Whether a name can be part of a file's name as it is: letters, digits, `-`, `_` and `.`, not beginning with a dot, at
/// most 200 bytes. Names of nodes and tasks are; others are refused when the plan is made.
#[must_use]
pub fn is_plain_name(name: &str) -> bool {
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
