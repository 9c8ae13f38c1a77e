//! The listener of the far end: one address for TCP and, with the same port, for UDP. It reads the preface of each connection
//! and hands it on; what has none, or none in time, is closed.
//!
//! Before a connection has said what it is for it costs a thread that waits for 48 bytes, and of those there are few. Where
//! connections are themselves what is measured there is no thread for each: those who serve them help at the listener
//! ([`Listener::help`]) and hand back what is not theirs.

use std::io::{self, Read};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use socket2::{Domain, Protocol, SockRef, Socket, Type};
use sys::clock::monotonic_raw_seconds;

use super::preface::{PREFACE_BYTES, Preface, Purpose, Token};

/// A connection that has not said all of its preface by then is closed.
const PREFACE_SECONDS: f64 = 2.0;

/// Connections that are waited for at the same time; one more is closed at once.
const MOST_UNIDENTIFIED: usize = 256;

/// Connections that the kernel holds for us.
const BACKLOG: i32 = 1024;

/// Who helps at the listener looks up so often whether there is still something to do; a connection that has not said what it
/// is for by then is handed back.
const LOOK: Duration = Duration::from_millis(20);

/// [`Listener::receive`] has stepped back by then, if anybody is at it at all.
const STEPPING_BACK: Duration = Duration::from_secs(1);

/// Ports that are tried until one is free for both TCP and UDP, where any will do.
const TRIES: u32 = 16;

/// Where connections come in.
#[derive(Debug)]
pub(crate) struct Listener {
    tcp: TcpListener,
    datagrams: UdpSocket,
    address: SocketAddr,
    open: AtomicBool,
    strangers: AtomicUsize,
    helping: Mutex<Helping>,
    /// Something of the above has changed.
    changed: Condvar,
}

/// Who helps at the listener.
#[derive(Debug, Default)]
struct Helping {
    /// Helpers.
    helpers: usize,
    /// Whether [`Listener::receive`] has stepped back for them.
    stepped_back: bool,
    /// Connections that are not theirs.
    handed_back: Vec<(TcpStream, PartialPreface)>,
    /// Of each helper, the launch that it helps for, and the bytes of that launch's messages.
    operations: Vec<(Token, usize)>,
}

/// What becomes of a connection that has said what it is for; may take as long as the connection lives.
pub(crate) type Greet<'a> = dyn Fn(Preface, TcpStream) + Sync + 'a;

impl Listener {
    /// A listener at this address; port 0 is any that is free.
    pub(crate) fn open(at: SocketAddr) -> io::Result<Self> {
        let tries = if at.port() == 0 { TRIES } else { 1 };
        let mut last = None;
        for _ in 0..tries {
            match Self::bind(at) {
                Ok(listener) => return Ok(listener),
                Err(error) => last = Some(error),
            }
        }
        Err(last.unwrap_or_else(|| io::ErrorKind::AddrInUse.into()))
    }

