//! One run that is killed or gets a signal, and what is checked afterwards.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant, SystemTime};

use serde_json::Value;

use super::kinds::Kind;
use crate::record::{processes, words_of};

/// Processes of a run must be gone this long after it or after the next start.
const GONE: Duration = Duration::from_secs(2);
const ENDS_WITHIN: Duration = Duration::from_secs(15);
/// A run that ends later after a signal, complete and with status 0, ignored the signal.
const AT_ITS_END: Duration = Duration::from_millis(500);
const STARTS_WITHIN: Duration = Duration::from_secs(5);
const POLL: Duration = Duration::from_millis(5);
/// Older than every folder of a run that is just being created.
const OLD: Duration = Duration::from_hours(1);
/// The folder of fake tools next to the program.
pub(super) const TOOLS: &str = "tools";
/// Tools get a folder with this prefix and the process number of the run.
const TOOL_FOLDER: &str = "/tmp/assay-tool-";

#[derive(Debug, PartialEq)]
pub(super) enum Ended {
    /// The run ended before the signal; the trial does not count.
    TooEarly,
    Right,
    Wrong(String),
}

impl From<Result<(), String>> for Ended {
    fn from(checked: Result<(), String>) -> Self {
        checked.map_or_else(Self::Wrong, |()| Self::Right)
    }
}

/// Folders of runs that were seen after kills.
#[derive(Debug, Default)]
pub(super) struct Seen {
    pub(super) stored: usize,
    pub(super) removed: usize,
    pub(super) resumed: usize,
}

/// A store and a measured directory of its own for one run.
pub(super) struct Trial<'a> {
    program: &'a Path,
    folder: PathBuf,
    arguments: Vec<String>,
    /// The processes that were started as runs.
    started: Vec<u32>,
}

impl<'a> Trial<'a> {
    pub(super) fn new(program: &'a Path, kind: &Kind, name: &str) -> Result<Self, String> {
        let parent = program.parent().unwrap_or(Path::new("."));
        let folder = parent.join(name);
        let disk = folder.join("disk");
        fs::create_dir_all(&disk).map_err(|error| format!("cannot create {}: {error}", disk.display()))?;
        let arguments = kind.arguments(parent, &disk)?;
        Ok(Self { program, folder, arguments, started: Vec::new() })
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The program with these arguments, the trial's store and default signal handling.
    fn command<T: AsRef<std::ffi::OsStr>>(&self, arguments: &[T]) -> Command {
        let mut command = Command::new("env");
        command.args(["-i", "--default-signal=INT,TERM,HUP"]);
        command.arg(format!("PATH={}:/usr/bin:/bin", self.program.with_file_name(TOOLS).display()));
        command.arg(format!("ASSAY_STORE={}", self.folder.join("store").display()));
        command.arg(self.program).args(arguments).stdin(Stdio::null());
        command
    }

    fn run(&self) -> Command {
        let words: Vec<&str> = ["run"].into_iter().chain(self.arguments.iter().map(String::as_str)).collect();
        self.command(&words)
    }

    fn output(&mut self, mut command: Command) -> Result<Output, String> {
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn().map_err(|error| format!("cannot start the program: {error}"))?;
        self.started.push(child.id());
        child.wait_with_output().map_err(|error| error.to_string())
    }

    fn succeeded(&mut self, what: &str, command: Command) -> Result<(), String> {
        let output = self.output(command)?;
        if output.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&output.stderr);
        Err(format!("{what} ended with {}: {}", output.status, said.trim().replace('\n', " ")))
    }

    /// Measures everything; the folder of the run and its time.
    pub(super) fn complete(&mut self) -> Result<(PathBuf, Duration), String> {
        let began = Instant::now();
        self.succeeded("a run", self.run())?;
        let folder = self.runs().pop().ok_or("a run left no folder")?;
        Ok((folder, began.elapsed()))
    }

    fn started_before(&mut self, moment: Duration) -> Result<Child, String> {
        let mut command = self.run();
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let child = child.map_err(|error| format!("cannot start the program: {error}"))?;
        self.started.push(child.id());
        let exe = PathBuf::from(format!("/proc/{}/exe", child.id()));
        // Until then `env` may ignore signals.
        let is_ours = || fs::read_link(&exe).is_ok_and(|exe| exe == self.program).then_some(());
        wait_for(STARTS_WITHIN, Duration::ZERO, is_ours).ok_or("the program did not start")?;
        std::thread::sleep(moment);
        Ok(child)
    }

