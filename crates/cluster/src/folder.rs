//! A plan's folder: the path of each file, and reading and writing files whole. [`crate::claims::claim`] decides who may
//! write what; [`model::cluster`] has the contents.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

use bench::store::{MOST_DOCUMENT_BYTES, replace, write_whole};
use model::cluster::{PLAN_SCHEMA, Plan, Task};
use model::json::FromJson;
use serde::Serialize;
use sys::file::{Directory, is_own, read_regular};

use crate::error::{Error, Result, cannot_write};

/// The permission of a folder in which everybody may create and rename files.
const EVERYBODY_WRITES: u32 = 0o002;
/// Name of the file by which a worker claims a node, without its suffix. No task's name begins with a dot.
pub(crate) const NODE: &str = ".node";
pub(crate) const PLAN: &str = "plan.json";
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
        let path = self.path.join(PLAN);
        let plan: Plan = read(&path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => Error::NoPlan(self.path.clone()),
            _ => Error::Read("the plan ", path.clone(), error),
        })?;
        if plan.schema != PLAN_SCHEMA {
            return Err(Error::PlanSchema(path, plan.schema));
        }
        match outside_name(&plan) {
            Some(name) => Err(Error::OutsideName(path, name.to_owned())),
            None => Ok(plan),
        }
    }

    /// The plan, to act on it. It names the program to run, so a folder of another user is refused, and one that everybody
    /// can write to.
    pub fn own_plan(&self) -> Result<Plan> {
        let found = fs::metadata(&self.path).ok();
        match found.filter(|found| !is_own(found) || found.mode() & EVERYBODY_WRITES != 0) {
            Some(_) => Err(Error::ForeignPlan(self.path.clone())),
            None => self.plan(),
        }
    }

    /// Checks that the plan is still there. Missing folders of nodes are empty ones, so that a lost plan would seem finished.
    pub fn require(&self) -> Result<()> {
        let found = fs::metadata(self.path.join(PLAN)).map(drop);
        found.map_err(|error| Error::PlanLost(self.path.clone(), error))
    }

    /// A result, unless the plan is lost, which explains any error.
    pub fn unless_lost<T>(&self, result: Result<T>) -> Result<T> {
        self.require().and(result)
    }

    /// Writes a file of the report whole or not at all. The plan's folder must belong to this user.
    pub fn write_in_report<T: AsRef<[u8]>>(&self, name: &str, pieces: impl IntoIterator<Item = T>) -> Result<()> {
        if fs::metadata(&self.path).is_ok_and(|found| !is_own(&found)) {
            return Err(Error::ForeignPlan(self.path.clone()));
        }
        let written = Directory::open(&self.path)
            .and_then(|plan| plan.subdirectory("report"))
            .and_then(|report| replace(&report, OsStr::new(name), pieces));
        written.map_err(cannot_write(&self.report().join(name)))
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

/// Makes a folder inside a plan, with the missing folders that it is in. Where the plan was moved, deleted or unmounted,
/// nothing of it is made again.
pub(crate) fn make_folder(path: &Path) -> Result<()> {
    make_inside_plan(path).map_err(cannot_write(path))
}

/// The folder of a task's attempt is as deep as this below the plan's folder.
const DEEPEST: usize = 4;

fn make_inside_plan(path: &Path) -> io::Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    let mut above = path.ancestors().skip(1).take(DEEPEST);
    let plan = above.find(|above| above.join(PLAN).exists()).ok_or(io::ErrorKind::NotFound)?;
    make_below(plan, path)
}

/// Makes the missing folders of a path below a plan's folder, each in its parent: the plan can be moved at any moment, and
/// its own folder is never made.
fn make_below(plan: &Path, path: &Path) -> io::Result<()> {
    let mut folder = plan.to_owned();
    for part in path.strip_prefix(plan).unwrap_or(path) {
        folder.push(part);
        match fs::create_dir(&folder) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && folder.is_dir() => {}
            made => made?,
        }
    }
    Ok(())
}

