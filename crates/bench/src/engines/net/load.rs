//! Latency under load: round trips alongside streams that take all of the path's rate, and over the idle path before. Probes
//! fall due as Poisson arrivals, and each one's time runs from then: a closed loop would ask seldom just where the path is slow.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::time::Duration;

use areas::net::expand::IDLE_SECONDS;
use model::document::NetConditions;
use model::experiment::NetParams;
use sys::clock::Timer;
use sys::pages::Pages;

use super::flows::{DataEnd, is_late};
use super::link::content::{Content, number};
use super::link::sizes::{block_bytes, link_bytes};
use super::link::windows::Windows;
use super::part::{Moment, Part};
use super::session::{Failure, Session, silent};
use crate::engines::moments::Moments;
use crate::engines::{Tally, Window};

const NUMBER_BYTES: usize = 8;
/// Probes per second: enough for a p99 within seconds, and with 64 B and headers less than 0.1 % of 1 Gbit/s.
const PROBES_PER_SECOND: f64 = 400.0;
/// A probe that leaves this many seconds late is late: a sleeping thread whose CPU is free wakes within 0.1 ms.
const LATE_SECONDS: f64 = 1e-3;
/// A datagram that is not back by then is lost: longer than the queues of common equipment hold a packet.
const LOST_AFTER: Duration = Duration::from_secs(1);
/// Shorter waits, in seconds, are spun: sleep is exact to 50 us (the default timer slack of `prctl(2)`).
const AWAKE_SECONDS: f64 = 100e-6;
/// Most probes in flight, twice those of 5 s, after which the server counts as hanging; the next one is late.
const MOST_UNANSWERED: usize = 4096;
/// And most of their bytes: the smallest socket buffers hold them, so that neither end waits for the other to read.
const MOST_UNANSWERED_BYTES: usize = 64 << 10;
/// Probes of the idle path are numbered from 1, those of the load from here, so that late answers are recognised.
const LOAD_NUMBERS: u64 = 1 << 32;

#[derive(Clone, Copy, Debug)]
struct Flight {
    due: u64,
    sent: u64,
    answered: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct Due {
    all: u64,
    late: u64,
}

/// Fails if the server is gone.
type Check<'a> = &'a dyn Fn() -> Result<(), String>;

pub(super) struct Probe {
    end: DataEnd,
    out: Pages,
    back: Pages,
    filled: usize,
    /// In the order of their numbers, the last of which is `next - 1`.
    flights: VecDeque<Flight>,
    next: u64,
    moments: Moments,
    due: Due,
    /// When the last answer arrived, in ticks, and how long the server may be silent.
    heard: u64,
    silence: Duration,
    idle_seconds: Option<f64>,
    /// Datagrams that did not come back, and all that were sent and received.
    lost: u64,
    datagrams: u64,
}

impl Probe {
    pub(super) fn new(end: DataEnd, content: &Content, session: &Session) -> io::Result<Self> {
        let probe = Self::numbered(end, content, session.token.seed(), LOAD_NUMBERS, session.silence)?;
        Ok(Self { idle_seconds: session.idle_seconds.get().copied(), ..probe })
    }

    fn numbered(end: DataEnd, content: &Content, seed: u64, next: u64, silence: Duration) -> io::Result<Self> {
        // A datagram with a bad checksum wakes the thread and is dropped then: no reason to wait for the next one.
        end.carry_messages(silence, Duration::from_millis(1))?;
        Ok(Self {
            end,
            out: content.block(),
            back: content.block(),
            filled: 0,
            flights: VecDeque::with_capacity(MOST_UNANSWERED),
            next,
            moments: Moments::new(Timer::system().ticks_per_second() / PROBES_PER_SECOND, seed ^ next),
            due: Due::default(),
            heard: 0,
            silence,
            idle_seconds: None,
            lost: 0,
            datagrams: 0,
        })
    }

