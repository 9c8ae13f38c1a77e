//! Real sockets, and kernels that refuse calls.

use std::cell::Cell;
use std::os::fd::RawFd;
use std::time::Duration;

use super::*;

/// Two sockets at this address, connected to each other.
fn pair(home: &str) -> (UdpSocket, UdpSocket) {
    let (near, far) = (UdpSocket::bind((home, 0)).unwrap(), UdpSocket::bind((home, 0)).unwrap());
    near.connect(far.local_addr().unwrap()).unwrap();
    far.connect(near.local_addr().unwrap()).unwrap();
    far.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    (near, far)
}

/// The real kernel behind a filter that refuses some calls.
#[derive(Default)]
struct Filter {
    send_many: Option<i32>,
    receive_many: Option<i32>,
    set: Option<i32>,
    /// Refuses messages of more bytes than this.
    longest: Option<(usize, i32)>,
    /// Lets this number of messages of a call pass.
    at_once: Option<usize>,
    calls: Cell<usize>,
}

impl Filter {
    fn pass(&self, refusal: Option<i32>) -> io::Result<()> {
        self.calls.set(self.calls.get() + 1);
        refusal.map_or(Ok(()), |number| Err(io::Error::from_raw_os_error(number)))
    }

    fn refusal(&self, header: &libc::mmsghdr) -> Option<i32> {
        // SAFETY: the header points to one live vector.
        let length = unsafe { (*header.msg_hdr.msg_iov).iov_len };
        self.longest.filter(|(longest, _)| length > *longest).map(|(_, number)| number)
    }
}

impl Kernel for Filter {
    unsafe fn send_many(&self, socket: RawFd, headers: &mut [libc::mmsghdr]) -> io::Result<usize> {
        self.pass(self.send_many.or_else(|| self.refusal(&headers[0])))?;
        let count = self.at_once.map_or(headers.len(), |most| most.min(headers.len()));
        // SAFETY: passed on.
        unsafe { Linux.send_many(socket, &mut headers[..count]) }
    }

    unsafe fn send_one(&self, socket: RawFd, header: &mut libc::mmsghdr) -> io::Result<()> {
        self.pass(self.refusal(header))?;
        // SAFETY: passed on.
        unsafe { Linux.send_one(socket, header) }
    }

    unsafe fn receive_many(&self, socket: RawFd, headers: &mut [libc::mmsghdr]) -> io::Result<usize> {
        self.pass(self.receive_many)?;
        // SAFETY: passed on.
        unsafe { Linux.receive_many(socket, headers) }
    }

    unsafe fn receive_one(&self, socket: RawFd, header: &mut libc::mmsghdr) -> io::Result<()> {
        // SAFETY: passed on.
        unsafe { Linux.receive_one(socket, header) }
    }

    fn set(&self, socket: RawFd, level: libc::c_int, option: libc::c_int, value: libc::c_int) -> io::Result<()> {
        self.pass(self.set)?;
        Linux.set(socket, level, option, value)
    }
}

/// Fills a batch with datagrams that differ.
fn written<K: Kernel>(outbox: &mut Sender<K>) -> usize {
    let datagrams = outbox.arena.chunks_exact_mut(outbox.datagram_bytes);
    let mut count = 0;
    for (number, datagram) in datagrams.enumerate() {
        datagram.fill(u8::try_from(number).unwrap());
        count += 1;
    }
    count
}

/// Sends a whole batch and receives it, in pieces that fit into a receive buffer; the number of send calls.
fn transfer<K: Kernel, L: Kernel>(
    outbox: &mut Sender<K>,
    inbox: &mut Receiver<L>,
    near: &UdpSocket,
    far: &UdpSocket,
) -> usize {
    let count = written(outbox);
    // The default receive buffer holds about 200 KB with the kernel's own part.
    let step = (60_000 / outbox.datagram_bytes).clamp(1, 4);
    let (mut sent, mut received, mut calls) = (0, 0, 0);
    while sent < count {
        let next = (sent + step).min(count);
        let left = outbox.send(near, sent..next).unwrap();
        assert!((1..=next - sent).contains(&left));
        (sent, calls) = (sent + left, calls + 1);
        while received < sent {
            assert!(inbox.receive(far).unwrap() >= 1);
            for datagram in inbox.datagrams().map(|arrival| arrival.bytes) {
                assert_eq!(datagram.len(), outbox.datagram_bytes, "datagram {received}");
                assert!(datagram.iter().all(|byte| usize::from(*byte) == received), "datagram {received}");
                received += 1;
            }
        }
    }
    calls
}

const HOMES: [&str; 2] = ["127.0.0.1", "::1"];

fn has_ipv6() -> bool {
    UdpSocket::bind("[::1]:0").is_ok()
}

