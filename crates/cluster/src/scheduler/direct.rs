//! Workers without Slurm: over ssh on each node, or all on this host.

use std::path::{Path, PathBuf};

use model::cluster::{Plan, PlanNode};

use super::children::Children;
use super::command::Environment;
use super::error::SchedulerError;
use super::job::{Job, JobSettings, JobTasks, Refusal, Scheduler, SchedulerState, Script, Submitted};
use super::script;
use super::words::command_line;
use crate::error;
use crate::tasks::lease;

/// ssh never prompts; a node that does not respond within 15 s is down; a connection dead for two minutes ends.
const SSH_OPTIONS: &str = "-T -o BatchMode=yes -o ConnectTimeout=15 -o ServerAliveInterval=30 -o ServerAliveCountMax=4";

/// How long a worker on this host waits for other nodes: all workers are started at the same time, and another job does
/// what is left.
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

#[derive(Debug)]
enum Launcher {
    /// All on this host, one after another, as a trial of the plan.
    Here,
    /// Over ssh, with this configuration file. Other users may use the nodes meanwhile.
    Ssh(Option<PathBuf>),
}

impl Direct {
    /// Workers on this host.
    pub fn here(settings: JobSettings, environment: Environment, plan: &Plan) -> error::Result<Self> {
        Self::new(settings, environment, plan, Launcher::Here)
    }

    /// Workers on the plan's nodes over ssh.
    pub fn ssh(
        settings: JobSettings,
        environment: Environment,
        plan: &Plan,
        config: Option<PathBuf>,
    ) -> error::Result<Self> {
        Self::new(settings, environment, plan, Launcher::Ssh(config))
    }

    fn new(settings: JobSettings, environment: Environment, plan: &Plan, launcher: Launcher) -> error::Result<Self> {
        // A worker continues without its ssh connection, as a job does without its submitter.
        let children = Children::new(&settings.plan, lease(plan), matches!(launcher, Launcher::Here))?;
        Ok(Self { settings, environment, nodes: plan.nodes.clone(), launcher, children })
    }

    fn command(&self, job: &Job, node: &str) -> Vec<String> {
        match &self.launcher {
            Launcher::Here => worker_here(&self.settings, job, node),
            Launcher::Ssh(config) => over_ssh(config.as_deref(), &script::alone(&self.settings, job, node), node),
        }
    }
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
        let launcher = if matches!(self.launcher, Launcher::Here) { "here" } else { "ssh" };
        let workers: Vec<_> = job.nodes.iter().map(|node| (node.clone(), self.command(job, node))).collect();
        let id = self.children.start(launcher, &workers, &self.environment)?;
        Ok(Submitted { id, launcher, command: self.script(job).command })
    }

    fn poll(&mut self) -> Result<SchedulerState, SchedulerError> {
        let mut state = self.children.state_of_single_nodes(&self.nodes);
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
    fn a_worker_on_this_host_does_not_wait_long_for_others() {
        let settings =
            JobSettings { plan: "/p".into(), name: "p".into(), program: "/p/program/assay".into(), lines: Vec::new() };
        let job = |tasks| Job { nodes: vec!["n1".to_owned()], partition: None, seconds: 600.0, tasks, probe: None };
        let words = worker_here(&settings, &job(JobTasks::Together), "n1");
        assert!(words.join(" ").ends_with("--node n1 --role all --linger 30s"), "{words:?}");
        let words = worker_here(&settings, &job(JobTasks::Alone), "n1");
        assert!(words.join(" ").ends_with("--node n1 --role suite"), "{words:?}");
    }
}
