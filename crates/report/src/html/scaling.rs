//! How rates grow with threads, all areas side by side: speed-up, and how much of the ideal it is.

use model::document::{Document, Row, Status};
use model::experiment::Area;
use serde::Serialize;

use super::tables::{Anchors, part, short};
use super::text;
use areas::label::{Axis, Label, area_title, stem};
use model::number::{counted, digits, percent};

/// One experiment at its most threads against its fewest.
#[derive(Debug, Serialize)]
pub(super) struct Series {
    accent: &'static str,
    area: &'static str,
    what: String,
    anchor: Option<String>,
    threads: String,
    most: u32,
    speed_up: String,
    speed_up_value: String,
    ideal: String,
    ideal_value: String,
    part: String,
    grade: Option<&'static str>,
}

/// Every experiment that was measured with several thread counts, at the most of them that the CPUs allow; the areas in
/// their order.
pub(super) fn series(document: &Document, anchors: &Anchors<'_>) -> Vec<Series> {
    let cpus = document.machine.cpu.available_cpus.len();
    let cpus = if cpus == 0 { u32::MAX } else { u32::try_from(cpus).unwrap_or(u32::MAX) };
    let mut most: Vec<&Row> = Vec::new();
    let mut places = std::collections::HashMap::new();
    let scaled = document.experiments.iter().filter(|row| row.status == Status::Ok && row.scaling.is_some());
    for row in scaled {
        let place = *places.entry(stem(row, Axis::Threads)).or_insert_with(|| {
            most.push(row);
            most.len() - 1
        });
        // More threads than CPUs cannot scale: such a row stands for its experiment only where there is no other.
        let rank = |row: &Row| {
            let threads = row.params.threads();
            (threads <= cpus, if threads <= cpus { i64::from(threads) } else { -i64::from(threads) })
        };
        if rank(row) > rank(most[place]) {
            most[place] = row;
        }
    }
    most.sort_by_key(|row| Area::ALL.iter().position(|area| *area == row.area));
    most.into_iter().filter_map(|row| Series::of(row, anchors)).collect()
}

impl Series {
    fn of(row: &Row, anchors: &Anchors<'_>) -> Option<Self> {
        let scaling =
            row.scaling.as_ref().filter(|own| own.speed_up.is_finite() && own.parallel_efficiency.is_finite())?;
        let label = Label::alone(row);
        Some(Self {
            accent: text::accent(Some(row.area)),
            area: area_title(row.area),
            what: format!("{} {}", label.what, label.how).trim().to_owned(),
            anchor: anchors.link(&row.id),
            threads: format!("{} to {}", scaling.threads_from, counted(u64::from(row.params.threads()), "thread")),
            most: row.params.threads(),
            speed_up: format!("{}x", digits(scaling.speed_up)),
            speed_up_value: short(scaling.speed_up),
            ideal: percent(scaling.parallel_efficiency),
            ideal_value: short(scaling.parallel_efficiency),
            part: part(scaling.parallel_efficiency),
            grade: row.grade.map(model::warning::Grade::name),
        })
    }
}
