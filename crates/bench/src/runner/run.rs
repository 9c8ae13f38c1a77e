//! A run: sessions, blocks and the order of launches, the time and write budgets, and waiting for a quiet machine.

use std::collections::BTreeMap;

use model::document::{Document, MachineState, MachineStates, RunInfo, SCHEMA, TimerFacts};
use model::experiment::{Area, id_without_threads};
use stats::random::Random;
use sys::clock::{Calibration, Source, Timer, monotonic_raw_seconds, utc_now};
use sys::process;

use super::beside::detected;
use super::outlook::{closing_seconds, longer};
use super::setting::{Ending, Event, Finished, Setting, TIME_BUDGET, WRITE_BUDGET, Watcher};
use super::state::{State, initial_states};
use super::storage::{Storage, has_histograms_to_store};
use crate::asked::Asked;
use crate::doctor::{Host, wait_until_quiet};
use crate::engines::resources::{Forecast, ResourceContext, RunResources, Scheduling, WriteForecast};
use crate::engines::run_resources;
use crate::journal::Entry;
use crate::references::detect::Detected;
use crate::store::RunFolder;
use model::plan::Plan;
use verdict::judge;

/// Least time over which the runner calibrates its timer.
const CALIBRATION: std::time::Duration = std::time::Duration::from_millis(20);

/// How often we look, between two sessions, whether we are to stop.
const LOOK_AROUND: std::time::Duration = std::time::Duration::from_millis(100);

/// Storing a benchmark that is not finished may take this share of the time: on a slow disk that goes to measuring.
const STORING_SHARE: f64 = 0.05;

/// Carries out a plan. `folder` is where the run is stored; without one it is not.
///
/// # Errors
/// One sentence: the folder cannot be written to, before anything has been measured.
pub fn run(
    plan: &Plan,
    setting: &Setting<'_>,
    folder: Option<&RunFolder>,
    watcher: &mut dyn Watcher,
) -> Result<Finished, String> {
    Ok(Run::begin(plan, setting, folder, watcher)?.carry_out())
}

/// A run that is going on.
pub(super) struct Run<'a> {
    pub(super) plan: &'a Plan,
    pub(super) setting: &'a Setting<'a>,
    pub(super) watcher: &'a mut dyn Watcher,
    /// The document without its results, which the states hold.
    pub(super) document: Document,
    /// One for each benchmark of the plan, in its order.
    pub(super) states: Vec<State<'a>>,
    pub(super) storage: Storage<'a>,
    /// What the areas keep between their launches.
    resources: BTreeMap<Area, Box<dyn RunResources + 'a>>,
    pub(super) order: Order,
    /// Seconds that may still be spent on repeating disturbed launches, where no time budget is given.
    pub(super) repeat_seconds: f64,
    /// The timer as it was calibrated when the run began, to be checked when it ends.
    pub(super) clock: (Calibration, Timer),
    /// The most operations per cycle of each kernel (an id without its threads) that any benchmark has shown.
    pub(super) best_ops_per_cycle: BTreeMap<String, f64>,
}

/// Where a run is in its interleaved order.
#[derive(Debug)]
pub(super) struct Order {
    pub(super) random: Random,
    /// The session, counted from 1.
    pub(super) session: u32,
    pub(super) launches: u32,
    launches_before_session: u32,
}

impl<'a> Run<'a> {
    fn begin(
        plan: &'a Plan,
        setting: &'a Setting<'a>,
        folder: Option<&'a RunFolder>,
        watcher: &'a mut dyn Watcher,
    ) -> Result<Self, String> {
        let mut run = Self::prepare(plan, setting, folder, watcher);
        let tools = if setting.verify_only { Detected::new() } else { detected(&plan.rows, &setting.places) };
        run.storage.journal = folder.map(|folder| folder.begin_journal(asked(plan, setting, &tools))).transpose()?;
        run.states = initial_states(plan, setting.verify_only, &tools);
        if let Some(folder) = folder {
            folder.write(&run.document_so_far())?;
        }
        Ok(run)
    }

