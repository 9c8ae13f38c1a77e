//! Measuring pairs of nodes: an idle worker starts a server ([`super::server`]), and measures the pairs in which its node
//! is the client whenever it has the network slot ([`super::slot`]).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, SystemTime};

use sys::clock::monotonic_raw_seconds;
use sys::process::stop_signal;

use super::idle::{IdleEnd, IdleWorker};
use super::pairs::{PAIR_SECONDS, Pair, name, named_rounds, pairs_of};
use super::server::{NodeServer, PeerServer, find_server, reach};
use super::slot::{BEGIN_SECONDS, BEGUN, ENDED, NetworkSlot, ReadyNode, RoundCall, nodes_to_call};
use crate::attempt::context::{PairChecks, ProgramCall};
use crate::attempt::publish::return_lost_tasks;
use crate::attempt::run::attempt;
use crate::claims::claim;
use crate::claims::lease::{Lease, lock};
use crate::error::{Error, Result};
use crate::folder::State;
use crate::tasks::lease;

/// What is measured of a pair. The time budget is for networks so slow that one sample is all there is time for.
const OPTIONS: &str = "--protocol tcp --mode stream,pingpong --threads 1 --repeat 5 --time-budget 60s";
const MOST_SECONDS: f64 = 75.0;
/// A worker with less time left than this, in seconds, measures no further pair.
const LEAST_SECONDS: f64 = 3.0 * PAIR_SECONDS;
/// Timeout of a round for its caller, in seconds.
const ROUND_SECONDS: f64 = BEGIN_SECONDS + MOST_SECONDS;
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

struct PairClient<'a> {
    worker: &'a IdleWorker<'a>,
    slot: NetworkSlot<'a>,
    rounds: Vec<Vec<(String, String)>>,
    pairs: Vec<Pair>,
    /// Since when there has been nothing to do, and since when the set of ready nodes has not changed.
    idle_since: f64,
    unchanged_since: f64,
    seen_ready: BTreeSet<ReadyNode>,
    ready: Option<ReadyNode>,
    called: Option<CalledRound>,
    /// Nodes whose server could not be reached, with the time of its last renewal then.
    unreached: BTreeMap<String, SystemTime>,
}

struct CalledRound {
    call: RoundCall,
    slot_lease: Arc<Lease>,
    until: f64,
}

