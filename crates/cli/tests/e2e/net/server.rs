//! `assay net serve` and `assay net --to`: sessions, keys, waiting clients, strangers, and ends that are stopped.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::common::{
    Ran, Scratch, assay, check, command, is_root, is_verified, measured, printed, program, refusal, rows, skip, stored,
    text,
};
use crate::system::process::{Running, has, samples_in_journal, signal, wait_for, wrapped};

const PATIENCE: Duration = Duration::from_secs(25);

/// One short row.
const ROW: &str = "--protocol tcp --mode pingpong --threads 1 --block 1";

/// A server and its address.
struct Server {
    running: Running,
    address: String,
}

impl Server {
    /// Starts one on a free port.
    fn start(scratch: &Scratch, options: &str, host: &str) -> Self {
        let log = scratch.join("serve.log");
        let mut plain = Command::new("env");
        plain.args(["-i", "--default-signal=INT,TERM,HUP", "LANG=C.UTF-8"]).arg(program());
        plain.args(["net", "serve", "--listen", &format!("{host}:0")]).args(options.split_whitespace());
        plain.stdin(Stdio::null()).stdout(Stdio::null()).stderr(std::fs::File::create(&log).unwrap());
        let running = Running::start(&mut plain);
        let listening = || {
            let file = BufReader::new(std::fs::File::open(&log).unwrap());
            let line = file.lines().map_while(Result::ok).find(|line| line.contains("listening on"))?;
            Some(line.split("listening on ").nth(1)?.split(',').next()?.to_owned())
        };
        let address = wait_for(PATIENCE, listening).expect("a server that listens");
        Self { running, address }
    }

    /// Runs `assay net --to` this server.
    fn measured(&self, scratch: &Scratch, options: &str) -> Ran {
        assay(scratch, &format!("net --to {} {options}", self.address))
    }

    /// Sends a signal; returns the exit status.
    fn stop(self, name: &str) -> Option<i32> {
        signal(self.running.id(), name);
        self.running.end().status
    }
}

/// A file with a key.
fn key(scratch: &Scratch, name: &str, text: &str) -> String {
    let path = scratch.join(name);
    std::fs::write(&path, text).unwrap();
    path.display().to_string()
}

#[test]
fn a_document_holds_the_facts_of_both_hosts() {
    let scratch = Scratch::new();
    let key = key(&scratch, "key", "a key that both ends know\n");
    let server = Server::start(&scratch, &format!("--key-file {key}"), "127.0.0.1");
    let document = measured(&scratch, &format!("net --to {} --key-file {key} {ROW} --repeat 2", server.address));
    let row = &rows(&document)[0];
    assert!(is_verified(row), "{row:#}");
    assert_eq!((text(row, "id"), text(&row["params"], "path")), ("net/tcp-pingpong/1B/peer/t1", "127.0.0.1"));
    let peer = &document["peer"];
    assert_eq!((text(peer, "name"), text(peer, "interface")), ("127.0.0.1", "lo"));
    assert_eq!(text(peer, "address"), server.address);
    assert_eq!(peer["machine"]["cpu"]["model"], document["machine"]["cpu"]["model"]);
    let other = self::key(&scratch, "other", "a key that only one end knows");
    let wrong = server.measured(&scratch, &format!("--key-file {other} {ROW}"));
    assert!(refusal(&wrong).contains("the key is not the server's"), "{wrong:?}");
    assert!(refusal(&server.measured(&scratch, ROW)).contains("--key-file"));
    assert_eq!(server.stop("TERM"), Some(143));
}

#[test]
fn a_server_speaks_version_6_of_the_internet_protocol() {
    let scratch = Scratch::new();
    if std::net::TcpListener::bind("[::1]:0").is_err() {
        return crate::common::skip("net serve over IPv6", "this machine has no ::1");
    }
    let server = Server::start(&scratch, "", "[::1]");
    for protocol in ["tcp", "udp"] {
        let options = format!("--protocol {protocol} --mode pingpong --threads 1 --block 1 --repeat 2 --json -");
        let ran = server.measured(&scratch, &options);
        assert_eq!(ran.status, Some(0), "{ran:?}");
        assert_eq!(text(&rows(&printed(&ran))[0]["conditions"]["net"], "address_family"), "IPv6");
    }
    assert_eq!(server.stop("INT"), Some(130));
}

