//! Files that are written whole or not at all: under a random name first, which no other user can have planted.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use sys::file::{Directory, is_own};

use crate::net::preface::Token;

/// Ends the name of a file that is being written.
const UNFINISHED: &str = ".unfinished";

/// Writes a file atomically. A device or pipe is written to directly, and a link is followed unless another user made it.
pub fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    write_pieces(path, [bytes])
}

/// The same from pieces, without the whole file in memory.
pub fn write_pieces<T: AsRef<[u8]>>(path: &Path, pieces: impl IntoIterator<Item = T>) -> io::Result<()> {
    let Some(target) = file_behind(path)? else {
        let mut file = BufWriter::new(OpenOptions::new().write(true).open(path)?);
        pieces.into_iter().try_for_each(|piece| file.write_all(piece.as_ref()))?;
        return file.flush();
    };
    let (directory, name) = split(&target)?;
    replace(&directory, name, pieces)
}

/// Whether [`write_whole`] would succeed; leaves everything unchanged.
pub fn check_writable(path: &Path) -> io::Result<()> {
    let Some(target) = file_behind(path)? else { return Ok(()) };
    let (directory, name) = split(&target)?;
    let unfinished = unfinished_name(name);
    directory.create_new(&unfinished)?;
    directory.remove(&unfinished)
}

/// The file behind a path; `None` for devices and pipes.
fn file_behind(path: &Path) -> io::Result<Option<PathBuf>> {
    // Only root can make links of root.
    let planted = |link: Metadata| link.is_symlink() && !is_own(&link) && link.uid() != 0;
    if fs::symlink_metadata(path).is_ok_and(planted) {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, "it is a link of another user"));
    }
    match fs::metadata(path) {
        Ok(found) if found.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
        Ok(found) if found.is_file() => fs::canonicalize(path).map(Some),
        Ok(_) => Ok(None),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Some(path.to_owned())),
        Err(error) => Err(error),
    }
}

fn split(path: &Path) -> io::Result<(Directory, &OsStr)> {
    let name = path.file_name().ok_or(io::ErrorKind::InvalidFilename)?;
    Ok((Directory::open(path.parent().unwrap_or(Path::new("")))?, name))
}

fn unfinished_name(name: &OsStr) -> OsString {
    let mut unfinished = OsString::from(".");
    unfinished.push(name);
    unfinished.push(format!(".{}{UNFINISHED}", Token::new().as_str()));
    unfinished
}

/// Whether a name is that of a file that was being written.
pub(crate) fn is_unfinished(name: &OsStr) -> bool {
    let name = name.as_encoded_bytes();
    name.starts_with(b".") && name.ends_with(UNFINISHED.as_bytes())
}

/// Writes a file in an open directory atomically; a link with its name is replaced.
pub fn replace<T: AsRef<[u8]>>(
    directory: &Directory,
    name: &OsStr,
    pieces: impl IntoIterator<Item = T>,
) -> io::Result<()> {
    let unfinished = write_unsynced(directory, name, pieces)?;
    unfinished.file.sync_all().and_then(|()| unfinished.publish(directory, name))?;
    directory.sync();
    Ok(())
}

pub(super) struct Unfinished {
    pub(super) file: File,
    name: OsString,
    is_named: bool,
}

impl Unfinished {
    /// Gives it its name; removes it if that fails.
    pub(super) fn publish(&self, directory: &Directory, name: &OsStr) -> io::Result<()> {
        if !self.is_named {
            directory.name(&self.file, &self.name)?;
        }
        directory.rename(&self.name, name).inspect_err(|_| {
            let _ = directory.remove(&self.name);
        })
    }
}

/// Writes a file without a name, which leaves nothing if the process is killed, or else under a random name; removes it if
/// that fails.
pub(super) fn write_unsynced<T: AsRef<[u8]>>(
    directory: &Directory,
    name: &OsStr,
    pieces: impl IntoIterator<Item = T>,
) -> io::Result<Unfinished> {
    let name = unfinished_name(name);
    let nameless = directory.create_nameless();
    let is_named = nameless.is_err();
    let mut file = BufWriter::new(nameless.or_else(|_| directory.create_new(&name))?);
    let written = pieces.into_iter().try_for_each(|piece| file.write_all(piece.as_ref()));
    match written.and_then(|()| file.into_inner().map_err(io::IntoInnerError::into_error)) {
        Ok(file) => Ok(Unfinished { file, name, is_named }),
        Err(error) => {
            if is_named {
                let _ = directory.remove(&name);
            }
            Err(error)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::scratch;

    #[test]
    fn a_killed_writer_leaves_nothing() {
        let scratch = scratch();
        let directory = Directory::open(scratch.path()).unwrap();
        let names = || fs::read_dir(scratch.path()).unwrap().count();
        let named = usize::from(directory.create_nameless().is_err());
        let pieces = [0, 1].into_iter().map(|piece| {
            assert_eq!(names(), named, "piece {piece}");
            "piece"
        });
        replace(&directory, OsStr::new("file"), pieces).unwrap();
        assert_eq!(names(), 1);
        assert_eq!(fs::read_to_string(scratch.path().join("file")).unwrap(), "piecepiece");
    }

    #[test]
    fn a_file_is_written_whole_through_links_and_a_folder_is_refused() {
        let scratch = scratch();
        let path = scratch.path().join("file");
        check_writable(&path).unwrap();
        assert!(!path.exists(), "a check makes nothing");
        write_whole(&path, b"one").unwrap();
        write_whole(&path, b"two").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert!(write_whole(scratch.path(), b"x").is_err() && check_writable(scratch.path()).is_err());
        assert!(check_writable(&scratch.path().join("no/such/folder")).is_err());
        let link = scratch.path().join("link");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        write_whole(&link, b"three").unwrap();
        assert!(link.is_symlink() && fs::read(&path).unwrap() == b"three");
        assert_eq!(fs::read_dir(scratch.path()).unwrap().count(), 2, "nothing unfinished is left");
    }

    #[test]
    fn a_link_of_another_user_is_refused() {
        let scratch = scratch();
        let [victim, link] = ["victim", "link"].map(|name| scratch.path().join(name));
        fs::write(&victim, "untouched").unwrap();
        std::os::unix::fs::symlink(&victim, &link).unwrap();
        // Only root can give a link away.
        if std::os::unix::fs::lchown(&link, Some(12345), None).is_ok() {
            for refused in [write_whole(&link, b"x"), check_writable(&link)] {
                assert_eq!(refused.unwrap_err().kind(), io::ErrorKind::PermissionDenied);
            }
            assert_eq!(fs::read(&victim).unwrap(), b"untouched");
        }
    }
}
