//! Blocks on a connection: received ones, with their position and their check, and those to send.

use std::io::{self, Read, Write};
use std::net::TcpStream;

use sys::net::zero_copy::{Reported, ZeroCopySender};
use sys::pages::Pages;

use super::super::session::SILENCE;
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
        // Its pages are touched, and not zero.
        let buffer = content.block();
        Self { content, place: Position::default(), buffer }
    }

    /// Receives up to a block; 0 at the end. Waiting for more (`MSG_WAITALL`, `SO_RCVLOWAT` of half a block) was within
    /// 4 % of this, on a spread of 15 %.
    #[inline]
    pub(crate) fn receive(&mut self, mut stream: &TcpStream) -> io::Result<usize> {
        loop {
            match stream.read(&mut self.buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => return other,
            }
        }
    }

    /// Compares the first and the last bytes of what was received last.
    #[inline]
    pub(crate) fn check_ends(&mut self, count: usize) -> Result<(), String> {
        let right = self.content.ends_hold(self.place, &self.buffer[..count]);
        self.go_on(right, count)
    }

    pub(crate) fn check_all(&mut self, count: usize) -> Result<(), String> {
        let right = self.content.holds(self.place, &self.buffer[..count]);
        self.go_on(right, count)
    }

    #[inline]
    fn go_on(&mut self, right: bool, count: usize) -> Result<(), String> {
        if !right {
            let Position { block, within } = self.place;
            return Err(format!("the received data differ from the sent data, near byte {within} of block {block}"));
        }
        self.place = self.place.after(count, self.content.block_bytes());
        Ok(())
    }
}

pub(crate) struct Outbox {
    source: Source,
    block_bytes: u64,
    blocks: u64,
}

enum Source {
    Copied(Pages),
    /// Memory that the kernel reads until the receiver has the data.
    Spared(ZeroCopySender),
}

impl Outbox {
    /// Spares copies on `stream`, if there is one.
    pub(crate) fn new(content: &Content, stream: Option<&TcpStream>) -> io::Result<Self> {
        let block = content.block();
        let block_bytes = block.len() as u64;
        let source = match stream {
            None => Source::Copied(block),
            Some(stream) => {
                let blocks = (SPARED_BYTES / block.len()).clamp(2, MOST_SPARED_BLOCKS);
                Source::Spared(ZeroCopySender::new(stream, &block, blocks, SILENCE)?)
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

    pub(crate) fn block_bytes(&self) -> u64 {
        self.block_bytes
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
