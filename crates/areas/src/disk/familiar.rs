//! Profiles of `CrystalDiskMark` 8 and `KDiskMark` that match disk benchmarks; their methods differ from ours.

use model::document::Row;
use model::experiment::DiskParams;
use model::io::{DiskCache, DiskEngine, DiskLayout, DiskOp, DiskPattern, DiskSync};

use super::label::params;

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

/// Pattern, block, queue depth per thread, threads and name of their default and `NVMe` profiles.
const NAMES: &[(DiskPattern, u64, u32, u32, &str)] = &[
    (DiskPattern::Sequential, MIB, 8, 1, "SEQ1M Q8T1"),
    (DiskPattern::Sequential, MIB, 1, 1, "SEQ1M Q1T1"),
    (DiskPattern::Sequential, 128 * KIB, 32, 1, "SEQ128K Q32T1"),
    (DiskPattern::Random, 4 * KIB, 32, 16, "RND4K Q32T16"),
    (DiskPattern::Random, 4 * KIB, 32, 1, "RND4K Q32T1"),
    (DiskPattern::Random, 4 * KIB, 1, 1, "RND4K Q1T1"),
];

/// What these names mean.
pub const ABOUT: &str = "Known as: the name in CrystalDiskMark and KDiskMark. SEQ1M Q8T1: sequential (RND: random), \
                         blocks of 1 MiB, queue depth 8 per thread (Q), 1 thread (T).";

/// The name of a disk result, if it has one.
pub fn name(row: &Row) -> Option<&'static str> {
    let own = params(row).filter(|own| is_plain(own))?;
    let of = (own.pattern, own.block, own.depth, own.threads);
    NAMES.iter().find(|(pattern, block, depth, threads, _)| (*pattern, *block, *depth, *threads) == of).map(|row| row.4)
}

fn is_plain(own: &DiskParams) -> bool {
    matches!(own.op, DiskOp::Read | DiskOp::Write)
        && own.direct
        && own.cache == DiskCache::Bypassed
        && own.sync == DiskSync::None
        && own.layout == DiskLayout::Shared
        && own.load_percent.is_none()
        && own.engine != DiskEngine::Null
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_says_what_its_row_is() {
        for (pattern, block, depth, threads, name) in NAMES {
            let order = if *pattern == DiskPattern::Random { "RND" } else { "SEQ" };
            let size = if *block >= MIB { format!("{}M", block / MIB) } else { format!("{}K", block / KIB) };
            assert_eq!(*name, format!("{order}{size} Q{depth}T{threads}"));
        }
    }
}
