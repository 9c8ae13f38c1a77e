//! The child process of an attempt.

use std::fs::{File, OpenOptions};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use sys::clock::monotonic_raw_seconds;
use sys::process::signal_name;

use super::context::{NodeContext, ProcessEnd};
use crate::claims::lease::Lease;
use crate::error::{Error, Result, cannot_write};
use crate::folder::tail;

/// How often a child process is polled: each wake-up costs the measured CPUs some microseconds.
pub(super) const POLL_INTERVAL: Duration = Duration::from_millis(200);
/// Seconds between SIGTERM and SIGKILL, in which a run stores its finished samples.
const GRACE_SECONDS: f64 = 10.0;
pub(crate) const STDERR: &str = "stderr.txt";

pub(crate) fn append_to(work: &Path, name: &str) -> Result<File> {
    let path = work.join(name);
    OpenOptions::new().create(true).append(true).open(&path).map_err(cannot_write(&path))
}

/// Starts the plan's program in its own process group, and waits until it ends or has to be ended.
pub(crate) fn wait_out(
    mut command: Command,
    context: &NodeContext<'_>,
    lease: &Lease,
    most_seconds: f64,
) -> Result<ProcessEnd> {
    let spawned = command.process_group(0).stdin(Stdio::null()).spawn();
    let program = || command.get_program().to_string_lossy().into_owned();
    let mut child = spawned.map_err(|error| Error::StartProgram(program(), error))?;
    let began = monotonic_raw_seconds();
    loop {
        if let Some(status) = child.try_wait().map_err(Error::ChildLost)? {
            return Ok(ProcessEnd::Exited(status));
        }
        let (ended, grace) = if !lease.is_ours() {
            (ProcessEnd::LeaseLost, 0.0)
        } else if context.is_over() {
            (ProcessEnd::Stopped, GRACE_SECONDS)
        } else if monotonic_raw_seconds() - began > most_seconds {
            (ProcessEnd::TimedOut, GRACE_SECONDS)
        } else {
            std::thread::sleep(POLL_INTERVAL);
            continue;
        };
        end(&mut child, grace);
        return Ok(ended);
    }
}

pub(crate) fn end(child: &mut Child, grace_seconds: f64) {
    let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let signal = |signal| group.map(|group| kill_process_group(group, signal));
    let began = monotonic_raw_seconds();
    if grace_seconds > 0.0 {
        signal(Signal::TERM);
    }
    while monotonic_raw_seconds() - began < grace_seconds && matches!(child.try_wait(), Ok(None)) {
        std::thread::sleep(Duration::from_millis(20));
    }
    // Before `wait` the process number is not reused.
    if matches!(child.try_wait(), Ok(None)) {
        signal(Signal::KILL);
        let _ = child.wait();
    }
}

pub(crate) fn last_words(work: &Path) -> String {
    let tail = tail(&work.join(STDERR)).unwrap_or_default();
    let last = tail.lines().rev().map(str::trim).find(|line| !line.is_empty());
    last.map_or_else(|| "the program printed nothing".to_owned(), |line| format!("the program printed: {line}"))
}

pub(super) fn ending(status: ExitStatus) -> String {
    status.signal().map_or_else(|| status.to_string(), |signal| format!("ended by {}", signal_name(signal)))
}
