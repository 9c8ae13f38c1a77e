//! The small tables of networks: path, costs of streams, datagrams, round trips, connections, latency under load, transfers.

use model::document::{NetConditions, Peer, Row, Status, TcpConditions};
use model::experiment::{LOOPBACK, NetParams};
use model::io::NetMode;
use model::sample::{MetricName, Percentiles};
use model::unit::Unit;

use super::drawing::{CommonUnit, Drawing, Named, measured_metric, percentiles, values, words};
use crate::grid::groups::grouped;
use crate::layout::{Block, paragraph};
use crate::style::{Style, Tone};
use crate::terminal::header::machine_words;
use crate::terminal::notes::Notes;
use crate::terminal::row::headline;
use crate::terminal::sections::Section;
use areas::label::{block_words, same};
use areas::net::label::{how_words, params, protocol};
use model::number::{Notation, counted, digits, percent, quantity};

/// Up to this many kinds of round trips are in the area's own table.
const FEW: usize = 2;
/// Seconds per byte times this are CPU seconds per GB.
const BYTES_PER_GB: f64 = 1e9;
/// Round trips per minute are this over the seconds of one (draft-ietf-ippm-responsiveness).
const SECONDS_PER_MINUTE: f64 = 60.0;
/// Smaller shares are in parts per million.
const LEAST_PERCENT: f64 = 1e-4;
const MILLION: f64 = 1e6;
/// From here on a count is in thousands.
const MANY: f64 = 1e4;

pub(crate) fn is_apart(row: &Row, rows: &[&Row]) -> bool {
    params(row).is_some_and(|own| match own.mode {
        NetMode::Stream | NetMode::NoDrop => false,
        NetMode::Pingpong => kinds_of_round_trips(rows) > FEW,
        NetMode::Connect | NetMode::Transfer | NetMode::Blast | NetMode::Load => true,
    })
}

/// Round trips that differ in more than their connections.
fn kinds_of_round_trips(rows: &[&Row]) -> usize {
    let kind = |own: &&NetParams| (own.mode == NetMode::Pingpong).then(|| NetParams { threads: 1, ..(*own).clone() });
    grouped(rows.iter().filter_map(|row| params(row)), kind).len()
}

pub(crate) fn paragraphs(
    section: &Section<'_>,
    peer: Option<&Peer>,
    notes: &Notes<'_>,
    style: &Style,
) -> Vec<Vec<String>> {
    let all: Vec<&Row> = section.rows().chain(section.apart.iter().copied()).collect();
    let of = |modes: &[NetMode]| -> Vec<&Row> {
        all.iter().copied().filter(|row| params(row).is_some_and(|own| modes.contains(&own.mode))).collect()
    };
    let apart = |mode: NetMode| -> Vec<&Row> {
        let wanted = |row: &&Row| params(row).is_some_and(|own| own.mode == mode);
        section.apart.iter().copied().filter(wanted).collect()
    };
    let draw = Drawing { notes, style };
    let path = of(NetMode::ALL).first().map_or_else(Vec::new, |first| draw.path(first, &all, peer));
    vec![
        path,
        draw.both_ways(&of(&[NetMode::Stream, NetMode::NoDrop, NetMode::Blast])),
        draw.costs(&of(&[NetMode::Stream])),
        draw.datagrams(&of(&[NetMode::NoDrop, NetMode::Blast])),
        draw.round_trips(&apart(NetMode::Pingpong)),
        draw.connections(&apart(NetMode::Connect)),
        draw.under_load(&apart(NetMode::Load)),
        draw.transfers(&apart(NetMode::Transfer)),
    ]
}

/// `TCP 128 KiB down`, `UDP 1472 B up, GSO`.
fn benchmark(own: &NetParams) -> String {
    let direction = own.direction.map_or_else(String::new, |direction| format!(" {direction}"));
    let first = format!("{} {}{direction}", protocol(own), block_words(own.block));
    std::iter::once(first.as_str()).chain(how_words(own)).collect::<Vec<_>>().join(", ")
}

const LOOPBACK_WORDS: &str = "Loopback does not use a network: memory copies and the scheduler determine these values.";

