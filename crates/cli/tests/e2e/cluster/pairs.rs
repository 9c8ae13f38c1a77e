//! The network between the nodes of a plan: workers that measure each other alone and together, and what happens when
//! one is killed or never starts.

use std::collections::BTreeSet;
use std::fs;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;

use crate::common::{Scratch, assay, check, command, document, is_verified, list, program, rows, text};
use crate::system::process::{Running, signal, wait_for};

const PATIENCE: Duration = Duration::from_secs(60);

fn plan(scratch: &Scratch, nodes: &str, network: &str) -> PathBuf {
    let file = scratch.join("mini.toml");
    let text = "name = \"mini\"\nsampling.cpu = { samples = 1, per_launch = 1, sample = \"50ms\" }\n\
                cpu = [{ op = \"fma\", type = [\"fp64\"], isa = [\"scalar\"], threads = [\"1\"] }]\n";
    fs::write(&file, text).unwrap();
    let folder = scratch.join("plan");
    let (file, shown, program) = (file.display(), folder.display(), program());
    let options = format!("--pairs all --network {network} --lease 10s --program {}", program.display());
    let made = assay(scratch, &format!("cluster plan --nodes {nodes} --suite {file} {options} {shown}"));
    assert_eq!(made.status, Some(0), "{made:?}");
    folder
}

fn start(scratch: &Scratch, folder: &Path, node: &str, linger: &str) -> Running {
    let words = ["agent", "--node", node, "--role", "net", "--linger", linger, "--plan"].map(str::to_owned);
    Running::read(command(scratch, words.into_iter().chain([folder.display().to_string()])))
}

/// The outcomes of a node's network tasks, by name.
fn outcomes(folder: &Path, node: &str) -> Vec<(String, Value)> {
    let Ok(entries) = fs::read_dir(folder.join("done").join(node)) else { return Vec::new() };
    let mut found: Vec<(String, Value)> = entries
        .map(|entry| {
            let path = entry.unwrap().path();
            let outcome = fs::read_to_string(path.join("outcome.json")).unwrap();
            (path.file_name().unwrap().to_string_lossy().into_owned(), serde_json::from_str(&outcome).unwrap())
        })
        .collect();
    found.sort_by(|one, other| one.0.cmp(&other.0));
    found
}

/// The waiting network tasks of a node.
fn waiting(folder: &Path, node: &str) -> BTreeSet<String> {
    let entries = fs::read_dir(folder.join("waiting").join(node)).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned());
    names.filter(|name| name.starts_with("to-")).collect()
}

fn server_address(folder: &Path, node: &str) -> String {
    let path = folder.join("nodes").join(node).join("server.json");
    let read = || serde_json::from_str::<Value>(&fs::read_to_string(&path).ok()?).ok();
    let record = wait_for(PATIENCE, read).unwrap_or_else(|| panic!("node {node} starts no server"));
    list(&record, "addresses")[0].as_str().unwrap().to_owned()
}

/// Asserts that no server, no claimed token and no unfinished attempt is left.
fn assert_closed(folder: &Path, nodes: &[&str]) {
    for node in nodes {
        let left = crate::common::names(&folder.join("nodes").join(node));
        assert!(!left.iter().any(|name| name.starts_with("server")), "{node}: {left:?}");
        let work = fs::read_dir(folder.join("work").join(node)).map_or(0, Iterator::count);
        assert_eq!(work, 0, "{node}: what attempts wrote is left");
    }
    assert!(folder.join("waiting/.net/token.json").exists(), "the token is lost");
    assert_eq!(crate::common::names(&folder.join("running/.net")), Vec::<String>::new());
}

#[test]
fn a_killed_worker_leaves_no_server_and_every_pair_is_measured_alone_and_with_its_round() {
    let scratch = Scratch::new();
    // n3 never starts.
    let folder = plan(&scratch, "n1,n2,n3", "127.0.0.0/8");
    let killed = start(&scratch, &folder, "n2", "60s");
    let address = server_address(&folder, "n2");
    assert!(wait_for(PATIENCE, || TcpStream::connect(&address).ok()).is_some());
    let first = start(&scratch, &folder, "n1", "8s");
    // During an attempt of either node.
    let at_work =
        || ["n1", "n2"].iter().any(|node| fs::read_dir(folder.join("work").join(node)).is_ok_and(|d| d.count() > 0));
    assert!(wait_for(PATIENCE, || at_work().then_some(())).is_some());
    signal(killed.id(), "KILL");
    assert!(wait_for(PATIENCE, || TcpStream::connect(&address).is_err().then_some(())).is_some(), "a server is left");
    drop(killed);
    let ran = first.end();
    assert_eq!(ran.status, Some(0), "{ran:?}");
    assert!(ran.stderr.contains("did not arrive"), "{ran:?}");
    let before = outcomes(&folder, "n1").len();
    assert!(before < 2 && !waiting(&folder, "n1").is_empty(), "{before}");
    let again = ["n1", "n2"].map(|node| start(&scratch, &folder, node, "8s"));
    for ran in again.map(Running::end) {
        assert_eq!(ran.status, Some(0), "{ran:?}");
    }
    for (node, other) in [("n1", "n2"), ("n2", "n1")] {
        let found = outcomes(&folder, node);
        let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, [format!("to-{other}.alone"), format!("to-{other}.together")]);
        for (name, outcome) in &found {
            assert_eq!(text(outcome, "status"), "ok", "{outcome:#}");
            let most = if name.contains(".alone") { 1 } else { 2 };
            assert!((1..=most).contains(&outcome["at_once"].as_u64().unwrap()), "{name}: {outcome:#}");
            let document = document(&folder.join("done").join(node).join(name).join("run"));
            check(&document);
            assert!(rows(&document).len() == 2 && rows(&document).iter().all(is_verified), "{document:#}");
        }
        let expected = ["alone", "together"].map(|how| format!("to-n3.{how}.json"));
        assert_eq!(waiting(&folder, node), expected.into_iter().collect(), "n3 may still come");
    }
    assert_closed(&folder, &["n1", "n2"]);
}

#[test]
fn a_worker_that_is_asked_to_end_ends_its_server() {
    let scratch = Scratch::new();
    let folder = plan(&scratch, "n1,n2", "127.0.0.0/8");
    let worker = start(&scratch, &folder, "n1", "60s");
    let address = server_address(&folder, "n1");
    signal(worker.id(), "TERM");
    let ran = worker.end();
    assert_eq!(ran.status, Some(143), "{ran:?}");
    assert!(TcpStream::connect(&address).is_err(), "the server is left");
    assert_closed(&folder, &["n1"]);
    let wrong = scratch.join("plan/plan.json");
    let text = fs::read_to_string(&wrong).unwrap().replace("127.0.0.0/8", "198.18.0.0/24");
    fs::write(&wrong, text).unwrap();
    let refused = start(&scratch, &folder, "n1", "60s").end();
    assert_ne!(refused.status, Some(0));
    assert!(refused.stderr.contains("198.18.0.0/24") && refused.stderr.contains("n1"), "{refused:?}");
}
