//! Listens on one address for TCP and UDP, reads each connection's preface and dispatches it. An unauthenticated connection
//! costs a thread, and their number is bounded ([`Strangers`]). Where connections themselves are measured, threads of the benchmark accept
//! connections, too ([`Listener::help`]), and hand back what is not theirs.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use socket2::{Domain, Protocol, SockRef, Socket, Type};
use sys::clock::monotonic_raw_seconds;

use super::preface::{PREFACE_BYTES, Preface, Purpose, Token};
use super::strangers::{MOST_UNIDENTIFIED, Stranger, Strangers};
use crate::locks::lock;

const PREFACE_SECONDS: f64 = 2.0;
const BACKLOG: i32 = 1024;
/// Poll interval of helpers; a connection without a preface by then is handed back.
const LOOK: Duration = Duration::from_millis(20);
/// Timeout for [`Listener::receive`] to step back.
const STEPPING_BACK: Duration = Duration::from_secs(1);
/// Further attempts to find a port that is free for both TCP and UDP.
const MORE_TRIES: u32 = 15;

pub(crate) struct Listener {
    tcp: TcpListener,
    pub(crate) datagrams: UdpSocket,
    pub(crate) address: SocketAddr,
    open: AtomicBool,
    strangers: Strangers,
    helping: Mutex<Helping>,
    changed: Condvar,
}

#[derive(Default)]
struct Helping {
    helpers: usize,
    /// [`Listener::receive`] has stepped back for them.
    stepped_back: bool,
    handed_back: Vec<(TcpStream, PartialPreface)>,
    /// Token and message length of each helper's process run.
    operations: Vec<(Token, usize)>,
}

/// Serves a connection after its preface, for as long as it lives. It counts as unauthenticated until the last is dropped.
pub(crate) type Greet<'a> = dyn Fn(Preface, TcpStream, Stranger<'_>) + Sync + 'a;

impl Listener {
    pub(crate) fn open(at: SocketAddr) -> io::Result<Self> {
        let more = if at.port() == 0 { MORE_TRIES } else { 0 };
        (0..more).fold(Self::bind(at), |bound, _| bound.or_else(|_| Self::bind(at)))
    }

    fn bind(at: SocketAddr) -> io::Result<Self> {
        let listener = Socket::new(Domain::for_address(at), Type::STREAM, Some(Protocol::TCP))?;
        // A port stays usable right after its server ended.
        listener.set_reuse_address(true)?;
        listener.bind(&at.into())?;
        listener.listen(BACKLOG)?;
        let listener = TcpListener::from(listener);
        let address = listener.local_addr()?;
        let datagrams = datagrams_at(address)?;
        Ok(Self {
            tcp: listener,
            datagrams,
            address,
            open: AtomicBool::new(true),
            strangers: Strangers::default(),
            helping: Mutex::default(),
            changed: Condvar::new(),
        })
    }

    /// Accepts and serves connections, each on its own thread, until the listener is closed and all have ended.
    pub(crate) fn receive(&self, greet: &Greet<'_>) -> io::Result<()> {
        thread::scope(|scope| {
            let welcome = |stream: TcpStream, begun: PartialPreface| {
                let Some(stranger) = self.strangers.enter(&stream) else { return };
                let welcome = move || {
                    if let Some(preface) = read_preface(&stream, begun) {
                        greet(preface, stream, stranger);
                    }
                };
                let _ = thread::Builder::new().name("greet".to_owned()).spawn_scoped(scope, welcome);
            };
            while self.open.load(Ordering::Acquire) {
                if let Some(handed_back) = self.step_back() {
                    for (stream, begun) in handed_back {
                        welcome(stream, begun);
                    }
                    continue;
                }
                match self.tcp.accept() {
                    Ok((stream, _)) => welcome(stream, PartialPreface::default()),
                    Err(_) if !self.open.load(Ordering::Acquire) => break,
                    Err(error) => pause_after(error)?,
                }
            }
            Ok(())
        })
    }

    /// Waits while there are helpers and takes what they hand back; `None` without both.
    fn step_back(&self) -> Option<Vec<(TcpStream, PartialPreface)>> {
        let mut helping = lock(&self.helping);
        if helping.helpers == 0 && helping.handed_back.is_empty() {
            return None;
        }
        helping.stepped_back = true;
        self.changed.notify_all();
        let waits = |helping: &mut Helping| {
            helping.helpers > 0 && helping.handed_back.is_empty() && self.open.load(Ordering::Acquire)
        };
        let mut helping = self.changed.wait_while(helping, waits).unwrap_or_else(PoisonError::into_inner);
        helping.stepped_back = false;
        Some(std::mem::take(&mut helping.handed_back))
    }

