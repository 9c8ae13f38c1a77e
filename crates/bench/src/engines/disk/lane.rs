//! A lane: one queue that keeps so many requests in flight through a window, and what it remembers to check them by.
//!
//! With `io_uring` a thread has one lane of the whole depth; with blocking calls it has as many lanes as the depth, each
//! on a thread of its own. What surrounds a window (flushing, reading back) is the flow's business.

mod due;
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

use super::apart::Apart;
use super::cache::Allowance;
use super::claims::Claims;
use super::contents::{Contents, Origin, PAGE_BYTES, SECTOR_BYTES, Unit};
use super::visits::Visits;
use super::{traffic, trouble};
use crate::engines::moments::Moments;
use crate::engines::{Tally, Window};
pub(super) use due::Due;

/// Of every so many blocks read, one page is compared in full inside the window: half a microsecond each, and thus two
/// nanoseconds a block.
const COMPARED_INSIDE: u64 = 256;

/// Written blocks that are remembered for reading back.
const REMEMBERED: usize = 8;

/// Tries, beside one for each request in flight, to find a block that is not in flight. Parts are at least twice the
/// depth, so that this many misses in a row do not happen at random, and none in order.
const TRIES: usize = 64;

/// How the file is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Access {
    /// Whether the page cache is bypassed.
    pub(super) direct: bool,
    /// What a write waits for.
    pub(super) sync: DiskSync,
}

impl Access {
    /// Opens the file, for writing too if `write`; what does not write waits for nothing.
    pub(super) fn open(self, path: &Path, write: bool) -> io::Result<std::fs::File> {
        match self.sync {
            DiskSync::Sync if write => sys::file::open_synchronous(path, self.direct),
            sync => sys::file::open(path, write, self.direct, write && sync == DiskSync::Dsync),
        }
    }
}

/// What all lanes of a thread have in common.
#[derive(Clone, Debug)]
pub(super) struct Job {
    pub(super) held: HeldFile,
    pub(super) contents: Contents,
    /// What is done to each block.
    pub(super) op: DiskOp,
    pub(super) access: Access,
    /// Bytes of a request.
    pub(super) block: u32,
    /// The launch that it belongs to.
    pub(super) launch: u32,
    /// Whether several lanes are one stream, so that one may write over another's block.
    pub(super) shared_stream: bool,
    /// Whether requests are for nothing: the same work for us, and none for the device.
    pub(super) no_device: bool,
    /// Requests that the lanes of the thread may still begin in this window.
    pub(super) allowance: Allowance,
}

impl Job {
    /// Blocks of the file.
    pub(super) fn blocks(&self) -> u64 {
        self.held.bytes / u64::from(self.block)
    }

    /// Bytes from one block in memory to the next.
    pub(super) fn stride(&self) -> usize {
        areas::disk::footprint::stride(self.block.into())
    }

    fn open_file(&self) -> io::Result<std::fs::File> {
        self.access.open(Path::new(&self.held.path), self.op.writes())
    }

    /// Whether both reads and writes are made, in turn.
    fn is_mixed(&self) -> bool {
        self.op.reads() && self.op.writes()
    }

    fn failed(&self, write: bool, offset: u64, why: &str) -> String {
        trouble::failed(&self.held, write, self.block.into(), offset, why)
    }
}

/// One request's place in a lane.
#[derive(Clone, Copy, Debug, Default)]
struct Place {
    began: u64,
    block: u64,
    /// Where in the arena.
    buffer: usize,
    in_flight: bool,
    /// Whether it writes.
    write: bool,
    /// Whether the buffer holds what was read from the block or, without a device, what was to be written.
    read: bool,
}

/// One queue at work.
#[derive(Debug)]
pub(super) struct Lane {
    job: Arc<Job>,
    queue: Queue,
    visits: Visits,
    /// Its number among all lanes of the launch.
    number: u16,
    places: Vec<Place>,
    /// The blocks of the places in flight, if it writes.
    claims: Claims,
    /// Of reads and writes in turn, whether a write is next.
    write_next: bool,
    done: Vec<Completion>,
    /// The number of the pool's first sector.
    pool_begins: u32,
    /// Where in the arena the pool is: behind the buffers of reads.
    pool_offset: usize,
    slots: usize,
    next_slot: usize,
    /// Blocks written by it so far, and how many of them before the window.
    written: u64,
    written_before: u64,
    /// Requests of this window that are over, and writes among them.
    finished: u64,
    finished_writes: u64,
    remembered: Vec<u64>,
    random: Random,
    /// When requests fall due; `None` while each begins as soon as another is over.
    moments: Option<Moments>,
    due: Due,
    /// CPU seconds of its thread, lead and drain of its windows included.
    pub(super) cpu_seconds: f64,
    /// Requests that these were spent on.
    pub(super) requests: u64,
    /// For how long requests were in flight inside windows, summed over the requests, in seconds.
    pub(super) in_flight_seconds: f64,
    /// Reads and writes of all windows told apart, where both are made.
    apart: Option<Box<Apart>>,
}

