//! Findings of CPU results: scaling of vector kernels, second threads of a core, and the gain of SIMD.

use model::document::{Finding, Row};
use model::isa::{CpuOp, Element};
use model::machine::Machine;
use model::number::brief::{percent, times};
use verdict::findings::estimate::rate;
use verdict::findings::rules::{FindingRules, Rule};
use verdict::findings::words::joined;

use super::label::{LABELS, params, precision};

const PLAIN_BEHIND_VECTOR: Rule = Rule::new(
    "plain_behind_vector",
    "difference",
    "SIMD gain over a plain loop of the same type, one thread: {gains}.",
    "the vector kernel compared with the plain loop of each type, on one thread",
    "these results",
);
const SECOND_THREADS: Rule = Rule::new(
    "second_threads",
    "values",
    "SMT: a second thread on each of the {cores} cores changes vector rates by {least} to {most}.",
    "the fewest threads beyond the cores compared with one thread per core",
    "the results with the least and the most change",
);

pub(super) const FINDINGS: FindingRules = FindingRules {
    describe,
    scaling_series,
    rules: &[PLAIN_BEHIND_VECTOR, SECOND_THREADS],
    results: |quiet, series, machine| plain(quiet).into_iter().chain(second_threads(series, machine)).collect(),
    ..FindingRules::new(LABELS.title)
};

/// `FP64 FMA`; with its instruction set unless it is the classic one of its type.
fn describe(row: &Row) -> String {
    let Some(params) = params(row) else { return row.id.clone() };
    let op = match params.op {
        CpuOp::Fma => "FMA",
        CpuOp::MulAdd => "multiply-add",
        CpuOp::AllPipes => "all pipes",
        CpuOp::Plain => "plain loop",
        CpuOp::Dot | CpuOp::Add | CpuOp::Matrix => params.op.name(),
    };
    let set = if row.classic.is_some() { String::new() } else { format!(" ({})", params.isa.title()) };
    format!("{} {op}{set}", precision(params.element))
}

fn is(row: &Row, class: &str) -> bool {
    row.classic.as_ref().and_then(|classic| classic.class.as_deref()) == Some(class)
}

fn threads(row: &Row) -> usize {
    row.params.threads() as usize
}

/// The cores of the machine; unlimited if unknown.
fn cores(machine: &Machine) -> usize {
    Some(machine.cpu.one_per_core(&machine.cpu.available_cpus).len()).filter(|cores| *cores > 0).unwrap_or(usize::MAX)
}

/// The series of vector kernels; all of them if none is.
fn vector<'s, 'a>(series: &'s [Vec<&'a Row>]) -> Vec<&'s Vec<&'a Row>> {
    let is_vector = |rows: &&Vec<&Row>| rows.first().is_some_and(|row| is(row, "vector"));
    let vector: Vec<_> = series.iter().filter(is_vector).collect();
    if vector.is_empty() { series.iter().collect() } else { vector }
}

/// Vector kernels on up to one thread per core: second threads share its pipes and have a finding of their own.
fn scaling_series<'a>(series: &[Vec<&'a Row>], machine: &Machine) -> Vec<Vec<&'a Row>> {
    let cores = cores(machine);
    let on_cores = |rows: &Vec<&'a Row>| rows.iter().copied().filter(|row| threads(row) <= cores).collect();
    vector(series).into_iter().map(on_cores).collect()
}

fn second_threads(series: &[Vec<&Row>], machine: &Machine) -> Option<Finding> {
    let cores = cores(machine);
    let pair = |rows: &Vec<&'_ Row>| -> Option<(f64, usize, usize)> {
        let one = rows.iter().position(|row| threads(row) == cores)?;
        let two = rows.iter().position(|row| threads(row) > cores)?;
        Some((rate(rows[two])?.median / rate(rows[one])?.median - 1.0, one, two))
    };
    let vector = vector(series).into_iter();
    let found = vector.filter_map(|rows| pair(rows).map(|(gain, one, two)| (gain, rows[one], rows[two])));
    let found: Vec<(f64, &Row, &Row)> = found.collect();
    let least = found.iter().copied().min_by(|a, b| a.0.total_cmp(&b.0))?;
    let most = found.iter().copied().max_by(|a, b| a.0.total_cmp(&b.0))?;
    let change = |gain: f64| format!("{}{}", if gain < 0.0 { "-" } else { "+" }, percent(gain.abs()));
    let fields = [("cores", cores.to_string()), ("least", change(least.0)), ("most", change(most.0))];
    SECOND_THREADS.finding(&fields, &[least.1, least.2, most.1, most.2])
}

