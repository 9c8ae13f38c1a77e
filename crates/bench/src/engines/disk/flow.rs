//! One thread's part of a disk experiment: its lanes through a window, what is checked after it, and what was seen.
//!
//! Which rows there are is `rows`'s business, and how a single queue works `lane`'s.

use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;

use areas::disk::footprint::READ_BACK_BYTES;
use model::document::DiskConditions;
use model::experiment::DiskParams;
use model::io::{DiskCache, DiskEngine, DiskPattern, DiskSync};
use model::wire::{HeldFile, Observations, Task};
use sys::clock::{Timer, monotonic_raw_seconds};
use sys::queue::{Engine, Options, Queue, Request};

use super::cache::{Allowance, Keeper};
use super::contents::{Contents, PAGE_BYTES, SECTOR_BYTES};
use super::engines::{self, cannot_open};
use super::helpers::Helpers;
use super::lane::{Access, Due, Job, Lane};
use super::{apart, layout, traffic, trouble};
use crate::engines::{Flow, FlowMetric, FlowProfile, NextWindow, Tally, Trouble, Verified, Window};

/// Bytes compared after a window of reads, over all lanes of a thread.
const COMPARED_BYTES: usize = 16 << 20;

/// How long before a window requests start, in microseconds: queues fill.
const LEAD_MICROSECONDS: u32 = 20_000;

/// The same where no request may begin before the window: the time until the last thread has heard of it.
const NUMBERED_LEAD_MICROSECONDS: u32 = 1_000;

/// How long the rate without pause is looked at, of which a load is a share, in seconds: fifty requests of a disk that
/// makes a hundred a second.
const FULL_RATE_SECONDS: f64 = 0.5;

/// What it takes to start one thread more, in microseconds, with a margin.
const THREAD_MICROSECONDS: u32 = 100;

/// From here on a window is not only ended by the clock, in bytes that may still be written: more than any writes.
const NEARLY_ALL_WRITTEN_BYTES: u64 = 8 << 30;

/// What is left is shared out between the next window and those after it.
const WINDOWS_TO_COME: u64 = 2;

/// Less than so many times what is in flight is too little for a window.
const LEAST_ROUNDS: u64 = 8;

const SEQUENTIAL: &[FlowMetric] = &[FlowMetric::Bytes, FlowMetric::Requests, FlowMetric::Latency];
const RANDOM: &[FlowMetric] = &[FlowMetric::Requests, FlowMetric::Bytes, FlowMetric::Latency];

/// One thread's part.
pub(super) struct DiskFlow {
    params: DiskParams,
    job: Arc<Job>,
    lanes: Vec<Lane>,
    /// The threads of all lanes but the first.
    helpers: Helpers,
    /// For flushing and for looking at; nothing is read or written through it.
    file: File,
    /// For reading back what was written.
    reader: Option<Queue>,
    stepped_down: Vec<String>,
    /// What the page cache holds before a window.
    keeper: Keeper,
    /// Requests of a window without an end.
    share_of_work: Option<u64>,
    /// Bytes that all threads together may write.
    most_written_bytes: Option<u64>,
    /// Seconds of each flush, and bytes per second of each window with its flush.
    flushes: Vec<f64>,
    flushed_rates: Vec<f64>,
    /// Bytes of the last window, and its seconds.
    last: (u64, f64),
    /// The launch's timer, once it is known.
    timer: Option<Timer>,
    /// Of a load: requests per second that this thread made without pause.
    full_iops: Option<f64>,
    window_seconds: f64,
    run_seconds: f64,
}

