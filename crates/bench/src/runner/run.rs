//! A run: sessions, blocks, order, budgets, and waiting for a quiet machine.

use std::collections::BTreeMap;

use model::document::{Document, MachineState, MachineStates, Row, RunInfo, SCHEMA, TimerFacts};
use model::experiment::{Area, id_without_threads};
use stats::random::Random;
use sys::clock::{Calibration, Source, Timer, monotonic_raw_seconds, utc_now};
use sys::process;

use super::assemble;
use super::paired_tool::detected;
use super::progress::{State, initial_states};
use super::setting::{Event, Finished, INTERRUPTED, Setting, TIME_BUDGET, WRITE_BUDGET, Watcher};
use super::storage::{Storage, has_histograms};
use crate::doctor::{Host, wait_until_quiet};
use crate::engines::resources::{Forecast, ResourceContext, RunResources, Scheduling, WriteForecast};
use crate::engines::run_resources;
use crate::journal::{Asked, Entry};
use crate::references::detect::Detected;
use crate::store::{RunFolder, Store};
use model::plan::Plan;
use verdict::judge;

const CALIBRATION: std::time::Duration = std::time::Duration::from_millis(20);
const LOOK_AROUND: std::time::Duration = std::time::Duration::from_millis(100);
/// Maximum share of time for storing unfinished results: on slow disks the time goes to measuring.
const STORING_SHARE: f64 = 0.05;

/// Carries out a plan; stored only if there is a `folder`.
pub fn run(
    plan: &Plan,
    setting: &Setting<'_>,
    folder: Option<&RunFolder>,
    watcher: &mut Watcher<'_>,
) -> Result<Finished, String> {
    let mut run = Run::prepare(plan, setting, folder, watcher);
    let tools = if setting.verify_only { Detected::new() } else { detected(&plan.rows, &setting.places) };
    run.storage.journal = folder.map(|folder| folder.begin_journal(asked(plan, setting, &tools))).transpose()?;
    run.states = initial_states(plan, setting.verify_only, &tools);
    if let Some(folder) = folder {
        folder.write(&run.document_so_far())?;
    }
    Ok(run.carry_out())
}

pub(super) struct Run<'a> {
    pub(super) plan: &'a Plan,
    pub(super) setting: &'a Setting<'a>,
    pub(super) watcher: &'a mut Watcher<'a>,
    /// The document without results, which are in `states`.
    pub(super) document: Document,
    pub(super) states: Vec<State<'a>>,
    pub(super) storage: Storage<'a>,
    resources: BTreeMap<Area, Box<dyn RunResources + 'a>>,
    pub(super) order: Order,
    /// Seconds left for repeats without a time budget.
    pub(super) repeat_seconds: f64,
    clock: (Calibration, Timer),
}

#[derive(Debug)]
pub(super) struct Order {
    pub(super) random: Random,
    pub(super) session: u32,
    pub(super) runs: u32,
    launches_before_session: u32,
}

impl<'a> Run<'a> {
    pub(super) fn prepare(
        plan: &'a Plan,
        setting: &'a Setting<'a>,
        folder: Option<&'a RunFolder>,
        watcher: &'a mut Watcher<'a>,
    ) -> Self {
        let (disk, server, time_budget) = (setting.disk.as_ref(), setting.server, setting.time_budget);
        let context = ResourceContext { plan, disk, server, time_budget };
        let resources =
            plan.areas().into_iter().filter_map(|area| Some((area, run_resources(area, context)?))).collect();
        let calibration = Calibration::begin();
        let mut document = empty_document(plan, setting);
        let timer = calibration.finish(CALIBRATION);
        document.conditions.timer = timer_facts(&timer);
        Self {
            plan,
            setting,
            watcher,
            document,
            states: Vec::new(),
            storage: Storage::new(folder),
            resources,
            order: Order { random: Random::new(plan.seed), session: 1, runs: 0, launches_before_session: 0 },
            repeat_seconds: plan.repeat_share * plan.expected_seconds(),
            clock: (calibration, timer),
        }
    }

