//! What an engine keeps between its workers, as long as a run lasts. The runner does not know which area it runs.

use std::io;
use std::path::Path;

use machine::Watched;
use model::wire::{Ends, HeldFile};

use crate::evidence::Repetition;
use crate::net::ServerSession;
use model::disk_target::DiskTarget;
use model::plan::{Plan, Planned};
use verdict::judge::ProcessRun;

/// Notes in the run's journal that a file is about to be created.
pub(crate) type WillMake<'a> = &'a mut dyn FnMut(&Path) -> io::Result<()>;

#[derive(Clone, Copy, Debug)]
pub(crate) struct ResourceContext<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) disk: Option<&'a DiskTarget>,
    pub(crate) server: Option<&'a ServerSession>,
    /// In seconds, for the whole run.
    pub(crate) time_budget: Option<f64>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Scheduling {
    /// The first block keeps the suite's order where time is limited: a slow device leaves no time for the last benchmarks.
    pub(crate) first_block_in_order: bool,
    /// A single operation can wait for a device or another process.
    pub(crate) operations_wait: bool,
    /// The device alone decides how long a process run takes, so process runs share the time that is left.
    pub(crate) shares_time: bool,
    /// What its benchmarks depend on in addition to the CPUs.
    pub(crate) watched: Watched,
}

/// A benchmark that may be started next, and its results so far.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NextRun<'a> {
    pub(crate) planned: &'a Planned,
    pub(crate) samples: &'a [Repetition],
    pub(crate) runs: &'a [ProcessRun],
    pub(crate) samples_next: u32,
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Forecast {
    /// Wait for the device beyond what was planned.
    pub(crate) waits_seconds: f64,
    /// Time of the device for the requests in flight when time is up.
    pub(crate) drain_seconds: f64,
    /// Whether its warm-up finds the peak rate of which its load is a percentage.
    pub(crate) warm_up_finds_peak: bool,
    /// What it writes to a disk, if it has a file on one.
    pub(crate) writes: Option<WriteForecast>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct WriteForecast {
    pub(crate) written_bytes: u64,
    /// Of test files, before the first request of the next process run.
    pub(crate) file_bytes: u64,
    /// Lower bound of the requests of the next process run.
    pub(crate) request_bytes: u64,
    /// Whether the process run can stop once it has written a given number of bytes.
    pub(crate) can_stop: bool,
    /// What a process run should be able to write: the budget is shared out in proportion to it.
    pub(crate) weight_bytes: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum User {
    /// A worker needs files that hold our contents.
    Worker,
    Tool,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Provided {
    pub(crate) file: Option<HeldFile>,
    pub(crate) ends: Option<Ends>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Release<'a> {
    All,
    Contents(&'a HeldFile),
}

pub(crate) trait RunResources {
    fn scheduling(&self) -> Scheduling {
        Scheduling::default()
    }

    fn forecast(&self, _next: NextRun<'_>) -> Forecast {
        Forecast::default()
    }

    fn learn(&mut self, _planned: &Planned, _last: &Repetition) {}

    /// What the next process run needs; a missing file is noted in the journal before it is created.
    fn provide(&mut self, planned: &Planned, user: User, will_make: WillMake<'_>) -> Result<Provided, String>;

    fn release(&mut self, _what: Release<'_>) {}
}
