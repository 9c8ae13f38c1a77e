//! The charts of a cluster's HTML report: metrics over the nodes of a group, and the network from node to node.

use std::collections::{BTreeMap, HashMap, HashSet};

use minijinja::{Value, context};
use model::cluster::{ClusterDocument, Distribution, Group, PairMatrix, PairValue};
use model::experiment::Area;
use model::number::{Notation, UnitScale, counted, percent, quantity};
use model::unit::Better;

use super::tables::{Column, Table, cell, number_cell, share_cell};
use crate::chart::pairs::{MOST_SIDES, Pair, matrix, sharing};
use crate::chart::strips::{Strip, strips};
use crate::cluster::labels::{ends, metric_name, notation, of_median, outliers, share, some_of, title};
use crate::formats::escape::one_line;
use crate::grid::groups::grouped;
use crate::reason::NO_REASON;

const ABOUT: &str = "Every value as a share of the median of its metric, slower to the left; values below half are at the left end. \
                     The band is the middle half of the nodes. The dotted line is the limit, and nodes beyond it have their \
                     names. Medians are on the right.";
const ABOUT_AGAIN: &str = "Values as shares of the median of their metric, slower to the left.";

pub(super) fn sections(document: &ClusterDocument) -> Vec<Value> {
    let areas = grouped(&document.distributions, |metric| Some(metric.area.as_str()));
    let section = |(place, (area, all)): (usize, (&str, Vec<&Distribution>))| {
        let mut groups: BTreeMap<u32, Vec<&Distribution>> = BTreeMap::new();
        for metric in all {
            groups.entry(metric.group).or_default().push(metric);
        }
        let metrics = groups.iter().enumerate().map(|(order, (id, all))| {
            let about = if place + order == 0 { ABOUT } else { ABOUT_AGAIN };
            of_group(document, &format!("area{place}-group{id}"), about, all)
        });
        let metrics: Vec<Value> = metrics.collect();
        let accent = area.parse().map_or("run", Area::name);
        context! { accent, title => title(area), metrics }
    };
    areas.into_iter().enumerate().map(section).collect()
}

/// The chart of an area's metrics in a group.
fn of_group(document: &ClusterDocument, name: &str, about: &str, all: &[&Distribution]) -> Value {
    let (id, area) = (all[0].group, &all[0].area);
    let known = document.groups.iter().find(|group| group.id == id);
    let nodes = known.map_or_else(|| all.iter().map(|metric| metric.n).max().unwrap_or(0), |group| group.nodes);
    let heading = match document.groups.len() {
        0 | 1 => format!("{}: every node compared with the median", title(area)),
        _ => format!("Hardware type {id}, {}: {}", counted(nodes, "node"), kind_words(known)),
    };
    let drawn: Vec<Strip> = all.iter().map(|metric| strip(metric)).collect();
    let [svg, narrow] = strips([name, &heading, about], area.parse().ok(), &drawn);
    let first = all[0].remark.as_ref();
    let notes: Vec<String> = if all.len() > 1 && first.is_some() && all.iter().all(|own| own.remark.as_ref() == first) {
        first.map(|remark| one_line(remark)).into_iter().collect()
    } else {
        let remarks = all.iter().zip(&drawn).filter_map(|(own, strip)| Some((&strip.name, own.remark.as_ref()?)));
        remarks.map(|(name, remark)| format!("{name}: {}", one_line(remark))).collect()
    };
    let table = table(all, &drawn);
    context! { name, title => heading, about, svg, narrow, table, notes, fold => "The values of this chart" }
}

/// The processor of a group, or its first known fact.
fn kind_words(group: Option<&Group>) -> String {
    let is_processor = |name: &str| ["cpu", "processor"].iter().any(|word| name.to_lowercase().contains(word));
    let known = group.and_then(|group| {
        let mut all = group.hardware.iter();
        all.clone().find(|(name, _)| is_processor(name)).or_else(|| all.next())
    });
    known.map_or_else(|| "hardware unknown".to_owned(), |(_, value)| one_line(value))
}

