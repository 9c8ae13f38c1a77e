//! Ends tools that a killed run left, also their children in other sessions and groups whose leader has ended: each has the
//! private folder of its run as `TMPDIR`.

use std::collections::BTreeSet;
use std::fs;
use std::sync::LazyLock;

use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open, pidfd_send_signal};
use sys::file::is_own;

use super::own::{folders_of, owner_of_folder};
use crate::leftovers::Owner;

/// A process that is ending may have started another one.
const ROUNDS: u32 = 20;

/// The processes whose tools ran when this process first asked: a store may have the journals of many killed runs.
static WITH_TOOLS: LazyLock<BTreeSet<u32>> = LazyLock::new(|| processes().filter_map(owner_of).collect());

/// Kills the tools of a run whose process has ended.
pub(crate) fn end_tools_of(owner: &Owner) {
    // A later process with its number may have tools of its own.
    if WITH_TOOLS.contains(&owner.process) && owner.has_freed_its_number() {
        end_marked(&format!("TMPDIR={}", folders_of(owner.process)));
    }
}

/// Kills the processes of this user with a variable that begins so.
fn end_marked(beginning: &str) {
    for _ in 0..ROUNDS {
        // Every process is looked at.
        if processes().filter(|process| ended(*process, beginning)).count() == 0 {
            return;
        }
    }
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

/// The run whose tool a process is.
fn owner_of(process: i32) -> Option<u32> {
    let owner = |variable: &String| variable.strip_prefix("TMPDIR=").and_then(owner_of_folder);
    environment(process).iter().find_map(owner)
}

fn ended(process: i32, beginning: &str) -> bool {
    let Some(pid) = Pid::from_raw(process) else { return false };
    // Opened first: it stands for the process whose environment is read, or for none. Kernels before 5.3 lack it.
    let descriptor = pidfd_open(pid, PidfdFlags::empty());
    environment(process).iter().any(|variable| variable.starts_with(beginning))
        && match descriptor {
            Ok(descriptor) => pidfd_send_signal(descriptor, Signal::KILL).is_ok(),
            Err(_) => kill_process(pid, Signal::KILL).is_ok(),
        }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;
    use std::process::Command;

    use super::*;

    #[test]
    fn only_processes_with_the_mark_are_ended() {
        let start = |folder: &str| Command::new("sleep").arg("60").env("TMPDIR", folder).spawn().unwrap();
        let (mut left, mut other) = (start("/tmp/assay-tool-0-7"), start("/tmp/assay-tool-00-7"));
        end_marked(&format!("TMPDIR={}", folders_of(0)));
        assert_eq!(left.wait().unwrap().signal(), Some(9));
        assert!(other.try_wait().unwrap().is_none());
        other.kill().unwrap();
        other.wait().unwrap();
    }

    #[test]
    fn a_folder_has_the_number_of_its_run() {
        assert_eq!(owner_of_folder(&format!("{}3", folders_of(12))), Some(12));
        assert_eq!((owner_of_folder("/tmp"), owner_of_folder("/tmp/assay-tool-x-1")), (None, None));
    }

    #[test]
    fn tools_of_a_live_process_are_not_ended() {
        let owner = Owner::of(std::process::id());
        let mut tool = Command::new("sleep");
        let mut tool = tool.arg("60").env("TMPDIR", format!("{}0", folders_of(owner.process))).spawn().unwrap();
        end_tools_of(&Owner { started: Some(1), ..owner });
        assert!(tool.try_wait().unwrap().is_none());
        tool.kill().unwrap();
        tool.wait().unwrap();
    }
}
