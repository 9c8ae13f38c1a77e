//! The LINPACK benchmarks that a suite or the user chooses, and the suite of `assay linpack`.

use clap::Args;
use model::isa::Element;
use model::linpack::{LinpackEngine, LinpackOp};
use model::plan::Sampling;
use model::unit::parse_size;
use serde::{Deserialize, Deserializer, de::Error as _};

use super::solver::computes;
use crate::fields::{IsaChoice, Threads, from_text, kept, or, seconds, some_sampling, some_seconds, usual, widest};

/// The largest order: a matrix of 8 TB.
pub(crate) const MOST_N: u64 = 1 << 20;

/// LINPACK benchmarks, as options of `assay linpack` or a `[[linpack]]` block of a suite: every combination of the lists.
/// An empty list leaves the choice to the plan, and ids then do not show it.
#[derive(Clone, Debug, Default, Args, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinpackChoice {
    /// Operations.
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    #[arg(help = "Operations: lu (solution in fp64), lu_mixed (factors in fp32 or bf16), gemm [default: all]")]
    pub op: Vec<LinpackOp>,
    /// Solvers: own, faer, system (installed BLAS and LAPACK) [default: own].
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    #[serde(default = "usual")]
    pub engine: Vec<LinpackEngine>,
    /// Orders of the systems, or auto [default: auto].
    ///
    /// auto is the largest multiple of 1000 that fits into half of the memory and takes all cores some seconds.
    /// Slow machines have a multiple of 100.
    #[arg(long, value_name = "N", value_delimiter = ',')]
    #[serde(default = "auto")]
    pub n: Vec<Order>,
    /// Intel's series of orders instead, each with its leading dimension, alignment and trials.
    #[arg(skip)]
    #[serde(default)]
    pub series: bool,
    /// Panel widths in columns [default: by cache size].
    #[arg(long, hide_short_help = true, value_name = "N", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=4096))]
    #[serde(default)]
    pub nb: Vec<u32>,
    /// Leading dimensions: elements, n (the order) or padded [default: padded].
    ///
    /// padded separates columns by an odd number of cache lines.
    #[arg(long, hide_short_help = true, value_name = "N", value_delimiter = ',')]
    #[serde(default)]
    pub lda: Vec<Leading>,
    /// Alignments of the matrices: powers of two from 8B to 2MiB [default: 2MiB].
    #[arg(long, hide_short_help = true, value_name = "SIZE", value_delimiter = ',', value_parser = parse_alignment)]
    #[serde(default, deserialize_with = "alignments")]
    pub align: Vec<u64>,
    /// Element types: fp64, fp32, bf16 [default: those of the operation].
    ///
    /// Products use fp64 or fp32; factors of lower precision use fp32 or bf16.
    #[arg(long = "type", value_name = "LIST", value_delimiter = ',')]
    #[serde(default, rename = "type")]
    pub elements: Vec<Element>,
    /// Instruction sets: vector (widest), all, scalar, avx2, avx512 [default: vector].
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    #[serde(default = "widest")]
    pub isa: Vec<IsaChoice>,
    /// Thread counts.
    #[arg(skip)]
    pub threads: Vec<Threads>,
    /// The most seconds of a sample whose order the plan chooses.
    #[arg(skip)]
    #[serde(default = "aim", rename = "sample", deserialize_with = "seconds")]
    pub aim_seconds: f64,
    /// The most expected seconds of a sample; longer ones need exact workloads.
    #[arg(skip)]
    #[serde(default, deserialize_with = "some_seconds")]
    pub longest: Option<f64>,
    /// Their own sampling.
    #[arg(skip)]
    #[serde(default, deserialize_with = "some_sampling")]
    pub sampling: Option<Sampling>,
    /// Whether they are in the classic tables.
    #[arg(skip)]
    #[serde(default)]
    pub classic: bool,
    /// Their role, unless their operation is chosen.
    #[arg(skip)]
    #[serde(default)]
    pub role: Role,
}

