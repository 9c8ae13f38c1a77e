//! What a processor can execute, as a plain value from this machine ([`Features::detect`]), from a machine's recorded
//! values ([`CpuFacts`], [`ArmFacts`]) or from a list ([`Features::having`]). It has only what some kernel requires.
//! Permission to use AMX tiles ([`Feature::AmxTile`]) takes a system call as well, see `sys`.

/// SSE and AVX state, in XCR0.
const YMM: u64 = 0b0110;
/// The same with opmask, ZMM0-15 upper halves and ZMM16-31.
const ZMM: u64 = 0b1110_0110;
/// Tile configuration and tile data.
const TILES: u64 = 0b11 << 17;

/// Defines [`Feature`] by two tables. `x86`: each feature's name, CPUID bit, and the register state that the operating
/// system must save for it, as bits of XCR0; SSE's is part of x86-64. `arm`: each feature's name, the bit of HWCAP or
/// HWCAP2, and the bytes that a vector must have, where that matters.
macro_rules! features {
    (
        x86 { $($(#[$x86_doc:meta])* $x86:ident: $x86_name:literal, $leaf:ident $bit:literal, $state:expr;)+ }
        arm { $(
            $(#[$arm_doc:meta])* $arm:ident: $arm_name:literal, $word:ident $arm_bit:literal
            $(, $length:ident $bytes:literal)?;
        )+ }
    ) => {
        /// One capability that a kernel may require, present on the CPU *and* enabled by the operating system.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Feature { $($(#[$x86_doc])* $x86,)+ $($(#[$arm_doc])* $arm,)+ }

        impl Feature {
            /// Every feature of x86-64, oldest first.
            pub const X86: &'static [Self] = &[$(Self::$x86,)+];
            /// Every feature of aarch64, oldest first.
            pub const ARM: &'static [Self] = &[$(Self::$arm,)+];
            /// Every feature of every architecture.
            pub const ALL: &'static [Self] = &[$(Self::$x86,)+ $(Self::$arm,)+];

            /// The name, as Linux spells it in `/proc/cpuinfo`; with the bits of a vector where those matter.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$x86 => $x86_name,)+ $(Self::$arm => $arm_name,)+ }
            }

            /// Whether CPUID reports the feature, whatever the operating system enables.
            const fn reported(self, facts: &CpuFacts) -> bool {
                match self { $(Self::$x86 => bit(facts.$leaf, $bit),)+ _ => false }
            }

            /// The register state that the operating system must save.
            const fn state(self) -> u64 {
                match self { $(Self::$x86 => $state,)+ _ => 0 }
            }

            /// Whether Linux grants the feature to the process.
            const fn granted(self, facts: &ArmFacts) -> bool {
                match self {
                    $(Self::$arm => facts.$word >> $arm_bit & 1 == 1 $(&& facts.$length == $bytes)?,)+
                    _ => false,
                }
            }
        }
    };
}

features! {
    x86 {
        /// 128-bit vectors; part of x86-64 itself.
        Sse2: "sse2", leaf1_edx 26, 0;
        /// `PMADDUBSW` on 128-bit vectors.
        Ssse3: "ssse3", leaf1_ecx 9, 0;
        /// `PMULLD` on 128-bit vectors.
        Sse41: "sse4_1", leaf1_ecx 19, 0;
        /// 256-bit integer vectors.
        Avx2: "avx2", leaf7_ebx 5, YMM;
        /// Three-operand fused multiply-add (FMA3), scalar to 256 bits.
        Fma: "fma", leaf1_ecx 12, YMM;
        /// 512-bit vectors of 32- and 64-bit elements.
        Avx512F: "avx512f", leaf7_ebx 16, ZMM;
        /// 512-bit vectors of 8- and 16-bit elements.
        Avx512Bw: "avx512bw", leaf7_ebx 30, ZMM;
        /// `VPMULLQ` on 512-bit vectors.
        Avx512Dq: "avx512dq", leaf7_ebx 17, ZMM;
        /// 128- and 256-bit vectors in AVX-512's encoding.
        Avx512Vl: "avx512vl", leaf7_ebx 31, ZMM;
        /// `VPDPBUSD` and `VPDPWSSD` on 512-bit vectors.
        Avx512Vnni: "avx512_vnni", leaf7_ecx 11, ZMM;
        /// `VDPBF16PS` on 512-bit vectors.
        Avx512Bf16: "avx512_bf16", leaf7_1_eax 5, ZMM;
        /// Arithmetic on 16-bit floating-point elements.
        Avx512Fp16: "avx512_fp16", leaf7_edx 23, ZMM;
        /// `VPDPBUSD` and `VPDPWSSD` on 256-bit vectors, VEX-encoded.
        AvxVnni: "avx_vnni", leaf7_1_eax 4, YMM;
        /// `VPDPBSSD` on 256-bit vectors.
        AvxVnniInt8: "avx_vnni_int8", leaf7_1_edx 4, YMM;
        /// Tile registers, their configuration, loads and stores.
        AmxTile: "amx_tile", leaf7_edx 24, TILES;
        /// `TDPBUSD`.
        AmxInt8: "amx_int8", leaf7_edx 25, TILES;
        /// `TDPBF16PS`.
        AmxBf16: "amx_bf16", leaf7_edx 22, TILES;
        /// `TDPFP16PS`.
        AmxFp16: "amx_fp16", leaf7_1_eax 21, TILES;
    }
    arm {
        /// 128-bit vectors, and arithmetic on single fp64 and fp32 numbers.
        Asimd: "asimd", hwcap 1;
        /// Atomic additions and compare-and-swap as single instructions (LSE).
        Atomics: "atomics", hwcap 8;
        /// `FMLA` on 16-bit floating-point elements of 128-bit vectors.
        AsimdHp: "asimdhp", hwcap 10;
        /// `SDOT` and `UDOT` on 128-bit vectors.
        AsimdDp: "asimddp", hwcap 20;
        /// Scalable vectors of whatever length.
        Sve: "sve", hwcap 22;
        /// Scalable vectors of 128 bits.
        Sve128: "sve of 128 bits", hwcap 22, vector_bytes 16;
        /// Scalable vectors of 256 bits.
        Sve256: "sve of 256 bits", hwcap 22, vector_bytes 32;
        /// Scalable vectors of 512 bits.
        Sve512: "sve of 512 bits", hwcap 22, vector_bytes 64;
        /// `SMMLA` on scalable vectors.
        SveI8mm: "svei8mm", hwcap2 9;
        /// `BFDOT` and `BFMMLA` on scalable vectors.
        SveBf16: "svebf16", hwcap2 12;
        /// `USDOT` and `SMMLA` on 128-bit vectors.
        I8mm: "i8mm", hwcap2 13;
        /// `BFDOT` and `BFMMLA` on 128-bit vectors.
        Bf16: "bf16", hwcap2 14;
        /// Outer products in streaming mode, whose vectors have 128 bits.
        Sme128: "sme of 128 bits", hwcap2 23, streaming_bytes 16;
        /// The same of 256 bits.
        Sme256: "sme of 256 bits", hwcap2 23, streaming_bytes 32;
        /// The same of 512 bits.
        Sme512: "sme of 512 bits", hwcap2 23, streaming_bytes 64;
        /// Outer products of fp64.
        SmeF64F64: "smef64f64", hwcap2 25;
    }
}

impl Feature {
    const fn bit(self) -> u64 {
        1 << self as u64
    }
}

/// An instruction set, and the features that a body needs.
pub(crate) type Needs = (model::isa::Isa, &'static [Feature]);

/// The set of usable [`Feature`]s and of those that the CPU at least reports, and how the core distributes
/// instructions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Features {
    usable: u64,
    reported: u64,
    binds_at_renaming: bool,
}

/// A feature that is not usable, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the other fields are what their names say")]
pub struct Missing {
    pub feature: Feature,
    pub by: Withholder,
}

/// What keeps a feature from being used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Withholder {
    /// The CPU does not report it: it lacks the feature, or a hypervisor hides it.
    Cpu,
    /// The CPU reports it, but the operating system does not save the registers that it needs.
    OperatingSystem,
}

/// The registers of one machine that decide: CPUID leaves 0, 1, 7 and 1AH, and XCR0; zero where the CPU lacks a leaf.
/// Bit positions: Intel SDM volume 2A, `CPUID`; XCR0: volume 1, section 13.3.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "named by leaf, subleaf and register")]
pub struct CpuFacts {
    /// CPUID leaf 0, EBX, EDX and ECX: the vendor.
    pub vendor: [u8; 12],
    /// CPUID leaf 1, EAX: family, model and stepping.
    pub leaf1_eax: u32,
    pub leaf1_ecx: u32,
    pub leaf1_edx: u32,
    pub leaf7_ebx: u32,
    pub leaf7_ecx: u32,
    pub leaf7_edx: u32,
    pub leaf7_1_eax: u32,
    pub leaf7_1_edx: u32,
    /// CPUID leaf 1AH, EAX: the type of this core, on hybrids.
    pub leaf1a_eax: u32,
    /// XCR0, the register states that the operating system saves; zero if OSXSAVE is not set.
    pub xcr0: u64,
}

/// What decides on aarch64. Bits of HWCAP and HWCAP2: Linux `arch/arm64/include/uapi/asm/hwcap.h`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "named as in the auxiliary vector")]
pub struct ArmFacts {
    pub hwcap: u64,
    pub hwcap2: u64,
    /// Bytes of a scalable vector for the calling thread; 0 without SVE.
    pub vector_bytes: u64,
    /// The same in streaming mode; 0 without SME.
    pub streaming_bytes: u64,
}

impl Features {
    /// No features: only scalar kernels that need nothing bind.
    pub const NONE: Self = Self { usable: 0, reported: 0, binds_at_renaming: false };

    /// The set of these features, all usable.
    pub const fn having(features: &[Feature]) -> Self {
        let mut bits = 0;
        let mut rest = features;
        while let [first, others @ ..] = rest {
            bits |= first.bit();
            rest = others;
        }
        Self { usable: bits, reported: bits, binds_at_renaming: false }
    }

    /// Whether the core is known to bind each instruction to a port when it renames it, six a cycle for three vector
    /// ports: Intel's from Golden Cove to Redwood Cove. There loops run with NOPs between their instructions
    /// ([`Bound::is_spaced`](crate::table::Bound::is_spaced)), as otherwise some ports idle and some have queues.
    pub const fn binds_at_renaming(self) -> bool {
        self.binds_at_renaming
    }

    /// The same features on a core that binds at renaming or does not.
    #[must_use]
    pub const fn on_binding_core(self, binds_at_renaming: bool) -> Self {
        Self { binds_at_renaming, ..self }
    }

    /// Whether `feature` is usable.
    pub const fn has(self, feature: Feature) -> bool {
        self.usable & feature.bit() != 0
    }

    /// Whether all of `features` are usable.
    pub const fn has_all(self, features: &[Feature]) -> bool {
        let needed = Self::having(features).usable;
        self.usable & needed == needed
    }

    /// The features of `required` that are not usable, in that order, each with what withholds it.
    pub fn missing(self, required: &[Feature]) -> impl Iterator<Item = Missing> {
        required.iter().filter(move |feature| !self.has(**feature)).map(move |&feature| {
            let reported = self.reported & feature.bit() != 0;
            Missing { feature, by: if reported { Withholder::OperatingSystem } else { Withholder::Cpu } }
        })
    }

    /// The features that the recorded x86 registers of a machine allow.
    pub const fn from_facts(facts: &CpuFacts) -> Self {
        let avx = bit(facts.leaf1_ecx, 28);
        let mut set = Self::NONE;
        let mut rest = Feature::ALL;
        while let [feature, others @ ..] = rest {
            let state = feature.state();
            if feature.reported(facts) {
                set.reported |= feature.bit();
                // Everything with registers beyond SSE's is encoded with AVX's prefixes, and every 512-bit feature needs
                // the foundation.
                let has_base = avx && (state != ZMM || Feature::Avx512F.reported(facts));
                if state == 0 || (has_base && facts.xcr0 & state == state) {
                    set.usable |= feature.bit();
                }
            }
            rest = others;
        }
        set.on_binding_core(binds_at_renaming(facts))
    }

    /// The features that Linux grants to a process on aarch64.
    pub const fn from_arm(facts: &ArmFacts) -> Self {
        let mut set = Self::NONE;
        let mut rest = Feature::ARM;
        while let [feature, others @ ..] = rest {
            if feature.granted(facts) {
                set.usable |= feature.bit();
                set.reported |= feature.bit();
            }
            rest = others;
        }
        set
    }
}

const fn bit(register: u32, index: u32) -> bool {
    register >> index & 1 == 1
}

/// Whether the registers are those of a core that binds ports at renaming, six instructions a cycle.
///
/// Golden, Raptor and Redwood Cove by their models (Linux `arch/x86/include/asm/intel-family.h`); found on Emerald
/// Rapids, and the others have its width and ports (LLVM `X86SchedAlderlakeP.td`). Older cores rename four or five, so
/// that NOPs would cost; Lion Cove has a fourth vector port. A core of a hybrid model must report that it is large: a
/// hypervisor may hide that.
const fn binds_at_renaming(facts: &CpuFacts) -> bool {
    /// In bits 31 to 24 of leaf 1AH, EAX.
    const LARGE: u32 = 0x40;
    // An extended family is added to family 15 only, so it is zero in family 6.
    let is_intel_6 = matches!(&facts.vendor, b"GenuineIntel") && facts.leaf1_eax >> 8 & 0xf_f00f == 6;
    let model = facts.leaf1_eax >> 4 & 0xf | facts.leaf1_eax >> 12 & 0xf0;
    match model {
        // Sapphire, Emerald and Granite Rapids.
        0x8f | 0xcf | 0xad | 0xae => is_intel_6,
        // Alder, Raptor and Meteor Lake, and Arrow Lake-U.
        0x97 | 0x9a | 0xb7 | 0xba | 0xbf | 0xaa | 0xac | 0xb5 => is_intel_6 && facts.leaf1a_eax >> 24 == LARGE,
        _ => false,
    }
}
