//! The engine of a thread's requests: the planned one, or the best that works; and the rate of our loop without a device.

use std::io;
use std::sync::Arc;

use areas::disk::footprint::{self, Lanes};
use model::experiment::DiskParams;
use model::io::{DiskCache, DiskEngine, DiskLayout, DiskPattern, DiskSync};
use sys::clock::Timer;
use sys::queue::Engine;

use super::contents::PAGE_BYTES;
use super::lane::{Access, Job, Lane, Plan};
use super::order::{BlockOrder, Span};
use super::{stretch, trouble};
use crate::engines::{Tally, Trouble, Window};
use crate::target::why_not;

/// Windows of the loop without a device, of which the best counts, because other processes only lower it.
const LOOP_WINDOWS: u32 = 3;
/// Most windows until one counts anything: other processes may have the CPU through all of one.
const MOST_LOOP_WINDOWS: u32 = 30;
/// Length of each: thousands of requests even at a microsecond each.
const LOOP_SECONDS: f64 = 0.004;

pub(super) struct Opening<'a> {
    pub(super) job: &'a Arc<Job>,
    pub(super) params: &'a DiskParams,
    pub(super) seed: u64,
    pub(super) thread: usize,
}

impl Opening<'_> {
    /// The lanes of a thread: one of the whole depth, or one blocking lane for each request in flight. Where `io_uring` is not
    /// available, or not on this file, the best available engine, and a note for each step down.
    pub(super) fn lanes(&self) -> Result<(Vec<Lane>, Vec<String>), Trouble> {
        let Self { job, params, seed, thread } = *self;
        let mut stepped_down = Vec::new();
        for &engine in chain(params.engine, job.held.polled && job.access.direct) {
            if let Some(sentence) = footprint::too_many_threads(params).filter(|_| engine == Engine::Sync) {
                return Err(Trouble::Unavailable(sentence));
            }
            match self.lane(engine, 0, None) {
                Ok(lane) => {
                    let stretch = stretch::of_thread(job, params, thread as u64, seed);
                    if let Some(stretch) = stretch.filter(|_| !job.no_device) {
                        stretch::first_pass(job, stretch).map_err(Trouble::Failed)?;
                    }
                    return Ok((self.with_helpers(lane)?, stepped_down));
                }
                Err(error) if params.engine == DiskEngine::IoUring && engine != Engine::Sync && is_missing(&error) => {
                    stepped_down.push(format!("{}: {}", word(engine), why_not(&trouble::words(&error))));
                }
                Err(error) => return Err(cannot_open(job, &error)),
            }
        }
        Err(Trouble::Unavailable("no disk engine works here".to_owned()))
    }

    fn with_helpers(&self, first: Lane) -> Result<Vec<Lane>, Trouble> {
        let all = if first.queue.engine() == Engine::Sync { self.params.depth } else { 1 };
        let mut lanes = vec![first];
        for number in 1..all {
            let order = lanes[0].order.share(number as usize);
            lanes.push(self.lane(Engine::Sync, number, order).map_err(|error| cannot_open(self.job, &error))?);
        }
        Ok(lanes)
    }

    fn lane(&self, engine: Engine, lane: u32, order: Option<BlockOrder>) -> io::Result<Lane> {
        let lanes = Lanes::of(self.params, engine == Engine::Sync);
        let number = self.thread as u64 * u64::from(lanes.of_thread) + u64::from(lane);
        let plan = Plan {
            engine,
            depth: lanes.depth,
            arenas: footprint::arenas(self.job.op, self.job.block.into(), lanes),
            number: u16::try_from(number).unwrap_or(u16::MAX),
            seed: own_seed(self.seed, number).rotate_left(17),
        };
        Lane::open(self.job, &plan, order.unwrap_or_else(|| self.order(lanes.of_thread, lane)))
    }

    /// The order in which one of the thread's lanes accesses its part of the file: random reads the whole file, random writes
    /// every n-th block, a stream the thread's part; where blocks are accessed again, the same of the thread's stretch.
    fn order(&self, lanes: u32, lane: u32) -> BlockOrder {
        let Self { job, params, seed, thread } = *self;
        let (thread, of_thread) = (thread as u64, u64::from(lanes));
        let own_seed = own_seed(seed, thread * of_thread + u64::from(lane));
        let stretch = stretch::of_thread(job, params, thread, seed);
        // In a file of its own the thread is the only one.
        let shared = params.layout == DiskLayout::Shared;
        let (threads, thread) = if shared { (u64::from(params.threads), thread) } else { (1, 0) };
        let (number, all) = (thread * of_thread + u64::from(lane), threads * of_thread);
        match params.pattern {
            // A block that was read once is no longer cold.
            DiskPattern::Random if params.cache == DiskCache::Cold => {
                BlockOrder::dealt(threads, thread, job.blocks(), seed, own_seed)
            }
            DiskPattern::Random => {
                let file = Span { first: 0, count: job.blocks() };
                // The lanes that share it, and this lane's number among them.
                let (span, of, which) = stretch.map_or((file, all, number), |span| (span, of_thread, lane.into()));
                let (of, which) = if job.op.writes() { (of, which) } else { (1, 0) };
                BlockOrder::every(of, which, span, own_seed)
            }
            pattern => {
                let span = stretch.unwrap_or_else(|| Span::part(threads, thread, job.blocks()));
                let apart = if job.op.writes() && lanes > 1 { lanes } else { 0 };
                BlockOrder::along(pattern, span, apart, own_seed)
            }
        }
    }
}

