//! Files for a tool that lays out its own data: nameless, on the file system of our own test file, and gone with us. The tool
//! opens them through /proc, where it can neither unlink nor rename.

use std::ffi::OsString;
use std::fs::File;
use std::hash::{BuildHasher, RandomState};
use std::os::fd::AsRawFd;
use std::path::Path;

use tools::{FILES, OwnFiles, ToolError};

/// Divisor of the free share that is kept, up to [`MOST_RESERVE_BYTES`]: full file systems become slow.
const RESERVE_PART: u64 = 20;
const MOST_RESERVE_BYTES: u64 = 2 << 30;

/// Something that would outlive a killed process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lasting<'a> {
    /// The leader of a process group, just started.
    Process(u32),
    /// A file about to be created.
    File(&'a Path),
}

#[derive(Debug)]
pub(super) struct Files {
    files: Vec<File>,
}

impl Files {
    /// Creates them empty. `on_start` receives each path first, because some file systems need a name for a moment.
    pub(super) fn make(wanted: &OwnFiles, on_start: &mut dyn FnMut(Lasting<'_>)) -> Result<Self, ToolError> {
        let directory = wanted.directory.as_path();
        let cannot =
            |why: &str| ToolError(format!("cannot create files for the tool in '{}': {why}", directory.display()));
        let space = sys::file::space(directory).map_err(|error| cannot(&error.to_string()))?;
        let needed = wanted.bytes_each.saturating_mul(u64::from(wanted.count));
        let free = space.available_bytes.saturating_sub((space.total_bytes / RESERVE_PART).min(MOST_RESERVE_BYTES));
        if needed > free {
            return Err(cannot(&format!("they need {needed} B, and {free} B are free")));
        }
        let make = |_| one(directory, on_start).map_err(|error| cannot(&error.to_string()));
        let files: Result<Vec<File>, ToolError> = (0..wanted.count).map(make).collect();
        Ok(Self { files: files? })
    }

    /// The command line with their paths in place of [`FILES`].
    pub(super) fn named_in(&self, argv: &[String]) -> Vec<String> {
        let paths = || self.files.iter().map(|file| format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd()));
        argv.iter().flat_map(|word| if word == FILES { paths().collect() } else { vec![word.clone()] }).collect()
    }
}

fn one(directory: &Path, on_start: &mut dyn FnMut(Lasting<'_>)) -> std::io::Result<File> {
    // Hash keys of the standard library come from the kernel's random source.
    let random = RandomState::new().hash_one(std::process::id());
    // Nobody else can have this name, so removing it later is safe.
    let name = OsString::from(format!(".assay-{}-{:016x}.tmp", std::process::id(), random));
    on_start(Lasting::File(&directory.join(&name)));
    sys::file::unnamed(directory, &name)
}
