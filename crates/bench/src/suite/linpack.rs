//! The LINPACK rows of a suite: how they are written, and what `assay linpack` makes of `suites/linpack.toml`.

use model::experiment::Area;
use model::isa::Element;
use model::linpack::{LinpackEngine, LinpackOp};
use model::plan::Sampling;
use model::unit::parse_size;
use serde::{Deserialize, Deserializer, de::Error as _};

use crate::engine::{linpack_computes, linpack_refused_factors};

use super::{IsaChoice, LINPACK, Suite, Threads, from_text, or, some_sampling, some_seconds};

/// The largest order that can be asked for: a matrix of 8 TB, and far from what its indices can hold.
pub(crate) const MOST_N: u64 = 1 << 20;

/// A block of LINPACK experiments: every combination of its lists. An empty list leaves the choice to us, and ids then do
/// not show it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinpackStanza {
    /// What is computed.
    pub op: Vec<LinpackOp>,
    /// Whose solver does it.
    #[serde(default = "own")]
    pub engine: Vec<LinpackEngine>,
    /// Orders of the systems, or of the matrices.
    #[serde(default = "auto")]
    pub n: Vec<Order>,
    /// Intel's series of orders instead, each with its leading dimension, alignment and trials.
    #[serde(default)]
    pub series: bool,
    /// Columns that are factored at a time.
    #[serde(default)]
    pub nb: Vec<u32>,
    /// Leading dimensions.
    #[serde(default)]
    pub lda: Vec<Leading>,
    /// Alignments of the first element, in bytes.
    #[serde(default, deserialize_with = "alignments")]
    pub align: Vec<u64>,
    /// Element types; empty for the usual one of each operation.
    #[serde(default, rename = "type")]
    pub elements: Vec<Element>,
    /// Instruction sets.
    #[serde(default = "widest")]
    pub isa: Vec<IsaChoice>,
    /// Thread counts.
    pub threads: Vec<Threads>,
    /// What a sample of our own choice of order takes at most, in seconds.
    #[serde(default = "aim", rename = "sample", deserialize_with = "seconds")]
    pub aim_seconds: f64,
    /// Rows whose sample is expected to take longer are not measured, but where totals are done in full.
    #[serde(default, deserialize_with = "some_seconds")]
    pub longest: Option<f64>,
    /// How these rows are sampled, where not as the area.
    #[serde(default, deserialize_with = "some_sampling")]
    pub sampling: Option<Sampling>,
    /// Whether they stand in the classic tables.
    #[serde(default)]
    pub classic: bool,
    /// What they are to the others, unless their operation is asked for.
    #[serde(default)]
    pub role: Role,
}

/// What the rows of a stanza are to the others of its suite.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// What the suite is about.
    #[default]
    Subject,
    /// Stands beside it: where a chosen order does not fit it is left out, and does not refuse the order.
    Beside,
    /// What it cannot exceed: an order that is chosen for the subject is not its own.
    Ceiling,
    /// Another experiment, which is left out unless its element type is asked for.
    OnRequest,
}

/// The order of a system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// What memory and the stanza's time allow.
    Auto,
    /// So many equations.
    Count(u64),
}

/// The leading dimension of a matrix: elements from one column to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leading {
    /// As many as a column has.
    Order,
    /// So many that columns do not fall on each other in the caches.
    Padded,
    /// So many.
    Count(u64),
}

impl std::str::FromStr for Order {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match (text, text.parse::<u64>()) {
            ("auto", _) => Ok(Self::Auto),
            (_, Ok(n)) if (1..=MOST_N).contains(&n) => Ok(Self::Count(n)),
            _ => Err(format!(
                "'{text}' is no order of a system; write 1 to {MOST_N}, or auto (what memory and time allow)"
            )),
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
                "'{text}' is no leading dimension; write a number of elements, n (as many as the order) or padded"
            )),
        }
    }
}

from_text!(Order, Leading);

/// The largest alignment: that of the memory that we map.
const MOST_ALIGN: u64 = 2 << 20;

