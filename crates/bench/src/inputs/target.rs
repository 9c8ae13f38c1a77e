//! Where disks are measured: what a directory is on, found before planning. Leaves nothing behind.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use machine::{FilesystemClass, FilesystemKind, Sysroot};
use model::disk_target::{DirectAlignment, DiskTarget};
use model::machine::Storage;
use sys::queue::Queue;

/// Advice of every obstacle: for our store, and for a directory given with `--dir`.
const ADVICE: &str = "use --dir to choose a directory on a disk";
const ADVICE_ON_NAMED: &str = "use --dir to choose another directory, on a disk";

/// Looks at a directory. A store that does not exist yet is judged by its nearest existing parent.
pub fn look(directory: PathBuf, named: bool) -> DiskTarget {
    look_by(directory, named, &|directory| file_for_a_moment(directory).map(Some))
}

/// Looks at a given directory without creating a name in it. Where that needs a name, it checks neither files nor direct I/O.
pub fn only_look(directory: PathBuf) -> DiskTarget {
    look_by(directory, true, &sys::file::nameless)
}

fn look_by(directory: PathBuf, named: bool, make: &Make) -> DiskTarget {
    let there = if named { Some(directory.as_path()) } else { directory.ancestors().find(|above| above.exists()) };
    // A relative path ends with an empty ancestor: the current directory.
    let there = there.filter(|path| !path.as_os_str().is_empty()).unwrap_or(Path::new(".")).to_owned();
    let mut target = DiskTarget {
        storage: Storage { directory: directory.display().to_string(), ..Storage::default() },
        directory,
        named,
        no_io_uring: Queue::io_uring_available().err().map(|error| why_not(&error.to_string()).to_owned()),
        no_libaio: Queue::libaio_available().err().map(|error| why_not(&error.to_string()).to_owned()),
        ..DiskTarget::default()
    };
    target.obstacle = look_at(&mut target, &there, make).err();
    target
}

fn look_at(target: &mut DiskTarget, there: &Path, make: &Make) -> Result<(), String> {
    let advice = if target.named { ADVICE_ON_NAMED } else { ADVICE };
    let named = |why: &str| format!("'{}' {why}: {advice}", target.directory.display());
    let real = there.canonicalize().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => named("does not exist"),
        _ => named(&format!("cannot be reached ({error})")),
    })?;
    if !real.is_dir() {
        return Err(named("is not a directory"));
    }
    if real.to_str().is_none() {
        return Err(named("has a name that is not UTF-8, which a run's document cannot store"));
    }
    let space = sys::file::space(&real).map_err(|error| named(&format!("cannot be reached ({error})")))?;
    let kind = machine::filesystem_kind(space.magic);
    let class = kind.map(|kind| kind.class);
    let storage = machine::storage(&Sysroot::host(), &real);
    let name = || kind.map(|kind| kind.name.to_owned());
    // The mount table knows what is below; the magic number works without it.
    let memory = storage.memory.clone().or_else(|| name().filter(|_| class == Some(FilesystemClass::Memory)));
    let unasked = kind.and_then(|kind| unasked(kind, target.named));
    let refusal = match (memory, unasked) {
        (Some(way), _) => Err(named(&format!("is {way}, which is memory"))),
        (None, Some(why)) => Err(format!("{}, or this one to measure it anyway", named(&why))),
        _ if space.read_only => Err(named("is mounted read-only")),
        _ => make(&real).map_err(|error| named(&why_no_file(&error))).map(|file| {
            target.no_direct = file.as_ref().and_then(no_direct).map(str::to_owned);
            target.alignment = file.and_then(|file| alignment(&file));
        }),
    };
    if target.named {
        target.directory.clone_from(&real);
    }
    target.storage = storage;
    target.limits = machine::io_limits(&Sysroot::host(), &target.storage);
    target.storage.filesystem = target.storage.filesystem.take().or_else(name);
    (target.total_bytes, target.available_bytes) = (space.total_bytes, space.available_bytes);
    target.remote = class == Some(FilesystemClass::Remote);
    refusal
}

fn alignment(file: &File) -> Option<DirectAlignment> {
    let said = sys::file::direct_alignment(file).ok()??;
    Some(DirectAlignment { memory_bytes: said.memory_bytes, offset_bytes: said.offset_bytes })
}

/// Remote file systems are measured only on request: other hosts may use the server.
fn unasked(kind: FilesystemKind, named: bool) -> Option<String> {
    let remote = kind.class == FilesystemClass::Remote && !named;
    remote.then(|| format!("is {}, which stores its data on another machine", kind.name))
}

pub(crate) fn why_not(sentence: &str) -> &str {
    let beginnings = ["io_uring is not available: ", "libaio is not available: "];
    beginnings.into_iter().find_map(|beginning| sentence.strip_prefix(beginning)).unwrap_or(sentence)
}

type Make = dyn Fn(&Path) -> io::Result<Option<File>>;

/// A file without a name, or with one for a moment; then files that killed processes left are removed.
fn file_for_a_moment(directory: &Path) -> io::Result<File> {
    if let Some(file) = sys::file::nameless(directory)? {
        return Ok(file);
    }
    let file = sys::file::unnamed(directory, &crate::leftovers::momentary::name())?;
    crate::leftovers::momentary::remove_left(directory, &file);
    Ok(file)
}

