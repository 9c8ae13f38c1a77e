//! The legend of the columns and levels of confidence that a table has.

use model::document::{Document, Row, Status};
use model::io::Direction;
use model::isa::CpuOp;
use model::peak::PeakKind;

use super::table::Drawn;
use crate::layout::paragraph;
use crate::style::{Style, Tone};
use crate::terminal::row::p99;
use areas::cpu::label as cpu;
use areas::disk::{familiar, words};
use areas::net::label as net;

/// A sentence for each thing that needs one; nothing where nothing was measured.
pub(super) fn lines(document: &Document, tables: &[Drawn], style: &Style) -> Vec<String> {
    let measured: Vec<&Row> = document.experiments.iter().filter(|row| row.status == Status::Ok).collect();
    if measured.is_empty() {
        return Vec::new();
    }
    let mut sentences = vec![value_words(&measured, style)];
    sentences.extend(shares(&measured).map(str::to_owned));
    let shown = [
        (tables.iter().any(|table| table.parts.names), familiar::ABOUT),
        (measured.iter().any(|row| p99(row).is_some()), "p99: 99th percentile of the time of requests or round trips."),
        (
            tables.iter().any(|table| table.lost),
            "Lost: share of the rate taken by other processes or by other VMs on the host.",
        ),
        (
            tables.iter().any(|table| table.parts.scaling),
            "Speed-up: rate relative to the fewest threads. Of ideal: speed-up over the increase \
                 in threads.",
        ),
        (
            tables.iter().any(|table| table.parts.per_cycle),
            "Per cycle: operations per clock cycle and core without interference (90th \
                 percentile of the bursts).",
        ),
        (
            measured.iter().any(|row| cpu::params(row).is_some_and(|params| params.op == CpuOp::AllPipes)),
            "All pipes: FMA and additions at once, an upper limit for any mix of them.",
        ),
        (
            measured.iter().any(|row| net::params(row).is_some_and(|own| own.direction == Some(Direction::Down))),
            "Up: from client to server. Down: from server to client.",
        ),
        (true, "Confidence: high, rely on it; fair, see its footnote; low, do not rely on it."),
    ];
    sentences.extend(shown.into_iter().filter(|(is_shown, _)| *is_shown).map(|(_, sentence)| sentence.to_owned()));
    sentences.extend(words::cut_words(&measured));
    paragraph(&sentences.join(" "), "", Tone::Dim, style)
}

fn value_words(measured: &[&Row], style: &Style) -> String {
    let mut metrics = measured.iter().filter_map(|row| row.metrics.first());
    let too_few = metrics.find(|metric| metric.summary.ci95.is_none()).map(|metric| metric.summary.n);
    let end = too_few.map_or_else(String::new, |n| format!(" (n={n}: too few samples for an interval)"));
    format!("Values are medians {} half of the 95 % interval{end}.", style.plus_minus())
}

fn shares(measured: &[&Row]) -> impl Iterator<Item = &'static str> {
    let kinds = || measured.iter().filter_map(|row| Some(row.metrics.first()?.efficiency?.of));
    let (ceilings, physical): (Vec<_>, Vec<_>) = kinds().partition(|kind| *kind == PeakKind::MeasuredCeiling);
    let sentences = [
        (physical, "Of peak: share of the theoretical peak; assay info shows its formula."),
        (ceilings, "Of ceiling: share of the best result of another benchmark on this machine."),
    ];
    sentences.into_iter().filter(|(kinds, _)| !kinds.is_empty()).map(|(_, sentence)| sentence)
}
