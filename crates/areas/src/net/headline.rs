//! The network's lines on the first screen, and the share of a link that a stream reaches.

use model::document::Row;
use model::io::{NetMode, Protocol};
use model::machine::{ExpectedQuantity, Machine};
use model::number::{counted, size};
use model::sample::MetricName;
use verdict::headline::{AnswerRules, Headline};

use super::label::{is_loopback, params};

pub(super) const ANSWER: AnswerRules = AnswerRules {
    title: "Network",
    headlines: &[
        &[Headline {
            title: "TCP",
            metric: MetricName::Throughput,
            rank: |row| fewest(row, NetMode::Stream),
            detail: |row| counted(row.params.threads().into(), "stream"),
        }],
        &[Headline {
            title: "TCP round trip",
            metric: MetricName::Latency,
            rank: |row| fewest(row, NetMode::Pingpong),
            detail: |row| params(row).map_or_else(String::new, |own| size(own.block)),
        }],
    ],
    unknown: "--declare net.link_bps=… net.latency_s=… gives one",
    no_answer: |rows| {
        let loopback = rows.iter().all(|row| is_loopback(row));
        loopback.then_some(["Loopback", "not measured: only loopback. To measure a link: assay net --to HOST"])
    },
};

/// A stream over TCP fills a link but for the headers, which the limit leaves out; 90 % is what iperf3 users accept.
pub(super) fn reach(row: &Row) -> Option<[f64; 2]> {
    params(row).filter(|own| own.mode == NetMode::Stream && !is_loopback(row)).map(|_| [0.9, 1.0])
}

/// The machine type's network carries streams, not loopback.
pub(super) fn published(row: &Row, name: MetricName, _: &Machine) -> Option<ExpectedQuantity> {
    let is_stream = params(row).is_some_and(|own| own.mode == NetMode::Stream) && !is_loopback(row);
    (is_stream && name == MetricName::Throughput).then_some(ExpectedQuantity::Network)
}

/// The largest block of a stream, the smallest message, on the fewest connections.
fn fewest(row: &Row, mode: NetMode) -> Option<i64> {
    let own = params(row).filter(|own| (own.protocol, own.mode) == (Protocol::Tcp, mode))?;
    let block = i64::try_from(own.block).ok()?;
    Some(if mode == NetMode::Stream { block } else { -block } - (i64::from(own.threads) << 40))
}
