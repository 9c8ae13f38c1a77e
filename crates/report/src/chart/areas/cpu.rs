//! Arithmetic: does it scale, how much of the peak is reached, what do vectors bring.

use model::document::{Document, Row};
use model::experiment::Area;
use model::isa::{CpuOp, Element, Isa};
use model::sample::MetricName;
use model::unit::Unit;

use super::shared::{self, Over, PEAK, by_threads, figure_columns, figures, kind, limit, own, samples, sides, widest};
use crate::chart::dots::{DotLine, Dots};
use crate::chart::drawing::{Chart, Head};
use crate::chart::figure::{Figure, Group, grouped, lines};
use crate::chart::plot::Axis;
use crate::chart::scale::Reading;
use crate::chart::svg::Shape;
use areas::cpu::label as cpu;
use areas::label::{self, Axis as Places};

/// Operations, whatever is operated on: a chart has integers beside floating point.
const OPERATIONS: Reading = Reading::Auto(model::number::Notation::Plain(Unit::OpPerSecond));

pub(super) fn charts(document: &Document) -> Vec<Chart> {
    let of = |row: &Row| cpu::params(row).is_some_and(|params| params.op != CpuOp::AllPipes);
    let all: Vec<Figure<'_>> =
        figures(document, Area::Cpu, MetricName::Throughput).filter(|figure| of(figure.row)).collect();
    let groups = best_of_each(grouped(all.iter().copied(), by_threads));
    let headline: Vec<Figure<'_>> =
        groups.iter().filter_map(|group| group.figures.last()).map(|(_, figure)| *figure).collect();
    let mut peaks = widest(all.iter().copied());
    peaks.sort_by_key(|figure| cpu::order(figure.row));
    let groups = lines(groups);
    [
        throughput().chart(groups.clone()),
        efficiency().efficiencies(groups),
        plain_and_vector(&all),
        sides(sides_head(), &peaks),
        samples(Area::Cpu, "cpu-samples", &headline),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn throughput() -> Over {
    Over {
        area: Area::Cpu,
        name: "cpu-throughput-over-threads",
        title: "Does arithmetic scale with threads?".into(),
        about:
            "Operations per second over threads, a line for the best kernel of each precision, with the theoretical \
                peak as a dash at each point."
                .into(),
        x: Axis::new("Threads", Reading::Counts),
        y: Axis::new("Operations per second", OPERATIONS),
        places: Places::Threads,
        limit: PEAK,
    }
}

fn efficiency() -> Over {
    Over {
        name: "cpu-efficiency-over-threads",
        title: "How much of the peak does arithmetic reach?".into(),
        about:
            "The share of the theoretical peak that was reached over threads, for the best kernel of each precision."
                .into(),
        y: Axis::new("Of the peak", Reading::Share),
        ..throughput()
    }
}

fn sides_head() -> Head {
    let mut head = Head::new(Some(Area::Cpu), "cpu-sides", "Measured and theory, kernel by kernel");
    head.about =
        "Operations per second of each kernel with the most threads, beside its theoretical peak and what trusted \
                  tools measured."
            .into();
    head
}

/// Of each precision the kernel that does most at a time, in the order of their table; ordinary loops only where there is
/// nothing else.
fn best_of_each(mut groups: Vec<Group<'_>>) -> Vec<Group<'_>> {
    let is_bound = |group: &Group<'_>| cpu::params(group.first()).is_some_and(|params| params.op == CpuOp::Add);
    groups.retain(|group| !is_bound(group));
    groups.sort_by_key(|group| cpu::order(group.first()));
    let mut seen: Vec<Element> = Vec::new();
    groups.retain(|group| {
        let element = cpu::params(group.first()).map(|params| params.element);
        element.is_some_and(|element| {
            let is_new = !seen.contains(&element);
            seen.push(element);
            is_new
        })
    });
    groups
}

/// What an ordinary loop reaches, and what vectors do.
fn is_plain(row: &Row) -> bool {
    cpu::params(row).is_some_and(|params| params.op == CpuOp::Plain || params.isa == Isa::Scalar)
}

/// Of each precision the ordinary loop beside the best vector kernel, with as many threads as both have.
fn plain_and_vector(all: &[Figure<'_>]) -> Option<Chart> {
    let mut pairs: Vec<(Element, Figure<'_>, Figure<'_>)> = Vec::new();
    for element in Element::ALL {
        let of = |plain: bool| {
            let own = all.iter().filter(move |figure| {
                is_plain(figure.row) == plain
                    && cpu::params(figure.row).is_some_and(|params| params.element == *element)
            });
            own.copied().collect::<Vec<Figure<'_>>>()
        };
        let vectors = of(false);
        let both = of(true).into_iter().flat_map(|plain| {
            let threads = plain.row.params.threads();
            let same = vectors.iter().filter(move |vector| vector.row.params.threads() == threads);
            same.map(move |vector| (plain, *vector)).collect::<Vec<_>>()
        });
        // The most threads; then the loop as compilers make it rather than one instruction at a time; the best vectors.
        let best = both.max_by(|one, other| {
            let rank = |(plain, vector): &(Figure<'_>, Figure<'_>)| {
                let is_loop = cpu::params(plain.row).is_some_and(|params| params.op == CpuOp::Plain);
                (plain.row.params.threads(), is_loop, vector.value())
            };
            let (one, other) = (rank(one), rank(other));
            one.0.cmp(&other.0).then(one.1.cmp(&other.1)).then(one.2.total_cmp(&other.2))
        });
        pairs.extend(best.map(|(plain, vector)| (*element, plain, vector)));
    }
    let (plain, vector, peak) = (0, 1, 2);
    let threads = label::same(pairs.iter().map(|(_, loops, _)| loops.row.params.threads()));
    let lines = pairs.into_iter().map(|(element, loops, vectors)| {
        let ratio = vectors.value() / loops.value();
        let note = if ratio.is_finite() { format!("{ratio:.1}x") } else { String::new() };
        let precision = cpu::precision(element);
        let own_threads = label::threads(loops.row.params.threads());
        let label = if threads.is_some() { precision } else { format!("{precision}, {own_threads}") };
        let marks = [Some(own(&loops, plain)), Some(own(&vectors, vector)), limit(&vectors, peak), limit(&loops, peak)];
        DotLine { label, note, marks: marks.into_iter().flatten().collect(), samples: Vec::new() }
    });
    let lines: Vec<DotLine> = lines.collect();
    let beside = threads.map_or_else(String::new, |threads| format!(" ({})", label::threads(threads)));
    let mut head = Head::new(Some(Area::Cpu), "cpu-plain-and-vector", &format!("What do vectors bring?{beside}"));
    head.about =
        "Operations per second of an ordinary scalar loop and of the best vector kernel of each precision, with the \
                  theoretical peak of each; how many times faster vectors are stands at the end of each line."
            .into();
    head.columns = figure_columns(Unit::OpPerSecond);
    let kinds = vec![
        kind("scalar", Shape::Square, Some(1)),
        kind("vector", Shape::Circle, Some(0)),
        kind("theoretical peak", Shape::Bar, None),
    ];
    let axis = Axis::new(shared::axis_title(Unit::OpPerSecond), OPERATIONS);
    Dots { head, axis, kinds, lines, spanned: true }.chart()
}
