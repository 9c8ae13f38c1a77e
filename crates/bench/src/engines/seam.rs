//! The seam between the worker and the engines. Clock, warm-up, repetition, interleaving and the stop rule are not theirs.

use model::experiment::{Area, AreaParams, Experiment};
use model::sample::MetricName;
use model::unit::{Better, Unit};
use model::wire::{Observations, Task};
use sys::clock::Timer;

use super::tally::{Tally, Window};

pub(crate) trait Engine: Sync {
    fn area(&self) -> Area;

    /// Prepares what all threads of a process run need, before there are any.
    fn prepare(&self, _task: &Task, _launch: &mut dyn Preparing) -> Result<(), Trouble> {
        Ok(())
    }

    /// Prepares one thread's part of a benchmark, untimed; called on that thread, which is pinned.
    fn open(&self, task: &Task, thread: usize) -> Result<Opened, Trouble>;

    /// The intended placement of threads and buffers, given the memory nodes of the threads.
    fn placement(&self, _task: &Task, of_threads: Vec<u32>) -> Placement {
        Placement { keeps_ticks: false, homes: of_threads }
    }

    /// The server of a benchmark between two processes, until the benchmark ends. Reports first where it listens.
    fn peer(&self, task: &Task, _launch: &mut dyn Preparing) -> Result<(), Trouble> {
        Err(Trouble::Failed(format!("'{}' has no server", task.experiment.id)))
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Placement {
    /// Whether the kernel keeps its tick on the CPUs of the threads, which sleep for each operation.
    pub(crate) keeps_ticks: bool,
    /// The memory nodes of equal shares of the buffers.
    pub(crate) homes: Vec<u32>,
}

/// What a process run reports while it prepares.
pub(crate) trait Preparing {
    fn progress(&mut self, done: f64);

    fn listening(&mut self, address: &str);
}

/// One thread's part, by how it is timed.
pub(crate) enum Opened {
    Paced(Box<dyn Trial>),
    /// Operations that take their own time: requests to a device, messages to another process.
    Flow(Box<dyn Flow>),
    /// A piece of work that all threads do together, and a loop, in registers alone, of the instructions that bound it.
    Job {
        job: Box<dyn Job>,
        bound: Box<dyn Trial>,
    },
}

/// One thread's part of a piece of work that all threads do together: once for each sample, from beginning to end.
pub(crate) trait Job {
    fn profile(&self) -> JobProfile;

    /// Generates its data again, with the other threads. Not timed.
    fn prepare(&mut self) -> Result<(), String>;

    /// Does it, timed: no allocation, no lock, no system call. Calls `look` every few milliseconds, between pieces of the work.
    fn run(&mut self, look: &mut dyn FnMut()) -> Result<(), String>;

    fn verify(&mut self) -> Result<Residuals, String>;

    /// Adds its own observations; called once, at the end, on one thread.
    fn conclude(&mut self, background: &[BackgroundJob], seen: &mut Observations);
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct JobProfile {
    pub(crate) unit: Unit,
    /// By all threads together.
    pub(crate) work: f64,
    /// Whether the threads of a library do the work: CPU time is then that of the whole process.
    pub(crate) works_elsewhere: bool,
}

/// How far a result is from the exact one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Residuals {
    /// In multiples of what rounding explains.
    pub(crate) scaled: f64,
    /// Unscaled, where that is known.
    pub(crate) raw: Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct BackgroundJob {
    /// Rate of the bounding loop on all threads just before, in the unit of the job's rate.
    pub(crate) bound_rate: f64,
    /// The clock under that loop, as a mean of the threads.
    pub(crate) bound_clock_hz: f64,
    pub(crate) prepare_seconds: f64,
    pub(crate) verify_seconds: f64,
}

/// One thread's part of a benchmark whose operations wait: it notes each operation that ends in a window of time.
pub(crate) trait Flow {
    fn profile(&self) -> FlowProfile;

    /// Prepares the next window, while no thread is in one. Not timed.
    fn prepare(&mut self, _next: NextWindow) -> Result<(), String> {
        Ok(())
    }

    /// Works from now until the window has passed. Operations that end before it begins are warm-up; those that end after
    /// it are waited for and not counted. In a window without an end it does its share of the task's work, and notes in the
    /// tally when that was done. Allocates nothing inside the window.
    fn run(&mut self, timer: &Timer, window: Window, tally: &mut Tally) -> Result<(), String>;

    /// Checks what was done since the last check, as far as `run` has not. Not timed.
    fn verify(&mut self) -> Result<Verified, String>;

    fn conclude(&mut self, seen: &mut Observations);
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NextWindow {
    Any,
    FirstSample,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verified {
    GoesOn,
    /// The budget is used up: no other window is to begin, as if the time were over.
    HasDoneEnough,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FlowProfile {
    pub(crate) metrics: &'static [FlowMetric],
    /// How long before a window it starts, in microseconds.
    pub(crate) lead_microseconds: u32,
    /// Whether operations in flight at the end of a window are waited for, however long that takes. A window is then at least
    /// as long as that of the window before: otherwise a slow device is waited for more than it is measured.
    pub(crate) drains: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FlowMetric {
    Bytes,
    Requests,
    /// As operations per second.
    RoundTrips,
    Latency,
    /// The same, where this many operations are timed together and noted as one.
    LatencyOf(u32),
    Up,
    Down,
    CpuCost,
    Retransmits,
    Loss,
    /// Share of the datagrams that arrived again.
    Duplicates,
    /// Share of the datagrams that arrived after a later one.
    Reordered,
    Jitter,
}

impl FlowMetric {
    pub(crate) fn metric(self) -> (MetricName, Unit, Better) {
        match self {
            Self::Bytes => (MetricName::Throughput, Unit::BytePerSecond, Better::Higher),
            Self::Requests => (MetricName::Iops, Unit::PerSecond, Better::Higher),
            Self::RoundTrips => (MetricName::Throughput, Unit::OpPerSecond, Better::Higher),
            Self::Latency | Self::LatencyOf(_) => (MetricName::Latency, Unit::Second, Better::Lower),
            Self::Up => (MetricName::ThroughputUp, Unit::BytePerSecond, Better::Higher),
            Self::Down => (MetricName::ThroughputDown, Unit::BytePerSecond, Better::Higher),
            Self::CpuCost => (MetricName::CpuCost, Unit::SecondPerByte, Better::Lower),
            Self::Retransmits => (MetricName::Retransmits, Unit::One, Better::Lower),
            Self::Loss => (MetricName::Loss, Unit::One, Better::Lower),
            Self::Duplicates => (MetricName::Duplicates, Unit::One, Better::Lower),
            Self::Reordered => (MetricName::Reordered, Unit::One, Better::Lower),
            Self::Jitter => (MetricName::Jitter, Unit::Second, Better::Lower),
        }
    }
}

/// One thread's part of a benchmark that is a loop.
pub(crate) trait Trial {
    fn profile(&self) -> Profile;

    /// Does this many iterations. This, and nothing else, is timed: no allocation, no lock, no system call.
    fn run(&mut self, iterations: u64);

    /// Checks everything done since the last check, and prepares the next. Not timed.
    fn verify(&mut self) -> Result<(), String>;

    fn means(&self) -> Means {
        Means::default()
    }

    /// Does this many iterations of the variant of its loop that a chain of dependent instructions paces.
    fn run_paced(&mut self, _iterations: u64) {}
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Means {
    /// Share of its buffers in pages of the requested size.
    pub(crate) pages_obtained: Option<f64>,
    /// Seconds to generate the position of an access, which the time of the access contains.
    pub(crate) order_seconds: Option<f64>,
    /// The C library whose function it measures.
    pub(crate) c_library: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Profile {
    pub(crate) measure: Measure,
    /// Work of one iteration, in the measure's terms: flop, op, bytes, or operations of a latency.
    pub(crate) work_per_iteration: f64,
    /// Most iterations between two checks.
    pub(crate) most_iterations: u64,
    /// Whether clock chains run between bursts, and so show the clock under this load, or only before and after a sample.
    pub(crate) clock_between_bursts: bool,
    /// Cycles per iteration of a variant of its loop that a chain of dependent instructions paces, to measure the clock.
    pub(crate) paced_cycles: Option<f64>,
}

impl Profile {
    /// The profile of a loop whose clock is measured before and after each sample.
    pub(crate) fn unpaced(measure: Measure, work_per_iteration: f64) -> Self {
        let most_iterations = u64::MAX / 1024;
        Self { measure, work_per_iteration, most_iterations, clock_between_bursts: false, paced_cycles: None }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Measure {
    Rate(Unit),
    Latency,
    /// Bytes per second over all threads, and the seconds of a thread's access to this many bytes.
    Accesses(u64),
    /// Seconds per operation of the first thread, and the bytes per second of all other threads.
    Loaded,
}

impl Measure {
    pub(crate) fn metric(self) -> (MetricName, Unit, Better) {
        match self {
            Self::Rate(unit) => (MetricName::Throughput, unit, Better::Higher),
            Self::Accesses(_) => (MetricName::Throughput, Unit::BytePerSecond, Better::Higher),
            Self::Latency | Self::Loaded => (MetricName::Latency, Unit::Second, Better::Lower),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Trouble {
    /// This machine cannot do it; the benchmark is skipped.
    #[error("{0}")]
    Unavailable(String),
    /// Something went wrong; the benchmark has failed.
    #[error("{0}")]
    Failed(String),
}

/// The parameters of a task, which must be of their area.
pub(crate) fn params_of<P: AreaParams>(task: &Task, of: fn(&Experiment) -> Option<&P>) -> Result<&P, Trouble> {
    let other = || Trouble::Failed(format!("'{}' is not a {} benchmark", task.experiment.id, P::AREA));
    of(&task.experiment).ok_or_else(other)
}
