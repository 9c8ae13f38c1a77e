//! Watches how many jobs of the limited user are in the queue.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use super::daemons::{command, must, user_name};

const PAUSE: Duration = Duration::from_millis(250);

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Seen {
    pub(super) looks: usize,
    pub(super) most: usize,
    pub(super) jobs: BTreeSet<String>,
}

impl Seen {
    fn add(&mut self, said: &str) {
        let jobs: Vec<&str> = said.split_whitespace().collect();
        self.looks += 1;
        self.most = self.most.max(jobs.len());
        self.jobs.extend(jobs.into_iter().map(str::to_owned));
    }
}

pub(super) fn jobs() -> Vec<String> {
    let said = must(command("squeue").args(["-h", "-r", "-u", &user_name(), "-o", "%A"])).unwrap_or_default();
    said.split_whitespace().map(str::to_owned).collect()
}

#[derive(Debug)]
pub(super) struct Watch {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Seen>,
}

impl Watch {
    pub(super) fn begin() -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            let mut seen = Seen::default();
            while !stopped.load(Ordering::Relaxed) {
                if let Ok(said) = must(command("squeue").args(["-h", "-r", "-u", &user_name(), "-o", "%A"])) {
                    seen.add(&said);
                }
                std::thread::sleep(PAUSE);
            }
            seen
        });
        Self { stop, thread }
    }

    pub(super) fn end(self) -> Seen {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_at_one_time_and_all_that_were_there() {
        let mut seen = Seen::default();
        for said in ["1\n2\n", "", "2\n3\n4\n"] {
            seen.add(said);
        }
        assert_eq!((seen.looks, seen.most, seen.jobs.len()), (3, 3, 4));
    }
}
