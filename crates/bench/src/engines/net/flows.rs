//! The data flows of a benchmark: their number, their directions, and their protocols. Flow, thread and data connection have
//! the same number at both ends. With both directions at once the flows to the client come first; under load, the probe's.

use std::io;
use std::net::{Shutdown, SocketAddr, TcpStream, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use model::experiment::NetParams;
use model::io::{Direction, NetMode, Protocol};
use socket2::SockRef;
use sys::clock::monotonic_raw_seconds;

use crate::net::listener::{Incoming, Listener, datagrams_at};
use crate::net::preface::{PREFACE_BYTES, Preface, Purpose, Token};

/// Timeout until all connections are there.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);
const ASK_AGAIN: Duration = Duration::from_millis(50);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    Up,
    Down,
    Back,
}

pub(super) fn ways(params: &NetParams) -> Vec<Way> {
    let threads = params.threads as usize;
    // The probe comes first, then the streams of the load.
    if params.mode == NetMode::Load {
        let streams = ways(&NetParams { mode: NetMode::Stream, ..params.clone() });
        return [vec![Way::Back], streams].concat();
    }
    match (params.mode, params.direction) {
        (NetMode::Pingpong | NetMode::Connect | NetMode::Transfer, _) => vec![Way::Back; threads],
        (_, None | Some(Direction::Up)) => vec![Way::Up; threads],
        (_, Some(Direction::Down)) => vec![Way::Down; threads],
        (_, Some(Direction::Both)) => [vec![Way::Down; threads], vec![Way::Up; threads]].concat(),
    }
}

pub(super) fn protocols(params: &NetParams) -> Vec<Protocol> {
    let of = |way: &Way| match (params.mode, way) {
        (NetMode::Load, Way::Up | Way::Down) => Protocol::Tcp,
        _ => params.protocol,
    };
    ways(params).iter().map(of).collect()
}

pub(super) enum DataEnd {
    Tcp(TcpStream),
    /// A socket that receives datagrams from its peer alone.
    Udp(UdpSocket),
}

impl DataEnd {
    pub(super) fn try_clone(&self) -> io::Result<Self> {
        match self {
            Self::Tcp(stream) => stream.try_clone().map(Self::Tcp),
            Self::Udp(socket) => socket.try_clone().map(Self::Udp),
        }
    }

    pub(super) fn is_datagrams(&self) -> bool {
        matches!(self, Self::Udp(_))
    }

    /// Makes each message leave at once, and waits end after `silence`, or after `lost_after` where datagrams are lost.
    pub(super) fn carry_messages(&self, silence: Duration, lost_after: Duration) -> io::Result<()> {
        match self {
            Self::Udp(socket) => socket.set_read_timeout(Some(lost_after)),
            Self::Tcp(stream) => {
                // Otherwise the kernel holds a message back while an earlier one is unacknowledged (Nagle).
                stream.set_nodelay(true)?;
                stream.set_read_timeout(Some(silence))?;
                stream.set_write_timeout(Some(silence))
            }
        }
    }

    /// Ends every wait on it: reads end, writes fail.
    pub(super) fn shut(&self) {
        let _ = SockRef::from(self).shutdown(Shutdown::Both);
    }
}

impl AsFd for DataEnd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Tcp(stream) => stream.as_fd(),
            Self::Udp(socket) => socket.as_fd(),
        }
    }
}

pub(super) fn open(to: SocketAddr, protocols: &[Protocol], token: Token) -> io::Result<Vec<DataEnd>> {
    let one = |(number, protocol): (u32, &Protocol)| {
        let preface = Preface { purpose: Purpose::Data, number, token };
        match protocol {
            Protocol::Tcp => connected(to, &preface).map(DataEnd::Tcp),
            Protocol::Udp => joined(to, &preface).map(DataEnd::Udp),
        }
    };
    (0..).zip(protocols).map(one).collect()
}

/// A connection on which the preface was sent.
pub(super) fn connected(to: SocketAddr, preface: &Preface) -> io::Result<TcpStream> {
    use std::io::Write;
    let mut stream = TcpStream::connect_timeout(&to, PATIENCE)?;
    stream.write_all(&preface.bytes())?;
    Ok(stream)
}

