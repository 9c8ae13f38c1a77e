//! HPL across the nodes of a plan: over all of them, and over those of equal hardware where they differ.
//!
//! Its tasks are the plan's first node's. Every node's worker that has nothing else to do any more waits for a meeting, by
//! the same token and calls as the rounds of pairs (`super::turns`) and after all of these. When all nodes are there
//! the first one's worker calls them, waits until each has said that it holds still, and starts HPL on all of them; the
//! others do nothing until it says that this is over. So nothing of the plan is measured beside it. How large the system
//! is, is in `size`; what starts the processes in `launch`; one attempt in `attempt`.

mod attempt;
mod launch;
mod size;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::time::Duration;

use model::cluster::{HplPlan, HplTask, Plan, PlanNode, Task, Work};
use sys::clock::monotonic_raw_seconds;
use sys::process::stop_signal;

use super::claim::{self, Holder};
use super::evaluate::{Standpoint, standpoints};
use super::folder::{Folder, State};
use super::make;
use super::pairs::{Ended, Here};
use super::tasks::{lease, over, waiting};
use super::turns::{BEGIN_SECONDS, BEGUN, Call, ENDED, Ready, Turns};
use attempt::one;

/// The round that comes after all rounds of pairs.
const ROUND: u32 = u32::MAX;

/// What the names of its tasks begin with.
const NAME: &str = "hpl";

/// Expected seconds where the plan does not bound the time: as much memory as there is takes hours.
const UNBOUNDED_SECONDS: f64 = 4.0 * 3600.0;

/// Seconds around a run: until all are there, and the start of its processes on every node.
const AROUND_SECONDS: f64 = 30.0;

/// A worker that has less time left than this waits for no meeting any more.
const LEAST_SECONDS: f64 = 20.0;

/// How often who waits looks around: each look reads a few files.
const LOOK: Duration = Duration::from_millis(250);

/// The same among many nodes, of which each costs another one.
const MOST_LOOK: Duration = Duration::from_secs(5);

/// The task of HPL over all nodes of a plan.
///
/// # Errors
/// A sentence: one node is no cluster.
pub fn task(nodes: &[PlanNode], hpl: &HplPlan) -> Result<Task, String> {
    let (Some(first), true) = (nodes.first(), nodes.len() > 1) else {
        return Err("HPL across nodes needs at least two; leave --hpl out, the suite solves on a node alone".to_owned());
    };
    Ok(task_of(NAME.to_owned(), &first.name, nodes.iter().map(|node| node.name.clone()).collect(), hpl))
}

fn task_of(name: String, leader: &str, nodes: Vec<String>, hpl: &HplPlan) -> Task {
    Task {
        node: leader.to_owned(),
        name,
        pass: 1,
        seconds: hpl.most_seconds.unwrap_or(UNBOUNDED_SECONDS) + AROUND_SECONDS,
        tried: 0,
        work: Work::Hpl(HplTask { nodes }),
    }
}

/// The tasks of nodes that are equal among themselves, where not all are: HPL gives every process as much to do, so over
/// unequal nodes it says what the weakest lets it. A node that is the only one of its kind has its own LINPACK.
fn tasks_of_groups(plan: &Plan, hpl: &HplPlan, known: &[Standpoint]) -> Vec<Task> {
    let Some(leader) = plan.nodes.first() else { return Vec::new() };
    let groups: BTreeSet<u32> = known.iter().filter_map(|standpoint| standpoint.group).collect();
    if groups.len() < 2 {
        return Vec::new();
    }
    let members = |group: u32| -> Vec<String> {
        let with = plan.nodes.iter().zip(known);
        with.filter(|(_, standpoint)| standpoint.group == Some(group)).map(|(node, _)| node.name.clone()).collect()
    };
    let named = groups.into_iter().map(|group| (format!("{NAME}.group-{}", group + 1), members(group)));
    named.filter(|(_, nodes)| nodes.len() > 1).map(|(name, nodes)| task_of(name, &leader.name, nodes, hpl)).collect()
}

