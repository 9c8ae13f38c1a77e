//! The network engine: streams and ping-pong between two processes of this machine, over loopback.
//!
//! Two workers, both started by the runner: the measuring one listens, the other one connects ([`meet`]). What is
//! received is counted at the receiver, and a latency is the full round trip. No data goes unchecked ([`content`]).

mod ceiling;
mod content;
mod meet;
mod peer;
mod pingpong;
mod session;
mod stream;
#[cfg(test)]
mod tests;

use std::net::{TcpListener, TcpStream};
use std::sync::Arc;

use machine::Sysroot;
use model::document::NetConditions;
use model::experiment::{Area, Experiment, NetParams, Params, net_id};
use model::io::{Direction, NetMode, Protocol, Segmentation};
use model::machine::Machine;
use model::unit::format_size;
use model::wire::{Ends, Observations, Task};
use socket2::SockRef;
use sys::clock::Timer;

use super::{Engine, Flow, FlowMetric, FlowProfile, Opened, Preparing, Tally, Trouble, Window};
use crate::plan::{PlanError, Planned, Request, place, thread_counts};
use content::Content;
use meet::{DataEnd, PATIENCE, TOKEN_BYTES, Terms};
use pingpong::{TcpPinger, UdpPinger};
use session::Session;
use stream::Receiver;

/// Measures the network.
pub(super) struct NetEngine;

/// Where the measuring end of a loopback experiment listens.
const LISTEN: &str = "127.0.0.1:0";

/// The path of an experiment inside one machine, and its interface.
const LOOPBACK: (&str, &str) = ("loopback", "lo");

/// The largest block of a stream or TCP message.
const MOST_BLOCK_BYTES: u64 = 1 << 20;

/// The largest UDP payload over IPv4: 65535 bytes less 20 of IP header and 8 of UDP header.
const MOST_DATAGRAM_BYTES: u64 = 65_507;

/// Expected seconds per launch beside samples and warm-up: starting the second process, and finding each other.
const SETUP_SECONDS: f64 = 0.05;

/// The same for the ceiling of a stream.
const CEILING_SECONDS: f64 = 0.06;

/// IPv4 and UDP headers. Loopback has no header of a link, or does not count it (`drivers/net/loopback.c`); 1000
/// datagrams of 64 B added 92 000 B to its counter.
const UDP_HEADER_BYTES: u64 = 20 + 8;

/// IPv4 and TCP headers.
const TCP_HEADER_BYTES: u64 = 20 + 20;

/// The option of time stamps in each TCP header, padded. With it, 52.00 B a segment were seen beside the payload.
const TIME_STAMPS_BYTES: u64 = 12;

const STREAM_METRICS: &[FlowMetric] = &[FlowMetric::Bytes];
const PINGPONG_METRICS: &[FlowMetric] = &[FlowMetric::Latency, FlowMetric::RoundTrips];

/// A stream before its window: full buffers drain, and sender and receiver find their pace.
const STREAM_LEAD_MICROSECONDS: u32 = 20_000;

/// Ping-pong before its window: some dozen round trips, compared in full.
const PINGPONG_LEAD_MICROSECONDS: u32 = 5_000;

impl Engine for NetEngine {
    fn area(&self) -> Area {
        Area::Net
    }

    fn expand(&self, request: &Request, machine: &Machine) -> Result<Vec<Planned>, PlanError> {
        let mut rows = Vec::new();
        for stanza in &request.suite.net {
            for &protocol in &stanza.protocol {
                for &block in &stanza.block {
                    check(protocol, stanza.mode, block)?;
                    for threads in thread_counts(request, &stanza.threads, machine) {
                        rows.push(row(request, machine, params(protocol, stanza.mode, block, threads)));
                    }
                }
            }
        }
        Ok(rows)
    }

    fn prepare(&self, task: &Task, launch: &mut dyn Preparing) -> Result<(), Trouble> {
        let (params, ends) = checked(task)?;
        let cannot = |error| Trouble::Failed(format!("cannot listen on {LISTEN}: {error}"));
        let listener = TcpListener::bind(LISTEN).map_err(cannot)?;
        launch.listening(&listener.local_addr().map_err(cannot)?.to_string());
        let met = meet::await_peer(&listener, &terms(params, ends), &mut |share| launch.progress(share))
            .map_err(Trouble::Failed)?;
        session::keep(&ends.token, met).map_err(|error| Trouble::Failed(session::gone(&error.to_string())))
    }

    fn open(&self, task: &Task, thread: usize) -> Result<Opened, Trouble> {
        let (params, ends) = checked(task)?;
        let (session, end) = session::take(&ends.token, thread).ok_or_else(|| {
            Trouble::Failed(format!("thread {thread} of '{}' has no connection to the other end", task.experiment.id))
        })?;
        let content = Content::new(&ends.token, thread, block_bytes(params));
        let way = Way::new(end, params.mode, content, &session)
            .map_err(|error| Trouble::Failed(format!("cannot set up a connection: {error}")))?;
        let about = (thread == 0).then(|| About { task: task.clone(), params: params.clone(), ends: ends.clone() });
        Ok(Opened::Flow(Box::new(NetFlow { way, session, about, timer: None })))
    }

