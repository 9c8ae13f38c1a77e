//! One thread of a process run that works in bursts: warm-up and samples.

use std::sync::atomic::Ordering;

use model::wire::Message;
use sys::clock::monotonic_raw_seconds;
use sys::cycles::CycleCounter;
use sys::team::Gate;
use sys::usage::ThreadUsage;

use super::clock_probe::ClockProbe;
use super::launch::{EarlyEnd, HEARING, Launch, START_DELAY_SECONDS, ThreadReport, another_failed, lock, remote_pages};
use super::observe::Observer;
use super::pacing::{Extent, Pacer, Steadiness};
use crate::engines::{Trial, Trouble};

pub(super) fn run(
    launch: &Launch,
    thread: usize,
    gate: &Gate,
    mut trial: Box<dyn Trial>,
    began: f64,
) -> Result<ThreadReport, EarlyEnd> {
    let failed = |reason| Some(Trouble::Failed(reason));
    let profile = trial.profile();
    let probe = ClockProbe::new(launch.timer, launch.task.imul_cycles);
    let threads = launch.task.cpus.len() as f64;
    let extent = launch.task.exact_work.map(|work| Extent::Work(work / threads));
    let extent = extent.unwrap_or(Extent::Seconds(launch.task.sample_seconds));
    let mut pacer = Pacer::new(launch.timer, probe, CycleCounter::open(), profile, extent);
    let begun = begin(launch, thread, gate, &mut pacer, trial.as_mut(), began)?;

    let observer = (thread == 0).then(|| Observer::begin(&launch.task.cpus));
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
            let spread = launch.send_sample(profile)?;
            start_spread_seconds = [start_spread_seconds, spread].into_iter().flatten().reduce(f64::max);
            std::thread::sleep(HEARING);
        }
    }
    let watched = observer.map(Observer::end);
    let means = trial.means();
    Ok(ThreadReport {
        migrated: !sys::affinity::is_pinned_to(launch.task.cpus[thread]),
        remote_pages: remote_pages(launch, thread, gate)?,
        timed_seconds,
        gap_seconds,
        used,
        pages_obtained: means.pages_obtained,
        order_seconds: means.order_seconds,
        c_library: means.c_library,
        start_spread_seconds,
        watched,
        ..pacer.report(begun)
    })
}

/// Sizes the chunks and warms up; reports set-up and warm-up.
pub(super) fn begin(
    launch: &Launch,
    thread: usize,
    gate: &Gate,
    pacer: &mut Pacer,
    trial: &mut dyn Trial,
    began: f64,
) -> Result<ThreadReport, EarlyEnd> {
    let failed = |reason| Some(Trouble::Failed(reason));
    pacer.calibrate(trial).map_err(failed)?;
    let setup_seconds = monotonic_raw_seconds() - began;
    let (warm_up_seconds, warm_up_change) = warm_up(launch, thread, gate, pacer, trial)?;
    pacer.calibrate(trial).map_err(failed)?;
    if thread == 0 {
        launch.send(&Message::Ready)?;
    }
    Ok(ThreadReport { setup_seconds, warm_up_seconds, warm_up_change, ..ThreadReport::default() })
}

/// Warms up all threads in slices until every rate is steady or the time is up. Returns the seconds and the last change.
fn warm_up(
    launch: &Launch,
    thread: usize,
    gate: &Gate,
    pacer: &mut Pacer,
    trial: &mut dyn Trial,
) -> Result<(f64, Option<f64>), EarlyEnd> {
    let [least, most] = launch.task.warm_up_seconds;
    let mut steadiness = Steadiness::default();
    let mut first = None;
    loop {
        let start = gate.meet(&launch.timer, START_DELAY_SECONDS).map_err(another_failed)?;
        let passed = launch.timer.seconds(*first.get_or_insert(start), start);
        // Between two meetings all threads see the same answers, so they leave together.
        let all_steady = launch.steady.iter().all(|steady| steady.load(Ordering::Acquire));
        if passed >= most || passed >= least && all_steady {
            return Ok((passed, steadiness.change()));
        }
        gate.meet(&launch.timer, 0.0).map_err(another_failed)?;
        let rate = pacer.slice(trial, launch.timer.now()).map_err(|reason| Some(Trouble::Failed(reason)))?;
        launch.steady[thread].store(steadiness.settled_with(rate), Ordering::Release);
    }
}