#[test]
fn what_cannot_be_reached_or_listened_on_is_refused() {
    let scratch = Scratch::new();
    let refused = |arguments: &str| refusal(&assay(&scratch, arguments)).to_owned();
    assert!(refused("net serve --listen 0.0.0.0:0").contains("requires a key"));
    assert!(refused("net serve --key-file /no/such/key").contains("'/no/such/key'"));
    assert!(refused(&format!("net serve --key-file {}", key(&scratch, "short", "short"))).contains("16"));
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    assert!(refused(&format!("net serve --listen {address}")).contains("the port is in use"));
    drop(taken);
    assert!(refused(&format!("net --to {address} {ROW}")).contains("no server answers"));
    assert!(
        refused(&format!("net --to no-such-host.invalid {ROW}")).contains("'no-such-host.invalid' cannot be resolved")
    );
    assert!(refused("net --to a:b:c]").contains("HOST:PORT"));
}

#[test]
fn two_clients_are_served_one_after_the_other() {
    let scratches = [Scratch::new(), Scratch::new()];
    let server = Server::start(&scratches[0], "", "127.0.0.1");
    let clients = scratches.each_ref().map(|scratch| {
        let options = format!("net --to {} {ROW} --repeat 4 --json -", server.address);
        let mut client = command(scratch, options.split_whitespace());
        client.stdout(Stdio::piped()).stderr(Stdio::piped());
        Running::start(&mut client)
    });
    let ran = clients.map(Running::end);
    assert!(ran.iter().all(|ran| ran.status == Some(0) && is_verified(&rows(&printed(ran))[0])), "{ran:?}");
    assert_eq!(server.stop("INT"), Some(130));
}

#[test]
fn hostile_clients_do_not_keep_a_good_one_out() {
    let scratch = Scratch::new();
    let server = Server::start(&scratch, "--once", "127.0.0.1");
    let connect = || TcpStream::connect(&server.address).unwrap();
    let greeting = [&b"assaynet\x01\x01\0\0\0\0\0\0"[..], &[b'0'; 32]].concat();
    let mut kept = Vec::new();
    for attack in [&b"GET / HTTP/1.1\r\n\r\n"[..], b"", &greeting, &[&greeting[..], &[0xff; 64]].concat(), &[0; 4096]] {
        let mut stream = connect();
        // The server may have closed it already.
        let _ = stream.write_all(attack);
        kept.push(stream);
    }
    kept.extend((0..150).map(|_| connect()));
    let ran = server.measured(&scratch, &format!("{ROW} --repeat 2"));
    assert_eq!(ran.status, Some(0), "{ran:?}");
    assert_eq!(server.running.end().status, Some(0), "it ends after one client");
    kept[0].set_read_timeout(Some(PATIENCE)).unwrap();
    assert!(matches!(kept[0].read(&mut [0; 64]), Ok(0) | Err(_)), "closed");
}

/// A client that measures for long and has samples.
fn measuring(scratch: &Scratch, server: &Server) -> Running {
    let client = Running::assay(scratch, &format!("net --to {} {ROW} --repeat 2000", server.address));
    samples_in_journal(scratch, 1);
    client
}

#[test]
fn whichever_end_is_stopped_both_end_and_what_was_measured_is_stored() {
    let scratch = Scratch::new();
    let server = Server::start(&scratch, "", "127.0.0.1");
    let client = measuring(&scratch, &server);
    signal(client.id(), "INT");
    assert_eq!(client.end().status, Some(130));
    stored(&scratch);
    for name in ["INT", "KILL"] {
        let scratch = Scratch::new();
        let server = Server::start(&scratch, "", "127.0.0.1");
        let client = measuring(&scratch, &server);
        let status = server.stop(name);
        assert_eq!(status, (name == "INT").then_some(130));
        let ran = client.end();
        assert_eq!(ran.status, Some(1), "{name}: {ran:?}");
        let document = stored(&scratch);
        assert_eq!(text(&rows(&document)[0], "status"), "failed");
    }
    // The server whose client was stopped serves the next one.
    let next = Scratch::new();
    let ran = server.measured(&next, &format!("{ROW} --repeat 2"));
    assert_eq!(ran.status, Some(0), "{ran:?}");
    assert_eq!(server.stop("INT"), Some(130));
}

