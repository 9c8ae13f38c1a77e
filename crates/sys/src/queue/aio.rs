//! One context of Linux's native asynchronous I/O: its set-up, its requests, its end.
//!
//! Only on files opened past the page cache: on others the kernel carries a request out while it is submitted, and
//! nothing would ever be in flight. Which memory is lent to whom is the queue's business.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::time::Duration;

use super::ring::Operation;
use super::setup;

/// `IOCB_CMD_PREAD` of linux/`aio_abi`.h.
const PREAD: u16 = 0;
/// `IOCB_CMD_PWRITE` of linux/`aio_abi`.h.
const PWRITE: u16 = 1;

/// `struct iocb` of linux/`aio_abi`.h, as little-endian machines have it.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct ControlBlock {
    data: u64,
    key: u32,
    rw_flags: i32,
    opcode: u16,
    priority: i16,
    descriptor: u32,
    address: u64,
    bytes: u64,
    offset: i64,
    reserved: u64,
    flags: u32,
    event_descriptor: u32,
}

/// `struct io_event` of linux/`aio_abi`.h.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct Event {
    data: u64,
    block: u64,
    result: i64,
    second_result: i64,
}

/// A context for one file.
#[derive(Debug)]
pub(super) struct Aio {
    context: u64,
    descriptor: u32,
    /// The requests handed over together next, in their order.
    pushed: Vec<ControlBlock>,
    /// Where the kernel finds them; filled for each call.
    addresses: Vec<u64>,
    events: Vec<Event>,
    /// Requests that the kernel has and has not given back.
    submitted: u32,
}

impl Aio {
    /// A context for `depth` requests on a file that was opened past the page cache.
    ///
    /// # Errors
    /// There is none to be had, or the file is not direct; a sentence says why.
    pub(super) fn new(depth: u32, file: &File) -> io::Result<Self> {
        if !crate::file::is_direct(file)? {
            let why = "libaio cannot be had: it is asynchronous only past the page cache (direct I/O)";
            return Err(io::Error::new(io::ErrorKind::Unsupported, why));
        }
        let capacity = depth as usize;
        Ok(Self {
            context: set_up(depth)?,
            descriptor: u32::try_from(file.as_raw_fd()).map_err(|_| io::Error::other("the file is closed"))?,
            pushed: Vec::with_capacity(capacity),
            addresses: Vec::with_capacity(capacity),
            events: vec![Event::default(); capacity],
            submitted: 0,
        })
    }

    /// Queues a request; the kernel hears of it with the next [`Aio::submit`].
    #[inline]
    pub(super) fn push(&mut self, operation: &Operation) {
        let Operation { token, write, offset, address, bytes } = *operation;
        self.pushed.push(ControlBlock {
            data: token.into(),
            opcode: if write { PWRITE } else { PREAD },
            descriptor: self.descriptor,
            address: address.as_ptr().expose_provenance() as u64,
            bytes: bytes.into(),
            // Never beyond the largest file: the queue has looked.
            offset: i64::try_from(offset).unwrap_or(i64::MAX),
            ..ControlBlock::default()
        });
    }

    /// Requests that the kernel has not been told of.
    #[inline]
    pub(super) fn unsubmitted(&self) -> u32 {
        u32::try_from(self.pushed.len()).unwrap_or(u32::MAX)
    }

    /// Hands over what was pushed, as far as the kernel takes it at once.
    ///
    /// # Errors
    /// It took none: what is wrong with the first, or `EAGAIN` for want of room.
    ///
    /// # Safety
    /// The memory of every request that was pushed must stay mapped, and be used by nobody else, until the request's
    /// completion has been reaped or [`Aio::quiesce`] has said that all is over.
    #[inline]
    pub(super) unsafe fn hand_over(&mut self) -> io::Result<()> {
        self.addresses.clear();
        // Mutable, since the kernel notes something of its own in each.
        let blocks = self.pushed.iter_mut();
        self.addresses.extend(blocks.map(|block| std::ptr::from_mut(block).expose_provenance() as u64));
        let count = libc::c_long::try_from(self.addresses.len()).unwrap_or(libc::c_long::MAX);
        // SAFETY: the context is our own, the addresses are of control blocks that live through the call and that the
        // kernel copies, and the memory they point to is as this function demands it.
        let taken = unsafe { libc::syscall(libc::SYS_io_submit, self.context, count, self.addresses.as_ptr()) };
        let Ok(taken) = usize::try_from(taken) else { return Err(io::Error::last_os_error()) };
        // No more than was offered, whatever the kernel says.
        let taken = taken.min(self.pushed.len());
        self.pushed.drain(..taken);
        self.submitted += u32::try_from(taken).unwrap_or(u32::MAX);
        Ok(())
    }

