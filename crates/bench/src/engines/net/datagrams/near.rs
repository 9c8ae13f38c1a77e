//! The near end's thread of a flow of datagrams.

use std::io;
use std::net::UdpSocket;
use std::sync::Arc;
use std::time::Duration;

use model::document::NetConditions;
use model::experiment::NetParams;
use model::io::{Direction, NetMode, Segmentation};
use socket2::SockRef;
use sys::clock::Timer;

use super::super::flows::{Way, ways};
use super::super::near::{SILENCE, Session, silent, trouble};
use super::super::part::{Moment, Part};
use super::super::stream::Cost;
use super::header::Form;
use super::pace::Due;
use super::pool::Share;
use super::receiving::Receiving;
use super::search::{LEAST_DATAGRAMS, Next, Outcome, Search, lowered};
use super::sending::{Sending, wait};
use super::used::Used;
use crate::engines::{FlowMetric, FlowProfile, Tally, Window};
use crate::net::messages::{Counted, Datagrams};

const METRICS: &[FlowMetric] = &[
    FlowMetric::Bytes,
    FlowMetric::Loss,
    FlowMetric::Duplicates,
    FlowMetric::Reordered,
    FlowMetric::Jitter,
    FlowMetric::CpuCost,
];

/// The same where both directions are measured at once.
const BOTH_METRICS: &[FlowMetric] = &[
    FlowMetric::Bytes,
    FlowMetric::Up,
    FlowMetric::Down,
    FlowMetric::Loss,
    FlowMetric::Duplicates,
    FlowMetric::Reordered,
    FlowMetric::Jitter,
    FlowMetric::CpuCost,
];

/// Datagrams flow before a window, as a stream does: buffers fill, and both ends find their pace.
const LEAD_MICROSECONDS: u32 = 20_000;

/// The same before a trial, which is for nothing but the rate.
const TRIAL_LEAD_SECONDS: f64 = 0.01;

/// Length of a trial: at 1 Gb/s of 1472 B some 4000 datagrams, and longer than a scheduler keeps a thread waiting.
const TRIAL_SECONDS: f64 = 0.05;

/// Once nothing came for so long after a window nothing more of it will: the far end stops sending at its end.
pub(super) const QUIET: Duration = Duration::from_millis(10);

/// A sender that stops when its work is done leaves a pause; one that loses its last datagrams too.
const DONE: Duration = Duration::from_millis(500);

/// What is still coming so long after a window is not waited for.
const MOST_SETTLING_SECONDS: f64 = 1.0;

/// How often the far end is told that we are here, and looked at whether it is.
const LIFE_SECONDS: f64 = 0.1;

/// IPv4 and UDP headers: 1000 datagrams of 64 B added 92 000 B to the counter of loopback.
const HEADERS_BYTES: u64 = 20 + 8;

/// Which end of the flow is here.
enum Side {
    /// From here to the far end.
    Sending(Sending),
    /// From the far end to here.
    Receiving(Receiving),
}

/// One thread of the near end.
pub(in super::super) struct Stream {
    socket: UdpSocket,
    session: Arc<Session>,
    side: Side,
    flows: Flows,
    /// Number of the last window, trials included.
    number: u32,
    /// Whether any datagram has come since the launch began.
    some_came: bool,
    rate: Rate,
    cost: Cost,
    /// What the far end's side of the flow was carried by.
    there: Datagrams,
    /// Whether samples are taken; before, it is warm-up.
    sampling: bool,
    /// What all flows offered in the last sample, in bytes a second, where they keep to a rate.
    offered: Option<f64>,
}

/// The flows of the launch.
#[derive(Clone, Copy, Debug)]
struct Flows {
    all: usize,
    down: usize,
    both: bool,
}

/// What a sender keeps to, in bytes a second over all flows.
enum Rate {
    /// As many as go.
    Free,
    /// The highest that loses so many of a million or less, which is still to be found.
    Wanted(u32),
    /// This one, which was found for that goal; infinite where nothing is lost as many as go.
    Found(u32, f64),
}

/// What one window is to be.
#[derive(Clone, Copy)]
pub(super) struct Plan<'a> {
    pub(super) session: &'a Session,
    pub(super) thread: usize,
    pub(super) timer: &'a Timer,
    pub(super) number: u32,
    pub(super) window: Window,
    /// Bytes a second of this flow.
    pub(super) rate: f64,
    /// Datagrams of this flow, where they are all of its work.
    pub(super) quota: Option<u64>,
}

