//! One thread of the near end: its part of the experiment through the worker's windows, and what there is to say of the
//! launch at its end.

use std::io;
use std::sync::Arc;

use model::document::NetConditions;
use model::experiment::{LOOPBACK, NetParams};
use model::io::{NetMode, Protocol};
use model::wire::{Observations, Task};
use sys::clock::Timer;

use super::flows::{DataEnd, Way, ways};
use super::link::content::Content;
use super::link::sizes::{block_bytes, flow_block_bytes};
use super::link::{ceiling, sent};
use super::near::Session;
use super::part::{Moment, Part};
use super::parts::part_of;
use crate::engines::{Flow, FlowProfile, NextWindow, Tally, Verified, Window};
use crate::net::path;

/// Headers of IP's version 4 and of UDP, the least that a message has (RFC 791, RFC 768).
const HEADERS_BYTES: u32 = 20 + 8;

/// One thread of the near end.
pub(super) struct NetFlow {
    part: Box<dyn Part>,
    session: Arc<Session>,
    thread: usize,
    task: Task,
    params: NetParams,
    /// The window that was worked through last, with its number, counted from 1.
    last: (u32, Window),
    timer: Timer,
    /// This thread's part of the task's work, where that is done in full.
    share_of_work: Option<u64>,
}

/// A thread's part of so much work: it adds up over the threads to all of it.
fn share(work: f64, thread: usize, threads: usize) -> u64 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a whole number, as planned")]
    let (all, threads) = (work as u64, threads.max(1) as u64);
    all / threads + u64::from((thread as u64) < all % threads)
}

impl NetFlow {
    /// The part of this thread.
    ///
    /// # Errors
    /// What the kernel said.
    pub(super) fn new(
        task: &Task,
        params: &NetParams,
        session: Arc<Session>,
        end: DataEnd,
        thread: usize,
    ) -> io::Result<Self> {
        let ways = ways(params);
        let way = ways.get(thread).copied().unwrap_or(Way::Back);
        let content = Content::new(session.token().seed(), thread, flow_block_bytes(params, way));
        let share_of_work = task.exact_work.map(|work| share(work, thread, ways.len()));
        let part = part_of(params, way, end, content, &session)?;
        let (task, params) = (task.clone(), params.clone());
        let last = (0, Window { begin: 0, end: 0 });
        Ok(Self { part, session, thread, task, params, last, timer: Timer::system(), share_of_work })
    }

    /// What two copies between the CPUs of each pair of threads can move, for a stream. The other threads have taken
    /// their last sample and the other end waits, so that the CPUs are free.
    fn ceiling(&self) -> Option<f64> {
        let streams = matches!(self.params.mode, NetMode::Stream | NetMode::Blast | NetMode::NoDrop);
        if !streams || self.params.path != LOOPBACK {
            return None;
        }
        let far = &self.session.opened().cpus;
        let pair = |(way, (near, far)): (&Way, (&u32, &u32))| match way {
            Way::Up => (*near, *far),
            _ => (*far, *near),
        };
        let ways = ways(&self.params);
        let pairs: Vec<(u32, u32)> = ways.iter().zip(self.task.cpus.iter().zip(far)).map(pair).collect();
        let complete = pairs.len() == ways.len();
        complete.then(|| ceiling::two_copies(&pairs, block_bytes(&self.params), &self.timer)).flatten()
    }

    /// The longest packet that carries data, in bytes: a stream fills them, a message may be shorter.
    fn longest_packet(&self) -> u32 {
        let mtu = self.session.path_mtu().0.unwrap_or(u32::MAX);
        let fills = matches!(self.params.mode, NetMode::Stream | NetMode::Transfer | NetMode::Load);
        let block = u32::try_from(self.params.block).unwrap_or(u32::MAX);
        if fills && self.params.protocol == Protocol::Tcp { mtu } else { block.saturating_add(HEADERS_BYTES).min(mtu) }
    }

    /// What the launch went through: the first thread says it.
    fn path(&self) -> NetConditions {
        let address = self.session.address();
        let end = path::end_towards(address.ip());
        let opened = self.session.opened();
        let tcp = self.params.protocol == Protocol::Tcp;
        let sent = self.session.sent();
        let (path_mtu, mtu_discovery) = self.session.path_mtu();
        NetConditions {
            interface: end.interface,
            mtu: end.mtu,
            offloads: end.offloads,
            address_family: Some(path::family(address).to_owned()),
            round_trip_seconds: self.session.round_trip_seconds(),
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

impl Drop for NetFlow {
    /// After the last sample, or since it failed: then the others do not wait for it.
    fn drop(&mut self) {
        self.session.leave();
    }
}

impl Flow for NetFlow {
    fn profile(&self) -> FlowProfile {
        self.part.profile()
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
        let (session, thread, number) = (&*self.session, self.thread, self.last.0);
        let work = self.share_of_work;
        let ran = self.part.run(&Moment { session, thread, number, timer, window, work }, tally);
        ran.map_err(|failure| session.explain(failure, self.longest_packet()))
    }

    fn verify(&mut self) -> Result<Verified, String> {
        let (number, window) = self.last;
        let (session, thread, timer) = (&*self.session, self.thread, &self.timer);
        let work = self.share_of_work;
        let verified = self.part.verify(&Moment { session, thread, number, timer, window, work });
        verified.map(|()| Verified::GoesOn).map_err(|failure| session.explain(failure, self.longest_packet()))
    }

    fn conclude(&mut self, seen: &mut Observations) {
        let mut conditions = if self.thread == 0 { self.path() } else { NetConditions::default() };
        self.part.describe(&mut conditions);
        seen.net = Some(conditions);
    }
}
