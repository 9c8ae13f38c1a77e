//! The limits of a network benchmark: B/s of user data, s for round trips, 1/s for connections.

pub(crate) mod frames;
pub(crate) mod path;

use std::net::IpAddr;

use model::experiment::{LOOPBACK, NetParams};
use model::io::{Direction, NetMode};
use model::machine::{Machine, Nic};
use model::number::{UnitScale, exact_bit_rate, exact_byte_rate};
use model::peak::{Peak, PeakInput, PeakKind};
use model::unit::format_size;

use crate::declared::Declared;
use crate::limits::net::frames::Frames;
use crate::limits::net::path::{Ports, Spread, link_bps, ports};
use crate::limits::{PCIE_DATA_SHARE, input, peak};
use crate::net::infiniband::generation;

/// Round trips of a connection: one for its set-up, one for its byte.
const TRIPS_PER_CONNECTION: f64 = 2.0;

/// One host of a connection.
#[derive(Clone, Copy, Debug)]
pub struct NetEnd<'a> {
    /// The machine.
    pub machine: &'a Machine,
    /// The interface that leads to the peer ([`crate::interface_to`]); without it link and packet size are unknown.
    pub interface: Option<&'a str>,
}

/// A connection between two hosts.
#[derive(Clone, Copy, Debug)]
pub struct NetPath<'a> {
    /// This host.
    pub near: NetEnd<'a>,
    /// The peer, if its facts are known.
    pub far: Option<NetEnd<'a>>,
    /// Whether packets are IPv6; if unknown, the peer's address decides.
    pub is_version_6: Option<bool>,
    /// Measured for a loopback benchmark, on its CPUs: each byte copied twice, the second time from the first copy.
    pub two_copy_bytes_per_second: Option<f64>,
}

/// The peaks of a network benchmark.
pub fn net_peaks(path: &NetPath<'_>, declared: &Declared, params: &NetParams) -> Vec<Peak> {
    if params.path == LOOPBACK {
        return loopback(params, path.two_copy_bytes_per_second).into_iter().collect();
    }
    let is_version_6 = path.is_version_6.unwrap_or_else(|| names_version_6(&params.path));
    let way = BenchmarkPath { ends: ends(path), params, is_version_6 };
    // One of this host's own addresses leads through memory.
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

/// The known hardware at each host, with the smaller packet size of both.
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
    let rate = exact_byte_rate(value);
    let formula = format!("{rate} through two dependent copies of each byte, measured with the benchmark");
    let source = "measured on the benchmark's CPUs: into a buffer and out again";
    Some(peak(PeakKind::MeasuredCeiling, value, formula, vec![input("copied twice, B/s", value, source)]))
}

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

struct BenchmarkPath<'a> {
    ends: Vec<Ports<'a>>,
    params: &'a NetParams,
    is_version_6: bool,
}

struct Rate {
    value: f64,
    formula: String,
    inputs: Vec<PeakInput>,
}

