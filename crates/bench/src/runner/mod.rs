//! The runner: carries out a plan, launch by launch in an interleaved order, and keeps the document up to date as it
//! goes.
//!
//! It decides when a row has enough samples; it never works itself and prints nothing. Whoever watches is told by
//! events.

mod assemble;
mod beside;
mod held;
mod launch;
mod outlook;
mod pace;
mod resume;
mod row;
mod storing;
mod writes;

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use model::document::{Document, MachineState, MachineStates, Program, Row, RunInfo, SCHEMA, TimerFacts};
use model::experiment::{Area, LOOPBACK, Params, id_without_threads};
use model::machine::Machine;
use model::sample::MetricName;
use model::surroundings::{Change, Surroundings};
use model::warning::Grade;
use model::wire::{Ends, HeldFile, Role, Task};
use stats::random::Random;
use sys::clock::{Calibration, Source, Timer, monotonic_raw_seconds, utc_now};
use sys::process;

use crate::asked::Asked;
use crate::doctor::{Host, wait_until_quiet};
use crate::journal::{Ended, Entry, Journal};
use crate::judge;
use crate::net::Visit;
use crate::net::preface::Token;
use crate::plan::{Plan, Planned};
use crate::reference::detect::Places;
use crate::reference::run::Lasting;
use crate::store::RunFolder;
use crate::target::DiskTarget;
pub(crate) use assemble::add_journalled;
pub(crate) use beside::{BLOCK_SECONDS, BesideSoFar, Detected};
use beside::{Beside, Moment, beside_rows, detected};
use held::Held;
pub(crate) use launch::Outcome;
pub use launch::WorkerCommand;
use launch::{Heard, Patience};
use outlook::{closing_seconds, layout_seconds, longer};
use pace::Pace;
pub use resume::{CutOff, go_on};
use row::Progressing;
pub use writes::WRITE_BUDGET;

/// The interface that rows between two processes of this machine go through.
const INSIDE: &str = "lo";

/// The reason of a row that the time budget left no time for.
pub const TIME_BUDGET: &str = "time_budget";

/// The reason of a row that was not reached before the run was interrupted.
pub const INTERRUPTED: &str = "interrupted";

/// Least time over which the runner calibrates its timer.
const CALIBRATION: std::time::Duration = std::time::Duration::from_millis(20);

/// How long a worker may be silent beyond what it was asked to do, in seconds: finding memory on a busy host takes its
/// time.
const PATIENCE_SECONDS: f64 = 60.0;

/// Before the time for measuring is over workers have this long to come to their end by themselves, in seconds.
const ENDING_SECONDS: f64 = 1.0;

/// The most that this time is made longer for a device that has requests in flight, in seconds: what is known of its
/// rate may be far too low.
const LONGEST_DRAIN_SECONDS: f64 = 2.0;

/// Storing a row that is not finished may take this share of the time: on a slow disk that goes to measuring.
const STORING_SHARE: f64 = 0.05;

/// How many times its share of the time a launch may take: few rows are that much slower than others.
const SHARES: u32 = 3;

/// A launch that is cut short for want of time may go on for at least so long, in seconds.
const LEAST_SECONDS: f64 = 1.0;

/// How often we look, between two sessions, whether we are to stop.
const LOOK_AROUND: std::time::Duration = std::time::Duration::from_millis(100);

/// Length of a sample that only checks results, in seconds.
const QUICK_SECONDS: f64 = 0.05;

/// The same where a single operation can wait for something: longer than TCP's shortest time until it sends again,
/// 200 ms (`TCP_RTO_MIN`, `include/net/tcp.h`).
const QUICK_WAITING_SECONDS: f64 = 0.25;

/// What a run is given besides its plan.
#[derive(Debug)]
pub struct Setting<'a> {
    /// How to start workers.
    pub worker: WorkerCommand,
    /// The machine.
    pub machine: &'a Machine,
    /// What the user declared.
    pub declared: &'a machine::Declared,
    /// This program.
    pub program: Program,
    /// The run's name.
    pub id: String,
    /// Seconds for the whole run.
    pub time_budget: Option<f64>,
    /// Bytes that may be written to disks, where another budget was named than the plan's.
    pub write_budget: Option<u64>,
    /// Whether disturbed launches may be repeated for all the time that the budget leaves, as somebody who names one means
    /// it; else only for the suite's share of the expected time.
    pub repeats_fill_budget: bool,
    /// Seconds that may be spent in all on waiting for a quiet machine; `None` to measure at once.
    pub wait_quiet: Option<f64>,
    /// `CLOCK_MONOTONIC_RAW` when the program began, in seconds.
    pub began: f64,
    /// Run each experiment once, briefly, to check its results.
    pub verify_only: bool,
    /// Where disks are measured.
    pub disk: Option<DiskTarget>,
    /// Where trusted tools are looked for.
    pub places: Places,
    /// Whether the run is stored, so that what tools print can be kept.
    pub stored: bool,
    /// The server at the other end of rows between hosts.
    pub visit: Option<&'a Visit>,
}

