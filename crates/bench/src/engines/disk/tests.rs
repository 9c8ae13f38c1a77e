//! Flows on a small file of a real directory: what they count, find and refuse. No speeds.

mod cache;
mod paced;
mod patterns;

use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::atomic::AtomicU64;

use model::document::DiskConditions;
use model::experiment::{DiskChoices, DiskParams, Experiment, Params, disk_id};
use model::io::{DiskCache, DiskEngine, DiskLayout, DiskOp, DiskPattern, DiskSync};
use model::wire::{DiskTask, HeldFile, Observations, Task};
use sys::clock::Timer;
use sys::usage::ThreadUsage;

use super::contents::{Contents, Wrong};
use super::flow::DiskFlow;
use super::{DiskEngine as Disks, layout};
use crate::engines::{Engine, Flow, FlowMetric, Preparing, Tally, Trouble, Window};

const MIB: u64 = 1 << 20;
const SEED: u64 = 99;

/// A file without a name, held as the runner holds it, in the build directory: a temporary directory may be in memory.
struct Held {
    file: File,
    held: HeldFile,
}

impl Held {
    fn bytes(&self) -> Vec<u8> {
        let mut bytes = vec![0; usize::try_from(self.file.metadata().unwrap().len()).unwrap()];
        self.file.read_exact_at(&mut bytes, 0).unwrap();
        bytes
    }

    fn overwrite(&self, bytes: &[u8], offset: u64) {
        self.file.write_all_at(bytes, offset).unwrap();
        self.file.sync_data().unwrap();
    }

    fn check(&self, accepted: impl Fn(u32) -> bool) -> Result<(), Wrong> {
        Contents::of_file(&self.held).check(&self.bytes(), 0, |origin| accepted(origin.run))
    }
}

fn held(bytes: u64) -> Held {
    let directory = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let file = sys::file::unnamed(&directory, "assay-disk-test".as_ref())
        .or_else(|_| sys::file::unnamed(&std::env::temp_dir(), "assay-disk-test".as_ref()))
        .unwrap();
    let held = HeldFile {
        path: format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd()),
        directory: directory.display().to_string(),
        filesystem: "any".into(),
        bytes,
        seed: SEED,
        ..HeldFile::default()
    };
    Held { file, held }
}

#[derive(Default)]
struct Reported(Vec<f64>);

impl Preparing for Reported {
    fn progress(&mut self, done: f64) {
        self.0.push(done);
    }

    fn listening(&mut self, _address: &str) {}
}

fn laid_out(bytes: u64) -> Held {
    let held = held(bytes);
    layout::ensure(&held.held, &mut Reported::default()).unwrap();
    held
}

fn params(pattern: DiskPattern, op: DiskOp, block: u64, depth: u32, engine: DiskEngine) -> DiskParams {
    DiskParams { size: 0, engine, ..DiskParams::new(pattern, op, block, depth) }
}

fn task(params: &DiskParams, held: &Held, launch: u32) -> Task {
    let experiment = Experiment {
        id: disk_id(params, DiskChoices::default()),
        area: model::experiment::Area::Disk,
        params: Params::Disk(params.clone()),
        method: "disk-read/3".into(),
        classic: None,
        kernel: None,
    };
    let disk = Some(DiskTask { file: held.held.clone(), precondition: false, most_written_bytes: None });
    Task { experiment, disk, launch, seed: launch.into(), ..crate::tests::task() }
}

fn open(params: &DiskParams, held: &Held, launch: u32) -> Result<DiskFlow, Trouble> {
    let params = DiskParams { size: held.held.bytes, ..params.clone() };
    DiskFlow::open(&params, &held.held, &task(&params, held, launch), 0)
}

#[test]
fn ticks_are_kept_where_a_device_is_waited_for() {
    let held = held(MIB);
    let keeps = |engine| {
        let params = params(DiskPattern::Random, DiskOp::Read, 4096, 1, engine);
        Disks.placement(&task(&params, &held, 1), Vec::new()).keeps_ticks
    };
    let all = [DiskEngine::IoUring, DiskEngine::Libaio, DiskEngine::Sync, DiskEngine::Null];
    assert_eq!(all.map(keeps), [true, true, true, false]);
}

