//! Error texts of requests: what was done, where, and the system's error.

use std::io;

use model::number::size_rounded;
use model::wire::HeldFile;
use rustix::process::{Resource, getrlimit};

/// Names of errors of storage requests: numbers of `asm-generic/errno.h`, which x86 and Arm share.
const NAMES: &[(i32, &str)] = &[
    (5, "EIO"),
    (11, "EAGAIN"),
    (12, "ENOMEM"),
    (13, "EACCES"),
    (16, "EBUSY"),
    (19, "ENODEV"),
    (22, "EINVAL"),
    (27, "EFBIG"),
    (28, "ENOSPC"),
    (30, "EROFS"),
    (61, "ENODATA"),
    (74, "EBADMSG"),
    (84, "EILSEQ"),
    (95, "EOPNOTSUPP"),
    (110, "ETIMEDOUT"),
    (116, "ESTALE"),
    (117, "EUCLEAN"),
    (121, "EREMOTEIO"),
    (122, "EDQUOT"),
];

/// The system's text of an error, with its name where it is known.
pub(super) fn words(error: &io::Error) -> String {
    let text = error.to_string();
    let Some(number) = error.raw_os_error() else { return text };
    let text = text.strip_suffix(&format!(" (os error {number})")).unwrap_or(&text);
    match NAMES.iter().find(|(known, _)| *known == number) {
        Some((_, "EFBIG")) => format!("{text} (EFBIG){}", file_size_limit(getrlimit(Resource::Fsize).current)),
        Some((_, name)) => format!("{text} ({name})"),
        None => format!("{text} (error {number})"),
    }
}

/// The limit of the process, if it has one; else the file system's own is reached.
fn file_size_limit(bytes: Option<u64>) -> String {
    let words = |bytes| format!(": ulimit -f limits files to {}", size_rounded(bytes));
    bytes.map_or_else(|| ": the file system takes no larger one".to_owned(), words)
}

/// Whether the file system or the user's quota is full.
pub(super) fn is_for_want_of_room(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge)
}

/// Whether the kernel does not support the request at all, at any offset.
pub(super) fn is_not_supported(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported)
}

pub(super) fn test_file(held: &HeldFile) -> String {
    format!("the test file in '{}' ({})", held.directory, held.filesystem)
}

pub(super) fn failed(held: &HeldFile, write: bool, bytes: u64, offset: u64, why: &str) -> String {
    let doing = if write { "writing" } else { "reading" };
    format!("{doing} {bytes} bytes at {offset} of {}: {why}", test_file(held))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_says_what_where_and_why() {
        let held = HeldFile { directory: "/data".into(), filesystem: "ext4".into(), ..HeldFile::default() };
        let why = words(&io::Error::from_raw_os_error(5));
        let sentence = "reading 4096 bytes at 1234 of the test file in '/data' (ext4): Input/output error (EIO)";
        assert_eq!(failed(&held, false, 4096, 1234, &why), sentence);
        assert_eq!(words(&io::Error::other("a reason")), "a reason");
        assert!(words(&io::Error::from_raw_os_error(27)).starts_with("File too large (EFBIG): "));
        assert_eq!(file_size_limit(Some(40 << 20)), ": ulimit -f limits files to 40 MiB");
        assert!(words(&io::Error::from_raw_os_error(71)).ends_with("(error 71)"));
    }

    #[test]
    fn lack_of_room_is_not_a_defect() {
        let error = io::Error::from_raw_os_error;
        assert!([28, 122, 27].map(error).iter().all(|error| is_for_want_of_room(error) && !is_not_supported(error)));
        assert!([22, 95].map(error).iter().all(|error| is_not_supported(error) && !is_for_want_of_room(error)));
        assert!(!is_for_want_of_room(&error(5)) && !is_not_supported(&error(5)));
    }
}
