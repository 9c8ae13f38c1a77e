//! Theoretical limits of benchmarks on a machine, each with its formula and its sources.

pub(crate) mod disk;
pub(crate) mod memory;
pub(crate) mod net;
pub(crate) mod peaks;

use model::machine::Machine;
use model::peak::{Peak, PeakInput, PeakKind};

/// Data of a PCI Express packet, B, as most root ports and drives are set.
const PCIE_PAYLOAD: f64 = 256.0;
/// Header, framing and checks of a packet, B: six words of 4 B (Intel AN 708 has five to seven).
const PCIE_OVERHEAD: f64 = 24.0;
const PCIE_DATA_SHARE: f64 = PCIE_PAYLOAD / (PCIE_PAYLOAD + PCIE_OVERHEAD);

fn peak(kind: PeakKind, value: f64, formula: String, inputs: Vec<PeakInput>) -> Peak {
    Peak { kind, value, formula, inputs, uncertainty: None }
}

fn input(name: &str, value: f64, source: &str) -> PeakInput {
    PeakInput { name: name.to_owned(), value, source: source.to_owned() }
}

fn source(machine: &Machine, fact: &str) -> String {
    machine.sources.get(fact).cloned().unwrap_or_default()
}
