//! Measuring pairs of nodes: an idle worker starts a server ([`super::server`]) and measures the pairs in which its node is
//! the client when it is called. One of the workers calls ([`super::slot`]).

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, SystemTime};

use sys::clock::monotonic_raw_seconds;
use sys::process::stop_signal;

use super::idle::{IdleEnd, IdleWorker};
use super::pairs::{PAIR_SECONDS, Pair, name, named_rounds, pairs_of, rounds_alone};
use super::server::{NodeServer, PeerServer, find_server, reach};
use super::slot::{ENDED, NetworkSlot, PAIR_TIMEOUT_SECONDS, PairCall};
use crate::attempt::context::{PairChecks, ProgramCall};
use crate::attempt::publish::return_lost_tasks;
use crate::attempt::run::attempt;
use crate::claims::claim;
use crate::claims::lease::{Lease, lock};
use crate::error::{Error, Result};
use crate::folder::{Folder, State};
use crate::tasks::lease;

/// What is measured of a pair. The time budget is for networks so slow that one sample is all there is time for.
const OPTIONS: &str = "--protocol tcp --mode stream,pingpong --threads 1 --repeat 5 --time-budget 60s";
/// A worker with less time left than this, in seconds, measures no further pair.
const LEAST_SECONDS: f64 = 3.0 * PAIR_SECONDS;
const SUITE: &str = "net";
/// Seconds between two looks of a waiting worker for a call, among few nodes and among many. The pairs of a round start up
/// to this far apart.
const CALL_LOOK: (f64, f64) = (0.1, 1.0);
/// With more nodes than this workers look less often, so that all together open a few thousand files a second.
const FEW_NODES: f64 = 200.0;

/// Starts this node's server and measures and serves pairs while there are other nodes to do it with. To be called by the
/// thread that lives as long as the worker: child processes end with the thread that started them.
pub(crate) fn measure_pairs(worker: &IdleWorker<'_>) -> Result<IdleEnd> {
    let mut client = PairClient::new(worker)?;
    client.drop_finished();
    if client.pairs.is_empty() {
        return Ok(IdleEnd::AllFinished);
    }
    let context = worker.context;
    let (folder, plan) = (context.folder, context.plan);
    let program = folder.program(plan);
    let server = NodeServer::start(folder, context.node, plan.network.as_deref(), &program, worker.us)?;
    (worker.report)(&format!("{}: serving other nodes at {}", context.node, server.record.addresses.join(", ")));
    let (server, trouble) = (Mutex::new(server), Mutex::new(None));
    let (over, end) = mpsc::channel::<()>();
    std::thread::scope(|scope| {
        // Renews the server's file also while a pair is measured; ends when `over` is dropped.
        let (server, trouble) = (&server, &trouble);
        let renew = move || {
            while end.recv_timeout(lease(context.plan) / 6) == Err(mpsc::RecvTimeoutError::Timeout) {
                if let Err(why) = lock(server).renew() {
                    lock(trouble).get_or_insert(why);
                }
            }
        };
        std::thread::Builder::new().spawn_scoped(scope, renew).map_err(Error::Thread)?;
        let ended = client.work(&|| lock(trouble).take().map_or(Ok(()), Err));
        drop(over);
        ended
    })
}

type Servers = BTreeMap<String, PeerServer>;
type Named = (String, String);

struct PairClient<'a> {
    worker: &'a IdleWorker<'a>,
    slot: NetworkSlot<'a>,
    rounds: Vec<Vec<Named>>,
    pairs: Vec<Pair>,
    /// Since when no partner has had a server.
    idle_since: f64,
    /// The last call that this node has answered.
    answered: String,
    leader: Option<Leader>,
    /// Nodes whose server could not be reached, with the time of its last renewal then.
    unreached: BTreeMap<String, SystemTime>,
}

