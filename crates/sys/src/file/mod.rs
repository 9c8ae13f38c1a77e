//! Files for measuring storage: how they are created and opened, their file system and their blocks.

mod cache;
mod extents;
mod guarded;

use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::{
    AtFlags, FallocateFlags, IFlags, OFlags, StatVfsMountFlags, Statx, StatxAttributes, StatxFlags, fallocate,
    fcntl_getfl, ioctl_getflags, ioctl_setflags, statfs, statvfs,
};
use rustix::io::{Errno, retry_on_intr};

use crate::calls::unless_unknown;

pub use cache::{cached_bytes, drop_all_cached, drop_cached};
pub use extents::{Extents, extents};
pub use guarded::{Directory, is_only_ours, is_own, open_regular, open_regular_to_append, read_regular};

/// Size, free space and type of a file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Space {
    /// All of it, in bytes.
    pub total_bytes: u64,
    /// What users without privilege may still write, in bytes. A quota may leave less.
    pub available_bytes: u64,
    /// The number of the type (`f_type`; the names are in linux/magic.h).
    pub magic: u64,
    /// Whether it is mounted read-only.
    pub read_only: bool,
}

pub fn space(path: &Path) -> io::Result<Space> {
    let (kind, sizes) = (retry_on_intr(|| statfs(path))?, retry_on_intr(|| statvfs(path))?);
    Ok(Space {
        total_bytes: sizes.f_blocks.saturating_mul(sizes.f_frsize),
        available_bytes: sizes.f_bavail.saturating_mul(sizes.f_frsize),
        magic: u64::try_from(kind.f_type).unwrap_or(0),
        read_only: sizes.f_flag.contains(StatVfsMountFlags::RDONLY),
    })
}

/// Creates an unnamed file in `directory`, to read and write: it is removed when the last process that has it open
/// ends. Other processes of the same user open it as `/proc/PID/fd/N`.
///
/// Without unnamed files it is created under `fallback_name`, if free, and unlinked at once. Only its owner may open it.
pub fn unnamed(directory: &Path, fallback_name: &OsStr) -> io::Result<File> {
    nameless(directory)?.map_or_else(|| create_and_unlink(directory, fallback_name), Ok)
}

/// The same without a fallback, so that there is no name at any time; `None` if the file system has no unnamed files.
pub fn nameless(directory: &Path) -> io::Result<Option<File>> {
    // O_EXCL: it can never get a name.
    match owner_only().custom_flags(libc::O_TMPFILE | libc::O_EXCL).open(directory) {
        Err(error) if lacks_unnamed_files(&error) => Ok(None),
        other => other.map(Some),
    }
}

fn owner_only() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true).mode(0o600);
    options
}

/// Whether this means that there are no unnamed files: `EISDIR` is how kernels before 3.11 see a directory for writing.
fn lacks_unnamed_files(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EOPNOTSUPP | libc::EISDIR | libc::EINVAL | libc::ENOSYS))
}

fn create_and_unlink(directory: &Path, name: &OsStr) -> io::Result<File> {
    if Path::new(name).file_name() != Some(name) {
        let text = format!("\"{}\" is not the plain name of a file", name.display());
        return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
    }
    let path = directory.join(name);
    let file = owner_only().create_new(true).custom_flags(libc::O_NOFOLLOW).open(&path)?;
    std::fs::remove_file(&path)?;
    Ok(file)
}

/// Opens an existing file for reading or (`write`) for both; with `direct` past the page cache (`O_DIRECT`), with
/// `dsync` so that a write ends when the data are on the medium (`O_DSYNC`). Follows `/proc/PID/fd/N`. Fails with
/// `EINVAL` if the file system has no direct I/O.
pub fn open(path: &Path, write: bool, direct: bool, dsync: bool) -> io::Result<File> {
    open_with(path, write, direct, if dsync { libc::O_DSYNC } else { 0 })
}

/// Opens like [`open`], but a write ends when the data and the file's metadata are on the medium (`O_SYNC`).
pub fn open_synchronous(path: &Path, direct: bool) -> io::Result<File> {
    open_with(path, true, direct, libc::O_SYNC)
}

fn open_with(path: &Path, write: bool, direct: bool, flags: libc::c_int) -> io::Result<File> {
    let flags = flags | if direct { libc::O_DIRECT } else { 0 };
    OpenOptions::new().read(true).write(write).custom_flags(flags).open(path)
}

