//! Findings about datagrams: against streams, and the rate from which on they are lost.

use model::document::{Finding, Row};
use model::experiment::{Area, NetParams};
use model::io::{Direction, NetMode, Segmentation};
use model::warning::WarningCode;

use super::super::figure::rate;
use super::super::names::named;
use super::super::rules::Code;
use super::super::words::{bits, percent, times};
use super::select::{fastest, net, of_mode};

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
    let lost_too_much = |row: &Row| row.warnings.iter().any(|warning| warning.code == WarningCode::LossAboveGoal);
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