/// What one window gave, by its two ends.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Seen {
    /// Datagrams inside the receiver's window; of work that is done in full those that are part of it.
    datagrams: u64,
    /// What was sent and what came, at its two ends.
    pub(super) sent: u64,
    pub(super) came: Datagrams,
    pub(super) sending_cpu: Option<f64>,
    pub(super) receiving_cpu: Option<f64>,
    /// Length of the window at the receiver, where that is not known beforehand.
    pub(super) seconds: Option<f64>,
}

impl Stream {
    /// The thread of a flow that goes this way.
    ///
    /// # Errors
    /// What the kernel said.
    pub(in super::super) fn new(
        params: &NetParams,
        way: Way,
        socket: UdpSocket,
        form: Form,
        session: Arc<Session>,
    ) -> io::Result<Self> {
        let (timer, offload) = (Timer::system(), params.segmentation == Some(Segmentation::Gso));
        let side = if way == Way::Up {
            Side::Sending(Sending::new(&socket, form, offload, &timer))
        } else {
            Side::Receiving(Receiving::new(&socket, form, offload, QUIET, &timer)?)
        };
        let ways = ways(params);
        let down = ways.iter().filter(|way| **way == Way::Down).count();
        let rate = match params.mode {
            NetMode::NoDrop => Rate::Wanted(params.loss_goal_per_million.unwrap_or(0)),
            _ => Rate::Free,
        };
        Ok(Self {
            socket,
            session,
            side,
            flows: Flows { all: ways.len(), down, both: params.direction == Some(Direction::Both) },
            number: 0,
            some_came: false,
            rate,
            cost: Cost::new(),
            there: Datagrams::default(),
            sampling: false,
            offered: None,
        })
    }

    fn datagram_bytes(&self) -> usize {
        match &self.side {
            Side::Sending(sending) => sending.datagram_bytes(),
            Side::Receiving(receiving) => receiving.datagram_bytes(),
        }
    }

    /// One window at so many bytes a second over all flows: it is announced, worked through, and what came of it is
    /// asked for.
    fn pass(&mut self, moment: &Moment<'_>, window: Window, rate: f64) -> Result<Seen, String> {
        self.number += 1;
        let Moment { session, thread, timer, .. } = *moment;
        let bytes = self.datagram_bytes() as u64;
        let endless = window.end == Window::NO_END;
        let quota = moment.work.filter(|_| endless).map(|work| work.div_ceil(bytes));
        let of_far = self.flows.down as f64 / self.flows.all as f64;
        let announced = match moment.work.filter(|_| endless) {
            Some(work) => Some(work as f64 * self.flows.down as f64),
            None => Some(rate * of_far).filter(|bytes| bytes.is_finite()),
        };
        session.announce(self.number, window, announced, timer)?;
        let rate = rate / self.flows.all as f64;
        let plan = Plan { session, thread, timer, number: self.number, window, rate, quota };
        let (seen, there) = match &mut self.side {
            Side::Sending(sending) => send(sending, &self.socket, &plan)?,
            Side::Receiving(receiving) => receive(receiving, &self.socket, &plan)?,
        };
        self.there = there.datagrams.unwrap_or(self.there);
        self.some_came |= seen.came.came > 0;
        Ok(seen)
    }

    /// Brings together what all flows gave in a window of so many seconds, and when that was.
    fn together(&self, moment: &Moment<'_>, seen: &Seen, seconds: f64) -> Result<(Outcome, u64), String> {
        let share = Share { sent: seen.sent, came: seen.came.came };
        let (Share { sent, came }, at) = moment.session.pool().meet(self.flows.all, share, moment.timer)?;
        let offered = (sent * self.datagram_bytes() as u64) as f64 / seconds;
        Ok((Outcome { sent, came, offered }, at))
    }

    /// Looks for the rate in trials of its own; where the window may begin afterwards.
    fn look_for_rate(&mut self, moment: &Moment<'_>, goal: u32) -> Result<u64, String> {
        let timer = moment.timer;
        let least_rate = (LEAST_DATAGRAMS * self.datagram_bytes() as u64) as f64 / TRIAL_SECONDS;
        let mut search = Search::new(goal, least_rate);
        let (_, mut at) = self.together(moment, &Seen::default(), TRIAL_SECONDS)?;
        loop {
            match search.next() {
                Next::Trial(rate) => {
                    let begin = at + timer.ticks(TRIAL_LEAD_SECONDS);
                    let seconds = TRIAL_SECONDS * search.stretch();
                    let window = Window { begin, end: begin + timer.ticks(seconds) };
                    let seen = self.pass(moment, window, rate)?;
                    let (outcome, met_at) = self.together(moment, &seen, seconds)?;
                    at = met_at;
                    search.saw(outcome);
                }
                Next::Found(rate) => {
                    self.rate = Rate::Found(goal, rate);
                    return Ok(at + timer.ticks(f64::from(LEAD_MICROSECONDS) * 1e-6));
                }
                Next::Hopeless(reason) => return Err(reason),
            }
        }
    }

