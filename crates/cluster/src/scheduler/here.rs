//! Every node's worker on this host, one after another: for trying a plan out, and for tests. The figures are this
//! host's.

use std::collections::BTreeMap;

use model::cluster::{Plan, PlanNode};

use super::calling::Environment;
use super::children::Children;
use super::{Bounds, Calling, Job, Refusal, Scheduler, Script, Standing, Submitted, Tasks, script};
use crate::tasks::lease;

/// How long a worker waits for others, as `assay agent` takes it. All that can come are started at the same moment as it
/// is, on the same host: who is not there half a minute later does not come, and another job does what is left.
const LINGER: &str = "30s";

/// A node's worker.
fn worker(calling: &Calling, job: &Job, node: &str) -> Vec<String> {
    let mut words = script::alone(calling, job, node);
    if job.tasks == Tasks::Together {
        words.extend(["--linger", LINGER].map(str::to_owned));
    }
    words
}

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
        Script { command: worker(&self.calling, job, node), input: None }
    }

    fn submit(&mut self, job: &Job) -> Result<Submitted, Refusal> {
        let of = |node: &String| (node.clone(), worker(&self.calling, job, node));
        let workers: Vec<_> = job.nodes.iter().map(of).collect();
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_can_only_meet_those_that_were_started_with_it_does_not_wait_long_for_others() {
        let calling =
            Calling { plan: "/p".into(), name: "p".into(), program: "/p/program/assay".into(), lines: Vec::new() };
        let job = |tasks| Job { nodes: vec!["n1".to_owned()], partition: None, seconds: 600.0, tasks, probe: None };
        let words = worker(&calling, &job(Tasks::Together), "n1");
        assert!(words.join(" ").ends_with("--node n1 --role all --linger 30s"), "{words:?}");
        let words = worker(&calling, &job(Tasks::Alone), "n1");
        assert!(words.join(" ").ends_with("--node n1 --role suite"), "{words:?}");
    }
}
