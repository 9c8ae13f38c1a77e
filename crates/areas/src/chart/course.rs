//! The course of a run: when other processes or VMs took CPU time, and when the clock was low.

use model::document::{Document, Status};
use model::number::{clock, percent, percent_short};
use model::sample::Sample;

use super::data::{Body, Chart, ChartAxis, Look, Mark, Plot, Point, Reading, Series};
use super::grid::{Cell, Column};

/// Stretches that the run's time is divided into.
const STRETCHES: usize = 40;
/// Shorter runs have their time in seconds.
const SHORT: f64 = 300.0;

const ABOUT: &str = "The share of the CPU time that other processes or VMs took, and how far the clock was below its highest, \
                     over the time of the run: means over the samples of each stretch of time.";

/// What the samples of a stretch of time saw.
struct Stretch {
    middle: f64,
    interference: Option<f64>,
    clock: Option<f64>,
}

pub(super) fn charts(document: &Document) -> Vec<Chart> {
    chart(document).into_iter().collect()
}

fn chart(document: &Document) -> Option<Chart> {
    let rows = document.experiments.iter().filter(|row| row.status == Status::Ok);
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
    let (unit, title, scale) = if end < SHORT {
        ("s", "Seconds since the run began", 1.0)
    } else {
        ("min", "Minutes since the run began", 60.0)
    };
    let point = |what: &str, (at, share): (f64, f64)| {
        let (x, text) = (at / scale, percent(share));
        let place = format!("{x:.0} {unit}");
        let cells = vec![Cell::number(Some(share), percent)];
        let mark = Mark { value: share, text: format!("{what} at {place}: {text}"), cells, ..Mark::default() };
        Point { x, place, y: share, limit: None, mark }
    };
    let series = |index: usize, name: String, values: &[(f64, f64)]| {
        let points = values.iter().map(|value| point(&name, *value)).collect();
        Series { joined: false, ..Series::line(name.clone(), Look::nth(index, None), points) }
    };
    let low: Vec<(f64, f64)> = stretches.iter().filter_map(|stretch| Some((stretch.middle, stretch.clock?))).collect();
    let mut all = vec![series(0, "CPU time taken by others".to_owned(), &taken)];
    let clock_name = highest.filter(|_| !low.is_empty()).map(|hertz| format!("clock below {}", clock(hertz)));
    all.extend(clock_name.map(|name| series(1, name, &low)));
    let worst = taken.iter().copied().max_by(|one, other| one.1.total_cmp(&other.1))?;
    let mean = taken.iter().map(|(_, share)| share).sum::<f64>() / taken.len() as f64;
    let at = format!("{:.0} {unit}", worst.0 / scale);
    let mut observation = format!(
        "Other processes or VMs took {} of the CPU time on average, at most {} (at {at}).",
        percent_short(mean),
        percent_short(worst.1)
    );
    if let Some((lowest, hertz)) = low.iter().map(|(_, share)| *share).reduce(f64::max).zip(highest) {
        observation.push_str(&format!(" The clock was at most {} below {}.", percent_short(lowest), clock(hertz)));
    }
    Some(Chart {
        name: "run-interference",
        area: None,
        title: "When was the machine disturbed?".to_owned(),
        observation,
        about: ABOUT.to_owned(),
        columns: vec![Column::number("Share")],
        body: Body::Plot(Plot::single(
            ChartAxis::new(title, Reading::Numbers),
            ChartAxis::new("Share", Reading::Part),
            all,
        )),
    })
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
