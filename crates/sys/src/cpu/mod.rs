//! Hardware threads: pinning, raw CPUID, cycle counters, the kernel's tick, AMX permission.

pub mod affinity;
pub mod cpuid;
pub mod cycles;
pub mod tick;
pub mod tiles;
