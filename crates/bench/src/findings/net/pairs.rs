//! Findings about rows that differ in one thing: the direction, who cuts datagrams, the protocol, how an answer is waited
//! for, whether a connection is there already, and the loss that a rate may have.

use model::document::{Finding, Row};
use model::experiment::NetParams;
use model::io::{Direction, NetMode, Protocol, Segmentation, Wait};
use model::sample::MetricName;

use super::super::words::{percent, time};
use super::super::{basis, ratio, size};
use super::words::{cost_words, goal_words, latency, name, rate_words, share_words, throughput};
use super::{conditions, finding, is_quiet, median, net, of_mode, with};
use crate::scaling::rate;

/// Streams up against the same down, and both at once against one of them: for each protocol with the largest block and
/// the fewest connections.
pub(super) fn directions(rows: &[&Row]) -> Vec<Finding> {
    let mut told: Vec<(Protocol, NetMode)> = Vec::new();
    let mut findings = Vec::new();
    let mut ups: Vec<(&NetParams, &Row)> = rows.iter().filter_map(|row| Some((net(row)?, *row))).collect();
    ups.retain(|(params, _)| {
        params.direction == Some(Direction::Up) && matches!(params.mode, NetMode::Stream | NetMode::NoDrop)
    });
    ups.sort_by_key(|(params, _)| (params.threads, std::cmp::Reverse(params.block)));
    for (params, up) in ups {
        let to = |direction| with(rows, &NetParams { direction: Some(direction), ..params.clone() });
        let found = [
            to(Direction::Down).and_then(|down| down_finding(params, up, down)),
            to(Direction::Both).and_then(|both| both_finding(params, up, both)),
        ];
        let kind = (params.protocol, params.mode);
        if found.iter().any(Option::is_some) && !told.contains(&kind) {
            told.push(kind);
            findings.extend(found.into_iter().flatten());
        }
    }
    findings
}

fn down_finding(params: &NetParams, up: &Row, down: &Row) -> Option<Finding> {
    let (factor, differs) = ratio(up, down, MetricName::Throughput)?;
    let (code, comparison) = match (differs, factor < 1.0) {
        (false, _) => ("directions_alike", "no other rate than up".to_owned()),
        (true, true) => ("directions_differ", format!("{} of the rate up", percent(factor))),
        (true, false) => ("directions_differ", format!("{factor:.2}x the rate up")),
    };
    let text = format!("{} have down {comparison}: {} against {}.", name(params), throughput(down)?, throughput(up)?);
    Some(finding(code, text, &[up, down]))
}

fn both_finding(params: &NetParams, up: &Row, both: &Row) -> Option<Finding> {
    let (factor, _) = ratio(up, both, MetricName::Throughput)?;
    let each = median(both, MetricName::ThroughputUp).zip(median(both, MetricName::ThroughputDown));
    let each =
        each.map_or_else(String::new, |(up, down)| format!(" ({} up, {} down)", rate_words(up), rate_words(down)));
    let text = format!(
        "{} both ways at once come to {}{each}, {factor:.2}x one way alone; 2x would be two directions that share nothing.",
        name(params),
        throughput(both)?
    );
    Some(finding("both_directions", text, &[up, both]))
}

/// What is gained where the kernel or the device cuts large sends into datagrams.
pub(super) fn segmentation(rows: &[&Row]) -> Vec<Finding> {
    let pair = |row: &Row| -> Option<Finding> {
        let params = net(row).filter(|params| params.segmentation == Some(Segmentation::Gso))?;
        let off = with(rows, &NetParams { segmentation: Some(Segmentation::Off), ..params.clone() })?;
        let (factor, differs) = ratio(off, row, MetricName::Throughput)?;
        let code = if differs && factor > 1.0 { "segmentation_gain" } else { "segmentation_no_gain" };
        let costs = median(off, MetricName::CpuCost).zip(median(row, MetricName::CpuCost));
        let costs = costs.map_or_else(String::new, |(off, on)| {
            format!("; the CPUs spend {} instead of {:.2}", cost_words(on), 1e9 * off)
        });
        let text = format!(
            "{} move {}, {factor:.2}x the {} without{costs}.",
            name(params),
            throughput(row)?,
            throughput(off)?
        );
        Some(finding(code, text, &[off, row]))
    };
    of_mode(rows, NetMode::NoDrop).filter_map(pair).collect()
}

/// What is gained where the copy of a send is to be spared, and whether it was.
pub(super) fn zero_copies(rows: &[&Row]) -> Vec<Finding> {
    let pair = |row: &Row| -> Option<Finding> {
        let params = net(row).filter(|params| params.zero_copy == Some(true))?;
        let copied = with(rows, &NetParams { zero_copy: Some(false), ..params.clone() })?;
        let (factor, _) = ratio(copied, row, MetricName::Throughput)?;
        let spared = conditions(row)?.zero_copied_share?;
        let code = if spared > 0.0 { "zero_copy" } else { "zero_copy_copied" };
        let what = if spared > 0.0 {
            format!("the copy of {} of the sends was spared", percent(spared))
        } else {
            "every send was copied all the same".to_owned()
        };
        let text = format!(
            "{} move {}, {factor:.2}x the {} without: {what}.",
            name(params),
            throughput(row)?,
            throughput(copied)?
        );
        Some(finding(code, text, &[copied, row]))
    };
    of_mode(rows, NetMode::Stream).filter_map(pair).collect()
}

