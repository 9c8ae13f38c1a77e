//! File systems of disk benchmarks: loop devices, overlays, refused directories.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::common::{
    Scratch, assay, check, codes, command, is_root, list, measured, names, printed, ran, refusal, rows, skip, text,
};
use crate::disk::support::{assert_direct_or_said, brief, checked, directory, is_memory, seen, writes};
use crate::system::mounts::{Locked, LoopDisk, Overlay, ReadOnly};

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
    refused(&scratch.join("missing"), "does not exist");
    refused(&file, "is not a directory");
    refused(Path::new("/proc"), if is_root() { "cannot hold files" } else { "is not writable for this user" });
    if is_memory(Path::new("/dev/shm")) {
        refused(Path::new("/dev/shm"), "is tmpfs, which is memory");
    } else {
        skip("--dir in memory", "/dev/shm is no tmpfs");
    }
    let folder = scratch.join("folder");
    std::fs::create_dir(&folder).unwrap();
    if is_root() {
        if let Some(_mounted) = ReadOnly::mount("--dir on a read-only mount", &folder) {
            refused(&folder, "is mounted read-only");
        }
    } else {
        let locked = Locked::new(&folder);
        refused(&folder, "is not writable for this user");
        drop(locked);
    }
    assert_eq!(names(&folder), [""; 0]);
}

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
    command.env("ASSAY_STORE", &store.0);
    let ran = ran(command);
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

#[test]
fn a_loop_device_is_named_and_said_to_be_a_file() {
    let scratch = Scratch::new();
    let Some(disk) = LoopDisk::make("a loop device", &scratch, "ext4", 160, "") else { return };
    let json = scratch.join("run.json");
    let arguments = format!("disk --pattern random --op read --depth 1 --size 64MiB --dir {}", disk.path().display());
    let ran = assay(&scratch, &format!("{arguments} --repeat 1 --details --json {}", json.display()));
    assert_eq!(ran.status, Some(0), "{ran:?}");
    assert!(ran.stdout.contains("ext4 on loop"), "{}", ran.stdout);
    let found: Value = serde_json::from_str(&std::fs::read_to_string(&json).unwrap()).unwrap();
    check(&found);
    for row in rows(&found) {
        let layers = list(seen(row), "layers").iter().chain(list(seen(row), "devices"));
        assert!(layers.filter_map(Value::as_str).any(|name| name.starts_with("loop")), "{row:#}");
        let warning = list(row, "warnings").iter().find(|warning| warning["code"] == "host_cache");
        let sentence = text(warning.expect("a warning"), "text");
        let file = format!(" is the file '{}', which this machine's page cache", disk.image().display());
        assert!(sentence.starts_with("loop") && sentence.contains(&file), "{sentence}");
    }
}

#[test]
fn btrfs_overwrites_in_place_or_is_said_not_to() {
    let scratch = Scratch::new();
    let Some(disk) = LoopDisk::make("btrfs", &scratch, "btrfs", 320, "compress-force=zstd") else { return };
    let arguments = "disk --pattern random --depth 8 --size 64MiB --dir";
    for row in checked(&scratch, &format!("{arguments} {}", disk.path().display())) {
        assert_eq!((&seen(&row)["filesystem"], &seen(&row)["in_place"]), (&"btrfs".into(), &true.into()), "{row:#}");
        assert_direct_or_said(&row);
        assert!(!codes(&row).contains(&"not_direct") && !codes(&row).contains(&"compressed"), "{row:#}");
    }
    // Btrfs reports no alignment for direct requests, and buffers anything smaller than its own blocks.
    let small = "disk --pattern random --depth 1 --block 512,1KiB,4KiB --size 64MiB --verify";
    let shown = measured(&scratch, &format!("{small} --dir {}", disk.path().display()));
    for row in rows(&shown) {
        let whole = row["params"]["block"] == 4096;
        assert_eq!(row["status"] == "ok", whole, "{row:#}");
        assert!(whole || text(row, "reason").contains("needs multiples of 4096 bytes"), "{row:#}");
    }
    // A compressed file cannot be overwritten in place.
    let compressed = disk.path().join("compressed");
    std::fs::create_dir(&compressed).unwrap();
    if !Command::new("chattr").arg("+c").arg(&compressed).status().is_ok_and(|status| status.success()) {
        return skip("a file that btrfs copies on write", "chattr +c cannot be done");
    }
    for row in checked(&scratch, &format!("{arguments} {}", compressed.display())) {
        assert_eq!(seen(&row)["in_place"], false, "{row:#}");
        assert_direct_or_said(&row);
        assert_eq!(codes(&row).contains(&"not_direct"), writes(&row), "{row:#}");
        assert!(codes(&row).contains(&"compressed"), "{row:#}");
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
