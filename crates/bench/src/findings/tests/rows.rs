//! Documents drawn at random: rows of all areas with random figures, spans, grades, statuses, conditions, peaks and
//! references, some of them missing and some absurd. Rows that differ in one thing are often there together, so that
//! every rule finds something.

use model::document::{DiskConditions, NetConditions, Row, Status, TcpConditions};
use model::experiment::{
    Area, Background, Classic, CpuParams, DiskChoices, DiskParams, LOOPBACK, MemoryChoices, MemoryParams, NetParams,
    Params, cpu_id, disk_id, memory_id, net_id,
};
use model::io::{
    Direction, DiskCache, DiskEngine, DiskOp, DiskPattern, DiskSync, NetMode, Protocol, Segmentation, Wait,
};
use model::isa::{CpuOp, Element, Isa, MemoryOp, MemoryPattern, Pages};
use model::linpack::{LinpackChoices, LinpackConditions, LinpackEngine, LinpackOp, LinpackParams, linpack_id};
use model::machine::{Machine, Virtualization};
use model::peak::{Efficiency, PeakKind};
use model::reference::{Reference, ReferenceSample};
use model::sample::{Metric, MetricName, Percentiles, ThreadShare};
use model::unit::{Better, Unit};
use model::warning::{Grade, WARNINGS, Warning};
use stats::random::Random;

use crate::tests::document;

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

/// Where values come from.
pub(super) struct Draw {
    random: Random,
    /// Whether figures are anything at all, and not what such a row may have.
    wild: bool,
}

