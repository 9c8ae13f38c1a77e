//! Peaks of recorded machines, and this project's own build machine as a whole.
#![allow(clippy::unwrap_used, reason = "a test whose set-up fails has failed")]

use std::collections::BTreeMap;
use std::path::Path;

use machine::{CpuKernel, Declared, Sysroot, cpu_peaks, discover, info_peaks, memory_peaks};
use model::isa::{CpuOp, Element, Isa};
use model::machine::{CoreType, Cpu, LogicalCpu, Machine, Memory, OpsPerCycle};
use model::peak::{Peak, PeakKind};

const DP_AVX2: CpuKernel = CpuKernel { op: CpuOp::Fma, element: Element::Fp64, isa: Isa::Avx2 };
const DP_AVX512: CpuKernel = CpuKernel { op: CpuOp::Fma, element: Element::Fp64, isa: Isa::Avx512 };

fn recorded(name: &str) -> Machine {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/machines").join(name);
    let root = Sysroot::folder(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    discover(&root)
}

fn of(peaks: &[Peak], kind: PeakKind) -> Option<&Peak> {
    peaks.iter().find(|peak| peak.kind == kind)
}

fn near(value: f64, expected: f64) -> bool {
    (value / expected - 1.0).abs() < 1e-12
}

/// Two cores of two threads each, with a figure per cycle.
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
fn an_open_figure_waits_for_a_probe() {
    let open = OpsPerCycle { candidates: vec![16.0, 32.0], ..OpsPerCycle::default() };
    let machine = two_cores(open);
    assert!(cpu_peaks(&machine, DP_AVX512, &[0], Some(&[3e9]), None).is_empty());
    let peaks = cpu_peaks(&machine, DP_AVX512, &[0], Some(&[3e9]), Some(31.8));
    assert!(near(of(&peaks, PeakKind::Sustained).unwrap().value, 9.6e10));
    assert!(peaks[0].inputs.iter().any(|input| input.source.contains("decided by a probe: 1.99 x 512-bit FMA")));
}

#[test]
fn an_unknown_microarchitecture_gives_an_inferred_peak_only() {
    let machine = two_cores(OpsPerCycle::default());
    assert!(cpu_peaks(&machine, DP_AVX512, &[0], Some(&[3e9]), None).is_empty());
    let peaks = cpu_peaks(&machine, DP_AVX512, &[0], Some(&[3e9]), Some(31.0));
    assert_eq!(peaks.iter().map(|peak| peak.kind).collect::<Vec<_>>(), [PeakKind::Inferred]);
}

#[test]
fn kinds_of_core_are_summed_apart() {
    let machine = recorded("intel-raptor-lake-core-i7-1370p");
    let peaks = cpu_peaks(&machine, DP_AVX2, &(0..20).collect::<Vec<_>>(), None, None);
    let boost = of(&peaks, PeakKind::Boost).unwrap();
    assert_eq!(boost.formula, "6 P-cores x 5.20 GHz x 16 flop/cycle + 8 E-cores x 3.90 GHz x 8 flop/cycle");
    assert!(near(boost.value, 6.0 * 5.2e9 * 16.0 + 8.0 * 3.9e9 * 8.0));
    assert!(of(&peaks, PeakKind::Sustained).is_none(), "no clock was measured");
    let one = cpu_peaks(&machine, DP_AVX2, &[19], None, None);
    assert_eq!(of(&one, PeakKind::Boost).unwrap().formula, "1 E-core x 3.90 GHz x 8 flop/cycle");
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
fn memory_peaks_are_declared_found_or_the_platforms() {
    let memory = |channels, mts, platform_channels| Machine {
        cpu: Cpu { packages: Some(2), ..Cpu::default() },
        memory: Memory { channels, mts, platform_channels, ..Memory::default() },
        ..Machine::default()
    };
    let kinds = |machine: &Machine, items: &[&str]| -> Vec<(PeakKind, f64)> {
        let peaks = memory_peaks(machine, &Declared::parse(items).unwrap());
        peaks.iter().map(|peak| (peak.kind, peak.value)).collect()
    };
    assert_eq!(kinds(&memory(None, None, Some(12)), &[]), []);
    assert_eq!(kinds(&memory(Some(16), Some(3200.0), Some(8)), &[]), [(PeakKind::Datasheet, 409.6e9)]);
    assert_eq!(kinds(&memory(None, Some(3200.0), Some(8)), &[]), [(PeakKind::PlatformMaximum, 409.6e9)]);
    let declared = ["memory.channels=12", "memory.mts=6000"];
    assert_eq!(kinds(&memory(Some(16), Some(3200.0), Some(8)), &declared), [(PeakKind::Declared, 576e9)]);
}

#[test]
fn this_kind_of_machine_as_a_whole() {
    let machine = recorded("kvm-cascade-lake-2-cpus");
    insta::assert_snapshot!("machine", serde_json::to_string_pretty(&machine).unwrap());
    let clocks = BTreeMap::from([(0, 3.1e9), (1, 3.1e9)]);
    let peaks = info_peaks(&machine, &Declared::parse(&["memory.channels=6", "memory.mts=2933"]).unwrap(), &clocks);
    let line = |peak: &model::peak::InfoPeak| {
        format!("{} t{} {} {:e} {} = {}\n", peak.what, peak.threads, peak.kind, peak.value, peak.unit, peak.formula)
    };
    insta::assert_snapshot!("peaks", peaks.iter().map(line).collect::<String>());
}
