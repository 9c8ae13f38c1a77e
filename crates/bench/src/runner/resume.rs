//! Resumes an interrupted run (signal, time budget, `kill -9`, power failure).
//!
//! Its journal is replayed through the functions of a measurement; the rest follows in an order drawn from seed and resumes.

use std::collections::BTreeMap;
use std::path::Path;

use model::document::{Document, Resumed};
use model::machine::Machine;
use stats::random::Random;
use sys::clock::utc_now;
use sys::file::read_regular;

use super::paired_tool::detected;
use super::progress::{Progress, State, initial_states};
use super::run::Run;
use super::setting::{Finished, Setting, TIME_BUDGET, WRITE_BUDGET, Watcher};
use crate::journal::{Asked, Entry, Journal, Reopening};
use crate::references::left::end_left_tools;
use crate::store::{self, DOCUMENT, MOST_DOCUMENT_BYTES, RunFolder, Store, load_file};

/// Added to the seed at each resume: the golden ratio in 64 bits (as in `SplitMix64`) separates neighbouring seeds.
const SEED_STEP: u64 = 0x9E37_79B9_7F4A_7C15;
/// Tolerated change of memory after a reboot: the kernel's own part.
const MEMORY_SHARE: f64 = 0.01;
const NEW_RUN: &str = "start a new run";

/// An interrupted run, locked against other processes while this exists.
#[derive(Debug)]
pub struct CutOff {
    pub folder: RunFolder,
    pub document: Document,
    pub asked: Asked,
    entries: Vec<Entry>,
    journal: Journal,
    retry_failed: bool,
}

impl CutOff {
    /// Opens a run by folder, `run.json`, or name in the store.
    pub fn open(store: &Store, run: &str, retry_failed: bool) -> Result<Self, String> {
        let folder = store.folder(run)?;
        let document = load_file(&folder.path().join(DOCUMENT))?;
        let (journal, entries) = Journal::reopen(folder.path()).map_err(|why| refusal(run, &document, &why))?;
        let asked = entries.iter().find_map(|entry| if let Entry::Asked(asked) = entry { Some(asked) } else { None });
        let asked = asked.map(|asked| Asked::clone(asked)).ok_or_else(|| {
            let version = &document.assay.version;
            format!("the run '{run}' has no plan: another version ({version}) began it; {NEW_RUN}")
        })?;
        if let Some(tool) = asked.unknown_tool() {
            return Err(format!(
                "the run '{run}' uses the reference tool '{tool}', which this version does not support; {NEW_RUN}"
            ));
        }
        end_left_tools();
        store::sweep_entries(folder.path(), &entries);
        let cut_off = Self { folder, document, asked, entries, journal, retry_failed };
        cut_off.check_left(run)?;
        Ok(cut_off)
    }

    /// Seconds of the run so far, without the pauses between.
    pub fn seconds(&self) -> f64 {
        let sample = |entry: &Entry| match entry {
            Entry::Sample(sample) => {
                let sample = &sample.repetition.metrics.first()?.sample;
                Some(sample.start + sample.seconds)
            }
            _ => None,
        };
        self.entries.iter().filter_map(sample).fold(self.document.run.seconds, f64::max)
    }

    pub fn left(&self) -> Vec<String> {
        let (states, _) = played_back(&self.asked, &self.entries);
        let wanted = |progress: &Progress| progress.is_left() || self.retry_failed && progress.has_failed();
        states.iter().filter(|state| wanted(&state.progress)).map(|state| state.id().to_owned()).collect()
    }

    fn check_left(&self, run: &str) -> Result<(), String> {
        if !self.document.run.complete || !self.left().is_empty() {
            return Ok(());
        }
        let (states, _) = played_back(&self.asked, &self.entries);
        let failed = states.iter().filter(|state| state.progress.has_failed()).count();
        Err(format!("the run '{run}' has only failed benchmarks left ({failed}); use --retry-failed to retry them"))
    }

