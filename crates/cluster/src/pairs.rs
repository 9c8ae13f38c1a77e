//! The network between nodes: which tasks there are, and how each is measured.
//!
//! A pair is measured alone, while no other pair of the plan is, and again together with its whole round. Both take the
//! same rows of `assay net`, a TCP stream and round trips of a byte, for a few seconds.

//!
//! A worker that has nothing else to do on its node opens a door ([`super::doors`]), and visits the open doors of others
//! when it is its turn (`super::turns`).

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::time::{Duration, SystemTime};

use model::cluster::{Claim, PairTask, Pairing, PlanNode, Task, Work};
use sys::clock::monotonic_raw_seconds;
use sys::process::stop_signal;

use super::attempt::{Around, Asked, Came, Place, attempt_among, note_lost};
use super::claim::{self, Holder, Seen};
use super::doors::{OpenDoor, SeenDoor, look, reach};
use super::folder::{State, read};
use super::lease::Lease;
use super::make::program_path;
use super::rounds::{Ordered, rounds};
use super::tasks::lease;
use super::turns::{BEGIN_SECONDS, BEGUN, Call, ENDED, Ready, Turns, whom_to_call};

/// Expected seconds of a pair: five samples of each of two rows, the visit, and the start of a worker for each launch.
pub const PAIR_SECONDS: f64 = 5.0;

/// The most pairs that are measured alone, one after the other: an hour and a half. Whole rounds are, as many as fit.
const MOST_ALONE: usize = 1024;

/// What is measured of a pair, as `assay net` takes it: the two figures by which a link is known. Five samples show how
/// they vary.
const OPTIONS: [&str; 9] =
    ["--protocol", "tcp", "--mode", "stream,pingpong", "--threads", "1", "--repeat", "5", "--time-budget"];

/// Seconds after which such a run leaves rows out: on a network so slow, a figure of one row is better than none.
const BUDGET: &str = "60s";

/// A worker that has less time left than this begins no pair any more, in seconds: a few times what one takes.
const LEAST_SECONDS: f64 = 3.0 * PAIR_SECONDS;

/// How long who called a round waits at most for its end, in seconds: the longest that a run may take.
const ROUND_SECONDS: f64 = BEGIN_SECONDS + MOST_SECONDS;

/// The longest that a run may take, in seconds: its budget, and what is around it.
const MOST_SECONDS: f64 = 75.0;

/// The name of the suite that `assay net` measures.
const SUITE: &str = "net";

/// How often who waits for a round looks whether it was called, in seconds, among few nodes and among many: so far apart
/// the pairs of a round begin.
const CALL_LOOK: (f64, f64) = (0.1, 1.0);

/// From so many nodes on it is looked for less often, so that all of them together open a few thousand files a second.
const FEW_NODES: f64 = 200.0;

/// The tasks of all pairs, in the order of their rounds: each is its sender's.
#[must_use]
pub fn tasks(nodes: &[PlanNode], pairing: Pairing, seed: u64) -> Vec<Task> {
    let rounds = rounds(nodes.len(), pairing, seed);
    let alone = rounds_alone(rounds.iter().map(Vec::len));
    let mut tasks = Vec::new();
    for (number, round) in rounds.iter().enumerate() {
        for &(from, to) in round {
            let round = u32::try_from(number).unwrap_or(u32::MAX);
            let task = |together| task(&nodes[from].name, &nodes[to].name, round, together);
            tasks.extend((number < alone).then(|| task(false)));
            tasks.push(task(true));
        }
    }
    tasks
}

fn task(from: &str, to: &str, round: u32, together: bool) -> Task {
    Task {
        node: from.to_owned(),
        name: name(to, together),
        pass: 1,
        seconds: PAIR_SECONDS,
        tried: 0,
        work: Work::Pair(PairTask { to: to.to_owned(), round, together }),
    }
}

/// Name of the task towards a node.
pub(super) fn name(to: &str, together: bool) -> String {
    format!("to-{to}.{}", if together { "together" } else { "alone" })
}

/// How many of the first rounds are measured alone too.
fn rounds_alone(pairs_of_rounds: impl Iterator<Item = usize>) -> usize {
    let so_far = pairs_of_rounds.scan(0, |pairs, more| {
        *pairs += more;
        Some(*pairs)
    });
    so_far.take_while(|pairs| *pairs <= MOST_ALONE).count()
}

