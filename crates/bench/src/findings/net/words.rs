//! Rows of networks and their figures as sentences have them.

use model::document::Row;
use model::experiment::NetParams;
use model::io::{Direction, NetMode, Segmentation, Wait};
use model::sample::MetricName;

use super::super::words::{percent, prefixed, time};
use super::super::{basis, size};

/// Smaller shares are told in parts of a million.
const LEAST_PERCENT: f64 = 1e-3;

/// `32.4 Gb/s`: bits, as links are rated.
pub(super) fn rate_words(bytes_per_second: f64) -> String {
    prefixed(8.0 * bytes_per_second, &[(1e9, "Gb/s"), (1e6, "Mb/s"), (1e3, "kb/s"), (1.0, "b/s")])
}

/// `0.31 CPU seconds per GB`.
pub(super) fn cost_words(seconds_per_byte: f64) -> String {
    format!("{:.2} CPU seconds per GB", 1e9 * seconds_per_byte)
}

/// `nothing`, `12 of a million`, `0.5 %`: a share of datagrams.
pub(super) fn share_words(share: f64) -> String {
    match share {
        0.0 => "nothing".to_owned(),
        few if few < LEAST_PERCENT => format!("{} of a million", (1e7 * few).round() / 10.0),
        many => percent(many),
    }
}

/// A row's bytes per second with what they rest on.
pub(super) fn throughput(row: &Row) -> Option<String> {
    let metric = row.metric(MetricName::Throughput)?;
    Some(format!("{} ({})", rate_words(metric.summary.median), basis(metric)))
}

/// A row's latency with what it rests on.
pub(super) fn latency(row: &Row) -> Option<String> {
    let metric = row.metric(MetricName::Latency)?;
    Some(format!("{} ({})", time(metric.summary.median), basis(metric)))
}

/// `TCP streams of 128 KiB down`, `a UDP round trip of 1 B, spinning`.
pub(super) fn name(params: &NetParams) -> String {
    let protocol = params.protocol.name().to_uppercase();
    let what = match params.mode {
        NetMode::Stream => format!("{protocol} streams"),
        NetMode::NoDrop => format!("{protocol} datagrams within {}", goal_words(params)),
        NetMode::Blast => format!("{protocol} blasts"),
        NetMode::Pingpong => format!("{protocol} round trips"),
        NetMode::Connect => format!("{protocol} connections"),
        NetMode::Transfer => format!("{protocol} transfers"),
        NetMode::Load => format!("{protocol} round trips under load"),
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
    let threads = if params.threads > 1 { format!(" on {} connections", params.threads) } else { String::new() };
    format!("{what} of {}{direction}{how}{threads}", size(params.block))
}

/// `no loss`, `a loss of 0.1 %`.
pub(super) fn goal_words(params: &NetParams) -> String {
    match params.loss_goal_per_million {
        None | Some(0) => "no loss".to_owned(),
        Some(goal) => format!("a loss of {}", share_words(f64::from(goal) / 1e6)),
    }
}