impl DiskFlow {
    /// Opens one thread's part, and makes sure that its engine works on the file.
    ///
    /// # Errors
    /// What cannot be done on this file system, and what went wrong.
    pub(super) fn open(params: &DiskParams, held: &HeldFile, task: &Task, thread: usize) -> Result<Self, Trouble> {
        traffic::begin();
        if params.load_percent.is_some() && task.warm_up_seconds[1] <= 0.0 {
            let reason = "a share of the highest rate needs a warm-up, in which that rate is found";
            return Err(Trouble::Unavailable(reason.to_owned()));
        }
        // One thread looks after all files, so that every window begins when all of them are as they are to be.
        let keeper = if thread == 0 { Keeper::new(params, held)? } else { Keeper::of_nothing(params) };
        let held = &layout::as_laid_out(held.of_thread(thread));
        let file = open_plain(held)?;
        let no_device = params.engine == DiskEngine::Null;
        let cut_short = held.bytes < params.size;
        if let Some(sentence) = areas::disk::feasible::too_small_for(params, held.bytes).filter(|_| cut_short) {
            return Err(Trouble::Unavailable(format!("{sentence}; there was no time to lay out a larger one")));
        }
        let block = u32::try_from(params.block)
            .map_err(|_| Trouble::Unavailable(format!("blocks of {} bytes are too large", params.block)))?;
        let job = Arc::new(Job {
            held: held.clone(),
            contents: Contents::of(held),
            op: params.op,
            access: Access {
                direct: params.direct && !no_device,
                sync: if no_device { DiskSync::None } else { params.sync },
            },
            block,
            launch: task.launch,
            shared_stream: params.pattern != DiskPattern::Random,
            no_device,
            allowance: Allowance::default(),
        });
        let (lanes, stepped_down) = engines::open_lanes(&job, params, task.seed, thread)?;
        let reader = (job.op.writes() && !no_device).then(|| open_reader(&job)).transpose()?;
        Ok(Self {
            params: params.clone(),
            share_of_work: task.exact_work.map(|work| share(work, thread, params.threads)),
            most_written_bytes: task.disk.as_ref().and_then(|given| given.most_written_bytes),
            keeper,
            job,
            lanes,
            helpers: Helpers::default(),
            file,
            reader,
            stepped_down,
            flushes: Vec::new(),
            flushed_rates: Vec::new(),
            last: (0, 0.0),
            timer: None,
            full_iops: None,
            window_seconds: 0.0,
            run_seconds: 0.0,
        })
    }

    /// The engine that is in use.
    fn engine(&self) -> Option<DiskEngine> {
        Some(match self.lanes.first()?.queue().engine() {
            Engine::IoUring | Engine::IoUringPolled => DiskEngine::IoUring,
            Engine::Libaio => DiskEngine::Libaio,
            Engine::Sync => DiskEngine::Sync,
            Engine::Null => DiskEngine::Null,
        })
    }

    fn flush(&mut self) -> Result<(), String> {
        let began = monotonic_raw_seconds();
        self.file
            .sync_data()
            .map_err(|error| format!("flushing {}: {}", trouble::test_file(&self.job.held), trouble::words(&error)))?;
        let seconds = monotonic_raw_seconds() - began;
        self.flushes.push(seconds);
        let (bytes, window_seconds) = self.last;
        // What has been flushed belongs to one window.
        self.flushed_rates.extend(flushed_rate(bytes, window_seconds, seconds));
        self.last = (0, 0.0);
        Ok(())
    }

    /// Reads a sample of what was written back from the device, and compares all of it.
    fn check_writes(&mut self) -> Result<(), String> {
        let Some(reader) = &mut self.reader else { return Ok(()) };
        for lane in &mut self.lanes {
            for block in lane.take_remembered() {
                read_back(&self.job, reader, lane, block)?;
            }
        }
        Ok(())
    }
}

/// Bytes per second of a window together with the flush behind it. Where nothing was written there is no rate: a request
/// that took longer than the window is not one of 0.
fn flushed_rate(bytes: u64, window_seconds: f64, flush_seconds: f64) -> Option<f64> {
    (bytes > 0 && window_seconds > 0.0).then(|| bytes as f64 / (window_seconds + flush_seconds))
}

impl Flow for DiskFlow {
    fn profile(&self) -> FlowProfile {
        let helpers = u32::try_from(self.lanes.len()).unwrap_or(u32::MAX).saturating_sub(1);
        let metrics = if self.params.pattern == DiskPattern::Random { RANDOM } else { SEQUENTIAL };
        // Where no request may be lost, none begins before the window.
        let lead = if self.is_numbered() { NUMBERED_LEAD_MICROSECONDS } else { LEAD_MICROSECONDS };
        FlowProfile { metrics, lead_microseconds: lead + helpers.saturating_mul(THREAD_MICROSECONDS), drains: true }
    }

    fn prepare(&mut self, next: NextWindow) -> Result<(), String> {
        if next == NextWindow::FirstSample {
            self.flushes.clear();
            self.flushed_rates.clear();
        }
        self.keeper.before_a_window()
    }

