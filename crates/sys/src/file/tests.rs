use super::*;
use std::io::Write;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

/// A directory of this test alone, removed with it.
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    pub(crate) fn new(test: &str) -> Self {
        let path = std::env::temp_dir().join(format!("assay-sys-{test}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// An unnamed file in the directory for temporary files.
pub(crate) fn unnamed_file() -> File {
    unnamed(&std::env::temp_dir(), OsStr::new(&format!("assay-sys-{}", std::process::id()))).unwrap()
}

/// An unnamed file of this many bytes, all written.
pub(crate) fn written_file(bytes: usize) -> File {
    let mut file = unnamed_file();
    let content: Vec<u8> = (0..bytes).map(|at| u8::try_from(at % 251).unwrap()).collect();
    file.write_all(&content).unwrap();
    file
}

/// The same file opened again, as another process would.
pub(crate) fn reopened(file: &File, write: bool, direct: bool) -> io::Result<File> {
    open(Path::new(&format!("/proc/self/fd/{}", file.as_raw_fd())), write, direct, false)
}

/// Reports that the running test, or a part of it, cannot run here.
#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "the tests' own switch")]
pub(crate) fn skip(why: impl std::fmt::Display) {
    let thread = std::thread::current();
    let test = thread.name().unwrap_or("a test's own thread");
    eprintln!("SKIPPED: {test}: {why}");
    if let Some(path) = std::env::var_os("ASSAY_TEST_SKIPS") {
        let file = OpenOptions::new().create(true).append(true).open(path);
        let _ = file.and_then(|mut file| writeln!(file, "{test}: {why}"));
    }
}

/// Makes this system call fail with `error` on the calling thread, with `second` only if that is its second argument.
pub(crate) fn refuse(call: libc::c_long, second: Option<u32>, error: i32) -> bool {
    let [load, equals, give] = [
        libc::BPF_LD | libc::BPF_W | libc::BPF_ABS,
        libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K,
        libc::BPF_RET | libc::BPF_K,
    ]
    .map(|code| u16::try_from(code).unwrap());
    let step = |code, jt, jf, k| libc::sock_filter { code, jt, jf, k };
    // `struct seccomp_data`: the call's number at 0, its second argument at 24.
    let call = u32::try_from(call).unwrap();
    let mut program = vec![step(load, 0, 0, 0)];
    match second {
        None => program.push(step(equals, 0, 1, call)),
        Some(second) => {
            program.extend([step(equals, 0, 3, call), step(load, 0, 0, 24), step(equals, 0, 1, second)]);
        }
    }
    program.push(step(give, 0, 0, libc::SECCOMP_RET_ERRNO | u32::try_from(error).unwrap()));
    program.push(step(give, 0, 0, libc::SECCOMP_RET_ALLOW));
    let length = u16::try_from(program.len()).unwrap();
    let filter = libc::sock_fprog { len: length, filter: program.as_mut_ptr() };
    // SAFETY: plain integers, and a program that lives through the call and is copied by it.
    unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
            && libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const filter) == 0
    }
}

/// Runs `then` on a thread of its own with these calls refused.
pub(crate) fn on_a_thread(refusals: &[(libc::c_long, Option<u32>, i32)], then: impl FnOnce() + Send + 'static) {
    let refusals = refusals.to_vec();
    let thread = std::thread::spawn(move || {
        if refusals.iter().all(|(call, second, answer)| refuse(*call, *second, *answer)) {
            then();
        } else {
            skip(format_args!("no seccomp filter can be set: {}", io::Error::last_os_error()));
        }
    });
    thread.join().unwrap();
}

/// The same file opened for direct I/O, or without if that is not possible.
pub(crate) fn direct_if_possible(file: &File) -> File {
    if space(&std::env::temp_dir()).unwrap().magic == TMPFS {
        skip(format_args!("{} is in memory: its pages are the file", std::env::temp_dir().display()));
        return reopened(file, true, false).unwrap();
    }
    reopened(file, true, true).unwrap_or_else(|error| {
        skip(format_args!("no direct I/O in {}: {error}", std::env::temp_dir().display()));
        reopened(file, true, false).unwrap()
    })
}

/// `TMPFS_MAGIC` of linux/magic.h.
const TMPFS: u64 = 0x0102_1994;

#[test]
fn the_space_of_a_file_system_and_its_kind() {
    let here = space(&std::env::temp_dir()).unwrap();
    assert!(here.total_bytes > 0 && here.available_bytes <= here.total_bytes, "{here:?}");
    assert!(!here.read_only);
    if Path::new("/dev/shm").is_dir() {
        assert_eq!(space(Path::new("/dev/shm")).unwrap().magic, TMPFS);
    }
    assert_eq!(space(Path::new("/nowhere/at/all")).unwrap_err().kind(), io::ErrorKind::NotFound);
    assert_eq!(space(Path::new("a\0b")).unwrap_err().kind(), io::ErrorKind::InvalidInput);
}

#[test]
fn an_unnamed_file_leaves_nothing_and_can_be_opened_again() {
    let scratch = Scratch::new("unnamed");
    let file = unnamed(scratch.path(), OsStr::new("fallback")).unwrap();
    assert_eq!(std::fs::read_dir(scratch.path()).unwrap().count(), 0);
    file.write_at(b"data", 0).unwrap();
    let again = reopened(&file, false, false).unwrap();
    let mut read = [0; 4];
    again.read_exact_at(&mut read, 0).unwrap();
    assert_eq!(&read, b"data");
    assert!(again.write_at(b"x", 0).is_err(), "opened for reading only");
    assert!(unnamed(&scratch.path().join("missing"), OsStr::new("fallback")).is_err());
}

#[test]
fn the_fallback_never_takes_an_existing_file() {
    use std::os::unix::fs::PermissionsExt;
    let scratch = Scratch::new("fallback");
    let file = create_and_unlink(scratch.path(), OsStr::new("name")).unwrap();
    assert_eq!(std::fs::read_dir(scratch.path()).unwrap().count(), 0);
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);

    let precious = scratch.path().join("precious");
    std::fs::write(&precious, "mine").unwrap();
    std::os::unix::fs::symlink(scratch.path().join("elsewhere"), scratch.path().join("link")).unwrap();
    for taken in ["precious", "link"] {
        let refused = create_and_unlink(scratch.path(), OsStr::new(taken)).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::AlreadyExists, "{taken}");
    }
    assert_eq!(std::fs::read(&precious).unwrap(), b"mine");
    assert!(!scratch.path().join("elsewhere").exists());
    for elsewhere in ["../name", "", ".", "..", "a/b"] {
        let refused = create_and_unlink(scratch.path(), OsStr::new(elsewhere)).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::InvalidInput, "{elsewhere}");
    }
}

