//! `assay disk`: its rows and documents, where it measures, with which engine, and what it refuses.
//!
//! What happens when a disk fills up, fails or goes away while it is measured is in `disk_trouble`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use serde_json::Value;

use crate::common::{
    Ran, Scratch, assay, check, codes, command, document, ids, is_root, is_verified, left_in, list, names, number,
    only_run, printed, program, refusal, rows, samples, skip, text,
};
use crate::system::{Locked, LoopDisk, Overlay, ReadOnly, has, through_shell, wrapped};

/// What counts as equal for figures that were divided.
const TOLERANCE: f64 = 1e-9;

/// Bytes of the file of [`BRIEF`].
const BRIEF_BYTES: u64 = 64 << 20;

/// All kinds of rows, each over in a moment.
const BRIEF: &str = r#"
name = "brief"
[sampling.disk]
samples = 6
per_launch = 3
sample = "150ms"
warm_up = ["20ms", "40ms"]
target = 0.05
[[disk]]
pattern = "sequential"
op = ["read", "write"]
block = ["1MiB"]
depth = [1, 8]
size = "64MiB"
threads = ["1"]
[[disk]]
pattern = "random"
op = ["read", "write"]
block = ["4KiB"]
depth = [1, 8]
size = "64MiB"
threads = ["1"]
"#;

/// Every operation in every order, some with two threads or waiting for the medium, each over in a moment.
const EVERY: &str = r#"
name = "every"
[sampling.disk]
samples = 6
per_launch = 3
sample = "60ms"
warm_up = ["20ms", "40ms"]
target = 0.05
[[disk]]
pattern = "sequential"
op = ["read", "write", "mixed", "rewrite", "reread"]
block = ["64KiB"]
depth = [4]
size = "64MiB"
threads = ["1"]
[[disk]]
pattern = "random"
op = ["read", "write", "mixed", "rewrite", "reread"]
block = ["4KiB"]
depth = [4]
size = "64MiB"
threads = ["2"]
[[disk]]
pattern = "backward"
op = ["read", "write", "mixed", "rewrite", "reread"]
block = ["64KiB"]
depth = [4]
size = "64MiB"
threads = ["1"]
[[disk]]
pattern = "strided"
op = ["read", "write", "mixed", "rewrite", "reread"]
block = ["4KiB"]
depth = [4]
size = "64MiB"
threads = ["2"]
[[disk]]
pattern = "random"
op = ["read", "write", "mixed"]
block = ["8KiB"]
depth = [1]
size = "64MiB"
sync = ["dsync", "sync"]
threads = ["1"]
"#;

/// The rows of [`EVERY`]: pattern, operation, and the rest of the id.
fn every_row() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    let all = ["read", "write", "mixed", "rewrite", "reread"];
    let orders = [
        ("sequential", "64KiB/d4/t1"),
        ("random", "4KiB/d4/t2"),
        ("backward", "64KiB/d4/t1"),
        ("strided", "4KiB/d4/t2"),
    ];
    let durable = [
        ("read", "8KiB/d1/t1"),
        ("write", "8KiB/d1/dsync/t1"),
        ("write", "8KiB/d1/sync/t1"),
        ("mixed", "8KiB/d1/dsync/t1"),
        ("mixed", "8KiB/d1/sync/t1"),
    ];
    let in_order = orders.into_iter().flat_map(move |(pattern, rest)| all.map(|op| (pattern, op, rest)));
    in_order.chain(durable.map(|(op, rest)| ("random", op, rest)))
}

/// Whether a row writes.
fn writes(row: &Value) -> bool {
    ["write", "mixed", "rewrite"].contains(&text(&row["params"], "op"))
}

/// The arguments that run [`BRIEF`] in a directory.
pub(crate) fn brief(scratch: &Scratch, directory: &Path) -> String {
    let suite = scratch.join("brief.toml");
    std::fs::write(&suite, BRIEF).unwrap();
    format!("run {} --dir {}", suite.display(), directory.display())
}

/// An empty directory on a disk; `None`, said loudly, where temporary files are in memory.
pub(crate) fn directory(scratch: &Scratch, what: &str) -> Option<PathBuf> {
    let directory = scratch.join("disk");
    std::fs::create_dir_all(&directory).unwrap();
    if is_memory(&directory) {
        skip(what, "temporary files are in memory here: set TMPDIR to a directory on a disk");
        return None;
    }
    Some(directory)
}

