//! The near end of a launch: it asks the far end to open, connects its data flows, says when windows are, and asks what
//! was counted there.
//!
//! All threads share one control connection. Whoever comes first speaks for all, and a question that concerns every
//! thread is asked by the last one to come.

use std::io;
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use socket2::SockRef;
use sys::clock::Timer;
use sys::net::path::{mtu_discovery, path_mtu};
use sys::net::tcp::tcp_state;

use super::datagrams::pool::{ANOTHER_FAILED, Pool, did_not_come};
use super::flows::{self, DataEnd, protocols};
use super::link::sent;
use crate::engines::Window;
use crate::net::control::{self, watch_over};
use crate::net::frames::{self, NoFrame};
use crate::net::messages::{Announced, Asked, Counted, Counts, Opened, Opening, RunReply, RunRequest, TcpSent};
use crate::net::preface::{Preface, Purpose, Token};

/// An answer that has not come by then never will: the other end hangs. Waiting with a time limit changed a round trip
/// of 17 us by -0.4, +0.5 and +1.2 % in three probes against waiting without one.
pub(super) const SILENCE: Duration = control::SILENCE;

/// So long a far end that has closed a data connection has to say why.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// A far end that is not stopped answers a question by then: it waits up to 3 s for datagrams that are still coming.
const ANSWERS_WITHIN: Duration = Duration::from_secs(4);

/// Any path takes packets of so many bytes: what every host has to accept (RFC 791, 3.1).
const SHORT_PACKET_BYTES: u32 = 576;

/// What the threads of a launch share.
#[derive(Debug)]
pub(super) struct Session {
    control: Mutex<Control>,
    /// Wakes those who wait for the answer to a question of all.
    answered: Condvar,
    opened: Opened,
    token: Token,
    address: SocketAddr,
    lost: AtomicU64,
    /// Median round trip of the idle path.
    idle_seconds: OnceLock<f64>,
    pool: Pool,
    /// Threads wait for each other no longer than the launch may take.
    patience: Duration,
    /// Round trip before anything was measured, in seconds.
    round_trip_seconds: Option<f64>,
    /// What TCP did for each thread's sender, wherever it is, in the samples so far.
    senders: Mutex<Vec<Option<TcpSent>>>,
}

/// The control connection, and how far the conversation on it has come.
#[derive(Debug)]
struct Control {
    stream: TcpStream,
    /// The last window that was announced.
    announced: u32,
    /// Threads that wait with the question of this round.
    asking: usize,
    /// How many rounds of questions there have been.
    rounds: u64,
    /// Bytes that each thread has sent since the launch began, as it said in this round.
    sent_bytes: Vec<u64>,
    /// The answer of the last round.
    answer: Result<Vec<Counted>, String>,
    /// A thread has failed, and will not ask any more.
    left: bool,
}

/// The near end's part in meeting: asks the far end at this address to open, and connects all data flows.
///
/// # Errors
/// A sentence: nobody there, refused, or gone.
pub(super) fn meet(
    address: &str,
    admission: &str,
    opening: Opening,
    patience: Duration,
) -> Result<(Session, Vec<DataEnd>), String> {
    let to: SocketAddr =
        address.parse().map_err(|error| format!("the address of the other end, '{address}', is none: {error}"))?;
    let admission = Token::parse(admission).ok_or("the launch was started without the token of its two ends")?;
    let cannot = |error: io::Error| {
        format!("cannot connect to the other end at {address}: {error}; look whether it still runs, and for a firewall")
    };
    let preface = Preface { purpose: Purpose::ProcessRun, number: 0, token: admission };
    let control = flows::connected(to, &preface, patience).map_err(cannot)?;
    watch_over(&control).map_err(cannot)?;
    let params = opening.params.clone();
    let together = Duration::try_from_secs_f64(opening.most_seconds).unwrap_or(Duration::MAX);
    frames::write(&control, &RunRequest::Open(Box::new(opening))).map_err(cannot)?;
    let RunReply::Opened(opened) = hear(&control, patience)? else { return Err(odd()) };
    let token = Token::parse(&opened.token).ok_or_else(odd)?;
    let protocols = protocols(&params);
    let ends = flows::open(to, &protocols, token, patience).map_err(cannot)?;
    let RunReply::Complete = hear(&control, patience)? else { return Err(odd()) };
    let control = Control {
        stream: control,
        announced: 0,
        asking: 0,
        rounds: 0,
        sent_bytes: vec![0; ends.len()],
        answer: Ok(Vec::new()),
        left: false,
    };
    let session = Session {
        round_trip_seconds: tcp_state(&control.stream).and_then(|state| state.round_trip_seconds),
        senders: Mutex::new(vec![None; ends.len()]),
        control: Mutex::new(control),
        answered: Condvar::new(),
        opened: *opened,
        token,
        address: to,
        lost: AtomicU64::new(0),
        idle_seconds: OnceLock::new(),
        pool: Pool::new(together),
        patience: together,
    };
    Ok((session, ends))
}

