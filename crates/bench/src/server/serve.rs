//! The server: admits clients, one after the other, and serves their launches in this process.
//!
//! A client cannot end it. A connection costs a thread; the number and the time of unauthenticated connections are bounded,
//! and nothing is allocated for the lengths and numbers that they send. A launch has the token of a client whose turn it is,
//! and comes from its address; a launch that panics ends alone.

use std::net::{IpAddr, Shutdown, SocketAddr, TcpStream};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;
use std::{fmt, io};

use machine::Sysroot;
use model::io::NetMode;
use model::machine::Machine;
use sys::clock::{Calibration, Timer, monotonic_raw_seconds};
use sys::process;

use super::queue::{ClientQueue, QueuePlace};
use crate::engines::net::far::{self, Home};
use crate::engines::net::serve_late;
use crate::net::control::watch_over;
use crate::net::frames::{self, NoFrame};
use crate::net::handshake::{
    Admitted, Cause, ClientMessage, Hello, Limits, MOST_BYTES_BEFORE, ServerMessage, VERSIONS, Welcome,
};
use crate::net::handshake::{common, tame};
use crate::net::incoming::DataConnections;
use crate::net::key::{Challenge, Key, Prover};
use crate::net::listener::Listener;
use crate::net::messages::RunReply;
use crate::net::path;
use crate::net::preface::{Preface, Purpose, Token};
use areas::net::modes::MOST_BLOCK_BYTES;
use areas::place;

/// Most unauthenticated clients at a time; one more is closed at once.
const MOST_UNIDENTIFIED: usize = 256;

/// Seconds that the authentication of a client may take.
const GREETING_SECONDS: f64 = 5.0;

/// A client without a message for so many seconds is lost.
const SILENCE_SECONDS: f64 = 5.0;

/// How often a waiting client receives its place in the queue, in seconds.
const TELL_SECONDS: f64 = 1.0;

/// How often the server checks whether a client's turn has come, and whether it is to end.
const LOOK_AROUND: Duration = Duration::from_millis(100);

/// How long the connections of a server that ends may take to close.
const GOOD_BYE: Duration = Duration::from_millis(500);

/// Data connections of a launch.
const MOST_FLOWS: u32 = 128;

/// Least time over which the server calibrates its timer.
const CALIBRATION: Duration = Duration::from_millis(20);

/// Options of a server.
#[derive(Clone, Debug)]
pub struct ServerOptions {
    /// Where it listens.
    pub listen: SocketAddr,
    /// The key that its clients have to know; none is needed on a loopback address alone.
    pub key: Option<Key>,
    /// Whether it ends after the first client.
    pub once: bool,
    /// Clients that measure at the same time.
    pub concurrent: usize,
    /// The longest session, in seconds.
    pub most_seconds: f64,
    /// The most that it sends by UDP, in bytes of data per second.
    pub udp_bytes_per_second: Option<f64>,
    /// Version of this program.
    pub version: String,
}

/// A notice of a server.
#[derive(Clone, Debug, PartialEq)]
pub enum Notice {
    /// It listens.
    Listening {
        /// Where.
        address: SocketAddr,
    },
    /// A session is over.
    SessionEnded {
        /// The client's address.
        from: IpAddr,
        /// Version of its program.
        version: String,
        /// How long it had its turn.
        seconds: f64,
        /// Launches that it made.
        launches: u32,
        /// Why it ended, where the client did not end it.
        because: Option<String>,
    },
    /// A client was not admitted, or left before its turn.
    Rejected {
        /// Who came.
        from: IpAddr,
        /// Why.
        because: String,
    },
    /// A launch went wrong.
    LaunchFailed {
        /// The client's address.
        from: IpAddr,
        /// Why.
        because: String,
    },
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Listening { address } => write!(f, "listening on {address}, TCP and UDP"),
            Self::SessionEnded { from, version, seconds, launches, because } => {
                write!(f, "{from} (assay {version}): {launches} launches in {seconds:.0} s")?;
                because.as_ref().map_or(Ok(()), |because| write!(f, "; {because}"))
            }
            Self::Rejected { from, because } => write!(f, "{from}: not let in: {because}"),
            Self::LaunchFailed { from, because } => write!(f, "{from}: a launch failed: {because}"),
        }
    }
}

