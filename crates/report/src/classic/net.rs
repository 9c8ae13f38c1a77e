//! The classic suite's tables of networks: rates of TCP and UDP by block and concurrency, round trips by message, and
//! transfers there and back.

use model::document::{Document, Row, Status};
use model::experiment::{Classic, NetParams};
use model::io::{NetMode, Protocol};
use model::sample::MetricName;
use model::unit::Unit;
use model::warning::Grade;

use super::figures::{Figure, Theory, best, common, did, highest};
use areas::label::{Axis, Common};
use areas::net::label::params;

/// The name of these tables in a row's [`Classic`].
const TABLE: &str = "net";

/// The tools of rates, the better for the purpose first.
const RATE_TOOLS: [&str; 2] = ["iperf3", "iperf"];

/// All tables.
#[derive(Clone, Debug, PartialEq)]
pub struct NetTable {
    /// One for each kind of experiment, protocol and block, in the tables' order.
    pub series: Vec<NetSeries>,
    /// Between which ends most of it was measured, and how.
    pub place: Option<String>,
    /// Bytes that each experiment of a rate comes to over all connections, where all state the same.
    pub total: Option<f64>,
    /// Round trips that each experiment of a latency comes to, likewise.
    pub round_trips_total: Option<f64>,
}

/// What the experiments of a series are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NetKind {
    /// Bytes per second.
    Rate,
    /// Seconds of a round trip.
    RoundTrip,
    /// A fixed amount there and the same back.
    Transfer,
}

/// One protocol with one block, over the connections.
#[derive(Clone, Debug, PartialEq)]
pub struct NetSeries {
    /// What is asked for.
    pub kind: NetKind,
    /// The transport.
    pub protocol: Protocol,
    /// Bytes of a block or message.
    pub block: u64,
    /// By connections, the fewest first.
    pub points: Vec<NetPoint>,
}

/// One line of the tables. What is not known is `None`.
#[derive(Clone, Debug, PartialEq)]
pub struct NetPoint {
    /// Id of the row.
    pub id: String,
    /// Connections.
    pub threads: u32,
    /// What became of it.
    pub status: Status,
    /// How far it can be trusted.
    pub grade: Option<Grade>,
    /// Bytes per second.
    pub rate: Option<Figure>,
    /// Seconds of a full round trip, or of a transfer there and back.
    pub latency: Option<Figure>,
    /// Seconds that 99 % of the round trips took at most.
    pub p99: Option<f64>,
    /// Share of the datagrams that were lost.
    pub loss: Option<f64>,
    /// The most bytes per second that are possible.
    pub theory_rate: Option<Theory>,
    /// The least seconds of a round trip.
    pub theory_latency: Option<Theory>,
    /// Measured over theory for rates, theory over measured for round trips, as the document has it.
    pub efficiency: Option<f64>,
    /// Bytes per second that iperf measured beside it.
    pub iperf: Option<f64>,
    /// Which iperf it was: `iperf3` or `iperf`.
    pub iperf_tool: Option<&'static str>,
    /// Seconds of a round trip that the system's ping measured with as large a message.
    pub ping: Option<f64>,
    /// Seconds of a round trip that sockperf measured beside it.
    pub sockperf: Option<f64>,
    /// Seconds for the total of its workload, bytes or round trips.
    pub total_seconds: Option<f64>,
    /// Whether each of its samples was the whole total.
    pub in_full: bool,
}

/// Whether a row is of these tables.
pub(super) fn is_of_net_table(row: &Row) -> bool {
    row.classic.as_ref().is_some_and(|classic| classic.table == TABLE)
        && params(row).is_some_and(|own| kind(own).is_some())
}

/// Which table rows of this mode are in; `None` for those that the classic programs do not have.
const fn kind(params: &NetParams) -> Option<NetKind> {
    match params.mode {
        NetMode::Stream | NetMode::NoDrop => Some(NetKind::Rate),
        NetMode::Pingpong => Some(NetKind::RoundTrip),
        NetMode::Transfer => Some(NetKind::Transfer),
        NetMode::Connect | NetMode::Blast | NetMode::Load => None,
    }
}

impl NetTable {
    /// The tables of these rows; `None` where none belongs to them.
    pub(super) fn of(document: &Document) -> Option<Self> {
        let rows: Vec<&Row> = document.experiments.iter().filter(|row| is_of_net_table(row)).collect();
        let mut series: Vec<NetSeries> = Vec::new();
        let mut totals: Vec<(NetKind, f64)> = Vec::new();
        for row in &rows {
            let (Some(own), Some(classic)) = (params(row), row.classic.as_ref()) else { continue };
            let Some(kind) = kind(own) else { continue };
            totals.extend(classic.total.map(|total| (kind, total)));
            let point = point(row, own, classic, &rows);
            let key = (kind, own.protocol, own.block);
            match series.iter_mut().find(|one| (one.kind, one.protocol, one.block) == key) {
                Some(one) => one.points.push(point),
                None => series.push(NetSeries { kind, protocol: own.protocol, block: own.block, points: vec![point] }),
            }
        }
        let place = |protocol: Protocol| Protocol::ALL.iter().position(|other| *other == protocol);
        series.sort_by_key(|one| (one.kind, place(one.protocol), one.block));
        for one in &mut series {
            one.points.sort_by_key(|point| point.threads);
        }
        let total = |kind| common(totals.iter().filter(|(other, _)| *other == kind).map(|(_, total)| *total));
        let where_measured = Common::of(&rows, Axis::Connections).words();
        let (total, round_trips_total) = (total(NetKind::Rate), total(NetKind::RoundTrip));
        (!series.is_empty()).then_some(Self { series, place: where_measured, total, round_trips_total })
    }

