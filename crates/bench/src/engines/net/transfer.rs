//! A transfer over TCP: a fixed amount there, then the same amount back, and the time that both took together.
//!
//! The near end says in front of each exchange how many blocks it is; the far end sends as many back once all have come.
//! So one direction is busy at a time, and the turn in the middle, with its wait for the last byte, is part of the time.
//! It is the near end's time, from before its first byte until its last one is back. A sample is one exchange; warm-up,
//! where windows have an end, is exchanges of up to a MiB.
//!
//! Receives are checked as those of a stream are, and after each window an exchange of up to a MiB is compared byte by
//! byte at both ends.

use std::io::{self, Read, Write};
use std::net::TcpStream;

use model::document::NetConditions;
use socket2::SockRef;
use sys::clock::thread_cpu_seconds;
use sys::net::tcp::tcp_carried;

use super::link::blocks::{Inbox, Outbox};
use super::link::content::Content;
use super::link::headers::tcp_link_bytes;
use super::link::sent::{self, InSamples, Look};
use super::near::{SILENCE, gone, trouble};
use super::part::{Moment, Part};
use super::stream::is_end;
use crate::engines::{FlowMetric, FlowProfile, Tally, Window};

const METRICS: &[FlowMetric] = &[FlowMetric::Bytes, FlowMetric::Latency, FlowMetric::CpuCost, FlowMetric::Retransmits];

/// Before a window of the warm-up: an exchange or two.
const LEAD_MICROSECONDS: u32 = 5_000;

/// Bytes each way of the exchanges that warm up, and of the one that is compared in full.
const SMALL_BYTES: u64 = 1 << 20;

/// Blocks of them at most: tiny ones take a system call each.
const MOST_SMALL_BLOCKS: u64 = 4096;

/// What stands in front of an exchange, as two numbers of eight bytes, little-endian: blocks each way, and whether they
/// are compared in full.
const HEADER_BYTES: usize = 16;

/// How much goes there and back, and how it is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Exchange {
    blocks: u64,
    in_full: bool,
}

impl Exchange {
    /// A small one.
    fn small(block_bytes: u64, in_full: bool) -> Self {
        Self { blocks: (SMALL_BYTES / block_bytes).clamp(1, MOST_SMALL_BLOCKS), in_full }
    }

    fn bytes(self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[..8].copy_from_slice(&self.blocks.to_le_bytes());
        bytes[8..].copy_from_slice(&u64::from(self.in_full).to_le_bytes());
        bytes
    }

    /// `None` if this is none.
    fn read(bytes: &[u8; HEADER_BYTES]) -> Option<Self> {
        let (blocks, in_full) = bytes.split_at(8);
        let number = |bytes: &[u8]| bytes.try_into().map(u64::from_le_bytes).ok();
        let in_full = match number(in_full)? {
            0 => false,
            1 => true,
            _ => return None,
        };
        Some(Self { blocks: number(blocks)?, in_full })
    }
}

/// Sends so many blocks, and what is left of them at once: the last would wait until those before it are acknowledged
/// (Nagle), for which the other end takes its time where it has nothing to send.
fn send(outbox: &mut Outbox, stream: &TcpStream, blocks: u64) -> io::Result<()> {
    for _ in 0..blocks {
        outbox.send(stream)?;
    }
    // Setting the option sends what is held back.
    stream.set_nodelay(true)?;
    stream.set_nodelay(false)
}

/// The near end.
pub(super) struct Exchanger {
    outbox: Outbox,
    inbox: Inbox,
    stream: TcpStream,
    sent: InSamples,
}

impl Exchanger {
    /// One for this connection.
    ///
    /// # Errors
    /// What the kernel said.
    pub(super) fn new(stream: TcpStream, content: Content) -> io::Result<Self> {
        stream.set_read_timeout(Some(SILENCE))?;
        stream.set_write_timeout(Some(SILENCE))?;
        let outbox = Outbox::new(&content, None)?;
        Ok(Self { outbox, inbox: Inbox::new(content), stream, sent: InSamples::default() })
    }

    /// One exchange, there and back.
    fn exchange(&mut self, exchange: Exchange) -> Result<(), String> {
        (&self.stream)
            .write_all(&exchange.bytes())
            .and_then(|()| send(&mut self.outbox, &self.stream, exchange.blocks))
            .map_err(|error| trouble(&error))?;
        let mut left = exchange.blocks.saturating_mul(self.outbox.block_bytes());
        while left > 0 {
            let count = self.receive()?;
            let checked = if exchange.in_full { self.inbox.check_all(count) } else { self.inbox.check_ends(count) };
            checked.map_err(|wrong| wrong.sentence())?;
            left = left.checked_sub(count as u64).ok_or("more came back than was sent")?;
        }
        Ok(())
    }

