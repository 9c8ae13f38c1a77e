//! A lane: one queue that keeps its requests in flight through a window, and what is needed to check them. With `io_uring` a
//! thread has one lane of the whole depth; with blocking calls it has as many lanes, and threads, as the depth.

mod paced;

use std::io;
use std::path::Path;
use std::sync::Arc;

use model::io::{DiskOp, DiskSync};
use model::wire::{Grain, HeldFile};
use stats::random::Random;
use sys::clock::{Timer, thread_cpu_seconds};
use sys::queue::{Completion, Engine, Options, Queue, Request};
use sys::team::spin_until;

use super::cache::Allowance;
use super::claims::Claims;
use super::contents::{Contents, Origin, PAGE_BYTES, SECTOR_BYTES, SectorKind};
use super::observed::Apart;
use super::order::BlockOrder;
use super::{layout, traffic, trouble};
use crate::engines::moments::Moments;
use crate::engines::{Tally, Window};

/// One page of every N blocks is compared in full inside the window: two nanoseconds a block on average.
const COMPARED_INSIDE: u64 = 256;
const REMEMBERED: usize = 8;
/// Tries, in addition to one for each request in flight, to find a block that is not in flight. Parts are at least twice the
/// depth, so this many misses in a row do not happen at random, and none in order.
const TRIES: usize = 64;

/// How the file is opened: with direct I/O, and what a write waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Access {
    pub(super) direct: bool,
    pub(super) sync: DiskSync,
}

impl Access {
    /// Opens the file, for writing too if `write`; reads wait for nothing.
    pub(super) fn open(self, path: &Path, write: bool) -> io::Result<std::fs::File> {
        match self.sync {
            DiskSync::Sync if write => sys::file::open_synchronous(path, self.direct),
            sync => sys::file::open(path, write, self.direct, write && sync == DiskSync::Dsync),
        }
    }
}

#[derive(Clone)]
pub(super) struct Job {
    pub(super) held: HeldFile,
    pub(super) contents: Contents,
    pub(super) op: DiskOp,
    pub(super) access: Access,
    pub(super) block: u32,
    pub(super) run: u32,
    /// Whether several lanes are one stream, so that one may overwrite another's block.
    pub(super) shared_stream: bool,
    /// Whether requests go to no device, with the same work for us.
    pub(super) no_device: bool,
    pub(super) allowance: Arc<Allowance>,
}

impl Job {
    pub(super) fn blocks(&self) -> u64 {
        self.held.bytes / u64::from(self.block)
    }

    pub(super) fn stride(&self) -> usize {
        areas::disk::footprint::stride(self.block.into())
    }

    fn is_mixed(&self) -> bool {
        self.op.reads() && self.op.writes()
    }

