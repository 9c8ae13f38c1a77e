//! Findings about what sets a figure: what held streams back, and what a load adds.

use model::document::{Finding, Row};
use model::experiment::Area;
use model::io::{Direction, NetMode};
use model::peak::PeakKind;
use model::sample::MetricName;

use super::super::every::{BINDS, efficiency};
use super::super::figure::{rate, sane};
use super::super::names::named;
use super::super::rules::Code;
use super::super::words::{bits, percent, time};
use super::select::{conditions, is_inside, latency, net, of_mode};

/// From this share of a core on, a thread has no time left.
const BUSY: f64 = 0.9;

/// From this share of the time on, what TCP was waiting for is what held it back.
const WAITING: f64 = 0.5;

/// Queues on the way that add less than this to a round trip are short, in seconds.
const SHORT_QUEUE_SECONDS: f64 = 5e-3;

/// Queues that add this much or more are felt in every conversation ("bufferbloat"), in seconds.
const LONG_QUEUE_SECONDS: f64 = 30e-3;

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
    let rate = rate(row)?;
    let seen = conditions(row)?;
    let physical =
        efficiency(row).filter(|(_, kind)| *kind != PeakKind::MeasuredCeiling).map(|(share, _)| share.median);
    let busy = |used: Option<f64>| busy(row, used?).filter(|share| *share >= BUSY);
    let waited = |seconds: Option<f64>| {
        let tcp = seen.tcp.as_ref()?;
        let share = seconds? / tcp.busy_seconds?;
        (share.is_finite() && share >= WAITING).then_some(share)
    };
    let window = seen.tcp.as_ref().and_then(|tcp| tcp.receiver_limited_seconds);
    let buffer = seen.tcp.as_ref().and_then(|tcp| tcp.buffer_limited_seconds);
    let held_back = [
        (Code::LimitedByLink, physical.filter(|share| *share >= BINDS)),
        (Code::LimitedByReceiver, busy(seen.receiving_cpu_seconds)),
        (Code::LimitedBySender, busy(seen.sending_cpu_seconds)),
        (Code::LimitedByWindow, waited(window)),
        (Code::LimitedByBuffer, waited(buffer)),
    ];
    let (code, share) = held_back.into_iter().find_map(|(code, share)| Some((code, share?)))?;
    let fields = [("what", named(row)), ("rate", bits(rate.median)), ("share", percent(share))];
    Some(code.tell(Area::Net, &fields, &[row]))
}

/// CPU seconds of one side's threads over the seconds of all samples: the share of a core that each used.
fn busy(row: &Row, used: f64) -> Option<f64> {
    let metric = row.metric(MetricName::Throughput)?;
    let seconds: f64 = metric.samples.iter().map(|sample| sample.seconds).sum();
    let threads = f64::from(row.params.threads());
    Some(used / (seconds * threads)).filter(|share| share.is_finite())
}

/// What a load adds to a round trip on a path, where queues are what takes the time.
pub(super) fn under_load(rows: &[&Row]) -> Vec<Finding> {
    of_mode(rows, NetMode::Load).filter(|row| !is_inside(row)).filter_map(load).collect()
}

fn load(row: &Row) -> Option<Finding> {
    let idle = conditions(row)?.idle_latency_seconds.and_then(sane)?;
    let loaded = latency(row)?;
    (loaded.span?[0] > idle).then_some(())?;
    let added = loaded.median - idle;
    (added >= SHORT_QUEUE_SECONDS).then_some(())?;
    let code = if added >= LONG_QUEUE_SECONDS { Code::LoadLongQueues } else { Code::LoadQueues };
    let fields = [("what", named(row)), ("latency", time(loaded.median)), ("added", time(added))];
    Some(code.tell(Area::Net, &fields, &[row]))
}
