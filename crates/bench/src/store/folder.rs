//! The folder of one run: its document, journal, HTML report, histograms and tool output.

use std::ffi::OsStr;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use model::document::Document;
use sys::file::{Directory, is_own};

use super::read::{DOCUMENT, PAGE};
use super::summary::{self, RunSummary};
use super::write::{Unfinished, replace, write_unsynced};
use crate::journal::{self, Asked, Entry, Journal};

/// The folder of histograms in a run's folder.
pub(crate) const HISTOGRAMS: &str = "histograms";
/// The folder of what tools printed in a run's folder.
pub(crate) const RAW: &str = "raw";
const SYNCED_TOGETHER: usize = 32;

#[derive(Debug)]
pub struct RunFolder {
    path: PathBuf,
    made: bool,
    /// The journal in it is ours; another run may have taken the folder.
    journal_begun: std::cell::Cell<bool>,
}

impl RunFolder {
    /// Uses an absent or empty folder.
    pub fn at(path: &Path) -> Result<Self, String> {
        let shown = path.display();
        let made = match fs::read_dir(path) {
            Ok(mut entries) => {
                if path.join(journal::JOURNAL).exists() {
                    return Err(format!(
                        "the output folder '{shown}' has an unfinished run; resume it with --resume, or choose another folder"
                    ));
                }
                if entries.next().is_some() {
                    return Err(format!("the output folder '{shown}' is not empty; choose another one, or empty it"));
                }
                false
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                // Only its owner may place files in it.
                (DirBuilder::new().recursive(true).mode(0o755).create(path))
                    .map_err(|error| format!("cannot create the output folder '{shown}': {error}"))?;
                true
            }
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
                return Err(format!("the output folder '{shown}' is a file; choose a folder"));
            }
            Err(error) => return Err(format!("cannot use the output folder '{shown}': {error}")),
        };
        Ok(Self { path: path.to_owned(), made, journal_begun: false.into() })
    }

    /// Creates a folder; fails if the path exists.
    pub(super) fn create(path: PathBuf) -> io::Result<Self> {
        DirBuilder::new().mode(0o755).create(&path)?;
        Ok(Self { path, made: true, journal_begun: false.into() })
    }

    pub(super) fn existing(path: PathBuf) -> Self {
        Self { path, made: false, journal_begun: false.into() }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Fails if it belongs to another user, whose files are read and never changed.
    pub fn check_own(&self) -> Result<(), String> {
        match fs::metadata(&self.path) {
            Ok(found) if !is_own(&found) => {
                Err(format!("the run's folder '{}' belongs to another user; copy it", self.path.display()))
            }
            _ => Ok(()),
        }
    }

    pub(crate) fn begin_journal(&self, asked: Asked) -> Result<Journal, String> {
        let begin = || {
            let mut journal = Journal::create(&self.path)?;
            self.journal_begun.set(true);
            match journal.note(&Entry::Asked(Box::new(asked))) {
                // A path that is not UTF-8 cannot be journalled: the run cannot be resumed.
                Err(error) if error.kind() == io::ErrorKind::InvalidData => Ok(journal),
                noted => noted.map(|()| journal),
            }
        };
        begin().map_err(|error| self.cannot_write(&error))
    }

    pub(crate) fn go_on_with_journal(&self, mut journal: Journal) -> Result<Journal, String> {
        journal.take_over().map_err(|error| self.cannot_write(&error)).map(|()| journal)
    }

    /// Writes the document atomically, and of a complete run its summary.
    pub fn write(&self, document: &Document) -> Result<(), String> {
        let mut text =
            serde_json::to_vec_pretty(document).map_err(|error| format!("cannot write the document: {error}"))?;
        text.push(b'\n');
        self.replace(DOCUMENT, &text)?;
        if document.run.complete {
            summary::store(&self.path, &RunSummary::from(document));
        }
        Ok(())
    }

    /// Writes the HTML report atomically; returns its path.
    pub fn write_page(&self, page: &[u8]) -> Result<PathBuf, String> {
        self.replace(PAGE, page).map(|()| self.path.join(PAGE))
    }

    /// Writes files in a subfolder, each atomically, and syncs them together: a slow disk takes as long for one as for all.
    pub fn write_all_in(&self, folder: &str, files: &[(String, Vec<u8>)]) -> Result<(), String> {
        if files.is_empty() {
            return Ok(());
        }
        let written = Directory::open(&self.path).and_then(|run| run.subdirectory(folder)).and_then(|directory| {
            let write = |(name, bytes): &(String, Vec<u8>)| {
                let unfinished = write_unsynced(&directory, OsStr::new(name), [bytes])?;
                unfinished.publish(&directory, OsStr::new(name))?;
                Ok(unfinished)
            };
            let all = files.chunks(SYNCED_TOGETHER).try_for_each(|files| {
                let files = files.iter().map(write).collect::<io::Result<Vec<Unfinished>>>()?;
                sync_together(&files)
            });
            directory.sync();
            all
        });
        written.map_err(|error| self.cannot_write(&error))
    }

    fn replace(&self, name: &str, bytes: &[u8]) -> Result<(), String> {
        let written = Directory::open(&self.path).and_then(|directory| replace(&directory, OsStr::new(name), [bytes]));
        written.map_err(|error| self.cannot_write(&error))
    }

    fn cannot_write(&self, error: &io::Error) -> String {
        let advice = match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                "; free some space, or use --out to choose another folder"
            }
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                "; use --out to choose another folder"
            }
            _ => "",
        };
        format!("cannot store the run in '{}': {error}{advice}", self.path.display())
    }

    /// Removes a folder without a stored run; one that existed before stays.
    pub fn abandon(self) {
        if self.journal_begun.get() {
            let _ = fs::remove_file(self.path.join(journal::JOURNAL));
        }
        if self.made {
            let _ = fs::remove_dir(&self.path);
        }
    }
}

