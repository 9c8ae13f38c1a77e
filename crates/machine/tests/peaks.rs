//! Peaks of recorded machines, and this project's own build machine as a whole.
#![allow(clippy::unwrap_used, reason = "a test whose set-up fails has failed")]

use std::collections::BTreeMap;
use std::path::Path;

use machine::{CpuKernel, Declared, Sysroot, cpu_peaks, discover, info_peaks};
use model::isa::{CpuOp, Element, Isa};
use model::machine::{CoreType, Cpu, LogicalCpu, Machine, OpsPerCycle, WithheldBy};
use model::peak::{Peak, PeakKind};

const DP_AVX2: CpuKernel = CpuKernel { op: CpuOp::Fma, element: Element::Fp64, isa: Isa::Avx2 };
const DP_AVX512: CpuKernel = CpuKernel { op: CpuOp::Fma, element: Element::Fp64, isa: Isa::Avx512 };

fn recorded(name: &str) -> Machine {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/machines").join(name);
    let root = Sysroot::folder(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    discover(&root)
}

fn find(peaks: &[Peak], kind: PeakKind) -> Option<&Peak> {
    peaks.iter().find(|peak| peak.kind == kind)
}

fn near(value: f64, expected: f64) -> bool {
    (value / expected - 1.0).abs() < 1e-12
}

/// Two cores of two threads each, with this rate.
fn two_cores(ops: OpsPerCycle) -> Machine {
    let place =
        |cpu: u32| LogicalCpu { cpu, core: cpu / 2, siblings: vec![cpu & !1, cpu | 1], ..LogicalCpu::default() };
    let ops = OpsPerCycle { what: DP_AVX512.what(), unit: "flop/cycle".into(), source: "table: a test".into(), ..ops };
    let kind = CoreType { cpus: vec![0, 1, 2, 3], ops_per_cycle: vec![ops], ..CoreType::default() };
    let cpu = Cpu { topology: (0..4).map(place).collect(), core_types: vec![kind], ..Cpu::default() };
    Machine { cpu, ..Machine::default() }
}

#[test]
fn the_contracts_example() {
    let machine = two_cores(OpsPerCycle { value: Some(32.0), ..OpsPerCycle::default() });
    let peaks = cpu_peaks(&machine, DP_AVX512, &[0, 2], Some(&[3.8e9, 3.8e9]), None);
    assert_eq!(peaks.len(), 1, "no boost and no base clock is known");
    assert_eq!(peaks[0].formula, "2 cores x 3.80 GHz x 32 flop/cycle");
    assert!(near(peaks[0].value, 2.432e11));
    assert!(peaks[0].inputs.iter().any(|input| input.name == "flop/cycle" && input.source == "table: a test"));
}

#[test]
fn smt_siblings_add_nothing() {
    let machine = two_cores(OpsPerCycle { value: Some(32.0), ..OpsPerCycle::default() });
    let peaks = cpu_peaks(&machine, DP_AVX512, &[0, 1, 2, 2], Some(&[3e9, 4e9, 2e9, 1e9]), None);
    assert!(near(peaks[0].value, 32.0 * 6e9), "{}", peaks[0].formula);
}

#[test]
fn an_open_rate_waits_for_a_probe() {
    let open = OpsPerCycle { candidates: vec![16.0, 32.0], ..OpsPerCycle::default() };
    let machine = two_cores(open);
    assert!(cpu_peaks(&machine, DP_AVX512, &[0], Some(&[3e9]), None).is_empty());
    let peaks = cpu_peaks(&machine, DP_AVX512, &[0], Some(&[3e9]), Some(31.8));
    assert!(near(find(&peaks, PeakKind::Sustained).unwrap().value, 9.6e10));
    let probed = "decided by a probe: 1.99 x 512-bit VFMADD231PD";
    assert!(peaks[0].inputs.iter().any(|input| input.source.contains(probed)));
}

#[test]
fn an_unknown_microarchitecture_gives_an_inferred_peak_only() {
    let machine = two_cores(OpsPerCycle::default());
    assert!(cpu_peaks(&machine, DP_AVX512, &[0], Some(&[3e9]), None).is_empty());
    let peaks = cpu_peaks(&machine, DP_AVX512, &[0], Some(&[3e9]), Some(31.0));
    assert_eq!(peaks.iter().map(|peak| peak.kind).collect::<Vec<_>>(), [PeakKind::Inferred]);
}

fn kernel(op: CpuOp, element: Element, isa: Isa) -> CpuKernel {
    CpuKernel { op, element, isa }
}

fn plain(element: Element) -> CpuKernel {
    kernel(CpuOp::Plain, element, Isa::Scalar)
}

#[test]
fn a_plain_loop_lists_the_vector_maximum() {
    let machine = recorded("kvm-emerald-rapids-2-cpus");
    let peaks = |element| cpu_peaks(&machine, plain(element), &[0, 1], Some(&[3.2e9, 3.2e9]), Some(2.99));
    let formula = |element, kind| find(&peaks(element), kind).map(|peak| peak.formula.clone()).unwrap();
    assert_eq!(formula(Element::Int8, PeakKind::Sustained), "2 cores x 3.20 GHz x 3 op/cycle");
    let vector = |element| formula(element, PeakKind::PlatformMaximum);
    assert_eq!(vector(Element::Int8), "2 cores x 3.20 GHz x 256 op/cycle (dot, AVX-512 VNNI)");
    assert_eq!(vector(Element::Int16), "2 cores x 3.20 GHz x 128 op/cycle (dot, AVX-512 VNNI)");
    assert_eq!(vector(Element::Int32), "2 cores x 3.20 GHz x 21.33 op/cycle (muladd, AVX-512)");
    assert_eq!(vector(Element::Int64), "2 cores x 3.20 GHz x 8 op/cycle (muladd, AVX-512)");
    assert_eq!(vector(Element::Fp32), "2 cores x 3.20 GHz x 64 flop/cycle (fma, AVX-512)");
    assert_eq!(vector(Element::Fp64), "2 cores x 3.20 GHz x 32 flop/cycle (fma, AVX-512)");
    assert!(near(find(&peaks(Element::Fp64), PeakKind::PlatformMaximum).unwrap().value, 2.0 * 3.2e9 * 32.0));
    let unmeasured = cpu_peaks(&machine, plain(Element::Fp64), &[0], None, None);
    assert!(find(&unmeasured, PeakKind::PlatformMaximum).is_none(), "it is at the clock of the loop");
    let fma = cpu_peaks(&machine, DP_AVX512, &[0], Some(&[3.2e9]), None);
    assert!(find(&fma, PeakKind::PlatformMaximum).is_none(), "a vector row is its own");
}

#[test]
fn the_vector_maximum_is_of_each_kind_of_core() {
    let machine = recorded("intel-raptor-lake-core-i7-1370p");
    let clocks = [[5e9; 12], [4e9; 12]].concat();
    let cpus: Vec<u32> = (0..12).chain(12..20).collect();
    let peaks = cpu_peaks(&machine, plain(Element::Fp64), &cpus, Some(&clocks[..cpus.len()]), None);
    assert_eq!(
        find(&peaks, PeakKind::PlatformMaximum).unwrap().formula,
        "6 P-cores x 5.00 GHz x 16 flop/cycle (fma, AVX2) + 8 E-cores x 4.00 GHz x 8 flop/cycle (fma, AVX2)"
    );
}

#[test]
fn a_plain_loop_on_an_unknown_core_still_has_an_inferred_peak() {
    let mut machine = two_cores(OpsPerCycle::default());
    machine.cpu.core_types[0].ops_per_cycle[0].what = plain(Element::Int32).what();
    let peaks = cpu_peaks(&machine, plain(Element::Int32), &[0], Some(&[3e9]), Some(2.97));
    assert_eq!(peaks.iter().map(|peak| (peak.kind, peak.value)).collect::<Vec<_>>(), [(PeakKind::Inferred, 9e9)]);
}

#[test]
fn hidden_instruction_sets_are_reported() {
    let machine = recorded("kvm-emerald-rapids-2-cpus");
    let cpu = &machine.cpu;
    assert_eq!(cpu.microarchitecture.as_deref(), Some("Emerald Rapids"));
    let sets = [
        Isa::Scalar,
        Isa::Sse2,
        Isa::Ssse3,
        Isa::Sse41,
        Isa::Avx2,
        Isa::Avx512,
        Isa::Avx512Vl,
        Isa::AvxVnni,
        Isa::Avx512Vnni,
        Isa::Avx512Bf16,
        Isa::Avx512Fp16,
    ];
    assert_eq!(cpu.isa, sets);
    assert_eq!(cpu.core_types[0].isa, sets);
    let withheld: Vec<_> = cpu.withheld.iter().map(|one| (one.isa, one.by)).collect();
    assert_eq!(withheld, [(Isa::Amx, WithheldBy::Hypervisor)]);
    assert_eq!(
        machine::missing(&machine, Isa::Amx),
        "the hypervisor hides AMX from this guest (Emerald Rapids has it)"
    );
    assert_eq!(machine::missing(&machine, Isa::AvxVnniInt8), "this CPU (Emerald Rapids) has no AVX-VNNI-INT8");
    assert!(cpu_peaks(&machine, kernel(CpuOp::Matrix, Element::Int8, Isa::Amx), &[0], Some(&[3e9]), None).is_empty());
}

#[test]
fn every_kernel_of_this_guest_has_a_peak_that_says_why() {
    let machine = recorded("kvm-emerald-rapids-2-cpus");
    let expected = [
        (kernel(CpuOp::Fma, Element::Fp16, Isa::Avx512Fp16), 128.0),
        (kernel(CpuOp::Dot, Element::Bf16, Isa::Avx512Bf16), 32.0),
        (kernel(CpuOp::Dot, Element::Int16, Isa::Avx512Vnni), 128.0),
        (kernel(CpuOp::MulAdd, Element::Int8, Isa::Avx512), 128.0 / 3.0),
        (kernel(CpuOp::MulAdd, Element::Int64, Isa::Avx2), 8.0 / 3.0),
        (kernel(CpuOp::Add, Element::Fp64, Isa::Avx512), 16.0),
        (kernel(CpuOp::AllPipes, Element::Fp32, Isa::Avx2), 36.0),
    ];
    for (kernel, ops) in expected {
        let peaks = cpu_peaks(&machine, kernel, &[0], Some(&[1e9]), None);
        assert!(near(find(&peaks, PeakKind::Sustained).unwrap().value, ops * 1e9), "{}", kernel.what());
    }
    for rate in &machine.cpu.core_types[0].ops_per_cycle {
        assert!(rate.value.is_some_and(|ops| ops > 0.0), "{}: {}", rate.what, rate.source);
    }
    let bytes = machine.cpu.core_types[0].ops_per_cycle.iter().find(|ops| ops.what == "cpu/muladd/int32/avx512");
    let why = "512-bit (VPMULLD + VPADDD) once in 1.5 cycles: 3 micro-operations on ports 0 and 5";
    assert!(bytes.unwrap().source.contains(why), "{}", bytes.unwrap().source);
}

#[test]
fn kinds_of_core_are_summed_apart() {
    let machine = recorded("intel-raptor-lake-core-i7-1370p");
    let peaks = cpu_peaks(&machine, DP_AVX2, &(0..20).collect::<Vec<_>>(), None, None);
    let boost = find(&peaks, PeakKind::Boost).unwrap();
    assert_eq!(boost.formula, "6 P-cores x 5.20 GHz x 16 flop/cycle + 8 E-cores x 3.90 GHz x 8 flop/cycle");
    assert!(near(boost.value, 6.0 * 5.2e9 * 16.0 + 8.0 * 3.9e9 * 8.0));
    assert!(find(&peaks, PeakKind::Sustained).is_none(), "no clock was measured");
    let one = cpu_peaks(&machine, DP_AVX2, &[19], None, None);
    assert_eq!(find(&one, PeakKind::Boost).unwrap().formula, "1 E-core x 3.90 GHz x 8 flop/cycle");
}

#[test]
fn a_cap_of_the_kernel_lowers_the_boost_limit() {
    let mut machine = recorded("intel-raptor-lake-core-i7-1370p");
    machine.cpu.clock_cap_hz = Some(1.6e9);
    let peaks = cpu_peaks(&machine, DP_AVX2, &(0..20).collect::<Vec<_>>(), None, None);
    assert!(near(find(&peaks, PeakKind::Boost).unwrap().value, (6.0 * 16.0 + 8.0 * 8.0) * 1.6e9));
}

#[test]
fn threads_go_to_fast_cores_first_and_to_siblings_last() {
    let order = recorded("intel-raptor-lake-core-i7-1370p").cpu.placement_order();
    assert_eq!(order[..6], [0, 2, 4, 6, 8, 10]);
    assert_eq!(order[6..14], [12, 13, 14, 15, 16, 17, 18, 19]);
    assert_eq!(order[14..], [1, 3, 5, 7, 9, 11]);
}

#[test]
fn a_cpu_the_machine_lacks_has_no_peak() {
    let machine = recorded("intel-raptor-lake-core-i7-1370p");
    assert!(cpu_peaks(&machine, DP_AVX2, &[4000], None, None).is_empty());
    assert!(cpu_peaks(&machine, DP_AVX2, &[], None, None).is_empty());
    assert!(cpu_peaks(&machine, DP_AVX512, &[0], None, None).is_empty());
}

#[test]
fn this_kind_of_machine_as_a_whole() {
    let machine = recorded("kvm-cascade-lake-2-cpus");
    insta::assert_snapshot!("machine", serde_json::to_string_pretty(&machine).unwrap());
    let clocks = BTreeMap::from([(0, 3.1e9), (1, 3.1e9)]);
    let peaks =
        info_peaks(&machine, &Declared::parse(&["memory.channels=6", "memory.mts=2933"]).unwrap(), &clocks, None);
    let line = |peak: &model::peak::InfoPeak| {
        format!("{} t{} {} {:e} {} = {}\n", peak.what, peak.threads, peak.kind, peak.value, peak.unit, peak.formula)
    };
    insta::assert_snapshot!("peaks", peaks.iter().map(line).collect::<String>());
}