/// The peer, with its part of the path.
fn peer_words(peer: &Peer) -> String {
    let parts = [
        Some(format!("{} ({})", peer.name, peer.address)),
        Some(machine_words(&peer.machine)),
        Some(format!("Assay {}", peer.version)).filter(|_| !peer.version.is_empty()),
        peer.interface.as_ref().map(|name| format!("interface {name}")),
        peer.mtu.map(|mtu| format!("MTU {mtu}")),
        Some(format!("offloads {}", peer.offloads.join(" "))).filter(|_| !peer.offloads.is_empty()),
        peer.congestion_control.as_ref().map(|name| format!("congestion control {name}")),
    ];
    format!("{}.", parts.into_iter().flatten().collect::<Vec<_>>().join(", "))
}

/// The rows of a table by name, with a column for their connections, or in the title what all have.
fn named(rows: &[&Row], title: &str, heading: &'static str, label: impl Fn(&NetParams) -> String) -> Named {
    let of: Vec<&NetParams> = rows.iter().filter_map(|row| params(row)).collect();
    let mut named = Named::new(title, of.iter().map(|own| label(own)).collect());
    let one = heading.trim_end_matches('s');
    named.place(of.iter().map(|own| own.threads).collect(), heading, |count| counted(u64::from(count), one));
    named
}

fn conditions(row: &Row) -> Option<&NetConditions> {
    row.conditions.net.as_ref().filter(|_| row.status == Status::Ok)
}

fn tcp(row: &Row) -> Option<&TcpConditions> {
    conditions(row)?.tcp.as_ref()
}

fn median(row: &Row, name: MetricName) -> Option<f64> {
    measured_metric(row, name).map(|metric| metric.summary.median)
}

/// CPU seconds of both ends per GB.
fn cost(row: &Row) -> Option<f64> {
    median(row, MetricName::CpuCost).map(|cost| cost * BYTES_PER_GB)
}

/// The loss that a row may have, in a column.
fn goal_column(own: &NetParams) -> String {
    match (own.loss_goal_per_million, own.mode) {
        (Some(0), _) => "none".to_owned(),
        (Some(goal), _) => small_share(f64::from(goal) / MILLION),
        (None, mode) => mode.to_string(),
    }
}

/// A share of the seconds in which there was something to send.
fn of_busy(row: &Row, seconds: fn(&TcpConditions) -> Option<f64>) -> Option<f64> {
    let tcp = tcp(row)?;
    let busy = tcp.busy_seconds.filter(|busy| *busy > 0.0)?;
    seconds(tcp).map(|seconds| (seconds / busy).min(1.0))
}