/// What the program is called with to measure a pair, but `--out` and `--quiet`: the address of the other node's door, and
/// the file with its key.
#[must_use]
pub fn arguments(address: &str, key_file: &Path) -> Vec<String> {
    let to = ["net", "--to", address, "--key-file"].map(str::to_owned);
    let options = OPTIONS.iter().copied().chain([BUDGET]).map(str::to_owned);
    to.into_iter().chain([key_file.display().to_string()]).chain(options).collect()
}

/// A worker that has its node, and nothing else to do there.
#[derive(Clone, Copy)]
pub struct Here<'a> {
    /// Where it makes its attempts.
    pub place: &'a Place<'a>,
    /// Who it is.
    pub us: &'a Claim,
    /// How long it waits for others.
    pub waits: Waits,
    /// Hears what it is at.
    pub tell: &'a dyn Fn(&str),
    /// Hears what came of each attempt.
    pub came: &'a dyn Fn(&Task, &Came),
}

impl fmt::Debug for Here<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Here").field("place", self.place).field("us", self.us).finish_non_exhaustive()
    }
}

/// How long a worker waits for others, in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Waits {
    /// For another node's door to open, while there is nothing that could be measured.
    pub linger: f64,
    /// For others to be ready for a round, while nothing changes.
    pub patience: f64,
}

impl Default for Waits {
    /// Nodes that were started together and do the same come to an end within minutes of each other; a round is called
    /// once those who are there have had the time to see it.
    fn default() -> Self {
        Self { linger: 300.0, patience: 20.0 }
    }
}

/// How a worker came to the end of what it could do on the network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// Every pair that this node is part of is over.
    AllOver,
    /// Other nodes that are left to measure with have not come.
    Alone,
    /// The worker has to be gone.
    NoTime,
    /// A signal asks it to end.
    Stopped,
}

/// Opens this node's door, measures the pairs that begin here and serves those that end here, as long as there is anybody
/// to do it with; then closes the door. To be called by the thread that lives as long as the worker: children end with the
/// thread that started them.
///
/// # Errors
/// A sentence: the folder cannot be read or written, the door cannot be opened, or the program not started.
pub fn serve_and_ask(here: &Here<'_>) -> Result<Ended, String> {
    let mut visits = Visits::of(here)?;
    visits.drop_what_is_over();
    if visits.undone.is_empty() {
        return Ok(Ended::AllOver);
    }
    let (plan, node) = (here.place.plan, here.place.node);
    let program = program_path(here.place.folder, plan);
    let door = OpenDoor::open(here.place.folder, node, plan.network.as_deref(), &program, here.us)?;
    (here.tell)(&format!("{node}: other nodes are served at {}", door.door.addresses.join(", ")));
    let (door, trouble) = (Mutex::new(door), Mutex::new(None));
    let (over, told) = mpsc::channel::<()>();
    std::thread::scope(|scope| {
        // Renews the door while a pair is measured. It ends when `over` goes, whatever makes it go.
        let (door, trouble) = (&door, &trouble);
        scope.spawn(move || {
            while told.recv_timeout(lease(plan) / 6) == Err(mpsc::RecvTimeoutError::Timeout) {
                if let Err(why) = lock(door).renew() {
                    lock(trouble).get_or_insert(why);
                }
            }
        });
        let ended = visits.go_on(&|| lock(trouble).take());
        drop(over);
        ended
    })
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A pair that this node is part of, and that is not over.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Undone {
    round: u32,
    from: String,
    to: String,
    together: bool,
}

impl Undone {
    /// The other node.
    fn partner_of(&self, node: &str) -> &str {
        if self.from == node { &self.to } else { &self.from }
    }
}

/// What a worker knows of the others.
struct Visits<'a> {
    here: &'a Here<'a>,
    turns: Turns<'a>,
    /// The plan's rounds, by names.
    rounds: Vec<Vec<(String, String)>>,
    /// Alone first, then together, each by round.
    undone: Vec<Undone>,
    /// Since when there has been nothing to do, and since when nothing has changed among those who wait for a round.
    idle_since: f64,
    unchanged_since: f64,
    seen_ready: BTreeSet<Ready>,
    waiting: Option<Ready>,
    /// The round that we have called, and until when we wait for its end.
    calling: Option<Calling>,
    /// Nodes whose open door could not be reached, with the time of its renewal then.
    unreached: BTreeMap<String, SystemTime>,
}