pub(crate) fn is_memory(path: &Path) -> bool {
    let output = Command::new("stat").args(["-f", "-c", "%T"]).arg(path).output().unwrap();
    ["tmpfs", "ramfs"].contains(&String::from_utf8_lossy(&output.stdout).trim())
}

/// A finished run of [`BRIEF`].
struct Kept {
    document: Value,
    /// Names and contents of its histograms.
    histograms: Vec<(String, String)>,
}

/// `None` where there is no disk.
static RUN: LazyLock<Option<Kept>> = LazyLock::new(|| {
    let scratch = Scratch::new();
    let directory = directory(&scratch, "documents of disk rows")?;
    let ran = assay(&scratch, &format!("{} --repeat 6", brief(&scratch, &directory)));
    assert_eq!(ran.status, Some(0), "{ran:?}");
    assert!(ran.stdout.contains("sequential 1 MiB") && ran.stdout.contains("random 4 KiB"), "{ran:?}");
    let folder = only_run(&scratch);
    assert_eq!(names(&directory), [""; 0], "the test file is gone");
    assert_eq!(names(&scratch.join("store")), ["runs"]);
    assert_eq!(left_in(&folder), ["histograms", "run.json"]);
    let histograms = folder.join("histograms");
    let read = |name: String| (name.clone(), std::fs::read_to_string(histograms.join(name)).unwrap());
    Some(Kept { document: document(&folder), histograms: names(&histograms).into_iter().map(read).collect() })
});

#[track_caller]
fn same(a: f64, b: f64) {
    assert!((a - b).abs() <= TOLERANCE * a.abs().max(b.abs()), "{a} is not {b}");
}

/// The metric of this name.
fn metric<'a>(row: &'a Value, name: &str) -> &'a Value {
    let found = list(row, "metrics").iter().find(|metric| metric["name"] == name);
    found.unwrap_or_else(|| panic!("no '{name}' in {row:#}"))
}

/// What was seen of the file, the engine and the device.
fn seen(row: &Value) -> &Value {
    &row["conditions"]["disk"]
}

/// The rows of a run that must end well and measure all of them; it is not stored.
fn checked(scratch: &Scratch, arguments: &str) -> Vec<Value> {
    all_measured(&assay(scratch, &format!("{arguments} --verify --json -")))
}

/// The rows of a printed document, all measured.
fn all_measured(ran: &Ran) -> Vec<Value> {
    assert_eq!(ran.status, Some(0), "{ran:?}");
    let document = printed(ran);
    check(&document);
    for row in rows(&document) {
        assert!(is_verified(row), "{row:#}");
    }
    rows(&document).to_vec()
}

#[test]
fn every_combination_is_a_row_and_measured() {
    let Some(run) = &*RUN else { return };
    check(&run.document);
    assert_eq!(run.document["run"]["complete"], true);
    let expected = ["sequential-read/1MiB", "sequential-write/1MiB", "random-read/4KiB", "random-write/4KiB"];
    let expected = expected.iter().flat_map(|kind| [1, 8].map(|depth| format!("disk/{kind}/d{depth}/t1")));
    assert!(ids(&run.document).into_iter().eq(expected), "{:?}", ids(&run.document));
    for row in rows(&run.document) {
        assert!(is_verified(row), "{row:#}");
        assert_eq!((&row["params"]["direct"], &row["params"]["cache"]), (&true.into(), &"bypassed".into()));
        assert_eq!(row["params"]["size"], BRIEF_BYTES);
    }
}

