use super::cluster::{Fault, Found};

pub(super) const SIZES: [usize; 6] = [4, 8, 16, 64, 250, 1000];

#[derive(Clone, Copy)]
pub(super) struct Level {
    pub(super) name: &'static str,
    pub(super) apart: f64,
    pub(super) pass_spread: f64,
    pub(super) noise: f64,
}

pub(super) const LEVELS: [Level; 3] = [
    Level { name: "quiet", apart: 0.005, pass_spread: 0.005, noise: 0.5 },
    Level { name: "as recorded", apart: 0.01, pass_spread: 0.01, noise: 1.0 },
    Level { name: "rough", apart: 0.015, pass_spread: 0.015, noise: 1.5 },
];

pub(super) const FAULTS: [Fault; 3] = [Fault::All, Fault::Area("cpu"), Fault::Area("memory")];

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Count {
    pub(super) clusters: u64,
    pub(super) with_false: u64,
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

pub(super) struct Line {
    pub(super) level: &'static str,
    pub(super) nodes: usize,
    pub(super) fault: Fault,
    pub(super) count: Count,
}
