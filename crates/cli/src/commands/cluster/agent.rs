//! The commands that run on nodes: `assay agent` does a node's tasks, `assay attempt` is its child process.

use std::os::unix::process::CommandExt;
use std::process::Command;

use bench::host;
use cluster::error::Error;
use cluster::folder::Folder;
use cluster::network::idle::Waits;
use cluster::worker::{Worker, WorkerRole, work};

use crate::args::cluster::{AgentArgs, AttemptArgs, Tasks};
use crate::commands::program::{own_file, program};
use crate::environment;
use crate::exit::{Outcome, Result, complain};

/// The variables of an agent's child processes: the search path, the store, the configuration of Slurm.
const KEPT: &[&str] = &["PATH", "HOME", "ASSAY_STORE", "XDG_DATA_HOME", "SLURM_CONF"];

/// Seconds before a job's end at which its agent ends: the child process has to store its run.
const MARGIN_SECONDS: f64 = 60.0;

pub(crate) fn agent(arguments: &AgentArgs) -> Result {
    host::note_stop_signals();
    host::note_warning_signal();
    let slurm = |name| environment::text(name);
    let node = arguments.node.clone().or_else(|| slurm("SLURMD_NODENAME")).or_else(host::name);
    let node = node.ok_or("this host has no name. Choose the node with --node")?;
    let end = slurm("SLURM_JOB_END_TIME").and_then(|text| text.parse::<f64>().ok()).map(|end| end - MARGIN_SECONDS);
    let seconds = match (arguments.for_time, arguments.until.or(end)) {
        (Some(seconds), _) => Some(seconds),
        (None, until) => until.map(|until| until - host::unix_seconds()),
    };
    let kept = KEPT.iter().filter_map(|name| Some(((*name).to_owned(), environment::text(name)?)));
    let worker = Worker {
        node,
        job: slurm("SLURM_JOB_ID"),
        until: seconds.map(|seconds| host::monotonic_raw_seconds() + seconds),
        program: program(),
        environment: kept.collect(),
        role: match arguments.role {
            Tasks::All => WorkerRole::All,
            Tasks::Suite => WorkerRole::Suite,
            Tasks::Net => WorkerRole::Network,
        },
        waits: Waits { linger: arguments.linger, ..Waits::default() },
    };
    let ended = match work(&Folder::at(&arguments.plan), &worker, &mut |sentence| complain(sentence)) {
        Err(error) => return failed(&error),
        Ok(ended) => ended,
    };
    complain(&ended.sentence);
    Ok(ended.signal.map_or(Outcome::Done, Outcome::Interrupted))
}

/// A plan that is lost in the middle is a failure, not bad input.
pub(super) fn failed(error: &Error) -> Result {
    if matches!(error, Error::PlanLost(..)) {
        complain(&error.to_string());
        return Ok(Outcome::Failed);
    }
    Err(error.to_string())
}

/// Becomes another command of this program, or another program, which the kernel ends with the agent that started it, so
/// that it cannot disturb or overwrite the node's next measurement.
pub(crate) fn attempt(arguments: &AttemptArgs) -> Result {
    host::die_with_parent(arguments.parent).map_err(|error| format!("cannot start the agent's child: {error}"))?;
    let program = arguments.program.clone().map_or_else(own_file, Ok)?;
    let error = Command::new(&program).args(&arguments.words).exec();
    Err(format!("cannot start '{}': {error}", program.display()))
}
