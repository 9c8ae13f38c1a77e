//! A log-linear histogram of latencies in nanoseconds, which can be merged and encoded as text.
//!
//! Three significant digits from 1 ns to 1 h, and the exact maximum. The text is `HdrHistogram`'s (V2, compressed, base64)
//! with the maximum appended; logs have the standard text only, so that other programs can read them.

use std::fmt::Write as _;

use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer};
use model::sample::Percentiles;

const MOST_NANOSECONDS: u64 = 3_600_000_000_000;
const DIGITS: u8 = 3;
const SECONDS: f64 = 1e-9;
/// Separates the standard text from the maximum; not a letter of base64.
const BEFORE_SLOWEST: char = ':';

#[derive(Clone, Debug)]
pub(crate) struct Histogram {
    bins: hdrhistogram::Histogram<u64>,
    /// Maximum in nanoseconds; a bin only knows its edge.
    slowest: u64,
}

impl Histogram {
    #[expect(clippy::expect_used, reason = "constant bounds")]
    pub(crate) fn new() -> Self {
        let bins = hdrhistogram::Histogram::new_with_bounds(1, MOST_NANOSECONDS, DIGITS);
        Self { bins: bins.expect("the bounds are constants"), slowest: 0 }
    }

    /// Counts one operation; never allocates.
    pub(crate) fn record(&mut self, nanoseconds: u64) {
        let nanoseconds = nanoseconds.clamp(1, MOST_NANOSECONDS);
        self.bins.saturating_record(nanoseconds);
        self.slowest = self.slowest.max(nanoseconds);
    }

    pub(crate) fn count(&self) -> u64 {
        self.bins.len()
    }

    pub(crate) fn clear(&mut self) {
        self.bins.reset();
        self.slowest = 0;
    }

    pub(crate) fn add(&mut self, other: &Self) {
        // Equal bounds, so nothing is out of range.
        let _ = self.bins.add(&other.bins);
        self.slowest = self.slowest.max(other.slowest);
    }

    /// A quantile in seconds: the upper edge of its bin, at most the maximum; `None` if empty.
    pub(crate) fn quantile(&self, share: f64) -> Option<f64> {
        (self.count() > 0).then(|| self.bins.value_at_quantile(share).min(self.slowest) as f64 * SECONDS)
    }

    /// The mean in seconds, with the precision of the bins; `None` if empty.
    pub(crate) fn mean(&self) -> Option<f64> {
        (self.count() > 0).then(|| self.bins.mean() * SECONDS)
    }

    pub(crate) fn percentiles(&self) -> Option<Percentiles> {
        Some(Percentiles {
            p50: self.quantile(0.5)?,
            p90: self.quantile(0.9)?,
            p99: self.quantile(0.99)?,
            p99_9: self.quantile(0.999)?,
            p99_99: self.quantile(0.9999)?,
            max: self.slowest as f64 * SECONDS,
            count: self.count(),
        })
    }

    /// As text; `None` if the library fails, which it cannot in memory.
    pub(crate) fn encode(&self) -> Option<String> {
        use base64::Engine as _;
        let mut bytes = Vec::new();
        V2DeflateSerializer::new().serialize(&self.bins, &mut bytes).ok()?;
        let standard = base64::engine::general_purpose::STANDARD.encode(bytes);
        Some(format!("{standard}{BEFORE_SLOWEST}{}", self.slowest))
    }

    /// From text. Older journals lack the maximum, which then has the precision of the bins.
    pub(crate) fn decode(text: &str) -> Option<Self> {
        use base64::Engine as _;
        let (standard, slowest) = parts(text);
        let bytes = base64::engine::general_purpose::STANDARD.decode(standard).ok()?;
        let bins: hdrhistogram::Histogram<u64> = Deserializer::new().deserialize(&mut bytes.as_slice()).ok()?;
        let slowest = slowest.map_or_else(|| Some(bins.max()), |text| text.parse().ok())?;
        Some(Self { bins, slowest })
    }

    /// The sum of all readable texts.
    pub(crate) fn merged<'a>(texts: impl Iterator<Item = &'a str>) -> Self {
        let mut all = Self::new();
        texts.filter_map(Self::decode).for_each(|one| all.add(&one));
        all
    }
}

fn parts(text: &str) -> (&str, Option<&str>) {
    text.split_once(BEFORE_SLOWEST).map_or((text, None), |(standard, slowest)| (standard, Some(slowest)))
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Logged<'a> {
    pub(crate) start: f64,
    pub(crate) seconds: f64,
    pub(crate) text: &'a str,
}

/// An `HdrHistogram` log (version 1.3) with maxima in milliseconds.
pub(crate) fn log<'a>(title: &str, repetitions: impl Iterator<Item = Logged<'a>>) -> String {
    let mut log = format!(
        "#[{title}: nanoseconds per operation]\n#[Histogram log format version 1.3]\n\
         \"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"\n"
    );
    for Logged { start, seconds, text } in repetitions {
        let longest = Histogram::decode(text).and_then(|histogram| histogram.percentiles()).map_or(0.0, |all| all.max);
        let _ = writeln!(log, "{start:.3},{seconds:.3},{:.6},{}", longest * 1e3, parts(text).0);
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
    fn its_memory_is_what_is_said_of_it() {
        assert_eq!(Histogram::new().bins.distinct_values() as u64 * 8, areas::disk::footprint::HISTOGRAM_BYTES);
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
    fn text_without_the_slowest_is_as_precise_as_its_bins() {
        let text = of(1..=1_000_003).encode().unwrap();
        let (standard, _) = parts(&text);
        let old = Histogram::decode(standard).unwrap().percentiles().unwrap();
        assert!(near(Some(old.max), 1_000_003e-9) && old.count == 1_000_003);
        assert!(Histogram::decode(&format!("{standard}:x")).is_none());
    }

    proptest::proptest! {
        #[test]
        fn the_slowest_is_exact_through_texts_and_merging(
            parts in proptest::collection::vec(proptest::collection::vec(1..MOST_NANOSECONDS, 0..20), 1..6),
        ) {
            let texts: Vec<String> = parts.iter().map(|part| of(part.iter().copied()).encode().unwrap()).collect();
            let merged = Histogram::merged(texts.iter().map(String::as_str)).percentiles();
            let slowest = parts.iter().flatten().max();
            proptest::prop_assert_eq!(merged.map(|all| all.max), slowest.map(|most| *most as f64 * SECONDS));
            if let Some(all) = merged {
                let ascending = [all.p50, all.p90, all.p99, all.p99_9, all.p99_99, all.max];
                proptest::prop_assert!(ascending.is_sorted(), "{:?}", ascending);
            }
        }
    }

    #[test]
    fn a_log_has_a_line_for_each_repetition() {
        let text = of(1..=2_000_000).encode().unwrap();
        let logged = |start| Logged { start, seconds: 0.35, text: &text };
        let log = log("disk/x", [logged(1.0), logged(2.0)].into_iter());
        let lines: Vec<_> = log.lines().collect();
        assert_eq!(lines.len(), 5);
        let standard = text.strip_suffix(":2000000").unwrap();
        assert!(lines[3].starts_with("1.000,0.350,2.000000,") && lines[3].ends_with(standard), "{}", lines[3]);
        assert!(lines[3].contains(",HISTF"), "the standard's text begins so");
    }

    #[test]
    fn what_is_out_of_range_is_counted_at_its_end() {
        let histogram = of([0, u64::MAX].into_iter());
        assert_eq!(histogram.count(), 2);
        assert!(near(histogram.quantile(1.0), 3600.0));
    }
}
