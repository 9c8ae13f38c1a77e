//! Disks that are nearly full, fill up, fail or go away while they are measured, and runs that are ended in the middle:
//! the user's space comes back, and every row says what became of it.

use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use crate::common::{
    Ran, Scratch, assay, check, codes, command, document, is_verified, left_in, names, number, only_run, printed,
    refusal, rows, samples, skip, text,
};
use crate::disk::{brief, directory};
use crate::family::{ended_within, lives};
use crate::system::{
    Cgroup, LoopDisk, Overlay, Running, Tmpfs, Zram, assert_no_orphans, has, samples_in_journal, signal, through_shell,
    wait_for,
};

/// Longer than any of these runs takes, and shorter than a hang.
const PATIENCE: Duration = Duration::from_mins(1);

/// How long the kernel may take to give back what an ended process held: rings of `io_uring` are taken down later.
const GIVEN_BACK: Duration = Duration::from_secs(2);

/// More repetitions than a test waits for.
const ENDLESS: &str = "--repeat 10000";

/// Of the brief suite the rows with more than one request in flight: one of each kind.
const DEEP: &str = "--filter disk/*/*/d8/t1";

const MIB: u64 = 1 << 20;

/// Space that moves for other reasons than the test file: a directory, an inode table.
const SLACK_BYTES: u64 = MIB;

/// A row of the cpu area before two of the disk area: the plan is made long before the test file.
const AFTER_CPU: &str = r#"
name = "later"
[sampling.cpu]
samples = 3
per_launch = 3
sample = "400ms"
warm_up = ["20ms", "40ms"]
target = 0.05
[sampling.disk]
samples = 2
per_launch = 2
sample = "150ms"
warm_up = ["20ms", "40ms"]
target = 0.05
[[cpu]]
op = "fma"
type = ["fp64"]
isa = ["scalar"]
threads = ["1"]
[[disk]]
pattern = "random"
op = ["read", "write"]
block = ["4KiB"]
depth = [8]
size = "64MiB"
threads = ["1"]
"#;

/// Starts a run whose disk rows come later, and waits until it has begun.
fn begun_with_cpu(scratch: &Scratch, directory: &Path) -> Running {
    let suite = scratch.join("later.toml");
    std::fs::write(&suite, AFTER_CPU).unwrap();
    let run = Running::assay(scratch, &format!("run {} --repeat 3 --dir {}", suite.display(), directory.display()));
    samples_in_journal(scratch, 1);
    run
}

/// A place for test files: a file system of its own where that can be had, so that its space can be counted.
struct Place {
    disk: Option<LoopDisk>,
    directory: PathBuf,
    free_bytes: u64,
}

impl Place {
    fn find(scratch: &Scratch, what: &str) -> Option<Self> {
        let disk = LoopDisk::make(scratch, "ext4", 200, "");
        let directory = match &disk {
            Some(disk) => disk.path().to_owned(),
            None => directory(scratch, what)?,
        };
        let free_bytes = disk.as_ref().map_or(0, LoopDisk::free_bytes);
        Some(Self { disk, directory, free_bytes })
    }

    /// Asserts that nothing is left: no name, no process that holds a file, no space.
    #[track_caller]
    fn assert_given_back(&self) {
        let left: Vec<String> = names(&self.directory).into_iter().filter(|name| name != "lost+found").collect();
        assert_eq!(left, [""; 0], "names are left");
        let mut holders = Vec::new();
        let gone = wait_for(GIVEN_BACK, || {
            holders = held_below(&self.directory);
            let free_bytes = self.disk.as_ref().map_or(0, LoopDisk::free_bytes);
            (holders.is_empty() && free_bytes + SLACK_BYTES >= self.free_bytes).then_some(())
        });
        assert!(gone.is_some(), "held by {holders:?}; {:?} bytes were free", self.free_bytes);
    }
}

/// Open files below a directory, of all processes that may be looked at.
fn held_below(directory: &Path) -> Vec<PathBuf> {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let files = processes.filter_map(|process| std::fs::read_dir(process.path().join("fd")).ok()).flatten().flatten();
    files
        .map(|file| file.path())
        .filter(|file| std::fs::read_link(file).is_ok_and(|to| to.starts_with(directory)))
        .collect()
}

