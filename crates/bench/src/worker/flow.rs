//! One thread of a launch whose operations wait for something: windows of time instead of bursts of iterations.
//!
//! The flow keeps itself busy through each window and notes what ends inside; here the windows are set, the threads
//! brought together, and their tallies made a sample. No clock of the core is looked at: what is waited for does not
//! run at it.

use std::sync::atomic::Ordering;

use model::sample::Sample;
use model::wire::{Message, Observations};
use sys::clock::monotonic_raw_seconds;
use sys::team::Gate;
use sys::usage::ThreadUsage;

use super::flow_record::{FlowRecord, combine, merged, started};
use super::launch::{Ended, HEARING, Launch, ThreadReport, another_failed, lock};
use super::observe::Observer;
use super::pacing::{Extent, Steadiness};
use crate::engines::{Flow, FlowMetric, FlowProfile, NextWindow, Tally, Trouble, Verified, Window};

/// Length of a slice of warm-up: long enough for some hundred operations of a device of a millisecond.
const SLICE_SECONDS: f64 = 0.1;

/// Two slices of warm-up that differ by no more than this are steady: what devices do varies by itself.
const STEADY: f64 = 0.05;

/// Marks a sample in which more datagrams were lost than the row's goal allows.
const ABOVE_GOAL: &str = "above_goal";

/// How many times as long the window is that is taken in the place of an empty one.
const LONGER: f64 = 4.0;

/// An empty window of this length is taken for the answer: what takes longer than that for one operation hangs. Not where
/// what is in flight is waited for: there it is known not to hang.
const LONGEST_EMPTY_SECONDS: f64 = 2.0;

/// The longest window that is taken since the one before went on beyond its end.
const LONGEST_DRAINED_SECONDS: f64 = 2.0;

/// So many times what is in flight is to end in a window, where that takes no longer than [`LONGEST_FOR_BURSTS_SECONDS`]:
/// devices give back in bursts, of everything in flight at worst, and a window counts whole ones. Of forty one more or less
/// is a fortieth.
const BURSTS: f64 = 40.0;

/// The longest window that is taken for that.
const LONGEST_FOR_BURSTS_SECONDS: f64 = 0.5;

/// The fractional part of the golden ratio: its multiples spread evenly (Knuth, "The Art of Computer Programming", vol. 3, 6.4).
const SPREADING: f64 = 0.618_033_988_749_895;

/// After a window that took longer than this the runner is told that we are still at work.
const QUIET_SECONDS: f64 = 1.0;

/// What one thread did so far.
struct Worked {
    /// Whether it speaks for all.
    first: bool,
    tally: Tally,
    used: ThreadUsage,
    seconds: f64,
    /// The window that comes next.
    next: NextWindow,
}

/// Runs one thread's part from the first window to the last check.
pub(super) fn run(
    launch: &Launch,
    thread: usize,
    gate: &Gate,
    mut flow: Box<dyn Flow>,
    began: f64,
) -> Result<ThreadReport, Ended> {
    let first = thread == 0;
    let (tally, used) = (Tally::new(&launch.timer), ThreadUsage::default());
    let mut worked = Worked { first, tally, used, seconds: 0.0, next: NextWindow::Any };
    let setup_seconds = monotonic_raw_seconds() - began;
    let (warm_up_seconds, warm_up_change) = warm_up(launch, thread, gate, flow.as_mut(), &mut worked)?;
    worked.next = NextWindow::FirstSample;
    if thread == 0 {
        launch.tell(&Message::Ready)?;
    }
    let observer = (thread == 0).then(|| Observer::begin(&launch.task.cpus));
    (worked.used, worked.seconds) = (ThreadUsage::default(), 0.0);
    let mut values = Vec::new();
    for sample in 0..launch.task.samples {
        // One there always is.
        let late = sample > 0 && launch.late.load(Ordering::Acquire);
        if late || launch.over.load(Ordering::Acquire) {
            break;
        }
        take_sample(launch, thread, gate, flow.as_mut(), &mut worked, f64::from(sample))?;
        if thread == 0 {
            values.extend(tell_sample(launch, flow.profile(), flow.profile().drains)?);
            let steady = || stats::steadiness(&values).is_some_and(|found| found.is_steady());
            launch.over.store(launch.task.until_steady && steady(), Ordering::Release);
            std::thread::sleep(HEARING);
        }
        if launch.task.until_steady {
            // All threads go by the same answer.
            gate.meet(&launch.timer, 0.0).map_err(another_failed)?;
        }
    }
    let migrated = !sys::affinity::is_pinned_to(launch.task.cpus[thread]);
    let mut seen = Observations::default();
    flow.conclude(&mut seen);
    Ok(ThreadReport {
        migrated,
        setup_seconds,
        warm_up_seconds,
        warm_up_change,
        timed_seconds: worked.seconds,
        used: worked.used,
        watched: observer.map(Observer::end),
        of_flow: Some(Box::new(seen)),
        ..ThreadReport::default()
    })
}