/// Runs [`EVERY`] in a directory and asserts that each row is there, checked, and what its id says.
#[track_caller]
fn check_every(scratch: &Scratch, directory: &Path) -> Vec<Value> {
    let suite = scratch.join("every.toml");
    std::fs::write(&suite, EVERY).unwrap();
    let found = checked(scratch, &format!("run {} --dir {}", suite.display(), directory.display()));
    let expected = every_row().map(|(pattern, op, rest)| format!("disk/{pattern}-{op}/{rest}"));
    assert!(found.iter().map(|row| text(row, "id").to_owned()).eq(expected), "{found:#?}");
    for (row, (pattern, op, rest)) in found.iter().zip(every_row()) {
        assert_eq!((text(&row["params"], "pattern"), text(&row["params"], "op")), (pattern, op));
        assert_eq!(row["method"], format!("disk-{op}/3"), "the order is a parameter");
        let sync = ["dsync", "sync"].into_iter().find(|sync| rest.contains(&format!("/{sync}/")));
        assert_eq!(row["params"]["sync"], sync.unwrap_or("none"));
        let disk = seen(row);
        assert_eq!(disk["flush_seconds"].is_number(), writes(row), "{disk:#}");
        let apart = ["read_share", "read_latency_seconds", "write_latency_seconds"].map(|name| disk[name].is_number());
        assert_eq!(apart, [op == "mixed"; 3], "{disk:#}");
        if op == "mixed" {
            let share = number(disk, "read_share");
            assert!(share > 0.0 && share < 1.0, "{disk:#}");
        }
        assert_direct_or_said(row);
    }
    assert_eq!(names(directory).into_iter().filter(|name| name != "lost+found").count(), 0, "the file is gone");
    found
}

#[test]
fn every_operation_in_every_order_is_measured_and_checked() {
    let scratch = Scratch::new();
    let Some(directory) = directory(&scratch, "operations and orders on a disk") else { return };
    check_every(&scratch, &directory);
}

#[test]
fn every_operation_in_every_order_works_on_other_file_systems() {
    for (kind, mebibytes) in [("ext4", 160), ("xfs", 320), ("btrfs", 320)] {
        let scratch = Scratch::new();
        let Some(disk) = LoopDisk::make(&scratch, kind, mebibytes, "") else {
            skip(kind, "making and mounting it needs the superuser, mkfs and a loop device");
            continue;
        };
        for row in check_every(&scratch, disk.path()) {
            assert_eq!(seen(&row)["filesystem"], kind);
        }
    }
}

#[test]
fn options_choose_orders_operations_and_what_writes_wait_for() {
    let scratch = Scratch::new();
    let Some(directory) = directory(&scratch, "options of disk rows") else { return };
    let listed = |arguments: &str| {
        let ran = assay(&scratch, &format!("disk --list --dir {} {arguments}", directory.display()));
        assert_eq!(ran.status, Some(0), "{ran:?}");
        ran.stdout.lines().map(|line| line.split('\t').next().unwrap().to_owned()).collect::<Vec<String>>()
    };
    let kinds = |kinds: &[&str]| kinds.iter().map(|kind| format!("disk/{kind}/t1")).collect::<Vec<_>>();
    assert_eq!(
        listed("--pattern backward,strided --op read --depth 4"),
        kinds(&["backward-read/1MiB/d4", "strided-read/64KiB/d4"])
    );
    assert_eq!(
        listed("--pattern random --op mixed,rewrite,reread --depth 4 --block 8KiB"),
        kinds(&["random-mixed/8KiB/d4", "random-rewrite/8KiB/d4", "random-reread/8KiB/d4"])
    );
    assert_eq!(
        listed("--pattern random --op write --sync none,dsync,sync --depth 1"),
        kinds(&["random-write/4KiB/d1", "random-write/4KiB/d1/dsync", "random-write/4KiB/d1/sync"])
    );
    assert_eq!(
        listed("--pattern random --op read --sync dsync,sync --depth 1"),
        kinds(&["random-read/4KiB/d1"]),
        "what does not write waits for nothing"
    );
    let one = "--pattern random --op read --depth 1";
    assert_eq!(
        listed(&format!("{one} --engine io_uring,sync --size 64MiB,128MiB")),
        kinds(
            &["64MiB/d1/io_uring", "64MiB/d1/sync", "128MiB/d1/io_uring", "128MiB/d1/sync"]
                .map(|way| format!("random-read/4KiB/{way}"))
                .each_ref()
                .map(String::as_str)
        )
    );
    assert_eq!(
        listed(&format!("{one} --direct true,false")),
        kinds(&["random-read/4KiB/d1", "random-read/4KiB/d1/cold", "random-read/4KiB/d1/warm"])
    );
    assert!(listed("--sync sync").iter().all(|id| id.contains("/sync/") && !id.contains("read")));
}

