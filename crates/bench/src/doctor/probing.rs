//! Runs our own kernel briefly, on one core and on all, and turns the warnings of its results into checks.
//!
//! Warnings about the samples are left out: there are few on purpose.

use areas::cpu::CpuChoice;
use areas::{IsaChoice, Request, Threads, cpu, plan};
use model::doctor::Check;
use model::document::{Conditions, Row, Status};
use model::isa::{CpuOp, Element};
use model::machine::Machine;
use model::number::percent_tenths as percent;
use model::warning::{Cause, Warning, WarningCode};

use super::rules::{by_rule, of_warning, passed};
use crate::runner::{self, Setting};
use model::plan::Plan;

const ALL_SECONDS: f64 = 0.2;
const ONE_SECONDS: f64 = 0.08;
/// Samples: enough to compare the clock of the first and last third; fewer, longer ones under a quota.
const SAMPLES: u32 = 6;
const SAMPLES_UNDER_QUOTA: u32 = 3;
/// Minimum and maximum warm-up: the clock rises within tens of milliseconds.
const WARM_UP_SECONDS: [f64; 2] = [0.04, 0.12];
const PER_LAUNCH: u32 = 3;

pub(super) fn plan_of(machine: &Machine) -> Result<Plan, String> {
    let (op, elements, isa) = (vec![CpuOp::Fma], vec![Element::Fp64], vec![IsaChoice::Vector]);
    let choice = CpuChoice { op, elements, isa, ..CpuChoice::default() };
    let suite = cpu::suite(&choice).map_err(|error| error.to_string())?;
    let threads = vec![Threads::Count(1), Threads::All];
    let request = Request { threads, ..crate::host::request(suite, machine) };
    let mut plan = plan(&request, machine).map_err(|error| error.to_string())?;
    let under_quota =
        plan.rows.iter().any(|row| machine.cpu.quota_cpus.is_some_and(|cpus| cpus < row.cpus.len() as f64));
    // Exactly this many: disturbed process runs are reported, not repeated.
    plan.repeat = Some(if under_quota { SAMPLES_UNDER_QUOTA } else { SAMPLES });
    (plan.sessions, plan.repeat_share) = (1, 0.0);
    for row in &mut plan.rows {
        let seconds = if row.cpus.len() > 1 { ALL_SECONDS } else { ONE_SECONDS };
        // Under a quota the planned length spans whole periods.
        row.sampling.sample_seconds = if under_quota { row.sampling.sample_seconds } else { seconds };
        row.sampling.per_launch = PER_LAUNCH;
        row.sampling.warm_up_seconds = WARM_UP_SECONDS;
    }
    Ok(plan)
}

pub(super) fn measure(plan: &Plan, setting: &Setting<'_>) -> Result<Vec<Row>, String> {
    runner::run(plan, setting, None, &mut |_| {}).map(|finished| finished.document.experiments)
}

pub(super) fn concerns(code: WarningCode) -> bool {
    matches!(code.rule().cause, Cause::Others | Cause::Setting)
}

pub(super) fn checks(rows: &Result<Vec<Row>, String>) -> Vec<Check> {
    let rows = match rows {
        Ok(rows) => rows,
        Err(reason) => return vec![failed(reason)],
    };
    let mut checks = vec![probe(rows)];
    let measured: Vec<&Row> = rows.iter().filter(|row| row.status == Status::Ok).collect();
    let warnings = measured.iter().flat_map(|row| &row.warnings);
    let known = |warning: &&Warning| warning.code.known().is_some_and(concerns);
    checks.extend(warnings.filter(known).cloned().map(of_warning));
    let conditions: Vec<&Conditions> = measured.iter().map(|row| &row.conditions).collect();
    checks.extend(in_order(&conditions));
    checks
}

fn failed(reason: &str) -> Check {
    by_rule("probe", 1.0, &format!("The probe benchmark failed: {}.", reason.trim_end_matches('.')))
}

fn probe(rows: &[Row]) -> Check {
    match rows.iter().find(|row| row.status != Status::Ok).map(|row| row.reason.as_deref()) {
        Some(Some(runner::TIME_BUDGET)) => failed("it did not finish within five seconds"),
        Some(reason) => failed(reason.unwrap_or("unknown reason")),
        None if rows.is_empty() => failed("none exists for this CPU"),
        None => {
            let ids: Vec<&str> = rows.iter().map(|row| row.id.as_str()).collect();
            let seen = format!("The probe benchmark ran, and its results are correct ({}).", ids.join(", "));
            by_rule("probe", 0.0, &seen)
        }
    }
}

