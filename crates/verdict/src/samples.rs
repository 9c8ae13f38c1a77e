//! From the samples of a metric to its summary.

use model::sample::{Metric, Sample, Summary, Undisturbed};
use model::unit::{Better, Unit};

use crate::rules::ProcessRun;

const OUTLIER: &str = "outlier";
/// The mark of the samples of a disturbed process run.
pub(crate) const DISTURBED: &str = "disturbed";

/// The median; `None` without a value.
pub fn median(values: &[f64]) -> Option<f64> {
    stats::Observations::new(values).map(|values| values.median())
}

pub(crate) fn percentile(values: &[f64], percent: f64) -> Option<f64> {
    stats::Observations::new(values)?.percentile(percent)
}

pub(crate) fn values_of(samples: &[Sample]) -> Vec<f64> {
    samples.iter().map(|sample| sample.value).collect()
}

/// A metric of these samples, outliers marked; `None` without one.
pub fn metric(name: &str, unit: Unit, better: Better, mut samples: Vec<Sample>) -> Option<Metric> {
    let launches: Vec<u32> = samples.iter().map(|sample| sample.launch).collect();
    let found = stats::summarise_grouped(&values_of(&samples), &launches)?;
    for warning in &found.warnings {
        let stats::Warning::Outliers { indices } = warning else { continue };
        for index in indices {
            let flags = &mut samples[*index].flags;
            if !flags.iter().any(|flag| flag == OUTLIER) {
                flags.push(OUTLIER.to_owned());
            }
        }
    }
    let summary = Summary { undisturbed: undisturbed(&samples, better), ..summary(&found, better) };
    Some(Metric {
        name: name.into(),
        unit,
        better,
        samples,
        summary,
        peaks: Vec::new(),
        efficiency: None,
        expectations: Vec::new(),
        verdict: None,
        references: Vec::new(),
    })
}

fn summary(found: &stats::Summary, better: Better) -> Summary {
    Summary {
        n: u32::try_from(found.n).unwrap_or(u32::MAX),
        median: found.median,
        ci95: found.interval.map(|interval| interval.bounds),
        ci_confidence: found.interval.map(|interval| interval.confidence),
        min: found.min,
        max: found.max,
        mean: found.mean,
        stddev: found.stddev,
        cv: found.cv,
        cv_robust: found.cv_robust,
        best: Some(if better == Better::Higher { found.max } else { found.min }),
        percentiles: None,
        undisturbed: None,
    }
}

/// The value without interference, where samples have one: by their time slices, or by the CPU time of the whole.
fn undisturbed(samples: &[Sample], better: Better) -> Option<Undisturbed> {
    let values: Vec<f64> = samples.iter().filter_map(|sample| sample.undisturbed).collect();
    let better = if better == Better::Higher { stats::Better::Higher } else { stats::Better::Lower };
    let found = stats::undisturbed(&values, better)?;
    let slices = samples.iter().filter_map(|sample| sample.slices).map(u64::from).sum();
    let (n, of) = if slices > 0 { (slices, "time slices") } else { (values.len() as u64, "repetitions by CPU time") };
    Some(Undisturbed { value: found.value, ci95: found.interval, n, of: of.to_owned() })
}

/// Marks the samples of process runs with interference, and of those that repeat such a run. They count like all samples.
pub fn mark(metrics: &mut [Metric], runs: &[ProcessRun], disturbed: &[bool]) {
    for metric in metrics {
        for (run, disturbed) in runs.iter().zip(disturbed) {
            for sample in metric.samples.iter_mut().filter(|sample| sample.launch == run.number) {
                let marks = [(DISTURBED, *disturbed), ("repeat", run.repeat)];
                sample.flags.extend(marks.iter().filter(|(_, is)| *is).map(|(mark, _)| (*mark).to_owned()));
            }
        }
    }
}