    /// Fails if the machine or the methods differ.
    pub fn check_same(&self, now: &Machine) -> Result<(), String> {
        let id = &self.document.run.id;
        if let Some(difference) = difference(&self.document.machine, now) {
            return Err(format!("the run '{id}' began on another machine: {difference}; {NEW_RUN}"));
        }
        let rows = &self.asked.plan.rows;
        let cpus = rows.iter().flat_map(|row| &row.cpus).filter(|cpu| !now.cpu.available_cpus.contains(cpu));
        if let Some(cpu) = cpus.min() {
            return Err(format!("the run '{id}' uses CPU {cpu}, which is not available now; allow it, or {NEW_RUN}"));
        }
        let runnable = rows.iter().filter(|row| row.obstacle.is_none()).map(|row| &row.experiment);
        let changed = runnable.filter(|one| areas::method(one).as_deref() != Some(one.method.as_str()));
        let changed: Vec<&str> = changed.map(|one| one.id.as_str()).collect();
        let Some(first) = changed.first() else { return Ok(()) };
        let (rows, version) = (changed.len(), &self.document.assay.version);
        Err(format!(
            "another version ({version}) began the run '{id}' with other methods for {rows} of its benchmarks, such as \
             {first}; resume it with that version, or {NEW_RUN}"
        ))
    }
}

fn played_back<'a>(asked: &'a Asked, entries: &[Entry]) -> (Vec<State<'a>>, u32) {
    let mut states = initial_states(&asked.plan, asked.verify_only, &asked.tools);
    let runs = play_back(&mut states, entries);
    (states, runs)
}

/// Resumes a run; returns the finished run and its folder. The setting's time began [`CutOff::seconds`] ago.
pub fn go_on(
    cut_off: CutOff,
    setting: &Setting<'_>,
    watcher: &mut Watcher<'_>,
) -> Result<(Finished, RunFolder), String> {
    let seconds = cut_off.seconds();
    let CutOff { folder, document, asked, entries, journal, retry_failed } = cut_off;
    let (mut states, runs) = played_back(&asked, &entries);
    let mut run = Run::prepare(&asked.plan, setting, Some(&folder), watcher);
    run.storage.journal = Some(folder.go_on_with_journal(journal)?);
    for State { planned, progress, .. } in &mut states {
        progress.tools.iter_mut().for_each(|tool| tool.raw = printed(folder.path(), &tool.raw_name));
        for entry in before_going_on(progress, &planned.experiment.id, retry_failed) {
            run.storage.note(&entry);
            play(progress, &entry);
        }
        progress.go_on();
    }
    // Tools come from this command line and the search path: a document could name any program.
    let now = detected(&asked.plan.rows, &setting.places);
    for state in states.iter_mut().filter(|state| state.progress.is_left()) {
        state.progress.tools.iter_mut().for_each(|tool| tool.hold_against(&now));
    }
    run.take_up(document, states, runs, seconds);
    let so_far = run.document_so_far();
    run.storage.document(&so_far);
    run.report_storage_failure();
    if let Some(reason) = run.storage.failure {
        return Err(reason);
    }
    let finished = run.carry_out();
    Ok((finished, folder))
}

impl<'a> Run<'a> {
    fn take_up(&mut self, before: Document, states: Vec<State<'a>>, runs: u32, seconds: f64) {
        let again = Resumed {
            at: utc_now(),
            at_seconds: seconds,
            version: self.setting.program.version.clone(),
            git: self.setting.program.git.clone(),
        };
        let Document { assay, mut run, machine, peer, conditions, .. } = before;
        run.resumed.push(again);
        (run.complete, run.confidence) = (false, None);
        let times = run.resumed.len() as u64;
        self.document.assay = assay;
        (self.document.run, self.document.machine, self.document.peer) = (run, machine, peer);
        self.document.conditions.before = conditions.before;
        self.document.conditions.waited_seconds = conditions.waited_seconds;
        self.order.random = Random::new(self.plan.seed.wrapping_add(times.wrapping_mul(SEED_STEP)));
        self.order.runs = runs;
        self.states = states;
        self.repeat_seconds = self.plan.repeat_share * self.states.iter().map(State::seconds_left).sum::<f64>();
        (0..self.states.len()).for_each(|index| self.assemble(index));
    }
}

