//! Many datagrams a system call, on a connected socket: what carries each batch is found by trying.
//!
//! With segmentation offload the kernel, or the device, cuts one long message into datagrams (`UDP_SEGMENT`), and puts
//! those that come together into one (`UDP_GRO`). Without it a call carries several messages of one datagram each
//! (`sendmmsg(2)`, `recvmmsg(2)`), and where that is refused too, one. Nothing is allocated once a sender or receiver is
//! there, and it stays with what worked.
//!
//! When a message came the kernel says (`SO_TIMESTAMPNS`, `socket(7)`): those of one call have come before it, each at a
//! time of its own.

use std::fmt;
use std::io;
use std::net::UdpSocket;
use std::ops::Range;
use std::os::fd::{AsRawFd, RawFd};

use crate::memory::pages::Pages;

#[cfg(test)]
mod tests;

/// The longest message: 65535 bytes of an IP packet less 20 of its header and 8 of UDP's.
const MOST_MESSAGE_BYTES: usize = 65_507;

/// Datagrams of one message at most: `UDP_MAX_SEGMENTS` of Linux before 6.9 (`include/linux/udp.h`), 128 since.
const MOST_SEGMENTS: usize = 64;

/// Messages of a call at most. With 64 of them a call costs less than a fiftieth of what its datagrams do.
const MOST_MESSAGES: usize = 64;

/// Memory that a sender goes through again and again: it stays in a core's own cache.
const SENDING_BYTES: usize = 256 << 10;

/// Memory of a receiver, which holds several messages of the greatest length.
const RECEIVING_BYTES: usize = 512 << 10;

/// Room for a message with segments put together: 64 KiB, more than any message.
const COALESCED_BYTES: usize = 1 << 16;

/// Room for the control messages of one message, in words of 8 bytes: three headers of 16 bytes with their data.
const CONTROL_WORDS: usize = 12;

/// The system calls of this module. Tests play a kernel that refuses some.
trait Kernel {
    /// `sendmmsg(2)`: how many messages left.
    ///
    /// # Safety
    /// Every header points to live memory, as much as it says.
    unsafe fn send_many(&self, socket: RawFd, headers: &mut [libc::mmsghdr]) -> io::Result<usize>;

    /// `sendmsg(2)`.
    ///
    /// # Safety
    /// As above.
    unsafe fn send_one(&self, socket: RawFd, header: &mut libc::mmsghdr) -> io::Result<()>;

    /// `recvmmsg(2)`: waits for the first message, and takes what is there beside it.
    ///
    /// # Safety
    /// Every header points to live memory that may be written, as much as it says.
    unsafe fn receive_many(&self, socket: RawFd, headers: &mut [libc::mmsghdr]) -> io::Result<usize>;

    /// `recvmsg(2)`.
    ///
    /// # Safety
    /// As above.
    unsafe fn receive_one(&self, socket: RawFd, header: &mut libc::mmsghdr) -> io::Result<()>;

    /// `setsockopt(2)` at this level (`SOL_…`), with a number.
    fn set(&self, socket: RawFd, level: libc::c_int, option: libc::c_int, value: libc::c_int) -> io::Result<()>;
}

/// The kernel that is there.
struct Linux;

/// What a call gave that says how much by a number, and -1 where it failed.
fn count(given: isize) -> io::Result<usize> {
    usize::try_from(given).map_err(|_| io::Error::last_os_error())
}

/// The number of messages as the kernel takes it.
fn number(headers: &[libc::mmsghdr]) -> libc::c_uint {
    libc::c_uint::try_from(headers.len()).unwrap_or(libc::c_uint::MAX)
}

impl Kernel for Linux {
    unsafe fn send_many(&self, socket: RawFd, headers: &mut [libc::mmsghdr]) -> io::Result<usize> {
        // SAFETY: the caller vouches for what the headers point to; their number is their slice's.
        count(unsafe { libc::sendmmsg(socket, headers.as_mut_ptr(), number(headers), 0) } as isize)
    }

    unsafe fn send_one(&self, socket: RawFd, header: &mut libc::mmsghdr) -> io::Result<()> {
        // SAFETY: the caller vouches for what the header points to.
        count(unsafe { libc::sendmsg(socket, &raw const header.msg_hdr, 0) }).map(drop)
    }

    unsafe fn receive_many(&self, socket: RawFd, headers: &mut [libc::mmsghdr]) -> io::Result<usize> {
        let (first, flags, forever) = (headers.as_mut_ptr(), libc::MSG_WAITFORONE, std::ptr::null_mut());
        // SAFETY: the caller vouches for what the headers point to; their number is their slice's.
        count(unsafe { libc::recvmmsg(socket, first, number(headers), flags, forever) } as isize)
    }

