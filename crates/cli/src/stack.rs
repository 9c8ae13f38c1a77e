//! Room for the stack of the main thread, whose size `ulimit -s` limits.

use std::process::ExitCode;
use std::thread;

use machine::Sysroot;

use crate::exit::{Outcome, status};

/// The least limit, in bytes, with which the program runs on the main thread.
const ENOUGH: u64 = 1 << 20;
/// The size of the stack, in bytes, under a smaller limit: that of most systems.
const STACK: usize = 8 << 20;
/// The exit status of a Rust program whose main thread panicked.
const PANICKED: u8 = 101;

/// Runs the program here, or on a thread with a larger stack if the limit is small. Fails if no thread can be started.
pub(crate) fn with_room(program: fn(f64) -> ExitCode, began: f64) -> ExitCode {
    let limits = Sysroot::host().text("proc/self/limits").unwrap_or_default();
    let Some(small) = limit(&limits).filter(|bytes| *bytes < ENOUGH) else { return program(began) };
    match thread::Builder::new().stack_size(STACK).spawn(move || program(began)) {
        Ok(thread) => thread.join().unwrap_or(ExitCode::from(PANICKED)),
        Err(error) => status(&Outcome::Unusable(format!(
            "the stack is limited to {} KiB, and no thread with a larger one can be started: {error}. Raise ulimit -s",
            small >> 10
        ))),
    }
}

/// The soft limit in bytes of `/proc/PID/limits`; `None` if it is unlimited or unknown.
fn limit(limits: &str) -> Option<u64> {
    let line = limits.lines().find_map(|line| line.strip_prefix("Max stack size"))?;
    line.split_ascii_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_soft_limit_of_the_stack_is_read() {
        let line = |soft: &str| {
            format!("Max data size  unlimited  unlimited  bytes\nMax stack size  {soft}  unlimited  bytes\n")
        };
        assert_eq!(limit(&line("65536")), Some(65536));
        assert_eq!((limit(&line("unlimited")), limit("")), (None, None));
    }
}
