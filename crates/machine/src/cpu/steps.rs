//! The kernels with a peak, and the step that each repeats: one instruction, or the shortest known sequence.

use model::isa::{CpuOp, Element, Isa};

/// A CPU kernel: operation, operand type and instruction set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the line above names them")]
pub struct CpuKernel {
    pub op: CpuOp,
    pub element: Element,
    pub isa: Isa,
}

/// A count in the table of microarchitectures that gives a step's rate.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Listed {
    FmaScalar,
    Fma256,
    Pairs,
    /// 512-bit units, one step per cycle each.
    Wide,
    Bf16,
    Vnni256,
    Maddubs,
    Maddubs512,
    Imul,
    Amx(usize),
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    pub(crate) kernel: CpuKernel,
    /// Features that the step needs beyond its instruction set, in the kernel's spelling.
    needs: &'static [&'static str],
    pub(crate) instructions: &'static [&'static str],
    /// A multiplication and an addition are one each.
    pub(crate) operations: f64,
    pub(crate) listed: Option<Listed>,
}

impl Step {
    /// Width of an instruction's operands; 64 for single elements.
    pub(crate) const fn bits(&self) -> u32 {
        match self.kernel.isa {
            Isa::Sse2 | Isa::Ssse3 | Isa::Sse41 => 128,
            Isa::Neon | Isa::NeonFp16 | Isa::NeonDotprod | Isa::NeonI8mm | Isa::NeonBf16 => 128,
            Isa::Avx2 | Isa::Avx512Vl | Isa::AvxVnni | Isa::AvxVnniInt8 => 256,
            Isa::Avx512 | Isa::Avx512Vnni | Isa::Avx512Bf16 | Isa::Avx512Fp16 => 512,
            Isa::Scalar | Isa::Amx | Isa::Sve | Isa::Sme => 64,
        }
    }

    /// `512-bit VFMADD231PD`, `256-bit (2 VPMULLW + VPADDB)`.
    pub(crate) fn name(&self) -> String {
        let mut counted: Vec<(&str, u32)> = Vec::new();
        for mnemonic in self.instructions {
            match counted.iter_mut().find(|(known, _)| known == mnemonic) {
                Some((_, count)) => *count += 1,
                None => counted.push((mnemonic, 1)),
            }
        }
        let shown = |(mnemonic, count): &(&str, u32)| match count {
            1 => mnemonic.to_uppercase(),
            _ => format!("{count} {}", mnemonic.to_uppercase()),
        };
        let words: Vec<String> = counted.iter().map(shown).collect();
        let words = if words.len() > 1 { format!("({})", words.join(" + ")) } else { words.concat() };
        if self.bits() > 64 { format!("{}-bit {words}", self.bits()) } else { words }
    }

    fn usable(&self, isa: &[Isa], features: &[String]) -> bool {
        isa.contains(&self.kernel.isa) && self.lacks(features).next().is_none()
    }

    fn lacks(&self, features: &[String]) -> impl Iterator<Item = &'static str> {
        self.needs.iter().copied().filter(|need| !features.iter().any(|feature| feature == need))
    }
}

const fn step(
    kernel: (CpuOp, Element, Isa),
    instructions: &'static [&'static str],
    operations: f64,
    listed: Option<Listed>,
) -> Step {
    let (op, element, isa) = kernel;
    Step { kernel: CpuKernel { op, element, isa }, needs: &[], instructions, operations, listed }
}

const fn needing(needs: &'static [&'static str], step: Step) -> Step {
    Step { needs, ..step }
}

use CpuOp::{Add, AllPipes, Dot, Fma, Matrix, MulAdd, Plain};
use Element::{Bf16, Fp16, Fp32, Fp64, Int8, Int16, Int32, Int64};
use Isa::{
    Amx, Avx2, Avx512, Avx512Bf16, Avx512Fp16, Avx512Vl, Avx512Vnni, AvxVnni, AvxVnniInt8, Scalar, Sse2, Sse41, Ssse3,
};

const FMA3: &[&str] = &["fma"];
const BYTES_AND_WORDS: &[&str] = &["avx512bw"];
const QUADWORDS: &[&str] = &["avx512dq"];

