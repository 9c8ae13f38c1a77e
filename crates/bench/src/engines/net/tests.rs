//! Both ends in one test process: the engine's own, and far ends that misbehave. No test looks at a speed.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use model::document::NetConditions;
use model::experiment::{Experiment, net_id};
use model::io::{Direction, NetMode, Protocol};
use model::wire::{Observations, Role};
use sys::clock::Timer;

use super::datagrams::pool::{Pool, Share};
use super::flows::{DataEnd, PATIENCE};
use super::link::content;
use super::*;
use crate::engines::{Flow, FlowMetric, Tally, Window};
use crate::net::frames;
use crate::net::messages::{Opened as OpenedThere, RunReply, RunRequest};

mod datagrams;
mod latency;
mod streams;

mod refusals;

type Kind = (Protocol, NetMode, Direction);
const MESSAGE: Kind = (Protocol::Tcp, NetMode::Pingpong, Direction::Up);
const DATAGRAM: Kind = (Protocol::Udp, NetMode::Pingpong, Direction::Up);
const UP: Kind = (Protocol::Tcp, NetMode::Stream, Direction::Up);
const DOWN: Kind = (Protocol::Tcp, NetMode::Stream, Direction::Down);
const BOTH: Kind = (Protocol::Tcp, NetMode::Stream, Direction::Both);

/// The task of one end, without its address.
fn task((protocol, mode, direction): Kind, block: u64, threads: u32, role: Role, token: &str) -> Task {
    let params = areas::net::expand::params(protocol, mode, block, direction, threads);
    let allowed = sys::affinity::allowed_cpus().unwrap();
    let cpus: Vec<u32> = allowed.into_iter().cycle().take(flows::ways(&params).len()).collect();
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

/// Passes on where the far end listens.
struct Telling(mpsc::Sender<String>);

impl Preparing for Telling {
    fn progress(&mut self, done: f64) {
        assert!((0.0..1.0).contains(&done));
    }

    fn listening(&mut self, address: &str) {
        self.0.send(address.to_owned()).unwrap();
    }
}

/// The threads of a near end. As those of a worker they meet before each window, and it is the same for all of them.
struct Threads {
    count: usize,
    pool: Pool,
}

impl Threads {
    /// Who waits longer for the others is told so: no test hangs.
    const PATIENCE: Duration = Duration::from_mins(2);

    fn of(count: usize) -> Self {
        Self { count, pool: Pool::new(Self::PATIENCE) }
    }
}

/// Whoever fails lets the others know.
struct Leaving<'a>(&'a Threads);

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.pool.leave();
        }
    }
}

/// The flow of one thread, driven as a worker drives it.
struct Driven<'a> {
    flow: Box<dyn Flow>,
    threads: &'a Threads,
}

impl Driven<'_> {
    /// Waits for all threads; the sum of what they say, and when the last of them came: the same for all.
    fn meet(&self, says: u64) -> (u64, u64) {
        let share = Share { sent: says, came: 0 };
        let (all, at) = self.threads.pool.meet(self.threads.count, share, &Timer::system()).unwrap();
        (all.sent, at)
    }
}

impl std::ops::Deref for Driven<'_> {
    type Target = dyn Flow;

    fn deref(&self) -> &Self::Target {
        self.flow.as_ref()
    }
}

impl std::ops::DerefMut for Driven<'_> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        self.flow.as_mut()
    }
}

/// The flow of a thread of a near end that is prepared.
fn opened(task: &Task, thread: usize) -> Box<dyn Flow> {
    match NetEngine.open(task, thread) {
        Ok(Opened::Flow(flow)) => flow,
        Ok(_) => panic!("a network experiment waits"),
        Err(trouble) => panic!("thread {thread}: {trouble:?}"),
    }
}

/// Prepares a near end.
fn prepared(task: &Task) {
    NetEngine.prepare(task, &mut Telling(mpsc::channel().0)).unwrap_or_else(|trouble| {
        let ends = task.ends.as_ref().unwrap();
        let (purpose, token) = (Purpose::ProcessRun, Token::parse(&ends.token).unwrap());
        let preface = crate::net::preface::Preface { purpose, number: 0, token };
        // A far end that nobody has come to would wait for ever.
        drop(flows::connected(ends.address.as_ref().unwrap().parse().unwrap(), &preface, PATIENCE));
        panic!("{trouble:?}");
    });
}

