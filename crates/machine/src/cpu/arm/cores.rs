//! The table of Arm's cores: part number, microarchitecture, and how many vector instructions start per cycle.
//!
//! Parts: Linux `arch/arm64/include/asm/cputype.h`, util-linux `lscpu-arm.c`; Apple's: m1n1 `src/midr.h`. Counts are of
//! instructions on 128 bits or one element (NEON), and on whole scalable vectors (SVE). Sources: results of cpufp on one
//! core, divided by its clock; LLVM's models (`AArch64Sched*.td`, 19 to main of 2026), which follow Arm's software
//! optimization guides; without one a count is left out. Where Arm's guide and a measurement agree, both are named.

use crate::cpu::arm::identity::Midr;
use crate::cpu::arm::vectors::Vectors;
use crate::cpu::uarch::{Uarch, named};

#[derive(Clone, Copy)]
struct Core {
    implementer: u32,
    parts: &'static [u32],
    uarch: Uarch,
}

const fn core(implementer: u32, parts: &'static [u32], name: &'static str) -> Core {
    Core { implementer, parts, uarch: named(name) }
}

const fn neon(core: &Core, neon: &'static str, source: &'static str) -> Core {
    let vectors = Some(Vectors { neon, sve: "", sve_bits: 0, source });
    Core { uarch: Uarch { vectors, ..core.uarch }, ..*core }
}

const fn sve(core: &Core, sve_bits: u32, neon: &'static str, sve: &'static str, source: &'static str) -> Core {
    let vectors = Some(Vectors { neon, sve, sve_bits, source });
    Core { uarch: Uarch { vectors, ..core.uarch }, ..*core }
}

const ARM: u32 = 0x41;
const APPLE: u32 = 0x61;
const QUALCOMM: u32 = 0x51;

/// The row of a core; `None` if it is not in the table.
pub(crate) fn look_up(midr: Midr) -> Option<&'static Uarch> {
    let is_it = |core: &&Core| core.implementer == midr.implementer && core.parts.contains(&midr.part);
    CORES.iter().find(is_it).map(|core| &core.uarch)
}

const TWO: &str = "fmla 2, fmadd 2, fadd 2, sdot 2";
const TWO_MATRIX: &str = "fmla 2, fmadd 2, fadd 2, mla 1, smlal 1, sdot 2, usdot 2, smmla 2, bfdot 2, bfmmla 2";
const TWO_SVE: &str = "fmla 2, fadd 2, mla 1, mla.int64 0.5, sdot 2, smmla 2, bfdot 2, bfmmla 2";
const FOUR: &str = "fmla 4, fmadd 4, fadd 4, mla 2, smlal 2, sdot 4, usdot 4, smmla 4, bfdot 4, bfmmla 4";
const FOUR_SVE: &str = "fmla 4, fadd 4, sdot 4, smmla 4, bfdot 4, bfmmla 4";
const AMPERE: &str = "fmla 2, fmadd 2, fadd 2, mla 2, smlal 2, sdot 2, usdot 2, smmla 1, bfdot 2, bfmmla 1";
/// The vector unit of 2 x 64 or 2 x 128 bits, which two cores may share.
const HALF_OR_WHOLE: &str = "fmla 1|2, fmadd 2, fadd 1|2, sdot 1|2, usdot 1|2, smmla 1|2";
const HALF_OR_WHOLE_SVE: &str = "fmla 1|2, fadd 1|2, sdot 1|2, smmla 1|2";

const A53: &str = "cpufp RK3399 at 1.42 GHz: 8 fp32 and 4 fp64 flop/cycle; LLVM AArch64SchedA53.td";
const A55: &str = "cpufp RK3588 at 1.82 GHz: 32 int8 and 4 fp64 op/cycle; LLVM AArch64SchedA55.td";
const A72: &str = "cpufp BCM2711 at 1.5 GHz, RK3399 at 1.8 GHz: 4 fp64 flop/cycle; LLVM AArch64SchedA57.td";
const A76: &str = "cpufp BCM2712 at 2.4 GHz: 64 int8 and 8 fp64 op/cycle; LLVM AArch64SchedNeoverseN1.td";
const A510: &str =
    "WikiChip, cortex-a510; LLVM AArch64SchedA510.td; cpufp CD8180 at 1.8 GHz: Cortex-A520, 4 fp64 flop/cycle";