/// The disk rows of a document.
fn disk_rows(document: &Value) -> Vec<&Value> {
    rows(document).iter().filter(|row| row["area"] == "disk").collect()
}

/// Asserts that a document keeps the contract and that every row that was not measured says why.
#[track_caller]
fn assert_explained(document: &Value) {
    check(document);
    for row in rows(document) {
        assert!(is_verified(row) || !text(row, "reason").is_empty(), "{row:#}");
    }
}

#[test]
fn a_disk_that_is_nearly_full_gets_a_smaller_file_or_none() {
    let scratch = Scratch::new();
    let Some(disk) = LoopDisk::make(&scratch, "ext4", 256, "") else {
        return skip("a nearly full disk", "making and mounting one needs the superuser and a loop device");
    };
    let free_bytes = disk.free_bytes();
    let arguments = format!("disk --pattern random --depth 1 --dir {}", disk.path().display());
    let ran = assay(&scratch, &format!("{arguments} --verify --json -"));
    assert_eq!(ran.status, Some(0), "{ran:?}");
    let shrunk = printed(&ran);
    assert_explained(&shrunk);
    for row in rows(&shrunk) {
        assert!(is_verified(row) && row["params"]["size"] == 128 * MIB, "{row:#}");
        assert!(text(row, "id").contains("/4KiB/d1/"), "nobody chose the size: {row:#}");
    }
    assert!(disk.free_bytes() + SLACK_BYTES >= free_bytes);
    disk.take(disk.free_bytes() - 60 * MIB);
    let ran = assay(&scratch, &format!("{arguments} --verify --json -"));
    let sentence = refusal(&ran);
    assert!(sentence.contains("is nearly full") && sentence.contains("name another directory"), "{sentence}");
    let ran = assay(&scratch, &format!("{arguments} --size 64MiB"));
    let sentence = refusal(&ran);
    assert!(sentence.contains("does not fit") && sentence.contains("60 MiB are free"), "{sentence}");
}

#[test]
fn little_room_is_told_where_a_row_writes() {
    let scratch = Scratch::new();
    let Some(disk) = LoopDisk::make(&scratch, "ext4", 600, "") else {
        return skip("little room", "making and mounting such a disk needs the superuser and a loop device");
    };
    let told = || {
        let kind = "disk --pattern random --op read,write --depth 1 --size 64MiB --verify --json -";
        let shown = printed(&assay(&scratch, &format!("{kind} --dir {}", disk.path().display())));
        assert_explained(&shown);
        let rows: Vec<(bool, bool)> = rows(&shown)
            .iter()
            .map(|row| (row["params"]["op"] == "write", codes(row).contains(&"nearly_full")))
            .collect();
        rows
    };
    assert!(told().iter().all(|(_, told)| !told));
    disk.take(disk.free_bytes() - 105 * MIB);
    assert!(told().iter().all(|(writes, told)| writes == told), "{:?}", told());
}

#[test]
fn a_store_that_is_nearly_full_leaves_the_other_areas_alone() {
    let scratch = Scratch::new();
    let Some(disk) = LoopDisk::make(&scratch, "ext4", 256, "") else {
        return skip("a nearly full store", "making and mounting one needs the superuser and a loop device");
    };
    disk.take(disk.free_bytes() - 60 * MIB);
    let suite = scratch.join("later.toml");
    std::fs::write(&suite, AFTER_CPU).unwrap();
    let run = |arguments: &str| -> Ran {
        command(&scratch, arguments.split_whitespace()).env("ASSAY_STORE", disk.path()).output().unwrap().into()
    };
    let ran = run(&format!("run {} --verify --json -", suite.display()));
    assert_eq!(ran.status, Some(0), "{ran:?}");
    let shown = printed(&ran);
    assert_explained(&shown);
    assert!(rows(&shown).iter().any(|row| row["area"] == "cpu" && is_verified(row)), "{shown:#}");
    for row in disk_rows(&shown) {
        assert_eq!(row["status"], "skipped", "{row:#}");
        assert!(text(row, "reason").contains("is nearly full"), "{row:#}");
    }
    let sentence = refusal(&run("disk --op read")).to_owned();
    assert!(sentence.contains("is nearly full") && sentence.contains("with --dir"), "{sentence}");
}