#[test]
fn three_metrics_tell_the_same_requests() {
    let Some(run) = &*RUN else { return };
    for row in rows(&run.document) {
        let names: Vec<&str> = list(row, "metrics").iter().map(|metric| text(metric, "name")).collect();
        let random = row["params"]["pattern"] == "random";
        let headlines = if random { ["iops", "throughput"] } else { ["throughput", "iops"] };
        assert!(names.iter().eq(headlines.iter().chain(&["latency"])), "{names:?}");
        let (iops, bytes, latency) = (metric(row, "iops"), metric(row, "throughput"), metric(row, "latency"));
        let block = number(&row["params"], "block");
        let mut requests = 0.0;
        assert_eq!(samples(row).len(), 6, "--repeat is exact");
        for ((iops, bytes), latency) in
            list(iops, "samples").iter().zip(list(bytes, "samples")).zip(list(latency, "samples"))
        {
            same(number(iops, "value") * block, number(bytes, "value"));
            same(number(iops, "value"), number(iops, "work") / number(iops, "seconds"));
            let threads = list(iops, "per_thread").iter().map(|share| number(share, "work"));
            same(threads.sum(), number(iops, "work"));
            same(number(latency, "work"), number(iops, "work"));
            assert!(number(latency, "value") > 0.0);
            requests += number(iops, "work");
        }
        let percentiles = &latency["summary"]["percentiles"];
        let ladder = ["p50", "p90", "p99", "p99.9", "p99.99", "max"].map(|name| number(percentiles, name));
        assert!(ladder.is_sorted() && ladder[0] > 0.0, "{percentiles:#}");
        // The windows count requests that came back in them, and the histogram those that began in them as well.
        let counted = number(percentiles, "count");
        let depth = number(&row["params"], "depth");
        assert!((counted - requests).abs() <= 6.0 * depth, "{counted} latencies of {requests} requests");
        assert!(iops["summary"]["percentiles"].is_null());
    }
}

#[test]
fn every_row_says_what_it_went_through() {
    let Some(run) = &*RUN else { return };
    for row in rows(&run.document) {
        let disk = seen(row);
        assert_eq!(disk["engine"], row["params"]["engine"], "{disk:#}");
        assert_ne!(text(disk, "filesystem"), "unknown");
        assert_eq!(disk["unwritten_bytes"].as_u64().unwrap_or(0), 0, "every byte was written beforehand: {disk:#}");
        assert!(number(disk, "depth_achieved") > 0.0, "{disk:#}");
        let cached = number(disk, "cached_share");
        let went_by = cached < 0.01 && disk["storage_share"].as_f64().is_none_or(|share| share >= 0.95);
        assert!(went_by || codes(row).contains(&"not_direct"), "{disk:#}");
        assert_eq!(disk["flush_seconds"].is_number(), row["params"]["op"] == "write", "{disk:#}");
        if disk["engine"] == "io_uring" {
            assert!(!list(disk, "features").is_empty(), "{disk:#}");
        }
    }
}

#[test]
fn a_histogram_has_a_line_for_each_sample() {
    let Some(run) = &*RUN else { return };
    let mut expected: Vec<String> =
        ids(&run.document).into_iter().map(|id| format!("{}.hlog", id.replace('/', "_"))).collect();
    expected.sort_unstable();
    assert!(run.histograms.iter().map(|(name, _)| name).eq(&expected), "{expected:?}");
    for (name, contents) in &run.histograms {
        let is_interval = |line: &&str| line.starts_with(|first: char| first.is_ascii_digit());
        assert_eq!(contents.lines().filter(is_interval).count(), 6, "{name}");
    }
}

