//! The server of one process run: it gathers the data flows, lets a thread work at each, and answers the client's questions.

use std::io;
use std::net::TcpStream;
use std::thread;
use std::time::Duration;

use model::experiment::NetParams;
use model::io::{NetMode, Protocol, Segmentation, Wait};
use socket2::SockRef;
use sys::clock::{Timer, monotonic_raw_seconds};
use sys::team;

use super::datagrams::{self, Form};
use super::flows::{self, DataEnd, PATIENCE, Way, protocols, ways};
use super::link::bounds;
use super::link::content::Content;
use super::link::sizes::flow_block_bytes;
use super::link::windows::Windows;
use super::session::forbidden;
use super::{connect, load, pingpong, stream, transfer};
use crate::net::frames::{self, NoFrame, watch_over};
use crate::net::handshake::{Limits, congestion_control};
use crate::net::listener::{DataConnections, Listener};
use crate::net::messages::{Counts, Opened, Opening, RunReply, RunRequest};
use crate::net::preface::Token;

/// Bytes that the client has sent are waited for as long as some arrive within this time.
const ARRIVING: Duration = Duration::from_secs(2);

pub(crate) struct Home<'a> {
    pub(crate) listener: &'a Listener,
    pub(crate) connections: &'a DataConnections,
    /// The CPUs of this many threads.
    pub(crate) cpus: &'a (dyn Fn(usize) -> Vec<u32> + Sync),
    pub(crate) timer: Timer,
    pub(crate) limits: &'a Limits,
}

pub(crate) fn serve(control: &TcpStream, home: &Home<'_>) -> Result<(), String> {
    conversation(control, home).inspect_err(|reason| {
        let _ = frames::write(control, &RunReply::Refused { reason: reason.clone() });
    })
}

fn conversation(control: &TcpStream, home: &Home<'_>) -> Result<(), String> {
    let lost = |error: io::Error| format!("the control connection failed: {error}");
    watch_over(control).map_err(lost)?;
    let opening = match frames::read(control, PATIENCE) {
        Ok(RunRequest::Open(opening)) => opening,
        Ok(_) => return Err("the first message does not say what to measure".to_owned()),
        Err(error) => return Err(format!("the client did not say what to measure: {error}")),
    };
    let Opening { params, most_seconds } = *opening;
    areas::net::expand::check(&params)?;
    let ways = ways(&params);
    bounds::check(&params, ways.len(), home.limits)?;
    let token = Token::new();
    let arrivals = home.connections.expect(token);
    let cpus = (home.cpus)(ways.len());
    let opened = Opened {
        token: token.as_str().to_owned(),
        cpus: cpus.clone(),
        congestion_control: congestion_control(control),
    };
    frames::write(control, &RunReply::Opened(Box::new(opened))).map_err(lost)?;
    let (own, peer) = (control.local_addr().map_err(lost)?, control.peer_addr().map_err(lost)?);
    let ends = flows::gather(home.listener, &arrivals, &protocols(&params), (own, peer, token), PATIENCE)
        .map_err(|error| format!("the client did not open all data connections: {error}"))?;
    drop(arrivals);
    let run =
        ServedRun { listener: home.listener, params, ways, ends, token, windows: Windows::new(cpus.len(), home.timer) };
    run.run(control, &cpus, (most_seconds.min(home.limits.most_seconds), home.limits))
}

struct Ending<'a>(&'a ServedRun<'a>);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.end();
    }
}

struct ServedRun<'a> {
    listener: &'a Listener,
    params: NetParams,
    ways: Vec<Way>,
    ends: Vec<DataEnd>,
    token: Token,
    windows: Windows,
}

