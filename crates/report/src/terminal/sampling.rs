//! How the samples were taken: how many, what ended the sampling, interference, threads, and bytes written.

use model::document::{DiskConditions, Document, Row, Status, Stop};
use model::unit::Unit;

use crate::layout::paragraph;
use crate::style::{Style, Tone};
use areas::label::Label;
use model::number::{counted, duration, percent, quantity, size};

pub(super) fn lines(document: &Document, style: &Style) -> Vec<String> {
    let measured: Vec<&Row> = document.experiments.iter().filter(|row| row.status == Status::Ok).collect();
    let waited = document.conditions.waited_seconds.filter(|waited| *waited > 0.0);
    let sentences = [
        samples(&measured, document.run.sessions),
        disturbances(&measured),
        together(&measured),
        orders(&measured),
        written(&measured),
        waited.map(|waited| format!("Waited {} for a quiet machine.", duration(waited))),
    ];
    let text = sentences.into_iter().flatten().collect::<Vec<_>>().join(" ");
    if text.is_empty() { Vec::new() } else { paragraph(&text, "", Tone::Dim, style) }
}

/// `9 samples a row: 24 rows as planned.`
fn samples(measured: &[&Row], sessions: u32) -> Option<String> {
    let counts = || measured.iter().filter_map(|row| row.metrics.first()).map(|metric| metric.summary.n);
    let (fewest, most) = (counts().min()?, counts().max()?);
    let number = if fewest == most { counted(most.into(), "sample") } else { format!("{fewest} to {most} samples") };
    let sessions = if sessions > 1 { format!(" in {sessions} sessions") } else { String::new() };
    let ended = |stop: &Stop| {
        let count = measured.iter().filter(|row| row.conditions.stop == Some(*stop)).count() as u64;
        (count > 0).then(|| format!("{} {}", counted(count, "benchmark"), stop_words(*stop)))
    };
    let ends: Vec<String> = Stop::ALL.iter().filter_map(ended).collect();
    let ends = if ends.is_empty() { String::new() } else { format!(": {}", ends.join(", ")) };
    Some(format!("{number} per benchmark{sessions}{ends}."))
}

const fn stop_words(stop: Stop) -> &'static str {
    match stop {
        Stop::Planned => "as planned",
        Stop::Narrow => "reached the target interval",
        Stop::Most => "stopped at the sample limit with a wider interval",
        Stop::Time => "ended by a budget or a signal",
        Stop::Steady => "reached a steady state",
        Stop::NotSteady => "stopped at the round limit without a steady state",
    }
}

/// How far apart the threads of rows with several of them began, and the most that one of them lagged behind another;
/// `None` where no row says it.
fn together(measured: &[&Row]) -> Option<String> {
    let began = measured.iter().filter_map(|row| row.conditions.start_spread_seconds).reduce(f64::max)?;
    let began = format!("Threads of one benchmark started at most {} apart", quantity(began, Unit::Second));
    let shares = measured.iter().filter_map(|row| Some((*row, row.conditions.slowest_over_fastest?)));
    let least = shares.reduce(|least, other| if other.1 < least.1 { other } else { least });
    let slowest = least.map_or_else(String::new, |(row, share)| {
        let (share, row) = (percent(share), Label::sentence(row));
        format!("; the slowest did at least {share} of the work of the fastest ({row})")
    });
    Some(format!("{began}{slowest}."))
}

fn orders(measured: &[&Row]) -> Option<String> {
    let generated = measured.iter().filter_map(|row| Some((*row, row.conditions.order_seconds?)));
    let mut orders: Vec<(&Row, f64)> = generated.collect();
    orders.sort_by(|one, other| one.1.total_cmp(&other.1));
    let shown = |(row, time): &(&Row, f64)| format!("{} ({})", quantity(*time, Unit::Second), Label::sentence(row));
    let times = match &orders[..] {
        [] => return None,
        [only] => shown(only),
        [least, .., most] => format!("{} to {}", shown(least), shown(most)),
    };
    Some(format!("Values of random accesses include generating the order: {times} per access."))
}

/// Bytes written to a disk, since writes wear drives out; `None` where no row knows them.
fn written(measured: &[&Row]) -> Option<String> {
    let sum = |of: fn(&DiskConditions) -> Option<u64>| -> u64 {
        measured.iter().filter_map(|row| of(row.conditions.disk.as_ref()?)).sum()
    };
    let (laid_out, by_requests) = (sum(|disk| disk.laid_out_bytes), sum(|disk| disk.written_bytes));
    let requests = if by_requests > 0 { format!(" and {} by requests", size(by_requests)) } else { String::new() };
    (laid_out > 0).then(|| format!("Written to the disk: {} of test files{requests}.", size(laid_out)))
}

fn disturbances(measured: &[&Row]) -> Option<String> {
    let sum = |of: fn(&Row) -> Option<u32>| measured.iter().filter_map(|row| of(row)).map(u64::from).sum::<u64>();
    let disturbed = sum(|row| row.conditions.disturbed_launches);
    let launches = sum(|row| row.conditions.launches);
    let repeated = match sum(|row| row.conditions.repeated_launches) {
        0 => "none was repeated".to_owned(),
        1 => "1 was repeated".to_owned(),
        repeated => format!("{repeated} were repeated"),
    };
    let which = match launches {
        1 => "the process run".to_owned(),
        all if all == disturbed => format!("all {all} process runs"),
        all => format!("{disturbed} of {all} process runs"),
    };
    (disturbed > 0).then(|| format!("Other processes or VMs disturbed {which}; {repeated}. No sample was discarded."))
}
