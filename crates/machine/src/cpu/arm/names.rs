//! What a processor of Arm is called, as MIDR names the core alone: by firmware's table (for root), by the cloud, which
//! has one processor per core, or by the board.

use model::machine::Provider;

use crate::cpu::arm::device_tree;
use crate::cpu::cpuinfo::CpuInfo;
use crate::ledger::{Found, Ledger};
use crate::memory::smbios;
use crate::sysroot::{Sysroot, label};
use crate::system::cloud;

/// Provider, core, processor. Sources: `aws-graviton-getting-started`, README; Microsoft Learn, sizes Dpsv5 and Dpsv6;
/// Google Cloud, CPU platforms.
const OF_CLOUDS: &[(Provider, &str, &str)] = &[
    (Provider::Ec2, "Cortex-A72", "AWS Graviton"),
    (Provider::Ec2, "Neoverse N1", "AWS Graviton2"),
    (Provider::Ec2, "Neoverse V1", "AWS Graviton3"),
    (Provider::Ec2, "Neoverse V2", "AWS Graviton4"),
    (Provider::Ec2, "Neoverse V3", "AWS Graviton5"),
    (Provider::Azure, "Neoverse N1", "Ampere Altra"),
    (Provider::Azure, "Neoverse N2", "Azure Cobalt 100"),
    (Provider::Gce, "Neoverse N1", "Ampere Altra"),
    (Provider::Gce, "Neoverse V2", "Google Axion"),
    (Provider::Gce, "Neoverse N3", "Google Axion"),
];

/// The name with its source. `core` is the microarchitecture of the first CPU.
pub(crate) fn processor(root: &Sysroot, cpuinfo: &CpuInfo, core: Option<&str>) -> Found<String> {
    let firmware = || Some((smbios::processor(&root.bytes(smbios::FILE)?)?, label(smbios::FILE)));
    let of_cloud = || {
        let mut ledger = Ledger::default();
        let provider = cloud::discover(root, &mut ledger)?.provider;
        let (.., name) = OF_CLOUDS.iter().find(|(of, known, _)| *of == provider && Some(*known) == core)?;
        Some(((*name).to_owned(), format!("core and {}", ledger.sources.get("cloud")?)))
    };
    // The board stands for its processor, which has no other name there.
    let board = || cpuinfo.first("Hardware").map(|name| (name.to_owned(), label(CpuInfo::FILE)));
    firmware().or_else(of_cloud).or_else(|| device_tree::model(root)).or_else(board)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Fixture;

    #[test]
    fn the_cloud_names_the_processor_before_the_board_does() {
        let vendor = |name| Fixture::new("arm-names").file("sys/class/dmi/id/sys_vendor", name);
        let model = |fixture: Fixture| fixture.file("proc/device-tree/model", "Raspberry Pi 4 Model B Rev 1.4\0");
        let of =
            |fixture: &Fixture, core| processor(&fixture.root(), &CpuInfo::default(), Some(core)).map(|found| found.0);
        let ec2 = model(vendor("Amazon EC2"));
        assert_eq!(of(&ec2, "Neoverse V1").as_deref(), Some("AWS Graviton3"));
        assert_eq!(of(&ec2, "Neoverse N3").as_deref(), Some("Raspberry Pi 4 Model B Rev 1.4"));
        assert_eq!(of(&vendor("Another"), "Neoverse V1"), None);
        let board = CpuInfo::parse("processor\t: 0\n\nHardware\t: BCM2711\n");
        assert_eq!(processor(&vendor("").root(), &board, None).map(|found| found.0).as_deref(), Some("BCM2711"));
    }
}
