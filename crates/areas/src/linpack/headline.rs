//! LINPACK's line on the first screen, and the share of its limit that a solver reaches.

use model::document::Row;
use model::linpack::LinpackOp;
use model::machine::{ExpectedQuantity, Machine};
use model::sample::MetricName;
use verdict::headline::{AnswerRules, Headline};

use super::label::{params, solves_as_hpl};

pub(super) const ANSWER: AnswerRules = AnswerRules {
    title: "CPU",
    headlines: &[&[Headline {
        title: "LINPACK",
        metric: MetricName::Throughput,
        rank: |row| {
            let own = params(row).filter(|_| solves_as_hpl(row))?;
            i64::try_from(own.n).ok().map(|n| n + (i64::from(own.threads) << 32))
        },
        detail: |row| format!("N={}", params(row).map_or(0, |own| own.n)),
    }]],
    unknown: "assay info lists the limits of this processor and their sources",
    ..AnswerRules::DEFAULT
};

/// HPL's results are of the whole machine and of systems that fill its memory; smaller ones reach less. Clocks of wide
/// vectors are published for few models.
pub(super) fn published(row: &Row, name: MetricName, machine: &Machine) -> Option<ExpectedQuantity> {
    let is_whole = solves_as_hpl(row) && machine.cpu.cores.is_some_and(|cores| row.params.threads() >= cores);
    let bytes = params(row).map_or(0, |own| own.n.saturating_mul(own.n).saturating_mul(8));
    let fills_memory = machine.memory.total_bytes.is_some_and(|total| bytes >= total / 2);
    (is_whole && fills_memory && name == MetricName::Throughput).then_some(ExpectedQuantity::Hpl)
}

/// Systems below this order spend much of their time outside products of matrices.
const LEAST_ORDER: u64 = 2000;
/// The time in panels grows with N², that of a thread in products with N³ / threads: with fewer rows for each thread
/// panels take as long as products (16 threads at N = 9000 reached 47 % of the limit).
const LEAST_ROWS_PER_THREAD: u64 = 1000;

/// Solutions of such orders reach 75 to 90 % of multiply-adds alone on two CPUs [docs/evidence/performance.md], and 52 to 64 %
/// where two threads read 19 GB/s: the memory's bandwidth counts, too (Cascade Lake guest, 2026-11-28).
pub(super) fn reach(row: &Row) -> Option<[f64; 2]> {
    let least = LEAST_ORDER.max(LEAST_ROWS_PER_THREAD * u64::from(row.params.threads()));
    params(row).filter(|own| own.op == LinpackOp::Lu && own.n >= least).map(|_| [0.5, 1.0])
}
