//! What users of other programs call a row of the disk: the profiles of `CrystalDiskMark` 8, whose names `KDiskMark` took
//! over. A name is of what is asked for and not of how the figure comes about, so figures of both need not be the same.

use model::document::Row;
use model::experiment::DiskParams;
use model::io::{DiskCache, DiskEngine, DiskLayout, DiskOp, DiskPattern, DiskSync};

use super::label::params;

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

/// Pattern, block, requests in flight per thread, threads and name, as both programs show them by default and for drives
/// on NVM Express. They have more that one sets oneself: those are known to nobody else.
const NAMES: &[(DiskPattern, u64, u32, u32, &str)] = &[
    (DiskPattern::Sequential, MIB, 8, 1, "SEQ1M Q8T1"),
    (DiskPattern::Sequential, MIB, 1, 1, "SEQ1M Q1T1"),
    (DiskPattern::Sequential, 128 * KIB, 32, 1, "SEQ128K Q32T1"),
    (DiskPattern::Random, 4 * KIB, 32, 16, "RND4K Q32T16"),
    (DiskPattern::Random, 4 * KIB, 32, 1, "RND4K Q32T1"),
    (DiskPattern::Random, 4 * KIB, 1, 1, "RND4K Q1T1"),
];

/// What these names mean, for whoever does not know them.
pub const ABOUT: &str = "Known as: what CrystalDiskMark and KDiskMark call such a row. SEQ1M Q8T1: in order (RND: \
    at random), blocks of 1 MiB, 8 requests in flight per thread (Q), 1 thread (T).";

/// The name of a row of the disk that has one.
pub fn name(row: &Row) -> Option<&'static str> {
    let own = params(row).filter(|own| is_plain(own))?;
    let of = (own.pattern, own.block, own.depth, own.threads);
    NAMES.iter().find(|(pattern, block, depth, threads, _)| (*pattern, *block, *depth, *threads) == of).map(|row| row.4)
}

/// Whether a row does what those programs do: reads alone or writes alone, as fast as they go, of one file, past the page
/// cache, and no write waits for the medium.
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
