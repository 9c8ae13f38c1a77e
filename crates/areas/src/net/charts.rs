//! Charts of networks: connections, messages, loopback against two nodes, latency and its tail.

use model::document::{Document, Row};
use model::experiment::{Area, LOOPBACK, NetParams};
use model::io::NetMode;
use model::number::brief::times;
use model::number::{Notation, quantity};
use model::sample::MetricName;
use model::unit::Unit;

use super::label::params;
use crate::chart::builders::{Over, at_best_block, at_smallest_block, kinds, percentiles, ratios, side_by_side, tools};
use crate::chart::measured::{Measured, by_key, dot, list_names, uncrowded, unshared};
use crate::chart::observed::{Seen, factors};
use crate::chart::{Body, Chart, ChartAxis, DotLine, Dots, Reading, is_drawable};
use crate::label::{Axis, Common, Label};

/// The limit of a network is its link; on the loopback interface, two copies of every byte.
const LIMIT: &str = "limit of the path";

const THROUGHPUT: Over = Over {
    area: Area::Net,
    name: "net-throughput-over-connections",
    title: "Does network throughput grow with connections?",
    about: "Bits per second by connections, for each protocol and direction at its best block, with the limit where it \
            is known.",
    x: ChartAxis::new("Connections", Reading::Counts),
    y: ChartAxis::new("Throughput", Reading::Auto(Notation::Bits)),
    places: Axis::Connections,
    limit: LIMIT,
};
const LATENCY: Over = Over {
    name: "net-latency-over-connections",
    title: "Does a round trip take longer with more connections?",
    about: "Median time of a round trip by connections, for each protocol and way of waiting.",
    y: ROUND_TRIP,
    ..THROUGHPUT
};
const THROUGHPUT_OVER_MESSAGES: Over = Over {
    name: "net-throughput-over-messages",
    title: "Which message size does the network need?",
    about: "Bits per second over the size of messages, both on logarithmic axes, a panel for each workload and a line \
            for each number of connections.",
    x: ChartAxis::new("Message", Reading::Sizes),
    y: ChartAxis::new("Throughput", Reading::Log(Notation::Bits)),
    ..THROUGHPUT
};
const ROUND_TRIP: ChartAxis = ChartAxis::auto("Round trip", Unit::Second);

const ABOUT_PATHS: &str = "The same benchmark on the loopback interface and between two nodes.";

const LOADED: [&str; 3] = [
    "net-loaded-latency",
    "What does a load cost the latency?",
    "Median round trip before streams started and while they ran; the end of each line has the ratio.",
];

pub(crate) fn charts(document: &Document) -> Vec<Chart> {
    let mut rates = Measured::all(document, Area::Net, MetricName::Throughput);
    rates.retain(|own| own.metric.unit == Unit::BytePerSecond && !is_mode(own.row, NetMode::Load));
    let waits = Measured::all(document, Area::Net, MetricName::Latency);
    let of_mode = |mode| waits.iter().filter(|own| is_mode(own.row, mode)).copied().collect::<Vec<_>>();
    let (trips, loaded_trips) = (of_mode(NetMode::Pingpong), of_mode(NetMode::Load));
    let tails = of_smallest_message(&trips);
    let charts = [
        THROUGHPUT.medians(at_best_block(&rates)),
        LATENCY.medians(at_smallest_block(&trips)),
        THROUGHPUT_OVER_MESSAGES.blocks(&rates),
        paths("net-paths-throughput", &rates),
        paths("net-paths-latency", &trips),
        Some(loaded(&loaded_trips)),
        Some(percentiles(Area::Net, "net-latency-percentiles", "How slow are the slowest round trips?", &tails)),
    ];
    let tools = tools(document, Area::Net, ["net-tools", "net-tools-latency"]);
    charts.into_iter().flatten().chain(tools).collect()
}

/// The round trips of the smallest message, over connections whose threads have a CPU each.
fn of_smallest_message<'a>(trips: &[Measured<'a>]) -> Vec<Measured<'a>> {
    let block = |own: &Measured<'_>| params(own.row).map(|params| params.block);
    let least = trips.iter().filter_map(block).min();
    uncrowded(trips).into_iter().filter(|own| block(own) == least).collect()
}

