//! How the two ends of an experiment find each other: the measuring end listens, the other one connects and proves that
//! it is meant.
//!
//! Every connection begins with a [`Hello`]: what does not begin so is closed and disturbs nobody. One connection is
//! the control connection, which lives as long as the launch does; its end is the end of the experiment. TCP data
//! travels on one further connection per thread; for UDP the two ends tell each other their sockets' ports on the
//! control connection, and each takes datagrams from the other's alone.

use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::time::Duration;

use model::io::Protocol;
use socket2::SockRef;
use sys::clock::monotonic_raw_seconds;

/// What every connection begins with.
const MAGIC: [u8; 8] = *b"assaynet";

/// Bytes of a token in hexadecimal digits.
pub(super) const TOKEN_BYTES: usize = 32;

/// The longest name of a congestion control, with its NUL: `TCP_CA_NAME_MAX` (`net/tcp.h`).
const CONGESTION_BYTES: usize = 16;

/// Magic, token, thread (all ones for the control connection), congestion control.
const HELLO_BYTES: usize = MAGIC.len() + TOKEN_BYTES + 4 + CONGESTION_BYTES;

/// The thread of the control connection.
const CONTROL: u32 = u32::MAX;

/// A connection that has not said who it is by then is closed.
const HELLO_SECONDS: f64 = 2.0;

/// Strangers that are listened to at the same time; beyond them the oldest is closed.
const MOST_CANDIDATES: usize = 256;

/// How long between two looks at the listening socket: nothing is measured yet.
const LOOK: Duration = Duration::from_micros(200);

/// All connections have come by then, or the launch has failed.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);

/// Where data goes to and comes from, for one thread.
#[derive(Debug)]
pub(super) enum DataEnd {
    /// A connection.
    Tcp(TcpStream),
    /// A socket that takes datagrams from the other end's alone.
    Udp(UdpSocket),
}

impl DataEnd {
    /// Lets nobody wait on it any longer: reads end, writes fail.
    pub(super) fn shut(&self) {
        // One that is closed already is shut.
        let _ = match self {
            Self::Tcp(stream) => stream.shutdown(std::net::Shutdown::Both),
            Self::Udp(socket) => SockRef::from(socket).shutdown(std::net::Shutdown::Both),
        };
    }
}

/// The other end, found.
#[derive(Debug)]
pub(super) struct Met {
    /// Ends when the launch does.
    pub(super) control: TcpStream,
    /// Congestion control of the other end's sockets, where it said so.
    pub(super) congestion: Option<String>,
    /// One per thread.
    pub(super) ends: Vec<DataEnd>,
}

/// What the two ends have agreed on beforehand.
#[derive(Clone, Copy, Debug)]
pub(super) struct Terms<'a> {
    /// What a connection must begin with.
    pub(super) token: &'a str,
    /// The transport of the data.
    pub(super) protocol: Protocol,
    /// Threads at either end.
    pub(super) threads: usize,
    /// All connections have come by then.
    pub(super) patience: Duration,
}

impl Terms<'_> {
    /// TCP connections of the data.
    fn data_connections(&self) -> usize {
        if self.protocol == Protocol::Tcp { self.threads } else { 0 }
    }

    /// Bytes of the list of ports.
    fn ports_bytes(&self) -> usize {
        if self.protocol == Protocol::Udp { 2 * self.threads } else { 0 }
    }
}

/// Who a connection says it is.
#[derive(Debug, PartialEq, Eq)]
struct Hello {
    thread: u32,
    congestion: Option<String>,
}

impl Hello {
    /// As it is sent. `congestion` longer than the kernel's limit is cut off.
    fn bytes(token: &str, thread: u32, congestion: &[u8]) -> [u8; HELLO_BYTES] {
        let mut bytes = [0; HELLO_BYTES];
        let fields = [&MAGIC, token.as_bytes(), &thread.to_le_bytes(), congestion];
        let text = fields.concat();
        let length = text.len().min(HELLO_BYTES - 1);
        bytes[..length].copy_from_slice(&text[..length]);
        bytes
    }

    /// From what came; `None` if it is none of ours.
    fn read(bytes: &[u8; HELLO_BYTES], token: &str) -> Option<Self> {
        let rest = bytes.strip_prefix(&MAGIC)?.strip_prefix(token.as_bytes())?;
        let (thread, congestion) = rest.split_first_chunk::<4>()?;
        let name = congestion.split(|byte| *byte == 0).next().unwrap_or_default();
        let congestion = String::from_utf8(name.to_vec()).ok().filter(|name| !name.is_empty());
        Some(Self { thread: u32::from_le_bytes(*thread), congestion })
    }
}

/// A connection that has not yet said all of its hello.
struct Candidate {
    stream: TcpStream,
    hello: [u8; HELLO_BYTES],
    filled: usize,
    since: f64,
}

/// What came of listening to a candidate.
enum Heard {
    /// Not all yet.
    Waiting(Candidate),
    /// All of it.
    Known(TcpStream, Hello),
    /// A stranger, or gone.
    Refused,
}

