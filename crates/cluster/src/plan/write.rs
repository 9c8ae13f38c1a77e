//! Writes a plan and its tasks into its folder.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use model::cluster::{Plan, Task};

use crate::error::{Error, Result, cannot_write};
use crate::folder::{self, Folder, NODE, PLAN, State};

/// Where the program is in a plan's folder.
pub(super) const PROGRAM: &str = "program/assay";
const PROGRAM_FOLDER: &str = "program";
const FOLDERS: &[&str] = &["running", "work", "done", "failed", "nodes", "jobs", "probe", "log"];
/// Threads that write a new plan: on a shared file system each file costs a round trip to the server.
const WRITERS: usize = 8;

/// Writes a plan into its folder, which must be absent or empty, and copies `program` unless the plan names another one.
/// `plan.json` comes last, after one sync of everything else. After an error nothing stays.
pub fn write(folder: &Folder, plan: &Plan, tasks: &[Task], program: &Path) -> Result<()> {
    check_empty(folder)?;
    let was_there = folder.path().exists();
    fill(folder, plan, tasks, program).inspect_err(|_| {
        // The folder was empty, so everything in it is ours.
        for name in [PROGRAM_FOLDER, State::Waiting.name()].iter().chain(FOLDERS) {
            let _ = fs::remove_dir_all(folder.path().join(name));
        }
        if !was_there {
            let _ = fs::remove_dir(folder.path());
        }
    })
}

fn fill(folder: &Folder, plan: &Plan, tasks: &[Task], program: &Path) -> Result<()> {
    let make = |path: &Path| fs::create_dir_all(path).map_err(cannot_write(path));
    if plan.program_path == PROGRAM {
        copy_program(program, &folder.path().join(PROGRAM))?;
    }
    for name in FOLDERS {
        make(&folder.path().join(name))?;
    }
    let mut of_node: BTreeMap<&str, Vec<&Task>> =
        plan.nodes.iter().map(|node| (node.name.as_str(), Vec::new())).collect();
    for task in tasks {
        of_node.entry(&task.node).or_default().push(task);
    }
    let nodes: Vec<(&str, Vec<&Task>)> = of_node.into_iter().collect();
    std::thread::scope(|scope| {
        let part = |nodes| {
            let writer = std::thread::Builder::new().spawn_scoped(scope, move || fill_nodes(folder, nodes));
            // Where no thread can be started, this one writes.
            writer.map_err(|_| fill_nodes(folder, nodes))
        };
        let writers: Vec<_> = nodes.chunks(nodes.len().div_ceil(WRITERS).max(1)).map(part).collect();
        // All are waited for: files still being written could not be removed.
        let end = |writer: std::result::Result<std::thread::ScopedJoinHandle<'_, Result<()>>, Result<()>>| match writer
        {
            Ok(writer) => writer.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
            Err(written) => written,
        };
        let ended: Vec<_> = writers.into_iter().map(end).collect();
        ended.into_iter().collect::<Result<()>>()
    })?;
    let synced = File::open(folder.path()).and_then(|folder| rustix::fs::syncfs(folder).map_err(io::Error::from));
    synced.map_err(cannot_write(folder.path()))?;
    folder::write(&folder.path().join(PLAN), plan)
}

/// Makes the folders of these nodes and writes their tasks in place: no worker looks before `plan.json` exists.
fn fill_nodes(folder: &Folder, nodes: &[(&str, Vec<&Task>)]) -> Result<()> {
    for (node, tasks) in nodes {
        let waiting = folder.tasks(State::Waiting, node);
        fs::create_dir_all(&waiting).map_err(cannot_write(&waiting))?;
        let path = waiting.join(format!("{NODE}.json"));
        fs::write(&path, "{}").map_err(cannot_write(&path))?;
        for task in tasks {
            let path = waiting.join(format!("{}.json", task.name));
            let text = serde_json::to_vec(task).map_err(|error| Error::Encode("a task".to_owned(), error))?;
            fs::write(&path, text).map_err(cannot_write(&path))?;
        }
    }
    Ok(())
}

/// Checks that the folder is absent or empty.
pub fn check_empty(folder: &Folder) -> Result<()> {
    let path = folder.path().to_owned();
    if path.exists() && !path.is_dir() {
        return Err(Error::FolderIsFile(path));
    }
    let found = folder::names(&path)?;
    if found.iter().any(|name| name == PLAN) {
        return Err(Error::HasPlan(path));
    }
    if found.iter().any(|name| name == PROGRAM_FOLDER || name == State::Waiting.name()) {
        return Err(Error::HasUnfinishedPlan(path));
    }
    found.into_iter().next().map_or(Ok(()), |other| Err(Error::NotEmpty(path, other)))
}

/// Links the program, or copies it from another file system, so that nodes run the one that made the plan.
fn copy_program(from: &Path, to: &Path) -> Result<()> {
    let copy = || {
        fs::copy(from, to)?;
        fs::set_permissions(to, fs::Permissions::from_mode(0o755))?;
        File::open(to)?.sync_all()
    };
    let made = to.parent().map_or(Ok(()), fs::create_dir_all);
    let copied = made.and_then(|()| fs::hard_link(from, to).or_else(|_| copy()));
    copied.map_err(|error| Error::CopyProgram(from.to_owned(), Box::new(Error::Write(to.to_owned(), error))))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::*;
    use crate::plan::request::make;
    use crate::tests::support::{expected_seconds as two, request, scratch};

    #[test]
    fn a_plan_is_there_only_when_all_of_it_is() {
        let scratch = scratch();
        let folder = Folder::at(&scratch.path().join("plan"));
        let program = scratch.path().join("assay-here");
        fs::write(&program, "#!/bin/sh\n").unwrap();
        let (plan, tasks) = make(&request(&["n1", "n2"]), &two()).unwrap();
        assert!(folder.plan().unwrap_err().to_string().contains("has no plan"));
        write(&folder, &plan, &tasks, &program).unwrap();
        assert_eq!(folder.plan().unwrap(), plan);
        let linked = fs::metadata(folder.program(&plan)).unwrap();
        assert_eq!(linked.ino(), fs::metadata(&program).unwrap().ino(), "not copied where a link can be made");
        let task: Task = folder::read(&folder.path().join("waiting/n2/cpu.json")).unwrap();
        assert_eq!(task, tasks[2]);
        assert!(write(&folder, &plan, &tasks, &program).unwrap_err().to_string().contains("already has a plan"));
        fs::remove_file(folder.path().join("plan.json")).unwrap();
        assert!(write(&folder, &plan, &tasks, &program).unwrap_err().to_string().contains("incomplete plan"));
        let other = Folder::at(scratch.path());
        assert!(write(&other, &plan, &tasks, &program).unwrap_err().to_string().contains("not empty"));
        let missing = Folder::at(&scratch.path().join("other"));
        assert!(
            write(&missing, &plan, &tasks, &scratch.path().join("none"))
                .unwrap_err()
                .to_string()
                .contains("cannot copy")
        );
        assert!(!missing.path().exists(), "nothing of it stays");
        assert!(write(&Folder::at(&program), &plan, &tasks, &program).unwrap_err().to_string().contains("is a file"));
    }
}
