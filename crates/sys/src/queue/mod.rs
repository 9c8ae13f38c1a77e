//! Requests in flight on one file: by an `io_uring`, by Linux's native asynchronous I/O, by blocking calls, or not at
//! all, which measures the overhead of the caller's own loop.
//!
//! A queue owns its file and the memory that requests use (the arena), so that both outlive every request, and lends no
//! byte of the arena twice. It does not repeat short reads or errors.

mod aio;
mod in_flight;
mod request;
mod ring;
mod setup;

use std::fs::File;
use std::io;
use std::mem::ManuallyDrop;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::time::Duration;

use crate::memory::{PageSize, Region};
use aio::Aio;
use in_flight::InFlight;
pub use request::{Completion, Engine, MAX_DEPTH, Options, Request};
use ring::Ring;

/// The fewest requests that are submitted together without a wait. A device that gets all at once is idle until then:
/// on virtio disks, 4 KiB and queue depth 32, that cost a sixth to a fourth of the rate. One and two at a time were
/// equal; four too on one host, and a tenth less for written blocks on another. Each call takes CPU time, hence two.
///
/// A busy device can wait: from then on as many are gathered as it has. Of 32 completed at once, 2, 2, 4, 8 and 16 are
/// submitted together: a third of the calls that two at a time take, each of which may wake a hypervisor's device.
const SUBMITTED_AT: u32 = 2;

/// Requests in flight on one file, for the first thread that pushes or waits. Dropped, it waits for those in flight.
#[derive(Debug)]
pub struct Queue {
    engine: Engine,
    backend: Backend,
    submitted_at: u32,
    in_flight: InFlight,
    file: File,
    /// Freed by hand: it is leaked if requests that use it cannot be waited for.
    arena: ManuallyDrop<Region>,
}

#[derive(Debug)]
enum Backend {
    Ring(Box<Ring>),
    Aio(Box<Aio>),
    /// The request that was pushed.
    Blocking(Option<Request>),
    /// The pushed tokens, and why there is no ring.
    Loop(Vec<u32>, [String; 1]),
}

impl Queue {
    /// A queue on a file, with a zeroed arena that has been touched. Features of an `io_uring` that the kernel or a
    /// limit refuses are noted in [`Queue::stepped_down`]. Fails if the depth is out of range, without memory, or if
    /// the engine is not available, with a sentence that gives the reason.
    pub fn open(file: File, options: &Options) -> io::Result<Self> {
        let Options { engine, depth, .. } = *options;
        if depth == 0 || depth > MAX_DEPTH {
            return Err(invalid(format!("a queue has 1 to {MAX_DEPTH} requests in flight, not {depth}")));
        }
        if engine == Engine::Sync && depth != 1 {
            return Err(invalid(format!("blocking calls have one request in flight, not {depth}: open more queues")));
        }
        let mut arena = if options.takes_base_pages() {
            Region::of_base_pages(options.arena_bytes)?
        } else {
            Region::map(options.arena_bytes, PageSize::Huge)?
        };
        arena.as_mut_slice().fill(0);
        let ring = || Ring::new(depth, &file, &arena, engine).map(|ring| Backend::Ring(Box::new(ring)));
        let backend = match engine {
            Engine::Sync => Backend::Blocking(None),
            Engine::IoUring | Engine::IoUringPolled => ring()?,
            Engine::Libaio => Backend::Aio(Box::new(Aio::new(depth, &file)?)),
            Engine::Null => Ring::try_out().and_then(|()| ring()).unwrap_or_else(|error| {
                Backend::Loop(Vec::with_capacity(depth as usize), [format!("no_op_requests: {error}")])
            }),
        };
        let in_flight = InFlight::new(depth, arena.len());
        // Without a device, none is idle.
        let submitted_at = if engine == Engine::Null { u32::MAX } else { SUBMITTED_AT };
        Ok(Self { engine, backend, submitted_at, in_flight, file, arena: ManuallyDrop::new(arena) })
    }

