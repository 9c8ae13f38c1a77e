//! One process run: a worker is started, read, and ended if it hangs or the run stops. Every outcome is a value.

use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::Duration;

use model::json::FromJson;
use model::wire::{Ends, Message, Role, Task};
use sys::clock::monotonic_raw_seconds;
use sys::process;

use crate::evidence::{Outcome, Repetition};
use crate::references::run::complaints;

/// Poll interval for stop signals; waking up costs the measured CPUs microseconds.
const LOOK_AROUND: Duration = Duration::from_millis(100);
const LISTENING_SECONDS: f64 = 10.0;
/// Seconds for the client to report that the server failed.
const OTHER_END_SECONDS: f64 = 1.0;
/// Timeout of a killed worker. One that waits for a hanging device cannot be killed, and is not waited for.
const KILLED_SECONDS: f64 = 3.0;
const KILLED_LAST_SECONDS: f64 = 0.25;
const SIGNALS_APART_SECONDS: f64 = 0.5;
const LOOK_AT_KILLED: Duration = Duration::from_millis(2);

#[derive(Clone, Debug)]
pub struct WorkerCommand {
    pub program: PathBuf,
    pub arguments: Vec<OsString>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Patience {
    pub(super) silent: f64,
    pub(super) ends_at: Option<f64>,
}

/// Outcome of a process run, and its preparation in seconds, which happens only once.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Heard {
    pub(super) outcome: Outcome,
    pub(super) preparing_seconds: f64,
}

/// Carries out a task in a worker; `on_sample` receives each sample as it arrives.
pub(super) fn launch(
    command: &WorkerCommand,
    task: &Task,
    patience: Patience,
    on_sample: &mut dyn FnMut(Repetition),
) -> Heard {
    let began = monotonic_raw_seconds();
    let start = || {
        let server = server(command, task)?;
        let mut task = task.clone();
        if let (Some(ends), Some((_, address))) = (&mut task.ends, &server) {
            ends.address = Some(address.clone());
        }
        let mut worker = Worker::start(command, &task).map_err(Outcome::Failed)?;
        worker.other = server.map(|(server, _)| Box::new(server));
        Ok(worker)
    };
    let mut worker = match start() {
        Ok(worker) => worker,
        Err(outcome) => return Heard { outcome, preparing_seconds: 0.0 },
    };
    let outcome = worker.listen(patience, on_sample);
    let preparing_seconds = worker.prepared_until.map_or(0.0, |until| until - began);
    Heard { outcome: worker.end(outcome), preparing_seconds }
}

/// Starts the server of a benchmark between two local processes; returns its address.
fn server(command: &WorkerCommand, task: &Task) -> Result<Option<(Worker, String)>, Outcome> {
    let Some(ends) = task.ends.as_ref().filter(|ends| ends.address.is_none()) else { return Ok(None) };
    let of_far = Task {
        cpus: ends.other_cpus.clone(),
        ends: Some(Ends { role: Role::Peer, other_cpus: task.cpus.clone(), ..ends.clone() }),
        ..task.clone()
    };
    let mut far = Worker::start(command, &of_far).map_err(|reason| Outcome::Failed(of_the_other(&reason)))?;
    far.address().map(|address| Some((far, address)))
}

fn of_the_other(reason: &str) -> String {
    format!("the server: {reason}")
}

fn lines(child: &mut Child) -> io::Result<Receiver<String>> {
    let (sender, lines) = mpsc::channel();
    if let Some(stdout) = child.stdout.take() {
        std::thread::Builder::new().spawn(move || {
            BufReader::new(stdout).lines().map_while(Result::ok).try_for_each(|line| sender.send(line))
        })?;
    }
    Ok(lines)
}

struct Worker {
    child: Child,
    lines: Receiver<String>,
    complaints: Receiver<String>,
    other: Option<Box<Worker>>,
    /// Its error or how it ended, and when that was noticed.
    word_of_the_other: Option<(String, f64)>,
    prepared_until: Option<f64>,
    is_last: bool,
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let gone = |child: &mut Child| !matches!(child.try_wait(), Ok(None));
        let began = monotonic_raw_seconds();
        let at_most = if self.is_last { KILLED_LAST_SECONDS } else { KILLED_SECONDS };
        while !gone(&mut self.child) && monotonic_raw_seconds() - began < at_most {
            std::thread::sleep(LOOK_AT_KILLED);
        }
    }
}

