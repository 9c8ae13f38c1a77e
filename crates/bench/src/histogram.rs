//! A log-linear histogram of latencies in nanoseconds, which can be merged and encoded as text.
//!
//! Three significant digits from 1 ns to 1 h, and the exact maximum. The text is `HdrHistogram`'s (V2, compressed, base64)
//! with the maximum appended; logs have the standard text only, so that other programs can read them.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
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
        let mut bytes = Vec::new();
        V2DeflateSerializer::new().serialize(&self.bins, &mut bytes).ok()?;
        Some(format!("{}{BEFORE_SLOWEST}{}", BASE64.encode(bytes), self.slowest))
    }

    pub(crate) fn decode(text: &str) -> Option<Self> {
        let (standard, slowest) = text.split_once(BEFORE_SLOWEST)?;
        let bytes = BASE64.decode(standard).ok()?;
        let bins = Deserializer::new().deserialize(&mut bytes.as_slice()).ok()?;
        Some(Self { bins, slowest: slowest.parse().ok()? })
    }

    pub(crate) fn merged<'a>(texts: impl Iterator<Item = &'a str>) -> Self {
        let mut all = Self::new();
        texts.filter_map(Self::decode).for_each(|one| all.add(&one));
        all
    }
}

/// An `HdrHistogram` log (version 1.3) of starts, seconds and texts, with maxima in milliseconds.
pub(crate) fn log<'a>(title: &str, repetitions: impl Iterator<Item = (f64, f64, &'a str)>) -> String {
    let mut log = format!(
        "#[{title}: nanoseconds per operation]\n#[Histogram log format version 1.3]\n\
         \"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"\n"
    );
    for (start, seconds, text) in repetitions {
        let (standard, slowest) = text.split_once(BEFORE_SLOWEST).unwrap_or((text, ""));
        let slowest = slowest.parse::<u64>().unwrap_or_default() as f64 * SECONDS;
        let _ = writeln!(log, "{start:.3},{seconds:.3},{:.6},{standard}", slowest * 1e3);
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
        assert!(Histogram::new().percentiles().is_none());
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
    fn text_reads_back_and_merging_is_counting_together() {
        let (low, high) = (of(1..=1000), of(1001..=2000));
        let texts = [low.encode().unwrap(), high.encode().unwrap(), "garbage".to_owned()];
        let merged = Histogram::merged(texts.iter().map(String::as_str));
        assert_eq!(merged.percentiles(), of(1..=2000).percentiles());
    }

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig::with_cases(32))]

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
        let log = log("disk/x", [(1.0, 0.35, text.as_str()), (2.0, 0.35, &text)].into_iter());
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
