//! What system calls have in common: their outcome, repeats after signals, and numbers set on a socket or file.

use std::io;
use std::os::fd::{AsFd, AsRawFd, RawFd};

/// The number that a system call returned, or its error if that is negative.
pub(crate) fn outcome(returned: impl TryInto<usize>) -> io::Result<usize> {
    returned.try_into().map_err(|_| io::Error::last_os_error())
}

/// Repeats a system call until no signal interrupts it; what it returned.
pub(crate) fn retried<T: TryInto<usize>>(mut call: impl FnMut() -> T) -> io::Result<usize> {
    loop {
        match outcome(call()) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}

/// `None` if the kernel or the file system does not know the request.
pub(crate) fn unless_unknown<T>(answer: io::Result<T>) -> io::Result<Option<T>> {
    match answer.as_ref().map_err(io::Error::raw_os_error) {
        Err(Some(libc::ENOTTY | libc::EOPNOTSUPP | libc::ENOSYS | libc::EINVAL)) => Ok(None),
        _ => answer.map(Some),
    }
}

pub(crate) fn socket_option(socket: &impl AsFd, level: libc::c_int, name: libc::c_int) -> io::Result<libc::c_int> {
    let mut value: libc::c_int = 0;
    let mut length = length_of(&value);
    let socket = socket.as_fd().as_raw_fd();
    // SAFETY: the value is live and writable for the call, and its length is passed with it.
    let status = unsafe { libc::getsockopt(socket, level, name, (&raw mut value).cast(), &raw mut length) };
    outcome(status).map(|_| value)
}

pub(crate) fn set_socket_option(
    socket: RawFd,
    level: libc::c_int,
    name: libc::c_int,
    value: libc::c_int,
) -> io::Result<()> {
    // SAFETY: the value is live for the call, and its length is passed with it.
    let status = unsafe { libc::setsockopt(socket, level, name, (&raw const value).cast(), length_of(&value)) };
    outcome(status).map(drop)
}

fn length_of<T>(value: &T) -> libc::socklen_t {
    libc::socklen_t::try_from(size_of_val(value)).unwrap_or(0)
}
