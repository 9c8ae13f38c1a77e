//! What the doctor looks at that no row can be warned of, each with its own rule: the one table of them.
//!
//! Whatever a row can be warned of is judged by `model::warning` alone. Here stands only what has no row to be compared
//! with, or decides what can be measured at all.

use model::doctor::{Check, CheckStatus};
use model::warning::{Grade, Warning, WarningCode};

/// From which figures on something is worth a warning, and from which on it is bad.
#[derive(Clone, Copy, Debug)]
pub enum Thresholds {
    /// Those of a row's warning.
    Of(WarningCode),
    /// Its own; without them it is told and never held against the machine.
    Own(Option<f64>, Option<f64>),
}

/// A line of the table.
#[derive(Clone, Copy, Debug)]
pub struct Look {
    /// What it is called in a diagnosis.
    pub name: &'static str,
    /// What the figure is.
    pub figure: &'static str,
    /// When it is held against the machine.
    pub thresholds: Thresholds,
    /// What it does to numbers taken now.
    pub consequence: &'static str,
    /// What to do about it.
    pub advice: &'static str,
}

const fn look(
    name: &'static str,
    figure: &'static str,
    thresholds: Thresholds,
    consequence: &'static str,
    advice: &'static str,
) -> Look {
    Look { name, figure, thresholds, consequence, advice }
}

/// Traffic of others on the disk, B/s: 1 % of what a slow solid-state disk moves, far above a journal's commits.
const DISK_BYTES_PER_SECOND: f64 = 1e6;

/// Traffic of others on loopback, B/s: less than 1 % of what one stream carries there, and more than services that talk
/// to each other now and then.
const NET_BYTES_PER_SECOND: f64 = 10e6;

/// From so many times that traffic on, it takes a part that no row could hide.
const MUCH: f64 = 20.0;

/// What helps against others who keep the machine busy.
const STOP: &str = "Stop what keeps it busy (see it with top and iotop), or use --wait-quiet 60s.";

/// Everything that is looked at besides the warnings of rows, in the order in which it is shown. Two have the name of a
/// warning: a row is judged by the share of its own traffic, and here there is none, so the rate is judged.
#[rustfmt::skip]
pub const LOOKS: &[Look] = &[
    look("other_disk_traffic", "bytes per second", Thresholds::Own(Some(DISK_BYTES_PER_SECOND), Some(MUCH * DISK_BYTES_PER_SECOND)),
        "Disk rows would share the device with it.", "Stop it (see it with iotop), or use --wait-quiet 60s."),
    look("other_net_traffic", "bytes per second", Thresholds::Own(Some(NET_BYTES_PER_SECOND), Some(MUCH * NET_BYTES_PER_SECOND)),
        "Network rows would share the interface with it.", "Stop it (see it with ss or iftop), or use --wait-quiet 60s."),
    look("probe", "1", Thresholds::Own(None, Some(1.0)),
        "Nothing can be said of what a row would see.", "Look at the reason; `assay cpu --verify` shows it in full."),
    look("cpu_pressure", "share of the time in which some task waited for a CPU", Thresholds::Own(Some(0.05), None),
        "More was to be run than there are CPUs for.", STOP),
    look("memory_pressure", "share of the time in which some task waited for memory", Thresholds::Own(Some(0.01), Some(0.10)),
        "Pages are being reclaimed, which stops whoever needs one.", "Free memory."),
    look("io_pressure", "share of the time in which some task waited for a device", Thresholds::Own(Some(0.10), None),
        "A device is busy for others; disk rows would wait with them.", STOP),
    look("clock_source", "1 where reading it leaves the processor", Thresholds::Own(Some(1.0), None),
        "Each look at the clock by a system call takes microseconds.", "echo tsc > /sys/devices/system/clocksource/clocksource0/current_clocksource"),
    look("smt_siblings", "hardware threads per core", Thresholds::Own(None, None),
        "Rows of all cores use one thread of each.", ""),
    look("huge_pages", "1 where they are never given", Thresholds::Own(Some(1.0), None),
        "Memory rows of 2 MiB pages would get small ones.", "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled"),
    look("swap_in_use", "share of the swap space", Thresholds::Own(Some(0.50), None),
        "Memory has been short, and may be again.", "Free memory, then empty it: swapoff -a && swapon -a"),
    look("free_memory", "last-level caches per working set that fits", Thresholds::Of(WarningCode::PossiblyCached),
        "Memory rows would have a smaller working set, part of which may come from a cache.", "Free memory."),
    look("store_room", "share of the test file that there is no room for", Thresholds::Own(Some(0.01), None),
        "The test file of disk rows would be smaller, or there would be none.", "Make room, or name another directory with --dir."),
    look("direct_io", "1 where disk rows are impossible", Thresholds::Own(Some(1.0), None),
        "Disk rows would be skipped.", "Name a directory on a disk with --dir, or set ASSAY_STORE to one."),
    look("io_uring", "1 where it cannot be had", Thresholds::Own(None, None),
        "Disk rows would use threads that wait instead, which may cost rate at high depths.",
        "Allow it: sysctl kernel.io_uring_disabled=0, a seccomp profile with it, a higher ulimit -l."),
];

