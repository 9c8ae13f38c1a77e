//! The rules on rows made up by hand.

use model::experiment::{Area, Background, MemoryChoices, MemoryParams, Params, memory_id};
use model::isa::Isa;
use model::machine::{Cache, Machine};
use model::sample::Sample;
use model::unit::{Better, Unit};
use model::warning::Confidence;

use super::*;
use crate::tests::{findings_of, known, machine_with_cpus, only, row as measured};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

/// Two cores with an L1 of 48 KiB and an L2 of 2 MiB each, and an L3 of this size for both.
pub(crate) fn machine(l3: u64) -> Machine {
    let mut machine = machine_with_cpus(2);
    let own = |level, bytes, cpu| Cache {
        level,
        kind: "data".into(),
        bytes: Some(bytes),
        cpus: vec![cpu],
        ..Cache::default()
    };
    machine.caches[0].bytes = Some(l3);
    machine.caches.extend([0, 1].into_iter().flat_map(|cpu| [own(1, 48 * KIB, cpu), own(2, 2 * MIB, cpu)]));
    machine
}

/// A chase of one thread through 1 GiB, or a stream through it.
pub(crate) fn params(op: MemoryOp, threads: u32) -> MemoryParams {
    let chase = op == MemoryOp::Load;
    let (pattern, isa) =
        if chase { (MemoryPattern::Chase, Isa::Scalar) } else { (MemoryPattern::Sequential, Isa::Avx2) };
    let plain = crate::memory::tests::params(pattern, op, None);
    MemoryParams { working_set: 1 << 30, isa, chains: chase.then_some(1), threads, ..plain }
}

fn row(params: MemoryParams, chosen: MemoryChoices, value: f64) -> Row {
    let mut row = measured();
    row.id = memory_id(&params, chosen);
    (row.area, row.classic) = (Area::Memory, None);
    row.conditions.cpus = (0..params.threads).collect();
    let metric = &mut row.metrics[0];
    if params.op == MemoryOp::Load {
        (metric.name, metric.unit, metric.better) = ("latency".into(), Unit::Second, Better::Lower);
    } else {
        metric.unit = Unit::BytePerSecond;
    }
    known(&mut metric.summary, value);
    metric.samples[0] = Sample { value, work: Some(1.0), seconds: value, ..metric.samples[0].clone() };
    row.params = Params::Memory(params);
    row
}

pub(crate) fn plain(params: MemoryParams, value: f64) -> Row {
    row(params, MemoryChoices::default(), value)
}

/// A latency curve with levels at 48 KiB, 2 MiB and 32 MiB, up to 1 GiB.
pub(crate) fn curve_rows() -> Vec<Row> {
    let sizes = (0..19).flat_map(|power| [(4 * KIB) << power, (6 * KIB) << power]).filter(|size| *size <= 1 << 30);
    let time = |size: u64| match size {
        size if size <= 48 * KIB => 1.3e-9,
        size if size <= 2 * MIB => 4.2e-9,
        size if size <= 32 * MIB => 21e-9,
        _ => 105e-9,
    };
    let point = |working_set| {
        let params = MemoryParams { working_set, ..params(MemoryOp::Load, 1) };
        row(params, MemoryChoices { working_set: true, ..MemoryChoices::default() }, time(working_set))
    };
    sizes.map(point).collect()
}

fn text(rows: &[Row], machine: &Machine, code: &str) -> String {
    only(&findings_of(Area::Memory, rows, machine), code)
}

fn has(rows: &[Row], machine: &Machine, code: &str) -> bool {
    findings_of(Area::Memory, rows, machine).iter().any(|(other, _)| other == code)
}

#[test]
fn the_levels_of_the_curve_are_named_by_the_caches_that_the_machine_reports() {
    let rows = curve_rows();
    let reported = text(&rows, &machine(32 * MIB), "memory_levels");
    assert!(
        reported.contains(
            "4 levels: 1.30 ns up to 48 KiB (L1), 4.20 ns up to 2 MiB (L2), 21.0 ns up to 32 MiB (L3), 105 ns"
        )
    );
    assert!(reported.contains("from 48 MiB on (DRAM)"), "{reported}");
}

/// Chases with large pages, small ones, small ones by group, and with several chains.
pub(crate) fn chases() -> Vec<Row> {
    let of = |change: &dyn Fn(&mut MemoryParams), value: f64| {
        let mut params = params(MemoryOp::Load, 1);
        change(&mut params);
        let several = params.chains != Some(1);
        let mut row = plain(params, value);
        if several {
            let metric = &mut row.metrics[0];
            (metric.name, metric.unit, metric.better) = ("throughput".into(), Unit::OpPerSecond, Better::Higher);
        }
        row
    };
    let mut rows = vec![
        of(&|_| {}, 100e-9),
        of(&|params| params.pages = Pages::Base4K, 130e-9),
        of(&|params| (params.pages, params.group) = (Pages::Base4K, Some(256 * KIB)), 101e-9),
    ];
    for (chains, loads) in [(2, 2e7), (8, 7.5e7), (16, 1.2e8), (32, 1.22e8)] {
        rows.push(of(&|params| params.chains = Some(chains), loads));
    }
    rows
}

