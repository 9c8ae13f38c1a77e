//! PCI Express links between a device and the processor.

use model::machine::DiskLink;

use crate::sysroot::{Sysroot, label};

/// The narrowest PCI Express link above the function with this address (`0000:3d:00.0`).
pub(crate) fn narrowest_above(root: &Sysroot, address: &str) -> Option<DiskLink> {
    let path = root.resolve(&format!("sys/bus/pci/devices/{address}")).filter(|_| is_pci(address))?;
    pcie_link(root, &path)
}

/// Every step of a path, with the path up to it.
pub(crate) fn steps(path: &str) -> impl Iterator<Item = (&str, &str)> {
    let ends = path.match_indices('/').map(|(end, _)| end).chain([path.len()]);
    ends.map(|end| (path[..end].rsplit('/').next().unwrap_or_default(), &path[..end]))
}

/// A PCI Express link, as shown by the device at its lower end.
pub(crate) struct Hop {
    pub(crate) address: String,
    folder: String,
    speed: Speed,
    width: u64,
}

#[derive(Clone, Copy)]
struct Speed {
    generation: &'static str,
    transfers: &'static str,
    megabits: u64,
}

/// `PCIE_SPEED2MBS_ENC` (`drivers/pci/pci.h`): 8b/10b, from 3.0 128b/130b, in 6.0 no line code.
const SPEEDS: &[Speed] = &[
    Speed { generation: "1.0", transfers: "2.5", megabits: 2500 * 8 / 10 },
    Speed { generation: "2.0", transfers: "5", megabits: 5000 * 8 / 10 },
    Speed { generation: "3.0", transfers: "8", megabits: 8000 * 128 / 130 },
    Speed { generation: "4.0", transfers: "16", megabits: 16_000 * 128 / 130 },
    Speed { generation: "5.0", transfers: "32", megabits: 32_000 * 128 / 130 },
    Speed { generation: "6.0", transfers: "64", megabits: 64_000 },
];

impl Hop {
    /// `which` is `current` or `max`. A device without a link has width 0.
    fn read(root: &Sysroot, folder: &str, which: &str) -> Option<Self> {
        let text = root.text(&format!("{folder}/{which}_link_speed"))?;
        // `8.0 GT/s PCIe`, `8 GT/s`, `Unknown`
        let transfers = text.split_ascii_whitespace().next()?;
        let transfers = transfers.strip_suffix(".0").unwrap_or(transfers);
        let speed = *SPEEDS.iter().find(|speed| speed.transfers == transfers)?;
        // No link is wider than 32 lanes.
        let width = root.number(&format!("{folder}/{which}_link_width")).filter(|width| (1..=32).contains(width))?;
        let address = folder.rsplit('/').next()?.to_owned();
        Some(Self { address, folder: folder.to_owned(), speed, width })
    }

    fn bytes_per_second(&self) -> u64 {
        self.speed.megabits * self.width * 1_000_000 / 8
    }

    fn name(&self) -> String {
        format!("PCIe {} x{}", self.speed.generation, self.width)
    }

    pub(crate) fn link(&self) -> DiskLink {
        DiskLink {
            kind: "pcie".to_owned(),
            bytes_per_second: self.bytes_per_second(),
            detail: format!("{}, {} GT/s", self.name(), self.speed.transfers),
            below_maximum: None,
            source: format!("{}/current_link_speed and current_link_width", label(&self.folder)),
        }
    }
}

fn functions(path: &str) -> impl Iterator<Item = &str> {
    steps(path).filter(|(step, _)| is_pci(step)).map(|(_, folder)| folder)
}

/// The links on the way. The port above a link and the device below both show it.
pub(crate) fn hops(root: &Sysroot, path: &str) -> Vec<Hop> {
    functions(path).filter_map(|folder| Hop::read(root, folder, "current")).collect()
}

pub(crate) fn pcie_link(root: &Sysroot, path: &str) -> Option<DiskLink> {
    let endpoint = functions(path).last()?;
    let hops = hops(root, path);
    // Of equals the one nearest to the device.
    let narrow = hops.iter().rev().min_by_key(|hop| hop.bytes_per_second())?;
    let most = Hop::read(root, endpoint, "max");
    let below = most.as_ref().map(|most| narrow.bytes_per_second() < most.bytes_per_second());
    let DiskLink { mut detail, source, .. } = narrow.link();
    if narrow.folder != endpoint {
        detail = format!("{detail}, at {}", narrow.address);
    }
    if let Some(most) = most.filter(|_| below == Some(true)) {
        detail = format!("{detail} (the device could do {})", most.name());
    }
    let links =
        if hops.len() == 1 { "the one link".to_owned() } else { format!("the narrowest of {} links", hops.len()) };
    let source = format!("{source}, {links} on the way");
    Some(DiskLink { detail, below_maximum: below, source, ..narrow.link() })
}

/// Whether a step is a PCI function: `0000:3d:00.0`, and behind Intel's VMD `10000:e1:00.0`.
fn is_pci(step: &str) -> bool {
    let hexadecimal = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let fields: Vec<&str> = step.split([':', '.']).collect();
    let [domain, bus, device, function] = fields.as_slice() else { return false };
    let shape = (domain.len() >= 4, bus.len(), device.len(), function.len());
    shape == (true, 2, 2, 1) && step.contains('.') && fields.iter().all(|field| hexadecimal(field))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pci_functions_are_distinguished_from_other_steps() {
        assert!(is_pci("0000:3d:00.0") && is_pci("10000:e1:00.0"));
        assert!(!is_pci("pci0000:00") && !is_pci("0:0:0:0") && !is_pci("2-1.4:1.0") && !is_pci("target0:0:0"));
    }
}
