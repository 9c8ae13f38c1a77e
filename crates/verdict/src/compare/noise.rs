//! How much a machine's figures differ from run to run although nothing was changed: from its own earlier runs where
//! there are enough, else from what machines of its kind have shown.

use std::cmp::Reverse;

use model::document::{Document, Row, Status};
use model::machine::Machine;
use model::warning::Grade;

use crate::rules::AreaRules;

use super::matching::{Pair, comparable};
use super::side::is_same_run;
use super::units::median;

/// Fewer earlier runs say nothing of a spread.
const RUNS_NEEDED: usize = 4;
/// More are of another age of the machine.
const MOST_RUNS: usize = 20;
/// How much the memory of the same machine may differ: kernels reserve different parts of it.
const MEMORY_MAY_DIFFER: f64 = 0.05;
/// Earlier runs that happened to agree make no machine quieter than this part of what its kind has shown.
const LEAST_PART_OF_USUAL: f64 = 1.0 / 3.0;

/// The noise of one row's figure.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Noise {
    /// Relative standard deviation between runs.
    pub(super) deviation: f64,
    /// What it is known from.
    pub(super) source: String,
    /// Whether this machine's own runs told it.
    pub(super) is_own: bool,
}

/// Earlier runs of the machines that are compared.
#[derive(Debug)]
pub(super) struct History<'a> {
    /// The latest first.
    runs: Vec<&'a Document>,
    is_virtual: bool,
    /// Two machines: what one of them has shown before says nothing of the other.
    two_machines: bool,
    rules: &'a [AreaRules],
}

/// Whether a run tells something of the noise between `base` and `new`: a whole one of the same machine that began
/// before the later of them, and neither of the two.
pub fn serves_as_history(document: &Document, base: &Document, new: &Document) -> bool {
    let earlier = document.run.started < base.run.started.clone().max(new.run.started.clone());
    let built_alike = document.assay.profile == base.assay.profile;
    let other = !is_same_run(document, base) && !is_same_run(document, new);
    document.run.complete && earlier && built_alike && other && is_same_machine(&document.machine, &base.machine)
}

/// Whether two documents are of the same machine, as far as can be told: names of hosts come and go with containers.
fn is_same_machine(one: &Machine, other: &Machine) -> bool {
    let memory = match (one.memory.total_bytes, other.memory.total_bytes) {
        (Some(a), Some(b)) => (a as f64 - b as f64).abs() <= MEMORY_MAY_DIFFER * a.max(b) as f64,
        (a, b) => a == b,
    };
    memory && one.cpu.model_name == other.cpu.model_name && one.cpu.cores == other.cpu.cores
}

fn is_virtual(machine: &Machine) -> bool {
    machine.virtualization.is_some() || machine.cpu.hypervisor_bit == Some(true)
}

impl<'a> History<'a> {
    /// Those of `runs` that serve.
    pub(super) fn new(base: &Document, new: &Document, runs: &'a [Document], rules: &'a [AreaRules]) -> Self {
        let mut runs: Vec<&Document> = runs.iter().filter(|run| serves_as_history(run, base, new)).collect();
        runs.sort_by_key(|run| Reverse(&run.run.started));
        let two_machines = !is_same_machine(&base.machine, &new.machine);
        Self { runs, is_virtual: is_virtual(&base.machine) || is_virtual(&new.machine), two_machines, rules }
    }

    /// The noise of a row's figure.
    pub(super) fn noise(&self, pair: &Pair<'_>) -> Noise {
        let noise = AreaRules::of(self.rules, pair.base.area).noise;
        let usual = if self.is_virtual { noise.shared } else { noise.dedicated };
        if self.two_machines {
            return Noise { deviation: usual, source: self.usual_words("two machines"), is_own: false };
        }
        let mut medians: Vec<f64> = self.runs.iter().filter_map(|run| earlier(run, pair)).take(MOST_RUNS).collect();
        // In the order of time: lasting changes are told from noise by their neighbours.
        medians.reverse();
        let own = (medians.len() >= RUNS_NEEDED).then(|| stats::noise_between(&medians)).flatten();
        let least = usual * LEAST_PART_OF_USUAL;
        if let Some(deviation) = own {
            let floor = if deviation < least { ", and no less than a third of what is usual" } else { "" };
            let source = format!("{} earlier runs of this machine{floor}", medians.len());
            return Noise { deviation: deviation.max(least), source, is_own: true };
        }
        let seen = match medians.len() {
            0 => "no earlier runs".to_owned(),
            1 => "only 1 earlier run".to_owned(),
            count => format!("only {count} earlier runs"),
        };
        Noise { deviation: usual, source: self.usual_words(&seen), is_own: false }
    }

    fn usual_words(&self, why: &str) -> String {
        let kind = if self.is_virtual { "shared virtual machines" } else { "machines of their own" };
        format!("{why}: what {kind} show")
    }
}

/// The figure of the same row in an earlier run. A row of grade C is left out: it never leads to a verdict of a change
/// either, so that what disturbed or throttled it is no noise of those that do.
fn earlier(run: &Document, pair: &Pair<'_>) -> Option<f64> {
    let same = |row: &&Row| row.id == pair.base.id && row.status == Status::Ok && row.grade != Some(Grade::C);
    let row = run.experiments.iter().find(same).filter(|row| comparable(row, pair.base).is_ok())?;
    let metric = row.metrics.iter().find(|metric| metric.name == pair.base_metric.name)?;
    let values: Vec<f64> = metric.samples.iter().map(|sample| sample.value).collect();
    median(&values).filter(|median| *median > 0.0)
}
