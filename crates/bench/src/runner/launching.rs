//! One launch of a benchmark, and one round of pairs with reference tools.

use model::experiment::Area;
use model::machine::Machine;
use model::surroundings::{Change, Surroundings};
use model::wire::{DiskTask, Task};
use sys::clock::monotonic_raw_seconds;
use sys::process;

use super::beside::{Beside, Moment};
use super::launch::{self, Heard, Patience};
use super::run::Run;
use super::setting::{Event, WRITE_BUDGET};
use crate::engines::resources::{Forecast, Provided, Release, User};
use crate::evidence::Outcome;
use crate::journal::{Ended, Entry};
use model::plan::Planned;

/// How long a worker may be silent beyond what it was asked to do, in seconds: finding memory on a busy host takes its
/// time.
const PATIENCE_SECONDS: f64 = 60.0;

/// Before the time for measuring is over workers have this long to end by themselves, in seconds.
const ENDING_SECONDS: f64 = 1.0;

/// How many times its share of the time a launch may take: few benchmarks are that much slower than others.
const SHARES: u32 = 3;

/// A launch that is cut short by the time budget may go on for at least this long, in seconds.
const LEAST_SECONDS: f64 = 1.0;

/// Length of a sample that only verifies results, in seconds.
const QUICK_SECONDS: f64 = 0.05;

/// The same where a single operation can wait for something: longer than TCP's shortest retransmission timeout, 200 ms
/// (`TCP_RTO_MIN`, `include/net/tcp.h`).
const QUICK_WAITING_SECONDS: f64 = 0.25;

