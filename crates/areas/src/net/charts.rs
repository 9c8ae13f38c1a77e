//! Charts of networks: connections, messages, TCP against UDP, loopback against two nodes, latency and its tail.

use model::document::{Document, Row};
use model::experiment::{Area, LOOPBACK, NetParams};
use model::io::{Direction, NetMode, Protocol, Segmentation};
use model::number::{Notation, quantity};
use model::sample::MetricName;
use model::unit::Unit;

use super::label::params;
use crate::chart::builders::{
    Over, at_best_block, at_smallest_block, kinds, percentiles, samples, side_by_side, sides,
};
use crate::chart::measured::{Measured, by_key, dot, list_names, unshared, value_columns, widest};
use crate::chart::{Body, Chart, ChartAxis, DotLine, Dots, Reading, is_drawable};
use crate::label::{Axis, Common, Label};

/// The limit of a network is its link; on the loopback interface, two copies of every byte.
const LIMIT: &str = "limit of the path";

const THROUGHPUT: Over = Over {
    area: Area::Net,
    name: "net-throughput-over-connections",
    title: "Does network throughput grow with connections?",
    about: "Bits per second over connections, a line for each protocol and direction at its best block, with the limit \
            as a dash at each point where it is known.",
    x: ChartAxis::new("Connections", Reading::Counts),
    y: ChartAxis::new("Throughput", Reading::Auto(Notation::Bits)),
    places: Axis::Connections,
    limit: LIMIT,
};
const LATENCY: Over = Over {
    name: "net-latency-over-connections",
    title: "Does a round trip take longer with more connections?",
    about: "Median time of a round trip over connections, a line for each protocol and way of waiting.",
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
const LATENCY_OVER_MESSAGES: Over = Over {
    name: "net-latency-over-messages",
    title: "How long does a message take?",
    about: "Median time of a round trip over the size of messages, both on logarithmic axes, a panel for each workload \
            and a line for each number of connections.",
    y: ChartAxis::log("Round trip", Unit::Second),
    ..THROUGHPUT_OVER_MESSAGES
};

const ROUND_TRIP: ChartAxis = ChartAxis::auto("Round trip", Unit::Second);

const ABOUT_SIDES: &str =
    "Each result with the limit of its path, if that is known, and the values of reference tools.";
const SIDES_THROUGHPUT: [&str; 3] =
    ["net-sides-throughput", "Network throughput compared with its limit and reference tools", ABOUT_SIDES];
const SIDES_LATENCY: [&str; 3] =
    ["net-sides-latency", "Round trips compared with their limit and reference tools", ABOUT_SIDES];

const PROTOCOLS: Counterparts = Counterparts {
    title: "TCP or UDP?",
    about: "TCP and UDP with the same block, connections, path and way of waiting.",
    kinds: ["TCP", "UDP"],
    side: protocol,
};
const PATHS: Counterparts = Counterparts {
    title: "What does the wire cost?",
    about: "The same benchmark on the loopback interface and between two nodes.",
    kinds: ["loopback", "two nodes"],
    side: path,
};

const LOADED: [&str; 3] = [
    "net-loaded-latency",
    "What does a load cost the latency?",
    "Median round trip before streams started and while they ran; the end of each line has the ratio.",
];

pub(crate) fn charts(document: &Document) -> Vec<Chart> {
    let mut rates = Measured::all(document, Area::Net, MetricName::Throughput);
    rates.retain(|own| own.metric.unit == Unit::BytePerSecond && !is_mode(own.row, NetMode::Load));
    let times = Measured::all(document, Area::Net, MetricName::Latency);
    let of_mode = |mode| times.iter().filter(|own| is_mode(own.row, mode)).copied().collect::<Vec<_>>();
    let (trips, loaded_trips) = (of_mode(NetMode::Pingpong), of_mode(NetMode::Load));
    let both: Vec<Measured<'_>> = rates.iter().chain(&trips).copied().collect();
    let charts = [
        THROUGHPUT.medians(at_best_block(&rates)),
        LATENCY.medians(at_smallest_block(&trips)),
        THROUGHPUT_OVER_MESSAGES.blocks(&rates),
        LATENCY_OVER_MESSAGES.blocks(&trips),
        PROTOCOLS.chart("net-tcp-and-udp-throughput", &rates),
        PROTOCOLS.chart("net-tcp-and-udp-latency", &trips),
        PATHS.chart("net-paths-throughput", &rates),
        PATHS.chart("net-paths-latency", &trips),
        Some(loaded(&loaded_trips)),
        Some(percentiles(Area::Net, "net-latency-percentiles", "How slow are the slowest round trips?", &times)),
        sides(Area::Net, SIDES_THROUGHPUT, LIMIT, &rates),
        sides(Area::Net, SIDES_LATENCY, LIMIT, &trips),
        samples("net-samples", &widest(&both)),
    ];
    charts.into_iter().flatten().collect()
}

fn is_mode(row: &Row, mode: NetMode) -> bool {
    params(row).is_some_and(|params| params.mode == mode)
}

struct Counterparts {
    title: &'static str,
    about: &'static str,
    kinds: [&'static str; 2],
    /// The kind of a result, and what it shares with its counterpart.
    side: fn(&NetParams) -> (usize, String),
}

impl Counterparts {
    fn chart(&self, name: &'static str, all: &[Measured<'_>]) -> Option<Chart> {
        let sides = all.iter().filter_map(|own| {
            let (kind, key) = (self.side)(params(own.row)?);
            Some((key, (kind, *own)))
        });
        let mut groups: Vec<Vec<(usize, Measured<'_>)>> = Vec::new();
        for (_, group) in by_key(sides, |(key, _)| Some(key.clone())) {
            let mut group: Vec<_> = group.into_iter().map(|(_, side)| side).collect();
            let first = group[0].0;
            let other = group.iter().position(|(kind, _)| *kind != first);
            if let Some(other) = other {
                group.swap(1, other);
                group.truncate(2);
                groups.push(group);
            }
        }
        groups.truncate(14);
        let first = groups.first()?[0].1;
        let unit = first.metric.unit;
        let rows: Vec<&Row> = groups.iter().map(|group| group[0].1.row).collect();
        let title = if unit == Unit::Second { "Round trip" } else { "Throughput" };
        let axis = ChartAxis::new(title, Reading::Auto(first.notation()));
        let body = side_by_side(axis, kinds(&self.kinds), &groups, common_names(&rows));
        let columns = value_columns("Value", Some(unit));
        Some(Chart::new(Area::Net, [name, self.title, self.about], columns, body))
    }
}

/// What results share with their counterparts: not the compared protocol and path.
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

fn protocol(params: &NetParams) -> (usize, String) {
    // UDP's rate is the highest without loss, and has no direction.
    let (mode, direction) = match params.mode {
        NetMode::NoDrop | NetMode::Stream => (NetMode::Stream, None),
        mode => (mode, params.direction),
    };
    let same = NetParams {
        protocol: Protocol::Tcp,
        mode,
        direction: direction.or(params.direction.filter(|way| *way != Direction::Up)),
        zero_copy: params.zero_copy.filter(|on| *on),
        segmentation: params.segmentation.filter(|way| *way == Segmentation::Gso),
        loss_goal_per_million: None,
        ..params.clone()
    };
    (usize::from(params.protocol == Protocol::Udp), format!("{same:?}"))
}

fn path(params: &NetParams) -> (usize, String) {
    let same = NetParams { path: String::new(), ..params.clone() };
    (usize::from(params.path != LOOPBACK), format!("{same:?}"))
}

fn loaded(all: &[Measured<'_>]) -> Chart {
    let lines = all.iter().zip(list_names(all)).map(|(measured, label)| {
        let idle = measured.row.conditions.net.as_ref().and_then(|net| net.idle_latency_seconds);
        let idle = idle.filter(|seconds| is_drawable(*seconds));
        let before = idle.map(|seconds| {
            let text = format!(": {} before the load started", quantity(seconds, Unit::Second));
            dot(1, measured.other_mark(seconds, 0, &text))
        });
        let ratio = idle.map(|seconds| measured.value() / seconds).filter(|ratio| ratio.is_finite());
        let note = ratio.map_or_else(String::new, |ratio| format!("{ratio:.1}x"));
        DotLine { label, note, marks: before.into_iter().chain([measured.dot(0)]).collect(), samples: Vec::new() }
    });
    let kinds = kinds(&["under load", "idle"]);
    let body = Body::Dots(Dots { axis: ROUND_TRIP, kinds, lines: lines.collect(), spanned: true });
    Chart::new(Area::Net, LOADED, value_columns("Value", Some(Unit::Second)), body)
}