#[test]
fn what_is_asked_for_and_cannot_be_done_at_all_is_refused() {
    let scratch = Scratch::new();
    let Some(directory) = directory(&scratch, "a load through the page cache") else { return };
    let kind = "disk --pattern random --op read --depth 1 --load-percent 50 --size 64MiB --repeat 1";
    let sentence = refusal(&assay(&scratch, &format!("{kind} --cache warm --dir {}", directory.display()))).to_owned();
    assert!(sentence.contains("not offered") && sentence.contains("leave --load-percent or --cache out"), "{sentence}");
    let ran = assay(&scratch, &format!("{kind} --cache bypassed,warm --json - --dir {}", directory.display()));
    assert_eq!(ran.status, Some(0), "what can be done is: {ran:?}");
    assert!(rows(&printed(&ran)).iter().any(is_verified), "{ran:?}");
    assert_eq!(names(&directory), [""; 0]);
}

/// Asserts that nothing of a directory is measured, past the page cache or through it, and that the sentence says why.
#[track_caller]
fn assert_is_memory(scratch: &Scratch, directory: &Path, says: &str) {
    for cache in ["bypassed", "warm", "cold"] {
        let arguments = format!("disk --op read --cache {cache} --size 64MiB --dir {}", directory.display());
        let ran = assay(scratch, &arguments);
        let sentence = refusal(&ran);
        assert!(sentence.contains(says) && sentence.contains(directory.to_str().unwrap()), "{cache}: {sentence}");
    }
}

#[test]
fn file_systems_that_stand_on_memory_are_refused() {
    let scratch = Scratch::new();
    let Some(memory) = Tmpfs::mount(scratch.join("memory"), "size=200m") else {
        return skip("file systems on memory", "mounting is not allowed");
    };
    match LoopDisk::make_of(&scratch, memory.path().join("image"), "ext4", 100, "") {
        Some(disk) => assert_is_memory(&scratch, disk.path(), "on tmpfs, which is memory"),
        None => skip("a loop device on tmpfs", "making and mounting it needs the superuser and a loop device"),
    }
    let below = memory.path().join("below");
    std::fs::create_dir(&below).unwrap();
    match Overlay::mount(&below) {
        Some(overlay) => assert_is_memory(&scratch, overlay.path(), "is overlay on tmpfs, which is memory"),
        None => skip("an overlay on tmpfs", "mounting one is not allowed"),
    }
    match Zram::make(&scratch) {
        Some(zram) => {
            let says = format!("is ext4 on {}, which is memory", zram.name());
            assert_is_memory(&scratch, zram.path(), &says);
        }
        None => skip("a file system on zram", "making one needs the superuser and the kernel's module"),
    }
}

#[test]
fn a_disk_that_somebody_else_fills_first_skips_its_rows() {
    let scratch = Scratch::new();
    let Some(disk) = LoopDisk::make(&scratch, "ext4", 200, "") else {
        return skip(
            "a disk that somebody else fills",
            "making and mounting one needs the superuser and a loop device",
        );
    };
    let run = begun_with_cpu(&scratch, disk.path());
    disk.take(disk.free_bytes() - 16 * MIB);
    let free_bytes = disk.free_bytes();
    let ran = ended_within(run, PATIENCE);
    assert_eq!(ran.status, Some(0), "{ran:?}");
    let document = document(&only_run(&scratch));
    assert_explained(&document);
    for row in disk_rows(&document) {
        assert_eq!(row["status"], "skipped", "{row:#}");
        assert!(text(row, "reason").contains("No space left") && text(row, "reason").contains("ENOSPC"), "{row:#}");
    }
    let back = wait_for(GIVEN_BACK, || (disk.free_bytes() + SLACK_BYTES >= free_bytes).then_some(()));
    assert!(back.is_some(), "of {free_bytes} bytes {} are free again", disk.free_bytes());
}

#[test]
fn a_directory_that_is_removed_meanwhile_takes_nothing_with_it() {
    let scratch = Scratch::new();
    let Some(directory) = directory(&scratch, "a directory that is removed") else { return };
    let run = Running::assay(&scratch, &format!("{} --repeat 6 {DEEP}", brief(&scratch, &directory)));
    samples_in_journal(&scratch, 1);
    std::fs::remove_dir(&directory).expect("it is empty");
    let ran = ended_within(run, PATIENCE);
    assert_eq!(ran.status, Some(0), "{ran:?}");
    let document = document(&only_run(&scratch));
    check(&document);
    assert!(rows(&document).iter().all(is_verified), "{ran:?}");
    assert!(!directory.exists() && held_below(&directory).is_empty());
}

