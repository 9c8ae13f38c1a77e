//! Recorded noise: residuals of process runs and samples of one real run, from which other runs are drawn.
//!
//! A process run's residual is drawn from its own benchmark if that has at least six, else from all benchmarks of the area.

use stats::Better;
use stats::random::Random;

const TABLE: &str = include_str!("noise.tsv");
const UNIT: f64 = 1e-4;
const ENOUGH_LAUNCHES: usize = 6;

#[derive(Debug)]
pub(super) struct Recorded {
    pub(super) experiment: String,
    pub(super) area: String,
    pub(super) better: Better,
    launches: usize,
    samples_a_launch: usize,
    between: Vec<f64>,
    within: Vec<f64>,
}

pub(super) fn recorded() -> Result<Vec<Recorded>, String> {
    let mut figures = Vec::new();
    for line in TABLE.lines().filter(|line| !line.starts_with('#')) {
        figures.push(figure(line).ok_or_else(|| format!("a line of the table of noise is not whole: {line}"))?);
    }
    let pools: Vec<Vec<f64>> = figures
        .iter()
        .map(|figure: &Recorded| {
            let near = figures.iter().filter(|other: &&Recorded| other.area == figure.area);
            near.flat_map(|other| other.between.iter().copied()).collect()
        })
        .collect();
    for (figure, pool) in figures.iter_mut().zip(pools) {
        if figure.launches < ENOUGH_LAUNCHES {
            figure.between = pool;
        }
    }
    Ok(figures)
}

fn figure(line: &str) -> Option<Recorded> {
    let [experiment, area, better, between, samples, within] = line.split('\t').collect::<Vec<_>>().try_into().ok()?;
    let numbers = |text: &str| -> Option<Vec<f64>> {
        text.split(' ').map(|word| word.parse::<f64>().ok().map(|number| number * UNIT)).collect()
    };
    let between = numbers(between)?;
    Some(Recorded {
        experiment: experiment.to_owned(),
        area: area.to_owned(),
        better: if better == "lower" { Better::Lower } else { Better::Higher },
        launches: between.len(),
        samples_a_launch: samples.parse().ok().filter(|samples| *samples > 0)?,
        between,
        within: numbers(within)?,
    })
}

impl Recorded {
    pub(super) fn draw(&self, random: &mut Random, scratch: &mut Vec<f64>) -> f64 {
        scratch.clear();
        for _ in 0..self.launches {
            let launch = one_of(&self.between, random);
            scratch.extend((0..self.samples_a_launch).map(|_| launch + one_of(&self.within, random)));
        }
        scratch.sort_by(f64::total_cmp);
        f64::midpoint(scratch[(scratch.len() - 1) / 2], scratch[scratch.len() / 2])
    }
}

fn one_of(values: &[f64], random: &mut Random) -> f64 {
    let place = usize::try_from(random.below(values.len() as u64)).unwrap_or(0);
    values[place]
}

/// A normal variable (G. E. P. Box & M. E. Muller, "A note on the generation of random normal deviates", Annals of
/// Mathematical Statistics 29, 1958).
pub(super) fn normal(random: &mut Random) -> f64 {
    let radius = (-2.0 * (1.0 - random.unit()).ln()).sqrt();
    radius * (std::f64::consts::TAU * random.unit()).cos()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_table_is_a_figure() {
        let figures = recorded().unwrap();
        assert!(figures.len() > 30 && figures.iter().any(|figure| figure.better == Better::Lower));
        assert!(figures.iter().all(|figure| !figure.within.is_empty()));
        // Few launches of its own: those of the area's other figures are drawn from as well.
        assert!(figures.iter().all(|figure| figure.between.len() > figure.launches.min(ENOUGH_LAUNCHES - 1)));
        assert!(figure("cpu/x\tcpu\thigher\t1 2\t1").is_none() && figure("cpu/x\tcpu\thigher\t1 z\t1\t0").is_none());
    }

    #[test]
    fn what_is_drawn_varies_less_than_a_launch_and_about_nothing() {
        let figures = recorded().unwrap();
        let (mut random, mut scratch) = (Random::new(1), Vec::new());
        for figure in &figures {
            let drawn: Vec<f64> = (0..2000).map(|_| figure.draw(&mut random, &mut scratch)).collect();
            let most = figure.between.iter().chain(&figure.within).fold(0.0_f64, |most, value| most.max(value.abs()));
            assert!(drawn.iter().all(|value| value.abs() <= 2.0 * most), "{}", figure.experiment);
        }
    }
}
