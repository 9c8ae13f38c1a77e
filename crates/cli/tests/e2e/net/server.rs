//! `assay net serve` and `assay net --to`: sessions, keys, addresses, and ends that are stopped.

use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::common::{
    Ran, Scratch, assay, check, is_verified, measured, printed, program, ran, refusal, rows, skip, stored, text,
};
use crate::system::process::{Running, samples_in_journal, signal, unshared, wait_for, wrapped};

const PATIENCE: Duration = Duration::from_secs(25);

pub(super) const ROW: &str = "--protocol tcp --mode pingpong --threads 1 --block 1";

pub(super) struct Server {
    running: Running,
    pub(super) address: String,
}

impl Server {
    pub(super) fn start(scratch: &Scratch, options: &str) -> Self {
        let log = scratch.join("serve.log");
        let mut plain = Command::new("env");
        plain.args(["-i", "--default-signal=INT,TERM,HUP", "LANG=C.UTF-8"]).arg(program());
        plain.args(["net", "serve", "--listen", "127.0.0.1:0"]).args(options.split_whitespace());
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

    pub(super) fn measured(&self, scratch: &Scratch, options: &str) -> Ran {
        assay(scratch, &format!("net --to {} {options}", self.address))
    }

    /// Sends a signal; returns the exit status.
    pub(super) fn stop(self, name: &str) -> Option<i32> {
        signal(self.running.id(), name);
        self.running.end().status
    }
}

pub(super) fn key(scratch: &Scratch, name: &str, text: &str) -> String {
    let path = scratch.join(name);
    std::fs::write(&path, text).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    path.display().to_string()
}

#[test]
fn a_document_holds_the_facts_of_both_hosts() {
    let scratch = Scratch::new();
    let key = key(&scratch, "key", "a key that both ends know\n");
    let server = Server::start(&scratch, &format!("--key-file {key}"));
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

/// A client that measures for long and has samples.
fn measuring(scratch: &Scratch, server: &Server) -> Running {
    let client = Running::assay(scratch, &format!("net --to {} {ROW} --repeat 2000", server.address));
    samples_in_journal(scratch, 1);
    client
}

#[test]
fn whichever_end_is_stopped_both_end_and_what_was_measured_is_stored() {
    let scratch = Scratch::new();
    let server = Server::start(&scratch, "");
    let client = measuring(&scratch, &server);
    signal(client.id(), "INT");
    assert_eq!(client.end().status, Some(130));
    stored(&scratch);
    for name in ["INT", "KILL"] {
        let scratch = Scratch::new();
        let server = Server::start(&scratch, "");
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
    let scratch = Scratch::new();
    if unshared(&scratch, "-n", "ip link add near type veth peer name far && command -v nsenter", "").is_none() {
        return skip("a server on all addresses, over veth", "it needs the superuser, unshare, nsenter and ip");
    }
    let key = key(&scratch, "net.key", "a key that both ends of the pair know");
    // A server on all IPv6 addresses also has the IPv4 ones.
    for (listen, to) in [("0.0.0.0", "10.9.0.2"), ("[::]", "[fd09::2]"), ("[::]", "10.9.0.2")] {
        let log = scratch.join(&format!("serve-{}.log", to.replace(['[', ']', ':'], "_"))).display().to_string();
        let mut shell = Command::new("unshare");
        shell.args(["-n", "sh", "-c", JOINED, "sh", &format!("{listen}:5211"), &log, &key]).arg(program());
        let options = format!("net --to {to} --key-file {key} --mode pingpong,stream --threads 1 --block 1000");
        shell.args(options.split_whitespace()).args(["--verify", "--json", "-"]);
        let ran = ran(wrapped(&scratch, shell));
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
