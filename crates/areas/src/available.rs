//! The memory that benchmarks can have on a machine.

use model::machine::Machine;

/// Bytes that can be allocated: what is available, or what the control group still allows.
pub(crate) fn obtainable_bytes(machine: &Machine) -> Option<u64> {
    let memory = &machine.memory;
    let in_group = memory.limit_bytes.map(|limit| limit.saturating_sub(memory.limit_used_bytes.unwrap_or(0)));
    memory.available_bytes.into_iter().chain(in_group).min()
}
