//! A client's session with a server: connected, authenticated, queued, held until dropped. A thread sends heartbeats.

use std::io;
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use model::document::Peer;
use model::io::NetMode;
use sys::clock::monotonic_raw_seconds;
use sys::process;

use super::frames::{self, NoFrame, watch_over};
use super::handshake::{Admitted, Cause, ClientMessage, Hello, Known, ServerMessage, VERSIONS, common, tame};
use super::key::{Challenge, Key, Prover};
use super::preface::{Preface, Purpose, Token};
use super::target::Target;
use crate::locks::lock;

/// Timeout of a connection and of an answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// A server silent for this long is lost.
const SILENCE_SECONDS: f64 = 6.0;
const ALIVE_SECONDS: f64 = 1.0;
const LOOK_AROUND: Duration = Duration::from_millis(100);
/// Pauses before further attempts, where a busy server closed the connection before authentication or its queue was full.
const PAUSES_MS: [u64; 4] = [50, 150, 400, 1000];

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoSession {
    /// The target is no server, or rejects this client.
    Named(String),
    Failed(String),
    /// By the signal of this number.
    Interrupted(i32),
}

/// A session with a server, until it is dropped.
#[derive(Debug)]
pub struct ServerSession {
    pub(crate) address: SocketAddr,
    pub(crate) token: Token,
    modes: Vec<String>,
    /// The server's host, for the document.
    pub peer: Peer,
    shared: Arc<Shared>,
    keeping: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    stream: TcpStream,
    lost: Mutex<Option<String>>,
}

impl ServerSession {
    /// Connects, authenticates with `key`, and waits; `waiting` receives the number of clients before this one.
    pub fn begin(
        target: &Target,
        key: Option<&Key>,
        version: &str,
        waiting: &mut dyn FnMut(u32),
    ) -> Result<Self, NoSession> {
        let Begun { stream, address, known, admitted } = begin(target, key, version, waiting)?;
        let odd = || NoSession::Failed(format!("{target} sent an invalid token"));
        let token = Token::parse(&admitted.token).ok_or_else(odd)?;
        let Admitted { path, machine, .. } = admitted;
        let peer = Peer {
            name: target.host.clone(),
            address: address.to_string(),
            version: tame(&known.program),
            interface: path.interface,
            mtu: path.mtu,
            offloads: path.offloads,
            congestion_control: path.congestion_control,
            machine,
        };
        let shared = Arc::new(Shared { stream, lost: Mutex::new(None) });
        let (ours, name) = (Arc::clone(&shared), target.to_string());
        let keeping = thread::Builder::new()
            .name("session".to_owned())
            .spawn(move || ours.keep_alive(&name))
            .map_err(|error| NoSession::Failed(format!("cannot start a thread: {error}")))?;
        Ok(Self { address, token, modes: known.capabilities, peer, shared, keeping: Some(keeping) })
    }

    pub(crate) fn interface(&self) -> Option<String> {
        machine::interface_to(&machine::Sysroot::host(), self.address.ip().to_canonical())
    }

    /// Why this mode cannot be measured: the session is lost, or the server does not support it.
    pub(crate) fn obstacle(&self, mode: NetMode) -> Option<String> {
        lock(&self.shared.lost).clone().or_else(|| {
            let serves = self.modes.iter().any(|known| known == mode.name());
            let (version, same) = (&self.peer.version, "use the same version on both hosts");
            (!serves).then(|| format!("the server is assay {version}, which does not support {mode}; {same}"))
        })
    }
}

impl Drop for ServerSession {
    fn drop(&mut self) {
        let _ = self.shared.stream.shutdown(Shutdown::Both);
        if let Some(keeping) = self.keeping.take() {
            let _ = keeping.join();
        }
    }
}

impl Shared {
    fn keep_alive(&self, name: &str) {
        let mut line = Heartbeats::new(&self.stream);
        let over = loop {
            match line.next(Duration::from_secs_f64(ALIVE_SECONDS / 2.0)) {
                Ok(None | Some(ServerMessage::Alive)) => {}
                Ok(Some(ServerMessage::Over { reason } | ServerMessage::Refused { reason, .. })) => {
                    let look = "check whether this run was stopped or the network path failed";
                    break format!("the server at {name} ended the session: {}; {look}", tame(&reason));
                }
                Ok(Some(_)) => break format!("the server at {name} sent an unexpected message"),
                Err(why) => break gone(name, &why),
            }
        };
        *lock(&self.lost) = Some(over);
    }
}