    /// Notes a window: it counts what the receiver has counted.
    fn note(&mut self, seen: &Seen, window: Window, timer: &Timer, tally: &mut Tally) {
        let bytes = seen.datagrams * self.datagram_bytes() as u64;
        tally.counted_there(seen.datagrams, bytes);
        self.cost.add(seen.sending_cpu, seen.receiving_cpu, tally);
        if let Some(seconds) = seen.seconds {
            tally.over(window.begin + timer.ticks(seconds));
        }
        let carried = &mut tally.carried;
        carried.up_bytes = if matches!(self.side, Side::Sending(_)) { bytes } else { 0 };
        (carried.datagrams_sent, carried.datagrams_came) = (seen.sent, seen.came.came);
        (carried.duplicates, carried.reordered) = (seen.came.duplicates, seen.came.reordered);
        carried.jitter_seconds = seen.came.jitter_seconds;
    }

    /// The sentence where not one datagram has come by a sample's end. In a slice of warm-up there may be none yet; and where
    /// some came before, the path lets them through, and those of one sample were late.
    fn swallowed(&self, seen: &Seen) -> Option<String> {
        (self.sampling && seen.sent > 0 && !self.some_came).then(|| {
            format!(
                "of {} datagrams of {} B that were sent not one came; look for a firewall, or for a part of the path that \
                 lets no datagrams of this length through",
                seen.sent,
                self.datagram_bytes()
            )
        })
    }

    /// The sentence where not one datagram came, but others.
    fn strangers(&self) -> Option<String> {
        match &self.side {
            Side::Receiving(receiving) => receiving.strangers(),
            Side::Sending(_) => None,
        }
    }
}

impl Part for Stream {
    fn profile(&self) -> FlowProfile {
        let metrics = if self.flows.both { BOTH_METRICS } else { METRICS };
        FlowProfile { metrics, lead_microseconds: LEAD_MICROSECONDS, drains: false }
    }

    fn warmed_up(&mut self) {
        (self.cost, self.sampling) = (Cost::new(), true);
    }

    fn run(&mut self, moment: &Moment<'_>, tally: &mut Tally) -> Result<(), String> {
        let (timer, mut window) = (moment.timer, moment.window);
        if let Rate::Wanted(goal) = self.rate {
            let begin = self.look_for_rate(moment, goal)?;
            // The window went by meanwhile; one as long takes its place.
            let length = window.end.saturating_sub(window.begin);
            window = Window { begin, end: if window.end == Window::NO_END { window.end } else { begin + length } };
        }
        let rate = if let Rate::Found(_, rate) = self.rate { rate } else { f64::INFINITY };
        let seen = self.pass(moment, window, rate)?;
        if seen.datagrams == 0
            && let Some(reason) = self.strangers().or_else(|| self.swallowed(&seen))
        {
            return Err(reason);
        }
        self.note(&seen, moment.window, timer, tally);
        if self.sampling {
            moment.session.lose(seen.sent.saturating_sub(seen.came.came));
        }
        if let Rate::Found(goal, rate) = self.rate {
            let seconds = seen.seconds.unwrap_or_else(|| timer.seconds(window.begin, window.end));
            let (outcome, _) = self.together(moment, &seen, seconds)?;
            self.offered = Some(outcome.offered);
            if outcome.breaks(goal) {
                tally.carried.above_goal = true;
                self.rate = Rate::Found(goal, lowered(rate, &outcome));
            }
        }
        Ok(())
    }

    fn describe(&self, seen: &mut NetConditions) {
        let words = match &self.side {
            Side::Sending(sending) => {
                let far = [("gro", self.there.offloaded), ("recvmmsg", self.there.batched)];
                let segments = sending.sender().segments() as u64;
                seen.link_bytes = Some(link_bytes(sending.sent(), sending.datagram_bytes(), segments));
                (sending.sender().in_use().collect::<Vec<_>>(), far)
            }
            Side::Receiving(receiving) => {
                let far = [("gso", self.there.offloaded), ("sendmmsg", self.there.batched)];
                // Of segments that come together most were one message, and few headers are the difference.
                seen.link_bytes = Some(link_bytes(receiving.sent_so_far(), receiving.datagram_bytes(), 1));
                (receiving.receiver().in_use().collect(), far)
            }
        };
        let (here, there) = words;
        let there = there.into_iter().filter(|word| word.1).map(|word| word.0);
        seen.batching = here.into_iter().chain(there).map(str::to_owned).collect();
        seen.batching.sort_unstable();
        seen.receive_buffer_bytes = SockRef::from(&self.socket).recv_buffer_size().ok().map(|bytes| bytes as u64);
        seen.lost = Some(self.session.lost());
        seen.offered_bytes_per_second = self.offered;
        self.cost.describe(seen);
    }
}