    /// Message length of an operation's connection, if its process run measures connection setup now.
    pub(crate) fn message_bytes(&self, preface: &Preface) -> Option<usize> {
        if preface.purpose != Purpose::Operation {
            return None;
        }
        let helping = lock(&self.helping);
        helping.operations.iter().find(|(token, _)| *token == preface.token).map(|(_, bytes)| *bytes)
    }

    /// Lets the owner accept connections for operations with this token and length; [`Listener::receive`] pauses meanwhile.
    pub(crate) fn help(&self, token: Token, message_bytes: usize) -> io::Result<Helper<'_>> {
        let mut helping = lock(&self.helping);
        if helping.helpers == 0 {
            // Bounds accept, and connections inherit it.
            SockRef::from(&self.tcp).set_read_timeout(Some(LOOK))?;
        }
        helping.helpers += 1;
        helping.operations.push((token, message_bytes));
        let helper = Helper { listener: self, token, message_bytes };
        if !helping.stepped_back {
            // A silent connection of our own wakes up accept.
            let _ = TcpStream::connect_timeout(&reachable(self.address), STEPPING_BACK);
        }
        let waits = |helping: &mut Helping| !helping.stepped_back && self.open.load(Ordering::Acquire);
        drop(self.changed.wait_timeout_while(helping, STEPPING_BACK, waits));
        Ok(helper)
    }

    pub(crate) fn close(&self) {
        // Under the lock: no thread checks just before and waits just after.
        let helping = lock(&self.helping);
        self.open.store(false, Ordering::Release);
        self.changed.notify_all();
        drop(helping);
        // Ends a blocking accept; it may be closed already.
        let _ = SockRef::from(&self.tcp).shutdown(Shutdown::Both);
    }
}

/// An address of this listener for a local connection.
fn reachable(listening: SocketAddr) -> SocketAddr {
    let here = match listening {
        SocketAddr::V4(_) => IpAddr::from(Ipv4Addr::LOCALHOST),
        SocketAddr::V6(_) => IpAddr::from(Ipv6Addr::LOCALHOST),
    };
    if listening.ip().is_unspecified() { SocketAddr::new(here, listening.port()) } else { listening }
}

/// Accepts connections concurrently with [`Listener::receive`] for a process run.
pub(crate) struct Helper<'a> {
    listener: &'a Listener,
    token: Token,
    message_bytes: usize,
}

impl Helper<'_> {
    /// The next operation after its preface, with its message length; `None` if none arrives soon. It may belong to another
    /// active process run, which this helper then serves. Other connections are handed back.
    pub(crate) fn accept(&self) -> io::Result<Option<(TcpStream, usize)>> {
        let listener = self.listener;
        let stream = match listener.tcp.accept() {
            Ok((stream, _)) => stream,
            Err(_) if !listener.open.load(Ordering::Acquire) => return Ok(None),
            Err(error) => return pause_after(error).map(|()| None),
        };
        let mut begun = PartialPreface::default();
        match begun.read(&stream) {
            Ok(0) => return Ok(None),
            Ok(_) => {
                if let Some(bytes) = begun.preface().and_then(|preface| self.message_bytes(&preface)) {
                    return Ok(Some((stream, bytes)));
                }
            }
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {}
            Err(_) => return Ok(None),
        }
        let mut helping = lock(&listener.helping);
        // Beyond this many the regular path closes connections, too.
        if helping.handed_back.len() < MOST_UNIDENTIFIED {
            helping.handed_back.push((stream, begun));
            listener.changed.notify_all();
        }
        Ok(None)
    }

    fn message_bytes(&self, preface: &Preface) -> Option<usize> {
        let ours = preface.purpose == Purpose::Operation && preface.token == self.token;
        if ours { Some(self.message_bytes) } else { self.listener.message_bytes(preface) }
    }
}

