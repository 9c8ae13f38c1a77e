//! Streams and transfers over TCP: work done in full, spared copies, what TCP says, and ends that fail in the middle.

use super::*;
use crate::net::messages::{Announced, Asked, Counted, Counts};

/// Runs a near end of so many threads beside the engine's own far end, every thread through the same; `change` is what
/// both ends' tasks have of their own.
fn between_both<T: Send>(
    kind: Kind,
    block: u64,
    threads: u32,
    change: impl Fn(&mut Task),
    measure: impl Fn(usize, &mut Driven<'_>) -> T + Sync,
) -> Vec<T> {
    let token = Token::new();
    let (tell, told) = mpsc::channel();
    let task_of = |role| {
        let mut task = task(kind, block, threads, role, token.as_str());
        change(&mut task);
        task
    };
    let theirs = task_of(Role::Peer);
    thread::scope(|scope| {
        scope.spawn(move || our_own(&theirs, &mut Telling(tell)));
        in_threads(&addressed(task_of(Role::Measure), told.recv().unwrap()), measure)
    })
}

/// The parameters of a task.
fn params_of(task: &mut Task) -> &mut NetParams {
    let Params::Net(params) = &mut task.experiment.params else { panic!("a network experiment") };
    params
}

#[test]
fn work_that_is_done_in_full_is_all_there_and_no_more() {
    const TOTAL: u64 = 5_000_001;
    for kind in [UP, DOWN, BOTH] {
        for block in [1000, 128 << 10] {
            let tallies = between_both(
                kind,
                block,
                2,
                |task| task.exact_work = Some(TOTAL as f64),
                |_, flow| {
                    // Windows with an end before it, as in a launch that warms up.
                    window(flow, 20).unwrap();
                    (0..3).map(|_| in_full(flow).unwrap()).collect::<Vec<_>>()
                },
            );
            for sample in 0..3 {
                let bytes: u64 = tallies.iter().map(|tallies| tallies[sample].bytes).sum();
                // What is sent from here is in whole blocks.
                let more = bytes.checked_sub(TOTAL).expect("less than the work was counted");
                assert!(more < block * tallies.len() as u64, "{kind:?}, {block} B: {bytes} B");
                for tally in tallies.iter().map(|tallies| &tallies[sample]) {
                    let up = if tally.carried.up_bytes > 0 { tally.bytes } else { 0 };
                    assert_eq!(tally.carried.up_bytes, up, "a flow goes one way");
                    let Window { begin, end } = tally.window();
                    assert!(begin < end && end < Window::NO_END, "the end is told: {:?}", tally.window());
                }
            }
        }
    }
}

#[test]
fn what_tcp_did_for_the_senders_is_told_of_either_end() {
    for kind in [UP, DOWN, BOTH] {
        let seen = between_both(
            kind,
            64 << 10,
            2,
            |_| {},
            |_, flow| {
                window(flow, 20).unwrap();
                flow.prepare(crate::engines::NextWindow::FirstSample).unwrap();
                let sending = |tally: &Tally| tally.operations > 0;
                let tallies = windows_until(flow, 40, sending);
                let retransmits: Option<u64> = tallies.iter().map(|tally| tally.carried.retransmits).sum();
                // As in a launch no thread concludes before all have had their last window.
                flow.meet(0);
                let seen = conditions(flow);
                flow.meet(0);
                (retransmits, seen)
            },
        );
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
        assert!(seen[1..].iter().all(|(_, seen)| seen.tcp.is_none()), "the first speaks for all");
    }
}

#[test]
fn spared_copies_come_as_they_were_sent_and_loopback_spares_none() {
    for kind in [UP, DOWN] {
        for block in [1000, 128 << 10] {
            let sparing = |task: &mut Task| params_of(task).zero_copy = Some(true);
            let seen = between_both(kind, block, 1, sparing, |_, flow| {
                flow.prepare(crate::engines::NextWindow::FirstSample).unwrap();
                let mut told = None;
                // Of a window on a busy machine the kernel may have told nothing yet.
                for _ in 0..100 {
                    assert!(busy_window(flow, 30).bytes > 0);
                    told = conditions(flow).zero_copied_share;
                    if told.is_some() {
                        break;
                    }
                }
                told
            });
            assert_eq!(seen, [Some(0.0)], "{kind:?}, {block} B: both ends are here");
        }
    }
}

#[test]
fn what_the_far_end_found_wrong_is_the_reason_here() {
    let token = Token::new();
    let (tell, told) = mpsc::channel();
    thread::scope(|scope| {
        let theirs = task(UP, 1000, 1, Role::Peer, token.as_str());
        let far = scope.spawn(move || NetEngine.peer(&theirs, &mut Telling(tell)));
        let params = areas::net::expand::params(UP.0, UP.1, 1000, UP.2, 1);
        let opening = Opening { params, most_seconds: 60.0 };
        let (session, ends) = near::meet(&told.recv().unwrap(), token.as_str(), opening, PATIENCE).unwrap();
        let DataEnd::Tcp(connection) = &ends[0] else { panic!("a connection") };
        let mut connection: &TcpStream = connection;
        connection.write_all(&[7; 1000]).unwrap();
        while connection.write_all(&[7; 1000]).is_ok() {}
        let said = session.explain("the connection broke".to_owned(), 1500);
        assert!(said.contains("what came is not what was sent"), "{said}");
        assert_eq!(session.explain("another thread's".to_owned(), 1500), said, "every thread says the same");
        assert!(far.join().unwrap().is_err());
    });
}

#[test]
fn bytes_that_come_slowly_are_waited_for_and_those_that_stop_are_not() {
    const PIECE: usize = 1000;
    let token = Token::new();
    let (tell, told) = mpsc::channel();
    thread::scope(|scope| {
        let theirs = task(UP, PIECE as u64, 1, Role::Peer, token.as_str());
        scope.spawn(move || our_own(&theirs, &mut Telling(tell)));
        let params = areas::net::expand::params(UP.0, UP.1, PIECE as u64, UP.2, 1);
        let opening = Opening { params, most_seconds: 60.0 };
        let (session, mut ends) = near::meet(&told.recv().unwrap(), token.as_str(), opening, PATIENCE).unwrap();
        let Some(DataEnd::Tcp(connection)) = ends.pop() else { panic!("a connection") };
        let timer = Timer::system();
        let window = Window { begin: timer.now(), end: Window::NO_END };
        session.announce(1, window, None, &timer).unwrap();
        let content = content::Content::new(session.token().seed(), 0, PIECE);
        let mut block = content.block();
        let all = 5;
        scope.spawn(move || {
            let mut connection: &TcpStream = &connection;
            for next in 0..all {
                // Longer than the far end waits without a byte, all of them together.
                thread::sleep(Duration::from_millis(600));
                content::number(&mut block, next);
                connection.write_all(&block).unwrap();
            }
            // The connection stays, and the sixth never comes.
            thread::sleep(Duration::from_secs(4));
        });
        let counted = session.counted(1, 0, (all + 1) * PIECE as u64).unwrap();
        assert_eq!(counted.bytes, all * PIECE as u64);
        assert!(counted.seconds > 2.5, "until the last byte: {counted:?}");
    });
}

#[test]
fn a_far_end_that_counts_less_than_was_sent_is_found_out() {
    let losing = |task: &Task, telling: &mut Telling| {
        conversing(task, telling, |control, _, _| {
            let Ok(RunRequest::Window(Announced { number, seconds: None, .. })) = frames::read(control, PATIENCE)
            else {
                panic!("a window without an end")
            };
            frames::write(control, &RunReply::PartialPreface { number }).unwrap();
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
    let error = beside(UP, 1000, losing, |flow| in_full(flow).unwrap_err());
    assert!(error.contains("of 1000 bytes that were sent 999 came"), "{error}");
}

#[test]
fn an_end_that_stops_reading_in_the_middle_is_an_error_and_no_hang() {
    let (release, held) = mpsc::channel::<()>();
    let stalling = move |task: &Task, telling: &mut Telling| {
        with_end(task, telling, move |end, _| {
            let DataEnd::Tcp(connection) = end else { panic!("a connection") };
            let mut connection: &TcpStream = connection;
            let mut buffer = vec![0; 100_000];
            for _ in 0..50 {
                connection.read_exact(&mut buffer).unwrap();
            }
            held.recv().unwrap_or_default();
        });
    };
    let error = beside(UP, 128 << 10, stalling, |flow| {
        let error = window(flow, 60_000).unwrap_err();
        drop(release);
        error
    });
    assert!(error.contains("has not answered for 5 s"), "{error}");
}

#[test]
fn who_fails_lets_nobody_wait() {
    let token = Token::new();
    let (tell, told) = mpsc::channel();
    thread::scope(|scope| {
        let theirs = task(UP, 1000, 2, Role::Peer, token.as_str());
        scope.spawn(move || our_own(&theirs, &mut Telling(tell)));
        let ours = addressed(task(UP, 1000, 2, Role::Measure, token.as_str()), told.recv().unwrap());
        prepared(&ours);
        let other = opened(&ours, 1);
        let waiting = scope
            .spawn(move || window(&mut Driven { flow: opened(&ours, 0), threads: &Threads::of(1) }, 20).unwrap_err());
        thread::sleep(Duration::from_millis(50));
        drop(other);
        assert!(waiting.join().unwrap().contains("another thread failed"));
    });
}

/// A transfer over TCP.
const TRANSFER: Kind = (Protocol::Tcp, NetMode::Transfer, Direction::Up);

#[test]
fn a_transfer_goes_there_and_back_once_a_sample() {
    const TOTAL: u64 = 3_000_000;
    for (block, threads) in [(1, 1), (1000, 2), (128 << 10, 3)] {
        let total = if block == 1 { 20_000 } else { TOTAL };
        let change = |task: &mut Task| task.exact_work = Some(total as f64);
        let tallies = between_both(TRANSFER, block, threads, change, |thread, flow| {
            // Warm-up has windows with an end.
            assert!(window(flow, 20).unwrap().durations.count() < 1_000_000);
            flow.prepare(crate::engines::NextWindow::FirstSample).unwrap();
            let tallies: Vec<Tally> = (0..2).map(|_| in_full(flow).unwrap()).collect();
            flow.meet(0);
            let seen = conditions(flow);
            flow.meet(0);
            assert_eq!(seen.tcp.is_some(), thread == 0, "the first speaks for all: {seen:?}");
            assert!(seen.link_bytes.is_none_or(|bytes| bytes > total / u64::from(threads)));
            tallies
        });
        for sample in 0..2 {
            let of = |tally: fn(&Tally) -> u64| tallies.iter().map(|all| tally(&all[sample])).sum::<u64>();
            let bytes = of(|tally| tally.bytes);
            let least_more = bytes.checked_sub(total).expect("less than the work went there and back");
            assert!(least_more < 2 * block * u64::from(threads) + 2, "{bytes} B for {total} B");
            assert_eq!(of(|tally| tally.carried.up_bytes), bytes / 2, "as much there as back");
            for tally in tallies.iter().map(|all| &all[sample]) {
                assert_eq!((tally.operations, tally.durations.count()), (1, 1), "a sample is one exchange");
                let Window { begin, end } = tally.window();
                let seconds = Timer::system().seconds(begin, end);
                let latency = tally.durations.quantile(0.5).unwrap();
                assert!((latency / seconds - 1.0).abs() < 0.01, "{latency} s of {seconds} s");
                assert!(tally.carried.cpu_seconds.is_some() && tally.carried.retransmits.is_some());
            }
        }
    }
}

#[test]
fn a_transfer_whose_bytes_come_back_wrong_or_not_at_all_is_an_error() {
    let flipping = |task: &Task, telling: &mut Telling| {
        with_end(task, telling, |end, _| {
            let DataEnd::Tcp(connection) = end else { panic!("a connection") };
            let mut connection: &TcpStream = connection;
            let mut header = [0; 16];
            connection.read_exact(&mut header).unwrap();
            let blocks = usize::try_from(u64::from_le_bytes(header[..8].try_into().unwrap())).unwrap();
            let mut all = vec![0; blocks * 1000];
            connection.read_exact(&mut all).unwrap();
            all[999] ^= 1;
            // Who has found it closes.
            let _ = connection.write_all(&all);
        });
    };
    let error = beside(TRANSFER, 1000, flipping, |flow| window(flow, 1000).unwrap_err());
    assert!(error.contains("what came is not what was sent"), "{error}");
    let closing = |task: &Task, telling: &mut Telling| {
        with_end(task, telling, |end, _| {
            let DataEnd::Tcp(connection) = end else { panic!("a connection") };
            let mut connection: &TcpStream = connection;
            connection.read_exact(&mut [0; 5000]).unwrap();
        });
    };
    let error = beside(TRANSFER, 1000, closing, |flow| window(flow, 1000).unwrap_err());
    assert!(error.contains("the other end is gone"), "{error}");
}
