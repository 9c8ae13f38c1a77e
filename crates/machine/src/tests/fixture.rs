//! A machine in a temporary folder, for unit tests.
#![allow(clippy::unwrap_used, reason = "a test whose set-up fails has failed")]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use crate::sysroot::Sysroot;

pub(crate) struct Fixture {
    folder: PathBuf,
}

impl Fixture {
    /// The name must be unique to the test.
    pub(crate) fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("assay-machine-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        Self { folder }
    }

    pub(crate) fn file(self, relative: &str, text: &str) -> Self {
        self.bytes(relative, text.as_bytes())
    }

    pub(crate) fn bytes(self, relative: &str, bytes: &[u8]) -> Self {
        let path = self.folder.join(relative);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
        self
    }

    pub(crate) fn link(self, relative: &str, target: &str) -> Self {
        let path = self.folder.join(relative);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        symlink(target, path).unwrap();
        self
    }

    pub(crate) fn root(&self) -> Sysroot {
        Sysroot::folder(&self.folder).unwrap()
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}
