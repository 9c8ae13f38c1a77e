//! Many datagrams per system call on a connected socket, by the best method that works: segmentation offload
//! (`UDP_SEGMENT`, `UDP_GRO`), else several messages of one datagram each (`sendmmsg(2)`, `recvmmsg(2)`), else one. Nothing is
//! allocated after the start. The kernel reports the arrival time of each message (`SO_TIMESTAMPNS`, `socket(7)`).

use std::fmt;
use std::io;
use std::net::UdpSocket;
use std::ops::Range;
use std::os::fd::AsRawFd;

use crate::calls::{outcome, set_socket_option};
use crate::memory::pages::Pages;

#[cfg(test)]
mod tests;

/// The longest message: 65535 bytes of an IP packet less 20 of its header and 8 of UDP's.
const MOST_MESSAGE_BYTES: usize = 65_507;

/// The most datagrams of one message: `UDP_MAX_SEGMENTS` of Linux before 6.9 (`include/linux/udp.h`), 128 since.
const MOST_SEGMENTS: usize = 64;

/// The most messages of a call. With 64 of them a call costs less than a fiftieth of its datagrams.
const MOST_MESSAGES: usize = 64;

/// Memory that a sender reuses: it stays in a core's own cache.
const SENDING_BYTES: usize = 256 << 10;

/// Memory of a receiver: several messages of the greatest length.
const RECEIVING_BYTES: usize = 512 << 10;

/// Room for a coalesced message: 64 KiB, more than any message.
const COALESCED_BYTES: usize = 1 << 16;

/// Room for the control messages of one message, in 8-byte words: three headers of 16 bytes with their data.
const CONTROL_WORDS: usize = 12;

/// Whether the kernel, or a filter before it, lacks this call.
fn is_no_call(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::ENOSYS | libc::EPERM))
}

/// Whether the kernel cannot cut a message: no checksums by the device (`EIO`), segments too long for the path
/// (`EINVAL`), or a message too long (`EMSGSIZE`). It reports that on sending, not before.
fn is_no_segmentation(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EIO | libc::EINVAL | libc::EMSGSIZE))
}

fn headers(messages: usize) -> Box<[libc::mmsghdr]> {
    // SAFETY: all-zero bytes are a valid header of a message: null pointers and zero lengths.
    (0..messages).map(|_| unsafe { std::mem::zeroed() }).collect()
}

fn vectors(messages: usize) -> Box<[libc::iovec]> {
    (0..messages).map(|_| libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 }).collect()
}

pub struct Sender {
    datagram_bytes: usize,
    arena: Pages,
    headers: Box<[libc::mmsghdr]>,
    vectors: Box<[libc::iovec]>,
    segments: usize,
    /// Whether a call carries several messages.
    many: bool,
    /// Whether such a call has worked: a later refusal is a firewall that refuses the message, and not the call.
    proven: bool,
}

impl fmt::Debug for Sender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.in_use()).finish()
    }
}

impl Sender {
    /// A sender of datagrams of this length; `segmented` requests segmentation offload.
    pub fn new(socket: &UdpSocket, datagram_bytes: usize, segmented: bool) -> Self {
        let datagram_bytes = datagram_bytes.clamp(1, MOST_MESSAGE_BYTES);
        let capacity = (SENDING_BYTES / datagram_bytes).clamp(1, MOST_MESSAGES);
        let of_a_message = (MOST_MESSAGE_BYTES / datagram_bytes).clamp(1, MOST_SEGMENTS);
        let option = libc::c_int::try_from(datagram_bytes).unwrap_or(libc::c_int::MAX);
        let wanted = segmented && of_a_message > 1;
        let granted = wanted && set_socket_option(socket.as_raw_fd(), libc::SOL_UDP, libc::UDP_SEGMENT, option).is_ok();
        Self {
            datagram_bytes,
            arena: Pages::zeroed(capacity * datagram_bytes),
            headers: headers(capacity),
            vectors: vectors(capacity),
            segments: if granted { of_a_message } else { 1 },
            many: true,
            proven: false,
        }
    }

    pub fn capacity(&self) -> usize {
        self.arena.len() / self.datagram_bytes
    }

