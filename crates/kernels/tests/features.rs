//! Detection of features: of this machine against the standard library's, of other machines from their registers.
#![cfg(target_arch = "x86_64")]

use kernels::features::{CpuFacts, Feature, Features, Missing, Withholder};
use kernels::table;
use model::isa::{CpuOp, Element, Isa};

/// Leaf 1: SSE2; and SSSE3, FMA, SSE4.1, OSXSAVE and AVX.
const LEAF1_EDX: u32 = 1 << 26;
const LEAF1_ECX: u32 = 1 << 9 | 1 << 12 | 1 << 19 | 1 << 27 | 1 << 28;
/// Leaf 7: AVX2, AVX512F, AVX512DQ, AVX512BW, AVX512VL; and `AVX512_VNNI`; and `AMX_BF16`, `AVX512_FP16`, `AMX_TILE`,
/// `AMX_INT8`.
const LEAF7_EBX: u32 = 1 << 5 | 1 << 16 | 1 << 17 | 1 << 30 | 1 << 31;
const LEAF7_ECX: u32 = 1 << 11;
const LEAF7_EDX: u32 = 1 << 22 | 1 << 23 | 1 << 24 | 1 << 25;
/// Its subleaf 1: AVX-VNNI, `AVX512_BF16`, `AMX_FP16`; and AVX-VNNI-INT8.
const LEAF7_1_EAX: u32 = 1 << 4 | 1 << 5 | 1 << 21;
const LEAF7_1_EDX: u32 = 1 << 4;
/// Leaf 1, EAX, of a part: family 6, model 207, stepping 2.
const EMERALD_RAPIDS: u32 = 0xc_06f2;
const XCR0_ALL: u64 = 0x6_00e7;

const EVERYTHING: CpuFacts = CpuFacts {
    vendor: *b"GenuineIntel",
    leaf1_eax: EMERALD_RAPIDS,
    leaf1a_eax: 0,
    leaf1_ecx: LEAF1_ECX,
    leaf1_edx: LEAF1_EDX,
    leaf7_ebx: LEAF7_EBX,
    leaf7_ecx: LEAF7_ECX,
    leaf7_edx: LEAF7_EDX,
    leaf7_1_eax: LEAF7_1_EAX,
    leaf7_1_edx: LEAF7_1_EDX,
    xcr0: XCR0_ALL,
};

#[test]
fn this_machine_has_what_the_standard_library_finds() {
    // It does not detect AMX.
    let expected = [
        (Feature::Sse2, is_x86_feature_detected!("sse2")),
        (Feature::Ssse3, is_x86_feature_detected!("ssse3")),
        (Feature::Sse41, is_x86_feature_detected!("sse4.1")),
        (Feature::Avx2, is_x86_feature_detected!("avx2")),
        (Feature::Fma, is_x86_feature_detected!("fma")),
        (Feature::Avx512F, is_x86_feature_detected!("avx512f")),
        (Feature::Avx512Bw, is_x86_feature_detected!("avx512bw")),
        (Feature::Avx512Dq, is_x86_feature_detected!("avx512dq")),
        (Feature::Avx512Vl, is_x86_feature_detected!("avx512vl")),
        (Feature::Avx512Vnni, is_x86_feature_detected!("avx512vnni")),
        (Feature::Avx512Bf16, is_x86_feature_detected!("avx512bf16")),
        (Feature::Avx512Fp16, is_x86_feature_detected!("avx512fp16")),
        (Feature::AvxVnni, is_x86_feature_detected!("avxvnni")),
        (Feature::AvxVnniInt8, is_x86_feature_detected!("avxvnniint8")),
    ];
    assert_eq!(expected.len() + 4, Feature::X86.len());
    for (feature, present) in expected {
        assert_eq!(Features::detect().has(feature), present, "{feature:?}");
    }
}

