//! Streams of datagrams, both ends in one process: between them nothing, or a relay that does to datagrams what networks do.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::net::{Shutdown, SocketAddr, TcpListener};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use model::io::Segmentation;
use sys::clock::monotonic_raw_seconds;

use super::*;

mod transfers;

/// A benchmark of one flow, or two where both directions are measured.
fn of(mode: NetMode, direction: Direction, block: u64, segmentation: Segmentation, goal: Option<u32>) -> NetParams {
    let params = params((Protocol::Udp, mode, direction), block, 1);
    let loss_goal_per_million = goal.or(params.loss_goal_per_million);
    let params = NetParams { segmentation: Some(segmentation), loss_goal_per_million, ..params };
    areas::net::expand::check(&params).unwrap();
    params
}

fn blast(direction: Direction, block: u64, segmentation: Segmentation) -> NetParams {
    of(NetMode::Blast, direction, block, segmentation, None)
}

/// Runs the client's threads against the engine's own server, through a relay where there is one; what they found.
fn through<T: Send>(
    params: &NetParams,
    relay: Option<Fate>,
    work: Option<f64>,
    measure: impl Fn(&mut Driven<'_>) -> T + Sync,
) -> Vec<T> {
    let server = |task: &Task, announcing: &mut Announcing| {
        // Where the client fails the server gets a message, or notices, and its error is not this test's.
        let Some(fate) = relay else { return drop(ENGINE.peer(task, announcing)) };
        let over = AtomicBool::new(false);
        thread::scope(|scope| {
            let (announce, announced) = mpsc::channel();
            let server = scope.spawn(move || drop(ENGINE.peer(task, &mut Announcing(announce))));
            announcing.listening(&relayed(scope, announced.recv().unwrap().parse().unwrap(), fate, &over).to_string());
            let _ = server.join();
            over.store(true, Ordering::SeqCst);
        });
    };
    against(params, work, server, |_, flow| measure(flow))
}

fn alone<T: Send>(params: &NetParams, relay: Option<Fate>, measure: impl Fn(&mut Driven<'_>) -> T + Sync) -> T {
    through(params, relay, None, measure).remove(0)
}

/// What a relay sends instead of a datagram, given its number among all that the relay has seen.
type Fate = fn(number: u64, datagram: &[u8], held: &mut Vec<u8>) -> Vec<Vec<u8>>;

/// A relay to this address, for its connections and, at the same port, its datagrams.
fn relayed<'scope>(
    scope: &'scope thread::Scope<'scope, '_>,
    to: SocketAddr,
    fate: Fate,
    over: &'scope AtomicBool,
) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let socket = UdpSocket::bind(listener.local_addr().unwrap()).unwrap();
    let address = listener.local_addr().unwrap();
    listener.set_nonblocking(true).unwrap();
    scope.spawn(move || {
        while !over.load(Ordering::SeqCst) {
            let Ok((near, _)) = listener.accept() else {
                thread::sleep(Duration::from_millis(1));
                continue;
            };
            near.set_nonblocking(false).unwrap();
            let far = TcpStream::connect(to).unwrap();
            near.set_nodelay(true).unwrap();
            far.set_nodelay(true).unwrap();
            for (mut from, mut onto) in [(near.try_clone().unwrap(), far.try_clone().unwrap()), (far, near)] {
                scope.spawn(move || {
                    let _ = std::io::copy(&mut from, &mut onto);
                    let _ = onto.shutdown(Shutdown::Both);
                });
            }
        }
    });
    scope.spawn(move || pass_on(&socket, to, fate, over));
    address
}

