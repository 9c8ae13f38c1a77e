//! Hardware threads: pinning, raw CPUID, cycle counters, the kernel's tick, permission for tiles.

pub mod affinity;
pub mod cpuid;
pub mod cycles;
pub mod tick;
pub mod tiles;
