//! The charts of a cluster's page: figures over the nodes of a group, and the network from node to node.

use std::collections::{BTreeMap, HashMap};

use model::cluster::{ClusterDocument, Distribution, Group, PairMatrix};
use serde::Serialize;

use super::tables::{Table, cell, figure_cell};
use crate::chart::pairs::{MOST_SIDES, Pair, matrix, sharing};
use crate::chart::strips::{Strip, strips};
use crate::cluster::labels::{figure, notation, of_median, outliers, share, some_of, title};
use crate::formats::escape::one_line;
use model::number::{UnitScale, counted, percent, quantity};

/// A chart with its figures as a table.
#[derive(Debug, Serialize)]
pub(super) struct Figure {
    name: String,
    title: String,
    about: String,
    svg: String,
    narrow: String,
    table: Table,
    /// What else there is to say.
    notes: Vec<String>,
    /// What the folded table is called.
    fold: &'static str,
}

/// An area with its charts, one per group.
#[derive(Debug, Serialize)]
pub(super) struct Section {
    accent: String,
    title: String,
    figures: Vec<Figure>,
}

/// What is drawn.
const ABOUT: &str = "Every value over the median of its figure, slower to the left whichever way the figure counts; what is \
                     slower than half stands at the left end. The band holds the middle half of the nodes; the dotted line \
                     is the limit beyond which a node stands out, and who does is named. Medians on the right.";
/// The same in short.
const ABOUT_AGAIN: &str = "Values over the median of their figure; slower is to the left.";

/// The sections of the areas that have figures, in the order of the document.
pub(super) fn sections(document: &ClusterDocument) -> Vec<Section> {
    let mut areas: Vec<&str> = Vec::new();
    for figure in &document.distributions {
        if !areas.contains(&figure.area.as_str()) {
            areas.push(&figure.area);
        }
    }
    let section = |(place, area): (usize, &&str)| {
        let mut by_group: BTreeMap<u32, Vec<&Distribution>> = BTreeMap::new();
        for figure in document.distributions.iter().filter(|figure| figure.area == **area) {
            by_group.entry(figure.group).or_default().push(figure);
        }
        let figures = by_group.iter().enumerate().map(|(order, (id, all))| {
            let of = FigurePlace { number: place, area, is_first: place + order == 0 };
            of_group(document, of, *id, all)
        });
        let known = area.parse::<model::experiment::Area>();
        Section {
            accent: known.map_or_else(|_| "run", model::experiment::Area::name).to_owned(),
            title: title(area),
            figures: figures.collect(),
        }
    };
    areas.iter().enumerate().map(section).collect()
}

/// An area and its place on the page.
#[derive(Clone, Copy)]
struct FigurePlace<'a> {
    number: usize,
    area: &'a str,
    /// Whether nothing was drawn before it.
    is_first: bool,
}

/// The chart of a group's figures in an area.
fn of_group(document: &ClusterDocument, place: FigurePlace<'_>, id: u32, all: &[&Distribution]) -> Figure {
    let FigurePlace { number, area, is_first } = place;
    let known = document.groups.iter().find(|group| group.id == id);
    let nodes = known.map_or_else(|| all.iter().map(|figure| figure.n).max().unwrap_or(0), |group| group.nodes);
    let heading = match document.groups.len() {
        0 | 1 => format!("Are the nodes equal? {}", title(area)),
        _ => format!("Group {id}, {}: {}", counted(nodes, "node"), kind_words(known)),
    };
    let about = if is_first { ABOUT } else { ABOUT_AGAIN };
    let drawn: Vec<Strip> = all.iter().map(|figure| strip(figure)).collect();
    let name = format!("area{number}-group{id}");
    let [svg, narrow] = strips([&name, &heading, about], area.parse().ok(), &drawn);
    let mut remarks: Vec<String> = Vec::new();
    for (figure, strip) in all.iter().zip(&drawn) {
        let Some(remark) = &figure.remark else { continue };
        remarks.push(format!("{}: {}", strip.name, one_line(remark)));
    }
    // What all of them say is said once.
    let first = all.first().and_then(|figure| figure.remark.as_ref());
    if all.len() > 1 && first.is_some() && all.iter().all(|figure| figure.remark.as_ref() == first) {
        remarks = first.map(|remark| one_line(remark)).into_iter().collect();
    }
    Figure {
        name,
        title: heading,
        about: about.to_owned(),
        svg,
        narrow,
        table: table(all, &drawn),
        notes: remarks,
        fold: "The figures of this chart",
    }
}

