//! What the LINPACK rows say together: the ladder from multiply-adds over products to solutions, and whose kernels the
//! system's library took.

use std::collections::BTreeMap;

use model::document::{Finding, Row};
use model::experiment::{Area, Params};
use model::isa::{Element, Isa};
use model::linpack::{LinpackEngine, LinpackOp, LinpackParams};
use model::machine::Machine;

use super::figure::{Figure, rate, sane};
use super::rules::Code;
use super::scaling;
use super::words::{flops, percent, threads};

/// A measured row with its parameters and rate.
#[derive(Clone, Copy)]
struct Known<'a> {
    row: &'a Row,
    params: &'a LinpackParams,
    rate: Figure,
}

/// All of them, of quiet rows and their series.
pub fn findings(quiet: &[&Row], series: &[Vec<&Row>], machine: &Machine) -> Vec<Finding> {
    let known: Vec<Known<'_>> = quiet.iter().copied().filter_map(known).collect();
    let mut counts: Vec<u32> = known.iter().map(|one| one.params.threads).collect();
    // The most threads first: they are what the machine can do.
    counts.sort_unstable_by_key(|count| std::cmp::Reverse(*count));
    counts.dedup();
    let mut found = scaling::findings(Area::Linpack, series, machine);
    found.extend(counts.iter().filter_map(|count| ladder(&known, *count)));
    found.extend(core_types(&known, machine));
    found
}

fn known(row: &Row) -> Option<Known<'_>> {
    let Params::Linpack(params) = &row.params else { return None };
    rate(row).map(|rate| Known { row, params, rate })
}

/// Whether a row is of our own solver in fp64.
fn is_ours(one: &Known<'_>, op: LinpackOp) -> bool {
    one.params.engine == LinpackEngine::Own && one.params.op == op && one.params.element == Element::Fp64
}

/// The fastest of them.
fn fastest<'a, 'b>(rows: impl Iterator<Item = &'b Known<'a>>) -> Option<&'b Known<'a>>
where
    'a: 'b,
{
    rows.reduce(|best, other| if other.rate.median > best.rate.median { other } else { best })
}

/// From what the cores can do to what a solution reaches of it. Each rung is set against the multiply-adds that ran just
/// before its own samples.
fn ladder(all: &[Known<'_>], count: u32) -> Option<Finding> {
    let of = |op| fastest(all.iter().filter(move |one| one.params.threads == count && is_ours(one, op)));
    let beside = |one: &Known<'_>| {
        let adds = one.row.conditions.linpack.as_ref()?.fma_flop_per_second;
        adds.and_then(sane).map(|adds| (adds, one.rate.median / adds))
    };
    let solution = of(LinpackOp::Lu)?;
    let (_, share) = beside(solution)?;
    let mut fields = vec![
        ("threads", threads(count)),
        ("n", solution.params.n.to_string()),
        ("rate", flops(solution.rate.median)),
        ("share", percent(share)),
    ];
    let Some((product, (adds, of_adds))) = of(LinpackOp::Gemm).and_then(|product| Some((product, beside(product)?)))
    else {
        return Some(Code::LinpackShare.tell(Area::Linpack, &fields, &[solution.row]));
    };
    fields.extend([
        ("product", percent(of_adds)),
        ("fma", flops(adds)),
        ("of_product", percent(solution.rate.median / product.rate.median)),
    ]);
    Some(Code::LinpackLadder.tell(Area::Linpack, &fields, &[product.row, solution.row]))
}