impl Draw {
    pub(super) fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let wild = random.below(5) == 0;
        Self { random, wild }
    }

    fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.random.below(bound as u64)).unwrap_or(0)
    }

    fn one_in(&mut self, bound: u64) -> bool {
        self.random.below(bound) == 0
    }

    fn of<T: Clone>(&mut self, values: &[T]) -> T {
        values[self.below(values.len())].clone()
    }

    /// Between the two, every decade as likely as another.
    fn between(&mut self, low: f64, high: f64) -> f64 {
        low * (high / low).powf(self.random.unit())
    }

    /// Each of these, or none now and then.
    fn some<T: Clone>(&mut self, values: &[T]) -> Vec<T> {
        values.iter().filter(|_| !self.one_in(4)).cloned().collect()
    }

    /// About this: what rows that differ in nothing else share, and some noise.
    fn about(&mut self, value: f64) -> f64 {
        match self.random.below(200) {
            0 => self.of(&[0.0, -1.0, f64::NAN, f64::INFINITY, 1e300, 1e-300]),
            _ if self.wild => value * self.between(1e-3, 1e3),
            1..20 => value * self.between(0.2, 5.0),
            _ => value * self.between(0.97, 1.03),
        }
    }

    fn metric(&mut self, name: MetricName, value: f64) -> Metric {
        let mut metric = document().experiments.remove(0).metrics.remove(0);
        metric.name = name.name().to_owned();
        (metric.unit, metric.better) = match name {
            MetricName::Latency => (Unit::Second, Better::Lower),
            MetricName::Iops => (Unit::PerSecond, Better::Higher),
            MetricName::Clock => (Unit::Hertz, Better::Higher),
            MetricName::CpuCost => (Unit::SecondPerByte, Better::Lower),
            MetricName::Loss | MetricName::Retransmits => (Unit::One, Better::Lower),
            _ => (Unit::BytePerSecond, Better::Higher),
        };
        let median = self.about(value);
        let half = self.of(&[0.001, 0.003, 0.01, 0.05, 0.3]);
        let summary = &mut metric.summary;
        summary.n = self.of(&[1, 2, 3, 4, 9, 9, 9, 15]);
        (summary.median, summary.min, summary.max) = (median, median * (1.0 - 2.0 * half), median * (1.0 + 2.0 * half));
        if summary.n >= 6 {
            summary.ci95 = Some([median * (1.0 - half), median * (1.0 + half)]);
        }
        if self.one_in(50) {
            metric.summary.ci95 = metric.summary.ci95.map(|[low, high]| [high, low]);
        }
        let sample = metric.samples[0].clone();
        metric.samples = (0..metric.summary.n).map(|_| sample.clone()).collect();
        for sample in &mut metric.samples {
            sample.value = self.about(value);
        }
        metric
    }

    /// A row of these parameters with these figures, in the order of its metrics.
    fn row(&mut self, id: String, area: Area, params: Params, figures: &[(MetricName, f64)]) -> Row {
        let mut row = document().experiments.remove(0);
        (row.id, row.area, row.params, row.classic) = (id, area, params, None);
        row.metrics = figures.iter().map(|(name, value)| self.metric(*name, *value)).collect();
        if self.one_in(30) {
            row.metrics.pop();
        }
        row.grade = Some(self.of(&[Grade::A, Grade::A, Grade::A, Grade::A, Grade::B, Grade::B, Grade::C]));
        row.conditions.cpus = (0..row.params.threads().min(2)).collect();
        row.conditions.clock_hz = Some(self.of(&[3e9, 3e9, 2.4e9]));
        for _ in 0..self.random.below(3) {
            let rule = &WARNINGS[self.below(WARNINGS.len())];
            let figure = self.of(&[rule.b.unwrap_or(0.1), rule.c.unwrap_or(0.1), 0.0]);
            row.warnings.push(Warning::new(rule.code, figure, "Seen."));
        }
        self.efficiency(&mut row);
        if self.one_in(15) {
            (row.status, row.grade) = (self.of(&[Status::Skipped, Status::Failed]), None);
            if self.one_in(2) {
                row.metrics.clear();
            }
        }
        row
    }

    fn efficiency(&mut self, row: &mut Row) {
        let value = self.of(&[0.3, 0.6, 0.91, 0.95, 0.99]) * self.between(0.98, 1.01);
        let (known, tool) = (self.one_in(2), self.one_in(4));
        let of = self.of(&[PeakKind::Sustained, PeakKind::Declared, PeakKind::Link, PeakKind::MeasuredCeiling]);
        let reference = tool.then(|| self.reference());
        if let Some(first) = row.metrics.first_mut() {
            first.efficiency = known.then_some(Efficiency { value, of });
            first.references.extend(reference);
        }
    }

    fn reference(&mut self) -> Reference {
        let (theirs, ratio) =
            (self.between(1e6, 1e10), self.of(&[0.6, 0.97, 1.0, 1.03, 2.0]) * self.between(0.99, 1.01));
        let half = self.of(&[0.005, 0.02, 0.2]);
        let pairs = self.of(&[1, 3, 9]);
        let sample = |pair: u32| {
            let ratio = ratio * (1.0 + half * (f64::from(pair % 3) - 1.0));
            ReferenceSample { value: theirs, ours: theirs * ratio, pair, start: 0.0 }
        };
        let explanations = [
            None,
            Some("STREAM counts no line that is read first.".to_owned()),
            Some(format!("theirs is a copy; {}.", "x".repeat(150))),
        ];
        Reference {
            tool: self.of(&["fio", "stream"]).to_owned(),
            version: None,
            argv: Vec::new(),
            server_argv: Vec::new(),
            env: std::collections::BTreeMap::new(),
            status: self.of(&[Status::Ok, Status::Ok, Status::Failed]),
            reason: None,
            samples: (1..=pairs).map(sample).collect(),
            median: Some(theirs),
            ratio: Some(ratio),
            ratio_ci95: (pairs > 5).then_some([ratio * (1.0 - half), ratio * (1.0 + half)]),
            half_width: None,
            spread: None,
            verdict: None,
            pairs,
            bytes_factor: 1.0,
            explanation: self.of(&explanations),
            also: Vec::new(),
            details: serde_json::Map::new(),
            raw: None,
        }
    }

    /// How a rate grows with threads: the exponent of one series.
    fn exponent(&mut self) -> f64 {
        self.of(&[0.0, 0.3, 0.5, 0.85, 0.9, 1.0, 1.0])
    }
}

