//! Both ends in one test process: the engine's own, and other ends that misbehave. No test looks at a speed.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use model::wire::Role;

use super::content::Place;
use super::*;
use crate::engine::FlowMetric;
use crate::plan::plan;
use crate::suite::{NetChoice, Suite, Threads};
use crate::tests::machine_with_cpus;

const MESSAGE: (Protocol, NetMode) = (Protocol::Tcp, NetMode::Pingpong);
const DATAGRAM: (Protocol, NetMode) = (Protocol::Udp, NetMode::Pingpong);
const STREAM: (Protocol, NetMode) = (Protocol::Tcp, NetMode::Stream);

/// A token of its own for each launch of a test.
fn token() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(1);
    format!("{:032x}", COUNT.fetch_add(1, Ordering::Relaxed))
}

/// The task of one end, without its address.
fn task((protocol, mode): (Protocol, NetMode), block: u64, threads: u32, role: Role, token: &str) -> Task {
    let params = params(protocol, mode, block, threads);
    let allowed = sys::affinity::allowed_cpus().unwrap();
    let cpus: Vec<u32> = allowed.into_iter().cycle().take(threads as usize).collect();
    let mut task = crate::tests::task();
    task.experiment = Experiment {
        id: net_id(&params),
        area: Area::Net,
        params: Params::Net(params),
        method: "net/1".into(),
        classic: None,
        kernel: None,
    };
    task.ends = Some(Ends { role, address: None, token: token.to_owned(), other_cpus: cpus.clone() });
    task.cpus = cpus;
    task
}

/// The task with the address that it is told.
fn addressed(mut task: Task, address: String) -> Task {
    task.ends.as_mut().unwrap().address = Some(address);
    task
}

/// Passes on where the measuring end listens.
struct Telling(mpsc::Sender<String>);

impl Preparing for Telling {
    fn progress(&mut self, done: f64) {
        assert!((0.0..1.0).contains(&done));
    }

    fn listening(&mut self, address: &str) {
        self.0.send(address.to_owned()).unwrap();
    }
}

/// Runs a measuring end of one thread beside this other end, which is given its task.
fn beside<T>(
    kind: (Protocol, NetMode),
    block: u64,
    other: impl FnOnce(&Task) + Send,
    measure: impl FnOnce(&mut dyn Flow) -> T,
) -> T {
    let token = token();
    let (tell, told) = mpsc::channel();
    thread::scope(|scope| {
        let theirs = task(kind, block, 1, Role::Peer, &token);
        scope.spawn(move || other(&addressed(theirs, told.recv().unwrap())));
        let ours = task(kind, block, 1, Role::Measure, &token);
        NetEngine.prepare(&ours, &mut Telling(tell)).unwrap();
        let Opened::Flow(mut flow) = NetEngine.open(&ours, 0).unwrap_or_else(|trouble| panic!("{trouble:?}")) else {
            panic!("a network experiment waits")
        };
        measure(flow.as_mut())
    })
}

/// The engine's own other end.
fn our_own(task: &Task) {
    NetEngine.peer(task).unwrap();
}

/// An other end that does this with its connection to the measuring one.
fn with_end(task: &Task, act: impl FnOnce(&DataEnd)) {
    let (params, ends) = checked(task).unwrap();
    let met = meet::connect(ends.address.as_deref().unwrap(), &terms(params, ends)).unwrap();
    if let DataEnd::Udp(socket) = &met.ends[0] {
        // Nobody says that there are no more datagrams: these ends do not watch the control connection.
        socket.set_read_timeout(Some(Duration::from_secs(2))).unwrap();
    }
    act(&met.ends[0]);
}

/// One window of so many milliseconds after a lead of 10 ms.
fn window(flow: &mut dyn Flow, milliseconds: u32) -> Result<Tally, String> {
    let timer = Timer::system();
    let begin = timer.now() + timer.ticks(0.01);
    let window = Window { begin, end: begin + timer.ticks(f64::from(milliseconds) * 1e-3) };
    let mut tally = Tally::new(&timer);
    tally.begin(window);
    flow.run(&timer, window, &mut tally)?;
    assert!(timer.now() >= window.end, "the window was not used up");
    flow.verify()?;
    Ok(tally)
}

