//! Every memory stream that this machine can run, against plain loops over the same lines.

use kernels::features::Features;
use kernels::lines::Line;
use kernels::memory::{BoundMemory, MEMORY_KERNELS, MemoryKernel};
use kernels::pattern::{Pattern, checksum};
use kernels::portable;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

fn bound() -> impl Iterator<Item = (&'static MemoryKernel, BoundMemory)> {
    let rows = MEMORY_KERNELS.iter().chain(portable::MEMORY_KERNELS);
    rows.filter_map(|kernel| Some((kernel, kernel.bind(&Features::detect())?)))
}

/// Runs one kernel over `blocks` blocks and checks all that it read, all that it wrote, and a line beyond the end.
fn check(kernel: &MemoryKernel, bound: BoundMemory, blocks: usize, seed: u64) {
    let lines = blocks * 8;
    let (old, new) = (Pattern::seeded(seed), Pattern::seeded(!seed));
    let mut src = vec![Line::default(); lines + 8];
    let mut dst = src.clone();
    new.fill(&mut src);
    old.fill(&mut dst);
    let (from, to) = (&Line::blocks(&src)[..blocks], &mut Line::blocks_mut(&mut dst)[..blocks]);
    match bound {
        BoundMemory::Read(read) => {
            assert_eq!(read.run(from), checksum(&src[..lines]), "{}", kernel.name);
            assert_eq!(new.checksum(lines), checksum(&src[..lines]));
            return;
        }
        BoundMemory::Write(write) => write.run(to, &new),
        BoundMemory::Copy(copy) => copy.run(to, from),
    }
    assert_eq!(new.verify(&dst[..lines]), Ok(()), "{} x {blocks}", kernel.name);
    assert_eq!(old.after(lines).verify(&dst[lines..]), Ok(()), "{} wrote beyond the end", kernel.name);
}

#[test]
fn every_stream_does_what_a_plain_loop_does() {
    for (kernel, bound) in bound() {
        for blocks in [0, 1, 2, 3, 100] {
            check(kernel, bound, blocks, 5);
        }
    }
}

#[test]
fn a_word_that_is_wrong_is_found_where_it_is() {
    let pattern = Pattern::seeded(6);
    let mut lines = [Line::default(); 16];
    pattern.fill(&mut lines);
    assert_eq!(pattern.verify(&lines), Ok(()));
    lines[9].0[3] ^= 1;
    let wrong = pattern.verify(&lines).unwrap_err();
    assert_eq!((wrong.line, wrong.word, wrong.expected ^ wrong.found), (9, 3, 1));
    assert_ne!(pattern.checksum(16), checksum(&lines));
}

#[test]
fn no_line_of_a_pattern_is_zero_or_occurs_twice() {
    let mut lines = vec![Line::default(); 1 << 14];
    Pattern::seeded(7).fill(&mut lines);
    assert_eq!(lines[100], Pattern::seeded(7).line(100));
    let unique: std::collections::HashSet<_> = lines.iter().map(|line| line.0).collect();
    assert_eq!(unique.len(), lines.len());
    assert!(!unique.contains(&Line::default().0));
}

#[test]
fn lines_of_a_byte_buffer_are_whole_and_inside_it() {
    let mut bytes = vec![1; 1000];
    let lines = Line::of_mut(&mut bytes);
    assert!((14..=15).contains(&lines.len()), "{}", lines.len());
    lines.fill(Line([2; 8]));
    assert_eq!(Line::of(&bytes).iter().flat_map(|line| line.0).sum::<u64>() % 16, 0);
}

/// The same cases at every run.
fn config() -> ProptestConfig {
    ProptestConfig { rng_seed: RngSeed::Fixed(3), failure_persistence: None, cases: 64, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn any_length_and_pattern_is_streamed_whole(blocks in 0_usize..50, seed: u64) {
        for (kernel, bound) in bound() {
            check(kernel, bound, blocks, seed);
        }
    }

    #[test]
    fn a_pattern_continues_where_it_was_left(seed: u64, lines in 0_usize..1000, ahead in 0_usize..1000) {
        let pattern = Pattern::seeded(seed);
        prop_assert_eq!(pattern.after(lines).line(ahead), pattern.line(lines + ahead));
        let both = pattern.checksum(lines) ^ pattern.after(lines).checksum(ahead);
        prop_assert_eq!(both, pattern.checksum(lines + ahead));
    }
}
