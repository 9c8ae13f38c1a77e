//! The worker: one launch of one experiment in a process of its own, the task on standard input, messages on standard
//! output.
//!
//! It knows nothing of other launches, of statistics or of where its words go: the same worker serves a local run and,
//! later, `srun` and ssh.

mod clock_probe;
mod flow;
mod observe;
mod pacing;
mod record;
mod thread;

use std::io::{BufRead, Write};
use std::sync::Mutex;

use model::wire::{Message, Observations, Role, Task};
use sys::clock::{Calibration, Source};
use sys::team;

use crate::engine::{self, Preparing, Trouble};
use thread::{Launch, ThreadReport};

/// Least time over which a worker calibrates its timer: brackets of 30 ns over 20 ms give the rate to 3 in 10^6.
const CALIBRATION: std::time::Duration = std::time::Duration::from_millis(20);

/// Reads one task, carries it out and reports on `output`.
///
/// # Errors
/// Only where the reports cannot be written: nobody listens any more.
pub fn serve(input: &mut dyn BufRead, output: &mut (dyn Write + Send)) -> std::io::Result<()> {
    let calibration = Calibration::begin();
    let mut line = String::new();
    input.read_line(&mut line)?;
    let outcome = match serde_json::from_str::<Task>(&line) {
        Ok(task) => carry_out(&task, calibration, output),
        Err(error) => Err(Trouble::Failed(format!("the worker was given no task: {error}"))),
    };
    let last = match outcome {
        Ok(observations) => Message::Done { observations: Box::new(observations) },
        Err(Trouble::Unavailable(reason)) => Message::Unavailable { reason },
        Err(Trouble::Failed(reason)) => Message::Failed { reason },
    };
    say(output, &last)
}

/// Writes one message as one line and makes sure that it has left.
fn say(output: &mut (dyn Write + Send), message: &Message) -> std::io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    output.write_all(&line)?;
    output.flush()
}

/// Locks even if another thread has panicked meanwhile: the data is plain, and the panic is reported on its own.
fn lock<T: ?Sized>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

fn carry_out(task: &Task, calibration: Calibration, output: &mut (dyn Write + Send)) -> Result<Observations, Trouble> {
    sys::process::die_with_parent(task.parent).map_err(|error| Trouble::Failed(error.to_string()))?;
    sys::process::volunteer_for_the_oom_killer();
    let area = task.experiment.area;
    let engine =
        engine::of(area).ok_or_else(|| Trouble::Failed(format!("this version cannot measure the area '{area}'")))?;
    if task.ends.as_ref().is_some_and(|ends| ends.role == Role::Peer) {
        return engine.peer(task).map(|()| Observations::default());
    }
    engine.prepare(task, &mut Teller(output))?;
    let launch = Launch::new(task, engine, calibration.finish(CALIBRATION), output);
    // The team reports sentences; what kind of trouble it was travels beside them.
    let first_trouble: Mutex<Option<Trouble>> = Mutex::new(None);
    let reports = team::run(&task.cpus, |thread, gate| {
        thread::run(&launch, thread, gate).map_err(|trouble| {
            let sentence = trouble.as_ref().map(|trouble| trouble.reason().to_owned()).unwrap_or_default();
            if let Some(trouble) = trouble {
                lock(&first_trouble).get_or_insert(trouble);
            }
            sentence
        })
    });
    match (lock(&first_trouble).take(), reports) {
        (Some(trouble), _) => Err(trouble),
        (None, Err(sentence)) => Err(Trouble::Failed(sentence)),
        (None, Ok(reports)) => Ok(add_up(reports, launch.timer.source() == Source::Counter)),
    }
}

/// Tells the runner what there is to tell before the threads start. Where nobody listens any more, the first sample
/// will show it.
struct Teller<'a>(&'a mut (dyn Write + Send));

impl Preparing for Teller<'_> {
    fn progress(&mut self, done: f64) {
        let _ = say(self.0, &Message::Preparing { done });
    }

    fn listening(&mut self, address: &str) {
        let _ = say(self.0, &Message::Listening { address: address.to_owned() });
    }
}

/// One launch's observations from those of its threads.
fn add_up(reports: Vec<ThreadReport>, counter_timer: bool) -> Observations {
    let mut sum = Observations { counter_timer, clock_source: "counter".to_owned(), ..Observations::default() };
    for report in reports {
        sum.setup_seconds = sum.setup_seconds.max(report.setup_seconds);
        sum.warm_up_seconds = sum.warm_up_seconds.max(report.warm_up_seconds);
        sum.warm_up_change = sum.warm_up_change.max(report.warm_up_change);
        sum.timed_seconds += report.timed_seconds;
        sum.cpu_seconds += report.used.cpu_seconds;
        sum.gap_seconds += report.gap_seconds;
        sum.involuntary_switches += report.used.involuntary_switches;
        sum.page_faults += report.used.page_faults;
        sum.ops_per_cycle.extend(report.ops_per_cycle);
        sum.clock_disagreement.extend(report.clock_disagreement);
        if !report.cycle_counter {
            "chains".clone_into(&mut sum.clock_source);
        }
        sum.pages_obtained = match (sum.pages_obtained, report.pages_obtained) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        if let Some(of_flow) = report.of_flow {
            sum.waiting = true;
            (sum.disk, sum.net) = (sum.disk.take().or(of_flow.disk), sum.net.take().or(of_flow.net));
        }
        if let Some(watched) = report.watched {
            sum.watched_seconds = watched.seconds;
            sum.steal_seconds = watched.steal_seconds;
            sum.throttled_seconds = watched.throttled_seconds;
        }
    }
    sum
}
