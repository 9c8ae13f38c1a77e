//! Metrics of a sample from the records of a job's threads.

use model::sample::{MetricName, Sample, ThreadShare};
use model::unit::{Better, Unit};
use model::wire::{MetricSample, Task};
use sys::clock::{Timer, monotonic_raw_seconds};

use super::record::{Record, mean};
use crate::engines::{JobProfile, Residuals};

#[derive(Clone, Debug)]
pub(super) struct JobRecord {
    /// Ticks of the timer.
    pub(super) begin: u64,
    pub(super) end: u64,
    pub(super) clock_hz: f64,
    pub(super) bound: Record,
    pub(super) residuals: Residuals,
    pub(super) prepare_seconds: f64,
    pub(super) verify_seconds: f64,
}

/// The metrics of a sample, from the first thread's start to the last one's end. The work is divided equally.
pub(super) fn combine(records: &[JobRecord], job: JobProfile, timer: &Timer, task: &Task) -> Vec<MetricSample> {
    let begin = records.iter().map(|record| record.begin).min().unwrap_or(0);
    let end = records.iter().map(|record| record.end).max().unwrap_or(0);
    let seconds = timer.seconds(begin, end);
    let clock_hz = mean(records.iter().map(|record| record.clock_hz));
    let part = |record: &JobRecord| ThreadShare {
        work: job.work / records.len() as f64,
        seconds: timer.seconds(record.begin, record.end),
        clock_hz: Some(record.clock_hz),
    };
    let sample = Sample {
        value: job.work / seconds,
        work: Some(job.work),
        seconds,
        // The clocks' zeros differ; the distance from now is the same by both.
        start: (monotonic_raw_seconds() - task.run_began - timer.seconds(begin, timer.now())).max(0.0),
        launch: task.launch,
        block: task.block,
        session: task.session,
        clock_hz: Some(clock_hz),
        stolen_seconds: None,
        per_thread: records.iter().map(part).collect(),
        flags: Vec::new(),
    };
    let worst =
        |of: fn(&Residuals) -> Option<f64>| records.iter().filter_map(|record| of(&record.residuals)).reduce(f64::max);
    let values = [
        (MetricName::Latency, Unit::Second, Better::Lower, Some(seconds)),
        (MetricName::Residual, Unit::One, Better::Lower, worst(|residuals| Some(residuals.scaled))),
        (MetricName::ResidualRaw, Unit::One, Better::Lower, worst(|residuals| residuals.raw)),
        (MetricName::Clock, Unit::Hertz, Better::Higher, Some(clock_hz)),
    ];
    let others = values.into_iter().filter_map(|(name, unit, better, value)| {
        let sample = Sample { value: value?, work: None, per_thread: Vec::new(), ..sample.clone() };
        Some(MetricSample { name, unit, better, sample })
    });
    let headline =
        MetricSample { name: MetricName::Throughput, unit: job.unit, better: Better::Higher, sample: sample.clone() };
    std::iter::once(headline).chain(others).collect()
}