/// Passes datagrams on in both directions; each flow has a socket of its own towards the server.
fn pass_on(socket: &UdpSocket, to: SocketAddr, fate: Fate, over: &AtomicBool) {
    socket.set_nonblocking(true).unwrap();
    let mut onward: BTreeMap<SocketAddr, UdpSocket> = BTreeMap::new();
    let (mut buffer, mut held) = (vec![0; 1 << 16], Vec::new());
    let mut number = 0;
    let mut meet = |datagram: &[u8], held: &mut Vec<u8>| {
        if datagram.starts_with(b"assaynet") {
            return vec![datagram.to_vec()];
        }
        number += 1;
        fate(number, datagram, held)
    };
    while !over.load(Ordering::SeqCst) {
        let mut idle = true;
        while let Ok((count, from)) = socket.recv_from(&mut buffer) {
            idle = false;
            let far = onward.entry(from).or_insert_with(|| {
                let far = UdpSocket::bind("127.0.0.1:0").unwrap();
                far.connect(to).unwrap();
                far.set_nonblocking(true).unwrap();
                far
            });
            for datagram in meet(&buffer[..count], &mut held) {
                let _ = far.send(&datagram);
            }
        }
        for (near, far) in &onward {
            while let Ok(count) = far.recv(&mut buffer) {
                idle = false;
                for datagram in meet(&buffer[..count], &mut held) {
                    let _ = socket.send_to(&datagram, near);
                }
            }
        }
        if idle {
            thread::sleep(Duration::from_micros(50));
        }
    }
}

/// What holds in every window, however busy the machine is.
fn conserved(tally: &Tally, params: &NetParams, up: bool) {
    let carried = &tally.carried;
    assert_eq!(tally.bytes, tally.operations * params.block);
    assert!(carried.datagrams_came <= carried.datagrams_sent, "{carried:?}");
    assert_eq!(carried.up_bytes, if up { tally.bytes } else { 0 });
    // Unknown if the server has only just begun.
    assert!(carried.cpu_seconds.is_none_or(|seconds| seconds >= 0.0), "{carried:?}");
}

const DIRECTIONS: [Direction; 3] = [Direction::Up, Direction::Down, Direction::Both];

#[test]
fn datagrams_of_every_size_and_direction_are_counted_once_and_none_is_made_up() {
    for direction in DIRECTIONS {
        for (block, segmentation) in
            [(64, Segmentation::Off), (1472, Segmentation::Gso), (9000, Segmentation::Off), (65_507, Segmentation::Gso)]
        {
            let threads = if block == 9000 { 3 } else { 1 };
            let params = NetParams { threads, ..blast(direction, block, segmentation) };
            let flows = through(&params, None, None, |flow| {
                let metrics = flow.profile().metrics;
                assert_eq!(metrics[0], FlowMetric::Bytes);
                assert_eq!(metrics.contains(&FlowMetric::Up), params.direction == Some(Direction::Both));
                assert!(metrics.contains(&FlowMetric::Loss) && metrics.contains(&FlowMetric::Jitter));
                let tallies = windows_until(flow, 40, |tally| tally.operations > 0);
                (tallies, conditions(flow))
            });
            assert_eq!(flows.len(), threads as usize * if direction == Direction::Both { 2 } else { 1 });
            let mut came = 0;
            for (thread, (tallies, seen)) in flows.iter().enumerate() {
                let up = direction == Direction::Up || direction == Direction::Both && thread >= threads as usize;
                for tally in tallies {
                    conserved(tally, &params, up);
                }
                came += tallies.iter().map(|tally| tally.operations).sum::<u64>();
                assert!(tallies.iter().all(|tally| tally.carried.duplicates == 0), "nobody doubles datagrams here");
                assert!(seen.batching.iter().any(|word| word == "sendmmsg"), "{seen:?}");
                assert!(seen.batching.iter().any(|word| word == "recvmmsg"), "{seen:?}");
                assert!(seen.receive_buffer_bytes.is_some_and(|bytes| bytes > 0));
                assert!(seen.link_bytes.is_some_and(|bytes| bytes > 0) && seen.congestion_control.is_none());
            }
            assert!(came > 0, "{direction}, {block} B");
            let first = &flows[0].1;
            assert!(first.two_copy_bytes_per_second.is_some_and(|rate| rate > 0.0));
            assert!(flows.iter().all(|(_, seen)| seen.lost.is_some()));
        }
    }
}