impl BenchmarkPath<'_> {
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

    fn frames(&self, ports: &Ports<'_>, port: &Nic) -> Option<Frames> {
        Frames::on_link(port, ports.mtu?, ports.tags, self.is_version_6)
    }

    /// The rate of one host in one direction; `None` if a port's rate is unknown.
    fn end_rate(&self, ports: &Ports<'_>) -> Option<Rate> {
        let links: Option<Vec<(&Nic, Rate)>> =
            ports.carriers.iter().map(|port| Some((*port, self.link_rate(ports, port)?))).collect();
        let mut links = links.filter(|links| !links.is_empty())?;
        links.sort_by(|(_, one), (_, other)| other.value.total_cmp(&one.value));
        match ports.spread {
            // At most one port per flow, at best the fastest.
            Spread::PerFlow => links.truncate(self.params.threads.max(1) as usize),
            Spread::Striped => {}
            Spread::Everywhere => drop(links.drain(..links.len() - 1)),
        }
        let mut rates: Vec<Rate> = Vec::new();
        while let Some(port) = links.first().map(|(port, _)| *port) {
            // Ports of one adapter share its slot.
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

    fn link_rate(&self, ports: &Ports<'_>, port: &Nic) -> Option<Rate> {
        let bits = link_bps(port)?;
        let frames = self.frames(ports, port);
        Some(self.framed(bits, vec![input("bit/s", bits, &source(port))], frames.as_ref()))
    }

    fn slot_rate(&self, ports: &Ports<'_>, port: &Nic) -> Option<Rate> {
        let (bus, frames) = port.bus.as_ref().zip(self.frames(ports, port))?;
        let bytes = bus.bytes_per_second as f64;
        let share = frames.share_fetched(self.params.protocol, self.params.block);
        Some(Rate {
            value: bytes * PCIE_DATA_SHARE * share,
            formula: format!("{} ({}) x {PCIE_DATA_SHARE:.4} x {share:.4} payload", exact_byte_rate(bytes), bus.detail),
            inputs: vec![
                input("slot of the adapter, B/s", bytes, &bus.source),
                input("data on PCI Express", PCIE_DATA_SHARE, "packets of 256 B with headers of 24 B"),
                input("payload", share, &frames.words()),
            ],
        })
    }

    fn framed(&self, bits: f64, mut inputs: Vec<PeakInput>, frames: Option<&Frames>) -> Rate {
        let mut formula = format!("{} / 8", exact_bit_rate(bits));
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

    /// Both directions at once have a link each, unless the link is half duplex.
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
        peak(kind, value, formula, inputs)
    }

    /// The minimum round trip: the adapters, declared or by generation, and the frames on the wire.
    fn round_trips(&self, declared: &Declared) -> Vec<Peak> {
        let seconds = |kind, seconds: f64, what: &str, source: &str| {
            let mut value = seconds;
            let mut formula = format!("{} {what}", UnitScale::MICROSECONDS.trimmed(seconds));
            let mut inputs = vec![input(what, seconds, source)];
            if let Some((wire, wire_input)) = self.on_wire(declared) {
                value += wire;
                formula = format!("{formula} + {} on the wire", UnitScale::MICROSECONDS.trimmed(wire));
                inputs.push(wire_input);
            }
            peak(kind, value, formula, inputs)
        };
        let by_owner = declared.get("net.latency_s");
        let by_owner = by_owner.map(|time| seconds(PeakKind::Declared, time, "declared", "net.latency_s, declared"));
        let adapters = self.adapters().map(|(time, name)| {
            seconds(PeakKind::Datasheet, time, "adapters", &format!("table: adapters of {name}, round trip"))
        });
        by_owner.into_iter().chain(adapters).collect()
    }

    fn adapters(&self) -> Option<(f64, &str)> {
        let of_port = |port: &Nic| {
            let generation = generation(port.infiniband.as_ref()?.generation.as_deref()?)?;
            Some((2.0 * generation.latency_seconds?, generation.name))
        };
        let all = self.ends.iter().filter_map(|ports| of_port(ports.carriers.first()?));
        all.max_by(|(one, _), (other, _)| one.total_cmp(other))
    }

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
            let how = format!("2 x {bytes} B at {}, {source}", exact_bit_rate(bits));
            Some((seconds, input("frames on the wire, s", seconds, &how)))
        };
        self.ends.iter().filter_map(of).max_by(|(one, _), (other, _)| one.total_cmp(other))
    }
}

fn same_slot(one: &Nic, other: &Nic) -> bool {
    let place = |nic: &Nic| nic.pci_address.as_ref()?.rsplit_once('.').map(|(place, _)| place.to_owned());
    one.name == other.name || place(one).is_some_and(|of_one| place(other) == Some(of_one))
}

fn is_half_duplex(ports: &Ports<'_>) -> bool {
    ports.carriers.iter().any(|port| port.duplex.as_deref() == Some("half"))
}

fn source(port: &Nic) -> String {
    match &port.infiniband {
        Some(infiniband) => format!("{} of {}, less the line code", infiniband.rate, infiniband.device),
        None => format!("speed of {} ({})", port.name, port.driver.as_deref().unwrap_or("no driver known")),
    }
}

fn names_version_6(path: &str) -> bool {
    let host = path.strip_prefix('[').and_then(|rest| rest.split(']').next()).unwrap_or(path);
    host.parse::<IpAddr>().is_ok_and(|address| address.is_ipv6())
}

#[cfg(test)]
mod tests;