static CORES: &[Core] = &[
    // 32 bits.
    core(ARM, &[0xc05], "Cortex-A5"),
    core(ARM, &[0xc07], "Cortex-A7"),
    core(ARM, &[0xc08], "Cortex-A8"),
    core(ARM, &[0xc09], "Cortex-A9"),
    core(ARM, &[0xc0d], "Cortex-A12"),
    core(ARM, &[0xc0e], "Cortex-A17"),
    core(ARM, &[0xc0f], "Cortex-A15"),
    core(ARM, &[0xd01], "Cortex-A32"),
    // 64 bits.
    core(ARM, &[0xd04], "Cortex-A35"),
    neon(&core(ARM, &[0xd03], "Cortex-A53"), "fmla 1, fadd 1", A53),
    neon(&core(ARM, &[0xd05], "Cortex-A55"), "fmla 1, fadd 1, mla 1, sdot 1", A55),
    core(ARM, &[0xd06], "Cortex-A65"),
    neon(&core(ARM, &[0xd07], "Cortex-A57"), "fmla 1, fmadd 2, fadd 1, smlal 1", "LLVM AArch64SchedA57.td"),
    neon(&core(ARM, &[0xd08], "Cortex-A72"), "fmla 1, fmadd 2, fadd 1, smlal 1", A72),
    core(ARM, &[0xd09], "Cortex-A73"),
    core(ARM, &[0xd0a], "Cortex-A75"),
    neon(&core(ARM, &[0xd0b, 0xd0e], "Cortex-A76"), TWO, A76),
    neon(&core(ARM, &[0xd0d], "Cortex-A77"), TWO, "WikiChip Fuse 2339: two 128-bit pipes, as in Cortex-A76"),
    neon(
        &core(ARM, &[0xd41, 0xd42, 0xd4b], "Cortex-A78"),
        TWO,
        "WikiChip Fuse 3536: two 128-bit pipes, as in Cortex-A77",
    ),
    sve(&core(ARM, &[0xd46], "Cortex-A510"), 128, HALF_OR_WHOLE, HALF_OR_WHOLE_SVE, A510),
    sve(
        &core(ARM, &[0xd47], "Cortex-A710"),
        128,
        TWO_MATRIX,
        TWO_SVE,
        "LLVM AArch64Processors.td: model of Neoverse N2",
    ),
    sve(
        &core(ARM, &[0xd4d], "Cortex-A715"),
        128,
        TWO_MATRIX,
        TWO_SVE,
        "LLVM AArch64Processors.td: model of Neoverse N2",
    ),
    sve(&core(ARM, &[0xd80], "Cortex-A520"), 128, HALF_OR_WHOLE, HALF_OR_WHOLE_SVE, A510),
    sve(
        &core(ARM, &[0xd81, 0xd89], "Cortex-A720"),
        128,
        TWO_MATRIX,
        TWO_SVE,
        "cpufp CD8180 at 2.6 GHz; LLVM: as Neoverse N2",
    ),
    core(ARM, &[0xd87], "Cortex-A725"),
    neon(
        &core(ARM, &[0xd44, 0xd4c], "Cortex-X1"),
        "fmla 4, fmadd 4, fadd 4, sdot 4",
        "AnandTech 15813: four 128-bit pipes",
    ),
    sve(&core(ARM, &[0xd48], "Cortex-X2"), 128, FOUR, FOUR_SVE, "LLVM AArch64Processors.td: model of Neoverse V2"),
    sve(&core(ARM, &[0xd4e], "Cortex-X3"), 128, FOUR, FOUR_SVE, "LLVM AArch64Processors.td: model of Neoverse V2"),
    sve(&core(ARM, &[0xd82], "Cortex-X4"), 128, FOUR, FOUR_SVE, "LLVM AArch64Processors.td: model of Neoverse V3"),
    core(ARM, &[0xd85], "Cortex-X925"),
    core(ARM, &[0xd4a], "Neoverse E1"),
    neon(
        &core(ARM, &[0xd0c], "Neoverse N1"),
        "fmla 2, fmadd 2, fadd 2, mla 0.5, smlal 1, sdot 2",
        "LLVM AArch64SchedNeoverseN1.td; OSACA n1.yml",
    ),
    sve(&core(ARM, &[0xd49], "Neoverse N2"), 128, TWO_MATRIX, TWO_SVE, "LLVM AArch64SchedNeoverseN2.td"),
    sve(&core(ARM, &[0xd8e], "Neoverse N3"), 128, TWO_MATRIX, TWO_SVE, "LLVM AArch64SchedNeoverseN3.td"),
    // Scalable vectors of 256 bits take two of the four pipes. cpufp found half of the counts on a Graviton3E, and 13.8
    // fp64 flop/cycle with a factor of one element, which two pipes cannot: a limit must not be too low.
    sve(&core(ARM, &[0xd40], "Neoverse V1"), 256, FOUR, TWO_SVE, "LLVM AArch64SchedNeoverseV1.td"),
    sve(&core(ARM, &[0xd4f], "Neoverse V2"), 128, FOUR, FOUR_SVE, "LLVM AArch64SchedNeoverseV2.td; OSACA v2.yml"),
    sve(&core(ARM, &[0xd83, 0xd84], "Neoverse V3"), 128, FOUR, FOUR_SVE, "LLVM AArch64SchedNeoverseV3.td"),
    // Azure Cobalt 100 reports its own implementer.
    sve(&core(0x6d, &[0xd49], "Neoverse N2"), 128, TWO_MATRIX, TWO_SVE, "LLVM AArch64SchedNeoverseN2.td"),
    neon(&core(0xc0, &[0xac3, 0xac4, 0xac5], "AmpereOne"), AMPERE, "LLVM AArch64SchedAmpere1.td"),
    sve(
        &core(0x46, &[0x001], "A64FX"),
        512,
        "fmla 2, fmadd 2, fadd 2, mla 2",
        "fmla 2, fadd 2, mla 2, sdot 2",
        "LLVM AArch64SchedA64FX.td; OSACA a64fx.yml",
    ),
    neon(
        &core(0x48, &[0xd01], "TaiShan v110"),
        "fmla 2, fmla.fp64 1, sdot 2",
        "cpufp Kunpeng 920 7260 at 2.6 GHz: 64 int8, 32 fp16, 16 fp32, 4 fp64 op/cycle",
    ),
    core(0x48, &[0xd02], "TaiShan v200"),
    neon(&core(0x48, &[0xd40], "Cortex-A76"), TWO, A76),
    // Everest and Sawtooth are M3's; the fourth generation has no public names.
    neon(
        &core(APPLE, &[0x23, 0x25, 0x29], "Firestorm"),
        "fmla 4, fmadd 4, fadd 4",
        "dougallj applecpu, Firestorm; OSACA m1.yml",
    ),
    neon(&core(APPLE, &[0x22, 0x24, 0x28], "Icestorm"), "fmla 2, fmadd 2, fadd 2", "dougallj applecpu, Icestorm"),
    neon(
        &core(APPLE, &[0x33, 0x35, 0x39], "Avalanche"),
        "fmla 4, sdot 4, bfdot 1",
        "cpufp M2 Max at 3.4 GHz: 16 fp64 flop/cycle",
    ),
    core(APPLE, &[0x32, 0x34, 0x38], "Blizzard"),
    core(APPLE, &[0x43, 0x45, 0x49], "Everest"),
    core(APPLE, &[0x42, 0x44, 0x48], "Sawtooth"),
    neon(
        &core(APPLE, &[0x53, 0x55, 0x59], "M4 P-core"),
        "fmla 4, sdot 4",
        "cpufp M4 Max: 16 fp64 flop/cycle at 3.7 GHz",
    ),
    core(APPLE, &[0x52, 0x54, 0x58], "M4 E-core"),
    neon(
        &core(QUALCOMM, &[0x001], "Oryon"),
        "fmla 4, sdot 4, usdot 4, bfdot 4",
        "cpufp X1E80100 at 4.0 GHz: 16 fp64 flop/cycle",
    ),
    // Cortex-A cores under Qualcomm's own part numbers.
    core(QUALCOMM, &[0x201, 0x205, 0x211], "Kryo"),
    core(QUALCOMM, &[0x800], "Cortex-A73"),
    neon(&core(QUALCOMM, &[0x801], "Cortex-A53"), "fmla 1, fadd 1", A53),
    core(QUALCOMM, &[0x802], "Cortex-A75"),
    neon(&core(QUALCOMM, &[0x803, 0x805], "Cortex-A55"), "fmla 1, fadd 1, mla 1, sdot 1", A55),
    neon(&core(QUALCOMM, &[0x804], "Cortex-A76"), TWO, A76),
    core(QUALCOMM, &[0x04d, 0x06f], "Krait"),
    core(QUALCOMM, &[0x00f, 0x02d], "Scorpion"),
    core(QUALCOMM, &[0xc00], "Falkor"),
    core(QUALCOMM, &[0xc01], "Saphira"),
    core(0x42, &[0x100], "Brahma-B53"),
    core(0x43, &[0x0a1, 0x0a2, 0x0a3], "ThunderX"),
    core(0x43, &[0x0af], "ThunderX2"),
    core(0x42, &[0x516], "ThunderX2"),
    core(0x43, &[0x0b8], "ThunderX3"),
    core(0x4e, &[0x000], "Denver"),
    core(0x4e, &[0x003], "Denver 2"),
    core(0x4e, &[0x004], "Carmel"),
    core(0x50, &[0x000], "X-Gene"),
    core(0x53, &[0x001], "Exynos M1"),
    core(0x53, &[0x002], "Exynos M3"),
    core(0x53, &[0x003], "Exynos M4"),
    core(0x53, &[0x004], "Exynos M5"),
    core(0x56, &[0x581, 0x584], "PJ4"),
    core(0x70, &[0x662, 0x663], "FTC66x"),
    core(0x70, &[0x862], "FTC862"),
];

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    fn of(implementer: u32, part: u32) -> Option<&'static Uarch> {
        look_up(Midr { implementer, part, variant: 0, revision: 0 })
    }

    #[test]
    fn a_part_has_one_row_and_every_count_can_be_read() {
        let mut parts: Vec<(u32, u32)> =
            CORES.iter().flat_map(|core| core.parts.iter().map(|part| (core.implementer, *part))).collect();
        let number = parts.len();
        parts.sort_unstable();
        parts.dedup();
        assert_eq!(parts.len(), number, "a part is in two rows");
        for vectors in CORES.iter().filter_map(|core| core.uarch.vectors) {
            assert_eq!(vectors.sve.is_empty(), vectors.sve_bits == 0);
            for (counts, is_scalable) in [(vectors.neon, false), (vectors.sve, true)] {
                for key in counts.split(", ").filter_map(|count| count.split(' ').next()) {
                    let known = vectors.per_cycle(key, "", is_scalable);
                    let is_count = !known.is_empty() && known.iter().all(|count| *count > 0.0);
                    assert!(counts.is_empty() || is_count, "{key}: {}", vectors.source);
                }
            }
        }
        assert!(of(ARM, 0xfff).is_none() && of(0x99, 0xd40).is_none());
    }

    #[test]
    fn a_count_may_differ_by_element() {
        let kunpeng = of(0x48, 0xd01).and_then(|core| core.vectors).unwrap();
        let fmla = |element| kunpeng.per_cycle("fmla", element, false);
        assert_eq!(
            (fmla("fp32"), fmla("fp64"), kunpeng.per_cycle("fml", "fp32", false)),
            (vec![2.0], vec![1.0], vec![])
        );
    }
}
