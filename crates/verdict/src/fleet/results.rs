//! The results of one node, reduced to what a judgement needs: medians and a few conditions.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use model::cluster::{FailedAttempts, NodeFacts, Outcome, OutcomeStatus, PairTask, Work};
use model::document::{Conditions, Program, SCHEMA, Status};
use model::experiment::Area;
use model::json::FromJson;
use model::machine::Machine;
use model::peak::{Efficiency, Peak, PeakKind};
use model::sample::{Expectation, ExpectationVerdict, Summary, Undisturbed};
use model::unit::{Better, Unit};
use model::warning::Confidence;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::facts::{Facts, facts_of};
use super::seen::AreaConditions;
use crate::compare::same_parameters;
use crate::expectation::{JudgedValue, source_words};

/// The parts of a run's document that are read; the rest, mostly samples, is skipped.
#[derive(Debug, Deserialize)]
pub struct Run {
    schema: String,
    assay: Program,
    machine: Machine,
    experiments: Vec<Row>,
}

impl FromJson for Run {
    fn from_json(text: &[u8]) -> serde_json::Result<Self> {
        serde_json::from_slice(text)
    }
}

#[derive(Debug, Deserialize)]
struct Row {
    id: String,
    area: Area,
    params: Map<String, Value>,
    #[serde(default)]
    method: String,
    status: Status,
    reason: Option<String>,
    confidence: Option<Confidence>,
    conditions: Conditions,
    metrics: Vec<HeadlineMetric>,
}

impl Row {
    fn word(&self, parameter: &str) -> Option<&str> {
        self.params.get(parameter)?.as_str()
    }

    /// Equal for results that mean the same: of one method, with the same parameters, in one unit.
    fn meaning(&self, unit: Unit, without: &[&str]) -> u64 {
        let mut hasher = DefaultHasher::new();
        (&self.method, unit.to_string(), same_parameters(&self.params, without)).hash(&mut hasher);
        hasher.finish()
    }
}

#[derive(Debug, Deserialize)]
struct HeadlineMetric {
    name: String,
    unit: Unit,
    better: Better,
    summary: Middle,
    peaks: Vec<Peak>,
    efficiency: Option<Efficiency>,
    #[serde(default)]
    expectations: Vec<Expectation>,
    #[serde(default)]
    verdict: Option<ExpectationVerdict>,
}

