//! `assay disk`: its rows and documents, its options, refused requests.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use crate::common::{
    Kept, Scratch, codes, ids, is_verified, list, listed, metric, names, number, refused, rows, same, samples, suite,
    text,
};
use crate::disk::support::{assert_direct_or_said, brief, checked, directory, seen, writes};
use crate::system::mounts::LoopDisk;

/// Every operation in every order, some with two threads or waiting for the medium, each in a moment.
const EVERY: &str = r#"
name = "every"
sampling.disk = { samples = 6, per_launch = 3, sample = "60ms", warm_up = ["20ms", "40ms"], target = 0.05 }
disk = [
    { pattern = "sequential", op = ["read", "write", "mixed", "rewrite", "reread"], block = ["64KiB"], depth = [4], size = "64MiB", threads = ["1"] },
    { pattern = "random", op = ["read", "write", "mixed", "rewrite", "reread"], block = ["4KiB"], depth = [4], size = "64MiB", threads = ["2"] },
    { pattern = "backward", op = ["read", "write", "mixed", "rewrite", "reread"], block = ["64KiB"], depth = [4], size = "64MiB", threads = ["1"] },
    { pattern = "strided", op = ["read", "write", "mixed", "rewrite", "reread"], block = ["4KiB"], depth = [4], size = "64MiB", threads = ["2"] },
    { pattern = "random", op = ["read", "write", "mixed"], block = ["8KiB"], depth = [1], size = "64MiB", sync = ["dsync", "sync"], threads = ["1"] },
]
"#;

/// A run of [`brief`]; `None` without a disk.
static RUN: LazyLock<Option<Kept>> = LazyLock::new(|| {
    let scratch = Scratch::new();
    let directory = directory(&scratch, "documents of disk rows")?;
    let arguments = format!("{} --repeat 6", brief(&scratch, &directory));
    let run = Kept::measure(&scratch, &arguments, ["sequential 1 MiB", "random 4 KiB"]);
    assert_eq!(names(&directory), [""; 0], "the test file is gone");
    assert_eq!(names(&scratch.join("store")), ["runs"]);
    Some(run)
});

#[test]
fn every_combination_is_a_row_and_measured() {
    let Some(run) = &*RUN else { return };
    assert_eq!(run.document["run"]["complete"], true);
    let expected = ["sequential-read/1MiB", "sequential-write/1MiB", "random-read/4KiB", "random-write/4KiB"];
    let expected = expected.iter().flat_map(|kind| [1, 8].map(|depth| format!("disk/{kind}/d{depth}/t1")));
    assert!(ids(&run.document).into_iter().eq(expected), "{:?}", ids(&run.document));
    for row in rows(&run.document) {
        assert!(is_verified(row), "{row:#}");
        assert_eq!((&row["params"]["direct"], &row["params"]["cache"]), (&true.into(), &"bypassed".into()));
        assert_eq!(row["params"]["size"], 64 << 20);
    }
}

#[test]
fn every_operation_in_every_order_is_measured_and_checked() {
    let scratch = Scratch::new();
    let disk = LoopDisk::try_make(&scratch, "ext4", 160, "");
    let Some(directory) = disk
        .as_ref()
        .map_or_else(|| directory(&scratch, "operations and orders on a disk"), |disk| Some(disk.path().to_owned()))
    else {
        return;
    };
    let found = checked(&scratch, &format!("{} --dir {}", suite(&scratch, EVERY), directory.display()));
    // Reads wait for no medium, so the last stanza has five rows.
    assert_eq!(found.len(), 4 * 5 + 5, "{found:#?}");
    for row in &found {
        let (op, sync) = (text(&row["params"], "op"), text(&row["params"], "sync"));
        let named = format!("disk/{}-{op}/", text(&row["params"], "pattern"));
        assert!(text(row, "id").starts_with(&named), "{row:#}");
        assert_eq!(text(row, "id").contains(&format!("/{sync}/")), sync != "none", "{row:#}");
        assert_eq!(row["method"], format!("disk-{op}/3"), "the order is a parameter");
        let disk = seen(row);
        assert_eq!(disk["flush_seconds"].is_number(), writes(row), "{disk:#}");
        let apart = ["read_share", "read_latency_seconds", "write_latency_seconds"].map(|name| disk[name].is_number());
        assert_eq!(apart, [op == "mixed"; 3], "{disk:#}");
        assert!(disk["read_share"].as_f64().is_none_or(|share| share > 0.0 && share < 1.0), "{disk:#}");
        assert_direct_or_said(row);
    }
    assert_eq!(names(&directory).into_iter().filter(|name| name != "lost+found").count(), 0, "the file is gone");
}

#[test]
fn rows_on_xfs_bypass_its_cache() {
    let scratch = Scratch::new();
    let Some(disk) = LoopDisk::make("xfs", &scratch, "xfs", 320, "") else { return };
    for row in checked(&scratch, &brief(&scratch, disk.path())) {
        assert_eq!(seen(&row)["filesystem"], "xfs");
        assert!(!codes(&row).contains(&"not_direct"), "{row:#}");
    }
}

#[test]
fn three_metrics_agree_on_the_requests() {
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
            same(number(latency, "work"), number(iops, "work"));
            assert!(number(latency, "value") > 0.0);
            requests += number(iops, "work");
        }
        let percentiles = &latency["summary"]["percentiles"];
        // The windows count requests that end in them, the histogram also those that begin in them.
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
    let listed = |arguments: &str| listed(&format!("disk --dir {} {arguments}", directory.display()));
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
fn requests_that_cannot_be_are_refused() {
    let scratch = Scratch::new();
    let Some(directory) = directory(&scratch, "refused disk requests") else { return };
    for (arguments, says) in [
        ("--size 900TiB", &["does not fit", "are free", "must stay free"][..]),
        ("--size 5000", &["multiple of 4 KiB"]),
        ("--size 64MiB --block 1MiB --depth 64", &["is too small", "64 requests", "larger --size"]),
        ("--depth 0", &["'0'", "1..=1024"]),
        ("--engine sync --depth 1024 --threads 5 --block 512", &["too many", "4096"]),
        ("--pattern backward --op mixed", &["no disk benchmark of that combination", "backward with read, write"]),
        ("--op nonsense", &["'nonsense'", "read, write"]),
    ] {
        refused(&format!("disk --dir {} {arguments}", directory.display()), says);
        assert_eq!(names(&directory), [""; 0], "'{arguments}' left something behind");
    }
}
