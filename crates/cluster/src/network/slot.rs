//! The network slot of a plan: either one pair measures alone, or one round together. Both hold the plan's only token.
//!
//! ```text
//! PLAN/waiting/.net/token.json     the token; claimed: PLAN/running/.net/token@CLAIM.json
//! PLAN/net/ready/rROUND.NODE@NONCE a node waits to be called for this round; renewed as a lease
//! PLAN/net/go.json                 the last call: a RoundCall
//! PLAN/net/call-ID/NODE.begun      a called node has begun to measure; NODE.ended: it has finished
//! ```

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use model::cluster::Claim;
use model::json::FromJson;
use serde::{Deserialize, Serialize};

use crate::claims::claim::{self, HeldClaim, fresh_name};
use crate::error::{Error, Result, cannot_write};
use crate::folder::{self, Folder, make_folder, read};

/// Folder of the token in `waiting` and `running`: no node's name begins with a dot.
const NET: &str = ".net";
const TOKEN: &str = "token";
/// Keeps the token's folder from being empty while the token is claimed: a rename could replace an empty folder, which
/// would make a second token.
const KEEPER: &str = ".made";
/// A node that starts later than this after its call, in seconds, would disturb other pairs. An NFS client may cache a
/// folder for some seconds.
pub(crate) const BEGIN_SECONDS: f64 = 10.0;
/// The most marks that are read to count the pairs measured at the same time; of more, an equally spaced part.
const MOST_MARKS: usize = 128;
pub(crate) const BEGUN: &str = "begun";
pub(crate) const ENDED: &str = "ended";

