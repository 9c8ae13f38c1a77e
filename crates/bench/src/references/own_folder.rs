//! The folder that every tool has for itself: it is started there and told that it is its home, so that what it writes
//! where it stands is gone after it. It is made just before the tool is started, for its user alone.
//!
//! Whoever has made one holds a lock on it. One that nobody holds was left by a process that was killed, and the next
//! that makes one takes it away.

use std::fs::{self, DirBuilder, File};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Once;
use std::sync::atomic::{AtomicU32, Ordering};

use tools::OwnFolder;

use super::error::RunError;

/// Where such folders are made: every Linux has it, and only an owner can take away what is in it.
const PARENT: &str = "/tmp";
/// What the names of all of them begin with.
const PREFIX: &str = "assay-tool-";
/// Names that are tried when a process of our number has left some behind.
const NAMES_TRIED: u32 = 1000;

/// Folders that this process has made.
static MADE: AtomicU32 = AtomicU32::new(0);
/// Whether this process has looked for what others left.
static SWEPT: Once = Once::new();

/// A folder that is there.
#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
    /// Holds the lock, until it is closed.
    _lock: File,
}

impl Folder {
    /// Makes it, with the files that a tool is to find.
    ///
    /// # Errors
    /// One sentence.
    pub(super) fn make(wanted: &OwnFolder) -> Result<Self, RunError> {
        SWEPT.call_once(|| sweep(Path::new(PARENT)));
        let folder = Self::empty()
            .map_err(|error| RunError::NotStarted(format!("no folder can be made in {PARENT} for a tool: {error}")))?;
        for (name, text) in &wanted.files {
            let path = folder.path.join(name);
            fs::write(&path, text)
                .map_err(|error| RunError::NotStarted(format!("'{}' cannot be written: {error}", path.display())))?;
        }
        Ok(folder)
    }

    /// Never one that is there already: that may be another's.
    fn empty() -> std::io::Result<Self> {
        for _ in 0..NAMES_TRIED {
            let number = MADE.fetch_add(1, Ordering::Relaxed);
            let path = Path::new(PARENT).join(format!("{PREFIX}{}-{number}", std::process::id()));
            match DirBuilder::new().mode(0o700).create(&path) {
                // Somebody who sweeps may have been there between the two: then it is another one's turn.
                Ok(()) => {
                    if let Some(lock) = held(&path) {
                        return Ok(Self { path, _lock: lock });
                    }
                }
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(ErrorKind::AlreadyExists.into())
    }

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// What is in a file, up to so many bytes; nothing where the tool has not written it.
    pub(super) fn text(&self, name: &str, most_bytes: usize) -> String {
        let mut bytes = Vec::new();
        let read = File::open(self.path.join(name)).map(|file| file.take(most_bytes as u64).read_to_end(&mut bytes));
        if read.is_err() {
            return String::new();
        }
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

/// The lock on a folder, if nobody else has it and the folder is still there.
fn held(path: &Path) -> Option<File> {
    let folder = File::open(path).ok()?;
    folder.try_lock().ok()?;
    let [opened, there] = [folder.metadata().ok()?, fs::symlink_metadata(path).ok()?];
    ((opened.dev(), opened.ino()) == (there.dev(), there.ino())).then_some(folder)
}

/// Takes away the folders of this user that nobody holds any longer.
fn sweep(parent: &Path) {
    let user = rustix::process::geteuid().as_raw();
    let Ok(entries) = fs::read_dir(parent) else { return };
    for path in entries.flatten().map(|entry| entry.path()) {
        let named = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(PREFIX));
        let ours = |there: fs::Metadata| there.is_dir() && there.uid() == user;
        if named && fs::symlink_metadata(&path).is_ok_and(ours) && held(&path).is_some() {
            let _ = fs::remove_dir_all(&path);
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What cannot be taken away is a few kilobytes where the system clears up by itself.
        let _ = fs::remove_dir_all(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::scratch;

    #[test]
    fn what_a_killed_process_left_is_taken_away_and_what_is_held_is_not() {
        let parent = scratch();
        let [left, held_one, other, file] =
            ["assay-tool-1-0", "assay-tool-1-1", "another", "assay-tool-file"].map(|name| parent.path().join(name));
        for folder in [&left, &held_one, &other] {
            fs::create_dir(folder).unwrap();
            fs::write(folder.join("written"), "by a tool").unwrap();
        }
        fs::write(&file, "").unwrap();
        let lock = held(&held_one).unwrap();
        sweep(parent.path());
        assert!(!left.exists() && held_one.join("written").exists() && other.exists() && file.exists());
        drop(lock);
        sweep(parent.path());
        assert!(!held_one.exists() && other.exists() && file.exists());
    }

    #[test]
    fn one_that_is_used_is_held() {
        let folder = Folder::make(&OwnFolder::default()).unwrap();
        assert!(held(folder.path()).is_none(), "no other can have it");
        let path = folder.path().to_owned();
        sweep(Path::new(PARENT));
        assert!(path.exists());
        drop(folder);
        assert!(!path.exists() && held(&path).is_none());
    }
}
