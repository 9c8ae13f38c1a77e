//! Observations of the device below the test file: its own bytes, limits of a control group.

use crate::common::{Scratch, assay, codes, is_verified, median, number, printed, ran, rows};
use crate::disk::later::assert_explained;
use crate::system::cgroup::Cgroup;
use crate::system::mounts::LoopDisk;

#[test]
fn bytes_of_a_device_that_is_ours_alone_are_ours() {
    let scratch = Scratch::new();
    let Some(disk) = LoopDisk::make("a device of our own", &scratch, "ext4", 200, "") else { return };
    let kind = "disk --pattern random --op read,write --block 64KiB --depth 8 --size 64MiB --repeat 3";
    let shown = printed(&assay(&scratch, &format!("{kind} --dir {} --json -", disk.path().display())));
    assert_explained(&shown);
    for row in rows(&shown) {
        let seen = &row["conditions"]["disk"];
        assert!(is_verified(row), "{row:#}");
        assert!((0.99..1.05).contains(&number(seen, "device_share")), "{seen:#}");
        assert!(number(seen, "other_share") < 0.01, "{seen:#}");
        let warned = codes(row);
        for code in ["cached", "not_direct", "amplified", "other_disk_traffic", "compressed"] {
            assert!(!warned.contains(&code), "{code}: {row:#}");
        }
    }
}

#[test]
fn a_limit_of_the_control_group_is_named_where_it_binds() {
    const PER_SECOND: u32 = 400;
    let scratch = Scratch::new();
    let Some(disk) = LoopDisk::make("a throttled disk", &scratch, "ext4", 200, "") else { return };
    let Some(group) = Cgroup::for_devices("a throttled disk") else { return };
    group.allow_reads(&disk.device(), PER_SECOND);
    let kind = "disk --pattern random --op read --depth 8 --size 64MiB --repeat 3";
    let arguments = format!("{kind} --dir {} --json -", disk.path().display());
    let shown = printed(&ran(group.assay(&scratch, &arguments)));
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