impl<'a> PairClient<'a> {
    fn new(worker: &'a IdleWorker<'a>) -> Result<Self> {
        let context = worker.context;
        let rounds = named_rounds(context.plan);
        let now = monotonic_raw_seconds();
        Ok(Self {
            worker,
            slot: NetworkSlot::new(context.folder, worker.us, lease(context.plan))?,
            pairs: pairs_of(context.node, &rounds),
            rounds,
            idle_since: now,
            unchanged_since: now,
            seen_ready: BTreeSet::new(),
            ready: None,
            called: None,
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

    fn can_be_claimed(&self, from: &str, to: &str, together: bool) -> bool {
        self.worker.context.folder.waiting_task(from, &name(to, together)).exists()
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
        if let Some(ready) = self.ready.take() {
            self.slot.withdraw(&ready);
        }
        let returned = self.end_called_round(true);
        ended.and_then(|ended| returned.map(|()| ended))
    }

    /// Waits until the next step or a call: four steps a second among few nodes, fewer among many.
    fn pause(&self) {
        let nodes = self.worker.context.plan.nodes.len() as f64;
        let until = monotonic_raw_seconds() + (nodes / 32.0).clamp(0.25, 5.0);
        let look = Duration::from_secs_f64((CALL_LOOK.0 * nodes / FEW_NODES).clamp(CALL_LOOK.0, CALL_LOOK.1));
        while monotonic_raw_seconds() < until && stop_signal().is_none() {
            std::thread::sleep(look);
            if self.ready.as_ref().is_some_and(|ready| self.slot.called(ready).is_some()) {
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
        let time = monotonic_raw_seconds();
        self.end_called_round(false)?;
        self.drop_finished();
        if self.pairs.is_empty() {
            return Ok(Some(IdleEnd::AllFinished));
        }
        self.slot.release_lost()?;
        let is_ours = |task: &str| self.pairs.iter().any(|pair| pair.from == context.node && pair.task_name() == task);
        return_lost_tasks(context.folder, context.plan, context.node, self.worker.us, is_ours)?;
        let now = claim::now_of(&context.folder.node(context.node))?;
        let servers = self.servers(now);
        if self.pairs.iter().any(|pair| servers.contains_key(pair.partner_of(context.node))) {
            self.idle_since = time;
        } else if time - self.idle_since > self.worker.waits.linger {
            return Ok(Some(IdleEnd::PartnersMissing));
        }
        if !self.measure_called(&servers)? && !self.measure_alone(&servers)? {
            self.wait_for_round(&servers)?;
            self.call_round(now)?;
        }
        Ok(None)
    }

    /// The first of this node's own pairs that can be measured now.
    fn next(&self, together: bool, servers: &Servers) -> Option<Pair> {
        let ours = self.pairs.iter().filter(|pair| pair.from == self.node() && pair.together == together);
        let mut served = ours.filter(|pair| servers.contains_key(&pair.to));
        served.find(|pair| self.can_be_claimed(&pair.from, &pair.to, together)).cloned()
    }

    /// Measures a pair while no other is measured, if possible.
    fn measure_alone(&mut self, servers: &Servers) -> Result<bool> {
        if self.called.is_some() {
            return Ok(false);
        }
        let Some(pair) = self.next(false, servers) else { return Ok(false) };
        // A node that can measure alone does not wait for a round.
        if let Some(ready) = self.ready.take() {
            self.slot.withdraw(&ready);
        }
        let Some(held) = self.slot.take()? else { return Ok(false) };
        let held = self.worker.context.leases.hold(held);
        let measured = self.measure(&pair, &servers[&pair.to], &|| Some(1));
        self.release(&held)?;
        measured
    }

    fn release(&self, slot_lease: &Arc<Lease>) -> Result<()> {
        self.worker.context.leases.forget(slot_lease);
        self.slot.release(slot_lease.held().clone())
    }

    /// Measures our pair of the round that was called, if it was.
    fn measure_called(&mut self, servers: &Servers) -> Result<bool> {
        let Some(ready) = self.ready.take() else { return Ok(false) };
        let Some(call) = self.slot.called(&ready) else {
            self.ready = Some(ready);
            return Ok(false);
        };
        self.slot.withdraw(&ready);
        let node = self.node();
        let ours = |pair: &&Pair| pair.together && pair.from == node && pair.round == call.round;
        let pair = self.pairs.iter().find(ours).cloned();
        let measured = match pair.as_ref().and_then(|pair| Some((pair, servers.get(&pair.to)?))) {
            Some((pair, server)) => {
                let slot = self.slot.clone();
                slot.mark(&call, node, BEGUN);
                self.measure(pair, server, &|| {
                    slot.mark(&call, node, ENDED);
                    slot.at_once(&call, node)
                })
            }
            None => Ok(false),
        };
        // The caller waits for this mark, also without a result.
        self.slot.mark(&call, node, ENDED);
        measured
    }

    /// Becomes ready for the first round in which this node is a client.
    fn wait_for_round(&mut self, servers: &Servers) -> Result<()> {
        let round = match self.next(false, servers) {
            Some(_) => None,
            None => self.next(true, servers).map(|next| next.round),
        };
        if let Some(ready) = &self.ready {
            if Some(ready.round) == round {
                return self.slot.renew(ready);
            }
            self.slot.withdraw(ready);
            self.ready = None;
        }
        if let Some(round) = round {
            self.ready = Some(self.slot.wait_for(round, self.node())?);
        }
        Ok(())
    }

    /// Calls a round, if this node is the caller and it is time.
    fn call_round(&mut self, now: SystemTime) -> Result<()> {
        if self.ready.is_none() || self.called.is_some() {
            return Ok(());
        }
        let time = monotonic_raw_seconds();
        let ready = self.slot.ready(now)?;
        if ready != self.seen_ready {
            (self.seen_ready, self.unchanged_since) = (ready.clone(), time);
        }
        let patience = self.worker.waits.patience;
        // The first ready node is the caller, so that not all try to take the slot; if it fails, any other.
        let is_first = ready.first().is_some_and(|first| first.node == self.node());
        if !is_first && time - self.unchanged_since < 2.0 * patience {
            return Ok(());
        }
        let Some(held) = self.slot.take()? else {
            self.unchanged_since = time;
            return Ok(());
        };
        let is_patience_over = time - self.unchanged_since > patience;
        let nodes = nodes_to_call(&ready, |round| self.expected(round, now), is_patience_over);
        if let Some((call, held)) = self.slot.call_with(held, &nodes)? {
            let slot_lease = self.worker.context.leases.hold(held);
            self.called = Some(CalledRound { call, slot_lease, until: time + ROUND_SECONDS });
        }
        Ok(())
    }

    /// The clients of a round whose task waits and whose servers both run.
    fn expected(&self, round: u32, now: SystemTime) -> BTreeSet<String> {
        let serves = |node: &str| self.server_of(node, now).is_some();
        let pairs = usize::try_from(round).ok().and_then(|round| self.rounds.get(round)).into_iter().flatten();
        let can = pairs.filter(|(from, to)| self.can_be_claimed(from, to, true) && serves(from) && serves(to));
        can.map(|(from, _)| from.clone()).collect()
    }

    /// Releases the slot when the round that we called has ended or timed out, or at once.
    fn end_called_round(&mut self, at_once: bool) -> Result<()> {
        let has_ended = |called: &CalledRound| {
            at_once || monotonic_raw_seconds() > called.until || self.slot.all_have(&called.call, ENDED)
        };
        if !self.called.as_ref().is_some_and(has_ended) {
            return Ok(());
        }
        self.unchanged_since = monotonic_raw_seconds();
        self.called.take().map_or(Ok(()), |called| self.release(&called.slot_lease))
    }

    /// Claims a pair's task and makes an attempt at it, if possible.
    fn measure(&mut self, pair: &Pair, server: &PeerServer, at_once: &dyn Fn() -> Option<u32>) -> Result<bool> {
        let IdleWorker { context, us, report, on_result, .. } = *self.worker;
        let Some(address) = self.address(pair, server) else { return Ok(false) };
        let (waiting, running) = context.folder.open_tasks(context.node);
        let Some(held) = claim::claim(&waiting, &running, &pair.task_name(), us)? else { return Ok(false) };
        let task = held.task()?;
        report(&format!("{}: {}", context.node, task.name));
        let partner_left = || {
            let now = claim::now_of(&context.folder.node(context.node)).ok();
            let seen = now.and_then(|now| self.server_of(&pair.to, now));
            !seen.is_some_and(|seen| seen.record.claim.id == server.record.claim.id && reach(&seen, us).is_ok())
        };
        let key_file = server.key.display().to_string();
        let to = ["net", "--to", &address, "--key-file", &key_file].into_iter();
        let call = ProgramCall {
            arguments: to.chain(OPTIONS.split(' ')).map(str::to_owned).collect(),
            suite: SUITE.to_owned(),
            suite_text: None,
            most_seconds: MOST_SECONDS,
        };
        let checks = PairChecks { at_once, partner_left: &partner_left };
        on_result(&task, &attempt(context, held, &task, &call, Some(&checks))?);
        Ok(true)
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
