//! Noise from run to run of an unchanged machine: of its own earlier runs, else of machines of its kind.

use std::cmp::Reverse;

use model::document::{Document, Row, Status};
use model::machine::Machine;
use model::number::counted;
use model::warning::Confidence;

use crate::rules::AreaRules;

use super::matching::{Pair, comparable};
use crate::judge::median;
use crate::samples::values_of;

const RUNS_NEEDED: usize = 4;
/// The most earlier runs: older ones may be from another state of the machine.
const MOST_RUNS: usize = 20;
/// How much the memory of one machine differs from boot to boot at most: kernels reserve different parts of it.
pub(super) const MEMORY_MAY_DIFFER: f64 = 0.05;
/// The least noise, as a part of what machines of the kind have shown: a few earlier runs may agree by chance.
const LEAST_PART_OF_USUAL: f64 = 1.0 / 3.0;

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Noise {
    pub(super) deviation: f64,
    pub(super) source: String,
    pub(super) is_own: bool,
}

#[derive(Debug)]
pub(super) struct History<'a> {
    runs: Vec<&'a Document>,
    is_virtual: bool,
    /// The earlier runs of one machine show nothing about the other.
    two_machines: bool,
    rules: &'a [AreaRules],
}

/// Whether a run shows the noise between two others: complete, earlier, and of the same machine.
pub fn serves_as_history(document: &Document, base: &Document, new: &Document) -> bool {
    let earlier = document.run.started < base.run.started.clone().max(new.run.started.clone());
    let built_alike = document.assay.profile == base.assay.profile;
    let other = !is_same_run(document, base) && !is_same_run(document, new);
    document.run.complete && earlier && built_alike && other && is_same_machine(&document.machine, &base.machine)
}

/// Whether two documents are the same run: names are unique in one store only.
pub(super) fn is_same_run(one: &Document, other: &Document) -> bool {
    one.run.id == other.run.id && one.run.started == other.run.started
}

/// Whether the hardware is the same. Host names are not compared: they change with containers.
pub fn is_same_machine(one: &Machine, other: &Machine) -> bool {
    let memory = is_same_memory(one.memory.total_bytes, other.memory.total_bytes);
    memory && one.cpu.model_name == other.cpu.model_name && one.cpu.cores == other.cpu.cores
}

/// Whether two memory sizes can be those of the same machine.
pub(crate) fn is_same_memory(one: Option<u64>, other: Option<u64>) -> bool {
    match (one, other) {
        (Some(a), Some(b)) => (a as f64 - b as f64).abs() <= MEMORY_MAY_DIFFER * a.max(b) as f64,
        (a, b) => a == b,
    }
}

fn is_virtual(machine: &Machine) -> bool {
    machine.virtualization.is_some() || machine.cpu.hypervisor_bit == Some(true)
}

impl<'a> History<'a> {
    pub(super) fn new(base: &Document, new: &Document, runs: &'a [Document], rules: &'a [AreaRules]) -> Self {
        let mut runs: Vec<&Document> = runs.iter().filter(|run| serves_as_history(run, base, new)).collect();
        runs.sort_by_key(|run| Reverse(&run.run.started));
        let two_machines = !is_same_machine(&base.machine, &new.machine);
        Self { runs, is_virtual: is_virtual(&base.machine) || is_virtual(&new.machine), two_machines, rules }
    }

    pub(super) fn noise(&self, pair: &Pair<'_>) -> Noise {
        let noise = AreaRules::of(self.rules, pair.base.area).noise;
        let usual = if self.is_virtual { noise.shared } else { noise.dedicated };
        if self.two_machines {
            return Noise { deviation: usual, source: self.usual_words("two machines"), is_own: false };
        }
        let mut medians: Vec<f64> = self.runs.iter().filter_map(|run| earlier(run, pair)).take(MOST_RUNS).collect();
        // In the order of time, so that a lasting change does not count as noise.
        medians.reverse();
        let own = (medians.len() >= RUNS_NEEDED).then(|| stats::noise_between(&medians)).flatten();
        let least = usual * LEAST_PART_OF_USUAL;
        if let Some(deviation) = own {
            let floor = if deviation < least { ", but at least a third of the typical noise" } else { "" };
            let source = format!("{} earlier runs of this machine{floor}", medians.len());
            return Noise { deviation: deviation.max(least), source, is_own: true };
        }
        let seen = match medians.len() {
            0 => "no earlier runs".to_owned(),
            count => format!("only {}", counted(count as u64, "earlier run")),
        };
        Noise { deviation: usual, source: self.usual_words(&seen), is_own: false }
    }

    fn usual_words(&self, why: &str) -> String {
        let kind = if self.is_virtual { "shared virtual machines" } else { "dedicated machines" };
        format!("{why}: typical for {kind}")
    }
}

/// The same result in an earlier run. One of low confidence is left out, since it never leads to the verdict of a change.
fn earlier(run: &Document, pair: &Pair<'_>) -> Option<f64> {
    let same =
        |row: &&Row| row.id == pair.base.id && row.status == Status::Ok && row.confidence != Some(Confidence::Low);
    let row = run.experiments.iter().find(same).filter(|row| comparable(row, pair.base).is_ok())?;
    let metric = row.metrics.iter().find(|metric| metric.name == pair.base_metric.name)?;
    median(&values_of(&metric.samples)).filter(|median| *median > 0.0)
}