#[test]
fn a_directory_that_is_removed_before_the_file_is_made_is_not_made_again() {
    let scratch = Scratch::new();
    let Some(directory) = directory(&scratch, "a directory that is removed too early") else { return };
    let run = begun_with_cpu(&scratch, &directory);
    std::fs::remove_dir(&directory).unwrap();
    let ran = ended_within(run, PATIENCE);
    assert_eq!(ran.status, Some(1), "{ran:?}");
    let document = document(&only_run(&scratch));
    assert_explained(&document);
    for row in disk_rows(&document) {
        assert_eq!(row["status"], "failed", "{row:#}");
        assert!(text(row, "reason").contains(directory.to_str().unwrap()), "{row:#}");
    }
    assert!(!directory.exists());
}

#[test]
fn a_file_system_that_is_unmounted_meanwhile_hangs_nothing() {
    let scratch = Scratch::new();
    let Some(disk) = LoopDisk::make(&scratch, "ext4", 200, "") else {
        return skip("a disk that is unmounted", "making and mounting one needs the superuser and a loop device");
    };
    let run = Running::assay(&scratch, &format!("{} --repeat 6 {DEEP}", brief(&scratch, disk.path())));
    samples_in_journal(&scratch, 1);
    disk.detach();
    let ran = ended_within(run, PATIENCE);
    let document = document(&only_run(&scratch));
    assert_explained(&document);
    let all_fine = rows(&document).iter().all(is_verified);
    assert_eq!(ran.status, Some(i32::from(!all_fine)), "{ran:?}");
    assert_eq!(names(disk.path()), [""; 0], "nothing was put below the mount point instead");
}

#[test]
fn a_disk_that_fails_is_named_with_its_error() {
    failing_disk("the best engine", brief);
    failing_disk("native asynchronous I/O", |_, directory| {
        let kind = "--pattern random --op read --depth 1,8 --engine libaio --size 64MiB";
        format!("disk {kind} --dir {}", directory.display())
    });
}

/// Runs the command on a disk that fails meanwhile, and looks at what becomes of it.
fn failing_disk(engine: &str, command: impl Fn(&Scratch, &Path) -> String) {
    let scratch = Scratch::new();
    let Some(disk) = LoopDisk::make(&scratch, "ext4", 200, "") else {
        let what = format!("a disk that fails under {engine}");
        return skip(&what, "making and mounting one needs the superuser and a loop device");
    };
    let run = Running::assay(&scratch, &format!("{} {ENDLESS}", command(&scratch, disk.path())));
    samples_in_journal(&scratch, 1);
    // What is behind the disk is gone: a loop device answers reads of it with EIO.
    std::fs::File::options().write(true).open(disk.image()).unwrap().set_len(MIB).unwrap();
    // Writes make the file longer again, so that not every row has to fail.
    let end = wait_for(PATIENCE, || {
        let document = document(&only_run(&scratch));
        let reads = rows(&document).iter().filter(|row| row["params"]["op"] == "read");
        reads
            .map(|row| row["status"] == "failed")
            .fold(None, |all, failed| Some(all.unwrap_or(true) && failed))?
            .then_some(())
    });
    assert!(end.is_some(), "{:#}", document(&only_run(&scratch)));
    signal(run.id(), "INT");
    let ran = ended_within(run, PATIENCE);
    assert!(matches!(ran.status, Some(1 | 130)), "{ran:?}");
    let document = document(&only_run(&scratch));
    assert_explained(&document);
    let reasons: Vec<&str> =
        rows(&document).iter().filter(|row| row["status"] == "failed").map(|row| text(row, "reason")).collect();
    assert!(
        reasons.iter().any(|reason| reason.contains("(EIO)") && reason.contains("the test file in")),
        "{reasons:?}"
    );
}

