//! Admits clients one after the other and serves their process runs in this process.
//!
//! No client can end the server: unauthenticated connections are bounded in number, time and memory, a process run needs the
//! token and address of an admitted client, and a panic ends only its own.

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

use super::log::RejectionLog;
use super::queue::{ClientQueue, ProcessRun, QueuePlace};
use crate::engines::net::serve_late;
use crate::engines::net::server::{self as net_server, Home};
use crate::net::frames::{self, NoFrame, watch_over};
use crate::net::handshake::{
    Admitted, Cause, ClientMessage, Hello, Known, Limits, MOST_BYTES_BEFORE, ServerMessage, VERSIONS, Welcome, common,
    congestion_control, end_towards, tame,
};
use crate::net::key::{Challenge, Key, Prover};
use crate::net::listener::{DataConnections, Listener};
use crate::net::messages::RunReply;
use crate::net::preface::{Preface, Purpose, Token};
use crate::net::strangers::Stranger;
use areas::net::modes::MOST_BLOCK_BYTES;
use areas::place;

const GREETING_SECONDS: f64 = 5.0;
const SILENCE_SECONDS: f64 = 5.0;
const NOTIFY_SECONDS: f64 = 1.0;
const LOOK_AROUND: Duration = Duration::from_millis(100);
const GOOD_BYE: Duration = Duration::from_millis(500);
const MOST_FLOWS: u32 = 128;
const CALIBRATION: Duration = Duration::from_millis(20);

#[derive(Clone, Debug)]
pub struct ServerOptions {
    pub listen: SocketAddr,
    /// The clients' key; optional only on loopback.
    pub key: Option<Key>,
    /// End after the first client.
    pub once: bool,
    /// Maximum clients at the same time.
    pub concurrent: usize,
    pub most_seconds: f64,
    /// Maximum UDP payload in bytes per second.
    pub udp_bytes_per_second: Option<f64>,
    pub version: String,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Notice {
    Listening(SocketAddr),
    SessionEnded {
        from: IpAddr,
        version: String,
        /// Duration of its turn.
        seconds: f64,
        runs: u32,
        /// Why, unless the client ended it.
        because: Option<String>,
    },
    /// A client was rejected, or left the queue.
    Rejected {
        from: IpAddr,
        because: String,
        /// Rejections of this address without a notice of their own since the last one.
        left_out: u32,
    },
    /// A client's process run failed for this reason.
    LaunchFailed(IpAddr, String),
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Listening(address) => write!(f, "listening on {address}, TCP and UDP"),
            Self::SessionEnded { from, version, seconds, runs, because } => {
                write!(f, "{from} (assay {version}): {runs} process runs in {seconds:.0} s")?;
                because.as_ref().map_or(Ok(()), |because| write!(f, "; {because}"))
            }
            Self::Rejected { from, because, left_out } => {
                write!(f, "{from}: rejected: {because}")?;
                if *left_out > 0 { write!(f, "; rejected since the last line: {left_out} more") } else { Ok(()) }
            }
            Self::LaunchFailed(from, because) => write!(f, "{from}: a process run failed: {because}"),
        }
    }
}

/// Serves clients until a stop signal, or with `once` until the first has left.
pub fn serve(serving: ServerOptions, notify: impl Fn(&Notice) + Send + Sync + 'static) -> Result<(), String> {
    let server = Arc::new(Server::open(serving, Box::new(notify), net_server::serve)?);
    (server.notify)(&Notice::Listening(server.listener.address));
    server.until(&|| process::stop_signal().is_some())
}

