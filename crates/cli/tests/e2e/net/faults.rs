//! Networks that are slow, lossy, late or reordering, or drop long packets: what is injected is what is measured, and
//! what cannot be measured fails within seconds with a reason.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::Value;

use crate::common::{
    Ran, Scratch, codes, command, is_root, is_verified, list, metric, number, program, rows, skip, stored, text,
};
use crate::system::family::ended_within;
use crate::system::process::{Running, assert_no_orphans, has, signal, wait_for, wrapped};

/// Longer than anything here, shorter than a hang.
const PATIENCE: Duration = Duration::from_mins(1);

/// Several times the 5 s after which a silent end is given up.
const IN_SECONDS: Duration = Duration::from_secs(30);

const LISTENS_WITHIN: Duration = Duration::from_secs(10);

/// A suite of one stanza with these samples, in milliseconds.
fn suite(scratch: &Scratch, stanza: &str, (samples, milliseconds): (u32, u32)) -> String {
    let path = scratch.join("faulty.toml");
    let text = format!(
        "name = \"faulty\"\nabout = \"a test\"\n[sampling.net]\nsamples = {samples}\nper_launch = {samples}\n\
         sample = \"{milliseconds}ms\"\nwarm_up = [\"100ms\", \"200ms\"]\n[[net]]\nthreads = [\"1\"]\n{stanza}\n"
    );
    std::fs::write(&path, text).unwrap();
    path.display().to_string()
}

/// Runs a suite of one row in a network namespace whose loopback interface this shell line has degraded; `None` where that
/// is impossible.
fn on_a_bad_loopback(what: &str, set_up: &str, stanza: &str, samples: (u32, u32)) -> Option<(Ran, Value)> {
    let line = format!("ip link set lo up && {set_up}");
    let tools = ["unshare", "ip", "tc", "nft"];
    let missing = tools.iter().find(|tool| !has(&format!("PATH=$PATH:/usr/sbin:/sbin; command -v {tool}")));
    let tried = || Command::new("unshare").args(["-n", "sh", "-c", &line]).env("PATH", SEARCH_PATH).output();
    let why = if !is_root() {
        Some("it needs the superuser".to_owned())
    } else if let Some(tool) = missing {
        Some(format!("there is no {tool} (Debian: util-linux, iproute2, nftables)"))
    } else {
        let tried = tried().unwrap();
        (!tried.status.success()).then(|| String::from_utf8_lossy(&tried.stderr).trim().to_owned())
    };
    if let Some(why) = why {
        skip(what, &why);
        return None;
    }
    let scratch = Scratch::new();
    let suite = suite(&scratch, stanza, samples);
    let mut command = Command::new("unshare");
    command.args(["-n", "sh", "-c", &format!("{line} && exec \"$@\""), "sh"]).arg(program()).args(["run", &suite]);
    let run = Running::start(wrapped(&scratch, command).stdout(Stdio::piped()).stderr(Stdio::piped()));
    let ran = ended_within(run, PATIENCE);
    assert_no_orphans();
    let document = stored(&scratch);
    assert_eq!(rows(&document).len(), 1, "{ran:?}");
    Some((ran, document))
}

/// The search path of the system's tools.
const SEARCH_PATH: &str = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin";

/// A firewall rule that drops matching packets as they arrive; dropped as they leave, the sender would get an error.
fn dropping(what: &str) -> String {
    dropping_at("input", what)
}

fn dropping_at(hook: &str, what: &str) -> String {
    format!(
        "nft 'add table inet t; add chain inet t c {{ type filter hook {hook} priority 0; }}; \
         add rule inet t c {what} drop'"
    )
}

/// Asserts that a share of this many independent trials is `expected` within five standard deviations.
#[track_caller]
fn is_binomial(share: f64, expected: f64, trials: f64) {
    let deviation = (expected * (1.0 - expected) / trials).sqrt();
    assert!((share - expected).abs() <= 5.0 * deviation, "{share} is not {expected} +- {deviation} of {trials}");
}

#[test]
fn a_rate_limit_is_what_a_stream_reports() {
    // 200 Mbit/s, with a bucket of a few of loopback's largest packets.
    let limit = 200e6 / 8.0;
    let set_up = "tc qdisc add dev lo root tbf rate 200mbit burst 256kb latency 100ms";
    let stanza = "protocol = [\"tcp\"]\nmode = \"stream\"\nblock = [\"128KiB\"]";
    let Some((_, document)) = on_a_bad_loopback("a rate limit", set_up, stanza, (3, 500)) else { return };
    let row = &rows(&document)[0];
    assert!(is_verified(row), "{row:#}");
    for sample in list(metric(row, "throughput"), "samples") {
        let rate = number(sample, "value");
        // A full bucket adds 2 % in half a second; congestion control may cost some of the rate.
        assert!((0.5 * limit..=1.05 * limit).contains(&rate), "{rate} B/s of {limit}");
    }
}

