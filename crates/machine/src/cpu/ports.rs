//! The execution ports of each core, and the throughput bound that they set to a sequence of instructions.
//! The higher of differing values is listed, since a bound must not be too low.
//! Sources: LLVM's `X86Sched*.td` (release 19; Zen 5 and Lunar Lake: main of 2026), `InstLatx64` (087af2c);
//! renaming: `NOP` there, `IssueWidth` for Zen 3 to 5, AMD's presentation for Zen.

use std::collections::{BTreeMap, BTreeSet};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    ScalarMultiply,
    ScalarAdd,
    Load,
    FloatMultiply,
    FloatAdd,
    Fma,
    Multiply,
    MultiplyDoubleword,
    MultiplyQuadword,
    Dot,
    DotSigned,
    Add,
    Logic,
    Shift,
    Shuffle,
    /// Register copies, which renaming eliminates: they use no port.
    Copy,
}

use Class::{
    Add, Dot, DotSigned, FloatAdd, FloatMultiply, Fma, Load, Logic, Multiply, MultiplyDoubleword, MultiplyQuadword,
    ScalarAdd, ScalarMultiply, Shift, Shuffle,
};

impl Class {
    /// The class of a mnemonic, with or without the `V` of VEX and EVEX.
    pub(crate) fn from_mnemonic(mnemonic: &str) -> Option<Self> {
        let is_scalar_vector = |name: &str| matches!(&name[name.len() - 2..], "ss" | "sd" | "ps" | "pd" | "sh" | "ph");
        let name = mnemonic.strip_prefix('v').unwrap_or(mnemonic);
        Some(match name {
            "imul" => Self::ScalarMultiply,
            "add" | "sub" => Self::ScalarAdd,
            "movsx" | "movzx" => Self::Load,
            "movdqa" | "movaps" | "movapd" => Self::Copy,
            "pmullw" | "pmaddwd" | "pmaddubsw" | "pmuludq" => Self::Multiply,
            "pmulld" => Self::MultiplyDoubleword,
            "pmullq" => Self::MultiplyQuadword,
            "pdpbusd" | "pdpwssd" => Self::Dot,
            "pdpbssd" => Self::DotSigned,
            "paddb" | "paddw" | "paddd" | "paddq" => Self::Add,
            "pand" | "pandd" | "pandq" | "pandn" | "por" | "pord" | "porq" | "pternlogd" | "pternlogq" => Self::Logic,
            "psrlw" | "psllw" | "psrlq" | "psllq" => Self::Shift,
            "pshufd" => Self::Shuffle,
            _ if name.starts_with("fmadd231") => Self::Fma,
            _ if name.starts_with("mul") && is_scalar_vector(name) => Self::FloatMultiply,
            _ if (name.starts_with("add") || name.starts_with("sub")) && is_scalar_vector(name) => Self::FloatAdd,
            _ => return None,
        })
    }
}

