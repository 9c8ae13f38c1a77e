//! What a command needs of the machine it runs on besides measuring: when it began, the time of day, and to be told to
//! stop.

pub use sys::clock::{monotonic_raw_seconds, utc_now};
pub use sys::process::{note_stop_signals, stop_signal};