/// Prepares a near end and lets each of its threads measure with its flow; what they found, in their order.
fn in_threads<T: Send>(task: &Task, measure: impl Fn(usize, &mut Driven<'_>) -> T + Sync) -> Vec<T> {
    prepared(task);
    let threads = Threads::of(task.cpus.len());
    thread::scope(|scope| {
        let one = |thread: usize| {
            let (threads, measure) = (&threads, &measure);
            scope.spawn(move || {
                let _leaving = Leaving(threads);
                measure(thread, &mut Driven { flow: opened(task, thread), threads })
            })
        };
        let all: Vec<_> = (0..threads.count).map(one).collect();
        all.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

/// Runs a near end of one thread beside this far end, which is given its task and says where it listens.
fn beside<T>(
    kind: Kind,
    block: u64,
    far: impl FnOnce(&Task, &mut Telling) + Send,
    measure: impl FnOnce(&mut Driven<'_>) -> T,
) -> T {
    let token = Token::new();
    let (tell, told) = mpsc::channel();
    thread::scope(|scope| {
        let theirs = task(kind, block, 1, Role::Peer, token.as_str());
        scope.spawn(move || far(&theirs, &mut Telling(tell)));
        let ours = addressed(task(kind, block, 1, Role::Measure, token.as_str()), told.recv().unwrap());
        prepared(&ours);
        measure(&mut Driven { flow: opened(&ours, 0), threads: &Threads::of(1) })
    })
}

/// The engine's own far end.
fn our_own(task: &Task, telling: &mut Telling) {
    NetEngine.peer(task, telling).unwrap();
}

/// A far end that does this with its data connection, and hears nothing on its control connection.
fn with_end(task: &Task, telling: &mut Telling, act: impl FnOnce(&DataEnd, Token) + Send) {
    conversing(task, telling, |_, end, token| act(end, token));
}

/// A far end that does this with its control connection and its data connection.
fn conversing(task: &Task, telling: &mut Telling, act: impl FnOnce(&TcpStream, &DataEnd, Token) + Send) {
    let (params, _) = checked(task).unwrap();
    let listener = Listener::open("127.0.0.1:0".parse().unwrap()).unwrap();
    telling.listening(&listener.address().to_string());
    let (connections, act) = (DataConnections::default(), Mutex::new(Some(act)));
    listener
        .receive(&|preface, control| {
            if preface.purpose != Purpose::ProcessRun {
                return connections.bring(preface, control);
            }
            let RunRequest::Open(_) = frames::read(&control, PATIENCE).unwrap() else {
                panic!("what is to be measured")
            };
            let token = Token::new();
            let arrivals = connections.expect(token);
            let opened =
                OpenedThere { token: token.as_str().into(), cpus: task.cpus.clone(), congestion_control: None };
            frames::write(&control, &RunReply::Opened(Box::new(opened))).unwrap();
            let peer = (control.local_addr().unwrap(), control.peer_addr().unwrap(), token);
            let ends = flows::gather(&listener, &arrivals, &flows::protocols(params), peer, PATIENCE).unwrap();
            if let DataEnd::Udp(socket) = &ends[0] {
                // Nobody says that there are no more datagrams: these ends do not watch the control connection.
                socket.set_read_timeout(Some(Duration::from_secs(2))).unwrap();
            }
            frames::write(&control, &RunReply::Complete).unwrap();
            let act = lock(&act).take().unwrap();
            act(&control, &ends[0], token);
            listener.close();
        })
        .unwrap();
}

/// One window of so many milliseconds after a lead of 10 ms, the same for all threads.
fn window(flow: &mut Driven<'_>, milliseconds: u32) -> Result<Tally, String> {
    let timer = Timer::system();
    flow.prepare(crate::engines::NextWindow::Any)?;
    let begin = flow.meet(0).1 + timer.ticks(0.01);
    let window = Window { begin, end: begin + timer.ticks(f64::from(milliseconds) * 1e-3) };
    let mut tally = Tally::new(&timer);
    tally.begin(window);
    flow.run(&timer, window, &mut tally)?;
    assert!(timer.now() >= window.end, "the window was not used up");
    flow.verify()?;
    Ok(tally)
}

/// A window without an end, in which the task's work is done in full.
fn in_full(flow: &mut Driven<'_>) -> Result<Tally, String> {
    let timer = Timer::system();
    flow.prepare(crate::engines::NextWindow::Any)?;
    let window = Window { begin: flow.meet(0).1 + timer.ticks(0.01), end: Window::NO_END };
    let mut tally = Tally::new(&timer);
    tally.begin(window);
    flow.run(&timer, window, &mut tally)?;
    flow.verify()?;
    Ok(tally)
}

/// All windows until in each thread one of them held what is wanted, this one's first: on a busy machine a short window may
/// hold nothing. All threads have as many.
fn windows_until(flow: &mut Driven<'_>, milliseconds: u32, wanted: impl Fn(&Tally) -> bool) -> Vec<Tally> {
    let mut tallies: Vec<Tally> = Vec::new();
    for _ in 0..200 {
        tallies.push(window(flow, milliseconds).unwrap());
        let lacks = !tallies.iter().any(&wanted);
        if flow.meet(u64::from(lacks)).0 == 0 {
            return tallies;
        }
    }
    panic!("in 200 windows there was none like this: {:?}", tallies.last());
}

/// A window in which something was counted.
fn busy_window(flow: &mut Driven<'_>, milliseconds: u32) -> Tally {
    let busy = |tally: &Tally| tally.operations > 0;
    windows_until(flow, milliseconds, busy).into_iter().find(busy).unwrap()
}

/// The error of one of these windows: in a short one there may have been nothing yet to find.
fn error_of_a_window(flow: &mut Driven<'_>, milliseconds: u32) -> String {
    (0..200).find_map(|_| window(flow, milliseconds).err()).expect("nothing was found in 200 windows")
}

fn conditions(flow: &mut Driven<'_>) -> NetConditions {
    let mut seen = Observations::default();
    flow.conclude(&mut seen);
    seen.net.unwrap()
}

#[test]
fn streams_of_every_block_size_and_direction_come_as_they_were_sent() {
    for kind in [UP, DOWN] {
        for block in [1, 14, 1000, 128 << 10, 1 << 20] {
            beside(kind, block, our_own, |flow| {
                assert_eq!(flow.profile().metrics, [FlowMetric::Bytes, FlowMetric::CpuCost, FlowMetric::Retransmits]);
                for _ in 0..3 {
                    let tally = busy_window(flow, 20);
                    assert!(tally.bytes >= tally.operations, "block {block}");
                    assert!(tally.bytes <= tally.operations * block, "a receive is no longer than a block of {block}");
                    assert_eq!(tally.carried.up_bytes, if kind == UP { tally.bytes } else { 0 });
                    assert!(tally.carried.cpu_seconds.is_some_and(|seconds| seconds >= 0.0));
                    // Between samples nobody counts, and a stream towards us waits.
                    thread::sleep(Duration::from_millis(5));
                }
            });
        }
    }
}

#[test]
fn no_more_is_received_than_was_sent() {
    beside(UP, 10_000, our_own, |flow| {
        let tally = busy_window(flow, 50);
        let seen = conditions(flow);
        // Headers included, and what was sent before the window and after it.
        assert!(tally.bytes > 0 && seen.link_bytes.is_none_or(|bytes| bytes > tally.bytes), "{seen:?}");
    });
}

#[test]
fn every_round_trip_is_counted_once_with_its_time() {
    for (kind, blocks) in [(MESSAGE, [1, 14, 64 << 10]), (DATAGRAM, [1, 14, 65_507])] {
        for block in blocks {
            beside(kind, block, our_own, |flow| {
                assert_eq!(flow.profile().metrics[..2], [FlowMetric::Latency, FlowMetric::RoundTrips]);
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
    for kind in [UP, DOWN, BOTH, MESSAGE, DATAGRAM] {
        let token = Token::new();
        let (tell, told) = mpsc::channel();
        let theirs = task(kind, 1000, 3, Role::Peer, token.as_str());
        assert_eq!(theirs.cpus.len(), if kind == BOTH { 6 } else { 3 });
        thread::scope(|scope| {
            scope.spawn(move || our_own(&theirs, &mut Telling(tell)));
            let ours = addressed(task(kind, 1000, 3, Role::Measure, token.as_str()), told.recv().unwrap());
            let ups = in_threads(&ours, |thread, flow| {
                assert!(NetEngine.open(&ours, thread).is_err(), "a connection is taken once");
                busy_window(flow, 60).carried.up_bytes > 0
            });
            for (thread, up) in ups.into_iter().enumerate() {
                assert_eq!(up, kind == UP || kind == BOTH && thread >= 3, "{kind:?}, thread {thread}");
            }
        });
        let again = task(kind, 1000, 3, Role::Measure, token.as_str());
        assert!(NetEngine.open(&again, 0).is_err(), "all have been taken");
    }
}

#[test]
fn what_was_seen_of_the_path_is_told_once() {
    beside(UP, 128 << 10, our_own, |flow| {
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
    let forgetful = |task: &Task, telling: &mut Telling| {
        with_end(task, telling, |end, _| {
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
        let lost = |tally: &Tally| tally.carried.datagrams_sent - tally.carried.datagrams_came;
        let tallies = windows_until(flow, 900, |tally| lost(tally) >= 2 && tally.operations > lost(tally));
        let seen = conditions(flow);
        // One that is merely late counts as lost too, so there may be more on a busy machine.
        assert!(seen.lost.unwrap() >= dropped.load(Ordering::SeqCst) && seen.lost.unwrap() >= 2, "{seen:?}");
        assert!(tallies.iter().all(|tally| tally.durations.count() == tally.operations));
    });
}

#[test]
fn echoes_that_come_twice_or_late_are_told_by_their_number() {
    let received = AtomicU64::new(0);
    let stammering = |task: &Task, telling: &mut Telling| {
        with_end(task, telling, |end, _| {
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
    let brief = |task: &Task, telling: &mut Telling| {
        with_end(task, telling, |end, _| match end {
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
    let cut_short = |task: &Task, telling: &mut Telling| {
        with_end(task, telling, |end, token| {
            let DataEnd::Tcp(connection) = end else { panic!("a stream") };
            let mut connection: &TcpStream = connection;
            let mut block = content::Content::new(token.seed(), 0, 14).block();
            content::number(&mut block, 0);
            connection.write_all(&block).unwrap();
        });
    };
    let error = beside(DOWN, 14, cut_short, |flow| window(flow, 60_000).unwrap_err());
    assert!(error.contains("the other end is gone"), "{error}");
}

#[test]
fn an_end_that_says_nothing_is_an_error_and_no_hang() {
    for kind in [UP, DOWN, DATAGRAM] {
        let (release, held) = mpsc::channel::<()>();
        let mute = move |task: &Task, telling: &mut Telling| {
            with_end(task, telling, move |_, _| held.recv().unwrap_or_default());
        };
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
    let flipping = |task: &Task, telling: &mut Telling| {
        with_end(task, telling, |end, _| {
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
    let babbling = |task: &Task, telling: &mut Telling| {
        with_end(task, telling, |end, _| {
            let DataEnd::Tcp(connection) = end else { panic!("a connection") };
            let mut connection: &TcpStream = connection;
            while connection.write_all(&[7; 1000]).is_ok() {}
        });
    };
    let error = beside(DOWN, 1000, babbling, |flow| window(flow, 1000).unwrap_err());
    assert!(error.contains("what came is not what was sent"), "{error}");
}

#[test]
fn what_the_far_end_finds_wrong_is_heard_at_the_near_end() {
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
        let error = session.counted(1, 0, 1000).unwrap_err();
        assert!(error.contains("the other end"), "{error}");
        let theirs = far.join().unwrap().unwrap_err();
        assert!(theirs.reason().contains("what came is not what was sent"), "{theirs:?}");
    });
}

#[test]
fn strangers_are_refused_and_disturb_nobody() {
    let token = Token::new();
    let (tell, told) = mpsc::channel();
    thread::scope(|scope| {
        let theirs = task(MESSAGE, 14, 1, Role::Peer, token.as_str());
        scope.spawn(move || our_own(&theirs, &mut Telling(tell)));
        let address = told.recv().unwrap();
        let _mute = TcpStream::connect(&address).unwrap();
        let mut babbling = TcpStream::connect(&address).unwrap();
        babbling.write_all(&[b'x'; 1000]).unwrap();
        babbling.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        // Closed at once: the end of the stream, or a reset for the bytes that nobody has read.
        assert!(babbling.read(&mut [0]).is_ok_and(|count| count == 0) || babbling.take_error().is_ok());
        let wrong = task(MESSAGE, 14, 1, Role::Measure, Token::new().as_str());
        let refusal = NetEngine.prepare(&addressed(wrong, address.clone()), &mut Telling(mpsc::channel().0));
        assert!(refusal.unwrap_err().reason().contains("the other end"));
        let ours = addressed(task(MESSAGE, 14, 1, Role::Measure, token.as_str()), address);
        assert!(in_threads(&ours, |_, flow| busy_window(flow, 20).operations)[0] > 0);
    });
}

#[test]
fn an_other_end_that_is_not_there_is_an_error() {
    let prepare = |address: &str| {
        let task = task(MESSAGE, 14, 1, Role::Measure, Token::new().as_str());
        let trouble = NetEngine.prepare(&addressed(task, address.into()), &mut Telling(mpsc::channel().0));
        trouble.unwrap_err().reason().to_owned()
    };
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    drop(listener);
    assert!(prepare(&address).contains("cannot connect to the other end"));
    assert!(prepare("nowhere").contains("'nowhere', is none"));
}