impl Drawing<'_> {
    /// What the bytes went through, as far as all rows have it in common.
    fn path(&self, first: &Row, rows: &[&Row], peer: Option<&Peer>) -> Vec<String> {
        let seen = || rows.iter().filter_map(|row| conditions(row));
        if seen().next().is_none() {
            return Vec::new();
        }
        let inside = params(first).is_some_and(|own| own.path == LOOPBACK);
        let interface = same(seen().filter_map(|seen| seen.interface.clone()));
        let family = same(seen().filter_map(|seen| seen.address_family.clone()));
        let trips = || seen().filter_map(|seen| seen.round_trip_seconds);
        let trip = trips().reduce(f64::min).map(|least| format!("round trip {}", quantity(least, Unit::Second)));
        let offloads = same(seen().map(|seen| seen.offloads.clone())).filter(|names| !names.is_empty());
        let control = same(seen().filter_map(|seen| seen.congestion_control.clone()));
        let parts = [
            interface.map(|name| format!("interface {name}")),
            same(seen().filter_map(|seen| seen.mtu)).map(|mtu| format!("MTU {mtu}")),
            family,
            trip.filter(|_| !inside),
            offloads.map(|names| format!("offloads {}", names.join(" "))),
            control.map(|name| format!("congestion control {name}")),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        let known = (!parts.is_empty()).then(|| format!("{}.", parts.join(", ")));
        let path =
            [known, inside.then(|| LOOPBACK_WORDS.to_owned())].into_iter().flatten().collect::<Vec<_>>().join(" ");
        let shown = [("  Path: ", path), ("  Peer: ", peer.filter(|_| !inside).map_or_else(String::new, peer_words))];
        let shown = shown.iter().filter(|(_, text)| !text.is_empty());
        shown.flat_map(|(first, text)| paragraph(text, first, Tone::Dim, self.style)).collect()
    }

    /// Streams in both directions at once, each direction by itself.
    fn both_ways(&self, rows: &[&Row]) -> Vec<String> {
        let both = |row: &Row| Some([median(row, MetricName::ThroughputUp)?, median(row, MetricName::ThroughputDown)?]);
        let rows: Vec<&Row> = rows.iter().copied().filter(|row| both(row).is_some()).collect();
        let rates = CommonUnit::of(rows.iter().filter_map(|row| both(row)).flatten(), Notation::Bits);
        let named = named(&rows, "Network, both directions at once: rate of each", "streams", benchmark);
        self.titled(&named, |_| {
            vec![
                values("up", &rows, |row| both(row).map(|[up, _]| rates.words(up))),
                values("down", &rows, |row| both(row).map(|[_, down]| rates.words(down))),
                values("part up", &rows, |row| both(row).map(|[up, down]| percent(up / (up + down)))),
            ]
        })
    }

    fn costs(&self, rows: &[&Row]) -> Vec<String> {
        let has_cost = |row: &Row| cost(row).is_some() || tcp(row).is_some();
        let rows: Vec<&Row> = rows.iter().copied().filter(|row| has_cost(row)).collect();
        let title = "Network, cost of streams (CPU seconds of both hosts per GB, and the sender's share) and \
             their limits (share of time with a full receive window or send buffer)";
        let named = named(&rows, title, "streams", benchmark);
        let sending_share = |row: &Row| {
            let seen = conditions(row)?;
            let (sending, receiving) = (seen.sending_cpu_seconds?, seen.receiving_cpu_seconds?);
            Some(sending / (sending + receiving)).filter(|share| share.is_finite())
        };
        let resent = |row: &Row| {
            let count = median(row, MetricName::Retransmits);
            count.or_else(|| tcp(row)?.retransmits.map(|count| count as f64)).map(count_words)
        };
        self.titled(&named, |_| {
            vec![
                values("s/GB", &rows, |row| cost(row).map(digits)),
                values("sender", &rows, |row| sending_share(row).map(percent)),
                values("resent", &rows, resent),
                values("window", &rows, |row| of_busy(row, |tcp| tcp.receiver_limited_seconds).map(percent)),
                values("buffer", &rows, |row| of_busy(row, |tcp| tcp.buffer_limited_seconds).map(percent)),
                values("not copied", &rows, |row| conditions(row)?.zero_copied_share.map(percent)),
            ]
        })
    }

    /// What became of datagrams: at the highest rate within a goal, and as many as the sender can make.
    fn datagrams(&self, rows: &[&Row]) -> Vec<String> {
        if !rows.iter().any(|row| row.status != Status::Ok || median(row, MetricName::Loss).is_some()) {
            return Vec::new();
        }
        let blasts = rows.iter().any(|row| params(row).is_some_and(|own| own.mode == NetMode::Blast));
        let about = if blasts { " (blast: the sender's highest rate, a diagnostic and not a result)" } else { "" };
        let named = named(rows, &format!("Network, datagrams{about}"), "streams", benchmark);
        let time = |row: &Row| median(row, MetricName::Jitter).map(|seconds| quantity(seconds, Unit::Second));
        self.stepped(&named, 4, |step| {
            let jitter = (step < 3).then(|| values("jitter", rows, time));
            let by = (step < 2).then(|| words("by", rows, |row| Some(conditions(row)?.batching.join(" "))));
            let blocks = [
                Some(words("goal", rows, |row| params(row).map(goal_column))),
                Some(self.measured("came", all(rows), step == 0)),
                Some(shares("lost", rows, MetricName::Loss)),
                (step < 3).then(|| shares("twice", rows, MetricName::Duplicates)),
                Some(shares("disorder", rows, MetricName::Reordered)),
                jitter,
                Some(values("s/GB", rows, |row| cost(row).map(digits))),
                by,
            ];
            blocks.into_iter().flatten().collect()
        })
    }

    fn round_trips(&self, rows: &[&Row]) -> Vec<String> {
        let title = "Network, round trips of one message";
        self.titled(&named(rows, title, "connections", benchmark), |spread| {
            let mut blocks = vec![self.measured("median", all(rows), spread)];
            blocks.extend(percentile_columns(rows, &[P99, P99_9, MAX]));
            blocks.extend([of_limit(rows), shares("lost", rows, MetricName::Loss)]);
            blocks
        })
    }

    fn connections(&self, rows: &[&Row]) -> Vec<String> {
        let title = "Network, connections: open, one round trip of one byte, close";
        let rate = |rate| quantity(rate, Unit::PerSecond);
        self.titled(&named(rows, title, "threads", protocol), |spread| {
            let mut blocks = vec![self.measured_as("connections", rows, spread, (MetricName::Throughput, rate))];
            blocks.extend(percentile_columns(rows, &[P50, P99, P99_9, MAX]));
            blocks
        })
    }

    /// Round trips before the load and under it, from the moment each was due.
    fn under_load(&self, rows: &[&Row]) -> Vec<String> {
        let title = "Network, round trips while TCP streams run";
        let loaded = |row: &Row| median(row, MetricName::Latency);
        let idle = |row: &Row| conditions(row)?.idle_latency_seconds;
        let added = |row: &Row| Some((loaded(row)? - idle(row)?).max(0.0));
        let p99 = |row: &Row| percentiles(row).map(|found| found.p99);
        let times = rows.iter().flat_map(|row| [idle(row), loaded(row), p99(row)]).flatten();
        let times = CommonUnit::of(times, Unit::Second);
        let time = |seconds: f64| times.words(seconds);
        let load = |row: &Row| {
            let rate = conditions(row)?.load_bytes_per_second.or_else(|| median(row, MetricName::Throughput));
            rate.map(|rate| quantity(rate, Notation::Bits))
        };
        let per_minute = |row: &Row| loaded(row).map(|seconds| count_words(SECONDS_PER_MINUTE / seconds));
        self.stepped(&named(rows, title, "streams", benchmark), 4, |step| {
            let mut blocks = vec![
                values("idle", rows, |row| idle(row).map(time)),
                self.measured_as("loaded", rows, step == 0, (MetricName::Latency, time)),
                values("added", rows, |row| added(row).map(time)),
            ];
            blocks.extend((step < 3).then(|| values("p99", rows, |row| p99(row).map(time))));
            blocks.extend([values("a minute", rows, per_minute), values("load", rows, load)]);
            if step < 2 {
                blocks.push(values("late", rows, |row| conditions(row)?.late_share.map(small_share)));
                blocks.push(shares("lost", rows, MetricName::Loss));
            }
            blocks
        })
    }

    fn transfers(&self, rows: &[&Row]) -> Vec<String> {
        let title = "Network, transfers of a fixed amount in each direction: bytes over time of both";
        let rate = |rate| quantity(rate, Notation::Bits);
        let time = |row: &Row| median(row, MetricName::Latency).map(|seconds| quantity(seconds, Unit::Second));
        self.titled(&named(rows, title, "streams", benchmark), |spread| {
            vec![
                self.measured_as("rate", rows, spread, (MetricName::Throughput, rate)),
                values("time of both", rows, time),
                of_limit(rows),
                shares("lost", rows, MetricName::Loss),
            ]
        })
    }
}

