//! Which rows a request for disks comes to: engine, size of the file, and what stands in the way.
//!
//! Pure: what the directory is like was found out before ([`DiskTarget`]).

use std::collections::BTreeMap;

use model::experiment::{Area, Classic, DiskChoices, DiskParams, Experiment, Params, disk_id};
use model::io::{DiskCache, DiskEngine, DiskLayout, DiskOp, DiskPattern, DiskSync};
use model::machine::Machine;
use model::unit::format_size;
use model::warning::Warning;
use model::wire::Grain;

use super::contents::SECTOR_BYTES;
use super::room::{Ground, files_of, rounded};
use super::{beforehand, footprint};
use crate::plan::{Request, place, thread_counts};
use crate::suite::{DiskStanza, Steady};
use model::disk_target::DiskTarget;
use model::plan::Sampling;
use model::plan::{PlanError, Planned};

/// The largest request, in bytes: what the kernel registers as one buffer.
const MOST_BLOCK_BYTES: u64 = 1 << 30;

/// The most requests in flight per thread.
const MOST_DEPTH: u32 = 1024;

/// Blocks of the file for each request in flight at least, so that two requests seldom meet.
const BLOCKS_PER_REQUEST: u64 = 2;

/// Requests that a sample holds at least, on a disk of a speed as below: one more or less is then 5 %.
const REQUESTS_PER_SAMPLE: f64 = 20.0;
/// The speed of a common solid-state disk, in bytes per second. Faster ones hold more, slower ones fewer.
const BYTES_PER_SECOND: f64 = 1e9;

/// Writing speed for the expected cost of the layout, in bytes per second. A guess for `--list` and the time left;
/// nothing that is measured rests on it.
const LAYOUT_BYTES_PER_SECOND: f64 = 500e6;
/// Samples of a row that does its total in full.
const EXACT_SAMPLES: u32 = 3;
/// A total below this is a number of requests, and from it on a number of bytes: no table has 10 MB or less.
const MOST_TOTAL_REQUESTS: f64 = 1e7;
/// Speeds for the expected length of a total that is done in full: seconds for each request of one after the other and
/// bytes per second of a slow disk, and seconds for each request to the page cache. Guesses, on the slow side: a worker
/// that is ten times slower counts as hanging.
const REQUEST_SECONDS: f64 = 1e-3;
const CACHED_REQUEST_SECONDS: f64 = 10e-6;
const SLOW_BYTES_PER_SECOND: f64 = 200e6;

/// Share of the available memory that a file in the page cache may take.
const CACHE_SHARE: u64 = 2;

/// The method of writes that go on until the drive is steady.
const STEADY: &str = "disk-steady/3";

/// Memory that has not been used for a while, in bytes per second, for the expected cost: a guest gives such pages back to
/// its host, and has them again at 2.8 s a GiB (seen on the build machine).
const FRESH_MEMORY_BYTES_PER_SECOND: f64 = 400e6;

/// Preparation of a launch, in seconds, for the expected cost: of reads, and of writes with their pool.
const READ_SETUP_SECONDS: f64 = 0.03;
const WRITE_SETUP_SECONDS: f64 = 0.1;

/// The rows of a request.
///
/// # Errors
/// What the user named and cannot be done here.
pub(super) fn expand(request: &Request, machine: &Machine) -> Result<Vec<Planned>, PlanError> {
    let stanzas = &request.suite.disk;
    if stanzas.is_empty() || !request.areas.is_empty() && !request.areas.contains(&Area::Disk) {
        return Ok(Vec::new());
    }
    let ground = Ground::find(request, machine, stanzas)?;
    let mut rows = Vec::new();
    for stanza in stanzas {
        for threads in thread_counts(request, &stanza.threads, machine) {
            for kind in kinds(stanza) {
                rows.push(row(request, machine, &ground, stanza, kind, threads)?);
            }
        }
    }
    if rows.is_empty() {
        let reads = "choose --op read, or --cache warm for what the page cache makes of writes";
        return Err(PlanError(format!("only plain reads can find a cold page cache: {reads}")));
    }
    add_layouts(request, &mut rows);
    Ok(rows)
}

/// Adds to the first row of each file what laying it out is expected to take. The plan counts set-up for each launch of
/// a row.
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

/// What distinguishes the rows of a stanza, threads apart.
#[derive(Clone, Copy)]
struct Kind {
    op: DiskOp,
    block: u64,
    depth: u32,
    load_percent: Option<u32>,
    sync: DiskSync,
    cache: DiskCache,
    layout: DiskLayout,
}

