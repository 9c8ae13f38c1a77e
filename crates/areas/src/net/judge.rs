//! Conditions and warnings of the network.

use model::document::{Conditions, NetConditions, Row, TcpConditions};
use model::experiment::{LOOPBACK, NetParams, Params};
use model::io::{Direction, NetMode, Protocol, Segmentation};
use model::number::{percent_exact, percent_tenths as percent};
use model::plan::Planned;
use model::sample::{Metric, MetricName};
use model::warning::{Warning, WarningCode};
use verdict::judge::{ProcessRun, median, others_share};

/// The share of its CPU at which a thread limits a stream: the rest is ticks of the accounting.
const BUSY: f64 = 0.95;
/// The share of its time at which a window or a buffer limits a stream.
const LIMITED: f64 = 0.2;
/// The least receive buffer for datagrams, in bytes: 8 MiB, some milliseconds of ten gigabits a second. Linux reports
/// twice what was set, the rest being for its own book-keeping (`socket(7)`).
const RECEIVE_BUFFER_BYTES: u64 = 8 << 20;
/// The share of our bytes that an interface carries at least if they went through it.
const CARRIED: f64 = 0.5;
/// Bytes of a process run below which the counters of an interface show nothing.
const LEAST_COUNTED_BYTES: u64 = 1 << 20;
/// Headers of IPv4 and UDP in the packet of a datagram (RFC 791, RFC 768).
const DATAGRAM_HEADER_BYTES: u64 = 20 + 8;
/// Headers of IPv4 and of TCP with its time stamps in a segment (RFC 791, RFC 793, RFC 7323).
const SEGMENT_HEADER_BYTES: u32 = 20 + 32;
/// Bytes on loopback in a process run that are neither data nor counted: how client and server connect and part.
const MEETING_BYTES: u64 = 64 << 10;

pub(super) fn conditions(_: &Planned, runs: &[&ProcessRun], conditions: &mut Conditions) {
    conditions.net = of_net(runs, conditions.cpu_share);
    if let Some(net) = &mut conditions.net {
        net.other_share = others_share(runs, |run| {
            let (all, ours) = (run.surroundings.net_bytes?, run.seen.net.as_ref()?.link_bytes?);
            Some((all.saturating_sub(ours).saturating_sub(MEETING_BYTES), all))
        });
    }
}

/// What all process runs saw: facts from the last, measurements from all.
fn of_net(runs: &[&ProcessRun], cpu_busy: Option<f64>) -> Option<NetConditions> {
    let all: Vec<&NetConditions> = runs.iter().filter_map(|run| run.seen.net.as_ref()).collect();
    let middle =
        |of: fn(&NetConditions) -> Option<f64>| median(&all.iter().filter_map(|one| of(one)).collect::<Vec<f64>>());
    let sum = |of: fn(&NetConditions) -> Option<f64>| all.iter().map(|one| of(one)).sum::<Option<f64>>();
    let last = (*all.last()?).clone();
    Some(NetConditions {
        two_copy_bytes_per_second: middle(|one| one.two_copy_bytes_per_second),
        lost: all.iter().map(|one| one.lost).sum(),
        cpu_busy,
        tcp: tcp_together(all.iter().filter_map(|one| one.tcp.as_ref())),
        sending_cpu_seconds: sum(|one| one.sending_cpu_seconds),
        receiving_cpu_seconds: sum(|one| one.receiving_cpu_seconds),
        zero_copied_share: middle(|one| one.zero_copied_share),
        offered_bytes_per_second: middle(|one| one.offered_bytes_per_second),
        idle_latency_seconds: middle(|one| one.idle_latency_seconds),
        load_bytes_per_second: middle(|one| one.load_bytes_per_second),
        late_share: all.iter().filter_map(|one| one.late_share).reduce(f64::max),
        ..last
    })
}

/// The counters of TCP: counts and times added up, the longest or the shortest of the rest.
pub fn tcp_together<'a>(all: impl Iterator<Item = &'a TcpConditions>) -> Option<TcpConditions> {
    let all: Vec<&TcpConditions> = all.collect();
    let seconds = |of: fn(&TcpConditions) -> Option<f64>| all.iter().map(|one| of(one)).sum::<Option<f64>>();
    (!all.is_empty()).then(|| TcpConditions {
        retransmits: all.iter().map(|one| one.retransmits).sum(),
        round_trip_seconds: all.iter().filter_map(|one| one.round_trip_seconds).reduce(f64::max),
        least_round_trip_seconds: all.iter().filter_map(|one| one.least_round_trip_seconds).reduce(f64::min),
        congestion_window_bytes: all.iter().filter_map(|one| one.congestion_window_bytes).min(),
        busy_seconds: seconds(|one| one.busy_seconds),
        receiver_limited_seconds: seconds(|one| one.receiver_limited_seconds),
        buffer_limited_seconds: seconds(|one| one.buffer_limited_seconds),
    })
}

