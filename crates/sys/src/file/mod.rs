//! Files for measuring storage: where they lie, how they are opened, what their blocks are.
//!
//! It decides nothing: which file system is fit to be measured and how large a file may be are the caller's to say.

mod cache;
mod calls;
mod extents;

use std::ffi::{CString, OsStr};
use std::fs::{File, OpenOptions};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use calls::{retried, unless_unknown};

pub use cache::{cached_bytes, drop_all_cached, drop_cached};
pub use extents::{Extents, extents};

/// `STATX_DIOALIGN` of linux/stat.h, since Linux 6.1.
const STATX_DIOALIGN: libc::c_uint = 0x2000;
/// `FS_IOC_GETFLAGS` of linux/fs.h. It names a `long` but moves an `int`.
const FS_IOC_GETFLAGS: libc::c_ulong = ioctl_number(2, size_of::<libc::c_long>());
/// `FS_IOC_SETFLAGS` of linux/fs.h.
const FS_IOC_SETFLAGS: libc::c_ulong = ioctl_number(1, size_of::<libc::c_long>());
/// `FS_NOCOW_FL` of linux/fs.h.
const FS_NOCOW_FL: libc::c_int = 0x0080_0000;

/// The number of an `ioctl` of the group 'f' as asm-generic/ioctl.h composes it (x86, Arm and RISC-V alike): direction
/// 1 is towards the kernel, 2 back from it; `FS_IOC_GETFLAGS` is its command 1 and `FS_IOC_SETFLAGS` its command 2.
const fn ioctl_number(direction: u32, bytes: usize) -> libc::c_ulong {
    let command = if direction == 2 { 1 } else { 2 };
    ((direction as libc::c_ulong) << 30) | ((bytes as libc::c_ulong) << 16) | ((b'f' as libc::c_ulong) << 8) | command
}

/// Size, free space and kind of a file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Space {
    /// All of it, in bytes.
    pub total_bytes: u64,
    /// What users without privilege may still write, in bytes. A quota may leave less.
    pub available_bytes: u64,
    /// The number by which the kernel knows the kind (`f_type`; the names are in linux/magic.h).
    pub magic: u64,
    /// Whether it is mounted read-only.
    pub read_only: bool,
}

/// The file system behind a path.
///
/// # Errors
/// The path cannot be reached.
pub fn space(path: &Path) -> io::Result<Space> {
    let text = CString::new(path.as_os_str().as_bytes())?;
    let mut kind = MaybeUninit::<libc::statfs>::zeroed();
    retried(|| {
        // SAFETY: the path ends in a zero byte, and the answer is a live, writable struct of the kind asked for.
        unsafe { libc::statfs(text.as_ptr(), kind.as_mut_ptr()) }
    })?;
    let mut sizes = MaybeUninit::<libc::statvfs>::zeroed();
    retried(|| {
        // SAFETY: as above.
        unsafe { libc::statvfs(text.as_ptr(), sizes.as_mut_ptr()) }
    })?;
    // SAFETY: all-zero bytes are valid for both, structs of integers, and both calls have filled them.
    let (kind, sizes) = unsafe { (kind.assume_init(), sizes.assume_init()) };
    Ok(Space {
        total_bytes: sizes.f_blocks.saturating_mul(sizes.f_frsize),
        available_bytes: sizes.f_bavail.saturating_mul(sizes.f_frsize),
        magic: u64::try_from(kind.f_type).unwrap_or(0),
        read_only: sizes.f_flag & libc::ST_RDONLY != 0,
    })
}

/// Makes a file without a name in `directory`, to read and write: it is gone when the last process that has it open
/// ends, however it ends. Other processes of the same user open it as `/proc/PID/fd/N`.
///
/// Where the file system has no such files it is created under `fallback_name`, if nothing has that name, and unlinked
/// at once. Only its owner may open it.
///
/// # Errors
/// The directory is not there or not writable, or something has the fallback's name.
pub fn unnamed(directory: &Path, fallback_name: &OsStr) -> io::Result<File> {
    nameless(directory)?.map_or_else(|| named_for_a_moment(&of_its_owner(), directory, fallback_name), Ok)
}

