//! One thread of the client: its part of the benchmark through the worker's windows, and the conditions at the end.

use std::io;
use std::sync::Arc;

use model::document::NetConditions;
use model::experiment::{LOOPBACK, NetParams};
use model::io::{Direction, NetMode, Protocol, Wait};
use model::wire::{Observations, Task};
use sys::clock::Timer;

use super::connect::Connector;
use super::datagrams::{self, Form, Stream};
use super::flows::{DataEnd, Way, ways};
use super::link::content::Content;
use super::link::sizes::{UDP_HEADER_BYTES, block_bytes, flow_block_bytes};
use super::link::{ceiling, sent};
use super::load::Probe;
use super::part::{Moment, Part};
use super::pingpong::Pinger;
use super::session::{Failure, Session};
use super::stream::{Receiver, Sender};
use super::transfer::Exchanger;
use crate::engines::{Flow, FlowMetric, FlowProfile, NextWindow, Tally, Verified, Window, share_of_work};
use crate::net::handshake;

/// Before a window: full buffers drain, and sender and receiver find their pace.
const LEAD_MICROSECONDS: u32 = 20_000;
/// Before a window of messages: dozens of round trips, compared in full.
const MESSAGES_LEAD_MICROSECONDS: u32 = 5_000;

pub(super) struct NetFlow {
    part: Box<dyn Part>,
    at: At,
}

struct At {
    session: Arc<Session>,
    thread: usize,
    way: Way,
    task: Task,
    params: NetParams,
    number: u32,
    window: Window,
    timer: Timer,
    /// This thread's share of a task's work that is done in full.
    share_of_work: Option<u64>,
    /// Bytes and seconds of the samples so far.
    carried: (u64, f64),
}

fn part_of(
    params: &NetParams,
    way: Way,
    end: DataEnd,
    content: Content,
    session: &Session,
) -> io::Result<Box<dyn Part>> {
    let (wait, silence) = (params.wait.unwrap_or(Wait::Blocking), session.silence);
    Ok(match (end, params.mode, way) {
        (end, NetMode::Load, Way::Back) => Box::new(Probe::new(end, &content, session)?),
        (DataEnd::Tcp(connection), NetMode::Stream | NetMode::Load, Way::Up) => {
            Box::new(Sender::new(connection, &content, params.zero_copy == Some(true), silence)?)
        }
        (DataEnd::Tcp(connection), NetMode::Stream | NetMode::Load, _) => {
            Box::new(Receiver::new(connection, content, silence)?)
        }
        (DataEnd::Tcp(connection), NetMode::Transfer, _) => Box::new(Exchanger::new(connection, content, silence)?),
        (DataEnd::Tcp(connection), NetMode::Connect, _) => Box::new(Connector::new(connection, &content, session)?),
        (DataEnd::Udp(socket), NetMode::Blast | NetMode::NoDrop, way) => {
            Box::new(Stream::new(params, way, socket, Form::new(&content))?)
        }
        (DataEnd::Udp(socket), NetMode::Transfer, _) => Box::new(datagrams::Exchanger::new(params, socket, &content)?),
        (end, ..) => Box::new(Pinger::new(end, &content, wait, silence)?),
    })
}

