//! Plans, documents and their formats: complete, true to the contract, and the same everywhere.

use std::collections::BTreeSet;
use std::process::{Command, Stdio};
use std::sync::LazyLock;

use serde_json::Value;

use super::{RUN, with_run};
use crate::common::{
    Scratch, check, document, ids, is_verified, left_in, list, listed, measured, names, number, only_run, printed,
    program, root, rows, same, samples, skip, stored_runs, succeed, suite, text, verified,
};
use crate::system::process::wrapped;

/// A short run of the memory area: a bandwidth and a latency.
static MEMORY_RUN: LazyLock<Value> = LazyLock::new(|| {
    let scratch = Scratch::new();
    succeed(&scratch, "memory --working-set 32MiB --op read,load --pages 2MiB --threads 1,2 --repeat 2");
    document(&only_run(&scratch))
});

#[test]
fn the_list_has_an_id_and_its_cost_a_line_and_measures_nothing() {
    let scratch = Scratch::new();
    let ran = succeed(&scratch, "run quick --list");
    let lines: Vec<(&str, &str)> = ran.stdout.lines().map(|line| line.split_once('\t').unwrap()).collect();
    let areas: BTreeSet<&str> = lines.iter().map(|(id, _)| id.split('/').next().unwrap()).collect();
    assert!(areas.iter().eq(&["cpu", "disk", "linpack", "memory", "net"]), "{areas:?}");
    let seconds = |cost: &str| cost.strip_suffix(" s").unwrap().parse::<f64>().unwrap();
    let seconds: Vec<f64> = lines.iter().map(|(_, cost)| seconds(cost)).collect();
    assert!(seconds.iter().all(|seconds| *seconds >= 0.0));
    assert!(seconds.iter().sum::<f64>() <= 120.0, "quick is two minutes at most: {ran:?}");
    let unique: BTreeSet<_> = lines.iter().map(|(id, _)| id).collect();
    assert_eq!(unique.len(), lines.len());
    assert!(ran.stderr.contains(&format!("{} benchmarks, about", lines.len())), "{ran:?}");
    assert!(!scratch.join("store").exists());
}

#[test]
fn the_quick_suite_computes_what_it_should() {
    let scratch = Scratch::new();
    let document = measured(&scratch, "run quick --threads 1 --verify");
    assert!(rows(&document).iter().all(is_verified), "{document:#}");
    assert_eq!(ids(&document), listed("run quick --threads 1"), "every planned row is in the document");
    assert!(stored_runs(&scratch).is_empty(), "a check is not stored");
}

/// A benchmark of each area.
const EVERY_AREA: &str = r#"
name = "every area"
cpu = [{ op = "fma", type = ["fp64"], isa = ["vector"], threads = ["1"] }]
linpack = [{ op = ["lu"], n = ["500"], threads = ["1"] }]
memory = [{ pattern = "sequential", op = ["read"], working_set = "16MiB", threads = ["1"] }]
disk = [{ pattern = "random", op = ["read"], block = ["4KiB"], depth = [8], size = "64MiB", threads = ["1"] }]
net = [{ protocol = ["tcp"], mode = "pingpong", block = ["1B"], threads = ["1"] }]
"#;

#[test]
fn every_area_is_measured_by_any_user() {
    let scratch = Scratch::new();
    let document = measured(&scratch, &format!("{} --verify", suite(&scratch, EVERY_AREA)));
    assert_eq!(rows(&document).len(), 5, "{:?}", ids(&document));
    assert!(rows(&document).iter().all(is_verified), "{document:#}");
}

#[test]
fn documents_keep_the_contract() {
    for (document, n) in [(&*RUN, 6), (&*MEMORY_RUN, 2)] {
        check(document);
        assert_eq!(document["run"]["complete"], true);
        for row in rows(document) {
            assert!(is_verified(row), "{row:#}");
            for metric in list(row, "metrics") {
                assert_eq!(list(metric, "samples").len(), n, "--repeat is exact");
                assert_eq!(metric["summary"]["ci95"].is_null(), n < 6, "{metric:#}");
            }
        }
    }
}

#[test]
fn the_committed_schemas_are_the_programs_own() {
    for (arguments, file) in [("schema", "run-v2.json"), ("schema cluster", "cluster-v1.json")] {
        let printed = printed(&succeed(&Scratch::new(), arguments));
        let committed = std::fs::read_to_string(root().join("schema").join(file)).unwrap();
        let committed: Value = serde_json::from_str(&committed).unwrap();
        assert!(printed == committed, "schema/{file} is not what `assay {arguments}` prints");
    }
}

#[test]
fn rows_take_turns_launch_by_launch() {
    let mut places: Vec<(u64, u64)> = Vec::new();
    for row in rows(&RUN) {
        let place = |sample: &Value| (sample["block"].as_u64().unwrap(), sample["launch"].as_u64().unwrap());
        let own: BTreeSet<(u64, u64)> = samples(row).iter().map(place).collect();
        assert!(own.len() >= 2, "all samples from one process run: {own:?}");
        assert_eq!(
            own.iter().map(|(block, _)| block).collect::<BTreeSet<_>>().len(),
            own.len(),
            "one process run per block"
        );
        places.extend(own);
    }
    let launches: BTreeSet<u64> = places.iter().map(|(_, launch)| *launch).collect();
    assert_eq!(launches.len(), places.len(), "no process run has two rows");
    places.sort_unstable();
    assert!(places.is_sorted_by_key(|(_, launch)| *launch), "a block ends before the next begins: {places:?}");
}

