//! What network results show together: what limits streams, what a load adds to a round trip, and that loopback does not use
//! the network.

use model::document::{Finding, NetConditions, Row};
use model::io::{Direction, NetMode, Segmentation, Wait};
use model::number::brief::{bits, percent, time, times};
use model::number::size_exact as size;
use model::sample::MetricName;
use verdict::findings::estimate::{Estimate, highest, rate, sane};
use verdict::findings::rules::{FindingRules, Rule};

use super::label::{LABELS, is_loopback, params as net, protocol};

const LOOPBACK: Rule = Rule::new(
    "loopback_is_no_network",
    "values",
    "Loopback does not use the network: the kernel copies every byte twice. Fastest: {what}, {rate}{copies}.",
    "the fastest stream over loopback",
    "that result",
);
const LIMITED_BY_RECEIVER: Rule = Rule::new(
    "limited_by_receiver_cpu",
    "bound",
    "{what}, {rate}: the receiver's CPU is the limit ({share} of a core).",
    "one connection, largest block, by the first of these four that holds: the receiving thread uses 90 % of a core or \
     more",
    "that result",
);
const LIMITED_BY_SENDER: Rule = Rule::new(
    "limited_by_sender_cpu",
    "bound",
    "{what}, {rate}: the sender's CPU is the limit ({share} of a core).",
    "the sending thread uses 90 % of a core or more",
    "that result",
);
const LIMITED_BY_WINDOW: Rule = Rule::new(
    "limited_by_receiver_window",
    "bound",
    "{what}, {rate}: the receive window is the limit for {share} of the time. Raise net.ipv4.tcp_rmem.",
    "it was full for at least half of the time",
    "that result",
);
const LIMITED_BY_BUFFER: Rule = Rule::new(
    "limited_by_send_buffer",
    "bound",
    "{what}, {rate}: the send buffer is the limit for {share} of the time. Raise net.ipv4.tcp_wmem.",
    "it was full for at least half of the time",
    "that result",
);
const LONG_QUEUES: Rule = Rule::new(
    "load_delays_long_queues",
    "bound",
    "{what}: {latency}, {added} more than without load, from long queues on the path (bufferbloat).",
    "between two hosts, by 30 ms or more",
    "that result",
);

pub(super) const FINDINGS: FindingRules = FindingRules {
    describe,
    parallel: "connection",
    scaling_series: |series, _| {
        // What a blast sends is not received, and of round trips each connection waits for its own.
        let scales = |rows: &&Vec<&Row>| {
            let mode = rows.first().and_then(|row| net(row)).map(|params| params.mode);
            matches!(mode, Some(NetMode::Stream | NetMode::NoDrop | NetMode::Connect))
        };
        series.iter().filter(scales).cloned().collect()
    },
    scaling_limit: |first, last, _| copies_scale(first, last),
    rules: &[LOOPBACK, LIMITED_BY_RECEIVER, LIMITED_BY_SENDER, LIMITED_BY_WINDOW, LIMITED_BY_BUFFER, LONG_QUEUES],
    results: |quiet, _, _| {
        let under_load = of_mode(quiet, NetMode::Load).filter(|row| !is_loopback(row)).filter_map(load);
        loopback(quiet).into_iter().chain(limits(quiet)).chain(under_load).collect()
    },
    ..FindingRules::new(LABELS.title)
};

/// The least share of a core that a busy thread uses.
const BUSY: f64 = 0.9;
/// The least share of the time for which TCP waits for what limits it.
const WAITING: f64 = 0.5;
/// Seconds from which on added latency disturbs a conversation ("bufferbloat").
const LONG_QUEUE_SECONDS: f64 = 30e-3;

/// `TCP streams of 128 KiB down`.
fn describe(row: &Row) -> String {
    let Some(params) = net(row) else { return row.id.clone() };
    let what = match params.mode {
        NetMode::Stream => "streams",
        NetMode::NoDrop | NetMode::Blast => "datagrams",
        NetMode::Pingpong => "round trips",
        NetMode::Connect => "connections",
        NetMode::Transfer => "transfers",
        NetMode::Load => "round trips under load",
    };
    let direction = match params.direction {
        None | Some(Direction::Up) => "",
        Some(Direction::Down) => " down",
        Some(Direction::Both) => " both ways",
    };
    let how = [
        (params.segmentation == Some(Segmentation::Gso), " with segmentation offload"),
        (params.zero_copy == Some(true), " with MSG_ZEROCOPY"),
        (params.wait == Some(Wait::Spinning), ", spinning"),
    ];
    let how: String = how.into_iter().filter(|(holds, _)| *holds).map(|(_, words)| words).collect();
    format!("{} {what} of {}{direction}{how}", protocol(params), size(params.block))
}