pub(super) fn warnings(row: &Row, runs: &[ProcessRun]) -> Vec<Warning> {
    let (Params::Net(params), Some(seen)) = (&row.params, &row.conditions.net) else { return Vec::new() };
    let limited = |code, seconds: fn(&TcpConditions) -> Option<f64>, what: &str| {
        let tcp = seen.tcp.as_ref()?;
        let share = seconds(tcp)? / tcp.busy_seconds.filter(|seconds| *seconds > 0.0)?;
        (share >= LIMITED).then(|| Warning::new(code, share, &format!("For {} of the time {what}.", percent(share))))
    };
    let late = seen.late_share.filter(|_| params.mode == NetMode::Load);
    let copied = seen.zero_copied_share.filter(|_| params.zero_copy == Some(true)).map(|spared| 1.0 - spared);
    let found = [
        lost(row, params, seen),
        above_goal(row, params),
        retransmits(row, params, seen),
        black_hole(row, params, seen),
        other_path(params, runs),
        fragmented(params, seen),
        small_buffer(params, seen),
        copied.and_then(|copied| {
            let text = || format!("The kernel copied {} of the zero-copy sends.", percent(copied));
            Warning::when(WarningCode::CopyNotSpared, copied, text)
        }),
        no_offload(params, seen),
        late.and_then(|late| {
            let text = || format!("{} of the probes were sent late.", percent(late));
            Warning::when(WarningCode::ProbesLate, late, text)
        }),
        limited(WarningCode::ReceiverLimited, |tcp| tcp.receiver_limited_seconds, "the receiver's window was full"),
        limited(WarningCode::BufferLimited, |tcp| tcp.buffer_limited_seconds, "the send buffer was full"),
        busy(row, params, seen),
    ];
    found.into_iter().flatten().collect()
}

fn lost(row: &Row, params: &NetParams, seen: &NetConditions) -> Option<Warning> {
    let is_round_trips = matches!(params.mode, NetMode::Pingpong | NetMode::Load);
    let lost = seen.lost.filter(|_| is_round_trips).unwrap_or(0);
    let came = row.metric(MetricName::Latency)?.summary.percentiles.map_or(0, |percentiles| percentiles.count);
    let share = lost as f64 / (lost + came).max(1) as f64;
    Warning::when(WarningCode::DatagramsLost, share, || format!("{lost} datagrams were lost."))
}

fn above_goal(row: &Row, params: &NetParams) -> Option<Warning> {
    let goal = f64::from(params.loss_goal_per_million?) * 1e-6;
    let loss = row.metric(MetricName::Loss)?.summary.median;
    Warning::when(WarningCode::LossAboveGoal, loss - goal, || {
        let loss = if loss > 0.01 { percent(loss) } else { percent_exact(loss) };
        format!("{loss} of the datagrams were lost; the goal is {}.", percent_exact(goal))
    })
}

/// The bytes of the samples, with the metric that counts them.
fn bytes(row: &Row) -> Option<(f64, &Metric)> {
    let metric = row.metric(MetricName::Throughput)?;
    Some((metric.samples.iter().filter_map(|sample| sample.work).sum(), metric))
}

/// Retransmitted segments, over those that the bytes need.
fn retransmits(row: &Row, params: &NetParams, seen: &NetConditions) -> Option<Warning> {
    let again = seen.tcp.as_ref()?.retransmits.filter(|_| is_stream_of_bytes(params))?;
    let segment = seen.mtu?.checked_sub(SEGMENT_HEADER_BYTES).filter(|bytes| *bytes > 0)?;
    let segments = (bytes(row)?.0 / f64::from(segment)).max(1.0);
    let share = again as f64 / (segments + again as f64);
    Warning::when(WarningCode::Retransmits, share, || {
        format!("{again} segments were retransmitted, {} of all.", percent(share))
    })
}

/// A path that drops full packets: samples without a byte while segments are retransmitted, or while datagrams are
/// fragmented.
fn black_hole(row: &Row, params: &NetParams, seen: &NetConditions) -> Option<Warning> {
    let metric = bytes(row)?.1;
    let again = seen.tcp.as_ref().and_then(|tcp| tcp.retransmits).unwrap_or(0);
    let fills = again > 0 || pieces(params, seen).is_some_and(|pieces| pieces > 1);
    let is_stream = is_stream_of_bytes(params) || params.protocol == Protocol::Udp;
    let empty = metric.samples.iter().filter(|sample| sample.work.is_some_and(|work| work <= 0.0)).count();
    let share = if fills && is_stream { empty as f64 / metric.samples.len().max(1) as f64 } else { 0.0 };
    Warning::when(WarningCode::MtuBlackHole, share, || {
        format!("In {} of the samples no full packet arrived.", percent(share))
    })
}

