//! Runs and workers that are interrupted or killed: finished samples are kept, and nothing is left behind.

use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use crate::common::{
    Scratch, assay, check, command, document, is_verified, left_in, one_launch, printed, refusal, rows, samples,
    stored_runs, succeed, text,
};
use crate::system::process::{
    Running, assert_no_orphans, journalled, samples_in_journal, signal, signalled, through_shell, wait_for,
};

/// A run of two rows, much longer than a test.
const LONG: &str = "cpu --op fma --type fp64,fp32 --isa scalar --threads 1 --repeat 1000";

/// Signals that end a run in good order, with the exit status of each.
const STOPS: [(&str, i32); 3] = [("INT", 130), ("TERM", 143), ("HUP", 129)];

/// Samples per process run.
const PER_LAUNCH: usize = 3;

fn sample_count(document: &Value) -> usize {
    rows(document).iter().map(|row| samples(row).len()).sum()
}

/// Asserts that a run was stored as cut off, with at least this many samples, and only with what `--resume` needs.
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
        assert!(ran.stdout.contains("FMA, scalar"), "what was measured is shown: {ran:?}");
        assert_cut_off(&folder, PER_LAUNCH);
        assert_no_orphans();
        assert!(assay(&scratch, "runs").stdout.contains("interrupted"));
    }
}

#[test]
fn a_signal_to_all_processes_of_a_run_is_an_interruption_and_no_failure() {
    let scratch = Scratch::new();
    let run = Running::assay(&scratch, LONG);
    let folder = samples_in_journal(&scratch, PER_LAUNCH + 1);
    // As a service manager stops all processes; the worker gets the signal first.
    let sent = wait_for(Duration::from_secs(10), || signalled(run.worker(), "TERM").then_some(()));
    assert!(sent.is_some(), "each worker was gone before the signal");
    signal(run.id(), "TERM");
    let ran = run.end();
    assert_eq!(ran.status, Some(143), "{ran:?}");
    assert_cut_off(&folder, PER_LAUNCH);
    assert_no_orphans();
}

#[test]
fn a_signal_at_any_moment_of_the_start_leaves_a_whole_document_or_nothing() {
    for milliseconds in [0, 5, 20, 80] {
        let scratch = Scratch::new();
        let run = Running::assay(&scratch, LONG);
        std::thread::sleep(Duration::from_millis(milliseconds));
        signal(run.id(), "INT");
        let output = run.output();
        // Before anything is made the default action of the signal may end the program.
        let ended = (output.status.code(), output.status.signal());
        assert!(matches!(ended, (Some(130), _) | (None, Some(2))), "after {milliseconds} ms: {ended:?}");
        for folder in stored_runs(&scratch) {
            assert_cut_off(&folder, 0);
        }
        assert_no_orphans();
    }
}

#[test]
fn a_killed_run_loads_with_every_sample_and_the_next_run_removes_what_it_left() {
    let scratch = Scratch::new();
    let run = Running::assay(&scratch, LONG);
    let folder = samples_in_journal(&scratch, 2 * PER_LAUNCH + 1);
    signal(run.id(), "KILL");
    run.output();
    assert_no_orphans();
    let taken = journalled(&folder);
    let document = printed(&succeed(&scratch, &format!("report {} --format json", folder.display())));
    check(&document);
    assert_eq!(document["run"]["complete"], false);
    assert_eq!(sample_count(&document), taken, "the journal has every sample");
    assert!(rows(&document).iter().any(is_verified));
    assert!(assay(&scratch, "runs").stdout.contains("interrupted"));
    let (unfinished, foreign) = (folder.join(".run.json.unfinished"), folder.join("notes"));
    std::fs::write(&unfinished, "{\"schema\": \"assay.ru").unwrap();
    std::fs::write(&foreign, "foreign").unwrap();
    succeed(&scratch, "cpu --op fma --type fp64 --isa scalar --threads 1 --repeat 1");
    assert!(!unfinished.exists(), "what the journal lists is removed");
    assert!(foreign.exists() && folder.join("run.json").exists(), "and nothing else");
    assert!(assay(&scratch, &format!("report {} --format text", folder.display())).stdout.contains("FMA"));
}