/// How far the vector kernel of each type is ahead of the plain loop, on one thread.
fn plain(rows: &[&Row]) -> Option<Finding> {
    let (mut gains, mut evidence) = (Vec::new(), Vec::new());
    for wanted in Element::ALL {
        let element = |row: &Row| params(row).map(|params| params.element);
        let fits = |row: &Row, class| threads(row) == 1 && is(row, class) && element(row) == Some(*wanted);
        let of = |class| rows.iter().copied().find(|row| fits(row, class));
        let (Some(plain), Some(vector)) = (of("plain"), of("vector")) else { continue };
        let gain = rate(vector).zip(rate(plain)).and_then(|(vector, plain)| vector.differs(plain));
        if let Some(gain) = gain {
            gains.push(format!("{} {}", precision(*wanted), times(gain)));
            evidence.extend([plain, vector]);
        }
    }
    PLAIN_BEHIND_VECTOR.finding(&[("gains", joined(&gains))], &evidence)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{known, machine_with_cpus, row as measured};
    use model::experiment::{Classic, Params};
    use model::isa::Isa;

    fn row(element: Element, class: &str, threads: u32, rate: f64) -> Row {
        let mut row = measured();
        let Params::Cpu(params) = &mut row.params else { unreachable!() };
        (params.element, params.threads) = (element, threads);
        if class == "plain" {
            (params.op, params.isa) = (CpuOp::Plain, Isa::Scalar);
        }
        row.id = model::experiment::cpu_id(params);
        row.classic =
            Some(Classic { table: "cpu".into(), workload: "DP".into(), class: Some(class.into()), total: None });
        known(&mut row.metrics[0].summary, rate);
        row
    }

    fn text(rows: &[Row], code: &str) -> String {
        let found = verdict::findings::findings(rows, &machine_with_cpus(2), crate::RULES);
        found.iter().find(|one| one.code == code).unwrap_or_else(|| panic!("no {code} in {found:?}")).text.clone()
    }

    #[test]
    fn many_series_are_one_sentence_and_threads_beyond_the_cores_are_apart() {
        let mut rows = Vec::new();
        let factors = [1.99, 1.98, 1.40, 1.97];
        for (element, factor) in [Element::Fp64, Element::Fp32, Element::Int8, Element::Int16].into_iter().zip(factors)
        {
            rows.extend([row(element, "vector", 1, 100.0), row(element, "vector", 2, 100.0 * factor)]);
        }
        let reported = text(&rows, "scaling_many");
        let expected = "Scaling with threads: 3 of 4 benchmarks are linear, 1 below 80 %. Least: INT8 FMA, 1.40x from \
                        1 to 2 threads.";
        assert_eq!(reported, expected);
        rows[5].conditions.clock_hz = Some(2.1e9);
        rows[4].conditions.clock_hz = Some(3e9);
        assert!(text(&rows, "scaling_many").ends_with("threads: the clock falls from 3.00 GHz to 2.10 GHz."));
        let mut machine = machine_with_cpus(4);
        for place in &mut machine.cpu.topology {
            place.core = place.cpu / 2;
        }
        let rows = [1, 2, 4].map(|threads| {
            row(Element::Fp64, "vector", threads, if threads == 4 { 204.0 } else { 100.0 * f64::from(threads) })
        });
        let found = verdict::findings::findings(&rows, &machine, crate::RULES);
        let text = |code: &str| found.iter().find(|one| one.code == code).unwrap().text.clone();
        assert!(!found.iter().any(|one| one.code.starts_with("scaling")), "{found:?}");
        assert!(text("second_threads").contains("of the 2 cores") && text("second_threads").contains("+2.0 %"));
    }

    #[test]
    fn vectors_are_compared_with_plain_loops_of_their_type() {
        let rows = [
            row(Element::Fp64, "vector", 1, 96.0),
            row(Element::Fp64, "plain", 1, 8.0),
            row(Element::Int8, "vector", 1, 760.0),
            row(Element::Int8, "plain", 1, 8.0),
        ];
        let reported = text(&rows, "plain_behind_vector");
        assert_eq!(reported, "SIMD gain over a plain loop of the same type, one thread: FP64 12.0x and INT8 95.0x.");
    }
}
