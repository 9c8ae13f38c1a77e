//! Plans and the agents that do their tasks, with this host as each node.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;

use crate::common::{Ran, Scratch, assay, check, document, is_root, names, refusal, skip, text};
use crate::system::mounts::{ReadOnly, Tmpfs};
use crate::system::process::{Running, assert_no_orphans, signal};

/// A suite of two areas, a fraction of a second each.
const SUITE: &str = r#"
name = "tiny"
sampling.cpu = { samples = 3, per_launch = 1, sample = "30ms", warm_up = ["1ms", "2ms"] }
sampling.memory = { samples = 3, per_launch = 1, sample = "30ms", warm_up = ["1ms", "2ms"] }
cpu = [{ op = "fma", type = ["fp64"], isa = ["scalar"], threads = ["1"] }]
memory = [{ pattern = "chase", op = ["load"], working_set = "1MiB", threads = ["1"] }]
"#;

const TASKS: [&str; 2] = ["cpu", "memory"];

fn plan(scratch: &Scratch, nodes: &[&str], folder: &Path, options: &str) -> Ran {
    let (suite, hosts) = (scratch.join("tiny.toml"), scratch.join("hosts"));
    fs::write(&suite, SUITE).unwrap();
    fs::write(&hosts, nodes.join("\n")).unwrap();
    let (suite, hosts, folder) = (suite.display(), hosts.display(), folder.display());
    assay(scratch, &format!("cluster plan --hosts {hosts} --suite {suite} {options} {folder}"))
}

fn made(scratch: &Scratch, nodes: &[&str]) -> PathBuf {
    let folder = scratch.join("plan");
    let ran = plan(scratch, nodes, &folder, "--lease 20s");
    assert_eq!((ran.status, ran.stderr.as_str()), (Some(0), ""), "{ran:?}");
    folder
}

fn agent(scratch: &Scratch, folder: &Path, node: &str) -> Ran {
    assay(scratch, &format!("agent --plan {} --node {node}", folder.display()))
}

/// What is wrong with a plan that should be finished: tasks that are not done exactly once, and leftovers.
fn defects(folder: &Path, nodes: &[&str]) -> Vec<String> {
    let mut defects = Vec::new();
    let mut claims = std::collections::BTreeSet::new();
    let there = |state: &str, node: &str| {
        let path = folder.join(state).join(node);
        if path.exists() { names(&path) } else { Vec::new() }
    };
    for node in nodes {
        if there("done", node) != TASKS {
            defects.push(format!("done on {node}: {:?}", there("done", node)));
        }
        for task in there("done", node) {
            let path = folder.join("done").join(node).join(&task);
            let outcome: Value = serde_json::from_slice(&fs::read(path.join("outcome.json")).unwrap()).unwrap();
            if outcome["status"] != "ok" || !claims.insert(text(&outcome["claim"], "id").to_owned()) {
                defects.push(format!("{node} {task}: {outcome}"));
            }
            let document = document(&path.join("run"));
            check(&document);
            if document["run"]["complete"] != true || document["run"]["suite"] != "tiny" {
                defects.push(format!("{node} {task}: {}", document["run"]));
            }
        }
        for (state, expected) in [("waiting", &[".node.json"][..]), ("running", &[]), ("work", &[])] {
            if there(state, node) != expected {
                defects.push(format!("{state} on {node}: {:?}", there(state, node)));
            }
        }
    }
    defects
}

#[test]
fn a_plan_is_drained() {
    let scratch = Scratch::new();
    let nodes = ["n1"];
    let dry = plan(&scratch, &nodes, &scratch.join("plan"), "--dry-run");
    assert!(dry.status == Some(0) && dry.stdout.contains("nodes  1\ntasks  2, per node: cpu "), "{dry:?}");
    assert!(!scratch.join("plan").exists(), "a dry run writes nothing");
    let folder = made(&scratch, &nodes);
    assert_eq!(defects(&folder, &nodes).len(), 2, "nothing is done yet, and all of it waits");
    let ran = agent(&scratch, &folder, "n1");
    assert_eq!((ran.status, ran.stdout.as_str()), (Some(0), ""), "{ran:?}");
    assert!(ran.stderr.contains("2 tasks ended, 0 attempts failed, 0 tasks left"), "{ran:?}");
    assert_eq!(defects(&folder, &nodes), Vec::<String>::new());
    assert!(agent(&scratch, &folder, "n1").stderr.contains("0 tasks ended"), "again there is nothing to do");
    fs::rename(folder.join("done/n1/cpu"), folder.join("done/n1/cpu2")).unwrap();
    assert_eq!(defects(&folder, &nodes).len(), 1, "what is wrong would be seen");
}