fn conditions(row: &Row) -> Option<&NetConditions> {
    row.conditions.net.as_ref()
}

fn of_mode<'a>(rows: &'a [&'a Row], mode: NetMode) -> impl Iterator<Item = &'a Row> {
    rows.iter().copied().filter(move |row| net(row).is_some_and(|params| params.mode == mode))
}

fn fastest<'a>(rows: impl Iterator<Item = &'a Row>) -> Option<(Estimate, &'a Row)> {
    highest(rows.filter_map(|row| Some((rate(row)?, row))))
}

fn copies_scale(first: &Row, last: &Row) -> Option<String> {
    let ceiling = |row: &Row| conditions(row)?.two_copy_bytes_per_second.and_then(sane);
    let growth = ceiling(last)? / ceiling(first)?;
    growth.is_finite().then(|| format!("; memory copies scale {}", times(growth)))
}

fn loopback(rows: &[&Row]) -> Option<Finding> {
    let (rate, row) = fastest(of_mode(rows, NetMode::Stream).filter(|row| is_loopback(row)))?;
    let ceiling = conditions(row)?.two_copy_bytes_per_second.and_then(sane);
    let copies = ceiling.map_or_else(String::new, |ceiling| {
        format!(", {} of the {} of two memory copies", percent(rate.median / ceiling), bits(ceiling))
    });
    let fields = [("what", FINDINGS.describe_with_threads(row)), ("rate", bits(rate.median)), ("copies", copies)];
    LOOPBACK.finding(&fields, &[row])
}

/// What limits streams and datagrams of one connection, up and down, with the largest block.
fn limits(rows: &[&Row]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for mode in [NetMode::Stream, NetMode::NoDrop] {
        for direction in [Direction::Up, Direction::Down] {
            let one =
                |row: &&Row| net(row).is_some_and(|params| params.threads == 1 && params.direction == Some(direction));
            let largest = of_mode(rows, mode).filter(one).max_by_key(|row| net(row).map(|params| params.block));
            findings.extend(largest.and_then(limit));
        }
    }
    findings
}

/// What limits a result, by the first of these that holds: a busy CPU, what TCP waited for.
fn limit(row: &Row) -> Option<Finding> {
    let rate = rate(row)?;
    let seen = conditions(row)?;
    let busy = |used: Option<f64>| busy(row, used?).filter(|share| *share >= BUSY);
    let waited = |seconds: Option<f64>| {
        let tcp = seen.tcp.as_ref()?;
        let share = seconds? / tcp.busy_seconds?;
        (share.is_finite() && share >= WAITING).then_some(share)
    };
    let window = seen.tcp.as_ref().and_then(|tcp| tcp.receiver_limited_seconds);
    let buffer = seen.tcp.as_ref().and_then(|tcp| tcp.buffer_limited_seconds);
    let limits = [
        (LIMITED_BY_RECEIVER, busy(seen.receiving_cpu_seconds)),
        (LIMITED_BY_SENDER, busy(seen.sending_cpu_seconds)),
        (LIMITED_BY_WINDOW, waited(window)),
        (LIMITED_BY_BUFFER, waited(buffer)),
    ];
    let (rule, share) = limits.into_iter().find_map(|(rule, share)| Some((rule, share?)))?;
    let fields =
        [("what", FINDINGS.describe_with_threads(row)), ("rate", bits(rate.median)), ("share", percent(share))];
    rule.finding(&fields, &[row])
}

fn busy(row: &Row, used: f64) -> Option<f64> {
    let metric = row.metric(MetricName::Throughput)?;
    let seconds: f64 = metric.samples.iter().map(|sample| sample.seconds).sum();
    let threads = f64::from(row.params.threads());
    Some(used / (seconds * threads)).filter(|share| share.is_finite())
}

fn load(row: &Row) -> Option<Finding> {
    let idle = conditions(row)?.idle_latency_seconds.and_then(sane)?;
    let loaded = Estimate::of_result(row, MetricName::Latency)?;
    (loaded.span?[0] > idle).then_some(())?;
    let added = loaded.median - idle;
    let fields =
        [("what", FINDINGS.describe_with_threads(row)), ("latency", time(loaded.median)), ("added", time(added))];
    LONG_QUEUES.finding(&fields, &[row]).filter(|_| added >= LONG_QUEUE_SECONDS)
}

#[cfg(test)]
mod tests;