fn labelled(mut row: Row, table: &str, workload: &str, class: Option<&str>) -> Row {
    let (table, workload) = (table.to_owned(), workload.to_owned());
    row.classic = Some(Classic { table, workload, class: class.map(str::to_owned), total: None });
    row
}

/// A machine of so many cores with the caches of the fixtures of memory, of two threads a core now and then.
pub(super) fn machine(draw: &mut Draw) -> Machine {
    let mut machine = super::super::memory::tests::machine(draw.of(&[32, 32, 128]) * MIB);
    machine.cpu.isa = vec![Isa::Avx2, Isa::Avx512];
    if draw.one_in(2) {
        machine.virtualization = Some(Virtualization::default());
    }
    if draw.one_in(2) {
        machine.cpu.topology.iter_mut().for_each(|place| place.core = 0);
    }
    machine
}

/// Rows of some areas.
pub(super) fn rows(draw: &mut Draw) -> Vec<Row> {
    let areas: [fn(&mut Draw) -> Vec<Row>; 8] = [cpu, linpack, curve, chases, streams, disks, classic_disks, nets];
    let mut rows: Vec<Row> = Vec::new();
    for area in areas {
        if !draw.one_in(4) {
            rows.extend(area(draw));
        }
    }
    // An id is one row's.
    let mut ids = std::collections::BTreeSet::new();
    rows.retain(|row| ids.insert(row.id.clone()));
    rows
}

fn cpu(draw: &mut Draw) -> Vec<Row> {
    let mut rows = Vec::new();
    let threads = draw.of(&[vec![1], vec![1, 2], vec![1, 2, 4], vec![1, 2, 4, 8]]);
    for element in draw.some(&[Element::Fp64, Element::Fp32, Element::Bf16, Element::Fp16, Element::Int8]) {
        for (class, op, isa) in [("plain", CpuOp::Plain, Isa::Scalar), ("vector", CpuOp::Fma, Isa::Avx512)] {
            let (exponent, base) = (draw.exponent(), draw.of(&[8e9, 90e9, 180e9]));
            for count in draw.some(&threads) {
                let params = CpuParams { op, element, isa, threads: count };
                let rate = base * f64::from(count).powf(exponent);
                let figures = [(MetricName::Throughput, rate), (MetricName::Clock, 3e9)];
                let row = draw.row(cpu_id(&params), Area::Cpu, Params::Cpu(params), &figures);
                rows.push(labelled(row, "cpu", draw.of(&["DP", "SP"]), Some(class)));
            }
        }
    }
    rows
}

fn linpack(draw: &mut Draw) -> Vec<Row> {
    let mut rows = Vec::new();
    for threads in draw.some(&[1, 2]) {
        let best = 80e9 * f64::from(threads).powf(draw.exponent());
        for n in draw.some(&[1000, 2000, 5000, 10_000]) {
            for (op, engine, lda, share) in [
                (LinpackOp::Lu, LinpackEngine::Own, n, n as f64 / (n as f64 + 2500.0)),
                (LinpackOp::Lu, LinpackEngine::Own, n + 8, n as f64 / (n as f64 + 2000.0)),
                (LinpackOp::Gemm, LinpackEngine::Own, n, 1.1),
                (LinpackOp::Lu, LinpackEngine::System, n, 0.3),
            ] {
                if draw.one_in(2) {
                    continue;
                }
                let own = engine == LinpackEngine::Own;
                let (element, isa, align) = (Element::Fp64, own.then_some(Isa::Avx512), 64);
                let params = LinpackParams { op, engine, n, nb: own.then_some(192), lda, align, threads, element, isa };
                let chosen = LinpackChoices { n: true, lda: true, ..LinpackChoices::default() };
                let figures = [(MetricName::Throughput, best * share)];
                let id = linpack_id(&params, chosen);
                let mut row = draw.row(id, Area::Linpack, Params::Linpack(params), &figures);
                if let Some(first) = row.metrics.first_mut() {
                    first.unit = Unit::FlopPerSecond;
                }
                row.conditions.linpack = Some(LinpackConditions {
                    kernel: (!own).then(|| draw.of(&["OpenBLAS 0.3.21 Prescott", "BLIS 0.9.0 Haswell"]).to_owned()),
                    fma_flop_per_second: (!draw.one_in(4)).then(|| draw.about(100e9)),
                    ..LinpackConditions::default()
                });
                rows.push(if draw.one_in(2) { labelled(row, "linpack", "DP", None) } else { row });
            }
        }
    }
    rows
}

