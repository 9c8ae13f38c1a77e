//! Files in the page cache and past it, of words, of bytes, of threads, smaller than planned; and totals done in full.

use model::wire::Grain;

use super::*;
use crate::engines::disk::layout::{LEAST_BYTES, as_laid_out};

fn cached(pattern: DiskPattern, op: DiskOp, block: u64, depth: u32, cache: DiskCache) -> DiskParams {
    let engine = if sys::queue::Queue::io_uring_available().is_ok() { DiskEngine::IoUring } else { DiskEngine::Sync };
    DiskParams { direct: false, cache, ..params(pattern, op, block, depth, engine) }
}

fn prepare(params: &DiskParams, held: &Held) -> Result<(), Trouble> {
    Disks.prepare(&task(params, held, 1), &mut Reported::default())
}

fn of_grain(grain: Grain, bytes: u64) -> Held {
    let held = held(bytes);
    let own = Held { held: HeldFile { grain, ..held.held }, file: held.file };
    layout::ensure(&own.held, &mut Reported::default()).unwrap();
    own
}

fn run_to_its_end(flow: &mut DiskFlow) -> (Tally, f64) {
    let timer = Timer::system();
    flow.prepare(crate::engines::NextWindow::Any).unwrap();
    let mut tally = Tally::new(&timer);
    let window = Window { begin: timer.now() + timer.ticks(0.001), end: Window::NO_END };
    tally.begin(window);
    flow.run(&timer, window, &mut tally).unwrap();
    flow.verify().unwrap();
    let window = tally.window();
    (tally, timer.seconds(window.begin, window.end))
}

#[test]
fn a_cold_pass_reads_every_block_once_and_ends_there() {
    let held = laid_out(4 * MIB);
    for (pattern, engine, depth) in [
        (DiskPattern::Sequential, DiskEngine::IoUring, 4),
        (DiskPattern::Random, DiskEngine::IoUring, 4),
        (DiskPattern::Random, DiskEngine::Sync, 3),
        (DiskPattern::Backward, DiskEngine::Sync, 1),
    ] {
        let params = DiskParams { engine, ..cached(pattern, DiskOp::Read, 8192, depth, DiskCache::Cold) };
        let mut operations = 0;
        for thread in 0..3 {
            let params = DiskParams { threads: 3, size: held.held.bytes, ..params.clone() };
            let mut flow = DiskFlow::open(&params, &held.held, &task(&params, &held, 1), thread).unwrap();
            let (first, seconds) = run_to_its_end(&mut flow);
            let (again, _) = run_to_its_end(&mut flow);
            assert_eq!(first.operations, again.operations, "{params:?}");
            assert!(seconds > 0.0 && seconds < 1e3, "{params:?}: {seconds} s");
            operations += first.operations;
            let seen = conditions(&mut flow);
            assert_eq!(seen.cached_share_before.is_some(), thread == 0, "one thread manages the cache");
            // Unknown on a file system that bypasses the cache in any case.
            assert!(seen.cached_share_before.is_none_or(|share| share <= 0.05), "{seen:?}");
            assert_eq!(seen.file_bytes, Some(held.held.bytes));
        }
        assert_eq!(operations, 512, "{params:?}: every block once");
    }
}

#[test]
fn a_warm_cache_holds_the_file_and_a_direct_row_finds_it_empty() {
    let held = laid_out(2 * MIB);
    let warm = cached(DiskPattern::Random, DiskOp::Read, 4096, 2, DiskCache::Warm);
    for _ in 0..2 {
        prepare(&warm, &held).unwrap();
        assert_eq!(sys::file::cached_bytes(&held.file).unwrap(), held.held.bytes);
    }
    let mut flow = open(&warm, &held, 1).unwrap();
    flow.prepare(crate::engines::NextWindow::Any).unwrap();
    assert!(run_until_counted(&mut flow).operations > 0);
    let seen = conditions(&mut flow);
    assert_eq!((seen.cached_share_before, seen.cached_share), (Some(1.0), Some(1.0)));
    let direct = params(DiskPattern::Random, DiskOp::Read, 4096, 2, DiskEngine::Sync);
    prepare(&direct, &held).unwrap();
    assert_eq!(sys::file::cached_bytes(&held.file).unwrap(), 0);
    assert_eq!(conditions(&mut open(&direct, &held, 1).unwrap()).cached_share_before, None);
}

