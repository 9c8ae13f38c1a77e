//! A loop device with a file system, for disk benchmarks whose requests need no exit to the hypervisor.
//!
//! On a virtual disk the exit dominates the CPU time of a request at queue depth 1, equally for every program. On a loop device a
//! kernel thread does that work, which leaves the program's own overhead. It does not measure the disk.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use xtask::process::{is_there, succeeds};
use xtask::shell::Shell;

const NEEDED: &[(&str, &str)] = &[
    ("fallocate", "--version"),
    ("losetup", "--version"),
    ("mkfs.ext4", "-V"),
    ("mount", "--version"),
    ("mountpoint", "--version"),
    ("setpriv", "--version"),
];

/// The test file of 1 GiB, and the space that `assay` leaves free.
const SIZE: &str = "4G";

/// Starts a program that ends when this one is killed: while it runs, nobody can remove the device.
pub(super) const TIED_TO_US: &[&str] = &["setpriv", "--pdeathsig", "TERM"];

pub(super) struct LoopDisk<'a> {
    shell: &'a Shell,
    folder: PathBuf,
    /// Locked while this process lives: a free lock means that the folder's owner is gone.
    _lock: File,
}

impl<'a> LoopDisk<'a> {
    pub(super) fn make(shell: &'a Shell, below: &Path) -> Result<Self, String> {
        if !NEEDED.iter().all(|(program, ask)| is_there(&mut shell.command(program, &[ask]))) {
            return Err(
                "--loop needs losetup, mount, setpriv and mkfs.ext4 (as root on Debian: apt-get install mount \
                        util-linux e2fsprogs)"
                    .to_owned(),
            );
        }
        for sentence in sweep(shell, below) {
            report(&sentence);
        }
        let folder = crate::record::fresh_folder(below);
        fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        let lock = lock(&folder).ok_or_else(|| format!("{} cannot be locked", folder.display()))?;
        let disk = Self { shell, folder, _lock: lock };
        let image = parts(&disk.folder)[1].display().to_string();
        disk.step("fallocate", &["--length", SIZE, &image])?;
        disk.step("mkfs.ext4", &["-q", &image])?;
        let attach = ["--find", "--show", "--direct-io=on", &image];
        let device = run(shell, "losetup", &attach).map_err(|reason| format!("--loop needs root: {reason}"))?;
        let root = disk.root();
        fs::create_dir_all(&root).map_err(|error| format!("{}: {error}", root.display()))?;
        disk.step("mount", &[&device, &root.display().to_string()])?;
        Ok(disk)
    }

    pub(super) fn root(&self) -> PathBuf {
        self.folder.join(PARTS[0])
    }

    fn step(&self, program: &str, arguments: &[&str]) -> Result<(), String> {
        let done = succeeds(&mut self.shell.command(program, arguments));
        if done { Ok(()) } else { Err(format!("--loop: '{program} {}' failed", arguments.join(" "))) }
    }
}

impl Drop for LoopDisk<'_> {
    fn drop(&mut self) {
        if let Err(reason) = take_down(self.shell, &self.folder) {
            report(&format!("cannot remove {}: {reason}", self.folder.display()));
        }
    }
}

/// What a folder has: the mount point, the file below the device, the lock.
const PARTS: [&str; 3] = ["mounted", "image", "loop-disk.lock"];

fn parts(folder: &Path) -> [PathBuf; 3] {
    PARTS.map(|part| folder.join(part))
}

fn lock(folder: &Path) -> Option<File> {
    let file = File::options().create(true).truncate(false).write(true).open(&parts(folder)[2]).ok()?;
    file.try_lock().ok().map(|()| file)
}

/// Removes what killed runs left below a folder; a sentence for each.
fn sweep(shell: &Shell, below: &Path) -> Vec<String> {
    let folders = fs::read_dir(below).into_iter().flatten().flatten();
    let folders = folders.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())).map(|entry| entry.path());
    // The folders of runs are in the same place and have none of these parts.
    let left = folders.filter(|folder| parts(folder).iter().any(|part| part.exists()));
    let sentences = left.filter_map(|folder| {
        let _lock = lock(&folder)?;
        let name = folder.display();
        Some(match take_down(shell, &folder) {
            Ok(()) => format!("removed {name}, the loop device of a killed run"),
            Err(reason) => format!("cannot remove {name}, the loop device of a killed run: {reason}"),
        })
    });
    sentences.collect()
}

