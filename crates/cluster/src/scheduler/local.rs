//! Every node's worker on this host, one after another: for trying a plan out, and for tests. The figures are this
//! host's.

use model::cluster::{Plan, PlanNode};

use super::children::Children;
use super::command::Environment;
use super::error::SchedulerError;
use super::job::{Job, JobSettings, JobTasks, Refusal, Scheduler, SchedulerState, Script, Submitted};
use super::script;
use crate::error;
use crate::tasks::lease;

/// How long a worker waits for others, as `assay agent` takes it. All that can come are started at the same moment as it
/// is, on the same host: who is not there half a minute later does not come, and another job does what is left.
const LINGER: &str = "30s";

/// A node's worker.
fn worker(settings: &JobSettings, job: &Job, node: &str) -> Vec<String> {
    let mut words = script::alone(settings, job, node);
    if job.tasks == JobTasks::Together {
        words.extend(["--linger", LINGER].map(str::to_owned));
    }
    words
}

/// This host, in the place of every node.
#[derive(Debug)]
pub struct LocalHost {
    settings: JobSettings,
    environment: Environment,
    nodes: Vec<PlanNode>,
    children: Children,
}

impl LocalHost {
    /// This host for the jobs of a plan.
    pub fn new(settings: JobSettings, environment: Environment, plan: &Plan) -> error::Result<Self> {
        let children = Children::new(&settings.plan, lease(plan), true)?;
        Ok(Self { settings, environment, nodes: plan.nodes.clone(), children })
    }
}

impl Scheduler for LocalHost {
    fn script(&self, job: &Job) -> Script {
        let node = job.nodes.first().map_or("", String::as_str);
        Script { command: worker(&self.settings, job, node), input: None }
    }

    fn submit(&mut self, job: &Job) -> Result<Submitted, Refusal> {
        let of = |node: &String| (node.clone(), worker(&self.settings, job, node));
        let workers: Vec<_> = job.nodes.iter().map(of).collect();
        let id = self.children.start("here", &workers, &self.environment)?;
        Ok(Submitted { id, launcher: "here", command: self.script(job).command })
    }

    fn poll(&mut self) -> Result<SchedulerState, SchedulerError> {
        // One after another: at the same time they would measure each other.
        let state = self.children.state_of_single_nodes(&self.nodes);
        Ok(SchedulerState { room: Some(u32::from(state.queue.is_empty())), ..state })
    }

    fn cancel(&mut self, id: &str) -> Result<(), SchedulerError> {
        self.children.cancel(id);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_can_only_meet_those_that_were_started_with_it_does_not_wait_long_for_others() {
        let settings =
            JobSettings { plan: "/p".into(), name: "p".into(), program: "/p/program/assay".into(), lines: Vec::new() };
        let job = |tasks| Job { nodes: vec!["n1".to_owned()], partition: None, seconds: 600.0, tasks, probe: None };
        let words = worker(&settings, &job(JobTasks::Together), "n1");
        assert!(words.join(" ").ends_with("--node n1 --role all --linger 30s"), "{words:?}");
        let words = worker(&settings, &job(JobTasks::Alone), "n1");
        assert!(words.join(" ").ends_with("--node n1 --role suite"), "{words:?}");
    }
}
