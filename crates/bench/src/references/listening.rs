//! Free and listening ports, from the kernel's tables.

use std::net::{Ipv4Addr, TcpListener, UdpSocket};

use machine::Sysroot;
use tools::ListensFor;

/// State of a TCP socket that accepts connections (`TCP_LISTEN` in `include/net/tcp_states.h`).
const TCP_LISTEN: &str = "0A";
/// State of a UDP socket without a peer (`TCP_CLOSE`).
const UDP_UNCONNECTED: &str = "07";

/// A loopback port that is free now; the caller retries if it gets taken.
pub(super) fn free_port(transport: ListensFor) -> std::io::Result<u16> {
    let anywhere = (Ipv4Addr::LOCALHOST, 0);
    let bound = match transport {
        ListensFor::Tcp => TcpListener::bind(anywhere)?.local_addr(),
        ListensFor::Udp => UdpSocket::bind(anywhere)?.local_addr(),
    };
    Ok(bound?.port())
}

pub(super) fn is_listened_at(port: u16, transport: ListensFor) -> bool {
    let (tables, state) = match transport {
        ListensFor::Tcp => (["proc/net/tcp", "proc/net/tcp6"], TCP_LISTEN),
        ListensFor::Udp => (["proc/net/udp", "proc/net/udp6"], UDP_UNCONNECTED),
    };
    let host = Sysroot::host();
    tables.iter().filter_map(|table| host.text(table)).any(|text| has_socket(&text, port, state))
}

fn has_socket(table: &str, port: u16, state: &str) -> bool {
    let port = format!("{port:04X}");
    table.lines().skip(1).any(|line| {
        let fields: Vec<&str> = line.split_whitespace().take(4).collect();
        let [_, local, _remote, its_state] = fields[..] else { return false };
        local.rsplit_once(':').is_some_and(|(_, its_port)| its_port == port) && its_state == state
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid
   1: 0100007F:1691 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 280726 1 0000000021c32b6f
   2: 0100007F:8DC8 0100007F:1691 06 00000000:00000000 03:00001746 00000000     0        0 0 3 00000000074991a5
   3: 0000000000000000FFFF00000100007F:0050 00000000000000000000000000000000:0000 0A 00000000:00000000 00:0";

    #[test]
    fn a_listening_socket_is_distinguished_from_a_connected_one() {
        assert!(has_socket(TABLE, 0x1691, TCP_LISTEN));
        assert!(has_socket(TABLE, 0x50, TCP_LISTEN), "the table of IPv6 has the same columns");
        assert!(!has_socket(TABLE, 0x8DC8, TCP_LISTEN));
        assert!(!has_socket(TABLE, 0x1692, TCP_LISTEN));
        for garbage in ["", "\n\n", "header\n1: x y", "header\n1: :1691"] {
            assert!(!has_socket(garbage, 0x1691, TCP_LISTEN), "{garbage:?}");
        }
    }

    #[test]
    fn a_port_is_free_until_a_process_listens() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        assert!(is_listened_at(port, ListensFor::Tcp));
        drop(listener);
        assert!(!is_listened_at(port, ListensFor::Tcp));
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        assert!(is_listened_at(socket.local_addr().unwrap().port(), ListensFor::Udp));
        assert_ne!(free_port(ListensFor::Tcp).unwrap(), 0);
    }
}
