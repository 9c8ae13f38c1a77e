//! Ending what hangs: a program and everything that has come of it, children in process groups of their own and
//! orphans too.
//!
//! What a program starts stays in our own process group wherever it makes no other, so that Ctrl-C at a terminal ends
//! it as ever. Who belongs to whom is therefore read from /proc, from time to time, and remembered: a process whose
//! parent has ended is nobody's child any more.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// How long a process that is asked to end may take for it. The program under test needs about a second.
const ASKED: Duration = Duration::from_secs(5);

/// How long the kernel may take to end a process. One that waits for a disk that does not answer ends later or never,
/// and is left.
const TOLD: Duration = Duration::from_secs(10);

/// Pause between two looks at what is still there.
const PAUSE: Duration = Duration::from_millis(50);

/// A process that has not ended, as its `/proc/PID/stat` shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Process {
    id: u32,
    name: String,
    parent: u32,
    group: u32,
    /// When it started, in ticks since the machine did: with the number it names one process for good.
    started: u64,
}

impl Process {
    /// Reads one `stat`; `None` for what has ended and has not been buried yet.
    fn read(stat: &str) -> Option<Self> {
        // The name is in parentheses and may have any in it.
        let (front, back) = stat.rsplit_once(')')?;
        let (id, name) = front.split_once('(')?;
        let fields: Vec<&str> = back.split_whitespace().collect();
        // From the third field on: state, parent, group …; the 22nd is the start.
        let number = |field: usize| fields.get(field)?.parse().ok();
        let process = Self {
            id: id.trim().parse().ok()?,
            name: name.to_owned(),
            parent: number(1)?,
            group: number(2)?,
            started: fields.get(19)?.parse().ok()?,
        };
        (!matches!(*fields.first()?, "Z" | "X")).then_some(process)
    }

    /// Every process of this machine.
    fn all() -> Vec<Self> {
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        // Only what is named by a number: `self` and `thread-self` are ourselves under other names.
        let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        ids.filter_map(|id| Self::read(&fs::read_to_string(format!("/proc/{id}/stat")).ok()?)).collect()
    }

    /// Whether one of its descriptors is this, as the link of a descriptor names it.
    fn holds(&self, file: &Path) -> bool {
        let descriptors = fs::read_dir(format!("/proc/{}/fd", self.id)).into_iter().flatten().flatten();
        descriptors.into_iter().any(|entry| fs::read_link(entry.path()).is_ok_and(|link| link == file))
    }
}

/// A process and what has come of it, as far as it was seen.
#[derive(Debug)]
pub(crate) struct Family {
    /// Numbers and starts of the members, also of those that have ended.
    members: BTreeMap<u32, u64>,
    /// The pipe that the members write to, as the link of a descriptor names it: who else holds it is one of them.
    pipe: Option<PathBuf>,
    /// A member that is only looked through and never ended: ourselves.
    spared: Option<u32>,
}

impl Family {
    /// That of a child of ours, which writes to `pipe` if it does to one.
    pub(crate) fn of_child(id: u32, pipe: Option<PathBuf>) -> Self {
        let mut family = Self { members: BTreeMap::new(), pipe, spared: None };
        family.members.extend(Process::all().into_iter().find(|process| process.id == id).map(|own| (id, own.started)));
        family
    }

    /// Everything that has come of us, without ourselves.
    pub(crate) fn of_ours() -> Self {
        let own = std::process::id();
        Self { spared: Some(own), ..Self::of_child(own, None) }
    }

    /// Looks who belongs to it now; those that live.
    pub(crate) fn look(&mut self) -> Vec<(u32, String)> {
        let all = Process::all();
        let own = std::process::id();
        loop {
            let before = self.members.len();
            for process in all.iter().filter(|process| process.id != own) {
                if self.has(process, &all) {
                    self.members.insert(process.id, process.started);
                }
            }
            if self.members.len() == before {
                break;
            }
        }
        let living = all.into_iter().filter(|process| self.members.get(&process.id) == Some(&process.started));
        living.filter(|process| Some(process.id) != self.spared).map(|process| (process.id, process.name)).collect()
    }

