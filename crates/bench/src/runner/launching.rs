//! Process runs of a benchmark, and rounds of pairs with reference tools.

use model::experiment::Area;
use model::machine::Machine;
use model::surroundings::{Change, Surroundings};
use model::wire::{DiskTask, Task};
use sys::clock::monotonic_raw_seconds;
use sys::process;

use super::launch::{self, Heard, Patience};
use super::progress::Over;
use super::run::Run;
use super::setting::{Event, WRITE_BUDGET};
use crate::engines::resources::{Provided, Release, User};
use crate::evidence::Outcome;
use crate::journal::{EndedRun, Entry};
use model::plan::Planned;

/// Silence allowed beyond the expected time: finding memory takes time on a busy host.
const PATIENCE_SECONDS: f64 = 60.0;
/// Seconds for workers to end by themselves before the time limit.
const ENDING_SECONDS: f64 = 1.0;
const SHARES: u32 = 3;
const LEAST_SECONDS: f64 = 1.0;
const QUICK_SECONDS: f64 = 0.05;
/// The same for operations that wait: longer than TCP's minimum retransmission timeout, 200 ms (Linux's `TCP_RTO_MIN`).
const QUICK_WAITING_SECONDS: f64 = 0.25;

impl Run<'_> {
    /// Two pairs in opposite order, drawn but in the first round, where tools need our rate. An interrupted one has one left.
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
            // Output is stored before its pair counts: a killed run has more output than pairs, never less.
            self.storage.tool_output(state);
            let tools = state.progress.tools.iter().map(|tool| tool.progress.clone()).collect();
            self.storage.note(&Entry::ReferenceTools { id: state.id().to_owned(), tools });
        }
    }

    fn run_tools(&mut self, index: usize, reverse: bool) {
        let count = self.states[index].progress.tools.len();
        for tool in (0..count).map(|place| if reverse { count - 1 - place } else { place }) {
            if self.states[index].progress.tools[tool].is_alive() && process::stop_signal().is_none() {
                self.run_tool(index, tool);
            }
        }
    }

    fn run_tool(&mut self, index: usize, tool: usize) {
        // Without resources our own process run reports why.
        let Ok(Provided { file, .. }) = self.provide(index, User::Tool) else { return };
        let now = self.seconds_so_far();
        let state = &mut self.states[index];
        let our_rate = state.progress.values().last().copied();
        let (storage, planned) = (&mut self.storage, state.planned);
        let tool = &mut state.progress.tools[tool];
        let overwritten = tool.measure(planned, file.as_ref(), our_rate, now, &mut |lasting| storage.lasting(lasting));
        let area = planned.experiment.area;
        if let (Some(file), (Some(resources), _)) = (file.filter(|_| overwritten), self.resources(area)) {
            resources.release(Release::Contents(&file));
        }
    }

    fn provide(&mut self, index: usize, user: User) -> Result<Provided, String> {
        let planned = self.states[index].planned;
        match self.resources(planned.experiment.area) {
            (Some(resources), storage) => resources.provide(planned, user, &mut |path| storage.will_make(path)),
            (None, _) => Ok(Provided::default()),
        }
    }

    pub(super) fn launch(&mut self, index: usize, block: u32) {
        let expected = self.states[index].next_run_seconds();
        self.order.runs += 1;
        let (seconds_left, done) = self.outlook();
        let rows = (self.states.iter().filter(|state| state.progress.is_over()).count(), self.states.len());
        (self.watcher)(Event::Launching { row: &self.states[index].result, seconds_left, done, rows });
        let began = monotonic_raw_seconds();
        // Before the file is created, since it counts as present from then on.
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

    fn launched(&mut self, index: usize, seconds: f64, outcome: Outcome, around: Change) {
        let state = &mut self.states[index];
        let (id, launch) = (state.id().to_owned(), self.order.runs);
        let ended = EndedRun { id, launch, seconds, around: Box::new(around), outcome: outcome.clone() };
        self.storage.note(&Entry::Launched(ended));
        state.histograms_stored = false;
        state.progress.launched(seconds, outcome, around);
        if state.progress.is_until_steady()
            && self.is_beyond_write_budget(index)
            && let Some(Over::CutShort(reason)) = &mut self.states[index].progress.over
        {
            WRITE_BUDGET.clone_into(reason);
        }
        self.learn(index);
        self.report_storage_failure();
    }

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

    fn surroundings(&self, area: Area) -> Surroundings {
        machine::surroundings(&machine::Sysroot::host(), &self.scheduling(area).watched)
    }

    /// Maximum seconds of the next process run where the device decides its length: a few shares of the time left. `None` for
    /// a fixed amount of work, or a state to be reached.
    fn most_seconds(&self, index: usize) -> Option<f64> {
        let planned = self.states[index].planned;
        let shares_time = self.scheduling(planned.experiment.area).shares_time;
        if !shares_time || planned.exact_work.is_some() || planned.sampling.until_steady {
            return None;
        }
        let expected = f64::from(SHARES) * self.states[index].next_run_seconds();
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
        let (sample_seconds, warm_up_seconds) = if quick {
            let most = if waits { QUICK_WAITING_SECONDS } else { QUICK_SECONDS };
            // It warms up only where that finds the peak rate of an offered load.
            let warm_up = if forecast.warm_up_finds_peak { QUICK_SECONDS } else { 0.0 };
            (sampling.sample_seconds.min(most), [0.0, warm_up])
        } else {
            (sampling.sample_seconds, sampling.warm_up_seconds)
        };
        Task {
            experiment: planned.experiment.clone(),
            cpus: planned.cpus.clone(),
            launch: self.order.runs,
            block,
            session: self.order.session,
            seed: self.order.random.next_u64(),
            samples: state.progress.samples_next(planned),
            sample_seconds,
            exact_work: planned.exact_work.filter(|_| !quick),
            warm_up_seconds,
            run_began: self.setting.began,
            imul_cycles: imul_cycles(self.setting.machine, planned),
            parent: std::process::id(),
            processor: sys::cpuid::processor(),
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

/// Multiplication latency on the benchmark's cores; of mixed core types the least, as the faster chain is the clock.
fn imul_cycles(machine: &Machine, planned: &Planned) -> u32 {
    planned.cpus.iter().map(|cpu| machine::imul_cycles(machine, *cpu)).min().unwrap_or(3)
}