    fn run(&mut self, timer: &Timer, window: Window, tally: &mut Tally) -> Result<(), String> {
        let began = timer.now();
        self.timer = Some(*timer);
        if let (Some(percent), None) = (self.params.load_percent, self.full_iops) {
            return self.find_full_rate(percent, timer, window);
        }
        self.job.allowance.set(self.allowed_in(window));
        self.helpers.run(&mut self.lanes, (timer, window), tally)?;
        if self.job.allowance.is_spent() {
            // All that was to be done is done, by the last lane too.
            tally.over(timer.now());
        }
        let window = tally.window();
        let window_seconds = timer.seconds(window.begin, window.end);
        self.last = (tally.bytes, window_seconds);
        self.window_seconds += window_seconds;
        self.run_seconds += timer.seconds(began, timer.now());
        Ok(())
    }

    fn verify(&mut self) -> Result<Verified, String> {
        if self.job.op.writes() && !self.job.no_device {
            self.flush()?;
            self.check_writes()?;
        }
        let each = COMPARED_BYTES / self.lanes.len().max(1);
        self.lanes.iter_mut().try_for_each(|lane| lane.check_reads(each))?;
        let left = self.may_write_bytes();
        let has_done_enough = left.is_some_and(|left| left < LEAST_ROUNDS * self.params.bytes_in_flight());
        Ok(if has_done_enough { Verified::HasDoneEnough } else { Verified::GoesOn })
    }

    fn conclude(&mut self, seen: &mut Observations) {
        let queue = self.lanes.first().map(Lane::queue);
        let mut stepped_down = self.stepped_down.clone();
        stepped_down.extend(queue.into_iter().flat_map(Queue::stepped_down).cloned());
        let sum = |of: fn(&Lane) -> f64| self.lanes.iter().map(of).sum::<f64>();
        let (cpu_seconds, in_flight_seconds) = (sum(|lane| lane.cpu_seconds), sum(|lane| lane.in_flight_seconds));
        let requests: u64 = self.lanes.iter().map(|lane| lane.requests).sum();
        let of_kinds = apart::conditions(self.lanes.iter().filter_map(Lane::apart));
        let (flush_seconds, flushed_bytes_per_second) = (median(&mut self.flushes), median(&mut self.flushed_rates));
        let of_file = if self.job.no_device { of_kinds } else { self.of_file(of_kinds) };
        seen.disk = Some(self.of_load(DiskConditions {
            engine: self.engine(),
            features: queue.map(Queue::features).unwrap_or_default(),
            stepped_down,
            depth_achieved: (self.window_seconds > 0.0).then(|| in_flight_seconds / self.window_seconds),
            flush_seconds,
            flushed_bytes_per_second,
            cached_share_before: self.keeper.share_before(),
            dropped_system_wide: self.keeper.dropped_all(),
            cpu_busy: (self.run_seconds > 0.0).then(|| cpu_seconds / self.run_seconds),
            cpu_seconds_per_request: (requests > 0).then(|| cpu_seconds / requests as f64),
            ..of_file
        }));
        // Last, since it works on memory of its own.
        if let (Some(disk), Some(timer), false) = (&mut seen.disk, &self.timer, self.job.no_device) {
            disk.loop_iops = engines::loop_iops(&self.job, &self.params, timer);
        }
    }
}

impl DiskFlow {
    /// Whether its requests are numbered: those of a total, and of a single pass.
    fn is_numbered(&self) -> bool {
        self.share_of_work.is_some() || self.params.cache == DiskCache::Cold
    }

    /// What all threads together may still write; `None` for as much as they like.
    fn may_write_bytes(&self) -> Option<u64> {
        self.most_written_bytes.map(|most| most.saturating_sub(traffic::written().1))
    }

    /// How many requests it may begin in a window where little is left to be written: a part of that, so that there is
    /// something for the windows that follow.
    fn allowed_by_writes(&self) -> Option<u64> {
        let left = self.may_write_bytes().filter(|left| *left < NEARLY_ALL_WRITTEN_BYTES)?;
        let requests = left / WINDOWS_TO_COME / self.params.block / u64::from(self.params.threads.max(1));
        Some(requests.max(self.params.depth.into()))
    }

    /// How many requests it may begin in a window: its share of the work where there is no end, of a cold cache no more
    /// than one for each block, and what the budget of writes has left.
    fn allowed_in(&self, window: Window) -> Option<u64> {
        let of_work = self.share_of_work.filter(|_| window.end == Window::NO_END);
        let of_cache = self.lanes.first().filter(|_| self.params.cache == DiskCache::Cold).map(Lane::pass);
        of_work.into_iter().chain(of_cache).chain(self.allowed_by_writes()).min()
    }