    pub(super) fn carry_out(mut self) -> Finished {
        let signal = self.measure();
        self.end(signal)
    }

    /// Measures all benchmarks; returns the signal that ended it.
    fn measure(&mut self) -> Option<i32> {
        for session in 1..=self.plan.sessions {
            let before = self.order.runs;
            self.order.session = session;
            // No pause after a session without process runs.
            if session > 1 && before > self.order.launches_before_session {
                self.pause();
            }
            self.order.launches_before_session = before;
            for area in self.plan.areas() {
                let signal = self.measure_area(area);
                if let Some(resources) = self.resources.get_mut(&area) {
                    resources.release(crate::engines::resources::Release::All);
                }
                if signal.is_some() {
                    return signal;
                }
            }
        }
        None
    }

    /// Pauses between sessions, so that they see different states of the machine.
    fn pause(&self) {
        let until = monotonic_raw_seconds() + self.plan.pause_seconds;
        while process::stop_signal().is_none() && monotonic_raw_seconds() < until {
            std::thread::sleep(LOOK_AROUND);
        }
    }

    /// Measures an area in blocks, each in a new order, some benchmarks before the others; returns the signal that ended it.
    fn measure_area(&mut self, area: Area) -> Option<i32> {
        let mut block = self.last_block(area);
        loop {
            let is_left = |index: &usize| {
                let state = &self.states[*index];
                let done = state.progress.is_done_for(self.order.session, self.plan.sessions);
                state.planned.experiment.area == area && !done
            };
            let mut order: Vec<usize> = (0..self.states.len()).filter(is_left).collect();
            if order.is_empty() {
                return None;
            }
            let is_first = |index: &usize| self.states[*index].planned.first;
            if order.iter().any(is_first) {
                order.retain(is_first);
            }
            block += 1;
            // With a time budget the first block of a slow device keeps the suite's order.
            let in_order = block == 1 && self.setting.time_budget.is_some();
            if !(in_order && self.scheduling(area).first_block_in_order) {
                self.order.random.shuffle(&mut order);
            }
            // Benchmarks that need a state of the drive come first, before others change it.
            order.sort_by_key(|index| !self.states[*index].planned.sampling.until_steady);
            self.wait_until_quiet(area);
            while let Some(index) = self.take_next(&mut order) {
                if process::stop_signal().is_none() {
                    self.continue_with(index, block);
                }
                if let Some(signal) = process::stop_signal() {
                    return Some(signal);
                }
            }
        }
    }

    /// The next benchmark of a block: in order, or with too little time the one with the shortest wait.
    fn take_next(&self, order: &mut Vec<usize>) -> Option<usize> {
        // Those that need a state of the drive stay first.
        let in_front = |index: &usize| self.states[*index].planned.sampling.until_steady;
        let is_short_of_time = || self.work_seconds_left().is_some_and(|left| self.certain_seconds() > left);
        let in_turn = order.first().is_none_or(in_front) || !is_short_of_time();
        let waits = |place: usize| {
            let state = &self.states[order[place]];
            state.progress.waits_beyond_plan(state.planned)
        };
        let least = (0..order.len()).min_by(|one, other| waits(*one).total_cmp(&waits(*other)));
        let place = if in_turn { 0 } else { least? };
        (place < order.len()).then(|| order.remove(place))
    }

    /// The last block of an area in this session; 0 unless the run was resumed.
    fn last_block(&self, area: Area) -> u32 {
        let of_area = self.states.iter().filter(|state| state.planned.experiment.area == area);
        let samples = of_area.flat_map(|state| &state.progress.samples);
        let samples = samples.filter_map(|one| Some(&one.metrics.first()?.sample));
        samples.filter(|sample| sample.session == self.order.session).map(|sample| sample.block).max().unwrap_or(0)
    }