fn strip(of: &Distribution) -> Strip {
    let written = |value: f64| quantity(value, notation(&of.area, of.unit));
    let shares: Vec<f64> = of.values.iter().filter_map(|value| share(value, of)).collect();
    let name = metric_name(&of.experiment, &of.metric);
    let as_share = |value: f64| of_median(value, of.median, of.better).unwrap_or(1.0);
    let (one, other) = (as_share(of.lower_quartile), as_share(of.upper_quartile));
    let text = format!(
        "{name}: median {} over {}, middle half from {} to {}, spread {}",
        written(of.median),
        counted(of.n, "node"),
        written(of.lower_quartile),
        written(of.upper_quartile),
        percent(of.spread)
    );
    Strip {
        name,
        id: of.experiment.clone(),
        median: written(of.median),
        value: of.median,
        text,
        shares,
        quartiles: [one.min(other), one.max(other)],
        limit: of.limit.and_then(|limit| of_median(limit, of.median, of.better)),
        outliers: outliers(of),
    }
}

fn table(all: &[&Distribution], drawn: &[Strip]) -> Table {
    let lines: Vec<(&Distribution, &Strip)> = all.iter().copied().zip(drawn).collect();
    let value = |of: &Distribution, value: f64| number_cell(value, quantity(value, notation(&of.area, of.unit)));
    let limit = |of: &Distribution| of.limit.map_or_else(|| cell(String::new()), |limit| value(of, limit));
    let slowest = |of: &Distribution| of.values.first().map_or_else(String::new, |value| one_line(&value.node));
    let columns: [Column<'_, (&Distribution, &Strip)>; 11] = [
        ("Metric", false, &|(_, strip)| cell(strip.name.clone())),
        ("Nodes", true, &|(of, _)| number_cell(of.n as f64, of.n.to_string())),
        ("Median", true, &|(of, _)| value(of, of.median)),
        ("Spread", true, &|(of, _)| share_cell(Some(of.spread))),
        ("Least", true, &|(of, _)| value(of, of.least)),
        ("Lower quartile", true, &|(of, _)| value(of, of.lower_quartile)),
        ("Upper quartile", true, &|(of, _)| value(of, of.upper_quartile)),
        ("Most", true, &|(of, _)| value(of, of.most)),
        ("Limit", true, &|(of, _)| limit(of)),
        ("Slowest node", false, &|(of, _)| cell(slowest(of))),
        ("Of the median", true, &|(of, _)| share_cell(of.values.first().and_then(|value| share(value, of)))),
    ];
    Table::new("Values over nodes", &lines, &columns)
}

/// The most pairs in the table of a matrix.
const MOST_PAIRS: usize = 20;

pub(super) fn squares(document: &ClusterDocument) -> Vec<Value> {
    document.pairs.iter().enumerate().filter_map(|(place, of)| square(document, place, of)).collect()
}

