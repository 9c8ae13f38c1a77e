//! From the interface that a connection leaves by down to the hardware that carries its packets: virtual LANs, bonds,
//! teams, bridges.

use model::machine::{Machine, Nic};

/// Interfaces stand on each other no deeper than this; the kernel allows eight (`MAX_NEST_DEV`).
const DEEPEST: u32 = 8;

/// The hardware under an interface.
#[derive(Debug)]
pub(crate) struct Ports<'a> {
    /// The interfaces that packets leave the machine by, the fastest first.
    pub(crate) carriers: Vec<&'a Nic>,
    /// How packets are spread over them.
    pub(crate) spread: Spread,
    /// Tags of virtual LANs on each frame.
    pub(crate) tags: u32,
    /// The largest packet of the interface on top.
    pub(crate) mtu: Option<u32>,
}

/// How packets are spread over several ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spread {
    /// All packets of a flow take the same port.
    PerFlow,
    /// Any packet takes any port.
    Striped,
    /// Every packet takes every port.
    Everywhere,
}

/// The ports under this interface; `None` where it cannot be followed down to hardware.
pub(crate) fn ports<'a>(machine: &'a Machine, name: &str) -> Option<Ports<'a>> {
    let top = nic(machine, name)?;
    let mut ports = below(machine, top, 0)?;
    ports.mtu = top.mtu;
    ports.carriers.sort_by(|one, other| link_bps(other).unwrap_or(0.0).total_cmp(&link_bps(one).unwrap_or(0.0)));
    Some(ports)
}

/// Bits of data per second of a port's link, as hardware says.
pub(crate) fn link_bps(port: &Nic) -> Option<f64> {
    match &port.infiniband {
        Some(port) => port.data_bps,
        None => port.speed_bps.filter(|_| port.speed_trusted == Some(true)),
    }
}

fn nic<'a>(machine: &'a Machine, name: &str) -> Option<&'a Nic> {
    machine.nics.iter().find(|nic| nic.name == name)
}

fn below<'a>(machine: &'a Machine, top: &'a Nic, depth: u32) -> Option<Ports<'a>> {
    if depth > DEEPEST {
        return None;
    }
    let lower = || top.lower.iter().map(|name| nic(machine, name)).collect::<Option<Vec<&Nic>>>();
    match top.layer.as_deref() {
        None => Some(Ports { carriers: vec![top], spread: Spread::PerFlow, tags: 0, mtu: None }),
        Some("bond") => Some(Ports { carriers: lower()?, spread: spread(top), tags: 0, mtu: None }),
        // How a team spreads its packets the kernel does not show: at best over all.
        Some("team") => Some(Ports { carriers: lower()?, spread: Spread::Striped, tags: 0, mtu: None }),
        Some(layer) => {
            // Of the ports of a bridge one leads out, where only one is no other guest's or container's.
            let hardware = |nic: &&Nic| layer != "bridge" || nic.is_virtual == Some(false) || nic.layer.is_some();
            let lower: Vec<&Nic> = lower()?.into_iter().filter(hardware).collect();
            let [lower] = lower.as_slice() else { return None };
            let ports = below(machine, lower, depth + 1)?;
            Some(Ports { tags: ports.tags + u32::from(layer == "vlan"), ..ports })
        }
    }
}

/// How a bond's mode spreads packets (kernel documentation, `networking/bonding.rst`); one that is not known does its
/// best.
fn spread(bond: &Nic) -> Spread {
    match bond.bond_mode.as_deref() {
        Some("active-backup" | "balance-xor" | "802.3ad" | "balance-tlb" | "balance-alb") => Spread::PerFlow,
        Some("broadcast") => Spread::Everywhere,
        _ => Spread::Striped,
    }
}
