//! Reference tools on this machine: finding them, running them, and trying each of them once.
//!
//! What a tool is, how it is called and what its output means is in the crate `tools`.

pub mod catalogue;
pub mod detect;
mod listening;
pub(crate) mod own_files;
mod own_folder;
pub(crate) mod progress;
pub mod run;
#[cfg(test)]
mod tests;

/// Whether a reference tool can run alongside a benchmark.
pub fn can_run(tool: &str, experiment: &model::experiment::Experiment) -> bool {
    tools::find(tool).is_some_and(|tool| tool.supports(experiment).is_ok())
}
