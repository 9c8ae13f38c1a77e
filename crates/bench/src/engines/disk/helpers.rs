//! Threads that each keep one more blocking request in flight: a lane each, through one window after the other.
//!
//! They are started with the first window and live as long as the flow. Started anew for each window they would be given
//! new stacks, and the page faults of those would be seen beside the figures as if memory were short.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use sys::clock::Timer;

use super::lane::Lane;
use crate::engines::{Tally, Window};

/// What a helper is given, and gives back.
struct Work {
    lane: Lane,
    tally: Tally,
    timer: Timer,
    window: Window,
    result: Result<(), String>,
}

/// One thread. It ends when it is dropped.
struct Helper {
    to: Option<Sender<Work>>,
    from: Receiver<Work>,
    thread: Option<JoinHandle<()>>,
}

impl Helper {
    /// It inherits the CPU of the calling thread.
    fn start() -> Result<Self, String> {
        let (to, works) = channel::<Work>();
        let (back, from) = channel();
        let thread = std::thread::Builder::new().spawn(move || {
            for mut work in works {
                work.result = work.lane.run(&work.timer, work.window, &mut work.tally);
                if back.send(work).is_err() {
                    break;
                }
            }
        });
        let thread = thread.map_err(|error| format!("cannot start a thread for blocking requests: {error}"))?;
        Ok(Self { to: Some(to), from, thread: Some(thread) })
    }

    /// One that has panicked takes nothing, and gives nothing back.
    fn give(&self, work: Work) {
        if let Some(to) = &self.to {
            let _ = to.send(work);
        }
    }
}

impl Drop for Helper {
    fn drop(&mut self) {
        self.to = None;
        if let Some(thread) = self.thread.take() {
            // It has said already that it panicked.
            let _ = thread.join();
        }
    }
}

/// The helpers of a thread.
#[derive(Default)]
pub(super) struct Helpers {
    each: Vec<Helper>,
    /// What they count, one each.
    tallies: Vec<Tally>,
}

impl Helpers {
    /// Runs all lanes through a window, the first here and each of the others on a thread of its own, and adds up what
    /// they did.
    ///
    /// # Errors
    /// The first lane that failed, a thread that cannot be started, or one that panicked: its lane is gone.
    pub(super) fn run(
        &mut self,
        lanes: &mut Vec<Lane>,
        (timer, window): (&Timer, Window),
        tally: &mut Tally,
    ) -> Result<(), String> {
        while self.each.len() + 1 < lanes.len() {
            self.each.push(Helper::start()?);
            self.tallies.push(tally.fork());
        }
        let others = lanes.drain(1.min(lanes.len())..).zip(self.tallies.drain(..));
        let mut given = 0;
        for (helper, (lane, mut own)) in self.each.iter().zip(others) {
            own.begin(window);
            helper.give(Work { lane, tally: own, timer: *timer, window, result: Ok(()) });
            given += 1;
        }
        let mut result = lanes.first_mut().map_or(Ok(()), |first| first.run(timer, window, tally));
        for helper in self.each.iter().take(given) {
            let Ok(work) = helper.from.recv() else {
                result = result.and(Err("a thread for blocking requests panicked".to_owned()));
                continue;
            };
            tally.merge(&work.tally);
            result = result.and(work.result);
            lanes.push(work.lane);
            self.tallies.push(work.tally);
        }
        result
    }
}
