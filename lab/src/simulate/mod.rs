//! `cargo lab simulate`: how often `stats::fleet` reports slow and healthy nodes on simulated clusters with recorded noise.

mod cluster;
mod example;
mod made;
mod noise;
mod page;
mod scale;
mod verdicts;

use stats::random::Random;

use self::cluster::{Count, Made, simulate};
use self::page::{FAULTS, LEVELS, Line, SIZES};
use xtask::shell::Shell;

pub(crate) const USAGE: &str = "simulate [scale | example | verdicts] [--clusters N] [--seed N]";
const MOST_SLOW: f64 = 0.3;

pub(crate) fn run(shell: &Shell, arguments: &[String]) -> Result<(), String> {
    match arguments {
        [word] if word == "scale" => scale::run(shell),
        [word, rest @ ..] if word == "example" => example::run(shell, rest),
        [word] if word == "verdicts" => verdicts::run(shell),
        _ => options(arguments).and_then(|(clusters, seed)| all(shell, clusters, seed)),
    }
}

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
                level,
            };
            line.count = line.count.with(&simulate(made, &recorded, &mut random));
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
