//! What a network row could reach at best: by the declared or the negotiated link and what packets leave of it, by the
//! adapters' round trip; on the loopback interface by what its two copies of each byte cost here.
//!
//! In the unit of the metric that heads the row: B/s of user data, s for round trips, 1/s for connections.

pub(crate) mod frames;
pub(crate) mod path;

use std::net::IpAddr;

use model::experiment::{LOOPBACK, NetParams};
use model::io::{Direction, NetMode};
use model::machine::{Machine, Nic};
use model::peak::{Peak, PeakInput, PeakKind};
use model::unit::format_size;

use crate::declared::Declared;
use crate::limits::disk::request::bytes_rate;
use crate::limits::net::frames::Frames;
use crate::limits::net::path::{Ports, Spread, link_bps, ports};
use crate::net::infiniband::generation;

/// Share of what PCI Express carries that is data: 256 B in each packet, as most root ports are set, with 24 B of headers.
const BUS_SHARE: f64 = 256.0 / 280.0;

/// Round trips of a connection: one to set it up, one for its byte.
const TRIPS_PER_CONNECTION: f64 = 2.0;

/// One end of a connection.
#[derive(Clone, Copy, Debug)]
pub struct NetEnd<'a> {
    /// The machine.
    pub machine: &'a Machine,
    /// The interface that leads to the other end ([`crate::interface_to`]); without it there is no link and no size of
    /// packets.
    pub interface: Option<&'a str>,
}

/// The way between two ends.
#[derive(Clone, Copy, Debug)]
pub struct NetPath<'a> {
    /// The end where the run is.
    pub near: NetEnd<'a>,
    /// The other end, where another host has said what it is.
    pub far: Option<NetEnd<'a>>,
    /// Whether packets are IP's version 6; where that is not known, the peer's name may tell.
    pub is_version_6: Option<bool>,
    /// What was measured beside a loopback row: each byte copied twice, the second time from where the first put it, on
    /// the row's CPUs.
    pub two_copy_bytes_per_second: Option<f64>,
}

/// The peaks of a network row.
pub fn net_peaks(path: &NetPath<'_>, declared: &Declared, params: &NetParams) -> Vec<Peak> {
    if params.path == LOOPBACK {
        return loopback(params, path.two_copy_bytes_per_second).into_iter().collect();
    }
    let is_version_6 = path.is_version_6.unwrap_or_else(|| names_version_6(&params.path));
    let way = Way { ends: ends(path), params, is_version_6 };
    // A peer's address that is our own leads through memory.
    if way.ends.iter().flat_map(|ports| &ports.carriers).any(|port| port.kind.as_deref() == Some(LOOPBACK)) {
        return Vec::new();
    }
    match params.mode {
        NetMode::Stream | NetMode::NoDrop | NetMode::Blast | NetMode::Transfer => way.rates(declared),
        NetMode::Pingpong | NetMode::Load => way.round_trips(declared),
        NetMode::Connect => {
            way.round_trips(declared).into_iter().map(|peak| connections(peak, params.threads)).collect()
        }
    }
}

/// The hardware at each end that is known, with the smaller of the largest packets: neither sends what the other does not
/// take.
fn ends<'a>(path: &NetPath<'a>) -> Vec<Ports<'a>> {
    let of = |end: NetEnd<'a>| ports(end.machine, end.interface?);
    let mut ends: Vec<Ports<'_>> = [of(path.near), path.far.and_then(of)].into_iter().flatten().collect();
    let mtu = ends.iter().filter_map(|ports| ports.mtu).min();
    for ports in &mut ends {
        ports.mtu = mtu;
    }
    ends
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

fn input(name: &str, value: f64, source: &str) -> PeakInput {
    PeakInput { name: name.to_owned(), value, source: source.to_owned() }
}

/// The connections that can be set up one after the other, from the time of a round trip.
fn connections(round_trip: Peak, threads: u32) -> Peak {
    let threads = f64::from(threads);
    let mut inputs = round_trip.inputs;
    inputs.push(input("round trips a connection", TRIPS_PER_CONNECTION, "one to set it up, one for its byte"));
    Peak {
        value: threads / (TRIPS_PER_CONNECTION * round_trip.value),
        formula: format!("{threads} / ({TRIPS_PER_CONNECTION} x ({}))", round_trip.formula),
        inputs,
        ..round_trip
    }
}

