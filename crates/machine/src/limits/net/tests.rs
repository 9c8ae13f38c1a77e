#![expect(clippy::float_cmp, reason = "values that are exact or rounded the same way")]

use super::*;
use model::io::Protocol;
use model::machine::{DiskLink, InfinibandPort};

fn row(protocol: Protocol, mode: NetMode, block: u64, path: &str) -> NetParams {
    NetParams { path: path.into(), ..crate::limits::peaks::net_row(protocol, mode, block, Some(Direction::Up)) }
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

fn path<'a>(near: &'a Machine, interface: Option<&'a str>) -> NetPath<'a> {
    let near = NetEnd { machine: near, interface };
    NetPath { near, far: None, is_version_6: None, two_copy_bytes_per_second: None }
}

fn peaks(machine: &Machine, declared: &[&str], params: &NetParams, interface: Option<&str>) -> Vec<Peak> {
    net_peaks(&path(machine, interface), &Declared::parse(declared).unwrap(), params)
}

fn card(name: &str, bits: f64) -> Nic {
    Nic {
        name: name.into(),
        speed_bps: Some(bits),
        speed_trusted: Some(true),
        kind: Some("ethernet".into()),
        mtu: Some(1500),
        is_virtual: Some(false),
        ..Nic::default()
    }
}

fn on_top(name: &str, layer: &str, lower: &[&str]) -> Nic {
    Nic {
        layer: Some(layer.into()),
        lower: lower.iter().map(|name| (*name).to_owned()).collect(),
        speed_bps: None,
        speed_trusted: None,
        is_virtual: Some(true),
        ..card(name, 1.0)
    }
}

/// Gbit/s of data of a stream with this number of threads; 0 if no peak is known.
fn gigabits(machine: &Machine, interface: &str, threads: u32) -> f64 {
    let params = NetParams { threads, ..stream("peer") };
    let found = peaks(machine, &[], &params, Some(interface));
    found.first().map_or(0.0, |peak| (peak.value * 8.0 / 1e7).round() / 100.0)
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
    let found = peaks(&machine("token ring", 1500, true), &[], &stream("peer"), Some("eth0"));
    assert_eq!(found[0].value, 1.25e9);
}

#[test]
fn a_round_trip_takes_its_adapters_and_its_frames() {
    let pingpong = row(Protocol::Udp, NetMode::Pingpong, 1, "peer");
    let machine = machine("ethernet", 1500, true);
    let found = peaks(&machine, &["net.latency_s=1e-6"], &pingpong, None);
    assert_eq!((found.len(), found[0].kind, found[0].value), (1, PeakKind::Declared, 1e-6));
    let found = peaks(&machine, &["net.latency_s=1e-6"], &pingpong, Some("eth0"));
    assert_eq!(found[0].formula, "1 us declared + 0.134 us on the wire", "two frames of 84 B at 10 Gbit/s");
    let found = peaks(&machine, &["net.latency_s=1e-6", "net.link_bps=1e9"], &pingpong, Some("eth0"));
    assert_eq!(found[0].formula, "1 us declared + 1.344 us on the wire");
    let large = NetParams { block: 64 << 10, protocol: Protocol::Tcp, ..pingpong.clone() };
    let found = peaks(&machine, &["net.latency_s=1e-6"], &large, Some("eth0"));
    assert_eq!(found[0].formula, "1 us declared + 111.482 us on the wire", "46 frames there, and 46 back");
    assert!(peaks(&machine, &["net.link_bps=1e9"], &pingpong, Some("eth0")).is_empty(), "a floor alone is no peak");
}

#[test]
fn a_connection_takes_two_round_trips() {
    let connect = NetParams { threads: 4, ..row(Protocol::Tcp, NetMode::Connect, 1, "peer") };
    let found = peaks(&Machine::default(), &["net.latency_s=1e-5"], &connect, None);
    assert_eq!((found[0].kind, found[0].value.round()), (PeakKind::Declared, 200_000.0));
    assert_eq!(found[0].formula, "4 / (2 x (10 us declared))");
    assert!(peaks(&Machine::default(), &["net.link_bps=1e9"], &connect, None).is_empty());
}

#[test]
fn infiniband_carries_less_than_it_signals_and_its_adapters_have_a_latency() {
    let port = |generation: &str, data_bps: f64| Nic {
        kind: Some("infiniband".into()),
        mtu: Some(2044),
        infiniband: Some(InfinibandPort {
            device: "mlx5_0".into(),
            rate: format!("56 Gb/sec (4X {generation})"),
            generation: Some(generation.into()),
            data_bps: Some(data_bps),
            ..InfinibandPort::default()
        }),
        ..card("ib0", 56e9)
    };
    let machine = |generation, data| Machine { nics: vec![port(generation, data)], ..Machine::default() };
    let (fdr, qdr) = (machine("FDR", 54.545e9), machine("QDR", 32e9));
    let found = peaks(&fdr, &[], &stream("peer"), Some("ib0"));
    assert!(found[0].formula.starts_with("54.545 Gbit/s / 8 x 0.95"), "{}", found[0].formula);
    let pingpong = row(Protocol::Udp, NetMode::Pingpong, 1, "peer");
    let latency = peaks(&fdr, &[], &pingpong, Some("ib0"));
    assert_eq!((latency[0].kind, latency.len()), (PeakKind::Datasheet, 1));
    assert!(latency[0].formula.starts_with("1.4 us adapters + 0.0"), "{}", latency[0].formula);
    let between = NetPath { far: Some(NetEnd { machine: &qdr, interface: Some("ib0") }), ..path(&fdr, Some("ib0")) };
    let declared = Declared::default();
    assert!(net_peaks(&between, &declared, &stream("peer"))[0].formula.starts_with("32 Gbit/s"));
    assert!(net_peaks(&between, &declared, &pingpong)[0].formula.starts_with("2.6 us adapters"));
}

#[test]
fn the_narrower_end_sets_the_pace_and_the_smaller_packets() {
    let (ten, one) = (machine("ethernet", 9000, true), Machine { nics: vec![card("eno1", 1e9)], ..Machine::default() });
    let far = Some(NetEnd { machine: &one, interface: Some("eno1") });
    let between = NetPath { far, ..path(&ten, Some("eth0")) };
    let found = net_peaks(&between, &Declared::default(), &stream("peer"));
    assert_eq!((found.len(), found[0].formula.as_str()), (1, "1 Gbit/s / 8 x 0.9415 payload"));
    let six = NetPath { is_version_6: Some(true), ..between };
    assert_eq!(net_peaks(&six, &Declared::default(), &stream("peer"))[0].formula, "1 Gbit/s / 8 x 0.9285 payload");
    let unknown = Machine { nics: vec![Nic { speed_trusted: Some(false), ..card("eth0", 1e9) }], ..Machine::default() };
    let between =
        NetPath { far: Some(NetEnd { machine: &ten, interface: Some("eth0") }), ..path(&unknown, Some("eth0")) };
    assert!(net_peaks(&between, &Declared::default(), &stream("peer"))[0].formula.starts_with("10 Gbit/s"));
}

#[test]
fn a_flow_over_a_bond_has_one_of_its_ports() {
    let bond = |mode: &str| Machine {
        nics: vec![
            card("eth0", 1e10),
            card("eth1", 25e9),
            Nic { bond_mode: Some(mode.into()), ..on_top("bond0", "bond", &["eth0", "eth1"]) },
        ],
        ..Machine::default()
    };
    let of = |mode: &str| [1, 2, 8].map(|threads| gigabits(&bond(mode), "bond0", threads));
    assert_eq!(of("802.3ad"), [23.54, 32.95, 32.95]);
    assert_eq!(of("balance-xor"), [23.54, 32.95, 32.95]);
    assert_eq!(of("balance-rr"), [32.95, 32.95, 32.95]);
    assert_eq!(of("broadcast"), [9.41, 9.41, 9.41]);
    let mut one_unknown = bond("802.3ad");
    one_unknown.nics[1].speed_trusted = Some(false);
    assert_eq!(gigabits(&one_unknown, "bond0", 1), 0.0);
    let team = Machine {
        nics: vec![card("eth0", 1e10), card("eth1", 1e10), on_top("team0", "team", &["eth0", "eth1"])],
        ..Machine::default()
    };
    assert_eq!(gigabits(&team, "team0", 1), 18.83, "how it spreads them is not known");
}

#[test]
fn a_stacked_interface_has_the_link_below() {
    let machine = Machine {
        nics: vec![
            card("eth0", 1e10),
            Nic { speed_trusted: Some(false), is_virtual: Some(true), ..card("veth1", 1e10) },
            on_top("eth0.7", "vlan", &["eth0"]),
            on_top("macvlan0", "stacked", &["eth0"]),
            on_top("br0", "bridge", &["eth0.7", "veth1"]),
            on_top("br1", "bridge", &["veth1"]),
            on_top("loop0", "vlan", &["loop1"]),
            on_top("loop1", "vlan", &["loop0"]),
        ],
        ..Machine::default()
    };
    let of = |interface| gigabits(&machine, interface, 1);
    assert_eq!([of("eth0"), of("macvlan0")], [9.41, 9.41]);
    assert_eq!([of("eth0.7"), of("br0")], [9.39, 9.39], "the tag of the virtual LAN");
    assert_eq!([of("br1"), of("veth1"), of("loop0"), of("none")], [0.0; 4]);
}

#[test]
fn a_slot_may_be_narrower_than_the_link() {
    let slot = |bytes_per_second| DiskLink {
        kind: "pcie".into(),
        bytes_per_second,
        detail: "PCIe 3.0 x8, 8 GT/s".into(),
        ..DiskLink::default()
    };
    let with =
        |bytes| Machine { nics: vec![Nic { bus: Some(slot(bytes)), ..card("eth0", 1e11) }], ..Machine::default() };
    // 63 Gbit/s, of which 57.6 are data, and of those 1448 of 1514 B user data.
    assert_eq!(gigabits(&with(7_877_000_000), "eth0", 1), 55.1);
    let found = peaks(&with(7_877_000_000), &[], &stream("peer"), Some("eth0"));
    assert!(found[0].formula.contains("PCIe 3.0 x8"), "{}", found[0].formula);
    assert_eq!(gigabits(&with(31_506_000_000), "eth0", 1), 94.15, "a wider one limits nothing");
}

#[test]
fn half_duplex_has_one_link_for_both_directions() {
    let both = NetParams { direction: Some(Direction::Both), ..stream("peer") };
    let of = |duplex: &str| {
        let nic = Nic { duplex: Some(duplex.into()), ..card("eth0", 1e8) };
        (peaks(&Machine { nics: vec![nic], ..Machine::default() }, &[], &both, Some("eth0"))[0].value / 1e4).round()
    };
    assert_eq!((of("full"), of("half")), (2354.0, 1177.0));
}

#[test]
fn inside_the_machine_only_what_was_measured_counts() {
    let inside = |params: &NetParams, measured: Option<f64>| {
        let declared = Declared::parse(&["net.link_bps=1e9", "net.latency_s=1"]).unwrap();
        let machine = machine("ethernet", 1500, true);
        let path = NetPath { two_copy_bytes_per_second: measured, ..path(&machine, Some("lo")) };
        net_peaks(&path, &declared, params)
    };
    let found = inside(&stream("loopback"), Some(5e9));
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].kind, found[0].value), (PeakKind::MeasuredCeiling, 5e9));
    assert!(inside(&stream("loopback"), None).is_empty());
    assert!(inside(&stream("loopback"), Some(f64::NAN)).is_empty());
    assert!(inside(&row(Protocol::Tcp, NetMode::Pingpong, 1, "loopback"), Some(5e9)).is_empty());
    for mode in [NetMode::Stream, NetMode::Pingpong] {
        let to_itself = row(Protocol::Tcp, mode, 1, "127.0.0.1");
        assert!(inside(&to_itself, Some(5e9)).is_empty(), "what is declared is not of lo");
    }
}
