//! From samples and observations to a result: summaries, conditions, limits, efficiency, warnings and confidence.

use areas::limits::{self, Known};
use machine::NetEnd;
use model::document::{Document, Row, Status, Stop};
use model::machine::Machine;
use model::sample::{Metric, MetricName, Sample};
use model::warning::{self, Warning, WarningCode};
use stats::StopReason;
use verdict::{efficiency, judge, samples};

use super::progress::{Over, Progress};
use super::reference_pairs;
use super::setting::Setting;
use crate::evidence::Repetition;
use crate::histogram::Histogram;
use crate::journal::Journalled;
use model::plan::Planned;

/// The result so far; `best` is the highest operations per cycle of the same kernel on this machine.
pub(super) fn row(planned: &Planned, progress: &Progress, best: Option<f64>, setting: &Setting<'_>) -> Row {
    let mut row = Row::planned(&planned.experiment, planned.obstacle.as_deref().unwrap_or("not reached"));
    row.seconds = progress.seconds;
    let rules = areas::rules(planned.experiment.area);
    let disturbed: Vec<bool> =
        progress.runs.iter().map(|launch| judge::disturbed(&rules, planned, launch, best).is_some()).collect();
    row.metrics = metrics(&progress.samples);
    samples::mark(&mut row.metrics, &progress.runs, &disturbed);
    if let Some(Over::Not(status, reason)) = &progress.over {
        (row.status, row.reason) = (*status, Some(reason.clone()));
        return row;
    }
    if row.metrics.is_empty() {
        return row;
    }
    (row.status, row.reason, row.verified) = (Status::Ok, None, Some(true));
    row.conditions = judge::conditions(&rules, planned, &row.metrics, &progress.runs, best, setting.machine);
    if let Some(disk) = &mut row.conditions.disk {
        if let Some(target) = setting.disk.as_ref().filter(|_| disk.filesystem.is_some()) {
            (disk.devices, disk.layers) = (target.storage.disks(), target.storage.layers());
        }
        disk.mean_latency_seconds = histogram_of(&progress.samples).mean();
        // A median of process runs may come out beyond that of all samples, which a flush only takes from.
        let throughput = row.metrics.iter().find(|metric| metric.name == MetricName::Throughput);
        let most = throughput.map_or(f64::INFINITY, |metric| metric.summary.median);
        disk.flushed_bytes_per_second = disk.flushed_bytes_per_second.map(|rate| rate.min(most));
    }
    (row.conditions.stop_reason, row.conditions.stop) = stop(progress.over.as_ref()).unzip();
    row.conditions.disturbed_launches = count(disturbed.iter().filter(|disturbed| **disturbed).count());
    row.conditions.repeated_launches = count(progress.runs.iter().filter(|launch| launch.repeat).count());
    if planned.sampling.until_steady {
        judge::set_steady(&mut row);
    }
    row.warnings.clone_from(&planned.warnings);
    row.warnings.extend(judge::warnings(&rules, planned, &row, &progress.runs));
    if !matches!(progress.over, Some(Over::Measured(_))) {
        row.warnings.extend(cut_short(progress.missing_share(), progress.samples.len()));
    }
    put_references(&mut row, planned, progress, setting);
    let Setting { machine, declared, .. } = setting;
    let server = setting.server.map(|server| &server.peer);
    let server = server.map(|peer| NetEnd { machine: &peer.machine, interface: peer.interface.as_deref() });
    let known = Known { machine, declared, disk: setting.disk.as_ref(), server };
    let peaks = limits::peaks(planned, &row, best, &known);
    let of_efficiency = efficiency::set_peaks(&rules, &mut row, peaks, machine);
    row.warnings.extend(of_efficiency);
    (rules.judge.losses)(&mut row);
    limits::warn(&mut row, &known);
    row.confidence = Some(warning::confidence(&row.warnings));
    row
}

fn histogram_of(samples: &[Repetition]) -> Histogram {
    Histogram::merged(samples.iter().filter_map(|one| one.histogram.as_deref()))
}

fn count(n: usize) -> Option<u32> {
    u32::try_from(n).ok()
}

fn put_references(row: &mut Row, planned: &Planned, progress: &Progress, setting: &Setting<'_>) {
    for (index, metric) in row.metrics.iter_mut().enumerate() {
        let of_metric = progress.tools.iter().filter(|tool| tool.is_of(metric, index == 0));
        metric.references = of_metric.map(|tool| tool.reference(metric, &planned.experiment, setting.stored)).collect();
    }
}