#[test]
fn a_disk_that_does_not_answer_keeps_nobody_from_stopping() {
    let scratch = Scratch::new();
    let Some(place) = Place::find(&scratch, "a disk that does not answer") else { return };
    let Some(disk) = &place.disk else {
        return skip("a disk that does not answer", "making and mounting one needs the superuser and a loop device");
    };
    let arguments = format!("{} {ENDLESS} --filter disk/*-write/**", brief(&scratch, &place.directory));
    let run = Running::assay(&scratch, &arguments);
    samples_in_journal(&scratch, 1);
    let Some(frozen) = disk.freeze() else { return skip("a disk that does not answer", "fsfreeze is missing") };
    // Nothing can be seen to happen; by now a worker waits for a write, which even SIGKILL does not end.
    std::thread::sleep(Duration::from_millis(500));
    signal(run.id(), "INT");
    let ended = wait_for(Duration::from_secs(20), || (!lives(run.id())).then_some(()));
    // First of all: what waits for this disk cannot be ended either.
    drop(frozen);
    assert!(ended.is_some(), "it waits for a disk that does not answer");
    let ran = run.end();
    assert_eq!(ran.status, Some(130), "{ran:?}");
    assert_explained(&document(&only_run(&scratch)));
    assert_no_orphans();
    place.assert_given_back();
}

#[test]
fn a_signal_in_the_middle_of_a_disk_row_gives_everything_back() {
    for (name, status) in [("INT", 130), ("TERM", 143)] {
        let scratch = Scratch::new();
        let Some(place) = Place::find(&scratch, "a signal in a disk row") else { return };
        let run = Running::assay(&scratch, &format!("{} {ENDLESS}", brief(&scratch, &place.directory)));
        let folder = samples_in_journal(&scratch, 4);
        assert!(!held_below(&place.directory).is_empty(), "the test file is there as long as it is needed");
        signal(run.id(), name);
        let ran = ended_within(run, PATIENCE);
        assert_eq!(ran.status, Some(status), "{ran:?}");
        place.assert_given_back();
        assert_no_orphans();
        let document = document(&folder);
        assert_explained(&document);
        assert_eq!(document["run"]["complete"], false);
        let measured: Vec<&Value> = rows(&document).iter().filter(|row| is_verified(row)).collect();
        assert!(!measured.is_empty(), "{ran:?}");
        assert_eq!(left_in(&folder), ["histograms", "journal.jsonl", "run.json"]);
        assert_eq!(names(&folder.join("histograms")).len(), measured.len(), "{ran:?}");
    }
}

#[test]
fn a_signal_while_the_file_is_laid_out_ends_it_at_once() {
    let scratch = Scratch::new();
    let Some(place) = Place::find(&scratch, "a signal in the layout") else { return };
    let run = Running::assay(&scratch, &format!("{} {ENDLESS}", brief(&scratch, &place.directory)));
    run.worker();
    signal(run.id(), "INT");
    let ran = ended_within(run, PATIENCE);
    assert_eq!(ran.status, Some(130), "{ran:?}");
    place.assert_given_back();
    assert_no_orphans();
    assert_explained(&document(&only_run(&scratch)));
}

#[test]
fn a_run_that_is_killed_leaves_no_test_file_and_loses_no_sample() {
    let scratch = Scratch::new();
    let Some(place) = Place::find(&scratch, "a killed run of disk rows") else { return };
    let run = Running::assay(&scratch, &format!("{} {ENDLESS}", brief(&scratch, &place.directory)));
    let folder = samples_in_journal(&scratch, 7);
    signal(run.id(), "KILL");
    assert_eq!(run.output().status.signal(), Some(9));
    assert_no_orphans();
    place.assert_given_back();
    let shown = printed(&assay(&scratch, &format!("report {} --format json", folder.display())));
    assert_explained(&shown);
    assert_eq!(shown["run"]["complete"], false);
    let measured: Vec<&Value> = rows(&shown).iter().filter(|row| is_verified(row)).collect();
    assert!(measured.iter().map(|row| samples(row).len()).sum::<usize>() >= 7, "{shown:#}");
    for row in measured {
        let latency = row["metrics"].as_array().unwrap().iter().find(|metric| metric["name"] == "latency").unwrap();
        assert!(number(&latency["summary"]["percentiles"], "p99") > 0.0, "{latency:#}");
    }
    // The next run takes away what the journal names, and only that.
    let foreign = place.directory.join("somebody's");
    std::fs::write(&foreign, "precious").unwrap();
    let next = assay(&scratch, "cpu --op fma --type fp64 --isa scalar --threads 1 --repeat 1");
    assert_eq!(next.status, Some(0), "{next:?}");
    assert_eq!(std::fs::read_to_string(&foreign).unwrap(), "precious");
    std::fs::remove_file(&foreign).unwrap();
    place.assert_given_back();
}

