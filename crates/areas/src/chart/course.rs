//! The course of a run: when other processes or VMs took CPU time, and when the clock was low.

use model::document::{Document, Row, Status};
use model::number::{clock, percent, percent_short};
use model::sample::Sample;
use model::warning::WarningCode;

use super::data::{Body, Chart, ChartAxis, Hue, Look, Mark, Plot, Point, Reading, Series};

const STRETCHES: usize = 40;
/// Shorter runs have their time in seconds.
const SHORT: f64 = 300.0;

const ABOUT: &str = "The share of the CPU time that other processes or VMs took, and how far the clock was below its highest, \
                     over the time of the run: means over the samples of each stretch of time.";

struct Stretch {
    middle: f64,
    interference: Option<f64>,
    clock: Option<f64>,
}

pub(super) fn chart(document: &Document) -> Option<Chart> {
    let is_crowded = |row: &Row| row.warnings.iter().any(|warning| warning.code == WarningCode::Oversubscribed);
    // Threads that share a CPU take time from each other.
    let rows = document.experiments.iter().filter(|row| row.status == Status::Ok && !is_crowded(row));
    // Every metric of a result has the same samples.
    let samples = rows.filter_map(|row| row.metrics.first()).flat_map(|metric| &metric.samples);
    let is_sane = |sample: &&Sample| sample.start.is_finite() && sample.start >= 0.0 && sample.seconds > 0.0;
    let samples: Vec<&Sample> = samples.filter(is_sane).collect();
    let end = samples.iter().map(|sample| sample.start).reduce(f64::max).filter(|end| *end > 0.0 && *end < 1e9)?;
    let highest = samples.iter().filter_map(|sample| sample.clock_hz).filter(|hertz| *hertz > 0.0).reduce(f64::max);
    let stretches = stretches(&samples, end, highest);
    let taken: Vec<(f64, f64)> =
        stretches.iter().filter_map(|stretch| Some((stretch.middle, stretch.interference?))).collect();
    if taken.len() < 3 {
        return None;
    }
    let time = if end < SHORT { SECONDS } else { MINUTES };
    let low: Vec<(f64, f64)> = stretches.iter().filter_map(|stretch| Some((stretch.middle, stretch.clock?))).collect();
    let mut observation = of_interference(&taken, &time);
    let mut series = vec![time.series(0, "CPU time taken", &taken)];
    if let Some((lowest, hertz)) = low.iter().map(|(_, share)| *share).reduce(f64::max).zip(highest) {
        let highest = clock(hertz);
        observation = format!("{observation} The clock was at most {} below {highest}.", percent_short(lowest));
        series.push(time.series(1, &format!("clock below {highest}"), &low));
    }
    let (x, y) = (ChartAxis::new(time.title, Reading::Numbers), ChartAxis::new("Share", Reading::Part));
    Some(Chart {
        name: "run-interference",
        area: None,
        title: "When was the machine disturbed?".to_owned(),
        observation,
        about: ABOUT.to_owned(),
        body: Body::Plot(Plot::single(x, y, series)),
    })
}

fn of_interference(taken: &[(f64, f64)], time: &Time) -> String {
    let mean = taken.iter().map(|(_, share)| share).sum::<f64>() / taken.len() as f64;
    let (at, worst) = taken.iter().copied().fold((0.0, 0.0), |worst, own| if own.1 > worst.1 { own } else { worst });
    let when = if worst > 0.0 { format!(" (at {})", time.words(at)) } else { String::new() };
    let [mean, worst] = [mean, worst].map(percent_short);
    format!("Other processes or VMs took {mean} of the CPU time on average, at most {worst}{when}.")
}

/// The unit of the run's time.
struct Time {
    unit: &'static str,
    seconds: f64,
    title: &'static str,
}

const SECONDS: Time = Time { unit: "s", seconds: 1.0, title: "Seconds since the run began" };
const MINUTES: Time = Time { unit: "min", seconds: 60.0, title: "Minutes since the run began" };

impl Time {
    fn words(&self, at: f64) -> String {
        format!("{:.0} {}", at / self.seconds, self.unit)
    }

    fn series(&self, index: usize, name: &str, values: &[(f64, f64)]) -> Series {
        let point = |(at, share): &(f64, f64)| {
            let text = format!("{name} at {}: {}", self.words(*at), percent(*share));
            let mark = Mark { value: *share, text, ..Mark::default() };
            Point { x: at / self.seconds, y: *share, limit: None, mark }
        };
        let look = Look { hue: Hue::Plain(2 * index), ..Look::nth(index, None) };
        Series { joined: false, ..Series::line(name.to_owned(), look, values.iter().map(point).collect()) }
    }
}

/// The means over the samples of each stretch, those of longer samples counting more.
fn stretches(samples: &[&Sample], end: f64, highest: Option<f64>) -> Vec<Stretch> {
    let length = end / STRETCHES as f64;
    let within = |index: usize| {
        let (from, to) = (index as f64 * length, (index + 1) as f64 * length);
        let is_last = index + 1 == STRETCHES;
        samples.iter().filter(move |sample| sample.start >= from && (sample.start < to || is_last)).copied()
    };
    let mean = |index: usize, value: &dyn Fn(&Sample) -> Option<f64>| {
        let known =
            within(index).filter_map(|sample| Some((value(sample).filter(|own| own.is_finite())?, sample.seconds)));
        let (sum, weight) = known.fold((0.0, 0.0), |(sum, all), (own, seconds)| (sum + own * seconds, all + seconds));
        (weight > 0.0).then(|| sum / weight)
    };
    let all = (0..STRETCHES).map(|index| Stretch {
        middle: (index as f64 + 0.5) * length,
        interference: mean(index, &|sample| Some((sample.stolen_seconds? / sample.seconds).clamp(0.0, 1.0))),
        clock: mean(index, &|sample| Some((1.0 - sample.clock_hz? / highest?).clamp(0.0, 1.0))),
    });
    all.filter(|stretch| stretch.interference.is_some() || stretch.clock.is_some()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stretch_has_the_means_of_its_samples_by_their_length() {
        let sample = |start, seconds, stolen| Sample {
            start,
            seconds,
            stolen_seconds: Some(stolen),
            clock_hz: Some(3e9),
            ..Sample::default()
        };
        let all = [sample(0.0, 1.0, 0.1), sample(0.5, 3.0, 0.0), sample(40.0, 1.0, 0.5)];
        let found = stretches(&all.iter().collect::<Vec<_>>(), 40.0, Some(4e9));
        let taken: Vec<(f64, Option<f64>)> = found.iter().map(|own| (own.middle, own.interference)).collect();
        assert_eq!(taken, [(0.5, Some(0.025)), (39.5, Some(0.5))]);
        assert_eq!(found[0].clock, Some(0.25));
        let known: Vec<(f64, f64)> = taken.iter().filter_map(|(at, share)| Some((*at, (*share)?))).collect();
        let expected = "Other processes or VMs took 26 % of the CPU time on average, at most 50 % (at 40 s).";
        assert_eq!(of_interference(&known, &SECONDS), expected);
    }
}
