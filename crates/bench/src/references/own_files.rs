//! The files that a tool has for itself where it cannot be given ours: empty and without names, on the file system that
//! our own file is on, and gone with us, however we end.
//!
//! A tool that lays out its own data would otherwise leave gigabytes behind when it is killed. It opens these through
//! /proc, where nothing can be unlinked or renamed; to truncate and to extend them is its good right.

use std::ffi::OsString;
use std::fs::File;
use std::hash::{BuildHasher, RandomState};
use std::os::fd::AsRawFd;
use std::path::Path;

use tools::{FILES, OwnFiles};

use super::error::RunError;
use super::lasting::Lasting;

/// The share of a file system that is left free, as its so-manieth part, but at most [`MOST_RESERVE_BYTES`]: fuller ones
/// become slow, and others may need it. The same as for our own file.
const RESERVE_PART: u64 = 20;
/// What is left free at most, in bytes.
const MOST_RESERVE_BYTES: u64 = 2 << 30;

/// Files that are there as long as this is.
#[derive(Debug)]
pub(super) struct Files {
    files: Vec<File>,
}

impl Files {
    /// Makes them, empty. `on_start` hears of each before it is made: file systems without nameless files give it a name
    /// for a moment.
    ///
    /// # Errors
    /// One sentence: there is no room for what the tool is going to write, or they cannot be made.
    pub(super) fn make(wanted: &OwnFiles, on_start: &mut dyn FnMut(Lasting<'_>)) -> Result<Self, RunError> {
        let directory = wanted.directory.as_path();
        let cannot = |why: &str| {
            RunError::NotStarted(format!("no files can be made for the tool in '{}': {why}", directory.display()))
        };
        let space = sys::file::space(directory).map_err(|error| cannot(&error.to_string()))?;
        let needed = wanted.bytes_each.saturating_mul(u64::from(wanted.count));
        let free = space.available_bytes.saturating_sub((space.total_bytes / RESERVE_PART).min(MOST_RESERVE_BYTES));
        if needed > free {
            return Err(cannot(&format!("they need {needed} B, of which {free} B are to be had")));
        }
        let make = |_| one(directory, on_start).map_err(|error| cannot(&error.to_string()));
        let files: Result<Vec<File>, RunError> = (0..wanted.count).map(make).collect();
        Ok(Self { files: files? })
    }

    /// A command line in which their paths stand where [`FILES`] does.
    pub(super) fn named_in(&self, argv: &[String]) -> Vec<String> {
        let paths = || self.files.iter().map(|file| format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd()));
        argv.iter().flat_map(|word| if word == FILES { paths().collect() } else { vec![word.clone()] }).collect()
    }
}

/// One of them.
fn one(directory: &Path, on_start: &mut dyn FnMut(Lasting<'_>)) -> std::io::Result<File> {
    // The keys of the standard library's hash maps come from the kernel's source of randomness.
    let random = RandomState::new().hash_one(std::process::id());
    // Nobody else can have a file of that name, so that taking it away later cannot be a mistake.
    let name = OsString::from(format!(".assay-{}-{:016x}.tmp", std::process::id(), random));
    on_start(Lasting::File(&directory.join(&name)));
    sys::file::unnamed(directory, &name)
}
