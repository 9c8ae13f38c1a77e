//! A sample, its metric and their summary: the record behind every number of a document.

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::document::peak::{Efficiency, Peak};
use crate::document::reference::Reference;
use crate::unit::{Better, Unit};
use crate::words::Named;

crate::words::words! {
    /// What a metric measures.
    MetricName, "metric", {
        /// Operations or bytes per second.
        Throughput => "throughput",
        /// Seconds that one thread sees for one operation.
        Latency => "latency",
        /// Requests completed per second.
        Iops => "iops",
        /// Core cycles per second while the row was measured.
        Clock => "clock",
        /// Bytes per second from the client to the server, where both directions are measured at once.
        ThroughputUp => "throughput_up",
        /// Bytes per second from the server to the client.
        ThroughputDown => "throughput_down",
        /// Share of the datagrams that never came.
        Loss => "loss",
        /// Datagrams that came once more, as a share of those that came.
        Duplicates => "duplicates",
        /// Datagrams that came after a later one, as a share of those that came.
        Reordered => "reordered",
        /// Interarrival jitter by RFC 3550, in seconds.
        Jitter => "jitter",
        /// Segments that TCP sent again.
        Retransmits => "retransmits",
        /// CPU seconds of both ends' threads per byte.
        CpuCost => "cpu_cost",
        /// HPL's scaled residual, below 16 where right; of a product, its error over what rounding explains.
        Residual => "residual",
        /// The largest entry of `A x - b` of a solution.
        ResidualRaw => "residual_raw",
    }
}

/// What one thread did in one sample.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct ThreadShare {
    /// Operations, flop or bytes.
    pub work: f64,
    /// Seconds it took for them.
    pub seconds: f64,
    /// The core's clock at the sample, in Hz.
    pub clock_hz: Option<f64>,
}

/// One repetition.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Sample {
    /// The value, in the metric's unit.
    pub value: f64,
    /// Operations, flop or bytes of all threads inside the common window; `null` where the metric counts none.
    pub work: Option<f64>,
    /// Length of the common window in seconds (for a latency: seconds of all threads).
    pub seconds: f64,
    /// Seconds since the run began.
    pub start: f64,
    /// The worker process that it came from, counted from 1 over the run.
    pub launch: u32,
    /// Its place in the interleaved order, counted from 1.
    pub block: u32,
    /// The session that it was taken in, counted from 1: a pass over all rows, some time after the one before.
    #[serde(default = "crate::words::one")]
    pub session: u32,
    /// Core clock at the sample, in Hz; `null` where it was not measured.
    pub clock_hz: Option<f64>,
    /// Seconds lost to interference, from gaps inside the timed loop, as a mean over the threads.
    pub stolen_seconds: Option<f64>,
    /// The median value of its time slices in which no thread lost time, or the value by the CPU time of its threads;
    /// `null` where it has neither.
    #[serde(default)]
    pub undisturbed: Option<f64>,
    /// Those time slices.
    #[serde(default)]
    pub slices: Option<u32>,
    /// Each thread's part.
    pub per_thread: Vec<ThreadShare>,
    /// Marks: `outlier`, `disturbed`, `repeat` of a disturbed process run, `before_steady`. None is left out.
    pub flags: Vec<String>,
}

/// Summary statistics over the samples of a metric.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Summary {
    /// Samples.
    pub n: u32,
    /// Median.
    pub median: f64,
    /// Order-statistic interval of the median that holds at least 95 %; `null` below n = 6, where none exists.
    pub ci95: Option<[f64; 2]>,
    /// The confidence that `ci95` really has (0.961 for n = 9).
    pub ci_confidence: Option<f64>,
    /// Least value.
    pub min: f64,
    /// Greatest value.
    pub max: f64,
    /// Arithmetic mean.
    pub mean: f64,
    /// Sample standard deviation (n - 1); `null` for n = 1.
    pub stddev: Option<f64>,
    /// stddev / mean.
    pub cv: Option<f64>,
    /// 1.4826 MAD / median.
    pub cv_robust: Option<f64>,
    /// The best value in the metric's direction.
    pub best: Option<f64>,
    /// Percentiles over all operations, from the full histogram; `null` where operations are not timed singly.
    pub percentiles: Option<Percentiles>,
    /// The value in the time slices without interference; `null` where the benchmark has no such slices.
    pub undisturbed: Option<Undisturbed>,
}

/// A value estimated from the time slices in which nothing interfered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Undisturbed {
    /// The estimate, in the metric's unit.
    pub value: f64,
    /// Its 95 % interval.
    pub ci95: Option<[f64; 2]>,
    /// Time slices or repetitions that it rests on.
    pub n: u64,
    /// What `n` counts: `time slices`, or `repetitions by CPU time`.
    pub of: String,
}

crate::words::words! {
    /// A value against the range in which it should be.
    ExpectationVerdict, "verdict", {
        /// Inside it, or not surely outside.
        AsExpected => "as_expected",
        /// Worse: outside, and the interval excludes the middle of the range.
        Below => "below",
        /// Better: outside, and the interval excludes the middle of the range.
        Above => "above",
    }
}

/// No processor's clock is higher, in Hz: the end of the range above a base clock whose boost is unknown.
pub const HIGHEST_CLOCK_HZ: f64 = 10e9;

/// A range in which a metric should be.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Expectation {
    /// `limit`, `published`, `datasheet`, `link`, `declared`, `similar` or `history`.
    pub source: String,
    /// The lowest value, in the metric's unit.
    pub low: f64,
    /// The highest value.
    pub high: f64,
    /// The range in words.
    pub text: String,
    /// The document that it is from.
    pub origin: Option<String>,
    /// The date of that document.
    pub date: Option<String>,
    /// Machines or runs that it rests on.
    pub n: Option<u32>,
}

/// Percentiles of a distribution, in the metric's unit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Percentiles {
    /// Half of the operations were no slower.
    pub p50: f64,
    /// 90 %.
    pub p90: f64,
    /// 99 %.
    pub p99: f64,
    /// 99.9 %.
    #[serde(rename = "p99.9")]
    pub p99_9: f64,
    /// 99.99 %.
    #[serde(rename = "p99.99")]
    pub p99_99: f64,
    /// The slowest of all.
    pub max: f64,
    /// Operations.
    #[serde(default)]
    pub count: u64,
}

/// One metric of a row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Metric {
    /// Its name.
    pub name: Named<MetricName>,
    /// Its unit.
    pub unit: Unit,
    /// Which direction is an improvement.
    pub better: Better,
    /// Every repetition.
    pub samples: Vec<Sample>,
    /// Their summary.
    pub summary: Summary,
    /// The limits known for it, each kind at most once.
    pub peaks: Vec<Peak>,
    /// The median's share of the tightest of them.
    pub efficiency: Option<Efficiency>,
    /// Ranges in which it should be, the most specific source first; empty without a source.
    #[serde(default)]
    pub expectations: Vec<Expectation>,
    /// `as_expected`, `below` or `above` the first of them; `null` without one, or where confidence is too low.
    pub verdict: Option<ExpectationVerdict>,
    /// What reference tools measured.
    pub references: Vec<Reference>,
}
