//! LINPACK: from which size on does it come near the peak.

use model::document::{Document, Row};
use model::experiment::Area;
use model::linpack::LinpackParams;
use model::sample::MetricName;
use model::unit::Unit;

use super::shared::{figures, samples, sides, widest};
use crate::chart::drawing::{Chart, Head};
use crate::chart::figure::{Figure, Group, grouped, lines, names};
use crate::chart::plot::{Axis, Panel, Plot};
use crate::chart::scale::Reading;
use areas::label::{Axis as Places, threads};
use areas::linpack::label::params;

pub(super) fn charts(document: &Document) -> Vec<Chart> {
    let all: Vec<Figure<'_>> = figures(document, Area::Linpack, MetricName::Throughput).collect();
    let mut head = Head::new(Some(Area::Linpack), "linpack-sides", "LINPACK beside its peak and other solvers");
    head.about =
        "Floating-point operations per second with the most threads, beside the theoretical peak and what trusted \
                  tools measured."
            .into();
    let most = widest(all.iter().copied());
    [over_size(&all), sides(head, &most), samples(Area::Linpack, "linpack-samples", &most)]
        .into_iter()
        .flatten()
        .collect()
}

/// What a row shares with those of other sizes.
fn by_size(row: &Row) -> Option<(String, f64)> {
    let params = params(row)?;
    let same = LinpackParams { n: 0, lda: 0, nb: None, ..params.clone() };
    Some((format!("{same:?}"), params.n as f64))
}

fn over_size(all: &[Figure<'_>]) -> Option<Chart> {
    let groups = lines(grouped(all.iter().copied(), by_size));
    let x = Axis::new("Order N of the system", Reading::Numbers);
    let y = Axis::new("Operations per second", Reading::Linear(Unit::FlopPerSecond.into()));
    let title = "From which size on does LINPACK reach its rate?";
    let mut plot = Plot::new(Some(Area::Linpack), "linpack-over-size", title, x, y);
    plot.head.about =
        "Floating-point operations per second over the order of the system, a line for each number of threads \
                       and solver, with the theoretical peak as a dash at each point."
            .into();
    plot.head.columns = Figure::columns(Unit::FlopPerSecond);
    let rows: Vec<&Row> = groups.iter().map(Group::first).collect();
    let names = names(&rows, Places::Threads);
    let series = groups.iter().zip(names).take(super::shared::MOST_LINES).enumerate().map(|(look, (group, name))| {
        let order = params(group.first()).map(|params| format!("N = {}", params.n)).unwrap_or_default();
        let count = threads(group.first().params.threads());
        let rest: Vec<&str> = name.split(", ").filter(|token| *token != order && *token != "LINPACK").collect();
        let rest = rest.join(", ").replace(&order, "");
        let own = [rest.trim(), &count].iter().filter(|part| !part.is_empty()).copied().collect::<Vec<_>>().join(", ");
        group.series(own, look, |n| format!("N = {n:.0}"))
    });
    let series = series.collect();
    plot.panels.push(Panel { series, ..Panel::default() });
    plot.chart()
}