fn direct_engines(held: &Held) -> Vec<DiskEngine> {
    let all = [DiskEngine::IoUring, DiskEngine::Libaio, DiskEngine::Sync];
    let params = |engine| params(DiskPattern::Random, DiskOp::Read, 4096, 1, engine);
    all.into_iter().filter(|engine| open(&params(*engine), held, 1).is_ok()).collect()
}

fn run(flow: &mut DiskFlow, milliseconds: u64) -> Result<(Tally, Window), String> {
    let timer = Timer::system();
    let mut tally = Tally::new(&timer);
    let begin = timer.now() + timer.ticks(0.005);
    let window = Window { begin, end: begin + timer.ticks(milliseconds as f64 * 1e-3) };
    tally.begin(window);
    flow.run(&timer, window, &mut tally)?;
    Ok((tally, window))
}

/// Windows until something was counted: other processes may use the device.
fn run_until_counted(flow: &mut DiskFlow) -> Tally {
    for milliseconds in [10, 50, 500, 5000] {
        let (tally, _) = run(flow, milliseconds).unwrap();
        flow.verify().unwrap();
        if tally.operations > 0 {
            return tally;
        }
    }
    panic!("not one request ended within five seconds");
}

fn conditions(flow: &mut DiskFlow) -> DiskConditions {
    let mut seen = Observations::default();
    flow.conclude(&mut seen);
    seen.disk.unwrap()
}

/// Every combination of pattern, operation and engine, on small and large blocks.
fn every_kind() -> impl Iterator<Item = DiskParams> {
    let engines = [DiskEngine::IoUring, DiskEngine::Libaio, DiskEngine::Sync];
    let shapes = [(512, 3), (4096, 1), (32 << 10, 4), (4096, 8)];
    DiskPattern::ALL.iter().zip(0..).flat_map(move |(&pattern, turn)| {
        DiskOp::ALL.iter().zip(turn..).flat_map(move |(&op, turn)| {
            // One shape each, in turn, so that all meet all.
            engines.into_iter().zip(turn..).map(move |(engine, turn)| {
                let (block, depth) = shapes[turn % shapes.len()];
                params(pattern, op, block, depth, engine)
            })
        })
    })
}

#[test]
fn every_kind_of_flow_counts_checks_and_says_what_it_saw() {
    crate::tests::in_parallel([DiskEngine::IoUring, DiskEngine::Libaio, DiskEngine::Sync], every_kind_counts_with);
}

fn every_kind_counts_with(engine: DiskEngine) {
    let held = laid_out(MIB);
    for (launch, params) in (1..).zip(every_kind().filter(|params| params.engine == engine)) {
        let mut flow = match open(&params, &held, launch) {
            Ok(flow) => flow,
            // An engine that is not available is a reason, and only where it was requested.
            Err(Trouble::Unavailable(why)) if params.engine == DiskEngine::Libaio => {
                assert!(why.starts_with("libaio is not available: "), "{why}");
                continue;
            }
            Err(trouble) => panic!("{params:?}: {trouble}"),
        };
        let tally = run_until_counted(&mut flow);
        assert_eq!(tally.bytes, tally.operations * params.block, "{params:?}");
        assert_eq!(tally.durations.count(), tally.operations, "{params:?}");
        let random = params.pattern == DiskPattern::Random;
        let headline = if random { FlowMetric::Requests } else { FlowMetric::Bytes };
        assert_eq!(flow.profile().metrics.first(), Some(&headline));
        let seen = conditions(&mut flow);
        let most = f64::from(params.depth) + 1e-6;
        assert!(seen.depth_achieved.is_some_and(|depth| depth > 0.0 && depth <= most), "{params:?}: {seen:?}");
        assert_eq!(seen.flush_seconds.is_some(), params.op.writes(), "{params:?}");
        assert!(seen.cpu_busy.is_some_and(|busy| busy > 0.0 && busy <= f64::from(params.depth) + 0.1), "{seen:?}");
        if sys::queue::Queue::io_uring_available().is_ok() && seen.stepped_down.is_empty() {
            assert_eq!(seen.engine, Some(params.engine));
        }
        if let Some(unwritten) = seen.unwritten_bytes {
            assert_eq!(unwritten, 0, "{params:?}");
        }
        assert!(seen.cpu_seconds_per_request.is_some_and(|seconds| seconds > 0.0), "{params:?}: {seen:?}");
        assert!(seen.loop_iops.is_some_and(|rate| rate > 0.0), "{params:?}: {seen:?}");
    }
}

