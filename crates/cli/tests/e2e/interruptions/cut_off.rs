//! A run that is interrupted or killed, and workers that are: what was finished is kept, and nothing is left behind.

use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;

use crate::common::{
    Scratch, assay, check, command, document, is_verified, left_in, one_launch, printed, refusal, rows, samples,
    stored_runs, text,
};
use crate::system::process::{
    Running, assert_no_orphans, journalled, samples_in_journal, signal, signalled, through_shell, wait_for,
};

/// A run of two rows that takes far longer than a test.
const LONG: &str = "cpu --op fma --type fp64,fp32 --isa scalar --threads 1 --repeat 1000";

/// Signals that end a run in good order, and the status that tells of each.
const STOPS: [(&str, i32); 3] = [("INT", 130), ("TERM", 143), ("HUP", 129)];

/// Samples per launch.
const PER_LAUNCH: usize = 3;

/// Samples of the headline metrics of all rows.
fn sample_count(document: &Value) -> usize {
    rows(document).iter().map(|row| samples(row).len()).sum()
}

/// Asserts that a run was stored as one that was cut off, with at least so many samples and nothing beside it but what it
/// takes to go on.
fn assert_cut_off(folder: &Path, at_least: usize) {
    let document = document(folder);
    check(&document);
    assert_eq!(document["run"]["complete"], false);
    assert!(sample_count(&document) >= at_least, "{} samples", sample_count(&document));
    for row in rows(&document) {
        let interrupted = row["status"] == "skipped" && text(row, "reason") == "interrupted";
        assert!(is_verified(row) || interrupted, "{row:#}");
    }
    assert_eq!(left_in(folder), ["journal.jsonl", "run.json"], "something was left behind");
}

#[test]
fn a_signal_in_the_middle_ends_a_run_in_good_order() {
    for (name, status) in STOPS {
        let scratch = Scratch::new();
        let run = Running::assay(&scratch, LONG);
        let folder = samples_in_journal(&scratch, PER_LAUNCH + 1);
        signal(run.id(), name);
        let ran = run.end();
        assert_eq!(ran.status, Some(status), "{name}: {ran:?}");
        assert!(ran.stdout.contains("FMA"), "what was measured is shown: {ran:?}");
        assert_cut_off(&folder, PER_LAUNCH);
        assert_no_orphans();
        assert!(assay(&scratch, "runs").stdout.contains("cut off"));
    }
}

#[test]
fn a_signal_to_all_processes_of_a_run_is_an_interruption_and_no_failure() {
    for (name, status) in STOPS {
        let scratch = Scratch::new();
        let run = Running::assay(&scratch, LONG);
        let folder = samples_in_journal(&scratch, PER_LAUNCH + 1);
        // As who stops a service or a control group does, and the worker hears of it first.
        let told = wait_for(Duration::from_secs(10), || signalled(run.worker(), name).then_some(()));
        assert!(told.is_some(), "each worker was gone before it could be told");
        signal(run.id(), name);
        let ran = run.end();
        assert_eq!(ran.status, Some(status), "{name}: {ran:?}");
        assert_cut_off(&folder, PER_LAUNCH);
        assert_no_orphans();
    }
}

#[test]
fn a_signal_at_the_very_start_loses_nothing() {
    for (name, status) in STOPS {
        let scratch = Scratch::new();
        let run = Running::assay(&scratch, LONG);
        let folder = wait_for(Duration::from_secs(10), || stored_runs(&scratch).pop()).expect("a run's folder");
        signal(run.id(), name);
        let ran = run.end();
        assert_eq!(ran.status, Some(status), "{name}: {ran:?}");
        assert_cut_off(&folder, 0);
        assert_no_orphans();
    }
}

#[test]
fn a_signal_at_any_moment_of_the_start_leaves_a_whole_document_or_nothing() {
    for milliseconds in [0, 2, 5, 10, 20, 40, 80] {
        let scratch = Scratch::new();
        let run = Running::assay(&scratch, LONG);
        std::thread::sleep(Duration::from_millis(milliseconds));
        signal(run.id(), "INT");
        let output = run.output();
        // Before anything is made the signal may end the program as it ends any other.
        let ended = (output.status.code(), output.status.signal());
        assert!(matches!(ended, (Some(130), _) | (None, Some(2))), "after {milliseconds} ms: {ended:?}");
        for folder in stored_runs(&scratch) {
            assert_cut_off(&folder, 0);
        }
        assert_no_orphans();
    }
}

/// Kills a run half-way; its folder.
fn killed(scratch: &Scratch) -> PathBuf {
    let run = Running::assay(scratch, LONG);
    let folder = samples_in_journal(scratch, 2 * PER_LAUNCH + 1);
    signal(run.id(), "KILL");
    run.output();
    folder
}

#[test]
fn a_killed_run_still_loads_with_every_sample_it_took() {
    let scratch = Scratch::new();
    let folder = killed(&scratch);
    assert_no_orphans();
    let taken = journalled(&folder);
    let shown = assay(&scratch, &format!("report {} --format json", folder.display()));
    assert_eq!(shown.status, Some(0), "{shown:?}");
    let document = printed(&shown);
    check(&document);
    assert_eq!(document["run"]["complete"], false);
    assert_eq!(sample_count(&document), taken, "the journal has every sample");
    assert!(rows(&document).iter().any(is_verified));
    assert!(assay(&scratch, "runs").stdout.contains("cut off"));
}