/// A curve over working sets, of latency or of a rate, with or without a level of the third cache.
fn curve(draw: &mut Draw) -> Vec<Row> {
    let chase = !draw.one_in(4);
    let ends = draw.of(&[[48, 2048, 32 * KIB], [48, 2048, 2049], [16, 8192, 32 * KIB]]);
    let mut rows = Vec::new();
    for step in 0..38 {
        let size = (if step % 2 == 0 { 4 * KIB } else { 6 * KIB }) << (step / 2);
        if draw.one_in(12) || size > 1 << 30 {
            continue;
        }
        let level = ends.iter().filter(|end| size > **end * KIB).count();
        let seconds = [1.3e-9, 4.2e-9, 21e-9, 105e-9][level];
        let mut params = super::super::memory::tests::params(if chase { MemoryOp::Load } else { MemoryOp::Read }, 1);
        params.working_set = size;
        let figure = if chase { (MetricName::Latency, seconds) } else { (MetricName::Throughput, 64.0 / seconds) };
        let id = memory_id(&params, MemoryChoices { working_set: true, ..MemoryChoices::default() });
        let mut row = draw.row(id, Area::Memory, Params::Memory(params), &[figure]);
        // A curve of one drawn grade in seven would never be whole.
        row.grade = row.grade.map(|_| if draw.one_in(60) { Grade::C } else { Grade::A });
        rows.push(row);
    }
    rows
}

fn memory_row(draw: &mut Draw, params: MemoryParams, chosen: MemoryChoices, figures: &[(MetricName, f64)]) -> Row {
    let id = memory_id(&params, chosen);
    let mut row = draw.row(id, Area::Memory, Params::Memory(params), figures);
    let chains = matches!(&row.params, Params::Memory(own) if own.chains > Some(1));
    for metric in row.metrics.iter_mut().filter(|metric| chains && metric.name == "throughput") {
        metric.unit = Unit::OpPerSecond;
    }
    row
}

fn chases(draw: &mut Draw) -> Vec<Row> {
    let mut rows = Vec::new();
    let plain = || super::super::memory::tests::params(MemoryOp::Load, 1);
    let none = MemoryChoices::default();
    for (pages, seconds) in [(Pages::Huge2M, 100e-9), (Pages::Base4K, 130e-9)] {
        rows.push(memory_row(draw, MemoryParams { pages, ..plain() }, none, &[(MetricName::Latency, seconds)]));
    }
    for (count, loads) in draw.some(&[(2, 2e7), (8, 7.5e7), (16, 1.2e8), (32, 1.22e8)]) {
        let params = MemoryParams { chains: Some(count), ..plain() };
        rows.push(memory_row(draw, params, none, &[(MetricName::Throughput, loads)]));
    }
    let straight = draw.one_in(2);
    for (pause_ns, rate, bent) in
        draw.some(&[(6400, 2e9, 101e-9), (800, 20e9, 105e-9), (200, 40e9, 120e-9), (0, 50e9, 300e-9)])
    {
        let background = Some(Background { op: MemoryOp::Read, pause_ns });
        let params = MemoryParams { background, threads: 4, ..plain() };
        let seconds = if straight { 100e-9 + 3e-18 * rate } else { bent };
        rows.push(memory_row(draw, params, none, &[(MetricName::Latency, seconds), (MetricName::Throughput, rate)]));
    }
    for (nodes, seconds) in draw.some(&[("0-0", 100e-9), ("1-1", 100e-9), ("0-1", 160e-9), ("1-0", 165e-9)]) {
        let params = MemoryParams { nodes: Some(nodes.to_owned()), ..plain() };
        rows.push(memory_row(draw, params, none, &[(MetricName::Latency, seconds)]));
    }
    rows
}

