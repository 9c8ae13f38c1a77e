//! The disk benchmarks of a request on a machine.

use std::collections::BTreeMap;

use model::disk_target::DiskTarget;
use model::experiment::{Area, DiskChoices, DiskParams, Experiment, Params, disk_id};
use model::io::{DiskCache, DiskEngine, DiskOp, DiskPattern, DiskSync};
use model::machine::Machine;
use model::plan::{PlanError, Planned, Sampling};
use model::warning::Warning;
use model::wire::Grain;

use super::choice::{DiskChoice, Steady};
use super::feasible::{check_request, more_than_a_pass, no_direct, no_room_for, too_little_cache, too_small};
use super::room::{Ground, check_sizes, files_of};
use super::{beforehand, footprint};
use crate::fields::each;
use crate::request::{Request, exact, in_table, is_asked};
use crate::threads::{place, thread_counts};

/// The fewest requests of a sample on a disk of the speed below: one more or less is then 5 %.
const REQUESTS_PER_SAMPLE: f64 = 20.0;
/// Bytes per second of a common SSD.
const BYTES_PER_SECOND: f64 = 1e9;
/// Expected bytes per second of laying out a file, for `--list` and the remaining time.
const LAYOUT_BYTES_PER_SECOND: f64 = 500e6;
/// Totals below this are requests, larger ones bytes: no table has 10 MB or less.
const MOST_TOTAL_REQUESTS: f64 = 1e7;
// For the expected length of a total, on the slow side: a worker that is ten times slower counts as hanging.
const REQUEST_SECONDS: f64 = 1e-3;
const CACHED_REQUEST_SECONDS: f64 = 10e-6;
const SLOW_BYTES_PER_SECOND: f64 = 200e6;
const STEADY: &str = "disk-steady/3";
/// Expected bytes per second of fresh memory: a guest gets pages from its host at 2.8 s per GiB (on the build machine).
const FRESH_MEMORY_BYTES_PER_SECOND: f64 = 400e6;
// Expected seconds of preparation per process run; writes fill their pool.
const READ_SETUP_SECONDS: f64 = 0.03;
const WRITE_SETUP_SECONDS: f64 = 0.1;

/// The benchmarks of a request; an error if the user chose something impossible.
pub(super) fn expand(request: &Request, machine: &Machine) -> Result<Vec<Planned>, PlanError> {
    let blocks = &request.suite.disk;
    if blocks.is_empty() || !request.areas.is_empty() && !request.areas.contains(&Area::Disk) {
        return Ok(Vec::new());
    }
    check_sizes(blocks)?;
    // What the filter excludes takes no room and refuses nothing.
    let is_asked = |row: &Planned| is_asked(request, &row.experiment.id);
    let unbounded = Ground { target: request.disk.as_ref(), ..Ground::default() };
    let wanted = rows_on(&unbounded, request, machine);
    let asked: Vec<&DiskParams> =
        wanted.iter().filter(|(row, _)| is_asked(row)).filter_map(|(row, _)| row.experiment.disk()).collect();
    let ground = Ground::find(request, &asked)?;
    let mut rows = Vec::new();
    for (row, refusal) in rows_on(&ground, request, machine) {
        match refusal {
            Some(refusal) if is_asked(&row) => return Err(refusal),
            _ => rows.push(row),
        }
    }
    if rows.is_empty() {
        let sentence = "only plain reads can have a cold page cache: choose --op read or --cache warm";
        return Err(PlanError(sentence.to_owned()));
    }
    add_layouts(request, &mut rows);
    Ok(rows)
}

/// Every benchmark, each with the reason why the request is refused if it is measured.
fn rows_on(ground: &Ground<'_>, request: &Request, machine: &Machine) -> Vec<(Planned, Option<PlanError>)> {
    let mut rows = Vec::new();
    for block in &request.suite.disk {
        let engines = each(&block.engine);
        let combinations = combinations(block);
        for &pattern in &block.pattern {
            for &wanted_size in &block.size {
                for &engine in &engines {
                    let row = Row { request, machine, ground, block, wanted_size, engine };
                    for threads in thread_counts(request, &block.threads, machine) {
                        let of = |params: &DiskParams| row.planned(&DiskParams { pattern, threads, ..params.clone() });
                        rows.extend(combinations.iter().map(of));
                    }
                }
            }
        }
    }
    rows
}

