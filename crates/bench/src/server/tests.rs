//! A server and its clients in one process: who is let in, who waits, who is sent away, and what the server outlives.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use model::io::NetMode;
use proptest::prelude::*;
use sys::clock::monotonic_raw_seconds;

use super::serve::{Notice, Server, ServerOptions, serve};
use crate::engines::net::server::{self as net_server, Home};
use crate::net::handshake::{
    self, Admitted, Cause, ClientMessage, Hello, Known, Limits, ServerMessage, VERSIONS, Welcome,
};
use crate::net::messages::RunReply;
use crate::net::preface::{PREFACE_BYTES, Preface, Purpose, Token};
use crate::net::{Key, NoSession, ServerSession, Target, frames, read_as_everything};

const PATIENCE: Duration = Duration::from_secs(10);
/// Shorter than of a real server; clients send heartbeats every second.
const SILENCE_SECONDS: f64 = 2.0;

fn key(text: &str) -> Key {
    Key::new(text.as_bytes()).unwrap()
}

fn serving(key: Option<Key>) -> ServerOptions {
    ServerOptions {
        listen: "127.0.0.1:0".parse().unwrap(),
        key,
        once: false,
        concurrent: 1,
        most_seconds: 60.0,
        udp_bytes_per_second: None,
        version: "0.0.1".to_owned(),
    }
}

fn with_server(
    serving: ServerOptions,
    launch: fn(&TcpStream, &Home<'_>) -> Result<(), String>,
    act: impl FnOnce(SocketAddr),
) -> Vec<Notice> {
    with_silence(None, serving, launch, act)
}

fn with_silence(
    silence_seconds: Option<f64>,
    serving: ServerOptions,
    launch: fn(&TcpStream, &Home<'_>) -> Result<(), String>,
    act: impl FnOnce(SocketAddr),
) -> Vec<Notice> {
    let notices = Arc::new(Mutex::new(Vec::new()));
    let received = Arc::clone(&notices);
    let notify = Box::new(move |notice: &Notice| received.lock().unwrap().push(notice.clone()));
    let mut server = Server::open(serving, notify, launch).unwrap();
    server.silence_seconds = silence_seconds.unwrap_or(server.silence_seconds);
    let server = Arc::new(server);
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| server.until(&|| stop.load(Ordering::Acquire)).unwrap());
        let acted = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| act(server.listener.address)));
        stop.store(true, Ordering::Release);
        acted.unwrap();
    });
    assert!(TcpStream::connect(server.listener.address).is_err(), "the port is closed");
    let notices = notices.lock().unwrap();
    notices.clone()
}

fn session(address: SocketAddr, key: Option<&Key>) -> Result<ServerSession, NoSession> {
    ServerSession::begin(&Target::parse(&address.to_string()).unwrap(), key, "0.0.2", &mut |_| {})
}

fn named(session: Result<ServerSession, NoSession>) -> String {
    match session {
        Err(NoSession::Named(sentence)) => sentence,
        other => panic!("{other:?}"),
    }
}

fn stranger(address: SocketAddr, purpose: Purpose, token: Token) -> TcpStream {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(&Preface { purpose, number: 0, token }.bytes()).unwrap();
    stream
}

#[test]
fn who_knows_the_key_is_let_in_and_learns_of_the_other_host() {
    let key = key("a key that both know");
    let notices = with_server(serving(Some(key.clone())), net_server::serve, |address| {
        let session = session(address, Some(&key)).unwrap();
        assert_eq!((session.peer.name.as_str(), session.peer.version.as_str()), ("127.0.0.1", "0.0.1"));
        assert_eq!(session.peer.interface.as_deref(), Some("lo"));
        assert!(!session.peer.machine.cpu.placement_order().is_empty());
        assert_eq!(session.obstacle(NetMode::Stream), None);
    });
    let Some(Notice::SessionEnded { version, because: None, runs: 0, .. }) = notices.last() else {
        panic!("{notices:?}")
    };
    assert_eq!(version, "0.0.2");
}

#[test]
fn who_does_not_know_the_key_is_not() {
    let (ours, other) = (key("a key that both know"), key("a key that one of them has"));
    let notices = with_server(serving(Some(ours)), net_server::serve, |address| {
        assert!(named(session(address, Some(&other))).contains("the key is not the server's key"));
        assert!(named(session(address, None)).contains("--key-file"));
    });
    assert_eq!(notices.iter().filter(|notice| matches!(notice, Notice::Rejected { .. })).count(), 1, "{notices:?}");
    with_server(serving(None), net_server::serve, |address| {
        assert!(named(session(address, Some(&other))).contains("has no key"));
    });
    let everywhere = ServerOptions { listen: "0.0.0.0:0".parse().unwrap(), ..serving(None) };
    let error = serve(everywhere, |_| {}).unwrap_err();
    assert!(error.contains("--key-file"), "{error}");
}

