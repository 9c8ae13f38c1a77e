//! What the rows of arithmetic say together: how vectors scale, what second threads on a core add, and what SIMD gains
//! over a plain loop.

use model::document::{Finding, Row};
use model::experiment::{Area, Params};
use model::isa::Element;
use model::machine::Machine;

use super::figure::rate;
use super::rules::Code;
use super::scaling;
use super::words::{joined, percent, times};

/// All findings of arithmetic, of its quiet rows and their series.
pub fn findings(quiet: &[&Row], series: &[Vec<&Row>], machine: &Machine) -> Vec<Finding> {
    let cores = machine.cpu.one_per_core(&machine.cpu.available_cpus).len();
    let cores = if cores == 0 { usize::MAX } else { cores };
    let of = |wanted: fn(&Row) -> bool| -> Vec<&Vec<&Row>> {
        series.iter().filter(|rows| rows.first().is_some_and(|row| wanted(row))).collect()
    };
    let mut vector = of(|row| is(row, "vector"));
    if vector.is_empty() {
        vector = of(|_| true);
    }
    // Second threads of a core share its pipes: what they add is told by itself.
    let on_cores = |rows: &&Vec<&'_ Row>| rows.iter().filter(|row| threads(row) <= cores).count();
    let full: Vec<Vec<&Row>> = vector.iter().map(|rows| rows[..on_cores(rows)].to_vec()).collect();
    let mut findings = scaling::findings(Area::Cpu, &full, machine);
    findings.extend(plain(quiet));
    findings.extend(second_threads(&vector, cores));
    findings
}

/// Whether a row answers this class of the classic table.
fn is(row: &Row, class: &str) -> bool {
    row.classic.as_ref().and_then(|classic| classic.class.as_deref()) == Some(class)
}

fn threads(row: &Row) -> usize {
    row.params.threads() as usize
}

/// What second threads on the cores add.
fn second_threads(series: &[&Vec<&Row>], cores: usize) -> Option<Finding> {
    let pair = |rows: &&Vec<&'_ Row>| -> Option<(f64, usize, usize)> {
        let one = rows.iter().position(|row| threads(row) == cores)?;
        let two = rows.iter().position(|row| threads(row) > cores)?;
        Some((rate(rows[two])?.median / rate(rows[one])?.median - 1.0, one, two))
    };
    let found: Vec<(f64, &Row, &Row)> =
        series.iter().filter_map(|rows| pair(rows).map(|(gain, one, two)| (gain, rows[one], rows[two]))).collect();
    let least = found.iter().copied().min_by(|a, b| a.0.total_cmp(&b.0))?;
    let most = found.iter().copied().max_by(|a, b| a.0.total_cmp(&b.0))?;
    let change = |gain: f64| format!("{}{}", if gain < 0.0 { "-" } else { "+" }, percent(gain.abs()));
    let fields = [("cores", cores.to_string()), ("least", change(least.0)), ("most", change(most.0))];
    Some(Code::SecondThreads.tell(Area::Cpu, &fields, &[least.1, least.2, most.1, most.2]))
}

/// The rows of a class on one thread.
fn of_class<'a>(rows: &[&'a Row], class: &'static str) -> impl Iterator<Item = &'a Row> {
    rows.iter().copied().filter(move |row| threads(row) == 1 && is(row, class))
}

fn element(row: &Row) -> Option<Element> {
    if let Params::Cpu(params) = &row.params { Some(params.element) } else { None }
}

/// How far a vector kernel is ahead of a plain loop of the same type, on one thread, type by type.
fn plain(rows: &[&Row]) -> Option<Finding> {
    let mut gains: Vec<String> = Vec::new();
    let mut evidence: Vec<&Row> = Vec::new();
    for wanted in Element::ALL {
        let of = |class| of_class(rows, class).find(|row| element(row) == Some(*wanted));
        let (Some(plain), Some(vector)) = (of("plain"), of("vector")) else { continue };
        let gain = rate(vector).zip(rate(plain)).and_then(|(vector, plain)| vector.differs(plain));
        if let Some(gain) = gain {
            gains.push(format!("{} {}", wanted.name().to_uppercase(), times(gain)));
            evidence.extend([plain, vector]);
        }
    }
    (!gains.is_empty()).then(|| Code::PlainBehindVector.tell(Area::Cpu, &[("gains", joined(&gains))], &evidence))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::tests::known;
    use crate::tests::{AREAS, document, machine_with_cpus};
    use model::experiment::Classic;
    use model::isa::{CpuOp, Isa};

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
        known(&mut row.metrics[0].summary, rate);
        row
    }

    fn codes_and_texts(rows: &[Row], cpus: u32) -> Vec<(String, String)> {
        let found = super::super::findings(rows, &machine_with_cpus(cpus), AREAS);
        found.into_iter().map(|one| (one.code, one.text)).collect()
    }

    fn text(rows: &[Row], cpus: u32, code: &str) -> String {
        let found = codes_and_texts(rows, cpus);
        found.iter().find(|(own, _)| own == code).unwrap_or_else(|| panic!("no {code} in {found:?}")).1.clone()
    }

    #[test]
    fn many_series_are_one_sentence_that_names_the_exception() {
        let mut rows = Vec::new();
        for (element, factor) in
            [(Element::Fp64, 1.99), (Element::Fp32, 1.98), (Element::Int8, 1.40), (Element::Int16, 1.97)]
        {
            rows.extend([row(element, "vector", 1, 100.0), row(element, "vector", 2, 100.0 * factor)]);
        }
        let told = text(&rows, 2, "scaling_many");
        let expected = "Of 4 kinds of work 3 scale, 1 stays below 80 %, least INT8 FMA: 1.40x from 1 to 2 threads.";
        assert_eq!(told, expected);
        rows[5].conditions.clock_hz = Some(2.1e9);
        rows[4].conditions.clock_hz = Some(3e9);
        assert!(text(&rows, 2, "scaling_many").ends_with("threads: the clock falls from 3.00 GHz to 2.10 GHz."));
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
        let found = super::super::findings(&rows, &machine, AREAS);
        let text = |code: &str| found.iter().find(|one| one.code == code).unwrap().text.clone();
        assert!(text("scaling_linear").contains("2.00x from 1 to 2 threads"), "{found:?}");
        assert!(text("second_threads").contains("on the 2 cores") && text("second_threads").contains("+2.0 %"));
    }

    #[test]
    fn plain_loops_stand_beside_vectors_of_their_type() {
        let rows = [
            row(Element::Fp64, "vector", 1, 96.0),
            row(Element::Fp64, "plain", 1, 8.0),
            row(Element::Int8, "vector", 1, 760.0),
            row(Element::Int8, "plain", 1, 8.0),
        ];
        let told = text(&rows, 2, "plain_behind_vector");
        assert_eq!(told, "SIMD gain over a plain loop of the same type, one thread: FP64 12.0x and INT8 95.0x.");
    }
}
