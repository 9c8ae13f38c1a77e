//! `assay cluster cancel`: ends the jobs, workers and campaigns of a plan. Its tasks stay.

use std::time::Duration;

use bench::host;
use cluster::campaign::mark;
use cluster::claims::claim::claimer;
use cluster::folder::Folder;
use cluster::scheduler::job::Scheduler;
use cluster::tasks::{Tally, tally};
use model::number::counted;

use super::status::{jobs, scheduler};
use crate::args::cluster::CancelArgs;
use crate::exit::{Outcome, Result, complain, print};

const POLL_INTERVAL: Duration = Duration::from_secs(1);

pub(crate) fn cancel(arguments: &CancelArgs) -> Result {
    let folder = Folder::at(&arguments.folder);
    let plan = folder.own_plan()?;
    // First, so that no campaign submits another job.
    mark::cancel(&folder)?;
    let us = claimer(None)?;
    let began = host::monotonic_raw_seconds();
    let mut cancelled = Vec::new();
    let mut slurm = None;
    let mut is_quiet = false;
    loop {
        let submitted: Vec<String> =
            jobs(&folder).into_iter().filter(|job| job.launcher == "slurm").map(|job| job.id).collect();
        if slurm.is_none() && !submitted.is_empty() {
            slurm = Some(scheduler(&folder, &plan)?);
        }
        let queued = match &mut slurm {
            Some(slurm) => of_plan(slurm, &submitted, &mut cancelled)?,
            None => Vec::new(),
        };
        let tally = tally(&folder, &plan)?;
        folder.require()?;
        let mut remain: Vec<String> = queued.into_iter().map(|id| format!("job {id}")).collect();
        remain.extend(workers(&tally).map(|node| format!("a worker on {node}")));
        remain.extend(
            mark::last(&folder, &us)
                .filter(|last| last.is_alive)
                .map(|last| format!("assay cluster run (process {} on {})", last.mark.claim.pid, last.mark.claim.host)),
        );
        let is_late = host::monotonic_raw_seconds() - began > arguments.timeout;
        // Twice in a row: a campaign that was about to submit a job may have done so meanwhile.
        if is_late || remain.is_empty() && is_quiet {
            return ended(arguments, &tally, &cancelled, &remain);
        }
        is_quiet = remain.is_empty();
        std::thread::sleep(POLL_INTERVAL);
    }
}

/// Cancels the plan's jobs, and returns those that are still in the queue.
fn of_plan(slurm: &mut impl Scheduler, submitted: &[String], cancelled: &mut Vec<String>) -> Result<Vec<String>> {
    let state = slurm.poll().map_err(|error| format!("cannot query the queue: {error}"))?;
    let queued: Vec<String> = state.queue.into_iter().map(|job| job.id).filter(|id| submitted.contains(id)).collect();
    for id in &queued {
        if !cancelled.contains(id) {
            slurm.cancel(id).map_err(|error| format!("cannot cancel the job {id}: {error}"))?;
            cancelled.push(id.clone());
        }
    }
    Ok(queued)
}

fn workers(tally: &Tally) -> impl Iterator<Item = &str> {
    let has_worker = |node: &&cluster::tasks::NodeTally| node.worker.as_ref().is_some_and(|worker| !worker.is_expired);
    tally.nodes.iter().filter(has_worker).map(|node| node.node.as_str())
}

/// The most remaining jobs and workers that are listed.
const MOST_REMAINING: usize = 10;

fn ended(arguments: &CancelArgs, tally: &Tally, cancelled: &[String], remain: &[String]) -> Result {
    let left: usize = tally.nodes.iter().map(|node| node.waiting.len() + node.running.len()).sum();
    let all: usize = tally.nodes.iter().map(cluster::tasks::NodeTally::tasks).sum();
    let jobs = if cancelled.is_empty() { String::new() } else { format!(": {}", cancelled.join(" ")) };
    let folder = arguments.folder.display();
    print(
        format!(
            "{} cancelled{jobs}\n{left} of {} left; to continue: assay cluster run {folder}\n",
            counted(cancelled.len() as u64, "job"),
            counted(all as u64, "task"),
        )
        .as_bytes(),
    )?;
    if remain.is_empty() {
        return Ok(Outcome::Done);
    }
    let more = if remain.len() > MOST_REMAINING {
        format!(" and {} more", remain.len() - MOST_REMAINING)
    } else {
        String::new()
    };
    let shown = remain.iter().take(MOST_REMAINING).cloned().collect::<Vec<_>>().join(", ");
    complain(&format!("not ended yet: {shown}{more}. Repeat assay cluster cancel {folder}"));
    Ok(Outcome::Failed)
}
