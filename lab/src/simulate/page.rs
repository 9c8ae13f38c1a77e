//! The page of the simulation.

use std::fmt::Write as _;

use super::cluster::{Count, Fault, Level};

pub(super) const SIZES: [usize; 6] = [4, 8, 16, 64, 250, 1000];
pub(super) const LEVELS: [Level; 3] = [
    Level { name: "quiet", apart: 0.005, pass_spread: 0.005, noise: 0.5 },
    Level { name: "as recorded", apart: 0.01, pass_spread: 0.01, noise: 1.0 },
    Level { name: "rough", apart: 0.015, pass_spread: 0.015, noise: 1.5 },
];
pub(super) const FAULTS: [Fault; 3] = [None, Some("cpu"), Some("memory")];
/// What was counted of the clusters of a size and a fault at a level.
pub(super) struct Line {
    pub(super) level: &'static str,
    pub(super) nodes: usize,
    pub(super) fault: Fault,
    pub(super) count: Count,
}

pub(super) const PATH: &str = "docs/evidence/cluster-simulation.md";

const HEAD: &str = "# How often slow nodes are named, simulated

Written by `cargo lab simulate`. Clusters have 4 to 1000 nodes and the 39 metrics of the quick suite. Half of them have one slow
node, the others up to 30 %. A slow node is a tenth slower in one area or in all. The code of `assay cluster report` judges: all
metrics of an area together, single metrics by the rule *below the median by six scales and 5 % (disk, network 10 %)*, and a second
pass of the suspects with two healthy nodes.

**Recorded** is the noise of each metric: a node's value is the median of as many process runs and samples as in the quick suite,
drawn from the residuals of a real run on a noisy virtual machine (`lab/src/simulate/noise.tsv`). **Assumed** is what one machine
cannot show: the lasting difference of healthy nodes in an area, and the offset common to all metrics of an area in one pass, as
standard deviations. The noise of different metrics and nodes is independent.

| level | lasting difference | shared in a pass | recorded noise x |
|---|---|---|---|
";

const MIDDLE: &str = "
*Named* is the share of slow nodes that are named after two passes, *suspected* after one. *False alarms* is the share of clusters in which any
healthy node is named after two passes; *per node* the share of healthy nodes that are, *suspected* after one pass. In brackets: 95 % intervals (Wilson).
Nodes of one cluster share its middle and its spread, so that the intervals over nodes are somewhat too narrow. Targets: at least 95 % of slow nodes
named, a healthy one in at most 1 %.

";

const TAIL: &str = "
## What is missed, and why

- Memory, and all areas in rough noise: the lasting difference of healthy nodes adds to that of each pass. With a spread of 2 % and
  more, the limit that protects a thousand healthy nodes is close to a tenth. Such nodes are suspects after one pass. A longer suite
  (more process runs per metric) reduces the difference of a pass, not the lasting one.
- Reported healthy nodes: at the recorded noise mostly because of one disk metric that is sometimes a tenth slow on the recorded
  machine, otherwise because of LINPACK, whose area has only two metrics; in rough noise mostly because of LINPACK.
- A node that is a tenth slow only in disk or network is not simulated: these count from 10 % on, and half of such nodes are above.
";

pub(super) fn page(lines: &[Line], clusters: u64, seed: u64) -> String {
    let mut text = HEAD.to_owned();
    for level in LEVELS {
        let [apart, pass_spread] = [level.apart, level.pass_spread].map(|share| 100.0 * share);
        let _ = writeln!(text, "| {} | {apart:.1} % | {pass_spread:.1} % | {} |", level.name, level.noise);
    }
    text.push_str(MIDDLE);
    let _ = writeln!(text, "{clusters} clusters at each level, seed {seed}.");
    for level in LEVELS {
        let of_level: Vec<&Line> = lines.iter().filter(|line| line.level == level.name).collect();
        let _ = writeln!(text, "\n## Noise: {}\n", level.name);
        text.push_str(
            "| nodes | clusters | named | all of a cluster | suspected | false alarms | per node | suspected |\n",
        );
        text.push_str("|---|---|---|---|---|---|---|---|\n");
        for nodes in SIZES {
            let of_size = of_level.iter().filter(|line| line.nodes == nodes);
            row(&mut text, &nodes.to_string(), &sum(of_size.map(|line| &line.count)));
        }
        for fault in FAULTS {
            let of_fault = of_level.iter().filter(|line| line.fault == fault);
            row(
                &mut text,
                &format!("slow in {}", fault.unwrap_or("all areas")),
                &sum(of_fault.map(|line| &line.count)),
            );
        }
        row(&mut text, "all", &sum(of_level.iter().map(|line| &line.count)));
    }
    text.push_str(TAIL);
    text
}

fn sum<'a>(counts: impl Iterator<Item = &'a Count>) -> Count {
    counts.fold(Count::default(), Count::with)
}

fn row(text: &mut String, name: &str, count: &Count) {
    let ([slow, slow_suspected, slow_named], [healthy, healthy_suspected, healthy_named]) = (count.slow, count.healthy);
    let shares = [
        share(slow_named, slow),
        share(count.all_named, count.clusters),
        share(slow_suspected, slow),
        share(count.with_false, count.clusters),
        share(healthy_named, healthy),
        share(healthy_suspected, healthy),
    ];
    let _ = writeln!(text, "| {name} | {} | {} |", count.clusters, shares.join(" | "));
}

fn share(of: u64, all: u64) -> String {
    let Some([low, high]) = wilson(of, all) else { return "–".to_owned() };
    let [share, low, high] = [of as f64 / all as f64, low, high].map(|part| 100.0 * part);
    format!("{share:.2} % ({low:.2} … {high:.2})")
}

/// The 95 % interval of a share (E. B. Wilson, "Probable inference, the law of succession, and statistical inference", Journal
/// of the American Statistical Association 22, 1927).
fn wilson(of: u64, all: u64) -> Option<[f64; 2]> {
    const Z: f64 = 1.959_964;
    let (part, n) = (of as f64 / all as f64, all as f64);
    let middle = (part + Z * Z / (2.0 * n)) / (1.0 + Z * Z / n);
    let half = Z / (1.0 + Z * Z / n) * (part * (1.0 - part) / n + Z * Z / (4.0 * n * n)).sqrt();
    (all > 0).then(|| [(middle - half).max(0.0), (middle + half).min(1.0)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_is_wilsons() {
        // R: prop.test(8, 10, correct = FALSE)
        let [low, high] = wilson(8, 10).unwrap();
        assert!((low - 0.4902).abs() < 1e-4 && (high - 0.9433).abs() < 1e-4, "{low} {high}");
        assert_eq!((wilson(0, 0), share(0, 0)), (None, "–".to_owned()));
    }
}
