//! A worker's life: a task from standard input, its threads, and their combined observations.

use std::io::{BufRead, Write};
use std::sync::Mutex;

use model::wire::{Message, Observations, Role, Task};
use sys::clock::{Calibration, Source, monotonic_raw_seconds};
use sys::team::{self, Gate};

use super::context::{EarlyEnd, RunContext, ThreadReport, lock, say};
use super::{flow, job, paced};
use crate::engines::{self, Opened, Preparing, Trouble};

/// Minimum calibration time: 30 ns brackets over 20 ms give the rate to 3 in 10^6.
const CALIBRATION: std::time::Duration = std::time::Duration::from_millis(20);

/// Carries out one task; fails only if `output` cannot be written.
pub fn serve(input: &mut dyn BufRead, output: &mut (dyn Write + Send)) -> std::io::Result<()> {
    let calibration = Calibration::begin();
    let mut line = String::new();
    input.read_line(&mut line)?;
    let outcome = match serde_json::from_str::<Task>(&line) {
        Ok(task) => carry_out(&task, calibration, output),
        Err(error) => Err(Trouble::Failed(format!("the worker process got no task: {error}"))),
    };
    let last = match outcome {
        Ok(observations) => Message::Done { observations: Box::new(observations) },
        Err(Trouble::Unavailable(reason)) => Message::Unavailable { reason },
        Err(Trouble::Failed(reason)) => Message::Failed { reason },
    };
    say(output, &last)
}

