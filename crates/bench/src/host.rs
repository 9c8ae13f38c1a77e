//! What a command needs of the machine it runs on besides measuring: when it began, the time of day, and to be told to
//! stop.

pub use sys::clock::{monotonic_raw_seconds, unix_seconds, utc_now};
pub use sys::process::{die_with_parent, note_stop_signals, note_warning_signal, stop_signal, survive_file_size_limit};

/// The longest that loading the program is taken to have lasted, in seconds. A process is as old as its fork, and a script
/// that becomes the program by `exec` may have done something else before.
const MOST_LOADING_SECONDS: f64 = 2.0;

/// When the program began, in seconds of `CLOCK_MONOTONIC_RAW`: somewhat before it could ask, since it had to be loaded,
/// which takes a slow disk a second and more.
pub fn program_began() -> f64 {
    monotonic_raw_seconds() - sys::process::age_seconds().unwrap_or(0.0).min(MOST_LOADING_SECONDS)
}

/// The name of this host, if it has one that is text.
pub fn name() -> Option<String> {
    rustix::system::uname().nodename().to_str().ok().map(str::to_owned).filter(|name| !name.is_empty())
}
