//! The rules on rows made up by hand, each on both of its sides.

use model::experiment::{DiskChoices, disk_id};
use model::io::{DiskOp, DiskPattern, DiskSync};
use model::machine::Machine;
use model::sample::Percentiles;
use model::unit::{Better, Unit};
use model::warning::Grade;

use super::*;
use crate::tests::{disk_params, document};

const MIB: u64 = 1 << 20;

/// Random reads of 4 KiB, one at a time, but for what is changed.
fn params(change: impl FnOnce(&mut DiskParams)) -> DiskParams {
    let mut params = disk_params(1);
    change(&mut params);
    params
}

/// A row of so many requests a second, known to one per cent, by Little's law.
fn row(params: DiskParams, iops: f64) -> Row {
    let mut row = document().experiments.remove(0);
    row.id = disk_id(&params, DiskChoices::default());
    (row.area, row.classic) = (Area::Disk, None);
    let plain = row.metrics.remove(0);
    let metric = |name: &str, unit, better, value: f64| {
        let mut metric = plain.clone();
        (metric.name, metric.unit, metric.better) = (name.into(), unit, better);
        metric.summary.median = value;
        (metric.summary.n, metric.summary.ci95) = (9, Some([0.99 * value, 1.01 * value]));
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

fn told(rows: &[Row]) -> Vec<(String, String)> {
    let found = super::super::of_area(Area::Disk, rows, &Machine::default());
    for finding in &found {
        let there = |id: &String| rows.iter().any(|row| row.id == *id);
        assert!(!finding.evidence.is_empty() && finding.evidence.iter().all(there), "{finding:?}");
    }
    found.into_iter().map(|finding| (finding.code, finding.text)).collect()
}

/// The only sentence of a rule.
fn text(rows: &[Row], code: &str) -> String {
    let found = told(rows);
    let own: Vec<&String> = found.iter().filter(|(other, _)| other == code).map(|(_, text)| text).collect();
    assert_eq!(own.len(), 1, "{code}: {found:#?}");
    own[0].clone()
}

fn has(rows: &[Row], code: &str) -> bool {
    told(rows).iter().any(|(other, _)| other == code)
}

fn through(cache: DiskCache) -> DiskParams {
    params(|params| (params.cache, params.direct) = (cache, false))
}

#[test]
fn a_deeper_queue_is_compared_with_one_request() {
    let row = |depth: u32, iops: f64| row(disk_params(depth), iops);
    let rows = [row(1, 14_000.0), row(8, 50_000.0), row(32, 70_000.0)];
    let sentence = text(&rows, "depth_gain");
    assert!(sentence.contains("32 requests in flight bring 5.00x the rate of one, and each waits 6.40x"), "{sentence}");
    let mut disturbed = rows.clone();
    disturbed[2].grade = Some(Grade::C);
    assert!(text(&disturbed, "depth_gain").contains("8 requests in flight"), "the deepest that was not disturbed");
    assert!(!has(&rows[1..], "depth_gain"));
    assert!(text(&[row(1, 14_000.0), row(32, 14_100.0)], "depth_no_gain").contains("bring no more than one (1.01x)"));
}

#[test]
fn the_page_cache_is_told_cold_and_warm_against_past_it() {
    let past = row(params(|_| {}), 10_000.0);
    let cold = |share| seen(row(through(DiskCache::Cold), 10_050.0), |disk| disk.cached_share_before = Some(share));
    let warm = |share| seen(row(through(DiskCache::Warm), 1e6), |disk| disk.cached_share_before = Some(share));
    let sentence = text(&[past.clone(), cold(0.01), warm(1.0)], "page_cache_gain");
    assert_eq!(sentence, "Random reads of 4 KiB through a warm page cache: 4.10 GB/s, 100x the 41.0 MB/s past it.");
    let slow = seen(row(through(DiskCache::Cold), 5_000.0), |disk| disk.cached_share_before = Some(0.01));
    assert!(text(&[past.clone(), slow.clone()], "page_cache_gain").contains("a cold page cache: 20.5 MB/s, 0.50x the"));
    let held = seen(slow, |disk| disk.cached_share_before = Some(0.2));
    assert!(!has(&[past.clone(), held], "page_cache_gain"), "what was not cold is not told as such");
    assert!(!has(&[past.clone(), cold(0.01), warm(0.5)], "page_cache_gain"));
    assert!(!has(&[past, row(params(|params| params.block = 8192), 1e6)], "page_cache_gain"));
}

#[test]
fn a_write_on_the_medium_costs_something_or_nothing() {
    let write = |sync, iops| row(params(|params| (params.op, params.sync) = (DiskOp::Write, sync)), iops);
    let plain = write(DiskSync::None, 10_000.0);
    let sentence = text(&[plain.clone(), write(DiskSync::Dsync, 1000.0)], "durability_costs");
    assert!(sentence.contains("of 4 KiB with O_DSYNC take 1.00 ms, 10.0x the 100 us"), "{sentence}");
    let same = [plain.clone(), write(DiskSync::Dsync, 9_950.0)];
    assert!(text(&same, "durability_is_free").contains("no longer than") && !has(&same, "durability_costs"));
    assert!(!has(&[plain], "durability_is_free"));
}

#[test]
fn rates_grow_with_threads_or_do_not() {
    let with = |block: u64, threads: u32, iops: f64| {
        row(params(|params| (params.block, params.threads) = (block, threads)), iops)
    };
    let two = |factor: f64| [with(4096, 1, 10_000.0), with(4096, 2, 10_000.0 * factor)];
    assert!(text(&two(1.98), "scaling_linear").contains("Random reads of 4 KiB: 1.98x from 1 to 2 threads, 99 %"));
    assert!(text(&two(1.7), "scaling_sublinear").contains("85 % of the ideal"));
    let limited = text(&two(1.2), "scaling_limited");
    assert!(limited.ends_with("60 % of the ideal: the path to the device is the limit."), "{limited}");
    assert!(text(&two(1.0), "scaling_none").contains("no gain from more at a time, 1.00x from 1 to 2 threads"));
    let mut wide = two(1.5);
    wide[1]
        .metrics
        .iter_mut()
        .for_each(|metric| metric.summary.ci95 = metric.summary.ci95.map(|[a, b]| [a * 0.7, b * 1.3]));
    assert!(!told(&wide).iter().any(|(code, _)| code.starts_with("scaling")), "anything is possible");
    let mut disturbed = two(1.1);
    disturbed[1].grade = Some(Grade::C);
    assert!(!told(&disturbed).iter().any(|(code, _)| code.starts_with("scaling")));
    let many: Vec<Row> = [(512, 1.2), (4096, 1.4), (8192, 1.99), (16384, 1.5)]
        .iter()
        .flat_map(|(block, factor)| [with(*block, 1, 10_000.0), with(*block, 2, 10_000.0 * factor)])
        .collect();
    let sentence = text(&many, "scaling_many");
    assert!(sentence.contains("Of 4 kinds of work 1 scales, 3 stay below 80 %"), "{sentence}");
    assert!(sentence.contains("least Random reads of 512 B: 1.20x from 1 to 2 threads"), "{sentence}");
    assert!(!has(&many, "scaling_linear"));
}

#[test]
fn the_smallest_block_that_is_as_fast_as_any_is_told() {
    let curve = |rates: [f64; 4]| -> Vec<Row> {
        let blocks = [MIB, 8 * MIB, 10 * MIB, 100 * MIB];
        let of = |(block, rate): (u64, f64)| row(params(|params| params.block = block), rate / block as f64);
        blocks.into_iter().zip(rates).map(of).collect()
    };
    let flat = text(&curve([1e9, 1.98e9, 2e9, 1.95e9]), "block_flat");
    assert_eq!(flat, "Random reads: of blocks of 1 MiB to 100 MiB, 8 MiB is the smallest as fast as any, 1.98 GB/s.");
    assert!(text(&curve([1e9, 1.2e9, 1.5e9, 2e9]), "block_flat").contains("100 MiB is the smallest as fast as any"));
    assert!(text(&curve([1e9, 2e9, 1.5e9, 1e9]), "block_flat").contains(" 8 MiB is the smallest"));
    assert!(!has(&curve([1e9; 4])[..2], "block_flat"), "two are no curve");
}

#[test]
fn chance_is_held_against_order_with_the_same_block() {
    let of = |pattern, block: u64, iops| row(params(|params| (params.pattern, params.block) = (pattern, block)), iops);
    let in_order = of(DiskPattern::Sequential, 4096, 20_000.0);
    let sentence = text(&[in_order.clone(), of(DiskPattern::Random, 4096, 10_000.0)], "order_matters");
    assert!(sentence.contains("have 0.50x the rate of those in order: 41.0 MB/s against 81.9 MB/s."), "{sentence}");
    let faster = [in_order.clone(), of(DiskPattern::Random, 4096, 40_000.0)];
    assert!(text(&faster, "order_matters").contains("2.00x the rate"));
    let alike = [in_order.clone(), of(DiskPattern::Random, 4096, 19_900.0)];
    assert!(has(&alike, "order_does_not_matter") && !has(&alike, "order_matters"));
    assert!(!has(&[in_order, of(DiskPattern::Random, 8192, 10_000.0)], "order_matters"));
}

#[test]
fn both_in_turn_are_held_against_the_time_of_each_alone() {
    let of = |op, iops| row(params(|params| params.op = op), iops);
    let alone = |both| [of(DiskOp::Read, 60_000.0), of(DiskOp::Write, 30_000.0), of(DiskOp::Mixed, both)];
    let sentence = text(&alone(20_000.0), "mixed_hinders");
    assert!(
        sentence.contains("0.50x the 40.0 thousand requests/s of reads and writes alone: they hinder"),
        "{sentence}"
    );
    assert!(!told(&alone(40_500.0)).iter().any(|(code, _)| code.starts_with("mixed")), "neither helps nor hinders");
    assert!(has(&alone(55_000.0), "mixed_overlaps"));
    assert!(!has(&alone(20_000.0)[1..], "mixed_hinders"), "without the reads there is nothing to compare");
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
        sentence.contains("p99 has at least doubled at 75 % of the highest rate, 220 us after 100 us at 25 %."),
        "{sentence}"
    );
    assert!(
        text(&curve[..2], "load_flat").contains("p99 stays below twice its 100 us up to 50 % of the highest rate.")
    );
    assert!(!has(&curve[..1], "load_flat") && !has(&curve[..2], "load_knee"));
}

#[test]
fn what_was_touched_just_before_is_faster_or_is_not() {
    let of = |op, iops| row(params(|params| params.op = op), iops);
    let pair = |iops| [of(DiskOp::Read, 10_000.0), of(DiskOp::Reread, iops)];
    assert!(text(&pair(30_000.0), "touched_before_is_faster").contains("3.00x the 41.0 MB/s"));
    assert!(!has(&pair(11_500.0), "touched_before_is_faster"));
    assert!(!has(&[of(DiskOp::Write, 10_000.0), of(DiskOp::Reread, 30_000.0)], "touched_before_is_faster"));
}

#[test]
fn our_own_loop_sets_a_figure_or_is_not_told() {
    let with_loop = |own| seen(row(params(|params| params.threads = 2), 100_000.0), |disk| disk.loop_iops = Some(own));
    let sentence = text(&[with_loop(55_000.0)], "loop_limits");
    assert!(
        sentence.contains("take 91 % of what our own loop makes without a device (55.0 thousand requests/s a thread)")
    );
    assert!(!has(&[with_loop(80_000.0)], "loop_limits") && !has(&[row(params(|_| {}), 1e5)], "loop_limits"));
}

#[test]
fn the_flush_is_counted_in() {
    let write = |cache: DiskCache, share: f64| {
        let of = params(|params| (params.op, params.cache) = (DiskOp::Write, cache));
        seen(row(of, 10_000.0), |disk| disk.flushed_bytes_per_second = Some(share * 40.96e6))
    };
    let sentence = text(&[write(DiskCache::Bypassed, 0.5)], "flush_costs");
    assert!(
        sentence.contains("come to 20.5 MB/s with the flush after them counted in, 50 % of the 41.0 MB/s without.")
    );
    assert!(!has(&[write(DiskCache::Bypassed, 0.98)], "flush_costs"));
    assert!(text(&[write(DiskCache::Warm, 0.3)], "flush_costs").contains("warm page cache come to 12.3 MB/s"));
}

#[test]
fn disturbed_rows_and_our_own_loop_take_no_part() {
    let of = |op, engine| row(params(|params| (params.op, params.engine) = (op, engine)), 1e4);
    let mut rows: Vec<Row> = [DiskOp::Read, DiskOp::Write, DiskOp::Mixed, DiskOp::Reread, DiskOp::Rewrite]
        .map(|op| of(op, DiskEngine::Sync))
        .into();
    rows.push(row(through(DiskCache::Warm), 1e6));
    assert!(!told(&rows).is_empty());
    for row in &mut rows {
        row.grade = Some(Grade::C);
    }
    let codes: Vec<String> = told(&rows).into_iter().map(|(code, _)| code).collect();
    assert_eq!(codes, ["disturbed"]);
    let null = [of(DiskOp::Read, DiskEngine::Null), of(DiskOp::Reread, DiskEngine::Null)];
    assert_eq!(told(&null), []);
}

#[test]
fn a_steady_state_is_told_with_its_rounds_and_no_other_rule_takes_the_median_over_all_rounds() {
    let writes = params(|params| params.op = DiskOp::Write);
    let fresh = row(writes.clone(), 40_000.0);
    let steady = seen(fresh, |disk| {
        (disk.steady_rounds, disk.steady_iops) = (Some(9), Some(0.5));
        (disk.steady_range, disk.steady_drift) = (Some(0.06), Some(0.021));
    });
    let sentence = text(std::slice::from_ref(&steady), "disk_steady");
    assert!(sentence.contains("steady after 9 rounds at 0.50 requests/s, 50 % of the first round's."), "{sentence}");
    let mut disturbed = steady.clone();
    disturbed.grade = Some(Grade::C);
    assert!(!has(&[disturbed], "disk_steady"));
    let never = seen(steady.clone(), |disk| (disk.steady_rounds, disk.steady_iops) = (None, None));
    assert!(!has(&[never], "disk_steady"));
    let deeper = row(DiskParams { depth: 32, ..writes.clone() }, 70_000.0);
    assert!(!has(&[steady.clone(), deeper.clone()], "depth_gain"));
    assert!(has(&[row(writes, 40_000.0), deeper], "depth_gain"));
}