/// A window in which something was counted: on a busy machine a short one may hold nothing.
fn busy_window(flow: &mut dyn Flow, milliseconds: u32) -> Tally {
    let mut tries = (0..100).map(|_| window(flow, milliseconds).unwrap());
    tries.find(|tally| tally.operations > 0).expect("nothing was counted in a hundred windows")
}

fn conditions(flow: &mut dyn Flow) -> NetConditions {
    let mut seen = Observations::default();
    flow.conclude(&mut seen);
    seen.net.unwrap()
}

#[test]
fn streams_of_every_block_size_come_as_they_were_sent() {
    for block in [1, 14, 1000, 128 << 10, 1 << 20] {
        beside(STREAM, block, our_own, |flow| {
            assert_eq!(flow.profile().metrics, [FlowMetric::Bytes]);
            for _ in 0..3 {
                let tally = busy_window(flow, 20);
                assert!(tally.bytes >= tally.operations, "block {block}");
                assert!(tally.bytes <= tally.operations * block, "a receive is no longer than a block of {block}");
                // Between samples nobody receives, and the sender waits.
                thread::sleep(Duration::from_millis(5));
            }
        });
    }
}

#[test]
fn no_more_is_received_than_was_sent() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let content = || Content::new("0123456789abcdef0123456789abcdef", 0, 10_000);
    thread::scope(|scope| {
        let sender = scope.spawn(move || stream::send(&TcpStream::connect(address).unwrap(), &content()).unwrap());
        let (connection, _) = listener.accept().unwrap();
        let mut receiver = Receiver::new(connection, content()).unwrap();
        let timer = Timer::system();
        let mut tally = Tally::new(&timer);
        // Whatever comes counts; the window ends with the first receive after 50 ms.
        let window = Window { begin: 0, end: timer.now() + timer.ticks(0.05) };
        tally.begin(window);
        receiver.run(&timer, window, &mut tally).unwrap();
        receiver.verify().unwrap();
        let Place { block, within } = receiver.place();
        drop(receiver);
        let sent = sender.join().unwrap();
        let received = block * 10_000 + within as u64;
        assert!(received >= tally.bytes && received > 0);
        // The last block may have been sent in part.
        assert!(received <= (sent + 1) * 10_000, "{received} bytes of {sent} blocks");
    });
}

#[test]
fn every_round_trip_is_counted_once_with_its_time() {
    for (kind, blocks) in [(MESSAGE, [1, 14, 64 << 10]), (DATAGRAM, [1, 14, MOST_DATAGRAM_BYTES])] {
        for block in blocks {
            beside(kind, block, our_own, |flow| {
                assert_eq!(flow.profile().metrics, [FlowMetric::Latency, FlowMetric::RoundTrips]);
                for _ in 0..2 {
                    let tally = busy_window(flow, 30);
                    assert_eq!(tally.durations.count(), tally.operations);
                    assert_eq!(tally.bytes, tally.operations * block);
                    assert!(tally.durations.quantile(0.5).unwrap() > 0.0, "{kind:?}, {block} B");
                }
            });
        }
    }
}

#[test]
fn every_thread_has_a_connection_of_its_own() {
    for kind in [STREAM, MESSAGE, DATAGRAM] {
        let token = token();
        let (tell, told) = mpsc::channel();
        let began = AtomicU32::new(0);
        thread::scope(|scope| {
            let theirs = task(kind, 1000, 3, Role::Peer, &token);
            scope.spawn(move || our_own(&addressed(theirs, told.recv().unwrap())));
            let ours = task(kind, 1000, 3, Role::Measure, &token);
            NetEngine.prepare(&ours, &mut Telling(tell)).unwrap();
            for thread in 0..3 {
                let (ours, began) = (ours.clone(), &began);
                scope.spawn(move || {
                    let Ok(Opened::Flow(mut flow)) = NetEngine.open(&ours, thread) else { panic!("thread {thread}") };
                    assert!(NetEngine.open(&ours, thread).is_err(), "a connection is taken once");
                    began.fetch_add(1, Ordering::SeqCst);
                    while began.load(Ordering::SeqCst) < 3 {
                        thread::yield_now();
                    }
                    assert!(busy_window(flow.as_mut(), 30).operations > 0);
                });
            }
        });
        assert!(NetEngine.open(&task(kind, 1000, 3, Role::Measure, &token), 0).is_err(), "all have been taken");
    }
}

