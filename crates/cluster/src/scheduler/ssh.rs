//! Workers over ssh, where there is no Slurm: one connection a node, without asking for anything. Nobody keeps other
//! users away from the nodes then.

use std::path::{Path, PathBuf};

use model::cluster::{Plan, PlanNode};

use super::children::Children;
use super::command::Environment;
use super::error::SchedulerError;
use super::job::{Job, JobSettings, Refusal, Scheduler, SchedulerState, Script, Submitted};
use super::script;
use super::words::command_line;
use crate::error;
use crate::tasks::lease;

/// Options of ssh: never a question; a node that does not answer within 15 s is not there; a connection that is dead
/// for two minutes ends.
const OPTIONS: &[&str] = &[
    "-T",
    "-o",
    "BatchMode=yes",
    "-o",
    "ConnectTimeout=15",
    "-o",
    "ServerAliveInterval=30",
    "-o",
    "ServerAliveCountMax=4",
];

/// Nodes that are reached by ssh.
#[derive(Debug)]
pub struct Ssh {
    settings: JobSettings,
    environment: Environment,
    nodes: Vec<PlanNode>,
    /// A configuration of ssh's own, where the user named one.
    config: Option<PathBuf>,
    children: Children,
}

impl Ssh {
    /// The nodes of a plan.
    pub fn new(
        settings: JobSettings,
        environment: Environment,
        plan: &Plan,
        config: Option<PathBuf>,
    ) -> error::Result<Self> {
        // A worker goes on without its connection, as a job does without the one who submitted it.
        let children = Children::new(&settings.plan, lease(plan), false)?;
        Ok(Self { settings, environment, nodes: plan.nodes.clone(), config, children })
    }

    fn command(&self, job: &Job, node: &str) -> Vec<String> {
        command(self.config.as_deref(), &script::alone(&self.settings, job, node), node)
    }
}

/// A worker's command as ssh takes it: the other side's shell reads it, whichever it is.
fn command(config: Option<&Path>, worker: &[String], node: &str) -> Vec<String> {
    let mut words = vec!["ssh".to_owned()];
    words.extend(config.into_iter().flat_map(|path| ["-F".to_owned(), path.to_string_lossy().into_owned()]));
    words.extend(OPTIONS.iter().map(|word| (*word).to_owned()));
    words.extend(["--".to_owned(), node.to_owned(), format!("exec {}", command_line(worker))]);
    words
}

impl Scheduler for Ssh {
    fn script(&self, job: &Job) -> Script {
        Script { command: self.command(job, job.nodes.first().map_or("", String::as_str)), input: None }
    }

    fn submit(&mut self, job: &Job) -> Result<Submitted, Refusal> {
        let workers: Vec<_> = job.nodes.iter().map(|node| (node.clone(), self.command(job, node))).collect();
        let id = self.children.start("ssh", &workers, &self.environment)?;
        Ok(Submitted { id, launcher: "ssh", command: self.script(job).command })
    }

    fn poll(&mut self) -> Result<SchedulerState, SchedulerError> {
        Ok(self.children.state_of_single_nodes(&self.nodes))
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
        let words = command(Some(Path::new("/a b/config")), &worker, "n1");
        assert_eq!(words[..3], ["ssh", "-F", "/a b/config"]);
        assert!(words.contains(&"BatchMode=yes".to_owned()), "{words:?}");
        assert_eq!(words[words.len() - 3..words.len() - 1], ["--", "n1"], "a name is never an option");
        let output = Command::new("sh").args(["-c", words.last().unwrap()]).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout), "[agent][/it's a \"plan\"][$HOME]");
    }
}
