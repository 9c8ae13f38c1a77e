//! Values that the tests of several modules need.

use model::document::{Document, MachineStates, Program, Row, RunInfo, SCHEMA, Status};
use model::experiment::{Area, CpuParams, DiskParams, Experiment};
use model::io::{DiskCache, DiskEngine, DiskLayout, DiskOp, DiskPattern, DiskSync};
use model::isa::{CpuOp, Element, Isa};
use model::machine::{Cache, Cpu, LogicalCpu, Machine, Memory};
use model::plan::{Planned, Sampling};
use model::sample::{Metric, MetricName, Sample, Summary};
use model::unit::{Better, Unit};
use model::warning::Confidence;
use model::wire::MetricSample;

use crate::rules::{AreaRules, Resource};

/// The rules of every area, without findings of their own.
pub(crate) static AREAS: &[AreaRules] = &[
    rules(Area::Cpu, &[Resource::Cores]),
    rules(Area::Linpack, &[Resource::Cores, Resource::Memory]),
    rules(Area::Memory, &[Resource::Cores, Resource::Memory]),
    rules(Area::Disk, &[Resource::Disk]),
    rules(Area::Net, &[Resource::Network]),
];

const fn rules(area: Area, uses: &'static [Resource]) -> AreaRules {
    AreaRules { uses, ..AreaRules::new(area) }
}

/// A machine of this many single-threaded cores, 16 GiB available and an L3 of 32 MiB.
pub(crate) fn machine_with_cpus(count: u32) -> Machine {
    let cpus: Vec<u32> = (0..count).collect();
    let place = |cpu: &u32| LogicalCpu { cpu: *cpu, core: *cpu, siblings: vec![*cpu], ..LogicalCpu::default() };
    let cache =
        Cache { level: 3, kind: "unified".into(), bytes: Some(32 << 20), cpus: cpus.clone(), ..Cache::default() };
    Machine {
        cpu: Cpu { topology: cpus.iter().map(place).collect(), available_cpus: cpus, ..Cpu::default() },
        caches: vec![cache],
        memory: Memory { available_bytes: Some(16 << 30), ..Memory::default() },
        ..Machine::default()
    }
}

pub(crate) fn experiment() -> Experiment {
    let params = CpuParams { op: CpuOp::Fma, element: Element::Fp64, isa: Isa::Avx2, threads: 1 };
    Experiment::new("cpu/fma/fp64/avx2/t1".into(), params, "cpu-fma/1")
}

/// Random reads of 4 KiB at this depth.
pub(crate) fn disk_params(depth: u32) -> DiskParams {
    DiskParams {
        pattern: DiskPattern::Random,
        op: DiskOp::Read,
        block: 4096,
        size: 1 << 20,
        depth,
        load_percent: None,
        engine: DiskEngine::Sync,
        direct: true,
        sync: DiskSync::None,
        cache: DiskCache::Bypassed,
        layout: DiskLayout::Shared,
        threads: 1,
        path: "/x".into(),
    }
}

pub(crate) fn metric_sample(value: f64) -> MetricSample {
    let (work, seconds, clock_hz, stolen_seconds) = (Some(value), 1.0, Some(3e9), Some(0.0));
    let mut sample = Sample { value, work, seconds, clock_hz, stolen_seconds, ..Sample::default() };
    (sample.launch, sample.block, sample.session) = (1, 1, 1);
    MetricSample { name: MetricName::Throughput, unit: Unit::FlopPerSecond, better: Better::Higher, sample }
}

pub(crate) fn document() -> Document {
    let mut row = Row::planned(&experiment(), "");
    (row.status, row.reason, row.verified, row.confidence) = (Status::Ok, None, Some(true), Some(Confidence::High));
    let summary = Summary {
        n: 1,
        median: 1.0,
        ci95: None,
        ci_confidence: None,
        min: 1.0,
        max: 1.0,
        mean: 1.0,
        stddev: None,
        cv: None,
        cv_robust: None,
        best: None,
        percentiles: None,
        undisturbed: None,
    };
    row.metrics = vec![Metric {
        name: "throughput".into(),
        unit: Unit::FlopPerSecond,
        better: Better::Higher,
        samples: vec![metric_sample(1.0).sample],
        summary,
        peaks: Vec::new(),
        efficiency: None,
        expectations: Vec::new(),
        verdict: None,
        references: Vec::new(),
    }];
    Document {
        schema: SCHEMA.into(),
        assay: Program::default(),
        run: RunInfo { confidence: Some(Confidence::High), ..RunInfo::default() },
        machine: Machine::default(),
        peer: None,
        conditions: MachineStates::default(),
        experiments: vec![row],
        answers: Vec::new(),
        findings: Vec::new(),
    }
}

pub(crate) fn planned() -> Planned {
    Planned { setup_seconds: 0.01, ..Planned::new(experiment(), vec![0], Sampling::default()) }
}
