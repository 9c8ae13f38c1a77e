//! Disks that are nearly full, in memory, or under a quota: a smaller file, or rows with a reason.

use std::path::Path;
use std::process::Command;

use crate::common::{
    Scratch, assay, command, document, is_verified, measured, names, only_run, printed, ran, refusal, rows, skip,
    suite, text,
};
use crate::disk::later::{
    AFTER_CPU, GIVEN_BACK, MIB, PATIENCE, SLACK_BYTES, assert_explained, begun_with_cpu, disk_rows,
};
use crate::disk::support::directory;
use crate::system::family::ended_within;
use crate::system::mounts::{LoopDisk, Overlay, Tmpfs, Zram};
use crate::system::process::{through_shell, wait_for};

#[test]
fn a_disk_that_is_nearly_full_gets_a_smaller_file_or_none() {
    let scratch = Scratch::new();
    let Some(disk) = LoopDisk::make("a nearly full disk", &scratch, "ext4", 256, "") else { return };
    let free_bytes = disk.free_bytes();
    let arguments = format!("disk --pattern random --depth 1 --dir {}", disk.path().display());
    let shrunk = measured(&scratch, &format!("{arguments} --verify"));
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
fn a_store_that_is_nearly_full_leaves_the_other_areas_alone() {
    let scratch = Scratch::new();
    let Some(disk) = LoopDisk::make("a nearly full store", &scratch, "ext4", 256, "") else { return };
    disk.take(disk.free_bytes() - 60 * MIB);
    let run = |arguments: &str| {
        let mut command = command(&scratch, arguments.split_whitespace());
        command.env("ASSAY_STORE", disk.path());
        ran(command)
    };
    let ran = run(&format!("{} --verify --json -", suite(&scratch, AFTER_CPU)));
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

/// Asserts that a directory is refused, past the page cache and through it, with this reason.
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
    let Some(memory) = Tmpfs::mount("file systems on memory", scratch.join("memory"), "size=200m") else { return };
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
fn a_disk_that_another_process_fills_first_skips_its_rows() {
    let scratch = Scratch::new();
    let Some(disk) = LoopDisk::make("a disk that another process fills", &scratch, "ext4", 200, "") else { return };
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
fn a_quota_that_is_too_small_skips_the_rows() {
    let scratch = Scratch::new();
    // Quotas of btrfs are per folder and apply to root too.
    let Some(disk) = LoopDisk::make("a quota", &scratch, "btrfs", 320, "") else { return };
    let path = disk.path().to_str().unwrap();
    let btrfs = |arguments: &[&str]| Command::new("btrfs").args(arguments).arg(path).output();
    let done = [["quota", "enable"].as_slice(), &["qgroup", "limit", "40M"]]
        .iter()
        .all(|arguments| btrfs(arguments).is_ok_and(|output| output.status.success()));
    if !done {
        return skip("a quota", "btrfs cannot set one");
    }
    let free_bytes = disk.free_bytes();
    let arguments = "disk --pattern random --op read --depth 1 --size 64MiB --verify --json -";
    let shown = printed(&assay(&scratch, &format!("{arguments} --dir {path}")));
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
    // In units of 512 bytes, or of 1024 where `sh` is bash: less than the file in both.
    let line = r#"ulimit -f 40960; exec "$@""#;
    let shown = printed(&ran(through_shell(&scratch, line, &format!("{disk} {}", folder.display()))));
    assert_explained(&shown);
    assert!(!rows(&shown).is_empty());
    for row in rows(&shown) {
        assert_eq!(row["status"], "skipped", "{row:#}");
        assert!(text(row, "reason").contains("(EFBIG): ulimit -f limits files to"), "{row:#}");
    }
    assert_eq!(names(&folder), [""; 0]);
}
