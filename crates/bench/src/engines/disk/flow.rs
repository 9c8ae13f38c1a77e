//! One thread's part of a disk benchmark: its lanes through a window, the check after it, and the conditions.

use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::sync::Arc;

use areas::disk::footprint::READ_BACK_BYTES;
use model::document::DiskConditions;
use model::experiment::DiskParams;
use model::io::{DiskCache, DiskEngine, DiskPattern, DiskSync};
use model::wire::{HeldFile, Observations, Task};
use sys::clock::{Timer, monotonic_raw_seconds};
use sys::memory::base_page_bytes;
use sys::queue::{Engine, Options, Queue, Request};

use super::cache::Keeper;
use super::contents::{Contents, PAGE_BYTES, SECTOR_BYTES};
use super::engines::{self, Opening, cannot_open};
use super::helpers::Helpers;
use super::lane::{Access, Due, Job, Lane};
use super::run::writes::one_write_in;
use super::{layout, observed, traffic, trouble};
use crate::engines::{Flow, FlowMetric, FlowProfile, NextWindow, Tally, Trouble, Verified, Window, share_of_work};

/// Bytes compared after a window of reads, over all lanes of a thread.
const COMPARED_BYTES: usize = 16 << 20;
/// Lead of requests before a window, in which queues fill.
const LEAD_MICROSECONDS: u32 = 20_000;
/// The same where no request may begin before the window: the time until the last thread has heard of it.
const NUMBERED_LEAD_MICROSECONDS: u32 = 1_000;
/// Time in which the full rate is found: fifty requests of a disk that makes a hundred per second.
const FULL_RATE_SECONDS: f64 = 0.5;
/// Time to start one more thread, with a margin.
const THREAD_MICROSECONDS: u32 = 100;
/// Below this, the remaining write budget may end a window: more than any window writes.
const NEARLY_ALL_WRITTEN_BYTES: u64 = 8 << 30;
/// Windows that share what is left of the budget: the last sample takes all of it, others half, a slice of warm-up little.
const WINDOWS_TO_COME: u64 = 2;
const OF_WARM_UP: u64 = 8;
/// Fewer times the bytes in flight are too few for a window.
const LEAST_ROUNDS: u64 = 8;
const SEQUENTIAL: &[FlowMetric] = &[FlowMetric::Bytes, FlowMetric::Requests, FlowMetric::Latency];
const RANDOM: &[FlowMetric] = &[FlowMetric::Requests, FlowMetric::Bytes, FlowMetric::Latency];

pub(super) struct DiskFlow {
    params: DiskParams,
    job: Arc<Job>,
    lanes: Vec<Lane>,
    helpers: Helpers,
    /// For flushing and inspection; nothing is read or written through it.
    file: File,
    reader: Option<Queue>,
    stepped_down: Vec<String>,
    keeper: Keeper,
    share_of_work: Option<u64>,
    most_written_bytes: Option<u64>,
    /// Samples that are still to be taken; `None` during the warm-up.
    samples_to_come: Option<u32>,
    samples: u32,
    /// Seconds of each flush, and bytes per second of each window with its flush.
    flushes: Vec<f64>,
    flushed_rates: Vec<f64>,
    last: (u64, f64),
    timer: Option<Timer>,
    /// Of a load: requests per second of this thread at full rate.
    full_iops: Option<f64>,
    window_seconds: f64,
    run_seconds: f64,
}

