//! The files that disk rows work on: they outlive workers, so they belong to the runner.
//!
//! They have no names (`O_TMPFILE`) and live as long as the runner holds them: whatever ends the runner, they go with
//! it. Workers open them through /proc and lay them out; here they are only made.

use std::ffi::OsString;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use model::experiment::{DiskParams, Params};
use model::io::DiskLayout;
use model::wire::{Grain, HeldFile, TestFile};

use crate::journal::Journal;
use crate::plan::{Plan, Planned};
use crate::target::DiskTarget;

/// A layout that was cut off by its time limit has left this much at least, in bytes.
const LEAST_CUT_BYTES: u64 = 1 << 20;

/// The files that are held: for each directory, size and kind of contents one that all rows of a plan share, which is
/// the first thread's where each has its own, and those of the other threads.
#[derive(Debug, Default)]
pub(super) struct Held(Vec<Holding>);

#[derive(Debug)]
struct Holding {
    key: Key,
    file: File,
    /// See [`HeldFile::in_place`].
    in_place: Option<bool>,
    /// Whether its contents are no longer ours.
    overwritten: bool,
    /// Directories that were not there before, outermost first: gone with the file, unless something else is in them.
    made: Vec<PathBuf>,
}

/// Which file it is.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Key {
    directory: PathBuf,
    /// The size that it is to have.
    bytes: u64,
    /// See [`HeldFile::grain`].
    grain: Grain,
    /// The thread whose file it is.
    thread: u32,
}

impl Key {
    fn of(file: &TestFile) -> Self {
        let TestFile { directory, bytes, grain, thread } = file;
        Self { directory: PathBuf::from(directory), bytes: *bytes, grain: *grain, thread: *thread }
    }
}

impl Drop for Holding {
    fn drop(&mut self) {
        for directory in self.made.iter().rev() {
            let _ = std::fs::remove_dir(directory);
        }
    }
}

impl Held {
    /// The file for a row, and those of its other threads; `None` where the row needs none. Each is noted in the journal
    /// before it is made, since a file system without nameless files gives it a name for a moment.
    ///
    /// # Errors
    /// One sentence: it cannot be made.
    pub(super) fn file_for(
        &mut self,
        planned: &Planned,
        plan: &Plan,
        target: Option<&DiskTarget>,
        mut journal: Option<&mut Journal>,
    ) -> Result<Option<HeldFile>, String> {
        let Params::Disk(params) = &planned.experiment.params else { return Ok(None) };
        let mut first = self.one(params, 0, plan, target, journal.as_deref_mut())?;
        if params.layout == DiskLayout::PerThread {
            let others =
                (1..params.threads).map(|thread| self.one(params, thread, plan, target, journal.as_deref_mut()));
            first.others = others.collect::<Result<_, _>>()?;
        }
        Ok(Some(first))
    }

    /// The file of one thread.
    fn one(
        &mut self,
        params: &DiskParams,
        thread: u32,
        plan: &Plan,
        target: Option<&DiskTarget>,
        journal: Option<&mut Journal>,
    ) -> Result<HeldFile, String> {
        let directory = PathBuf::from(&params.path);
        let key = Key { directory, bytes: params.size, grain: Grain::of_blocks(params.block), thread };
        let filesystem = target.and_then(|target| target.storage.filesystem.as_deref());
        if let Some(holding) = self.0.iter().find(|holding| holding.key == key) {
            return Ok(describe(holding, params, plan, filesystem));
        }
        let may_make = !target.is_some_and(|target| target.named);
        let (file, made) = make(&key.directory, may_make, journal)?;
        let in_place = overwritten_in_place(&file, filesystem);
        let holding = Holding { key, file, in_place, overwritten: false, made };
        let described = describe(&holding, params, plan, filesystem);
        self.0.push(holding);
        Ok(described)
    }

