//! The system calls of datagrams.

use std::io;
use std::os::fd::RawFd;

use crate::calls::{outcome, set_socket_option};

/// The system calls of this module, so that tests can refuse some.
///
/// # Safety
/// Every header that a method gets points to live memory of the length it states, writable for those that receive.
pub trait Kernel {
    /// `sendmmsg(2)`: the number of messages sent.
    unsafe fn send_many(&self, socket: RawFd, headers: &mut [libc::mmsghdr]) -> io::Result<usize>;

    /// `sendmsg(2)`.
    unsafe fn send_one(&self, socket: RawFd, header: &mut libc::mmsghdr) -> io::Result<()>;

    /// `recvmmsg(2)`: waits for the first message, and takes what else is there.
    unsafe fn receive_many(&self, socket: RawFd, headers: &mut [libc::mmsghdr]) -> io::Result<usize>;

    /// `recvmsg(2)`.
    unsafe fn receive_one(&self, socket: RawFd, header: &mut libc::mmsghdr) -> io::Result<()>;

    /// `setsockopt(2)` at this level (`SOL_…`), with a number.
    fn set(&self, socket: RawFd, level: libc::c_int, option: libc::c_int, value: libc::c_int) -> io::Result<()>;
}

#[derive(Debug)]
pub struct Linux;

/// The number of messages as the kernel takes it.
fn number(headers: &[libc::mmsghdr]) -> libc::c_uint {
    libc::c_uint::try_from(headers.len()).unwrap_or(libc::c_uint::MAX)
}

impl Kernel for Linux {
    unsafe fn send_many(&self, socket: RawFd, headers: &mut [libc::mmsghdr]) -> io::Result<usize> {
        // SAFETY: the caller vouches for the headers; their number is their slice's.
        outcome(unsafe { libc::sendmmsg(socket, headers.as_mut_ptr(), number(headers), 0) })
    }

    unsafe fn send_one(&self, socket: RawFd, header: &mut libc::mmsghdr) -> io::Result<()> {
        // SAFETY: the caller vouches for the header.
        outcome(unsafe { libc::sendmsg(socket, &raw const header.msg_hdr, 0) }).map(drop)
    }

    unsafe fn receive_many(&self, socket: RawFd, headers: &mut [libc::mmsghdr]) -> io::Result<usize> {
        let (first, flags, forever) = (headers.as_mut_ptr(), libc::MSG_WAITFORONE, std::ptr::null_mut());
        // SAFETY: the caller vouches for the headers; their number is their slice's.
        outcome(unsafe { libc::recvmmsg(socket, first, number(headers), flags as _, forever) })
    }

    unsafe fn receive_one(&self, socket: RawFd, header: &mut libc::mmsghdr) -> io::Result<()> {
        // SAFETY: the caller vouches for the header.
        let length = outcome(unsafe { libc::recvmsg(socket, &raw mut header.msg_hdr, 0) })?;
        header.msg_len = u32::try_from(length).unwrap_or(u32::MAX);
        Ok(())
    }

    fn set(&self, socket: RawFd, level: libc::c_int, option: libc::c_int, value: libc::c_int) -> io::Result<()> {
        set_socket_option(socket, level, option, value)
    }
}
