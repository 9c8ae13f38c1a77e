//! In which order blocks are visited, and what writes wait for.

use std::os::unix::fs::FileExt;

use super::*;

/// The block that was written `count`th, or none where the place has what the layout wrote: stamps tell.
fn written(held: &Held, block: u64, blocks: u64) -> Vec<Option<u64>> {
    let contents = super::super::contents::Contents::new(held.held.seed);
    let mut bytes = vec![0; usize::try_from(block).unwrap()];
    let mut order = Vec::new();
    for place in 0..blocks {
        held.file.read_exact_at(&mut bytes, place * block).unwrap();
        let mut by = None;
        let noted = |origin: super::super::contents::Origin| {
            by = (origin.launch != 0).then_some(origin.count);
            true
        };
        contents.check(&bytes, place * block, noted).unwrap();
        order.push(by);
    }
    order
}

/// Writes at most a pass and tells in which order, by the stamps in the file.
fn order_on_file(pattern: DiskPattern, engine: DiskEngine, depth: u32) -> Vec<u64> {
    const BLOCKS: u64 = 64;
    let held = laid_out(BLOCKS * 64 << 10);
    let params = params(pattern, DiskOp::Write, 64 << 10, depth, engine);
    let mut flow = open(&params, &held, 3).unwrap();
    let mut stamps = Vec::new();
    // Until some have been written; not so long that the second pass hides the first.
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
                // At the end of a round it goes back: to the next round's first block, or round again.
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
    let held = held(MIB);
    // `asm-generic/fcntl.h`, which x86 and Arm share here.
    const O_DSYNC: u64 = 0o10_000;
    const O_SYNC: u64 = 0o4_010_000;
    let flags = |sync, write| {
        let access = super::super::lane::Access { direct: false, sync };
        let file = access.open(held.held.path.as_ref(), write).unwrap();
        let told = std::fs::read_to_string(format!("/proc/self/fdinfo/{}", file.as_raw_fd())).unwrap();
        let flags = told.lines().find_map(|line| line.strip_prefix("flags:")).unwrap();
        u64::from_str_radix(flags.trim(), 8).unwrap() & O_SYNC
    };
    assert_eq!(DiskSync::ALL.iter().map(|sync| flags(*sync, true)).collect::<Vec<_>>(), [0, O_DSYNC, O_SYNC]);
    assert!(DiskSync::ALL.iter().all(|sync| flags(*sync, false) == 0), "who only reads waits for nothing");
}

#[test]
fn every_kind_of_write_is_read_back() {
    let held = laid_out(4 * MIB);
    for (launch, &sync) in (1..).zip(DiskSync::ALL) {
        for engine in direct_engines(&held) {
            let params = DiskParams { sync, ..params(DiskPattern::Random, DiskOp::Write, 4096, 2, engine) };
            let mut flow = open(&params, &held, launch).unwrap();
            assert!(run_until_counted(&mut flow).operations > 0, "{sync} by {engine}");
        }
    }
}