fn carry_out(task: &Task, calibration: Calibration, output: &mut (dyn Write + Send)) -> Result<Observations, Trouble> {
    sys::process::die_with_parent(task.parent).map_err(|error| Trouble::Failed(error.to_string()))?;
    sys::process::volunteer_for_the_oom_killer();
    let area = task.experiment.area;
    let engine = engines::engine_of(area)
        .ok_or_else(|| Trouble::Failed(format!("this version cannot measure the area '{area}'")))?;
    if task.ends.as_ref().is_some_and(|ends| ends.role == Role::Peer) {
        return engine.peer(task, &mut Teller(output)).map(|()| Observations::default());
    }
    engine.prepare(task, &mut Teller(output))?;
    let context = RunContext::new(task, engine, calibration.finish(CALIBRATION), output);
    let _kept = engine.placement(task, Vec::new()).keeps_ticks.then(|| sys::tick::KeptTicks::on(&task.cpus));
    // The team reports text; the kind of trouble is kept separately.
    let first_trouble: Mutex<Option<Trouble>> = Mutex::new(None);
    let reports = team::run(&task.cpus, |thread, gate| {
        run_thread(&context, thread, gate).map_err(|trouble| {
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
        (None, Ok(reports)) => {
            let settings = machine::settings(&machine::Sysroot::host());
            Ok(Observations { settings, ..add_up(reports, context.timer.source() == Source::Counter, &task.cpus) })
        }
    }
}

/// Runs one thread's part in the way that it is timed.
pub(super) fn run_thread(context: &RunContext, thread: usize, gate: &Gate) -> Result<ThreadReport, EarlyEnd> {
    let began = monotonic_raw_seconds();
    match context.engine.open(context.task, thread).map_err(Some)? {
        Opened::Paced(trial) => paced::run(context, thread, gate, trial, began),
        Opened::Flow(flow) => flow::run(context, thread, gate, flow, began),
        Opened::Job { job, bound } => job::run(context, thread, gate, job::Parts { job, bound }, began),
    }
}

/// Reports preparation to the runner. If it is gone, the first sample fails.
struct Teller<'a>(&'a mut (dyn Write + Send));

impl Preparing for Teller<'_> {
    fn progress(&mut self, done: f64) {
        let _ = say(self.0, &Message::Preparing { done });
    }

    fn listening(&mut self, address: &str) {
        let _ = say(self.0, &Message::Listening { address: address.to_owned() });
    }
}

/// Combines the threads' observations on these CPUs.
fn add_up(reports: Vec<ThreadReport>, counter_timer: bool, cpus: &[u32]) -> Observations {
    let source = |is: fn(&ThreadReport) -> bool| reports.iter().all(is);
    let clock_source = match (source(|report| report.cycle_counter), source(|report| report.paced_clock)) {
        (true, _) => model::wire::CYCLE_COUNTER,
        (false, true) => "paced",
        (false, false) => "chains",
    };
    let mut flows = Vec::new();
    let mut sum = Observations { counter_timer, clock_source: clock_source.to_owned(), ..Observations::default() };
    for report in reports {
        if report.of_flow.is_none() && report.timed_seconds > 0.0 {
            let share = report.used.cpu_seconds / report.timed_seconds;
            sum.least_cpu_share = Some(sum.least_cpu_share.map_or(share, |least| least.min(share)));
        }
        sum.migrated_threads += u32::from(report.migrated);
        sum.remote_pages = sum.remote_pages.or(report.remote_pages);
        sum.setup_seconds = sum.setup_seconds.max(report.setup_seconds);
        sum.warm_up_seconds = sum.warm_up_seconds.max(report.warm_up_seconds);
        sum.warm_up_change = sum.warm_up_change.into_iter().chain(report.warm_up_change).reduce(f64::max);
        sum.timed_seconds += report.timed_seconds;
        sum.cpu_seconds += report.used.cpu_seconds;
        sum.gap_seconds += report.gap_seconds;
        sum.involuntary_switches += report.used.involuntary_switches;
        sum.page_faults += report.used.page_faults;
        sum.ops_per_cycle.extend(report.ops_per_cycle);
        sum.clock_disagreement.extend(report.clock_disagreement);
        sum.pages_obtained = match (sum.pages_obtained, report.pages_obtained) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        sum.order_seconds = sum.order_seconds.into_iter().chain(report.order_seconds).reduce(f64::max);
        sum.c_library = sum.c_library.or(report.c_library);
        sum.start_spread_seconds = sum.start_spread_seconds.or(report.start_spread_seconds);
        if let Some(of_flow) = report.of_flow {
            sum.waiting = true;
            flows.push(*of_flow);
        }
        sum.linpack = sum.linpack.or(report.of_job.and_then(|of_job| of_job.linpack));
        if let Some(watched) = report.watched {
            sum.watched_seconds = watched.seconds;
            sum.steal_seconds = watched.steal_seconds;
            sum.throttled_seconds = watched.throttled_seconds;
        }
    }
    (sum.net, sum.disk) = engines::conditions_of_threads(flows, cpus);
    sum
}

#[cfg(test)]
mod tests {
    use model::document::{DiskConditions, NetConditions};
    use sys::usage::ThreadUsage;

    use super::*;

    fn report(cpu_seconds: f64) -> ThreadReport {
        let used = ThreadUsage { cpu_seconds, ..ThreadUsage::default() };
        ThreadReport { timed_seconds: 2.0, used, ..ThreadReport::default() }
    }

    #[test]
    fn the_thread_that_had_its_cpu_least_is_not_averaged_away() {
        let reports = vec![report(2.0), ThreadReport { migrated: true, ..report(1.0) }, report(2.0)];
        let seen = add_up(reports, true, &[0]);
        assert_eq!((seen.least_cpu_share, seen.cpu_seconds, seen.migrated_threads), (Some(0.5), 5.0, 1));
    }

    #[test]
    fn writes_of_threads_add_up_with_their_flushes() {
        let writing = |rate, filesystem: &str| {
            let filesystem = Some(filesystem.to_owned());
            let disk = DiskConditions { flushed_bytes_per_second: rate, filesystem, ..DiskConditions::default() };
            let seen = Observations { disk: Some(disk), ..Observations::default() };
            ThreadReport { of_flow: Some(Box::new(seen)), ..report(0.1) }
        };
        let disk = add_up(vec![writing(Some(5.0), "first"), writing(Some(7.0), "next")], true, &[0, 1]).disk.unwrap();
        assert_eq!((disk.flushed_bytes_per_second, disk.filesystem.as_deref()), (Some(12.0), Some("first")));
        let unknown = add_up(vec![writing(Some(5.0), ""), writing(None, "")], true, &[0, 1]).disk.unwrap();
        assert_eq!(unknown.flushed_bytes_per_second, None);
    }

    #[test]
    fn threads_that_wait_have_no_least_share_and_add_up_their_bytes() {
        let waiting = |link_bytes, mtu| {
            let net = Some(NetConditions { link_bytes, mtu, ..NetConditions::default() });
            ThreadReport { of_flow: Some(Box::new(Observations { net, ..Observations::default() })), ..report(0.1) }
        };
        let seen = add_up(vec![waiting(Some(5), Some(65536)), waiting(Some(7), None)], true, &[0, 1]);
        let net = seen.net.unwrap();
        assert_eq!((seen.least_cpu_share, net.link_bytes, net.mtu), (None, Some(12), Some(65536)));
        assert_eq!(
            add_up(vec![waiting(Some(5), None), waiting(None, None)], true, &[0, 1]).net.unwrap().link_bytes,
            None
        );
    }
}
