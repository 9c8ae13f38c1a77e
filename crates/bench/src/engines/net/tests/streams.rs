//! Streams and transfers over TCP: work done in full, spared copies, what TCP reports, and servers that fail in the middle.

use super::*;
use crate::net::messages::{Announced, Asked, Counted, Counts};

const TRANSFER: Kind = (Protocol::Tcp, NetMode::Transfer, Direction::Up);

#[test]
fn streams_of_every_block_size_and_direction_arrive_as_they_were_sent() {
    for kind in [UP, DOWN] {
        for block in [1, 14, 1000, 128 << 10, 1 << 20] {
            with_server(kind, block, our_own, |flow| {
                assert_eq!(flow.profile().metrics, [FlowMetric::Bytes, FlowMetric::CpuCost, FlowMetric::Retransmits]);
                let mut bytes = 0;
                for _ in 0..3 {
                    let tally = busy_window(flow, 20);
                    assert!(tally.bytes >= tally.operations, "block {block}");
                    assert!(tally.bytes <= tally.operations * block, "a receive is no longer than a block of {block}");
                    assert_eq!(tally.carried.up_bytes, if kind == UP { tally.bytes } else { 0 });
                    assert!(tally.carried.cpu_seconds.is_some_and(|seconds| seconds >= 0.0));
                    bytes += tally.bytes;
                    // Between samples nothing is counted, and a stream to the client waits.
                    thread::sleep(Duration::from_millis(5));
                }
                // Headers included, and what was sent before the windows and after them.
                let link_bytes = conditions(flow).link_bytes;
                assert!(link_bytes.is_none_or(|link_bytes| link_bytes > bytes), "{link_bytes:?}");
            });
        }
    }
}

#[test]
fn work_that_is_done_in_full_is_all_there_and_no_more() {
    const TOTAL: u64 = 5_000_001;
    for kind in [UP, DOWN, BOTH] {
        for block in [1000, 128 << 10] {
            let tallies = against(&params(kind, block, 2), Some(TOTAL as f64), our_own, |_, flow| {
                window(flow, 20).unwrap();
                (0..3).map(|_| in_full(flow).unwrap()).collect::<Vec<_>>()
            });
            for sample in 0..3 {
                let bytes: u64 = tallies.iter().map(|tallies| tallies[sample].bytes).sum();
                // The client sends whole blocks.
                let more = bytes.checked_sub(TOTAL).expect("less than the work was counted");
                assert!(more < block * tallies.len() as u64, "{kind:?}, {block} B: {bytes} B");
                for tally in tallies.iter().map(|tallies| &tallies[sample]) {
                    let up = if tally.carried.up_bytes > 0 { tally.bytes } else { 0 };
                    assert_eq!(tally.carried.up_bytes, up, "a flow has one direction");
                    let Window { begin, end } = tally.window();
                    assert!(begin < end && end < Window::NO_END, "{:?}", tally.window());
                }
            }
        }
    }
}

#[test]
fn what_tcp_did_for_the_senders_of_either_end_is_reported() {
    for kind in [UP, DOWN, BOTH] {
        let seen = against(&params(kind, 64 << 10, 2), None, our_own, |_, flow| {
            window(flow, 20).unwrap();
            flow.prepare(NextWindow::FirstSample).unwrap();
            let tallies = windows_until(flow, 40, |tally| tally.operations > 0);
            let retransmits: Option<u64> = tallies.iter().map(|tally| tally.carried.retransmits).sum();
            // As in a process run no thread concludes before all have had their last window.
            flow.meet(0);
            let seen = conditions(flow);
            flow.meet(0);
            (retransmits, seen)
        });
        let first = &seen[0].1;
        assert_eq!(first.address_family.as_deref(), Some("IPv4"));
        assert!(first.round_trip_seconds.is_some_and(|seconds| seconds > 0.0 && seconds < 5.0), "{first:?}");
        let tcp = first.tcp.as_ref().unwrap();
        let retransmits: Option<u64> = seen.iter().map(|(retransmits, _)| *retransmits).sum();
        assert!(retransmits.is_some() && tcp.retransmits == retransmits, "{retransmits:?} in windows: {tcp:?}");
        assert!(tcp.congestion_window_bytes.is_some_and(|bytes| bytes > 0), "{tcp:?}");
        let seconds = [tcp.busy_seconds, tcp.receiver_limited_seconds, tcp.buffer_limited_seconds];
        if let [Some(busy), Some(receiver), Some(buffer)] = seconds {
            assert!(busy > 0.0 && receiver + buffer <= busy + 0.01, "{tcp:?}");
        }
        assert_eq!(first.zero_copied_share, None);
        assert!(seen[1..].iter().all(|(_, seen)| seen.tcp.is_none()), "the first reports for all");
    }
}