    fn failed(&self, write: bool, offset: u64, why: &str) -> String {
        trouble::failed(&self.held, write, self.block.into(), offset, why)
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Place {
    began: u64,
    block: u64,
    buffer: usize,
    in_flight: bool,
    write: bool,
    /// Whether the buffer holds what was read from the block or, without a device, what was to be written.
    read: bool,
}

/// Requests of an open loop that were due inside windows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Due {
    pub(super) all: u64,
    /// Those that began late or never, because all slots were taken or the thread was not there yet.
    pub(super) late: u64,
}

pub(super) struct Lane {
    job: Arc<Job>,
    pub(super) queue: Queue,
    pub(super) order: BlockOrder,
    number: u16,
    places: Vec<Place>,
    claims: Claims,
    write_next: bool,
    done: Vec<Completion>,
    pool_begins: u32,
    /// The pool's offset in the arena, behind the buffers of reads.
    pool_offset: usize,
    slots: usize,
    next_slot: usize,
    /// Blocks written so far, and before the window.
    written: u64,
    written_before: u64,
    /// Finished requests of this window, and writes among them.
    finished: u64,
    finished_writes: u64,
    remembered: Vec<u64>,
    pub(super) random: Random,
    moments: Option<Moments>,
    pub(super) due: Due,
    /// CPU seconds of its thread, with the lead and drain of its windows, and the requests that they were spent on.
    pub(super) cpu_seconds: f64,
    pub(super) requests: u64,
    /// Time in flight inside windows, summed over the requests.
    pub(super) in_flight_seconds: f64,
    pub(super) apart: Option<Box<Apart>>,
}

pub(super) struct Plan {
    pub(super) engine: Engine,
    pub(super) depth: u32,
    pub(super) arenas: Vec<usize>,
    pub(super) number: u16,
    pub(super) seed: u64,
}

impl Lane {
    /// A lane whose queue has completed one request; fails where the engine does not work on this file.
    pub(super) fn open(job: &Arc<Job>, plan: &Plan, order: BlockOrder) -> io::Result<Self> {
        let mut queue = best_queue(job, plan)?;
        let arena = queue.arena();
        let reads = plan.depth as usize * job.stride();
        let pool_offset = if job.is_mixed() { reads } else { 0 };
        let slots = (arena.len().saturating_sub(pool_offset) / job.stride()).max(1);
        // Separate sectors for each lane, as far as numbers go.
        let sectors = u32::try_from(arena.len() / SECTOR_BYTES).unwrap_or(u32::MAX);
        let pool_begins = sectors.checked_mul(plan.number.into()).filter(|first| first.checked_add(sectors).is_some());
        let pool_begins = pool_begins.unwrap_or(0);
        if job.op.writes() || job.no_device {
            job.contents.fill(arena, pool_begins);
        }
        if job.no_device && job.op.reads() {
            stamp_places(job, &mut arena[..reads], pool_begins);
        }
        Ok(Self {
            job: Arc::clone(job),
            queue,
            order,
            number: plan.number,
            places: vec![Place::default(); plan.depth as usize],
            claims: Claims::new(plan.depth),
            // Not all lanes of blocking calls begin with a read.
            write_next: !plan.number.is_multiple_of(2),
            done: Vec::with_capacity(plan.depth as usize),
            pool_begins,
            pool_offset,
            slots,
            next_slot: 0,
            written: 0,
            written_before: 0,
            finished: 0,
            finished_writes: 0,
            remembered: Vec::with_capacity(REMEMBERED),
            random: Random::new(plan.seed),
            moments: None,
            due: Due::default(),
            cpu_seconds: 0.0,
            requests: 0,
            in_flight_seconds: 0.0,
            apart: job.is_mixed().then(|| Box::new(Apart::new())),
        })
    }

    /// Keeps all its requests in flight from now until the window has passed, or begins them when they are due, and waits
    /// for the last of them. A fixed number of requests begins with the window, so that none is lost before it.
    pub(super) fn run(&mut self, timer: &Timer, window: Window, tally: &mut Tally) -> Result<(), String> {
        if self.job.allowance.is_limited() {
            spin_until(timer, window.begin);
        }
        let cpu_began = thread_cpu_seconds();
        (self.finished, self.finished_writes, self.written_before) = (0, 0, self.written);
        self.remembered.clear();
        if self.moments.is_some() {
            self.run_paced(timer, window, tally)?;
        } else {
            self.run_without_pause(timer, window, tally)?;
        }
        if !self.job.no_device {
            let block = u64::from(self.job.block);
            traffic::asked_for(true, self.finished_writes * block);
            traffic::asked_for(false, (self.finished - self.finished_writes) * block);
        }
        self.requests += self.finished;
        self.cpu_seconds += thread_cpu_seconds() - cpu_began;
        Ok(())
    }

    fn run_without_pause(&mut self, timer: &Timer, window: Window, tally: &mut Tally) -> Result<(), String> {
        for token in 0..self.places.len() {
            self.submit(token, timer)?;
        }
        let mut done = std::mem::take(&mut self.done);
        let mut in_flight_ticks = 0_u64;
        while self.queue.in_flight() > 0 {
            let waited = self.queue.wait(1, &mut done);
            waited.map_err(|error| self.first_failed(&trouble::words(&error)))?;
            // A request ends when the kernel returns it, not when it is processed here: our checks and submissions for the
            // requests that are returned together are not the device's time, nor time in flight.
            let now = timer.now_unordered();
            for completion in done.drain(..) {
                let token = completion.token as usize;
                let Place { began, write, .. } = self.finish(completion, now, tally)?;
                in_flight_ticks += now.min(window.end).saturating_sub(began.max(window.begin));
                if let Some(apart) = &mut self.apart
                    && window.holds(now)
                {
                    apart.note(write, timer.seconds(began, now));
                }
                if now < window.end {
                    self.submit(token, timer)?;
                }
            }
        }
        self.done = done;
        self.in_flight_seconds += timer.seconds(0, in_flight_ticks);
        Ok(())
    }

