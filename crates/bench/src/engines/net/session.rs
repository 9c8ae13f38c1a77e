//! The client's control connection: it asks the server to open, connects the data flows, announces windows, and asks what
//! was counted. The first thread to arrive speaks for all, and the last one asks what concerns every thread.

use std::collections::BTreeMap;
use std::io;
use std::mem::MaybeUninit;
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use std::time::Duration;

use socket2::SockRef;
use sys::clock::Timer;
use sys::net::path::{mtu_discovery, path_mtu};
use sys::net::tcp::tcp_state;

use super::datagrams::pool::Pool;
use super::flows::{self, DataEnd, PATIENCE, is_late, protocols};
use super::link::sent;
use crate::engines::Window;
use crate::locks::lock;
use crate::net::frames::{self, NoFrame, watch_over};
use crate::net::messages::{Announced, Asked, Counted, Counts, Opened, Opening, RunReply, RunRequest, TcpSent};
use crate::net::preface::{Preface, Purpose, Token};

/// A server that has closed a data connection has this long to say why.
const LAST_WORDS: Duration = Duration::from_millis(500);
/// A server that runs answers a question within this share of the silence: it waits up to 3 s for datagrams in flight.
const ANSWERS_WITHIN: f64 = 0.8;
/// Every path takes packets of this size, which every host has to accept (RFC 791, 3.1).
const SHORT_PACKET_BYTES: u32 = 576;

pub(super) struct Session {
    control: Mutex<Control>,
    pub(super) opened: Opened,
    pub(super) token: Token,
    pub(super) address: SocketAddr,
    /// Timeout of an answer. Waiting with it changed a round trip of 17 us by -0.4, +0.5 and +1.2 % in three probes.
    pub(super) silence: Duration,
    lost: AtomicU64,
    /// Median round trip of the idle path, in seconds, where it was measured.
    pub(super) idle_seconds: OnceLock<f64>,
    pub(super) pool: Pool,
    /// Where the threads say what they sent, and the last one asks what arrived.
    counts: Pool<Vec<u64>, Vec<Counted>>,
    /// Round trip before anything was measured, as TCP smooths it, in seconds.
    pub(super) round_trip_seconds: Option<f64>,
    /// What TCP did for the sender of each thread's connection, at either end, in the samples so far.
    senders: Mutex<Vec<Option<TcpSent>>>,
}

struct Control {
    stream: TcpStream,
    announced: u32,
    threads: usize,
    failure: Option<String>,
}

pub(super) fn meet(
    address: &str,
    admission: &str,
    opening: Opening,
    silence: Duration,
) -> Result<(Session, Vec<DataEnd>), String> {
    let to: SocketAddr =
        address.parse().map_err(|error| format!("the address of the server, '{address}', is invalid: {error}"))?;
    let admission = Token::parse(admission).ok_or("the process run was started without a token")?;
    let look = "Check whether it still runs, and look for a firewall";
    let cannot = |error: io::Error| format!("cannot connect to the server at {address}: {error}. {look}");
    let preface = Preface { purpose: Purpose::ProcessRun, number: 0, token: admission };
    let control = flows::connected(to, &preface).map_err(cannot)?;
    watch_over(&control).map_err(cannot)?;
    let params = opening.params.clone();
    let together = Duration::try_from_secs_f64(opening.most_seconds).unwrap_or(Duration::MAX);
    frames::write(&control, &RunRequest::Open(Box::new(opening))).map_err(cannot)?;
    let opened = match hear(&control, PATIENCE)? {
        RunReply::Opened(opened) => *opened,
        reply => return Err(odd(reply)),
    };
    let token = Token::parse(&opened.token).ok_or("the server sent an invalid token")?;
    let ends = flows::open(to, &protocols(&params), token).map_err(cannot)?;
    match hear(&control, PATIENCE)? {
        RunReply::Complete => {}
        reply => return Err(odd(reply)),
    }
    let control = Control { stream: control, announced: 0, threads: ends.len(), failure: None };
    let session = Session {
        round_trip_seconds: tcp_state(&control.stream).and_then(|state| state.round_trip_seconds),
        senders: Mutex::new(vec![None; ends.len()]),
        control: Mutex::new(control),
        opened,
        token,
        address: to,
        silence,
        lost: AtomicU64::new(0),
        idle_seconds: OnceLock::new(),
        pool: Pool::new(together),
        counts: Pool::new(together),
    };
    Ok((session, ends))
}

