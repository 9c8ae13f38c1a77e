//! `assay net`: streams and round trips between two processes of this machine; ends that die, hang or never connect, and
//! strangers.

use std::io::{BufRead, BufReader, Write};
use std::net::{Shutdown, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::LazyLock;
use std::time::Duration;

use serde_json::{Value, json};

use crate::common::{
    Kept, Ran, Scratch, assay, check, codes, command, document, ids, is_root, is_verified, list, names, number,
    printed, program, refusal, rows, same, samples, skip, stored, text,
};
use crate::system::family::{children, ended_within, lives};
use crate::system::process::{
    Running, allowed_cpu, assert_no_orphans, has, journalled, samples_in_journal, signal, wait_for, wrapped,
};

/// Samples of each row of [`RUN`].
const REPEAT: usize = 6;

/// Longer than any row here and a worker's timeout for its partner, shorter than a hang.
const PATIENCE: Duration = Duration::from_secs(25);

/// A run of streams and round trips with one connection.
static RUN: LazyLock<Kept> = LazyLock::new(|| {
    let arguments = format!("net --mode stream,pingpong --threads 1 --repeat {REPEAT}");
    Kept::measure(&Scratch::new(), &arguments, ["stream", "ping-pong"])
});

/// The rows of [`RUN`] with this mode.
fn of_mode(mode: &str) -> Vec<&'static Value> {
    rows(&RUN.document).iter().filter(|row| row["params"]["mode"] == mode).collect()
}

fn metric_names(row: &Value) -> Vec<&str> {
    list(row, "metrics").iter().map(|metric| text(metric, "name")).collect()
}

