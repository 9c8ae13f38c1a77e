//! One group of nodes of the same hardware judged: its distributions, and its slow nodes with their causes.

use std::collections::{BTreeMap, BTreeSet};

use model::cluster::{
    AreaLimit, Cause, Deviation, Difference, Distribution, Group, NodeValue, Problem, SlowNode, Standing, is_of_paths,
};
use model::experiment::Area;
use model::number::{percent_tenths, percent_whole};
use model::unit::Better;
use stats::fleet::{GroupResult, NodeStanding, NodeVerdict, Sort, Spread, Subject, TooWide, judge_fleet};

use crate::rules::AreaRules;

use super::causes::{Case, causes};
use super::differences::{differences, majority};
use super::facts::Words;
use super::interference::hiding;
use super::results::{Catalogue, NodeResults};
use super::seen::{AreaConditions, Usual};

/// The number of the network between nodes among the areas: results over loopback are no evidence for or against it.
const PATHS: usize = Area::ALL.len();
/// The most results shown of an area in which a node is slow as a whole.
const SHOWN_OF_AREA: usize = 5;
/// In nodes that are equal, one that falls short by this many least drops stands out.
const CERTAIN: f64 = 2.0;

pub(super) struct Judged {
    pub(super) distributions: Vec<Distribution>,
    pub(super) limits: Vec<AreaLimit>,
    pub(super) standings: Vec<Standing>,
    pub(super) slow: Vec<SlowNode>,
    pub(super) differences: Vec<Difference>,
    /// Interference that could hide a slow node.
    pub(super) hiding: Vec<Problem>,
}

struct Held {
    catalogue: usize,
    /// Its second pass is in the order of the nodes.
    series: GroupResult,
    efficiency: Vec<Option<f64>>,
}

impl Held {
    fn values(&self, node: usize) -> Vec<f64> {
        let second = &self.series.second;
        let again = second.binary_search_by_key(&node, |(other, _)| *other).map(|place| second[place].1);
        self.series.first[node].into_iter().chain(again.ok()).collect()
    }
}

pub(super) fn judge(group: &Group, nodes: &[&NodeResults], catalogue: &Catalogue, rules: &[AreaRules]) -> Judged {
    let held = held(nodes, catalogue, rules);
    let series: Vec<GroupResult> = held.iter().map(|held| held.series.clone()).collect();
    let verdict = judge_fleet(nodes.len(), &series);
    let facts: Vec<(&str, &Words)> =
        nodes.iter().filter_map(|node| Some((node.name.as_str(), &node.facts.as_ref()?.words))).collect();
    let majority = majority(&facts);
    let bench = Bench {
        nodes,
        held: &held,
        catalogue,
        spreads: &verdict.spreads,
        majority: &majority,
        usual: usual(nodes),
        rules,
    };
    let (slow, standings) = bench.slow_nodes(&verdict.nodes);
    let limits = verdict.areas.iter().enumerate().filter_map(|(area, limit)| {
        let sort = held.iter().find(|held| held.series.area == area)?.series.sort;
        let needed = 1.0 - CERTAIN * sort.least_drop();
        Some(AreaLimit { group: group.id, area: area_of(area).name().to_owned(), limit: (*limit)?, needed })
    });
    let limits: Vec<AreaLimit> = limits.collect();
    let distributions = held.iter().zip(&verdict.spreads).filter_map(|(held, spread)| {
        let spread = spread.as_ref()?;
        Some(distribution(group.id, nodes, held, spread, catalogue))
    });
    Judged {
        distributions: distributions.collect(),
        hiding: hiding(nodes, &limits, rules),
        limits,
        standings,
        slow,
        differences: differences(group.id, &facts, &majority),
    }
}

fn area_of(number: usize) -> Area {
    Area::ALL[number.min(Area::ALL.len() - 1)]
}

/// The conditions of a group's nodes, by area.
fn usual(nodes: &[&NodeResults]) -> BTreeMap<Area, Usual> {
    let areas: BTreeSet<Area> = nodes.iter().flat_map(|node| node.conditions.keys().copied()).collect();
    let of_area = |area| nodes.iter().filter_map(|node| node.conditions.get(&area)).collect::<Vec<_>>();
    areas.into_iter().map(|area| (area, Usual::new(&of_area(area)))).collect()
}

const fn standing(standing: NodeStanding) -> Standing {
    match standing {
        NodeStanding::Healthy => Standing::Healthy,
        NodeStanding::Suspect => Standing::Suspect,
        NodeStanding::Slow => Standing::Slow,
        NodeStanding::Unknown => Standing::Unknown,
    }
}

