//! Values for the tests of several modules.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use model::cluster::{Claim, Plan, PlanNode};
use model::document::{Document, MachineStates, Program, Row, RunInfo, SCHEMA};
use model::experiment::Area;
use model::machine::Machine;

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

/// The folder of a plan that has nothing else.
pub(crate) fn plan_folder() -> Scratch {
    let scratch = scratch();
    std::fs::write(scratch.path().join("plan.json"), "{}").unwrap();
    scratch
}

/// A claimer that is only known by name.
pub(crate) fn claim(id: &str) -> Claim {
    Claim { id: id.to_owned(), host: format!("host-of-{id}"), ..Claim::default() }
}

/// A complete run of the suite `quick` with these results.
pub(crate) fn document(machine: &Machine, experiments: Vec<Row>) -> Document {
    Document {
        schema: SCHEMA.into(),
        assay: program(),
        run: RunInfo { suite: "quick".into(), complete: true, ..RunInfo::default() },
        machine: machine.clone(),
        peer: None,
        conditions: MachineStates::default(),
        experiments,
        answers: Vec::new(),
        findings: Vec::new(),
    }
}

/// A request for a plan of these nodes.
pub(crate) fn request(nodes: &[&str]) -> Request {
    let plan = Plan {
        name: "p".into(),
        program: program(),
        suite: "quick".into(),
        nodes: nodes.iter().map(|name| PlanNode { name: (*name).to_owned(), partition: None }).collect(),
        lease_seconds: 60.0,
        attempts: 2,
        seed: 1,
        ..Plan::default()
    };
    Request { plan, ..Request::default() }
}

pub(crate) fn program() -> Program {
    Program { version: "0.1.0".into(), git: Some("c0ffee".into()), profile: "debug".into(), argv: Vec::new() }
}

/// Expected seconds of two areas, 30 s in all.
pub(crate) fn expected_seconds() -> BTreeMap<Area, f64> {
    [(Area::Cpu, 10.0), (Area::Memory, 20.0)].into()
}

/// Installs a script.
pub(crate) fn install(scratch: &Scratch, name: &str, text: &str) -> PathBuf {
    let (from, to) = (scratch.path().join("text"), scratch.path().join(name));
    std::fs::write(&from, text).unwrap();
    // By another process: a file that is open for writing cannot be run, and child processes inherit open files.
    assert!(Command::new("install").args(["-m", "755"]).args([&from, &to]).status().unwrap().success());
    to
}
