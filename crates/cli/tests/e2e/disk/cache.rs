//! `assay disk` through the page cache and past it.

use serde_json::Value;

use crate::common::{Scratch, assay, codes, is_verified, names, number, refusal, rows, skip, text};
use crate::disk::support::{directory, seen};
use crate::system::mounts::LoopDisk;

/// The rows of a run that must succeed, whatever their status.
fn measured(scratch: &Scratch, arguments: &str) -> Vec<Value> {
    rows(&crate::common::measured(scratch, arguments)).to_vec()
}

#[test]
fn a_cold_cache_is_empty_and_a_warm_one_is_full() {
    let scratch = Scratch::new();
    let Some(directory) = directory(&scratch, "cold and warm page caches") else { return };
    for (pattern, block) in [("random", "4KiB"), ("sequential", "1MiB")] {
        let kind = format!("disk --pattern {pattern} --block {block} --depth 1,4 --op read --cache bypassed,cold,warm");
        let found = measured(&scratch, &format!("{kind} --size 64MiB --verify --dir {}", directory.display()));
        assert_eq!(found.len(), 6);
        for row in &found {
            assert!(is_verified(row), "{row:#}");
            let (cache, seen) = (text(&row["params"], "cache"), seen(row));
            assert_eq!(row["params"]["direct"], cache == "bypassed");
            let storage_share = seen["storage_share"].as_f64();
            match cache {
                // Readahead reaches the device too.
                "cold" => {
                    assert!(number(seen, "cached_share_before") <= 0.05, "{seen:#}");
                    assert_eq!(seen["dropped_system_wide"], false, "our own file went: {seen:#}");
                    assert!(storage_share.is_none_or(|share| share > 0.9), "the device was not reached: {seen:#}");
                    assert!(number(seen, "cached_share") > 0.0, "nothing went through the cache: {seen:#}");
                }
                "warm" => {
                    assert!(number(seen, "cached_share_before") > 0.99, "{seen:#}");
                    assert!(storage_share.is_none_or(|share| share < 0.1), "the device was reached: {seen:#}");
                }
                _ => {
                    assert!(seen["cached_share_before"].is_null(), "{seen:#}");
                    assert!(number(seen, "cached_share") < 0.01 || codes(row).contains(&"not_direct"), "{seen:#}");
                }
            }
            assert_eq!(row["method"] == "disk-cached-read/3", cache != "bypassed");
        }
    }
    assert_eq!(names(&directory), [""; 0]);
}

#[test]
fn without_direct_io_rows_through_the_page_cache_are_measured() {
    let scratch = Scratch::new();
    // With data=journal ext4 keeps all data in the page cache.
    let Some(disk) = LoopDisk::make("a file system without direct I/O", &scratch, "ext4", 240, "data=journal") else {
        return;
    };
    let kind = "disk --pattern random --depth 1 --op read,write --cache bypassed,cold,warm --size 64MiB";
    let found = measured(&scratch, &format!("{kind} --block 4KiB --verify --dir {}", disk.path().display()));
    assert_eq!(found.len(), 5);
    let is_known = !found.iter().all(is_verified);
    for row in &found {
        if row["params"]["cache"] == "bypassed" && is_verified(row) {
            assert!(codes(row).contains(&"not_direct"), "the kernel reports no direct I/O: {row:#}");
        } else if row["params"]["cache"] == "bypassed" {
            assert_eq!(text(row, "status"), "skipped", "{row:#}");
            assert!(text(row, "reason").contains("has no direct I/O"), "{row:#}");
        } else {
            assert!(is_verified(row) && (seen(row)["laid_out_through_cache"] == true || !is_known), "{row:#}");
        }
    }
    if !is_known {
        return skip("a refusal without direct I/O", "the kernel (before 6.1) or an emulator does not report it");
    }
    let past = "disk --pattern random --op read --cache bypassed --size 64MiB --verify --dir";
    let sentence = refusal(&assay(&scratch, &format!("{past} {}", disk.path().display()))).to_owned();
    assert!(sentence.contains("has no direct I/O") && sentence.contains("--cache cold,warm"), "{sentence}");
    let left: Vec<String> = names(disk.path()).into_iter().filter(|name| name != "lost+found").collect();
    assert_eq!(left, [""; 0], "the file is gone");
}