fn is_mode(row: &Row, mode: NetMode) -> bool {
    params(row).is_some_and(|params| params.mode == mode)
}

/// Each result on the loopback interface next to its counterpart between two nodes.
fn paths(name: &'static str, all: &[Measured<'_>]) -> Option<Chart> {
    let sides = all.iter().filter_map(|own| {
        let params = params(own.row)?;
        let same = NetParams { path: String::new(), ..params.clone() };
        Some((format!("{same:?}"), (usize::from(params.path != LOOPBACK), *own)))
    });
    let mut groups: Vec<Vec<(usize, Measured<'_>)>> = Vec::new();
    for (_, group) in by_key(sides, |(key, _)| Some(key.clone())) {
        let mut group: Vec<_> = group.into_iter().map(|(_, side)| side).collect();
        group.sort_by_key(|(kind, _)| *kind);
        group.dedup_by_key(|(kind, _)| *kind);
        groups.extend((group.len() > 1).then_some(group));
    }
    groups.truncate(14);
    let first = groups.first()?[0].1;
    let unit = first.metric.unit;
    let rows: Vec<&Row> = groups.iter().map(|group| group[0].1.row).collect();
    let (title, what) = if unit == Unit::Second { ("Round trip", "time") } else { ("Throughput", "rate") };
    let axis = ChartAxis::new(title, Reading::Auto(first.notation()));
    let labels = common_names(&rows);
    let observation = ratios(&groups, &labels, [0, 1]);
    let observation =
        observation.map(|found| format!("Between two nodes: {found} the {what} on the loopback interface."));
    let body = side_by_side(axis, kinds(&["loopback", "two nodes"]), &groups, labels);
    let words = [name, "What does the wire cost?", ABOUT_PATHS];
    Some(Chart::new(Area::Net, words, body).observed(observation))
}

/// What results share with their counterparts: not the path.
fn common_names(rows: &[&Row]) -> Vec<String> {
    let axis = Axis::Connections;
    let tokens = |row: &&Row| -> Vec<String> {
        let label = Label::of(row, &Common::default(), axis);
        let all = label.how.split(", ").filter(|token| *token != LOOPBACK && !token.starts_with("to "));
        all.map(str::to_owned).chain([axis.words(axis.position(row))]).collect()
    };
    let all: Vec<Vec<String>> = rows.iter().map(tokens).collect();
    let named = all.iter().map(|own| {
        let rest = unshared(&own[1..], &all);
        if rest.is_empty() { own[0].clone() } else { format!("{}, {rest}", own[0]) }
    });
    named.collect()
}

fn loaded(all: &[Measured<'_>]) -> Chart {
    let idle = |measured: &Measured<'_>| {
        let idle = measured.row.conditions.net.as_ref()?.idle_latency_seconds;
        idle.filter(|seconds| is_drawable(*seconds) && *seconds > 0.0)
    };
    let names = list_names(all);
    let seen: Vec<Option<Seen>> = all
        .iter()
        .zip(&names)
        .map(|(own, name)| {
            Some(Seen { value: own.value() / idle(own)?, name: name.clone(), is_doubtful: own.is_doubtful() })
        })
        .collect();
    let lines = all.iter().zip(names).zip(&seen).map(|((measured, label), ratio)| {
        let before = idle(measured).map(|seconds| {
            let text = format!(": {} before the load started", quantity(seconds, Unit::Second));
            dot(1, measured.other_mark(seconds, 0, &text))
        });
        let note = ratio.as_ref().map_or_else(String::new, |ratio| times(ratio.value));
        DotLine { label, note, marks: before.into_iter().chain([measured.dot(0)]).collect(), samples: Vec::new() }
    });
    let kinds = kinds(&["under load", "idle"]);
    let body = Body::Dots(Dots { axis: ROUND_TRIP, kinds, lines: lines.collect(), spanned: true });
    let observation = factors(seen.into_iter().flatten());
    let observation = observation.map(|found| format!("Under load a round trip takes {found} the idle time."));
    Chart::new(Area::Net, LOADED, body).observed(observation)
}
