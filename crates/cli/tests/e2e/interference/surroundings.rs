//! Quotas, memory limits, and a kernel that shows nothing: measured where possible, and always with a warning or reason.

use std::process::{Command, Stdio};

use crate::common::{
    Ran, Scratch, check, codes, is_verified, list, number, only_row, printed, program, ran, refusal, rows, skip,
    stored, text,
};
use crate::system::cgroup::Cgroup;
use crate::system::process::{Running, samples_in_journal, unshared, wrapped};

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

/// A network namespace with a name, removed when dropped.
struct NamedNetwork(String);

impl NamedNetwork {
    /// `None` where that is not allowed.
    fn make() -> Option<Self> {
        let name = format!("assay-e2e-{}", std::process::id());
        let made = Command::new("ip").args(["netns", "add", &name]).stderr(Stdio::null()).status();
        made.is_ok_and(|status| status.success()).then_some(Self(name))
    }

    fn exec(&self, arguments: &str) -> String {
        format!("netns exec {} {} {arguments}", self.0, program().display())
    }
}

impl Drop for NamedNetwork {
    fn drop(&mut self) {
        let _ = Command::new("ip").args(["netns", "del", &self.0]).status();
    }
}

const LO_IS_DOWN: &str = "lo is down: ip link set lo up";

#[test]
fn in_a_named_network_namespace_hidden_limits_are_unknown() {
    let Some(network) = NamedNetwork::make() else {
        return skip("ip netns exec", "making a network namespace is not allowed");
    };
    let Some(group) = Cgroup::make("ip netns exec in a memory limit", "memory") else { return };
    group.allow_memory(400 * MIB);
    let scratch = Scratch::new();
    let ran_there = |arguments| ran(wrapped(&scratch, group.command("ip".as_ref(), &network.exec(arguments))));
    let doctor = ran_there("doctor");
    assert_eq!(doctor.stdout.matches(LO_IS_DOWN).count(), 1, "{doctor:?}");
    // `ip netns exec` mounts another /sys, without control groups.
    assert!(
        !doctor.stdout.contains("No control group limits memory") && !doctor.stdout.contains("use 0 KiB"),
        "{doctor:?}"
    );
    let info = printed(&ran_there("info --json"));
    let nics: Vec<_> = list(&info["machine"], "nics").iter().map(|nic| nic["name"].clone()).collect();
    assert_eq!(nics, ["lo"], "{info:#}");
    let hidden = |unknown: &serde_json::Value| {
        unknown["fact"] == "memory.limit_bytes" && text(unknown, "why").contains("nsenter --net")
    };
    assert!(list(&info["machine"], "unknown").iter().any(hidden), "{info:#}");
}

#[test]
fn another_user_in_a_network_of_their_own_reads_what_to_do() {
    const USER: &str = "61235";
    let scratch = Scratch::new();
    let store = scratch.join("store");
    let of_user = |arguments: &str| {
        let mut command = Command::new("setpriv");
        command.args(["--reuid", USER, "--regid", USER, "--clear-groups", "unshare", "-rn"]).arg(program());
        command.args(arguments.split_whitespace());
        ran(wrapped(&scratch, command))
    };
    if std::fs::create_dir(&store).and_then(|()| std::os::unix::fs::chown(&store, Some(61235), Some(61235))).is_err()
        || of_user("--version").status != Some(0)
    {
        return skip("unshare -rn of another user", "it needs the superuser, setpriv and namespaces of users");
    }
    let net = of_user("net --repeat 1");
    assert_eq!((net.status != Some(0), net.stderr.matches(LO_IS_DOWN).count()), (true, 1), "{net:?}");
    let doctor = of_user("doctor");
    assert_eq!(doctor.stdout.matches(LO_IS_DOWN).count(), 1, "{doctor:?}");
    assert!(!doctor.stdout.contains("use 0 KiB"), "{doctor:?}");
}

#[test]
fn in_a_memory_cgroup_of_400_mib_doctor_and_info_report_it() {
    let Some(group) = Cgroup::make("a memory limit", "memory") else { return };
    group.allow_memory(400 * MIB);
    let scratch = Scratch::new();
    let doctor = ran(group.assay(&scratch, "doctor"));
    assert!(doctor.stdout.contains("A control group limits memory to 400 MiB"), "{doctor:?}");
    assert!(doctor.stdout.contains("within the control group's limit"), "{doctor:?}");
    let info = printed(&ran(group.assay(&scratch, "info --json")));
    assert_eq!(info["machine"]["memory"]["limit_bytes"], 400 * MIB, "{info:#}");
}
