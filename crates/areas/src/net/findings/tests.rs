//! The rules on rows made up by hand, each on both of its sides.

use model::document::TcpConditions;
use model::experiment::{Area, LOOPBACK, NetParams, Params, net_id};
use model::io::Protocol;
use model::machine::Machine;
use model::unit::{Better, Unit};
use model::warning::Confidence;

use super::*;
use crate::tests::{findings_of, known, only, row as measured};

const KIB: u64 = 1 << 10;
const HOST: &str = "node7";

/// A TCP stream of 128 KiB up on one connection over loopback, but for what is changed.
fn stream(change: impl FnOnce(&mut NetParams)) -> NetParams {
    let plain = crate::net::judge::tests::params(Protocol::Tcp, NetMode::Stream);
    let mut params = NetParams { block: 128 * KIB, path: LOOPBACK.into(), zero_copy: Some(false), ..plain };
    change(&mut params);
    params
}

fn round_trip(wait: Option<Wait>, mode: NetMode) -> NetParams {
    stream(|own| {
        (own.mode, own.block, own.wait, own.direction, own.zero_copy) = (mode, 1, wait, None, None);
    })
}

fn load(direction: Direction, path: &str) -> NetParams {
    let mut params = round_trip(None, NetMode::Load);
    (params.direction, params.path) = (Some(direction), path.into());
    params
}

fn row(params: NetParams, name: MetricName, value: f64) -> Row {
    let mut row = measured();
    row.id = net_id(&params);
    (row.area, row.classic) = (Area::Net, None);
    row.metrics[0].samples[0].seconds = 1.0;
    row.conditions.net = Some(NetConditions::default());
    row.params = Params::Net(params);
    let first = row.metrics.remove(0);
    row.metrics.push(first);
    set(&mut row.metrics[0], name, value);
    row
}

fn set(metric: &mut model::sample::Metric, name: MetricName, value: f64) {
    metric.name = name.into();
    (metric.unit, metric.better) = match name {
        MetricName::Latency | MetricName::Jitter => (Unit::Second, Better::Lower),
        MetricName::CpuCost => (Unit::SecondPerByte, Better::Lower),
        MetricName::Loss | MetricName::Retransmits => (Unit::One, Better::Lower),
        _ => (Unit::BytePerSecond, Better::Higher),
    };
    known(&mut metric.summary, value);
}

fn moving(params: NetParams, rate: f64) -> Row {
    row(params, MetricName::Throughput, rate)
}

fn taking(params: NetParams, seconds: f64) -> Row {
    row(params, MetricName::Latency, seconds)
}

fn and(mut row: Row, name: MetricName, value: f64) -> Row {
    let mut metric = row.metrics[0].clone();
    set(&mut metric, name, value);
    row.metrics.push(metric);
    row
}

fn seen(mut row: Row, see: impl Fn(&mut NetConditions)) -> Row {
    row.conditions.net.iter_mut().for_each(see);
    row
}

fn disturbed(mut row: Row) -> Row {
    row.confidence = Some(Confidence::Low);
    row
}

fn reported(rows: &[Row]) -> Vec<(String, String)> {
    findings_of(Area::Net, rows, &Machine::default())
}

fn text(rows: &[Row], code: &str) -> String {
    only(&reported(rows), code)
}

fn has(rows: &[Row], code: &str) -> bool {
    reported(rows).iter().any(|(other, _)| other == code)
}

fn holds(sentence: &str, parts: &[&str]) {
    for part in parts {
        assert!(sentence.contains(part), "'{part}' is not in: {sentence}");
    }
}

#[test]
fn loopback_is_said_to_be_no_network_and_a_host_is_not() {
    let ceiling = |rate| move |net: &mut NetConditions| net.two_copy_bytes_per_second = Some(rate);
    let rows = [seen(moving(stream(|_| {}), 4e9), ceiling(5e9)), moving(stream(|own| own.block = KIB), 1e9)];
    let sentence = text(&rows, "loopback_is_no_network");
    holds(&sentence, &["Fastest: TCP streams of 128 KiB, 32.0 Gb/s, 80 % of the 40.0 Gb/s of two memory copies."]);
    assert!(!has(&[moving(stream(|own| own.path = HOST.into()), 4e9)], "loopback_is_no_network"));
    assert!(!has(&[disturbed(moving(stream(|_| {}), 4e9))], "loopback_is_no_network"));
}

