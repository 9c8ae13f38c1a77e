//! The file that disk rows work on: it outlives workers, so it belongs to the runner.
//!
//! It has no name (`O_TMPFILE`) and lives as long as the runner holds it: whatever ends the runner, the file goes with
//! it. Workers open it through /proc and lay it out; here it is only made.

use std::ffi::OsString;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use model::experiment::{DiskParams, Params};
use model::wire::HeldFile;

use crate::journal::Journal;
use crate::plan::Planned;
use crate::target::DiskTarget;

/// The files that are held: one for each directory and size, which all rows of a plan share.
#[derive(Debug, Default)]
pub(super) struct Held(Vec<Holding>);

#[derive(Debug)]
struct Holding {
    directory: PathBuf,
    bytes: u64,
    file: File,
    /// See [`HeldFile::in_place`].
    in_place: Option<bool>,
    /// Whether its contents are no longer ours.
    overwritten: bool,
    /// Directories that were not there before, outermost first: gone with the file, unless something else is in them.
    made: Vec<PathBuf>,
}

impl Drop for Holding {
    fn drop(&mut self) {
        for directory in self.made.iter().rev() {
            let _ = std::fs::remove_dir(directory);
        }
    }
}

impl Held {
    /// The file for a row; `None` where the row needs none. It is noted in the journal before it is made, since a file
    /// system without nameless files gives it a name for a moment.
    ///
    /// # Errors
    /// One sentence: it cannot be made.
    pub(super) fn file_for(
        &mut self,
        planned: &Planned,
        seed: u64,
        target: Option<&DiskTarget>,
        journal: Option<&mut Journal>,
    ) -> Result<Option<HeldFile>, String> {
        let Params::Disk(params) = &planned.experiment.params else { return Ok(None) };
        let directory = Path::new(&params.path);
        let filesystem = target.and_then(|target| target.storage.filesystem.as_deref());
        let there = |holding: &&Holding| holding.directory == directory && holding.bytes == params.size;
        if self.0.iter().find(there).is_none() {
            let may_make = !target.is_some_and(|target| target.named);
            let (file, made) = make(directory, may_make, journal)?;
            let in_place = overwritten_in_place(&file, filesystem);
            self.0.push(Holding {
                directory: directory.to_owned(),
                bytes: params.size,
                file,
                in_place,
                overwritten: false,
                made,
            });
        }
        Ok(self.0.iter().find(there).map(|holding| describe(holding, params, seed, filesystem)))
    }

    /// A tool has written over this file. Tools may go on with it; our next launch must not.
    pub(super) fn overwritten(&mut self, path: &str) {
        for holding in self.0.iter_mut().filter(|holding| holding.path() == path) {
            holding.overwritten = true;
        }
    }

    /// Gives the files back whose contents are no longer ours, so that new ones are laid out.
    pub(super) fn let_go_of_overwritten(&mut self) {
        self.0.retain(|holding| !holding.overwritten);
    }

    /// Gives the files back: they are gone once no worker has them open either.
    pub(super) fn let_go(&mut self) {
        self.0.clear();
    }
}

impl Holding {
    /// Where other processes open it.
    fn path(&self) -> String {
        format!("/proc/{}/fd/{}", std::process::id(), self.file.as_raw_fd())
    }
}

fn describe(holding: &Holding, params: &DiskParams, seed: u64, filesystem: Option<&str>) -> HeldFile {
    HeldFile {
        path: holding.path(),
        directory: params.path.clone(),
        filesystem: filesystem.unwrap_or("unknown").to_owned(),
        in_place: holding.in_place,
        polled: params.direct && sys::file::has_polled_queues(&holding.file, Path::new("/sys")),
        bytes: params.size,
        seed,
    }
}

/// Asks that the file, still empty, be overwritten in place, and says whether it is. Where a file system copies on write
/// and keeps checksums, direct writes are buffered for them: not for this file, if it lets us.
fn overwritten_in_place(file: &File, filesystem: Option<&str>) -> Option<bool> {
    let granted = sys::file::refuse_copy_on_write(file).unwrap_or(false);
    // Others than btrfs do not know the wish, and most of them write in place anyway.
    (granted || filesystem == Some("btrfs")).then_some(granted)
}