/// What the threads of a flow in this direction report.
fn metrics(params: &NetParams, way: Way) -> &'static [FlowMetric] {
    use FlowMetric::{Bytes, CpuCost, Down, Duplicates, Jitter, Latency, Loss, Reordered, Retransmits, RoundTrips, Up};
    let both = params.direction == Some(Direction::Both);
    match (params.mode, params.protocol) {
        (NetMode::Pingpong, Protocol::Tcp) => &[Latency, RoundTrips],
        (NetMode::Pingpong, Protocol::Udp) => &[Latency, RoundTrips, Loss],
        (NetMode::Connect, _) => &[RoundTrips, Latency],
        (NetMode::Transfer, Protocol::Tcp) => &[Bytes, Latency, CpuCost, Retransmits],
        (NetMode::Transfer, Protocol::Udp) => &[Bytes, Latency, Loss, CpuCost],
        (NetMode::Load, Protocol::Tcp) if way == Way::Back && both => &[Latency, Bytes, Up, Down],
        (NetMode::Load, Protocol::Tcp) if way == Way::Back => &[Latency, Bytes],
        (NetMode::Load, Protocol::Udp) if way == Way::Back && both => &[Latency, Bytes, Up, Down, Loss],
        (NetMode::Load, Protocol::Udp) if way == Way::Back => &[Latency, Bytes, Loss],
        (NetMode::Stream | NetMode::Load, _) if both => &[Bytes, Up, Down, CpuCost, Retransmits],
        (NetMode::Stream | NetMode::Load, _) => &[Bytes, CpuCost, Retransmits],
        (NetMode::Blast | NetMode::NoDrop, _) if both => {
            &[Bytes, Up, Down, Loss, Duplicates, Reordered, Jitter, CpuCost]
        }
        (NetMode::Blast | NetMode::NoDrop, _) => &[Bytes, Loss, Duplicates, Reordered, Jitter, CpuCost],
    }
}

impl NetFlow {
    pub(super) fn new(
        task: &Task,
        params: &NetParams,
        opened: (Arc<Session>, DataEnd),
        thread: usize,
    ) -> io::Result<Self> {
        let (session, end) = opened;
        let ways = ways(params);
        let way = ways.get(thread).copied().unwrap_or(Way::Back);
        let content = Content::new(session.token.seed(), thread, flow_block_bytes(params, way));
        let part = part_of(params, way, end, content, &session)?;
        let at = At {
            session,
            thread,
            way,
            task: task.clone(),
            params: params.clone(),
            number: 0,
            window: Window { begin: 0, end: 0 },
            timer: Timer::system(),
            share_of_work: task.exact_work.map(|work| share_of_work(work, thread, ways.len())),
            carried: (0, 0.0),
        };
        Ok(Self { part, at })
    }
}

impl At {
    fn moment(&self) -> Moment<'_> {
        let Self { session, thread, number, window, timer, share_of_work, .. } = self;
        Moment { session, thread: *thread, number: *number, timer, window: *window, work: *share_of_work }
    }

    /// The rate of two copies between the CPUs of each pair of threads, for a stream over loopback. The other threads have
    /// taken their last sample and the server waits, so the CPUs are free.
    fn ceiling(&self) -> Option<f64> {
        let streams = matches!(self.params.mode, NetMode::Stream | NetMode::Blast | NetMode::NoDrop);
        if !streams || self.params.path != LOOPBACK {
            return None;
        }
        let pair = |(way, (near, far)): (&Way, (&u32, &u32))| match way {
            Way::Up => (*near, *far),
            _ => (*far, *near),
        };
        let ways = ways(&self.params);
        let pairs: Vec<(u32, u32)> =
            ways.iter().zip(self.task.cpus.iter().zip(&self.session.opened.cpus)).map(pair).collect();
        let complete = pairs.len() == ways.len();
        complete.then(|| ceiling::two_copies(&pairs, block_bytes(&self.params), &self.timer)).flatten()
    }

    /// The failure in words, given the longest packet that carries data: a stream fills packets, a message may be shorter.
    fn explain(&self, failure: &Failure) -> String {
        let mtu = self.session.path_mtu().0.unwrap_or(u32::MAX);
        let fills = matches!(self.params.mode, NetMode::Stream | NetMode::Transfer | NetMode::Load);
        let datagram = u32::try_from(self.params.block.saturating_add(UDP_HEADER_BYTES)).unwrap_or(u32::MAX);
        let longest = if fills && self.params.protocol == Protocol::Tcp { mtu } else { datagram.min(mtu) };
        self.session.explain(failure, longest)
    }

    fn path(&self) -> NetConditions {
        let address = self.session.address;
        let end = handshake::end_towards(address.ip());
        let opened = &self.session.opened;
        let tcp = self.params.protocol == Protocol::Tcp;
        let sent = self.session.sent();
        let (path_mtu, mtu_discovery) = self.session.path_mtu();
        NetConditions {
            interface: end.interface,
            mtu: end.mtu,
            offloads: end.offloads,
            address_family: Some(handshake::family(address).to_owned()),
            round_trip_seconds: self.session.round_trip_seconds,
            zero_copied_share: sent.as_ref().and_then(sent::zero_copied_share),
            tcp: sent.map(|sent| sent.tcp),
            congestion_control: opened.congestion_control.clone().filter(|_| tcp),
            peer_cpus: opened.cpus.clone(),
            two_copy_bytes_per_second: self.ceiling(),
            path_mtu,
            mtu_discovery: mtu_discovery.map(str::to_owned),
            ..NetConditions::default()
        }
    }
}