/// One sample of all threads, whose records are left for the first of them. A window in which a thread finished nothing
/// says nothing (a slow device, CPUs that others have): it is taken again, longer. Where all that is in flight is waited
/// for, it is enough that any thread finished something: a slow device has no turn for each of many. `sample` is its number.
fn take_sample(
    launch: &Launch,
    thread: usize,
    gate: &Gate,
    flow: &mut dyn Flow,
    worked: &mut Worked,
    sample: f64,
) -> Result<(), Ended> {
    let drains = flow.profile().drains;
    let mut was_late = false;
    let mut seconds = launch.task.sample_seconds;
    if drains && !launch.task.until_steady {
        // Rounds that are compared with each other are equally long.
        let drained = drained_seconds(launch);
        let for_bursts = (BURSTS * turn_seconds(launch)).min(LONGEST_FOR_BURSTS_SECONDS);
        seconds = seconds.max(for_bursts).max(drained.min(LONGEST_DRAINED_SECONDS));
    }
    loop {
        let extent = launch.task.exact_work.map_or(Extent::Seconds(seconds), Extent::Work);
        // Requests all start at once: windows that began at the same time after it would all cut the bursts that follow at
        // the same place.
        let phase = if drains { turn_seconds(launch).min(SLICE_SECONDS) * (sample * SPREADING).fract() } else { 0.0 };
        let window = work(launch, gate, flow, worked, (extent, phase))?;
        lock(&launch.flows)[thread] = Some(FlowRecord { tally: worked.tally.clone(), window });
        gate.meet(&launch.timer, 0.0).map_err(another_failed)?;
        let is_idle = is_idle(lock(&launch.flows).iter().flatten(), drains);
        // One more window there is for what is late already: by now it is known how long a request takes.
        let waited_enough = if drains { was_late } else { seconds >= LONGEST_EMPTY_SECONDS };
        was_late = launch.late.load(Ordering::Acquire);
        let drained = drained_seconds(launch);
        // Every thread has looked before the records change.
        gate.meet(&launch.timer, 0.0).map_err(another_failed)?;
        if !is_idle || waited_enough {
            return Ok(());
        }
        seconds = (LONGER * seconds).max(if drains { drained } else { 0.0 });
    }
}

/// Whether a window says nothing.
fn is_idle<'a>(records: impl Iterator<Item = &'a FlowRecord>, drains: bool) -> bool {
    let mut idle = records.map(|record| record.tally.operations == 0);
    if drains { idle.all(|idle| idle) } else { idle.any(|idle| idle) }
}

/// The longest that a window has gone on beyond its end, in seconds.
fn drained_seconds(launch: &Launch) -> f64 {
    launch.drained_microseconds.load(Ordering::Acquire) as f64 * 1e-6
}

/// How long it takes until everything in flight has ended once, in seconds: as long as one operation, which waits for all
/// of the others. The longest median that any window so far has seen.
fn turn_seconds(launch: &Launch) -> f64 {
    launch.turn_microseconds.load(Ordering::Acquire) as f64 * 1e-6
}

/// Notes what a window saw of that.
fn note_turn(launch: &Launch, tally: &Tally) {
    let turn = tally.durations.quantile(0.5).unwrap_or(0.0);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a time that has passed")]
    launch.turn_microseconds.fetch_max((turn * 1e6) as u64, Ordering::AcqRel);
}