    /// Whether an `io_uring` is available: sets one up, enters and frees it. The error is a sentence with the reason.
    pub fn io_uring_available() -> io::Result<()> {
        Ring::try_out()
    }

    /// Whether native asynchronous I/O is available, by setting up a context. The error is a sentence with the reason.
    pub fn libaio_available() -> io::Result<()> {
        aio::available()
    }

    pub fn engine(&self) -> Engine {
        self.engine
    }

    /// The features in use, in words such as `registered_buffers`; complete after the first [`Queue::wait`].
    pub fn features(&self) -> Vec<String> {
        match &self.backend {
            Backend::Ring(ring) => ring.features().into_iter().map(str::to_owned).collect(),
            Backend::Aio(_) | Backend::Blocking(_) | Backend::Loop(..) => Vec::new(),
        }
    }

    /// The features that are missing, in sentences such as "registered buffers: Cannot allocate memory (the limit of
    /// locked memory is 8 MiB)"; complete after the first [`Queue::wait`].
    pub fn stepped_down(&self) -> &[String] {
        match &self.backend {
            Backend::Ring(ring) => &ring.notes,
            Backend::Loop(_, notes) => notes,
            Backend::Aio(_) | Backend::Blocking(_) => &[],
        }
    }

    /// The whole arena; empty while a request is in flight.
    pub fn arena(&mut self) -> &mut [u8] {
        let whole = if self.in_flight.count() == 0 { 0..self.arena.len() } else { 0..0 };
        self.arena_part(whole).unwrap_or_default()
    }

    /// A part of the arena; `None` beyond it, and while a request in flight has any of it (in sectors of 512 bytes).
    pub fn arena_part(&mut self, part: Range<usize>) -> Option<&mut [u8]> {
        if part.start > part.end || part.end > self.arena.len() || self.in_flight.overlaps(&part) {
            return None;
        }
        // SAFETY: the part lies within the arena, which is mapped and initialised; no request in flight has any of it,
        // and none can be pushed while `self` is borrowed.
        Some(unsafe { std::slice::from_raw_parts_mut(self.arena.start().as_ptr().add(part.start), part.len()) })
    }

    /// Requests pushed and not yet completed.
    pub fn in_flight(&self) -> u32 {
        self.in_flight.count()
    }

    /// Queues a request, which is submitted with the next [`Queue::wait`], or once a few have been pushed. Allocates
    /// nothing unless it fails: with `ErrorKind::InvalidInput` if the token is out of range or in flight, the request
    /// has no bytes or reaches beyond the arena or the largest file, or another request in flight has a part of its
    /// buffer.
    #[inline]
    pub fn push(&mut self, request: Request) -> io::Result<()> {
        let part = self.checked(&request)?;
        // SAFETY: the part lies within the arena.
        let address = unsafe { self.arena.start().add(part.start) };
        match &mut self.backend {
            Backend::Blocking(pushed) => *pushed = Some(request),
            Backend::Loop(pushed, _) => pushed.push(request.token),
            Backend::Aio(aio) => aio.push(&request, address),
            // SAFETY: the memory is a part of the arena, which `Drop` frees only when the ring is quiet. Nobody else
            // has it: `checked` has verified that, and from `lend` to the completion nobody else gets it.
            Backend::Ring(ring) => unsafe { ring.push(&request, address)? },
        }
        self.in_flight.lend(request.token, part);
        let (least, in_flight) = (self.submitted_at, self.in_flight.count());
        let suffice = |unsubmitted: u32| unsubmitted >= least.max(in_flight.saturating_sub(unsubmitted));
        // An error here recurs, and is reported, in `wait`.
        match &mut self.backend {
            Backend::Ring(ring) if suffice(ring.unsubmitted()) => drop(ring.enter(0)),
            // SAFETY: as above, for every request that was pushed.
            Backend::Aio(aio) if suffice(aio.unsubmitted()) => drop(unsafe { aio.submit_once() }),
            _ => {}
        }
        Ok(())
    }

