//! Client and server in one test process: the engine's own, and servers that misbehave. No test looks at a speed.

use std::cell::Cell;
use std::io::{Read, Write};
use std::net::{TcpStream, UdpSocket};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use model::document::NetConditions;
use model::experiment::{Experiment, Params, net_id};
use model::io::{Direction, NetMode, Protocol};
use model::wire::{Observations, Role};
use sys::clock::Timer;

use super::datagrams::pool::{Pool, Share};
use super::flows::{DataEnd, PATIENCE};
use super::link::content;
use super::session::{Failure, Session};
use super::*;
use crate::engines::{Flow, FlowMetric, NextWindow, Tally, Window};
use crate::net::frames::{self, SILENCE};
use crate::net::messages::{Opened as OpenedThere, RunReply, RunRequest};
use crate::net::preface::Preface;

mod datagrams;
mod latency;
mod streams;

const ENGINE: NetEngine = NetEngine { silence: SILENCE };

thread_local! {
    /// How long clients that this thread prepares wait for a silent server.
    static WAIT: Cell<Duration> = const { Cell::new(SILENCE) };
}

/// From now on clients of this thread give a silent server up soon.
fn wait_briefly() {
    WAIT.set(Duration::from_millis(500));
}

type Kind = (Protocol, NetMode, Direction);
const MESSAGE: Kind = (Protocol::Tcp, NetMode::Pingpong, Direction::Up);
const DATAGRAM: Kind = (Protocol::Udp, NetMode::Pingpong, Direction::Up);
const UP: Kind = (Protocol::Tcp, NetMode::Stream, Direction::Up);
const DOWN: Kind = (Protocol::Tcp, NetMode::Stream, Direction::Down);
const BOTH: Kind = (Protocol::Tcp, NetMode::Stream, Direction::Both);

fn params((protocol, mode, direction): Kind, block: u64, threads: u32) -> NetParams {
    areas::net::expand::params(protocol, mode, block, direction, threads)
}

fn task(params: &NetParams, role: Role, token: &str) -> Task {
    let allowed = sys::affinity::allowed_cpus().unwrap();
    let cpus: Vec<u32> = allowed.into_iter().cycle().take(flows::ways(params).len()).collect();
    let mut task = crate::tests::task();
    task.experiment = Experiment {
        id: net_id(params),
        area: Area::Net,
        params: Params::Net(params.clone()),
        method: "net/1".into(),
        classic: None,
        kernel: None,
    };
    task.ends = Some(Ends { role, address: None, token: token.to_owned(), other_cpus: cpus.clone() });
    task.cpus = cpus;
    task
}

fn addressed(mut task: Task, address: String) -> Task {
    task.ends.as_mut().unwrap().address = Some(address);
    task
}

/// Passes on where the server listens.
struct Announcing(mpsc::Sender<String>);

impl Preparing for Announcing {
    fn progress(&mut self, done: f64) {
        assert!((0.0..1.0).contains(&done));
    }

    fn listening(&mut self, address: &str) {
        self.0.send(address.to_owned()).unwrap();
    }
}

fn unheard() -> Announcing {
    Announcing(mpsc::channel().0)
}

/// The threads of a client. As those of a worker they meet before each window.
struct Threads {
    count: usize,
    pool: Pool,
}

impl Threads {
    fn of(count: usize) -> Self {
        // Longer than any test, so that none hangs.
        Self { count, pool: Pool::new(Duration::from_secs(120)) }
    }
}