/// Undoes what was made in a folder. It looks for each part, because a signal may have ended a step after its effect.
fn take_down(shell: &Shell, folder: &Path) -> Result<(), String> {
    let [root, image, lock] = parts(folder);
    let mounted = root.display().to_string();
    if is_there(&mut shell.command("mountpoint", &["-q", &mounted])) {
        run(shell, "umount", &[&mounted])?;
    }
    for device in devices(shell, &image) {
        run(shell, "losetup", &["--detach", &device])?;
    }
    // Removes only its own files, never the content of a folder: a file system that is still mounted stays whole.
    for path in [root, image, lock, folder.to_owned()] {
        let _ = fs::remove_file(&path).or_else(|_| fs::remove_dir(&path));
    }
    if folder.exists() { Err("it has files of another origin".to_owned()) } else { Ok(()) }
}

/// The loop devices on a file.
fn devices(shell: &Shell, image: &Path) -> Vec<String> {
    let query = ["--associated", &image.display().to_string(), "--noheadings", "--output", "NAME"];
    let text = run(shell, "losetup", &query).unwrap_or_default();
    text.split_whitespace().map(str::to_owned).collect()
}

/// Runs a command; what it printed.
fn run(shell: &Shell, program: &str, arguments: &[&str]) -> Result<String, String> {
    let output = shell.command(program, arguments).output().map_err(|error| format!("{program}: {error}"))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    if output.status.success() { Ok(text(&output.stdout)) } else { Err(format!("{program}: {}", text(&output.stderr))) }
}

/// Prints without failing: a closed terminal must not prevent the removal of the device.
fn report(sentence: &str) {
    let _ = writeln!(std::io::stdout(), "peers: {sentence}");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(path: &Path, parts: &[&str]) -> PathBuf {
        fs::create_dir_all(path).unwrap();
        for part in parts {
            let path = path.join(part);
            if part.ends_with('/') { fs::create_dir_all(path).unwrap() } else { fs::write(path, "x").unwrap() }
        }
        path.to_owned()
    }

    #[test]
    fn only_the_devices_of_killed_runs_are_removed() {
        let below = std::env::temp_dir().join(format!("loop-disks-{}", std::process::id()));
        let _ = fs::remove_dir_all(&below);
        let killed = folder(&below.join("1"), &["image", "mounted/", "loop-disk.lock"]);
        let killed_early = folder(&below.join("2"), &["loop-disk.lock"]);
        let without_lock = folder(&below.join("3"), &["image", "mounted/"]);
        let run = folder(&below.join("4"), &["run.json", "raw/", "raw/image"]);
        let living = folder(&below.join("5"), &["image", "mounted/"]);
        let held = lock(&living).unwrap();
        let with_files = folder(&below.join("6"), &["mounted/", "mounted/file"]);
        let shell = Shell::at_root();
        let sentences = sweep(&shell, &below);
        let gone = sentences.iter().filter(|sentence| sentence.starts_with("removed")).count();
        assert_eq!((sentences.len(), gone), (4, 3), "{sentences:?}");
        for gone in [killed, killed_early, without_lock] {
            assert!(!gone.exists(), "{}", gone.display());
        }
        for stays in
            [run.join("run.json"), run.join("raw/image"), living.join("image"), with_files.join("mounted/file")]
        {
            assert!(stays.exists(), "{}", stays.display());
        }
        drop(held);
        fs::remove_dir_all(with_files).unwrap();
        assert_eq!(sweep(&shell, &below).len(), 1, "its owner is gone");
        assert!(!living.exists() && sweep(&shell, &below.join("nowhere")).is_empty());
        fs::remove_dir_all(&below).unwrap();
    }
}
