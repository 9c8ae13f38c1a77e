//! Parts, shares of threads, and blocks of a working set.

use kernels::blocks::WORD_BYTES;
use model::experiment::MemoryParams;
use model::isa::{MemoryOp, MemoryPattern};
use model::unit::format_size;

/// The least block whose random order is stored, not generated: 4 bytes of index are then a thousandth of a block.
pub const LEAST_LISTED_BYTES: usize = 4 << 10;

/// The number of equal parts of the working set of an operation.
pub const fn parts(op: MemoryOp) -> u64 {
    match op {
        MemoryOp::Read
        | MemoryOp::Write
        | MemoryOp::WriteNt
        | MemoryOp::DcZva
        | MemoryOp::Update
        | MemoryOp::Increment
        | MemoryOp::Load
        | MemoryOp::Handoff => 1,
        MemoryOp::Copy
        | MemoryOp::CopyNt
        | MemoryOp::Scale
        | MemoryOp::ScaleNt
        | MemoryOp::Mix11
        | MemoryOp::RepMovsb
        | MemoryOp::Memcpy
        | MemoryOp::ByteLoop => 2,
        MemoryOp::Add | MemoryOp::AddNt | MemoryOp::Triad | MemoryOp::TriadNt | MemoryOp::Mix21 => 3,
        MemoryOp::Mix31 => 4,
    }
}

/// One thread's bytes of each part of the working set.
pub fn share_bytes(params: &MemoryParams) -> usize {
    let share = params.working_set / u64::from(params.threads.max(1)) / parts(params.op);
    usize::try_from(share).unwrap_or(usize::MAX / 4)
}

/// Whether it accesses blocks or single words.
pub(super) fn has_blocks(params: &MemoryParams) -> bool {
    params.pattern == MemoryPattern::Random || params.pattern == MemoryPattern::Sequential && params.block.is_some()
}

pub(super) fn unfit_blocks(params: &MemoryParams) -> Option<String> {
    obstacle(params).filter(|_| has_blocks(params))
}

/// Why these blocks are impossible.
pub fn obstacle(params: &MemoryParams) -> Option<String> {
    let block = block_bytes(params);
    if block == 0 || !block.is_multiple_of(WORD_BYTES) {
        let block = format_size(block as u64);
        return Some(format!("a block of {block} is not possible: choose a multiple of {WORD_BYTES} B"));
    }
    if block > share_bytes(params) {
        let (parts, threads) = (parts(params.op), u64::from(params.threads.max(1)));
        let least = (block as u64).saturating_mul(parts).saturating_mul(threads);
        let [block, working_set, least] = [block as u64, params.working_set, least].map(format_size);
        return Some(format!(
            "a block of {block} is larger than a thread's part of the working set of {working_set}: choose a working set \
             of at least {least}, fewer threads or smaller blocks"
        ));
    }
    None
}

/// The working set; for a generated order a power of two of blocks per thread, up if at most `most` bytes.
pub(super) fn whole_orders(params: &MemoryParams, most: Option<u64>) -> u64 {
    let block = block_bytes(params);
    if params.pattern != MemoryPattern::Random || block >= LEAST_LISTED_BYTES || obstacle(params).is_some() {
        return params.working_set;
    }
    let unit = block as u64 * parts(params.op) * u64::from(params.threads.max(1));
    let up = params.working_set.div_ceil(unit).checked_next_power_of_two().and_then(|blocks| blocks.checked_mul(unit));
    let fits = |bytes: &u64| most.is_none_or(|most| *bytes <= most);
    up.filter(fits).unwrap_or_else(|| power_of_two_within(params.working_set / unit) * unit)
}

/// The largest power of two up to a number; 0 for 0.
pub const fn power_of_two_within(number: u64) -> u64 {
    if number == 0 { 0 } else { 1 << number.ilog2() }
}

/// Bytes of a block; a word for increments.
pub fn block_bytes(params: &MemoryParams) -> usize {
    params.block.map_or(WORD_BYTES, |bytes| usize::try_from(bytes).unwrap_or(usize::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::tests::params;

    #[test]
    fn blocks_that_do_not_fit_or_are_no_words_are_refused_with_what_to_do() {
        let too_large = MemoryParams { threads: 3, ..params(MemoryPattern::Random, MemoryOp::Copy, Some(1 << 20)) };
        let reason = obstacle(&too_large).unwrap();
        assert!(reason.contains("1MiB") && reason.contains("4MiB") && reason.contains("at least 6MiB"), "{reason}");
        for odd in [0, 1, 7, 100, 1001] {
            let reason = obstacle(&params(MemoryPattern::Sequential, MemoryOp::Write, Some(odd))).unwrap();
            assert!(reason.contains("multiple of 8 B"), "{reason}");
        }
        let fits = MemoryParams { threads: 2, ..too_large };
        assert_eq!(obstacle(&fits), None);
    }

    #[test]
    fn a_generated_order_has_a_power_of_two_of_blocks_up_where_there_is_memory() {
        let copy = |threads, block| MemoryParams {
            threads,
            working_set: 1 << 30,
            ..params(MemoryPattern::Random, MemoryOp::Copy, Some(block))
        };
        assert_eq!(whole_orders(&copy(4, 8), None), 1 << 30);
        assert_eq!(whole_orders(&copy(6, 8), None), 6 << 28, "6 x 2 x 128 MiB");
        assert_eq!(whole_orders(&copy(6, 8), Some(5 << 28)), 6 << 27, "6 x 2 x 64 MiB");
        assert_eq!(whole_orders(&copy(6, 8192), None), 1 << 30, "a listed order has any number");
        let in_order = MemoryParams { pattern: MemoryPattern::Sequential, ..copy(6, 8) };
        assert_eq!(whole_orders(&in_order, None), 1 << 30);
        for threads in [1, 2, 3, 6, 7, 12] {
            for block in [8, 1000, 1024] {
                let mut params = copy(threads, block);
                params.working_set = whole_orders(&params, None);
                assert_eq!(whole_orders(&params, None), params.working_set, "what is whole stays as it is");
            }
        }
    }
}
