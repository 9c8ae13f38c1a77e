//! Workers inside an allocation of Slurm (`salloc`, or a job of the user's own), on its nodes only.

use std::collections::BTreeSet;

use model::cluster::{Plan, PlanNode};

use super::children::Children;
use super::command::Environment;
use super::error::SchedulerError;
use super::job::{Availability, Job, JobSettings, Refusal, Scheduler, SchedulerState, Script, Submitted};
use super::{script, slurm};
use crate::error::Result;
use crate::tasks::lease;

/// An allocation of Slurm.
#[derive(Debug)]
pub struct Allocation {
    settings: JobSettings,
    environment: Environment,
    nodes: Vec<PlanNode>,
    job: String,
    allocated: BTreeSet<String>,
    children: Children,
}

impl Allocation {
    /// The allocation of a job with these nodes, in Slurm's notation.
    pub fn new(
        settings: JobSettings,
        environment: Environment,
        plan: &Plan,
        (job, node_list): (String, &str),
    ) -> Result<Self> {
        let allocated = slurm::expand(node_list, &environment)?.into_iter().collect();
        let children = Children::new(&settings.plan, lease(plan), true)?;
        Ok(Self { settings, environment, nodes: plan.nodes.clone(), job, allocated, children })
    }
}

/// A step that shares the allocation with other steps, such as the user's shell.
fn overlapping(settings: &JobSettings, job: &Job, allocation: &str) -> Vec<String> {
    let mut words = script::step(settings, job);
    words.splice(1..1, [format!("--jobid={allocation}"), "--overlap".to_owned(), "--mem=0".to_owned()]);
    words
}

impl Scheduler for Allocation {
    fn script(&self, job: &Job) -> Script {
        Script { command: overlapping(&self.settings, job, &self.job), input: None }
    }

    fn submit(&mut self, job: &Job) -> std::result::Result<Submitted, Refusal> {
        let command = self.script(job).command;
        // One process, srun, for all nodes, named by the first.
        let first = job.nodes.first().cloned().unwrap_or_default();
        let id = self.children.start("srun", &[(first, command.clone())], &self.environment)?;
        Ok(Submitted { id, launcher: "srun", command })
    }

    fn poll(&mut self) -> std::result::Result<SchedulerState, SchedulerError> {
        let mut state = self.children.state(self.nodes.iter().map(|node| node.name.as_str()));
        for (node, availability) in &mut state.nodes {
            if !self.allocated.contains(node) {
                *availability = Availability::Elsewhere(format!("it is not in the allocation {}", self.job));
            }
        }
        Ok(state)
    }

    fn cancel(&mut self, id: &str) -> std::result::Result<(), SchedulerError> {
        self.children.cancel(id);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheduler::job::JobTasks;

    #[test]
    fn a_step_shares_the_allocation_with_the_shell_that_it_was_called_from() {
        let settings =
            JobSettings { plan: "/p".into(), name: "p".into(), program: "/p/program/assay".into(), lines: Vec::new() };
        let nodes = ["n1", "n2"].map(str::to_owned).to_vec();
        let job = Job { nodes, partition: None, seconds: 600.0, tasks: JobTasks::Together, probe: None };
        let words = overlapping(&settings, &job, "77");
        assert_eq!(words[..5], ["srun", "--jobid=77", "--overlap", "--mem=0", "--nodes=2"]);
        assert!(
            words.contains(&"--nodelist=n1,n2".to_owned()) && words.contains(&"--cpu-bind=none".to_owned()),
            "{words:?}"
        );
        assert!(words.last().unwrap().contains("--role all"), "{words:?}");
    }
}
