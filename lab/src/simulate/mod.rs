//! `cargo lab simulate`: how often slow nodes are named, and healthy ones, on simulated clusters with recorded noise.
//!
//! What is tried is `stats::fleet`, as `assay cluster report` calls it. The page says what is recorded and what is
//! assumed. `cargo lab simulate scale` tries the size of plan and report instead, `cargo lab simulate example` makes the
//! example of a page.

mod cluster;
mod example;
mod made;
mod noise;
mod page;
mod scale;

use std::process::ExitCode;

use stats::random::Random;

use self::cluster::{Fault, Found, Made, simulate};
use xtask::shell::Shell;

/// What this command takes, for the usage.
pub(crate) const USAGE: &str = "simulate [scale [NODES [EXPERIMENTS]] | example] [--clusters N] [--seed N]";

/// Sizes of clusters.
const SIZES: [usize; 6] = [4, 8, 16, 64, 250, 1000];
/// At most this share of a cluster is slow.
const MOST_SLOW: f64 = 0.3;

/// What is assumed of a cluster beside the recorded noise.
#[derive(Clone, Copy)]
struct Level {
    name: &'static str,
    /// Lasting difference of healthy nodes, as a standard deviation.
    apart: f64,
    /// What an area's figures of a node share in one pass.
    mood: f64,
    /// What recorded noise is multiplied by.
    noise: f64,
}

/// Lasting differences between nodes cannot be recorded on one machine: one level for hardware that a data centre keeps
/// alike, one for the spread from which on equals are warned of (2 % in all), and between them the usual case.
const LEVELS: [Level; 3] = [
    Level { name: "quiet", apart: 0.005, mood: 0.005, noise: 0.5 },
    Level { name: "as recorded", apart: 0.01, mood: 0.01, noise: 1.0 },
    Level { name: "rough", apart: 0.015, mood: 0.015, noise: 1.5 },
];

const FAULTS: [Fault; 3] = [Fault::All, Fault::Area("cpu"), Fault::Area("memory")];

/// Counts over clusters of one size, level and fault.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    clusters: u64,
    /// In which a healthy node was named after two passes.
    with_false: u64,
    /// In which every slow node was.
    all_named: u64,
    nodes: Found,
}

impl Count {
    fn add(&mut self, named: Found) {
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

    fn with(mut self, other: &Self) -> Self {
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
struct Line {
    level: &'static str,
    nodes: usize,
    fault: Fault,
    count: Count,
}

/// Runs the command.
pub(crate) fn run(shell: &Shell, arguments: &[String]) -> ExitCode {
    let done = match arguments {
        [word, rest @ ..] if word == "scale" => scale::run(shell, rest),
        [word, rest @ ..] if word == "example" => example::run(shell, rest),
        _ => options(arguments).and_then(|(clusters, seed)| all(shell, clusters, seed)),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            println!("simulate: {reason}");
            println!("Usage: cargo lab {USAGE}");
            ExitCode::from(2)
        }
    }
}

/// Clusters of each level, and the seed.
fn options(arguments: &[String]) -> Result<(u64, u64), String> {
    let (mut clusters, mut seed) = (1000, 1);
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let value = match word.as_str() {
            "--clusters" => &mut clusters,
            "--seed" => &mut seed,
            other => return Err(format!("'{other}' is no option of it")),
        };
        let number = words.next().and_then(|text| text.parse().ok());
        *value = number.ok_or_else(|| format!("{word} takes a whole number"))?;
    }
    if clusters == 0 { Err("no clusters, no shares".to_owned()) } else { Ok((clusters, seed)) }
}

fn all(shell: &Shell, clusters: u64, seed: u64) -> Result<(), String> {
    let recorded = noise::recorded()?;
    let mut lines: Vec<Line> = Vec::new();
    for level in LEVELS {
        let mut random = Random::new(seed);
        let kinds = (SIZES.len() * FAULTS.len()) as u64;
        let first = lines.len();
        for nodes in SIZES {
            lines.extend(FAULTS.map(|fault| Line { level: level.name, nodes, fault, count: Count::default() }));
        }
        for number in 0..clusters {
            let line = &mut lines[first + usize::try_from(number % kinds).unwrap_or(0)];
            // Every other cluster has one slow node, the rest up to the most, evenly.
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of a count")]
            let most = ((line.nodes as f64 * MOST_SLOW) as u64).max(1);
            let slow = if (number / kinds).is_multiple_of(2) { 1 } else { 1 + random.below(most) };
            let made = Made {
                nodes: line.nodes,
                slow: usize::try_from(slow).unwrap_or(1),
                fault: line.fault,
                speed: 0.9,
                apart: level.apart,
                mood: level.mood,
                noise: level.noise,
            };
            line.count.add(simulate(made, &recorded, &mut random));
        }
        println!("{}: {clusters} clusters", level.name);
    }
    let text = page::page(&lines, clusters, seed);
    print!("{text}");
    let path = shell.root().join(page::PATH);
    std::fs::write(&path, text).map_err(|error| format!("cannot write {}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn options_are_read_or_refused() {
        assert_eq!(options(&[]), Ok((1000, 1)));
        assert_eq!(options(&words("--seed 7 --clusters 30")), Ok((30, 7)));
        for wrong in ["--clusters", "--clusters x", "--clusters 0", "more"] {
            assert!(options(&words(wrong)).is_err(), "{wrong}");
        }
    }
}