    /// What comes back. Before its first byte all of ours has to be there, which may take a while on a slow path: as long
    /// as the other end acknowledges some it is waited for.
    fn receive(&mut self) -> Result<usize, String> {
        let acknowledged = |stream| tcp_carried(stream).map(|carried| carried.acknowledged_bytes);
        let mut before = None;
        loop {
            match self.inbox.receive(&self.stream) {
                Ok(0) => return Err(gone("it closed its connections")),
                Ok(count) => return Ok(count),
                Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                    let now = acknowledged(&self.stream);
                    if now.is_none() || now == before {
                        return Err(trouble(&error));
                    }
                    before = now;
                }
                Err(error) => return Err(trouble(&error)),
            }
        }
    }

    /// One exchange of so many bytes, both ways together, in whole blocks. Returns the CPU seconds that it took.
    fn once(&mut self, moment: &Moment<'_>, bytes: u64, tally: &mut Tally) -> Result<f64, String> {
        let blocks = (bytes / 2).div_ceil(self.outbox.block_bytes()).max(1);
        let (before, began) = (thread_cpu_seconds(), moment.timer.now());
        tally.begin(Window { begin: began, end: Window::NO_END });
        self.exchange(Exchange { blocks, in_full: false })?;
        let ended = moment.timer.now();
        self.note(blocks, (began, ended), tally);
        tally.over(ended);
        Ok(thread_cpu_seconds() - before)
    }

    /// Small exchanges until the window has passed. Returns the CPU seconds of its part inside.
    fn until(&mut self, moment: &Moment<'_>, tally: &mut Tally) -> Result<f64, String> {
        let Moment { timer, window, .. } = *moment;
        let small = Exchange::small(self.outbox.block_bytes(), false);
        let mut ended = timer.now();
        while ended < window.begin {
            self.exchange(small)?;
            ended = timer.now();
        }
        let before = thread_cpu_seconds();
        while ended < window.end {
            let began = ended;
            self.exchange(small)?;
            ended = timer.now();
            self.note(small.blocks, (began, ended), tally);
        }
        Ok(thread_cpu_seconds() - before)
    }

    fn note(&self, blocks: u64, (began, ended): (u64, u64), tally: &mut Tally) {
        let before = tally.bytes;
        tally.note(began, ended, 2 * blocks * self.outbox.block_bytes());
        tally.carried.up_bytes += (tally.bytes - before) / 2;
    }
}

impl Part for Exchanger {
    fn profile(&self) -> FlowProfile {
        FlowProfile { metrics: METRICS, lead_microseconds: LEAD_MICROSECONDS, drains: false }
    }

    fn warmed_up(&mut self) {
        self.sent = InSamples::default();
    }

    fn run(&mut self, moment: &Moment<'_>, tally: &mut Tally) -> Result<(), String> {
        moment.session.announce(moment.number, moment.window, None, moment.timer)?;
        let look = Look::at(&self.stream);
        let used = match moment.in_full() {
            Some(bytes) => self.once(moment, bytes, tally)?,
            None => self.until(moment, tally)?,
        };
        let here = look.until_now(&self.stream);
        let there = moment.session.counted(moment.number, moment.thread, 0)?;
        // Both ends send.
        let sent = here.zip(there.tcp).and_then(|(here, there)| sent::of_all(&[Some(here), Some(there)]));
        tally.carried.retransmits = sent.and_then(|sent| sent.retransmits);
        tally.carried.cpu_seconds = there.cpu_seconds.map(|there| used + there);
        moment.session.tell_sent(moment.thread, self.sent.add(sent));
        Ok(())
    }

    fn verify(&mut self, _: &Moment<'_>) -> Result<(), String> {
        self.exchange(Exchange::small(self.outbox.block_bytes(), true))
    }

    fn describe(&self, seen: &mut NetConditions) {
        seen.link_bytes = tcp_link_bytes(&self.stream);
        seen.receive_buffer_bytes = SockRef::from(&self.stream).recv_buffer_size().ok().map(|bytes| bytes as u64);
    }
}

/// The far end: takes as many blocks as it is told, then sends as many back, until the connection ends.
///
/// # Errors
/// What the kernel said, other than that the connection has ended; what came was not what was sent.
pub(super) fn give_back(stream: &TcpStream, content: Content) -> io::Result<()> {
    let mut outbox = Outbox::new(&content, None)?;
    let mut inbox = Inbox::new(content);
    loop {
        match take(stream, &mut inbox, outbox.block_bytes()).and_then(|blocks| send(&mut outbox, stream, blocks)) {
            Ok(()) => {}
            Err(error) if is_end(&error) => return Ok(()),
            Err(error) => return Err(error),
        }
    }
}

/// Takes one exchange's blocks; how many they were.
fn take(mut stream: &TcpStream, inbox: &mut Inbox, block_bytes: u64) -> io::Result<u64> {
    let odd = || io::Error::new(io::ErrorKind::InvalidData, "an exchange was announced that is none");
    let mut header = [0; HEADER_BYTES];
    stream.read_exact(&mut header)?;
    let exchange = Exchange::read(&header).ok_or_else(odd)?;
    let mut left = exchange.blocks.checked_mul(block_bytes).ok_or_else(odd)?;
    while left > 0 {
        let count = inbox.receive(stream)?;
        if count == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if exchange.in_full { inbox.check_all(count) } else { inbox.check_ends(count) }?;
        // More than was announced is not waited for, and not sent before it was asked for.
        left = left.checked_sub(count as u64).ok_or_else(odd)?;
    }
    Ok(exchange.blocks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_announced_reads_back_and_nothing_else_does() {
        for blocks in [0, 1, 782, u64::MAX] {
            for in_full in [false, true] {
                let exchange = Exchange { blocks, in_full };
                assert_eq!(Exchange::read(&exchange.bytes()), Some(exchange));
            }
        }
        assert_eq!(Exchange::read(&[0xff; HEADER_BYTES]), None);
        assert_eq!(Exchange::small(1 << 20, true), Exchange { blocks: 1, in_full: true });
        assert_eq!(Exchange::small(1, false).blocks, MOST_SMALL_BLOCKS);
    }
}
