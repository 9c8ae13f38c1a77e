//! Two runs to a comparison: which rows can be compared, what changed by more than the machine's own noise, and why.
//!
//! Pure functions of documents: nothing here reads a file, a clock or the machine. The statistics are those of `stats`;
//! how a comparison is shown is `report`'s business. Two things that are measured in turn are `live`'s, which takes its
//! words for sides, differences and means from here.
//!
//! * `matching`: which row stands beside which, and why one stands alone
//! * `units`: what is independent: samples, launches or sessions
//! * `noise`: how much this machine differs from run to run
//! * `disturbance`: what others may have taken from either side
//! * `ratio`, `side`: what a change is, and what a side is called
//! * `judgement`: interval, probability, threshold and verdict of every row
//! * `explanation`: why, by stated rules
//! * `differences`: what a reader must know of the two runs before the rows

mod differences;
mod disturbance;
mod explanation;
mod judgement;
mod matching;
mod noise;
mod ratio;
mod side;
mod units;

#[cfg(test)]
mod tests;

use model::comparison::{AreaMean, Change, Compared, Comparison, SCHEMA};
use model::document::Document;
use model::unit::Better;

pub(crate) use differences::differences;
pub(crate) use explanation::explain_live;
pub(crate) use matching::metrics;
pub use noise::serves_as_history;
pub(crate) use ratio::{THRESHOLD, change, direction};
pub(crate) use side::side;

use crate::rules::AreaRules;
use side::is_same_run;

/// What two runs say of each other. `history` are other runs: those of the same machine tell how much it differs from
/// run to run.
///
/// # Errors
/// One sentence: it is the same run twice, a run has nothing that was measured, or no row of one can be compared with
/// one of the other.
pub fn compare(
    base: &Document,
    new: &Document,
    history: &[Document],
    rules: &[AreaRules],
) -> Result<Comparison, String> {
    if is_same_run(base, new) {
        return Err(format!("'{}' was given twice: a run cannot be compared with itself", base.run.id));
    }
    matching::has_measured(base, "BASE")?;
    matching::has_measured(new, "NEW")?;
    let (pairs, not_compared) = matching::pairs(base, new);
    if pairs.is_empty() {
        let why = not_compared.first().map_or_else(String::new, |row| format!(": {} {}", row.id, row.reason));
        return Err(format!("the two runs have no experiment that can be compared{why}"));
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

/// What all rows come to: changed if any did, else inconclusive if any is.
pub(crate) fn overall(rows: &[Compared]) -> Change {
    let any = |verdict| rows.iter().any(|row| row.verdict == verdict);
    if any(Change::Changed) {
        Change::Changed
    } else if any(Change::Inconclusive) {
        Change::Inconclusive
    } else {
        Change::Same
    }
}

/// The geometric mean of each area's headline ratios, counted so that more is better; in the order of the rows. A mean
/// of ratios says nothing of any one experiment, so it is for the foot of a table.
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