#[test]
fn lanes_of_blocking_requests_keep_their_threads_and_cost_no_page_faults_in_a_window() {
    let held = laid_out(4 * MIB);
    let depth = 64;
    let params = params(DiskPattern::Random, DiskOp::Read, 4096, depth, DiskEngine::Sync);
    let mut flow = open(&params, &held, 1).unwrap();
    run_until_counted(&mut flow);
    let faults = |_| {
        let before = ThreadUsage::now();
        run(&mut flow, 20).unwrap();
        ThreadUsage::now().since(before).page_faults
    };
    // New stacks would be one fault each, but for those that the C library keeps: 40 MiB, which are twenty.
    let fewest = (0..3).map(faults).min();
    assert!(fewest.is_some_and(|faults| faults < u64::from(depth - 20) / 2), "{fewest:?}");
}

#[test]
fn without_a_device_the_loop_counts_and_checks_the_same_and_leaves_the_file_alone() {
    let held = held(MIB);
    held.file.set_len(MIB).unwrap();
    let kinds = every_kind().filter(|params| params.engine == DiskEngine::Sync);
    for (launch, params) in (1..).zip(kinds) {
        let params = DiskParams { engine: DiskEngine::Null, ..params };
        let task = task(&params, &held, launch);
        Disks.prepare(&task, &mut Reported::default()).unwrap();
        let mut flow = open(&params, &held, launch).unwrap();
        let tally = run_until_counted(&mut flow);
        assert_eq!(tally.bytes, tally.operations * params.block, "{params:?}");
        assert_eq!(tally.durations.count(), tally.operations, "{params:?}");
        let seen = conditions(&mut flow);
        let of_file = (seen.filesystem, seen.unwritten_bytes, seen.storage_share, seen.flush_seconds, seen.loop_iops);
        assert_eq!((seen.engine, of_file), (Some(DiskEngine::Null), (None, None, None, None, None)));
        let most = f64::from(params.depth) + 1e-6;
        assert!(seen.depth_achieved.is_some_and(|depth| depth > 0.0 && depth <= most), "{params:?}");
    }
    assert!(held.bytes().iter().all(|byte| *byte == 0) && sys::file::cached_bytes(&held.file).is_ok());
}

#[test]
fn a_device_that_cannot_be_polled_after_all_is_waited_for_and_that_is_said() {
    let held = laid_out(MIB);
    let claimed = Held { held: HeldFile { polled: true, ..held.held.clone() }, ..held };
    let params = params(DiskPattern::Random, DiskOp::Read, 4096, 4, DiskEngine::IoUring);
    let mut flow = open(&params, &claimed, 1).unwrap();
    assert!(run_until_counted(&mut flow).operations > 0);
    let seen = conditions(&mut flow);
    let polled = seen.features.iter().any(|feature| feature == "polled");
    let noted = seen.stepped_down.iter().any(|note| note.starts_with("polled: "));
    let ring = sys::queue::Queue::io_uring_available().is_ok();
    assert!(polled != noted || !ring, "one or the other: {seen:?}");
    assert!(!ring || seen.engine == Some(DiskEngine::IoUring), "{seen:?}");
}

/// Overwrites every page but the first (which opening reads) behind the flow's back.
fn spoil(held: &Held, with: impl Fn(u64) -> Vec<u8>) {
    for offset in (4096..held.held.bytes).step_by(4096) {
        held.file.write_all_at(&with(offset), offset).unwrap();
    }
    held.file.sync_data().unwrap();
}

#[test]
fn what_was_changed_behind_its_back_is_found_by_reading() {
    let garbage: fn(&Held, u64) -> Vec<u8> = |_, offset| vec![u8::try_from(offset >> 12).unwrap() | 1; 4096];
    let moved: fn(&Held, u64) -> Vec<u8> = |held, offset| {
        let mut page = vec![0; 4096];
        held.file.read_exact_at(&mut page, if offset == 4096 { 0 } else { 4096 }).unwrap();
        page
    };
    let zeros: fn(&Held, u64) -> Vec<u8> = |_, _| vec![0; 4096];
    for engine in direct_engines(&laid_out(MIB)) {
        for (op, spoiled, expected) in [
            (DiskOp::Read, garbage, "this run has not written"),
            (DiskOp::Read, moved, "there is what belongs at byte"),
            (DiskOp::Read, zeros, "there are zeros"),
            (DiskOp::Mixed, garbage, "this run has not written"),
        ] {
            let held = laid_out(MIB);
            let mut flow = open(&params(DiskPattern::Random, op, 4096, 4, engine), &held, 1).unwrap();
            spoil(&held, |offset| spoiled(&held, offset));
            let error = run(&mut flow, 200).unwrap_err();
            assert!(error.contains(expected), "{op} by {engine}: {error}");
        }
    }
}