    /// One process run of a benchmark, or one round of two pairs with tools.
    fn continue_with(&mut self, index: usize, block: u32) {
        let state = &self.states[index];
        let tools = state.tools();
        let round = if tools > 0 { 2.0 } else { 1.0 };
        let expected = round * (state.next_run_seconds() + tools as f64 * state.planned.tool_seconds());
        if let Some(left) = self.work_seconds_left().filter(|left| expected > *left) {
            let state = &mut self.states[index];
            if !state.progress.fit_into(left, state.planned) {
                return self.nothing_left_for(index, TIME_BUDGET);
            }
        }
        if self.is_beyond_write_budget(index) {
            return self.nothing_left_for(index, WRITE_BUDGET);
        }
        if tools == 0 {
            self.launch(index, block);
            self.repeat_if_disturbed(index);
        } else {
            self.round(index, block);
        }
        self.result_changed(index);
    }

    /// Ends a benchmark whose budget is used up. The journal records it; the document is stored later.
    fn nothing_left_for(&mut self, index: usize, budget: &str) {
        let state = &mut self.states[index];
        state.progress.out_of(budget);
        if !state.progress.is_left() {
            self.storage.note(&Entry::Enough { id: state.id().to_owned() });
        }
        self.assemble(index);
        self.report_storage_failure();
        (self.watcher)(Event::Finished(&self.states[index].result));
    }

    /// End of measuring in seconds of `CLOCK_MONOTONIC_RAW`, with a reserve for the end of the run.
    pub(super) fn work_ends_at(&self) -> Option<f64> {
        let budget = self.setting.time_budget?;
        let unstored = self.states.iter().filter(|state| !state.histograms_stored && has_histograms(state));
        let each = self.storage.document_seconds / f64::from(self.storage.documents.max(1));
        let closing = closing_seconds(budget, each, unstored.count());
        Some(self.setting.began + budget - closing)
    }

    pub(super) fn work_seconds_left(&self) -> Option<f64> {
        self.work_ends_at().map(|end| end - monotonic_raw_seconds())
    }

    fn certain_seconds(&self) -> f64 {
        self.states.iter().map(State::seconds_left).sum()
    }

    /// Seconds left and share done, from the required work and the overrun so far.
    pub(super) fn outlook(&self) -> (f64, f64) {
        let certain = self.certain_seconds();
        let so_far = self.seconds_so_far();
        let left = certain * longer(so_far, self.plan.expected_seconds(), certain);
        let left = self.setting.time_budget.map_or(left, |budget| left.min((budget - so_far).max(0.0)));
        (left, so_far / (so_far + left).max(1e-9))
    }

    pub(super) fn seconds_so_far(&self) -> f64 {
        monotonic_raw_seconds() - self.setting.began
    }

    fn wait_until_quiet(&mut self, area: Area) {
        let Some(limit) = self.setting.wait_quiet else { return };
        let waited = self.document.conditions.waited_seconds.unwrap_or(0.0);
        self.document.conditions.waited_seconds = Some(waited);
        let at_most = limit - waited;
        if at_most <= 0.0 {
            return;
        }
        (self.watcher)(Event::Waiting(at_most));
        let found = wait_until_quiet(at_most, &mut Host(self.scheduling(area).watched));
        // A look that finds nothing is not a wait.
        let seconds = found.because.as_ref().map_or(0.0, |_| found.seconds);
        self.document.conditions.waited_seconds = Some(waited + seconds);
        if let Some(because) = found.because.filter(|_| !found.quiet && process::stop_signal().is_none()) {
            (self.watcher)(Event::NotQuiet(&because));
        }
    }

    /// Repeats the last process run if it was disturbed and there is time; never with a fixed number of samples.
    fn repeat_if_disturbed(&mut self, index: usize) {
        let planned = self.states[index].planned;
        let best = self.best_ops_per_cycle(&planned.experiment.id);
        let exact = self.plan.repeat.is_some() || self.setting.verify_only || planned.sampling.until_steady;
        let Some(last) = self.states[index].progress.runs.last().filter(|_| !exact) else { return };
        if judge::disturbed(&areas::rules(planned.experiment.area), planned, last, best).is_none() {
            return;
        }
        self.wait_until_quiet(planned.experiment.area);
        let cost = self.states[index].next_run_seconds();
        let spare = self.work_seconds_left().map_or(f64::INFINITY, |left| left - self.outlook().0);
        let share = if self.setting.repeats_fill_budget { f64::INFINITY } else { self.repeat_seconds };
        if cost <= spare.min(share) {
            self.repeat_seconds -= cost;
            self.states[index].progress.ask_again();
            self.storage.note(&Entry::Again { id: planned.experiment.id.clone() });
        }
    }

