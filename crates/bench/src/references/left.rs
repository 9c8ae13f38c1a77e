//! Ends tools that a killed run left, also their children in other sessions and groups whose leader has ended: each has the
//! private folder of its run as `TMPDIR`.

use std::fs;
use std::path::Path;

use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open, pidfd_send_signal};
use sys::file::is_own;

use super::own::{is_held, owner_of_folder};
use crate::leftovers::Owner;

/// A process that is ending may have started another one.
const ROUNDS: u32 = 20;

/// Kills the tools of this user's runs whose process has ended.
pub(crate) fn end_left_tools() {
    for _ in 0..ROUNDS {
        // Every process is looked at.
        if processes().filter(|process| ended_if_left(*process)).count() == 0 {
            return;
        }
    }
}

/// Whether a process is the tool of a run of this PID namespace that has ended. A later process may have the run's number.
fn is_left(process: i32) -> bool {
    let namespace = |process: &str| fs::read_link(format!("/proc/{process}/ns/pid")).ok();
    let is_here = || namespace(&process.to_string()).is_some_and(|other| Some(other) == namespace("self"));
    let has_ended = |folder: &str| {
        owner_of_folder(folder).is_some_and(|owner| Owner::of(owner).started.is_none()) && !is_held(Path::new(folder))
    };
    environment(process).iter().any(|variable| variable.strip_prefix("TMPDIR=").is_some_and(has_ended)) && is_here()
}

fn processes() -> impl Iterator<Item = i32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// The environment with which a process of this user was started.
fn environment(process: i32) -> Vec<String> {
    let folder = format!("/proc/{process}");
    let is_ours = fs::metadata(&folder).is_ok_and(|found| is_own(&found));
    let bytes = if is_ours { fs::read(format!("{folder}/environ")).unwrap_or_default() } else { Vec::new() };
    bytes.split(|byte| *byte == 0).map(|variable| String::from_utf8_lossy(variable).into_owned()).collect()
}

fn ended_if_left(process: i32) -> bool {
    let Some(pid) = Pid::from_raw(process) else { return false };
    // Opened first: it stands for the process that is looked at, or for none. Kernels before 5.3 lack it.
    let descriptor = pidfd_open(pid, PidfdFlags::empty());
    is_left(process)
        && match descriptor {
            Ok(descriptor) => pidfd_send_signal(descriptor, Signal::KILL).is_ok(),
            Err(_) => kill_process(pid, Signal::KILL).is_ok(),
        }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;
    use std::process::Command;

    use super::super::own::folders_of;
    use super::*;

    #[test]
    fn only_tools_of_ended_runs_are_ended() {
        let start = |folder: &str| Command::new("sleep").arg("60").env("TMPDIR", folder).spawn().unwrap();
        let mut left = start("/tmp/assay-tool-0-7");
        let locked = format!("{}{}", folders_of(0), std::process::id());
        // Locked before it has a name that other tests sweep.
        let unnamed = format!("/tmp/assay-test-{}", std::process::id());
        fs::create_dir(&unnamed).unwrap();
        let lock = fs::File::open(&unnamed).unwrap();
        lock.lock().unwrap();
        fs::rename(unnamed, &locked).unwrap();
        let own = format!("{}0", folders_of(std::process::id()));
        let others = ["/tmp/assay-tools-0-7".to_owned(), own, locked.clone()];
        let others = others.map(|folder| start(&folder));
        end_left_tools();
        assert_eq!(left.wait().unwrap().signal(), Some(9));
        for mut other in others {
            assert!(other.try_wait().unwrap().is_none());
            other.kill().unwrap();
            other.wait().unwrap();
        }
        fs::remove_dir(locked).unwrap();
    }

    #[test]
    fn a_folder_has_the_number_of_its_run() {
        assert_eq!(owner_of_folder(&format!("{}3", folders_of(12))), Some(12));
        assert_eq!((owner_of_folder("/tmp"), owner_of_folder("/tmp/assay-tool-x-1")), (None, None));
    }
}
