//! `assay net`: streams and round trips between two processes of this machine; ends that die, hang or never connect.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::Duration;

use serde_json::Value;

use crate::common::{
    Kept, Ran, Scratch, assay, check, codes, document, ids, is_verified, list, names, number, printed, rows, samples,
    skip, stored, suite, text,
};
use crate::system::family::{children, ended_within, lives};
use crate::system::process::{Running, assert_no_orphans, journalled, samples_in_journal, signal, unshared, wait_for};

const REPEAT: usize = 6;

/// Longer than any row here and a worker's timeout for its partner, shorter than a hang.
const PATIENCE: Duration = Duration::from_secs(25);

/// A run of streams and round trips with one connection.
static RUN: LazyLock<Value> = LazyLock::new(|| {
    let arguments = format!("net --mode stream,pingpong --threads 1 --repeat {REPEAT}");
    Kept::measure(&Scratch::new(), &arguments, ["stream", "ping-pong"]).document
});

fn metric_names(row: &Value) -> Vec<&str> {
    list(row, "metrics").iter().map(|metric| text(metric, "name")).collect()
}

#[test]
fn rows_of_the_network_keep_the_contract() {
    let document = &*RUN;
    assert_eq!(ids(document), ["net/tcp-stream/128KiB/t1", "net/tcp-pingpong/1B/t1", "net/udp-pingpong/1B/t1"]);
    assert_eq!(document["run"]["complete"], true);
    for row in rows(document) {
        assert!(is_verified(row), "{row:#}");
        assert_eq!(row["params"]["path"], "loopback");
        let names: &[&str] = match (text(&row["params"], "mode"), text(&row["params"], "protocol")) {
            ("stream", _) => &["throughput", "cpu_cost", "retransmits"],
            (_, "tcp") => &["latency", "throughput"],
            _ => &["latency", "throughput", "loss"],
        };
        assert_eq!(metric_names(row), names);
        for metric in list(row, "metrics") {
            assert_eq!(list(metric, "samples").len(), REPEAT, "--repeat is exact");
            assert!(!metric["summary"]["ci95"].is_null());
        }
        let launches: std::collections::BTreeSet<_> =
            samples(row).iter().map(|sample| sample["launch"].as_u64()).collect();
        assert!(launches.len() >= 2, "all samples from one process run");
    }
}

#[test]
fn the_conditions_say_how_the_ends_were_connected() {
    for row in rows(&RUN) {
        let net = &row["conditions"]["net"];
        let tcp = row["params"]["protocol"] == "tcp";
        assert_eq!(net["interface"], "lo");
        assert!(number(net, "mtu") >= 576.0 && number(net, "receive_buffer_bytes") > 0.0, "{net:#}");
        assert_eq!(net["congestion_control"].is_string(), tcp, "{net:#}");
        assert_eq!(net["lost"].is_null(), tcp, "{net:#}");
        assert_eq!(net["two_copy_bytes_per_second"].is_null(), row["params"]["mode"] != "stream", "{net:#}");
        let ours = list(&row["conditions"], "cpus");
        let theirs = list(net, "peer_cpus");
        assert_eq!((ours.len(), theirs.len()), (1, 1));
        let cpus = std::thread::available_parallelism().unwrap().get();
        assert_eq!(ours == theirs, cpus == 1, "an end has a CPU of its own where there are two: {ours:?} {theirs:?}");
    }
}

fn verified(arguments: &str) -> Value {
    crate::common::verified(&format!("net {arguments} --verify"))
}

#[test]
fn any_number_of_connections_is_verified_and_more_than_cpus_are_labelled() {
    let document = verified("--mode stream,pingpong,connect --threads 1,2,5");
    assert_eq!(rows(&document).len(), 12);
    let cpus = std::thread::available_parallelism().unwrap().get() as u64;
    for row in rows(&document) {
        let threads = row["params"]["threads"].as_u64().unwrap();
        assert!(samples(row).iter().all(|sample| list(sample, "per_thread").len() as u64 == threads));
        assert_eq!(list(&row["conditions"]["net"], "peer_cpus").len() as u64, threads);
        assert_eq!(codes(row).contains(&"oversubscribed"), threads > cpus, "{threads} on {cpus}: {row:#}");
    }
}

/// Other modes as arguments, and the first metrics of their rows.
const MODES: &[(&str, &[&str])] = &[
    ("--mode stream --direction both", &["throughput", "throughput_up", "throughput_down", "cpu_cost", "retransmits"]),
    ("--mode pingpong --protocol tcp --wait spinning", &["latency", "throughput"]),
    ("--mode connect", &["throughput", "latency"]),
    ("--mode load --protocol tcp --direction both", &["latency", "throughput", "throughput_up", "throughput_down"]),
    ("--mode blast --protocol udp", &["throughput", "loss"]),
    ("--mode no_drop --protocol udp --segmentation gso --loss-goal 999999", &["throughput", "loss"]),
    ("--mode transfer --protocol tcp", &["throughput", "latency", "cpu_cost", "retransmits"]),
];