#[test]
fn rates_grow_with_connections_or_do_not() {
    let with = |block: u64, threads: u32, rate: f64| {
        let copies = 5e9 * f64::from(threads).sqrt();
        let row = moving(stream(|own| (own.block, own.threads) = (block, threads)), rate);
        seen(row, |net| net.two_copy_bytes_per_second = Some(copies))
    };
    let two = |factor: f64| [with(KIB, 1, 1e9), with(KIB, 2, factor * 1e9)];
    let limited =
        "TCP streams of 1 KiB: 1.20x from 1 to 2 connections, 60 % of linear scaling; memory copies scale 1.41x.";
    assert_eq!(text(&two(1.2), "scaling_limited"), limited);
    assert!(has(&two(1.0), "scaling_none"));
    let [first, second] = two(1.1);
    assert!(!reported(&[first, disturbed(second)]).iter().any(|(code, _)| code.starts_with("scaling")));
    let many: Vec<Row> = [(64, 1.2), (KIB, 1.4), (32 * KIB, 1.9), (128 * KIB, 1.5)]
        .iter()
        .flat_map(|(block, factor)| [with(*block, 1, 1e9), with(*block, 2, factor * 1e9)])
        .collect();
    let sentence = text(&many, "scaling_many");
    holds(&sentence, &["of 4 benchmarks", "Least: TCP streams of 64 B, 1.20x from 1 to 2 connections; memory copies"]);
    let trips = [1, 2].map(|threads| {
        let mut params = round_trip(Some(Wait::Blocking), NetMode::Pingpong);
        params.threads = threads;
        and(taking(params, 2e-5), MetricName::Throughput, 5e4)
    });
    assert!(!reported(&trips).iter().any(|(code, _)| code.starts_with("scaling")), "each waits for itself");
}

#[test]
fn what_held_a_stream_back_is_the_first_that_binds() {
    let used = |sending, receiving| {
        seen(moving(stream(|_| {}), 4e9), |net| {
            (net.sending_cpu_seconds, net.receiving_cpu_seconds) = (Some(sending), Some(receiving));
        })
    };
    let waited = |row: Row, window: f64, buffer: f64| {
        seen(row, |net| {
            net.tcp = Some(TcpConditions {
                busy_seconds: Some(2.0),
                receiver_limited_seconds: Some(2.0 * window),
                buffer_limited_seconds: Some(2.0 * buffer),
                ..TcpConditions::default()
            });
        })
    };
    holds(&text(&[used(0.5, 0.97)], "limited_by_receiver_cpu"), &["the receiver's CPU is the limit (97 % of a core)."]);
    assert!(has(&[used(0.95, 0.5)], "limited_by_sender_cpu"));
    assert!(
        has(&[waited(used(0.5, 0.97), 0.8, 0.0)], "limited_by_receiver_cpu"),
        "a window is full since nobody reads"
    );
    let sentence = text(&[waited(used(0.5, 0.4), 0.8, 0.0)], "limited_by_receiver_window");
    holds(&sentence, &["the receive window is the limit for 80 % of the time."]);
    assert!(has(&[waited(used(0.5, 0.4), 0.1, 0.7)], "limited_by_send_buffer"));
    let unseen = reported(&[waited(used(0.5, 0.4), 0.1, 0.1)]);
    assert!(!unseen.iter().any(|(code, _)| code.starts_with("limited_by")), "what is not seen is not said: {unseen:?}");
    assert!(reported(&[moving(stream(|own| own.path = HOST.into()), 4e9)]).is_empty(), "nothing known, nothing said");
}

#[test]
fn what_a_load_adds_on_a_path_is_queues() {
    let under = |path: &str, seconds: f64| {
        let row = taking(load(Direction::Both, path), seconds);
        [seen(row, |net| (net.idle_latency_seconds, net.load_bytes_per_second) = (Some(100e-6), Some(1e9)))]
    };
    assert_eq!(
        text(&under(HOST, 200e-3), "load_delays_long_queues"),
        "TCP round trips under load of 1 B both ways: 200 ms, 200 ms more than without load, from long queues on the \
         path (bufferbloat)."
    );
    assert!(reported(&under(HOST, 12e-3)).is_empty() && reported(&under(LOOPBACK, 200e-3)).is_empty());
    let unknown = under(HOST, 200e-3).map(|row| seen(row, |net| net.idle_latency_seconds = None));
    assert!(reported(&unknown).is_empty());
}
