//! Publishing the outcome of an attempt, and taking over tasks of lost workers.

use std::fs;
use std::io;
use std::path::Path;

use model::cluster::{Claim, Outcome, OutcomeStatus, Plan};

use super::context::{AttemptResult, NodeContext, outcome};
use super::process::STDERR;
use crate::claims::claim::{self, ClaimId, HeldClaim, HolderState};
use crate::claims::lease::Lease;
use crate::error::{Error, Result};
use crate::folder::{Folder, OUTCOME, State, make_folder, read, read_task, write};
use crate::tasks::{self, lost_name};

/// Publishes an outcome with the files of the attempt's folder; one of several publishers succeeds.
pub(crate) fn publish(context: &NodeContext<'_>, lease: &Lease, outcome: &Outcome) -> Result<AttemptResult> {
    let held = lease.held();
    let work = context.work_folder(&held.seen());
    let said = work.join(STDERR);
    if fs::metadata(&said).is_ok_and(|data| data.len() == 0) {
        let _ = fs::remove_file(&said);
    }
    write(&work.join(OUTCOME), outcome)?;
    if !lease.renew() {
        let _ = fs::remove_dir_all(&work);
        return Ok(AttemptResult::LeaseLost);
    }
    let Some((status, _)) = move_to_done(context.folder, context.node, held, &work, outcome.status)? else {
        return Ok(AttemptResult::LeaseLost);
    };
    held.clone().end();
    Ok(AttemptResult::Finished(status))
}

/// Publishes a folder; the published status, and whether it is ours or was published before. `None` if another worker has
/// moved the folder away because the lease had expired.
fn move_to_done(
    folder: &Folder,
    node: &str,
    held: &HeldClaim,
    work: &Path,
    ours: OutcomeStatus,
) -> Result<Option<(OutcomeStatus, bool)>> {
    let all = folder.tasks(State::Done, node);
    let done = all.join(&held.name);
    make_folder(&all)?;
    match fs::rename(work, &done) {
        Ok(()) => Ok(Some((ours, true))),
        Err(error) => match read::<Outcome>(&done.join(OUTCOME)) {
            // Over NFS the reply to a successful rename can get lost; or another worker has published before.
            Ok(there) => {
                let _ = fs::remove_dir_all(work);
                Ok(Some((there.status, false)))
            }
            Err(_) if error.kind() == io::ErrorKind::NotFound && !work.exists() => Ok(None),
            Err(_) => Err(Error::Write(done, error)),
        },
    }
}

/// Publishes a claimed task as skipped; `false` if it had been published before.
pub(crate) fn skip(folder: &Folder, node: &str, held: HeldClaim, why: &str) -> Result<bool> {
    let task = held.task()?;
    let work = folder.tasks(State::Work, node).join(held.seen().folder_name());
    let reason = Some(why.to_owned());
    let skipped = Outcome { status: OutcomeStatus::Skipped, reason, ..outcome(&task, &held.claim, task.tried) };
    write(&work.join(OUTCOME), &skipped)?;
    let is_first = move_to_done(folder, node, &held, &work, skipped.status)?.is_some_and(|(_, ours)| ours);
    held.end();
    Ok(is_first)
}

/// Records a failed attempt and returns the task, or publishes the failure after the last attempt.
pub(crate) fn fail(context: &NodeContext<'_>, lease: &Lease, mut outcome: Outcome) -> Result<AttemptResult> {
    let held = lease.held();
    let work = context.work_folder(&held.seen());
    outcome.status = OutcomeStatus::Failed;
    outcome.task.tried += 1;
    write(&work.join(OUTCOME), &outcome)?;
    if !lease.renew() {
        let _ = fs::remove_dir_all(&work);
        return Ok(AttemptResult::LeaseLost);
    }
    let all = context.folder.tasks(State::Failed, context.node);
    make_folder(&all)?;
    let kept = all.join(held.seen().folder_name());
    if let Err(error) = fs::rename(&work, &kept) {
        let is_gone = error.kind() == io::ErrorKind::NotFound && !work.exists();
        return if is_gone { Ok(AttemptResult::LeaseLost) } else { Err(Error::Write(kept, error)) };
    }
    let reason = outcome.reason.clone().unwrap_or_default();
    if outcome.task.tried < context.plan.attempts {
        let is_ours = context.give_back(lease)?;
        return Ok(if is_ours { AttemptResult::Failed(reason) } else { AttemptResult::LeaseLost });
    }
    outcome.reason = Some(format!("{} attempts failed, the last: {reason}", outcome.task.tried));
    publish(context, lease, &outcome)
}

/// Records that the worker of a claim was lost, before the claim is taken over. The folder of a silent worker moves too:
/// what the worker may still write must not interfere with the next attempt.
pub(crate) fn note_lost(folder: &Folder, node: &str, seen: &ClaimId, holder: HolderState) -> Result<()> {
    let all = folder.tasks(State::Failed, node);
    let lost = all.join(lost_name(seen));
    make_folder(&all)?;
    let work = folder.tasks(State::Work, node).join(seen.folder_name());
    let moved = holder == HolderState::Silent && fs::rename(&work, &lost).is_ok();
    if !moved {
        make_folder(&lost)?;
    }
    let running = folder.tasks(State::Running, node);
    let Ok(task) = read_task(&running.join(seen.file())) else { return Ok(()) };
    let claim = seen.claimer(&running).unwrap_or_default();
    let how = if holder == HolderState::Silent { "sent no heartbeat for longer than its lease" } else { "is gone" };
    let reason = format!("the worker on {} (process {}) {how}", claim.host, claim.pid);
    write(&lost.join(OUTCOME), &Outcome { reason: Some(reason), ..outcome(&task, &claim, task.tried) })
}

/// Returns the tasks of lost workers of a node to `waiting`.
pub(crate) fn return_lost_tasks(
    folder: &Folder,
    plan: &Plan,
    node: &str,
    us: &Claim,
    is_wanted: impl Fn(&str) -> bool,
) -> Result<()> {
    let (waiting, running) = folder.open_tasks(node);
    for seen in claim::claims(&running)?.into_iter().filter(|seen| is_wanted(&seen.name)) {
        if let Some(held) = take_over_lost(folder, plan, node, us, &seen)? {
            held.give_back(&waiting)?;
        }
    }
    Ok(())
}

/// Takes over the claim of a lost worker's task; `None` if the worker is alive, or another one was quicker.
pub(crate) fn take_over_lost(
    folder: &Folder,
    plan: &Plan,
    node: &str,
    us: &Claim,
    seen: &ClaimId,
) -> Result<Option<HeldClaim>> {
    let running = folder.tasks(State::Running, node);
    let holder = claim::holder(&running, seen, us, tasks::lease(plan))?;
    if !matches!(holder, HolderState::Dead | HolderState::Silent) {
        return Ok(None);
    }
    note_lost(folder, node, seen, holder)?;
    claim::take_over(&running, seen, us)
}
