//! A session with a server, as its client sees it: connected, authenticated, waited for, held for the whole run, and ended.
//!
//! While it lasts a thread of its own sends heartbeats, and notices when the server is lost.

use std::io;
use std::net::{IpAddr, Shutdown, SocketAddr, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use model::document::Peer;
use model::io::NetMode;
use sys::clock::monotonic_raw_seconds;
use sys::process;

use super::control::watch_over;
use super::frames::{self, NoFrame};
use super::handshake::{Admitted, Cause, ClientMessage, Hello, ServerMessage, VERSIONS, Welcome, common, tame};
use super::key::{Challenge, Key, Prover};
use super::preface::{Preface, Purpose, Token};
use super::target::Target;

/// Seconds that an address may take to be connected to, and a server to answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// A server without a message for so many seconds is lost.
const SILENCE_SECONDS: f64 = 6.0;

/// Seconds between two heartbeats.
const ALIVE_SECONDS: f64 = 1.0;

/// How often a stop signal is checked.
const LOOK_AROUND: Duration = Duration::from_millis(100);

/// Why there is no session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoSession {
    /// The target is no server, or does not admit this client: a sentence.
    Named(String),
    /// It went wrong on the way: a sentence.
    Failed(String),
    /// This signal arrived while the client waited.
    Interrupted(i32),
}

/// A session with a server, which lasts until it is dropped.
#[derive(Debug)]
pub struct ServerSession {
    address: SocketAddr,
    token: Token,
    modes: Vec<String>,
    peer: Peer,
    shared: Arc<Shared>,
    keeping: Option<JoinHandle<()>>,
}

/// What the session and its thread share.
#[derive(Debug)]
struct Shared {
    stream: TcpStream,
    /// Why there is no session any more.
    lost: Mutex<Option<String>>,
}

impl ServerSession {
    /// Connects to a server, authenticates, and waits for its turn; `waiting` receives the number of clients before this one.
    /// `version` is this program's.
    pub fn begin(
        target: &Target,
        key: Option<&Key>,
        version: &str,
        waiting: &mut dyn FnMut(u32),
    ) -> Result<Self, NoSession> {
        let addresses = target.addresses().map_err(NoSession::Named)?;
        let (stream, address) = connected(target, &addresses)?;
        let welcome = prove(&stream, target, key, version)?;
        let admitted = turn(&stream, target, waiting)?;
        let odd = || NoSession::Failed(format!("{target} admitted us with a token that is none"));
        let token = Token::parse(&admitted.token).ok_or_else(odd)?;
        let Admitted { path, machine, .. } = admitted;
        let peer = Peer {
            name: target.host().to_owned(),
            address: address.to_string(),
            version: tame(&welcome.program),
            interface: path.interface,
            mtu: path.mtu,
            offloads: path.offloads,
            congestion_control: path.congestion_control,
            machine,
        };
        let shared = Arc::new(Shared { stream, lost: Mutex::new(None) });
        let (ours, name) = (Arc::clone(&shared), target.to_string());
        let keeping = thread::Builder::new()
            .name("visit".to_owned())
            .spawn(move || ours.keep_alive(&name))
            .map_err(|error| NoSession::Failed(format!("cannot start a thread: {error}")))?;
        Ok(Self { address, token, modes: welcome.capabilities, peer, shared, keeping: Some(keeping) })
    }

    /// The server's host, for the record.
    pub fn peer(&self) -> &Peer {
        &self.peer
    }

    /// Where launches go.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// What lets launches in.
    pub(crate) fn token(&self) -> Token {
        self.token
    }

    /// The interface of this machine that leads to the server; `None` where that is not known.
    pub(crate) fn interface(&self) -> Option<String> {
        let to: IpAddr = self.address.ip();
        machine::interface_to(&machine::Sysroot::host(), to.to_canonical())
    }