#[test]
fn rows_of_the_network_keep_the_contract() {
    let document = &RUN.document;
    assert_eq!(ids(document), ["net/tcp-stream/128KiB/t1", "net/tcp-pingpong/1B/t1", "net/udp-pingpong/1B/t1"]);
    assert_eq!(document["run"]["complete"], true);
    for row in rows(document) {
        assert!(is_verified(row), "{row:#}");
        assert_eq!(row["params"]["path"], "loopback");
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
fn nothing_is_lost_between_connections_work_and_value() {
    for row in of_mode("stream") {
        assert_eq!(metric_names(row), ["throughput", "cpu_cost", "retransmits"]);
        assert_eq!(row["metrics"][0]["unit"], "B/s");
    }
    for row in of_mode("pingpong") {
        let lossy: &[&str] = if row["params"]["protocol"] == "udp" { &["loss"] } else { &[] };
        assert_eq!(metric_names(row), [&["latency", "throughput"], lossy].concat());
        assert_eq!((&row["metrics"][0]["unit"], &row["metrics"][1]["unit"]), (&json!("s"), &json!("op/s")));
    }
    let counted = |metric: &&Value| ["throughput", "latency"].contains(&text(metric, "name"));
    for metric in rows(&RUN.document).iter().flat_map(|row| list(row, "metrics")).filter(counted) {
        for sample in list(metric, "samples") {
            let (work, seconds) = (number(sample, "work"), number(sample, "seconds"));
            assert!(work > 0.0 && seconds > 0.0, "{sample:#}");
            if metric["name"] == "throughput" {
                same(number(sample, "value"), work / seconds);
            }
            let shares = list(sample, "per_thread");
            assert_eq!(shares.len(), 1);
            same(shares.iter().map(|share| number(share, "work")).sum(), work);
        }
    }
}

#[test]
fn every_round_trip_is_counted_and_its_percentiles_are_in_order() {
    for row in of_mode("pingpong") {
        let latency = &row["metrics"][0];
        let percentiles = &latency["summary"]["percentiles"];
        let values: Vec<f64> =
            ["p50", "p90", "p99", "p99.9", "p99.99", "max"].map(|key| number(percentiles, key)).into();
        assert!(values[0] > 0.0 && values.is_sorted(), "{percentiles}");
        same(number(percentiles, "count"), list(latency, "samples").iter().map(|sample| number(sample, "work")).sum());
        // Each of one thread's consecutive operations is shorter than the sample.
        for sample in list(latency, "samples") {
            assert!(number(sample, "value") <= number(sample, "seconds"), "{sample:#}");
        }
    }
    assert!(of_mode("stream").iter().all(|row| row["metrics"][0]["summary"]["percentiles"].is_null()));
}

#[test]
fn how_long_each_round_trip_took_is_kept() {
    let kept: Vec<&str> = RUN.histograms.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(kept, ["net_tcp-pingpong_1B_t1.hlog", "net_udp-pingpong_1B_t1.hlog"]);
    for (name, content) in &RUN.histograms {
        assert!(content.contains("#[Histogram log format version 1.3]"), "{name}: {content}");
        let lines = content.lines().filter(|line| !line.starts_with(['#', '"']));
        assert_eq!(lines.filter(|line| line.split(',').count() == 4).count(), REPEAT, "{name}: {content}");
    }
}

#[test]
fn the_conditions_say_how_the_ends_were_connected() {
    for row in rows(&RUN.document) {
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

#[test]
fn a_stream_is_compared_with_two_copies_and_a_round_trip_with_nothing() {
    for row in of_mode("stream") {
        let metric = &row["metrics"][0];
        let ceiling = list(metric, "peaks").iter().find(|peak| peak["kind"] == "measured_ceiling").expect("a ceiling");
        same(number(ceiling, "value"), number(&row["conditions"]["net"], "two_copy_bytes_per_second"));
        assert!(text(ceiling, "formula").contains("two dependent copies"), "{ceiling:#}");
        let above = codes(row).contains(&"above_peak");
        assert_eq!(metric["efficiency"].is_null(), above, "{metric:#}");
        if !above {
            assert_eq!(metric["efficiency"]["of"], "measured_ceiling");
            let share = number(&metric["summary"], "median") / number(ceiling, "value");
            same(number(&metric["efficiency"], "value"), share);
        }
    }
    for metric in of_mode("pingpong").into_iter().flat_map(|row| list(row, "metrics")) {
        assert!(list(metric, "peaks").is_empty() && metric["efficiency"].is_null(), "{metric:#}");
    }
}

/// The document of a run with `--verify`.
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
    ("--mode stream --direction down", &["throughput", "cpu_cost", "retransmits"]),
    ("--mode stream --direction both", &["throughput", "throughput_up", "throughput_down", "cpu_cost", "retransmits"]),
    ("--mode pingpong --protocol tcp --wait spinning", &["latency", "throughput"]),
    ("--mode connect", &["throughput", "latency"]),
    ("--mode load --protocol tcp --direction up", &["latency", "throughput"]),
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

#[test]
fn blocks_of_any_possible_size_are_verified() {
    let tcp = verified("--mode stream,pingpong --protocol tcp --block 1,14,1MiB --threads 1");
    assert_eq!(rows(&tcp).len(), 6);
    assert!(ids(&tcp).contains(&"net/tcp-pingpong/14B/t1"), "{:?}", ids(&tcp));
    let udp = verified("--mode pingpong --protocol udp --block 1,14,65507 --threads 1");
    assert_eq!(rows(&udp).len(), 3);
    assert!(ids(&udp).contains(&"net/udp-pingpong/65507B/t1"), "{:?}", ids(&udp));
}

#[test]
fn what_cannot_be_is_refused() {
    for (arguments, says) in [
        ("--protocol udp --mode stream", "stream over tcp"),
        ("--mode kitchen", "kitchen"),
        ("--block 0", "at least 1 byte"),
        ("--protocol udp --block 2MiB", "65507B"),
        ("--protocol tcp --block 2MiB", "1048576B"),
    ] {
        let scratch = Scratch::new();
        let ran = assay(&scratch, &format!("net {arguments}"));
        assert!(refusal(&ran).contains(says), "'{arguments}': {ran:?}");
        assert!(!scratch.join("store/runs").exists(), "'{arguments}' left a run behind");
    }
}

/// A suite of these stanzas with three samples of this many milliseconds in one process run.
fn suite(scratch: &Scratch, milliseconds: u32, stanzas: &[(&str, &str, &str)]) -> PathBuf {
    let sampling = format!(
        "name = \"brief\"\nabout = \"a test\"\n[sampling.net]\nsamples = 3\nper_launch = 3\n\
         sample = \"{milliseconds}ms\"\nwarm_up = [\"10ms\", \"20ms\"]\ntarget = 0.05\n"
    );
    let stanza = |(protocol, mode, block): &(&str, &str, &str)| {
        format!("[[net]]\nprotocol = [\"{protocol}\"]\nmode = \"{mode}\"\nblock = {block}\nthreads = [\"1\"]\n")
    };
    let content = sampling + &stanzas.iter().map(stanza).collect::<Vec<_>>().concat();
    let path = scratch.join("brief.toml");
    std::fs::write(&path, content).unwrap();
    path
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
    let suite = suite(&scratch, 200, &[(protocol, mode, "[\"1KiB\", \"4KiB\"]")]);
    let run = Running::assay(&scratch, &format!("run {}", suite.display()));
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
        assert!(ran.stdout.contains("the server is gone"), "the table says why: {ran:?}");
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
    // Over UDP single messages are lost.
    for (protocol, mode, says) in
        [("tcp", "stream", "has not answered for 5 s"), ("udp", "pingpong", "not one operation ended")]
    {
        let midway = midway(protocol, mode);
        signal(midway.ends[1], "STOP");
        let ran = ended_within(midway.run, PATIENCE);
        let reason = one_has_failed(&ran, &midway.folder);
        assert!(reason.contains(says), "{protocol} {mode}: {reason}");
        assert!(!lives(midway.ends[1]), "a stopped one is ended too");
        drop(midway.scratch);
    }
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

/// A worker that gets its task from the test.
struct ByHand {
    child: Child,
    /// Kept open: the task ends with its line, not with the input.
    _stdin: ChildStdin,
    lines: std::io::Lines<BufReader<ChildStdout>>,
}

impl ByHand {
    /// One end of a ping-pong.
    fn start(protocol: &str, role: &str, address: Option<&str>) -> Self {
        let cpu = allowed_cpu();
        let segmentation = if protocol == "udp" { json!("off") } else { Value::Null };
        let task = json!({
            "experiment": {
                "id": format!("net/{protocol}-pingpong/1B/t1"), "area": "net",
                "method": format!("net-{protocol}-pingpong/1"), "classic": null,
                "params": {
                    "protocol": protocol, "mode": "pingpong", "block": 1, "direction": null, "threads": 1,
                    "path": "loopback", "zero_copy": null, "segmentation": segmentation, "wait": "blocking",
                },
            },
            "cpus": [cpu], "launch": 1, "block": 1, "seed": 5, "samples": 2, "sample_seconds": 0.02,
            "warm_up_seconds": [0.0, 0.0], "run_began": 0.0, "imul_cycles": 3, "parent": std::process::id(),
            "ends": {
                "role": role, "address": address, "token": "00112233445566778899aabbccddeeff", "other_cpus": [cpu],
            },
        });
        let mut command = command(&Scratch::new(), ["worker"]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        writeln!(stdin, "{task}").unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, _stdin: stdin, lines }
    }

    /// Its next message.
    fn says(&mut self) -> Value {
        let line = self.lines.next().expect("it has said its last word").unwrap();
        serde_json::from_str(&line).unwrap()
    }
}

impl Drop for ByHand {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Connections of strangers: garbage, half a greeting, a wrong token, another protocol, silence, and one that hangs up.
fn strangers(address: &str) -> Vec<TcpStream> {
    let mut wrong = b"assaynet".to_vec();
    // A session of this version with an unknown token.
    wrong.extend_from_slice(&[1, 2, 0, 0, 0, 0, 0, 0]);
    wrong.extend_from_slice(&[b'f'; 32]);
    let greetings: [&[u8]; 5] = [&[0xa5; 4096], b"assay", &wrong, b"GET / HTTP/1.1\r\n\r\n", b""];
    let connect = |greeting: &&[u8]| {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(greeting).unwrap();
        stream
    };
    TcpStream::connect(address).unwrap().shutdown(Shutdown::Both).unwrap();
    greetings.iter().map(connect).collect()
}

#[test]
fn strangers_at_the_listening_port_disturb_nobody() {
    for protocol in ["tcp", "udp"] {
        let mut other = ByHand::start(protocol, "peer", None);
        let said = other.says();
        assert_eq!(text(&said, "kind"), "listening");
        let address = text(&said, "address").to_owned();
        assert!(address.starts_with("127.0.0.1:"), "nobody outside this machine can connect: {address}");
        let before = strangers(&address);
        let mut measuring = ByHand::start(protocol, "measure", Some(&address));
        while text(&measuring.says(), "kind") != "ready" {}
        let kinds: Vec<String> = (0..3).map(|_| text(&measuring.says(), "kind").to_owned()).collect();
        assert_eq!(kinds, ["sample", "sample", "done"], "{protocol}");
        assert!(measuring.child.wait().unwrap().success());
        assert_eq!(text(&other.says(), "kind"), "done", "the server ends by itself");
        assert!(TcpStream::connect(&address).is_err(), "nobody can come any more");
        drop(before);
    }
}

/// Runs all kinds of row in a network namespace that this shell line sets up; `None` where that is not allowed.
fn in_a_network_of_their_own(scratch: &Scratch, set_up: &str) -> Option<Ran> {
    let allowed = |line: &str| {
        let tried = Command::new("unshare").args(["-n", "sh", "-c", line]).stderr(Stdio::null()).status();
        tried.is_ok_and(|status| status.success())
    };
    if !is_root() || !has("unshare") || !allowed(set_up) {
        return None;
    }
    let suite = suite(scratch, 50, ALL);
    let mut command = Command::new("unshare");
    command.args(["-n", "sh", "-c", &format!("{set_up} && exec \"$@\""), "sh"]).arg(program()).arg("run").arg(suite);
    let run = Running::start(wrapped(scratch, command).stdout(Stdio::piped()).stderr(Stdio::piped()));
    let ran = ended_within(run, PATIENCE);
    assert_no_orphans();
    Some(ran)
}

#[test]
fn without_a_loopback_interface_each_row_says_so_in_time() {
    let scratch = Scratch::new();
    let Some(ran) = in_a_network_of_their_own(&scratch, "true") else {
        return skip("a loopback interface that is down", "it needs the superuser and unshare");
    };
    assert_eq!(ran.status, Some(1), "{ran:?}");
    let document = stored(&scratch);
    assert_eq!((rows(&document).len(), &document["run"]["complete"]), (3, &json!(true)));
    for row in rows(&document) {
        let reason = text(row, "reason");
        assert_eq!(row["status"], "failed");
        assert!(reason.contains("127.0.0.1") && reason.contains("Network is unreachable"), "{reason}");
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