fn held(nodes: &[&NodeResults], catalogue: &Catalogue, rules: &[AreaRules]) -> Vec<Held> {
    let empty = |place: usize| {
        let (key, area, _, better) = &catalogue.metrics[place];
        let number = if is_of_paths(&key.experiment) { PATHS } else { *area as usize };
        Held {
            catalogue: place,
            series: GroupResult {
                area: number,
                sort: if AreaRules::of(rules, *area).computes() { Sort::Core } else { Sort::Device },
                better: if *better == Better::Higher { stats::Better::Higher } else { stats::Better::Lower },
                first: vec![None; nodes.len()],
                second: Vec::new(),
            },
            efficiency: vec![None; nodes.len()],
        }
    };
    let mut held: Vec<Held> = (0..catalogue.metrics.len()).map(empty).collect();
    for (node, results) in nodes.iter().enumerate() {
        // A ratio needs positive numbers.
        let passes = results.first.iter().map(|one| (one, true)).chain(results.second.iter().map(|one| (one, false)));
        for (measured, is_first) in passes.filter(|(measured, _)| measured.value > 0.0) {
            let one = &mut held[measured.metric];
            if is_first {
                (one.series.first[node], one.efficiency[node]) = (Some(measured.value), measured.efficiency);
            } else {
                one.series.second.pop_if(|(other, _)| *other == node);
                one.series.second.push((node, measured.value));
            }
        }
    }
    held.retain(|held| held.series.first.iter().any(Option::is_some));
    held
}

fn distribution(
    group: u32,
    nodes: &[&NodeResults],
    held: &Held,
    spread: &Spread,
    catalogue: &Catalogue,
) -> Distribution {
    let (key, area, unit, better) = &catalogue.metrics[held.catalogue];
    let measured = (0..nodes.len()).filter(|node| held.series.first[*node].is_some());
    let value = |node: usize| NodeValue {
        node: nodes[node].name.clone(),
        values: held.values(node),
        efficiency: held.efficiency[node],
    };
    let mut values: Vec<NodeValue> = measured.map(value).collect();
    values.sort_by(|a, b| match better {
        Better::Higher => a.values[0].total_cmp(&b.values[0]),
        Better::Lower => b.values[0].total_cmp(&a.values[0]),
    });
    Distribution {
        experiment: key.experiment.clone(),
        area: area.name().to_owned(),
        metric: key.metric.clone(),
        unit: *unit,
        better: *better,
        group,
        n: spread.n as u64,
        median: spread.median,
        spread: spread.scale,
        least: spread.least,
        lower_quartile: spread.lower_quartile,
        upper_quartile: spread.upper_quartile,
        most: spread.most,
        limit: spread.limit(),
        remark: remark(spread),
        values,
    }
}

fn remark(spread: &Spread) -> Option<String> {
    match (spread.limit_ratio, spread.n) {
        (Err(TooWide::FewNodes), 1) => Some("only one node has it, so there is nothing to compare it with".to_owned()),
        (Err(TooWide::FewNodes), n) => {
            let apart = percent_tenths(spread.most / spread.least - 1.0);
            Some(format!("{n} nodes, {apart} apart: too few to decide which is slow"))
        }
        (Err(TooWide::Everything), _) => {
            Some(format!("the nodes differ by {}: too much to decide which is slow", percent_whole(spread.scale)))
        }
        (Ok(_), _) if !spread.is_wide() => None,
        (Ok(_), _) => {
            let scale = percent_tenths(spread.scale);
            Some(format!("the nodes differ by {scale}: above 2 %, only large differences are found"))
        }
    }
}

struct Bench<'a> {
    nodes: &'a [&'a NodeResults],
    held: &'a [Held],
    catalogue: &'a Catalogue,
    spreads: &'a [Option<Spread>],
    majority: &'a Words,
    usual: BTreeMap<Area, Usual>,
    rules: &'a [AreaRules],
}

