//! The tasks of a plan: which of each node's wait, run and are finished, by the names in its folders.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use model::cluster::{Claim, Outcome, OutcomeStatus, Plan, Task};
use stats::random::Random;

use crate::claims::claim::{self, ClaimId};
use crate::error::{Error, Result};
use crate::folder::{Folder, State, names, read, read_task, write};

/// Suffix of an attempt's name in `failed` that no longer counts, because the task is tried again.
pub(crate) const RETRIED: &str = ".retried";
/// Suffix of an attempt's name in `failed` whose worker was lost.
const LOST: &str = ".lost";

/// The progress of a plan.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tally {
    /// The nodes, in the plan's order.
    pub nodes: Vec<NodeTally>,
}

/// A node's tasks by their state, each once; names are sorted.
#[derive(Clone, Debug, Default, PartialEq)]
#[expect(missing_docs, reason = "the names are those of the folders")]
pub struct NodeTally {
    pub node: String,
    pub waiting: Vec<String>,
    pub running: Vec<ClaimedTask>,
    pub done: Vec<String>,
    /// Tasks that failed in every attempt, each with the reason.
    pub failed: Vec<(String, String)>,
    /// Tasks that cannot be done, each with the reason.
    pub skipped: Vec<(String, String)>,
    /// Expected seconds of the waiting tasks.
    pub waiting_seconds: f64,
    /// The claim of the node's worker.
    pub worker: Option<ClaimedTask>,
}

/// A task or node with a claim.
#[derive(Clone, Debug, PartialEq)]
pub struct ClaimedTask {
    /// Its name.
    pub name: String,
    /// The claimer, if it can be read.
    pub by: Option<Claim>,
    /// Seconds that the task is expected to take; 0 for a node.
    pub expected_seconds: f64,
    /// Seconds since it was claimed; `None` if the folder cannot be written, so that its clock cannot be read.
    pub since_seconds: Option<f64>,
    /// Seconds since the claim was renewed; `None` as above.
    pub silent_seconds: Option<f64>,
    /// Whether its lease has expired.
    pub is_expired: bool,
}

impl Tally {
    /// Whether nothing is left to do.
    pub fn is_finished(&self) -> bool {
        self.nodes.iter().all(NodeTally::is_finished)
    }
}

impl NodeTally {
    /// Whether nothing is left to do on this node.
    pub fn is_finished(&self) -> bool {
        self.waiting.is_empty() && self.running.is_empty()
    }

    /// Finished tasks, whatever their outcome.
    pub(crate) fn finished(&self) -> usize {
        self.done.len() + self.failed.len() + self.skipped.len()
    }

    /// All tasks.
    pub fn tasks(&self) -> usize {
        self.waiting.len() + self.running.len() + self.finished()
    }
}

/// Values already read that do not change, by node and task.
#[derive(Clone, Debug, Default)]
pub struct TallyCache {
    outcomes: BTreeMap<(String, String), (OutcomeStatus, Option<String>)>,
    /// Expected seconds that are not in the plan.
    seconds: BTreeMap<(String, String), f64>,
}

/// The progress of a plan.
pub fn tally(folder: &Folder, plan: &Plan) -> Result<Tally> {
    tally_again(folder, plan, &mut TallyCache::default())
}

/// The progress of a plan, with the cache of the last call.
pub fn tally_again(folder: &Folder, plan: &Plan, cache: &mut TallyCache) -> Result<Tally> {
    // In a folder that cannot be written only the age of claims is unknown.
    let now = claim::now_of(folder.path()).ok();
    let lease = lease(plan);
    let nodes = plan.nodes.iter().map(|node| node_tally(folder, plan, &node.name, now, lease, cache));
    Ok(Tally { nodes: nodes.collect::<Result<_>>()? })
}

pub(crate) fn lease(plan: &Plan) -> Duration {
    // A plan that was edited by hand may have any number here.
    Duration::from_secs_f64(if plan.lease_seconds.is_finite() { plan.lease_seconds.clamp(1.0, 1e6) } else { 1e6 })
}

