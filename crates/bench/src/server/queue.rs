//! The queue of a server's clients, and their process runs.
//!
//! Clients disturb each other, so one measures at a time by default. When a client leaves, its process runs end.

use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, Shutdown, TcpStream};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use crate::locks::lock;
use crate::net::preface::Token;

const MOST_WAITING: usize = 64;
/// Timeout for the previous process run to end.
const ONE_AFTER_THE_OTHER: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub(super) struct ClientQueue {
    state: Mutex<State>,
    changed: Condvar,
    concurrent: usize,
}

#[derive(Debug, Default)]
struct State {
    next: u64,
    waiting: VecDeque<u64>,
    current: Vec<Current>,
    closed: bool,
}

#[derive(Debug)]
struct Current {
    number: u64,
    token: Token,
    from: IpAddr,
    run: Option<TcpStream>,
    runs: u32,
}

/// A client's place, given up when dropped.
#[derive(Debug)]
pub(super) struct QueuePlace<'a> {
    queue: &'a ClientQueue,
    number: u64,
}

/// The process run of the client with this number, ended when dropped.
#[derive(Debug)]
pub(super) struct ProcessRun<'a>(&'a ClientQueue, u64);

impl ClientQueue {
    pub(super) fn new(concurrent: usize) -> Self {
        Self { state: Mutex::default(), changed: Condvar::new(), concurrent: concurrent.max(1) }
    }

    pub(super) fn enter(&self) -> Option<QueuePlace<'_>> {
        let mut state = lock(&self.state);
        if state.waiting.len() >= MOST_WAITING {
            return None;
        }
        let number = state.next;
        state.next += 1;
        state.waiting.push_back(number);
        Some(QueuePlace { queue: self, number })
    }

    /// Admits a process run with this token and address after the client's last one. `control` is shut when the client leaves.
    pub(super) fn begin_run(&self, token: Token, from: IpAddr, control: &TcpStream) -> Result<ProcessRun<'_>, String> {
        let control =
            control.try_clone().map_err(|error: io::Error| format!("cannot keep the process run: {error}"))?;
        let goes_on = |state: &mut State| state.find(token, from).is_some_and(|current| current.run.is_some());
        let (mut state, _) = self
            .changed
            .wait_timeout_while(lock(&self.state), ONE_AFTER_THE_OTHER, goes_on)
            .unwrap_or_else(PoisonError::into_inner);
        let current = state.find(token, from).ok_or("no client with this token is being served")?;
        if current.run.is_some() {
            return Err("the previous process run is still active; a client may have one at a time".to_owned());
        }
        current.run = Some(control);
        current.runs += 1;
        Ok(ProcessRun(self, current.number))
    }

    pub(super) fn close(&self) {
        let mut state = lock(&self.state);
        state.closed = true;
        state.current.iter().for_each(Current::end_run);
    }

    pub(super) fn are_closed(&self) -> bool {
        lock(&self.state).closed
    }
}

impl State {
    fn find(&mut self, token: Token, from: IpAddr) -> Option<&mut Current> {
        self.current.iter_mut().find(|current| current.token == token && current.from == from)
    }
}

impl Current {
    /// Threads of a process run end with its control connection.
    fn end_run(&self) {
        if let Some(control) = &self.run {
            let _ = control.shutdown(Shutdown::Both);
        }
    }
}

impl QueuePlace<'_> {
    pub(super) fn ahead(&self) -> usize {
        let state = lock(&self.queue.state);
        let place = state.waiting.iter().position(|number| *number == self.number);
        place.map_or(0, |place| place + state.current.len())
    }

    /// Starts its turn if it is next: the token for process runs from this address.
    pub(super) fn turn(&self, from: IpAddr) -> Option<Token> {
        let mut state = lock(&self.queue.state);
        let is_free = !state.closed && state.current.len() < self.queue.concurrent;
        if !is_free || state.waiting.front() != Some(&self.number) {
            return None;
        }
        state.waiting.pop_front();
        let token = Token::new();
        state.current.push(Current { number: self.number, token, from, run: None, runs: 0 });
        Some(token)
    }

    pub(super) fn runs(&self) -> u32 {
        let state = lock(&self.queue.state);
        state.current.iter().find(|current| current.number == self.number).map_or(0, |current| current.runs)
    }
}