impl ServedRun<'_> {
    fn run(&self, control: &TcpStream, cpus: &[u32], limits: (f64, &Limits)) -> Result<(), String> {
        thread::scope(|scope| {
            let answering = thread::Builder::new()
                .name("answers".to_owned())
                .spawn_scoped(scope, || {
                    // Whatever happens here, the working threads stop.
                    let _end = Ending(self);
                    self.answer(control, limits)
                })
                .map_err(|error| format!("cannot start a thread: {error}"))?;
            let worked = team::run(cpus, |thread, gate| {
                let failed = |error: io::Error| {
                    let why = forbidden(&error).unwrap_or_else(|| error.to_string());
                    format!("thread {thread} of the server failed: {why}")
                };
                self.enter(thread).map_err(failed)?;
                // A thread that could not be pinned breaks the gate, and the others stop.
                gate.meet(self.windows.timer(), 0.0).map_err(|_| "another thread failed".to_owned())?;
                if thread == 0 {
                    // Not before, so that the CPU time of each thread is known for the first window too.
                    frames::write(control, &RunReply::Complete)
                        .map_err(|error| format!("the control connection failed: {error}"))
                        .inspect_err(|_| self.end())?;
                }
                self.work(thread).map_err(failed).inspect_err(|_| self.end())
            });
            if let Err(reason) = &worked {
                // Before the control connection goes: a client that asks for counts gets the reason.
                let _ = frames::write(control, &RunReply::Refused { reason: reason.clone() });
            }
            // Wakes the answering thread, which waits for the next question.
            let _ = SockRef::from(control).shutdown(std::net::Shutdown::Both);
            let answered = answering.join().map_err(|_| "the answering thread panicked".to_owned())?;
            worked.map(drop).and(answered)
        })
    }

    fn enter(&self, thread: usize) -> io::Result<()> {
        self.windows.enter(thread);
        match (self.ends.get(thread), self.params.mode, self.ways.get(thread)) {
            (Some(DataEnd::Tcp(connection)), NetMode::Stream | NetMode::Load, Some(Way::Down))
            | (Some(DataEnd::Tcp(connection)), NetMode::Transfer, _) => self.windows.watch(thread, connection),
            _ => Ok(()),
        }
    }

    fn end(&self) {
        self.windows.end_all();
        self.ends.iter().for_each(DataEnd::shut);
    }

    fn answer(&self, control: &TcpStream, (most_seconds, limits): (f64, &Limits)) -> Result<(), String> {
        let until = monotonic_raw_seconds() + most_seconds;
        let lost = |error: io::Error| format!("the control connection failed: {error}");
        loop {
            let left = Duration::try_from_secs_f64(until - monotonic_raw_seconds()).unwrap_or_default();
            let said = frames::read(control, left);
            self.windows.hear();
            match said {
                Ok(RunRequest::Window(announced)) => {
                    let announced = bounds::window(announced, &self.params, limits)?;
                    self.windows.open(&announced);
                    if announced.seconds.is_none() {
                        let begun = RunReply::Begun { number: announced.number };
                        frames::write(control, &begun).map_err(lost)?;
                    }
                }
                Ok(RunRequest::Count(asked)) => {
                    self.await_bytes(control, &asked.sent_bytes).map_err(lost)?;
                    if self.windows.are_over() {
                        return Ok(());
                    }
                    let counts = Counts { number: self.windows.number(), threads: self.windows.counts() };
                    frames::write(control, &RunReply::Counted(counts)).map_err(lost)?;
                }
                Ok(RunRequest::Alive) => {}
                Ok(RunRequest::Open(_)) => return Err("the client opened twice".to_owned()),
                Err(NoFrame::Ended) => return Ok(()),
                Err(_) if self.windows.are_over() => return Ok(()),
                Err(NoFrame::Late) => return Err(format!("the process run has used its {most_seconds:.0} s")),
                Err(error) => return Err(format!("the control connection of the client: {error}")),
            }
        }
    }

    /// Waits until this many bytes have arrived on each connection, while any arrive; the client hears that they do.
    fn await_bytes(&self, control: &TcpStream, totals: &[u64]) -> io::Result<()> {
        // Datagrams are counted, some of which never arrive.
        let transfer = (self.params.protocol, self.params.mode) == (Protocol::Udp, NetMode::Transfer);
        if transfer || matches!(self.params.mode, NetMode::Blast | NetMode::NoDrop) {
            datagrams::settle(&self.ends, &self.windows);
            return Ok(());
        }
        let mut come = self.windows.total();
        while !self.windows.wait_for(totals, ARRIVING) {
            let now = self.windows.total();
            if now == come {
                break;
            }
            come = now;
            frames::write(control, &RunReply::Arriving)?;
        }
        Ok(())
    }

    fn work(&self, thread: usize) -> io::Result<()> {
        self.serve(thread).or_else(|error| {
            // A spinning thread ends so when the process run has ended.
            let is_over = error.kind() == io::ErrorKind::TimedOut && self.windows.are_over();
            if is_over || is_end(&error) { Ok(()) } else { Err(error) }
        })
    }

    fn serve(&self, thread: usize) -> io::Result<()> {
        let (Some(end), Some(way)) = (self.ends.get(thread), self.ways.get(thread)) else { return Ok(()) };
        let content = Content::new(self.token.seed(), thread, flow_block_bytes(&self.params, *way));
        let wait = self.params.wait.unwrap_or(Wait::Blocking);
        match (end, self.params.mode, way) {
            (DataEnd::Tcp(connection), NetMode::Stream | NetMode::Load, Way::Up) => {
                stream::receive_all(connection, content, &self.windows, thread)
            }
            (DataEnd::Tcp(connection), NetMode::Stream, _) | (DataEnd::Tcp(connection), NetMode::Load, Way::Down) => {
                if self.params.mode == NetMode::Load {
                    load::await_the_first(&self.windows);
                }
                let zero_copy = self.params.zero_copy == Some(true);
                stream::send_all(connection, &content, zero_copy, &self.windows, thread)
            }
            (DataEnd::Tcp(connection), NetMode::Transfer, _) => transfer::give_back(connection, content),
            (DataEnd::Tcp(connection), NetMode::Connect, _) => {
                connect::serve(connection, self.listener, self.token, content.block_bytes(), &self.windows)
            }
            (DataEnd::Udp(socket), NetMode::Transfer | NetMode::Blast | NetMode::NoDrop, way) => {
                let offload = self.params.segmentation == Some(Segmentation::Gso);
                let senders = self.ways.iter().filter(|way| **way != Way::Up).count();
                let server = datagrams::Server { socket, offload, windows: &self.windows, thread, senders };
                match way {
                    Way::Up => server.receive_all(Form::new(&content)),
                    Way::Down => server.send_all(Form::new(&content)),
                    Way::Back => server.give_back(&content),
                }
            }
            (end, ..) => pingpong::serve(end, content.block_bytes(), wait, &self.windows),
        }
    }
}

fn is_end(error: &io::Error) -> bool {
    use io::ErrorKind::{
        BrokenPipe, ConnectionAborted, ConnectionRefused, ConnectionReset, NotConnected, UnexpectedEof, WriteZero,
    };
    matches!(
        error.kind(),
        BrokenPipe | ConnectionAborted | ConnectionRefused | ConnectionReset | NotConnected | UnexpectedEof | WriteZero
    )
}
