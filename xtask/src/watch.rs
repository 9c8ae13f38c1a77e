//! Running a program and reading what it says meanwhile: what hangs is ended, with everything that it has started.

use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use crate::family::Family;
use crate::shell::announce;

/// How long a command may say nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Patience {
    /// It may be silent for so long; then it hangs.
    Silent(Duration),
    /// It may work in silence until its step has lasted too long.
    Endless,
}

impl Patience {
    fn is_over(self, silence: Duration) -> bool {
        matches!(self, Self::Silent(limit) if silence > limit)
    }
}

/// How a command came to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// By itself, with success.
    Well,
    /// By itself, without success, or it could not be started.
    Badly,
    /// It was ended, for this reason.
    Ended(String),
}

/// How long the output of a command may stay open after its end: who still holds it then was left behind.
const LEFT_OPEN: Duration = Duration::from_secs(20);

/// Pause between two looks at what a command has started, while it says nothing.
const LOOK: Duration = Duration::from_secs(1);

/// Pause between two looks whether a command that has closed its output has ended.
const CLOSED: Duration = Duration::from_millis(10);

/// Runs a command, showing its standard output and handing each line on, the last one even where it has no end. It is
/// ended where it says nothing for too long, and where a process that it left behind keeps its output open.
pub(crate) fn watch(command: &mut Command, patience: Patience, line_seen: impl FnMut(&str)) -> Ending {
    watch_for(command, patience, LEFT_OPEN, line_seen)
}

fn watch_for(command: &mut Command, patience: Patience, open: Duration, mut line_seen: impl FnMut(&str)) -> Ending {
    announce(command);
    let mut child = match command.stdout(Stdio::piped()).spawn() {
        Ok(child) => child,
        Err(error) => {
            println!("cannot start {}: {error}", command.get_program().display());
            return Ending::Badly;
        }
    };
    let Some(stdout) = child.stdout.take() else { return Ending::Badly };
    let pipe = std::fs::read_link(format!("/proc/self/fd/{}", stdout.as_raw_fd())).ok();
    let mut family = Family::of_child(child.id(), pipe);
    let mut lines = Lines::default();
    let ended = attend(&mut child, &mut family, &read_aside(stdout), patience, open, |bytes| {
        lines.read(bytes, &mut line_seen);
    });
    lines.finish(&mut line_seen);
    match ended {
        Ok(status) if status.success() => Ending::Well,
        Ok(_) => Ending::Badly,
        Err(why) => {
            println!("{} is ended, with all that it has started: {why}", command.get_program().display());
            for process in family.end() {
                println!("could not be ended: {process}");
            }
            // It is buried if it has ended; if even the kernel could not end it, it is not waited for.
            let _ = child.try_wait();
            Ending::Ended(why)
        }
    }
}

/// Hands on what a child says until it and its output have come to their end, or until one of them has lasted too long:
/// its silence, and what it leaves open after its end.
fn attend(
    child: &mut Child,
    family: &mut Family,
    output: &Receiver<Vec<u8>>,
    patience: Patience,
    open: Duration,
    mut said: impl FnMut(&[u8]),
) -> Result<ExitStatus, String> {
    let mut heard = Instant::now();
    let mut status = None;
    loop {
        let mut closed = false;
        match output.recv_timeout(LOOK) {
            Ok(bytes) => {
                heard = Instant::now();
                said(&bytes);
                continue;
            }
            Err(RecvTimeoutError::Timeout) => drop(family.look()),
            Err(RecvTimeoutError::Disconnected) => {
                closed = true;
                std::thread::sleep(CLOSED);
            }
        }
        if status.is_none() {
            let found = child.try_wait().map_err(|error| format!("its end cannot be seen: {error}"))?;
            status = found.map(|status| (status, Instant::now()));
        }
        match status {
            Some((status, _)) if closed => return Ok(status),
            Some((_, since)) if since.elapsed() > open => {
                return Err("it has ended and left processes behind that keep its output open".to_owned());
            }
            None if patience.is_over(heard.elapsed()) => {
                return Err(format!("it has said nothing for {} s", heard.elapsed().as_secs()));
            }
            _ => {}
        }
    }
}

/// Reads what a command says, on a thread that lives until nobody can say anything any more.
fn read_aside(mut stdout: ChildStdout) -> Receiver<Vec<u8>> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let mut bytes = vec![0; 1 << 16];
        while let Ok(count @ 1..) = stdout.read(&mut bytes) {
            if sender.send(bytes[..count].to_vec()).is_err() {
                break;
            }
        }
    });
    receiver
}

/// What a command says, cut into lines.
#[derive(Default)]
struct Lines {
    /// The beginning of a line whose end has not come yet.
    unfinished: Vec<u8>,
}

