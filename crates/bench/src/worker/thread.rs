//! One thread of a launch: prepare, warm up, take samples with the others, and say what was seen.

use std::io::Write;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use model::wire::{Message, Observations, Task};
use sys::clock::{Timer, monotonic_raw_seconds};
use sys::cycles::CycleCounter;
use sys::team::{Broken, Gate};
use sys::usage::ThreadUsage;

use super::clock_probe::ClockProbe;
use super::flow::{self, FlowRecord};
use super::job::{self, JobRecord};
use super::observe::{Nodes, Observer, Watched};
use super::pacing::{Extent, Pacer, Steadiness};
use super::record::{self, Record};
use super::{lock, say};
use crate::engine::{Engine, Opened, Profile, Trial, Trouble};

/// Threads meet this long before a common start: time for a look at the clock, after which all of them spin.
pub(super) const START_DELAY_SECONDS: f64 = 200e-6;

/// After a sample the runner is given this long, and a CPU, to hear of it and to write it down: it shall not do so in
/// the next one.
pub(super) const HEARING: std::time::Duration = std::time::Duration::from_millis(1);

/// What all threads of a launch share.
pub(super) struct Launch<'a> {
    pub(super) task: &'a Task,
    engine: &'static dyn Engine,
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
    records: Mutex<Vec<Option<Record>>>,
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
            nodes: Nodes::of(&task.cpus, |of_threads| engine.homes(task, of_threads)),
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
    fn tell_sample(&self, profile: Profile) -> Result<Option<f64>, Ended> {
        let records: Vec<Record> = lock(&self.records).iter_mut().filter_map(Option::take).collect();
        let metrics = record::combine(&records, profile, &self.timer, self.task);
        self.tell(&Message::Sample { metrics, histogram: None })?;
        Ok(record::start_spread_seconds(&records))
    }
}

/// Runs one thread's part from preparation to the last check.
pub(super) fn run(launch: &Launch, thread: usize, gate: &Gate) -> Result<ThreadReport, Ended> {
    let began = monotonic_raw_seconds();
    match launch.engine.open(launch.task, thread).map_err(Some)? {
        Opened::Paced(trial) => paced(launch, thread, gate, trial, began),
        Opened::Flow(flow) => flow::run(launch, thread, gate, flow, began),
        Opened::Job { job, bound } => job::run(launch, thread, gate, job::Parts { job, bound }, began),
    }
}

/// The part of a thread whose trial runs in bursts.
fn paced(
    launch: &Launch,
    thread: usize,
    gate: &Gate,
    mut trial: Box<dyn Trial>,
    began: f64,
) -> Result<ThreadReport, Ended> {
    let failed = |reason| Some(Trouble::Failed(reason));
    let profile = trial.profile();
    let probe = ClockProbe::new(launch.timer, launch.task.imul_cycles);
    let threads = launch.task.cpus.len() as f64;
    let extent = launch.task.exact_work.map(|work| Extent::Work(work / threads));
    let extent = extent.unwrap_or(Extent::Seconds(launch.task.sample_seconds));
    let mut pacer = Pacer::new(launch.timer, probe, CycleCounter::open(), profile, extent);
    pacer.calibrate(trial.as_mut()).map_err(failed)?;
    let setup_seconds = monotonic_raw_seconds() - began;
    let (warm_up_seconds, warm_up_change) = warm_up(launch, thread, gate, &mut pacer, trial.as_mut())?;
    pacer.calibrate(trial.as_mut()).map_err(failed)?;
    if thread == 0 {
        launch.tell(&Message::Ready)?;
    }

    let mut observer = (thread == 0).then(|| Observer::begin(&launch.task.cpus));
    let (mut used, mut timed_seconds, mut gap_seconds) = (ThreadUsage::default(), 0.0, 0.0);
    let mut start_spread_seconds = None;
    for _ in 0..launch.task.samples {
        let start = gate.meet(&launch.timer, START_DELAY_SECONDS).map_err(another_failed)?;
        let (record, used_here) = pacer.sample(trial.as_mut(), start).map_err(failed)?;
        used = used.plus(used_here);
        timed_seconds += record.elapsed_seconds();
        gap_seconds += record.gap_seconds();
        lock(&launch.records)[thread] = Some(record);
        gate.meet(&launch.timer, 0.0).map_err(another_failed)?;
        if thread == 0 {
            let spread = launch.tell_sample(profile)?;
            start_spread_seconds = [start_spread_seconds, spread].into_iter().flatten().reduce(f64::max);
            std::thread::sleep(HEARING);
        }
    }
    let watched = observer.take().map(Observer::end);
    Ok(ThreadReport {
        migrated: !sys::affinity::is_pinned_to(launch.task.cpus[thread]),
        remote_pages: remote_pages(launch, thread, gate)?,
        setup_seconds,
        warm_up_seconds,
        warm_up_change,
        timed_seconds,
        gap_seconds,
        used,
        ops_per_cycle: pacer.take_ops_per_cycle(),
        clock_disagreement: pacer.take_clock_disagreement(),
        cycle_counter: pacer.has_cycle_counter(),
        paced_clock: pacer.has_paced_clock(),
        pages_obtained: trial.pages_obtained(),
        order_seconds: trial.order_seconds(),
        c_library: trial.c_library(),
        start_spread_seconds,
        watched,
        ..ThreadReport::default()
    })
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

/// Warms up all threads together, slice by slice, until every thread's rate has settled or the time is up. Returns the
/// seconds it took and the last relative change of this thread's rate.
pub(super) fn warm_up(
    launch: &Launch,
    thread: usize,
    gate: &Gate,
    pacer: &mut Pacer,
    trial: &mut dyn Trial,
) -> Result<(f64, Option<f64>), Ended> {
    let [least, most] = launch.task.warm_up_seconds;
    let mut steadiness = Steadiness::default();
    let mut first = None;
    loop {
        let start = gate.meet(&launch.timer, START_DELAY_SECONDS).map_err(another_failed)?;
        let passed = launch.timer.seconds(*first.get_or_insert(start), start);
        // Every thread sees the same start and, between two meetings, the same answers: all leave in the same round.
        let all_steady = launch.steady.iter().all(|steady| steady.load(Ordering::Acquire));
        if passed >= most || passed >= least && all_steady {
            return Ok((passed, steadiness.change()));
        }
        gate.meet(&launch.timer, 0.0).map_err(another_failed)?;
        let rate = pacer.slice(trial, launch.timer.now()).map_err(|reason| Some(Trouble::Failed(reason)))?;
        launch.steady[thread].store(steadiness.settled_with(rate), Ordering::Release);
    }
}
