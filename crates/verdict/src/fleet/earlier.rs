//! Each node's results against what the same node reached in an earlier plan of the same cluster.

use std::collections::{BTreeMap, BTreeSet};

use model::cluster::{History, Plan, Problem, SLOWER_THAN_BEFORE, SlowerNode};
use model::number::{Notation, UnitScale, counted, percent, quantity};
use model::sample::ExpectationVerdict;
use model::unit::Better;

use super::facts::{Facts, HARDWARE};
use super::problems::{has, problem};
use super::results::{Catalogue, NodeResults};
use crate::compare::{DEVIATIONS, is_same_memory};
use crate::expectation::JudgedValue;
use crate::history::MARGIN;
use crate::rules::AreaRules;

/// The size among the facts that must be the same; the number of CPUs follows SMT, which is a setting.
const CORES: &str = "cores";
/// The most benchmarks that a sentence lists.
const MOST_LISTED: usize = 3;

/// An earlier plan and the results of its nodes.
#[derive(Debug)]
pub struct Earlier {
    /// The plan.
    pub plan: Plan,
    /// Its nodes.
    pub nodes: Vec<NodeResults>,
}

/// The nodes that are slower than in an earlier plan, and the problems: these nodes, and what was not compared.
pub(super) fn hold(
    plan: &Plan,
    nodes: &[NodeResults],
    earlier: &Earlier,
    catalogue: &Catalogue,
    rules: &[AreaRules],
) -> (History, Vec<Problem>) {
    let (name, created) = (earlier.plan.name.clone(), earlier.plan.created.clone());
    let mut history = History { plan: name, created, ..History::default() };
    let label = label(&earlier.plan);
    let mut problems: Vec<Problem> = unreadable(&earlier.nodes, &label).into_iter().collect();
    if history.created >= plan.created {
        let own = date(&plan.created);
        problems.push(problem("history_not_earlier", format!("{label} is not earlier than this plan ({own})"), vec![]));
    }
    let before: BTreeMap<&str, &NodeResults> =
        earlier.nodes.iter().filter(|node| !node.own.is_empty()).map(|node| (node.name.as_str(), node)).collect();
    if before.is_empty() {
        problems.push(problem(
            "history_empty",
            format!("{label} has no results: nothing was compared with it"),
            vec![],
        ));
        return (history, problems);
    }
    let bench = Bench { catalogue, rules };
    let (mut changed, mut otherwise) = (BTreeMap::<String, Vec<String>>::new(), BTreeSet::new());
    let (mut new, mut unjudged) = (Vec::new(), Vec::new());
    for node in nodes.iter().filter(|node| !node.own.is_empty()) {
        let Some(before) = before.get(node.name.as_str()) else {
            new.push(node.name.clone());
            continue;
        };
        if let Some(words) = changed_hardware(before, node) {
            changed.entry(words).or_default().push(node.name.clone());
            continue;
        }
        let (compared, slower) = bench.node(before, node, &mut otherwise);
        history.compared += u64::from(compared > 0);
        history.slower.extend(slower);
        unjudged.extend((compared == 0).then(|| node.name.clone()));
    }
    history.slower.sort_by(|a, b| a.ratio.total_cmp(&b.ratio));
    problems.extend(together(&history, &label));
    let sentence = |(words, nodes): (String, Vec<String>)| {
        let have = has(nodes.len());
        let text = format!("{have} other hardware than in {label}, so the results are not compared: {words}");
        problem("hardware_changed", text, nodes)
    };
    problems.extend(changed.into_iter().map(sentence));
    let present: BTreeSet<&str> = nodes.iter().map(|node| node.name.as_str()).collect();
    let gone: Vec<String> =
        before.keys().filter(|name| !present.contains(*name)).map(|name| (*name).to_owned()).collect();
    let are = if gone.len() == 1 { "is" } else { "are" };
    for (code, nodes, text) in [
        ("not_in_plan", gone, format!("results in {label} and {are} not in this plan")),
        ("not_in_history", new, format!("no results in {label}")),
        ("not_comparable", unjudged, format!("no result that can be compared with {label}")),
    ] {
        problems.extend((!nodes.is_empty()).then(|| problem(code, format!("{} {text}", has(nodes.len())), nodes)));
    }
    problems.extend(measured_otherwise(&otherwise, &label));
    problems.extend(history.slower.iter().map(|slower| bench.problem(slower, &label)));
    (history, problems)
}

