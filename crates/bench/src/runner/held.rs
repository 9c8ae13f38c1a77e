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
        filesystem: Option<&str>,
        journal: Option<&mut Journal>,
    ) -> Result<Option<HeldFile>, String> {
        let Params::Disk(params) = &planned.experiment.params else { return Ok(None) };
        let directory = Path::new(&params.path);
        let there = |holding: &&Holding| holding.directory == directory && holding.bytes == params.size;
        if self.0.iter().find(there).is_none() {
            let file = make(directory, journal)?;
            let in_place = overwritten_in_place(&file, filesystem);
            self.0.push(Holding { directory: directory.to_owned(), bytes: params.size, file, in_place });
        }
        Ok(self.0.iter().find(there).map(|holding| describe(holding, params, seed, filesystem)))
    }

    /// Gives the files back: they are gone once no worker has them open either.
    pub(super) fn let_go(&mut self) {
        self.0.clear();
    }
}

fn describe(holding: &Holding, params: &DiskParams, seed: u64, filesystem: Option<&str>) -> HeldFile {
    HeldFile {
        path: format!("/proc/{}/fd/{}", std::process::id(), holding.file.as_raw_fd()),
        directory: params.path.clone(),
        filesystem: filesystem.unwrap_or("unknown").to_owned(),
        in_place: holding.in_place,
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

fn make(directory: &Path, journal: Option<&mut Journal>) -> Result<File, String> {
    let cannot = |error: &std::io::Error| {
        format!("cannot make the test file in '{}': {error}; choose another directory with --dir", directory.display())
    };
    std::fs::create_dir_all(directory).map_err(|error| cannot(&error))?;
    // Nobody else can have a file of that name, so that taking it away later cannot be a mistake.
    let name = OsString::from(format!(".assay-{}-{}.tmp", std::process::id(), super::token()));
    if let Some(journal) = journal {
        journal.will_make(&directory.join(&name)).map_err(|error| cannot(&error))?;
    }
    sys::file::unnamed(directory, &name).map_err(|error| cannot(&error))
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
    fn rows_of_other_areas_need_none_and_a_missing_place_is_a_sentence() {
        let mut held = Held::default();
        assert_eq!(held.file_for(&planned(), 7, None, None), Ok(None));
        let error = held.file_for(&disk_row(Path::new("/proc/no/such"), 1), 7, None, None).unwrap_err();
        assert!(error.contains("/proc/no/such") && error.contains("--dir"), "{error}");
    }
}