/// Bytes of so many datagrams on the link, with a header for each message of so many.
pub(super) fn link_bytes(datagrams: u64, datagram_bytes: usize, segments: u64) -> u64 {
    datagrams * datagram_bytes as u64 + datagrams.div_ceil(segments.max(1)) * HEADERS_BYTES
}

/// Sends through a window, and asks what came.
pub(super) fn send(sending: &mut Sending, socket: &UdpSocket, plan: &Plan<'_>) -> Result<(Seen, Counted), String> {
    let Plan { session, thread, timer, number, window, rate, quota } = *plan;
    let mut used = Used::default();
    let mut pace = sending.pace(rate);
    let (mut began, mut sent) = (timer.now(), 0);
    let mut next_look = began;
    loop {
        let now = timer.now();
        used.look(now, window);
        if now >= window.end || quota.is_some_and(|quota| sent >= quota) {
            break;
        }
        if now >= next_look {
            session.other_end_is_there()?;
            next_look = now + timer.ticks(LIFE_SECONDS);
        }
        if quota.is_some() && now < window.begin {
            // What counts as the work is sent inside the window, all of it.
            wait(Due::In(timer.seconds(now, window.begin)));
            began = now;
            continue;
        }
        match pace.due(timer.seconds(began, now)) {
            Due::Now(count) => {
                let left = quota.map_or(u64::MAX, |quota| quota - sent);
                let count = count.min(usize::try_from(left).unwrap_or(usize::MAX));
                let inside = window.holds(now);
                let of_window = if inside { number } else { 0 };
                let left = sending.send(socket, (timer, now), of_window, count).map_err(|error| trouble(&error))?;
                pace.sent(left);
                sent += if inside { left as u64 } else { 0 };
            }
            later @ Due::In(_) => wait(later),
        }
    }
    let sending_cpu = Some(used.seconds());
    let there = session.counted(number, thread, 0)?;
    let came = there.datagrams.unwrap_or_default();
    let seen = Seen {
        // What was sent before the window and comes late is no part of the work.
        datagrams: if quota.is_some() { came.came } else { there.messages },
        sent,
        came,
        sending_cpu,
        receiving_cpu: there.cpu_seconds,
        seconds: quota.map(|_| there.seconds),
    };
    Ok((seen, there))
}

/// Receives through a window and until nothing more of it comes, and asks what was sent.
pub(super) fn receive(
    receiving: &mut Receiving,
    socket: &UdpSocket,
    plan: &Plan<'_>,
) -> Result<(Seen, Counted), String> {
    let Plan { session, thread, timer, number, window, quota, .. } = *plan;
    let (quiet, done) = (timer.ticks(QUIET.as_secs_f64()), timer.ticks(DONE.as_secs_f64()));
    let (mut used, mut datagrams) = (Used::default(), 0);
    let (mut last, mut next_look) = (timer.now(), 0);
    let mut last_inside = window.begin;
    // When we first saw that the window is over: on a busy machine that may be late, and more waits to be received.
    let mut ended = u64::MAX;
    loop {
        let messages = receiving.receive(socket).map_err(|error| trouble(&error))?;
        let now = timer.now();
        used.look(now, window);
        if let Some(messages) = messages {
            let new = receiving.take((timer, now), messages)?;
            if window.holds(now) && new > 0 {
                (datagrams, last_inside) = (datagrams + new, now);
            }
            last = now;
        }
        if now >= window.end {
            ended = ended.min(now);
        }
        let silence = now - last;
        let over = match quota {
            None => now >= window.end && (silence >= quiet || timer.seconds(ended, now) > MOST_SETTLING_SECONDS),
            Some(quota) => {
                receiving.datagrams(number).came >= quota
                    || now > window.begin + done && datagrams > 0 && silence >= done
            }
        };
        if over {
            break;
        }
        if timer.seconds(window.begin.max(last).min(now), now) > SILENCE.as_secs_f64() {
            return Err(silent());
        }
        if now >= next_look {
            session.show_life()?;
            next_look = now + timer.ticks(LIFE_SECONDS);
        }
    }
    let receiving_cpu = Some(used.seconds());
    let there = session.counted(number, thread, 0)?;
    let came = receiving.datagrams(number);
    let seen = Seen {
        datagrams: if quota.is_some() { came.came } else { datagrams },
        sent: there.datagrams.map_or(0, |datagrams| datagrams.sent),
        came,
        sending_cpu: there.cpu_seconds,
        receiving_cpu,
        seconds: quota.map(|_| timer.seconds(window.begin, last_inside)),
    };
    Ok((seen, there))
}