/// Replays a journal; returns the number of the last process run.
fn play_back(states: &mut [State<'_>], entries: &[Entry]) -> u32 {
    let places: BTreeMap<&str, usize> =
        states.iter().enumerate().map(|(place, state)| (state.planned.experiment.id.as_str(), place)).collect();
    let mut runs = 0;
    for entry in entries {
        match entry {
            // A dead process cut off what was running.
            Entry::Owner(_) => states.iter_mut().for_each(|state| state.progress.cut_off()),
            Entry::Sample(sample) => runs = runs.max(sample.repetition.launch()),
            Entry::Launched(ended) => runs = runs.max(ended.launch),
            _ => {}
        }
        if let Some(state) = entry.row().and_then(|id| states.get_mut(*places.get(id)?)) {
            play(&mut state.progress, entry);
        }
    }
    states.iter_mut().for_each(|state| state.progress.cut_off());
    runs
}

fn play(progress: &mut Progress, entry: &Entry) {
    match entry {
        Entry::Sample(sample) => progress.pending(sample.repetition.clone()),
        Entry::Launched(ended) => progress.launched(ended.seconds, ended.outcome.clone(), *ended.around),
        Entry::Again { .. } => progress.ask_again(),
        Entry::Enough { .. } => progress.out_of(TIME_BUDGET),
        Entry::ReferenceTools { tools, .. } => {
            for so_far in tools {
                progress.tools.iter_mut().for_each(|tool| tool.go_on_from(so_far));
            }
        }
        Entry::Dropped { launches: runs, .. } => progress.drop_runs(runs),
        Entry::Retried { .. } => progress.over = None,
        Entry::Owner(_) | Entry::Asked(_) | Entry::WillMake { .. } | Entry::Started(_) => {}
    }
}

fn before_going_on(row: &Progress, id: &str, retry_failed: bool) -> Vec<Entry> {
    let retried = (retry_failed && row.has_failed()).then(|| Entry::Retried { id: id.to_owned() });
    let runs = row.to_be_dropped();
    let dropped = (!runs.is_empty()).then(|| Entry::Dropped { id: id.to_owned(), launches: runs });
    retried.into_iter().chain(dropped).collect()
}

fn printed(folder: &Path, name: &str) -> String {
    let bytes = read_regular(&folder.join(store::RAW).join(name), MOST_DOCUMENT_BYTES).unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}

fn refusal(run: &str, document: &Document, why: &Reopening) -> String {
    match why {
        Reopening::Alive(process) => {
            let who = process.map_or_else(|| "another process".to_owned(), |process| format!("process {process}"));
            format!("{who} still measures the run '{run}'; wait for it, or end it first")
        }
        Reopening::Unusable(error) if error.kind() != std::io::ErrorKind::NotFound => {
            format!("cannot resume the run '{run}': its journal is unusable: {error}")
        }
        Reopening::Unusable(_) if document.run.complete && !is_cut(document) => {
            format!("the run '{run}' is complete: no benchmark is left")
        }
        Reopening::Unusable(_) => {
            format!("cannot resume the run '{run}': its journal, which has the plan, is missing; {NEW_RUN}")
        }
    }
}

fn is_cut(document: &Document) -> bool {
    let is_budget = |reason: &str| [TIME_BUDGET, WRITE_BUDGET].contains(&reason);
    document.experiments.iter().any(|row| row.reason.as_deref().is_some_and(is_budget))
}

fn difference(then: &Machine, now: &Machine) -> Option<String> {
    fn shown<T: std::fmt::Display>(value: Option<T>) -> String {
        value.map_or_else(|| "unknown".to_owned(), |value| format!("'{value}'"))
    }
    let text = |of: fn(&Machine) -> Option<&String>| [then, now].map(|machine| shown(of(machine)));
    let number = |of: fn(&Machine) -> Option<u32>| [then, now].map(|machine| shown(of(machine)));
    let facts = [
        ("host", text(|machine| machine.host.as_ref())),
        ("processor", text(|machine| machine.cpu.model_name.as_ref())),
        ("processor's maker", text(|machine| machine.cpu.vendor.as_ref())),
        ("processor's family", number(|machine| machine.cpu.family)),
        ("processor's model", number(|machine| machine.cpu.model)),
        ("processor's stepping", number(|machine| machine.cpu.stepping)),
        ("number of cores", number(|machine| machine.cpu.cores)),
        ("number of hardware threads", number(|machine| machine.cpu.threads)),
        ("kernel", text(|machine| machine.os.kernel.as_ref())),
    ];
    let differs = facts.iter().find(|(_, [then, now])| then != now);
    if let Some((what, [then, now])) = differs {
        return Some(format!("its {what} was {then}, and is {now} here"));
    }
    let [then, now] = [then.memory.total_bytes? as f64, now.memory.total_bytes? as f64];
    let other = (then - now).abs() > MEMORY_SHARE * then;
    other.then(|| format!("its memory was {then:.0} B, and is {now:.0} B here"))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use model::document::Status;
    use model::wire::Observations;

    use super::super::progress::Over;
    use super::*;
    use crate::evidence::{Outcome, Repetition};
    use crate::journal::{EndedRun, JOURNAL, Journalled};
    use crate::references::detect::Detected;
    use crate::tests::{asked, document, machine_with_cpus, repetition, scratch};
    use areas::{Suite, plan};

    const ID: &str = "cpu/fma/fp64/avx2/t1";

    fn sample(launch: u32, value: f64) -> Entry {
        let mut repetition: Repetition = repetition(value);
        repetition.metrics[0].sample.launch = launch;
        Entry::Sample(Journalled { id: ID.into(), repetition })
    }

    fn ended(launch: u32, outcome: Outcome) -> Entry {
        Entry::Launched(EndedRun { id: ID.into(), launch, seconds: 0.5, around: Box::default(), outcome })
    }

    fn done(launch: u32) -> Vec<Entry> {
        let mut entries: Vec<Entry> = (0..3).map(|_| sample(launch, f64::from(launch))).collect();
        entries.push(ended(launch, Outcome::Done(Box::<Observations>::default())));
        entries
    }

    /// The only benchmark after these entries, and the last process run.
    fn after(entries: &[Entry]) -> (Progress, u32) {
        let plan = asked().plan;
        let mut states = initial_states(&plan, false, &Detected::new());
        let runs = play_back(&mut states, entries);
        (states.remove(0).progress, runs)
    }

    fn runs_of(row: &Progress) -> Vec<u32> {
        row.samples.iter().map(Repetition::launch).collect()
    }

    #[test]
    fn a_row_is_played_back_to_where_it_was_left() {
        let mut entries = done(1);
        entries.extend([sample(4, 4.0), sample(4, 4.5)]);
        let (row, runs) = after(&entries);
        assert_eq!((runs_of(&row), runs, row.seconds), (vec![1, 1, 1, 4, 4], 4, 0.5));
        assert!(row.is_left() && row.runs.len() == 1, "only the samples of the process run that was cut off are known");
        assert_eq!(row.samples_next(&asked().plan.rows[0]), 3);
        // Resumed and killed again: earlier cut-off samples belong to no later process run.
        entries
            .push(model::json::FromJson::from_json(br#"{"kind":"owner","process":1,"started":1,"boot":"x"}"#).unwrap());
        entries.extend(done(5));
        let (row, runs) = after(&entries);
        assert_eq!((runs_of(&row), runs), (vec![1, 1, 1, 4, 4, 5, 5, 5], 5));
        assert_eq!(row.runs.iter().map(|launch| (launch.number, launch.samples)).collect::<Vec<_>>(), [(1, 3), (5, 3)]);
        assert!(row.is_left());
        // All samples had arrived before the process was killed.
        assert!(!after(&[entries.clone(), vec![sample(6, 6.0)]].concat()).0.is_left());
        entries.extend(done(6));
        assert!(!after(&entries).0.is_left(), "it has the nine samples that it was to have");
    }

    #[test]
    fn rows_that_there_was_no_time_for_are_left_and_those_with_enough_are_not() {
        assert!(after(&[]).0.is_left());
        let mut row = after(&done(1)).0;
        row.out_of(TIME_BUDGET);
        assert!(row.is_left() && row.over == Some(Over::CutShort(TIME_BUDGET.into())));
        let enough = [done(1), done(2), done(3), vec![Entry::Enough { id: ID.into() }]].concat();
        let mut enough = after(&enough).0;
        enough.go_on();
        assert!(enough.is_over() && !enough.is_left());
    }

    #[test]
    fn a_row_that_the_time_cut_off_in_a_launch_goes_on_once_there_is_time_again() {
        for before in [vec![], vec![sample(1, 1.0), sample(1, 1.5)]] {
            let cut = [before.clone(), vec![ended(1, Outcome::OutOfTime)]].concat();
            let mut row = after(&cut).0;
            assert!(row.is_left() && row.is_over(), "{row:?}");
            row.go_on();
            assert!(!row.is_over() && row.samples.len() == before.len(), "{row:?}");
        }
    }

    #[test]
    fn a_row_that_failed_is_tried_again_only_where_it_is_asked_for() {
        let mut entries = done(1);
        entries.extend([sample(2, 2.0), ended(2, Outcome::Failed("a result is wrong".into()))]);
        let (row, _) = after(&entries);
        assert_eq!(row.over, Some(Over::Not(Status::Failed, "a result is wrong".into())));
        assert!(row.has_failed() && !row.is_left() && before_going_on(&row, ID, false).is_empty());
        let again = before_going_on(&row, ID, true);
        assert_eq!(again, [Entry::Retried { id: ID.into() }]);
        entries.extend(again);
        let (row, _) = after(&entries);
        assert!(row.is_left() && runs_of(&row) == [1, 1, 1], "what was checked before stays");
    }

    #[test]
    fn rounds_that_were_cut_off_are_measured_from_the_first() {
        let mut planned = asked().plan.rows.remove(0);
        planned.sampling.until_steady = true;
        let mut row = Progress::new(&planned, None, false);
        assert!(before_going_on(&row, ID, false).is_empty());
        for entry in [sample(7, 1.0), sample(7, 2.0)] {
            play(&mut row, &entry);
        }
        row.cut_off();
        let dropped = before_going_on(&row, ID, false);
        assert_eq!(dropped, [Entry::Dropped { id: ID.into(), launches: vec![7] }]);
        for entry in &dropped {
            play(&mut row, entry);
        }
        assert!(row.samples.is_empty() && row.is_left());
    }

    #[test]
    fn every_row_that_can_be_planned_has_the_method_of_this_version() {
        for name in Suite::names() {
            let machine = machine_with_cpus(2);
            let plan = plan(&crate::host::request(Suite::embedded(name).unwrap(), &machine), &machine).unwrap();
            for row in plan.rows.iter().filter(|row| row.obstacle.is_none()) {
                let experiment = &row.experiment;
                assert_eq!(areas::method(experiment).as_deref(), Some(experiment.method.as_str()), "{}", experiment.id);
            }
        }
    }

    #[test]
    fn another_machine_is_reported_with_the_difference() {
        let then = machine_with_cpus(2);
        assert_eq!(difference(&then, &then), None);
        let other = Machine { host: Some("elsewhere".into()), ..then.clone() };
        assert!(difference(&then, &other).unwrap().contains("its host was"));
        let mut upgraded = then.clone();
        upgraded.os.kernel = Some("99".into());
        assert!(difference(&then, &upgraded).unwrap().contains("its kernel was"));
        let with = |bytes: u64| {
            let mut machine = then.clone();
            machine.memory.total_bytes = Some(bytes);
            machine
        };
        assert_eq!(difference(&with(16 << 30), &with((16 << 30) - (8 << 20))), None, "the kernel took more for itself");
        assert!(difference(&with(16 << 30), &with(8 << 30)).unwrap().contains("memory"));
    }

    /// A store with a run of a dead process.
    fn killed(scratch: &Path) -> (Store, std::path::PathBuf) {
        let store = Store::at(scratch.to_owned());
        let folder = store.create("a").unwrap();
        folder.write(&document()).unwrap();
        drop(folder.begin_journal(asked()).unwrap());
        let path = folder.path().join(JOURNAL);
        let text = fs::read_to_string(&path).unwrap().replacen("\"boot\":\"", "\"boot\":\"0", 1);
        fs::write(&path, text).unwrap();
        (store, folder.path().to_owned())
    }

    /// Retries, because a process just forked by another test may still hold the lock.
    fn opened(store: &Store, name: &str) -> CutOff {
        for _ in 0..200 {
            if let Ok(cut_off) = CutOff::open(store, name, false) {
                return cut_off;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        CutOff::open(store, name, false).unwrap()
    }

    #[test]
    fn a_killed_run_is_opened_by_one_only() {
        let scratch = scratch();
        let (store, folder) = killed(scratch.path());
        for name in ["a", folder.to_str().unwrap(), folder.join(DOCUMENT).to_str().unwrap()] {
            let cut_off = opened(&store, name);
            assert_eq!((cut_off.left(), cut_off.asked), (vec![ID.to_owned()], asked()));
            let second = CutOff::open(&store, name, false).unwrap_err();
            assert!(second.contains("still measures"), "{second}");
        }
        assert!(CutOff::open(&store, "b", false).unwrap_err().contains("no run 'b'"));
    }

    #[test]
    fn what_cannot_be_gone_on_with_is_refused_with_the_reason() {
        let scratch = scratch();
        let (store, folder) = killed(scratch.path());
        let journal = folder.join(JOURNAL);
        let refused = |store: &Store| CutOff::open(store, "a", false).unwrap_err();
        let text = fs::read_to_string(&journal).unwrap();
        fs::write(&journal, text.replace("\"boot\":\"0", "\"boot\":\"")).unwrap();
        assert!(refused(&store).contains(&format!("process {} still", std::process::id())), "we live");
        let without_plan: String = text.lines().filter(|line| !line.contains("\"asked\"")).collect();
        fs::write(&journal, without_plan).unwrap();
        assert!(refused(&store).contains("has no plan"));
        fs::remove_file(&journal).unwrap();
        assert!(refused(&store).contains("its journal"));
        let mut complete = document();
        complete.run.complete = true;
        store.folder("a").unwrap().write(&complete).unwrap();
        assert!(refused(&store).contains("is complete"));
    }
}