impl Bench<'_> {
    /// The nodes that stand out or have a fault, and the standing of every node.
    fn slow_nodes(&self, verdicts: &[NodeVerdict]) -> (Vec<SlowNode>, Vec<Standing>) {
        let seen = verdicts.iter().enumerate().map(|(node, verdict)| self.seen(node, verdict));
        let mut seen: Vec<SlowNode> = seen.collect();
        let mut holders: BTreeMap<String, usize> = BTreeMap::new();
        for cause in seen.iter().flat_map(|node| &node.causes) {
            *holders.entry(cause.code.clone()).or_default() += 1;
        }
        // What holds for most nodes is no cause of one.
        seen.iter_mut().for_each(|node| node.causes.retain(|cause| 2 * holders[&cause.code] <= verdicts.len()));
        let standings = seen.iter().zip(verdicts).map(|(node, verdict)| match standing(verdict.standing) {
            Standing::Healthy | Standing::Unknown if !node.causes.is_empty() => Standing::Suspect,
            other => other,
        });
        let standings = standings.collect();
        seen.retain(|node| !(node.areas.is_empty() && node.causes.is_empty()));
        (seen, standings)
    }

    /// What is known against a node.
    fn seen(&self, node: usize, verdict: &NodeVerdict) -> SlowNode {
        let lowest = |area: Area| {
            let of_area = verdict.evidence.iter().filter(|one| self.area(one.subject) == area);
            of_area.map(|one| one.of_median[0]).min_by(f64::total_cmp)
        };
        let mut areas: Vec<(f64, Area)> = Area::ALL.iter().filter_map(|area| Some((lowest(*area)?, *area))).collect();
        areas.sort_by(|a, b| a.0.total_cmp(&b.0));
        SlowNode {
            node: self.nodes[node].name.clone(),
            standing: if verdict.standing == NodeStanding::Slow { Standing::Slow } else { Standing::Suspect },
            areas: areas.iter().map(|(_, area)| area.name().to_owned()).collect(),
            deviations: self.deviations(node, verdict),
            causes: self.causes(node, &areas),
        }
    }

    fn area(&self, subject: Subject) -> Area {
        match subject {
            Subject::Area(number) => area_of(number),
            Subject::Result(index) => area_of(self.held[index].series.area),
        }
    }

    fn deviations(&self, node: usize, verdict: &NodeVerdict) -> Vec<Deviation> {
        let mut deviations = Vec::new();
        let mut shown: Vec<usize> = Vec::new();
        for evidence in &verdict.evidence {
            match evidence.subject {
                Subject::Result(index) => shown.push(index),
                Subject::Area(area) => {
                    deviations.push(Deviation {
                        experiment: format!("area:{}", area_of(area).name()),
                        metric: "all".to_owned(),
                        of_median: evidence.of_median.clone(),
                        efficiency: None,
                    });
                    shown.extend(self.lowest_of(node, area));
                }
            }
        }
        shown.sort_unstable();
        shown.dedup();
        deviations.extend(shown.into_iter().map(|index| self.deviation(node, index)));
        deviations.sort_by(|a, b| a.of_median[0].total_cmp(&b.of_median[0]));
        deviations
    }

    fn lowest_of(&self, node: usize, area: usize) -> Vec<usize> {
        let ratio = |index: usize| {
            let held = &self.held[index].series;
            let ratio = self.spreads[index].as_ref()?.ratio(held.first[node]?)?;
            (held.area == area && ratio < 1.0 - held.sort.least_drop()).then_some((ratio, index))
        };
        let mut low: Vec<(f64, usize)> = (0..self.held.len()).filter_map(ratio).collect();
        low.sort_by(|a, b| a.0.total_cmp(&b.0));
        low.into_iter().take(SHOWN_OF_AREA).map(|(_, index)| index).collect()
    }

    fn deviation(&self, node: usize, index: usize) -> Deviation {
        let held = &self.held[index];
        let (key, ..) = &self.catalogue.metrics[held.catalogue];
        let ratio = |value: f64| self.spreads[index].as_ref().and_then(|spread| spread.ratio(value));
        Deviation {
            experiment: key.experiment.clone(),
            metric: key.metric.clone(),
            of_median: held.values(node).into_iter().filter_map(ratio).collect(),
            efficiency: held.efficiency[node],
        }
    }

    /// The causes of a node that is slow in these areas, and its faults in the others that were measured.
    fn causes(&self, node: usize, slow: &[(f64, Area)]) -> Vec<Cause> {
        let nothing = (AreaConditions::default(), Usual::default(), Words::new());
        let node = self.nodes[node];
        let case = |of_median, area: &Area| Case {
            uses: AreaRules::of(self.rules, *area).uses,
            of_median,
            own: node.conditions.get(area).unwrap_or(&nothing.0),
            usual: self.usual.get(area).unwrap_or(&nothing.1),
            words: node.facts.as_ref().map_or(&nothing.2, |facts| &facts.words),
            majority: self.majority,
        };
        let mut cases: Vec<Case<'_>> = slow.iter().map(|(of_median, area)| case(Some(*of_median), area)).collect();
        let others = self.usual.keys().filter(|area| slow.iter().all(|(_, slow)| slow != *area));
        cases.extend(others.map(|area| case(None, area)));
        causes(&cases)
    }
}