/// The same where the file system has such files, so that there is no name at any time; `None` where it has none.
///
/// # Errors
/// The directory is not there or not writable.
pub fn nameless(directory: &Path) -> io::Result<Option<File>> {
    // O_EXCL: nobody can give it a name later.
    match of_its_owner().custom_flags(libc::O_TMPFILE | libc::O_EXCL).open(directory) {
        Err(error) if lacks_unnamed_files(&error) => Ok(None),
        other => other.map(Some),
    }
}

fn of_its_owner() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true).mode(0o600);
    options
}

/// Whether this is how a kernel or a file system says that it has no files without names: `EISDIR` is from kernels
/// before 3.11, which see a directory opened for writing.
fn lacks_unnamed_files(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EOPNOTSUPP | libc::EISDIR | libc::EINVAL | libc::ENOSYS))
}

fn named_for_a_moment(options: &OpenOptions, directory: &Path, name: &OsStr) -> io::Result<File> {
    if Path::new(name).file_name() != Some(name) {
        let text = format!("\"{}\" is not the plain name of a file", name.display());
        return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
    }
    let path = directory.join(name);
    let file = options.clone().create_new(true).custom_flags(libc::O_NOFOLLOW).open(&path)?;
    std::fs::remove_file(&path)?;
    Ok(file)
}

/// Opens a file that exists, for reading or (`write`) for both; with `direct` past the page cache (`O_DIRECT`), with
/// `dsync` so that a write is over when the data are on the medium (`O_DSYNC`). Follows `/proc/PID/fd/N`.
///
/// # Errors
/// What the kernel said; `EINVAL` where the file system has no direct I/O.
pub fn open(path: &Path, write: bool, direct: bool, dsync: bool) -> io::Result<File> {
    open_with(path, write, direct, if dsync { libc::O_DSYNC } else { 0 })
}

/// Opens a file that exists for reading and writing, with `direct` past the page cache, so that a write is over when the
/// data and all that is said of the file (times of change among it) are on the medium (`O_SYNC`).
///
/// # Errors
/// As [`open`].
pub fn open_synchronous(path: &Path, direct: bool) -> io::Result<File> {
    open_with(path, true, direct, libc::O_SYNC)
}

fn open_with(path: &Path, write: bool, direct: bool, flags: libc::c_int) -> io::Result<File> {
    let flags = flags | if direct { libc::O_DIRECT } else { 0 };
    OpenOptions::new().read(true).write(write).custom_flags(flags).open(path)
}

/// Whether a file was opened past the page cache. That a file system then keeps to it is another question.
///
/// # Errors
/// What the kernel said.
pub fn is_direct(file: &File) -> io::Result<bool> {
    // SAFETY: plain integers; the descriptor is open as long as `file` lives.
    let flags = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_GETFL) };
    if flags < 0 { Err(io::Error::last_os_error()) } else { Ok(flags & libc::O_DIRECT != 0) }
}

/// Whether the device behind a file has queues whose completions can be polled for (`queue/io_poll` in the kernel's
/// list of devices, which is below `sysfs`); false where the file lies on none or its driver says nothing.
pub fn has_polled_queues(file: &File, sysfs: &Path) -> bool {
    let Ok(device) = file.metadata().map(|metadata| metadata.dev()) else { return false };
    let directory = sysfs.join(format!("dev/block/{}:{}", libc::major(device), libc::minor(device)));
    // A partition has no queue of its own; its disk is the directory above it.
    let Ok(directory) = directory.canonicalize() else { return false };
    let of_disk = [Some(directory.as_path()), directory.parent()];
    let said = of_disk.into_iter().flatten().find_map(|disk| std::fs::read_to_string(disk.join("queue/io_poll")).ok());
    said.is_some_and(|said| said.trim() == "1")
}

/// What direct I/O on a file must be a multiple of, in bytes; both 0 where the file has no direct I/O.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DirectAlignment {
    /// The address in memory.
    pub memory_bytes: u32,
    /// The offset in the file, and the length.
    pub offset_bytes: u32,
}