/// Reads an alignment: a power of two from the size of an element on.
///
/// # Errors
/// It is none.
pub fn parse_alignment(text: &str) -> Result<u64, String> {
    let bytes = parse_size(text)?;
    if bytes.is_power_of_two() && (8..=MOST_ALIGN).contains(&bytes) {
        Ok(bytes)
    } else {
        Err(format!("'{text}' is no alignment; write a power of two from 8B to 2MiB"))
    }
}

fn alignments<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u64>, D::Error> {
    let texts = Vec::<String>::deserialize(deserializer)?;
    texts.iter().map(|text| parse_alignment(text).map_err(D::Error::custom)).collect()
}

fn seconds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    super::seconds(deserializer)
}

fn own() -> Vec<LinpackEngine> {
    vec![LinpackEngine::Own]
}

fn auto() -> Vec<Order> {
    vec![Order::Auto]
}

fn widest() -> Vec<IsaChoice> {
    vec![IsaChoice::Vector]
}

/// A few seconds: long against what disturbs, short enough to be repeated.
const fn aim() -> f64 {
    4.0
}

/// What an area's own command chooses of the LINPACK area; an empty list chooses what `suites/linpack.toml` has.
#[derive(Clone, Debug, Default)]
pub struct LinpackChoice {
    /// What is computed.
    pub ops: Vec<LinpackOp>,
    /// Whose solver does it.
    pub engines: Vec<LinpackEngine>,
    /// Orders.
    pub orders: Vec<Order>,
    /// Columns that are factored at a time.
    pub nbs: Vec<u32>,
    /// Leading dimensions.
    pub ldas: Vec<Leading>,
    /// Alignments in bytes.
    pub aligns: Vec<u64>,
    /// Element types.
    pub elements: Vec<Element>,
    /// Instruction sets.
    pub isa: Vec<IsaChoice>,
}

impl LinpackChoice {
    /// What is left of a stanza; `None` where it is not meant.
    fn of(&self, stanza: &LinpackStanza) -> Option<LinpackStanza> {
        let op: Vec<LinpackOp> =
            stanza.op.iter().copied().filter(|op| self.ops.is_empty() || self.ops.contains(op)).collect();
        let is_requested = stanza.elements.iter().any(|element| self.elements.contains(element));
        if op.is_empty() || (stanza.role == Role::OnRequest && !is_requested) {
            return None;
        }
        let isa = or(&self.isa, &stanza.isa);
        let mut engine = or(&self.engines, &stanza.engine);
        if self.ops.is_empty() {
            // An operation that nobody asked for is of the solvers that have it.
            engine.retain(|engine| op.iter().all(|op| linpack_computes(*engine, *op)));
        }
        if engine.is_empty() {
            return None;
        }
        if stanza.role == Role::Ceiling && self.ops.is_empty() {
            // Shown for what is measured here, and with the same solver.
            let shown =
                self.elements.is_empty() && self.nbs.is_empty() && self.ldas.is_empty() && self.aligns.is_empty();
            return shown.then(|| LinpackStanza { op, engine, isa, ..stanza.clone() });
        }
        let n = or(&self.orders, &stanza.n);
        let chosen = LinpackStanza {
            op,
            engine,
            n,
            nb: or(&self.nbs, &stanza.nb),
            lda: or(&self.ldas, &stanza.lda),
            align: or(&self.aligns, &stanza.align),
            elements: or(&self.elements, &stanza.elements),
            isa,
            role: if self.ops.is_empty() && !is_requested { stanza.role } else { Role::Subject },
            ..stanza.clone()
        };
        // Of an operation's stanzas for several types each keeps its own.
        let has_type = self.elements.is_empty()
            || stanza.elements.is_empty()
            || stanza.elements.iter().any(|element| self.elements.contains(element));
        let kept = |own: &Vec<Element>| own.iter().copied().filter(|one| self.elements.contains(one)).collect();
        let elements = if stanza.elements.is_empty() || self.elements.is_empty() {
            chosen.elements.clone()
        } else {
            kept(&stanza.elements)
        };
        has_type.then_some(LinpackStanza { elements, ..chosen })
    }
}