#[test]
fn every_mode_has_its_metrics() {
    for (arguments, metrics) in MODES {
        let document = verified(&format!("{arguments} --threads 1"));
        let [row] = rows(&document) else { panic!("{arguments}: {:?}", ids(&document)) };
        assert!(metric_names(row).starts_with(metrics), "{arguments}: {:?}", metric_names(row));
        assert!(text(row, "id").contains(arguments.split_whitespace().nth(1).unwrap()), "{row:#}");
    }
}

/// The arguments that run these rows, with three samples of this many milliseconds in one process run.
fn brief(scratch: &Scratch, milliseconds: u32, rows: &[(&str, &str, &str)]) -> String {
    let row = |(protocol, mode, block): &(&str, &str, &str)| {
        format!("{{ protocol = [\"{protocol}\"], mode = \"{mode}\", block = {block}, threads = [\"1\"] }}")
    };
    let rows: Vec<String> = rows.iter().map(row).collect();
    let text = format!(
        "name = \"brief\"\nsampling.net = {{ samples = 3, per_launch = 3, sample = \"{milliseconds}ms\", \
         warm_up = [\"10ms\", \"20ms\"] }}\nnet = [{}]\n",
        rows.join(", ")
    );
    suite(scratch, &text)
}

const ALL: &[(&str, &str, &str)] =
    &[("tcp", "stream", "[\"128KiB\"]"), ("tcp", "pingpong", "[\"1B\"]"), ("udp", "pingpong", "[\"1B\"]")];

/// A run of two rows of a kind, during the first.
struct Midway {
    scratch: Scratch,
    run: Running,
    folder: PathBuf,
    /// The client's worker, and the server's, which is started first.
    ends: [u32; 2],
}

fn midway(protocol: &str, mode: &str) -> Midway {
    let scratch = Scratch::new();
    let run = Running::assay(&scratch, &brief(&scratch, 200, &[(protocol, mode, "[\"1KiB\", \"4KiB\"]")]));
    let folder = samples_in_journal(&scratch, 1);
    let [other, measuring] = children(run.id()).try_into().unwrap_or_else(|ends| panic!("not two workers: {ends:?}"));
    Midway { scratch, run, folder, ends: [measuring, other] }
}

/// Asserts that one row failed and the other was measured; returns the reason.
fn one_has_failed(ran: &Ran, folder: &Path) -> String {
    assert_eq!(ran.status, Some(1), "{ran:?}");
    let document = document(folder);
    check(&document);
    assert_eq!(document["run"]["complete"], true);
    let (failed, fine): (Vec<_>, Vec<_>) = rows(&document).iter().partition(|row| row["status"] == "failed");
    assert_eq!((failed.len(), fine.len()), (1, 1), "{ran:?}");
    assert!(is_verified(fine[0]) && samples(fine[0]).len() == 3, "{:#}", fine[0]);
    assert_no_orphans();
    text(failed[0], "reason").to_owned()
}

#[test]
fn an_other_end_that_is_killed_is_a_failed_row_and_no_more() {
    for (protocol, mode) in [("tcp", "stream"), ("udp", "pingpong")] {
        let midway = midway(protocol, mode);
        signal(midway.ends[1], "KILL");
        let ran = ended_within(midway.run, Duration::from_secs(8));
        let reason = one_has_failed(&ran, &midway.folder);
        assert!(reason.contains("the server is gone") && reason.contains("SIGKILL"), "{protocol} {mode}: {reason}");
        assert_eq!(names(&midway.folder).first().map(String::as_str) == Some("histograms"), mode == "pingpong");
        assert!(ran.stderr.contains("the server is gone"), "the progress says why: {ran:?}");
        drop(midway.scratch);
    }
}

#[test]
fn a_measuring_end_that_is_killed_leaves_no_other_end() {
    let midway = midway("udp", "pingpong");
    signal(midway.ends[0], "KILL");
    let ran = ended_within(midway.run, PATIENCE);
    let reason = one_has_failed(&ran, &midway.folder);
    assert!(reason.contains("SIGKILL"), "{reason}");
    assert!(!lives(midway.ends[1]));
}

#[test]
fn an_other_end_that_hangs_is_a_failed_row_in_time() {
    let midway = midway("tcp", "stream");
    signal(midway.ends[1], "STOP");
    let ran = ended_within(midway.run, PATIENCE);
    let reason = one_has_failed(&ran, &midway.folder);
    assert!(reason.contains("has not answered for 5 s"), "{reason}");
    assert!(!lives(midway.ends[1]), "a stopped one is ended too");
}