/// The engines to try, the best first. Only `io_uring`, the default, is replaced by another.
fn chain(planned: DiskEngine, polled: bool) -> &'static [Engine] {
    match planned {
        DiskEngine::IoUring if polled => &[Engine::IoUringPolled, Engine::IoUring, Engine::Libaio, Engine::Sync],
        DiskEngine::IoUring => &[Engine::IoUring, Engine::Libaio, Engine::Sync],
        DiskEngine::Libaio => &[Engine::Libaio],
        DiskEngine::Sync => &[Engine::Sync],
        DiskEngine::Null => &[Engine::Null],
    }
}

fn word(engine: Engine) -> &'static str {
    match engine {
        Engine::IoUring => "io_uring",
        Engine::IoUringPolled => "polled",
        Engine::Libaio => "libaio",
        Engine::Sync => "sync",
        Engine::Null => "null",
    }
}

/// Whether an engine, or this kind of request, is not available; not whether a request failed.
fn is_missing(error: &io::Error) -> bool {
    error.raw_os_error().is_none() || trouble::is_not_supported(error)
}

pub(super) fn cannot_open(job: &Job, error: &io::Error) -> Trouble {
    let words = trouble::words(error);
    if error.raw_os_error().is_none() && error.kind() != io::ErrorKind::Other {
        return Trouble::Unavailable(words);
    }
    let reason = trouble::failed(&job.held, false, job.block.into(), 0, &words);
    if trouble::is_not_supported(error) { Trouble::Unavailable(reason) } else { Trouble::Failed(reason) }
}

fn own_seed(seed: u64, number: u64) -> u64 {
    seed.wrapping_add(number << 40)
}

/// Requests per second of this thread without a device, at most a page each, because data that is not moved costs nothing.
pub(super) fn loop_iops(job: &Job, params: &DiskParams, timer: &Timer) -> Option<f64> {
    let page = u32::try_from(PAGE_BYTES).ok()?;
    let access = Access { direct: false, sync: DiskSync::None };
    let job = Job { access, block: job.block.min(page), no_device: true, allowance: Arc::default(), ..job.clone() };
    let job = Arc::new(job);
    let depth = if params.engine == DiskEngine::Sync { 1 } else { params.depth };
    let arenas = footprint::arenas_of_loop(job.op, job.block.into(), depth);
    let plan = Plan { engine: Engine::Null, depth, arenas, number: 0, seed: job.held.seed };
    let alone = DiskParams { threads: 1, ..params.clone() };
    let order = Opening { job: &job, params: &alone, seed: plan.seed, thread: 0 }.order(1, 0);
    let mut lane = Lane::open(&job, &plan, order).ok()?;
    let mut tally = Tally::new(timer);
    let mut best = None;
    for done in 0..MOST_LOOP_WINDOWS {
        if done >= LOOP_WINDOWS && best.is_some() {
            break;
        }
        let begin = timer.now() + timer.ticks(0.1 * LOOP_SECONDS);
        let window = Window { begin, end: begin + timer.ticks(LOOP_SECONDS) };
        tally.begin(window);
        lane.run(timer, window, &mut tally).ok()?;
        let rate = tally.operations as f64 / timer.seconds(window.begin, window.end);
        best = best.into_iter().chain((rate > 0.0).then_some(rate)).reduce(f64::max);
    }
    best
}
