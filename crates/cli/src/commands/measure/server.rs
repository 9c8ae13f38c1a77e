//! The server that a run measures the network with.

use bench::net::{Key, NoSession, ServerSession, Target};

use crate::exit::{Outcome, Result, complain};

/// The server at the other end.
pub(super) struct There<'a> {
    pub(super) target: &'a Target,
    pub(super) key: Option<Key>,
}

impl There<'_> {
    /// Visits it, once it has the time.
    pub(super) fn visit(&self, quiet: bool) -> std::result::Result<ServerSession, NoSession> {
        let mut told = None;
        ServerSession::begin(self.target, self.key.as_ref(), env!("CARGO_PKG_VERSION"), &mut |ahead| {
            if !quiet && told.replace(ahead) != Some(ahead) {
                complain(&format!("{} is busy; visitors before us: {ahead}", self.target));
            }
        })
    }
}

/// How a command ends whose server could not be visited.
pub(super) fn no_visit(why: NoSession) -> Result {
    match why {
        NoSession::Named(sentence) => Err(sentence),
        NoSession::Failed(sentence) => {
            complain(&sentence);
            Ok(Outcome::SomeFailed)
        }
        NoSession::Interrupted(signal) => Ok(Outcome::Interrupted(signal)),
    }
}
