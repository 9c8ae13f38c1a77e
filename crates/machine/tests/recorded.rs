//! Machines recorded elsewhere, most as CPUID leaves alone: the facts must be those of the parts' data sheets.

#![allow(clippy::expect_used, reason = "tests")]

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use flate2::read::GzDecoder;
use machine::{CpuKernel, Sysroot, cpu_peaks, discover, missing};
use model::isa::{CpuOp, Element, Isa};
use model::machine::{CoreKind, Machine, WithheldBy};

/// What a part is known to be.
struct Part {
    folder: &'static str,
    microarchitecture: &'static str,
    /// Packages, physical cores, logical CPUs.
    counts: (u32, u32, u32),
    /// Kind, microarchitecture, cores and threads of each kind of core, fast ones first.
    core_types: &'static [(CoreKind, &'static str, u32, u32)],
    /// Widest first.
    has: &'static [Isa],
    has_not: &'static [Isa],
    /// Per kind of core: kernels with their operations per cycle.
    ops: &'static [&'static str],
}

const SAPPHIRE_RAPIDS_OPS: &str = "fma/fp64/avx512 32, fma/fp32/avx512 64, fma/fp16/avx512_fp16 128, dot/bf16/avx512_bf16 32, \
     dot/int16/avx512_vnni 128, dot/int8/avx512_vnni 256, dot/int8/avx_vnni 128, matrix/int8/amx 2048, \
     matrix/bf16/amx 1024, muladd/int32/avx512 64/3, add/fp64/avx512 16, all_pipes/fp64/avx2 18, \
     plain/int64/scalar 3, plain/fp64/scalar 3";

