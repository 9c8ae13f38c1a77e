//! What the threads of a launch share, what each of them reports, and the lines that go to the runner.

use std::io::Write;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use model::wire::{Message, Observations, Task};
use sys::clock::{Timer, monotonic_raw_seconds};
use sys::team::{Broken, Gate};
use sys::usage::ThreadUsage;

use super::flow_record::FlowRecord;
use super::job_record::JobRecord;
use super::observe::{Nodes, Watched};
use super::record::{self, Record};
use crate::engines::{Engine, Profile, Trouble};

/// Threads meet this long before a common start: time for a look at the clock, after which all of them spin.
pub(super) const START_DELAY_SECONDS: f64 = 200e-6;

/// After a sample the runner is given this long, and a CPU, to hear of it and to write it down: it shall not do so in
/// the next one.
pub(super) const HEARING: std::time::Duration = std::time::Duration::from_millis(1);

/// What all threads of a launch share.
pub(super) struct Launch<'a> {
    pub(super) task: &'a Task,
    pub(super) engine: &'static dyn Engine,
    pub(super) timer: Timer,
    /// Whether each thread's rate has settled.
    pub(super) steady: Vec<AtomicBool>,
    /// Whether the launch has all the samples that it needs, although more were asked for.
    pub(super) over: AtomicBool,
    /// Whether the time of the launch is over; the first thread looks, and all go by what it has seen.
    pub(super) late: AtomicBool,
    /// The longest that any window so far went on beyond its end, in microseconds.
    pub(super) drained_microseconds: AtomicU64,
    /// The longest median of an operation in any window so far, in microseconds, where windows are drained.
    pub(super) turn_microseconds: AtomicU64,
    /// What all threads did in a slice of warm-up, and in the one before or after it.
    pub(super) slice_operations: [AtomicU64; 2],
    /// When the threads began, in seconds.
    began: f64,
    /// Each thread's record of the sample that has just been taken.
    pub(super) records: Mutex<Vec<Option<Record>>>,
    /// The same, where operations wait.
    pub(super) flows: Mutex<Vec<Option<FlowRecord>>>,
    /// The same, where a sample is a whole job.
    pub(super) jobs: Mutex<Vec<Option<JobRecord>>>,
    output: Mutex<&'a mut (dyn Write + Send)>,
    /// The memory nodes of the threads, where there are several.
    nodes: Option<Nodes>,
}

/// What one thread saw.
#[derive(Default)]
pub(super) struct ThreadReport {
    pub(super) setup_seconds: f64,
    pub(super) warm_up_seconds: f64,
    pub(super) warm_up_change: Option<f64>,
    pub(super) timed_seconds: f64,
    pub(super) gap_seconds: f64,
    pub(super) used: ThreadUsage,
    pub(super) ops_per_cycle: Vec<f64>,
    pub(super) clock_disagreement: Vec<f64>,
    pub(super) cycle_counter: bool,
    /// Whether the clock is that of a paced loop.
    pub(super) paced_clock: bool,
    pub(super) pages_obtained: Option<f64>,
    pub(super) order_seconds: Option<f64>,
    pub(super) c_library: Option<String>,
    /// The most that the threads' starts were apart in any sample; the first thread speaks for all.
    pub(super) start_spread_seconds: Option<f64>,
    /// Whether it was, at its end, elsewhere than it had been pinned.
    pub(super) migrated: bool,
    pub(super) remote_pages: Option<f64>,
    pub(super) watched: Option<Watched>,
    /// What a flow alone knows.
    pub(super) of_flow: Option<Box<Observations>>,
    /// What a job alone knows; the first thread speaks for all.
    pub(super) of_job: Option<Box<Observations>>,
}

/// Why a thread ended early: its own trouble, or `None` because another thread had some.
pub(super) type Ended = Option<Trouble>;

impl<'a> Launch<'a> {
    pub(super) fn new(
        task: &'a Task,
        engine: &'static dyn Engine,
        timer: Timer,
        output: &'a mut (dyn Write + Send),
    ) -> Self {
        let threads = task.cpus.len();
        Self {
            task,
            engine,
            timer,
            steady: (0..threads).map(|_| AtomicBool::new(false)).collect(),
            over: AtomicBool::new(false),
            late: AtomicBool::new(false),
            drained_microseconds: AtomicU64::new(0),
            turn_microseconds: AtomicU64::new(0),
            slice_operations: [AtomicU64::new(0), AtomicU64::new(0)],
            began: monotonic_raw_seconds(),
            records: Mutex::new(vec![None; threads]),
            flows: Mutex::new(vec![None; threads]),
            jobs: Mutex::new(vec![None; threads]),
            output: Mutex::new(output),
            nodes: Nodes::of(&task.cpus, |of_threads| engine.placement(task, of_threads).homes),
        }
    }

    /// Looks whether the time of the launch is over; so it is when enough was done.
    pub(super) fn look_at_the_time(&self, enough: bool) {
        let now = monotonic_raw_seconds();
        let late = enough
            || self.task.most_seconds.is_some_and(|most| now - self.began >= most)
            || self.task.ends_at.is_some_and(|end| now >= end);
        self.late.store(late, Ordering::Release);
    }

    pub(super) fn tell(&self, message: &Message) -> Result<(), Ended> {
        say(&mut **lock(&self.output), message)
            .map_err(|error| Some(Trouble::Failed(format!("nobody listens any more: {error}"))))
    }

    /// Reports the sample whose records all threads have left. Returns the spread of their starts, in seconds.
    pub(super) fn tell_sample(&self, profile: Profile) -> Result<Option<f64>, Ended> {
        let records: Vec<Record> = lock(&self.records).iter_mut().filter_map(Option::take).collect();
        let metrics = record::combine(&records, profile, &self.timer, self.task);
        self.tell(&Message::Sample { metrics, histogram: None })?;
        Ok(record::start_spread_seconds(&records))
    }
}

/// Where the buffers of all threads lie, while all are still there. One thread speaks for the process.
pub(super) fn remote_pages(launch: &Launch, thread: usize, gate: &Gate) -> Result<Option<f64>, Ended> {
    let Some(nodes) = &launch.nodes else { return Ok(None) };
    let share = (thread == 0).then(|| nodes.remote_pages()).flatten();
    gate.meet(&launch.timer, 0.0).map_err(another_failed)?;
    Ok(share)
}

pub(super) fn another_failed(_: Broken) -> Ended {
    None
}

/// Writes one message as one line and makes sure that it has left.
pub(super) fn say(output: &mut (dyn Write + Send), message: &Message) -> std::io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    output.write_all(&line)?;
    output.flush()
}

/// Locks even if another thread has panicked meanwhile: the data is plain, and the panic is reported on its own.
pub(super) fn lock<T: ?Sized>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