    fn first_failed(&self, why: &str) -> String {
        let oldest = self.places.iter().filter(|place| place.in_flight).min_by_key(|place| place.began);
        let (write, block) = oldest.map_or((self.job.op.writes(), 0), |place| (place.write, place.block));
        self.job.failed(write, block * u64::from(self.job.block), why)
    }

    #[inline]
    fn submit(&mut self, token: usize, timer: &Timer) -> Result<(), String> {
        if !self.job.allowance.take() {
            return Ok(());
        }
        let write = self.is_write_next();
        let block = self.next_block();
        let offset = block * u64::from(self.job.block);
        let buffer = if write { self.stamped_slot(offset)? } else { token * self.job.stride() };
        debug_assert!(self.job.no_device || !self.job.op.writes() || !self.is_in_flight(block));
        let began = timer.now_unordered();
        let request =
            Request { token: u32::try_from(token).unwrap_or(u32::MAX), write, offset, buffer, bytes: self.job.block };
        self.queue.push(request).map_err(|error| self.job.failed(write, offset, &trouble::words(&error)))?;
        // Without a device the buffer keeps the stamp of its slot.
        let block = if self.job.no_device && !write { token as u64 } else { block };
        if self.job.op.writes() {
            self.claims.begin(block);
        }
        self.places[token] = Place { began, block, buffer, in_flight: true, write, read: false };
        Ok(())
    }

    #[inline]
    fn is_write_next(&mut self) -> bool {
        if !self.job.is_mixed() {
            return self.job.op.writes();
        }
        self.write_next = !self.write_next;
        !self.write_next
    }

    /// The next block. Where there are writes, not one that is in flight: the outcome of two requests on it is undefined.
    #[inline]
    fn next_block(&mut self) -> u64 {
        let mut block = self.order.next();
        if !self.job.op.writes() {
            return block;
        }
        for _ in 0..TRIES + self.places.len() {
            if self.claims.none_on(block) || !self.is_in_flight(block) {
                break;
            }
            block = self.order.next();
        }
        block
    }

    fn is_in_flight(&self, block: u64) -> bool {
        self.places.iter().any(|place| place.in_flight && place.block == block)
    }

    /// The next free slot of the pool, stamped for this offset of the file, so that no block has the bytes of another.
    #[inline]
    fn stamped_slot(&mut self, offset: u64) -> Result<usize, String> {
        let (stride, bytes) = (self.job.stride(), self.job.block as usize);
        for _ in 0..self.slots {
            let buffer = self.pool_offset + self.next_slot * stride;
            self.next_slot = if self.next_slot + 1 == self.slots { 0 } else { self.next_slot + 1 };
            if let Some(part) = self.queue.arena_part(buffer..buffer + bytes) {
                let origin = Origin { run: self.job.run, lane: self.number, count: self.written };
                let first = self.pool_begins + u32::try_from(buffer / SECTOR_BYTES).unwrap_or(0);
                self.job.contents.stamp(part, first, offset, SectorKind::of_blocks(self.job.block.into()), origin);
                self.written += 1;
                return Ok(buffer);
            }
        }
        Err(self.job.failed(true, offset, "every part of the pool to write from is in flight"))
    }

    #[inline]
    fn finish(&mut self, completion: Completion, now: u64, tally: &mut Tally) -> Result<Place, String> {
        let place = &mut self.places[completion.token as usize];
        place.in_flight = false;
        let over = *place;
        let Place { began, block, buffer, write, .. } = over;
        if self.job.op.writes() {
            self.claims.end(block);
            self.order.release();
        }
        let offset = block * u64::from(self.job.block);
        match completion.result {
            Ok(bytes) if bytes == self.job.block => {}
            Ok(bytes) => return Err(self.job.failed(write, offset, &format!("only {bytes} bytes were moved"))),
            Err(error) => return Err(self.job.failed(write, offset, &trouble::words(&error))),
        }
        tally.note(began, now, self.job.block.into());
        self.finished += 1;
        // Without a device the buffer of a write keeps what was to be written, which is checked too.
        place.read = !write || self.job.no_device;
        if write {
            self.finished_writes += 1;
            self.remember(block);
        } else {
            self.check_read(offset, buffer)?;
        }
        Ok(over)
    }

    #[inline]
    fn remember(&mut self, block: u64) {
        if self.remembered.len() < REMEMBERED {
            return self.remembered.push(block);
        }
        let drawn = self.random.below(self.finished_writes);
        if let Some(place) = usize::try_from(drawn).ok().and_then(|index| self.remembered.get_mut(index)) {
            *place = block;
        }
    }