impl Candidate {
    /// Reads what has come, and never beyond the hello: what follows is data.
    fn hear(mut self, token: &str) -> Heard {
        loop {
            match self.stream.read(&mut self.hello[self.filled..]) {
                Ok(0) => return Heard::Refused,
                Ok(count) => self.filled += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    let in_time = monotonic_raw_seconds() - self.since < HELLO_SECONDS;
                    return if in_time { Heard::Waiting(self) } else { Heard::Refused };
                }
                Err(_) => return Heard::Refused,
            }
            if self.filled == HELLO_BYTES {
                return match Hello::read(&self.hello, token) {
                    Some(hello) => Heard::Known(self.stream, hello),
                    None => Heard::Refused,
                };
            }
        }
    }
}

/// The connections that have come so far.
struct Arrivals {
    control: Option<TcpStream>,
    congestion: Option<String>,
    data: Vec<Option<TcpStream>>,
}

impl Arrivals {
    /// Takes a connection to its place; one whose place is taken, or not there, is closed.
    fn take(&mut self, stream: TcpStream, hello: Hello) {
        let place =
            if hello.thread == CONTROL { Some(&mut self.control) } else { self.data.get_mut(hello.thread as usize) };
        if let Some(place @ None) = place {
            *place = Some(stream);
            self.congestion = hello.congestion.or(self.congestion.take());
        }
    }

    fn count(&self) -> usize {
        usize::from(self.control.is_some()) + self.data.iter().flatten().count()
    }

    fn expected(&self) -> usize {
        1 + self.data.len()
    }
}

/// The measuring end: waits on `listener` for all connections of the other end. `progress` hears the share that has
/// come.
///
/// # Errors
/// They have not all come in time, or the kernel refused something.
pub(super) fn await_peer(listener: &TcpListener, terms: &Terms, progress: &mut dyn FnMut(f64)) -> Result<Met, String> {
    let arrivals = arrive(listener, terms, progress)
        .map_err(|error| format!("cannot take connections of the other end: {error}"))?;
    let (count, expected) = (arrivals.count(), arrivals.expected());
    let data: Vec<TcpStream> = arrivals.data.into_iter().flatten().collect();
    let Some(control) = arrivals.control.filter(|_| count == expected) else {
        let seconds = terms.patience.as_secs_f64();
        return Err(format!("the other end did not come: {count} of {expected} connections within {seconds:.0} s"));
    };
    let ends = welcome(&control, terms, data).map_err(|error| format!("the other end is gone: {error}"))?;
    Ok(Met { control, congestion: arrivals.congestion, ends })
}

