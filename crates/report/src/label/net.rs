//! Networks in the words of the field. Figures and notes are not made here.

use model::document::Row;
use model::experiment::{NetParams, Params};
use model::io::{Direction, NetMode, Segmentation};

use super::{Label, block_words};

/// The path of everything that stays within the machine.
pub(crate) const LOOPBACK: &str = "loopback";

pub(super) fn is_stream(row: &Row) -> bool {
    matches!(&row.params, Params::Net(params) if params.mode == NetMode::Stream)
}

/// `TCP`, `stream 128 KiB`.
pub(super) fn label(params: &NetParams) -> Label {
    let mode = match params.mode {
        NetMode::Stream => "stream",
        NetMode::Pingpong => "ping-pong",
        NetMode::Connect => "connect",
        NetMode::Transfer => "transfer",
        NetMode::NoDrop => "no-drop rate",
        NetMode::Blast => "blast",
        NetMode::Load => "latency under load",
    };
    // A stream goes to the other end unless something else is said.
    let direction = match params.direction {
        None | Some(Direction::Up) => "",
        Some(Direction::Down) => ", from the other end",
        Some(Direction::Both) => ", both ways",
    };
    let how = format!("{mode} {}{direction}", block_words(params.block));
    Label { what: params.protocol.name().to_uppercase(), how, detail: String::new() }
}

/// Path, copies, segments.
pub(super) fn aspects(params: &NetParams) -> Vec<String> {
    let path = if params.path == LOOPBACK { LOOPBACK.to_owned() } else { format!("to {}", params.path) };
    let zero_copy = if params.zero_copy == Some(true) { "zero-copy" } else { "" };
    let segmentation = if params.segmentation == Some(Segmentation::Gso) { "GSO" } else { "" };
    vec![path, zero_copy.to_owned(), segmentation.to_owned()]
}