/// What there is to tell while a run goes on.
#[derive(Debug)]
pub enum Event<'a> {
    /// A launch begins.
    Launching {
        /// Which row.
        row: &'a Row,
        /// Seconds that the rest of the run will take, as far as can be told.
        seconds_left: f64,
        /// Share of the run that is done.
        done: f64,
        /// Rows that are over, and all rows.
        rows: (usize, usize),
    },
    /// A row has more samples, and is not finished.
    Provisional {
        /// The row so far.
        row: &'a Row,
        /// Samples that it is to have at least.
        of: u32,
    },
    /// A row is finished.
    Finished {
        /// The row.
        row: &'a Row,
    },
    /// Something others do is waited for.
    Waiting {
        /// Seconds for which it is waited at most.
        at_most: f64,
    },
    /// The time for waiting is spent, and the machine is still not quiet; the run goes on.
    NotQuiet {
        /// What others do.
        because: &'a str,
    },
    /// The run cannot be stored any more; it goes on.
    CannotStore {
        /// Why.
        reason: &'a str,
    },
}

/// Whoever watches a run.
pub trait Watcher {
    /// Something has happened.
    fn event(&mut self, event: Event<'_>);
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Every row was reached, or skipped for a reason of its own.
    Complete,
    /// A signal stopped it.
    Interrupted(i32),
}

/// A finished run.
#[derive(Debug)]
pub struct Finished {
    /// What was measured.
    pub document: Document,
    /// How it ended.
    pub ending: Ending,
    /// Why it could not be stored to the end, if it could not.
    pub not_stored: Option<String>,
}

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
    let run = Run::begin(plan, setting, folder, watcher)?;
    Ok(run.carry_out())
}

