//! `assay doctor`: its checks, what it finds where something is wrong on purpose, its exit status.

use std::time::Duration;

use serde_json::Value;

use crate::common::{Ran, Scratch, list, names, printed, ran, skip, text};
use crate::references::support::fake;
use crate::system::process::{Running, allowed_cpu, assert_no_orphans, has, signal, spinning, through_shell};

/// The printed diagnosis, which must agree with the exit status.
fn diagnosis(ran: &Ran) -> Value {
    let diagnosis = printed(ran);
    assert_eq!(diagnosis["schema"], "assay.doctor/1");
    let bad = list(&diagnosis, "checks").iter().any(|check| check["status"] == "bad");
    assert_eq!(diagnosis["quotable"], !bad, "{diagnosis:#}");
    assert_eq!(ran.status, Some(i32::from(bad)), "{ran:?}");
    diagnosis
}

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
    let mut command = through_shell(&scratch, &line, "doctor --json");
    command.env_remove("ASSAY_STORE");
    let diagnosis = diagnosis(&ran(command));
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
fn another_process_on_the_only_cpu_is_bad() {
    if !has("taskset") {
        return skip("the doctor alongside another process", "taskset is missing");
    }
    let scratch = Scratch::new();
    let cpu = allowed_cpu();
    let _other = spinning(cpu);
    let command = through_shell(&scratch, &format!("exec taskset -c {cpu} \"$@\""), "doctor --json");
    let diagnosis = diagnosis(&ran(command));
    assert_eq!(diagnosis["quotable"], false);
    if std::thread::available_parallelism().is_ok_and(|cpus| cpus.get() > 1) {
        assert_found(&diagnosis, "affinity", "warning");
    }
    assert_found(&diagnosis, "cpu_shared", "bad");
    assert_found(&diagnosis, "other_load", "bad");
}

#[test]
fn a_signal_ends_it_without_a_verdict() {
    let scratch = Scratch::new();
    let run = Running::assay(&scratch, "doctor");
    std::thread::sleep(Duration::from_millis(600));
    signal(run.id(), "TERM");
    let ran = run.end();
    assert_eq!((ran.status, ran.stdout.as_str()), (Some(143), ""), "{ran:?}");
    assert_no_orphans();
}