#[test]
fn a_client_of_another_version_is_rejected() {
    let notices = with_server(serving(None), net_server::serve, |address| {
        let stream = stranger(address, Purpose::Session, Token::NONE);
        let ClientMessage::Hello(ours) = hello() else { panic!("a client's first message") };
        let hello = Hello { versions: [VERSIONS[1] + 1; 2], program: "9\x1b[2J".to_owned(), ..ours };
        frames::write(&stream, &ClientMessage::Hello(hello)).unwrap();
        let ServerMessage::Refused { cause: Cause::Version, reason } = frames::read(&stream, PATIENCE).unwrap() else {
            panic!("refused")
        };
        assert!(reason.contains("same version of assay") && !reason.contains('\x1b'), "{reason}");
    });
    let Some(Notice::Rejected { because, .. }) = notices.last() else { panic!("{notices:?}") };
    assert!(because.contains("same version of assay"), "{because}");
}

#[test]
fn clients_take_turns_and_receive_their_place() {
    with_server(serving(None), net_server::serve, |address| {
        let first = session(address, None).unwrap();
        let places = Mutex::new(Vec::new());
        thread::scope(|scope| {
            let second = scope.spawn(|| {
                let target = Target::parse(&address.to_string()).unwrap();
                ServerSession::begin(&target, None, "0.0.2", &mut |ahead| places.lock().unwrap().push(ahead)).unwrap()
            });
            while places.lock().unwrap().is_empty() {
                thread::sleep(Duration::from_millis(5));
            }
            assert!(!second.is_finished(), "it waits");
            drop(first);
            drop(second.join().unwrap());
        });
        assert_eq!(places.lock().unwrap()[0], 1);
    });
}

fn hello() -> ClientMessage {
    let nonce = Token::new().as_str().to_owned();
    ClientMessage::Hello(Hello { versions: VERSIONS, program: "0.0.2".to_owned(), capabilities: Vec::new(), nonce })
}

#[test]
fn a_silent_client_loses_its_turn() {
    let notices = with_silence(Some(SILENCE_SECONDS), serving(None), net_server::serve, |address| {
        let silent = stranger(address, Purpose::Session, Token::NONE);
        frames::write(&silent, &hello()).unwrap();
        frames::write(&silent, &ClientMessage::Proof { proof: None }).unwrap();
        while !matches!(frames::read(&silent, PATIENCE).unwrap(), ServerMessage::Admitted(_)) {}
        let began = monotonic_raw_seconds();
        drop(session(address, None).unwrap());
        let waited = monotonic_raw_seconds() - began;
        assert!(waited > 0.98 * SILENCE_SECONDS, "not before: {waited} s");
        let ServerMessage::Over { reason } = frames::read(&silent, PATIENCE).unwrap() else { panic!("not ended") };
        assert!(reason.contains("it sent nothing for 2 s"), "{reason}");
    });
    let of_both: Vec<_> = notices.iter().filter(|notice| matches!(notice, Notice::SessionEnded { .. })).collect();
    let Notice::SessionEnded { because: Some(because), .. } = of_both[0] else { panic!("{notices:?}") };
    assert!(because.contains("it sent nothing for 2 s"), "{because}");
    assert!(matches!(of_both[1], Notice::SessionEnded { because: None, .. }), "{notices:?}");
}

#[test]
fn a_server_that_says_nothing_any_more_is_an_obstacle() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::scope(|scope| {
        let silent = scope.spawn(move || {
            let mut stream = listener.accept().unwrap().0;
            stream.read_exact(&mut [0; PREFACE_BYTES]).unwrap();
            let ClientMessage::Hello(_) = frames::read(&stream, PATIENCE).unwrap() else { panic!("no client") };
            let welcome = Welcome { version: VERSIONS[1], nonce: Token::new().as_str().to_owned(), key_needed: false };
            frames::write(&stream, &ServerMessage::Welcome(welcome)).unwrap();
            let ClientMessage::Proof { .. } = frames::read(&stream, PATIENCE).unwrap() else { panic!("its proof") };
            let (program, capabilities) = ("0.0.1".to_owned(), vec![NetMode::Stream.name().to_owned()]);
            frames::write(&stream, &ServerMessage::Known(Known { proof: None, program, capabilities })).unwrap();
            let admitted = Admitted {
                token: Token::new().as_str().to_owned(),
                limits: Limits::none(),
                path: handshake::end_towards(address.ip()),
                machine: machine::discover(&machine::Sysroot::host()),
            };
            frames::write(&stream, &ServerMessage::Admitted(Box::new(admitted))).unwrap();
            stream
        });
        let session = session(address, None).unwrap();
        let _kept = silent.join().unwrap();
        assert_eq!(session.obstacle(NetMode::Stream), None);
        let began = monotonic_raw_seconds();
        let why = loop {
            if let Some(why) = session.obstacle(NetMode::Stream) {
                break why;
            }
            thread::sleep(Duration::from_millis(50));
            assert!(monotonic_raw_seconds() - began < 60.0, "it continues");
        };
        assert!(why.contains("it sent nothing for 6 s") && why.contains("; check"), "{why}");
    });
}

