//! Findings about rows that differ in one thing: the direction, who cuts datagrams, the protocol, how an answer is waited
//! for, whether a connection is there already, and the loss that a rate may have.

use model::document::{Finding, Row};
use model::experiment::{Area, NetParams};
use model::io::{Direction, NetMode, Protocol, Segmentation, Wait};
use model::sample::MetricName;
use model::warning::WarningCode;

use super::super::figure::{Against, Figure, rate};
use super::super::names::named;
use super::super::rules::Code;
use super::super::words::{bits, percent, size, time, times};
use super::{conditions, fastest, latency, net, of_mode, with};

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
        let (down, both) = (to(Direction::Down), to(Direction::Both));
        let kind = (params.protocol, params.mode);
        if (down.is_some() || both.is_some()) && !told.contains(&kind) {
            told.push(kind);
            findings.extend(down.and_then(|down| one_way(up, down)));
            findings.extend(both.and_then(|both| both_ways(up, both)));
        }
    }
    findings
}

fn one_way(up: &Row, down: &Row) -> Option<Finding> {
    let (there, here) = (rate(up)?, rate(down)?);
    let fields = [
        ("what", named(up)),
        ("factor", times(here.differs(there)?)),
        ("down", bits(here.median)),
        ("up", bits(there.median)),
    ];
    Some(Code::DirectionsDiffer.tell(Area::Net, &fields, &[up, down]))
}

fn both_ways(up: &Row, both: &Row) -> Option<Finding> {
    let (one, two) = (rate(up)?, rate(both)?);
    let fields = [("what", named(up)), ("both", bits(two.median)), ("factor", times(two.median / one.median))];
    Some(Code::BothDirections.tell(Area::Net, &fields, &[up, both]))
}

/// What is gained where the kernel or the device cuts large sends into datagrams.
pub(super) fn segmentation(rows: &[&Row]) -> Vec<Finding> {
    let pair = |row: &Row| -> Option<Finding> {
        let params = net(row).filter(|params| params.segmentation == Some(Segmentation::Gso))?;
        let off = with(rows, &NetParams { segmentation: Some(Segmentation::Off), ..params.clone() })?;
        let (with, without) = (rate(row)?, rate(off)?);
        let factor = with.differs(without).filter(|factor| *factor > 1.0)?;
        let fields = [
            ("what", named(row)),
            ("rate", bits(with.median)),
            ("factor", times(factor)),
            ("off", bits(without.median)),
        ];
        Some(Code::SegmentationGain.tell(Area::Net, &fields, &[off, row]))
    };
    of_mode(rows, NetMode::NoDrop).filter_map(pair).collect()
}

/// What is gained where the copy of a send is to be spared, and for how many it was.
pub(super) fn zero_copies(rows: &[&Row]) -> Vec<Finding> {
    let pair = |row: &Row| -> Option<Finding> {
        let params = net(row).filter(|params| params.zero_copy == Some(true))?;
        let copied = with(rows, &NetParams { zero_copy: Some(false), ..params.clone() })?;
        let spared = conditions(row)?.zero_copied_share.filter(|share| (0.0..=1.0).contains(share))?;
        let (ours, theirs) = (rate(row)?, rate(copied)?);
        let fields = [
            ("what", named(row)),
            ("rate", bits(ours.median)),
            ("factor", times(ours.differs(theirs)?)),
            ("copied", bits(theirs.median)),
            ("share", percent(spared)),
        ];
        Some(Code::ZeroCopy.tell(Area::Net, &fields, &[copied, row]))
    };
    of_mode(rows, NetMode::Stream).filter_map(pair).collect()
}

/// The fastest datagrams of one connection against the fastest stream of one.
pub(super) fn protocols(rows: &[&Row]) -> Option<Finding> {
    let one = |mode| {
        fastest(of_mode(rows, mode).filter(|row| {
            net(row).is_some_and(|params| params.threads == 1 && params.direction == Some(Direction::Up))
        }))
    };
    let ((stream, tcp), (datagrams, udp)) = (one(NetMode::Stream)?, one(NetMode::NoDrop)?);
    let fields = [
        ("what", named(udp)),
        ("rate", bits(datagrams.median)),
        ("factor", times(datagrams.differs(stream)?)),
        ("stream_rate", bits(stream.median)),
        ("stream", named(tcp)),
    ];
    Some(Code::UdpAgainstTcp.tell(Area::Net, &fields, &[tcp, udp]))
}