/// What the worker remembers that calls pairs.
struct Leader {
    slot_lease: Arc<Lease>,
    /// The unfinished pairs, client and server, that are called at the same time: single pairs, then rounds. The last called
    /// is last.
    groups: [VecDeque<Vec<Named>>; 2],
    /// The nodes with a server, and since when they are the same.
    serving: BTreeSet<String>,
    unchanged_since: f64,
    /// Whether there was a pair to call.
    is_calling: bool,
    /// The last call whose lost clients are known.
    looked_at: String,
    /// Clients that were lost during a call, with the time of their server's last renewal then.
    lost: BTreeMap<String, SystemTime>,
}

impl Leader {
    fn new(slot_lease: Arc<Lease>, rounds: &[Vec<Named>]) -> Self {
        let alone = rounds.iter().take(rounds_alone(rounds.iter().map(Vec::len))).flatten();
        let groups = [alone.map(|pair| vec![pair.clone()]).collect(), rounds.iter().cloned().collect()];
        Self {
            slot_lease,
            groups,
            serving: BTreeSet::new(),
            unchanged_since: 0.0,
            is_calling: false,
            looked_at: String::new(),
            lost: BTreeMap::new(),
        }
    }

    /// Sets the nodes with a server, each with the time of its renewal. Clients that the last call lost are left out until
    /// they renew it, since every pair with them would hold the others up.
    fn set_serving(&mut self, servers: BTreeMap<String, SystemTime>, ended: Option<(PairCall, Vec<String>)>) {
        if let Some((call, lost)) = ended.filter(|(call, _)| call.id != self.looked_at) {
            self.looked_at = call.id;
            self.lost.extend(lost.into_iter().filter_map(|node| servers.get(&node).map(|renewed| (node, *renewed))));
        }
        let is_back = |(node, renewed): &(String, SystemTime)| self.lost.get(node).is_none_or(|lost| renewed > lost);
        let serving: BTreeSet<String> = servers.into_iter().filter(is_back).map(|(node, _)| node).collect();
        if serving != self.serving {
            (self.serving, self.unchanged_since) = (serving, monotonic_raw_seconds());
        }
    }

    /// Whether a round need not wait for nodes: all have a server, or none has started or ended one for a while.
    fn is_complete(&self, patience: f64) -> bool {
        let mut left = self.groups[1].iter().flatten();
        left.all(|(from, to)| self.serving.contains(from) && self.serving.contains(to))
            || monotonic_raw_seconds() - self.unchanged_since > patience
    }

    /// The next pair or round of which something can be measured: the clients, each with its task.
    fn next(&mut self, folder: &Folder, patience: f64) -> Option<BTreeMap<String, String>> {
        let is_complete = self.is_complete(patience);
        for together in [false, true].into_iter().filter(|together| is_complete || !together) {
            let groups = &mut self.groups[usize::from(together)];
            for _ in 0..groups.len() {
                let mut pairs = groups.pop_front()?;
                pairs.retain(|(from, to)| !folder.tasks(State::Done, from).join(name(to, together)).exists());
                let can = |(from, to): &&Named| {
                    let serve = self.serving.contains(from) && self.serving.contains(to);
                    serve && folder.waiting_task(from, &name(to, together)).exists()
                };
                let open = pairs.iter().filter(can).map(|(from, to)| (from.clone(), name(to, together)));
                let open: BTreeMap<String, String> = open.collect();
                if !pairs.is_empty() {
                    groups.push_back(pairs);
                }
                if !open.is_empty() {
                    return Some(open);
                }
            }
        }
        None
    }
}

impl<'a> PairClient<'a> {
    fn new(worker: &'a IdleWorker<'a>) -> Result<Self> {
        let context = worker.context;
        let rounds = named_rounds(context.plan);
        Ok(Self {
            worker,
            slot: NetworkSlot::new(context.folder, worker.us, lease(context.plan))?,
            pairs: pairs_of(context.node, &rounds),
            rounds,
            idle_since: monotonic_raw_seconds(),
            answered: String::new(),
            leader: None,
            unreached: BTreeMap::new(),
        })
    }