#[test]
fn writes_are_reported_with_their_flush_and_reads_have_none() {
    let held = laid_out(2 * MIB);
    for cache in [DiskCache::Bypassed, DiskCache::Warm] {
        for op in [DiskOp::Write, DiskOp::Read] {
            let params = cached(DiskPattern::Sequential, op, 4096, 2, cache);
            let params = DiskParams { direct: cache == DiskCache::Bypassed, ..params };
            prepare(&params, &held).unwrap();
            let mut flow = open(&params, &held, 2).unwrap();
            let (tally, window) = run(&mut flow, 50).unwrap();
            flow.verify().unwrap();
            let seconds = Timer::system().seconds(window.begin, window.end);
            let seen = conditions(&mut flow);
            assert_eq!(seen.flushed_bytes_per_second.is_some(), op == DiskOp::Write, "{params:?}");
            if let Some((rate, flush)) = seen.flushed_bytes_per_second.zip(seen.flush_seconds) {
                let expected = tally.bytes as f64 / (seconds + flush);
                assert!((rate - expected).abs() <= 1e-9 * expected, "{rate} is not {expected}");
            }
        }
    }
}

#[test]
fn a_total_is_done_in_full_by_any_lane() {
    let held = laid_out(4 * MIB);
    let of = |op, engine, depth| params(DiskPattern::Random, op, 4096, depth, engine);
    for params in [
        of(DiskOp::Read, DiskEngine::Sync, 3),
        of(DiskOp::Write, DiskEngine::Sync, 3),
        of(DiskOp::Write, DiskEngine::IoUring, 4),
        of(DiskOp::Read, DiskEngine::Null, 4),
    ] {
        let params = DiskParams { threads: 3, size: held.held.bytes, ..params };
        let task = Task { exact_work: Some(1001.0), ..task(&params, &held, 3) };
        let counts = [0, 1, 2].map(|thread| {
            let mut flow = DiskFlow::open(&params, &held.held, &task, thread).unwrap();
            assert!(run_until_counted(&mut flow).operations > 0);
            let (tally, _) = run_to_its_end(&mut flow);
            assert_eq!((tally.bytes, tally.durations.count()), (tally.operations * 4096, tally.operations));
            tally.operations
        });
        assert_eq!(counts, [334, 334, 333], "{params:?}");
    }
}

#[test]
fn blocks_below_a_sector_are_words_or_bytes_that_are_checked() {
    use DiskPattern::{Backward, Random, Sequential};
    let words =
        [(8, DiskEngine::Sync, Sequential), (8, DiskEngine::IoUring, Sequential), (1000, DiskEngine::Sync, Sequential)];
    let bytes = [
        (1, DiskEngine::Sync, Sequential),
        (10, DiskEngine::IoUring, Random),
        (100_003, DiskEngine::Sync, Sequential),
        (4099, DiskEngine::IoUring, Backward),
    ];
    for (grain, kinds, small, stale) in [
        (Grain::Words, &words[..], 8, "there is a word of process run 0"),
        (Grain::Bytes, &bytes[..], 7, "there is a byte of another process run"),
    ] {
        let held = of_grain(grain, MIB);
        let laid_out = held.bytes();
        for (launch, &(block, engine, pattern)) in (1..).zip(kinds) {
            for op in [DiskOp::Write, DiskOp::Read, DiskOp::Mixed] {
                let params = DiskParams { engine, ..cached(pattern, op, block, 2, DiskCache::Warm) };
                prepare(&params, &held).unwrap();
                let mut flow = open(&params, &held, launch).unwrap();
                let tally = run_until_counted(&mut flow);
                assert_eq!(tally.bytes, tally.operations * block, "{params:?}");
                flow.verify().unwrap();
                assert!(conditions(&mut flow).loop_iops.is_some_and(|rate| rate > 0.0));
            }
        }
        held.check(|launch| launch <= 4).unwrap();
        assert!(held.check(|launch| launch == 0).is_err(), "nothing was written");
        // What is wrong is found by reading, and a lost write by reading back.
        held.overwrite(&laid_out, 0);
        let open_small = |op, launch| open(&cached(DiskPattern::Random, op, small, 1, DiskCache::Warm), &held, launch);
        let mut flow = open_small(DiskOp::Read, 5).unwrap();
        held.overwrite(&vec![0x5a; laid_out.len()], 0);
        assert!(run(&mut flow, 100).unwrap_err().contains("this run has not written"));
        held.overwrite(&laid_out, 0);
        let mut flow = open_small(DiskOp::Write, 6).unwrap();
        run(&mut flow, 50).unwrap();
        held.overwrite(&laid_out, 0);
        let error = flow.verify().unwrap_err();
        assert!(error.contains("the last write is missing") && error.contains(stale), "{error}");
    }
}