#[test]
fn a_disk_worker_that_is_killed_costs_its_row_only() {
    for samples_before in [0, 1] {
        let scratch = Scratch::new();
        let Some(place) = Place::find(&scratch, "a killed worker of a disk row") else { return };
        let run = Running::assay(&scratch, &format!("{} --repeat 3 {DEEP}", brief(&scratch, &place.directory)));
        if samples_before > 0 {
            samples_in_journal(&scratch, samples_before);
        }
        signal(run.worker(), "KILL");
        let ran = ended_within(run, PATIENCE);
        assert_eq!(ran.status, Some(1), "{ran:?}");
        let document = document(&only_run(&scratch));
        assert_explained(&document);
        let (failed, fine): (Vec<_>, Vec<_>) = rows(&document).iter().partition(|row| row["status"] == "failed");
        assert_eq!((failed.len(), fine.len()), (1, 3), "{ran:?}");
        assert!(text(failed[0], "reason").contains("SIGKILL"), "{:#}", failed[0]);
        assert!(fine.into_iter().all(is_verified), "what was half laid out is laid out anew: {ran:?}");
        place.assert_given_back();
    }
}

/// The median of a row's metric.
#[track_caller]
fn median(row: &Value, name: &str) -> f64 {
    let metric = row["metrics"].as_array().unwrap().iter().find(|metric| metric["name"] == name);
    number(&metric.unwrap_or_else(|| panic!("no '{name}' in {row:#}"))["summary"], "median")
}

#[test]
fn bytes_of_a_device_that_is_ours_alone_are_ours() {
    let scratch = Scratch::new();
    let Some(disk) = LoopDisk::make(&scratch, "ext4", 200, "") else {
        return skip("a device of our own", "making and mounting one needs the superuser and a loop device");
    };
    let kind = "disk --pattern random --op read,write --block 64KiB --depth 8 --size 64MiB --repeat 3";
    let shown = printed(&assay(&scratch, &format!("{kind} --dir {} --json -", disk.path().display())));
    assert_explained(&shown);
    for row in rows(&shown) {
        let seen = &row["conditions"]["disk"];
        assert!(is_verified(row), "{row:#}");
        assert!((0.99..1.05).contains(&number(seen, "device_share")), "{seen:#}");
        assert!(number(seen, "other_share") < 0.01, "{seen:#}");
        let told = codes(row);
        for code in ["cached", "not_direct", "amplified", "other_disk_traffic", "compressed"] {
            assert!(!told.contains(&code), "{code}: {row:#}");
        }
    }
}

#[test]
fn requests_for_nothing_are_not_held_against_a_device() {
    let scratch = Scratch::new();
    let Some(directory) = directory(&scratch, "requests for nothing") else { return };
    let kind = "disk --pattern random --op read --depth 1,32 --engine null --size 64MiB --repeat 1";
    let shown = printed(&assay(&scratch, &format!("{kind} --dir {} --json -", directory.display())));
    for row in rows(&shown) {
        let told = codes(row);
        for code in ["depth_not_reached", "other_disk_traffic", "peak_unknown", "little", "cpu_bound", "host_cache"] {
            assert!(!told.contains(&code), "{code}: {row:#}");
        }
    }
}