/// Every combination of a stanza's lists, threads apart.
fn kinds(stanza: &DiskStanza) -> Vec<Kind> {
    let loads: Vec<Option<u32>> = match stanza.load_percent.as_slice() {
        [] => vec![None],
        loads => loads.iter().copied().map(Some).collect(),
    };
    let mut kinds = Vec::new();
    for &op in &stanza.op {
        // What does not write waits for no medium.
        let syncs = if op.writes() { stanza.sync.as_slice() } else { &[DiskSync::None] };
        for &block in &stanza.block {
            for &depth in &stanza.depth {
                for &load_percent in &loads {
                    for &sync in syncs {
                        // What has been written lies in the cache, and what is read again does after the first time.
                        let possible = |cache: &&DiskCache| **cache != DiskCache::Cold || op == DiskOp::Read;
                        for &cache in stanza.cache.iter().filter(possible) {
                            let kind = |&layout| Kind { op, block, depth, load_percent, sync, cache, layout };
                            kinds.extend(stanza.layout.iter().map(kind));
                        }
                    }
                }
            }
        }
    }
    kinds
}

/// The row of one combination.
fn row(
    request: &Request,
    machine: &Machine,
    ground: &Ground,
    stanza: &DiskStanza,
    kind: Kind,
    threads: u32,
) -> Result<Planned, PlanError> {
    let (engine, no_engine) = engine(request, ground.target, stanza, kind.cache)?;
    let (method, unknown) = if stanza.steady.is_some() { (STEADY, None) } else { method(stanza.pattern, kind, engine) };
    let params = DiskParams {
        pattern: stanza.pattern,
        op: kind.op,
        block: kind.block,
        size: ground.size(stanza.size),
        depth: kind.depth,
        load_percent: kind.load_percent,
        engine,
        direct: kind.cache == DiskCache::Bypassed,
        sync: kind.sync,
        cache: kind.cache,
        layout: kind.layout,
        threads,
        path: ground.target.map(|target| target.directory.display().to_string()).unwrap_or_default(),
    };
    check_request(&params)?;
    let too_many = footprint::too_many_threads(&params).filter(|_| engine == DiskEngine::Sync);
    if let Some(sentence) = too_many.as_ref().filter(|_| stanza.engine.is_some()) {
        return Err(PlanError(sentence.clone()));
    }
    let too_small = too_small(&params, stanza.size)?;
    let (sampling, exact_work) = sampling(request, stanza, &params);
    let (cpus, oversubscribed) = place(threads, machine);
    let written_over = if stanza.steady.is_some() { files_of(params.layout, threads) } else { 0 };
    let over_once_more = f64::from(written_over) * params.size as f64 / LAYOUT_BYTES_PER_SECOND;
    let chosen = DiskChoices {
        size: request.chosen.size,
        engine: request.chosen.engine || stanza.engine.is_some(),
        steady: stanza.steady.is_some(),
    };
    let mut warnings: Vec<Warning> = oversubscribed.into_iter().collect();
    if let Some(target) = ground.target.filter(|_| engine != DiskEngine::Null) {
        warnings.extend(beforehand::warnings(target, machine, &params, stanza.engine.is_some()));
    }
    Ok(Planned {
        experiment: Experiment {
            id: disk_id(&params, chosen),
            area: Area::Disk,
            method: method.to_owned(),
            classic: stanza.classic.as_ref().map(|workload| Classic {
                table: Area::Disk.to_string(),
                workload: workload.clone(),
                class: None,
                total: stanza.total,
            }),
            kernel: None,
            params: Params::Disk(params.clone()),
        },
        cpus,
        other_cpus: Vec::new(),
        beside: Vec::new(),
        alone: false,
        sampling,
        exact_work,
        setup_seconds: over_once_more + preparation_seconds(&params),
        obstacle: ground
            .obstacle
            .clone()
            .or(unknown)
            .or(no_engine)
            .or(too_small)
            .or_else(|| no_direct(&params, ground.target))
            .or(too_many)
            .or_else(|| footprint::too_little_memory(&params, machine))
            .or_else(|| too_little_cache(&params, machine))
            .or_else(|| more_than_a_pass(&params, exact_work)),
        warnings,
    })
}

/// What a launch prepares before it measures, in seconds: buffers for all requests in flight, and a warm cache.
fn preparation_seconds(params: &DiskParams) -> f64 {
    let in_flight = f64::from(params.threads) * f64::from(params.depth) * params.block as f64;
    let cached = if params.cache == DiskCache::Warm { params.size as f64 } else { 0.0 };
    let fixed = if params.op.writes() { WRITE_SETUP_SECONDS } else { READ_SETUP_SECONDS };
    fixed + (in_flight + cached) / FRESH_MEMORY_BYTES_PER_SECOND
}

