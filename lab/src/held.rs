//! Changes to the machine that are undone when their value is dropped and when this program is killed.
//!
//! A shell in its own process group makes the change and waits on a pipe. When the pipe closes, the shell undoes the change.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

#[derive(Debug)]
pub(crate) struct Held(Child);

impl Held {
    /// Runs the shell command `make`, and `undo` at the end, with `$1`, `$2` … as arguments. If `make` fails, it is undone at once.
    pub(crate) fn new(make: &str, undo: &str, arguments: &[&str]) -> Result<Self, String> {
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

    /// A loop of `body`, started by `launcher`, such as `taskset -c 1`.
    pub(crate) fn busy(body: &str, launcher: &str, arguments: &[&str]) -> Result<Self, String> {
        // A process group of its own: the children of the loop end with it.
        let make = format!("setsid {launcher} sh -c 'while :; do {body}; done' sh \"$@\" >/dev/null 2>&1 & loop=$!");
        Self::new(&make, "kill -s KILL -- \"-$loop\" 2>/dev/null", arguments)
    }

    pub(crate) fn offline(cpu: u32) -> Result<Self, String> {
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
pub(crate) struct Group {
    pub(crate) path: PathBuf,
    unified: bool,
    _held: Held,
}

impl Group {
    pub(crate) fn make(controller: &str, name: &str) -> Result<Self, String> {
        let root = Path::new("/sys/fs/cgroup");
        let separate = root.join(controller);
        let unified = !separate.is_dir();
        let path = if unified { root } else { &separate }.join(format!("assay-{name}-{}", std::process::id()));
        let allow = if unified {
            format!("echo +{controller} > {}/cgroup.subtree_control; ", root.display())
        } else {
            String::new()
        };
        // The kernel may still count a process that has just ended.
        let undo = "for _ in 1 2 3 4 5 6 7 8 9; do rmdir \"$1\" && break; sleep 0.3; done 2>/dev/null";
        let held = Held::new(&format!("{allow}mkdir \"$1\""), undo, &[&path.display().to_string()])?;
        Ok(Self { path, unified, _held: held })
    }

    /// The command that writes a file of the group, in the unified hierarchy or in one of its own.
    fn write(&self, unified: (&str, String), separate: (&str, String)) -> String {
        let (file, value) = if self.unified { unified } else { separate };
        format!("echo {value} > {}/{file}", self.path.display())
    }

    /// The commands that set a quota of CPU time and lift it.
    pub(crate) fn quota_commands(&self, percent: u32) -> [String; 2] {
        // Short periods, so that the quota limits every sample.
        const PERIOD: u32 = 20_000;
        let quota = PERIOD / 100 * percent;
        let period = self.write(("cpu.max", format!("max {PERIOD}")), ("cpu.cfs_period_us", PERIOD.to_string()));
        let set = self.write(("cpu.max", format!("{quota} {PERIOD}")), ("cpu.cfs_quota_us", quota.to_string()));
        let lift = self.write(("cpu.max", format!("max {PERIOD}")), ("cpu.cfs_quota_us", "-1".to_owned()));
        [format!("{period} && {set}"), lift]
    }

    pub(crate) fn memory_command(&self, bytes: u64) -> String {
        self.write(("memory.max", bytes.to_string()), ("memory.limit_in_bytes", bytes.to_string()))
    }

    pub(crate) fn words(&self) -> Vec<String> {
        let enter = self.path.join("cgroup.procs").display().to_string();
        vec!["sh".to_owned(), "-c".to_owned(), "echo $$ > \"$0\" && exec \"$@\"".to_owned(), enter]
    }
}

pub(crate) fn shell(line: &str) -> Result<(), String> {
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
        let held = Held::busy("echo x >> \"$1\"; sleep 0.01", "", &[&file]).unwrap();
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
        let group = |unified| Group { path: "/g".into(), unified, _held: Held::new(":", ":", &[]).unwrap() };
        let [set, lift] = group(true).quota_commands(95);
        assert!(set.ends_with("&& echo 19000 20000 > /g/cpu.max") && lift == "echo max 20000 > /g/cpu.max", "{set}");
        assert!(group(false).quota_commands(50)[0].ends_with("echo 10000 > /g/cpu.cfs_quota_us"));
        assert_eq!(group(true).memory_command(5), "echo 5 > /g/memory.max");
        assert_eq!(group(true).words().last().unwrap(), "/g/cgroup.procs");
    }
}