/// A plan as sentences name it: `'october' (2026-10-01)`.
fn label(plan: &Plan) -> String {
    format!("'{}' ({})", plan.name, date(&plan.created))
}

fn date(moment: &str) -> &str {
    moment.split('T').next().unwrap_or(moment)
}

fn unreadable(nodes: &[NodeResults], label: &str) -> Option<Problem> {
    let (path, why) = nodes.iter().find_map(|node| node.broken.first())?;
    let nodes: Vec<&NodeResults> = nodes.iter().filter(|node| !node.broken.is_empty()).collect();
    let files: usize = nodes.iter().map(|node| node.broken.len()).sum();
    let more = if files > 1 { format!(", nor can {} more of its files", files - 1) } else { String::new() };
    let text = format!("'{path}' of {label} cannot be read{more}: {why}");
    Some(problem("broken_result", text, nodes.into_iter().map(|node| node.name.clone()).collect()))
}

/// The sentence for a cluster of which at least half is slower.
fn together(history: &History, label: &str) -> Option<Problem> {
    let slower = history.slower.len();
    let text = format!("{slower} of {} nodes are slower than in {label}", history.compared);
    let nodes = history.slower.iter().map(|slower| slower.node.clone()).collect();
    (slower > 1 && 2 * slower as u64 >= history.compared).then(|| problem("cluster_slower_than_before", text, nodes))
}

fn measured_otherwise(benchmarks: &BTreeSet<&str>, label: &str) -> Option<Problem> {
    let listed: Vec<&str> = benchmarks.iter().take(MOST_LISTED).copied().collect();
    let more = benchmarks.len().saturating_sub(MOST_LISTED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let count = counted(benchmarks.len() as u64, "benchmark");
    let way = "measured by another method or with other parameters";
    let text = format!("{count} not compared with {label}, because {way}: {}{more}", listed.join(", "));
    (!benchmarks.is_empty()).then(|| problem("measured_otherwise", text, Vec::new()))
}

/// The hardware that is not the same, in words: `cores 8 instead of 16`.
fn changed_hardware(before: &NodeResults, now: &NodeResults) -> Option<String> {
    let (before, now) = (before.facts.as_ref()?, now.facts.as_ref()?);
    let of = |facts: &Facts, name: &str| facts.hardware.get(name).map_or("unknown", String::as_str).to_owned();
    let names = HARDWARE.iter().map(|fact| fact.name).chain([CORES]);
    let differing = names.filter(|name| before.hardware.get(*name) != now.hardware.get(*name));
    let mut words: Vec<String> =
        differing.map(|name| format!("{name} {} instead of {}", of(now, name), of(before, name))).collect();
    if !is_same_memory(before.memory_bytes, now.memory_bytes) {
        let size = |facts: &Facts| {
            facts.memory_bytes.map_or("unknown".to_owned(), |bytes| UnitScale::GIBIBYTES.fixed(bytes as f64, 0))
        };
        words.push(format!("memory {} instead of {}", size(now), size(before)));
    }
    (!words.is_empty()).then(|| words.join(", "))
}

/// The range that a value should be in: 5 % around the interval of the earlier value. One earlier value does not show how
/// runs differ, so the range is wider where those of other machines of the kind do.
fn range(earlier: JudgedValue, deviation: f64) -> [f64; 2] {
    let margin = MARGIN.max(DEVIATIONS * deviation);
    let JudgedValue { value, interval: [low, high], .. } = earlier;
    [low.min(value) * (1.0 - margin), high.max(value) * (1.0 + margin)]
}

struct Bench<'a> {
    catalogue: &'a Catalogue,
    rules: &'a [AreaRules],
}

