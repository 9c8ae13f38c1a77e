//! Findings of LINPACK results: multiply-adds, products and solutions, and the kernels of the system's library.

use std::collections::BTreeMap;

use model::document::{Finding, Row};
use model::isa::{Element, Isa};
use model::linpack::{LinpackEngine, LinpackOp, LinpackParams};
use model::machine::Machine;
use model::number::brief::{flops, percent};
use model::number::counted;
use verdict::findings::estimate::{Estimate, highest, rate, sane};
use verdict::findings::rules::{FindingRules, Rule};

use super::label::{LABELS, is_dominant, params};

const LADDER: Rule = Rule::new(
    "linpack_ladder",
    "values",
    "LINPACK on {threads}: DGEMM reaches {product} of the FMA rate ({fma}); the solution (N = {n}) reaches {share}, \
     which is {of_product} of DGEMM.",
    "the fastest product and solution of a thread count, each compared with the FMA rate just before it",
    "the product and the solution",
);
const CORE_TYPE: Rule = Rule::new(
    "linpack_core_type",
    "values",
    "The system's BLAS runs as {kernel}, without the {isa} of this machine: its results show the library, not the \
     machine. Install a newer library.",
    "the library's core type has a narrower instruction set than the machine",
    "the results of that library",
);

pub(super) const FINDINGS: FindingRules = FindingRules {
    describe,
    rules: &[LADDER, CORE_TYPE],
    results: |quiet, _, machine| findings(quiet, machine),
    ..FindingRules::new(LABELS.title)
};

struct Known<'a> {
    row: &'a Row,
    params: &'a LinpackParams,
    rate: Estimate,
}

fn describe(row: &Row) -> String {
    let Some(params) = params(row) else { return row.id.clone() };
    match params.op {
        LinpackOp::Gemm => format!("GEMM of {} (N = {})", params.element, params.n),
        LinpackOp::Lu => format!("LINPACK (N = {})", params.n),
        LinpackOp::LuMixed if is_dominant(params) => {
            format!("HPL-MxP with factors in {} (N = {})", params.element, params.n)
        }
        LinpackOp::LuMixed => format!("mixed-precision LINPACK (N = {})", params.n),
    }
}

fn findings(quiet: &[&Row], machine: &Machine) -> Vec<Finding> {
    let known = |row| Some(Known { row, params: params(row)?, rate: rate(row)? });
    let known: Vec<Known<'_>> = quiet.iter().copied().filter_map(known).collect();
    let mut counts: Vec<u32> = known.iter().map(|one| one.params.threads).collect();
    // The most threads first: they show what the machine can do.
    counts.sort_unstable_by_key(|count| std::cmp::Reverse(*count));
    counts.dedup();
    let ladders = counts.iter().filter_map(|count| ladder(&known, *count));
    ladders.chain(core_types(&known, machine)).collect()
}

fn is_ours(one: &Known<'_>, op: LinpackOp) -> bool {
    one.params.engine == LinpackEngine::Own && one.params.op == op && one.params.element == Element::Fp64
}

/// What product and solution reach of the multiply-adds that ran just before their own samples.
fn ladder(all: &[Known<'_>], count: u32) -> Option<Finding> {
    let of = |op| {
        let own = all.iter().filter(|one| one.params.threads == count && is_ours(one, op));
        highest(own.map(|one| (one.rate, one))).map(|(_, one)| one)
    };
    let of_multiply_adds = |one: &Known<'_>| {
        let adds = one.row.conditions.linpack.as_ref()?.fma_flop_per_second;
        adds.and_then(sane).map(|adds| (adds, one.rate.median / adds))
    };
    let (solution, product) = (of(LinpackOp::Lu)?, of(LinpackOp::Gemm)?);
    let ((_, share), (adds, of_adds)) = (of_multiply_adds(solution)?, of_multiply_adds(product)?);
    let fields = [
        ("threads", counted(count.into(), "thread")),
        ("n", solution.params.n.to_string()),
        ("share", percent(share)),
        ("product", percent(of_adds)),
        ("fma", flops(adds)),
        ("of_product", percent(solution.rate.median / product.rate.median)),
    ];
    LADDER.finding(&fields, &[product.row, solution.row])
}

