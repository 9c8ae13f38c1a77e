//! Programs in their own sessions, and the end of all their descendants, also of those that began another session (`setsid`).
//!
//! While such a program runs, the kernel makes its orphaned descendants children of this process (`PR_SET_CHILD_SUBREAPER`).
//! Children of this process that are in another session are descendants of such a program: its own workers never leave its
//! session.

use std::collections::BTreeSet;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitOptions, getpid, kill_process, set_child_subreaper, setsid, waitpid};

/// Rounds in which the children of ended processes are found.
const MOST_ROUNDS: u32 = 200;
const PAUSE: Duration = Duration::from_millis(5);

static RUNNING: Mutex<Running> = Mutex::new(Running { leaders: BTreeSet::new(), others: BTreeSet::new() });

struct Running {
    /// Programs that are running or have not been waited for.
    leaders: BTreeSet<i32>,
    /// Children in other sessions that were there before.
    others: BTreeSet<i32>,
}

fn running() -> MutexGuard<'static, Running> {
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts a program as the leader of a new session. [`end_rest`] must be called when it has ended and was waited for.
pub fn start(command: &mut Command) -> io::Result<Child> {
    // SAFETY: between fork and exec the closure only makes a system call, and allocates nothing.
    unsafe { command.pre_exec(|| setsid().map(drop).map_err(io::Error::from)) };
    // Locked until the leader is noted: the end of another program must not take it for an orphan.
    let mut running = running();
    if running.leaders.is_empty() {
        let _ = set_child_subreaper(Some(getpid()));
        running.others = children_in_other_sessions().into_iter().map(|child| child.number).collect();
    }
    let started = command.spawn();
    match &started {
        Ok(child) => drop(running.leaders.insert(child.id().cast_signed())),
        Err(_) => running.stop_adopting(),
    }
    started
}

/// Kills the descendants that a program of [`start`] left, and waits for them. Those that began another session are known
/// only as no other program's, so they end with the last program of several.
pub fn end_rest(leader: u32) {
    let leader = leader.cast_signed();
    let mut running = running();
    running.leaders.remove(&leader);
    for round in 0..MOST_ROUNDS {
        let left = running.left_by(leader);
        if left.is_empty() {
            break;
        }
        if round > 0 {
            std::thread::sleep(PAUSE);
        }
        for process in left.into_iter().filter_map(Pid::from_raw) {
            let _ = kill_process(process, Signal::KILL);
            let _ = waitpid(Some(process), WaitOptions::NOHANG);
        }
    }
    running.stop_adopting();
}

impl Running {
    fn left_by(&self, leader: i32) -> Vec<i32> {
        let children = children_in_other_sessions().into_iter();
        let is_left = |child: &Relative| {
            let orphan = self.leaders.is_empty() && !self.others.contains(&child.number);
            !self.leaders.contains(&child.number) && (child.session == leader || orphan)
        };
        children.filter(is_left).map(|child| child.number).collect()
    }

    fn stop_adopting(&self) {
        if self.leaders.is_empty() {
            let _ = set_child_subreaper(None);
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
struct Relative {
    number: i32,
    parent: i32,
    session: i32,
}

impl Relative {
    /// From /proc/PID/stat: number, name in parentheses, state, parent, process group, session (`proc_pid_stat(5)`).
    fn parse(stat: &str) -> Option<Self> {
        let (before, behind_name) = stat.rsplit_once(')')?;
        let number = before.split_once('(')?.0.trim().parse().ok()?;
        let mut fields = behind_name.split_ascii_whitespace().skip(1);
        let parent = fields.next()?.parse().ok()?;
        Some(Self { number, parent, session: fields.nth(1)?.parse().ok()? })
    }
}

fn children_in_other_sessions() -> Vec<Relative> {
    // Our session is 0 where its leader is outside of our PID namespace; `getsid` of rustix panics there.
    let Some(ours) = relative(Path::new("/proc/self")) else { return Vec::new() };
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = entries.filter(|entry| entry.file_name().as_encoded_bytes().iter().all(u8::is_ascii_digit));
    let processes = numbers.filter_map(|entry| relative(&entry.path()));
    processes.filter(|process| process.parent == ours.number && process.session != ours.session).collect()
}

fn relative(process: &Path) -> Option<Relative> {
    Relative::parse(&std::fs::read_to_string(process.join("stat")).ok()?)
}

#[cfg(test)]
mod tests {
    use std::process::Stdio;

    use super::*;
    use crate::process::exists;

    #[test]
    fn a_stat_line_has_number_parent_and_session() {
        let line = "77 (a) S 1 (b) S 12 5 9 0 -1 4194560 1 2 3";
        assert_eq!(Relative::parse(line), Some(Relative { number: 77, parent: 12, session: 9 }));
        for wrong in ["", "77 (a)", "x (a) S 1 2 3", "77 (a) S 1 2", "77 (a) S 1 2 x"] {
            assert_eq!(Relative::parse(wrong), None, "{wrong:?}");
        }
    }

    // One test: the sessions of concurrent tests would end together.
    #[test]
    fn descendants_end_with_their_program_and_other_children_remain() {
        let shell = |script: &str| {
            let mut command = Command::new("sh");
            command.args(["-c", script]).stdin(Stdio::null()).stdout(Stdio::piped());
            command
        };
        let mut ours = shell("exec sleep 100").process_group(0).spawn().unwrap();
        let mut foreign = shell("exec setsid sleep 100").spawn().unwrap();
        while !children_in_other_sessions().iter().any(|child| child.number == foreign.id().cast_signed()) {
            std::thread::sleep(PAUSE);
        }
        // A child of its session, one of another session, and a grandchild of that one; each prints its number.
        let script = "sleep 100 >/dev/null & echo $!; setsid sh -c 'sleep 100 & echo $! $$; wait' & sleep 0.3";
        let mut second = start(&mut shell("exec sleep 100")).unwrap();
        let mut first = start(&mut shell(script)).unwrap();
        let (of_second, of_first) = (second.id(), first.id());
        let stdout = first.stdout.take().unwrap();
        let printed = std::thread::spawn(move || io::read_to_string(stdout));
        assert!(first.wait().unwrap().success());
        end_rest(of_first);
        assert!(exists(of_second), "the other program runs");
        second.kill().unwrap();
        second.wait().unwrap();
        end_rest(of_second);
        let printed = printed.join().unwrap().unwrap();
        let numbers: Vec<u32> = printed.split_whitespace().map(|word| word.parse().unwrap()).collect();
        assert_eq!(numbers.len(), 3, "{printed}");
        assert!(numbers.iter().all(|number| !exists(*number)), "{numbers:?}");
        for child in [&mut ours, &mut foreign] {
            assert_eq!(child.try_wait().unwrap(), None, "a child that was not started here remains");
            child.kill().unwrap();
            child.wait().unwrap();
        }
        assert!(start(&mut Command::new("/no/such/program")).is_err());
        assert!(running().leaders.is_empty());
    }
}
