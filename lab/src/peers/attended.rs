//! Waiting for a program while we may be told to stop.
//!
//! A terminal sends Ctrl-C to the program too, but whoever ends us alone (`kill`, a supervisor) leaves it running, and
//! with it what we made for it: loops that keep CPUs awake, a mounted loop device. So the program is told to end, and we
//! end after it, when what was made is gone.

use std::process::Command;
use std::time::Duration;

use xtask::process::{announce, end_with_children};

/// Pause between two looks. Our waking is noise on the machine that is measured, and nobody waits for a quarter of a second.
const LOOK: Duration = Duration::from_millis(250);

/// Runs a program to its end, or ends it with all that it has started once `stopped` names a signal.
///
/// How it ended is not told: what it leaves behind is looked at.
///
/// # Errors
/// One sentence: it could not be started, or we were told to stop.
pub(super) fn attend(command: &mut Command, stopped: impl Fn() -> Option<i32>) -> Result<(), String> {
    let told = || stopped().map_or(Ok(()), |signal| Err(format!("stopped by signal {signal}")));
    // Told between two steps, it would be started only to be ended.
    told()?;
    announce(command);
    let mut child =
        command.spawn().map_err(|error| format!("cannot start {}: {error}", command.get_program().display()))?;
    while let Ok(None) = child.try_wait() {
        if stopped().is_some() {
            end_with_children(&mut child);
            break;
        }
        std::thread::sleep(LOOK);
    }
    // A signal that ended the program first is one that we were sent too.
    told()
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::time::Instant;

    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn what_ends_by_itself_is_waited_for_however_it_ends() {
        for script in ["sleep 0.3", "exit 3"] {
            assert_eq!(attend(&mut shell(script), || None), Ok(()), "{script}");
        }
        let reason = attend(&mut Command::new("/no/such/program"), || None).unwrap_err();
        assert!(reason.starts_with("cannot start /no/such/program: "), "{reason}");
    }

    #[test]
    fn what_runs_when_we_are_told_to_stop_is_ended_with_what_it_has_started() {
        let looks = Cell::new(0);
        let at_the_third_look = || {
            looks.set(looks.get() + 1);
            (looks.get() > 2).then_some(15)
        };
        let began = Instant::now();
        let ended = attend(&mut shell("sleep 300 & wait"), at_the_third_look);
        assert_eq!(ended, Err("stopped by signal 15".to_owned()));
        assert!(began.elapsed() < Duration::from_mins(1), "it was waited for");
    }

    #[test]
    fn nothing_is_started_once_we_are_told_to_stop() {
        let never = attend(&mut Command::new("/no/such/program"), || Some(2));
        assert_eq!(never, Err("stopped by signal 2".to_owned()));
    }
}