#[test]
fn a_last_line_that_was_cut_off_costs_only_itself() {
    let scratch = Scratch::new();
    let folder = killed(&scratch);
    let taken = journalled(&folder);
    let path = folder.join("journal.jsonl");
    let journal = std::fs::read_to_string(&path).unwrap();
    let last = journal.rfind("{\"kind\":\"sample\"").unwrap();
    let end = last + journal[last..].lines().next().unwrap().len();
    std::fs::write(&path, &journal[..end - 20]).unwrap();
    // The run stores its document after every block: a kill just behind that finds the last sample stored already.
    let stored = if folder.join("run.json").exists() { sample_count(&document(&folder)) } else { 0 };
    let shown = printed(&assay(&scratch, &format!("report {} --format json", folder.display())));
    check(&shown);
    assert_eq!(sample_count(&shown), stored.max(taken - 1));
}

#[test]
fn the_next_run_takes_away_what_a_killed_one_left() {
    let scratch = Scratch::new();
    let folder = killed(&scratch);
    let (unfinished, foreign) = (folder.join(".run.json.unfinished"), folder.join("notes"));
    std::fs::write(&unfinished, "{\"schema\": \"assay.ru").unwrap();
    std::fs::write(&foreign, "somebody's").unwrap();
    let ran = assay(&scratch, "cpu --op fma --type fp64 --isa scalar --threads 1 --repeat 1");
    assert_eq!(ran.status, Some(0), "{ran:?}");
    assert!(!unfinished.exists(), "what the journal names is swept");
    assert!(foreign.exists() && folder.join("run.json").exists(), "and nothing else");
    assert!(assay(&scratch, &format!("report {} --format text", folder.display())).stdout.contains("FMA"));
}

#[test]
fn a_run_that_lives_is_not_swept() {
    let scratch = Scratch::new();
    let run = Running::assay(&scratch, LONG);
    let folder = samples_in_journal(&scratch, 1);
    let ran = assay(&scratch, "cpu --op fma --type fp64 --isa scalar --threads 1 --repeat 1");
    assert_eq!(ran.status, Some(0), "{ran:?}");
    assert!(folder.join("journal.jsonl").exists());
    signal(run.id(), "INT");
    assert_eq!(run.end().status, Some(130));
    assert_cut_off(&folder, 1);
}

#[test]
fn a_worker_that_is_killed_is_a_failed_row_and_no_more() {
    // Not SIGBUS: the standard library's handler takes one that no access has caused for nothing.
    for (name, says) in [("KILL", "SIGKILL"), ("ILL", "SIGILL"), ("ABRT", "SIGABRT")] {
        let scratch = Scratch::new();
        let run = Running::assay(&scratch, &one_launch(&scratch, "\"fp64\", \"fp32\"", 4));
        let folder = samples_in_journal(&scratch, 1);
        signal(run.worker(), name);
        let ran = run.end();
        assert_eq!(ran.status, Some(1), "{name}: {ran:?}");
        let document = document(&folder);
        check(&document);
        let (failed, fine): (Vec<_>, Vec<_>) = rows(&document).iter().partition(|row| row["status"] == "failed");
        assert_eq!((failed.len(), fine.len()), (1, 1), "{ran:?}");
        assert!(text(failed[0], "reason").contains(says), "{:#}", failed[0]);
        assert!(is_verified(fine[0]) && samples(fine[0]).len() == 4, "{:#}", fine[0]);
        assert_eq!(document["run"]["complete"], true);
        assert_eq!(left_in(&folder), ["journal.jsonl", "run.json"]);
        assert!(ran.stdout.contains(says), "the table says why: {ran:?}");
    }
}

#[test]
fn a_worker_that_is_given_nonsense_says_so() {
    let scratch = Scratch::new();
    let ran = through_shell(&scratch, "echo nonsense | \"$@\"", "worker").output().unwrap();
    let said: Value = serde_json::from_slice(&ran.stdout).unwrap();
    assert_eq!(text(&said, "kind"), "failed");
    assert!(text(&said, "reason").contains("task"), "{said}");
}

#[test]
fn two_runs_at_once_have_a_folder_each() {
    let scratch = Scratch::new();
    let brief = "cpu --op fma --type fp64 --isa scalar --threads 1 --repeat 1";
    let runs = [Running::assay(&scratch, brief), Running::assay(&scratch, brief)];
    for run in runs {
        assert_eq!(run.end().status, Some(0));
    }
    let folders = stored_runs(&scratch);
    assert_eq!(folders.len(), 2);
    for folder in folders {
        check(&document(&folder));
    }
}

#[test]
fn without_any_place_for_the_store_the_sentence_says_what_to_do() {
    let scratch = Scratch::new();
    let mut command = command(&scratch, ["cpu", "--repeat", "1"]);
    let ran = command.env_remove("ASSAY_STORE").output().unwrap().into();
    assert!(refusal(&ran).contains("--out"));
}
