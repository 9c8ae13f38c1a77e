//! One thread of a process run whose operations wait: windows of time instead of bursts.
//!
//! The flow keeps itself busy and counts what ends in the window. The core's clock is not measured.

use std::sync::atomic::{AtomicU64, Ordering};

use model::sample::Sample;
use model::wire::{Message, Observations};
use sys::clock::monotonic_raw_seconds;
use sys::usage::ThreadUsage;

use super::context::{EarlyEnd, HEARING, Member, RunContext, failed};
use super::flow_record::{FlowRecord, combine, merged};
use super::observe::Observer;
use super::pacing::{CHAINS, Extent, Steadiness};
use super::record::sample_from;
use crate::engines::{Flow, FlowMetric, FlowProfile, NextWindow, Tally, Trouble, Verified, Window};
use crate::locks::lock;

/// Length of a warm-up slice: some hundred operations of 1 ms.
const SLICE_SECONDS: f64 = 0.1;
/// Slices that differ by at most this are steady.
const STEADY: f64 = 0.05;
const ABOVE_GOAL: &str = "above_goal";
const LONGER: f64 = 4.0;
/// An empty window of this length fails the benchmark, unless the flow drains: then what it waits for is known.
const LONGEST_EMPTY_SECONDS: f64 = 2.0;
const LONGEST_DRAINED_SECONDS: f64 = 2.0;
/// Turnovers of the requests in flight in a window: devices complete them in bursts of up to all, so one is then 1/40.
const BURSTS: f64 = 40.0;
const LONGEST_FOR_BURSTS_SECONDS: f64 = 0.5;
/// The fractional part of the golden ratio: its multiples spread evenly (Knuth, "The Art of Computer Programming", vol. 3, 6.4).
const SPREADING: f64 = 0.618_033_988_749_895;
/// Longer windows are followed by a heartbeat for the runner.
const QUIET_SECONDS: f64 = 1.0;

struct Worked {
    tally: Tally,
    used: ThreadUsage,
    seconds: f64,
    next: NextWindow,
}

pub(super) fn run(member: Member<'_, '_>, mut flow: Box<dyn Flow>, began: f64) -> Result<Observations, EarlyEnd> {
    let context = member.context;
    let (tally, used) = (Tally::new(&context.timer), ThreadUsage::default());
    let mut worked = Worked { tally, used, seconds: 0.0, next: NextWindow::Any };
    let setup_seconds = monotonic_raw_seconds() - began;
    let (warm_up_seconds, warm_up_change) = warm_up(member, flow.as_mut(), &mut worked)?;
    worked.next = NextWindow::FirstSample;
    if member.is_first() {
        context.send(&Message::Ready)?;
    }
    let observer = Observer::begin(member);
    (worked.used, worked.seconds) = (ThreadUsage::default(), 0.0);
    let mut values = Vec::new();
    for sample in 0..context.task.samples {
        let late = sample > 0 && context.late.load(Ordering::Acquire);
        if late || context.over.load(Ordering::Acquire) {
            break;
        }
        take_sample(member, flow.as_mut(), &mut worked, f64::from(sample))?;
        if member.is_first() {
            values.extend(send_sample(context, flow.profile())?);
            let steady = || stats::steadiness(&values).is_some_and(|found| found.is_steady());
            context.over.store(context.task.until_steady && steady(), Ordering::Release);
            std::thread::sleep(HEARING);
        }
        if context.task.until_steady {
            member.meet()?;
        }
    }
    let watched = observer.map(|observer| observer.end(Observations::default())).unwrap_or_default();
    let clock_source = CHAINS.to_owned();
    let seen = Observations { setup_seconds, warm_up_seconds, warm_up_change, waiting: true, clock_source, ..watched };
    let mut seen = context.counted(member.thread, worked.used, worked.seconds, seen);
    flow.conclude(&mut seen);
    Ok(seen)
}

