//! `assay cluster report` and `status`: every format of a measured plan, unfinished plans, files that cannot be read or
//! written. All nodes are this host.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::cluster::run::{SYSTEM, plan, run};
use crate::common::{Ran, Scratch, command, is_root, list, names, printed, ran, refusal, root, skip, text};
use crate::schema::defects;
use crate::system::mounts::{ReadOnly, Tmpfs};

/// The files of a report, sorted.
const FILES: [&str; 7] =
    ["cluster.json", "cluster.prom", "drain.txt", "index.html", "junit.xml", "summary.md", "values.csv"];

fn cluster(scratch: &Scratch, word: &str, folder: &Path, options: &str) -> Ran {
    let mut words = vec!["cluster", word, folder.to_str().unwrap()];
    words.extend(options.split_whitespace());
    ran(command(scratch, words))
}

fn drain(scratch: &Scratch, folder: &Path) {
    let ran = ran(run(scratch, folder, "--launcher here --no-confirm", SYSTEM));
    assert_eq!(ran.status, Some(0), "{ran:?}");
}

fn report(scratch: &Scratch, folder: &Path, options: &str) -> Ran {
    let ran = cluster(scratch, "report", folder, options);
    assert_eq!((ran.status, ran.stderr.as_str()), (Some(0), ""), "{ran:?}");
    ran
}

/// A cluster's document, checked against the committed schema.
#[track_caller]
fn checked(document: &str) -> Value {
    let document: Value = serde_json::from_str(document).unwrap();
    let schema = fs::read_to_string(root().join("schema/cluster-v1.json")).unwrap();
    let schema = serde_json::from_str(&schema).unwrap();
    assert_eq!(defects(&schema, &document), Vec::<String>::new());
    let mut wrong = document.clone();
    wrong["nodes"][0]["standing"] = "splendid".into();
    assert!(!defects(&schema, &wrong).is_empty(), "what is wrong would be seen");
    document
}

#[test]
fn every_form_of_a_measured_plan() {
    let scratch = Scratch::new();
    let folder = plan(&scratch, "n1,n2");
    drain(&scratch, &folder);
    // As if another version had measured.
    let path = folder.join("plan.json");
    let mut made: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    made["program"]["version"] = "9.9.9".into();
    fs::write(&path, made.to_string()).unwrap();
    let ran = report(&scratch, &folder, "");
    let place = folder.join("report");
    assert!(ran.stdout.contains("2 nodes") && ran.stdout.ends_with("report/index.html\n"), "{ran:?}");
    assert_eq!(names(&place), FILES);
    let [json, prometheus, drain, page, junit, summary, csv] =
        FILES.map(|file| fs::read_to_string(place.join(file)).unwrap());
    let document = checked(&json);
    assert_eq!(
        (text(&document["assay"], "version"), text(&document["plan"]["program"], "version")),
        (env!("CARGO_PKG_VERSION"), "9.9.9")
    );
    assert_eq!(document["assay"]["argv"][2], "report");
    assert_eq!((&document["plan"]["tasks"], &document["plan"]["ok"]), (&2.into(), &2.into()));
    let values = list(&list(&document, "distributions")[0], "values");
    assert_eq!((list(&document, "nodes").len(), values.len()), (2, 2));
    let lines: Vec<&str> = csv.lines().collect();
    assert!(lines[0].starts_with("node,state,standing,group,area,") && lines.len() == 3, "{csv}");
    assert!(lines[1..].iter().all(|line| line.contains(",cpu,cpu/fma/fp64/scalar/t1,throughput,flop/s,higher,1,")));
    assert!(junit.contains("<testsuite name=\"cpu\" tests=\"2\""), "{junit}");
    let attempts = "assay_cluster_node_failed_attempts{node=\"n1\",plan=\"the plan\",";
    assert!(prometheus.contains(attempts) && summary.starts_with("# Assay: the plan\n"), "{prometheus}{summary}");
    let verdict = ["--fail-on-slow", ""].map(|option| cluster(&scratch, "report", &folder, option).status);
    assert!(ran.stdout.contains("Verdict: inconclusive") && verdict == [Some(3), Some(0)], "{verdict:?}");
    assert!(drain.lines().all(|line| ["n1", "n2"].contains(&line)), "{drain}");
    assert!(page.starts_with("<!DOCTYPE html>") && page.trim_end().ends_with("</html>"));
    assert!(page.contains("measured by Assay 9.9.9"));
    // Each format alone equals its file, except for the command line in the document.
    for (form, file) in [("csv", &csv), ("junit", &junit), ("drain", &drain)] {
        assert_eq!(&report(&scratch, &folder, &format!("--format {form}")).stdout, file, "{form}");
    }
    assert_eq!(checked(&report(&scratch, &folder, "--format json -o -").stdout)["nodes"], document["nodes"]);
    // In a file text is plain, whatever the terminal can show.
    for (form, wanted) in [("terminal", "2 nodes"), ("html", "</html>\n")] {
        let elsewhere = scratch.join(form);
        let ran = report(&scratch, &folder, &format!("--format {form} -o {}", elsewhere.display()));
        let written = fs::read_to_string(elsewhere).unwrap();
        assert!(ran.stdout.is_empty() && written.contains(wanted), "{ran:?}");
        assert!(form == "html" || written.is_ascii(), "{written}");
    }
}