const PARTS: &[Part] = &[
    Part {
        folder: "intel-haswell-2x-xeon-e5-2680v3",
        microarchitecture: "Haswell",
        counts: (2, 24, 24),
        core_types: &[(CoreKind::Uniform, "Haswell", 24, 24)],
        has: &[Isa::Avx2, Isa::Ssse3, Isa::Sse2],
        has_not: &[Isa::Avx512, Isa::AvxVnni],
        ops: &["fma/fp64/avx2 16, fma/fp32/avx2 32, fma/fp64/sse2 4, fma/fp32/sse2 8, fma/fp64/scalar 4, \
             dot/int8/avx2 32, dot/int8/scalar 2, dot/int16/avx2 32, muladd/int8/avx2 64/3, muladd/int16/avx2 32, \
             muladd/int32/avx2 8, muladd/int64/avx2 8/6, add/fp64/avx2 4, all_pipes/fp64/avx2 12, \
             plain/int32/scalar 3, plain/fp32/scalar 1.5"],
    },
    Part {
        folder: "intel-skylake-sp-2x-xeon-6140",
        microarchitecture: "Skylake-SP",
        counts: (2, 36, 72),
        core_types: &[(CoreKind::Uniform, "Skylake-SP", 36, 72)],
        has: &[Isa::Avx512, Isa::Avx512Vl, Isa::Avx2],
        has_not: &[Isa::Avx512Vnni, Isa::Amx],
        ops: &["fma/fp64/avx512 32, fma/fp32/avx512 64, fma/fp64/avx2 16, fma/fp64/sse2 4, dot/int8/avx2 64, \
             dot/int8/avx512 256/3, dot/int16/avx512 64, muladd/int8/avx512 128/3, muladd/int16/avx512 64, \
             muladd/int32/avx512 64/3, muladd/int64/avx512 8, add/fp32/avx512 32, all_pipes/fp64/avx512 24, \
             plain/fp64/scalar 2"],
    },
    Part {
        folder: "intel-sapphire-rapids-2x-xeon-max-9460",
        microarchitecture: "Sapphire Rapids",
        counts: (2, 80, 160),
        core_types: &[(CoreKind::Uniform, "Sapphire Rapids", 80, 160)],
        has: &[Isa::Amx, Isa::Avx512Fp16, Isa::Avx512Bf16, Isa::Avx512Vnni, Isa::AvxVnni],
        has_not: &[Isa::AvxVnniInt8],
        ops: &[SAPPHIRE_RAPIDS_OPS],
    },
    // A guest from which nothing of its processor is hidden.
    Part {
        folder: "kvm-emerald-rapids-16-cpus",
        microarchitecture: "Emerald Rapids",
        counts: (1, 16, 16),
        core_types: &[(CoreKind::Uniform, "Emerald Rapids", 16, 16)],
        has: &[Isa::Amx, Isa::Avx512Fp16, Isa::Avx512Bf16, Isa::Avx512Vnni, Isa::AvxVnni],
        has_not: &[Isa::AvxVnniInt8],
        ops: &[SAPPHIRE_RAPIDS_OPS],
    },
    Part {
        folder: "intel-raptor-lake-core-i7-1370p",
        microarchitecture: "Raptor Cove + Gracemont",
        counts: (1, 14, 20),
        core_types: &[(CoreKind::Performance, "Raptor Cove", 6, 12), (CoreKind::Efficiency, "Gracemont", 8, 8)],
        has: &[Isa::AvxVnni, Isa::Avx2],
        has_not: &[Isa::Avx512],
        ops: &[
            "fma/fp64/avx2 16, fma/fp32/avx2 32, dot/int8/avx_vnni 128, dot/int16/avx_vnni 64, fma/fp64/sse2 6, \
             muladd/int32/avx2 16, plain/int8/scalar 3",
            "fma/fp64/avx2 8, fma/fp32/avx2 16, dot/int8/avx_vnni 32, dot/int16/avx_vnni 16, fma/fp64/scalar 4, \
             muladd/int32/avx2 4, add/fp64/avx2 4, all_pipes/fp64/avx2 6, plain/int8/scalar 4, plain/fp32/scalar 2",
        ],
    },
    Part {
        folder: "amd-zen-2x-epyc-7451",
        microarchitecture: "Zen",
        counts: (2, 48, 96),
        core_types: &[(CoreKind::Uniform, "Zen", 48, 96)],
        has: &[Isa::Avx2],
        has_not: &[Isa::Avx512, Isa::AvxVnni],
        ops: &["fma/fp64/avx2 8, fma/fp32/avx2 16, fma/fp64/sse2 8, muladd/int16/avx2 16, add/fp64/avx2 4, \
             plain/fp32/scalar 3"],
    },
    Part {
        folder: "amd-zen4-2x-epyc-9654",
        microarchitecture: "Zen 4",
        counts: (2, 192, 384),
        core_types: &[(CoreKind::Uniform, "Zen 4", 192, 384)],
        has: &[Isa::Avx512, Isa::Avx512Vnni, Isa::Avx512Bf16],
        has_not: &[Isa::Avx512Fp16, Isa::AvxVnni, Isa::Amx],
        ops: &["fma/fp64/avx512 16, fma/fp32/avx512 32, dot/bf16/avx512_bf16 64, dot/int16/avx512_vnni 64, \
             dot/int8/avx512_vnni 128, dot/int8/avx512 64, fma/fp64/avx2 16, dot/int16/avx512 64, \
             muladd/int8/avx512 128/3, muladd/int32/avx512 32, muladd/int64/avx512 16, add/fp64/avx512 8, \
             all_pipes/fp64/avx512 24, plain/int16/scalar 3"],
    },
    Part {
        folder: "amd-zen5-strix-point-ryzen-ai-9-hx-370",
        microarchitecture: "Zen 5 + Zen 5c",
        counts: (1, 12, 24),
        core_types: &[(CoreKind::Performance, "Zen 5", 4, 8), (CoreKind::Efficiency, "Zen 5c", 8, 16)],
        has: &[Isa::Avx512, Isa::Avx512Vnni, Isa::AvxVnni, Isa::Avx512Bf16],
        has_not: &[Isa::Avx512Fp16, Isa::Amx],
        ops: &[
            "fma/fp64/avx512 16, fma/fp32/avx512 32, dot/int8/avx512_vnni 128, dot/bf16/avx512_bf16 64, \
             dot/int8/avx512 64, muladd/int64/avx512 16, add/fp32/avx512 16, all_pipes/fp32/avx512 48, \
             plain/int32/scalar 6",
            "fma/fp64/avx512 16, dot/int8/avx512_vnni 128, plain/fp64/scalar 3",
        ],
    },
];

/// A machine recorded with more than its CPUID leaves.
fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/machines").join(name)
}

fn recorded(part: &Part) -> Machine {
    if let Ok(root) = Sysroot::folder(&folder(part.folder)) {
        return discover(&root);
    }
    let compressed = folder("../leaves").join(format!("{}.txt.gz", part.folder));
    let bytes = std::fs::read(compressed).expect("in this repository");
    let mut text = String::new();
    GzDecoder::new(&bytes[..]).read_to_string(&mut text).expect("text");
    made_up(part.folder, &[("cpuid.txt", &text)])
}

