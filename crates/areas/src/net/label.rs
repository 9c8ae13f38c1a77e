//! Labels of network results.

use model::document::{Row, Status};
use model::experiment::{LOOPBACK, NetParams, Params};
use model::io::{Direction, NetMode, Segmentation, Wait};
use model::number::percent_exact;
use model::unit::Better;

use crate::label::parts::{Axis, Label, Labels, TableRules, Workload, block_words};

pub(super) const LABELS: Labels = Labels {
    title: "Network",
    in_sentence: "the network",
    colours: ["#0b7285", "#4fc3d9"],
    before: "",
    label: |row, _| params(row).map(label),
    aspects: |row, _| params(row).map_or_else(Vec::new, |own| aspects(own).into_iter().map(Some).collect()),
    axis,
    say: |_, common| common.aspects.truncate(ASPECTS_OF_A_RUN),
    declaration,
    workload,
    table: TableRules { per_core: false, requests: true, always_heading: false },
};

fn workload(row: &Row) -> Option<Workload> {
    let own = params(row)?;
    let same = NetParams { block: 0, threads: 0, ..own.clone() };
    Some(Workload { key: format!("{same:?}"), block: Some(own.block) })
}

pub fn is_loopback(row: &Row) -> bool {
    params(row).is_some_and(|own| own.path == LOOPBACK)
}

fn declaration(row: &Row) -> Option<&'static str> {
    params(row).filter(|own| own.path != LOOPBACK)?;
    let metric = row.metrics.first().filter(|_| row.status == Status::Ok);
    let timed = metric.is_some_and(|metric| metric.better == Better::Lower);
    Some(if timed { "--declare net.latency_s=1e-6" } else { "--declare net.link_bps=25e9" })
}

fn axis(rows: &[&Row]) -> Axis {
    if rows.iter().all(|row| is_stream(row)) { Axis::Streams } else { Axis::Connections }
}

pub fn params(row: &Row) -> Option<&NetParams> {
    if let Params::Net(params) = &row.params { Some(params) } else { None }
}

fn is_stream(row: &Row) -> bool {
    params(row).is_some_and(|own| matches!(own.mode, NetMode::Stream | NetMode::NoDrop | NetMode::Blast))
}

/// `TCP`, `UDP`.
pub fn protocol(params: &NetParams) -> String {
    params.protocol.name().to_uppercase()
}

fn goal_words(per_million: u32) -> String {
    match per_million {
        0 => ", none lost".to_owned(),
        many => format!(", at most {} lost", percent_exact(f64::from(many) / 1e6)),
    }
}

/// Unusual ways of sending and waiting.
pub fn how_words(params: &NetParams) -> Vec<&'static str> {
    let words = [
        (params.zero_copy == Some(true), "zero-copy"),
        (params.segmentation == Some(Segmentation::Gso), "GSO"),
        (params.wait == Some(Wait::Spinning), "spinning"),
    ];
    words.into_iter().filter(|(holds, _)| *holds).map(|(_, words)| words).collect()
}

/// `TCP`, `stream 128 KiB`.
fn label(params: &NetParams) -> Label {
    let mode = match params.mode {
        NetMode::Stream => "stream",
        NetMode::Pingpong => "ping-pong",
        NetMode::Connect => "connect",
        NetMode::Transfer => "transfer",
        NetMode::NoDrop => "no-drop rate",
        NetMode::Blast => "blast",
        NetMode::Load => "latency under load",
    };
    let direction = match params.direction {
        None | Some(Direction::Up) => "",
        Some(Direction::Down) => ", down",
        Some(Direction::Both) => ", both ways",
    };
    let goal = params.loss_goal_per_million.map(goal_words).unwrap_or_default();
    let how = format!("{mode} {}{direction}{goal}", block_words(params.block));
    Label { what: protocol(params), how, detail: String::new() }
}

const ASPECTS_OF_A_RUN: usize = 1;

/// Path, copies, segments, waiting.
fn aspects(params: &NetParams) -> Vec<String> {
    let path = if params.path == LOOPBACK { LOOPBACK.to_owned() } else { format!("to {}", params.path) };
    let how = how_words(params);
    let each = ["zero-copy", "GSO", "spinning"].map(|words| if how.contains(&words) { words } else { "" }.to_owned());
    std::iter::once(path).chain(each).collect()
}
