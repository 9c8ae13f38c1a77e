//! Interval, probability, threshold and verdict of every result.
//!
//! *Changed*: the interval lies beyond noise, interference and chance. *The same*: it lies within the threshold.

use model::comparison::{Change, Compared, PerCycle};
use model::sample::{Metric, Sample};
use model::unit::Better;
use stats::{LEVEL, NEEDED_FOR_CHANGE};

use super::disturbance;
use super::explanation::{self, Known};
use super::matching::Pair;
use super::noise::{History, Noise};
use super::units::{THRESHOLD, Units, change, direction, is_beyond};
use crate::judge::median;
use crate::samples::values_of;

/// The threshold in standard deviations between runs: a difference varies by sqrt(2), and intervals have a width.
pub(crate) const DEVIATIONS: f64 = 2.0;
/// The most units that advice asks for.
const MOST_UNITS: usize = 40;

#[derive(Clone, Copy, Debug)]
struct Found {
    ratio: f64,
    interval: Option<[f64; 2]>,
    p: Option<f64>,
    n: [usize; 2],
}

#[derive(Debug)]
struct Measured<'a> {
    pair: &'a Pair<'a>,
    units: Units,
    found: Found,
    per_cycle: Option<Found>,
    noise: Noise,
}

pub(super) fn judge(pairs: &[Pair<'_>], history: &History<'_>) -> Vec<Compared> {
    // A pair has samples, all positive: nothing is left out here.
    let measured: Vec<Measured<'_>> = pairs.iter().filter_map(|pair| measure(pair, history)).collect();
    let corrected = corrected(measured.iter().map(|row| row.found.p));
    let per_cycle = self::corrected(measured.iter().map(|row| row.per_cycle.and_then(|found| found.p)));
    let rows = corrected.iter().flatten().count();
    let known = measured.iter().zip(corrected.iter().zip(per_cycle));
    known.map(|(row, (p, per_cycle))| row.judged(*p, per_cycle, rows)).collect()
}

/// The probabilities after Holm's correction for their number; unknown ones do not count.
fn corrected(known: impl Iterator<Item = Option<f64>>) -> Vec<Option<f64>> {
    let known: Vec<Option<f64>> = known.collect();
    let mut corrected = stats::holm(&known.iter().copied().flatten().collect::<Vec<_>>()).into_iter();
    known.into_iter().map(|p| p.and_then(|_| corrected.next())).collect()
}

fn measure<'a>(pair: &'a Pair<'a>, history: &History<'_>) -> Option<Measured<'a>> {
    let units = Units::of(pair);
    let found = find(units.values(pair, |sample| Some(sample.value))?)?;
    let per_cycle = units.values(pair, |sample| per_cycle(sample, pair.base_metric.better));
    let per_cycle = per_cycle.and_then(find);
    Some(Measured { pair, units, found, per_cycle, noise: history.noise(pair) })
}

/// Operations per cycle: of a rate, or of the seconds of one operation.
fn per_cycle(sample: &Sample, better: Better) -> Option<f64> {
    let clock = sample.clock_hz.filter(|clock| clock.is_finite() && *clock > 0.0)?;
    Some(if better == Better::Higher { sample.value / clock } else { 1.0 / (sample.value * clock) })
}

fn find([base, new]: [Vec<f64>; 2]) -> Option<Found> {
    let shift = stats::shift_ratio(&base, &new)?;
    let n = [base.len(), new.len()];
    let enough = n.iter().all(|n| *n >= NEEDED_FOR_CHANGE);
    let test = enough.then(|| stats::mann_whitney(&base, &new)).flatten();
    Some(Found { ratio: shift.ratio, interval: shift.interval.filter(|_| enough), p: test.map(|test| test.p), n })
}