/// Why a thread cannot continue: its connection failed, or the reason in words. [`Session::explain`] makes a sentence of it.
#[derive(Debug, thiserror::Error)]
pub(super) enum Failure {
    #[error(transparent)]
    Connection(#[from] io::Error),
    #[error("{0}")]
    Reason(String),
}

impl From<String> for Failure {
    fn from(reason: String) -> Self {
        Self::Reason(reason)
    }
}

fn hear(control: &TcpStream, within: Duration) -> Result<RunReply, String> {
    frames::read(control, within).map_err(|error| match error {
        NoFrame::Ended => gone(CLOSED),
        NoFrame::Late => no_answer(within),
        error => gone(&error.to_string()),
    })
}

/// The error of a message that was not expected, or that says why there is no other.
fn odd(reply: RunReply) -> String {
    match reply {
        RunReply::Refused { reason } => format!("the server: {reason}"),
        _ => "the server sent an unexpected message. Check that both hosts run the same version".to_owned(),
    }
}

impl Session {
    fn control(&self) -> MutexGuard<'_, Control> {
        lock(&self.control)
    }

    /// Announces a window, unless another thread has done so. `bytes` is what the server is to send in it, where it keeps
    /// to a rate. A window without an end has begun at the server on return, so every byte sent later counts.
    pub(super) fn announce(
        &self,
        number: u32,
        window: Window,
        bytes: Option<f64>,
        timer: &Timer,
    ) -> Result<(), String> {
        let mut control = self.control();
        if control.announced >= number {
            return Ok(());
        }
        control.announced = number;
        let now = timer.now();
        let announced = Announced {
            number,
            begins_in_seconds: timer.seconds(now.min(window.begin), window.begin),
            seconds: (window.end != Window::NO_END).then(|| timer.seconds(window.begin, window.end)),
            bytes,
        };
        let within = self.silence + Duration::from_secs_f64(announced.begins_in_seconds);
        frames::write(&control.stream, &RunRequest::Window(announced)).map_err(|error| gone(&error.to_string()))?;
        if window.end != Window::NO_END {
            return Ok(());
        }
        match hear(&control.stream, within)? {
            RunReply::Begun { number: of } if of == number => Ok(()),
            reply => Err(odd(reply)),
        }
    }

    /// What the server counted in a window for this thread, which has sent this many bytes since the process run began.
    /// Every thread has to ask; the last one gets the answer for all. Fails too if another thread did not ask.
    pub(super) fn counted(&self, number: u32, thread: usize, sent_bytes: u64) -> Result<Counted, String> {
        let threads = self.control().threads;
        let add = |sent: &mut Vec<u64>| {
            sent.resize(threads, 0);
            sent[thread] = sent_bytes;
        };
        let ask = |sent| {
            let mut control = self.control();
            let answer = ask(&control, number, sent, self.silence);
            control.failure = answer.as_ref().err().cloned();
            answer
        };
        let counted = self.counts.round(threads, add, ask)?.get(thread).cloned();
        counted.ok_or_else(|| "the server counted for fewer threads".to_owned())
    }

    pub(super) fn leave(&self) {
        self.counts.leave();
        self.pool.leave();
    }

    /// The reason for a failure of the client, the same for every thread: the server's own, or `failure` if it reports none.
    /// The server closes its data connections before it reports. `longest` is the longest packet with data, in bytes: if the
    /// server answers here but not on its data connections, the path drops such packets.
    pub(super) fn explain(&self, failure: &Failure, longest: u32) -> String {
        let mut control = self.control();
        if let Some(said) = &control.failure {
            return said.clone();
        }
        let said = match hear(&control.stream, LAST_WORDS) {
            Ok(reply @ RunReply::Refused { .. }) => odd(reply),
            _ => match failure {
                Failure::Connection(error) if is_late(error) && answers(&control, self.silence) => {
                    vanished(&control.stream, longest)
                }
                failure => self.words(failure),
            },
        };
        control.failure = Some(said.clone());
        drop(control);
        self.counts.leave();
        said
    }

    pub(super) fn note_sent(&self, thread: usize, sent: Option<TcpSent>) {
        if let Some(place) = lock(&self.senders).get_mut(thread) {
            *place = sent;
        }
    }

    pub(super) fn sent(&self) -> Option<TcpSent> {
        sent::of_all(&lock(&self.senders))
    }

    pub(super) fn lose(&self, count: u64) {
        self.lost.fetch_add(count, Ordering::Relaxed);
    }

    /// Bytes of the longest packet that the path takes, as far as this host knows, and how that is discovered.
    pub(super) fn path_mtu(&self) -> (Option<u32>, Option<&'static str>) {
        let control = self.control();
        (path_mtu(&control.stream), mtu_discovery(&control.stream))
    }

    pub(super) fn show_life(&self) -> Result<(), String> {
        self.other_end_is_there()?;
        frames::write(&self.control().stream, &RunRequest::Alive).map_err(|error| gone(&error.to_string()))
    }

