//! What ordinary scalar loops leave unused: how much more the vector units of the same cores could do.
//!
//! The vector peak is the document's; here is only its sentence.

use model::document::Row;
use model::experiment::CpuParams;
use model::isa::{CpuOp, Element};
use model::number::factor;
use model::peak::PeakKind;
use model::warning::WarningCode;

use crate::terminal::row::headline;
use areas::cpu::label as cpu;
use areas::label::threads;
use model::number::quantity;

/// What vectors could do where a plain loop was measured: the most by that type, at the clock beside the row.
pub(super) fn vector_peak(row: &Row) -> Option<f64> {
    let plain = cpu::params(row).is_some_and(|params| params.op == CpuOp::Plain);
    let peaks = &headline(row).filter(|_| plain)?.peaks;
    peaks.iter().find(|peak| peak.kind == PeakKind::PlatformMaximum).map(|peak| peak.value)
}

/// The footnote of these rows, all with a vector peak: each type by the row with the most threads that had a CPU each.
pub(super) fn text(rows: &[&Row]) -> String {
    let of = |element: Element| {
        let rows = rows.iter().filter_map(|row| Some((*row, cpu::params(row)?)));
        let own = rows.filter(|(_, params)| params.element == element);
        own.max_by_key(|(row, params)| (!is_oversubscribed(row), params.threads))
    };
    let told: Vec<(&Row, &CpuParams)> = Element::ALL.iter().filter_map(|element| of(*element)).collect();
    let counts = || told.iter().map(|(_, params)| params.threads);
    let common = counts().next().filter(|first| counts().all(|count| count == *first));
    let items: Vec<String> = told.iter().filter_map(|(row, params)| item(row, params, common.is_none())).collect();
    let with = common.map_or_else(String::new, |count| format!(", with {}", threads(count)));
    format!(
        "This is the share of the scalar peak, which is all that a plain loop can reach. A vector loop could do a \
         multiple of it{with}: {}.",
        items.join(", ")
    )
}

fn is_oversubscribed(row: &Row) -> bool {
    row.warnings.iter().any(|warning| warning.code == WarningCode::Oversubscribed)
}

/// `FP64 21x (191.9 GFLOP/s)`.
fn item(row: &Row, params: &CpuParams, name_threads: bool) -> Option<String> {
    let (peak, metric) = (vector_peak(row)?, headline(row)?);
    let figure = quantity(peak, metric.unit);
    let threads = if name_threads { format!(" with {}", threads(params.threads)) } else { String::new() };
    Some(format!("{} {}x ({figure}{threads})", cpu::precision(params.element), factor(peak / metric.summary.median)))
}
