//! One `io_uring`: its set-up, its requests, its end. The queue vouches for the memory of requests.

use std::cell::Cell;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use io_uring::types::{CancelBuilder, SubmitArgs, Timespec};
use io_uring::{EnterFlags, IoUring, squeue};

use super::request::{Engine, Request};
use super::setup::{self, Made};
use crate::calls::outcome;
use crate::memory::Region;

/// The largest buffer that can be registered (`io_uring_register(2)`).
const REGISTERED_BUFFER_BYTES: usize = 1 << 30;

/// `IORING_REGISTER_RING_FDS` of linux/`io_uring`.h, since Linux 5.18.
const REGISTER_RING_FDS: libc::c_long = 20;
/// `IORING_UNREGISTER_RING_FDS`.
const UNREGISTER_RING_FDS: libc::c_long = 21;

/// `IOSQE_FIXED_FILE` of linux/`io_uring`.h.
const FIXED_FILE: u8 = 1;
/// `IORING_OP_READ_FIXED` and the other operations, of the same.
const READ_FIXED: u8 = 4;
const WRITE_FIXED: u8 = 5;
const READ: u8 = 22;
const WRITE: u8 = 23;

/// `struct io_uring_rsrc_update` of linux/`io_uring`.h.
#[repr(C)]
struct RingUpdate {
    offset: u32,
    reserved: u32,
    data: u64,
}

/// What is registered with the kernel, so that requests need not name it again.
#[derive(Clone, Copy, Debug, Default)]
struct Registered {
    file: bool,
    buffers: bool,
    /// The ring's index among those of its thread.
    ring: Option<u32>,
}

pub(super) struct Ring {
    io: IoUring,
    /// The number of the first thread that used the ring, to which it belongs.
    owner: Option<u64>,
    registered: Registered,
    /// The first words of entries for reads and for writes.
    first_words: [u64; 2],
    /// Whether the kernel can be asked not to account waits as waits for I/O.
    no_iowait: bool,
    /// Whether requests are no-ops that reach no device.
    pub(super) no_op: bool,
    polled: bool,
    unsubmitted: u32,
    submitted: u32,
    flags: Vec<&'static str>,
    pub(super) notes: Vec<String>,
}

impl std::fmt::Debug for Ring {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let counts = [self.unsubmitted, self.submitted];
        f.debug_struct("Ring").field("features", &self.features()).field("in_flight", &counts).finish_non_exhaustive()
    }
}

impl Ring {
    /// A ring for `depth` requests, with every feature that the kernel has. The error is a sentence with the reason.
    pub(super) fn new(depth: u32, file: &File, arena: &Region, engine: Engine) -> io::Result<Self> {
        let polled = engine == Engine::IoUringPolled;
        let mut ring = Self::made(make(depth, polled)?, engine);
        if !ring.no_op {
            ring.register_file(file);
            ring.register_buffers(arena);
            ring.first_words = first_words(ring.registered, file);
        }
        Ok(ring)
    }

    fn made(made: Made<IoUring>, engine: Engine) -> Self {
        let Made { ring: io, mut has, notes } = made;
        let polled = engine == Engine::IoUringPolled;
        if polled {
            has.push("polled");
        }
        Self {
            no_iowait: io.params().is_feature_no_iowait(),
            no_op: engine == Engine::Null,
            polled,
            io,
            owner: None,
            registered: Registered::default(),
            first_words: [0; 2],
            unsubmitted: 0,
            submitted: 0,
            flags: has,
            notes,
        }
    }

    /// Checks that a ring can be set up, started and entered: a sandbox may forbid each of these alone. The error is a
    /// sentence with the reason.
    pub(super) fn try_out() -> io::Result<()> {
        let mut ring = Self::made(make(1, false)?, Engine::Null);
        let entered = ring.enter(0).map_err(|error| setup::explain("io_uring", &error));
        ring.quiesce();
        entered
    }

    fn register_file(&mut self, file: &File) {
        match self.io.submitter().register_files(&[file.as_raw_fd()]) {
            Ok(()) => self.registered.file = true,
            Err(error) => self.notes.push(setup::not_registered("registered_files", &error, None)),
        }
    }

    /// Registers the arena as one buffer: its pages are looked up and pinned once instead of at every request.
    fn register_buffers(&mut self, arena: &Region) {
        if arena.len() > REGISTERED_BUFFER_BYTES {
            self.notes.push("registered_buffers: the kernel takes 1 GiB at most".to_owned());
            return;
        }
        let part = libc::iovec { iov_base: arena.start().as_ptr().cast(), iov_len: arena.len() };
        // SAFETY: the part is mapped memory. The kernel holds its pages until the ring is gone, and the queue, which
        // keeps the arena longer than the ring, vouches for all requests on them.
        match unsafe { self.io.submitter().register_buffers(&[part]) } {
            Ok(()) => self.registered.buffers = true,
            Err(error) => {
                self.notes.push(setup::not_registered("registered_buffers", &error, setup::memory_lock_limit()));
            }
        }
    }

