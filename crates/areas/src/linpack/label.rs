//! Labels of LINPACK results: `LINPACK`, `N = 10000`; `DGEMM`, `N = 5000, AVX2`; HPL-MxP for its own matrix.

use model::document::Row;
use model::experiment::{Area, Params};
use model::isa::Element;
use model::linpack::{LinpackChoices, LinpackEngine, LinpackMatrix, LinpackOp, LinpackParams, linpack_id};

use crate::label::parts::{Axis, Label, Labels, TableRules};

pub(super) const LABELS: Labels = Labels {
    title: "LINPACK",
    in_sentence: "LINPACK",
    colours: ["#8250df", "#b79bf5"],
    before: "",
    label: |row, _| Some(label(row, params(row)?)),
    aspects: |_, _| Vec::new(),
    axis: |_| Axis::Threads,
    say: |_, _| {},
    declaration: |_| None,
    workload: |_| None,
    table: TableRules { per_core: false, requests: false, always_heading: false },
};

/// Whether a result solves as HPL does: our own solver, in fp64 throughout.
pub(crate) fn solves_as_hpl(row: &Row) -> bool {
    params(row).map_or(row.area == Area::Linpack, |own| {
        (own.op, own.engine, own.element) == (LinpackOp::Lu, LinpackEngine::Own, Element::Fp64)
    })
}

/// The parameters of a LINPACK result of this version.
pub fn params(row: &Row) -> Option<&LinpackParams> {
    if let Params::Linpack(params) = &row.params { Some(params) } else { None }
}

fn what(params: &LinpackParams) -> String {
    match params.op {
        LinpackOp::Lu => "LINPACK".to_owned(),
        LinpackOp::LuMixed if is_dominant(params) => "HPL-MxP".to_owned(),
        LinpackOp::LuMixed => "LINPACK mixed".to_owned(),
        LinpackOp::Gemm if params.element == Element::Fp32 => "SGEMM".to_owned(),
        LinpackOp::Gemm => "DGEMM".to_owned(),
    }
}

/// Whether the matrix is HPL-MxP's, not HPL's.
pub fn is_dominant(params: &LinpackParams) -> bool {
    params.matrix() == Some(LinpackMatrix::DiagonallyDominant)
}

/// Factors of lower precision: `FP32 factors`; `BF16 factors, dominant matrix`.
fn factors(params: &LinpackParams) -> impl Iterator<Item = String> {
    let element =
        (params.op == LinpackOp::LuMixed).then(|| format!("{} factors", params.element.name().to_uppercase()));
    element.into_iter().chain(is_dominant(params).then(|| "dominant matrix".to_owned()))
}

/// The title of a curve over orders: `LINPACK over N`; `LINPACK mixed over N, FP32 factors, AVX-512`.
pub fn curve_title(params: &LinpackParams) -> String {
    let mut words = vec![format!("{} over N", what(params))];
    words.extend(factors(params));
    words.extend(params.isa.map(|isa| isa.title().to_owned()));
    words.extend(engine_words(params.engine));
    words.join(", ")
}

fn engine_words(engine: LinpackEngine) -> Option<String> {
    match engine {
        LinpackEngine::Own => None,
        LinpackEngine::Faer => Some("faer".to_owned()),
        LinpackEngine::System => Some("system library".to_owned()),
    }
}

/// The parameters that the id of a result shows.
fn chosen(row: &Row, params: &LinpackParams) -> LinpackChoices {
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

/// `N = 10000`, and the other chosen parameters.
fn label(row: &Row, params: &LinpackParams) -> Label {
    let chosen = chosen(row, params);
    let mut how = vec![format!("N = {}", params.n)];
    how.extend(factors(params));
    if params.op == LinpackOp::Lu && params.element != Element::Fp64 {
        how.push(params.element.name().to_uppercase());
    }
    how.extend(params.nb.filter(|_| chosen.nb).map(|nb| format!("NB = {nb}")));
    how.extend(chosen.lda.then(|| format!("LDA = {}", params.lda)));
    how.extend(chosen.align.then(|| format!("aligned to {}", crate::label::parts::block_words(params.align))));
    how.extend(params.isa.filter(|_| chosen.isa).map(|isa| isa.title().to_owned()));
    let library = row.conditions.linpack.as_ref().and_then(|seen| seen.kernel.clone());
    how.extend(library.filter(|_| params.engine == LinpackEngine::System).or_else(|| engine_words(params.engine)));
    Label { what: what(params), how: how.join(", "), detail: String::new() }
}
