//! Setting up connections: each operation connects to the server, sends one message, receives it back and closes with a
//! reset (`SO_LINGER` of 0). Otherwise each connection would keep its port for a minute (`TIME_WAIT`, `TCP_TIMEWAIT_LEN` in
//! `net/tcp.h`), and the 28 232 ports that Linux has for it (`ip_local_port_range`) would be used up within seconds.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use socket2::{Domain, Protocol, Socket, Type};

use super::link::content::Content;
use super::link::windows::Windows;
use super::part::{Moment, Part};
use super::pingpong::{Message, goes_on};
use super::session::{Failure, Session, gone};
use crate::engines::Tally;
use crate::net::frames::SILENCE;
use crate::net::listener::Listener;
use crate::net::preface::{PREFACE_BYTES, Preface, Purpose, Token};

/// The server sends this on a thread's data connection once it accepts connections.
const WELCOME: u8 = b'+';

pub(super) struct Connector {
    to: SocketAddr,
    first: Box<[u8]>,
    message: Message,
    silence: Duration,
}

impl Connector {
    /// Connects to the peer of this data connection, once the server is ready for it.
    pub(super) fn new(mut data: TcpStream, content: &Content, session: &Session) -> io::Result<Self> {
        data.set_read_timeout(Some(session.silence))?;
        let mut welcome = [0];
        data.read_exact(&mut welcome)?;
        if welcome != [WELCOME] {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "the server does not accept connections"));
        }
        let preface = Preface { purpose: Purpose::Operation, number: 0, token: session.token };
        let message = Message::new(content);
        let first = [&preface.bytes()[..], &message.out].concat().into();
        Ok(Self { to: session.address, first, message, silence: session.silence })
    }

    fn operate(&mut self) -> Result<(), Failure> {
        self.first[PREFACE_BYTES..].copy_from_slice(&self.message.out);
        let mut stream = connected(self.to, self.silence).map_err(|error| refusal(self.to, &error, self.silence))?;
        // In one segment, so that the server has the message when it has the preface.
        stream.write_all(&self.first)?;
        Ok(stream.read_exact(&mut self.message.back)?)
    }
}

/// A connection that closes with a reset, and whose waits end after `silence`.
fn connected(to: SocketAddr, silence: Duration) -> io::Result<TcpStream> {
    let socket = Socket::new(Domain::for_address(to), Type::STREAM, Some(Protocol::TCP))?;
    socket.set_linger(Some(Duration::ZERO))?;
    socket.set_read_timeout(Some(silence))?;
    // Also the timeout of connecting (`socket(7)`).
    socket.set_write_timeout(Some(silence))?;
    socket.connect(&to.into())?;
    Ok(socket.into())
}

fn refusal(to: SocketAddr, error: &io::Error, silence: Duration) -> String {
    /// `EINPROGRESS` (`errno.h`): not connected within the write timeout.
    const IN_PROGRESS: i32 = 115;
    match error.kind() {
        io::ErrorKind::AddrNotAvailable => format!(
            "no local port is free for another connection to {to}: {error}; wait a minute until those of closed \
             connections are free again, or widen 'net.ipv4.ip_local_port_range'"
        ),
        io::ErrorKind::ConnectionRefused => {
            format!("{to} refuses connections: {error}. Check whether the server still runs")
        }
        _ if error.raw_os_error() == Some(IN_PROGRESS) => format!(
            "a connection to {to} was not set up within {} s. Look for a firewall that limits new connections",
            silence.as_secs_f64()
        ),
        _ => gone(&format!("no connection to {to}: {error}")),
    }
}

impl Part for Connector {
    fn run(&mut self, moment: &Moment<'_>, tally: &mut Tally) -> Result<(), Failure> {
        let mut ended = 0;
        while goes_on(moment, ended, tally) {
            self.message.next(true);
            let began = moment.timer.now();
            self.operate()?;
            ended = moment.timer.now();
            tally.note(began, ended, self.message.bytes());
            self.message.check(true)?;
        }
        Ok(())
    }
}

/// The server: serves such connections, also those of other process runs, until the one with this token ends.
pub(super) fn serve(
    mut data: &TcpStream,
    listener: &Listener,
    token: Token,
    message_bytes: usize,
    windows: &Windows,
) -> io::Result<()> {
    let helper = listener.help(token, message_bytes)?;
    data.write_all(&[WELCOME])?;
    let mut message = Vec::with_capacity(message_bytes);
    while !windows.are_over() {
        if let Some((stream, bytes)) = helper.accept()? {
            message.resize(bytes, 0);
            let _ = send_back(&stream, &mut message);
        }
    }
    Ok(())
}

/// Serves a connection whose preface came too late for the threads that accept; of an unknown process run, closes it.
pub(crate) fn serve_late(listener: &Listener, preface: &Preface, stream: &TcpStream) {
    if let Some(bytes) = listener.message_bytes(preface)
        && stream.set_read_timeout(Some(SILENCE)).is_ok()
    {
        let _ = send_back(stream, &mut vec![0; bytes]);
    }
}

