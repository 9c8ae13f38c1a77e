//! Calls of the kernel about files: repeated after signals, and what a file system does not know.

use std::io;

/// `None` where the error says that the kernel or the file system does not know the request.
pub(super) fn unless_unknown<T>(answer: io::Result<T>) -> io::Result<Option<T>> {
    match answer {
        Ok(value) => Ok(Some(value)),
        Err(error) => match error.raw_os_error() {
            Some(libc::ENOTTY | libc::EOPNOTSUPP | libc::ENOSYS | libc::EINVAL) => Ok(None),
            _ => Err(error),
        },
    }
}

/// Calls the kernel until no signal interrupts it; a negative answer is an error.
pub(super) fn retried(mut call: impl FnMut() -> libc::c_int) -> io::Result<libc::c_int> {
    loop {
        let answer = call();
        if answer >= 0 {
            return Ok(answer);
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}