impl Drop for QueuePlace<'_> {
    fn drop(&mut self) {
        let mut state = lock(&self.queue.state);
        state.waiting.retain(|number| *number != self.number);
        state.current.extract_if(.., |current| current.number == self.number).for_each(|current| current.end_run());
        drop(state);
        self.queue.changed.notify_all();
    }
}

impl Drop for ProcessRun<'_> {
    fn drop(&mut self) {
        let mut state = lock(&self.0.state);
        state.current.iter_mut().filter(|current| current.number == self.1).for_each(|current| current.run = None);
        drop(state);
        self.0.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::net::TcpListener;

    use super::*;

    const HOME: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);
    const ELSEWHERE: IpAddr = IpAddr::V6(std::net::Ipv6Addr::LOCALHOST);

    fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        (near, listener.accept().unwrap().0)
    }

    #[test]
    fn one_at_a_time_in_the_order_of_coming() {
        let queue = ClientQueue::new(1);
        let [first, second, third] = [(); 3].map(|()| queue.enter().unwrap());
        assert!(second.turn(HOME).is_none(), "not first");
        first.turn(HOME).unwrap();
        assert!(second.turn(HOME).is_none(), "one measures");
        assert_eq!((first.ahead(), second.ahead(), third.ahead()), (0, 1, 2));
        drop(second);
        assert_eq!(third.ahead(), 1, "who goes away while waiting holds nobody up");
        drop(first);
        third.turn(HOME).unwrap();
        drop(third);
        let state = lock(&queue.state);
        assert!(state.waiting.is_empty() && state.current.is_empty());
    }

    #[test]
    fn several_clients_with_a_higher_limit() {
        let queue = ClientQueue::new(2);
        let [first, second, third] = [(); 3].map(|()| queue.enter().unwrap());
        assert!(first.turn(HOME).is_some() && second.turn(HOME).is_some() && third.turn(HOME).is_none());
        assert_eq!(third.ahead(), 2);
    }

    #[test]
    fn the_queue_has_an_end() {
        let queue = ClientQueue::new(1);
        let places: Vec<_> = (0..MOST_WAITING).map(|_| queue.enter().unwrap()).collect();
        assert!(queue.enter().is_none());
        drop(places);
        assert!(queue.enter().is_some());
    }

    #[test]
    fn a_launch_needs_the_token_the_address_and_the_turn() {
        let queue = ClientQueue::new(1);
        let place = queue.enter().unwrap();
        let (_near, far) = pair();
        let token = place.turn(HOME).unwrap();
        assert!(queue.begin_run(Token::new(), HOME, &far).is_err());
        assert!(queue.begin_run(token, ELSEWHERE, &far).is_err());
        let run = queue.begin_run(token, HOME, &far).unwrap();
        drop(run);
        drop(queue.begin_run(token, HOME, &far).unwrap());
        assert_eq!(place.runs(), 2);
        drop(place);
        assert!(queue.begin_run(token, HOME, &far).is_err(), "a turn that has ended");
    }

    #[test]
    fn the_next_launch_waits_for_the_last_one() {
        let queue = ClientQueue::new(1);
        let place = queue.enter().unwrap();
        let (_near, far) = pair();
        let token = place.turn(HOME).unwrap();
        let run = queue.begin_run(token, HOME, &far).unwrap();
        std::thread::scope(|scope| {
            let next = scope.spawn(|| queue.begin_run(token, HOME, &far).map(drop));
            std::thread::sleep(Duration::from_millis(20));
            assert!(!next.is_finished(), "it waits");
            drop(run);
            assert_eq!(next.join().unwrap(), Ok(()));
        });
    }

    #[test]
    fn who_leaves_takes_its_launch_along() {
        for close in [false, true] {
            let queue = ClientQueue::new(1);
            let place = queue.enter().unwrap();
            let (mut near, far) = pair();
            near.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
            let run = queue.begin_run(place.turn(HOME).unwrap(), HOME, &far).unwrap();
            if close {
                queue.close();
            } else {
                drop(place);
            }
            assert_eq!(near.read(&mut [0]).unwrap(), 0, "the control connection has ended");
            drop(run);
            assert_eq!(queue.are_closed(), close);
        }
    }
}
