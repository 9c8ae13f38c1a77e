//! The client's thread of a flow of datagrams.

use std::collections::BTreeSet;
use std::io;
use std::net::UdpSocket;
use std::time::Duration;

use model::document::NetConditions;
use model::experiment::NetParams;
use model::io::{NetMode, Segmentation};
use sys::clock::{Timer, thread_cpu_seconds};

use super::super::flows::{Way, ways};
use super::super::link::sizes::{UDP_HEADER_BYTES, receive_buffer_bytes};
use super::super::part::{Moment, Part};
use super::super::session::{Failure, Session, silent};
use super::super::stream::Cost;
use super::header::Form;
use super::pace::Due;
use super::pool::Share;
use super::receiving::{RECEIVING, Receiving};
use super::search::{LEAST_DATAGRAMS, Next, Outcome, Search, lowered};
use super::sending::{SENDING, Sending, wait};
use crate::engines::{Tally, Window};
use crate::net::messages::{Counted, Datagrams};

/// Before the first window at a rate that was found: buffers fill, and both ends find their pace.
const LEAD_SECONDS: f64 = 0.02;
const TRIAL_LEAD_SECONDS: f64 = 0.01;
/// At 1 Gb/s of 1472 B some 4000 datagrams, and longer than a scheduler delays a thread.
const TRIAL_SECONDS: f64 = 0.05;
/// After this long without a datagram no more of a window arrive: the server stops sending at its end.
pub(super) const QUIET: Duration = Duration::from_millis(10);
/// After this long a sender has done its work, or has lost its last datagrams.
const DONE: Duration = Duration::from_millis(500);
/// Datagrams that arrive this long after a window are not waited for.
const MOST_SETTLING_SECONDS: f64 = 1.0;
/// How often the client sends a heartbeat, and checks that the server is there.
const LIFE_SECONDS: f64 = 0.1;

enum Side {
    Sending(Sending),
    Receiving(Receiving),
}

pub(crate) struct Stream {
    socket: UdpSocket,
    side: Side,
    /// All flows of the process run, and those from the server.
    flows: usize,
    flows_down: usize,
    number: u32,
    /// Whether any datagram has arrived since the process run began.
    some_came: bool,
    rate: Rate,
    cost: Cost,
    /// What carried the server's side of the flow.
    there: Datagrams,
    sampling: bool,
    /// Rate of all flows in the last sample, in bytes per second, where they keep to one.
    offered: Option<f64>,
}