/// Why there is no message.
enum Unheard {
    /// The far end has said why the launch is over.
    Refused(String),
    /// It is not there, or says nothing.
    Gone(String),
}

impl From<Unheard> for String {
    fn from(unheard: Unheard) -> Self {
        match unheard {
            Unheard::Refused(reason) | Unheard::Gone(reason) => reason,
        }
    }
}

/// The next message of the far end.
fn hear(control: &TcpStream, within: Duration) -> Result<RunReply, Unheard> {
    match frames::read(control, within) {
        Ok(RunReply::Refused { reason }) => Err(Unheard::Refused(format!("the other end: {reason}"))),
        Ok(message) => Ok(message),
        Err(NoFrame::Ended) => Err(Unheard::Gone(gone("it closed its connections"))),
        Err(NoFrame::Late) => Err(Unheard::Gone(silent())),
        Err(error) => Err(Unheard::Gone(gone(&error.to_string()))),
    }
}

fn odd() -> String {
    "the other end answered with a message that does not belong there; look whether both run the same version"
        .to_owned()
}

impl Session {
    fn control(&self) -> MutexGuard<'_, Control> {
        self.control.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the far end has made ready.
    pub(super) fn opened(&self) -> &Opened {
        &self.opened
    }

    /// What both ends' data is made from.
    pub(super) fn token(&self) -> Token {
        self.token
    }

    /// Where the far end is.
    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Round trip to the far end before anything was measured, as TCP smooths it, in seconds.
    pub(super) fn round_trip_seconds(&self) -> Option<f64> {
        self.round_trip_seconds
    }