impl<'a> Bench<'a> {
    /// How many results of a node were compared, and the worst of those that are slower. Benchmarks that were measured in
    /// another way are added to `otherwise`.
    fn node(
        &self,
        before: &NodeResults,
        now: &NodeResults,
        otherwise: &mut BTreeSet<&'a str>,
    ) -> (u64, Option<SlowerNode>) {
        let below = now.facts.as_ref().and_then(|facts| facts.hardware.get("virtualization"));
        let is_virtual = below.is_none_or(|below| below != "none");
        let (mut compared, mut slower, mut worst) = (0, 0, None::<SlowerNode>);
        for (place, own) in &now.own {
            let Some(earlier) = before.own.get(place) else { continue };
            let (key, area, unit, better) = &self.catalogue.metrics[*place];
            if earlier.meaning != own.meaning {
                otherwise.insert(&key.experiment);
                continue;
            }
            // A ratio needs positive numbers.
            let judged = |value: Option<JudgedValue>| value.filter(|judged| judged.value > 0.0);
            let (Some(present), Some(earlier)) = (judged(own.judged), judged(earlier.judged)) else { continue };
            let noise = AreaRules::of(self.rules, *area).noise;
            let range = range(earlier, if is_virtual { noise.shared } else { noise.dedicated });
            let Some(verdict) = present.against(range, *better) else { continue };
            compared += 1;
            if verdict != ExpectationVerdict::Below {
                continue;
            }
            slower += 1;
            let (earlier, present) = (earlier.value, present.value);
            let ratio = if *better == Better::Higher { present / earlier } else { earlier / present };
            if worst.as_ref().is_none_or(|worst| ratio < worst.ratio) {
                worst = Some(SlowerNode {
                    node: now.name.clone(),
                    experiment: key.experiment.clone(),
                    metric: key.metric.clone(),
                    unit: *unit,
                    better: *better,
                    earlier,
                    present,
                    ratio,
                    slower: 0,
                    compared: 0,
                });
            }
        }
        (compared, worst.map(|worst| SlowerNode { slower, compared, ..worst }))
    }

    fn problem(&self, of: &SlowerNode, label: &str) -> Problem {
        let known = self.catalogue.metrics.iter().find(|(key, ..)| key.experiment == of.experiment);
        let notation = known.map_or(Notation::Plain(of.unit), |(_, area, ..)| Notation::of(*area, of.unit));
        let [earlier, present] = [of.earlier, of.present].map(|value| quantity(value, notation));
        let text = format!(
            "{}: {} {present}, {} of the earlier speed ({earlier} in {label}); {} of {} results are slower",
            of.experiment,
            of.metric,
            percent(of.ratio),
            of.slower,
            of.compared
        );
        problem(SLOWER_THAN_BEFORE, text, vec![of.node.clone()])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_range_is_around_the_earlier_interval_and_as_wide_as_runs_differ() {
        let earlier = JudgedValue { value: 100.0, interval: [98.0, 104.0], is_low: false };
        let near = |[low, high]: [f64; 2], expected: [f64; 2]| {
            assert!((low - expected[0]).abs() < 1e-9 && (high - expected[1]).abs() < 1e-9, "{low} {high}");
        };
        near(range(earlier, 0.01), [0.95 * 98.0, 1.05 * 104.0]);
        near(range(earlier, 0.08), [0.84 * 98.0, 1.16 * 104.0]);
        let verdict = |value: f64, is_low, better| {
            let present = JudgedValue { value, interval: [0.99 * value, 1.01 * value], is_low };
            present.against(range(earlier, 0.01), better)
        };
        assert_eq!(verdict(93.0, false, Better::Higher), Some(ExpectationVerdict::Below));
        assert_eq!(verdict(93.0, true, Better::Higher), None);
        assert_eq!(verdict(94.0, false, Better::Higher), Some(ExpectationVerdict::AsExpected));
        assert_eq!(verdict(112.0, false, Better::Lower), Some(ExpectationVerdict::Below));
    }

    #[test]
    fn cores_memory_and_processor_make_another_machine_and_smt_does_not() {
        let node = |change: fn(&mut Facts)| {
            let words = [("processor", "Zephyr"), ("cores", "8"), ("CPUs", "16")];
            let hardware = words.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
            let mut facts = Facts { hardware, memory_bytes: Some(64 << 30), ..Facts::default() };
            change(&mut facts);
            NodeResults { facts: Some(facts), ..NodeResults::default() }
        };
        let changed = |change| changed_hardware(&node(|_| {}), &node(change));
        assert_eq!(changed(|_| {}), None);
        assert_eq!(changed(|facts| facts.hardware.extend([("CPUs".to_owned(), "8".to_owned())])), None);
        assert_eq!(changed(|facts| facts.memory_bytes = Some(62 << 30)), None);
        let other = |facts: &mut Facts| {
            facts.hardware.remove("processor");
            facts.hardware.extend([("cores".to_owned(), "7".to_owned())]);
            facts.memory_bytes = Some(56 << 30);
        };
        let words = "processor unknown instead of Zephyr, cores 7 instead of 8, memory 56 GiB instead of 64 GiB";
        assert_eq!(changed(other).as_deref(), Some(words));
    }
}
