//! One thread of a process run that works in bursts: warm-up and samples.

use std::sync::atomic::Ordering;

use model::wire::{Message, Observations};
use sys::clock::monotonic_raw_seconds;
use sys::cycles::CycleCounter;
use sys::usage::ThreadUsage;

use super::clock_probe::ClockProbe;
use super::context::{EarlyEnd, HEARING, Member, START_DELAY_SECONDS, failed};
use super::observe::Observer;
use super::pacing::{Extent, Pacer, STEADY, Steadiness};
use crate::engines::Trial;
use crate::locks::lock;

pub(super) fn run(member: Member<'_, '_>, mut trial: Box<dyn Trial>, began: f64) -> Result<Observations, EarlyEnd> {
    let Member { context, thread, .. } = member;
    let profile = trial.profile();
    let probe = ClockProbe::new(context.timer, context.task.imul_cycles);
    let threads = context.task.cpus.len() as f64;
    let extent = context.task.exact_work.map(|work| Extent::Work(work / threads));
    let extent = extent.unwrap_or(Extent::Seconds(context.task.sample_seconds));
    let mut pacer = Pacer::new(context.timer, probe, CycleCounter::open(), profile, extent);
    let begun = begin(member, &mut pacer, trial.as_mut(), began)?;

    let observer = Observer::begin(member);
    let (mut used, mut timed_seconds, mut gap_seconds) = (ThreadUsage::default(), 0.0, 0.0);
    let mut start_spread_seconds = None;
    for _ in 0..context.task.samples {
        let start = member.start_in(START_DELAY_SECONDS)?;
        let (record, used_here) = pacer.sample(trial.as_mut(), start).map_err(failed)?;
        used = used.plus(used_here);
        timed_seconds += record.elapsed_seconds();
        gap_seconds += record.gap_seconds;
        lock(&context.records)[thread] = Some(record);
        member.meet()?;
        if member.is_first() {
            let spread = context.send_sample(profile)?;
            start_spread_seconds = [start_spread_seconds, spread].into_iter().flatten().reduce(f64::max);
            std::thread::sleep(HEARING);
        }
    }
    let seen = pacer.report(begun);
    let seen = if let Some(observer) = observer { observer.end(seen) } else { seen };
    let means = trial.means();
    let seen = Observations {
        remote_pages: member.remote_pages()?,
        gap_seconds,
        pages_obtained: means.pages_obtained,
        order_seconds: means.order_seconds,
        c_library: means.c_library,
        start_spread_seconds,
        ..seen
    };
    Ok(context.counted(thread, used, timed_seconds, seen))
}

pub(super) fn begin(
    member: Member<'_, '_>,
    pacer: &mut Pacer,
    trial: &mut dyn Trial,
    began: f64,
) -> Result<Observations, EarlyEnd> {
    pacer.calibrate(trial).map_err(failed)?;
    let setup_seconds = monotonic_raw_seconds() - began;
    let (warm_up_seconds, warm_up_change) = warm_up(member, pacer, trial)?;
    pacer.calibrate(trial).map_err(failed)?;
    if member.is_first() {
        member.context.send(&Message::Ready)?;
    }
    Ok(Observations { setup_seconds, warm_up_seconds, warm_up_change, ..Observations::default() })
}

/// Warms up all threads in slices until every rate is steady or the time is up. Returns the seconds and the last change.
fn warm_up(member: Member<'_, '_>, pacer: &mut Pacer, trial: &mut dyn Trial) -> Result<(f64, Option<f64>), EarlyEnd> {
    let context = member.context;
    let [least, most] = context.task.warm_up_seconds;
    let mut steadiness = Steadiness::within(STEADY);
    let mut first = None;
    loop {
        let start = member.start_in(START_DELAY_SECONDS)?;
        let passed = context.timer.seconds(*first.get_or_insert(start), start);
        // Between two meetings all threads see the same answers, so they leave together.
        let all_steady = context.steady.iter().all(|steady| steady.load(Ordering::Acquire));
        if passed >= most || passed >= least && all_steady {
            return Ok((passed, steadiness.change));
        }
        member.meet()?;
        let rate = pacer.slice(trial, context.timer.now()).map_err(failed)?;
        context.steady[member.thread].store(steadiness.settled_with(rate), Ordering::Release);
    }
}