    /// Sends probes as they fall due until the window has passed, and waits for all answers.
    fn probe(&mut self, check: Check<'_>, timer: &Timer, window: Window, tally: &mut Tally) -> Result<(), Failure> {
        // A probe counts if it was due in the window, however late its answer.
        tally.by_beginning = true;
        self.moments.restart(timer.now());
        self.heard = timer.now();
        loop {
            self.send_due(timer, window, tally)?;
            let next = Some(self.moments.due()).filter(|due| *due < window.end);
            let has_room = self.has_room();
            if next.is_none() && self.flights.is_empty() {
                break;
            }
            self.give_up_old(check, timer)?;
            if self.wait(next.filter(|_| has_room), timer)? {
                self.receive(timer, window, tally)?;
            }
        }
        let now = timer.now();
        std::thread::sleep(Duration::from_secs_f64(timer.seconds(now.min(window.end), window.end)));
        Ok(())
    }

    fn has_room(&self) -> bool {
        self.flights.len() < (MOST_UNANSWERED_BYTES / self.out.len()).clamp(1, MOST_UNANSWERED)
    }

    fn send_due(&mut self, timer: &Timer, window: Window, tally: &mut Tally) -> Result<(), Failure> {
        let mut now = timer.now();
        while self.moments.due() <= now && self.moments.due() < window.end && self.has_room() {
            let due = self.moments.due();
            self.moments.advance();
            number(&mut self.out, self.next);
            match &self.end {
                DataEnd::Tcp(connection) => (&*connection).write_all(&self.out),
                DataEnd::Udp(socket) => socket.send(&self.out).map(|_| self.datagrams += 1),
            }?;
            self.next += 1;
            self.flights.push_back(Flight { due, sent: now, answered: false });
            if window.holds(due) {
                self.due.all += 1;
                self.due.late += u64::from(timer.seconds(due, now) > LATE_SECONDS);
                tally.carried.datagrams_sent += u64::from(self.end.is_datagrams());
            }
            now = timer.now();
        }
        Ok(())
    }

    /// How long an answer is waited for. On a connection a missing one is silence.
    fn limit(&self) -> Duration {
        if self.end.is_datagrams() { LOST_AFTER.min(self.silence) } else { self.silence }
    }

    /// Gives up datagrams that are lost.
    fn give_up_old(&mut self, check: Check<'_>, timer: &Timer) -> Result<(), Failure> {
        let now = timer.now();
        let longer = |since: u64, limit: Duration| timer.seconds(since.min(now), now) >= limit.as_secs_f64();
        while self.flights.front().is_some_and(|oldest| longer(oldest.sent, self.limit())) {
            if !self.end.is_datagrams() || longer(self.heard, self.silence) {
                return Err(silent());
            }
            check()?;
            self.lost += 1;
            self.flights.pop_front();
            self.drop_answered();
        }
        Ok(())
    }

    fn drop_answered(&mut self) {
        while self.flights.front().is_some_and(|flight| flight.answered) {
            self.flights.pop_front();
        }
    }

    /// Waits until something has arrived or the next probe is due, perhaps not as long; whether something has.
    fn wait(&self, next: Option<u64>, timer: &Timer) -> io::Result<bool> {
        let oldest = self.flights.front().map(|flight| flight.sent + timer.ticks(self.limit().as_secs_f64()));
        let until = next.into_iter().chain(oldest).min().unwrap_or(0);
        let now = timer.now();
        let asleep = timer.seconds(now.min(until), until) - AWAKE_SECONDS;
        sys::net::wait::wait_readable(&self.end, Duration::try_from_secs_f64(asleep).unwrap_or(Duration::ZERO))
    }

