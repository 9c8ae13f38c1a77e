//! How long operations took, all of them: a log-linear histogram of nanoseconds, which merges and travels as text.
//!
//! Three significant digits from a nanosecond to an hour. The text is the standard one of `HdrHistogram` (V2, compressed,
//! base64), so that other programs read it too.

use std::fmt::Write as _;

use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer};
use model::sample::Percentiles;

/// Nothing slower is told apart: an hour.
const MOST_NANOSECONDS: u64 = 3_600_000_000_000;

/// Significant digits: a value is known to one in a thousand.
const DIGITS: u8 = 3;

const SECONDS: f64 = 1e-9;

/// Counts of durations.
#[derive(Clone, Debug)]
pub(crate) struct Histogram(hdrhistogram::Histogram<u64>);

impl Histogram {
    /// An empty one, with all of its memory.
    ///
    /// # Panics
    /// Never: the bounds are constants that the library takes, which a test shows.
    #[expect(clippy::expect_used, reason = "constant bounds")]
    pub(crate) fn new() -> Self {
        Self(hdrhistogram::Histogram::new_with_bounds(1, MOST_NANOSECONDS, DIGITS).expect("the bounds are constants"))
    }

    /// Counts one operation. Neither allocates nor fails.
    pub(crate) fn record(&mut self, nanoseconds: u64) {
        self.0.saturating_record(nanoseconds.max(1));
    }

    /// Operations counted.
    pub(crate) fn count(&self) -> u64 {
        self.0.len()
    }

    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        self.0.reset();
    }

    /// Adds another one's counts.
    pub(crate) fn add(&mut self, other: &Self) {
        // Both have the same bounds, so nothing can be out of range.
        let _ = self.0.add(&other.0);
    }

    /// The duration that this share of the operations did not exceed, in seconds; `None` of nothing.
    pub(crate) fn quantile(&self, share: f64) -> Option<f64> {
        (self.count() > 0).then(|| self.0.value_at_quantile(share) as f64 * SECONDS)
    }

    /// The mean duration, in seconds, as precise as the bins; `None` of nothing.
    pub(crate) fn mean(&self) -> Option<f64> {
        (self.count() > 0).then(|| self.0.mean() * SECONDS)
    }

    /// The usual percentiles, in seconds; `None` of nothing.
    pub(crate) fn percentiles(&self) -> Option<Percentiles> {
        Some(Percentiles {
            p50: self.quantile(0.5)?,
            p90: self.quantile(0.9)?,
            p99: self.quantile(0.99)?,
            p99_9: self.quantile(0.999)?,
            p99_99: self.quantile(0.9999)?,
            max: self.0.max() as f64 * SECONDS,
            count: self.count(),
        })
    }

    /// As text; `None` if the library fails, which it does not do for memory.
    pub(crate) fn encode(&self) -> Option<String> {
        use base64::Engine as _;
        let mut bytes = Vec::new();
        V2DeflateSerializer::new().serialize(&self.0, &mut bytes).ok()?;
        Some(base64::engine::general_purpose::STANDARD.encode(bytes))
    }

    /// From text.
    pub(crate) fn decode(text: &str) -> Option<Self> {
        use base64::Engine as _;
        let bytes = base64::engine::general_purpose::STANDARD.decode(text).ok()?;
        Deserializer::new().deserialize(&mut bytes.as_slice()).ok().map(Self)
    }

    /// All of these texts together; those that cannot be read are left out.
    pub(crate) fn merged<'a>(texts: impl Iterator<Item = &'a str>) -> Self {
        let mut all = Self::new();
        texts.filter_map(Self::decode).for_each(|one| all.add(&one));
        all
    }
}

/// One repetition's histogram as its log has it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Logged<'a> {
    /// When the repetition began, in seconds since the run did.
    pub(crate) start: f64,
    /// Its length in seconds.
    pub(crate) seconds: f64,
    /// The text of [`Histogram::encode`].
    pub(crate) text: &'a str,
}

/// A log of histograms in the form that the tools of `HdrHistogram` read (version 1.3), the greatest value in
/// milliseconds.
pub(crate) fn log<'a>(title: &str, repetitions: impl Iterator<Item = Logged<'a>>) -> String {
    let mut log = format!(
        "#[{title}: nanoseconds per operation]\n#[Histogram log format version 1.3]\n\
         \"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"\n"
    );
    for Logged { start, seconds, text } in repetitions {
        let longest = Histogram::decode(text).and_then(|histogram| histogram.percentiles()).map_or(0.0, |all| all.max);
        // Writing to a string does not fail.
        let _ = writeln!(log, "{start:.3},{seconds:.3},{:.6},{text}", longest * 1e3);
    }
    log
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: impl Iterator<Item = u64>) -> Histogram {
        let mut histogram = Histogram::new();
        values.for_each(|value| histogram.record(value));
        histogram
    }

    fn near(value: Option<f64>, expected: f64) -> bool {
        value.is_some_and(|value| (value / expected - 1.0).abs() < 2e-3)
    }

    #[test]
    fn percentiles_are_those_of_the_values() {
        let histogram = of(1..=100_000);
        assert!(near(histogram.quantile(0.5), 50e-6) && near(histogram.quantile(0.999), 99.9e-6));
        let percentiles = histogram.percentiles().unwrap();
        assert_eq!(percentiles.count, 100_000);
        assert!(near(Some(percentiles.max), 100e-6) && near(Some(percentiles.p99_99), 99.99e-6));
    }

    #[test]
    fn nothing_has_no_percentiles() {
        assert!(Histogram::new().percentiles().is_none());
    }

    #[test]
    fn text_reads_back_and_merging_is_counting_together() {
        let (low, high) = (of(1..=1000), of(1001..=2000));
        let texts = [low.encode().unwrap(), high.encode().unwrap(), "garbage".to_owned()];
        let merged = Histogram::merged(texts.iter().map(String::as_str));
        assert_eq!(merged.percentiles(), of(1..=2000).percentiles());
    }

    #[test]
    fn a_log_has_a_line_for_each_repetition() {
        let text = of(1..=2_000_000).encode().unwrap();
        let logged = |start| Logged { start, seconds: 0.35, text: &text };
        let log = log("disk/x", [logged(1.0), logged(2.0)].into_iter());
        let lines: Vec<_> = log.lines().collect();
        assert_eq!(lines.len(), 5);
        assert!(lines[3].starts_with("1.000,0.350,2.00") && lines[3].ends_with(&text), "{}", lines[3]);
        assert!(lines[3].contains(",HISTF"), "the standard's text begins so");
    }

    #[test]
    fn what_is_out_of_range_is_counted_at_its_end() {
        let histogram = of([0, u64::MAX].into_iter());
        assert_eq!(histogram.count(), 2);
        assert!(near(histogram.quantile(1.0), 3600.0));
    }
}
