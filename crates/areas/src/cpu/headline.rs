//! The CPU's lines on the first screen, and the share of its limit that code like ours reaches.

use model::document::Row;
use model::experiment::CpuParams;
use model::isa::{CpuOp, Element, Isa};
use model::machine::{ExpectedQuantity, Machine};
use model::sample::MetricName;
use verdict::headline::{AnswerRules, Headline};
use verdict::rules::clock_quantity;

use super::label::{params, width_order};
use crate::label::parts::threads;

pub(super) const ANSWER: AnswerRules = AnswerRules {
    title: "CPU",
    headlines: &[
        &[Headline { metric: MetricName::Clock, detail: |_| String::new(), ..rate("clock, all cores busy", clock) }],
        &[rate("FP64 FMA", fp64)],
        &[
            rate("INT8 dot", |row| widest(row, CpuOp::Dot, Element::Int8)),
            rate("INT8 matrix", |row| widest(row, CpuOp::Matrix, Element::Int8)),
        ],
    ],
    unknown: "assay info lists the limits of this processor and their sources",
    ..AnswerRules::DEFAULT
};

const fn rate(title: &'static str, rank: fn(&Row) -> Option<i64>) -> Headline {
    Headline { title, metric: MetricName::Throughput, rank, detail: |row| threads(row.params.threads()) }
}

/// On a quiet core these loops reach 97 to 100 % [docs/evidence/performance.md]; loops that a compiler makes are no such.
pub(super) fn reach(row: &Row) -> Option<[f64; 2]> {
    let bound = |own: &CpuParams| !matches!(own.op, CpuOp::Plain | CpuOp::AllPipes);
    params(row).filter(|own| bound(own)).map(|_| [0.95, 1.0])
}

/// Intel processors with wide vectors run at lower clocks, which are published of some models for multiply-adds.
pub(super) fn published(row: &Row, name: MetricName, machine: &Machine) -> Option<ExpectedQuantity> {
    let is_wide = params(row).is_some_and(|own| !matches!(own.isa, Isa::Scalar | Isa::Sse2));
    let is_lower = is_wide && machine.cpu.vendor.as_deref() == Some("GenuineIntel");
    let quantity = clock_quantity(row, name, machine)?;
    if !is_lower {
        return Some(quantity);
    }
    match params(row).map(|own| (quantity, own.op, own.isa))? {
        (ExpectedQuantity::Clock, CpuOp::Fma, Isa::Avx2) => Some(ExpectedQuantity::Avx2Clock),
        (ExpectedQuantity::Clock, CpuOp::Fma, Isa::Avx512) => Some(ExpectedQuantity::Avx512Clock),
        _ => None,
    }
}

/// Scalar code, whose clock is the published one; where it was not measured, the widest vectors.
fn clock(row: &Row) -> Option<i64> {
    let own = params(row).filter(|own| (own.op, own.element, own.isa) == (CpuOp::Fma, Element::Fp64, Isa::Scalar));
    own.map(|own| 1000 * i64::from(own.threads) + 1).or_else(|| fp64(row))
}

fn fp64(row: &Row) -> Option<i64> {
    widest(row, CpuOp::Fma, Element::Fp64)
}

/// The most threads; of these the widest vectors.
fn widest(row: &Row, op: CpuOp, element: Element) -> Option<i64> {
    let own = params(row).filter(|own| (own.op, own.element) == (op, element) && own.isa != Isa::Scalar)?;
    Some(1000 * i64::from(own.threads) - i64::try_from(width_order(own.isa)).unwrap_or(999))
}