    /// Checks that the block is the requested one and, now and then, one of its pages in full.
    #[inline]
    fn check_read(&mut self, offset: u64, buffer: usize) -> Result<(), String> {
        let bytes = self.job.block as usize;
        let Some(block) = self.queue.arena_part(buffer..buffer + bytes) else { return Ok(()) };
        self.job.contents.check_place(block, offset).map_err(|wrong| wrong.to_string())?;
        if !(self.finished - self.finished_writes).is_multiple_of(COMPARED_INSIDE) {
            return Ok(());
        }
        let page = self.random.below(bytes.div_ceil(PAGE_BYTES) as u64);
        let start = usize::try_from(page).unwrap_or(0) * PAGE_BYTES;
        let part = &block[start..bytes.min(start + PAGE_BYTES)];
        self.job.contents.check(part, offset + start as u64, |_| true).map_err(|wrong| wrong.to_string())
    }

    /// Compares what was read last and is still in memory, up to this many bytes. Not timed.
    pub(super) fn check_reads(&mut self, most_bytes: usize) -> Result<(), String> {
        let bytes = self.job.block as usize;
        let each = (most_bytes / self.places.len().max(1)).max(PAGE_BYTES);
        for place in self.places.iter().filter(|place| place.read) {
            let Some(block) = self.queue.arena_part(place.buffer..place.buffer + bytes) else { continue };
            let spare = bytes.saturating_sub(each).div_ceil(PAGE_BYTES) as u64;
            let start = usize::try_from(self.random.below(spare + 1)).unwrap_or(0) * PAGE_BYTES;
            let part = &block[start.min(bytes)..bytes.min(start + each)];
            let offset = place.block * u64::from(self.job.block) + start as u64;
            self.job.contents.check(part, offset, |_| true).map_err(|wrong| wrong.to_string())?;
        }
        Ok(())
    }

    pub(super) fn take_remembered(&mut self) -> Vec<u64> {
        std::mem::replace(&mut self.remembered, Vec::with_capacity(REMEMBERED))
    }

    pub(super) fn wrote(&self, origin: Origin) -> bool {
        let run = self.job.contents.is_of_run(origin, self.job.run);
        let own = || {
            if origin.lane == self.number { origin.count >= self.written_before } else { self.job.shared_stream }
        };
        run && (self.job.held.grain != Grain::Sectors || own())
    }
}

/// Stamps each request's part of the arena for the block of its number, because no device brings other data.
fn stamp_places(job: &Job, arena: &mut [u8], pool_begins: u32) {
    let block = job.block as usize;
    for (place, part) in arena.chunks_exact_mut(job.stride()).enumerate() {
        let first = pool_begins + u32::try_from(place * job.stride() / SECTOR_BYTES).unwrap_or(0);
        let offset = place as u64 * u64::from(job.block);
        let kind = SectorKind::of_blocks(job.block.into());
        job.contents.stamp(&mut part[..block], first, offset, kind, Origin::default());
    }
}

/// The first queue with a registered arena, which is cheaper but counts against a small limit, else the first available.
fn best_queue(job: &Job, plan: &Plan) -> io::Result<Queue> {
    let mut first = None;
    for &arena_bytes in &plan.arenas {
        let options = Options { engine: plan.engine, depth: plan.depth, arena_bytes };
        let file = job.access.open(Path::new(&job.held.path), job.op.writes())?;
        let mut queue = Queue::open(file, &options)?;
        probe(job, &mut queue)?;
        let registered = queue.features().iter().any(|feature| feature == "registered_buffers");
        let can_register = matches!(plan.engine, Engine::IoUring | Engine::IoUringPolled);
        if registered || !can_register {
            return Ok(queue);
        }
        first.get_or_insert(queue);
    }
    first.ok_or_else(|| io::Error::other("a queue without memory was planned"))
}

/// Reads the first block: only then it shows whether the engine works (polling is set up without an error elsewhere).
fn probe(job: &Job, queue: &mut Queue) -> io::Result<()> {
    let bytes = layout::carry_out(queue, Request { token: 0, write: false, offset: 0, buffer: 0, bytes: job.block })?;
    if !job.no_device {
        traffic::asked_for(false, bytes.into());
    }
    if bytes == job.block { Ok(()) } else { Err(io::Error::other(format!("only {bytes} bytes were read"))) }
}
