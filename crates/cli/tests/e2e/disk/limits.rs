//! Limits of disk benchmarks: bytes written, memory, time, and file systems of other hosts.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use crate::common::{
    Ran, Scratch, assay, check, codes, command, document, is_verified, measured, names, number, only_row, only_run,
    printed, ran, refused, rows, samples, skip, succeed, suite, text,
};
use crate::disk::support::directory;
use crate::system::cgroup::Cgroup;
use crate::system::mounts::{Bound, LoopDisk};
use crate::system::process::{Running, has, reacting, signal, through_shell, wait_for};

const FILE_BYTES: u64 = 64 << 20;

fn run(scratch: &Scratch, directory: &Path, budget: &str, options: &str) -> Ran {
    let text = format!(
        r#"
name = "small"
{budget}
sampling.disk = {{ samples = 6, per_launch = 6, sample = "20ms", warm_up = ["10ms", "20ms"], target = 0.05 }}
[[disk]]
pattern = "random"
op = ["read", "write", "mixed"]
block = ["4KiB"]
depth = [1, 4]
size = "64MiB"
threads = ["1"]
"#
    );
    let ran = succeed(scratch, &format!("{} --dir {} {options}", suite(scratch, &text), directory.display()));
    assert_eq!(names(directory), [""; 0]);
    ran
}

/// Bytes that a row's process runs wrote: test files, and requests.
fn written(row: &Value) -> (u64, u64) {
    let of = |key: &str| row["conditions"]["disk"][key].as_u64().unwrap_or(0);
    (of("laid_out_bytes"), of("written_bytes"))
}

fn is_out_of_budget(row: &Value) -> bool {
    row["status"] == "skipped" && row["reason"] == "write_budget"
}

#[test]
fn every_byte_that_is_written_is_counted() {
    let scratch = Scratch::new();
    let Some(directory) = directory(&scratch, "bytes written to a disk") else { return };
    let document = printed(&run(&scratch, &directory, "", "--json -"));
    check(&document);
    let laid_out: u64 = rows(&document).iter().map(|row| written(row).0).sum();
    assert_eq!(laid_out, FILE_BYTES, "one file, laid out once, by whichever row came first");
    for row in rows(&document) {
        assert!(is_verified(row), "{row:#}");
        let (id, by_requests) = (text(row, "id"), written(row).1);
        let in_samples: f64 = samples(row).iter().map(|sample| number(sample, "work")).sum();
        if id.contains("-read/") {
            assert_eq!(by_requests, 0, "{id}");
            continue;
        }
        // Half of mixed requests are writes, one more or less at both ends of a window.
        let (share, ends) = if id.contains("-mixed/") { (0.5, 6.0 * 8.0) } else { (1.0, 0.0) };
        let blocks = by_requests as f64 / 4096.0;
        assert!(blocks >= share * in_samples - ends, "{id}: {blocks} blocks, {in_samples} requests in samples");
        assert_eq!(by_requests % 4096, 0, "{id}");
    }
}

#[test]
fn the_budget_of_writes_is_shared_out_and_what_it_cuts_short_can_be_gone_on_with() {
    let scratch = Scratch::new();
    let Some(directory) = directory(&scratch, "a budget of writes") else { return };
    // 1 MiB more than the file.
    run(&scratch, &directory, "", "--write-budget 65MiB");
    let folder = only_run(&scratch);
    let before = document(&folder);
    check(&before);
    let (reads, writes): (Vec<&Value>, Vec<&Value>) =
        rows(&before).iter().partition(|row| text(row, "id").contains("-read/"));
    assert!(reads.iter().all(|row| is_verified(row) && samples(row).len() == 6), "{reads:#?}");
    assert!(writes.iter().all(|row| is_verified(row)), "each has its share: {writes:#?}");
    let all: Vec<u64> = rows(&before).iter().map(|row| written(row).0 + written(row).1).collect();
    assert!(all.iter().sum::<u64>() <= 65 << 20, "no more in all than was said: {all:?}");
    succeed(&scratch, &format!("run --resume {} --write-budget none", folder.display()));
    let whole = document(&folder);
    check(&whole);
    assert!(rows(&whole).iter().all(|row| is_verified(row) && samples(row).len() == 6), "{whole:#}");
}