#[test]
fn kernels_and_file_systems_without_unnamed_files_are_known_by_their_errors() {
    let without = |number| lacks_unnamed_files(&io::Error::from_raw_os_error(number));
    assert!(without(libc::EOPNOTSUPP) && without(libc::EISDIR) && without(libc::ENOSYS));
    assert!(!without(libc::ENOSPC) && !without(libc::EACCES) && !without(libc::EROFS));
}

#[test]
fn flags_of_an_opened_file_are_those_asked_for() {
    let file = written_file(4096);
    let flags_of = |file: &File| fcntl_getfl(file).unwrap().bits().cast_signed();
    let path = PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()));
    assert!(!is_direct(&file).unwrap());
    let plain = flags_of(&open(&path, false, false, false).unwrap());
    assert_eq!(plain & (libc::O_ACCMODE | libc::O_DIRECT | libc::O_DSYNC), libc::O_RDONLY);
    let dsync = flags_of(&open(&path, true, false, true).unwrap());
    assert_eq!(dsync & (libc::O_ACCMODE | libc::O_DIRECT | libc::O_DSYNC), libc::O_RDWR | libc::O_DSYNC);
    // `O_SYNC` is the bit of `O_DSYNC` and one more.
    assert_ne!(dsync & libc::O_SYNC, libc::O_SYNC);
    let sync = flags_of(&open_synchronous(&path, false).unwrap());
    assert_eq!(sync & (libc::O_ACCMODE | libc::O_DIRECT | libc::O_SYNC), libc::O_RDWR | libc::O_SYNC);
    match open(&path, true, true, false) {
        Ok(direct) => assert!(is_direct(&direct).unwrap()),
        Err(error) => assert_eq!(error.raw_os_error(), Some(libc::EINVAL)),
    }
}

#[test]
fn what_direct_io_is_aligned_to_holds() {
    let file = direct_if_possible(&written_file(1 << 20));
    let Some(alignment) = direct_alignment(&file).unwrap() else {
        skip("the kernel or the file system does not report the alignment of direct I/O");
        return;
    };
    assert!(alignment.offset_bytes == 0 || alignment.offset_bytes.is_power_of_two(), "{alignment:?}");
    if alignment.offset_bytes == 0 {
        return;
    }
    let mut region = crate::memory::Region::map(1 << 20, crate::memory::PageSize::Base).unwrap();
    let bytes = alignment.offset_bytes as usize;
    assert_eq!(file.read_at(&mut region.as_mut_slice()[..bytes], bytes as u64).unwrap(), bytes);
}

#[test]
fn reserving_makes_a_file_long_and_too_much_is_an_error() {
    let file = unnamed_file();
    match reserve(&file, 1 << 20) {
        Ok(()) => assert_eq!(file.metadata().unwrap().len(), 1 << 20),
        Err(error) => assert_eq!(error.kind(), io::ErrorKind::Unsupported, "{error}"),
    }
    assert!(reserve(&file, u64::MAX).is_err());
    assert!(reserve(&file, 1 << 62).is_err());
}

