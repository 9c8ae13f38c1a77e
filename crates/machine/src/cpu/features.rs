//! Usable instruction sets: in CPUID and enabled by the operating system (XCR0), else the kernel's flags.

use std::collections::BTreeSet;

use model::isa::Isa;

use crate::cpu::dump::{Dump, Leaves, bit};

struct State {
    mask: u64,
    words: &'static str,
}

const BASE: &State = &State { mask: 0, words: "general registers" };
const AVX: &State = &State { mask: 0b110, words: "XMM and YMM registers" };
const AVX512: &State = &State { mask: 0b1110_0110, words: "mask and ZMM registers" };
const AMX: &State = &State { mask: 0b11 << 17, words: "tile registers" };

struct Bit {
    name: &'static str,
    /// Leaf, subleaf, register (0 = EAX, 1 = EBX, 2 = ECX, 3 = EDX), bit.
    place: (u32, u32, usize, u32),
    state: &'static State,
}

const fn flag(name: &'static str, place: (u32, u32, usize, u32), state: &'static State) -> Bit {
    Bit { name, place, state }
}

/// Positions: Intel SDM volume 2A, CPUID; AMD APM volume 3, appendix E.
const FEATURES: &[Bit] = &[
    flag("sse2", (1, 0, 3, 26), BASE),
    flag("ssse3", (1, 0, 2, 9), BASE),
    flag("sse4_1", (1, 0, 2, 19), BASE),
    flag("sse4_2", (1, 0, 2, 20), BASE),
    flag("avx", (1, 0, 2, 28), AVX),
    flag("fma", (1, 0, 2, 12), AVX),
    flag("f16c", (1, 0, 2, 29), AVX),
    flag("avx2", (7, 0, 1, 5), AVX),
    flag("avx_vnni", (7, 1, 0, 4), AVX),
    flag("avx_ifma", (7, 1, 0, 23), AVX),
    flag("avx_vnni_int8", (7, 1, 3, 4), AVX),
    flag("avx_vnni_int16", (7, 1, 3, 10), AVX),
    flag("avx512f", (7, 0, 1, 16), AVX512),
    flag("avx512dq", (7, 0, 1, 17), AVX512),
    flag("avx512ifma", (7, 0, 1, 21), AVX512),
    flag("avx512cd", (7, 0, 1, 28), AVX512),
    flag("avx512bw", (7, 0, 1, 30), AVX512),
    flag("avx512vl", (7, 0, 1, 31), AVX512),
    flag("avx512_vbmi", (7, 0, 2, 1), AVX512),
    flag("avx512_vnni", (7, 0, 2, 11), AVX512),
    flag("avx512_fp16", (7, 0, 3, 23), AVX512),
    flag("avx512_bf16", (7, 1, 0, 5), AVX512),
    flag("amx_bf16", (7, 0, 3, 22), AMX),
    flag("amx_tile", (7, 0, 3, 24), AMX),
    flag("amx_int8", (7, 0, 3, 25), AMX),
    flag("amx_fp16", (7, 1, 0, 21), AMX),
    flag("erms", (7, 0, 1, 9), BASE),
    flag("fsrm", (7, 0, 3, 4), BASE),
    flag("clflushopt", (7, 0, 1, 23), BASE),
    flag("clwb", (7, 0, 1, 24), BASE),
    flag("aperfmperf", (6, 0, 2, 0), BASE),
    flag("rdtscp", (0x8000_0001, 0, 3, 27), BASE),
    flag("invariant_tsc", (0x8000_0007, 0, 3, 8), BASE),
    flag("rdpru", (0x8000_0008, 0, 1, 4), BASE),
];

/// The features of each set. `avx2` includes FMA3, which the kernels use; AMX also needs a tile product ([`sets`]).
const SETS: &[(Isa, &[&str])] = &[
    (Isa::Sse2, &["sse2"]),
    (Isa::Ssse3, &["sse2", "ssse3"]),
    (Isa::Sse41, &["sse2", "sse4_1"]),
    (Isa::Avx2, &["avx", "avx2", "fma"]),
    (Isa::Avx512, &["avx512f"]),
    (Isa::Avx512Vl, &["avx512f", "avx512vl"]),
    (Isa::AvxVnni, &["avx2", "avx_vnni"]),
    (Isa::AvxVnniInt8, &["avx2", "avx_vnni_int8"]),
    (Isa::Avx512Vnni, &["avx512f", "avx512_vnni"]),
    (Isa::Avx512Bf16, &["avx512f", "avx512_bf16"]),
    (Isa::Avx512Fp16, &["avx512f", "avx512_fp16"]),
    (Isa::Amx, &["amx_tile"]),
    (Isa::Neon, &["asimd"]),
    (Isa::NeonFp16, &["asimd", "asimdhp"]),
    (Isa::NeonDotprod, &["asimd", "asimddp"]),
    (Isa::NeonI8mm, &["asimd", "i8mm"]),
    (Isa::NeonBf16, &["asimd", "bf16"]),
    (Isa::Sve, &["asimd", "sve"]),
    (Isa::Sme, &["asimd", "sme"]),
];

