//! The runner: carries out a plan, launch by launch in an interleaved order, and keeps the document up to date.
//!
//! It decides when a benchmark has enough samples; it never measures itself and prints nothing. A [`Watcher`] receives
//! events.

mod assemble;
mod beside;
mod finishing;
mod launch;
mod launching;
mod outlook;
mod progress;
mod reference_pairs;
mod resume;
mod run;
mod setting;
mod state;
mod storage;

pub(crate) use assemble::add_journalled;
pub use launch::WorkerCommand;
pub use resume::{CutOff, go_on};
pub use run::run;
pub use setting::{Ending, Event, Finished, INTERRUPTED, Setting, TIME_BUDGET, WRITE_BUDGET, Watcher};