/// Whether the system's library chose kernels of a narrower instruction set than the machine has.
fn core_types(all: &[Known<'_>], machine: &Machine) -> Vec<Finding> {
    let widest = [(Isa::Avx512, 2), (Isa::Avx2, 1)].into_iter().find(|(isa, _)| machine.cpu.isa.contains(isa));
    let Some((widest, width)) = widest else { return Vec::new() };
    let mut by_kernel: BTreeMap<&str, Vec<&Row>> = BTreeMap::new();
    for one in all.iter().filter(|one| one.params.engine == LinpackEngine::System) {
        let kernel = one.row.conditions.linpack.as_ref().and_then(|seen| seen.kernel.as_deref());
        if let Some(kernel) = kernel.filter(|kernel| vector_width(kernel).is_some_and(|own| own < width)) {
            by_kernel.entry(kernel).or_default().push(one.row);
        }
    }
    let fields = |kernel: &str| [("kernel", kernel.to_owned()), ("isa", widest.title().to_owned())];
    by_kernel.into_iter().filter_map(|(kernel, rows)| CORE_TYPE.finding(&fields(kernel), &rows)).collect()
}

/// How wide a library's vectors are: 2 with AVX-512, 1 with AVX2, 0 with less. From the core type at the end of its label, in
/// the words of `OpenBLAS` (`driver/others/dynamic.c`), MKL and BLIS (`frame/base/bli_arch.c`); `None` if unknown.
fn vector_width(label: &str) -> Option<u8> {
    const AVX512: &[&str] = &["skylakex", "cooperlake", "sapphirerapids", "skx", "zen4", "zen5", "avx-512"];
    const AVX2: &[&str] = &["haswell", "zen", "zen2", "zen3", "excavator", "avx2"];
    const INTEL: &[&str] = &["prescott", "core2", "penryn", "dunnington", "nehalem", "atom", "nano", "sandybridge"];
    const AMD: &[&str] = &["athlon", "opteron", "opteron_sse3", "barcelona", "bobcat"];
    const AMD_FX: &[&str] = &["bulldozer", "piledriver", "steamroller"];
    const SETS: &[&str] = &["generic", "avx", "sse2", "ssse3", "sse4.1", "sse4.2"];
    let word = label.split_whitespace().next_back()?.to_lowercase();
    let widths = [(AVX512, 2), (AVX2, 1), (INTEL, 0), (AMD, 0), (AMD_FX, 0), (SETS, 0)];
    widths.into_iter().find(|(words, _)| words.contains(&word.as_str())).map(|(_, width)| width)
}

#[cfg(test)]
mod tests {
    use model::experiment::{Area, Params};
    use model::linpack::{LinpackChoices, LinpackConditions, linpack_id};
    use model::sample::MetricName;

    use super::*;
    use crate::tests::{findings_of, known, row as measured};

    fn row(n: u64, threads: u32, rate: f64, change: impl FnOnce(&mut LinpackParams)) -> Row {
        let mut params = LinpackParams {
            op: LinpackOp::Lu,
            engine: LinpackEngine::Own,
            n,
            nb: Some(192),
            lda: n + 8,
            align: 64,
            threads,
            element: Element::Fp64,
            isa: Some(Isa::Avx512),
        };
        change(&mut params);
        let mut row = measured();
        let chosen = LinpackChoices { n: true, lda: true, ..LinpackChoices::default() };
        (row.id, row.area) = (linpack_id(&params, chosen), Area::Linpack);
        row.params = Params::Linpack(params);
        row.metrics[0].name = MetricName::Throughput.into();
        known(&mut row.metrics[0].summary, rate);
        let seen = LinpackConditions { fma_flop_per_second: Some(100e9), ..LinpackConditions::default() };
        row.conditions.linpack = Some(seen);
        row
    }

    fn found(rows: &[Row], code: &str) -> Vec<String> {
        let mut machine = Machine::default();
        machine.cpu.isa = vec![Isa::Avx2, Isa::Avx512];
        let found = findings_of(Area::Linpack, rows, &machine);
        found.into_iter().filter(|(own, _)| own == code).map(|(_, text)| text).collect()
    }

    fn product(rate: f64) -> Row {
        row(5000, 2, rate, |params| params.op = LinpackOp::Gemm)
    }

    #[test]
    fn the_ladder_says_what_is_lost_where() {
        let rows = [product(92e9), row(10_000, 2, 87e9, |_| {}), row(1000, 2, 40e9, |_| {})];
        let text = found(&rows, "linpack_ladder");
        assert_eq!(text.len(), 1);
        let expected = "LINPACK on 2 threads: DGEMM reaches 92 % of the FMA rate (100 GFLOP/s); the solution (N = \
                        10000) reaches 87 %, which is 95 % of DGEMM.";
        assert_eq!(text[0], expected);
        assert!(found(&rows[1..], "linpack_ladder").is_empty());
        assert!(found(&[product(92e9)], "linpack_ladder").is_empty(), "a ladder needs all rungs");
        let of_others = [product(92e9), row(10_000, 1, 87e9, |_| {})];
        assert!(found(&of_others, "linpack_ladder").is_empty(), "of the same number of threads");
        let foreign = [product(92e9), row(10_000, 2, 87e9, |params| params.engine = LinpackEngine::Faer)];
        assert!(found(&foreign, "linpack_ladder").is_empty(), "of our own solver");
    }

    #[test]
    fn a_library_that_does_not_know_the_processor_is_named() {
        let system = |kernel: &str| {
            let mut row = row(2000, 2, 5e9, |params| (params.engine, params.isa) = (LinpackEngine::System, None));
            row.conditions.linpack.as_mut().unwrap().kernel = Some(kernel.to_owned());
            found(&[row], "linpack_core_type")
        };
        let text = system("OpenBLAS 0.3.21 Prescott");
        assert!(text[0].contains("OpenBLAS 0.3.21 Prescott") && text[0].contains("without the AVX-512"), "{text:?}");
        assert_eq!(system("OpenBLAS 0.3.21 Haswell").len(), 1);
        for good in ["OpenBLAS 0.3.29 SapphireRapids", "oneMKL 2023.1-Product AVX-512", "BLIS 0.9.0 skx", "odd"] {
            assert!(system(good).is_empty(), "{good}");
        }
    }
}
