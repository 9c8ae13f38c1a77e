//! Running HPL across the nodes of a plan: in a last round (`crate::network::slot`) the first node's worker calls the others,
//! waits until each has marked that it is idle, and starts HPL.

use std::collections::BTreeSet;
use std::time::Duration;

use model::cluster::HplPlan;
use sys::clock::monotonic_raw_seconds;

use super::attempt::attempt_task;
use super::tasks::{is_hpl, tasks_of_groups, unfinished};
use crate::attempt::publish::return_lost_tasks;
use crate::claims::claim;
use crate::error::Result;
use crate::evaluate::standpoints;
use crate::network::idle::{IdleEnd, IdleWorker};
use crate::network::slot::{BEGIN_SECONDS, BEGUN, ENDED, NetworkSlot, ReadyNode, RoundCall};
use crate::tasks::{add, lease};

/// The round that comes after all rounds of pairs.
const ROUND: u32 = u32::MAX;
/// A worker with less time left than this leaves, in seconds.
const LEAST_SECONDS: f64 = 20.0;
/// How often a waiting worker looks at the other nodes, among few nodes and among many.
const LOOK: Duration = Duration::from_millis(250);
const MOST_LOOK: Duration = Duration::from_secs(5);

/// Waits for the other nodes, then runs HPL on all of them or is idle meanwhile. To be called by the thread that lives as
/// long as the worker.
pub(crate) fn run_hpl(worker: &IdleWorker<'_>) -> Result<IdleEnd> {
    let plan = worker.context.plan;
    let (Some(hpl), Some(leader)) = (&plan.hpl, plan.nodes.first()) else { return Ok(IdleEnd::AllFinished) };
    if unfinished(worker.context.folder, &leader.name)?.is_empty() {
        return Ok(IdleEnd::AllFinished);
    }
    let slot = NetworkSlot::new(worker.context.folder, worker.us, lease(plan))?;
    let ready = slot.wait_for(ROUND, worker.context.node)?;
    let now = monotonic_raw_seconds();
    let mut meeting =
        Meeting { worker, hpl, leader: &leader.name, slot, ready, unchanged_since: now, seen: BTreeSet::new() };
    let ended = meeting.go_on();
    meeting.slot.withdraw(&meeting.ready);
    ended
}

struct Meeting<'a> {
    worker: &'a IdleWorker<'a>,
    hpl: &'a HplPlan,
    leader: &'a str,
    slot: NetworkSlot<'a>,
    ready: ReadyNode,
    unchanged_since: f64,
    seen: BTreeSet<ReadyNode>,
}

