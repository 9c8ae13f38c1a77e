//! Workers that are our own children, or whose connections are: each in its own process group, with what they print in
//! the plan's folder.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use model::cluster::Claim;
use rustix::process::{Pid, Signal, kill_process_group};
use sys::clock::monotonic_raw_seconds;

use super::calling::{Environment, find_program};
use super::{Phase, Queued, Refusal, Seat, Standing};
use crate::claim::{claimer, claims, is_gone};
use crate::folder::{Folder, State};
use crate::make::NODE;
use bench::reference::run::end_group;

/// How long workers have to end what they measure and put their tasks back.
const GRACE_SECONDS: f64 = 15.0;

/// How often we look whether they have.
const LOOK: Duration = Duration::from_millis(20);

/// Jobs that are children of ours.
#[derive(Debug)]
pub(super) struct Children {
    folder: Folder,
    lease: Duration,
    us: Claim,
    /// By job: the nodes, with their workers.
    jobs: BTreeMap<String, Vec<(String, Child)>>,
    /// Jobs that were started.
    started: u32,
    /// Whether workers end with us.
    bound: bool,
}

impl Children {
    /// None yet. `bound`: they end when this is dropped.
    ///
    /// # Errors
    /// A sentence: the kernel gives no random bytes.
    pub(super) fn new(plan: &Path, lease: Duration, bound: bool) -> Result<Self, String> {
        let us = claimer(None)?;
        Ok(Self { folder: Folder::at(plan), lease, us, jobs: BTreeMap::new(), started: 0, bound })
    }

    /// Starts a job's workers: a command for each node, or one for all of them, which then is named by the first.
    pub(super) fn start(
        &mut self,
        launcher: &str,
        workers: &[(String, Vec<String>)],
        environment: &Environment,
    ) -> Result<String, Refusal> {
        self.started += 1;
        let id = format!("{launcher}-{}-{}", self.us.id, self.started);
        let log = self.folder.log().join(format!("{id}.out"));
        let mut job = Vec::new();
        for (node, argv) in workers {
            match start(argv, environment, &log) {
                Ok(child) => job.push((node.clone(), child)),
                Err(said) => {
                    end(&mut job);
                    return Err(Refusal::Wrong(said));
                }
            }
        }
        self.jobs.insert(id.clone(), job);
        Ok(id)
    }

    /// What is known of these nodes: those with a child, or with a worker that somebody else started, are busy.
    pub(super) fn standing<'a>(&mut self, nodes: impl Iterator<Item = &'a str>) -> Standing {
        for job in self.jobs.values_mut() {
            job.retain_mut(|(_, child)| matches!(child.try_wait(), Ok(None)));
        }
        self.jobs.retain(|_, job| !job.is_empty());
        let running = |id: &String| Queued { id: id.clone(), phase: Phase::Running, reason: String::new() };
        Standing {
            nodes: nodes.map(|node| (node.to_owned(), self.seat(node))).collect(),
            queue: self.jobs.keys().map(running).collect(),
            ..Standing::default()
        }
    }

    fn seat(&self, node: &str) -> Seat {
        if self.jobs.values().flatten().any(|(of, _)| of == node) {
            return Seat::Busy("a worker of ours is there".to_owned());
        }
        let folder = self.folder.tasks(State::Running, node);
        let others = claims(&folder).unwrap_or_default().into_iter().filter(|seen| seen.name == NODE);
        for seen in others {
            if !is_gone(&folder, &seen, &self.us, self.lease).unwrap_or(true) {
                return Seat::Busy("a worker that somebody else started is there".to_owned());
            }
        }
        Seat::Idle
    }

    /// Ends a job.
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

