//! Real sockets, and kernels that refuse calls.

use std::time::Duration;

use super::*;
use crate::file::tests::{on_a_thread, refuse};

/// Two sockets at this address, connected to each other.
fn pair(home: &str) -> (UdpSocket, UdpSocket) {
    let (near, far) = (UdpSocket::bind((home, 0)).unwrap(), UdpSocket::bind((home, 0)).unwrap());
    near.connect(far.local_addr().unwrap()).unwrap();
    far.connect(near.local_addr().unwrap()).unwrap();
    far.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    (near, far)
}

/// Sends a whole batch of datagrams that differ and receives it, in pieces that fit into a receive buffer; the number of
/// send calls.
fn transfer(outbox: &mut Sender, inbox: &mut Receiver, near: &UdpSocket, far: &UdpSocket) -> usize {
    let count = outbox.capacity();
    for (number, datagram) in outbox.datagrams().enumerate() {
        datagram.fill(u8::try_from(number).unwrap());
    }
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
    if set_socket_option(near.as_raw_fd(), libc::SOL_UDP, libc::UDP_SEGMENT, 1472).is_err() {
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
fn a_sender_without_its_call_sends_one_datagram_at_a_time() {
    for error in [libc::ENOSYS, libc::EPERM] {
        on_a_thread(&[(libc::SYS_sendmmsg, None, error)], || {
            let (near, far) = pair(HOMES[0]);
            let (mut outbox, mut inbox) = (Sender::new(&near, 1000, false), Receiver::new(&far, 1000, false));
            assert_eq!(transfer(&mut outbox, &mut inbox, &near, &far), outbox.capacity());
            assert_eq!(outbox.in_use().count(), 0);
        });
    }
}

#[test]
fn messages_that_cannot_be_cut_are_sent_as_datagrams() {
    let in_use = |near: &UdpSocket, far: &UdpSocket| {
        let (mut outbox, mut inbox) = (Sender::new(near, 1000, true), Receiver::new(far, 1000, false));
        transfer(&mut outbox, &mut inbox, near, far);
        outbox.in_use().collect::<Vec<_>>()
    };
    let (near, far) = pair(HOMES[0]);
    // Without checksums the kernel cuts no message, and refuses to send one that it would have to cut.
    set_socket_option(near.as_raw_fd(), libc::SOL_SOCKET, libc::SO_NO_CHECK, 1).unwrap();
    assert_eq!(in_use(&near, &far), ["sendmmsg"]);
    let (near, far) = pair(HOMES[0]);
    on_a_thread(&[(libc::SYS_setsockopt, Some(libc::SOL_UDP.cast_unsigned()), libc::ENOPROTOOPT)], move || {
        assert_eq!(in_use(&near, &far), ["sendmmsg"]);
    });
    for error in [libc::EIO, libc::EINVAL, libc::EMSGSIZE] {
        on_a_thread(&[(libc::SYS_sendmmsg, None, error)], move || {
            let (near, _far) = pair(HOMES[0]);
            let mut outbox = Sender::new(&near, 1000, true);
            assert_eq!(outbox.send(&near, 0..2).unwrap_err().raw_os_error(), Some(error));
            assert_eq!(outbox.segments, 1);
        });
    }
}

#[test]
fn a_receiver_without_its_calls_takes_one_at_a_time() {
    let no_options = [libc::SOL_UDP, libc::SOL_SOCKET]
        .map(|level| (libc::SYS_setsockopt, Some(level.cast_unsigned()), libc::ENOPROTOOPT));
    let no_call = |error| (libc::SYS_recvmmsg, None, error);
    for refusals in [vec![no_call(libc::ENOSYS)], [&no_options[..], &[no_call(libc::EPERM)]].concat()] {
        let no_coalescing = refusals.len() > 1;
        let (near, far) = pair(HOMES[0]);
        on_a_thread(&refusals, move || {
            let (mut outbox, mut inbox) = (Sender::new(&near, 1472, true), Receiver::new(&far, 1472, true));
            transfer(&mut outbox, &mut inbox, &near, &far);
            assert!(!inbox.many);
            assert!(!(no_coalescing && inbox.coalesced));
            assert_eq!(inbox.stamped, !no_coalescing, "the refused option");
            assert!(inbox.datagrams().all(|one| one.came_nanoseconds.is_some() <= inbox.stamped));
        });
    }
}

#[test]
fn other_errors_are_returned() {
    let (near, far) = pair("127.0.0.1");
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
    on_a_thread(&[], || {
        let (near, _far) = pair(HOMES[0]);
        let mut outbox = Sender::new(&near, 100, false);
        outbox.send(&near, 0..2).unwrap();
        assert!(refuse(libc::SYS_sendmmsg, None, libc::EPERM));
        let error = outbox.send(&near, 0..2).unwrap_err();
        let expected = (io::ErrorKind::PermissionDenied, true);
        assert_eq!((error.kind(), outbox.many), expected, "a firewall, not a filter of calls");
    });
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
