//! An open loop: requests fall due as Poisson arrivals, and each one's latency runs from the moment it was due. A closed loop
//! asks less of a device that stalls, and so hardly notices ("coordinated omission"). Requests that are late by more than
//! another window are given up: they count with the latency that they have waited by then, and not as finished.

use std::io;
use std::time::Duration;

use sys::clock::Timer;
use sys::queue::Completion;

use super::{Due, Lane, Place};
use crate::engines::disk::observed::Apart;
use crate::engines::disk::trouble;
use crate::engines::moments::Moments;
use crate::engines::{Tally, Window};

/// Shorter waits, in seconds, are spun: sleep is exact to 50 us (the default timer slack of `prctl(2)`).
const AWAKE_SECONDS: f64 = 100e-6;

trait Places {
    fn now(&mut self) -> u64;

    fn has_room(&self) -> bool;

    fn is_busy(&self) -> bool;

    fn begin(&mut self, due: u64) -> Result<(), String>;

    fn give_up(&mut self, due: u64, now: u64);

    /// Waits until a request has finished or this time stamp has come, perhaps not as long; counts finished requests.
    fn wait(&mut self, until: Option<u64>) -> Result<(), String>;
}

fn run(places: &mut impl Places, moments: &mut Moments, window: Window) -> Result<Due, String> {
    let mut seen = Due::default();
    let last_begin = window.end + (window.end - window.begin);
    // A thread that arrives late is late: requests were due in the window before.
    let came = places.now();
    moments.restart(came.min(window.begin));
    // Until when all slots were taken, or the thread was not there.
    let mut full_until = came;
    loop {
        let now = places.now();
        let given_up = now >= last_begin;
        while moments.due() < window.end && (given_up || moments.due() <= now && places.has_room()) {
            let due = moments.due();
            if window.holds(due) {
                seen.all += 1;
                seen.late += u64::from(given_up || due < full_until);
            }
            if given_up {
                places.give_up(due, now);
            } else {
                places.begin(due)?;
            }
            moments.advance();
        }
        let next = Some(moments.due()).filter(|due| *due < window.end);
        if next.is_none() && !places.is_busy() {
            return Ok(seen);
        }
        let has_room = places.has_room();
        places.wait(next.filter(|_| has_room))?;
        if !has_room {
            full_until = places.now();
        }
    }
}

struct AtWork<'a> {
    lane: &'a mut Lane,
    timer: &'a Timer,
    tally: &'a mut Tally,
    window: Window,
    free: Vec<usize>,
}

impl Places for AtWork<'_> {
    fn now(&mut self) -> u64 {
        self.timer.now()
    }

    fn has_room(&self) -> bool {
        !self.free.is_empty()
    }

    fn is_busy(&self) -> bool {
        self.lane.queue.in_flight() > 0
    }

    fn begin(&mut self, due: u64) -> Result<(), String> {
        let Some(token) = self.free.pop() else { return Ok(()) };
        self.lane.submit(token, self.timer)?;
        self.lane.places[token].began = due;
        Ok(())
    }

    fn give_up(&mut self, due: u64, now: u64) {
        self.tally.waited(due, now);
    }

    fn wait(&mut self, until: Option<u64>) -> Result<(), String> {
        let mut done = std::mem::take(&mut self.lane.done);
        let waited = self.wait_for(until, &mut done);
        waited.map_err(|error| self.lane.first_failed(&trouble::words(&error)))?;
        // One time for all of them, as in the closed loop.
        let now = self.timer.now_unordered();
        for completion in done.drain(..) {
            let token = completion.token as usize;
            let Place { began, write, .. } = self.lane.finish(completion, now, self.tally)?;
            if let Some(apart) = &mut self.lane.apart
                && self.window.holds(began)
            {
                apart.note(write, self.timer.seconds(began, now));
            }
            self.free.push(token);
        }
        self.lane.done = done;
        Ok(())
    }
}

impl AtWork<'_> {
    fn wait_for(&mut self, until: Option<u64>, done: &mut Vec<Completion>) -> io::Result<()> {
        let queue = &mut self.lane.queue;
        let Some(until) = until else { return queue.wait(1, done) };
        let asleep = self.timer.seconds(self.timer.now(), until) - AWAKE_SECONDS;
        let busy = queue.in_flight() > 0;
        match Duration::try_from_secs_f64(asleep) {
            Ok(asleep) if busy => queue.wait_at_most(asleep, done),
            Ok(asleep) => {
                std::thread::sleep(asleep);
                Ok(())
            }
            Err(_) if busy => queue.wait(0, done),
            Err(_) => {
                std::hint::spin_loop();
                Ok(())
            }
        }
    }
}

impl Lane {
    /// From now on requests fall due as Poisson arrivals with this mean gap in ticks.
    pub(crate) fn set_gap(&mut self, gap: f64) {
        self.moments = Some(Moments::new(gap, self.random.next_u64()));
        // Requests at full rate are no part of the load.
        self.apart = self.apart.take().map(|_| Box::new(Apart::new()));
    }

