//! The protocol between the two ends of a network measurement: the client, where the run is, and the server's end.
//!
//! One TCP port carries everything, and UDP has the same number. Every connection begins with a `preface` with its purpose;
//! the `listener` reads it and closes connections without one. Then control connections carry `frames` of JSON, bounded in
//! length and time. The `messages` of a launch are those of both ends; what goes over the data connections is the engine's
//! (`engine::net`), which also does the work of both ends.
//!
//! Between hosts there is a session around it: the server admits the `client` once both have proven that they know the same
//! `key` (`handshake`) and its turn has come. Its launches then have the token of the session.

pub(crate) mod client;
pub(crate) mod control;
pub(crate) mod frames;
pub(crate) mod handshake;
pub(crate) mod incoming;
pub(crate) mod key;
pub(crate) mod listener;
pub(crate) mod messages;
pub(crate) mod path;
pub(crate) mod preface;
mod target;

pub use client::{NoSession, ServerSession};
pub use key::Key;
pub use target::{PORT, Target, listen_address};

/// Reads bytes as everything that may come over a connection, and forgets what they said: for tests and the fuzzer, to
/// which it matters that nothing panics and nothing large is made.
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
