//! The series of Intel's LINPACK benchmark.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) n: u64,
    pub(super) lda: u64,
    pub(super) trials: u32,
    pub(super) align_kib: u64,
}

const fn entry(n: u64, lda: u64, trials: u32, align_kib: u64) -> Entry {
    Entry { n, lda, trials, align_kib }
}

/// The series, as `lininput_xeon64` has it (Intel Distribution for LINPACK Benchmark, oneMKL `benchmarks/linpack`).
#[rustfmt::skip]
pub(super) const SERIES: &[Entry] = &[
    entry( 1_000,  1_000, 4, 4),
    entry( 2_000,  2_000, 2, 4),
    entry( 5_000,  5_008, 2, 4),
    entry(10_000, 10_000, 2, 4),
    entry(15_000, 15_000, 2, 4),
    entry(18_000, 18_008, 2, 4),
    entry(20_000, 20_016, 2, 4),
    entry(22_000, 22_008, 2, 4),
    entry(25_000, 25_000, 2, 4),
    entry(26_000, 26_000, 2, 4),
    entry(27_000, 27_000, 1, 4),
    entry(30_000, 30_000, 1, 1),
    entry(35_000, 35_000, 1, 1),
    entry(40_000, 40_000, 1, 1),
    entry(45_000, 45_000, 1, 1),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_series_is_the_missions() {
        let orders = [1, 2, 5, 10, 15, 18, 20, 22, 25, 26, 27, 30, 35, 40, 45].map(|thousands| 1000 * thousands);
        assert!(SERIES.iter().map(|entry| entry.n).eq(orders));
        let padded: Vec<u64> = SERIES.iter().filter(|entry| entry.lda != entry.n).map(|entry| entry.lda).collect();
        assert_eq!(padded, [5_008, 18_008, 20_016, 22_008]);
        assert_eq!(SERIES[0].trials, 4);
        assert!(SERIES.windows(2).all(|pair| pair[0].n < pair[1].n && pair[0].trials >= pair[1].trials));
        assert!(SERIES.iter().all(|entry| entry.lda >= entry.n && entry.align_kib.is_power_of_two()));
    }
}