/// The role of a block among the others of its suite.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The subject of the suite.
    #[default]
    Subject,
    /// Compared with it: left out without an error if a chosen order does not fit.
    #[serde(alias = "beside")]
    Compared,
    /// Its limit: a chosen order does not apply to it.
    Ceiling,
    /// Left out unless its element type is chosen.
    OnRequest,
}

/// The order of a system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// As large as memory and the block's time allow.
    Auto,
    /// This many equations.
    Count(u64),
}

/// The leading dimension of a matrix: elements from one column to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leading {
    /// The order.
    Order,
    /// Padded so that columns do not conflict in the caches.
    Padded,
    /// This many.
    Count(u64),
}

impl std::str::FromStr for Order {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match (text, text.parse::<u64>()) {
            ("auto", _) => Ok(Self::Auto),
            (_, Ok(n)) if (1..=MOST_N).contains(&n) => Ok(Self::Count(n)),
            _ => {
                Err(format!("'{text}' is not a valid order; write 1 to {MOST_N}, or auto (what memory and time allow)"))
            }
        }
    }
}

impl std::str::FromStr for Leading {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match (text, text.parse::<u64>()) {
            ("n", _) => Ok(Self::Order),
            ("padded", _) => Ok(Self::Padded),
            (_, Ok(lda)) if (1..=2 * MOST_N).contains(&lda) => Ok(Self::Count(lda)),
            _ => Err(format!(
                "'{text}' is not a valid leading dimension; write a number of elements, n (as many as the order) or padded"
            )),
        }
    }
}

from_text!(Order, Leading);

/// The largest alignment: that of mapped memory.
const MOST_ALIGN: u64 = 2 << 20;

fn parse_alignment(text: &str) -> Result<u64, String> {
    let bytes = parse_size(text)?;
    let is_valid = bytes.is_power_of_two() && (8..=MOST_ALIGN).contains(&bytes);
    let problem = || format!("'{text}' is not a valid alignment; write a power of two from 8B to 2MiB");
    is_valid.then_some(bytes).ok_or_else(problem)
}

fn alignments<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u64>, D::Error> {
    let texts = Vec::<String>::deserialize(deserializer)?;
    texts.iter().map(|text| parse_alignment(text).map_err(D::Error::custom)).collect()
}

fn auto() -> Vec<Order> {
    vec![Order::Auto]
}

const fn aim() -> f64 {
    4.0
}