fn stop(over: Option<&Over>) -> Option<(String, Stop)> {
    let reason = match over? {
        Over::Measured(reason) => reason,
        Over::CutShort(reason) => return Some((reason.clone(), Stop::Time)),
        Over::Not(..) => return None,
    };
    let stop = match reason {
        StopReason::Repetitions { .. } => Stop::Planned,
        StopReason::Narrow { .. } => Stop::Narrow,
        StopReason::Maximum { .. } => Stop::Most,
        StopReason::Steady { .. } => Stop::Steady,
        StopReason::NotSteady { .. } => Stop::NotSteady,
        StopReason::OutOfTime { .. } => Stop::Time,
    };
    Some((reason.to_string(), stop))
}

fn cut_short(missing: f64, samples: usize) -> Option<Warning> {
    Warning::when(WarningCode::CutShort, missing, || match samples {
        1 => "Only 1 sample was taken.".to_owned(),
        samples => format!("Only {samples} samples were taken."),
    })
}

fn metrics(repetitions: &[Repetition]) -> Vec<Metric> {
    let first = repetitions.first().map(|one| one.metrics.as_slice()).unwrap_or_default();
    let all = || repetitions.iter().flat_map(|one| &one.metrics);
    let mut metrics: Vec<Metric> = first
        .iter()
        .filter_map(|one| {
            let samples = all().filter(|other| other.name == one.name).map(|other| other.sample.clone()).collect();
            samples::metric(one.name.name(), one.unit, one.better, samples)
        })
        .collect();
    if let Some(latency) = metrics.iter_mut().find(|metric| metric.name == MetricName::Latency) {
        latency.summary.percentiles = histogram_of(repetitions).percentiles();
    }
    metrics
}

/// Adds samples of an interrupted run that are only in its journal.
pub(crate) fn add_journalled(document: &mut Document, samples: &[Journalled]) {
    for row in &mut document.experiments {
        let known = row.metrics.first().map(|metric| metric.samples.clone()).unwrap_or_default();
        // The document has all samples of a process run or none.
        let is_new = |journalled: &&Journalled| {
            let launch = journalled.repetition.metrics.first().map(|metric| metric.sample.launch);
            journalled.id == row.id && !known.iter().any(|sample| Some(sample.launch) == launch)
        };
        let new: Vec<Repetition> = samples.iter().filter(is_new).map(|one| one.repetition.clone()).collect();
        if !new.is_empty() && row.status != Status::Failed {
            extend(row, &new, &document.machine);
        }
    }
    document.run.confidence = verdict::run::headline_confidence(&document.experiments);
}

/// Adds samples to a result and updates its summaries and confidence; final observations of the process run stay unknown.
fn extend(row: &mut Row, new: &[Repetition], machine: &Machine) {
    let mut metrics = metrics(new);
    for metric in &mut metrics {
        let Some(old) = row.metrics.iter().find(|old| old.name == metric.name) else { continue };
        let samples: Vec<Sample> = old.samples.iter().chain(&metric.samples).cloned().collect();
        if let Some(longer) = samples::metric(metric.name.as_str(), metric.unit, metric.better, samples) {
            *metric = Metric { peaks: old.peaks.clone(), references: old.references.clone(), ..longer };
            let samples = metric.samples.len();
            metric.references.iter_mut().for_each(|reference| reference_pairs::withdraw(reference, samples));
        }
    }
    row.metrics = metrics;
    row.warnings.retain(|warning| {
        [WarningCode::PeakUnknown, WarningCode::AbovePeak, WarningCode::AboveDatasheet, WarningCode::CutShort]
            .iter()
            .all(|code| warning.code != *code)
    });
    let samples = row.metrics.first().map_or(0, |metric| metric.samples.len());
    row.warnings.extend(cut_short(1.0, samples));
    let of_efficiency = efficiency::judge(&areas::rules(row.area), row, machine);
    row.warnings.extend(of_efficiency);
    efficiency::withdraw_impossible(row);
    (row.status, row.reason, row.verified) = (Status::Ok, None, Some(true));
    row.confidence = Some(warning::confidence(&row.warnings));
}

#[cfg(test)]
mod tests {
    use model::experiment::{Experiment, MemoryParams};
    use model::isa::MemoryOp;
    use model::peak::PeakKind;
    use model::wire::Observations;

    use verdict::judge::ProcessRun;

    use super::*;
    use crate::tests::{
        disk_params, document, machine_with_cpus, memory_params, metric_sample, planned, repetition, setting,
    };
    use model::plan::Sampling;

    fn measured(values: &[f64]) -> Progress {
        let mut progress = Progress::new(&planned(), Some(u32::try_from(values.len()).unwrap()), false);
        progress.samples = values.iter().map(|value| repetition(*value)).collect();
        let seen = Observations { counter_timer: true, ..Observations::default() };
        progress.runs = vec![ProcessRun { seen, ..ProcessRun::default() }];
        progress.out_of("x");
        progress
    }

