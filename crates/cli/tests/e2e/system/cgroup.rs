//! Control groups of a test, removed when dropped.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::common::{Scratch, program, skipped};
use crate::system::process::{GONE, has, wait_for, wrapped};

pub(crate) struct Cgroup {
    path: PathBuf,
    unified: bool,
}

static GROUPS: AtomicU32 = AtomicU32::new(0);

impl Cgroup {
    /// Makes a group with this controller for `what`, which is skipped where that is not allowed.
    pub(crate) fn make(what: &str, controller: &str) -> Option<Self> {
        let why = format!("making a control group with a {controller} controller is not allowed");
        Self::try_make(controller).or_else(|| skipped(what, &why))
    }

    /// The same for the limits of a block device.
    pub(crate) fn for_devices(what: &str) -> Option<Self> {
        let group = Self::try_make("blkio").or_else(|| Self::try_make("io")).filter(|_| has("mountpoint"));
        group.or_else(|| skipped(what, "there is no control group of our own for devices here, or no mountpoint"))
    }

    /// A group of version 1 or 2.
    fn try_make(controller: &str) -> Option<Self> {
        let root = Path::new("/sys/fs/cgroup");
        let separate = root.join(controller);
        let unified = !separate.is_dir();
        let parent = if unified { root } else { &separate };
        let number = GROUPS.fetch_add(1, Ordering::Relaxed);
        let path = parent.join(format!("assay-e2e-{}-{number}", std::process::id()));
        if unified {
            fs::write(root.join("cgroup.subtree_control"), format!("+{controller}")).ok()?;
        }
        fs::create_dir(&path).ok()?;
        Some(Self { path, unified })
    }

    fn set(&self, file: &str, value: &str) {
        fs::write(self.path.join(file), value).unwrap_or_else(|error| panic!("{file} = {value}: {error}"));
    }

    /// Half a CPU for the group, with precedence over other processes.
    pub(crate) fn allow_half_a_cpu(&self) {
        if self.unified {
            self.set("cpu.max", "50000 100000");
            self.set("cpu.weight", "10000");
        } else {
            self.set("cpu.cfs_period_us", "100000");
            self.set("cpu.cfs_quota_us", "50000");
            self.set("cpu.shares", "262144");
        }
    }

    /// Shell commands that set a quota of half a CPU and remove it.
    pub(crate) fn quota_commands(&self) -> [String; 2] {
        let path = self.path.display();
        if self.unified {
            [format!("echo '50000 100000' > {path}/cpu.max"), format!("echo 'max 100000' > {path}/cpu.max")]
        } else {
            [format!("echo 50000 > {path}/cpu.cfs_quota_us"), format!("echo -1 > {path}/cpu.cfs_quota_us")]
        }
    }

    /// Precedence over other processes, without a quota.
    pub(crate) fn put_first(&self) {
        if self.unified { self.set("cpu.weight", "10000") } else { self.set("cpu.shares", "262144") }
    }

    pub(crate) fn allow_memory(&self, bytes: u64) {
        self.set(if self.unified { "memory.max" } else { "memory.limit_in_bytes" }, &bytes.to_string());
    }

    /// Limits the reads of a block device (`major:minor`).
    pub(crate) fn allow_reads(&self, device: &str, per_second: u32) {
        if self.unified {
            self.set("io.max", &format!("{device} riops={per_second}"));
        } else {
            self.set("blkio.throttle.read_iops_device", &format!("{device} {per_second}"));
        }
    }

    /// Limits requests and bytes per second of a block device (`major:minor`), for reads and writes each.
    pub(crate) fn allow_little(&self, device: &str, requests: u32, bytes: u32) {
        if self.unified {
            self.set("io.max", &format!("{device} riops={requests} wiops={requests} rbps={bytes} wbps={bytes}"));
            return;
        }
        for (kind, per_second) in [("iops", requests), ("bps", bytes)] {
            for way in ["read", "write"] {
                self.set(&format!("blkio.throttle.{way}_{kind}_device"), &format!("{device} {per_second}"));
            }
        }
    }

    /// `program` with these arguments in the group.
    pub(crate) fn command(&self, program: &Path, arguments: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", "echo $$ > \"$0\" && exec \"$@\""]).arg(self.path.join("cgroup.procs"));
        command.arg(program).args(arguments.split_whitespace());
        command
    }

    /// The program under test in the group.
    pub(crate) fn assay(&self, scratch: &Scratch, arguments: &str) -> Command {
        wrapped(scratch, self.command(&program(), arguments))
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        // A process that has just ended may still count for a moment.
        let _ = wait_for(GONE, || fs::remove_dir(&self.path).ok());
    }
}
