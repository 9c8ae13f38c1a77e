use model::io::Wait;

use super::*;
use crate::net::strangers::Stranger;

/// The engine's own server over IPv6; `None` where the machine has no IPv6.
fn at_home_6() -> Option<impl FnOnce(&Task, &mut Announcing) + Send> {
    let address: SocketAddr = "[::1]:0".parse().unwrap();
    std::net::TcpListener::bind(address).ok()?;
    Some(move |task: &Task, announcing: &mut Announcing| serve_at(address, task, announcing).unwrap())
}

fn pinging(protocol: Protocol, block: u64, threads: u32, wait: Wait) -> NetParams {
    let kind = (protocol, NetMode::Pingpong, Direction::Up);
    NetParams { wait: Some(wait), ..params(kind, block, threads) }
}

pub(super) fn spinning(protocol: Protocol, block: u64, threads: u32) -> NetParams {
    pinging(protocol, block, threads, Wait::Spinning)
}

fn connecting(threads: u32) -> NetParams {
    params((Protocol::Tcp, NetMode::Connect, Direction::Up), 1, threads)
}

#[test]
fn every_round_trip_is_counted_once_with_its_time() {
    // The kernel has the option of polling, or not; whether it lets us is its business.
    let polling = sys::net::wait::busy_poll(&UdpSocket::bind("127.0.0.1:0").unwrap(), 50);
    for (protocol, blocks) in [(Protocol::Tcp, [1, 14, 64 << 10]), (Protocol::Udp, [1, 14, 65_507])] {
        for (block, wait) in blocks.into_iter().flat_map(|block| Wait::ALL.iter().map(move |wait| (block, *wait))) {
            against(&pinging(protocol, block, 1, wait), None, our_own, |_, flow| {
                assert_eq!(flow.profile().metrics[..2], [FlowMetric::Latency, FlowMetric::RoundTrips]);
                for _ in 0..2 {
                    let tally = busy_window(flow, 30);
                    assert_eq!(tally.durations.count(), tally.operations);
                    assert_eq!(tally.bytes, tally.operations * block);
                    assert!(tally.durations.quantile(0.5).unwrap() > 0.0, "{protocol}, {wait}, {block} B");
                }
                let expected = polling.filter(|_| wait == Wait::Spinning);
                assert_eq!(conditions(flow).busy_poll_microseconds, expected, "{protocol} {block}");
            });
        }
    }
}

#[test]
fn more_spinning_threads_than_cpus_all_get_their_turn() {
    let cpus = u32::try_from(sys::affinity::allowed_cpus().unwrap().len()).unwrap();
    for protocol in [Protocol::Tcp, Protocol::Udp] {
        let params = spinning(protocol, 14, 2 * cpus + 1);
        let counts = against(&params, None, our_own, |_, flow| busy_window(flow, 100).operations);
        assert!(counts.iter().all(|count| *count > 0), "{protocol}: {counts:?}");
    }
}

#[test]
fn round_trips_and_connections_go_over_ipv6_as_well() {
    for params in [
        pinging(Protocol::Tcp, 14, 2, Wait::Blocking),
        pinging(Protocol::Udp, 65_507, 2, Wait::Blocking),
        spinning(Protocol::Udp, 14, 1),
        connecting(1),
    ] {
        let Some(server) = at_home_6() else { return };
        against(&params, None, server, |thread, flow| {
            let tally = busy_window(flow, 30);
            assert_eq!(tally.bytes, tally.operations * params.block, "thread {thread}");
            let seen = conditions(flow);
            if params.protocol == Protocol::Udp {
                let header = 40 + 8;
                assert!(seen.link_bytes.unwrap() >= 2 * tally.carried.datagrams_came * (params.block + header));
            }
        });
    }
}

#[test]
fn a_number_of_round_trips_is_done_in_full() {
    for (protocol, wait) in
        [(Protocol::Tcp, Wait::Blocking), (Protocol::Udp, Wait::Blocking), (Protocol::Udp, Wait::Spinning)]
    {
        let counts = against(&pinging(protocol, 14, 3, wait), Some(1000.0), our_own, |_, flow| {
            let tally = in_full(flow).unwrap();
            assert!(tally.window().end <= Timer::system().now() && tally.window().end > tally.window().begin);
            assert_eq!(tally.durations.count(), tally.operations);
            tally.operations
        });
        assert_eq!(counts, [334, 333, 333], "{protocol} {wait}");
    }
}

#[test]
fn lost_datagrams_are_a_share_of_those_sent_in_the_window_and_repeated_ones_are_not_counted() {
    for &wait in Wait::ALL {
        let params = pinging(Protocol::Udp, 14, 1, wait);
        let forgetful = answering(|message| usize::from(!message.is_multiple_of(5)));
        against(&params, None, forgetful, |_, flow| {
            assert!(flow.profile().metrics.contains(&FlowMetric::Loss));
            let lost = |tally: &Tally| tally.carried.datagrams_sent - tally.carried.datagrams_came;
            // Every fifth, and each takes 0.2 s of the window; on a busy machine others may merely be late.
            let as_it_is = |tally: &Tally| {
                let (lost, came) = (lost(tally), tally.carried.datagrams_came);
                lost >= 2 && (4 * lost - 4..=4 * lost + 4).contains(&came)
            };
            for tally in windows_until(flow, 900, as_it_is) {
                assert!(lost(&tally) <= 5, "{:?}", tally.carried);
                assert_eq!(tally.durations.count(), tally.operations);
            }
            assert!(conditions(flow).lost.is_some_and(|lost| lost >= 2));
        });
        against(&params, None, answering(|_| 2), |_, flow| {
            let carried = busy_window(flow, 50).carried;
            assert!(carried.datagrams_came <= carried.datagrams_sent, "{carried:?}");
        });
    }
}

