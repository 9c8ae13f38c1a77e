//! Running other programs: never through a shell, never with a standard input, and never for longer than allowed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{Read, Write};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    Success,
    /// Without success, or it could not be started.
    Failure,
    Killed(String),
}

/// The longest time that a command may take, or that a command whose output is read may print nothing.
pub const LONGEST: Duration = Duration::from_mins(25);

/// How long a process may take to end after a signal, and how long output may stay open after its process.
const GRACE: Duration = Duration::from_secs(5);

const POLL: Duration = Duration::from_millis(500);

/// Runs a command with our own standard output; whether it succeeded.
pub fn succeeds(command: &mut Command) -> bool {
    announce(command);
    started(command).is_some_and(|child| attend(child, LONGEST, |_| ()) == Ending::Success)
}

/// Runs a command, shows its standard output and hands on each line. It is killed with its children when it prints
/// nothing for as long as `silence`.
pub fn read_lines(command: &mut Command, silence: Duration, line_seen: impl FnMut(&str)) -> Ending {
    announce(command);
    started(command.stdout(Stdio::piped())).map_or(Ending::Failure, |child| attend(child, silence, line_seen))
}

/// Runs a command in silence; whether it succeeded. For asking whether something is there.
pub fn is_there(command: &mut Command) -> bool {
    command.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}

/// Runs a command and returns what it wrote to its standard output, if it succeeded.
pub fn output(command: &mut Command) -> Option<String> {
    announce(command);
    let output = command.stderr(Stdio::inherit()).output().ok().filter(|output| output.status.success())?;
    String::from_utf8(output.stdout).ok()
}

pub fn announce(command: &Command) {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let line: Vec<String> = words.map(|word| word.display().to_string()).collect();
    println!("$ {}", line.join(" "));
}

fn started(command: &mut Command) -> Option<Child> {
    match command.spawn() {
        Ok(child) => Some(child),
        Err(error) => {
            println!("cannot start {}: {error}", command.get_program().display());
            None
        }
    }
}

/// Waits for a process and reads its output where it is a pipe.
fn attend(mut child: Child, silence: Duration, mut line_seen: impl FnMut(&str)) -> Ending {
    let (sender, output) = mpsc::channel();
    match child.stdout.take() {
        Some(stdout) => drop(std::thread::spawn(move || copy(stdout, &sender))),
        None => drop(sender),
    }
    let mut family = Family::of(child.id());
    let mut lines = Lines::default();
    let mut heard = Instant::now();
    let mut ending = loop {
        match output.recv_timeout(POLL) {
            Ok(bytes) => {
                heard = Instant::now();
                lines.read(&bytes, &mut line_seen);
                continue;
            }
            Err(RecvTimeoutError::Disconnected) => std::thread::sleep(POLL / 10),
            Err(RecvTimeoutError::Timeout) => {}
        }
        family.look();
        match child.try_wait() {
            Ok(Some(status)) if status.success() => break Ending::Success,
            Ok(Some(_)) => break Ending::Failure,
            Ok(None) if heard.elapsed() <= silence => {}
            _ => break Ending::Killed(format!("no output for {} s", heard.elapsed().as_secs())),
        }
    };
    let rest = drain(&output, &mut lines, &mut line_seen);
    if ending == Ending::Success && !rest {
        ending = Ending::Killed("it left processes behind that keep its output open".to_owned());
    }
    lines.finish(&mut line_seen);
    if let Ending::Killed(why) = &ending {
        println!("killed with its children: {why}");
        family.end();
        let _ = child.try_wait();
    }
    ending
}

