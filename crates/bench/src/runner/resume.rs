//! Going on with a run that was cut off: by a signal, by its time budget, by `kill -9`, by a power failure.
//!
//! Its journal holds what it was asked and all that had come of its launches. That is played back through the same
//! functions that measuring goes through, so that a row is as if it had never been left; then the run goes on. What was
//! finished stays as it is. Order and data of what is left are drawn anew, from the run's seed and how often it was gone
//! on with.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use model::document::{Document, Resumed};
use model::machine::Machine;
use stats::random::Random;
use sys::clock::utc_now;

use super::beside::detected;
use super::progress::Progress;
use super::run::Run;
use super::setting::{Finished, Setting, TIME_BUDGET, WRITE_BUDGET, Watcher};
use super::state::{State, initial_states};
use crate::asked::Asked;
use crate::journal::{self, Entry, Journal, Reopening};
use crate::references::detect::{Detected, Places};
use crate::store::{DOCUMENT, RunFolder, Store, load_file};
use model::plan::Plan;

/// What is added to the seed each time that a run is gone on with: the golden ratio in 64 bits, as `SplitMix64` steps, so
/// that neighbouring seeds stay apart.
const SEED_STEP: u64 = 0x9E37_79B9_7F4A_7C15;

/// The share by which the memory of the same machine may differ after it was started again: the kernel's own part.
const MEMORY_SHARE: f64 = 0.01;

/// What every refusal for want of a plan ends with.
const AFRESH: &str = "measure afresh";

/// A run that was cut off, to go on with. As long as there is this value nobody else can go on with it.
#[derive(Debug)]
pub struct CutOff {
    folder: RunFolder,
    document: Document,
    asked: Asked,
    entries: Vec<Entry>,
    journal: Journal,
    /// Whether rows that failed are tried again.
    retry_failed: bool,
}

impl CutOff {
    /// Opens the run that `run` names: a run's folder, its `run.json`, or its name in the store.
    ///
    /// # Errors
    /// One sentence: there is no such run, it goes on, nothing is left to do, or it does not say what it was asked.
    pub fn open(store: &Store, run: &str, retry_failed: bool) -> Result<Self, String> {
        let folder = store.folder(run)?;
        let document = load_file(&folder.path().join(DOCUMENT))?;
        let (journal, entries) = Journal::reopen(folder.path()).map_err(|why| refusal(run, &document, &why))?;
        let asked = entries.iter().find_map(|entry| if let Entry::Asked(asked) = entry { Some(asked) } else { None });
        let asked = asked.map(|asked| Asked::clone(asked)).ok_or_else(|| {
            let version = &document.assay.version;
            format!(
                "the run '{run}' does not say what it was asked: it was begun by another version ({version}); {AFRESH}"
            )
        })?;
        if let Some(tool) = asked.unknown_tool() {
            return Err(format!(
                "the run '{run}' has the reference tool '{tool}', which this version does not know; {AFRESH}"
            ));
        }
        // What the process that is gone has left behind.
        journal::sweep(folder.path());
        let cut_off = Self { folder, document, asked, entries, journal, retry_failed };
        cut_off.check_left(run)?;
        Ok(cut_off)
    }

    /// Where it is stored.
    pub const fn folder(&self) -> &RunFolder {
        &self.folder
    }

    /// The document so far.
    pub const fn document(&self) -> &Document {
        &self.document
    }

    /// Its plan.
    pub const fn plan(&self) -> &Plan {
        &self.asked.plan
    }

    /// Whether results are only checked.
    pub const fn verify_only(&self) -> bool {
        self.asked.verify_only
    }

    /// The directory that disks are measured in, and whether the user named it.
    pub fn disk(&self) -> Option<(&Path, bool)> {
        self.asked.disk.as_ref().map(|(directory, named)| (Path::new(directory), *named))
    }

    /// Address and port of the server at the other end.
    pub fn server(&self) -> Option<&str> {
        self.asked.server.as_deref()
    }