fn streams(draw: &mut Draw) -> Vec<Row> {
    let mut rows = Vec::new();
    let ops = [
        (MemoryOp::Read, 20e9),
        (MemoryOp::Write, 12e9),
        (MemoryOp::WriteNt, 22e9),
        (MemoryOp::Copy, 15e9),
        (MemoryOp::CopyNt, 21e9),
    ];
    for (op, base) in draw.some(&ops) {
        let exponent = draw.exponent();
        for threads in draw.some(&[1, 2, 4]) {
            for isa in draw.some(&[Isa::Avx2, Isa::Avx512]) {
                let mut params = super::super::memory::tests::params(op, threads);
                (params.isa, params.level) = (isa, draw.of(&[None, Some("dram".to_owned())]));
                let chosen = MemoryChoices { isa: isa == Isa::Avx512, ..MemoryChoices::default() };
                let rate = base * f64::from(threads).powf(exponent);
                let mut row = memory_row(draw, params, chosen, &[(MetricName::Throughput, rate)]);
                let slow = draw.of(&[1.0, 1.0, 1.3]);
                let share = |work| ThreadShare { work, seconds: 1.0, clock_hz: None };
                let parts: Vec<ThreadShare> = (0..threads).map(|at| share(if at == 0 { slow } else { 1.0 })).collect();
                row.metrics
                    .iter_mut()
                    .flat_map(|metric| &mut metric.samples)
                    .for_each(|one| one.per_thread = parts.clone());
                rows.push(if draw.one_in(2) { labelled(row, "memory", "STREAM", None) } else { row });
            }
            for block in draw.some(&[KIB, MIB]) {
                let mut params = super::super::memory::tests::params(op, threads);
                (params.block, params.pattern) = (Some(block), MemoryPattern::Random);
                let rate = base * draw.of(&[0.5, 1.0]);
                let row = memory_row(draw, params, MemoryChoices::default(), &[(MetricName::Throughput, rate)]);
                rows.push(labelled(row, "memory", draw.of(&["RS", "WR"]), None));
            }
        }
    }
    rows
}

fn disk_row(draw: &mut Draw, params: DiskParams, iops: f64) -> Row {
    let in_flight = f64::from(params.depth * params.threads);
    let (block, random) = (params.block as f64, params.pattern == DiskPattern::Random);
    let mut figures = vec![(MetricName::Iops, iops), (MetricName::Throughput, iops * block)];
    if !random {
        figures.reverse();
    }
    figures.push((MetricName::Latency, in_flight / iops));
    let id = disk_id(&params, DiskChoices::default());
    let p99 = draw.of(&[1e-4, 1.5e-4, 4e-4]);
    let mut row = draw.row(id, Area::Disk, Params::Disk(params), &figures);
    for metric in row.metrics.iter_mut().filter(|metric| metric.name == "latency") {
        metric.summary.percentiles =
            Some(Percentiles { p50: p99, p90: p99, p99, p99_9: p99, p99_99: p99, max: p99, count: 1000 });
    }
    let steady = draw.one_in(25);
    row.conditions.disk = Some(DiskConditions {
        loop_iops: draw.of(&[None, Some(1.1 * iops), Some(1e7)]),
        flushed_bytes_per_second: draw.of(&[None, Some(0.5 * iops * block), Some(0.99 * iops * block), Some(0.0)]),
        cached_share_before: draw.of(&[None, Some(0.0), Some(1.0), Some(0.5)]),
        steady_range: steady.then_some(0.05),
        steady_rounds: steady.then_some(9),
        steady_iops: steady.then_some(0.4 * iops),
        ..DiskConditions::default()
    });
    row
}