    unsafe fn receive_one(&self, socket: RawFd, header: &mut libc::mmsghdr) -> io::Result<()> {
        // SAFETY: the caller vouches for what the header points to.
        let length = count(unsafe { libc::recvmsg(socket, &raw mut header.msg_hdr, 0) })?;
        header.msg_len = u32::try_from(length).unwrap_or(u32::MAX);
        Ok(())
    }

    fn set(&self, socket: RawFd, level: libc::c_int, option: libc::c_int, value: libc::c_int) -> io::Result<()> {
        let length = libc::socklen_t::try_from(size_of_val(&value)).unwrap_or(0);
        // SAFETY: the value is live for the call, and its length is passed with it.
        let status = unsafe { libc::setsockopt(socket, level, option, (&raw const value).cast(), length) };
        count(status as isize).map(drop)
    }
}

/// Whether the kernel, or a filter before it, does not know this call at all.
fn is_no_call(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::ENOSYS | libc::EPERM))
}

/// Whether this is how the kernel says that it cannot cut a message: no checksums by the device (`EIO`), segments longer
/// than the path takes (`EINVAL`), or a message too long (`EMSGSIZE`). It says so when something is sent, not before.
fn is_no_segmentation(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EIO | libc::EINVAL | libc::EMSGSIZE))
}

/// So many empty headers.
fn headers(messages: usize) -> Box<[libc::mmsghdr]> {
    // SAFETY: all-zero bytes are a valid header of a message: null pointers and lengths of nothing.
    (0..messages).map(|_| unsafe { std::mem::zeroed() }).collect()
}

/// So many empty vectors.
fn vectors(messages: usize) -> Box<[libc::iovec]> {
    (0..messages).map(|_| libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 }).collect()
}

/// Sends batches of datagrams that are all of one length.
pub struct Sender(Outbox<Linux>);

impl Sender {
    /// One for datagrams of so many bytes; `segmented` asks for segmentation offload.
    pub fn new(socket: &UdpSocket, datagram_bytes: usize, segmented: bool) -> Self {
        Self(Outbox::new(Linux, socket, datagram_bytes, segmented))
    }

    /// Datagrams of a batch at most.
    pub fn capacity(&self) -> usize {
        self.0.arena.len() / self.0.datagram_bytes
    }

    /// The datagrams of the next batch, to be written. What was written stays.
    pub fn datagrams(&mut self) -> std::slice::ChunksExactMut<'_, u8> {
        self.0.arena.chunks_exact_mut(self.0.datagram_bytes)
    }

    /// Sends those of these numbers to whom the socket is connected to; how many left, which are the first of them, and
    /// one at least.
    ///
    /// # Errors
    /// What the kernel said where not one left.
    pub fn send(&mut self, socket: &UdpSocket, which: Range<usize>) -> io::Result<usize> {
        self.0.send(socket.as_raw_fd(), which)
    }

    /// What carries the datagrams: `gso`, `sendmmsg`; nothing where each takes a call of its own.
    pub fn in_use(&self) -> impl Iterator<Item = &'static str> {
        [("gso", self.0.segments > 1), ("sendmmsg", self.0.many)].into_iter().filter(|word| word.1).map(|word| word.0)
    }

    /// Datagrams of one message at most: more than 1 with segmentation offload.
    pub fn segments(&self) -> usize {
        self.0.segments
    }
}

impl fmt::Debug for Sender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.in_use()).finish()
    }
}

/// A sender, whatever kernel it has.
struct Outbox<K> {
    kernel: K,
    datagram_bytes: usize,
    arena: Pages,
    headers: Box<[libc::mmsghdr]>,
    vectors: Box<[libc::iovec]>,
    /// Datagrams per message.
    segments: usize,
    /// Whether a call carries several messages.
    many: bool,
    /// Whether such a call has worked: what refuses one later is a firewall that takes the message, and not the call.
    proven: bool,
}

impl<K: Kernel> Outbox<K> {
    fn new(kernel: K, socket: &UdpSocket, datagram_bytes: usize, segmented: bool) -> Self {
        let datagram_bytes = datagram_bytes.clamp(1, MOST_MESSAGE_BYTES);
        let capacity = (SENDING_BYTES / datagram_bytes).clamp(1, MOST_MESSAGES);
        let of_a_message = (MOST_MESSAGE_BYTES / datagram_bytes).clamp(1, MOST_SEGMENTS);
        let option = libc::c_int::try_from(datagram_bytes).unwrap_or(libc::c_int::MAX);
        let wanted = segmented && of_a_message > 1;
        let granted = wanted && kernel.set(socket.as_raw_fd(), libc::SOL_UDP, libc::UDP_SEGMENT, option).is_ok();
        Self {
            kernel,
            datagram_bytes,
            arena: Pages::zeroed(capacity * datagram_bytes),
            headers: headers(capacity),
            vectors: vectors(capacity),
            segments: if granted { of_a_message } else { 1 },
            many: true,
            proven: false,
        }
    }

