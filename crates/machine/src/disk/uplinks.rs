//! Links that several disks share: an adapter's slot, a switch's uplink, an expander's port, a hub.

use model::machine::{Disk, SharedLink};

use crate::disk::links::passed;
use crate::sysroot::Sysroot;

/// The links with more than one of these disks behind them, those with the fewest disks first.
pub(crate) fn shared(root: &Sysroot, disks: &[Disk]) -> Vec<SharedLink> {
    let mut found: Vec<SharedLink> = Vec::new();
    for disk in disks.iter().filter(|disk| disk.is_virtual == Some(false)) {
        for (place, link) in disk.device.iter().flat_map(|number| passed(root, number)) {
            let same = |other: &&mut SharedLink| other.place == place && other.kind == link.kind;
            match found.iter_mut().find(same) {
                Some(other) => other.disks.push(disk.name.clone()),
                None => found.push(SharedLink {
                    kind: link.kind,
                    place,
                    bytes_per_second: link.bytes_per_second,
                    detail: link.detail,
                    disks: vec![disk.name.clone()],
                    source: link.source,
                }),
            }
        }
    }
    found.retain(|link| link.disks.len() > 1);
    found.sort_by(|one, other| {
        let by_disks = one.disks.len().cmp(&other.disks.len()).then_with(|| one.disks.cmp(&other.disks));
        by_disks.then(one.bytes_per_second.cmp(&other.bytes_per_second))
    });
    found.dedup_by(|wider, narrowest| wider.disks == narrowest.disks);
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::storage;
    use crate::fixture::Fixture;

    fn disk(fixture: Fixture, number: u32, path: &str) -> Fixture {
        let name = path.rsplit('/').next().unwrap();
        fixture
            .file(&format!("sys/block/{name}/size"), "8\n")
            .file(&format!("sys/block/{name}/dev"), &format!("8:{number}\n"))
            .link(&format!("sys/dev/block/8:{number}"), &format!("../../devices/{path}"))
            .file(&format!("sys/devices/{path}/dev"), &format!("8:{number}\n"))
    }

    fn lanes(fixture: Fixture, folder: &str, lanes: u32) -> Fixture {
        fixture
            .file(&format!("sys/devices/{folder}/current_link_speed"), "8.0 GT/s PCIe\n")
            .file(&format!("sys/devices/{folder}/current_link_width"), &format!("{lanes}\n"))
    }

    fn links(fixture: &Fixture, under_hypervisor: bool) -> Vec<(String, String, String)> {
        let root = fixture.root();
        let found = shared(&root, &storage::disks(&root, under_hypervisor));
        found.into_iter().map(|link| (link.place, link.kind, link.disks.join(" "))).collect()
    }

    fn link(place: &str, kind: &str, disks: &str) -> (String, String, String) {
        (place.into(), kind.into(), disks.into())
    }

    /// Two drives behind a switch of two levels and a third next to it, all under one port.
    fn switches(name: &str) -> Fixture {
        const PORT: &str = "pci0000:00/0000:00:01.0";
        let outer = format!("{PORT}/0000:01:00.0");
        let inner = format!("{outer}/0000:02:00.0/0000:03:00.0");
        let mut fixture = Fixture::new(name);
        for (folder, width) in [
            (PORT.to_owned(), 8),
            (outer.clone(), 8),
            (format!("{outer}/0000:02:00.0"), 4),
            (inner.clone(), 4),
            (format!("{outer}/0000:02:01.0"), 4),
        ] {
            fixture = lanes(fixture, &folder, width);
        }
        for (number, bridge) in [
            (0, format!("{inner}/0000:04:00.0/0000:05:00.0")),
            (1, format!("{inner}/0000:04:01.0/0000:06:00.0")),
            (2, format!("{outer}/0000:02:01.0/0000:07:00.0")),
        ] {
            fixture = lanes(fixture, bridge.rsplit_once('/').unwrap().0, 4);
            fixture = disk(lanes(fixture, &bridge, 4), number, &format!("{bridge}/nvme/nvme{number}/nvme{number}n1"));
        }
        fixture
    }

    #[test]
    fn links_in_series_with_the_same_disks_are_listed_once() {
        let fixture = switches("uplinks-switches");
        let found = shared(&fixture.root(), &storage::disks(&fixture.root(), false));
        let listed: Vec<(&str, u64, String)> =
            found.iter().map(|link| (link.place.as_str(), link.bytes_per_second, link.disks.join(" "))).collect();
        let (four_lanes, eight_lanes) = (3_938_000_000, 7_876_000_000);
        assert_eq!(listed[0], ("0000:02:00.0", four_lanes, "nvme0n1 nvme1n1".to_owned()));
        assert_eq!(listed[1], ("0000:00:01.0", eight_lanes, "nvme0n1 nvme1n1 nvme2n1".to_owned()));
        assert_eq!((listed.len(), found[0].detail.as_str()), (2, "PCIe 3.0 x4, 8 GT/s"));
        assert!(found[0].source.ends_with("0000:02:00.0/current_link_speed and current_link_width"), "{found:?}");
        // The uplink is slower than the port above it could be.
        let narrow = lanes(fixture, "pci0000:00/0000:00:01.0/0000:01:00.0", 2);
        let found = shared(&narrow.root(), &storage::disks(&narrow.root(), false));
        assert_eq!((found[1].place.as_str(), found[1].bytes_per_second), ("0000:01:00.0", 1_969_000_000));
    }

    #[test]
    fn a_hypervisors_links_are_its_own_invention() {
        assert_eq!(links(&switches("uplinks-guest"), true), []);
    }

    #[test]
    fn an_adapter_and_an_expander_are_shared_by_the_disks_behind_them() {
        let adapter = "pci0000:00/0000:05:00.0";
        let wide = format!("{adapter}/host0/port-0:0");
        let fixture = lanes(Fixture::new("uplinks-sas"), adapter, 8)
            .link(&format!("sys/devices/{wide}/phy-0:0"), "../phy-0:0")
            .link(&format!("sys/devices/{wide}/phy-0:1"), "../phy-0:1")
            .file("sys/class/sas_phy/phy-0:0/negotiated_linkrate", "12.0 Gbit\n")
            .file("sys/class/sas_phy/phy-0:1/negotiated_linkrate", "12.0 Gbit\n");
        let behind = |port: &str, name: &str| {
            format!(
                "{wide}/expander-0:0/port-0:0:{port}/end_device-0:0:{port}/target0:0:{port}/0:0:{port}:0/block/{name}"
            )
        };
        let fixture = disk(disk(fixture, 0, &behind("0", "sda")), 16, &behind("1", "sdb"));
        let direct = format!("{adapter}/host0/port-0:1/end_device-0:1/target0:0:9/0:0:9:0/block/sdc");
        let expected = [link("port-0:0", "sas", "sda sdb"), link("0000:05:00.0", "pcie", "sda sdb sdc")];
        assert_eq!(links(&disk(fixture, 32, &direct), false), expected);
    }

    #[test]
    fn a_port_multiplier_and_a_hub_are_shared_and_ports_of_one_controller_are_not() {
        let sata = |port: u32, target: u32, name: &str| {
            format!("pci0000:00/0000:00:17.0/ata{port}/host1/target1:{target}:0/1:{target}:0:0/block/{name}")
        };
        let usb = |device: &str, name: &str| {
            format!("pci0000:00/0000:00:14.0/usb2/{device}/2-9:1.0/host9/target9:0:0/9:0:0:0/block/{name}")
        };
        let mut fixture = Fixture::new("uplinks-ports")
            .file("sys/class/ata_link/link1/sata_spd", "6.0 Gbps\n")
            .file("sys/class/ata_link/link2/sata_spd", "6.0 Gbps\n")
            .file("sys/devices/pci0000:00/0000:00:14.0/usb2/speed", "10000\n");
        for device in ["2-1", "2-1/2-1.1", "2-1/2-1.2", "2-2"] {
            fixture = fixture.file(&format!("sys/devices/pci0000:00/0000:00:14.0/usb2/{device}/speed"), "5000\n");
        }
        let places = [
            sata(1, 0, "sda"),
            sata(1, 1, "sdb"),
            sata(2, 0, "sdc"),
            usb("2-1/2-1.1", "sdd"),
            usb("2-1/2-1.2", "sde"),
            usb("2-2", "sdf"),
        ];
        for (number, place) in (0..).zip(&places) {
            fixture = disk(fixture, number, place);
        }
        assert_eq!(links(&fixture, false), [link("ata1", "sata", "sda sdb"), link("2-1", "usb", "sdd sde")]);
    }
}
