//! The types of labels.

use model::document::Row;
use model::isa::Pages;
use model::number::counted;
use model::unit::format_size;

/// The names of an area and its results, and what is shown of them.
#[derive(Clone, Copy, Debug)]
pub struct Labels {
    pub title: &'static str,
    /// The area inside a sentence.
    pub in_sentence: &'static str,
    /// The colours of its charts in both themes, with a contrast of at least 4.5:1 on their paper (WCAG 2.2, 1.4.3).
    pub colours: [&'static str; 2],
    pub(crate) before: &'static str,
    /// The label of a result, without its aspects; `None` if its parameters are of a later version.
    pub(crate) label: fn(&Row, &Common) -> Option<Label>,
    /// Further aspects of a result: empty if usual, `None` if unknown.
    pub(crate) aspects: fn(&Row, Axis) -> Vec<Option<String>>,
    pub(crate) axis: fn(&[&Row]) -> Axis,
    /// Removes from the common properties those that a sentence about a result names all the same.
    pub(crate) say: fn(&Row, &mut Common),
    pub declaration: fn(&Row) -> Option<&'static str>,
    pub workload: fn(&Row) -> Option<Workload>,
    pub table: TableRules,
}

/// What a result measured, apart from its threads and its block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Workload {
    /// Equal for results that differ only in block and threads.
    pub key: String,
    pub block: Option<u64>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TableRules {
    /// Operations of a core by precision, with clock, operations per cycle and interference.
    pub per_core: bool,
    /// Requests of a device or a network, timed one by one.
    pub requests: bool,
    /// The area's heading even if all results are in tables of their own.
    pub always_heading: bool,
}

/// What a result measured, without what its table varies from slot to slot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// The short word: `FP64`, `copy`, `latency`.
    pub what: String,
    /// The rest: `FMA, AVX-512`, `random, 2 MiB pages`.
    pub how: String,
    /// A detail needed to read its values: `s32 ← u8 × s8`; mostly empty.
    pub detail: String,
}

/// What the results of a table have in common: shown once above it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Common {
    pub(crate) working_set: Option<u64>,
    pub(crate) pages: Option<Pages>,
    /// Aspects that all results share, in the order of [`Labels::aspects`].
    pub(crate) aspects: Vec<Option<String>>,
    pub(crate) below: Option<String>,
    pub(crate) planned: bool,
}

/// What the slots of a table differ in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Axis {
    /// Threads.
    Threads,
    /// Streams of a network.
    Streams,
    /// Connections of a network that are not all streams.
    Connections,
    /// Requests in flight per thread.
    Depth,
}

/// The value of all, if they are equal.
pub fn same<T: PartialEq>(mut values: impl Iterator<Item = T>) -> Option<T> {
    let first = values.next()?;
    values.all(|value| value == first).then_some(first)
}

/// `1 thread`, `8 threads`.
pub fn threads(count: u32) -> String {
    counted(u64::from(count), "thread")
}

/// The exact size of a block: 65507 B are not 64 KiB.
pub fn block_words(bytes: u64) -> String {
    let text = format_size(bytes);
    let (digits, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()));
    format!("{digits} {unit}")
}

/// `2 MiB pages`.
pub const fn page_words(pages: Pages) -> &'static str {
    match pages {
        Pages::Base4K => "4 KiB pages",
        Pages::Huge2M => "2 MiB pages",
    }
}