/// The network slot of a plan as one worker sees it.
#[derive(Clone, Debug)]
pub(crate) struct NetworkSlot<'a> {
    us: &'a Claim,
    lease: Duration,
    waiting: PathBuf,
    running: PathBuf,
    net: PathBuf,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ReadyNode {
    pub(crate) round: u32,
    pub(crate) node: String,
    /// Unique each time a node becomes ready, so that a call is used once.
    pub(crate) nonce: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RoundCall {
    pub(crate) id: String,
    pub(crate) round: u32,
    pub(crate) members: Vec<(String, String)>,
}

impl FromJson for RoundCall {
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

/// The nodes to call: the ready ones of the lowest round, if all expected ones are ready or the timeout has passed. Pure.
pub(crate) fn nodes_to_call(
    ready: &BTreeSet<ReadyNode>,
    expected: impl Fn(u32) -> BTreeSet<String>,
    is_patience_over: bool,
) -> Vec<&ReadyNode> {
    let Some(round) = ready.first().map(|first| first.round) else { return Vec::new() };
    let of_round: Vec<&ReadyNode> = ready.iter().filter(|ready| ready.round == round).collect();
    let is_there = |node: &String| of_round.iter().any(|ready| ready.node == *node);
    if is_patience_over || expected(round).iter().all(is_there) { of_round } else { Vec::new() }
}

impl ReadyNode {
    fn file(&self) -> String {
        format!("r{}.{}@{}", self.round, self.node, self.nonce)
    }

    fn parse(name: &str) -> Option<Self> {
        let (round, rest) = name.strip_prefix('r')?.split_once('.')?;
        let (node, nonce) = rest.rsplit_once('@')?;
        Some(Self { round: round.parse().ok()?, node: node.to_owned(), nonce: nonce.to_owned() })
    }
}

impl<'a> NetworkSlot<'a> {
    /// The slot of a plan; makes the token if it is missing.
    pub(crate) fn new(folder: &Folder, us: &'a Claim, lease: Duration) -> Result<Self> {
        let (waiting, running) = folder.open_tasks(NET);
        let slot = Self { us, lease, waiting, running, net: folder.path().join("net") };
        for needed in [&slot.running, &slot.net.join("ready")] {
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

    pub(crate) fn take(&self) -> Result<Option<HeldClaim>> {
        // Checked first, because a claim writes a file.
        if !self.waiting.join(format!("{TOKEN}.json")).exists() {
            return Ok(None);
        }
        claim::claim(&self.waiting, &self.running, TOKEN, self.us)
    }

    pub(crate) fn release_lost(&self) -> Result<()> {
        for seen in claim::claims(&self.running)? {
            if claim::is_gone(&self.running, &seen, self.us, self.lease)?
                && let Some(held) = claim::take_over(&self.running, &seen, self.us)?
            {
                self.release(held)?;
            }
        }
        Ok(())
    }

    pub(crate) fn release(&self, token: HeldClaim) -> Result<()> {
        token.give_back(&self.waiting).map(|_| ())
    }

    pub(crate) fn wait_for(&self, round: u32, node: &str) -> Result<ReadyNode> {
        let ready = ReadyNode { round, node: node.to_owned(), nonce: fresh_name()? };
        self.renew(&ready)?;
        Ok(ready)
    }

    pub(crate) fn renew(&self, ready: &ReadyNode) -> Result<()> {
        let path = self.net.join("ready").join(ready.file());
        fs::write(&path, b".").map_err(cannot_write(&path))
    }

    pub(crate) fn withdraw(&self, ready: &ReadyNode) {
        let _ = fs::remove_file(self.net.join("ready").join(ready.file()));
    }

    /// The ready nodes; removes those of lost workers.
    pub(crate) fn ready(&self, now: SystemTime) -> Result<BTreeSet<ReadyNode>> {
        let place = self.net.join("ready");
        let entries = fs::read_dir(&place).map_err(|error| Error::List(place.clone(), error))?;
        let mut ready = BTreeSet::new();
        for entry in entries.flatten() {
            let Some(found) = entry.file_name().to_str().and_then(ReadyNode::parse) else { continue };
            let renewed = entry.metadata().and_then(|data| data.modified());
            match renewed.map(|renewed| now.duration_since(renewed)) {
                Ok(Ok(age)) if age > self.lease => self.withdraw(&found),
                Err(_) => {}
                Ok(_) => {
                    ready.insert(found);
                }
            }
        }
        Ok(ready)
    }

    /// Calls nodes; the caller holds the token.
    pub(crate) fn call(&self, whom: &[&ReadyNode]) -> Result<Option<RoundCall>> {
        let Some(first) = whom.first() else { return Ok(None) };
        let members = whom.iter().map(|ready| (ready.node.clone(), ready.nonce.clone())).collect();
        let call = RoundCall { id: fresh_name()?, round: first.round, members };
        self.sweep();
        make_folder(&self.marks(&call))?;
        folder::write(&self.net.join("go.json"), &call)?;
        Ok(Some(call))
    }

    /// Removes the marks of earlier calls, which have ended since we hold the token.
    fn sweep(&self) {
        let entries = fs::read_dir(&self.net).into_iter().flatten().flatten();
        for entry in entries.filter(|entry| entry.file_name().to_string_lossy().starts_with("call-")) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }

    /// The last call, if it is for this ready node and recent enough.
    pub(crate) fn called(&self, ready: &ReadyNode) -> Option<RoundCall> {
        let path = self.net.join("go.json");
        let call: RoundCall = read(&path).ok()?;
        let is_ours = call.members.iter().any(|(node, nonce)| *node == ready.node && *nonce == ready.nonce);
        if !is_ours {
            return None;
        }
        let made = fs::metadata(&path).and_then(|data| data.modified()).ok()?;
        let age = claim::now_of(&self.net).ok()?.duration_since(made).unwrap_or_default();
        if age.as_secs_f64() > BEGIN_SECONDS {
            // The caller must not wait for us.
            self.mark(&call, &ready.node, ENDED);
            return None;
        }
        Some(call)
    }

    fn marks(&self, call: &RoundCall) -> PathBuf {
        self.net.join(format!("call-{}", call.id))
    }

    /// Leaves a mark; a missing one only counts as a pair less.
    pub(crate) fn mark(&self, call: &RoundCall, node: &str, what: &str) {
        let _ = fs::write(self.marks(call).join(format!("{node}.{what}")), b".");
    }

    pub(crate) fn all_have(&self, call: &RoundCall, what: &str) -> bool {
        let marks = self.marks(call);
        call.members.iter().all(|(node, _)| marks.join(format!("{node}.{what}")).exists())
    }

    /// Calls nodes with the token held, which is released if the list is empty or the call fails.
    pub(crate) fn call_with(&self, held: HeldClaim, nodes: &[&ReadyNode]) -> Result<Option<(RoundCall, HeldClaim)>> {
        match self.call(nodes) {
            Ok(Some(call)) => Ok(Some((call, held))),
            Ok(None) => self.release(held).map(|()| None),
            Err(why) => self.release(held).and(Err(why)),
        }
    }

    /// Whether a call has ended for a node; a call whose marks were removed has ended for all.
    pub(crate) fn has_ended(&self, call: &RoundCall, node: &str) -> bool {
        let marks = self.marks(call);
        !marks.exists() || marks.join(format!("{node}.{ENDED}")).exists()
    }

    pub(crate) fn is_taken(&self) -> Result<bool> {
        for seen in claim::claims(&self.running)? {
            if !claim::is_gone(&self.running, &seen, self.us, self.lease)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// How many pairs of a call were measured during at least half of this node's time, this one included. `None` if that
    /// is unknown.
    pub(crate) fn at_once(&self, call: &RoundCall, node: &str) -> Option<u32> {
        let marks = self.marks(call);
        let time = |node: &str, what: &str| {
            // Opened, so that an NFS client asks the server.
            let file = File::open(marks.join(format!("{node}.{what}")))?;
            file.metadata()?.modified()
        };
        let span = |node: &str| -> io::Result<Option<Span>> {
            match time(node, BEGUN) {
                Ok(begun) => Ok(Some(Span { begun, ended: time(node, ENDED).ok() })),
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
                Err(error) => Err(error),
            }
        };
        let ours = span(node).ok()??;
        let others: Vec<&str> =
            call.members.iter().map(|(other, _)| other.as_str()).filter(|other| *other != node).collect();
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

    fn ready(list: &[(u32, &str)]) -> BTreeSet<ReadyNode> {
        let one = |(round, node): &(u32, &str)| ReadyNode { round: *round, node: (*node).into(), nonce: "0f".into() };
        list.iter().map(one).collect()
    }

    fn called(whom: &[&ReadyNode]) -> String {
        whom.iter().map(|ready| format!("{}:{}", ready.round, ready.node)).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_round_is_called_when_all_are_there_or_nobody_waits_any_longer() {
        let expected = |_: u32| BTreeSet::from(["n1", "n2"].map(str::to_owned));
        let call = |list: &[(u32, &str)], over| called(&nodes_to_call(&ready(list), expected, over));
        assert_eq!(call(&[], true), "");
        assert_eq!(call(&[(0, "n1")], false), "", "n2 is missing");
        assert_eq!(call(&[(0, "n1")], true), "0:n1", "n2 does not come");
        assert_eq!(call(&[(0, "n1"), (0, "n2"), (0, "n3")], false), "0:n1 0:n2 0:n3");
        assert_eq!(call(&[(1, "n1"), (2, "n2")], false), "", "n2 is in another round");
        assert_eq!(call(&[(1, "n1"), (1, "n2"), (2, "n3")], true), "1:n1 1:n2", "the lowest round");
        assert_eq!(call(&[(10, "n1"), (9, "n2")], true), "9:n2", "rounds are numbers");
    }

    #[test]
    fn file_names_list_the_waiting_nodes() {
        for node in ["n1", "node-7.rack_3", "r1.n2"] {
            let ready = ReadyNode { round: 12, node: node.into(), nonce: "0f".into() };
            assert_eq!(ReadyNode::parse(&ready.file()), Some(ready));
        }
        for other in ["", "r", "r1", "r1.n1", "rx.n1@0", "go.json", ".now@0f", "r-1.n1@0f"] {
            assert_eq!(ReadyNode::parse(other), None, "{other}");
        }
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
            assert_eq!(taken.len(), 1);
            let slot = NetworkSlot::new(&folder, &claims[0], LEASE).unwrap();
            assert!(slot.take().unwrap().is_none());
            slot.release_lost().unwrap();
            assert!(slot.take().unwrap().is_none(), "its holder is not gone");
            for held in taken {
                slot.release(held).unwrap();
            }
        }
        // The holder is lost: after the lease another worker gets the token.
        let slot = NetworkSlot::new(&folder, &claims[0], Duration::from_millis(50)).unwrap();
        let lost = slot.take().unwrap().unwrap();
        std::thread::sleep(Duration::from_millis(200));
        slot.release_lost().unwrap();
        assert!(slot.take().unwrap().is_some());
        assert!(!lost.renew().unwrap(), "the first holder finds it gone");
        assert_eq!(fs::read_dir(scratch.path().join("waiting")).unwrap().count(), 1, "nothing half-made is left");
    }

    #[test]
    fn only_who_waits_is_called_and_only_while_the_call_is_young() {
        let scratch = plan_folder();
        let (folder, us) = (Folder::at(scratch.path()), claim("a"));
        let slot = NetworkSlot::new(&folder, &us, LEASE).unwrap();
        let (one, other) = (slot.wait_for(3, "n1").unwrap(), slot.wait_for(3, "n2").unwrap());
        let now = claim::now_of(&slot.net).unwrap();
        assert_eq!(slot.ready(now).unwrap(), BTreeSet::from([one.clone(), other.clone()]));
        assert_eq!(slot.called(&one), None);
        let call = slot.call(&[&one]).unwrap().unwrap();
        assert_eq!((slot.called(&one), slot.called(&other)), (Some(call.clone()), None));
        slot.withdraw(&one);
        let again = slot.wait_for(3, "n1").unwrap();
        assert_eq!(slot.called(&again), None, "the same node, waiting again");
        // An hour later: too late to begin, and the caller must not wait.
        let go = File::options().write(true).open(slot.net.join("go.json")).unwrap();
        go.set_modified(now - Duration::from_secs(3600)).unwrap();
        assert!(!slot.all_have(&call, ENDED));
        assert_eq!(slot.called(&one), None);
        assert!(slot.all_have(&call, ENDED));
        // A node that has not renewed is lost.
        assert_eq!(slot.ready(now + 2 * LEASE).unwrap(), BTreeSet::new());
        assert_eq!(slot.ready(now).unwrap(), BTreeSet::new(), "and its mark with it");
        for broken in ["", "{", "[1]"] {
            fs::write(slot.net.join("go.json"), broken).unwrap();
            assert_eq!(slot.called(&again), None);
        }
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
        let waiting: Vec<ReadyNode> = (0..300).map(|node| slot.wait_for(0, &format!("n{node}")).unwrap()).collect();
        let call = slot.call(&waiting.iter().collect::<Vec<_>>()).unwrap().unwrap();
        assert_eq!(slot.at_once(&call, "n0"), None, "it has not even begun");
        let all = |what| {
            for (node, _) in &call.members {
                slot.mark(&call, node, what);
            }
        };
        slot.mark(&call, "n0", BEGUN);
        slot.mark(&call, "n0", ENDED);
        assert_eq!(slot.at_once(&call, "n0"), Some(1), "nobody else has begun");
        let began = sys::clock::monotonic_raw_seconds();
        all(BEGUN);
        // All have begun in the first tenth of the time, however slow the file system is.
        std::thread::sleep(Duration::from_secs_f64(10.0 * (sys::clock::monotonic_raw_seconds() - began)));
        all(ENDED);
        assert_eq!(slot.at_once(&call, "n0"), Some(300), "estimated from some of them");
        assert!(slot.all_have(&call, ENDED));
        // The next call removes the marks.
        slot.call(&[&waiting[0]]).unwrap();
        assert_eq!(slot.at_once(&call, "n0"), None);
    }
}
