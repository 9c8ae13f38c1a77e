//! Servers under connections of hostile peers, key files that other users can use, and hosts without IPv4.

use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use socket2::{Domain, Socket, Type};

use super::server::{ROW, Server, key};
use crate::common::{Scratch, assay, check, printed, ran, refusal, rows, skip};
use crate::system::process::unshared;

/// The preface of a session, without authentication.
const PREFACE: &[u8; 48] = b"assaynet\x01\x01\0\0\0\0\0\x0000000000000000000000000000000000";
const HELLO: &str =
    r#"{"kind":"hello","versions":[0,4000000000],"program":"x","nonce":"00000000000000000000000000000000"}"#;
/// Pause of each kind between two connections.
const PAUSE: Duration = Duration::from_millis(5);

fn connection_from_another_address(to: SocketAddr) -> std::io::Result<TcpStream> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
    socket.bind(&SocketAddr::new([127, 0, 0, 2].into(), 0).into())?;
    socket.connect_timeout(&to.into(), Duration::from_secs(1))?;
    Ok(socket.into())
}

fn attack(to: SocketAddr, bytes: &[u8], end: &AtomicBool) {
    let mut kept = Vec::new();
    while !end.load(Ordering::Acquire) && kept.len() < 2000 {
        kept.extend(connection_from_another_address(to).and_then(|mut stream| {
            stream.write_all(bytes)?;
            Ok(stream)
        }));
        thread::sleep(PAUSE);
    }
}

#[test]
fn clients_are_served_while_another_address_opens_hundreds_of_connections() {
    let scratch = Scratch::new();
    let key = key(&scratch, "key", "a key that both ends know\n");
    let server = Server::start(&scratch, &format!("--key-file {key}"));
    let to: SocketAddr = server.address.parse().unwrap();
    let frame = |text: &str| [&u32::try_from(text.len()).unwrap().to_be_bytes(), text.as_bytes()].concat();
    let hello = [&PREFACE[..], &frame(HELLO)].concat();
    let proof = format!(r#"{{"kind":"proof","proof":"{}"}}"#, "00".repeat(32));
    let wrong_key = [&hello[..], &frame(&proof)].concat();
    let end = AtomicBool::new(false);
    let statuses: Vec<_> = thread::scope(|scope| {
        for bytes in [&[][..], &PREFACE[..], b"GET / HTTP/1.1\r\n\r\n", &hello, &wrong_key] {
            let end = &end;
            scope.spawn(move || attack(to, bytes, end));
        }
        thread::sleep(Duration::from_secs(1));
        let measured = || server.measured(&scratch, &format!("--key-file {key} {ROW} --repeat 1"));
        let statuses = (0..2).map(|_| measured().status).collect();
        end.store(true, Ordering::Release);
        statuses
    });
    assert_eq!(statuses, [Some(0); 2]);
    server.stop("TERM");
    let log = std::fs::read_to_string(scratch.join("serve.log")).unwrap();
    let rejected = log.lines().filter(|line| line.contains("127.0.0.2: rejected")).count();
    assert!((1..=2).contains(&rejected), "one line a minute:\n{log}");
}

#[test]
fn a_key_file_that_other_users_can_read_is_refused() {
    let scratch = Scratch::new();
    let key = key(&scratch, "key", "a key that both ends know\n");
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o644)).unwrap();
    for command in ["net serve", "net --to 127.0.0.1"] {
        let ran = assay(&scratch, &format!("{command} --key-file {key}"));
        assert!(refusal(&ran).contains(&format!("chmod 600 {key}")), "{ran:?}");
    }
}

const ONLY_IPV6: &str = "ip link set lo up && ip addr del 127.0.0.1/8 dev lo";

#[test]
fn loopback_is_measured_on_a_host_without_ipv4() {
    let scratch = Scratch::new();
    let Some(command) = unshared(&scratch, "-n", ONLY_IPV6, &format!("net {ROW} --repeat 1 --json -")) else {
        return skip("loopback without IPv4", "it needs the superuser, unshare and ip");
    };
    let ran = ran(command);
    assert_eq!(ran.status, Some(0), "{ran:?}");
    let document = printed(&ran);
    check(&document);
    assert_eq!(rows(&document).len(), 1);
    // The server and its client in one namespace: the default address is the same.
    let set_up = format!("{ONLY_IPV6} && {{ \"$1\" net serve --once & sleep 1; }}");
    let to = format!("net --to [::1] {ROW} --repeat 1 --json -");
    let ran = crate::common::ran(unshared(&scratch, "-n", &set_up, &to).expect("a namespace"));
    assert_eq!(ran.status, Some(0), "{ran:?}");
}
