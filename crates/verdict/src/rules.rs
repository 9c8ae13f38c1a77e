//! What judging the results of an area depends on, as a table: the crate `areas` fills it, this crate reads it.

use model::document::{Finding, Row};
use model::experiment::Area;
use model::machine::Machine;

/// A part of the machine that limits benchmarks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resource {
    /// The cores and their clock.
    Cores,
    /// The main memory.
    Memory,
    /// A storage device.
    Disk,
    /// A network interface.
    Network,
}

/// How the results of one area are judged.
#[derive(Clone, Copy, Debug)]
pub struct AreaRules {
    /// The area.
    pub area: Area,
    /// The parts of the machine that its benchmarks depend on.
    pub uses: &'static [Resource],
    /// Its findings.
    pub findings: FindingRules,
}

/// The findings of one area.
#[derive(Clone, Copy, Debug)]
pub struct FindingRules {
    /// All that its undisturbed rows show together, given these rows, their series over the threads, and the machine.
    pub results: fn(&[&Row], &[Vec<&Row>], &Machine) -> Vec<Finding>,
}

impl AreaRules {
    /// Rules for an area about which nothing is known: the ones to start from.
    pub const fn new(area: Area) -> Self {
        Self { area, uses: &[], findings: FindingRules { results: |_, _, _| Vec::new() } }
    }

    /// The rules for an area in a table.
    pub fn of(table: &[Self], area: Area) -> Self {
        table.iter().find(|rules| rules.area == area).copied().unwrap_or(Self::new(area))
    }

    /// Whether the benchmarks compute on cores, rather than wait for a device.
    pub fn computes(&self) -> bool {
        self.uses.contains(&Resource::Cores)
    }
}