#[test]
fn each_thread_has_a_file_of_its_own_with_contents_of_its_own() {
    let [first, second, third] = [0, 1, 2].map(|thread| {
        let held = held(2 * MIB);
        Held { held: HeldFile { seed: SEED + thread, ..held.held }, file: held.file }
    });
    let others = vec![second.held.clone(), third.held.clone()];
    let all = Held { held: HeldFile { others, ..first.held.clone() }, file: first.file.try_clone().unwrap() };
    for (launch, op) in [(1, DiskOp::Write), (2, DiskOp::Read)] {
        for pattern in [DiskPattern::Sequential, DiskPattern::Random] {
            let params = params(pattern, op, 64 << 10, 2, DiskEngine::Sync);
            let params = DiskParams { threads: 3, layout: DiskLayout::PerThread, ..params };
            prepare(&params, &all).unwrap();
            for thread in 0..3 {
                let task = Task { exact_work: Some(96.0), ..task(&params, &all, launch) };
                let mut flow = DiskFlow::open(&params, &all.held, &task, thread).unwrap();
                let (tally, _) = run_to_its_end(&mut flow);
                assert_eq!(tally.operations, 32, "as many as its whole file has blocks");
            }
        }
    }
    for own in [&first, &second, &third] {
        own.check(|launch| launch == 1).unwrap();
    }
}

#[test]
fn a_layout_whose_time_is_over_leaves_a_smaller_file_that_flows_keep_to() {
    let held = held(3 * LEAST_BYTES);
    let limited = Held { held: HeldFile { layout_seconds: Some(0), ..held.held }, file: held.file };
    layout::ensure(&limited.held, &mut Reported::default()).unwrap();
    let length = limited.file.metadata().unwrap().len();
    assert!((LEAST_BYTES..2 * LEAST_BYTES).contains(&length), "{length}");
    let laid_out = as_laid_out(&limited.held);
    assert_eq!(laid_out.bytes, length);
    assert_eq!(as_laid_out(&HeldFile { layout_seconds: None, ..limited.held.clone() }).bytes, 3 * LEAST_BYTES);
    // The next process run finds it laid out at this size.
    let again = layout::ensure(&laid_out, &mut Reported::default());
    assert_eq!((again, limited.file.metadata().unwrap().len()), (Ok(()), length));
    let read = params(DiskPattern::Random, DiskOp::Read, 4096, 4, DiskEngine::Sync);
    let mut flow = open(&read, &limited, 1).unwrap();
    assert!(run_until_counted(&mut flow).operations > 0);
    let seen = conditions(&mut flow);
    assert_eq!((seen.file_bytes, seen.unwritten_bytes.unwrap_or(0)), (Some(length), 0));
    let large = DiskParams { block: LEAST_BYTES, ..read.clone() };
    let refused = open(&large, &limited, 1).err();
    let sentence = "there was no time to lay out a larger one";
    assert!(matches!(&refused, Some(Trouble::Unavailable(why)) if why.ends_with(sentence)), "{refused:?}");
}

#[test]
fn a_drive_is_prepared_by_writing_the_whole_file_over_once_more_and_only_where_asked() {
    let held = laid_out(8 * MIB);
    let params = DiskParams { size: 8 * MIB, ..params(DiskPattern::Random, DiskOp::Write, 4096, 4, DiskEngine::Sync) };
    let mut flow = open(&params, &held, 7).unwrap();
    run_until_counted(&mut flow);
    let whole = || held.check(|launch| launch == 0);
    let plain = task(&params, &held, 8);
    Disks.prepare(&plain, &mut Reported::default()).unwrap();
    assert!(whole().is_err(), "what process run 7 has written is still there");
    let mut asked = plain;
    asked.disk.as_mut().unwrap().precondition = true;
    Disks.prepare(&asked, &mut Reported::default()).unwrap();
    assert_eq!(whole(), Ok(()));
    let gone = HeldFile { path: "/no/such/file".into(), ..held.held.clone() };
    let trouble = layout::write_over(&gone, &mut Reported::default()).unwrap_err();
    assert!(trouble.to_string().contains("once more"), "{trouble:?}");
}
