//! Compares two runs: which results changed by more than the machine's own noise, and why.

mod differences;
mod disturbance;
mod explanation;
mod judgement;
mod matching;
mod noise;
mod units;

#[cfg(test)]
mod tests;

use model::comparison::{AreaMean, Change, Compared, Comparison, SCHEMA};
use model::document::Document;
use model::unit::Better;

pub(crate) use differences::{differences, side};
pub(crate) use explanation::explain_live;
pub(crate) use judgement::DEVIATIONS;
pub(crate) use matching::{metrics, same_parameters};
pub(crate) use noise::is_same_memory;
pub use noise::{is_same_machine, serves_as_history};
pub(crate) use units::{THRESHOLD, change, direction};

use crate::rules::AreaRules;
use noise::is_same_run;

/// Compares two runs. `history` are other runs: those of the same machine show its noise from run to run.
pub fn compare(
    base: &Document,
    new: &Document,
    history: &[Document],
    rules: &[AreaRules],
) -> Result<Comparison, String> {
    if is_same_run(base, new) {
        return Err(format!(
            "'{}' is both runs: a run cannot be compared with itself. Name two runs: assay runs",
            base.run.id
        ));
    }
    matching::has_measured(base, "BASE")?;
    matching::has_measured(new, "NEW")?;
    let (pairs, not_compared) = matching::pairs(base, new);
    if pairs.is_empty() {
        let why = not_compared.first().map_or_else(String::new, |row| format!(": {}: {}", row.id, row.reason));
        return Err(format!("the two runs have no benchmark that can be compared{why}"));
    }
    let experiments = judgement::judge(&pairs, &noise::History::new(base, new, history, rules));
    Ok(Comparison {
        schema: SCHEMA.to_owned(),
        base: side(base),
        new: side(new),
        live: false,
        verdict: overall(&experiments),
        warnings: differences::warnings(base, new),
        geometric_means: geometric_means(&experiments),
        experiments,
        not_compared,
    })
}

/// The verdict for all results: changed if any is, else inconclusive if any is.
pub(crate) fn overall(rows: &[Compared]) -> Change {
    let any = |verdict: &Change| rows.iter().any(|row| row.verdict == *verdict);
    [Change::Changed, Change::Inconclusive].into_iter().find(any).unwrap_or(Change::Same)
}

/// The geometric mean of each area's headline ratios, counted so that more is better, in the order of the results.
pub(crate) fn geometric_means(rows: &[Compared]) -> Vec<AreaMean> {
    let mut means: Vec<(AreaMean, f64)> = Vec::new();
    let headline = |index: usize| rows[..index].iter().all(|earlier| earlier.id != rows[index].id);
    for row in (0..rows.len()).filter(|index| headline(*index)).map(|index| &rows[index]) {
        let area = row.id.split('/').next().unwrap_or_default();
        let logarithm = if row.better == Better::Higher { row.ratio.ln() } else { -row.ratio.ln() };
        match means.iter_mut().find(|(mean, _)| mean.area == area) {
            Some((mean, sum)) => {
                mean.n += 1;
                *sum += logarithm;
            }
            None => means.push((AreaMean { area: area.to_owned(), ratio: 1.0, n: 1 }, logarithm)),
        }
    }
    means.into_iter().map(|(mean, sum)| AreaMean { ratio: (sum / f64::from(mean.n)).exp(), ..mean }).collect()
}