struct Run<'a> {
    plan: &'a Plan,
    setting: &'a Setting<'a>,
    folder: Option<&'a RunFolder>,
    journal: Option<Journal>,
    watcher: &'a mut dyn Watcher,
    document: Document,
    /// What has come of each row of the plan, in its order.
    rows: Vec<Progressing>,
    launches: u32,
    /// How many there had been when the session began.
    launches_before_session: u32,
    /// Files of disk rows.
    held: Held,
    random: Random,
    /// The session, counted from 1.
    session: u32,
    /// Seconds that may still be spent on repeating what others have disturbed, where no time budget is given.
    repeat_seconds: f64,
    not_stored: Option<String>,
    /// How quick the disk is.
    pace: Pace,
    /// Rows whose histograms are in their files.
    histograms_stored: BTreeSet<usize>,
    /// Times that the document was stored.
    stored: u32,
    /// Seconds that it took.
    storing_seconds: f64,
    /// The timer as it was calibrated when the run began, to be checked when it ends.
    calibration: Calibration,
    timer: Timer,
    /// The most operations per cycle of each kernel (an id without its threads), as any row of it has shown.
    best_ops_per_cycle: BTreeMap<String, f64>,
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
        run.journal = folder.map(|folder| folder.begin_journal(asked(plan, setting, &tools))).transpose()?;
        if let Some(folder) = folder {
            folder.write(&run.document)?;
        }
        run.rows = begin_rows(plan, setting.verify_only, &tools);
        Ok(run)
    }

    /// A run of which nothing has been measured, without rows and a journal.
    fn prepare(
        plan: &'a Plan,
        setting: &'a Setting<'a>,
        folder: Option<&'a RunFolder>,
        watcher: &'a mut dyn Watcher,
    ) -> Self {
        if plan.areas().contains(&Area::Disk) {
            // Where that cannot be done each page is read when it is needed, which only takes its time.
            let _ = sys::code::read_in();
        }
        let calibration = Calibration::begin();
        let mut document = empty_document(plan, setting);
        let timer = calibration.finish(CALIBRATION);
        document.conditions.timer = timer_facts(&timer);
        Self {
            plan,
            setting,
            folder,
            journal: None,
            watcher,
            document,
            rows: Vec::new(),
            launches: 0,
            launches_before_session: 0,
            held: Held::default(),
            random: Random::new(plan.seed),
            session: 1,
            repeat_seconds: plan.repeat_share * plan.expected_seconds(),
            not_stored: None,
            pace: Pace::default(),
            histograms_stored: BTreeSet::new(),
            stored: 0,
            storing_seconds: 0.0,
            best_ops_per_cycle: BTreeMap::new(),
            calibration,
            timer,
        }
    }

    /// Measures all that is left.
    fn carry_out(mut self) -> Finished {
        let ending = self.measure();
        self.end(ending)
    }

    fn measure(&mut self) -> Ending {
        for session in 1..=self.plan.sessions {
            let before = self.launches;
            self.session = session;
            // Between sessions of which nothing was left there is nothing to wait for.
            if session > 1 && before > self.launches_before_session {
                self.pause();
            }
            self.launches_before_session = before;
            for area in self.plan.areas() {
                let signal = self.measure_area(area);
                // The space of a test file is needed no longer than its area.
                self.held.let_go();
                if let Some(signal) = signal {
                    return Ending::Interrupted(signal);
                }
            }
        }
        Ending::Complete
    }

    /// Lets some time pass between two sessions, so that they see different moods of the machine.
    fn pause(&self) {
        let until = monotonic_raw_seconds() + self.plan.pause_seconds;
        while process::stop_signal().is_none() && monotonic_raw_seconds() < until {
            std::thread::sleep(LOOK_AROUND);
        }
    }

    /// Blocks of all unfinished rows of an area, each block in a new order but for a disk's first, and but for one where
    /// time is short; a signal, if one ended it.
    fn measure_area(&mut self, area: Area) -> Option<i32> {
        let mut block = self.last_block(area);
        loop {
            let of_area = |index: &usize| self.plan.rows[*index].experiment.area == area;
            let mut order: Vec<usize> =
                (0..self.rows.len()).filter(of_area).filter(|index| !self.has_its_share(*index)).collect();
            if order.is_empty() {
                return None;
            }
            block += 1;
            // What a slow disk leaves no time for is what comes last in the suite: the first block is in its order.
            if block > 1 || area != Area::Disk || self.setting.time_budget.is_none() {
                self.random.shuffle(&mut order);
            }
            // What needs a drive in a state of its own comes before all that could change it.
            order.sort_by_key(|index| !self.plan.rows[*index].sampling.until_steady);
            self.wait_until_quiet(area);
            while let Some(index) = self.take_next(&mut order) {
                if process::stop_signal().is_none() {
                    self.go_on_with(index, block);
                }
                if let Some(signal) = process::stop_signal() {
                    return Some(signal);
                }
            }
        }
    }

    /// The row of a block that comes next: in their order, but where there is too little time for all of them those that
    /// wait the least for a slow device.
    fn take_next(&self, order: &mut Vec<usize>) -> Option<usize> {
        // What needs a state of the drive stays in front.
        let in_front = |index: &usize| self.plan.rows[*index].sampling.until_steady;
        let in_turn = order.first().is_none_or(in_front) || !self.is_short_of_time();
        let waits = |place: usize| self.rows[order[place]].waits_beyond_plan(&self.plan.rows[order[place]]);
        let least = (0..order.len()).min_by(|one, other| waits(*one).total_cmp(&waits(*other)));
        let place = if in_turn { 0 } else { least? };
        (place < order.len()).then(|| order.remove(place))
    }

    /// Whether all that is certainly left will not fit into the time that is left.
    fn is_short_of_time(&self) -> bool {
        self.work_seconds_left().is_some_and(|left| self.certain_seconds() > left)
    }

    /// Learns from the last sample of a row how quick the disk is, for rows that were not launched yet.
    fn note_pace(&mut self, index: usize) {
        let Params::Disk(params) = &self.plan.rows[index].experiment.params else { return };
        let last = |name: MetricName| {
            let sample = self.rows[index].samples.last()?.metrics.iter().find(|metric| metric.name == name)?;
            Some(sample.sample.value)
        };
        let (Some(iops), Some(throughput)) = (last(MetricName::Iops), last(MetricName::Throughput)) else { return };
        self.pace.note(params, iops, throughput);
        for (row, planned) in self.rows.iter_mut().zip(&self.plan.rows) {
            if let Params::Disk(params) = &planned.experiment.params {
                row.waits_seconds = self.pace.waits_seconds(params);
            }
        }
    }

    /// The last block of an area in this session; 0 unless it was begun before the run was cut off.
    fn last_block(&self, area: Area) -> u32 {
        let of_area = self.rows.iter().zip(&self.plan.rows).filter(|(_, planned)| planned.experiment.area == area);
        let samples = of_area.flat_map(|(row, _)| &row.samples).filter_map(|one| Some(&one.metrics.first()?.sample));
        samples.filter(|sample| sample.session == self.session).map(|sample| sample.block).max().unwrap_or(0)
    }

    /// Whether a row needs no more launches in this session.
    fn has_its_share(&self, index: usize) -> bool {
        self.rows[index].is_done_for(self.session, self.plan.sessions)
    }

    /// One launch of a row; with trusted tools beside it, one round of two pairs.
    fn go_on_with(&mut self, index: usize, block: u32) {
        let planned = &self.plan.rows[index];
        let tools = self.rows[index].beside.iter().filter(|beside| beside.is_alive()).count();
        let round = if tools > 0 { 2.0 } else { 1.0 };
        let expected = round * (self.rows[index].next_launch_seconds(planned) + tools as f64 * planned.tool_seconds());
        let left = self.work_seconds_left();
        if left.is_some_and(|left| expected > left && !self.rows[index].fit_into(left, planned)) {
            return self.nothing_left_for(index, TIME_BUDGET);
        }
        if self.is_beyond_write_budget(index) {
            return self.nothing_left_for(index, WRITE_BUDGET);
        }
        if tools == 0 {
            self.launch_row(index, block);
            self.repeat_if_disturbed(index);
        } else {
            self.round(index, block);
        }
        self.row_changed(index);
    }

    /// A row gets no other launch: of what the run may take nothing is left for it. The document is stored with the next row
    /// that is measured, or at the end of the run, which may be near: until then the journal has what is to be known of it.
    fn nothing_left_for(&mut self, index: usize, budget: &str) {
        self.rows[index].out_of(budget);
        if !self.rows[index].is_left() {
            self.note(&Entry::Enough { id: self.id(index) });
        }
        self.assemble(index);
        self.watcher.event(Event::Finished { row: &self.document.experiments[index] });
    }

    /// When measuring has to end, in seconds of `CLOCK_MONOTONIC_RAW`, where there is a time budget: the end of the run
    /// takes its time too.
    fn work_ends_at(&self) -> Option<f64> {
        let budget = self.setting.time_budget?;
        let closing = closing_seconds(budget, self.seconds_of_a_store(), self.histograms_to_store());
        Some(self.setting.began + budget - closing)
    }

    /// Seconds until then.
    fn work_seconds_left(&self) -> Option<f64> {
        self.work_ends_at().map(|end| end - monotonic_raw_seconds())
    }

    /// Expected cost of all that is certainly still to come, in seconds.
    fn certain_seconds(&self) -> f64 {
        self.rows.iter().zip(&self.plan.rows).map(|(row, planned)| row.seconds_left(planned)).sum()
    }

    /// Lets others finish what they do, where the user asked for it and there is time left for it.
    fn wait_until_quiet(&mut self, area: Area) {
        let Some(limit) = self.setting.wait_quiet else { return };
        let waited = self.document.conditions.waited_seconds.unwrap_or(0.0);
        self.document.conditions.waited_seconds = Some(waited);
        let at_most = limit - waited;
        if at_most <= 0.0 {
            return;
        }
        self.watcher.event(Event::Waiting { at_most });
        let found = wait_until_quiet(at_most, &mut Host::watching(self.watched(area)));
        // A look that finds nothing is no waiting.
        let seconds = found.because.as_ref().map_or(0.0, |_| found.seconds);
        self.document.conditions.waited_seconds = Some(waited + seconds);
        if let Some(because) = found.because.filter(|_| !found.quiet && process::stop_signal().is_none()) {
            self.watcher.event(Event::NotQuiet { because: &because });
        }
    }

    /// Asks for the samples of the last launch once more, if others disturbed it and there is time. Where the user said
    /// how many there are to be, there are so many.
    fn repeat_if_disturbed(&mut self, index: usize) {
        let planned = &self.plan.rows[index];
        let best = self.best_ops_per_cycle.get(&id_without_threads(&planned.experiment.id)).copied();
        let exact = self.plan.repeat.is_some() || self.setting.verify_only || planned.sampling.until_steady;
        let Some(last) = self.rows[index].launches.last().filter(|_| !exact) else { return };
        if judge::disturbed(planned, last, best).is_none() {
            return;
        }
        self.wait_until_quiet(planned.experiment.area);
        let cost = self.rows[index].next_launch_seconds(planned);
        let spare = self.work_seconds_left().map_or(f64::INFINITY, |left| left - self.outlook().0);
        let share = if self.setting.repeats_fill_budget { f64::INFINITY } else { self.repeat_seconds };
        if cost <= spare.min(share) {
            self.repeat_seconds -= cost;
            self.rows[index].ask_again();
            self.note(&Entry::Again { id: self.id(index) });
        }
    }

    /// Two pairs, ours first in the one and theirs first in the other. Which of the orders begins is drawn, but for the
    /// first round: tools size their work by ours. Of a round that was cut off after its first pair only the second is left.
    fn round(&mut self, index: usize, block: u32) {
        let begin_with_theirs = !self.rows[index].samples.is_empty() && self.random.below(2) == 1;
        let orders = match self.rows[index].theirs_first_in_half_a_round() {
            Some(theirs_first) => vec![!theirs_first],
            None => vec![begin_with_theirs, !begin_with_theirs],
        };
        for theirs_first in orders {
            if self.rows[index].is_over() || process::stop_signal().is_some() {
                return;
            }
            if theirs_first {
                self.run_tools(index, true);
                self.launch_row(index, block);
            } else {
                self.launch_row(index, block);
                self.run_tools(index, false);
            }
            self.rows[index].complete_pairs();
            // What a pair rests on is stored before it counts: a run that is killed here has more output than pairs, never
            // less.
            self.store_raw(index);
            let tools = self.rows[index].beside.iter().map(Beside::so_far).collect();
            self.note(&Entry::Beside { id: self.id(index), tools });
        }
    }

    /// Runs every tool beside a row once, in their order or the reverse.
    fn run_tools(&mut self, index: usize, reverse: bool) {
        let mut order: Vec<usize> = (0..self.rows[index].beside.len()).collect();
        if reverse {
            order.reverse();
        }
        for tool in order {
            if self.rows[index].beside[tool].is_alive() && process::stop_signal().is_none() {
                self.run_tool(index, tool);
            }
        }
    }

    fn run_tool(&mut self, index: usize, tool: usize) {
        // Without the file the row itself will say why.
        let Ok(file) = self.file_for(index) else { return };
        let now = self.seconds_so_far();
        let our_rate = self.rows[index].values().last().copied();
        let moment = Moment { planned: &self.plan.rows[index], file: file.as_ref(), our_rate, now };
        let journal = &mut self.journal;
        let overwritten = self.rows[index].beside[tool].measure(moment, &mut |lasting| {
            // What cannot be journalled is not lost: the tool ends by itself, only later, and its files have no names.
            journal.as_mut().map(|journal| match lasting {
                Lasting::Process(group) => journal.started(group),
                Lasting::File(path) => journal.will_make(path),
            });
        });
        for file in file.iter().filter(|_| overwritten).flat_map(HeldFile::all) {
            self.held.overwritten(&file.path);
        }
    }

    fn launch_row(&mut self, index: usize, block: u32) {
        let planned = &self.plan.rows[index];
        let expected = self.rows[index].next_launch_seconds(planned);
        self.launches += 1;
        let (seconds_left, done) = self.outlook();
        let rows = (self.rows.iter().filter(|row| row.is_over()).count(), self.rows.len());
        self.watcher.event(Event::Launching { row: &self.document.experiments[index], seconds_left, done, rows });
        let began = monotonic_raw_seconds();
        self.held.let_go_of_overwritten();
        // Asked before the file is made: from then on it counts as there.
        let most_written_bytes = self.most_written_bytes(index);
        let there = without_server(planned, self.setting.visit).map_or(Ok(()), Err);
        let file = match there.and_then(|()| self.file_for(index)) {
            Ok(file) => file,
            Err(reason) => return self.launched(index, 0.0, Outcome::Failed(reason), Change::default()),
        };
        let task = Task { most_written_bytes, ..self.task(index, block, file) };
        let before = self.look_around(index);
        let patience = Patience { silent: 10.0 * expected + PATIENCE_SECONDS, ends_at: self.work_ends_at() };
        let (journal, row) = (&mut self.journal, &mut self.rows[index]);
        let mut lost: Option<io::Error> = None;
        let Heard { outcome, preparing_seconds } =
            launch::launch(&self.setting.worker, &task, patience, &mut |repetition| {
                if let Some(journal) = journal.as_mut() {
                    lost = lost.take().or(journal.sample(&task.experiment.id, &repetition).err());
                }
                row.pending(repetition);
            });
        row.preparing_seconds += preparing_seconds;
        let around = self.look_around(index).since(&before);
        if let Some(error) = lost {
            self.cannot_journal(&error);
        }
        self.launched(index, monotonic_raw_seconds() - began, outcome, around);
    }

    /// A launch of a row is over.
    fn launched(&mut self, index: usize, seconds: f64, outcome: Outcome, around: Change) {
        let (id, kept) = (self.id(index), Box::new(around));
        let ended = Ended { id, launch: self.launches, seconds, around: kept, outcome: outcome.clone() };
        self.note(&Entry::Launched(ended));
        self.histograms_stored.remove(&index);
        self.rows[index].launched(seconds, outcome, around);
        if self.rows[index].is_until_steady() && self.is_beyond_write_budget(index) {
            self.rows[index].was_cut_by(WRITE_BUDGET);
        }
        self.note_pace(index);
    }

    /// Notes in the journal what has come of a row.
    fn note(&mut self, entry: &Entry) {
        if let Some(Err(error)) = self.journal.as_mut().map(|journal| journal.note(entry)) {
            self.cannot_journal(&error);
        }
    }

    fn cannot_journal(&mut self, error: &io::Error) {
        self.cannot_store(&format!("cannot write the run's journal: {error}"));
    }

    fn id(&self, index: usize) -> String {
        self.plan.rows[index].experiment.id.clone()
    }

    /// What the kernel counts just now of what a row depends on.
    fn look_around(&self, index: usize) -> Surroundings {
        let area = self.plan.rows[index].experiment.area;
        machine::surroundings(&machine::Sysroot::host(), &self.watched(area))
    }

    /// What rows of an area depend on besides the CPUs.
    fn watched(&self, area: Area) -> machine::Watched {
        let disks = match self.setting.disk.as_ref().filter(|_| area == Area::Disk) {
            Some(target) => target.storage.chain.iter().map(|device| device.name.clone()).collect(),
            None => Vec::new(),
        };
        let interface = match self.setting.visit {
            _ if area != Area::Net => None,
            Some(visit) => visit.interface(),
            None => Some(INSIDE.to_owned()),
        };
        machine::Watched { disks, interface }
    }

    /// The file that a row works on, made if it is not there yet.
    fn file_for(&mut self, index: usize) -> Result<Option<HeldFile>, String> {
        let target = self.setting.disk.as_ref();
        let file = self.held.file_for(&self.plan.rows[index], self.plan, target, self.journal.as_mut())?;
        let layout_seconds = layout_seconds(self.plan.layout_seconds, self.setting.time_budget);
        Ok(file.map(|file| held::laid_out_within(layout_seconds, file)))
    }

    /// How long the next launch of a row may go on, where the device alone decides how long it takes: a few times its
    /// share of the time that is left, so that a slow device costs no row more than that. `None` where there is an
    /// amount of work to be done in full, or a state to be reached.
    fn most_seconds(&self, index: usize) -> Option<f64> {
        let planned = &self.plan.rows[index];
        let sampling = &planned.sampling;
        if planned.experiment.area != Area::Disk || planned.exact_work.is_some() || sampling.until_steady {
            return None;
        }
        let expected = f64::from(SHARES) * self.rows[index].next_launch_seconds(planned);
        let Some(left) = self.work_seconds_left() else { return Some(expected.max(PATIENCE_SECONDS)) };
        let rows = self.rows.iter().filter(|row| !row.is_over()).count();
        Some((f64::from(SHARES) * left / rows.max(1) as f64).max(LEAST_SECONDS))
    }

    /// Seconds that the device needs for what a row has in flight when its time is over.
    fn drain_seconds(&self, planned: &Planned) -> f64 {
        let Params::Disk(params) = &planned.experiment.params else { return 0.0 };
        self.pace.drain_seconds(params).min(LONGEST_DRAIN_SECONDS)
    }

    fn task(&mut self, index: usize, block: u32, file: Option<HeldFile>) -> Task {
        let planned = &self.plan.rows[index];
        let sampling = &planned.sampling;
        let quick = self.setting.verify_only;
        Task {
            experiment: planned.experiment.clone(),
            cpus: planned.cpus.clone(),
            launch: self.launches,
            block,
            session: self.session,
            seed: self.random.next_u64(),
            samples: self.rows[index].samples_next(planned),
            sample_seconds: if quick { quick_seconds(planned) } else { sampling.sample_seconds },
            exact_work: planned.exact_work.filter(|_| !quick),
            warm_up_seconds: if quick { quick_warm_up(planned) } else { sampling.warm_up_seconds },
            run_began: self.setting.began,
            imul_cycles: imul_cycles(self.setting.machine, planned),
            parent: std::process::id(),
            until_steady: self.rows[index].is_until_steady(),
            most_seconds: self.most_seconds(index),
            ends_at: self.work_ends_at().map(|end| end - ENDING_SECONDS - self.drain_seconds(planned)),
            most_written_bytes: None,
            precondition: sampling.until_steady && !quick,
            file,
            ends: ends(planned, self.setting.visit),
        }
    }

    /// Rebuilds a row of the document, stores it, and tells the watcher.
    fn row_changed(&mut self, index: usize) {
        self.assemble(index);
        self.document.run.seconds = self.seconds_so_far();
        if self.rows[index].is_over() || self.storing_seconds < STORING_SHARE * self.seconds_so_far() {
            self.store();
        }
        self.store_raw(index);
        if self.rows[index].is_over() {
            self.store_histograms([index]);
        }
        let row = &self.document.experiments[index];
        if self.rows[index].is_over() {
            self.watcher.event(Event::Finished { row });
        } else {
            self.watcher.event(Event::Provisional { row, of: self.rows[index].wanted() });
        }
    }

    /// Rebuilds a row of the document, and remembers what its kernel has shown.
    fn assemble(&mut self, index: usize) {
        let planned = &self.plan.rows[index];
        let kernel = id_without_threads(&planned.experiment.id);
        let best = self.best_ops_per_cycle.get(&kernel).copied();
        let mut row = assemble::row(planned, &self.rows[index], best, self.setting);
        let shown = row.conditions.ops_per_cycle_p90;
        if shown > best {
            row = assemble::row(planned, &self.rows[index], shown, self.setting);
            self.best_ops_per_cycle.extend(shown.map(|shown| (kernel, shown)));
        }
        self.document.experiments[index] = row;
    }

    fn seconds_so_far(&self) -> f64 {
        monotonic_raw_seconds() - self.setting.began
    }

    /// Seconds left and share done, by the expected cost of what is certainly still to come and by how much longer than
    /// certain everything has taken so far.
    fn outlook(&self) -> (f64, f64) {
        let certain = self.certain_seconds();
        let so_far = self.seconds_so_far();
        let left = certain * longer(so_far, self.plan.expected_seconds(), certain);
        let left = self.setting.time_budget.map_or(left, |budget| left.min((budget - so_far).max(0.0)));
        (left, so_far / (so_far + left).max(1e-9))
    }

    fn end(mut self, ending: Ending) -> Finished {
        if ending != Ending::Complete {
            for index in 0..self.rows.len() {
                if !self.rows[index].is_over() {
                    self.rows[index].out_of(INTERRUPTED);
                }
            }
        }
        self.store_histograms(0..self.rows.len());
        // Every row once more, now that all of them have shown what their kernels can do.
        (0..self.rows.len()).for_each(|index| self.assemble(index));
        self.document.run.complete = ending == Ending::Complete;
        self.document.run.seconds = self.seconds_so_far();
        judge::hold_against_each_other(&mut self.document.experiments);
        self.document.run.grade = headline_grade(&self.document.experiments);
        self.document.conditions.after = state(self.setting.began);
        self.document.conditions.timer.drift = Some(self.calibration.drift(&self.timer));
        crate::scaling::set(&mut self.document.experiments);
        crate::findings::memory::levels::set(&mut self.document.experiments, self.setting.machine);
        assemble::set_core_ceiling(&mut self.document.experiments);
        self.document.findings = crate::findings::findings(&self.document.experiments, self.setting.machine);
        // The document is stored even if it could not be in between: space may have been made.
        match self.folder.map(|folder| folder.write(&self.document)) {
            Some(Err(reason)) => self.cannot_store(&reason),
            Some(Ok(())) => self.not_stored = None,
            None => {}
        }
        let is_left = self.rows.iter().any(|row| row.is_left() || row.has_failed());
        match self.journal.take().filter(|_| self.not_stored.is_none()) {
            Some(journal) if is_left => journal.leave(),
            Some(journal) => journal.close(),
            None => {}
        }
        Finished { document: self.document, ending, not_stored: self.not_stored }
    }
}

