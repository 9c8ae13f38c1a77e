//! The door of the far end: one address for TCP and, with the same port, for UDP. It reads the preface of each connection
//! and hands it on; what has none, or none in time, is closed.
//!
//! Before a connection has said what it is for it costs a thread that waits for 48 bytes, and of those there are few.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use socket2::{Domain, Protocol, SockRef, Socket, Type};
use sys::clock::monotonic_raw_seconds;

use super::preface::{PREFACE_BYTES, Preface, Token};

/// A connection that has not said all of its preface by then is closed.
const PREFACE_SECONDS: f64 = 2.0;

/// Connections that are waited for at the same time; one more is closed at once.
const MOST_STRANGERS: usize = 256;

/// Connections that the kernel holds for us.
const BACKLOG: i32 = 1024;

/// Ports that are tried until one is free for both TCP and UDP, where any will do.
const TRIES: u32 = 16;

/// Where connections come in.
#[derive(Debug)]
pub(crate) struct Door {
    listener: TcpListener,
    datagrams: UdpSocket,
    address: SocketAddr,
    open: AtomicBool,
    strangers: AtomicUsize,
}

/// What becomes of a connection that has said what it is for; may take as long as the connection lives.
pub(crate) type Greet<'a> = dyn Fn(Preface, TcpStream) + Sync + 'a;

impl Door {
    /// A door at this address; port 0 is any that is free.
    ///
    /// # Errors
    /// The address is not ours, or the port is taken.
    pub(crate) fn open(at: SocketAddr) -> io::Result<Self> {
        let tries = if at.port() == 0 { TRIES } else { 1 };
        let mut last = None;
        for _ in 0..tries {
            match Self::bind(at) {
                Ok(door) => return Ok(door),
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
        Ok(Self { listener, datagrams, address, open: AtomicBool::new(true), strangers: AtomicUsize::new(0) })
    }

    /// Where it is.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Takes datagrams that belong to no flow yet.
    pub(crate) fn datagrams(&self) -> &UdpSocket {
        &self.datagrams
    }

    /// Takes connections until the door is closed, and returns once what became of each of them is over. Each is greeted
    /// on a thread of its own.
    ///
    /// # Errors
    /// The kernel refuses to let anyone in.
    pub(crate) fn receive(&self, greet: &Greet<'_>) -> io::Result<()> {
        thread::scope(|scope| {
            while self.open.load(Ordering::Acquire) {
                match self.listener.accept() {
                    Ok((stream, _)) => {
                        let Some(stranger) = Stranger::of(self) else { continue };
                        let welcome = move || {
                            let preface = read_preface(&stream);
                            drop(stranger);
                            if let Some(preface) = preface {
                                greet(preface, stream);
                            }
                        };
                        // Where there are no threads left the connection is closed, and the door stays.
                        let _ = thread::Builder::new().name("greet".to_owned()).spawn_scoped(scope, welcome);
                    }
                    Err(_) if !self.open.load(Ordering::Acquire) => break,
                    Err(error) => pause_after(error)?,
                }
            }
            Ok(())
        })
    }

    /// Lets nobody in any more.
    pub(crate) fn close(&self) {
        self.open.store(false, Ordering::Release);
        // Who waits in accept leaves it with an error; one that is closed already is closed.
        let _ = SockRef::from(&self.listener).shutdown(Shutdown::Both);
    }
}

/// What is to be done about an error of accept: those of one connection, and a want of descriptors, pass.
///
/// # Errors
/// The same, where it does not.
fn pause_after(error: io::Error) -> io::Result<()> {
    /// `ENFILE`, `EMFILE`, `ENOBUFS`, `ENOMEM` (`accept(2)`).
    const WANT: [i32; 4] = [23, 24, 105, 12];
    match error.kind() {
        io::ErrorKind::Interrupted | io::ErrorKind::ConnectionAborted => Ok(()),
        _ if error.raw_os_error().is_some_and(|number| WANT.contains(&number)) => {
            thread::sleep(Duration::from_millis(50));
            Ok(())
        }
        _ => Err(error),
    }
}

/// A socket for datagrams at this very address, beside which others can be opened that are connected to one peer each:
/// the kernel gives a datagram to the one that fits best.
///
/// # Errors
/// What the kernel said.
pub(crate) fn datagrams_at(address: SocketAddr) -> io::Result<UdpSocket> {
    let socket = Socket::new(Domain::for_address(address), Type::DGRAM, Some(Protocol::UDP))?;
    socket.set_reuse_address(true)?;
    socket.set_reuse_port(true)?;
    socket.bind(&address.into())?;
    Ok(socket.into())
}

/// A connection of which nothing is known yet; counted while it is.
struct Stranger<'a>(&'a Door);

impl<'a> Stranger<'a> {
    fn of(door: &'a Door) -> Option<Self> {
        let before = door.strangers.fetch_add(1, Ordering::AcqRel);
        let stranger = Self(door);
        (before < MOST_STRANGERS).then_some(stranger)
    }
}

impl Drop for Stranger<'_> {
    fn drop(&mut self) {
        self.0.strangers.fetch_sub(1, Ordering::AcqRel);
    }
}

