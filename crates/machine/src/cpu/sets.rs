//! Why an instruction set cannot be used: the CPU lacks it, or the system or a hypervisor withholds it.

use model::isa::Isa;
use model::machine::{CoreKind, Cpu, Machine, Withheld, WithheldBy};

use crate::cpu::features::Features;
use crate::cpu::steps::CpuKernel;
use crate::cpu::uarch::Uarch;

/// The instruction sets that these cores have and CPUID does not show.
pub(crate) fn hidden(uarch: &Uarch, found: &Features) -> Vec<Withheld> {
    let why = || format!("{} has it (LLVM X86.td, {}), this guest's CPUID does not", uarch.name, uarch.sets.1);
    let unseen = uarch.sets.0.iter().filter(|isa| !found.in_cpuid.contains(isa));
    unseen.map(|isa| Withheld { isa: *isa, by: WithheldBy::Hypervisor, why: why() }).collect()
}

/// Why a set is not usable on every CPU, as a clause: `the hypervisor hides AMX from this guest (… has it)`.
pub fn missing(machine: &Machine, isa: Isa) -> String {
    let (cpu, set) = (&machine.cpu, isa.title());
    if cpu.isa.contains(&isa) {
        return format!("this CPU{} has {set}", named(cpu));
    }
    if let Some(withheld) = cpu.withheld.iter().find(|withheld| withheld.isa == isa) {
        return match withheld.by {
            WithheldBy::OperatingSystem => format!("the operating system does not enable {set} ({})", withheld.why),
            WithheldBy::Hypervisor => {
                let name = cpu.microarchitecture.as_deref().unwrap_or("its core");
                format!("the hypervisor hides {set} from this guest ({name} has it)")
            }
        };
    }
    let having: Vec<CoreKind> =
        cpu.core_types.iter().filter(|kind| kind.isa.contains(&isa)).map(|kind| kind.kind).collect();
    if having.is_empty() {
        return format!("this CPU{} has no {set}", named(cpu));
    }
    let kinds: Vec<String> = having.iter().map(|kind| format!("{}cores", core_prefix(*kind))).collect();
    format!("of this CPU's cores only the {} have {set}", kinds.join(" and "))
}

/// The features beyond its set that a kernel lacks, as a clause: `this CPU (…) has AMX without amx_fp16`.
pub fn lacking(machine: &Machine, kernel: CpuKernel) -> Option<String> {
    let cpu = &machine.cpu;
    let lacks = kernel.lacks(&cpu.features);
    let clause = || format!("this CPU{} has {} without {}", named(cpu), kernel.isa.title(), lacks.join(", "));
    (cpu.isa.contains(&kernel.isa) && !lacks.is_empty()).then(clause)
}

fn named(cpu: &Cpu) -> String {
    cpu.microarchitecture.as_deref().map(|name| format!(" ({name})")).unwrap_or_default()
}

pub(crate) const fn core_prefix(kind: CoreKind) -> &'static str {
    match kind {
        CoreKind::Uniform => "",
        CoreKind::Performance => "P-",
        CoreKind::Efficiency => "E-",
        CoreKind::LowPowerEfficiency => "LPE-",
    }
}

#[cfg(test)]
mod tests {
    use model::isa::{CpuOp, Element};
    use model::machine::CoreType;

    use super::*;

    fn machine(cpu: Cpu) -> Machine {
        Machine { cpu: Cpu { microarchitecture: Some("Emerald Rapids".into()), ..cpu }, ..Machine::default() }
    }

    #[test]
    fn the_reason_for_a_missing_set_is_named() {
        let withheld = |by| Cpu {
            withheld: vec![Withheld { isa: Isa::Amx, by, why: "CPUID has it, XCR0 lacks the tile registers".into() }],
            ..Cpu::default()
        };
        assert_eq!(
            missing(&machine(withheld(WithheldBy::Hypervisor)), Isa::Amx),
            "the hypervisor hides AMX from this guest (Emerald Rapids has it)"
        );
        assert_eq!(
            missing(&machine(withheld(WithheldBy::OperatingSystem)), Isa::Amx),
            "the operating system does not enable AMX (CPUID has it, XCR0 lacks the tile registers)"
        );
        assert_eq!(missing(&machine(Cpu::default()), Isa::Amx), "this CPU (Emerald Rapids) has no AMX");
        assert_eq!(missing(&Machine::default(), Isa::Avx512), "this CPU has no AVX-512");
    }

    #[test]
    fn a_set_of_some_cores_names_their_kind() {
        let fast = CoreType { kind: CoreKind::Performance, isa: vec![Isa::Avx512], ..CoreType::default() };
        let small = CoreType { kind: CoreKind::Efficiency, ..CoreType::default() };
        let hybrid = Cpu { core_types: vec![fast, small], ..Cpu::default() };
        let clause = "of this CPU's cores only the P-cores have AVX-512";
        assert_eq!(missing(&machine(hybrid), Isa::Avx512), clause);
    }

    #[test]
    fn a_kernel_may_lack_more_than_its_set() {
        let tiles = |element| CpuKernel { op: CpuOp::Matrix, element, isa: Isa::Amx };
        let cpu = Cpu { isa: vec![Isa::Amx], features: vec!["amx_int8".into()], ..Cpu::default() };
        let machine = machine(cpu);
        assert_eq!(lacking(&machine, tiles(Element::Int8)), None);
        let clause = "this CPU (Emerald Rapids) has AMX without amx_fp16";
        assert_eq!(lacking(&machine, tiles(Element::Fp16)).as_deref(), Some(clause));
        assert_eq!(lacking(&Machine::default(), tiles(Element::Fp16)), None, "the set is missing, not the feature");
    }
}