fn changed(path: &Path, change: impl FnOnce(&mut Value)) {
    let mut document = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    change(&mut document);
    fs::write(path, document.to_string()).unwrap();
}

#[test]
fn nodes_are_held_against_an_earlier_plan() {
    let scratch = Scratch::new();
    let earlier = plan(&scratch, "n1,n2");
    drain(&scratch, &earlier);
    let folder = scratch.join("present");
    assert!(Command::new("cp").arg("-r").args([&earlier, &folder]).status().unwrap().success());
    changed(&earlier.join("plan.json"), |plan| plan["created"] = "2026-01-31T12:00:00Z".into());
    // Twice the speed, with intervals, which so few samples lack.
    for (folder, node, rate) in
        [(&earlier, "n1", 2e9), (&earlier, "n2", 2e9), (&folder, "n1", 1e9), (&folder, "n2", 1e9)]
    {
        changed(&folder.join("done").join(node).join("cpu/run/run.json"), |run| {
            let row = &mut run["experiments"][0];
            row["confidence"] = "high".into();
            let summary = &mut row["metrics"][0]["summary"];
            (summary["median"], summary["undisturbed"]) = (rate.into(), Value::Null);
            summary["ci95"] = vec![0.99 * rate, 1.01 * rate].into();
        });
    }
    let with = |earlier: &Path, options: &str| {
        let mut words = vec!["cluster", "report", folder.to_str().unwrap(), "--history", earlier.to_str().unwrap()];
        words.extend(options.split_whitespace());
        ran(command(&scratch, words))
    };
    let shown = with(&earlier, "");
    let lines = shown.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        shown.status == Some(0) && lines.contains("2 of 2 nodes are slower than in 'the plan': n1 and n2"),
        "{shown:?}"
    );
    assert!(lines.contains("50.0 % of the earlier speed"), "{shown:?}");
    let document = checked(&fs::read_to_string(folder.join("report/cluster.json")).unwrap());
    assert_eq!(document["history"]["compared"], 2);
    assert_eq!(document["history"]["slower"][0]["experiment"], "cpu/fma/fp64/scalar/t1");
    let codes: Vec<&str> = list(&document, "problems").iter().map(|problem| text(problem, "code")).collect();
    assert_eq!(codes.iter().filter(|code| **code == "slower_than_before").count(), 2, "{codes:?}");
    assert!(fs::read_to_string(folder.join("report/index.html")).unwrap().contains("Slower than before"));
    assert_eq!(with(&earlier, "--fail-below").status, Some(1));
    let nowhere = scratch.join("nothing");
    assert!(refusal(&with(&nowhere, "")).contains("has no plan. Choose the folder of an earlier plan"));
    fs::rename(earlier.join("done"), earlier.join("gone")).unwrap();
    let empty = with(&earlier, "--format terminal");
    assert!(empty.status == Some(0) && empty.stdout.contains("has no results"), "{empty:?}");
}