/// The way of a row.
struct Way<'a> {
    ends: Vec<Ports<'a>>,
    params: &'a NetParams,
    is_version_6: bool,
}

/// A rate of user data, and how it came about.
struct Rate {
    value: f64,
    formula: String,
    inputs: Vec<PeakInput>,
}

impl Way<'_> {
    /// What can pass: by the link that was declared, and by those that were negotiated.
    fn rates(&self, declared: &Declared) -> Vec<Peak> {
        let by_owner = declared.get("net.link_bps").map(|bits| {
            let frames = self.ends.iter().find_map(|ports| self.frames(ports, ports.carriers.first()?));
            let inputs = vec![input("bit/s", bits, "declared")];
            let rate = self.framed(bits, inputs, frames.as_ref());
            self.both_ways(PeakKind::Declared, rate, false)
        });
        let narrow = self.ends.iter().filter_map(|ports| Some((self.end_rate(ports)?, is_half_duplex(ports))));
        let narrow = narrow.min_by(|(one, _), (other, _)| one.value.total_cmp(&other.value));
        let negotiated = narrow.map(|(rate, is_half_duplex)| self.both_ways(PeakKind::Link, rate, is_half_duplex));
        by_owner.into_iter().chain(negotiated).collect()
    }

    /// The frames of a port.
    fn frames(&self, ports: &Ports<'_>, port: &Nic) -> Option<Frames> {
        Frames::of(port, ports.mtu?, ports.tags, self.is_version_6)
    }

    /// What an end can pass on in one direction; `None` where the rate of a port is not known.
    fn end_rate(&self, ports: &Ports<'_>) -> Option<Rate> {
        let links: Option<Vec<(&Nic, Rate)>> =
            ports.carriers.iter().map(|port| Some((*port, self.link_rate(ports, port)?))).collect();
        let mut links = links.filter(|links| !links.is_empty())?;
        links.sort_by(|(_, one), (_, other)| other.value.total_cmp(&one.value));
        match ports.spread {
            // As many ports as there are flows at most, and at best the fastest.
            Spread::PerFlow => links.truncate(self.params.threads.max(1) as usize),
            Spread::Striped => {}
            Spread::Everywhere => drop(links.drain(..links.len() - 1)),
        }
        let mut rates: Vec<Rate> = Vec::new();
        while let Some(port) = links.first().map(|(port, _)| *port) {
            // The ports of one adapter share its slot.
            let (together, rest): (Vec<_>, Vec<_>) = links.into_iter().partition(|(other, _)| same_slot(port, other));
            links = rest;
            let sum: f64 = together.iter().map(|(_, rate)| rate.value).sum();
            match self.slot_rate(ports, port).filter(|slot| slot.value < sum) {
                Some(slot) => rates.push(slot),
                None => rates.extend(together.into_iter().map(|(_, rate)| rate)),
            }
        }
        let several = rates.len() > 1;
        let formula = |rate: &Rate| if several { format!("({})", rate.formula) } else { rate.formula.clone() };
        Some(Rate {
            value: rates.iter().map(|rate| rate.value).sum(),
            formula: rates.iter().map(formula).collect::<Vec<_>>().join(" + "),
            inputs: rates.into_iter().flat_map(|rate| rate.inputs).collect(),
        })
    }

    /// What a port's link can pass on.
    fn link_rate(&self, ports: &Ports<'_>, port: &Nic) -> Option<Rate> {
        let bits = link_bps(port)?;
        let frames = self.frames(ports, port);
        Some(self.framed(bits, vec![input("bit/s", bits, &source(port))], frames.as_ref()))
    }

    /// What the slot can pass on that a port's adapter is in.
    fn slot_rate(&self, ports: &Ports<'_>, port: &Nic) -> Option<Rate> {
        let (bus, frames) = port.bus.as_ref().zip(self.frames(ports, port))?;
        #[expect(clippy::cast_precision_loss, reason = "a rate far below 2^53 B/s")]
        let bytes = bus.bytes_per_second as f64;
        let share = frames.share_fetched(self.params.protocol, self.params.block);
        Some(Rate {
            value: bytes * BUS_SHARE * share,
            formula: format!("{} ({}) x {BUS_SHARE:.4} x {share:.4} payload", bytes_rate(bytes), bus.detail),
            inputs: vec![
                input("slot of the adapter, B/s", bytes, &bus.source),
                input("data on PCI Express", BUS_SHARE, "packets of 256 B with headers of 24 B"),
                input("payload", share, &frames.words()),
            ],
        })
    }

    /// The user data of so many bits per second.
    fn framed(&self, bits: f64, mut inputs: Vec<PeakInput>, frames: Option<&Frames>) -> Rate {
        let mut formula = format!("{} / 8", bits_rate(bits));
        let Some(frames) = frames else { return Rate { value: bits / 8.0, formula, inputs } };
        let NetParams { protocol, block, .. } = *self.params;
        let share = frames.share(protocol, block);
        let over = match protocol {
            model::io::Protocol::Tcp => "TCP with time stamps".to_owned(),
            model::io::Protocol::Udp => format!("UDP, {}", format_size(block)),
        };
        inputs.push(input("payload", share, &format!("{over} in {}", frames.words())));
        formula = format!("{formula} x {share:.4} payload");
        Rate { value: bits / 8.0 * share, formula, inputs }
    }

    /// Where both directions are measured at once they have a link each, unless they share it.
    fn both_ways(&self, kind: PeakKind, rate: Rate, is_half_duplex: bool) -> Peak {
        let Rate { mut value, mut formula, mut inputs } = rate;
        if is_half_duplex {
            inputs.push(input("directions", 1.0, "half duplex: both share the link"));
        } else if self.params.direction == Some(Direction::Both) {
            value *= 2.0;
            formula = if formula.contains(" + ") { format!("({formula})") } else { formula };
            formula = format!("{formula} x 2 directions");
            inputs.push(input("directions", 2.0, "full duplex"));
        }
        Peak { kind, value, formula, inputs, uncertainty: None }
    }

    /// How long a message takes there and back at least: the adapters, as was declared or by their generation, and the
    /// frames on the wire.
    fn round_trips(&self, declared: &Declared) -> Vec<Peak> {
        let seconds = |kind, seconds: f64, what: &str, source: &str| {
            let mut value = seconds;
            let mut formula = format!("{} {what}", micro(seconds));
            let mut inputs = vec![input(what, seconds, source)];
            if let Some((wire, wire_input)) = self.on_wire(declared) {
                value += wire;
                formula = format!("{formula} + {} on the wire", micro(wire));
                inputs.push(wire_input);
            }
            Peak { kind, value, formula, inputs, uncertainty: None }
        };
        let by_owner = declared
            .get("net.latency_s")
            .map(|time| seconds(PeakKind::Declared, time, "declared", "net.latency_s, declared"));
        by_owner
            .into_iter()
            .chain(self.adapters().map(|(time, name)| {
                let source = format!("table: adapters of {name}, there and back");
                seconds(PeakKind::Datasheet, time, "adapters", &source)
            }))
            .collect()
    }

    /// What InfiniBand adapters take, there and back: the slower of the two ends.
    fn adapters(&self) -> Option<(f64, &str)> {
        let of_port = |port: &Nic| {
            let generation = generation(port.infiniband.as_ref()?.generation.as_deref()?)?;
            Some((2.0 * generation.latency_seconds?, generation.name))
        };
        let all = self.ends.iter().filter_map(|ports| of_port(ports.carriers.first()?));
        all.max_by(|(one, _), (other, _)| one.total_cmp(other))
    }

    /// The time of a message's frames there and back, on the slower of the links.
    fn on_wire(&self, declared: &Declared) -> Option<(f64, PeakInput)> {
        let NetParams { protocol, block, .. } = *self.params;
        let of = |ports: &Ports<'_>| {
            let port = ports.carriers.first()?;
            let (bits, source) = match declared.get("net.link_bps") {
                Some(bits) => (bits, "declared".to_owned()),
                None => (link_bps(port)?, source(port)),
            };
            let bytes = self.frames(ports, port)?.message_bytes(protocol, block);
            let seconds = 2.0 * bytes * 8.0 / bits;
            let how = format!("2 x {bytes} B at {}, {source}", bits_rate(bits));
            Some((seconds, input("frames on the wire, s", seconds, &how)))
        };
        self.ends.iter().filter_map(of).max_by(|(one, _), (other, _)| one.total_cmp(other))
    }
}

