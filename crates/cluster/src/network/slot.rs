//! The network slot of a plan. The worker that holds the plan's only token leads: it calls one pair, or a round of pairs
//! together, and calls again when every called client has ended. HPL runs under the same token.
//!
//! ```text
//! PLAN/waiting/.net/token.json     the token; claimed: PLAN/running/.net/token@CLAIM.json
//! PLAN/net/call.json               the last call: a PairCall
//! PLAN/net/call-ID/NODE.begun      a called client has begun to measure; NODE.ended: it has finished
//! PLAN/net/call-ID/NODE.alive      the heartbeat of a client that measures
//! PLAN/net/idle/NODE               a node waits for HPL; renewed as a lease
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::{Duration, SystemTime};

use model::cluster::Claim;
use model::json::FromJson;
use serde::{Deserialize, Serialize};

use crate::claims::claim::{self, HeldClaim, fresh_name};
use crate::error::{Error, Result, cannot_write};
use crate::folder::{self, Folder, make_folder, names, read};

/// Folder of the token in `waiting` and `running`: no node's name begins with a dot.
const NET: &str = ".net";
const TOKEN: &str = "token";
/// Keeps the token's folder from being empty while the token is claimed: a rename could replace an empty folder, which
/// would make a second token.
const KEEPER: &str = ".made";
const CALL: &str = "call.json";
/// A client that starts later than this after its call, in seconds, would disturb other pairs. An NFS client may cache a
/// folder for some seconds.
const BEGIN_SECONDS: f64 = 10.0;
/// The longest time that a pair may take, in seconds.
pub(super) const PAIR_TIMEOUT_SECONDS: f64 = 75.0;
/// The most marks that are read to count the pairs measured at the same time; of more, an equally spaced part.
const MOST_MARKS: usize = 128;
pub(super) const BEGUN: &str = "begun";
pub(super) const ENDED: &str = "ended";
const ALIVE: &str = "alive";
/// Heartbeats of a client in the time after which it counts as lost.
const HEARTBEATS: u32 = 4;

/// The network slot of a plan as one worker sees it.
#[derive(Clone, Debug)]
pub(crate) struct NetworkSlot<'a> {
    us: &'a Claim,
    lease: Duration,
    /// The time without a heartbeat after which a client that measures is lost: a heartbeat of its worker, since the stream
    /// that it measures may delay its writes by seconds.
    silence: Duration,
    waiting: PathBuf,
    running: PathBuf,
    net: PathBuf,
}

/// The pairs to measure now: each client with the name of its task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PairCall {
    pub(super) id: String,
    pub(super) tasks: BTreeMap<String, String>,
}

