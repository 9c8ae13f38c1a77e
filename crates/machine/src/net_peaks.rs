//! What a network row could reach at best: by the declared or the negotiated link and what packets leave of it, by the
//! declared round trip; on the loopback interface by what its two copies of each byte cost here.
//!
//! In the unit of the metric that heads the row: B/s of user data, or s for a ping-pong.

use std::net::IpAddr;

use model::experiment::NetParams;
use model::io::{Direction, NetMode, Protocol};
use model::machine::{Machine, Nic};
use model::peak::{Peak, PeakInput, PeakKind};
use model::unit::format_size;

use crate::declared::Declared;
use crate::disk_request::bytes_rate;

/// The path of a row that stays in this machine.
const LOOPBACK: &str = "loopback";

/// The peaks of a network row.
///
/// `interface` is the one that leads to the peer ([`crate::interface_to`]), where that is known; without it there is no
/// link and no size of packets. `two_copy_bytes_per_second` is what was measured beside a loopback row: each byte
/// copied twice, the second time from where the first put it, on the row's CPUs.
pub fn net_peaks(
    machine: &Machine,
    declared: &Declared,
    params: &NetParams,
    interface: Option<&str>,
    two_copy_bytes_per_second: Option<f64>,
) -> Vec<Peak> {
    if params.path == LOOPBACK {
        return loopback(params, two_copy_bytes_per_second).into_iter().collect();
    }
    let nic = interface.and_then(|name| machine.nics.iter().find(|nic| nic.name == name));
    if params.mode == NetMode::Pingpong {
        return declared_latency(declared).into_iter().collect();
    }
    if !moves_bytes(params.mode) || nic.is_some_and(|nic| nic.kind.as_deref() == Some(LOOPBACK)) {
        return Vec::new();
    }
    let wire = Wire::of(params, nic);
    let declared = declared.get("net.link_bps").map(|bits| (PeakKind::Declared, bits, "declared".to_owned()));
    let negotiated = nic.filter(|nic| nic.speed_trusted == Some(true)).and_then(|nic| {
        let source = format!("speed of {} ({})", nic.name, nic.driver.as_deref().unwrap_or_default());
        Some((PeakKind::Link, nic.speed_bps?, source))
    });
    [declared, negotiated].into_iter().flatten().map(|(kind, bits, source)| wire.peak(kind, bits, source)).collect()
}

/// Whether a row of this mode is headed by bytes per second.
fn moves_bytes(mode: NetMode) -> bool {
    matches!(mode, NetMode::Stream | NetMode::Transfer | NetMode::NoDrop | NetMode::Blast)
}

fn loopback(params: &NetParams, two_copies: Option<f64>) -> Option<Peak> {
    let streams = matches!(params.mode, NetMode::Stream | NetMode::NoDrop | NetMode::Blast);
    let value = two_copies.filter(|rate| streams && rate.is_finite() && *rate > 0.0)?;
    Some(Peak {
        kind: PeakKind::MeasuredCeiling,
        value,
        formula: format!("{} through two dependent copies of each byte, measured beside the row", bytes_rate(value)),
        inputs: vec![input("copied twice, B/s", value, "measured on the row's CPUs: into a buffer, and out of it")],
        uncertainty: None,
    })
}

fn declared_latency(declared: &Declared) -> Option<Peak> {
    let seconds = declared.get("net.latency_s")?;
    Some(Peak {
        kind: PeakKind::Declared,
        value: seconds,
        formula: format!("{seconds} s declared"),
        inputs: vec![input("net.latency_s", seconds, "declared")],
        uncertainty: None,
    })
}

fn input(name: &str, value: f64, source: &str) -> PeakInput {
    PeakInput { name: name.to_owned(), value, source: source.to_owned() }
}

/// How user data travels: which share of a link's bits it is, and over how many directions.
struct Wire {
    /// User bytes in bytes on the link, with how that came about; `None` where the size of packets is not known.
    payload: Option<(f64, String)>,
    directions: u32,
}

/// Around each Ethernet frame: header 14, check sequence 4, preamble 8, gap 12 (IEEE 802.3).
const FRAME_BYTES: f64 = 38.0;
/// The least an Ethernet frame takes with all that (64 + 8 + 12).
const LEAST_FRAME_BYTES: f64 = 84.0;
/// TCP's header with the time stamps that Linux sends unless told not to (RFC 793, RFC 7323).
const TCP_HEADER_BYTES: f64 = 32.0;
/// UDP's header (RFC 768).
const UDP_HEADER_BYTES: f64 = 8.0;

