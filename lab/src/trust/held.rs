//! Changes to the machine that are undone when their value is dropped and when this program is killed.
//!
//! A shell in its own process group makes the change and waits on a pipe. When the pipe closes, the shell undoes the change.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

#[derive(Debug)]
pub(super) struct Held(Child);

impl Held {
    /// Runs the shell command `make`, and `undo` at the end, with `$1`, `$2` … as arguments. If `make` fails, it is undone at once.
    pub(super) fn new(make: &str, undo: &str, arguments: &[&str]) -> Result<Self, String> {
        let script = script(make, undo);
        let mut command = Command::new("sh");
        command.args(["-c", &script, "sh"]).args(arguments).process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn().map_err(|error| format!("cannot start a shell: {error}"))?;
        let mut held = Self(child);
        let mut first = String::new();
        if let Some(stdout) = held.0.stdout.take() {
            let _ = BufReader::new(stdout).read_line(&mut first);
        }
        if first.trim() == "made" {
            return Ok(held);
        }
        let mut error_text = String::new();
        if let Some(stderr) = held.0.stderr.take() {
            let _ = BufReader::new(stderr).read_to_string(&mut error_text);
        }
        Err(format!("'{make}' failed: {}", error_text.trim()))
    }

    pub(super) fn busy(body: &str, cpu: Option<u32>, arguments: &[&str]) -> Result<Self, String> {
        let pinned = cpu.map_or_else(String::new, |cpu| format!("taskset -c {cpu} "));
        // A process group of its own: the children of the loop end with it.
        let make = format!("setsid {pinned}sh -c 'while :; do {body}; done' sh \"$@\" >/dev/null 2>&1 & loop=$!");
        Self::new(&make, "kill -s KILL -- \"-$loop\" 2>/dev/null", arguments)
    }

    pub(super) fn offline(cpu: u32) -> Result<Self, String> {
        let switch = format!("/sys/devices/system/cpu/cpu{cpu}/online");
        Self::new("echo 0 > \"$1\"", "echo 1 > \"$1\"", &[&switch])
    }
}

/// The script ignores signals and closed pipes, because it must undo the change.
fn script(make: &str, undo: &str) -> String {
    format!(
        "trap '' INT TERM HUP PIPE; undo() {{ {undo}; }}; trap 'undo \"$@\"' EXIT; set -e; {{ {make}; }} >/dev/null; \
         echo made; read -r _ || :"
    )
}

impl Drop for Held {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

#[derive(Debug)]
pub(super) struct Group {
    path: PathBuf,
    unified: bool,
    _held: Held,
}

impl Group {
    pub(super) fn make(controller: &str) -> Result<Self, String> {
        let root = Path::new("/sys/fs/cgroup");
        let separate = root.join(controller);
        let unified = !separate.is_dir();
        let path = if unified { root } else { &separate }.join(format!("assay-trust-{}", std::process::id()));
        let allow = if unified {
            format!("echo +{controller} > /sys/fs/cgroup/cgroup.subtree_control; ")
        } else {
            String::new()
        };
        // The kernel may still count a process that has just ended.
        let undo = "for _ in 1 2 3 4 5 6 7 8 9; do rmdir \"$1\" && break; sleep 0.3; done 2>/dev/null";
        let held = Held::new(&format!("{allow}mkdir \"$1\""), undo, &[&path.display().to_string()])?;
        Ok(Self { path, unified, _held: held })
    }

    pub(super) fn quota_commands(&self, percent: u32) -> [String; 2] {
        // Short periods, so that the quota limits every sample.
        const PERIOD: u32 = 20_000;
        let (path, quota) = (self.path.display(), PERIOD / 100 * percent);
        if self.unified {
            [format!("echo '{quota} {PERIOD}' > {path}/cpu.max"), format!("echo 'max {PERIOD}' > {path}/cpu.max")]
        } else {
            [
                format!("echo {PERIOD} > {path}/cpu.cfs_period_us && echo {quota} > {path}/cpu.cfs_quota_us"),
                format!("echo -1 > {path}/cpu.cfs_quota_us"),
            ]
        }
    }

    pub(super) fn memory_command(&self, bytes: u64) -> String {
        let file = if self.unified { "memory.max" } else { "memory.limit_in_bytes" };
        format!("echo {bytes} > {}/{file}", self.path.display())
    }

    pub(super) fn words(&self) -> Vec<String> {
        let enter = self.path.join("cgroup.procs").display().to_string();
        vec!["sh".to_owned(), "-c".to_owned(), "echo $$ > \"$0\" && exec \"$@\"".to_owned(), enter]
    }
}

pub(super) fn shell(line: &str) -> Result<(), String> {
    let output = Command::new("sh").args(["-c", line]).stdin(Stdio::null()).output();
    let output = output.map_err(|error| format!("cannot start a shell: {error}"))?;
    let error_text = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    if output.status.success() { Ok(()) } else { Err(format!("'{line}' failed: {error_text}")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scratch(name: &str) -> String {
        let path = std::env::temp_dir().join(format!("assay-trust-test-{}-{name}", std::process::id()));
        let _ = std::fs::remove_file(&path);
        path.display().to_string()
    }

    #[test]
    fn a_change_lasts_as_long_as_its_value() {
        let file = scratch("lasts");
        let held = Held::new("echo x > \"$1\"", "rm \"$1\"", &[&file]).unwrap();
        assert!(Path::new(&file).exists());
        drop(held);
        assert!(!Path::new(&file).exists());
    }

    #[test]
    fn a_change_that_fails_half_way_is_undone() {
        let file = scratch("fails");
        let failed = Held::new("echo x > \"$1\"; cat /nowhere/at/all", "rm \"$1\"", &[&file]);
        assert!(failed.unwrap_err().contains("nowhere"));
        assert!(!Path::new(&file).exists());
    }

    #[test]
    fn a_change_is_undone_when_this_program_dies_while_it_is_made() {
        let file = scratch("dies");
        let mut command = Command::new("sh");
        command.args(["-c", &script("echo x > \"$1\"; sleep 0.1", "rm \"$1\""), "sh", &file]);
        let mut shell = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        // Closes both pipes.
        drop((shell.stdin.take(), shell.stdout.take()));
        shell.wait().unwrap();
        assert!(!Path::new(&file).exists());
    }

    #[test]
    fn a_busy_loop_ends_with_its_value() {
        let file = scratch("busy");
        let held = Held::busy("echo x >> \"$1\"; sleep 0.01", None, &[&file]).unwrap();
        let start = std::time::Instant::now();
        while !Path::new(&file).exists() && start.elapsed().as_secs() < 20 {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        drop(held);
        let size = || std::fs::metadata(&file).map(|data| data.len()).unwrap();
        let before = size();
        std::thread::sleep(std::time::Duration::from_millis(200));
        assert_eq!(size(), before);
        let _ = std::fs::remove_file(&file);
    }

    #[test]
    fn quotas_are_shell_commands() {
        let held = || Held::new(":", ":", &[]).unwrap();
        let group = |unified| Group { path: PathBuf::from("/g"), unified, _held: held() };
        assert_eq!(
            group(true).quota_commands(95),
            ["echo '19000 20000' > /g/cpu.max", "echo 'max 20000' > /g/cpu.max"]
        );
        assert!(group(false).quota_commands(50)[0].ends_with("echo 10000 > /g/cpu.cfs_quota_us"));
        assert_eq!(group(true).memory_command(5), "echo 5 > /g/memory.max");
        assert_eq!(group(true).words().last().unwrap(), "/g/cgroup.procs");
    }
}
