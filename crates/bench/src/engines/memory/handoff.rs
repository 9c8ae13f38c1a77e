//! Core to core: cache lines that go from one core to another and back; the value is the median round trip. Both threads bring
//! lines of their own memory and use all of them in turn, because the cost depends on where a line's directory entry is.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use areas::memory::working_sets::LINES_OF_EACH;
use kernels::handoff::{HandoffLine, Lost};
use model::wire::{Observations, Task};
use sys::clock::Timer;

use super::super::{Flow, FlowMetric, FlowProfile, Opened, Tally, Trouble, Verified, Window};

/// Round trips on one line between two time stamps: tens of microseconds.
const TOGETHER: u32 = 256;
const LINES: usize = 2 * LINES_OF_EACH;
/// How long after the end of a window the other side may be silent: longer than a busy machine delays a thread.
const PATIENCE_SECONDS: f64 = 5.0;
const LEAD_MICROSECONDS: u32 = 2_000;
const METRICS: &[FlowMetric] = &[FlowMetric::LatencyOf(TOGETHER)];

pub(super) fn open(task: &Task, thread: usize) -> Result<Opened, Trouble> {
    let cpus = &task.cpus;
    if cpus.len() != 2 || cpus[0] == cpus[1] {
        return Err(Trouble::Unavailable(format!("a line is handed between two CPUs, not {cpus:?}")));
    }
    Ok(Opened::Flow(Box::new(Side::new(Lines::of_task(task), thread, PATIENCE_SECONDS))))
}

#[derive(Debug, Default)]
struct Lines {
    brought: [OnceLock<Box<[HandoffLine]>>; 2],
    over: AtomicBool,
}

/// The lines in use, by benchmark and process run: the two threads find each other here.
static OPEN: Mutex<Vec<(String, u32, Weak<Lines>)>> = Mutex::new(Vec::new());

impl Lines {
    fn of_task(task: &Task) -> Arc<Self> {
        let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|(_, _, lines)| lines.strong_count() > 0);
        let known = open.iter().find(|(id, launch, _)| (id, *launch) == (&task.experiment.id, task.launch));
        known.and_then(|(_, _, lines)| lines.upgrade()).unwrap_or_else(|| {
            let lines = Arc::new(Self::default());
            open.push((task.experiment.id.clone(), task.launch, Arc::downgrade(&lines)));
            lines
        })
    }

    fn bring(&self, thread: usize) {
        self.brought[thread % 2].get_or_init(|| (0..LINES_OF_EACH).map(|_| HandoffLine::default()).collect());
    }

    fn line(&self, index: usize) -> Option<&HandoffLine> {
        self.brought[index / LINES_OF_EACH].get()?.get(index % LINES_OF_EACH)
    }
}

fn made_on(line: usize, batches: u64) -> u64 {
    (batches + (LINES - 1 - line) as u64) / LINES as u64 * u64::from(TOGETHER)
}

struct Side {
    lines: Arc<Lines>,
    asks: bool,
    patience_seconds: f64,
    batches: u64,
}

impl Side {
    fn new(lines: Arc<Lines>, thread: usize, patience_seconds: f64) -> Self {
        lines.bring(thread);
        Self { lines, asks: thread == 0, patience_seconds, batches: 0 }
    }

    fn next(&self) -> Result<(&HandoffLine, u64), String> {
        let index = usize::try_from(self.batches % LINES as u64).unwrap_or(0);
        let line = self.lines.line(index).ok_or("the other thread has no lines ready")?;
        Ok((line, made_on(index, self.batches)))
    }

    fn ask(&mut self, timer: &Timer, window: Window, tally: &mut Tally) -> Result<(), String> {
        let mut give_up = self.impatience(timer, window);
        let mut ended = 0;
        while ended < window.end {
            let (line, made) = self.next()?;
            let began = timer.now();
            let asked = line.ask(made, u64::from(TOGETHER), &mut give_up);
            ended = timer.now();
            asked.map_err(|lost| self.lost(lost))?;
            tally.note(began, ended, 0);
            self.batches += 1;
        }
        let (line, made) = self.next()?;
        line.stop(made, &mut give_up).map_err(|lost| self.lost(lost))
    }

    fn answer(&mut self, timer: &Timer, window: Window, tally: &mut Tally) -> Result<(), String> {
        let mut give_up = self.impatience(timer, window);
        loop {
            let (line, made) = self.next()?;
            match line.answer(made, u64::from(TOGETHER), &mut give_up) {
                Ok(()) => {
                    tally.came(timer.now(), 0);
                    self.batches += 1;
                }
                // At the end of a batch by both counts, or the asking side finds another number than it expects.
                Err(Lost::Stopped) => {
                    line.stopped(made);
                    return Ok(());
                }
                Err(lost) => return Err(self.lost(lost)),
            }
        }
    }

    /// Whether to give up: the other side has left, or is silent for too long after the window.
    fn impatience(&self, timer: &Timer, window: Window) -> impl FnMut() -> bool + use<> {
        let (timer, until) = (*timer, window.end + timer.ticks(self.patience_seconds));
        let lines = self.lines.clone();
        move || lines.over.load(Ordering::Acquire) || timer.now() > until
    }