impl Wire {
    fn of(params: &NetParams, nic: Option<&Nic>) -> Self {
        let directions = if params.direction == Some(Direction::Both) { 2 } else { 1 };
        // Other kinds of link put other things around a packet.
        let mtu = nic.filter(|nic| nic.kind.as_deref() == Some("ethernet")).and_then(|nic| nic.mtu);
        // 1280 is the least that carries IPv6, 576 what every host takes of IPv4 (RFC 8200, RFC 791).
        let payload = mtu.filter(|mtu| *mtu >= 576).map(|mtu| {
            let ip = ip_header(&params.path);
            let (share, over) = match params.protocol {
                Protocol::Tcp => (tcp_payload(f64::from(mtu), ip), "TCP with time stamps".to_owned()),
                Protocol::Udp => (udp_payload(params.block, mtu, ip), format!("UDP, {}", format_size(params.block))),
            };
            (share, format!("{over} in packets of {mtu} B on Ethernet"))
        });
        Self { payload, directions }
    }

    fn peak(&self, kind: PeakKind, bits: f64, source: String) -> Peak {
        let mut formula = format!("{} / 8", bits_rate(bits));
        let mut inputs = vec![PeakInput { name: "bit/s".to_owned(), value: bits, source }];
        let mut value = bits / 8.0;
        if let Some((share, how)) = &self.payload {
            value *= share;
            formula = format!("{formula} x {share:.4} payload");
            inputs.push(input("payload", *share, how));
        }
        if self.directions > 1 {
            let directions = f64::from(self.directions);
            value *= directions;
            formula = format!("{formula} x {directions} directions");
            inputs.push(input("directions", directions, "full duplex"));
        }
        Peak { kind, value, formula, inputs, uncertainty: None }
    }
}

/// IP's header: of version 6 where the peer is named by such an address, else of version 4.
fn ip_header(path: &str) -> f64 {
    let host = path.strip_prefix('[').and_then(|rest| rest.split(']').next()).unwrap_or(path);
    if host.parse::<IpAddr>().is_ok_and(|address| address.is_ipv6()) { 40.0 } else { 20.0 }
}

fn tcp_payload(mtu: f64, ip: f64) -> f64 {
    (mtu - ip - TCP_HEADER_BYTES) / (mtu + FRAME_BYTES)
}

/// A datagram that does not fit into one packet travels in several, each but the last a multiple of 8 B.
fn udp_payload(block: u64, mtu: u32, ip: f64) -> f64 {
    /// Where version 6 says which piece of a datagram a packet is (RFC 8200); version 4 says it in its header.
    const FRAGMENT_HEADER_BYTES: f64 = 8.0;
    #[expect(clippy::cast_precision_loss, reason = "a datagram is below 2^16 B")]
    let (block, mtu) = (block as f64, f64::from(mtu));
    let datagram = block + UDP_HEADER_BYTES;
    let frame = |data: f64, headers: f64| (data + headers + FRAME_BYTES).max(LEAST_FRAME_BYTES);
    if datagram <= mtu - ip {
        return block / frame(datagram, ip);
    }
    let headers = if ip > 20.0 { ip + FRAGMENT_HEADER_BYTES } else { ip };
    let piece = ((mtu - headers) / 8.0).floor() * 8.0;
    let whole = (datagram / piece).floor();
    let rest = datagram - whole * piece;
    let last = if rest > 0.0 { frame(rest, headers) } else { 0.0 };
    block / (whole * frame(piece, headers) + last)
}

/// A rate for a formula: `25 Gbit/s`.
fn bits_rate(bits: f64) -> String {
    let (value, unit) = match bits {
        1e9.. => (bits / 1e9, "Gbit/s"),
        1e6.. => (bits / 1e6, "Mbit/s"),
        _ => (bits, "bit/s"),
    };
    let shown = format!("{value:.3}");
    format!("{} {unit}", shown.trim_end_matches('0').trim_end_matches('.'))
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "figures that are exact, or rounded the same way")]
mod tests {
    use super::*;

    fn row(protocol: Protocol, mode: NetMode, block: u64, path: &str) -> NetParams {
        let direction = Some(Direction::Up);
        NetParams {
            protocol,
            mode,
            block,
            direction,
            threads: 1,
            path: path.into(),
            zero_copy: None,
            segmentation: None,
            loss_goal_per_million: None,
            wait: None,
        }
    }

    fn stream(path: &str) -> NetParams {
        row(Protocol::Tcp, NetMode::Stream, 128 << 10, path)
    }

    fn machine(kind: &str, mtu: u32, trusted: bool) -> Machine {
        let nic = Nic {
            name: "eth0".into(),
            speed_bps: Some(1e10),
            speed_trusted: Some(trusted),
            kind: Some(kind.into()),
            driver: Some("ice".into()),
            mtu: Some(mtu),
            ..Nic::default()
        };
        let inside = Nic { name: "lo".into(), kind: Some("loopback".into()), mtu: Some(65536), ..Nic::default() };
        Machine { nics: vec![nic, inside], ..Machine::default() }
    }