fn node_tally(
    folder: &Folder,
    plan: &Plan,
    node: &str,
    now: Option<SystemTime>,
    lease: Duration,
    cache: &mut TallyCache,
) -> Result<NodeTally> {
    let mut tally = NodeTally { node: node.to_owned(), ..NodeTally::default() };
    // In the order in which tasks move, so that none is missed; what waits is read twice, since tasks are returned.
    let waiting = waiting(folder, node)?;
    let claims = claim::claims(&folder.tasks(State::Running, node))?;
    let again = self::waiting(folder, node)?;
    let finished = finished(folder, node)?;
    let mut running: BTreeMap<String, ClaimedTask> = BTreeMap::new();
    for seen in &claims {
        let found = look_at(&folder.tasks(State::Running, node), seen, now, lease);
        if seen.name.starts_with('.') {
            tally.worker = Some(found);
        } else if !finished.contains(&seen.name) {
            let expected_seconds = seconds(folder, plan, node, &seen.name, cache);
            running.insert(seen.name.clone(), ClaimedTask { expected_seconds, ..found });
        }
    }
    let waits = |name: &&String| !running.contains_key(*name) && !finished.contains(*name);
    let waiting: BTreeSet<String> = waiting.union(&again).filter(waits).cloned().collect();
    for name in &waiting {
        tally.waiting_seconds += seconds(folder, plan, node, name, cache);
    }
    for name in finished {
        let (status, reason) = outcome(folder, node, &name, cache);
        let reason = || reason.unwrap_or_else(|| "unknown reason".to_owned());
        match status {
            OutcomeStatus::Ok => tally.done.push(name),
            OutcomeStatus::Failed => tally.failed.push((name, reason())),
            OutcomeStatus::Skipped => tally.skipped.push((name, reason())),
        }
    }
    tally.waiting = waiting.into_iter().collect();
    tally.running = running.into_values().collect();
    Ok(tally)
}

pub(crate) fn waiting(folder: &Folder, node: &str) -> Result<BTreeSet<String>> {
    let names = names(&folder.tasks(State::Waiting, node))?;
    let task = |name: &String| name.strip_suffix(".json").filter(|name| !name.starts_with('.')).map(str::to_owned);
    Ok(names.iter().filter_map(task).collect())
}

/// The unfinished tasks of a node with their files, and the number of finished ones. A worker killed between publishing a
/// result and removing its task's file leaves both: such a task is finished.
pub(crate) fn unfinished(folder: &Folder, node: &str) -> Result<(BTreeMap<String, PathBuf>, usize)> {
    // In the order in which tasks move, as in `node_tally`.
    let running = folder.tasks(State::Running, node);
    let file = |name: String| (folder.waiting_task(node, &name), name);
    let mut found: Vec<(PathBuf, String)> = waiting(folder, node)?.into_iter().map(file).collect();
    let claims = claim::claims(&running)?.into_iter().filter(|seen| !seen.name.starts_with('.'));
    found.extend(claims.map(|seen| (running.join(seen.file()), seen.name)));
    found.extend(waiting(folder, node)?.into_iter().map(file));
    let finished = finished(folder, node)?;
    let left = found.into_iter().filter(|(_, name)| !finished.contains(name));
    Ok((left.map(|(file, name)| (name, file)).collect(), finished.len()))
}

pub(crate) fn finished(folder: &Folder, node: &str) -> Result<BTreeSet<String>> {
    let names = names(&folder.tasks(State::Done, node))?;
    Ok(names.into_iter().filter(|name| !name.starts_with('.')).collect())
}

fn look_at(running: &Path, seen: &ClaimId, now: Option<SystemTime>, lease: Duration) -> ClaimedTask {
    let since = |path: &Path| {
        let time = fs::metadata(path).and_then(|data| data.modified()).ok()?;
        Some(now?.duration_since(time).unwrap_or_default().as_secs_f64())
    };
    let silent_seconds = since(&running.join(seen.file()));
    ClaimedTask {
        name: seen.name.clone(),
        by: seen.claimer(running),
        expected_seconds: 0.0,
        since_seconds: since(&running.join(seen.who())),
        silent_seconds,
        is_expired: silent_seconds.is_some_and(|seconds| seconds > lease.as_secs_f64()),
    }
}

fn seconds(folder: &Folder, plan: &Plan, node: &str, name: &str, cache: &mut TallyCache) -> f64 {
    if let Some(seconds) = plan.task_seconds.get(name) {
        return *seconds;
    }
    let key = (node.to_owned(), name.to_owned());
    if let Some(seconds) = cache.seconds.get(&key) {
        return *seconds;
    }
    // A task that has just moved is found in the next call.
    let path = folder.waiting_task(node, name);
    let Ok(task) = read_task(&path) else { return 0.0 };
    cache.seconds.insert(key, task.seconds);
    task.seconds
}