    /// Kills a run, and checks what it left, before and after the next start.
    pub(super) fn kill(&mut self, moment: Duration, resume: bool, seen: &mut Seen) -> Result<Ended, String> {
        let mut run = self.started_before(moment)?;
        run.kill().map_err(|error| format!("cannot kill the run: {error}"))?;
        let status = run.wait().map_err(|error| error.to_string())?;
        if status.signal() != Some(9) {
            return Ok(Ended::TooEarly);
        }
        Ok(self.after_a_kill(resume, seen).into())
    }

    fn after_a_kill(&mut self, resume: bool, seen: &mut Seen) -> Result<(), String> {
        self.none_left("worker 2 s after the kill", true)?;
        let killed = self.runs();
        for folder in killed.iter().filter(|folder| resume && folder.join("run.json").exists()) {
            self.resume(folder)?;
            seen.resumed += 1;
        }
        for folder in &killed {
            // Without a document only its age distinguishes an abandoned folder from a new one.
            let changed = fs::File::open(folder).and_then(|folder| folder.set_modified(SystemTime::now() - OLD));
            changed.map_err(|error| format!("{}: {error}", folder.display()))?;
        }
        let mut next = self.run();
        next.args(["--time-budget", "1ms", "--quiet"]);
        self.succeeded("the next run", next)?;
        self.none_left("process after the next start", false)?;
        self.directory_is_empty()?;
        let stored = self.stored()?;
        let kept = killed.iter().filter(|folder| stored.contains(folder)).count();
        seen.stored += kept;
        seen.removed += killed.len() - kept;
        Ok(())
    }

    fn resume(&mut self, folder: &Path) -> Result<(), String> {
        if !is_complete(folder) {
            let mut command = self.command(&["run", "--resume"]);
            command.arg(folder);
            self.succeeded("a resumed run", command)?;
        }
        if is_complete(folder) { Ok(()) } else { Err("a resumed run is not complete".to_owned()) }
    }

    /// Sends a signal to a run, and checks its status and what it left.
    pub(super) fn signal(&mut self, moment: Duration, name: &str, number: i32) -> Result<Ended, String> {
        let mut run = self.started_before(moment)?;
        let mut kill = Command::new("kill");
        let sent = kill.args(["-s", name, &run.id().to_string()]).stderr(Stdio::null()).status();
        let sent_at = Instant::now();
        sent.map_err(|error| format!("cannot start kill: {error}"))?;
        let Some(status) = wait_for(ENDS_WITHIN, POLL, || run.try_wait().ok().flatten()) else {
            let _ = run.kill().and_then(|()| run.wait());
            return Ok(Ended::Wrong(format!("SIG{name} did not end the run within {} s", ENDS_WITHIN.as_secs())));
        };
        if status.success() && self.runs().iter().all(|run| is_complete(run)) && sent_at.elapsed() < AT_ITS_END {
            return Ok(Ended::TooEarly);
        }
        Ok(self.after_a_signal(status, name, number).into())
    }

    fn after_a_signal(&mut self, status: ExitStatus, name: &str, number: i32) -> Result<(), String> {
        let runs = self.runs();
        // Before the program has a handler, the signal's default action ends it.
        let by_default = status.signal() == Some(number) && runs.is_empty();
        if status.code() != Some(128 + number) && !by_default {
            return Err(format!("after SIG{name} the run ended with {status}, {} folders", runs.len()));
        }
        self.none_left("process 2 s after the signal", false)?;
        self.directory_is_empty()?;
        let stored = self.stored()?;
        if stored.len() < runs.len() {
            return Err("a folder without a document".to_owned());
        }
        stored.iter().try_for_each(|folder| has_finished_results(folder))
    }