    pub(super) fn features(&self) -> Vec<&'static str> {
        let others = [
            (self.registered.file, "registered_files"),
            (self.registered.buffers, "registered_buffers"),
            (self.registered.ring.is_some(), "registered_ring"),
            (self.no_iowait, "no_iowait"),
            (self.no_op, "no_op_requests"),
        ];
        let others = others.iter().filter(|(has, _)| *has).map(|(_, word)| *word);
        others.chain(self.flags.iter().copied()).collect()
    }

    /// Puts a request into the ring; it is submitted with the next [`Ring::enter`]. Safety: the memory must lie within
    /// the ring's, stay mapped, and be used by nobody else, until the request's completion has been reaped or
    /// [`Ring::quiesce`] has returned true.
    #[inline]
    pub(super) unsafe fn push(&mut self, request: &Request, address: NonNull<u8>) -> io::Result<()> {
        let entry = self.entry(request, address);
        // SAFETY: the entry's memory is as this function demands it.
        if unsafe { self.io.submission().push(&entry) }.is_err() {
            return Err(io::Error::other("the ring is full"));
        }
        self.unsubmitted += 1;
        Ok(())
    }

    /// The kernel's form of a request. A no-op request is all zeros but for its token.
    #[inline]
    fn entry(&self, of: &Request, address: NonNull<u8>) -> squeue::Entry {
        let [read, write] = self.first_words;
        let token = u64::from(of.token);
        let words = if self.no_op {
            [0, 0, 0, 0, token, 0, 0, 0]
        } else {
            let address = address.as_ptr().expose_provenance() as u64;
            // The arena is the only registered buffer, and thus number 0.
            [if of.write { write } else { read }, of.offset, address, of.bytes.into(), token, 0, 0, 0]
        };
        // SAFETY: an entry is the kernel's `struct io_uring_sqe`, 64 bytes of integers, for which any bits are valid.
        unsafe { std::mem::transmute::<[u64; 8], squeue::Entry>(words) }
    }

    /// Submits what was pushed, and waits for `least` completions or a signal. Fails if another thread has used the ring.
    #[inline]
    pub(super) fn enter(&mut self, least: u32) -> io::Result<()> {
        self.check_owner()?;
        self.enter_with(self.unsubmitted, least, self.waiting_flags(), (std::ptr::null(), 0))
    }

    #[inline]
    fn check_owner(&mut self) -> io::Result<()> {
        let thread = this_thread();
        if self.owner == Some(thread) { Ok(()) } else { self.begin(thread) }
    }

    #[inline]
    fn waiting_flags(&self) -> EnterFlags {
        let no_iowait = if self.no_iowait { EnterFlags::NO_IOWAIT } else { EnterFlags::empty() };
        EnterFlags::GETEVENTS | no_iowait
    }

    /// Whether the kernel supports a timeout: since Linux 5.11, and not while polling (`io_iopoll_check`, `io_uring.c`).
    pub(super) fn waits_for_a_time(&self) -> bool {
        !self.polled && self.io.params().is_feature_ext_arg()
    }

    /// The same, until one completion is in the ring or the timeout has passed; no wait where there are no timeouts.
    pub(super) fn enter_at_most(&mut self, at_most: Duration) -> io::Result<()> {
        if !self.waits_for_a_time() {
            return self.enter(0);
        }
        let time = Timespec::from(at_most);
        let argument = SubmitArgs::new().timespec(&time);
        self.check_owner()?;
        let waiting = (std::ptr::from_ref(&argument).cast(), size_of_val(&argument));
        let flags = self.waiting_flags() | EnterFlags::EXT_ARG;
        match self.enter_with(self.unsubmitted, 1, flags, waiting) {
            Err(error) if error.raw_os_error() == Some(libc::ETIME) => Ok(()),
            other => other,
        }
    }

    /// Enters the kernel with a wait's argument and its size: null, or with [`EnterFlags::EXT_ARG`] a living one.
    fn enter_with(
        &mut self,
        submit: u32,
        least: u32,
        mut flags: EnterFlags,
        (waiting, waiting_bytes): (*const libc::c_void, usize),
    ) -> io::Result<()> {
        let descriptor = match self.registered.ring {
            Some(number) => {
                flags |= EnterFlags::REGISTERED_RING;
                libc::c_long::from(number)
            }
            None => libc::c_long::from(self.io.as_raw_fd()),
        };
        // SAFETY: the descriptor is the ring's own, the memory of requests was vouched for when each was pushed, and
        // the argument of the wait is null or the caller's, live through the call.
        let taken = outcome(unsafe {
            libc::syscall(
                libc::SYS_io_uring_enter,
                descriptor,
                libc::c_long::from(submit),
                libc::c_long::from(least),
                libc::c_long::from(flags.bits()),
                waiting,
                waiting_bytes,
            )
        });
        match taken {
            Ok(taken) => {
                // The counts must never wrap, whatever the kernel returns.
                let taken = u32::try_from(taken).unwrap_or(u32::MAX).min(self.unsubmitted);
                self.unsubmitted -= taken;
                self.submitted += taken;
                Ok(())
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// The first use: the ring belongs to this thread from now on.
    #[cold]
    fn begin(&mut self, thread: u64) -> io::Result<()> {
        if self.owner.is_some() {
            return Err(io::Error::other("the queue belongs to the thread that used it first"));
        }
        if self.flags.contains(&setup::DISABLED) {
            self.io.submitter().register_enable_rings()?;
        }
        self.owner = Some(thread);
        let data = u64::try_from(self.io.as_raw_fd()).unwrap_or(u64::MAX);
        let mut update = RingUpdate { offset: u32::MAX, reserved: 0, data };
        match self.update_ring_number(REGISTER_RING_FDS, &mut update) {
            Ok(()) => self.registered.ring = Some(update.offset),
            Err(error) => self.notes.push(setup::not_registered("registered_ring", &error, None)),
        }
        Ok(())
    }

    fn update_ring_number(&self, request: libc::c_long, update: &mut RingUpdate) -> io::Result<()> {
        let descriptor = libc::c_long::from(self.io.as_raw_fd());
        let one: libc::c_long = 1;
        // SAFETY: the kernel reads and writes one struct of the type that the request takes, live through the call.
        let answer =
            unsafe { libc::syscall(libc::SYS_io_uring_register, descriptor, request, std::ptr::from_mut(update), one) };
        outcome(answer).map(drop)
    }

    /// Passes every completion in the ring to `each`, as token and result (negative: the error's number).
    #[inline]
    pub(super) fn reap(&mut self, mut each: impl FnMut(u32, i32)) -> u32 {
        let mut reaped = 0;
        for entry in self.io.completion() {
            reaped += 1;
            // First, so that the count holds even if `each` panics.
            self.submitted = self.submitted.saturating_sub(1);
            each(u32::try_from(entry.user_data()).unwrap_or(u32::MAX), entry.result());
        }
        reaped
    }

    #[inline]
    pub(super) fn unsubmitted(&self) -> u32 {
        self.unsubmitted
    }

    /// Cancels requests if possible and waits for the rest; whether nothing is in flight, so that the memory may be freed.
    pub(super) fn quiesce(&mut self) -> bool {
        if self.owner != Some(this_thread()) {
            // The index is one of the other thread's.
            self.registered.ring = None;
        }
        self.reap(|_, _| ());
        if self.submitted > 0 {
            // Requests on a device cannot be cancelled, but those that still wait can; a failure does no harm.
            let at_once = Timespec::new();
            let _ = self.io.submitter().register_sync_cancel(Some(at_once), CancelBuilder::any());
        }
        while self.submitted > 0 {
            if self.enter_with(0, 1, EnterFlags::GETEVENTS, (std::ptr::null(), 0)).is_err() {
                return false;
            }
            self.reap(|_, _| ());
        }
        if self.registered.buffers {
            // Closing the ring alone releases the pages later; meanwhile they count against the next queue's locked memory.
            let _ = self.io.submitter().unregister_buffers();
        }
        if let Some(number) = self.registered.ring.take() {
            // A registered ring lives as long as its thread, and a thread can have sixteen.
            let mut update = RingUpdate { offset: number, reserved: 0, data: 0 };
            let _ = self.update_ring_number(UNREGISTER_RING_FDS, &mut update);
        }
        true
    }
}

/// The first words of the entries of reads and of writes: the operation in the lowest byte, its flags in the next, the
/// file in the upper half (`struct io_uring_sqe`, on little-endian machines).
fn first_words(registered: Registered, file: &File) -> [u64; 2] {
    // The file is the only registered one, and thus number 0.
    let (flags, file) = if registered.file { (FIXED_FILE, 0) } else { (0, file.as_raw_fd()) };
    let file = u64::try_from(file).unwrap_or(0);
    let operations = if registered.buffers { [READ_FIXED, WRITE_FIXED] } else { [READ, WRITE] };
    operations.map(|operation| u64::from(operation) | u64::from(flags) << 8 | file << 32)
}

/// Makes a ring, giving up flag after flag but polling, which only a request can try. The error is a sentence.
pub(super) fn make(depth: u32, polled: bool) -> io::Result<Made<IoUring>> {
    let entries = depth.next_power_of_two();
    let made = setup::step_down(|flags| {
        let mut builder = IoUring::builder();
        if polled {
            builder.setup_iopoll();
        }
        for flag in flags {
            (flag.set)(&mut builder, entries);
        }
        builder.build(entries)
    });
    made.map_err(|error| setup::explain("io_uring", &error))
}

/// A number of the calling thread that is never reused.
#[inline]
fn this_thread() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    thread_local! {
        static NUMBER: Cell<u64> = const { Cell::new(0) };
    }
    NUMBER.with(|number| {
        if number.get() == 0 {
            number.set(NEXT.fetch_add(1, Ordering::Relaxed));
        }
        number.get()
    })
}
