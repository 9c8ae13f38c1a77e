//! Workers as child processes: over ssh, all on this host, or as steps of an allocation of Slurm (`salloc`, a user's job).

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use model::cluster::{Plan, PlanNode};

use super::children::Children;
use super::command::Environment;
use super::error::SchedulerError;
use super::job::{
    Availability, Job, JobLimits, JobSettings, JobTasks, Refusal, Scheduler, SchedulerState, Script, Submitted,
};
use super::script;
use super::words::command_line;
use crate::error;
use crate::tasks::lease;

/// ssh never prompts; a node that does not respond within 15 s is down; a connection dead for two minutes ends.
const SSH_OPTIONS: &str = "-T -o BatchMode=yes -o ConnectTimeout=15 -o ServerAliveInterval=30 -o ServerAliveCountMax=4";
/// How long a worker on this host waits for other nodes: all start at the same time, and another job does what is left.
const LINGER: &str = "30s";

/// A scheduler without a queue.
#[derive(Debug)]
pub struct Direct {
    settings: JobSettings,
    environment: Environment,
    nodes: Vec<PlanNode>,
    launcher: Launcher,
    children: Children,
}

/// How a scheduler without a queue starts a plan's workers.
#[derive(Debug)]
pub enum Launcher {
    /// All on this host, one after another, as a trial of the plan.
    Here,
    /// Over ssh, with this configuration file. Other users may use the nodes meanwhile.
    Ssh(Option<PathBuf>),
    /// Steps of this job of Slurm, on its nodes only.
    Allocation(String, BTreeSet<String>),
}

impl Direct {
    /// The workers of a plan.
    pub fn new(
        settings: JobSettings,
        environment: Environment,
        plan: &Plan,
        launcher: Launcher,
    ) -> error::Result<Self> {
        // A worker continues without its ssh connection, as a job does without its submitter.
        let children = Children::new(&settings.plan, lease(plan), !matches!(launcher, Launcher::Ssh(_)))?;
        Ok(Self { settings, environment, nodes: plan.nodes.clone(), launcher, children })
    }

    fn command(&self, job: &Job, node: &str) -> Vec<String> {
        match &self.launcher {
            Launcher::Here => worker_here(&self.settings, job, node),
            Launcher::Ssh(config) => over_ssh(config.as_deref(), &script::alone(&self.settings, job, node), node),
            Launcher::Allocation(allocation, _) => overlapping(&self.settings, job, allocation),
        }
    }
}

/// A step that shares the allocation with other steps, such as the user's shell.
fn overlapping(settings: &JobSettings, job: &Job, allocation: &str) -> Vec<String> {
    let mut words = script::step(settings, job);
    words.splice(1..1, [format!("--jobid={allocation}"), "--overlap".to_owned(), "--mem=0".to_owned()]);
    words
}

fn worker_here(settings: &JobSettings, job: &Job, node: &str) -> Vec<String> {
    let mut words = script::alone(settings, job, node);
    if job.tasks == JobTasks::Together {
        words.extend(["--linger", LINGER].map(str::to_owned));
    }
    words
}

/// A worker's command over ssh, quoted for the node's shell.
fn over_ssh(config: Option<&Path>, worker: &[String], node: &str) -> Vec<String> {
    let mut words = vec!["ssh".to_owned()];
    words.extend(config.into_iter().flat_map(|path| ["-F".to_owned(), path.to_string_lossy().into_owned()]));
    words.extend(SSH_OPTIONS.split(' ').map(str::to_owned));
    words.extend(["--".to_owned(), node.to_owned(), format!("exec {}", command_line(worker))]);
    words
}

impl Scheduler for Direct {
    fn script(&self, job: &Job) -> Script {
        Script { command: self.command(job, job.nodes.first().map_or("", String::as_str)), input: None }
    }

    fn submit(&mut self, job: &Job) -> Result<Submitted, Refusal> {
        let (launcher, processes) = match self.launcher {
            Launcher::Here => ("here", job.nodes.len()),
            Launcher::Ssh(_) => ("ssh", job.nodes.len()),
            // One process, srun, for all nodes, named by the first.
            Launcher::Allocation(..) => ("srun", 1),
        };
        let workers = job.nodes.iter().take(processes).map(|node| (node.clone(), self.command(job, node)));
        let id = self.children.start(launcher, &workers.collect::<Vec<_>>(), &self.environment)?;
        Ok(Submitted { id, launcher, command: self.script(job).command })
    }

    fn poll(&mut self) -> Result<SchedulerState, SchedulerError> {
        let mut state = self.children.state(self.nodes.iter().map(|node| node.name.as_str()));
        if let Launcher::Allocation(job, allocated) = &self.launcher {
            for (_, availability) in state.nodes.iter_mut().filter(|(node, _)| !allocated.contains(*node)) {
                *availability = Availability::Elsewhere(format!("it is not in the allocation {job}"));
            }
            return Ok(state);
        }
        // Each job is for one node, so that a node whose worker has ended can start again.
        let partitions = self.nodes.iter().filter_map(|node| node.partition.clone()).chain([String::new()]);
        state.bounds = partitions.map(|name| (name, JobLimits { seconds: None, nodes: Some(1) })).collect();
        if matches!(self.launcher, Launcher::Here) {
            // At the same time they would disturb each other.
            state.room = Some(u32::from(state.queue.is_empty()));
        }
        Ok(state)
    }

    fn cancel(&mut self, id: &str) -> Result<(), SchedulerError> {
        self.children.cancel(id);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn the_other_sides_shell_reads_the_workers_words() {
        let worker = ["printf", "[%s]", "agent", "/it's a \"plan\"", "$HOME"].map(str::to_owned);
        let words = over_ssh(Some(Path::new("/a b/config")), &worker, "n1");
        assert_eq!(words[..3], ["ssh", "-F", "/a b/config"]);
        assert!(words.contains(&"BatchMode=yes".to_owned()), "{words:?}");
        assert_eq!(words[words.len() - 3..words.len() - 1], ["--", "n1"], "a name is never an option");
        let output = Command::new("sh").args(["-c", words.last().unwrap()]).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout), "[agent][/it's a \"plan\"][$HOME]");
    }

    #[test]
    fn workers_on_this_host_wait_briefly_and_a_step_shares_the_allocation() {
        let settings = JobSettings {
            plan: "/p".into(),
            name: "p".into(),
            program: "/p/program/assay".into(),
            lines: Vec::new(),
            shared: false,
        };
        let job = |nodes: &[&str], tasks| {
            let nodes = nodes.iter().map(ToString::to_string).collect();
            Job { nodes, partition: None, seconds: 600.0, tasks, probe: None }
        };
        let words = worker_here(&settings, &job(&["n1"], JobTasks::Together), "n1").join(" ");
        assert!(words.ends_with("--node n1 --role all --linger 30s"), "{words}");
        let words = worker_here(&settings, &job(&["n1"], JobTasks::Alone), "n1").join(" ");
        assert!(words.ends_with("--node n1 --role suite"), "{words}");
        let words = overlapping(&settings, &job(&["n1", "n2"], JobTasks::Together), "77").join(" ");
        assert!(words.starts_with("srun --jobid=77 --overlap --mem=0 --nodes=2 --nodelist=n1,n2 "), "{words}");
        assert!(words.contains(" --cpu-bind=none ") && words.ends_with("--role all $limit"), "{words}");
    }
}