    /// The part of the arena that a request uses, if the request is valid.
    #[inline]
    fn checked(&self, request: &Request) -> io::Result<Range<usize>> {
        let end = request.buffer.checked_add(request.bytes as usize).filter(|end| *end <= self.arena.len());
        // The kernel uses signed numbers, and -1 means the file's own position.
        let last = request.offset.checked_add(u64::from(request.bytes)).filter(|last| i64::try_from(*last).is_ok());
        match (self.in_flight.is_free(request.token), end, last) {
            (Some(true), Some(end), Some(_))
                if request.bytes > 0 && !self.in_flight.overlaps(&(request.buffer..end)) =>
            {
                Ok(request.buffer..end)
            }
            _ => Err(self.why_not(request)),
        }
    }

    #[cold]
    fn why_not(&self, request: &Request) -> io::Error {
        let Request { token, offset, buffer, bytes, .. } = *request;
        let arena = self.arena.len();
        let what = match self.in_flight.is_free(token) {
            None => "its token is not below the queue's depth".to_owned(),
            Some(false) => "its token is in flight".to_owned(),
            Some(true) if bytes == 0 => "it has no bytes".to_owned(),
            Some(true) if buffer.checked_add(bytes as usize).is_none_or(|end| end > arena) => {
                format!("it reaches beyond the arena of {arena} bytes")
            }
            Some(true) if offset.checked_add(bytes.into()).is_none_or(|end| i64::try_from(end).is_err()) => {
                "it reaches beyond the largest file".to_owned()
            }
            Some(true) => "a request in flight has a part of its buffer".to_owned(),
        };
        invalid(format!(
            "the request {token} for {bytes} bytes at {offset} of the file and {buffer} of the arena: {what}"
        ))
    }

    /// Submits what was pushed, waits until at least `least` requests (or all, if fewer are in flight) have completed,
    /// and appends all that have to `done`, for which the caller reserves room. With 0 it submits and does not wait.
    /// Fails, with requests in flight, if the kernel accepts none (`EAGAIN`: no memory) or the queue is another thread's.
    #[inline]
    pub fn wait(&mut self, least: u32, done: &mut Vec<Completion>) -> io::Result<()> {
        let Self { backend, in_flight, file, arena, .. } = self;
        match backend {
            Backend::Ring(ring) => wait_for_ring(ring, in_flight, least, done),
            Backend::Aio(aio) => wait_for_aio(aio, in_flight, least, None, done),
            Backend::Blocking(pushed) => {
                if let Some(request) = pushed.take() {
                    in_flight.take_back(request.token);
                    done.push(Completion { token: request.token, result: carry_out(&request, file, arena) });
                }
                Ok(())
            }
            Backend::Loop(pushed, _) => {
                for token in pushed.drain(..) {
                    done.extend(in_flight.take_back(token).map(|part| in_full(token, &part)));
                }
                Ok(())
            }
        }
    }

    /// Submits what was pushed, waits until a request has completed or the timeout has passed, and appends all
    /// completed ones to `done`. Blocking calls ignore the timeout; an `io_uring` before Linux 5.11, or that polls the
    /// device, does not wait.
    pub fn wait_at_most(&mut self, at_most: Duration, done: &mut Vec<Completion>) -> io::Result<()> {
        match &mut self.backend {
            Backend::Ring(ring) => {
                let entered = ring.enter_at_most(at_most);
                let reaped = reap(ring, &mut self.in_flight, done);
                unless_full(entered, reaped)
            }
            Backend::Aio(aio) => wait_for_aio(aio, &mut self.in_flight, 1, Some(at_most), done),
            Backend::Blocking(_) | Backend::Loop(..) => self.wait(0, done),
        }
    }
}

/// No error if the completion queue was full and has room again.
#[inline]
fn unless_full(entered: io::Result<()>, reaped: u32) -> io::Result<()> {
    match entered {
        Err(error) if error.raw_os_error() == Some(libc::EBUSY) && reaped > 0 => Ok(()),
        other => other,
    }
}

