//! Every node's worker on this host, one after another: for trying a plan out, and for tests. The figures are this
//! host's.

use std::collections::BTreeMap;

use model::cluster::{Plan, PlanNode};

use super::calling::Environment;
use super::children::Children;
use super::{Bounds, Calling, Job, Refusal, Scheduler, Script, Standing, Submitted, script};
use crate::cluster::tasks::lease;

/// This host, in the place of every node.
#[derive(Debug)]
pub struct Here {
    calling: Calling,
    environment: Environment,
    nodes: Vec<PlanNode>,
    children: Children,
}

impl Here {
    /// This host for the jobs of a plan.
    ///
    /// # Errors
    /// A sentence: the kernel gives no random bytes.
    pub fn new(calling: Calling, environment: Environment, plan: &Plan) -> Result<Self, String> {
        let children = Children::new(&calling.plan, lease(plan), true)?;
        Ok(Self { calling, environment, nodes: plan.nodes.clone(), children })
    }
}

impl Scheduler for Here {
    fn script(&self, job: &Job) -> Script {
        let node = job.nodes.first().map_or("", String::as_str);
        Script { command: script::alone(&self.calling, job, node), input: None }
    }

    fn submit(&mut self, job: &Job) -> Result<Submitted, Refusal> {
        let worker = |node: &String| (node.clone(), script::alone(&self.calling, job, node));
        let workers: Vec<_> = job.nodes.iter().map(worker).collect();
        let id = self.children.start("here", &workers, &self.environment)?;
        Ok(Submitted { id, launcher: "here", command: self.script(job).command })
    }

    fn poll(&mut self) -> Result<Standing, String> {
        let mut standing = self.children.standing(self.nodes.iter().map(|node| node.name.as_str()));
        // One after another: they would measure each other.
        let partitions = self.nodes.iter().filter_map(|node| node.partition.clone()).chain([String::new()]);
        standing.bounds =
            partitions.map(|name| (name, Bounds { seconds: None, nodes: Some(1) })).collect::<BTreeMap<_, _>>();
        standing.room = Some(u32::from(standing.queue.is_empty()));
        Ok(standing)
    }

    fn cancel(&mut self, id: &str) -> Result<(), String> {
        self.children.cancel(id);
        Ok(())
    }
}