/// Whether two ports belong to one adapter, or are one: the same place on the PCI bus, functions apart.
fn same_slot(one: &Nic, other: &Nic) -> bool {
    let place = |nic: &Nic| nic.pci_address.as_ref()?.rsplit_once('.').map(|(place, _)| place.to_owned());
    one.name == other.name || place(one).is_some_and(|of_one| place(other) == Some(of_one))
}

fn is_half_duplex(ports: &Ports<'_>) -> bool {
    ports.carriers.iter().any(|port| port.duplex.as_deref() == Some("half"))
}

/// Where the rate of a port's link comes from.
fn source(port: &Nic) -> String {
    match &port.infiniband {
        Some(infiniband) => format!("{} of {}, less the line code", infiniband.rate, infiniband.device),
        None => format!("speed of {} ({})", port.name, port.driver.as_deref().unwrap_or("no driver known")),
    }
}

/// Whether the peer is named by an address of version 6.
fn names_version_6(path: &str) -> bool {
    let host = path.strip_prefix('[').and_then(|rest| rest.split(']').next()).unwrap_or(path);
    host.parse::<IpAddr>().is_ok_and(|address| address.is_ipv6())
}

/// A short time for a formula: `1.344 us`.
fn micro(seconds: f64) -> String {
    let shown = format!("{:.3}", seconds * 1e6);
    format!("{} us", shown.trim_end_matches('0').trim_end_matches('.'))
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
    use model::io::Protocol;
    use model::machine::{DiskLink, InfinibandPort};

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

    fn path<'a>(near: &'a Machine, interface: Option<&'a str>) -> NetPath<'a> {
        let near = NetEnd { machine: near, interface };
        NetPath { near, far: None, is_version_6: None, two_copy_bytes_per_second: None }
    }

    fn peaks(machine: &Machine, declared: &[&str], params: &NetParams, interface: Option<&str>) -> Vec<Peak> {
        net_peaks(&path(machine, interface), &Declared::parse(declared).unwrap(), params)
    }

    /// A network card of so many bits per second.
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

    /// An interface on top of others.
    fn on_top(name: &str, layer: &str, lower: &[&str]) -> Nic {
        let lower = lower.iter().map(|name| (*name).to_owned()).collect();
        let speeds = (None, None);
        Nic {
            layer: Some(layer.into()),
            lower,
            speed_bps: speeds.0,
            speed_trusted: speeds.1,
            is_virtual: Some(true),
            ..card(name, 1.0)
        }
    }

    /// In Gbit/s of data of a stream over this interface with so many threads; 0 where no peak is known.
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
        // The older of the two ends sets both.
        let between =
            NetPath { far: Some(NetEnd { machine: &qdr, interface: Some("ib0") }), ..path(&fdr, Some("ib0")) };
        let declared = Declared::default();
        assert!(net_peaks(&between, &declared, &stream("peer"))[0].formula.starts_with("32 Gbit/s"));
        assert!(net_peaks(&between, &declared, &pingpong)[0].formula.starts_with("2.6 us adapters"));
    }

    #[test]
    fn the_narrower_end_sets_the_pace_and_the_smaller_packets() {
        let (ten, one) =
            (machine("ethernet", 9000, true), Machine { nics: vec![card("eno1", 1e9)], ..Machine::default() });
        let far = Some(NetEnd { machine: &one, interface: Some("eno1") });
        let between = NetPath { far, ..path(&ten, Some("eth0")) };
        let found = net_peaks(&between, &Declared::default(), &stream("peer"));
        assert_eq!((found.len(), found[0].formula.as_str()), (1, "1 Gbit/s / 8 x 0.9415 payload"));
        let six = NetPath { is_version_6: Some(true), ..between };
        assert_eq!(net_peaks(&six, &Declared::default(), &stream("peer"))[0].formula, "1 Gbit/s / 8 x 0.9285 payload");
        // An end whose link nobody knows leaves the other's.
        let unknown =
            Machine { nics: vec![Nic { speed_trusted: Some(false), ..card("eth0", 1e9) }], ..Machine::default() };
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
    fn what_stands_on_another_interface_has_its_link() {
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
        // 63 Gbit/s, of which 57.6 are data, and of those 1448 of 1514 B ours.
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
}
