//! What the threads of a launch share once the other end has been found, and the sentences for losing it.
//!
//! Preparation happens before there are threads, in an engine that is one static value; so what it prepared is kept
//! here by the launch's token until each thread takes its part. Several launches in one process, as in tests, do not
//! meet.

use std::collections::BTreeMap;
use std::io;
use std::net::TcpStream;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::meet::{DataEnd, Met};

/// An answer that has not come by then never will: the other end hangs. Waiting with a time limit changed a round trip
/// of 17 us by -0.4, +0.5 and +1.2 % in three probes against waiting without one.
pub(super) const SILENCE: Duration = Duration::from_secs(5);

/// A datagram that is not back by then is lost.
pub(super) const LOST_AFTER: Duration = Duration::from_millis(200);

/// What has been prepared and not yet taken, by token.
static PREPARED: Mutex<BTreeMap<String, Prepared>> = Mutex::new(BTreeMap::new());

struct Prepared {
    session: Arc<Session>,
    ends: Vec<Option<DataEnd>>,
}

/// What the threads of a launch share.
#[derive(Debug)]
pub(super) struct Session {
    control: TcpStream,
    congestion: Option<String>,
    lost: AtomicU64,
}

fn prepared() -> MutexGuard<'static, BTreeMap<String, Prepared>> {
    PREPARED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Keeps what was prepared until its threads take it.
///
/// # Errors
/// What the kernel said.
pub(super) fn keep(token: &str, met: Met) -> io::Result<()> {
    // It is only ever looked at, never waited for.
    met.control.set_nonblocking(true)?;
    let session = Session { control: met.control, congestion: met.congestion, lost: AtomicU64::new(0) };
    let ends = met.ends.into_iter().map(Some).collect();
    prepared().insert(token.to_owned(), Prepared { session: Arc::new(session), ends });
    Ok(())
}

/// A thread's part; `None` if it was not prepared, or has been taken.
pub(super) fn take(token: &str, thread: usize) -> Option<(Arc<Session>, DataEnd)> {
    let mut all = prepared();
    let launch = all.get_mut(token)?;
    let end = launch.ends.get_mut(thread)?.take()?;
    let session = Arc::clone(&launch.session);
    if launch.ends.iter().all(Option::is_none) {
        all.remove(token);
    }
    Some((session, end))
}

impl Session {
    /// Congestion control of the other end's sockets, where it said so.
    pub(super) fn congestion(&self) -> Option<String> {
        self.congestion.clone()
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
        match self.control.peek(&mut [0]) {
            Ok(0) => Err(gone("it closed its connections")),
            Err(error) if !matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {
                Err(gone(&error.to_string()))
            }
            _ => Ok(()),
        }
    }
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