/// What a run is asked, for its journal.
fn asked(plan: &Plan, setting: &Setting<'_>, tools: &Detected) -> Asked {
    Asked {
        plan: plan.clone(),
        verify_only: setting.verify_only,
        disk: setting.disk.as_ref().map(|target| (target.directory.display().to_string(), target.named)),
        server: setting.visit.map(|visit| visit.address().to_string()),
        tools: tools.clone(),
    }
}

/// The rows of a plan before anything has come of them, with the tools that are beside them.
fn begin_rows(plan: &Plan, verify_only: bool, tools: &Detected) -> Vec<Progressing> {
    let progressing = |row: &Planned| {
        // The number of pairs is fixed beforehand: no stop rule.
        let pairs = (!row.beside.is_empty()).then_some(row.sampling.samples);
        Progressing::new(row, plan.repeat.or(pairs), verify_only)
    };
    let mut rows: Vec<Progressing> = plan.rows.iter().map(progressing).collect();
    let pairs = |row: &Planned| plan.repeat.unwrap_or(row.sampling.samples);
    let beside = if verify_only { Vec::new() } else { beside_rows(&plan.rows, &pairs, tools) };
    for (row, beside) in rows.iter_mut().zip(beside) {
        row.beside = beside;
    }
    rows
}

/// The worst grade of the headline rows: all that were measured but the scalar ones, which only stand beside.
fn headline_grade(rows: &[Row]) -> Option<Grade> {
    let is_headline = |row: &&Row| !row.id.contains("/scalar/");
    rows.iter().filter(is_headline).filter_map(|row| row.grade).max()
}

