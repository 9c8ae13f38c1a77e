//! What a command needs of the machine it runs on besides measuring: when it began, the time of day, and to be told to
//! stop.

pub use sys::clock::{monotonic_raw_seconds, unix_seconds, utc_now};
pub use sys::process::{die_with_parent, note_stop_signals, note_warning_signal, stop_signal, survive_file_size_limit};

/// The name of this host, if it has one that is text.
pub fn name() -> Option<String> {
    rustix::system::uname().nodename().to_str().ok().map(str::to_owned).filter(|name| !name.is_empty())
}
