//! A stream over TCP: one end sends as fast as it can, the other receives and counts.
//!
//! Only what was received counts. Socket buffers are left alone, so that the kernel adapts them; sends and receives are
//! of the experiment's block size, as iperf3's are. Every receive is checked at both of its ends, and after each window
//! a MiB of the stream byte by byte: each byte follows from its place, so one that was lost or came twice would shift
//! all that follow.

use std::io::{self, Read, Write};
use std::net::TcpStream;

use sys::clock::Timer;

use super::content::{Content, Place, number};
use super::session::{SILENCE, gone, trouble};
use crate::engine::{Tally, Window};

/// Bytes compared at either end of a receive: a block's number and some random bytes.
const CHECKED_BYTES: usize = 64;

/// Bytes compared in full after each window.
const VERIFIED_BYTES: usize = 1 << 20;

/// Receives for them at most: tiny blocks take a system call each.
const VERIFYING_RECEIVES: usize = 4096;

/// The receiving end, which measures.
pub(super) struct Receiver {
    stream: TcpStream,
    content: Content,
    place: Place,
    buffer: Box<[u8]>,
}

impl Receiver {
    /// One for this connection.
    ///
    /// # Errors
    /// What the kernel said.
    pub(super) fn new(stream: TcpStream, content: Content) -> io::Result<Self> {
        stream.set_read_timeout(Some(SILENCE))?;
        // Numbered and random: pages that are there, and no zeros.
        let buffer = content.block();
        Ok(Self { stream, content, place: Place::default(), buffer })
    }

    /// The connection.
    pub(super) fn stream(&self) -> &TcpStream {
        &self.stream
    }

    /// How far the stream has come.
    #[cfg(test)]
    pub(super) fn place(&self) -> Place {
        self.place
    }

    /// Receives until the window has passed.
    ///
    /// # Errors
    /// The other end is gone, or something came that was not sent.
    pub(super) fn run(&mut self, timer: &Timer, window: Window, tally: &mut Tally) -> Result<(), String> {
        loop {
            let count = self.receive()?;
            let now = timer.now();
            tally.came(now, count as u64);
            self.check_ends(count)?;
            if now >= window.end {
                return Ok(());
            }
        }
    }

    /// Compares the next part of the stream byte by byte.
    ///
    /// # Errors
    /// The other end is gone, or something came that was not sent.
    pub(super) fn verify(&mut self) -> Result<(), String> {
        let mut verified = 0;
        for _ in 0..VERIFYING_RECEIVES {
            let count = self.receive()?;
            if !self.content.holds(self.place, &self.buffer[..count]) {
                return Err(self.wrong());
            }
            self.place = self.place.after(count, self.content.block_bytes());
            verified += count;
            if verified >= VERIFIED_BYTES {
                break;
            }
        }
        Ok(())
    }

    /// What has come, up to a block. Waiting for more (`MSG_WAITALL`, `SO_RCVLOWAT` of half a block) was tried on a busy
    /// build machine: within 4 % of this, on a spread of 15 %.
    fn receive(&mut self) -> Result<usize, String> {
        loop {
            match self.stream.read(&mut self.buffer) {
                Ok(0) => return Err(gone("it closed its connections")),
                Ok(count) => return Ok(count),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(trouble(&error)),
            }
        }
    }

    /// Compares the first and the last bytes of what has just come.
    #[inline]
    fn check_ends(&mut self, count: usize) -> Result<(), String> {
        let block_bytes = self.content.block_bytes();
        let tail = count.saturating_sub(CHECKED_BYTES);
        let first = &self.buffer[..count.min(CHECKED_BYTES)];
        let right = self.content.holds(self.place, first)
            && (tail == 0 || self.content.holds(self.place.after(tail, block_bytes), &self.buffer[tail..count]));
        if !right {
            return Err(self.wrong());
        }
        self.place = self.place.after(count, block_bytes);
        Ok(())
    }

    fn wrong(&self) -> String {
        format!("what came is not what was sent, near byte {} of block {}", self.place.within, self.place.block)
    }
}

/// The sending end: sends blocks until nobody receives them any more. Returns the blocks that were sent as a whole.
///
/// # Errors
/// What the kernel said, other than that the connection has ended.
pub(super) fn send(mut stream: &TcpStream, content: &Content) -> io::Result<u64> {
    let mut block = content.block();
    let mut sent = 0;
    loop {
        number(&mut block, sent);
        if let Err(error) = stream.write_all(&block) {
            return if is_end(&error) { Ok(sent) } else { Err(error) };
        }
        sent += 1;
    }
}

/// Whether this is how a connection ends.
pub(super) fn is_end(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, NotConnected, UnexpectedEof, WriteZero};
    matches!(error.kind(), BrokenPipe | ConnectionAborted | ConnectionReset | NotConnected | UnexpectedEof | WriteZero)
}