#[test]
fn a_single_wrong_byte_deep_inside_a_block_is_found_after_the_window() {
    let held = laid_out(MIB);
    let mut flow = open(&params(DiskPattern::Sequential, DiskOp::Read, MIB, 1, DiskEngine::Sync), &held, 1).unwrap();
    held.overwrite(&[held.bytes()[700_000] ^ 0x10], 700_000);
    // The page of the byte may be one that is compared in full inside the window.
    let found = run(&mut flow, 20).map(|_| ()).and_then(|()| flow.verify().map(drop));
    assert!(found.unwrap_err().contains("at byte 699904 of the test file word"), "the sector is that of the byte");
}

#[test]
fn a_write_that_never_arrived_is_found_by_reading_back() {
    for engine in direct_engines(&laid_out(MIB)) {
        for op in [DiskOp::Write, DiskOp::Mixed] {
            let held = laid_out(MIB);
            let before = held.bytes();
            let mut flow = open(&params(DiskPattern::Random, op, 4096, 4, engine), &held, 5).unwrap();
            run(&mut flow, 50).unwrap();
            // As if the device had lost them all: valid pages, of an earlier time.
            held.overwrite(&before, 0);
            let error = flow.verify().unwrap_err();
            assert!(error.contains("the last write is missing"), "{op} by {engine}: {error}");
        }
    }
}

#[test]
fn a_layout_through_the_page_cache_is_the_same_file_and_says_so() {
    let (cached, direct) = (held(66 * MIB), laid_out(66 * MIB));
    let written = AtomicU64::new(0);
    assert_eq!(layout::write_all(&cached.held, false, &written).unwrap(), 66 * MIB);
    assert_eq!(written.into_inner(), 66 * MIB);
    assert!(cached.bytes() == direct.bytes(), "however it was written");
    let mut reported = Reported::default();
    layout::ensure(&cached.held, &mut reported).unwrap();
    assert!(reported.0.iter().all(|done| *done <= 0.0), "it is laid out: {:?}", reported.0);
    let mut flow = open(&params(DiskPattern::Random, DiskOp::Read, 4096, 1, DiskEngine::Sync), &direct, 1).unwrap();
    let takes_direct = crate::target::no_direct(&direct.file).is_none();
    assert_eq!(conditions(&mut flow).laid_out_through_cache, Some(!takes_direct));
}

#[test]
fn a_layout_reports_progress_and_is_done_once() {
    let held = held(8 * MIB);
    let mut reported = Reported::default();
    layout::ensure(&held.held, &mut reported).unwrap();
    assert!(reported.0.iter().all(|done| (0.0..=1.0).contains(done)), "{:?}", reported.0);
    assert_eq!(held.file.metadata().unwrap().len(), 8 * MIB);
    // Later writes stay: nothing is laid out again.
    let first = held.bytes();
    let mut flow = open(&params(DiskPattern::Sequential, DiskOp::Write, MIB, 1, DiskEngine::Sync), &held, 1).unwrap();
    while held.bytes() == first {
        run(&mut flow, 50).unwrap();
    }
    let second = held.bytes();
    layout::ensure(&held.held, &mut reported).unwrap();
    assert!(held.bytes() == second);
}

#[test]
fn a_file_that_is_only_reserved_cut_off_or_anothers_is_laid_out() {
    let reserved = held(2 * MIB);
    if sys::file::reserve(&reserved.file, 2 * MIB).is_err() {
        reserved.file.set_len(2 * MIB).unwrap();
    }
    let longer = held(2 * MIB);
    longer.file.set_len(3 * MIB).unwrap();
    let others = laid_out(2 * MIB);
    let others = Held { held: HeldFile { seed: SEED + 1, ..others.held.clone() }, ..others };
    for held in [reserved, longer, others] {
        layout::ensure(&held.held, &mut Reported::default()).unwrap();
        assert_eq!(held.file.metadata().unwrap().len(), 2 * MIB);
        held.check(|launch| launch == 0).unwrap();
    }
}

