//! What a run is given, what it reports while it goes on, and how it ends.

use model::document::{Document, Program, Row};
use model::machine::Machine;

use super::launch::WorkerCommand;
use crate::net::ServerSession;
use crate::references::detect::Places;
use model::disk_target::DiskTarget;

/// The reason of a benchmark that the time budget left no time for.
pub const TIME_BUDGET: &str = "time_budget";

/// The reason of a benchmark that the write budget left nothing for.
pub const WRITE_BUDGET: &str = "write_budget";

/// The reason of a benchmark that was not reached before the run was interrupted.
pub const INTERRUPTED: &str = "interrupted";

/// What a run is given besides its plan.
#[derive(Debug)]
pub struct Setting<'a> {
    /// How to start workers.
    pub worker: WorkerCommand,
    /// The machine.
    pub machine: &'a Machine,
    /// What the user declared.
    pub declared: &'a machine::Declared,
    /// This program.
    pub program: Program,
    /// The run's name.
    pub id: String,
    /// Seconds for the whole run.
    pub time_budget: Option<f64>,
    /// Bytes that may be written to disks, where another budget was named than the plan's.
    pub write_budget: Option<u64>,
    /// Whether disturbed launches may be repeated for all the time that the budget leaves, as somebody who names one means
    /// it; else only for the suite's share of the expected time.
    pub repeats_fill_budget: bool,
    /// Seconds that may be spent in all on waiting for a quiet machine; `None` to measure at once.
    pub wait_quiet: Option<f64>,
    /// `CLOCK_MONOTONIC_RAW` when the program began, in seconds.
    pub began: f64,
    /// Run each experiment once, briefly, to check its results.
    pub verify_only: bool,
    /// Where disks are measured.
    pub disk: Option<DiskTarget>,
    /// Where trusted tools are looked for.
    pub places: Places,
    /// Whether the run is stored, so that what tools print can be kept.
    pub stored: bool,
    /// The server at the other end of rows between hosts.
    pub server: Option<&'a ServerSession>,
}

/// What there is to tell while a run goes on.
#[derive(Debug)]
pub enum Event<'a> {
    /// A launch begins.
    Launching {
        /// Which row.
        row: &'a Row,
        /// Seconds that the rest of the run will take, as far as can be told.
        seconds_left: f64,
        /// Share of the run that is done.
        done: f64,
        /// Rows that are over, and all rows.
        rows: (usize, usize),
    },
    /// A row has more samples, and is not finished.
    Provisional {
        /// The row so far.
        row: &'a Row,
        /// Samples that it is to have at least.
        of: u32,
    },
    /// A row is finished.
    Finished {
        /// The row.
        row: &'a Row,
    },
    /// Something others do is waited for.
    Waiting {
        /// Seconds for which it is waited at most.
        at_most: f64,
    },
    /// The time for waiting is spent, and the machine is still not quiet; the run goes on.
    NotQuiet {
        /// What others do.
        because: &'a str,
    },
    /// The run cannot be stored any more; it goes on.
    CannotStore {
        /// Why.
        reason: &'a str,
    },
}

/// Whoever watches a run.
pub trait Watcher {
    /// Something has happened.
    fn event(&mut self, event: Event<'_>);
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Every row was reached, or skipped for a reason of its own.
    Complete,
    /// A signal stopped it.
    Interrupted(i32),
}

/// A finished run.
#[derive(Debug)]
pub struct Finished {
    /// What was measured.
    pub document: Document,
    /// How it ended.
    pub ending: Ending,
    /// Why it could not be stored to the end, if it could not.
    pub not_stored: Option<String>,
}
