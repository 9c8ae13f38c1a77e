//! The seam between the worker and the engines: what an engine opens, how that is timed, and what it reports.
//!
//! The clock, warm-up, repetition, interleaving and the stop rule belong to the worker and the runner, so that no engine
//! can get them wrong.

use model::experiment::Area;
use model::sample::MetricName;
use model::unit::{Better, Unit};
use model::wire::{Observations, Task};
use sys::clock::Timer;

use super::tally::{Tally, Window};

/// What can measure one area.
pub(crate) trait Engine: Sync {
    /// The area.
    fn area(&self) -> Area;

    /// Prepares what all threads of a launch need, before there are any; `progress` is told the share that is done.
    ///
    /// # Errors
    /// Why it cannot be done: [`Trouble`].
    fn prepare(&self, _task: &Task, _launch: &mut dyn Preparing) -> Result<(), Trouble> {
        Ok(())
    }

    /// Prepares one thread's part of an experiment; called on that thread, pinned already. Nothing of it is timed.
    ///
    /// # Errors
    /// Why it cannot be done: [`Trouble`].
    fn open(&self, task: &Task, thread: usize) -> Result<Opened, Trouble>;

    /// Where its threads and buffers are meant to be, given the memory nodes of the threads.
    fn placement(&self, _task: &Task, of_threads: Vec<u32>) -> Placement {
        Placement { keeps_ticks: false, homes: of_threads }
    }

    /// The part of the other end of an experiment between two processes, until that experiment is over. Says first where
    /// it listens.
    ///
    /// # Errors
    /// Why it cannot be done: [`Trouble`].
    fn peer(&self, task: &Task, _launch: &mut dyn Preparing) -> Result<(), Trouble> {
        Err(Trouble::Failed(format!("'{}' has no other end", task.experiment.id)))
    }
}

/// Where the threads and buffers of a launch are meant to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Placement {
    /// Whether the kernel's tick is kept on the CPUs of the threads while they work, as they sleep for each operation.
    pub(crate) keeps_ticks: bool,
    /// The memory nodes of the buffers, one for each of as many equal shares of them.
    pub(crate) homes: Vec<u32>,
}

/// What a launch can say while it prepares.
pub(crate) trait Preparing {
    /// Still at it: this share is done.
    fn progress(&mut self, done: f64);

    /// The other end can connect to this address.
    fn listening(&mut self, address: &str);
}

/// One thread's part, by who keeps the time.
pub(crate) enum Opened {
    /// A loop that is run in short bursts of so many iterations.
    Paced(Box<dyn Trial>),
    /// Operations that take their own time: requests to a device, messages to another process.
    Flow(Box<dyn Flow>),
    /// A piece of work that all threads do together, and a loop of the instructions that bound it.
    Job {
        /// This thread's part of it.
        job: Box<dyn Job>,
        /// The loop, in registers alone.
        bound: Box<dyn Trial>,
    },
}

/// One thread's part of a piece of work that all threads of a launch do together: once for each sample, from beginning to
/// end, however long it takes.
///
/// Just before it the threads run a loop of the instructions that bound it, for some milliseconds: what that reached, and
/// at which clock, stands beside the sample.
pub(crate) trait Job {
    /// What is worth knowing before it is run.
    fn profile(&self) -> JobProfile;

    /// Makes its data anew, with the other threads. Not timed.
    ///
    /// # Errors
    /// What cannot be done.
    fn prepare(&mut self) -> Result<(), String>;

    /// Does it, with the other threads. This is timed: no allocation, no lock, no system call. Calls `look` every few
    /// milliseconds, between two pieces of the work.
    ///
    /// # Errors
    /// What went wrong.
    fn run(&mut self, look: &mut dyn FnMut()) -> Result<(), String>;

    /// Checks the result, with the other threads. Not timed.
    ///
    /// # Errors
    /// What is wrong with it.
    fn verify(&mut self) -> Result<Residuals, String>;

    /// Adds what only it knows to what the launch has seen; called once, at the end, on the thread that was told what
    /// stood beside the samples.
    fn conclude(&mut self, beside: &[BesideJob], seen: &mut Observations);
}

/// How a job is counted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct JobProfile {
    /// The unit of its rate.
    pub(crate) unit: Unit,
    /// Its work, by all threads together.
    pub(crate) work: f64,
    /// Whether other threads of the process than the launch's do the work: what it takes is then counted of them all.
    pub(crate) works_elsewhere: bool,
}

/// How far a result is from an exact one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Residuals {
    /// In multiples of what rounding explains.
    pub(crate) scaled: f64,
    /// As it is; `None` where only its share of what rounding explains is known.
    pub(crate) raw: Option<f64>,
}

/// What stood beside one sample of a job.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct BesideJob {
    /// What the loop that bounds it reached on all threads just before, in the unit of its rate.
    pub(crate) bound_rate: f64,
    /// The clock under that loop, as a mean of the threads, in Hz.
    pub(crate) bound_clock_hz: f64,
    /// Seconds in which its data was made.
    pub(crate) prepare_seconds: f64,
    /// Seconds in which its result was checked.
    pub(crate) verify_seconds: f64,
}

