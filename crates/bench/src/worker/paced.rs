//! One thread of a launch whose trial runs in bursts: warm-up, and samples together with the other threads.

use std::sync::atomic::Ordering;

use model::wire::Message;
use sys::clock::monotonic_raw_seconds;
use sys::cycles::CycleCounter;
use sys::team::Gate;
use sys::usage::ThreadUsage;

use super::clock_probe::ClockProbe;
use super::launch::{Ended, HEARING, Launch, START_DELAY_SECONDS, ThreadReport, another_failed, lock, remote_pages};
use super::observe::Observer;
use super::pacing::{Extent, Pacer, Steadiness};
use crate::engines::{Trial, Trouble};

/// The part of a thread whose trial runs in bursts.
pub(super) fn run(
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
    let means = trial.means();
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
        pages_obtained: means.pages_obtained,
        order_seconds: means.order_seconds,
        c_library: means.c_library,
        start_spread_seconds,
        watched,
        ..ThreadReport::default()
    })
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