/// Takes one sample, whose records the first thread reports. A window in which a thread completed nothing is retried with a
/// longer one; with draining any thread's completion suffices. `sample` is its number.
fn take_sample(member: Member<'_, '_>, flow: &mut dyn Flow, worked: &mut Worked, sample: f64) -> Result<(), EarlyEnd> {
    let context = member.context;
    let drains = flow.profile().drains;
    let mut was_late = false;
    let mut seconds = context.task.sample_seconds;
    if drains && !context.task.until_steady {
        // Rounds that are compared must be equally long.
        let drained = longest(&context.drained_microseconds);
        let for_bursts = (BURSTS * longest(&context.turn_microseconds)).min(LONGEST_FOR_BURSTS_SECONDS);
        seconds = seconds.max(for_bursts).max(drained.min(LONGEST_DRAINED_SECONDS));
    }
    loop {
        let extent = context.task.exact_work.map_or(Extent::Seconds(seconds), Extent::Work);
        // Requests start together, so windows at the same offset would cut their bursts at the same place.
        let turn = longest(&context.turn_microseconds).min(SLICE_SECONDS);
        let phase = if drains { turn * (sample * SPREADING).fract() } else { 0.0 };
        let window = work(member, flow, worked, extent, phase)?;
        lock(&context.flows)[member.thread] = Some(FlowRecord { tally: worked.tally.clone(), window });
        member.meet()?;
        let is_idle = is_idle(lock(&context.flows).iter().flatten(), drains);
        // A late sample gets one more window: by now the latency is known.
        let waited_enough = if drains { was_late } else { seconds >= LONGEST_EMPTY_SECONDS };
        was_late = context.late.load(Ordering::Acquire);
        let drained = longest(&context.drained_microseconds);
        // Records change only after every thread has looked.
        member.meet()?;
        if !is_idle || waited_enough {
            return Ok(());
        }
        seconds = (LONGER * seconds).max(if drains { drained } else { 0.0 });
    }
}

fn is_idle<'a>(records: impl Iterator<Item = &'a FlowRecord>, drains: bool) -> bool {
    let mut idle = records.map(|record| record.tally.operations == 0);
    if drains { idle.all(|idle| idle) } else { idle.any(|idle| idle) }
}

fn longest(microseconds: &AtomicU64) -> f64 {
    microseconds.load(Ordering::Acquire) as f64 * 1e-6
}

fn note_longest(microseconds: &AtomicU64, seconds: f64) {
    microseconds.fetch_max(model::unit::whole_part(seconds * 1e6), Ordering::AcqRel);
}

fn work(
    member: Member<'_, '_>,
    flow: &mut dyn Flow,
    worked: &mut Worked,
    extent: Extent,
    phase: f64,
) -> Result<Window, EarlyEnd> {
    let context = member.context;
    flow.prepare(std::mem::replace(&mut worked.next, NextWindow::Any)).map_err(failed)?;
    let lead = f64::from(flow.profile().lead_microseconds) * 1e-6 + phase;
    let begin = member.start_in(lead)?;
    let end = match extent {
        Extent::Seconds(seconds) => begin + context.timer.ticks(seconds),
        Extent::Work(_) => Window::NO_END,
    };
    let window = Window { begin, end };
    worked.tally.begin(window);
    let (usage, start) = (ThreadUsage::now(), context.timer.now());
    flow.run(&context.timer, window, &mut worked.tally).map_err(failed)?;
    worked.used = worked.used.plus(ThreadUsage::now().since(usage));
    let now = context.timer.now();
    worked.seconds += context.timer.seconds(start, now);
    if window.end != Window::NO_END {
        note_longest(&context.drained_microseconds, context.timer.seconds(window.end, now.max(window.end)));
    }
    if flow.profile().drains {
        note_longest(&context.turn_microseconds, worked.tally.durations.quantile(0.5).unwrap_or(0.0));
    }
    let verified = flow.verify().map_err(failed)?;
    if member.is_first() {
        context.look_at_the_time(verified == Verified::HasDoneEnough);
        if context.timer.seconds(start, context.timer.now()) > QUIET_SECONDS {
            context.send(&Message::Working)?;
        }
    }
    Ok(worked.tally.window())
}

/// Warms up all threads until every rate is steady or the time is up. Returns the seconds and the last relative change.
fn warm_up(member: Member<'_, '_>, flow: &mut dyn Flow, worked: &mut Worked) -> Result<(f64, Option<f64>), EarlyEnd> {
    let context = member.context;
    let [least, most] = context.task.warm_up_seconds;
    let mut steadiness = Steadiness::within(STEADY);
    let (mut passed, mut slices) = (0.0, 0);
    while passed < most && !context.late.load(Ordering::Acquire) {
        // Between two meetings all threads see the same answers, so they leave together.
        let all_steady = context.steady.iter().all(|steady| steady.load(Ordering::Acquire));
        member.meet()?;
        if passed >= least && all_steady {
            break;
        }
        // At least two slices: one shows no change.
        let slice = SLICE_SECONDS.min(most / 2.0);
        work(member, flow, worked, Extent::Seconds(slice), 0.0)?;
        let operations = worked.tally.operations;
        let operations = if flow.profile().drains { of_all(member, slices, operations)? } else { operations };
        context.steady[member.thread].store(steadiness.settled_with(operations as f64), Ordering::Release);
        member.meet()?;
        slices += 1;
        // Draining is warm-up, too, and equal for all threads.
        passed += slice + if flow.profile().drains { longest(&context.drained_microseconds) } else { 0.0 };
    }
    Ok((passed, steadiness.change))
}

