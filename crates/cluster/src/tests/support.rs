//! Values that the tests of several modules need.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use model::cluster::{Claim, PlanNode};
use model::document::{Document, MachineStates, Program, Row, RunInfo, SCHEMA, Status};
use model::experiment::{Area, CpuParams, Experiment, Params};
use model::isa::{CpuOp, Element, Isa};
use model::machine::{Cache, Cpu, LogicalCpu, Machine, Memory};
use model::warning::Grade;

use crate::plan::request::Request;

/// A folder that is removed when it is dropped.
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
    let name = format!("assay-cluster-test-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
    let path = std::env::temp_dir().join(name);
    std::fs::create_dir_all(&path).unwrap();
    Scratch(path)
}

/// A claimer of whom nothing is known but its name.
pub(crate) fn claim(id: &str) -> Claim {
    Claim { id: id.to_owned(), host: format!("host-of-{id}"), ..Claim::default() }
}

/// A machine of so many single-threaded cores, 16 GiB available and an L3 of 32 MiB.
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

/// An unfinished run with one measured benchmark.
pub(crate) fn document() -> Document {
    let params = CpuParams { op: CpuOp::Fma, element: Element::Fp64, isa: Isa::Avx2, threads: 1 };
    let (area, method, classic) = (Area::Cpu, "cpu-fma/1".into(), None);
    let experiment = Experiment {
        id: "cpu/fma/fp64/avx2/t1".into(),
        area,
        params: Params::Cpu(params),
        method,
        classic,
        kernel: None,
    };
    let mut row = Row::planned(&experiment, "");
    (row.status, row.reason, row.verified, row.grade) = (Status::Ok, None, Some(true), Some(Grade::A));
    Document {
        schema: SCHEMA.into(),
        assay: Program::default(),
        run: RunInfo { grade: Some(Grade::A), ..RunInfo::default() },
        machine: Machine::default(),
        peer: None,
        conditions: MachineStates::default(),
        experiments: vec![row],
        findings: Vec::new(),
    }
}

/// What a plan for these nodes is made from.
pub(crate) fn request(nodes: &[&str]) -> Request {
    Request {
        name: "p".into(),
        created: "2026-11-22T12:00:00Z".into(),
        program: program(),
        suite: "quick".into(),
        nodes: nodes.iter().map(|name| PlanNode { name: (*name).to_owned(), partition: None }).collect(),
        lease_seconds: 60.0,
        attempts: 3,
        seed: 1,
        ..Request::default()
    }
}

pub(crate) fn program() -> Program {
    Program { version: "0.1.0".into(), git: Some("c0ffee".into()), profile: "debug".into(), argv: Vec::new() }
}

/// Expected seconds of two areas, 30 s together.
pub(crate) fn expected_seconds() -> BTreeMap<Area, f64> {
    [(Area::Cpu, 10.0), (Area::Memory, 20.0)].into()
}

/// Writes a program with this text.
pub(crate) fn install(scratch: &Scratch, name: &str, text: &str) -> PathBuf {
    let (from, to) = (scratch.path().join("text"), scratch.path().join(name));
    std::fs::write(&from, text).unwrap();
    // By another process: a file that this one has open for writing cannot be run, and its children inherit it.
    assert!(Command::new("install").args(["-m", "755"]).args([&from, &to]).status().unwrap().success());
    to
}
