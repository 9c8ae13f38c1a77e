//! The links between a disk and the processor. A link says what can pass, not what the drive can do.

use std::net::IpAddr;

use model::machine::DiskLink;

use crate::list::number_after;
use crate::net::interfaces;
use crate::net::routes::interface_to;
use crate::sysroot::{Sysroot, label};
use crate::system::pcie::{hops, pcie_link, steps};

#[derive(Debug, Default)]
pub(crate) struct Attachment {
    /// Device path below the root; for a multipath `NVMe` namespace that of its one controller.
    pub(crate) path: Option<String>,
    pub(crate) transport: Option<String>,
    pub(crate) link: Option<DiskLink>,
}

/// A link on the way to a disk with its place: PCI function, SATA or SAS port, USB device, network interface.
pub(crate) type Passed = (String, DiskLink);

/// Every link to a disk, by its device number, that other disks could share; empty if there are several paths.
pub(crate) fn passed(root: &Sysroot, number: &str) -> Vec<Passed> {
    let Some(path) = root.resolve(&format!("sys/dev/block/{number}")) else { return Vec::new() };
    let paths = controllers(root, &path);
    let [path] = paths.as_slice() else { return Vec::new() };
    let last = |folder: &str| folder.rsplit('/').next().unwrap_or_default().to_owned();
    let mut found: Vec<Passed> = Vec::new();
    found.extend(hops(root, path).iter().map(|hop| (hop.address.clone(), hop.link())));
    found.extend(sata_port(path).and_then(|port| Some((format!("ata{port}"), sata_link(root, path)?))));
    found.extend(sas_ports(path).filter_map(|folder| Some((last(folder), sas_port(root, folder)?))));
    found.extend(usb_hops(path).skip(1).filter_map(|folder| Some((last(folder), usb_hop(root, folder)?))));
    found.extend(network_way(root, path).and_then(|(name, address)| {
        let link = network_link(root, &name, address)?;
        Some((name, link))
    }));
    found
}

pub(crate) fn attachment(root: &Sysroot, number: &str) -> Attachment {
    let Some(path) = root.resolve(&format!("sys/dev/block/{number}")) else { return Attachment::default() };
    let paths = controllers(root, &path);
    let [path] = paths.as_slice() else {
        // The distribution of requests over several paths is unknown.
        return Attachment { transport: paths.first().and_then(|path| transport(root, path)), ..Attachment::default() };
    };
    let link = narrowest(bus_link(root, path), pcie_link(root, path));
    Attachment { transport: transport(root, path), link, path: Some(path.clone()) }
}

impl Attachment {
    /// Whether the disk is emulated, if known. `says` is vendor and model.
    pub(crate) fn is_virtual(&self, says: &str, under_hypervisor: bool) -> Option<bool> {
        const MADE_UP: &str =
            "QEMU VBOX VMware Virtual Msft MSFT Microsoft Amazon Google nvme_card Alibaba BlockVolume";
        let transport = self.transport.as_deref().unwrap_or_default();
        let kernels_own = self.path.as_deref().is_some_and(|path| path.starts_with("sys/devices/virtual/block/"));
        if kernels_own
            || matches!(transport, "virtio" | "xen" | "vmbus")
            || MADE_UP.split(' ').any(|name| says.contains(name))
        {
            return Some(true);
        }
        // A passed-through device looks like an emulated one.
        (self.path.is_some() && !under_hypervisor).then_some(false)
    }
}

pub(crate) fn nvme_controller(path: &str) -> Option<&str> {
    steps(path).find(|(step, _)| is_numbered(step, "nvme")).map(|(_, folder)| folder)
}

/// The path itself, or one path per controller of a multipath `NVMe` subsystem.
fn controllers(root: &Sysroot, path: &str) -> Vec<String> {
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    if !folder.contains("/nvme-subsystem/") {
        return vec![path.to_owned()];
    }
    let controllers = root.names(folder).into_iter().filter(|name| is_numbered(name, "nvme"));
    controllers.filter_map(|name| root.resolve(&format!("{folder}/{name}"))).collect()
}