    /// Says when the window of this number is, unless another thread has done so. `bytes` is what the far end is to send
    /// in it, where it keeps to a rate. A window without an end has begun at the far end on return: every byte that is
    /// sent from then on counts.
    ///
    /// # Errors
    /// The other end is gone.
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
        let within = SILENCE + Duration::from_secs_f64(announced.begins_in_seconds);
        frames::write(&control.stream, &RunRequest::Window(announced)).map_err(|error| gone(&error.to_string()))?;
        if window.end != Window::NO_END {
            return Ok(());
        }
        match hear(&control.stream, within)? {
            RunReply::PartialPreface { number: of } if of == number => Ok(()),
            _ => Err(odd()),
        }
    }

    /// What the far end counted in the window of this number on a thread's connection, on which the thread has sent so
    /// many bytes since the launch began. Every thread of the launch has to ask; the last one to do so gets the answer
    /// for all.
    ///
    /// # Errors
    /// The other end is gone, or has found something wrong; another thread did not come to ask.
    pub(super) fn counted(&self, number: u32, thread: usize, sent_bytes: u64) -> Result<Counted, String> {
        let mut control = self.control();
        let round = control.rounds;
        control.sent_bytes[thread] = sent_bytes;
        control.asking += 1;
        if control.asking == control.sent_bytes.len() {
            control.answer = ask(&control, number);
            control.asking = 0;
            control.rounds += 1;
            self.answered.notify_all();
        }
        // As long as the launch may take: of work that is done in full one has more than another, and who fails says so.
        let waiting = |control: &mut Control| control.rounds == round && !control.left;
        let waited = self.answered.wait_timeout_while(control, self.patience, waiting);
        let (mut control, _) = waited.unwrap_or_else(PoisonError::into_inner);
        if control.rounds == round {
            let why = if control.left { ANOTHER_FAILED.to_owned() } else { did_not_come(self.patience) };
            control.left = true;
            self.answered.notify_all();
            return Err(why);
        }
        let counted = control.answer.clone()?;
        counted.get(thread).cloned().ok_or_else(odd)
    }

    /// A thread will not ask any more: nobody waits for it.
    pub(super) fn leave(&self) {
        self.control().left = true;
        self.answered.notify_all();
        self.pool.leave();
    }

    /// The sentence for a launch that failed so at this end: what the far end said about its end, or this if it said
    /// nothing; the same for every thread. The far end closes the data connections before it says why. `longest` is the
    /// longest packet that carried data: where the far end answers here, and on its data connections does not, it is not
    /// stopped, but the path does not let them through.
    pub(super) fn explain(&self, failure: String, longest: u32) -> String {
        let mut control = self.control();
        if let Err(said) = &control.answer {
            return said.clone();
        }
        let said = match hear(&control.stream, LAST_WORDS) {
            Err(Unheard::Refused(reason)) => reason,
            _ if failure == silent() && answers(&control) => vanished(&control.stream, longest),
            _ => failure,
        };
        control.answer = Err(said.clone());
        control.left = true;
        self.answered.notify_all();
        said
    }

    /// What TCP did for the sender of this thread's connection in the samples so far.
    pub(super) fn tell_sent(&self, thread: usize, sent: Option<TcpSent>) {
        if let Some(place) = self.senders.lock().unwrap_or_else(PoisonError::into_inner).get_mut(thread) {
            *place = sent;
        }
    }

    /// What TCP did for all senders in the samples; `None` where there are none, or the kernel says nothing.
    pub(super) fn sent(&self) -> Option<TcpSent> {
        sent::of_all(&self.senders.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Keeps the median round trip of the idle path, in seconds.
    pub(super) fn keep_idle_seconds(&self, seconds: f64) {
        // The first one stays.
        let _ = self.idle_seconds.set(seconds);
    }

    /// The median round trip before anything else went over the path; `None` where nobody looked.
    pub(super) fn idle_seconds(&self) -> Option<f64> {
        self.idle_seconds.get().copied()
    }

    /// One more datagram that did not come back.
    pub(super) fn lose_one(&self) {
        self.lose(1);
    }

    /// So many more datagrams that did not come.
    pub(super) fn lose(&self, count: u64) {
        self.lost.fetch_add(count, Ordering::Relaxed);
    }

    /// The longest packet that the path takes as far as this host knows, in bytes, and how that is found out.
    pub(super) fn path_mtu(&self) -> (Option<u32>, Option<&'static str>) {
        let control = self.control();
        (path_mtu(&control.stream), mtu_discovery(&control.stream))
    }

    /// Where threads bring together what their flows gave.
    pub(super) fn pool(&self) -> &Pool {
        &self.pool
    }

    /// Tells the far end that we are still here.
    ///
    /// # Errors
    /// The other end is gone.
    pub(super) fn show_life(&self) -> Result<(), String> {
        self.other_end_is_there()?;
        frames::write(&self.control().stream, &RunRequest::Alive).map_err(|error| gone(&error.to_string()))
    }

    /// Datagrams of all threads that did not come back.
    pub(super) fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }

    /// Whether the other end is still there.
    ///
    /// # Errors
    /// It is gone.
    pub(super) fn other_end_is_there(&self) -> Result<(), String> {
        let control = self.control();
        let mut byte = [std::mem::MaybeUninit::uninit()];
        match SockRef::from(&control.stream).recv_with_flags(&mut byte, libc_flags::PEEK_NOW) {
            Ok(0) => Err(gone("it closed its connections")),
            Err(error) if !matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {
                Err(gone(&error.to_string()))
            }
            _ => Ok(()),
        }
    }
}