fn disks(draw: &mut Draw) -> Vec<Row> {
    let mut rows = Vec::new();
    let plain = crate::tests::disk_params(1);
    for op in draw.some(&[DiskOp::Read, DiskOp::Write, DiskOp::Mixed, DiskOp::Reread, DiskOp::Rewrite]) {
        let base = draw.of(&[1e4, 1.05e4, 3e4]);
        let (exponent, deeper) = (draw.exponent(), draw.of(&[0.0, 0.5]));
        for pattern in draw.some(&[DiskPattern::Random, DiskPattern::Sequential]) {
            let faster = draw.of(&[1.0, 2.0]);
            let all = (0..24).map(|index: u32| {
                let depth = if index.is_multiple_of(2) { 1 } else { 32 };
                let (threads, block) =
                    ([1, 2][(index / 2 % 2) as usize], [4 * KIB, 64 * KIB, MIB][(index / 4 % 3) as usize]);
                (depth, threads, block, index / 12 == 1)
            });
            for (depth, threads, block, special) in draw.some(&all.collect::<Vec<_>>()) {
                let mut params = DiskParams { op, pattern, depth, threads, block, ..plain.clone() };
                let mut iops = base * faster * f64::from(threads).powf(exponent) * f64::from(depth).powf(deeper);
                iops *= (4096.0 / block as f64).powf(0.7);
                if special {
                    match draw.random.below(4) {
                        0 => (params.cache, params.direct) = (draw.of(&[DiskCache::Warm, DiskCache::Cold]), false),
                        1 => params.sync = draw.of(&[DiskSync::Dsync, DiskSync::Sync]),
                        2 => params.load_percent = Some(draw.of(&[25, 50, 75])),
                        _ => params.engine = DiskEngine::Null,
                    }
                    iops *= draw.of(&[0.1, 1.0, 40.0]);
                }
                rows.push(disk_row(draw, params, iops));
            }
        }
        for percent in draw.some(&[25, 50, 75, 90]) {
            let params = DiskParams { op, depth: 32, load_percent: Some(percent), ..plain.clone() };
            rows.push(disk_row(draw, params, base * f64::from(percent)));
        }
    }
    rows
}

fn classic_disks(draw: &mut Draw) -> Vec<Row> {
    let mut rows = Vec::new();
    for (pattern, label) in [(DiskPattern::Sequential, "RS"), (DiskPattern::Random, "RR")] {
        let exponent = draw.exponent();
        for block in draw.some(&[KIB, 8 * KIB, 8 * MIB, 10 * MIB]) {
            for threads in draw.some(&[1, 2, 4, 8]) {
                let params = DiskParams { pattern, block, threads, ..crate::tests::disk_params(1) };
                let iops = 2e9 / (block as f64 + 150e3) * f64::from(threads).powf(exponent);
                rows.push(labelled(disk_row(draw, params, iops), "disk", label, None));
            }
        }
    }
    rows
}

