//! Bytes per send and per message.

use model::experiment::NetParams;
use model::io::NetMode;

use super::super::flows::Way;
use areas::net::modes::MOST_BLOCK_BYTES;

/// Bytes per send of the streams: what iperf3 sends at a time.
pub(in crate::engines::net) const STREAM_BLOCK_BYTES: usize = 128 << 10;

/// Bytes per send of a flow, or per message of it: under load the block is the probe's.
pub(in crate::engines::net) fn flow_block_bytes(params: &NetParams, way: Way) -> usize {
    match (params.mode, way) {
        (NetMode::Load, Way::Up | Way::Down) => STREAM_BLOCK_BYTES,
        _ => block_bytes(params),
    }
}

/// Bytes per send, or per message; the plan has seen to it that they are few.
pub(in crate::engines::net) fn block_bytes(params: &NetParams) -> usize {
    usize::try_from(params.block.min(MOST_BLOCK_BYTES)).unwrap_or(1)
}