#[test]
fn ids_name_what_was_chosen_and_nothing_else() {
    let scratch = Scratch::new();
    let Some(directory) = directory(&scratch, "ids of disk rows") else { return };
    let listed = |arguments: &str| {
        let ran = assay(&scratch, &format!("disk --list --dir {} {arguments}", directory.display()));
        assert_eq!(ran.status, Some(0), "{ran:?}");
        let ids: Vec<String> = ran.stdout.lines().map(|line| line.split('\t').next().unwrap().to_owned()).collect();
        ids
    };
    let all = listed("");
    assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len(), "no two rows are the same");
    for kind in ["sequential-read/1MiB", "sequential-write/1MiB", "random-read/4KiB", "random-write/4KiB"] {
        assert!([1, 32].iter().all(|depth| all.contains(&format!("disk/{kind}/d{depth}/t1"))), "{all:?}");
    }
    let chosen = "--pattern random --op read --depth 1,8 --engine sync --size 64MiB --block 8KiB --threads 1,2";
    assert_eq!(
        listed(chosen),
        [(1, 1), (8, 1), (1, 2), (8, 2)]
            .map(|(depth, threads)| format!("disk/random-read/8KiB/64MiB/d{depth}/sync/t{threads}"))
    );
    assert_eq!(names(&directory), [""; 0]);
    assert!(!scratch.join("store").exists(), "a plan leaves nothing behind");
}

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
    // Where no directory is named it is the store's, which is there only as long as the test file.
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
        let found = checked(&scratch, &format!("{arguments} --dir {}", directory.display()));
        assert_eq!(found.len(), 4);
        for row in &found {
            assert!(text(row, "id").contains(&format!("/{engine}/")), "{row:#}");
            let seen = seen(row);
            assert_eq!((&row["params"]["engine"], &seen["engine"]), (&engine.into(), &engine.into()));
            assert!(number(seen, "cpu_seconds_per_request") > 0.0, "{seen:#}");
            let no_device = engine == "null";
            assert_eq!((seen["filesystem"].is_null(), seen["loop_iops"].is_null()), (no_device, no_device), "{seen:#}");
            assert_eq!(row["method"] == "disk-null/2", no_device);
            let told = codes(row);
            assert!(!no_device || !told.contains(&"not_direct") && !told.contains(&"not_written"), "{told:?}");
        }
    }
    assert_eq!(names(&directory), [""; 0]);
}

#[test]
fn a_load_is_checked_like_any_other_row() {
    let scratch = Scratch::new();
    let Some(directory) = directory(&scratch, "a load that is checked") else { return };
    let kind = "disk --pattern random --op read --block 4KiB --depth 4 --load-percent 50 --size 64MiB";
    let found = checked(&scratch, &format!("{kind} --dir {}", directory.display()));
    let [row] = &found[..] else { panic!("{found:#?}") };
    assert!(number(seen(row), "full_iops") > 0.0, "the rate that the load is half of was found: {row:#}");
}

#[test]
fn directories_that_cannot_be_measured_in_are_refused_when_named() {
    let scratch = Scratch::new();
    let file = scratch.join("file");
    std::fs::write(&file, "").unwrap();
    let refused = |directory: &Path, says: &str| {
        let ran = assay(&scratch, &format!("disk --size 64MiB --dir {}", directory.display()));
        let sentence = refusal(&ran);
        assert!(sentence.contains(says) && sentence.contains(directory.to_str().unwrap()), "{sentence}");
        assert!(sentence.contains("--dir") && sentence.lines().count() == 1, "{sentence}");
        assert!(!scratch.join("store").exists());
    };
    refused(&scratch.join("missing"), "is not there");
    refused(&file, "is not a directory");
    refused(Path::new("/proc"), if is_root() { "takes no files" } else { "is not writable for this user" });
    if is_memory(Path::new("/dev/shm")) {
        refused(Path::new("/dev/shm"), "is tmpfs, which is memory");
    } else {
        skip("--dir in memory", "/dev/shm is no tmpfs");
    }
    let folder = scratch.join("folder");
    std::fs::create_dir(&folder).unwrap();
    if is_root() {
        match ReadOnly::mount(&folder) {
            Some(_mounted) => refused(&folder, "is mounted read-only"),
            None => skip("--dir on a read-only mount", "mounting is not allowed"),
        }
    } else {
        let locked = Locked::new(&folder);
        refused(&folder, "is not writable for this user");
        drop(locked);
    }
    assert_eq!(names(&folder), [""; 0]);
}

