//! One simulated cluster: healthy and slow nodes, a pass, a second pass of the suspects, and which nodes are reported.

use stats::Better;
use stats::fleet::{FleetVerdict, GroupResult, NodeStanding, Sort, Subject, judge_fleet};
use stats::random::Random;

use super::noise::Recorded;

const CONTROLS: usize = 2;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fault {
    Area(&'static str),
    All,
}

impl Fault {
    fn meets(self, area: &str) -> bool {
        match self {
            Self::Area(slow) => slow == area,
            Self::All => true,
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Made {
    pub(super) nodes: usize,
    pub(super) slow: usize,
    pub(super) fault: Fault,
    pub(super) speed: f64,
    pub(super) apart: f64,
    pub(super) pass_spread: f64,
    pub(super) noise: f64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) slow: u64,
    pub(super) suspected: u64,
    pub(super) named: u64,
    pub(super) healthy: u64,
    pub(super) healthy_suspected: u64,
    pub(super) healthy_named: u64,
}

struct Cluster<'a> {
    made: Made,
    recorded: &'a [Recorded],
    areas: Vec<&'a str>,
    apart: Vec<Vec<f64>>,
    is_slow: Vec<bool>,
}

pub(super) fn simulate(made: Made, recorded: &[Recorded], random: &mut Random) -> Found {
    let mut areas: Vec<&str> = recorded.iter().map(|metric| metric.area.as_str()).collect();
    areas.dedup();
    let apart = areas.iter().map(|_| (0..made.nodes).map(|_| made.apart * random.normal()).collect()).collect();
    let mut is_slow: Vec<bool> = (0..made.nodes).map(|node| node < made.slow).collect();
    random.shuffle(&mut is_slow);
    let cluster = Cluster { made, recorded, areas, apart, is_slow };
    let all: Vec<usize> = (0..made.nodes).collect();
    let mut metrics = cluster.first(&all, random);
    let once = judge_fleet(made.nodes, &metrics);
    cluster.second(&once, &mut metrics, random);
    cluster.count(&once, &judge_fleet(made.nodes, &metrics))
}

impl Cluster<'_> {
    fn area(&self, metric: &Recorded) -> usize {
        self.areas.iter().position(|area| *area == metric.area).unwrap_or(0)
    }

    fn pass(&self, nodes: &[usize], wanted: impl Fn(usize) -> bool, random: &mut Random) -> Vec<Vec<f64>> {
        let pass_offsets: Vec<Vec<f64>> = self
            .areas
            .iter()
            .map(|_| nodes.iter().map(|_| self.made.pass_spread * random.normal()).collect())
            .collect();
        let mut scratch = Vec::new();
        let metric = |metric: &Recorded| {
            let area = self.area(metric);
            if !wanted(area) {
                return Vec::new();
            }
            let mut value = |(place, node): (usize, &usize)| {
                let noise = self.made.noise * metric.draw(random, &mut scratch);
                let slow = self.is_slow[*node] && self.made.fault.meets(&metric.area);
                let speed =
                    if slow { self.made.speed.ln() } else { 0.0 } + self.apart[area][*node] + pass_offsets[area][place];
                // The noise belongs to the value itself, in both directions.
                if metric.better == Better::Higher { (speed + noise).exp() } else { (noise - speed).exp() }
            };
            nodes.iter().enumerate().map(&mut value).collect()
        };
        self.recorded.iter().map(metric).collect()
    }

    fn first(&self, nodes: &[usize], random: &mut Random) -> Vec<GroupResult> {
        let values = self.pass(nodes, |_| true, random);
        let metric = |(metric, values): (&Recorded, Vec<f64>)| GroupResult {
            area: self.area(metric),
            sort: if matches!(metric.area.as_str(), "disk" | "net") { Sort::Device } else { Sort::Core },
            better: metric.better,
            first: values.into_iter().map(Some).collect(),
            second: Vec::new(),
        };
        self.recorded.iter().zip(values).map(metric).collect()
    }

    fn second(&self, once: &FleetVerdict, metrics: &mut [GroupResult], random: &mut Random) {
        for area in 0..self.areas.len() {
            let stood_out = |node: &usize| {
                once.nodes[*node].evidence.iter().any(|evidence| match evidence.subject {
                    Subject::Area(of) => of == area,
                    Subject::Result(metric) => metrics[metric].area == area,
                })
            };
            let mut again: Vec<usize> = (0..self.made.nodes).filter(stood_out).collect();
            if again.is_empty() {
                continue;
            }
            let healthy = (0..self.made.nodes).filter(|node| once.nodes[*node].standing == NodeStanding::Healthy);
            again.extend(healthy.take(CONTROLS));
            let values = self.pass(&again, |of| of == area, random);
            for (metric, values) in metrics.iter_mut().zip(values) {
                metric.second.extend(again.iter().copied().zip(values));
            }
        }
    }

    fn count(&self, once: &FleetVerdict, twice: &FleetVerdict) -> Found {
        let mut named = Found::default();
        let named_in =
            |verdict: &FleetVerdict, node: usize, standing| u64::from(verdict.nodes[node].standing == standing);
        for (node, is_slow) in self.is_slow.iter().enumerate() {
            let suspected = named_in(once, node, NodeStanding::Suspect);
            let found = named_in(twice, node, NodeStanding::Slow);
            let (all, once, twice) = if *is_slow {
                (&mut named.slow, &mut named.suspected, &mut named.named)
            } else {
                (&mut named.healthy, &mut named.healthy_suspected, &mut named.healthy_named)
            };
            *all += 1;
            *once += suspected;
            *twice += found;
        }
        named
    }
}

#[cfg(test)]
mod tests {
    use super::super::noise::recorded;
    use super::*;

    fn made(slow: usize, speed: f64) -> Made {
        Made { nodes: 12, slow, fault: Fault::All, speed, apart: 0.005, pass_spread: 0.005, noise: 0.3 }
    }

    #[test]
    fn gross_faults_are_named_and_no_fault_is_not() {
        let recorded = recorded().unwrap();
        let mut random = Random::new(1);
        let gross = simulate(made(2, 0.5), &recorded, &mut random);
        assert_eq!((gross.slow, gross.named, gross.healthy, gross.healthy_named), (2, 2, 10, 0));
        let none = simulate(made(0, 0.5), &recorded, &mut random);
        assert_eq!((none.slow, none.healthy, none.healthy_named), (0, 12, 0));
        // A fault that is none is not found: the simulation could fail.
        assert_eq!(simulate(made(2, 1.0), &recorded, &mut random).named, 0);
    }
}