/// What a lane is made of.
pub(super) struct Plan {
    pub(super) engine: Engine,
    pub(super) depth: u32,
    /// Sizes of its memory, the best first; of reads one suffices.
    pub(super) arenas: Vec<usize>,
    pub(super) number: u16,
    pub(super) seed: u64,
}

impl Lane {
    /// A lane whose queue has carried out one request.
    ///
    /// # Errors
    /// The engine cannot be had, or cannot do this kind of request on this file.
    pub(super) fn open(job: &Arc<Job>, plan: &Plan, visits: Visits) -> io::Result<Self> {
        let mut queue = best_queue(job, plan)?;
        let arena = queue.arena();
        let reads = plan.depth as usize * job.stride();
        let pool_offset = if job.is_mixed() { reads } else { 0 };
        let slots = (arena.len().saturating_sub(pool_offset) / job.stride()).max(1);
        // Sectors of their own for each lane, as far as numbers go.
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
            visits,
            number: plan.number,
            places: vec![Place::default(); plan.depth as usize],
            claims: Claims::new(plan.depth),
            // Lanes of blocking calls do not all begin with a read.
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

    /// How many of its visits in a row certainly lead to different blocks.
    pub(super) fn pass(&self) -> u64 {
        self.visits.pass()
    }

    /// The same stream of visits for another lane of the thread, if it is one that can be shared.
    pub(super) fn share_visits(&self, lane: usize) -> Option<Visits> {
        self.visits.share(lane)
    }

    /// The queue, for what it has to say of itself.
    pub(super) fn queue(&self) -> &Queue {
        &self.queue
    }

    /// Reads and writes told apart, where both are made.
    pub(super) fn apart(&self) -> Option<&Apart> {
        self.apart.as_deref()
    }

    /// Keeps all its requests in flight from now until the window has passed, or begins them at its moments, and waits
    /// for the last of them. Where they are numbered it begins with the window, since none is to be lost to the time
    /// before.
    ///
    /// # Errors
    /// A request that failed or moved too little, or data that is not what was written.
    pub(super) fn run(&mut self, timer: &Timer, window: Window, tally: &mut Tally) -> Result<(), String> {
        if self.job.allowance.is_limited() {
            spin_until(timer, window.begin);
        }
        let cpu_began = thread_cpu_seconds();
        (self.finished, self.finished_writes, self.written_before) = (0, 0, self.written);
        self.remembered.clear();
        match self.moments.take() {
            None => self.run_without_pause(timer, window, tally)?,
            Some(mut moments) => {
                self.run_paced(&mut moments, timer, window, tally)?;
                self.moments = Some(moments);
            }
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

    /// A closed loop: another request begins when one is over.
    fn run_without_pause(&mut self, timer: &Timer, window: Window, tally: &mut Tally) -> Result<(), String> {
        for token in 0..self.places.len() {
            self.submit(token, timer)?;
        }
        let mut done = std::mem::take(&mut self.done);
        let mut in_flight_ticks = 0_u64;
        while self.queue.in_flight() > 0 {
            let waited = self.queue.wait(1, &mut done);
            waited.map_err(|error| self.first_failed(&trouble::words(&error)))?;
            // A request is over when the kernel has given it back, not when its turn comes here: where many come back at
            // once, what each waits for our checks and for the requests that those before it are followed by is our doing,
            // and not the device's. It does not count as in flight either: the device has nothing of it.
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

    /// The sentence for requests that could not be waited for: of the oldest.
    fn first_failed(&self, why: &str) -> String {
        let oldest = self.places.iter().filter(|place| place.in_flight).min_by_key(|place| place.began);
        let (write, block) = oldest.map_or((self.job.op.writes(), 0), |place| (place.write, place.block));
        self.job.failed(write, block * u64::from(self.job.block), why)
    }

    /// Pushes the next request, unless there are none left for this window.
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
        // Without a device the buffer keeps what was stamped for its place.
        let block = if self.job.no_device && !write { token as u64 } else { block };
        if self.job.op.writes() {
            self.claims.begin(block);
        }
        self.places[token] = Place { began, block, buffer, in_flight: true, write, read: false };
        Ok(())
    }

    /// Whether the next request writes.
    #[inline]
    fn is_write_next(&mut self) -> bool {
        if !self.job.is_mixed() {
            return self.job.op.writes();
        }
        self.write_next = !self.write_next;
        !self.write_next
    }

    /// The next block; where there are writes never one that is in flight, since which of two writes would stay, and
    /// what a read beside a write would bring, is anybody's guess.
    #[inline]
    fn next_block(&mut self) -> u64 {
        let mut block = self.visits.next();
        if !self.job.op.writes() {
            return block;
        }
        for _ in 0..TRIES + self.places.len() {
            if self.claims.none_on(block) || !self.is_in_flight(block) {
                break;
            }
            block = self.visits.next();
        }
        block
    }

    fn is_in_flight(&self, block: u64) -> bool {
        self.places.iter().any(|place| place.in_flight && place.block == block)
    }

    /// The next free slot of the pool, stamped for this place in the file. Going round the pool, no block has the bytes
    /// of another.
    #[inline]
    fn stamped_slot(&mut self, offset: u64) -> Result<usize, String> {
        let (stride, bytes) = (self.job.stride(), self.job.block as usize);
        for _ in 0..self.slots {
            let buffer = self.pool_offset + self.next_slot * stride;
            self.next_slot = if self.next_slot + 1 == self.slots { 0 } else { self.next_slot + 1 };
            if let Some(part) = self.queue.arena_part(buffer..buffer + bytes) {
                let origin = Origin { launch: self.job.launch, lane: self.number, count: self.written };
                let first = self.pool_begins + u32::try_from(buffer / SECTOR_BYTES).unwrap_or(0);
                self.job.contents.stamp(part, first, offset, Unit::of_blocks(self.job.block.into()), origin);
                self.written += 1;
                return Ok(buffer);
            }
        }
        Err(self.job.failed(true, offset, "every part of the pool to write from is in flight"))
    }

    /// Counts and checks a request that is over; what it was.
    #[inline]
    fn finish(&mut self, completion: Completion, now: u64, tally: &mut Tally) -> Result<Place, String> {
        let place = &mut self.places[completion.token as usize];
        place.in_flight = false;
        let over = *place;
        let Place { began, block, buffer, write, .. } = over;
        if self.job.op.writes() {
            self.claims.end(block);
            self.visits.release();
        }
        let offset = block * u64::from(self.job.block);
        match completion.result {
            Ok(bytes) if bytes == self.job.block => {}
            Ok(bytes) => return Err(self.job.failed(write, offset, &format!("only {bytes} bytes were moved"))),
            Err(error) => return Err(self.job.failed(write, offset, &trouble::words(&error))),
        }
        tally.note(began, now, self.job.block.into());
        self.finished += 1;
        // Without a device the buffer of a write keeps what was to be written, which is as good to check.
        place.read = !write || self.job.no_device;
        if write {
            self.finished_writes += 1;
            self.remember(block);
        } else {
            self.check_read(offset, buffer)?;
        }
        Ok(over)
    }

    /// Keeps a sample of the blocks written in the window in which each has the same chance.
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

    /// Checks that the block is the one that was asked for and, now and then, one of its pages in full.
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

    /// Compares what was read last and still lies in memory, up to so many bytes of it. Not timed.
    ///
    /// # Errors
    /// What is there instead.
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

    /// A number below the bound, from the lane's own stream.
    pub(super) fn drawn_below(&mut self, bound: u64) -> u64 {
        self.random.below(bound)
    }

    /// Takes the blocks to read back.
    pub(super) fn take_remembered(&mut self) -> Vec<u64> {
        std::mem::replace(&mut self.remembered, Vec::with_capacity(REMEMBERED))
    }

    /// Whether what is found in one of its blocks can be from the last window.
    pub(super) fn wrote(&self, origin: Origin) -> bool {
        let launch = self.job.contents.is_of_launch(origin, self.job.launch);
        // Words and bytes have room for nothing else.
        let own = || {
            if origin.lane == self.number { origin.count >= self.written_before } else { self.job.shared_stream }
        };
        launch && (self.job.held.grain != Grain::Sectors || own())
    }
}

/// Stamps each request's part of the arena for the block of its number, since no device will bring anything else.
fn stamp_places(job: &Job, arena: &mut [u8], pool_begins: u32) {
    let block = job.block as usize;
    for (place, part) in arena.chunks_exact_mut(job.stride()).enumerate() {
        let first = pool_begins + u32::try_from(place * job.stride() / SECTOR_BYTES).unwrap_or(0);
        let offset = place as u64 * u64::from(job.block);
        job.contents.stamp(&mut part[..block], first, offset, Unit::of_blocks(job.block.into()), Origin::default());
    }
}

/// The first queue whose arena the kernel keeps registered, else the first that can be had: registered memory is cheap
/// for the kernel, but charged to a limit that is often small.
fn best_queue(job: &Job, plan: &Plan) -> io::Result<Queue> {
    let mut first = None;
    for &arena_bytes in &plan.arenas {
        let options = Options { engine: plan.engine, depth: plan.depth, arena_bytes };
        let mut queue = Queue::open(job.open_file()?, &options)?;
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

/// Reads the first block: whether the engine can do it at all on this file shows only then (polling, for one, is set up
/// without a word where it cannot be done).
fn probe(job: &Job, queue: &mut Queue) -> io::Result<()> {
    let mut done = Vec::with_capacity(1);
    queue.push(Request { token: 0, write: false, offset: 0, buffer: 0, bytes: job.block })?;
    queue.wait(1, &mut done)?;
    let bytes =
        done.pop().map_or_else(|| Err(io::Error::other("nothing came back")), |completion| completion.result)?;
    if !job.no_device {
        traffic::asked_for(false, bytes.into());
    }
    if bytes == job.block { Ok(()) } else { Err(io::Error::other(format!("only {bytes} bytes were read"))) }
}
