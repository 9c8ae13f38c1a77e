//! The network protocol between a client, where the run is, and a server.
//! One TCP port carries everything; UDP uses the same number. Every connection begins with a `preface`, which the `listener`
//! reads. Control connections carry bounded JSON `frames`: the `handshake` of a session, in which both sides prove that they
//! know the `key`, and the `messages` of a process run. Data connections belong to the engine (`engines::net`).

pub(crate) mod client;
pub(crate) mod frames;
pub(crate) mod handshake;
pub(crate) mod key;
pub(crate) mod listener;
pub(crate) mod messages;
pub(crate) mod preface;
pub(crate) mod strangers;
mod target;

pub use client::{NoSession, ServerSession};
pub use key::Key;
pub use target::{PORT, Target, listen_address};
pub(crate) use target::{loopback, no_loopback};

/// Parses bytes as everything that a connection may carry: for tests and the fuzzer, which look for panics.
#[doc(hidden)]
pub fn read_as_everything(bytes: &[u8]) {
    if let Some(first) = bytes.first_chunk() {
        let _ = preface::Preface::read(first);
    }
    let _ = frames::parse::<messages::RunRequest>(bytes);
    let _ = frames::parse::<messages::RunReply>(bytes);
    let _ = frames::parse::<handshake::ClientMessage>(bytes);
    let _ = frames::parse::<handshake::ServerMessage>(bytes);
    if let Ok(text) = std::str::from_utf8(bytes) {
        let _ = Target::parse(text);
        let _ = listen_address(Some(text));
        let _ = preface::Token::parse(text);
    }
}