    /// Bytes of the files of a row that are not there yet.
    pub(super) fn missing_bytes(&self, params: &DiskParams) -> u64 {
        let is_held = |file: &TestFile| self.0.iter().any(|held| !held.overwritten && held.key == Key::of(file));
        TestFile::of(params).iter().filter(|file| !is_held(file)).map(|file| file.bytes).sum()
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

    /// The size that a layout has left it with, where its time was over before the file was whole.
    fn cut_bytes(&self) -> Option<u64> {
        let bytes = self.file.metadata().ok()?.len();
        (LEAST_CUT_BYTES..self.key.bytes).contains(&bytes).then_some(bytes)
    }
}

fn describe(holding: &Holding, params: &DiskParams, plan: &Plan, filesystem: Option<&str>) -> HeldFile {
    let Key { bytes, grain, thread, .. } = holding.key;
    HeldFile {
        path: holding.path(),
        directory: params.path.clone(),
        filesystem: filesystem.unwrap_or("unknown").to_owned(),
        in_place: holding.in_place,
        polled: params.direct && sys::file::has_polled_queues(&holding.file, Path::new("/sys")),
        bytes: holding.cut_bytes().filter(|_| plan.layout_seconds.is_some()).unwrap_or(bytes),
        // No two files have the same pages.
        seed: plan.seed.wrapping_add(u64::from(thread) << u32::BITS),
        grain,
        layout_seconds: plan.layout_seconds,
        others: Vec::new(),
    }
}

/// A file, and those of its other threads, that may be laid out for so long.
pub(super) fn laid_out_within(layout_seconds: Option<u32>, file: HeldFile) -> HeldFile {
    let others = file.others.into_iter().map(|other| laid_out_within(layout_seconds, other)).collect();
    HeldFile { layout_seconds, others, ..file }
}

/// Asks that the file, still empty, be overwritten in place, and says whether it is. Where a file system copies on write
/// and keeps checksums, direct writes are buffered for them: not for this file, if it lets us.
fn overwritten_in_place(file: &File, filesystem: Option<&str>) -> Option<bool> {
    let granted = sys::file::refuse_copy_on_write(file).unwrap_or(false);
    // Others than btrfs do not know the wish: most of them write in place anyway, and ZFS and bcachefs do not.
    let copies = filesystem.and_then(machine::filesystem_named).is_some_and(|kind| kind.copy_on_write);
    (granted || copies).then_some(granted)
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
    let name =
        OsString::from(format!(".assay-{}-{}.tmp", std::process::id(), crate::net::preface::Token::new().as_str()));
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
            method: "disk-read/3".into(),
            classic: None,
            kernel: None,
        };
        Planned { experiment, ..planned() }
    }

    fn plan() -> Plan {
        let suite = crate::suite::Suite::find("quick").unwrap();
        let empty =
            crate::suite::Suite { cpu: Vec::new(), memory: Vec::new(), net: Vec::new(), disk: Vec::new(), ..suite };
        let request = crate::plan::Request::of(empty);
        crate::plan::plan(&request, &crate::tests::machine_with_cpus(1)).unwrap()
    }

    /// The same row with other parameters.
    fn changed(row: Planned, change: impl FnOnce(&mut DiskParams)) -> Planned {
        let mut row = row;
        if let Params::Disk(params) = &mut row.experiment.params {
            change(params);
        }
        row
    }

    #[test]
    fn each_size_and_kind_of_contents_has_a_file_and_so_has_each_thread() {
        let scratch = scratch();
        let mut held = Held::default();
        let mut file = |change: fn(&mut DiskParams)| {
            held.file_for(&changed(disk_row(scratch.path(), 1), change), &plan(), None, None).unwrap().unwrap()
        };
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
        let mut held = Held::default();
        let row = changed(disk_row(scratch.path(), 1), |params| params.size = 4 * LEAST_CUT_BYTES);
        let limited = Plan { layout_seconds: Some(20), ..plan() };
        let mut file = |plan: &Plan| held.file_for(&row, plan, None, None).unwrap().unwrap();
        let cut_to = |path: &str, bytes| {
            std::fs::OpenOptions::new().write(true).open(path).and_then(|file| file.set_len(bytes)).unwrap();
        };
        let path = file(&limited).path;
        for (length, bytes) in [
            (0, 4 * LEAST_CUT_BYTES),
            (LEAST_CUT_BYTES - 4096, 4 * LEAST_CUT_BYTES),
            (2 * LEAST_CUT_BYTES, 2 * LEAST_CUT_BYTES),
        ] {
            cut_to(&path, length);
            assert_eq!(file(&limited).bytes, bytes);
        }
        assert_eq!(file(&plan()).bytes, 4 * LEAST_CUT_BYTES, "what was asked for is laid out in full");
    }

    #[test]
    fn rows_share_a_file_that_has_no_name() {
        let scratch = scratch();
        let mut held = Held::default();
        let mut path =
            |depth| held.file_for(&disk_row(scratch.path(), depth), &plan(), None, None).unwrap().unwrap().path;
        let (one, other) = (path(1), path(32));
        assert_eq!(one, other);
        assert!(std::fs::OpenOptions::new().write(true).open(&one).is_ok(), "a worker can open it");
        assert_eq!(std::fs::read_dir(scratch.path()).unwrap().count(), 0);
        let inode = |path: &str| std::fs::metadata(path).map(|found| std::os::unix::fs::MetadataExt::ino(&found)).ok();
        let first = inode(&one);
        // Kept open, so that its number is not given to another; that of the descriptor may be, by another test.
        let _kept = std::fs::File::open(&one).unwrap();
        held.let_go();
        assert!(first.is_some() && inode(&one) != first);
    }

    #[test]
    fn a_file_that_a_tool_has_written_over_serves_tools_until_our_next_launch() {
        let scratch = scratch();
        let mut held = Held::default();
        let row = disk_row(scratch.path(), 1);
        let inode = |held: &mut Held| {
            let file = held.file_for(&row, &plan(), None, None).unwrap().unwrap();
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
        held.file_for(&disk_row(&mine, 1), &plan(), None, None).unwrap();
        assert!(mine.is_dir());
        held.let_go();
        assert_eq!(std::fs::read_dir(scratch.path()).unwrap().count(), 0);
        held.file_for(&disk_row(&mine, 1), &plan(), None, None).unwrap();
        std::fs::write(mine.join("somebody's"), "").unwrap();
        held.let_go();
        assert!(mine.join("somebody's").exists());
        let named = DiskTarget::look(scratch.path().join("gone"), true);
        assert!(held.file_for(&disk_row(&named.directory, 1), &plan(), Some(&named), None).is_err());
        assert!(!named.directory.exists());
    }

    #[test]
    fn rows_of_other_areas_need_none_and_a_missing_place_is_a_sentence() {
        let mut held = Held::default();
        assert_eq!(held.file_for(&planned(), &plan(), None, None), Ok(None));
        let error = held.file_for(&disk_row(Path::new("/proc/no/such"), 1), &plan(), None, None).unwrap_err();
        assert!(error.contains("/proc/no/such") && error.contains("--dir"), "{error}");
    }
}