#[test]
fn extents_of_a_written_a_reserved_and_a_sparse_file_differ() {
    let bytes = 1 << 20;
    let written = written_file(bytes);
    let Some(extents_of_written) = extents(&written).unwrap() else {
        skip(format_args!("{} does not report where its files' blocks are", std::env::temp_dir().display()));
        return;
    };
    assert_eq!(extents_of_written.written_bytes + extents_of_written.other_bytes, bytes as u64);
    assert_eq!(extents_of_written.unwritten_bytes, 0);
    assert!(extents_of_written.count >= 1);

    let sparse = unnamed_file();
    sparse.set_len(bytes as u64).unwrap();
    assert_eq!(extents(&sparse).unwrap(), Some(Extents::default()));
    sparse.write_at(&[1; 4096], 8192).unwrap();
    sparse.write_at(&[1; 4096], 512 * 1024).unwrap();
    let pieces = extents(&sparse).unwrap().unwrap();
    assert_eq!((pieces.count, pieces.written_bytes + pieces.other_bytes), (2, 8192), "{pieces:?}");

    let reserved = unnamed_file();
    if reserve(&reserved, bytes as u64).is_ok() {
        let before = extents(&reserved).unwrap().unwrap();
        assert_eq!((before.written_bytes, before.unwritten_bytes), (0, bytes as u64), "{before:?}");
        reserved.write_at(&vec![1; bytes / 2], 0).unwrap();
        let half = extents(&reserved).unwrap().unwrap();
        assert_eq!((half.written_bytes, half.unwritten_bytes), (bytes as u64 / 2, bytes as u64 / 2), "{half:?}");
    }
}

#[test]
fn a_file_of_many_pieces_is_counted_to_its_end() {
    let file = unnamed_file();
    for piece in 0..300_u64 {
        file.write_at(&[1; 4096], piece * 16384).unwrap();
    }
    match extents(&file).unwrap() {
        Some(sum) => {
            assert_eq!(sum.written_bytes + sum.other_bytes, 300 * 4096);
            // xfs keeps blocks in reserve behind each piece.
            assert!(sum.count >= 300, "{sum:?}");
        }
        None => skip(format_args!("no extents in {}", std::env::temp_dir().display())),
    }
}

#[test]
fn the_page_cache_is_measured() {
    let bytes = 1 << 20;
    let file = written_file(bytes);
    assert_eq!(cached_bytes(&file).unwrap(), bytes as u64, "just written");
    if space(&std::env::temp_dir()).unwrap().magic == TMPFS {
        skip("the page cache of a file in memory cannot be dropped");
        return;
    }
    file.sync_all().unwrap();
    drop_cached(&file).unwrap();
    assert_eq!(cached_bytes(&file).unwrap(), 0);
    file.read_at(&mut [0; 4096], 0).unwrap();
    let warmed = cached_bytes(&file).unwrap();
    assert!(warmed >= 4096 && warmed <= bytes as u64, "{warmed}");
    assert_eq!(cached_bytes(&unnamed_file()).unwrap(), 0, "of an empty file");
}

#[test]
fn copy_on_write_is_refused_where_it_exists() {
    // A file system without copy-on-write does not know the flag; btrfs does. Either way the result is what the inode
    // has.
    let file = unnamed_file();
    let refused = refuse_copy_on_write(&file).unwrap();
    assert_eq!(refused, ioctl_getflags(&file).is_ok_and(|flags| flags.contains(IFlags::NOCOW)));
}

#[test]
fn polled_queues_are_those_of_the_disk_under_the_file() {
    let file = written_file(1);
    let device = file.metadata().unwrap().dev();
    let scratch = Scratch::new("polled");
    let sysfs = scratch.path();
    let link = sysfs.join(format!("dev/block/{}:{}", libc::major(device), libc::minor(device)));
    let disk = sysfs.join("devices/disk");
    for directory in [link.parent().unwrap(), &disk.join("queue"), &disk.join("part1")] {
        std::fs::create_dir_all(directory).unwrap();
    }
    assert!(!has_polled_queues(&file, sysfs), "a device that is not listed");
    for target in [disk.join("part1"), disk.clone()] {
        let _ = std::fs::remove_file(&link);
        std::os::unix::fs::symlink(&target, &link).unwrap();
        for (said, expected) in [("1\n", true), ("0\n", false), ("", false), ("yes", false)] {
            std::fs::write(disk.join("queue/io_poll"), said).unwrap();
            assert_eq!(has_polled_queues(&file, sysfs), expected, "{said:?} of {}", target.display());
        }
    }
}