fn outcome(folder: &Folder, node: &str, name: &str, cache: &mut TallyCache) -> (OutcomeStatus, Option<String>) {
    let key = (node.to_owned(), name.to_owned());
    if let Some(outcome) = cache.outcomes.get(&key) {
        return outcome.clone();
    }
    let path = folder.outcome(node, name);
    match read::<Outcome>(&path) {
        Ok(Outcome { status, reason, .. }) => {
            cache.outcomes.insert(key, (status, reason.clone()));
            (status, reason)
        }
        Err(error) => (OutcomeStatus::Failed, Some(Error::Read("", path, error).to_string())),
    }
}

/// Adds tasks to a plan's folder, except those it has; returns how many.
pub fn add(folder: &Folder, tasks: &[Task]) -> Result<usize> {
    let mut added = 0;
    for task in tasks {
        let (node, name) = (&task.node, &task.name);
        if !unfinished(folder, node)?.0.contains_key(name) && !finished(folder, node)?.contains(name) {
            write(&folder.waiting_task(node, name), task)?;
            added += 1;
        }
    }
    Ok(added)
}

/// The failed attempts of a node's tasks: the task's name, and the folder of the attempt.
pub(crate) fn failed_attempts(folder: &Folder, node: &str) -> Result<Vec<(String, PathBuf)>> {
    let all = folder.tasks(State::Failed, node);
    let attempt = |name: String| Some((ClaimId::parse_folder(&name)?.name, all.join(name)));
    Ok(names(&all)?.into_iter().filter_map(attempt).collect())
}

/// How many of a task's attempts failed, and how many lost their worker.
pub(crate) fn tried(folder: &Folder, node: &str, task: &str) -> Result<(u32, u32)> {
    let (mut failed, mut lost) = (0, 0);
    for seen in names(&folder.tasks(State::Failed, node))?.iter().filter_map(|name| ClaimId::parse_folder(name)) {
        if seen.name == task && !seen.id.ends_with(RETRIED) {
            *(if seen.id.ends_with(LOST) { &mut lost } else { &mut failed }) += 1;
        }
    }
    Ok((failed, lost))
}

/// The name in `failed` of an attempt whose worker was lost.
pub(crate) fn lost_name(seen: &ClaimId) -> String {
    format!("{}{LOST}", seen.folder_name())
}

/// The tasks in this node's order: random and different on each node, so that nodes do not use shared resources in step.
pub(crate) fn in_order(tasks: &BTreeSet<String>, node: &str, seed: u64) -> Vec<String> {
    let mut drawn: Vec<(u64, &String)> =
        tasks.iter().map(|name| (Random::new(seed ^ hash(&[node, name])).next_u64(), name)).collect();
    drawn.sort_unstable();
    drawn.into_iter().map(|(_, name)| name.clone()).collect()
}

/// FNV-1a, 64 bits (Fowler, Noll & Vo; draft-eastlake-fnv): the same in every version, unlike the library's.
fn hash(words: &[&str]) -> u64 {
    let bytes = words.iter().flat_map(|word| word.bytes().chain([0]));
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// Removes what killed workers have left of a node's finished tasks, then calls [`claim::sweep`].
pub(crate) fn sweep(folder: &Folder, plan: &Plan, node: &str) -> Result<()> {
    let finished = finished(folder, node)?;
    let running = folder.tasks(State::Running, node);
    for seen in claim::claims(&running)?.iter().filter(|seen| finished.contains(&seen.name)) {
        let _ = fs::remove_file(running.join(seen.file()));
    }
    for name in waiting(folder, node)?.intersection(&finished) {
        let _ = fs::remove_file(folder.waiting_task(node, name));
    }
    let claims = claim::claims(&running)?;
    let work = folder.tasks(State::Work, node);
    for seen in names(&work)?.iter().filter_map(|name| ClaimId::parse_folder(name)) {
        if finished.contains(&seen.name) && !claims.contains(&seen) {
            let _ = fs::remove_dir_all(work.join(seen.folder_name()));
        }
    }
    claim::sweep(&running, lease(plan))
}