fn square(document: &ClusterDocument, place: usize, of: &PairMatrix) -> Option<Value> {
    let met: HashSet<&str> = of.pairs.iter().flat_map(|pair| [pair.from.as_str(), pair.to.as_str()]).collect();
    let names = document.nodes.iter().map(|node| node.name.as_str()).filter(|name| met.contains(name));
    let places: HashMap<&str, usize> = names.clone().enumerate().map(|(place, name)| (name, place)).collect();
    let names: Vec<String> = names.map(one_line).collect();
    let notation = notation("net", of.unit);
    let values: Vec<f64> = of.pairs.iter().filter_map(|pair| pair.value).collect();
    let scale = UnitScale::common(&values, notation);
    let pair = |pair: &PairValue| {
        let value = pair.value.filter(|value| value.is_finite());
        let share = value.zip(of.median).and_then(|(value, median)| of_median(value, median, of.better));
        let text = value.map(|value| scale.map_or_else(|| quantity(value, notation), |scale| scale.digits(value)));
        Some(Pair {
            from: *places.get(pair.from.as_str())?,
            to: *places.get(pair.to.as_str())?,
            share: value.map(|_| share.unwrap_or(1.0)),
            value: text.unwrap_or_default(),
            text: pair_text(pair, share, notation),
        })
    };
    let pairs: Vec<Pair> = of.pairs.iter().filter_map(pair).collect();
    let at_once = of.pairs.iter().map(|pair| pair.at_once).max().unwrap_or(1);
    let how = if of.together { format!("{at_once} pairs at the same time") } else { "each pair alone".to_owned() };
    let title = format!("{}: {how}", metric_name(&of.experiment, &of.metric));
    let (name, about) = (format!("pairs{place}"), about(names.len(), of.better));
    let area = of.experiment.split('/').next().and_then(|area| area.parse().ok());
    let unit = scale.map_or("", UnitScale::unit);
    let [svg, narrow] = matrix(area, [&name, &title, &about], &names, unit, &pairs)?;
    let over = counted(values.len() as u64, "pair");
    let median = of.median.map(|median| format!("Median over {over}: {}.", quantity(median, notation)));
    let notes: Vec<String> = median.into_iter().chain(holes(of)).collect();
    let table = slowest_pairs(of);
    Some(context! { name, title, about, svg, narrow, table, notes, fold => "The slowest pairs" })
}

fn about(nodes: usize, better: Better) -> String {
    let slower = match better {
        Better::Higher => "the smaller",
        Better::Lower => "the longer",
    };
    let sharing = match sharing(nodes) {
        1 => String::new(),
        many => format!(
            " {many} consecutive nodes of the plan share a row and a column, since at most {MOST_SIDES} of {nodes} fit; a \
             cell shows the slowest of its pairs."
        ),
    };
    format!(
        "A cell for each measured pair; the stronger its colour, {slower} its value compared with the median.{sharing}"
    )
}

fn pair_text(pair: &PairValue, share: Option<f64>, notation: Notation) -> String {
    let of_median = share.map_or_else(String::new, |share| format!(", {} of the median", percent(share)));
    match pair.value {
        Some(value) => format!("{}: {}{of_median}", ends(pair), quantity(value, notation)),
        None => format!("{}: not measured", ends(pair)),
    }
}

/// Why pairs have no value: each reason once, with the number of pairs and some of them.
fn holes(of: &PairMatrix) -> Vec<String> {
    let mut reasons: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for pair in of.pairs.iter().filter(|pair| pair.value.is_none()) {
        let reason = one_line(pair.reason.as_deref().unwrap_or(NO_REASON));
        reasons.entry(reason).or_default().push(ends(pair));
    }
    let lines = reasons.iter().map(|(reason, pairs)| {
        format!("{} not measured ({}): {reason}", counted(pairs.len() as u64, "pair"), some_of(pairs, 3))
    });
    lines.collect()
}

fn slowest_pairs(of: &PairMatrix) -> Table {
    let notation = notation("net", of.unit);
    let measured = of.pairs.iter().filter_map(|pair| {
        let value = pair.value.filter(|value| value.is_finite())?;
        Some((of.median.and_then(|median| of_median(value, median, of.better)), value, pair))
    });
    let mut measured: Vec<_> = measured.collect();
    let key = |share: Option<f64>| share.unwrap_or(f64::INFINITY);
    measured.sort_by(|one, other| key(one.0).total_cmp(&key(other.0)));
    let columns: [Column<'_, (Option<f64>, f64, &PairValue)>; 4] = [
        ("From", false, &|(.., pair)| cell(one_line(&pair.from))),
        ("To", false, &|(.., pair)| cell(one_line(&pair.to))),
        ("Value", true, &|(_, value, _)| number_cell(*value, quantity(*value, notation))),
        ("Of the median", true, &|(share, ..)| share_cell(*share)),
    ];
    Table::new("The slowest pairs", measured.iter().take(MOST_PAIRS), &columns)
}
