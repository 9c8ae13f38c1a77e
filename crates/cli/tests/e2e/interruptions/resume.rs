//! `--resume`: runs that were cut off continue, and end as if nothing had happened.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

use crate::common::{
    Scratch, assay, check, command, document, ids, is_verified, left_in, list, names, number, one_launch, printed, ran,
    refusal, rows, samples, skip, stored_runs, succeed, suite, text,
};
use crate::disk::support;
use crate::references::support::{SEARCH_PATH, assert_measured, brief_rows};
use crate::system::process::{Running, assert_no_orphans, has, reacting, samples_in_journal, signal, wait_for};

/// A suite of five rows of two areas, each of six samples from three process runs.
const SUITE: &str = r#"
name = "tiny"
sampling.cpu = { samples = 6, per_launch = 2, sample = "40ms", warm_up = ["1ms", "2ms"] }
sampling.memory = { samples = 6, per_launch = 2, sample = "40ms", warm_up = ["1ms", "2ms"] }
cpu = [{ op = "fma", type = ["fp64", "fp32"], isa = ["scalar", "vector"], threads = ["1"] }]
memory = [{ pattern = "chase", op = ["load"], working_set = "1MiB", threads = ["1"] }]
"#;

/// Samples of a finished row.
const SAMPLES: usize = 6;

/// The samples of all rows by process run and value: they never change.
fn values(document: &Value) -> Vec<(String, u64, f64)> {
    let of = |row: &Value| -> Vec<(String, u64, f64)> {
        let id = text(row, "id").to_owned();
        let value = |sample: &Value| (id.clone(), sample["launch"].as_u64().unwrap(), number(sample, "value"));
        samples(row).iter().map(value).collect()
    };
    rows(document).iter().flat_map(of).collect()
}

/// The checked document of a run that was cut off.
fn shown(scratch: &Scratch, folder: &Path) -> Value {
    let shown = printed(&assay(scratch, &format!("report {} --format json", folder.display())));
    check(&shown);
    shown
}

/// Asserts that a run that was resumed N times is whole: every row once, with all samples from `before`, later ones from
/// other process runs, and a histogram of this many rows.
#[track_caller]
fn assert_whole(folder: &Path, before: &Value, times: usize, rows_with_histograms: usize) {
    let whole = document(folder);
    check(&whole);
    assert_eq!(whole["run"]["complete"], true);
    assert_eq!(ids(&whole), ids(before), "the same rows in the same order");
    for row in rows(&whole) {
        assert!(is_verified(row) && samples(row).len() == SAMPLES, "{row:#}");
    }
    let (now, then) = (values(&whole), values(before));
    assert!(then.iter().all(|value| now.contains(value)), "{then:?} before, {now:?} now");
    let resumed = list(&whole["run"], "resumed");
    assert_eq!(resumed.len(), times, "{resumed:?}");
    let at = number(resumed.last().unwrap(), "at_seconds");
    for sample in rows(&whole).iter().flat_map(samples) {
        let launch = sample["launch"].as_u64().unwrap();
        let is_new = !then.iter().any(|(_, old, _)| *old == launch);
        assert_eq!(number(sample, "start") >= at, is_new, "{sample:#}");
    }
    let of_both = then.iter().map(|(_, launch, _)| launch).max();
    let new = now.iter().filter(|value| !then.contains(value));
    assert!(new.map(|(_, launch, _)| Some(launch)).all(|launch| launch > of_both), "process runs are counted on");
    let kept = if rows_with_histograms > 0 { &["histograms", "run.json"][..] } else { &["run.json"] };
    assert_eq!(left_in(folder), kept, "nothing is left of the journal");
    assert_histograms_are_whole(folder, rows_with_histograms);
    assert!(folder.join("report.html").exists());
    assert_no_orphans();
}

#[test]
fn an_interrupted_run_goes_on_and_ends_whole() {
    let scratch = Scratch::new();
    let run = Running::assay(&scratch, &suite(&scratch, SUITE));
    let folder = samples_in_journal(&scratch, 5);
    signal(run.id(), "INT");
    assert_eq!(run.end().status, Some(130));
    let before = document(&folder);
    assert_eq!(before["run"]["complete"], false);
    // The suite's file may change: the run keeps what it was asked.
    suite(&scratch, "name = 5");
    let name = folder.file_name().unwrap().to_str().unwrap();
    let ran = assay(&scratch, &format!("run tiny --resume {name}"));
    assert_eq!(ran.status, Some(0), "{ran:?}");
    assert!(ran.stderr.contains("of 5 benchmarks are left"), "{ran:?}");
    assert_whole(&folder, &before, 1, 0);
    assert_eq!(stored_runs(&scratch).len(), 1, "it is the same run");
    let sentence = refusal(&assay(&scratch, &format!("run --resume {name}"))).to_owned();
    assert!(sentence.contains("is complete"), "{sentence}");
}