impl Meeting<'_> {
    fn leads(&self) -> bool {
        self.worker.context.node == self.leader
    }

    fn go_on(&mut self) -> Result<IdleEnd> {
        (self.worker.report)(&format!(
            "{}: waiting for the other nodes, to run HPL across all",
            self.worker.context.node
        ));
        loop {
            if let Some(ended) = self.look()? {
                return Ok(ended);
            }
            let many = f64::from(u32::try_from(self.worker.context.plan.nodes.len()).unwrap_or(u32::MAX)) / 32.0;
            std::thread::sleep(LOOK.mul_f64(many.clamp(1.0, MOST_LOOK.as_secs_f64() / LOOK.as_secs_f64())));
        }
    }

    /// Does what can be done now; returns the reason to end, if there is one.
    fn look(&mut self) -> Result<Option<IdleEnd>> {
        let context = self.worker.context;
        let leaving = self.worker.leaving(LEAST_SECONDS);
        if leaving.is_some() || unfinished(context.folder, self.leader)?.is_empty() {
            return Ok(leaving.or(Some(IdleEnd::AllFinished)));
        }
        self.slot.release_lost()?;
        self.slot.renew(&self.ready)?;
        if let Some(call) = self.slot.called(&self.ready).filter(|_| !self.leads()) {
            self.stay_idle(&call)?;
            self.wait_again()?;
            return Ok(None);
        }
        let ready = self.slot.ready(claim::now_of(&context.folder.node(context.node))?)?;
        let time = monotonic_raw_seconds();
        // A node that still measures pairs becomes ready when it has finished.
        if ready != self.seen || self.slot.is_taken()? {
            (self.seen, self.unchanged_since) = (ready, time);
        }
        let here: BTreeSet<&str> = self.ready_nodes().map(|ready| ready.node.as_str()).collect();
        let missing: Vec<&str> = self.nodes().filter(|node| !here.contains(node)).collect();
        if missing.is_empty() {
            if self.leads() && self.lead()? {
                self.wait_again()?;
            }
            return Ok(None);
        }
        if time - self.unchanged_since > self.worker.waits.linger {
            let first = missing.iter().take(4).copied().collect::<Vec<_>>().join(", ");
            (self.worker.report)(&format!("{}: {} nodes are missing for HPL: {first}", context.node, missing.len()));
            return Ok(Some(IdleEnd::PartnersMissing));
        }
        Ok(None)
    }

    fn nodes(&self) -> impl Iterator<Item = &str> {
        self.worker.context.plan.nodes.iter().map(|node| node.name.as_str())
    }

    fn ready_nodes(&self) -> impl Iterator<Item = &ReadyNode> {
        self.seen.iter().filter(|ready| ready.round == ROUND)
    }

    fn wait_again(&mut self) -> Result<()> {
        self.slot.withdraw(&self.ready);
        self.ready = self.slot.wait_for(ROUND, self.worker.context.node)?;
        self.unchanged_since = monotonic_raw_seconds();
        Ok(())
    }

    /// Does nothing until the caller has ended or is lost.
    fn stay_idle(&self, call: &RoundCall) -> Result<()> {
        let node = self.worker.context.node;
        self.slot.withdraw(&self.ready);
        self.slot.mark(call, node, BEGUN);
        (self.worker.report)(&format!("{node}: idle while HPL runs"));
        let mut taken_at = monotonic_raw_seconds();
        while self.worker.leaving(LEAST_SECONDS).is_none() && !self.slot.has_ended(call, self.leader) {
            std::thread::sleep(LOOK.mul_f64(2.0));
            self.slot.release_lost()?;
            let now = monotonic_raw_seconds();
            if self.slot.is_taken()? {
                taken_at = now;
            } else if now - taken_at > BEGIN_SECONDS {
                // By now even a caching NFS client would have seen it taken.
                break;
            }
        }
        self.slot.mark(call, node, ENDED);
        Ok(())
    }

    /// Calls all nodes and runs HPL on them; whether they were called.
    fn lead(&self) -> Result<bool> {
        let Some(token) = self.slot.take()? else { return Ok(false) };
        let whom: Vec<&ReadyNode> = self.ready_nodes().collect();
        let Some((call, token)) = self.slot.call_with(token, &whom)? else { return Ok(false) };
        let leases = self.worker.context.leases;
        let token = leases.hold(token);
        let node = self.worker.context.node;
        self.slot.mark(&call, node, BEGUN);
        let ran = if self.all_have_begun(&call) { self.all_tasks() } else { Ok(()) };
        self.slot.mark(&call, node, ENDED);
        leases.forget(&token);
        self.slot.release(token.held().clone()).and(ran).map(|()| true)
    }

    fn all_have_begun(&self, call: &RoundCall) -> bool {
        let until = monotonic_raw_seconds() + 2.0 * BEGIN_SECONDS;
        while monotonic_raw_seconds() < until && self.worker.leaving(LEAST_SECONDS).is_none() {
            if self.slot.all_have(call, BEGUN) {
                return true;
            }
            std::thread::sleep(LOOK);
        }
        self.slot.all_have(call, BEGUN)
    }

    fn all_tasks(&self) -> Result<()> {
        let (folder, plan) = (self.worker.context.folder, self.worker.context.plan);
        let known = standpoints(folder, plan)?;
        add(folder, &tasks_of_groups(plan, self.hpl, &known))?;
        return_lost_tasks(folder, plan, self.leader, self.worker.us, is_hpl)?;
        for name in unfinished(folder, self.leader)? {
            if self.worker.leaving(LEAST_SECONDS).is_some() {
                break;
            }
            attempt_task(self.worker, self.hpl, &name, &known)?;
        }
        Ok(())
    }
}