/// Of ten datagrams one is lost, one is sent twice, two are swapped, and one follows a foreign one.
fn mistreat(number: u64, datagram: &[u8], held: &mut Vec<u8>) -> Vec<Vec<u8>> {
    match number % 10 {
        0 => Vec::new(),
        3 => vec![datagram.to_vec(), datagram.to_vec()],
        5 => {
            *held = datagram.to_vec();
            Vec::new()
        }
        6 => vec![datagram.to_vec(), std::mem::take(held)],
        8 => vec![b"a stranger's datagram".to_vec(), datagram.to_vec()],
        _ => vec![datagram.to_vec()],
    }
}

/// Skips a test without a rate, as on a machine that is too busy for one.
fn too_busy(what: &str, reason: &str) {
    assert!(reason.contains("the rate is not the cause") || reason.contains("use the CPUs"), "{reason}");
    eprintln!("SKIPPED: {what}: this machine is too busy: {reason}");
}

#[test]
fn what_a_relay_does_to_datagrams_is_what_is_found() {
    for direction in [Direction::Up, Direction::Down] {
        // The relay can carry this without overflowing a buffer, and the goal allows what it does.
        let params = of(NetMode::NoDrop, direction, 1472, Segmentation::Off, Some(200_000));
        let found = alone(&params, Some(mistreat), |flow| {
            let (mut tallies, mut sent) = (Vec::new(), 0);
            // A sample that lost more than the goal was too much for the relay; the next has a lower rate.
            for _ in 0..60 {
                let tally = window(flow, 150)?;
                if !tally.carried.above_goal && tally.carried.datagrams_sent > 0 {
                    sent += tally.carried.datagrams_sent;
                    tallies.push(tally);
                }
                if sent > 1000 && tallies.len() >= 4 {
                    return Ok((tallies, conditions(flow)));
                }
            }
            Err(format!("{sent} datagrams in {} samples, the rate is not the cause", tallies.len()))
        });
        let found: Result<(Vec<Tally>, NetConditions), String> = found;
        let (tallies, seen) = match found {
            Ok(found) => found,
            Err(reason) => {
                too_busy("a relay between datagrams", &reason);
                continue;
            }
        };
        for tally in &tallies {
            conserved(tally, &params, direction == Direction::Up);
        }
        let sum = |of: fn(&crate::engines::Carried) -> u64| tallies.iter().map(|one| of(&one.carried)).sum::<u64>();
        let (sent, came) = (sum(|one| one.datagrams_sent), sum(|one| one.datagrams_came));
        let share = |count: u64, of: u64| count as f64 / of as f64;
        // A tenth, and up to the goal more where the machine was busy.
        let loss = 1.0 - share(came, sent);
        assert!(loss > 0.09 && loss <= 0.2, "{loss} of {sent}");
        let (doubled, swapped) = (share(sum(|one| one.duplicates), came), share(sum(|one| one.reordered), came));
        assert!((doubled - 1.0 / 9.0).abs() < 0.04, "{doubled}");
        assert!((swapped - 1.0 / 9.0).abs() < 0.04, "{swapped}");
        assert!(seen.offered_bytes_per_second.is_some_and(|rate| rate > 0.0));
    }
}

#[test]
fn a_datagram_that_was_changed_on_the_way_is_found() {
    fn change(number: u64, datagram: &[u8], _: &mut Vec<u8>) -> Vec<Vec<u8>> {
        let mut datagram = datagram.to_vec();
        if number.is_multiple_of(7) {
            let middle = datagram.len() / 2;
            datagram[middle] ^= 1;
        }
        vec![datagram]
    }
    fn cut(_: u64, datagram: &[u8], _: &mut Vec<u8>) -> Vec<Vec<u8>> {
        vec![datagram[..datagram.len() - 1].to_vec()]
    }
    for direction in [Direction::Up, Direction::Down] {
        for fate in [change as Fate, cut] {
            let error =
                alone(&blast(direction, 1472, Segmentation::Off), Some(fate), |flow| error_of_a_window(flow, 50));
            assert!(error.contains("the received data differ from the sent data"), "{error}");
        }
    }
}