/// Checks without a warning, with the worst value.
fn in_order(conditions: &[&Conditions]) -> Vec<Check> {
    let most = |of: fn(&Conditions) -> Option<f64>| conditions.iter().filter_map(|one| of(one)).reduce(f64::max);
    let switches = conditions.iter().filter_map(|one| one.involuntary_switches).sum::<u64>();
    let measured = (!conditions.is_empty()).then_some(0.0);
    let not_ours = most(|one| one.least_cpu_share.or(one.cpu_share).map(|share| (1.0 - share).max(0.0)));
    let ours = percent(1.0 - not_ours.unwrap_or_default());
    let preempted = format!("The kernel preempted our threads {switches} times.");
    // `{}` is the value.
    let checks = [
        (WarningCode::CpuShared, not_ours, format!("Our threads had a CPU for {ours} of the time.").as_str()),
        (WarningCode::VcpuShared, most(|one| one.lost_share), "Interference took {} of the rate."),
        (WarningCode::TimeLost, most(|one| one.lost_in_gaps), "Gaps took {} of the time."),
        (WarningCode::ClockChainsDisagree, most(|one| one.clock_disagreement), "The two clock chains agree within {}."),
        (WarningCode::ClockMoved, measured, "The CPU clock was constant."),
        (WarningCode::Migrated, measured, "Our threads stayed on their CPUs."),
        (WarningCode::InvoluntarySwitches, measured, &preempted),
        (WarningCode::DisturbedBlocks, measured, "No process run was disturbed enough to be repeated."),
    ]
    .map(|(code, value, sentence)| {
        let value = value?;
        // Each loss is attributed to one cause: a value at warning level without a warning has another cause.
        let blamed = code.rule().fair.is_some_and(|least| value >= least);
        let end = if blamed { " Another check reports the cause." } else { "" };
        Some(passed(code.name(), &format!("{}{end}", sentence.replace("{}", &percent(value)))))
    });
    checks.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::machine_with_cpus;
    use model::doctor::CheckStatus;
    use model::warning::Confidence;

    fn row(warnings: Vec<Warning>) -> Row {
        let mut row = crate::tests::document().experiments.remove(0);
        row.conditions = Conditions {
            cpu_share: Some(0.999),
            lost_share: Some(0.004),
            lost_in_gaps: Some(0.001),
            clock_hz: Some(3e9),
            clock_disagreement: Some(0.002),
            involuntary_switches: Some(3),
            ..Conditions::default()
        };
        row.warnings = warnings;
        row
    }

    fn not_ok(rows: &Result<Vec<Row>, String>) -> Vec<(String, CheckStatus)> {
        let found = checks(rows).into_iter().filter(|check| check.status != CheckStatus::Ok);
        found.map(|check| (check.code, check.status)).collect()
    }

    #[test]
    fn a_row_s_warnings_are_checks_as_they_are() {
        for code in WarningCode::ALL {
            for value in [code.rule().fair, code.rule().low].into_iter().flatten() {
                let warning = Warning::new(*code, value, "Seen.");
                let found = checks(&Ok(vec![row(vec![warning.clone()])]));
                let check = found.iter().find(|check| check.code == code.name() && check.value.is_some());
                assert_eq!(check.is_some(), concerns(*code), "{code}");
                let Some(check) = check else { continue };
                assert_eq!((&check.text, &check.advice), (&warning.text, &warning.advice));
                let (bad, ok) = (check.status == CheckStatus::Bad, check.status == CheckStatus::Ok);
                let expected = (warning.confidence == Confidence::Low, warning.confidence == Confidence::High);
                assert_eq!((bad, ok), expected, "{code}");
            }
        }
    }

    #[test]
    fn an_undisturbed_probe_is_in_order_whatever_its_samples_are() {
        let few = Warning::new(WarningCode::FewSamples, 2.0, "Seen.");
        assert!(not_ok(&Ok(vec![row(vec![few])])).is_empty());
    }

    #[test]
    fn a_probe_that_could_not_be_made_is_bad() {
        let bad = vec![("probe".to_owned(), CheckStatus::Bad)];
        assert_eq!(not_ok(&Err("no worker".into())), bad);
        assert_eq!(not_ok(&Ok(Vec::new())), bad);
        let mut skipped = row(Vec::new());
        (skipped.status, skipped.reason) = (Status::Skipped, Some(runner::TIME_BUDGET.into()));
        assert_eq!(not_ok(&Ok(vec![row(Vec::new()), skipped])), bad);
    }

    #[test]
    fn it_is_as_short_as_five_seconds_need() {
        for (cpus, quota_cpus) in [(4, None), (4, Some(0.5)), (1, None)] {
            let mut machine = machine_with_cpus(cpus);
            machine.cpu.quota_cpus = quota_cpus;
            let plan = plan_of(&machine).unwrap();
            assert_eq!(plan.rows.len(), if cpus == 1 { 1 } else { 2 });
            assert!(plan.expected_seconds() < 2.2, "{}", plan.expected_seconds());
        }
    }
}
