//! What a machine can execute: this one against the standard library's answer, others from their registers.
#![cfg(target_arch = "x86_64")]

use kernels::features::{CpuFacts, Feature, Features};
use kernels::table;
use model::isa::{CpuOp, Element, Isa};

/// Leaf 1: SSE2; and SSSE3, FMA, OSXSAVE and AVX.
const LEAF1_EDX: u32 = 1 << 26;
const LEAF1_ECX: u32 = 1 << 9 | 1 << 12 | 1 << 27 | 1 << 28;
/// Leaf 7: AVX2, AVX512F, AVX512BW; and `AVX512_VNNI`; and AVX-VNNI.
const LEAF7_EBX: u32 = 1 << 5 | 1 << 16 | 1 << 30;
const LEAF7_ECX: u32 = 1 << 11;
const LEAF7_1_EAX: u32 = 1 << 4;
const XCR0_ALL: u64 = 0xe7;

const EVERYTHING: CpuFacts = CpuFacts {
    leaf1_ecx: LEAF1_ECX,
    leaf1_edx: LEAF1_EDX,
    leaf7_ebx: LEAF7_EBX,
    leaf7_ecx: LEAF7_ECX,
    leaf7_1_eax: LEAF7_1_EAX,
    xcr0: XCR0_ALL,
};

#[test]
fn this_machine_has_what_the_standard_library_finds() {
    let expected = [
        (Feature::Sse2, is_x86_feature_detected!("sse2")),
        (Feature::Ssse3, is_x86_feature_detected!("ssse3")),
        (Feature::Avx2, is_x86_feature_detected!("avx2")),
        (Feature::Fma, is_x86_feature_detected!("fma")),
        (Feature::Avx512F, is_x86_feature_detected!("avx512f")),
        (Feature::Avx512Bw, is_x86_feature_detected!("avx512bw")),
        (Feature::Avx512Vnni, is_x86_feature_detected!("avx512vnni")),
        (Feature::AvxVnni, is_x86_feature_detected!("avxvnni")),
    ];
    assert_eq!(expected.len(), Feature::ALL.len());
    for (feature, present) in expected {
        assert_eq!(Features::detect().has(feature), present, "{feature:?}");
    }
}

#[test]
fn a_feature_counts_only_where_the_operating_system_enables_its_registers() {
    let with = |xcr0| Features::from_facts(&CpuFacts { xcr0, ..EVERYTHING });
    assert_eq!(with(XCR0_ALL), Features::of(Feature::ALL));
    assert_eq!(
        with(0b111),
        Features::of(&[Feature::Sse2, Feature::Ssse3, Feature::Avx2, Feature::Fma, Feature::AvxVnni])
    );
    assert_eq!(with(0b11), Features::of(&[Feature::Sse2, Feature::Ssse3]));
    assert_eq!(with(0), Features::of(&[Feature::Sse2, Feature::Ssse3]));
    assert_eq!(Features::from_facts(&CpuFacts::default()), Features::NONE);
}

#[test]
fn an_sse_only_cpu_gets_separate_multiplications_and_additions() {
    let sse_only = Features::of(&[Feature::Sse2]);
    let widest = |op, element| table::widest(op, element, &sse_only).map(|bound| bound.kernel().name);
    assert_eq!(widest(CpuOp::Fma, Element::Fp64), Some("fma/fp64/sse2"));
    assert_eq!(widest(CpuOp::Fma, Element::Fp32), Some("fma/fp32/sse2"));
    assert_eq!(widest(CpuOp::Dot, Element::Int8), Some("dot/int8/scalar"));
    let scalar = table::find(CpuOp::Fma, Element::Fp64, Isa::Scalar, &sse_only).map(|bound| bound.kernel().method);
    assert_eq!(scalar, Some("cpu-mul-add/1"));
}

#[test]
fn an_avx2_only_cpu_gets_no_512_bit_kernel() {
    let avx2_only = Features::of(&[Feature::Sse2, Feature::Ssse3, Feature::Avx2, Feature::Fma]);
    if !Features::detect().has_all(&[Feature::Avx2, Feature::Fma]) {
        return;
    }
    let widest = |op, element| table::widest(op, element, &avx2_only).map(|bound| bound.kernel().name);
    assert_eq!(widest(CpuOp::Fma, Element::Fp64), Some("fma/fp64/avx2"));
    assert_eq!(widest(CpuOp::Dot, Element::Int8), Some("dot/int8/avx2"));
    assert!(table::find(CpuOp::Fma, Element::Fp64, Isa::Avx512, &avx2_only).is_none());
    let scalar = table::find(CpuOp::Fma, Element::Fp64, Isa::Scalar, &avx2_only).map(|bound| bound.kernel().method);
    assert_eq!(scalar, Some("cpu-fma/1"));
}

#[test]
fn a_claim_beyond_this_machine_binds_nothing_beyond_it() {
    let here = Features::detect();
    for kernel in table::KERNELS {
        let bound = kernel.bind(&Features::of(Feature::ALL));
        assert_eq!(bound.is_some(), here.has_all(kernel.requires), "{}", kernel.name);
    }
}