/// A group by its processor, or by whatever is known first.
fn kind_words(group: Option<&Group>) -> String {
    let is_processor = |name: &str| ["cpu", "processor"].iter().any(|word| name.to_lowercase().contains(word));
    let known = group.and_then(|group| {
        let mut all = group.hardware.iter();
        all.clone().find(|(name, _)| is_processor(name)).or_else(|| all.next())
    });
    known.map_or_else(|| "hardware unknown".to_owned(), |(_, value)| one_line(value))
}

fn strip(of: &Distribution) -> Strip {
    let told = |value: f64| quantity(value, notation(&of.area, of.unit));
    let shares: Vec<f64> = of.values.iter().filter_map(|value| share(value, of)).collect();
    let name = figure(&of.experiment, &of.metric);
    let as_share = |value: f64| of_median(value, of.median, of.better).unwrap_or(1.0);
    let (one, other) = (as_share(of.lower_quartile), as_share(of.upper_quartile));
    let text = format!(
        "{name}: median {} over {}, middle half from {} to {}, spread {}",
        told(of.median),
        counted(of.n, "node"),
        told(of.lower_quartile),
        told(of.upper_quartile),
        percent(of.spread)
    );
    Strip {
        name,
        id: of.experiment.clone(),
        median: told(of.median),
        value: of.median,
        text,
        shares,
        quartiles: [one.min(other), one.max(other)],
        limit: of.limit.and_then(|limit| of_median(limit, of.median, of.better)),
        outliers: outliers(of),
    }
}

fn table(all: &[&Distribution], drawn: &[Strip]) -> Table {
    let lines = all.iter().zip(drawn).map(|(of, strip)| {
        let notation = notation(&of.area, of.unit);
        let told = |value: f64| figure_cell(value, quantity(value, notation));
        let slowest = of.values.first();
        let slowest_share = slowest.and_then(|value| share(value, of));
        vec![
            cell(strip.name.clone()),
            figure_cell(of.n as f64, of.n.to_string()),
            told(of.median),
            figure_cell(of.spread, percent(of.spread)),
            told(of.least),
            told(of.lower_quartile),
            told(of.upper_quartile),
            told(of.most),
            of.limit.map_or_else(|| cell(String::new()), told),
            cell(slowest.map_or_else(String::new, |value| one_line(&value.node))),
            slowest_share.map_or_else(|| cell(String::new()), |share| figure_cell(share, percent(share))),
        ]
    });
    let columns = [
        "Figure",
        "Nodes",
        "Median",
        "Spread",
        "Least",
        "Lower quartile",
        "Upper quartile",
        "Most",
        "Limit",
        "Slowest node",
        "Of the median",
    ];
    Table::new("Figures over nodes", &columns, "n2 n3 n4 n5 n6 n7 n8 n9 n11", lines.collect())
}

/// Pairs that are told in the table of a square.
const MOST_PAIRS: usize = 20;

/// The charts of the network between nodes.
pub(super) fn squares(document: &ClusterDocument) -> Vec<Figure> {
    document.pairs.iter().enumerate().filter_map(|(place, of)| square(document, place, of)).collect()
}