    /// A run of which nothing has been measured, without benchmarks and a journal.
    pub(super) fn prepare(
        plan: &'a Plan,
        setting: &'a Setting<'a>,
        folder: Option<&'a RunFolder>,
        watcher: &'a mut dyn Watcher,
    ) -> Self {
        let context = ResourceContext {
            plan,
            disk: setting.disk.as_ref(),
            server: setting.server,
            time_budget: setting.time_budget,
        };
        let areas = plan.areas();
        let resources = areas.iter().filter_map(|area| Some((*area, run_resources(*area, context)?))).collect();
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
            storage: Storage::new(folder, None),
            resources,
            order: Order { random: Random::new(plan.seed), session: 1, launches: 0, launches_before_session: 0 },
            repeat_seconds: plan.repeat_share * plan.expected_seconds(),
            clock: (calibration, timer),
            best_ops_per_cycle: BTreeMap::new(),
        }
    }

    /// Measures all that is left.
    pub(super) fn carry_out(mut self) -> Finished {
        let ending = self.measure();
        self.end(ending)
    }

    fn measure(&mut self) -> Ending {
        for session in 1..=self.plan.sessions {
            let before = self.order.launches;
            self.order.session = session;
            // Between sessions of which nothing was left there is nothing to wait for.
            if session > 1 && before > self.order.launches_before_session {
                self.pause();
            }
            self.order.launches_before_session = before;
            for area in self.plan.areas() {
                let signal = self.measure_area(area);
                if let Some(resources) = self.resources.get_mut(&area) {
                    resources.release(crate::engines::resources::Release::All);
                }
                if let Some(signal) = signal {
                    return Ending::Interrupted(signal);
                }
            }
        }
        Ending::Complete
    }

    /// Waits between two sessions, so that they see different states of the machine.
    fn pause(&self) {
        let until = monotonic_raw_seconds() + self.plan.pause_seconds;
        while process::stop_signal().is_none() && monotonic_raw_seconds() < until {
            std::thread::sleep(LOOK_AROUND);
        }
    }

    /// Blocks of all unfinished benchmarks of an area, each block in a new order; a signal, if one ended it.
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
            block += 1;
            // What a slow device leaves no time for is what comes last in the suite: the first block is in its order.
            let in_order = block == 1 && self.setting.time_budget.is_some();
            if !(in_order && self.scheduling(area).first_block_in_order) {
                self.order.random.shuffle(&mut order);
            }
            // What needs a drive in a state of its own comes before all that could change it.
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

    /// The benchmark of a block that comes next: in their order, but where there is too little time for all of them
    /// those that wait the least for a slow device.
    fn take_next(&self, order: &mut Vec<usize>) -> Option<usize> {
        // What needs a state of the drive stays in front.
        let in_front = |index: &usize| self.states[*index].planned.sampling.until_steady;
        let in_turn = order.first().is_none_or(in_front) || !self.is_short_of_time();
        let waits = |place: usize| {
            let state = &self.states[order[place]];
            state.progress.waits_beyond_plan(state.planned)
        };
        let least = (0..order.len()).min_by(|one, other| waits(*one).total_cmp(&waits(*other)));
        let place = if in_turn { 0 } else { least? };
        (place < order.len()).then(|| order.remove(place))
    }

    /// Whether all that is certainly left will not fit into the time that is left.
    fn is_short_of_time(&self) -> bool {
        self.work_seconds_left().is_some_and(|left| self.certain_seconds() > left)
    }

    /// The last block of an area in this session; 0 unless it was begun before the run was cut off.
    fn last_block(&self, area: Area) -> u32 {
        let of_area = self.states.iter().filter(|state| state.planned.experiment.area == area);
        let samples = of_area.flat_map(|state| &state.progress.samples);
        let samples = samples.filter_map(|one| Some(&one.metrics.first()?.sample));
        samples.filter(|sample| sample.session == self.order.session).map(|sample| sample.block).max().unwrap_or(0)
    }

    /// One launch of a benchmark; with reference tools alongside, one round of two pairs.
    fn continue_with(&mut self, index: usize, block: u32) {
        let state = &self.states[index];
        let tools = state.tools();
        let round = if tools > 0 { 2.0 } else { 1.0 };
        let expected = round * (state.next_launch_seconds() + tools as f64 * state.planned.tool_seconds());
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

    /// A benchmark gets no other launch: a budget is used up. The document is stored with the next benchmark that is
    /// measured, or at the end of the run, which may be near: until then the journal has what is to be known of it.
    fn nothing_left_for(&mut self, index: usize, budget: &str) {
        let state = &mut self.states[index];
        state.progress.out_of(budget);
        if !state.progress.is_left() {
            self.storage.note(&Entry::Enough { id: state.id().to_owned() });
        }
        self.assemble(index);
        self.report_storage_failure();
        self.watcher.event(Event::Finished { row: &self.states[index].result });
    }

    /// When measuring has to end, in seconds of `CLOCK_MONOTONIC_RAW`, where there is a time budget: the end of the run
    /// takes its time too.
    pub(super) fn work_ends_at(&self) -> Option<f64> {
        let budget = self.setting.time_budget?;
        let histograms = self.states.iter().filter(|state| has_histograms_to_store(state)).count();
        let closing = closing_seconds(budget, self.storage.seconds_of_a_document(), histograms);
        Some(self.setting.began + budget - closing)
    }

    /// Seconds until then.
    pub(super) fn work_seconds_left(&self) -> Option<f64> {
        self.work_ends_at().map(|end| end - monotonic_raw_seconds())
    }

    /// Expected cost of all that is certainly still to come, in seconds.
    fn certain_seconds(&self) -> f64 {
        self.states.iter().map(State::seconds_left).sum()
    }

    /// Seconds left and share done, by the expected cost of what is certainly still to come and by how much longer than
    /// certain everything has taken so far.
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

    /// Waits until other processes finish, where the user asked for it and there is time left for it.
    fn wait_until_quiet(&mut self, area: Area) {
        let Some(limit) = self.setting.wait_quiet else { return };
        let waited = self.document.conditions.waited_seconds.unwrap_or(0.0);
        self.document.conditions.waited_seconds = Some(waited);
        let at_most = limit - waited;
        if at_most <= 0.0 {
            return;
        }
        self.watcher.event(Event::Waiting { at_most });
        let found = wait_until_quiet(at_most, &mut Host::watching(self.scheduling(area).watched));
        // A look that finds nothing is no waiting.
        let seconds = found.because.as_ref().map_or(0.0, |_| found.seconds);
        self.document.conditions.waited_seconds = Some(waited + seconds);
        if let Some(because) = found.because.filter(|_| !found.quiet && process::stop_signal().is_none()) {
            self.watcher.event(Event::NotQuiet { because: &because });
        }
    }

    /// Asks for the samples of the last launch once more, if it was disturbed and there is time. Where the user chose
    /// the number of samples nothing is repeated.
    fn repeat_if_disturbed(&mut self, index: usize) {
        let planned = self.states[index].planned;
        let best = self.best_ops_per_cycle.get(&id_without_threads(&planned.experiment.id)).copied();
        let exact = self.plan.repeat.is_some() || self.setting.verify_only || planned.sampling.until_steady;
        let Some(last) = self.states[index].progress.launches.last().filter(|_| !exact) else { return };
        if judge::disturbed(&areas::rules(planned.experiment.area), planned, last, best).is_none() {
            return;
        }
        self.wait_until_quiet(planned.experiment.area);
        let cost = self.states[index].next_launch_seconds();
        let spare = self.work_seconds_left().map_or(f64::INFINITY, |left| left - self.outlook().0);
        let share = if self.setting.repeats_fill_budget { f64::INFINITY } else { self.repeat_seconds };
        if cost <= spare.min(share) {
            self.repeat_seconds -= cost;
            self.states[index].progress.ask_again();
            self.storage.note(&Entry::Again { id: planned.experiment.id.clone() });
        }
    }

    /// How an area's launches are scheduled.
    pub(super) fn scheduling(&self, area: Area) -> Scheduling {
        self.resources.get(&area).map(|resources| resources.scheduling()).unwrap_or_default()
    }

    /// What is expected of the next launch of a benchmark.
    pub(super) fn forecast(&self, state: &State<'_>) -> Forecast {
        let resources = self.resources.get(&state.planned.experiment.area);
        resources.map(|resources| resources.forecast(state.next_launch())).unwrap_or_default()
    }

    /// What a benchmark's area keeps, with the states and the storage.
    pub(super) fn resources(&mut self, area: Area) -> (Option<&mut (dyn RunResources + 'a)>, &mut Storage<'a>) {
        (self.resources.get_mut(&area).map(|resources| &mut **resources), &mut self.storage)
    }

    /// Bytes that may still be written; `None` where there is no budget.
    fn write_bytes_left(&self) -> Option<u64> {
        let budget = self.setting.write_budget.or(self.plan.write_budget)?;
        let written = self.states.iter().filter_map(|state| self.forecast(state).writes);
        Some(budget.saturating_sub(written.map(|writes| writes.written_bytes).sum()))
    }

    /// Whether what a benchmark certainly writes next exceeds the write budget.
    pub(super) fn is_beyond_write_budget(&self, index: usize) -> bool {
        let Some(WriteForecast { file_bytes, request_bytes, .. }) = self.forecast(&self.states[index]).writes else {
            return false;
        };
        self.write_bytes_left().is_some_and(|left| file_bytes.saturating_add(request_bytes) > left)
    }

    /// What the next launch of a benchmark may write besides its file.
    pub(super) fn most_written_bytes(&self, index: usize) -> Option<u64> {
        let writes = self.forecast(&self.states[index]).writes.filter(|writes| writes.can_stop)?;
        self.write_bytes_left().map(|left| left.saturating_sub(writes.file_bytes))
    }

    /// Rebuilds a result, stores the document, and tells the watcher.
    fn result_changed(&mut self, index: usize) {
        self.assemble(index);
        let is_over = self.states[index].progress.is_over();
        if is_over || self.storage.document_seconds() < STORING_SHARE * self.seconds_so_far() {
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
        self.watcher.event(if is_over { Event::Finished { row } } else { Event::Provisional { row, of } });
    }

    /// Tells the watcher once that the run cannot be stored any more.
    pub(super) fn report_storage_failure(&mut self) {
        if let Some(reason) = self.storage.new_failure() {
            self.watcher.event(Event::CannotStore { reason });
        }
    }

    /// The document as it is now.
    pub(super) fn document_so_far(&mut self) -> Document {
        self.document.run.seconds = self.seconds_so_far();
        let experiments = self.states.iter().map(|state| state.result.clone()).collect();
        Document { experiments, ..self.document.clone() }
    }
}

/// What a run is asked to do, for its journal.
fn asked(plan: &Plan, setting: &Setting<'_>, tools: &Detected) -> Asked {
    Asked {
        plan: plan.clone(),
        verify_only: setting.verify_only,
        disk: setting.disk.as_ref().map(|target| (target.directory.display().to_string(), target.named)),
        server: setting.server.map(|server| server.address().to_string()),
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
            seconds: 0.0,
            seed: plan.seed,
            complete: false,
            grade: None,
            sessions: plan.sessions,
            declared: setting.declared.to_map(),
            resumed: Vec::new(),
        },
        machine: setting.machine.clone(),
        peer: setting.server.map(|server| Box::new(server.peer().clone())),
        conditions: MachineStates { before: machine_state(setting.began), ..MachineStates::default() },
        experiments: Vec::new(),
        findings: Vec::new(),
    }
}

/// The timer for the record.
fn timer_facts(timer: &Timer) -> TimerFacts {
    TimerFacts {
        source: if timer.source() == Source::Counter { "counter" } else { "system" }.to_owned(),
        ticks_per_second: timer.ticks_per_second(),
        overhead_seconds: timer.overhead_seconds(),
        precision_seconds: timer.precision_seconds(),
        drift: None,
    }
}

/// The state of the machine now.
pub(super) fn machine_state(began: f64) -> MachineState {
    let seen = machine::activity(&machine::Sysroot::host());
    MachineState {
        load_average: seen.load_average,
        memory_available_bytes: seen.memory_available_bytes,
        steal_seconds: seen.steal_seconds,
        at_seconds: Some(monotonic_raw_seconds() - began),
    }
}