    fn node(&self) -> &'a str {
        self.worker.context.node
    }

    fn drop_finished(&mut self) {
        let folder = self.worker.context.folder;
        self.pairs.retain(|pair| !folder.tasks(State::Done, &pair.from).join(pair.task_name()).exists());
    }

    fn server_of(&self, node: &str, now: SystemTime) -> Option<PeerServer> {
        find_server(self.worker.context.folder, node, now, lease(self.worker.context.plan))
    }

    /// The running servers of this node's partners.
    fn servers(&self, now: SystemTime) -> Servers {
        let nodes: BTreeSet<&String> = self.pairs.iter().flat_map(|pair| [&pair.from, &pair.to]).collect();
        let others = nodes.into_iter().filter(|node| *node != self.node());
        others.filter_map(|node| Some((node.clone(), self.server_of(node, now)?))).collect()
    }

    fn work(&mut self, check_server: &dyn Fn() -> Result<()>) -> Result<IdleEnd> {
        let ended = loop {
            match check_server().and_then(|()| self.step()) {
                Ok(None) => self.pause(),
                Ok(Some(ended)) => break Ok(ended),
                Err(why) => break Err(why),
            }
        };
        let released = self.leader.take().map_or(Ok(()), |leader| {
            self.worker.context.leases.forget(&leader.slot_lease);
            self.slot.release(leader.slot_lease.held().clone())
        });
        ended.and_then(|ended| released.map(|()| ended))
    }

    /// Waits until the next step or call: four steps a second among few nodes, fewer among many.
    fn pause(&self) {
        let nodes = self.worker.context.plan.nodes.len() as f64;
        let until = monotonic_raw_seconds() + (nodes / 32.0).clamp(0.25, 5.0);
        let look = Duration::from_secs_f64((CALL_LOOK.0 * nodes / FEW_NODES).clamp(CALL_LOOK.0, CALL_LOOK.1));
        let is_calling = self.leader.as_ref().is_some_and(|leader| leader.is_calling);
        while monotonic_raw_seconds() < until && stop_signal().is_none() {
            std::thread::sleep(look);
            if self.slot.called(self.node(), &self.answered).is_some() || is_calling && !self.slot.is_busy() {
                return;
            }
        }
    }

    /// Does what can be done now; returns the reason to end, if there is one.
    fn step(&mut self) -> Result<Option<IdleEnd>> {
        if let Some(ended) = self.worker.leaving(LEAST_SECONDS) {
            return Ok(Some(ended));
        }
        let context = self.worker.context;
        self.drop_finished();
        if self.pairs.is_empty() {
            return Ok(Some(IdleEnd::AllFinished));
        }
        let is_ours = |task: &str| self.pairs.iter().any(|pair| pair.from == context.node && pair.task_name() == task);
        return_lost_tasks(context.folder, context.plan, context.node, self.worker.us, is_ours)?;
        let now = claim::now_of(&context.folder.node(context.node))?;
        let (servers, time) = (self.servers(now), monotonic_raw_seconds());
        if !servers.is_empty() {
            self.idle_since = time;
        } else if time - self.idle_since > self.worker.waits.linger {
            return Ok(Some(IdleEnd::PartnersMissing));
        }
        if !self.measure_called(&servers)? {
            self.lead(now)?;
        }
        Ok(None)
    }

    /// Measures our pair of the last call, unless it is too late to begin; whether there was a call.
    fn measure_called(&mut self, servers: &Servers) -> Result<bool> {
        let (node, slot) = (self.node(), self.slot.clone());
        let Some(call) = slot.called(node, &self.answered) else { return Ok(false) };
        self.answered.clone_from(&call.id);
        let pair = self.pairs.iter().find(|pair| pair.from == node && pair.task_name() == call.tasks[node]).cloned();
        let measured = match pair.as_ref().and_then(|pair| Some((pair, servers.get(&pair.to)?))) {
            Some((pair, server)) if !slot.is_late(&call) => {
                slot.while_alive(&call, node, || self.measure(pair, server, &call)).and_then(|measured| measured)
            }
            _ => Ok(()),
        };
        // The leader waits for this mark, also without a result.
        slot.mark(&call, node, ENDED);
        measured.map(|()| true)
    }

    /// Calls the next pairs when the last call has ended, if this worker leads or no other one does.
    fn lead(&mut self, now: SystemTime) -> Result<()> {
        let IdleWorker { context, waits, .. } = *self.worker;
        if let Some(lost) = self.leader.take_if(|leader| !leader.slot_lease.is_ours()) {
            context.leases.forget(&lost.slot_lease);
        }
        if self.leader.is_none() {
            let held = self.slot.take()?;
            self.leader = held.map(|held| Leader::new(context.leases.hold(held), &self.rounds));
        }
        if self.leader.is_none() || self.slot.is_busy() {
            return Ok(());
        }
        let names = context.plan.nodes.iter().map(|node| &node.name);
        let servers = names.filter_map(|node| Some((node.clone(), self.server_of(node, now)?.renewed))).collect();
        let Some(leader) = &mut self.leader else { return Ok(()) };
        leader.set_serving(servers, self.slot.unended());
        let next = leader.next(context.folder, waits.patience);
        leader.is_calling = next.is_some();
        next.map_or(Ok(()), |tasks| self.slot.call(tasks))
    }

    /// Claims a pair's task and makes an attempt at it, if possible.
    fn measure(&mut self, pair: &Pair, server: &PeerServer, call: &PairCall) -> Result<()> {
        let IdleWorker { context, us, report, on_result, .. } = *self.worker;
        let Some(address) = self.address(pair, server) else { return Ok(()) };
        let (waiting, running) = context.folder.open_tasks(context.node);
        let Some(held) = claim::claim(&waiting, &running, &pair.task_name(), us)? else { return Ok(()) };
        let task = held.task()?;
        report(&format!("{}: {}", context.node, task.name));
        let partner_left = || {
            let now = claim::now_of(&context.folder.node(context.node)).ok();
            let seen = now.and_then(|now| self.server_of(&pair.to, now));
            !seen.is_some_and(|seen| seen.record.claim.id == server.record.claim.id && reach(&seen, us).is_ok())
        };
        let (slot, node) = (self.slot.clone(), self.node());
        let at_once = || {
            slot.mark(call, node, ENDED);
            slot.at_once(call, node)
        };
        let key_file = std::path::absolute(&server.key).unwrap_or_else(|_| server.key.clone()).display().to_string();
        let to = ["net", "--to", &address, "--key-file", &key_file].into_iter();
        let program = ProgramCall {
            arguments: to.chain(OPTIONS.split(' ')).map(str::to_owned).collect(),
            suite: SUITE.to_owned(),
            suite_text: None,
            most_seconds: PAIR_TIMEOUT_SECONDS,
        };
        let is_given_up = || slot.is_given_up(call);
        let checks = PairChecks { is_given_up: &is_given_up, at_once: &at_once, partner_left: &partner_left };
        on_result(&task, &attempt(context, held, &task, &program, Some(&checks))?);
        Ok(())
    }

    /// An address of a server that accepts a connection. A server that renews its file but cannot be reached gets its first
    /// address, so that the attempt reports the reason. One that does not renew may be that of a killed worker.
    fn address(&mut self, pair: &Pair, server: &PeerServer) -> Option<String> {
        match reach(server, self.worker.us) {
            Ok(address) => {
                self.unreached.remove(&pair.to);
                Some(address)
            }
            Err(why) => {
                let first = *self.unreached.entry(pair.to.clone()).or_insert(server.renewed);
                let address = server.record.addresses.first().filter(|_| server.renewed > first)?;
                (self.worker.report)(&format!("{}: {}: {why}", self.node(), pair.to));
                Some(address.clone())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::claims::lease::Leases;
    use crate::folder::write;
    use crate::tests::support::{claim, plan_folder};

    #[test]
    fn single_pairs_are_called_first_and_rounds_when_the_nodes_have_servers() {
        let scratch = plan_folder();
        let (folder, us, minute) = (Folder::at(scratch.path()), claim("a"), Duration::from_secs(60));
        let token = NetworkSlot::new(&folder, &us, minute).unwrap().take().unwrap().unwrap();
        let named = |(from, to): (&str, &str)| (from.to_owned(), to.to_owned());
        let rounds: Vec<Vec<Named>> =
            [[("n1", "n2"), ("n2", "n3"), ("n3", "n1")], [("n1", "n3"), ("n2", "n1"), ("n3", "n2")]]
                .map(|round| round.map(named).to_vec())
                .to_vec();
        for (from, to) in rounds.iter().flatten() {
            for together in [false, true] {
                write(&folder.waiting_task(from, &name(to, together)), &()).unwrap();
            }
        }
        let mut leader = Leader::new(Leases::new(minute).hold(token), &rounds);
        let mut next = |serving: &[&str], unchanged_since: f64| -> Option<String> {
            leader.serving = serving.iter().map(|node| (*node).to_owned()).collect();
            leader.unchanged_since = unchanged_since;
            let called = leader.next(&folder, 60.0)?;
            // As if the clients had measured.
            for (from, task) in &called {
                fs::remove_file(folder.waiting_task(from, task)).unwrap();
                fs::create_dir_all(folder.tasks(State::Done, from).join(task)).unwrap();
            }
            Some(called.iter().map(|(from, task)| format!("{from} {task}")).collect::<Vec<_>>().join(", "))
        };
        let (now, long_ago) = (monotonic_raw_seconds(), 0.0);
        let called = |text: &str| Some(text.to_owned());
        assert_eq!(next(&["n1"], now), None);
        assert_eq!(next(&["n1", "n2"], now), called("n1 to-n2.alone"));
        assert_eq!(next(&["n1", "n2"], now), called("n2 to-n1.alone"));
        assert_eq!(next(&["n1", "n2"], now), None, "n3 may start soon");
        assert_eq!(next(&["n1", "n2"], long_ago), called("n1 to-n2.together"), "n3 does not start");
        let all = ["n1", "n2", "n3"];
        for alone in ["n3 to-n2", "n2 to-n3", "n3 to-n1", "n1 to-n3"] {
            assert_eq!(next(&all, now), called(&format!("{alone}.alone")));
        }
        assert_eq!(next(&all, now), called("n1 to-n3.together, n2 to-n1.together, n3 to-n2.together"));
        assert_eq!(next(&all, now), called("n2 to-n3.together, n3 to-n1.together"), "the rest of the first round");
        assert_eq!(next(&all, now), None);
    }

    #[test]
    fn a_lost_client_is_left_out_until_its_worker_renews_its_server() {
        let scratch = plan_folder();
        let (folder, us, minute) = (Folder::at(scratch.path()), claim("a"), Duration::from_secs(60));
        let token = NetworkSlot::new(&folder, &us, minute).unwrap().take().unwrap().unwrap();
        let mut leader = Leader::new(Leases::new(minute).hold(token), &[]);
        let mut serving = |renewed: u64, call: &str, lost: &[&str]| {
            let at = |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
            let servers = [("n1", renewed), ("n2", 5)].map(|(node, time)| (node.to_owned(), at(time)));
            let call = PairCall { id: call.to_owned(), tasks: BTreeMap::new() };
            leader.set_serving(servers.into(), Some((call, lost.iter().map(|node| (*node).to_owned()).collect())));
            leader.serving.iter().cloned().collect::<Vec<_>>().join(" ")
        };
        assert_eq!(serving(5, "a", &[]), "n1 n2");
        assert_eq!(serving(5, "b", &["n1"]), "n2");
        assert_eq!(serving(9, "b", &["n1"]), "n1 n2", "its worker lives");
        assert_eq!(serving(9, "c", &["n1"]), "n2", "lost again");
    }
}