    fn peaks(machine: &Machine, declared: &[&str], params: &NetParams, interface: Option<&str>) -> Vec<Peak> {
        net_peaks(machine, &Declared::parse(declared).unwrap(), params, interface, None)
    }

    /// In hundredths of a percent, as the table of `network.md` 5.1 rounds.
    fn share(share: f64) -> f64 {
        (share * 1e4).round() / 100.0
    }

    #[test]
    fn packets_leave_this_much_for_data() {
        assert_eq!(
            [(1500.0, 20.0), (9000.0, 20.0), (1400.0, 20.0)].map(|(mtu, ip)| share(tcp_payload(mtu, ip))),
            [94.15, 99.0, 93.74]
        );
        assert_eq!([1500.0, 9000.0].map(|mtu| share(tcp_payload(mtu, 40.0))), [92.85, 98.78]);
        let udp = [(1472, 1500), (8972, 9000), (1, 1500), (1024, 1500), (32 << 10, 1500), (32 << 10, 9000)];
        assert_eq!(
            udp.map(|(block, mtu)| share(udp_payload(block, mtu, 20.0))),
            [95.71, 99.27, 1.19, 93.94, 96.07, 99.27]
        );
    }

    #[test]
    fn a_negotiated_link_is_a_peak_where_hardware_says_so() {
        let found = peaks(&machine("ethernet", 1500, true), &[], &stream("192.0.2.1"), Some("eth0"));
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].kind, (found[0].value / 1e6).round()), (PeakKind::Link, 1177.0), "9.415 Gbit/s");
        assert_eq!(found[0].formula, "10 Gbit/s / 8 x 0.9415 payload");
        let six = peaks(&machine("ethernet", 1500, true), &[], &stream("[2001:db8::1]:5211"), Some("eth0"));
        assert_eq!((six[0].value / 1e6).round(), 1161.0);
        assert!(peaks(&machine("ethernet", 1500, false), &[], &stream("peer"), Some("eth0")).is_empty());
        assert!(peaks(&machine("ethernet", 1500, true), &[], &stream("peer"), None).is_empty());
        assert!(peaks(&machine("ethernet", 1500, true), &[], &stream("peer"), Some("eth7")).is_empty());
    }

    #[test]
    fn a_declared_link_goes_by_the_interfaces_packets_if_they_are_known() {
        let machine = machine("ethernet", 9000, false);
        let known = peaks(&machine, &["net.link_bps=25e9"], &stream("peer"), Some("eth0"));
        assert_eq!((known[0].kind, known[0].formula.as_str()), (PeakKind::Declared, "25 Gbit/s / 8 x 0.9900 payload"));
        let unknown = peaks(&machine, &["net.link_bps=25e9"], &stream("peer"), None);
        assert_eq!((unknown[0].value, unknown[0].formula.as_str()), (3.125e9, "25 Gbit/s / 8"));
        let both = NetParams { direction: Some(Direction::Both), ..stream("peer") };
        assert_eq!(peaks(&machine, &["net.link_bps=8"], &both, None)[0].value, 2.0);
    }

    #[test]
    fn other_kinds_of_link_are_taken_whole() {
        let found = peaks(&machine("infiniband", 2044, true), &[], &stream("peer"), Some("eth0"));
        assert_eq!(found[0].value, 1.25e9);
    }

    #[test]
    fn a_round_trip_has_only_its_declared_peak() {
        let pingpong = row(Protocol::Udp, NetMode::Pingpong, 1, "peer");
        let found =
            peaks(&machine("ethernet", 1500, true), &["net.latency_s=1e-6", "net.link_bps=1e9"], &pingpong, None);
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].kind, found[0].value), (PeakKind::Declared, 1e-6));
        assert!(peaks(&Machine::default(), &["net.link_bps=1e9"], &pingpong, None).is_empty());
        let connect = row(Protocol::Tcp, NetMode::Connect, 1, "peer");
        assert!(peaks(&Machine::default(), &["net.link_bps=1e9"], &connect, None).is_empty());
    }

    #[test]
    fn inside_the_machine_only_what_was_measured_counts() {
        let inside = |params: &NetParams, measured: Option<f64>| {
            let declared = Declared::parse(&["net.link_bps=1e9", "net.latency_s=1"]).unwrap();
            net_peaks(&machine("ethernet", 1500, true), &declared, params, Some("lo"), measured)
        };
        let found = inside(&stream("loopback"), Some(5e9));
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].kind, found[0].value), (PeakKind::MeasuredCeiling, 5e9));
        assert!(inside(&stream("loopback"), None).is_empty());
        assert!(inside(&stream("loopback"), Some(f64::NAN)).is_empty());
        assert!(inside(&row(Protocol::Tcp, NetMode::Pingpong, 1, "loopback"), Some(5e9)).is_empty());
        assert!(inside(&stream("127.0.0.1"), Some(5e9)).is_empty(), "a declared link is not that of lo");
    }
}
