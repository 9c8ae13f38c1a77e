//! Network interfaces and their links.

use model::machine::Nic;

use crate::net::infiniband;
use crate::net::namespace::{self, INTERFACES};
use crate::sysroot::Sysroot;
use crate::system::pcie::narrowest_above;

/// The fastest link that the kernel knows, 10^6 bit/s (`SPEED_1600000` in `include/uapi/linux/ethtool.h`).
const FASTEST: f64 = 1_600_000.0;
/// `SPEED_UNKNOWN` (-1) in 16 bits.
const UNKNOWN_SPEEDS: [f64; 1] = [65_535.0];

/// Drivers that invent a speed: `vmxnet3` 10 Gbit/s, `ibmveth` 1 Gbit/s, `virtio_net` what the host configured.
const VIRTUAL_DRIVERS: &[&str] =
    &["virtio_net", "vif", "xen-netfront", "vmxnet3", "hv_netvsc", "ibmveth", "ena", "gve", "mana"];

/// Drivers of USB modems and gadgets, which report the peer's claim instead of a link speed.
const CLAIMING_DRIVERS: &[&str] = &["cdc_ether", "cdc_ncm", "cdc_mbim", "rndis_host", "qmi_wwan"];

/// Drivers of old hardware that hypervisors emulate: in a guest the speed is the emulated card's.
const EMULATED_DRIVERS: &[&str] = &["e1000", "e1000e", "igb", "8139cp", "8139too", "pcnet32", "tulip", "ne2k-pci"];

/// The interfaces of this process's network namespace.
pub(crate) fn interfaces(root: &Sysroot, under_hypervisor: bool) -> Vec<Nic> {
    let own = namespace::read(root);
    if !own.in_sysfs {
        return own.names.iter().map(|name| undescribed(name)).collect();
    }
    own.names.iter().filter_map(|name| described(root, name, under_hypervisor)).collect()
}

/// One of them, if sysfs describes it.
pub(crate) fn interface(root: &Sysroot, name: &str, under_hypervisor: bool) -> Option<Nic> {
    let own = namespace::read(root);
    let is_described = own.in_sysfs && own.names.iter().any(|own| own == name);
    is_described.then(|| described(root, name, under_hypervisor))?
}

/// An interface that sysfs does not describe: of the same name it may have another namespace's.
/// The link's speed in 10^6 bit/s; -1 is unknown, which some drivers report without its sign.
pub(super) fn speed(root: &Sysroot, name: &str) -> Option<f64> {
    let speed = root.number::<f64>(&format!("{INTERFACES}/{name}/speed"))?;
    ((1.0..=FASTEST).contains(&speed) && !UNKNOWN_SPEEDS.contains(&speed)).then_some(speed)
}

fn undescribed(name: &str) -> Nic {
    let kind = (name == "lo").then(|| "loopback".to_owned());
    Nic { name: name.to_owned(), kind, ..Nic::default() }
}

fn described(root: &Sysroot, name: &str, under_hypervisor: bool) -> Option<Nic> {
    let file = |file: &str| format!("{INTERFACES}/{name}/{file}");
    let mtu = root.number(&file("mtu"))?;
    let driver = root.link_name(&file("device/driver"));
    let queues = root.names(&file("queues"));
    let count = |prefix: &str| u32::try_from(queues.iter().filter(|queue| queue.starts_with(prefix)).count()).ok();
    let known = |count: Option<u32>| count.filter(|count| *count > 0);
    let speed = speed(root, name);
    let (layer, lower) = layers(root, name);
    let uevent = root.text(&file("device/uevent")).unwrap_or_default();
    let pci_address = uevent.lines().find_map(|line| line.strip_prefix("PCI_SLOT_NAME=")).map(str::to_owned);
    let bus = pci_address.as_ref().filter(|_| !under_hypervisor).and_then(|slot| narrowest_above(root, slot));
    Some(Nic {
        name: name.to_owned(),
        duplex: root.text(&file("duplex")).filter(|duplex| duplex == "full" || duplex == "half"),
        // `802.3ad 4`
        bond_mode: root.text(&file("bonding/mode")).and_then(|text| text.split(' ').next().map(str::to_owned)),
        layer,
        lower,
        bus,
        pci_address,
        infiniband: infiniband::port(root, name),
        speed_bps: speed.map(|speed| speed * 1e6),
        speed_trusted: speed.map(|_| is_trusted(driver.as_deref(), under_hypervisor)),
        kind: root.number(&file("type")).and_then(kind).map(str::to_owned),
        is_virtual: Some(driver.as_deref().is_none_or(|driver| VIRTUAL_DRIVERS.contains(&driver))),
        driver,
        mtu: Some(mtu),
        state: root.text(&file("operstate")),
        receive_queues: known(count("rx-")),
        transmit_queues: known(count("tx-")),
    })
}

