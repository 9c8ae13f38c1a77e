//! Every memory stream that this machine can run, against plain loops over the same lines.

use std::collections::HashSet;

use kernels::features::Features;
use kernels::lines::{Block, CacheLine};
use kernels::memory::{BoundMemory, MEMORY_KERNELS, MemoryKernel, combined, is_fp64};
use kernels::pattern::Pattern;
use kernels::portable;
use model::isa::MemoryOp;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

fn bound() -> impl Iterator<Item = (&'static MemoryKernel, BoundMemory)> {
    let rows = MEMORY_KERNELS.iter().chain(portable::MEMORY_KERNELS);
    rows.filter_map(|kernel| Some((kernel, kernel.bind(&Features::detect())?)))
}

/// Blocks of a pattern, or of whole numbers as fp64 where the operation computes with these.
fn filled(op: MemoryOp, seed: u64, blocks: usize) -> Vec<Block> {
    let mut data = vec![[CacheLine::default(); 8]; blocks];
    Pattern::seeded(seed).fill(data.as_flattened_mut());
    if is_fp64(op) {
        for (index, word) in words_mut(&mut data).enumerate() {
            *word = ((seed % 1_000_003) as f64 + 7.0 * index as f64).to_bits();
        }
    }
    data
}

fn words_mut(blocks: &mut [Block]) -> impl Iterator<Item = &mut u64> {
    blocks.as_flattened_mut().iter_mut().flat_map(|line| &mut line.0)
}

fn words(blocks: &[Block]) -> Vec<u64> {
    blocks.as_flattened().iter().flat_map(|line| line.0).collect()
}

/// A word of the target, by the definitions alone.
fn oracle(op: MemoryOp, sources: &[u64]) -> u64 {
    use MemoryOp::{Add, AddNt, Scale, ScaleNt, Triad, TriadNt};
    let number = |index: usize| f64::from_bits(sources[index]);
    match op {
        Scale | ScaleNt => (number(0) * 3.0).to_bits(),
        Add | AddNt => (number(0) + number(1)).to_bits(),
        Triad | TriadNt => (number(1) * 3.0 + number(0)).to_bits(),
        _ => match sources {
            [a] => *a,
            [a, b] => a ^ b,
            [a, b, c] => a ^ b ^ c,
            other => panic!("{} sources", other.len()),
        },
    }
}

/// Runs one kernel over blocks and passes and checks all reads, all writes and a block beyond the end.
fn check(kernel: &MemoryKernel, bound: BoundMemory, blocks: usize, passes: usize, seed: u64) {
    let what = format!("{} over {blocks} blocks {passes} times", kernel.name);
    let sources: Vec<_> = (1..=3).map(|each| filled(kernel.op, seed ^ each, blocks + 1)).collect();
    let before = filled(kernel.op, !seed, blocks + 1);
    let mut target = before.clone();
    let (old, expected_blocks) = (words(&before), (blocks * passes) as u64);
    let done = passes > 0;
    let expected: Vec<u64> = match bound {
        BoundMemory::Read(read) => {
            let words = words(&sources[0][..blocks]);
            let firsts = words.chunks(kernel.vector_bytes).flat_map(|group| &group[..kernel.vector_bytes / 8]);
            let sum = firsts.fold(0_u64, |sum, word| sum.wrapping_add(*word));
            assert_eq!(read.sum_of(&Pattern::seeded(seed ^ 1), blocks), sum, "{what}");
            let found = read.run(&sources[0][..blocks], passes);
            assert_eq!((found.blocks, found.sum), (expected_blocks, sum.wrapping_mul(passes as u64)), "{what}");
            return;
        }
        BoundMemory::Write(write) => {
            let new = Pattern::seeded(seed);
            assert_eq!(write.run(&mut target[..blocks], passes, &new), expected_blocks, "{what}");
            let last = |line| new.line(8 * blocks * passes.saturating_sub(1) + line);
            (0..8 * blocks).flat_map(|line| last(line).0).collect()
        }
        BoundMemory::Update(update) => {
            assert_eq!(update.run(&mut target[..blocks], passes), expected_blocks, "{what}");
            old.iter().map(|word| word.wrapping_add(passes as u64)).collect()
        }
        BoundMemory::Zero(zero) => {
            assert_eq!(zero.run(&mut target[..blocks], passes), expected_blocks, "{what}");
            vec![0; old.len()]
        }
        BoundMemory::Combine(combine) => {
            let from: Vec<&[Block]> = sources.iter().take(combine.sources()).map(|each| &each[..blocks]).collect();
            assert_eq!(combine.run(&mut target[..blocks], &from, passes), expected_blocks, "{what}");
            let from: Vec<Vec<u64>> = from.iter().map(|each| words(each)).collect();
            (0..64 * blocks)
                .map(|word| oracle(kernel.op, &from.iter().map(|each| each[word]).collect::<Vec<_>>()))
                .collect()
        }
    };
    let expected = if done { &expected[..64 * blocks] } else { &old[..64 * blocks] };
    let found = words(&target);
    assert!(found[..64 * blocks] == *expected, "{what}");
    assert!(found[64 * blocks..] == old[64 * blocks..], "{what} wrote beyond the end");
}