    fn bind(at: SocketAddr) -> io::Result<Self> {
        let listener = Socket::new(Domain::for_address(at), Type::STREAM, Some(Protocol::TCP))?;
        // Connections of a server that has just ended do not keep its port.
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
            strangers: AtomicUsize::new(0),
            helping: Mutex::default(),
            changed: Condvar::new(),
        })
    }

    /// Where it is.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Takes datagrams that belong to no flow yet.
    pub(crate) fn datagrams(&self) -> &UdpSocket {
        &self.datagrams
    }

    /// Takes connections until the listener is closed, and returns once what became of each of them is over. Each is greeted
    /// on a thread of its own.
    pub(crate) fn receive(&self, greet: &Greet<'_>) -> io::Result<()> {
        thread::scope(|scope| {
            let welcome = |stream: TcpStream, begun: PartialPreface| {
                let Some(stranger) = Unidentified::of(self) else { return };
                let welcome = move || {
                    let preface = read_preface(&stream, begun);
                    drop(stranger);
                    if let Some(preface) = preface {
                        greet(preface, stream);
                    }
                };
                // Where there are no threads left the connection is closed, and the listener stays.
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

    fn helping(&self) -> MutexGuard<'_, Helping> {
        self.helping.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits while there are helpers, until they hand something back; `None` where there are none and nothing.
    fn step_back(&self) -> Option<Vec<(TcpStream, PartialPreface)>> {
        let mut helping = self.helping();
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

    /// Bytes of the message that such a connection brings and wants back; `None` where it is no operation of a launch that
    /// measures setting up connections now.
    pub(crate) fn message_bytes(&self, preface: &Preface) -> Option<usize> {
        if preface.purpose != Purpose::Operation {
            return None;
        }
        let helping = self.helping();
        helping.operations.iter().find(|(token, _)| *token == preface.token).map(|(_, bytes)| *bytes)
    }

    /// From now on, as long as the helper is there, its owner takes connections too, and [`Listener::receive`] only what is
    /// handed back. It helps for the launch with this token, whose operations bring messages of so many bytes.
    pub(crate) fn help(&self, token: Token, message_bytes: usize) -> io::Result<Helper<'_>> {
        let mut helping = self.helping();
        if helping.helpers == 0 {
            // Accepting ends with it, and connections inherit it.
            SockRef::from(&self.tcp).set_read_timeout(Some(LOOK))?;
        }
        helping.helpers += 1;
        helping.operations.push((token, message_bytes));
        let helper = Helper { listener: self, token, message_bytes };
        if !helping.stepped_back {
            // A connection of our own is what makes it look up that waits in accept. It says nothing and is closed.
            let _ = TcpStream::connect_timeout(&reachable(self.address), STEPPING_BACK);
        }
        let waits = |helping: &mut Helping| !helping.stepped_back && self.open.load(Ordering::Acquire);
        drop(self.changed.wait_timeout_while(helping, STEPPING_BACK, waits));
        Ok(helper)
    }

    /// Lets nobody in any more.
    pub(crate) fn close(&self) {
        // Under the lock, so that nobody looks just before and waits just after.
        let helping = self.helping();
        self.open.store(false, Ordering::Release);
        self.changed.notify_all();
        drop(helping);
        // Who waits in accept leaves it with an error; one that is closed already is closed.
        let _ = SockRef::from(&self.tcp).shutdown(Shutdown::Both);
    }
}

/// The address at which a listener of ours can be reached from here.
fn reachable(listening: SocketAddr) -> SocketAddr {
    let here = match listening {
        SocketAddr::V4(_) => IpAddr::from(Ipv4Addr::LOCALHOST),
        SocketAddr::V6(_) => IpAddr::from(Ipv6Addr::LOCALHOST),
    };
    if listening.ip().is_unspecified() { SocketAddr::new(here, listening.port()) } else { listening }
}

/// One who takes connections beside [`Listener::receive`], for a launch.
#[derive(Debug)]
pub(crate) struct Helper<'a> {
    listener: &'a Listener,
    token: Token,
    message_bytes: usize,
}

impl Helper<'_> {
    /// The next operation, past its preface, with the bytes of its message; `None` if there was none for a moment. Reads
    /// from it end after as short a moment. It may be one of another launch that measures at the same time: all listen at
    /// this listener, and who takes a connection serves it. What is no operation, or does not say so at once, is handed back.
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
        let mut helping = listener.helping();
        // More would be closed by the ordinary way too.
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
        let mut helping = self.listener.helping();
        helping.helpers -= 1;
        if let Some(place) = helping.operations.iter().position(|(token, _)| *token == self.token) {
            helping.operations.swap_remove(place);
        }
        if helping.helpers == 0 {
            // Where that fails the ordinary way only looks up more often.
            let _ = SockRef::from(&self.listener.tcp).set_read_timeout(None);
            self.listener.changed.notify_all();
        }
    }
}

/// What is to be done about an error of accept: those of one connection, and a want of descriptors, pass.
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

/// A socket for datagrams at this very address, beside which others can be opened that are connected to one peer each:
/// the kernel gives a datagram to the one that fits best.
pub(crate) fn datagrams_at(address: SocketAddr) -> io::Result<UdpSocket> {
    let socket = Socket::new(Domain::for_address(address), Type::DGRAM, Some(Protocol::UDP))?;
    socket.set_reuse_address(true)?;
    socket.set_reuse_port(true)?;
    socket.bind(&address.into())?;
    Ok(socket.into())
}

