//! The roofline (Williams, Waterman, Patterson, CACM 52(4), 2009): what a program can reach at most by how many operations
//! it makes of each byte. Here its roofs are measured ones: fused multiply-adds, and the bandwidth of caches and memory.

use model::document::{Document, Row};
use model::experiment::Area;
use model::isa::{CpuOp, Element, MemoryOp, MemoryPattern};
use model::sample::MetricName;
use model::unit::Unit;

use super::shared::{figures, is_of_curve};
use crate::chart::drawing::Chart;
use crate::chart::figure::Figure;
use crate::chart::plot::{Axis, Panel, Plot, Series};
use crate::chart::scale::Reading;
use areas::cpu::label as cpu;
use areas::label;
use areas::memory::label::params as memory;

/// Operations per byte at the left end; at the right end there are at least so many.
const LEAST: f64 = 0.02;
const MOST: f64 = 100.0;

/// A roof of arithmetic: its name and its row.
struct Flat<'a> {
    name: String,
    figure: Figure<'a>,
}

pub(super) fn charts(document: &Document) -> Vec<Chart> {
    let flops: Vec<Figure<'_>> = figures(document, Area::Cpu, MetricName::Throughput)
        .filter(|figure| figure.metric.unit == Unit::FlopPerSecond && figure.value() > 0.0 && is_fma(figure.row))
        .collect();
    let reads: Vec<Figure<'_>> = figures(document, Area::Memory, MetricName::Throughput)
        .filter(|figure| figure.metric.unit == Unit::BytePerSecond && figure.value() > 0.0 && is_read(figure.row))
        .collect();
    let threads_of = |figure: &Figure<'_>| figure.row.params.threads();
    // One number of threads for all roofs: the most that arithmetic and memory both have.
    let both = flops.iter().map(threads_of).filter(|count| reads.iter().any(|read| threads_of(read) == *count));
    let Some(threads) = both.max() else { return Vec::new() };
    let flat = flats(flops.into_iter().filter(|figure| threads_of(figure) == threads).collect());
    let reads: Vec<Figure<'_>> = reads.into_iter().filter(|figure| threads_of(figure) == threads).collect();
    chart(&flat, &reads, threads).into_iter().collect()
}

fn is_fma(row: &Row) -> bool {
    cpu::params(row)
        .is_some_and(|params| params.op == CpuOp::Fma && matches!(params.element, Element::Fp64 | Element::Fp32))
}

/// Whether a row reads in order, through a level of the memory that is known, with nothing else chosen.
fn is_read(row: &Row) -> bool {
    memory(row).is_some_and(|params| {
        let plain = params.block.is_none() && params.nodes.is_none() && params.placement.is_none();
        params.pattern == MemoryPattern::Sequential && params.op == MemoryOp::Read && plain
    }) && (!is_of_curve(row) || level(row).is_some())
}

fn level(row: &Row) -> Option<&str> {
    if is_of_curve(row) { memory(row)?.level.as_deref() } else { Some("dram") }
}

/// The best vectors and the scalar unit of each precision.
fn flats(figures: Vec<Figure<'_>>) -> Vec<Flat<'_>> {
    let mut flats: Vec<Flat<'_>> = Vec::new();
    for figure in figures {
        let Some(params) = cpu::params(figure.row) else { continue };
        let name = format!("{} {}", cpu::precision(params.element), params.isa.title());
        flats.push(Flat { name, figure });
    }
    flats.sort_by(|one, other| other.figure.value().total_cmp(&one.figure.value()));
    flats.truncate(6);
    flats
}

fn chart(flats: &[Flat<'_>], reads: &[Figure<'_>], threads: u32) -> Option<Chart> {
    let top = flats.first()?.figure.value();
    let mut slopes: Vec<(String, Figure<'_>)> = Vec::new();
    for name in ["l1", "l2", "l3", "dram"] {
        let own = reads.iter().filter(|figure| level(figure.row) == Some(name));
        // Of memory itself the row through all of it; of a cache the point in the middle of those it serves.
        let mut own: Vec<Figure<'_>> = own.copied().collect();
        own.sort_by(|one, other| {
            let key = |figure: &Figure<'_>| is_of_curve(figure.row);
            key(one).cmp(&key(other)).then(one.value().total_cmp(&other.value()))
        });
        let chosen = if name == "dram" { own.first() } else { own.get(own.len() / 2) };
        slopes.extend(chosen.map(|figure| (name.to_uppercase(), *figure)));
    }
    let slowest = slopes.iter().map(|(_, figure)| figure.value()).reduce(f64::min)?;
    // As far as the slowest memory's roof meets the highest of arithmetic, and half as far again.
    let right = (top / slowest * 2.0).clamp(MOST, 1e9);
    let x = Axis::new("Operations per byte", Reading::Log(super::super::scale::PLAIN));
    let y = Axis::new("Operations per second", Reading::Log(Unit::FlopPerSecond.into()));
    let title = format!("What binds: arithmetic or memory? ({})", label::threads(threads));
    let mut plot = Plot::new(None, "roofline", &title, x, y);
    plot.head.about = "Floating-point operations per second that can be reached at most, over how many are made of each byte, \
                       both on logarithmic axes: level where measured arithmetic binds, rising where the measured bandwidth \
                       of a cache or of memory does."
        .into();
    plot.head.columns = Figure::columns(Unit::One)
        .into_iter()
        .map(|mut column| {
            column.base.clear();
            column
        })
        .collect();
    let fastest = slopes.iter().map(|(_, figure)| figure.value()).fold(slowest, f64::max);
    let mut series: Vec<Series> = Vec::new();
    for (look, Flat { name, figure }) in flats.iter().enumerate() {
        let ridge = (figure.value() / fastest).clamp(LEAST, right);
        let mut point = figure.point(right, "level");
        (point.peak, point.facts.interval) = (None, None);
        let guide = vec![(ridge, figure.value()), (right, figure.value())];
        series.push(Series {
            name: name.clone(),
            look,
            joined: false,
            points: vec![point],
            guide,
            is_named_above: false,
        });
    }
    for (index, (name, figure)) in slopes.into_iter().enumerate() {
        let ridge = (top / figure.value()).clamp(LEAST, right);
        let mut point = figure.point(ridge, "rising");
        (point.y, point.peak, point.facts.interval) = (ridge * figure.value(), None, None);
        let guide = vec![(LEAST, LEAST * figure.value()), (ridge, ridge * figure.value())];
        let look = flats.len() + index;
        series.push(Series { name, look, joined: false, points: vec![point], guide, is_named_above: true });
    }
    plot.panels.push(Panel { series, ..Panel::default() });
    plot.chart()
}