impl Run<'_> {
    /// Two pairs, ours first in the one and theirs first in the other. Which of the orders begins is drawn, but for the
    /// first round: tools size their work by ours. Of a round that was cut off after its first pair only the second is
    /// left.
    pub(super) fn round(&mut self, index: usize, block: u32) {
        let progress = &self.states[index].progress;
        let begin_with_theirs = !progress.samples.is_empty() && self.order.random.below(2) == 1;
        let orders = match progress.theirs_first_in_half_a_round() {
            Some(theirs_first) => vec![!theirs_first],
            None => vec![begin_with_theirs, !begin_with_theirs],
        };
        for theirs_first in orders {
            if self.states[index].progress.is_over() || process::stop_signal().is_some() {
                return;
            }
            if theirs_first {
                self.run_tools(index, true);
                self.launch(index, block);
            } else {
                self.launch(index, block);
                self.run_tools(index, false);
            }
            let state = &mut self.states[index];
            state.progress.complete_pairs();
            // What a pair rests on is stored before it counts: a run that is killed here has more output than pairs,
            // never less.
            self.storage.tool_output(state);
            let tools = state.progress.beside.iter().map(Beside::so_far).collect();
            self.storage.note(&Entry::Beside { id: state.id().to_owned(), tools });
        }
    }

    /// Runs every tool alongside a benchmark once, in their order or the reverse.
    fn run_tools(&mut self, index: usize, reverse: bool) {
        let mut order: Vec<usize> = (0..self.states[index].progress.beside.len()).collect();
        if reverse {
            order.reverse();
        }
        for tool in order {
            if self.states[index].progress.beside[tool].is_alive() && process::stop_signal().is_none() {
                self.run_tool(index, tool);
            }
        }
    }

    fn run_tool(&mut self, index: usize, tool: usize) {
        // Without its resources our own launch reports why.
        let Ok(Provided { file, .. }) = self.provide(index, User::Tool) else { return };
        let now = self.seconds_so_far();
        let state = &mut self.states[index];
        let our_rate = state.progress.values().last().copied();
        let moment = Moment { planned: state.planned, file: file.as_ref(), our_rate, now };
        let storage = &mut self.storage;
        let overwritten = state.progress.beside[tool].measure(moment, &mut |lasting| storage.lasting(lasting));
        let area = state.planned.experiment.area;
        if let (Some(file), (Some(resources), _)) = (file.filter(|_| overwritten), self.resources(area)) {
            resources.release(Release::Contents(&file));
        }
    }

    /// What the next launch of a benchmark needs, created if it is not there yet.
    fn provide(&mut self, index: usize, user: User) -> Result<Provided, String> {
        let planned = self.states[index].planned;
        match self.resources(planned.experiment.area) {
            (Some(resources), storage) => resources.provide(planned, user, &mut |path| storage.will_make(path)),
            (None, _) => Ok(Provided::default()),
        }
    }

    /// One worker process of a benchmark.
    pub(super) fn launch(&mut self, index: usize, block: u32) {
        let expected = self.states[index].next_launch_seconds();
        self.order.launches += 1;
        let (seconds_left, done) = self.outlook();
        let rows = (self.states.iter().filter(|state| state.progress.is_over()).count(), self.states.len());
        self.watcher.event(Event::Launching { row: &self.states[index].result, seconds_left, done, rows });
        let began = monotonic_raw_seconds();
        // Asked before the file is created: from then on it counts as there.
        let most_written_bytes = self.most_written_bytes(index);
        let provided = match self.provide(index, User::Worker) {
            Ok(provided) => provided,
            Err(reason) => return self.launched(index, 0.0, Outcome::Failed(reason), Change::default()),
        };
        let task = self.task(index, block, provided, most_written_bytes);
        let area = task.experiment.area;
        let before = self.surroundings(area);
        let patience = Patience { silent: 10.0 * expected + PATIENCE_SECONDS, ends_at: self.work_ends_at() };
        let (storage, progress) = (&mut self.storage, &mut self.states[index].progress);
        let Heard { outcome, preparing_seconds } =
            launch::launch(&self.setting.worker, &task, patience, &mut |repetition| {
                storage.sample(&task.experiment.id, &repetition);
                progress.pending(repetition);
            });
        progress.preparing_seconds += preparing_seconds;
        let around = self.surroundings(area).since(&before);
        self.launched(index, monotonic_raw_seconds() - began, outcome, around);
    }

    /// A launch of a benchmark has ended.
    fn launched(&mut self, index: usize, seconds: f64, outcome: Outcome, around: Change) {
        let state = &mut self.states[index];
        let (id, launch) = (state.id().to_owned(), self.order.launches);
        let ended = Ended { id, launch, seconds, around: Box::new(around), outcome: outcome.clone() };
        self.storage.note(&Entry::Launched(ended));
        state.histograms_stored = false;
        state.progress.launched(seconds, outcome, around);
        if state.progress.is_until_steady() && self.is_beyond_write_budget(index) {
            self.states[index].progress.was_cut_by(WRITE_BUDGET);
        }
        self.learn(index);
        self.report_storage_failure();
    }

    /// Lets the area learn from the last sample of a benchmark, for those that were not launched yet.
    fn learn(&mut self, index: usize) {
        let (planned, area) = (self.states[index].planned, self.states[index].planned.experiment.area);
        let Some(last) = self.states[index].progress.samples.last().cloned() else { return };
        if let (Some(resources), _) = self.resources(area) {
            resources.learn(planned, &last);
        }
        for index in 0..self.states.len() {
            let waits_seconds = self.forecast(&self.states[index]).waits_seconds;
            self.states[index].progress.waits_seconds = waits_seconds;
        }
    }

    /// What the kernel counts now of what an area depends on.
    fn surroundings(&self, area: Area) -> Surroundings {
        machine::surroundings(&machine::Sysroot::host(), &self.scheduling(area).watched)
    }

    /// How long the next launch of a benchmark may go on, where the device alone decides how long it takes: a few times
    /// its share of the time that is left. `None` where there is an amount of work to be done in full, or a state to be
    /// reached.
    fn most_seconds(&self, index: usize) -> Option<f64> {
        let planned = self.states[index].planned;
        let shares_time = self.scheduling(planned.experiment.area).shares_time;
        if !shares_time || planned.exact_work.is_some() || planned.sampling.until_steady {
            return None;
        }
        let expected = f64::from(SHARES) * self.states[index].next_launch_seconds();
        let Some(left) = self.work_seconds_left() else { return Some(expected.max(PATIENCE_SECONDS)) };
        let unfinished = self.states.iter().filter(|state| !state.progress.is_over()).count();
        Some((f64::from(SHARES) * left / unfinished.max(1) as f64).max(LEAST_SECONDS))
    }

    fn task(&mut self, index: usize, block: u32, provided: Provided, most_written_bytes: Option<u64>) -> Task {
        let state = &self.states[index];
        let planned = state.planned;
        let sampling = &planned.sampling;
        let quick = self.setting.verify_only;
        let forecast = self.forecast(state);
        let waits = self.scheduling(planned.experiment.area).operations_wait;
        Task {
            experiment: planned.experiment.clone(),
            cpus: planned.cpus.clone(),
            launch: self.order.launches,
            block,
            session: self.order.session,
            seed: self.order.random.next_u64(),
            samples: state.progress.samples_next(planned),
            sample_seconds: if quick { quick_seconds(planned, waits) } else { sampling.sample_seconds },
            exact_work: planned.exact_work.filter(|_| !quick),
            warm_up_seconds: if quick { quick_warm_up(forecast) } else { sampling.warm_up_seconds },
            run_began: self.setting.began,
            imul_cycles: imul_cycles(self.setting.machine, planned),
            parent: std::process::id(),
            until_steady: state.progress.is_until_steady(),
            most_seconds: self.most_seconds(index),
            ends_at: self.work_ends_at().map(|end| end - ENDING_SECONDS - forecast.drain_seconds),
            disk: provided.file.map(|file| DiskTask {
                file,
                precondition: sampling.until_steady && !quick,
                most_written_bytes,
            }),
            ends: provided.ends,
        }
    }
}

/// Length of the only sample that verifies results.
fn quick_seconds(planned: &Planned, operations_wait: bool) -> f64 {
    planned.sampling.sample_seconds.min(if operations_wait { QUICK_WAITING_SECONDS } else { QUICK_SECONDS })
}

/// The warm-up before it: none, but where the warm-up finds the rate of which the load is a share.
const fn quick_warm_up(forecast: Forecast) -> [f64; 2] {
    [0.0, if forecast.warm_up_finds_peak { QUICK_SECONDS } else { 0.0 }]
}

/// Cycles of a multiplication on the cores of a benchmark; the big cores' where core types are mixed, as the larger
/// chain is the clock.
fn imul_cycles(machine: &Machine, planned: &Planned) -> u32 {
    planned.cpus.iter().map(|cpu| machine::imul_cycles(machine, *cpu)).min().unwrap_or(3)
}