/// How the suite samples disks, but long enough for some requests of this size: what counts is whole requests. And the
/// requests of each sample, where the total is to be done in full.
fn sampling(request: &Request, stanza: &DiskStanza, params: &DiskParams) -> (Sampling, Option<f64>) {
    let sampling = stanza.sampling.clone().unwrap_or_else(|| request.suite.sampling(Area::Disk));
    if let Some(steady) = stanza.steady {
        return (rounds(request, &sampling, steady), None);
    }
    // At a load it is the moments that count.
    let in_full = request.exact_workload && params.load_percent.is_none();
    let Some(total) = stanza.total.filter(|_| in_full) else {
        let least_seconds = REQUESTS_PER_SAMPLE * params.block as f64 / BYTES_PER_SECOND;
        return (Sampling { sample_seconds: sampling.sample_seconds.max(least_seconds), ..sampling }, None);
    };
    let requests = if total < MOST_TOTAL_REQUESTS { total.ceil() } else { (total / params.block.max(1) as f64).ceil() };
    let each = if params.cache == DiskCache::Warm { CACHED_REQUEST_SECONDS } else { REQUEST_SECONDS };
    let sample_seconds = requests * each.max(params.block as f64 / SLOW_BYTES_PER_SECOND);
    (Sampling { samples: EXACT_SAMPLES, most: None, per_launch: 1, sample_seconds, ..sampling }, Some(requests))
}

/// Rounds of one launch, one after the other. The first ones are all the warm-up there is.
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

/// The method of an experiment whose plan names this one: whether writes go on until they are steady is no parameter.
pub(in crate::engine) fn method_of(params: &DiskParams, planned: &str) -> &'static str {
    let &DiskParams { op, block, depth, load_percent, sync, cache, layout, .. } = params;
    let kind = Kind { op, block, depth, load_percent, sync, cache, layout };
    if planned == STEADY { STEADY } else { method(params.pattern, kind, params.engine).0 }
}

/// The method of a row, and a sentence for what is refused. The order of the visits, what a write waits for and
/// how threads share files are parameters of one method; what is done, through which cache and at which moments are not.
fn method(pattern: DiskPattern, kind: Kind, engine: DiskEngine) -> (&'static str, Option<String>) {
    let bypassed = kind.cache == DiskCache::Bypassed;
    let method = match kind.op {
        _ if engine == DiskEngine::Null => "disk-null/2",
        _ if kind.load_percent.is_some() => "disk-load/3",
        DiskOp::Read if !bypassed => "disk-cached-read/3",
        DiskOp::Write if !bypassed => "disk-cached-write/3",
        DiskOp::Mixed if !bypassed => "disk-cached-mixed/3",
        DiskOp::Rewrite if !bypassed => "disk-cached-rewrite/3",
        DiskOp::Reread if !bypassed => "disk-cached-reread/3",
        DiskOp::Read => "disk-read/3",
        DiskOp::Write => "disk-write/3",
        DiskOp::Mixed => "disk-mixed/3",
        DiskOp::Rewrite => "disk-rewrite/3",
        DiskOp::Reread => "disk-reread/3",
    };
    let of_cache = kind.load_percent.is_some() && !bypassed && engine != DiskEngine::Null;
    let refusal = format!(
        "a load of {pattern} {} through the page cache is not offered: what memory answers at once has no queue, and what \
         it hands on later has no latency of the request's own; leave --load-percent or --cache out",
        kind.op
    );
    (method, of_cache.then_some(refusal))
}

/// The engine of a stanza's rows: the one it names, else the fastest that works here; and why that cannot be had.
fn engine(
    request: &Request,
    target: Option<&DiskTarget>,
    stanza: &DiskStanza,
    cache: DiskCache,
) -> Result<(DiskEngine, Option<String>), PlanError> {
    let no_io_uring = target.and_then(|target| target.no_io_uring.as_ref());
    let no_libaio = target.and_then(|target| target.no_libaio.as_ref());
    let engine = stanza.engine.unwrap_or(match (no_io_uring, no_libaio) {
        (None, _) => DiskEngine::IoUring,
        // Through the page cache its requests would be carried out one by one.
        (Some(_), None) if cache == DiskCache::Bypassed => DiskEngine::Libaio,
        (Some(_), _) => DiskEngine::Sync,
    });
    let refused = match engine {
        DiskEngine::IoUring => no_io_uring,
        DiskEngine::Libaio => no_libaio,
        DiskEngine::Sync | DiskEngine::Null => None,
    };
    let sentence = refused.map(|why| format!("{engine} cannot be had here: {why}"));
    match sentence {
        Some(sentence) if request.chosen.engine => {
            Err(PlanError(format!("{sentence}; choose --engine sync, or leave --engine out")))
        }
        refused => Ok((engine, refused)),
    }
}

/// Whether requests of this kind make sense at all.
fn check_request(params: &DiskParams) -> Result<(), PlanError> {
    let DiskParams { block, depth, .. } = *params;
    if block == 0 || params.direct && !block.is_multiple_of(SECTOR_BYTES as u64) {
        let why = "direct I/O needs multiples of 512 bytes (with --cache warm it may be any size)";
        return Err(PlanError(format!("a block of {} cannot be: {why}", format_size(block))));
    }
    if block > MOST_BLOCK_BYTES {
        let (size, most) = (format_size(block), format_size(MOST_BLOCK_BYTES));
        return Err(PlanError(format!("a block of {size} is too large: {most} is the most")));
    }
    if depth == 0 || depth > MOST_DEPTH {
        return Err(PlanError(format!("a depth of {depth} cannot be: write 1 to {MOST_DEPTH}")));
    }
    if let Some(percent) = params.load_percent.filter(|percent| !(1..=100).contains(percent)) {
        return Err(PlanError(format!("a load of {percent} % cannot be: write 1 to 100 per cent of the highest rate")));
    }
    Ok(())
}

