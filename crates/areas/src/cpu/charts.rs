//! Charts of arithmetic: scaling, and the gain by vectors.

use std::cmp::Reverse;

use model::document::{Document, Row};
use model::experiment::Area;
use model::isa::{CpuOp, Element, Isa};
use model::number::Notation;
use model::number::brief::times;
use model::sample::MetricName;
use model::unit::Unit;

use super::label::{order, params, precision};
use crate::chart::builders::{Over, PEAK, kind, tools};
use crate::chart::measured::{Curve, Measured, by_threads, curves};
use crate::chart::observed::{Seen, factors};
use crate::chart::{Body, Chart, ChartAxis, DotLine, Dots, Hue, Reading, Shape};
use crate::label::{Axis, same, threads};

/// Operations of any type: a chart has integers as well as floating point.
const OPERATIONS: ChartAxis =
    ChartAxis::new("Operations per second", Reading::Auto(Notation::Plain(Unit::OpPerSecond)));

const THROUGHPUT: Over = Over {
    area: Area::Cpu,
    name: "cpu-throughput-over-threads",
    title: "Does arithmetic scale with threads?",
    about: "Operations per second of the best kernel of each precision by threads, with the theoretical peak where it \
            is known.",
    x: ChartAxis::THREADS,
    y: OPERATIONS,
    places: Axis::Threads,
    limit: PEAK,
};

pub(crate) fn charts(document: &Document) -> Vec<Chart> {
    let mut all = Measured::all(document, Area::Cpu, MetricName::Throughput);
    all.retain(|measured| params(measured.row).is_some_and(|params| params.op != CpuOp::AllPipes));
    let best = best_of_each(curves(&all, 2, by_threads));
    let own = [THROUGHPUT.medians(best), Some(plain_and_vector(&all))].into_iter().flatten();
    let tools = tools(document, Area::Cpu, ["cpu-tools", "cpu-tools-latency"]);
    own.chain(tools).collect()
}

/// The kernel of each precision with the most operations per instruction, in the order of the table.
fn best_of_each(mut curves: Vec<Curve<'_>>) -> Vec<Curve<'_>> {
    curves.sort_by_key(|curve| order(curve.first()));
    let mut seen: Vec<Element> = Vec::new();
    curves.retain(|curve| {
        let element = params(curve.first()).filter(|params| params.op != CpuOp::Add).map(|params| params.element);
        let is_new = element.filter(|element| !seen.contains(element));
        seen.extend(is_new);
        is_new.is_some()
    });
    curves
}

fn is_plain(row: &Row) -> bool {
    params(row).is_some_and(|params| params.op == CpuOp::Plain || params.isa == Isa::Scalar)
}

/// The ordinary loop and the best vector kernel of a precision, with the fewest threads that both have.
fn plain_and_best<'a>(all: &[Measured<'a>], element: Element) -> Option<(Measured<'a>, Measured<'a>)> {
    let of = |plain: bool| {
        let is_its = move |row: &Row| is_plain(row) == plain && params(row).is_some_and(|own| own.element == element);
        all.iter().copied().filter(move |measured| is_its(measured.row))
    };
    let both = of(true).flat_map(|plain| {
        let same = of(false).filter(move |vector| vector.threads() == plain.threads());
        same.map(move |vector| (plain, vector))
    });
    // After the threads: the loop as compilers make it rather than one instruction at a time; the best vectors.
    let is_loop = |plain: &Measured<'_>| params(plain.row).is_some_and(|params| params.op == CpuOp::Plain);
    both.max_by(|(plain, vector), (other_plain, other_vector)| {
        let rank = |plain: &Measured<'_>| (Reverse(plain.threads()), is_loop(plain));
        rank(plain).cmp(&rank(other_plain)).then(vector.value().total_cmp(&other_vector.value()))
    })
}

fn plain_and_vector(all: &[Measured<'_>]) -> Chart {
    let pairs = Element::ALL.iter().filter_map(|element| Some((*element, plain_and_best(all, *element)?)));
    let pairs: Vec<_> = pairs.collect();
    let common = same(pairs.iter().map(|(_, (plain, _))| plain.threads()));
    let seen = pairs.iter().filter_map(|(element, (plain, vector))| Seen::ratio(&precision(*element), plain, vector));
    let observation = factors(seen).map(|gains| format!("The vector kernel is {gains} as fast as the scalar loop."));
    let lines = pairs.into_iter().map(|(element, (plain, vector))| {
        let note = Seen::ratio("", &plain, &vector).map_or_else(String::new, |ratio| times(ratio.value));
        let precision = precision(element);
        let label = if common.is_some() { precision } else { format!("{precision}, {}", threads(plain.threads())) };
        let marks = [Some(plain.dot(0)), Some(vector.dot(1)), vector.limit_dot(2), plain.limit_dot(2)];
        DotLine { label, note, marks: marks.into_iter().flatten().collect(), samples: Vec::new() }
    });
    let kinds = vec![
        kind("scalar", Shape::Square, Some(Hue::Plain(1))),
        kind("vector", Shape::Circle, Some(Hue::Plain(0))),
        kind(PEAK, Shape::Bar, None),
    ];
    let body = Body::Dots(Dots { axis: OPERATIONS, kinds, lines: lines.collect(), spanned: true });
    let words = [
        "cpu-plain-and-vector",
        "What do vectors bring?",
        "Operations per second of a plain scalar loop and of the best vector kernel, per precision, with their \
         theoretical peaks. The end of each line has the ratio.",
    ];
    let chart = Chart::new(Area::Cpu, words, body);
    let mut chart = chart.observed(observation);
    if let Some(common) = common {
        chart.title = format!("{} ({})", chart.title, threads(common));
    }
    chart
}
