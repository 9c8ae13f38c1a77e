//! Measuring: one folder for each area, the seam that the worker goes through, and the table of engines.

mod cpu;
mod disk;
mod linpack;
mod memory;
mod moments;
pub(crate) mod net;
#[cfg(test)]
pub(crate) mod null;
pub(crate) mod resources;
mod seam;
mod table;
mod tally;
#[cfg(test)]
pub(crate) use linpack::planted;
pub(crate) use seam::{
    BackgroundJob, Engine, Flow, FlowMetric, FlowProfile, Job, JobProfile, Means, Measure, NextWindow, Opened,
    Placement, Preparing, Profile, Residuals, Trial, Trouble, Verified,
};
pub(crate) use table::{conditions_of_threads, engine_of, run_resources};
pub(crate) use tally::{Carried, Tally, Window, share_of_work};
