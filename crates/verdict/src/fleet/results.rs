//! What one node's part of the folder says, reduced to what a judgement needs: a document is read, its medians and a few
//! conditions are kept, and it is dropped.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;

use model::cluster::{NodeFacts, Outcome, OutcomeStatus, Work};
use model::document::{Conditions, Program, Status};
use model::experiment::Area;
use model::machine::Machine;
use model::peak::{Efficiency, Peak, PeakKind};
use model::unit::{Better, Unit};
use serde::Deserialize;

use super::facts::{Facts, facts_of};
use super::seen::AreaConditions;
use crate::error::Result;
use crate::folder::{self, Folder, State, read};

/// The parts of a run's document that are looked at; the rest, samples above all, is passed over.
#[derive(Deserialize)]
struct Run {
    schema: String,
    assay: Program,
    machine: Machine,
    experiments: Vec<Row>,
}

#[derive(Deserialize)]
struct Row {
    id: String,
    area: Area,
    params: Kind,
    status: Status,
    reason: Option<String>,
    conditions: Conditions,
    metrics: Vec<Figure>,
}

/// What a row computes, and the type of element that it computes with, where it does.
#[derive(Deserialize)]
struct Kind {
    #[serde(default, rename = "type")]
    element: Option<String>,
    /// What a row computes.
    #[serde(default)]
    op: Option<String>,
    /// By how many threads.
    #[serde(default)]
    threads: Option<u32>,
}

#[derive(Deserialize)]
struct Figure {
    name: String,
    unit: Unit,
    better: Better,
    summary: Middle,
    peaks: Vec<Peak>,
    efficiency: Option<Efficiency>,
}

#[derive(Deserialize)]
struct Middle {
    median: Option<f64>,
}

/// A figure that some node has: the headline metric of an experiment.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct FigureKey {
    pub(super) experiment: String,
    pub(super) metric: String,
}

/// All figures in the order in which they were first seen, which is the suite's.
#[derive(Debug, Default)]
pub(super) struct Catalogue {
    places: BTreeMap<FigureKey, usize>,
    pub(super) figures: Vec<(FigureKey, Area, Unit, Better)>,
}

impl Catalogue {
    fn place(&mut self, key: FigureKey, area: Area, unit: Unit, better: Better) -> usize {
        let next = self.figures.len();
        let place = *self.places.entry(key.clone()).or_insert(next);
        if place == next {
            self.figures.push((key, area, unit, better));
        }
        place
    }
}

/// One figure of one node.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Measured {
    /// Its place in the [`Catalogue`].
    pub(super) figure: usize,
    pub(super) value: f64,
    pub(super) efficiency: Option<f64>,
}

/// One figure between two nodes.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Between {
    pub(super) to: String,
    pub(super) together: bool,
    pub(super) at_once: u32,
    /// Experiment, metric, unit, direction and value, or why there is none.
    pub(super) value: std::result::Result<(FigureKey, Unit, Better, f64), String>,
}

/// A node's results.
#[derive(Debug, Default)]
pub(super) struct NodeResults {
    pub(super) name: String,
    pub(super) facts: Option<Facts>,
    pub(super) program: Option<Program>,
    pub(super) clock_skew: Option<f64>,
    pub(super) first: Vec<Measured>,
    pub(super) second: Vec<Measured>,
    pub(super) conditions: BTreeMap<Area, AreaConditions>,
    /// Documents, relative to the plan's folder.
    pub(super) runs: Vec<String>,
    pub(super) ok: u64,
    pub(super) failed: u64,
    pub(super) skipped: u64,
    pub(super) waiting: u64,
    pub(super) running: u64,
    pub(super) seconds: f64,
    /// Tasks without a result: name and reason.
    pub(super) without: Vec<(String, String)>,
    /// Rows that failed in documents that there are: id and reason.
    pub(super) failed_rows: Vec<(String, String)>,
    /// Files that cannot be read: path and why.
    pub(super) broken: Vec<(String, String)>,
    /// Most fp64 flop/s that its units could do, as far as its documents know.
    pub(super) peak: Option<f64>,
    /// Most flop/s of its own LINPACK in fp64.
    pub(super) linpack: Option<f64>,
    pub(super) between: Vec<Between>,
    pub(super) hpl: Vec<Outcome>,
    /// The machines that its workers were on, each by its name and its boot.
    pub(super) machines: BTreeSet<(String, String)>,
}

