//! What is set so that a number is not the machine's best: CPUs withheld, priority, memory limit, governor, turbo.

use model::document::Row;
use model::experiment::{Area, Params};
use model::number::percent_tenths as percent;
use model::plan::Planned;
use model::surroundings::{IDLE_NICE, Settings};
use model::unit::format_size;
use model::warning::{Warning, WarningCode};

use super::process_run::ProcessRun;

/// The settings as the last launch saw them, but the worst priority that any had.
pub(super) fn of(launches: &[&ProcessRun]) -> Settings {
    let nice = launches.iter().filter_map(|launch| launch.seen.settings.nice).max();
    launches.last().map_or_else(Settings::default, |last| Settings { nice, ..last.seen.settings.clone() })
}

/// The warnings that follow from settings for this row.
pub(super) fn warnings(planned: &Planned, row: &Row, settings: &Settings) -> Vec<Warning> {
    let nice = settings.nice.unwrap_or(0);
    let found = [
        Warning::when(WarningCode::LowPriority, f64::from(nice), || {
            if nice >= IDLE_NICE {
                "The scheduling policy is the idle one.".to_owned()
            } else {
                format!("The nice value is {nice}.")
            }
        }),
        memory_limit(row, settings),
        governor(settings),
        (row.area == Area::Cpu && settings.turbo == Some(false))
            .then(|| Warning::new(WarningCode::TurboOff, 1.0, "Clocks above the base are switched off.")),
    ];
    found.into_iter().flatten().chain(cpus(planned, settings)).collect()
}

/// CPUs that are missing, for rows that stand for the whole machine: those whose threads use all CPUs allowed.
fn cpus(planned: &Planned, settings: &Settings) -> Vec<Warning> {
    let mut used = planned.cpus.clone();
    used.sort_unstable();
    used.dedup();
    if settings.allowed_cpus.is_empty() || used.len() < settings.allowed_cpus.len() {
        return Vec::new();
    }
    let withheld = settings.cpus_withheld().unwrap_or(0.0);
    let offline = settings.cpus_offline().unwrap_or(0.0);
    let (allowed, online) = (settings.allowed_cpus.len(), settings.online_cpus.len());
    [
        Warning::when(WarningCode::Affinity, withheld, || {
            format!("Affinity or a cpuset allows {allowed} of {online} CPUs ({} withheld).", percent(withheld))
        }),
        Warning::when(WarningCode::CpusOffline, offline, || {
            let off = settings.offline_cpus().len();
            format!("{off} of {} CPUs are switched off ({}).", off + online, percent(offline))
        }),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// A limit below the machine's memory, on rows that are about memory: what the row needs of it.
fn memory_limit(row: &Row, settings: &Settings) -> Option<Warning> {
    let Params::Memory(params) = &row.params else { return None };
    let limit = settings.memory_limit_below_machine().filter(|limit| *limit > 0)?;
    let needed = params.working_set as f64 / limit as f64;
    let seen = format!("The row needs {} of the {} allowed.", percent(needed), format_size(limit));
    Some(Warning::new(WarningCode::MemoryLimit, needed, &seen))
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
    use model::experiment::MemoryParams;
    use model::isa::{Isa, MemoryOp, MemoryPattern, Pages};
    use model::warning::Grade;
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

    fn found(cpus: &[u32], area: Area, params: Option<Params>, settings: &Settings) -> Vec<(String, Grade)> {
        let planned = Planned { cpus: cpus.to_vec(), ..planned() };
        let mut row = Row::planned(&planned.experiment, "");
        row.area = area;
        row.params = params.unwrap_or(row.params);
        warnings(&planned, &row, settings)
            .into_iter()
            .map(|warning| (warning.code.to_string(), warning.grade))
            .collect()
    }

    fn of_cpu(cpus: &[u32], settings: &Settings) -> Vec<(String, Grade)> {
        found(cpus, Area::Cpu, None, settings)
    }

    fn one(code: &str, grade: Grade) -> Vec<(String, Grade)> {
        vec![(code.to_owned(), grade)]
    }

    #[test]
    fn a_free_machine_has_nothing_to_say() {
        assert_eq!(of_cpu(&[0, 1, 2, 3], &free()), []);
        assert_eq!(of_cpu(&[0, 1, 2, 3], &Settings::default()), [], "nor one of which nothing is known");
        assert_eq!(of_cpu(&[0], &Settings { nice: Some(-5), ..free() }), []);
    }

    #[test]
    fn cpus_withheld_matter_to_rows_that_use_all_of_the_rest() {
        let withheld = Settings { allowed_cpus: vec![2, 3], ..free() };
        assert_eq!(of_cpu(&[2, 3], &withheld), one("affinity", Grade::B));
        assert_eq!(of_cpu(&[2], &withheld), []);
        let offline = Settings { online_cpus: vec![0, 1], allowed_cpus: vec![0, 1], ..free() };
        assert_eq!(of_cpu(&[0, 1], &offline), one("cpus_offline", Grade::B));
        assert_eq!(of_cpu(&[0], &offline), []);
    }

    #[test]
    fn a_low_priority_is_named_and_an_idle_policy_is_worse() {
        assert_eq!(of_cpu(&[0], &Settings { nice: Some(10), ..free() }), one("low_priority", Grade::B));
        assert_eq!(of_cpu(&[0], &Settings { nice: Some(IDLE_NICE), ..free() }), one("low_priority", Grade::C));
        let with = |nice| {
            let settings = Settings { nice, ..free() };
            ProcessRun { seen: Observations { settings, ..Observations::default() }, ..ProcessRun::default() }
        };
        assert_eq!(of(&[&with(Some(10)), &with(Some(0))]).nice, Some(10));
        assert_eq!(of(&[]), Settings::default());
    }

    #[test]
    fn a_memory_limit_is_judged_by_what_the_row_needs() {
        let row = |working_set| {
            Some(Params::Memory(MemoryParams {
                pattern: MemoryPattern::ALL[0],
                op: MemoryOp::ALL[0],
                block: None,
                working_set,
                pages: Pages::ALL[0],
                isa: Isa::Avx2,
                chains: None,
                threads: 1,
                level: None,
                nodes: None,
                group: None,
                background: None,
                placement: None,
            }))
        };
        let limited = Settings { memory_limit_bytes: Some(1 << 30), ..free() };
        let of = |working_set, settings: &Settings| found(&[0], Area::Memory, row(working_set), settings);
        assert_eq!(of(1 << 20, &limited), one("memory_limit", Grade::A));
        assert_eq!(of(600 << 20, &limited), one("memory_limit", Grade::B));
        assert_eq!(of(1 << 30, &limited), one("memory_limit", Grade::C));
        assert_eq!(of(1 << 30, &free()), []);
        assert_eq!(of(1 << 30, &Settings { memory_limit_bytes: Some(16 << 30), ..free() }), [], "no limit at all");
        assert_eq!(of_cpu(&[0], &limited), [], "arithmetic needs none");
    }

    #[test]
    fn governor_and_turbo_are_remarks() {
        let slow = Settings { governors: vec!["powersave".to_owned()], turbo: Some(false), ..free() };
        assert_eq!(of_cpu(&[0], &slow), [one("governor", Grade::A), one("turbo_off", Grade::A)].concat());
        assert_eq!(found(&[0], Area::Memory, None, &slow), one("governor", Grade::A));
    }
}
