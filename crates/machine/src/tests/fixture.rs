//! A machine in a temporary folder, and devices behind a directory, for unit tests.
#![allow(clippy::unwrap_used, reason = "a test whose set-up fails has failed")]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use model::machine::{Storage, StorageDevice};

use crate::sysroot::Sysroot;

/// Devices by depth, name and kind, each listed before those it is built on.
pub(crate) fn behind(chain: &[(u32, &str, &str)]) -> Storage {
    let device = |(depth, name, kind): &(u32, &str, &str)| StorageDevice {
        name: (*name).into(),
        depth: *depth,
        kind: (*kind).into(),
        disk: Some(name.trim_end_matches("p1").into()),
        ..StorageDevice::default()
    };
    Storage { chain: chain.iter().map(device).collect(), ..Storage::default() }
}

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