fn start(argv: &[String], environment: &Environment, log: &Path) -> Result<Child, String> {
    let (program, rest) = argv.split_first().ok_or("a worker without a program cannot be started")?;
    let cannot = |error: std::io::Error| format!("cannot write what workers print to '{}': {error}", log.display());
    let out = OpenOptions::new().create(true).append(true).open(log).map_err(cannot)?;
    let errors = out.try_clone().map_err(cannot)?;
    let mut command = Command::new(find_program(program, environment).unwrap_or_else(|| PathBuf::from(program)));
    command.args(rest).env_clear().envs(environment.all()).process_group(0);
    command.stdin(Stdio::null()).stdout(out).stderr(errors);
    command.spawn().map_err(|error| format!("cannot start '{program}': {error}"))
}

/// Ends workers: asks them first, so that they put their tasks back.
fn end(job: &mut [(String, Child)]) {
    for (_, child) in &*job {
        if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
            // One that is gone is what was wanted.
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

/// The end of a log in which the last line is looked for: some hundred lines, as many nodes may have printed into it.
const TAIL_BYTES: i64 = 32_768;

/// What srun's own lines begin with.
const BY_SRUN: &str = "srun: ";

/// The last line that a job printed, which tells why it ended; `None` where it printed nothing.
#[must_use]
pub fn last_line(plan: &Folder, id: &str) -> Option<String> {
    let text = tail(plan, id)?;
    let mut lines = lines(&text);
    // What srun says of the end of a worker's process is less than what the worker said itself.
    if !lines.iter().all(|line| line.starts_with(BY_SRUN)) {
        lines.retain(|line| !line.starts_with(BY_SRUN));
    }
    lines.last().map(|line| shown(line))
}

/// The last line of what a job of several nodes printed that names this one; srun's own where no other does.
#[must_use]
pub fn last_line_of(plan: &Folder, id: &str, node: &str) -> Option<String> {
    let text = tail(plan, id)?;
    let is_part = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let names = |line: &&str| line.split(|c| !is_part(c)).any(|word| word == node);
    let (by_srun, by_worker): (Vec<&str>, Vec<&str>) =
        lines(&text).into_iter().filter(names).partition(|line| line.starts_with(BY_SRUN));
    by_worker.last().or(by_srun.last()).map(|line| shown(line))
}

fn tail(plan: &Folder, id: &str) -> Option<String> {
    let mut file = File::open(plan.log().join(format!("{id}.out"))).ok()?;
    let length = file.metadata().ok()?.len();
    if i64::try_from(length).is_ok_and(|length| length > TAIL_BYTES) {
        file.seek(SeekFrom::End(-TAIL_BYTES)).ok()?;
    }
    let mut bytes = Vec::new();
    file.take(TAIL_BYTES.unsigned_abs()).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

fn lines(text: &str) -> Vec<&str> {
    text.lines().map(str::trim).filter(|line| !line.is_empty()).collect()
}

fn shown(line: &str) -> String {
    line.chars().filter(|c| !c.is_control()).take(400).collect()
}

/// Makes the folder that logs go to.
///
/// # Errors
/// A sentence: it cannot be made.
pub(crate) fn make_log(plan: &Folder) -> Result<(), String> {
    fs::create_dir_all(plan.log()).map_err(|error| crate::folder::cannot_write(&plan.log(), &error))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scratch(name: &str) -> Folder {
        let folder = Folder::at(&std::env::temp_dir().join(format!("assay-children-{name}-{}", std::process::id())));
        let _ = fs::remove_dir_all(folder.path());
        make_log(&folder).unwrap();
        folder
    }

    fn environment() -> Environment {
        Environment::of(&BTreeMap::from([("PATH".to_owned(), "/usr/bin:/bin".to_owned())]))
    }

    fn shell(node: &str, script: &str) -> (String, Vec<String>) {
        (node.to_owned(), ["sh", "-c", script].map(str::to_owned).to_vec())
    }

    fn ended(children: &mut Children) -> Standing {
        let began = monotonic_raw_seconds();
        loop {
            let standing = children.standing(["n1", "n2"].into_iter());
            if standing.queue.is_empty() || monotonic_raw_seconds() - began > 60.0 {
                return standing;
            }
            std::thread::sleep(LOOK);
        }
    }

    #[test]
    fn a_job_is_there_until_its_last_worker_has_ended_and_what_it_said_stays() {
        let folder = scratch("said");
        let mut children = Children::new(folder.path(), Duration::from_mins(1), true).unwrap();
        let workers =
            [shell("n1", "echo first; echo; echo 'the reason ' >&2; echo 'srun: error: x'"), shell("n2", "sleep 1000")];
        let id = children.start("here", &workers, &environment()).unwrap();
        let began = monotonic_raw_seconds();
        // The first ends; the job and the second stay.
        while children.standing(["n1", "n2"].into_iter()).nodes["n1"] != Seat::Idle
            && monotonic_raw_seconds() - began < 60.0
        {
            std::thread::sleep(LOOK);
        }
        let standing = children.standing(["n1", "n2"].into_iter());
        assert_eq!(standing.queue.len(), 1);
        assert!(matches!(standing.nodes["n2"], Seat::Busy(_)), "{standing:?}");
        assert_eq!(last_line(&folder, &id).as_deref(), Some("the reason"));
        children.cancel(&id);
        assert!(ended(&mut children).queue.is_empty());
        assert_eq!(last_line(&folder, "other"), None);
        let log =
            "assay: n1: 3 tasks\nassay: n11: bad\nsrun: error: n1: task 0: Exited\nsrun: error: n2: task 1: Exited\n";
        fs::write(folder.log().join("7.out"), log).unwrap();
        let of = |node| last_line_of(&folder, "7", node);
        assert_eq!(of("n1").as_deref(), Some("assay: n1: 3 tasks"), "not what srun says, nor another node's");
        assert_eq!((of("n2").as_deref(), of("n3")), (Some("srun: error: n2: task 1: Exited"), None));
        let _ = fs::remove_dir_all(folder.path());
    }

    #[test]
    fn workers_that_are_bound_to_us_end_with_us() {
        let folder = scratch("bound");
        let mark = folder.path().join("ended");
        let mut children = Children::new(folder.path(), Duration::from_mins(1), true).unwrap();
        let script = format!("trap 'echo > {}; exit' TERM; while :; do sleep 0.05; done", mark.display());
        children.start("here", &[shell("n1", &script)], &environment()).unwrap();
        std::thread::sleep(Duration::from_millis(300));
        drop(children);
        assert!(mark.exists(), "it was asked to end, and waited for");
        let _ = fs::remove_dir_all(folder.path());
    }

    #[test]
    fn a_worker_that_cannot_be_started_is_a_refusal() {
        let folder = scratch("missing");
        let mut children = Children::new(folder.path(), Duration::from_mins(1), true).unwrap();
        let worker = [("n1".to_owned(), vec!["assay-no-such-program".to_owned()])];
        let refused = children.start("here", &worker, &environment()).unwrap_err();
        assert!(matches!(&refused, Refusal::Wrong(said) if said.contains("assay-no-such-program")), "{refused:?}");
        let _ = fs::remove_dir_all(folder.path());
    }

    #[test]
    fn a_node_with_a_worker_of_somebody_else_is_busy_until_its_lease_is_over() {
        let folder = scratch("others");
        let (waiting, running) = (folder.tasks(State::Waiting, "n1"), folder.tasks(State::Running, "n1"));
        fs::create_dir_all(&waiting).unwrap();
        fs::create_dir_all(&running).unwrap();
        fs::write(waiting.join(".node.json"), "{}").unwrap();
        // Of another host, so that only the lease can tell.
        let other = Claim { host: "elsewhere".into(), boot: None, ..claimer(None).unwrap() };
        crate::claim::claim(&waiting, &running, NODE, &other).unwrap().unwrap();
        let mut children = Children::new(folder.path(), Duration::from_hours(1), true).unwrap();
        assert!(matches!(&children.standing(["n1"].into_iter()).nodes["n1"], Seat::Busy(why) if why.contains("else")));
        children.lease = Duration::ZERO;
        std::thread::sleep(Duration::from_millis(50));
        assert_eq!(children.standing(["n1"].into_iter()).nodes["n1"], Seat::Idle);
        let _ = fs::remove_dir_all(folder.path());
    }
}
