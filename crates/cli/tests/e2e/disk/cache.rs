//! `assay disk` through the page cache and past it, with small blocks, per-thread files, 4 KiB sectors and exact totals.

use serde_json::Value;

use crate::common::{
    Scratch, assay, codes, is_verified, list, names, number, refusal, rows, samples, skip, suite, text,
};
use crate::disk::support::{directory, seen};
use crate::system::mounts::LoopDisk;

const MIB: u64 = 1 << 20;

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
fn writes_come_to_less_with_their_flush() {
    let scratch = Scratch::new();
    let Some(directory) = directory(&scratch, "flushed writes") else { return };
    let kind = "disk --pattern sequential --block 1MiB --depth 1 --op read,write --cache bypassed,warm --size 64MiB";
    let found = measured(&scratch, &format!("{kind} --repeat 2 --dir {}", directory.display()));
    assert_eq!(found.len(), 4);
    for row in &found {
        assert!(is_verified(row), "{row:#}");
        let flushed = &seen(row)["flushed_bytes_per_second"];
        assert_eq!(flushed.is_number(), row["params"]["op"] == "write", "{row:#}");
        let best = samples(row).iter().map(|sample| number(sample, "value")).fold(0.0, f64::max);
        assert!(flushed.as_f64().is_none_or(|rate| rate > 0.0 && rate <= best), "{row:#}");
    }
}

#[test]
fn words_of_eight_bytes_are_checked_and_only_a_cache_can_take_them() {
    let scratch = Scratch::new();
    let Some(directory) = directory(&scratch, "blocks of eight bytes") else { return };
    let kind = format!("disk --pattern sequential,random --block 8B --size 64MiB --dir {}", directory.display());
    let found = measured(&scratch, &format!("{kind} --depth 1 --op read,write --cache warm --threads 2 --verify"));
    assert_eq!(found.len(), 4);
    for row in &found {
        assert!(is_verified(row) && text(row, "id").contains("/8B/"), "{row:#}");
        let work: f64 = samples(row).iter().map(|sample| number(sample, "work")).sum();
        assert!(work > 0.0, "{row:#}");
    }
    let refused = assay(&scratch, &kind);
    assert_eq!(refused.status, Some(2), "{refused:?}");
    let says = ["a block of 8B is not possible", "--cache warm"];
    assert!(says.iter().all(|part| refused.stderr.contains(part)), "{refused:?}");
}

#[test]
fn threads_have_files_of_their_own_that_are_gone_afterwards() {
    let scratch = Scratch::new();
    let Some(directory) = directory(&scratch, "a file for each thread") else { return };
    let kind = "disk --pattern random --block 64KiB --depth 4 --op read,write --layout shared,per_thread --threads 1,3";
    let found = measured(&scratch, &format!("{kind} --size 64MiB --verify --dir {}", directory.display()));
    assert_eq!(found.len(), 8);
    for row in &found {
        assert!(is_verified(row) && row["params"]["size"] == 64 * MIB, "{row:#}");
        assert_eq!(text(row, "id").contains("/per_thread/"), row["params"]["layout"] == "per_thread");
        assert_eq!(seen(row)["unwritten_bytes"].as_u64().unwrap_or(0), 0, "{row:#}");
    }
    assert_eq!(names(&directory), [""; 0]);
    let huge = assay(&scratch, &format!("{kind} --size 400TiB --dir {}", directory.display()));
    assert!(huge.status == Some(2) && huge.stderr.contains("3 test files of together"), "{huge:?}");
}

#[test]
fn without_direct_io_rows_through_the_page_cache_are_measured() {
    let scratch = Scratch::new();
    // With data=journal ext4 keeps all data in the page cache.
    let Some(disk) = LoopDisk::make(&scratch, "ext4", 240, "data=journal") else {
        return skip("a file system without direct I/O", "it needs the superuser and a loop device");
    };
    let kind = "disk --pattern random --depth 1 --op read,write --cache bypassed,cold,warm --size 64MiB";
    let found = measured(&scratch, &format!("{kind} --block 4KiB --verify --dir {}", disk.path().display()));
    assert_eq!(found.len(), 5);
    for row in &found {
        if row["params"]["cache"] == "bypassed" {
            assert_eq!(text(row, "status"), "skipped", "{row:#}");
            assert!(text(row, "reason").contains("has no direct I/O"), "{row:#}");
        } else {
            assert!(is_verified(row) && seen(row)["laid_out_through_cache"] == true, "{row:#}");
        }
    }
    let past = "disk --pattern random --op read --cache bypassed --size 64MiB --verify --dir";
    let sentence = refusal(&assay(&scratch, &format!("{past} {}", disk.path().display()))).to_owned();
    assert!(sentence.contains("has no direct I/O") && sentence.contains("--cache cold,warm"), "{sentence}");
    let left: Vec<String> = names(disk.path()).into_iter().filter(|name| name != "lost+found").collect();
    assert_eq!(left, [""; 0], "the file is gone");
}

/// A suite whose totals are small.
const TOTALS: &str = r#"
name = "totals"
sampling.disk = { samples = 3, per_launch = 3, sample = "50ms", warm_up = ["20ms", "40ms"], target = 0.05 }
[[disk]]
pattern = "sequential"
op = ["read", "write"]
block = ["1MiB"]
depth = [4]
size = "64MiB"
threads = ["3"]
classic = "RS"
total = 20971520
[[disk]]
pattern = "random"
op = ["read"]
block = ["4KiB"]
depth = [2]
size = "64MiB"
cache = ["bypassed", "cold"]
threads = ["2"]
classic = "RR"
total = 1001
"#;

#[test]
fn a_total_is_done_in_full_to_the_byte() {
    let scratch = Scratch::new();
    let Some(directory) = directory(&scratch, "totals of disk rows") else { return };
    let run = format!("{} --exact-workload --dir {}", suite(&scratch, TOTALS), directory.display());
    let found = measured(&scratch, &run);
    assert_eq!(found.len(), 4);
    for row in &found {
        assert!(is_verified(row), "{row:#}");
        let (expected, headline) =
            if row["params"]["pattern"] == "random" { (1001.0, "iops") } else { (20_971_520.0, "throughput") };
        assert_eq!(text(&list(row, "metrics")[0], "name"), headline);
        assert_eq!(samples(row).len(), 3);
        for sample in samples(row) {
            assert!((number(sample, "work") - expected).abs() < 0.5, "{sample:#}");
            assert!(number(sample, "seconds") > 0.0 && number(sample, "seconds") < 1e3, "{sample:#}");
        }
    }
}
