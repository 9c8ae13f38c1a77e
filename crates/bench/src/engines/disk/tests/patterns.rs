//! The order in which blocks are accessed, repeated stretches, reads and writes in turn, and what writes wait for.

use std::path::Path;
use std::sync::Arc;

use super::*;
use crate::engines::disk::contents::Origin;
use crate::engines::disk::lane::{Access, Job};
use crate::engines::disk::order::Span;
use crate::engines::disk::stretch;

/// For each block, the number of the write that it is from, by its stamp; `None` where it is from the layout.
fn written(held: &Held, block: u64, blocks: u64) -> Vec<Option<u64>> {
    let contents = Contents::new(held.held.seed);
    let mut bytes = vec![0; usize::try_from(block).unwrap()];
    let mut order = Vec::new();
    for place in 0..blocks {
        held.file.read_exact_at(&mut bytes, place * block).unwrap();
        let mut by = None;
        let noted = |origin: Origin| {
            by = (origin.run != 0).then_some(origin.count);
            true
        };
        contents.check(&bytes, place * block, noted).unwrap();
        order.push(by);
    }
    order
}

/// Writes at most a pass; the blocks in the order of their stamps.
fn order_on_file(pattern: DiskPattern, engine: DiskEngine, depth: u32) -> Vec<u64> {
    const BLOCKS: u64 = 64;
    let held = laid_out(BLOCKS * (64 << 10));
    let params = params(pattern, DiskOp::Write, 64 << 10, depth, engine);
    let mut flow = open(&params, &held, 3).unwrap();
    let mut stamps = Vec::new();
    // Until some have been written, but not long enough that a second pass hides the first.
    for _ in 0..1000 {
        run(&mut flow, 1).unwrap();
        stamps = written(&held, 64 << 10, BLOCKS);
        if stamps.iter().flatten().count() >= 8 {
            break;
        }
    }
    flow.verify().unwrap();
    let mut order: Vec<(u64, u64)> = (0..).zip(stamps).filter_map(|(place, count)| Some((count?, place))).collect();
    order.sort_unstable();
    order.into_iter().map(|(_, place)| place).collect()
}

#[test]
fn blocks_are_written_in_the_order_that_was_asked_for() {
    for (engine, depth) in [(DiskEngine::IoUring, 4), (DiskEngine::Sync, 1)] {
        for (pattern, step) in
            [(DiskPattern::Sequential, 1), (DiskPattern::Backward, -1), (DiskPattern::Strided, 17_i64)]
        {
            let order = order_on_file(pattern, engine, depth);
            assert!(order.len() >= 8, "{order:?}");
            for pair in order.windows(2) {
                let moved = pair[1].cast_signed() - pair[0].cast_signed();
                // At the end of a round: to the first block of the next round, or to the beginning.
                let back = match pattern {
                    DiskPattern::Sequential => pair == [63, 0],
                    DiskPattern::Backward => pair == [0, 63],
                    _ => pair[0] + 17 >= 64 && (pair[1] == (pair[0] + 1) % 17 || pair[1] == 0),
                };
                assert!(moved == step || back, "{pattern} by {engine}: {order:?}");
            }
        }
    }
}

#[test]
fn a_file_is_opened_for_what_its_writes_wait_for() {
    // `asm-generic/fcntl.h`, which x86 and Arm share here.
    const O_DSYNC: u64 = 0o10_000;
    const O_SYNC: u64 = 0o4_010_000;
    let held = held(MIB);
    let flags = |sync, write| {
        let access = Access { direct: false, sync };
        let file = access.open(Path::new(&held.held.path), write).unwrap();
        let info = std::fs::read_to_string(format!("/proc/self/fdinfo/{}", file.as_raw_fd())).unwrap();
        let flags = info.lines().find_map(|line| line.strip_prefix("flags:")).unwrap();
        u64::from_str_radix(flags.trim(), 8).unwrap() & O_SYNC
    };
    assert_eq!(DiskSync::ALL.iter().map(|sync| flags(*sync, true)).collect::<Vec<_>>(), [0, O_DSYNC, O_SYNC]);
    assert!(DiskSync::ALL.iter().all(|sync| flags(*sync, false) == 0), "who only reads waits for nothing");
}

