//! A loop device with a file system on it, for disk rows whose requests need no exit from a virtual machine.
//!
//! On a virtual disk whoever makes a request pays for telling the hypervisor of it: with one in flight that is most of
//! what a request costs the processor, the same for every program. A loop device hands requests to a thread of the kernel
//! instead, which pays. What is left is the program and the kernel's way for it, as on a drive of one's own. It says
//! nothing of how fast a disk is.

use std::path::{Path, PathBuf};

use crate::shell::{Shell, is_there, succeeds};

/// What is needed, and how to ask whether it is here.
const NEEDED: &[(&str, &str)] =
    &[("fallocate", "--version"), ("losetup", "--version"), ("mkfs.ext4", "-V"), ("mount", "--version")];

/// Bytes of the file below: the test file of 1 GiB, and what `assay` leaves free.
const SIZE: &str = "4G";

/// The device and its file system, until it is dropped.
pub(super) struct LoopDisk<'a> {
    shell: &'a Shell,
    folder: PathBuf,
    device: Option<String>,
    mounted: bool,
}

impl<'a> LoopDisk<'a> {
    /// Makes them in a folder that is not there yet.
    ///
    /// # Errors
    /// One sentence: what it needs is not here, or a step failed. What was made by then is gone.
    pub(super) fn make(shell: &'a Shell, folder: PathBuf) -> Result<Self, String> {
        if !NEEDED.iter().all(|(program, ask)| is_there(&mut shell.command(program, &[ask]))) {
            return Err(
                "--loop needs losetup, mount and mkfs.ext4 (as root on Debian: apt-get install mount e2fsprogs)"
                    .to_owned(),
            );
        }
        std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        let mut disk = Self { shell, folder, device: None, mounted: false };
        let image = disk.image().display().to_string();
        disk.step("fallocate", &["--length", SIZE, &image])?;
        disk.step("mkfs.ext4", &["-q", &image])?;
        let attach = ["--find", "--show", "--direct-io=on", &image];
        let said = shell.command("losetup", &attach).output().map_err(|error| format!("losetup: {error}"))?;
        let device = String::from_utf8_lossy(&said.stdout).trim().to_owned();
        if !said.status.success() || device.is_empty() {
            return Err(format!("--loop needs root: losetup: {}", String::from_utf8_lossy(&said.stderr).trim()));
        }
        disk.device = Some(device.clone());
        let root = disk.root();
        std::fs::create_dir_all(&root).map_err(|error| format!("{}: {error}", root.display()))?;
        disk.step("mount", &[&device, &root.display().to_string()])?;
        disk.mounted = true;
        Ok(disk)
    }

    /// Where its file system is.
    pub(super) fn root(&self) -> PathBuf {
        self.folder.join("mounted")
    }

    fn image(&self) -> PathBuf {
        self.folder.join("image")
    }

    fn step(&self, program: &str, arguments: &[&str]) -> Result<(), String> {
        let done = succeeds(&mut self.shell.command(program, arguments));
        if done { Ok(()) } else { Err(format!("--loop: '{program} {}' failed", arguments.join(" "))) }
    }

    fn undo(&self, program: &str, arguments: &[&str]) {
        if let Err(error) = self.step(program, arguments) {
            println!("peers: {error}; what was made stays in {}", self.folder.display());
        }
    }
}

impl Drop for LoopDisk<'_> {
    fn drop(&mut self) {
        let root = self.root().display().to_string();
        if self.mounted {
            self.undo("umount", &[&root]);
        }
        if let Some(device) = &self.device {
            self.undo("losetup", &["--detach", device]);
        }
        let gone = |path: &Path| std::fs::remove_file(path).or_else(|_| std::fs::remove_dir(path));
        // The file system is empty or gone: only what was made here is removed, and never a mounted one.
        for path in [self.root(), self.image(), self.folder.clone()] {
            let _ = gone(&path);
        }
    }
}
