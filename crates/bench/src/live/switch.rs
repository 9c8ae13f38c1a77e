//! Switches a machine between two settings with the user's commands, and always back.

use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use sys::clock::monotonic_raw_seconds;
use sys::process::stop_signal;
use tools::Output;

use crate::references::run::{complaints, end_group};

/// Timeout of a switch command: kernel settings take milliseconds, restarting a service seconds.
pub const SWITCH_SECONDS: f64 = 30.0;
const LOOK: Duration = Duration::from_millis(5);
/// How long to listen after a command ended: a process that it left may keep the stream open.
const LISTEN: Duration = Duration::from_millis(200);

#[derive(Debug)]
pub(super) struct Switches {
    commands: [Option<String>; 2],
    at: Option<usize>,
    touched: bool,
    patience_seconds: f64,
}

impl Switches {
    pub(super) fn new(commands: [Option<String>; 2]) -> Self {
        Self { commands, at: None, touched: false, patience_seconds: SWITCH_SECONDS }
    }

    pub(super) fn to(&mut self, side: usize) -> Result<(), String> {
        if self.at == Some(side) {
            return Ok(());
        }
        if let Some(command) = &self.commands[side] {
            // A failed command may have done half of its work.
            (self.touched, self.at) = (true, None);
            let name = ["A", "B"][side];
            carry_out(command, self.patience_seconds, true)
                .map_err(|reason| format!("the command that switches to {name} ('{command}') {reason}"))?;
        }
        self.at = Some(side);
        Ok(())
    }

    pub(super) fn restore(&mut self) -> Result<(), String> {
        if !std::mem::take(&mut self.touched) || self.at == Some(0) {
            return Ok(());
        }
        let Some(command) = &self.commands[0] else { return Ok(()) };
        self.at = Some(0);
        carry_out(command, self.patience_seconds, false)
            .map_err(|reason| format!("the machine may not be back on side A: '{command}' {reason}; run it by hand"))
    }
}

impl Drop for Switches {
    fn drop(&mut self) {
        // On every way out; `restore` reports failures where they matter.
        let _ = self.restore();
    }
}

/// Runs a shell command; processes that it leaves stay.
fn carry_out(command: &str, patience_seconds: f64, heed_signals: bool) -> Result<(), String> {
    let mut child = Command::new("sh")
        .args(["-c", command])
        // Ctrl-C in the terminal is for us: we then switch back.
        .process_group(0)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| format!("could not be started: {error}"))?;
    let complaints = complaints(&mut child).map_err(|error| {
        end_group(child.id());
        let _ = child.wait();
        format!("cannot be watched: {error}")
    })?;
    let status = wait(&mut child, patience_seconds, heed_signals)?;
    if status.success() {
        return Ok(());
    }
    let stderr = complaints.recv_timeout(LISTEN).unwrap_or_default();
    Err(format!("failed ({status}): {}", Output { stderr, ..Output::default() }.complaint()))
}

fn wait(child: &mut Child, patience_seconds: f64, heed_signals: bool) -> Result<ExitStatus, String> {
    let began = monotonic_raw_seconds();
    loop {
        if let Some(status) = child.try_wait().map_err(|error| format!("cannot be watched: {error}"))? {
            return Ok(status);
        }
        let hung = monotonic_raw_seconds() - began > patience_seconds;
        if hung || heed_signals && stop_signal().is_some() {
            end_group(child.id());
            let _ = child.wait();
            let why = if hung { "hung" } else { "was stopped" };
            return Err(format!("{why}: it had not ended after {:.0} s", monotonic_raw_seconds() - began));
        }
        std::thread::sleep(LOOK);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::scratch;

    /// Switches that append their side to a file, and its contents.
    fn writing(scratch: &std::path::Path) -> (Switches, impl Fn() -> String + use<>) {
        let file = scratch.join("side");
        let command = |side: &str| Some(format!("printf {side} >> '{}'", file.display()));
        let switches = Switches::new([command("A"), command("B")]);
        (switches, move || std::fs::read_to_string(&file).unwrap_or_default())
    }

    #[test]
    fn only_a_change_of_sides_is_a_switch_and_the_end_is_side_a() {
        let scratch = scratch();
        let (untouched, sides) = writing(scratch.path());
        drop(untouched);
        assert_eq!(sides(), "");
        let (mut switches, sides) = writing(scratch.path());
        for side in [0, 1, 1, 0, 0, 1] {
            switches.to(side).unwrap();
        }
        assert_eq!(sides(), "ABAB");
        switches.restore().unwrap();
        drop(switches);
        assert_eq!(sides(), "ABABA");
    }

    #[test]
    fn a_failed_command_is_reported_and_the_other_side_restored() {
        let scratch = scratch();
        let (mut switches, sides) = writing(scratch.path());
        switches.commands[1] = Some("echo no such knob >&2; exit 3".into());
        switches.to(0).unwrap();
        let error = switches.to(1).unwrap_err();
        assert!(error.contains("no such knob") && error.contains("switches to B"), "{error}");
        drop(switches);
        assert_eq!(sides(), "AA");
    }

    #[test]
    fn a_command_that_hangs_is_ended() {
        let mut switches = Switches::new([None, Some("sleep 60".into())]);
        switches.patience_seconds = 0.1;
        let error = switches.to(1).unwrap_err();
        assert!(error.contains("hung"), "{error}");
    }

    #[test]
    fn what_a_command_leaves_running_is_not_waited_for() {
        let mut switches = Switches::new([None, Some("sleep 5 &".into())]);
        let began = monotonic_raw_seconds();
        switches.to(1).unwrap();
        assert!(monotonic_raw_seconds() - began < 4.0);
    }
}
