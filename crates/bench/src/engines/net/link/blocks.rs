//! Blocks on a connection: received ones, with their position and their check, and those to send.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use sys::net::zero_copy::{Reported, ZeroCopySender};
use sys::pages::Pages;

use super::content::{Content, Position, number};

/// Bytes that may wait for the kernel where it spares the copy: half again a send buffer (`net.ipv4.tcp_wmem`, 4 MiB).
const SPARED_BYTES: usize = 6 << 20;
/// At most this many blocks, because each send in flight takes some of `net.core.optmem_max`, 20 kB on older kernels.
const MOST_SPARED_BLOCKS: usize = 64;

pub(crate) struct Inbox {
    content: Content,
    place: Position,
    buffer: Pages,
}

impl Inbox {
    pub(crate) fn new(content: Content) -> Self {
        let buffer = content.block();
        Self { content, place: Position::default(), buffer }
    }

    /// Receives up to a block. Waiting for more (`MSG_WAITALL`, `SO_RCVLOWAT` of half a block) was within 4 % of this.
    #[inline]
    pub(crate) fn receive(&mut self, mut stream: &TcpStream) -> io::Result<usize> {
        loop {
            match stream.read(&mut self.buffer) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => return other,
            }
        }
    }

    /// Compares what was received last: all of it, or the first and the last bytes.
    #[inline]
    pub(crate) fn check(&mut self, count: usize, in_full: bool) -> io::Result<()> {
        let bytes = &self.buffer[..count];
        let right =
            if in_full { self.content.holds(self.place, bytes) } else { self.content.ends_hold(self.place, bytes) };
        if !right {
            let Position { block, within } = self.place;
            let wrong = format!("the received data differ from the sent data, near byte {within} of block {block}");
            return Err(invalid(wrong));
        }
        self.place = self.place.after(count, self.content.block_bytes());
        Ok(())
    }

    #[inline]
    pub(crate) fn take(&mut self, stream: &TcpStream, in_full: bool) -> io::Result<usize> {
        let count = self.receive(stream)?;
        self.check(count, in_full).map(|()| count)
    }
}

pub(crate) fn invalid(wrong: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, wrong.into())
}

pub(crate) struct Outbox {
    source: Source,
    pub(crate) block_bytes: u64,
    blocks: u64,
}

enum Source {
    Copied(Pages),
    /// Memory that the kernel reads until the receiver has the data.
    Spared(ZeroCopySender),
}

impl Outbox {
    /// Spares copies on a stream, if there is one, and waits this long for its receiver.
    pub(crate) fn new(content: &Content, spared: Option<(&TcpStream, Duration)>) -> io::Result<Self> {
        let block = content.block();
        let block_bytes = block.len() as u64;
        let source = match spared {
            None => Source::Copied(block),
            Some((stream, silence)) => {
                let blocks = (SPARED_BYTES / block.len()).clamp(2, MOST_SPARED_BLOCKS);
                Source::Spared(ZeroCopySender::new(stream, &block, blocks, silence)?)
            }
        };
        Ok(Self { source, block_bytes, blocks: 0 })
    }

    #[inline]
    pub(crate) fn send(&mut self, mut stream: &TcpStream) -> io::Result<()> {
        let next = self.blocks;
        match &mut self.source {
            Source::Copied(block) => {
                number(block, next);
                stream.write_all(block)?;
            }
            Source::Spared(sender) => sender.send(|block| number(block, next))?,
        }
        self.blocks += 1;
        Ok(())
    }

    pub(crate) fn sent_bytes(&self) -> u64 {
        self.blocks * self.block_bytes
    }

    /// What the kernel reports of spared copies since the process run began, where copies are to be spared.
    #[inline]
    pub(crate) fn zero_copies(&self) -> Option<Reported> {
        match &self.source {
            Source::Copied(_) => None,
            Source::Spared(sender) => Some(sender.reported()),
        }
    }
}