#[test]
fn batches_of_every_size_arrive_as_sent() {
    for home in HOMES.into_iter().filter(|home| *home != "::1" || has_ipv6()) {
        for bytes in [1, 64, 1472, 9000, 40_000, 65_487] {
            for offload in [false, true] {
                let (near, far) = pair(home);
                let mut outbox = Sender::new(&near, bytes, offload);
                let mut inbox = Receiver::new(&far, bytes, offload);
                transfer(&mut outbox, &mut inbox, &near, &far);
                if offload && bytes > MOST_MESSAGE_BYTES / 2 {
                    assert_eq!(outbox.segments, 1, "too long to be cut");
                }
            }
        }
    }
}

#[test]
fn the_calls_in_use_are_reported() {
    let (near, far) = pair("127.0.0.1");
    let words = |offload| {
        let (sender, receiver) = (Sender::new(&near, 1000, offload), Receiver::new(&far, 1000, offload));
        sender.in_use().chain(receiver.in_use()).collect::<Vec<_>>()
    };
    assert_eq!(words(false), ["sendmmsg", "recvmmsg"]);
    // Kernels before 4.18 and 5.0 have neither.
    assert!(words(true).iter().all(|word| ["gso", "gro", "sendmmsg", "recvmmsg"].contains(word)));
    let sender = Sender::new(&near, 1000, true);
    assert!(sender.capacity() >= 1 && sender.capacity() <= MOST_MESSAGES && sender.segments() >= 1);
}

#[test]
fn a_message_is_cut_into_segments_and_the_last_may_be_short() {
    let (near, far) = pair("127.0.0.1");
    if Linux.set(near.as_raw_fd(), libc::SOL_UDP, libc::UDP_SEGMENT, 1472).is_err() {
        eprintln!("SKIPPED: this kernel has no segmentation offload");
        return;
    }
    for coalesced in [false, true] {
        let mut inbox = Receiver::new(&far, 1472, coalesced);
        near.send(&vec![7; 3 * 1472 + 100]).unwrap();
        let mut lengths = Vec::new();
        while lengths.len() < 4 {
            inbox.receive(&far).unwrap();
            lengths.extend(inbox.datagrams().map(|arrival| arrival.bytes.len()));
        }
        assert_eq!(lengths, [1472, 1472, 1472, 100]);
    }
}

#[test]
fn every_refusal_leads_to_the_next_method() {
    let refused = |filter: Filter, offload: bool| {
        let (near, far) = pair("127.0.0.1");
        let mut outbox = Sender::with(filter, &near, 1000, offload);
        let mut inbox = Receiver::new(&far, 1000, false);
        transfer(&mut outbox, &mut inbox, &near, &far);
        (outbox.segments > 1, outbox.many)
    };
    for number in [libc::ENOSYS, libc::EPERM] {
        assert_eq!(refused(Filter { send_many: Some(number), ..Filter::default() }, false), (false, false));
    }
    for number in [libc::EIO, libc::EINVAL, libc::EMSGSIZE] {
        let filter = || Filter { longest: Some((1000, number)), ..Filter::default() };
        assert_eq!(refused(filter(), true), (false, true), "segmentation that fails on sending");
        let both = Filter { send_many: Some(libc::ENOSYS), ..filter() };
        assert_eq!(refused(both, true), (false, false));
    }
    let old = Filter { set: Some(libc::ENOPROTOOPT), ..Filter::default() };
    assert_eq!(refused(old, true), (false, true));
}

#[test]
fn a_receiver_without_its_calls_takes_one_at_a_time() {
    for filter in [
        Filter { receive_many: Some(libc::ENOSYS), ..Filter::default() },
        Filter { receive_many: Some(libc::EPERM), set: Some(libc::ENOPROTOOPT), ..Filter::default() },
    ] {
        let no_coalescing = filter.set.is_some();
        let (near, far) = pair("127.0.0.1");
        let mut outbox = Sender::new(&near, 1472, true);
        let mut inbox = Receiver::with(filter, &far, 1472, true);
        transfer(&mut outbox, &mut inbox, &near, &far);
        assert!(!inbox.many);
        assert!(!(no_coalescing && inbox.coalesced));
        assert_eq!(inbox.stamped, !no_coalescing, "the refused option");
        assert!(inbox.datagrams().all(|one| one.came_nanoseconds.is_some() <= inbox.stamped));
    }
}

#[test]
fn a_batch_that_is_cut_short_continues_there() {
    let (near, far) = pair("127.0.0.1");
    let mut outbox = Sender::with(Filter { at_once: Some(1), ..Filter::default() }, &near, 5000, false);
    let mut inbox = Receiver::new(&far, 5000, false);
    let count = written(&mut outbox);
    assert_eq!(transfer(&mut outbox, &mut inbox, &near, &far), count, "one datagram a call");
}

