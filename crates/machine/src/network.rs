//! Network interfaces and their links.

use model::machine::Nic;

use crate::sysroot::Sysroot;

const INTERFACES: &str = "sys/class/net";

/// Drivers of interfaces that a hypervisor makes up; their link speed, where they show one, is made up too.
const VIRTUAL_DRIVERS: &[&str] = &["virtio_net", "vif", "xen-netfront", "vmxnet3", "hv_netvsc"];

/// Every interface.
pub(crate) fn interfaces(root: &Sysroot) -> Vec<Nic> {
    root.names(INTERFACES).iter().filter_map(|name| interface(root, name)).collect()
}

fn interface(root: &Sysroot, name: &str) -> Option<Nic> {
    let file = |file: &str| format!("{INTERFACES}/{name}/{file}");
    // Some entries, such as `bonding_masters`, are files and no interfaces.
    let mtu = root.number(&file("mtu"))?;
    let driver = root.link(&file("device/driver"));
    let driver = driver.and_then(|target| target.file_name()?.to_str().map(str::to_owned));
    let queues = root.names(&file("queues"));
    let count = |prefix: &str| u32::try_from(queues.iter().filter(|queue| queue.starts_with(prefix)).count()).ok();
    let known = |count: Option<u32>| count.filter(|count| *count > 0);
    Some(Nic {
        name: name.to_owned(),
        // The kernel says -1 where it does not know, in 10^6 bit/s where it does.
        speed_bps: root
            .number::<f64>(&file("speed"))
            .filter(|speed| speed.is_finite() && *speed > 0.0)
            .map(|speed| speed * 1e6),
        is_virtual: Some(driver.as_deref().is_none_or(|driver| VIRTUAL_DRIVERS.contains(&driver))),
        driver,
        mtu: Some(mtu),
        state: root.text(&file("operstate")),
        receive_queues: known(count("rx-")),
        transmit_queues: known(count("tx-")),
    })
}