#[test]
fn nothing_is_laid_out_that_the_budget_has_no_room_for() {
    let scratch = Scratch::new();
    let Some(directory) = directory(&scratch, "a budget smaller than the file") else { return };
    let ran = run(&scratch, &directory, "write_budget = \"60MB\"", "--json -");
    let document = printed(&ran);
    check(&document);
    assert!(rows(&document).iter().all(is_out_of_budget), "{document:#}");
    let ran = run(&scratch, &directory, "write_budget = \"60MB\"", "--write-budget 1GB --json -");
    assert!(rows(&printed(&ran)).iter().all(is_verified), "the command line has the last word: {ran:?}");
}

#[test]
fn the_plan_shows_the_budget_and_bad_ones_are_refused() {
    let scratch = Scratch::new();
    let Some(directory) = directory(&scratch, "a budget of writes in the plan") else { return };
    let said =
        |options: &str| succeed(&scratch, &format!("disk --list --dir {} {options}", directory.display())).stderr;
    assert!(said("").contains("; at most 93.1 GiB in total"), "{}", said(""));
    assert!(said("--write-budget 7GiB").contains("; at most 7 GiB in total"));
    assert!(!said("--write-budget none").contains("in total"));
    for bad in ["0", "much", "-1GB", "1e9"] {
        refused(&format!("disk --list --write-budget={bad}"), &["--write-budget"]);
    }
}

#[test]
fn a_fuse_directory_is_measured_only_when_named() {
    let scratch = Scratch::new();
    let Some(below) = directory(&scratch, "a file system in user space") else { return };
    let Some(bound) = Bound::mount(&below, &scratch.join("bound")) else {
        return skip("a file system in user space", "bindfs is not installed, or may not mount");
    };
    let store = bound.path().join("store");
    let mut unnamed = command(&scratch, ["disk", "--op", "read", "--size", "64MiB", "--repeat", "1", "--json", "-"]);
    unnamed.env("ASSAY_STORE", &store);
    let ran = ran(unnamed);
    assert_eq!(ran.status, Some(2), "requests were named, and none can be made: {ran:?}");
    let sentence = "is fuse, which stores its data on another machine: use --dir to choose a directory on a disk, or this \
                    one to measure it anyway";
    assert!(ran.stderr.contains(sentence) && ran.stderr.contains(store.to_str().unwrap()), "{ran:?}");
    let line = "disk --pattern random --op read --block 4KiB --depth 1 --size 64MiB --repeat 1 --cache warm";
    let document = measured(&scratch, &format!("{line} --dir {}", bound.path().display()));
    let [row] = rows(&document) else { panic!("{document:#}") };
    assert!(is_verified(row) && codes(row).contains(&"host_cache"), "{row:#}");
}

#[test]
fn many_blocking_requests_take_the_memory_that_they_need_and_no_huge_page_each() {
    const ROW: &str = "disk --engine sync --threads 8 --depth 64 --pattern random --block 4KiB --size 64MiB --repeat 2";
    let scratch = Scratch::new();
    let Some(directory) = directory(&scratch, "memory of blocking requests") else { return };
    let run = Running::assay(&scratch, &format!("{ROW} --op mixed --json - --dir {}", directory.display()));
    let (bytes, ran) = run.memory_and_end();
    assert!(is_verified(&only_row(&ran)), "{ran:?}");
    // 512 requests: with a huge page of 2 MiB each, or two for mixed requests, 1 GiB or more.
    assert!((1 << 20..768 << 20).contains(&bytes), "{bytes} bytes");
}

