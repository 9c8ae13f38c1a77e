//! Names of test files on file systems that have no nameless ones (`O_TMPFILE`), such as FUSE. A file has its name only until
//! it is open, unless its process is killed in between: the next process that looks at the directory removes it.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use sys::file::is_own;

use crate::leftovers::Owner;
use crate::net::preface::Token;

const PREFIX: &str = ".assay-";
const SUFFIX: &str = ".tmp";
/// Any process has opened its file long before.
const LEFT_SECONDS: i64 = 3600;

/// A new name: `.assay-PLACE-PROCESS-TOKEN.tmp`.
pub(crate) fn name() -> OsString {
    format!("{PREFIX}{:016x}-{}-{}{SUFFIX}", place(), std::process::id(), Token::new().as_str()).into()
}

/// Whether a name is one that only we give.
pub(crate) fn is_ours(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    name.starts_with(PREFIX) && name.ends_with(SUFFIX)
}

/// A hash of this boot and PID namespace, in which process numbers are valid; other hosts may share the directory.
fn place() -> u64 {
    let Owner { boot, namespace, .. } = Owner::of(std::process::id());
    let mut hasher = DefaultHasher::new();
    (boot, namespace).hash(&mut hasher);
    hasher.finish()
}

/// Removes files that killed processes of this user left in a directory. `made` is a new file in it, whose time is that of
/// the file system.
pub(crate) fn remove_left(directory: &Path, made: &fs::File) {
    let Ok(now) = made.metadata().map(|found| found.mtime()) else { return };
    for entry in fs::read_dir(directory).into_iter().flatten().flatten().filter(|entry| is_ours(&entry.file_name())) {
        let is_left = |found: fs::Metadata| {
            let is_old = now.saturating_sub(found.mtime()) > LEFT_SECONDS;
            found.is_file() && is_own(&found) && (is_old || is_of_a_dead_process(&entry.file_name()))
        };
        if entry.metadata().is_ok_and(is_left) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Whether the process in a name can be looked up here and has ended.
fn is_of_a_dead_process(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    let mut parts = name.trim_start_matches(PREFIX).split('-');
    let of_here = parts.next() == Some(&format!("{:016x}", place()));
    let process = parts.next().and_then(|process| process.parse::<u32>().ok());
    of_here && process.is_some_and(|process| Owner::of(process).started.is_none())
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;
    use crate::tests::scratch;

    #[test]
    fn only_files_of_dead_processes_and_old_ones_are_removed() {
        let scratch = scratch();
        let made = fs::File::create(scratch.path().join("made")).unwrap();
        let own = name().into_string().unwrap();
        let dead = own.replace(&format!("-{}-", std::process::id()), "-2147483647-");
        let elsewhere = dead.replace(&format!("{:016x}", place()), "0123456789abcdef");
        let old = ".assay-look-1-2.tmp";
        for name in [&own, &dead, &elsewhere, old, "foreign.tmp"] {
            fs::write(scratch.path().join(name), "").unwrap();
        }
        let before = SystemTime::UNIX_EPOCH;
        for name in [old, "foreign.tmp"] {
            fs::File::options().append(true).open(scratch.path().join(name)).unwrap().set_modified(before).unwrap();
        }
        remove_left(scratch.path(), &made);
        let is_there = |name: &str| scratch.path().join(name).exists();
        assert!([&own, &elsewhere, "foreign.tmp"].iter().all(|name| is_there(name)));
        assert!(!is_there(&dead) && !is_there(old));
    }
}