    /// The datagrams of the next batch, to be written. Their contents stay.
    pub fn datagrams(&mut self) -> std::slice::ChunksExactMut<'_, u8> {
        self.arena.chunks_exact_mut(self.datagram_bytes)
    }

    /// The methods in use: `gso`, `sendmmsg`; none if each datagram takes a call of its own.
    pub fn in_use(&self) -> impl Iterator<Item = &'static str> {
        [("gso", self.segments > 1), ("sendmmsg", self.many)].into_iter().filter(|word| word.1).map(|word| word.0)
    }

    /// The most datagrams of one message: more than 1 with segmentation offload.
    pub fn segments(&self) -> usize {
        self.segments
    }

    /// Sends the datagrams of these numbers to the connected address; how many of the first were sent: at least one.
    pub fn send(&mut self, socket: &UdpSocket, which: Range<usize>) -> io::Result<usize> {
        let Range { start, end } = which;
        let bytes = start * self.datagram_bytes..end * self.datagram_bytes;
        if bytes.is_empty() || self.arena.get(bytes.clone()).is_none() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "no such datagrams in a batch"));
        }
        loop {
            match self.call(socket, bytes.clone()) {
                Ok(messages) => {
                    self.proven = true;
                    return Ok((messages * self.segments).min(end - start));
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if self.segments > 1 && is_no_segmentation(&error) => {
                    self.segments = 1;
                    // If this fails too, a message of one segment is sent as it is.
                    let _ = set_socket_option(socket.as_raw_fd(), libc::SOL_UDP, libc::UDP_SEGMENT, 0);
                }
                Err(error) if self.many && !self.proven && is_no_call(&error) => self.many = false,
                Err(error) => return Err(error),
            }
        }
    }

    /// One call with the first of these bytes; the number of messages sent.
    fn call(&mut self, socket: &UdpSocket, bytes: Range<usize>) -> io::Result<usize> {
        let mut messages: libc::c_uint = 0;
        let places = self.headers.iter_mut().zip(&mut self.vectors);
        for (message, (header, vector)) in self.arena[bytes].chunks_mut(self.segments * self.datagram_bytes).zip(places)
        {
            *vector = libc::iovec { iov_base: message.as_mut_ptr().cast(), iov_len: message.len() };
            (header.msg_hdr.msg_iov, header.msg_hdr.msg_iovlen) = (std::ptr::from_mut(vector), 1);
            messages += 1;
        }
        let headers = &mut self.headers[..messages as usize];
        if !self.many {
            // SAFETY: the first header points to its vector, and that to a part of the arena; both are ours and live.
            return outcome(unsafe { libc::sendmsg(socket.as_raw_fd(), &raw const headers[0].msg_hdr, 0) }).map(|_| 1);
        }
        // SAFETY: each of these headers points to its vector, and that to a part of the arena; all are ours and live.
        outcome(unsafe { libc::sendmmsg(socket.as_raw_fd(), headers.as_mut_ptr(), messages, 0) })
    }
}

/// A received datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival<'a> {
    pub bytes: &'a [u8],
    /// Its arrival in nanoseconds of the system's clock; `None` if unreported, and if coalesced with one before it.
    pub came_nanoseconds: Option<u64>,
}

pub struct Receiver {
    room: usize,
    arena: Pages,
    controls: Box<[[u64; CONTROL_WORDS]]>,
    headers: Box<[libc::mmsghdr]>,
    vectors: Box<[libc::iovec]>,
    messages: Vec<Message>,
    coalesced: bool,
    pub stamped: bool,
    many: bool,
}

impl fmt::Debug for Receiver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.in_use()).finish()
    }
}

#[derive(Clone, Copy, Debug)]
struct Message {
    bytes: usize,
    /// Bytes of its datagrams; the last may be shorter.
    segment: usize,
    came_nanoseconds: Option<u64>,
}

impl Receiver {
    /// A receiver of datagrams of this length: longer ones are cut to one byte more. `coalesced`: the kernel merges them.
    pub fn new(socket: &UdpSocket, datagram_bytes: usize, coalesced: bool) -> Self {
        let granted = |level, option| set_socket_option(socket.as_raw_fd(), level, option, 1).is_ok();
        let coalesced = coalesced && granted(libc::SOL_UDP, libc::UDP_GRO);
        let stamped = granted(libc::SOL_SOCKET, libc::SO_TIMESTAMPNS);
        let room = if coalesced { COALESCED_BYTES } else { datagram_bytes.min(MOST_MESSAGE_BYTES) + 1 };
        let messages = (RECEIVING_BYTES / room).clamp(1, MOST_MESSAGES);
        Self {
            room,
            arena: Pages::zeroed(messages * room),
            controls: vec![[0; CONTROL_WORDS]; messages].into(),
            headers: headers(messages),
            vectors: vectors(messages),
            messages: Vec::with_capacity(messages),
            coalesced,
            stamped,
            many: true,
        }
    }