fn all<'r>(rows: &[&'r Row]) -> impl Iterator<Item = Option<&'r Row>> {
    rows.iter().copied().map(Some)
}

type NamedPercentile = (&'static str, fn(&Percentiles) -> f64);

const P50: NamedPercentile = ("p50", |found| found.p50);
const P99: NamedPercentile = ("p99", |found| found.p99);
const P99_9: NamedPercentile = ("p99.9", |found| found.p99_9);
const MAX: NamedPercentile = ("max", |found| found.max);

fn percentile_columns(rows: &[&Row], columns: &[NamedPercentile]) -> Vec<Block> {
    let found = || rows.iter().filter_map(|row| percentiles(row));
    let times = CommonUnit::of(found().flat_map(|found| columns.iter().map(move |(_, of)| of(&found))), Unit::Second);
    let column = |(heading, of): &NamedPercentile| {
        values(heading, rows, |row| percentiles(row).map(|found| times.words(of(&found))))
    };
    columns.iter().map(column).collect()
}

fn of_limit(rows: &[&Row]) -> Block {
    values("of limit", rows, |row| headline(row)?.efficiency.map(|share| percent(share.value)))
}

/// A column of shares that are mostly nothing, and then small.
fn shares(heading: &str, rows: &[&Row], name: MetricName) -> Block {
    values(heading, rows, |row| median(row, name).map(small_share))
}

/// A count as a person would say it: `37`, `784.9 k`.
fn count_words(count: f64) -> String {
    match count {
        few if few < MANY && few.fract() == 0.0 => format!("{few:.0}"),
        few if few < MANY => digits(few),
        many => format!("{} k", digits(many / 1e3)),
    }
}

/// `none`, `12.0 ppm`, `0.12 %`.
fn small_share(share: f64) -> String {
    match share {
        0.0 => "none".to_owned(),
        few if few.abs() < LEAST_PERCENT => format!("{} ppm", digits(few * MILLION)),
        many => percent(many),
    }
}