/// A round that we have called.
struct Calling {
    call: Call,
    token: Arc<Lease>,
    /// How long we wait for its end.
    until: f64,
}

impl<'a> Visits<'a> {
    fn of(here: &'a Here<'a>) -> Result<Self, String> {
        let plan = here.place.plan;
        let rounds: Vec<Vec<(String, String)>> = plan.pairing.map_or_else(Vec::new, |pairing| {
            let named = |&(from, to): &Ordered| (plan.nodes[from].name.clone(), plan.nodes[to].name.clone());
            let rounds = rounds(plan.nodes.len(), pairing, plan.seed);
            rounds.iter().map(|round| round.iter().map(named).collect()).collect()
        });
        let alone = rounds_alone(rounds.iter().map(Vec::len));
        let mut undone = Vec::new();
        for together in [false, true] {
            for (number, round) in rounds.iter().enumerate().filter(|(number, _)| together || *number < alone) {
                let ours = round.iter().filter(|(from, to)| from == here.place.node || to == here.place.node);
                undone.extend(ours.map(|(from, to)| Undone {
                    round: u32::try_from(number).unwrap_or(u32::MAX),
                    from: from.clone(),
                    to: to.clone(),
                    together,
                }));
            }
        }
        let now = monotonic_raw_seconds();
        Ok(Self {
            here,
            turns: Turns::of(here.place.folder, here.us, lease(plan))?,
            rounds,
            undone,
            idle_since: now,
            unchanged_since: now,
            seen_ready: BTreeSet::new(),
            waiting: None,
            calling: None,
            unreached: BTreeMap::new(),
        })
    }

    fn path(&self, state: State, node: &str, name: &str) -> PathBuf {
        self.here.place.folder.tasks(state, node).join(name)
    }

    fn drop_what_is_over(&mut self) {
        let is_over =
            |undone: &Undone| self.path(State::Done, &undone.from, &name(&undone.to, undone.together)).exists();
        let left = self.undone.iter().filter(|undone| !is_over(undone)).cloned().collect();
        self.undone = left;
    }

    /// Whether somebody can claim the task of a pair.
    fn waits(&self, from: &str, to: &str, together: bool) -> bool {
        self.path(State::Waiting, from, &format!("{}.json", name(to, together))).exists()
    }

    /// The doors that are open now of all nodes that something is left to be done with.
    fn doors(&self, now: SystemTime) -> BTreeMap<String, SeenDoor> {
        let partners: BTreeSet<&String> = self.undone.iter().flat_map(|undone| [&undone.from, &undone.to]).collect();
        let others = partners.into_iter().filter(|node| *node != self.here.place.node);
        let lease = lease(self.here.place.plan);
        others.filter_map(|node| Some((node.clone(), look(self.here.place.folder, node, now, lease)?))).collect()
    }

    /// How often we look around: four times a second among few nodes, and so that nobody looks at more than some dozens of
    /// files a second among many.
    fn look_around(&self) -> Duration {
        Duration::from_secs_f64((self.here.place.plan.nodes.len() as f64 / 32.0).clamp(0.25, 5.0))
    }

    fn go_on(&mut self, trouble: &dyn Fn() -> Option<String>) -> Result<Ended, String> {
        let ended = loop {
            if let Some(why) = trouble() {
                break Err(why);
            }
            match self.look() {
                Ok(None) => self.pause(),
                Ok(Some(ended)) => break Ok(ended),
                Err(why) => break Err(why),
            }
        };
        if let Some(ready) = self.waiting.take() {
            self.turns.withdraw(&ready);
        }
        let given = self.end_calling(true);
        ended.and_then(|ended| given.map(|()| ended))
    }

