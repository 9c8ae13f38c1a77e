//! What the rows of arithmetic say together: how vectors scale, what second threads on a core add, how far a plain loop
//! stays behind, and a type that is slower than a wider one.
//!
//! Of many series one sentence says what they have in common and names the exception; few get a sentence each.

use model::document::{Finding, Row};
use model::experiment::{Area, CpuParams, Params};
use model::isa::{CpuOp, Element};
use model::machine::Machine;
use model::warning::{Grade, WarningCode};

use super::{FEW, SCALES, name, scaling};
use crate::scaling::rate;

/// A type this much slower than a wider one is worth a sentence.
const SLOWER: f64 = 0.95;

/// All findings of the cpu area.
pub(super) fn findings(rows: &[Row], series: &[Vec<&Row>], machine: &Machine) -> Vec<Finding> {
    let cores = machine.cpu.one_per_core(&machine.cpu.available_cpus).len();
    let cores = if cores == 0 { usize::MAX } else { cores };
    let of = |wanted: &dyn Fn(&Row) -> bool| -> Vec<Vec<&Row>> {
        let wanted = series.iter().filter(|rows| rows.first().is_some_and(|row| wanted(row)));
        wanted.map(|rows| rows.iter().copied().filter(|row| !takes_turns(row)).collect()).collect()
    };
    let mut vector = of(&|row| is(row, "vector"));
    if vector.is_empty() {
        vector = of(&|row| row.area == Area::Cpu);
    }
    let on_cores = |rows: &Vec<&'_ Row>| rows.iter().filter(|row| threads(row) <= cores).count();
    let full: Vec<&[&Row]> = vector.iter().map(|rows| &rows[..on_cores(rows)]).filter(|rows| rows.len() > 1).collect();
    let mut findings: Vec<Finding> =
        if full.len() <= FEW { full.iter().filter_map(|rows| scaling(rows)).collect() } else { together(&full) };
    findings.extend(second_threads(&vector, cores));
    findings.extend(plain(rows));
    findings.extend(slower_than_wider(rows));
    findings
}

/// What a row computes, in words; with its instruction set where it is not the one that stands for its type.
pub(super) fn words(params: &CpuParams, stands_for_type: bool) -> String {
    let op = match params.op {
        CpuOp::Fma => "FMA",
        CpuOp::MulAdd => "multiply-add",
        CpuOp::AllPipes => "all pipes",
        CpuOp::Plain => "plain loop",
        CpuOp::Dot | CpuOp::Add | CpuOp::Matrix => params.op.name(),
    };
    let set = if stands_for_type { String::new() } else { format!(" ({})", params.isa) };
    format!("{} {op}{set}", params.element.name().to_uppercase())
}

/// Whether a row answers this class of the classic table.
fn is(row: &Row, class: &str) -> bool {
    row.area == Area::Cpu && row.classic.as_ref().and_then(|classic| classic.class.as_deref()) == Some(class)
}

fn threads(row: &Row) -> usize {
    row.params.threads() as usize
}

fn takes_turns(row: &Row) -> bool {
    row.warnings.iter().any(|warning| warning.code == WarningCode::Oversubscribed.name())
}

fn finding(code: &str, text: String, evidence: &[&Row]) -> Finding {
    let evidence = evidence.iter().map(|row| row.id.clone()).collect();
    Finding { code: code.to_owned(), area: Area::Cpu, text, evidence }
}