#[test]
fn a_very_slow_disk_has_rows_within_the_time() {
    /// A file of 64 MiB would take all of the time and more.
    const BYTES_PER_SECOND: u32 = 2_000_000;
    const REQUESTS_PER_SECOND: u32 = 120;
    const BUDGET_SECONDS: f64 = 20.0;
    let scratch = Scratch::new();
    let Some(disk) = LoopDisk::make("a very slow disk", &scratch, "ext4", 1400, "") else { return };
    let Some(group) = Cgroup::for_devices("a very slow disk") else { return };
    group.allow_little(&disk.device(), REQUESTS_PER_SECOND, BYTES_PER_SECOND);
    let line = format!("disk --time-budget {BUDGET_SECONDS}s --json -");
    // The store, and so the measured directory, is on that disk.
    let mut command = group.assay(&scratch, &line);
    let ran: Ran = command.env("ASSAY_STORE", disk.path().join("store")).output().unwrap().into();
    let document = printed(&ran);
    check(&document);
    assert!(document["run"]["complete"] == true, "{document:#}");
    let seconds = number(&document["run"], "seconds");
    assert!(seconds < 1.5 * BUDGET_SECONDS, "{seconds} s");
    let measured: Vec<&Value> = rows(&document).iter().filter(|row| is_verified(row)).collect();
    for kind in ["disk/random-read/4KiB/", "disk/random-write/4KiB/"] {
        let ids: Vec<&str> = measured.iter().map(|row| text(row, "id")).collect();
        assert!(ids.iter().any(|id| id.starts_with(kind)), "{kind} is not among {ids:?}");
    }
    // A row whose first process run the end of the time cut short keeps its samples and knows nothing of the file.
    let sizes: Vec<u64> = measured.iter().filter_map(|row| row["conditions"]["disk"]["file_bytes"].as_u64()).collect();
    assert!(!sizes.is_empty() && sizes.iter().all(|bytes| *bytes < FILE_BYTES), "{sizes:?}");
    let skipped = rows(&document).iter().filter(|row| !is_verified(row));
    for row in skipped {
        let reason = text(row, "reason");
        let for_want_of_time = reason == "time_budget" || reason.ends_with("no time to lay out a larger one");
        assert!(row["status"] == "skipped" && for_want_of_time, "{row:#}");
    }
}

#[test]
fn a_file_system_that_fills_files_with_zeros_is_written_once() {
    let scratch = Scratch::new();
    for kind in ["vfat", "ext4"] {
        let Some(disk) = LoopDisk::try_make(&scratch, kind, 300, "").filter(|_| has("mountpoint")) else {
            skip(&format!("a test file on {kind}"), "it needs the superuser, a loop device, mkfs and mountpoint");
            continue;
        };
        let before = disk.written_bytes();
        let row = "disk --pattern random --op read --block 4KiB --depth 1 --size 64MiB --verify --json -";
        let row = only_row(&assay(&scratch, &format!("{row} --dir {}", disk.path().display())));
        assert!(is_verified(&row) && written(&row) == (FILE_BYTES, 0), "{row:#}");
        let bytes = disk.written_bytes() - before;
        assert!((FILE_BYTES..FILE_BYTES * 5 / 4).contains(&bytes), "{kind}: {bytes} bytes reached the device");
    }
}

#[test]
fn the_class_of_requests_is_the_callers() {
    let scratch = Scratch::new();
    let Some(directory) = directory(&scratch, "the class of requests") else { return };
    if !Command::new("ionice").arg("--version").output().is_ok_and(|ran| ran.status.success()) {
        return skip("the class of requests", "ionice is not installed");
    }
    let line = format!(
        "disk --pattern random --op read --block 4KiB --depth 1 --size 64MiB --repeat 1000 --quiet --dir {}",
        directory.display()
    );
    let command = through_shell(&scratch, "exec ionice -c 3 \"$@\"", &line);
    let run = Running::read(reacting(&command));
    let class = wait_for(Duration::from_secs(20), || {
        let said = Command::new("ionice").arg("-p").arg(run.worker().to_string()).output().ok()?;
        Some(String::from_utf8_lossy(&said.stdout).trim().to_owned()).filter(|class| !class.is_empty())
    });
    assert_eq!(class.as_deref(), Some("idle"), "every worker inherits what `ionice` sets");
    signal(run.id(), "INT");
    assert_eq!(run.end().status, Some(130));
}
