//! Removes what killed runs left.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use sys::clock::unix_seconds;
use sys::file::is_own;

use super::folder::{HISTOGRAMS, RAW};
use super::read::DOCUMENT;
use super::write::is_unfinished;
use crate::journal::{Entry, JOURNAL, of_a_dead_run};
use crate::leftovers::momentary::is_ours;
use crate::references::left::end_left_tools;
use crate::references::run::end_group;

/// An empty folder that is older is left over: a new run writes its journal at once.
const NEW_SECONDS: f64 = 60.0;

/// Removes what a killed run of this user left: files that its journal names, files that it was writing, and its folder if
/// nothing was measured. Ends the tools of all killed runs.
pub fn sweep(folder: &Path) {
    end_left_tools();
    sweep_folder(folder);
}

/// The same as [`sweep`] without the tools.
pub(super) fn sweep_folder(folder: &Path) {
    if let Some((_lock, entries)) = of_a_dead_run(folder) {
        sweep_entries(folder, &entries);
        let is_empty = !entries.iter().any(|entry| matches!(entry, Entry::Sample(_)));
        if is_empty && !folder.join(DOCUMENT).exists() {
            let _ = fs::remove_file(folder.join(JOURNAL)).and_then(|()| fs::remove_dir(folder));
        }
    }
}

/// Removes the folder of a run that was killed before it wrote anything.
pub(super) fn remove_empty(folder: &Path) {
    let is_old = |found: &fs::Metadata| found.is_dir() && unix_seconds() - found.mtime() as f64 > NEW_SECONDS;
    if fs::symlink_metadata(folder).is_ok_and(|found| is_own(&found) && is_old(&found)) {
        let _ = fs::remove_dir(folder);
    }
}

/// The same as [`sweep_folder`] for the entries of a journal of this user, except for its folder.
pub(crate) fn sweep_entries(folder: &Path, entries: &[Entry]) {
    for entry in entries {
        match entry {
            Entry::WillMake { path } if is_ours(path.file_name().unwrap_or_default()) => {
                let _ = fs::remove_file(path);
            }
            // A group whose leader is gone may belong to a new process with its number.
            Entry::Started(leader) if leader.is_alive_and_ours() => end_group(leader.process),
            _ => {}
        }
    }
    for folder in [folder.to_owned(), folder.join(HISTOGRAMS), folder.join(RAW)] {
        for file in fs::read_dir(folder).into_iter().flatten().flatten() {
            if is_unfinished(&file.file_name()) {
                let _ = fs::remove_file(file.path());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::journal::Journal;
    use crate::tests::scratch;

    const TEST_FILE: &str = ".assay-1-2.tmp";

    /// The folder of a run that was killed before it measured anything; its journal names files outside of it.
    fn killed(parent: &Path) -> std::path::PathBuf {
        let folder = parent.join("run");
        fs::create_dir(&folder).unwrap();
        let mut journal = Journal::create(&folder).unwrap();
        for name in [TEST_FILE, "foreign"] {
            journal.will_make(&parent.join(name)).unwrap();
            fs::write(parent.join(name), "x").unwrap();
        }
        fs::write(folder.join(".run.json.1.unfinished"), "{").unwrap();
        drop(journal);
        let journal = folder.join(JOURNAL);
        let of_another_boot = fs::read_to_string(&journal).unwrap().replace("\"boot\":\"", "\"boot\":\"0");
        fs::write(&journal, of_another_boot).unwrap();
        folder
    }

    #[test]
    fn only_what_a_dead_run_made_is_removed() {
        let scratch = scratch();
        let folder = killed(scratch.path());
        let journal = crate::journal::of_a_dead_run(&folder).unwrap();
        sweep(&folder);
        assert!(scratch.path().join(TEST_FILE).exists(), "its journal is locked: it is being measured");
        drop(journal);
        sweep(&folder);
        assert!(!scratch.path().join(TEST_FILE).exists() && !folder.exists());
        assert!(scratch.path().join("foreign").exists(), "it has a name that we never give");
    }

    #[test]
    fn a_journal_that_another_user_may_have_written_is_not_believed() {
        let scratch = scratch();
        let folder = killed(scratch.path());
        let journal = folder.join(JOURNAL);
        fs::set_permissions(&journal, fs::Permissions::from_mode(0o666)).unwrap();
        sweep(&folder);
        fs::set_permissions(&journal, fs::Permissions::from_mode(0o644)).unwrap();
        // Only root can give a file away.
        if std::os::unix::fs::chown(&journal, Some(12345), None).is_ok() {
            sweep(&folder);
            std::os::unix::fs::chown(&journal, Some(rustix::process::geteuid().as_raw()), None).unwrap();
        }
        fs::hard_link(&journal, scratch.path().join("second name")).unwrap();
        sweep(&folder);
        assert!(scratch.path().join(TEST_FILE).exists() && journal.exists());
    }

    #[test]
    fn an_empty_folder_is_removed_once_no_new_run_can_own_it() {
        let scratch = scratch();
        let folder = scratch.path().join("run");
        fs::create_dir(&folder).unwrap();
        remove_empty(&folder);
        assert!(folder.exists(), "a run may just have created it");
        fs::File::open(&folder).unwrap().set_modified(std::time::UNIX_EPOCH).unwrap();
        remove_empty(&folder);
        assert!(!folder.exists());
    }
}