impl DiskFlow {
    pub(super) fn open(params: &DiskParams, held: &HeldFile, task: &Task, thread: usize) -> Result<Self, Trouble> {
        traffic::begin();
        if params.load_percent.is_some() && task.warm_up_seconds[1] <= 0.0 {
            let reason = "a percentage of the peak rate needs a warm-up, in which the peak rate is found";
            return Err(Trouble::Unavailable(reason.to_owned()));
        }
        // One thread manages the cache of all files, so that every window begins when all of them are ready.
        let keeper = Keeper::new(params, Some(held).filter(|_| thread == 0))?;
        let held = &layout::as_laid_out(held.of_thread(thread));
        let file = layout::open_to_look(held)?;
        let no_device = params.engine == DiskEngine::Null;
        let cut_short = held.bytes < params.size;
        if let Some(sentence) = areas::disk::feasible::too_small_for(params, held.bytes).filter(|_| cut_short) {
            return Err(Trouble::Unavailable(format!("{sentence}; there was no time to lay out a larger one")));
        }
        let block = u32::try_from(params.block)
            .map_err(|_| Trouble::Unavailable(format!("blocks of {} bytes are too large", params.block)))?;
        let job = Arc::new(Job {
            held: held.clone(),
            contents: Contents::of_file(held),
            op: params.op,
            access: Access {
                direct: params.direct && !no_device,
                sync: if no_device { DiskSync::None } else { params.sync },
            },
            block,
            run: task.launch,
            shared_stream: params.pattern != DiskPattern::Random,
            no_device,
            allowance: Arc::default(),
        });
        let (lanes, stepped_down) = Opening { job: &job, params, seed: task.seed, thread }.lanes()?;
        let reader = (job.op.writes() && !no_device).then(|| open_reader(&job)).transpose()?;
        Ok(Self {
            params: params.clone(),
            share_of_work: task.exact_work.map(|work| share_of_work(work, thread, params.threads as usize)),
            samples_to_come: None,
            samples: task.samples,
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

    fn engine(&self) -> Option<DiskEngine> {
        Some(match self.lanes.first()?.queue.engine() {
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
        self.flushed_rates.extend(flushed_rate(bytes, window_seconds, seconds));
        self.last = (0, 0.0);
        Ok(())
    }

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

/// Bytes per second of a window with the flush behind it; none where no request finished, because that is no rate of 0.
fn flushed_rate(bytes: u64, window_seconds: f64, flush_seconds: f64) -> Option<f64> {
    (bytes > 0 && window_seconds > 0.0).then(|| bytes as f64 / (window_seconds + flush_seconds))
}

impl Flow for DiskFlow {
    fn profile(&self) -> FlowProfile {
        let helpers = u32::try_from(self.lanes.len()).unwrap_or(u32::MAX).saturating_sub(1);
        let metrics = if self.params.pattern == DiskPattern::Random { RANDOM } else { SEQUENTIAL };
        // No request begins before the window if none may be lost.
        let lead = if self.is_numbered() { NUMBERED_LEAD_MICROSECONDS } else { LEAD_MICROSECONDS };
        FlowProfile { metrics, lead_microseconds: lead + helpers.saturating_mul(THREAD_MICROSECONDS), drains: true }
    }

    fn prepare(&mut self, next: NextWindow) -> Result<(), String> {
        if next == NextWindow::FirstSample {
            self.samples_to_come = Some(self.samples);
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
        self.samples_to_come = self.samples_to_come.map(|samples| samples.saturating_sub(1));
        self.helpers.run(&mut self.lanes, (timer, window), tally)?;
        if self.job.allowance.is_spent() {
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
        let queue = self.lanes.first().map(|lane| &lane.queue);
        let mut stepped_down = self.stepped_down.clone();
        stepped_down.extend(queue.into_iter().flat_map(Queue::stepped_down).cloned());
        let sum = |of: fn(&Lane) -> f64| self.lanes.iter().map(of).sum::<f64>();
        let (cpu_seconds, in_flight_seconds) = (sum(|lane| lane.cpu_seconds), sum(|lane| lane.in_flight_seconds));
        let requests: u64 = self.lanes.iter().map(|lane| lane.requests).sum();
        let of_kinds = observed::of_kinds(self.lanes.iter().filter_map(|lane| lane.apart.as_deref()));
        let (flush_seconds, flushed_bytes_per_second) = (median(&mut self.flushes), median(&mut self.flushed_rates));
        let of_file = if self.job.no_device { of_kinds } else { self.of_file(of_kinds) };
        seen.disk = Some(self.of_load(DiskConditions {
            engine: self.engine(),
            features: queue.map(Queue::features).unwrap_or_default(),
            stepped_down,
            depth_achieved: (self.window_seconds > 0.0).then(|| in_flight_seconds / self.window_seconds),
            flush_seconds,
            flushed_bytes_per_second,
            cached_share_before: self.keeper.share_before,
            dropped_system_wide: self.keeper.dropped_all(),
            cpu_busy: (self.run_seconds > 0.0).then(|| cpu_seconds / self.run_seconds),
            cpu_seconds_per_request: (requests > 0).then(|| cpu_seconds / requests as f64),
            ..of_file
        }));
        // Last, because it uses memory of its own.
        if let (Some(disk), Some(timer), false) = (&mut seen.disk, &self.timer, self.job.no_device) {
            disk.loop_iops = engines::loop_iops(&self.job, &self.params, timer);
        }
    }
}

impl DiskFlow {
    fn is_numbered(&self) -> bool {
        self.share_of_work.is_some() || self.params.cache == DiskCache::Cold
    }

    fn may_write_bytes(&self) -> Option<u64> {
        self.most_written_bytes.map(|most| most.saturating_sub(traffic::written().1))
    }

    /// Requests of a window when little of the write budget is left: a part, so that later windows have some too.
    fn allowed_by_writes(&self) -> Option<u64> {
        let left = self.may_write_bytes().filter(|left| *left < NEARLY_ALL_WRITTEN_BYTES)?;
        let windows = match self.samples_to_come {
            None => OF_WARM_UP,
            Some(0 | 1) => 1,
            Some(_) => WINDOWS_TO_COME,
        };
        let written_by_each = self.params.block * u64::from(self.params.threads.max(1));
        let requests = left / windows * one_write_in(&self.params) / written_by_each;
        Some(requests.max(self.params.depth.into()))
    }

    /// Requests that a window may begin: its share of the work, a pass of a cold cache, and the rest of the write budget.
    fn allowed_in(&self, window: Window) -> Option<u64> {
        let of_work = self.share_of_work.filter(|_| window.end == Window::NO_END);
        let of_cache =
            self.lanes.first().filter(|_| self.params.cache == DiskCache::Cold).map(|lane| lane.order.pass());
        of_work.into_iter().chain(of_cache).chain(self.allowed_by_writes()).min()
    }

    /// Works at full rate from the beginning of this window, which is not counted, and sets the load that follows.
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

    /// The conditions of a load, without those that only hold at full rate.
    fn of_load(&self, without_pause: DiskConditions) -> DiskConditions {
        if self.params.load_percent.is_none() {
            return without_pause;
        }
        let sum = |of: fn(Due) -> u64| self.lanes.iter().map(|lane| of(lane.due)).sum::<u64>();
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

    fn storage_share(&self) -> Option<f64> {
        let of = |made: bool, write: bool| made.then(|| traffic::storage_share(write)).flatten();
        let op = self.job.op;
        of(op.reads(), false).into_iter().chain(of(op.writes(), true)).reduce(f64::min)
    }

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

/// Bytes allocated to the file; unknown for copy-on-write file systems, which count some seconds later, and compress.
fn allocated_bytes(held: &HeldFile, file: &File) -> Option<u64> {
    let copies = machine::filesystem_named(&held.filesystem).is_some_and(|kind| kind.copy_on_write);
    file.metadata().ok().filter(|_| !copies).map(|found| found.blocks().saturating_mul(SECTOR_BYTES as u64))
}

/// Whether direct I/O works with blocks of this size; the file may be empty.
pub(super) fn check_alignment(params: &DiskParams, held: &HeldFile) -> Result<(), Trouble> {
    if !params.direct {
        return Ok(());
    }
    let said = sys::file::direct_alignment(&layout::open_to_look(held)?).ok().flatten();
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

/// The block of a copy-on-write file system that reports no alignment, by default a page: btrfs silently buffers parts of a block.
fn block_of_copies(held: &HeldFile) -> Option<u64> {
    machine::filesystem_named(&held.filesystem).filter(|kind| kind.copy_on_write).map(|_| base_page_bytes() as u64)
}

fn open_reader(job: &Job) -> Result<Queue, Trouble> {
    let file = layout::open(&job.held, false, job.access.direct);
    let options = Options { engine: Engine::Sync, depth: 1, arena_bytes: READ_BACK_BYTES.min(job.stride()) };
    file.and_then(|file| Queue::open(file, &options)).map_err(|error| cannot_open(job, &error))
}

fn read_back(job: &Job, reader: &mut Queue, lane: &mut Lane, block: u64) -> Result<(), String> {
    let bytes = (job.block as usize).min(READ_BACK_BYTES);
    let pages = (job.block as usize - bytes) / PAGE_BYTES;
    let offset = block * u64::from(job.block) + lane.random.below(pages as u64 + 1) * PAGE_BYTES as u64;
    let length = u32::try_from(bytes).unwrap_or(u32::MAX);
    let failed = |why: &str| trouble::failed(&job.held, false, bytes as u64, offset, why);
    let request = Request { token: 0, write: false, offset, buffer: 0, bytes: length };
    let read = layout::carry_out(reader, request).map_err(|error| failed(&trouble::words(&error)))?;
    if read != length {
        return Err(failed("too few bytes came"));
    }
    let Some(part) = reader.arena_part(0..bytes) else { return Ok(()) };
    job.contents.check(part, offset, |origin| lane.wrote(origin)).map_err(|wrong| format!("reading back: {wrong}"))
}

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
