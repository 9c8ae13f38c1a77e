//! Processors of Arm: who made a core (MIDR), what it finishes per cycle, what the kernel and firmware tell of it. Nothing
//! here depends on the architecture that this program runs on: a recorded machine is read anywhere.

pub(crate) mod cores;
pub(crate) mod device_tree;
pub(crate) mod hwcap;
pub(crate) mod identity;
pub(crate) mod kinds;
pub(crate) mod names;

use crate::cpu::cpuinfo::CpuInfo;
use crate::sysroot::Sysroot;

/// Whether a machine's processor is of Arm.
pub(crate) fn is_arm(root: &Sysroot) -> bool {
    root.cpuid().dump.is_empty() && !identity::Midr::of_cpus(root, &CpuInfo::read(root)).is_empty()
}
