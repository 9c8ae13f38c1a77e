//! The test files of disk benchmarks: nameless (`O_TMPFILE`), held by the runner, opened through /proc and laid out by workers.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use model::experiment::DiskParams;
use model::wire::{HeldFile, TestFile};

use crate::engines::disk::layout::LEAST_BYTES;
use crate::engines::resources::WillMake;
use model::disk_target::DiskTarget;

/// The files that are held, one for each directory, size, contents and thread; the first thread's may be shared.
#[derive(Debug, Default)]
pub(super) struct TestFiles(pub(super) Vec<Holding>);

#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    pub(super) seed: u64,
    pub(super) seconds: Option<u32>,
}

#[derive(Debug)]
pub(super) struct Holding {
    key: TestFile,
    file: File,
    in_place: Option<bool>,
    pub(super) overwritten: bool,
    /// Directories that were made for it, outermost first: removed with the file, unless they hold something else.
    made: Vec<PathBuf>,
}

impl Drop for Holding {
    fn drop(&mut self) {
        for directory in self.made.iter().rev() {
            let _ = std::fs::remove_dir(directory);
        }
    }
}

impl TestFiles {
    /// This file, created if missing. It is noted in the journal first: some file systems give it a name for a moment.
    pub(super) fn one(
        &mut self,
        key: TestFile,
        params: &DiskParams,
        layout: Layout,
        target: Option<&DiskTarget>,
        will_make: WillMake<'_>,
    ) -> Result<HeldFile, String> {
        let filesystem = target.and_then(|target| target.storage.filesystem.as_deref());
        if let Some(holding) = self.0.iter().find(|holding| holding.key == key) {
            return Ok(describe(holding, params, layout, filesystem));
        }
        let may_make = !target.is_some_and(|target| target.named);
        let (file, made) = make(Path::new(&key.directory), may_make, will_make)?;
        let in_place = overwritten_in_place(&file, filesystem);
        let holding = Holding { key, file, in_place, overwritten: false, made };
        let described = describe(&holding, params, layout, filesystem);
        self.0.push(holding);
        Ok(described)
    }

    pub(super) fn missing_bytes(&self, params: &DiskParams) -> u64 {
        let is_held = |file: &TestFile| self.0.iter().any(|held| !held.overwritten && held.key == *file);
        TestFile::of_benchmark(params).iter().filter(|file| !is_held(file)).map(|file| file.bytes).sum()
    }

    /// Marks a file as overwritten by a tool: other tools may use it, workers must not.
    pub(super) fn overwritten(&mut self, path: &str) {
        for holding in self.0.iter_mut().filter(|holding| holding.path() == path) {
            holding.overwritten = true;
        }
    }
}

impl Holding {
    fn path(&self) -> String {
        format!("/proc/{}/fd/{}", std::process::id(), self.file.as_raw_fd())
    }
}

fn describe(holding: &Holding, params: &DiskParams, layout: Layout, filesystem: Option<&str>) -> HeldFile {
    let TestFile { bytes, grain, thread, .. } = holding.key;
    let cut = holding.file.metadata().ok().filter(|_| layout.seconds.is_some()).map(|found| found.len());
    HeldFile {
        path: holding.path(),
        directory: params.path.clone(),
        filesystem: filesystem.unwrap_or("unknown").to_owned(),
        in_place: holding.in_place,
        polled: params.direct && sys::file::has_polled_queues(&holding.file, Path::new("/sys")),
        bytes: cut.filter(|cut| (LEAST_BYTES..bytes).contains(cut)).unwrap_or(bytes),
        seed: layout.seed.wrapping_add(u64::from(thread) << u32::BITS),
        grain,
        layout_seconds: layout.seconds,
        others: Vec::new(),
    }
}

/// Requests that the empty file be overwritten in place, and returns whether it is. Where a file system copies on write and
/// keeps checksums, direct writes are buffered for them, unless it grants this.
fn overwritten_in_place(file: &File, filesystem: Option<&str>) -> Option<bool> {
    let granted = sys::file::refuse_copy_on_write(file).unwrap_or(false);
    // Only btrfs knows the request: most others write in place anyway, ZFS and bcachefs do not.
    let copies = filesystem.and_then(machine::filesystem_named).is_some_and(|kind| kind.copy_on_write);
    (granted || copies).then_some(granted)
}

