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
//! * `judgement`: interval, probability, threshold and verdict of every row
//! * `explanation`: why, by stated rules
//! * `differences`: what a reader must know of the two runs before the rows

mod differences;
mod disturbance;
mod explanation;
mod judgement;
mod matching;
mod noise;
mod units;

#[cfg(test)]
mod tests;

use model::comparison::{AreaMean, Change, Compared, Comparison, Direction, SCHEMA, Side};
use model::document::Document;
use model::machine::Machine;
use model::unit::Better;

pub(crate) use differences::differences;
pub(crate) use explanation::explain_live;
pub(crate) use matching::metrics;
pub use noise::serves_as_history;

/// The least relative change that is called one, however quiet the machine is.
pub(crate) const THRESHOLD: f64 = 0.02;

/// What two runs say of each other. `history` are other runs: those of the same machine tell how much it differs from
/// run to run.
///
/// # Errors
/// One sentence: it is the same run twice, a run has nothing that was measured, or no row of one can be compared with
/// one of the other.
pub fn compare(base: &Document, new: &Document, history: &[Document]) -> Result<Comparison, String> {
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
    let experiments = judgement::judge(&pairs, &noise::History::new(base, new, history));
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

/// Whether two documents are the same run: names are unique in one store only.
fn is_same_run(one: &Document, other: &Document) -> bool {
    one.run.id == other.run.id && one.run.started == other.run.started
}

/// A side in words.
pub(crate) fn side(document: &Document) -> Side {
    Side {
        name: document.run.id.clone(),
        started: document.run.started.clone(),
        machine: machine_words(&document.machine),
        program: program_words(document),
        switch: None,
    }
}

/// `AMD EPYC 9575F, 2 cores, KVM guest`.
fn machine_words(machine: &Machine) -> String {
    let cpu = &machine.cpu;
    let name = cpu.model_name.as_ref().or(cpu.microarchitecture.as_ref());
    let mut parts = vec![name.map_or_else(|| "unknown processor".to_owned(), |name| name.trim().to_owned())];
    parts.extend(cpu.cores.map(|cores| format!("{cores} core{}", if cores == 1 { "" } else { "s" })));
    parts.extend(machine.virtualization.as_ref().map(|below| match &below.hypervisor {
        Some(name) => format!("{name} guest"),
        None => "virtual machine".to_owned(),
    }));
    parts.join(", ")
}

/// `0.1.0 (2849586)`.
fn program_words(document: &Document) -> String {
    let program = &document.assay;
    program.git.as_ref().map_or_else(|| program.version.clone(), |git| format!("{} ({git})", program.version))
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

/// In which direction a ratio of new to base points.
pub(crate) fn direction(ratio: f64, better: Better) -> Direction {
    if (ratio > 1.0) == (better == Better::Higher) { Direction::Better } else { Direction::Worse }
}

/// The verdict of `stats` in the document's words.
pub(crate) const fn change(verdict: stats::ChangeVerdict) -> Change {
    match verdict {
        stats::ChangeVerdict::Changed => Change::Changed,
        stats::ChangeVerdict::Same => Change::Same,
        stats::ChangeVerdict::Inconclusive => Change::Inconclusive,
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