/// A connection of which nothing is known yet; counted while it is.
struct Unidentified<'a>(&'a Listener);

impl<'a> Unidentified<'a> {
    fn of(listener: &'a Listener) -> Option<Self> {
        let before = listener.strangers.fetch_add(1, Ordering::AcqRel);
        let stranger = Self(listener);
        (before < MOST_UNIDENTIFIED).then_some(stranger)
    }
}

impl Drop for Unidentified<'_> {
    fn drop(&mut self) {
        self.0.strangers.fetch_sub(1, Ordering::AcqRel);
    }
}

/// What has come of a preface.
#[derive(Debug)]
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
    /// Reads more of it, and not a byte more: what follows is somebody else's. 0 at the connection's end.
    fn read(&mut self, mut stream: &TcpStream) -> io::Result<usize> {
        let count = stream.read(&mut self.bytes[self.filled..])?;
        self.filled += count;
        Ok(count)
    }

    /// All of it; `None` if it has not come, or is none.
    fn preface(&self) -> Option<Preface> {
        (self.filled == PREFACE_BYTES).then(|| Preface::read(&self.bytes)).flatten()
    }
}

/// The rest of a connection's preface. `None` if there is none in time.
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

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;
    use crate::net::incoming::DataConnections;

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
            scope.spawn(|| listener.receive(&|preface, stream| connections.bring(preface, stream)).unwrap());
            let say = |bytes: &[u8]| {
                let mut stream = TcpStream::connect(listener.address()).unwrap();
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
        assert!(TcpStream::connect(listener.address()).is_err(), "a closed listener lets nobody in");
    }

    #[test]
    fn helpers_take_what_is_theirs_and_hand_back_the_rest() {
        let listener = Listener::open(at_home()).unwrap();
        let connections = DataConnections::default();
        let (token, other, another) = (Token::new(), Token::new(), Token::new());
        let arrivals = connections.expect(other);
        let of = |purpose, token| Preface { purpose, number: 0, token };
        let say = |bytes: &[u8]| {
            let mut stream = TcpStream::connect(listener.address()).unwrap();
            stream.write_all(bytes).unwrap();
            stream
        };
        thread::scope(|scope| {
            scope.spawn(|| listener.receive(&|preface, stream| connections.bring(preface, stream)).unwrap());
            for _ in 0..2 {
                let helper = listener.help(token, 1).unwrap();
                let second = listener.help(another, 7).unwrap();
                assert!(listener.helping().stepped_back, "nobody else takes connections");
                let _silent = TcpStream::connect(listener.address()).unwrap();
                let mut half = say(&of(Purpose::Data, other).bytes()[..20]);
                let _theirs = say(&of(Purpose::Data, other).bytes());
                let _ours = say(&[&of(Purpose::Operation, token).bytes()[..], b"x"].concat());
                let _of_another = say(&of(Purpose::Operation, another).bytes());
                let _of_nobody = say(&of(Purpose::Operation, other).bytes());
                let taken: Vec<_> = (0..100).filter_map(|_| helper.accept().unwrap()).take(2).collect();
                let (mut first, bytes) = (&taken[0].0, taken[0].1);
                assert!(first.read_exact(&mut [0]).is_ok(), "nothing of what follows the preface is lost");
                assert_eq!((bytes, taken[1].1), (1, 7), "each with the message of its own launch");
                half.write_all(&of(Purpose::Data, other).bytes()[20..]).unwrap();
                // The one that is half there, the other, and an operation that nobody measures.
                assert!(second.accept().unwrap().is_none(), "nobody else came");
                for _ in 0..3 {
                    arrivals.come.recv_timeout(Duration::from_secs(5)).unwrap();
                }
                drop((helper, second));
                assert_eq!(listener.message_bytes(&of(Purpose::Operation, token)), None, "that launch is over");
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
        assert_eq!(listener.datagrams().local_addr().unwrap(), listener.address());
        assert_eq!(Listener::open(listener.address()).unwrap_err().kind(), io::ErrorKind::AddrInUse);
    }
}
