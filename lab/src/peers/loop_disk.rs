//! A loop device with a file system on it, for disk rows whose requests need no exit from a virtual machine.
//!
//! On a virtual disk whoever makes a request pays for telling the hypervisor of it: with one in flight that is most of
//! what a request costs the processor, the same for every program. A loop device hands requests to a thread of the kernel
//! instead, which pays. What is left is the program and the kernel's way for it, as on a drive of one's own. It says
//! nothing of how fast a disk is.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use xtask::process::{is_there, succeeds};
use xtask::shell::Shell;

/// What is needed, and how to ask whether it is here.
const NEEDED: &[(&str, &str)] = &[
    ("fallocate", "--version"),
    ("losetup", "--version"),
    ("mkfs.ext4", "-V"),
    ("mount", "--version"),
    ("mountpoint", "--version"),
    ("setpriv", "--version"),
];

/// Bytes of the file below: the test file of 1 GiB, and what `assay` leaves free.
const SIZE: &str = "4G";

/// The words before a program that works on the device: it is told to end when we are killed, since as long as it runs
/// nobody can take the device down.
pub(super) const TIED_TO_US: &[&str] = &["setpriv", "--pdeathsig", "TERM"];

/// The device and its file system, until it is dropped.
pub(super) struct LoopDisk<'a> {
    shell: &'a Shell,
    folder: PathBuf,
    /// Locked as long as we live: a folder whose lock can be had belongs to nobody.
    _lock: File,
}

impl<'a> LoopDisk<'a> {
    /// Makes them in a folder of its own below this one, from which what killed runs left is taken away first.
    ///
    /// # Errors
    /// One sentence: what it needs is not here, or a step failed. What was made by then is gone.
    pub(super) fn make(shell: &'a Shell, below: &Path) -> Result<Self, String> {
        if !NEEDED.iter().all(|(program, ask)| is_there(&mut shell.command(program, &[ask]))) {
            return Err(
                "--loop needs losetup, mount, setpriv and mkfs.ext4 (as root on Debian: apt-get install mount \
                        util-linux e2fsprogs)"
                    .to_owned(),
            );
        }
        for sentence in sweep(shell, below) {
            say(&sentence);
        }
        let folder = super::shared::fresh_folder(below);
        fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        let lock = lock(&folder).ok_or_else(|| format!("{} cannot be locked", folder.display()))?;
        let disk = Self { shell, folder, _lock: lock };
        let image = image(&disk.folder).display().to_string();
        disk.step("fallocate", &["--length", SIZE, &image])?;
        disk.step("mkfs.ext4", &["-q", &image])?;
        let attach = ["--find", "--show", "--direct-io=on", &image];
        let said = shell.command("losetup", &attach).output().map_err(|error| format!("losetup: {error}"))?;
        let device = String::from_utf8_lossy(&said.stdout).trim().to_owned();
        if !said.status.success() || device.is_empty() {
            return Err(format!("--loop needs root: losetup: {}", String::from_utf8_lossy(&said.stderr).trim()));
        }
        let root = disk.root();
        fs::create_dir_all(&root).map_err(|error| format!("{}: {error}", root.display()))?;
        disk.step("mount", &[&device, &root.display().to_string()])?;
        Ok(disk)
    }

    /// Where its file system is.
    pub(super) fn root(&self) -> PathBuf {
        root(&self.folder)
    }

    fn step(&self, program: &str, arguments: &[&str]) -> Result<(), String> {
        let done = succeeds(&mut self.shell.command(program, arguments));
        if done { Ok(()) } else { Err(format!("--loop: '{program} {}' failed", arguments.join(" "))) }
    }
}

impl Drop for LoopDisk<'_> {
    fn drop(&mut self) {
        if let Err(reason) = take_down(self.shell, &self.folder) {
            say(&format!("{} stays: {reason}", self.folder.display()));
        }
    }
}

fn root(folder: &Path) -> PathBuf {
    folder.join("mounted")
}

fn image(folder: &Path) -> PathBuf {
    folder.join("image")
}

fn lock_file(folder: &Path) -> PathBuf {
    folder.join("loop-disk.lock")
}

/// The lock of a folder, if nobody has it. The kernel gives it back however its holder ends.
fn lock(folder: &Path) -> Option<File> {
    let file = File::options().create(true).truncate(false).write(true).open(lock_file(folder)).ok()?;
    file.try_lock().ok().map(|()| file)
}

