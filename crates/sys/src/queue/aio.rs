//! One context of Linux's native asynchronous I/O. Only for files opened past the page cache: on others the kernel
//! carries out a request while it is submitted, so that none would be in flight.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::ptr::NonNull;
use std::time::Duration;

use super::request::Request;
use super::setup;
use crate::calls::outcome;

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

#[derive(Debug)]
pub(super) struct Aio {
    context: u64,
    descriptor: u32,
    /// The next requests to submit together, in their order.
    pushed: Vec<ControlBlock>,
    /// Their addresses for the kernel; filled for each call.
    addresses: Vec<u64>,
    events: Vec<Event>,
    submitted: u32,
}

impl Aio {
    /// A context for `depth` requests on a file opened past the page cache. The error is a sentence with the reason.
    pub(super) fn new(depth: u32, file: &File) -> io::Result<Self> {
        if !crate::file::is_direct(file)? {
            let why = "libaio is not available: it is asynchronous only past the page cache (direct I/O)";
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

    /// Queues a request; the kernel sees it with the next [`Aio::submit`].
    #[inline]
    pub(super) fn push(&mut self, request: &Request, address: NonNull<u8>) {
        let Request { token, write, offset, bytes, .. } = *request;
        self.pushed.push(ControlBlock {
            data: token.into(),
            opcode: if write { PWRITE } else { PREAD },
            descriptor: self.descriptor,
            address: address.as_ptr().expose_provenance() as u64,
            bytes: bytes.into(),
            // Never beyond the largest file: the queue has checked.
            offset: i64::try_from(offset).unwrap_or(i64::MAX),
            ..ControlBlock::default()
        });
    }

    #[inline]
    pub(super) fn unsubmitted(&self) -> u32 {
        u32::try_from(self.pushed.len()).unwrap_or(u32::MAX)
    }

    /// Submits what was pushed, as far as the kernel accepts it at once. If it accepts none, the error is about the
    /// first request, or `EAGAIN` for lack of room. Safety: the memory of every request that was pushed must stay
    /// mapped, and be used by nobody else, until the request's completion has been reaped or [`Aio::quiesce`] has
    /// returned true.
    #[inline]
    pub(super) unsafe fn submit_once(&mut self) -> io::Result<()> {
        self.addresses.clear();
        // Mutable, since the kernel writes into each.
        let blocks = self.pushed.iter_mut();
        self.addresses.extend(blocks.map(|block| std::ptr::from_mut(block).expose_provenance() as u64));
        let count = libc::c_long::try_from(self.addresses.len()).unwrap_or(libc::c_long::MAX);
        // SAFETY: the context is our own, the addresses are of control blocks that live through the call and that the
        // kernel copies, and the memory they point to is as this function demands it.
        let taken =
            outcome(unsafe { libc::syscall(libc::SYS_io_submit, self.context, count, self.addresses.as_ptr()) })?;
        // The count must never wrap, whatever the kernel returns.
        let taken = taken.min(self.pushed.len());
        self.pushed.drain(..taken);
        self.submitted += u32::try_from(taken).unwrap_or(u32::MAX);
        Ok(())
    }

    /// Submits everything that was pushed, or as much as there is room for while requests are in flight. A request that
    /// the kernel refuses has ended, and goes to `each` with the error's number (negative). Fails with `EAGAIN` if
    /// there is no room and nothing in flight. Safety: as for [`Aio::submit_once`].
    #[inline]
    pub(super) unsafe fn submit(&mut self, mut each: impl FnMut(u32, i64)) -> io::Result<()> {
        while !self.pushed.is_empty() {
            // SAFETY: as this function demands it.
            let Err(error) = (unsafe { self.submit_once() }) else { continue };
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

    /// Waits for at least `least` completions, at most those in flight, or for a signal or a timeout, and passes all of
    /// them to `each`, as token and result (negative: the error's number); how many they are.
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
            tv_sec: time.as_secs().try_into().unwrap_or(i64::MAX),
            tv_nsec: time.subsec_nanos().into(),
        });
        let limit = at_most.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
        // SAFETY: the context is ours, there are as many live, writable events as stated, and the timeout lives or is null.
        let completed = outcome(unsafe {
            libc::syscall(
                libc::SYS_io_getevents,
                self.context,
                libc::c_long::from(least.min(self.submitted)),
                libc::c_long::try_from(self.events.len()).unwrap_or(libc::c_long::MAX),
                self.events.as_mut_ptr(),
                limit,
            )
        });
        let completed = match completed {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(0),
            other => other?,
        };
        let events = &self.events[..completed.min(self.events.len())];
        let count = u32::try_from(events.len()).unwrap_or(u32::MAX);
        self.submitted = self.submitted.saturating_sub(count);
        for event in events {
            each(token_of(event.data), event.result);
        }
        Ok(count)
    }

    /// Waits for all requests, without submitting more; whether nothing is in flight, so that the memory may be freed.
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

/// Whether native asynchronous I/O is available: a sandbox may forbid each of its calls alone. The error is a sentence
/// with the reason.
pub(super) fn available() -> io::Result<()> {
    let context = set_up(1)?;
    let mut event = Event::default();
    let no_time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    let (none, one): (libc::c_long, libc::c_long) = (0, 1);
    let blocks: *const u64 = std::ptr::null();
    // SAFETY: the context is our own, no control block is passed, and the event and the time live through the calls.
    let submitted = outcome(unsafe { libc::syscall(libc::SYS_io_submit, context, none, blocks) });
    let reaped = submitted.and_then(|_| {
        // SAFETY: as above.
        outcome(unsafe {
            libc::syscall(libc::SYS_io_getevents, context, none, one, &raw mut event, &raw const no_time)
        })
    });
    tear_down(context);
    reaped.map(drop).map_err(|error| setup::explain("libaio", &error))
}

fn set_up(depth: u32) -> io::Result<u64> {
    let mut context = 0_u64;
    // SAFETY: the answer is a live, writable number, zero before the call as it must be.
    let answer = unsafe { libc::syscall(libc::SYS_io_setup, libc::c_long::from(depth), &raw mut context) };
    if answer < 0 { Err(setup::explain("libaio", &io::Error::last_os_error())) } else { Ok(context) }
}

fn tear_down(context: u64) {
    // SAFETY: the context is our own, and nobody uses it afterwards.
    unsafe { libc::syscall(libc::SYS_io_destroy, context) };
}