/// Whether the file is too small for the requests in flight: an error where that was asked for, an obstacle where the
/// file had to be smaller than was `wanted`.
fn too_small(params: &DiskParams, wanted: u64) -> Result<Option<String>, PlanError> {
    let size = params.size;
    match too_small_for(params, wanted).map(|sentence| format!("{sentence}; choose a larger --size")) {
        Some(sentence) => Err(PlanError(sentence)),
        None => {
            Ok(too_small_for(params, size).map(|sentence| format!("{sentence}; there is no room for a larger one")))
        }
    }
}

/// Why a file of so many bytes is too small for the requests in flight on it, if it is.
pub(super) fn too_small_for(params: &DiskParams, size: u64) -> Option<String> {
    let DiskParams { block, depth, threads, layout, .. } = *params;
    let threads = threads / files_of(layout, threads).max(1);
    let least = block * u64::from(depth) * u64::from(threads) * BLOCKS_PER_REQUEST;
    let whose = if threads == 1 { String::new() } else { format!(" from each of {threads} threads") };
    (least > size).then(|| {
        format!(
            "a test file of {} is too small for {depth} {} of {} in flight{whose}: it takes {}",
            rounded(size),
            if depth == 1 { "request" } else { "requests" },
            format_size(block),
            rounded(least)
        )
    })
}

/// Why a row past the page cache cannot be measured where the file system has no direct I/O. Those through it can.
fn no_direct(params: &DiskParams, target: Option<&DiskTarget>) -> Option<String> {
    let target = target.filter(|_| params.direct && params.engine != DiskEngine::Null)?;
    let why = target.no_direct.as_ref()?;
    Some(format!(
        "'{}' ({}) has no direct I/O ({why}): choose --cache cold,warm for rows through the page cache, or a directory on \
         another file system with --dir",
        target.directory.display(),
        target.storage.filesystem.as_deref().unwrap_or("an unknown file system")
    ))
}

/// Whether memory cannot keep what is to be found in the page cache.
fn too_little_cache(params: &DiskParams, machine: &Machine) -> Option<String> {
    let bytes = params.size.saturating_mul(files_of(params.layout, params.threads).into());
    let available = footprint::available_bytes(machine).filter(|_| params.cache == DiskCache::Warm)?;
    let what = if params.layout == DiskLayout::Shared { "the test file of" } else { "the test files of together" };
    (bytes > available / CACHE_SHARE).then(|| {
        format!(
            "the page cache cannot be kept warm: {what} {} must fit into half of the {} of memory that are available; \
             choose a smaller --size",
            rounded(bytes),
            rounded(available)
        )
    })
}