/// The kind of a stacked interface, and the interfaces below it.
fn layers(root: &Sysroot, name: &str) -> (Option<String>, Vec<String>) {
    let folder = format!("{INTERFACES}/{name}");
    if let Some(slaves) = root.text(&format!("{folder}/bonding/slaves")) {
        // A standby slave carries nothing.
        let carries = |slave: &&str| {
            let of_slave = |file: &str| root.text(&format!("{INTERFACES}/{slave}/bonding_slave/{file}"));
            of_slave("mii_status").is_none_or(|status| status == "up")
                && of_slave("state").is_none_or(|state| state == "active")
        };
        return (Some("bond".to_owned()), slaves.split_whitespace().filter(carries).map(str::to_owned).collect());
    }
    let names = root.names(&folder);
    let lower: Vec<String> = names.iter().filter_map(|name| name.strip_prefix("lower_")).map(str::to_owned).collect();
    // The ends of a veth pair are each other's lower device.
    let on_top = |other: &String| root.names(&format!("{INTERFACES}/{other}")).contains(&format!("lower_{name}"));
    if lower.is_empty() || lower.iter().any(on_top) {
        return (None, Vec::new());
    }
    let uevent = root.text(&format!("{folder}/uevent")).unwrap_or_default();
    let uevent = uevent.lines().find_map(|line| line.strip_prefix("DEVTYPE="));
    let layer = match uevent {
        Some(kind @ ("vlan" | "bridge")) => kind,
        // Teams have no DEVTYPE; no other kind has several lower interfaces.
        _ if lower.len() > 1 => "team",
        _ => "stacked",
    };
    (Some(layer.to_owned()), lower)
}

/// Whether a speed is a real link's. Interfaces without a device invent one: veth 10 Gbit/s, tun 10 Mbit/s.
fn is_trusted(driver: Option<&str>, under_hypervisor: bool) -> bool {
    let made_up = |driver: &str| {
        [VIRTUAL_DRIVERS, CLAIMING_DRIVERS].iter().any(|drivers| drivers.contains(&driver))
            || (under_hypervisor && EMULATED_DRIVERS.contains(&driver))
    };
    driver.is_some_and(|driver| !made_up(driver))
}

/// Kinds of link by their number (`include/uapi/linux/if_arp.h`).
fn kind(number: u32) -> Option<&'static str> {
    Some(match number {
        1 => "ethernet",
        32 => "infiniband",
        772 => "loopback",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Fixture;

    fn interface_with(name: &str, driver: Option<&str>, speed: &str, under_hypervisor: bool) -> Nic {
        let fixture = Fixture::new(name)
            .file("sys/class/net/x0/mtu", "1500\n")
            .file("sys/class/net/x0/type", "1\n")
            .file("sys/class/net/x0/speed", speed);
        let fixture = match driver {
            Some(driver) => fixture.link("sys/class/net/x0/device/driver", &format!("../../bus/pci/drivers/{driver}")),
            None => fixture,
        };
        interfaces(&fixture.root(), under_hypervisor).remove(0)
    }

    #[test]
    fn in_an_unshared_network_namespace_the_card_of_the_host_is_not_ours() {
        let host = Fixture::new("unshared-cards")
            .file("sys/class/net/eth0/mtu", "1500\n")
            .file("sys/class/net/eth0/speed", "25000\n")
            .link("sys/class/net/eth0/device/driver", "../../bus/pci/drivers/ice")
            .file("proc/self/net/dev", "head\nhead\n  eth0: 1 2\n");
        assert_eq!(interface(&host.root(), "eth0", false).and_then(|nic| nic.speed_bps), Some(25e9));
        // A veth end of the same name, and the host's loopback.
        let container = host.file("proc/self/net/dev", "head\nhead\n lo: 1 2\n  eth0: 1 2\n");
        let nics = interfaces(&container.root(), false);
        let found: Vec<(&str, Option<f64>)> = nics.iter().map(|nic| (nic.name.as_str(), nic.speed_bps)).collect();
        assert_eq!(found, [("lo", None), ("eth0", None)]);
        assert_eq!(interface(&container.root(), "eth0", false), None);
    }

    #[test]
    fn only_speeds_of_hardware_are_trusted() {
        let trusted = |name: &str, driver: Option<&str>, speed: &str, hypervisor: bool| {
            let nic = interface_with(name, driver, speed, hypervisor);
            assert_eq!(nic.kind.as_deref(), Some("ethernet"));
            (nic.speed_bps, nic.speed_trusted)
        };
        assert_eq!(trusted("ice", Some("ice"), "25000\n", false), (Some(25e9), Some(true)));
        assert_eq!(trusted("mlx-guest", Some("mlx5_core"), "100000\n", true), (Some(1e11), Some(true)));
        assert_eq!(trusted("veth", None, "10000\n", false), (Some(1e10), Some(false)));
        assert_eq!(trusted("vmxnet3", Some("vmxnet3"), "10000\n", true), (Some(1e10), Some(false)));
        assert_eq!(trusted("e1000-guest", Some("e1000"), "1000\n", true), (Some(1e9), Some(false)));
        assert_eq!(trusted("e1000-host", Some("e1000"), "1000\n", false), (Some(1e9), Some(true)));
        assert_eq!(trusted("modem", Some("cdc_ncm"), "426\n", false), (Some(426e6), Some(false)));
        assert_eq!(trusted("virtio", Some("virtio_net"), "-1\n", true), (None, None));
    }
}
