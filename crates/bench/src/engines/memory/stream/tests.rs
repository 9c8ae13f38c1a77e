use model::isa::{Isa, MemoryPattern};

use super::*;
use crate::engines::memory::tests::params as plain;

fn params(op: MemoryOp, working_set: u64) -> MemoryParams {
    let isa = memory::usable(op, &Features::detect()).next().map_or(Isa::Scalar, |kernel| kernel.isa);
    MemoryParams { isa, ..plain(MemoryPattern::Sequential, op, working_set) }
}

fn ops() -> impl Iterator<Item = MemoryOp> {
    let has_loop = |op: &MemoryOp| memory::usable(*op, &Features::detect()).next().is_some();
    MemoryOp::STREAMS.iter().copied().filter(move |op| *op == MemoryOp::Memcpy || has_loop(op))
}

fn trial(op: MemoryOp, working_set: u64) -> StreamTrial {
    StreamTrial::open(&params(op, working_set), 3, 1).unwrap()
}

const WORKING_SETS: [u64; 3] = [3 << 20, 48 << 10, 4 << 10];

#[test]
fn every_stream_verifies_over_part_of_a_pass_and_several() {
    for op in ops() {
        for working_set in WORKING_SETS {
            let mut trial = trial(op, working_set);
            for iterations in [1, 31, 200, 1, 0] {
                trial.run(iterations);
                trial.verify().unwrap_or_else(|wrong| panic!("{op} of {working_set} B, {iterations}: {wrong}"));
            }
        }
    }
}

#[test]
fn every_byte_that_is_counted_is_in_the_working_set_and_only_the_librarys_copy_names_a_library() {
    for op in ops() {
        let trial = trial(op, 3 << 20);
        assert_eq!(trial.means().c_library, (op == MemoryOp::Memcpy).then(sys::copy::library), "{op}");
        let used = trial.granules.all_bytes() as u64 * parts(op);
        assert!(used <= 3 << 20 && used > (3 << 20) - (3 << 14), "{op}: {used}");
        let counted = trial.profile().work_per_iteration / trial.granules.bytes() as f64;
        let expected = match op {
            MemoryOp::Read | MemoryOp::Write | MemoryOp::WriteNt | MemoryOp::DcZva => 1.0,
            MemoryOp::Add | MemoryOp::AddNt | MemoryOp::Triad | MemoryOp::TriadNt | MemoryOp::Mix21 => 3.0,
            MemoryOp::Mix31 => 4.0,
            _ => 2.0,
        };
        assert!((counted - expected).abs() < 1e-9, "{op} counts {counted} times what it goes over");
    }
}

/// The data shows it even if the loops claim that their pointers went there.
#[test]
fn work_that_was_claimed_but_not_done_is_found() {
    for op in ops() {
        let mut trial = trial(op, 48 << 10);
        trial.run(8);
        trial.done += trial.granules.count as u64;
        let wrong = trial.verify().expect_err("a pass too many was believed");
        assert!(wrong.contains("blocks instead of"), "{op}: {wrong}");
    }
    let claim = |trial: &mut StreamTrial, passes: u64| {
        let granules = passes * trial.granules.count as u64;
        trial.done += granules;
        trial.blocks += granules * trial.granules.blocks as u64;
    };
    for op in [MemoryOp::Read, MemoryOp::Write, MemoryOp::Update] {
        for missing in [1, 2, 1 << 20] {
            let mut trial = trial(op, 48 << 10);
            trial.run(8);
            claim(&mut trial, missing);
            assert!(trial.verify().is_err(), "{op}: {missing} passes too many were believed");
        }
    }
    for op in ops().filter(|op| *op != MemoryOp::Read) {
        for working_set in [200 << 10, 4 << 10] {
            let mut trial = trial(op, working_set);
            trial.run(trial.granules.count as u64);
            trial.verify().unwrap();
            claim(&mut trial, 1);
            let wrong = trial.verify().expect_err("an old target was believed");
            assert!(wrong.contains("granule"), "{op}: {wrong}");
        }
    }
}

#[test]
fn a_single_wrong_bit_is_found() {
    for op in ops() {
        let mut trial = trial(op, 48 << 10);
        trial.run(5);
        trial.verify().unwrap();
        trial.run(2 * trial.granules.count as u64);
        let sources = trial.sources.iter_mut().map(|source| &mut source.array);
        let array = trial.target.as_mut().or(sources.into_iter().next()).unwrap();
        let middle = array.lines().len() / 2 + 3;
        array.lines_mut()[middle].0[5] ^= 1 << 40;
        let wrong = trial.verify().expect_err("a wrong bit was believed");
        assert!(wrong.contains("word 5"), "{op}: {wrong}");
    }
}

#[test]
fn every_source_counts() {
    for op in ops() {
        for source in 0..trial(op, 48 << 10).sources.len() {
            let mut trial = trial(op, 48 << 10);
            let lines = trial.sources[source].array.lines_mut();
            lines[16].0[0] ^= 1 << 51;
            trial.run(trial.granules.count as u64);
            assert!(trial.verify().is_err(), "{op}: source {source} was not read");
        }
    }
}

#[test]
fn what_is_read_is_summed_up_where_the_words_are_right_again() {
    let mut trial = trial(MemoryOp::Read, 48 << 10);
    trial.sources[0].array.lines_mut()[8].0[0] ^= 1;
    trial.run(2);
    trial.sources[0].array.lines_mut()[8].0[0] ^= 1;
    let wrong = trial.verify().expect_err("a wrong word was read and believed");
    assert!(wrong.contains("sum"), "{wrong}");
}

#[test]
fn a_working_set_below_a_block_is_refused_with_the_least() {
    let refused = |op| StreamTrial::open(&params(op, 1000), 3, 0).err().map(|trouble| trouble.to_string());
    let reason = refused(MemoryOp::Triad).unwrap();
    assert!(reason.contains("below 1536B"), "{reason}");
    assert_eq!(refused(MemoryOp::Read), None);
}

#[test]
fn arrays_lie_apart_modulo_a_page_and_inside_the_slack_of_a_huge_one() {
    const LINES_PER_PAGE: usize = 64;
    let mut firsts = std::collections::BTreeSet::new();
    for thread in 0..STAGGERED_THREADS {
        for array in 0..=MOST_SOURCES {
            let first = first_line(thread, array);
            let is_small = first * CacheLine::BYTES < sys::memory::HUGE_PAGE_BYTES;
            assert!(firsts.insert(first) && is_small, "{thread}, {array}");
            // From a load back to the store with the same offset in a page: three quarters of one at least.
            let behind = (first_line(thread, 0) + 64 * LINES_PER_PAGE - first) % LINES_PER_PAGE;
            assert!(array == 0 || behind >= 48, "array {array} of thread {thread}: {behind} lines");
        }
    }
}
