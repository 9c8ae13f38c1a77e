//! Time and rate that interference took from the threads, each cause once.

use model::document::Conditions;
use model::number::{cpu_quota, percent_tenths as percent};
use model::plan::Planned;
use model::warning::{Warning, WarningCode};

use super::surroundings::Scale;

/// The least loss of the worst thread that counts: a machine's own housekeeping takes less from some thread.
const WORST_THREAD: f64 = 0.05;
/// Other programs use up to this many times what they took inside samples, a third of a short process run.
const BETWEEN_SAMPLES: f64 = 3.0;

fn own_turns(planned: &Planned) -> bool {
    planned.warnings.iter().any(|warning| warning.code == WarningCode::Oversubscribed)
}

fn lost(share: Option<f64>) -> f64 {
    (1.0 - share.unwrap_or(1.0)).max(0.0)
}

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
        // The mean over all samples can be below the median of the slowest threads.
        let is_below =
            |worst: &f64| 1.0 - worst >= WORST_THREAD && conditions.cpu_share.is_none_or(|mean| *worst < mean);
        let worst = conditions.least_cpu_share.filter(|worst| planned.cpus.len() > 1 && is_below(worst));
        let worst = worst.map_or_else(String::new, |worst| format!(", the slowest thread for {}", percent(worst)));
        format!("The threads ran for {share} of the time{worst} ({switches} involuntary context switches).")
    });
    let explained = scale.part_of_cpus * (BETWEEN_SAMPLES * on_our_cpus).min(1.0);
    let other_load = conditions.other_load.unwrap_or(0.0);
    let elsewhere = if shared.is_some() { (other_load - explained).max(0.0) } else { other_load };
    let quota = Warning::when(WarningCode::CpuQuota, throttled, || {
        let quota = conditions.quota_cpus.map_or_else(String::new, |cpus| format!(" of {}", cpu_quota(cpus)));
        format!("A control group's quota{quota} stopped the threads for {} of the time.", percent(throttled))
    });
    let gone = Warning::when(WarningCode::TimeLost, unexplained, || {
        format!("The threads paused for {} of the time for reasons the kernel does not report.", percent(unexplained))
    });
    // Interruptions too short to cost much time may cost more by what they leave in the caches. Threads that wait have no
    // share of a CPU: there the kernel works for us in between.
    let stopped = quota.is_some() || shared.is_some() || gone.is_some();
    let counts = !stopped && !own_turns && conditions.cpu_share.is_some() && scale.timed_seconds > 0.0;
    let rate = if counts { switches as f64 / scale.timed_seconds } else { 0.0 };
    let found = [
        quota,
        shared,
        Warning::when(WarningCode::Steal, steal, || {
            format!("The hypervisor stole {} of the CPU time.", percent(steal))
        }),
        Warning::when(WarningCode::VcpuShared, while_running, || {
            format!("{} of the rate was lost while the threads were running.", percent(while_running))
        }),
        gone,
        Warning::when(WarningCode::OtherLoad, elsewhere, || {
            format!("Other processes used {} of the time of all CPUs.", percent(elsewhere))
        }),
        Warning::when(WarningCode::InvoluntarySwitches, rate, || {
            format!("Each thread was preempted {rate:.0} times per second.")
        }),
    ];
    found.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::planned;

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

    fn shared() -> Conditions {
        let half = Some(0.5);
        Conditions { cpu_share: half, least_cpu_share: half, lost_in_gaps: half, lost_share: half, ..quiet() }
    }

    /// One second on one of two CPUs, during which other programs used this many CPU seconds.
    fn scale(others_seconds: f64) -> Scale {
        Scale { timed_seconds: 1.0, part_of_cpus: 0.5, others_seconds: Some((others_seconds, others_seconds + 0.02)) }
    }

    #[test]
    fn each_cause_is_named_once() {
        let unknown = Scale::default();
        let throttled = Conditions { throttled: Some(0.5), quota_cpus: Some(0.5), ..shared() };
        let busy = |other_load| Conditions { other_load, involuntary_switches: Some(500), ..shared() };
        let one_of_many = Conditions { cpu_share: Some(0.995), least_cpu_share: Some(0.5), ..quiet() };
        let gaps = Conditions { lost_in_gaps: Some(0.2), lost_share: Some(0.2), ..quiet() };
        let switches = |switches| Conditions { involuntary_switches: Some(switches), ..quiet() };
        let long = |others| Scale { timed_seconds: 64.0, ..scale(others) };
        for (conditions, scale, expected) in vec![
            (quiet(), unknown, ""),
            (quiet(), scale(0.0), ""),
            (throttled.clone(), unknown, "cpu_quota"),
            (throttled, scale(0.0), "cpu_quota"),
            (shared(), unknown, "cpu_shared"),
            (busy(Some(0.4)), scale(0.8), "cpu_shared"),
            // And one on the other CPU too.
            (busy(Some(0.9)), scale(1.8), "cpu_shared other_load"),
            // A process that was stopped shared no CPU.
            (shared(), scale(0.0), "time_lost"),
            // The mean over many threads does not hide the worst, but some thread is always last.
            (one_of_many, long(5.0), "cpu_shared"),
            (Conditions { least_cpu_share: Some(0.97), ..quiet() }, unknown, ""),
            // Some kernels subtract stolen time from a thread's time.
            (Conditions { steal: Some(0.5), ..shared() }, unknown, "steal"),
            // A busy SMT sibling shows in the operations per cycle alone.
            (Conditions { lost_share: Some(0.3), ..quiet() }, unknown, "vcpu_shared"),
            (Conditions { lost_share: Some(0.015), ..quiet() }, unknown, ""),
            (gaps.clone(), unknown, "time_lost"),
            (Conditions { steal: Some(0.2), ..gaps }, unknown, "steal"),
            (Conditions { other_load: Some(0.02), ..quiet() }, unknown, "other_load"),
            (switches(40), scale(0.0), ""),
            (switches(150), scale(0.0), "involuntary_switches"),
            (switches(150), long(0.0), ""),
            // A benchmark that waits.
            (Conditions { cpu_share: None, ..switches(150) }, scale(0.0), ""),
        ] {
            let found = warnings(&planned(), &conditions, &scale);
            let codes: Vec<&str> = found.iter().map(|warning| warning.code.as_str()).collect();
            assert_eq!(codes.join(" "), expected, "{conditions:?} {scale:?}");
        }
    }

    #[test]
    fn a_warning_names_the_size_of_the_loss_to_others_alone() {
        let of = |conditions: Conditions, scale: Scale| warnings(&planned(), &conditions, &scale).remove(0);
        let quota = of(Conditions { throttled: Some(0.5), quota_cpus: Some(0.5), ..shared() }, Scale::default());
        assert!(quota.text.contains("0.5 CPUs") && quota.text.contains("50.0 %"), "{quota:?}");
        assert!(of(shared(), scale(0.0)).value.unwrap() > 0.45);
        let load = of(Conditions { other_load: Some(0.5), ..quiet() }, scale(1.0));
        assert!(load.text.contains("50.0 %") && load.confidence == model::warning::Confidence::Low, "{load:?}");
        let mut planned = planned();
        planned.warnings = vec![Warning::new(WarningCode::Oversubscribed, 2.0, "x")];
        let many = Conditions { involuntary_switches: Some(10_000), ..shared() };
        assert_eq!(warnings(&planned, &Conditions { lost_in_gaps: None, ..many }, &scale(0.0)), []);
    }
}