#[test]
fn what_a_firewall_drops_of_round_trips_is_the_loss_that_is_reported() {
    let stanza = "protocol = [\"udp\"]\nmode = \"pingpong\"\nblock = [\"100B\"]";
    let set_up = dropping("udp length > 100 numgen random mod 100 < 5");
    let Some((_, document)) = on_a_bad_loopback("random loss", &set_up, stanza, (6, 1500)) else { return };
    let row = &rows(&document)[0];
    assert!(is_verified(row), "{row:#}");
    let answered = number(&metric(row, "latency")["summary"]["percentiles"], "count");
    let lost = list(metric(row, "loss"), "samples").iter().map(|sample| number(sample, "value")).sum::<f64>() / 6.0;
    assert!(answered > 100.0, "{answered} answers");
    // Either direction can lose it.
    is_binomial(lost, 1.0 - 0.95 * 0.95, answered / (0.95 * 0.95));
    let slowest = number(&metric(row, "latency")["summary"]["percentiles"], "max");
    assert!(slowest < 0.2, "a lost message has no time: {slowest}");
}

#[test]
fn what_a_firewall_drops_of_a_blast_is_in_its_loss() {
    let stanza = "protocol = [\"udp\"]\nmode = \"blast\"\nblock = [\"1472B\"]";
    let set_up = dropping("udp length > 1000 numgen random mod 100 < 5");
    let Some((_, document)) = on_a_bad_loopback("random loss", &set_up, stanza, (3, 300)) else { return };
    let row = &rows(&document)[0];
    assert!(is_verified(row), "{row:#}");
    for sample in list(metric(row, "loss"), "samples") {
        // A receiver that cannot keep up loses more.
        assert!((0.045..1.0).contains(&number(sample, "value")), "{sample:#}");
    }
    for name in ["duplicates", "reordered"] {
        let samples = list(metric(row, name), "samples");
        assert!(samples.iter().all(|sample| number(sample, "value") <= 0.0), "nothing came {name}: {samples:?}");
    }
}

#[test]
fn what_a_firewall_does_not_let_out_is_not_blamed_on_the_other_end() {
    let set_up = dropping_at("output", "udp length > 100");
    for mode in ["pingpong", "blast"] {
        let stanza = format!("protocol = [\"udp\"]\nmode = \"{mode}\"\nblock = [\"1000B\"]");
        let Some((_, document)) = on_a_bad_loopback("a firewall on the way out", &set_up, &stanza, (3, 100)) else {
            return;
        };
        let row = &rows(&document)[0];
        let reason = text(row, "reason");
        assert!(reason.contains("firewall") && !reason.contains("lost the connection"), "{mode}: {reason}");
        assert_eq!(row["status"], "failed");
    }
}

#[test]
fn a_loss_above_the_goal_is_no_rate_that_meets_it() {
    let stanza = "protocol = [\"udp\"]\nmode = \"no_drop\"\nblock = [\"1472B\"]\nloss_goal = [1000]";
    let set_up = dropping("udp length > 1000 numgen random mod 100 < 5");
    let Some((_, document)) = on_a_bad_loopback("random loss", &set_up, stanza, (3, 200)) else { return };
    let row = &rows(&document)[0];
    // 5 % are lost at any rate: no result, or one with a warning.
    let says_so = row["status"] != "ok" && text(row, "reason").contains("los");
    assert!(says_so || codes(row).contains(&"loss_above_goal"), "{row:#}");
}

#[test]
fn a_path_that_swallows_long_packets_is_a_failed_row_in_seconds() {
    let set_up = format!("ip link set lo mtu 1500 && {}", dropping("ip length > 1400"));
    let stanza = "protocol = [\"tcp\"]\nmode = \"stream\"\nblock = [\"128KiB\"]";
    let Some((ran, document)) = on_a_bad_loopback("a black hole for long packets", &set_up, stanza, (3, 100)) else {
        return;
    };
    let row = &rows(&document)[0];
    assert_eq!((ran.status, &row["status"]), (Some(1), &Value::from("failed")), "{row:#}");
    let reason = text(row, "reason");
    assert!(reason.contains("seem to vanish on the path") && reason.contains("ICMP"), "{reason}");
    assert!(number(&document["run"], "seconds") < IN_SECONDS.as_secs_f64(), "{reason}");
}

/// What a relay does to datagrams, by their number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Fault {
    /// Delay of every message, each way.
    delay: Duration,
    /// Every n-th datagram is sent twice.
    double_every: Option<u64>,
    /// Every n-th datagram is sent after the next one.
    swap_every: Option<u64>,
}

