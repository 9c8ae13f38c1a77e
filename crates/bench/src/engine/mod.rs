//! The engines' seam: what an area must say to be measured, and nothing about how measuring is done.
//!
//! An engine expands a request into planned rows (pure) and opens an experiment as a [`Trial`] on the thread that will
//! run it. The clock, warm-up, repetition, interleaving and the stop rule belong to the worker and the runner, so that
//! no engine can get them wrong.

use model::experiment::Area;
use model::machine::Machine;
use model::sample::MetricName;
use model::unit::{Better, Unit};
use model::wire::Task;

use crate::plan::{PlanError, Planned, Request};

mod cpu;
mod memory;
#[cfg(test)]
pub(crate) mod null;

/// Every engine; a new area is one file and one line here.
pub(crate) static ENGINES: &[&dyn Engine] = &[&cpu::CpuEngine, &memory::MemoryEngine];

/// What can measure one area.
pub(crate) trait Engine: Sync {
    /// The area.
    fn area(&self) -> Area;

    /// The rows that a request comes to on a machine. Pure.
    ///
    /// # Errors
    /// What the user named and cannot be done here.
    fn expand(&self, request: &Request, machine: &Machine) -> Result<Vec<Planned>, PlanError>;

    /// Prepares one thread's part of an experiment; called on that thread, pinned already. Nothing of it is timed.
    ///
    /// # Errors
    /// Why it cannot be done: [`Trouble`].
    fn open(&self, task: &Task, thread: usize) -> Result<Box<dyn Trial>, Trouble>;
}

/// One thread's part of an experiment, ready to work.
pub(crate) trait Trial {
    /// What is worth knowing before it is run.
    fn profile(&self) -> Profile;

    /// Does so many iterations. This, and nothing else, is timed: no allocation, no lock, no system call.
    fn run(&mut self, iterations: u64);

    /// Checks everything done since the last check, and prepares the next. Not timed.
    ///
    /// # Errors
    /// What is wrong with the results.
    fn verify(&mut self) -> Result<(), String>;

    /// Share of its buffers in pages of the size asked for, where it has any.
    fn pages_obtained(&self) -> Option<f64> {
        None
    }
}

/// How a trial wants to be run and counted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Profile {
    /// What its headline metric is.
    pub(crate) measure: Measure,
    /// Work of one iteration, in the measure's terms: flop, op, bytes, or operations of a latency.
    pub(crate) work_per_iteration: f64,
    /// Iterations between two checks at most.
    pub(crate) most_iterations: u64,
    /// Whether clock chains are run between bursts of about a millisecond, so that the clock is the one under this very
    /// load; otherwise they are run before and after each sample.
    pub(crate) clock_between_bursts: bool,
}

/// What a trial's headline metric is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Measure {
    /// Work per second over all threads.
    Rate(Unit),
    /// Seconds per operation as one thread sees it.
    Latency,
}

impl Measure {
    /// The metric's name, unit and better direction.
    pub(crate) fn metric(self) -> (MetricName, Unit, Better) {
        match self {
            Self::Rate(unit) => (MetricName::Throughput, unit, Better::Higher),
            Self::Latency => (MetricName::Latency, Unit::Second, Better::Lower),
        }
    }
}

/// Why an experiment could not be opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// This machine cannot do it; the row is skipped.
    Unavailable(String),
    /// Something went wrong; the row has failed.
    Failed(String),
}

impl Trouble {
    /// The sentence.
    pub(crate) fn reason(&self) -> &str {
        match self {
            Self::Unavailable(reason) | Self::Failed(reason) => reason,
        }
    }
}

/// The engine of an area.
pub(crate) fn of(area: Area) -> Option<&'static dyn Engine> {
    ENGINES.iter().copied().find(|engine| engine.area() == area)
}
