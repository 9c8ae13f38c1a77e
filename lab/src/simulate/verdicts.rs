//! `cargo lab simulate verdicts`: how often a result with recorded noise is called below a published range, when it falls
//! short of it by 15 % and when it does not.

use std::fmt::Write as _;

use model::sample::{Expectation, ExpectationVerdict, MetricName, Sample};
use model::unit::{Better, Unit};
use stats::random::Random;
use verdict::expectation::judge;
use xtask::shell::Shell;

use super::noise::{Recorded, recorded};
use crate::record::write;

const PATH: &str = "docs/evidence/verdicts.md";
const TRIALS: u64 = 1000;
/// Of the published value.
const SHORTFALL: f64 = 0.85;
/// The range of a published value, as `machine` makes it.
const RANGE: [f64; 2] = [0.9, 1.1];
/// The goals: of trials with the shortfall at least this share is below, without it at most that.
const FOUND: f64 = 0.95;
const FALSE_ALARMS: f64 = 0.01;

#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    trials: u64,
    below: u64,
}

pub(super) fn run(shell: &Shell) -> Result<(), String> {
    let recorded = recorded()?;
    let mut random = Random::new(1);
    let mut areas: Vec<&str> = recorded.iter().map(|metric| metric.area.as_str()).collect();
    areas.dedup();
    let mut lines = String::new();
    let mut reached = true;
    for area in areas {
        let of_area: Vec<&Recorded> = recorded.iter().filter(|metric| metric.area == area).collect();
        let [short, whole] = [SHORTFALL, 1.0].map(|share| trials(&of_area, share, &mut random));
        let [found, wrong] = [short, whole].map(|counts| counts.below as f64 / counts.trials as f64);
        reached &= found >= FOUND && wrong <= FALSE_ALARMS;
        let _ = writeln!(lines, "| {area} | {} | {:.1} % | {:.1} % |", of_area.len(), 100.0 * found, 100.0 * wrong);
    }
    let goal = if reached { "Reached" } else { "**Not reached**" };
    let page = format!(
        "# How often is a result called below what it should be?\n\n\
         Written by `cargo lab simulate verdicts`. Each trial draws a result of a benchmark from recorded noise (that of \
         [the simulated\nclusters](cluster-simulation.md)) and judges it, as a run does, against a published range of \
         90 to 110 %.\n\n\
         | area | benchmarks | 15 % too slow: called below | as published: called below |\n|---|---|---|---|\n{lines}\n\
         {TRIALS} trials for each area and column. {goal}: at least 95 % and at most 1 %.\n"
    );
    print!("{page}");
    write(&shell.root().join(PATH), &page)
}

fn trials(of_area: &[&Recorded], share: f64, random: &mut Random) -> Counts {
    let mut counts = Counts::default();
    for trial in 0..TRIALS {
        let metric = of_area[usize::try_from(trial).unwrap_or(0) % of_area.len()];
        counts.trials += 1;
        counts.below += u64::from(is_below(metric, share, random));
    }
    counts
}

fn is_below(recorded: &Recorded, share: f64, random: &mut Random) -> bool {
    let (better, speed) = match recorded.better {
        stats::Better::Higher => (Better::Higher, share),
        stats::Better::Lower => (Better::Lower, 1.0 / share),
    };
    let sample = |(launch, residual): (u32, f64)| Sample { value: speed * residual.exp(), launch, ..Sample::default() };
    let samples = recorded.run(random).into_iter().map(sample).collect();
    let name = MetricName::Throughput.name();
    let Some(mut metric) = verdict::samples::metric(name, Unit::One, better, samples) else { return false };
    let [low, high] = if better == Better::Higher { RANGE } else { [1.0 / RANGE[1], 1.0 / RANGE[0]] };
    let text = String::new();
    metric.expectations =
        vec![Expectation { source: "published".to_owned(), low, high, text, origin: None, date: None, n: None }];
    judge(&mut metric, None);
    metric.verdict == Some(ExpectationVerdict::Below)
}