    /// Works without pause from the beginning of this window, which is the first of the warm-up, and shares out the load
    /// that follows. Nothing of it is counted.
    fn find_full_rate(&mut self, percent: u32, timer: &Timer, window: Window) -> Result<(), String> {
        let end = window.end.max(window.begin + timer.ticks(FULL_RATE_SECONDS));
        let (window, mut tally) = (Window { end, ..window }, Tally::new(timer));
        tally.begin(window);
        self.helpers.run(&mut self.lanes, (timer, window), &mut tally)?;
        if tally.operations == 0 {
            return Err(format!(
                "not one request ended within {FULL_RATE_SECONDS} s: there is no rate to take a share of"
            ));
        }
        let full_iops = tally.operations as f64 / timer.seconds(window.begin, window.end);
        let of_lane = full_iops * f64::from(percent) / 100.0 / self.lanes.len() as f64;
        self.lanes.iter_mut().for_each(|lane| lane.set_gap(timer.ticks_per_second() / of_lane));
        self.full_iops = Some(full_iops);
        Ok(())
    }

    /// What is to be said of a load, in place of what holds only where requests follow each other without pause: how
    /// many are in flight is then the load's doing, and some of the CPU time is waiting.
    fn of_load(&self, without_pause: DiskConditions) -> DiskConditions {
        if self.params.load_percent.is_none() {
            return without_pause;
        }
        let sum = |of: fn(Due) -> u64| self.lanes.iter().map(|lane| of(lane.due())).sum::<u64>();
        let (all, late) = (sum(|due| due.all), sum(|due| due.late));
        DiskConditions {
            full_iops: self.full_iops,
            due_iops: (self.window_seconds > 0.0).then(|| all as f64 / self.window_seconds),
            late_share: (all > 0).then(|| late as f64 / all as f64),
            depth_achieved: None,
            cpu_busy: None,
            cpu_seconds_per_request: None,
            ..without_pause
        }
    }

    /// Bytes that reached storage over bytes asked for; where there are reads and writes, of those that missed it more.
    fn storage_share(&self) -> Option<f64> {
        let of = |made: bool, write: bool| made.then(|| traffic::storage_share(write)).flatten();
        let op = self.job.op;
        of(op.reads(), false).into_iter().chain(of(op.writes(), true)).reduce(f64::min)
    }

    /// What can be seen of the file afterwards, beside what is known already.
    fn of_file(&self, known: DiskConditions) -> DiskConditions {
        let bytes = self.job.held.bytes;
        let share = |part: u64| part as f64 / bytes.max(1) as f64;
        let alignment = sys::file::direct_alignment(&self.file).ok().flatten();
        let (laid_out, written) = traffic::written();
        let extents = sys::file::extents(&self.file).ok().flatten();
        DiskConditions {
            filesystem: Some(self.job.held.filesystem.clone()),
            file_bytes: Some(bytes),
            laid_out_bytes: Some(laid_out),
            written_bytes: Some(written),
            memory_align_bytes: alignment.map(|alignment| alignment.memory_bytes),
            offset_align_bytes: alignment.map(|alignment| alignment.offset_bytes),
            extents: extents.as_ref().map(|extents| extents.count),
            unwritten_bytes: extents
                .as_ref()
                .map_or_else(
                    || allocated_bytes(&self.job.held, &self.file),
                    |extents| Some(extents.written_bytes + extents.encoded_bytes),
                )
                .map(|there| bytes.saturating_sub(there)),
            encoded_bytes: extents.as_ref().map(|extents| extents.encoded_bytes),
            compressed: sys::file::is_compressed(&self.file).ok().flatten(),
            in_place: self.job.held.in_place,
            laid_out_through_cache: Some(!layout::takes_direct(&self.job.held)),
            cached_share: sys::file::cached_bytes(&self.file).ok().map(share),
            storage_share: self.storage_share(),
            ..known
        }
    }
}

/// Bytes that the file system has set aside for the file, where it cannot say what of them was written. Those that copy on
/// write count some seconds later, and compress: of them it would say nothing.
fn allocated_bytes(held: &HeldFile, file: &File) -> Option<u64> {
    let copies = machine::filesystem_named(&held.filesystem).is_some_and(|kind| kind.copy_on_write);
    file.metadata().ok().filter(|_| !copies).map(|found| found.blocks().saturating_mul(SECTOR_BYTES as u64))
}

