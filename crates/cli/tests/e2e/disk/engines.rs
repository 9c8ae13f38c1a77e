//! The engines of a disk benchmark, and the fallbacks where one is not available.

use serde_json::Value;

use crate::common::{Ran, Scratch, assay, codes, is_root, list, names, number, ran, refusal, skip, text};
use crate::disk::support::{all_measured, checked, directory, seen};
use crate::system::process::{has, through_shell, without_calls};

#[test]
fn a_check_is_not_stored_and_blocking_calls_reach_any_depth() {
    let scratch = Scratch::new();
    let Some(directory) = directory(&scratch, "blocking calls on a disk") else { return };
    let arguments = "disk --pattern random --op read,write --depth 1,8 --engine sync --size 64MiB";
    let found = checked(&scratch, &format!("{arguments} --dir {}", directory.display()));
    assert_eq!(found.len(), 4);
    for row in &found {
        assert!(text(row, "id").contains("/sync/"), "{row:#}");
        assert_eq!((&row["params"]["engine"], &seen(row)["engine"]), (&"sync".into(), &"sync".into()));
        assert!(!codes(row).contains(&"engine_stepped_down"), "it was asked for: {row:#}");
    }
    assert!(!scratch.join("store").exists(), "nothing is stored");
    // Without --dir it is the store, which exists only as long as the test file.
    let found = checked(&scratch, "disk --pattern random --op read --depth 1 --size 64MiB");
    assert!(text(&found[0]["params"], "path").ends_with("/store"), "{:#}", found[0]["params"]);
    assert!(!scratch.join("store").exists(), "nothing is left behind");
}

#[test]
fn native_requests_reach_the_device_and_requests_for_nothing_do_not() {
    let scratch = Scratch::new();
    let Some(directory) = directory(&scratch, "native requests to a disk") else { return };
    for engine in ["libaio", "null"] {
        let arguments = format!("disk --pattern random --op read,write --depth 1,8 --engine {engine} --size 64MiB");
        let ran = assay(&scratch, &format!("{arguments} --dir {} --verify --json -", directory.display()));
        if ran.stderr.contains("libaio is not available: Function not implemented") {
            skip("native requests to a disk by libaio", "the kernel has none");
            continue;
        }
        let found = all_measured(&ran);
        assert_eq!(found.len(), 4);
        for row in &found {
            assert!(text(row, "id").contains(&format!("/{engine}/")), "{row:#}");
            let seen = seen(row);
            assert_eq!((&row["params"]["engine"], &seen["engine"]), (&engine.into(), &engine.into()));
            assert!(number(seen, "cpu_seconds_per_request") > 0.0, "{seen:#}");
            let no_device = engine == "null";
            assert_eq!((seen["filesystem"].is_null(), seen["loop_iops"].is_null()), (no_device, no_device), "{seen:#}");
            assert_eq!(row["method"] == "disk-null/2", no_device);
            let found = codes(row);
            assert!(!no_device || !found.contains(&"not_direct") && !found.contains(&"not_written"), "{found:?}");
        }
    }
    assert_eq!(names(&directory), [""; 0]);
}

/// Runs the program where `io_uring_setup` fails with this error; `None` where that cannot be arranged.
fn without_io_uring(scratch: &Scratch, error: i32, arguments: &str) -> Option<Ran> {
    without_calls(scratch, "425", error, arguments)
}

#[test]
fn where_io_uring_is_forbidden_another_engine_does_it_and_says_so() {
    for (error, says) in [(1, "Operation not permitted"), (38, "Function not implemented")] {
        let scratch = Scratch::new();
        let Some(directory) = directory(&scratch, "a disk without io_uring") else { return };
        let arguments = format!("disk --pattern random --depth 8 --size 64MiB --dir {}", directory.display());
        let Some(ran) = without_io_uring(&scratch, error, &format!("{arguments} --verify --json -")) else {
            return skip("a disk without io_uring", "a seccomp filter needs python3");
        };
        for row in all_measured(&ran) {
            let engine = text(&row["params"], "engine");
            assert!(["libaio", "sync"].contains(&engine) && seen(&row)["engine"] == engine, "{row:#}");
            assert!(!text(&row, "id").contains(engine), "nobody chose it: {row:#}");
            let warning = list(&row, "warnings").iter().find(|warning| warning["code"] == "engine_stepped_down");
            assert!(text(warning.expect("a warning"), "text").contains(says), "{row:#}");
        }
        let named = without_io_uring(&scratch, error, &format!("{arguments} --engine io_uring")).unwrap();
        let sentence = refusal(&named);
        assert!(sentence.contains(says) && sentence.contains("--engine sync"), "{sentence}");
        assert_eq!(names(&directory), [""; 0]);
    }
}

#[test]
fn little_locked_memory_costs_registered_buffers_and_is_said_to() {
    let scratch = Scratch::new();
    let Some(directory) = directory(&scratch, "little locked memory") else { return };
    if !has("prlimit") || is_root() && !has("setpriv") {
        return skip("little locked memory", "prlimit or setpriv is missing");
    }
    // CAP_IPC_LOCK would override the limit.
    let without_right = if is_root() { "setpriv --bounding-set=-ipc_lock " } else { "" };
    let line = format!("exec {without_right}prlimit --memlock=65536:65536 \"$@\"");
    let arguments = "disk --pattern sequential --depth 8 --size 64MiB --verify --json -";
    let ran = ran(through_shell(&scratch, &line, &format!("{arguments} --dir {}", directory.display())));
    for row in all_measured(&ran) {
        if row["params"]["engine"] == "sync" {
            return skip("little locked memory", "io_uring cannot be had here");
        }
        let steps = list(seen(&row), "stepped_down");
        let step = steps.iter().filter_map(Value::as_str).find(|step| step.contains("registered_buffers"));
        assert!(step.is_some_and(|step| step.contains("64 KiB")), "{steps:?}");
        assert!(codes(&row).contains(&"engine_stepped_down"), "{row:#}");
    }
}
