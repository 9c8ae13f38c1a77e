//! Charts of LINPACK: from which order on it reaches its rate.

use model::document::{Document, Row};
use model::experiment::Area;
use model::linpack::LinpackParams;
use model::number::Notation;
use model::sample::MetricName;
use model::unit::Unit;

use super::label::params;
use crate::chart::builders::{PEAK, samples, sides};
use crate::chart::measured::{Curve, Measured, curves, median_columns, names, widest};
use crate::chart::{Body, Chart, ChartAxis, Plot, Reading};
use crate::label::{Axis, threads};

const SIDES: [&str; 3] = [
    "linpack-sides",
    "LINPACK compared with its peak and other solvers",
    "Floating-point operations per second with the most threads, with the theoretical peak and the values of reference \
     tools.",
];

const OVER_SIZE: [&str; 3] = [
    "linpack-over-size",
    "From which size on does LINPACK reach its rate?",
    "Floating-point operations per second over the order of the system, a line for each number of threads and solver, \
     with the theoretical peak as a dash at each point.",
];

pub(crate) fn charts(document: &Document) -> Vec<Chart> {
    let all = Measured::all(document, Area::Linpack, MetricName::Throughput);
    let widest = widest(&all);
    let sides = sides(Area::Linpack, SIDES, PEAK, &widest);
    [Some(over_size(&all)), sides, samples("linpack-samples", &widest)].into_iter().flatten().collect()
}

fn by_size(row: &Row) -> Option<(String, f64)> {
    let params = params(row)?;
    let same = LinpackParams { n: 0, lda: 0, nb: None, ..params.clone() };
    Some((format!("{same:?}"), params.n as f64))
}

fn over_size(all: &[Measured<'_>]) -> Chart {
    let mut curves = curves(all, 2, by_size);
    let rows: Vec<&Row> = curves.iter().map(Curve::first).collect();
    let names = names(&rows, Axis::Threads);
    curves.truncate(10);
    let series = curves.iter().zip(names).enumerate().map(|(look, (curve, name))| {
        let order = params(curve.first()).map(|params| format!("N = {}", params.n)).unwrap_or_default();
        let rest: Vec<&str> = name.split(", ").filter(|token| *token != order && *token != "LINPACK").collect();
        let rest = rest.join(", ").replace(&order, "");
        let parts = [rest.trim(), &threads(curve.first().params.threads())];
        let name = parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ");
        curve.series(name, look, |n| format!("N = {n:.0}"))
    });
    let x = ChartAxis::new("Order N of the system", Reading::Numbers);
    let y = ChartAxis::new("Operations per second", Reading::Linear(Notation::Plain(Unit::FlopPerSecond)));
    let body = Body::Plot(Plot::single(x, y, series.collect()));
    Chart::new(Area::Linpack, OVER_SIZE, median_columns(Some(Unit::FlopPerSecond)), body)
}
