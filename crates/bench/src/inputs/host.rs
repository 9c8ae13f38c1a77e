//! What a command needs of the machine it runs on besides measuring: when it began, the time of day, and to be told to
//! stop.

use std::collections::BTreeMap;

use areas::CoreFeatures;
use kernels::features::Features;
use model::machine::Machine;
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

/// What the cores of this machine can do. Cores of several kinds are each asked; where one of them cannot be, all count as
/// the one that the program runs on.
pub fn core_features(machine: &Machine) -> CoreFeatures {
    let types = machine.cpu.core_types.iter().enumerate().filter(|_| machine.cpu.core_types.len() > 1);
    let available = |cpus: &[u32]| cpus.iter().copied().find(|cpu| machine.cpu.available_cpus.contains(cpu));
    let seen = types.filter_map(|(index, core_type)| {
        let found = sys::team::run(&[available(&core_type.cpus)?], |_, _| Ok(Features::detect()));
        Some((index, found.ok()?.into_iter().next()?))
    });
    CoreFeatures { here: Features::detect(), by_type: seen.collect::<BTreeMap<usize, Features>>() }
}

/// A suite as it is, to be planned on this machine, with reference tools as far as they can run alongside a benchmark.
pub fn request(suite: areas::Suite, machine: &Machine) -> areas::Request {
    let references = areas::References { can_run: crate::references::can_run, ..areas::References::default() };
    areas::Request { references, ..areas::Request::new(suite, core_features(machine)) }
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
