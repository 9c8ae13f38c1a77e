//! Processes, mounts and control groups that a test makes; each is taken away again when its value is dropped.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use crate::common::{Ran, Scratch, command, is_root, program, stored_runs};

/// How long anything may take that is waited for.
const PATIENCE: Duration = Duration::from_secs(30);

/// How long something that has to go may take to be gone.
const GONE: Duration = Duration::from_secs(2);

/// Pause between two looks.
const PAUSE: Duration = Duration::from_millis(5);

/// Looks again and again until there is something; once `patience` has been spent on waiting there is nothing.
pub(crate) fn wait_for<T>(patience: Duration, mut look: impl FnMut() -> Option<T>) -> Option<T> {
    for _ in 0..patience.as_millis() / PAUSE.as_millis() {
        if let Some(found) = look() {
            return Some(found);
        }
        std::thread::sleep(PAUSE);
    }
    look()
}

/// Runs a program of the system, which must end well.
fn succeeded(name: &str, arguments: &[&str]) -> bool {
    let output = Command::new(name).args(arguments).stderr(Stdio::null()).output();
    output.is_ok_and(|output| output.status.success())
}

/// Whether a program of the system is here.
pub(crate) fn has(name: &str) -> bool {
    succeeded("sh", &["-c", &format!("command -v {name}")])
}

/// A CPU that we may run on.
pub(crate) fn allowed_cpu() -> u32 {
    allowed_cpus()[0]
}

/// The CPUs that we may run on, ascending.
pub(crate) fn allowed_cpus() -> Vec<u32> {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let allowed = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap();
    machine::parse_list(allowed.trim())
}

/// Sends a signal, named without SIG, to a process.
pub(crate) fn signal(process: u32, name: &str) {
    assert!(signalled(process, name), "cannot send {name} to {process}");
}

/// Whether there was such a process to send a signal to.
pub(crate) fn signalled(process: u32, name: &str) -> bool {
    succeeded("kill", &["-s", name, &process.to_string()])
}

/// A command without a standard input and with the usual reaction to signals, whatever the tests themselves were started
/// with: what a shell starts in the background ignores an interrupt, and so does all that it starts.
pub(crate) fn reacting(command: &Command) -> Command {
    let mut plain = Command::new("env");
    plain.args(["-i", "--default-signal=INT,TERM,HUP"]);
    for (name, value) in command.get_envs().filter_map(|(name, value)| Some((name, value?))) {
        let mut variable = name.to_owned();
        variable.push("=");
        variable.push(value);
        plain.arg(variable);
    }
    plain.arg(command.get_program()).args(command.get_args());
    plain.stdin(Stdio::null());
    plain
}

/// Whether a process ignores one of the signals that stop a run; not if it is gone.
fn ignores_stop_signals(process: u32) -> bool {
    /// SIGHUP, SIGINT and SIGTERM: numbers 1, 2 and 15, in a mask whose lowest bit is number 1.
    const STOPS: u64 = 1 | 1 << 1 | 1 << 14;
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let mask = status.lines().find_map(|line| u64::from_str_radix(line.strip_prefix("SigIgn:")?.trim(), 16).ok());
    mask.is_some_and(|mask| mask & STOPS != 0)
}

/// A program that is stopped when its value is dropped.
pub(crate) struct Running(Option<Child>);

impl Running {
    pub(crate) fn start(command: &mut Command) -> Self {
        Self(Some(command.spawn().unwrap()))
    }

    /// Starts the program under test, which reacts to signals as usual: what is sent before `env` has seen to that would be
    /// lost where the tests themselves ignore it.
    pub(crate) fn assay(scratch: &Scratch, arguments: &str) -> Self {
        let mut plain = reacting(&command(scratch, arguments.split_whitespace()));
        let started = Self::start(plain.stdout(Stdio::piped()).stderr(Stdio::piped()));
        while ignores_stop_signals(started.id()) {
            std::thread::yield_now();
        }
        started
    }

    pub(crate) fn id(&self) -> u32 {
        self.0.as_ref().unwrap().id()
    }

