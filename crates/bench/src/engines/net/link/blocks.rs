//! Blocks on a connection: those that come, with how far they have come and whether they are what was sent, and those
//! that go.

use std::io::{self, Read, Write};
use std::net::TcpStream;

use sys::net::zero_copy::{Told, ZeroCopySender};
use sys::pages::Pages;

use super::super::near::SILENCE;
use super::content::{Content, Place, number};

/// What may wait for the kernel where it spares the copy: as much as a send buffer grows to by itself, and half again
/// (`net.ipv4.tcp_wmem`, 4 MiB).
const SPARED_BYTES: usize = 6 << 20;

/// Blocks of it at most: each send under way takes some hundred bytes of `net.core.optmem_max`, 20 kB on older kernels.
const MOST_SPARED_BLOCKS: usize = 64;

/// What comes on one connection, and how far it has come.
pub(in crate::engines::net) struct Inbox {
    content: Content,
    place: Place,
    buffer: Pages,
}

/// What came is not what was sent.
#[derive(Debug)]
pub(in crate::engines::net) struct Wrong(Place);

impl Wrong {
    /// Where it is wrong.
    pub(in crate::engines::net) fn sentence(&self) -> String {
        format!("what came is not what was sent, near byte {} of block {}", self.0.within, self.0.block)
    }
}

impl From<Wrong> for io::Error {
    fn from(wrong: Wrong) -> Self {
        Self::new(io::ErrorKind::InvalidData, wrong.sentence())
    }
}

impl Inbox {
    /// Nothing has come yet.
    pub(in crate::engines::net) fn new(content: Content) -> Self {
        // Numbered and random: pages that are there, and no zeros.
        let buffer = content.block();
        Self { content, place: Place::default(), buffer }
    }

    /// What has come, up to a block; 0 at the end. Waiting for more (`MSG_WAITALL`, `SO_RCVLOWAT` of half a block) was
    /// tried on a busy build machine: within 4 % of this, on a spread of 15 %.
    #[inline]
    pub(in crate::engines::net) fn receive(&mut self, mut stream: &TcpStream) -> io::Result<usize> {
        loop {
            match stream.read(&mut self.buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => return other,
            }
        }
    }

    /// Compares the first and the last bytes of what has just come.
    #[inline]
    pub(in crate::engines::net) fn check_ends(&mut self, count: usize) -> Result<(), Wrong> {
        let right = self.content.ends_hold(self.place, &self.buffer[..count]);
        self.go_on(right, count)
    }

    /// Compares all of it.
    pub(in crate::engines::net) fn check_all(&mut self, count: usize) -> Result<(), Wrong> {
        let right = self.content.holds(self.place, &self.buffer[..count]);
        self.go_on(right, count)
    }

    #[inline]
    fn go_on(&mut self, right: bool, count: usize) -> Result<(), Wrong> {
        if !right {
            return Err(Wrong(self.place));
        }
        self.place = self.place.after(count, self.content.block_bytes());
        Ok(())
    }
}

/// What goes on one connection: numbered blocks.
pub(in crate::engines::net) struct Outbox {
    source: Source,
    block_bytes: u64,
    blocks: u64,
}

/// Where blocks are sent from.
enum Source {
    /// The same memory over and over, which the kernel copies.
    Copied(Pages),
    /// Memory that the kernel reads until the other end has it.
    Spared(ZeroCopySender),
}

impl Outbox {
    /// For these blocks; `stream` says that copies are to be spared on it.
    ///
    /// # Errors
    /// The kernel spares no copies.
    pub(in crate::engines::net) fn new(content: &Content, stream: Option<&TcpStream>) -> io::Result<Self> {
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

    /// Sends one block.
    ///
    /// # Errors
    /// What the kernel said.
    #[inline]
    pub(in crate::engines::net) fn send(&mut self, mut stream: &TcpStream) -> io::Result<()> {
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

    /// Bytes of a block.
    pub(in crate::engines::net) fn block_bytes(&self) -> u64 {
        self.block_bytes
    }

    /// Bytes sent since the launch began.
    pub(in crate::engines::net) fn sent_bytes(&self) -> u64 {
        self.blocks * self.block_bytes
    }

    /// What the kernel has said of spared copies since the launch began; `None` where none are to be spared.
    #[inline]
    pub(in crate::engines::net) fn told(&self) -> Option<Told> {
        match &self.source {
            Source::Copied(_) => None,
            Source::Spared(sender) => Some(sender.told()),
        }
    }
}
