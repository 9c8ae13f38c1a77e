//! Plans, agents, jobs and reports of `assay cluster`.

mod forms;
mod pairs;
mod plans;
pub(crate) mod run;
