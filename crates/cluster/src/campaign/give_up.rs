//! Tasks that will not be done: their outcome has the reason, and is published like any other.

use model::cluster::{Claim, Plan};

use crate::attempt::publish::skip;
use crate::claims::claim::{claim, claims, is_gone, take_over};
use crate::error::Result;
use crate::folder::{Folder, make_folder};
use crate::tasks::{self, lease};

/// Ends a node's tasks, or only the one of this name. A task that a living worker has stays. Returns how many were ended.
pub(super) fn give_up(
    folder: &Folder,
    plan: &Plan,
    (node, only): (&str, Option<&str>),
    why: &str,
    us: &Claim,
) -> Result<u32> {
    let (waiting, running) = folder.open_tasks(node);
    let is_wanted = |name: &str| !name.starts_with('.') && only.is_none_or(|only| only == name);
    let mut ended = 0;
    for seen in claims(&running)?.into_iter().filter(|seen| is_wanted(&seen.name)) {
        if is_gone(&running, &seen, us, lease(plan))?
            && let Some(held) = take_over(&running, &seen, us)?
        {
            ended += u32::from(skip(folder, node, held, why)?);
        }
    }
    make_folder(&running)?;
    for name in tasks::waiting(folder, node)?.iter().filter(|name| is_wanted(name)) {
        if let Some(held) = claim(&waiting, &running, name, us)? {
            ended += u32::from(skip(folder, node, held, why)?);
        }
    }
    Ok(ended)
}
