//! Findings about what sets a figure: what held streams back, what a call costs, what a load adds, what was sent again.

use model::document::{Finding, Row};
use model::experiment::{Area, NetParams};
use model::io::{Direction, NetMode};
use model::peak::PeakKind;
use model::sample::MetricName;

use super::super::every::{BINDS, efficiency};
use super::super::figure::{Figure, rate, sane};
use super::super::names::named;
use super::super::rules::Code;
use super::super::words::{bits, per_gigabyte, percent, plain, size, time};
use super::{conditions, is_inside, latency, net, of_mode};

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

/// What a block costs however small it is: from the smallest and the largest of streams that are otherwise alike, the
/// CPU time per block being a part for the calls and a part for the bytes.
pub(super) fn small_blocks(rows: &[&Row]) -> Option<Finding> {
    let cost = |row: &Row| Figure::of(row, MetricName::CpuCost);
    let of_one = |params: &NetParams| {
        params.threads == 1 && params.direction == Some(Direction::Up) && params.zero_copy != Some(true)
    };
    let streams = || {
        let one = of_mode(rows, NetMode::Stream).filter(|row| net(row).is_some_and(of_one));
        one.filter_map(|row| Some((cost(row)?, net(row)?.block, row)))
    };
    let (dear, small, row) = streams().min_by_key(|(_, block, _)| *block)?;
    let alike = |other: &Row| {
        let with = |row: &Row| net(row).map(|params| NetParams { block: small, ..params.clone() });
        with(other) == with(row)
    };
    let (cheap, large, other) = streams().filter(|(.., row)| alike(row)).max_by_key(|(_, block, _)| *block)?;
    (small < large && dear.differs(cheap)? > 1.0).then_some(())?;
    let (few, many) = (small as f64, large as f64);
    // time(block) = calls + bytes x block, through both points.
    let bytes = (cheap.median * many - dear.median * few) / (many - few);
    let calls = (dear.median - bytes) * few;
    (calls > 0.0).then_some(())?;
    let fields = [
        ("what", named(row)),
        ("dear", per_gigabyte(dear.median)),
        ("block", size(large)),
        ("cheap", per_gigabyte(cheap.median)),
        ("calls", time(calls)),
    ];
    Some(Code::SmallBlocks.tell(Area::Net, &fields, &[row, other]))
}

/// What a load adds to a round trip.
pub(super) fn under_load(rows: &[&Row]) -> Vec<Finding> {
    of_mode(rows, NetMode::Load).filter_map(load).collect()
}

fn load(row: &Row) -> Option<Finding> {
    let idle = conditions(row)?.idle_latency_seconds.and_then(sane)?;
    let loaded = latency(row)?;
    (loaded.span?[0] > idle).then_some(())?;
    let added = loaded.median - idle;
    let code = match added {
        _ if is_inside(row) => Code::LoadSchedules,
        added if added >= LONG_QUEUE_SECONDS => Code::LoadLongQueues,
        added if added >= SHORT_QUEUE_SECONDS => Code::LoadQueues,
        _ => Code::LoadShortQueues,
    };
    let fields = [("what", named(row)), ("latency", time(loaded.median)), ("added", time(added))];
    Some(code.tell(Area::Net, &fields, &[row]))
}

/// Segments that had to be sent again on a real path: the row with the most for its bytes.
pub(super) fn resent(rows: &[&Row]) -> Option<Finding> {
    let per_gb = |row: &Row| {
        let again = Figure::of(row, MetricName::Retransmits).filter(|again| again.span.is_some())?;
        let bytes = rate(row)?.median * row.metric(MetricName::Throughput)?.samples.first()?.seconds;
        Some(1e9 * again.median / bytes).filter(|share| share.is_finite())
    };
    let outside = of_mode(rows, NetMode::Stream).filter(|row| !is_inside(row));
    let known = outside.filter_map(|row| Some((per_gb(row)?, row)));
    let (count, row) = known.max_by(|a, b| a.0.total_cmp(&b.0))?;
    Some(Code::SegmentsResent.tell(Area::Net, &[("what", named(row)), ("count", plain(count))], &[row]))
}
