//! Processors of Arm: who made a core (MIDR), what it finishes per cycle, what the kernel and firmware show of it. Nothing
//! here depends on the architecture that this program runs on: a recorded machine is read anywhere.

pub(crate) mod cores;
pub(crate) mod device_tree;
pub(crate) mod hwcap;
pub(crate) mod identity;
pub(crate) mod kinds;
pub(crate) mod names;
pub(crate) mod vectors;

use crate::cpu::cpuinfo::CpuInfo;
use crate::sysroot::Sysroot;

/// Whether a machine's processor is of Arm: by its cores, or by the kernel's architecture where those are hidden.
pub(crate) fn is_arm(root: &Sysroot) -> bool {
    let of_kernel = || root.text("proc/sys/kernel/arch").is_some_and(|arch| arch == "aarch64");
    let has_cores = || !identity::Midr::of_cpus(root, &CpuInfo::read(root)).is_empty();
    root.cpuid().dump.is_empty() && (has_cores() || of_kernel())
}

/// The reason for a missing fact: that of Arm, or that of x86-64.
pub(crate) fn or_x86<'a>(root: &Sysroot, of_arm: &'a str, of_x86: &'a str) -> &'a str {
    if is_arm(root) { of_arm } else { of_x86 }
}
