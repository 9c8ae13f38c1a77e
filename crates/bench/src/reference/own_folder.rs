//! The folder that a tool has for itself: made just before it is started, for its user alone, and gone after it.

use std::fs::{self, DirBuilder, File};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use super::OwnFolder;

/// Where such folders are made: every Linux has it, and only an owner can take away what is in it.
const PARENT: &str = "/tmp";
/// Names that are tried when a process of our number has left some behind.
const NAMES_TRIED: u32 = 1000;

/// Folders that this process has made.
static MADE: AtomicU32 = AtomicU32::new(0);

/// A folder that is there.
#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
}

impl Folder {
    /// Makes it, with the files that a tool is to find.
    ///
    /// # Errors
    /// One sentence.
    pub(super) fn make(wanted: &OwnFolder) -> Result<Self, String> {
        let folder = Self::empty().map_err(|error| format!("no folder can be made in {PARENT} for a tool: {error}"))?;
        for (name, text) in &wanted.files {
            let path = folder.path.join(name);
            fs::write(&path, text).map_err(|error| format!("'{}' cannot be written: {error}", path.display()))?;
        }
        Ok(folder)
    }

    /// Never one that is there already: that may be another's.
    fn empty() -> std::io::Result<Self> {
        for _ in 0..NAMES_TRIED {
            let number = MADE.fetch_add(1, Ordering::Relaxed);
            let path = Path::new(PARENT).join(format!("assay-tool-{}-{number}", std::process::id()));
            match DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => return Ok(Self { path }),
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

impl Drop for Folder {
    fn drop(&mut self) {
        // What cannot be taken away is a few kilobytes where the system clears up by itself.
        let _ = fs::remove_dir_all(&self.path);
    }
}