/// Syncs files concurrently, so that they share one commit of the file system's journal.
fn sync_together(files: &[Unfinished]) -> io::Result<()> {
    std::thread::scope(|scope| {
        let start = |one| std::thread::Builder::new().spawn_scoped(scope, move || sync(one)).map_err(|_| one);
        let syncing: Vec<_> = files.iter().map(start).collect();
        syncing.into_iter().try_for_each(|started| match started {
            Ok(thread) => {
                thread.join().unwrap_or_else(|_| Err(io::Error::other("the thread that synced a file panicked")))
            }
            // Without another thread it is synced by this one.
            Err(one) => sync(one),
        })
    })
}

fn sync(one: &Unfinished) -> io::Result<()> {
    one.file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{asked, scratch};

    #[test]
    fn files_that_are_stored_together_are_all_there_whole() {
        let scratch = scratch();
        let folder = RunFolder::at(&scratch.path().join("run")).unwrap();
        let files = |text: &str| -> Vec<(String, Vec<u8>)> {
            (0..SYNCED_TOGETHER + 3).map(|n| (format!("{n}.hlog"), format!("{text} {n}").into_bytes())).collect()
        };
        for text in ["one", "another"] {
            folder.write_all_in("histograms", &files(text)).unwrap();
        }
        let histograms = folder.path().join("histograms");
        assert_eq!(fs::read_dir(&histograms).unwrap().count(), SYNCED_TOGETHER + 3, "nothing unfinished is left");
        for (name, bytes) in files("another") {
            assert_eq!(fs::read(histograms.join(name)).unwrap(), bytes);
        }
        // A failed replacement keeps the files before it.
        fs::create_dir_all(histograms.join("taken/x")).unwrap();
        let failing = [("first".to_owned(), b"1".to_vec()), ("taken".to_owned(), b"2".to_vec())];
        let said = folder.write_all_in("histograms", &failing).unwrap_err();
        assert!(said.contains("cannot store the run in"), "{said}");
        assert_eq!(fs::read(histograms.join("first")).unwrap(), b"1");
        let left = |entry: fs::DirEntry| entry.file_name().to_string_lossy().starts_with('.');
        assert!(!fs::read_dir(&histograms).unwrap().flatten().any(left), "nothing unfinished is left");
    }

    #[test]
    fn an_output_folder_is_new_or_empty() {
        let scratch = scratch();
        let path = scratch.path().join("out");
        RunFolder::at(&path).unwrap();
        RunFolder::at(&path).unwrap();
        fs::write(path.join("x"), "x").unwrap();
        assert!(RunFolder::at(&path).unwrap_err().contains("not empty"));
        assert!(RunFolder::at(&path.join("x")).unwrap_err().contains("is a file"));
    }

    #[test]
    fn only_a_folder_of_our_own_is_abandoned_with_what_is_in_it() {
        let scratch = scratch();
        let path = scratch.path().join("out");
        RunFolder::at(&path).unwrap().abandon();
        assert!(!path.exists());
        fs::create_dir(&path).unwrap();
        RunFolder::at(&path).unwrap().abandon();
        assert!(path.exists(), "another process created it");
        let (first, second) = (RunFolder::at(&path).unwrap(), RunFolder::at(&path).unwrap());
        let _journal = first.begin_journal(asked()).unwrap();
        assert!(second.begin_journal(asked()).is_err());
        second.abandon();
        assert!(path.join(journal::JOURNAL).exists(), "it is the other run's");
    }

    #[test]
    fn a_planted_link_is_not_written_through() {
        let scratch = scratch();
        let victim = scratch.path().join("victim");
        fs::create_dir(&victim).unwrap();
        let folder = RunFolder::at(&scratch.path().join("run")).unwrap();
        for name in [PAGE, "histograms"] {
            std::os::unix::fs::symlink(&victim, folder.path().join(name)).unwrap();
        }
        folder.write_page(b"x").unwrap();
        assert!(folder.write_all_in("histograms", &[("a".to_owned(), Vec::new())]).is_err());
        assert_eq!(fs::read_dir(&victim).unwrap().count(), 0);
        assert!(!folder.path().join(PAGE).is_symlink());
    }
}