/// Every recorded machine, with what it must be.
fn each(check: impl Fn(&Part, &Machine)) {
    static MACHINES: OnceLock<Vec<Machine>> = OnceLock::new();
    let machines = MACHINES.get_or_init(|| PARTS.iter().map(recorded).collect());
    PARTS.iter().zip(machines).for_each(|(part, machine)| check(part, machine));
}

#[test]
fn topology_is_that_of_the_data_sheet() {
    each(|part, machine| {
        let cpu = &machine.cpu;
        let (packages, cores, threads) = part.counts;
        assert_eq!(
            (cpu.packages, cpu.cores, cpu.threads),
            (Some(packages), Some(cores), Some(threads)),
            "{}",
            part.folder
        );
        assert_eq!(cpu.smt, Some(threads > cores), "{}", part.folder);
        let types: Vec<_> =
            cpu.core_types.iter().map(|t| (t.kind, t.microarchitecture.as_deref(), t.cores, t.threads)).collect();
        let expected: Vec<_> = part.core_types.iter().map(|(k, name, c, t)| (*k, Some(*name), *c, *t)).collect();
        assert_eq!(types, expected, "{}", part.folder);
        assert_eq!(cpu.microarchitecture.as_deref(), Some(part.microarchitecture));
    });
}

#[test]
fn strix_point_is_recognized_by_its_caches_without_leaf_80000026() {
    let name = "amd-zen5-strix-point-ryzen-ai-9-hx-370";
    let text = std::fs::read_to_string(folder(name).join("cpuid.txt")).expect("in this repository");
    let cut: String = text.split_inclusive('\n').filter(|line| !line.contains("0x80000026")).collect();
    let machine = made_up("strix-point-without-80000026", &[("cpuid.txt", &cut)]);
    let types: Vec<_> = machine.cpu.core_types.iter().map(|t| (t.kind, t.cores, t.threads)).collect();
    assert_eq!(types, [(CoreKind::Performance, 4, 8), (CoreKind::Efficiency, 8, 16)]);
}

#[test]
fn instruction_sets_are_those_of_the_data_sheet() {
    each(|part, machine| {
        for isa in part.has {
            assert!(machine.cpu.isa.contains(isa), "{} lacks {isa}", part.folder);
        }
        for isa in part.has_not {
            assert!(!machine.cpu.isa.contains(isa), "{} has {isa}", part.folder);
        }
        for kind in &machine.cpu.core_types {
            assert!(machine.cpu.isa.iter().all(|isa| kind.isa.contains(isa)), "{}: {}", part.folder, kind.kind);
        }
        assert!(machine.cpu.withheld.is_empty(), "{}: {:?}", part.folder, machine.cpu.withheld);
    });
}

#[test]
fn work_per_cycle_is_that_of_the_table() {
    each(|part, machine| {
        for (core_type, expected) in machine.cpu.core_types.iter().zip(part.ops) {
            for (what, value) in expected.split(", ").filter_map(|rate| rate.split_once(' ')) {
                let number = |text: &str| text.parse::<f64>().expect("a number");
                let value =
                    value.split_once('/').map_or_else(|| number(value), |(one, other)| number(one) / number(other));
                let found = core_type.ops_per_cycle.iter().find(|ops| ops.what == format!("cpu/{what}"));
                let found = found.unwrap_or_else(|| panic!("{}: no {what}", part.folder));
                let close = found.value.is_some_and(|found| (found / value - 1.0).abs() < 1e-12);
                assert!(close, "{}: {what} of {}: {:?}", part.folder, core_type.kind, found.value);
                assert!(found.source.starts_with("table: "), "{}", found.source);
            }
        }
    });
}

#[test]
fn tiles_that_the_core_cannot_multiply_have_no_peak() {
    each(|part, machine| {
        let has = |what: &str| machine.cpu.core_types[0].ops_per_cycle.iter().any(|ops| ops.what == what);
        assert_eq!(has("cpu/matrix/bf16/amx"), part.has.contains(&Isa::Amx), "{}", part.folder);
        assert!(!has("cpu/matrix/fp16/amx"), "{}: no amx_fp16", part.folder);
    });
}