#[test]
fn headers_that_were_changed_belong_to_nobody() {
    fn scramble(_: u64, datagram: &[u8], _: &mut Vec<u8>) -> Vec<Vec<u8>> {
        let mut datagram = datagram.to_vec();
        datagram[9] ^= 0x10;
        vec![datagram]
    }
    let [down, up] = [Direction::Down, Direction::Up].map(|way| blast(way, 1472, Segmentation::Off));
    let error = alone(&down, Some(scramble), |flow| error_of_a_window(flow, 50));
    assert!(error.contains("belongs to this process run"), "{error}");
    let sent = |tally: &Tally| tally.carried.datagrams_sent > 0;
    for tally in alone(&up, Some(scramble), |flow| windows_until(flow, 50, sent)) {
        assert_eq!((tally.operations, tally.carried.datagrams_came), (0, 0));
    }
}

#[test]
fn a_path_that_swallows_datagrams_is_not_an_end_that_is_stopped() {
    fn swallow_long(_: u64, datagram: &[u8], _: &mut Vec<u8>) -> Vec<Vec<u8>> {
        if datagram.len() > 1000 { Vec::new() } else { vec![datagram.to_vec()] }
    }
    fn swallow_all(_: u64, _: &[u8], _: &mut Vec<u8>) -> Vec<Vec<u8>> {
        Vec::new()
    }
    for (block, fate, says) in [
        (1472, swallow_long as Fate, "packets of 1500 bytes seem to vanish on the path"),
        (14, swallow_all, "Look for a firewall between the two"),
    ] {
        let params = params(DATAGRAM, block, 1);
        wait_briefly();
        let error = alone(&params, Some(fate), |flow| window(flow, 60_000).unwrap_err());
        assert!(error.contains("the server answers") && error.contains(says), "{error}");
        assert_eq!(error.contains("ICMP"), block == 1472, "{error}");
    }
    let seen = alone(&params(DATAGRAM, 14, 1), Some(swallow_long), |flow| {
        assert!(busy_window(flow, 50).operations > 0, "short ones come through");
        conditions(flow)
    });
    assert!(seen.path_mtu.is_some_and(|bytes| bytes >= 1280) && seen.mtu_discovery.is_some(), "{seen:?}");
}

#[test]
fn a_path_that_loses_at_any_rate_has_no_rate_without_loss() {
    fn lose_some(number: u64, datagram: &[u8], _: &mut Vec<u8>) -> Vec<Vec<u8>> {
        if number.is_multiple_of(3) { Vec::new() } else { vec![datagram.to_vec()] }
    }
    for direction in DIRECTIONS {
        let params = of(NetMode::NoDrop, direction, 1472, Segmentation::Gso, Some(0));
        let mut tries = (0..10).map(|_| through(&params, Some(lose_some), None, |flow| window(flow, 50).unwrap_err()));
        // A machine that is too busy to send says that instead.
        let reasons = tries.find(|reasons| !reasons[0].contains("use the CPUs")).unwrap();
        for reason in &reasons {
            assert!(reason.contains("0 of a million datagrams") && reason.contains("allow more loss"), "{reason}");
        }
    }
}