impl Worker {
    fn start(command: &WorkerCommand, task: &Task) -> Result<Self, String> {
        let text = serde_json::to_string(task).map_err(|error| format!("cannot write the worker's task: {error}"))?;
        let mut child = Command::new(&command.program)
            .args(&command.arguments)
            // The user's environment must not affect a worker.
            .env_clear()
            // Ctrl-C in the terminal is for the runner, which ends its worker.
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| format!("cannot start a worker process ('{}'): {error}", command.program.display()))?;
        let heard = lines(&mut child).and_then(|lines| Ok((lines, complaints(&mut child)?)));
        let (lines, complaints) = heard.map_err(|error| {
            let _ = child.kill().and_then(|()| child.wait());
            format!("cannot start a thread that reads from a worker process: {error}")
        })?;
        if let Some(mut stdin) = child.stdin.take() {
            // The exit status shows a worker that is gone already.
            let _ = writeln!(stdin, "{text}");
        }
        let (word_of_the_other, prepared_until) = (None, None);
        Ok(Self { child, lines, complaints, other: None, word_of_the_other, prepared_until, is_last: false })
    }

    /// The next message, if one arrives soon; fails with the outcome, or `None` if the worker ended.
    fn next(&self) -> Result<Option<Message>, Option<Outcome>> {
        if process::stop_signal().is_some() {
            return Err(Some(Outcome::Interrupted));
        }
        match self.lines.recv_timeout(LOOK_AROUND) {
            Ok(line) => Message::from_json(line.as_bytes())
                .map(Some)
                .map_err(|error| Some(Outcome::Failed(format!("the worker process sent an invalid message: {error}")))),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => Err(None),
        }
    }

    /// Reads messages until the last one; `None` if the worker ended without it.
    fn listen(&mut self, patience: Patience, on_sample: &mut dyn FnMut(Repetition)) -> Option<Outcome> {
        let mut last_word = monotonic_raw_seconds();
        let silent = patience.silent;
        loop {
            if patience.ends_at.is_some_and(|end| monotonic_raw_seconds() >= end) {
                self.is_last = true;
                return Some(Outcome::OutOfTime);
            }
            let message = match self.next() {
                Ok(Some(message)) => message,
                Ok(None) if monotonic_raw_seconds() - last_word > silent => {
                    let reason = format!("the worker process hung: it sent nothing for {silent:.0} s");
                    return Some(Outcome::Failed(reason));
                }
                // The client waits long for a failed server, so it is watched from here.
                Ok(None) => match self.without_the_other() {
                    Some(outcome) => return Some(outcome),
                    None => continue,
                },
                Err(ended) => return ended,
            };
            last_word = monotonic_raw_seconds();
            match message {
                Message::Preparing { .. } => self.prepared_until = Some(last_word),
                Message::Ready | Message::Working | Message::Listening { .. } => {}
                Message::Sample { metrics, histogram } => on_sample(Repetition { metrics, histogram }),
                Message::Done { observations } => return Some(Outcome::Done(observations)),
                Message::Unavailable { reason } => return Some(Outcome::Unavailable(reason)),
                Message::Failed { reason } => return Some(Outcome::Failed(reason)),
            }
        }
    }

    /// Waits for the process; without a last message, its exit status is the outcome.
    fn end(mut self, outcome: Option<Outcome>) -> Outcome {
        match outcome {
            Some(Outcome::Failed(reason)) => return Outcome::Failed(self.with_word_of_the_other(reason)),
            Some(Outcome::Done(observations)) => {
                let _ = self.child.wait();
                return Outcome::Done(observations);
            }
            Some(other) => return other,
            None => {}
        }
        if self.child.wait().is_ok_and(is_for_us_too) {
            return Outcome::Interrupted;
        }
        Outcome::Failed(self.how_it_ended())
    }

    fn address(&mut self) -> Result<String, Outcome> {
        let began = monotonic_raw_seconds();
        let reason = loop {
            match self.next() {
                Ok(None) if monotonic_raw_seconds() - began > LISTENING_SECONDS => {
                    break format!("it did not report its port within {LISTENING_SECONDS:.0} s");
                }
                Ok(None) => {}
                Ok(Some(Message::Listening { address })) => return Ok(address),
                Ok(Some(Message::Failed { reason } | Message::Unavailable { reason }))
                | Err(Some(Outcome::Failed(reason))) => break reason,
                Ok(Some(_)) => break "its first message did not report its port".to_owned(),
                Err(Some(outcome)) => return Err(outcome),
                Err(None) => break self.how_it_ended(),
            }
        };
        Err(Outcome::Failed(of_the_other(&reason)))
    }

    fn how_it_ended(&mut self) -> String {
        match self.child.wait() {
            Ok(status) => describe_end(status, &self.complaint()),
            Err(error) => format!("cannot watch the worker process: {error}"),
        }
    }

    fn complaint(&self) -> String {
        self.complaints.recv_timeout(Duration::from_secs(1)).unwrap_or_default()
    }

    /// The outcome if the server failed and the client had time to report it.
    fn without_the_other(&mut self) -> Option<Outcome> {
        self.hear_the_other(Duration::ZERO);
        let (word, since) = self.word_of_the_other.as_ref()?;
        (monotonic_raw_seconds() - since > OTHER_END_SECONDS).then(|| Outcome::Failed(word.clone()))
    }

    fn with_word_of_the_other(&mut self, reason: String) -> String {
        self.hear_the_other(LOOK_AROUND);
        match &self.word_of_the_other {
            Some((word, _)) if *word != reason => format!("{reason}; {word}"),
            _ => reason,
        }
    }

    fn hear_the_other(&mut self, at_most: Duration) {
        let Some(other) = self.other.as_mut().filter(|_| self.word_of_the_other.is_none()) else { return };
        let began = monotonic_raw_seconds();
        let said = other.lines.recv_timeout(at_most).ok().map(|line| Message::from_json(line.as_bytes()));
        let mut ended = other.child.try_wait();
        // A killed process closes its pipes before it can be reaped.
        while said.is_none() && matches!(ended, Ok(None)) && monotonic_raw_seconds() - began < at_most.as_secs_f64() {
            std::thread::sleep(LOOK_AT_KILLED);
            ended = other.child.try_wait();
        }
        let word = match (said, ended) {
            (Some(Ok(Message::Failed { reason } | Message::Unavailable { reason })), _) => of_the_other(&reason),
            (_, Ok(Some(status))) if !status.success() => format!("on the server, {}", describe_end(status, "")),
            _ => return,
        };
        self.word_of_the_other = Some((word, monotonic_raw_seconds()));
    }
}