impl Measured<'_> {
    /// The result with its verdict; `rows` is how many probabilities were corrected together.
    fn judged(&self, p: Option<f64>, per_cycle_p: Option<f64>, rows: usize) -> Compared {
        let Self { pair, found, .. } = self;
        let metric = pair.base_metric;
        let direction = direction(found.ratio, metric.better);
        let threshold = THRESHOLD.max(DEVIATIONS * self.noise.deviation);
        let seen = disturbance::most(pair, direction, true);
        let allowance = seen.map_or(0.0, |seen| seen.change);
        let judged = change(stats::judge_change(found.interval, p, threshold, allowance));
        let hiding = disturbance::hiding(pair, judged);
        let verdict = if hiding.is_some() { Change::Inconclusive } else { judged };
        let helped = verdict == Change::Inconclusive && hiding.is_none();
        let values = |metric: &Metric| median(&values_of(&metric.samples)).unwrap_or(metric.summary.median);
        let mut row = Compared {
            id: pair.base.id.clone(),
            id_new: None,
            metric: metric.name.to_string(),
            unit: metric.unit,
            better: metric.better,
            verdict,
            direction: (verdict == Change::Changed).then_some(direction),
            base: values(metric),
            new: values(pair.new_metric),
            ratio: found.ratio,
            ratio_ci95: found.interval,
            p,
            threshold,
            allowance,
            noise: Some(self.noise.deviation),
            noise_source: Some(self.noise.source.clone()),
            n_base: count(found.n[0]),
            n_new: count(found.n[1]),
            units: self.units.name().to_owned(),
            needed: helped.then(|| needed(found, p, [threshold, allowance], rows)).flatten(),
            per_cycle: self.per_cycle.map(|found| self.judged_per_cycle(found, per_cycle_p, threshold)),
            explanation: None,
        };
        row.explanation = explanation::explain(pair, &row, &Known { seen, hiding, noise_is_own: self.noise.is_own });
        row
    }

    /// The verdict on operations per cycle: more is always better, and the clock explains nothing.
    fn judged_per_cycle(&self, found: Found, p: Option<f64>, threshold: f64) -> PerCycle {
        let seen = disturbance::most(self.pair, direction(found.ratio, Better::Higher), false);
        let allowance = seen.map_or(0.0, |seen| seen.change);
        let verdict = change(stats::judge_change(found.interval, p, threshold, allowance));
        let hidden = disturbance::hiding(self.pair, verdict).is_some();
        let verdict = if hidden { Change::Inconclusive } else { verdict };
        PerCycle { ratio: found.ratio, ratio_ci95: found.interval, verdict }
    }
}

fn count(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

/// How many more units of each side would lead to a verdict, about; `None` where no number would.
fn needed(found: &Found, p: Option<f64>, [threshold, allowance]: [f64; 2], rows: usize) -> Option<u32> {
    let n = found.n[0].min(found.n[1]);
    if n < NEEDED_FOR_CHANGE {
        return Some(count(stats::NEEDED_FOR_INTERVAL - n));
    }
    let beyond_threshold = found.interval.is_some_and(|interval| is_beyond(interval, threshold));
    let beyond = found.interval.is_some_and(|interval| is_beyond(interval, threshold + allowance));
    if beyond && p.is_none_or(|p| p >= LEVEL) {
        // Only the probability is too high, which falls with every unit.
        return least_for(rows).map(|least| count(least.saturating_sub(n).max(1)));
    }
    stats::needed(n, found.interval, if beyond_threshold { threshold + allowance } else { threshold })
}

/// The least units of each side whose complete separation, in 2 / C(2n, n) of all orders, is rare enough.
fn least_for(rows: usize) -> Option<usize> {
    let mut orders = 1.0;
    (1..=MOST_UNITS).find(|n| {
        // C(2n, n) = C(2n - 2, n - 1) 2 (2n - 1) / n
        orders *= 2.0 * (2 * n - 1) as f64 / *n as f64;
        2.0 / orders * (rows.max(1) as f64) < LEVEL
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_units_grow_with_the_rows() {
        // 2 / C(8, 4) = 2 / 70; 2 / C(12, 6) * 20 = 40 / 924; 2 / C(14, 7) * 38 = 76 / 3432
        assert_eq!([1, 20, 38, 0].map(least_for), [Some(4), Some(6), Some(7), Some(4)]);
        assert_eq!(least_for(usize::MAX), Some(37));
    }

    #[test]
    fn unknown_probabilities_do_not_count() {
        // Holm: 0.01 x 2, 0.03 x 1
        assert_eq!(corrected([None, Some(0.03), Some(0.01), None].into_iter()), [None, Some(0.03), Some(0.02), None]);
    }
}