#[test]
fn every_stream_agrees_with_a_plain_loop() {
    for (kernel, bound) in bound() {
        for blocks in [0, 1, 2, 3, 100] {
            for passes in [0, 1, 2, 3, 8] {
                check(kernel, bound, blocks, passes, blocks as u64 * 1_000_003 + passes as u64);
            }
        }
    }
}

#[test]
fn every_streaming_operation_has_its_rows() {
    let by_the_c_library = MemoryOp::Memcpy;
    for op in MemoryOp::STREAMS {
        let rows = MEMORY_KERNELS.iter().filter(|kernel| kernel.op == *op).count();
        let expected = match op {
            op if *op == by_the_c_library => 0,
            MemoryOp::RepMovsb => usize::from(cfg!(target_arch = "x86_64")),
            MemoryOp::DcZva => usize::from(cfg!(target_arch = "aarch64")),
            MemoryOp::ByteLoop => 1,
            _ => 3,
        };
        let is_portable = cfg!(not(any(target_arch = "x86_64", target_arch = "aarch64")));
        assert!(is_portable || rows == expected, "{op}: {rows} rows");
    }
}

#[test]
fn combinations_agree_with_their_definition() {
    for kernel in MEMORY_KERNELS.iter().filter(|kernel| kernel.sources() > 0 && kernel.store.is_some()) {
        let sources: Vec<u64> = (0..kernel.sources()).map(|each| f64::to_bits(17.0 + 1000.0 * each as f64)).collect();
        assert_eq!(combined(kernel.op, &sources), oracle(kernel.op, &sources), "{}", kernel.name);
    }
    assert_eq!(combined(MemoryOp::Triad, &[5.0_f64.to_bits(), 7.0_f64.to_bits()]), 26.0_f64.to_bits());
}

#[test]
fn a_sum_identifies_the_number_of_passes() {
    let lines = filled(MemoryOp::Read, 3, 4);
    for (kernel, bound) in bound() {
        let BoundMemory::Read(read) = bound else { continue };
        let sums: HashSet<u64> = (0..100).map(|passes| read.run(&lines, passes).sum).collect();
        assert_eq!(sums.len(), 100, "{}", kernel.name);
    }
}

/// Runs every loop of an operation from this number of blocks to two.
fn combine(op: MemoryOp, blocks: usize) {
    let (mut target, source) = (filled(op, 1, 2), filled(op, 2, blocks));
    for (_, bound) in bound().filter(|(kernel, _)| kernel.op == op) {
        let BoundMemory::Combine(combine) = bound else { continue };
        combine.run(&mut target, &[&source], 1);
    }
}

#[test]
#[should_panic(expected = "number of sources")]
fn a_wrong_number_of_sources_is_refused() {
    combine(MemoryOp::Add, 2);
}

#[test]
#[should_panic(expected = "as many blocks")]
fn a_source_that_is_too_short_is_refused() {
    combine(MemoryOp::Copy, 1);
}

#[test]
fn a_wrong_word_is_located() {
    let pattern = Pattern::seeded(6);
    let mut lines = [CacheLine::default(); 16];
    pattern.fill(&mut lines);
    assert_eq!(pattern.verify(&lines), Ok(()));
    lines[9].0[3] ^= 1;
    let wrong = pattern.verify(&lines).unwrap_err();
    assert_eq!((wrong.line, wrong.word, wrong.expected ^ wrong.found), (9, 3, 1));
}

#[test]
fn no_line_of_a_pattern_is_zero_or_occurs_twice() {
    let mut lines = vec![CacheLine::default(); 1 << 14];
    Pattern::seeded(7).fill(&mut lines);
    assert_eq!(lines[100], Pattern::seeded(7).line(100));
    let unique: HashSet<_> = lines.iter().map(|line| line.0).collect();
    assert_eq!(unique.len(), lines.len());
    assert!(!unique.contains(&CacheLine::default().0));
}

#[test]
fn lines_of_a_byte_buffer_are_whole_and_inside_it() {
    let mut bytes = vec![1; 1000];
    let lines = CacheLine::slice_mut(&mut bytes);
    assert!((14..=15).contains(&lines.len()), "{}", lines.len());
    lines.fill(CacheLine([2; 8]));
    assert_eq!(CacheLine::slice(&bytes).iter().flat_map(|line| line.0).sum::<u64>() % 16, 0);
}

fn config() -> ProptestConfig {
    ProptestConfig { rng_seed: RngSeed::Fixed(3), failure_persistence: None, cases: 64, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a_pattern_continues(seed: u64, lines in 0_usize..1000, ahead in 0_usize..1000) {
        let pattern = Pattern::seeded(seed);
        prop_assert_eq!(pattern.after(lines).line(ahead), pattern.line(lines + ahead));
        let both = pattern.sum(lines, 1, 8).wrapping_add(pattern.after(lines).sum(ahead, 1, 8));
        prop_assert_eq!(both, pattern.sum(lines + ahead, 1, 8));
        for (apart, words) in [(1, 8), (1, 1), (2, 2), (4, 4), (8, 8)] {
            let plain = (0..lines).flat_map(|line| pattern.line(apart * line).0[..words].to_vec());
            prop_assert_eq!(pattern.sum(lines, apart, words), plain.fold(0_u64, u64::wrapping_add));
        }
    }
}
