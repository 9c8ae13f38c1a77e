//! The rules on rows made up by hand, each on both of its sides.

use model::experiment::{Area, DiskChoices, Params, disk_id};
use model::io::DiskPattern;
use model::machine::Machine;
use model::sample::Percentiles;
use model::unit::{Better, Unit};
use model::warning::Confidence;

use super::*;
use crate::tests::{disk_params, findings_of, known, only, row as measured};

/// Random reads of 4 KiB, one at a time, but for what is changed.
fn params(change: impl FnOnce(&mut DiskParams)) -> DiskParams {
    let mut params = disk_params(1);
    change(&mut params);
    params
}

fn row(params: DiskParams, iops: f64) -> Row {
    let mut row = measured();
    row.id = disk_id(&params, DiskChoices::default());
    (row.area, row.classic) = (Area::Disk, None);
    let plain = row.metrics.remove(0);
    let metric = |name: &str, unit, better, value: f64| {
        let mut metric = plain.clone();
        (metric.name, metric.unit, metric.better) = (name.into(), unit, better);
        known(&mut metric.summary, value);
        metric
    };
    let rates = [
        metric("iops", Unit::PerSecond, Better::Higher, iops),
        metric("throughput", Unit::BytePerSecond, Better::Higher, iops * params.block as f64),
    ];
    row.metrics = rates.into();
    if params.pattern != DiskPattern::Random {
        row.metrics.reverse();
    }
    let latency = f64::from(params.depth * params.threads) / iops;
    row.metrics.push(metric("latency", Unit::Second, Better::Lower, latency));
    row.conditions.disk = Some(DiskConditions::default());
    row.params = Params::Disk(params);
    row
}

fn seen(mut row: Row, see: impl Fn(&mut DiskConditions)) -> Row {
    row.conditions.disk.iter_mut().for_each(see);
    row
}

fn reported(rows: &[Row]) -> Vec<(String, String)> {
    findings_of(Area::Disk, rows, &Machine::default())
}

fn text(rows: &[Row], code: &str) -> String {
    only(&reported(rows), code)
}

fn has(rows: &[Row], code: &str) -> bool {
    reported(rows).iter().any(|(other, _)| other == code)
}

#[test]
fn a_deeper_queue_without_a_gain_is_reported() {
    let row = |depth: u32, iops: f64| row(disk_params(depth), iops);
    let rows = [row(1, 14_000.0), row(8, 14_200.0), row(32, 14_100.0)];
    let sentence = text(&rows, "depth_no_gain");
    assert!(sentence.contains("do not gain from queue depth 32: 1.01x the rate of depth 1"), "{sentence}");
    let mut disturbed = rows.clone();
    disturbed[2].confidence = Some(Confidence::Low);
    assert!(text(&disturbed, "depth_no_gain").contains("queue depth 8:"), "the deepest that was not disturbed");
    assert!(!has(&rows[1..], "depth_no_gain"));
    assert!(!has(&[row(1, 14_000.0), row(32, 70_000.0)], "depth_no_gain"));
}

#[test]
fn rates_grow_with_threads_or_do_not() {
    let with = |block: u64, threads: u32, iops: f64| {
        row(params(|params| (params.block, params.threads) = (block, threads)), iops)
    };
    let two = |factor: f64| [with(4096, 1, 10_000.0), with(4096, 2, 10_000.0 * factor)];
    assert!([1.98, 1.7].iter().all(|factor| reported(&two(*factor)).is_empty()));
    let limited = text(&two(1.2), "scaling_limited");
    assert!(limited.ends_with("60 % of linear scaling: the device, or the path to it, is the limit."), "{limited}");
    assert!(text(&two(1.0), "scaling_none").contains("no gain from 1 to 2 threads (1.00x)"));
    let mut wide = two(1.5);
    wide[1]
        .metrics
        .iter_mut()
        .for_each(|metric| metric.summary.ci95 = metric.summary.ci95.map(|[a, b]| [a * 0.7, b * 1.3]));
    assert!(!reported(&wide).iter().any(|(code, _)| code.starts_with("scaling")), "anything is possible");
    let mut disturbed = two(1.1);
    disturbed[1].confidence = Some(Confidence::Low);
    assert!(!reported(&disturbed).iter().any(|(code, _)| code.starts_with("scaling")));
    let many: Vec<Row> = [(512, 1.2), (4096, 1.4), (8192, 1.99), (16384, 1.5)]
        .iter()
        .flat_map(|(block, factor)| [with(*block, 1, 10_000.0), with(*block, 2, 10_000.0 * factor)])
        .collect();
    let sentence = text(&many, "scaling_many");
    assert!(sentence.contains("1 of 4 benchmarks are linear, 3 below 80 %"), "{sentence}");
    assert!(sentence.contains("Least: Random reads of 512 B, 1.20x from 1 to 2 threads"), "{sentence}");
}