/// Takes away what runs that were killed left below a folder; a sentence of each.
fn sweep(shell: &Shell, below: &Path) -> Vec<String> {
    let folders = fs::read_dir(below).into_iter().flatten().flatten();
    let folders = folders.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())).map(|entry| entry.path());
    // The folders of runs lie beside them and hold none of these.
    let left = folders.filter(|folder| [root, image, lock_file].iter().any(|part| part(folder).exists()));
    let sentences = left.filter_map(|folder| {
        let _lock = lock(&folder)?;
        let name = folder.display();
        Some(match take_down(shell, &folder) {
            Ok(()) => format!("{name}, the loop device of a run that was killed, is taken away"),
            Err(reason) => format!("{name}, the loop device of a run that was killed, stays: {reason}"),
        })
    });
    sentences.collect()
}

/// Undoes what was made in a folder, however far that had come: what there is is looked at and not remembered, since
/// a signal may have ended a step that had done its work.
fn take_down(shell: &Shell, folder: &Path) -> Result<(), String> {
    let (root, image) = (root(folder), image(folder));
    let mounted = root.display().to_string();
    if is_there(&mut shell.command("mountpoint", &["-q", &mounted])) {
        undo(shell, "umount", &[&mounted])?;
    }
    for device in devices(shell, &image) {
        undo(shell, "losetup", &["--detach", &device])?;
    }
    // Only what was made here is removed, and never what a folder holds: a file system that is still there stays whole.
    for path in [root, image, lock_file(folder), folder.to_owned()] {
        let _ = fs::remove_file(&path).or_else(|_| fs::remove_dir(&path));
    }
    if folder.exists() { Err("it holds files that are not of this command".to_owned()) } else { Ok(()) }
}

/// The loop devices on a file.
fn devices(shell: &Shell, image: &Path) -> Vec<String> {
    let ask = ["--associated", &image.display().to_string(), "--noheadings", "--output", "NAME"];
    let said = shell.command("losetup", &ask).output();
    let text = said.map(|said| String::from_utf8_lossy(&said.stdout).into_owned()).unwrap_or_default();
    text.lines().map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

fn undo(shell: &Shell, program: &str, arguments: &[&str]) -> Result<(), String> {
    let said = shell.command(program, arguments).output().map_err(|error| format!("{program}: {error}"))?;
    if said.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&said.stderr).trim().to_owned()) }
}

/// Says it if there is still somebody to say it to: a terminal that was closed must not keep us from taking down.
fn say(sentence: &str) {
    let _ = writeln!(std::io::stdout(), "peers: {sentence}");
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder with these in it: those that end in `/` are folders.
    fn folder(path: &Path, parts: &[&str]) -> PathBuf {
        fs::create_dir_all(path).unwrap();
        for part in parts {
            let path = path.join(part);
            if part.ends_with('/') { fs::create_dir_all(path).unwrap() } else { fs::write(path, "x").unwrap() }
        }
        path.to_owned()
    }

    #[test]
    fn what_killed_runs_left_goes_and_everything_else_stays() {
        let below = std::env::temp_dir().join(format!("loop-disks-{}", std::process::id()));
        let _ = fs::remove_dir_all(&below);
        let killed = folder(&below.join("1"), &["image", "mounted/", "loop-disk.lock"]);
        let killed_at_once = folder(&below.join("2"), &["loop-disk.lock"]);
        let before_there_were_locks = folder(&below.join("3"), &["image", "mounted/"]);
        let run = folder(&below.join("4"), &["run.json", "raw/", "raw/image"]);
        let living = folder(&below.join("5"), &["image", "mounted/"]);
        let held = lock(&living).unwrap();
        let with_files = folder(&below.join("6"), &["mounted/", "mounted/file"]);
        let shell = Shell::at_root();
        let sentences = sweep(&shell, &below);
        let gone = sentences.iter().filter(|sentence| sentence.ends_with("is taken away")).count();
        assert_eq!((sentences.len(), gone), (4, 3), "{sentences:?}");
        for gone in [killed, killed_at_once, before_there_were_locks] {
            assert!(!gone.exists(), "{}", gone.display());
        }
        for stays in
            [run.join("run.json"), run.join("raw/image"), living.join("image"), with_files.join("mounted/file")]
        {
            assert!(stays.exists(), "{}", stays.display());
        }
        drop(held);
        fs::remove_dir_all(with_files).unwrap();
        assert_eq!(sweep(&shell, &below).len(), 1, "its holder is gone");
        assert!(!living.exists() && sweep(&shell, &below.join("nowhere")).is_empty());
        fs::remove_dir_all(&below).unwrap();
    }
}