#[test]
fn what_was_seen_of_the_path_is_told_once() {
    beside(STREAM, 128 << 10, our_own, |flow| {
        window(flow, 20).unwrap();
        let seen = conditions(flow);
        assert_eq!(seen.interface.as_deref(), Some("lo"));
        assert!(seen.mtu.is_some_and(|mtu| mtu > 0) && seen.offloads.iter().any(|name| name == "tx_checksum"));
        assert!(seen.congestion_control.is_some_and(|name| !name.is_empty() && name.is_ascii()));
        assert!(seen.receive_buffer_bytes.is_some_and(|bytes| bytes > 0));
        assert!(seen.two_copy_bytes_per_second.is_some_and(|rate| rate > 0.0));
        assert_eq!((seen.peer_cpus.len(), seen.lost), (1, None));
    });
    beside(DATAGRAM, 14, our_own, |flow| {
        window(flow, 20).unwrap();
        let seen = conditions(flow);
        assert!(seen.lost.is_some());
        assert_eq!((seen.congestion_control, seen.two_copy_bytes_per_second), (None, None));
    });
}

#[test]
fn lost_datagrams_are_counted_and_the_next_is_sent() {
    let dropped = AtomicU64::new(0);
    let forgetful = |task: &Task| {
        with_end(task, |end| {
            let DataEnd::Udp(socket) = end else { panic!("datagrams") };
            let mut buffer = [0; 64];
            for message in 1_u64.. {
                let Ok(count) = socket.recv(&mut buffer) else { return };
                if message.is_multiple_of(10) {
                    dropped.fetch_add(1, Ordering::SeqCst);
                } else if socket.send(&buffer[..count]).is_err() {
                    return;
                }
            }
        });
    };
    beside(DATAGRAM, 14, forgetful, |flow| {
        let tally = window(flow, 900).unwrap();
        let seen = conditions(flow);
        // One that is merely late counts as lost too, so there may be more on a busy machine.
        assert!(seen.lost.unwrap() >= dropped.load(Ordering::SeqCst) && seen.lost.unwrap() >= 2, "{seen:?}");
        assert_eq!(tally.durations.count(), tally.operations);
    });
}

#[test]
fn echoes_that_come_twice_or_late_are_told_by_their_number() {
    let received = AtomicU64::new(0);
    let stammering = |task: &Task| {
        with_end(task, |end| {
            let DataEnd::Udp(socket) = end else { panic!("datagrams") };
            let mut buffer = [0; 64];
            while let Ok(count) = socket.recv(&mut buffer) {
                received.fetch_add(1, Ordering::SeqCst);
                if socket.send(&buffer[..count]).and_then(|_| socket.send(&buffer[..count])).is_err() {
                    return;
                }
            }
        });
    };
    beside(DATAGRAM, 14, stammering, |flow| {
        let tally = busy_window(flow, 50);
        assert!(tally.operations <= received.load(Ordering::SeqCst));
    });
}

#[test]
fn an_end_that_closes_in_the_middle_is_an_error_at_once() {
    let brief = |task: &Task| {
        with_end(task, |end| match end {
            DataEnd::Tcp(connection) => {
                let mut connection: &TcpStream = connection;
                let mut message = [0; 14];
                for _ in 0..5 {
                    connection.read_exact(&mut message).unwrap();
                    connection.write_all(&message).unwrap();
                }
            }
            DataEnd::Udp(socket) => {
                let mut message = [0; 14];
                for _ in 0..5 {
                    socket.recv(&mut message).unwrap();
                    socket.send(&message).unwrap();
                }
            }
        });
    };
    for kind in [MESSAGE, DATAGRAM] {
        let began = sys::clock::monotonic_raw_seconds();
        let error = beside(kind, 14, brief, |flow| window(flow, 60_000).unwrap_err());
        assert!(error.contains("the other end is gone"), "{error}");
        assert!(sys::clock::monotonic_raw_seconds() - began < 30.0, "it waited for the window's end");
    }
    let cut_short = |task: &Task| {
        with_end(task, |end| {
            let DataEnd::Tcp(connection) = end else { panic!("a stream") };
            let mut connection: &TcpStream = connection;
            let (_, ends) = checked(task).unwrap();
            let mut block = Content::new(&ends.token, 0, 14).block();
            content::number(&mut block, 0);
            connection.write_all(&block).unwrap();
        });
    };
    let error = beside(STREAM, 14, cut_short, |flow| window(flow, 60_000).unwrap_err());
    assert!(error.contains("the other end is gone"), "{error}");
}

