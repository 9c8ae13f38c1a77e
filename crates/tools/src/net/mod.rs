//! Tools that measure networks, and what their adapters share: a client and a server on loopback.

pub(crate) mod iperf;
pub(crate) mod iperf3;
pub(crate) mod ping;
pub(crate) mod sockperf;

use model::experiment::{Experiment, NetParams};
use model::io::{Direction, NetMode, Protocol};

use crate::invocation::{Invocation, ListensFor, Server, Target, bare_environment, command_line, distinct};
use crate::output::refuse_if;

/// Seconds of an iperf or iperf3 run outside its measured time.
const START_SECONDS: f64 = 0.2;
/// UDP blocks of iperf and iperf3: from iperf's own header (`UDP_datagram` in `include/payloads.h`) to the largest datagram.
const DATAGRAMS: std::ops::RangeInclusive<u64> = 16..=65_507;

pub(super) fn loopback<'a>(tool: &str, experiment: &'a Experiment) -> Result<&'a NetParams, String> {
    let params = experiment.net().ok_or_else(|| format!("{tool} measures networks"))?;
    refuse_if(tool, &[(params.path != "loopback", "only the loopback interface is compared")]).map(|()| params)
}

/// The same for streams of bytes or datagrams.
pub(super) fn streams<'a>(tool: &str, experiment: &'a Experiment) -> Result<&'a NetParams, String> {
    let params = loopback(tool, experiment)?;
    let udp = (params.protocol, matches!(params.mode, NetMode::Blast | NetMode::NoDrop)) == (Protocol::Udp, true);
    let streams = udp || (params.protocol, params.mode) == (Protocol::Tcp, NetMode::Stream);
    let reasons = [
        (!streams, "only streams are compared: stream over tcp, blast and no_drop over udp"),
        (udp && !DATAGRAMS.contains(&params.block), "its datagrams are 16 B to 65507 B"),
    ];
    refuse_if(tool, &reasons).map(|()| params)
}

/// The options for UDP: the offered load per stream and direction, or `unlimited`, and our receive buffer; nothing for TCP.
pub(super) fn over_udp(params: &NetParams, target: &Target<'_>, unlimited: f64) -> String {
    if params.protocol != Protocol::Udp {
        return String::new();
    }
    let directions = if params.direction == Some(Direction::Both) { 2.0 } else { 1.0 };
    let of_each = |rate: f64| (8.0 * rate / (directions * f64::from(params.threads))).ceil();
    format!("-u -b{}{}", target.offered_rate.map_or(unlimited, of_each), receive_buffer(target))
}

/// The option for our receive buffer: the kernel doubles what is asked for.
pub(super) fn receive_buffer(target: &Target<'_>) -> String {
    target.receive_buffer.map_or_else(String::new, |bytes| format!(" -w{}", bytes / 2))
}

pub(super) fn sender(target: &Target<'_>, seconds: f64, client: &str, server: Server) -> Invocation {
    Invocation {
        server: Some(server),
        ..Invocation::new(target, client, [START_SECONDS + seconds, 15.0 + 2.0 * seconds])
    }
}

/// The server, on the CPUs of our server's end.
pub(super) fn server(target: &Target<'_>, words: &str, listens_for: ListensFor) -> Server {
    Server {
        argv: command_line(target.program, words),
        env: bare_environment(),
        cpus: distinct(target.other_cpus),
        listens_for,
    }
}