    fn peer(&self, task: &Task) -> Result<(), Trouble> {
        let (params, ends) = checked(task)?;
        peer::serve(task, params, ends)
    }
}

/// The parameters of a task and its two ends.
fn checked(task: &Task) -> Result<(&NetParams, &Ends), Trouble> {
    let Params::Net(params) = &task.experiment.params else {
        return Err(Trouble::Failed(format!("'{}' is no network experiment", task.experiment.id)));
    };
    let ends = task.ends.as_ref();
    let is_token =
        |ends: &&Ends| ends.token.len() == TOKEN_BYTES && ends.token.bytes().all(|digit| digit.is_ascii_hexdigit());
    match ends.filter(is_token) {
        Some(ends) => Ok((params, ends)),
        None => Err(Trouble::Failed(format!("'{}' was started without the token of its two ends", task.experiment.id))),
    }
}

fn terms<'a>(params: &NetParams, ends: &'a Ends) -> Terms<'a> {
    Terms { token: &ends.token, protocol: params.protocol, threads: params.threads as usize, patience: PATIENCE }
}

/// Bytes per send, or per message; the plan has seen to it that they are few.
fn block_bytes(params: &NetParams) -> usize {
    usize::try_from(params.block.min(MOST_BLOCK_BYTES)).unwrap_or(1)
}

/// Whether there is such an experiment.
fn check(protocol: Protocol, mode: NetMode, block: u64) -> Result<(), PlanError> {
    if !matches!((protocol, mode), (_, NetMode::Pingpong) | (Protocol::Tcp, NetMode::Stream)) {
        return Err(PlanError(format!(
            "there is no network experiment {mode} over {protocol}; there are stream over tcp, pingpong over tcp and udp"
        )));
    }
    let most = if protocol == Protocol::Udp { MOST_DATAGRAM_BYTES } else { MOST_BLOCK_BYTES };
    if (1..=most).contains(&block) {
        return Ok(());
    }
    Err(PlanError(format!("a block of {} is not possible over {protocol}; write 1B to {most}B", format_size(block))))
}

fn params(protocol: Protocol, mode: NetMode, block: u64, threads: u32) -> NetParams {
    let stream = mode == NetMode::Stream;
    NetParams {
        protocol,
        mode,
        block,
        direction: stream.then_some(Direction::Up),
        threads,
        path: LOOPBACK.0.to_owned(),
        zero_copy: stream.then_some(false),
        segmentation: (protocol == Protocol::Udp).then_some(Segmentation::Off),
    }
}

fn row(request: &Request, machine: &Machine, params: NetParams) -> Planned {
    let (cpus, oversubscribed) = place(params.threads, machine);
    let ceiling_seconds = if params.mode == NetMode::Stream { CEILING_SECONDS } else { 0.0 };
    Planned {
        experiment: Experiment {
            id: net_id(&params),
            area: Area::Net,
            method: format!("net-{}-{}/1", params.protocol, params.mode),
            classic: None,
            kernel: None,
            params: Params::Net(params),
        },
        other_cpus: opposite(&cpus, machine),
        cpus,
        beside: Vec::new(),
        sampling: request.suite.sampling(Area::Net),
        exact_work: None,
        setup_seconds: SETUP_SECONDS + ceiling_seconds,
        obstacle: None,
        warnings: oversubscribed.into_iter().collect(),
    }
}

/// The CPUs of the other end: the next ones in the order of placement, and never a thread's own where there are two.
fn opposite(cpus: &[u32], machine: &Machine) -> Vec<u32> {
    let mut order = machine.cpu.placement_order();
    if order.is_empty() {
        order.push(0);
    }
    // As many CPUs further as there are threads; where that goes round to a thread's own, one more.
    let further = cpus.len() + usize::from(cpus.len().is_multiple_of(order.len()));
    (0..cpus.len()).map(|thread| order[(thread + further) % order.len()]).collect()
}

/// What a TCP connection has put on loopback and taken from it, headers included.
fn tcp_link_bytes(connection: &TcpStream) -> Option<u64> {
    let carried = sys::net::tcp_carried(connection)?;
    let header = TCP_HEADER_BYTES + if carried.time_stamps { TIME_STAMPS_BYTES } else { 0 };
    let segments = u64::from(carried.segments_sent) + u64::from(carried.segments_received);
    Some(carried.sent_bytes + carried.received_bytes + header * segments)
}

/// What a measuring thread does.
enum Way {
    Stream(Receiver),
    TcpPing(TcpPinger),
    UdpPing(UdpPinger),
}