#[test]
fn an_end_that_says_nothing_is_an_error_and_no_hang() {
    for kind in [STREAM, DATAGRAM] {
        let (release, held) = mpsc::channel::<()>();
        let mute = move |task: &Task| with_end(task, |_| held.recv().unwrap_or_default());
        let error = beside(kind, 14, mute, |flow| {
            let error = window(flow, 60_000).unwrap_err();
            drop(release);
            error
        });
        assert!(error.contains("has not answered for 5 s"), "{error}");
    }
}

#[test]
fn wrong_bytes_are_found() {
    let flipping = |task: &Task| {
        with_end(task, |end| {
            let DataEnd::Tcp(connection) = end else { panic!("a connection") };
            let mut connection: &TcpStream = connection;
            let mut message = [0; 14];
            while connection.read_exact(&mut message).is_ok() {
                message[13] ^= 1;
                if connection.write_all(&message).is_err() {
                    return;
                }
            }
        });
    };
    let error = beside(MESSAGE, 14, flipping, |flow| window(flow, 1000).unwrap_err());
    assert!(error.contains("what came back is not what was sent"), "{error}");
    let babbling = |task: &Task| {
        with_end(task, |end| {
            let DataEnd::Tcp(connection) = end else { panic!("a connection") };
            let mut connection: &TcpStream = connection;
            while connection.write_all(&[7; 1000]).is_ok() {}
        });
    };
    let error = beside(STREAM, 1000, babbling, |flow| window(flow, 1000).unwrap_err());
    assert!(error.contains("what came is not what was sent"), "{error}");
}

#[test]
fn strangers_are_refused_and_disturb_nobody() {
    let token = token();
    let (tell, told) = mpsc::channel();
    thread::scope(|scope| {
        let theirs = task(MESSAGE, 14, 1, Role::Peer, &token);
        let stranger = scope.spawn(move || {
            let address: String = told.recv().unwrap();
            let _mute = TcpStream::connect(&address).unwrap();
            let mut babbling = TcpStream::connect(&address).unwrap();
            babbling.write_all(&[b'x'; 1000]).unwrap();
            babbling.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
            // Closed at once: the end of the stream, or a reset for the bytes that nobody has read.
            assert!(babbling.read(&mut [0]).is_ok_and(|count| count == 0) || babbling.take_error().is_ok());
            let wrong = self::token();
            let impostor = addressed(task(MESSAGE, 14, 1, Role::Peer, &wrong), address.clone());
            let refusal = NetEngine.peer(&impostor).unwrap_err();
            assert!(refusal.reason().contains("another token"), "{refusal:?}");
            our_own(&addressed(theirs, address));
        });
        let ours = task(MESSAGE, 14, 1, Role::Measure, &token);
        NetEngine.prepare(&ours, &mut Telling(tell)).unwrap();
        let Ok(Opened::Flow(mut flow)) = NetEngine.open(&ours, 0) else { panic!("no flow") };
        assert!(busy_window(flow.as_mut(), 20).operations > 0);
        drop(flow);
        stranger.join().unwrap();
    });
}

#[test]
fn an_other_end_that_does_not_come_is_an_error() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let token = token();
    let patience = Duration::from_millis(50);
    let terms = Terms { token: &token, protocol: Protocol::Tcp, threads: 2, patience };
    let error = meet::await_peer(&listener, &terms, &mut |_| ()).unwrap_err();
    assert!(error.contains("did not come: 0 of 3 connections"), "{error}");
    let address = listener.local_addr().unwrap().to_string();
    drop(listener);
    let task = addressed(task(MESSAGE, 14, 1, Role::Peer, &token), address);
    assert!(NetEngine.peer(&task).unwrap_err().reason().contains("cannot connect to the measuring end"));
    let task = addressed(task, "nowhere".into());
    assert!(NetEngine.peer(&task).unwrap_err().reason().contains("'nowhere' is none"));
}

