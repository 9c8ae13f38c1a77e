//! Data connections on their way to the launch that they belong to.

use std::collections::BTreeMap;
use std::net::TcpStream;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::preface::{Preface, Token};

/// Where data connections wait for the launch that they belong to.
#[derive(Debug, Default)]
pub(crate) struct DataConnections {
    expected: Mutex<BTreeMap<Token, Sender<(Preface, TcpStream)>>>,
}

/// The data connections of one launch as they come; once it is dropped they are closed.
#[derive(Debug)]
pub(crate) struct Incoming<'a> {
    connections: &'a DataConnections,
    token: Token,
    /// Each with its preface.
    pub(crate) come: Receiver<(Preface, TcpStream)>,
}

impl DataConnections {
    fn expected(&self) -> MutexGuard<'_, BTreeMap<Token, Sender<(Preface, TcpStream)>>> {
        self.expected.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From now on connections with this token are ours.
    pub(crate) fn expect(&self, token: Token) -> Incoming<'_> {
        let (bring, come) = channel();
        self.expected().insert(token, bring);
        Incoming { connections: self, token, come }
    }

    /// Hands a connection to the launch that expects it; others are closed.
    pub(crate) fn bring(&self, preface: Preface, stream: TcpStream) {
        let bring = self.expected().get(&preface.token).cloned();
        if let Some(bring) = bring {
            // Who expected it may be gone by now.
            let _ = bring.send((preface, stream));
        }
    }
}

impl Drop for Incoming<'_> {
    fn drop(&mut self) {
        self.connections.expected().remove(&self.token);
    }
}