    #[cold]
    fn lost(&self, lost: Lost) -> String {
        self.lines.over.store(true, Ordering::Release);
        format!("batch {} of the hand-over: {lost}", self.batches)
    }
}

impl Drop for Side {
    fn drop(&mut self) {
        self.lines.over.store(true, Ordering::Release);
    }
}

impl Flow for Side {
    fn profile(&self) -> FlowProfile {
        FlowProfile { metrics: METRICS, lead_microseconds: LEAD_MICROSECONDS, drains: false }
    }

    fn run(&mut self, timer: &Timer, window: Window, tally: &mut Tally) -> Result<(), String> {
        if self.asks { self.ask(timer, window, tally) } else { self.answer(timer, window, tally) }
    }

    /// Both sides have stopped once the asking one has: every line then holds the number of its round trips.
    fn verify(&mut self) -> Result<Verified, String> {
        for index in (0..LINES).filter(|_| self.asks) {
            let (expected, found) = (made_on(index, self.batches), self.lines.line(index).map(HandoffLine::made));
            if found != Some(expected) {
                return Err(format!("line {index} made {found:?} round trips instead of {expected}"));
            }
        }
        Ok(Verified::GoesOn)
    }

    fn conclude(&mut self, _seen: &mut Observations) {}
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    fn window(timer: &Timer, seconds: f64) -> Window {
        let begin = timer.now();
        Window { begin, end: begin + timer.ticks(seconds) }
    }

    fn sides(patience_seconds: f64) -> (Timer, Side, Side) {
        let lines = Arc::new(Lines::default());
        let asking = Side::new(lines.clone(), 0, patience_seconds);
        (Timer::system(), asking, Side::new(lines, 1, patience_seconds))
    }

    fn begun(timer: &Timer, window: Window) -> Tally {
        let mut tally = Tally::new(timer);
        tally.begin(window);
        tally
    }

    #[test]
    fn two_sides_agree_on_every_round_trip() {
        let (timer, mut asking, mut answering) = sides(60.0);
        for _ in 0..3 {
            let window = window(&timer, 0.02);
            let (mut asked, mut answered) = (begun(&timer, window), begun(&timer, window));
            thread::scope(|scope| {
                let other = scope.spawn(|| answering.run(&timer, window, &mut answered));
                asking.run(&timer, window, &mut asked).unwrap();
                other.join().unwrap().unwrap();
            });
            asking.verify().unwrap();
            answering.verify().unwrap();
            assert_eq!(asking.batches, answering.batches);
            assert_eq!(asked.durations.count(), asked.operations);
        }
        assert!(asking.batches > 0);
        asking.batches += 1;
        assert!(asking.verify().unwrap_err().contains("instead of"), "a batch too many was believed");
    }

    #[test]
    fn a_partner_that_is_not_there_is_given_up() {
        let (timer, mut asking, mut answering) = sides(0.001);
        for side in [&mut answering, &mut asking] {
            let window = window(&timer, 0.001);
            let error = side.run(&timer, window, &mut begun(&timer, window)).unwrap_err();
            assert!(error.contains("does not answer"), "{error}");
        }
    }

    #[test]
    fn a_side_that_fails_or_is_dropped_releases_the_other_at_once() {
        let (timer, mut asking, mut answering) = sides(60.0);
        // By its own count the answering side is one turn of the lines ahead.
        answering.batches = LINES as u64;
        let short = window(&timer, 0.001);
        thread::scope(|scope| {
            let other = scope.spawn(|| answering.run(&timer, short, &mut begun(&timer, short)));
            assert!(asking.run(&timer, short, &mut begun(&timer, short)).is_err());
            assert!(other.join().unwrap().is_err());
        });
        let (timer, mut asking, answering) = sides(60.0);
        drop(answering);
        let short = window(&timer, 0.001);
        assert!(asking.run(&timer, short, &mut begun(&timer, short)).is_err());
    }

    #[test]
    fn the_threads_of_a_launch_share_their_lines_and_other_launches_do_not() {
        let task = crate::tests::task();
        let first = Lines::of_task(&task);
        assert!(Arc::ptr_eq(&first, &Lines::of_task(&task)));
        assert!(!Arc::ptr_eq(&first, &Lines::of_task(&Task { launch: 7, ..task.clone() })));
        let refused = open(&task, 0).err();
        assert!(refused.is_some_and(|trouble| trouble.to_string().contains("two CPUs")));
    }

    #[test]
    fn every_line_is_counted_by_its_batches() {
        let counted = |batches: u64| (0..LINES).map(|line| made_on(line, batches)).sum::<u64>();
        assert!((0..100).all(|batches| counted(batches) == batches * u64::from(TOGETHER)));
        assert_eq!(areas::memory::working_sets::PAIR_BYTES, (LINES * size_of::<HandoffLine>()) as u64);
    }
}
