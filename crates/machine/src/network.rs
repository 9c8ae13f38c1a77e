//! Network interfaces and their links.

use model::machine::Nic;

use crate::sysroot::Sysroot;

const INTERFACES: &str = "sys/class/net";

/// Drivers of interfaces that a hypervisor makes up. Where they show a link speed, it is made up too: `vmxnet3` writes
/// 10 Gbit/s into itself, `ibmveth` 1 Gbit/s, `virtio_net` says what it was told.
const VIRTUAL_DRIVERS: &[&str] =
    &["virtio_net", "vif", "xen-netfront", "vmxnet3", "hv_netvsc", "ibmveth", "ena", "gve"];

/// Drivers of old hardware that hypervisors imitate: in a guest their speed is the imitated card's.
const IMITATED_DRIVERS: &[&str] = &["e1000", "e1000e", "igb", "8139cp", "8139too", "pcnet32", "tulip", "ne2k-pci"];

/// Every interface.
pub(crate) fn interfaces(root: &Sysroot, under_hypervisor: bool) -> Vec<Nic> {
    root.names(INTERFACES).iter().filter_map(|name| interface(root, name, under_hypervisor)).collect()
}

/// One interface.
pub(crate) fn interface(root: &Sysroot, name: &str, under_hypervisor: bool) -> Option<Nic> {
    let file = |file: &str| format!("{INTERFACES}/{name}/{file}");
    // Some entries, such as `bonding_masters`, are files and no interfaces.
    let mtu = root.number(&file("mtu"))?;
    let driver = root.link(&file("device/driver"));
    let driver = driver.and_then(|target| target.file_name()?.to_str().map(str::to_owned));
    let queues = root.names(&file("queues"));
    let count = |prefix: &str| u32::try_from(queues.iter().filter(|queue| queue.starts_with(prefix)).count()).ok();
    let known = |count: Option<u32>| count.filter(|count| *count > 0);
    // The kernel says -1 where it does not know, in 10^6 bit/s where it does.
    let speed = root.number::<f64>(&file("speed")).filter(|speed| speed.is_finite() && *speed > 0.0);
    Some(Nic {
        name: name.to_owned(),
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

/// Whether a speed is a link's. Without a device behind the interface (veth, tun, bridges) it never is: veth writes
/// 10 Gbit/s into itself, tun 10 Mbit/s.
fn is_trusted(driver: Option<&str>, under_hypervisor: bool) -> bool {
    let made_up =
        |driver: &str| VIRTUAL_DRIVERS.contains(&driver) || (under_hypervisor && IMITATED_DRIVERS.contains(&driver));
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
    fn only_hardwares_own_word_about_its_speed_is_believed() {
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
        assert_eq!(trusted("virtio", Some("virtio_net"), "-1\n", true), (None, None));
    }
}