/// Length of the only sample of a mere check of results.
fn quick_seconds(planned: &Planned) -> f64 {
    let waits = matches!(planned.experiment.area, Area::Disk | Area::Net);
    planned.sampling.sample_seconds.min(if waits { QUICK_WAITING_SECONDS } else { QUICK_SECONDS })
}

/// The warm-up before it: none, but for rows that find in theirs what their load is a share of.
fn quick_warm_up(planned: &Planned) -> [f64; 2] {
    let finds_its_load = matches!(&planned.experiment.params, Params::Disk(params) if params.load_percent.is_some());
    [0.0, if finds_its_load { QUICK_SECONDS } else { 0.0 }]
}

/// Whether a row goes to a server on another host.
fn is_visit(planned: &Planned) -> bool {
    matches!(&planned.experiment.params, Params::Net(params) if params.path != LOOPBACK)
}

/// Why a row that goes to a server cannot be launched now, if it cannot.
fn without_server(planned: &Planned, visit: Option<&Visit>) -> Option<String> {
    match (&planned.experiment.params, visit) {
        (Params::Net(params), Some(visit)) if is_visit(planned) => visit.obstacle(params.mode),
        _ if is_visit(planned) => Some("no server is being visited; name one with --to".to_owned()),
        _ => None,
    }
}