/// Waits for the other nodes and has HPL run on all of them, or holds still while it runs. To be called by the thread
/// that lives as long as the worker, which has its node to itself.
///
/// # Errors
/// A sentence: the folder cannot be read or written, or the program not started.
pub fn meet(here: &Here<'_>) -> Result<Ended, String> {
    let plan = here.place.plan;
    let (Some(hpl), Some(leader)) = (&plan.hpl, plan.nodes.first()) else { return Ok(Ended::AllOver) };
    if undone(here.place.folder, &leader.name)?.is_empty() {
        return Ok(Ended::AllOver);
    }
    let turns = Turns::of(here.place.folder, here.us, lease(plan))?;
    let ready = turns.wait_for(ROUND, here.place.node)?;
    let now = monotonic_raw_seconds();
    let mut meeting =
        Meeting { here, hpl, leader: &leader.name, turns, ready, unchanged_since: now, seen: BTreeSet::new() };
    let ended = meeting.go_on();
    meeting.turns.withdraw(&meeting.ready);
    ended
}

/// The names of its tasks that are not over.
fn undone(folder: &Folder, leader: &str) -> Result<BTreeSet<String>, String> {
    // In the order in which a task moves, and what waits once more, since it may be given back.
    let mut names = waiting(folder, leader)?;
    names.extend(claim::claims(&folder.tasks(State::Running, leader))?.into_iter().map(|seen| seen.name));
    names.extend(waiting(folder, leader)?);
    let over = over(folder, leader)?;
    names.retain(|name| is_ours(name) && !over.contains(name));
    Ok(names)
}

/// Whether a task of this name is one of HPL; areas have other names, and so have pairs.
fn is_ours(name: &str) -> bool {
    name == NAME || name.strip_prefix(NAME).is_some_and(|rest| rest.starts_with(".group-"))
}

/// A worker that waits for the others.
struct Meeting<'a> {
    here: &'a Here<'a>,
    hpl: &'a HplPlan,
    /// The node whose worker calls and starts.
    leader: &'a str,
    turns: Turns<'a>,
    ready: Ready,
    /// Since when the same nodes have been waiting.
    unchanged_since: f64,
    seen: BTreeSet<Ready>,
}

