//! The doctor's own checks with their rules: everything that is not a warning of a benchmark (`model::warning`).

use model::doctor::{Check, CheckStatus};
use model::warning::{Confidence, Warning, WarningCode};

/// Values from which a check is a warning, and from which it is bad: shares, bytes per second, or 1 for a fact.
#[derive(Clone, Copy, Debug)]
pub(super) enum Thresholds {
    Of(WarningCode),
    /// Its own; `None`: never.
    Own(Option<f64>, Option<f64>),
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Rule {
    pub(super) name: &'static str,
    thresholds: Thresholds,
    consequence: &'static str,
    advice: &'static str,
}

const fn rule(name: &'static str, thresholds: Thresholds, consequence: &'static str, advice: &'static str) -> Rule {
    Rule { name, thresholds, consequence, advice }
}

/// Disk traffic of other processes: 1 % of a slow SSD, far above a journal's commits.
const DISK_BYTES_PER_SECOND: f64 = 1e6;
/// Loopback traffic of other processes: below 1 % of what one stream carries.
const NET_BYTES_PER_SECOND: f64 = 10e6;
const MUCH: f64 = 20.0;
const STOP: &str = "Stop the busy processes (find them with top and iotop), or use --wait-quiet 60s.";

/// All checks except the warnings, in display order. Two share a warning's name but judge a rate, not a share.
#[rustfmt::skip]
pub(super) const RULES: &[Rule] = &[
    rule("other_disk_traffic", Thresholds::Own(Some(DISK_BYTES_PER_SECOND), Some(MUCH * DISK_BYTES_PER_SECOND)),
        "Disk benchmarks would share the device with this traffic.", "Stop it (find it with iotop), or use --wait-quiet 60s."),
    rule("other_net_traffic", Thresholds::Own(Some(NET_BYTES_PER_SECOND), Some(MUCH * NET_BYTES_PER_SECOND)),
        "Network benchmarks would share the interface with this traffic.", "Stop it (find it with ss or iftop), or use --wait-quiet 60s."),
    rule("probe", Thresholds::Own(None, Some(1.0)),
        "The interference on benchmarks is unknown.", "Run `assay cpu --verify` for the full error."),
    rule("cpu_pressure", Thresholds::Own(Some(0.05), None),
        "More threads were ready to run than there are CPUs.", STOP),
    rule("memory_pressure", Thresholds::Own(Some(0.01), Some(0.10)),
        "The kernel reclaims pages, which stalls processes that allocate memory.", "Free memory."),
    rule("io_pressure", Thresholds::Own(Some(0.10), None),
        "Other processes keep a device busy; disk benchmarks would wait for it too.", STOP),
    rule("clock_source", Thresholds::Own(Some(1.0), None),
        "Each clock read is a system call that takes microseconds.", "echo tsc > /sys/devices/system/clocksource/clocksource0/current_clocksource"),
    rule("smt_siblings", Thresholds::Own(None, None),
        "Benchmarks on all cores use one hardware thread per core.", ""),
    rule("huge_pages", Thresholds::Own(Some(1.0), None),
        "Memory benchmarks with 2 MiB pages would get base pages.", "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled"),
    rule("swap_in_use", Thresholds::Own(Some(0.50), None),
        "Memory has run short and may do so again.", "Free memory, then empty the swap space: swapoff -a && swapon -a"),
    rule("free_memory", Thresholds::Of(WarningCode::PossiblyCached),
        "Memory benchmarks would use a smaller working set, which may fit partly in a cache.", "Free memory."),
    rule("store_room", Thresholds::Own(Some(0.01), None),
        "Disk benchmarks would use a smaller test file or be skipped.", "Free some space, or use --dir to choose another directory."),
    rule("direct_io", Thresholds::Own(Some(1.0), None),
        "Disk benchmarks would be skipped.", "Use --dir or ASSAY_STORE to choose a directory on a disk."),
    rule("loopback", Thresholds::Own(Some(1.0), None),
        "Network benchmarks within this machine would be skipped.", "Run the command above as the superuser."),
    rule("io_uring", Thresholds::Own(None, None),
        "It may be slower at high queue depths.",
        "Set sysctl kernel.io_uring_disabled=0, allow io_uring in the seccomp profile, or raise ulimit -l."),
];

impl Rule {
    pub(super) fn find(name: &str) -> Option<&'static Self> {
        RULES.iter().find(|rule| rule.name == name)
    }