    /// The series of this kind.
    pub fn of_kind(&self, kind: NetKind) -> impl Iterator<Item = &NetSeries> {
        self.series.iter().filter(move |series| series.kind == kind)
    }

    /// The highest efficiency of a kind, with its series and its point.
    pub fn highest_efficiency(&self, kind: NetKind) -> Option<(f64, (&NetSeries, &NetPoint))> {
        highest(self.lines(kind), |(_, point)| point.efficiency)
    }

    /// Of each protocol the best line: the highest rate, or the shortest round trip.
    pub fn best(&self, kind: NetKind) -> Vec<(&NetSeries, &NetPoint)> {
        let figure = |point: &NetPoint| if kind == NetKind::RoundTrip { point.latency } else { point.rate };
        let beats = |one: &NetPoint, other: &NetPoint| {
            figure(one).zip(figure(other)).is_some_and(|(new, old)| match kind {
                NetKind::RoundTrip => new.high() < old.median.min(old.low()),
                NetKind::Rate | NetKind::Transfer => new.exceeds(old),
            })
        };
        let known = self.lines(kind).filter(|(_, point)| figure(point).is_some());
        best(known, |(series, _)| series.protocol, |one, other| beats(one.1, other.1))
    }

    fn lines(&self, kind: NetKind) -> impl Iterator<Item = (&NetSeries, &NetPoint)> {
        self.of_kind(kind).flat_map(|series| series.points.iter().map(move |point| (series, point)))
    }
}

fn point(row: &Row, own: &NetParams, classic: &Classic, rows: &[&Row]) -> NetPoint {
    let metric = |name| row.metric(name).filter(|_| row.status == Status::Ok);
    let throughput = metric(MetricName::Throughput);
    let rate = throughput.filter(|metric| metric.unit == Unit::BytePerSecond);
    let latency = metric(MetricName::Latency);
    let headline = if own.mode == NetMode::Pingpong { latency } else { rate };
    // Round trips a second over all connections; where only their time is known, each connection makes its own.
    let per_second = throughput.map(|metric| metric.summary.median);
    let each = latency.map(|metric| f64::from(own.threads) / metric.summary.median);
    let total_seconds = classic.total.zip(per_second.or(each)).map(|(total, speed)| total / speed);
    let iperf = RATE_TOOLS.iter().find_map(|name| Some((*name, tool(row, MetricName::Throughput, name)?)));
    NetPoint {
        id: row.id.clone(),
        threads: own.threads,
        status: row.status,
        grade: row.grade,
        rate: rate.map(Figure::of),
        latency: latency.map(Figure::of),
        p99: latency.and_then(|metric| metric.summary.percentiles).map(|found| found.p99),
        loss: metric(MetricName::Loss).map(|metric| metric.summary.median),
        theory_rate: rate.and_then(Theory::of),
        theory_latency: latency.and_then(Theory::of).filter(|_| own.mode == NetMode::Pingpong),
        efficiency: headline.and_then(|metric| metric.efficiency).map(|share| share.value),
        iperf: iperf.map(|(_, rate)| rate),
        iperf_tool: iperf.map(|(name, _)| name),
        ping: tool(row, MetricName::Latency, "ping").or_else(|| ping_of(own, rows)),
        sockperf: tool(row, MetricName::Latency, "sockperf"),
        total_seconds: total_seconds.filter(|seconds| seconds.is_finite()),
        in_full: classic.total.zip(throughput.or(latency)).is_some_and(|(total, metric)| did(total, metric)),
    }
}

/// What a tool measured beside this row.
fn tool(row: &Row, name: MetricName, tool: &str) -> Option<f64> {
    let references = row.metric(name).into_iter().flat_map(|metric| &metric.references);
    references.filter(|found| found.tool == tool && found.status == Status::Ok).find_map(|found| found.median)
}

/// What ping measured beside another row of one connection with as large a message: it knows no protocols, and waits for
/// one answer at a time.
fn ping_of(own: &NetParams, rows: &[&Row]) -> Option<f64> {
    let is_alike = |other: &NetParams| {
        let of = |params: &NetParams| (params.mode, params.block, params.threads);
        own.mode == NetMode::Pingpong && own.threads == 1 && of(other) == of(own)
    };
    let mut rows = rows.iter().filter(|row| params(row).is_some_and(is_alike));
    rows.find_map(|row| tool(row, MetricName::Latency, "ping"))
}