fn net_row(draw: &mut Draw, params: NetParams, figures: &[(MetricName, f64)]) -> Row {
    let seen = NetConditions {
        two_copy_bytes_per_second: draw.of(&[None, Some(5e9), Some(8e9)]),
        sending_cpu_seconds: draw.of(&[None, Some(0.5), Some(8.9)]),
        receiving_cpu_seconds: draw.of(&[None, Some(0.4), Some(8.9)]),
        zero_copied_share: draw.of(&[None, Some(0.0), Some(0.98)]),
        idle_latency_seconds: draw.of(&[None, Some(1e-4)]),
        tcp: draw.of(&[false, true]).then(|| TcpConditions {
            busy_seconds: Some(2.0),
            receiver_limited_seconds: draw.of(&[None, Some(0.1), Some(1.7)]),
            buffer_limited_seconds: draw.of(&[None, Some(0.1), Some(1.4)]),
            ..TcpConditions::default()
        }),
        ..NetConditions::default()
    };
    let label = if params.protocol == Protocol::Tcp { "TCP" } else { "UDP" };
    let id = net_id(&params);
    let mut row = draw.row(id, Area::Net, Params::Net(params), figures);
    row.conditions.net = Some(seen);
    if draw.one_in(4) { labelled(row, "net", label, None) } else { row }
}

fn nets(draw: &mut Draw) -> Vec<Row> {
    let path = draw.of(&[LOOPBACK, "node7"]).to_owned();
    let plain = NetParams {
        protocol: Protocol::Tcp,
        mode: NetMode::Stream,
        block: 128 * KIB,
        direction: Some(Direction::Up),
        threads: 1,
        path,
        zero_copy: Some(false),
        segmentation: None,
        loss_goal_per_million: None,
        wait: None,
    };
    let mut rows = Vec::new();
    let (exponent, down) = (draw.exponent(), draw.of(&[0.7, 1.0]));
    for (threads, block) in draw.some(&[(1, 128 * KIB), (2, 128 * KIB), (4, 128 * KIB), (1, KIB), (2, KIB)]) {
        for direction in draw.some(&[Direction::Up, Direction::Up, Direction::Down, Direction::Both]) {
            for zero_copy in draw.some(&[false, true]) {
                let params = NetParams {
                    threads,
                    block,
                    direction: Some(direction),
                    zero_copy: Some(zero_copy),
                    ..plain.clone()
                };
                let way = if direction == Direction::Up { 1.0 } else { down };
                let rate = 4e9 * way * f64::from(threads).powf(exponent) * if zero_copy { 0.8 } else { 1.0 };
                let cost = 1e-10 + 2e-6 / block as f64;
                let figures = [
                    (MetricName::Throughput, rate),
                    (MetricName::CpuCost, cost),
                    (MetricName::Retransmits, draw.of(&[0.0, 3.0])),
                ];
                rows.push(net_row(draw, params, &figures));
            }
        }
    }
    let udp = NetParams { protocol: Protocol::Udp, block: 1472, zero_copy: None, ..plain.clone() };
    for goal in draw.some(&[None, Some(0), Some(100), Some(1000)]) {
        for segmentation in draw.some(&[Segmentation::Off, Segmentation::Gso]) {
            let mode = if goal.is_none() { NetMode::Blast } else { NetMode::NoDrop };
            let params =
                NetParams { mode, loss_goal_per_million: goal, segmentation: Some(segmentation), ..udp.clone() };
            let rate = if segmentation == Segmentation::Gso { 2e9 } else { 0.5e9 };
            let loss = if goal.is_none() { 0.3 } else { 1e-5 };
            rows.push(net_row(draw, params, &[(MetricName::Throughput, rate), (MetricName::Loss, loss)]));
        }
    }
    let trip = NetParams { block: 1, direction: None, zero_copy: None, ..plain };
    let trips = [
        (NetMode::Pingpong, Some(Wait::Blocking), None, 20e-6),
        (NetMode::Pingpong, Some(Wait::Spinning), None, 12e-6),
        (NetMode::Connect, None, None, 50e-6),
        (NetMode::Load, None, Some(Direction::Both), draw.of(&[1.1e-4, 2e-3, 12e-3, 200e-3])),
    ];
    for (mode, wait, direction, seconds) in draw.some(&trips) {
        let params = NetParams { mode, wait, direction, ..trip.clone() };
        rows.push(net_row(draw, params, &[(MetricName::Latency, seconds), (MetricName::Throughput, 1.0 / seconds)]));
    }
    rows
}