#[test]
fn a_session_that_takes_too_long_is_ended_with_the_reason() {
    let brief = ServerOptions { most_seconds: 0.2, ..serving(None) };
    with_server(brief, net_server::serve, |address| {
        let session = session(address, None).unwrap();
        let mut waits = 0;
        while session.obstacle(NetMode::Stream).is_none() {
            thread::sleep(Duration::from_millis(10));
            waits += 1;
            assert!(waits < 1000, "it continues");
        }
        let why = session.obstacle(NetMode::Stream).unwrap();
        assert!(why.contains("--max-time"), "{why}");
    });
}

#[test]
fn a_launch_that_panics_ends_alone() {
    let panics = |_: &TcpStream, _: &Home<'_>| panic!("on purpose");
    let notices = with_server(serving(None), panics, |address| {
        let first = session(address, None).unwrap();
        let control = stranger(address, Purpose::ProcessRun, first.token);
        let RunReply::Refused { reason } = frames::read(&control, PATIENCE).unwrap() else { panic!("refused") };
        assert!(reason.contains("panicked"), "{reason}");
        drop(first);
        drop(session(address, None).unwrap());
    });
    assert!(notices.iter().any(|notice| matches!(notice, Notice::LaunchFailed { .. })), "{notices:?}");
}

#[test]
fn hostile_strangers_do_not_keep_others_out() {
    let notices = with_server(serving(None), net_server::serve, |address| {
        let mut kept = Vec::new();
        let frame = |length: u32, body: &[u8]| [&length.to_be_bytes()[..], body].concat();
        let attacks: [Vec<u8>; 6] = [
            frame(u32::MAX, b""),
            frame(5000, &[b' '; 5000]),
            frame(10, b"{\"ki"),
            frame(9, b"\xff\xfe garbage"),
            frame(2, b"{}"),
            frame(16, b"{\"kind\":\"alive\"}"),
        ];
        for attack in &attacks {
            let mut stream = stranger(address, Purpose::Session, Token::NONE);
            let _ = stream.write_all(attack);
            kept.push(stream);
        }
        for purpose in [Purpose::ProcessRun, Purpose::Data, Purpose::Operation] {
            kept.push(stranger(address, purpose, Token::NONE));
        }
        let mut http = TcpStream::connect(address).unwrap();
        http.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
        kept.push(http);
        kept.extend((0..100).map(|_| TcpStream::connect(address).unwrap()));
        drop(session(address, None).unwrap());
    });
    assert!(notices.iter().any(|notice| matches!(notice, Notice::SessionEnded { .. })), "{notices:?}");
}

/// A connection from an address of the loopback interface.
fn connection_from(from: &str, address: SocketAddr) -> TcpStream {
    let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
    socket.bind(&SocketAddr::new(from.parse().unwrap(), 0).into()).unwrap();
    socket.connect(&address.into()).unwrap();
    socket.into()
}

#[test]
fn clients_are_admitted_while_another_address_keeps_opening_connections() {
    let ours = key("a key that both know");
    let preface = Preface { purpose: Purpose::Session, number: 0, token: Token::NONE }.bytes().to_vec();
    let body = serde_json::to_vec(&hello()).unwrap();
    let greeting = [&preface[..], &u32::try_from(body.len()).unwrap().to_be_bytes(), &body].concat();
    let notices = with_server(serving(Some(ours.clone())), net_server::serve, |address| {
        let end = AtomicBool::new(false);
        thread::scope(|scope| {
            for bytes in [&[][..], &preface, b"GET / HTTP/1.1\r\n\r\n", &greeting] {
                let end = &end;
                scope.spawn(move || {
                    let mut kept = Vec::new();
                    while !end.load(Ordering::Acquire) && kept.len() < 1000 {
                        let mut stream = connection_from("127.0.0.2", address);
                        let _ = stream.write_all(bytes);
                        kept.push(stream);
                        thread::sleep(Duration::from_millis(4));
                    }
                });
            }
            // Enough for the connections of 127.0.0.2 to reach their limit.
            thread::sleep(Duration::from_millis(400));
            let sessions: Vec<_> = (0..5).map(|_| session(address, Some(&ours)).map(drop)).collect();
            end.store(true, Ordering::Release);
            assert_eq!(sessions, vec![Ok(()); 5]);
        });
    });
    let rejected = |notice: &&Notice| matches!(notice, Notice::Rejected { .. });
    assert_eq!(notices.iter().filter(rejected).count(), 1, "one line a minute: {notices:?}");
}

