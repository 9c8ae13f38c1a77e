//! What a processor can execute, as a plain value.
//!
//! A [`Features`] may come from this machine ([`Features::detect`]), from recorded registers ([`CpuFacts`]) or from a
//! list ([`Features::of`]): a test pretends to be an AVX2-only CPU by writing down one. Only what some kernel requires
//! is named here; the full list of what a machine has is `machine`'s business.

use crate::native;

/// One capability that a kernel may require, present on the CPU *and* enabled by the operating system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Feature {
    /// 128-bit vectors; part of x86-64 itself.
    Sse2,
    /// `PMADDUBSW` on 128-bit vectors.
    Ssse3,
    /// 256-bit integer vectors.
    Avx2,
    /// Three-operand fused multiply-add (FMA3), scalar to 256 bits.
    Fma,
    /// 512-bit vectors of 32- and 64-bit elements.
    Avx512F,
    /// 512-bit vectors of 8- and 16-bit elements.
    Avx512Bw,
    /// `VPDPBUSD` on 512-bit vectors.
    Avx512Vnni,
    /// `VPDPBUSD` on 256-bit vectors, VEX-encoded.
    AvxVnni,
}

impl Feature {
    /// Every feature, oldest first.
    pub const ALL: &'static [Self] = &[
        Self::Sse2,
        Self::Ssse3,
        Self::Avx2,
        Self::Fma,
        Self::Avx512F,
        Self::Avx512Bw,
        Self::Avx512Vnni,
        Self::AvxVnni,
    ];

    const fn bit(self) -> u32 {
        1 << self as u32
    }
}

/// A set of [`Feature`]s.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Features(u32);

/// The registers that decide, as read on one machine: CPUID leaves 1 and 7, and XCR0. A leaf that the CPU lacks is
/// zero.
///
/// Bit positions: Intel SDM volume 2A, `CPUID`; XCR0: volume 1, section 13.3.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuFacts {
    /// CPUID leaf 1, ECX.
    pub leaf1_ecx: u32,
    /// CPUID leaf 1, EDX.
    pub leaf1_edx: u32,
    /// CPUID leaf 7, subleaf 0, EBX.
    pub leaf7_ebx: u32,
    /// CPUID leaf 7, subleaf 0, ECX.
    pub leaf7_ecx: u32,
    /// CPUID leaf 7, subleaf 1, EAX.
    pub leaf7_1_eax: u32,
    /// XCR0, the register states that the operating system saves; zero where OSXSAVE is not set.
    pub xcr0: u64,
}

impl Features {
    /// No features at all: only scalar kernels that need nothing bind.
    pub const NONE: Self = Self(0);

    /// The set of the given features.
    pub const fn of(features: &[Feature]) -> Self {
        let mut bits = 0;
        let mut rest = features;
        while let [first, others @ ..] = rest {
            bits |= first.bit();
            rest = others;
        }
        Self(bits)
    }

    /// Whether `feature` is usable.
    pub const fn has(self, feature: Feature) -> bool {
        self.0 & feature.bit() != 0
    }

    /// Whether all of `features` are usable.
    pub const fn has_all(self, features: &[Feature]) -> bool {
        let needed = Self::of(features).0;
        self.0 & needed == needed
    }

    /// Whether all of `required` are in this set *and* on the CPU that executes this call: a set can only narrow what a
    /// machine does, never claim what it lacks.
    pub(crate) fn usable(self, required: &[Feature]) -> bool {
        self.has_all(required) && Self::detect().has_all(required)
    }

    /// The features of the CPU that executes this call, as the operating system enables them.
    pub fn detect() -> Self {
        native::features::detect()
    }

    /// What the recorded x86 registers of a machine allow.
    pub const fn from_facts(facts: &CpuFacts) -> Self {
        /// SSE and AVX state.
        const YMM: u64 = 0b0110;
        /// The above with opmask, ZMM0-15 upper halves and ZMM16-31.
        const ZMM: u64 = 0b1110_0110;
        let ymm = facts.xcr0 & YMM == YMM && bit(facts.leaf1_ecx, 28);
        let zmm = facts.xcr0 & ZMM == ZMM && bit(facts.leaf7_ebx, 16);
        let mut bits = 0;
        let usable = [
            (Feature::Sse2, bit(facts.leaf1_edx, 26)),
            (Feature::Ssse3, bit(facts.leaf1_ecx, 9)),
            (Feature::Avx2, ymm && bit(facts.leaf7_ebx, 5)),
            (Feature::Fma, ymm && bit(facts.leaf1_ecx, 12)),
            (Feature::Avx512F, zmm),
            (Feature::Avx512Bw, zmm && bit(facts.leaf7_ebx, 30)),
            (Feature::Avx512Vnni, zmm && bit(facts.leaf7_ecx, 11)),
            (Feature::AvxVnni, ymm && bit(facts.leaf7_1_eax, 4)),
        ];
        let mut rest = usable.as_slice();
        while let [(feature, present), others @ ..] = rest {
            bits |= if *present { feature.bit() } else { 0 };
            rest = others;
        }
        Self(bits)
    }
}

const fn bit(register: u32, index: u32) -> bool {
    register >> index & 1 == 1
}
