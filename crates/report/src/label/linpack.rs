//! LINPACK in the words of the field: `LINPACK`, `N = 10000`; `DGEMM`, `N = 5000, AVX2`. Figures and notes are not made
//! here.

use model::document::Row;
use model::isa::{Element, Isa};
use model::linpack::{LinpackChoices, LinpackEngine, LinpackOp, LinpackParams, linpack_id};

use super::Label;

/// The letter by which BLAS names a routine for such elements.
const fn letter(element: Element) -> &'static str {
    match element {
        Element::Fp32 => "S",
        Element::Fp64 => "D",
        _ => "",
    }
}

/// What a row computes: `LINPACK`, `LINPACK mixed`, `DGEMM`.
fn what(params: &LinpackParams) -> String {
    match params.op {
        LinpackOp::Lu => "LINPACK".to_owned(),
        LinpackOp::LuMixed => "LINPACK mixed".to_owned(),
        LinpackOp::Gemm => format!("{}GEMM", letter(params.element)),
    }
}

/// What a curve over orders is of: `LINPACK over N`; `LINPACK mixed over N, FP32 factors, AVX-512`.
pub(crate) fn curve_title(op: LinpackOp, engine: LinpackEngine, element: Element, isa: Option<Isa>) -> String {
    let what = if op == LinpackOp::LuMixed { "LINPACK mixed" } else { "LINPACK" };
    let mut words = vec![format!("{what} over N")];
    if op == LinpackOp::LuMixed {
        words.push(format!("{} factors", element.name().to_uppercase()));
    }
    words.extend(isa.map(|isa| isa.title().to_owned()));
    match engine {
        LinpackEngine::Own => {}
        LinpackEngine::Faer => words.push("faer".to_owned()),
        LinpackEngine::System => words.push("system library".to_owned()),
    }
    words.join(", ")
}

/// What the id of a row shows because it was chosen.
fn chosen(row: &Row, params: &LinpackParams) -> LinpackChoices {
    // Of thirty-two ids one is the row's.
    let bit = |bits: u32, index: u32| bits >> index & 1 == 1;
    let choices = (0..1_u32 << 5).map(|bits| LinpackChoices {
        n: bit(bits, 0),
        nb: bit(bits, 1),
        lda: bit(bits, 2),
        align: bit(bits, 3),
        isa: bit(bits, 4),
    });
    choices.into_iter().find(|choices| linpack_id(params, *choices) == row.id).unwrap_or_default()
}

/// `N = 10000`, and what was chosen besides.
pub(super) fn label(row: &Row, params: &LinpackParams) -> Label {
    let chosen = chosen(row, params);
    let mut how = vec![format!("N = {}", params.n)];
    if params.op == LinpackOp::LuMixed {
        how.push(format!("{} factors", params.element.name().to_uppercase()));
    } else if params.op == LinpackOp::Lu && params.element != Element::Fp64 {
        how.push(params.element.name().to_uppercase());
    }
    how.extend(params.nb.filter(|_| chosen.nb).map(|nb| format!("NB = {nb}")));
    how.extend(chosen.lda.then(|| format!("LDA = {}", params.lda)));
    how.extend(chosen.align.then(|| format!("aligned to {}", super::block_words(params.align))));
    how.extend(params.isa.filter(|_| chosen.isa).map(|isa| isa.title().to_owned()));
    match params.engine {
        LinpackEngine::Own => {}
        LinpackEngine::Faer => how.push("faer".to_owned()),
        LinpackEngine::System => {
            let library = row.conditions.linpack.as_ref().and_then(|seen| seen.kernel.clone());
            how.push(library.unwrap_or_else(|| "system library".to_owned()));
        }
    }
    Label { what: what(params), how: how.join(", "), detail: String::new() }
}
