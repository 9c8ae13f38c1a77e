//! What the classic tables of all areas have in common: values with what they rest on, and which of them is best.

use model::peak::{Peak, PeakKind};
use model::sample::Metric;

use model::number::deviation;

/// Work that differs from the total by less than this was the total: each thread does whole iterations of a loop, which
/// come to some ten million operations at most (tiles), a hundred thousandth of 10^12.
const WHOLE: f64 = 1e-4;

/// A median with what it rests on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figure {
    /// The median.
    pub median: f64,
    /// Its 95 % interval.
    pub interval: Option<[f64; 2]>,
    /// The samples' standard deviation.
    pub stddev: Option<f64>,
}

/// A theoretical rate with what it rests on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Theory {
    /// The rate.
    pub value: f64,
    /// What it rests on.
    pub kind: PeakKind,
}

impl Figure {
    pub(super) fn of(metric: &Metric) -> Self {
        let summary = &metric.summary;
        Self { median: summary.median, interval: summary.ci95, stddev: deviation(summary) }
    }

    /// The same in a unit of which this one has `factor`.
    pub(super) fn scaled(self, factor: f64) -> Self {
        Self {
            median: self.median * factor,
            interval: self.interval.map(|ends| ends.map(|end| end * factor)),
            stddev: self.stddev.map(|stddev| stddev * factor),
        }
    }

    /// The lower end of its interval; the median where there is none.
    pub(super) fn low(self) -> f64 {
        self.interval.map_or(self.median, |[low, _]| low)
    }

    /// The upper end of its interval; the median where there is none.
    pub(super) fn high(self) -> f64 {
        self.interval.map_or(self.median, |[_, high]| high)
    }

    /// Half of the interval over the median.
    pub(super) fn half_interval(self) -> Option<f64> {
        let [low, high] = self.interval?;
        (self.median != 0.0).then(|| (high - low).abs() / 2.0 / self.median.abs())
    }

    /// Whether it is more than `known` by more than the intervals.
    pub(super) fn exceeds(self, known: Self) -> bool {
        self.low() > known.median.max(known.high())
    }
}

impl Theory {
    /// The tightest limit of a metric.
    pub(super) fn of(metric: &Metric) -> Option<Self> {
        tightest(metric).map(|peak| Self { value: peak.value, kind: peak.kind })
    }
}

/// What all have in common.
pub(super) fn common<T: PartialEq>(mut values: impl Iterator<Item = T>) -> Option<T> {
    let first = values.next()?;
    values.all(|value| value == first).then_some(first)
}

/// Whether each sample was the whole total.
pub(super) fn did(total: f64, metric: &Metric) -> bool {
    let whole = |work: f64| (work / total - 1.0).abs() < WHOLE;
    !metric.samples.is_empty() && metric.samples.iter().all(|sample| sample.work.is_some_and(whole))
}

/// The limit that the efficiency is of; without one, the tightest that could carry it.
pub(crate) fn tightest(metric: &Metric) -> Option<&Peak> {
    if let Some(efficiency) = metric.efficiency {
        return metric.peaks.iter().find(|peak| peak.kind == efficiency.of);
    }
    let carrying = metric.peaks.iter().filter(|peak| peak.kind.carries_efficiency());
    carrying.min_by(|one, other| one.value.total_cmp(&other.value))
}

/// The line with the highest of these shares; the first of several alike.
pub(super) fn highest<L>(lines: impl Iterator<Item = L>, share: impl Fn(&L) -> Option<f64>) -> Option<(f64, L)> {
    let known = lines.filter_map(|line| Some((share(&line)?, line)));
    known.reduce(|best, other| if other.0 > best.0 { other } else { best })
}

/// The best line of each kind. Fewer threads and smaller blocks come first: a line that does not beat them is no better.
pub(super) fn best<L, K: PartialEq>(
    lines: impl Iterator<Item = L>,
    kind: impl Fn(&L) -> K,
    beats: impl Fn(&L, &L) -> bool,
) -> Vec<L> {
    let mut found: Vec<L> = Vec::new();
    for line in lines {
        match found.iter_mut().find(|other| kind(other) == kind(&line)) {
            Some(best) if beats(&line, best) => *best = line,
            Some(_) => {}
            None => found.push(line),
        }
    }
    found
}

/// Whether all, some or none of these were done in full.
pub(super) fn in_full(mut points: impl Iterator<Item = bool>) -> InFull {
    let Some(first) = points.next() else { return InFull::None };
    let (all, any) = points.fold((first, first), |(all, any), done| (all && done, any || done));
    match (all, any) {
        (true, _) => InFull::All,
        (_, true) => InFull::Some,
        _ => InFull::None,
    }
}

/// How many samples did the whole total.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum InFull {
    All,
    Some,
    None,
}