/// One window of this extent, with all threads, so many seconds later than it might begin; which it was for this one.
fn work(
    launch: &Launch,
    gate: &Gate,
    flow: &mut dyn Flow,
    worked: &mut Worked,
    (extent, phase): (Extent, f64),
) -> Result<Window, Ended> {
    let failed = |reason| Some(Trouble::Failed(reason));
    flow.prepare(std::mem::replace(&mut worked.next, NextWindow::Any)).map_err(failed)?;
    let lead = f64::from(flow.profile().lead_microseconds) * 1e-6 + phase;
    let begin = gate.meet(&launch.timer, lead).map_err(another_failed)?;
    let end = match extent {
        Extent::Seconds(seconds) => begin + launch.timer.ticks(seconds),
        Extent::Work(_) => Window::NO_END,
    };
    let window = Window { begin, end };
    worked.tally.begin(window);
    let (usage, start) = (ThreadUsage::now(), launch.timer.now());
    flow.run(&launch.timer, window, &mut worked.tally).map_err(failed)?;
    worked.used = worked.used.plus(ThreadUsage::now().since(usage));
    worked.seconds += launch.timer.seconds(start, launch.timer.now());
    note_drained(launch, window, launch.timer.now());
    if flow.profile().drains {
        note_turn(launch, &worked.tally);
    }
    let verified = flow.verify().map_err(failed)?;
    if worked.first {
        launch.look_at_the_time(verified == Verified::HasDoneEnough);
        if launch.timer.seconds(start, launch.timer.now()) > QUIET_SECONDS {
            launch.tell(&Message::Working)?;
        }
    }
    Ok(worked.tally.window())
}

/// Notes for how long a window went on beyond its end.
fn note_drained(launch: &Launch, window: Window, now: u64) {
    if window.end != Window::NO_END {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a time that has passed")]
        let drained = (launch.timer.seconds(window.end, now.max(window.end)) * 1e6) as u64;
        launch.drained_microseconds.fetch_max(drained, Ordering::AcqRel);
    }
}

/// Warms up all threads together until every thread's rate has settled or the time is up. Returns the seconds it took
/// and the last relative change of this thread's rate.
fn warm_up(
    launch: &Launch,
    thread: usize,
    gate: &Gate,
    flow: &mut dyn Flow,
    worked: &mut Worked,
) -> Result<(f64, Option<f64>), Ended> {
    let [least, most] = launch.task.warm_up_seconds;
    let mut steadiness = Steadiness::within(STEADY);
    let (mut passed, mut slices) = (0.0, 0);
    while passed < most && !launch.late.load(Ordering::Acquire) {
        // Between two meetings every thread sees the same answers, so that all of them leave in the same round.
        let all_steady = launch.steady.iter().all(|steady| steady.load(Ordering::Acquire));
        gate.meet(&launch.timer, 0.0).map_err(another_failed)?;
        if passed >= least && all_steady {
            break;
        }
        // Two slices at least: one says nothing of a change.
        let slice = SLICE_SECONDS.min(most / 2.0);
        work(launch, gate, flow, worked, (Extent::Seconds(slice), 0.0))?;
        let operations = worked.tally.operations;
        let operations = if flow.profile().drains { of_all(launch, gate, slices, operations)? } else { operations };
        launch.steady[thread].store(steadiness.settled_with(operations as f64), Ordering::Release);
        gate.meet(&launch.timer, 0.0).map_err(another_failed)?;
        slices += 1;
        // What was waited for beyond the slice was warm-up too, and is the same for all threads once they have met.
        passed += slice + if flow.profile().drains { drained_seconds(launch) } else { 0.0 };
    }
    Ok((passed, steadiness.change()))
}

/// What all threads together did in a slice: what a device does settles, and which of many threads it serves changes from
/// slice to slice.
fn of_all(launch: &Launch, gate: &Gate, slice: usize, operations: u64) -> Result<u64, Ended> {
    // Two counters in turn: the next slice's is made empty while nobody adds to it.
    let [now, next] = [slice % 2, (slice + 1) % 2].map(|turn| &launch.slice_operations[turn]);
    now.fetch_add(operations, Ordering::AcqRel);
    gate.meet(&launch.timer, 0.0).map_err(another_failed)?;
    next.store(0, Ordering::Release);
    Ok(now.load(Ordering::Acquire))
}

