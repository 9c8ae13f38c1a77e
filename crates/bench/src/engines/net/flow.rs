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
use super::load::{Loading, Probe};
use super::part::{Moment, Part};
use super::pingpong::{TcpPinger, UdpPinger};
use super::session::Session;
use super::stream::{Receiver, Sender};
use super::transfer::Exchanger;
use crate::engines::{Flow, FlowProfile, NextWindow, Tally, Verified, Window, share_of_work};
use crate::net::handshake;

pub(super) struct NetFlow {
    part: Box<dyn Part>,
    session: Arc<Session>,
    thread: usize,
    task: Task,
    params: NetParams,
    last: (u32, Window),
    timer: Timer,
    /// This thread's share of a task's work that is done in full.
    share_of_work: Option<u64>,
}

fn part_of(
    params: &NetParams,
    way: Way,
    end: DataEnd,
    content: Content,
    session: &Arc<Session>,
) -> io::Result<Box<dyn Part>> {
    let both = params.direction == Some(Direction::Both);
    let wait = params.wait.unwrap_or(Wait::Blocking);
    Ok(match (end, params.mode, way) {
        (DataEnd::Tcp(connection), NetMode::Stream, Way::Up) => {
            Box::new(Sender::new(connection, &content, both, params.zero_copy == Some(true))?)
        }
        (DataEnd::Tcp(connection), NetMode::Stream, _) => Box::new(Receiver::new(connection, content, both)?),
        (DataEnd::Tcp(connection), NetMode::Transfer, _) => Box::new(Exchanger::new(connection, content)?),
        (end, NetMode::Load, Way::Back) => Box::new(Probe::new(end, content, params, session)?),
        (DataEnd::Tcp(connection), NetMode::Load, Way::Up) => {
            Box::new(Loading::new(Box::new(Sender::new(connection, &content, both, false)?)))
        }
        (DataEnd::Tcp(connection), NetMode::Load, Way::Down) => {
            Box::new(Loading::new(Box::new(Receiver::new(connection, content, both)?)))
        }
        (DataEnd::Tcp(connection), NetMode::Connect, _) => Box::new(Connector::new(connection, &content, session)?),
        (DataEnd::Tcp(connection), ..) => Box::new(TcpPinger::new(connection, &content, wait)?),
        (DataEnd::Udp(socket), NetMode::Blast | NetMode::NoDrop, way) => {
            Box::new(Stream::new(params, way, socket, Form::new(content), Arc::clone(session))?)
        }
        (DataEnd::Udp(socket), NetMode::Transfer, _) => {
            Box::new(datagrams::Exchanger::new(params, socket, content, Arc::clone(session))?)
        }
        (DataEnd::Udp(socket), ..) => Box::new(UdpPinger::new(socket, &content, Arc::clone(session), wait)?),
    })
}

impl NetFlow {
    pub(super) fn new(
        task: &Task,
        params: &NetParams,
        session: Arc<Session>,
        end: DataEnd,
        thread: usize,
    ) -> io::Result<Self> {
        let ways = ways(params);
        let way = ways.get(thread).copied().unwrap_or(Way::Back);
        let content = Content::new(session.token.seed(), thread, flow_block_bytes(params, way));
        let share_of_work = task.exact_work.map(|work| share_of_work(work, thread, ways.len()));
        let part = part_of(params, way, end, content, &session)?;
        let (task, params) = (task.clone(), params.clone());
        let last = (0, Window { begin: 0, end: 0 });
        Ok(Self { part, session, thread, task, params, last, timer: Timer::system(), share_of_work })
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

    /// Bytes of the longest packet that carries data: a stream fills packets, a message may be shorter.
    fn longest_packet(&self) -> u32 {
        let mtu = self.session.path_mtu().0.unwrap_or(u32::MAX);
        let fills = matches!(self.params.mode, NetMode::Stream | NetMode::Transfer | NetMode::Load);
        let datagram = u32::try_from(self.params.block.saturating_add(UDP_HEADER_BYTES)).unwrap_or(u32::MAX);
        if fills && self.params.protocol == Protocol::Tcp { mtu } else { datagram.min(mtu) }
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
            tcp: sent.as_ref().map(sent::conditions),
            zero_copied_share: sent.as_ref().and_then(sent::zero_copied_share),
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
        self.session.leave();
    }
}

impl Flow for NetFlow {
    fn profile(&self) -> FlowProfile {
        let (metrics, lead_microseconds) = (self.part.metrics(), self.part.lead_microseconds());
        FlowProfile { metrics, lead_microseconds, drains: false }
    }

    fn prepare(&mut self, next: NextWindow) -> Result<(), String> {
        if next == NextWindow::FirstSample {
            self.part.warmed_up();
        }
        Ok(())
    }

    fn run(&mut self, timer: &Timer, window: Window, tally: &mut Tally) -> Result<(), String> {
        self.timer = *timer;
        self.last = (self.last.0 + 1, window);
        let (session, thread, number, work) = (&*self.session, self.thread, self.last.0, self.share_of_work);
        let ran = self.part.run(&Moment { session, thread, number, timer, window, work }, tally);
        ran.map_err(|failure| session.explain(failure, self.longest_packet()))
    }

    fn verify(&mut self) -> Result<Verified, String> {
        let (number, window) = self.last;
        let (session, thread, timer, work) = (&*self.session, self.thread, &self.timer, self.share_of_work);
        let verified = self.part.verify(&Moment { session, thread, number, timer, window, work });
        verified.map(|()| Verified::GoesOn).map_err(|failure| session.explain(failure, self.longest_packet()))
    }

    fn conclude(&mut self, seen: &mut Observations) {
        let mut conditions = if self.thread == 0 { self.path() } else { NetConditions::default() };
        self.part.describe(&mut conditions);
        seen.net = Some(conditions);
    }
}
