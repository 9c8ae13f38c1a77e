//! Threads that each keep one more blocking request in flight. They live as long as the flow: new stacks would fault pages.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use sys::clock::Timer;

use super::lane::Lane;
use crate::engines::{Tally, Window};

struct Work {
    lane: Lane,
    tally: Tally,
    timer: Timer,
    window: Window,
    result: Result<(), String>,
}

struct Helper {
    to: Option<Sender<Work>>,
    from: Receiver<Work>,
    thread: Option<JoinHandle<()>>,
}

impl Helper {
    /// The thread inherits the CPU of the calling thread.
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
}

impl Drop for Helper {
    fn drop(&mut self) {
        self.to = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

#[derive(Default)]
pub(super) struct Helpers {
    each: Vec<Helper>,
    tallies: Vec<Tally>,
}

impl Helpers {
    /// Runs all lanes through a window, the first here and each other one on a thread of its own, and adds up their tallies.
    pub(super) fn run(
        &mut self,
        lanes: &mut Vec<Lane>,
        (timer, window): (&Timer, Window),
        tally: &mut Tally,
    ) -> Result<(), String> {
        while self.each.len() + 1 < lanes.len() {
            self.each.push(Helper::start()?);
            self.tallies.push(Tally::new(timer));
        }
        let others = lanes.drain(1.min(lanes.len())..).zip(self.tallies.drain(..));
        let mut given = 0;
        for (helper, (lane, mut own)) in self.each.iter().zip(others) {
            own.begin(window);
            // Fails if the thread has panicked: then it returns nothing either.
            let work = Work { lane, tally: own, timer: *timer, window, result: Ok(()) };
            if let Some(to) = &helper.to {
                let _ = to.send(work);
            }
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
