//! Connections that are not authenticated yet: limited in total and per address. A new connection replaces the oldest, so that
//! connections that send nothing do not keep clients out.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr, Shutdown, TcpStream};
use std::sync::Mutex;

use crate::locks::lock;

pub(crate) const MOST_UNIDENTIFIED: usize = 256;
/// Above the data connections of a process run, which a client opens at once.
const MOST_OF_ADDRESS: usize = 144;
/// Threads of closed connections end a moment later, so their number has a limit as well.
const MOST_THREADS: usize = 2 * MOST_UNIDENTIFIED;

/// The unauthenticated connections of a listener, in the order of arrival.
#[derive(Debug, Default)]
pub(crate) struct Strangers(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    next: u64,
    connections: BTreeMap<u64, Connection>,
}

#[derive(Debug)]
struct Connection {
    origin: IpAddr,
    /// `None` after it was closed for a newer one.
    stream: Option<TcpStream>,
}

/// An unauthenticated connection, counted until this is dropped.
#[derive(Debug)]
pub(crate) struct Stranger<'a> {
    all: &'a Strangers,
    number: u64,
}

impl Strangers {
    /// Counts a new connection and closes an older one if a limit is reached. `None`: it must be closed itself.
    pub(crate) fn enter(&self, stream: &TcpStream) -> Option<Stranger<'_>> {
        let origin = origin(stream.peer_addr().ok()?.ip());
        let stream = stream.try_clone().ok()?;
        let mut state = lock(&self.0);
        if state.connections.len() >= MOST_THREADS {
            return None;
        }
        if state.open(|from| from == origin).count() >= MOST_OF_ADDRESS {
            state.close_oldest(|from| from == origin);
        } else if state.open(|_| true).count() >= MOST_UNIDENTIFIED {
            state.close_oldest(|_| true);
        }
        let number = state.next;
        state.next += 1;
        state.connections.insert(number, Connection { origin, stream: Some(stream) });
        Some(Stranger { all: self, number })
    }
}

impl State {
    fn open(&self, chosen: impl Fn(IpAddr) -> bool) -> impl Iterator<Item = &Connection> {
        let is_open = move |connection: &&Connection| connection.stream.is_some() && chosen(connection.origin);
        self.connections.values().filter(is_open)
    }

    fn close_oldest(&mut self, chosen: impl Fn(IpAddr) -> bool) {
        let mut streams = self.connections.values_mut().filter(|connection| chosen(connection.origin));
        if let Some(stream) = streams.find_map(|connection| connection.stream.take()) {
            // Wakes up the thread that reads from it.
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

impl Stranger<'_> {
    /// Whether it was closed for a newer connection.
    pub(crate) fn is_closed(&self) -> bool {
        lock(&self.all.0).connections.get(&self.number).is_none_or(|connection| connection.stream.is_none())
    }
}

impl Drop for Stranger<'_> {
    fn drop(&mut self) {
        lock(&self.all.0).connections.remove(&self.number);
    }
}

/// The address that limits apply to: an IPv4 address, or the first 64 bits of an IPv6 address, which one host has to itself.
pub(crate) fn origin(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX)).into(),
        address @ IpAddr::V4(_) => address,
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::net::{SocketAddr, TcpListener};
    use std::time::Duration;

    use socket2::{Domain, Socket, Type};

    use super::*;

    struct Home(TcpListener);

    impl Home {
        fn new() -> Self {
            Self(TcpListener::bind("127.0.0.1:0").unwrap())
        }

        /// A connection from this address: the client's side, and the server's.
        fn connection(&self, from: &str) -> (TcpStream, TcpStream) {
            let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
            socket.bind(&SocketAddr::new(from.parse().unwrap(), 0).into()).unwrap();
            socket.connect(&self.0.local_addr().unwrap().into()).unwrap();
            let near = TcpStream::from(socket);
            near.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
            (near, self.0.accept().unwrap().0)
        }
    }

    #[test]
    fn an_address_over_its_limit_loses_its_oldest_connection() {
        let (home, strangers) = (Home::new(), Strangers::default());
        let (_of_client, client) = home.connection("127.0.0.1");
        let client = strangers.enter(&client).unwrap();
        let hostile: Vec<_> = (0..=MOST_OF_ADDRESS).map(|_| home.connection("127.0.0.2")).collect();
        let counted: Vec<_> = hostile.iter().map(|(_, far)| strangers.enter(far).unwrap()).collect();
        assert!(!client.is_closed(), "another address is not affected");
        assert!(counted[0].is_closed() && !counted[1].is_closed());
        assert_eq!((&hostile[0].0).read(&mut [0]).unwrap(), 0, "its client notices");
    }

    #[test]
    fn above_the_total_the_oldest_of_all_is_closed() {
        let (home, strangers) = (Home::new(), Strangers::default());
        let (near, far) = home.connection("127.0.0.1");
        let first = strangers.enter(&far).unwrap();
        let from = |number: usize| format!("127.0.0.{}", 2 + number % 3);
        let more: Vec<_> = (0..MOST_UNIDENTIFIED).map(|number| home.connection(&from(number))).collect();
        let mut counted: Vec<_> = more.iter().map(|(_, far)| strangers.enter(far).unwrap()).collect();
        assert!(first.is_closed() && !counted[0].is_closed());
        assert_eq!((&near).read(&mut [0]).unwrap(), 0);
        counted.clear();
        drop(first);
        assert!(lock(&strangers.0).connections.is_empty());
    }

    #[test]
    fn threads_that_have_not_ended_yet_are_limited() {
        let (home, strangers) = (Home::new(), Strangers::default());
        let (_near, far) = home.connection("127.0.0.1");
        let counted: Vec<_> = (0..MOST_THREADS).map(|_| strangers.enter(&far).unwrap()).collect();
        assert!(strangers.enter(&far).is_none());
        drop(counted);
        assert!(strangers.enter(&far).is_some());
    }

    #[test]
    fn a_host_has_one_origin() {
        let origin = |text: &str| super::origin(text.parse().unwrap()).to_string();
        assert_eq!(origin("2001:db8:1:2:3:4:5:6"), "2001:db8:1:2::");
        assert_eq!([origin("192.0.2.1"), origin("::ffff:192.0.2.1")], ["192.0.2.1", "192.0.2.1"]);
    }
}