/// The rows of a brief run in the order of their process runs.
fn order(seed: u32) -> Vec<String> {
    let arguments = format!("cpu --op fma --type fp64,fp32 --isa scalar --threads 1,2 --verify --seed {seed}");
    let document = measured(&Scratch::new(), &arguments);
    let place = |row: &Value| Some((samples(row).first()?["launch"].as_u64().unwrap(), text(row, "id").to_owned()));
    let mut order: Vec<(u64, String)> = rows(&document).iter().filter_map(place).collect();
    assert!(order.len() > 2, "{order:?}");
    order.sort_unstable();
    order.into_iter().map(|(_, id)| id).collect()
}

#[test]
fn the_seed_decides_the_order() {
    let first = order(1);
    assert_eq!(first, order(1));
    assert!((2..6).any(|seed| order(seed) != first));
}

#[test]
fn a_run_is_shown_alike_by_folder_file_and_name() {
    let scratch = with_run(&RUN);
    let folder = scratch.join("store/runs/a-run");
    let file = folder.join("run.json");
    for run in ["a-run", folder.to_str().unwrap(), file.to_str().unwrap()] {
        let shown = printed(&succeed(&scratch, &format!("report {run} --format json")));
        assert!(shown == *RUN, "{run}");
    }
    let text = succeed(&scratch, "report a-run --format text").stdout;
    assert!(text.contains("FMA"), "{text}");
    for same in ["report a-run --format text -o -", "show a-run"] {
        assert_eq!(succeed(&scratch, same).stdout, text, "{same}");
    }
    let all = succeed(&scratch, "runs").stdout;
    assert!(all.lines().count() == 1 && all.starts_with("a-run "), "{all}");
}

#[test]
fn the_document_goes_where_it_is_wanted() {
    let scratch = Scratch::new();
    let (out, file) = (scratch.join("out"), scratch.join("run.json"));
    let brief = "cpu --op fma --type fp64 --isa scalar --threads 1 --verify";
    let ran = succeed(&scratch, &format!("{brief} --out {} --json {}", out.display(), file.display()));
    assert!(ran.stdout.contains(out.to_str().unwrap()), "where it is stored is said: {ran:?}");
    let copy: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    assert!(copy == document(&out));
    assert_eq!(left_in(&out), ["run.json"]);
    assert_eq!(names(scratch.path()), ["out", "run.json"], "nothing unfinished is left, and no store");
}

#[test]
fn a_document_replaces_a_file_follows_a_link_and_flows_into_a_pipe() {
    let scratch = with_run(&RUN);
    let (file, link, pipe) = (scratch.join("file"), scratch.join("link"), scratch.join("pipe"));
    std::fs::write(&file, "old").unwrap();
    std::os::unix::fs::symlink(&file, &link).unwrap();
    succeed(&scratch, &format!("report a-run --format json -o {}", link.display()));
    assert!(link.is_symlink() && std::fs::read_to_string(&file).unwrap().starts_with('{'));
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let reader = Command::new("cat").arg(&pipe).stdout(Stdio::piped()).spawn().unwrap();
    succeed(&scratch, &format!("report a-run --format json -o {}", pipe.display()));
    let read: Value = serde_json::from_slice(&reader.wait_with_output().unwrap().stdout).unwrap();
    assert!(read == *RUN);
    assert_eq!(names(scratch.path()), ["file", "link", "pipe", "store"], "nothing unfinished is left");
}

#[test]
fn what_the_owner_declares_becomes_a_peak() {
    let document = verified("memory --op read --threads 1 --verify --declare memory.channels=2,memory.mts=3200");
    let peaks = list(&rows(&document)[0]["metrics"][0], "peaks");
    let declared = peaks.iter().find(|peak| peak["kind"] == "declared").unwrap();
    same(number(declared, "value"), 2.0 * 3200e6 * 8.0);
}

/// What a terminal shows; `None` without `script`.
fn on_a_terminal(scratch: &Scratch, variables: &str, arguments: &str) -> Option<String> {
    let mut command = Command::new("script");
    command.args(["-qec", &format!("env TERM=xterm {variables} \"$PROGRAM\" {arguments}"), "/dev/null"]);
    let output = wrapped(scratch, command).env("PROGRAM", program()).output();
    output.ok().map(|output| String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn a_terminal_gets_colours_by_default() {
    let scratch = with_run(&RUN);
    let Some(plain) = on_a_terminal(&scratch, "NO_COLOR=1", "report a-run --format text") else {
        return skip("colours on a terminal", "script (Debian: bsdutils) is missing");
    };
    assert!(plain.contains("FMA") && !plain.contains('\x1b'), "{plain}");
    assert!(!on_a_terminal(&scratch, "TERM=dumb", "report a-run --format text").unwrap().contains('\x1b'));
    assert!(on_a_terminal(&scratch, "", "report a-run --format text").unwrap().contains("\x1b["));
    let run = "cpu --op fma --type fp64 --isa scalar --threads 1 --verify";
    let shown = on_a_terminal(&scratch, "NO_COLOR=1", run).unwrap();
    assert!(shown.contains("cpu/fma/fp64/scalar/t1") && shown.contains("FLOP/s"), "the live progress: {shown}");
}

#[test]
fn a_pipe_gets_no_colours_and_quiet_means_silent() {
    let scratch = with_run(&RUN);
    let brief = "cpu --op fma --type fp64 --isa scalar --threads 1 --verify";
    for arguments in [brief, "report a-run --format text", "runs", "run --help", "run --list"] {
        let ran = succeed(&scratch, arguments);
        assert!(!ran.stdout.contains('\x1b') && !ran.stderr.contains('\x1b'), "'{arguments}': {ran:?}");
    }
    let quiet = succeed(&scratch, &format!("{brief} --quiet"));
    assert!(quiet.stderr.is_empty() && !quiet.stdout.is_empty(), "{quiet:?}");
}