impl Lines {
    /// Shows what was said at once, also where a line has no end yet: it may be the last word before a hang. Hands on
    /// each line that ends.
    fn read(&mut self, bytes: &[u8], line_seen: &mut impl FnMut(&str)) {
        let mut out = std::io::stdout();
        // Who no longer reads us is told by the exit status alone.
        let _ = out.write_all(bytes).and_then(|()| out.flush());
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            let (text, ends) = part.strip_suffix(b"\n").map_or((part, false), |text| (text, true));
            self.unfinished.extend_from_slice(text);
            if ends {
                line_seen(&String::from_utf8_lossy(&std::mem::take(&mut self.unfinished)));
            }
        }
    }

    /// Hands on the last line where it has no end.
    fn finish(&mut self, line_seen: &mut impl FnMut(&str)) {
        if !self.unfinished.is_empty() {
            println!();
            line_seen(&String::from_utf8_lossy(&std::mem::take(&mut self.unfinished)));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Mutex, PoisonError};

    use super::*;

    /// Longer than any test may take.
    const LONG: Duration = Duration::from_mins(1);

    /// Held while a script is watched: a process that another test has just forked still holds our pipe for a moment, and
    /// would be taken for one of this script's.
    static ALONE: Mutex<()> = Mutex::new(());

    /// Watches a script that may be silent for so many seconds; its end, its lines, and the time taken.
    fn watched(script: &str, silent: u64, open: Duration) -> (Ending, Vec<String>, Duration) {
        let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let mut lines = Vec::new();
        let start = Instant::now();
        let mut command = Command::new("sh");
        command.args(["-c", script]).stdin(Stdio::null());
        let patience = Patience::Silent(Duration::from_secs(silent));
        let ending = watch_for(&mut command, patience, open, |line| lines.push(line.to_owned()));
        (ending, lines, start.elapsed())
    }

    /// Asserts that a script is ended and named for its silence, and that what it has started is gone.
    fn assert_ended(script: &str, says: &str) {
        let scratch = std::env::temp_dir().join(format!("assay-watch-{}-{}", std::process::id(), script.len()));
        let open = Duration::from_secs(1);
        let (ending, lines, took) = watched(&script.replace("ALIVE", &scratch.display().to_string()), 1, open);
        assert!(matches!(&ending, Ending::Ended(why) if why.contains(says)), "{script}: {ending:?}");
        assert_eq!(lines, ["first", "test hangs ... "], "{script}: what was said before is not lost");
        assert!(took < LONG, "{script}: {took:?}");
        let ids = std::fs::read_to_string(&scratch).unwrap();
        std::fs::remove_file(&scratch).unwrap();
        assert!(!ids.is_empty());
        for id in ids.split_whitespace() {
            let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
            assert!(stat.is_empty() || stat.contains(") Z "), "{script}: {id} still lives: {stat}");
        }
    }

    #[test]
    fn a_command_that_hangs_is_ended() {
        assert_ended("echo first; printf 'test hangs ... '; echo $$ > ALIVE; exec sleep 300", "said nothing");
    }

    #[test]
    fn a_command_that_closes_its_output_and_hangs_is_ended() {
        assert_ended("echo first; printf 'test hangs ... '; echo $$ > ALIVE; exec >&-; sleep 300", "said nothing");
    }

    #[test]
    fn a_command_that_ignores_to_be_asked_is_ended() {
        let script = "trap '' TERM INT HUP; echo first; printf 'test hangs ... '; echo $$ > ALIVE; \
                      while :; do sleep 300; done";
        assert_ended(script, "said nothing");
    }

    #[test]
    fn children_in_groups_of_their_own_end_with_it() {
        // Not by the shell's job control, which stops a shell that is not in the foreground of its terminal.
        let script = "echo first; printf 'test hangs ... '; setsid sleep 300 & echo $! > ALIVE; \
                      (trap '' TERM; exec setsid sleep 301) & echo $! >> ALIVE; wait";
        assert_ended(script, "said nothing");
    }

    #[test]
    fn an_orphan_that_keeps_the_output_open_hangs_nobody() {
        let script = "echo first; printf 'test hangs ... '; (setsid sh -c 'echo $$ > ALIVE; exec sleep 300' &); \
                      while ! [ -s ALIVE ]; do :; done";
        assert_ended(script, "left processes behind");
    }

    #[test]
    fn a_command_that_goes_on_speaking_is_not_ended() {
        // Longer in all than it may be silent.
        let script = "for i in 1 2 3 4 5 6 7 8; do echo $i; sleep 0.5; done; exit 3";
        let (ending, lines, took) = watched(script, 3, LONG);
        assert_eq!((ending, lines.concat().as_str()), (Ending::Badly, "12345678"));
        assert!(took > Duration::from_secs(3), "{took:?}");
        assert_eq!(watched("echo well", 3, LONG).0, Ending::Well);
    }

    #[test]
    fn a_program_that_is_not_there_ends_badly() {
        assert_eq!(watch(&mut Command::new("/no/such/program"), Patience::Endless, |_| ()), Ending::Badly);
    }
}