impl Way {
    fn new(end: DataEnd, mode: NetMode, content: Content, session: &Arc<Session>) -> std::io::Result<Self> {
        Ok(match (end, mode) {
            (DataEnd::Tcp(connection), NetMode::Stream) => Self::Stream(Receiver::new(connection, content)?),
            (DataEnd::Tcp(connection), _) => Self::TcpPing(TcpPinger::new(connection, &content)?),
            (DataEnd::Udp(socket), _) => Self::UdpPing(UdpPinger::new(socket, &content, Arc::clone(session))?),
        })
    }

    /// Bytes that this socket has put on the link and taken from it, headers included, since it began.
    fn link_bytes(&self) -> Option<u64> {
        match self {
            Self::Stream(receiver) => tcp_link_bytes(receiver.stream()),
            Self::TcpPing(pinger) => tcp_link_bytes(pinger.stream()),
            Self::UdpPing(pinger) => Some(pinger.datagrams() * (pinger.datagram_bytes() + UDP_HEADER_BYTES)),
        }
    }

    /// What the receive buffer has come to, in bytes.
    fn receive_buffer_bytes(&self) -> Option<u64> {
        let bytes = match self {
            Self::Stream(receiver) => SockRef::from(receiver.stream()).recv_buffer_size(),
            Self::TcpPing(pinger) => SockRef::from(pinger.stream()).recv_buffer_size(),
            Self::UdpPing(pinger) => SockRef::from(pinger.socket()).recv_buffer_size(),
        };
        bytes.ok().map(|bytes| bytes as u64)
    }
}

/// One thread of the measuring end.
struct NetFlow {
    way: Way,
    session: Arc<Session>,
    /// For the first thread, which speaks for all of them at the end.
    about: Option<About>,
    timer: Option<Timer>,
}

/// What there is to say about the launch.
struct About {
    task: Task,
    params: NetParams,
    ends: Ends,
}

impl Flow for NetFlow {
    fn profile(&self) -> FlowProfile {
        match self.way {
            Way::Stream(_) => FlowProfile { metrics: STREAM_METRICS, lead_microseconds: STREAM_LEAD_MICROSECONDS },
            _ => FlowProfile { metrics: PINGPONG_METRICS, lead_microseconds: PINGPONG_LEAD_MICROSECONDS },
        }
    }

    fn run(&mut self, timer: &Timer, window: Window, tally: &mut Tally) -> Result<(), String> {
        self.timer = Some(*timer);
        match &mut self.way {
            Way::Stream(receiver) => receiver.run(timer, window, tally),
            Way::TcpPing(pinger) => pinger.run(timer, window, tally),
            Way::UdpPing(pinger) => pinger.run(timer, window, tally),
        }
    }

    fn verify(&mut self) -> Result<(), String> {
        match &mut self.way {
            Way::Stream(receiver) => receiver.verify(),
            // Every echo has been compared as it came.
            Way::TcpPing(_) | Way::UdpPing(_) => Ok(()),
        }
    }

    fn conclude(&mut self, seen: &mut Observations) {
        let Some(about) = &self.about else {
            seen.net = Some(NetConditions { link_bytes: self.way.link_bytes(), ..NetConditions::default() });
            return;
        };
        let two_copy_bytes_per_second = self.timer.and_then(|timer| about.ceiling(&timer));
        let interface = LOOPBACK.1;
        let mtu = Sysroot::host().text(&format!("sys/class/net/{interface}/mtu"));
        let offloads = sys::net::offloads(interface).unwrap_or_default();
        seen.net = Some(NetConditions {
            interface: Some(interface.to_owned()),
            mtu: mtu.and_then(|text| text.trim().parse().ok()),
            offloads: offloads.into_iter().map(str::to_owned).collect(),
            congestion_control: self.session.congestion().filter(|_| about.params.protocol == Protocol::Tcp),
            receive_buffer_bytes: self.way.receive_buffer_bytes(),
            peer_cpus: about.ends.other_cpus.clone(),
            two_copy_bytes_per_second,
            lost: (about.params.protocol == Protocol::Udp).then(|| self.session.lost()),
            link_bytes: self.way.link_bytes(),
            other_share: None,
            // The judge knows it from the threads' usage.
            cpu_busy: None,
        });
    }
}

impl About {
    /// What two copies between the CPUs of each pair of threads can move, for a stream. The other threads have taken
    /// their last sample and the other end waits for a receiver, so that the CPUs are free.
    fn ceiling(&self, timer: &Timer) -> Option<f64> {
        if self.params.mode != NetMode::Stream {
            return None;
        }
        let pairs: Vec<(u32, u32)> = self.ends.other_cpus.iter().copied().zip(self.task.cpus.iter().copied()).collect();
        (pairs.len() == self.task.cpus.len())
            .then(|| ceiling::two_copies(&pairs, block_bytes(&self.params), timer))
            .flatten()
    }
}
