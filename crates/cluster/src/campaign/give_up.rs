//! Tasks that will not be done: their outcome says why, and is published as any other is.

use std::fs;

use model::cluster::{Claim, Outcome, OutcomeStatus, Plan, Task};

use crate::claim::{Held, claim, claims, is_gone, take_over};
use crate::folder::{Folder, State, cannot_write, read, write};
use crate::make::NODE;
use crate::tasks::{self, lease};

/// Whether a worker is on a node, as far as its claim says.
pub(super) fn has_worker(folder: &Folder, plan: &Plan, node: &str, us: &Claim) -> bool {
    let running = folder.tasks(State::Running, node);
    let nodes = claims(&running).unwrap_or_default().into_iter().filter(|seen| seen.name == NODE);
    nodes.into_iter().any(|seen| !is_gone(&running, &seen, us, lease(plan)).unwrap_or(true))
}

/// Ends a node's tasks, or only the one of this name. What a living worker has stays as it is. How many were ended.
///
/// # Errors
/// A sentence: the folder cannot be read or written.
pub(super) fn give_up(
    folder: &Folder,
    plan: &Plan,
    (node, only): (&str, Option<&str>),
    why: &str,
    us: &Claim,
) -> Result<u32, String> {
    let (waiting, running) = (folder.tasks(State::Waiting, node), folder.tasks(State::Running, node));
    let is_wanted = |name: &str| !name.starts_with('.') && only.is_none_or(|only| only == name);
    let mut ended = 0;
    for seen in claims(&running)?.into_iter().filter(|seen| is_wanted(&seen.name)) {
        if is_gone(&running, &seen, us, lease(plan))?
            && let Some(held) = take_over(&running, &seen, us)?
        {
            ended += end(folder, node, held, why)?;
        }
    }
    fs::create_dir_all(&running).map_err(|error| cannot_write(&running, &error))?;
    for name in tasks::waiting(folder, node)?.iter().filter(|name| is_wanted(name)) {
        if let Some(held) = claim(&waiting, &running, name, us)? {
            ended += end(folder, node, held, why)?;
        }
    }
    Ok(ended)
}

/// Publishes a task that we hold as skipped, unless somebody has published it before. 1 where it was us.
fn end(folder: &Folder, node: &str, held: Held, why: &str) -> Result<u32, String> {
    let task: Task =
        read(held.path()).map_err(|error| format!("cannot read the task '{}': {error}", held.path().display()))?;
    let name = held.name.clone();
    let work = folder.tasks(State::Work, node).join(held.seen().plain());
    let outcome = Outcome {
        task,
        claim: held.claim.clone(),
        status: OutcomeStatus::Skipped,
        reason: Some(why.to_owned()),
        seconds: 0.0,
        exit_status: None,
        at_once: None,
        figures: std::collections::BTreeMap::new(),
    };
    write(&work.join("outcome.json"), &outcome)?;
    let done = folder.tasks(State::Done, node).join(&name);
    let parent = folder.tasks(State::Done, node);
    fs::create_dir_all(&parent).map_err(|error| cannot_write(&parent, &error))?;
    let ours = match fs::rename(&work, &done) {
        Ok(()) => 1,
        // A result is there already: it stays.
        Err(_) if done.join("outcome.json").exists() => {
            let _ = fs::remove_dir_all(&work);
            0
        }
        Err(error) => return Err(cannot_write(&done, &error)),
    };
    held.end();
    Ok(ours)
}
