//! What an engine keeps for as long as a run lasts, between its workers: test files, what was learnt of a disk's rate,
//! the session with a server. The runner goes through this trait and does not know which area it runs.

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

/// What a run's resources are made from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ResourceContext<'a> {
    pub(crate) plan: &'a Plan,
    /// Where disks are measured.
    pub(crate) disk: Option<&'a DiskTarget>,
    /// The server on another host.
    pub(crate) server: Option<&'a ServerSession>,
    /// Seconds for the whole run.
    pub(crate) time_budget: Option<f64>,
}

/// How an area's launches are scheduled.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scheduling {
    /// The first block keeps the suite's order where time is limited: a slow device leaves no time for the last ones.
    pub(crate) first_block_in_order: bool,
    /// A single operation can wait for a device or another process.
    pub(crate) operations_wait: bool,
    /// The device alone decides how long a launch takes, so launches share the time that is left.
    pub(crate) shares_time: bool,
    /// What its benchmarks depend on besides the CPUs.
    pub(crate) watched: Watched,
}

/// A benchmark that may be launched next, and what it gave so far.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NextLaunch<'a> {
    pub(crate) planned: &'a Planned,
    /// Samples of launches that ended well.
    pub(crate) samples: &'a [Repetition],
    pub(crate) launches: &'a [ProcessRun],
    /// Samples that the next launch is to take.
    pub(crate) samples_next: u32,
}

/// What is expected of the next launch of a benchmark.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Forecast {
    /// Seconds for which it waits for the device beyond what was planned.
    pub(crate) waits_seconds: f64,
    /// Seconds that the device needs for the requests in flight when time is up.
    pub(crate) drain_seconds: f64,
    /// Whether its warm-up finds the peak rate of which its load is a share.
    pub(crate) warm_up_finds_peak: bool,
    /// What it writes to a disk; `None` where it has no file on one.
    pub(crate) writes: Option<WriteForecast>,
}

/// What a benchmark writes to a disk, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct WriteForecast {
    /// Written so far.
    pub(crate) written_bytes: u64,
    /// Of test files, before the first request of the next launch.
    pub(crate) file_bytes: u64,
    /// By the requests of the next launch, at least.
    pub(crate) request_bytes: u64,
    /// Whether the launch can stop once it has written a given number of bytes.
    pub(crate) can_stop: bool,
}

/// Who uses what is provided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum User {
    /// One of our workers: it needs files that hold our contents.
    Worker,
    /// A reference tool.
    Tool,
}

/// What a launch is given.
#[derive(Clone, Debug, Default)]
pub(crate) struct Provided {
    /// The file of a disk benchmark.
    pub(crate) file: Option<HeldFile>,
    /// The two ends of a network benchmark.
    pub(crate) ends: Option<Ends>,
}

/// What is no longer needed.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Release<'a> {
    /// Everything: the area is done.
    All,
    /// The contents of this file: a tool has overwritten it.
    Contents(&'a HeldFile),
}

/// What an engine keeps for as long as a run lasts.
pub(crate) trait RunResources {
    /// How launches are scheduled.
    fn scheduling(&self) -> Scheduling {
        Scheduling::default()
    }

    /// What is expected of the next launch.
    fn forecast(&self, _next: NextLaunch<'_>) -> Forecast {
        Forecast::default()
    }

    /// Learns from the last sample of a benchmark.
    fn learn(&mut self, _planned: &Planned, _last: &Repetition) {}

    /// What the next launch needs; created if it is not there yet, and noted in the journal first.
    ///
    /// # Errors
    /// Why it cannot be provided, in one sentence.
    fn provide(&mut self, planned: &Planned, user: User, will_make: WillMake<'_>) -> Result<Provided, String>;

    /// Gives back what is no longer needed.
    fn release(&mut self, _what: Release<'_>) {}
}
