//! Latencies of the clock chains that differ between cores.

use model::isa::Isa;
use model::machine::Machine;

/// Register multiplication on the big cores of Intel and AMD (`InstLatx64`, Haswell to Lion Cove and Zen 1 to Zen 5).
const USUAL_IMUL_CYCLES: u32 = 3;

/// Exceptions (`InstLatx64`: Alder Lake and Meteor Lake E-cores 5, Arrow Lake E-cores 4).
const OTHER_IMUL_CYCLES: &[(&str, u32)] = &[("Gracemont", 5), ("Crestmont", 5), ("Skymont", 4)];

/// The least that any core of Arm takes: a chain that is taken to be too fast only yields to the other one.
const ARM_IMUL_CYCLES: u32 = 2;

/// Cycles of a dependent 64-bit multiplication on the core behind a logical CPU.
pub fn imul_cycles(machine: &Machine, cpu: u32) -> u32 {
    let name = machine.cpu.core_type_of(cpu).and_then(|core_type| core_type.microarchitecture.as_deref()).unwrap_or("");
    let usual = if machine.cpu.isa.contains(&Isa::Neon) { ARM_IMUL_CYCLES } else { USUAL_IMUL_CYCLES };
    OTHER_IMUL_CYCLES.iter().find(|(other, _)| name.contains(other)).map_or(usual, |(_, cycles)| *cycles)
}

#[cfg(test)]
mod tests {
    use model::machine::{CoreType, Cpu, Machine};

    use super::imul_cycles;

    #[test]
    fn small_cores_multiply_more_slowly() {
        let core = |name: &str, cpu| CoreType {
            microarchitecture: Some(name.to_owned()),
            cpus: vec![cpu],
            ..CoreType::default()
        };
        let cpu = Cpu { core_types: vec![core("Raptor Cove", 0), core("Gracemont", 1)], ..Cpu::default() };
        let machine = Machine { cpu, ..Machine::default() };
        assert_eq!([0, 1, 9].map(|cpu| imul_cycles(&machine, cpu)), [3, 5, 3]);
    }
}
