//! How rates scale with threads: speed-up, and its share of the ideal.

use minijinja::{Value, context};
use model::document::{Document, Row, Status};
use model::experiment::Area;
use model::number::{digits, percent};
use model::warning::Confidence;

use super::tables::{Anchors, part};
use crate::grid::groups::grouped;
use areas::label::{Label, area_title, stem_of};

/// Each benchmark that was measured with several numbers of threads, at the most that the CPUs allow, area by area.
pub(super) fn lines(document: &Document, anchors: &Anchors<'_>) -> Vec<Value> {
    let cpus = document.machine.cpu.available_cpus.len();
    let cpus = if cpus == 0 { u32::MAX } else { u32::try_from(cpus).unwrap_or(u32::MAX) };
    // More threads than CPUs cannot scale: such a result is shown only where there is no other.
    let rank = |row: &Row| {
        let threads = row.params.threads();
        (threads <= cpus, if threads <= cpus { i64::from(threads) } else { -i64::from(threads) })
    };
    let scaled = document.experiments.iter().filter(|row| row.status == Status::Ok && row.scaling.is_some());
    let series = grouped(scaled, |row| Some(stem_of(row))).into_iter();
    let most = series.filter_map(|(_, rows)| rows.into_iter().rev().max_by_key(|row| rank(row)));
    let mut most: Vec<&Row> = most.collect();
    most.sort_by_key(|row| Area::ALL.iter().position(|area| *area == row.area));
    most.into_iter().filter_map(|row| line(row, anchors)).collect()
}

fn line(row: &Row, anchors: &Anchors<'_>) -> Option<Value> {
    let scaling = row.scaling.as_ref().filter(|own| own.speed_up.is_finite() && own.parallel_efficiency.is_finite())?;
    let label = Label::alone(row);
    Some(context! {
        accent => row.area.name(),
        area => area_title(row.area),
        what => format!("{} {}", label.what, label.how).trim(),
        anchor => anchors.link(&row.id),
        threads => format!("{} to {}", scaling.threads_from, row.params.threads()),
        speed_up => format!("{}x", digits(scaling.speed_up)),
        ideal => percent(scaling.parallel_efficiency),
        part => part(scaling.parallel_efficiency),
        confidence => row.confidence.map(Confidence::name),
    })
}