/// Shorter datagrams pass unchanged: the ends find each other by them.
const SHORTEST: usize = 100;

/// Relays connections and datagrams to a server until it is dropped.
struct Relay {
    port: u16,
    over: Arc<AtomicBool>,
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        // Wakes the thread that accepts connections.
        let _ = TcpStream::connect(("127.0.0.1", self.port));
    }
}

/// A port that is free for both transports.
fn free_port() -> (TcpListener, UdpSocket) {
    (0..100)
        .find_map(|_| {
            let listener = TcpListener::bind("127.0.0.1:0").ok()?;
            let socket = UdpSocket::bind(listener.local_addr().ok()?).ok()?;
            Some((listener, socket))
        })
        .expect("a free port")
}

impl Relay {
    fn start(server: u16, fault: Fault) -> Self {
        let (listener, socket) = free_port();
        let relay = Self { port: listener.local_addr().unwrap().port(), over: Arc::default() };
        let over = Arc::clone(&relay.over);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                if over.load(Ordering::Relaxed) {
                    return;
                }
                let Ok(there) = TcpStream::connect(("127.0.0.1", server)) else { continue };
                both_ways(&stream, &there, fault.delay);
            }
        });
        let over = Arc::clone(&relay.over);
        std::thread::spawn(move || pass_datagrams(&Arc::new(socket), server, fault, &over));
        relay
    }
}

