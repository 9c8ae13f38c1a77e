//! A figure with the span in which it is known, and when two of them differ.
//!
//! The span is the 95 % interval of the median. Below six samples there is none; from three on the range of the samples
//! stands in for it, and a difference has to be a tenth besides: three samples on each side fall apart by chance once in
//! ten times. With fewer samples nothing is claimed.

use model::document::{Row, Status};
use model::sample::{Metric, MetricName};
use model::warning::Grade;

/// Two figures whose spans do not meet differ from this ratio on: less is of no use to a reader.
const LEAST: f64 = 1.02;

/// The same where one of them has a range instead of an interval; and up to this ratio, spans included, figures are alike.
pub(super) const TENTH: f64 = 1.1;

/// Samples from which on their range stands in for an interval.
const RANGE: u32 = 3;

/// Figures outside are no measurements: from the time of a hundredth of a nanosecond to an exa-anything.
const SANE: std::ops::RangeInclusive<f64> = 1e-11..=1e18;

/// A figure that can be one.
pub(super) fn sane(value: f64) -> Option<f64> {
    SANE.contains(&value).then_some(value)
}

/// A median with its span.
#[derive(Clone, Copy, Debug)]
pub(super) struct Figure {
    /// The median.
    pub(super) median: f64,
    /// Low and high end; `None` where nothing may be claimed.
    pub(super) span: Option<[f64; 2]>,
    /// Whether the span is an interval.
    pub(super) is_interval: bool,
}

/// What one figure is beside another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Against {
    /// Less, by more than both spans.
    Less,
    /// The same within a tenth, spans included.
    Alike,
    /// More, by more than both spans.
    More,
}

/// Whether a row was measured, and not disturbed.
pub(super) fn is_quiet(row: &Row) -> bool {
    row.status == Status::Ok && row.grade.is_some_and(|grade| grade < Grade::C)
}

impl Figure {
    /// A quiet row's figure; `None` where there is none, or none that can be.
    pub(super) fn of(row: &Row, name: MetricName) -> Option<Self> {
        row.metric(name).filter(|_| is_quiet(row)).and_then(Self::of_metric)
    }

    /// That of a metric.
    pub(super) fn of_metric(metric: &Metric) -> Option<Self> {
        let summary = &metric.summary;
        let is_interval = summary.ci95.is_some();
        let range = (summary.n >= RANGE).then_some([summary.min, summary.max]);
        Self::new(summary.median, summary.ci95.or(range), is_interval)
    }

    fn new(median: f64, span: Option<[f64; 2]>, is_interval: bool) -> Option<Self> {
        let holds = |[low, high]: &[f64; 2]| *low > 0.0 && *low <= median && median <= *high && high.is_finite();
        SANE.contains(&median).then(|| Self { median, span: span.filter(holds), is_interval })
    }

    /// The figure of ratios that were seen, by the rule of samples.
    pub(super) fn of_ratios(median: f64, interval: Option<[f64; 2]>, seen: &[f64]) -> Option<Self> {
        let ends = (seen.iter().copied().reduce(f64::min), seen.iter().copied().reduce(f64::max));
        let range = ends.0.zip(ends.1).filter(|_| seen.len() >= RANGE as usize).map(|(low, high)| [low, high]);
        Self::new(median, interval.or(range), interval.is_some())
    }

    /// How it is beside another; `None` where that cannot be told.
    pub(super) fn against(self, other: Self) -> Option<Against> {
        let ([low, high], [other_low, other_high]) = (self.span?, other.span?);
        let ratio = self.median / other.median;
        let far = if self.is_interval && other.is_interval { LEAST } else { TENTH };
        if low > other_high && ratio >= far {
            Some(Against::More)
        } else if high < other_low && ratio <= 1.0 / far {
            Some(Against::Less)
        } else {
            (high.max(other_high) <= TENTH * low.min(other_low)).then_some(Against::Alike)
        }
    }

    /// Whether it is more or less than another, and by which factor.
    pub(super) fn differs(self, other: Self) -> Option<f64> {
        let against = self.against(other)?;
        (against != Against::Alike).then_some(self.median / other.median)
    }

    /// It over another, the span from end to end.
    pub(super) fn over(self, other: Self) -> Option<Self> {
        let span = self.span.zip(other.span).map(|([low, high], [least, most])| [low / most, high / least]);
        Self::new(self.median / other.median, span, self.is_interval && other.is_interval)
    }

    /// Whether it may be called as high as the best.
    pub(super) fn is_as_good_as(self, best: Self) -> bool {
        self.span.is_some() && self.against(best) != Some(Against::Less)
    }
}

/// The figure by which rows are set against each other: bytes, operations or requests per second.
pub(super) fn rate(row: &Row) -> Option<Figure> {
    Figure::of(row, MetricName::Throughput)
}

/// The highest median of these.
pub(super) fn most<'a>(rows: impl IntoIterator<Item = (Figure, &'a Row)>) -> Option<(Figure, &'a Row)> {
    rows.into_iter().reduce(|best, other| if other.0.median > best.0.median { other } else { best })
}