/// The preface of a connection, and not a byte more: what follows is somebody else's. `None` if there is none in time.
fn read_preface(mut stream: &TcpStream) -> Option<Preface> {
    let deadline = monotonic_raw_seconds() + PREFACE_SECONDS;
    let mut bytes = [0; PREFACE_BYTES];
    let mut filled = 0;
    while filled < PREFACE_BYTES {
        let left = deadline - monotonic_raw_seconds();
        stream.set_read_timeout(Some(Duration::try_from_secs_f64(left).ok().filter(|left| !left.is_zero())?)).ok()?;
        match stream.read(&mut bytes[filled..]) {
            Ok(0) => return None,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return None,
        }
    }
    stream.set_read_timeout(None).ok()?;
    Preface::read(&bytes)
}

/// Where data connections wait for the launch that they belong to.
#[derive(Debug, Default)]
pub(crate) struct Lobby {
    expected: Mutex<BTreeMap<Token, Sender<(Preface, TcpStream)>>>,
}

/// The data connections of one launch as they come; nobody brings it any once it is dropped.
#[derive(Debug)]
pub(crate) struct Arrivals<'a> {
    lobby: &'a Lobby,
    token: Token,
    /// Each with its preface.
    pub(crate) come: Receiver<(Preface, TcpStream)>,
}

impl Lobby {
    fn expected(&self) -> MutexGuard<'_, BTreeMap<Token, Sender<(Preface, TcpStream)>>> {
        self.expected.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From now on connections with this token are ours.
    pub(crate) fn expect(&self, token: Token) -> Arrivals<'_> {
        let (bring, come) = channel();
        self.expected().insert(token, bring);
        Arrivals { lobby: self, token, come }
    }

    /// Brings a connection to the launch that expects it; one that nobody expects is closed.
    pub(crate) fn bring(&self, preface: Preface, stream: TcpStream) {
        let bring = self.expected().get(&preface.token).cloned();
        if let Some(bring) = bring {
            // Who expected it may be gone by now.
            let _ = bring.send((preface, stream));
        }
    }
}

impl Drop for Arrivals<'_> {
    fn drop(&mut self) {
        self.lobby.expected().remove(&self.token);
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::super::preface::Purpose;
    use super::*;

    fn at_home() -> SocketAddr {
        "127.0.0.1:0".parse().unwrap()
    }

    #[test]
    fn only_who_says_what_it_is_for_comes_in() {
        let door = Door::open(at_home()).unwrap();
        let lobby = Lobby::default();
        let token = Token::new();
        let arrivals = lobby.expect(token);
        thread::scope(|scope| {
            scope.spawn(|| door.receive(&|preface, stream| lobby.bring(preface, stream)).unwrap());
            let say = |bytes: &[u8]| {
                let mut stream = TcpStream::connect(door.address()).unwrap();
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
            door.close();
        });
        assert!(TcpStream::connect(door.address()).is_err(), "a closed door lets nobody in");
    }

    #[test]
    fn a_port_is_taken_once_and_is_udps_too() {
        let door = Door::open(at_home()).unwrap();
        assert_eq!(door.datagrams().local_addr().unwrap(), door.address());
        assert_eq!(Door::open(door.address()).unwrap_err().kind(), io::ErrorKind::AddrInUse);
    }
}
