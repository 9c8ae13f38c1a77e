//! What the runner and its workers say to each other: one JSON object per line, tasks down, messages up.

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::benchmark::experiment::{DiskParams, Experiment};
use crate::benchmark::io::DiskLayout;
use crate::benchmark::linpack::LinpackConditions;
use crate::document::sample::{MetricName, Sample};
use crate::document::{DiskConditions, NetConditions};
use crate::surroundings::Settings;
use crate::unit::{Better, Unit};

/// The clock's source where hardware counts the core's cycles.
pub const CYCLE_COUNTER: &str = "counter";

/// One process run of one benchmark.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "what is named as in the plan")]
pub struct Task {
    pub experiment: Experiment,
    pub cpus: Vec<u32>,
    /// Number of this process run, counted from 1 over the run.
    pub launch: u32,
    /// Place in the interleaved order, counted from 1.
    pub block: u32,
    #[serde(default = "crate::words::one")]
    pub session: u32,
    /// Seed of data and permutations; differs between process runs.
    pub seed: u64,
    pub samples: u32,
    pub sample_seconds: f64,
    /// Work of all threads in each sample, whatever time it takes, instead of `sample_seconds`.
    pub exact_work: Option<f64>,
    /// The least and the most warm-up, in seconds; it ends between them once the rate is steady.
    pub warm_up_seconds: [f64; 2],
    /// `CLOCK_MONOTONIC_RAW` when the run began, in seconds, so that samples say when they were taken.
    pub run_began: f64,
    /// Cycles per multiplication in the second clock chain on this microarchitecture.
    pub imul_cycles: u32,
    /// The process that started this worker: when it is gone, so is the worker.
    pub parent: u32,
    /// The processor that the runner's CPUID describes: on another one, the runner is emulated and the worker is not.
    #[serde(default)]
    pub processor: Option<String>,
    /// Whether it ends early: once the last five samples are steady (`stats::steadiness`).
    #[serde(default)]
    pub until_steady: bool,
    /// Seconds that it may work after its preparation; it takes at least one sample.
    pub most_seconds: Option<f64>,
    /// When the time of the whole run ends, in seconds of `CLOCK_MONOTONIC_RAW`.
    pub ends_at: Option<f64>,
    pub disk: Option<DiskTask>,
    pub ends: Option<Ends>,
}

/// What a disk benchmark needs in addition to its parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DiskTask {
    /// The test file, which the runner holds.
    pub file: HeldFile,
    /// Whether the file is overwritten once, in order, before the first sample.
    #[serde(default)]
    pub precondition: bool,
    /// Bytes that its requests may write: once they are written no other window begins. It takes at least one sample.
    pub most_written_bytes: Option<u64>,
}

/// The smallest part of a test file that can be written by itself and is checked by itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Grain {
    /// Sectors of 512 bytes, with stamps.
    #[default]
    Sectors,
    /// Words of 8 bytes.
    Words,
    /// Single bytes.
    Bytes,
}

impl Grain {
    /// The coarsest one that divides blocks of this size.
    pub const fn of_blocks(bytes: u64) -> Self {
        if bytes.is_multiple_of(512) {
            Self::Sectors
        } else if bytes.is_multiple_of(8) {
            Self::Words
        } else {
            Self::Bytes
        }
    }
}

/// The identity of a test file: benchmarks with the same one share the file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the other fields are what their names say")]
pub struct TestFile {
    pub directory: String,
    pub bytes: u64,
    pub grain: Grain,
    /// The thread whose file it is; the first one's is shared.
    pub thread: u32,
}

impl TestFile {
    /// The files that a benchmark works on.
    pub fn of_benchmark(params: &DiskParams) -> Vec<Self> {
        let threads = if params.layout == DiskLayout::PerThread { params.threads } else { 1 };
        let grain = Grain::of_blocks(params.block);
        (0..threads).map(|thread| Self { directory: params.path.clone(), bytes: params.size, grain, thread }).collect()
    }
}

/// A file that outlives workers: it has no name, the runner holds it, and workers open it through /proc.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the other fields are what their names say")]
pub struct HeldFile {
    /// Where a worker opens it: `/proc/PID/fd/N`.
    pub path: String,
    /// The directory it was made in, for messages.
    pub directory: String,
    pub filesystem: String,
    /// Whether it is overwritten in place; `false` on a file system that copies on write; `null` where unknown.
    pub in_place: Option<bool>,
    /// Whether the device under it has queues whose completions can be polled for, and they are.
    pub polled: bool,
    /// Its size once it is laid out, in bytes.
    pub bytes: u64,
    /// Seed of its contents, the same in every process run.
    pub seed: u64,
    #[serde(default)]
    pub grain: Grain,
    /// How long its layout may take, in seconds: what is written by then is the file. `null`: as long as it takes.
    pub layout_seconds: Option<u32>,
    /// The files of the other threads, the second one's first, where each thread has one of its own.
    #[serde(default)]
    pub others: Vec<Self>,
}