    /// Waits until it is time to look around again, or a call comes.
    fn pause(&self) {
        let until = monotonic_raw_seconds() + self.look_around().as_secs_f64();
        let many = self.here.place.plan.nodes.len() as f64 / FEW_NODES;
        let look = Duration::from_secs_f64((CALL_LOOK.0 * many).clamp(CALL_LOOK.0, CALL_LOOK.1));
        while monotonic_raw_seconds() < until && stop_signal().is_none() {
            std::thread::sleep(look);
            if self.waiting.as_ref().is_some_and(|ready| self.turns.called(ready).is_some()) {
                return;
            }
        }
    }

    /// One look around, and what there is to do; how it ended, if it did.
    fn look(&mut self) -> Result<Option<Ended>, String> {
        if stop_signal().is_some() {
            return Ok(Some(Ended::Stopped));
        }
        let time = monotonic_raw_seconds();
        if self.here.place.until.is_some_and(|until| until - time < LEAST_SECONDS) {
            return Ok(Some(Ended::NoTime));
        }
        self.end_calling(false)?;
        self.drop_what_is_over();
        if self.undone.is_empty() {
            return Ok(Some(Ended::AllOver));
        }
        self.free_from_the_gone()?;
        let now = claim::now_of(&self.here.place.folder.node(self.here.place.node))?;
        let doors = self.doors(now);
        if self.undone.iter().any(|undone| doors.contains_key(undone.partner_of(self.here.place.node))) {
            self.idle_since = time;
        } else if time - self.idle_since > self.here.waits.linger {
            return Ok(Some(Ended::Alone));
        }
        if self.measure_called(&doors)? || self.measure_alone(&doors)? {
            return Ok(None);
        }
        self.wait_for_round(&doors)?;
        self.call_round(now)?;
        Ok(None)
    }

    /// The first of our own pairs that could be measured now.
    fn next(&self, together: bool, doors: &BTreeMap<String, SeenDoor>) -> Option<Undone> {
        let ours =
            self.undone.iter().filter(|undone| undone.from == self.here.place.node && undone.together == together);
        let mut open = ours.filter(|undone| doors.contains_key(&undone.to));
        open.find(|undone| self.waits(&undone.from, &undone.to, together)).cloned()
    }

    /// Measures a pair while nobody else does; whether it did.
    fn measure_alone(&mut self, doors: &BTreeMap<String, SeenDoor>) -> Result<bool, String> {
        if self.calling.is_some() {
            return Ok(false);
        }
        let Some(undone) = self.next(false, doors) else { return Ok(false) };
        // Who could measure alone does not wait for a round.
        if let Some(ready) = self.waiting.take() {
            self.turns.withdraw(&ready);
        }
        let Some(token) = self.turns.take()? else { return Ok(false) };
        let token = self.here.place.leases.hold(token);
        let measured = self.measure(&undone, &doors[&undone.to], &|| Some(1));
        self.give_back(&token)?;
        measured
    }

    fn give_back(&self, token: &Arc<Lease>) -> Result<(), String> {
        self.here.place.leases.forget(token);
        self.turns.give_back(token.held().clone())
    }

    /// Measures our pair of the round that we were called for; whether it did.
    fn measure_called(&mut self, doors: &BTreeMap<String, SeenDoor>) -> Result<bool, String> {
        let Some(ready) = self.waiting.take() else { return Ok(false) };
        let Some(call) = self.turns.called(&ready) else {
            self.waiting = Some(ready);
            return Ok(false);
        };
        self.turns.withdraw(&ready);
        let node = self.here.place.node;
        let ours = |undone: &&Undone| undone.together && undone.from == node && undone.round == call.round;
        let undone = self.undone.iter().find(ours).cloned();
        let measured = match undone.as_ref().and_then(|undone| Some((undone, doors.get(&undone.to)?))) {
            Some((undone, door)) => self.measure_in(&call, undone, door),
            None => Ok(false),
        };
        // Also where nothing came of it: who called waits for this.
        self.turns.mark(&call, node, ENDED);
        measured
    }

    fn measure_in(&mut self, call: &Call, undone: &Undone, door: &SeenDoor) -> Result<bool, String> {
        let turns = self.turns.clone();
        let node = self.here.place.node;
        turns.mark(call, node, BEGUN);
        self.measure(undone, door, &|| {
            turns.mark(call, node, ENDED);
            turns.at_once(call, node)
        })
    }

