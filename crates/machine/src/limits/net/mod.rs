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
use model::number::{UnitScale, exact_bit_rate, exact_byte_rate};
use model::peak::{Peak, PeakInput, PeakKind};
use model::unit::format_size;

use crate::declared::Declared;
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
    let way = BenchmarkPath { ends: ends(path), params, is_version_6 };
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
        formula: format!(
            "{} through two dependent copies of each byte, measured beside the row",
            exact_byte_rate(value)
        ),
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
struct BenchmarkPath<'a> {
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

impl BenchmarkPath<'_> {
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
        Frames::on_link(port, ports.mtu?, ports.tags, self.is_version_6)
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
            formula: format!("{} ({}) x {BUS_SHARE:.4} x {share:.4} payload", exact_byte_rate(bytes), bus.detail),
            inputs: vec![
                input("slot of the adapter, B/s", bytes, &bus.source),
                input("data on PCI Express", BUS_SHARE, "packets of 256 B with headers of 24 B"),
                input("payload", share, &frames.words()),
            ],
        })
    }

    /// The user data of so many bits per second.
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
            let mut formula = format!("{} {what}", UnitScale::MICROSECONDS.trimmed(seconds));
            let mut inputs = vec![input(what, seconds, source)];
            if let Some((wire, wire_input)) = self.on_wire(declared) {
                value += wire;
                formula = format!("{formula} + {} on the wire", UnitScale::MICROSECONDS.trimmed(wire));
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
            let how = format!("2 x {bytes} B at {}, {source}", exact_bit_rate(bits));
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

#[cfg(test)]
mod tests;