impl HeldFile {
    /// The file of a thread: its own, or the one that all share.
    pub fn of_thread(&self, thread: usize) -> &Self {
        thread.checked_sub(1).and_then(|other| self.others.get(other)).unwrap_or(self)
    }

    /// This one and those of the other threads.
    pub fn all(&self) -> impl Iterator<Item = &Self> {
        std::iter::once(self).chain(&self.others)
    }
}

/// What the two workers of a network experiment know of each other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ends {
    /// Which of the two this worker is.
    pub role: Role,
    /// The server's address and port; `null` for the server, and for a client whose server is yet to start.
    pub address: Option<String>,
    /// Token that the server accepts: 32 hexadecimal digits, from the server, or new in each process run.
    pub token: String,
    /// CPUs of the server's threads; empty where the server chooses.
    pub other_cpus: Vec<u32>,
}

crate::words::words! {
    /// One end of a network experiment.
    Role, "role", {
        /// Connects, measures, and reports samples.
        Measure => "measure",
        /// Listens, serves one process run until its connections end, and reports only errors.
        Peer => "peer",
    }
}

/// A sample of a metric.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "as in the document's metrics")]
pub struct MetricSample {
    pub name: MetricName,
    pub unit: Unit,
    pub better: Better,
    pub sample: Sample,
}

/// What a worker observed: sums over its threads, so that process runs can be added up.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[expect(missing_docs, reason = "as in the document's conditions")]
pub struct Observations {
    /// Seconds of preparation, the longest of the threads.
    pub setup_seconds: f64,
    pub warm_up_seconds: f64,
    /// Relative change of the rate when the warm-up ended, the most of the threads; `null` without a comparison.
    pub warm_up_change: Option<f64>,
    /// Seconds inside samples, all threads.
    pub timed_seconds: f64,
    /// CPU seconds inside samples, all threads.
    pub cpu_seconds: f64,
    /// Seconds inside samples lost in gaps, all threads.
    pub gap_seconds: f64,
    /// CPU time per elapsed time of the thread that had the least; `null` where it says nothing.
    pub least_cpu_share: Option<f64>,
    pub migrated_threads: u32,
    /// Share of the buffers' pages on another NUMA node than their thread, the most; `null` where unknown.
    pub remote_pages: Option<f64>,
    pub involuntary_switches: u64,
    pub page_faults: u64,
    /// Seconds between the first and the last sample, over which the next two were read.
    pub watched_seconds: f64,
    /// Seconds that /proc/stat says were stolen from these CPUs, summed over them; `null` where it says nothing.
    pub steal_seconds: Option<f64>,
    /// Seconds that a cgroup quota stopped the group, summed over its CPUs; `null` where no quota is set.
    pub throttled_seconds: Option<f64>,
    /// Operations per cycle and core of every burst of 1 ms or more, in the order of the bursts.
    pub ops_per_cycle: Vec<f64>,
    /// Relative difference of the two clock chains at each look at the clock.
    pub clock_disagreement: Vec<f64>,
    pub clock_source: String,
    /// Share of the buffers in pages of the size asked for, the least of the threads.
    pub pages_obtained: Option<f64>,
    pub order_seconds: Option<f64>,
    pub c_library: Option<String>,
    pub start_spread_seconds: Option<f64>,
    /// Whether time stamps come from the time-stamp counter.
    pub counter_timer: bool,
    /// Whether the threads wait instead of computing: their CPU share then does not show other processes.
    pub waiting: bool,
    /// What is set on the machine and for the worker, as it was when it ended.
    pub settings: Settings,
    pub disk: Option<DiskConditions>,
    pub net: Option<NetConditions>,
    pub linpack: Option<LinpackConditions>,
}

/// What a worker says, one line each.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[expect(missing_docs, reason = "the members say what their fields are")]
pub enum Message {
    /// Prepared and warmed up; timing begins.
    Ready,
    /// The server of a network benchmark accepts connections.
    Listening {
        /// Where: `127.0.0.1:40123`.
        address: String,
    },
    /// Still preparing: silence would mean that the worker hangs.
    Preparing {
        /// Share of it that is done.
        done: f64,
    },
    /// Still at work: silence would mean that the worker hangs.
    Working,
    /// One repetition, with every metric of it.
    Sample {
        metrics: Vec<MetricSample>,
        /// Time of each operation: `HdrHistogram` of nanoseconds (V2 compressed, base64), a colon, the longest.
        #[serde(skip_serializing_if = "Option::is_none")]
        histogram: Option<String>,
    },
    /// All samples taken and every result checked.
    Done {
        observations: Box<Observations>,
    },
    /// Cannot be done here; not a defect (no memory for it, an instruction set that is missing).
    Unavailable {
        reason: String,
    },
    Failed {
        reason: String,
    },
}

crate::from_tagged_json!(Message {
    "ready" => Ready,
    "listening" => Listening { address: String },
    "preparing" => Preparing { done: f64 },
    "working" => Working,
    "sample" => Sample { metrics: Vec<MetricSample>, #[serde(default)] histogram: Option<String> },
    "done" => Done { observations: Box<Observations> },
    "unavailable" => Unavailable { reason: String },
    "failed" => Failed { reason: String },
});