impl Look {
    /// The line of this name.
    pub(super) fn find(name: &str) -> Option<&'static Self> {
        LOOKS.iter().find(|look| look.name == name)
    }

    fn status(&self, figure: f64) -> CheckStatus {
        let (warning, bad) = match self.thresholds {
            Thresholds::Of(code) => (code.rule().b, code.rule().c),
            Thresholds::Own(warning, bad) => (warning, bad),
        };
        let reached = |threshold: Option<f64>| threshold.is_some_and(|threshold| figure >= threshold);
        match (reached(warning), reached(bad)) {
            (_, true) => CheckStatus::Bad,
            (true, false) => CheckStatus::Warning,
            (false, false) => CheckStatus::Ok,
        }
    }
}

/// What a look of this name found: its figure, and a sentence that says it.
pub(super) fn looked(name: &str, figure: f64, seen: &str) -> Check {
    let status = Look::find(name).map_or(CheckStatus::Ok, |look| look.status(figure));
    let (text, advice) = match Look::find(name).filter(|_| status != CheckStatus::Ok) {
        Some(look) => (format!("{seen} {}", look.consequence), look.advice),
        None => (seen.to_owned(), ""),
    };
    Check { code: name.to_owned(), status, text, advice: advice.to_owned(), figure: Some(figure) }
}

/// What is worth knowing and never held against the machine, with what follows from it.
pub(super) fn remark(name: &str, figure: f64, seen: &str) -> Check {
    let (consequence, advice) = Look::find(name).map_or(("", ""), |look| (look.consequence, look.advice));
    let text = format!("{seen} {consequence}").trim_end().to_owned();
    Check { code: name.to_owned(), status: CheckStatus::Ok, text, advice: advice.to_owned(), figure: Some(figure) }
}

/// What could be looked at but has no figure: it is as it should be, or cannot be told.
pub(super) fn told(name: &str, seen: &str) -> Check {
    let (code, text) = (name.to_owned(), seen.to_owned());
    Check { code, status: CheckStatus::Ok, text, advice: String::new(), figure: None }
}

/// A figure judged by the rule of a row's warning. Below its first threshold only the sentence remains; kinds without a
/// threshold are worth their advice all the same.
pub(super) fn judged(code: WarningCode, figure: f64, seen: &str) -> Check {
    let rule = code.rule();
    let check = of_warning(Warning::new(code, figure, seen));
    if check.status == CheckStatus::Ok && rule.b.or(rule.c).is_some() {
        return Check { text: seen.to_owned(), advice: String::new(), ..check };
    }
    check
}

/// A row's warning as a check.
pub(super) fn of_warning(warning: Warning) -> Check {
    let status = match warning.grade {
        Grade::A => CheckStatus::Ok,
        Grade::B => CheckStatus::Warning,
        Grade::C => CheckStatus::Bad,
    };
    Check { code: warning.code.to_string(), status, text: warning.text, advice: warning.advice, figure: warning.figure }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_look_has_a_name_of_its_own_and_a_complete_rule() {
        for look in LOOKS {
            assert_eq!(LOOKS.iter().filter(|other| other.name == look.name).count(), 1, "{}", look.name);
            assert!(look.consequence.ends_with('.') && !look.figure.is_empty(), "{}", look.name);
            if let Thresholds::Own(Some(warning), bad) = look.thresholds {
                assert!(bad.is_none_or(|bad| warning < bad), "{}: a warning must come before bad", look.name);
                assert!(!look.advice.is_empty(), "{}", look.name);
            }
        }
    }

    #[test]
    fn thresholds_decide_the_status() {
        let at = |figure| looked("memory_pressure", figure, "Seen.").status;
        assert_eq!([at(0.0), at(0.01), at(0.1)], [CheckStatus::Ok, CheckStatus::Warning, CheckStatus::Bad]);
        let like = |figure| looked("free_memory", figure, "Seen.").status;
        assert_eq!([like(0.25), like(0.26), like(0.6)], [CheckStatus::Ok, CheckStatus::Warning, CheckStatus::Bad]);
        let steal = |figure| judged(WarningCode::Steal, figure, "Seen.").status;
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