impl Drop for Helper<'_> {
    fn drop(&mut self) {
        let mut helping = lock(&self.listener.helping);
        helping.helpers -= 1;
        if let Some(place) = helping.operations.iter().position(|(token, _)| *token == self.token) {
            helping.operations.swap_remove(place);
        }
        if helping.helpers == 0 {
            // If that fails, the regular path only polls more often.
            let _ = SockRef::from(&self.listener.tcp).set_read_timeout(None);
            self.listener.changed.notify_all();
        }
    }
}

/// Passes errors of single connections and of exhausted resources.
fn pause_after(error: io::Error) -> io::Result<()> {
    /// `ENFILE`, `EMFILE`, `ENOBUFS`, `ENOMEM` (`accept(2)`).
    const WANT: [i32; 4] = [23, 24, 105, 12];
    match error.kind() {
        io::ErrorKind::Interrupted | io::ErrorKind::ConnectionAborted | io::ErrorKind::WouldBlock => Ok(()),
        _ if error.raw_os_error().is_some_and(|number| WANT.contains(&number)) => {
            thread::sleep(Duration::from_millis(50));
            Ok(())
        }
        _ => Err(error),
    }
}

/// A UDP socket at this address. Connected sockets can share the address: the kernel picks the best match.
pub(crate) fn datagrams_at(address: SocketAddr) -> io::Result<UdpSocket> {
    let socket = Socket::new(Domain::for_address(address), Type::DGRAM, Some(Protocol::UDP))?;
    socket.set_reuse_address(true)?;
    socket.set_reuse_port(true)?;
    socket.bind(&address.into())?;
    Ok(socket.into())
}

struct PartialPreface {
    bytes: [u8; PREFACE_BYTES],
    filled: usize,
}

impl Default for PartialPreface {
    fn default() -> Self {
        Self { bytes: [0; PREFACE_BYTES], filled: 0 }
    }
}

impl PartialPreface {
    /// Reads at most the rest of it; 0 at the end of the connection.
    fn read(&mut self, mut stream: &TcpStream) -> io::Result<usize> {
        let count = stream.read(&mut self.bytes[self.filled..])?;
        self.filled += count;
        Ok(count)
    }

    fn preface(&self) -> Option<Preface> {
        (self.filled == PREFACE_BYTES).then(|| Preface::read(&self.bytes)).flatten()
    }
}

/// Reads the rest of a preface; `None` if it is invalid or late.
fn read_preface(stream: &TcpStream, mut begun: PartialPreface) -> Option<Preface> {
    let deadline = monotonic_raw_seconds() + PREFACE_SECONDS;
    while begun.filled < PREFACE_BYTES {
        let left = deadline - monotonic_raw_seconds();
        stream.set_read_timeout(Some(Duration::try_from_secs_f64(left).ok().filter(|left| !left.is_zero())?)).ok()?;
        match begun.read(stream) {
            Ok(0) => return None,
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return None,
        }
    }
    stream.set_read_timeout(None).ok()?;
    begun.preface()
}

#[derive(Default)]
pub(crate) struct DataConnections {
    expected: Mutex<BTreeMap<Token, Sender<(Preface, TcpStream)>>>,
}

/// The data connections of a process run; closed when dropped.
pub(crate) struct Incoming<'a> {
    connections: &'a DataConnections,
    token: Token,
    pub(crate) come: Receiver<(Preface, TcpStream)>,
}

impl DataConnections {
    pub(crate) fn expect(&self, token: Token) -> Incoming<'_> {
        let (bring, come) = channel();
        lock(&self.expected).insert(token, bring);
        Incoming { connections: self, token, come }
    }

    /// Hands a connection to its process run; unexpected ones are closed.
    pub(crate) fn bring(&self, preface: Preface, stream: TcpStream) {
        let bring = lock(&self.expected).get(&preface.token).cloned();
        if let Some(bring) = bring {
            let _ = bring.send((preface, stream));
        }
    }
}