#[test]
fn a_run_that_is_killed_at_any_moment_goes_on_and_so_does_one_that_is_killed_again() {
    let (first, second) = (4, 23);
    let scratch = Scratch::new();
    let run = Running::assay(&scratch, &suite(&scratch, SUITE));
    let folder = samples_in_journal(&scratch, first);
    signal(run.id(), "KILL");
    run.end();
    let before = shown(&scratch, &folder);
    let again = Running::assay(&scratch, &format!("run --resume {}", folder.display()));
    samples_in_journal(&scratch, second);
    signal(again.id(), "KILL");
    again.end();
    let between = shown(&scratch, &folder);
    let (now, then) = (values(&between), values(&before));
    assert!(then.iter().all(|value| now.contains(value)) && now.len() >= second, "{then:?} before, {now:?} now");
    let ran = assay(&scratch, &format!("--resume {} --quiet", folder.join("run.json").display()));
    assert_eq!((ran.status, ran.stderr.as_str()), (Some(0), ""), "{ran:?}");
    assert_whole(&folder, &between, 2, 0);
}

/// Starts a run, kills it once it has N samples, and resumes it: its folder, and the document in between.
#[track_caller]
fn killed_and_gone_on(scratch: &Scratch, arguments: &str, first: usize) -> (PathBuf, Value) {
    let with_tools = |arguments: &str| {
        let mut command = command(scratch, arguments.split_whitespace());
        command.env("PATH", SEARCH_PATH);
        command
    };
    let run = Running::read(reacting(&with_tools(arguments)));
    let folder = samples_in_journal(scratch, first);
    signal(run.id(), "KILL");
    run.end();
    let between = shown(scratch, &folder);
    assert_eq!(between["run"]["complete"], false);
    let ran = ran(with_tools(&format!("run --resume {}", folder.display())));
    assert_eq!(ran.status, Some(0), "{ran:?}");
    (folder, between)
}

/// Asserts that the histogram of every row with percentiles has each sample once.
#[track_caller]
fn assert_histograms_are_whole(folder: &Path, rows_with_histograms: usize) {
    let whole = document(folder);
    let is_kept = |row: &&Value| list(row, "metrics").iter().any(|metric| !metric["summary"]["percentiles"].is_null());
    let kept: Vec<&Value> = rows(&whole).iter().filter(is_kept).collect();
    assert_eq!(kept.len(), rows_with_histograms, "{kept:#?}");
    for row in kept {
        let path = folder.join("histograms").join(format!("{}.hlog", text(row, "id").replace('/', "_")));
        let content = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let is_interval = |line: &&str| line.starts_with(|first: char| first.is_ascii_digit());
        assert_eq!(content.lines().filter(is_interval).count(), SAMPLES, "{content}");
    }
}

#[test]
fn network_rows_go_on_after_a_kill_with_their_histograms() {
    let scratch = Scratch::new();
    let text = r#"
name = "net"
sampling.net = { samples = 6, per_launch = 2, sample = "60ms", warm_up = ["10ms", "20ms"] }
net = [
    { protocol = ["tcp", "udp"], mode = "pingpong", block = ["14B"], threads = ["1"] },
    { protocol = ["tcp"], mode = "stream", block = ["128KiB"], threads = ["1"] },
]
"#;
    let arguments = format!("{} --repeat 6", suite(&scratch, text));
    let (folder, between) = killed_and_gone_on(&scratch, &arguments, 8);
    assert_whole(&folder, &between, 1, 2);
}

#[test]
fn disk_rows_go_on_after_a_kill_with_their_histograms_and_leave_no_file() {
    let scratch = Scratch::new();
    let Some(directory) = support::directory(&scratch, "resumed disk rows") else { return };
    let text = r#"
name = "disk"
sampling.disk = { samples = 6, per_launch = 2, sample = "60ms", warm_up = ["10ms", "20ms"] }
disk = [{ pattern = "random", op = ["read", "write"], block = ["4KiB"], depth = [4], size = "16MiB", threads = ["1"] }]
"#;
    let arguments = format!("{} --repeat 6 --dir {}", suite(&scratch, text), directory.display());
    let (folder, between) = killed_and_gone_on(&scratch, &arguments, 5);
    assert_whole(&folder, &between, 1, 2);
    assert_eq!(names(&directory), [""; 0], "nothing is left where it measured");
}