impl Suite {
    /// The suite of `assay linpack`.
    ///
    /// # Errors
    /// Nothing fits what was chosen.
    pub fn of_linpack(choice: &LinpackChoice) -> Result<Self, String> {
        let has_factors = choice.ops.is_empty() || choice.ops.contains(&LinpackOp::LuMixed);
        let refused = choice.elements.iter().find_map(|element| linpack_refused_factors(*element));
        if let Some(sentence) = refused.filter(|_| has_factors) {
            return Err(sentence.to_owned());
        }
        let suite = Self::parse(LINPACK, "linpack")?;
        let linpack: Vec<LinpackStanza> = suite.linpack.iter().filter_map(|stanza| choice.of(stanza)).collect();
        if linpack.is_empty() {
            return Err(
                "there is no LINPACK experiment of that combination; known: --op lu with --type fp64, lu_mixed with \
                        --type fp32 or bf16, and gemm with --type fp64 or fp32"
                    .to_owned(),
            );
        }
        Ok(Self { name: Area::Linpack.to_string(), linpack, ..suite })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(choice: &LinpackChoice) -> Vec<LinpackStanza> {
        Suite::of_linpack(choice).unwrap().linpack
    }

    #[test]
    fn what_is_chosen_is_that_of_solutions_and_leaves_their_ceilings() {
        let sizes = vec![Order::Count(2000), Order::Count(5000)];
        let sized = rows(&LinpackChoice { orders: sizes.clone(), ..LinpackChoice::default() });
        let of = |op: LinpackOp| sized.iter().filter(move |stanza| stanza.op.contains(&op));
        assert!(of(LinpackOp::Lu).count() > 0 && of(LinpackOp::Lu).all(|stanza| stanza.n == sizes));
        assert!(of(LinpackOp::Gemm).count() > 0 && of(LinpackOp::Gemm).all(|stanza| stanza.n != sizes));
        let gemm = LinpackChoice { ops: vec![LinpackOp::Gemm], orders: sizes.clone(), ..LinpackChoice::default() };
        assert!(rows(&gemm).iter().all(|stanza| stanza.op == [LinpackOp::Gemm] && stanza.n == sizes));
        let single = LinpackChoice { elements: vec![Element::Fp32], ..gemm };
        assert!(rows(&single).iter().all(|stanza| stanza.elements == [Element::Fp32]));
        let mixed = || sized.iter().filter(|stanza| stanza.op == [LinpackOp::LuMixed]);
        assert!(mixed().count() == 1 && mixed().all(|stanza| stanza.n == sizes && stanza.elements == [Element::Fp32]));
        let aligned = rows(&LinpackChoice { aligns: vec![64], ..LinpackChoice::default() });
        assert!(aligned.iter().all(|stanza| stanza.align == [64] && stanza.role != Role::Ceiling));
    }

    #[test]
    fn an_operation_that_was_not_asked_for_is_of_the_solvers_that_have_it() {
        let of = |ops: &[LinpackOp], engines: &[LinpackEngine]| {
            let (ops, engines) = (ops.to_vec(), engines.to_vec());
            rows(&LinpackChoice { ops, engines, ..LinpackChoice::default() })
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
            assert!(bad.parse::<Order>().unwrap_err().contains("no order"), "{bad}");
        }
        assert_eq!(("n".parse(), "5008".parse()), (Ok(Leading::Order), Ok(Leading::Count(5008))));
        assert!(["0", "-1", "N", ""].iter().all(|bad| bad.parse::<Leading>().is_err()));
        assert_eq!((parse_alignment("64"), parse_alignment("4KiB")), (Ok(64), Ok(4096)));
        assert!(["0", "4", "48", "4MiB", "x"].iter().all(|bad| parse_alignment(bad).is_err()));
    }
}