/// Of several rows for one kernel, the first with all features present applies.
const STEPS: &[Step] = &[
    needing(FMA3, step((Fma, Fp64, Scalar), &["vfmadd231sd"], 2.0, Some(Listed::FmaScalar))),
    step((Fma, Fp64, Scalar), &["movapd", "mulsd", "addsd"], 2.0, Some(Listed::Pairs)),
    step((Fma, Fp64, Sse2), &["movapd", "mulpd", "addpd"], 4.0, Some(Listed::Pairs)),
    step((Fma, Fp64, Avx2), &["vfmadd231pd"], 8.0, Some(Listed::Fma256)),
    step((Fma, Fp64, Avx512Vl), &["vfmadd231pd"], 8.0, Some(Listed::Fma256)),
    step((Fma, Fp64, Avx512), &["vfmadd231pd"], 16.0, Some(Listed::Wide)),
    needing(FMA3, step((Fma, Fp32, Scalar), &["vfmadd231ss"], 2.0, Some(Listed::FmaScalar))),
    step((Fma, Fp32, Scalar), &["movaps", "mulss", "addss"], 2.0, Some(Listed::Pairs)),
    step((Fma, Fp32, Sse2), &["movaps", "mulps", "addps"], 8.0, Some(Listed::Pairs)),
    step((Fma, Fp32, Avx2), &["vfmadd231ps"], 16.0, Some(Listed::Fma256)),
    step((Fma, Fp32, Avx512Vl), &["vfmadd231ps"], 16.0, Some(Listed::Fma256)),
    step((Fma, Fp32, Avx512), &["vfmadd231ps"], 32.0, Some(Listed::Wide)),
    step((Fma, Fp16, Avx512Fp16), &["vfmadd231ph"], 64.0, Some(Listed::Wide)),
    step((Dot, Int8, Scalar), &["movsx", "imul", "add"], 2.0, Some(Listed::Imul)),
    step((Dot, Int8, Ssse3), &["movdqa", "pmaddubsw", "pmaddwd", "paddd"], 32.0, Some(Listed::Maddubs)),
    step((Dot, Int8, Avx2), &["vpmaddubsw", "vpmaddwd", "vpaddd"], 64.0, Some(Listed::Maddubs)),
    needing(
        BYTES_AND_WORDS,
        step((Dot, Int8, Avx512), &["vpmaddubsw", "vpmaddwd", "vpaddd"], 128.0, Some(Listed::Maddubs512)),
    ),
    step((Dot, Int8, AvxVnni), &["vpdpbusd"], 64.0, Some(Listed::Vnni256)),
    step((Dot, Int8, AvxVnniInt8), &["vpdpbssd"], 64.0, None),
    step((Dot, Int8, Avx512Vnni), &["vpdpbusd"], 128.0, Some(Listed::Wide)),
    step((Dot, Int16, Scalar), &["movsx", "imul", "add"], 2.0, Some(Listed::Imul)),
    step((Dot, Int16, Sse2), &["movdqa", "pmaddwd", "paddd"], 16.0, None),
    step((Dot, Int16, Avx2), &["vpmaddwd", "vpaddd"], 32.0, None),
    needing(BYTES_AND_WORDS, step((Dot, Int16, Avx512), &["vpmaddwd", "vpaddd"], 64.0, None)),
    step((Dot, Int16, AvxVnni), &["vpdpwssd"], 32.0, Some(Listed::Vnni256)),
    step((Dot, Int16, Avx512Vnni), &["vpdpwssd"], 64.0, Some(Listed::Wide)),
    step((Dot, Bf16, Avx512Bf16), &["vdpbf16ps"], 64.0, Some(Listed::Bf16)),
    needing(&["amx_int8"], step((Matrix, Int8, Amx), &["tdpbusd"], 32768.0, Some(Listed::Amx(0)))),
    needing(&["amx_bf16"], step((Matrix, Bf16, Amx), &["tdpbf16ps"], 16384.0, Some(Listed::Amx(1)))),
    needing(&["amx_fp16"], step((Matrix, Fp16, Amx), &["tdpfp16ps"], 16384.0, Some(Listed::Amx(2)))),
    step((MulAdd, Int8, Sse2), BYTES_128, 32.0, None),
    step((MulAdd, Int8, Avx2), BYTES_256, 64.0, None),
    needing(BYTES_AND_WORDS, step((MulAdd, Int8, Avx512), BYTES_512, 128.0, None)),
    step((MulAdd, Int16, Sse2), &["movdqa", "pmullw", "paddw"], 16.0, None),
    step((MulAdd, Int16, Avx2), &["vpmullw", "vpaddw"], 32.0, None),
    needing(BYTES_AND_WORDS, step((MulAdd, Int16, Avx512), &["vpmullw", "vpaddw"], 64.0, None)),
    step((MulAdd, Int32, Sse41), &["movdqa", "pmulld", "paddd"], 8.0, None),
    step((MulAdd, Int32, Avx2), &["vpmulld", "vpaddd"], 16.0, None),
    step((MulAdd, Int32, Avx512), &["vpmulld", "vpaddd"], 32.0, None),
    step((MulAdd, Int64, Sse2), QUADWORDS_128, 4.0, None),
    step((MulAdd, Int64, Avx2), QUADWORDS_256, 8.0, None),
    needing(QUADWORDS, step((MulAdd, Int64, Avx512), &["vpmullq", "vpaddq"], 16.0, None)),
    step((Add, Fp64, Scalar), &["addsd"], 1.0, None),
    step((Add, Fp64, Sse2), &["addpd"], 2.0, None),
    step((Add, Fp64, Avx2), &["vaddpd"], 4.0, None),
    step((Add, Fp64, Avx512), &["vaddpd"], 8.0, None),
    step((Add, Fp32, Scalar), &["addss"], 1.0, None),
    step((Add, Fp32, Sse2), &["addps"], 4.0, None),
    step((Add, Fp32, Avx2), &["vaddps"], 8.0, None),
    step((Add, Fp32, Avx512), &["vaddps"], 16.0, None),
    step((AllPipes, Fp64, Avx2), &["vfmadd231pd", "vaddpd"], 12.0, None),
    step((AllPipes, Fp64, Avx512), &["vfmadd231pd", "vaddpd"], 24.0, None),
    step((AllPipes, Fp32, Avx2), &["vfmadd231ps", "vaddps"], 24.0, None),
    step((AllPipes, Fp32, Avx512), &["vfmadd231ps", "vaddps"], 48.0, None),
    step((Plain, Int8, Scalar), &["imul", "add", "sub"], 3.0, None),
    step((Plain, Int16, Scalar), &["imul", "add", "sub"], 3.0, None),
    step((Plain, Int32, Scalar), &["imul", "add", "sub"], 3.0, None),
    step((Plain, Int64, Scalar), &["imul", "add", "sub"], 3.0, None),
    step((Plain, Fp32, Scalar), &["mulss", "addss", "subss"], 3.0, None),
    step((Plain, Fp64, Scalar), &["mulsd", "addsd", "subsd"], 3.0, None),
];

