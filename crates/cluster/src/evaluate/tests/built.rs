//! Plan folders with synthetic results.

use std::fs;
use std::path::Path;

use model::cluster::{Claim, NodeFacts, Outcome, OutcomeStatus, PLAN_SCHEMA, PairTask, Plan, SuiteTask, Task, Work};
use model::document::{Conditions, Row, Status};
use model::experiment::{Area, Params};
use model::machine::{Disk, Machine, Nic};
use model::sample::{Metric, Summary};
use model::unit::{Better, Unit};

use crate::folder::{Folder, State, write};
use crate::tests::support::{Scratch, document, program, scratch};

/// Values of a healthy node: area, id, unit, direction, value.
pub(super) const VALUES: &[(Area, &str, Unit, Better, f64)] = &[
    (Area::Cpu, "cpu/fma/fp64/avx2/t1", Unit::FlopPerSecond, Better::Higher, 5e10),
    (Area::Cpu, "cpu/fma/fp32/avx2/t1", Unit::FlopPerSecond, Better::Higher, 1e11),
    (Area::Cpu, "cpu/add/int32/avx2/t1", Unit::OpPerSecond, Better::Higher, 7e10),
    (Area::Memory, "memory/sequential-read/t4", Unit::BytePerSecond, Better::Higher, 4e10),
    (Area::Memory, "memory/chase-load/t1", Unit::Second, Better::Lower, 9e-8),
    (Area::Disk, "disk/random-read/4KiB/d32/t1", Unit::PerSecond, Better::Higher, 2e5),
    (Area::Net, "net/tcp-stream/128KiB/t1", Unit::BytePerSecond, Better::Higher, 3e9),
];

/// A node like any other.
pub(super) fn machine() -> Machine {
    let mut machine = Machine::default();
    machine.os.kernel = Some("6.1.0".into());
    machine.cpu.model_name = Some("Zephyr 9000".into());
    (machine.cpu.packages, machine.cpu.cores, machine.cpu.threads) = (Some(1), Some(8), Some(16));
    machine.cpu.governor = Some("performance".into());
    machine.cpu.microcode = Some("0x10".into());
    machine.cpu.turbo = Some(true);
    machine.cpu.smt_control = Some("on".into());
    machine.cpu.mitigations.insert("spectre_v2".into(), "Mitigation: IBRS".into());
    machine.memory.total_bytes = Some(64 << 30);
    (machine.memory.channels, machine.memory.mts) = (Some(8), Some(4800.0));
    machine.memory.dimms = vec![model::machine::Dimm::default(); 8];
    machine.memory.huge_pages.transparent = Some("madvise".into());
    let link =
        model::machine::DiskLink { detail: "PCIe 4.0 x4".into(), below_maximum: Some(false), ..Default::default() };
    let disk = Disk { name: "nvme0n1".into(), model: Some("Fast".into()), link: Some(link.clone()), ..Disk::default() };
    machine.disks = vec![disk];
    machine.nics = vec![Nic {
        name: "eth0".into(),
        speed_bps: Some(25e9),
        speed_trusted: Some(true),
        is_virtual: Some(false),
        state: Some("up".into()),
        mtu: Some(9000),
        bus: Some(link),
        ..Nic::default()
    }];
    machine
}

/// A clock and nothing else.
pub(super) fn conditions() -> Conditions {
    Conditions { clock_hz: Some(3e9), other_load: Some(0.01), pages_obtained: Some(1.0), ..Conditions::default() }
}

/// How one node's results differ from a healthy one's.
#[derive(Clone)]
pub(super) struct Node {
    pub(super) machine: Machine,
    pub(super) conditions: Conditions,
    /// Speed in these areas.
    pub(super) slow: Vec<(Area, f64)>,
}

impl Default for Node {
    fn default() -> Self {
        Self { machine: machine(), conditions: conditions(), slow: Vec::new() }
    }
}

/// A plan's folder in the making.
pub(super) struct Built {
    pub(super) folder: Folder,
    /// Goes with it.
    _scratch: Scratch,
}

impl Built {
    /// A plan of nodes `n0` … without results.
    pub(super) fn plan(nodes: usize) -> Self {
        let scratch = scratch();
        let folder = Folder::at(&scratch.path().join("plan"));
        let names = (0..nodes).map(|node| serde_json::json!({"name": format!("n{node}"), "partition": null}));
        // By its words, so that what is added to a plan needs no change here.
        let plan: Plan = serde_json::from_value(serde_json::json!({
            "schema": PLAN_SCHEMA, "name": "plan", "created": "2026-11-22T12:00:00Z", "program": program(),
            "program_path": "program/assay", "suite": "quick", "options": [], "directory": null, "pairing": null,
            "nodes": names.collect::<Vec<_>>(), "seconds_per_node": 10.0, "lease_seconds": 60.0, "attempts": 3, "seed": 1,
        }))
        .unwrap();
        write(&folder.path().join("plan.json"), &plan).unwrap();
        Self { folder, _scratch: scratch }
    }

    /// A plan of healthy nodes with all their results, and others instead of some.
    pub(super) fn measured(nodes: usize, others: &[(usize, Node)]) -> Self {
        let built = Self::plan(nodes);
        for index in 0..nodes {
            let other = others.iter().find(|(other, _)| *other == index).map(|(_, node)| node.clone());
            built.node(index, &other.unwrap_or_default());
        }
        built
    }