#[test]
fn spared_copies_arrive_as_they_were_sent_and_loopback_spares_none() {
    for kind in [UP, DOWN] {
        for block in [1000, 128 << 10] {
            let params = NetParams { zero_copy: Some(true), ..params(kind, block, 1) };
            let seen = against(&params, None, our_own, |_, flow| {
                flow.prepare(NextWindow::FirstSample).unwrap();
                // On a busy machine the kernel may have reported nothing yet.
                (0..100).find_map(|_| {
                    assert!(busy_window(flow, 30).bytes > 0);
                    conditions(flow).zero_copied_share
                })
            });
            assert_eq!(seen, [Some(0.0)], "{kind:?}, {block} B: both ends are on this host");
        }
    }
}

#[test]
fn what_the_server_finds_wrong_is_the_reason_of_every_thread_of_the_client() {
    for asks in [true, false] {
        let (said, theirs) = in_session(&params(UP, 1000, 1), |session, ends| {
            let DataEnd::Tcp(connection) = &ends[0] else { panic!("a connection") };
            let mut connection: &TcpStream = connection;
            connection.write_all(&[7; 1000]).unwrap();
            if asks {
                return session.counted(1, 0, 1000).unwrap_err();
            }
            while connection.write_all(&[7; 1000]).is_ok() {}
            let said = session.explain(&Failure::Reason("the connection broke".to_owned()), 1500);
            let another = Failure::Reason("another thread's".to_owned());
            assert_eq!(session.explain(&another, 1500), said, "every thread says the same");
            said
        });
        assert!(said.contains("the server"), "{said}");
        assert!(asks || said.contains("the received data differ from the sent data"), "{said}");
        let theirs = theirs.unwrap_err();
        assert!(theirs.to_string().contains("the received data differ from the sent data"), "{theirs:?}");
    }
}

#[test]
fn bytes_that_arrive_slowly_are_waited_for_and_those_that_stop_are_not() {
    const PIECE: usize = 1000;
    let all = 5;
    let (counted, _) = in_session(&params(UP, PIECE as u64, 1), |session, ends| {
        let DataEnd::Tcp(connection) = &ends[0] else { panic!("a connection") };
        let mut connection: &TcpStream = connection;
        let timer = Timer::system();
        session.announce(1, Window { begin: timer.now(), end: Window::NO_END }, None, &timer).unwrap();
        let mut block = content::Content::new(session.token.seed(), 0, PIECE).block();
        thread::scope(|scope| {
            scope.spawn(move || {
                for next in 0..all {
                    // Longer in all than the server waits without a byte.
                    thread::sleep(Duration::from_millis(600));
                    content::number(&mut block, next);
                    connection.write_all(&block).unwrap();
                }
            });
            // The connection stays open, and the sixth block never arrives.
            session.counted(1, 0, (all + 1) * PIECE as u64).unwrap()
        })
    });
    assert_eq!(counted.bytes, all * PIECE as u64);
    assert!(counted.seconds > 2.5, "until the last byte: {counted:?}");
}

#[test]
fn a_server_that_counts_less_than_was_sent_is_found_out() {
    let losing = |task: &Task, announcing: &mut Announcing| {
        conversing(task, announcing, |control, _, _| {
            let Ok(RunRequest::Window(Announced { number, seconds: None, .. })) = frames::read(control, PATIENCE)
            else {
                panic!("a window without an end")
            };
            frames::write(control, &RunReply::Begun { number }).unwrap();
            let Ok(RunRequest::Count(Asked { number, sent_bytes })) = frames::read(control, PATIENCE) else {
                panic!("what was counted")
            };
            for _ in 0..3 {
                frames::write(control, &RunReply::Arriving).unwrap();
            }
            let counted = Counted { seconds: 0.1, bytes: sent_bytes[0] - 1, messages: 1, ..Counted::default() };
            frames::write(control, &RunReply::Counted(Counts { number, threads: vec![counted] })).unwrap();
        });
    };
    let error = with_server(UP, 1000, losing, |flow| in_full(flow).unwrap_err());
    assert!(error.contains("of 1000 bytes that were sent 999 arrived"), "{error}");
}