/// Adds the expected seconds of laying out each file to the first benchmark that uses it, spread over its process runs.
fn add_layouts(request: &Request, rows: &mut [Planned]) {
    let mut laid_out: BTreeMap<(u64, Grain), u32> = BTreeMap::new();
    for row in rows.iter_mut().filter(|row| row.obstacle.is_none()) {
        let Params::Disk(params) = &row.experiment.params else { continue };
        let files = files_of(params.layout, params.threads);
        let there = laid_out.entry((params.size, Grain::of_blocks(params.block))).or_default();
        let bytes = u64::from(files.saturating_sub(*there)) * params.size;
        *there = files.max(*there);
        let launches = row.least_samples(request.repeat).div_ceil(row.sampling.per_launch);
        row.setup_seconds += bytes as f64 / LAYOUT_BYTES_PER_SECOND / f64::from(launches.max(1));
    }
}

/// Every combination of a block's lists except thread counts, sizes and engines.
fn combinations(block_of: &DiskChoice) -> Vec<DiskParams> {
    let loads = each(&block_of.load_percent);
    let mut all = Vec::new();
    for &op in &block_of.op {
        let syncs = if op.writes() { block_of.sync.as_slice() } else { &[DiskSync::None] };
        for &block in &block_of.block {
            for &depth in &block_of.depth {
                for &load_percent in &loads {
                    for &sync in syncs {
                        // Data that was just written or read is in the cache.
                        let possible = |cache: &&DiskCache| **cache != DiskCache::Cold || op == DiskOp::Read;
                        for &cache in block_of.cache.iter().filter(possible) {
                            let base = DiskParams { op, block, depth, load_percent, sync, cache, ..nothing() };
                            all.extend(block_of.layout.iter().map(|&layout| DiskParams { layout, ..base.clone() }));
                        }
                    }
                }
            }
        }
    }
    all
}

fn nothing() -> DiskParams {
    let reads = DiskParams::new(DiskPattern::Sequential, DiskOp::Read, 0, 1);
    DiskParams { size: 0, engine: DiskEngine::Null, direct: false, ..reads }
}

struct Row<'a> {
    request: &'a Request,
    machine: &'a Machine,
    ground: &'a Ground<'a>,
    block: &'a DiskChoice,
    wanted_size: u64,
    engine: Option<DiskEngine>,
}

impl Row<'_> {
    fn planned(&self, params: &DiskParams) -> (Planned, Option<PlanError>) {
        let Self { request, machine, ground, block, .. } = *self;
        let (engine, no_engine) = engine(ground.target, self.engine, params.cache);
        let params = DiskParams {
            size: ground.size(self.wanted_size),
            engine,
            direct: params.cache == DiskCache::Bypassed,
            path: ground.target.map(|target| target.directory.display().to_string()).unwrap_or_default(),
            ..params.clone()
        };
        let (method, unknown) = if block.steady.is_some() { (STEADY.to_owned(), None) } else { method(&params) };
        let too_many = footprint::too_many_threads(&params).filter(|_| engine == DiskEngine::Sync);
        let refusal = self.refusal(&params, no_engine.as_deref(), too_many.as_deref());
        let too_small = no_room_for(&params);
        let (sampling, exact_work) = sampling(request, block, &params);
        let (cpus, oversubscribed) = place(params.threads, machine);
        let mut warnings: Vec<Warning> = oversubscribed.into_iter().collect();
        if let Some(target) = ground.target.filter(|_| engine != DiskEngine::Null) {
            warnings.extend(beforehand::warnings(target, machine, &params, self.engine.is_some()));
        }
        let obstacle = ground
            .obstacle
            .clone()
            .or(unknown)
            .or(no_engine)
            .or(too_small)
            .or_else(|| no_direct(&params, ground.target))
            .or(too_many)
            .or_else(|| footprint::too_little_memory(&params, machine))
            .or_else(|| too_little_cache(&params, machine))
            .or_else(|| more_than_a_pass(&params, exact_work));
        // The files are overwritten before rounds until the drive is steady.
        let files = if block.steady.is_some() { files_of(params.layout, params.threads) } else { 0 };
        let write_over_seconds = f64::from(files) * params.size as f64 / LAYOUT_BYTES_PER_SECOND;
        let setup_seconds = write_over_seconds + preparation_seconds(&params);
        let chosen = DiskChoices {
            size: !request.choices.disk.size.is_empty(),
            engine: !request.choices.disk.engine.is_empty() || self.engine.is_some(),
            steady: block.steady.is_some(),
        };
        let classic = block.classic.as_ref().map(|text| in_table(Area::Disk, text, block.total));
        let experiment = Experiment { classic, ..Experiment::new(disk_id(&params, chosen), params, &method) };
        let planned = Planned::new(experiment, cpus, sampling);
        (Planned { exact_work, setup_seconds, obstacle, warnings, ..planned }, refusal)
    }

    /// Why the request is refused: the user chose something impossible.
    fn refusal(&self, params: &DiskParams, no_engine: Option<&str>, too_many: Option<&str>) -> Option<PlanError> {
        let named = !self.request.choices.disk.engine.is_empty();
        let no_engine = no_engine.filter(|_| named);
        let no_engine = no_engine.map(|why| format!("{why}; choose --engine sync, or leave --engine out"));
        let too_many = too_many.filter(|_| self.engine.is_some()).map(str::to_owned);
        let refusal = no_engine.or_else(|| check_request(params).err().map(|error| error.0)).or(too_many);
        refusal.or_else(|| too_small(params, self.wanted_size)).map(PlanError)
    }
}

