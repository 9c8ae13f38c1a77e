//! Latency of a disk by offered load.

use model::document::{Row, Status};
use model::experiment::{Area, DiskParams};
use model::sample::{MetricName, Percentiles};
use model::unit::Unit;

use super::table::{ColumnOf, table};
use areas::chart::grid::{Cell, Column, Grid, GridLine};
use areas::disk::label::{other_words, params, sync_words};
use areas::label::{area_title, block_words};
use model::number::{Notation, quantity};

pub(super) fn grid(area: Area, rows: &[&Row]) -> Grid {
    let time = |row: &Row, of: fn(&Percentiles) -> f64| {
        let latency = row.metric(MetricName::Latency).and_then(|latency| latency.summary.percentiles);
        Cell::seconds(latency.as_ref().map(of))
    };
    let rate = |row: &Row| row.metric(MetricName::Iops).map(|rate| rate.summary.median);
    let late = |row: &Row| row.conditions.disk.as_ref().and_then(|seen| seen.late_share);
    let columns: [ColumnOf<'_, (&Row, &DiskParams, u32)>; 9] = [
        (Column::text("What"), &|(_, own, _)| Cell::text(what(own))),
        (Column::number("Depth"), &|(_, own, _)| Cell::count(own.depth)),
        (Column::number("Threads"), &|(_, own, _)| Cell::count(own.threads)),
        (Column::number("Load").base(Unit::One), &|(.., load)| {
            Cell::number(Some(f64::from(*load) / 100.0), |_| format!("{load} %"))
        }),
        (Column::number("Rate").base(Unit::PerSecond), &|(row, ..)| {
            Cell::number(rate(row), |rate| quantity(rate, Notation::Iops))
        }),
        (Column::number("p50").base(Unit::Second), &|(row, ..)| time(row, |found| found.p50)),
        (Column::number("p99").base(Unit::Second), &|(row, ..)| time(row, |found| found.p99)),
        (Column::number("p99.9").base(Unit::Second), &|(row, ..)| time(row, |found| found.p99_9)),
        (Column::number("Began late").base(Unit::One), &|(row, ..)| Cell::share(late(row))),
    ];
    let loads = rows.iter().filter(|row| row.status == Status::Ok).filter_map(|row| {
        let own = params(row)?;
        Some((*row, own, own.load_percent?))
    });
    let title = format!("{}: latency by offered load", area_title(area));
    let mut grid = table((format!("{area}-loads"), Some(area), title), columns, loads, |(row, ..), cells| {
        GridLine::of(row, cells)
    });
    if !grid.lines.is_empty() {
        grid.notes.push(NOTE.to_owned());
    }
    grid
}

const NOTE: &str = "Load: offered rate as a percentage of the highest rate, measured just before. Began late: requests that \
                    waited for a free place in the queue; the wait is part of the latency.";

fn what(own: &DiskParams) -> String {
    let mut what = vec![format!("{} {} {}", own.op, own.pattern, block_words(own.block))];
    what.extend(Some(sync_words(own.sync).to_owned()).filter(|words| !words.is_empty()));
    what.extend(other_words(own));
    what.join(", ")
}