#[test]
fn a_directory_that_others_may_not_write_to_is_refused() {
    let scratch = Scratch::new();
    let locked = scratch.join("locked");
    std::fs::create_dir(&locked).unwrap();
    if !is_root() || !has("setpriv") {
        return skip("somebody else's directory", "becoming somebody else needs the superuser and setpriv");
    }
    let line = "exec setpriv --reuid=65534 --regid=65534 --clear-groups \"$@\"";
    let ran: Ran =
        through_shell(&scratch, line, &format!("disk --list --dir {}", locked.display())).output().unwrap().into();
    if ran.status == Some(127) || ran.stderr.contains("setpriv:") {
        return skip("somebody else's directory", "nobody may not run the program");
    }
    assert!(refusal(&ran).contains("is not writable for this user"), "{ran:?}");
}

#[test]
fn requests_that_cannot_be_are_refused() {
    let scratch = Scratch::new();
    let Some(directory) = directory(&scratch, "refused disk requests") else { return };
    for (arguments, says) in [
        ("--size 900TiB", &["does not fit", "are free", "must stay free"][..]),
        ("--size 5000", &["multiple of 4 KiB"]),
        ("--size 0", &["at least 1 byte"]),
        ("--size=-1", &["'-1'"]),
        ("--block 100", &["100B", "multiples of 512 bytes"]),
        ("--block 0", &["at least 1 byte"]),
        ("--size 1MiB --block 2MiB", &["is too small", "2MiB", "larger --size"]),
        ("--size 64MiB --block 1MiB --depth 64", &["is too small", "64 requests", "larger --size"]),
        ("--depth 0", &["'0'", "1..=1024"]),
        ("--depth 100000", &["'100000'", "1..=1024"]),
        ("--engine sync --depth 1024 --threads 5 --block 512", &["too many", "4096"]),
        ("--engine nonsense", &["'nonsense'", "io_uring"]),
        ("--pattern backward --op mixed", &["no disk experiment of that combination", "backward with read, write"]),
        ("--pattern nonsense", &["'nonsense'", "sequential"]),
        ("--op nonsense", &["'nonsense'", "read, write"]),
    ] {
        let ran = assay(&scratch, &format!("disk --dir {} {arguments}", directory.display()));
        let sentence = refusal(&ran);
        for part in says {
            assert!(sentence.contains(part), "'{arguments}': {sentence}");
        }
        assert_eq!(names(&directory), [""; 0], "'{arguments}' left something behind");
        assert!(!scratch.join("store").exists(), "'{arguments}' left a store behind");
    }
}

/// A store in memory; gone when dropped.
struct StoreInMemory(PathBuf);

impl StoreInMemory {
    fn new() -> Option<Self> {
        let path = PathBuf::from(format!("/dev/shm/assay-e2e-{}", std::process::id()));
        (is_memory(path.parent()?) && std::fs::create_dir(&path).is_ok()).then_some(Self(path))
    }
}

impl Drop for StoreInMemory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_store_in_memory_is_no_disk_and_no_error() {
    let Some(store) = StoreInMemory::new() else {
        return skip("a store in memory", "/dev/shm is no tmpfs that can be written to");
    };
    let scratch = Scratch::new();
    let mut command = command(&scratch, ["disk", "--json", "-"]);
    let ran: Ran = command.env("ASSAY_STORE", &store.0).output().unwrap().into();
    assert_eq!(ran.status, Some(0), "{ran:?}");
    let document = printed(&ran);
    check(&document);
    assert!(rows(&document).len() >= 8);
    for row in rows(&document) {
        assert_eq!(row["status"], "skipped");
        let reason = text(row, "reason");
        assert!(reason.contains("is tmpfs, which is memory") && reason.contains("--dir"), "{reason}");
    }
    assert_eq!(names(&store.0), ["runs"]);
}

/// A program in Python that forbids `io_uring_setup` (425 on every architecture) with an error and becomes another: the
/// filter loads the number of a system call, compares it, and answers with the error or lets it be.
const FORBIDDEN: &str = r#"
import ctypes, os, struct, sys
NO_NEW_PRIVS, SECCOMP, FILTER = 38, 22, 2
LOAD, IF_EQUAL, RETURN, ERROR, ALLOW = 0x20, 0x15, 0x06, 0x50000, 0x7fff0000
code = [(LOAD, 0, 0, 0), (IF_EQUAL, 0, 1, 425), (RETURN, 0, 0, ERROR | int(sys.argv[1])), (RETURN, 0, 0, ALLOW)]
code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *one) for one in code))
whole = ctypes.create_string_buffer(struct.pack("HxxxxxxP", 4, ctypes.addressof(code)))
libc = ctypes.CDLL(None)
zero, address = ctypes.c_ulong(0), ctypes.c_void_p(ctypes.addressof(whole))
if libc.prctl(NO_NEW_PRIVS, ctypes.c_ulong(1), zero, zero, zero) or libc.prctl(SECCOMP, ctypes.c_ulong(FILTER), address):
    sys.exit(99)
