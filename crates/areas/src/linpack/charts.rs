//! Charts of LINPACK: from which order on it reaches its rate.

use std::collections::BTreeSet;

use model::document::{Document, Row};
use model::experiment::Area;
use model::linpack::LinpackParams;
use model::number::{Notation, percent_whole};
use model::sample::MetricName;
use model::unit::Unit;

use super::label::params;
use crate::chart::builders::tools;
use crate::chart::measured::{Curve, Measured, curves, names, uncrowded};
use crate::chart::observed::{Seen, range};
use crate::chart::{Body, Chart, ChartAxis, Look, Plot, Reading};
use crate::label::{Axis, threads};

const OVER_SIZE: [&str; 3] = [
    "linpack-over-size",
    "From which size on does LINPACK reach its rate?",
    "Floating-point operations per second over the order of the system, a line for each number of threads and solver, \
     with the theoretical peak as a dash at each point.",
];

pub(crate) fn charts(document: &Document) -> Vec<Chart> {
    let all = Measured::all(document, Area::Linpack, MetricName::Throughput);
    let tools = tools(document, Area::Linpack, ["linpack-tools", "linpack-tools-latency"]);
    std::iter::once(over_size(&uncrowded(&all))).chain(tools).collect()
}

fn by_size(row: &Row) -> Option<(String, f64)> {
    let params = params(row)?;
    let same = LinpackParams { n: 0, lda: 0, nb: None, ..params.clone() };
    Some((format!("{same:?}"), params.n as f64))
}

/// The share of the highest rate from which on a rate is reached.
const REACHED: f64 = 0.9;

/// The order from which on a curve stays near its highest rate.
fn reached(curve: &Curve<'_>, name: &str) -> Option<Seen> {
    let top = curve.points.iter().map(|(_, own)| own.value()).reduce(f64::max)?;
    let below = curve.points.iter().rposition(|(_, own)| own.value() < REACHED * top);
    let (n, first) = curve.points.get(below.map_or(0, |last| last + 1))?;
    Some(Seen { value: *n, name: name.to_owned(), is_doubtful: first.is_doubtful() })
}

fn over_size(all: &[Measured<'_>]) -> Chart {
    let mut curves = curves(all, 3, by_size);
    let rows: Vec<&Row> = curves.iter().map(Curve::first).collect();
    let names = names(&rows, Axis::Threads);
    curves.truncate(10);
    let counts: BTreeSet<u32> = curves.iter().map(|curve| curve.first().params.threads()).collect();
    let named = curves.iter().zip(names).map(|(curve, name)| {
        let order = params(curve.first()).map(|params| format!("N = {}", params.n)).unwrap_or_default();
        let rest: Vec<&str> = name.split(", ").filter(|token| *token != order && *token != "LINPACK").collect();
        let rest = rest.join(", ").replace(&order, "");
        let parts = [rest.trim(), &threads(curve.first().params.threads())];
        (curve, parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", "))
    });
    let named: Vec<(&Curve<'_>, String)> = named.collect();
    let seen = named.iter().filter_map(|(curve, name)| reached(curve, name));
    let observation = range(seen, |n| format!("N = {n:.0}"));
    let observation =
        observation.map(|from| format!("LINPACK reaches {} of its highest rate at {from}.", percent_whole(REACHED)));
    let series = named.into_iter().enumerate().map(|(index, (curve, name))| {
        let step = counts.iter().position(|count| *count == curve.first().params.threads()).unwrap_or(0);
        let look = Look { hue: Look::step(step, counts.len()).hue, ..Look::nth(index, None) };
        curve.series(name, look)
    });
    let x = ChartAxis::new("Order N of the system", Reading::Numbers);
    let y = ChartAxis::new("Operations per second", Reading::Linear(Notation::Plain(Unit::FlopPerSecond)));
    let body = Body::Plot(Plot::single(x, y, series.collect()));
    Chart::new(Area::Linpack, OVER_SIZE, body).observed(observation)
}