/// Whether a worker's signal reached us, too: service managers signal all processes, in any order.
fn is_for_us_too(status: ExitStatus) -> bool {
    if !status.signal().is_some_and(process::stops) {
        return false;
    }
    let until = monotonic_raw_seconds() + SIGNALS_APART_SECONDS;
    while process::stop_signal().is_none() && monotonic_raw_seconds() < until {
        std::thread::sleep(LOOK_AT_KILLED);
    }
    process::stop_signal().is_some()
}

fn describe_end(status: ExitStatus, complaint: &str) -> String {
    let last =
        complaint.lines().rev().find(|line| !line.trim().is_empty()).map_or(String::new(), |line| format!(": {line}"));
    match status.signal() {
        Some(signal) => format!("the worker process was ended by {}{last}", process::signal_name(signal)),
        None => format!("the worker process exited with status {}{last}", status.code().unwrap_or(-1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::task;

    fn mock(script: &str, silent: f64) -> (Outcome, usize) {
        let (heard, samples) = heard(script, Patience { silent, ends_at: None });
        (heard.outcome, samples)
    }

    fn heard(script: &str, patience: Patience) -> (Heard, usize) {
        let command = WorkerCommand { program: "/bin/sh".into(), arguments: vec!["-c".into(), script.into()] };
        let mut samples = 0;
        let heard = launch(&command, &task(), patience, &mut |_| samples += 1);
        (heard, samples)
    }

    #[test]
    fn a_worker_is_ended_when_the_time_of_the_run_is_over_and_what_it_had_is_kept() {
        let began = monotonic_raw_seconds();
        let patience = Patience { silent: 60.0, ends_at: Some(began + 1.0) };
        let script = r#"read task; echo '{"kind":"sample","metrics":[]}'; while :; do echo '{"kind":"working"}'; sleep 0.1; done"#;
        let (heard, samples) = heard(script, patience);
        assert_eq!((heard.outcome, samples), (Outcome::OutOfTime, 1));
        assert!((1.0..20.0).contains(&(monotonic_raw_seconds() - began)));
    }

    #[test]
    fn what_a_worker_says_is_heard_and_its_preparation_distinguished() {
        let script = r#"echo '{"kind":"ready"}'; echo '{"kind":"sample","metrics":[]}'; echo '{"kind":"done","observations":{"cpu_seconds":2}}'"#;
        let preparing = r#"sleep 0.3; echo '{"kind":"preparing","done":1.0}'"#;
        for (before, least) in [("true", 0.0), (preparing, 0.3)] {
            let patience = Patience { silent: 20.0, ends_at: None };
            let (Heard { outcome, preparing_seconds }, samples) =
                heard(&format!("read task; {before}; {script}"), patience);
            let Outcome::Done(observations) = outcome else { panic!("{outcome:?}") };
            assert!((observations.cpu_seconds - 2.0).abs() < f64::EPSILON && samples == 1);
            assert!(preparing_seconds >= least && (preparing_seconds > 0.0) == (least > 0.0), "{preparing_seconds}");
        }
    }

    #[test]
    fn every_way_to_die_has_its_sentence() {
        let sentence = |script| match mock(script, 5.0).0 {
            Outcome::Failed(reason) => reason,
            other => panic!("{other:?}"),
        };
        assert!(sentence("kill -ILL $$").contains("SIGILL (illegal instruction)"));
        assert!(sentence("kill -BUS $$").contains("SIGBUS (bus error)"));
        assert!(sentence("kill -KILL $$").contains("out of memory"));
        assert!(sentence("echo panicked at x >&2; exit 101").contains("status 101: panicked at x"));
        assert!(sentence("echo garbage").contains("invalid message"));
    }

    /// A waiting worker process and its server, played by a shell script.
    fn without_the_other(script: &str) -> String {
        let script = format!(
            r#"read task; case "$task" in *'"role":"peer"'*) {script};; *'"address":"here"'*) exec sleep 60;; esac"#
        );
        let command = WorkerCommand { program: "/bin/sh".into(), arguments: vec!["-c".into(), script.into()] };
        let ends = Ends { role: Role::Measure, address: None, token: String::new(), other_cpus: vec![0] };
        let patience = Patience { silent: 30.0, ends_at: None };
        match launch(&command, &Task { ends: Some(ends), ..task() }, patience, &mut |_| {}).outcome {
            Outcome::Failed(reason) => reason,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn an_end_that_never_comes_is_not_waited_for() {
        let began = monotonic_raw_seconds();
        let listening = r#"echo '{"kind":"listening","address":"here"}'"#;
        let refused = r#"echo '{"kind":"failed","reason":"no way"}'"#;
        for script in [refused.to_owned(), format!("{listening}; {refused}")] {
            assert_eq!(without_the_other(&script), "the server: no way");
        }
        let killed = without_the_other(&format!("{listening}; kill -KILL $$"));
        assert!(killed.contains("on the server, the worker process was ended by SIGKILL"), "{killed}");
        assert!(without_the_other("kill -KILL $$").contains("the server: the worker process was ended by SIGKILL"));
        assert!(without_the_other("echo nonsense").contains("invalid message"));
        assert!(monotonic_raw_seconds() - began < 20.0);
    }

    #[test]
    fn a_worker_that_hangs_is_ended() {
        let (outcome, _) = mock("read task; sleep 60", 0.3);
        assert!(matches!(&outcome, Outcome::Failed(reason) if reason.contains("hung")), "{outcome:?}");
    }

    #[test]
    fn a_program_that_is_not_there_is_a_reason() {
        let command = WorkerCommand { program: "/no/such/program".into(), arguments: Vec::new() };
        let outcome = launch(&command, &task(), Patience { silent: 1.0, ends_at: None }, &mut |_| {}).outcome;
        assert!(matches!(&outcome, Outcome::Failed(reason) if reason.contains("/no/such/program")), "{outcome:?}");
    }
}