    /// All results of a node: a task for each area.
    pub(super) fn node(&self, index: usize, node: &Node) {
        self.facts(index, node, None);
        for area in [Area::Cpu, Area::Memory, Area::Disk, Area::Net] {
            self.area(index, node, area, 1);
        }
    }

    pub(super) fn facts(&self, index: usize, node: &Node, skew: Option<f64>) {
        let facts = NodeFacts {
            node: format!("n{index}"),
            program: program(),
            machine: node.machine.clone(),
            settings: [("nice".to_owned(), "0".to_owned())].into(),
            clock_skew_seconds: skew,
        };
        write(&self.folder.node(&format!("n{index}")).join("facts.json"), &facts).unwrap();
    }

    /// One area of a node in a pass.
    pub(super) fn area(&self, index: usize, node: &Node, area: Area, pass: u32) {
        let work = Work::Suite(SuiteTask { areas: vec![area.name().into()], filter: None });
        let name = if pass == 1 { area.name().to_owned() } else { format!("{}.pass{pass}", area.name()) };
        let place = self.outcome(index, &name, pass, work, (OutcomeStatus::Ok, None));
        let speed = node.slow.iter().find(|(slow, _)| *slow == area).map_or(1.0, |(_, speed)| *speed);
        let rows = VALUES.iter().filter(|value| value.0 == area).map(|(area, id, unit, better, value)| {
            // A healthy difference from node to node of up to half a per cent.
            let own = speed * (1.0 + 0.001 * ((index * 7 + id.len()) % 11) as f64 - 0.005);
            let value = if *better == Better::Higher { value * own } else { value / own };
            row(*area, id, *unit, *better, value, &node.conditions)
        });
        write(&place.join("run/run.json"), &document(&node.machine, rows.collect())).unwrap();
    }

    /// The network from a node to another one, in the rounds of `--pairs all`.
    pub(super) fn pair(&self, from: usize, to: usize, value: Option<f64>) {
        let work = Work::Pair(PairTask {
            to: format!("n{to}"),
            round: u32::try_from(to.abs_diff(from)).unwrap(),
            together: false,
        });
        let status = if value.is_some() { OutcomeStatus::Ok } else { OutcomeStatus::Failed };
        let reason = value.is_none().then_some("it never answered");
        let place = self.outcome(from, &format!("to-n{to}.alone"), 1, work, (status, reason));
        if let Some(value) = value {
            let rows = vec![row(
                Area::Net,
                "net/tcp-stream/peer/t1",
                Unit::BytePerSecond,
                Better::Higher,
                value,
                &conditions(),
            )];
            write(&place.join("run/run.json"), &document(&machine(), rows)).unwrap();
        }
    }

    /// A published outcome; its folder.
    pub(super) fn outcome(
        &self,
        index: usize,
        name: &str,
        pass: u32,
        work: Work,
        (status, reason): (OutcomeStatus, Option<&str>),
    ) -> std::path::PathBuf {
        let node = format!("n{index}");
        let place = self.folder.tasks(State::Done, &node).join(name);
        let outcome = Outcome {
            task: Task { node, name: name.into(), pass, seconds: 5.0, tried: 0, work },
            claim: Claim::default(),
            status,
            reason: reason.map(str::to_owned),
            seconds: 2.0,
            exit_status: Some(0),
            at_once: None,
            values: [("n", 1000.0), ("nb", 192.0), ("p", 2.0), ("q", 2.0), ("flop_per_s", 8e10), ("residual", 0.01)]
                .map(|(name, value)| (name.to_owned(), value))
                .into(),
        };
        write(&place.join("outcome.json"), &outcome).unwrap();
        place
    }

    /// Changes a document of the plan.
    pub(super) fn changed(&self, path: &str, change: impl FnOnce(&mut serde_json::Value)) {
        let path = self.folder.path().join(path);
        let mut document = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        change(&mut document);
        write(&path, &document).unwrap();
    }

    /// Puts other bytes into a file of the plan.
    pub(super) fn spoil(&self, path: &str, bytes: &[u8]) {
        let path = self.folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap_or(Path::new("/"))).unwrap();
        fs::write(path, bytes).unwrap();
    }
}

fn row(area: Area, id: &str, unit: Unit, better: Better, value: f64, conditions: &Conditions) -> Row {
    let ci95 = [0.995 * value, 1.005 * value];
    let summary = serde_json::json!({"n": 9, "median": value, "ci95": ci95, "min": value, "max": value, "mean": value,
        "stddev": null, "cv": null, "cv_robust": null});
    let summary: Summary = serde_json::from_value(summary).unwrap();
    let peak =
        serde_json::json!({"kind": "sustained", "value": 1e11, "formula": "", "inputs": [], "uncertainty": null});
    let element = if id.contains("fp64") { "fp64" } else { "fp32" };
    let serde_json::Value::Object(params) = serde_json::json!({"type": element}) else { unreachable!() };
    Row {
        id: id.into(),
        area,
        params: Params::Other(params),
        method: "made-up/1".into(),
        classic: None,
        kernel: None,
        scaling: None,
        status: Status::Ok,
        reason: None,
        seconds: 1.0,
        conditions: conditions.clone(),
        confidence: None,
        warnings: Vec::new(),
        verified: Some(true),
        metrics: vec![Metric {
            name: "figure".into(),
            unit,
            better,
            samples: Vec::new(),
            summary,
            peaks: vec![serde_json::from_value(peak).unwrap()],
            efficiency: None,
            expectations: Vec::new(),
            verdict: None,
            references: Vec::new(),
        }],
    }
}
