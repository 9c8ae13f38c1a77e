//! The plan: benchmarks with their CPUs, sampling and expected cost. It is printed, stored and read on resume.

use serde::{Deserialize, Serialize};

use crate::document::{NotCompared, Row};
use crate::experiment::{Area, DiskParams, Experiment};
use crate::warning::Warning;
use crate::wire::TestFile;

/// How the rows of an area are sampled.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sampling {
    /// The least number of samples; exactly this many where `most` is absent.
    pub samples: u32,
    /// The most samples: with it a row ends once its interval is as narrow as `target`.
    pub most: Option<u32>,
    /// Samples per process run.
    pub per_launch: u32,
    /// Length of a sample in seconds.
    pub sample_seconds: f64,
    /// The shortest and the longest warm-up of a process run, in seconds.
    pub warm_up_seconds: [f64; 2],
    /// Relative half-width of the median's 95 % interval that the area aims at.
    pub target: f64,
    /// Samples are rounds of one process run, at most `samples`, until the last five are steady.
    pub until_steady: bool,
}

impl Default for Sampling {
    fn default() -> Self {
        Self {
            samples: 9,
            most: None,
            per_launch: 3,
            sample_seconds: 0.12,
            warm_up_seconds: [0.05, 0.3],
            target: 0.02,
            until_steady: false,
        }
    }
}

/// One planned row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the other fields are what their names say")]
pub struct Planned {
    pub experiment: Experiment,
    /// The CPU of each thread.
    pub cpus: Vec<u32>,
    /// The CPU of each thread of the server, for a benchmark between two processes.
    pub other_cpus: Vec<u32>,
    /// Ids of the reference tools that run alternately with it.
    #[serde(alias = "beside")]
    pub reference_tools: Vec<String>,
    /// Whether tools run only if a filter chose it: a step of a curve that represents no cache level.
    #[serde(default)]
    pub alone: bool,
    /// Whether it is measured before the other benchmarks of its area.
    #[serde(default)]
    pub first: bool,
    pub sampling: Sampling,
    /// Work of all threads per sample, whatever time it takes; `None` where samples last a number of seconds.
    pub exact_work: Option<f64>,
    /// Expected seconds of untimed preparation per process run.
    pub setup_seconds: f64,
    /// Why it cannot be measured here, known in advance.
    pub obstacle: Option<String>,
    /// What is doubtful about it before it has begun.
    pub warnings: Vec<Warning>,
}

/// A plan.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// The suite's name.
    pub suite: String,
    /// The rows, in the order of the suite.
    pub rows: Vec<Planned>,
    /// Seed of order, data and permutations.
    pub seed: u64,
    /// Exactly N samples per benchmark.
    pub repeat: Option<u32>,
    /// Sessions that the samples of every row are spread over.
    pub sessions: u32,
    /// Seconds between two sessions.
    pub pause_seconds: f64,
    /// Share of the expected time for repeating disturbed process runs.
    pub repeat_share: f64,
    /// Longest layout of a test file in seconds; `None` where the whole file was asked for, or time is enough.
    pub layout_seconds: Option<u32>,
    /// Bytes that may be written to disks in all; `None` for as many as it takes.
    pub write_budget: Option<u64>,
    /// Reference tools that were found and are compared with no benchmark.
    #[serde(default)]
    pub not_compared: Vec<NotCompared>,
}

/// Why there is no plan: bad input, in one sentence.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct PlanError(pub String);

impl From<PlanError> for String {
    fn from(error: PlanError) -> Self {
        error.0
    }
}

/// Seconds that a reference tool measures, where it leaves the choice: short pairs change less within.
pub const TOOL_RUN_SECONDS: f64 = 0.5;

/// Seconds of a process run without set-up, warm-up and samples: starting, pinning, verifying.
const LAUNCH_SECONDS: f64 = 0.02;

impl Planned {
    /// A benchmark that can be measured here, with sampling as given and nothing else known of it.
    pub fn new(experiment: Experiment, cpus: Vec<u32>, sampling: Sampling) -> Self {
        Self {
            experiment,
            cpus,
            other_cpus: Vec::new(),
            reference_tools: Vec::new(),
            alone: false,
            first: false,
            sampling,
            exact_work: None,
            setup_seconds: 0.0,
            obstacle: None,
            warnings: Vec::new(),
        }
    }

    /// Expected seconds of a run of a reference tool, which is as long as a sample.
    pub fn tool_seconds(&self) -> f64 {
        // Without its measurement: means of a classic run on two Zen 4 cores.
        let overhead = match self.experiment.area {
            Area::Cpu | Area::Linpack => 1.2,
            Area::Memory => 2.3,
            Area::Disk => 3.3,
            Area::Net => 2.2,
        };
        overhead + self.sampling.sample_seconds
    }

    /// Samples that are certainly taken.
    pub fn least_samples(&self, repeat: Option<u32>) -> u32 {
        repeat.unwrap_or(self.sampling.samples)
    }