impl FromJson for PairCall {
    fn from_json(text: &[u8]) -> serde_json::Result<Self> {
        serde_json::from_slice(text)
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Span {
    begun: SystemTime,
    /// `None` while it is being measured.
    ended: Option<SystemTime>,
}

impl<'a> NetworkSlot<'a> {
    /// The slot of a plan; makes the token if it is missing.
    pub(crate) fn new(folder: &Folder, us: &'a Claim, lease: Duration) -> Result<Self> {
        let (waiting, running) = folder.open_tasks(NET);
        let silence = (lease / 6).max(Duration::from_secs_f64(BEGIN_SECONDS));
        let slot = Self { us, lease, silence, waiting, running, net: folder.path().join("net") };
        for needed in [&slot.running, &slot.idle()] {
            make_folder(needed)?;
        }
        slot.make_token(&folder.path().join("waiting"))?;
        Ok(slot)
    }

    /// Makes the token with its folder by one rename, so that only one exists.
    fn make_token(&self, parent: &Path) -> Result<()> {
        if self.waiting.exists() {
            return Ok(());
        }
        let made = parent.join(format!("{NET}-{}", self.us.id));
        folder::write(&made.join(KEEPER), &())?;
        folder::write(&made.join(format!("{TOKEN}.json")), &())?;
        if let Err(error) = fs::rename(&made, &self.waiting) {
            let _ = fs::remove_dir_all(&made);
            // Another worker was quicker: its folder is not empty, and stays.
            if !self.waiting.join(KEEPER).exists() {
                return Err(Error::Write(self.waiting.clone(), error));
            }
        }
        Ok(())
    }

    /// Takes the token if it is free or its holder is lost.
    pub(crate) fn take(&self) -> Result<Option<HeldClaim>> {
        for seen in claim::claims(&self.running)? {
            if claim::is_gone(&self.running, &seen, self.us, self.lease)?
                && let Some(held) = claim::take_over(&self.running, &seen, self.us)?
            {
                return Ok(Some(held));
            }
        }
        // Checked first, because a claim writes a file.
        if !self.waiting.join(format!("{TOKEN}.json")).exists() {
            return Ok(None);
        }
        claim::claim(&self.waiting, &self.running, TOKEN, self.us)
    }

    pub(crate) fn release(&self, token: HeldClaim) -> Result<()> {
        token.give_back(&self.waiting).map(|_| ())
    }

    pub(crate) fn is_taken(&self) -> Result<bool> {
        for seen in claim::claims(&self.running)? {
            if !claim::is_gone(&self.running, &seen, self.us, self.lease)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn idle(&self) -> PathBuf {
        self.net.join("idle")
    }

    /// Marks that a node waits for HPL, until its lease expires.
    pub(crate) fn set_idle(&self, node: &str) -> Result<()> {
        let path = self.idle().join(node);
        fs::write(&path, b".").map_err(cannot_write(&path))
    }

    pub(crate) fn withdraw(&self, node: &str) {
        let _ = fs::remove_file(self.idle().join(node));
    }

    /// The nodes that wait for HPL.
    pub(crate) fn idle_nodes(&self) -> Result<BTreeSet<String>> {
        let now = claim::now_of(&self.net)?;
        let renewed = |node: &String| fs::metadata(self.idle().join(node)).and_then(|data| data.modified());
        let is_alive = |node: &String| renewed(node).is_ok_and(|time| !claim::is_over(now, time, self.lease));
        Ok(names(&self.idle())?.into_iter().filter(is_alive).collect())
    }

    /// Calls clients; the caller holds the token, and no earlier call is in progress.
    pub(super) fn call(&self, tasks: BTreeMap<String, String>) -> Result<()> {
        let call = PairCall { id: fresh_name()?, tasks };
        // Clients of the last call may still count its marks.
        let last = self.last().map(|last| self.marks(&last));
        let marks = names(&self.net)?.into_iter().filter(|name| name.starts_with("call-"));
        for old in marks.map(|name| self.net.join(name)).filter(|path| Some(path) != last.as_ref()) {
            let _ = fs::remove_dir_all(old);
        }
        make_folder(&self.marks(&call))?;
        folder::write(&self.net.join(CALL), &call)
    }

    fn last(&self) -> Option<PairCall> {
        read(&self.net.join(CALL)).ok()
    }

    /// The last call, if it is for this client and another one than it has answered.
    pub(super) fn called(&self, node: &str, answered: &str) -> Option<PairCall> {
        self.last().filter(|call| call.id != answered && call.tasks.contains_key(node))
    }

    /// The time and the seconds since a call; `None` if its marks were removed, because it has ended.
    fn age(&self, call: &PairCall) -> Option<(SystemTime, f64)> {
        // A file made among the marks makes an NFS client ask the server for the others.
        let now = claim::now_of(&self.marks(call)).ok()?;
        let made = fs::metadata(self.net.join(CALL)).and_then(|data| data.modified()).ok()?;
        Some((now, now.duration_since(made).unwrap_or_default().as_secs_f64()))
    }

    /// Whether it is too late for a client to begin.
    pub(super) fn is_late(&self, call: &PairCall) -> bool {
        self.age(call).is_none_or(|(_, age)| age > BEGIN_SECONDS)
    }

    /// Whether clients of the last call measure or may begin to.
    pub(super) fn is_busy(&self) -> bool {
        let Some(call) = self.last() else { return false };
        let Some((now, age)) = self.age(&call) else { return false };
        call.tasks.keys().filter(|node| self.time_of(&call, node, ENDED).is_err()).any(|node| {
            match self.time_of(&call, node, ALIVE).or_else(|_| self.time_of(&call, node, BEGUN)) {
                Ok(renewed) => {
                    age < BEGIN_SECONDS + PAIR_TIMEOUT_SECONDS && !claim::is_over(now, renewed, self.silence)
                }
                Err(_) => age < 2.0 * BEGIN_SECONDS,
            }
        })
    }

    /// The last call and its clients that have not ended: all of them are lost when it is no longer busy.
    pub(super) fn unended(&self) -> Option<(PairCall, Vec<String>)> {
        let call = self.last()?;
        let nodes = call.tasks.keys().filter(|node| self.time_of(&call, node, ENDED).is_err()).cloned().collect();
        Some((call, nodes))
    }

    /// Whether the leader has called again, and so has given up a client that measures for this call.
    pub(super) fn is_given_up(&self, call: &PairCall) -> bool {
        self.last().is_some_and(|last| last.id != call.id)
    }

    /// Runs `measure` between the marks of its begin and its end, with heartbeats from another thread.
    pub(super) fn while_alive<T>(&self, call: &PairCall, node: &str, measure: impl FnOnce() -> T) -> Result<T> {
        self.mark(call, node, BEGUN);
        let (over, end) = mpsc::channel::<()>();
        std::thread::scope(|scope| {
            let beat = move || {
                while end.recv_timeout(self.silence / HEARTBEATS) == Err(mpsc::RecvTimeoutError::Timeout) {
                    self.mark(call, node, ALIVE);
                }
            };
            std::thread::Builder::new().spawn_scoped(scope, beat).map_err(Error::Thread)?;
            let measured = measure();
            drop(over);
            Ok(measured)
        })
    }

    fn time_of(&self, call: &PairCall, node: &str, what: &str) -> io::Result<SystemTime> {
        // Opened, so that an NFS client asks the server.
        File::open(self.marks(call).join(format!("{node}.{what}")))?.metadata()?.modified()
    }

    fn marks(&self, call: &PairCall) -> PathBuf {
        self.net.join(format!("call-{}", call.id))
    }

    /// Leaves a mark; a missing one only counts as a pair less.
    pub(super) fn mark(&self, call: &PairCall, node: &str, what: &str) {
        let _ = fs::write(self.marks(call).join(format!("{node}.{what}")), b".");
    }

    /// How many pairs of a call were measured during at least half of this node's time, this one included. `None` if that
    /// is unknown.
    pub(super) fn at_once(&self, call: &PairCall, node: &str) -> Option<u32> {
        let time = |node: &str, what: &str| self.time_of(call, node, what);
        let span = |node: &str| -> io::Result<Option<Span>> {
            match time(node, BEGUN) {
                Ok(begun) => Ok(Some(Span { begun, ended: time(node, ENDED).ok() })),
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
                Err(error) => Err(error),
            }
        };
        let ours = span(node).ok()??;
        let others: Vec<&str> = call.tasks.keys().map(String::as_str).filter(|other| *other != node).collect();
        let step = others.len().div_ceil(MOST_MARKS).max(1);
        let looked_at: Vec<&str> = others.iter().copied().step_by(step).collect();
        let spans: Vec<Span> = looked_at.iter().filter_map(|other| span(other).ok()?).collect();
        let with_us = spans.iter().filter(|other| is_half_of(ours, **other)).count();
        let scaled = (with_us * others.len()).checked_div(looked_at.len()).unwrap_or(0);
        u32::try_from(scaled + 1).ok()
    }
}

/// Whether another pair was measured during at least half of our time.
fn is_half_of(ours: Span, other: Span) -> bool {
    let Some(our_end) = ours.ended else { return false };
    let from = ours.begun.max(other.begun);
    let to = other.ended.map_or(our_end, |end| end.min(our_end));
    let both = to.duration_since(from).unwrap_or_default();
    let length = our_end.duration_since(ours.begun).unwrap_or_default();
    both * 2 >= length && to >= from
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::support::{claim, plan_folder};

    const LEASE: Duration = Duration::from_secs(60);

    /// Calls these clients and returns the call.
    fn call(slot: &NetworkSlot<'_>, clients: &[String]) -> PairCall {
        slot.call(clients.iter().map(|node| (node.clone(), "to-n9.alone".to_owned())).collect()).unwrap();
        slot.called(&clients[0], "").unwrap()
    }

    /// Makes the last call older, as the leader and its clients see it.
    fn age_call(slot: &NetworkSlot<'_>, seconds: f64) {
        let file = File::options().write(true).open(slot.net.join(CALL)).unwrap();
        file.set_modified(claim::now_of(&slot.net).unwrap() - Duration::from_secs_f64(seconds)).unwrap();
    }

    #[test]
    fn there_is_one_token_however_many_make_it_and_it_survives_its_holder() {
        let scratch = plan_folder();
        let folder = Folder::at(scratch.path());
        let claims: Vec<Claim> = (0..8).map(|number| claim(&format!("c{number}"))).collect();
        for _ in 0..20 {
            // All at once, on a plan without a token and while one has it.
            let taken: Vec<HeldClaim> = std::thread::scope(|scope| {
                let folder = &folder;
                let one = |us| scope.spawn(move || NetworkSlot::new(folder, us, LEASE).unwrap().take().unwrap());
                let all: Vec<_> = claims.iter().map(one).collect();
                all.into_iter().filter_map(|one| one.join().unwrap()).collect()
            });
            assert_eq!(taken.len(), 1, "{taken:?}");
            let slot = NetworkSlot::new(&folder, &claims[0], LEASE).unwrap();
            assert!(slot.take().unwrap().is_none() && slot.is_taken().unwrap(), "its holder is alive");
            for held in taken {
                slot.release(held).unwrap();
            }
        }
        // The holder is lost: after the lease another worker gets the token.
        let slot = NetworkSlot::new(&folder, &claims[0], Duration::from_millis(50)).unwrap();
        let lost = slot.take().unwrap().unwrap();
        std::thread::sleep(Duration::from_millis(200));
        assert!(!slot.is_taken().unwrap());
        assert!(slot.take().unwrap().is_some());
        assert!(!lost.renew().unwrap(), "the first holder finds it gone");
        assert_eq!(fs::read_dir(scratch.path().join("waiting")).unwrap().count(), 1, "nothing half-made is left");
    }

    #[test]
    fn a_call_is_answered_once_and_in_time_and_ends_with_its_last_client() {
        let scratch = plan_folder();
        let (folder, us) = (Folder::at(scratch.path()), claim("a"));
        let slot = NetworkSlot::new(&folder, &us, LEASE).unwrap();
        assert!(slot.called("n1", "").is_none() && !slot.is_busy());
        let both = call(&slot, &["n1".into(), "n2".into()]);
        assert_eq!((slot.called("n1", &both.id), slot.called("n3", "")), (None, None), "answered; not called");
        assert!(slot.is_busy() && !slot.is_late(&both));
        // n1 measures, n2 has not begun.
        slot.while_alive(&both, "n1", || {
            for (age, busy, late) in [(9.0, true, false), (12.0, true, true), (80.0, true, true), (90.0, false, true)] {
                age_call(&slot, age);
                assert_eq!((slot.is_busy(), slot.is_late(&both)), (busy, late), "{age}");
            }
        })
        .unwrap();
        age_call(&slot, 15.0);
        slot.mark(&both, "n1", ENDED);
        assert!(slot.is_busy(), "n2 may have begun just now");
        age_call(&slot, 25.0);
        assert!(!slot.is_busy(), "n2 is lost");
        assert_eq!(slot.unended().unwrap().1, ["n2"]);
        for broken in ["", "{", "[1]"] {
            fs::write(slot.net.join(CALL), broken).unwrap();
            assert!(slot.called("n1", "").is_none() && !slot.is_busy(), "{broken}");
        }
    }

    /// A worker killed by kill -9 while its pair was measured held the round for up to 85 s.
    #[test]
    fn a_killed_client_is_lost_without_a_heartbeat_and_a_slow_one_is_not() {
        let scratch = plan_folder();
        let (folder, us) = (Folder::at(scratch.path()), claim("a"));
        let slot = NetworkSlot::new(&folder, &us, LEASE).unwrap();
        let first = call(&slot, &["n1".into()]);
        age_call(&slot, 60.0);
        let age_mark = |what: &str, seconds: f64| {
            let mark = File::options().write(true).open(slot.marks(&first).join(format!("n1.{what}"))).unwrap();
            mark.set_modified(claim::now_of(&slot.net).unwrap() - Duration::from_secs_f64(seconds)).unwrap();
        };
        for (what, seconds, busy) in
            [(BEGUN, 8.0, true), (BEGUN, 60.0, false), (ALIVE, 8.0, true), (ALIVE, 12.0, false)]
        {
            slot.mark(&first, "n1", what);
            age_mark(what, seconds);
            assert_eq!(slot.is_busy(), busy, "{what} {seconds}");
        }
        // A client whose worker lives gives its heartbeat while it measures.
        let quick = NetworkSlot { silence: Duration::from_millis(400), ..slot.clone() };
        let rest = || std::thread::sleep(Duration::from_millis(800));
        quick.while_alive(&first, "n1", || (rest(), assert!(quick.is_busy()))).unwrap();
        rest();
        assert!(!quick.is_busy() && !quick.is_given_up(&first));
        call(&slot, &["n2".into()]);
        assert!(slot.is_given_up(&first), "its late result does not count");
    }

    #[test]
    fn nodes_wait_for_hpl_while_they_renew_their_mark() {
        let scratch = plan_folder();
        let (folder, us) = (Folder::at(scratch.path()), claim("a"));
        let slot = NetworkSlot::new(&folder, &us, LEASE).unwrap();
        for node in ["n1", "n2", "n3"] {
            slot.set_idle(node).unwrap();
        }
        slot.withdraw("n2");
        assert_eq!(slot.idle_nodes().unwrap(), BTreeSet::from(["n1", "n3"].map(str::to_owned)));
        let old = File::options().write(true).open(slot.idle().join("n3")).unwrap();
        old.set_modified(claim::now_of(&slot.net).unwrap() - 2 * LEASE).unwrap();
        assert_eq!(slot.idle_nodes().unwrap(), BTreeSet::from(["n1".to_owned()]), "n3 is lost");
    }

    #[test]
    fn pairs_count_as_at_once_if_they_share_half_of_the_time() {
        let at = |seconds: f64| SystemTime::UNIX_EPOCH + Duration::from_secs_f64(1e9 + seconds);
        let span = |begun: f64, ended: Option<f64>| Span { begun: at(begun), ended: ended.map(at) };
        let ours = span(0.0, Some(4.0));
        for (other, with_us) in [
            (span(0.0, Some(4.0)), true),
            (span(1.9, Some(9.0)), true),
            (span(2.1, Some(9.0)), false),
            (span(-5.0, Some(1.9)), false),
            (span(1.0, None), true),
            (span(3.0, None), false),
            (span(5.0, Some(6.0)), false),
            (span(0.5, Some(2.6)), true),
        ] {
            assert_eq!(is_half_of(ours, other), with_us, "{other:?}");
        }
        assert!(!is_half_of(span(0.0, None), ours), "ours must be over");
    }

    #[test]
    fn marks_count_the_pairs_measured_at_once() {
        let scratch = plan_folder();
        let (folder, us) = (Folder::at(scratch.path()), claim("a"));
        let slot = NetworkSlot::new(&folder, &us, LEASE).unwrap();
        let clients: Vec<String> = (0..300).map(|node| format!("n{node}")).collect();
        let first = call(&slot, &clients);
        assert_eq!(slot.at_once(&first, "n0"), None, "it has not even begun");
        let all = |what| clients.iter().for_each(|node| slot.mark(&first, node, what));
        slot.mark(&first, "n0", BEGUN);
        slot.mark(&first, "n0", ENDED);
        assert_eq!(slot.at_once(&first, "n0"), Some(1), "no other client has begun");
        let began = sys::clock::monotonic_raw_seconds();
        all(BEGUN);
        // All have begun in the first tenth of the time, however slow the file system is.
        std::thread::sleep(Duration::from_secs_f64(10.0 * (sys::clock::monotonic_raw_seconds() - began)));
        all(ENDED);
        assert_eq!(slot.at_once(&first, "n0"), Some(300), "estimated from some of them");
        assert!(!slot.is_busy());
        // The marks of a call stay during the next one.
        for left in [Some(300), None] {
            call(&slot, &clients[..1]);
            assert_eq!(slot.at_once(&first, "n0"), left);
        }
    }
}