#[test]
fn a_rate_that_was_found_is_kept_to_and_lowered_after_a_sample_that_lost_more() {
    for direction in DIRECTIONS {
        let params = of(NetMode::NoDrop, direction, 1472, Segmentation::Gso, Some(100_000));
        let flows = through(&params, None, None, |flow| {
            flow.prepare(NextWindow::FirstSample).unwrap();
            let (mut tallies, mut sent) = (Vec::new(), 0);
            // On a busy machine nobody may send in a short window.
            while tallies.len() < 4 || sent == 0 && tallies.len() < 200 {
                let tally = window(flow, 60)?;
                sent = flow.meet(tally.carried.datagrams_sent).0;
                tallies.push(tally);
            }
            Ok((tallies, conditions(flow)))
        });
        for (thread, found) in flows.iter().enumerate() {
            let (tallies, seen) = match found {
                Ok(found) => found,
                Err(reason) => {
                    let reason: &String = reason;
                    return too_busy("a rate without loss", reason);
                }
            };
            let up = direction == Direction::Up || direction == Direction::Both && thread == 1;
            for tally in tallies {
                conserved(tally, &params, up);
            }
            assert!(seen.offered_bytes_per_second.is_some_and(|rate| rate > 0.0 && rate.is_finite()));
        }
        // What all flows lost together is what is held against the goal, and every thread gets the same answer.
        let of_window = |window: usize| flows.iter().map(move |flow| &flow.as_ref().unwrap().0[window].carried);
        let windows = flows[0].as_ref().unwrap().0.len();
        for number in 0..windows {
            let sent: u64 = of_window(number).map(|one| one.datagrams_sent).sum();
            let came: u64 = of_window(number).map(|one| one.datagrams_came).sum();
            let above = (sent - came) * 10 > sent;
            assert!(of_window(number).all(|one| one.above_goal == above), "{came} of {sent}");
        }
        let lost: u64 = (0..windows).flat_map(of_window).map(|one| one.datagrams_sent - one.datagrams_came).sum();
        assert_eq!(flows[0].as_ref().unwrap().1.lost, Some(lost));
    }
}

#[test]
fn work_that_is_done_in_full_is_sent_to_the_last_datagram() {
    for direction in [Direction::Up, Direction::Down] {
        for mode in [NetMode::Blast, NetMode::NoDrop] {
            let params = of(mode, direction, 1000, Segmentation::Gso, (mode == NetMode::NoDrop).then_some(100_000));
            let found = through(&params, None, Some(300_500.0), in_full);
            let tally = match &found[0] {
                Ok(tally) => tally,
                Err(reason) => {
                    too_busy("work in full at a rate", reason);
                    continue;
                }
            };
            assert_eq!(tally.carried.datagrams_sent, 301);
            conserved(tally, &params, direction == Direction::Up);
            assert!(tally.operations <= 301 && tally.window().end < Window::NO_END);
        }
    }
}

#[test]
fn a_server_that_is_mute_or_vanishes_is_an_error_in_seconds() {
    let began = monotonic_raw_seconds();
    let transfer = (Protocol::Udp, NetMode::Transfer, Direction::Up);
    let [up, down] = [Direction::Up, Direction::Down].map(|direction| (Protocol::Udp, NetMode::Blast, direction));
    crate::tests::in_parallel([up, down, transfer], |kind| {
        let error = with_server(kind, 1000, udp_server(|_| ()), |flow| {
            (0..10).find_map(|_| window(flow, 20_000).err()).expect("nothing was noticed")
        });
        assert!(error.contains("the server"), "{error}");
    });
    crate::tests::in_parallel([down, transfer], |kind| {
        wait_briefly();
        let error = with_server(kind, 1000, mute, |flow| window(flow, 60_000).unwrap_err());
        assert!(error.contains("has not answered for 0.5 s"), "{error}");
    });
    assert!(monotonic_raw_seconds() - began < 90.0);
}

#[test]
fn a_sender_of_datagrams_stops_where_nothing_is_heard() {
    let ((), _) = in_session(&blast(Direction::Down, 1000, Segmentation::Off), |session, ends| {
        let DataEnd::Udp(socket) = &ends[0] else { panic!("datagrams") };
        let timer = Timer::system();
        let window = Window { begin: timer.now(), end: timer.now() + timer.ticks(90.0) };
        session.announce(1, window, Some(1e6), &timer).unwrap();
        // It sends while it hears of us: on a busy machine not at once.
        socket.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
        let mut buffer = [0; 2000];
        let mut comes_after_a_heartbeat = || {
            (0..60).any(|_| {
                session.show_life().unwrap();
                socket.recv(&mut buffer).is_ok()
            })
        };
        assert!(comes_after_a_heartbeat());
        let began = monotonic_raw_seconds();
        loop {
            match socket.recv(&mut [0; 2000]) {
                Ok(_) => {}
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => break,
                Err(error) => panic!("{error}"),
            }
            assert!(monotonic_raw_seconds() - began < 20.0, "it continues without a heartbeat");
        }
        assert!(comes_after_a_heartbeat(), "and continues with one");
    });
}