fn preparation_seconds(params: &DiskParams) -> f64 {
    let in_flight = f64::from(params.threads) * f64::from(params.depth) * params.block as f64;
    let cached = if params.cache == DiskCache::Warm { params.size as f64 } else { 0.0 };
    let fixed = if params.op.writes() { WRITE_SETUP_SECONDS } else { READ_SETUP_SECONDS };
    fixed + (in_flight + cached) / FRESH_MEMORY_BYTES_PER_SECOND
}

/// The sampling, long enough for some requests of this size, and the requests of each sample if the total is done in full.
fn sampling(request: &Request, stanza: &DiskChoice, params: &DiskParams) -> (Sampling, Option<f64>) {
    let sampling = request.sampling(Area::Disk, stanza.sampling.as_ref());
    if let Some(steady) = stanza.steady {
        return (rounds(request, &sampling, steady), None);
    }
    // An offered load has no total.
    let in_full = request.exact_workload && params.load_percent.is_none();
    let Some(total) = stanza.total.filter(|_| in_full) else {
        let least_seconds = REQUESTS_PER_SAMPLE * params.block as f64 / BYTES_PER_SECOND;
        return (Sampling { sample_seconds: sampling.sample_seconds.max(least_seconds), ..sampling }, None);
    };
    let requests = if total < MOST_TOTAL_REQUESTS { total.ceil() } else { (total / params.block.max(1) as f64).ceil() };
    let each = if params.cache == DiskCache::Warm { CACHED_REQUEST_SECONDS } else { REQUEST_SECONDS };
    let sample_seconds = requests * each.max(params.block as f64 / SLOW_BYTES_PER_SECOND);
    (exact(&sampling, sample_seconds), Some(requests))
}

fn rounds(request: &Request, sampling: &Sampling, steady: Steady) -> Sampling {
    Sampling {
        samples: steady.rounds,
        most: None,
        per_launch: request.repeat.map_or(steady.rounds, |repeat| repeat.max(steady.rounds)),
        sample_seconds: steady.round_seconds,
        warm_up_seconds: [0.0, 0.0],
        target: sampling.target,
        until_steady: true,
    }
}

/// The method of a benchmark with this planned method: writing until steady is no parameter.
pub(super) fn method_of(params: &DiskParams, planned: &str) -> String {
    if planned == STEADY { STEADY.to_owned() } else { method(params).0 }
}

fn method(params: &DiskParams) -> (String, Option<String>) {
    let bypassed = params.cache == DiskCache::Bypassed;
    let method = match params.op {
        _ if params.engine == DiskEngine::Null => "disk-null/2".to_owned(),
        _ if params.load_percent.is_some() => "disk-load/3".to_owned(),
        op if bypassed => format!("disk-{op}/3"),
        op => format!("disk-cached-{op}/3"),
    };
    let of_cache = params.load_percent.is_some() && !bypassed && params.engine != DiskEngine::Null;
    let why = "cached requests have no queue; leave --load-percent or --cache out";
    let what = format!("an offered load of {} {} through the page cache", params.pattern, params.op);
    (method, of_cache.then(|| format!("{what} is not supported: {why}")))
}

/// The named engine, else the fastest that works here; and why a named one does not.
fn engine(target: Option<&DiskTarget>, named: Option<DiskEngine>, cache: DiskCache) -> (DiskEngine, Option<String>) {
    let no_io_uring = target.and_then(|target| target.no_io_uring.as_ref());
    let no_libaio = target.and_then(|target| target.no_libaio.as_ref());
    let engine = named.unwrap_or(match (no_io_uring, no_libaio) {
        (None, _) => DiskEngine::IoUring,
        // Through the page cache libaio handles requests one by one.
        (Some(_), None) if cache == DiskCache::Bypassed => DiskEngine::Libaio,
        (Some(_), _) => DiskEngine::Sync,
    });
    let refused = match engine {
        DiskEngine::IoUring => no_io_uring,
        DiskEngine::Libaio => no_libaio,
        DiskEngine::Sync | DiskEngine::Null => None,
    };
    (engine, refused.map(|why| format!("{engine} is not available: {why}")))
}

#[cfg(test)]
mod tests;
