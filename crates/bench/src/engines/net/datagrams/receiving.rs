//! The receiving side of a flow of datagrams, the same at both ends.

use std::io;
use std::net::UdpSocket;
use std::time::Duration;

use socket2::SockRef;
use sys::clock::Timer;
use sys::net::datagrams::Receiver;

use super::super::flows::is_late;
use super::super::link::blocks::invalid;
use super::super::link::sizes::receive_buffer_bytes;
use super::super::session::PEEK_NOW;
use super::account::Account;
use super::header::Form;
use super::sending::nanoseconds;
use crate::net::loopback;
use crate::net::messages::Datagrams;

/// The requested receive buffer: at 10 Gb/s what arrives within 7 ms. The kernel grants at most `net.core.rmem_max`.
const RECEIVE_BUFFER_BYTES: usize = 8 << 20;
/// Bytes compared in full in each window, from its first datagrams on.
const VERIFIED_BYTES: usize = 1 << 20;
/// Of later batches, the first datagram of every such batch.
const VERIFIED_BATCHES: u32 = 16;
pub(super) const RECEIVING: [&str; 2] = ["gro", "recvmmsg"];

/// The receive buffer that the kernel grants, so that a reference tool has as large a one. Tools set the send buffer to the
/// same size, and iperf3 fails where the kernel grants less.
pub(crate) fn granted_receive_buffer() -> Option<u64> {
    let socket = UdpSocket::bind((loopback(), 0)).ok()?;
    let options = SockRef::from(&socket);
    options.set_recv_buffer_size(RECEIVE_BUFFER_BYTES).ok()?;
    options.set_send_buffer_size(RECEIVE_BUFFER_BYTES).ok()?;
    let sending = options.send_buffer_size().ok()?;
    Some(receive_buffer_bytes(&socket)?.min(sending as u64))
}

pub(super) struct Receiving {
    pub(super) form: Form,
    pub(super) receiver: Receiver,
    pub(super) account: Account,
    /// When the time of datagrams begins, in ticks.
    origin: u64,
    unverified: usize,
    batches: u32,
    /// The last window of which a datagram has arrived.
    window: u32,
}

impl Receiving {
    /// Receives on this socket end after `patience`, or with the process run.
    pub(super) fn new(
        socket: &UdpSocket,
        form: Form,
        offload: bool,
        patience: Duration,
        timer: &Timer,
    ) -> io::Result<Self> {
        socket.set_read_timeout(Some(patience))?;
        // The granted size is read back at the end.
        let _ = SockRef::from(socket).set_recv_buffer_size(RECEIVE_BUFFER_BYTES);
        let receiver = Receiver::new(socket, form.bytes(), offload);
        Ok(Self {
            form,
            receiver,
            account: Account::new(),
            origin: timer.now(),
            unverified: VERIFIED_BYTES,
            batches: 0,
            window: 0,
        })
    }

    pub(super) fn receive(&mut self, socket: &UdpSocket) -> io::Result<Option<usize>> {
        match self.receiver.receive(socket) {
            Ok(messages) => Ok(Some(messages)),
            Err(error) if is_late(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Checks and counts the datagrams that arrived at this time in `messages`; how many of them are new.
    pub(super) fn take(&mut self, (timer, now): (&Timer, u64), messages: usize) -> io::Result<u64> {
        let Self { form, receiver, account, .. } = self;
        let mut look_at_the_time = (!receiver.stamped && messages == 1).then(|| nanoseconds(timer, self.origin, now));
        self.batches = self.batches.wrapping_add(1);
        let mut look = self.batches.is_multiple_of(VERIFIED_BATCHES);
        let mut new = 0;
        for arrival in receiver.datagrams() {
            let datagram = arrival.bytes;
            // Of those that the kernel coalesced, only the first has a time.
            let came_at = arrival.came_nanoseconds.or(look_at_the_time.take());
            let Some(header) = form.read(datagram) else {
                account.strays += 1;
                continue;
            };
            let whole = std::mem::take(&mut look) || self.unverified > 0;
            if !form.holds(datagram, whole) {
                let (number, bytes) = (header.sequence, datagram.len());
                let wrong = format!("the received data differ from the sent data: datagram {number}, {bytes} bytes");
                return Err(invalid(wrong));
            }
            self.unverified = self.unverified.saturating_sub(datagram.len());
            new += u64::from(account.take(header, came_at));
        }
        if account.window != self.window {
            (self.window, self.unverified) = (account.window, VERIFIED_BYTES);
        }
        Ok(new)
    }

    pub(super) fn datagrams(&self, number: u32) -> Datagrams {
        let [offloaded, batched] = RECEIVING.map(|word| self.receiver.in_use().any(|other| other == word));
        let Account { window, came, jitter, .. } = &self.account;
        let nothing = Datagrams { offloaded, batched, ..Datagrams::default() };
        if *window != number {
            return nothing;
        }
        let jitter_seconds = jitter.seconds();
        Datagrams { came: came.once, duplicates: came.duplicates, reordered: came.reordered, jitter_seconds, ..nothing }
    }

    /// The error if only foreign datagrams have arrived.
    pub(super) fn strangers(&self) -> Option<String> {
        let strays = self.account.strays;
        (strays > 0 && self.account.next == 0).then(|| {
            format!(
                "none of {strays} datagrams that arrived belongs to this process run. Look for a device on the path that \
                 changes them"
            )
        })
    }
}

pub(super) fn holds_some(socket: &UdpSocket) -> bool {
    SockRef::from(socket).recv_with_flags(&mut [std::mem::MaybeUninit::uninit()], PEEK_NOW).is_ok_and(|count| count > 0)
}
