//! A median with its span, and when two of them differ.
//!
//! The span is the 95 % interval. Three to five samples have their range instead and must differ by 10 % as well: the
//! ranges of three samples on each side are apart by chance once in ten times.

use model::document::{Row, Status};
use model::sample::{Metric, MetricName};
use model::warning::Confidence;

/// The least ratio of two values that differ: less is of no use to a reader.
const LEAST: f64 = 1.02;
/// The least ratio of different values where one has a range instead of an interval, and the most of alike values.
pub const TENTH: f64 = 1.1;
/// The fewest samples whose range replaces an interval.
const RANGE: u32 = 3;
/// Values outside are no measurements: from a hundredth of a nanosecond to 10^18 a second.
const SANE: std::ops::RangeInclusive<f64> = 1e-11..=1e18;

/// The value, if it can be a measurement.
pub fn sane(value: f64) -> Option<f64> {
    SANE.contains(&value).then_some(value)
}

/// A median with its span.
#[derive(Clone, Copy, Debug)]
pub struct Estimate {
    /// The median.
    pub median: f64,
    /// Low and high end; `None` if the samples support no claim.
    pub span: Option<[f64; 2]>,
    /// Whether the span is an interval.
    pub is_interval: bool,
}

/// One value compared with another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Against {
    /// Less, by more than both spans.
    Less,
    /// The same within a tenth, spans included.
    Alike,
    /// More, by more than both spans.
    More,
}

/// Whether a result was measured, and its confidence is not C.
pub fn is_undisturbed(row: &Row) -> bool {
    row.status == Status::Ok && row.confidence.is_some_and(|confidence| confidence < Confidence::Low)
}

impl Estimate {
    /// A metric of an undisturbed result.
    pub fn of_result(row: &Row, name: MetricName) -> Option<Self> {
        row.metric(name).filter(|_| is_undisturbed(row)).and_then(Self::of_metric)
    }

    /// The median of a metric; `None` if it can be no measurement.
    pub fn of_metric(metric: &Metric) -> Option<Self> {
        let summary = &metric.summary;
        let is_interval = summary.ci95.is_some();
        let range = (summary.n >= RANGE).then_some([summary.min, summary.max]);
        Self::new(summary.median, summary.ci95.or(range), is_interval)
    }

    fn new(median: f64, span: Option<[f64; 2]>, is_interval: bool) -> Option<Self> {
        let holds = |[low, high]: &[f64; 2]| *low > 0.0 && *low <= median && median <= *high && high.is_finite();
        SANE.contains(&median).then(|| Self { median, span: span.filter(holds), is_interval })
    }

    pub(super) fn of_ratios(median: f64, interval: Option<[f64; 2]>, seen: &[f64]) -> Option<Self> {
        let ends = (seen.iter().copied().reduce(f64::min), seen.iter().copied().reduce(f64::max));
        let range = ends.0.zip(ends.1).filter(|_| seen.len() >= RANGE as usize).map(|(low, high)| [low, high]);
        Self::new(median, interval.or(range), interval.is_some())
    }

    /// Compares it with another; `None` if the spans leave it open.
    pub fn against(self, other: Self) -> Option<Against> {
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

    /// Its ratio to another, if they differ.
    pub fn differs(self, other: Self) -> Option<f64> {
        self.against(other).filter(|against| *against != Against::Alike).map(|_| self.median / other.median)
    }

    pub(super) fn over(self, other: Self) -> Option<Self> {
        let span = self.span.zip(other.span).map(|([low, high], [least, most])| [low / most, high / least]);
        Self::new(self.median / other.median, span, self.is_interval && other.is_interval)
    }
}

/// The rate of a result, in bytes or operations per second.
pub fn rate(row: &Row) -> Option<Estimate> {
    Estimate::of_result(row, MetricName::Throughput)
}

/// The one with the highest median, the first of several.
pub fn highest<T>(all: impl IntoIterator<Item = (Estimate, T)>) -> Option<(Estimate, T)> {
    all.into_iter().reduce(|best, other| if other.0.median > best.0.median { other } else { best })
}