/// A machine of its own folder, with these files and nothing else.
fn made_up(name: &str, files: &[(&str, &str)]) -> Machine {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&folder).expect("a folder of our own");
    for (file, text) in files {
        std::fs::write(folder.join(file), text).expect("a file of our own");
    }
    discover(&Sysroot::folder(&folder).expect("just made"))
}

#[test]
fn disabled_and_hidden_instruction_sets_are_distinguished() {
    let text = std::fs::read_to_string(folder("kvm-emerald-rapids-2-cpus").join("cpuid.txt")).expect("it is here");
    let machine = made_up("emerald-rapids-without-zmm", &[("cpuid.txt", &text), ("xcr0.txt", "0x7\n")]);
    let by = |by| machine.cpu.withheld.iter().filter(|one| one.by == by).map(|one| one.isa).collect::<Vec<_>>();
    let wide = [Isa::Avx512, Isa::Avx512Vl, Isa::Avx512Vnni, Isa::Avx512Bf16, Isa::Avx512Fp16];
    assert_eq!(by(WithheldBy::OperatingSystem), wide);
    assert_eq!(by(WithheldBy::Hypervisor), [Isa::Amx]);
    assert!(wide.iter().all(|isa| !machine.cpu.isa.contains(isa)) && machine.cpu.isa.contains(&Isa::AvxVnni));
    assert_eq!(
        missing(&machine, Isa::Avx512),
        "the operating system does not enable AVX-512 (CPUID has it, XCR0 lacks the mask and ZMM registers)"
    );
}

#[test]
fn fast_cores_may_have_sets_that_small_ones_lack() {
    let text =
        std::fs::read_to_string(folder("intel-raptor-lake-core-i7-1370p").join("cpuid.txt")).expect("it is here");
    // The fast cores are the first twelve CPUs; bit 16 of EBX in leaf 7 is AVX512F, the system enables its registers.
    let mut dump = String::new();
    let mut cpu = 0;
    for line in text.lines() {
        cpu = line.strip_prefix("CPU ").and_then(|rest| rest.trim_end_matches(':').parse().ok()).unwrap_or(cpu);
        let is_leaf_7 = line.trim_start().starts_with("0x00000007 0x00:");
        let ebx = line.split_once("ebx=0x").filter(|_| is_leaf_7 && cpu < 12);
        let line = ebx.map_or_else(
            || line.to_owned(),
            |(before, after)| {
                let bits = u32::from_str_radix(&after[..8], 16).expect("eight digits") | 1 << 16;
                format!("{before}ebx={bits:#010x}{}", &after[8..])
            },
        );
        dump += &(line + "\n");
    }
    let machine = made_up("raptor-lake-with-zmm", &[("cpuid.txt", &dump), ("xcr0.txt", "0xe7\n")]);
    let has = machine.cpu.core_types.iter().map(|kind| kind.isa.contains(&Isa::Avx512)).collect::<Vec<_>>();
    assert_eq!(has, [true, false]);
    assert!(!machine.cpu.isa.contains(&Isa::Avx512), "not on all cores");
    assert_eq!(missing(&machine, Isa::Avx512), "of this CPU's cores only the P-cores have AVX-512");
    let dp = CpuKernel { op: CpuOp::Fma, element: Element::Fp64, isa: Isa::Avx512 };
    let peak = |cpus: &[u32]| cpu_peaks(&machine, dp, cpus, Some(&vec![5e9; cpus.len()]), None);
    assert_eq!(peak(&[0, 2])[0].formula, "2 P-cores x 5.00 GHz x 16 flop/cycle");
    assert!(peak(&[0, 12]).is_empty(), "a small core cannot");
}

