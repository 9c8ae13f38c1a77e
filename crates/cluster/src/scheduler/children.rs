//! Workers, or their ssh connections, as child processes in process groups of their own; their output is in the plan's folder.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use bench::references::run::end_group;
use model::cluster::Claim;
use rustix::process::{Pid, Signal, kill_process_group};
use sys::clock::monotonic_raw_seconds;

use super::command::{Environment, find_program};
use super::error::SchedulerError;
use super::job::{Availability, Phase, Queued, Refusal, SchedulerState};
use crate::claims::claim::{claimer, has_worker};
use crate::error::Result;
use crate::folder::Folder;

/// Timeout for workers to end their measurement and return their tasks.
const GRACE_SECONDS: f64 = 15.0;
const LOOK: Duration = Duration::from_millis(20);

/// Jobs that are child processes.
#[derive(Debug)]
pub(super) struct Children {
    folder: Folder,
    lease: Duration,
    us: Claim,
    /// By job: the nodes, with their workers.
    jobs: BTreeMap<String, Vec<(String, Child)>>,
    started: u32,
    bound: bool,
}

impl Children {
    /// No jobs yet. `bound`: workers end when this is dropped.
    pub(super) fn new(plan: &Path, lease: Duration, bound: bool) -> Result<Self> {
        let us = claimer(None)?;
        Ok(Self { folder: Folder::at(plan), lease, us, jobs: BTreeMap::new(), started: 0, bound })
    }

    /// Starts a job's workers: a command for each node, or one for all, which is named by the first node.
    pub(super) fn start(
        &mut self,
        launcher: &str,
        workers: &[(String, Vec<String>)],
        environment: &Environment,
    ) -> std::result::Result<String, Refusal> {
        self.started += 1;
        let id = format!("{launcher}-{}-{}", self.us.id, self.started);
        let log = self.folder.log().join(format!("{id}.out"));
        let mut job = Vec::new();
        for (node, argv) in workers {
            match start(argv, environment, &log) {
                Ok(child) => job.push((node.clone(), child)),
                Err(error) => {
                    end(&mut job);
                    return Err(Refusal::Wrong(error.to_string()));
                }
            }
        }
        self.jobs.insert(id.clone(), job);
        Ok(id)
    }

    /// The state of these nodes: busy if they have a child, or a worker that was started elsewhere.
    pub(super) fn state<'a>(&mut self, nodes: impl Iterator<Item = &'a str>) -> SchedulerState {
        for job in self.jobs.values_mut() {
            job.retain_mut(|(_, child)| matches!(child.try_wait(), Ok(None)));
        }
        self.jobs.retain(|_, job| !job.is_empty());
        let running = |id: &String| Queued { id: id.clone(), phase: Phase::Running, reason: String::new() };
        SchedulerState {
            nodes: nodes.map(|node| (node.to_owned(), self.availability(node))).collect(),
            queue: self.jobs.keys().map(running).collect(),
            ..SchedulerState::default()
        }
    }

    fn availability(&self, node: &str) -> Availability {
        if self.jobs.values().flatten().any(|(of, _)| of == node) {
            return Availability::Busy("this campaign's worker is running".to_owned());
        }
        if has_worker(&self.folder, node, &self.us, self.lease) {
            return Availability::Busy("another campaign's worker is running".to_owned());
        }
        Availability::Idle
    }

    pub(super) fn cancel(&mut self, id: &str) {
        if let Some(mut job) = self.jobs.remove(id) {
            end(&mut job);
        }
    }
}

impl Drop for Children {
    fn drop(&mut self) {
        if self.bound {
            let mut all: Vec<(String, Child)> = std::mem::take(&mut self.jobs).into_values().flatten().collect();
            end(&mut all);
        }
    }
}

fn start(argv: &[String], environment: &Environment, log: &Path) -> std::result::Result<Child, SchedulerError> {
    let (program, rest) = argv.split_first().ok_or(SchedulerError::NoCommand)?;
    let cannot = |error| SchedulerError::Log(log.to_owned(), error);
    let out = OpenOptions::new().create(true).append(true).open(log).map_err(cannot)?;
    let errors = out.try_clone().map_err(cannot)?;
    let mut command = Command::new(find_program(program, environment).unwrap_or_else(|| PathBuf::from(program)));
    command.args(rest).env_clear().envs(environment.all()).process_group(0);
    command.stdin(Stdio::null()).stdout(out).stderr(errors);
    command.spawn().map_err(|error| SchedulerError::Start(program.clone(), error))
}