#[test]
fn a_feature_counts_only_where_the_operating_system_enables_its_registers() {
    const SSE: [Feature; 3] = [Feature::Sse2, Feature::Ssse3, Feature::Sse41];
    const AVX: [Feature; 4] = [Feature::Avx2, Feature::Fma, Feature::AvxVnni, Feature::AvxVnniInt8];
    const AMX: [Feature; 4] = [Feature::AmxTile, Feature::AmxInt8, Feature::AmxBf16, Feature::AmxFp16];
    let with = |xcr0| Features::from_facts(&CpuFacts { xcr0, ..EVERYTHING });
    let usable =
        |xcr0| -> Vec<Feature> { Feature::X86.iter().copied().filter(|feature| with(xcr0).has(*feature)).collect() };
    let without = |others: &[Feature]| -> Vec<Feature> {
        Feature::X86.iter().copied().filter(|feature| !others.contains(feature)).collect()
    };
    assert_eq!(usable(XCR0_ALL), Feature::X86);
    assert_eq!(usable(0xe7), without(&AMX));
    assert_eq!(usable(0b111), [&SSE[..], &AVX].concat());
    assert_eq!(usable(0b11), SSE);
    assert_eq!(usable(0), SSE);
    assert_eq!(Features::from_facts(&CpuFacts::default()), Features::NONE);
}

#[test]
fn a_missing_feature_is_reported_with_who_withholds_it() {
    let required = [Feature::Sse2, Feature::AmxTile, Feature::AmxInt8];
    let missing = |facts| Features::from_facts(&facts).missing(&required).collect::<Vec<_>>();
    assert_eq!(missing(EVERYTHING), []);
    let by = |feature, by| Missing { feature, by };
    assert_eq!(
        missing(CpuFacts { xcr0: 0xe7, ..EVERYTHING }),
        [by(Feature::AmxTile, Withholder::OperatingSystem), by(Feature::AmxInt8, Withholder::OperatingSystem)]
    );
    assert_eq!(
        missing(CpuFacts { leaf7_edx: 1 << 24, xcr0: 0xe7, ..EVERYTHING }),
        [by(Feature::AmxTile, Withholder::OperatingSystem), by(Feature::AmxInt8, Withholder::Cpu)]
    );
    assert_eq!(missing(CpuFacts { leaf7_edx: 1 << 24, ..EVERYTHING }), [by(Feature::AmxInt8, Withholder::Cpu)]);
    assert_eq!(Feature::AmxInt8.name(), "amx_int8");
}

#[test]
fn extensions_of_512_bit_vectors_need_avx512f() {
    let features = Features::from_facts(&CpuFacts { leaf7_ebx: LEAF7_EBX & !(1 << 16), ..EVERYTHING });
    assert!(!features.has(Feature::Avx512Vl) && !features.has(Feature::Avx512Fp16) && features.has(Feature::Avx2));
}

#[test]
fn a_cpu_gets_the_widest_kernels_of_its_features() {
    let sse_only = [Feature::Sse2];
    let up_to_avx2 = [Feature::Sse2, Feature::Ssse3, Feature::Avx2, Feature::Fma];
    for (features, width, dot, scalar) in [
        (&sse_only[..], "sse2", "dot/int8/scalar", "cpu-mul-add/1"),
        (&up_to_avx2[..], "avx2", "dot/int8/avx2", "cpu-fma/1"),
    ] {
        if !Features::detect().has_all(features) {
            continue;
        }
        let claim = Features::having(features);
        let widest = |op, element| table::widest(op, element, &claim).map(|bound| bound.kernel().name);
        for element in [Element::Fp64, Element::Fp32] {
            assert_eq!(widest(CpuOp::Fma, element), Some(&*format!("fma/{element}/{width}")));
        }
        assert_eq!(widest(CpuOp::Dot, Element::Int8), Some(dot));
        assert!(table::find(CpuOp::Fma, Element::Fp64, Isa::Avx512, &claim).is_none());
        let found = table::find(CpuOp::Fma, Element::Fp64, Isa::Scalar, &claim).map(|bound| bound.kernel().method);
        assert_eq!(found, Some(scalar));
    }
}

#[test]
fn a_claim_beyond_this_machine_binds_nothing() {
    let here = Features::detect();
    for kernel in table::KERNELS {
        let bound = kernel.bind(&Features::having(Feature::ALL));
        assert_eq!(bound.is_some(), here.has_all(kernel.requires), "{}", kernel.name);
    }
}

#[test]
fn a_core_binds_at_renaming_only_by_the_claim_and_this_cpu() {
    let here = Features::detect();
    for kernel in table::KERNELS {
        let claims = [false, true].map(|claim| kernel.bind(&here.on_binding_core(claim)));
        let spaced = claims.map(|bound| bound.map(|bound| bound.is_spaced()));
        let expected = kernel.spaced_code().is_some() && here.binds_at_renaming();
        let runs = here.has_all(kernel.requires);
        assert_eq!(spaced, [runs.then_some(false), runs.then_some(expected)], "{}", kernel.name);
    }
}