    pub(super) fn scheduling(&self, area: Area) -> Scheduling {
        self.resources.get(&area).map(|resources| resources.scheduling()).unwrap_or_default()
    }

    pub(super) fn forecast(&self, state: &State<'_>) -> Forecast {
        let resources = self.resources.get(&state.planned.experiment.area);
        resources.map(|resources| resources.forecast(state.next_run())).unwrap_or_default()
    }

    pub(super) fn resources(&mut self, area: Area) -> (Option<&mut (dyn RunResources + 'a)>, &mut Storage<'a>) {
        (self.resources.get_mut(&area).map(|resources| &mut **resources), &mut self.storage)
    }

    fn write_bytes_left(&self) -> Option<u64> {
        let budget = self.setting.write_budget.or(self.plan.write_budget)?;
        let written = self.states.iter().filter_map(|state| self.forecast(state).writes);
        Some(budget.saturating_sub(written.map(|writes| writes.written_bytes).sum()))
    }

    pub(super) fn is_beyond_write_budget(&self, index: usize) -> bool {
        let Some(WriteForecast { file_bytes, request_bytes, .. }) = self.forecast(&self.states[index]).writes else {
            return false;
        };
        self.write_bytes_left().is_some_and(|left| file_bytes.saturating_add(request_bytes) > left)
    }

    /// Bytes that the next process run may write in addition to its file: its share of what is left of the budget, so that
    /// every benchmark has its samples. Rounds until a drive is steady take what they need.
    pub(super) fn most_written_bytes(&self, index: usize) -> Option<u64> {
        let of = |state: &State<'_>| self.forecast(state).writes.filter(|writes| writes.can_stop);
        let state = &self.states[index];
        let own = of(state)?;
        let left = self.write_bytes_left()?.saturating_sub(own.file_bytes);
        if state.progress.is_until_steady() {
            return Some(left);
        }
        let waiting = self.states.iter().filter(|state| !state.progress.is_over());
        let weights = waiting.filter_map(|state| Some(of(state)?.weight_bytes as f64 * f64::from(state.runs_left())));
        let share = own.weight_bytes as f64 / weights.sum::<f64>().max(own.weight_bytes as f64);
        Some(model::unit::whole_part(left as f64 * share))
    }

    fn result_changed(&mut self, index: usize) {
        self.assemble(index);
        let is_over = self.states[index].progress.is_over();
        if is_over || self.storage.document_seconds < STORING_SHARE * self.seconds_so_far() {
            let document = self.document_so_far();
            self.storage.document(&document);
        }
        self.storage.tool_output(&self.states[index]);
        if is_over {
            self.storage.histograms([&mut self.states[index]]);
        }
        self.report_storage_failure();
        let state = &self.states[index];
        let row = &state.result;
        let of = state.progress.wanted();
        (self.watcher)(if is_over { Event::Finished(row) } else { Event::Provisional { row, of } });
    }

    pub(super) fn report_storage_failure(&mut self) {
        if let Some(reason) = self.storage.new_failure() {
            (self.watcher)(Event::CannotStore(reason));
        }
    }

    /// Rebuilds a result.
    pub(super) fn assemble(&mut self, index: usize) {
        // Its own earlier value may rest on few samples.
        self.states[index].result.conditions.ops_per_cycle_p90 = None;
        let others = self.best_ops_per_cycle(self.states[index].id());
        let state = &mut self.states[index];
        state.result = assemble::row(state.planned, &state.progress, others, self.setting);
        let own = state.result.conditions.ops_per_cycle_p90;
        if own > others {
            state.result = assemble::row(state.planned, &state.progress, own, self.setting);
        }
    }

    fn best_ops_per_cycle(&self, id: &str) -> Option<f64> {
        best_ops_per_cycle(id, self.states.iter().map(|state| &state.result))
    }

    /// Ends the run: rebuilds all results, judges them together and writes the last document.
    fn end(mut self, signal: Option<i32>) -> Finished {
        if signal.is_some() {
            for state in self.states.iter_mut().filter(|state| !state.progress.is_over()) {
                state.progress.out_of(INTERRUPTED);
            }
        }
        self.storage.histograms(&mut self.states);
        // All kernels have shown their best by now.
        (0..self.states.len()).for_each(|index| self.assemble(index));
        self.report_storage_failure();
        let mut document = self.document_so_far();
        document.run.complete = signal.is_none();
        document.conditions.after = machine_state(self.setting.began);
        let (calibration, timer) = &self.clock;
        document.conditions.timer.drift = Some(calibration.drift(timer));
        let earlier =
            self.setting.store.clone().map(|root| earlier_runs(&Store::at(root), &document)).unwrap_or_default();
        verdict::run::judge_together(&mut document, &earlier, areas::RULES);
        self.storage.last_document(&document);
        self.report_storage_failure();
        let is_left = self.states.iter().any(|state| state.progress.is_left() || state.progress.has_failed());
        self.storage.end_journal(is_left);
        Finished { document, signal, not_stored: self.storage.failure }
    }

    pub(super) fn document_so_far(&mut self) -> Document {
        self.document.run.seconds = self.seconds_so_far();
        let experiments = self.states.iter().map(|state| state.result.clone()).collect();
        Document { experiments, ..self.document.clone() }
    }
}

/// The most runs of this machine that are read, whether they serve or not.
const MOST_READ: usize = 50;

/// The latest complete runs of this machine before this one.
fn earlier_runs(store: &Store, document: &Document) -> Vec<Document> {
    let runs = store.of_machine(&document.machine, |run| run.complete).map(|(_, earlier)| earlier);
    runs.take(MOST_READ)
        .filter(|run| verdict::history::precedes(run, document))
        .take(verdict::history::MOST_RUNS)
        .collect()
}

fn asked(plan: &Plan, setting: &Setting<'_>, tools: &Detected) -> Asked {
    Asked {
        plan: plan.clone(),
        verify_only: setting.verify_only,
        disk: setting.disk.as_ref().map(|target| (target.directory.clone(), target.named)),
        server: setting.server.map(|server| server.address.to_string()),
        tools: tools.clone(),
    }
}

fn empty_document(plan: &Plan, setting: &Setting<'_>) -> Document {
    Document {
        schema: SCHEMA.to_owned(),
        assay: setting.program.clone(),
        run: RunInfo {
            id: setting.id.clone(),
            suite: plan.suite.clone(),
            started: utc_now(),
            seed: plan.seed,
            label: setting.label.clone(),
            sessions: plan.sessions,
            declared: setting.declared.to_map(),
            not_compared: plan.not_compared.clone(),
            ..RunInfo::default()
        },
        machine: setting.machine.clone(),
        peer: setting.server.map(|server| Box::new(server.peer.clone())),
        conditions: MachineStates { before: machine_state(setting.began), ..MachineStates::default() },
        experiments: Vec::new(),
        answers: Vec::new(),
        findings: Vec::new(),
    }
}

fn timer_facts(timer: &Timer) -> TimerFacts {
    TimerFacts {
        source: if timer.source() == Source::Counter { "counter" } else { "system" }.to_owned(),
        ticks_per_second: timer.ticks_per_second(),
        overhead_seconds: timer.overhead_seconds(),
        precision_seconds: timer.precision_seconds(),
        drift: None,
    }
}

fn machine_state(began: f64) -> MachineState {
    let seen = machine::activity(&machine::Sysroot::host());
    MachineState { at_seconds: Some(monotonic_raw_seconds() - began), ..seen }
}

const LEAST_SECONDS: f64 = 10.0;
/// Seconds for the end of a run on a fast disk: judgement, document, report.
const CLOSING_SECONDS: f64 = 1.0;
const CLOSING_SHARE: f64 = 0.2;
/// Files stored at the end: last result, histograms, document, report.
const CLOSING_STORES: f64 = 4.0;
const CLOSING_SLOWNESS: f64 = 2.0;
/// Share of a file's time for each file of histograms, which are stored together.
const TOGETHER_SHARE: f64 = 0.5;

/// Seconds of a time budget reserved for the end, if a file takes `each`, with this many unstored histograms.
fn closing_seconds(budget: f64, each: f64, histograms: usize) -> f64 {
    let stores = CLOSING_SLOWNESS * CLOSING_STORES + TOGETHER_SHARE * histograms as f64;
    (CLOSING_SECONDS + stores * each).min(CLOSING_SHARE * budget)
}

/// Factor by which the rest will exceed its plan, at least 1: `so_far` seconds were spent on `planned - left` seconds of work.
fn longer(so_far: f64, planned: f64, left: f64) -> f64 {
    let done = planned - left;
    if done < LEAST_SECONDS { 1.0 } else { (so_far / done).max(1.0) }
}

/// The highest operations per cycle that the kernel of a benchmark has shown so far, on any number of threads.
fn best_ops_per_cycle<'a>(id: &str, rows: impl Iterator<Item = &'a Row>) -> Option<f64> {
    let kernel = id_without_threads(id);
    let shown = |row: &'a Row| row.conditions.ops_per_cycle_p90.filter(|_| id_without_threads(&row.id) == kernel);
    rows.filter_map(shown).reduce(f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_was_read_wrong_once_does_not_stay_the_best_of_its_kernel() {
        let row = |id: &str, shown| {
            let mut row = Row::planned(&crate::tests::experiment(), "");
            (row.id, row.conditions.ops_per_cycle_p90) = (id.to_owned(), Some(shown));
            row
        };
        let mut rows =
            [row("cpu/fma/fp64/avx512/t1", 16.0), row("cpu/fma/fp64/avx512/t2", 22.5), row("cpu/x/t1", 32.0)];
        assert_eq!(best_ops_per_cycle("cpu/fma/fp64/avx512/t1", rows.iter()), Some(22.5));
        rows[1].conditions.ops_per_cycle_p90 = Some(15.9);
        assert_eq!(best_ops_per_cycle("cpu/fma/fp64/avx512/t1", rows.iter()), Some(16.0));
        assert_eq!(best_ops_per_cycle("cpu/y/t1", rows.iter()), None);
    }

    #[test]
    fn of_a_budget_its_end_has_a_part_that_grows_with_what_storing_takes_and_never_more_than_a_share() {
        let close = |found: f64, wanted: f64| assert!((found - wanted).abs() < 1e-12, "{found}, not {wanted}");
        close(closing_seconds(60.0, 0.0, 26), 1.0);
        close(closing_seconds(60.0, 0.125, 0), 2.0);
        close(closing_seconds(60.0, 0.125, 16), 3.0);
        close(closing_seconds(60.0, 5.0, 26), 12.0);
        close(closing_seconds(1.0, 0.01, 0), 0.2);
    }

    #[test]
    fn what_took_longer_so_far_takes_longer_still() {
        let close = |found: f64, wanted: f64| assert!((found - wanted).abs() < 1e-12, "{found}, not {wanted}");
        // 200 s of work took 300 s.
        close(longer(300.0, 1200.0, 1000.0), 1.5);
        // What was quick may have been the quick part.
        close(longer(100.0, 1200.0, 1000.0), 1.0);
        for (so_far, planned, left) in [(9.0, 1200.0, 1195.0), (0.0, 0.0, 0.0), (5.0, 10.0, 20.0)] {
            close(longer(so_far, planned, left), 1.0);
        }
    }
}