#[derive(Clone, Copy, Debug)]
struct ClassPorts {
    classes: &'static [Class],
    /// Micro-operations of one instruction, each one cycle on one of the ports.
    uops: u32,
    ports: &'static str,
    /// The ports at 512 bits with one 512-bit unit and with two, for [`Path::Joined`].
    wide: Option<[&'static str; 2]>,
}

const fn row(classes: &'static [Class], uops: u32, ports: &'static str) -> ClassPorts {
    ClassPorts { classes, uops, ports, wide: None }
}

const fn wide(classes: &'static [Class], uops: u32, ports: &'static str, wide: [&'static str; 2]) -> ClassPorts {
    ClassPorts { classes, uops, ports, wide: Some(wide) }
}

/// How instructions execute that are wider than a port.
#[derive(Clone, Copy, Debug)]
enum Path {
    /// In parts of this many bits, one after the other.
    Parts(u32),
    /// 512 bits use ports 0 and 1 joined, and port 5.
    Joined,
    /// 512 bits whole with two 512-bit units, in halves with one.
    ByUnits,
}

#[derive(Debug)]
pub(crate) struct Ports {
    /// The vendor's words for one port and several; `None` if only the number of ports is known.
    called: Option<[&'static str; 2]>,
    renamed: u32,
    path: Path,
    rows: &'static [ClassPorts],
    /// Rows of an older core for the classes that are not in `rows`.
    inherited: &'static [ClassPorts],
    pub(crate) source: &'static str,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Bound {
    pub(crate) cycles: f64,
    /// The bottleneck: `3 micro-operations on ports 0 and 5`.
    pub(crate) why: String,
}

impl Ports {
    /// The bound of `bits`-wide instructions with `units` 512-bit units; `None` if an instruction's ports are unknown.
    pub(crate) fn bound(&self, instructions: &[&str], bits: u32, units: f64) -> Option<Bound> {
        let mut taken: BTreeMap<BTreeSet<&str>, u32> = BTreeMap::new();
        let mut renamed = 0;
        for mnemonic in instructions {
            let class = Class::from_mnemonic(mnemonic)?;
            if class == Class::Copy {
                renamed += 1;
                continue;
            }
            let (uops, ports) = self.taken(class, bits, units)?;
            renamed += uops;
            *taken.entry(ports.split(' ').collect()).or_default() += uops;
        }
        let on_ports = busiest(&taken);
        let at_renaming = f64::from(renamed) / f64::from(self.renamed);
        let Some((cycles, uops, ports)) = on_ports.filter(|(cycles, ..)| *cycles >= at_renaming) else {
            let why = format!("{}, {} renamed per cycle", micro_operations(renamed), self.renamed);
            return Some(Bound { cycles: at_renaming, why });
        };
        Some(Bound { cycles, why: format!("{} on {}", micro_operations(uops), self.named(&ports)) })
    }

    fn taken(&self, class: Class, bits: u32, units: f64) -> Option<(u32, &'static str)> {
        let row = self.rows.iter().chain(self.inherited).find(|row| row.classes.contains(&class))?;
        let parts = |part: u32| bits.div_ceil(part);
        Some(match (self.path, bits) {
            (Path::Joined, 512) => (row.uops, row.wide?[usize::from(units > 1.0)]),
            (Path::Joined, _) => (row.uops, row.ports),
            (Path::Parts(part), _) => (row.uops * parts(part), row.ports),
            (Path::ByUnits, _) if units > 1.0 => (row.uops, row.ports),
            (Path::ByUnits, _) => (row.uops * parts(256), row.ports),
        })
    }

    /// `ports 0 and 5`, `pipe FP2`, or only their number.
    fn named(&self, ports: &BTreeSet<&str>) -> String {
        let names: Vec<&str> = ports.iter().copied().collect();
        match (self.called, names.as_slice()) {
            (None, [_]) => "1 port".to_owned(),
            (None, _) => format!("{} ports", names.len()),
            (Some([one, _]), [name]) => format!("{one} {name}"),
            (Some([_, several]), [others @ .., last]) => format!("{several} {} and {last}", others.join(", ")),
            (Some(_), []) => String::new(),
        }
    }
}

/// The busiest set of ports: cycles, micro-operations that can use no other port, ports. Of equals the smallest set.
fn busiest<'p>(taken: &BTreeMap<BTreeSet<&'p str>, u32>) -> Option<(f64, u32, BTreeSet<&'p str>)> {
    let subsets = 1_usize..1 << taken.len();
    let union = |subset: usize| -> BTreeSet<&'p str> {
        let chosen = taken.keys().enumerate().filter(|(index, _)| subset >> index & 1 == 1);
        chosen.flat_map(|(_, ports)| ports.iter().copied()).collect()
    };
    let load = |ports: BTreeSet<&'p str>| {
        let uops: u32 = taken.iter().filter(|(may, _)| may.is_subset(&ports)).map(|(_, uops)| uops).sum();
        let cycles = f64::from(uops) / ports.len() as f64;
        (cycles, uops, ports)
    };
    let loads = subsets.map(union).map(load);
    loads.max_by(|one, other| one.0.total_cmp(&other.0).then(other.2.len().cmp(&one.2.len())))
}

fn micro_operations(number: u32) -> String {
    format!("{number} micro-operation{}", if number == 1 { "" } else { "s" })
}

const CORE: Ports = Ports {
    called: Some(["port", "ports"]),
    renamed: 6,
    path: Path::Parts(256),
    rows: &[],
    inherited: &[],
    source: "",
};

/// Broadwell is equal.
pub(crate) static HASWELL: Ports = Ports {
    renamed: 4,
    rows: &[
        row(&[ScalarMultiply, FloatAdd], 1, "1"),
        row(&[ScalarAdd], 1, "0 1 5 6"),
        row(&[Load], 1, "2 3"),
        row(&[FloatMultiply, Fma], 1, "0 1"),
        row(&[Multiply, Shift], 1, "0"),
        row(&[MultiplyDoubleword], 2, "0"),
        row(&[Add], 1, "1 5"),
        row(&[Logic], 1, "0 1 5"),
        row(&[Shuffle], 1, "5"),
    ],
    source: "LLVM X86SchedHaswell.td, X86SchedBroadwell.td; InstLatx64 HaswellEP, BroadwellH",
    ..CORE
};