#[test]
fn a_limit_of_the_control_group_is_named_where_it_binds() {
    const PER_SECOND: u32 = 400;
    let scratch = Scratch::new();
    let Some(disk) = LoopDisk::make(&scratch, "ext4", 200, "") else {
        return skip("a throttled disk", "making and mounting one needs the superuser and a loop device");
    };
    let Some(group) = Cgroup::make("blkio").or_else(|| Cgroup::make("io")).filter(|_| has("mountpoint")) else {
        return skip("a throttled disk", "there is no control group of our own for devices here, or no mountpoint");
    };
    group.allow_reads(&disk.device(), PER_SECOND);
    let kind = "disk --pattern random --op read --depth 8 --size 64MiB --repeat 3";
    let arguments = format!("{kind} --dir {} --json -", disk.path().display());
    let shown = printed(&group.assay(&scratch, &arguments).output().unwrap().into());
    assert_explained(&shown);
    let row = &rows(&shown)[0];
    let share = median(row, "iops") / f64::from(PER_SECOND);
    assert!(share < 1.5, "the limit binds: {share}");
    // A throttle counts in slices of time, so that a short sample may hold a slice more or less.
    assert_eq!((0.95..=1.05).contains(&share), codes(row).contains(&"capped_by_cgroup"), "{share}: {row:#}");
    let peaks = row["metrics"][0]["peaks"].as_array().unwrap();
    let limit = peaks.iter().find(|peak| peak["kind"] == "limit").unwrap_or_else(|| panic!("{row:#}"));
    assert!((number(limit, "value") - f64::from(PER_SECOND)).abs() < 1e-6, "{limit:#}");
}

#[test]
fn a_file_that_is_to_be_compressed_is_named() {
    let scratch = Scratch::new();
    let Some(disk) = LoopDisk::make(&scratch, "btrfs", 320, "") else {
        return skip(
            "a compressed file",
            "making and mounting btrfs needs the superuser, mkfs.btrfs and a loop device",
        );
    };
    let folder = disk.path().join("compressed");
    std::fs::create_dir(&folder).unwrap();
    let told = |folder: &Path| {
        let kind = "disk --pattern random --op read --depth 8 --size 64MiB --verify --json -";
        let shown = printed(&assay(&scratch, &format!("{kind} --dir {}", folder.display())));
        assert_explained(&shown);
        rows(&shown).iter().all(|row| codes(row).contains(&"compressed"))
    };
    assert!(!told(&folder));
    if !Command::new("chattr").arg("+c").arg(&folder).status().is_ok_and(|status| status.success()) {
        return skip("a compressed file", "chattr +c cannot be done");
    }
    assert!(told(&folder));
}

#[test]
fn a_quota_that_is_too_small_skips_the_rows() {
    let scratch = Scratch::new();
    // Of btrfs, whose quotas are of folders and bind everybody.
    let Some(disk) = LoopDisk::make(&scratch, "btrfs", 320, "") else {
        return skip("a quota", "making and mounting btrfs needs the superuser, mkfs.btrfs and a loop device");
    };
    let path = disk.path().to_str().unwrap();
    let btrfs = |arguments: &[&str]| Command::new("btrfs").args(arguments).arg(path).output();
    let done = [["quota", "enable"].as_slice(), &["qgroup", "limit", "40M"]]
        .iter()
        .all(|arguments| btrfs(arguments).is_ok_and(|output| output.status.success()));
    if !done {
        return skip("a quota", "btrfs cannot set one");
    }
    let free_bytes = disk.free_bytes();
    let ran = assay(
        &scratch,
        &format!("disk --pattern random --op read --depth 1 --size 64MiB --verify --json - --dir {path}"),
    );
    let shown = printed(&ran);
    assert_explained(&shown);
    for row in rows(&shown) {
        assert_eq!(row["status"], "skipped", "{row:#}");
        assert!(text(row, "reason").contains("EDQUOT"), "{row:#}");
    }
    let back = wait_for(GIVEN_BACK, || (disk.free_bytes() + SLACK_BYTES >= free_bytes).then_some(()));
    assert!(back.is_some(), "of {free_bytes} bytes {} are free again", disk.free_bytes());
}

#[test]
fn a_limit_of_file_sizes_skips_the_rows() {
    let scratch = Scratch::new();
    let Some(folder) = directory(&scratch, "a limit of file sizes") else { return };
    let disk = "disk --pattern random --op read,write --depth 1 --size 64MiB --verify --json - --dir";
    // In units of 512 bytes, or of 1024 where `sh` is bash: less than the file in either.
    let line = r#"ulimit -f 40960; exec "$@""#;
    let mut limited = through_shell(&scratch, line, &format!("{disk} {}", folder.display()));
    let shown = printed(&limited.output().unwrap().into());
    assert_explained(&shown);
    assert!(!rows(&shown).is_empty());
    for row in rows(&shown) {
        assert_eq!(row["status"], "skipped", "{row:#}");
        assert!(text(row, "reason").contains("EFBIG"), "{row:#}");
    }
    assert_eq!(names(&folder), [""; 0]);
}
