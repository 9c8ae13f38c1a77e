//! Running HPL across the nodes of a plan: the workers that have finished all pairs mark that they are idle. When every node
//! has, the first node's worker takes the network slot ([`crate::network::slot`]) and starts HPL; the others wait.

use std::collections::BTreeSet;
use std::time::Duration;

use model::cluster::HplPlan;
use sys::clock::monotonic_raw_seconds;

use super::attempt::attempt_task;
use super::tasks::{is_hpl, tasks_of_groups, unfinished};
use crate::attempt::publish::return_lost_tasks;
use crate::error::Result;
use crate::evaluate::standpoints;
use crate::network::idle::{IdleEnd, IdleWorker};
use crate::network::slot::NetworkSlot;
use crate::tasks::{add, lease};

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
    let unchanged_since = monotonic_raw_seconds();
    let mut meeting = Meeting { worker, hpl, leader: &leader.name, slot, unchanged_since, seen: BTreeSet::new() };
    let ended = meeting.go_on();
    meeting.slot.withdraw(worker.context.node);
    ended
}

struct Meeting<'a> {
    worker: &'a IdleWorker<'a>,
    hpl: &'a HplPlan,
    leader: &'a str,
    slot: NetworkSlot<'a>,
    unchanged_since: f64,
    seen: BTreeSet<String>,
}

impl Meeting<'_> {
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
        self.slot.set_idle(context.node)?;
        let idle = self.slot.idle_nodes()?;
        let names = context.plan.nodes.iter().map(|node| node.name.as_str());
        let missing: Vec<&str> = names.filter(|node| !idle.contains(*node)).collect();
        if missing.is_empty() && context.node == self.leader {
            self.lead()?;
        }
        let time = monotonic_raw_seconds();
        // A node that still measures pairs becomes idle when it has finished; the one that runs HPL does not renew its mark.
        if missing.is_empty() || idle != self.seen || self.slot.is_taken()? {
            self.unchanged_since = time;
        } else if time - self.unchanged_since > self.worker.waits.linger {
            let first = missing.iter().take(4).copied().collect::<Vec<_>>().join(", ");
            (self.worker.report)(&format!("{}: {} nodes are missing for HPL: {first}", context.node, missing.len()));
            return Ok(Some(IdleEnd::PartnersMissing));
        }
        self.seen = idle;
        Ok(None)
    }

    /// Runs HPL on all nodes with the network slot, if it is free.
    fn lead(&self) -> Result<()> {
        let Some(token) = self.slot.take()? else { return Ok(()) };
        let leases = self.worker.context.leases;
        let token = leases.hold(token);
        let ran = self.all_tasks();
        leases.forget(&token);
        self.slot.release(token.held().clone()).and(ran)
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
