//! Recorded noise: residuals of process runs and samples of one real run, from which other runs are drawn.
//!
//! A process run's residual is drawn from its own benchmark if that has at least six, else from all benchmarks of the area.

use stats::Better;
use stats::random::Random;

const TABLE: &str = include_str!("noise.tsv");
const UNIT: f64 = 1e-4;
const ENOUGH_PROCESSES: usize = 6;

#[derive(Debug)]
pub(super) struct Recorded {
    pub(super) experiment: String,
    pub(super) area: String,
    pub(super) better: Better,
    processes: usize,
    samples_per_process: usize,
    between: Vec<f64>,
    within: Vec<f64>,
}

pub(super) fn recorded() -> Result<Vec<Recorded>, String> {
    let mut metrics = Vec::new();
    for line in TABLE.lines().filter(|line| !line.starts_with('#')) {
        metrics.push(metric(line).ok_or_else(|| format!("incomplete line of the table of noise: {line}"))?);
    }
    let pools: Vec<Vec<f64>> = metrics
        .iter()
        .map(|metric: &Recorded| {
            let near = metrics.iter().filter(|other: &&Recorded| other.area == metric.area);
            near.flat_map(|other| other.between.iter().copied()).collect()
        })
        .collect();
    for (metric, pool) in metrics.iter_mut().zip(pools) {
        if metric.processes < ENOUGH_PROCESSES {
            metric.between = pool;
        }
    }
    Ok(metrics)
}

fn metric(line: &str) -> Option<Recorded> {
    let [experiment, area, better, between, samples, within] = line.split('\t').collect::<Vec<_>>().try_into().ok()?;
    let numbers = |text: &str| -> Option<Vec<f64>> {
        text.split(' ').map(|word| word.parse::<f64>().ok().map(|number| number * UNIT)).collect()
    };
    let between = numbers(between)?;
    Some(Recorded {
        experiment: experiment.to_owned(),
        area: area.to_owned(),
        better: if better == "lower" { Better::Lower } else { Better::Higher },
        processes: between.len(),
        samples_per_process: samples.parse().ok().filter(|samples| *samples > 0)?,
        between,
        within: numbers(within)?,
    })
}

impl Recorded {
    /// The residuals of a run's samples, each with the number of its process run.
    pub(super) fn run(&self, random: &mut Random) -> Vec<(u32, f64)> {
        let mut residuals = Vec::new();
        for number in 1..=self.processes {
            let process = one_of(&self.between, random);
            let number = u32::try_from(number).unwrap_or(u32::MAX);
            residuals.extend((0..self.samples_per_process).map(|_| (number, process + one_of(&self.within, random))));
        }
        residuals
    }

    pub(super) fn draw(&self, random: &mut Random, scratch: &mut Vec<f64>) -> f64 {
        scratch.clear();
        scratch.extend(self.run(random).into_iter().map(|(_, residual)| residual));
        scratch.sort_by(f64::total_cmp);
        f64::midpoint(scratch[(scratch.len() - 1) / 2], scratch[scratch.len() / 2])
    }
}

fn one_of(values: &[f64], random: &mut Random) -> f64 {
    let place = usize::try_from(random.below(values.len() as u64)).unwrap_or(0);
    values[place]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_table_is_a_metric() {
        let metrics = recorded().unwrap();
        assert!(metrics.len() > 30 && metrics.iter().any(|metric| metric.better == Better::Lower));
        assert!(metrics.iter().all(|metric| !metric.within.is_empty()));
        // With few process runs of its own, those of the area are drawn from as well.
        assert!(metrics.iter().all(|metric| metric.between.len() > metric.processes.min(ENOUGH_PROCESSES - 1)));
        assert!(metric("cpu/x\tcpu\thigher\t1 2\t1").is_none() && metric("cpu/x\tcpu\thigher\t1 z\t1\t0").is_none());
    }

    #[test]
    fn what_is_drawn_varies_less_than_a_launch_and_about_nothing() {
        let metrics = recorded().unwrap();
        let (mut random, mut scratch) = (Random::new(1), Vec::new());
        for metric in &metrics {
            let drawn: Vec<f64> = (0..2000).map(|_| metric.draw(&mut random, &mut scratch)).collect();
            let most = metric.between.iter().chain(&metric.within).fold(0.0_f64, |most, value| most.max(value.abs()));
            assert!(drawn.iter().all(|value| value.abs() <= 2.0 * most), "{}", metric.experiment);
        }
    }
}