/// Whether a total that is to be done in full is more than a file whose cache is cold has once.
fn more_than_a_pass(params: &DiskParams, exact_work: Option<f64>) -> Option<String> {
    let requests = exact_work.filter(|_| params.cache == DiskCache::Cold)?;
    let files = files_of(params.layout, params.threads);
    let blocks = (params.size / params.block.max(1)).saturating_mul(files.into());
    (requests > blocks as f64).then(|| {
        let block = format_size(params.block);
        format!(
            "the total of {requests:.0} requests of {block} is more than a test file of {} has: what is read again is not \
             cold; leave --exact-workload out, or choose a larger --size",
            rounded(params.size)
        )
    })
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use model::machine::Storage;

    use super::*;
    use crate::suite::{Suite, Threads};
    use crate::tests::machine_with_cpus;

    const GIB: u64 = 1 << 30;

    fn target() -> DiskTarget {
        DiskTarget {
            directory: PathBuf::from("/data"),
            named: false,
            storage: Storage::default(),
            total_bytes: 100 * GIB,
            available_bytes: 50 * GIB,
            obstacle: None,
            no_direct: None,
            alignment: None,
            no_io_uring: None,
            no_libaio: None,
            limits: model::disk_target::IoLimits::default(),
            remote: false,
        }
    }

    fn stanza() -> DiskStanza {
        DiskStanza {
            pattern: DiskPattern::Random,
            op: vec![DiskOp::Read, DiskOp::Write],
            block: vec![4096],
            depth: vec![1, 32],
            size: GIB,
            engine: None,
            sync: vec![DiskSync::None],
            cache: vec![DiskCache::Bypassed],
            layout: vec![DiskLayout::Shared],
            load_percent: Vec::new(),
            threads: vec![Threads::Count(1)],
            sampling: None,
            steady: None,
            classic: None,
            total: None,
            on_request: false,
            base: false,
        }
    }

    fn request(stanza: DiskStanza, target: DiskTarget) -> Request {
        let quick = Suite::find("quick").unwrap();
        let suite = Suite { cpu: Vec::new(), memory: Vec::new(), net: Vec::new(), disk: vec![stanza], ..quick };
        Request { disk: Some(target), ..Request::of(suite) }
    }

    fn expanded(request: &Request) -> Result<Vec<Planned>, PlanError> {
        expand(request, &machine_with_cpus(2))
    }

    fn params(row: &Planned) -> &DiskParams {
        let Params::Disk(params) = &row.experiment.params else { panic!("no disk row") };
        params
    }

    #[test]
    fn a_stanza_comes_to_every_combination_with_the_fastest_engine() {
        let rows = expanded(&request(stanza(), target())).unwrap();
        let ids: Vec<_> = rows.iter().map(|row| row.experiment.id.as_str()).collect();
        let expected = [
            "random-read/4KiB/d1/t1",
            "random-read/4KiB/d32/t1",
            "random-write/4KiB/d1/t1",
            "random-write/4KiB/d32/t1",
        ];
        assert_eq!(ids, expected.map(|id| format!("disk/{id}")));
        assert!(rows.iter().all(|row| params(row).engine == DiskEngine::IoUring && row.obstacle.is_none()));
        assert!(rows.iter().all(|row| params(row).size == GIB && params(row).path == "/data"));
        assert!(rows[0].setup_seconds > 3.0 * rows[1].setup_seconds, "the first row lays the file out");
        assert_eq!(
            (rows[0].experiment.method.as_str(), rows[2].experiment.method.as_str()),
            ("disk-read/3", "disk-write/3")
        );
    }

    #[test]
    fn the_file_is_as_large_as_there_is_room_for() {
        let with = |available_bytes, chosen| {
            let mut request = request(stanza(), DiskTarget { available_bytes, ..target() });
            request.chosen.size = chosen;
            expanded(&request).map(|rows| (params(&rows[0]).size, rows[0].obstacle.clone()))
        };
        assert_eq!(with(3 * GIB, false), Ok((GIB, None)));
        assert_eq!(with(3 * GIB - 1, false), Ok((GIB / 2, None)), "2 GiB are left alone");
        assert_eq!(with(2 * GIB + (64 << 20), false), Ok((64 << 20, None)));
        let (_, obstacle) = with(2 * GIB, false).unwrap();
        assert!(obstacle.unwrap().contains("'/data' is nearly full: 2.0 GiB are free"));
        let error = with(2 * GIB, true).unwrap_err().0;
        assert!(error.contains("1.0 GiB does not fit into '/data'") && error.contains("2.0 GiB are free"), "{error}");
        let small = DiskTarget { total_bytes: 4 * GIB, available_bytes: 2 * GIB, ..target() };
        assert_eq!(params(&expanded(&request(stanza(), small)).unwrap()[0]).size, GIB, "5 % of 4 GiB are left alone");
    }

    #[test]
    fn rows_of_a_size_share_a_file_and_all_files_have_room_at_the_same_time() {
        let with = |available_bytes| {
            let mut request = request(stanza(), DiskTarget { available_bytes, ..target() });
            request.suite.disk.push(DiskStanza { size: 4 * GIB, pattern: DiskPattern::Sequential, ..stanza() });
            let words = vec![8, 512];
            request.suite.disk.push(DiskStanza { size: 64 << 20, block: words, cache: warm(), ..stanza() });
            let rows = expanded(&request).unwrap();
            let mut sizes: Vec<(u64, bool)> =
                rows.iter().map(|row| (params(row).size, row.obstacle.is_some())).collect();
            sizes.dedup();
            sizes
        };
        let all = 5 * GIB + 2 * (64 << 20);
        let mib = 1 << 20;
        assert_eq!(with(2 * GIB + all), [(GIB, false), (4 * GIB, false), (64 * mib, false)]);
        assert_eq!(with(2 * GIB + all - 1), [(GIB / 2, false), (2 * GIB, false), (64 * mib, false)]);
        assert_eq!(with(2 * GIB + 4 * 64 * mib), [(64 * mib, false)], "the least of each kind, and two of both");
        assert!(with(2 * GIB + 2 * 64 * mib - 1).iter().all(|(_, obstacle)| *obstacle));
    }

    fn warm() -> Vec<DiskCache> {
        vec![DiskCache::Warm]
    }

    #[test]
    fn files_of_threads_are_counted_and_each_is_as_large() {
        let with = |available_bytes, chosen| {
            let threads = vec![Threads::Count(1), Threads::Count(4)];
            let stanza = DiskStanza { layout: vec![DiskLayout::PerThread], depth: vec![1], threads, ..stanza() };
            let mut request = request(stanza, DiskTarget { available_bytes, ..target() });
            request.chosen.size = chosen;
            expanded(&request)
        };
        let rows = with(6 * GIB, false).unwrap();
        assert!(rows.iter().all(|row| params(row).size == GIB && row.experiment.id.contains("/per_thread/")));
        assert!(rows[2].setup_seconds > 2.0 * rows[0].setup_seconds, "three more files are laid out for four threads");
        assert_eq!(params(&with(6 * GIB - 1, false).unwrap()[0]).size, GIB / 2);
        let error = with(6 * GIB - 1, true).unwrap_err().0;
        assert!(error.starts_with("4 test files of together 4.0 GiB do not fit into '/data'"), "{error}");
        let blocks = DiskStanza { block: vec![128 << 20], layout: vec![DiskLayout::PerThread], ..stanza() };
        let few = DiskStanza { depth: vec![4], threads: vec![Threads::Count(2)], ..blocks };
        assert_eq!(expanded(&request(few.clone(), target())).map(drop), Ok(()), "1 GiB for the four of each thread");
        let shared = DiskStanza { layout: vec![DiskLayout::Shared], ..few };
        assert!(expanded(&request(shared, target())).unwrap_err().0.contains("from each of 2 threads"));
    }

    #[test]
    fn caches_are_kept_warm_where_memory_can_and_only_reads_find_them_cold() {
        let cached = |size, op: &[DiskOp], cache: &[DiskCache]| {
            let stanza = DiskStanza { size, op: op.to_vec(), cache: cache.to_vec(), depth: vec![1], ..stanza() };
            expanded(&request(stanza, target()))
        };
        let both = cached(GIB, &[DiskOp::Read, DiskOp::Write], &[DiskCache::Cold, DiskCache::Warm]).unwrap();
        let told: Vec<_> =
            both.iter().map(|row| (row.experiment.id.as_str(), row.experiment.method.as_str())).collect();
        let expected = [
            ("disk/random-read/4KiB/d1/cold/t1", "disk-cached-read/3"),
            ("disk/random-read/4KiB/d1/warm/t1", "disk-cached-read/3"),
            ("disk/random-write/4KiB/d1/warm/t1", "disk-cached-write/3"),
        ];
        assert_eq!(told, expected);
        assert!(both.iter().all(|row| !params(row).direct && row.obstacle.is_none()));
        let error = cached(GIB, &[DiskOp::Write], &[DiskCache::Cold]).unwrap_err().0;
        assert!(error.contains("only plain reads") && error.contains("--cache warm"), "{error}");
        // 16 GiB of memory are available.
        let large = cached(9 * GIB, &[DiskOp::Read], &[DiskCache::Cold, DiskCache::Warm]).unwrap();
        assert_eq!(large[0].obstacle, None);
        let obstacle = large[1].obstacle.as_ref().unwrap();
        assert!(
            obstacle.contains("9.0 GiB") && obstacle.contains("16.0 GiB") && obstacle.contains("--size"),
            "{obstacle}"
        );
        let forbidden = DiskTarget { no_io_uring: Some("EPERM".into()), ..target() };
        let rows = expanded(&request(DiskStanza { cache: warm(), ..stanza() }, forbidden)).unwrap();
        assert!(rows.iter().all(|row| params(row).engine == DiskEngine::Sync), "native requests bypass the cache");
    }

    #[test]
    fn totals_are_done_in_full_in_requests() {
        let with = |block, total, exact_workload, cache| {
            let stanza =
                DiskStanza { block: vec![block], total: Some(total), cache: vec![cache], depth: vec![1], ..stanza() };
            let request = Request { exact_workload, ..request(stanza, target()) };
            expanded(&request).unwrap().swap_remove(0)
        };
        let gib = GIB as f64;
        assert_eq!(with(4096, gib, false, DiskCache::Bypassed).exact_work, None);
        let exact = with(4096, gib, true, DiskCache::Bypassed);
        assert_eq!((exact.exact_work, exact.sampling.samples), (Some(262_144.0), EXACT_SAMPLES));
        assert_eq!(with(100 << 20, 10.0 * gib, true, DiskCache::Bypassed).exact_work, Some(103.0), "102.4 of them");
        assert_eq!(with(1024, 1e6, true, DiskCache::Bypassed).exact_work, Some(1e6), "a number of requests");
        assert_eq!(with(4096, gib, true, DiskCache::Cold).obstacle, None);
        let obstacle = with(4096, gib + 1.0, true, DiskCache::Cold).obstacle.unwrap();
        assert!(obstacle.contains("262145 requests of 4KiB") && obstacle.contains("1.0 GiB"), "{obstacle}");
    }

    #[test]
    fn what_was_named_and_cannot_be_done_is_an_error_and_else_an_obstacle() {
        let obstacle = Some("'/data' is tmpfs".to_owned());
        let named = DiskTarget { named: true, obstacle: obstacle.clone(), ..target() };
        assert_eq!(expanded(&request(stanza(), named.clone())), Err(PlanError("'/data' is tmpfs".into())));
        let found = expanded(&request(stanza(), DiskTarget { named: false, ..named.clone() })).unwrap();
        assert!(found.iter().all(|row| row.obstacle == obstacle));
        let only_cpu = Request { areas: vec![Area::Cpu], ..request(stanza(), named) };
        assert_eq!(expanded(&only_cpu), Ok(Vec::new()), "a directory that is not needed is no error");
        let nowhere = Request { disk: None, references: Vec::new(), ..request(stanza(), target()) };
        assert!(expanded(&nowhere).unwrap().iter().all(|row| row.obstacle.is_some()));
    }

    #[test]
    fn engines_step_down_unless_they_are_named() {
        let forbidden = || DiskTarget { no_io_uring: Some("EPERM".into()), ..target() };
        let neither = DiskTarget { no_libaio: Some("ENOSYS".into()), ..forbidden() };
        for (target, engine) in [(forbidden(), DiskEngine::Libaio), (neither.clone(), DiskEngine::Sync)] {
            let rows = expanded(&request(stanza(), target)).unwrap();
            assert!(rows.iter().all(|row| params(row).engine == engine && row.obstacle.is_none()));
        }
        let rows = expanded(&request(stanza(), forbidden())).unwrap();
        assert!(
            rows.iter().all(|row| row.warnings.iter().any(|warning| warning.code.as_str() == "engine_stepped_down"))
        );
        let wanted = DiskStanza { engine: Some(DiskEngine::IoUring), ..stanza() };
        let rows = expanded(&request(wanted.clone(), forbidden())).unwrap();
        assert!(rows[0].obstacle.as_ref().unwrap().contains("EPERM"));
        assert_eq!(rows[0].experiment.id, "disk/random-read/4KiB/d1/io_uring/t1");
        let mut chosen = request(wanted, forbidden());
        chosen.chosen.engine = true;
        assert!(expanded(&chosen).unwrap_err().0.contains("EPERM"));
        let mut chosen = request(DiskStanza { engine: Some(DiskEngine::Libaio), ..stanza() }, neither);
        assert!(expanded(&chosen).unwrap()[0].obstacle.as_ref().unwrap().contains("libaio cannot be had here: ENOSYS"));
        chosen.chosen.engine = true;
        assert!(expanded(&chosen).unwrap_err().0.contains("choose --engine sync"));
        chosen.disk = Some(DiskTarget { remote: true, ..target() });
        assert_eq!(expanded(&chosen).unwrap()[0].experiment.id, "disk/random-read/4KiB/d1/libaio/t1");
        chosen.suite.disk[0].engine = Some(DiskEngine::Null);
        let null = expanded(&chosen).unwrap();
        assert!(null.iter().all(|row| row.experiment.method == "disk-null/2" && row.warnings.is_empty()), "no device");
    }

    #[test]
    fn without_direct_io_only_rows_that_ask_for_it_are_skipped() {
        let buffered = DiskTarget { no_direct: Some("the file system refuses it".into()), ..target() };
        let all = vec![DiskCache::Bypassed, DiskCache::Cold, DiskCache::Warm];
        let reads = DiskStanza { op: vec![DiskOp::Read], depth: vec![1], block: vec![7, 4096], cache: all, ..stanza() };
        let mut request = request(DiskStanza { block: vec![4096], ..reads.clone() }, buffered);
        request.suite.disk.push(DiskStanza { cache: warm(), block: vec![7], ..reads });
        let rows = expanded(&request).unwrap();
        let skipped: Vec<_> = rows.iter().map(|row| (params(row).cache, row.obstacle.is_some())).collect();
        let expected = [DiskCache::Bypassed, DiskCache::Cold, DiskCache::Warm, DiskCache::Warm];
        assert_eq!(skipped, expected.map(|cache| (cache, cache == DiskCache::Bypassed)));
        let why = rows[0].obstacle.as_ref().unwrap();
        assert!(why.contains("'/data'") && why.contains("no direct I/O (the file system refuses it)"), "{why}");
        assert!(why.contains("--cache cold,warm"), "{why}");
        request.suite.disk[0].engine = Some(DiskEngine::Null);
        assert_eq!(expanded(&request).unwrap()[0].obstacle, None, "without a device nothing goes past anything");
    }

    #[test]
    fn loads_are_rows_of_their_own() {
        let loaded = DiskStanza { load_percent: vec![25, 90], op: vec![DiskOp::Read], depth: vec![32], ..stanza() };
        let rows = expanded(&request(loaded, target())).unwrap();
        let seen: Vec<_> = rows.iter().map(|row| (row.experiment.method.as_str(), params(row).load_percent)).collect();
        assert_eq!(seen, [("disk-load/3", Some(25)), ("disk-load/3", Some(90))]);
        assert!(rows.iter().all(|row| row.obstacle.is_none()) && rows[0].experiment.id != rows[1].experiment.id);
    }

    #[test]
    fn rounds_until_a_drive_is_steady_are_one_launch_of_a_row_of_its_own() {
        let steady = Some(Steady { rounds: 25, round_seconds: 10.0 });
        let writes = DiskStanza { op: vec![DiskOp::Write], depth: vec![32], ..stanza() };
        let mut asked = request(DiskStanza { steady, ..writes.clone() }, target());
        asked.suite.disk.push(writes);
        let row = &expanded(&asked).unwrap()[0];
        let seen = (row.experiment.id.as_str(), row.experiment.method.as_str());
        assert_eq!(seen, ("disk/random-write/4KiB/d32/steady/t1", "disk-steady/3"));
        assert!(row.sampling.until_steady && row.obstacle.is_none() && row.exact_work.is_none());
        assert_eq!((row.sampling.samples, row.sampling.per_launch), (25, 25));
        let written = 2.0 * params(row).size as f64 / LAYOUT_BYTES_PER_SECOND;
        let expected = row.expected_seconds(None) - 250.0 - written;
        assert!((0.0..1.0).contains(&expected), "rounds, the layout and once more, but {expected} s more");
        asked.repeat = Some(30);
        let row = &expanded(&asked).unwrap()[0];
        assert_eq!(row.sampling.per_launch, 30, "back to back too where the number of rounds is given");
        let plain = &expanded(&asked).unwrap()[1];
        assert!(!plain.sampling.until_steady && plain.experiment.id == "disk/random-write/4KiB/d32/t1");
    }

    #[test]
    fn requests_that_make_no_sense_are_refused_in_a_sentence() {
        let refused = |stanza: DiskStanza| expanded(&request(stanza, target())).unwrap_err().0;
        assert!(refused(DiskStanza { block: vec![1000], ..stanza() }).contains("multiples of 512"));
        assert!(refused(DiskStanza { block: vec![0], ..stanza() }).contains("multiples of 512"));
        assert!(refused(DiskStanza { block: vec![2 * GIB], ..stanza() }).contains("too large"));
        assert!(refused(DiskStanza { depth: vec![0], ..stanza() }).contains("depth of 0"));
        assert!(refused(DiskStanza { depth: vec![5000], ..stanza() }).contains("depth of 5000"));
        let odd = request(DiskStanza { block: vec![1, 12], cache: warm(), ..stanza() }, target());
        assert!(expanded(&odd).is_ok(), "through the page cache a block may have any size");
        for percent in [0, 101] {
            let sentence = refused(DiskStanza { load_percent: vec![percent], ..stanza() });
            assert!(sentence.contains(&format!("a load of {percent} %")), "{sentence}");
        }
        assert!(refused(DiskStanza { size: 1000, ..stanza() }).contains("multiple of 4 KiB"));
        assert!(
            refused(DiskStanza { block: vec![100 << 20], ..stanza() })
                .contains("it takes 6.2 GiB; choose a larger --size")
        );
        let many = DiskStanza {
            engine: Some(DiskEngine::Sync),
            depth: vec![1024],
            threads: vec![Threads::Count(5)],
            ..stanza()
        };
        assert!(refused(many.clone()).contains("4096 is the most"));
        // What was not named is left out.
        let forbidden = DiskTarget { no_io_uring: Some("EPERM".into()), no_libaio: Some("EPERM".into()), ..target() };
        let rows = expanded(&request(DiskStanza { engine: None, size: 64 * GIB, ..many }, forbidden)).unwrap();
        assert!(rows.iter().all(|row| row.obstacle.as_ref().is_some_and(|why| why.contains("4096 is the most"))));
    }

    #[test]
    fn samples_are_long_enough_for_large_requests() {
        let blocks = vec![4096, 100 << 20];
        let rows = expanded(&request(DiskStanza { block: blocks, depth: vec![1], ..stanza() }, target())).unwrap();
        let seconds: Vec<f64> = rows[..2].iter().map(|row| row.sampling.sample_seconds).collect();
        let suite = Suite::find("quick").unwrap().sampling(Area::Disk).sample_seconds;
        assert!((seconds[0] - suite).abs() < 1e-9 && (seconds[1] - 2.097_152).abs() < 1e-9, "{seconds:?}");
    }

    #[test]
    fn a_file_that_had_to_be_smaller_skips_only_the_rows_it_is_too_small_for() {
        let large = DiskStanza { block: vec![4096, 4 << 20], op: vec![DiskOp::Read], ..stanza() };
        let little = DiskTarget { available_bytes: 2 * GIB + (100 << 20), ..target() };
        let rows = expanded(&request(large, little)).unwrap();
        let skipped: Vec<_> = rows.iter().filter(|row| row.obstacle.is_some()).map(|row| &row.experiment.id).collect();
        assert_eq!(skipped, ["disk/random-read/4MiB/d32/t1"]);
    }
}