#[test]
fn every_connection_is_counted_once_with_its_time() {
    for threads in [1, 3] {
        let params = connecting(threads);
        against(&params, None, our_own, |_, flow| {
            assert_eq!(flow.profile().metrics, [FlowMetric::RoundTrips, FlowMetric::Latency]);
            for _ in 0..2 {
                let tally = busy_window(flow, 30);
                assert_eq!((tally.durations.count(), tally.bytes), (tally.operations, tally.operations));
            }
            assert_eq!(conditions(flow).link_bytes, None, "closed connections leave no counters");
        });
        let counts = against(&params, Some(100.0), our_own, |_, flow| in_full(flow).unwrap().operations);
        assert_eq!(counts.iter().sum::<u64>(), 100);
    }
}

#[test]
fn process_runs_that_connect_to_one_listener_do_not_disturb_each_other() {
    let params = connecting(2);
    let listener = Listener::open("127.0.0.1:0".parse().unwrap()).unwrap();
    let theirs = task(&params, Role::Peer, Token::new().as_str());
    let (connections, cpus, limits) = (DataConnections::default(), |_| theirs.cpus.clone(), Limits::none());
    let home = server::Home {
        listener: &listener,
        connections: &connections,
        cpus: &cpus,
        timer: Timer::system(),
        limits: &limits,
    };
    let greet = |preface: Preface, stream: TcpStream, _: Stranger<'_>| match preface.purpose {
        Purpose::ProcessRun => server::serve(&stream, &home).unwrap(),
        Purpose::Data => connections.bring(preface, stream),
        _ => serve_late(&listener, &preface, &stream),
    };
    let both = Threads::of(2);
    let near = || {
        let token = Token::new();
        let ours = addressed(task(&params, Role::Measure, token.as_str()), listener.address.to_string());
        in_threads(&ours, |thread, flow| {
            for _ in 0..3 {
                if thread == 0 {
                    both.pool.meet(2, Share::default(), &Timer::system()).unwrap();
                }
                assert!(busy_window(flow, 30).operations > 0);
            }
        })
    };
    thread::scope(|scope| {
        scope.spawn(|| listener.receive(&greet).unwrap());
        let clients = [scope.spawn(near), scope.spawn(near)].map(|client| {
            let measured = client.join();
            if measured.is_err() {
                both.pool.leave();
            }
            measured
        });
        listener.close();
        for measured in clients {
            measured.unwrap();
        }
    });
}

#[test]
fn a_listener_that_closes_is_an_error_at_once() {
    let closing = tcp_server(|mut connection, _| connection.write_all(b"+").unwrap());
    against(&connecting(1), None, closing, |_, flow| {
        // The listener closes a moment after it has accepted.
        let error = error_of_a_window(flow, 10);
        assert!(error.contains("refuses connections") || error.contains("the server is gone"), "{error}");
    });
}

#[test]
fn round_trips_and_the_streams_of_the_load_are_counted_apart() {
    for (protocol, direction) in
        Protocol::ALL.iter().flat_map(|protocol| Direction::ALL.iter().map(move |direction| (*protocol, *direction)))
    {
        let params = params((protocol, NetMode::Load, direction), 64, 2);
        let ways = flows::ways(&params);
        assert_eq!(ways.len(), if direction == Direction::Both { 5 } else { 3 });
        let seen = against(&params, None, our_own, |thread, flow| {
            window(flow, 50).unwrap();
            flow.prepare(NextWindow::FirstSample).unwrap();
            let tallies = windows_until(flow, 100, |tally| tally.operations > 0);
            (thread, tallies, flow.profile(), conditions(flow))
        });
        for (thread, tallies, profile, seen) in seen {
            let sum = |of: fn(&Tally) -> u64| tallies.iter().map(of).sum::<u64>();
            let (bytes, timed) = (sum(|tally| tally.bytes), sum(|tally| tally.durations.count()));
            if thread == 0 {
                assert_eq!(profile.metrics[..2], [FlowMetric::Latency, FlowMetric::Bytes]);
                assert_eq!(profile.metrics.contains(&FlowMetric::Loss), protocol == Protocol::Udp);
                assert_eq!(timed, sum(|tally| tally.operations));
                assert!(timed > 0 && bytes == 0, "{protocol} {direction}");
                assert!(seen.idle_latency_seconds.is_some_and(|seconds| seconds > 0.0));
                assert!(seen.late_share.is_some_and(|share| (0.0..=1.0).contains(&share)));
                assert_eq!(seen.load_bytes_per_second, Some(0.0));
            } else {
                assert!(timed == 0 && bytes > 0, "{protocol} {direction}, thread {thread}");
                let up = ways[thread] == flows::Way::Up;
                assert_eq!(sum(|tally| tally.carried.up_bytes), if up { bytes } else { 0 });
                let (rate, seconds) = (seen.load_bytes_per_second.unwrap(), 0.1 * tallies.len() as f64);
                assert!((rate * seconds / bytes as f64 - 1.0).abs() < 1e-6, "{rate} {bytes}");
            }
        }
    }
}