    fn send(&mut self, socket: RawFd, which: Range<usize>) -> io::Result<usize> {
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
                    // Where this fails too a message of one segment goes out as it is.
                    let _ = self.kernel.set(socket, libc::SOL_UDP, libc::UDP_SEGMENT, 0);
                }
                Err(error) if self.many && !self.proven && is_no_call(&error) => self.many = false,
                Err(error) => return Err(error),
            }
        }
    }

    /// One call with these bytes, or the first of them: how many messages left.
    fn call(&mut self, socket: RawFd, bytes: Range<usize>) -> io::Result<usize> {
        let mut messages = 0;
        let places = self.headers.iter_mut().zip(&mut self.vectors);
        for (message, (header, vector)) in self.arena[bytes].chunks_mut(self.segments * self.datagram_bytes).zip(places)
        {
            *vector = libc::iovec { iov_base: message.as_mut_ptr().cast(), iov_len: message.len() };
            (header.msg_hdr.msg_iov, header.msg_hdr.msg_iovlen) = (std::ptr::from_mut(vector), 1);
            messages += 1;
        }
        let headers = &mut self.headers[..messages];
        if !self.many {
            // SAFETY: the first header points to its vector, and that to a part of the arena; both are ours and live.
            return unsafe { self.kernel.send_one(socket, &mut headers[0]) }.map(|()| 1);
        }
        // SAFETY: each of these headers points to its vector, and that to a part of the arena; all are ours and live.
        unsafe { self.kernel.send_many(socket, headers) }
    }
}

/// A datagram that came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival<'a> {
    /// Its bytes.
    pub bytes: &'a [u8],
    /// When it came, in nanoseconds of the system's clock; `None` where the kernel does not say, and of those that were put
    /// together with one before them.
    pub came_nanoseconds: Option<u64>,
}

/// Receives batches of datagrams.
pub struct Receiver(Inbox<Linux>);

impl Receiver {
    /// One for datagrams of so many bytes: of a longer one the first bytes come, one more than so many. `coalesced` asks
    /// the kernel to put together what comes together.
    pub fn new(socket: &UdpSocket, datagram_bytes: usize, coalesced: bool) -> Self {
        Self(Inbox::new(Linux, socket, datagram_bytes, coalesced))
    }

    /// Waits for datagrams as the socket's time limit has it, and takes those that are there; how many messages they came
    /// in, one at least.
    ///
    /// # Errors
    /// What the kernel said where none came.
    pub fn receive(&mut self, socket: &UdpSocket) -> io::Result<usize> {
        self.0.receive(socket.as_raw_fd())
    }

    /// The datagrams that came last, in their order. An empty one is a datagram too.
    pub fn datagrams(&self) -> impl Iterator<Item = Arrival<'_>> {
        self.0.datagrams()
    }

    /// Whether the kernel says when messages came.
    pub fn is_stamped(&self) -> bool {
        self.0.stamped
    }

    /// What carries the datagrams: `gro`, `recvmmsg`; nothing where each takes a call of its own.
    pub fn in_use(&self) -> impl Iterator<Item = &'static str> {
        [("gro", self.0.coalesced), ("recvmmsg", self.0.many)].into_iter().filter(|word| word.1).map(|word| word.0)
    }
}

impl fmt::Debug for Receiver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.in_use()).finish()
    }
}

/// A receiver, whatever kernel it has.
struct Inbox<K> {
    kernel: K,
    /// Room of one message.
    room: usize,
    arena: Pages,
    controls: Box<[[u64; CONTROL_WORDS]]>,
    headers: Box<[libc::mmsghdr]>,
    vectors: Box<[libc::iovec]>,
    /// The messages that came last.
    came: Vec<Message>,
    coalesced: bool,
    stamped: bool,
    many: bool,
}

/// A message that came.
#[derive(Clone, Copy, Debug)]
struct Message {
    bytes: usize,
    /// Bytes of the datagrams that it holds; the last may be shorter.
    segment: usize,
    came_nanoseconds: Option<u64>,
}

impl<K: Kernel> Inbox<K> {
    fn new(kernel: K, socket: &UdpSocket, datagram_bytes: usize, coalesced: bool) -> Self {
        let coalesced = coalesced && kernel.set(socket.as_raw_fd(), libc::SOL_UDP, libc::UDP_GRO, 1).is_ok();
        let stamped = kernel.set(socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1).is_ok();
        let room = if coalesced { COALESCED_BYTES } else { datagram_bytes.min(MOST_MESSAGE_BYTES) + 1 };
        let messages = (RECEIVING_BYTES / room).clamp(1, MOST_MESSAGES);
        Self {
            kernel,
            room,
            arena: Pages::zeroed(messages * room),
            controls: vec![[0; CONTROL_WORDS]; messages].into(),
            headers: headers(messages),
            vectors: vectors(messages),
            came: Vec::with_capacity(messages),
            coalesced,
            stamped,
            many: true,
        }
    }

