//! What LINPACK benchmarks are asked to do: words, parameters and ids.

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::benchmark::isa::{CpuOp, Element, Isa};
use crate::unit::format_size;
use crate::words::{id, words};

words! {
    /// What a LINPACK experiment computes.
    LinpackOp, "LINPACK operation", {
        /// Solves a dense system `A x = b`: LU factors with partial pivoting, then two triangular solutions (HPL's rules).
        Lu => "lu",
        /// The same to the same accuracy with factors of lower precision, and refinement (HPL-MxP's rules).
        LuMixed => "lu_mixed",
        /// Multiplies two square matrices, `C = A B`: what an LU cannot be faster than.
        Gemm => "gemm",
    }

    /// Whose solver does it.
    LinpackEngine, "LINPACK engine", {
        /// The one inside this program.
        Own => "own",
        /// The Rust library faer.
        Faer => "faer",
        /// The system's BLAS and LAPACK, loaded at run time.
        System => "system",
    }

    /// The matrix of a system that a LINPACK experiment solves.
    LinpackMatrix, "matrix of a LINPACK system", {
        /// HPL's: all entries uniform in [-0.5, 0.5).
        Uniform => "uniform",
        /// HPL-MxP's: these off the diagonal, and on it what makes each row strictly diagonally dominant.
        DiagonallyDominant => "diagonally_dominant",
    }
}

impl LinpackOp {
    /// The element type that it has where none is named: of `lu_mixed`, that of the factors.
    pub const fn usual_element(self) -> Element {
        match self {
            Self::Lu | Self::Gemm => Element::Fp64,
            Self::LuMixed => Element::Fp32,
        }
    }

    /// Operations at order `n`: a solution counts 2/3 n^3 + 3/2 n^2 (HPL 2.3, `HPL_pdtest.c`), a product 2 n^3.
    pub fn operations(self, n: u64) -> f64 {
        let n = n as f64;
        match self {
            Self::Lu | Self::LuMixed => (2.0 / 3.0 * n + 1.5) * n * n,
            Self::Gemm => 2.0 * n * n * n,
        }
    }
}

/// Parameters of a LINPACK experiment. What does not apply is `null`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct LinpackParams {
    /// What is computed.
    pub op: LinpackOp,
    /// Whose solver does it.
    pub engine: LinpackEngine,
    /// Order of the system, or of the matrices.
    pub n: u64,
    /// Columns that are factored at a time; `null` where the solver chooses and does not say, and for products.
    pub nb: Option<u32>,
    /// Elements from one column of the matrix to the next.
    pub lda: u64,
    /// Alignment of the matrix's first element, in bytes.
    pub align: u64,
    /// Threads that compute at the same time.
    pub threads: u32,
    /// Type of the matrix's elements; of `lu_mixed`, of the factors (`bf16`: products with sums in fp32).
    #[serde(rename = "type")]
    pub element: Element,
    /// Instruction set of the solver's kernel; `null` where it chooses.
    pub isa: Option<Isa>,
}

impl LinpackParams {
    /// The matrix of the system: that of HPL-MxP where the factors are too coarse for HPL's; `None` for products.
    pub const fn matrix(&self) -> Option<LinpackMatrix> {
        match (self.op, self.element) {
            (LinpackOp::Gemm, _) => None,
            (LinpackOp::LuMixed, Element::Bf16) => Some(LinpackMatrix::DiagonallyDominant),
            (LinpackOp::Lu | LinpackOp::LuMixed, _) => Some(LinpackMatrix::Uniform),
        }
    }

    /// What bounds its rate: multiply-adds, or where they are of bf16 their sums of two products.
    pub const fn bound(&self) -> CpuOp {
        if matches!(self.element, Element::Bf16) { CpuOp::Dot } else { CpuOp::Fma }
    }
}

/// The parameters of a LINPACK benchmark that an id shows only when chosen: ids are equal on all machines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, missing_docs, reason = "each says of its parameter whether it was chosen")]
pub struct LinpackChoices {
    pub n: bool,
    pub nb: bool,
    pub lda: bool,
    pub align: bool,
    pub isa: bool,
}

/// The id of a LINPACK benchmark: `linpack/lu/n10000/t2`, `linpack/gemm/n5000/t2/fp32`. Usual values are left out.
pub fn linpack_id(params: &LinpackParams, chosen: LinpackChoices) -> String {
    id([
        Some(format!("linpack/{}", params.op)),
        (params.engine != LinpackEngine::Own).then(|| params.engine.to_string()),
        chosen.n.then(|| format!("n{}", params.n)),
        params.nb.filter(|_| chosen.nb).map(|nb| format!("nb{nb}")),
        chosen.lda.then(|| format!("lda{}", params.lda)),
        chosen.align.then(|| format!("align{}", format_size(params.align))),
        params.isa.filter(|_| chosen.isa).map(|isa| isa.to_string()),
        Some(format!("t{}", params.threads)),
        (params.element != params.op.usual_element()).then(|| params.element.to_string()),
    ])
}

