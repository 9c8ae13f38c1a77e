//! The table of microarchitectures: family, model, and instructions per cycle and core; ports where no count is listed.
//! Sources: `InstLatx64`, OSACA models, cpufp results, LLVM's models (June 2026), likwid issues; without one `None`.

use std::ops::RangeInclusive;

use model::isa::Isa::{
    self, Amx, Avx2, Avx512, Avx512Bf16, Avx512Fp16, Avx512Vl, Avx512Vnni, AvxVnni, AvxVnniInt8, Sse2, Sse41, Ssse3,
};
use model::machine::CoreKind;

use crate::cpu::arm::vectors::Vectors;
use crate::cpu::ports::{self, Ports};

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Count {
    pub(crate) per_cycle: f64,
    pub(crate) source: &'static str,
}

#[expect(clippy::unnecessary_wraps, reason = "every field that it fills is optional")]
const fn count(per_cycle: f64, source: &'static str) -> Option<Count> {
    Some(Count { per_cycle, source })
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Wide {
    No,
    Units(f64),
    /// Skylake-SP and derivatives: one or two, by the part's name.
    BySku,
    /// Zen 5: one with a data path of 256 bits, else two, by model and CPUID.
    ByDatapath,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Uarch {
    pub(crate) name: &'static str,
    /// `VFMADD` of one element, and of 256 bits.
    pub(crate) fma: [Option<Count>; 2],
    /// Pairs of one multiplication and one addition, 128 bits or one element.
    pub(crate) pairs: Option<Count>,
    /// 512-bit units, each finishing one `VFMADD` or `VPDPBUSD` per cycle, with the source.
    pub(crate) wide: (Wide, &'static str),
    /// `VDPBF16PS` per 512-bit unit.
    pub(crate) bf16_per_unit: Option<Count>,
    pub(crate) vnni_256: Option<Count>,
    /// `PMADDUBSW` + `PMADDWD` + `PADDD`, 128 or 256 bits.
    pub(crate) maddubs: Option<Count>,
    /// At 512 bits, with one 512-bit unit and with two.
    pub(crate) maddubs_512: [Option<Count>; 2],
    /// `IMUL` of 32 bits, register to register.
    pub(crate) imul: Option<Count>,
    /// Tile products: `TDPBUSD`, `TDPBF16PS`, `TDPFP16PS`.
    pub(crate) amx: [Option<Count>; 3],
    pub(crate) ports: Option<&'static Ports>,
    /// Counts of Arm's vector instructions.
    pub(crate) vectors: Option<Vectors>,
    /// The instruction sets of every part, oldest first (empty without a source), and the processor in LLVM's `X86.td`.
    pub(crate) sets: (&'static [Isa], &'static str),
}

pub(crate) const fn named(name: &'static str) -> Uarch {
    Uarch {
        name,
        fma: [None; 2],
        pairs: None,
        wide: (Wide::No, ""),
        bf16_per_unit: None,
        vnni_256: None,
        maddubs: None,
        maddubs_512: [None; 2],
        imul: None,
        amx: [None; 3],
        ports: None,
        vectors: None,
        sets: (&[], ""),
    }
}

const OF_NEHALEM: &[Isa] = &[Sse2, Ssse3, Sse41];
const OF_HASWELL: &[Isa] = &[Sse2, Ssse3, Sse41, Avx2];
const OF_ALDER_LAKE: &[Isa] = &[Sse2, Ssse3, Sse41, Avx2, AvxVnni];
const OF_SIERRA_FOREST: &[Isa] = &[Sse2, Ssse3, Sse41, Avx2, AvxVnni, AvxVnniInt8];
const OF_KNIGHTS: &[Isa] = &[Sse2, Ssse3, Sse41, Avx2, Avx512];
const OF_SKYLAKE_SP: &[Isa] = &[Sse2, Ssse3, Sse41, Avx2, Avx512, Avx512Vl];
const OF_CASCADE_LAKE: &[Isa] = &[Sse2, Ssse3, Sse41, Avx2, Avx512, Avx512Vl, Avx512Vnni];
/// Zen 4 has the same.
const OF_COOPER_LAKE: &[Isa] = &[Sse2, Ssse3, Sse41, Avx2, Avx512, Avx512Vl, Avx512Vnni, Avx512Bf16];
const OF_ZEN5: &[Isa] = &[Sse2, Ssse3, Sse41, Avx2, Avx512, Avx512Vl, AvxVnni, Avx512Vnni, Avx512Bf16];
const OF_SAPPHIRE_RAPIDS: &[Isa] =
    &[Sse2, Ssse3, Sse41, Avx2, Avx512, Avx512Vl, AvxVnni, Avx512Vnni, Avx512Bf16, Avx512Fp16, Amx];

const LLVM_SKX: &str = "LLVM X86SchedSkylakeServer.td";
const SPR: &str = "OSACA spr.yml; cpufp Xeon 6455B, W9-3495X";
const RPL_BIG: &str = "InstLatx64 RaptorLake BC";
const RPL_LITTLE: &str = "InstLatx64 RaptorLake LC; cpufp N150";
const MTL_LITTLE: &str = "InstLatx64 MeteorLake LC; cpufp 255H LPE";
const ARL_BIG: &str = "InstLatx64 ArrowLake BC; cpufp 255H";
const ARL_LITTLE: &str = "InstLatx64 ArrowLake LC; cpufp 255H";
const ZEN5: &str = "InstLatx64 GraniteRidge; cpufp 9700X";

const HASWELL: Uarch = Uarch {
    fma: [count(2.0, "InstLatx64 Haswell: FMA T 0.5, ports 0 and 1"); 2],
    pairs: count(1.0, "LLVM X86SchedHaswell.td: multiply on ports 0 and 1, add on port 1 alone"),
    maddubs: count(0.5, "LLVM X86SchedHaswell.td: vector multiply on port 0 alone"),
    imul: count(1.0, "LLVM X86SchedHaswell.td"),
    ports: Some(&ports::HASWELL),
    sets: (OF_HASWELL, "haswell"),
    ..named("Haswell")
};
const BROADWELL: Uarch = Uarch { name: "Broadwell", sets: (OF_HASWELL, "broadwell"), ..HASWELL };

const SKYLAKE: Uarch = Uarch {
    fma: [count(2.0, "peakperf README: 2 FPUs of latency 4"); 2],
    pairs: count(1.0, "LLVM X86SchedSkylakeServer.td: multiply and add share ports 0 and 1"),
    maddubs: count(1.0, "LLVM X86SchedSkylakeServer.td: vector multiply on ports 0 and 1, add on port 5"),
    imul: count(1.0, LLVM_SKX),
    ports: Some(&ports::SKYLAKE),
    sets: (OF_HASWELL, "skylake"),
    ..named("Skylake")
};
const SKYLAKE_SP: Uarch = Uarch {
    name: "Skylake-SP",
    fma: [count(2.0, LLVM_SKX); 2],
    wide: (Wide::BySku, "InstLatx64 SkylakeX (2 units: T 0.5), CascadeLakeSP (1 unit: T 1.0)"),
    maddubs_512: [
        count(0.5, "both multiplies on port 0, InstLatx64 CascadeLakeSP"),
        count(2.0 / 3.0, "LLVM X86SchedSkylakeServer.td: three instructions on ports 0 and 5"),
    ],
    sets: (OF_SKYLAKE_SP, "skylake-avx512"),
    ..SKYLAKE
};
const CASCADE_LAKE: Uarch = Uarch { name: "Cascade Lake", sets: (OF_CASCADE_LAKE, "cascadelake"), ..SKYLAKE_SP };
const COOPER_LAKE: Uarch = Uarch { name: "Cooper Lake", sets: (OF_COOPER_LAKE, "cooperlake"), ..SKYLAKE_SP };

const ICE_LAKE_SP: Uarch = Uarch {
    name: "Ice Lake-SP",
    pairs: count(1.0, "LLVM X86SchedIceLake.td: multiply and add share ports 0 and 1"),
    maddubs: count(1.0, "LLVM X86SchedIceLake.td: vector multiply on ports 0 and 1, add on port 5"),
    fma: [count(2.0, "OSACA icx.yml"); 2],
    wide: (Wide::Units(2.0), "OSACA icx.yml: 512-bit FMA on ports 0 and 5; VNNI by analogy with Sapphire Rapids"),
    maddubs_512: [None, count(2.0 / 3.0, "LLVM X86SchedIceLake.td: three instructions on ports 0 and 5")],
    ports: Some(&ports::ICE_LAKE),
    sets: (OF_CASCADE_LAKE, "icelake-server"),
    ..SKYLAKE_SP
};
const ICE_LAKE_CLIENT: Uarch = Uarch {
    name: "Ice Lake",
    wide: (Wide::Units(1.0), "InstLatx64 TigerLake, RocketLake"),
    fma: [count(2.0, "InstLatx64 TigerLake, RocketLake"); 2],
    sets: (OF_CASCADE_LAKE, "icelake-client"),
    ..ICE_LAKE_SP
};
const TIGER_LAKE: Uarch = Uarch { name: "Tiger Lake", sets: (OF_CASCADE_LAKE, "tigerlake"), ..ICE_LAKE_CLIENT };
const ROCKET_LAKE: Uarch = Uarch { name: "Rocket Lake", sets: (OF_CASCADE_LAKE, "rocketlake"), ..ICE_LAKE_CLIENT };

const GOLDEN_COVE: Uarch = Uarch {
    fma: [count(2.0, RPL_BIG); 2],
    pairs: count(1.5, "LLVM X86SchedAlderlakeP.td: multiply on ports 0 and 1, add on ports 1 and 5"),
    wide: (Wide::Units(1.0), "InstLatx64 AlderLake BC_AVX512"),
    bf16_per_unit: count(0.5, "InstLatx64 AlderLake BC_AVX512"),
    vnni_256: count(2.0, RPL_BIG),
    maddubs: count(1.0, "LLVM X86SchedAlderlakeP.td: vector multiply on ports 0 and 1, add on port 5"),
    imul: count(1.0, "LLVM X86SchedAlderlakeP.td"),
    ports: Some(&ports::GOLDEN_COVE),
    sets: (OF_ALDER_LAKE, "alderlake"),
    ..named("Golden Cove")
};
const RAPTOR_COVE: Uarch = Uarch { name: "Raptor Cove", sets: (OF_ALDER_LAKE, "raptorlake"), ..GOLDEN_COVE };
const REDWOOD_COVE: Uarch = Uarch {
    name: "Redwood Cove",
    fma: [count(2.0, "as Granite Rapids, the same core"); 2],
    pairs: None,
    vnni_256: None,
    maddubs: None,
    imul: None,
    ports: Some(&ports::REDWOOD_COVE),
    sets: (OF_ALDER_LAKE, "meteorlake"),
    ..GOLDEN_COVE
};
const SAPPHIRE_RAPIDS: Uarch = Uarch {
    name: "Sapphire Rapids",
    fma: [count(2.0, SPR); 2],
    wide: (Wide::Units(2.0), SPR),
    bf16_per_unit: count(0.25, SPR),
    amx: [count(1.0 / 16.0, SPR), count(1.0 / 16.0, SPR), None],
    ports: Some(&ports::SAPPHIRE_RAPIDS),
    sets: (OF_SAPPHIRE_RAPIDS, "sapphirerapids"),
    ..GOLDEN_COVE
};
const EMERALD_RAPIDS: Uarch =
    Uarch { name: "Emerald Rapids", sets: (OF_SAPPHIRE_RAPIDS, "emeraldrapids"), ..SAPPHIRE_RAPIDS };
const GNR: &str = "cpufp README: as Sapphire Rapids with AMX-FP16";
const GRANITE_RAPIDS: Uarch = Uarch {
    name: "Granite Rapids",
    fma: [count(2.0, GNR); 2],
    wide: (Wide::Units(2.0), "clpeak: 2 x 512-bit FMA; else as Sapphire Rapids"),
    bf16_per_unit: None,
    pairs: None,
    vnni_256: None,
    maddubs: None,
    imul: None,
    amx: [count(1.0 / 16.0, GNR), count(1.0 / 16.0, GNR), count(1.0 / 16.0, GNR)],
    ports: Some(&ports::GRANITE_RAPIDS),
    sets: (OF_SAPPHIRE_RAPIDS, "graniterapids"),
    ..SAPPHIRE_RAPIDS
};

const GRACEMONT: Uarch = Uarch {
    fma: [count(2.0, RPL_LITTLE), count(1.0, RPL_LITTLE)],
    vnni_256: count(0.5, RPL_LITTLE),
    ports: Some(&ports::GRACEMONT),
    sets: (OF_ALDER_LAKE, "gracemont"),
    ..named("Gracemont")
};
const CRESTMONT: Uarch = Uarch {
    fma: [count(2.0, MTL_LITTLE), count(1.0, MTL_LITTLE)],
    vnni_256: count(1.0, MTL_LITTLE),
    ports: Some(&ports::CRESTMONT),
    sets: (OF_ALDER_LAKE, "meteorlake"),
    ..named("Crestmont")
};
/// The same core with more instructions, in Sierra Forest and Grand Ridge.
const SERVER_CRESTMONT: Uarch = Uarch { sets: (OF_SIERRA_FOREST, "sierraforest"), ..CRESTMONT };
const LION_COVE: Uarch = Uarch {
    fma: [count(2.0, ARL_BIG); 2],
    vnni_256: count(2.0, ARL_BIG),
    ports: Some(&ports::LION_COVE),
    sets: (OF_SIERRA_FOREST, "arrowlake"),
    ..named("Lion Cove")
};
const SKYMONT: Uarch = Uarch {
    fma: [count(4.0, ARL_LITTLE), count(2.0, ARL_LITTLE)],
    vnni_256: count(2.0, ARL_LITTLE),
    ports: Some(&ports::SKYMONT),
    sets: (OF_SIERRA_FOREST, "arrowlake"),
    ..named("Skymont")
};

const ZEN1: Uarch = Uarch {
    fma: [
        count(2.0, "InstLatx64 Summit Ridge: 128-bit FMA T 0.48"),
        count(1.0, "InstLatx64 Summit Ridge: 256 bits as two halves"),
    ],
    pairs: count(2.0, "LLVM X86ScheduleZnver2.td: multiply on pipes 0 and 1, add on 2 and 3"),
    imul: count(1.0, "LLVM X86ScheduleZnver2.td"),
    ports: Some(&ports::ZEN1),
    sets: (OF_HASWELL, "znver1"),
    ..named("Zen")
};
const ZEN1_PLUS: Uarch = Uarch { name: "Zen+", ..ZEN1 };
const ZEN2: Uarch = Uarch {
    name: "Zen 2",
    fma: [count(2.0, "InstLatx64 Rome; likwid #743"); 2],
    maddubs: count(0.5, "LLVM X86ScheduleZnver2.td: vector multiply on pipe 0 alone"),
    ports: Some(&ports::ZEN2),
    sets: (OF_HASWELL, "znver2"),
    ..ZEN1
};
const ZEN3: Uarch = Uarch {
    name: "Zen 3",
    fma: [count(2.0, "InstLatx64 Vermeer"); 2],
    pairs: count(2.0, "likwid #743: 2 multiply and 2 add pipes"),
    maddubs: count(1.0, "LLVM X86ScheduleZnver3.td: vector multiply on 2 of 4 pipes, add on all"),
    imul: None,
    ports: Some(&ports::ZEN3),
    sets: (OF_HASWELL, "znver3"),
    ..ZEN2
};
const ZEN4: Uarch = Uarch {
    name: "Zen 4",
    fma: [count(2.0, "InstLatx64 Genoa; cpufp 8845HS"); 2],
    pairs: count(2.0, "LLVM X86ScheduleZnver4.td"),
    wide: (Wide::Units(1.0), "InstLatx64 Genoa: 512 bits as two halves of 256; cpufp 8845HS"),
    bf16_per_unit: count(1.0, "InstLatx64 Genoa; cpufp 8845HS"),
    maddubs: count(1.0, "LLVM X86ScheduleZnver4.td: vector multiply on 2 of 4 pipes, add on all"),
    maddubs_512: [count(0.5, "LLVM X86ScheduleZnver4.td: two multiplies of two cycles on 2 pipes"), None],
    ports: Some(&ports::ZEN4),
    sets: (OF_COOPER_LAKE, "znver4"),
    ..ZEN3
};
const ZEN4C: Uarch = Uarch { name: "Zen 4c", ..ZEN4 };
const ZEN5_CORE: Uarch = Uarch {
    name: "Zen 5",
    fma: [count(2.0, ZEN5); 2],
    pairs: count(2.0, "likwid #743, #747: 2 multiply and 2 add pipes"),
    wide: (Wide::ByDatapath, ZEN5),
    bf16_per_unit: count(1.0, ZEN5),
    vnni_256: count(2.0, "InstLatx64 GraniteRidge, 256-bit dump"),
    maddubs: None,
    maddubs_512: [None; 2],
    ports: Some(&ports::ZEN5),
    sets: (OF_ZEN5, "znver5"),
    ..ZEN4
};
const ZEN5C: Uarch = Uarch { name: "Zen 5c", ..ZEN5_CORE };

struct Models {
    numbers: &'static [RangeInclusive<u32>],
    steppings: RangeInclusive<u32>,
    /// All cores, or the fast ones of a hybrid.
    cores: &'static Uarch,
    small: Option<&'static Uarch>,
    /// Small ones outside the main cluster.
    low: Option<&'static Uarch>,
}

const fn models(numbers: &'static [RangeInclusive<u32>], cores: &'static Uarch) -> Models {
    Models { numbers, steppings: 0..=15, cores, small: None, low: None }
}

const fn hybrid(
    numbers: &'static [RangeInclusive<u32>],
    cores: &'static Uarch,
    small: &'static Uarch,
    low: Option<&'static Uarch>,
) -> Models {
    Models { numbers, steppings: 0..=15, cores, small: Some(small), low }
}

const fn skylake_sp(steppings: RangeInclusive<u32>, cores: &'static Uarch) -> Models {
    Models { numbers: &[0x55..=0x55], steppings, cores, small: None, low: None }
}

const NEHALEM: Uarch = Uarch { sets: (OF_NEHALEM, "nehalem"), ..named("Nehalem") };
const WESTMERE: Uarch = Uarch { sets: (OF_NEHALEM, "westmere"), ..named("Westmere") };
const SANDY_BRIDGE: Uarch = Uarch { sets: (OF_NEHALEM, "sandybridge"), ..named("Sandy Bridge") };
const IVY_BRIDGE: Uarch = Uarch { sets: (OF_NEHALEM, "ivybridge"), ..named("Ivy Bridge") };
const KNIGHTS_LANDING: Uarch = Uarch { sets: (OF_KNIGHTS, "knl"), ..named("Knights Landing") };
const KNIGHTS_MILL: Uarch = Uarch { sets: (OF_KNIGHTS, "knm"), ..named("Knights Mill") };
const COUGAR_COVE: Uarch = Uarch { sets: (OF_SIERRA_FOREST, "pantherlake"), ..named("Cougar Cove") };
const DARKMONT: Uarch = Uarch { sets: (OF_SIERRA_FOREST, "clearwaterforest"), ..named("Darkmont") };
const GOLDMONT: Uarch = Uarch { sets: (OF_NEHALEM, "goldmont"), ..named("Goldmont") };
const GOLDMONT_PLUS: Uarch = Uarch { sets: (OF_NEHALEM, "goldmont-plus"), ..named("Goldmont Plus") };
const TREMONT: Uarch = Uarch { sets: (OF_NEHALEM, "tremont"), ..named("Tremont") };
const ZEN_6: Uarch = named("Zen 6");

/// Intel family 6 (Linux `arch/x86/include/asm/intel-family.h`).
static INTEL_6: &[Models] = &[
    models(&[0x1a..=0x1a, 0x1e..=0x1f, 0x2e..=0x2e], &NEHALEM),
    models(&[0x25..=0x25, 0x2c..=0x2c, 0x2f..=0x2f], &WESTMERE),
    models(&[0x2a..=0x2a, 0x2d..=0x2d], &SANDY_BRIDGE),
    models(&[0x3a..=0x3a, 0x3e..=0x3e], &IVY_BRIDGE),
    models(&[0x3c..=0x3c, 0x3f..=0x3f, 0x45..=0x46], &HASWELL),
    models(&[0x3d..=0x3d, 0x47..=0x47, 0x4f..=0x4f, 0x56..=0x56], &BROADWELL),
    models(&[0x4e..=0x4e, 0x5e..=0x5e, 0x8e..=0x8e, 0x9e..=0x9e, 0xa5..=0xa6], &SKYLAKE),
    skylake_sp(0..=4, &SKYLAKE_SP),
    skylake_sp(5..=9, &CASCADE_LAKE),
    skylake_sp(10..=15, &COOPER_LAKE),
    models(&[0x57..=0x57], &KNIGHTS_LANDING),
    models(&[0x85..=0x85], &KNIGHTS_MILL),
    models(&[0x6a..=0x6a, 0x6c..=0x6c], &ICE_LAKE_SP),
    models(&[0x7d..=0x7e], &ICE_LAKE_CLIENT),
    models(&[0x8c..=0x8d], &TIGER_LAKE),
    models(&[0xa7..=0xa7], &ROCKET_LAKE),
    hybrid(&[0x97..=0x97, 0x9a..=0x9a], &GOLDEN_COVE, &GRACEMONT, None),
    hybrid(&[0xb7..=0xb7, 0xba..=0xba, 0xbf..=0xbf], &RAPTOR_COVE, &GRACEMONT, None),
    models(&[0xbe..=0xbe], &GRACEMONT),
    hybrid(&[0xaa..=0xaa, 0xac..=0xac, 0xb5..=0xb5], &REDWOOD_COVE, &CRESTMONT, Some(&CRESTMONT)),
    hybrid(&[0xc5..=0xc5], &LION_COVE, &SKYMONT, Some(&CRESTMONT)),
    hybrid(&[0xc6..=0xc6, 0xbd..=0xbd], &LION_COVE, &SKYMONT, Some(&SKYMONT)),
    hybrid(&[0xcc..=0xcc], &COUGAR_COVE, &DARKMONT, Some(&DARKMONT)),
    models(&[0xaf..=0xaf, 0xb6..=0xb6], &SERVER_CRESTMONT),
    models(&[0xdd..=0xdd], &DARKMONT),
    models(&[0x8f..=0x8f], &SAPPHIRE_RAPIDS),
    models(&[0xcf..=0xcf], &EMERALD_RAPIDS),
    models(&[0xad..=0xae], &GRANITE_RAPIDS),
    models(&[0x5c..=0x5c, 0x5f..=0x5f], &GOLDMONT),
    models(&[0x7a..=0x7a], &GOLDMONT_PLUS),
    models(&[0x86..=0x86, 0x96..=0x96, 0x9c..=0x9c], &TREMONT),
];

/// AMD family 17h, and 18h (Hygon's Zen), after Linux `arch/x86/kernel/cpu/amd.c`.
static AMD_17: &[Models] = &[
    models(&[0x08..=0x08, 0x18..=0x18], &ZEN1_PLUS),
    models(&[0x00..=0x2f, 0x50..=0x5f], &ZEN1),
    models(&[0x30..=0x4f, 0x60..=0x7f, 0x90..=0x91, 0xa0..=0xaf], &ZEN2),
];

static AMD_19: &[Models] = &[
    models(&[0x00..=0x0f, 0x20..=0x5f], &ZEN3),
    models(&[0xa0..=0xaf], &ZEN4C),
    models(&[0x10..=0x1f, 0x60..=0x9f], &ZEN4),
];

static AMD_1A: &[Models] = &[
    models(&[0x10..=0x1f], &ZEN5C),
    models(&[0x00..=0x0f, 0x20..=0x2f, 0x40..=0x4f, 0x60..=0x7f], &ZEN5_CORE),
    models(&[0x50..=0x5f, 0x80..=0xaf, 0xc0..=0xcf], &ZEN_6),
];

#[derive(Clone, Copy, Debug)]
pub(crate) struct Identity<'a> {
    pub(crate) vendor: &'a str,
    pub(crate) family: u32,
    pub(crate) model: u32,
    pub(crate) stepping: u32,
    /// `Uniform` if cores are equal or the kind is unknown.
    pub(crate) kind: CoreKind,
}

/// The microarchitecture of a core; `None` if it is not in the table, or if the kind decides and is unknown.
pub(crate) fn look_up(core: Identity<'_>) -> Option<&'static Uarch> {
    let lines = match (core.vendor, core.family) {
        ("GenuineIntel", 6) => INTEL_6,
        ("AuthenticAMD", 0x17) | ("HygonGenuine", 0x18) => AMD_17,
        ("AuthenticAMD", 0x19) => AMD_19,
        ("AuthenticAMD", 0x1a) => AMD_1A,
        _ => return None,
    };
    let fits = |line: &&Models| {
        line.numbers.iter().any(|numbers| numbers.contains(&core.model)) && line.steppings.contains(&core.stepping)
    };
    let line = lines.iter().find(fits)?;
    let uarch: &'static Uarch = match (line.small, core.kind) {
        (None, _) | (Some(_), CoreKind::Performance) => line.cores,
        (small, CoreKind::Efficiency) => small?,
        (_, CoreKind::LowPowerEfficiency) => line.low?,
        (_, CoreKind::Uniform) => return None,
    };
    Some(match (uarch.name, core.kind) {
        ("Zen 4", CoreKind::Efficiency) => &ZEN4C,
        ("Zen 5", CoreKind::Efficiency) => &ZEN5C,
        _ => uarch,
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn every_core() -> Vec<&'static Uarch> {
        let lines = [INTEL_6, AMD_17, AMD_19, AMD_1A].into_iter().flatten();
        lines.flat_map(|line| [Some(line.cores), line.small, line.low]).flatten().collect()
    }

    fn name(vendor: &str, family: u32, model: u32, stepping: u32, kind: CoreKind) -> Option<&'static str> {
        look_up(Identity { vendor, family, model, stepping, kind }).map(|uarch| uarch.name)
    }

    #[test]
    fn steppings_distinguish_skylake_cascade_and_cooper_lake() {
        let xeon = |stepping| name("GenuineIntel", 6, 0x55, stepping, CoreKind::Uniform);
        assert_eq!((xeon(4), xeon(7), xeon(11)), (Some("Skylake-SP"), Some("Cascade Lake"), Some("Cooper Lake")));
    }

    #[test]
    fn the_kind_of_core_decides_on_hybrids() {
        let raptor = |kind| name("GenuineIntel", 6, 0xba, 2, kind);
        assert_eq!(
            (raptor(CoreKind::Performance), raptor(CoreKind::Efficiency), raptor(CoreKind::Uniform)),
            (Some("Raptor Cove"), Some("Gracemont"), None)
        );
        assert_eq!(name("AuthenticAMD", 0x1a, 0x24, 0, CoreKind::Efficiency), Some("Zen 5c"));
    }

    #[test]
    fn an_unknown_machine_is_unknown() {
        assert_eq!(name("GenuineIntel", 6, 0xff, 0, CoreKind::Uniform), None);
        assert_eq!(name("NoSuchVendor", 1, 1, 1, CoreKind::Uniform), None);
    }
}