impl LinpackChoice {
    /// A block narrowed to these options; `None` if nothing is left.
    pub(super) fn narrowed(&self, block: &Self) -> Option<Self> {
        let op = kept(&self.op, &block.op);
        let is_requested = block.elements.iter().any(|element| self.elements.contains(element));
        if op.is_empty() || (block.role == Role::OnRequest && !is_requested) {
            return None;
        }
        let isa = or(&self.isa, &block.isa);
        let mut engine = or(&self.engine, &block.engine);
        if self.op.is_empty() {
            // An operation that was not chosen applies to the solvers that have it.
            engine.retain(|engine| op.iter().all(|op| computes(*engine, *op)));
        }
        if engine.is_empty() {
            return None;
        }
        if block.role == Role::Ceiling && self.op.is_empty() {
            let shown = self.elements.is_empty() && self.nb.is_empty() && self.lda.is_empty() && self.align.is_empty();
            return shown.then(|| Self { op, engine, isa, ..block.clone() });
        }
        let chosen = Self {
            op,
            engine,
            n: or(&self.n, &block.n),
            nb: or(&self.nb, &block.nb),
            lda: or(&self.lda, &block.lda),
            align: or(&self.align, &block.align),
            elements: or(&self.elements, &block.elements),
            isa,
            role: if self.op.is_empty() && !is_requested { block.role } else { Role::Subject },
            ..block.clone()
        };
        if block.elements.is_empty() || self.elements.is_empty() {
            return Some(chosen);
        }
        // Blocks of one operation for several types keep their own types.
        is_requested.then(|| Self { elements: kept(&self.elements, &block.elements), ..chosen })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linpack::suite;

    fn rows(choice: &LinpackChoice) -> Vec<LinpackChoice> {
        suite(choice).unwrap().linpack
    }

    #[test]
    fn what_is_chosen_is_that_of_solutions_and_leaves_their_ceilings() {
        let sizes = vec![Order::Count(2000), Order::Count(5000)];
        let sized = rows(&LinpackChoice { n: sizes.clone(), ..LinpackChoice::default() });
        let of = |op: LinpackOp| sized.iter().filter(move |stanza| stanza.op.contains(&op));
        assert!(of(LinpackOp::Lu).count() > 0 && of(LinpackOp::Lu).all(|stanza| stanza.n == sizes));
        assert!(of(LinpackOp::Gemm).count() > 0 && of(LinpackOp::Gemm).all(|stanza| stanza.n != sizes));
        let gemm = LinpackChoice { op: vec![LinpackOp::Gemm], n: sizes.clone(), ..LinpackChoice::default() };
        assert!(rows(&gemm).iter().all(|stanza| stanza.op == [LinpackOp::Gemm] && stanza.n == sizes));
        let single = LinpackChoice { elements: vec![Element::Fp32], ..gemm };
        assert!(rows(&single).iter().all(|stanza| stanza.elements == [Element::Fp32]));
        let mixed = || sized.iter().filter(|stanza| stanza.op == [LinpackOp::LuMixed]);
        assert!(mixed().count() == 1 && mixed().all(|stanza| stanza.n == sizes && stanza.elements == [Element::Fp32]));
        let aligned = rows(&LinpackChoice { align: vec![64], ..LinpackChoice::default() });
        assert!(aligned.iter().all(|stanza| stanza.align == [64] && stanza.role != Role::Ceiling));
    }

    #[test]
    fn an_operation_that_was_not_asked_for_is_of_the_solvers_that_have_it() {
        let of = |ops: &[LinpackOp], engines: &[LinpackEngine]| {
            let (op, engine) = (ops.to_vec(), engines.to_vec());
            rows(&LinpackChoice { op, engine, ..LinpackChoice::default() })
        };
        let system = of(&[], &[LinpackEngine::System]);
        assert!(!system.iter().any(|stanza| stanza.op.contains(&LinpackOp::LuMixed)) && !system.is_empty());
        let both = of(&[], &[LinpackEngine::Own, LinpackEngine::System]);
        let mixed = both.iter().find(|stanza| stanza.op.contains(&LinpackOp::LuMixed)).unwrap();
        assert_eq!(mixed.engine, [LinpackEngine::Own]);
        let asked = of(&[LinpackOp::LuMixed], &[LinpackEngine::System]);
        assert_eq!(asked[0].engine, [LinpackEngine::System], "which is refused with what it has");
        let double = LinpackChoice { elements: vec![Element::Fp64], ..LinpackChoice::default() };
        assert!(!rows(&double).iter().any(|stanza| stanza.op.contains(&LinpackOp::LuMixed)));
    }

    #[test]
    fn orders_leading_dimensions_and_alignments_have_bounds() {
        assert_eq!(("auto".parse(), "1".parse()), (Ok(Order::Auto), Ok(Order::Count(1))));
        for bad in ["0", "-5", "1.5", "1048577", "x", ""] {
            assert!(bad.parse::<Order>().unwrap_err().contains("valid order"), "{bad}");
        }
        assert_eq!(("n".parse(), "5008".parse()), (Ok(Leading::Order), Ok(Leading::Count(5008))));
        assert!(["0", "-1", "N", ""].iter().all(|bad| bad.parse::<Leading>().is_err()));
        assert_eq!((parse_alignment("64"), parse_alignment("4KiB")), (Ok(64), Ok(4096)));
        assert!(["0", "4", "48", "4MiB", "x"].iter().all(|bad| parse_alignment(bad).is_err()));
    }
}