/// What direct I/O on this file must be aligned to; `None` where the kernel (before 6.1) or the file system does not
/// say.
///
/// # Errors
/// What the kernel said.
pub fn direct_alignment(file: &File) -> io::Result<Option<DirectAlignment>> {
    let Some(answer) = statx(file, STATX_DIOALIGN)? else { return Ok(None) };
    let said = answer.stx_mask & STATX_DIOALIGN != 0;
    Ok(said.then_some(DirectAlignment {
        memory_bytes: answer.stx_dio_mem_align,
        offset_bytes: answer.stx_dio_offset_align,
    }))
}

/// Whether the file system compresses the file, or is to (`STATX_ATTR_COMPRESSED`); `None` where the kernel (before 4.11)
/// or the file system does not say.
///
/// # Errors
/// What the kernel said.
pub fn is_compressed(file: &File) -> io::Result<Option<bool>> {
    let Some(answer) = statx(file, libc::STATX_BASIC_STATS)? else { return Ok(None) };
    let compressed = libc::STATX_ATTR_COMPRESSED as u64;
    Ok((answer.stx_attributes_mask & compressed != 0).then_some(answer.stx_attributes & compressed != 0))
}

/// What the kernel says of an open file; `None` where it has no such call.
fn statx(file: &File, mask: libc::c_uint) -> io::Result<Option<libc::statx>> {
    let mut answer = MaybeUninit::<libc::statx>::zeroed();
    let asked = retried(|| {
        // SAFETY: the path is an empty string, which with AT_EMPTY_PATH means the descriptor, and the answer is a
        // live, writable struct of the kind asked for.
        unsafe { libc::statx(file.as_raw_fd(), c"".as_ptr(), libc::AT_EMPTY_PATH, mask, answer.as_mut_ptr()) }
    });
    match asked {
        Err(error) if error.raw_os_error() == Some(libc::ENOSYS) => Ok(None),
        // SAFETY: all-zero bytes are a valid `statx`, a struct of integers, and the kernel has filled it.
        other => other.map(|_| Some(unsafe { answer.assume_init() })),
    }
}

/// Makes the file at least `bytes` long and reserves the blocks for it, so that no later write finds the disk full.
///
/// # Errors
/// `ErrorKind::Unsupported` where the file system cannot, `ENOSPC` where there is too little space.
pub fn reserve(file: &File, bytes: u64) -> io::Result<()> {
    let bytes = libc::off_t::try_from(bytes).map_err(|_| io::Error::from_raw_os_error(libc::EFBIG))?;
    retried(|| {
        // SAFETY: the call takes plain integers and a descriptor that lives as long as `file`.
        unsafe { libc::fallocate(file.as_raw_fd(), 0, 0, bytes) }
    })
    .map(drop)
    .map_err(|error| match error.raw_os_error() {
        Some(libc::EOPNOTSUPP | libc::ENOSYS) => {
            io::Error::new(io::ErrorKind::Unsupported, "the file system cannot reserve blocks")
        }
        _ => error,
    })
}

/// Asks that the file, which must still be empty, be overwritten in place and without checksums, and says whether that
/// is now in force. A file system that knows no such wish (most write in place anyway) answers `false`.
///
/// # Errors
/// What the kernel said, such as that the file is not ours.
pub fn refuse_copy_on_write(file: &File) -> io::Result<bool> {
    let Some(flags) = unless_unknown(inode_flags(file))? else { return Ok(false) };
    let wanted: libc::c_int = flags | FS_NOCOW_FL;
    let set = retried(|| {
        // SAFETY: the request reads one `int`, which lives through the call.
        unsafe { libc::ioctl(file.as_raw_fd(), FS_IOC_SETFLAGS, &raw const wanted) }
    });
    if unless_unknown(set)?.is_none() {
        return Ok(false);
    }
    Ok(inode_flags(file)? & FS_NOCOW_FL != 0)
}

/// The inode's flags (`lsattr`).
fn inode_flags(file: &File) -> io::Result<libc::c_int> {
    let mut flags: libc::c_int = 0;
    retried(|| {
        // SAFETY: the request writes one `int`, which lives through the call.
        unsafe { libc::ioctl(file.as_raw_fd(), FS_IOC_GETFLAGS, &raw mut flags) }
    })?;
    Ok(flags)
}

#[cfg(test)]
pub(crate) mod tests;