/// How many series scale, and which does least.
fn together(series: &[&[&Row]]) -> Vec<Finding> {
    /// First and last row, the speed-up between them, and its share of the ideal.
    type Step<'a> = (&'a Row, &'a Row, f64, f64);
    let undisturbed = |rows: &&&[&Row]| rows.iter().all(|row| row.grade != Some(Grade::C));
    let step = |rows: &&[&'_ Row]| -> Option<(f64, f64)> {
        let (first, last) = (rows.first()?, rows.last()?);
        let factor = rate(last)? / rate(first)?;
        Some((factor, factor * threads(first) as f64 / threads(last) as f64))
    };
    let steps: Vec<Step<'_>> = series
        .iter()
        .filter(undisturbed)
        .filter_map(|rows| step(rows).map(|(factor, share)| (rows[0], rows[rows.len() - 1], factor, share)))
        .collect();
    let Some(least) = steps.iter().copied().min_by(|a, b| a.3.total_cmp(&b.3)) else {
        let text = format!("All {} vector kernels were disturbed: how they scale cannot be told.", series.len());
        return vec![finding("scaling_disturbed", text, &series.iter().map(|rows| rows[0]).collect::<Vec<_>>())];
    };
    let (first, last, factor, share) = least;
    let linear = steps.iter().filter(|step| step.3 >= SCALES).count();
    let left_out = match series.len() - steps.len() {
        0 => String::new(),
        disturbed => format!(" {disturbed} others were disturbed and say little."),
    };
    let range = format!("from {} to {} threads", threads(first), threads(last));
    let (code, text) = if linear == steps.len() {
        let text = format!("{linear} vector kernels scale {factor:.2}x or more {range}.{left_out}");
        ("scaling_linear", text)
    } else {
        let text = format!(
            "{linear} of {} vector kernels scale to {:.0} % of the ideal or better; {} does least, {factor:.2}x {range} ({:.0} %).{left_out}",
            steps.len(),
            100.0 * SCALES,
            name(first),
            100.0 * share
        );
        ("scaling_sublinear", text)
    };
    vec![finding(code, text, &[first, last])]
}

/// What second threads on the cores add.
fn second_threads(series: &[Vec<&Row>], cores: usize) -> Option<Finding> {
    let pair = |rows: &Vec<&'_ Row>| -> Option<(f64, usize, usize)> {
        let one = rows.iter().position(|row| threads(row) == cores && row.grade != Some(Grade::C))?;
        let two = rows.iter().position(|row| threads(row) > cores && row.grade != Some(Grade::C))?;
        Some((rate(rows[two])? / rate(rows[one])? - 1.0, one, two))
    };
    let found: Vec<(f64, &Row, &Row)> =
        series.iter().filter_map(|rows| pair(rows).map(|(gain, one, two)| (gain, rows[one], rows[two]))).collect();
    let least = found.iter().copied().min_by(|a, b| a.0.total_cmp(&b.0))?;
    let most = found.iter().copied().max_by(|a, b| a.0.total_cmp(&b.0))?;
    let change = |gain: f64| format!("{}{:.1} %", if gain < 0.0 { "-" } else { "+" }, 100.0 * gain.abs());
    let text = format!(
        "Second threads on the {cores} cores change the vector rates by {} to {}: they share their core's pipes.",
        change(least.0),
        change(most.0)
    );
    Some(finding("second_threads", text, &[least.1, least.2, most.1, most.2]))
}

/// The rows of a class on so many threads.
fn of_class<'a>(rows: &'a [Row], class: &'static str) -> impl Iterator<Item = &'a Row> {
    rows.iter().filter(move |row| row.grade.is_some() && threads(row) == 1 && is(row, class))
}

fn element(row: &Row) -> Option<Element> {
    if let Params::Cpu(params) = &row.params { Some(params.element) } else { None }
}

/// How far plain loops stay behind vectors of the same type, on one thread.
fn plain(rows: &[Row]) -> Option<Finding> {
    let pairs: Vec<(f64, &Row, &Row)> = of_class(rows, "plain")
        .filter_map(|plain| {
            let vector = of_class(rows, "vector").find(|vector| element(vector) == element(plain))?;
            Some((rate(vector)? / rate(plain)?, plain, vector))
        })
        .collect();
    let least = pairs.iter().copied().min_by(|a, b| a.0.total_cmp(&b.0))?;
    let most = pairs.iter().copied().max_by(|a, b| a.0.total_cmp(&b.0))?;
    let word = |row: &Row| element(row).map_or_else(String::new, |element| element.name().to_uppercase());
    let text = if pairs.len() == 1 {
        format!("For {} a vector kernel does {:.0} times what a plain loop does.", word(least.1), least.0)
    } else {
        format!(
            "Vector kernels do {:.1} ({}) to {:.0} times ({}) what a plain loop does.",
            least.0,
            word(least.1),
            most.0,
            word(most.1)
        )
    };
    Some(finding("plain_behind_vector", text, &[least.1, least.2, most.1, most.2]))
}