#[test]
fn a_file_that_would_be_filled_with_zeros_grows_as_it_is_written() {
    for filesystem in ["vfat", "exfat", "hfsplus", "ntfs", "fuseblk", "ext4", "any"] {
        let held = held(9 * MIB);
        // It may have been longer.
        held.file.set_len(10 * MIB).unwrap();
        let named = HeldFile { filesystem: filesystem.into(), layout_seconds: Some(0), ..held.held.clone() };
        let (mut reported, written) = (Reported::default(), AtomicU64::new(0));
        let grows = !matches!(filesystem, "ext4" | "any");
        layout::make_room(&held.file, &named).unwrap();
        assert_eq!(held.file.metadata().unwrap().len(), if grows { 0 } else { 9 * MIB }, "{filesystem}");
        let bytes = layout::write_all(&named, true, &written).unwrap();
        let length = if grows { bytes } else { 9 * MIB };
        assert_eq!((held.file.metadata().unwrap().len(), bytes < 9 * MIB), (length, true), "{filesystem}");
        let whole = HeldFile { layout_seconds: None, ..named };
        layout::ensure(&whole, &mut reported).unwrap();
        assert_eq!(held.file.metadata().unwrap().len(), 9 * MIB);
        held.check(|_| true).unwrap();
    }
}

#[test]
fn a_file_for_which_there_is_no_room_is_unavailable_and_left_empty() {
    let held = held(MIB);
    let huge = HeldFile { bytes: 1 << 62, ..held.held.clone() };
    // Where nothing can be reserved, lack of room shows only when the disk is full.
    let refused = sys::file::reserve(&held.file, huge.bytes).unwrap_err();
    if refused.kind() != std::io::ErrorKind::Unsupported {
        let trouble = layout::ensure(&huge, &mut Reported::default()).unwrap_err();
        let sentence = "reserving room for the test file in '";
        assert!(matches!(&trouble, Trouble::Unavailable(why) if why.starts_with(sentence)), "{trouble:?}");
    }
    assert_eq!(held.file.metadata().unwrap().len(), 0);
}

#[test]
fn trouble_is_a_sentence_that_names_the_file() {
    let held = laid_out(MIB);
    // In the page cache, where native requests would be carried out one by one.
    let cached = DiskParams { direct: false, ..params(DiskPattern::Random, DiskOp::Read, 4096, 4, DiskEngine::Libaio) };
    let is_refused =
        |trouble: &Trouble| matches!(trouble, Trouble::Unavailable(why) if why.starts_with("libaio is not available"));
    assert!(open(&cached, &held, 1).err().is_some_and(|trouble| is_refused(&trouble)));
    // Shorter than it should be: reads return too few bytes.
    for engine in direct_engines(&held) {
        let held = laid_out(MIB);
        let mut flow = open(&params(DiskPattern::Random, DiskOp::Read, 4096, 4, engine), &held, 1).unwrap();
        held.file.set_len(4096 + 512).unwrap();
        let error = run(&mut flow, 50).unwrap_err();
        assert!(error.starts_with("reading 4096 bytes at ") && error.contains("of the test file in '"), "{error}");
        assert!(error.contains("bytes were moved"), "{engine}: {error}");
    }
    let gone = HeldFile { path: "/proc/self/fd/99999".into(), ..held.held };
    let trouble = layout::ensure(&gone, &mut Reported::default()).unwrap_err();
    assert!(trouble.to_string().starts_with("opening the test file in '") && matches!(trouble, Trouble::Failed(_)));
}

#[test]
fn a_task_without_a_file_or_of_another_area_fails() {
    let mut task = crate::tests::task();
    assert!(
        Disks.prepare(&task, &mut Reported::default()).unwrap_err().to_string().contains("is not a disk benchmark")
    );
    task.experiment.params = Params::Disk(params(DiskPattern::Random, DiskOp::Read, 4096, 1, DiskEngine::Sync));
    let error = Disks.open(&task, 0).err().unwrap();
    assert!(error.to_string().contains("has no file"));
}
