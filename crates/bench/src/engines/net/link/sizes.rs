//! Bytes of blocks, of headers on the link, and of receive buffers.

use std::net::TcpStream;
use std::os::fd::AsFd;

use areas::net::modes::MOST_BLOCK_BYTES;
use model::experiment::NetParams;
use model::io::NetMode;
use socket2::SockRef;

use super::super::flows::{DataEnd, Way};

/// IPv4 and UDP headers: 1000 datagrams of 64 B added 92 000 B to the counter of loopback.
pub(crate) const UDP_HEADER_BYTES: u64 = 20 + 8;
/// IPv4 and TCP headers.
const TCP_HEADER_BYTES: u64 = 20 + 20;
/// What the header of IPv6 is longer than that of IPv4 (RFC 8200, RFC 791).
const MORE_OF_IPV6_BYTES: u64 = 20;
/// The option of time stamps in each TCP header, padded. With it, 52.00 B a segment were seen in addition to the payload.
const TIME_STAMPS_BYTES: u64 = 12;

/// Bytes per send of a flow, or per message. The streams of a load send what iperf3 sends at a time.
pub(crate) fn flow_block_bytes(params: &NetParams, way: Way) -> usize {
    match (params.mode, way) {
        (NetMode::Load, Way::Up | Way::Down) => 128 << 10,
        _ => block_bytes(params),
    }
}

/// Bytes per send or per message, within the limit of a plan.
pub(crate) fn block_bytes(params: &NetParams) -> usize {
    usize::try_from(params.block.min(MOST_BLOCK_BYTES)).unwrap_or(1)
}

/// Bytes that a TCP connection has sent and received, with headers of TCP and IP, as loopback counts them.
pub(crate) fn tcp_link_bytes(connection: &TcpStream) -> Option<u64> {
    let carried = sys::net::tcp::tcp_carried(connection)?;
    let more = if connection.peer_addr().ok()?.is_ipv6() { MORE_OF_IPV6_BYTES } else { 0 };
    let header = TCP_HEADER_BYTES + more + if carried.time_stamps { TIME_STAMPS_BYTES } else { 0 };
    let segments = u64::from(carried.segments_sent) + u64::from(carried.segments_received);
    Some(carried.sent_bytes + carried.received_bytes + header * segments)
}

/// The same of a connection, or of N datagrams of this size in bytes.
pub(crate) fn link_bytes(end: &DataEnd, datagrams: u64, bytes: u64) -> Option<u64> {
    let socket = match end {
        DataEnd::Tcp(connection) => return tcp_link_bytes(connection),
        DataEnd::Udp(socket) => socket,
    };
    let v6 = socket.peer_addr().is_ok_and(|peer| peer.is_ipv6());
    Some(datagrams * (bytes + UDP_HEADER_BYTES + if v6 { MORE_OF_IPV6_BYTES } else { 0 }))
}

pub(crate) fn receive_buffer_bytes(socket: &impl AsFd) -> Option<u64> {
    SockRef::from(socket).recv_buffer_size().ok().map(|bytes| bytes as u64)
}
