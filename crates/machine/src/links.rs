//! The links between a disk and the processor, and the narrowest of them.
//!
//! From the disk's place in the tree of devices: every PCI Express link on the way, and the SATA, SAS or USB link in front of
//! them. A link says what can pass, not what the drive behind it can do.

use model::machine::DiskLink;

use crate::sysroot::{Sysroot, label};

/// How a disk is attached.
#[derive(Debug, Default)]
pub(crate) struct Attachment {
    /// Path of the device below the root, with an NVM Express namespace's controller put in for its subsystem.
    path: Option<String>,
    /// `pcie`, `sata`, `virtio`, …
    pub(crate) transport: Option<String>,
    /// The narrowest link, whoever shows it.
    pub(crate) link: Option<DiskLink>,
}

/// One link and what passes over it.
struct Link {
    kind: &'static str,
    bytes_per_second: u64,
    detail: String,
    below_maximum: Option<bool>,
    source: String,
}

/// What stands in the tree above the disk with this number.
pub(crate) fn attachment(root: &Sysroot, number: &str) -> Attachment {
    let Some(path) = root.resolve(&format!("sys/dev/block/{number}")) else { return Attachment::default() };
    let paths = controllers(root, &path);
    let [path] = paths.as_slice() else {
        // Several ways to one disk: how requests are spread over them is not known.
        return Attachment { transport: paths.first().and_then(|path| transport(root, path)), ..Attachment::default() };
    };
    let link = narrowest(bus_link(root, path), pcie_link(root, path));
    let link = link.map(|link| DiskLink {
        kind: link.kind.to_owned(),
        bytes_per_second: link.bytes_per_second,
        detail: link.detail,
        below_maximum: link.below_maximum,
        source: link.source,
    });
    Attachment { transport: transport(root, path), link, path: Some(path.clone()) }
}

impl Attachment {
    /// Whether nothing physical is there, as far as can be told. `says` is the vendor and the model.
    pub(crate) fn is_virtual(&self, says: &str, under_hypervisor: bool) -> Option<bool> {
        /// What disks of hypervisors and clouds call themselves.
        const MADE_UP: &[&str] = &[
            "QEMU",
            "VBOX",
            "VMware",
            "Virtual",
            "Msft",
            "MSFT",
            "Microsoft",
            "Amazon",
            "Google",
            "nvme_card",
            "Alibaba",
            "ORCL-VBOX",
            "BlockVolume",
        ];
        let transport = self.transport.as_deref().unwrap_or_default();
        let kernels_own = self.path.as_deref().is_some_and(|path| path.starts_with("sys/devices/virtual/block/"));
        if kernels_own
            || matches!(transport, "virtio" | "xen" | "vmbus")
            || MADE_UP.iter().any(|name| says.contains(name))
        {
            return Some(true);
        }
        // A device passed through looks like one made up.
        (self.path.is_some() && !under_hypervisor).then_some(false)
    }
}

/// The path itself, or for an NVM Express namespace with a multipath subsystem in front, one path for each controller.
fn controllers(root: &Sysroot, path: &str) -> Vec<String> {
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    if !folder.contains("/nvme-subsystem/") {
        return vec![path.to_owned()];
    }
    let controllers = root.names(folder).into_iter().filter(|name| is_numbered(name, "nvme"));
    controllers.filter_map(|name| root.resolve(&format!("{folder}/{name}"))).collect()
}

/// Whether a name is a word and a number: `nvme0`, `ata3`.
fn is_numbered(name: &str, word: &str) -> bool {
    number_after(name, word).is_some()
}

fn number_after<'n>(name: &'n str, word: &str) -> Option<&'n str> {
    name.strip_prefix(word).filter(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}

fn transport(root: &Sysroot, path: &str) -> Option<String> {
    let mut steps = steps(path);
    let known = steps.find_map(|(step, folder)| match step {
        _ if is_numbered(step, "nvme") => root.text(&format!("{folder}/transport")).or_else(|| Some("nvme".into())),
        _ if is_numbered(step, "virtio") => Some("virtio".to_owned()),
        _ if is_numbered(step, "ata") => Some("ata".to_owned()),
        _ if is_numbered(step, "usb") => Some("usb".to_owned()),
        _ if is_numbered(step, "session") => Some("iscsi".to_owned()),
        "mmc_host" => Some("mmc".to_owned()),
        _ if step.starts_with("end_device-") => Some("sas".to_owned()),
        _ if step.starts_with("rport-") => Some("fc".to_owned()),
        _ if step.starts_with("vbd-") => Some("xen".to_owned()),
        _ if step.starts_with("VMBUS") || step.starts_with("vmbus") => Some("vmbus".to_owned()),
        _ => None,
    })?;
    let serial = known == "ata" && sata_link(root, path).is_some();
    Some(if serial { "sata".to_owned() } else { known })
}