    /// The methods in use: `gro`, `recvmmsg`; none if each datagram takes a call of its own.
    pub fn in_use(&self) -> impl Iterator<Item = &'static str> {
        [("gro", self.coalesced), ("recvmmsg", self.many)].into_iter().filter(|word| word.1).map(|word| word.0)
    }

    /// Waits for datagrams, up to the socket's timeout, and takes those that have arrived; how many messages, at least one.
    pub fn receive(&mut self, socket: &UdpSocket) -> io::Result<usize> {
        self.messages.clear();
        loop {
            match self.call(socket) {
                Ok(messages) => {
                    self.note(messages);
                    return Ok(messages);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if self.many && is_no_call(&error) => self.many = false,
                Err(error) => return Err(error),
            }
        }
    }

    /// One call; the number of messages received.
    fn call(&mut self, socket: &UdpSocket) -> io::Result<usize> {
        let rooms = self.arena.chunks_exact_mut(self.room).zip(&mut self.controls);
        let places = self.headers.iter_mut().zip(&mut self.vectors);
        for ((room, control), (header, vector)) in rooms.zip(places) {
            *vector = libc::iovec { iov_base: room.as_mut_ptr().cast(), iov_len: room.len() };
            (header.msg_hdr.msg_iov, header.msg_hdr.msg_iovlen) = (std::ptr::from_mut(vector), 1);
            header.msg_hdr.msg_control = control.as_mut_ptr().cast();
            let controls = self.coalesced || self.stamped;
            header.msg_hdr.msg_controllen = if controls { size_of_val(control) as _ } else { 0 };
        }
        let socket = socket.as_raw_fd();
        if !self.many {
            let first = &mut self.headers[0];
            // SAFETY: the first header points to its vector and its control words, and the vector to its room in the
            // arena; all are ours, live and written by nobody else.
            let length = outcome(unsafe { libc::recvmsg(socket, &raw mut first.msg_hdr, 0) })?;
            first.msg_len = u32::try_from(length).unwrap_or(u32::MAX);
            return Ok(1);
        }
        let count = libc::c_uint::try_from(self.headers.len()).unwrap_or(libc::c_uint::MAX);
        let (first, flags, forever) = (self.headers.as_mut_ptr(), libc::MSG_WAITFORONE, std::ptr::null_mut());
        // SAFETY: as above, for every header.
        outcome(unsafe { libc::recvmmsg(socket, first, count, flags as _, forever) })
    }

    /// Notes the length, segments and arrival time of the first messages.
    #[allow(clippy::unnecessary_cast, reason = "musl's lengths are u32")]
    fn note(&mut self, messages: usize) {
        for (header, control) in self.headers.iter().zip(&self.controls).take(messages) {
            let bytes = (header.msg_len as usize).min(self.room);
            let known = (header.msg_hdr.msg_controllen as usize).min(size_of_val(control)) / size_of::<u64>();
            let controls = read_controls(&control[..known.min(CONTROL_WORDS)]);
            let segment = controls.segment.unwrap_or(bytes).max(1);
            self.messages.push(Message { bytes, segment, came_nanoseconds: controls.came_nanoseconds });
        }
    }

    /// The datagrams that were received last, in their order, empty ones included.
    pub fn datagrams(&self) -> impl Iterator<Item = Arrival<'_>> {
        self.messages.iter().zip(self.arena.chunks_exact(self.room)).flat_map(|(message, room)| {
            // An empty message is still one datagram.
            let empty = (message.bytes == 0).then_some(&room[..0]);
            let stamps = std::iter::once(message.came_nanoseconds).chain(std::iter::repeat(None));
            let datagrams = room[..message.bytes].chunks(message.segment).chain(empty);
            datagrams.zip(stamps).map(|(bytes, came_nanoseconds)| Arrival { bytes, came_nanoseconds })
        })
    }
}

/// What control messages report about a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Controls {
    /// Length of the coalesced datagrams.
    segment: Option<usize>,
    /// Arrival of the message, or of the first of them.
    came_nanoseconds: Option<u64>,
}

/// The control messages in these words, each with its level and type, and its data. A message is its length, header
/// included, in a word, then level and type in one, then its data, padded to whole words (`cmsg(3)`).
pub(super) fn control_messages(mut words: &[u64]) -> impl Iterator<Item = ([i32; 2], &[u64])> {
    const HEADER_WORDS: usize = 2;
    std::iter::from_fn(move || {
        let [length, kind, rest @ ..] = words else { return None };
        let length = usize::try_from(*length).unwrap_or(usize::MAX).div_ceil(size_of::<u64>());
        words = words.get(length.max(HEADER_WORDS)..).unwrap_or_default();
        Some((halves(*kind), rest.get(..length.saturating_sub(HEADER_WORDS)).unwrap_or_default()))
    })
}

fn read_controls(words: &[u64]) -> Controls {
    let mut controls = Controls::default();
    for message in control_messages(words) {
        match message {
            // An `int`: the first half of the word.
            ([libc::SOL_UDP, libc::UDP_GRO], [word, ..]) => {
                controls.segment = usize::try_from(halves(*word)[0]).ok().filter(|bytes| *bytes > 0);
            }
            // A `timespec`: seconds, and nanoseconds.
            ([libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS], [seconds, nanoseconds, ..]) => {
                let whole = seconds.checked_mul(1_000_000_000);
                controls.came_nanoseconds = whole.and_then(|whole| whole.checked_add(*nanoseconds));
            }
            _ => {}
        }
    }
    controls
}

/// The two numbers in a word, in the order of memory.
pub(super) fn halves(word: u64) -> [i32; 2] {
    let bytes = word.to_ne_bytes();
    let half = |at: usize| i32::from_ne_bytes(std::array::from_fn(|byte| bytes[at + byte]));
    [half(0), half(4)]
}
