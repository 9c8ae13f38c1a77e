//! The share of a link that is user data, and the size of a message on the wire.

use model::io::Protocol;
use model::machine::Nic;

/// Around each Ethernet frame: header 14, check sequence 4, preamble 8, gap 12 (IEEE 802.3).
const FRAME_BYTES: f64 = 38.0;
/// The minimum with all of these (64 + 8 + 12).
const LEAST_FRAME_BYTES: f64 = 84.0;
/// What a virtual LAN adds to a frame (IEEE 802.1Q).
const TAG_BYTES: f64 = 4.0;
/// What an adapter transfers per Ethernet frame in addition to the packet: the header.
const FETCHED_BYTES: f64 = 14.0;
/// IP over InfiniBand datagrams: headers 8 + 12 + 8 + 4, check sequences 4 + 2 (InfiniBand architecture, RFC 4391).
const DATAGRAM_BYTES: f64 = 38.0;
/// Around each packet of an InfiniBand connection: no datagram header, and the `IPoIB` header only in the first.
const CONNECTION_BYTES: f64 = 26.0;
const ENCAPSULATION_BYTES: f64 = 4.0;
const INFINIBAND_PACKET_BYTES: f64 = 4096.0;
/// TCP's header with Linux's default time stamps (RFC 793, RFC 7323).
const TCP_HEADER_BYTES: f64 = 32.0;
const UDP_HEADER_BYTES: f64 = 8.0;
/// Headers of IP (RFC 791, RFC 8200).
const IPV4_HEADER_BYTES: f64 = 20.0;
const IPV6_HEADER_BYTES: f64 = 40.0;
/// IPv6's fragment header (RFC 8200); IPv4 has these fields in its own header.
const FRAGMENT_HEADER_BYTES: f64 = 8.0;
/// The packet size that every IPv4 host accepts (RFC 791): no interface has a smaller one.
const LEAST_MTU: u32 = 576;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Frames {
    mtu: f64,
    ip: f64,
    kind: Framing,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Framing {
    Ethernet(u32),
    Datagram,
    Connection,
}

/// The packets of a message, with IP headers: `whole` equal ones and perhaps a last one.
struct Packets {
    whole: f64,
    whole_bytes: f64,
    last_bytes: Option<f64>,
}

impl Packets {
    fn cost(&self, cost: impl Fn(f64) -> f64) -> f64 {
        self.whole * cost(self.whole_bytes) + self.last_bytes.map_or(0.0, cost)
    }
}

impl Frames {
    /// `None` if the kind of link or the packet size is unknown. `tags` are those of virtual LANs.
    pub(crate) fn on_link(port: &Nic, mtu: u32, tags: u32, is_version_6: bool) -> Option<Self> {
        let kind = match (port.kind.as_deref(), port.infiniband.as_ref().and_then(|port| port.connected)) {
            (Some("ethernet"), _) => Framing::Ethernet(tags),
            (Some("infiniband"), Some(true)) => Framing::Connection,
            (Some("infiniband"), _) => Framing::Datagram,
            _ => return None,
        };
        let ip = if is_version_6 { IPV6_HEADER_BYTES } else { IPV4_HEADER_BYTES };
        (mtu >= LEAST_MTU).then_some(Self { mtu: f64::from(mtu), ip, kind })
    }

    pub(crate) fn words(&self) -> String {
        let over = match self.kind {
            Framing::Ethernet(0) => "Ethernet".to_owned(),
            Framing::Ethernet(1) => "Ethernet with the tag of a virtual LAN".to_owned(),
            Framing::Ethernet(tags) => format!("Ethernet with {tags} tags of virtual LANs"),
            Framing::Datagram => "InfiniBand".to_owned(),
            Framing::Connection => "InfiniBand, connected".to_owned(),
        };
        format!("packets of {} B on {over}", self.mtu)
    }

    /// User data per byte on the wire. TCP fills its packets, whatever the block size.
    pub(crate) fn share(&self, protocol: Protocol, block: u64) -> f64 {
        self.data_over(protocol, block, |bytes| self.on_wire(bytes))
    }

    /// User data per byte between adapter and memory, without PCI Express headers.
    pub(crate) fn share_fetched(&self, protocol: Protocol, block: u64) -> f64 {
        self.data_over(protocol, block, |bytes| bytes + FETCHED_BYTES)
    }

    pub(crate) fn message_bytes(&self, protocol: Protocol, block: u64) -> f64 {
        self.packets(protocol, block).cost(|bytes| self.on_wire(bytes))
    }

    fn data_over(&self, protocol: Protocol, block: u64, cost: impl Fn(f64) -> f64) -> f64 {
        match protocol {
            Protocol::Tcp => (self.mtu - self.ip - TCP_HEADER_BYTES) / cost(self.mtu),
            Protocol::Udp => block as f64 / self.packets(protocol, block).cost(cost),
        }
    }

    /// A datagram larger than a packet is split into pieces that are multiples of 8 B, except the last.
    fn packets(&self, protocol: Protocol, block: u64) -> Packets {
        let cut = |data: f64, piece: f64, headers: f64| {
            let whole = (data / piece).floor();
            let rest = data - whole * piece;
            Packets { whole, whole_bytes: piece + headers, last_bytes: (rest > 0.0).then_some(rest + headers) }
        };
        match protocol {
            Protocol::Tcp => {
                let headers = self.ip + TCP_HEADER_BYTES;
                cut(block as f64, self.mtu - headers, headers)
            }
            Protocol::Udp => {
                let datagram = block as f64 + UDP_HEADER_BYTES;
                if datagram <= self.mtu - self.ip {
                    return Packets { whole: 1.0, whole_bytes: datagram + self.ip, last_bytes: None };
                }
                let more = if self.ip > IPV4_HEADER_BYTES { FRAGMENT_HEADER_BYTES } else { 0.0 };
                let piece = ((self.mtu - self.ip - more) / 8.0).floor() * 8.0;
                cut(datagram, piece, self.ip + more)
            }
        }
    }

    fn on_wire(&self, packet: f64) -> f64 {
        match self.kind {
            Framing::Ethernet(tags) => (packet + FRAME_BYTES + TAG_BYTES * f64::from(tags)).max(LEAST_FRAME_BYTES),
            Framing::Datagram => packet + DATAGRAM_BYTES,
            Framing::Connection => {
                let message = packet + ENCAPSULATION_BYTES;
                message + (message / INFINIBAND_PACKET_BYTES).ceil() * CONNECTION_BYTES
            }
        }
    }
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "values that are rounded the same way")]
mod tests {
    use super::*;
    use model::machine::InfinibandPort;