    pub(super) fn run_paced(&mut self, timer: &Timer, window: Window, tally: &mut Tally) -> Result<(), String> {
        let Some(mut moments) = self.moments.take() else { return Ok(()) };
        tally.by_beginning = true;
        let free = (0..self.places.len()).rev().collect();
        let seen = run(&mut AtWork { lane: self, timer, tally, window, free }, &mut moments, window)?;
        self.moments = Some(moments);
        self.due = Due { all: self.due.all + seen.all, late: self.due.late + seen.late };
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A device with a clock of its own that serves one request after another, and none while it stalls.
    struct Stalling {
        now: u64,
        depth: usize,
        service: u64,
        stall: Window,
        /// Of each request in flight: when it was due, and when it will finish.
        in_flight: Vec<(u64, u64)>,
        begun: Vec<(u64, u64)>,
        over: Vec<(u64, u64)>,
        given_up: Vec<(u64, u64)>,
    }

    impl Stalling {
        fn new(depth: usize, service: u64, stall: Window) -> Self {
            let none = Vec::new;
            Self { now: 7, depth, service, stall, in_flight: none(), begun: none(), over: none(), given_up: none() }
        }
    }

    impl Places for Stalling {
        fn now(&mut self) -> u64 {
            self.now
        }

        fn has_room(&self) -> bool {
            self.in_flight.len() < self.depth
        }

        fn is_busy(&self) -> bool {
            !self.in_flight.is_empty()
        }

        fn begin(&mut self, due: u64) -> Result<(), String> {
            assert!(self.has_room() && due <= self.now);
            let free = self.in_flight.last().map_or(self.now, |last| last.1.max(self.now));
            let start = if self.stall.holds(free) { self.stall.end } else { free };
            self.in_flight.push((due, start + self.service));
            self.begun.push((due, self.now));
            Ok(())
        }

        fn give_up(&mut self, due: u64, now: u64) {
            self.given_up.push((due, now));
        }

        fn wait(&mut self, until: Option<u64>) -> Result<(), String> {
            let first = self.in_flight.first().map(|one| one.1);
            self.now = first.into_iter().chain(until).min().expect("something to wait for").max(self.now);
            let now = self.now;
            self.over.extend(self.in_flight.extract_if(.., |one| one.1 <= now));
            Ok(())
        }
    }

    const WINDOW: Window = Window { begin: 100_000, end: 1_100_000 };
    const NEVER: Window = Window { begin: 0, end: 0 };

    #[test]
    fn every_request_due_in_the_window_is_begun_once_and_over_once() {
        for (depth, service) in [(1, 10), (1, 900), (4, 250), (32, 999)] {
            let mut device = Stalling::new(depth, service, NEVER);
            let seen = run(&mut device, &mut Moments::new(1000.0, 5), WINDOW).unwrap();
            let mut due: Vec<u64> = device.over.iter().map(|one| one.0).collect();
            due.sort_unstable();
            let begun: Vec<u64> = device.begun.iter().map(|one| one.0).collect();
            assert!(due == begun && device.given_up.is_empty(), "depth {depth}");
            let inside = due.iter().filter(|due| WINDOW.holds(**due)).count() as u64;
            assert_eq!(seen.all, inside);
            assert!((900..1100).contains(&inside), "{inside} of 1000");
            let late = device.begun.iter().filter(|(due, began)| WINDOW.holds(*due) && began > due).count() as u64;
            assert_eq!(seen.late, late, "depth {depth}, {service}");
        }
    }

    #[test]
    fn what_fell_due_before_it_came_is_due_and_late() {
        let mut device = Stalling { now: WINDOW.begin + 200_000, ..Stalling::new(4, 10, NEVER) };
        let seen = run(&mut device, &mut Moments::new(1000.0, 5), WINDOW).unwrap();
        assert!((900..1100).contains(&seen.all) && (150..250).contains(&seen.late), "{seen:?}");
        assert_eq!(device.over.iter().filter(|over| WINDOW.holds(over.0)).count() as u64, seen.all);
    }

    #[test]
    fn a_stall_is_in_the_latency_of_all_that_fell_due_in_it() {
        let stall = Window { begin: 500_000, end: 700_000 };
        let mut device = Stalling::new(1, 10, stall);
        let seen = run(&mut device, &mut Moments::new(1000.0, 5), WINDOW).unwrap();
        let latency = |over: &(u64, u64)| over.1 - over.0;
        // A closed loop has a single slow request.
        let from_begin = device.over.iter().zip(&device.begun).filter(|(over, begun)| over.1 - begun.1 > 1000).count();
        assert_eq!(from_begin, 1);
        let slow: Vec<u64> = device.over.iter().map(latency).filter(|ticks| *ticks > 1000).collect();
        assert!((150..250).contains(&slow.len()), "about 200 fell due in the stall, {} were slow", slow.len());
        let mean = slow.iter().sum::<u64>() as f64 / slow.len() as f64;
        assert!((80_000.0..120_000.0).contains(&mean), "half the stall on average, not {mean}");
        assert!(seen.late >= slow.len() as u64 - 1, "all but the first of them began late");
    }

    #[test]
    fn what_is_hopelessly_behind_is_given_up_with_what_it_has_waited() {
        let mut device = Stalling::new(1, 5000, NEVER);
        let seen = run(&mut device, &mut Moments::new(1000.0, 5), WINDOW).unwrap();
        let inside = |requests: &[(u64, u64)]| requests.iter().filter(|one| WINDOW.holds(one.0)).count() as u64;
        assert_eq!(inside(&device.over) + inside(&device.given_up), seen.all, "nothing is left out");
        assert!(inside(&device.given_up) > 300, "a fifth of what is asked for is served, in twice the time");
        assert!(device.given_up.iter().all(|(due, now)| now >= due && *now >= WINDOW.end + 1_000_000));
        assert!(seen.late > 900);
    }
}