#[test]
fn other_errors_are_returned() {
    let (near, far) = pair("127.0.0.1");
    let mut outbox = Sender::with(Filter { send_many: Some(libc::ENOBUFS), ..Filter::default() }, &near, 100, true);
    assert_eq!(outbox.send(&near, 0..1).unwrap_err().raw_os_error(), Some(libc::ENOBUFS));
    assert_eq!(outbox.kernel.calls.get(), 2, "the option, and one try");
    far.set_read_timeout(Some(Duration::from_millis(5))).unwrap();
    let error = Receiver::new(&far, 100, true).receive(&far).unwrap_err();
    assert!(matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut), "{error}");
    let mut sender = Sender::new(&near, 100, false);
    let past = sender.capacity() + 1;
    assert!(sender.send(&near, 0..past).is_err() && sender.send(&near, 1..1).is_err());
    drop(far);
    let mut sender = Sender::new(&near, 100, false);
    let refused = (0..100).find_map(|_| {
        std::thread::sleep(Duration::from_millis(1));
        sender.send(&near, 0..1).err()
    });
    assert_eq!(refused.unwrap().kind(), io::ErrorKind::ConnectionRefused);
}

#[test]
fn a_message_that_is_refused_later_does_not_change_the_method() {
    let (near, _far) = pair("127.0.0.1");
    let mut outbox = Sender::with(Filter::default(), &near, 100, false);
    outbox.send(&near, 0..2).unwrap();
    outbox.kernel.send_many = Some(libc::EPERM);
    let error = outbox.send(&near, 0..2).unwrap_err();
    let expected = (io::ErrorKind::PermissionDenied, true);
    assert_eq!((error.kind(), outbox.many), expected, "a firewall, not a filter of calls");
}

#[test]
fn long_and_empty_datagrams_are_recognised() {
    let (near, far) = pair("127.0.0.1");
    for coalesced in [false, true] {
        let mut inbox = Receiver::new(&far, 100, coalesced);
        let mut one = |bytes: usize| {
            near.send(&vec![1; bytes]).unwrap();
            inbox.receive(&far).unwrap();
            inbox.datagrams().map(|arrival| arrival.bytes.len()).collect::<Vec<_>>()
        };
        assert_eq!(one(0), [0]);
        assert_eq!(one(99), [99]);
        assert!(one(5000)[0] > 100);
    }
}

#[test]
fn control_messages_are_read_and_garbage_is_ignored() {
    let pair = |low: i32, high: i32| {
        let halves = [low.to_ne_bytes(), high.to_ne_bytes()];
        u64::from_ne_bytes(halves.concat().try_into().unwrap())
    };
    let segment = [20, pair(libc::SOL_UDP, libc::UDP_GRO), pair(1472, -1)];
    let stamp = [32, pair(libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS), 1, 2];
    let (of_segment, of_stamp) = (Some(1472), Some(1_000_000_002));
    assert_eq!(read_controls(&segment), Controls { segment: of_segment, came_nanoseconds: None });
    let both = Controls { segment: of_segment, came_nanoseconds: of_stamp };
    assert_eq!(read_controls(&[&stamp[..], &segment].concat()), both);
    assert_eq!(read_controls(&[&segment[..], &stamp].concat()), both);
    assert_eq!(read_controls(&stamp), Controls { segment: None, came_nanoseconds: of_stamp });
    let kind = segment[1];
    for broken in
        [&[][..], &segment[..2], &[0, 0, 0], &[u64::MAX; 12], &[16, kind, 5], &[20, kind, 0], &[u64::MAX, kind]]
    {
        assert_eq!(read_controls(broken), Controls::default(), "{broken:?}");
    }
    for broken in [&stamp[..3], &[24, stamp[1], 1, 2], &[32, stamp[1], u64::MAX, 2]] {
        assert_eq!(read_controls(broken), Controls::default(), "{broken:?}");
    }
    assert_eq!(read_controls(&[20, kind, pair(-1, 0)]).segment, None);
}

#[test]
fn messages_of_one_call_have_their_own_arrival_times() {
    let (near, far) = pair("127.0.0.1");
    for coalesced in [false, true] {
        let mut inbox = Receiver::new(&far, 100, coalesced);
        assert!(inbox.stamped, "every kernel has such stamps since 2.6.22");
        for number in 0..5 {
            near.send(&[number; 100]).unwrap();
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
        let mut arrived: Vec<(u8, u64)> = Vec::new();
        while arrived.len() < 5 {
            inbox.receive(&far).unwrap();
            arrived.extend(inbox.datagrams().map(|one| (one.bytes[0], one.came_nanoseconds.unwrap())));
        }
        for (number, pair) in (0..).zip(arrived.windows(2)) {
            assert_eq!((pair[0].0, pair[1].0), (number, number + 1));
            let apart = pair[1].1.checked_sub(pair[0].1).unwrap();
            assert!(apart >= 1_000_000, "sent 2 ms apart, and arrived {apart} ns apart");
        }
    }
}