#[test]
fn a_killed_run_takes_both_ends_with_it() {
    let midway = midway("tcp", "stream");
    signal(midway.run.id(), "KILL");
    midway.run.output();
    let gone = wait_for(Duration::from_secs(2), || midway.ends.iter().all(|end| !lives(*end)).then_some(()));
    assert!(gone.is_some(), "an end outlives its run");
    let taken = journalled(&midway.folder);
    let shown = printed(&assay(&midway.scratch, &format!("report {} --format json", midway.folder.display())));
    check(&shown);
    assert_eq!(rows(&shown).iter().map(|row| samples(row).len()).sum::<usize>(), taken);
}

#[test]
fn a_signal_ends_both_ends_in_good_order() {
    let midway = midway("tcp", "pingpong");
    signal(midway.run.id(), "INT");
    let ran = ended_within(midway.run, Duration::from_secs(8));
    assert_eq!(ran.status, Some(130), "{ran:?}");
    assert!(midway.ends.iter().all(|end| !lives(*end)));
    assert_no_orphans();
    assert_eq!(stored(&midway.scratch)["run"]["complete"], false);
}

/// Runs all kinds of row in a network namespace that this shell line sets up; `None` where that is not allowed.
fn in_a_network_of_their_own(scratch: &Scratch, set_up: &str) -> Option<Ran> {
    let run = Running::read(unshared(scratch, "-n", set_up, &brief(scratch, 50, ALL))?);
    let ran = ended_within(run, PATIENCE);
    assert_no_orphans();
    Some(ran)
}

#[test]
fn a_loopback_interface_that_is_down_is_one_sentence_with_its_command() {
    let scratch = Scratch::new();
    let sentence = "lo is down: ip link set lo up";
    let Some(ran) = in_a_network_of_their_own(&scratch, "true") else {
        return skip("a loopback interface that is down", "it needs the superuser and unshare");
    };
    assert_ne!(ran.status, Some(0), "{ran:?}");
    assert_eq!((ran.stderr.matches(sentence).count(), ran.stderr.lines().count()), (1, 1), "{ran:?}");
    // Alongside other areas each benchmark is skipped, for the same reason.
    let mixed = unshared(&scratch, "-n", "true", "run quick --area cpu,net --time-budget 4s --json -");
    let ran = crate::common::ran(mixed.expect("a namespace"));
    let document = crate::common::printed(&ran);
    let of_net: Vec<_> = rows(&document).iter().filter(|row| row["area"] == "net").collect();
    assert!(!of_net.is_empty() && of_net.iter().all(|row| row["reason"] == sentence), "{document:#}");
    let doctor = crate::common::ran(unshared(&scratch, "-n", "true", "doctor").expect("a namespace"));
    assert_eq!(doctor.stdout.matches(sentence).count(), 1, "{doctor:?}");
}

#[test]
fn in_a_network_namespace_of_its_own_the_interfaces_are_its_own() {
    let scratch = Scratch::new();
    let Some(command) = unshared(&scratch, "-n", "ip link set lo up", "info --json") else {
        return skip("interfaces of a network namespace", "it needs the superuser, unshare and ip");
    };
    let info = crate::common::printed(&crate::common::ran(command));
    let nics: Vec<_> =
        info["machine"]["nics"].as_array().expect("interfaces").iter().map(|nic| nic["name"].clone()).collect();
    assert_eq!(nics, ["lo"], "{info:#}");
    let ran = in_a_network_of_their_own(&scratch, "ip link set lo up").expect("a namespace");
    let document = stored(&scratch);
    for row in rows(&document) {
        let warned =
            row["warnings"].as_array().is_some_and(|all| all.iter().any(|one| one["code"] == "other_net_traffic"));
        assert!(!warned, "bytes of the host are not ours: {row:#} {ran:?}");
    }
}

#[test]
fn where_udp_is_forbidden_tcp_is_measured_all_the_same() {
    let scratch = Scratch::new();
    let forbid = "ip link set lo up && ip rule add pref 1 ipproto udp prohibit && ip rule add pref 9 lookup local && \
                  ip rule del pref 0";
    let Some(ran) = in_a_network_of_their_own(&scratch, forbid) else {
        return skip("a network that forbids UDP", "it needs the superuser, unshare and ip (Debian: iproute2)");
    };
    assert_eq!(ran.status, Some(1), "{ran:?}");
    let document = stored(&scratch);
    for row in rows(&document) {
        if row["params"]["protocol"] == "tcp" {
            assert!(is_verified(row), "{row:#}");
        } else {
            assert_eq!(row["status"], "failed");
            assert!(text(row, "reason").contains("Permission denied"), "{row:#}");
        }
    }
}