    #[test]
    fn rounds_are_judged_by_their_own_rule_and_not_as_noise() {
        let (machine, declared) = (machine_with_cpus(2), machine::Declared::default());
        let sampling = Sampling { samples: 8, per_launch: 8, until_steady: true, ..Sampling::default() };
        let experiment = Experiment::new("disk/x".into(), disk_params(1), "");
        let planned = Planned { sampling, experiment, ..planned() };
        let assembled = |values: &[f64]| {
            let mut progress = Progress::new(&planned, None, false);
            for value in values {
                progress.pending(repetition(*value));
            }
            let disk = Some(model::document::DiskConditions::default());
            let seen = Observations { counter_timer: true, waiting: true, disk, ..Observations::default() };
            let done = crate::evidence::Outcome::Done(Box::new(seen));
            progress.launched(1.0, done, model::surroundings::Change::default());
            let row = row(&planned, &progress, None, &setting(&machine, &declared));
            let codes: Vec<String> = row.warnings.iter().map(|warning| warning.code.to_string()).collect();
            (row, codes)
        };
        let of_samples = |codes: &[String]| {
            let all = ["few_samples", "wide_interval", "drifting", "bimodal", "cache_cliff", "unsteady"];
            codes.iter().any(|code| all.contains(&code.as_str()))
        };
        let (row, codes) = assembled(&[9.0, 1.0, 1.0, 1.0, 1.0, 1.0]);
        let seen = row.conditions.disk.unwrap();
        assert_eq!((row.conditions.stop, seen.steady_rounds), (Some(Stop::Steady), Some(6)));
        let reason = row.conditions.stop_reason.unwrap();
        assert!(reason.starts_with("steady after 6 rounds"), "{reason}");
        let (summary, samples) = (&row.metrics[0].summary, &row.metrics[0].samples);
        assert_eq!((summary.n, summary.max, samples.len()), (6, 9.0, 6), "a summary is of all samples");
        assert!(!of_samples(&codes) && row.metrics[0].samples[0].flags.iter().any(|flag| flag == "before_steady"));
        let (row, codes) = assembled(&[9.0, 8.0, 7.0, 6.0, 5.0, 4.0, 3.0, 2.0]);
        assert_eq!((row.conditions.stop, row.confidence), (Some(Stop::NotSteady), Some(warning::Confidence::Low)));
        assert_eq!(row.metrics[0].summary.n, 8, "no round is better than another");
        assert!(codes.contains(&"no_steady_state".to_owned()) && !of_samples(&codes), "{codes:?}");
    }

    #[test]
    fn only_what_moves_memory_s_bytes_is_held_against_its_limit() {
        let machine = machine_with_cpus(2);
        let declared = machine::Declared::parse(&["memory.channels=2", "memory.mts=4800"]).unwrap();
        let of_memory =
            |params: MemoryParams| Planned { experiment: Experiment::new("memory/x".into(), params, ""), ..planned() };
        let assembled =
            |params: MemoryParams| row(&of_memory(params), &measured(&[1e9; 9]), None, &setting(&machine, &declared));
        let read = assembled(memory_params(MemoryOp::Read, 1));
        assert_eq!((read.status, read.verified, read.metrics[0].summary.n), (Status::Ok, Some(true), 9));
        assert!(read.confidence.is_some() && read.reason.is_none() && read.conditions.stop_reason.is_some());
        assert_eq!(read.metrics[0].efficiency.map(|share| share.of), Some(PeakKind::Declared));
        let cached = MemoryParams { working_set: 1 << 20, ..memory_params(MemoryOp::Read, 1) };
        for params in [cached, memory_params(MemoryOp::Load, 1), memory_params(MemoryOp::Increment, 1)] {
            let row = assembled(params);
            assert!(row.metrics[0].peaks.is_empty() && row.metrics[0].efficiency.is_none());
            assert!(row.warnings.iter().all(|warning| warning.code != WarningCode::PeakUnknown), "{row:?}");
        }
        let unknown = machine::Declared::default();
        let planned = of_memory(memory_params(MemoryOp::Read, 1));
        let row = row(&planned, &measured(&[1e9; 9]), None, &setting(&machine, &unknown));
        assert!(row.warnings.iter().any(|warning| warning.code == WarningCode::PeakUnknown));
    }

    #[test]
    fn journalled_samples_join_what_the_document_has() {
        let mut document = document();
        let id = document.experiments[0].id.clone();
        let before = document.experiments[0].metrics[0].summary.n;
        let mut late = metric_sample(2.0);
        late.sample.launch = 99;
        let repetition = Repetition { metrics: vec![late], histogram: None };
        let journalled = [id, "other".to_owned()].map(|id| Journalled { id, repetition: repetition.clone() });
        add_journalled(&mut document, &journalled);
        assert_eq!(document.experiments[0].metrics[0].summary.n, before + 1);
        add_journalled(&mut document, &journalled);
        assert_eq!(document.experiments[0].metrics[0].summary.n, before + 1, "and only once");
    }
}
