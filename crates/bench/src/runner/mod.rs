//! Carries out a plan: process runs in an interleaved order, with an up-to-date document.
//!
//! It decides when a benchmark has enough samples; a [`Watcher`] receives events.

mod assemble;
mod launch;
mod launching;
mod paired_tool;
mod progress;
mod reference_pairs;
mod resume;
mod run;
mod setting;
mod storage;

pub(crate) use assemble::add_journalled;
pub use launch::WorkerCommand;
pub use resume::{CutOff, go_on};
pub use run::run;
pub use setting::{Event, Finished, INTERRUPTED, Setting, TIME_BUDGET, WRITE_BUDGET, Watcher};
