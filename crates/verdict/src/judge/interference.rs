//! Time and rate that interference took from the threads, each cause once.

use model::document::Conditions;
use model::number::percent_tenths as percent;
use model::plan::Planned;
use model::warning::{Warning, WarningCode};

use super::surroundings::Scale;

/// A loss of the worst thread from which it counts for the result. Below it, a machine's own housekeeping takes that from
/// some thread of many.
const WORST_THREAD: f64 = 0.05;

/// Other programs have a CPU to themselves between samples, so over a whole process run they use up to this many times
/// what they took inside samples: samples are about a third of a short process run.
const BETWEEN_SAMPLES: f64 = 3.0;

/// Whether the threads share CPUs among themselves.
fn own_turns(planned: &Planned) -> bool {
    planned.warnings.iter().any(|warning| warning.code == WarningCode::Oversubscribed)
}

fn lost(share: Option<f64>) -> f64 {
    (1.0 - share.unwrap_or(1.0)).max(0.0)
}

/// The warnings about interference.
pub(super) fn warnings(planned: &Planned, conditions: &Conditions, scale: &Scale) -> Vec<Warning> {
    let throttled = conditions.throttled.unwrap_or(0.0);
    let steal = conditions.steal.unwrap_or(0.0);
    let gaps = conditions.lost_in_gaps.unwrap_or(0.0);
    let not_ours = lost(conditions.cpu_share);
    // Threads that share CPUs lose time to each other, which is another warning.
    let own_turns = own_turns(planned);
    let named = throttled + steal;
    let mean = if own_turns { 0.0 } else { scale.by_programs((not_ours - named).max(0.0)) };
    let worst = Some(lost(conditions.least_cpu_share)).filter(|worst| !own_turns && *worst >= WORST_THREAD);
    let worst = worst.map_or(0.0, |worst| scale.by_programs((worst - named).max(0.0)));
    let on_our_cpus = mean.max(worst);
    let ours = if own_turns { not_ours } else { mean };
    let while_running = (conditions.lost_share.unwrap_or(0.0) - gaps.max(not_ours)).max(0.0);
    let unexplained = (gaps.max(not_ours) - ours - named).max(0.0);
    let switches = conditions.involuntary_switches.unwrap_or(0);
    let shared = Warning::when(WarningCode::CpuShared, on_our_cpus, || {
        let share = percent(conditions.cpu_share.unwrap_or(1.0).min(1.0));
        let worst = conditions.least_cpu_share.filter(|worst| planned.cpus.len() > 1 && 1.0 - worst >= WORST_THREAD);
        let worst = worst.map_or_else(String::new, |worst| format!(", the worst of them for {}", percent(worst)));
        format!("The threads had their CPUs for {share} of the time{worst} ({switches} involuntary switches).")
    });
    let explained = scale.part_of_cpus * (BETWEEN_SAMPLES * on_our_cpus).min(1.0);
    let other_load = conditions.other_load.unwrap_or(0.0);
    let elsewhere = if shared.is_some() { (other_load - explained).max(0.0) } else { other_load };
    let quota = Warning::when(WarningCode::CpuQuota, throttled, || {
        let quota = conditions.quota_cpus.map_or_else(String::new, |cpus| format!(" of {cpus} CPUs"));
        format!("A control group's quota{quota} stopped the threads for {} of the time.", percent(throttled))
    });
    let gone = Warning::when(WarningCode::TimeLost, unexplained, || {
        format!("{} of the time vanished in gaps that the kernel does not account for.", percent(unexplained))
    });
    // Interruptions too short to cost much time may cost more by what they leave in the caches. Threads that wait have no
    // share of a CPU: there the kernel works for us in between.
    let stopped = quota.is_some() || shared.is_some() || gone.is_some();
    let counts = !stopped && !own_turns && conditions.cpu_share.is_some() && scale.timed_seconds > 0.0;
    let rate = if counts { switches as f64 / scale.timed_seconds } else { 0.0 };
    let found = [
        quota,
        shared,
        Warning::when(WarningCode::Steal, steal, || format!("{} of the time was stolen.", percent(steal))),
        Warning::when(WarningCode::VcpuShared, while_running, || {
            format!("{} of the rate was lost while the threads were running.", percent(while_running))
        }),
        gone,
        Warning::when(WarningCode::OtherLoad, elsewhere, || {
            format!("Other programs used {} of the time of all CPUs.", percent(elsewhere))
        }),
        Warning::when(WarningCode::InvoluntarySwitches, rate, || {
            format!("Each thread lost its CPU against its will {rate:.0} times a second.")
        }),
    ];
    found.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::planned;

    fn codes_with(conditions: &Conditions, scale: &Scale) -> Vec<String> {
        warnings(&planned(), conditions, scale).into_iter().map(|warning| warning.code.to_string()).collect()
    }

    fn codes(conditions: &Conditions) -> Vec<String> {
        codes_with(conditions, &Scale::default())
    }

    fn quiet() -> Conditions {
        Conditions {
            cpu_share: Some(0.999),
            least_cpu_share: Some(0.998),
            lost_in_gaps: Some(0.001),
            lost_share: Some(0.005),
            other_load: Some(0.004),
            involuntary_switches: Some(3),
            ..Conditions::default()
        }
    }

    /// Half of the time of one of two CPUs taken.
    fn shared() -> Conditions {
        Conditions {
            cpu_share: Some(0.5),
            least_cpu_share: Some(0.5),
            lost_in_gaps: Some(0.5),
            lost_share: Some(0.5),
            ..quiet()
        }
    }

    /// Of a row of a second on one of two CPUs, beside which others used so many seconds.
    fn scale(others_seconds: f64) -> Scale {
        Scale { timed_seconds: 1.0, part_of_cpus: 0.5, others_seconds: Some((others_seconds, others_seconds + 0.02)) }
    }

    #[test]
    fn a_quiet_row_has_nothing_to_say() {
        assert!(codes(&quiet()).is_empty());
        assert!(codes_with(&quiet(), &scale(0.0)).is_empty());
    }

    #[test]
    fn a_quota_is_not_also_a_neighbour() {
        let throttled = Conditions { throttled: Some(0.5), quota_cpus: Some(0.5), ..shared() };
        for scale in [Scale::default(), scale(0.0)] {
            assert_eq!(codes_with(&throttled, &scale), ["cpu_quota"]);
        }
        let text = &warnings(&planned(), &throttled, &Scale::default())[0].text;
        assert!(text.contains("0.5 CPUs") && text.contains("50.0 %"), "{text}");
    }

    #[test]
    fn a_neighbour_on_the_same_cpu_is_named_once() {
        assert_eq!(codes(&shared()), ["cpu_shared"]);
        let busy = Conditions { other_load: Some(0.4), involuntary_switches: Some(500), ..shared() };
        assert_eq!(codes_with(&busy, &scale(0.8)), ["cpu_shared"]);
        let both = Conditions { other_load: Some(0.9), ..busy };
        assert_eq!(codes_with(&both, &scale(1.8)), ["cpu_shared", "other_load"], "and one on the other CPU too");
    }

    #[test]
    fn a_process_that_was_stopped_had_no_neighbour() {
        let found = warnings(&planned(), &shared(), &scale(0.0));
        assert_eq!(found.iter().map(|warning| warning.code.as_str()).collect::<Vec<_>>(), ["time_lost"]);
        assert!(found[0].figure.unwrap() > 0.45, "{found:?}");
    }

    #[test]
    fn two_threads_on_one_cpu_are_not_averaged_away() {
        let of_many = Conditions { cpu_share: Some(0.995), least_cpu_share: Some(0.5), ..quiet() };
        assert_eq!(codes_with(&of_many, &Scale { timed_seconds: 64.0, ..scale(5.0) }), ["cpu_shared"]);
        assert!(codes(&Conditions { least_cpu_share: Some(0.97), ..quiet() }).is_empty(), "some thread is always last");
        let mut turns = planned();
        turns.warnings = vec![Warning::new(WarningCode::Oversubscribed, 2.0, "x")];
        let many = Conditions { involuntary_switches: Some(10_000), ..of_many };
        assert!(warnings(&turns, &many, &scale(0.0)).is_empty(), "asked for");
    }

    #[test]
    fn stolen_time_is_not_also_a_neighbours() {
        let stolen = Conditions { steal: Some(0.5), ..shared() };
        assert_eq!(codes(&stolen), ["steal"], "some kernels take it off a thread's time");
    }

    #[test]
    fn an_invisible_sibling_shows_in_operations_per_cycle_alone() {
        assert_eq!(codes(&Conditions { lost_share: Some(0.3), ..quiet() }), ["vcpu_shared"]);
        assert!(codes(&Conditions { lost_share: Some(0.015), ..quiet() }).is_empty());
    }

    #[test]
    fn gaps_that_nobody_accounts_for_are_lost_time() {
        let gaps = Conditions { lost_in_gaps: Some(0.2), lost_share: Some(0.2), ..quiet() };
        assert_eq!(codes(&gaps), ["time_lost"]);
        assert_eq!(codes(&Conditions { steal: Some(0.2), ..gaps }), ["steal"]);
    }

    #[test]
    fn a_load_on_other_cpus_is_named_by_its_share() {
        assert_eq!(codes(&Conditions { other_load: Some(0.02), ..quiet() }), ["other_load"]);
        let found = warnings(&planned(), &Conditions { other_load: Some(0.5), ..quiet() }, &scale(1.0));
        assert!(found[0].text.contains("50.0 %") && found[0].grade == model::warning::Grade::C, "{found:?}");
    }

    #[test]
    fn interruptions_count_by_their_rate() {
        let often = Conditions { involuntary_switches: Some(150), ..quiet() };
        assert!(codes_with(&Conditions { involuntary_switches: Some(40), ..quiet() }, &scale(0.0)).is_empty());
        assert_eq!(codes_with(&often, &scale(0.0)), ["involuntary_switches"]);
        assert!(codes_with(&often, &Scale { timed_seconds: 10.0, ..scale(0.0) }).is_empty());
        assert!(codes_with(&Conditions { cpu_share: None, ..often }, &scale(0.0)).is_empty(), "a row that waits");
    }
}
