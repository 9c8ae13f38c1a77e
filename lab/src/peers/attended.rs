//! Comparisons that a signal may stop: waits for the program, and keeps CPUs from going idle.

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use xtask::process::{announce, end_with_children, is_there};
use xtask::shell::Shell;

/// Pause between two checks; each wake-up is noise on the machine under test.
const PAUSE: Duration = Duration::from_millis(250);

/// Runs a program until it ends, or ends it and its children once `stop_signal` returns a signal. Its exit status does not
/// matter: the caller reads what it wrote.
///
/// `kill` reaches only this process, so the program is ended here: what it uses (a mounted loop device) is removed afterwards.
pub(super) fn attend(command: &mut Command, stop_signal: impl Fn() -> Option<i32>) -> Result<(), String> {
    let check_signal = || stop_signal().map_or(Ok(()), |signal| Err(format!("stopped by signal {signal}")));
    check_signal()?;
    announce(command);
    let mut child =
        command.spawn().map_err(|error| format!("cannot start {}: {error}", command.get_program().display()))?;
    while let Ok(None) = child.try_wait() {
        if stop_signal().is_some() {
            end_with_children(&mut child);
            break;
        }
        std::thread::sleep(PAUSE);
    }
    // A signal may have ended the program before it was seen here.
    check_signal()
}

/// A loop of the idle class (`SCHED_IDLE`) on each CPU, until it is dropped: no CPU sleeps, and any other program runs at once.
///
/// At queue depth 1 the CPU sleeps between requests. In a virtual machine its wake-up costs as much as the request.
#[derive(Debug)]
pub(super) struct Awake(Vec<Child>);

impl Awake {
    pub(super) fn start(shell: &Shell) -> Result<Self, String> {
        if !["chrt", "taskset"].iter().all(|program| is_there(&mut shell.command(program, &["--version"]))) {
            return Err("--awake needs chrt and taskset (as root on Debian: apt-get install util-linux)".to_owned());
        }
        let cpus = std::thread::available_parallelism().map_err(|error| format!("the CPUs: {error}"))?;
        let mut awake = Self(Vec::new());
        for cpu in (0..cpus.get()).map(|cpu| cpu.to_string()) {
            // `chrt` and `taskset` exec the shell, so killing the process ends the loop.
            let mut spin = Command::new("chrt");
            spin.args(["--idle", "0", "taskset", "--cpu-list", &cpu, "sh", "-c", "while :; do :; done"]);
            spin.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            awake.0.push(spin.spawn().map_err(|error| format!("a loop on CPU {cpu}: {error}"))?);
        }
        Ok(awake)
    }
}

impl Drop for Awake {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
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
    fn a_program_is_waited_for_with_any_exit_status() {
        for script in ["sleep 0.3", "exit 3"] {
            assert_eq!(attend(&mut shell(script), || None), Ok(()), "{script}");
        }
        let reason = attend(&mut Command::new("/no/such/program"), || None).unwrap_err();
        assert!(reason.starts_with("cannot start /no/such/program: "), "{reason}");
    }

    #[test]
    fn a_signal_ends_the_program_with_its_children_and_starts_no_other() {
        let checks = Cell::new(0);
        let at_the_third_check = || {
            checks.set(checks.get() + 1);
            (checks.get() > 2).then_some(15)
        };
        let start = Instant::now();
        let ended = attend(&mut shell("sleep 300 & wait"), at_the_third_check);
        assert_eq!(ended, Err("stopped by signal 15".to_owned()));
        assert!(start.elapsed() < Duration::from_mins(1), "it was waited for");
        let never = attend(&mut Command::new("/no/such/program"), || Some(2));
        assert_eq!(never, Err("stopped by signal 2".to_owned()));
    }
}
