//! `assay linpack`: its options.

use bench::suite::{IsaChoice, Leading, Order, parse_alignment};
use clap::Args;
use model::isa::Element;
use model::linpack::{LinpackEngine, LinpackOp};

use super::measure::Measure;

pub(super) const LINPACK_EXAMPLES: &str = "\
Examples:
  assay linpack                             LINPACK and DGEMM, on 1 and all cores
  assay linpack --n 2000,5000,10000 --threads 1,2
  assay linpack --n 10000 --lda n,padded    what padding of the columns does
";

#[derive(Debug, Args)]
pub(crate) struct Linpack {
    /// What is computed: lu (a solution in fp64), `lu_mixed` (the same by factors in fp32, or in bf16 of HPL-MxP's dominant
    /// matrix), gemm (a product).
    #[arg(long, value_delimiter = ',')]
    pub(crate) op: Vec<LinpackOp>,
    /// Whose solver does it: own, faer, system (the BLAS and LAPACK that are installed).
    #[arg(long, value_delimiter = ',')]
    pub(crate) engine: Vec<LinpackEngine>,
    /// Orders of the systems; auto, the default, is the largest multiple of 1000 that half of the memory holds and that all
    /// cores are expected to solve in some seconds.
    #[arg(long, value_name = "N,…", value_delimiter = ',')]
    pub(crate) n: Vec<Order>,
    /// Columns that are factored at a time; by default what suits the caches.
    #[arg(long, value_name = "N,…", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub(crate) nb: Vec<u32>,
    /// Elements from one column to the next: a number, n (none between columns), padded (an odd number of cache lines, the
    /// default).
    #[arg(long, value_name = "N,…", value_delimiter = ',')]
    pub(crate) lda: Vec<Leading>,
    /// Alignment of the matrix: a power of two from 8B to 2MiB.
    #[arg(long, value_name = "SIZE,…", value_delimiter = ',', value_parser = parse_alignment)]
    pub(crate) align: Vec<u64>,
    /// Element types: fp64, fp32 for products and for the factors of `lu_mixed`, bf16 for these alone.
    #[arg(long = "type", value_name = "TYPE", value_delimiter = ',')]
    pub(crate) elements: Vec<Element>,
    /// Instruction sets: vector (the widest here), all, scalar, avx2, avx512.
    #[arg(long, value_delimiter = ',')]
    pub(crate) isa: Vec<IsaChoice>,

    #[command(flatten)]
    pub(crate) measure: Measure,
}