    /// Waits to be called for the first round in which we could send.
    fn wait_for_round(&mut self, doors: &BTreeMap<String, SeenDoor>) -> Result<(), String> {
        let round =
            if self.next(false, doors).is_some() { None } else { self.next(true, doors).map(|next| next.round) };
        if let Some(ready) = &self.waiting {
            if Some(ready.round) == round {
                return self.turns.renew(ready);
            }
            self.turns.withdraw(ready);
            self.waiting = None;
        }
        if let Some(round) = round {
            self.waiting = Some(self.turns.wait_for(round, self.here.place.node)?);
        }
        Ok(())
    }

    /// Calls a round, if that is for us to do and it is time.
    fn call_round(&mut self, now: SystemTime) -> Result<(), String> {
        if self.waiting.is_none() || self.calling.is_some() {
            return Ok(());
        }
        let time = monotonic_raw_seconds();
        let ready = self.turns.ready(now)?;
        if ready != self.seen_ready {
            (self.seen_ready, self.unchanged_since) = (ready.clone(), time);
        }
        let unchanged = |visits: &Self| time - visits.unchanged_since;
        // It is for the first of them to call, so that not all reach for the token; for others if the first does not.
        let is_first = ready.first().is_some_and(|first| first.node == self.here.place.node);
        if !is_first && unchanged(self) < 2.0 * self.here.waits.patience {
            return Ok(());
        }
        let Some(token) = self.turns.take()? else {
            // Somebody measures.
            self.unchanged_since = time;
            return Ok(());
        };
        let is_patience_over = unchanged(self) > self.here.waits.patience;
        let whom = whom_to_call(&ready, |round| self.expected(round, now), is_patience_over);
        match self.turns.call(&whom) {
            Ok(Some(call)) => {
                let token = self.here.place.leases.hold(token);
                self.calling = Some(Calling { call, token, until: time + ROUND_SECONDS });
                Ok(())
            }
            Ok(None) => self.turns.give_back(token),
            Err(why) => self.turns.give_back(token).and(Err(why)),
        }
    }

    /// Who could send in a round: nodes whose task waits, with both doors open.
    fn expected(&self, round: u32, now: SystemTime) -> BTreeSet<String> {
        let lease = lease(self.here.place.plan);
        let open = |node: &str| look(self.here.place.folder, node, now, lease).is_some();
        let pairs = usize::try_from(round).ok().and_then(|round| self.rounds.get(round));
        let could =
            pairs.into_iter().flatten().filter(|(from, to)| self.waits(from, to, true) && open(from) && open(to));
        could.map(|(from, _)| from.clone()).collect()
    }

    /// Gives the token back once the round that we called is over, or has taken too long.
    fn end_calling(&mut self, now: bool) -> Result<(), String> {
        let Some(calling) = self.calling.take() else { return Ok(()) };
        if now || monotonic_raw_seconds() > calling.until || self.turns.is_over(&calling.call) {
            self.unchanged_since = monotonic_raw_seconds();
            return self.give_back(&calling.token);
        }
        self.calling = Some(calling);
        Ok(())
    }

    /// Puts back what workers that are gone have claimed of the network: the token, and this node's own pairs.
    fn free_from_the_gone(&self) -> Result<(), String> {
        self.turns.free_from_the_gone()?;
        let node = self.here.place.node;
        let (waiting, running) =
            (self.here.place.folder.tasks(State::Waiting, node), self.here.place.folder.tasks(State::Running, node));
        let ours = |seen: &Seen| {
            self.undone.iter().any(|undone| undone.from == node && name(&undone.to, undone.together) == seen.name)
        };
        for seen in claim::claims(&running)?.into_iter().filter(ours) {
            let holder = claim::holder(&running, &seen, self.here.us, lease(self.here.place.plan))?;
            if !matches!(holder, Holder::Dead | Holder::Silent) {
                continue;
            }
            note_lost(self.here.place.folder, node, &seen, holder)?;
            if let Some(held) = claim::take_over(&running, &seen, self.here.us)? {
                held.give_back(&waiting)?;
            }
        }
        Ok(())
    }