/// A narrow floating-point type that is slower than fp32, which one takes it for faster.
fn slower_than_wider(rows: &[Row]) -> Vec<Finding> {
    let of = |wanted: Element| of_class(rows, "vector").find(move |row| element(row) == Some(wanted));
    let Some(single) = of(Element::Fp32) else { return Vec::new() };
    let narrow = [Element::Bf16, Element::Fp16].into_iter().filter_map(of);
    let slower = narrow.filter_map(|row| {
        let share = rate(row)? / rate(single)?;
        let text = format!(
            "{} runs at {:.0} % of the rate of FP32 on this core: it saves memory here, not time.",
            element(row)?.name().to_uppercase(),
            100.0 * share
        );
        (share < SLOWER).then(|| finding("narrow_type_slower", text, &[row, single]))
    });
    slower.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{document, machine_with_cpus};
    use model::experiment::Classic;
    use model::isa::Isa;

    fn row(element: Element, class: &str, threads: u32, rate: f64) -> Row {
        let mut row = document().experiments.remove(0);
        let Params::Cpu(params) = &mut row.params else { unreachable!() };
        (params.element, params.threads) = (element, threads);
        if class == "plain" {
            (params.op, params.isa) = (CpuOp::Plain, Isa::Scalar);
        }
        row.id = model::experiment::cpu_id(params);
        row.classic =
            Some(Classic { table: "cpu".into(), workload: "DP".into(), class: Some(class.into()), total: None });
        row.metrics[0].summary.median = rate;
        row
    }

    fn codes_and_texts(rows: &[Row], cpus: u32) -> Vec<(String, String)> {
        let found = super::super::findings(rows, &machine_with_cpus(cpus));
        found.into_iter().map(|one| (one.code, one.text)).collect()
    }

    #[test]
    fn many_series_are_one_sentence_that_names_the_exception() {
        let mut rows = Vec::new();
        for (element, factor) in
            [(Element::Fp64, 1.99), (Element::Fp32, 1.98), (Element::Int8, 1.60), (Element::Int16, 1.97)]
        {
            rows.extend([row(element, "vector", 1, 100.0), row(element, "vector", 2, 100.0 * factor)]);
        }
        let found = codes_and_texts(&rows, 2);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].0, "scaling_sublinear");
        assert!(found[0].1.contains("3 of 4") && found[0].1.contains("INT8 FMA does least, 1.60x"), "{found:?}");
    }

    #[test]
    fn threads_beyond_the_cores_say_nothing_of_scaling() {
        let mut machine = machine_with_cpus(4);
        for place in &mut machine.cpu.topology {
            place.core = place.cpu / 2;
        }
        let rows = [1, 2, 4].map(|threads| {
            row(Element::Fp64, "vector", threads, if threads == 4 { 204.0 } else { 100.0 * f64::from(threads) })
        });
        let found = super::super::findings(&rows, &machine);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].text.contains("2.00x from 1 to 2 threads"), "{}", found[0].text);
        assert!(found[1].text.contains("on the 2 cores") && found[1].text.contains("+2.0 %"), "{}", found[1].text);
    }

    #[test]
    fn plain_loops_stand_beside_vectors_of_their_type() {
        let rows = [
            row(Element::Fp64, "vector", 1, 96.0),
            row(Element::Fp64, "plain", 1, 8.0),
            row(Element::Int8, "vector", 1, 760.0),
            row(Element::Int8, "plain", 1, 8.0),
        ];
        let found = codes_and_texts(&rows, 2);
        assert_eq!(found[0].1, "Vector kernels do 12.0 (FP64) to 95 times (INT8) what a plain loop does.");
    }

    #[test]
    fn a_narrow_type_that_is_slower_is_named() {
        let rows = [row(Element::Fp32, "vector", 1, 192.0), row(Element::Bf16, "vector", 1, 96.0)];
        let found = codes_and_texts(&rows, 2);
        assert!(found[0].1.starts_with("BF16 runs at 50 % of the rate of FP32"), "{found:?}");
    }
}