/// The conditions of two threads: the first one's, but bytes on the link, CPU seconds and rates are added up.
pub(crate) fn of_two_threads(first: Option<NetConditions>, next: Option<NetConditions>) -> Option<NetConditions> {
    let (Some(first), Some(next)) = (&first, &next) else { return first.or(next) };
    let plus = |of: fn(&NetConditions) -> Option<f64>| of(first).zip(of(next)).map(|(a, b)| a + b);
    Some(NetConditions {
        load_bytes_per_second: plus(|one| one.load_bytes_per_second),
        link_bytes: first.link_bytes.zip(next.link_bytes).map(|(one, other)| one.saturating_add(other)),
        sending_cpu_seconds: plus(|one| one.sending_cpu_seconds),
        receiving_cpu_seconds: plus(|one| one.receiving_cpu_seconds),
        ..first.clone()
    })
}

impl Drop for NetFlow {
    /// After the last sample or an error: the other threads do not wait for this one.
    fn drop(&mut self) {
        self.at.session.leave();
    }
}

impl Flow for NetFlow {
    fn profile(&self) -> FlowProfile {
        let At { params, way, .. } = &self.at;
        let messages =
            params.mode == NetMode::Pingpong || (params.mode, params.protocol) == (NetMode::Transfer, Protocol::Tcp);
        let lead_microseconds = if messages { MESSAGES_LEAD_MICROSECONDS } else { LEAD_MICROSECONDS };
        FlowProfile { metrics: metrics(params, *way), lead_microseconds, drains: false }
    }

    fn prepare(&mut self, next: NextWindow) -> Result<(), String> {
        if next == NextWindow::FirstSample {
            self.at.carried = (0, 0.0);
            self.part.warmed_up();
        }
        Ok(())
    }

    fn run(&mut self, timer: &Timer, window: Window, tally: &mut Tally) -> Result<(), String> {
        let Self { part, at } = self;
        (at.timer, at.window, at.number) = (*timer, window, at.number + 1);
        part.run(&at.moment(), tally).map_err(|failure| at.explain(&failure))?;
        at.carried.0 += tally.bytes;
        at.carried.1 += timer.seconds(window.begin, window.end);
        Ok(())
    }

    fn verify(&mut self) -> Result<Verified, String> {
        let Self { part, at } = self;
        part.verify(&at.moment()).map(|()| Verified::GoesOn).map_err(|failure| at.explain(&failure))
    }

    fn conclude(&mut self, seen: &mut Observations) {
        let at = &self.at;
        let mut conditions = if at.thread == 0 { at.path() } else { NetConditions::default() };
        self.part.describe(&at.session, &mut conditions);
        if at.params.mode == NetMode::Load {
            let (bytes, seconds) = at.carried;
            conditions.load_bytes_per_second = (seconds > 0.0).then(|| bytes as f64 / seconds);
        }
        seen.net = Some(conditions);
    }
}