    /// Claims a pair's task and makes an attempt at it; whether it did.
    fn measure(&mut self, undone: &Undone, door: &SeenDoor, at_once: &dyn Fn() -> Option<u32>) -> Result<bool, String> {
        let Here { place, us, tell, came, .. } = *self.here;
        let Some(address) = self.address(undone, door) else { return Ok(false) };
        let folders = [State::Waiting, State::Running].map(|state| place.folder.tasks(state, place.node));
        let Some(held) = claim::claim(&folders[0], &folders[1], &name(&undone.to, undone.together), us)? else {
            return Ok(false);
        };
        let task: Task =
            read(held.path()).map_err(|error| format!("cannot read '{}': {error}", held.path().display()))?;
        tell(&format!("{}: {}", place.node, task.name));
        let partner_left = || {
            let now = claim::now_of(&place.folder.node(place.node)).ok();
            let seen = now.and_then(|now| look(place.folder, &undone.to, now, lease(place.plan)));
            !seen.is_some_and(|seen| seen.door.claim.id == door.door.claim.id && reach(&seen, us).is_ok())
        };
        let lease = place.leases.hold(held);
        let asked = Asked {
            arguments: arguments(&address, &door.key),
            suite: SUITE.to_owned(),
            suite_text: None,
            most_seconds: MOST_SECONDS,
        };
        let around = Around { at_once, is_nobodys: &partner_left };
        came(&task, &attempt_among(place, &lease, &task, &asked, Some(&around))?);
        Ok(true)
    }

    /// The address of a door by which we go in. A door that is renewed after it could not be reached is there and cannot be
    /// reached: then any will do, and the attempt will say so. One that is not renewed may be that of a worker that has
    /// just been killed.
    fn address(&mut self, undone: &Undone, door: &SeenDoor) -> Option<String> {
        match reach(door, self.here.us) {
            Ok(address) => {
                self.unreached.remove(&undone.to);
                Some(address)
            }
            Err(why) => {
                let first = *self.unreached.entry(undone.to.clone()).or_insert(door.renewed);
                let address = door.door.addresses.first().filter(|_| door.renewed > first)?;
                (self.here.tell)(&format!("{}: {}: {why}", self.here.place.node, undone.to));
                Some(address.clone())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn nodes(count: usize) -> Vec<PlanNode> {
        (1..=count).map(|number| PlanNode { name: format!("n{number}"), partition: None }).collect()
    }

    #[test]
    fn each_pair_is_measured_alone_and_with_its_round() {
        let tasks = tasks(&nodes(5), Pairing::All, 1);
        assert_eq!(tasks.len(), 2 * 5 * 4);
        let names: BTreeSet<(&str, &str)> = tasks.iter().map(|task| (task.node.as_str(), task.name.as_str())).collect();
        assert_eq!(names.len(), tasks.len(), "names are unique on a node");
        assert!(names.contains(&("n5", "to-n1.alone")) && names.contains(&("n5", "to-n1.together")));
        assert!(names.iter().all(|(_, name)| super::super::folder::is_plain_name(name)));
        let Work::Pair(first) = &tasks[0].work else { panic!("{tasks:?}") };
        assert_eq!(*first, PairTask { to: "n2".into(), round: 0, together: false });
    }

    #[test]
    fn pairs_of_many_nodes_are_measured_alone_as_far_as_that_takes_hours_at_most() {
        for (count, pairing, alone) in [
            (32, Pairing::All, 32 * 31),
            (64, Pairing::All, 1024),
            (200, Pairing::Ring, 1000),
            (2000, Pairing::Ring, 0),
        ] {
            let tasks = tasks(&nodes(count), pairing, 1);
            let found = tasks.iter().filter(|task| matches!(&task.work, Work::Pair(pair) if !pair.together)).count();
            assert_eq!(found, alone, "{count}");
            assert!(tasks.iter().any(|task| matches!(&task.work, Work::Pair(pair) if pair.together)));
        }
    }

    #[test]
    fn a_visit_is_told_where_the_door_is_and_where_its_key() {
        let arguments = arguments("[fd00::2]:40000", Path::new("/plan/nodes/n2/door-0f.key"));
        assert_eq!(
            arguments.join(" "),
            "net --to [fd00::2]:40000 --key-file /plan/nodes/n2/door-0f.key --protocol tcp --mode stream,pingpong \
             --threads 1 --repeat 5 --time-budget 60s"
        );
    }
}