#[test]
fn wide_vectors_have_the_published_clocks_of_their_model() {
    let peaks = |machine: &Machine, isa, cpus: &[u32]| -> Vec<String> {
        let kernel = CpuKernel { op: CpuOp::Fma, element: Element::Fp64, isa };
        cpu_peaks(machine, kernel, cpus, None, None).into_iter().map(|peak| peak.formula).collect()
    };
    each(|part, machine| {
        let of_vectors = machine.expected.iter().filter(|one| one.quantity.as_str().starts_with("avx"));
        let texts: Vec<&str> = of_vectors.map(|one| one.range.text.as_str()).collect();
        let all = machine.cpu.placement_order();
        match part.folder {
            "intel-skylake-sp-2x-xeon-6140" => {
                let model = "XEON GOLD 6140";
                let avx2 = format!("{model}: 1.90 GHz (AVX2 base) to 2.60 GHz (AVX2 all cores)");
                let avx512 = format!("{model}: 1.50 GHz (AVX-512 base) to 2.10 GHz (AVX-512 all cores)");
                assert_eq!(texts, [avx2, avx512]);
                let formulas = |cores: &str, clocks: [&str; 2], ops: u32| {
                    clocks.map(|clock| format!("{cores} x {clock} GHz x {ops} flop/cycle"))
                };
                assert_eq!(peaks(machine, Isa::Avx512, &all), formulas("36 cores", ["2.10", "1.50"], 32));
                assert_eq!(peaks(machine, Isa::Avx2, &all), formulas("36 cores", ["2.60", "1.90"], 16));
                assert_eq!(peaks(machine, Isa::Avx512, &all[..1]), formulas("1 core", ["3.70", "1.50"], 32));
                assert_eq!(peaks(machine, Isa::Scalar, &all), formulas("36 cores", ["3.70", "2.30"], 4));
            }
            _ => assert_eq!(texts, [""; 0], "{}", part.folder),
        }
    });
}

#[test]
fn caches_are_shared_as_the_data_sheet_says() {
    // Level, size in KiB, how many of them.
    const LAST_LEVEL: &[(&str, u64, usize)] = &[
        ("intel-haswell-2x-xeon-e5-2680v3", 15 * 1024, 4),
        ("intel-skylake-sp-2x-xeon-6140", 25344, 2),
        ("intel-sapphire-rapids-2x-xeon-max-9460", 99_840, 2),
        ("kvm-emerald-rapids-16-cpus", 300 * 1024, 1),
        ("intel-raptor-lake-core-i7-1370p", 24 * 1024, 1),
        ("amd-zen-2x-epyc-7451", 8 * 1024, 16),
        ("amd-zen4-2x-epyc-9654", 32 * 1024, 24),
    ];
    each(|part, machine| {
        let Some((_, kib, count)) = LAST_LEVEL.iter().find(|(folder, ..)| *folder == part.folder) else { return };
        let last: Vec<_> = machine.caches.iter().filter(|cache| cache.level == 3).collect();
        assert_eq!(last.len(), *count, "{}", part.folder);
        assert!(last.iter().all(|cache| cache.bytes == Some(kib * 1024)), "{}: {:?}", part.folder, last[0]);
        assert!(machine.cpu.topology.iter().all(|place| place.llc.is_some()), "{}", part.folder);
    });
}

#[test]
fn what_cpuid_lacks_is_unknown_and_no_error() {
    each(|part, machine| {
        if folder(part.folder).join("proc").is_dir() {
            return;
        }
        assert_eq!(machine.memory.total_bytes, None);
        assert!(machine.cpu.core_types.iter().all(|kind| !kind.cpus.is_empty()), "{}", part.folder);
        for fact in ["memory.total_bytes", "memory.channels", "numa", "host", "nics"] {
            assert!(machine.unknown.iter().any(|unknown| unknown.fact == fact), "{}: {fact}", part.folder);
        }
        assert!(machine.sources["cpu.isa"].contains("leaf 0xD"), "{}", part.folder);
    });
}

#[test]
fn a_guest_recorded_in_full_has_its_memory_its_node_and_its_limits() {
    let root = Sysroot::folder(&folder("kvm-emerald-rapids-16-cpus")).expect("it is here");
    let machine = discover(&root);
    let all: Vec<u32> = (0..16).collect();
    assert_eq!((machine.cpu.quota_cpus, &machine.cpu.available_cpus), (None, &all));
    assert_eq!(machine.memory.total_bytes, Some(131_981_020 * 1024));
    // The group's limit exceeds the machine's memory and is reported.
    assert_eq!(machine.memory.limit_bytes, Some(128 << 30));
    assert_eq!(machine.sources["memory.limit_bytes"], "/sys/fs/cgroup/a/memory.max");
    // The kernel's size of the only node is reported unchanged, 4.5 of 126 GiB.
    let nodes: Vec<_> = machine.numa.iter().map(|node| (&node.cpus, node.total_bytes)).collect();
    assert_eq!(nodes, [(&all, Some(4_681_200 * 1024))]);
    assert_eq!((machine.memory.channels, machine.host.as_deref()), (None, Some("host")));
}