impl NodeResults {
    /// Tasks that nobody has finished.
    pub(super) const fn left(&self) -> u64 {
        self.waiting + self.running
    }

    /// Tasks in all.
    pub(super) const fn tasks(&self) -> u64 {
        self.ok + self.failed + self.skipped + self.left()
    }

    /// Reads all that there is of a node.
    ///
    /// # Errors
    /// A sentence: its folder of results cannot be looked through.
    pub(super) fn read(folder: &Folder, node: &str, catalogue: &mut Catalogue) -> Result<Self> {
        let mut results = Self { name: node.to_owned(), ..Self::default() };
        match read::<NodeFacts>(&folder.node(node).join("facts.json")) {
            Ok(facts) => {
                results.facts = Some(facts_of(&facts.machine, &facts.settings));
                results.program = Some(facts.program);
                results.clock_skew = facts.clock_skew_seconds;
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => results.broken.push((format!("nodes/{node}/facts.json"), error.to_string())),
        }
        let done = names(&folder.tasks(State::Done, node))?;
        for task in &done {
            results.take_task(folder, task, catalogue);
        }
        // A task's file may still lie where it was when the worker was killed that had just published it.
        let open = |state| -> Result<BTreeSet<String>> {
            let files = names(&folder.tasks(state, node))?;
            let tasks =
                files.iter().filter_map(|file| file.strip_suffix(".json")).filter(|task| !task.starts_with('.'));
            Ok(tasks.map(|task| task.split('@').next().unwrap_or(task).to_owned()).collect())
        };
        let (waiting, running) = (open(State::Waiting)?, open(State::Running)?);
        results.waiting = waiting.iter().filter(|task| !done.contains(*task)).count() as u64;
        results.running =
            running.iter().filter(|task| !done.contains(*task) && !waiting.contains(*task)).count() as u64;
        Ok(results)
    }

    /// A task that is over.
    fn take_task(&mut self, folder: &Folder, task: &str, catalogue: &mut Catalogue) {
        let place = format!("done/{}/{task}", self.name);
        let outcome: Outcome = match read(&folder.path().join(&place).join("outcome.json")) {
            Ok(outcome) => outcome,
            Err(error) => {
                self.failed += 1;
                self.without.push((task.to_owned(), "its outcome cannot be read".to_owned()));
                self.broken.push((format!("{place}/outcome.json"), error.to_string()));
                return;
            }
        };
        if let Some(boot) = outcome.claim.boot.as_deref().and_then(|boot| boot.split(' ').next()) {
            self.machines.insert((outcome.claim.host.clone(), boot.to_owned()));
        }
        if outcome.seconds.is_finite() {
            self.seconds += outcome.seconds.max(0.0);
        }
        let reason = || outcome.reason.clone().unwrap_or_else(|| "no reason was given".to_owned());
        if outcome.status != OutcomeStatus::Ok {
            let count = if outcome.status == OutcomeStatus::Failed { &mut self.failed } else { &mut self.skipped };
            *count += 1;
            self.without.push((task.to_owned(), reason()));
        }
        match &outcome.task.work {
            Work::Hpl(_) => {
                self.ok += u64::from(outcome.status == OutcomeStatus::Ok);
                self.hpl.push(outcome);
            }
            Work::Pair(pair) if outcome.status != OutcomeStatus::Ok => self.between.push(Between {
                to: pair.to.clone(),
                together: pair.together,
                at_once: outcome.at_once.unwrap_or(1),
                value: Err(reason()),
            }),
            Work::Suite(_) if outcome.status != OutcomeStatus::Ok => {}
            Work::Suite(_) | Work::Pair(_) => {
                self.take_run(folder, task, &format!("{place}/run/run.json"), &outcome, catalogue);
            }
        }
    }

    /// The document of a task that has one.
    fn take_run(&mut self, folder: &Folder, task: &str, path: &str, outcome: &Outcome, catalogue: &mut Catalogue) {
        let run = match load(&folder.path().join(path)) {
            Ok(run) => run,
            Err(error) => {
                self.failed += 1;
                self.without.push((task.to_owned(), "its document cannot be read".to_owned()));
                self.broken.push((path.to_owned(), error));
                return;
            }
        };
        self.ok += 1;
        self.runs.push(path.to_owned());
        if self.facts.is_none() {
            self.facts = Some(facts_of(&run.machine, &BTreeMap::new()));
        }
        if self.program.is_none() {
            self.program = Some(run.assay);
        }
        let cores = run.machine.cpu.cores.or(run.machine.cpu.threads);
        for row in run.experiments {
            match row.status {
                Status::Ok => self.take_row(row, cores, outcome, catalogue),
                Status::Failed => self.failed_rows.push((row.id, row.reason.unwrap_or_default())),
                Status::Skipped => {}
            }
        }
    }

    fn take_row(&mut self, row: Row, cores: Option<u32>, outcome: &Outcome, catalogue: &mut Catalogue) {
        // What some of its cores can do is not what the node can.
        let by_all = row.params.threads.zip(cores).is_none_or(|(threads, cores)| threads >= cores);
        let of_node_in_fp64 = by_all && row.params.element.as_deref() == Some("fp64");
        let Some(figure) = row.metrics.into_iter().next() else { return };
        let sustained = figure.peaks.iter().find(|peak| peak.kind == PeakKind::Sustained);
        if let Some(peak) = sustained.filter(|_| of_node_in_fp64 && figure.unit == Unit::FlopPerSecond) {
            self.peak = Some(self.peak.map_or(peak.value, |known| known.max(peak.value)));
        }
        let Some(value) = figure.summary.median.filter(|value| value.is_finite()) else { return };
        let solves = row.area == Area::Linpack && row.params.op.as_deref() == Some("lu");
        if solves && of_node_in_fp64 && figure.unit == Unit::FlopPerSecond {
            self.linpack = Some(self.linpack.map_or(value, |known| known.max(value)));
        }
        let key = FigureKey { experiment: row.id, metric: figure.name };
        if let Work::Pair(pair) = &outcome.task.work {
            self.between.push(Between {
                to: pair.to.clone(),
                together: pair.together,
                at_once: outcome.at_once.unwrap_or(1),
                value: Ok((key, figure.unit, figure.better, value)),
            });
            return;
        }
        let figure = Measured {
            figure: catalogue.place(key, row.area, figure.unit, figure.better),
            value,
            efficiency: figure.efficiency.map(|efficiency| efficiency.value),
        };
        if outcome.task.pass > 1 {
            self.second.push(figure);
        } else {
            self.first.push(figure);
            self.conditions.entry(row.area).or_default().add(&row.conditions);
        }
    }
}

/// A run's document.
fn load(path: &Path) -> std::result::Result<Run, String> {
    let run: Run = read(path).map_err(|error| error.to_string())?;
    let known = run.schema == model::document::SCHEMA;
    known
        .then_some(())
        .ok_or_else(|| format!("it is a '{}', and this program reads {}", run.schema, model::document::SCHEMA))?;
    Ok(run)
}

/// Names in a folder, sorted; one that is not there has none.
pub(super) fn names(folder: &Path) -> Result<BTreeSet<String>> {
    Ok(folder::names(folder)?.into_iter().collect())
}