type ServeRun = fn(&TcpStream, &Home<'_>) -> Result<(), String>;

pub(super) struct Server {
    serving: ServerOptions,
    pub(super) listener: Listener,
    connections: DataConnections,
    queue: ClientQueue,
    limits: Limits,
    machine: Machine,
    timer: Timer,
    notify: Box<dyn Fn(&Notice) + Send + Sync>,
    serve_launch: ServeRun,
    rejections: RejectionLog,
    served: AtomicUsize,
    pub(super) silence_seconds: f64,
}

struct Refusal(Cause, String);

impl Server {
    pub(super) fn open(
        serving: ServerOptions,
        notify: Box<dyn Fn(&Notice) + Send + Sync>,
        serve_launch: ServeRun,
    ) -> Result<Self, String> {
        let (at, ip) = (serving.listen, serving.listen.ip());
        if serving.key.is_none() && !ip.to_canonical().is_loopback() {
            return Err(format!("listening on {ip} requires a key, because other hosts can connect; use --key-file"));
        }
        let calibration = Calibration::begin();
        let listener = Listener::open(at).map_err(|error| match error.kind() {
            io::ErrorKind::AddrInUse => {
                format!("cannot listen on {at}: the port is in use; stop the program that uses it, or use --listen to choose another")
            }
            _ => format!("cannot listen on {at}: {error}; use an address of this machine and a port above 1023"),
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
            notify,
            serve_launch,
            rejections: RejectionLog::default(),
            served: AtomicUsize::new(0),
            silence_seconds: SILENCE_SECONDS,
            serving,
        })
    }

    pub(super) fn until(self: &Arc<Self>, stop: &dyn Fn() -> bool) -> Result<(), String> {
        let server = Arc::clone(self);
        // On its own thread: hanging connections do not delay the end.
        let receiving = thread::Builder::new()
            .name("listener".to_owned())
            .spawn(move || {
                server.listener.receive(&|preface, stream, stranger| server.greet(preface, stream, stranger))
            })
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
            Ok(received) => received.map_err(|error| format!("cannot accept connections: {error}")),
            Err(_) => Err("the server panicked".to_owned()),
        }
    }

    /// Serves a connection by purpose; a panic does not end the server.
    fn greet(&self, preface: Preface, stream: TcpStream, stranger: Stranger<'_>) {
        let from = stream.peer_addr().map(|address| address.ip().to_canonical());
        let Ok(from) = from else { return };
        let greeted = catch_unwind(AssertUnwindSafe(move || {
            if preface.purpose == Purpose::Session {
                return self.session(&stream, from, stranger);
            }
            // The token authenticates these: without it they are closed at once.
            drop(stranger);
            match preface.purpose {
                Purpose::ProcessRun => match self.queue.begin_run(preface.token, from, &stream) {
                    Ok(run) => self.serve_run(run, &stream, from),
                    Err(because) => self.reject_stranger(from, &because),
                },
                Purpose::Operation => serve_late(&self.listener, &preface, &stream),
                Purpose::Data | Purpose::Session => self.connections.bring(preface, stream),
            }
        }));
        if greeted.is_err() {
            (self.notify)(&Notice::LaunchFailed(from, "it panicked, which is a bug".to_owned()));
        }
    }

    fn serve_run(&self, run: ProcessRun<'_>, control: &TcpStream, from: IpAddr) {
        let cpus = |flows: usize| place(u32::try_from(flows).unwrap_or(MOST_FLOWS), &self.machine).0;
        let home = Home {
            listener: &self.listener,
            connections: &self.connections,
            cpus: &cpus,
            timer: self.timer,
            limits: &self.limits,
        };
        let served = catch_unwind(AssertUnwindSafe(|| (self.serve_launch)(control, &home)));
        drop(run);
        let served = served.unwrap_or_else(|_| {
            let reason = "the process run panicked on the server, which is a defect".to_owned();
            let _ = frames::write(control, &RunReply::Refused { reason: reason.clone() });
            Err(reason)
        });
        if let Err(because) = served {
            (self.notify)(&Notice::LaunchFailed(from, tame(&because)));
        }
    }

    fn session(&self, stream: &TcpStream, from: IpAddr, stranger: Stranger<'_>) {
        let version = match self.authenticate(stream) {
            Ok(version) => version,
            Err(_) if stranger.is_closed() => {
                return self
                    .reject_stranger(from, "it was not authenticated before newer connections needed its place");
            }
            Err(Refusal(cause, reason)) => {
                self.reject_stranger(from, &reason);
                return farewell(stream, &ServerMessage::Refused { cause, reason });
            }
        };
        drop(stranger);
        if let Err(Refusal(cause, reason)) = self.admit(stream, from, version) {
            (self.notify)(&Notice::Rejected { from, because: tame(&reason), left_out: 0 });
            farewell(stream, &ServerMessage::Refused { cause, reason });
        }
    }

    fn reject_stranger(&self, from: IpAddr, because: &str) {
        if let Some(left_out) = self.rejections.due(from, monotonic_raw_seconds()) {
            (self.notify)(&Notice::Rejected { from, because: tame(because), left_out });
        }
    }

    /// Serves an authenticated client when it is its turn.
    fn admit(&self, stream: &TcpStream, from: IpAddr, version: String) -> Result<(), Refusal> {
        let full = || Refusal(Cause::Full, "too many clients are waiting; retry later".to_owned());
        let place = self.queue.enter().ok_or_else(full)?;
        let token = self.wait(stream, from, &place)?;
        self.keep_alive(stream, from, &place, token, version);
        Ok(())
    }

    fn authenticate(&self, stream: &TcpStream) -> Result<String, Refusal> {
        let other = |reason: String| Refusal(Cause::Other, reason);
        let failed = |error: io::Error| other(format!("the connection failed: {error}"));
        watch_over(stream).map_err(failed)?;
        let until = monotonic_raw_seconds() + GREETING_SECONDS;
        let hear = || {
            let left = Duration::try_from_secs_f64(until - monotonic_raw_seconds()).unwrap_or_default();
            let heard: Result<ClientMessage, NoFrame> = frames::read_at_most(stream, left, MOST_BYTES_BEFORE);
            heard.map_err(|error| other(format!("it sent no greeting: {error}")))
        };
        let ClientMessage::Hello(hello) = hear()? else {
            return Err(other("its first message was not a greeting".to_owned()));
        };
        let (version, client) = agree(&hello)?;
        let challenge = Challenge { version, client, server: Token::new() };
        let welcome =
            Welcome { version, nonce: challenge.server.as_str().to_owned(), key_needed: self.serving.key.is_some() };
        frames::write(stream, &ServerMessage::Welcome(welcome)).map_err(failed)?;
        let ClientMessage::Proof { proof } = hear()? else {
            return Err(other("it sent no proof of the key".to_owned()));
        };
        if let Some(key) = &self.serving.key {
            let refused = |why: &str| Refusal(Cause::Key, why.to_owned());
            let proof = proof.ok_or_else(|| refused("the server requires a key"))?;
            if !key.is_proven(Prover::Client, &challenge, &proof) {
                return Err(refused("the key is not the server's key"));
            }
        }
        let known = Known {
            proof: self.serving.key.as_ref().map(|key| key.proof(Prover::Server, &challenge)),
            program: self.serving.version.clone(),
            capabilities: NetMode::ALL.iter().map(|mode| mode.name().to_owned()).collect(),
        };
        frames::write(stream, &ServerMessage::Known(known)).map_err(failed)?;
        Ok(tame(&hello.program))
    }

    fn client<'a>(&self, stream: &'a TcpStream) -> Client<'a> {
        Client { stream, heard: monotonic_raw_seconds(), silence_seconds: self.silence_seconds }
    }

    fn wait(&self, stream: &TcpStream, from: IpAddr, place: &QueuePlace<'_>) -> Result<Token, Refusal> {
        let other = |reason: String| Refusal(Cause::Other, reason);
        let mut client = self.client(stream);
        let mut notified = f64::NEG_INFINITY;
        loop {
            if let Some(token) = place.turn(from) {
                return Ok(token);
            }
            if self.queue.are_closed() {
                return Err(other("the server was stopped".to_owned()));
            }
            let now = monotonic_raw_seconds();
            if now - notified >= NOTIFY_SECONDS {
                notified = now;
                let ahead = u32::try_from(place.ahead()).unwrap_or(u32::MAX);
                let queued = frames::write(stream, &ServerMessage::Queued { ahead });
                queued.map_err(|error| other(format!("it disconnected while it waited: {error}")))?;
            }
            let heard = client.listen(LOOK_AROUND);
            heard.map_err(|reason| other(reason.unwrap_or_else(|| "it disconnected while it waited".to_owned())))?;
        }
    }

    fn keep_alive(&self, stream: &TcpStream, from: IpAddr, place: &QueuePlace<'_>, token: Token, version: String) {
        let began = monotonic_raw_seconds();
        let because = self.attend(stream, from, token).err();
        if let Some(reason) = &because {
            farewell(stream, &ServerMessage::Over { reason: reason.clone() });
        }
        (self.notify)(&Notice::SessionEnded {
            from,
            version,
            seconds: monotonic_raw_seconds() - began,
            runs: place.runs(),
            because: because.map(|reason| tame(&reason)),
        });
        self.served.fetch_add(1, Ordering::AcqRel);
    }

    /// Admits a client and answers heartbeats until it leaves.
    fn attend(&self, stream: &TcpStream, from: IpAddr, token: Token) -> Result<(), String> {
        let failed = |error: io::Error| format!("the connection failed: {error}");
        let mut path = end_towards(from);
        path.congestion_control = congestion_control(stream);
        let (limits, machine) = (self.limits.clone(), self.machine.clone());
        let admitted = Admitted { token: token.as_str().to_owned(), limits, path, machine };
        frames::write(stream, &ServerMessage::Admitted(Box::new(admitted))).map_err(failed)?;
        let most_seconds = self.limits.most_seconds;
        let until = monotonic_raw_seconds() + most_seconds;
        let mut client = self.client(stream);
        loop {
            match client.listen(LOOK_AROUND) {
                Ok(true) => match frames::write(stream, &ServerMessage::Alive) {
                    Err(error) if has_left(&error) => return Ok(()),
                    written => written.map_err(failed)?,
                },
                Ok(false) => {}
                Err(None) => return Ok(()),
                Err(Some(reason)) => return Err(reason),
            }
            if self.queue.are_closed() {
                return Err("the server was stopped".to_owned());
            }
            if monotonic_raw_seconds() > until {
                return Err(format!("the session reached this server's limit of {most_seconds:.0} s (--max-time)"));
            }
        }
    }
}