#[test]
fn a_server_that_stops_reading_in_the_middle_is_an_error_and_no_hang() {
    let (release, held) = mpsc::channel::<()>();
    let release = Mutex::new(Some(release));
    let stalling = tcp_server(move |mut connection, _| {
        let mut buffer = vec![0; 100_000];
        (0..50).for_each(|_| connection.read_exact(&mut buffer).unwrap());
        held.recv().unwrap_or_default();
    });
    wait_briefly();
    let error = with_server(UP, 128 << 10, stalling, |flow| {
        let error = window(flow, 60_000).unwrap_err();
        drop(lock(&release).take());
        error
    });
    assert!(error.contains("has not answered for 0.5 s"), "{error}");
}

#[test]
fn a_thread_that_fails_lets_none_wait() {
    while_served(&params(UP, 1000, 2), our_own, |ours| {
        prepared(&ours);
        let other = opened(&ours, 1);
        let waiting = thread::spawn(move || {
            window(&mut Driven { flow: opened(&ours, 0), threads: &Threads::of(1) }, 20).unwrap_err()
        });
        thread::sleep(Duration::from_millis(50));
        drop(other);
        assert!(waiting.join().unwrap().contains("another thread failed"));
    });
}

#[test]
fn a_transfer_goes_there_and_back_once_a_sample() {
    for (block, threads) in [(1, 1), (1000, 2), (128 << 10, 3)] {
        let total = if block == 1 { 20_000 } else { 3_000_000 };
        let tallies = against(&params(TRANSFER, block, threads), Some(total as f64), our_own, |thread, flow| {
            assert!(window(flow, 20).unwrap().durations.count() < 1_000_000);
            flow.prepare(NextWindow::FirstSample).unwrap();
            let tallies: Vec<Tally> = (0..2).map(|_| in_full(flow).unwrap()).collect();
            flow.meet(0);
            let seen = conditions(flow);
            flow.meet(0);
            assert_eq!(seen.tcp.is_some(), thread == 0, "the first reports for all: {seen:?}");
            assert!(seen.link_bytes.is_none_or(|bytes| bytes > total / u64::from(threads)));
            tallies
        });
        for sample in 0..2 {
            let of = |tally: fn(&Tally) -> u64| tallies.iter().map(|all| tally(&all[sample])).sum::<u64>();
            let bytes = of(|tally| tally.bytes);
            let least_more = bytes.checked_sub(total).expect("less than the work was transferred");
            assert!(least_more < 2 * block * u64::from(threads) + 2, "{bytes} B for {total} B");
            assert_eq!(of(|tally| tally.carried.up_bytes), bytes / 2, "as much there as back");
            for tally in tallies.iter().map(|all| &all[sample]) {
                is_one_exchange(tally);
                assert!(tally.carried.cpu_seconds.is_some() && tally.carried.retransmits.is_some());
            }
        }
    }
}

/// A sample of a transfer is one exchange, whose time is that of the window.
pub(super) fn is_one_exchange(tally: &Tally) {
    assert_eq!((tally.operations, tally.durations.count()), (1, 1));
    let Window { begin, end } = tally.window();
    let (seconds, latency) = (Timer::system().seconds(begin, end), tally.durations.quantile(0.5).unwrap());
    assert!(end < Window::NO_END && (latency / seconds - 1.0).abs() < 0.01, "{latency} s of {seconds} s");
}

#[test]
fn a_transfer_whose_bytes_come_back_wrong_or_not_at_all_is_an_error() {
    let flipping = tcp_server(|mut connection, _| {
        let mut header = [0; 16];
        connection.read_exact(&mut header).unwrap();
        let blocks = usize::try_from(u64::from_le_bytes(header[..8].try_into().unwrap())).unwrap();
        let mut all = vec![0; blocks * 1000];
        connection.read_exact(&mut all).unwrap();
        all[999] ^= 1;
        let _ = connection.write_all(&all);
    });
    let error = with_server(TRANSFER, 1000, flipping, |flow| window(flow, 1000).unwrap_err());
    assert!(error.contains("the received data differ from the sent data"), "{error}");
    let closing = tcp_server(|mut connection, _| connection.read_exact(&mut [0; 5000]).unwrap());
    let error = with_server(TRANSFER, 1000, closing, |flow| window(flow, 1000).unwrap_err());
    assert!(error.contains("the server is gone"), "{error}");
}