    /// Hands over everything that was pushed, or as much as there is room for while others are in flight. A request
    /// that the kernel does not take at all is over, and goes to `each` with the error's number (negative).
    ///
    /// # Errors
    /// `EAGAIN`: there is no room, and nothing in flight that would make some.
    ///
    /// # Safety
    /// As for [`Aio::hand_over`].
    #[inline]
    pub(super) unsafe fn submit(&mut self, mut each: impl FnMut(u32, i64)) -> io::Result<()> {
        while !self.pushed.is_empty() {
            // SAFETY: as this function demands it.
            let Err(error) = (unsafe { self.hand_over() }) else { continue };
            match error.raw_os_error() {
                Some(libc::EINTR) => {}
                Some(libc::EAGAIN) if self.submitted > 0 => return Ok(()),
                Some(number) if number != libc::EAGAIN => {
                    let refused = self.pushed.remove(0);
                    each(token_of(refused.data), -i64::from(number));
                }
                _ => return Err(error),
            }
        }
        Ok(())
    }

    /// Waits for at least `least` completions, at most those in flight, or for a signal or until so much time has
    /// passed, and hands all there are to `each`, as token and result (negative: the error's number). How many there
    /// were.
    ///
    /// # Errors
    /// What the kernel said.
    #[inline]
    pub(super) fn reap(
        &mut self,
        least: u32,
        at_most: Option<Duration>,
        mut each: impl FnMut(u32, i64),
    ) -> io::Result<u32> {
        if self.submitted == 0 {
            return Ok(0);
        }
        let at_most = at_most.map(|time| libc::timespec {
            tv_sec: libc::time_t::try_from(time.as_secs()).unwrap_or(libc::time_t::MAX),
            tv_nsec: time.subsec_nanos().into(),
        });
        let limit = at_most.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
        // SAFETY: the context is our own, the answer is as many live, writable events as the call is told of, and the
        // limit is null or lives through the call.
        let came = unsafe {
            libc::syscall(
                libc::SYS_io_getevents,
                self.context,
                libc::c_long::from(least.min(self.submitted)),
                libc::c_long::try_from(self.events.len()).unwrap_or(libc::c_long::MAX),
                self.events.as_mut_ptr(),
                limit,
            )
        };
        let Ok(came) = usize::try_from(came) else {
            let error = io::Error::last_os_error();
            return if error.kind() == io::ErrorKind::Interrupted { Ok(0) } else { Err(error) };
        };
        let events = &self.events[..came.min(self.events.len())];
        let count = u32::try_from(events.len()).unwrap_or(u32::MAX);
        self.submitted = self.submitted.saturating_sub(count);
        for event in events {
            each(token_of(event.data), event.result);
        }
        Ok(count)
    }

    /// Waits until the kernel has given back everything. Requests that it was never told of stay untold. Whether
    /// nothing is in flight any more: only then may the memory go.
    pub(super) fn quiesce(&mut self) -> bool {
        self.pushed.clear();
        while self.submitted > 0 {
            if self.reap(1, None, |_, _| ()).is_err() {
                return false;
            }
        }
        true
    }
}

impl Drop for Aio {
    fn drop(&mut self) {
        // Waits for what is in flight, if anything is.
        tear_down(self.context);
    }
}

fn token_of(data: u64) -> u32 {
    u32::try_from(data).unwrap_or(u32::MAX)
}

/// Whether a context can be had at all: sets one up and lets it go.
///
/// # Errors
/// It cannot, in a sentence that says why.
pub(super) fn available() -> io::Result<()> {
    set_up(1).map(tear_down)
}

fn set_up(depth: u32) -> io::Result<u64> {
    let mut context = 0_u64;
    // SAFETY: the answer is a live, writable number, zero before the call as it must be.
    let answer = unsafe { libc::syscall(libc::SYS_io_setup, libc::c_long::from(depth), &raw mut context) };
    if answer < 0 { Err(setup::explain_aio(&io::Error::last_os_error())) } else { Ok(context) }
}

fn tear_down(context: u64) {
    // SAFETY: the context is our own, and nobody uses it afterwards.
    unsafe { libc::syscall(libc::SYS_io_destroy, context) };
}
