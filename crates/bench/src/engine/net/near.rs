//! The near end of a launch: it asks the far end to open, connects its data flows, says when windows are, and asks what
//! was counted there.
//!
//! All threads share one control connection. Whoever comes first speaks for all, and a question that concerns every
//! thread is asked by the last one to come.

use std::io;
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use socket2::{SockRef, TcpKeepalive};
use sys::clock::Timer;

use super::flows::{self, DataEnd, protocols};
use crate::engine::Window;
use crate::net::frames::{self, NoFrame};
use crate::net::preface::{Preface, Purpose, Token};
use crate::net::words::{Announced, Asked, Counted, Counts, Opened, Opening, ToFar, ToNear};

/// An answer that has not come by then never will: the other end hangs. Waiting with a time limit changed a round trip
/// of 17 us by -0.4, +0.5 and +1.2 % in three probes against waiting without one.
pub(super) const SILENCE: Duration = Duration::from_secs(5);

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
    let cannot = |error: io::Error| format!("cannot connect to the other end at {address}: {error}");
    let preface = Preface { purpose: Purpose::Session, number: 0, token: admission };
    let control = flows::connected(to, &preface, patience).map_err(cannot)?;
    watch_over(&control).map_err(cannot)?;
    let params = opening.params.clone();
    frames::write(&control, &ToFar::Open(Box::new(opening))).map_err(cannot)?;
    let ToNear::Opened(opened) = hear(&control, patience)? else { return Err(odd()) };
    let token = Token::parse(&opened.token).ok_or_else(odd)?;
    let protocols = protocols(&params);
    let ends = flows::open(to, &protocols, token, patience).map_err(cannot)?;
    let ToNear::Complete = hear(&control, patience)? else { return Err(odd()) };
    let control = Control {
        stream: control,
        announced: 0,
        asking: 0,
        rounds: 0,
        sent_bytes: vec![0; ends.len()],
        answer: Ok(Vec::new()),
    };
    let session = Session {
        control: Mutex::new(control),
        answered: Condvar::new(),
        opened: *opened,
        token,
        address: to,
        lost: AtomicU64::new(0),
    };
    Ok((session, ends))
}

/// A peer that is gone without a word is noticed within some seconds, also while nothing is to be said.
pub(crate) fn watch_over(control: &TcpStream) -> io::Result<()> {
    let alive = TcpKeepalive::new().with_time(SILENCE).with_interval(Duration::from_secs(1)).with_retries(5);
    let socket = SockRef::from(control);
    socket.set_tcp_keepalive(&alive)?;
    socket.set_tcp_user_timeout(Some(2 * SILENCE))?;
    control.set_nodelay(true)?;
    control.set_write_timeout(Some(SILENCE))
}

/// The next message of the far end.
fn hear(control: &TcpStream, within: Duration) -> Result<ToNear, String> {
    match frames::read(control, within) {
        Ok(ToNear::Refused { reason }) => Err(format!("the other end: {reason}")),
        Ok(message) => Ok(message),
        Err(NoFrame::Ended) => Err(gone("it closed its connections")),
        Err(NoFrame::Late) => Err(silent()),
        Err(error) => Err(gone(&error.to_string())),
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

    /// Says when the window of this number is, unless another thread has done so. `bytes` is what the far end is to send
    /// in it, where it keeps to a rate.
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
        frames::write(&control.stream, &ToFar::Window(announced)).map_err(|error| gone(&error.to_string()))
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
        let waiting = |control: &mut Control| control.rounds == round;
        let (control, waited) =
            self.answered.wait_timeout_while(control, 2 * SILENCE, waiting).unwrap_or_else(PoisonError::into_inner);
        if waited.timed_out() {
            return Err("another thread failed".to_owned());
        }
        let counted = control.answer.clone()?;
        counted.get(thread).cloned().ok_or_else(odd)
    }

    /// One more datagram that did not come back.
    pub(super) fn lose_one(&self) {
        self.lost.fetch_add(1, Ordering::Relaxed);
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
    frames::write(&control.stream, &ToFar::Count(asked)).map_err(|error| gone(&error.to_string()))?;
    match hear(&control.stream, SILENCE)? {
        ToNear::Counted(Counts { number: of, threads }) if of == number => Ok(threads),
        _ => Err(odd()),
    }
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
        _ => gone(&error.to_string()),
    }
}