    /// Waits for its end.
    pub(crate) fn output(mut self) -> Output {
        self.0.take().unwrap().wait_with_output().unwrap()
    }

    /// Waits for its end.
    pub(crate) fn end(self) -> Ran {
        self.output().into()
    }

    /// Its worker, as soon as it has one.
    pub(crate) fn worker(&self) -> u32 {
        let own = |process: &Process| process.parent == self.id();
        wait_for(PATIENCE, || workers().into_iter().find(own)).expect("a worker").id
    }

    /// Waits for its end; the most memory that any of its workers was seen to have, in bytes, too.
    pub(crate) fn memory_and_end(self) -> (u64, Ran) {
        let id = self.id();
        let looking = std::thread::spawn(move || {
            let mut most = 0;
            while Path::new("/proc").join(id.to_string()).exists() {
                let own = workers().into_iter().filter(|process| process.parent == id);
                most = own.map(|worker| most_memory(worker.id)).fold(most, u64::max);
                std::thread::sleep(PAUSE);
            }
            most
        });
        let ran = self.end();
        (looking.join().unwrap(), ran)
    }
}

/// Waits until the journal of a run, the only one that goes on in the store of `scratch`, holds so many samples; the
/// run's folder.
pub(crate) fn samples_in_journal(scratch: &Scratch, samples: usize) -> PathBuf {
    let look = || stored_runs(scratch).into_iter().find(|folder| journalled(folder) >= samples);
    wait_for(PATIENCE, look).unwrap_or_else(|| panic!("no {samples} samples in {:?}", stored_runs(scratch)))
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(mut child) = self.0.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Samples in the journal of a run's folder.
pub(crate) fn journalled(folder: &Path) -> usize {
    let text = fs::read_to_string(folder.join("journal.jsonl")).unwrap_or_default();
    text.lines().filter(|line| line.starts_with("{\"kind\":\"sample\"")).count()
}

/// The most memory that a process has had so far, in bytes; 0 of one that is gone.
fn most_memory(process: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB"));
    line.and_then(|kibibytes| kibibytes.parse::<u64>().ok()).map_or(0, |kibibytes| kibibytes << 10)
}

/// A process as /proc shows it.
#[derive(Debug)]
pub(crate) struct Process {
    id: u32,
    parent: u32,
}

/// The workers of the program under test that live.
fn workers() -> Vec<Process> {
    let own = fs::canonicalize(program()).unwrap();
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let processes = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    processes.filter(|id| is_worker(*id, &own)).filter_map(|id| Some(Process { id, parent: parent(id)? })).collect()
}

fn is_worker(process: u32, program: &Path) -> bool {
    let folder = Path::new("/proc").join(process.to_string());
    let arguments = fs::read(folder.join("cmdline")).unwrap_or_default();
    arguments.ends_with(b"\0worker\0") && fs::read_link(folder.join("exe")).is_ok_and(|exe| exe == program)
}

/// The parent of a process: the fourth field of its `stat`, the second after the name in parentheses.
fn parent(process: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

/// Asserts that no worker outlives the program that started it. One that a test beside started by hand is none.
#[track_caller]
pub(crate) fn assert_no_orphans() {
    let is_orphan = |worker: &Process| {
        if worker.parent == std::process::id() {
            return false;
        }
        let command = fs::read(format!("/proc/{}/comm", worker.parent)).unwrap_or_default();
        command != b"assay\n"
    };
    let mut orphans = Vec::new();
    let gone = wait_for(GONE, || {
        orphans = workers().into_iter().filter(is_orphan).collect();
        orphans.is_empty().then_some(())
    });
    assert!(gone.is_some(), "workers that were left behind: {orphans:?}");
}

/// A file system in memory at a folder of its own.
pub(crate) struct Tmpfs(PathBuf);

impl Tmpfs {
    /// Mounts one at `path`; `None` where that is not allowed.
    pub(crate) fn mount(path: PathBuf, options: &str) -> Option<Self> {
        fs::create_dir_all(&path).unwrap();
        let text = path.to_str().unwrap().to_owned();
        succeeded("mount", &["-t", "tmpfs", "-o", options, "assay-e2e", &text]).then_some(Self(path))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// Fills it to the last byte.
    pub(crate) fn fill(&self) {
        let filler = fs::File::create(self.0.join("filler")).unwrap();
        let full = std::io::copy(&mut std::io::repeat(0), &mut &filler).unwrap_err();
        assert_eq!(full.kind(), std::io::ErrorKind::StorageFull);
    }
}

impl Drop for Tmpfs {
    fn drop(&mut self) {
        succeeded("umount", &["-l", self.0.to_str().unwrap()]);
    }
}

/// A small file system in a file of its own, mounted at a folder of its own.
pub(crate) struct LoopDisk {
    mounted: PathBuf,
    image: PathBuf,
}

impl LoopDisk {
    /// Makes and mounts one of this kind; `None` where that is not allowed or its tools are missing.
    pub(crate) fn make(scratch: &Scratch, kind: &str, mebibytes: u64, options: &str) -> Option<Self> {
        Self::make_of(scratch, scratch.join(&format!("{kind}.image")), kind, mebibytes, options)
    }

    /// The same of a file at this place.
    pub(crate) fn make_of(
        scratch: &Scratch,
        image: PathBuf,
        kind: &str,
        mebibytes: u64,
        options: &str,
    ) -> Option<Self> {
        let mounted = scratch.join(kind);
        if !is_root() {
            return None;
        }
        fs::create_dir_all(&mounted).unwrap();
        fs::File::create(&image).unwrap().set_len(mebibytes << 20).unwrap();
        let image_text = image.to_str().unwrap();
        // Nothing of it is kept for the superuser, so that what is free is what a user can have.
        let special: &[&str] = match kind {
            "ext4" => &["-q", "-F", "-m0"],
            "vfat" => &["-F", "32"],
            _ => &["-q", "-f"],
        };
        let make = [special, &[image_text]].concat();
        let mount = format!("loop{}{options}", if options.is_empty() { "" } else { "," });
        let made = succeeded(&format!("mkfs.{kind}"), &make)
            && succeeded("mount", &["-t", kind, "-o", &mount, image_text, mounted.to_str().unwrap()]);
        made.then_some(Self { mounted, image })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.mounted
    }

    /// The number of its block device, `major:minor`.
    pub(crate) fn device(&self) -> String {
        let output = Command::new("mountpoint").arg("-d").arg(&self.mounted).output().unwrap();
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    /// What was written to its block device since that was made, in bytes.
    pub(crate) fn written_bytes(&self) -> u64 {
        assert!(succeeded("sync", &["-f", self.mounted.to_str().unwrap()]));
        let counts = fs::read_to_string(format!("/sys/dev/block/{}/stat", self.device())).unwrap();
        // The seventh count is of sectors of 512 bytes (`block/stat.rst` of the kernel).
        512 * counts.split_whitespace().nth(6).and_then(|sectors| sectors.parse::<u64>().ok()).expect("sectors written")
    }

    /// The file that its data is in.
    pub(crate) fn image(&self) -> &Path {
        &self.image
    }

    /// What is free of it, in bytes.
    pub(crate) fn free_bytes(&self) -> u64 {
        let output = Command::new("df").args(["-B1", "--output=avail"]).arg(&self.mounted).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        text.lines().nth(1).and_then(|line| line.trim().parse().ok()).expect("what df says is free")
    }

    /// Takes so much of it.
    pub(crate) fn take(&self, bytes: u64) {
        let path = self.mounted.join("taken");
        assert!(
            succeeded("fallocate", &["-l", &bytes.to_string(), path.to_str().unwrap()]),
            "cannot take {bytes} bytes"
        );
    }

    /// Makes every write to it wait until the value is dropped; `None` where that cannot be done.
    pub(crate) fn freeze(&self) -> Option<Frozen<'_>> {
        succeeded("fsfreeze", &["-f", self.mounted.to_str().unwrap()]).then_some(Frozen(&self.mounted))
    }

    /// Takes it away from the tree at once; who has files open keeps them.
    pub(crate) fn detach(&self) {
        assert!(
            succeeded("umount", &["-l", self.mounted.to_str().unwrap()]),
            "cannot unmount {}",
            self.mounted.display()
        );
    }
}

impl Drop for LoopDisk {
    fn drop(&mut self) {
        succeeded("umount", &["-l", self.mounted.to_str().unwrap()]);
    }
}

/// A small ext4 on a block device in memory, of our own.
pub(crate) struct Zram {
    number: u32,
    mounted: PathBuf,
}

impl Zram {
    /// Makes one and mounts it; `None` where that is not allowed or its tools are missing.
    pub(crate) fn make(scratch: &Scratch) -> Option<Self> {
        let control = Path::new("/sys/class/zram-control");
        let number = fs::read_to_string(control.join("hot_add")).ok()?.trim().parse().ok()?;
        let zram = Self { number, mounted: scratch.join("zram") };
        fs::create_dir_all(&zram.mounted).unwrap();
        let device = format!("/dev/{}", zram.name());
        let set = fs::write(format!("/sys/block/{}/disksize", zram.name()), "160M").is_ok();
        let made = set
            && succeeded("mkfs.ext4", &["-q", "-F", &device])
            && succeeded("mount", &["-t", "ext4", &device, zram.mounted.to_str().unwrap()]);
        made.then_some(zram)
    }

    pub(crate) fn name(&self) -> String {
        format!("zram{}", self.number)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.mounted
    }
}

impl Drop for Zram {
    fn drop(&mut self) {
        succeeded("umount", &[self.mounted.to_str().unwrap()]);
        let remove = || fs::write("/sys/class/zram-control/hot_remove", self.number.to_string()).ok();
        let _ = wait_for(GONE, remove);
    }
}

/// A file system that no write comes through to.
pub(crate) struct Frozen<'a>(&'a Path);

impl Drop for Frozen<'_> {
    fn drop(&mut self) {
        succeeded("fsfreeze", &["-u", self.0.to_str().unwrap()]);
    }
}

/// A folder that is mounted on itself, to read only.
pub(crate) struct ReadOnly<'a>(&'a Path);