/// Every step of a path with the path up to it.
fn steps(path: &str) -> impl Iterator<Item = (&str, &str)> {
    let ends = path.match_indices('/').map(|(end, _)| end).chain([path.len()]);
    ends.map(|end| (path[..end].rsplit('/').next().unwrap_or_default(), &path[..end]))
}

fn narrowest(near: Option<Link>, far: Option<Link>) -> Option<Link> {
    match (near, far) {
        (Some(near), Some(far)) if far.bytes_per_second < near.bytes_per_second => {
            // The disk's own link could carry more.
            Some(Link { below_maximum: Some(true), ..far })
        }
        (near, far) => near.or(far),
    }
}

fn bus_link(root: &Sysroot, path: &str) -> Option<Link> {
    sata_link(root, path).or_else(|| sas_link(root, path)).or_else(|| usb_link(root, path))
}

/// One PCI Express link as the device at its lower end sees it.
struct Hop {
    address: String,
    folder: String,
    speed: Speed,
    width: u64,
}

/// A PCI Express generation.
#[derive(Clone, Copy)]
struct Speed {
    generation: &'static str,
    transfers: &'static str,
    /// Data of one lane less the line code, 10^6 bit/s.
    megabits: u64,
}

/// The kernel's figures (`PCIE_SPEED2MBS_ENC`, `drivers/pci/pci.h`): 8b/10b, from the third generation on 128b/130b,
/// in the sixth neither.
const SPEEDS: &[Speed] = &[
    Speed { generation: "1.0", transfers: "2.5", megabits: 2500 * 8 / 10 },
    Speed { generation: "2.0", transfers: "5", megabits: 5000 * 8 / 10 },
    Speed { generation: "3.0", transfers: "8", megabits: 8000 * 128 / 130 },
    Speed { generation: "4.0", transfers: "16", megabits: 16_000 * 128 / 130 },
    Speed { generation: "5.0", transfers: "32", megabits: 32_000 * 128 / 130 },
    Speed { generation: "6.0", transfers: "64", megabits: 64_000 },
];