fn gone(name: &str, why: &str) -> String {
    format!("lost the connection to the server at {name}: {why}; check whether 'assay net serve' still runs there")
}

struct Heartbeats<'a> {
    stream: &'a TcpStream,
    sent: f64,
    received: f64,
}

impl<'a> Heartbeats<'a> {
    fn new(stream: &'a TcpStream) -> Self {
        Self { stream, sent: f64::NEG_INFINITY, received: monotonic_raw_seconds() }
    }

    /// The next message within this time; sends a heartbeat when one is due.
    fn next(&mut self, within: Duration) -> Result<Option<ServerMessage>, String> {
        let text = |error: io::Error| error.to_string();
        let now = monotonic_raw_seconds();
        if now - self.sent >= ALIVE_SECONDS {
            self.sent = now;
            // Even if that fails, a last message may be readable.
            let _ = frames::write(self.stream, &ClientMessage::Alive);
        }
        if !sys::net::wait::wait_readable(self.stream, within).map_err(text)? {
            let silent = monotonic_raw_seconds() - self.received > SILENCE_SECONDS;
            return if silent { Err(format!("it sent nothing for {SILENCE_SECONDS:.0} s")) } else { Ok(None) };
        }
        let word = frames::read(self.stream, PATIENCE).map_err(|error: NoFrame| error.to_string())?;
        self.received = monotonic_raw_seconds();
        Ok(Some(word))
    }
}

struct Begun {
    stream: TcpStream,
    address: SocketAddr,
    known: Known,
    admitted: Admitted,
}

enum Failure {
    /// The server may answer the next attempt.
    Passing(NoSession),
    Final(NoSession),
}

impl From<NoSession> for Failure {
    fn from(why: NoSession) -> Self {
        Self::Final(why)
    }
}

fn begin(target: &Target, key: Option<&Key>, version: &str, waiting: &mut dyn FnMut(u32)) -> Result<Begun, NoSession> {
    let addresses = target.addresses().map_err(NoSession::Named)?;
    let mut attempt = || {
        let (stream, address) = connected(target, &addresses)?;
        let known = prove(&stream, target, key, version)?;
        let admitted = turn(&stream, target, waiting)?;
        Ok(Begun { stream, address, known, admitted })
    };
    let mut pauses = PAUSES_MS.into_iter();
    loop {
        match (attempt(), pauses.next()) {
            (Ok(begun), _) => return Ok(begun),
            (Err(Failure::Passing(_)), Some(pause)) => thread::sleep(Duration::from_millis(pause)),
            (Err(Failure::Passing(why) | Failure::Final(why)), _) => return Err(why),
        }
    }
}

/// Connects to the first address that answers.
fn connected(target: &Target, addresses: &[SocketAddr]) -> Result<(TcpStream, SocketAddr), Failure> {
    use std::io::Write;
    let (mut failed, mut passing) = (Vec::new(), false);
    for address in addresses {
        stopped()?;
        let connect = || {
            let mut stream = TcpStream::connect_timeout(address, PATIENCE)?;
            watch_over(&stream)?;
            let preface = Preface { purpose: Purpose::Session, number: 0, token: Token::NONE };
            stream.write_all(&preface.bytes()).map(|()| stream)
        };
        match connect() {
            Ok(stream) => return Ok((stream, *address)),
            Err(error) => {
                passing |= matches!(error.kind(), io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe);
                failed.push(format!("{address}: {error}"));
            }
        }
    }
    let why = NoSession::Named(format!(
        "no server answers at {target} ({}); start 'assay net serve' there, and check for a firewall in between",
        failed.join("; ")
    ));
    Err(if passing { Failure::Passing(why) } else { Failure::Final(why) })
}

fn stopped() -> Result<(), NoSession> {
    process::stop_signal().map_or(Ok(()), |signal| Err(NoSession::Interrupted(signal)))
}