fn is_numbered(name: &str, word: &str) -> bool {
    number_after(name, word).is_some()
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

fn narrowest(near: Option<DiskLink>, far: Option<DiskLink>) -> Option<DiskLink> {
    match (near, far) {
        (Some(near), Some(far)) if far.bytes_per_second < near.bytes_per_second => {
            Some(DiskLink { below_maximum: Some(true), ..far })
        }
        (near, far) => near.or(far),
    }
}

fn bus_link(root: &Sysroot, path: &str) -> Option<DiskLink> {
    let near = sata_link(root, path).or_else(|| sas_link(root, path)).or_else(|| usb_link(root, path));
    let near = near.or_else(|| card_link(root, path));
    near.or_else(|| network_way(root, path).and_then(|(name, address)| network_link(root, &name, address)))
}

/// Disks behind a port multiplier have the same SATA port number.
fn sata_port(path: &str) -> Option<&str> {
    steps(path).find_map(|(step, _)| number_after(step, "ata"))
}

/// 8b/10b: a tenth of the bits are bytes.
fn sata_link(root: &Sysroot, path: &str) -> Option<DiskLink> {
    /// As written, Gbit/s as shown, and data in B/s.
    const RATES: &[(&str, &str, u64)] =
        &[("1.5 ", "1.5", 150_000_000), ("3.0 ", "3", 300_000_000), ("6.0 ", "6", 600_000_000)];
    let port = sata_port(path)?;
    let folder = format!("sys/class/ata_link/link{port}");
    let rate = |file: &str| {
        let text = root.text(&format!("{folder}/{file}"))?;
        RATES.iter().find(|rate| text.starts_with(rate.0))
    };
    let now = rate("sata_spd")?;
    // The kernel lowers the second after errors.
    let (most, allowed) = (rate("hw_sata_spd_limit"), rate("sata_spd_limit"));
    let below = most.map(|most| now.2 < most.2).or_else(|| allowed.map(|_| true));
    Some(DiskLink {
        kind: "sata".into(),
        bytes_per_second: now.2,
        detail: format!("SATA {} Gbit/s", now.1),
        below_maximum: below,
        source: format!("{}/sata_spd, less 8b/10b", label(&folder)),
    })
}

fn sas_link(root: &Sysroot, path: &str) -> Option<DiskLink> {
    sas_ports(path).filter_map(|folder| sas_port(root, folder)).min_by_key(|link| link.bytes_per_second)
}

fn sas_ports(path: &str) -> impl Iterator<Item = &str> {
    steps(path).filter(|(step, _)| step.starts_with("port-")).map(|(_, folder)| folder)
}

fn sas_port(root: &Sysroot, folder: &str) -> Option<DiskLink> {
    /// As written, Gbit/s as shown, and data in B/s: 8b/10b, in the fourth generation 128b/150b.
    const RATES: &[(&str, &str, u64)] = &[
        ("1.5 Gbit", "1.5", 150_000_000),
        ("3.0 Gbit", "3", 300_000_000),
        ("6.0 Gbit", "6", 600_000_000),
        ("12.0 Gbit", "12", 1_200_000_000),
        ("22.5 Gbit", "22.5", 2_400_000_000),
    ];
    let links = root.names(folder).into_iter().filter(|name| name.starts_with("phy-"));
    let rate = |link: &String| root.text(&format!("sys/class/sas_phy/{link}/negotiated_linkrate"));
    let rates = links.filter_map(|link| rate(&link));
    let known = rates.filter_map(|text| RATES.iter().find(|rate| rate.0 == text));
    let known: Vec<&(&str, &str, u64)> = known.collect();
    let bytes_per_second = known.iter().map(|rate| rate.2).sum();
    let speed = known.first()?.1;
    let detail =
        if known.len() == 1 { format!("SAS {speed} Gbit/s") } else { format!("{} x SAS {speed} Gbit/s", known.len()) };
    let source = format!("negotiated_linkrate of the links of {}, less the line code", label(folder));
    Some(DiskLink { kind: "sas".into(), bytes_per_second, detail, below_maximum: None, source })
}

fn usb_link(root: &Sysroot, path: &str) -> Option<DiskLink> {
    usb_hops(path).filter_map(|folder| usb_hop(root, folder)).min_by_key(|link| link.bytes_per_second)
}

/// The USB devices on the way; the first is the controller, with the speed of each of its ports.
fn usb_hops(path: &str) -> impl Iterator<Item = &str> {
    steps(path).skip_while(|(step, _)| !is_numbered(step, "usb")).map(|(_, folder)| folder)
}

fn usb_hop(root: &Sysroot, folder: &str) -> Option<DiskLink> {
    /// 10^6 bit/s, as shown, data in B/s: up to 480 no line code, then 8b/10b, from 10 Gbit/s 128b/132b (USB 3.2).
    const RATES: &[(&str, &str, u64)] = &[
        ("1.5", "1.5 Mbit/s", 187_500),
        ("12", "12 Mbit/s", 1_500_000),
        ("480", "480 Mbit/s", 60_000_000),
        ("5000", "5 Gbit/s", 500_000_000),
        ("10000", "10 Gbit/s", 10_000_000_000 / 8 * 128 / 132),
        ("20000", "20 Gbit/s", 20_000_000_000 / 8 * 128 / 132),
    ];
    let text = root.text(&format!("{folder}/speed"))?;
    let (_, name, bytes_per_second) = *RATES.iter().find(|rate| rate.0 == text)?;
    let source = format!("{}/speed, less the line code", label(folder));
    Some(DiskLink { kind: "usb".into(), bytes_per_second, detail: format!("USB {name}"), below_maximum: None, source })
}

/// The bus of a memory card or of soldered flash; only root sees it.
fn card_link(root: &Sysroot, path: &str) -> Option<DiskLink> {
    let host = steps(path).find_map(|(step, _)| is_numbered(step, "mmc").then_some(step))?;
    let file = format!("sys/kernel/debug/{host}/ios");
    let text = root.text(&file)?;
    // `clock:\t\t200000000 Hz`, `bus width:\t3 (8 bits)`, `timing spec:\t10 (mmc HS400)`
    let field = |name: &str| text.lines().find_map(|line| Some(line.strip_prefix(name)?.strip_prefix(':')?.trim()));
    let in_brackets = |name: &str| field(name)?.split_once('(')?.1.strip_suffix(')');
    let clock: u64 = field("actual clock").or_else(|| field("clock"))?.strip_suffix(" Hz")?.parse().ok()?;
    let bits: u64 = in_brackets("bus width")?.strip_suffix(" bits")?.parse().ok()?;
    let timing = in_brackets("timing spec").unwrap_or_default();
    let edges = if ["DDR", "HS400"].iter().any(|double| timing.contains(double)) { 2 } else { 1 };
    let bytes_per_second = clock.checked_mul(bits)?.checked_mul(edges)? / 8;
    let known = bytes_per_second > 0 && bits <= 8;
    let detail = format!("card bus of {bits} bits at {} MHz, {timing}", clock / 1_000_000);
    let source = format!("{}: clock x width x {edges} a cycle", label(&file));
    known.then_some(DiskLink { kind: "mmc".into(), bytes_per_second, detail, below_maximum: None, source })
}

/// Interface and address of the disk's host (`NVMe` over fabrics, iSCSI), of the first connection.
fn network_way(root: &Sysroot, path: &str) -> Option<(String, IpAddr)> {
    let address = fabric_address(root, path).or_else(|| session_address(root, path))?;
    Some((interface_to(root, address)?, address))
}

/// The interface's speed, frames not deducted.
fn network_link(root: &Sysroot, name: &str, address: IpAddr) -> Option<DiskLink> {
    let interface = interfaces::interface(root, name, false)?;
    let bits = interface.speed_bps.filter(|_| interface.speed_trusted == Some(true))?;
    let bytes_per_second = model::unit::whole_part(bits / 8.0);
    let detail = format!("network, {} Gbit/s by {name}", bits / 1e9);
    let source = format!("speed of {name}, /sys/class/net/{name}/speed, by the route to {address}");
    Some(DiskLink { kind: "network".into(), bytes_per_second, detail, below_maximum: None, source })
}

/// `traddr=192.0.2.7,trsvcid=4420,src_addr=192.0.2.1`
fn fabric_address(root: &Sysroot, path: &str) -> Option<IpAddr> {
    let text = root.text(&format!("{}/address", nvme_controller(path)?))?;
    text.split(',').find_map(|field| field.strip_prefix("traddr="))?.parse().ok()
}

fn session_address(root: &Sysroot, path: &str) -> Option<IpAddr> {
    let session = steps(path).find_map(|(step, _)| number_after(step, "session"))?;
    root.text(&format!("sys/class/iscsi_connection/connection{session}:0/persistent_address"))?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Fixture;

    fn device(name: &str, path: &str) -> Fixture {
        Fixture::new(name)
            .link("sys/dev/block/8:0", &format!("../../devices/{path}"))
            .file(&format!("sys/devices/{path}/dev"), "8:0\n")
    }

    fn pci(fixture: Fixture, folder: &str, now: (&str, u32), most: (&str, u32)) -> Fixture {
        let mut fixture = fixture;
        for (which, (speed, width)) in [("current", now), ("max", most)] {
            fixture = fixture
                .file(&format!("sys/devices/{folder}/{which}_link_speed"), &format!("{speed}\n"))
                .file(&format!("sys/devices/{folder}/{which}_link_width"), &format!("{width}\n"));
        }
        fixture
    }

    fn link(fixture: &Fixture) -> DiskLink {
        attachment(&fixture.root(), "8:0").link.unwrap()
    }

    const PORT: &str = "pci0000:00/0000:00:1d.0";
    const DRIVE: &str = "pci0000:00/0000:00:1d.0/0000:3d:00.0";

    #[test]
    fn a_drive_in_its_full_link() {
        let fixture = device("pcie", &format!("{DRIVE}/nvme/nvme0/nvme0n1"));
        let fixture = pci(fixture, DRIVE, ("16.0 GT/s PCIe", 4), ("16.0 GT/s PCIe", 4));
        let fixture = pci(fixture, PORT, ("16.0 GT/s PCIe", 4), ("32.0 GT/s PCIe", 16))
            .file(&format!("sys/devices/{DRIVE}/nvme/nvme0/transport"), "pcie\n");
        let found = attachment(&fixture.root(), "8:0");
        assert_eq!(found.transport.as_deref(), Some("pcie"));
        assert_eq!(found.is_virtual("SAMSUNG MZ", false), Some(false));
        assert_eq!(found.is_virtual("SAMSUNG MZ", true), None, "passed through or emulated");
        let link = found.link.unwrap();
        assert_eq!(link.detail, "PCIe 4.0 x4, 16 GT/s");
        assert_eq!((link.bytes_per_second, link.below_maximum), (7_876_500_000, Some(false)));
        assert!(link.source.starts_with("/sys/devices/pci0000:00/0000:00:1d.0/0000:3d:00.0/"), "{}", link.source);
    }

    #[test]
    fn a_drive_trained_down_says_so() {
        let fixture = device("down", &format!("{DRIVE}/nvme/nvme0/nvme0n1"));
        let fixture = pci(fixture, DRIVE, ("8 GT/s", 2), ("16.0 GT/s PCIe", 4));
        let link = link(&fixture);
        assert_eq!(link.detail, "PCIe 3.0 x2, 8 GT/s (the device could do PCIe 4.0 x4)");
        assert_eq!((link.bytes_per_second, link.below_maximum), (1_969_000_000, Some(true)));
    }

    #[test]
    fn a_function_without_a_link_says_nothing() {
        let fixture =
            device("integrated", "pci0000:00/0000:00:0e.0/pci10000:e0/10000:e0:06.0/10000:e1:00.0/nvme/nvme0/n");
        let vmd = "pci0000:00/0000:00:0e.0";
        let drive = format!("{vmd}/pci10000:e0/10000:e0:06.0/10000:e1:00.0");
        let fixture = pci(fixture, vmd, ("Unknown", 0), ("Unknown", 255));
        let fixture = pci(fixture, &drive, ("32.0 GT/s PCIe", 4), ("32.0 GT/s PCIe", 4));
        assert_eq!(link(&fixture).bytes_per_second, 15_753_500_000);
        let nothing =
            pci(device("nothing", "pci0000:00/0000:00:17.0/sda"), "pci0000:00/0000:00:17.0", ("x", 9), ("", 1));
        assert_eq!(attachment(&nothing.root(), "8:0").link, None);
    }

    #[test]
    fn a_namespace_with_one_controller_behind_a_subsystem_is_that_controllers() {
        let subsystem = "sys/devices/virtual/nvme-subsystem/nvme-subsys0";
        let fixture = device("subsystem", "virtual/nvme-subsystem/nvme-subsys0/nvme0n1")
            .file(&format!("{subsystem}/model"), "A drive\n")
            .link(&format!("{subsystem}/nvme0"), &format!("../../../{DRIVE}/nvme/nvme0"));
        let fixture = pci(fixture, DRIVE, ("8.0 GT/s PCIe", 4), ("8.0 GT/s PCIe", 4))
            .file(&format!("sys/devices/{DRIVE}/nvme/nvme0/transport"), "pcie\n");
        assert_eq!(link(&fixture).bytes_per_second, 3_938_000_000);
        let fixture = fixture.link(&format!("{subsystem}/nvme1"), "../../nvme-fabrics/ctl/nvme1");
        let found = attachment(&fixture.root(), "8:0");
        assert_eq!((found.transport.as_deref(), found.link), (Some("pcie"), None));
    }

    #[test]
    fn sata_counts_eight_of_ten_bits() {
        const UNKNOWN: &str = "<unknown>\n";
        let disk = "pci0000:00/0000:00:17.0/ata3/host2/target2:0:0/2:0:0:0/block/sda";
        let sata = |name: &str, speeds: [&str; 3]| {
            let files = ["sata_spd", "hw_sata_spd_limit", "sata_spd_limit"].into_iter().zip(speeds);
            let file =
                |fixture: Fixture, (file, speed)| fixture.file(&format!("sys/class/ata_link/link3/{file}"), speed);
            attachment(&files.fold(device(name, disk), file).root(), "8:0")
        };
        for (name, speeds, detail, bytes, below) in [
            ("sata", ["6.0 Gbps\n"; 3], "SATA 6 Gbit/s", 600_000_000, Some(false)),
            ("lowered", ["1.5 Gbps\n", UNKNOWN, "1.5 Gbps\n"], "SATA 1.5 Gbit/s", 150_000_000, Some(true)),
            ("unlimited", ["3.0 Gbps\n", UNKNOWN, UNKNOWN], "SATA 3 Gbit/s", 300_000_000, None),
        ] {
            let found = sata(name, speeds).link.unwrap();
            assert_eq!((found.kind.as_str(), found.detail.as_str()), ("sata", detail));
            assert_eq!((found.bytes_per_second, found.below_maximum), (bytes, below));
        }
        let parallel = sata("parallel", [UNKNOWN; 3]);
        assert_eq!((parallel.transport.as_deref(), parallel.link), (Some("ata"), None));
    }

    #[test]
    fn a_controller_in_a_slow_slot_is_narrower_than_its_sata_link() {
        let controller = "pci0000:00/0000:04:00.0";
        let fixture = device("slot", &format!("{controller}/ata1/host0/target0:0:0/0:0:0:0/block/sda"))
            .file("sys/class/ata_link/link1/sata_spd", "6.0 Gbps\n");
        let fixture = pci(fixture, controller, ("5.0 GT/s PCIe", 1), ("5.0 GT/s PCIe", 1));
        let found = link(&fixture);
        assert_eq!((found.kind.as_str(), found.bytes_per_second), ("pcie", 500_000_000));
        assert_eq!(found.below_maximum, Some(true));
    }

    #[test]
    fn a_wide_sas_port_is_the_sum_of_its_links_and_an_expander_is_on_the_way() {
        let host = "pci0000:00/0000:05:00.0/host0";
        let wide = format!("{host}/port-0:0");
        let narrow = format!("{wide}/expander-0:0/port-0:0:5");
        let disk = format!("{narrow}/end_device-0:0:5/target0:0:0/0:0:0:0/block/sda");
        let mut fixture = device("sas", &disk);
        for (port, phy, rate) in
            [(&wide, "phy-0:0", "12.0 Gbit"), (&wide, "phy-0:1", "12.0 Gbit"), (&narrow, "phy-0:0:5", "6.0 Gbit")]
        {
            fixture = fixture
                .link(&format!("sys/devices/{port}/{phy}"), &format!("../{phy}"))
                .file(&format!("sys/class/sas_phy/{phy}/negotiated_linkrate"), &format!("{rate}\n"));
        }
        let found = attachment(&fixture.root(), "8:0");
        assert_eq!(found.transport.as_deref(), Some("sas"));
        let found = found.link.unwrap();
        assert_eq!((found.detail.as_str(), found.bytes_per_second), ("SAS 6 Gbit/s", 600_000_000));
        let port = sas_link(&fixture.root(), &format!("sys/devices/{wide}")).unwrap();
        assert_eq!((port.detail.as_str(), port.bytes_per_second), ("2 x SAS 12 Gbit/s", 2_400_000_000));
    }

    #[test]
    fn the_slowest_hub_decides_for_usb() {
        let controller = "pci0000:00/0000:00:14.0/usb2";
        let disk = format!("{controller}/2-1/2-1.4/2-1.4:1.0/host6/target6:0:0/6:0:0:0/block/sdb");
        let usb = |name: &str, device_speed: &str| {
            device(name, &disk)
                .file(&format!("sys/devices/{controller}/speed"), "20000\n")
                .file(&format!("sys/devices/{controller}/2-1/speed"), "10000\n")
                .file(&format!("sys/devices/{controller}/2-1/2-1.4/speed"), device_speed)
        };
        let found = link(&usb("usb", "5000\n"));
        assert_eq!((found.detail.as_str(), found.bytes_per_second), ("USB 5 Gbit/s", 500_000_000));
        let faster = link(&usb("usb-fast", "20000\n"));
        assert_eq!((faster.detail.as_str(), faster.bytes_per_second), ("USB 10 Gbit/s", 1_212_121_212));
    }

    #[test]
    fn a_card_is_as_fast_as_its_bus() {
        let disk = "platform/soc/fe340000.mmc/mmc_host/mmc1/mmc1:0001/block/mmcblk1";
        let ios = |timing: &str| {
            let clocks = "clock:\t\t200000000 Hz\nactual clock:\t190000000 Hz";
            format!("{clocks}\nbus width:\t3 (8 bits)\ntiming spec:\t{timing}\n")
        };
        let card = |name: &str, text: &str| device(name, disk).file("sys/kernel/debug/mmc1/ios", text);
        let found = link(&card("mmc", &ios("10 (mmc HS400)")));
        assert_eq!((found.kind.as_str(), found.bytes_per_second), ("mmc", 380_000_000));
        assert_eq!(found.detail, "card bus of 8 bits at 190 MHz, mmc HS400");
        assert_eq!(link(&card("mmc-200", &ios("9 (mmc HS200)"))).bytes_per_second, 190_000_000);
        for text in ["", "clock: x Hz\n", "clock:\t18446744073709551615 Hz\nbus width:\t3 (8 bits)\n"] {
            assert_eq!(attachment(&card("mmc-broken", text).root(), "8:0").link, None, "{text}");
        }
        assert_eq!(attachment(&device("mmc-unseen", disk).root(), "8:0").transport.as_deref(), Some("mmc"));
    }

    fn routed(fixture: Fixture) -> Fixture {
        let route = "Iface\tDestination\tGateway\nen0\t000200C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n";
        fixture
            .file("proc/net/route", route)
            .file("sys/class/net/en0/mtu", "9000\n")
            .file("sys/class/net/en0/speed", "25000\n")
            .link("sys/class/net/en0/device/driver", "../../../../bus/pci/drivers/mlx5_core")
    }

    #[test]
    fn a_disk_of_another_machine_is_behind_the_interface_that_leads_there() {
        let controller = "virtual/nvme-fabrics/ctl/nvme0";
        let fabric = device("fabric", &format!("{controller}/nvme0n1"))
            .file(&format!("sys/devices/{controller}/transport"), "tcp\n")
            .file(&format!("sys/devices/{controller}/address"), "traddr=192.0.2.7,trsvcid=4420\n");
        assert_eq!(attachment(&fabric.root(), "8:0").link, None, "no route is known");
        let found = attachment(&routed(fabric).root(), "8:0");
        assert_eq!(found.transport.as_deref(), Some("tcp"));
        let link = found.link.unwrap();
        assert_eq!((link.kind.as_str(), link.bytes_per_second), ("network", 3_125_000_000));
        assert_eq!(link.detail, "network, 25 Gbit/s by en0");
        assert_eq!(link.source, "speed of en0, /sys/class/net/en0/speed, by the route to 192.0.2.7");
        let session = device("iscsi", "platform/host6/session12/target6:0:0/6:0:0:0/block/sdb")
            .file("sys/class/iscsi_connection/connection12:0/persistent_address", "192.0.2.9\n");
        let found = attachment(&routed(session).root(), "8:0");
        assert_eq!(found.transport.as_deref(), Some("iscsi"));
        assert_eq!(found.link.map(|link| link.bytes_per_second), Some(3_125_000_000));
    }

    #[test]
    fn made_up_disks_are_known_by_their_place_or_their_name() {
        let place = |name: &str, path: &str| attachment(&device(name, path).root(), "8:0");
        let virtio = place("virtio", "pci0000:00/0000:00:02.0/virtio1/block/vda");
        assert_eq!((virtio.transport.as_deref(), virtio.is_virtual("", false)), (Some("virtio"), Some(true)));
        let xen = place("xen", "vbd-51712/block/xvda");
        assert_eq!((xen.transport.as_deref(), xen.is_virtual("", false)), (Some("xen"), Some(true)));
        assert_eq!(place("loop", "virtual/block/loop0").is_virtual("", false), Some(true));
        let cloud = place("cloud", &format!("{DRIVE}/nvme/nvme0/nvme0n1"));
        assert_eq!(cloud.is_virtual("Amazon Elastic Block Store", false), Some(true));
        assert_eq!(Attachment::default().is_virtual("", false), None);
    }
}
