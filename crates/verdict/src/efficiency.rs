//! Efficiency: a value over the tightest known limit.

use model::document::Row;
use model::machine::Machine;
use model::number::percent_tenths;
use model::peak::{Efficiency, Peak, PeakKind};
use model::sample::{Metric, MetricName};
use model::unit::Better;
use model::warning::{Warning, WarningCode};

use crate::rules::{AreaRules, LimitRules};

/// How far an efficiency may exceed 1 before the peak counts as wrong, also where too few samples show the error of the clock.
const MOST_UNCERTAINTY: f64 = 0.02;
/// How far a drive may exceed its data sheet: makers round down and state the slowest of a series.
const MOST_OF_DATASHEET: f64 = 1.1;

/// The error of the clock's median: half its interval, 2 % at most.
fn clock_uncertainty(row: &Row) -> Option<f64> {
    let clock = &row.metric(MetricName::Clock)?.summary;
    let [low, high] = clock.ci95?;
    Some(((high - low) / 2.0 / clock.median).min(MOST_UNCERTAINTY))
}

/// The peak with its error: that of the measured clock, where it depends on that clock.
fn known_within(peak: Peak, clock_uncertainty: Option<f64>) -> Peak {
    let of_other_clock = matches!(peak.kind, PeakKind::Boost | PeakKind::Base);
    let of_clock = !of_other_clock && peak.inputs.iter().any(|input| input.name.starts_with("clock_hz"));
    Peak { uncertainty: clock_uncertainty.filter(|_| of_clock), ..peak }
}

/// Sets the limits and the efficiency of a result; the warning if no limit is known or it is exceeded.
pub fn set_peaks(rules: &AreaRules, row: &mut Row, peaks: Vec<Peak>, machine: &Machine) -> Option<Warning> {
    let uncertainty = clock_uncertainty(row);
    let headline = row.metrics.first_mut()?;
    headline.peaks = peaks.into_iter().map(|peak| known_within(peak, uncertainty)).collect();
    judge(rules, row, machine)
}

/// Sets the efficiency of a result whose limits are set; the warning, where no limit is known or it is exceeded.
pub fn judge(rules: &AreaRules, row: &mut Row, machine: &Machine) -> Option<Warning> {
    let metric = row.metrics.first_mut()?;
    metric.efficiency = None;
    let applies = (rules.limit.applies)(&row.params, &row.conditions.cpus, machine);
    applies.then(|| set_efficiency(metric, &rules.limit)).flatten()
}

/// Sets the efficiency against the tightest limit that carries one.
fn set_efficiency(metric: &mut Metric, limit: &LimitRules) -> Option<Warning> {
    metric.efficiency = None;
    let median = metric.summary.median;
    let tightest_of = |carries: fn(&Peak) -> bool| {
        let carrying = metric.peaks.iter().filter(|peak| carries(peak));
        match metric.better {
            Better::Higher => carrying.min_by(|a, b| a.value.total_cmp(&b.value)),
            Better::Lower => carrying.max_by(|a, b| a.value.total_cmp(&b.value)),
        }
    };
    let datasheet = exceeded_datasheet(metric).filter(|_| limit.exceeds_datasheet);
    if datasheet.is_some() {
        metric.efficiency = tightest_of(|peak| peak.kind.carries_efficiency() && peak.kind != PeakKind::Datasheet)
            .map(|peak| Efficiency { value: median / peak.value, of: peak.kind })
            .filter(|efficiency| efficiency.value <= 1.0 + MOST_UNCERTAINTY);
        // Without another limit there is no efficiency, and the contract's warning for that is above_peak.
        if metric.efficiency.is_some() {
            return datasheet;
        }
    }
    let ceiling = || tightest_of(|peak| peak.kind == PeakKind::MeasuredCeiling).filter(|_| limit.measured_ceiling);
    let Some(peak) = tightest_of(|peak| peak.kind.carries_efficiency()).or_else(ceiling) else {
        return Some(Warning::new(WarningCode::PeakUnknown, 1.0, limit.unknown));
    };
    let value = if metric.better == Better::Higher { median / peak.value } else { peak.value / median };
    if value > 1.0 + peak.uncertainty.unwrap_or(MOST_UNCERTAINTY) {
        let kind = peak.kind.name().replace('_', " ");
        let what = if peak.kind == PeakKind::MeasuredCeiling { kind } else { format!("{kind} peak") };
        let seen = format!("Measured {} of the {what} ({}).", percent_tenths(value), peak.formula);
        let mut warning = Warning::new(WarningCode::AbovePeak, value, &seen);
        if peak.kind == PeakKind::Declared {
            "Correct the declared value (--declare) if it is too low.".clone_into(&mut warning.advice);
        }
        return Some(warning);
    }
    metric.efficiency = Some(Efficiency { value, of: peak.kind });
    None
}

/// The warning for a drive that exceeds its data sheet slightly, unless another peak is as tight.
fn exceeded_datasheet(metric: &Metric) -> Option<Warning> {
    let carrying = metric.peaks.iter().filter(|peak| peak.kind.carries_efficiency());
    let tightest = carrying.min_by(|a, b| a.value.total_cmp(&b.value))?;
    let value = metric.summary.median / tightest.value;
    let exceeded = tightest.kind == PeakKind::Datasheet && value > 1.0 + MOST_UNCERTAINTY && value <= MOST_OF_DATASHEET;
    exceeded.then(|| {
        let seen = format!("Measured {} of the data sheet ({}).", percent_tenths(value), tightest.formula);
        Warning::new(WarningCode::AboveDatasheet, value, &seen)
    })
}

/// Whether a warning says that a result is impossible.
pub fn is_impossible(warning: &Warning) -> bool {
    warning.code == WarningCode::Impossible
}