    /// Why rows with this mode cannot be measured with the server, if they cannot: it is gone, or does not know how.
    pub(crate) fn obstacle(&self, mode: NetMode) -> Option<String> {
        self.shared.lost().clone().or_else(|| {
            let serves = self.modes.iter().any(|known| known == mode.name());
            let version = &self.peer.version;
            (!serves)
                .then(|| format!("the server is assay {version}, which serves no {mode}; run the same at both ends"))
        })
    }
}

impl Drop for ServerSession {
    fn drop(&mut self) {
        // One that is closed already is closed.
        let _ = self.shared.stream.shutdown(Shutdown::Both);
        if let Some(keeping) = self.keeping.take() {
            // What it had to say is in `lost`.
            let _ = keeping.join();
        }
    }
}

impl Shared {
    fn lost(&self) -> MutexGuard<'_, Option<String>> {
        self.lost.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Says that we are there, and hears whether the server is, until either ends the session.
    fn keep_alive(&self, name: &str) {
        let mut line = Line::new(&self.stream);
        let over = loop {
            match line.next(Duration::from_secs_f64(ALIVE_SECONDS / 2.0)) {
                Ok(None | Some(ServerMessage::Alive)) => {}
                Ok(Some(ServerMessage::Over { reason } | ServerMessage::Refused { reason, .. })) => {
                    let (reason, look) =
                        (tame(&reason), "look whether this run was stopped or the path between was lost");
                    break format!("the server at {name} ended the visit, and says of this run: {reason}; {look}");
                }
                Ok(Some(_)) => break format!("the server at {name} said something that does not belong there"),
                Err(why) => break gone(name, &why),
            }
        };
        *self.lost() = Some(over);
    }
}

/// The sentence for a server that is no longer there, or says nothing.
fn gone(name: &str, why: &str) -> String {
    format!("the server at {name} is gone: {why}; look whether 'assay net serve' still runs there")
}

/// The connection of a session on which both say from time to time that they are there.
struct Line<'a> {
    stream: &'a TcpStream,
    said: f64,
    heard: f64,
}

impl<'a> Line<'a> {
    fn new(stream: &'a TcpStream) -> Self {
        Self { stream, said: f64::NEG_INFINITY, heard: monotonic_raw_seconds() }
    }

    /// What the server says within so much time, if anything; tells it that we are there when that is due.
    fn next(&mut self, within: Duration) -> Result<Option<ServerMessage>, String> {
        let text = |error: io::Error| error.to_string();
        let now = monotonic_raw_seconds();
        if now - self.said >= ALIVE_SECONDS {
            self.said = now;
            // Where that fails there may still be a last word to be read.
            let _ = frames::write(self.stream, &ClientMessage::Alive);
        }
        if !frames::comes(self.stream, within).map_err(text)? {
            let silent = monotonic_raw_seconds() - self.heard > SILENCE_SECONDS;
            return if silent { Err(format!("it said nothing for {SILENCE_SECONDS:.0} s")) } else { Ok(None) };
        }
        let word = frames::read(self.stream, PATIENCE).map_err(|error: NoFrame| error.to_string())?;
        self.heard = monotonic_raw_seconds();
        Ok(Some(word))
    }
}

/// A connection to the first of the addresses that has somebody.
fn connected(target: &Target, addresses: &[SocketAddr]) -> Result<(TcpStream, SocketAddr), NoSession> {
    use std::io::Write;
    let mut failed = Vec::new();
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
            Err(error) => failed.push(format!("{address}: {error}")),
        }
    }
    Err(NoSession::Named(format!(
        "no server answers at {target} ({}); start 'assay net serve' there, and look for a firewall on the way",
        failed.join("; ")
    )))
}

/// The signal that asks us to stop, as an error.
fn stopped() -> Result<(), NoSession> {
    process::stop_signal().map_or(Ok(()), |signal| Err(NoSession::Interrupted(signal)))
}