/// There is no byte multiplication: even and odd bytes are multiplied as words, merged by a mask, and added.
const BYTES_128: &[&str] = &["movdqa", "psrlw", "movdqa", "pand", "pmullw", "movdqa", "pmullw", "pand", "por", "paddb"];
const BYTES_256: &[&str] = &["vpsrlw", "vpand", "vpmullw", "vpmullw", "vpand", "vpor", "vpaddb"];
const BYTES_512: &[&str] = &["vpsrlw", "vpandd", "vpmullw", "vpmullw", "vpternlogd", "vpaddb"];

/// The low 64 bits of a product: the product of the low halves plus the cross products.
const QUADWORDS_128: &[&str] = &[
    "movdqa", "psrlq", "pmuludq", "movdqa", "psrlq", "pmuludq", "paddq", "psllq", "movdqa", "pmuludq", "paddq", "paddq",
];
const QUADWORDS_256: &[&str] =
    &["vpsrlq", "vpmuludq", "vpsrlq", "vpmuludq", "vpaddq", "vpsllq", "vpmuludq", "vpaddq", "vpaddq"];

impl CpuKernel {
    /// The benchmark id without threads: `cpu/fma/fp64/avx512`.
    pub fn what(self) -> String {
        format!("cpu/{}/{}/{}", self.op, self.element, self.isa)
    }

