//! The set-up of a ring: which flags are requested, and which are given up if the kernel lacks them.

use std::io;

/// A flag of a ring's set-up, in the order in which they are given up: the newest first, so that none remains that
/// needs a missing one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flag {
    /// Requests are read in the order of the ring, without an index array.
    NoSqArray,
    /// Completions are processed only when we ask for them. Needs the next flag.
    DeferTaskrun,
    /// One thread alone submits.
    SingleIssuer,
    /// Completions do not interrupt the thread.
    CoopTaskrun,
    /// The ring is disabled until first use, so that it belongs to the thread that uses it.
    Disabled,
    /// As many completions as requests, not twice as many: half the memory.
    CqSize,
}

/// All flags, the newest first, each with its word and the kernel that introduced it.
const FLAGS: [(Flag, &str, &str); 6] = [
    (Flag::NoSqArray, "no_sqarray", "6.6"),
    (Flag::DeferTaskrun, "defer_taskrun", "6.1"),
    (Flag::SingleIssuer, "single_issuer", "6.0"),
    (Flag::CoopTaskrun, "coop_taskrun", "5.19"),
    (Flag::Disabled, "started_on_first_use", "5.10"),
    (Flag::CqSize, "cq_size", "5.5"),
];

/// Makes a ring with every flag that the kernel accepts. Any error but `EINVAL` ends the attempts: it is not about
/// flags.
pub(super) fn step_down<R>(mut attempt: impl FnMut(&[Flag]) -> io::Result<R>) -> io::Result<Made<R>> {
    let all = FLAGS.map(|(flag, ..)| flag);
    let mut given_up = 0;
    loop {
        match attempt(&all[given_up..]) {
            Ok(ring) => {
                let has = FLAGS[given_up..].iter().map(|(_, word, _)| *word).collect();
                let notes = FLAGS[..given_up].iter().map(|(_, word, since)| note_of(word, since)).collect();
                return Ok(Made { ring, has, notes });
            }
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) && given_up < all.len() => given_up += 1,
            Err(error) => return Err(error),
        }
    }
}

/// The word for a flag.
pub(super) fn word(flag: Flag) -> &'static str {
    FLAGS.iter().find(|(other, ..)| *other == flag).map_or("", |(_, word, _)| *word)
}

/// A ring and its flags.
#[derive(Debug)]
pub(super) struct Made<R> {
    pub(super) ring: R,
    /// The words of its flags.
    pub(super) has: Vec<&'static str>,
    /// A sentence for each missing flag.
    pub(super) notes: Vec<String>,
}

fn note_of(word: &str, since: &str) -> String {
    format!("{word}: Invalid argument (Linux {since} or later has it)")
}

/// The error of an unavailable ring, as a sentence with the fix. It keeps its kind.
pub(super) fn explain(error: &io::Error) -> io::Error {
    let advice = match error.raw_os_error() {
        Some(libc::ENOSYS) => "the kernel has none, or a sandbox hides it",
        Some(libc::EPERM | libc::EACCES) => "kernel.io_uring_disabled or a container's seccomp filter forbids it",
        Some(libc::ENOMEM) => "memory, or the memory that may be locked (ulimit -l), does not suffice",
        Some(libc::EMFILE | libc::ENFILE) => "too many files are open (ulimit -n)",
        _ => "the kernel refused",
    };
    io::Error::new(error.kind(), format!("io_uring cannot be had: {}: {advice}", bare(error)))
}

/// The error of an unavailable context of native asynchronous I/O, explained the same way.
pub(super) fn explain_aio(error: &io::Error) -> io::Error {
    let advice = match error.raw_os_error() {
        Some(libc::ENOSYS) => "the kernel has none, or a sandbox hides it",
        Some(libc::EPERM | libc::EACCES) => "a container's seccomp filter forbids it",
        Some(libc::EAGAIN) => "others have used up the limit fs.aio-max-nr",
        Some(libc::ENOMEM) => "memory does not suffice",
        _ => "the kernel refused",
    };
    io::Error::new(error.kind(), format!("libaio cannot be had: {}: {advice}", bare(error)))
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

/// The text of an error without its number.
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
    let mut limit = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: the answer is a live, writable struct of the type requested; on an error it stays as it is.
    unsafe { libc::getrlimit(libc::RLIMIT_MEMLOCK, &raw mut limit) };
    Some(limit.rlim_cur).filter(|bytes| *bytes != libc::RLIM_INFINITY)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A kernel that knows these flags, and fails with this error for any other.
    fn kernel_with(known: &'static [Flag], refusal: i32) -> io::Result<Made<usize>> {
        let mut attempts = 0;
        step_down(|flags| {
            attempts += 1;
            if flags.iter().all(|flag| known.contains(flag)) {
                Ok(attempts)
            } else {
                Err(io::Error::from_raw_os_error(refusal))
            }
        })
    }

    #[test]
    fn a_new_kernel_is_asked_once() {
        let all: &'static [Flag] =
            &[Flag::NoSqArray, Flag::DeferTaskrun, Flag::SingleIssuer, Flag::CoopTaskrun, Flag::Disabled, Flag::CqSize];
        let made = kernel_with(all, libc::EINVAL).unwrap();
        assert_eq!(made.ring, 1);
        assert!(made.notes.is_empty());
        assert!(made.has.contains(&"defer_taskrun") && made.has.contains(&"single_issuer"));
    }

    #[test]
    fn an_older_kernel_gets_the_flags_it_knows_and_the_rest_is_noted() {
        let made = kernel_with(&[Flag::CoopTaskrun, Flag::Disabled, Flag::CqSize], libc::EINVAL).unwrap();
        assert_eq!(made.has, ["coop_taskrun", "started_on_first_use", "cq_size"]);
        assert_eq!(
            made.notes,
            [
                "no_sqarray: Invalid argument (Linux 6.6 or later has it)",
                "defer_taskrun: Invalid argument (Linux 6.1 or later has it)",
                "single_issuer: Invalid argument (Linux 6.0 or later has it)",
            ]
        );
        assert_eq!(kernel_with(&[], libc::EINVAL).unwrap().notes.len(), FLAGS.len());
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
        let of = |number| explain(&io::Error::from_raw_os_error(number));
        assert_eq!(
            of(libc::EPERM).to_string(),
            "io_uring cannot be had: Operation not permitted: kernel.io_uring_disabled or a container's seccomp filter \
             forbids it"
        );
        assert_eq!(of(libc::EPERM).kind(), io::ErrorKind::PermissionDenied);
        assert_eq!(of(libc::ENOSYS).kind(), io::ErrorKind::Unsupported);
        assert_eq!(
            explain_aio(&io::Error::from_raw_os_error(libc::EAGAIN)).to_string(),
            "libaio cannot be had: Resource temporarily unavailable: others have used up the limit fs.aio-max-nr"
        );
        assert_eq!(explain_aio(&io::Error::from_raw_os_error(libc::ENOSYS)).kind(), io::ErrorKind::Unsupported);
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
