//! A transfer over TCP: a fixed amount to the server, then the same amount back, and the time of both together at the client.
//! Before each exchange the client sends the number of blocks. A sample is one exchange; warm-up windows are small ones.
//! Receives are checked as those of a stream are, and after each window a small exchange is compared byte by byte.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use model::document::NetConditions;
use sys::clock::thread_cpu_seconds;
use sys::net::tcp::{tcp_carried, tcp_state};

use super::flows::is_late;
use super::link::blocks::{Inbox, Outbox, invalid};
use super::link::content::Content;
use super::link::sent::{self, InSamples};
use super::link::sizes::{receive_buffer_bytes, tcp_link_bytes};
use super::part::{Moment, Part};
use super::session::{Failure, Session};
use crate::engines::{Tally, Window};

/// Bytes each way of the exchanges that warm up, and of the one that is compared in full.
const SMALL_BYTES: u64 = 1 << 20;
/// At most this many blocks of them, because tiny blocks take a system call each.
const MOST_SMALL_BLOCKS: u64 = 4096;
/// In front of an exchange: blocks each way, and whether they are compared in full, as little-endian numbers.
const HEADER_BYTES: usize = 16;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Exchange {
    blocks: u64,
    in_full: bool,
}

impl Exchange {
    fn small(block_bytes: u64, in_full: bool) -> Self {
        Self { blocks: (SMALL_BYTES / block_bytes).clamp(1, MOST_SMALL_BLOCKS), in_full }
    }

    fn bytes(self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[..8].copy_from_slice(&self.blocks.to_le_bytes());
        bytes[8..].copy_from_slice(&u64::from(self.in_full).to_le_bytes());
        bytes
    }

    fn read(bytes: &[u8; HEADER_BYTES]) -> Option<Self> {
        let (words, _) = bytes.as_chunks();
        let number = |word: usize| u64::from_le_bytes(words[word]);
        (number(1) <= 1).then(|| Self { blocks: number(0), in_full: number(1) == 1 })
    }
}

fn send(outbox: &mut Outbox, stream: &TcpStream, blocks: u64) -> io::Result<()> {
    (0..blocks).try_for_each(|_| outbox.send(stream))?;
    // Setting the option sends what is held back.
    stream.set_nodelay(true)?;
    stream.set_nodelay(false)
}

/// Receives the blocks of an exchange. The wait for a slow path's first byte continues while the peer acknowledges bytes.
fn receive(inbox: &mut Inbox, stream: &TcpStream, exchange: Exchange, block_bytes: u64) -> io::Result<()> {
    let odd = || invalid("an invalid exchange was announced");
    let mut left = exchange.blocks.checked_mul(block_bytes).ok_or_else(odd)?;
    let mut before = None;
    while left > 0 {
        match inbox.take(stream, exchange.in_full) {
            Ok(count) => {
                left = left.checked_sub(count as u64).ok_or_else(|| invalid("more came than was announced"))?;
                before = None;
            }
            Err(error) if is_late(&error) => {
                let now = tcp_carried(stream).map(|carried| carried.acknowledged_bytes);
                if now.is_none() || now == before {
                    return Err(error);
                }
                before = now;
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

pub(super) struct Exchanger {
    outbox: Outbox,
    inbox: Inbox,
    stream: TcpStream,
    sent: InSamples,
}

impl Exchanger {
    pub(super) fn new(stream: TcpStream, content: Content, silence: Duration) -> io::Result<Self> {
        stream.set_read_timeout(Some(silence))?;
        stream.set_write_timeout(Some(silence))?;
        let outbox = Outbox::new(&content, None)?;
        Ok(Self { outbox, inbox: Inbox::new(content), stream, sent: InSamples::default() })
    }

    fn exchange(&mut self, exchange: Exchange) -> io::Result<()> {
        (&self.stream).write_all(&exchange.bytes())?;
        send(&mut self.outbox, &self.stream, exchange.blocks)?;
        receive(&mut self.inbox, &self.stream, exchange, self.outbox.block_bytes)
    }

    /// One exchange of this many bytes, both ways together, in whole blocks. Returns the CPU seconds.
    fn once(&mut self, moment: &Moment<'_>, bytes: u64, tally: &mut Tally) -> io::Result<f64> {
        let blocks = (bytes / 2).div_ceil(self.outbox.block_bytes).max(1);
        let (before, began) = (thread_cpu_seconds(), moment.timer.now());
        tally.begin(Window { begin: began, end: Window::NO_END });
        self.exchange(Exchange { blocks, in_full: false })?;
        let ended = moment.timer.now();
        self.note(blocks, (began, ended), tally);
        tally.over(ended);
        Ok(thread_cpu_seconds() - before)
    }

    fn until(&mut self, moment: &Moment<'_>, tally: &mut Tally) -> io::Result<f64> {
        let Moment { timer, window, .. } = *moment;
        let small = Exchange::small(self.outbox.block_bytes, false);
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
        tally.note(began, ended, 2 * blocks * self.outbox.block_bytes);
        tally.carried.up_bytes += (tally.bytes - before) / 2;
    }
}

impl Part for Exchanger {
    fn warmed_up(&mut self) {
        self.sent = InSamples::default();
    }

    fn run(&mut self, moment: &Moment<'_>, tally: &mut Tally) -> Result<(), Failure> {
        moment.announce(None)?;
        let look = tcp_state(&self.stream);
        let used = match moment.in_full() {
            Some(bytes) => self.once(moment, bytes, tally)?,
            None => self.until(moment, tally)?,
        };
        let here = sent::since(look.as_ref(), &self.stream);
        let there = moment.counted(0)?;
        let sent = here.zip(there.tcp).and_then(|(here, there)| sent::of_all(&[Some(here), Some(there)]));
        tally.carried.retransmits = sent.and_then(|sent| sent.tcp.retransmits);
        tally.carried.cpu_seconds = there.cpu_seconds.map(|there| used + there);
        moment.session.note_sent(moment.thread, self.sent.add(sent));
        Ok(())
    }

    fn verify(&mut self, _: &Moment<'_>) -> Result<(), Failure> {
        Ok(self.exchange(Exchange::small(self.outbox.block_bytes, true))?)
    }

    fn describe(&self, _: &Session, seen: &mut NetConditions) {
        seen.link_bytes = tcp_link_bytes(&self.stream);
        seen.receive_buffer_bytes = receive_buffer_bytes(&self.stream);
    }
}

/// The server: receives as many blocks as announced, then sends as many back, until the connection ends.
pub(super) fn give_back(mut stream: &TcpStream, content: Content) -> io::Result<()> {
    let mut outbox = Outbox::new(&content, None)?;
    let mut inbox = Inbox::new(content);
    let mut header = [0; HEADER_BYTES];
    loop {
        stream.read_exact(&mut header)?;
        let exchange = Exchange::read(&header).ok_or_else(|| invalid("an invalid exchange was announced"))?;
        receive(&mut inbox, stream, exchange, outbox.block_bytes)?;
        send(&mut outbox, stream, exchange.blocks)?;
    }
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
