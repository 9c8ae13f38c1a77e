//! Latency of a disk by offered load.

use model::document::{Row, Status};
use model::experiment::{Area, DiskParams};
use model::sample::{MetricName, Percentiles};
use model::unit::Unit;

use areas::chart::grid::{Cell, Column, Grid, GridLine};
use areas::disk::label::{other_words, params, sync_words};
use areas::label::{area_title, block_words};
use model::number::{Notation, quantity};

/// The measured open-loop rows.
pub(super) fn grid(area: Area, rows: &[&Row]) -> Grid {
    let columns = vec![
        Column::text("What"),
        Column::number("Depth"),
        Column::number("Threads"),
        Column::number("Load").base(Unit::One),
        Column::number("Rate").base(Unit::PerSecond),
        Column::number("p50").base(Unit::Second),
        Column::number("p99").base(Unit::Second),
        Column::number("p99.9").base(Unit::Second),
        Column::number("Began late").base(Unit::One),
    ];
    let title = format!("{}: latency by offered load", area_title(area));
    let mut grid = Grid::new(format!("{area}-loads"), Some(area), title, columns);
    let line = |row: &&Row| {
        let own = params(row).filter(|_| row.status == Status::Ok)?;
        Some(GridLine::of(row, cells(row, own, own.load_percent?)))
    };
    grid.lines = rows.iter().filter_map(line).collect();
    if !grid.lines.is_empty() {
        grid.notes.push(NOTE.to_owned());
    }
    grid
}

const NOTE: &str = "Load: offered rate as a percentage of the highest rate, measured just before. Began late: requests that \
                    waited for a free place in the queue; the wait is part of the latency.";

fn cells(row: &Row, own: &DiskParams, load: u32) -> Vec<Cell> {
    let percentiles = row.metric(MetricName::Latency).and_then(|latency| latency.summary.percentiles);
    let time = |of: fn(&Percentiles) -> f64| Cell::seconds(percentiles.as_ref().map(of));
    let rate = row.metric(MetricName::Iops).map(|rate| rate.summary.median);
    let late = row.conditions.disk.as_ref().and_then(|seen| seen.late_share);
    let mut what = vec![format!("{} {} {}", own.op, own.pattern, block_words(own.block))];
    what.extend(Some(sync_words(own.sync).to_owned()).filter(|words| !words.is_empty()));
    what.extend(other_words(own));
    vec![
        Cell::text(what.join(", ")),
        Cell::count(own.depth),
        Cell::count(own.threads),
        Cell::number(Some(f64::from(load) / 100.0), |_| format!("{load} %")),
        Cell::number(rate, |rate| quantity(rate, Notation::Iops)),
        time(|found| found.p50),
        time(|found| found.p99),
        time(|found| found.p99_9),
        Cell::share(late),
    ]
}
