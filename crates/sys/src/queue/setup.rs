//! The set-up of a ring: which flags are requested, and which are given up if the kernel lacks them.

use std::io;

use io_uring::Builder;
use rustix::process::{Resource, getrlimit};

#[derive(Clone, Copy)]
pub(super) struct Flag {
    word: &'static str,
    /// The kernel that introduced it.
    since: &'static str,
    /// Requests it, for this number of entries.
    pub(super) set: fn(&mut Builder, u32) -> &mut Builder,
}

/// The flag of a ring that is disabled until first use, so that it belongs to the thread that uses it.
pub(super) const DISABLED: &str = "started_on_first_use";

/// All flags, in the order in which they are given up: the newest first, so that none remains that needs a missing one.
const FLAGS: [Flag; 6] = [
    // Requests are read in the order of the ring, without an index array.
    Flag { word: "no_sqarray", since: "6.6", set: |ring, _| ring.setup_no_sqarray() },
    // Completions are processed only when we ask for them. Needs the next flag.
    Flag { word: "defer_taskrun", since: "6.1", set: |ring, _| ring.setup_defer_taskrun() },
    Flag { word: "single_issuer", since: "6.0", set: |ring, _| ring.setup_single_issuer() },
    // Completions do not interrupt the thread.
    Flag { word: "coop_taskrun", since: "5.19", set: |ring, _| ring.setup_coop_taskrun() },
    Flag { word: DISABLED, since: "5.10", set: |ring, _| ring.setup_r_disabled() },
    // As many completions as requests, not twice as many: half the memory.
    Flag { word: "cq_size", since: "5.5", set: |ring, entries| ring.setup_cqsize(entries) },
];

/// Makes a ring with every flag that the kernel accepts. Any error but `EINVAL` is not about flags and ends the attempts.
pub(super) fn step_down<R>(mut attempt: impl FnMut(&[Flag]) -> io::Result<R>) -> io::Result<Made<R>> {
    let mut given_up = 0;
    loop {
        match attempt(&FLAGS[given_up..]) {
            Ok(ring) => {
                let has = FLAGS[given_up..].iter().map(|flag| flag.word).collect();
                let note =
                    |flag: &Flag| format!("{}: Invalid argument (Linux {} or later has it)", flag.word, flag.since);
                return Ok(Made { ring, has, notes: FLAGS[..given_up].iter().map(note).collect() });
            }
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) && given_up < FLAGS.len() => given_up += 1,
            Err(error) => return Err(error),
        }
    }
}

#[derive(Debug)]
pub(super) struct Made<R> {
    pub(super) ring: R,
    pub(super) has: Vec<&'static str>,
    /// A sentence for each missing flag.
    pub(super) notes: Vec<String>,
}

/// The error of an unavailable `io_uring` or context of `libaio`, as a sentence with the fix. It keeps its kind.
pub(super) fn explain(engine: &str, error: &io::Error) -> io::Error {
    let advice = match (engine, error.raw_os_error()) {
        (_, Some(libc::ENOSYS)) => "the kernel has none, or a sandbox hides it",
        ("io_uring", Some(libc::EPERM | libc::EACCES)) => {
            "kernel.io_uring_disabled or a container's seccomp filter forbids it"
        }
        (_, Some(libc::EPERM | libc::EACCES)) => "a container's seccomp filter forbids it",
        ("io_uring", Some(libc::ENOMEM)) => "memory, or the memory that may be locked (ulimit -l), does not suffice",
        (_, Some(libc::ENOMEM)) => "memory does not suffice",
        (_, Some(libc::EMFILE | libc::ENFILE)) => "too many files are open (ulimit -n)",
        (_, Some(libc::EAGAIN)) => "others have used up the limit fs.aio-max-nr",
        _ => "the kernel refused",
    };
    io::Error::new(error.kind(), format!("{engine} is not available: {}: {advice}", bare(error)))
}

/// The sentence for something that could not be registered with the ring.
pub(super) fn not_registered(what: &str, error: &io::Error, memory_lock_limit: Option<u64>) -> String {
    let limit = match (error.raw_os_error(), memory_lock_limit) {
        (Some(libc::ENOMEM | libc::EPERM), Some(bytes)) => {
            format!(" (the limit of locked memory is {})", in_binary_units(bytes))
        }
        _ => String::new(),
    };
    format!("{what}: {}{limit}", bare(error))
}

