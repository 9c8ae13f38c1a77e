//! Processes and signals: what stops a run, and workers that die with their parent.

pub mod code;
pub mod session;
pub mod usage;

use std::io;
use std::sync::atomic::{AtomicI32, Ordering};

use rustix::io::Errno;
use rustix::process::{Pid, Signal, set_parent_process_death_signal, test_kill_process};

/// The signal that requested a stop; 0 for none.
static STOP_SIGNAL: AtomicI32 = AtomicI32::new(0);

extern "C" fn note_signal(signal: libc::c_int) {
    // A second signal of the same kind has its default action: the user is impatient.
    STOP_SIGNAL.store(signal, Ordering::SeqCst);
    // SAFETY: `signal` is async-signal-safe, and the default action is a valid one for these signals.
    unsafe { libc::signal(signal, libc::SIG_DFL) };
}

const STOPPING: [libc::c_int; 3] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP];

/// Whether this signal requests a program to stop.
pub fn stops(signal: i32) -> bool {
    STOPPING.contains(&signal)
}

/// Installs a handler of a signal; the previous one.
fn handle(signal: libc::c_int, handler: extern "C" fn(libc::c_int)) -> libc::sighandler_t {
    // SAFETY: the handlers of this module only store to an atomic and call `signal`, which are async-signal-safe.
    unsafe { libc::signal(signal, handler as *const () as libc::sighandler_t) }
}

/// Makes SIGINT, SIGTERM and SIGHUP be noted instead of ending the process; a second one of a kind ends it. A signal
/// that was ignored when the process began (`nohup`) stays ignored.
pub fn note_stop_signals() {
    for signal in STOPPING {
        if handle(signal, note_signal) == libc::SIG_IGN {
            // SAFETY: ignoring is a valid action for these signals.
            unsafe { libc::signal(signal, libc::SIG_IGN) };
        }
    }
}

/// Makes SIGUSR1, with which a batch scheduler warns that the time limit is near, be noted like the stop signals.
pub fn note_warning_signal() {
    handle(libc::SIGUSR1, note_signal);
}

extern "C" fn do_nothing(_: libc::c_int) {}

/// Makes a write beyond the limit of file sizes (`ulimit -f`) fail with `EFBIG` instead of ending the process
/// (SIGXFSZ). The signal is handled and not ignored, since child processes would inherit that.
pub fn survive_file_size_limit() {
    handle(libc::SIGXFSZ, do_nothing);
}

/// Seconds since this process was forked, to a hundredth; `None` if the kernel does not report it.
pub fn age_seconds() -> Option<f64> {
    let began = began_ticks(&std::fs::read_to_string("/proc/self/stat").ok()?)?;
    let began_seconds = began as f64 / rustix::param::clock_ticks_per_second() as f64;
    Some((crate::clock::boot_seconds() - began_seconds).max(0.0))
}

/// The start of a process, in ticks since boot, from /proc/PID/stat (`starttime`, the 22nd field, `proc_pid_stat(5)`);
/// the second field is its name in parentheses, which may contain anything.
fn began_ticks(stat: &str) -> Option<u64> {
    let (_, behind_name) = stat.rsplit_once(')')?;
    behind_name.split_ascii_whitespace().nth(22 - 3)?.parse().ok()
}

pub fn stop_signal() -> Option<i32> {
    Some(STOP_SIGNAL.load(Ordering::SeqCst)).filter(|signal| *signal != 0)
}

/// Makes the kernel kill this process when its parent ends. Fails if that is no longer `parent`.
pub fn die_with_parent(parent: u32) -> io::Result<()> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    if std::os::unix::process::parent_id() == parent {
        Ok(())
    } else {
        Err(io::Error::other(format!("the process {parent} that started this worker is gone")))
    }
}

/// Makes the calling process the first to be killed when memory runs out, rather than the one that waits for it.
pub fn volunteer_for_the_oom_killer() {
    let _ = std::fs::write("/proc/self/oom_score_adj", "1000");
}

pub fn exists(process: u32) -> bool {
    let process = i32::try_from(process).ok().and_then(Pid::from_raw);
    process.is_some_and(|process| matches!(test_kill_process(process), Ok(()) | Err(Errno::PERM)))
}

pub fn signal_name(signal: i32) -> String {
    let known = [
        (libc::SIGILL, "SIGILL (illegal instruction)"),
        (libc::SIGBUS, "SIGBUS (bus error)"),
        (libc::SIGSEGV, "SIGSEGV (invalid memory access)"),
        (libc::SIGFPE, "SIGFPE (arithmetic error)"),
        (libc::SIGKILL, "SIGKILL (out of memory, or killed by hand)"),
        (libc::SIGABRT, "SIGABRT (aborted)"),
        (libc::SIGTERM, "SIGTERM"),
        (libc::SIGINT, "SIGINT"),
        (libc::SIGHUP, "SIGHUP"),
    ];
    known
        .iter()
        .find(|(number, _)| *number == signal)
        .map_or_else(|| format!("signal {signal}"), |(_, name)| (*name).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_exists_and_impossible_ones_do_not() {
        assert!(exists(std::process::id()));
        assert!(!exists(0));
        assert!(!exists(u32::MAX));
    }

    #[test]
    fn the_age_of_a_process_is_read_whatever_its_name() {
        let fields = "S 1 5 5 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 4711 9 9";
        for name in ["assay", "a) S 1 (b", "", "two words"] {
            assert_eq!(began_ticks(&format!("77 ({name}) {fields}")), Some(4711), "{name}");
        }
        for wrong in ["", "77 (assay)", "77 assay S 1 2", "77 (assay) S 1 5 5 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 x"]
        {
            assert_eq!(began_ticks(wrong), None, "{wrong:?}");
        }
        let before = age_seconds().unwrap();
        std::thread::sleep(std::time::Duration::from_millis(50));
        let after = age_seconds().unwrap();
        assert!(after - before >= 0.049, "{before} {after}");
    }

    #[test]
    fn signals_have_names() {
        assert!(signal_name(libc::SIGILL).contains("illegal instruction"));
        assert_eq!(signal_name(63), "signal 63");
    }
}