#[test]
fn a_row_with_a_tool_resumes_in_pairs_after_a_kill() {
    if !has("likwid-bench") {
        return skip("a resumed row with likwid-bench", "it is not installed");
    }
    let scratch = Scratch::new();
    let arguments = format!("{} --repeat 6", brief_rows(&scratch, "cpu/**", "likwid-bench"));
    let (folder, between) = killed_and_gone_on(&scratch, &arguments, 3);
    let whole = document(&folder);
    check(&whole);
    let [row] = rows(&whole) else { panic!("{whole:#}") };
    assert_measured(&scratch, row, SAMPLES);
    let (now, then) = (values(&whole), values(&between));
    // A pair counts whole or not at all: the last sample goes if the tool's side was cut off.
    let whole_pairs = &then[..then.len() - 1];
    assert!(!whole_pairs.is_empty() && whole_pairs.iter().all(|value| now.contains(value)), "{then:?}, now {now:?}");
    assert_eq!((&whole["run"]["complete"], left_in(&folder)), (&json!(true), vec!["raw".into(), "run.json".into()]));
    assert_no_orphans();
}

#[test]
fn a_run_that_is_killed_before_its_first_sample_goes_on() {
    let scratch = Scratch::new();
    let run = Running::assay(&scratch, &suite(&scratch, SUITE));
    let folder = wait_for(Duration::from_secs(10), || {
        stored_runs(&scratch).pop().filter(|folder| folder.join("run.json").exists())
    });
    let folder = folder.expect("a document");
    signal(run.id(), "KILL");
    run.end();
    let before = shown(&scratch, &folder);
    assert_eq!(assay(&scratch, &format!("run --resume {}", folder.display())).status, Some(0));
    assert_whole(&folder, &before, 1, 0);
}

#[test]
fn rows_that_there_was_no_time_for_are_measured_when_it_goes_on() {
    let scratch = Scratch::new();
    let ran = assay(&scratch, &format!("{} --time-budget 400ms", suite(&scratch, SUITE)));
    assert_eq!(ran.status, Some(0), "{ran:?}");
    let folder = stored_runs(&scratch).remove(0);
    let before = document(&folder);
    assert!(rows(&before).iter().any(|row| row["reason"] == "time_budget"), "{before:#}");
    let brief = assay(&scratch, &format!("run --resume {} --time-budget 1ms", folder.display()));
    assert_eq!(brief.status, Some(0), "the time limit can be changed: {brief:?}");
    assert_eq!(values(&document(&folder)), values(&before));
    let ran = assay(&scratch, &format!("run --resume {} --json -", folder.display()));
    assert_eq!(ran.status, Some(0), "{ran:?}");
    assert_eq!(printed(&ran), document(&folder), "nothing but the document is printed");
    assert_whole(&folder, &before, 2, 0);
}

#[test]
fn a_failed_row_is_tried_again_only_where_it_is_asked_for() {
    let scratch = Scratch::new();
    let run = Running::assay(&scratch, &one_launch(&scratch, "\"fp64\", \"fp32\"", 6));
    let folder = samples_in_journal(&scratch, 1);
    signal(run.worker(), "KILL");
    assert_eq!(run.end().status, Some(1));
    let (name, before) = (folder.display(), document(&folder));
    let sentence = refusal(&assay(&scratch, &format!("run --resume {name}"))).to_owned();
    assert!(sentence.contains("--retry-failed"), "{sentence}");
    let ran = assay(&scratch, &format!("run --resume {name} --retry-failed"));
    assert_eq!(ran.status, Some(0), "{ran:?}");
    assert_whole(&folder, &before, 1, 0);
}

#[test]
fn a_run_that_lives_is_not_resumed_and_a_killed_one_under_the_name_of_its_suite_only() {
    let scratch = Scratch::new();
    let run = Running::assay(&scratch, &suite(&scratch, SUITE));
    let folder = samples_in_journal(&scratch, 3);
    let resume = format!("run --resume {}", folder.display());
    let alive = refusal(&assay(&scratch, &resume)).to_owned();
    assert!(alive.contains(&format!("process {} still", run.id())), "{alive}");
    signal(run.id(), "KILL");
    run.end();
    let other = refusal(&assay(&scratch, &format!("memory --resume {}", folder.display()))).to_owned();
    assert!(other.contains("'tiny'") && other.contains("'memory'"), "{other}");
    succeed(&scratch, &resume);
}
