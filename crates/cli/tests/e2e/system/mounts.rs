//! File systems and devices that a test mounts, unmounted when dropped.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::{Scratch, is_root, skipped};
use crate::system::process::{GONE, succeeded, wait_for};

pub(crate) struct Tmpfs(PathBuf);

impl Tmpfs {
    /// Mounts one at `path` for `what`, which is skipped where that is not allowed.
    pub(crate) fn mount(what: &str, path: PathBuf, options: &str) -> Option<Self> {
        fs::create_dir_all(&path).unwrap();
        let text = path.to_str().unwrap().to_owned();
        let mounted = succeeded("mount", &["-t", "tmpfs", "-o", options, "assay-e2e", &text]).then_some(Self(path));
        mounted.or_else(|| skipped(what, "mounting is not allowed"))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

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

/// A small file system in an image file.
pub(crate) struct LoopDisk {
    mounted: PathBuf,
    image: PathBuf,
}

impl LoopDisk {
    /// Makes and mounts one for `what`, which is skipped where that is impossible.
    pub(crate) fn make(what: &str, scratch: &Scratch, kind: &str, mebibytes: u64, options: &str) -> Option<Self> {
        let made = Self::try_make(scratch, kind, mebibytes, options);
        made.or_else(|| skipped(what, &format!("it needs the superuser, mkfs.{kind} and a loop device")))
    }

    pub(crate) fn try_make(scratch: &Scratch, kind: &str, mebibytes: u64, options: &str) -> Option<Self> {
        Self::make_of(scratch, scratch.join(&format!("{kind}.image")), kind, mebibytes, options)
    }

    /// The same with the image at this path.
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
        // Nothing is reserved for root, so that all free space is usable.
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

    pub(crate) fn device(&self) -> String {
        let output = Command::new("mountpoint").arg("-d").arg(&self.mounted).output().unwrap();
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    /// Bytes written to its block device so far.
    pub(crate) fn written_bytes(&self) -> u64 {
        assert!(succeeded("sync", &["-f", self.mounted.to_str().unwrap()]));
        let counts = fs::read_to_string(format!("/sys/dev/block/{}/stat", self.device())).unwrap();
        // The seventh count is of sectors of 512 bytes (`block/stat.rst` of the kernel).
        512 * counts.split_whitespace().nth(6).and_then(|sectors| sectors.parse::<u64>().ok()).expect("sectors written")
    }

    pub(crate) fn image(&self) -> &Path {
        &self.image
    }

    pub(crate) fn free_bytes(&self) -> u64 {
        let output = Command::new("df").args(["-B1", "--output=avail"]).arg(&self.mounted).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        text.lines().nth(1).and_then(|line| line.trim().parse().ok()).expect("what df says is free")
    }

    pub(crate) fn take(&self, bytes: u64) {
        let path = self.mounted.join("taken");
        assert!(
            succeeded("fallocate", &["-l", &bytes.to_string(), path.to_str().unwrap()]),
            "cannot take {bytes} bytes"
        );
    }

    /// Blocks every write until the value is dropped; `None` where that is impossible.
    pub(crate) fn freeze(&self) -> Option<Frozen<'_>> {
        succeeded("fsfreeze", &["-f", self.mounted.to_str().unwrap()]).then_some(Frozen(&self.mounted))
    }

    /// Unmounts it lazily: open files stay.
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

/// A small ext4 on a zram device.
pub(crate) struct Zram {
    number: u32,
    mounted: PathBuf,
}

impl Zram {
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

/// A file system whose writes are blocked.
pub(crate) struct Frozen<'a>(&'a Path);

impl Drop for Frozen<'_> {
    fn drop(&mut self) {
        succeeded("fsfreeze", &["-u", self.0.to_str().unwrap()]);
    }
}

/// A folder that is bind-mounted read-only.
pub(crate) struct ReadOnly<'a>(&'a Path);

impl<'a> ReadOnly<'a> {
    /// Mounts it for `what`, which is skipped where that is not allowed.
    pub(crate) fn mount(what: &str, path: &'a Path) -> Option<Self> {
        let text = path.to_str().unwrap();
        let mounted = succeeded("mount", &["--bind", text, text]).then_some(Self(path));
        let mounted = mounted.filter(|_| succeeded("mount", &["-o", "remount,bind,ro", text]));
        mounted.or_else(|| skipped(what, "mounting is not allowed"))
    }
}

impl Drop for ReadOnly<'_> {
    fn drop(&mut self) {
        succeeded("umount", &["-l", self.0.to_str().unwrap()]);
    }
}

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

/// A folder mounted through a FUSE file system.
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

/// A folder without write permission until dropped.
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