fn is_stream_of_bytes(params: &NetParams) -> bool {
    params.protocol == Protocol::Tcp && matches!(params.mode, NetMode::Stream | NetMode::Transfer)
}

/// An interface that leads to the peer and did not carry our bytes.
fn other_path(params: &NetParams, runs: &[ProcessRun]) -> Option<Warning> {
    let (mut carried, mut ours) = (0, 0);
    for run in runs {
        carried += run.surroundings.net_bytes?;
        ours += run.seen.net.as_ref()?.link_bytes?;
    }
    let missing = 1.0 - carried as f64 / ours.max(1) as f64;
    let seen = format!("The interface carried {carried} of the {ours} B that were sent and received.");
    let is_other = params.path != LOOPBACK && ours >= LEAST_COUNTED_BYTES && missing > 1.0 - CARRIED;
    is_other.then(|| Warning::new(WarningCode::OtherPath, missing, &seen))
}

fn pieces(params: &NetParams, seen: &NetConditions) -> Option<u64> {
    let mtu = u64::from(seen.mtu?);
    let piece = mtu.checked_sub(20).filter(|piece| *piece >= 8)? / 8 * 8;
    (params.protocol == Protocol::Udp && params.mode != NetMode::Load).then(|| {
        let datagram = params.block + DATAGRAM_HEADER_BYTES;
        if datagram <= mtu { 1 } else { (params.block + 8).div_ceil(piece) }
    })
}

fn fragmented(params: &NetParams, seen: &NetConditions) -> Option<Warning> {
    let pieces = pieces(params, seen).filter(|pieces| *pieces > 1)?;
    let mtu = seen.mtu.unwrap_or_default();
    let text = format!("A datagram of {} B is sent in {pieces} packets of at most {mtu} B.", params.block);
    Some(Warning::new(WarningCode::Fragmented, pieces as f64, &text))
}

fn small_buffer(params: &NetParams, seen: &NetConditions) -> Option<Warning> {
    let is_stream = params.protocol == Protocol::Udp && matches!(params.mode, NetMode::NoDrop | NetMode::Blast);
    let bytes = seen.receive_buffer_bytes.filter(|bytes| is_stream && *bytes < RECEIVE_BUFFER_BYTES)?;
    let text = format!("The receive buffer has {bytes} B instead of the requested {RECEIVE_BUFFER_BYTES} B.");
    Some(Warning::new(WarningCode::ReceiveBufferCapped, 1.0 - bytes as f64 / RECEIVE_BUFFER_BYTES as f64, &text))
}

/// Segmentation offload that was asked for and not used, as far as it is known how datagrams were sent.
fn no_offload(params: &NetParams, seen: &NetConditions) -> Option<Warning> {
    let is_used = seen.batching.iter().any(|way| way == Segmentation::Gso.name());
    (params.segmentation == Some(Segmentation::Gso) && !is_used && !seen.batching.is_empty()).then(|| {
        let text = format!("Datagrams were sent with {} instead.", seen.batching.join(", "));
        Warning::new(WarningCode::NoOffload, 1.0, &text)
    })
}