fn bare(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or(&text).to_owned()
}

/// In the largest binary unit of which it is a whole number.
fn in_binary_units(bytes: u64) -> String {
    let units = [(30, "GiB"), (20, "MiB"), (10, "KiB")];
    let whole = units.iter().find(|(shift, _)| bytes != 0 && bytes.trailing_zeros() >= *shift);
    whole.map_or_else(|| format!("{bytes} bytes"), |(shift, unit)| format!("{} {unit}", bytes >> shift))
}

/// The limit of locked memory in bytes; `None` for no limit. A process with `CAP_IPC_LOCK` (root) is exempt.
pub(super) fn memory_lock_limit() -> Option<u64> {
    getrlimit(Resource::Memlock).current
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A kernel that knows flags up to this number of the oldest, and the attempts that it takes.
    fn kernel_with(known: usize) -> Made<usize> {
        let mut attempts = 0;
        let made = step_down(|flags| {
            attempts += 1;
            if flags.len() <= known { Ok(attempts) } else { Err(io::Error::from_raw_os_error(libc::EINVAL)) }
        });
        made.unwrap()
    }

    #[test]
    fn an_older_kernel_gets_the_flags_it_knows_and_the_rest_is_noted() {
        let new = kernel_with(FLAGS.len());
        assert_eq!((new.ring, new.notes.len(), new.has.len()), (1, 0, FLAGS.len()), "asked once");
        let old = kernel_with(3);
        assert_eq!(old.has, ["coop_taskrun", "started_on_first_use", "cq_size"]);
        assert_eq!((old.ring, old.notes.len()), (4, 3));
        assert_eq!(old.notes[1], "defer_taskrun: Invalid argument (Linux 6.1 or later has it)");
        assert_eq!(kernel_with(0).notes.len(), FLAGS.len());
    }

    #[test]
    fn errors_that_are_not_about_flags_are_final() {
        for refusal in [libc::ENOSYS, libc::EPERM, libc::ENOMEM] {
            let mut attempts = 0;
            let made = step_down(|_| -> io::Result<()> {
                attempts += 1;
                Err(io::Error::from_raw_os_error(refusal))
            });
            assert_eq!((made.unwrap_err().raw_os_error(), attempts), (Some(refusal), 1));
        }
        let never = step_down(|_| -> io::Result<()> { Err(io::Error::from_raw_os_error(libc::EINVAL)) });
        assert_eq!(never.unwrap_err().raw_os_error(), Some(libc::EINVAL));
    }

    #[test]
    fn refusals_are_sentences() {
        let of = |engine, number| explain(engine, &io::Error::from_raw_os_error(number));
        let forbidden = of("io_uring", libc::EPERM);
        assert_eq!(forbidden.kind(), io::ErrorKind::PermissionDenied);
        assert_eq!(
            forbidden.to_string(),
            "io_uring is not available: Operation not permitted: kernel.io_uring_disabled or a container's seccomp filter \
             forbids it"
        );
        assert_eq!(
            of("libaio", libc::EAGAIN).to_string(),
            "libaio is not available: Resource temporarily unavailable: others have used up the limit fs.aio-max-nr"
        );
        for engine in ["io_uring", "libaio"] {
            assert_eq!(of(engine, libc::ENOSYS).kind(), io::ErrorKind::Unsupported);
        }
        let no_memory = io::Error::from_raw_os_error(libc::ENOMEM);
        assert_eq!(
            not_registered("registered_buffers", &no_memory, Some(8 << 20)),
            "registered_buffers: Cannot allocate memory (the limit of locked memory is 8 MiB)"
        );
        assert_eq!(
            not_registered("registered_files", &io::Error::from_raw_os_error(libc::EBADF), Some(8 << 20)),
            "registered_files: Bad file descriptor"
        );
        assert_eq!([in_binary_units(0), in_binary_units(65_537)], ["0 bytes", "65537 bytes"]);
        assert_eq!([in_binary_units(1 << 30), in_binary_units(64 << 10)], ["1 GiB", "64 KiB"]);
    }
}