/// Appends completed requests to `done`; how many they are.
#[inline]
fn reap(ring: &mut Ring, in_flight: &mut InFlight, done: &mut Vec<Completion>) -> u32 {
    let no_op = ring.no_op;
    ring.reap(|token, result| {
        if let Some(part) = in_flight.take_back(token) {
            let whole = no_op && result == 0;
            done.push(if whole { in_full(token, &part) } else { of_kernel(token, result.into()) });
        }
    })
}

#[inline]
fn wait_for_ring(ring: &mut Ring, in_flight: &mut InFlight, least: u32, done: &mut Vec<Completion>) -> io::Result<()> {
    let least = least.min(in_flight.count());
    // Completions that have already arrived, so that the kernel need not wait for them.
    let mut seen = reap(ring, in_flight, done);
    // The kernel is called at least once: it may hold completions back until then.
    let mut asked = least > 0;
    while ring.unsubmitted() > 0 || seen < least || !asked {
        let entered = ring.enter(least.saturating_sub(seen));
        let reaped = reap(ring, in_flight, done);
        seen += reaped;
        unless_full(entered, reaped)?;
        asked = true;
    }
    Ok(())
}

/// Waits once with a timeout, otherwise until as many have completed.
fn wait_for_aio(
    aio: &mut Aio,
    in_flight: &mut InFlight,
    least: u32,
    at_most: Option<Duration>,
    done: &mut Vec<Completion>,
) -> io::Result<()> {
    let remaining = in_flight.count().saturating_sub(least);
    let mut give_back = |in_flight: &mut InFlight, token, result| {
        if in_flight.take_back(token).is_some() {
            done.push(of_kernel(token, result));
        }
    };
    loop {
        // SAFETY: pushed requests use the arena, which is freed once the context is quiet and lent to nobody until `take_back`.
        unsafe { aio.submit(|token, result| give_back(in_flight, token, result))? };
        let missing = in_flight.count().saturating_sub(remaining);
        // Without room for all of them, one must complete first.
        let wanted = missing.max(u32::from(aio.unsubmitted() > 0));
        aio.reap(wanted, at_most, |token, result| give_back(in_flight, token, result))?;
        if at_most.is_some() || (in_flight.count() <= remaining && aio.unsubmitted() == 0) {
            return Ok(());
        }
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        let quiet = match &mut self.backend {
            Backend::Ring(ring) => ring.quiesce(),
            Backend::Aio(aio) => aio.quiesce(),
            Backend::Blocking(_) | Backend::Loop(..) => true,
        };
        if quiet {
            // SAFETY: this is the one place that drops it, and nothing uses it afterwards.
            unsafe { ManuallyDrop::drop(&mut self.arena) };
        }
    }
}

/// A completed request with the kernel's result: bytes, or the error's number (negative).
#[inline]
fn of_kernel(token: u32, result: i64) -> Completion {
    let error = || io::Error::from_raw_os_error(i32::try_from(result.saturating_neg()).unwrap_or(libc::EIO));
    Completion { token, result: u32::try_from(result).map_err(|_| error()) }
}

/// A completed no-op request: all of its part of the arena counts as moved.
#[inline]
fn in_full(token: u32, part: &Range<usize>) -> Completion {
    // Never more than requested, which is a `u32`.
    Completion { token, result: Ok(u32::try_from(part.len()).unwrap_or(u32::MAX)) }
}

fn carry_out(request: &Request, file: &File, arena: &mut Region) -> io::Result<u32> {
    let part = &mut arena.as_mut_slice()[request.buffer..request.buffer + request.bytes as usize];
    loop {
        let moved =
            if request.write { file.write_at(part, request.offset) } else { file.read_at(part, request.offset) };
        match moved {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            // Never more than requested, which is a `u32`.
            other => return other.map(|bytes| u32::try_from(bytes).unwrap_or(u32::MAX)),
        }
    }
}

fn invalid(text: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, text)
}

#[cfg(test)]
mod tests;
