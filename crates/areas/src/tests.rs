//! Values that the tests of several modules need.

mod findings;
mod headlines;
mod judging;

use std::collections::BTreeMap;

use kernels::features::Features;
use model::document::{Row, Status};
use model::experiment::{Area, CpuParams, DiskParams, Experiment, Params};
use model::io::{DiskEngine, DiskOp, DiskPattern};
use model::isa::{CpuOp, Element, Isa};
use model::machine::{Cache, Cpu, LogicalCpu, Machine, Memory};
use model::plan::{Planned, Sampling};
use model::sample::{Metric, Sample, Summary};
use model::unit::{Better, Unit};
use model::warning::Confidence;
use verdict::rules::AreaRules;

use crate::request::{CoreFeatures, Request};
use crate::suite::Suite;

pub(crate) fn request(suite: &str) -> Request {
    request_of(Suite::embedded(suite).unwrap())
}

pub(crate) fn request_of(suite: Suite) -> Request {
    Request::new(suite, CoreFeatures { here: Features::detect(), by_type: BTreeMap::new() })
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

/// A planned benchmark of the area `cpu` on one thread.
pub(crate) fn planned() -> Planned {
    let params = CpuParams { op: CpuOp::Fma, element: Element::Fp64, isa: Isa::Avx2, threads: 1 };
    let experiment = Experiment::new("cpu/fma/fp64/avx2/t1".into(), params, "cpu-fma/1");
    Planned { setup_seconds: 0.01, ..Planned::new(experiment, vec![0], Sampling::default()) }
}

pub(crate) fn planned_with(area: Area, params: Params) -> Planned {
    let planned = planned();
    Planned { experiment: Experiment { area, params, ..planned.experiment }, ..planned }
}

pub(crate) fn sample(value: f64) -> Sample {
    let (work, seconds, clock_hz, stolen_seconds) = (Some(value), 1.0, Some(3e9), Some(0.0));
    let mut sample = Sample { value, work, seconds, clock_hz, stolen_seconds, ..Sample::default() };
    (sample.launch, sample.block, sample.session) = (1, 1, 1);
    sample
}

pub(crate) fn metric(name: &str, unit: Unit, values: &[f64]) -> Metric {
    let samples = values.iter().map(|value| sample(*value)).collect();
    verdict::samples::metric(name, unit, Better::Higher, samples).unwrap()
}

/// Random reads of 4 KiB at this depth.
pub(crate) fn disk_params(depth: u32) -> DiskParams {
    let reads = DiskParams::new(DiskPattern::Random, DiskOp::Read, 4096, depth);
    DiskParams { size: 1 << 20, engine: DiskEngine::Sync, path: "/x".into(), ..reads }
}

/// A measured result of FP64 FMA on one thread.
pub(crate) fn row() -> Row {
    let mut row = Row::planned(&planned().experiment, "");
    (row.status, row.reason, row.verified, row.confidence) = (Status::Ok, None, Some(true), Some(Confidence::High));
    row.metrics.push(metric("throughput", Unit::FlopPerSecond, &[1.0]));
    row
}

pub(crate) fn known(summary: &mut Summary, value: f64) {
    let (low, high) = (0.99 * value, 1.01 * value);
    (summary.n, summary.median, summary.ci95, summary.min, summary.max) = (9, value, Some([low, high]), low, high);
}

pub(crate) fn findings_of(area: Area, rows: &[Row], machine: &Machine) -> Vec<(String, String)> {
    let all: Vec<&Row> = rows.iter().collect();
    let found = verdict::findings::of_area(&all, machine, &AreaRules::of(crate::RULES, area));
    for finding in &found {
        let exists = |id: &String| rows.iter().any(|row| row.id == *id);
        assert!(!finding.evidence.is_empty() && finding.evidence.iter().all(exists), "{finding:?}");
        assert!(finding.area == area && finding.text.ends_with('.'), "{finding:?}");
    }
    found.into_iter().map(|finding| (finding.code, finding.text)).collect()
}

pub(crate) fn only(found: &[(String, String)], code: &str) -> String {
    let own: Vec<&String> = found.iter().filter(|(other, _)| other == code).map(|(_, text)| text).collect();
    assert_eq!(own.len(), 1, "{code}: {found:#?}");
    own[0].clone()
}