fn prove(stream: &TcpStream, target: &Target, key: Option<&Key>, version: &str) -> Result<Known, Failure> {
    let client = Token::new();
    let hello = Hello {
        versions: VERSIONS,
        program: version.to_owned(),
        capabilities: Vec::new(),
        nonce: client.as_str().to_owned(),
    };
    // Even if that fails, a refusal may be readable.
    let _ = frames::write(stream, &ClientMessage::Hello(hello));
    let ServerMessage::Welcome(welcome) = hear(stream, target)? else {
        return Err(no_server(target, "it sent no greeting").into());
    };
    // Both apply the same rule, so this server violates the protocol.
    let agreed = common(VERSIONS, [welcome.version; 2]).is_some();
    let server = Token::parse(&welcome.nonce).filter(|_| agreed);
    let server = server.ok_or_else(|| no_server(target, "it sent an invalid version or nonce"))?;
    let challenge = Challenge { version: welcome.version, client, server };
    match (key, welcome.key_needed) {
        (None, true) => {
            return Err(NoSession::Named(format!("the server at {target} requires a key; use --key-file")).into());
        }
        (Some(_), false) => {
            let why = "has no key, so it cannot be authenticated; omit --key-file";
            return Err(NoSession::Named(format!("the server at {target} {why}")).into());
        }
        _ => {}
    }
    let proof = key.map(|key| key.proof(Prover::Client, &challenge));
    let _ = frames::write(stream, &ClientMessage::Proof { proof });
    let ServerMessage::Known(known) = hear(stream, target)? else {
        return Err(no_server(target, "it did not answer the key check").into());
    };
    let proven = |key: &Key| known.proof.as_ref().is_some_and(|proof| key.is_proven(Prover::Server, &challenge, proof));
    if key.is_some_and(|key| !proven(key)) {
        return Err(NoSession::Named(format!("the server at {target} has another key")).into());
    }
    Ok(known)
}

/// The next message before admission.
fn hear(stream: &TcpStream, target: &Target) -> Result<ServerMessage, Failure> {
    match frames::read(stream, PATIENCE) {
        Ok(ServerMessage::Refused { cause, reason }) => Err(refused(target, cause, &reason)),
        Ok(word) => Ok(word),
        Err(NoFrame::Ended) => Err(Failure::Passing(NoSession::Named(format!(
            "the program at {target} closed the connection without an answer; check that it is 'assay net serve', \
             and that it does not have too many clients"
        )))),
        Err(NoFrame::Failed(error)) => {
            Err(NoSession::Failed(format!("the connection to {target} failed: {error}")).into())
        }
        Err(error) => Err(no_server(target, &error.to_string()).into()),
    }
}

fn no_server(target: &Target, why: &str) -> NoSession {
    NoSession::Named(format!("the program at {target} is not 'assay net serve': {}; check the port", tame(why)))
}

fn refused(target: &Target, cause: Cause, reason: &str) -> Failure {
    let sentence = format!("the server at {target} rejected this client: {}", tame(reason));
    match cause {
        Cause::Key | Cause::Version => Failure::Final(NoSession::Named(sentence)),
        Cause::Full => Failure::Passing(NoSession::Failed(sentence)),
        Cause::Other => Failure::Final(NoSession::Failed(sentence)),
    }
}

fn turn(stream: &TcpStream, target: &Target, waiting: &mut dyn FnMut(u32)) -> Result<Admitted, Failure> {
    let mut line = Heartbeats::new(stream);
    loop {
        stopped()?;
        match line.next(LOOK_AROUND) {
            Ok(None | Some(ServerMessage::Alive)) => {}
            Ok(Some(ServerMessage::Queued { ahead })) => waiting(ahead),
            Ok(Some(ServerMessage::Admitted(admitted))) => return Ok(*admitted),
            Ok(Some(ServerMessage::Refused { cause, reason })) => return Err(refused(target, cause, &reason)),
            Ok(Some(_)) => return Err(no_server(target, "it sent an unexpected message").into()),
            Err(why) => return Err(NoSession::Failed(gone(&target.to_string(), &why)).into()),
        }
    }
}