/// The file, and the directories that had to be made for it. One that the user named and that is gone is not made again.
fn make(directory: &Path, may_make: bool, journal: Option<&mut Journal>) -> Result<(File, Vec<PathBuf>), String> {
    let cannot = |error: &std::io::Error| {
        format!("cannot make the test file in '{}': {error}; choose another directory with --dir", directory.display())
    };
    let mut made = Vec::new();
    if may_make {
        let missing = directory.ancestors().take_while(|above| !above.as_os_str().is_empty() && !above.exists());
        made = missing.map(Path::to_owned).collect();
        made.reverse();
        std::fs::create_dir_all(directory).map_err(|error| cannot(&error))?;
    }
    // Nobody else can have a file of that name, so that taking it away later cannot be a mistake.
    let name = OsString::from(format!(".assay-{}-{}.tmp", std::process::id(), super::token()));
    if let Some(journal) = journal {
        journal.will_make(&directory.join(&name)).map_err(|error| cannot(&error))?;
    }
    sys::file::unnamed(directory, &name).map(|file| (file, made)).map_err(|error| cannot(&error))
}

#[cfg(test)]
mod tests {
    use model::experiment::{Area, DiskChoices, Experiment, disk_id};

    use super::*;
    use crate::tests::{disk_params, planned, scratch};

    fn disk_row(directory: &Path, depth: u32) -> Planned {
        let params = DiskParams { path: directory.display().to_string(), ..disk_params(depth) };
        let id = disk_id(&params, DiskChoices::default());
        let experiment = Experiment {
            id,
            area: Area::Disk,
            params: Params::Disk(params),
            method: "disk-read/1".into(),
            classic: None,
            kernel: None,
        };
        Planned { experiment, ..planned() }
    }

    #[test]
    fn rows_share_a_file_that_has_no_name() {
        let scratch = scratch();
        let mut held = Held::default();
        let mut path = |depth| held.file_for(&disk_row(scratch.path(), depth), 7, None, None).unwrap().unwrap().path;
        let (one, other) = (path(1), path(32));
        assert_eq!(one, other);
        assert!(std::fs::OpenOptions::new().write(true).open(&one).is_ok(), "a worker can open it");
        assert_eq!(std::fs::read_dir(scratch.path()).unwrap().count(), 0);
        held.let_go();
        assert!(!Path::new(&one).exists());
    }

    #[test]
    fn a_file_that_a_tool_has_written_over_serves_tools_until_our_next_launch() {
        let scratch = scratch();
        let mut held = Held::default();
        let row = disk_row(scratch.path(), 1);
        let inode = |held: &mut Held| {
            let file = held.file_for(&row, 7, None, None).unwrap().unwrap();
            let inode = std::os::unix::fs::MetadataExt::ino(&std::fs::metadata(&file.path).unwrap());
            (file.path, inode)
        };
        let (path, first) = inode(&mut held);
        // Kept open, so that its number is not given to the next one.
        let _kept = std::fs::File::open(&path).unwrap();
        held.let_go_of_overwritten();
        assert_eq!(inode(&mut held).1, first);
        held.overwritten(&path);
        assert_eq!(inode(&mut held).1, first);
        held.let_go_of_overwritten();
        assert_ne!(inode(&mut held).1, first);
    }

    #[test]
    fn a_directory_that_had_to_be_made_goes_with_the_file_and_one_that_was_named_is_not_made() {
        let scratch = scratch();
        let mine = scratch.path().join("not/yet/there");
        let mut held = Held::default();
        held.file_for(&disk_row(&mine, 1), 7, None, None).unwrap();
        assert!(mine.is_dir());
        held.let_go();
        assert_eq!(std::fs::read_dir(scratch.path()).unwrap().count(), 0);
        held.file_for(&disk_row(&mine, 1), 7, None, None).unwrap();
        std::fs::write(mine.join("somebody's"), "").unwrap();
        held.let_go();
        assert!(mine.join("somebody's").exists());
        let named = DiskTarget::look(scratch.path().join("gone"), true);
        assert!(held.file_for(&disk_row(&named.directory, 1), 7, Some(&named), None).is_err());
        assert!(!named.directory.exists());
    }

    #[test]
    fn rows_of_other_areas_need_none_and_a_missing_place_is_a_sentence() {
        let mut held = Held::default();
        assert_eq!(held.file_for(&planned(), 7, None, None), Ok(None));
        let error = held.file_for(&disk_row(Path::new("/proc/no/such"), 1), 7, None, None).unwrap_err();
        assert!(error.contains("/proc/no/such") && error.contains("--dir"), "{error}");
    }
}