#[test]
fn what_translation_costs_is_reported_where_it_costs_something() {
    let rows = chases();
    let reported = text(&rows, &machine(32 * MIB), "translation_cost");
    let expected = "A random access takes 130 ns with 4 KiB pages and 100 ns with 2 MiB pages: address translation \
                    costs 30.0 ns.";
    assert_eq!(reported, expected);
    let mut alike = rows;
    known(&mut alike[1].metrics[0].summary, 102e-9);
    assert!(!has(&alike, &machine(32 * MIB), "translation_cost"));
}

#[test]
fn latency_under_load_is_reported_at_shares_of_the_most_bandwidth_with_its_knee() {
    let loaded = |pause_ns, rate: f64, seconds: f64| {
        let background = Some(Background { op: MemoryOp::Read, pause_ns });
        let mut row = plain(MemoryParams { background, ..params(MemoryOp::Load, 4) }, seconds);
        let mut throughput = row.metrics[0].clone();
        (throughput.name, throughput.unit, throughput.better) =
            ("throughput".into(), Unit::BytePerSecond, Better::Higher);
        throughput.summary.median = rate;
        row.metrics.push(throughput);
        row
    };
    let points = [(6400, 2e9, 101e-9), (800, 20e9, 105e-9), (200, 40e9, 120e-9), (0, 50e9, 300e-9)];
    let mut rows: Vec<Row> = points.map(|(pause, rate, seconds)| loaded(pause, rate, seconds)).into();
    rows.extend(chases());
    let reported = text(&rows, &machine(32 * MIB), "load_bends");
    assert_eq!(
        reported,
        "Memory latency climbs beyond 40.0 GB/s of traffic (80 % of the peak): 120 ns there, 300 ns at the peak."
    );
    // A straight line has no knee, and two points are no curve.
    for (index, row) in rows[..4].iter_mut().enumerate() {
        known(&mut row.metrics[0].summary, 100e-9 + points[index].1 * 1e-18);
    }
    assert!(!has(&rows, &machine(32 * MIB), "load_bends"));
    assert!(!has(&rows[2..], &machine(32 * MIB), "load_bends"));
}

#[test]
fn remote_memory_is_compared_with_local_memory() {
    let of = |nodes: &str, value| plain(MemoryParams { nodes: Some(nodes.into()), ..params(MemoryOp::Load, 1) }, value);
    let rows = [of("0-0", 100e-9), of("0-1", 160e-9), of("1-0", 160e-9), of("1-1", 100e-9)];
    let reported = text(&rows, &machine(32 * MIB), "remote_memory");
    assert!(
        reported.contains("Latency of remote memory is 1.60x that of local memory: 160 ns versus 100 ns."),
        "{reported}"
    );
    assert!(!has(&rows[..1], &machine(32 * MIB), "remote_memory"));
}

#[test]
fn many_kinds_of_access_share_a_sentence_about_their_growth() {
    let ops = [(MemoryOp::Read, 1.9), (MemoryOp::Write, 1.2), (MemoryOp::Copy, 1.5), (MemoryOp::Triad, 1.7)];
    let rows: Vec<Row> = ops
        .iter()
        .flat_map(|(op, factor)| [plain(params(*op, 1), 20e9), plain(params(*op, 2), 20e9 * factor)])
        .collect();
    let reported = text(&rows, &machine(32 * MIB), "scaling_many");
    assert!(reported.contains("1 of 4 benchmarks are linear, 2 below 80 %. Least: Memory write, 1.20x"), "{reported}");
    assert!(!has(&rows, &machine(32 * MIB), "scaling_limited"));
    // What is of memory, and not of a cache, is held back by it.
    let mut one = rows[2..4].to_vec();
    for row in &mut one {
        let Params::Memory(params) = &mut row.params else { unreachable!() };
        params.level = Some("dram".into());
    }
    let reported = text(&one, &machine(32 * MIB), "scaling_limited");
    assert!(reported.ends_with("60 % of linear scaling: memory is the limit."), "{reported}");
}

#[test]
fn disturbed_rows_take_no_part() {
    let mut rows = chases();
    rows.extend(curve_rows());
    for row in &mut rows {
        row.confidence = Some(Confidence::Low);
    }
    let codes: Vec<String> =
        findings_of(Area::Memory, &rows, &machine(32 * MIB)).into_iter().map(|(code, _)| code).collect();
    assert_eq!(codes, ["disturbed"]);
}