/// Asks what was counted, for all threads.
fn ask(control: &Control, number: u32) -> Result<Vec<Counted>, String> {
    let asked = Asked { number, sent_bytes: control.sent_bytes.clone() };
    frames::write(&control.stream, &RunRequest::Count(asked)).map_err(|error| gone(&error.to_string()))?;
    loop {
        match hear(&control.stream, SILENCE)? {
            RunReply::Counted(Counts { number: of, threads }) if of == number => return Ok(threads),
            // As long as bytes come the far end is alive.
            RunReply::Arriving => {}
            _ => return Err(odd()),
        }
    }
}

/// Whether the far end answers on the control connection: who is stopped, or hangs, does not.
fn answers(control: &Control) -> bool {
    let asked = Asked { number: control.announced, sent_bytes: vec![0; control.sent_bytes.len()] };
    frames::write(&control.stream, &RunRequest::Count(asked)).is_ok()
        && matches!(hear(&control.stream, ANSWERS_WITHIN), Ok(RunReply::Counted(_)))
}

/// The sentence for data that does not come over a path on which short messages do, in packets of so many bytes at most.
fn vanished(control: &TcpStream, longest: u32) -> String {
    let short = "the other end answers, but its data connections carry nothing";
    if longest <= SHORT_PACKET_BYTES {
        return format!("{short}; look for a firewall between the two that lets only some connections through");
    }
    let known = path_mtu(control).map_or("unknown".to_owned(), |bytes| format!("{bytes} bytes"));
    let way = mtu_discovery(control).unwrap_or("unknown");
    format!(
        "{short}: packets of {longest} bytes seem to vanish on the path (path MTU here {known}, discovery '{way}'); look for \
         a tunnel that takes less, and a firewall that drops ICMP 'fragmentation needed', lower the MTU of the interface, or \
         set net.ipv4.tcp_mtu_probing=1"
    )
}

/// Flags of `recv(2)` that the socket library names none of.
mod libc_flags {
    /// `MSG_PEEK | MSG_DONTWAIT` (`bits/socket.h`).
    pub(super) const PEEK_NOW: i32 = 0x02 | 0x40;
}

/// The sentence for an end that is no longer there.
pub(super) fn gone(why: &str) -> String {
    format!("the other end is gone: {why}; look for a process that was killed, or out of memory")
}

/// The sentence for an end that is there and says nothing.
pub(super) fn silent() -> String {
    format!("the other end has not answered for {} s; look whether it is stopped", SILENCE.as_secs())
}

/// The sentence for what a connection said, where it had to answer within [`SILENCE`].
pub(super) fn trouble(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => silent(),
        io::ErrorKind::UnexpectedEof => gone("it closed its connections"),
        // The other end has no part in it.
        io::ErrorKind::OutOfMemory => error.to_string(),
        _ => forbidden(error).unwrap_or_else(|| gone(&error.to_string())),
    }
}

/// The sentence for a message that was not let through, of which the other end knows nothing: what a firewall drops on
/// its way out its sender hears of (`EPERM`), and what a routing rule prohibits too (`EACCES`).
pub(super) fn forbidden(error: &io::Error) -> Option<String> {
    (error.kind() == io::ErrorKind::PermissionDenied).then(|| {
        format!(
            "a message was not let out: {error}; look for a firewall or a routing rule that forbids it \
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
            let sentence = trouble(&io::Error::from_raw_os_error(code));
            assert!(sentence.contains("firewall") && !sentence.contains("other end"), "{sentence}");
        }
        assert!(trouble(&io::ErrorKind::ConnectionReset.into()).starts_with("the other end is gone"));
        assert_eq!(trouble(&io::ErrorKind::WouldBlock.into()), silent());
    }
}
