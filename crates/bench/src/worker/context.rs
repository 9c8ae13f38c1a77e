//! State shared by the threads of a process run, their reports, and messages to the runner.

use std::io::Write;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use model::wire::{Message, Observations, Task};
use sys::clock::{Timer, monotonic_raw_seconds};
use sys::team::Gate;
use sys::usage::ThreadUsage;

use super::flow_record::FlowRecord;
use super::record::{self, JobRecord, Record};
use super::slices;
use crate::engines::{Engine, Profile, Trouble};
use crate::locks::lock;

/// Lead time of a common start: a clock look, then all threads spin.
pub(super) const START_DELAY_SECONDS: f64 = 200e-6;
/// Pause after a sample, so that the runner stores it before the next one.
pub(super) const HEARING: std::time::Duration = std::time::Duration::from_millis(1);

pub(super) struct RunContext<'a> {
    pub(super) task: &'a Task,
    pub(super) engine: &'static dyn Engine,
    pub(super) timer: Timer,
    pub(super) steady: Vec<AtomicBool>,
    /// Enough samples, even if more were requested.
    pub(super) over: AtomicBool,
    /// The time has ended, as seen by the first thread.
    pub(super) late: AtomicBool,
    pub(super) drained_microseconds: AtomicU64,
    /// Longest median latency of a drained window.
    pub(super) turn_microseconds: AtomicU64,
    /// Operations of all threads in the current and the neighbouring warm-up slice.
    pub(super) slice_operations: [AtomicU64; 2],
    began: f64,
    pub(super) records: Mutex<Vec<Option<Record>>>,
    pub(super) flows: Mutex<Vec<Option<FlowRecord>>>,
    pub(super) jobs: Mutex<Vec<Option<JobRecord>>>,
    output: Mutex<&'a mut (dyn Write + Send)>,
    /// The intended node of each equal share of the buffers.
    homes: Option<Vec<u32>>,
}

/// Why a thread ended early; `None`: another thread failed.
pub(super) type EarlyEnd = Option<Trouble>;

#[expect(clippy::unnecessary_wraps, reason = "every step of a thread ends early with this type")]
pub(super) fn failed(reason: String) -> EarlyEnd {
    Some(Trouble::Failed(reason))
}

/// One thread of a process run, and where it meets the others.
#[derive(Clone, Copy)]
pub(super) struct Member<'a, 'run> {
    pub(super) context: &'a RunContext<'run>,
    pub(super) thread: usize,
    pub(super) gate: &'a Gate,
}

impl Member<'_, '_> {
    pub(super) fn is_first(self) -> bool {
        self.thread == 0
    }

    pub(super) fn meet(self) -> Result<(), EarlyEnd> {
        self.start_in(0.0).map(drop)
    }

    /// Meets the other threads; returns when all start, this many seconds from now.
    pub(super) fn start_in(self, seconds: f64) -> Result<u64, EarlyEnd> {
        self.gate.meet(&self.context.timer, seconds).map_err(|_| None)
    }

    /// Share of remote pages while all buffers exist; the first thread measures for the process.
    pub(super) fn remote_pages(self) -> Result<Option<f64>, EarlyEnd> {
        let Some(homes) = &self.context.homes else { return Ok(None) };
        let bytes = self.is_first().then(|| machine::bytes_by_node(&machine::Sysroot::host())).flatten();
        let share = bytes.and_then(|bytes| machine::away_share(&bytes, homes));
        self.meet().map(|()| share)
    }
}

impl<'a> RunContext<'a> {
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
            homes: nodes_of(&task.cpus).map(|of_threads| engine.placement(task, of_threads).homes),
        }
    }

    /// A thread's observations with its counters of the timed part, and whether it is where it was pinned.
    pub(super) fn counted(&self, thread: usize, used: ThreadUsage, seconds: f64, seen: Observations) -> Observations {
        let share = (!seen.waiting && seconds > 0.0).then(|| used.cpu_seconds / seconds);
        Observations {
            timed_seconds: seconds,
            cpu_seconds: used.cpu_seconds,
            least_cpu_share: share,
            involuntary_switches: used.involuntary_switches,
            page_faults: used.page_faults,
            migrated_threads: u32::from(!sys::affinity::is_pinned_to(self.task.cpus[thread])),
            ..seen
        }
    }

    /// Updates `late`; doing enough counts, too.
    pub(super) fn look_at_the_time(&self, enough: bool) {
        let now = monotonic_raw_seconds();
        let late = enough
            || self.task.most_seconds.is_some_and(|most| now - self.began >= most)
            || self.task.ends_at.is_some_and(|end| now >= end);
        self.late.store(late, Ordering::Release);
    }

    pub(super) fn send(&self, message: &Message) -> Result<(), EarlyEnd> {
        say(&mut **lock(&self.output), message)
            .map_err(|error| failed(format!("the runner closed the connection: {error}")))
    }

    pub(super) fn send_sample(&self, profile: Profile) -> Result<Option<f64>, EarlyEnd> {
        let records: Vec<Record> = lock(&self.records).iter_mut().filter_map(Option::take).collect();
        let mut metrics = record::combine(&records, profile, &self.timer, self.task);
        slices::note(&mut metrics, &records, profile.measure);
        self.send(&Message::Sample { metrics, histogram: None })?;
        Ok(record::start_spread_seconds(&records))
    }
}

pub(super) fn say(output: &mut (dyn Write + Send), message: &Message) -> std::io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    output.write_all(&line)?;
    output.flush()
}

/// The nodes of these CPUs; `None` with one node, or if they are unknown.
fn nodes_of(cpus: &[u32]) -> Option<Vec<u32>> {
    let nodes = machine::nodes_of(&machine::Sysroot::host());
    let node_of = |cpu: &u32| nodes.iter().find(|(_, cpus)| cpus.contains(cpu)).map(|(node, _)| *node);
    (nodes.len() > 1).then(|| cpus.iter().map(node_of).collect::<Option<Vec<u32>>>()).flatten()
}