/// Reads a file of the folder: `InvalidData` where its text is not what is expected.
pub fn read<T: FromJson>(path: &Path) -> io::Result<T> {
    T::from_json(&read_regular(path, MOST_DOCUMENT_BYTES)?)
        .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

/// Bytes at the end of a log in which a reason is searched: some hundred lines from as many nodes.
const TAIL_BYTES: u64 = 32 << 10;

/// The end of a log.
pub(crate) fn tail(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(file.metadata()?.len().saturating_sub(TAIL_BYTES)))?;
    let mut bytes = Vec::new();
    file.take(TAIL_BYTES).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Writes a file of the folder whole or not at all, and the folders that it is in.
pub(crate) fn write<T: Serialize>(path: &Path, value: &T) -> Result<()> {
    let bytes =
        serde_json::to_vec_pretty(value).map_err(|error| Error::Encode(format!("'{}'", path.display()), error))?;
    let make = if path.ends_with(PLAN) { |new: &Path| fs::create_dir_all(new) } else { make_inside_plan };
    let made = path.parent().map_or(Ok(()), make);
    made.and_then(|()| write_whole(path, &bytes)).map_err(cannot_write(path))
}

/// Reads a task; its names become parts of paths.
pub(crate) fn read_task(path: &Path) -> io::Result<Task> {
    let task: Task = read(path)?;
    let is_plain = is_plain_name(&task.node) && is_plain_name(&task.name);
    if is_plain { Ok(task) } else { Err(io::Error::new(io::ErrorKind::InvalidData, "a name in it is no file name")) }
}

/// A node of a plan, or its program, whose path would leave the plan's folder.
fn outside_name(plan: &Plan) -> Option<&str> {
    let node = plan.nodes.iter().map(|node| node.name.as_str()).find(|name| !is_plain_name(name));
    let program = Path::new(&plan.program_path);
    let inside = program.components().all(|part| matches!(part, Component::Normal(_)));
    node.or_else(|| (!inside && !program.is_absolute()).then_some(plan.program_path.as_str()))
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
    fn a_plan_that_leads_out_of_its_folder_is_refused() {
        use crate::plan::request::make;
        use crate::tests::support::{expected_seconds, request, scratch};
        let scratch = scratch();
        let folder = Folder::at(scratch.path());
        let (plan, _) = make(&request(&["n1"]), &expected_seconds()).unwrap();
        let with = |change: &dyn Fn(&mut Plan)| {
            let mut plan = plan.clone();
            change(&mut plan);
            write(&scratch.path().join("plan.json"), &plan).unwrap();
            folder.own_plan().map_err(|error| error.to_string())
        };
        assert!(with(&|_| {}).is_ok() && with(&|plan| plan.program_path = "/usr/bin/assay".into()).is_ok());
        let error = with(&|plan| plan.nodes[0].name = "../../root/x".into()).unwrap_err();
        assert!(error.contains("'../../root/x'"), "{error}");
        assert!(with(&|plan| plan.program_path = "../x".into()).is_err());
        with(&|_| {}).unwrap();
        let everybody = std::os::unix::fs::PermissionsExt::from_mode(0o777);
        fs::set_permissions(scratch.path(), everybody).unwrap();
        assert!(folder.own_plan().unwrap_err().to_string().contains("another user"));
        assert!(folder.plan().is_ok(), "it is read");
    }

    #[test]
    fn the_folder_of_a_plan_that_is_moved_meanwhile_is_not_made_again() {
        let scratch = crate::tests::support::scratch();
        let [plan, moved] = ["plan", "moved"].map(|name| scratch.path().join(name));
        fs::create_dir(&plan).unwrap();
        fs::write(plan.join(PLAN), "").unwrap();
        let attempt = plan.join("work/n1/cpu");
        make_folder(&attempt).unwrap();
        make_folder(&attempt).unwrap();
        assert!(attempt.is_dir());
        fs::rename(&plan, &moved).unwrap();
        assert!(make_below(&plan, &attempt).is_err(), "as if it was moved after it had been found");
        assert!(make_folder(&attempt).is_err() && !plan.exists());
        let file = moved.join("file");
        fs::write(&file, "").unwrap();
        assert!(make_folder(&file).is_err() && make_folder(&file.join("x")).is_err());
    }

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