#[test]
fn a_load_curve_has_a_knee_where_p99_doubles() {
    let load = |percent, p99| {
        let mut row = row(params(|params| (params.depth, params.load_percent) = (32, Some(percent))), 500.0);
        row.metrics[2].summary.percentiles =
            Some(Percentiles { p50: p99, p90: p99, p99, p99_9: p99, p99_99: p99, max: p99, count: 1000 });
        row
    };
    let curve = [load(25, 100e-6), load(50, 150e-6), load(75, 220e-6), load(90, 900e-6)];
    let sentence = text(&curve, "load_knee");
    assert!(
        sentence.contains("at least doubled at a load of 75 % (220 us), compared with 100 us at 25 %."),
        "{sentence}"
    );
    assert!(!has(&curve[..2], "load_knee"));
}

#[test]
fn disturbed_rows_and_our_own_loop_take_no_part() {
    let of = |op, engine| row(params(|params| (params.op, params.engine) = (op, engine)), 1e4);
    let mut rows: Vec<Row> = [DiskOp::Read, DiskOp::Write, DiskOp::Mixed, DiskOp::Reread, DiskOp::Rewrite]
        .map(|op| of(op, DiskEngine::Sync))
        .into();
    rows.push(row(params(|params| params.depth = 32), 1e4));
    assert!(!reported(&rows).is_empty());
    for row in &mut rows {
        row.confidence = Some(Confidence::Low);
    }
    let codes: Vec<String> = reported(&rows).into_iter().map(|(code, _)| code).collect();
    assert_eq!(codes, ["disturbed"]);
    let null = [of(DiskOp::Read, DiskEngine::Null), of(DiskOp::Reread, DiskEngine::Null)];
    assert_eq!(reported(&null), []);
}

#[test]
fn a_steady_state_is_reported_with_its_rounds_and_no_other_rule_takes_the_median_over_all_rounds() {
    let writes = params(|params| params.op = DiskOp::Write);
    let fresh = row(writes.clone(), 40_000.0);
    let steady = seen(fresh, |disk| {
        (disk.steady_rounds, disk.steady_iops) = (Some(9), Some(0.5));
        (disk.steady_range, disk.steady_drift) = (Some(0.06), Some(0.021));
    });
    let sentence = text(std::slice::from_ref(&steady), "disk_steady");
    assert!(sentence.contains("steady state after 9 rounds: 0.50 IOPS, 50 % of the first round."), "{sentence}");
    let mut disturbed = steady.clone();
    disturbed.confidence = Some(Confidence::Low);
    assert!(!has(&[disturbed], "disk_steady"));
    let never = seen(steady.clone(), |disk| (disk.steady_rounds, disk.steady_iops) = (None, None));
    assert!(!has(&[never], "disk_steady"));
    let deeper = row(DiskParams { depth: 32, ..writes.clone() }, 40_000.0);
    assert!(!has(&[steady.clone(), deeper.clone()], "depth_no_gain"));
    assert!(has(&[row(writes, 40_000.0), deeper], "depth_no_gain"));
}
