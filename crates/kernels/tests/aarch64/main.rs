//! The kernels of 64-bit Arm: features, and machine code against the work that rows declare.

#[cfg(all(target_arch = "aarch64", target_os = "linux"))]
mod arithmetic;
#[cfg(all(target_arch = "aarch64", target_os = "linux"))]
#[path = "../support/disassembly.rs"]
mod disassembly;
mod features;
#[cfg(all(target_arch = "aarch64", target_os = "linux"))]
mod memory;
#[cfg(all(target_arch = "aarch64", target_os = "linux"))]
#[path = "../support/skip.rs"]
mod skip;
