//! What a command needs of the machine it runs on besides measuring: when it began, the time of day, and to be told to
//! stop.

pub use sys::clock::{monotonic_raw_seconds, unix_seconds, utc_now};
pub use sys::process::{die_with_parent, note_stop_signals, note_warning_signal, stop_signal, survive_file_size_limit};

/// The longest that loading the program is taken to have lasted, in seconds. A process is as old as its fork, and a script
/// that becomes the program by `exec` may have done something else before.
const MOST_LOADING_SECONDS: f64 = 2.0;

/// When the program began, in seconds of `CLOCK_MONOTONIC_RAW`: somewhat before it could ask, since it had to be loaded,
/// which takes its time on a slow disk.
pub fn program_began() -> f64 {
    monotonic_raw_seconds() - sys::process::age_seconds().unwrap_or(0.0).min(MOST_LOADING_SECONDS)
}

/// The name of this host, if it has one that is text.
pub fn name() -> Option<String> {
    rustix::system::uname().nodename().to_str().ok().map(str::to_owned).filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_began_when_it_was_forked_or_not_long_before_it_asks() {
        let ago = || monotonic_raw_seconds() - program_began();
        // More than the hundredth of a second to which the kernel knows it.
        std::thread::sleep(std::time::Duration::from_millis(50));
        assert!(ago() >= 0.03, "{}", ago());
        assert!(ago() < MOST_LOADING_SECONDS + 1.0, "{}", ago());
    }
}
