//! Inside an allocation of Slurm (`salloc`, a job of the user's own): workers start at once, on its nodes and no
//! others.

use std::collections::BTreeSet;

use model::cluster::{Plan, PlanNode};

use super::calling::Environment;
use super::children::Children;
use super::{Calling, Job, Refusal, Scheduler, Script, Seat, Standing, Submitted, script, slurm};
use crate::tasks::lease;

/// An allocation.
#[derive(Debug)]
pub struct Inside {
    calling: Calling,
    environment: Environment,
    nodes: Vec<PlanNode>,
    job: String,
    /// The allocation's nodes.
    allocated: BTreeSet<String>,
    children: Children,
}

impl Inside {
    /// The allocation of this job, whose nodes Slurm writes as `node_list`.
    ///
    /// # Errors
    /// A sentence: Slurm does not say which nodes these are.
    pub fn new(
        calling: Calling,
        environment: Environment,
        plan: &Plan,
        (job, node_list): (String, &str),
    ) -> Result<Self, String> {
        let allocated = slurm::expand(node_list, &environment)?.into_iter().collect();
        let children = Children::new(&calling.plan, lease(plan), true)?;
        Ok(Self { calling, environment, nodes: plan.nodes.clone(), job, allocated, children })
    }
}

/// A step beside whatever else runs in the allocation, such as the shell that we were called from.
fn overlapping(calling: &Calling, job: &Job, allocation: &str) -> Vec<String> {
    let mut words = script::step(calling, job);
    words.splice(1..1, [format!("--jobid={allocation}"), "--overlap".to_owned(), "--mem=0".to_owned()]);
    words
}

impl Scheduler for Inside {
    fn script(&self, job: &Job) -> Script {
        Script { command: overlapping(&self.calling, job, &self.job), input: None }
    }

    fn submit(&mut self, job: &Job) -> Result<Submitted, Refusal> {
        let command = self.script(job).command;
        // One process of ours for all of them: srun. It is named by the first node; the others are known by `jobs/`.
        let first = job.nodes.first().cloned().unwrap_or_default();
        let id = self.children.start("srun", &[(first, command.clone())], &self.environment)?;
        Ok(Submitted { id, launcher: "srun", command })
    }

    fn poll(&mut self) -> Result<Standing, String> {
        let mut standing = self.children.standing(self.nodes.iter().map(|node| node.name.as_str()));
        for (node, seat) in &mut standing.nodes {
            if !self.allocated.contains(node) {
                *seat = Seat::Elsewhere(format!("it is not in the allocation {}", self.job));
            }
        }
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
    use crate::scheduler::Tasks;

    #[test]
    fn a_step_shares_the_allocation_with_the_shell_that_it_was_called_from() {
        let calling =
            Calling { plan: "/p".into(), name: "p".into(), program: "/p/program/assay".into(), lines: Vec::new() };
        let nodes = ["n1", "n2"].map(str::to_owned).to_vec();
        let job = Job { nodes, partition: None, seconds: 600.0, tasks: Tasks::Together, probe: None };
        let words = overlapping(&calling, &job, "77");
        assert_eq!(words[..5], ["srun", "--jobid=77", "--overlap", "--mem=0", "--nodes=2"]);
        assert!(
            words.contains(&"--nodelist=n1,n2".to_owned()) && words.contains(&"--cpu-bind=none".to_owned()),
            "{words:?}"
        );
        assert!(words.last().unwrap().contains("--role all"), "{words:?}");
    }
}