    /// Expected seconds for the least number of samples, set-up included; 0 where nothing can be measured.
    pub fn expected_seconds(&self, repeat: Option<u32>) -> f64 {
        if self.obstacle.is_some() {
            return 0.0;
        }
        let samples = self.least_samples(repeat);
        let launches = f64::from(samples.div_ceil(self.sampling.per_launch));
        let tools = self.reference_tools.len() as f64 * self.tool_seconds();
        launches * (self.setup_seconds + self.sampling.warm_up_seconds[0] + LAUNCH_SECONDS)
            + f64::from(samples) * (self.sampling.sample_seconds + tools)
    }
}

impl Plan {
    /// Ids with their expected cost in seconds, in the plan's order.
    pub fn list(&self) -> Vec<(String, f64)> {
        self.rows.iter().map(|row| (row.experiment.id.clone(), row.expected_seconds(self.repeat))).collect()
    }

    /// Why rows cannot be measured here, each reason with the ids of its rows, in the plan's order.
    pub fn obstacles(&self) -> Vec<(String, Vec<String>)> {
        let mut obstacles: Vec<(String, Vec<String>)> = Vec::new();
        for row in &self.rows {
            let Some(reason) = &row.obstacle else { continue };
            let id = row.experiment.id.clone();
            match obstacles.iter_mut().find(|(other, _)| other == reason) {
                Some((_, ids)) => ids.push(id),
                None => obstacles.push((reason.clone(), vec![id])),
            }
        }
        obstacles
    }

    /// Why not one row of an area can be measured, where there are some: the first row's reason.
    pub fn impossible(&self, area: Area) -> Option<&str> {
        let mut rows = self.rows.iter().filter(|row| row.experiment.area == area);
        let first = rows.next()?.obstacle.as_deref()?;
        rows.all(|row| row.obstacle.is_some()).then_some(first)
    }

    /// Expected seconds of all rows, and of the pauses between sessions.
    pub fn expected_seconds(&self) -> f64 {
        let pauses = f64::from(self.sessions.saturating_sub(1)) * self.pause_seconds;
        self.list().iter().map(|(_, seconds)| seconds).sum::<f64>() + pauses
    }

    /// What the rows write to a disk at most; `None` where none of them can be measured on one.
    pub fn writes(&self) -> Option<Writes> {
        let mut files: Vec<TestFile> = Vec::new();
        let budget = self.write_budget.filter(|bytes| *bytes < u64::MAX);
        let mut writes = Writes { budget, ..Writes::default() };
        for planned in self.rows.iter().filter(|row| row.obstacle.is_none()) {
            let Some(params) = planned.experiment.disk().filter(|params| params.has_device()) else { continue };
            for file in TestFile::of_benchmark(params) {
                if !files.contains(&file) {
                    files.push(file);
                }
            }
            if params.op.writes() {
                writes.add(planned, params, self.repeat);
            }
        }
        writes.file_bytes += files.iter().map(|file| file.bytes).sum::<u64>();
        (!files.is_empty()).then_some(writes)
    }

    /// The areas that occur, in the order of their first row.
    pub fn areas(&self) -> Vec<Area> {
        let mut areas: Vec<Area> = Vec::new();
        for row in &self.rows {
            if !areas.contains(&row.experiment.area) {
                areas.push(row.experiment.area);
            }
        }
        areas
    }

    /// The document's rows before anything has been measured.
    pub fn empty_rows(&self) -> Vec<Row> {
        let reason = |row: &Planned| row.obstacle.clone().unwrap_or_else(|| "not reached".to_owned());
        self.rows.iter().map(|row| Row::planned(&row.experiment, &reason(row))).collect()
    }
}

/// What a plan writes at most.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Writes {
    /// Bytes of test files, each laid out once.
    pub file_bytes: u64,
    /// Bytes of totals that are done in full.
    pub total_bytes: f64,
    /// Seconds in which a device takes as much as it can, warm-ups included.
    pub seconds: f64,
    /// The most that is written in all, where there is a limit.
    pub budget: Option<u64>,
    /// Whether reference tools run with benchmarks that write: their writes are not counted.
    pub tools: bool,
}

impl Writes {
    fn add(&mut self, planned: &Planned, params: &DiskParams, repeat: Option<u32>) {
        let sampling = &planned.sampling;
        let samples = repeat.or(sampling.most).unwrap_or(sampling.samples);
        let launches = f64::from(samples.div_ceil(sampling.per_launch.max(1)));
        self.seconds += launches * sampling.warm_up_seconds[1];
        // As many reads as writes where both are made.
        let share = if params.op.reads() { 0.5 } else { 1.0 };
        match planned.exact_work {
            Some(requests) => self.total_bytes += f64::from(samples) * requests * params.block as f64 * share,
            None => self.seconds += f64::from(samples) * sampling.sample_seconds,
        }
        if sampling.until_steady {
            // The file is written over once more before the first round.
            self.file_bytes += TestFile::of_benchmark(params).iter().map(|file| file.bytes).sum::<u64>();
        }
        self.tools |= !planned.reference_tools.is_empty();
    }
}