/// Common values of Intel's big cores with 512-bit vectors.
const SKYLAKE_LIKE: Ports = Ports {
    path: Path::Joined,
    inherited: &[
        row(&[ScalarMultiply], 1, "1"),
        row(&[ScalarAdd], 1, "0 1 5 6"),
        row(&[Load], 1, "2 3"),
        wide(&[FloatMultiply, FloatAdd, Fma, Multiply, Dot], 1, "0 1", ["0", "0 5"]),
        wide(&[MultiplyDoubleword], 2, "0 1", ["0", "0 5"]),
        wide(&[MultiplyQuadword], 3, "0 1", ["0", "0 5"]),
        wide(&[Add, Logic], 1, "0 1 5", ["0 5", "0 5"]),
        wide(&[Shift], 1, "0 1", ["0", "0"]),
        wide(&[Shuffle], 1, "5", ["5", "5"]),
    ],
    ..CORE
};

pub(crate) static SKYLAKE: Ports = Ports {
    renamed: 4,
    source: "LLVM X86SchedSkylakeServer.td; InstLatx64 SkylakeX2 (2 units), CascadeLakeSP (1 unit)",
    ..SKYLAKE_LIKE
};

/// Ice Lake, Tiger Lake, Rocket Lake; Ice Lake-SP has the second unit.
pub(crate) static ICE_LAKE: Ports = Ports {
    renamed: 5,
    rows: &[wide(&[Shuffle], 1, "1 5", ["5", "5"])],
    source: "LLVM X86SchedIceLake.td; InstLatx64 TigerLake, RocketLake (1 unit)",
    ..SKYLAKE_LIKE
};

const GOLDEN_COVE_LIKE: Ports = Ports {
    rows: &[
        row(&[ScalarAdd], 1, "0 1 5 6 10"),
        row(&[Load], 1, "2 3 11"),
        wide(&[FloatAdd], 1, "1 5", ["0 5", "0 5"]),
        wide(&[Shuffle], 1, "1 5", ["5", "5"]),
    ],
    ..SKYLAKE_LIKE
};
pub(crate) static GOLDEN_COVE: Ports =
    Ports { source: "LLVM X86SchedAlderlakeP.td; InstLatx64 AlderLake BC_AVX512, RaptorLake BC", ..GOLDEN_COVE_LIKE };
pub(crate) static REDWOOD_COVE: Ports = Ports {
    source: "InstLatx64 MeteorLake BC: throughputs as of Raptor Lake; LLVM X86.td: model of Alder Lake",
    ..GOLDEN_COVE_LIKE
};
/// The server's core has a second 512-bit unit on port 5, which LLVM's model, derived from the client's, lacks.
pub(crate) static SAPPHIRE_RAPIDS: Ports = Ports {
    source: "LLVM X86SchedSapphireRapids.td; 512-bit multiplication on port 5 too: measured on Emerald Rapids, 2026-11",
    ..GOLDEN_COVE_LIKE
};
pub(crate) static GRANITE_RAPIDS: Ports = Ports {
    source: "as Sapphire Rapids: LLVM X86.td gives both one model, InstLatx64 MeteorLake BC the same throughputs",
    ..GOLDEN_COVE_LIKE
};

/// Per cycle: four `PADD` or `PAND`, two multiplications, shifts, FMAs or floating-point additions.
pub(crate) static LION_COVE: Ports = Ports {
    renamed: 8,
    rows: &[
        row(&[ScalarMultiply], 1, "1 3 5"),
        row(&[ScalarAdd], 1, "0 1 2 3 4 5"),
        row(&[Load], 1, "20 21 22"),
        row(&[FloatMultiply, Fma, Multiply, Dot, DotSigned, Shift], 1, "V0 V1"),
        row(&[MultiplyDoubleword], 2, "V0 V1"),
        row(&[FloatAdd, Shuffle], 1, "V2 V3"),
        row(&[Add, Logic], 1, "V0 V1 V2 V3"),
    ],
    source: "LLVM X86SchedLunarlakeP.td; InstLatx64 ArrowLake BC",
    ..CORE
};

