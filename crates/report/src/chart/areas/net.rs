//! Networks: what streams and blocks bring, TCP against UDP, the loopback against two nodes, latency and its tail.

use model::document::{Document, Row};
use model::experiment::{Area, LOOPBACK, NetParams};
use model::io::{NetMode, Protocol};
use model::sample::MetricName;
use model::unit::Unit;

use super::shared::{
    Over, by_thread_lines, figure_columns, figures, is_faster, is_finer, kind, mark, one_block, only, over_blocks, own,
    percentiles, samples, sides, things, widest, with_other_blocks,
};
use crate::chart::dots::{DotLine, Dots};
use crate::chart::drawing::{Chart, Head};
use crate::chart::figure::Figure;
use crate::chart::plot::Axis;
use crate::chart::scale::{Reading, is_drawable};
use crate::chart::svg::Shape;
use areas::label::{Axis as Places, Common, Label};
use areas::net::label as net;
use model::number::{Notation, quantity};

/// What limits a network: its link, or on the loopback two copies of every byte.
const LIMIT: &str = "limit of the path";

pub(super) fn charts(document: &Document) -> Vec<Chart> {
    let rates: Vec<Figure<'_>> = figures(document, Area::Net, MetricName::Throughput).collect();
    let rates: Vec<Figure<'_>> = rates.into_iter().filter(|figure| figure.metric.unit == Unit::BytePerSecond).collect();
    let rates = only(&rates, |row| !is_mode(row, NetMode::Load));
    let times: Vec<Figure<'_>> = figures(document, Area::Net, MetricName::Latency).collect();
    let trips = only(&times, |row| is_mode(row, NetMode::Pingpong));
    let headline = widest(rates.iter().chain(&trips).copied());
    [
        over_threads(false).chart(one_block(by_thread_lines(&rates), is_faster)),
        over_threads(true).chart(one_block(by_thread_lines(&trips), is_finer)),
        over_blocks(&blocks(false), with_other_blocks(&rates)),
        over_blocks(&blocks(true), with_other_blocks(&trips)),
        protocols("net-tcp-and-udp-throughput", &rates),
        protocols("net-tcp-and-udp-latency", &trips),
        paths("net-paths-throughput", &rates),
        paths("net-paths-latency", &trips),
        loaded(&times),
        percentiles(Area::Net, "net-latency-percentiles", "How slow are the slowest round trips?", &times),
        sides(sides_head("net-sides-throughput", "Network throughput beside its limit and other tools"), &rates),
        sides(sides_head("net-sides-latency", "Round trips beside their limit and other tools"), &trips),
        samples(Area::Net, "net-samples", &headline),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn is_mode(row: &Row, mode: NetMode) -> bool {
    net::params(row).is_some_and(|params| params.mode == mode)
}

fn over_threads(is_latency: bool) -> Over {
    let (name, title, about, y) = if is_latency {
        (
            "net-latency-over-connections",
            "Does a round trip take longer with more connections?",
            "Median time of a round trip over connections, a line for each protocol and way of waiting.",
            Axis::new("Round trip", Reading::Auto(Unit::Second.into())),
        )
    } else {
        (
            "net-throughput-over-connections",
            "Does the network grow with connections?",
            "Bits per second over connections, a line for each protocol and direction at its best block, with the limit as \
             a dash at each point where it is known.",
            Axis::new("Throughput", Reading::Auto(Notation::Bits)),
        )
    };
    Over {
        area: Area::Net,
        name,
        title: title.into(),
        about: about.into(),
        x: Axis::new("Connections", Reading::Counts),
        y,
        places: Places::Connections,
        limit: LIMIT,
    }
}

fn blocks(is_latency: bool) -> Over {
    let (name, title, what, y) = if is_latency {
        (
            "net-latency-over-messages",
            "How long does a message take?",
            "Median time of a round trip",
            Axis::new("Round trip", Reading::Log(Unit::Second.into())),
        )
    } else {
        (
            "net-throughput-over-messages",
            "Which message size does the network need?",
            "Bits per second",
            Axis::new("Throughput", Reading::Log(Notation::Bits)),
        )
    };
    Over {
        name,
        title: title.into(),
        about: format!(
            "{what} over the size of messages, both on logarithmic axes, a panel for each workload and a line for each \
             number of connections."
        ),
        x: Axis::new("Message", Reading::Sizes),
        y,
        ..over_threads(is_latency)
    }
}

fn sides_head(name: &str, title: &str) -> Head {
    let mut head = Head::new(Some(Area::Net), name, title);
    head.peak = LIMIT.into();
    head.about = "Each row beside the limit of its path, where that is known, and what trusted tools measured.".into();
    head
}

/// Which of two a row is on, and what it shares with its counterpart.
type Side = (String, usize);

/// Rows that differ in one thing alone, side by side.
fn compared(head: Head, words: [&str; 2], all: &[Figure<'_>], side: impl Fn(&NetParams) -> Side) -> Option<Chart> {
    let mut groups: Vec<(String, Vec<(usize, Figure<'_>)>)> = Vec::new();
    for figure in all {
        let Some((key, which)) = net::params(figure.row).map(&side) else { continue };
        match groups.iter_mut().find(|(other, _)| *other == key) {
            Some((_, group)) if group.iter().any(|(other, _)| *other == which) => {}
            Some((_, group)) => group.push((which, *figure)),
            None => groups.push((key, vec![(which, *figure)])),
        }
    }
    groups.retain(|(_, group)| group.len() == 2);
    groups.truncate(14);
    let first = groups.first()?.1[0].1;
    let (unit, notation) = (first.metric.unit, first.notation());
    let rows: Vec<&Row> = groups.iter().map(|(_, group)| group[0].1.row).collect();
    let lines = groups.iter().zip(undivided(&rows)).map(|((_, group), label)| {
        let marks = group.iter().map(|(which, figure)| own(figure, *which)).collect();
        DotLine { label, note: String::new(), marks, samples: Vec::new() }
    });
    let lines = lines.collect();
    let mut head = head;
    head.columns = figure_columns(unit);
    let kinds = vec![kind(words[0], Shape::Circle, Some(0)), kind(words[1], Shape::Square, Some(1))];
    let title = if unit == Unit::Second { "Round trip" } else { "Throughput" };
    Dots { head, axis: Axis::new(title, Reading::Auto(notation)), kinds, lines, spanned: true }.chart()
}

/// What rows have in common with their counterparts: what is done and, where it is not the same in all of them, how; the
/// protocol and the path are what is compared.
fn undivided(rows: &[&Row]) -> Vec<String> {
    let axis = Places::Connections;
    let tokens = |row: &&Row| -> Vec<String> {
        let label = Label::of(row, &Common::default(), axis);
        let all = label.how.split(", ").filter(|token| *token != LOOPBACK && !token.starts_with("to "));
        all.map(str::to_owned).chain([axis.words(axis.position(row))]).collect()
    };
    let all: Vec<Vec<String>> = rows.iter().map(tokens).collect();
    let shared = |token: &String| all.len() > 1 && all.iter().all(|other| other.contains(token));
    let told = |own: &Vec<String>| {
        let rest = own.iter().skip(1).filter(|token| !shared(token));
        own.iter().take(1).chain(rest).cloned().collect::<Vec<_>>().join(", ")
    };
    all.iter().map(told).collect()
}

fn protocols(name: &'static str, all: &[Figure<'_>]) -> Option<Chart> {
    let mut head = Head::new(Some(Area::Net), name, "TCP or UDP?");
    head.about = "The same over TCP and over UDP: same block, connections, path and way of waiting.".into();
    compared(head, ["TCP", "UDP"], all, |params| {
        // UDP's rate is the highest that loses nothing, and has no direction.
        let (mode, direction) = match params.mode {
            NetMode::NoDrop | NetMode::Stream => (NetMode::Stream, None),
            mode => (mode, params.direction),
        };
        let same = NetParams {
            protocol: Protocol::Tcp,
            mode,
            direction: direction.or(params.direction.filter(|way| *way != model::io::Direction::Up)),
            zero_copy: params.zero_copy.filter(|on| *on),
            segmentation: params.segmentation.filter(|way| *way == model::io::Segmentation::Gso),
            loss_goal_per_million: None,
            ..params.clone()
        };
        (format!("{same:?}"), usize::from(params.protocol == Protocol::Udp))
    })
}

fn paths(name: &'static str, all: &[Figure<'_>]) -> Option<Chart> {
    let mut head = Head::new(Some(Area::Net), name, "What does the wire cost?");
    head.about = "The same on the loopback interface and between two nodes.".into();
    compared(head, ["loopback", "two nodes"], all, |params| {
        let same = NetParams { path: String::new(), ..params.clone() };
        (format!("{same:?}"), usize::from(params.path != LOOPBACK))
    })
}

/// Round trips while streams run, beside those before they began.
fn loaded(times: &[Figure<'_>]) -> Option<Chart> {
    let idle = |figure: &Figure<'_>| {
        figure.row.conditions.net.as_ref()?.idle_latency_seconds.filter(|seconds| is_drawable(*seconds))
    };
    let under: Vec<Figure<'_>> = times.iter().filter(|figure| is_mode(figure.row, NetMode::Load)).copied().collect();
    let rows: Vec<&Row> = under.iter().map(|figure| figure.row).collect();
    let lines = under.iter().zip(things(&rows)).map(|(figure, label)| {
        let before = idle(figure).map(|seconds| {
            let text =
                format!("{}: {} before the load began", Label::sentence(figure.row), quantity(seconds, Unit::Second));
            mark(figure, 1, seconds, text)
        });
        let ratio = idle(figure).map(|seconds| figure.value() / seconds).filter(|ratio| ratio.is_finite());
        let note = ratio.map_or_else(String::new, |ratio| format!("{ratio:.1}x"));
        DotLine { label, note, marks: before.into_iter().chain([own(figure, 0)]).collect(), samples: Vec::new() }
    });
    let lines = lines.collect();
    let mut head = Head::new(Some(Area::Net), "net-loaded-latency", "What does a load cost the latency?");
    head.about =
        "Median round trip before streams began and while they ran; how many times longer it took stands at the end \
                  of each line."
            .into();
    head.columns = figure_columns(Unit::Second);
    let kinds = vec![kind("under load", Shape::Circle, Some(0)), kind("idle", Shape::Square, Some(1))];
    let axis = Axis::new("Round trip", Reading::Auto(Unit::Second.into()));
    Dots { head, axis, kinds, lines, spanned: true }.chart()
}