enum Rate {
    Free,
    /// The highest that loses at most this many of a million, still to be found.
    Wanted(u32),
    /// Found for that goal; infinite where nothing is lost at full speed.
    Found(u32, f64),
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Seen {
    /// Datagrams inside the receiver's window; of work that is done in full, those that are part of it.
    datagrams: u64,
    pub(super) sent: u64,
    pub(super) came: Datagrams,
    pub(super) sending_cpu: Option<f64>,
    pub(super) receiving_cpu: Option<f64>,
    /// Length of the window at the receiver, where it has no end.
    pub(super) seconds: Option<f64>,
}

impl Stream {
    pub(crate) fn new(params: &NetParams, way: Way, socket: UdpSocket, form: Form) -> io::Result<Self> {
        let (timer, offload) = (Timer::system(), params.segmentation == Some(Segmentation::Gso));
        let side = if way == Way::Up {
            Side::Sending(Sending::new(&socket, form, offload, &timer))
        } else {
            Side::Receiving(Receiving::new(&socket, form, offload, QUIET, &timer)?)
        };
        let ways = ways(params);
        let rate = match params.mode {
            NetMode::NoDrop => Rate::Wanted(params.loss_goal_per_million.unwrap_or(0)),
            _ => Rate::Free,
        };
        Ok(Self {
            socket,
            side,
            flows: ways.len(),
            flows_down: ways.iter().filter(|way| **way == Way::Down).count(),
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
            Side::Sending(sending) => sending.form.bytes(),
            Side::Receiving(receiving) => receiving.form.bytes(),
        }
    }

    /// Announces one window at this rate over all flows, works through it, and asks what arrived.
    fn pass(&mut self, moment: &Moment<'_>, window: Window, rate: f64) -> Result<Seen, Failure> {
        self.number += 1;
        let bytes = self.datagram_bytes() as u64;
        let (all, down) = (self.flows as f64, self.flows_down as f64);
        let work = moment.work.filter(|_| window.end == Window::NO_END);
        let announced = match work {
            Some(work) => Some(work as f64 * down),
            None => Some(rate * (down / all)).filter(|bytes| bytes.is_finite()),
        };
        // Of this flow's work, the datagrams.
        let work = work.map(|work| work.div_ceil(bytes));
        let moment = &Moment { number: self.number, window, work, ..*moment };
        moment.announce(announced)?;
        let (seen, there) = match &mut self.side {
            Side::Sending(sending) => send(sending, &self.socket, moment, rate / all)?,
            Side::Receiving(receiving) => receive(receiving, &self.socket, moment)?,
        };
        self.there = there.datagrams.unwrap_or(self.there);
        self.some_came |= seen.came.came > 0;
        Ok(seen)
    }

    fn together(&self, moment: &Moment<'_>, seen: &Seen, seconds: f64) -> Result<(Outcome, u64), String> {
        let share = Share { sent: seen.sent, came: seen.came.came };
        let (Share { sent, came }, at) = moment.session.pool.meet(self.flows, share, moment.timer)?;
        let offered = (sent * self.datagram_bytes() as u64) as f64 / seconds;
        Ok((Outcome { sent, came, offered }, at))
    }

    /// Finds the rate in trials of its own; returns when the window may begin.
    fn look_for_rate(&mut self, moment: &Moment<'_>, goal: u32) -> Result<u64, Failure> {
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
                    return Ok(at + timer.ticks(LEAD_SECONDS));
                }
                Next::Hopeless(reason) => return Err(reason.into()),
            }
        }
    }

    fn note(&mut self, seen: &Seen, window: Window, timer: &Timer, tally: &mut Tally) {
        let bytes = seen.datagrams * self.datagram_bytes() as u64;
        tally.counted_there(seen.datagrams, bytes);
        self.cost.add([seen.sending_cpu, seen.receiving_cpu], tally);
        if let Some(seconds) = seen.seconds {
            tally.over(window.begin + timer.ticks(seconds));
        }
        let carried = &mut tally.carried;
        carried.up_bytes = if matches!(self.side, Side::Sending(_)) { bytes } else { 0 };
        (carried.datagrams_sent, carried.datagrams_came) = (seen.sent, seen.came.came);
        (carried.duplicates, carried.reordered) = (seen.came.duplicates, seen.came.reordered);
        carried.jitter_seconds = seen.came.jitter_seconds;
    }

    /// The error if not one datagram has arrived by the end of a sample. A slice of warm-up may have none yet.
    fn swallowed(&self, seen: &Seen) -> Option<String> {
        (self.sampling && seen.sent > 0 && !self.some_came).then(|| {
            let (sent, bytes) = (seen.sent, self.datagram_bytes());
            let look = "Look for a firewall, or for a part of the path that lets no datagrams of this length through";
            format!("none of the {sent} datagrams of {bytes} B arrived. {look}")
        })
    }

    fn strangers(&self) -> Option<String> {
        match &self.side {
            Side::Receiving(receiving) => receiving.strangers(),
            Side::Sending(_) => None,
        }
    }
}

impl Part for Stream {
    fn warmed_up(&mut self) {
        (self.cost, self.sampling) = (Cost::new(), true);
    }

