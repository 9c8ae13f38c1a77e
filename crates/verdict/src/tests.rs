//! Values that the tests of several modules need.

use model::document::{Document, MachineStates, Program, Row, RunInfo, SCHEMA, Status};
use model::experiment::{Area, CpuParams, Experiment};
use model::isa::{CpuOp, Element, Isa};
use model::machine::Machine;
use model::plan::{Planned, Sampling};
use model::sample::Sample;
use model::unit::{Better, Unit};
use model::warning::Confidence;

use crate::rules::{AreaRules, Resource};
use crate::samples::metric;

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

fn experiment() -> Experiment {
    let params = CpuParams { op: CpuOp::Fma, element: Element::Fp64, isa: Isa::Avx2, threads: 1 };
    Experiment::new("cpu/fma/fp64/avx2/t1".into(), params, "cpu-fma/1")
}

pub(crate) fn sample(value: f64) -> Sample {
    let (work, seconds, clock_hz, stolen_seconds) = (Some(value), 1.0, Some(3e9), Some(0.0));
    let mut sample = Sample { value, work, seconds, clock_hz, stolen_seconds, ..Sample::default() };
    (sample.launch, sample.block, sample.session) = (1, 1, 1);
    sample
}

pub(crate) fn document() -> Document {
    let mut row = Row::planned(&experiment(), "");
    (row.status, row.reason, row.verified, row.confidence) = (Status::Ok, None, Some(true), Some(Confidence::High));
    row.metrics.extend(metric("throughput", Unit::FlopPerSecond, Better::Higher, vec![sample(1.0)]));
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