/// Relays both directions of a connection.
fn both_ways(one: &TcpStream, other: &TcpStream, delay: Duration) {
    for (from, to) in [(one, other), (other, one)] {
        from.set_nodelay(true).unwrap();
        let (mut from, mut to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
        std::thread::spawn(move || {
            let mut buffer = vec![0; 64 << 10];
            while let Ok(count @ 1..) = from.read(&mut buffer) {
                std::thread::sleep(delay);
                if to.write_all(&buffer[..count]).is_err() {
                    break;
                }
            }
            let _ = (to.shutdown(Shutdown::Both), from.shutdown(Shutdown::Both));
        });
    }
}

/// Relays datagrams: those of each client through a socket of its own.
fn pass_datagrams(near: &Arc<UdpSocket>, server: u16, fault: Fault, over: &Arc<AtomicBool>) {
    let mut flows: HashMap<SocketAddr, (UdpSocket, Meddler)> = HashMap::new();
    near.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    let mut buffer = vec![0; 1 << 16];
    while !over.load(Ordering::Relaxed) {
        // A reply to a client that has gone comes back as an error.
        let Ok((count, client)) = near.recv_from(&mut buffer) else { continue };
        let (far, meddler) = flows.entry(client).or_insert_with(|| {
            let far = UdpSocket::bind("127.0.0.1:0").unwrap();
            far.connect(("127.0.0.1", server)).unwrap();
            pass_back(far.try_clone().unwrap(), Arc::clone(near), client, fault.delay, Arc::clone(over));
            (far, Meddler { fault, ..Meddler::default() })
        });
        meddler.pass(&buffer[..count], &mut |datagram| {
            let _ = far.send(datagram);
        });
    }
}

fn pass_back(far: UdpSocket, near: Arc<UdpSocket>, client: SocketAddr, delay: Duration, over: Arc<AtomicBool>) {
    std::thread::spawn(move || {
        far.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
        let mut buffer = vec![0; 1 << 16];
        while !over.load(Ordering::Relaxed) {
            if let Ok(count) = far.recv(&mut buffer) {
                std::thread::sleep(delay);
                let _ = near.send_to(&buffer[..count], client);
            }
        }
    });
}

/// Applies a fault to the datagrams of one client.
#[derive(Default)]
struct Meddler {
    fault: Fault,
    passed: u64,
    held: Option<Vec<u8>>,
}

impl Meddler {
    fn pass(&mut self, datagram: &[u8], send: &mut dyn FnMut(&[u8])) {
        std::thread::sleep(self.fault.delay);
        if datagram.len() < SHORTEST {
            return send(datagram);
        }
        self.passed += 1;
        let is_due = |every: Option<u64>| every.is_some_and(|every| self.passed.is_multiple_of(every));
        let (double, swap) = (is_due(self.fault.double_every), is_due(self.fault.swap_every));
        if swap && self.held.is_none() {
            self.held = Some(datagram.to_vec());
            return;
        }
        send(datagram);
        if double {
            send(datagram);
        }
        if let Some(held) = self.held.take() {
            send(&held);
        }
    }
}

#[test]
fn the_relay_injects_its_faults() {
    let out = |fault: Fault| {
        let mut meddler = Meddler { fault, ..Meddler::default() };
        let mut sent = Vec::new();
        for number in 1..=6_u8 {
            meddler.pass(&[number; SHORTEST], &mut |datagram| sent.push(datagram[0]));
        }
        sent
    };
    assert_eq!(out(Fault { double_every: Some(3), ..Fault::default() }), [1, 2, 3, 3, 4, 5, 6, 6]);
    assert_eq!(out(Fault { swap_every: Some(2), ..Fault::default() }), [1, 3, 2, 5, 4]);
}

/// A server on a loopback port.
struct Server {
    running: Running,
    port: u16,
    _scratch: Scratch,
}

impl Server {
    fn start() -> Self {
        let scratch = Scratch::new();
        let (listener, socket) = free_port();
        let port = listener.local_addr().unwrap().port();
        drop((listener, socket));
        let address = format!("127.0.0.1:{port}");
        let mut serve = command(&scratch, ["net", "serve", "--listen", &address]);
        let running = Running::start(serve.stdout(Stdio::null()).stderr(Stdio::null()));
        let listens = wait_for(LISTENS_WITHIN, || TcpStream::connect(&address).ok());
        assert!(listens.is_some(), "nobody listens at {address}");
        Self { running, port, _scratch: scratch }
    }
}

/// The document of a run through a faulty relay.
fn through(fault: Fault, arguments: &str) -> Value {
    let server = Server::start();
    let relay = Relay::start(server.port, fault);
    let scratch = Scratch::new();
    let line = format!("net --to 127.0.0.1:{} {arguments} --threads 1", relay.port);
    let ran = ended_within(Running::assay(&scratch, &line), PATIENCE);
    assert_eq!(ran.status, Some(0), "{ran:?}");
    // From the store: a document on standard output would fill the pipe, which is read only at the end.
    stored(&scratch)
}

#[test]
fn a_delay_is_the_latency_that_is_reported() {
    let delay = Duration::from_millis(20);
    for protocol in ["tcp", "udp"] {
        let fault = Fault { delay, ..Fault::default() };
        let document = through(fault, &format!("--protocol {protocol} --mode pingpong --block 100 --repeat 3"));
        let row = &rows(&document)[0];
        assert!(is_verified(row), "{row:#}");
        let percentiles = &metric(row, "latency")["summary"]["percentiles"];
        // Both ways; the histogram is accurate to one in a thousand.
        let injected = 2.0 * delay.as_secs_f64();
        assert!(number(percentiles, "p50") >= 0.998 * injected, "{protocol}: {percentiles}");
    }
}

#[test]
fn datagrams_that_come_twice_or_late_are_counted_as_such() {
    for (fault, name, expected) in [
        (Fault { double_every: Some(10), ..Fault::default() }, "duplicates", 0.1),
        (Fault { swap_every: Some(10), ..Fault::default() }, "reordered", 0.1),
    ] {
        let document = through(fault, "--protocol udp --mode blast --block 1400 --repeat 3");
        let row = &rows(&document)[0];
        assert!(is_verified(row), "{row:#}");
        for sample in list(metric(row, name), "samples") {
            // Losses of the receiver make the share uneven.
            let share = number(sample, "value");
            assert!((expected / 1.5..expected * 1.5).contains(&share), "{name}: {share} of {expected}");
        }
        let other = if name == "duplicates" { "reordered" } else { "duplicates" };
        assert!(list(metric(row, other), "samples").iter().all(|sample| number(sample, "value") < 0.01), "{row:#}");
    }
}

#[test]
fn an_echo_that_comes_twice_answers_nobody_else() {
    let fault = Fault { double_every: Some(10), ..Fault::default() };
    let document = through(fault, "--protocol udp --mode pingpong --block 100 --repeat 3");
    let row = &rows(&document)[0];
    assert!(is_verified(row), "{row:#}");
    let lost = list(metric(row, "loss"), "samples");
    assert!(lost.iter().all(|sample| number(sample, "value") <= 0.0), "nothing was lost: {lost:?}");
}

#[test]
fn a_server_that_stops_or_is_killed_is_a_failed_row_in_seconds() {
    for (name, protocol) in [("STOP", "tcp"), ("KILL", "udp")] {
        let server = Server::start();
        let scratch = Scratch::new();
        let line = format!(
            "net --to 127.0.0.1:{} --protocol {protocol} --mode pingpong --threads 1 --repeat 500",
            server.port
        );
        let run = Running::assay(&scratch, &line);
        crate::system::process::samples_in_journal(&scratch, 1);
        signal(server.running.id(), name);
        let ran = ended_within(run, IN_SECONDS);
        let document = stored(&scratch);
        let row = &rows(&document)[0];
        assert_eq!((ran.status, &row["status"]), (Some(1), &Value::from("failed")), "{name} {protocol}: {ran:?}");
        assert!(text(row, "reason").to_lowercase().contains("check whether"), "it says what to look for: {row:#}");
        if name == "STOP" {
            signal(server.running.id(), "CONT");
        }
    }
}
