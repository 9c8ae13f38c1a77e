//! What the runner and its workers say to each other: one JSON object a line, the task down, messages up.
//!
//! The same words serve a local child process and, later, `srun` or ssh; nothing here depends on how they travel.

use serde::{Deserialize, Serialize};

use crate::experiment::Experiment;
use crate::sample::{MetricName, Sample};
use crate::unit::{Better, Unit};

/// One launch of one experiment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Task {
    /// What to measure.
    pub experiment: Experiment,
    /// The CPU of each thread.
    pub cpus: Vec<u32>,
    /// Number of this launch, counted from 1 over the run.
    pub launch: u32,
    /// Place in the interleaved order, counted from 1.
    pub block: u32,
    /// Seed of data and permutations; differs from launch to launch.
    pub seed: u64,
    /// Samples to take.
    pub samples: u32,
    /// Length of one sample, in seconds.
    pub sample_seconds: f64,
    /// The least and the most warm-up, in seconds; it ends between them once the rate is steady.
    pub warm_up_seconds: [f64; 2],
    /// `CLOCK_MONOTONIC_RAW` when the run began, in seconds, so that samples say when they were taken.
    pub run_began: f64,
    /// Cycles per multiplication in the second clock chain on this microarchitecture.
    pub imul_cycles: f64,
    /// The process that started this worker: when it is gone, so is the worker.
    pub parent: u32,
}

/// A sample of a metric.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MetricSample {
    /// The metric.
    pub name: MetricName,
    /// Its unit.
    pub unit: Unit,
    /// Its better direction.
    pub better: Better,
    /// The sample.
    pub sample: Sample,
}

/// What a worker saw besides its samples.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Observations {
    /// Seconds of preparation.
    pub setup_seconds: f64,
    /// Seconds of warm-up.
    pub warm_up_seconds: f64,
    /// Relative change of the rate when the warm-up ended.
    pub warm_up_change: f64,
    /// Seconds in the timed part.
    pub timed_seconds: f64,
    /// CPU time per elapsed time in the timed part, mean over threads.
    pub cpu_share: f64,
    /// Involuntary context switches in the timed part, all threads.
    pub involuntary_switches: u64,
    /// Page faults in the timed part, all threads.
    pub page_faults: u64,
    /// Share of the timed part that /proc/stat says was stolen from these CPUs.
    pub steal: Option<f64>,
    /// Share of the timed part that a cgroup quota stopped us.
    pub throttled: Option<f64>,
    /// Operations per cycle of every burst of 1 ms or more, thinned to at most a few hundred.
    pub ops_per_cycle: Vec<f64>,
    /// Share of the rate lost in gaps.
    pub lost_in_gaps: Option<f64>,
    /// Relative difference of the two clock chains, median.
    pub clock_disagreement: Option<f64>,
    /// `chains` or `counter`.
    pub clock_source: String,
    /// Share of the buffer in pages of the size asked for.
    pub pages_obtained: Option<f64>,
    /// Whether time stamps come from the time-stamp counter.
    pub counter_timer: bool,
}

/// What a worker says, one line each.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Message {
    /// Prepared and warmed up; timing begins.
    Ready,
    /// One repetition, with every metric of it.
    Sample {
        /// The metrics.
        metrics: Vec<MetricSample>,
    },
    /// All samples taken and every result checked.
    Done {
        /// What else was seen.
        observations: Observations,
    },
    /// Cannot be done here; not a defect (no memory for it, an instruction set that is missing).
    Unavailable {
        /// Why.
        reason: String,
    },
    /// Something went wrong.
    Failed {
        /// What.
        reason: String,
    },
}