/// What was seen of the solver and of the processor under its load while a LINPACK row was measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(default)]
pub struct LinpackConditions {
    /// The kernel of our own solver, or the library: `avx512 24x8`, `OpenBLAS 0.3.21 SkylakeX`.
    pub kernel: Option<String>,
    /// The matrix of the system; `null` for products, and in documents of versions that had HPL's alone.
    pub matrix: Option<LinpackMatrix>,
    /// Columns that were factored at a time.
    pub nb: Option<u32>,
    /// Elements from one column to the next.
    pub lda: Option<u64>,
    /// Bytes mapped for the matrix and all work space.
    pub mapped_bytes: Option<u64>,
    /// Bytes of the matrix, or of all of a product; of `lu_mixed` the matrix in fp64 and its factors.
    pub matrix_bytes: Option<u64>,
    /// Seconds to generate the matrix before a sample (median); not timed.
    pub fill_seconds: Option<f64>,
    /// Seconds in which a sample's result was checked, which are not timed (median).
    pub check_seconds: Option<f64>,
    /// Rate of multiply-adds in registers on these threads just before, flop/s; `null` without a common window.
    pub fma_flop_per_second: Option<f64>,
    /// The clock that the cores had under them, in Hz (median).
    pub fma_clock_hz: Option<f64>,
    /// Share of that rate lost to a lower clock during the benchmark; negative where the clock was higher.
    pub lost_to_clock: Option<f64>,
    /// Share lost to the algorithm: 1 less the efficiency against the limit at the measured clock.
    pub lost_to_algorithm: Option<f64>,
    /// Rounds of refinement from lower precision to the accuracy of fp64 (median of the process runs).
    pub refinements: Option<f64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lu() -> LinpackParams {
        LinpackParams {
            op: LinpackOp::Lu,
            engine: LinpackEngine::Own,
            n: 10_000,
            nb: Some(192),
            lda: 10_008,
            align: 4096,
            threads: 2,
            element: Element::Fp64,
            isa: Some(Isa::Avx512),
        }
    }

    #[test]
    fn an_id_shows_only_what_was_chosen() {
        let sized = LinpackChoices { n: true, ..LinpackChoices::default() };
        let all = LinpackChoices { n: true, nb: true, lda: true, align: true, isa: true };
        assert_eq!(linpack_id(&lu(), all), "linpack/lu/n10000/nb192/lda10008/align4KiB/avx512/t2");
        let other = LinpackParams { engine: LinpackEngine::System, nb: None, isa: None, ..lu() };
        assert_eq!(linpack_id(&other, all), "linpack/lu/system/n10000/lda10008/align4KiB/t2");
        let single = LinpackParams { op: LinpackOp::Gemm, element: Element::Fp32, ..lu() };
        assert_eq!(linpack_id(&single, sized), "linpack/gemm/n10000/t2/fp32");
        let mixed = LinpackParams { op: LinpackOp::LuMixed, ..single };
        assert_eq!(linpack_id(&mixed, sized), "linpack/lu_mixed/n10000/t2");
        let brain = LinpackParams { element: Element::Bf16, ..mixed };
        assert_eq!(linpack_id(&brain, sized), "linpack/lu_mixed/n10000/t2/bf16");
    }

    #[test]
    fn only_factors_in_bf16_are_of_the_matrix_of_hpl_mxp() {
        let of = |op, element| LinpackParams { op, element, ..lu() };
        let brain = of(LinpackOp::LuMixed, Element::Bf16);
        assert_eq!((brain.matrix(), brain.bound()), (Some(LinpackMatrix::DiagonallyDominant), CpuOp::Dot));
        for (op, element) in [(LinpackOp::Lu, Element::Fp64), (LinpackOp::LuMixed, Element::Fp32)] {
            assert_eq!((of(op, element).matrix(), of(op, element).bound()), (Some(LinpackMatrix::Uniform), CpuOp::Fma));
        }
        assert_eq!(of(LinpackOp::Gemm, Element::Fp64).matrix(), None);
    }

    #[test]
    fn operations_are_those_of_hpl() {
        // HPL 2.3 at N = 1000: 2/3 10^9 + 3/2 10^6.
        assert!((LinpackOp::Lu.operations(1000) - (2e9 / 3.0 + 1.5e6)).abs() < 1.0);
        assert!((LinpackOp::Gemm.operations(1000) - 2e9).abs() < 1.0);
        assert!(LinpackOp::LuMixed.operations(0).abs() < f64::EPSILON);
    }
}