/// Accepts until all have come or the time is up.
fn arrive(listener: &TcpListener, terms: &Terms, progress: &mut dyn FnMut(f64)) -> io::Result<Arrivals> {
    listener.set_nonblocking(true)?;
    let data = (0..terms.data_connections()).map(|_| None).collect();
    let mut arrivals = Arrivals { control: None, congestion: None, data };
    let mut candidates: Vec<Candidate> = Vec::new();
    let began = monotonic_raw_seconds();
    let mut told = began;
    while arrivals.count() < arrivals.expected() {
        let now = monotonic_raw_seconds();
        if now - began >= terms.patience.as_secs_f64() {
            break;
        }
        if now - told >= 1.0 {
            told = now;
            progress(arrivals.count() as f64 / arrivals.expected() as f64);
        }
        match listener.accept() {
            Ok((stream, _)) => {
                stream.set_nonblocking(true)?;
                if candidates.len() >= MOST_CANDIDATES {
                    candidates.remove(0);
                }
                candidates.push(Candidate { stream, hello: [0; HELLO_BYTES], filled: 0, since: now });
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => std::thread::sleep(LOOK),
            Err(error) if matches!(error.kind(), io::ErrorKind::Interrupted | io::ErrorKind::ConnectionAborted) => {}
            Err(error) => return Err(error),
        }
        for candidate in std::mem::take(&mut candidates) {
            match candidate.hear(terms.token) {
                Heard::Waiting(candidate) => candidates.push(candidate),
                Heard::Known(stream, hello) => {
                    stream.set_nonblocking(false)?;
                    arrivals.take(stream, hello);
                }
                Heard::Refused => {}
            }
        }
    }
    Ok(arrivals)
}

/// The measuring end's part of the conversation on the control connection, once all have come.
fn welcome(mut control: &TcpStream, terms: &Terms, data: Vec<TcpStream>) -> io::Result<Vec<DataEnd>> {
    control.set_read_timeout(Some(terms.patience))?;
    control.set_write_timeout(Some(terms.patience))?;
    let theirs = read_ports(control, terms)?;
    let sockets = bind(control.local_addr()?.ip(), theirs.len())?;
    write_ports(control, terms, &sockets)?;
    let sockets = join(sockets, control.peer_addr()?.ip(), &theirs)?;
    // The other end has joined its sockets too: from now on nothing is lost for want of a socket.
    control.read_exact(&mut [0])?;
    Ok(ends(data, sockets))
}

/// The other end: connects to the measuring one.
///
/// # Errors
/// The address is none, nobody listens there, or who does refuses us.
pub(super) fn connect(address: &str, terms: &Terms) -> Result<Met, String> {
    let to: SocketAddr =
        address.parse().map_err(|error| format!("the measuring end's address '{address}' is none: {error}"))?;
    converse(to, terms).map_err(|error| match error.kind() {
        io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => {
            format!("the measuring end at {address} has closed the connection: it is gone, or has another token")
        }
        _ => format!("cannot connect to the measuring end at {address}: {error}"),
    })
}

fn converse(to: SocketAddr, terms: &Terms) -> io::Result<Met> {
    let mut control = greet(to, terms, CONTROL)?;
    control.set_read_timeout(Some(terms.patience))?;
    let count = if terms.protocol == Protocol::Udp { terms.threads } else { 0 };
    let sockets = bind(control.local_addr()?.ip(), count)?;
    write_ports(&control, terms, &sockets)?;
    let data = (0..terms.data_connections())
        .map(|thread| greet(to, terms, u32::try_from(thread).unwrap_or(CONTROL)))
        .collect::<io::Result<Vec<TcpStream>>>()?;
    let theirs = read_ports(&control, terms)?;
    let sockets = join(sockets, to.ip(), &theirs)?;
    control.write_all(&[1])?;
    control.set_read_timeout(None)?;
    Ok(Met { control, congestion: None, ends: ends(data, sockets) })
}

/// Connects and says hello.
fn greet(to: SocketAddr, terms: &Terms, thread: u32) -> io::Result<TcpStream> {
    let mut stream = TcpStream::connect_timeout(&to, terms.patience)?;
    let congestion = SockRef::from(&stream).tcp_congestion().unwrap_or_default();
    let name = congestion.split(|byte| *byte == 0).next().unwrap_or_default();
    stream.write_all(&Hello::bytes(terms.token, thread, name))?;
    Ok(stream)
}

fn ends(data: Vec<TcpStream>, sockets: Vec<UdpSocket>) -> Vec<DataEnd> {
    data.into_iter().map(DataEnd::Tcp).chain(sockets.into_iter().map(DataEnd::Udp)).collect()
}

fn bind(local: IpAddr, count: usize) -> io::Result<Vec<UdpSocket>> {
    (0..count).map(|_| UdpSocket::bind((local, 0))).collect()
}

/// Connects each socket to the other end's, and throws away what strangers sent before.
fn join(sockets: Vec<UdpSocket>, theirs: IpAddr, ports: &[u16]) -> io::Result<Vec<UdpSocket>> {
    for (socket, &port) in sockets.iter().zip(ports) {
        socket.connect((theirs, port))?;
        socket.set_nonblocking(true)?;
        while socket.recv(&mut [0]).is_ok() {}
        socket.set_nonblocking(false)?;
    }
    Ok(sockets)
}

/// Says the ports of these sockets; without any, just that it is our turn.
fn write_ports(mut control: &TcpStream, terms: &Terms, sockets: &[UdpSocket]) -> io::Result<()> {
    let mut bytes = Vec::with_capacity(MAGIC.len() + terms.ports_bytes());
    bytes.extend_from_slice(&MAGIC);
    for socket in sockets {
        bytes.extend_from_slice(&socket.local_addr()?.port().to_le_bytes());
    }
    control.write_all(&bytes)
}

/// The ports of the other end's sockets.
fn read_ports(mut control: &TcpStream, terms: &Terms) -> io::Result<Vec<u16>> {
    let mut bytes = vec![0; MAGIC.len() + terms.ports_bytes()];
    control.read_exact(&mut bytes)?;
    let Some(ports) = bytes.strip_prefix(&MAGIC) else {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "it speaks another language"));
    };
    Ok(ports.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]])).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: &str = "0123456789abcdef0123456789abcdef";

    #[test]
    fn a_hello_reads_back_and_a_strangers_does_not() {
        let bytes = Hello::bytes(TOKEN, 7, b"cubic");
        let hello = Hello { thread: 7, congestion: Some("cubic".into()) };
        assert_eq!(Hello::read(&bytes, TOKEN), Some(hello));
        assert_eq!(Hello::read(&bytes, "1123456789abcdef0123456789abcdef"), None);
        let mut wrong = bytes;
        wrong[0] = b'A';
        assert_eq!(Hello::read(&wrong, TOKEN), None);
        let unnamed = Hello::read(&Hello::bytes(TOKEN, CONTROL, b""), TOKEN).unwrap();
        assert_eq!(unnamed, Hello { thread: CONTROL, congestion: None });
        let long = Hello::read(&Hello::bytes(TOKEN, 1, &[b'x'; 40]), TOKEN).unwrap();
        assert_eq!(long.congestion.unwrap().len(), CONGESTION_BYTES - 1);
    }

    #[test]
    fn a_place_is_taken_once() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let stream = || TcpStream::connect(address).unwrap();
        let mut arrivals = Arrivals { control: None, congestion: None, data: vec![None, None] };
        for thread in [CONTROL, 0, 0, 2, CONTROL] {
            arrivals.take(stream(), Hello { thread, congestion: None });
        }
        assert_eq!((arrivals.count(), arrivals.expected()), (2, 3));
    }
}