#[test]
fn every_kind_of_write_is_read_back() {
    let held = laid_out(MIB);
    for (launch, &sync) in (1..).zip(DiskSync::ALL) {
        for engine in direct_engines(&held) {
            let params = DiskParams { sync, ..params(DiskPattern::Random, DiskOp::Write, 4096, 2, engine) };
            let mut flow = open(&params, &held, launch).unwrap();
            assert!(run_until_counted(&mut flow).operations > 0, "{sync} by {engine}");
        }
    }
}

fn stretch_of(params: &DiskParams, held: &Held, run: u32) -> (Job, Span) {
    let job = Job {
        held: held.held.clone(),
        contents: Contents::new(SEED),
        op: params.op,
        access: Access { direct: params.direct, sync: params.sync },
        block: u32::try_from(params.block).unwrap(),
        run,
        shared_stream: false,
        no_device: false,
        allowance: Arc::default(),
    };
    let span = stretch::of_thread(&job, params, 0, run.into()).unwrap();
    (job, span)
}

fn coming_back(op: DiskOp, pattern: DiskPattern, engine: DiskEngine) -> (Held, DiskParams) {
    (laid_out(20 * MIB), params(pattern, op, 64 << 10, 2, engine))
}

#[test]
fn a_stretch_is_long_enough_for_what_is_in_flight_and_short_for_a_file() {
    let held = held(1 << 30);
    for (block, depth, threads, blocks) in
        [(4096, 1, 1, 4096), (4096, 32, 16, 256), (1 << 20, 1, 1, 16), (1 << 20, 32, 1, 64), (64 << 10, 32, 8, 64)]
    {
        let params = params(DiskPattern::Random, DiskOp::Rewrite, block, depth, DiskEngine::Sync);
        let params = DiskParams { threads, ..params };
        assert_eq!(stretch_of(&params, &held, 1).1.count, blocks, "{block} {depth} {threads}");
    }
    let params = params(DiskPattern::Random, DiskOp::Reread, 4096, 1, DiskEngine::Sync);
    let firsts: std::collections::BTreeSet<u64> =
        (1..20).map(|launch| stretch_of(&params, &held, launch).1.first).collect();
    assert!(firsts.len() > 15, "each process run has another: {firsts:?}");
    let whole = Job { op: DiskOp::Read, ..stretch_of(&params, &held, 1).0 };
    assert_eq!(stretch::of_thread(&whole, &params, 0, 1), None, "reads go everywhere");
}

#[test]
fn rewrites_stay_in_their_stretch_all_of_which_was_written_before() {
    for (pattern, engine) in [(DiskPattern::Sequential, DiskEngine::IoUring), (DiskPattern::Random, DiskEngine::Sync)] {
        let (held, params) = coming_back(DiskOp::Rewrite, pattern, engine);
        let (job, span) = stretch_of(&params, &held, 4);
        let before = held.bytes();
        let mut flow = open(&params, &held, 4).unwrap();
        // Opening wrote every block of the stretch once, and no other. The flow's own stamps begin with the first window.
        let after = held.bytes();
        let block = 64 << 10;
        for (place, (before, after)) in (0..).zip(before.chunks(block).zip(after.chunks(block))) {
            let inside = (span.first..span.first + span.count).contains(&place);
            assert_eq!(before != after, inside, "block {place} of {span:?}");
        }
        assert!(written(&held, block as u64, 320).iter().all(Option::is_none));
        assert!(run_until_counted(&mut flow).operations > 0);
        let stamps = written(&held, block as u64, 320);
        let places = (0..).zip(stamps).filter(|(_, count)| count.is_some()).map(|(place, _)| place);
        assert!(places.clone().count() > 0);
        assert!(places.into_iter().all(|place: u64| place >= span.first && place < span.first + span.count));
        // As if the device had lost the writes of the window: the older contents are not taken for them.
        run(&mut flow, 20).unwrap();
        stretch::first_pass(&job, span).unwrap();
        let error = flow.verify().unwrap_err();
        assert!(error.contains("the last write is missing"), "{pattern} by {engine}: {error}");
    }
}