    fn run(&mut self, moment: &Moment<'_>, tally: &mut Tally) -> Result<(), Failure> {
        let (timer, mut window) = (moment.timer, moment.window);
        if let Rate::Wanted(goal) = self.rate {
            let begin = self.look_for_rate(moment, goal)?;
            // The window has passed meanwhile; one of the same length takes its place.
            let length = window.end.saturating_sub(window.begin);
            window = Window { begin, end: if window.end == Window::NO_END { window.end } else { begin + length } };
        }
        let rate = if let Rate::Found(_, rate) = self.rate { rate } else { f64::INFINITY };
        let seen = self.pass(moment, window, rate)?;
        if seen.datagrams == 0
            && let Some(reason) = self.strangers().or_else(|| self.swallowed(&seen))
        {
            return Err(reason.into());
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

    fn describe(&self, session: &Session, seen: &mut NetConditions) {
        match &self.side {
            Side::Sending(sending) => {
                let segments = sending.sender.segments() as u64;
                seen.link_bytes = Some(link_bytes(sending.sequence, sending.form.bytes(), segments));
                seen.batching = batching(sending.sender.in_use().chain(carried_there(RECEIVING, &self.there)));
            }
            Side::Receiving(receiving) => {
                // Most segments that arrive together were one message, and the difference is few headers.
                seen.link_bytes = Some(link_bytes(receiving.account.next, receiving.form.bytes(), 1));
                seen.batching = batching(receiving.receiver.in_use().chain(carried_there(SENDING, &self.there)));
            }
        }
        seen.receive_buffer_bytes = receive_buffer_bytes(&self.socket);
        seen.lost = Some(session.lost());
        seen.offered_bytes_per_second = self.offered;
        self.cost.describe(seen);
    }
}

/// What carried the server's side of a flow, by its words for offloading and for batches.
pub(super) fn carried_there(words: [&'static str; 2], there: &Datagrams) -> impl Iterator<Item = &'static str> {
    words.into_iter().zip([there.offloaded, there.batched]).filter(|word| word.1).map(|word| word.0)
}

pub(super) fn batching(words: impl Iterator<Item = &'static str>) -> Vec<String> {
    let words: BTreeSet<&str> = words.collect();
    words.into_iter().map(str::to_owned).collect()
}

/// Bytes of datagrams on the link, with a header for each message of this many.
pub(super) fn link_bytes(datagrams: u64, datagram_bytes: usize, segments: u64) -> u64 {
    datagrams * datagram_bytes as u64 + datagrams.div_ceil(segments.max(1)) * UDP_HEADER_BYTES
}

/// The CPU time of the calling thread inside a window: the kernel is asked at its two ends only.
#[derive(Debug, Default)]
struct Used {
    before: Option<f64>,
    within: Option<f64>,
}

impl Used {
    #[inline]
    fn look(&mut self, now: u64, window: Window) {
        if now >= window.begin && self.before.is_none() {
            self.before = Some(thread_cpu_seconds());
        }
        if now >= window.end && self.within.is_none() {
            self.within = self.before.map(|before| thread_cpu_seconds() - before);
        }
    }

    /// CPU seconds from the window's begin to its end, or until now where it has none.
    fn seconds(&self) -> f64 {
        let until_now = || self.before.map(|before| thread_cpu_seconds() - before);
        self.within.or_else(until_now).unwrap_or(0.0)
    }
}

/// Sends through a window at this rate, or all datagrams of the work, and asks what arrived.
pub(super) fn send(
    sending: &mut Sending,
    socket: &UdpSocket,
    moment: &Moment<'_>,
    rate: f64,
) -> Result<(Seen, Counted), Failure> {
    let Moment { session, timer, number, window, work: quota, .. } = *moment;
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
            // All of the work is sent inside the window.
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
                let left = sending.send(socket, (timer, now), of_window, count)?;
                pace.sent(left);
                sent += if inside { left as u64 } else { 0 };
            }
            later @ Due::In(_) => wait(later),
        }
    }
    let sending_cpu = Some(used.seconds());
    let there = moment.counted(0)?;
    let came = there.datagrams.unwrap_or_default();
    let seen = Seen {
        // Datagrams that were sent before the window and arrive late are no part of the work.
        datagrams: if quota.is_some() { came.came } else { there.messages },
        sent,
        came,
        sending_cpu,
        receiving_cpu: there.cpu_seconds,
        seconds: quota.map(|_| there.seconds),
    };
    Ok((seen, there))
}

/// Receives through a window and until no more of it arrive, and asks what was sent.
pub(super) fn receive(
    receiving: &mut Receiving,
    socket: &UdpSocket,
    moment: &Moment<'_>,
) -> Result<(Seen, Counted), Failure> {
    let Moment { session, timer, number, window, work: quota, .. } = *moment;
    let (quiet, done) = (timer.ticks(QUIET.as_secs_f64()), timer.ticks(DONE.as_secs_f64()));
    let (mut used, mut datagrams) = (Used::default(), 0);
    let (mut last, mut next_look) = (timer.now(), 0);
    let mut last_inside = window.begin;
    // When the thread first saw that the window had ended: on a busy machine that may be late, with more to receive.
    let mut ended = u64::MAX;
    loop {
        let messages = receiving.receive(socket)?;
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
        if timer.seconds(window.begin.max(last).min(now), now) > session.silence.as_secs_f64() {
            return Err(silent());
        }
        if now >= next_look {
            session.show_life()?;
            next_look = now + timer.ticks(LIFE_SECONDS);
        }
    }
    let receiving_cpu = Some(used.seconds());
    let there = moment.counted(0)?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_cpu_time_inside_the_window_counts() {
        let window = Window { begin: 10, end: 20 };
        let mut used = Used::default();
        used.look(5, window);
        assert!(used.seconds().abs() < f64::EPSILON, "nothing before it");
        used.look(12, window);
        let spin = || (0..200_000_u64).fold(1_u64, |sum, next| std::hint::black_box(sum ^ next));
        spin();
        used.look(25, window);
        let inside = used.seconds();
        spin();
        used.look(30, window);
        assert!(inside > 0.0 && used.seconds().to_bits() == inside.to_bits(), "nothing after it");
    }
}
