//! Whether a machine without CPUID is virtual: signs of a hypervisor in the device tree and in firmware's identity, those
//! of `systemd-detect-virt`. Where either is known and shows none, the machine is bare.

use model::machine::Virtualization;

use crate::cpu::arm::{self, device_tree};
use crate::ledger::{Found, Ledger};
use crate::sysroot::{Sysroot, label};

/// What was seen of a hypervisor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Guest {
    Bare,
    /// With the hypervisor's name, where it is known.
    Virtual(Option<String>),
}

/// Vendor, product (a part of it), hypervisor.
const IDENTITIES: &[(&str, &str, &str)] = &[
    ("QEMU", "", "QEMU"),
    ("Red Hat", "KVM", "KVM"),
    ("KVM", "", "KVM"),
    ("Google", "Google Compute Engine", "KVM"),
    ("Microsoft Corporation", "Virtual Machine", "Hyper-V"),
    ("VMware", "", "VMware"),
    ("Parallels", "", "Parallels"),
    ("Apple Inc.", "Virtualization", "Apple Virtualization"),
    ("innotek GmbH", "", "VirtualBox"),
    ("Oracle Corporation", "VirtualBox", "VirtualBox"),
    ("OpenStack", "", "KVM"),
    ("Alibaba Cloud", "ECS", "KVM"),
    ("Xen", "", "Xen"),
];

/// The hypervisor below a machine of Arm.
pub(crate) fn virtualization(root: &Sysroot, ledger: &mut Ledger) -> Option<Virtualization> {
    let (guest, source) = of_firmware(root).filter(|_| arm::is_arm(root))?;
    let Guest::Virtual(hypervisor) = guest else { return None };
    ledger.source("virtualization", source);
    Some(Virtualization { hypervisor, signature: None })
}

pub(crate) fn of_firmware(root: &Sysroot) -> Found<Guest> {
    let identity = |name: &str| {
        let file = format!("sys/class/dmi/id/{name}");
        Some((root.text(&file)?.trim().to_owned(), label(&file)))
    };
    let named = |name: &str| Guest::Virtual(Some(name.to_owned()));
    if let Some((compatible, source)) = device_tree::hypervisor(root) {
        let known = [("kvm", "KVM"), ("xen", "Xen"), ("vmware", "VMware")];
        let name =
            known.iter().find(|(word, _)| compatible.contains(word)).map_or(compatible.as_str(), |(_, name)| name);
        return Some((named(name), source));
    }
    let board = device_tree::model(root);
    if let Some((_, source)) = board.clone().filter(|(model, _)| model.contains("dummy-virt")) {
        return Some((Guest::Virtual(None), source));
    }
    let Some((vendor, source)) = identity("sys_vendor") else { return board.map(|(_, source)| (Guest::Bare, source)) };
    let product = identity("product_name").map(|(product, _)| product).unwrap_or_default();
    if vendor == "Amazon EC2" {
        let is_metal = product.contains(".metal");
        return Some((if is_metal { Guest::Bare } else { named("KVM") }, source));
    }
    let fits = |row: &&(&str, &str, &str)| vendor.starts_with(row.0) && product.contains(row.1);
    Some((IDENTITIES.iter().find(fits).map_or(Guest::Bare, |(.., name)| named(name)), source))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Fixture;

    #[test]
    fn metal_and_boards_are_bare_and_what_names_no_firmware_is_unknown() {
        let dmi = |vendor: &str, product: &str| {
            Fixture::new("guest")
                .file("sys/class/dmi/id/sys_vendor", vendor)
                .file("sys/class/dmi/id/product_name", product)
        };
        let of = |fixture: Fixture| of_firmware(&fixture.root()).map(|(guest, _)| guest);
        let named = |name: &str| Some(Guest::Virtual(Some(name.to_owned())));
        assert_eq!(of(dmi("Amazon EC2", "c7g.large")), named("KVM"));
        assert_eq!(of(dmi("Amazon EC2", "c7g.metal")), Some(Guest::Bare));
        assert_eq!(of(dmi("Microsoft Corporation", "Virtual Machine")), named("Hyper-V"));
        assert_eq!(of(dmi("WIWYNN", "Mt.Jade Server System")), Some(Guest::Bare));
        let tree = |file: &str, text: &str| Fixture::new("guest-tree").file(&format!("proc/device-tree/{file}"), text);
        assert_eq!(of(tree("model", "Raspberry Pi 5 Model B Rev 1.0\0")), Some(Guest::Bare));
        assert_eq!(of(tree("model", "linux,dummy-virt\0")), Some(Guest::Virtual(None)));
        assert_eq!(of(tree("hypervisor/compatible", "linux,kvm\0")), named("KVM"));
        assert_eq!(of(Fixture::new("guest-none")), None);
    }
}