impl<'a> ReadOnly<'a> {
    /// `None` where that is not allowed.
    pub(crate) fn mount(path: &'a Path) -> Option<Self> {
        let text = path.to_str().unwrap();
        let mounted = succeeded("mount", &["--bind", text, text]).then_some(Self(path))?;
        succeeded("mount", &["-o", "remount,bind,ro", text]).then_some(mounted)
    }
}

impl Drop for ReadOnly<'_> {
    fn drop(&mut self) {
        succeeded("umount", &["-l", self.0.to_str().unwrap()]);
    }
}

/// A folder that shows another one through an overlay.
pub(crate) struct Overlay(PathBuf);

impl Overlay {
    /// Mounts one whose parts are all made in the folder `below`; `None` where that is not allowed.
    pub(crate) fn mount(below: &Path) -> Option<Self> {
        let [lower, upper, work, mounted] = ["lower", "upper", "work", "mounted"].map(|name| below.join(name));
        for folder in [&lower, &upper, &work, &mounted] {
            fs::create_dir(folder).unwrap();
        }
        let options = format!("lowerdir={},upperdir={},workdir={}", lower.display(), upper.display(), work.display());
        let mount = ["-t", "overlay", "-o", &options, "assay-e2e", mounted.to_str().unwrap()];
        succeeded("mount", &mount).then_some(Self(mounted))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Overlay {
    fn drop(&mut self) {
        succeeded("umount", &["-l", self.0.to_str().unwrap()]);
    }
}

/// A folder that shows another one through a file system in user space.
pub(crate) struct Bound(PathBuf);

impl Bound {
    /// Mounts one at `path`, which is made; `None` where that is not allowed, or its tool is missing.
    pub(crate) fn mount(below: &Path, path: &Path) -> Option<Self> {
        fs::create_dir_all(path).unwrap();
        succeeded("bindfs", &[below.to_str().unwrap(), path.to_str().unwrap()]).then(|| Self(path.to_owned()))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Bound {
    fn drop(&mut self) {
        let path = self.0.to_str().unwrap();
        let _ = succeeded("umount", &["-l", path]) || succeeded("fusermount", &["-u", path]);
    }
}

/// A folder that nobody but the superuser may write to; writable again when dropped.
pub(crate) struct Locked<'a>(&'a Path);

impl<'a> Locked<'a> {
    pub(crate) fn new(path: &'a Path) -> Self {
        fs::set_permissions(path, fs::Permissions::from_mode(0o555)).unwrap();
        Self(path)
    }
}

impl Drop for Locked<'_> {
    fn drop(&mut self) {
        let _ = fs::set_permissions(self.0, fs::Permissions::from_mode(0o755));
    }
}

/// A control group of our own.
pub(crate) struct Cgroup {
    path: PathBuf,
    unified: bool,
}

/// Groups made so far.
static GROUPS: AtomicU32 = AtomicU32::new(0);

impl Cgroup {
    /// Makes a group under the controller, of version 1 or 2; `None` where that is not allowed.
    pub(crate) fn make(controller: &str) -> Option<Self> {
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

    /// Half a CPU for the group, and precedence over everybody else while it has not used it up.
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

    /// Commands of a shell that set a quota of half a CPU and lift it.
    pub(crate) fn quota_commands(&self) -> [String; 2] {
        let path = self.path.display();
        if self.unified {
            [format!("echo '50000 100000' > {path}/cpu.max"), format!("echo 'max 100000' > {path}/cpu.max")]
        } else {
            [format!("echo 50000 > {path}/cpu.cfs_quota_us"), format!("echo -1 > {path}/cpu.cfs_quota_us")]
        }
    }

    /// Precedence for the group over everybody else, without a quota.
    pub(crate) fn put_first(&self) {
        if self.unified { self.set("cpu.weight", "10000") } else { self.set("cpu.shares", "262144") }
    }

    /// As much of the CPUs again as there is.
    pub(crate) fn lift_quota(&self) {
        if self.unified { self.set("cpu.max", "max 100000") } else { self.set("cpu.cfs_quota_us", "-1") }
    }

    /// So much memory for the group.
    pub(crate) fn allow_memory(&self, bytes: u64) {
        self.set(if self.unified { "memory.max" } else { "memory.limit_in_bytes" }, &bytes.to_string());
    }

    /// So many reads a second of a block device, by its number (`major:minor`).
    pub(crate) fn allow_reads(&self, device: &str, per_second: u32) {
        if self.unified {
            self.set("io.max", &format!("{device} riops={per_second}"));
        } else {
            self.set("blkio.throttle.read_iops_device", &format!("{device} {per_second}"));
        }
    }

    /// So many requests and bytes a second of a block device, by its number (`major:minor`), of reads and of writes each.
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

    /// `program` with these arguments, inside the group.
    pub(crate) fn command(&self, program: &Path, arguments: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", "echo $$ > \"$0\" && exec \"$@\""]).arg(self.path.join("cgroup.procs"));
        command.arg(program).args(arguments.split_whitespace());
        command
    }

    /// The program under test, inside the group.
    pub(crate) fn assay(&self, scratch: &Scratch, arguments: &str) -> Command {
        wrapped(scratch, self.command(&program(), arguments))
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        // What has just ended may still be counted for a moment.
        let _ = wait_for(GONE, || fs::remove_dir(&self.path).ok());
    }
}

/// A command that starts the program under test through another program, with the usual environment.
pub(crate) fn wrapped(scratch: &Scratch, mut wrapper: Command) -> Command {
    let usual = command(scratch, [""; 0]);
    let variables = usual.get_envs().filter_map(|(name, value)| Some((name, value?)));
    wrapper.env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin").envs(variables);
    wrapper.stdin(Stdio::null());
    wrapper
}

/// The program under test, started by a line of shell in which it is `"$@"`.
pub(crate) fn through_shell(scratch: &Scratch, line: &str, arguments: &str) -> Command {
    let mut shell = Command::new("sh");
    shell.args(["-c", line, "sh"]).arg(program()).args(arguments.split_whitespace());
    wrapped(scratch, shell)
}