/// Ends workers; SIGTERM first, so that they return their tasks.
fn end(job: &mut [(String, Child)]) {
    for (_, child) in &*job {
        if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
            let _ = kill_process_group(group, Signal::TERM);
        }
    }
    let began = monotonic_raw_seconds();
    for (_, child) in job {
        while matches!(child.try_wait(), Ok(None)) {
            if monotonic_raw_seconds() - began > GRACE_SECONDS {
                end_group(child.id());
                let _ = child.wait();
                break;
            }
            std::thread::sleep(LOOK);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::folder::{NODE, State};
    use crate::scheduler::log::last_line;
    use crate::tests::support::{Scratch, scratch};

    fn plan() -> (Scratch, Folder) {
        let scratch = scratch();
        let folder = Folder::at(scratch.path());
        fs::create_dir_all(folder.log()).unwrap();
        (scratch, folder)
    }

    fn environment() -> Environment {
        Environment::of(&BTreeMap::from([("PATH".to_owned(), "/usr/bin:/bin".to_owned())]))
    }

    fn shell(node: &str, script: &str) -> (String, Vec<String>) {
        (node.to_owned(), ["sh", "-c", script].map(str::to_owned).to_vec())
    }

    fn ended(children: &mut Children) -> SchedulerState {
        let began = monotonic_raw_seconds();
        loop {
            let standing = children.state(["n1", "n2"].into_iter());
            if standing.queue.is_empty() || monotonic_raw_seconds() - began > 60.0 {
                return standing;
            }
            std::thread::sleep(LOOK);
        }
    }

    #[test]
    fn a_job_is_there_until_its_last_worker_has_ended_and_what_it_said_stays() {
        let (_scratch, folder) = plan();
        let mut children = Children::new(folder.path(), Duration::from_secs(60), true).unwrap();
        let workers =
            [shell("n1", "echo first; echo; echo 'the reason ' >&2; echo 'srun: error: x'"), shell("n2", "sleep 1000")];
        let id = children.start("here", &workers, &environment()).unwrap();
        let began = monotonic_raw_seconds();
        // The first worker ends; the job and the second worker stay.
        while children.state(["n1", "n2"].into_iter()).nodes["n1"] != Availability::Idle
            && monotonic_raw_seconds() - began < 60.0
        {
            std::thread::sleep(LOOK);
        }
        let standing = children.state(["n1", "n2"].into_iter());
        assert_eq!(standing.queue.len(), 1);
        assert!(matches!(standing.nodes["n2"], Availability::Busy(_)), "{standing:?}");
        assert_eq!(last_line(&folder, &id, None).as_deref(), Some("the reason"));
        children.cancel(&id);
        assert!(ended(&mut children).queue.is_empty());
    }

    #[test]
    fn workers_that_are_bound_to_us_end_with_us() {
        let (_scratch, folder) = plan();
        let mark = folder.path().join("ended");
        let mut children = Children::new(folder.path(), Duration::from_secs(60), true).unwrap();
        let script = format!("trap 'echo > {}; exit' TERM; while :; do sleep 0.05; done", mark.display());
        children.start("here", &[shell("n1", &script)], &environment()).unwrap();
        std::thread::sleep(Duration::from_millis(300));
        drop(children);
        assert!(mark.exists(), "it was asked to end, and waited for");
    }

    #[test]
    fn a_worker_that_cannot_be_started_is_a_refusal() {
        let (_scratch, folder) = plan();
        let mut children = Children::new(folder.path(), Duration::from_secs(60), true).unwrap();
        let worker = [("n1".to_owned(), vec!["assay-no-such-program".to_owned()])];
        let refused = children.start("here", &worker, &environment()).unwrap_err();
        assert!(matches!(&refused, Refusal::Wrong(said) if said.contains("assay-no-such-program")), "{refused:?}");
    }

    #[test]
    fn a_node_with_a_foreign_worker_is_busy_until_its_lease_ends() {
        let (_scratch, folder) = plan();
        let (waiting, running) = (folder.tasks(State::Waiting, "n1"), folder.tasks(State::Running, "n1"));
        fs::create_dir_all(&waiting).unwrap();
        fs::create_dir_all(&running).unwrap();
        fs::write(waiting.join(".node.json"), "{}").unwrap();
        // Of another host, so that only the lease counts.
        let other = Claim { host: "elsewhere".into(), boot: None, ..claimer(None).unwrap() };
        crate::claims::claim::claim(&waiting, &running, NODE, &other).unwrap().unwrap();
        let mut children = Children::new(folder.path(), Duration::from_secs(3600), true).unwrap();
        assert!(
            matches!(&children.state(["n1"].into_iter()).nodes["n1"], Availability::Busy(why) if why.contains("another campaign"))
        );
        children.lease = Duration::ZERO;
        std::thread::sleep(Duration::from_millis(50));
        assert_eq!(children.state(["n1"].into_iter()).nodes["n1"], Availability::Idle);
    }
}
