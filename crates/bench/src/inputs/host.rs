//! The host of a command: program start, time of day, stop signals, features of its cores, suite files.

use std::collections::BTreeMap;
use std::path::Path;

use areas::{CoreFeatures, Suite};
use kernels::features::Features;
use model::experiment::Experiment;
use model::machine::Machine;
use model::plan::PlanError;
pub use sys::clock::{monotonic_raw_seconds, unix_seconds, utc_now};
pub use sys::process::{die_with_parent, note_stop_signals, note_warning_signal, stop_signal, survive_file_size_limit};

/// Maximum load time of the program: a script that becomes it by `exec` has an older process.
const MOST_LOADING_SECONDS: f64 = 2.0;

/// Program start in seconds of `CLOCK_MONOTONIC_RAW`, including its loading from a slow disk.
pub fn program_began() -> f64 {
    monotonic_raw_seconds() - sys::process::age_seconds().unwrap_or(0.0).min(MOST_LOADING_SECONDS)
}

/// Features of each core type, queried on one of its CPUs; a type without a usable CPU counts as the current one.
pub fn core_features(machine: &Machine) -> CoreFeatures {
    let types = machine.cpu.core_types.iter().enumerate().filter(|_| machine.cpu.core_types.len() > 1);
    let available = |cpus: &[u32]| cpus.iter().copied().find(|cpu| machine.cpu.available_cpus.contains(cpu));
    let seen = types.filter_map(|(index, core_type)| {
        let found = sys::team::run(&[available(&core_type.cpus)?], |_, _| Ok(Features::detect()));
        Some((index, found.ok()?.into_iter().next()?))
    });
    CoreFeatures { here: Features::detect(), by_type: seen.collect::<BTreeMap<usize, Features>>() }
}

/// A request for this suite on this machine, with the reference tools that can run.
pub fn request(suite: Suite, machine: &Machine) -> areas::Request {
    let can_run =
        |tool: &str, experiment: &Experiment| tools::find(tool).is_some_and(|tool| tool.supports(experiment).is_ok());
    let references = areas::References { can_run, ..areas::References::default() };
    let no_loopback = crate::net::no_loopback();
    let product_rate = super::trial::product_rate(&suite, machine);
    areas::Request { references, product_rate, no_loopback, ..areas::Request::new(suite, core_features(machine)) }
}

/// The suite of this name, or in this file if the name ends in `.toml`.
pub fn suite(name: &str) -> Result<Suite, PlanError> {
    if Path::new(name).extension().is_none_or(|extension| extension != "toml") {
        return Suite::embedded(name);
    }
    let text = std::fs::read_to_string(name)
        .map_err(|error| PlanError(format!("cannot read the suite file '{name}': {error}")))?;
    Suite::parse(&text, name)
}

/// This host's name, if it is UTF-8.
pub fn name() -> Option<String> {
    rustix::system::uname().nodename().to_str().ok().map(str::to_owned).filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_began_when_it_was_forked_or_not_long_before_it_asks() {
        let ago = || monotonic_raw_seconds() - program_began();
        // The kernel's resolution is 10 ms.
        std::thread::sleep(std::time::Duration::from_millis(50));
        assert!(ago() >= 0.03, "{}", ago());
        assert!(ago() < MOST_LOADING_SECONDS + 1.0, "{}", ago());
    }
}
