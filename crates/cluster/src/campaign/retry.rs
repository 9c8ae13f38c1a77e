//! Tasks that ended without a result wait again.

use std::fs;
use std::io;

use model::cluster::{Outcome, OutcomeStatus, Plan, Task};

use crate::claims::claim::ClaimId;
use crate::error::{Result, cannot_read, cannot_write};
use crate::folder::{Folder, OUTCOME, State, make_folder, names, read, write};
use crate::tasks::{RETRIED, finished, unfinished};

/// In front of the name of a task in `done` while it moves, so that one that a kill interrupts is found again.
const MOVING: &str = ".retry-";

/// Returns tasks that failed or were skipped to `waiting`, with all their attempts; how many there are.
pub fn retry(folder: &Folder, plan: &Plan) -> Result<u64> {
    let mut returned = 0;
    for node in &plan.nodes {
        let done = folder.tasks(State::Done, &node.name);
        for name in finished(folder, &node.name)? {
            let path = done.join(&name).join(OUTCOME);
            let outcome: Outcome = read(&path).map_err(cannot_read(&path))?;
            if outcome.status != OutcomeStatus::Ok {
                let moving = done.join(format!("{MOVING}{name}"));
                rename(&done.join(&name), &moving)?;
            }
        }
        for moving in names(&done)?.iter().filter(|name| name.starts_with(MOVING)) {
            returned += u64::from(give_back(folder, &node.name, moving)?);
        }
    }
    Ok(returned)
}

/// Makes a task wait again, and keeps what came of it among its failed attempts.
fn give_back(folder: &Folder, node: &str, moving: &str) -> Result<bool> {
    let path = folder.tasks(State::Done, node).join(moving);
    let outcome: Outcome = read(&path.join(OUTCOME)).map_err(cannot_read(&path))?;
    let task = Task { tried: 0, ..outcome.task };
    let is_new = !unfinished(folder, node)?.0.contains_key(&task.name) && !finished(folder, node)?.contains(&task.name);
    let failed = folder.tasks(State::Failed, node);
    make_folder(&failed)?;
    for attempt in names(&failed)?.iter().filter(|name| !name.ends_with(RETRIED)) {
        if ClaimId::parse_folder(attempt).is_some_and(|seen| seen.name == task.name) {
            rename(&failed.join(attempt), &failed.join(format!("{attempt}{RETRIED}")))?;
        }
    }
    if is_new {
        write(&folder.waiting_task(node, &task.name), &task)?;
    }
    let seen = ClaimId { name: task.name, id: outcome.claim.id };
    rename(&path, &failed.join(format!("{}.task{RETRIED}", seen.folder_name())))?;
    Ok(is_new)
}

/// Renames; another campaign may have been quicker.
fn rename(from: &std::path::Path, to: &std::path::Path) -> Result<()> {
    match fs::rename(from, to) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(cannot_write(to)(error)),
        _ => Ok(()),
    }
}