fn agree(hello: &Hello) -> Result<(u32, Token), Refusal> {
    let version = common(VERSIONS, hello.versions).ok_or_else(|| {
        let ([oldest, newest], [first, last]) = (VERSIONS, hello.versions);
        let reason = format!(
            "it (assay {}) supports protocol versions {first} to {last}, and the server {oldest} to {newest}; use \
             the same version of assay on both hosts",
            tame(&hello.program)
        );
        Refusal(Cause::Version, reason)
    })?;
    let client = Token::parse(&hello.nonce);
    let client = client.ok_or_else(|| Refusal(Cause::Other, "its nonce is invalid".to_owned()))?;
    Ok((version, client))
}

/// Sends the last message and waits briefly for the client to close: with unread data the kernel would reset the connection.
fn farewell(mut stream: &TcpStream, word: &ServerMessage) {
    use std::io::Read;
    let said = frames::write(stream, word).and_then(|()| stream.shutdown(Shutdown::Write));
    let until = monotonic_raw_seconds() + GOOD_BYE.as_secs_f64() / 2.0;
    while said.is_ok() && monotonic_raw_seconds() < until {
        match sys::net::wait::wait_readable(stream, LOOK_AROUND) {
            Ok(true) if !matches!(stream.read(&mut [0; 64]), Ok(0) | Err(_)) => {}
            Ok(false) => {}
            _ => return,
        }
    }
}

