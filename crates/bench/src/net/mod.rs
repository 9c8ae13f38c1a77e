//! How the two ends of a network experiment talk: the near one, where the run is, and the far one, which serves it.
//!
//! One TCP port carries everything, and UDP has the same number. Every connection begins with a [`preface`] that says
//! what it is for; [`door`] reads it and closes what has none. Then control connections carry [`frames`] of JSON, bounded
//! and timed, whose words are in [`words`]. What goes over the data connections is the engine's business
//! (`engine::net`), which also does the work of both ends.

pub(crate) mod door;
pub(crate) mod frames;
pub(crate) mod preface;
pub(crate) mod words;