/// Operations of all threads in a slice: their sum settles, their distribution over threads does not.
fn of_all(member: Member<'_, '_>, slice: usize, operations: u64) -> Result<u64, EarlyEnd> {
    // Two alternating counters: one is reset while nobody adds to it.
    let [now, next] = [slice % 2, (slice + 1) % 2].map(|turn| &member.context.slice_operations[turn]);
    now.fetch_add(operations, Ordering::AcqRel);
    member.meet()?;
    next.store(0, Ordering::Release);
    Ok(now.load(Ordering::Acquire))
}

fn send_sample(context: &RunContext, profile: FlowProfile) -> Result<Option<f64>, EarlyEnd> {
    let records: Vec<FlowRecord> = lock(&context.flows).iter_mut().filter_map(Option::take).collect();
    let begin = records.first().map_or(0, |record| record.window.begin);
    let above_goal = records.iter().any(|record| record.tally.carried.above_goal);
    let flags = above_goal.then(|| ABOVE_GOAL.to_owned()).into_iter().collect();
    let template = Sample { flags, ..sample_from(context.task, &context.timer, context.timer.seconds(0, begin)) };
    let durations = merged(&records);
    if is_idle(records.iter(), profile.drains) {
        let seconds = records.iter().map(|record| context.timer.seconds(record.window.begin, record.window.end));
        let reason = format!("not one operation ended within {:.3} s", seconds.fold(0.0, f64::max));
        // A drained flow is only slow.
        return Err(Some(if profile.drains { Trouble::Unavailable(reason) } else { Trouble::Failed(reason) }));
    }
    let metrics = combine(&records, &durations, profile, &context.timer, &template);
    // Operations timed together have no distribution.
    let single = !profile.metrics.iter().any(|metric| matches!(metric, FlowMetric::LatencyOf(_)));
    let histogram = (single && durations.count() > 0).then(|| durations.encode()).flatten();
    let value = metrics.first().map(|headline| headline.sample.value);
    context.send(&Message::Sample { metrics, histogram })?;
    Ok(value)
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use model::wire::Task;
    use sys::clock::Timer;

    use super::*;

    /// A flow whose windows have this number of operations, by index and seconds. It drains for `drain_seconds`.
    struct Simulated<F> {
        operations: F,
        drain_seconds: f64,
        windows: Arc<Mutex<Vec<f64>>>,
        index: usize,
    }

    impl<F: FnMut(usize, f64) -> Option<u64> + Send> Flow for Simulated<F> {
        fn profile(&self) -> FlowProfile {
            let drains = self.drain_seconds > 0.0;
            FlowProfile { metrics: &[FlowMetric::Requests], lead_microseconds: 0, drains }
        }

        fn run(&mut self, timer: &Timer, window: Window, tally: &mut Tally) -> Result<(), String> {
            let seconds = timer.seconds(window.begin, window.end);
            lock(&self.windows).push(seconds);
            let count = (self.operations)(self.index, seconds).ok_or("no more windows")?;
            self.index += 1;
            (0..count).for_each(|_| tally.note(window.begin, window.begin + 1, 4096));
            while self.drain_seconds > 0.0 && timer.now() < window.end + timer.ticks(self.drain_seconds) {
                std::thread::yield_now();
            }
            Ok(())
        }

        fn verify(&mut self) -> Result<Verified, String> {
            Ok(Verified::GoesOn)
        }

        fn conclude(&mut self, _: &mut Observations) {}
    }

    /// Samples and window lengths of a process run with two such threads.
    fn run_of(
        task: Task,
        drain_seconds: f64,
        operations: impl Fn(usize, usize, f64) -> Option<u64> + Clone + Send + Sync + 'static,
    ) -> Result<(usize, Vec<f64>), String> {
        let cpu = sys::affinity::allowed_cpus().unwrap()[0];
        let task = Task { cpus: vec![cpu; 2], sample_seconds: 1e-3, ..task };
        let (mut output, engine) = (Vec::new(), crate::engines::engine_of(task.experiment.area).unwrap());
        let context = RunContext::new(&task, engine, Timer::system(), &mut output);
        let windows = Arc::new(Mutex::new(Vec::new()));
        let reports = sys::team::run(&task.cpus, |thread, gate| {
            let (windows, of_all) = (Arc::clone(&windows), operations.clone());
            let operations = move |index, seconds| of_all(thread, index, seconds);
            let flow = Box::new(Simulated { operations, drain_seconds, windows, index: 0 });
            run(Member { context: &context, thread, gate }, flow, 0.0).map_err(|ended| format!("{ended:?}"))
        });
        assert_eq!(reports.map_err(|error| format!("{error:?}"))?.len(), 2);
        let text = String::from_utf8(output).unwrap();
        Ok((text.lines().filter(|line| line.contains(r#""kind":"sample""#)).count(), lock(&windows).clone()))
    }

    /// Samples of a process run without draining and with these numbers of operations per window.
    fn series(operations: &[u64], samples: usize, until_steady: bool) -> Result<usize, String> {
        let (operations, samples) = (operations.to_vec(), u32::try_from(samples).unwrap());
        let task = Task { samples, until_steady, ..crate::tests::task() };
        Ok(run_of(task, 0.0, move |_, index, _| operations.get(index).copied())?.0)
    }

    /// The same with draining, and these numbers of operations per thread and window of at least `least_seconds`.
    fn drained(task: Task, counts: [u64; 2], least_seconds: f64) -> Result<(usize, Vec<f64>), String> {
        let count = move |thread: usize, _, seconds| Some(if seconds < least_seconds { 0 } else { counts[thread] });
        run_of(task, 0.02, count)
    }

    #[test]
    fn an_empty_window_is_taken_again_and_longer_until_it_is_an_answer() {
        assert_eq!(series(&[0, 5, 0, 0, 7], 2, false), Ok(2));
        // From a millisecond to 4 s in steps of four.
        let reason = series(&[0; 12], 1, false).unwrap_err();
        assert!(reason.contains("not one operation ended within 4.096 s"), "{reason}");
    }

    #[test]
    fn a_window_is_as_long_as_the_last_went_on_beyond_its_end() {
        let task = Task { samples: 3, warm_up_seconds: [1e-3, 1e-3], ..crate::tests::task() };
        let (samples, windows) = drained(task, [5, 5], 0.0).unwrap();
        assert_eq!((samples, windows.len()), (3, 2 * 4), "one slice of warm-up was enough: {windows:?}");
        assert!(windows[..2].iter().all(|seconds| *seconds < 1.5e-3), "{windows:?}");
        assert!(windows[2..].iter().all(|seconds| *seconds >= 0.02), "{windows:?}");
    }

    #[test]
    fn a_launch_whose_time_is_over_has_the_sample_it_was_taking_and_no_more() {
        for (most_seconds, ends_at, samples) in [(Some(0.0), None, 1), (None, Some(1.0), 1), (Some(1e3), None, 5)] {
            let task = Task { samples: 5, most_seconds, ends_at, ..crate::tests::task() };
            assert_eq!(drained(task, [5, 5], 0.0).unwrap().0, samples);
        }
    }

    #[test]
    fn a_launch_whose_time_is_over_has_one_longer_window_in_the_place_of_an_empty_one() {
        let late = || Task { samples: 5, most_seconds: Some(0.0), ..crate::tests::task() };
        let (samples, windows) = drained(late(), [5, 5], 0.015).unwrap();
        assert_eq!((samples, windows.len()), (1, 2 * 2), "{windows:?}");
        let none = drained(late(), [5, 5], 1e3).unwrap_err();
        assert!(none.contains("Unavailable"), "{none}");
    }

    #[test]
    fn a_slow_device_has_no_turn_for_each_of_many_threads_and_none_for_nobody() {
        let task = || Task { samples: 1, most_seconds: Some(0.3), ..crate::tests::task() };
        assert_eq!(drained(task(), [0, 5], 0.0).unwrap().0, 1);
        let none = drained(task(), [0, 0], 0.0).unwrap_err();
        assert!(none.contains("Unavailable") && none.contains("not one operation ended within"), "{none}");
    }

    #[test]
    fn rounds_end_once_five_are_steady_and_not_before() {
        let settling = [900, 700, 400, 300, 305, 295, 300, 302, 300, 300, 300, 300];
        assert_eq!(series(&settling, 12, true), Ok(8), "from the fourth on");
        assert_eq!(series(&settling, 12, false), Ok(12), "where nobody asked for it, all are taken");
        let drifting: Vec<u64> = (0..9).map(|round| 1000 - 60 * round).collect();
        assert_eq!(series(&drifting, 9, true), Ok(9));
    }
}