    fn receive(&mut self, socket: RawFd) -> io::Result<usize> {
        self.came.clear();
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

    /// One call: how many messages came.
    fn call(&mut self, socket: RawFd) -> io::Result<usize> {
        let rooms = self.arena.chunks_exact_mut(self.room).zip(&mut self.controls);
        let places = self.headers.iter_mut().zip(&mut self.vectors);
        for ((room, control), (header, vector)) in rooms.zip(places) {
            *vector = libc::iovec { iov_base: room.as_mut_ptr().cast(), iov_len: room.len() };
            (header.msg_hdr.msg_iov, header.msg_hdr.msg_iovlen) = (std::ptr::from_mut(vector), 1);
            header.msg_hdr.msg_control = control.as_mut_ptr().cast();
            let tells = self.coalesced || self.stamped;
            header.msg_hdr.msg_controllen = if tells { size_of_val(control) } else { 0 };
        }
        if !self.many {
            // SAFETY: the first header points to its vector and its control words, and the vector to its room in the
            // arena; all are ours, live and written by nobody else.
            return unsafe { self.kernel.receive_one(socket, &mut self.headers[0]) }.map(|()| 1);
        }
        // SAFETY: each header points to its vector and its control words, and the vector to its room in the arena; all
        // are ours, live and written by nobody else.
        unsafe { self.kernel.receive_many(socket, &mut self.headers) }
    }

    /// Notes how long the first messages are, their segments, and when they came.
    fn note(&mut self, messages: usize) {
        for (header, control) in self.headers.iter().zip(&self.controls).take(messages) {
            let bytes = (header.msg_len as usize).min(self.room);
            let known = header.msg_hdr.msg_controllen.min(size_of_val(control)) / size_of::<u64>();
            let told = told_by(&control[..known.min(CONTROL_WORDS)]);
            let segment = told.segment.unwrap_or(bytes).max(1);
            self.came.push(Message { bytes, segment, came_nanoseconds: told.came_nanoseconds });
        }
    }

    fn datagrams(&self) -> impl Iterator<Item = Arrival<'_>> {
        self.came.iter().zip(self.arena.chunks_exact(self.room)).flat_map(|(message, room)| {
            // Nothing to cut into segments is still one datagram.
            let empty = (message.bytes == 0).then_some(&room[..0]);
            let stamps = std::iter::once(message.came_nanoseconds).chain(std::iter::repeat(None));
            let datagrams = room[..message.bytes].chunks(message.segment).chain(empty);
            datagrams.zip(stamps).map(|(bytes, came_nanoseconds)| Arrival { bytes, came_nanoseconds })
        })
    }
}

/// What control messages say of a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Told {
    /// Length of the datagrams that were put together.
    segment: Option<usize>,
    /// When it came, or the first of them.
    came_nanoseconds: Option<u64>,
}

/// What the control messages in these words tell. A message is its length, header included, in a word, then level and type
/// in one, then its data, filled up to whole words (`cmsg(3)`).
fn told_by(mut words: &[u64]) -> Told {
    const HEADER_WORDS: usize = 2;
    let mut told = Told::default();
    while let [length, kind, rest @ ..] = words {
        let length = usize::try_from(*length).unwrap_or(usize::MAX).div_ceil(size_of::<u64>());
        let data = rest.get(..length.saturating_sub(HEADER_WORDS)).unwrap_or_default();
        match (halves(*kind), data) {
            // An `int`: the first half of the word.
            ([libc::SOL_UDP, libc::UDP_GRO], [word, ..]) => {
                told.segment = usize::try_from(halves(*word)[0]).ok().filter(|bytes| *bytes > 0);
            }
            // A `timespec`: seconds, and nanoseconds.
            ([libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS], [seconds, nanoseconds, ..]) => {
                let whole = seconds.checked_mul(1_000_000_000);
                told.came_nanoseconds = whole.and_then(|whole| whole.checked_add(*nanoseconds));
            }
            _ => {}
        }
        words = words.get(length.max(HEADER_WORDS)..).unwrap_or_default();
    }
    told
}

/// The two numbers in a word, in the order of memory.
fn halves(word: u64) -> [i32; 2] {
    let bytes = word.to_ne_bytes();
    let half = |at: usize| i32::from_ne_bytes(std::array::from_fn(|byte| bytes[at + byte]));
    [half(0), half(4)]
}