/// Creates the file and, if `may_make`, missing directories, which it returns.
fn make(directory: &Path, may_make: bool, will_make: WillMake<'_>) -> Result<(File, Vec<PathBuf>), String> {
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
    // A unique name, so that removing it later cannot hit another file.
    let name = crate::leftovers::momentary::name();
    will_make(&directory.join(&name)).map_err(|error| cannot(&error))?;
    sys::file::unnamed(directory, &name).map(|file| (file, made)).map_err(|error| cannot(&error))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use model::io::DiskLayout;
    use model::wire::Grain;

    use super::*;
    use crate::engines::disk::run::DiskResources;
    use crate::engines::resources::{Release, RunResources, User};
    use crate::tests::{disk_params, planned, scratch};
    use model::plan::Planned;

    fn row(directory: &Path, change: impl FnOnce(&mut DiskParams)) -> Planned {
        let mut params = DiskParams { path: directory.display().to_string(), ..disk_params(1) };
        change(&mut params);
        let mut row = planned();
        row.experiment.params = model::experiment::Params::Disk(params);
        row
    }

    fn resources<'a>(seconds: Option<u32>) -> DiskResources<'a> {
        DiskResources {
            files: TestFiles::default(),
            pace: super::super::Pace::default(),
            target: None,
            layout: Layout { seed: 1, seconds },
        }
    }

    fn file_for(resources: &mut DiskResources<'_>, row: &Planned) -> HeldFile {
        resources.provide(row, User::Worker, &mut |_| Ok(())).unwrap().file.unwrap()
    }

    #[test]
    fn each_size_and_kind_of_contents_has_a_file_and_so_has_each_thread() {
        let scratch = scratch();
        let mut held = resources(None);
        let mut file = |change: fn(&mut DiskParams)| file_for(&mut held, &row(scratch.path(), change));
        let plain = file(|_| {});
        let large = file(|params| params.size *= 2);
        let words = file(|params| params.block = 8);
        let bytes = file(|params| params.block = 7);
        assert!(plain.path != large.path && large.bytes == 2 * plain.bytes);
        assert_eq!([plain.grain, words.grain, bytes.grain], [Grain::Sectors, Grain::Words, Grain::Bytes]);
        assert!(words.path != plain.path && bytes.path != plain.path && bytes.path != words.path);
        let four = file(|params| (params.layout, params.threads) = (DiskLayout::PerThread, 4));
        let two = file(|params| (params.layout, params.threads) = (DiskLayout::PerThread, 2));
        assert_eq!((&four.path, four.others.len()), (&plain.path, 3), "the first is the one that others share");
        assert_eq!(two.others, four.others[..1]);
        let mut seeds: Vec<u64> = four.all().map(|file| file.seed).collect();
        let mut paths: Vec<&str> = four.all().map(|file| file.path.as_str()).collect();
        seeds.sort_unstable();
        seeds.dedup();
        paths.sort_unstable();
        paths.dedup();
        assert_eq!((seeds.len(), paths.len()), (4, 4));
        assert_eq!(four.of_thread(2).path, four.others[1].path);
    }

    #[test]
    fn a_layout_that_was_cut_off_says_how_large_the_file_is() {
        let scratch = scratch();
        let mut held = resources(Some(20));
        let row = row(scratch.path(), |params| params.size = 4 * LEAST_BYTES);
        let mut file = |seconds| {
            held.layout.seconds = seconds;
            file_for(&mut held, &row)
        };
        let cut_to = |path: &str, bytes| {
            std::fs::OpenOptions::new().write(true).open(path).and_then(|file| file.set_len(bytes)).unwrap();
        };
        let path = file(Some(20)).path;
        let whole = 4 * LEAST_BYTES;
        for (length, bytes) in [(0, whole), (LEAST_BYTES - 4096, whole), (2 * LEAST_BYTES, 2 * LEAST_BYTES)] {
            cut_to(&path, length);
            assert_eq!(file(Some(20)).bytes, bytes);
        }
        assert_eq!(file(None).bytes, whole, "without a limit it is laid out in full");
    }

    #[test]
    fn rows_share_a_file_that_has_no_name() {
        let scratch = scratch();
        let mut held = resources(None);
        let mut path = |depth| file_for(&mut held, &row(scratch.path(), |params| params.depth = depth)).path;
        let (one, other) = (path(1), path(32));
        assert_eq!(one, other);
        assert!(std::fs::OpenOptions::new().write(true).open(&one).is_ok(), "a worker can open it");
        assert_eq!(std::fs::read_dir(scratch.path()).unwrap().count(), 0);
        let first = std::fs::metadata(&one).unwrap().ino();
        // Kept open, so that its number is not reused; that of the descriptor may be, by another test.
        let _kept = std::fs::File::open(&one).unwrap();
        held.release(Release::All);
        assert!(std::fs::metadata(&one).map(|found| found.ino()).ok() != Some(first));
    }

    #[test]
    fn a_file_that_a_tool_has_written_over_serves_tools_until_our_next_run() {
        let scratch = scratch();
        let mut held = resources(None);
        let row = row(scratch.path(), |_| {});
        let mut provide = |user, overwritten: Option<&HeldFile>| {
            if let Some(file) = overwritten {
                held.release(Release::Contents(file));
            }
            let file = held.provide(&row, user, &mut |_| Ok(())).unwrap().file.unwrap();
            let inode = std::fs::metadata(&file.path).unwrap().ino();
            (file, inode)
        };
        let (file, first) = provide(User::Worker, None);
        let _kept = std::fs::File::open(&file.path).unwrap();
        assert_eq!(provide(User::Worker, None).1, first);
        assert_eq!(provide(User::Tool, Some(&file)).1, first);
        assert_ne!(provide(User::Worker, None).1, first);
    }

    #[test]
    fn a_directory_that_had_to_be_made_goes_with_the_file_and_one_that_was_named_is_not_made() {
        let scratch = scratch();
        let mine = scratch.path().join("not/yet/there");
        let named = crate::target::look(scratch.path().join("gone"), true);
        let mut held = resources(None);
        file_for(&mut held, &row(&mine, |_| {}));
        assert!(mine.is_dir());
        held.release(Release::All);
        assert_eq!(std::fs::read_dir(scratch.path()).unwrap().count(), 0);
        file_for(&mut held, &row(&mine, |_| {}));
        std::fs::write(mine.join("foreign"), "").unwrap();
        held.release(Release::All);
        assert!(mine.join("foreign").exists());
        held.target = Some(&named);
        assert!(held.provide(&row(&named.directory, |_| {}), User::Worker, &mut |_| Ok(())).is_err());
        assert!(!named.directory.exists());
    }

    #[test]
    fn rows_of_other_areas_need_none_and_a_missing_place_is_a_sentence() {
        let mut held = resources(None);
        let mut provide = |row: &Planned| held.provide(row, User::Worker, &mut |_| Ok(()));
        assert_eq!(provide(&planned()).unwrap().file, None);
        let error = provide(&row(Path::new("/proc/no/such"), |_| {})).unwrap_err();
        assert!(error.contains("/proc/no/such") && error.contains("--dir"), "{error}");
    }
}
