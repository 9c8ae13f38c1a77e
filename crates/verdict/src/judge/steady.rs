//! Rounds of writes until the drive is steady. All rounds count in the summary; the state is in the conditions.

use model::document::{Row, Stop};
use model::sample::MetricName;
use model::warning::{Warning, WarningCode};
use stats::STEADY_ROUNDS;

use crate::samples::values_of;

const BEFORE: &str = "before_steady";

/// Sets the conditions of the steady state, and marks the rounds before it.
pub fn set(row: &mut Row) {
    let Some(values) = row.metrics.first().map(|metric| values_of(&metric.samples)) else { return };
    let steady = stats::first_steady(&values);
    let found = stats::steadiness(&values[..steady.as_ref().map_or(values.len(), |steady| steady.end)]);
    let Some(disk) = &mut row.conditions.disk else { return };
    (disk.steady_range, disk.steady_drift) = (found.map(|found| found.range), found.map(|found| found.drift));
    let Some(steady) = steady else { return };
    disk.steady_rounds = u32::try_from(steady.end).ok();
    for metric in &mut row.metrics {
        if metric.name == MetricName::Iops {
            let rounds = metric.samples.get(steady.clone()).unwrap_or_default();
            disk.steady_iops = Some(rounds.iter().map(|sample| sample.value).sum::<f64>() / rounds.len() as f64)
                .filter(|mean| mean.is_finite());
        }
        for sample in metric.samples.iter_mut().take(steady.start) {
            if !sample.flags.iter().any(|flag| flag == BEFORE) {
                sample.flags.push(BEFORE.to_owned());
            }
        }
    }
}

/// The warning for rounds that have no steady state, that left it, or that are too few to have one.
pub(super) fn warning(row: &Row) -> Option<Warning> {
    let values = row.metrics.first().map(|metric| values_of(&metric.samples)).unwrap_or_default();
    let (rounds, state) = (values.len(), WarningCode::NoSteadyState);
    let (code, value, seen) = match (stats::first_steady(&values), stats::steadiness(&values)) {
        (Some(steady), _) => {
            let left = 1 + stats::left_steady(&values, &steady)?;
            let rounds = steady.end;
            (state, 1.0, format!("The drive reached steady state after {rounds} rounds and left it in round {left}."))
        }
        (None, Some(found)) => {
            (state, found.excess(), format!("The drive had no steady state after {rounds} rounds: {found}."))
        }
        (None, None) => {
            let planned = row.conditions.stop == Some(Stop::Planned);
            let code = if planned { WarningCode::FewSamples } else { state };
            (code, 1.0, format!("Only {rounds} of the {STEADY_ROUNDS} rounds needed for steady state completed."))
        }
    };
    Some(Warning::new(code, value, &seen))
}

#[cfg(test)]
mod tests {
    use model::document::Conditions;
    use model::warning::Confidence;

    use super::*;
    use model::document::DiskConditions;
    use model::unit::{Better, Unit};

    use crate::samples::metric;
    use crate::tests::{document, sample};

    fn without(row: &Row) -> Conditions {
        Conditions { stop: row.conditions.stop, ..Conditions::default() }
    }

    fn judged(values: &[f64], stop: Stop) -> (Row, Option<Warning>) {
        let metric = |name| {
            let samples = values.iter().map(|value| sample(*value)).collect();
            metric(name, Unit::OpPerSecond, Better::Higher, samples).unwrap()
        };
        let mut row = document().experiments.remove(0);
        row.metrics = vec![metric("iops"), metric("throughput")];
        row.conditions.disk = Some(DiskConditions::default());
        row.conditions.stop = Some(stop);
        set(&mut row);
        let warning = warning(&row);
        assert_eq!(
            warning,
            super::warning(&Row { conditions: without(&row), ..row.clone() }),
            "cut off, by its rounds"
        );
        (row, warning)
    }

    #[test]
    fn the_five_steady_rounds_are_the_state_and_those_before_are_marked() {
        let (row, warning) = judged(&[300e3, 200e3, 100e3, 101e3, 99e3, 100e3, 100e3], Stop::Steady);
        let disk = row.conditions.disk.unwrap();
        assert_eq!((disk.steady_rounds, disk.steady_iops, warning), (Some(7), Some(100e3), None));
        assert!((disk.steady_range.unwrap() - 0.02).abs() < 1e-9 && disk.steady_drift.unwrap() < 0.01);
        for metric in &row.metrics {
            let marked = metric.samples.iter().map(|sample| sample.flags.iter().any(|flag| flag == BEFORE));
            assert!(marked.eq([true, true, false, false, false, false, false]), "{}", metric.name);
        }
    }

    #[test]
    fn no_steady_state_one_that_did_not_last_and_too_few_rounds_are_no_result() {
        let falling: Vec<f64> = (0..25).map(|round| 1e5 * 0.9_f64.powi(round)).collect();
        let (row, warning) = judged(&falling, Stop::NotSteady);
        let disk = row.conditions.disk.unwrap();
        assert_eq!((disk.steady_rounds, disk.steady_iops), (None, None));
        assert!(disk.steady_range > Some(0.2));
        let warning = warning.unwrap();
        assert_eq!((warning.code.as_str(), warning.confidence), ("no_steady_state", Confidence::Low));
        assert!(warning.text.contains("after 25 rounds") && warning.value > Some(1.0), "{warning:?}");
        let left = [1e5, 1e5, 1e5, 1e5, 1e5, 1e5, 5e4];
        let warning = judged(&left, Stop::Planned).1.unwrap();
        assert!(warning.text.contains("left it in round 7") && warning.confidence == Confidence::Low, "{warning:?}");
        assert_eq!(judged(&left[..6], Stop::Planned).1, None);
        for (stop, code, confidence) in
            [(Stop::Planned, "few_samples", Confidence::Fair), (Stop::Time, "no_steady_state", Confidence::Low)]
        {
            let warning = judged(&[1e5; 3], stop).1.unwrap();
            assert_eq!((warning.code.as_str(), warning.confidence), (code, confidence));
            assert!(warning.text.contains("3 of the 5 rounds"), "{warning:?}");
        }
    }
}