#[derive(Debug, Default)]
pub(crate) struct Features {
    /// In the kernel's spelling, in the table's order.
    pub(crate) names: Vec<String>,
    pub(crate) isa: Vec<Isa>,
    /// Instruction sets that CPUID shows, enabled or not; empty without CPUID.
    pub(crate) in_cpuid: Vec<Isa>,
    /// Instruction sets that the operating system does not enable, each with the evidence.
    pub(crate) not_enabled: Vec<(Isa, String)>,
    pub(crate) source: String,
}

/// The usable features of all `cpus` (`None`: all in the dump); `None` if the dump has none of these CPUs.
pub(crate) fn from_cpuid(dump: &Dump, cpus: Option<&[u32]>, xcr0: Option<u64>, label: &str) -> Option<Features> {
    let chosen = dump.cpus().filter(|(cpu, _)| cpus.is_none_or(|cpus| cpus.contains(cpu)));
    let chosen: Vec<&Leaves> = chosen.map(|(_, leaves)| leaves).collect();
    let (enabled, state_source) = enabled_states(chosen.first()?, xcr0);
    let present = || FEATURES.iter().filter(|feature| chosen.iter().all(|leaves| feature.in_cpu(leaves)));
    let is_enabled = |feature: &&Bit| enabled & feature.state.mask == feature.state.mask;
    let names: Vec<String> = present().filter(is_enabled).map(|feature| feature.name.to_owned()).collect();
    let in_cpuid = sets(&present().map(|feature| feature.name.to_owned()).collect::<Vec<_>>());
    let isa = sets(&names);
    let idle = in_cpuid.iter().copied().filter(|set| !isa.contains(set));
    let why = |set: Isa| format!("CPUID has it, {state_source} lacks the {}", state_of(set).words);
    // Leaf 0xD shows what the CPU could save, not what the operating system saves.
    let certain = state_source == XCR0 || state_source == NO_OSXSAVE;
    let not_enabled = idle.filter(|_| certain).map(|set| (set, why(set))).collect();
    Some(Features { isa, names, in_cpuid, not_enabled, source: format!("{label}; {state_source}") })
}

const XCR0: &str = "XCR0";
const NO_OSXSAVE: &str = "no OSXSAVE: only base registers saved";

/// The registers that the operating system saves, as bits of XCR0, with the source.
fn enabled_states(leaves: &Leaves, xcr0: Option<u64>) -> (u64, &'static str) {
    const OSXSAVE: u32 = 27;
    let saves = bit(leaves.or_zero(1, 0).ecx, OSXSAVE);
    let supported = leaves.get(0xd, 0).map(|r| u64::from(r.edx) << 32 | u64::from(r.eax));
    match (saves, xcr0, supported) {
        (false, _, _) => (0, NO_OSXSAVE),
        (true, Some(xcr0), _) => (xcr0, XCR0),
        (true, None, Some(supported)) => (supported, "XCR0 is unknown: leaf 0xD, what the CPU could save"),
        (true, None, None) => (AVX.mask, "no XCR0, no leaf 0xD: OSXSAVE taken to mean AVX"),
    }
}

fn state_of(set: Isa) -> &'static State {
    let needs = SETS.iter().filter(|(isa, _)| *isa == set).flat_map(|(_, needs)| needs.iter());
    let states = needs.filter_map(|need| FEATURES.iter().find(|feature| feature.name == *need));
    states.map(|feature| feature.state).max_by_key(|state| state.mask).unwrap_or(BASE)
}

/// The kernel removes flags that it does not enable.
pub(crate) fn from_flags(flags: &str, label: &str) -> Features {
    let present: BTreeSet<&str> = flags.split_whitespace().collect();
    let renamed = |name: &'static str| match name {
        "invariant_tsc" => "nonstop_tsc",
        "avx512_vbmi" => "avx512vbmi",
        other => other,
    };
    let known = FEATURES.iter().map(|feature| feature.name);
    let names: Vec<String> = known.filter(|name| present.contains(renamed(name))).map(str::to_owned).collect();
    Features { isa: sets(&names), names, source: label.to_owned(), ..Features::default() }
}

impl Bit {
    fn in_cpu(&self, leaves: &Leaves) -> bool {
        let (leaf, subleaf, register, number) = self.place;
        let r = leaves.or_zero(leaf, subleaf);
        bit([r.eax, r.ebx, r.ecx, r.edx][register], number)
    }
}

