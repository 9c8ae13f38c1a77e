//! The server of a run's network benchmarks.

use bench::net::{Key, NoSession, ServerSession, Target};

use crate::exit::{Outcome, Result, complain};

/// The server, and the key for it.
pub(super) struct There<'a> {
    pub(super) target: &'a Target,
    pub(super) key: Option<Key>,
}

impl There<'_> {
    /// Opens a session, waiting for other clients.
    pub(super) fn connect(&self, quiet: bool) -> std::result::Result<ServerSession, NoSession> {
        let mut reported = None;
        ServerSession::begin(self.target, self.key.as_ref(), env!("CARGO_PKG_VERSION"), &mut |ahead| {
            if !quiet && reported.replace(ahead) != Some(ahead) {
                complain(&format!("{} is busy; clients ahead in the queue: {ahead}", self.target));
            }
        })
    }
}

/// The outcome of a command that got no session.
pub(super) fn no_session(why: NoSession) -> Result {
    match why {
        NoSession::Named(sentence) => Err(sentence),
        NoSession::Failed(sentence) => {
            complain(&sentence);
            Ok(Outcome::SomeFailed)
        }
        NoSession::Interrupted(signal) => Ok(Outcome::Interrupted(signal)),
    }
}