    fn receive(&mut self, timer: &Timer, window: Window, tally: &mut Tally) -> Result<(), Failure> {
        let received = match &self.end {
            DataEnd::Tcp(connection) => (&*connection).read(&mut self.back[self.filled..]),
            DataEnd::Udp(socket) => socket.recv(&mut self.back),
        };
        let now = timer.now();
        let whole = self.back.len();
        match received {
            Ok(count) if self.end.is_datagrams() => {
                self.datagrams += 1;
                if count == whole { self.answered(now, window, tally) } else { Err(self.wrong()) }
            }
            Ok(0) => Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
            Ok(count) => {
                self.filled = (self.filled + count) % whole;
                if self.filled == 0 { self.answered(now, window, tally) } else { Ok(()) }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(()),
            Err(error) if self.end.is_datagrams() && is_late(&error) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn answered(&mut self, now: u64, window: Window, tally: &mut Tally) -> Result<(), Failure> {
        let (stamp, rest) = self.back.split_at(NUMBER_BYTES.min(self.back.len()));
        let number = stamp.try_into().map_or(0, u64::from_le_bytes);
        if rest != &self.out[stamp.len()..] || number >= self.next {
            return Err(self.wrong());
        }
        self.heard = now;
        let first = self.next - self.flights.len() as u64;
        let place = number.checked_sub(first).and_then(|place| usize::try_from(place).ok());
        let datagrams = self.end.is_datagrams();
        match place.and_then(|place| self.flights.get_mut(place)).filter(|flight| !flight.answered) {
            Some(flight) => {
                flight.answered = true;
                tally.note(flight.due, now, 0);
                tally.carried.datagrams_came += u64::from(datagrams && window.holds(flight.due));
                self.drop_answered();
                Ok(())
            }
            // A probe that was given up, or a repeated answer.
            None if datagrams => Ok(()),
            None => Err(self.wrong()),
        }
    }

    fn wrong(&self) -> Failure {
        format!("the echo differs from what was sent: a probe of {} bytes", self.out.len()).into()
    }
}

/// The median round trip of the idle path, in seconds; `None` where no answer arrived in time.
pub(super) fn idle_seconds(
    session: &Session,
    end: &DataEnd,
    params: &NetParams,
    cpu: u32,
) -> Result<Option<f64>, String> {
    let timer = Timer::system();
    // On the CPU of the thread that will probe.
    let medians = sys::team::run(&[cpu], |_, _| {
        let failed = |error: io::Error| format!("cannot probe the idle path: {error}");
        let content = Content::new(session.token.seed(), 0, block_bytes(params));
        let end = end.try_clone().map_err(failed)?;
        let mut probe = Probe::numbered(end, &content, session.token.seed(), 1, session.silence).map_err(failed)?;
        let begin = timer.now();
        let window = Window { begin, end: begin + timer.ticks(IDLE_SECONDS) };
        let mut tally = Tally::new(&timer);
        tally.begin(window);
        let probed = probe.probe(&|| session.other_end_is_there(), &timer, window, &mut tally);
        probed.map_err(|failure| session.words(&failure))?;
        Ok(tally.durations.quantile(0.5))
    })?;
    Ok(medians.into_iter().flatten().next())
}

impl Part for Probe {
    fn warmed_up(&mut self) {
        self.due = Due::default();
    }

    fn run(&mut self, moment: &Moment<'_>, tally: &mut Tally) -> Result<(), Failure> {
        moment.announce(None)?;
        self.probe(&|| moment.session.other_end_is_there(), moment.timer, moment.window, tally)?;
        self.verify(moment)
    }

    fn verify(&mut self, moment: &Moment<'_>) -> Result<(), Failure> {
        moment.counted(0)?;
        Ok(())
    }

    fn describe(&self, _: &Session, seen: &mut NetConditions) {
        seen.link_bytes = link_bytes(&self.end, self.datagrams, self.out.len() as u64);
        seen.lost = self.end.is_datagrams().then_some(self.lost);
        seen.idle_latency_seconds = self.idle_seconds;
        seen.late_share = (self.due.all > 0).then(|| self.due.late as f64 / self.due.all as f64);
    }
}

/// Waits until the first window has been announced: a stream from the server would otherwise fill the idle path's buffers.
pub(super) fn await_the_first(windows: &Windows) {
    while windows.number() == 0 && !windows.are_over() {
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[cfg(test)]
mod tests;