/// Takes the efficiency from a result that is impossible: then the value is wrong, not the peak.
pub fn withdraw_impossible(row: &mut Row) {
    if !row.warnings.iter().any(is_impossible) {
        return;
    }
    let of_peak =
        |warning: &Warning| warning.code == WarningCode::AbovePeak || warning.code == WarningCode::AboveDatasheet;
    row.warnings.retain(|warning| !of_peak(warning));
    if let Some(headline) = row.metrics.first_mut() {
        headline.efficiency = None;
    }
}

#[cfg(test)]
mod tests {
    use model::peak::PeakInput;
    use model::unit::Unit;
    use model::warning;

    use super::*;
    use crate::samples::metric;
    use crate::tests::sample;

    fn judged(peaks: &[(PeakKind, f64)], median: f64) -> (Option<Warning>, Option<Efficiency>) {
        judged_by(peaks, median, &LimitRules::DEFAULT)
    }

    fn judged_by(peaks: &[(PeakKind, f64)], median: f64, limit: &LimitRules) -> (Option<Warning>, Option<Efficiency>) {
        let sample = sample(median);
        let mut metric = metric("throughput", Unit::FlopPerSecond, Better::Higher, vec![sample]).unwrap();
        let peak = |(kind, value): &(PeakKind, f64)| Peak {
            kind: *kind,
            value: *value,
            formula: "x".into(),
            inputs: Vec::new(),
            uncertainty: Some(0.01),
        };
        metric.peaks = peaks.iter().map(peak).collect();
        (set_efficiency(&mut metric, limit), metric.efficiency)
    }

    #[test]
    fn only_peaks_of_the_measured_clock_are_as_uncertain_as_it() {
        let input = |name: &str| PeakInput { name: name.into(), value: 1.0, source: "s".into() };
        let peak =
            |kind, name| Peak { kind, value: 1.0, formula: "x".into(), inputs: vec![input(name)], uncertainty: None };
        let known = |kind, name| known_within(peak(kind, name), Some(0.01)).uncertainty;
        assert_eq!(known(PeakKind::Sustained, "clock_hz"), Some(0.01));
        assert_eq!(known(PeakKind::Sustained, "clock_hz (performance)"), Some(0.01));
        assert_eq!(known(PeakKind::Boost, "clock_hz"), None);
        assert_eq!(known(PeakKind::PlatformMaximum, "channels"), None);
    }

    #[test]
    fn the_tightest_limit_is_the_one_that_counts() {
        let peaks = [(PeakKind::Sustained, 100.0), (PeakKind::Declared, 80.0), (PeakKind::Base, 10.0)];
        assert_eq!(judged(&peaks, 40.0), (None, Some(Efficiency { value: 0.5, of: PeakKind::Declared })));
    }

    #[test]
    fn above_the_peak_the_peak_is_wrong() {
        assert!(judged(&[(PeakKind::Sustained, 100.0)], 100.5).0.is_none(), "within the clock's own uncertainty");
        let (above, efficiency) = judged(&[(PeakKind::Sustained, 100.0)], 103.0);
        let above = above.unwrap();
        assert!(above.code.as_str() == "above_peak" && above.advice.contains("report it"), "{above:?}");
        assert_eq!(efficiency, None);
        let above = judged(&[(PeakKind::Declared, 100.0)], 103.0).0.unwrap();
        assert!(above.advice.contains("--declare"), "the user can correct it: {above:?}");
    }

    #[test]
    fn a_data_sheet_is_no_limit_and_a_link_is() {
        let disk = LimitRules { exceeds_datasheet: true, ..LimitRules::DEFAULT };
        let sheet = (PeakKind::Datasheet, 100.0);
        let set = |peaks: &[(PeakKind, f64)], median, limit: &LimitRules| {
            let (warning, efficiency) = judged_by(peaks, median, limit);
            (warning.map(|warning| (warning.code, warning.confidence)), efficiency)
        };
        let remark = Some((WarningCode::AboveDatasheet.into(), warning::Confidence::High));
        let of_link = Some(Efficiency { value: 0.515, of: PeakKind::Link });
        assert_eq!(set(&[sheet, (PeakKind::Link, 200.0)], 103.0, &disk), (remark, of_link));
        let within = Some(Efficiency { value: 1.01, of: PeakKind::Datasheet });
        assert_eq!(set(&[sheet], 101.0, &disk), (None, within));
        let wrong = Some((WarningCode::AbovePeak.into(), warning::Confidence::Fair));
        for (peak, median, limit) in [
            (sheet, 103.0, &disk),
            (sheet, 111.0, &disk),
            ((PeakKind::Link, 100.0), 103.0, &disk),
            (sheet, 103.0, &LimitRules::DEFAULT),
        ] {
            assert_eq!(set(&[peak], median, limit), (wrong.clone(), None), "{peak:?} {median}");
        }
    }

    #[test]
    fn a_measured_ceiling_stands_in_and_other_clocks_carry_no_efficiency() {
        let peaks = [(PeakKind::Base, 100.0), (PeakKind::Boost, 200.0), (PeakKind::PlatformMaximum, 300.0)];
        let (warning, efficiency) = judged(&peaks, 40.0);
        assert_eq!((warning.unwrap().code, efficiency), (WarningCode::PeakUnknown.into(), None));
        let of = |peaks: &[(PeakKind, f64)]| judged(peaks, 40.0).1.map(|efficiency| (efficiency.value, efficiency.of));
        assert_eq!(of(&[(PeakKind::MeasuredCeiling, 100.0)]), Some((0.4, PeakKind::MeasuredCeiling)));
        assert_eq!(of(&[(PeakKind::MeasuredCeiling, 50.0), (PeakKind::Link, 80.0)]), Some((0.5, PeakKind::Link)));
    }
}
