//! Quotas, memory limits, and a kernel that shows nothing: measured where possible, and always with a warning or reason.

use std::process::Stdio;

use crate::common::{
    Ran, Scratch, check, codes, is_verified, list, number, only_row, printed, ran, refusal, rows, skip, stored, text,
};
use crate::system::cgroup::Cgroup;
use crate::system::process::{Running, samples_in_journal, unshared};

const MIB: u64 = 1 << 20;

/// A row of the cpu area in which a quota shows.
const ROW: &str = "cpu --op fma --type fp64 --isa vector --threads 1 --repeat 5 --json -";

#[test]
fn a_quota_of_half_a_cpu_is_seen_named_and_not_hidden() {
    let Some(group) = Cgroup::make("a CPU quota", "cpu") else { return };
    group.allow_half_a_cpu();
    let scratch = Scratch::new();
    let row = only_row(&ran(group.assay(&scratch, ROW)));
    let conditions = &row["conditions"];
    assert!(is_verified(&row));
    assert!(codes(&row).contains(&"cpu_quota"), "{:#}", row["warnings"]);
    assert_eq!(row["confidence"], "low");
    assert!((number(conditions, "quota_cpus") - 0.5).abs() < 1e-9, "{conditions:#}");
    assert!((0.2..=0.8).contains(&number(conditions, "throttled")), "{conditions:#}");
    assert!(number(conditions, "lost_share") > 0.25, "{conditions:#}");
}

#[test]
fn a_working_set_beyond_the_memory_limit_is_refused() {
    let Some(group) = Cgroup::make("a memory limit", "memory") else { return };
    group.allow_memory(256 * MIB);
    let scratch = Scratch::new();
    let ran = ran(group.assay(&scratch, "memory --op read --working-set 1GiB --threads 1 --repeat 1"));
    let sentence = refusal(&ran);
    assert!(sentence.contains("1GiB") && sentence.contains("does not fit"), "{sentence}");
    assert!(!scratch.join("store").exists());
}

#[test]
fn a_worker_that_memory_runs_out_for_is_a_failed_row() {
    let Some(group) = Cgroup::make("a worker without memory", "memory") else { return };
    group.allow_memory(700 * MIB);
    let scratch = Scratch::new();
    let arguments = "memory --op read --working-set 200MiB --threads 1 --repeat 200";
    let run = Running::read(group.assay(&scratch, arguments));
    samples_in_journal(&scratch, 1);
    // Another process of the group takes the rest: `tail` keeps all of a line that does not end.
    let mut hog = group.command("sh".as_ref(), "-c");
    hog.arg("head -c 620m /dev/zero | tail >/dev/null");
    let hog = Running::start(hog.stdin(Stdio::null()).stderr(Stdio::null()));
    let ran = run.end();
    drop(hog);
    assert_eq!(ran.status, Some(1), "{ran:?}");
    let document = stored(&scratch);
    let row = &rows(&document)[0];
    assert_eq!(text(row, "status"), "failed");
    assert!(text(row, "reason").contains("out of memory"), "{row:#}");
    assert_eq!(document["run"]["complete"], true);
}

/// Runs the program where a shell line has hidden something from it; `None` where that is not allowed.
fn where_hidden(hide: &str, arguments: &str) -> Option<Ran> {
    let scratch = Scratch::new();
    let ran = ran(unshared(&scratch, "-m", hide, arguments)?);
    assert_eq!(ran.status, Some(0), "{ran:?}");
    Some(ran)
}

#[test]
fn a_kernel_that_shows_nothing_is_measured_all_the_same() {
    let hide = "mount -t tmpfs none /sys && mount --bind /dev/null /proc/cpuinfo";
    let Some(ran) = where_hidden(hide, "cpu --op fma,plain --threads 1 --verify --json -") else {
        return skip("no /sys and no /proc/cpuinfo", "hiding them needs the superuser and unshare");
    };
    let document = printed(&ran);
    check(&document);
    // Kernels that this CPU lacks are skipped.
    let measured: Vec<_> = rows(&document).iter().filter(|row| row["status"] != "skipped").collect();
    assert!(!measured.is_empty() && measured.into_iter().all(is_verified), "{}", ran.stderr);
    let machine = &document["machine"];
    assert!(machine["cpu"]["governor"].is_null() && list(machine, "disks").is_empty(), "{machine:#}");
    let unknown = list(machine, "unknown");
    assert!(unknown.iter().any(|one| one["fact"] == "cpu.governor"), "{unknown:#?}");
}

#[test]
fn a_plan_can_be_made_without_any_proc() {
    let Some(ran) = where_hidden("mount -t tmpfs none /proc", "run --list") else {
        return skip("no /proc", "hiding it needs the superuser and unshare");
    };
    assert!(ran.stdout.contains("cpu/fma/"), "{ran:?}");
}