    fn status(&self, value: f64) -> CheckStatus {
        let (warning, bad) = match self.thresholds {
            Thresholds::Of(code) => (code.rule().fair, code.rule().low),
            Thresholds::Own(warning, bad) => (warning, bad),
        };
        let reached = |threshold: Option<f64>| threshold.is_some_and(|threshold| value >= threshold);
        if reached(bad) {
            CheckStatus::Bad
        } else if reached(warning) {
            CheckStatus::Warning
        } else {
            CheckStatus::Ok
        }
    }
}

pub(super) fn by_rule(name: &str, value: f64, seen: &str) -> Check {
    let status = Rule::find(name).map_or(CheckStatus::Ok, |rule| rule.status(value));
    let check = if status == CheckStatus::Ok { passed(name, seen) } else { remark(name, value, seen) };
    Check { status, value: Some(value), ..check }
}

/// A check that is never held against the machine.
pub(super) fn remark(name: &str, value: f64, seen: &str) -> Check {
    let (consequence, advice) = Rule::find(name).map_or(("", ""), |rule| (rule.consequence, rule.advice));
    let text = format!("{seen} {consequence}").trim_end().to_owned();
    Check { text, advice: advice.to_owned(), value: Some(value), ..passed(name, "") }
}

pub(super) fn passed(name: &str, seen: &str) -> Check {
    let (code, text) = (name.to_owned(), seen.to_owned());
    Check { code, status: CheckStatus::Ok, text, advice: String::new(), value: None }
}

/// A check whose value the kernel may not report.
pub(super) fn known<T>(name: &str, value: Option<T>, what: &str, check: impl FnOnce(T) -> Check) -> Check {
    value.map_or_else(|| passed(name, &format!("Unknown: the kernel does not report {what}.")), check)
}

/// A value judged by a warning's rule, with advice if it is reached or has no threshold.
pub(super) fn judged(code: WarningCode, value: f64, seen: &str) -> Check {
    let rule = code.rule();
    let check = of_warning(Warning::new(code, value, seen));
    if check.status == CheckStatus::Ok && rule.fair.or(rule.low).is_some() {
        return Check { text: seen.to_owned(), advice: String::new(), ..check };
    }
    check
}

pub(super) fn of_warning(warning: Warning) -> Check {
    let status = match warning.confidence {
        Confidence::High => CheckStatus::Ok,
        Confidence::Fair => CheckStatus::Warning,
        Confidence::Low => CheckStatus::Bad,
    };
    Check { code: warning.code.to_string(), status, text: warning.text, advice: warning.advice, value: warning.value }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_look_has_a_name_of_its_own_and_a_complete_rule() {
        for rule in RULES {
            assert_eq!(RULES.iter().filter(|other| other.name == rule.name).count(), 1, "{}", rule.name);
            assert!(rule.consequence.ends_with('.'), "{}", rule.name);
            if let Thresholds::Own(Some(warning), bad) = rule.thresholds {
                assert!(bad.is_none_or(|bad| warning < bad), "{}: a warning must come before bad", rule.name);
                assert!(!rule.advice.is_empty(), "{}", rule.name);
            }
        }
    }

    #[test]
    fn thresholds_decide_the_status() {
        let at = |value| by_rule("memory_pressure", value, "Seen.").status;
        assert_eq!([at(0.0), at(0.01), at(0.1)], [CheckStatus::Ok, CheckStatus::Warning, CheckStatus::Bad]);
        let like = |value| by_rule("free_memory", value, "Seen.").status;
        assert_eq!([like(0.25), like(0.26), like(0.6)], [CheckStatus::Ok, CheckStatus::Warning, CheckStatus::Bad]);
        let steal = |value| judged(WarningCode::Steal, value, "Seen.").status;
        assert_eq!([steal(0.0), steal(0.005), steal(0.03)], [CheckStatus::Ok, CheckStatus::Warning, CheckStatus::Bad]);
    }

    #[test]
    fn what_is_in_order_has_no_advice_and_a_remark_has() {
        let fine = judged(WarningCode::Steal, 0.0, "Seen.");
        assert_eq!((fine.text.as_str(), fine.advice.as_str()), ("Seen.", ""));
        let warned = judged(WarningCode::Steal, 0.01, "Seen.");
        assert!(warned.text.starts_with("Seen. The hypervisor") && !warned.advice.is_empty(), "{warned:?}");
        let noted = judged(WarningCode::Governor, 1.0, "Seen.");
        assert!(noted.status == CheckStatus::Ok && noted.advice.contains("cpupower"), "{noted:?}");
        let remarked = remark("io_uring", 1.0, "Seen.");
        assert!(remarked.status == CheckStatus::Ok && remarked.advice.contains("sysctl"), "{remarked:?}");
    }
}