/// What the measuring end of a row between two processes, or two hosts, is told.
fn ends(planned: &Planned, visit: Option<&Visit>) -> Option<Ends> {
    let role = Role::Measure;
    if is_visit(planned) {
        return visit.map(|visit| Ends {
            role,
            address: Some(visit.address().to_string()),
            token: visit.token().as_str().to_owned(),
            other_cpus: Vec::new(),
        });
    }
    (!planned.other_cpus.is_empty()).then(|| Ends {
        role,
        address: None,
        token: Token::new().as_str().to_owned(),
        other_cpus: planned.other_cpus.clone(),
    })
}

/// Cycles of a multiplication on the cores of a row; the big cores' where kinds are mixed, as the larger chain is the
/// clock.
fn imul_cycles(machine: &Machine, planned: &Planned) -> u32 {
    planned.cpus.iter().map(|cpu| machine::imul_cycles(machine, *cpu)).min().unwrap_or(3)
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
        peer: setting.visit.map(|visit| Box::new(visit.peer().clone())),
        conditions: MachineStates { before: state(setting.began), ..MachineStates::default() },
        experiments: plan.empty_rows(),
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
fn state(began: f64) -> MachineState {
    let seen = machine::activity(&machine::Sysroot::host());
    MachineState {
        load_average: seen.load_average,
        memory_available_bytes: seen.memory_available_bytes,
        steal_seconds: seen.steal_seconds,
        at_seconds: Some(monotonic_raw_seconds() - began),
    }
}
