//! Bytes on the link, with the headers of packets.

use std::net::{TcpStream, UdpSocket};

/// IPv4 and UDP headers: 1000 datagrams of 64 B added 92 000 B to the counter of loopback.
const UDP_HEADER_BYTES: u64 = 20 + 8;

/// IPv6 and UDP headers (RFC 8200, RFC 768).
const UDP6_HEADER_BYTES: u64 = 40 + 8;

/// IPv4 and TCP headers.
const TCP_HEADER_BYTES: u64 = 20 + 20;

/// IPv6 and TCP headers (RFC 8200, RFC 9293).
const TCP6_HEADER_BYTES: u64 = 40 + 20;

/// The option of time stamps in each TCP header, padded. With it, 52.00 B a segment were seen beside the payload.
const TIME_STAMPS_BYTES: u64 = 12;

/// What a TCP connection has put on loopback and taken from it, headers included. Loopback has no header of a link, or
/// does not count it (`drivers/net/loopback.c`).
pub(in crate::engines::net) fn tcp_link_bytes(connection: &TcpStream) -> Option<u64> {
    let carried = sys::net::tcp::tcp_carried(connection)?;
    let headers = if connection.peer_addr().ok()?.is_ipv6() { TCP6_HEADER_BYTES } else { TCP_HEADER_BYTES };
    let header = headers + if carried.time_stamps { TIME_STAMPS_BYTES } else { 0 };
    let segments = u64::from(carried.segments_sent) + u64::from(carried.segments_received);
    Some(carried.sent_bytes + carried.received_bytes + header * segments)
}

/// Headers of a datagram on this socket.
pub(in crate::engines::net) fn udp_header_bytes(socket: &UdpSocket) -> u64 {
    let v6 = socket.peer_addr().is_ok_and(|peer| peer.is_ipv6());
    if v6 { UDP6_HEADER_BYTES } else { UDP_HEADER_BYTES }
}