/// 128 bits at a time; only the number of ports is public. FP multiplication and addition share ports (`InstLatx64`).
const SMALL: Ports = Ports { called: None, path: Path::Parts(128), ..CORE };
const GRACEMONT_ROWS: &[ClassPorts] = &[
    row(&[ScalarMultiply], 1, "A0 A1"),
    row(&[ScalarAdd], 1, "A0 A1 A2 A3"),
    row(&[Load], 1, "L0 L1"),
    row(&[FloatMultiply, FloatAdd, Fma], 1, "V0 V1"),
    row(&[Multiply, Dot], 1, "V0"),
    row(&[MultiplyDoubleword], 2, "V0"),
    row(&[Add, Logic, Shift, Shuffle], 1, "V0 V1 V2"),
];
pub(crate) static GRACEMONT: Ports =
    Ports { renamed: 5, rows: GRACEMONT_ROWS, source: "InstLatx64 RaptorLake LC", ..SMALL };
pub(crate) static CRESTMONT: Ports = Ports {
    rows: &[row(&[Multiply, Dot], 1, "V0 V1"), row(&[MultiplyDoubleword], 2, "V0 V1")],
    inherited: GRACEMONT_ROWS,
    source: "InstLatx64 MeteorLake LC",
    ..SMALL
};
/// Scalar multiplication is left out: the dump's 0.59 cycles match no number of ports.
pub(crate) static SKYMONT: Ports = Ports {
    renamed: 8,
    rows: &[
        row(&[ScalarAdd], 1, "A0 A1 A2 A3 A4 A5 A6 A7"),
        row(&[Load], 1, "L0 L1 L2"),
        row(&[FloatMultiply, FloatAdd, Fma, Multiply, Dot, DotSigned], 1, "V0 V1 V2 V3"),
        row(&[MultiplyDoubleword], 2, "V0 V1 V2 V3"),
        row(&[Add, Logic, Shift, Shuffle], 1, "V0 V1 V2 V3"),
    ],
    source: "InstLatx64 ArrowLake LC",
    ..SMALL
};

/// Without FMA: next to FMA, additions have fewer pipes than alone (likwid #743), and no source has the number.
const ZEN2_ROWS: &[ClassPorts] = &[
    row(&[ScalarMultiply], 1, "ALU1"),
    row(&[ScalarAdd], 1, "ALU0 ALU1 ALU2 ALU3"),
    row(&[Load], 1, "AGU0 AGU1"),
    row(&[FloatMultiply], 1, "FP0 FP1"),
    row(&[FloatAdd], 1, "FP2 FP3"),
    row(&[Multiply], 1, "FP0"),
    row(&[MultiplyDoubleword], 2, "FP0"),
    row(&[Add], 1, "FP0 FP1 FP3"),
    row(&[Logic], 1, "FP0 FP1 FP2 FP3"),
    row(&[Shift], 1, "FP2"),
    row(&[Shuffle], 1, "FP1 FP2"),
];
const ZEN: Ports = Ports { called: Some(["pipe", "pipes"]), ..CORE };
pub(crate) static ZEN1: Ports = Ports {
    path: Path::Parts(128),
    rows: ZEN2_ROWS,
    source: "LLVM X86ScheduleZnver1.td; InstLatx64 Summit Ridge; 6 to the schedulers: AMD, AnandTech 10578",
    ..ZEN
};
pub(crate) static ZEN2: Ports = Ports {
    rows: ZEN2_ROWS,
    source: "LLVM X86ScheduleZnver2.td; InstLatx64 Rome; 6 to the schedulers as in Zen, AnandTech 10578",
    ..ZEN
};
const ZEN3_ROWS: &[ClassPorts] = &[
    row(&[ScalarMultiply], 1, "ALU1"),
    row(&[ScalarAdd], 1, "ALU0 ALU1 ALU2 ALU3"),
    row(&[Load], 1, "AGU0 AGU1 AGU2"),
    row(&[FloatMultiply, Fma], 1, "FP0 FP1"),
    row(&[FloatAdd], 1, "FP2 FP3"),
    row(&[Multiply, MultiplyDoubleword], 1, "FP0 FP3"),
    row(&[Add, Logic], 1, "FP0 FP1 FP2 FP3"),
    row(&[Shift, Shuffle], 1, "FP1 FP2"),
];
pub(crate) static ZEN3: Ports =
    Ports { rows: ZEN3_ROWS, source: "LLVM X86ScheduleZnver3.td; InstLatx64 Vermeer", ..ZEN };
