//! `assay compare --live`: two sides measured alternately, the commands that switch between them, and cleanup after trouble.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use crate::common::{Scratch, command, list, names, number, printed, program, ran, refusal, text};
use crate::system::cgroup::Cgroup;
use crate::system::process::{Running, reacting, signal, wait_for};

/// A row that is measured in a fifth of a second.
const ROW: &str = "cpu --op fma --type fp64 --isa scalar --threads 1";

fn live(scratch: &Scratch, sides: [&str; 2], more: &[&str]) -> Command {
    command(scratch, ["compare", "--live", sides[0], sides[1]].iter().chain(more))
}

/// Asserts that nothing of a comparison stays in the store.
fn assert_nothing_left(scratch: &Scratch) {
    let store = scratch.join("store");
    if store.exists() {
        assert_eq!(names(&store), [""; 0]);
    }
}

/// A shell command that appends a letter to a file.
fn writes(letter: &str, file: &Path) -> String {
    format!("printf {letter} >> '{}'", file.display())
}

/// Asserts that every row of a comparison keeps the contract.
fn assert_is_comparison(value: &Value) {
    assert_eq!(value["schema"], "assay.compare/1");
    assert!(["changed", "same", "inconclusive"].contains(&text(value, "verdict")));
    for row in list(value, "experiments") {
        assert!(["changed", "same", "inconclusive"].contains(&text(row, "verdict")), "{row:#}");
        assert_eq!(row["direction"].is_null(), row["verdict"] != "changed", "{row:#}");
        assert!(number(row, "ratio") > 0.0 && number(row, "threshold") >= 0.02, "{row:#}");
        assert_eq!(number(row, "n_base").to_bits(), number(row, "n_new").to_bits(), "pairs have two halves");
    }
}

#[test]
fn a_side_against_itself_is_compared_over_pairs_switched_at_every_change_and_leaves_nothing() {
    let scratch = Scratch::new();
    let file = scratch.join("sides");
    let (a, b) = (writes("A", &file), writes("B", &file));
    let found = ran(live(&scratch, [ROW, ROW], &["--pairs", "6", "--json", "--switch-a", &a, "--switch-b", &b]));
    let value = printed(&found);
    assert_is_comparison(&value);
    let row = &list(&value, "experiments")[0];
    assert_eq!((text(row, "id"), text(row, "units")), ("cpu/fma/fp64/scalar/t1", "pairs"));
    assert!((number(row, "n_base") - 6.0).abs() < 1e-9 && value["live"] == true);
    let [low, high] = [&row["ratio_ci95"][0], &row["ratio_ci95"][1]].map(|bound| bound.as_f64().unwrap());
    assert!(low <= number(row, "ratio") && number(row, "ratio") <= high, "{row:#}");
    assert!(row["per_cycle"]["ratio"].is_number(), "a cpu row knows its clock: {row:#}");
    assert!([Some(0), Some(1), Some(3)].contains(&found.status), "{found:?}");
    let sides = std::fs::read_to_string(&file).unwrap();
    assert!(sides.ends_with('A') && sides.matches('B').count() >= 2, "{sides}");
    assert!(!sides.contains("AA") && !sides.contains("BB"), "switched only where the side changes: {sides}");
    assert_nothing_left(&scratch);
}

#[test]
fn two_programs_or_experiments_are_compared_by_their_place() {
    let scratch = Scratch::new();
    let other = format!("{} cpu --op fma --type fp32 --isa scalar --threads 1", program().display());
    let value = printed(&ran(live(&scratch, [ROW, &other], &["--pairs", "2", "--json"])));
    assert_is_comparison(&value);
    let row = &list(&value, "experiments")[0];
    assert_eq!((text(row, "id"), text(row, "id_new")), ("cpu/fma/fp64/scalar/t1", "cpu/fma/fp32/scalar/t1"));
    assert!(row["ratio_ci95"].is_null() && row["verdict"] == "inconclusive", "two pairs are too few: {row:#}");
}

#[test]
fn a_switch_that_fails_later_loses_no_pair() {
    let scratch = Scratch::new();
    let file = scratch.join("sides");
    // It works for at most the first four pairs.
    let b = format!("test $(cat '{0}' 2>/dev/null | wc -c) -lt 3 && {1}", file.display(), writes("B", &file));
    let found = ran(live(&scratch, [ROW, ROW], &["--pairs", "30", "--json", "--switch-a", "true", "--switch-b", &b]));
    assert_eq!(found.status, Some(2), "{found:?}");
    assert!(number(&list(&printed(&found), "experiments")[0], "n_base") >= 2.0);
    assert!(found.stderr.contains("switches to B"), "{found:?}");
}

#[test]
fn an_interrupted_comparison_shows_what_it_has_and_restores_side_a() {
    let scratch = Scratch::new();
    let file = scratch.join("sides");
    let (a, b) = (writes("A", &file), writes("B", &file));
    let command = live(&scratch, [ROW, ROW], &["--pairs", "500", "--json", "--switch-a", &a, "--switch-b", &b]);
    let run = Running::read(reacting(&command));
    let sides = || std::fs::read_to_string(&file).unwrap_or_default();
    wait_for(Duration::from_secs(60), || (sides().len() >= 3 && sides().ends_with('B')).then_some(())).unwrap();
    signal(run.id(), "INT");
    let found = run.end();
    assert_eq!(found.status, Some(130), "{found:?}");
    assert_is_comparison(&printed(&found));
    assert!(sides().ends_with('A'), "{}", sides());
    assert_nothing_left(&scratch);
}

#[test]
fn a_quota_that_is_switched_on_and_off_is_found_and_named() {
    let Some(group) = Cgroup::make("a switched quota", "cpu") else { return };
    let scratch = Scratch::new();
    // With precedence over other processes, only the quota stops the group's processes.
    group.put_first();
    let [on, off] = group.quota_commands();
    let mut command = group.assay(&scratch, "compare --live --pairs 8 --json");
    command.args(["--switch-a", &off, "--switch-b", &on, ROW, ROW]);
    let found = ran(command);
    let value = printed(&found);
    assert_is_comparison(&value);
    let row = &list(&value, "experiments")[0];
    assert_eq!((text(row, "verdict"), text(row, "direction"), found.status), ("changed", "worse", Some(1)), "{row:#}");
    assert!(text(row, "explanation").contains("quota"), "{row:#}");
}

#[test]
fn what_cannot_be_compared_live_is_refused() {
    let scratch = Scratch::new();
    for (sides, more, expected) in [
        ([ROW, "/bin/true cpu"], vec![], "stored no run"),
        ([ROW, "/bin/sh -c 'echo broken >&2; exit 2'"], vec![], "failed"),
        ([ROW, "memory --op read --threads 1 --filter no/such/row"], vec![], "no benchmark matches"),
        (
            [ROW, "cpu --op fma --type fp32,fp64 --isa scalar --threads 1 --filter 'cpu/fma/fp32/*/*'"],
            vec!["--switch-a", "exit 7"],
            "exit status: 7",
        ),
    ] {
        let found = ran(live(&scratch, sides, &more));
        let sentence = refusal(&found);
        assert!(sentence.contains(expected), "{sides:?}: {sentence}");
        assert_nothing_left(&scratch);
    }
    let found = ran(command(&scratch, ["compare", "--switch-b", "true", "a", "b"]));
    assert_eq!(found.status, Some(2), "switch commands are for --live: {found:?}");
}