/// Whether a file was opened past the page cache; the file system may still use it.
pub fn is_direct(file: &File) -> io::Result<bool> {
    Ok(fcntl_getfl(file)?.contains(OFlags::DIRECT))
}

/// Whether the device of a file has queues that can be polled for completions (`queue/io_poll` in the kernel's list of
/// devices below `sysfs`); false if the file is on no device or its driver does not report it.
pub fn has_polled_queues(file: &File, sysfs: &Path) -> bool {
    let Ok(device) = file.metadata().map(|metadata| metadata.dev()) else { return false };
    let directory = sysfs.join(format!("dev/block/{}:{}", libc::major(device), libc::minor(device)));
    // A partition has no queue of its own; its disk is the directory above it.
    let Ok(directory) = directory.canonicalize() else { return false };
    let disks = [Some(directory.as_path()), directory.parent()];
    let setting = disks.into_iter().flatten().find_map(|disk| std::fs::read_to_string(disk.join("queue/io_poll")).ok());
    setting.is_some_and(|setting| setting.trim() == "1")
}

/// The alignment that direct I/O on a file needs, in bytes; both 0 if the file has no direct I/O.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DirectAlignment {
    /// The address in memory.
    pub memory_bytes: u32,
    /// The offset in the file, and the length.
    pub offset_bytes: u32,
}

/// The alignment that direct I/O on this file needs; `None` if the kernel (before 6.1) or the file system reports none.
pub fn direct_alignment(file: &File) -> io::Result<Option<DirectAlignment>> {
    // qemu-user passes the kernel's mask on and leaves fields newer than Linux 4.11 zero, a mount's number among them.
    let asked = StatxFlags::DIOALIGN | StatxFlags::MNT_ID;
    let answer = statx(file, asked)?.filter(|answer| answer.stx_mask & asked.bits() == asked.bits());
    let answer = answer.filter(|answer| answer.stx_mnt_id != 0);
    Ok(answer.map(|answer| DirectAlignment {
        memory_bytes: answer.stx_dio_mem_align,
        offset_bytes: answer.stx_dio_offset_align,
    }))
}

/// Whether the file system compresses the file; `None` if the kernel (before 4.11) or the file system does not say.
pub fn is_compressed(file: &File) -> io::Result<Option<bool>> {
    let Some(answer) = statx(file, StatxFlags::BASIC_STATS)? else { return Ok(None) };
    let compressed = StatxAttributes::COMPRESSED;
    Ok(answer.stx_attributes_mask.contains(compressed).then(|| answer.stx_attributes.contains(compressed)))
}

/// The kernel's description of an open file; `None` if the kernel lacks the call.
fn statx(file: &File, mask: StatxFlags) -> io::Result<Option<Statx>> {
    match retry_on_intr(|| rustix::fs::statx(file, c"", AtFlags::EMPTY_PATH, mask)) {
        Err(Errno::NOSYS) => Ok(None),
        other => Ok(Some(other?)),
    }
}

/// Makes the file at least `bytes` long and reserves its blocks, so that no later write finds the disk full. Fails with
/// `ErrorKind::Unsupported` if the file system cannot, and `ENOSPC` if there is too little space.
pub fn reserve(file: &File, bytes: u64) -> io::Result<()> {
    retry_on_intr(|| fallocate(file, FallocateFlags::empty(), 0, bytes)).map_err(|error| match error {
        Errno::OPNOTSUPP | Errno::NOSYS => {
            io::Error::new(io::ErrorKind::Unsupported, "the file system cannot reserve blocks")
        }
        other => other.into(),
    })
}

/// Requests that the file, which must still be empty, be overwritten in place and without checksums; whether that is
/// now in force. Always `false` on a file system without copy-on-write.
pub fn refuse_copy_on_write(file: &File) -> io::Result<bool> {
    let set = || -> Result<IFlags, Errno> {
        let flags = retry_on_intr(|| ioctl_getflags(file))?;
        retry_on_intr(|| ioctl_setflags(file, flags | IFlags::NOCOW))?;
        retry_on_intr(|| ioctl_getflags(file))
    };
    Ok(unless_unknown(set().map_err(io::Error::from))?.is_some_and(|flags| flags.contains(IFlags::NOCOW)))
}

#[cfg(test)]
pub(crate) mod tests;