struct Client<'a> {
    stream: &'a TcpStream,
    heard: f64,
    silence_seconds: f64,
}

impl Client<'_> {
    /// Whether a heartbeat arrived within this time.
    fn listen(&mut self, within: Duration) -> Result<bool, Option<String>> {
        let gone = |error: &dyn fmt::Display| Some(format!("lost the connection: {error}"));
        if !sys::net::wait::wait_readable(self.stream, within).map_err(|error| gone(&error))? {
            let reason = || Some(format!("it sent nothing for {:.0} s", self.silence_seconds));
            let silent = monotonic_raw_seconds() - self.heard > self.silence_seconds;
            return if silent { Err(reason()) } else { Ok(false) };
        }
        match frames::read_at_most(self.stream, Duration::from_secs_f64(self.silence_seconds), MOST_BYTES_BEFORE) {
            Ok(ClientMessage::Alive) => {
                self.heard = monotonic_raw_seconds();
                Ok(true)
            }
            Ok(_) => Err(Some("it sent an unexpected message".to_owned())),
            Err(NoFrame::Ended) => Err(None),
            Err(NoFrame::Failed(error)) if has_left(&error) => Err(None),
            Err(error) => Err(gone(&error)),
        }
    }
}

/// Whether a client closed its side while our answer was under way: then the kernel resets the connection.
fn has_left(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset)
}