#[test]
fn a_client_that_is_stopped_loses_its_turn_and_the_next_is_served() {
    let scratch = Scratch::new();
    let server = Server::start(&scratch, "", "127.0.0.1");
    let client = measuring(&scratch, &server);
    signal(client.id(), "STOP");
    // It waits until the server has received nothing from the other client for 5 s.
    let next = Scratch::new();
    let ran = server.measured(&next, &format!("{ROW} --repeat 2"));
    signal(client.id(), "CONT");
    assert_eq!(ran.status, Some(0), "{ran:?}");
    let ran = client.end();
    let document = stored(&scratch);
    let row = &rows(&document)[0];
    assert_eq!((ran.status, text(row, "status")), (Some(1), "failed"), "{ran:?}");
    assert!(text(row, "reason").to_lowercase().contains("check whether"), "it says what to look for: {row:#}");
    let log = std::fs::read_to_string(scratch.join("serve.log")).unwrap();
    assert!(log.contains("it sent nothing for 5 s"), "{log}");
    assert_eq!(server.stop("INT"), Some(130));
}

/// Two network namespaces joined by a pair of interfaces: `near`, with the shell and the program in the last arguments, and
/// `far`, where a server listens at `$1` for one client.
const JOINED: &str = r#"
    listen=$1 log=$2 key=$3 program=$4; shift 3
    ip link set lo up || exit 99
    unshare -n sleep 60 & far=$!
    until [ "$(readlink /proc/$far/ns/net)" != "$(readlink /proc/self/ns/net)" ]; do sleep 0.01; done
    there() { nsenter -t "$far" -n "$@"; }
    ip link add near type veth peer name far netns "$far" || exit 99
    ip addr add 10.9.0.1/24 dev near && ip addr add fd09::1/64 dev near nodad && ip link set near up &&
    there ip addr add 10.9.0.2/24 dev far && there ip addr add fd09::2/64 dev far nodad &&
    there ip link set lo up && there ip link set far up || exit 99
    there "$program" net serve --once --listen "$listen" --key-file "$key" 2> "$log" & serving=$!
    until grep -q 'listening on' "$log" || ! kill -0 "$serving"; do sleep 0.05; done
    "$@"; status=$?
    wait "$serving" || status=98
    kill "$far"
    exit "$status"
"#;

#[test]
fn who_listens_on_all_addresses_is_reached_at_each_of_them() {
    let what = "a server on all addresses, over veth";
    let tried = || Command::new("unshare").args(["-n", "ip", "link", "add", "a", "type", "veth", "peer", "b"]).output();
    let missing = ["unshare", "nsenter", "ip"].into_iter().find(|tool| !has(tool));
    let why = match missing {
        _ if !is_root() => Some("it needs the superuser".to_owned()),
        Some(tool) => Some(format!("there is no {tool} (Debian: util-linux, iproute2)")),
        None => tried().map_or_else(
            |error| Some(error.to_string()),
            |tried| (!tried.status.success()).then(|| String::from_utf8_lossy(&tried.stderr).trim().to_owned()),
        ),
    };
    if let Some(why) = why {
        return skip(what, &why);
    }
    let scratch = Scratch::new();
    let key = key(&scratch, "net.key", "a key that both ends of the pair know");
    // A server on all IPv6 addresses also has the IPv4 ones.
    for (listen, to) in [("0.0.0.0", "10.9.0.2"), ("[::]", "[fd09::2]"), ("[::]", "10.9.0.2")] {
        let log = scratch.join(&format!("serve-{}.log", to.replace(['[', ']', ':'], "_"))).display().to_string();
        let mut shell = Command::new("unshare");
        shell.args(["-n", "sh", "-c", JOINED, "sh", &format!("{listen}:5211"), &log, &key]).arg(program());
        let options = format!("net --to {to} --key-file {key} --mode pingpong,stream --threads 1 --block 1000");
        shell.args(options.split_whitespace()).args(["--repeat", "2", "--json", "-"]);
        let ran = Running::start(wrapped(&scratch, shell).stdout(Stdio::piped()).stderr(Stdio::piped())).end();
        assert_eq!(ran.status, Some(0), "{listen} at {to}: {ran:?}");
        let document = printed(&ran);
        check(&document);
        assert!(rows(&document).len() >= 3 && rows(&document).iter().all(is_verified), "{document:#}");
        let seen = &rows(&document)[0]["conditions"]["net"];
        assert_eq!(
            (text(seen, "interface"), &document["peer"]["interface"]),
            ("near", &Value::from("far")),
            "{seen:#}"
        );
    }
}
