//! Sampling: sessions, repeated process runs, waiting for a quiet machine.

use std::process::{Command, Stdio};

use crate::common::{Ran, Scratch, codes, command, is_verified, list, number, rows, samples, skip, stored};
use crate::system::process::{Running, allowed_cpus, has};

/// A short suite of one row.
fn suite(scratch: &Scratch, sessions: u32, samples: u32) -> std::path::PathBuf {
    let path = scratch.join("short.toml");
    let text = format!(
        "name = \"short\"\nsessions = {sessions}\npause = \"100ms\"\nrepeat_share = 1.0\n\
         [sampling.cpu]\nsamples = {samples}\nper_launch = 1\nsample = \"60ms\"\nwarm_up = [\"10ms\", \"50ms\"]\n\
         [[cpu]]\nop = \"fma\"\ntype = [\"fp64\"]\nisa = [\"scalar\"]\nthreads = [\"1\"]\n"
    );
    std::fs::write(&path, text).unwrap();
    path
}

fn run(scratch: &Scratch, suite: &std::path::Path, more: &[&str]) -> Ran {
    let words = ["run", suite.to_str().unwrap()];
    command(scratch, words.iter().chain(more)).output().unwrap().into()
}

#[test]
fn samples_are_spread_over_sessions() {
    let scratch = Scratch::new();
    let ran = run(&scratch, &suite(&scratch, 3, 6), &[]);
    assert_eq!(ran.status, Some(0), "{ran:?}");
    let document = stored(&scratch);
    assert_eq!(document["run"]["sessions"], 3);
    let row = &rows(&document)[0];
    let sessions: Vec<u64> = samples(row).iter().map(|sample| sample["session"].as_u64().unwrap()).collect();
    assert!(sessions.is_sorted() && [1, 2, 3].iter().all(|session| sessions.contains(session)), "{sessions:?}");
    let start = |session: u64| {
        let of = |sample: &&serde_json::Value| sample["session"] == session;
        samples(row).iter().filter(of).map(|sample| number(sample, "start")).fold(f64::INFINITY, f64::min)
    };
    assert!(start(2) - start(1) >= 0.1 && start(3) - start(2) >= 0.1, "a pause lies in between");
    assert!(ran.stdout.contains("in 3 sessions"), "{}", ran.stdout);
}

#[test]
fn a_disturbed_process_run_is_repeated_and_both_are_kept_and_marked() {
    if !has("taskset") {
        return skip("a repeated process run", "taskset is missing");
    }
    let scratch = Scratch::new();
    let suite = suite(&scratch, 1, 6);
    // Other processes on every CPU: wherever the row is pinned, it gets half of it.
    let spin = |cpu: &u32| {
        let arguments = ["-c", &cpu.to_string(), "sh", "-c", "while :; do :; done"].map(str::to_owned);
        Running::start(Command::new("taskset").args(arguments).stdin(Stdio::null()))
    };
    let others: Vec<Running> = allowed_cpus().iter().map(spin).collect();
    let ran = run(&scratch, &suite, &[]);
    drop(others);
    assert_eq!(ran.status, Some(0), "{ran:?}");
    let document = stored(&scratch);
    let row = &rows(&document)[0];
    let marked =
        |mark: &str| samples(row).iter().filter(|sample| list(sample, "flags").iter().any(|flag| flag == mark)).count();
    let conditions = &row["conditions"];
    assert!(marked("disturbed") >= 3, "{row:#}");
    assert!((1..=6).contains(&marked("repeat")), "as many again as planned at most: {row:#}");
    assert_eq!(samples(row).len(), 6 + marked("repeat"), "none is left out");
    assert_eq!(conditions["repeated_launches"], marked("repeat"), "{conditions:#}");
    assert_eq!(conditions["disturbed_launches"], marked("disturbed"), "{conditions:#}");
    assert!(codes(row).contains(&"cpu_shared") && row["confidence"] == "low", "{:#}", row["warnings"]);
    assert!((0.1..=0.8).contains(&number(conditions, "cpu_share")), "{conditions:#}");
    assert!(number(conditions, "lost_share") > 0.15, "{conditions:#}");
    assert!(ran.stdout.contains("repeated."), "{}", ran.stdout);
}

#[test]
fn a_busy_machine_is_waited_for_and_then_measured_all_the_same() {
    let scratch = Scratch::new();
    let suite = suite(&scratch, 1, 6);
    let spin = || Running::start(Command::new("sh").args(["-c", "while :; do :; done"]).stdin(Stdio::null()));
    let others: Vec<Running> = allowed_cpus().iter().map(|_| spin()).collect();
    let ran = run(&scratch, &suite, &["--wait-quiet", "1s", "--repeat", "2"]);
    drop(others);
    assert_eq!(ran.status, Some(0), "{ran:?}");
    assert!(ran.stderr.contains("did not become quiet"), "{}", ran.stderr);
    let document = stored(&scratch);
    assert!(number(&document["conditions"], "waited_seconds") >= 1.0, "{:#}", document["conditions"]);
    let row = &rows(&document)[0];
    assert!(is_verified(row) && samples(row).len() == 2, "exactly as --repeat says: {row:#}");
}
