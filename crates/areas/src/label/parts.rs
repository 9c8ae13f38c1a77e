//! What the labels of every area have in common.

use model::document::Row;
use model::isa::Pages;
use model::number::counted;
use model::unit::format_size;

/// How an area names its rows, and what is shown of them.
#[derive(Clone, Copy, Debug)]
pub struct Labels {
    /// The area's name above its table.
    pub title: &'static str,
    /// Its name inside a sentence.
    pub in_sentence: &'static str,
    /// The colour of its charts in the light and in the dark theme. On the paper of the theme it has a contrast of at
    /// least 4.5:1 (WCAG 2.2, 1.4.3).
    pub colours: [&'static str; 2],
    /// What stands before the label of a row in a sentence; empty where the label says it.
    pub(crate) before: &'static str,
    /// The label of a row, without its aspects; `None` where its parameters are of a later version.
    pub(crate) label: fn(&Row, &Common) -> Option<Label>,
    /// What there is to say of a row besides what is done; an empty text where it is what one expects, `None` for what
    /// is not known of it.
    pub(crate) aspects: fn(&Row, Axis) -> Vec<Option<String>>,
    /// What the slots of a table of these rows differ in.
    pub(crate) axis: fn(&[&Row]) -> Axis,
    /// Takes out of what a row has in common with others what a sentence about it says all the same.
    pub(crate) say: fn(&Row, &mut Common),
    /// Which rows stand for the area, the best first; after them any rate at all does.
    pub leading: &'static [fn(&Row) -> bool],
    /// Of rows of one access, request or round trip at a time, by what the one that stands for them is the largest.
    pub single: fn(&Row) -> Option<u64>,
    /// The option that makes a row's invisible limit known; `None` where there is nothing to declare.
    pub declaration: fn(&Row) -> Option<&'static str>,
    /// What a row does, whatever its block and its threads; `None` where its blocks are not compared.
    pub workload: fn(&Row) -> Option<Workload>,
    /// What its tables show.
    pub table: TableRules,
}

/// What a row does, apart from its threads and the block that it works in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Workload {
    /// The same for rows that differ in block and threads alone.
    pub key: String,
    /// The block, where there is one.
    pub block: Option<u64>,
}

/// What the tables of an area show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TableRules {
    /// Operations of a core by precision: with the clock, operations per cycle and what others took.
    pub per_core: bool,
    /// Requests of a device or a network, timed one by one; the clock does not set the figures.
    pub requests: bool,
    /// The area's heading even where all rows are in tables of their own.
    pub always_heading: bool,
}

/// What a row measured, what its table varies from slot to slot left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// The short word: `FP64`, `copy`, `latency`.
    pub what: String,
    /// The rest: `FMA, AVX-512`, `random, 2 MiB pages`.
    pub how: String,
    /// What else must be known to read its figures: `s32 ← u8 × s8`; mostly empty.
    pub detail: String,
}

/// What the rows of a table have in common, said once above it and not again in each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Common {
    /// Working set of every row of memory.
    pub(crate) working_set: Option<u64>,
    /// Page size of every row of memory but the chases, which always name theirs.
    pub(crate) pages: Option<Pages>,
    /// Aspects of disk and network that are the same in every row, in the order of `aspects`.
    pub(crate) aspects: Vec<Option<String>>,
    /// File system and disks behind every row of the disk that was measured.
    pub(crate) below: Option<String>,
    /// Whether none of the rows was measured: then only where they would have been can be said of all.
    pub(crate) planned: bool,
}

/// What the slots of a table differ in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Axis {
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
pub fn same<T: PartialEq>(mut values: impl Iterator<Item = T>) -> Option<T> {
    let first = values.next()?;
    values.all(|value| value == first).then_some(first)
}

/// `1 thread`, `8 threads`.
pub fn threads(count: u32) -> String {
    counted(u64::from(count), "thread")
}

/// A block's size, exactly: it is a name, and 65507 B are not 64 KiB.
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
