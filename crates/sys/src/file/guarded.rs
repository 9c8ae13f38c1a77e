//! Files where another user may have planted something: FIFOs, devices, huge files, and links to files elsewhere.

use std::ffi::OsStr;
use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::{AtFlags, Mode, OFlags, linkat, mkdirat, open, openat, renameat, unlinkat};
use rustix::io::Errno;
use rustix::process::geteuid;

/// The open files of this process; only through it can a nameless one get a name without privileges.
const OPEN_FILES: &str = "/proc/self/fd";

/// Opens a regular file for reading. Anything else is refused, without waiting for the writer of a FIFO.
pub fn open_regular(path: &Path) -> io::Result<File> {
    regular(path, false, 0)
}

/// Opens a regular file for reading and for writing at its end; a link is refused.
pub fn open_regular_to_append(path: &Path) -> io::Result<File> {
    regular(path, true, libc::O_NOFOLLOW)
}

fn regular(path: &Path, append: bool, flags: libc::c_int) -> io::Result<File> {
    let refuse = || io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file");
    // Opening a device can already act on it.
    if !std::fs::metadata(path)?.is_file() {
        return Err(refuse());
    }
    let file = OpenOptions::new().read(true).append(append).custom_flags(libc::O_NONBLOCK | flags).open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(refuse()) }
}

pub fn read_regular(path: &Path, most_bytes: u64) -> io::Result<Vec<u8>> {
    let file = open_regular(path)?;
    let too_large = || {
        let text = format!("it is larger than {} MiB", most_bytes >> 20);
        io::Error::new(io::ErrorKind::FileTooLarge, text)
    };
    let size = file.metadata()?.len();
    if size > most_bytes {
        return Err(too_large());
    }
    // One byte more shows a file that grows meanwhile.
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0));
    file.take(most_bytes + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most_bytes { Err(too_large()) } else { Ok(bytes) }
}

pub fn is_own(found: &Metadata) -> bool {
    found.uid() == geteuid().as_raw()
}

/// Whether this user owns a file or directory and nobody else may write to it.
pub fn is_only_ours(found: &Metadata) -> bool {
    is_own(found) && found.mode() & 0o022 == 0
}

/// An open directory, whose files are created, replaced and removed by plain names: a link in it is never followed.
#[derive(Debug)]
pub struct Directory(OwnedFd);

impl Directory {
    /// Opens an existing directory; links in its path are followed.
    pub fn open(path: &Path) -> io::Result<Self> {
        let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        Ok(Self(open(path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?))
    }

    /// Opens a directory in it, which is created if it is missing.
    pub fn subdirectory(&self, name: &str) -> io::Result<Self> {
        match mkdirat(&self.0, name, Mode::from_raw_mode(0o777)) {
            Err(error) if error != Errno::EXIST => return Err(error.into()),
            _ => {}
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(Self(openat(&self.0, name, flags, Mode::empty())?))
    }

    /// Creates a file that does not exist yet, for writing.
    pub fn create_new(&self, name: &OsStr) -> io::Result<File> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(openat(&self.0, name, flags, Mode::from_raw_mode(0o666))?.into())
    }

    /// Creates a file in it for writing that vanishes with the process until [`name`](Self::name) is called; not every file
    /// system can.
    pub fn create_nameless(&self) -> io::Result<File> {
        std::fs::metadata(OPEN_FILES)?;
        let flags = OFlags::WRONLY | OFlags::TMPFILE | OFlags::CLOEXEC;
        Ok(openat(&self.0, ".", flags, Mode::from_raw_mode(0o666))?.into())
    }

    /// Gives a nameless file a name that no other file has.
    pub fn name(&self, file: &File, name: &OsStr) -> io::Result<()> {
        let path = format!("{OPEN_FILES}/{}", file.as_raw_fd());
        Ok(linkat(rustix::fs::CWD, path, &self.0, name, AtFlags::SYMLINK_FOLLOW)?)
    }

    /// Renames a file in it, and replaces what has the other name.
    pub fn rename(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        Ok(renameat(&self.0, from, &self.0, to)?)
    }

    pub fn remove(&self, name: &OsStr) -> io::Result<()> {
        Ok(unlinkat(&self.0, name, AtFlags::empty())?)
    }

    /// Writes its names to the medium, where the file system can.
    pub fn sync(&self) {
        let _ = rustix::fs::fsync(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::file::tests::Scratch;

    #[test]
    fn only_regular_files_up_to_a_size_are_read() {
        let scratch = Scratch::new("guarded-read");
        let folder = scratch.path();
        let file = folder.join("file");
        std::fs::write(&file, "abc").unwrap();
        assert_eq!(read_regular(&file, 3).unwrap(), b"abc");
        assert_eq!(read_regular(&file, 2).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
        let fifo = folder.join("fifo");
        rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, Mode::RUSR, 0).unwrap();
        for other in [&fifo, Path::new("/dev/zero"), folder] {
            assert_eq!(read_regular(other, 9).unwrap_err().kind(), io::ErrorKind::InvalidInput, "{}", other.display());
        }
        let link = folder.join("link");
        symlink(&file, &link).unwrap();
        assert!(read_regular(&link, 3).is_ok(), "a reader may follow links");
        assert!(open_regular_to_append(&link).is_err() && open_regular_to_append(&file).is_ok());
    }

    #[test]
    fn a_planted_link_is_replaced_and_never_followed() {
        let scratch = Scratch::new("guarded-links");
        let folder = scratch.path();
        let victim = folder.join("victim");
        std::fs::write(&victim, "untouched").unwrap();
        let directory = Directory::open(folder).unwrap();
        symlink(&victim, folder.join("new")).unwrap();
        assert!(directory.create_new(OsStr::new("new")).is_err());
        directory.create_new(OsStr::new("other")).unwrap();
        directory.rename(OsStr::new("other"), OsStr::new("new")).unwrap();
        assert!(!folder.join("new").is_symlink());
        symlink("/", folder.join("sub")).unwrap();
        assert!(directory.subdirectory("sub").is_err());
        directory.remove(OsStr::new("sub")).unwrap();
        directory.subdirectory("sub").unwrap().create_new(OsStr::new("in-it")).unwrap();
        assert!(folder.join("sub/in-it").is_file());
        assert_eq!(std::fs::read_to_string(&victim).unwrap(), "untouched");
    }
}
