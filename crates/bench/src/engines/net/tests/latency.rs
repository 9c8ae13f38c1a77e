//! Round trips of every kind, against the engine's own far end and against far ends that misbehave.

use model::io::Wait;

use super::*;

/// The task of one end of an experiment.
fn task_of(params: &NetParams, role: Role, token: &str) -> Task {
    let kind = (params.protocol, params.mode, params.direction.unwrap_or(Direction::Up));
    let mut task = task(kind, params.block, params.threads, role, token);
    task.experiment.id = net_id(params);
    task.experiment.params = Params::Net(params.clone());
    task
}

/// What each thread of a near end makes of its flow beside this far end.
fn flows_beside<T: Send>(
    params: &NetParams,
    far: impl FnOnce(&Task, &mut Telling) + Send,
    change: impl Fn(&mut Task),
    measure: impl Fn(usize, &mut Driven<'_>) -> T + Sync,
) -> Vec<T> {
    let token = Token::new();
    let (tell, told) = mpsc::channel();
    thread::scope(|scope| {
        let theirs = task_of(params, Role::Peer, token.as_str());
        scope.spawn(move || far(&theirs, &mut Telling(tell)));
        let mut ours = addressed(task_of(params, Role::Measure, token.as_str()), told.recv().unwrap());
        change(&mut ours);
        in_threads(&ours, measure)
    })
}

/// The engine's own far end over IPv6; `None` where the machine has none.
fn at_home_6() -> Option<impl FnOnce(&Task, &mut Telling) + Send> {
    let address: SocketAddr = "[::1]:0".parse().unwrap();
    std::net::TcpListener::bind(address).ok()?;
    Some(move |task: &Task, telling: &mut Telling| serve_at(address, task, telling).unwrap())
}

fn spinning(protocol: Protocol, block: u64, threads: u32) -> NetParams {
    let params = areas::net::expand::params(protocol, NetMode::Pingpong, block, Direction::Up, threads);
    NetParams { wait: Some(Wait::Spinning), ..params }
}

#[test]
fn ends_that_spin_count_every_round_trip_once() {
    for (protocol, blocks) in [(Protocol::Tcp, [1, 64 << 10]), (Protocol::Udp, [1, 65_507])] {
        for block in blocks {
            let params = spinning(protocol, block, 1);
            flows_beside(
                &params,
                our_own,
                |_| (),
                |_, flow| {
                    let tally = busy_window(flow, 30);
                    assert_eq!(tally.durations.count(), tally.operations);
                    assert_eq!(tally.bytes, tally.operations * block);
                    // The kernel has such an option, or not; whether it lets us is its business.
                    let asked = sys::net::wait::busy_poll(&std::net::UdpSocket::bind("127.0.0.1:0").unwrap(), 50);
                    assert_eq!(conditions(flow).busy_poll_microseconds, asked, "{protocol} {block}");
                },
            );
        }
    }
}

#[test]
fn more_spinning_threads_than_cpus_all_get_their_turn() {
    let cpus = u32::try_from(sys::affinity::allowed_cpus().unwrap().len()).unwrap();
    for protocol in [Protocol::Tcp, Protocol::Udp] {
        let counts = flows_beside(
            &spinning(protocol, 14, 2 * cpus + 1),
            our_own,
            |_| (),
            |_, flow| busy_window(flow, 100).operations,
        );
        assert!(counts.iter().all(|count| *count > 0), "{protocol}: {counts:?}");
    }
}

#[test]
fn round_trips_go_over_ipv6_as_well() {
    for params in [
        areas::net::expand::params(Protocol::Tcp, NetMode::Pingpong, 14, Direction::Up, 2),
        areas::net::expand::params(Protocol::Udp, NetMode::Pingpong, 65_507, Direction::Up, 2),
        spinning(Protocol::Udp, 14, 1),
    ] {
        let Some(far) = at_home_6() else { return };
        flows_beside(
            &params,
            far,
            |_| (),
            |thread, flow| {
                let tally = busy_window(flow, 30);
                assert_eq!(tally.bytes, tally.operations * params.block, "thread {thread}");
                let carried = tally.carried;
                let seen = conditions(flow);
                if params.protocol == Protocol::Udp {
                    let header = 40 + 8;
                    assert!(seen.link_bytes.unwrap() >= 2 * carried.datagrams_came * (params.block + header));
                }
            },
        );
    }
}

#[test]
fn a_number_of_round_trips_is_done_in_full() {
    for (protocol, wait) in
        [(Protocol::Tcp, Wait::Blocking), (Protocol::Udp, Wait::Blocking), (Protocol::Udp, Wait::Spinning)]
    {
        let params = areas::net::expand::params(protocol, NetMode::Pingpong, 14, Direction::Up, 3);
        let params = NetParams { wait: Some(wait), ..params };
        let counts = flows_beside(
            &params,
            our_own,
            |task| task.exact_work = Some(1000.0),
            |_, flow| {
                let tally = in_full(flow).unwrap();
                assert!(tally.window().end <= Timer::system().now() && tally.window().end > tally.window().begin);
                assert_eq!(tally.durations.count(), tally.operations);
                tally.operations
            },
        );
        assert_eq!(counts, [334, 333, 333], "{protocol} {wait}");
    }
}

/// A far end of datagrams that answers as this says: how often each message.
fn answering(times: impl Fn(u64) -> usize + Send + Sync) -> impl FnOnce(&Task, &mut Telling) + Send {
    move |task: &Task, telling: &mut Telling| {
        with_end(task, telling, |end, _| {
            let DataEnd::Udp(socket) = end else { panic!("datagrams") };
            let mut buffer = [0; 64];
            for message in 1_u64.. {
                let Ok(count) = socket.recv(&mut buffer) else { return };
                for _ in 0..times(message) {
                    if socket.send(&buffer[..count]).is_err() {
                        return;
                    }
                }
            }
        });
    }
}

#[test]
fn what_was_lost_is_a_share_of_what_was_sent_in_the_window() {
    for wait in [Wait::Blocking, Wait::Spinning] {
        let params = areas::net::expand::params(Protocol::Udp, NetMode::Pingpong, 14, Direction::Up, 1);
        let params = NetParams { wait: Some(wait), ..params };
        let forgetful = answering(|message| usize::from(!message.is_multiple_of(5)));
        flows_beside(
            &params,
            forgetful,
            |_| (),
            |_, flow| {
                assert!(flow.profile().metrics.contains(&FlowMetric::Loss));
                let lost = |tally: &Tally| tally.carried.datagrams_sent - tally.carried.datagrams_came;
                // Every fifth, and each takes 0.2 s of the window; on a busy machine others may merely be late.
                let as_it_is = |tally: &Tally| {
                    let (lost, came) = (lost(tally), tally.carried.datagrams_came);
                    lost >= 2 && (4 * lost - 4..=4 * lost + 4).contains(&came)
                };
                for tally in windows_until(flow, 900, as_it_is) {
                    assert!(lost(&tally) <= 5, "{:?}", tally.carried);
                }
            },
        );
        let doubling = answering(|_| 2);
        flows_beside(
            &params,
            doubling,
            |_| (),
            |_, flow| {
                let carried = busy_window(flow, 50).carried;
                assert!(carried.datagrams_came <= carried.datagrams_sent, "{carried:?}");
            },
        );
    }
}

#[test]
fn a_mute_end_and_wrong_bytes_are_found_spinning_too() {
    for protocol in [Protocol::Tcp, Protocol::Udp] {
        let (release, held) = mpsc::channel::<()>();
        let mute = move |task: &Task, telling: &mut Telling| {
            with_end(task, telling, move |_, _| held.recv().unwrap_or_default());
        };
        let release = Mutex::new(Some(release));
        flows_beside(
            &spinning(protocol, 14, 1),
            mute,
            |_| (),
            |_, flow| {
                let error = window(flow, 60_000).unwrap_err();
                drop(lock(&release).take());
                assert!(error.contains("has not answered for 5 s"), "{error}");
            },
        );
    }
    let flipping = |task: &Task, telling: &mut Telling| {
        with_end(task, telling, |end, _| {
            let DataEnd::Udp(socket) = end else { panic!("datagrams") };
            let mut message = [0; 14];
            while socket.recv(&mut message).is_ok() {
                message[13] ^= 1;
                if socket.send(&message).is_err() {
                    return;
                }
            }
        });
    };
    flows_beside(
        &spinning(Protocol::Udp, 14, 1),
        flipping,
        |_| (),
        |_, flow| {
            let error = window(flow, 1000).unwrap_err();
            assert!(error.contains("what came back is not what was sent"), "{error}");
        },
    );
}

#[test]
fn every_connection_is_counted_once_with_its_time() {
    for threads in [1, 3] {
        let params = areas::net::expand::params(Protocol::Tcp, NetMode::Connect, 1, Direction::Up, threads);
        flows_beside(
            &params,
            our_own,
            |_| (),
            |_, flow| {
                assert_eq!(flow.profile().metrics, [FlowMetric::RoundTrips, FlowMetric::Latency]);
                for _ in 0..2 {
                    let tally = busy_window(flow, 30);
                    assert_eq!((tally.durations.count(), tally.bytes), (tally.operations, tally.operations));
                }
                assert_eq!(conditions(flow).link_bytes, None, "connections that are gone say nothing");
            },
        );
        let counts = flows_beside(
            &params,
            our_own,
            |task| task.exact_work = Some(100.0),
            |_, flow| in_full(flow).unwrap().operations,
        );
        assert_eq!(counts.iter().sum::<u64>(), 100);
    }
}

#[test]
fn connections_go_over_ipv6_as_well() {
    let Some(far) = at_home_6() else { return };
    let params = areas::net::expand::params(Protocol::Tcp, NetMode::Connect, 1, Direction::Up, 1);
    flows_beside(&params, far, |_| (), |_, flow| assert!(busy_window(flow, 30).operations > 0));
}

#[test]
fn launches_that_set_up_connections_at_one_door_do_not_disturb_each_other() {
    let params = areas::net::expand::params(Protocol::Tcp, NetMode::Connect, 1, Direction::Up, 2);
    let listener = Listener::open("127.0.0.1:0".parse().unwrap()).unwrap();
    let theirs = task_of(&params, Role::Peer, Token::new().as_str());
    let (connections, cpus, limits) = (DataConnections::default(), |_| theirs.cpus.clone(), Limits::none());
    let home = far::Home {
        listener: &listener,
        connections: &connections,
        cpus: &cpus,
        timer: Timer::system(),
        limits: &limits,
    };
    let greet = |preface: crate::net::preface::Preface, stream: TcpStream| match preface.purpose {
        Purpose::ProcessRun => far::serve(&stream, &home).unwrap(),
        Purpose::Data => connections.bring(preface, stream),
        _ => serve_late(&listener, &preface, &stream),
    };
    let both = Threads::of(2);
    let near = || {
        let token = Token::new();
        let ours = addressed(task_of(&params, Role::Measure, token.as_str()), listener.address().to_string());
        in_threads(&ours, |thread, flow| {
            for _ in 0..3 {
                if thread == 0 {
                    both.pool.meet(2, Share::default(), &Timer::system()).unwrap();
                }
                // One of another launch that is not served would be reset.
                assert!(busy_window(flow, 30).operations > 0);
            }
        })
    };
    thread::scope(|scope| {
        scope.spawn(|| listener.receive(&greet).unwrap());
        let launches = [scope.spawn(near), scope.spawn(near)].map(|launch| {
            let measured = launch.join();
            if measured.is_err() {
                both.pool.leave();
            }
            measured
        });
        listener.close();
        for measured in launches {
            measured.unwrap();
        }
    });
}

#[test]
fn a_door_that_closes_is_an_error_at_once() {
    let closing = |task: &Task, telling: &mut Telling| {
        with_end(task, telling, |end, _| {
            let DataEnd::Tcp(connection) = end else { panic!("a connection") };
            let mut connection: &TcpStream = connection;
            connection.write_all(b"+").unwrap();
        });
    };
    let params = areas::net::expand::params(Protocol::Tcp, NetMode::Connect, 1, Direction::Up, 1);
    flows_beside(
        &params,
        closing,
        |_| (),
        |_, flow| {
            // The listener closes a moment after it has welcomed us.
            let error = error_of_a_window(flow, 10);
            assert!(error.contains("refuses connections") || error.contains("the other end is gone"), "{error}");
        },
    );
}

#[test]
fn round_trips_and_the_streams_beside_them_are_counted_apart() {
    for protocol in Protocol::ALL {
        for direction in Direction::ALL {
            let params = areas::net::expand::params(*protocol, NetMode::Load, 64, *direction, 2);
            let ways = flows::ways(&params);
            assert_eq!(ways.len(), if *direction == Direction::Both { 5 } else { 3 });
            let seen = flows_beside(
                &params,
                our_own,
                |_| (),
                |thread, flow| {
                    window(flow, 50).unwrap();
                    flow.prepare(crate::engines::NextWindow::FirstSample).unwrap();
                    let tallies = windows_until(flow, 100, |tally| tally.operations > 0);
                    (thread, tallies, flow.profile(), conditions(flow))
                },
            );
            for (thread, tallies, profile, seen) in seen {
                let bytes: u64 = tallies.iter().map(|tally| tally.bytes).sum();
                let up_bytes: u64 = tallies.iter().map(|tally| tally.carried.up_bytes).sum();
                let timed: u64 = tallies.iter().map(|tally| tally.durations.count()).sum();
                if thread == 0 {
                    assert_eq!(profile.metrics[..2], [FlowMetric::Latency, FlowMetric::Bytes]);
                    assert_eq!(profile.metrics.contains(&FlowMetric::Loss), *protocol == Protocol::Udp);
                    assert_eq!(timed, tallies.iter().map(|tally| tally.operations).sum::<u64>());
                    assert!(timed > 0 && bytes == 0, "{protocol} {direction}");
                    assert!(seen.idle_latency_seconds.is_some_and(|seconds| seconds > 0.0));
                    assert!(seen.late_share.is_some_and(|share| (0.0..=1.0).contains(&share)));
                    assert_eq!(seen.load_bytes_per_second, Some(0.0));
                } else {
                    assert!(timed == 0 && bytes > 0, "{protocol} {direction}, thread {thread}");
                    assert_eq!(up_bytes, if ways[thread] == flows::Way::Up { bytes } else { 0 });
                    let rate = seen.load_bytes_per_second.unwrap();
                    let seconds = 0.1 * tallies.len() as f64;
                    assert!((rate * seconds / bytes as f64 - 1.0).abs() < 1e-6, "{rate} {bytes}");
                }
            }
        }
    }
}