/// Serves clients until a signal asks this process to stop; with `once`, until the first of them has left.
pub fn serve(serving: ServerOptions, tell: impl Fn(&Notice) + Send + Sync + 'static) -> Result<(), String> {
    let server = Arc::new(Server::open(serving, Box::new(tell), far::serve)?);
    (server.tell)(&Notice::Listening { address: server.listener.address() });
    server.until(&|| process::stop_signal().is_some())
}

/// What a launch is served with.
type ServeLaunch = fn(&TcpStream, &Home<'_>) -> Result<(), String>;

/// A server.
pub(super) struct Server {
    serving: ServerOptions,
    pub(super) listener: Listener,
    connections: DataConnections,
    queue: ClientQueue,
    limits: Limits,
    machine: Machine,
    timer: Timer,
    tell: Box<dyn Fn(&Notice) + Send + Sync>,
    serve_launch: ServeLaunch,
    strangers: AtomicUsize,
    /// Clients that have had their turn.
    served: AtomicUsize,
}

/// An authenticated client.
struct KnownClient {
    version: String,
}

/// Why a client is not admitted.
struct Refusal(Cause, String);

impl Server {
    /// A server that can be connected to.
    pub(super) fn open(
        serving: ServerOptions,
        tell: Box<dyn Fn(&Notice) + Send + Sync>,
        serve_launch: ServeLaunch,
    ) -> Result<Self, String> {
        let at = serving.listen;
        if serving.key.is_none() && !at.ip().to_canonical().is_loopback() {
            return Err(format!(
                "to listen on {} a key is needed, as others can come there; name its file with --key-file",
                at.ip()
            ));
        }
        let calibration = Calibration::begin();
        let listener = Listener::open(at).map_err(|error| match error.kind() {
            io::ErrorKind::AddrInUse => {
                format!("cannot listen on {at}: the port is taken; end who has it, or name another with --listen")
            }
            _ => format!("cannot listen on {at}: {error}; write an address of this machine, and a port above 1023"),
        })?;
        let limits = Limits {
            most_seconds: serving.most_seconds,
            most_flows: MOST_FLOWS,
            most_block_bytes: MOST_BLOCK_BYTES,
            udp_bytes_per_second: serving.udp_bytes_per_second,
        };
        Ok(Self {
            listener,
            connections: DataConnections::default(),
            queue: ClientQueue::new(serving.concurrent),
            limits,
            machine: machine::discover(&Sysroot::host()),
            timer: calibration.finish(CALIBRATION),
            tell,
            serve_launch,
            strangers: AtomicUsize::new(0),
            served: AtomicUsize::new(0),
            serving,
        })
    }

    /// Serves until told to stop, or until it has served once where that is wanted.
    pub(super) fn until(self: &Arc<Self>, stop: &dyn Fn() -> bool) -> Result<(), String> {
        let server = Arc::clone(self);
        // On a thread of its own: connections that hang do not keep the process from ending.
        let receiving = thread::Builder::new()
            .name("door".to_owned())
            .spawn(move || server.listener.receive(&|preface, stream| server.greet(preface, stream)))
            .map_err(|error| format!("cannot start a thread: {error}"))?;
        let once = || self.serving.once && self.served.load(Ordering::Acquire) > 0;
        while !stop() && !once() && !receiving.is_finished() {
            thread::sleep(LOOK_AROUND);
        }
        self.listener.close();
        self.queue.close();
        let until = monotonic_raw_seconds() + GOOD_BYE.as_secs_f64();
        while !receiving.is_finished() && monotonic_raw_seconds() < until {
            thread::sleep(LOOK_AROUND / 10);
        }
        if !receiving.is_finished() {
            return Ok(());
        }
        match receiving.join() {
            Ok(received) => received.map_err(|error| format!("cannot take connections any more: {error}")),
            Err(_) => Err("the server panicked".to_owned()),
        }
    }

    /// Serves a connection by its purpose. A panic in it does not end the server.
    fn greet(&self, preface: Preface, stream: TcpStream) {
        let from = stream.peer_addr().map(|address| address.ip().to_canonical());
        let Ok(from) = from else { return };
        let greeted = catch_unwind(AssertUnwindSafe(move || match preface.purpose {
            Purpose::Session => self.session(&stream, from),
            Purpose::ProcessRun => self.launch(preface.token, &stream, from),
            Purpose::Data => self.connections.bring(preface, stream),
            Purpose::Operation => serve_late(&self.listener, &preface, &stream),
        }));
        if greeted.is_err() {
            (self.tell)(&Notice::LaunchFailed { from, because: "it panicked, which is a defect".to_owned() });
        }
    }

    /// Serves one launch, if its client's turn has come.
    fn launch(&self, token: Token, control: &TcpStream, from: IpAddr) {
        let served = self.queue.launch(token, from, control).and_then(|launch| {
            let cpus = |flows: usize| place(u32::try_from(flows).unwrap_or(MOST_FLOWS), &self.machine).0;
            let home = Home {
                listener: &self.listener,
                connections: &self.connections,
                cpus: &cpus,
                timer: self.timer,
                limits: &self.limits,
            };
            let served = catch_unwind(AssertUnwindSafe(|| (self.serve_launch)(control, &home)));
            drop(launch);
            served.unwrap_or_else(|_| {
                let reason = "the launch panicked there, which is a defect".to_owned();
                // Who is gone does not hear it.
                let _ = frames::write(control, &RunReply::Refused { reason: reason.clone() });
                Err(reason)
            })
        });
        if let Err(because) = served {
            (self.tell)(&Notice::LaunchFailed { from, because: tame(&because) });
        }
    }

    /// A session from its first message to its end.
    fn session(&self, stream: &TcpStream, from: IpAddr) {
        let Some(stranger) = Counted::below(&self.strangers, MOST_UNIDENTIFIED) else { return };
        let known = self.authenticate(stream);
        drop(stranger);
        let stayed = known.and_then(|known| {
            let place = self
                .queue
                .enter()
                .ok_or_else(|| Refusal(Cause::Full, "too many wait already; come again later".to_owned()))?;
            self.wait(stream, &place)?;
            self.keep_alive(stream, from, &place, &known)
        });
        if let Err(Refusal(cause, reason)) = stayed {
            let because = tame(&reason);
            farewell(stream, &ServerMessage::Refused { cause, reason });
            (self.tell)(&Notice::Rejected { from, because });
        }
    }

    /// Authenticates a client by the key.
    fn authenticate(&self, stream: &TcpStream) -> Result<KnownClient, Refusal> {
        let other = |reason: String| Refusal(Cause::Other, reason);
        let failed = |error: io::Error| other(format!("the connection failed: {error}"));
        watch_over(stream).map_err(failed)?;
        let until = monotonic_raw_seconds() + GREETING_SECONDS;
        let hear = || {
            let left = Duration::try_from_secs_f64(until - monotonic_raw_seconds()).unwrap_or_default();
            let heard: Result<ClientMessage, NoFrame> = frames::read_at_most(stream, left, MOST_BYTES_BEFORE);
            heard.map_err(|error| other(format!("it did not say who it is: {error}")))
        };
        let ClientMessage::Hello(hello) = hear()? else {
            return Err(other("it did not begin with who it is".to_owned()));
        };
        let (version, client) = self.agree(&hello)?;
        let challenge = Challenge { version, client, server: Token::new() };
        let welcome = Welcome {
            version,
            program: self.serving.version.clone(),
            capabilities: NetMode::ALL.iter().map(|mode| mode.name().to_owned()).collect(),
            nonce: challenge.server.as_str().to_owned(),
            key_needed: self.serving.key.is_some(),
        };
        frames::write(stream, &ServerMessage::Welcome(welcome)).map_err(failed)?;
        let ClientMessage::Proof { proof } = hear()? else {
            return Err(other("it did not prove who it is".to_owned()));
        };
        if let Some(key) = &self.serving.key {
            match proof {
                Some(proof) if key.is_proven(Prover::Client, &challenge, &proof) => {}
                Some(_) => return Err(Refusal(Cause::Key, "the key is not the server's".to_owned())),
                None => return Err(Refusal(Cause::Key, "the server asks for a key".to_owned())),
            }
        }
        let proof = self.serving.key.as_ref().map(|key| key.proof(Prover::Server, &challenge));
        frames::write(stream, &ServerMessage::Known { proof }).map_err(failed)?;
        Ok(KnownClient { version: tame(&hello.program) })
    }

    /// The version that both speak, and the client's number.
    fn agree(&self, hello: &Hello) -> Result<(u32, Token), Refusal> {
        let version = common(VERSIONS, hello.versions).ok_or_else(|| {
            let ([oldest, newest], [first, last]) = (VERSIONS, hello.versions);
            let reason = format!(
                "it (assay {}) speaks versions {first} to {last} of the protocol and the server (assay {}) {oldest} to \
                 {newest}; run the same version of assay at both ends",
                tame(&hello.program),
                self.serving.version
            );
            Refusal(Cause::Version, reason)
        })?;
        let client = Token::parse(&hello.nonce);
        let client = client.ok_or_else(|| Refusal(Cause::Other, "its number is none".to_owned()))?;
        Ok((version, client))
    }

    /// Lets a client wait, and tells it how many come before it, until it would be next and its turn has come.
    fn wait(&self, stream: &TcpStream, place: &QueuePlace<'_>) -> Result<(), Refusal> {
        let mut client = Client::new(stream);
        let mut told = f64::NEG_INFINITY;
        while !place.is_next() {
            if self.queue.are_closed() {
                return Err(Refusal(Cause::Other, "the server was stopped".to_owned()));
            }
            let now = monotonic_raw_seconds();
            if now - told >= TELL_SECONDS {
                told = now;
                let ahead = u32::try_from(place.ahead()).unwrap_or(u32::MAX);
                let queued = frames::write(stream, &ServerMessage::Queued { ahead });
                queued.map_err(|error| Refusal(Cause::Other, format!("it left while it waited: {error}")))?;
            }
            match client.listen(LOOK_AROUND) {
                Ok(_) => {}
                Err(Some(reason)) => return Err(Refusal(Cause::Other, reason)),
                Err(None) => return Err(Refusal(Cause::Other, "it left while it waited".to_owned())),
            }
        }
        Ok(())
    }

    /// A client's turn, until it leaves or has to.
    fn keep_alive(
        &self,
        stream: &TcpStream,
        from: IpAddr,
        place: &QueuePlace<'_>,
        known: &KnownClient,
    ) -> Result<(), Refusal> {
        let stopped = || Refusal(Cause::Other, "the server was stopped".to_owned());
        let token = place.turn(from).ok_or_else(stopped)?;
        let _served = Served(&self.served);
        let began = monotonic_raw_seconds();
        let because = self.attend(stream, from, token).err();
        if let Some(reason) = &because {
            farewell(stream, &ServerMessage::Over { reason: reason.clone() });
        }
        (self.tell)(&Notice::SessionEnded {
            from,
            version: known.version.clone(),
            seconds: monotonic_raw_seconds() - began,
            launches: place.launches(),
            because: because.map(|reason| tame(&reason)),
        });
        Ok(())
    }

    /// Admits a client and answers it until it leaves.
    fn attend(&self, stream: &TcpStream, from: IpAddr, token: Token) -> Result<(), String> {
        let failed = |error: io::Error| format!("the connection failed: {error}");
        let mut path = path::end_towards(from);
        path.congestion_control = path::congestion_control(stream);
        let (limits, machine) = (self.limits.clone(), self.machine.clone());
        let admitted = Admitted { token: token.as_str().to_owned(), limits, path, machine };
        frames::write(stream, &ServerMessage::Admitted(Box::new(admitted))).map_err(failed)?;
        let until = monotonic_raw_seconds() + self.limits.most_seconds;
        let mut client = Client::new(stream);
        loop {
            match client.listen(LOOK_AROUND) {
                Ok(true) => frames::write(stream, &ServerMessage::Alive).map_err(failed)?,
                Ok(false) => {}
                Err(None) => return Ok(()),
                Err(Some(reason)) => return Err(reason),
            }
            if self.queue.are_closed() {
                return Err("the server was stopped".to_owned());
            }
            if monotonic_raw_seconds() > until {
                return Err(format!(
                    "the visit has taken its {:.0} s, the longest that this server allows (--max-time)",
                    self.limits.most_seconds
                ));
            }
        }
    }
}

/// Sends the last message and waits a moment until the client has closed the connection: closing it with unread data would
/// reset it, and the message would be lost.
fn farewell(mut stream: &TcpStream, word: &ServerMessage) {
    use std::io::Read;
    // Who is gone does not hear it.
    let said = frames::write(stream, word).and_then(|()| stream.shutdown(Shutdown::Write));
    let until = monotonic_raw_seconds() + GOOD_BYE.as_secs_f64() / 2.0;
    while said.is_ok() && monotonic_raw_seconds() < until {
        match frames::comes(stream, LOOK_AROUND) {
            Ok(true) if !matches!(stream.read(&mut [0; 64]), Ok(0) | Err(_)) => {}
            Ok(false) => {}
            _ => return,
        }
    }
}

/// The heartbeats of a client.
struct Client<'a> {
    stream: &'a TcpStream,
    heard: f64,
}

