//! The roofline (Williams, Waterman, Patterson, CACM 52(4), 2009): the highest rate of a program by its operations per
//! byte. Its roofs are measured: fused multiply-adds, and the bandwidth of caches and memory.

use model::document::{Document, Row};
use model::experiment::Area;
use model::isa::{CpuOp, Element, MemoryOp, MemoryPattern};
use model::number::three;
use model::sample::MetricName;
use model::unit::Unit;

use super::builders::is_of_curve;
use super::data::{Body, Chart, ChartAxis, Look, Plot, Series};
use super::measured::Measured;
use crate::cpu::label as cpu;
use crate::label::threads;
use crate::memory::charts::is_plain;
use crate::memory::label::params as memory;

const LEAST: f64 = 0.02;
const MOST: f64 = 100.0;
const MOST_FLAT: usize = 6;

const ABOUT: &str = "The highest rate of floating-point operations over the operations per byte, both on logarithmic axes: \
                     flat where measured arithmetic is the limit, rising where the bandwidth of a cache or of memory is.";

type Roof<'a> = (String, Measured<'a>);

pub(super) fn chart(document: &Document) -> Option<Chart> {
    let all = |area, unit, holds: fn(&Row) -> bool| {
        let mut all = Measured::all(document, area, MetricName::Throughput);
        all.retain(|own| own.metric.unit == unit && own.value() > 0.0 && !own.is_crowded() && holds(own.row));
        all
    };
    let mut flops = all(Area::Cpu, Unit::FlopPerSecond, is_fma);
    let mut reads = all(Area::Memory, Unit::BytePerSecond, is_read);
    // One number of threads for all roofs: the most that arithmetic and memory both have.
    let both = flops.iter().map(Measured::threads).filter(|count| reads.iter().any(|read| read.threads() == *count));
    let count = both.max()?;
    for all in [&mut flops, &mut reads] {
        all.retain(|own| own.threads() == count);
    }
    drawn(&flat(&flops), &sloped(&reads), count)
}

fn is_fma(row: &Row) -> bool {
    cpu::params(row)
        .is_some_and(|params| params.op == CpuOp::Fma && matches!(params.element, Element::Fp64 | Element::Fp32))
}

/// Whether a result reads sequentially from a known level, with nothing else chosen.
fn is_read(row: &Row) -> bool {
    let holds = |params| is_plain(params, MemoryPattern::Sequential) && params.op == MemoryOp::Read;
    memory(row).is_some_and(holds) && level(row).is_some()
}

fn level(row: &Row) -> Option<&str> {
    if is_of_curve(row) { memory(row)?.level.as_deref() } else { Some("dram") }
}

fn flat<'a>(flops: &[Measured<'a>]) -> Vec<Roof<'a>> {
    let roof = |own: &Measured<'a>| {
        let params = cpu::params(own.row)?;
        Some((format!("{} {}", cpu::precision(params.element), params.isa.title()), *own))
    };
    let mut roofs: Vec<Roof<'a>> = flops.iter().filter_map(roof).collect();
    roofs.sort_by(|(_, one), (_, other)| other.value().total_cmp(&one.value()));
    roofs.truncate(MOST_FLAT);
    roofs
}

/// Each level's bandwidth: of a cache that of the middle point, of memory that of the result through all of it.
fn sloped<'a>(reads: &[Measured<'a>]) -> Vec<Roof<'a>> {
    let roof = |name: &str| {
        let mut own: Vec<_> = reads.iter().filter(|own| level(own.row) == Some(name)).collect();
        own.sort_by(|one, other| {
            is_of_curve(one.row).cmp(&is_of_curve(other.row)).then(one.value().total_cmp(&other.value()))
        });
        let chosen = if name == "dram" { own.first() } else { own.get(own.len() / 2) };
        chosen.map(|own| (name.to_uppercase(), **own))
    };
    ["l1", "l2", "l3", "dram"].into_iter().filter_map(roof).collect()
}

fn drawn(flat: &[Roof<'_>], sloped: &[Roof<'_>], count: u32) -> Option<Chart> {
    let top = flat.first()?.1.value();
    let bandwidths = || sloped.iter().map(|(_, own)| own.value());
    let (slowest, fastest) = (bandwidths().reduce(f64::min)?, bandwidths().reduce(f64::max)?);
    // Twice as far as the point where the lowest slope meets the highest flat roof.
    let right = (top / slowest * 2.0).clamp(MOST, 1e9);
    let series = |(look, (name, own)): (usize, &Roof<'_>), from: (f64, f64), to: (f64, f64)| {
        let mut point = own.point(to.0);
        (point.y, point.limit, point.mark.interval) = (to.1, None, None);
        let look = Look::nth(look, None);
        Series { joined: false, guide: vec![from, to], ..Series::line(name.clone(), look, vec![point]) }
    };
    let level = flat.iter().enumerate().map(|(look, roof)| {
        let value = roof.1.value();
        series((look, roof), ((value / fastest).clamp(LEAST, right), value), (right, value))
    });
    let rising = sloped.iter().enumerate().map(|(index, roof)| {
        let (value, look) = (roof.1.value(), flat.len() + index);
        let ridge = (top / value).clamp(LEAST, right);
        let series = series((look, roof), (LEAST, LEAST * value), (ridge, ridge * value));
        Series { is_named_above: true, ..series }
    });
    let x = ChartAxis::log("Operations per byte", Unit::One);
    let y = ChartAxis::log("Operations per second", Unit::FlopPerSecond);
    let observation = sloped.iter().rev().find(|(name, _)| name == "DRAM").map(|(_, memory)| {
        let (name, best) = &flat[0];
        let ridge = three(best.value() / memory.value());
        format!("{name} needs {ridge} operations per byte from memory; with fewer, memory is the limit.")
    });
    Some(Chart {
        observation: observation.unwrap_or_default(),
        name: "roofline",
        area: None,
        title: format!("What is the limit: arithmetic or memory? ({})", threads(count)),
        about: ABOUT.to_owned(),
        body: Body::Plot(Plot::single(x, y, level.chain(rising).collect())),
    })
}
