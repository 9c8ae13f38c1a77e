//! The server that a run measures the network with.

use bench::net::{Key, NoSession, ServerSession, Target};

use crate::exit::{Outcome, Result, complain};

/// The server at the other end.
pub(super) struct There<'a> {
    pub(super) target: &'a Target,
    pub(super) key: Option<Key>,
}

impl There<'_> {
    /// A session with the server, once its turn has come.
    pub(super) fn connect(&self, quiet: bool) -> std::result::Result<ServerSession, NoSession> {
        let mut told = None;
        ServerSession::begin(self.target, self.key.as_ref(), env!("CARGO_PKG_VERSION"), &mut |ahead| {
            if !quiet && told.replace(ahead) != Some(ahead) {
                complain(&format!("{} is busy; visitors before us: {ahead}", self.target));
            }
        })
    }
}

/// How a command ends without a session.
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