impl Meeting<'_> {
    fn leads(&self) -> bool {
        self.here.place.node == self.leader
    }

    fn go_on(&mut self) -> Result<Ended, String> {
        (self.here.tell)(&format!("{}: waits for the other nodes, for HPL across all", self.here.place.node));
        loop {
            if let Some(ended) = self.look()? {
                return Ok(ended);
            }
            let many = f64::from(u32::try_from(self.here.place.plan.nodes.len()).unwrap_or(u32::MAX)) / 32.0;
            std::thread::sleep(LOOK.mul_f64(many.clamp(1.0, MOST_LOOK.as_secs_f64() / LOOK.as_secs_f64())));
        }
    }

    /// Why the worker has to leave.
    fn leaving(&self) -> Option<Ended> {
        let left = self.here.place.until.map(|until| until - monotonic_raw_seconds());
        match (stop_signal(), left) {
            (Some(_), _) => Some(Ended::Stopped),
            (None, Some(left)) if left < LEAST_SECONDS => Some(Ended::NoTime),
            _ => None,
        }
    }

    /// One look around, and what there is to do; how it ended, if it did.
    fn look(&mut self) -> Result<Option<Ended>, String> {
        let place = self.here.place;
        if let Some(ended) = self.leaving() {
            return Ok(Some(ended));
        }
        if undone(place.folder, self.leader)?.is_empty() {
            return Ok(Some(Ended::AllOver));
        }
        self.turns.free_from_the_gone()?;
        self.turns.renew(&self.ready)?;
        if let Some(call) = self.turns.called(&self.ready).filter(|_| !self.leads()) {
            self.hold_still(&call)?;
            self.wait_anew()?;
            return Ok(None);
        }
        let ready = self.turns.ready(claim::now_of(&place.folder.node(place.node))?)?;
        let time = monotonic_raw_seconds();
        // Whoever measures the network will come when it is over.
        if ready != self.seen || self.turns.is_taken()? {
            (self.seen, self.unchanged_since) = (ready, time);
        }
        let here: BTreeSet<&str> = self.those_here().map(|ready| ready.node.as_str()).collect();
        let missing: Vec<&str> = self.nodes().filter(|node| !here.contains(node)).collect();
        if missing.is_empty() {
            if self.leads() && self.lead()? {
                self.wait_anew()?;
            }
            return Ok(None);
        }
        if time - self.unchanged_since > self.here.waits.linger {
            let first = missing.iter().take(4).copied().collect::<Vec<_>>().join(", ");
            (self.here.tell)(&format!("{}: HPL waits in vain for {} nodes: {first}", place.node, missing.len()));
            return Ok(Some(Ended::Alone));
        }
        Ok(None)
    }

    fn nodes(&self) -> impl Iterator<Item = &str> {
        self.here.place.plan.nodes.iter().map(|node| node.name.as_str())
    }

    /// Who waits for this meeting.
    fn those_here(&self) -> impl Iterator<Item = &Ready> {
        self.seen.iter().filter(|ready| ready.round == ROUND)
    }

    /// Waits under another name: who was called once is not meant by a later look at the same call.
    fn wait_anew(&mut self) -> Result<(), String> {
        self.turns.withdraw(&self.ready);
        self.ready = self.turns.wait_for(ROUND, self.here.place.node)?;
        self.unchanged_since = monotonic_raw_seconds();
        Ok(())
    }

    /// Does nothing until who called says that it is over, or is gone.
    fn hold_still(&self, call: &Call) -> Result<(), String> {
        let node = self.here.place.node;
        self.turns.withdraw(&self.ready);
        self.turns.mark(call, node, BEGUN);
        (self.here.tell)(&format!("{node}: holds still while HPL runs"));
        let mut taken_at = monotonic_raw_seconds();
        while self.leaving().is_none() && !self.turns.has_ended(call, self.leader) {
            std::thread::sleep(LOOK.mul_f64(2.0));
            self.turns.free_from_the_gone()?;
            let now = monotonic_raw_seconds();
            if self.turns.is_taken()? {
                taken_at = now;
            } else if now - taken_at > BEGIN_SECONDS {
                // An NFS client may be late to see it taken; by now it would have.
                break;
            }
        }
        self.turns.mark(call, node, ENDED);
        Ok(())
    }

    /// Calls all nodes and runs HPL on them; whether they were called.
    fn lead(&self) -> Result<bool, String> {
        let Some(token) = self.turns.take()? else { return Ok(false) };
        let whom: Vec<&Ready> = self.those_here().collect();
        let call = match self.turns.call(&whom) {
            Ok(Some(call)) => call,
            Ok(None) => return self.turns.give_back(token).map(|()| false),
            Err(why) => return self.turns.give_back(token).and(Err(why)),
        };
        let leases = self.here.place.leases;
        let token = leases.hold(token);
        let node = self.here.place.node;
        self.turns.mark(&call, node, BEGUN);
        let ran = if self.all_have_begun(&call) { self.all_tasks() } else { Ok(()) };
        self.turns.mark(&call, node, ENDED);
        leases.forget(&token);
        self.turns.give_back(token.held().clone()).and(ran).map(|()| true)
    }

    /// Waits until every node has said that it holds still; `false` where one has not: they are called anew.
    fn all_have_begun(&self, call: &Call) -> bool {
        let until = monotonic_raw_seconds() + 2.0 * BEGIN_SECONDS;
        while monotonic_raw_seconds() < until && self.leaving().is_none() {
            if self.turns.have_begun(call) {
                return true;
            }
            std::thread::sleep(LOOK);
        }
        self.turns.have_begun(call)
    }

    /// Makes an attempt at each task that is left.
    fn all_tasks(&self) -> Result<(), String> {
        let (folder, plan) = (self.here.place.folder, self.here.place.plan);
        let known = standpoints(folder, plan)?;
        let left = undone(folder, self.leader)?;
        let done = over(folder, self.leader)?;
        let new = tasks_of_groups(plan, self.hpl, &known).into_iter();
        let new: Vec<Task> = new.filter(|task| !left.contains(&task.name) && !done.contains(&task.name)).collect();
        make::add(folder, &new)?;
        self.free_tasks_of_the_gone()?;
        for name in undone(folder, self.leader)? {
            if self.leaving().is_some() {
                break;
            }
            one(self.here, self.hpl, &name, &known)?;
        }
        Ok(())
    }

    /// Puts back what an earlier worker of ours has left in the middle.
    fn free_tasks_of_the_gone(&self) -> Result<(), String> {
        let place = self.here.place;
        let running = place.folder.tasks(State::Running, self.leader);
        for seen in claim::claims(&running)?.into_iter().filter(|seen| is_ours(&seen.name)) {
            let holder = claim::holder(&running, &seen, self.here.us, lease(place.plan))?;
            if !matches!(holder, Holder::Dead | Holder::Silent) {
                continue;
            }
            super::attempt::note_lost(place.folder, self.leader, &seen, holder)?;
            if let Some(held) = claim::take_over(&running, &seen, self.here.us)? {
                held.give_back(&place.folder.tasks(State::Waiting, self.leader))?;
            }
        }
        Ok(())
    }
}
