//! The conditions and warnings of rows that wait for another process, and those of disks from beside it.

use model::document::{NetConditions, Row};
use model::experiment::Params;
use model::sample::MetricName;
use model::warning::{Warning, WarningCode};
use model::wire::Observations;

use super::{disk, median};

/// By so much two slices of warm-up differ on a device that has settled: disks on a shared host, 100 ms each.
pub(super) const USUAL_CHANGE: f64 = 0.2;

/// What all launches of a network row saw.
pub(super) fn net(seen: &[&Observations], cpu_busy: Option<f64>) -> Option<NetConditions> {
    let all: Vec<&NetConditions> = seen.iter().filter_map(|one| one.net.as_ref()).collect();
    let ceilings: Vec<f64> = all.iter().filter_map(|one| one.two_copy_bytes_per_second).collect();
    let lost = all.iter().map(|one| one.lost).collect::<Option<Vec<u64>>>().map(|lost| lost.iter().sum());
    let sum = |of: fn(&NetConditions) -> Option<f64>| all.iter().map(|one| of(one)).sum::<Option<f64>>();
    Some(NetConditions {
        two_copy_bytes_per_second: median(&ceilings),
        lost,
        cpu_busy,
        sending_cpu_seconds: sum(|one| one.sending_cpu_seconds),
        receiving_cpu_seconds: sum(|one| one.receiving_cpu_seconds),
        ..(*all.last()?).clone()
    })
}

/// The warnings of a disk or network row whose conditions are set.
pub(super) fn warnings(row: &Row) -> Vec<Warning> {
    match (&row.params, &row.conditions.net) {
        (Params::Disk(_), _) => disk::warnings(row),
        (Params::Net(_), Some(conditions)) => of_net(row, conditions).into_iter().collect(),
        _ => Vec::new(),
    }
}

fn of_net(row: &Row, conditions: &NetConditions) -> Option<Warning> {
    let lost = conditions.lost.unwrap_or(0);
    let came = row.metric(MetricName::Latency)?.summary.percentiles.map_or(0, |percentiles| percentiles.count);
    let share = lost as f64 / (lost + came).max(1) as f64;
    Warning::when(WarningCode::DatagramsLost, share, || format!("{lost} datagrams never came back."))
}