/// Where the loss of datagrams sets in: of each kind the highest rate within the least loss that was asked for, on the
/// fewest connections; the largest blocks first. A rate at which more was lost is none of those.
pub(super) fn onsets(rows: &[&Row]) -> Vec<Finding> {
    let goal_missed = WarningCode::LossAboveGoal.name();
    let lost_too_much = |row: &Row| row.warnings.iter().any(|warning| warning.code == goal_missed);
    let mut found: Vec<(&NetParams, u32, &Row)> = of_mode(rows, NetMode::NoDrop)
        .filter_map(|row| net(row).and_then(|params| Some((params, params.loss_goal_per_million?, row))))
        .filter(|(_, _, row)| !lost_too_much(row))
        .collect();
    found.sort_by_key(|(params, goal, _)| (params.threads, std::cmp::Reverse(params.block), *goal));
    let mut told: Vec<(u64, Option<Direction>, Option<Segmentation>)> = Vec::new();
    let mut findings = Vec::new();
    for (params, goal, row) in found {
        let kind = (params.block, params.direction, params.segmentation);
        let Some(rate) = rate(row).filter(|_| !told.contains(&kind)) else { continue };
        told.push(kind);
        let goal = match goal {
            0 => "no loss".to_owned(),
            few if few < 1000 => format!("a loss of {few} of a million"),
            many => format!("a loss of {}", percent(f64::from(many) / 1e6)),
        };
        let fields = [("what", named(row)), ("rate", bits(rate.median)), ("goal", goal)];
        findings.push(Code::LossOnset.tell(Area::Net, &fields, &[row]));
    }
    findings
}

/// What datagrams as fast as they can be sent lose: the most.
pub(super) fn blasts(rows: &[&Row]) -> Option<Finding> {
    let loss = |row: &Row| Figure::of(row, MetricName::Loss).filter(|loss| loss.span.is_some() && loss.median <= 1.0);
    let known = of_mode(rows, NetMode::Blast).filter_map(|row| Some((loss(row)?, row)));
    let (loss, row) = super::most(known)?;
    let fields = [("what", named(row)), ("share", percent(loss.median))];
    Some(Code::BlastLoses.tell(Area::Net, &fields, &[row]))
}

/// What sleeping until the answer is there adds to a round trip.
pub(super) fn waiting(rows: &[&Row]) -> Vec<Finding> {
    let pair = |row: &Row| -> Option<Finding> {
        let params = net(row).filter(|params| params.wait == Some(Wait::Spinning))?;
        let asleep = with(rows, &NetParams { wait: Some(Wait::Blocking), ..params.clone() })?;
        let (spins, sleeps) = (latency(row)?, latency(asleep)?);
        (spins.against(sleeps)? == Against::Less).then_some(())?;
        let fields = [
            ("what", named(row)),
            ("spinning", time(spins.median)),
            ("asleep", time(sleeps.median)),
            ("cost", time(sleeps.median - spins.median)),
        ];
        Some(Code::SleepingCosts.tell(Area::Net, &fields, &[asleep, row]))
    };
    of_mode(rows, NetMode::Pingpong).filter_map(pair).collect()
}

/// What a connection takes against a round trip on one that is there already.
pub(super) fn connections(rows: &[&Row]) -> Option<Finding> {
    let connect = of_mode(rows, NetMode::Connect).min_by_key(|row| row.params.threads())?;
    let params = net(connect)?;
    let open = NetParams { mode: NetMode::Pingpong, wait: Some(Wait::Blocking), ..params.clone() };
    let round_trip = with(rows, &open)?;
    let (takes, trip) = (latency(connect)?, latency(round_trip)?);
    let factor = takes.differs(trip).filter(|factor| *factor > 1.0)?;
    let fields = [
        ("block", size(params.block)),
        ("connect", time(takes.median)),
        ("factor", times(factor)),
        ("trip", time(trip.median)),
    ];
    Some(Code::ConnectionCosts.tell(Area::Net, &fields, &[round_trip, connect]))
}
