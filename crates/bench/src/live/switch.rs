//! Switching between two settings of a machine by the user's own commands, and back, whatever happens in between.

use std::io::Read;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use sys::clock::monotonic_raw_seconds;
use sys::process::stop_signal;

use crate::references::run::end_group;

/// Seconds that a switch command may take: settings of a kernel take milliseconds, a service that is restarted seconds.
pub const SWITCH_SECONDS: f64 = 30.0;

/// How often we look whether a command has ended. Nothing is measured meanwhile.
const LOOK: Duration = Duration::from_millis(5);

/// What of a command's complaints is kept, in bytes.
const KEPT_BYTES: u64 = 4096;

/// How long we listen for the complaints of a command that has ended: something it left running may keep them open.
const LISTEN: Duration = Duration::from_millis(200);

/// The commands that switch to either side, and which side the machine is on.
#[derive(Debug)]
pub(super) struct Switches {
    commands: [Option<String>; 2],
    /// The side that was switched to last; `None` before the first.
    at: Option<usize>,
    /// Whether something was tried that must be undone at the end.
    touched: bool,
    patience_seconds: f64,
}

impl Switches {
    pub(super) fn new(commands: [Option<String>; 2]) -> Self {
        Self { commands, at: None, touched: false, patience_seconds: SWITCH_SECONDS }
    }

    /// Switches to a side, if the machine is not on it.
    ///
    /// # Errors
    /// One sentence: the command failed, hung, or could not be started.
    pub(super) fn to(&mut self, side: usize) -> Result<(), String> {
        if self.at == Some(side) {
            return Ok(());
        }
        if let Some(command) = &self.commands[side] {
            // A command that fails may have done half of its work: the machine is then on neither side.
            (self.touched, self.at) = (true, None);
            carry_out(command, self.patience_seconds, true)
                .map_err(|reason| format!("the command that switches to {} ('{command}') {reason}", name(side)))?;
        }
        self.at = Some(side);
        Ok(())
    }

    /// Leaves the machine on side A, where there is a command for it and anything was switched.
    ///
    /// # Errors
    /// One sentence: it could not be done, and what is left to do by hand.
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
        // On every way out; where it matters that it failed, `restore` was called before.
        let _ = self.restore();
    }
}

/// A side as people call it.
pub(super) const fn name(side: usize) -> &'static str {
    if side == 0 { "A" } else { "B" }
}

/// Runs a command of the shell; what it leaves running behind it stays.
fn carry_out(command: &str, patience_seconds: f64, heed_signals: bool) -> Result<(), String> {
    let mut child = Command::new("sh")
        .args(["-c", command])
        // A Ctrl-C in the terminal is for us: we then switch back.
        .process_group(0)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| format!("could not be started: {error}"))?;
    let complaints = listen(&mut child);
    let status = wait(&mut child, patience_seconds, heed_signals)?;
    if status.success() {
        return Ok(());
    }
    let said = complaints.recv_timeout(LISTEN).unwrap_or_default();
    let said = said.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("it said nothing").trim().to_owned();
    Err(format!("failed ({status}): {said}"))
}

/// Its standard error, cut to what is kept; the rest is read and forgotten, so that nothing that goes on is held up.
fn listen(child: &mut Child) -> Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    if let Some(mut stderr) = child.stderr.take() {
        std::thread::spawn(move || {
            let mut kept = Vec::new();
            let _ = stderr.by_ref().take(KEPT_BYTES).read_to_end(&mut kept);
            let heard = sender.send(String::from_utf8_lossy(&kept).into_owned());
            let _ = std::io::copy(&mut stderr, &mut std::io::sink());
            heard
        });
    }
    receiver
}

fn wait(child: &mut Child, patience_seconds: f64, heed_signals: bool) -> Result<ExitStatus, String> {
    let began = monotonic_raw_seconds();
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Ok(status),
            Ok(None) => {}
            Err(error) => return Err(format!("is lost: {error}")),
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

    /// Switches that write their side into a file, and a way to read it.
    fn writing(scratch: &std::path::Path) -> (Switches, impl Fn() -> String + use<>) {
        let file = scratch.join("side");
        let command = |side: &str| Some(format!("printf {side} >> '{}'", file.display()));
        let switches = Switches::new([command("A"), command("B")]);
        (switches, move || std::fs::read_to_string(&file).unwrap_or_default())
    }

    #[test]
    fn only_a_change_of_sides_is_a_switch_and_the_end_is_side_a() {
        let scratch = scratch();
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
    fn what_was_never_touched_is_not_restored() {
        let scratch = scratch();
        let (switches, sides) = writing(scratch.path());
        drop(switches);
        assert_eq!(sides(), "");
    }

    #[test]
    fn a_command_that_fails_is_told_of_and_the_other_side_restored() {
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
