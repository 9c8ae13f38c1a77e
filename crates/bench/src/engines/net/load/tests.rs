use std::net::{TcpListener, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use model::io::Protocol;

use super::*;
use crate::net::frames::SILENCE;

type Act<'a> = &'a (dyn Fn(&DataEnd) + Sync);

/// A probe of `bytes` over this protocol, through one window of this many milliseconds, with this server.
fn probed(protocol: Protocol, bytes: usize, milliseconds: f64, act: Act<'_>) -> (Result<(), Failure>, Tally, Probe) {
    let (near, far) = match protocol {
        Protocol::Tcp => {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            (DataEnd::Tcp(near), DataEnd::Tcp(listener.accept().unwrap().0))
        }
        Protocol::Udp => {
            let ends = [(); 2].map(|()| UdpSocket::bind("127.0.0.1:0").unwrap());
            ends[0].connect(ends[1].local_addr().unwrap()).unwrap();
            ends[1].connect(ends[0].local_addr().unwrap()).unwrap();
            let [near, far] = ends;
            (DataEnd::Udp(near), DataEnd::Udp(far))
        }
    };
    let kept = near.try_clone().unwrap();
    // A long window is one whose server fails.
    let silence = if milliseconds > 10_000.0 { Duration::from_millis(500) } else { SILENCE };
    let mut probe = Probe::numbered(near, &Content::new(7, 0, bytes), 3, 1, silence).unwrap();
    let timer = Timer::system();
    let mut tally = Tally::new(&timer);
    let outcome = thread::scope(|scope| {
        scope.spawn(|| act(&far));
        let begin = timer.now();
        let window = Window { begin, end: begin + timer.ticks(milliseconds * 1e-3) };
        tally.begin(window);
        let outcome = probe.probe(&|| Ok(()), &timer, window, &mut tally);
        kept.shut();
        far.shut();
        outcome
    });
    (outcome, tally, probe)
}

/// Echoes messages of this many bytes; `times` gives how often, given their numbers.
fn echo(end: &DataEnd, bytes: usize, times: impl Fn(u64) -> usize) {
    let mut message = vec![0; bytes];
    for number in 1.. {
        let received = match end {
            DataEnd::Tcp(stream) => (&mut &*stream).read_exact(&mut message).map(|()| bytes),
            DataEnd::Udp(socket) => socket.recv(&mut message),
        };
        if received.is_ok_and(|count| count == bytes) {
            for _ in 0..times(number) {
                let _ = match end {
                    DataEnd::Tcp(stream) => (&mut &*stream).write_all(&message),
                    DataEnd::Udp(socket) => socket.send(&message).map(drop),
                };
            }
        } else {
            return;
        }
    }
}

/// An echo that stalls for 50 ms before it answers this message.
fn stalling(end: &DataEnd, bytes: usize, before: u64) {
    echo(end, bytes, |number| {
        if number == before {
            thread::sleep(Duration::from_millis(50));
        }
        1
    });
}

#[test]
fn every_probe_that_was_due_is_answered_once() {
    for protocol in Protocol::ALL {
        for bytes in [8, 64, 65_507] {
            let (outcome, tally, probe) = probed(*protocol, bytes, 250.0, &|end| echo(end, bytes, |_| 1));
            outcome.unwrap();
            assert_eq!((tally.operations, tally.durations.count()), (probe.due.all, probe.due.all));
            assert!((60..140).contains(&probe.due.all), "{} of 100", probe.due.all);
            let datagrams = if *protocol == Protocol::Udp { probe.due.all } else { 0 };
            assert_eq!((tally.carried.datagrams_sent, tally.carried.datagrams_came), (datagrams, datagrams));
            assert_eq!((tally.bytes, probe.lost), (0, 0));
        }
    }
}

#[test]
fn a_stall_is_in_the_latency_of_all_that_fell_due_in_it() {
    for protocol in Protocol::ALL {
        let (outcome, tally, _) = probed(*protocol, 64, 500.0, &|end| stalling(end, 64, 100));
        outcome.unwrap();
        let found = tally.durations.percentiles().unwrap();
        // 20 of 200 fall due in it, 10 of them in its first half: a loop that waits for each answer has one.
        assert!(found.max >= 0.0499 && found.p99 >= 0.025, "{protocol}: {found:?}");
    }
}

#[test]
fn what_cannot_leave_when_it_is_due_is_late_and_has_waited() {
    // One at a time: as long as the buffers that it must not fill.
    let bytes = MOST_UNANSWERED_BYTES;
    let (outcome, tally, probe) = probed(Protocol::Tcp, bytes, 200.0, &|end| stalling(end, bytes, 20));
    outcome.unwrap();
    assert!(probe.due.late >= 5 && probe.due.late <= probe.due.all, "{:?}", probe.due);
    assert_eq!(tally.durations.count(), probe.due.all);
    assert!(tally.durations.quantile(0.9).unwrap() >= 0.02, "20 of 80 fell due in the stall");
}

#[test]
fn lost_probes_are_counted_and_doubled_ones_are_not() {
    let dropped = AtomicU64::new(0);
    let dropping = |end: &DataEnd| {
        echo(end, 64, |number| {
            let drops = number.is_multiple_of(10);
            dropped.fetch_add(u64::from(drops), Ordering::SeqCst);
            if drops { 0 } else { 2 }
        });
    };
    let (outcome, tally, probe) = probed(Protocol::Udp, 64, 250.0, &dropping);
    outcome.unwrap();
    let dropped = dropped.load(Ordering::SeqCst);
    assert_eq!((probe.lost, tally.carried.datagrams_sent - tally.carried.datagrams_came), (dropped, dropped));
    assert!(dropped >= 5 && tally.operations == tally.carried.datagrams_came);
}

#[test]
fn wrong_answers_an_end_that_closes_and_one_that_is_mute_are_errors() {
    let answering = |answer: fn(&mut [u8])| {
        move |end: &DataEnd| {
            let mut message = [0; 64];
            while let DataEnd::Udp(socket) = end {
                if socket.recv(&mut message).unwrap_or(0) == 0 {
                    return;
                }
                answer(&mut message);
                let _ = socket.send(&message);
            }
        }
    };
    let changed = answering(|message| message[63] ^= 1);
    let never_sent = answering(|message| message[7] ^= 1);
    for act in [&changed as Act<'_>, &never_sent] {
        let failure = probed(Protocol::Udp, 64, 60_000.0, act).0.unwrap_err();
        assert!(matches!(failure, Failure::Reason(why) if why.contains("the echo differs from what was sent")));
    }
    let kind = |protocol: Protocol, act: Act<'_>| match probed(protocol, 64, 60_000.0, act).0.unwrap_err() {
        Failure::Connection(error) => error.kind(),
        Failure::Reason(reason) => panic!("{reason}"),
    };
    let closed = kind(Protocol::Tcp, &|end| end.shut());
    assert!(
        [io::ErrorKind::UnexpectedEof, io::ErrorKind::ConnectionReset, io::ErrorKind::BrokenPipe].contains(&closed)
    );
    crate::tests::in_parallel(Protocol::ALL, |protocol| {
        assert_eq!(kind(*protocol, &|_| ()), io::ErrorKind::TimedOut, "{protocol}");
    });
}
