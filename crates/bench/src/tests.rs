//! Values that the tests of several modules need.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use model::document::{Document, MachineStates, Program, Row, RunInfo, SCHEMA, Status};
use model::experiment::{CpuParams, DiskParams, Experiment, MemoryParams};
use model::io::DiskEngine;
use model::isa::{CpuOp, Element, Isa, MemoryOp, Pages};
use model::machine::{Cache, Cpu, LogicalCpu, Machine, Memory};
use model::plan::{Plan, Planned, Sampling};
use model::sample::{Metric, MetricName, Sample, Summary};
use model::unit::{Better, Unit};
use model::warning::Confidence;
use model::wire::{MetricSample, Task};

use crate::evidence::Repetition;
use crate::journal::Asked;
use crate::references::detect::Detected;
use crate::runner::{Setting, WorkerCommand};
use tools::examples::{chase, memory, random_reads};

pub(crate) struct Scratch(PathBuf);

impl Scratch {
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub(crate) fn scratch() -> Scratch {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let name = format!("assay-bench-test-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
    let path = std::env::temp_dir().join(name);
    std::fs::create_dir_all(&path).unwrap();
    Scratch(path)
}

/// Runs the cases of a test at the same time, each in a thread.
pub(crate) fn in_parallel<T: Send>(cases: impl IntoIterator<Item = T>, run: impl Fn(T) + Sync) {
    std::thread::scope(|scope| {
        for case in cases {
            let run = &run;
            scope.spawn(move || run(case));
        }
    });
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

pub(crate) fn disk_params(depth: u32) -> DiskParams {
    let of_example = random_reads(DiskEngine::Sync, depth).disk().cloned();
    DiskParams { path: "/x".into(), ..of_example.unwrap() }
}

pub(crate) fn memory_params(op: MemoryOp, threads: u32) -> MemoryParams {
    let example = if op == MemoryOp::Load { chase(1 << 30) } else { memory(op, Isa::Avx2, 1 << 30, threads) };
    MemoryParams { pages: Pages::Huge2M, threads, ..example.memory().cloned().unwrap() }
}

pub(crate) fn planned() -> Planned {
    Planned { setup_seconds: 0.01, ..Planned::new(experiment(), vec![0], Sampling::default()) }
}

pub(crate) fn task() -> Task {
    Task {
        experiment: experiment(),
        cpus: vec![0],
        launch: 1,
        block: 1,
        session: 1,
        seed: 1,
        samples: 1,
        sample_seconds: 0.05,
        exact_work: None,
        warm_up_seconds: [0.0, 0.0],
        run_began: 0.0,
        imul_cycles: 3,
        parent: std::process::id(),
        processor: None,
        until_steady: false,
        most_seconds: None,
        ends_at: None,
        disk: None,
        ends: None,
    }
}

pub(crate) fn metric_sample(value: f64) -> MetricSample {
    let sample = Sample {
        value,
        work: Some(value),
        seconds: 1.0,
        launch: 1,
        block: 1,
        session: 1,
        clock_hz: Some(3e9),
        stolen_seconds: Some(0.0),
        undisturbed: None,
        slices: None,
        ..Sample::default()
    };
    MetricSample { name: MetricName::Throughput, unit: Unit::FlopPerSecond, better: Better::Higher, sample }
}

pub(crate) fn repetition(value: f64) -> Repetition {
    Repetition { metrics: vec![metric_sample(value)], histogram: None }
}

pub(crate) fn document() -> Document {
    let mut row = Row::planned(&experiment(), "");
    (row.status, row.reason, row.verified, row.confidence) = (Status::Ok, None, Some(true), Some(Confidence::High));
    let summary = Summary { n: 1, median: 1.0, min: 1.0, max: 1.0, mean: 1.0, ..Summary::default() };
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

pub(crate) fn asked() -> Asked {
    let plan = Plan { suite: "cpu".into(), rows: vec![planned()], seed: 1, sessions: 1, ..Plan::default() };
    Asked { plan, verify_only: false, disk: None, server: None, tools: Detected::new() }
}

/// A setting that cannot start workers.
pub(crate) fn setting<'a>(machine: &'a Machine, declared: &'a machine::Declared) -> Setting<'a> {
    let worker = WorkerCommand { program: "/no/such/program".into(), arguments: Vec::new() };
    Setting::new(worker, Program::default(), machine, declared, 0.0)
}

/// Says, loudly and in the file that the harness names, that a test could not run here.
pub(crate) fn skip(test: &str, reason: &str) {
    use std::io::Write;
    eprintln!("SKIPPED: {test}: {reason}");
    #[expect(clippy::disallowed_methods, reason = "the harness says through the environment where skips are noted")]
    if let Some(path) = std::env::var_os("ASSAY_TEST_SKIPS") {
        let mut file = std::fs::OpenOptions::new().append(true).create(true).open(path).unwrap();
        writeln!(file, "{test}: {reason}").unwrap();
    }
}