    /// Whether this is a child of a member, or of the group that a member has founded.
    fn has(&self, process: &Process, all: &[Process]) -> bool {
        let is_member = |id: u32| {
            let started = all.iter().find(|other| other.id == id).map(|other| other.started);
            // A number is not given again while a group is called by it.
            self.members.get(&id).is_some_and(|known| started.is_none_or(|started| started == *known))
        };
        let founded = Some(process.group) != self.spared && is_member(process.group);
        is_member(process.parent) || founded
    }

    /// Adds who holds the pipe.
    fn look_at_pipe(&mut self) {
        let Some(pipe) = &self.pipe else { return };
        let own = std::process::id();
        let holders = Process::all().into_iter().filter(|process| process.id != own && process.holds(pipe));
        self.members.extend(holders.map(|process| (process.id, process.started)));
    }

    /// Asks all to end, then ends those that do not; the names of those that not even that has ended.
    pub(crate) fn end(&mut self) -> Vec<String> {
        for (signal, patience) in [("TERM", ASKED), ("KILL", TOLD)] {
            let start = Instant::now();
            let mut told = BTreeSet::new();
            loop {
                self.look_at_pipe();
                let living = self.look();
                if living.is_empty() {
                    return Vec::new();
                }
                let new: Vec<u32> = living.into_iter().map(|(id, _)| id).filter(|id| told.insert(*id)).collect();
                send(signal, &new);
                if start.elapsed() >= patience {
                    break;
                }
                std::thread::sleep(PAUSE);
            }
        }
        self.look().into_iter().map(|(id, name)| format!("{name} ({id})")).collect()
    }
}

/// Sends a signal to processes. Those that have ended meanwhile are what was wanted.
fn send(signal: &str, processes: &[u32]) {
    if processes.is_empty() {
        return;
    }
    // The shell's own `kill`: the program of that name is not everywhere.
    let mut command = Command::new("sh");
    command.args(["-c", "kill -s \"$@\"", "sh", signal]).args(processes.iter().map(u32::to_string));
    let _ = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_read_whatever_it_is_called() {
        let fields = "S 7 8 9 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 4711 0 0";
        let expected = Process { id: 12, name: "a) (b".into(), parent: 7, group: 8, started: 4711 };
        assert_eq!(Process::read(&format!("12 (a) (b) {fields}\n")), Some(expected));
        assert_eq!(Process::read(&format!("12 (dead) {}", fields.replace('S', "Z"))), None);
        assert_eq!(Process::read("12 (cut) S 7"), None);
        assert_eq!(Process::read(""), None);
    }

    #[test]
    fn an_orphan_in_a_group_of_its_own_is_still_of_the_family() {
        // `set -m` gives each job a group of its own; the subshell that starts the last one ends before it.
        let mut child = Command::new("sh");
        child.args(["-c", "set -m; (sleep 61 & sleep 62 & sleep 0.3) & wait; sleep 63"]);
        let mut child = child.stdin(Stdio::null()).spawn().unwrap();
        let mut family = Family::of_child(child.id(), None);
        let start = Instant::now();
        let sleepers = |family: &mut Family| family.look().iter().filter(|(_, name)| name == "sleep").count();
        while sleepers(&mut family) < 3 && start.elapsed() < Duration::from_secs(20) {
            std::thread::sleep(Duration::from_millis(20));
        }
        std::thread::sleep(Duration::from_millis(600));
        assert_eq!(sleepers(&mut family), 3, "two orphans and the child of the first");
        assert_eq!(family.end(), Vec::<String>::new());
        assert!(!child.wait().unwrap().success());
        assert!(family.look().is_empty());
    }
}