/// A stream whose threads had no CPU time left. A sender that keeps to a rate may spin until the next datagram is due.
fn busy(row: &Row, params: &NetParams, seen: &NetConditions) -> Option<Warning> {
    let streams = matches!(params.mode, NetMode::Stream | NetMode::NoDrop | NetMode::Blast);
    let seconds: f64 = bytes(row)?.1.samples.iter().map(|sample| sample.seconds).sum();
    let both = if params.direction == Some(Direction::Both) { 2.0 } else { 1.0 };
    let sending = seen.sending_cpu_seconds.filter(|_| params.mode != NetMode::NoDrop);
    let ends = [("sending", sending), ("receiving", seen.receiving_cpu_seconds)];
    let shares = ends.map(|(end, used)| (end, used.unwrap_or(0.0) / (seconds * f64::from(params.threads) * both)));
    let (end, share) = shares.into_iter().max_by(|(_, one), (_, other)| one.total_cmp(other))?;
    (streams && seconds > 0.0 && share >= BUSY).then(|| {
        let text = format!("Each {end} thread used {} of its CPU.", percent(share));
        Warning::new(WarningCode::CpuBound, share, &text)
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use model::experiment::Area;
    use model::sample::Sample;
    use model::surroundings::Change;
    use model::unit::Unit;
    use model::wire::Observations;

    use super::*;
    use crate::tests::{metric, planned, planned_with, sample};

    /// A row of one network experiment, with two samples of half a second and this many bytes each.
    pub(crate) fn row(params: NetParams, seen: NetConditions, bytes: f64) -> Row {
        let mut row = Row::planned(&planned_with(Area::Net, Params::Net(params)).experiment, "");
        let rate = Metric {
            samples: vec![Sample { work: Some(bytes), seconds: 0.5, ..sample(2.0 * bytes) }; 2],
            ..metric("throughput", Unit::BytePerSecond, &[2.0 * bytes])
        };
        row.metrics = vec![rate, metric("loss", Unit::One, &[2e-3]), metric("latency", Unit::Second, &[1e-5])];
        row.conditions.net = Some(seen);
        row
    }

    pub(crate) fn params(protocol: Protocol, mode: NetMode) -> NetParams {
        NetParams {
            protocol,
            mode,
            block: 1472,
            direction: Some(Direction::Up),
            threads: 1,
            path: "peer".into(),
            zero_copy: None,
            segmentation: None,
            loss_goal_per_million: None,
            wait: None,
        }
    }

    /// Conditions that nothing is to be said of.
    pub(crate) fn good() -> NetConditions {
        NetConditions {
            mtu: Some(1500),
            receive_buffer_bytes: Some(16 << 20),
            sending_cpu_seconds: Some(0.4),
            receiving_cpu_seconds: Some(0.5),
            batching: vec!["gso".into(), "gro".into()],
            zero_copied_share: Some(1.0),
            late_share: Some(0.0),
            lost: Some(0),
            tcp: Some(TcpConditions {
                retransmits: Some(0),
                busy_seconds: Some(1.0),
                receiver_limited_seconds: Some(0.1),
                buffer_limited_seconds: Some(0.1),
                ..TcpConditions::default()
            }),
            ..NetConditions::default()
        }
    }

    fn stream() -> NetParams {
        params(Protocol::Tcp, NetMode::Stream)
    }

    fn datagrams() -> NetParams {
        let (loss_goal_per_million, segmentation) = (Some(10_000), Some(Segmentation::Gso));
        NetParams { loss_goal_per_million, segmentation, ..params(Protocol::Udp, NetMode::NoDrop) }
    }

    fn with_tcp(change: impl FnOnce(&mut TcpConditions)) -> NetConditions {
        let mut seen = good();
        change(seen.tcp.as_mut().unwrap());
        seen
    }

    /// What raises each code: the parameters, what was seen, and the bytes of each sample.
    pub(crate) fn raising() -> Vec<(WarningCode, NetParams, NetConditions, f64)> {
        use WarningCode as Code;
        let load = params(Protocol::Udp, NetMode::Load);
        let zero_copy = NetParams { zero_copy: Some(true), ..stream() };
        let close = NetParams { loss_goal_per_million: Some(1000), ..datagrams() };
        let capped = NetConditions { receive_buffer_bytes: Some(425_984), ..good() };
        vec![
            (Code::LossAboveGoal, close, good(), 1e8),
            (Code::Retransmits, stream(), with_tcp(|tcp| tcp.retransmits = Some(1000)), 1e8),
            (Code::MtuBlackHole, stream(), with_tcp(|tcp| tcp.retransmits = Some(5)), 0.0),
            (Code::Fragmented, NetParams { block: 1473, ..datagrams() }, good(), 1e8),
            (Code::ReceiveBufferCapped, datagrams(), capped, 1e8),
            (Code::CopyNotSpared, zero_copy, NetConditions { zero_copied_share: Some(0.0), ..good() }, 1e8),
            (Code::NoOffload, datagrams(), NetConditions { batching: vec!["sendmmsg".into()], ..good() }, 1e8),
            (Code::ProbesLate, load, NetConditions { late_share: Some(0.1), ..good() }, 1e8),
            (Code::ReceiverLimited, stream(), with_tcp(|tcp| tcp.receiver_limited_seconds = Some(0.5)), 1e8),
            (Code::BufferLimited, stream(), with_tcp(|tcp| tcp.buffer_limited_seconds = Some(0.5)), 1e8),
            (Code::CpuBound, stream(), NetConditions { receiving_cpu_seconds: Some(0.99), ..good() }, 1e8),
        ]
    }

    fn codes(params: &NetParams, seen: NetConditions, bytes: f64) -> Vec<String> {
        warnings(&row(params.clone(), seen, bytes), &[]).into_iter().map(|warning| warning.code.to_string()).collect()
    }

    #[test]
    fn each_trouble_raises_its_own_code_and_a_good_row_none() {
        for (code, params, seen, bytes) in raising() {
            let found = codes(&params, seen, bytes);
            assert!(found.iter().any(|one| one == code.name()), "{code}: {found:?}");
            assert!(found.len() == 1 || code == WarningCode::MtuBlackHole, "{code} alone: {found:?}");
        }
        let (blast, load) = (params(Protocol::Udp, NetMode::Blast), params(Protocol::Tcp, NetMode::Load));
        for good_one in [stream(), datagrams(), blast, load] {
            assert_eq!(codes(&good_one, good(), 1e8), [""; 0], "{good_one:?}");
        }
        let unknown = NetConditions::default();
        for nothing_known in [stream(), NetParams { loss_goal_per_million: Some(1_000_000 - 1), ..datagrams() }] {
            assert_eq!(codes(&nothing_known, unknown.clone(), 1e8), [""; 0], "what is not known is no trouble");
        }
    }

    #[test]
    fn a_datagram_that_just_fits_is_in_one_piece() {
        let of = |block: u64, mtu: u32| {
            pieces(&NetParams { block, ..datagrams() }, &NetConditions { mtu: Some(mtu), ..good() })
        };
        assert_eq!([of(1472, 1500), of(1473, 1500), of(32 << 10, 1500), of(32 << 10, 9000)], [1, 2, 23, 4].map(Some));
        assert_eq!(of(65_507, 65_536), Some(1), "loopback takes the largest");
        assert_eq!(of(1, 0), None);
    }

    /// A process run in which the interface carried all bytes, and our own.
    fn carrying(all: u64, link_bytes: Option<u64>) -> ProcessRun {
        let net = Some(NetConditions { link_bytes, ..NetConditions::default() });
        let seen = Observations { net, ..Observations::default() };
        let surroundings = Change { net_bytes: Some(all), ..Change::default() };
        ProcessRun { seen, surroundings, ..ProcessRun::default() }
    }

    #[test]
    fn bytes_that_the_interface_did_not_carry_went_another_way() {
        let launch = |carried: u64| [carrying(carried, Some(100 << 20))];
        let found = other_path(&stream(), &launch(1 << 20)).unwrap();
        assert!(found.text.contains("carried 1048576 of the 104857600 B"), "{}", found.text);
        assert_eq!(other_path(&stream(), &launch(101 << 20)), None);
        let inside = NetParams { path: LOOPBACK.into(), ..stream() };
        assert_eq!(other_path(&inside, &launch(0)), None);
        assert_eq!(other_path(&stream(), &[]), None);
    }

    #[test]
    fn launches_are_put_together() {
        let with = |retransmits, share, late| {
            let tcp =
                TcpConditions { retransmits: Some(retransmits), busy_seconds: Some(1.0), ..TcpConditions::default() };
            let net =
                NetConditions { tcp: Some(tcp), zero_copied_share: Some(share), late_share: Some(late), ..good() };
            Observations { net: Some(net), ..Observations::default() }
        };
        let all = [with(3, 0.2, 0.0), with(4, 0.4, 0.3), with(5, 0.9, 0.1)];
        let runs = all.map(|seen| ProcessRun { seen, ..ProcessRun::default() });
        let mut found = Conditions { cpu_share: Some(0.7), ..Conditions::default() };
        conditions(&planned(), &runs.iter().collect::<Vec<_>>(), &mut found);
        let found = found.net.unwrap();
        let tcp = found.tcp.unwrap();
        assert_eq!((tcp.retransmits, tcp.busy_seconds, tcp.receiver_limited_seconds), (Some(12), Some(3.0), None));
        assert_eq!((found.zero_copied_share, found.late_share, found.cpu_busy), (Some(0.4), Some(0.3), Some(0.7)));
        assert_eq!(of_net(&[], None), None);
    }

    #[test]
    fn bytes_of_others_on_the_interface_are_beyond_our_connections() {
        let share = |all: u64, link_bytes| {
            let mut found = Conditions::default();
            conditions(&planned(), &[&carrying(all, link_bytes)], &mut found);
            found.net.unwrap().other_share
        };
        assert_eq!(share((64 << 10) + 1000, Some(1000)), Some(0.0));
        assert_eq!(share(1000, Some(1010)), Some(0.0));
        assert!((share(10 << 20, Some(5 << 20)).unwrap() - 0.494).abs() < 1e-3);
        assert_eq!(share(10 << 20, None), None);
    }
}
