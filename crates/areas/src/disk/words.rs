//! Notes below a table of disk results.

use model::document::Row;
use model::experiment::Area;
use model::number::{Notation, counted, percent, quantity};
use model::sample::MetricName;

use super::label::cut_file;
use crate::label::Label;

pub fn cpu_seconds_per_request(row: &Row) -> Option<f64> {
    row.conditions.disk.as_ref()?.cpu_seconds_per_request
}

/// What the CPU time of a request includes, if any is known.
pub fn cpu_words(rows: &[&Row]) -> Option<String> {
    let words = "CPU per request: a thread's CPU time divided by its requests, including system calls and data checks, \
                 excluding interrupts and kernel threads.";
    rows.iter().any(|row| cpu_seconds_per_request(row).is_some()).then(|| words.to_owned())
}

/// The rate of our own loop without a device, and the results as a share of it.
pub fn loop_words(rows: &[&Row]) -> Option<String> {
    let with_loop = |row: &&Row| {
        let alone = row.conditions.disk.as_ref()?.loop_iops.filter(|rate| *rate > 0.0)?;
        let made = row.metric(MetricName::Iops)?.summary.median;
        Some((made / f64::from(row.params.threads().max(1)) / alone, alone, Label::sentence(row)))
    };
    let of_rows: Vec<(f64, f64, String)> = rows.iter().filter_map(with_loop).collect();
    let rates = || of_rows.iter().map(|(_, alone, _)| *alone);
    let (least, most) = (rates().reduce(f64::min)?, rates().reduce(f64::max)?);
    let (share, _, nearest) = of_rows.iter().max_by(|one, other| one.0.total_cmp(&other.0))?;
    let [least, most] = [least, most].map(|rate| quantity(rate, Notation::Iops));
    let range = if least == most { most } else { format!("{least} to {most}") };
    Some(format!(
        "With no-op requests the same loop reaches {range} per thread. These results reach at most {} of that ({nearest}).",
        percent(*share)
    ))
}

/// Why files are smaller than planned, and what to do about it.
pub fn cut_words(rows: &[&Row]) -> Option<String> {
    let rows: Vec<&Row> = rows.iter().copied().filter(|row| row.area == Area::Disk).collect();
    let cut = rows.iter().filter(|row| cut_file(row).is_some()).count() as u64;
    let which = if cut == rows.len() as u64 { String::new() } else { format!(" of {}", counted(cut, "result")) };
    (cut > 0).then(|| {
        format!(
            "The test file{which} is smaller than planned, to keep to the time budget. A device may cache more of a \
             small file. Raise --time-budget or set --size."
        )
    })
}
