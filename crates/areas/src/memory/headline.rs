//! The memory's lines on the first screen, and the share of its limit that streams reach.

use model::document::Row;
use model::isa::{MemoryOp, MemoryPattern, Pages};
use model::machine::{ExpectedQuantity, Machine};
use model::sample::MetricName;
use verdict::headline::{AnswerRules, Headline};
use verdict::rules::clock_quantity;

use super::label::{params, streams};
use crate::label::parts::threads;

pub(super) const ANSWER: AnswerRules = AnswerRules {
    title: "Memory",
    headlines: &[
        &[stream("read", |row| most(row, MemoryOp::Read))],
        &[
            Headline { detail: |_| String::new(), ..stream("non-temporal write", |row| most(row, MemoryOp::WriteNt)) },
            stream("write", |row| most(row, MemoryOp::Write)),
        ],
        &[
            chase("latency, 4K pages", |row| latency(row, Pages::Base4K)),
            chase("latency, 2M pages", |row| latency(row, Pages::Huge2M)),
        ],
    ],
    unknown: "--declare memory.channels=… memory.mts=… gives one",
    ..AnswerRules::DEFAULT
};

const fn stream(title: &'static str, rank: fn(&Row) -> Option<i64>) -> Headline {
    Headline { title, metric: MetricName::Throughput, rank, detail: |row| threads(row.params.threads()) }
}

const fn chase(title: &'static str, rank: fn(&Row) -> Option<i64>) -> Headline {
    Headline { title, metric: MetricName::Latency, rank, detail: |_| String::new() }
}

/// STREAM's published results for servers are 80 to 95 % of channels times transfer rate; fewer cores reach less.
pub(super) fn reach(row: &Row) -> Option<[f64; 2]> {
    params(row).filter(|own| own.pattern == MemoryPattern::Sequential).map(|_| [0.75, 1.0])
}

/// STREAM's triad of all cores; tuned binaries write past the caches.
pub(super) fn published(row: &Row, name: MetricName, machine: &Machine) -> Option<ExpectedQuantity> {
    let is_whole = machine.cpu.cores.is_some_and(|cores| row.params.threads() >= cores);
    let is_triad = is_whole && streams(row, MemoryOp::TriadNt) && name == MetricName::Throughput;
    if is_triad { Some(ExpectedQuantity::Triad) } else { clock_quantity(row, name, machine) }
}

/// The most threads; of these the stream without blocks.
fn most(row: &Row, op: MemoryOp) -> Option<i64> {
    let in_blocks = params(row).is_some_and(|own| own.block.is_some());
    streams(row, op).then(|| 2 * i64::from(row.params.threads()) - i64::from(in_blocks))
}

/// One chain of loads in the largest working set.
fn latency(row: &Row, pages: Pages) -> Option<i64> {
    let own = params(row).filter(|own| own.pattern == MemoryPattern::Chase && own.background.is_none())?;
    let is_single = own.threads == 1 && own.chains.is_none_or(|chains| chains == 1) && own.group.is_none();
    let is_latency = is_single && own.pages == pages && own.op == MemoryOp::Load;
    is_latency.then(|| i64::try_from(own.working_set).unwrap_or(i64::MAX))
}