os.execv(sys.argv[2], sys.argv[2:])
"#;

/// Runs the program where `io_uring` is answered with this error; `None` where no such filter can be had.
fn without_io_uring(scratch: &Scratch, error: i32, arguments: &str) -> Option<Ran> {
    if !has("python3") {
        return None;
    }
    let mut python = Command::new("python3");
    python.args(["-c", FORBIDDEN, &error.to_string()]).arg(program()).args(arguments.split_whitespace());
    let ran: Ran = wrapped(scratch, python).output().unwrap().into();
    (ran.status != Some(99)).then_some(ran)
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
    // The superuser's right to lock memory counts more than the limit.
    let without_right = if is_root() { "setpriv --bounding-set=-ipc_lock " } else { "" };
    let line = format!("exec {without_right}prlimit --memlock=65536:65536 \"$@\"");
    let arguments = "disk --pattern sequential --depth 8 --size 64MiB --verify --json -";
    let ran = through_shell(&scratch, &line, &format!("{arguments} --dir {}", directory.display())).output().unwrap();
    for row in all_measured(&ran.into()) {
        if row["params"]["engine"] == "sync" {
            return skip("little locked memory", "io_uring cannot be had here");
        }
        let steps = list(seen(&row), "stepped_down");
        let step = steps.iter().filter_map(Value::as_str).find(|step| step.contains("registered_buffers"));
        assert!(step.is_some_and(|step| step.contains("64 KiB")), "{steps:?}");
        assert!(codes(&row).contains(&"engine_stepped_down"), "{row:#}");
    }
}

/// Asserts that rows went past the page cache, or say that they did not.
#[track_caller]
fn assert_direct_or_said(row: &Value) {
    let disk = seen(row);
    let direct = number(disk, "cached_share") < 0.01
        && disk["storage_share"].as_f64().is_none_or(|share| share >= 0.95)
        && (!writes(row) || disk["in_place"] != false);
    assert_eq!(!direct, codes(row).contains(&"not_direct"), "{disk:#}: {:?}", codes(row));
}

#[test]
fn ext4_and_xfs_are_measured_past_the_page_cache() {
    for (kind, mebibytes) in [("ext4", 160), ("xfs", 320)] {
        let scratch = Scratch::new();
        let Some(disk) = LoopDisk::make(&scratch, kind, mebibytes, "") else {
            skip(kind, "making and mounting it needs the superuser, mkfs and a loop device");
            continue;
        };
        for row in checked(&scratch, &brief(&scratch, disk.path())) {
            assert_eq!(seen(&row)["filesystem"], kind);
            assert_direct_or_said(&row);
            assert!(!codes(&row).contains(&"not_direct"), "{row:#}");
        }
    }
}

#[test]
fn a_loop_device_is_named_and_said_to_be_a_file() {
    let scratch = Scratch::new();
    let Some(disk) = LoopDisk::make(&scratch, "ext4", 160, "") else {
        return skip("a loop device", "making and mounting it needs the superuser, mkfs and a loop device");
    };
    let json = scratch.join("run.json");
    let arguments = format!("disk --pattern random --op read --depth 1 --size 64MiB --dir {}", disk.path().display());
    let ran = assay(&scratch, &format!("{arguments} --repeat 1 --json {}", json.display()));
    assert_eq!(ran.status, Some(0), "{ran:?}");
    assert!(ran.stdout.contains("ext4 on loop"), "{}", ran.stdout);
    let found: Value = serde_json::from_str(&std::fs::read_to_string(&json).unwrap()).unwrap();
    check(&found);
    for row in rows(&found) {
        let layers = list(seen(row), "layers").iter().chain(list(seen(row), "devices"));
        assert!(layers.filter_map(Value::as_str).any(|name| name.starts_with("loop")), "{row:#}");
        let warning = list(row, "warnings").iter().find(|warning| warning["code"] == "host_cache");
        let told = text(warning.expect("a warning"), "text");
        let file = format!(" is the file '{}', which the page cache", disk.image().display());
        assert!(told.starts_with("loop") && told.contains(&file) && !told.contains("loop0 is made"), "{told}");
    }
}