#[test]
fn an_unauthenticated_client_learns_nothing_of_the_program() {
    let serving = ServerOptions { version: "7.7.7-secret".to_owned(), ..serving(Some(key("a key that both know"))) };
    with_server(serving, net_server::serve, |address| {
        let ClientMessage::Hello(ours) = hello() else { panic!("a client's first message") };
        let other = Hello { versions: [VERSIONS[1] + 1; 2], ..ours.clone() };
        for hello in [ours, other] {
            let mut stream = stranger(address, Purpose::Session, Token::NONE);
            frames::write(&stream, &ClientMessage::Hello(hello)).unwrap();
            frames::write(&stream, &ClientMessage::Proof { proof: Some("00".repeat(32)) }).unwrap();
            stream.set_read_timeout(Some(PATIENCE)).unwrap();
            let mut answer = Vec::new();
            let _ = stream.read_to_end(&mut answer);
            let answer = String::from_utf8_lossy(&answer);
            assert!(answer.contains("refused") && !answer.contains("7.7.7"), "{answer}");
            assert!(NetMode::ALL.iter().all(|mode| !answer.contains(mode.name())), "{answer}");
        }
    });
}

#[test]
fn a_client_whose_connection_is_closed_before_authentication_retries() {
    let server = Server::open(serving(None), Box::new(|_| {}), net_server::serve).unwrap();
    let busy = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = busy.local_addr().unwrap();
    let (server, stop) = (Arc::new(server), AtomicBool::new(false));
    thread::scope(|scope| {
        scope.spawn(|| server.until(&|| stop.load(Ordering::Acquire)).unwrap());
        scope.spawn(|| {
            drop(busy.accept().unwrap());
            drop(busy.accept().unwrap());
            // The third attempt reaches the server.
            let (near, far) = (busy.accept().unwrap().0, TcpStream::connect(server.listener.address).unwrap());
            thread::scope(|scope| {
                scope.spawn(|| {
                    std::io::copy(&mut &near, &mut &far).and_then(|_| far.shutdown(std::net::Shutdown::Write))
                });
                let _ = std::io::copy(&mut &far, &mut &near);
                let _ = near.shutdown(std::net::Shutdown::Both);
            });
        });
        let session = session(address, None);
        stop.store(true, Ordering::Release);
        assert_eq!(session.map(drop), Ok(()));
    });
}

#[test]
fn what_is_no_server_has_its_sentence() {
    for answer in [&b"HTTP/1.1 400 Bad Request\r\n\r\n"[..], b"SSH-2.0-OpenSSH_9.2\r\n", b""] {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        thread::scope(|scope| {
            scope.spawn(move || listener.accept().unwrap().0.write_all(answer).unwrap());
            let sentence = match session(address, None) {
                Err(NoSession::Named(sentence) | NoSession::Failed(sentence)) => sentence,
                other => panic!("{other:?}"),
            };
            assert!(sentence.contains(&address.to_string()), "{sentence}");
        });
    }
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    assert!(named(session(closed, None)).contains("no server answers"));
}

#[test]
fn a_server_for_one_ends_after_one() {
    let once = ServerOptions { once: true, ..serving(None) };
    let server = Arc::new(Server::open(once, Box::new(|_| {}), net_server::serve).unwrap());
    let address = server.listener.address;
    thread::scope(|scope| {
        let serving = scope.spawn(|| server.until(&|| false));
        drop(session(address, None).unwrap());
        assert_eq!(serving.join().unwrap(), Ok(()));
    });
    assert!(TcpStream::connect(address).is_err());
}

proptest! {
    #[test]
    fn no_bytes_make_a_reader_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        read_as_everything(&bytes);
    }

    #[test]
    fn nor_does_json_that_is_nearly_right(
        kind in "hello|welcome|open|window|count|counted|refused|admitted|queued|x",
        rest in "[\\[\\]{}\":,a-z0-9.e-]{0,60}",
    ) {
        read_as_everything(format!("{{\"kind\":\"{kind}\",{rest}}}").as_bytes());
    }
}
