//! One simulated cluster: healthy and slow nodes, a pass, a second pass of the suspects, and which nodes are reported.

use stats::Better;
use stats::fleet::{FleetVerdict, GroupResult, NodeStanding, Sort, Subject, judge_fleet};
use stats::random::Random;

use super::noise::Recorded;

const CONTROLS: usize = 2;

/// The area in which a node is slow; `None`: in all.
pub(super) type Fault = Option<&'static str>;

#[derive(Clone, Copy, Debug)]
pub(super) struct Made {
    pub(super) nodes: usize,
    pub(super) slow: usize,
    pub(super) fault: Fault,
    pub(super) speed: f64,
    pub(super) level: Level,
}

/// How much healthy nodes differ: lastingly, and in each pass; and the recorded noise times this.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Level {
    pub(super) name: &'static str,
    pub(super) apart: f64,
    pub(super) pass_spread: f64,
    pub(super) noise: f64,
}

/// Counts over clusters, and over their nodes: all of them, those suspected after one pass, and those named after two.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Count {
    pub(super) clusters: u64,
    pub(super) with_false: u64,
    pub(super) all_named: u64,
    pub(super) slow: [u64; 3],
    pub(super) healthy: [u64; 3],
}

impl Count {
    pub(super) fn with(self, other: &Self) -> Self {
        let sum = |one: [u64; 3], other: [u64; 3]| std::array::from_fn(|i| one[i] + other[i]);
        Self {
            clusters: self.clusters + other.clusters,
            with_false: self.with_false + other.with_false,
            all_named: self.all_named + other.all_named,
            slow: sum(self.slow, other.slow),
            healthy: sum(self.healthy, other.healthy),
        }
    }
}

struct Cluster<'a> {
    made: Made,
    recorded: &'a [Recorded],
    areas: Vec<&'a str>,
    apart: Vec<Vec<f64>>,
    is_slow: Vec<bool>,
}

pub(super) fn simulate(made: Made, recorded: &[Recorded], random: &mut Random) -> Count {
    let mut areas: Vec<&str> = recorded.iter().map(|metric| metric.area.as_str()).collect();
    areas.dedup();
    let apart = areas.iter().map(|_| (0..made.nodes).map(|_| made.level.apart * random.normal()).collect()).collect();
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
            .map(|_| nodes.iter().map(|_| self.made.level.pass_spread * random.normal()).collect())
            .collect();
        let mut scratch = Vec::new();
        let metric = |metric: &Recorded| {
            let area = self.area(metric);
            if !wanted(area) {
                return Vec::new();
            }
            let mut value = |(place, node): (usize, &usize)| {
                let noise = self.made.level.noise * metric.draw(random, &mut scratch);
                let slow = self.is_slow[*node] && self.made.fault.is_none_or(|slow| slow == metric.area);
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

    fn count(&self, once: &FleetVerdict, twice: &FleetVerdict) -> Count {
        let mut count = Count { clusters: 1, ..Count::default() };
        for (node, is_slow) in self.is_slow.iter().enumerate() {
            let nodes = if *is_slow { &mut count.slow } else { &mut count.healthy };
            nodes[0] += 1;
            nodes[1] += u64::from(once.nodes[node].standing == NodeStanding::Suspect);
            nodes[2] += u64::from(twice.nodes[node].standing == NodeStanding::Slow);
        }
        count.with_false = u64::from(count.healthy[2] > 0);
        count.all_named = u64::from(count.slow[2] == count.slow[0]);
        count
    }
}

#[cfg(test)]
mod tests {
    use super::super::noise::recorded;
    use super::*;

    fn made(slow: usize, speed: f64) -> Made {
        let level = Level { name: "", apart: 0.005, pass_spread: 0.005, noise: 0.3 };
        Made { nodes: 12, slow, fault: None, speed, level }
    }

    #[test]
    fn gross_faults_are_named_and_no_fault_is_not() {
        let recorded = recorded().unwrap();
        let mut random = Random::new(1);
        let gross = simulate(made(2, 0.5), &recorded, &mut random);
        assert_eq!((gross.slow[0], gross.slow[2], gross.healthy[0], gross.healthy[2]), (2, 2, 10, 0));
        let none = simulate(made(0, 0.5), &recorded, &mut random);
        assert_eq!((none.slow[0], none.healthy[0], none.healthy[2]), (0, 12, 0));
        // A fault that is none is not found: the simulation could fail.
        assert_eq!(simulate(made(2, 1.0), &recorded, &mut random).slow[2], 0);
    }
}
