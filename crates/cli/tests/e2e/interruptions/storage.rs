//! Outputs that cannot be written: refused before measuring if possible, otherwise reported without losing results.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use crate::common::{
    Ran, Scratch, assay, check, command, document, is_root, is_verified, left_in, names, printed, ran, refusal, rows,
    samples, stored_runs,
};
use crate::system::mounts::{Locked, Tmpfs};
use crate::system::process::{Running, journalled, samples_in_journal, through_shell, wait_for};

/// A run of one row, measured in a moment.
const BRIEF: &str = "cpu --op fma --type fp64 --isa scalar --threads 1 --repeat 1";

#[test]
fn nobody_has_to_listen() {
    for line in ["\"$@\" <&- >&- 2>&-", "{ \"$@\"; echo $? >status; } | head -c 1"] {
        let scratch = Scratch::new();
        let mut command = through_shell(&scratch, line, BRIEF);
        let ran: Ran = command.current_dir(scratch.path()).output().unwrap().into();
        assert_eq!(ran.status, Some(0), "{line}: {ran:?}");
        let status = std::fs::read_to_string(scratch.join("status")).unwrap_or("0\n".into());
        assert_eq!(status, "0\n", "{line}: {ran:?}");
        let runs = stored_runs(&scratch);
        assert_eq!(runs.len(), 1, "{line}");
        assert_eq!(document(&runs[0])["run"]["complete"], true, "{line}");
    }
}

#[test]
fn a_reader_that_has_read_enough_is_no_error_for_any_command() {
    let scratch = Scratch::new();
    assert_eq!(assay(&scratch, BRIEF).status, Some(0));
    let name = names(&scratch.join("store/runs")).remove(0);
    let report = format!("report {name} --format json");
    for arguments in ["run --list", "--help", &report] {
        let line = "{ \"$@\"; echo $? >status; } | :";
        let mut command = through_shell(&scratch, line, arguments);
        let ran: Ran = command.current_dir(scratch.path()).output().unwrap().into();
        let status = std::fs::read_to_string(scratch.join("status")).unwrap();
        assert_eq!(status, "0\n", "{arguments}: {ran:?}");
    }
}

#[test]
fn a_full_device_for_the_result_is_an_error() {
    let scratch = Scratch::new();
    let mut command = command(&scratch, ["run", "--list"]);
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let ran: Ran = command.stdout(Stdio::from(full)).output().unwrap().into();
    assert_eq!(ran.status, Some(2));
    assert!(ran.stderr.contains("standard output"), "{ran:?}");
}

#[test]
fn a_document_that_cannot_go_where_it_is_wanted_is_refused_at_the_start() {
    let scratch = Scratch::new();
    let taken = scratch.join("file");
    std::fs::write(&taken, "").unwrap();
    for path in ["no/such/folder/run.json", "file/run.json", ""] {
        let path = scratch.path().join(path);
        let ran = assay(&scratch, &format!("{BRIEF} --json {}", path.display()));
        let sentence = refusal(&ran);
        assert!(sentence.contains(path.to_str().unwrap()) && sentence.contains("cannot write"), "{sentence}");
    }
    assert_eq!(names(scratch.path()), ["file"], "nothing was measured, and nothing is left behind");
}

/// Asserts that nothing can be stored below `folder`, which is refused at once, and that nothing is left behind.
fn assert_refused_below(scratch: &Scratch, folder: &Path) {
    let before = names(folder);
    let out = format!("{BRIEF} --out {}", folder.join("run").display());
    let itself = format!("{BRIEF} --out {}", folder.display());
    let json = format!("{BRIEF} --json {}", folder.join("run.json").display());
    for arguments in [out, itself, json] {
        let sentence = refusal(&assay(scratch, &arguments)).to_owned();
        assert!(sentence.contains(folder.to_str().unwrap()) && sentence.lines().count() == 1, "{sentence}");
    }
    let mut in_store = command(scratch, BRIEF.split_whitespace());
    in_store.env("ASSAY_STORE", folder.join("store"));
    let in_store = ran(in_store);
    assert!(refusal(&in_store).contains(folder.to_str().unwrap()), "{in_store:?}");
    assert_eq!(names(folder), before, "something was left behind, or the folder itself was taken away");
    assert!(stored_runs(scratch).is_empty());
}