/// A socket that the server knows: it sent the preface and got it back from the socket that is its peer from now on.
fn joined(to: SocketAddr, preface: &Preface) -> io::Result<UdpSocket> {
    let any: SocketAddr = if to.is_ipv4() { ([0, 0, 0, 0], 0).into() } else { ([0_u16; 8], 0).into() };
    let socket = UdpSocket::bind(any)?;
    socket.connect(to)?;
    socket.set_read_timeout(Some(ASK_AGAIN))?;
    let bytes = preface.bytes();
    let until = monotonic_raw_seconds() + PATIENCE.as_secs_f64();
    while monotonic_raw_seconds() < until {
        socket.send(&bytes)?;
        let mut back = [0; PREFACE_BYTES + 1];
        match socket.recv(&mut back) {
            Ok(count) if back[..count] == bytes => return emptied(socket),
            Ok(_) => {}
            Err(error) if is_no_answer(&error) => {}
            Err(error) => return Err(error),
        }
    }
    let text = "no datagram came back. Look for a firewall that drops UDP on this port";
    Err(io::Error::new(io::ErrorKind::TimedOut, text))
}

/// Whether a wait on a socket has ended without anything.
pub(super) fn is_late(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}

fn is_no_answer(error: &io::Error) -> bool {
    is_late(error) || error.kind() == io::ErrorKind::Interrupted
}

fn emptied(socket: UdpSocket) -> io::Result<UdpSocket> {
    socket.set_nonblocking(true)?;
    while socket.recv(&mut [0]).is_ok() {}
    socket.set_nonblocking(false)?;
    socket.set_read_timeout(None)?;
    Ok(socket)
}

/// The server: waits for the flows of a process run, whose control connection leads from `peer` to `own`.
pub(super) fn gather(
    listener: &Listener,
    arrivals: &Incoming<'_>,
    protocols: &[Protocol],
    (own, peer, token): (SocketAddr, SocketAddr, Token),
    patience: Duration,
) -> io::Result<Vec<DataEnd>> {
    let mut ends: Vec<Place> = protocols.iter().map(|protocol| Err(*protocol)).collect();
    let until = monotonic_raw_seconds() + patience.as_secs_f64();
    while ends.iter().any(Result::is_err) {
        let left = Duration::try_from_secs_f64(until - monotonic_raw_seconds()).unwrap_or_default();
        if left.is_zero() {
            let (come, all) = (ends.iter().flatten().count(), protocols.len());
            let text = format!("{come} of {all} data connections were opened within {:.0} s", patience.as_secs_f64());
            return Err(io::Error::new(io::ErrorKind::TimedOut, text));
        }
        if ends.iter().any(|end| matches!(end, Err(Protocol::Udp))) {
            // TCP connections are queued meanwhile.
            admit(listener, (own, peer, token), &mut ends, left.min(ASK_AGAIN))?;
        } else if let Ok((preface, stream)) = arrivals.come.recv_timeout(left)
            && preface.purpose == Purpose::Data
            && let Some(place) = place_of(&mut ends, &preface, Protocol::Tcp)
        {
            *place = Ok(DataEnd::Tcp(stream));
        }
    }
    Ok(ends.into_iter().flatten().collect())
}

/// A flow, or the protocol of one that has yet to come.
type Place = Result<DataEnd, Protocol>;

fn place_of<'a>(ends: &'a mut [Place], preface: &Preface, protocol: Protocol) -> Option<&'a mut Place> {
    ends.get_mut(preface.number as usize).filter(|end| matches!(end, Err(wanted) if *wanted == protocol))
}

/// Takes one datagram that belongs to no flow, and makes a flow of it if it is from the address of the control connection
/// and has the process run's token. The answer is as short as the question, so that it cannot amplify a forged flood.
fn admit(
    listener: &Listener,
    (own, peer, token): (SocketAddr, SocketAddr, Token),
    ends: &mut [Place],
    within: Duration,
) -> io::Result<()> {
    listener.datagrams.set_read_timeout(Some(within))?;
    // One byte more than a preface: a longer datagram is none.
    let mut bytes = [0; PREFACE_BYTES + 1];
    let (count, from) = match listener.datagrams.recv_from(&mut bytes) {
        Ok(came) => came,
        // The answer to a client that is gone comes back as an error of this socket.
        Err(error) if is_no_answer(&error) || error.kind() == io::ErrorKind::ConnectionRefused => return Ok(()),
        Err(error) => return Err(error),
    };
    let Ok(bytes) = <&[u8; PREFACE_BYTES]>::try_from(&bytes[..count]) else { return Ok(()) };
    let ours = |preface: &Preface| preface.purpose == Purpose::Data && preface.token == token;
    let Some(preface) = Preface::read(bytes).filter(ours).filter(|_| from.ip() == peer.ip()) else { return Ok(()) };
    if let Some(place) = place_of(ends, &preface, Protocol::Udp) {
        // Not the listener's address, which may be any: the answer comes from the address that was asked.
        let socket = datagrams_at(own)?;
        socket.connect(from)?;
        // Anything may have arrived between the two calls.
        let socket = emptied(socket)?;
        socket.send(bytes)?;
        *place = Ok(DataEnd::Udp(socket));
    }
    Ok(())
}
