//! What a tool gets of its own. Its working folder, which is also its home, is private, created just before the start and
//! removed afterwards. Files for data that it lays out itself are nameless, on the file system of our own test file, and
//! opened through /proc, where it can neither unlink nor rename them.
//!
//! A folder's creator holds a lock on it. The next one to create a folder removes unlocked ones, left by killed processes.

use std::fs::{self, DirBuilder, File};
use std::io::{ErrorKind, Read};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Once;
use std::sync::atomic::{AtomicU32, Ordering};

use tools::{FILES, OwnFiles, OwnFolder};

/// Every Linux has it, and only owners can remove its entries.
const PARENT: &str = "/tmp";
const PREFIX: &str = "assay-tool-";
const NAMES_TRIED: u32 = 1000;

/// The beginning of the paths of all folders of a process.
pub(super) fn folders_of(process: u32) -> String {
    format!("{PARENT}/{PREFIX}{process}-")
}

/// The process whose folder has this path.
pub(super) fn owner_of_folder(path: &str) -> Option<u32> {
    let name = path.strip_prefix(PARENT)?.strip_prefix('/')?.strip_prefix(PREFIX)?;
    name.split_once('-')?.0.parse().ok()
}

static MADE: AtomicU32 = AtomicU32::new(0);
static SWEPT: Once = Once::new();

#[derive(Debug)]
pub(super) struct Folder {
    pub(super) path: PathBuf,
    _lock: File,
}

impl Folder {
    pub(super) fn make(wanted: &OwnFolder) -> Result<Self, String> {
        SWEPT.call_once(|| sweep(Path::new(PARENT)));
        let make = || {
            let folder = Self::empty()?;
            wanted.files.iter().try_for_each(|(name, text)| fs::write(folder.path.join(name), text))?;
            Ok(folder)
        };
        make().map_err(|error: std::io::Error| format!("cannot create a folder for a tool in {PARENT}: {error}"))
    }

    /// Creates a new one; an existing one may belong to another process.
    fn empty() -> std::io::Result<Self> {
        for _ in 0..NAMES_TRIED {
            let number = MADE.fetch_add(1, Ordering::Relaxed);
            let path = PathBuf::from(format!("{}{number}", folders_of(std::process::id())));
            match DirBuilder::new().mode(0o700).create(&path).map(|()| held(&path)) {
                Ok(Some(lock)) => return Ok(Self { path, _lock: lock }),
                // A sweep of another process came in between: try the next name.
                Ok(None) => {}
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(ErrorKind::AlreadyExists.into())
    }

    pub(super) fn text(&self, name: &str, most_bytes: usize) -> String {
        let mut bytes = Vec::new();
        let file = File::open(self.path.join(name));
        let _ = file.and_then(|file| file.take(most_bytes as u64).read_to_end(&mut bytes));
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

/// The lock, if the folder exists and nobody else holds it.
fn held(path: &Path) -> Option<File> {
    // Only a directory has this entry: to open a FIFO of another user would block.
    let folder = File::open(path.join(".")).ok()?;
    folder.try_lock().ok()?;
    let [opened, there] = [folder.metadata().ok()?, fs::symlink_metadata(path).ok()?];
    ((opened.dev(), opened.ino()) == (there.dev(), there.ino())).then_some(folder)
}

/// Whether another process holds it, also one whose number is unknown here.
pub(super) fn is_held(path: &Path) -> bool {
    path.exists() && held(path).is_none()
}

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
        // A few kilobytes that remain are removed by the system.
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// Divisor of the free share that is kept, up to [`MOST_RESERVE_BYTES`]: full file systems become slow.
const RESERVE_PART: u64 = 20;
const MOST_RESERVE_BYTES: u64 = 2 << 30;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lasting<'a> {
    Process(u32),
    File(&'a Path),
}

#[derive(Debug)]
pub(super) struct Files(Vec<File>);

impl Files {
    /// Creates them empty. `on_start` receives each path first, because some file systems need a name for a moment.
    pub(super) fn make(wanted: &OwnFiles, on_start: &mut dyn FnMut(Lasting<'_>)) -> Result<Self, String> {
        let directory = wanted.directory.as_path();
        let cannot = |why: &str| format!("cannot create files for the tool in '{}': {why}", directory.display());
        let space = sys::file::space(directory).map_err(|error| cannot(&error.to_string()))?;
        let needed = wanted.bytes_each.saturating_mul(u64::from(wanted.count));
        let free = space.available_bytes.saturating_sub((space.total_bytes / RESERVE_PART).min(MOST_RESERVE_BYTES));
        if needed > free {
            return Err(cannot(&format!("they need {needed} B, and {free} B are free")));
        }
        let make = |_| one(directory, on_start).map_err(|error| cannot(&error.to_string()));
        (0..wanted.count).map(make).collect::<Result<_, _>>().map(Self)
    }

    pub(super) fn named_in(&self, argv: &[String]) -> Vec<String> {
        let paths = || self.0.iter().map(|file| format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd()));
        argv.iter().flat_map(|word| if word == FILES { paths().collect() } else { vec![word.clone()] }).collect()
    }
}

fn one(directory: &Path, on_start: &mut dyn FnMut(Lasting<'_>)) -> std::io::Result<File> {
    // Nobody else can have this name, so removing it later is safe.
    let name = crate::leftovers::momentary::name();
    on_start(Lasting::File(&directory.join(&name)));
    sys::file::unnamed(directory, &name)
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
        let path = folder.path.clone();
        sweep(Path::new(PARENT));
        assert!(path.exists() && held(&path).is_none(), "no other can have it");
        drop(folder);
        assert!(!path.exists() && held(&path).is_none());
    }
}