/// Reports the sample whose records all threads have left; the value of its headline.
fn tell_sample(launch: &Launch, profile: FlowProfile, drains: bool) -> Result<Option<f64>, Ended> {
    let records: Vec<FlowRecord> = lock(&launch.flows).iter_mut().filter_map(Option::take).collect();
    let start = started(&launch.timer, &records, launch.task.run_began);
    let above_goal = records.iter().any(|record| record.tally.carried.above_goal);
    let template = Sample {
        value: 0.0,
        work: None,
        seconds: 0.0,
        start,
        launch: launch.task.launch,
        block: launch.task.block,
        session: launch.task.session,
        clock_hz: None,
        stolen_seconds: None,
        per_thread: Vec::new(),
        flags: above_goal.then(|| ABOVE_GOAL.to_owned()).into_iter().collect(),
    };
    let durations = merged(&records);
    if is_idle(records.iter(), drains) {
        let seconds = records.iter().map(|record| launch.timer.seconds(record.window.begin, record.window.end));
        let reason = format!("not one operation ended within {:.3} s", seconds.fold(0.0, f64::max));
        // One that is waited for is slow, and no more than that.
        return Err(Some(if drains { Trouble::Unavailable(reason) } else { Trouble::Failed(reason) }));
    }
    let metrics = combine(&records, &durations, profile, &launch.timer, &template);
    // Of operations that are timed together there is no distribution.
    let single = !profile.metrics.iter().any(|metric| matches!(metric, FlowMetric::LatencyOf(_)));
    let histogram = (single && durations.count() > 0).then(|| durations.encode()).flatten();
    let value = metrics.first().map(|headline| headline.sample.value);
    launch.tell(&Message::Sample { metrics, histogram })?;
    Ok(value)
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use sys::clock::Timer;

    use super::*;

    /// A flow whose windows hold these numbers of operations, the last one first.
    struct Series(Vec<u64>);

    impl Flow for Series {
        fn profile(&self) -> FlowProfile {
            FlowProfile { metrics: &[FlowMetric::Requests], lead_microseconds: 0, drains: false }
        }

        fn run(&mut self, _: &Timer, window: Window, tally: &mut Tally) -> Result<(), String> {
            let count = self.0.pop().ok_or("no more windows")?;
            (0..count).for_each(|_| tally.note(window.begin, window.begin + 1, 4096));
            Ok(())
        }

        fn verify(&mut self) -> Result<Verified, String> {
            Ok(Verified::GoesOn)
        }

        fn conclude(&mut self, _: &mut Observations) {}
    }

    /// How many samples a launch of two threads tells that was to take as many as there are numbers.
    fn samples_of(series: &[u64], until_steady: bool) -> usize {
        launch_of(series, u32::try_from(series.len()).unwrap(), until_steady).unwrap()
    }

    /// The same of this many samples, or why there were none.
    fn launch_of(series: &[u64], samples: u32, until_steady: bool) -> Result<usize, String> {
        let cpu = sys::affinity::allowed_cpus().unwrap()[0];
        let task = model::wire::Task {
            cpus: vec![cpu; 2],
            samples,
            sample_seconds: 1e-3,
            until_steady,
            ..crate::tests::task()
        };
        let (mut output, engine) = (Vec::new(), crate::engines::engine_of(model::experiment::Area::Disk).unwrap());
        let launch = Launch::new(&task, engine, Timer::system(), &mut output);
        let reports = sys::team::run(&task.cpus, |thread, gate| {
            let flow = Box::new(Series(series.iter().rev().copied().collect()));
            run(&launch, thread, gate, flow, 0.0).map_err(|ended| format!("{ended:?}"))
        });
        assert_eq!(reports.map_err(|error| format!("{error:?}"))?.len(), 2);
        let text = String::from_utf8(output).unwrap();
        Ok(text.lines().filter(|line| line.contains(r#""kind":"sample""#)).count())
    }

    #[test]
    fn an_empty_window_is_taken_again_and_longer_until_it_is_an_answer() {
        assert_eq!(launch_of(&[0, 5, 0, 0, 7], 2, false), Ok(2));
        // From a millisecond to 4 s in steps of four.
        let reason = launch_of(&[0; 12], 1, false).unwrap_err();
        assert!(reason.contains("not one operation ended within 4.096 s"), "{reason}");
    }

    /// A flow that does so many operations in each window that is long enough, and for which so many seconds are waited
    /// beyond its end. Notes how long its windows were.
    struct Draining {
        seconds: f64,
        count: u64,
        least_seconds: f64,
        windows: Arc<Mutex<Vec<f64>>>,
    }

    impl Flow for Draining {
        fn profile(&self) -> FlowProfile {
            FlowProfile { metrics: &[FlowMetric::Requests], lead_microseconds: 0, drains: true }
        }

        fn run(&mut self, timer: &Timer, window: Window, tally: &mut Tally) -> Result<(), String> {
            let window_seconds = timer.seconds(window.begin, window.end);
            lock(&self.windows).push(window_seconds);
            let count = if window_seconds < self.least_seconds { 0 } else { self.count };
            (0..count).for_each(|_| tally.note(window.begin, window.begin + 1, 4096));
            while timer.now() < window.end + timer.ticks(self.seconds) {
                std::thread::yield_now();
            }
            Ok(())
        }

        fn verify(&mut self) -> Result<Verified, String> {
            Ok(Verified::GoesOn)
        }

        fn conclude(&mut self, _: &mut Observations) {}
    }

    /// The samples of a launch of two such threads with these numbers of requests, and how long the windows were.
    fn drained(task: &model::wire::Task, counts: [u64; 2]) -> Result<(usize, Vec<f64>), String> {
        drained_in(task, counts, 0.0)
    }

    /// The same where requests end only in windows of so many seconds at least.
    fn drained_in(task: &model::wire::Task, counts: [u64; 2], least: f64) -> Result<(usize, Vec<f64>), String> {
        let cpu = sys::affinity::allowed_cpus().unwrap()[0];
        let task = model::wire::Task { cpus: vec![cpu; 2], sample_seconds: 1e-3, ..task.clone() };
        let (mut output, engine) = (Vec::new(), crate::engines::engine_of(model::experiment::Area::Disk).unwrap());
        let launch = Launch::new(&task, engine, Timer::system(), &mut output);
        let windows = Arc::new(Mutex::new(Vec::new()));
        let reports = sys::team::run(&task.cpus, |thread, gate| {
            let windows = Arc::clone(&windows);
            let flow = Draining { seconds: 0.02, count: counts[thread], least_seconds: least, windows };
            run(&launch, thread, gate, Box::new(flow), 0.0).map_err(|ended| format!("{ended:?}"))
        });
        reports.map_err(|error| format!("{error:?}"))?;
        let text = String::from_utf8(output).unwrap();
        Ok((text.lines().filter(|line| line.contains(r#""kind":"sample""#)).count(), lock(&windows).clone()))
    }

    #[test]
    fn a_window_is_as_long_as_the_last_went_on_beyond_its_end() {
        let task = model::wire::Task { samples: 3, warm_up_seconds: [1e-3, 1e-3], ..crate::tests::task() };
        let (samples, windows) = drained(&task, [5, 5]).unwrap();
        assert_eq!((samples, windows.len()), (3, 2 * 4), "one slice of warm-up was enough: {windows:?}");
        assert!(windows[..2].iter().all(|seconds| *seconds < 1.5e-3), "{windows:?}");
        assert!(windows[2..].iter().all(|seconds| *seconds >= 0.02), "{windows:?}");
    }

    #[test]
    fn a_launch_whose_time_is_over_has_the_sample_it_was_taking_and_no_more() {
        let late = model::wire::Task { samples: 5, most_seconds: Some(0.0), ..crate::tests::task() };
        assert_eq!(drained(&late, [5, 5]).unwrap().0, 1);
        let run_over = model::wire::Task { samples: 5, ends_at: Some(1.0), ..crate::tests::task() };
        assert_eq!(drained(&run_over, [5, 5]).unwrap().0, 1);
        let in_time = model::wire::Task { samples: 5, most_seconds: Some(1e3), ..crate::tests::task() };
        assert_eq!(drained(&in_time, [5, 5]).unwrap().0, 5);
    }

    #[test]
    fn a_launch_whose_time_is_over_has_one_longer_window_in_the_place_of_an_empty_one() {
        let late = model::wire::Task {
            samples: 5,
            warm_up_seconds: [0.0, 0.0],
            most_seconds: Some(0.0),
            ..crate::tests::task()
        };
        let (samples, windows) = drained_in(&late, [5, 5], 0.015).unwrap();
        assert_eq!((samples, windows.len()), (1, 2 * 2), "{windows:?}");
        let none = drained_in(&late, [5, 5], 1e3).unwrap_err();
        assert!(none.contains("Unavailable"), "{none}");
    }

    #[test]
    fn a_slow_device_has_no_turn_for_each_of_many_threads_and_none_for_nobody() {
        let task = model::wire::Task { samples: 1, most_seconds: Some(0.3), ..crate::tests::task() };
        assert_eq!(drained(&task, [0, 5]).unwrap().0, 1);
        let none = drained(&task, [0, 0]).unwrap_err();
        assert!(none.contains("Unavailable") && none.contains("not one operation ended within"), "{none}");
    }

    #[test]
    fn rounds_end_once_five_are_steady_and_not_before() {
        let settling = [900, 700, 400, 300, 305, 295, 300, 302, 300, 300, 300, 300];
        assert_eq!(samples_of(&settling, true), 8, "from the fourth on");
        assert_eq!(samples_of(&settling, false), 12, "where nobody asked for it, all are taken");
        let drifting: Vec<u64> = (0..9).map(|round| 1000 - 60 * round).collect();
        assert_eq!(samples_of(&drifting, true), 9);
    }
}
