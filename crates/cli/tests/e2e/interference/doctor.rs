//! `assay doctor`: its checks, what it finds where something is wrong on purpose, its exit status.

use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::common::{Ran, Scratch, assay, list, names, printed, refusal, skip, text};
use crate::references::support::fake;
use crate::system::cgroup::Cgroup;
use crate::system::process::{Running, allowed_cpu, assert_no_orphans, has, signal, through_shell};

/// The printed diagnosis, which must agree with the exit status.
fn diagnosis(ran: &Ran) -> Value {
    let diagnosis = printed(ran);
    assert_eq!(diagnosis["schema"], "assay.doctor/1");
    let bad = list(&diagnosis, "checks").iter().any(|check| check["status"] == "bad");
    assert_eq!(diagnosis["quotable"], !bad, "{diagnosis:#}");
    assert_eq!(ran.status, Some(i32::from(bad)), "{ran:?}");
    diagnosis
}

fn diagnosis_of(mut command: Command) -> Value {
    diagnosis(&command.output().unwrap().into())
}

/// The check with this code.
fn check<'a>(diagnosis: &'a Value, code: &str) -> &'a Value {
    let checks = list(diagnosis, "checks");
    checks.iter().find(|check| check["code"] == code).unwrap_or_else(|| panic!("no check '{code}' in {diagnosis:#}"))
}

/// Asserts that a check found something, with a value and advice.
#[track_caller]
fn assert_found(diagnosis: &Value, code: &str, status: &str) {
    let check = check(diagnosis, code);
    assert_eq!(check["status"], status, "{check:#}");
    assert!(check["figure"].as_f64().is_some_and(|value| value > 0.0), "{check:#}");
    assert!(!text(check, "text").is_empty() && !text(check, "advice").is_empty(), "{check:#}");
}

#[test]
fn every_check_and_tool_is_there_and_the_exit_status_is_the_verdict() {
    let scratch = Scratch::new();
    fake(&scratch, "fio", "echo fio-3.33");
    let line = format!("PATH={} exec \"$@\"", scratch.path().display());
    let diagnosis = diagnosis_of(through_shell(&scratch, &line, "doctor --json"));
    let codes: Vec<&str> = list(&diagnosis, "checks").iter().map(|check| text(check, "code")).collect();
    assert_eq!(codes, bench::doctor::check_names());
    for check in list(&diagnosis, "checks") {
        assert!(["ok", "warning", "bad"].contains(&text(check, "status")), "{check:#}");
        assert!(text(check, "text").ends_with('.'), "{check:#}");
        assert!(check["status"] == "ok" || !text(check, "advice").is_empty(), "{check:#}");
    }
    assert_eq!(check(&diagnosis, "probe")["status"], "ok", "{diagnosis:#}");
    let tools: Vec<&str> = list(&diagnosis, "references").iter().map(|tool| text(tool, "tool")).collect();
    let known: Vec<&str> = tools::ids().collect();
    assert_eq!(tools, known);
    for tool in list(&diagnosis, "references") {
        let is_fio = tool["tool"] == "fio";
        assert_eq!((tool["path"].is_string(), tool["version"] == "3.33"), (is_fio, is_fio), "{tool:#}");
    }
    assert_eq!(names(scratch.path()), ["fio"], "it leaves nothing behind");
}
#[test]
fn a_quota_is_bad() {
    let Some(group) = Cgroup::make("cpu") else {
        return skip("the doctor under a quota", "making a control group with a CPU controller is not allowed");
    };
    group.allow_half_a_cpu();
    let scratch = Scratch::new();
    let diagnosis = diagnosis_of(group.assay(&scratch, "doctor --json"));
    assert_found(&diagnosis, "cpu_quota", "bad");
    assert!(text(check(&diagnosis, "cpu_quota"), "text").contains("0.5 CPUs"), "{diagnosis:#}");
}

#[test]
fn another_process_on_the_only_cpu_is_bad() {
    if !has("taskset") {
        return skip("the doctor alongside another process", "taskset is missing");
    }
    let scratch = Scratch::new();
    let cpu = allowed_cpu().to_string();
    let spin = ["-c", &cpu, "sh", "-c", "while :; do :; done"];
    let _other = Running::start(Command::new("taskset").args(spin).stdin(Stdio::null()));
    let diagnosis = diagnosis_of(through_shell(&scratch, &format!("exec taskset -c {cpu} \"$@\""), "doctor --json"));
    assert_eq!(diagnosis["quotable"], false);
    if std::thread::available_parallelism().is_ok_and(|cpus| cpus.get() > 1) {
        assert_found(&diagnosis, "affinity", "warning");
    }
    assert_found(&diagnosis, "cpu_shared", "bad");
    assert_found(&diagnosis, "other_load", "bad");
}

#[test]
fn nobody_has_to_listen_and_there_may_be_no_store() {
    let scratch = Scratch::new();
    let mut command = through_shell(&scratch, "{ \"$@\" 2>&-; echo $? >status; } | :", "doctor");
    let ran: Ran = command.env_remove("ASSAY_STORE").current_dir(scratch.path()).output().unwrap().into();
    let status = std::fs::read_to_string(scratch.join("status")).unwrap();
    assert!(["0\n", "1\n"].contains(&status.as_str()), "{status} {ran:?}");
    assert!(!ran.stderr.contains("panicked"), "{ran:?}");
}

#[test]
fn a_signal_ends_it_without_a_verdict() {
    for (milliseconds, name, status) in [(600, "INT", 130), (3000, "TERM", 143)] {
        let scratch = Scratch::new();
        let run = Running::assay(&scratch, "doctor");
        std::thread::sleep(Duration::from_millis(milliseconds));
        signal(run.id(), name);
        let ran = run.end();
        assert_eq!((ran.status, ran.stdout.as_str()), (Some(status), ""), "{name}: {ran:?}");
        assert_no_orphans();
    }
}

#[test]
fn what_it_does_not_understand_is_refused() {
    let scratch = Scratch::new();
    for arguments in ["doctor now", "doctor --sysroot /", "doctor --json=x"] {
        refusal(&assay(&scratch, arguments));
    }
}