fn open_plain(held: &HeldFile) -> Result<File, Trouble> {
    sys::file::open(Path::new(&held.path), false, false, false)
        .map_err(|error| Trouble::Failed(format!("opening {}: {}", trouble::test_file(held), trouble::words(&error))))
}

/// Whether blocks of this size can be read and written past the page cache. The file may be empty still.
///
/// # Errors
/// Unavailable: they cannot, and why.
pub(super) fn check_alignment(params: &DiskParams, held: &HeldFile) -> Result<(), Trouble> {
    if !params.direct {
        return Ok(());
    }
    let said = sys::file::direct_alignment(&open_plain(held)?).ok().flatten();
    let Some(needed) = said.map(|alignment| u64::from(alignment.offset_bytes)).or_else(|| block_of_copies(held)) else {
        return Ok(());
    };
    if needed == 0 {
        let reason = format!("'{}' ({}) has no direct I/O", held.directory, held.filesystem);
        return Err(Trouble::Unavailable(reason));
    }
    if params.block.is_multiple_of(needed) {
        return Ok(());
    }
    let reason = format!(
        "direct I/O in '{}' ({}) needs multiples of {needed} bytes: choose such a --block, or go through the \
         page cache with --cache cold,warm",
        held.directory, held.filesystem
    );
    Err(Trouble::Unavailable(reason))
}

/// What direct I/O must be a multiple of where the file system does not say so, and copies on write: its blocks. These
/// buffer what is no whole block without a word (btrfs), where others refuse it.
fn block_of_copies(held: &HeldFile) -> Option<u64> {
    machine::filesystem_named(&held.filesystem).filter(|kind| kind.copy_on_write).map(|_| PAGE_BYTES as u64)
}

fn open_reader(job: &Job) -> Result<Queue, Trouble> {
    let file = sys::file::open(Path::new(&job.held.path), false, job.access.direct, false);
    let options = Options { engine: Engine::Sync, depth: 1, arena_bytes: READ_BACK_BYTES.min(job.stride()) };
    file.and_then(|file| Queue::open(file, &options)).map_err(|error| cannot_open(job, &error))
}

/// Which part of the requests of all threads is a thread's: the first ones have one more where they do not divide.
fn share(work: f64, thread: usize, threads: u32) -> u64 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a number of requests, as planned")]
    let (all, threads) = (work as u64, u64::from(threads.max(1)));
    all / threads + u64::from((thread as u64) < all % threads)
}

/// Reads one block back, or a part of it where it is large, and compares every byte.
fn read_back(job: &Job, reader: &mut Queue, lane: &mut Lane, block: u64) -> Result<(), String> {
    let bytes = (job.block as usize).min(READ_BACK_BYTES);
    let pages = (job.block as usize - bytes) / PAGE_BYTES;
    let offset = block * u64::from(job.block) + lane.drawn_below(pages as u64 + 1) * PAGE_BYTES as u64;
    let length = u32::try_from(bytes).unwrap_or(u32::MAX);
    let failed = |why: &str| trouble::failed(&job.held, false, bytes as u64, offset, why);
    let mut done = Vec::with_capacity(1);
    reader
        .push(Request { token: 0, write: false, offset, buffer: 0, bytes: length })
        .and_then(|()| reader.wait(1, &mut done))
        .map_err(|error| failed(&trouble::words(&error)))?;
    match done.pop().map(|completion| completion.result) {
        Some(Ok(read)) if read == length => {}
        Some(Err(error)) => return Err(failed(&trouble::words(&error))),
        _ => return Err(failed("too few bytes came")),
    }
    let Some(part) = reader.arena_part(0..bytes) else { return Ok(()) };
    job.contents.check(part, offset, |origin| lane.wrote(origin)).map_err(|wrong| format!("reading back: {wrong}"))
}

/// The middle one; `None` of nothing.
fn median(values: &mut [f64]) -> Option<f64> {
    values.sort_unstable_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_in_which_nothing_was_written_has_no_rate_with_its_flush() {
        assert_eq!(flushed_rate(3 << 20, 0.5, 1.0), Some(f64::from(2 << 20)));
        assert_eq!(flushed_rate(0, 0.5, 1.0), None);
        assert_eq!(flushed_rate(0, 0.0, 1.0), None, "a flush without a window before it");
    }
}
