//! Findings about what sets a figure: what held streams back, what a call costs, what a load adds, what was sent again.

use model::document::{Finding, Row};
use model::experiment::NetParams;
use model::io::{Direction, NetMode};
use model::peak::PeakKind;
use model::sample::MetricName;

use super::super::size;
use super::super::words::{percent, time};
use super::words::{cost_words, latency, name, rate_words, throughput};
use super::{conditions, finding, is_inside, median, net, of_mode};
use crate::scaling::rate;

/// From this share of a physical limit on, that limit is what binds.
const AT_THE_LIMIT: f64 = 0.9;

/// From this share of a core on, a thread has no time left.
const BUSY: f64 = 0.9;

/// From this share of the time on, what TCP was waiting for is what held it back.
const WAITING: f64 = 0.5;

/// Queues on the way that add less than this to a round trip are short, in seconds.
const SHORT_QUEUE_SECONDS: f64 = 5e-3;

/// Queues that add this much or more are felt in every conversation ("bufferbloat"), in seconds.
const LONG_QUEUE_SECONDS: f64 = 30e-3;

/// Seconds in a minute.
const MINUTE: f64 = 60.0;

/// What held back streams and datagrams of one connection: up and down with the largest block.
pub(super) fn limits(rows: &[&Row]) -> Vec<Finding> {
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

/// What held back a row, by the first of these that holds: a physical limit, a CPU without time left, what TCP waited
/// for.
fn limit(row: &Row) -> Option<Finding> {
    let seen = conditions(row)?;
    let what = format!("{} ({})", name(net(row)?), throughput(row)?);
    let [sending, receiving] = [seen.sending_cpu_seconds, seen.receiving_cpu_seconds].map(|used| busy(row, used));
    let cpus = sending.zip(receiving).map(|(sending, receiving)| {
        format!("the sender uses {} of a core and the receiver {}", percent(sending), percent(receiving))
    });
    let metric = row.metric(MetricName::Throughput)?;
    let physical = metric.efficiency.filter(|share| share.of != PeakKind::MeasuredCeiling);
    let tcp = seen.tcp.as_ref();
    let waited = |seconds: Option<f64>| Some(seconds? / tcp?.busy_seconds.filter(|busy| *busy > 0.0)?);
    let window = waited(tcp.and_then(|tcp| tcp.receiver_limited_seconds)).filter(|share| *share >= WAITING);
    let buffer = waited(tcp.and_then(|tcp| tcp.buffer_limited_seconds)).filter(|share| *share >= WAITING);
    let busy = |share: Option<f64>| share.filter(|share| *share >= BUSY);
    let (code, why) = if let Some(share) = physical.filter(|share| share.value >= AT_THE_LIMIT) {
        ("limited_by_link", format!("at {} of what the path can carry", percent(share.value)))
    } else if let Some(share) = busy(receiving) {
        ("limited_by_receiver_cpu", format!("held back by the receiver's CPU, {} of a core", percent(share)))
    } else if let Some(share) = busy(sending) {
        ("limited_by_sender_cpu", format!("held back by the sender's CPU, {} of a core", percent(share)))
    } else if let Some(share) = window {
        ("limited_by_receiver_window", format!("held back by the receiver's window for {} of the time", percent(share)))
    } else if let Some(share) = buffer {
        ("limited_by_send_buffer", format!("held back by the send buffer for {} of the time", percent(share)))
    } else {
        let text = format!("held back by nothing that can be seen from here: {}", cpus.clone()?);
        return Some(finding("limit_not_seen", format!("{what}: {text}."), &[row]));
    };
    let cpus = cpus.filter(|_| !code.ends_with("cpu")).map_or_else(String::new, |cpus| format!("; {cpus}"));
    Some(finding(code, format!("{what}: {why}{cpus}."), &[row]))
}

/// CPU seconds of one side's threads over the seconds of all samples: the share of a core that each used.
fn busy(row: &Row, used: Option<f64>) -> Option<f64> {
    let metric = row.metric(MetricName::Throughput)?;
    let seconds: f64 = metric.samples.iter().map(|sample| sample.seconds).sum();
    let threads = f64::from(row.params.threads());
    Some(used? / (seconds * threads)).filter(|share| share.is_finite())
}

/// What a block costs however small it is: from the smallest and the largest of streams that are otherwise alike, the
/// CPU time per block being a part for the calls and a part for the bytes.
pub(super) fn small_blocks(rows: &[&Row]) -> Option<Finding> {
    let one = |row: &&Row| {
        net(row).is_some_and(|params| {
            params.threads == 1 && params.direction == Some(Direction::Up) && params.zero_copy != Some(true)
        })
    };
    let with_cost = |row: &Row| median(row, MetricName::CpuCost).is_some();
    let streams = || of_mode(rows, NetMode::Stream).filter(one).filter(|row| with_cost(row));
    let block = |row: &Row| net(row).map(|params| params.block);
    let (small, large) = (streams().min_by_key(|row| block(row))?, streams().max_by_key(|row| block(row))?);
    let (few, many) = (block(small)? as f64, block(large)? as f64);
    (few < many).then_some(())?;
    let (dear, cheap) = (median(small, MetricName::CpuCost)?, median(large, MetricName::CpuCost)?);
    // time(block) = calls + bytes x block, through both points.
    let bytes = (cheap * many - dear * few) / (many - few);
    let calls = (dear - bytes) * few;
    (calls > 0.0).then_some(())?;
    let text = format!(
        "{} cost {} and of {} {:.2}: {} of the CPUs go into the calls of each block, however small it is.",
        name(net(small)?),
        cost_words(dear),
        size(block(large)?),
        1e9 * cheap,
        time(calls)
    );
    Some(finding("small_blocks_cost_calls", text, &[small, large]))
}

/// What a load adds to a round trip.
pub(super) fn under_load(rows: &[&Row]) -> Vec<Finding> {
    of_mode(rows, NetMode::Load).filter_map(load_finding).collect()
}

fn load_finding(row: &Row) -> Option<Finding> {
    let params = net(row)?;
    let (idle, loaded) = (conditions(row)?.idle_latency_seconds?, median(row, MetricName::Latency)?);
    let added = (loaded - idle).max(0.0);
    let load = conditions(row)?.load_bytes_per_second.or_else(|| rate(row));
    let load = load.map_or_else(String::new, |load| format!(" of {}", rate_words(load)));
    let direction = params.direction.map_or("", Direction::name);
    let (code, conclusion) = if is_inside(row) {
        (
            "load_delays_scheduling",
            "inside a machine that is waiting for a CPU and for copies, and no queue of a network",
        )
    } else if added >= LONG_QUEUE_SECONDS {
        ("load_delays_long_queues", "long queues on the way (bufferbloat)")
    } else if added >= SHORT_QUEUE_SECONDS {
        ("load_delays_queues", "queues on the way that a conversation does not feel")
    } else {
        ("load_delays_short_queues", "short queues on the way")
    };
    let text = format!(
        "{} {direction}, a load{load}: {} from the moment each was due, {} more than the {} without it, {:.0} round \
         trips a minute: {conclusion}.",
        name(&NetParams { direction: None, ..params.clone() }),
        latency(row)?,
        time(added),
        time(idle),
        MINUTE / loaded
    );
    Some(finding(code, text, &[row]))
}

/// Segments that had to be sent again on a real path: the row with the most for its bytes.
pub(super) fn resent(rows: &[&Row]) -> Option<Finding> {
    let per_gb = |row: &Row| {
        let count = median(row, MetricName::Retransmits).filter(|count| *count > 0.0)?;
        let bytes = rate(row)? * row.metric(MetricName::Throughput)?.samples.first()?.seconds;
        Some(1e9 * count / bytes).filter(|share| share.is_finite())
    };
    let outside = of_mode(rows, NetMode::Stream).filter(|row| !is_inside(row));
    let known = outside.filter_map(|row| Some((per_gb(row)?, row)));
    let (per_gb, row) = known.max_by(|a, b| a.0.total_cmp(&b.0))?;
    let text = format!(
        "{} sent {per_gb:.1} segments per GB again, the most of all streams: something on the way drops packets.",
        name(net(row)?)
    );
    Some(finding("segments_resent", text, &[row]))
}