/// Where the system's library took kernels of a narrower instruction set than the machine has.
fn core_types(all: &[Known<'_>], machine: &Machine) -> Vec<Finding> {
    let widest = [Isa::Avx512, Isa::Avx2].into_iter().find(|isa| machine.cpu.isa.contains(isa));
    let Some(widest) = widest else { return Vec::new() };
    let mut by_kernel: BTreeMap<&str, Vec<&Row>> = BTreeMap::new();
    for one in all.iter().filter(|one| one.params.engine == LinpackEngine::System) {
        let kernel = one.row.conditions.linpack.as_ref().and_then(|seen| seen.kernel.as_deref());
        if let Some(kernel) = kernel.filter(|kernel| core_set(kernel).is_some_and(|set| is_narrower(set, widest))) {
            by_kernel.entry(kernel).or_default().push(one.row);
        }
    }
    let sentence = |(kernel, rows): (&str, Vec<&Row>)| {
        let fields = [("kernel", kernel.to_owned()), ("isa", widest.title().to_owned())];
        Code::LinpackCoreType.tell(Area::Linpack, &fields, &rows)
    };
    by_kernel.into_iter().map(sentence).collect()
}

/// Whether a set is less than another of the three that libraries choose among.
fn is_narrower(set: Isa, than: Isa) -> bool {
    let rank = |isa| match isa {
        Isa::Avx512 => 2,
        Isa::Avx2 => 1,
        _ => 0,
    };
    rank(set) < rank(than)
}

/// The set of the kernels of a library by the core type that its label ends in, in the words of `OpenBLAS`
/// (`driver/others/dynamic.c`), MKL's branches and BLIS (`frame/base/bli_arch.c`); `None` of one that is not known.
fn core_set(label: &str) -> Option<Isa> {
    const AVX512: &[&str] = &["skylakex", "cooperlake", "sapphirerapids", "skx", "zen4", "zen5", "avx-512"];
    const AVX2: &[&str] = &["haswell", "zen", "zen2", "zen3", "excavator", "avx2"];
    const OLDER: &[&str] = &[
        "prescott",
        "core2",
        "penryn",
        "dunnington",
        "nehalem",
        "atom",
        "nano",
        "athlon",
        "opteron",
        "opteron_sse3",
        "barcelona",
        "bobcat",
        "sandybridge",
        "bulldozer",
        "piledriver",
        "steamroller",
        "generic",
        "avx",
        "sse2",
        "ssse3",
        "sse4.1",
        "sse4.2",
    ];
    let word = label.split_whitespace().next_back()?.to_lowercase();
    let sets = [(AVX512, Isa::Avx512), (AVX2, Isa::Avx2), (OLDER, Isa::Sse2)];
    sets.into_iter().find(|(words, _)| words.contains(&word.as_str())).map(|(_, isa)| isa)
}

#[cfg(test)]
mod tests {
    use model::linpack::{LinpackChoices, LinpackConditions, linpack_id};

    use model::sample::MetricName;

    use super::*;
    use crate::findings::tests::known;
    use crate::rules::AreaRules;
    use crate::tests::{AREAS, document};

    /// A row of our own solver, but for what is changed, at this rate.
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
        let mut row = document().experiments.remove(0);
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
        let all = crate::findings::of_area(&AreaRules::of(AREAS, Area::Linpack), rows, &machine);
        assert!(all.iter().all(|one| one.evidence.iter().all(|id| rows.iter().any(|row| row.id == *id))));
        all.into_iter().filter(|one| one.code == code).map(|one| one.text).collect()
    }

    fn product(rate: f64) -> Row {
        row(5000, 2, rate, |params| params.op = LinpackOp::Gemm)
    }

    #[test]
    fn the_ladder_says_what_is_lost_where() {
        let rows = [product(92e9), row(10_000, 2, 87e9, |_| {}), row(1000, 2, 40e9, |_| {})];
        let text = found(&rows, "linpack_ladder");
        assert_eq!(text.len(), 1);
        let expected = "LINPACK on 2 threads: DGEMM reaches 92 % of multiply-adds alone (100 GFLOP/s), a solution \
                        (N = 10000) 87 %; 95 % of DGEMM's rate.";
        assert_eq!(text[0], expected);
        let alone = found(&rows[1..], "linpack_share");
        assert_eq!(
            alone,
            ["LINPACK on 2 threads: a solution (N = 10000) reaches 87.0 GFLOP/s, 87 % of multiply-adds alone."]
        );
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
