//! How the two ends of a network experiment talk: the near one, where the run is, and the far one, which serves it.
//!
//! One TCP port carries everything, and UDP has the same number. Every connection begins with a `preface` that says
//! what it is for; `door` reads it and closes what has none. Then control connections carry `frames` of JSON, bounded
//! and timed. What the two ends of a launch say is in `words`; what goes over the data connections is the engine's
//! business (`engine::net`), which also does the work of both ends.
//!
//! Between hosts there is a visit around it: the client (`visit`) is let in by the `server`, once both have proven
//! that they know the same `key` and its turn has come (`visits`); their words are in `greetings`. Its launches
//! then come with the token of the visit.

pub(crate) mod door;
pub(crate) mod frames;
pub(crate) mod greetings;
mod key;
pub(crate) mod path;
pub(crate) mod preface;
mod server;
mod target;
#[cfg(test)]
mod tests;
mod visit;
mod visits;
pub(crate) mod words;

pub use key::Key;
pub use server::{Notice, Serving, serve};
pub use target::{PORT, Target, listen_address};
pub use visit::{NoVisit, Visit};

/// Reads bytes as everything that may come over a connection, and forgets what they said: for tests and the fuzzer, to
/// which it matters that nothing panics and nothing large is made.
#[doc(hidden)]
pub fn read_as_everything(bytes: &[u8]) {
    if let Some(first) = bytes.first_chunk() {
        let _ = preface::Preface::read(first);
    }
    let _ = frames::parse::<words::ToFar>(bytes);
    let _ = frames::parse::<words::ToNear>(bytes);
    let _ = frames::parse::<greetings::ToServer>(bytes);
    let _ = frames::parse::<greetings::ToVisitor>(bytes);
    if let Ok(text) = std::str::from_utf8(bytes) {
        let _ = Target::parse(text);
        let _ = listen_address(Some(text));
        let _ = preface::Token::parse(text);
    }
}