#[test]
fn writes_of_part_of_a_physical_sector_are_told() {
    let scratch = Scratch::new();
    let Some(directory) = directory(&scratch, "blocks of less than a sector") else { return };
    let kind = "disk --pattern random --op read,write --block 1KiB,4KiB --depth 1 --size 64MiB --verify --json -";
    let shown = printed(&assay(&scratch, &format!("{kind} --dir {}", directory.display())));
    check(&shown);
    for row in rows(&shown).iter().filter(|row| row["status"] == "ok") {
        if list(seen(row), "layers").iter().filter_map(Value::as_str).any(|name| name.starts_with("loop")) {
            return skip("blocks of less than a sector", "temporary files are in a file of a loop device here");
        }
        let below = list(seen(row), "devices");
        let disks = list(&shown["machine"], "disks").iter().filter(|disk| below.contains(&disk["name"]));
        let sector = disks.filter_map(|disk| disk["physical_block_bytes"].as_u64()).max();
        let in_part = sector.is_some_and(|sector| !row["params"]["block"].as_u64().unwrap().is_multiple_of(sector));
        assert_eq!(codes(row).contains(&"part_of_sector"), in_part && writes(row), "{row:#}");
    }
}

#[test]
fn btrfs_overwrites_in_place_or_is_said_not_to() {
    let scratch = Scratch::new();
    let Some(disk) = LoopDisk::make(&scratch, "btrfs", 320, "compress-force=zstd") else {
        return skip("btrfs", "making and mounting it needs the superuser, mkfs.btrfs and a loop device");
    };
    let arguments = "disk --pattern random --depth 8 --size 64MiB --dir";
    for row in checked(&scratch, &format!("{arguments} {}", disk.path().display())) {
        assert_eq!((&seen(&row)["filesystem"], &seen(&row)["in_place"]), (&"btrfs".into(), &true.into()), "{row:#}");
        assert_direct_or_said(&row);
        assert!(!codes(&row).contains(&"not_direct"), "{row:#}");
    }
    // It says nothing of what direct requests must be multiples of, and buffers what is no whole block of its own.
    let small = "disk --pattern random --depth 1 --block 512,1KiB,4KiB --size 64MiB --verify --json - --dir";
    let shown = printed(&assay(&scratch, &format!("{small} {}", disk.path().display())));
    check(&shown);
    for row in rows(&shown) {
        let whole = row["params"]["block"] == 4096;
        assert_eq!(row["status"] == "ok", whole, "{row:#}");
        assert!(whole || text(row, "reason").contains("needs multiples of 4096 bytes"), "{row:#}");
    }
    // A file that is to be compressed cannot also be overwritten in place.
    let compressed = disk.path().join("compressed");
    std::fs::create_dir(&compressed).unwrap();
    if !Command::new("chattr").arg("+c").arg(&compressed).status().is_ok_and(|status| status.success()) {
        return skip("a file that btrfs copies on write", "chattr +c cannot be done");
    }
    for row in checked(&scratch, &format!("{arguments} {}", compressed.display())) {
        assert_eq!(seen(&row)["in_place"], false, "{row:#}");
        assert_direct_or_said(&row);
        assert_eq!(codes(&row).contains(&"not_direct"), writes(&row), "{row:#}");
    }
}

#[test]
fn an_overlay_is_measured_like_what_is_below_it() {
    let scratch = Scratch::new();
    let Some(below) = directory(&scratch, "an overlay") else { return };
    let Some(overlay) = Overlay::mount(&below) else { return skip("an overlay", "mounting is not allowed") };
    for row in checked(&scratch, &brief(&scratch, overlay.path())) {
        assert_eq!(seen(&row)["filesystem"], "overlay");
        assert_direct_or_said(&row);
    }
    assert_eq!(names(overlay.path()), [""; 0]);
}