#[test]
fn agents_that_are_killed_at_any_moment_lose_and_double_nothing() {
    let scratch = Scratch::new();
    let nodes = ["n1", "n2"];
    let folder = made(&scratch, &nodes);
    // Moments over the time an agent takes for both tasks, in no order.
    let moments = [310, 1240, 40, 790];
    for (round, moment) in moments.into_iter().enumerate() {
        let node = nodes[round % 2];
        let arguments = format!("agent --plan {} --node {node}", folder.display());
        let running = Running::assay(&scratch, &arguments);
        std::thread::sleep(Duration::from_millis(moment));
        // If it has ended already, its number is still its own, since it has not been waited for.
        signal(running.id(), if round % 3 == 2 { "TERM" } else { "KILL" });
        running.end();
    }
    for node in nodes {
        let ran = agent(&scratch, &folder, node);
        assert_eq!(ran.status, Some(0), "{ran:?}");
    }
    assert_eq!(defects(&folder, &nodes), Vec::<String>::new());
    assert_no_orphans();
}

#[test]
fn plans_that_cannot_be_are_refused_in_a_sentence() {
    let scratch = Scratch::new();
    let folder = made(&scratch, &["n1"]);
    let fresh = scratch.join("fresh");
    for (nodes, folder, options, why) in [
        (&["n1"][..], &folder, "", "already has a plan"),
        (&[][..], &fresh, "", "at least one node"),
        (&["n1", "n1"][..], &fresh, "", "listed twice"),
        (&["../n1"][..], &fresh, "", "not a valid node name"),
        (&["n1"][..], &fresh, "--area net", "no benchmarks of the area 'net'"),
        (&["n1"][..], &fresh, "--pairs all", "one node has no network"),
        (&["n1"][..], &scratch.path().to_owned(), "", "is not empty"),
    ] {
        let ran = plan(&scratch, nodes, folder, options);
        let sentence = refusal(&ran);
        assert!(sentence.contains(why), "{sentence}");
        assert!(!fresh.exists(), "nothing was written");
    }
    let sentence = refusal(&agent(&scratch, &scratch.join("none"), "n1")).to_owned();
    assert!(sentence.contains("has no plan"), "{sentence}");
    let sentence = refusal(&agent(&scratch, &folder, "n7")).to_owned();
    assert!(sentence.contains("no node 'n7'"), "{sentence}");
}

#[test]
fn folders_that_are_full_or_cannot_be_written_are_reported() {
    if !is_root() {
        return skip("full and read-only plan folders", "mounting needs the superuser");
    }
    let scratch = Scratch::new();
    let folder = made(&scratch, &["n1"]);
    {
        let Some(_mounted) = ReadOnly::mount("full and read-only plan folders", &folder) else { return };
        let sentence = refusal(&agent(&scratch, &folder, "n1")).to_owned();
        assert!(sentence.contains("Read-only") && sentence.contains("must be writable on every node"), "{sentence}");
    }
    let Some(small) = Tmpfs::mount("a full plan folder", scratch.join("small"), "size=8m") else { return };
    let ran = plan(&scratch, &["n1"], &small.path().join("plan"), "");
    assert!(refusal(&ran).contains("No space left"), "{ran:?}");
    assert_eq!(names(small.path()), Vec::<String>::new(), "nothing of it stays");
    let folder = small.path().join("other");
    let program = crate::common::program();
    let ran = plan(&scratch, &["n1"], &folder, &format!("--program {}", program.display()));
    assert_eq!(ran.status, Some(0), "{ran:?}");
    small.fill();
    let ran = agent(&scratch, &folder, "n1");
    assert!(refusal(&ran).contains("No space left") && ran.stderr.contains("Free some space"), "{ran:?}");
    fs::remove_file(small.path().join("filler")).unwrap();
    assert_eq!(agent(&scratch, &folder, "n1").status, Some(0));
    assert_eq!(defects(&folder, &["n1"]), Vec::<String>::new(), "with free space again it continues");
}
