//! What `assay linpack` measures.

use model::experiment::Area;
use model::linpack::LinpackOp;
use model::plan::PlanError;

use super::choice::LinpackChoice;
use super::solver::refused_factors;
use crate::suite::Suite;

const LINPACK: &str = include_str!("../../../../suites/linpack.toml");

/// The suite, narrowed to the choice; an error if no benchmark is left.
pub fn suite(choice: &LinpackChoice) -> Result<Suite, PlanError> {
    let has_factors = choice.op.is_empty() || choice.op.contains(&LinpackOp::LuMixed);
    let refused = choice.elements.iter().find_map(|element| refused_factors(*element));
    if let Some(sentence) = refused.filter(|_| has_factors) {
        return Err(PlanError(sentence.to_owned()));
    }
    let suite = Suite::parse(LINPACK, "linpack")?;
    let linpack: Vec<LinpackChoice> = suite.linpack.iter().filter_map(|block| choice.narrowed(block)).collect();
    if linpack.is_empty() {
        let known = "--op lu with --type fp64, lu_mixed with --type fp32 or bf16, and gemm with --type fp64 or fp32";
        return Err(PlanError(format!("there is no LINPACK benchmark of that combination; known: {known}")));
    }
    Ok(Suite { name: Area::Linpack.to_string(), linpack, ..suite })
}

#[cfg(test)]
mod tests {
    use model::isa::Element;
    use model::linpack::LinpackEngine;

    use super::super::choice::{Order, Role};
    use super::*;

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
}