#[test]
fn a_folder_that_is_read_only_is_refused() {
    let scratch = Scratch::new();
    let folder = scratch.join("read-only");
    if is_root() {
        let Some(mounted) = Tmpfs::mount("a read-only folder", folder, "ro,size=64k") else { return };
        assert_refused_below(&scratch, mounted.path());
    } else {
        std::fs::create_dir(&folder).unwrap();
        let locked = Locked::new(&folder);
        assert_refused_below(&scratch, &folder);
        drop(locked);
    }
}

#[test]
fn a_disk_that_is_full_is_refused() {
    let scratch = Scratch::new();
    let Some(disk) = Tmpfs::mount("a full disk", scratch.join("disk"), "size=64k,mode=777") else { return };
    disk.fill();
    let sentence =
        refusal(&assay(&scratch, &format!("{BRIEF} --out {}", disk.path().join("run").display()))).to_owned();
    assert!(sentence.contains("No space left") && sentence.contains("--out"), "{sentence}");
    assert_eq!(names(disk.path()), ["filler"], "something was left behind");
}

#[test]
fn a_disk_that_fills_up_costs_the_store_and_not_the_result() {
    let scratch = Scratch::new();
    let Some(disk) = Tmpfs::mount("a disk that fills up", scratch.join("store"), "size=4m,mode=777") else { return };
    let run = Running::assay(&scratch, "cpu --op fma --type fp64,fp32 --isa scalar --threads 1 --repeat 9 --details");
    let folder = samples_in_journal(&scratch, 4);
    disk.fill();
    let ran = run.end();
    assert_eq!(ran.status, Some(1), "{ran:?}");
    assert!(ran.stdout.contains("FP64") && ran.stdout.contains("FP32"), "the result is shown: {ran:?}");
    let complaints = ran.stderr.lines().filter(|line| line.starts_with("assay: ")).collect::<Vec<_>>();
    assert_eq!(complaints.len(), 1, "it is said once: {complaints:?}");
    assert!(complaints[0].contains("No space left"), "{complaints:?}");
    assert!(!ran.stdout.contains("Stored:"), "{ran:?}");
    // The document stored before still loads.
    let shown = printed(&assay(&scratch, &format!("report {} --format json", folder.display())));
    check(&shown);
    assert_eq!(shown["run"]["complete"], false);
    assert!(rows(&shown).iter().any(|row| is_verified(row) && !samples(row).is_empty()));
}

/// Waits until the journal has not changed for longer than a process run takes.
fn wait_until_still(folder: &Path) {
    const LOOKS: u32 = 150;
    let (mut seen, mut unchanged) = (usize::MAX, 0);
    wait_for(Duration::from_secs(10), || {
        let now = journalled(folder);
        unchanged = if now == seen { unchanged + 1 } else { 0 };
        seen = now;
        (unchanged >= LOOKS).then_some(())
    });
}

#[test]
fn space_that_comes_back_in_time_saves_the_run() {
    let scratch = Scratch::new();
    let Some(disk) = Tmpfs::mount("a disk that is full for a while", scratch.join("store"), "size=4m,mode=777") else {
        return;
    };
    let run = Running::assay(&scratch, "cpu --op fma --type fp64,fp32 --isa scalar --threads 1 --repeat 12");
    let folder = samples_in_journal(&scratch, 2);
    disk.fill();
    wait_until_still(&folder);
    std::fs::remove_file(disk.path().join("filler")).unwrap();
    let ran = run.end();
    assert_eq!(ran.status, Some(0), "{ran:?}");
    assert!(ran.stderr.contains("No space left"), "it had met the full disk: {ran:?}");
    let document = document(&folder);
    check(&document);
    assert!(rows(&document).iter().all(|row| samples(row).len() == 12), "every sample is there after all");
    assert_eq!(left_in(&folder), ["run.json"]);
}