    /// `flop/cycle` for floating-point operands, `op/cycle` for integers.
    pub fn unit(self) -> &'static str {
        match self.element {
            Fp64 | Fp32 | Fp16 | Bf16 => "flop/cycle",
            Int8 | Int16 | Int32 | Int64 => "op/cycle",
        }
    }

    pub(crate) fn step(self) -> Option<&'static Step> {
        STEPS.iter().find(|step| step.kernel == self)
    }

    pub(crate) fn lacks(self, features: &[String]) -> Vec<&'static str> {
        let variants: Vec<_> = STEPS.iter().filter(|step| step.kernel == self).collect();
        if variants.iter().any(|step| step.lacks(features).next().is_none()) {
            return Vec::new();
        }
        variants.first().map(|step| step.lacks(features).collect()).unwrap_or_default()
    }
}

pub(crate) fn usable(isa: &[Isa], features: &[String]) -> Vec<&'static Step> {
    let mut steps: Vec<&Step> = Vec::new();
    for step in STEPS.iter().filter(|step| step.usable(isa, features)) {
        if !steps.iter().any(|known| known.kernel == step.kernel) {
            steps.push(step);
        }
    }
    steps
}

/// The kernels with a peak for these instruction sets and features.
pub fn kernels(isa: &[Isa], features: &[String]) -> impl Iterator<Item = CpuKernel> {
    usable(isa, features).into_iter().map(|step| step.kernel)
}

/// The mnemonics of one step of each kernel: one that executes others must not be compared with its peak.
pub fn steps() -> impl Iterator<Item = (CpuKernel, &'static [&'static str])> {
    STEPS.iter().map(|step| (step.kernel, step.instructions))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::ports::Class;

    #[test]
    fn every_instruction_has_a_class_or_its_step_a_count() {
        for step in STEPS {
            let classed = step.instructions.iter().all(|mnemonic| Class::from_mnemonic(mnemonic).is_some());
            assert!(classed || step.listed.is_some(), "{}: {:?}", step.kernel.what(), step.instructions);
        }
    }

    #[test]
    fn a_kernel_needs_features_beyond_its_set() {
        let features = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let has = |names: &[&str], kernel| kernels(&[Scalar, Avx512, Amx], &features(names)).any(|one| one == kernel);
        let tiles = |element| CpuKernel { op: Matrix, element, isa: Amx };
        assert!(has(&["amx_int8", "amx_bf16"], tiles(Bf16)));
        assert!(!has(&["amx_int8", "amx_bf16"], tiles(Fp16)));
        assert_eq!(tiles(Fp16).lacks(&features(&["amx_int8"])), ["amx_fp16"]);
        let words = CpuKernel { op: MulAdd, element: Int16, isa: Avx512 };
        assert!(!has(&[], words) && has(&["avx512bw"], words));
        assert!(has(&[], CpuKernel { op: MulAdd, element: Int32, isa: Avx512 }));
    }

    #[test]
    fn without_fma3_scalar_fma_is_two_instructions() {
        let scalar = CpuKernel { op: Fma, element: Fp64, isa: Scalar };
        let of =
            |features: &[String]| usable(&[Scalar], features).iter().find(|step| step.kernel == scalar).unwrap().name();
        assert_eq!(of(&["fma".to_owned()]), "VFMADD231SD");
        assert_eq!(of(&[]), "(MOVAPD + MULSD + ADDSD)");
        assert!(scalar.lacks(&[]).is_empty());
    }

    #[test]
    fn a_step_is_named_with_its_width_and_counts() {
        let bytes = CpuKernel { op: MulAdd, element: Int8, isa: Avx2 }.step().unwrap();
        assert_eq!(bytes.name(), "256-bit (VPSRLW + 2 VPAND + 2 VPMULLW + VPOR + VPADDB)");
    }
}