impl Drop for Incoming<'_> {
    fn drop(&mut self) {
        lock(&self.connections.expected).remove(&self.token);
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn at_home() -> SocketAddr {
        "127.0.0.1:0".parse().unwrap()
    }

    #[test]
    fn only_who_says_what_it_is_for_comes_in() {
        let listener = Listener::open(at_home()).unwrap();
        let connections = DataConnections::default();
        let token = Token::new();
        let arrivals = connections.expect(token);
        thread::scope(|scope| {
            scope.spawn(|| listener.receive(&|preface, stream, _| connections.bring(preface, stream)).unwrap());
            let say = |bytes: &[u8]| {
                let mut stream = TcpStream::connect(listener.address).unwrap();
                stream.write_all(bytes).unwrap();
                stream
            };
            let mut strangers = vec![say(b"GET / HTTP/1.1\r\nHost: a.very.long.name.of.a.host.example\r\n\r\n")];
            let other = Preface { purpose: Purpose::Data, number: 0, token: Token::new() };
            strangers.push(say(&other.bytes()));
            let ours = Preface { purpose: Purpose::Data, number: 3, token };
            let mut known = say(&[&ours.bytes()[..], b"data"].concat());
            let (preface, mut stream) = arrivals.come.recv_timeout(Duration::from_secs(5)).unwrap();
            assert_eq!(preface, ours);
            let mut data = [0; 4];
            stream.read_exact(&mut data).unwrap();
            assert_eq!(&data, b"data", "nothing of what follows the preface is lost");
            for stranger in &mut strangers {
                stranger.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
                assert!(matches!(stranger.read(&mut [0]), Ok(0) | Err(_)), "closed");
            }
            known.write_all(b"more").unwrap();
            listener.close();
        });
        assert!(TcpStream::connect(listener.address).is_err(), "a closed listener lets nobody in");
    }

    #[test]
    fn helpers_take_what_is_theirs_and_hand_back_the_rest() {
        let listener = Listener::open(at_home()).unwrap();
        let connections = DataConnections::default();
        let (token, other, another) = (Token::new(), Token::new(), Token::new());
        let arrivals = connections.expect(other);
        let of = |purpose, token| Preface { purpose, number: 0, token };
        let say = |bytes: &[u8]| {
            let mut stream = TcpStream::connect(listener.address).unwrap();
            stream.write_all(bytes).unwrap();
            stream
        };
        thread::scope(|scope| {
            scope.spawn(|| listener.receive(&|preface, stream, _| connections.bring(preface, stream)).unwrap());
            for _ in 0..2 {
                let helper = listener.help(token, 1).unwrap();
                let second = listener.help(another, 7).unwrap();
                assert!(lock(&listener.helping).stepped_back, "nobody else takes connections");
                let _silent = TcpStream::connect(listener.address).unwrap();
                let mut half = say(&of(Purpose::Data, other).bytes()[..20]);
                let _theirs = say(&of(Purpose::Data, other).bytes());
                let _ours = say(&[&of(Purpose::Operation, token).bytes()[..], b"x"].concat());
                let _of_another = say(&of(Purpose::Operation, another).bytes());
                let _of_nobody = say(&of(Purpose::Operation, other).bytes());
                let taken: Vec<_> = (0..100).filter_map(|_| helper.accept().unwrap()).take(2).collect();
                let (mut first, bytes) = (&taken[0].0, taken[0].1);
                assert!(first.read_exact(&mut [0]).is_ok(), "nothing of what follows the preface is lost");
                assert_eq!((bytes, taken[1].1), (1, 7), "each with the message of its own process run");
                half.write_all(&of(Purpose::Data, other).bytes()[20..]).unwrap();
                assert!(second.accept().unwrap().is_none(), "nobody else came");
                for _ in 0..3 {
                    arrivals.come.recv_timeout(Duration::from_secs(5)).unwrap();
                }
                drop((helper, second));
                assert_eq!(listener.message_bytes(&of(Purpose::Operation, token)), None, "that process run has ended");
                let _ordinary = say(&of(Purpose::Data, other).bytes());
                arrivals.come.recv_timeout(Duration::from_secs(5)).unwrap();
            }
            let _left_open = listener.help(token, 1).unwrap();
            listener.close();
        });
        assert_eq!(reachable("[::]:7".parse().unwrap()), "[::1]:7".parse().unwrap());
        assert_eq!(reachable("0.0.0.0:7".parse().unwrap()), "127.0.0.1:7".parse().unwrap());
        assert_eq!(reachable("192.0.2.1:7".parse().unwrap()), "192.0.2.1:7".parse().unwrap());
    }

    #[test]
    fn a_port_is_taken_once_and_is_udps_too() {
        let listener = Listener::open(at_home()).unwrap();
        assert_eq!(listener.datagrams.local_addr().unwrap(), listener.address);
        assert_eq!(Listener::open(listener.address).err().unwrap().kind(), io::ErrorKind::AddrInUse);
    }
}
