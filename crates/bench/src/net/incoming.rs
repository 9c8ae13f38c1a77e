//! Data connections on their way to their process run.

use std::collections::BTreeMap;
use std::net::TcpStream;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::preface::{Preface, Token};

/// Hands data connections to the process runs that expect them.
#[derive(Debug, Default)]
pub(crate) struct DataConnections {
    expected: Mutex<BTreeMap<Token, Sender<(Preface, TcpStream)>>>,
}

/// The data connections of a process run; closed when dropped.
#[derive(Debug)]
pub(crate) struct Incoming<'a> {
    connections: &'a DataConnections,
    token: Token,
    pub(crate) come: Receiver<(Preface, TcpStream)>,
}

impl DataConnections {
    fn expected(&self) -> MutexGuard<'_, BTreeMap<Token, Sender<(Preface, TcpStream)>>> {
        self.expected.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn expect(&self, token: Token) -> Incoming<'_> {
        let (bring, come) = channel();
        self.expected().insert(token, bring);
        Incoming { connections: self, token, come }
    }

    /// Hands a connection to its process run; unexpected ones are closed.
    pub(crate) fn bring(&self, preface: Preface, stream: TcpStream) {
        let bring = self.expected().get(&preface.token).cloned();
        if let Some(bring) = bring {
            // The receiver may be gone.
            let _ = bring.send((preface, stream));
        }
    }
}

impl Drop for Incoming<'_> {
    fn drop(&mut self) {
        self.connections.expected().remove(&self.token);
    }
}
