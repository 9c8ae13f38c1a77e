//! The clients of a server: the queue, whose turn it is, and the launches of each client.
//!
//! Two clients that measure at the same time disturb each other, so that one at a time is admitted unless an option allows
//! more. When a client leaves, for whatever reason, its launches end and the next client is admitted.

use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, Shutdown, TcpStream};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::net::preface::Token;

/// The longest queue.
const MOST_WAITING: usize = 64;

/// A launch begins once the one before it has ended, which takes no longer than this.
const ONE_AFTER_THE_OTHER: Duration = Duration::from_secs(5);

/// The clients of a server.
#[derive(Debug)]
pub(super) struct ClientQueue {
    state: Mutex<State>,
    /// A launch has ended, or a client has left.
    changed: Condvar,
    /// Clients that measure at the same time.
    concurrent: usize,
}

#[derive(Debug, Default)]
struct State {
    next: u64,
    waiting: VecDeque<u64>,
    current: Vec<Current>,
    closed: bool,
}

/// A client whose turn it is.
#[derive(Debug)]
struct Current {
    number: u64,
    token: Token,
    from: IpAddr,
    /// The control connection of its launch.
    launch: Option<TcpStream>,
    launches: u32,
}

/// A client's place in the queue, or among those who measure; given up when it is dropped.
#[derive(Debug)]
pub(super) struct QueuePlace<'a> {
    queue: &'a ClientQueue,
    number: u64,
}

/// A launch of a client whose turn it is; over when it is dropped.
#[derive(Debug)]
pub(super) struct Launch<'a> {
    queue: &'a ClientQueue,
    number: u64,
}

impl ClientQueue {
    /// None yet; so many may measure at the same time.
    pub(super) fn new(concurrent: usize) -> Self {
        Self { state: Mutex::default(), changed: Condvar::new(), concurrent: concurrent.max(1) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the last place of the queue; `None` where it is full.
    pub(super) fn enter(&self) -> Option<QueuePlace<'_>> {
        let mut state = self.state();
        if state.waiting.len() >= MOST_WAITING {
            return None;
        }
        let number = state.next;
        state.next += 1;
        state.waiting.push_back(number);
        Some(QueuePlace { queue: self, number })
    }

    /// Lets a launch in that comes with this token from this address, once the client's last one is over. `control` is
    /// shut down when the client leaves.
    pub(super) fn launch(&self, token: Token, from: IpAddr, control: &TcpStream) -> Result<Launch<'_>, String> {
        let control = control.try_clone().map_err(|error: io::Error| format!("cannot hold the launch: {error}"))?;
        let goes_on = |state: &mut State| state.find(token, from).is_some_and(|current| current.launch.is_some());
        let (mut state, _) = self
            .changed
            .wait_timeout_while(self.state(), ONE_AFTER_THE_OTHER, goes_on)
            .unwrap_or_else(PoisonError::into_inner);
        let current = state.find(token, from).ok_or("no visitor with this token is being served")?;
        if current.launch.is_some() {
            return Err("the launch before this one goes on; one at a time is served".to_owned());
        }
        current.launch = Some(control);
        current.launches += 1;
        Ok(Launch { queue: self, number: current.number })
    }

    /// Ends all sessions and admits no further client.
    pub(super) fn close(&self) {
        let mut state = self.state();
        state.closed = true;
        state.current.iter().for_each(Current::end_launch);
    }

    /// Whether all sessions have to end.
    pub(super) fn are_closed(&self) -> bool {
        self.state().closed
    }
}

impl State {
    fn is_next(&self, number: u64, concurrent: usize) -> bool {
        !self.closed && self.waiting.front() == Some(&number) && self.current.len() < concurrent
    }

    fn find(&mut self, token: Token, from: IpAddr) -> Option<&mut Current> {
        self.current.iter_mut().find(|current| current.token == token && current.from == from)
    }
}

impl Current {
    /// The launch's threads leave once their control connection has ended.
    fn end_launch(&self) {
        if let Some(control) = &self.launch {
            // One that has ended already needs no end.
            let _ = control.shutdown(Shutdown::Both);
        }
    }
}

impl QueuePlace<'_> {
    /// How many clients come before this one, those who measure among them.
    pub(super) fn ahead(&self) -> usize {
        let state = self.queue.state();
        let place = state.waiting.iter().position(|number| *number == self.number);
        place.map_or(0, |place| place + state.current.len())
    }

    /// Whether its turn has come.
    pub(super) fn is_next(&self) -> bool {
        self.queue.state().is_next(self.number, self.queue.concurrent)
    }

    /// Takes its turn, if it has come: the token that admits its launches from this address.
    pub(super) fn turn(&self, from: IpAddr) -> Option<Token> {
        let mut state = self.queue.state();
        if !state.is_next(self.number, self.queue.concurrent) {
            return None;
        }
        state.waiting.pop_front();
        let token = Token::new();
        state.current.push(Current { number: self.number, token, from, launch: None, launches: 0 });
        Some(token)
    }

    /// Launches that it has begun.
    pub(super) fn launches(&self) -> u32 {
        let state = self.queue.state();
        state.current.iter().find(|current| current.number == self.number).map_or(0, |current| current.launches)
    }
}

impl Drop for QueuePlace<'_> {
    fn drop(&mut self) {
        let mut state = self.queue.state();
        state.waiting.retain(|number| *number != self.number);
        let is_it = |current: &&Current| current.number == self.number;
        state.current.iter().filter(is_it).for_each(Current::end_launch);
        state.current.retain(|current| current.number != self.number);
        drop(state);
        self.queue.changed.notify_all();
    }
}

impl Drop for Launch<'_> {
    fn drop(&mut self) {
        let mut state = self.queue.state();
        if let Some(current) = state.current.iter_mut().find(|current| current.number == self.number) {
            current.launch = None;
        }
        drop(state);
        self.queue.changed.notify_all();
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
        let state = queue.state();
        assert!(state.waiting.is_empty() && state.current.is_empty());
    }

    #[test]
    fn several_where_the_server_was_told_so() {
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
        assert!(queue.launch(Token::new(), HOME, &far).is_err());
        assert!(queue.launch(token, ELSEWHERE, &far).is_err());
        let launch = queue.launch(token, HOME, &far).unwrap();
        drop(launch);
        drop(queue.launch(token, HOME, &far).unwrap());
        assert_eq!(place.launches(), 2);
        drop(place);
        assert!(queue.launch(token, HOME, &far).is_err(), "a turn that is over");
    }

    #[test]
    fn the_next_launch_waits_for_the_last_one() {
        let queue = ClientQueue::new(1);
        let place = queue.enter().unwrap();
        let (_near, far) = pair();
        let token = place.turn(HOME).unwrap();
        let launch = queue.launch(token, HOME, &far).unwrap();
        std::thread::scope(|scope| {
            let next = scope.spawn(|| queue.launch(token, HOME, &far).map(drop));
            std::thread::sleep(Duration::from_millis(20));
            assert!(!next.is_finished(), "it waits");
            drop(launch);
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
            let launch = queue.launch(place.turn(HOME).unwrap(), HOME, &far).unwrap();
            if close {
                queue.close();
            } else {
                drop(place);
            }
            assert_eq!(near.read(&mut [0]).unwrap(), 0, "the control connection has ended");
            drop(launch);
            assert_eq!(queue.are_closed(), close);
        }
    }
}