impl<'a> Client<'a> {
    fn new(stream: &'a TcpStream) -> Self {
        Self { stream, heard: monotonic_raw_seconds() }
    }

    /// Whether it says within so much time that it is there.
    fn listen(&mut self, within: Duration) -> Result<bool, Option<String>> {
        let gone = |error: &dyn fmt::Display| Some(format!("it is gone: {error}"));
        if !frames::comes(self.stream, within).map_err(|error| gone(&error))? {
            let silent = monotonic_raw_seconds() - self.heard;
            return if silent > SILENCE_SECONDS {
                Err(Some(format!("it said nothing for {SILENCE_SECONDS:.0} s")))
            } else {
                Ok(false)
            };
        }
        match frames::read_at_most(self.stream, Duration::from_secs_f64(SILENCE_SECONDS), MOST_BYTES_BEFORE) {
            Ok(ClientMessage::Alive) => {
                self.heard = monotonic_raw_seconds();
                Ok(true)
            }
            Ok(_) => Err(Some("it said something that does not belong there".to_owned())),
            Err(NoFrame::Ended) => Err(None),
            Err(error) => Err(gone(&error)),
        }
    }
}

/// One of a limited number, as long as it lives.
struct Counted<'a>(&'a AtomicUsize);

impl<'a> Counted<'a> {
    /// One more, if there are fewer than so many.
    fn below(count: &'a AtomicUsize, most: usize) -> Option<Self> {
        let before = count.fetch_add(1, Ordering::AcqRel);
        let counted = Self(count);
        (before < most).then_some(counted)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

/// A client that has had its turn, once that is over.
struct Served<'a>(&'a AtomicUsize);

impl Drop for Served<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::AcqRel);
    }
}
