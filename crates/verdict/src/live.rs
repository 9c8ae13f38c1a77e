//! A live comparison, from pairs of documents: for each result the ratio of its pairs, whether it changed, and why.

use model::comparison::{Change, Compared, Comparison, NotCompared, PerCycle, SCHEMA, Side};
use model::document::{Document, Row, Status};
use model::sample::{Metric, MetricName};
use model::warning::Warning;

use crate::compare::{self, THRESHOLD};
use crate::judge::median;

/// The numbers of pairs at which the comparison may end; each of five looks needs a fifth of the probability.
pub const LOOKS: [u32; 5] = [8, 12, 16, 24, 40];

/// One side, as the user named it.
#[derive(Clone, Debug)]
pub struct SideName {
    /// The name on the command line.
    pub name: String,
    /// The command that switches the machine to this side.
    pub switch: Option<String>,
}

/// Compares all pairs so far. `fixed`: their number was given, so the verdicts are looked at once.
pub fn compare(sides: &[SideName; 2], fixed: bool, pairs: &[[Document; 2]]) -> Result<Comparison, String> {
    let first = pairs.first().ok_or("no pair is complete")?;
    let places = places(first)?;
    let (mut experiments, mut not_compared) = (Vec::new(), Vec::new());
    let mut merged: Vec<[Row; 2]> = Vec::new();
    for place in places {
        match rows(pairs, place) {
            Ok(rows) => {
                let sides = [0, 1].map(|side| together(&rows.iter().map(|pair| pair[side]).collect::<Vec<_>>()));
                experiments.extend(of_row(&rows));
                merged.resize(experiments.len(), sides);
            }
            Err(reason) => {
                not_compared.push(NotCompared { id: first[0].experiments[place[0]].id.clone(), reason });
            }
        }
    }
    if experiments.is_empty() {
        let why = not_compared.first().map_or_else(String::new, |row| format!(": {}: {}", row.id, row.reason));
        return Err(format!("nothing was measured on both sides{why}"));
    }
    decide(if fixed { 1 } else { LOOKS.len() }, &mut experiments);
    for (row, [base, new]) in experiments.iter_mut().zip(&merged) {
        row.explanation = compare::explain_live(base, new, row);
    }
    let side = |side: usize| {
        let of = &sides[side];
        Side { name: of.name.clone(), switch: of.switch.clone(), ..compare::side(&first[side]) }
    };
    Ok(Comparison {
        schema: SCHEMA.to_owned(),
        base: side(0),
        new: side(1),
        live: true,
        verdict: compare::overall(&experiments),
        warnings: warnings(sides, first),
        geometric_means: compare::geometric_means(&experiments),
        experiments,
        not_compared,
    })
}

/// The indices of the results to compare: those of the same id, or the same indices where no id is on both sides.
fn places([base, new]: &[Document; 2]) -> Result<Vec<[usize; 2]>, String> {
    let (base, new) = (&base.experiments, &new.experiments);
    let in_new = |(index, row): (usize, &Row)| Some([index, new.iter().position(|other| other.id == row.id)?]);
    let by_id: Vec<[usize; 2]> = base.iter().enumerate().filter_map(in_new).collect();
    if !by_id.is_empty() {
        return Ok(by_id);
    }
    let (of_a, of_b) = (base.len(), new.len());
    if of_a == of_b {
        return Ok((0..of_a).map(|index| [index; 2]).collect());
    }
    let choose = "choose options that measure as many on both sides";
    Err(format!("A measures {of_a} benchmarks and B {of_b}, and no id is the same: {choose}"))
}

/// The pairs of a result that was measured on both sides; the reason where it was not.
fn rows(pairs: &[[Document; 2]], place: [usize; 2]) -> Result<Vec<[&Row; 2]>, String> {
    let [at_base, at_new] = place;
    let both =
        pairs.iter().filter_map(|[base, new]| Some([base.experiments.get(at_base)?, new.experiments.get(at_new)?]));
    let is_measured = |rows: &[&Row; 2]| rows.iter().all(|row| row.status == Status::Ok);
    let measured: Vec<[&Row; 2]> = both.clone().filter(is_measured).collect();
    let Some([base, new]) = measured.first() else {
        let reason = both.flatten().find_map(|row| row.reason.clone());
        return Err(reason.unwrap_or_else(|| "it was not measured on both sides".to_owned()));
    };
    // The parameters of two settings may differ; their metric must not.
    let headline = |row: &Row| row.metrics.first().map(|metric| (metric.name.clone(), metric.unit));
    if headline(base) == headline(new) {
        Ok(measured)
    } else {
        Err(format!("{} and {} do not measure the same", base.id, new.id))
    }
}

