//! What the rows of memory say together: the levels of the curve, what address translation and load cost, and memory of
//! another node.
//!
//! Each rule names its rows by their parameters; disturbed rows (grade C) take no part.

mod access;
pub mod levels;
mod select;

use model::document::{Finding, Row};
use model::experiment::Area;
use model::isa::{MemoryOp, MemoryPattern, Pages};
use model::machine::Machine;

use super::figure::{Against, TENTH};
use super::rules::Code;
use super::scaling;
use super::words::{bytes, size, time};
use levels::{Curve, Level, curves, memory, stands_for_memory};
use select::{idle, is_stream};

pub use access::set_core_ceiling;

/// A page size that changes latency by less than this is not worth a sentence.
const TRANSLATION_MATTERS: f64 = 1.05;

/// All findings of the memory area, of its quiet rows and their series.
pub fn findings(quiet: &[&Row], series: &[Vec<&Row>], machine: &Machine) -> Vec<Finding> {
    let curves = curves(quiet, machine);
    let mut findings = scaling::findings(Area::Memory, &that_grow(series), machine);
    if let Some(curve) = curves.first().filter(|curve| slows_down(curve)) {
        findings.extend(levels_found(curve));
    }
    findings.extend(translation(quiet));
    findings.extend(access::under_load(quiet));
    findings.extend(access::other_nodes(quiet));
    findings
}

/// The series that say how memory grows with threads: plain streams, and independent updates at random.
fn that_grow<'a>(series: &[Vec<&'a Row>]) -> Vec<Vec<&'a Row>> {
    let grows = |row: &Row| {
        let random = memory(row).is_some_and(|params| params.op == MemoryOp::Increment);
        is_stream(row) || random && stands_for_memory(row)
    };
    series.iter().filter(|rows| rows.first().is_some_and(|row| grows(row))).cloned().collect()
}

/// The name of a level in a sentence: `L2`, `DRAM`.
fn title(level: &Level) -> Option<String> {
    level.name.map(str::to_uppercase)
}

/// Whether each level of a curve is slower than the one before, so that they are levels and not noise.
fn slows_down(curve: &Curve<'_>) -> bool {
    let chase = memory(curve.rows[0]).is_some_and(|params| params.pattern == MemoryPattern::Chase);
    let slower = |pair: &[Level]| {
        let ratio = if chase { pair[1].value / pair[0].value } else { pair[0].value / pair[1].value };
        ratio >= TENTH
    };
    curve.levels.windows(2).all(slower)
}

/// The levels that the curve shows.
fn levels_found(curve: &Curve<'_>) -> Option<Finding> {
    let params = memory(curve.rows[0])?;
    let chase = params.pattern == MemoryPattern::Chase;
    let value = |level: &Level| if chase { time(level.value) } else { bytes(level.value) };
    let count = curve.levels.len();
    let told = curve.levels.iter().enumerate().map(|(index, level)| {
        let name = title(level).map_or_else(String::new, |name| format!(" ({name})"));
        if index + 1 == count && count > 1 {
            format!("{} from {} on{name}", value(level), size(level.first))
        } else {
            format!("{} up to {}{name}", value(level), size(level.last))
        }
    });
    let what = if chase { "Latency".to_owned() } else { format!("The {} rate", params.op) };
    let fields = [("what", what), ("count", count.to_string()), ("levels", told.collect::<Vec<_>>().join(", "))];
    (count > 1).then(|| Code::MemoryLevels.tell(Area::Memory, &fields, &curve.rows))
}

/// What address translation costs: the same chase with large pages and with small ones.
fn translation(rows: &[&Row]) -> Option<Finding> {
    let (huge, with_huge) = idle(rows.iter().copied(), Pages::Huge2M)?;
    let (small, with_small) = idle(rows.iter().copied(), Pages::Base4K)?;
    let matters = with_small.median / with_huge.median >= TRANSLATION_MATTERS;
    (matters && with_small.against(with_huge)? == Against::More).then_some(())?;
    let fields = [
        ("small", time(with_small.median)),
        ("large", time(with_huge.median)),
        ("cost", time(with_small.median - with_huge.median)),
    ];
    Some(Code::TranslationCost.tell(Area::Memory, &fields, &[huge, small]))
}

#[cfg(test)]
mod tests;