#[derive(Debug, Deserialize)]
struct Middle {
    median: Option<f64>,
    ci95: Option<[f64; 2]>,
    undisturbed: Option<Undisturbed>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct MetricKey {
    pub(super) experiment: String,
    pub(super) metric: String,
}

/// All headline metrics, in the order of the suite.
#[derive(Debug, Default)]
pub struct Catalogue {
    places: BTreeMap<MetricKey, usize>,
    pub(super) metrics: Vec<(MetricKey, Area, Unit, Better)>,
}

impl Catalogue {
    pub(super) fn place(&mut self, key: MetricKey, area: Area, unit: Unit, better: Better) -> usize {
        *self.places.entry(key).or_insert_with_key(|key| {
            self.metrics.push((key.clone(), area, unit, better));
            self.metrics.len() - 1
        })
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Measured {
    pub(super) metric: usize,
    pub(super) value: f64,
    pub(super) efficiency: Option<f64>,
}

/// A headline value as it is compared with that of an earlier plan.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct OwnValue {
    pub(super) pass: u32,
    /// Equal for results that mean the same.
    pub(super) meaning: u64,
    /// `None` where its interval is unknown.
    pub(super) judged: Option<JudgedValue>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Between {
    pub(super) to: String,
    pub(super) round: u32,
    pub(super) together: bool,
    pub(super) at_once: u32,
    /// Benchmark, metric, unit, direction and value, or the reason why there is no value.
    pub(super) value: Result<(MetricKey, Unit, Better, f64), String>,
    /// Equal for results that mean the same, between whichever nodes.
    pub(super) meaning: u64,
}

impl Between {
    fn new(pair: &PairTask, outcome: &Outcome, value: Result<(MetricKey, Unit, Better, f64), String>) -> Self {
        let at_once = outcome.at_once.unwrap_or(1);
        Self { to: pair.to.clone(), round: pair.round, together: pair.together, at_once, value, meaning: 0 }
    }
}

/// The areas that a task measures.
fn areas_of(outcome: &Outcome) -> Vec<&str> {
    match &outcome.task.work {
        Work::Suite(suite) if suite.areas.is_empty() => vec![""],
        Work::Suite(suite) => suite.areas.iter().map(String::as_str).collect(),
        Work::Pair(_) => vec!["net"],
        Work::Hpl(_) => vec!["linpack"],
    }
}

/// A node's results.
#[derive(Debug, Default)]
pub struct NodeResults {
    pub(super) name: String,
    pub(super) facts: Option<Facts>,
    pub(super) program: Option<Program>,
    pub(super) clock_skew: Option<f64>,
    pub(super) first: Vec<Measured>,
    pub(super) second: Vec<Measured>,
    /// The value of the last pass by its place in the catalogue.
    pub(super) own: BTreeMap<usize, OwnValue>,
    pub(super) conditions: BTreeMap<Area, AreaConditions>,
    pub(super) runs: Vec<String>,
    pub(super) ok: u64,
    pub(super) failed: u64,
    pub(super) skipped: u64,
    pub(super) waiting: u64,
    pub(super) running: u64,
    /// Seconds that its tasks took, by area; without an area those of unknown ones.
    pub(super) seconds: BTreeMap<String, f64>,
    /// When its tasks with a result began.
    pub(super) began: BTreeSet<String>,
    pub(super) failed_attempts: Vec<FailedAttempts>,
    /// Tasks without a result: name and reason.
    pub(super) without: Vec<(String, String)>,
    /// Benchmarks that failed in runs with a document: id and reason.
    pub(super) failed_rows: Vec<(String, String)>,
    /// Results below what they should be: the benchmark, and the source of its range.
    pub(super) below: Vec<(String, String)>,
    /// Files that cannot be read: path and reason.
    pub(super) broken: Vec<(String, String)>,
    /// The highest limit at the measured clock of the node in fp64, flop/s.
    pub(super) peak: Option<f64>,
    /// The highest rate of its own LINPACK in fp64, flop/s.
    pub(super) linpack: Option<f64>,
    pub(super) between: Vec<Between>,
    pub(super) hpl: Vec<Outcome>,
    pub(super) machines: BTreeSet<(String, String)>,
}

impl NodeResults {
    pub(super) const fn left(&self) -> u64 {
        self.waiting + self.running
    }

    pub(super) const fn tasks(&self) -> u64 {
        self.ok + self.failed + self.skipped + self.left()
    }

    /// A node without results.
    pub fn new(name: &str) -> Self {
        Self { name: name.to_owned(), ..Self::default() }
    }

    /// Adds what its worker reported about the node.
    pub fn add_facts(&mut self, facts: NodeFacts) {
        self.facts = Some(facts_of(&facts.machine, &facts.settings));
        self.program = Some(facts.program);
        self.clock_skew = facts.clock_skew_seconds;
    }

    /// Adds a file that cannot be read.
    pub fn add_broken(&mut self, path: String, why: String) {
        self.broken.push((path, why));
    }

    /// Sets how many tasks wait, and how many a worker has claimed.
    pub fn set_open(&mut self, waiting: usize, running: usize) {
        (self.waiting, self.running) = (waiting as u64, running as u64);
    }

    /// Adds a finished task without an outcome.
    pub fn add_lost_task(&mut self, task: &str, reason: &str) {
        self.failed += 1;
        self.without.push((task.to_owned(), reason.to_owned()));
    }

    /// Adds an attempt at a task that failed.
    pub fn add_failed_attempt(&mut self, task: &str, outcome: Option<&Outcome>) {
        let reason = outcome.and_then(|outcome| outcome.reason.clone());
        let reason = reason.unwrap_or_else(|| "it left no reason".to_owned());
        let area = outcome.map_or(String::new(), |outcome| areas_of(outcome).join(", "));
        match self.failed_attempts.iter_mut().find(|known| (&*known.task, &known.reason) == (task, &reason)) {
            Some(known) => known.count += 1,
            None => self.failed_attempts.push(FailedAttempts { task: task.to_owned(), area, reason, count: 1 }),
        }
    }

    /// Adds the outcome of a finished task; returns whether it has a document as well.
    pub fn add_outcome(&mut self, task: &str, outcome: &Outcome) -> bool {
        let areas = areas_of(outcome);
        for area in &areas {
            let seconds = if outcome.seconds.is_finite() { outcome.seconds.max(0.0) } else { 0.0 };
            *self.seconds.entry((*area).to_owned()).or_default() += seconds / areas.len() as f64;
        }
        let reason = || outcome.reason.clone().unwrap_or_else(|| "no reason was given".to_owned());
        let is_ok = outcome.status == OutcomeStatus::Ok;
        if is_ok {
            // Skipped tasks have the host of the campaign that skipped them.
            let boot = outcome.claim.boot.as_deref().and_then(|boot| boot.split(' ').next());
            self.machines.extend(boot.map(|boot| (outcome.claim.host.clone(), boot.to_owned())));
            self.began.extend(Some(outcome.claim.when.clone()).filter(|when| !when.is_empty()));
        } else {
            let count = if outcome.status == OutcomeStatus::Failed { &mut self.failed } else { &mut self.skipped };
            *count += 1;
            self.without.push((task.to_owned(), reason()));
        }
        match &outcome.task.work {
            Work::Hpl(_) => {
                self.ok += u64::from(is_ok);
                self.hpl.push(outcome.clone());
                false
            }
            Work::Pair(pair) if !is_ok => {
                self.between.push(Between::new(pair, outcome, Err(reason())));
                false
            }
            Work::Suite(_) | Work::Pair(_) => is_ok,
        }
    }

    /// Adds the document of a task, by its path in the plan's folder; an error if its schema is another one.
    pub fn add_run(
        &mut self,
        path: &str,
        run: Run,
        outcome: &Outcome,
        catalogue: &mut Catalogue,
    ) -> Result<(), String> {
        if run.schema != SCHEMA {
            return Err(format!("it is a '{}', and this program reads {SCHEMA}", run.schema));
        }
        self.ok += 1;
        self.runs.push(path.to_owned());
        self.facts.get_or_insert_with(|| facts_of(&run.machine, &BTreeMap::new()));
        self.program.get_or_insert(run.assay);
        let cores = run.machine.cpu.cores.or(run.machine.cpu.threads);
        for row in run.experiments {
            match row.status {
                Status::Ok => self.take_row(row, cores, outcome, catalogue),
                Status::Failed => self.failed_rows.push((row.id, row.reason.unwrap_or_default())),
                Status::Skipped => {}
            }
        }
        Ok(())
    }

    fn take_row(&mut self, mut row: Row, cores: Option<u32>, outcome: &Outcome, catalogue: &mut Catalogue) {
        // Some of the cores do not show what the node can do.
        let threads = row.params.get("threads").and_then(Value::as_u64);
        let by_all = threads.zip(cores).is_none_or(|(threads, cores)| threads >= u64::from(cores));
        let of_node_in_fp64 = by_all && row.word("type") == Some("fp64");
        let Some(metric) = std::mem::take(&mut row.metrics).into_iter().next() else { return };
        if let (Some(ExpectationVerdict::Below), Some(range)) = (metric.verdict, metric.expectations.first()) {
            self.below.push((row.id.clone(), source_words(range)));
        }
        let is_rate = of_node_in_fp64 && metric.unit == Unit::FlopPerSecond;
        let sustained = metric.peaks.iter().find(|peak| peak.kind == PeakKind::Sustained).filter(|_| is_rate);
        self.peak = self.peak.into_iter().chain(sustained.map(|peak| peak.value)).reduce(f64::max);
        let Some(value) = metric.summary.median.filter(|value| value.is_finite()) else { return };
        let solved = Some(value).filter(|_| is_rate && row.word("op") == Some("lu"));
        self.linpack = self.linpack.into_iter().chain(solved).reduce(f64::max);
        let key = MetricKey { experiment: row.id.clone(), metric: metric.name };
        if let Work::Pair(pair) = &outcome.task.work {
            let between = Between::new(pair, outcome, Ok((key, metric.unit, metric.better, value)));
            // Its path is the peer.
            self.between.push(Between { meaning: row.meaning(metric.unit, &["path"]), ..between });
            self.conditions.entry(row.area).or_default().add(&row.conditions);
            return;
        }
        let Middle { ci95, undisturbed, .. } = metric.summary;
        let summary = Summary { median: value, ci95, undisturbed, ..Summary::default() };
        let own = OwnValue {
            pass: outcome.task.pass,
            meaning: row.meaning(metric.unit, &[]),
            judged: JudgedValue::of(&summary, row.confidence),
        };
        let metric = Measured {
            metric: catalogue.place(key, row.area, metric.unit, metric.better),
            value,
            efficiency: metric.efficiency.map(|efficiency| efficiency.value),
        };
        if self.own.get(&metric.metric).is_none_or(|known| known.pass <= own.pass) {
            self.own.insert(metric.metric, own);
        }
        if outcome.task.pass > 1 {
            self.second.push(metric);
        } else {
            self.first.push(metric);
            self.conditions.entry(row.area).or_default().add(&row.conditions);
        }
    }
}
