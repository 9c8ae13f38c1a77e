//! The identity of each core, its MIDR: from the kernel's copy of the register, else from `/proc/cpuinfo`.

use std::collections::BTreeMap;

use crate::cpu::cpuinfo::CpuInfo;
use crate::sysroot::{Sysroot, label};
use crate::system::online::{CPUS, online_cpus};

/// What MIDR states (Arm Architecture Reference Manual, `MIDR_EL1`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Midr {
    pub(crate) implementer: u32,
    pub(crate) part: u32,
    pub(crate) variant: u32,
    pub(crate) revision: u32,
}

/// Linux, `arch/arm64/include/asm/cputype.h`; util-linux, `sys-utils/lscpu-arm.c`.
const IMPLEMENTERS: &[(u32, &str)] = &[
    (0x41, "Arm"),
    (0x42, "Broadcom"),
    (0x43, "Cavium"),
    (0x46, "Fujitsu"),
    (0x48, "HiSilicon"),
    (0x4e, "NVIDIA"),
    (0x50, "APM"),
    (0x51, "Qualcomm"),
    (0x53, "Samsung"),
    (0x56, "Marvell"),
    (0x61, "Apple"),
    (0x6d, "Microsoft"),
    (0x70, "Phytium"),
    (0xc0, "Ampere"),
];

impl Midr {
    /// The identity of a CPU with its source.
    pub(crate) fn of_cpu(root: &Sysroot, cpuinfo: &CpuInfo, cpu: u32) -> Option<(Self, String)> {
        let file = format!("{CPUS}/cpu{cpu}/regs/identification/midr_el1");
        if let Some(midr) = root.text(&file).and_then(|text| hexadecimal(&text)) {
            return Some((Self::from_register(midr), label(&file)));
        }
        let number = |key| cpuinfo.of_cpu(cpu, key).and_then(number);
        let (implementer, part) = (number("CPU implementer")?, number("CPU part")?);
        let [variant, revision] = ["CPU variant", "CPU revision"].map(|key| number(key).unwrap_or(0));
        Some((Self { implementer, part, variant, revision }, label(CpuInfo::FILE)))
    }

    /// The identities of the CPUs that are online; empty where the processor is not of Arm. Where one statement is made for
    /// all, it is that of each.
    pub(crate) fn of_cpus(root: &Sysroot, cpuinfo: &CpuInfo) -> BTreeMap<u32, Self> {
        let listed = cpuinfo.cpus.iter().filter_map(|block| block.get("processor")?.parse().ok());
        let cpus = online_cpus(root).into_iter().chain(listed);
        cpus.filter_map(|cpu| Some((cpu, Self::of_cpu(root, cpuinfo, cpu)?.0))).collect()
    }

    fn from_register(midr: u32) -> Self {
        let bits = |high: u32, low: u32| crate::cpu::dump::bits(midr, high, low);
        Self { implementer: bits(31, 24), variant: bits(23, 20), part: bits(15, 4), revision: bits(3, 0) }
    }

    pub(crate) fn vendor(self) -> String {
        let known = IMPLEMENTERS.iter().find(|(code, _)| *code == self.implementer);
        known.map_or_else(|| format!("implementer {:#x}", self.implementer), |(_, name)| (*name).to_owned())
    }

    /// Variant and revision as one number, `r1p1` as 0x11.
    pub(crate) const fn stepping(self) -> u32 {
        self.variant << 4 | self.revision
    }
}

/// `0x00000000411fd402`: the upper half is reserved.
fn hexadecimal(text: &str) -> Option<u32> {
    let digits = text.trim().trim_start_matches("0x");
    u64::from_str_radix(digits, 16).ok().and_then(|midr| u32::try_from(midr & u64::from(u32::MAX)).ok())
}

/// `0xd40` or `1`.
fn number(text: &str) -> Option<u32> {
    text.strip_prefix("0x").map_or_else(|| text.parse().ok(), |digits| u32::from_str_radix(digits, 16).ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Fixture;

    #[test]
    fn the_register_wins_over_cpuinfo_and_each_cpu_has_its_own() {
        let cpuinfo = "processor\t: 0\nCPU implementer\t: 0x41\nCPU variant\t: 0x1\nCPU part\t: 0xd05\nCPU revision\t: 2\n\n\
             processor\t: 1\nCPU implementer\t: 0x41\nCPU part\t: 0xd05\n";
        let fixture = Fixture::new("midr")
            .file(&format!("{CPUS}/online"), "0-1\n")
            .file(&format!("{CPUS}/cpu1/regs/identification/midr_el1"), "0x00000000411fd402\n");
        let found = Midr::of_cpus(&fixture.root(), &CpuInfo::parse(cpuinfo));
        let shown = found.values().map(|midr| (midr.vendor(), midr.part, midr.stepping())).collect::<Vec<_>>();
        assert_eq!(shown, [("Arm".to_owned(), 0xd05, 0x12), ("Arm".to_owned(), 0xd40, 0x12)]);
        assert_eq!(Midr::of_cpus(&fixture.root(), &CpuInfo::default()).len(), 1, "without /proc/cpuinfo");
        assert_eq!(Midr::from_register(0x999f_0001).vendor(), "implementer 0x99");
    }
}
