//! What the labels of every area have in common.

use model::document::Row;
use model::experiment::{MemoryParams, Params};
use model::isa::Pages;
use model::number::counted;
use model::unit::format_size;

/// What a row measured, what its table varies from slot to slot left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Label {
    /// The short word: `FP64`, `copy`, `latency`.
    pub(crate) what: String,
    /// The rest: `FMA, AVX-512`, `random, 2 MiB pages`.
    pub(crate) how: String,
    /// What else must be known to read its figures: `s32 ← u8 × s8`; mostly empty.
    pub(crate) detail: String,
}

/// What the rows of a table have in common, said once above it and not again in each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Common {
    /// Working set of every row of memory.
    pub(super) working_set: Option<u64>,
    /// Page size of every row of memory but the chases, which always name theirs.
    pub(super) pages: Option<Pages>,
    /// Aspects of disk and network that are the same in every row, in the order of [`aspects`].
    pub(super) aspects: Vec<Option<String>>,
    /// File system and disks behind every row of the disk that was measured.
    pub(super) below: Option<String>,
    /// Whether none of the rows was measured: then only where they would have been can be said of all.
    pub(super) planned: bool,
}

/// What the slots of a table differ in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Axis {
    /// Threads that work at the same time.
    Threads,
    /// Streams of a network.
    Streams,
    /// Connections of a network, where not all of them are streams.
    Connections,
    /// Requests in flight per thread.
    Depth,
}

/// What all have in common.
pub(crate) fn same<T: PartialEq>(mut values: impl Iterator<Item = T>) -> Option<T> {
    let first = values.next()?;
    values.all(|value| value == first).then_some(first)
}

pub(super) fn memory(row: &Row) -> Option<&MemoryParams> {
    match &row.params {
        Params::Memory(params) => Some(params),
        _ => None,
    }
}

/// `1 thread`, `8 threads`.
pub(crate) fn threads(count: u32) -> String {
    counted(u64::from(count), "thread")
}

/// A block's size, exactly: it is a name, and 65507 B are not 64 KiB.
pub(crate) fn block_words(bytes: u64) -> String {
    let text = format_size(bytes);
    let (digits, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()));
    format!("{digits} {unit}")
}

pub(crate) const fn page_words(pages: Pages) -> &'static str {
    match pages {
        Pages::Base4K => "4 KiB pages",
        Pages::Huge2M => "2 MiB pages",
    }
}
