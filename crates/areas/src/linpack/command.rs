//! The suite of `assay linpack`.

use super::choice::LinpackChoice;
use super::solver::refused_factors;
use crate::suite::Suite;
use model::experiment::Area;
use model::linpack::LinpackOp;
use model::plan::PlanError;

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