#[test]
fn a_killed_run_in_a_named_folder_is_cleaned_up_by_the_next_start_with_that_folder() {
    let scratch = Scratch::new();
    let (folder, test_file) = (scratch.join("out"), scratch.join(".assay-1-2.tmp"));
    let run = Running::assay(&scratch, &format!("{LONG} --out {}", folder.display()));
    let journal = folder.join("journal.jsonl");
    let text = || std::fs::read_to_string(&journal).unwrap_or_default();
    wait_for(Duration::from_secs(10), || text().contains("\"kind\":\"sample\"").then_some(())).expect("a sample");
    signal(run.id(), "KILL");
    run.output();
    let will_make = format!("{{\"kind\":\"will_make\",\"path\":\"{}\"}}\n", test_file.display());
    std::fs::write(&journal, will_make + &text()).unwrap();
    std::fs::write(&test_file, "").unwrap();
    let again = format!("cpu --op fma --type fp64 --isa scalar --threads 1 --repeat 1 --out {}", folder.display());
    let refused = assay(&scratch, &again);
    assert!(refusal(&refused).contains("--resume"), "{refused:?}");
    assert!(!test_file.exists() && folder.join("run.json").exists());
    // As after a kill before the first document.
    let before_samples: Vec<String> =
        text().split_inclusive('\n').filter(|line| line.contains("\"kind\":\"owner\"")).map(str::to_owned).collect();
    std::fs::write(&journal, before_samples.concat()).unwrap();
    std::fs::remove_file(folder.join("run.json")).unwrap();
    succeed(&scratch, &again);
    assert_eq!(document(&folder)["run"]["complete"], true);
}

#[test]
fn a_run_that_lives_is_not_swept() {
    let scratch = Scratch::new();
    let run = Running::assay(&scratch, LONG);
    let folder = samples_in_journal(&scratch, 1);
    succeed(&scratch, "cpu --op fma --type fp64 --isa scalar --threads 1 --repeat 1");
    assert_eq!(stored_runs(&scratch).len(), 2);
    assert!(folder.join("journal.jsonl").exists());
    signal(run.id(), "INT");
    assert_eq!(run.end().status, Some(130));
    assert_cut_off(&folder, 1);
}

#[test]
fn a_worker_that_is_killed_is_a_failed_row_and_no_more() {
    let scratch = Scratch::new();
    let run = Running::assay(&scratch, &one_launch(&scratch, "\"fp64\", \"fp32\"", 4));
    let folder = samples_in_journal(&scratch, 1);
    signal(run.worker(), "ILL");
    let ran = run.end();
    assert_eq!(ran.status, Some(1), "{ran:?}");
    let document = document(&folder);
    check(&document);
    let (failed, fine): (Vec<_>, Vec<_>) = rows(&document).iter().partition(|row| row["status"] == "failed");
    assert_eq!((failed.len(), fine.len()), (1, 1), "{ran:?}");
    assert!(text(failed[0], "reason").contains("SIGILL"), "{:#}", failed[0]);
    assert!(is_verified(fine[0]) && samples(fine[0]).len() == 4, "{:#}", fine[0]);
    assert_eq!(document["run"]["complete"], true);
    assert_eq!(left_in(&folder), ["journal.jsonl", "run.json"]);
    assert!(ran.stderr.contains("SIGILL"), "the progress says why: {ran:?}");
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
fn without_any_place_for_the_store_the_sentence_says_what_to_do() {
    let scratch = Scratch::new();
    let mut command = command(&scratch, ["cpu", "--repeat", "1"]);
    let ran = command.env_remove("ASSAY_STORE").output().unwrap().into();
    assert!(refusal(&ran).contains("--out"));
}