/// The fastest datagrams of one connection against the fastest stream of one.
pub(super) fn protocols(rows: &[&Row]) -> Option<Finding> {
    let one = |mode| {
        super::fastest(of_mode(rows, mode).filter(|row| {
            net(row).is_some_and(|params| params.threads == 1 && params.direction == Some(Direction::Up))
        }))
    };
    let (stream, datagrams) = (one(NetMode::Stream)?, one(NetMode::NoDrop)?);
    let factor = rate(datagrams)? / rate(stream)?;
    let costs = median(stream, MetricName::CpuCost).zip(median(datagrams, MetricName::CpuCost));
    let costs = costs.map_or_else(String::new, |(stream, datagrams)| {
        format!(", for {} against {:.2}", cost_words(datagrams), 1e9 * stream)
    });
    let text = format!(
        "On one connection {} come to {}, {} of {} ({}){costs}.",
        name(net(datagrams)?),
        throughput(datagrams)?,
        percent(factor),
        name(net(stream)?),
        throughput(stream)?
    );
    Some(finding("udp_against_tcp", text, &[stream, datagrams]))
}

/// The highest rates within each goal of loss, and what a blast of the same loses. A blast may be disturbed: what it
/// loses is what is told of it.
pub(super) fn losses(rows: &[Row]) -> Vec<Finding> {
    let common =
        |params: &NetParams| NetParams { mode: NetMode::NoDrop, loss_goal_per_million: None, ..params.clone() };
    let mut kinds: Vec<(NetParams, Vec<&Row>)> = Vec::new();
    for row in rows.iter().filter(|row| is_quiet(row)) {
        let Some(params) = net(row).filter(|params| params.mode == NetMode::NoDrop) else { continue };
        match kinds.iter_mut().find(|(other, _)| *other == common(params)) {
            Some((_, rows)) => rows.push(row),
            None => kinds.push((common(params), vec![row])),
        }
    }
    let blast_of = |kind: &NetParams| {
        let alike = |params: &NetParams| params.mode == NetMode::Blast && common(params) == *kind;
        rows.iter().find(|row| row.grade.is_some() && net(row).is_some_and(alike))
    };
    kinds.iter_mut().filter_map(|(kind, rates)| loss_finding(rates, blast_of(kind))).collect()
}

fn loss_finding(rates: &mut [&Row], blast: Option<&Row>) -> Option<Finding> {
    rates.sort_by_key(|row| net(row).and_then(|params| params.loss_goal_per_million));
    let first = net(rates.first()?)?;
    // A single rate is what its row says already.
    (rates.len() > 1 || blast.is_some()).then_some(())?;
    let told = |row: &&Row| {
        let lost =
            median(row, MetricName::Loss).map_or_else(String::new, |loss| format!(", {} lost", share_words(loss)));
        Some(format!("{} within {}{lost}", throughput(row)?, goal_words(net(row)?)))
    };
    let mut parts: Vec<String> = rates.iter().filter_map(told).collect();
    parts.extend(blast.and_then(|row| {
        let loss = median(row, MetricName::Loss)?;
        Some(format!("as fast as the sender can, {} lost, which is no result", share_words(loss)))
    }));
    let evidence: Vec<&Row> = rates.iter().copied().chain(blast).collect();
    let kind = NetParams { mode: NetMode::Blast, ..first.clone() };
    let what = name(&kind).replacen("blasts", "datagrams", 1);
    Some(finding("loss_free_rate", format!("{what}: {}.", parts.join("; ")), &evidence))
}

/// What sleeping until the answer is there adds to a round trip.
pub(super) fn waiting(rows: &[&Row]) -> Vec<Finding> {
    let pair = |row: &Row| -> Option<Finding> {
        let params = net(row).filter(|params| params.wait == Some(Wait::Spinning))?;
        let asleep = with(rows, &NetParams { wait: Some(Wait::Blocking), ..params.clone() })?;
        let (factor, differs) = ratio(asleep, row, MetricName::Latency)?;
        let told = format!("{} take {}", name(params), latency(row)?);
        let (code, text) = if differs && factor < 1.0 {
            let saved = median(asleep, MetricName::Latency)? - median(row, MetricName::Latency)?;
            let text = format!(
                "{told} instead of the {} of threads that sleep: waking them up costs {}, and a CPU of each end is \
                 kept busy instead.",
                latency(asleep)?,
                time(saved)
            );
            ("sleeping_costs", text)
        } else {
            let text = format!("{told}, no less than the {} of threads that sleep.", latency(asleep)?);
            ("sleeping_is_free", text)
        };
        Some(finding(code, text, &[asleep, row]))
    };
    of_mode(rows, NetMode::Pingpong).filter_map(pair).collect()
}

/// What a connection takes against a round trip on one that is there already.
pub(super) fn connections(rows: &[&Row]) -> Option<Finding> {
    let connect = of_mode(rows, NetMode::Connect).min_by_key(|row| row.params.threads())?;
    let params = net(connect)?;
    let open = NetParams { mode: NetMode::Pingpong, wait: Some(Wait::Blocking), ..params.clone() };
    let round_trip = with(rows, &open)?;
    let (factor, _) = ratio(round_trip, connect, MetricName::Latency)?;
    let metric = connect.metric(MetricName::Throughput)?;
    let text = format!(
        "A connection that carries {} there and back takes {}, {factor:.1}x a round trip on one that is open ({}); \
         {} are made a second ({}).",
        size(params.block),
        latency(connect)?,
        latency(round_trip)?,
        metric.summary.median.round(),
        basis(metric)
    );
    Some(finding("connection_costs", text, &[round_trip, connect]))
}