/// Receives a message and sends it back. After the timeout of the connection's reads it waits for [`SILENCE`] more.
fn send_back(mut stream: &TcpStream, message: &mut [u8]) -> io::Result<()> {
    let (mut filled, mut waited) = (0, false);
    while filled < message.len() {
        match stream.read(&mut message[filled..]) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock && !waited => {
                waited = true;
                stream.set_read_timeout(Some(SILENCE))?;
            }
            Err(error) => return Err(error),
        }
    }
    stream.write_all(message)
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::thread;

    use super::*;

    /// The error of a connector that gets these bytes back for its message of eight, and then nothing if `silent`.
    fn failure_of(answer: &'static [u8], silent: bool) -> Failure {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let to = listener.local_addr().unwrap();
        let message = Message::new(&Content::new(1, 0, 8));
        let first = vec![0; PREFACE_BYTES + 8].into();
        let silence = if silent { Duration::from_millis(100) } else { SILENCE };
        let mut connector = Connector { to, first, message, silence };
        thread::scope(|scope| {
            scope.spawn(move || {
                let mut stream = listener.accept().unwrap().0;
                stream.read_exact(&mut [0; PREFACE_BYTES + 8]).unwrap();
                stream.write_all(answer).unwrap();
                if silent {
                    let _ = stream.read(&mut [0]);
                }
            });
            connector.message.next(true);
            connector.operate().and_then(|()| Ok(connector.message.check(true)?)).unwrap_err()
        })
    }

    #[test]
    fn an_end_that_closes_answers_wrongly_or_never_is_a_failure() {
        let kind = |answer, silent| match failure_of(answer, silent) {
            Failure::Connection(error) => error.kind(),
            Failure::Reason(reason) => panic!("{reason}"),
        };
        assert_eq!([kind(b"", false), kind(b"half", false)], [io::ErrorKind::UnexpectedEof; 2]);
        assert_eq!(kind(b"half", true), io::ErrorKind::WouldBlock);
        let wrong = failure_of(b"wrong!!!", false);
        assert!(matches!(wrong, Failure::Reason(reason) if reason.contains("the echo differs from what was sent")));
    }

    #[test]
    fn every_refusal_says_what_to_do() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let to = listener.local_addr().unwrap();
        drop(listener);
        let of = |number| refusal(to, &io::Error::from_raw_os_error(number), SILENCE);
        assert!(refusal(to, &connected(to, SILENCE).unwrap_err(), SILENCE).contains("refuses connections"));
        // EADDRNOTAVAIL, EINPROGRESS and EHOSTUNREACH.
        assert!(of(99).contains("no local port is free") && of(99).contains("ip_local_port_range"));
        assert!(of(115).contains("was not set up within 5 s"));
        assert!(of(113).contains("the server is gone"));
    }

    fn is_free(port: SocketAddr) -> bool {
        let socket = Socket::new(Domain::for_address(port), Type::STREAM, Some(Protocol::TCP)).unwrap();
        socket.bind(&port.into()).is_ok()
    }

    #[test]
    fn a_closed_connection_keeps_no_port() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let closed = || {
            let near = connected(listener.local_addr().unwrap(), SILENCE).unwrap();
            let port = near.local_addr().unwrap();
            let mut far = listener.accept().unwrap().0;
            drop(near);
            assert_eq!(far.read(&mut [0]).unwrap_err().kind(), io::ErrorKind::ConnectionReset);
            port
        };
        // Another process may take a port at once.
        assert!((0..20).any(|_| is_free(closed())));
        let ordinary = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let port = ordinary.local_addr().unwrap();
        let mut far = listener.accept().unwrap().0;
        drop(ordinary);
        assert_eq!(far.read(&mut [0]).unwrap(), 0);
        drop(far);
        assert!(!is_free(port), "one that is closed as usual keeps it for a minute");
    }

    #[test]
    fn a_connection_that_takes_its_time_is_served_all_the_same() {
        let listener = Listener::open("127.0.0.1:0".parse().unwrap()).unwrap();
        let (token, windows) = (Token::new(), Windows::new(1, sys::clock::Timer::system()));
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut near = TcpStream::connect(tcp.local_addr().unwrap()).unwrap();
        let data = tcp.accept().unwrap().0;
        thread::scope(|scope| {
            scope.spawn(|| listener.receive(&|preface, stream, _| serve_late(&listener, &preface, &stream)).unwrap());
            scope.spawn(|| serve(&data, &listener, token, 8, &windows).unwrap());
            near.read_exact(&mut [0]).unwrap();
            let operate = |token: Token, pieces: [usize; 2]| -> io::Result<[u8; 8]> {
                let preface = Preface { purpose: Purpose::Operation, number: 0, token };
                let all = [&preface.bytes()[..], b"message!"].concat();
                let (mut stream, mut back) = (connected(listener.address, SILENCE)?, [0; 8]);
                let mut rest = &all[..];
                for piece in pieces {
                    stream.write_all(&rest[..piece])?;
                    rest = &rest[piece..];
                    // Longer than any wait at the listener.
                    thread::sleep(Duration::from_millis(100));
                }
                stream.write_all(rest)?;
                stream.read_exact(&mut back).map(|()| back)
            };
            // Cut before the preface, in its middle, and in the middle of the message.
            for pieces in [[0, 0], [0, 20], [PREFACE_BYTES, 3]] {
                assert_eq!(&operate(token, pieces).unwrap(), b"message!", "{pieces:?}");
            }
            assert!(operate(Token::new(), [0, 0]).is_err(), "one of another process run");
            windows.end_all();
            listener.close();
        });
    }
}