impl Hop {
    /// Speed and width now (`current`) or at most (`max`); `None` for a device without a link, which says width 0.
    fn read(root: &Sysroot, folder: &str, which: &str) -> Option<Self> {
        let text = root.text(&format!("{folder}/{which}_link_speed"))?;
        // `8.0 GT/s PCIe`, `8 GT/s`, `Unknown`
        let figure = text.split_ascii_whitespace().next()?;
        let figure = figure.strip_suffix(".0").unwrap_or(figure);
        let speed = *SPEEDS.iter().find(|speed| speed.transfers == figure)?;
        // No link is wider than 32 lanes; more is no width.
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
}

/// The narrowest PCI Express link above a device.
fn pcie_link(root: &Sysroot, path: &str) -> Option<Link> {
    let functions: Vec<&str> = steps(path).filter(|(step, _)| is_pci(step)).map(|(_, folder)| folder).collect();
    let endpoint = *functions.last()?;
    let hops: Vec<Hop> = functions.iter().filter_map(|folder| Hop::read(root, folder, "current")).collect();
    // Of equals the one nearest to the device.
    let narrow = hops.iter().rev().min_by_key(|hop| hop.bytes_per_second())?;
    let most = Hop::read(root, endpoint, "max");
    let below = most.as_ref().map(|most| narrow.bytes_per_second() < most.bytes_per_second());
    let mut detail = format!("{}, {} GT/s", narrow.name(), narrow.speed.transfers);
    if narrow.folder != endpoint {
        detail = format!("{detail}, at {}", narrow.address);
    }
    if let Some(most) = most.filter(|_| below == Some(true)) {
        detail = format!("{detail} (the device could do {})", most.name());
    }
    let links =
        if hops.len() == 1 { "the one link".to_owned() } else { format!("the narrowest of {} links", hops.len()) };
    Some(Link {
        kind: "pcie",
        bytes_per_second: narrow.bytes_per_second(),
        detail,
        below_maximum: below,
        source: format!("{}/current_link_speed and current_link_width, {links} on the way", label(&narrow.folder)),
    })
}

/// Whether a step is a PCI function: `0000:3d:00.0`, and behind Intel's VMD `10000:e1:00.0`.
fn is_pci(step: &str) -> bool {
    let hexadecimal = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let fields: Vec<&str> = step.split([':', '.']).collect();
    let [domain, bus, device, function] = fields.as_slice() else { return false };
    let shape = (domain.len() >= 4, bus.len(), device.len(), function.len());
    shape == (true, 2, 2, 1) && step.contains('.') && fields.iter().all(|field| hexadecimal(field))
}

/// A SATA link: 8b/10b, so a tenth of its bits are bytes.
fn sata_link(root: &Sysroot, path: &str) -> Option<Link> {
    let port = steps(path).find_map(|(step, _)| number_after(step, "ata"))?;
    let folder = format!("sys/class/ata_link/link{port}");
    // `6.0 Gbps`, or `<unknown>`
    let rate = |file: &str| {
        let text = root.text(&format!("{folder}/{file}"))?;
        let tenths: u64 = match text.split_once(' ')?.0 {
            "1.5" => 15,
            "3.0" => 30,
            "6.0" => 60,
            _ => return None,
        };
        Some(tenths)
    };
    let now = rate("sata_spd")?;
    // The kernel lowers the second after errors; the first stays.
    let (most, allowed) = (rate("hw_sata_spd_limit"), rate("sata_spd_limit"));
    let below = most.map(|most| now < most).or_else(|| allowed.map(|_| true));
    Some(Link {
        kind: "sata",
        bytes_per_second: now * 10_000_000,
        detail: format!("SATA {} Gbit/s", tenths(now)),
        below_maximum: below,
        source: format!("{}/sata_spd, less 8b/10b", label(&folder)),
    })
}

fn tenths(rate: u64) -> String {
    if rate.is_multiple_of(10) { (rate / 10).to_string() } else { format!("{}.{}", rate / 10, rate % 10) }
}

/// The narrowest SAS port on the way, expanders included; a port may be several links side by side.
fn sas_link(root: &Sysroot, path: &str) -> Option<Link> {
    /// What is written, Gbit/s for a reader, and data in B/s: 8b/10b, in the fourth generation 128b/150b.
    const RATES: &[(&str, &str, u64)] = &[
        ("1.5 Gbit", "1.5", 150_000_000),
        ("3.0 Gbit", "3", 300_000_000),
        ("6.0 Gbit", "6", 600_000_000),
        ("12.0 Gbit", "12", 1_200_000_000),
        ("22.5 Gbit", "22.5", 2_400_000_000),
    ];
    let of_port = |folder: &str| {
        let links = root.names(folder).into_iter().filter(|name| name.starts_with("phy-"));
        let rate = |link: &String| root.text(&format!("sys/class/sas_phy/{link}/negotiated_linkrate"));
        let rates = links.filter_map(|link| rate(&link));
        let known = rates.filter_map(|text| RATES.iter().find(|rate| rate.0 == text));
        let known: Vec<&(&str, &str, u64)> = known.collect();
        let bytes_per_second = known.iter().map(|rate| rate.2).sum();
        let speed = known.first()?.1;
        let detail = if known.len() == 1 {
            format!("SAS {speed} Gbit/s")
        } else {
            format!("{} x SAS {speed} Gbit/s", known.len())
        };
        let source = format!("negotiated_linkrate of the links of {}, less the line code", label(folder));
        Some(Link { kind: "sas", bytes_per_second, detail, below_maximum: None, source })
    };
    let ports = steps(path).filter(|(step, _)| step.starts_with("port-"));
    ports.filter_map(|(_, folder)| of_port(folder)).min_by_key(|link| link.bytes_per_second)
}

/// The slowest USB link on the way, hubs included.
fn usb_link(root: &Sysroot, path: &str) -> Option<Link> {
    /// What is written (10^6 bit/s), for a reader, and data in B/s: none taken off to 480, then 8b/10b, from 10 Gbit/s
    /// on 128b/132b (USB 3.2, chapter 6).
    const RATES: &[(&str, &str, u64)] = &[
        ("1.5", "1.5 Mbit/s", 187_500),
        ("12", "12 Mbit/s", 1_500_000),
        ("480", "480 Mbit/s", 60_000_000),
        ("5000", "5 Gbit/s", 500_000_000),
        ("10000", "10 Gbit/s", 10_000_000_000 / 8 * 128 / 132),
        ("20000", "20 Gbit/s", 20_000_000_000 / 8 * 128 / 132),
    ];
    let from = steps(path).skip_while(|(step, _)| !is_numbered(step, "usb"));
    let link = |folder: &str| {
        let text = root.text(&format!("{folder}/speed"))?;
        let (_, name, bytes_per_second) = *RATES.iter().find(|rate| rate.0 == text)?;
        let source = format!("{}/speed, less the line code", label(folder));
        Some(Link { kind: "usb", bytes_per_second, detail: format!("USB {name}"), below_maximum: None, source })
    };
    from.filter_map(|(_, folder)| link(folder)).min_by_key(|link| link.bytes_per_second)
}