pub(crate) fn sets(names: &[String]) -> Vec<Isa> {
    const TILE_PRODUCTS: &[&str] = &["amx_int8", "amx_bf16", "amx_fp16"];
    let has = |name: &&str| names.iter().any(|present| present == name);
    let complete = |isa: Isa| isa != Isa::Amx || TILE_PRODUCTS.iter().any(has);
    let vector = SETS.iter().filter(|(isa, needs)| needs.iter().all(has) && complete(*isa)).map(|(isa, _)| *isa);
    std::iter::once(Isa::Scalar).chain(vector).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dump(ecx: u32, xcr0_supported: u32) -> Dump {
        Dump::parse(&format!(
            "CPU 0:\n 0x00000001 0x00: eax=0x000306f2 ebx=0x00000000 ecx={ecx:#010x} edx=0xbfebfbff\n \
             0x00000007 0x00: eax=0x00000000 ebx=0x00010020 ecx=0x00000000 edx=0x00000000\n \
             0x0000000d 0x00: eax={xcr0_supported:#010x} ebx=0x00000000 ecx=0x00000000 edx=0x00000000\n"
        ))
    }

    #[test]
    fn a_set_whose_registers_are_not_saved_does_not_count() {
        let isa = |dump: &Dump, xcr0| from_cpuid(dump, None, xcr0, "").unwrap().isa;
        let cpu = dump(0x7ffe_fbff, 0xe7);
        assert_eq!(isa(&cpu, Some(0xe7)), [Isa::Scalar, Isa::Sse2, Isa::Ssse3, Isa::Sse41, Isa::Avx2, Isa::Avx512]);
        assert_eq!(isa(&cpu, Some(0x7)), [Isa::Scalar, Isa::Sse2, Isa::Ssse3, Isa::Sse41, Isa::Avx2]);
        assert_eq!(isa(&cpu, Some(0x3)), [Isa::Scalar, Isa::Sse2, Isa::Ssse3, Isa::Sse41]);
        let without_osxsave = dump(0x7ffe_fbff & !(1 << 27), 0xe7);
        assert_eq!(isa(&without_osxsave, Some(0xe7)), [Isa::Scalar, Isa::Sse2, Isa::Ssse3, Isa::Sse41]);
    }

    #[test]
    fn a_set_that_the_system_does_not_enable_names_the_registers() {
        let idle = |dump: &Dump, xcr0| from_cpuid(dump, None, xcr0, "").unwrap().not_enabled;
        let cpu = dump(0x7ffe_fbff, 0xe7);
        assert_eq!(idle(&cpu, Some(0xe7)), []);
        let why = "CPUID has it, XCR0 lacks the mask and ZMM registers".to_owned();
        assert_eq!(idle(&cpu, Some(0x7)), [(Isa::Avx512, why)]);
        let sets = |idle: Vec<(Isa, String)>| idle.into_iter().map(|(isa, _)| isa).collect::<Vec<_>>();
        assert_eq!(sets(idle(&cpu, Some(0x3))), [Isa::Avx2, Isa::Avx512]);
        assert_eq!(idle(&dump(0x7ffe_fbff, 0x7), None), [], "leaf 0xD does not speak for the system");
    }

    #[test]
    fn the_cpus_asked_for_decide() {
        let text = |cpu: u32, avx512: u32| {
            format!(
                "CPU {cpu}:\n 0x00000001 0x00: eax=0x000906a4 ebx=0x00000000 ecx=0x7ffefbff edx=0xbfebfbff\n \
                 0x00000007 0x00: eax=0x00000000 ebx={:#010x} ecx=0x00000000 edx=0x00000000\n",
                1 << 5 | avx512 << 16
            )
        };
        let hybrid = Dump::parse(&(text(0, 1) + &text(1, 0)));
        let isa = |cpus: Option<&[u32]>| from_cpuid(&hybrid, cpus, Some(0xe7), "").map(|found| found.isa);
        assert!(isa(Some(&[0])).unwrap().contains(&Isa::Avx512));
        assert!(!isa(Some(&[1])).unwrap().contains(&Isa::Avx512));
        assert!(!isa(None).unwrap().contains(&Isa::Avx512), "not on all");
        assert_eq!(isa(Some(&[7])), None);
    }

    #[test]
    fn tiles_need_a_product() {
        let isa = |edx: u32| {
            let text = format!(
                " 0x00000001 0x00: eax=0x000806f8 ebx=0x00000000 ecx=0x7ffefbff edx=0xbfebfbff\n \
                 0x00000007 0x00: eax=0x00000000 ebx=0x00000000 ecx=0x00000000 edx={edx:#010x}\n"
            );
            from_cpuid(&Dump::parse(&text), None, Some(0x6_00e7), "").unwrap().isa
        };
        assert!(!isa(1 << 24).contains(&Isa::Amx));
        assert!(isa(1 << 24 | 1 << 25).contains(&Isa::Amx));
        assert!(isa(1 << 24 | 1 << 22).contains(&Isa::Amx));
    }

    #[test]
    fn without_xcr0_leaf_d_serves_and_is_the_source() {
        let features = from_cpuid(&dump(0x7ffe_fbff, 0xe7), None, None, "recorded").unwrap();
        assert!(features.isa.contains(&Isa::Avx512));
        assert!(features.source.contains("leaf 0xD"), "{}", features.source);
    }

    #[test]
    fn the_kernels_flags_do_where_there_is_no_cpuid() {
        let features = from_flags("fpu sse2 ssse3 avx avx2 fma nonstop_tsc", "/proc/cpuinfo");
        assert_eq!(features.isa, [Isa::Scalar, Isa::Sse2, Isa::Ssse3, Isa::Avx2]);
        assert!(features.names.contains(&"invariant_tsc".to_owned()));
    }
}
