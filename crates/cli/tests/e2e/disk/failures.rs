//! Disks that fail or disappear while they are measured, and interrupted runs: the space is free again, and every row has
//! a reason.

use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;

use crate::common::{
    Scratch, assay, document, is_verified, left_in, names, number, only_run, printed, rows, samples, skip, stored, text,
};
use crate::disk::later::{GIVEN_BACK, MIB, PATIENCE, SLACK_BYTES, assert_explained, begun_with_cpu, disk_rows};
use crate::disk::support::{brief, directory};
use crate::system::family::{ended_within, lives};
use crate::system::mounts::LoopDisk;
use crate::system::process::{Running, assert_no_orphans, samples_in_journal, signal, wait_for};

/// More samples than a test waits for.
const ENDLESS: &str = "--repeat 10000";

/// The rows of the brief suite at queue depth 8: one of each kind.
const DEEP: &str = "--filter disk/*/*/d8/t1";

/// A directory for test files, if possible on a file system of its own, so that its free space can be compared.
struct Place {
    disk: Option<LoopDisk>,
    directory: PathBuf,
    free_bytes: u64,
}

impl Place {
    fn find(scratch: &Scratch, what: &str) -> Option<Self> {
        let disk = LoopDisk::try_make(scratch, "ext4", 200, "");
        let directory = match &disk {
            Some(disk) => disk.path().to_owned(),
            None => directory(scratch, what)?,
        };
        let free_bytes = disk.as_ref().map_or(0, LoopDisk::free_bytes);
        Some(Self { disk, directory, free_bytes })
    }

    /// Asserts that no name, no open file and no space is left.
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

/// Open files below a directory, of all visible processes.
fn held_below(directory: &Path) -> Vec<PathBuf> {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let files = processes.filter_map(|process| std::fs::read_dir(process.path().join("fd")).ok()).flatten().flatten();
    files
        .map(|file| file.path())
        .filter(|file| std::fs::read_link(file).is_ok_and(|to| to.starts_with(directory)))
        .collect()
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
    let document = stored(&scratch);
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
    let Some(disk) = LoopDisk::make("a disk that is unmounted", &scratch, "ext4", 200, "") else { return };
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

/// Runs the command on a disk that fails meanwhile.
fn failing_disk(engine: &str, command: impl Fn(&Scratch, &Path) -> String) {
    let scratch = Scratch::new();
    let what = format!("a disk that fails under {engine}");
    let Some(disk) = LoopDisk::make(&what, &scratch, "ext4", 200, "") else { return };
    let run = Running::assay(&scratch, &format!("{} {ENDLESS}", command(&scratch, disk.path())));
    samples_in_journal(&scratch, 1);
    // The backing file is gone: reads of the loop device fail with EIO.
    std::fs::File::options().write(true).open(disk.image()).unwrap().set_len(MIB).unwrap();
    // Writes extend the file again, so not every row has to fail.
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
    // By now a worker waits for a write that even SIGKILL does not end.
    std::thread::sleep(Duration::from_millis(500));
    signal(run.id(), "INT");
    let ended = wait_for(Duration::from_secs(20), || (!lives(run.id())).then_some(()));
    // First of all: nothing that waits for this disk can be ended.
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
    let (name, status) = ("TERM", 143);
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
    // The next run removes only what the journal lists.
    let foreign = place.directory.join("foreign");
    std::fs::write(&foreign, "precious").unwrap();
    let next = assay(&scratch, "cpu --op fma --type fp64 --isa scalar --threads 1 --repeat 1");
    assert_eq!(next.status, Some(0), "{next:?}");
    assert_eq!(std::fs::read_to_string(&foreign).unwrap(), "precious");
    std::fs::remove_file(&foreign).unwrap();
    place.assert_given_back();
}

#[test]
fn a_disk_worker_that_is_killed_costs_its_row_only() {
    let scratch = Scratch::new();
    let Some(place) = Place::find(&scratch, "a killed worker of a disk row") else { return };
    let run = Running::assay(&scratch, &format!("{} --repeat 3 {DEEP}", brief(&scratch, &place.directory)));
    // While it lays out the file.
    signal(run.worker(), "KILL");
    let ran = ended_within(run, PATIENCE);
    assert_eq!(ran.status, Some(1), "{ran:?}");
    let document = document(&only_run(&scratch));
    assert_explained(&document);
    let (failed, fine): (Vec<_>, Vec<_>) = rows(&document).iter().partition(|row| row["status"] == "failed");
    assert_eq!((failed.len(), fine.len()), (1, 3), "{ran:?}");
    assert!(text(failed[0], "reason").contains("SIGKILL"), "{:#}", failed[0]);
    assert!(fine.into_iter().all(is_verified), "a half-written file is written again: {ran:?}");
    place.assert_given_back();
}
