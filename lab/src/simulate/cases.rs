//! Which clusters are simulated, and what is counted of them.

use super::cluster::{Fault, Found};

/// Sizes of clusters.
pub(super) const SIZES: [usize; 6] = [4, 8, 16, 64, 250, 1000];

/// What is assumed of a cluster beside the recorded noise.
#[derive(Clone, Copy)]
pub(super) struct Level {
    pub(super) name: &'static str,
    /// Lasting difference of healthy nodes, as a standard deviation.
    pub(super) apart: f64,
    /// What an area's figures of a node share in one pass.
    pub(super) mood: f64,
    /// What recorded noise is multiplied by.
    pub(super) noise: f64,
}

/// Lasting differences between nodes cannot be recorded on one machine: one level for hardware that a data centre keeps
/// alike, one for the spread from which on equals are warned of (2 % in all), and between them the usual case.
pub(super) const LEVELS: [Level; 3] = [
    Level { name: "quiet", apart: 0.005, mood: 0.005, noise: 0.5 },
    Level { name: "as recorded", apart: 0.01, mood: 0.01, noise: 1.0 },
    Level { name: "rough", apart: 0.015, mood: 0.015, noise: 1.5 },
];

pub(super) const FAULTS: [Fault; 3] = [Fault::All, Fault::Area("cpu"), Fault::Area("memory")];

/// Counts over clusters of one size, level and fault.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Count {
    pub(super) clusters: u64,
    /// In which a healthy node was named after two passes.
    pub(super) with_false: u64,
    /// In which every slow node was.
    pub(super) all_named: u64,
    pub(super) nodes: Found,
}

impl Count {
    pub(super) fn add(&mut self, named: Found) {
        self.clusters += 1;
        self.with_false += u64::from(named.healthy_named > 0);
        self.all_named += u64::from(named.named == named.slow);
        self.nodes.slow += named.slow;
        self.nodes.suspected += named.suspected;
        self.nodes.named += named.named;
        self.nodes.healthy += named.healthy;
        self.nodes.healthy_suspected += named.healthy_suspected;
        self.nodes.healthy_named += named.healthy_named;
    }

    pub(super) fn with(mut self, other: &Self) -> Self {
        self.clusters += other.clusters;
        self.with_false += other.with_false;
        self.all_named += other.all_named;
        for (sum, one) in [
            (&mut self.nodes.slow, other.nodes.slow),
            (&mut self.nodes.suspected, other.nodes.suspected),
            (&mut self.nodes.named, other.nodes.named),
            (&mut self.nodes.healthy, other.nodes.healthy),
            (&mut self.nodes.healthy_suspected, other.nodes.healthy_suspected),
            (&mut self.nodes.healthy_named, other.nodes.healthy_named),
        ] {
            *sum += one;
        }
        self
    }
}

/// One line of the page.
pub(super) struct Line {
    pub(super) level: &'static str,
    pub(super) nodes: usize,
    pub(super) fault: Fault,
    pub(super) count: Count,
}