/// 512 bits are two halves in one pipe, one after the other.
pub(crate) static ZEN4: Ports = Ports {
    rows: &[row(&[MultiplyQuadword], 1, "FP0 FP3"), row(&[Dot], 1, "FP0 FP1")],
    inherited: ZEN3_ROWS,
    source: "LLVM X86ScheduleZnver4.td; InstLatx64 Genoa",
    ..ZEN
};
/// By the dumps, multiplications and shifts start twice per cycle, also at 512 bits with the wide data path.
pub(crate) static ZEN5: Ports = Ports {
    renamed: 8,
    path: Path::ByUnits,
    rows: &[
        row(&[ScalarMultiply], 1, "ALU0 ALU1 ALU2"),
        row(&[ScalarAdd], 1, "ALU0 ALU1 ALU2 ALU3 ALU4 ALU5"),
        row(&[Load], 1, "AGU0 AGU1 AGU2 AGU3"),
        row(&[FloatMultiply, Fma, Multiply, MultiplyDoubleword, MultiplyQuadword, Dot], 1, "FP0 FP1"),
        row(&[FloatAdd], 1, "FP2 FP3"),
        row(&[Add, Logic, Shuffle], 1, "FP0 FP1 FP2 FP3"),
        row(&[Shift], 1, "FP1 FP2"),
    ],
    source: "LLVM X86ScheduleZnver5.td, after AMD 58455; InstLatx64 GraniteRidge, 512-bit and 256-bit dumps",
    ..ZEN
};

#[cfg(test)]
mod tests {
    use super::*;

    /// Cycles to three decimals, and the bottleneck.
    fn bound(ports: &Ports, instructions: &[&str], bits: u32, units: f64) -> (String, String) {
        let bound = ports.bound(instructions, bits, units).unwrap();
        (format!("{:.3}", bound.cycles), bound.why)
    }

    fn is(cycles: &str, why: &str) -> (String, String) {
        (cycles.to_owned(), why.to_owned())
    }

    #[test]
    fn what_must_go_through_few_ports_binds() {
        let int32 = ["vpmulld", "vpaddd"];
        assert_eq!(bound(&HASWELL, &int32, 256, 0.0), is("2.000", "2 micro-operations on port 0"));
        assert_eq!(bound(&SKYLAKE, &int32, 256, 0.0), is("1.000", "2 micro-operations on ports 0 and 1"));
        assert_eq!(bound(&SKYLAKE, &int32, 512, 1.0), is("2.000", "2 micro-operations on port 0"));
        assert_eq!(bound(&SKYLAKE, &int32, 512, 2.0), is("1.500", "3 micro-operations on ports 0 and 5"));
        assert_eq!(bound(&ZEN4, &int32, 512, 1.0), is("1.000", "2 micro-operations on pipes FP0 and FP3"));
        assert_eq!(bound(&GRACEMONT, &int32, 256, 0.0), is("4.000", "4 micro-operations on 1 port"));
    }

    #[test]
    fn renaming_binds_where_copies_take_its_slots() {
        let copies = ["movdqa", "movdqa", "movdqa", "pand"];
        assert_eq!(bound(&SKYLAKE, &copies, 128, 0.0), is("1.000", "4 micro-operations, 4 renamed per cycle"));
        assert_eq!(bound(&SKYLAKE, &["pand"], 128, 0.0).0, "0.333");
    }

    #[test]
    fn zen5_takes_512_bits_whole_or_in_halves() {
        let byte = ["vpmullw", "vpsrlw", "vpmullw", "vpternlogd", "vpaddb"];
        assert_eq!(bound(&ZEN5, &byte, 512, 2.0).0, "1.250");
        assert_eq!(bound(&ZEN5, &byte, 512, 1.0).0, "2.500");
        assert_eq!(bound(&ZEN5, &byte, 256, 1.0).0, bound(&ZEN5, &byte, 512, 2.0).0);
    }

    #[test]
    fn an_instruction_without_a_source_has_no_bound() {
        assert_eq!(SKYMONT.bound(&["imul", "add", "sub"], 64, 0.0), None);
        assert_eq!(ZEN2.bound(&["vfmadd231pd", "vaddpd"], 256, 0.0), None);
        assert_eq!(HASWELL.bound(&["vpmullq"], 256, 0.0), None);
        assert_eq!(HASWELL.bound(&["cpuid"], 256, 0.0), None);
    }
}