/// One thread's part of an experiment whose operations wait for something: it works through a window of time and notes
/// each operation that ends inside.
pub(crate) trait Flow {
    /// What is worth knowing before it is run.
    fn profile(&self) -> FlowProfile;

    /// Makes ready for the next window, while no thread is in one. Not timed. What was noted before the first sample was
    /// warm-up.
    ///
    /// # Errors
    /// What cannot be done.
    fn prepare(&mut self, _next: NextWindow) -> Result<(), String> {
        Ok(())
    }

    /// Works from now until the window has passed. What ends before it begins is warm-up (queues fill, the other end
    /// gets going); what ends after it is waited for and not counted. In a window without an end it does its share of
    /// the task's work. Who has nothing left to do ends earlier, and tells the tally when. Allocates nothing inside the
    /// window.
    ///
    /// # Errors
    /// What went wrong: an operation that failed, a wrong result, the other end gone.
    fn run(&mut self, timer: &Timer, window: Window, tally: &mut Tally) -> Result<(), String>;

    /// Checks what was done since the last check, as far as `run` has not. Not timed.
    ///
    /// # Errors
    /// What is wrong with the results.
    fn verify(&mut self) -> Result<Verified, String>;

    /// Adds what only it knows to what the launch has seen; called once, at the end.
    fn conclude(&mut self, seen: &mut Observations);
}

/// The window that a flow makes ready for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NextWindow {
    /// Warm-up, or a sample after the first one.
    Any,
    /// The first sample.
    FirstSample,
}

/// What a check of a flow has found besides that the results are right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verified {
    /// Another window may begin.
    GoesOn,
    /// No other window is to begin, since all that may be done was done: as if the time were over.
    HasDoneEnough,
}

/// How a flow wants to be run and counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FlowProfile {
    /// Its metrics, the headline first.
    pub(crate) metrics: &'static [FlowMetric],
    /// How long before a window it starts, in microseconds.
    pub(crate) lead_microseconds: u32,
    /// Whether what is in flight when a window ends is waited for, however long that takes. A window is then as long as
    /// the one before went on beyond its end: on a slow device there would be more waiting than measuring.
    pub(crate) drains: bool,
}

/// What can be told of a window of operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FlowMetric {
    /// Bytes per second.
    Bytes,
    /// Requests per second.
    Requests,
    /// Round trips per second, as operations.
    RoundTrips,
    /// Median seconds per operation.
    Latency,
    /// The same, where so many operations are timed together and noted as one.
    LatencyOf(u32),
    /// Of the bytes per second, those from the near end to the far one.
    Up,
    /// Of the bytes per second, those from the far end to the near one.
    Down,
    /// CPU seconds of both ends per byte.
    CpuCost,
    /// Segments sent again.
    Retransmits,
    /// Share of the datagrams that never came.
    Loss,
    /// Share of the datagrams that came once more.
    Duplicates,
    /// Share of the datagrams that came after a later one.
    Reordered,
    /// Interarrival jitter, in seconds.
    Jitter,
}

impl FlowMetric {
    /// The metric's name, unit and better direction.
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

    /// What it is run with.
    fn means(&self) -> Means {
        Means::default()
    }

    /// Does so many iterations of the variant of its loop that a chain of dependent instructions paces.
    fn run_paced(&mut self, _iterations: u64) {}
}

/// What a trial is run with; `None` of what does not apply.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Means {
    /// Share of its buffers in pages of the size asked for.
    pub(crate) pages_obtained: Option<f64>,
    /// Seconds that generating the place of a visit takes by itself, which the time of the visit contains.
    pub(crate) order_seconds: Option<f64>,
    /// The C library whose function it measures.
    pub(crate) c_library: Option<String>,
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
    /// Cycles per iteration of a variant of its loop that a chain of dependent instructions paces: it tells the clock
    /// under the loop's own load. `None` where there is no such variant.
    pub(crate) paced_cycles: Option<f64>,
}

/// What a trial's headline metric is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Measure {
    /// Work per second over all threads.
    Rate(Unit),
    /// Seconds per operation as one thread sees it.
    Latency,
    /// Bytes per second over all threads, and beside them the seconds that one visit to so many bytes takes a thread.
    Visits(u64),
    /// Seconds per operation of the first thread, and beside them the bytes per second of all others.
    Loaded,
}

impl Measure {
    /// The metric's name, unit and better direction.
    pub(crate) fn metric(self) -> (MetricName, Unit, Better) {
        match self {
            Self::Rate(unit) => (MetricName::Throughput, unit, Better::Higher),
            Self::Visits(_) => (MetricName::Throughput, Unit::BytePerSecond, Better::Higher),
            Self::Latency | Self::Loaded => (MetricName::Latency, Unit::Second, Better::Lower),
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