#[test]
fn rereads_stay_in_their_stretch_and_find_what_is_wrong_in_it() {
    for pattern in [DiskPattern::Sequential, DiskPattern::Random] {
        let (held, params) = coming_back(DiskOp::Reread, pattern, DiskEngine::IoUring);
        let (job, span) = stretch_of(&params, &held, 4);
        let spoil = |places: std::ops::Range<u64>| {
            for place in places {
                held.file.write_all_at(&vec![7; 64 << 10], place * (64 << 10)).unwrap();
            }
            held.file.sync_data().unwrap();
        };
        spoil(1.min(span.first)..span.first);
        spoil(span.first + span.count..320);
        let mut flow = open(&params, &held, 4).unwrap();
        assert!(run_until_counted(&mut flow).operations > 0);
        spoil(span.first..span.first + span.count);
        let error = run(&mut flow, 200).unwrap_err();
        assert!(error.contains("this run has not written"), "{error}");
        let error = stretch::first_pass(&job, span).unwrap_err();
        assert!(error.contains("this run has not written"), "the first pass checks too: {error}");
        held.file.set_len(span.first * (64 << 10) + 512).unwrap();
        let error = stretch::first_pass(&job, span).unwrap_err();
        assert!(error.contains("bytes were moved"), "{error}");
    }
}

#[test]
fn reads_and_writes_are_made_in_turn_and_counted_apart() {
    const WINDOWS: u32 = 3;
    crate::tests::in_parallel([DiskEngine::IoUring, DiskEngine::Sync, DiskEngine::Null], |engine| {
        let held = laid_out(MIB);
        for ((launch, &pattern), depth) in (1..).zip(DiskPattern::ALL).zip([1, 8, 8, 1]) {
            let params = params(pattern, DiskOp::Mixed, 4096, depth, engine);
            let mut flow = open(&params, &held, launch).unwrap();
            // Enough operations to make those in flight at the ends of windows negligible.
            let operations: u64 = (0..WINDOWS).map(|_| run_until_counted(&mut flow).operations).sum();
            let seen = conditions(&mut flow);
            let share = seen.read_share.unwrap();
            // The requests in flight at either end of a window, and one in each lane, may differ.
            let most = f64::from(WINDOWS * 3 * depth) / operations as f64;
            assert!((share - 0.5).abs() <= most, "{params:?}: {share} of {operations}");
            let known = seen.read_latency_seconds > Some(0.0) && seen.write_latency_seconds > Some(0.0);
            assert!(operations <= 1000 || known, "{seen:?}");
            assert_eq!(seen.flush_seconds.is_some(), engine != DiskEngine::Null, "{seen:?}");
        }
    });
    let held = laid_out(MIB);
    let mut plain = open(&params(DiskPattern::Random, DiskOp::Write, 4096, 1, DiskEngine::Sync), &held, 9).unwrap();
    run_until_counted(&mut plain);
    assert_eq!(conditions(&mut plain).read_share, None, "there is one kind of request");
}

#[test]
fn threads_that_read_and_write_in_a_small_file_never_disturb_each_other() {
    // Two blocks for each request in flight, the fewest that are allowed.
    crate::tests::in_parallel(DiskPattern::ALL, |&pattern| {
        for op in [DiskOp::Mixed, DiskOp::Rewrite] {
            for engine in [DiskEngine::IoUring, DiskEngine::Sync] {
                let held = Arc::new(laid_out(2 * 2 * 8 * 4096));
                let params = DiskParams { threads: 2, ..params(pattern, op, 4096, 8, engine) };
                let task = task(&params, &held, 7);
                std::thread::scope(|scope| {
                    for thread in 0..2 {
                        let (params, held, task) = (&params, &held, &task);
                        scope.spawn(move || {
                            let mut flow = DiskFlow::open(params, &held.held, task, thread).unwrap();
                            for _ in 0..3 {
                                run(&mut flow, 20).unwrap();
                                flow.verify().unwrap();
                            }
                        });
                    }
                });
            }
        }
    });
}
