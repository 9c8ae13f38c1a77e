//! Input, events and end of a run.

use std::path::PathBuf;

use model::document::{Document, Program, Row};
use model::machine::Machine;

use super::launch::WorkerCommand;
use crate::net::ServerSession;
use crate::references::detect::Places;
use model::disk_target::DiskTarget;

/// Reason of a benchmark without time left.
pub const TIME_BUDGET: &str = "time_budget";
/// Reason of a benchmark without write budget left.
pub const WRITE_BUDGET: &str = "write_budget";
/// Reason of a benchmark not reached before an interruption.
pub const INTERRUPTED: &str = "interrupted";

#[derive(Debug)]
pub struct Setting<'a> {
    pub worker: WorkerCommand,
    pub machine: &'a Machine,
    pub declared: &'a machine::Declared,
    pub program: Program,
    pub id: String,
    pub label: Option<String>,
    pub time_budget: Option<f64>,
    /// Write budget in bytes, if it differs from the plan's.
    pub write_budget: Option<u64>,
    /// Repeats of disturbed process runs may fill the time budget; else they have the suite's share.
    pub repeats_fill_budget: bool,
    /// Maximum seconds of waiting for a quiet machine; `None`: no waiting.
    pub wait_quiet: Option<f64>,
    /// `CLOCK_MONOTONIC_RAW` at program start, in seconds.
    pub began: f64,
    /// Only verify every benchmark, briefly.
    pub verify_only: bool,
    pub disk: Option<DiskTarget>,
    pub places: Places,
    /// The run is stored, with the output of tools.
    pub stored: bool,
    /// The server of benchmarks between hosts.
    pub server: Option<&'a ServerSession>,
    /// The root of the store, where earlier runs of this machine are.
    pub store: Option<PathBuf>,
}

impl<'a> Setting<'a> {
    /// A run that is not stored, without disks, server, tools and budgets.
    pub fn new(
        worker: WorkerCommand,
        program: Program,
        machine: &'a Machine,
        declared: &'a machine::Declared,
        began: f64,
    ) -> Self {
        Self {
            worker,
            machine,
            declared,
            program,
            id: String::new(),
            label: None,
            time_budget: None,
            write_budget: None,
            repeats_fill_budget: false,
            wait_quiet: None,
            began,
            verify_only: false,
            disk: None,
            places: Places::default(),
            stored: false,
            server: None,
            store: None,
        }
    }
}

#[derive(Debug)]
pub enum Event<'a> {
    Launching {
        row: &'a Row,
        seconds_left: f64,
        /// Share of the run done.
        done: f64,
        /// Benchmarks finished, and in all.
        rows: (usize, usize),
    },
    /// A benchmark has more samples.
    Provisional {
        row: &'a Row,
        of: u32,
    },
    Finished(&'a Row),
    /// The run waits for a quiet machine, at most for these seconds.
    Waiting(f64),
    /// The wait timed out because of this disturbance; the run continues.
    NotQuiet(&'a str),
    /// The run can no longer be stored, for this reason; it continues.
    CannotStore(&'a str),
}

pub type Watcher<'a> = dyn FnMut(Event<'_>) + 'a;

#[derive(Debug)]
pub struct Finished {
    pub document: Document,
    /// The signal that ended the run early.
    pub signal: Option<i32>,
    /// Why the run could not be stored.
    pub not_stored: Option<String>,
}