/// Says who we are, and proves that we know the key, as the server does.
fn prove(stream: &TcpStream, target: &Target, key: Option<&Key>, version: &str) -> Result<Welcome, NoSession> {
    let client = Token::new();
    let hello = Hello {
        versions: VERSIONS,
        program: version.to_owned(),
        capabilities: Vec::new(),
        nonce: client.as_str().to_owned(),
    };
    // Where that fails there may still be a refusal to be read.
    let _ = frames::write(stream, &ClientMessage::Hello(hello));
    let ServerMessage::Welcome(welcome) = hear(stream, target)? else {
        return Err(no_server(target, "it did not say who it is"));
    };
    // Both have the same rule, so that this is a server that does not keep to it.
    let agreed = common(VERSIONS, [welcome.version; 2]).is_some();
    let server = Token::parse(&welcome.nonce).filter(|_| agreed);
    let server = server.ok_or_else(|| no_server(target, "it answered with a version or number that is none"))?;
    let challenge = Challenge { version: welcome.version, client, server };
    match (key, welcome.key_needed) {
        (None, true) => {
            return Err(NoSession::Named(format!(
                "the server at {target} asks for a key; name its file with --key-file"
            )));
        }
        (Some(_), false) => {
            return Err(NoSession::Named(format!(
                "the server at {target} has no key, so that it cannot be told from another; leave --key-file away"
            )));
        }
        _ => {}
    }
    let proof = key.map(|key| key.proof(Prover::Client, &challenge));
    let _ = frames::write(stream, &ClientMessage::Proof { proof });
    let ServerMessage::Known { proof } = hear(stream, target)? else {
        return Err(no_server(target, "it did not say whether it knows us"));
    };
    let proven = |key: &Key| proof.is_some_and(|proof| key.is_proven(Prover::Server, &challenge, &proof));
    if key.is_some_and(|key| !proven(key)) {
        return Err(NoSession::Named(format!("the server at {target} does not know the key: it is another one")));
    }
    Ok(welcome)
}

/// The next word of a server that has not let us in yet.
fn hear(stream: &TcpStream, target: &Target) -> Result<ServerMessage, NoSession> {
    match frames::read(stream, PATIENCE) {
        Ok(ServerMessage::Refused { cause, reason }) => Err(refused(target, cause, &reason)),
        Ok(word) => Ok(word),
        Err(NoFrame::Ended) => Err(NoSession::Named(format!(
            "what listens at {target} closed the connection without a word; look whether that is 'assay net serve', and \
             whether too many ask it at once"
        ))),
        Err(NoFrame::Failed(error)) => Err(NoSession::Failed(format!("the connection to {target} failed: {error}"))),
        Err(error) => Err(no_server(target, &error.to_string())),
    }
}

fn no_server(target: &Target, why: &str) -> NoSession {
    NoSession::Named(format!("what listens at {target} is no 'assay net serve': {}; look at the port", tame(why)))
}

/// The sentence of a server that does not let us in.
fn refused(target: &Target, cause: Cause, reason: &str) -> NoSession {
    let sentence = format!("the server at {target} does not let us in: {}", tame(reason));
    match cause {
        Cause::Key | Cause::Version => NoSession::Named(sentence),
        Cause::Full | Cause::Other => NoSession::Failed(sentence),
    }
}

/// Waits until it is our turn.
fn turn(stream: &TcpStream, target: &Target, waiting: &mut dyn FnMut(u32)) -> Result<Admitted, NoSession> {
    let mut line = Line::new(stream);
    loop {
        stopped()?;
        match line.next(LOOK_AROUND) {
            Ok(None | Some(ServerMessage::Alive)) => {}
            Ok(Some(ServerMessage::Queued { ahead })) => waiting(ahead),
            Ok(Some(ServerMessage::Admitted(admitted))) => return Ok(*admitted),
            Ok(Some(ServerMessage::Refused { cause, reason })) => return Err(refused(target, cause, &reason)),
            Ok(Some(_)) => return Err(no_server(target, "it said something that does not belong there")),
            Err(why) => return Err(NoSession::Failed(gone(&target.to_string(), &why))),
        }
    }
}