    fn ethernet(mtu: u32, tags: u32, is_version_6: bool) -> Frames {
        let port = Nic { kind: Some("ethernet".into()), ..Nic::default() };
        Frames::on_link(&port, mtu, tags, is_version_6).unwrap()
    }

    fn percent(share: f64) -> f64 {
        (share * 1e4).round() / 100.0
    }

    #[test]
    fn ethernet_leaves_this_much_for_data() {
        let tcp = |mtu, tags, six| percent(ethernet(mtu, tags, six).share(Protocol::Tcp, 1));
        assert_eq!([1500, 9000, 1400].map(|mtu| tcp(mtu, 0, false)), [94.15, 99.0, 93.74]);
        assert_eq!([1500, 9000, 1400].map(|mtu| tcp(mtu, 0, true)), [92.85, 98.78, 92.35]);
        assert_eq!([1500, 9000, 1400].map(|mtu| tcp(mtu, 1, false)), [93.9, 98.96, 93.48]);
        let udp = [(1472, 1500), (8972, 9000), (1, 1500), (1024, 1500), (32 << 10, 1500), (32 << 10, 9000)];
        assert_eq!(
            udp.map(|(block, mtu)| percent(ethernet(mtu, 0, false).share(Protocol::Udp, block))),
            [95.71, 99.27, 1.19, 93.94, 96.07, 99.27]
        );
    }

    #[test]
    fn infiniband_has_other_headers() {
        let port = |connected| Nic {
            kind: Some("infiniband".into()),
            infiniband: Some(InfinibandPort { connected: Some(connected), ..InfinibandPort::default() }),
            ..Nic::default()
        };
        let datagram = Frames::on_link(&port(false), 2044, 0, false).unwrap();
        assert_eq!(percent(datagram.share(Protocol::Tcp, 1)), percent(1992.0 / 2082.0));
        let connection = Frames::on_link(&port(true), 65_520, 0, false).unwrap();
        assert_eq!(percent(connection.share(Protocol::Tcp, 1)), percent(65_468.0 / (65_524.0 + 16.0 * 26.0)));
        assert_eq!(Frames::on_link(&Nic::default(), 1500, 0, false), None, "another kind of link");
        assert_eq!(Frames::on_link(&port(true), 500, 0, false), None, "no largest packet");
    }

    #[test]
    fn a_message_takes_its_frames() {
        let frames = ethernet(1500, 0, false);
        assert_eq!(frames.message_bytes(Protocol::Udp, 1), 84.0, "the least frame");
        assert_eq!(frames.message_bytes(Protocol::Tcp, 1), 91.0);
        // 1448 B of data in a packet: 45 whole ones, and 376 B.
        assert_eq!(frames.message_bytes(Protocol::Tcp, 64 << 10), 45.0 * 1538.0 + (376.0 + 52.0 + 38.0));
    }
}