#[test]
fn a_task_without_a_token_is_refused() {
    let mut ours = task(MESSAGE, 14, 1, Role::Measure, "too short");
    assert!(NetEngine.open(&ours, 0).is_err() && NetEngine.peer(&ours).is_err());
    ours.ends = None;
    assert!(NetEngine.peer(&ours).is_err());
    assert!(NetEngine.open(&crate::tests::task(), 0).is_err(), "no network experiment");
}

/// The network rows of this choice, or why there are none.
fn rows(choice: &NetChoice, cpus: u32, threads: &[u32]) -> Result<Vec<Planned>, String> {
    let mut request = Request::of(Suite::of_net(choice)?);
    request.threads = threads.iter().map(|count| Threads::Count(*count)).collect();
    plan(&request, &machine_with_cpus(cpus)).map(|plan| plan.rows).map_err(|error| error.0)
}

#[test]
fn the_suites_rows_follow_the_contract() {
    let rows = rows(&NetChoice::default(), 4, &[]).unwrap();
    let ids: Vec<_> = rows.iter().map(|row| row.experiment.id.as_str()).collect();
    let expected = ["tcp-stream/128KiB", "tcp-pingpong/1B", "udp-pingpong/1B"];
    let expected: Vec<_> =
        expected.iter().flat_map(|name| [format!("net/{name}/t1"), format!("net/{name}/t4")]).collect();
    assert_eq!(ids, expected);
    for row in &rows {
        let Params::Net(params) = &row.experiment.params else { panic!("{row:?}") };
        let stream = params.mode == NetMode::Stream;
        assert_eq!((params.direction.is_some(), params.zero_copy), (stream, stream.then_some(false)));
        assert_eq!(row.experiment.method, format!("net-{}-{}/1", params.protocol, params.mode));
        assert_eq!((row.cpus.len(), row.other_cpus.len()), (params.threads as usize, params.threads as usize));
    }
}

#[test]
fn the_two_ends_of_a_connection_have_cpus_of_their_own() {
    for cpus in 1..=5 {
        for row in rows(&NetChoice::default(), cpus, &[1, 2, 3, 4, 5, 10]).unwrap() {
            for (ours, theirs) in row.cpus.iter().zip(&row.other_cpus) {
                assert!(*theirs < cpus && (cpus == 1 || ours != theirs), "{cpus} CPUs: {row:?}");
            }
        }
    }
    let rows = rows(&NetChoice::default(), 4, &[2]).unwrap();
    assert_eq!((&rows[0].cpus[..], &rows[0].other_cpus[..]), (&[0, 1][..], &[2, 3][..]));
}

#[test]
fn what_cannot_be_measured_is_refused_with_what_can() {
    let choose =
        |protocol, mode, block| NetChoice { protocols: vec![protocol], modes: vec![mode], blocks: vec![block] };
    for (protocol, mode, block) in [
        (Protocol::Tcp, NetMode::Stream, 0),
        (Protocol::Tcp, NetMode::Stream, (1 << 20) + 1),
        (Protocol::Udp, NetMode::Pingpong, 65_508),
        (Protocol::Tcp, NetMode::Pingpong, u64::MAX),
    ] {
        let error = rows(&choose(protocol, mode, block), 2, &[1]).unwrap_err();
        assert!(error.contains("is not possible over") && error.contains("write 1B to"), "{error}");
    }
    let known = rows(&choose(Protocol::Udp, NetMode::Stream, 1), 2, &[1]).unwrap_err();
    assert!(known.contains("tcp with stream"), "{known}");
    for (protocol, mode) in [(Protocol::Udp, NetMode::Stream), (Protocol::Tcp, NetMode::Connect)] {
        assert!(check(protocol, mode, 1).unwrap_err().0.contains("there are stream over tcp"));
    }
    assert_eq!(rows(&choose(Protocol::Udp, NetMode::Pingpong, 65_507), 2, &[1]).unwrap().len(), 1);
    assert_eq!(rows(&choose(Protocol::Tcp, NetMode::Pingpong, 14), 2, &[1]).unwrap().len(), 1);
}
