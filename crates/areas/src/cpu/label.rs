//! Labels of CPU results, and the order in which they are listed.

use model::document::Row;
use model::experiment::{CpuParams, Loop, Params};
use model::isa::{CpuOp, Element, Isa};

use crate::label::parts::{Axis, Label, Labels, TableRules};
use crate::memory::label as memory;

pub(super) const LABELS: Labels = Labels {
    title: "CPU",
    in_sentence: "the processor",
    colours: ["#1f6feb", "#6ea8fe"],
    before: "",
    label: |row, _| Some(label(params(row)?, &row.method, row.kernel.as_ref())),
    aspects: |_, _| Vec::new(),
    axis: |_| Axis::Threads,
    say: |_, _| {},
    declaration: |_| None,
    workload: |_| None,
    table: TableRules { per_core: true, requests: false, always_heading: false },
};

/// Order within a precision: the most operations per instruction first, bounds and plain loops last.
const OPS: [CpuOp; 7] =
    [CpuOp::Matrix, CpuOp::Dot, CpuOp::Fma, CpuOp::MulAdd, CpuOp::Add, CpuOp::AllPipes, CpuOp::Plain];

/// The widest first; of one width, the specialised one first.
const ISAS: &str = "amx sme avx512_vnni avx512_bf16 avx512_fp16 avx512 avx512vl avx_vnni_int8 avx_vnni avx2 sve neon_i8mm \
                    neon_dotprod neon_bf16 neon_fp16 neon sse4_1 ssse3 sse2 scalar";

pub fn params(row: &Row) -> Option<&CpuParams> {
    if let Params::Cpu(params) = &row.params { Some(params) } else { None }
}

/// The position of a result in its table: by precision, operation and instruction set; later versions last.
pub fn order(row: &Row) -> Order {
    order_of(params(row))
}

pub type Order = (usize, usize, usize);

/// The position of a benchmark; the last for one of a later version.
pub fn order_of(params: Option<&CpuParams>) -> Order {
    let Some(CpuParams { op, element, isa, threads: _ }) = params else { return (usize::MAX, 0, 0) };
    (place(Element::ALL, element), place(&OPS, op), width_order(*isa))
}

/// The place of an instruction set in the order: the widest first.
pub(super) fn width_order(isa: Isa) -> usize {
    place(&ISAS.split(' ').collect::<Vec<_>>(), &isa.name())
}

fn place<T: PartialEq>(all: &[T], one: &T) -> usize {
    all.iter().position(|other| other == one).unwrap_or(all.len())
}

/// `FP64`.
pub fn precision(element: Element) -> String {
    element.name().to_uppercase()
}

/// `FP64`, `FMA, AVX-512`. Without fused instructions FMA is a multiplication and an addition, as the method shows.
pub fn label(params: &CpuParams, method: &str, kernel: Option<&Loop>) -> Label {
    let op = match params.op {
        CpuOp::Fma if params.isa == Isa::Sse2 || method.starts_with("cpu-mul-add") => "multiply + add",
        CpuOp::Fma => "FMA",
        CpuOp::Dot => "dot",
        CpuOp::MulAdd => "multiply-add",
        CpuOp::Add => "add",
        CpuOp::Matrix => "matrix",
        CpuOp::Plain => "plain loop",
        CpuOp::AllPipes => "all pipes",
    };
    let detail =
        if params.op == CpuOp::AllPipes { "a bound, no peak".to_owned() } else { sums(params.element, kernel) };
    Label { what: precision(params.element), how: format!("{op}, {}", params.isa.title()), detail }
}

/// `s32 ← u8 × s8`: the accumulator, if it is not the element's own type.
pub fn sums(element: Element, kernel: Option<&Loop>) -> String {
    let own = element.name().replace("int", "s");
    let accumulator = kernel.map_or("", |kernel| kernel.accumulator.trim());
    if accumulator == own { String::new() } else { accumulator.replace(" <- ", " ← ").replace(" x ", " × ") }
}

/// The parameters in an id without its threads; `None` if it is no CPU benchmark of this version.
pub fn of_stem(stem: &str) -> Option<CpuParams> {
    let parts: Vec<&str> = stem.split('/').collect();
    let ["cpu", op, element, isa] = parts[..] else { return None };
    Some(CpuParams { op: op.parse().ok()?, element: element.parse().ok()?, isa: isa.parse().ok()?, threads: 1 })
}

/// The label of an id without threads or of a limit: `FP64 FMA, AVX-512`, `DRAM bandwidth`; else the id itself.
pub fn stem_words(stem: &str) -> String {
    let Some(params) = of_stem(stem) else { return memory::peak_words(stem).unwrap_or(stem).to_owned() };
    let Label { what, how, .. } = label(&params, "", None);
    format!("{what} {how}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_has_a_place_in_the_order() {
        let has_place = |isa: &Isa| ISAS.split(' ').any(|name| name == isa.name());
        assert!(Isa::ALL.iter().all(has_place) && CpuOp::ALL.iter().all(|op| OPS.contains(op)));
    }

    #[test]
    fn an_accumulator_is_reported_where_it_is_not_the_element() {
        let kernel = |accumulator: &str| Loop { accumulator: accumulator.into(), ..Loop::default() };
        for (element, accumulator, expected) in [
            (Element::Int8, "s32 <- u8 x s8", "s32 ← u8 × s8"),
            (Element::Int8, "s32", "s32"),
            (Element::Int16, "s16", ""),
            (Element::Fp64, "fp64", ""),
        ] {
            assert_eq!(sums(element, Some(&kernel(accumulator))), expected);
        }
        assert_eq!(sums(Element::Fp64, None), "");
    }

    #[test]
    fn ids_without_threads_are_reported_in_words() {
        assert_eq!(stem_words("cpu/dot/int8/avx512_vnni"), "INT8 dot, AVX-512 VNNI");
        assert_eq!(stem_words("memory/dram"), "DRAM bandwidth");
        for unknown in ["memory/hbm", "cpu/fma/fp64", "cpu/fma/fp64/mmx"] {
            assert_eq!(stem_words(unknown), unknown);
        }
    }
}
