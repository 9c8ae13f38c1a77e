//! A plan that the limited user makes and runs, and its folder.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::daemons;
use super::once::{Found, Name, faults, waiting};
use super::rig::{as_user, fresh, program};
use crate::record::{processes, words_of};

const SUITE: &str = include_str!("tiny.toml");
const LEASE: &str = "6s";
pub(super) const PATIENCE: Duration = Duration::from_mins(6);

pub(super) fn none(faults: &[String]) -> Result<(), String> {
    if faults.is_empty() { Ok(()) } else { Err(faults.join("; ")) }
}

#[derive(Clone, Debug)]
pub(super) struct Said {
    pub(super) status: Option<i32>,
    pub(super) text: String,
}

impl Said {
    pub(super) fn well(&self) -> bool {
        self.status == Some(0)
    }

    pub(super) fn tail(&self) -> String {
        let lines: Vec<&str> = self.text.lines().filter(|line| !line.trim().is_empty()).collect();
        format!("exit {:?}: {}", self.status, lines[lines.len().saturating_sub(6)..].join(" | "))
    }
}

#[derive(Debug)]
pub(super) struct Running {
    child: Child,
    output: PathBuf,
}

impl Running {
    pub(super) fn start(command: &mut Command, output: PathBuf) -> Result<Self, String> {
        let text = |error: std::io::Error| format!("cannot write {}: {error}", output.display());
        let file = File::create(&output).map_err(text)?;
        let other = file.try_clone().map_err(text)?;
        command.stdout(Stdio::from(file)).stderr(Stdio::from(other)).process_group(0);
        let child = command.spawn().map_err(|error| format!("{}: {error}", command.get_program().display()))?;
        Ok(Self { child, output })
    }

    pub(super) fn signal(&self, name: &str) {
        daemons::signal(name, &[self.child.id()]);
    }

    pub(super) fn is_running(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    pub(super) fn wait(mut self, patience: Duration) -> Said {
        let start = Instant::now();
        while self.is_running() && start.elapsed() < patience {
            std::thread::sleep(Duration::from_millis(50));
        }
        let in_time = !self.is_running();
        if !in_time {
            self.signal("KILL");
        }
        let ending = self.child.wait().ok().filter(|_| in_time);
        let status = ending.and_then(|ending| ending.code().or_else(|| ending.signal().map(|signal| 128 + signal)));
        Said { status, text: fs::read_to_string(&self.output).unwrap_or_default() }
    }
}

#[derive(Clone, Debug)]
pub(super) struct Plan {
    around: PathBuf,
    pub(super) folder: PathBuf,
    pub(super) expected: BTreeSet<Name>,
}

impl Plan {
    pub(super) fn new(name: &str) -> Result<Self, String> {
        Self::with(SUITE, name)
    }

    fn with(suite: &str, name: &str) -> Result<Self, String> {
        let around = fresh(name)?;
        fs::write(around.join("tiny.toml"), suite).map_err(|error| format!("{}: {error}", around.display()))?;
        Ok(Self { folder: around.join("plan"), around, expected: BTreeSet::new() })
    }

    pub(super) fn plan(&self, nodes: &[&str]) -> Said {
        let mut command = self.assay(&["cluster", "plan", "--suite"]);
        command.arg(self.around.join("tiny.toml")).arg("--program").arg(program()).args(["--lease", LEASE]);
        command.args(nodes).arg(&self.folder);
        self.finish(&mut command, "plan.txt")
    }

    pub(super) fn made(name: &str, options: &[&str]) -> Result<Self, String> {
        Self::made_with(SUITE, name, options)
    }

    pub(super) fn made_with(suite: &str, name: &str, options: &[&str]) -> Result<Self, String> {
        let mut plan = Self::with(suite, name)?;
        let said = plan.plan(&[&["--nodes", "n1,n2,n3,n4"], options].concat());
        if !said.well() {
            return Err(format!("{name}: assay cluster plan: {}", said.tail()));
        }
        plan.expected = waiting(&plan.folder)?;
        Ok(plan)
    }

    /// Whether every task was done exactly once and the report has everything.
    pub(super) fn whole(&self) -> Result<(), String> {
        if self.expected.is_empty() {
            return Err("the plan had no tasks".to_owned());
        }
        let mut faults = faults(&self.expected, &Found::of(&self.folder)?, &self.report()?);
        let files = ["index.html", "cluster.json", "values.csv", "junit.xml", "drain.txt"].into_iter();
        let missing = files.filter(|file| !self.folder.join("report").join(file).is_file());
        faults.extend(missing.map(|file| format!("the report has no {file}")));
        none(&faults)
    }

    pub(super) fn assay(&self, arguments: &[&str]) -> Command {
        let mut command = as_user(program());
        command.args(arguments).env("ASSAY_STORE", self.around.join("store")).current_dir(&self.around);
        command
    }

    pub(super) fn run_command(&self, more: &[&str]) -> Command {
        let mut command = self.assay(&["cluster", "run", "--launcher", "slurm", "--poll", "500ms"]);
        command.args(more).arg(&self.folder);
        command
    }

    pub(super) fn run(&self, more: &[&str]) -> Said {
        self.finish(&mut self.run_command(more), "run.txt")
    }

    pub(super) fn begin(&self, more: &[&str], output: &str) -> Result<Running, String> {
        Running::start(&mut self.run_command(more), self.around.join(output))
    }

    pub(super) fn finish(&self, command: &mut Command, output: &str) -> Said {
        match Running::start(command, self.around.join(output)) {
            Ok(running) => running.wait(PATIENCE),
            Err(text) => Said { status: None, text },
        }
    }

    pub(super) fn report(&self) -> Result<Value, String> {
        let mut command = self.assay(&["cluster", "report"]);
        let said = self.finish(command.arg(&self.folder), "report.txt");
        if !said.well() {
            return Err(format!("assay cluster report: {}", said.tail()));
        }
        let path = self.folder.join("report/cluster.json");
        let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        serde_json::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))
    }

    pub(super) fn status(&self, more: &[&str]) -> Said {
        let mut command = self.assay(&["cluster", "status"]);
        self.finish(command.args(more).arg(&self.folder), "status.txt")
    }

    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.around.join(name)
    }

    pub(super) fn workers(&self, node: Option<&str>) -> Vec<u32> {
        let folder = self.folder.display().to_string();
        let is = |id: &u32| {
            let line = words_of(*id, "cmdline");
            let agent = line.first().is_some_and(|word| Path::new(word) == program())
                && line.get(1).is_some_and(|word| word == "agent")
                && line.contains(&folder);
            agent && node.is_none_or(|node| words_of(*id, "environ").contains(&format!("SLURMD_NODENAME={node}")))
        };
        processes().filter(is).collect()
    }
}