#[test]
fn a_plan_that_is_not_done_says_how_far_it_is() {
    let scratch = Scratch::new();
    let folder = plan(&scratch, "n1,n2");
    let state = || printed(&cluster(&scratch, "status", &folder, "--json"));
    assert_eq!((&state()["tasks"]["waiting"], &state()["tasks"]["done"]), (&2.into(), &0.into()));
    let page = report(&scratch, &folder, "");
    assert!(page.stdout.contains("Nothing was measured yet"), "{page:?}");
    let agent = command(&scratch, ["agent", "--plan", folder.to_str().unwrap(), "--node", "n1"]).output().unwrap();
    assert!(agent.status.success(), "{agent:?}");
    let (half, shown) = (state(), cluster(&scratch, "status", &folder, ""));
    assert_eq!((&half["tasks"]["waiting"], &half["tasks"]["done"]), (&1.into(), &1.into()));
    let states: Vec<&str> = list(&half, "nodes").iter().map(|node| text(node, "state")).collect();
    assert!(states.contains(&"done") && states.contains(&"waiting"), "{half}");
    assert!(shown.status == Some(0) && shown.stdout.contains("1 of 2 tasks finished"), "{shown:?}");
    let document = checked(&report(&scratch, &folder, "--format json").stdout);
    assert_eq!((&document["plan"]["ok"], &document["plan"]["left"]), (&1.into(), &1.into()));
    drain(&scratch, &folder);
    let watched = cluster(&scratch, "status", &folder, "--watch --poll 100ms");
    assert!(watched.status == Some(0) && watched.stdout.contains("Z 2 of 2 tasks finished"), "{watched:?}");
}

#[test]
fn what_is_no_plan_is_refused() {
    let scratch = Scratch::new();
    let folder = plan(&scratch, "n1");
    for word in ["report", "status"] {
        for nowhere in [scratch.join("nothing"), scratch.path().to_owned(), scratch.join("tiny.toml")] {
            let ran = cluster(&scratch, word, &nowhere, "");
            let sentence = refusal(&ran);
            assert!(sentence.contains(nowhere.to_str().unwrap()), "{word}: {sentence}");
        }
    }
    for (garbage, why) in [("", "cannot read the plan"), ("{\"schema\": []}", "cannot read the plan")] {
        let path = folder.join("plan.json");
        let whole = fs::read(&path).unwrap();
        fs::write(&path, garbage).unwrap();
        for word in ["report", "status"] {
            let ran = cluster(&scratch, word, &folder, "");
            assert!(refusal(&ran).contains(why), "{word}: {ran:?}");
        }
        fs::write(&path, whole).unwrap();
    }
    for (options, why) in [("--format papyrus", "papyrus"), ("-o page.html", "--format"), ("--watch", "--watch")] {
        let ran = cluster(&scratch, "report", &folder, options);
        assert!(refusal(&ran).contains(why), "{ran:?}");
    }
    assert!(!folder.join("report").exists(), "nothing was written");
}

#[test]
fn a_report_that_cannot_be_written_is_still_shown() {
    if !is_root() {
        return skip("reports on full and read-only folders", "mounting needs the superuser");
    }
    let scratch = Scratch::new();
    let folder = plan(&scratch, "n1");
    let refused_for = |why: &str| {
        let ran = cluster(&scratch, "report", &folder, "");
        assert!(ran.status == Some(2) && ran.stdout.contains("Nothing was measured yet"), "{ran:?}");
        assert!(ran.stderr.contains(why) && ran.stderr.contains("--format FORMAT -o FILE"), "{ran:?}");
    };
    {
        let Some(_mounted) = ReadOnly::mount("reports on full and read-only folders", &folder) else { return };
        refused_for("Read-only");
        let file = folder.join("values.csv");
        let words = ["cluster", "report", folder.to_str().unwrap(), "--format", "csv", "-o", file.to_str().unwrap()];
        let ran = ran(command(&scratch, words));
        assert!(refusal(&ran).contains("values.csv") && ran.stderr.contains("Read-only"), "{ran:?}");
    }
    let Some(small) = Tmpfs::mount("a report on a full folder", folder.join("report"), "size=8k") else { return };
    refused_for("No space left");
    assert!(!names(small.path()).iter().any(|name| name.contains("html")), "no part of a page stays");
    drop(small);
    assert!(report(&scratch, &folder, "").stdout.ends_with("report/index.html\n"), "with room again it is written");
}
