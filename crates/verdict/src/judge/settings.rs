//! Settings that keep a number below the machine's best: CPUs withheld, priority, governor.

use std::collections::BTreeSet;

use model::number::percent_tenths as percent;
use model::plan::Planned;
use model::surroundings::{IDLE_NICE, Settings};
use model::warning::{Warning, WarningCode};

use crate::rules::ProcessRun;

/// The settings that the last process run saw, with the worst priority of any.
pub fn of(runs: &[&ProcessRun]) -> Settings {
    let nice = runs.iter().filter_map(|run| run.seen.settings.nice).max();
    runs.last().map_or_else(Settings::default, |last| Settings { nice, ..last.seen.settings.clone() })
}

pub(super) fn warnings(planned: &Planned, settings: &Settings) -> Vec<Warning> {
    let nice = settings.nice.unwrap_or(0);
    let found = [
        Warning::when(WarningCode::LowPriority, f64::from(nice), || {
            if nice >= IDLE_NICE {
                "The scheduling policy is SCHED_IDLE.".to_owned()
            } else {
                format!("The nice value is {nice}.")
            }
        }),
        governor(settings),
    ];
    found.into_iter().flatten().chain(cpus(planned, settings)).collect()
}

/// Missing CPUs matter to benchmarks of the whole machine: those whose threads use all CPUs allowed.
fn cpus(planned: &Planned, settings: &Settings) -> Vec<Warning> {
    let used: BTreeSet<u32> = planned.cpus.iter().copied().collect();
    if settings.allowed_cpus.is_empty() || used.len() < settings.allowed_cpus.len() {
        return Vec::new();
    }
    let withheld = settings.cpus_withheld().unwrap_or(0.0);
    let offline = settings.cpus_offline().unwrap_or(0.0);
    let (allowed, online) = (settings.allowed_cpus.len(), settings.online_cpus.len());
    let found = [
        Warning::when(WarningCode::Affinity, withheld, || {
            format!("Affinity or a cpuset allows {allowed} of {online} CPUs ({} withheld).", percent(withheld))
        }),
        Warning::when(WarningCode::CpusOffline, offline, || {
            let off = settings.offline_cpus().len();
            format!("{off} of {} CPUs are offline ({}).", off + online, percent(offline))
        }),
    ];
    found.into_iter().flatten().collect()
}

fn governor(settings: &Settings) -> Option<Warning> {
    let slow = settings.slow_governors().join(", ");
    let preferences = settings.energy_preferences.join(", ");
    let preferring = if preferences.is_empty() { String::new() } else { format!(", preferring {preferences}") };
    (!slow.is_empty())
        .then(|| Warning::new(WarningCode::Governor, 1.0, &format!("The frequency governor is {slow}{preferring}.")))
}

#[cfg(test)]
mod tests {
    use model::warning::Confidence;
    use model::wire::Observations;

    use super::*;
    use crate::tests::planned;

    /// A machine of four CPUs with nothing withheld.
    fn free() -> Settings {
        let all: Vec<u32> = (0..4).collect();
        Settings {
            present_cpus: all.clone(),
            online_cpus: all.clone(),
            allowed_cpus: all,
            nice: Some(0),
            turbo: Some(true),
            memory_bytes: Some(16 << 30),
            ..Settings::default()
        }
    }

    fn of_cpu(cpus: &[u32], settings: &Settings) -> Vec<(String, Confidence)> {
        let planned = Planned { cpus: cpus.to_vec(), ..planned() };
        let found = warnings(&planned, settings);
        found.into_iter().map(|warning| (warning.code.to_string(), warning.confidence)).collect()
    }

    fn one(code: &str, confidence: Confidence) -> Vec<(String, Confidence)> {
        vec![(code.to_owned(), confidence)]
    }

    #[test]
    fn cpus_withheld_matter_to_rows_that_use_all_of_the_rest() {
        assert_eq!(of_cpu(&[0, 1, 2, 3], &free()), []);
        assert_eq!(of_cpu(&[0, 1, 2, 3], &Settings::default()), [], "nor one of which nothing is known");
        assert_eq!(of_cpu(&[0], &Settings { nice: Some(-5), ..free() }), []);
        let withheld = Settings { allowed_cpus: vec![2, 3], ..free() };
        assert_eq!(of_cpu(&[2, 3], &withheld), one("affinity", Confidence::Fair));
        assert_eq!(of_cpu(&[2], &withheld), []);
        let offline = Settings { online_cpus: vec![0, 1], allowed_cpus: vec![0, 1], ..free() };
        assert_eq!(of_cpu(&[0, 1], &offline), one("cpus_offline", Confidence::Fair));
        assert_eq!(of_cpu(&[0], &offline), []);
    }

    #[test]
    fn a_low_priority_is_named_and_a_slow_governor_is_a_remark() {
        assert_eq!(of_cpu(&[0], &Settings { nice: Some(10), ..free() }), one("low_priority", Confidence::Fair));
        assert_eq!(of_cpu(&[0], &Settings { nice: Some(IDLE_NICE), ..free() }), one("low_priority", Confidence::Low));
        let with = |nice| {
            let settings = Settings { nice, ..free() };
            ProcessRun { seen: Observations { settings, ..Observations::default() }, ..ProcessRun::default() }
        };
        assert_eq!(of(&[&with(Some(10)), &with(Some(0))]).nice, Some(10));
        assert_eq!(of(&[]), Settings::default());
        let slow = Settings { governors: vec!["powersave".to_owned()], ..free() };
        assert_eq!(of_cpu(&[0], &slow), one("governor", Confidence::High));
    }
}