    pub(super) fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }

    pub(super) fn other_end_is_there(&self) -> Result<(), String> {
        match SockRef::from(&self.control().stream).recv_with_flags(&mut [MaybeUninit::uninit()], PEEK_NOW) {
            Ok(0) => Err(gone(CLOSED)),
            Err(error) if !matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {
                Err(gone(&error.to_string()))
            }
            _ => Ok(()),
        }
    }

    /// The failure of a connection on which the server had to answer in time, or the reason, in words.
    pub(super) fn words(&self, failure: &Failure) -> String {
        let error = match failure {
            Failure::Connection(error) => error,
            Failure::Reason(reason) => return reason.clone(),
        };
        match error.kind() {
            _ if is_late(error) => no_answer(self.silence),
            io::ErrorKind::UnexpectedEof => gone(CLOSED),
            // Not the server's doing, or what is wrong with its data.
            io::ErrorKind::OutOfMemory | io::ErrorKind::InvalidData => error.to_string(),
            _ => forbidden(error).unwrap_or_else(|| gone(&error.to_string())),
        }
    }
}

type Prepared = (Arc<Session>, Vec<Option<DataEnd>>);

/// Sessions that are prepared, with the data connections that no thread has taken yet. Preparation happens before there
/// are threads, in an engine that is one static value, so they are kept here by the token of the process run.
static PREPARED: Mutex<BTreeMap<String, Prepared>> = Mutex::new(BTreeMap::new());

pub(super) fn keep(token: &str, session: Session, ends: Vec<DataEnd>) {
    let ends = ends.into_iter().map(Some).collect();
    lock(&PREPARED).insert(token.to_owned(), (Arc::new(session), ends));
}

pub(super) fn take(token: &str, thread: usize) -> Option<(Arc<Session>, DataEnd)> {
    let mut prepared = lock(&PREPARED);
    let (session, ends) = prepared.get_mut(token)?;
    let (session, end) = (Arc::clone(session), ends.get_mut(thread)?.take()?);
    if ends.iter().all(Option::is_none) {
        prepared.remove(token);
    }
    Some((session, end))
}

fn ask(control: &Control, number: u32, sent_bytes: Vec<u64>, silence: Duration) -> Result<Vec<Counted>, String> {
    frames::write(&control.stream, &RunRequest::Count(Asked { number, sent_bytes }))
        .map_err(|error| gone(&error.to_string()))?;
    loop {
        match hear(&control.stream, silence)? {
            RunReply::Counted(Counts { number: of, threads }) if of == number => return Ok(threads),
            // While bytes arrive the server is alive.
            RunReply::Arriving => {}
            reply => return Err(odd(reply)),
        }
    }
}

fn answers(control: &Control, silence: Duration) -> bool {
    let asked = Asked { number: control.announced, sent_bytes: vec![0; control.threads] };
    frames::write(&control.stream, &RunRequest::Count(asked)).is_ok()
        && matches!(hear(&control.stream, silence.mul_f64(ANSWERS_WITHIN)), Ok(RunReply::Counted(_)))
}

fn vanished(control: &TcpStream, longest: u32) -> String {
    let short = "the server answers, but its data connections carry nothing";
    if longest <= SHORT_PACKET_BYTES {
        return format!("{short}. Look for a firewall between the two that lets only some connections through");
    }
    let known = path_mtu(control).map_or("unknown".to_owned(), |bytes| format!("{bytes} bytes"));
    let way = mtu_discovery(control).unwrap_or("unknown");
    format!(
        "{short}: packets of {longest} bytes seem to vanish on the path (path MTU here {known}, discovery '{way}'). Look for a \
         tunnel with a smaller MTU, and a firewall that drops ICMP 'fragmentation needed', lower the MTU of the interface, or \
         set net.ipv4.tcp_mtu_probing=1"
    )
}

/// `MSG_PEEK | MSG_DONTWAIT` (`bits/socket.h`): flags of `recv(2)`.
pub(super) const PEEK_NOW: i32 = 0x02 | 0x40;
const CLOSED: &str = "it closed its connections";

pub(super) fn gone(why: &str) -> String {
    format!("the server is gone: {why}. Look for a killed process or a lack of memory")
}

fn no_answer(within: Duration) -> String {
    format!("the server has not answered for {} s. Check whether it is stopped", within.as_secs_f64())
}

/// The failure of a thread to which the server has not answered in time.
pub(super) fn silent() -> Failure {
    io::Error::from(io::ErrorKind::TimedOut).into()
}

/// The error for a message that a firewall (`EPERM`) or a routing rule (`EACCES`) of this host did not let out.
pub(super) fn forbidden(error: &io::Error) -> Option<String> {
    (error.kind() == io::ErrorKind::PermissionDenied).then(|| {
        format!(
            "a message was blocked on this host: {error}. Look for a firewall or a routing rule that forbids it \
             ('nft list ruleset', 'ip rule')"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_let_out_is_not_blamed_on_the_other_end() {
        // EPERM and EACCES (`errno.h`).
        for code in [1, 13] {
            let sentence = forbidden(&io::Error::from_raw_os_error(code)).unwrap();
            assert!(sentence.contains("firewall") && !sentence.contains("server"), "{sentence}");
        }
        assert_eq!(forbidden(&io::ErrorKind::ConnectionReset.into()), None);
    }
}