    /// Seconds of the run so far, the time in between left out: what comes now starts later than all that was measured.
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

    /// The rows that are left to measure.
    pub fn left(&self) -> Vec<String> {
        let (states, _) = played_back(&self.asked, &self.entries);
        let wanted = |progress: &Progress| progress.is_left() || self.retry_failed && progress.has_failed();
        states.iter().filter(|state| wanted(&state.progress)).map(|state| state.id().to_owned()).collect()
    }

    /// Makes sure that there is something left to do. A run whose last words were cut off has them left.
    fn check_left(&self, run: &str) -> Result<(), String> {
        if !self.document.run.complete || !self.left().is_empty() {
            return Ok(());
        }
        let (states, _) = played_back(&self.asked, &self.entries);
        let failed = states.iter().filter(|state| state.progress.has_failed()).count();
        Err(format!(
            "of the run '{run}' nothing is left to do but rows that failed ({failed}); to try those again: --retry-failed"
        ))
    }

    /// Makes sure that this is the machine that the run was begun on, and that this version measures by the same methods.
    ///
    /// # Errors
    /// One sentence with what differs.
    pub fn check_same(&self, now: &Machine) -> Result<(), String> {
        let id = &self.document.run.id;
        if let Some(difference) = difference(&self.document.machine, now) {
            return Err(format!("the run '{id}' was begun on another machine: {difference}; {AFRESH}"));
        }
        let cpus: BTreeSet<u32> = self.plan().rows.iter().flat_map(|row| row.cpus.iter().copied()).collect();
        if let Some(cpu) = cpus.iter().find(|cpu| !now.cpu.available_cpus.contains(cpu)) {
            return Err(format!(
                "the run '{id}' uses CPU {cpu}, which this program may not use now; let it, or {AFRESH}"
            ));
        }
        let runnable = self.plan().rows.iter().filter(|row| row.obstacle.is_none()).map(|row| &row.experiment);
        let changed = runnable.filter(|one| areas::method(one).as_deref() != Some(one.method.as_str()));
        let changed: Vec<&str> = changed.map(|one| one.id.as_str()).collect();
        let Some(first) = changed.first() else { return Ok(()) };
        let (rows, version) = (changed.len(), &self.document.assay.version);
        Err(format!(
            "the run '{id}' was begun by a version ({version}) that measures {rows} of its rows by other methods, {first} \
             first of all; go on with that version, or {AFRESH}"
        ))
    }
}

/// The benchmarks as they were left, and the number of the last launch.
fn played_back<'a>(asked: &'a Asked, entries: &[Entry]) -> (Vec<State<'a>>, u32) {
    let mut states = initial_states(&asked.plan, asked.verify_only, &asked.tools);
    let launches = play_back(&mut states, entries);
    (states, launches)
}

/// Goes on with a run that was cut off; the finished run, and where it is stored. The setting's time goes on too: it began [`CutOff::seconds`] ago.
///
/// # Errors
/// One sentence: the folder cannot be written to, before anything has been measured.
pub fn go_on(
    cut_off: CutOff,
    setting: &Setting<'_>,
    watcher: &mut dyn Watcher,
) -> Result<(Finished, RunFolder), String> {
    let seconds = cut_off.seconds();
    let CutOff { folder, document, asked, entries, journal, retry_failed } = cut_off;
    let (mut states, launches) = played_back(&asked, &entries);
    let mut run = Run::prepare(&asked.plan, setting, Some(&folder), watcher);
    run.storage.journal = Some(folder.go_on_with_journal(journal)?);
    for State { planned, progress, .. } in &mut states {
        progress.beside.iter_mut().for_each(|beside| beside.printed_before(&|name| printed(folder.path(), name)));
        for entry in before_going_on(progress, &planned.experiment.id, retry_failed) {
            run.storage.note(&entry);
            play(progress, &entry);
        }
        progress.go_on();
    }
    let now = detected(&asked.plan.rows, &places(&asked.tools, &setting.places));
    for state in states.iter_mut().filter(|state| state.progress.is_left()) {
        state.progress.beside.iter_mut().for_each(|beside| beside.hold_against(&now));
    }
    run.take_up(document, states, launches, seconds);
    let so_far = run.document_so_far();
    run.storage.document(&so_far);
    run.report_storage_failure();
    if let Some(reason) = run.storage.failure() {
        return Err(reason.to_owned());
    }
    let finished = run.carry_out();
    Ok((finished, folder))
}

