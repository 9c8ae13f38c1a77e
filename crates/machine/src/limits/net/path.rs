//! From the interface of a connection down to its hardware, through virtual LANs, bonds, teams and bridges.

use model::machine::{Machine, Nic};

/// The kernel allows eight stacked interfaces (`MAX_NEST_DEV`).
const DEEPEST: u32 = 8;

#[derive(Debug)]
pub(crate) struct Ports<'a> {
    pub(crate) carriers: Vec<&'a Nic>,
    pub(crate) spread: Spread,
    pub(crate) tags: u32,
    pub(crate) mtu: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spread {
    PerFlow,
    Striped,
    Everywhere,
}

pub(crate) fn ports<'a>(machine: &'a Machine, name: &str) -> Option<Ports<'a>> {
    let top = nic(machine, name)?;
    let mut ports = below(machine, top, 0)?;
    ports.mtu = top.mtu;
    ports.carriers.sort_by(|one, other| link_bps(other).unwrap_or(0.0).total_cmp(&link_bps(one).unwrap_or(0.0)));
    Some(ports)
}

/// Data rate of a port's link as the hardware reports it, bit/s.
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
        // The kernel does not show how a team spreads packets: all ports are assumed.
        Some("team") => Some(Ports { carriers: lower()?, spread: Spread::Striped, tags: 0, mtu: None }),
        Some(layer) => {
            // A bridge is followed if one of its ports is hardware; the others belong to guests or containers.
            let hardware = |nic: &&Nic| layer != "bridge" || nic.is_virtual == Some(false) || nic.layer.is_some();
            let lower: Vec<&Nic> = lower()?.into_iter().filter(hardware).collect();
            let [lower] = lower.as_slice() else { return None };
            let ports = below(machine, lower, depth + 1)?;
            Some(Ports { tags: ports.tags + u32::from(layer == "vlan"), ..ports })
        }
    }
}

/// How a bond's mode spreads packets (`networking/bonding.rst`); an unknown mode is assumed to stripe.
fn spread(bond: &Nic) -> Spread {
    match bond.bond_mode.as_deref() {
        Some("active-backup" | "balance-xor" | "802.3ad" | "balance-tlb" | "balance-alb") => Spread::PerFlow,
        Some("broadcast") => Spread::Everywhere,
        _ => Spread::Striped,
    }
}