fn why_no_file(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::PermissionDenied => "is not writable for this user".to_owned(),
        io::ErrorKind::ReadOnlyFilesystem => "is mounted read-only".to_owned(),
        io::ErrorKind::StorageFull => "is full".to_owned(),
        io::ErrorKind::QuotaExceeded => "is beyond this user's quota".to_owned(),
        _ => format!("cannot hold files ({error})"),
    }
}

/// Why a file cannot be opened for direct I/O. Whether requests bypass the cache shows only while measuring.
pub(crate) fn no_direct(file: &File) -> Option<&'static str> {
    if sys::file::direct_alignment(file).is_ok_and(|said| said.is_some_and(|said| said.offset_bytes == 0)) {
        return Some("the file system does not support it");
    }
    let path = PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()));
    sys::file::open(&path, true, true, false)
        .is_err_and(|error| matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported))
        .then_some("the file system refuses it")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::scratch;

    #[test]
    fn a_directory_that_can_be_written_has_space_and_is_left_as_it_was() {
        let scratch = scratch();
        let target = look(scratch.path().to_owned(), true);
        assert!(target.total_bytes >= target.available_bytes && target.total_bytes > 0, "{target:?}");
        assert_eq!(std::fs::read_dir(scratch.path()).unwrap().count(), 0);
        let memory = ["tmpfs", "ramfs"].map(str::to_owned).map(Some).contains(&target.storage.filesystem);
        assert_eq!(memory, target.obstacle.as_ref().is_some_and(|why| why.contains("which is memory")), "{target:?}");
    }

    #[test]
    fn a_name_that_no_document_can_hold_is_refused() {
        use std::os::unix::ffi::OsStrExt;
        let scratch = scratch();
        let odd = scratch.path().join(std::ffi::OsStr::from_bytes(b"b\xff"));
        std::fs::create_dir(&odd).unwrap();
        let why = look(odd, true).obstacle.unwrap();
        assert!(why.contains("has a name that is not UTF-8"), "{why}");
    }

    #[test]
    fn only_looking_gives_nothing_a_name_and_finds_the_same() {
        let scratch = scratch();
        let changed = || std::fs::metadata(scratch.path()).unwrap().modified().unwrap();
        let before = changed();
        let looked = only_look(scratch.path().to_owned());
        assert_eq!(changed(), before, "a name that comes and goes changes its directory");
        assert_eq!(std::fs::read_dir(scratch.path()).unwrap().count(), 0);
        let target = look(scratch.path().to_owned(), true);
        assert_eq!((looked.obstacle, looked.storage, looked.limits), (target.obstacle, target.storage, target.limits));
        assert!(looked.no_direct.is_none() || looked.no_direct == target.no_direct, "{:?}", looked.no_direct);
    }

    #[test]
    fn network_file_systems_are_measured_only_if_named() {
        let kind = |class| FilesystemKind { name: "nfs", class, copy_on_write: false, magic: 0x6969 };
        let said = unasked(kind(FilesystemClass::Remote), false).unwrap();
        assert_eq!(said, "is nfs, which stores its data on another machine");
        assert_eq!(unasked(kind(FilesystemClass::Remote), true), None);
        for class in [FilesystemClass::Disk, FilesystemClass::Overlay, FilesystemClass::Memory] {
            assert_eq!(unasked(kind(class), false), None, "{class:?}");
        }
    }

    #[test]
    fn a_directory_of_our_own_is_judged_by_the_one_above_it() {
        let scratch = scratch();
        let mine = scratch.path().join("not/yet/there");
        let (own, named) = (look(mine.clone(), false), look(mine.clone(), true));
        assert_eq!(own.directory, mine);
        assert_eq!(own.obstacle.is_some(), look(scratch.path().to_owned(), true).obstacle.is_some());
        assert!(own.total_bytes > 0);
        assert!(!mine.exists());
        let obstacle = named.obstacle.unwrap();
        assert!(obstacle.contains("does not exist: use --dir to choose another directory"), "{obstacle}");
    }

    #[test]
    fn what_is_no_directory_on_a_disk_is_said_to_be_so() {
        let scratch = scratch();
        let file = scratch.path().join("file");
        std::fs::write(&file, "x").unwrap();
        let why = |path: &Path| look(path.to_owned(), true).obstacle.unwrap_or_default();
        assert!(why(&file).contains("is not a directory"));
        assert!(why(Path::new("/proc")).contains("cannot hold files") || why(Path::new("/proc")).contains("'/proc'"));
        if sys::file::space(Path::new("/dev/shm")).is_ok_and(|space| space.magic == 0x0102_1994) {
            assert!(why(Path::new("/dev/shm")).contains("is tmpfs, which is memory"), "{}", why(Path::new("/dev/shm")));
            let own = look("/dev/shm/not/yet/there".into(), false).obstacle.unwrap();
            assert!(own.contains("is tmpfs, which is memory: use --dir to choose a directory on a disk"), "{own}");
        }
        std::os::unix::fs::symlink("loop", scratch.path().join("loop")).unwrap();
        assert!(why(&scratch.path().join("loop")).contains("cannot be reached"));
    }
}