fn square(document: &ClusterDocument, place: usize, of: &PairMatrix) -> Option<Figure> {
    let mut named: Vec<&str> = document.nodes.iter().map(|node| node.name.as_str()).collect();
    let met: std::collections::HashSet<&str> =
        of.pairs.iter().flat_map(|pair| [pair.from.as_str(), pair.to.as_str()]).collect();
    named.retain(|name| met.contains(name));
    let places: HashMap<&str, usize> = named.iter().enumerate().map(|(place, name)| (*name, place)).collect();
    let names: Vec<String> = named.iter().map(|name| one_line(name)).collect();
    let notation = notation("net", of.unit);
    let values: Vec<f64> = of.pairs.iter().filter_map(|pair| pair.value).collect();
    let scale = UnitScale::common(&values, notation);
    let what = figure(&of.experiment, &of.metric);
    let pairs: Vec<Pair> = of
        .pairs
        .iter()
        .filter_map(|pair| {
            let value = pair.value.filter(|value| value.is_finite());
            let text = value.map(|value| scale.map_or_else(|| quantity(value, notation), |scale| scale.digits(value)));
            let share = value.zip(of.median).and_then(|(value, median)| of_median(value, median, of.better));
            Some(Pair {
                from: *places.get(pair.from.as_str())?,
                to: *places.get(pair.to.as_str())?,
                share: value.map(|_| share.unwrap_or(1.0)),
                value: text.unwrap_or_default(),
                text: pair_text(pair, share, notation),
            })
        })
        .collect();
    let at_once = of.pairs.iter().map(|pair| pair.at_once).max().unwrap_or(1);
    let how = if of.together { format!("{at_once} pairs at the same moment") } else { "each pair alone".to_owned() };
    let heading = format!("{what}: {how}");
    let about = about(names.len(), of.better);
    let name = format!("pairs{place}");
    let area = of.experiment.split('/').next().and_then(|area| area.parse().ok());
    let unit = scale.map_or("", UnitScale::unit);
    let [svg, narrow] = matrix(area, [&name, &heading, &about], &names, unit, &pairs)?;
    let median = of
        .median
        .map(|median| format!("Median over {}: {}.", counted(values.len() as u64, "pair"), quantity(median, notation)));
    Some(Figure {
        svg,
        narrow,
        table: slowest_pairs(of),
        notes: median.into_iter().chain(holes(of)).collect(),
        fold: "The slowest pairs",
        name,
        title: heading,
        about,
    })
}

fn about(nodes: usize, better: model::unit::Better) -> String {
    let slower = match better {
        model::unit::Better::Higher => "the less",
        model::unit::Better::Lower => "the longer",
    };
    let sharing = match sharing(nodes) {
        1 => String::new(),
        many => format!(
            " Of {nodes} nodes, {many} neighbours of the plan's order share a line and a column (at most {MOST_SIDES} are \
             drawn), and a cell shows the slowest of its pairs."
        ),
    };
    format!("A cell for each pair that was measured; the stronger its colour, {slower} against the median.{sharing}")
}

fn pair_text(pair: &model::cluster::PairValue, share: Option<f64>, notation: model::number::Notation) -> String {
    let ends = format!("{} to {}", one_line(&pair.from), one_line(&pair.to));
    match (pair.value, share) {
        (Some(value), Some(share)) => {
            format!("{ends}: {}, {} of the median", quantity(value, notation), percent(share))
        }
        (Some(value), None) => format!("{ends}: {}", quantity(value, notation)),
        (None, _) => format!("{ends}: not measured"),
    }
}

/// Why pairs have no value: each reason once, with how many it is about and some of them.
fn holes(of: &PairMatrix) -> Vec<String> {
    let mut reasons: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for pair in of.pairs.iter().filter(|pair| pair.value.is_none()) {
        let reason = pair.reason.as_deref().map_or_else(|| "no reason was recorded".to_owned(), one_line);
        reasons.entry(reason).or_default().push(format!("{} to {}", one_line(&pair.from), one_line(&pair.to)));
    }
    let told = reasons.iter().map(|(reason, pairs)| {
        format!("{} not measured ({}): {reason}", counted(pairs.len() as u64, "pair"), some_of(pairs, 3))
    });
    told.collect()
}

/// The slowest pairs of a square.
fn slowest_pairs(of: &PairMatrix) -> Table {
    let notation = notation("net", of.unit);
    let mut measured: Vec<_> = of
        .pairs
        .iter()
        .filter_map(|pair| {
            let value = pair.value.filter(|value| value.is_finite())?;
            Some((of.median.and_then(|median| of_median(value, median, of.better)), value, pair))
        })
        .collect();
    let key = |share: Option<f64>| share.unwrap_or(f64::INFINITY);
    measured.sort_by(|one, other| key(one.0).total_cmp(&key(other.0)));
    let lines = measured.iter().take(MOST_PAIRS).map(|(share, value, pair)| {
        vec![
            cell(one_line(&pair.from)),
            cell(one_line(&pair.to)),
            figure_cell(*value, quantity(*value, notation)),
            share.map_or_else(|| cell(String::new()), |share| figure_cell(share, percent(share))),
        ]
    });
    Table::new("The slowest pairs", &["From", "To", "Value", "Of the median"], "n3 n4", lines.collect())
}