/// A thread that fails releases the other threads.
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
    /// Waits for all threads; the sum of their numbers, and when the last of them came.
    fn meet(&self, number: u64) -> (u64, u64) {
        let share = Share { sent: number, came: 0 };
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

fn opened(task: &Task, thread: usize) -> Box<dyn Flow> {
    match ENGINE.open(task, thread) {
        Ok(Opened::Flow(flow)) => flow,
        Ok(_) => panic!("a network benchmark waits"),
        Err(trouble) => panic!("thread {thread}: {trouble:?}"),
    }
}

fn prepared(task: &Task) {
    NetEngine { silence: WAIT.get() }.prepare(task, &mut unheard()).unwrap_or_else(|trouble| {
        let ends = task.ends.as_ref().unwrap();
        let (purpose, token) = (Purpose::ProcessRun, Token::parse(&ends.token).unwrap());
        // A server to which nobody connects would wait for ever.
        let address = ends.address.as_ref().unwrap().parse().unwrap();
        drop(flows::connected(address, &Preface { purpose, number: 0, token }));
        panic!("{trouble:?}");
    });
}

/// Prepares a client and lets each of its threads measure with its flow; what they found, in their order.
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

/// What is done with a client's task while this server runs, which reports its address.
fn while_served<T>(
    params: &NetParams,
    server: impl FnOnce(&Task, &mut Announcing) + Send,
    act: impl FnOnce(Task) -> T,
) -> T {
    let (token, (announce, announced)) = (Token::new(), mpsc::channel());
    let theirs = task(params, Role::Peer, token.as_str());
    thread::scope(|scope| {
        scope.spawn(move || server(&theirs, &mut Announcing(announce)));
        act(addressed(task(params, Role::Measure, token.as_str()), announced.recv().unwrap()))
    })
}

/// Measures against this server; the client's work is done in full where it is given.
fn against<T: Send>(
    params: &NetParams,
    work: Option<f64>,
    server: impl FnOnce(&Task, &mut Announcing) + Send,
    measure: impl Fn(usize, &mut Driven<'_>) -> T + Sync,
) -> Vec<T> {
    while_served(params, server, |ours| in_threads(&Task { exact_work: work, ..ours }, measure))
}

fn with_server<T: Send>(
    kind: Kind,
    block: u64,
    server: impl FnOnce(&Task, &mut Announcing) + Send,
    measure: impl Fn(&mut Driven<'_>) -> T + Sync,
) -> T {
    against(&params(kind, block, 1), None, server, |_, flow| measure(flow)).remove(0)
}

/// What is done with a session with the engine's own server, and how the server ended.
fn in_session<T>(params: &NetParams, act: impl FnOnce(&Session, Vec<DataEnd>) -> T) -> (T, Result<(), Trouble>) {
    let token = Token::new();
    let (announce, announced) = mpsc::channel();
    thread::scope(|scope| {
        let theirs = task(params, Role::Peer, token.as_str());
        let server = scope.spawn(move || ENGINE.peer(&theirs, &mut Announcing(announce)));
        let opening = Opening { params: params.clone(), most_seconds: 120.0 };
        let (session, ends) = session::meet(&announced.recv().unwrap(), token.as_str(), opening, SILENCE).unwrap();
        let found = act(&session, ends);
        drop(session);
        (found, server.join().unwrap())
    })
}

fn our_own(task: &Task, announcing: &mut Announcing) {
    ENGINE.peer(task, announcing).unwrap();
}

/// A server that does this with its TCP data connection, and ignores its control connection.
fn tcp_server(act: impl FnOnce(&TcpStream, Token) + Send) -> impl FnOnce(&Task, &mut Announcing) + Send {
    move |task: &Task, announcing: &mut Announcing| {
        conversing(task, announcing, |_, end, token| {
            let DataEnd::Tcp(connection) = end else { panic!("a connection") };
            act(connection, token);
        });
    }
}

fn udp_server(act: impl FnOnce(&UdpSocket) + Send) -> impl FnOnce(&Task, &mut Announcing) + Send {
    move |task: &Task, announcing: &mut Announcing| {
        conversing(task, announcing, |_, end, _| {
            let DataEnd::Udp(socket) = end else { panic!("datagrams") };
            act(socket);
        });
    }
}

/// A server that sends each datagram back this often, given its number.
fn answering(times: impl Fn(u64) -> usize + Send) -> impl FnOnce(&Task, &mut Announcing) + Send {
    udp_server(move |socket| {
        let mut buffer = [0; 64];
        for message in 1_u64.. {
            let Ok(count) = socket.recv(&mut buffer) else { return };
            if (0..times(message)).any(|_| socket.send(&buffer[..count]).is_err()) {
                return;
            }
        }
    })
}

/// A server that says nothing until the client is gone.
fn mute(task: &Task, announcing: &mut Announcing) {
    conversing(task, announcing, |mut control, _, _| {
        control.set_read_timeout(None).unwrap();
        let _ = std::io::copy(&mut control, &mut std::io::sink());
    });
}

/// A server that does this with its control connection and its data connection.
fn conversing(task: &Task, announcing: &mut Announcing, act: impl FnOnce(&TcpStream, &DataEnd, Token) + Send) {
    let (params, _) = checked(task).unwrap();
    let listener = Listener::open("127.0.0.1:0".parse().unwrap()).unwrap();
    announcing.listening(&listener.address.to_string());
    let (connections, act) = (DataConnections::default(), Mutex::new(Some(act)));
    listener
        .receive(&|preface, control, _| {
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
                // These servers do not watch the control connection, which would end the datagrams.
                socket.set_read_timeout(Some(Duration::from_secs(2))).unwrap();
            }
            frames::write(&control, &RunReply::Complete).unwrap();
            let act = lock(&act).take().unwrap();
            act(&control, &ends[0], token);
            listener.close();
        })
        .unwrap();
}

/// Runs a flow through a window after a lead of 10 ms, the same for all threads.
fn pass(flow: &mut Driven<'_>, seconds: Option<f64>) -> Result<Tally, String> {
    let timer = Timer::system();
    flow.prepare(NextWindow::Any)?;
    let begin = flow.meet(0).1 + timer.ticks(0.01);
    let window = Window { begin, end: seconds.map_or(Window::NO_END, |seconds| begin + timer.ticks(seconds)) };
    let mut tally = Tally::new(&timer);
    tally.begin(window);
    flow.run(&timer, window, &mut tally)?;
    assert!(seconds.is_none() || timer.now() >= window.end, "the window was not used up");
    flow.verify()?;
    Ok(tally)
}

fn window(flow: &mut Driven<'_>, milliseconds: u32) -> Result<Tally, String> {
    pass(flow, Some(f64::from(milliseconds) * 1e-3))
}

fn in_full(flow: &mut Driven<'_>) -> Result<Tally, String> {
    pass(flow, None)
}

/// The windows until each thread had a wanted one: on a busy machine a short window may hold nothing.
fn windows_until(flow: &mut Driven<'_>, milliseconds: u32, wanted: impl Fn(&Tally) -> bool) -> Vec<Tally> {
    let mut tallies: Vec<Tally> = Vec::new();
    for _ in 0..200 {
        tallies.push(window(flow, milliseconds).unwrap());
        let lacks = !tallies.iter().any(&wanted);
        if flow.meet(u64::from(lacks)).0 == 0 {
            return tallies;
        }
    }
    panic!("none of 200 windows was wanted: {:?}", tallies.last());
}

fn busy_window(flow: &mut Driven<'_>, milliseconds: u32) -> Tally {
    let busy = |tally: &Tally| tally.operations > 0;
    windows_until(flow, milliseconds, busy).into_iter().find(busy).unwrap()
}

/// The error of one of these windows: a short one may hold nothing to find.
fn error_of_a_window(flow: &mut Driven<'_>, milliseconds: u32) -> String {
    (0..200).find_map(|_| window(flow, milliseconds).err()).expect("nothing was found in 200 windows")
}

fn conditions(flow: &mut Driven<'_>) -> NetConditions {
    let mut seen = Observations::default();
    flow.conclude(&mut seen);
    seen.net.unwrap()
}

#[test]
fn every_thread_has_a_connection_of_its_own() {
    for kind in [UP, DOWN, BOTH, MESSAGE, DATAGRAM] {
        while_served(&params(kind, 1000, 3), our_own, |ours| {
            assert_eq!(ours.cpus.len(), if kind == BOTH { 6 } else { 3 });
            let ups = in_threads(&ours, |thread, flow| {
                assert!(ENGINE.open(&ours, thread).is_err(), "a connection is taken once");
                busy_window(flow, 60).carried.up_bytes > 0
            });
            for (thread, up) in ups.into_iter().enumerate() {
                assert_eq!(up, kind == UP || kind == BOTH && thread >= 3, "{kind:?}, thread {thread}");
            }
            assert!(ENGINE.open(&ours, 0).is_err(), "all have been taken");
        });
    }
}

#[test]
fn conditions_of_the_path_are_reported() {
    with_server(UP, 128 << 10, our_own, |flow| {
        window(flow, 20).unwrap();
        let seen = conditions(flow);
        assert_eq!(seen.interface.as_deref(), Some("lo"));
        assert!(seen.mtu.is_some_and(|mtu| mtu > 0) && seen.offloads.iter().any(|name| name == "tx_checksum"));
        assert!(seen.congestion_control.is_some_and(|name| !name.is_empty() && name.is_ascii()));
        assert!(seen.receive_buffer_bytes.is_some_and(|bytes| bytes > 0));
        assert!(seen.two_copy_bytes_per_second.is_some_and(|rate| rate > 0.0));
        assert_eq!((seen.peer_cpus.len(), seen.lost), (1, None));
    });
    with_server(DATAGRAM, 14, our_own, |flow| {
        window(flow, 20).unwrap();
        let seen = conditions(flow);
        assert!(seen.lost.is_some());
        assert_eq!((seen.congestion_control, seen.two_copy_bytes_per_second), (None, None));
    });
}

#[test]
fn a_server_that_closes_in_the_middle_is_an_error_at_once() {
    let five = |exchange: &mut dyn FnMut(&mut [u8; 14])| (0..5).for_each(|_| exchange(&mut [0; 14]));
    let began = sys::clock::monotonic_raw_seconds();
    let tcp = tcp_server(move |mut connection, _| {
        five(&mut |message| {
            connection.read_exact(message).unwrap();
            connection.write_all(message).unwrap();
        });
    });
    let udp = udp_server(move |socket| {
        five(&mut |message| {
            socket.recv(message).unwrap();
            socket.send(message).unwrap();
        });
    });
    let cut_short = tcp_server(|mut connection, token| {
        let mut block = content::Content::new(token.seed(), 0, 14).block();
        content::number(&mut block, 0);
        connection.write_all(&block).unwrap();
    });
    let errors = [
        with_server(MESSAGE, 14, tcp, |flow| window(flow, 60_000).unwrap_err()),
        with_server(DATAGRAM, 14, udp, |flow| window(flow, 60_000).unwrap_err()),
        with_server(DOWN, 14, cut_short, |flow| window(flow, 60_000).unwrap_err()),
    ];
    assert!(errors.iter().all(|error| error.contains("the server is gone")), "{errors:?}");
    assert!(sys::clock::monotonic_raw_seconds() - began < 90.0, "it waited for the window's end");
}

#[test]
fn a_server_that_says_nothing_is_an_error_and_no_hang() {
    let kinds = [UP, DOWN, DATAGRAM].map(|kind| params(kind, 14, 1));
    let spinning = Protocol::ALL.iter().map(|protocol| latency::spinning(*protocol, 14, 1));
    crate::tests::in_parallel(kinds.into_iter().chain(spinning), |params| {
        wait_briefly();
        let errors = against(&params, None, mute, |_, flow| window(flow, 60_000).unwrap_err());
        assert!(errors[0].contains("has not answered for 0.5 s"), "{params:?}: {errors:?}");
    });
}

#[test]
fn wrong_bytes_are_found() {
    let flipping = tcp_server(|mut connection, _| {
        let mut message = [0; 14];
        while connection.read_exact(&mut message).is_ok() {
            message[13] ^= 1;
            if connection.write_all(&message).is_err() {
                return;
            }
        }
    });
    let flipping_datagrams = udp_server(|socket| {
        let mut message = [0; 14];
        while socket.recv(&mut message).is_ok() {
            message[13] ^= 1;
            if socket.send(&message).is_err() {
                return;
            }
        }
    });
    let babbling = tcp_server(|mut connection, _| while connection.write_all(&[7; 1000]).is_ok() {});
    let spinning = latency::spinning(Protocol::Udp, 14, 1);
    for (error, expected) in [
        (
            with_server(MESSAGE, 14, flipping, |flow| window(flow, 1000).unwrap_err()),
            "the echo differs from what was sent",
        ),
        (
            against(&spinning, None, flipping_datagrams, |_, flow| window(flow, 1000).unwrap_err()).remove(0),
            "the echo differs from what was sent",
        ),
        (
            with_server(DOWN, 1000, babbling, |flow| window(flow, 1000).unwrap_err()),
            "the received data differ from the sent data",
        ),
    ] {
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn strangers_are_refused_and_disturb_nobody() {
    let params = params(MESSAGE, 14, 1);
    while_served(&params, our_own, |ours| {
        let address = ours.ends.as_ref().unwrap().address.clone().unwrap();
        let _mute = TcpStream::connect(&address).unwrap();
        let mut babbling = TcpStream::connect(&address).unwrap();
        babbling.write_all(&[b'x'; 1000]).unwrap();
        babbling.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        // Closed at once: the end of the stream, or a reset for the bytes that were not read.
        assert!(babbling.read(&mut [0]).is_ok_and(|count| count == 0) || babbling.take_error().is_ok());
        let wrong = task(&params, Role::Measure, Token::new().as_str());
        let refusal = ENGINE.prepare(&addressed(wrong, address), &mut unheard());
        assert!(refusal.unwrap_err().to_string().contains("the server"));
        assert!(in_threads(&ours, |_, flow| busy_window(flow, 20).operations)[0] > 0);
    });
}

#[test]
fn a_server_that_is_not_there_is_an_error() {
    let prepare = |address: &str| {
        let task = task(&params(MESSAGE, 14, 1), Role::Measure, Token::new().as_str());
        let trouble = ENGINE.prepare(&addressed(task, address.into()), &mut unheard());
        trouble.unwrap_err().to_string()
    };
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    drop(listener);
    assert!(prepare(&address).contains("cannot connect to the server"));
    assert!(prepare("nowhere").contains("'nowhere', is invalid"));
}

#[test]
fn missing_flows_are_an_error_and_foreign_datagrams_open_none() {
    let listener = Listener::open("127.0.0.1:0".parse().unwrap()).unwrap();
    let (connections, token) = (DataConnections::default(), Token::new());
    let arrivals = connections.expect(token);
    let gather = |protocols: &[Protocol], peer: &str| {
        let peer = (listener.address, peer.parse().unwrap(), token);
        flows::gather(&listener, &arrivals, protocols, peer, Duration::from_millis(200)).map(|ends| ends.len())
    };
    let home = "127.0.0.1:1";
    for protocol in [Protocol::Tcp, Protocol::Udp] {
        let error = gather(&[protocol; 2], home).unwrap_err();
        assert!(error.to_string().contains("0 of 2 data connections were opened"), "{error}");
    }
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.connect(listener.address).unwrap();
    let preface = |token| Preface { purpose: Purpose::Data, number: 0, token }.bytes();
    socket.send(&preface(Token::new())).unwrap();
    socket.send(&[&preface(token)[..], b"more"].concat()).unwrap();
    socket.send(b"assaynet").unwrap();
    assert!(gather(&[Protocol::Udp], home).is_err());
    socket.send(&preface(token)).unwrap();
    assert!(gather(&[Protocol::Udp], "127.0.0.2:1").is_err(), "the control connection came from another address");
    socket.send(&preface(token)).unwrap();
    assert_eq!(gather(&[Protocol::Udp], home).unwrap(), 1);
    socket.set_nonblocking(true).unwrap();
    let mut back = [0; 64];
    assert_eq!(socket.recv(&mut back).unwrap(), preface(token).len(), "one answer, as long as the question");
    assert!(socket.recv(&mut back).is_err());
}

#[test]
fn a_task_without_a_token_is_refused() {
    let mut ours = task(&params(MESSAGE, 14, 1), Role::Measure, "too short");
    assert!(ENGINE.open(&ours, 0).is_err() && ENGINE.peer(&ours, &mut unheard()).is_err());
    ours.ends = None;
    assert!(ENGINE.peer(&ours, &mut unheard()).is_err());
    assert!(ENGINE.open(&crate::tests::task(), 0).is_err(), "no network benchmark");
}