impl<'a> Run<'a> {
    /// Takes up a run where it was left.
    fn take_up(&mut self, before: Document, states: Vec<State<'a>>, launches: u32, seconds: f64) {
        let again = Resumed {
            at: utc_now(),
            at_seconds: seconds,
            version: self.setting.program.version.clone(),
            git: self.setting.program.git.clone(),
        };
        let Document { assay, mut run, machine, peer, conditions, .. } = before;
        run.resumed.push(again);
        (run.complete, run.grade) = (false, None);
        let times = run.resumed.len() as u64;
        self.document.assay = assay;
        (self.document.run, self.document.machine, self.document.peer) = (run, machine, peer);
        self.document.conditions.before = conditions.before;
        self.document.conditions.waited_seconds = conditions.waited_seconds;
        self.order.random = Random::new(self.plan.seed.wrapping_add(times.wrapping_mul(SEED_STEP)));
        self.order.launches = launches;
        self.states = states;
        self.repeat_seconds = self.plan.repeat_share * self.states.iter().map(State::seconds_left).sum::<f64>();
        (0..self.states.len()).for_each(|index| self.assemble(index));
    }
}

/// Plays a journal back; the number of the last launch.
fn play_back(states: &mut [State<'_>], entries: &[Entry]) -> u32 {
    let places: BTreeMap<String, usize> =
        states.iter().enumerate().map(|(place, state)| (state.id().to_owned(), place)).collect();
    let mut launches = 0;
    for entry in entries {
        match entry {
            // What was going on when a process was ended is cut off there.
            Entry::Owner(_) => states.iter_mut().for_each(|state| state.progress.cut_off()),
            Entry::Sample(sample) => launches = launches.max(sample.repetition.launch()),
            Entry::Launched(ended) => launches = launches.max(ended.launch),
            _ => {}
        }
        if let Some(state) = entry.row().and_then(|id| states.get_mut(*places.get(id)?)) {
            play(&mut state.progress, entry);
        }
    }
    for state in states {
        state.progress.cut_off();
    }
    launches
}

/// What an entry of the journal did to its benchmark.
fn play(progress: &mut Progress, entry: &Entry) {
    match entry {
        Entry::Sample(sample) => progress.pending(sample.repetition.clone()),
        Entry::Launched(ended) => progress.launched(ended.seconds, ended.outcome.clone(), *ended.around),
        Entry::Again { .. } => progress.ask_again(),
        Entry::Enough { .. } => progress.out_of(TIME_BUDGET),
        Entry::Beside { tools, .. } => {
            for so_far in tools {
                progress.beside.iter_mut().for_each(|beside| beside.go_on_from(so_far));
            }
        }
        Entry::Dropped { launches, .. } => progress.drop_launches(launches),
        Entry::Retried { .. } => progress.retry(),
        Entry::Owner(_) | Entry::Asked(_) | Entry::WillMake { .. } | Entry::Started(_) => {}
    }
}

/// What is done to a row before it is gone on with.
fn before_going_on(row: &Progress, id: &str, retry_failed: bool) -> Vec<Entry> {
    let retried = (retry_failed && row.has_failed()).then(|| Entry::Retried { id: id.to_owned() });
    let launches = row.to_be_dropped();
    let dropped = (!launches.is_empty()).then(|| Entry::Dropped { id: id.to_owned(), launches });
    retried.into_iter().chain(dropped).collect()
}

/// What a tool printed before the run was cut off.
fn printed(folder: &Path, name: &str) -> Option<String> {
    fs::read(folder.join("raw").join(name)).ok().map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

/// Where tools are looked for again: where they were found.
fn places(tools: &Detected, now: &Places) -> Places {
    let found = tools.iter().filter_map(|(name, found)| Some((name.clone(), found.as_ref().ok()?.path.clone())));
    Places { search_path: now.search_path.clone(), overrides: found.collect() }
}

/// Why a journal cannot be gone on with.
fn refusal(run: &str, document: &Document, why: &Reopening) -> String {
    let is_missing = |error: &std::io::Error| error.kind() == std::io::ErrorKind::NotFound;
    match why {
        Reopening::Alive(Some(process)) => {
            format!("the run '{run}' is still being measured, by process {process}; wait for it, or end it first")
        }
        Reopening::Alive(None) => format!("the run '{run}' is still being measured; wait for it, or end it first"),
        Reopening::Unusable(error) if !is_missing(error) => {
            format!("cannot go on with the run '{run}': its journal cannot be used: {error}")
        }
        Reopening::Unusable(_) if document.run.complete && !is_cut(document) => {
            format!("of the run '{run}' nothing is left to do: every row was reached")
        }
        Reopening::Unusable(_) => {
            format!(
                "the run '{run}' cannot be gone on with: its journal, which says what it was asked, is gone; {AFRESH}"
            )
        }
    }
}

/// Whether a document has rows for which nothing was left of a budget.
fn is_cut(document: &Document) -> bool {
    let is_budget = |reason: &str| [TIME_BUDGET, WRITE_BUDGET].contains(&reason);
    document.experiments.iter().any(|row| row.reason.as_deref().is_some_and(is_budget))
}

/// The first thing by which two machines differ, as a sentence has it.
fn difference(then: &Machine, now: &Machine) -> Option<String> {
    fn shown<T: std::fmt::Display>(value: Option<T>) -> String {
        value.map_or_else(|| "unknown".to_owned(), |value| format!("'{value}'"))
    }
    let text = |of: fn(&Machine) -> Option<&String>| [shown(of(then)), shown(of(now))];
    let number = |of: fn(&Machine) -> Option<u32>| [shown(of(then)), shown(of(now))];
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
    let memory = |machine: &Machine| machine.memory.total_bytes.map(|bytes| bytes as f64);
    let other_memory = memory(then)
        .zip(memory(now))
        .filter(|(then, now)| (then - now).abs() > MEMORY_SHARE * then)
        .map(|(then, now)| format!("its memory had {then:.0} B, and has {now:.0} B here"));
    differs.map(|(what, [then, now])| format!("its {what} was {then}, and is {now} here")).or(other_memory)
}

#[cfg(test)]
mod tests {
    use model::document::Status;
    use model::wire::Observations;

    use super::super::progress::Over;
    use super::*;
    use crate::evidence::{Outcome, Repetition};
    use crate::journal::{Ended, Journalled};
    use crate::tests::{asked, document, machine_with_cpus, repetition, scratch};
    use areas::{Suite, plan};

    const ID: &str = "cpu/fma/fp64/avx2/t1";

    fn sample(launch: u32, value: f64) -> Entry {
        let mut repetition: Repetition = repetition(value);
        repetition.metrics[0].sample.launch = launch;
        Entry::Sample(Journalled { id: ID.into(), repetition })
    }

    fn ended(launch: u32, outcome: Outcome) -> Entry {
        Entry::Launched(Ended { id: ID.into(), launch, seconds: 0.5, around: Box::default(), outcome })
    }

    fn done(launch: u32) -> Vec<Entry> {
        let mut entries: Vec<Entry> = (0..3).map(|_| sample(launch, f64::from(launch))).collect();
        entries.push(ended(launch, Outcome::Done(Box::<Observations>::default())));
        entries
    }

    /// The only row of a plan after these entries, and the number of the last launch.
    fn after(entries: &[Entry]) -> (Progress, u32) {
        let plan = asked().plan;
        let mut states = initial_states(&plan, false, &Detected::new());
        let launches = play_back(&mut states, entries);
        (states.remove(0).progress, launches)
    }

    fn launches_of(row: &Progress) -> Vec<u32> {
        row.samples.iter().map(Repetition::launch).collect()
    }

    #[test]
    fn a_row_is_played_back_to_where_it_was_left() {
        let mut entries = done(1);
        entries.extend([sample(4, 4.0), sample(4, 4.5)]);
        let (row, launches) = after(&entries);
        assert_eq!((launches_of(&row), launches, row.seconds), (vec![1, 1, 1, 4, 4], 4, 0.5));
        assert!(row.is_left() && row.launches.len() == 1, "of the launch that was cut off only its samples are known");
        assert_eq!(row.samples_next(&asked().plan.rows[0]), 3);
        // Gone on with, and killed once more: what was cut off the first time is no part of the launches that follow.
        entries.push(serde_json::from_str("{\"kind\":\"owner\",\"process\":1,\"started\":1,\"boot\":\"x\"}").unwrap());
        entries.extend(done(5));
        let (row, launches) = after(&entries);
        assert_eq!((launches_of(&row), launches), (vec![1, 1, 1, 4, 4, 5, 5, 5], 5));
        assert_eq!(
            row.launches.iter().map(|launch| (launch.number, launch.samples)).collect::<Vec<_>>(),
            [(1, 3), (5, 3)]
        );
        assert!(row.is_left());
        // A launch that was cut off between its last sample and its last word has given all that was missing.
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
        assert!(row.is_left() && launches_of(&row) == [1, 1, 1], "what was checked before stays");
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
    fn another_machine_is_told_by_what_differs() {
        let then = machine_with_cpus(2);
        assert_eq!(difference(&then, &then), None);
        let mut other = then.clone();
        other.host = Some("elsewhere".into());
        assert!(difference(&then, &other).unwrap().contains("its host was"), "{:?}", difference(&then, &other));
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

    /// A store with a run that another process, now gone, was measuring.
    fn killed(scratch: &Path) -> (Store, std::path::PathBuf) {
        let store = Store::at(scratch.to_owned());
        let folder = store.create("a").unwrap();
        folder.write(&document()).unwrap();
        drop(folder.begin_journal(asked()).unwrap());
        let path = folder.path().join(journal::JOURNAL);
        let text = fs::read_to_string(&path).unwrap().replacen("\"boot\":\"", "\"boot\":\"0", 1);
        fs::write(&path, text).unwrap();
        (store, folder.path().to_owned())
    }

    /// A killed run, opened once nobody has it: a process that another test has just forked still has the file open that
    /// was closed here, until it becomes another program.
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
            assert_eq!((cut_off.left(), cut_off.plan()), (vec![ID.to_owned()], &asked().plan));
            let second = CutOff::open(&store, name, false).unwrap_err();
            assert!(second.contains("still being measured"), "{second}");
        }
        assert!(CutOff::open(&store, "b", false).unwrap_err().contains("no run 'b'"));
    }

    #[test]
    fn what_cannot_be_gone_on_with_is_refused_with_the_reason() {
        let scratch = scratch();
        let (store, folder) = killed(scratch.path());
        let journal = folder.join(journal::JOURNAL);
        let refused = |store: &Store| CutOff::open(store, "a", false).unwrap_err();
        let text = fs::read_to_string(&journal).unwrap();
        fs::write(&journal, text.replace("\"boot\":\"0", "\"boot\":\"")).unwrap();
        assert!(refused(&store).contains(&format!("by process {}", std::process::id())), "we live");
        let without_plan: String = text.lines().filter(|line| !line.contains("\"asked\"")).collect();
        fs::write(&journal, without_plan).unwrap();
        assert!(refused(&store).contains("does not say what it was asked"));
        fs::remove_file(&journal).unwrap();
        assert!(refused(&store).contains("its journal"));
        let mut complete = document();
        complete.run.complete = true;
        store.folder("a").unwrap().write(&complete).unwrap();
        assert!(refused(&store).contains("nothing is left to do"));
    }
}
