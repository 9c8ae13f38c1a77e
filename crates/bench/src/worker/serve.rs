//! A worker's life: a task from standard input, its threads, and their combined observations.

use std::io::{BufRead, Write};
use std::sync::Mutex;

use model::json::FromJson;
use model::wire::{Message, Observations, Role, Task};
use sys::clock::{Calibration, Source, monotonic_raw_seconds};
use sys::team;

use super::context::{EarlyEnd, Member, RunContext, say};
use super::pacing::CHAINS;
use super::{flow, job, paced};
use crate::engines::{self, Opened, Preparing, Trouble};
use crate::locks::lock;

/// Minimum calibration time: 30 ns brackets over 20 ms give the rate to 3 in 10^6.
const CALIBRATION: std::time::Duration = std::time::Duration::from_millis(20);

/// Carries out one task; fails only if `output` cannot be written.
pub fn serve(input: &mut dyn BufRead, output: &mut (dyn Write + Send)) -> std::io::Result<()> {
    let calibration = Calibration::begin();
    let mut line = String::new();
    input.read_line(&mut line)?;
    let outcome = match Task::from_json(line.as_bytes()) {
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
    is_same_processor(task.processor.as_deref(), sys::cpuid::processor().as_deref())?;
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
        run_thread(Member { context: &context, thread, gate }).map_err(|trouble| {
            let sentence = trouble.as_ref().map(Trouble::to_string).unwrap_or_default();
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

/// Checks that the runner and this worker see the same processor. Under qemu-user the runner is emulated, and the programs
/// that it starts are not: its plan is for another processor.
fn is_same_processor(of_runner: Option<&str>, of_worker: Option<&str>) -> Result<(), Trouble> {
    match (of_runner, of_worker) {
        (Some(runner), Some(worker)) if runner != worker => Err(Trouble::Failed(format!(
            "the program runs on an emulated processor ({runner}), but the processes that measure run on another one \
             ({worker}): start assay without the emulator"
        ))),
        _ => Ok(()),
    }
}

pub(super) fn run_thread(member: Member<'_, '_>) -> Result<Observations, EarlyEnd> {
    let began = monotonic_raw_seconds();
    match member.context.engine.open(member.context.task, member.thread).map_err(Some)? {
        Opened::Paced(trial) => paced::run(member, trial, began),
        Opened::Flow(flow) => flow::run(member, flow, began),
        Opened::Job { job, bound } => job::run(member, job, bound, began),
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

fn add_up(mut reports: Vec<Observations>, counter_timer: bool, cpus: &[u32]) -> Observations {
    // What only the first thread observes is in its report.
    let mut sum = Observations { counter_timer, ..reports.first().cloned().unwrap_or_default() };
    for report in reports.iter_mut().skip(1) {
        let most = |one: Option<f64>, other: Option<f64>| one.into_iter().chain(other).reduce(f64::max);
        let least = |one: Option<f64>, other: Option<f64>| one.into_iter().chain(other).reduce(f64::min);
        sum.least_cpu_share = least(sum.least_cpu_share, report.least_cpu_share);
        sum.migrated_threads += report.migrated_threads;
        sum.setup_seconds = sum.setup_seconds.max(report.setup_seconds);
        sum.warm_up_seconds = sum.warm_up_seconds.max(report.warm_up_seconds);
        sum.warm_up_change = most(sum.warm_up_change, report.warm_up_change);
        sum.timed_seconds += report.timed_seconds;
        sum.cpu_seconds += report.cpu_seconds;
        sum.gap_seconds += report.gap_seconds;
        sum.involuntary_switches += report.involuntary_switches;
        sum.page_faults += report.page_faults;
        sum.ops_per_cycle.append(&mut report.ops_per_cycle);
        sum.clock_disagreement.append(&mut report.clock_disagreement);
        sum.pages_obtained = least(sum.pages_obtained, report.pages_obtained);
        sum.order_seconds = most(sum.order_seconds, report.order_seconds);
        if sum.clock_source != report.clock_source {
            CHAINS.clone_into(&mut sum.clock_source);
        }
    }
    (sum.net, sum.disk) = engines::conditions_of_threads(reports, cpus);
    sum
}

#[cfg(test)]
mod tests {
    use model::document::{DiskConditions, NetConditions};

    use super::*;

    fn report(cpu_seconds: f64) -> Observations {
        Observations { cpu_seconds, least_cpu_share: Some(cpu_seconds / 2.0), ..Observations::default() }
    }

    #[test]
    fn a_worker_refuses_the_task_of_a_runner_on_an_emulated_processor() {
        let here = sys::cpuid::processor();
        assert!(
            is_same_processor(here.as_deref(), here.as_deref()).is_ok() && is_same_processor(None, Some("any")).is_ok()
        );
        let task =
            Task { processor: Some("AuthenticAMD 60fb1 QEMU TCG CPU version 2.5+".to_owned()), ..crate::tests::task() };
        let mut said = Vec::new();
        serve(&mut format!("{}\n", serde_json::to_string(&task).unwrap()).as_bytes(), &mut said).unwrap();
        let said = String::from_utf8(said).unwrap();
        let refused = said.contains("emulated processor (AuthenticAMD 60fb1 QEMU TCG CPU version 2.5+)");
        assert_eq!(refused, here.is_some(), "{said}");
    }

    #[test]
    fn the_thread_that_had_its_cpu_least_is_not_averaged_away() {
        let reports = vec![report(2.0), Observations { migrated_threads: 1, ..report(1.0) }, report(2.0)];
        let seen = add_up(reports, true, &[0]);
        assert_eq!((seen.least_cpu_share, seen.cpu_seconds, seen.migrated_threads), (Some(0.5), 5.0, 1));
    }

    #[test]
    fn writes_of_threads_add_up_with_their_flushes() {
        let writing = |rate, filesystem: &str| {
            let filesystem = Some(filesystem.to_owned());
            let disk = DiskConditions { flushed_bytes_per_second: rate, filesystem, ..DiskConditions::default() };
            Observations { disk: Some(disk), ..Observations::default() }
        };
        let disk = add_up(vec![writing(Some(5.0), "first"), writing(Some(7.0), "next")], true, &[0, 1]).disk.unwrap();
        assert_eq!((disk.flushed_bytes_per_second, disk.filesystem.as_deref()), (Some(12.0), Some("first")));
        let unknown = add_up(vec![writing(Some(5.0), ""), writing(None, "")], true, &[0, 1]).disk.unwrap();
        assert_eq!(unknown.flushed_bytes_per_second, None);
    }

    #[test]
    fn threads_that_wait_add_up_their_bytes() {
        let of_link = |bytes: [Option<u64>; 2]| {
            let net = |link_bytes| NetConditions { link_bytes, mtu: Some(65536), ..NetConditions::default() };
            let reports = bytes.map(|bytes| Observations { net: Some(net(bytes)), ..Observations::default() });
            add_up(reports.into(), true, &[0, 1]).net.unwrap()
        };
        assert_eq!((of_link([Some(5), Some(7)]).link_bytes, of_link([Some(5), None]).link_bytes), (Some(12), None));
        assert_eq!(of_link([None, None]).mtu, Some(65536));
    }
}
