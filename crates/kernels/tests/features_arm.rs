//! Detection of the features of 64-bit Arm: of recorded machines, and of this one against the standard library's.

use kernels::features::{ArmFacts, Feature, Features};

/// FP, ASIMD, EVTSTRM, AES, PMULL, SHA1, SHA2, CRC32.
const CORTEX_A72: u64 = 0xff;
/// The same with ATOMICS, FPHP, ASIMDHP, CPUID, ASIMDRDM, LRCPC, DCPOP, ASIMDDP and SSBS.
const NEOVERSE_N1: u64 = 0x1011_9fff;
/// Further with SVE, and of HWCAP2 SVEI8MM, SVEBF16, I8MM and BF16.
const NEOVERSE_V1: (u64, u64) = (NEOVERSE_N1 | 1 << 22, 1 << 9 | 1 << 12 | 1 << 13 | 1 << 14);

fn features((hwcap, hwcap2): (u64, u64), vector_bytes: u64) -> Vec<Feature> {
    let features = Features::from_arm(&ArmFacts { hwcap, hwcap2, vector_bytes, streaming_bytes: 0 });
    Feature::ALL.iter().copied().filter(|feature| features.has(*feature)).collect()
}

#[test]
fn recorded_machines_have_their_features() {
    use Feature::{Asimd, AsimdDp, AsimdHp, Atomics, Bf16, I8mm, Sve, Sve128, Sve256, Sve512, SveBf16, SveI8mm};
    assert_eq!(features((0, 0), 0), []);
    assert_eq!(features((CORTEX_A72, 0), 0), [Asimd]);
    let n1 = [Asimd, Atomics, AsimdHp, AsimdDp];
    assert_eq!(features((NEOVERSE_N1, 0), 0), n1);
    for (bytes, length) in [(16, Some(Sve128)), (32, Some(Sve256)), (64, Some(Sve512)), (48, None), (256, None)] {
        let mut expected = [&n1[..], &[Sve]].concat();
        expected.extend(length);
        expected.extend([SveI8mm, SveBf16, I8mm, Bf16]);
        assert_eq!(features(NEOVERSE_V1, bytes), expected, "{bytes} bytes");
    }
}

#[cfg(all(target_arch = "aarch64", target_os = "linux"))]
mod here {
    use std::arch::is_aarch64_feature_detected;

    use kernels::table;
    use model::isa::{CpuOp, Element};

    use super::*;

    #[test]
    fn this_machine_has_what_the_standard_library_finds() {
        for (feature, present) in [
            (Feature::Asimd, is_aarch64_feature_detected!("neon")),
            (Feature::AsimdHp, is_aarch64_feature_detected!("fp16")),
            (Feature::AsimdDp, is_aarch64_feature_detected!("dotprod")),
            (Feature::Sve, is_aarch64_feature_detected!("sve")),
            (Feature::I8mm, is_aarch64_feature_detected!("i8mm")),
            (Feature::Bf16, is_aarch64_feature_detected!("bf16")),
        ] {
            assert_eq!(Features::detect().has(feature), present, "{feature:?}");
        }
    }

    #[test]
    fn a_claim_beyond_this_machine_binds_nothing() {
        for kernel in table::KERNELS {
            let bound = kernel.bind(&Features::having(Feature::ALL));
            assert_eq!(bound.is_some(), Features::detect().has_all(kernel.requires), "{}", kernel.name);
        }
    }

    #[test]
    fn a_cpu_without_scalable_vectors_gets_neon() {
        let n1 = Features::from_arm(&ArmFacts { hwcap: NEOVERSE_N1, ..ArmFacts::default() });
        let widest = |op, element| table::widest(op, element, &n1).map(|bound| bound.kernel().name);
        assert_eq!(widest(CpuOp::Fma, Element::Fp64), Some("fma/fp64/neon"));
        // This machine may lack what that one has.
        let dot = if Features::detect().has(Feature::AsimdDp) { "dot/int8/neon_dotprod" } else { "dot/int8/neon" };
        assert_eq!(widest(CpuOp::Dot, Element::Int8), Some(dot));
        assert_eq!(widest(CpuOp::Matrix, Element::Bf16), None);
        let none = table::widest(CpuOp::Dot, Element::Int8, &Features::NONE).map(|bound| bound.kernel().name);
        assert_eq!(none, Some("dot/int8/scalar"));
    }
}