/// Reads what is left; whether the output was closed.
fn drain(output: &Receiver<Vec<u8>>, lines: &mut Lines, line_seen: &mut impl FnMut(&str)) -> bool {
    let begin = Instant::now();
    while begin.elapsed() < GRACE {
        match output.recv_timeout(GRACE) {
            Ok(bytes) => lines.read(&bytes, line_seen),
            Err(RecvTimeoutError::Disconnected) => return true,
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
    false
}

fn copy(mut stdout: ChildStdout, sender: &Sender<Vec<u8>>) {
    let mut bytes = vec![0; 1 << 16];
    while let Ok(count @ 1..) = stdout.read(&mut bytes) {
        if sender.send(bytes[..count].to_vec()).is_err() {
            break;
        }
    }
}

#[derive(Default)]
struct Lines {
    /// The beginning of a line that has not ended yet.
    unfinished: Vec<u8>,
}

impl Lines {
    /// Shows bytes at once, since a line without an end may be the last before a hang.
    fn read(&mut self, bytes: &[u8], line_seen: &mut impl FnMut(&str)) {
        let mut out = std::io::stdout();
        let _ = out.write_all(bytes).and_then(|()| out.flush());
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.unfinished.extend_from_slice(part.strip_suffix(b"\n").unwrap_or(part));
            if part.ends_with(b"\n") {
                line_seen(&String::from_utf8_lossy(&std::mem::take(&mut self.unfinished)));
            }
        }
    }

    fn finish(&mut self, line_seen: &mut impl FnMut(&str)) {
        if !self.unfinished.is_empty() {
            println!();
            line_seen(&String::from_utf8_lossy(&std::mem::take(&mut self.unfinished)));
        }
    }
}

/// A process and its descendants, also those in process groups of their own and those whose parent has ended since they
/// were seen: the number of each, and when it started, which makes the number unique.
#[derive(Debug)]
struct Family(BTreeMap<u32, u64>);

#[derive(Debug, PartialEq, Eq)]
struct Process {
    id: u32,
    parent: u32,
    group: u32,
    started: u64,
}

impl Process {
    /// `None` for a zombie.
    fn read(stat: &str) -> Option<Self> {
        // The name is in parentheses and may contain any.
        let (front, back) = stat.rsplit_once(')')?;
        let fields: Vec<&str> = back.split_whitespace().collect();
        let number = |field: usize| fields.get(field)?.parse().ok();
        let id = front.split_once(' ')?.0.parse().ok()?;
        let started = fields.get(19)?.parse().ok()?;
        let process = Self { id, parent: number(1)?, group: number(2)?, started };
        (!matches!(*fields.first()?, "Z" | "X")).then_some(process)
    }

    fn all() -> Vec<Self> {
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        ids.filter_map(|id| Self::read(&fs::read_to_string(format!("/proc/{id}/stat")).ok()?)).collect()
    }
}

impl Family {
    fn of(id: u32) -> Self {
        Self(Process::all().into_iter().filter(|process| process.id == id).map(|own| (id, own.started)).collect())
    }

    /// Adds new members; the numbers of those that live.
    fn look(&mut self) -> BTreeSet<u32> {
        let all = Process::all();
        let started: BTreeMap<u32, u64> = all.iter().map(|process| (process.id, process.started)).collect();
        let own = std::process::id();
        loop {
            let before = self.0.len();
            for process in all.iter().filter(|process| process.id != own) {
                // The number of a process that has ended stays taken while its group has members.
                let is_member = |id: &u32| self.0.get(id).is_some_and(|at| started.get(id).is_none_or(|now| now == at));
                if is_member(&process.parent) || is_member(&process.group) {
                    self.0.insert(process.id, process.started);
                }
            }
            if self.0.len() == before {
                return self.0.iter().filter(|(id, at)| started.get(id) == Some(*at)).map(|(id, _)| *id).collect();
            }
        }
    }

    /// Asks all to end, then kills what is left.
    fn end(&mut self) {
        for signal in ["TERM", "KILL"] {
            let begin = Instant::now();
            let mut signalled = BTreeSet::new();
            while begin.elapsed() < GRACE {
                let living = self.look();
                if living.is_empty() {
                    return;
                }
                send(signal, living.difference(&signalled));
                signalled.extend(living);
                std::thread::sleep(POLL / 10);
            }
        }
        self.look().iter().for_each(|id| println!("process {id} could not be ended"));
    }
}

fn send<'a>(signal: &str, processes: impl Iterator<Item = &'a u32>) {
    let ids: Vec<String> = processes.map(u32::to_string).collect();
    if !ids.is_empty() {
        let mut command = Command::new("sh");
        command.args(["-c", "kill -s \"$@\"", "sh", signal]).args(ids).stdin(Stdio::null());
        is_there(&mut command);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ending(script: &str, silence: u64) -> (Ending, Vec<String>) {
        let mut lines = Vec::new();
        let mut command = Command::new("sh");
        command.args(["-c", script]).stdin(Stdio::null());
        let ending = read_lines(&mut command, Duration::from_secs(silence), |line| lines.push(line.to_owned()));
        (ending, lines)
    }

    /// A script that hangs is killed, with the processes that it has put into `ALIVE`.
    fn assert_killed(script: &str) {
        let scratch = std::env::temp_dir().join(format!("assay-process-{}-{}", std::process::id(), script.len()));
        let begin = Instant::now();
        let (ending, lines) = ending(&script.replace("ALIVE", &scratch.display().to_string()), 1);
        assert!(matches!(&ending, Ending::Killed(why) if why.contains("no output")), "{script}: {ending:?}");
        assert_eq!(lines, ["first", "test hangs ... "], "{script}");
        assert!(begin.elapsed() < Duration::from_mins(1), "{script}");
        let ids = fs::read_to_string(&scratch).unwrap();
        fs::remove_file(&scratch).unwrap();
        assert!(!ids.is_empty());
        for id in ids.split_whitespace() {
            let stat = fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
            assert_eq!(Process::read(&stat), None, "{script}");
        }
    }

    #[test]
    fn a_command_that_hangs_is_killed() {
        assert_killed("echo first; printf 'test hangs ... '; echo $$ > ALIVE; exec sleep 300");
        assert_killed(
            "echo first; printf 'test hangs ... '; echo $$ > ALIVE; exec >&-; trap '' TERM; sleep 300; sleep 300",
        );
    }

    #[test]
    fn children_in_groups_of_their_own_and_orphans_end_with_it() {
        let script = "echo first; printf 'test hangs ... '; setsid sleep 300 & echo $! > ALIVE; \
                      (trap '' TERM; exec setsid sleep 301) & echo $! >> ALIVE; \
                      (setsid sh -c 'echo $$ >> ALIVE; exec sleep 302' & sleep 0.9) & wait";
        assert_killed(script);
    }

    #[test]
    fn a_command_that_ends_by_itself() {
        let (failed, lines) = ending("for i in 1 2 3 4 5; do echo $i; sleep 0.5; done; exit 3", 2);
        assert_eq!((failed, lines.concat().as_str()), (Ending::Failure, "12345"));
        assert_eq!(ending("echo well", 3).0, Ending::Success);
        assert_eq!(read_lines(&mut Command::new("/no/such/program"), LONGEST, |_| ()), Ending::Failure);
        assert!(matches!(ending("setsid sleep 20 &", 30).0, Ending::Killed(why) if why.contains("left processes")));
        assert!(succeeds(&mut Command::new("true")) && !succeeds(&mut Command::new("false")));
    }

    #[test]
    fn a_process_is_read_whatever_its_name() {
        let fields = "S 7 8 9 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 4711 0 0";
        let expected = Process { id: 12, parent: 7, group: 8, started: 4711 };
        assert_eq!(Process::read(&format!("12 (a) (b) {fields}\n")), Some(expected));
        assert_eq!(Process::read(&format!("12 (dead) {}", fields.replace('S', "Z"))), None);
        assert_eq!(Process::read("12 (cut) S 7"), None);
    }
}