fn of_row(rows: &[[&Row; 2]]) -> Vec<Compared> {
    let [base, new] = rows[0];
    let compared = |metric: &Metric| {
        let name = metric.name.as_str();
        let pairs = pairs_of(rows, name);
        let found = stats::ratio(&pairs)?;
        let n = u32::try_from(pairs.len()).unwrap_or(u32::MAX);
        Some(Compared {
            id: base.id.clone(),
            id_new: (new.id != base.id).then(|| new.id.clone()),
            metric: name.to_owned(),
            unit: metric.unit,
            better: metric.better,
            verdict: Change::Inconclusive,
            direction: None,
            base: median(&pairs.iter().map(|pair| pair.1).collect::<Vec<_>>())?,
            new: median(&pairs.iter().map(|pair| pair.0).collect::<Vec<_>>())?,
            ratio: found.ratio,
            ratio_ci95: found.interval,
            p: chance(&pairs),
            threshold: THRESHOLD,
            allowance: 0.0,
            noise: None,
            noise_source: None,
            n_base: n,
            n_new: n,
            units: "pairs".to_owned(),
            needed: None,
            per_cycle: per_cycle(rows).filter(|_| name == MetricName::Throughput.name()),
            explanation: None,
        })
    };
    compare::metrics(base).filter_map(compared).collect()
}

fn pairs_of(rows: &[[&Row; 2]], name: &str) -> Vec<(f64, f64)> {
    let value =
        |row: &Row| row.metrics.iter().find(|metric| metric.name.as_str() == name).map(|metric| metric.summary.median);
    rows.iter().filter_map(|[base, new]| Some((value(new)?, value(base)?))).collect()
}

/// One side of all pairs as one row for explanations: all samples, the warnings of most pairs, the median clock.
fn together(rows: &[&Row]) -> Row {
    let mut all = rows[0].clone();
    let most = |code| 2 * rows.iter().filter(|row| row.warnings.iter().any(|w| &w.code == code)).count() > rows.len();
    let mut warnings: Vec<Warning> = Vec::new();
    for warning in rows.iter().flat_map(|row| &row.warnings).filter(|warning| most(&warning.code)) {
        if !warnings.iter().any(|known| known.code == warning.code) {
            warnings.push(warning.clone());
        }
    }
    all.warnings = warnings;
    let clocks: Vec<f64> = rows.iter().filter_map(|row| row.conditions.clock_hz).collect();
    all.conditions.clock_hz = median(&clocks);
    for metric in &mut all.metrics {
        let name = &metric.name;
        let same = rows.iter().flat_map(|row| row.metrics.iter().filter(|other| other.name == *name));
        metric.samples = same.flat_map(|metric| metric.samples.iter().cloned()).collect();
    }
    all
}

/// The probability of such differences by chance; `None` for too few pairs.
fn chance(pairs: &[(f64, f64)]) -> Option<f64> {
    let differences: Vec<f64> = pairs.iter().map(|(new, base)| (new / base).ln()).collect();
    stats::signed_rank(&differences).map(|test| test.p)
}

fn per_cycle(rows: &[[&Row; 2]]) -> Option<PerCycle> {
    let of = |row: &Row| {
        let rate = row.metric(MetricName::Throughput)?.summary.median;
        Some(rate / row.metric(MetricName::Clock)?.summary.median)
    };
    let pairs = rows.iter().map(|[base, new]| Some((of(new)?, of(base)?))).collect::<Option<Vec<(f64, f64)>>>()?;
    let found = stats::ratio(&pairs)?;
    let verdict = compare::change(stats::judge_change(found.interval, chance(&pairs), THRESHOLD, 0.0));
    Some(PerCycle { ratio: found.ratio, ratio_ci95: found.interval, verdict })
}

/// Judges all results together: their probabilities are corrected for their number, and for the looks.
fn decide(looks: usize, rows: &mut [Compared]) {
    let known: Vec<f64> = rows.iter().map(|row| row.p.map_or(1.0, |p| (p * looks as f64).min(1.0))).collect();
    for (row, p) in rows.iter_mut().zip(stats::holm(&known)) {
        row.p = row.p.map(|_| p);
        row.verdict = compare::change(stats::judge_change(row.ratio_ci95, row.p, THRESHOLD, 0.0));
        if row.verdict == Change::Changed {
            row.direction = Some(compare::direction(row.ratio, row.better));
        }
        if row.verdict == Change::Inconclusive {
            row.needed = stats::needed(row.n_base as usize, row.ratio_ci95, THRESHOLD);
        }
    }
}

fn warnings(sides: &[SideName; 2], [base, new]: &[Document; 2]) -> Vec<String> {
    let only_b = "Only B has a switch command, so its setting remains for A. Use --switch-a to set it back.";
    let is_only_b = sides[0].switch.is_none() && sides[1].switch.is_some();
    compare::differences(base, new).into_iter().chain(is_only_b.then(|| only_b.to_owned())).collect()
}