    fn runs(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.folder.join("store/runs")).into_iter().flatten().flatten();
        let mut runs: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
        runs.sort();
        runs
    }

    /// The folders of runs, which must all load and be listed, without a file that was not written whole.
    fn stored(&mut self) -> Result<Vec<PathBuf>, String> {
        let listed = self.output(self.command(&["runs"]))?;
        let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
        let runs = self.runs();
        for folder in &runs {
            let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let inside = names_below(folder);
            if !listed.lines().any(|line| line.starts_with(&name)) {
                return Err(format!("a folder that is not listed, with {inside:?}"));
            }
            if let Some(file) = inside.iter().find(|name| name.ends_with(".unfinished")) {
                return Err(format!("{file} in the folder of a run"));
            }
            self.succeeded("assay show", self.command(&["show", &folder.display().to_string()]))?;
        }
        Ok(runs)
    }

    fn directory_is_empty(&self) -> Result<(), String> {
        match names_below(&self.folder.join("disk")).pop() {
            Some(name) => Err(format!("{name} in the measured directory")),
            None => Ok(()),
        }
    }

    /// Fails if a process of a run or of its tools is still alive; only those of the program itself with `only_own`.
    fn none_left(&self, what: &str, only_own: bool) -> Result<(), String> {
        let mut left = Vec::new();
        let none = wait_for(GONE, POLL * 10, || {
            left = processes().filter(|process| self.owns(*process, only_own)).collect();
            left.is_empty().then_some(())
        });
        let shown = |process: &u32| format!("{process} ({})", words_of(*process, "cmdline").join(" ").trim());
        none.ok_or_else(|| format!("{what}: {}", left.iter().map(shown).collect::<Vec<_>>().join(", ")))
    }

    fn owns(&self, process: u32, only_own: bool) -> bool {
        let is_program = fs::read_link(format!("/proc/{process}/exe")).is_ok_and(|exe| exe == self.program);
        if only_own || is_program {
            return is_program;
        }
        let parent = self.program.parent().unwrap_or(self.program).display().to_string();
        let folders = self.started.iter().map(|run| format!("{TOOL_FOLDER}{run}-"));
        let marks: Vec<String> = folders.chain([parent]).collect();
        let words = words_of(process, "cmdline").into_iter().chain(words_of(process, "environ"));
        words.into_iter().any(|word| marks.iter().any(|mark| word.contains(mark.as_str())))
    }
}

/// Polls until there is a value, or the time has passed.
fn wait_for<T>(time: Duration, poll: Duration, mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let began = Instant::now();
    loop {
        if let Some(found) = look() {
            return Some(found);
        }
        if began.elapsed() > time {
            return None;
        }
        std::thread::sleep(poll);
    }
}

fn names_below(folder: &Path) -> Vec<String> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        names.push(entry.file_name().to_string_lossy().into_owned());
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            names.extend(names_below(&entry.path()));
        }
    }
    names
}

fn document(folder: &Path) -> Value {
    let bytes = fs::read(folder.join("run.json")).unwrap_or_default();
    serde_json::from_slice(&bytes).unwrap_or_default()
}

fn is_complete(folder: &Path) -> bool {
    document(folder)["run"]["complete"] == true
}

/// Fails if the journal has a finished process run of a benchmark that has no result in the document.
fn has_finished_results(folder: &Path) -> Result<(), String> {
    let journal = fs::read_to_string(folder.join("journal.jsonl")).unwrap_or_default();
    let entries = journal.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let done = entries.filter(|entry| entry["kind"] == "launched" && !entry["outcome"]["done"].is_null());
    let ids: BTreeSet<String> = done.filter_map(|entry| entry["id"].as_str().map(str::to_owned)).collect();
    let document = document(folder);
    let results: Vec<&str> = document["experiments"].as_array().into_iter().flatten().filter_map(with_result).collect();
    match ids.iter().find(|id| !results.contains(&id.as_str())) {
        Some(id) => Err(format!("the result of {id} is not stored")),
        None => Ok(()),
    }
}

/// The id of a benchmark with a result.
fn with_result(benchmark: &Value) -> Option<&str> {
    let has_result = benchmark["status"] == "ok";
    benchmark["id"].as_str().filter(|_| has_result)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn smoke_a_result_of_the_journal_must_be_in_the_document() {
        let folder = std::env::temp_dir().join(format!("assay-lab-kills-test-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let journal = "{\"kind\":\"launched\",\"id\":\"a\",\"outcome\":{\"done\":{}}}\n\
                       {\"kind\":\"launched\",\"id\":\"b\",\"outcome\":\"interrupted\"}\n{\"kind\":\"laun";
        fs::write(folder.join("journal.jsonl"), journal).unwrap();
        for (status, holds) in [("ok", true), ("skipped", false)] {
            let document = format!("{{\"experiments\":[{{\"id\":\"a\",\"status\":\"{status}\"}}]}}");
            fs::write(folder.join("run.json"), document).unwrap();
            assert_eq!(has_finished_results(&folder).is_ok(), holds, "{status}");
        }
        assert_eq!(names_below(&folder).len(), 2);
        fs::remove_dir_all(&folder).unwrap();
    }
}
