//! iperf 2 compared with our streams on loopback, TCP and UDP: the same block, connections, and CPUs of each end.
//!
//! Over TCP the value is the client's: bytes handed to the kernel per second, a few MB more than arrive. The CSV report rounds
//! seconds to 0.1, so the printed rate is used.
//! Over UDP the value is the server's: arrivals per second, which the server reports to the client after the last datagram.
//! Without that report (requested ten times) there is no value. The CSV of 2.1 omits it, so the text is read, in bytes and
//! bits (`-fb`). The offered load is unlimited, or the highest that keeps the loss goal ([`crate::rate_search`]).

use model::experiment::{Experiment, NetParams};
use model::io::{Direction, NetMode, Protocol};
use serde_json::json;

use super::{over_udp, receive_buffer, sender, server, streams};
use crate::examples;
use crate::invocation::{Invocation, ListensFor, PORT, Target};
use crate::output::{Output, Reading, details, number_in, positive, refuse_if, unless};
use crate::tool::{Adapter, Reason, Rule, Side, ToolDescription, VersionSource};
use crate::version::major_minor;

pub(crate) struct Iperf;

const TOOL: &str = "iperf";
static DESCRIPTION: ToolDescription = ToolDescription {
    id: TOOL,
    program: "iperf",
    launcher: None,
    version: VersionSource::Asked { argument: "-v", prefix: "iperf version ", oldest: (2, 0) },
    compared_with: "streams on the loopback interface, TCP and UDP, from the client to the server",
    equal: "the block, the connections, the CPUs of both sides, and over UDP the receive buffer",
    rules: &[&UNARRIVED, &UNSET, &CALL_EACH],
    how_to_get: "Debian package iperf; https://sourceforge.net/projects/iperf2",
    example: || examples::net(Protocol::Tcp, NetMode::Stream, 128 << 10, 1),
};
static UNARRIVED: Rule = Rule::new("unarrived", Some("over TCP"), Side::Faster);
static UNSET: Rule = Rule::new("unset", Some("over TCP"), Side::Either);
static CALL_EACH: Rule = Rule::new("call-each", Some("over UDP"), Side::Slower);

/// Fields of its CSV report: time, two addresses with ports, id, interval, bytes, bits per second.
const FIELDS: usize = 9;
const SUM: &str = "-1";
const KNOWN_OVER_UDP: (u32, u32) = (2, 1);
/// An unlimited rate in bits per second; 0 is not "no limit".
const WITHOUT_LIMIT: f64 = 1e12;
/// How often the last datagram is repeated until the report arrives; the server counts each.
const REPEATS: f64 = 10.0;

impl Adapter for Iperf {
    const DESCRIPTION: &'static ToolDescription = &DESCRIPTION;
    type Work<'a> = &'a NetParams;

    fn work(experiment: &Experiment) -> Result<&NetParams, String> {
        let params = streams(TOOL, experiment)?;
        let reasons = [
            (params.direction != Some(Direction::Up), "only the direction from client to server is compared"),
            (params.zero_copy == Some(true), "it has no zero copy"),
        ];
        refuse_if(TOOL, &reasons).map(|()| params)
    }

    fn command(params: &NetParams, target: &Target<'_>) -> Result<Invocation, String> {
        let seconds = target.seconds.ceil().clamp(1.0, 3600.0);
        let (udp, report, listens_for) = match params.protocol {
            Protocol::Tcp => (String::new(), "-yC", ListensFor::Tcp),
            Protocol::Udp => (format!("-u{}", receive_buffer(target)), "-fb", ListensFor::Udp),
        };
        let old = major_minor(target.version).is_some_and(|version| version < KNOWN_OVER_UDP);
        let reason = format!("the UDP report of version {} is not supported; 2.1 is required", target.version);
        refuse_if(TOOL, &[(old && params.protocol == Protocol::Udp, &reason)])?;
        // Set at both ends: by default a server receives up to 128 KiB at a time.
        let block = params.block;
        let client = format!(
            "-c127.0.0.1 -p{PORT} {} -l{block} -P{} -t{seconds} {report}",
            over_udp(params, target, WITHOUT_LIMIT),
            params.threads
        );
        let server = server(target, &format!("-s -B127.0.0.1 -p{PORT} {udp} -l{block}"), listens_for);
        Ok(sender(target, seconds, &client, server))
    }

    fn read(params: &NetParams, output: &Output) -> Result<Reading, String> {
        output.succeeded(TOOL)?;
        match params.protocol {
            Protocol::Udp => of_datagrams(output, params),
            Protocol::Tcp => of_connections(output, params),
        }
    }

    fn differences(params: &NetParams, version: &str, _reading: &Reading) -> Vec<Option<Reason>> {
        match params.protocol {
            Protocol::Udp => vec![CALL_EACH.says(format!(
                "iperf {version} makes a system call for each datagram and looks at the clock before the next"
            ))],
            Protocol::Tcp => vec![
                UNARRIVED
                    .says("iperf counts bytes that its client passes to the kernel, ours counts bytes that arrive"),
                UNSET.says("iperf sets neither its buffers nor the CPU of each thread"),
            ],
        }
    }
}

/// Checks the number of streams: iperf exits with 0 even if it cannot connect.
fn as_many(found: usize, output: &Output, params: &NetParams) -> Result<(), String> {
    let asked = format!("{}: {}", params.threads, output.complaint());
    unless(found == params.threads as usize, TOOL, "streams", found, asked)
}

fn of_connections(output: &Output, params: &NetParams) -> Result<Reading, String> {
    let lines = output.stdout.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let streams: Vec<Vec<&str>> = lines.filter(|fields| fields.len() == FIELDS && fields[5] != SUM).collect();
    as_many(streams.len(), output, params)?;
    let sum = |field: usize, what: &str| {
        let sum: Option<f64> = streams.iter().map(|fields| number_in(fields[field])).sum();
        sum.ok_or_else(|| format!("iperf printed no number as the {what} of a stream"))
    };
    let rate = sum(8, "rate")? / 8.0;
    let details = details([("bytes", json!(sum(7, "bytes")?)), ("streams", json!(streams.len()))]);
    Reading::throughput(TOOL, rate, details)
}

fn of_datagrams(output: &Output, params: &NetParams) -> Result<Reading, String> {
    let lines: Vec<Line> = output.stdout.lines().filter_map(Line::read).collect();
    let sent: Vec<f64> = lines.iter().filter_map(Line::sent).collect();
    let received: Vec<Received> = lines.iter().filter_map(Line::received).collect();
    as_many(received.len(), output, params)?;
    as_many(sent.len(), output, params)?;
    let sum = |of: fn(&Received) -> f64| received.iter().map(of).sum::<f64>();
    let lost = sum(|stream| stream.lost);
    let datagrams = positive(TOOL, "number of datagrams", sum(|stream| stream.datagrams))?;
    let jitter_ms = received.iter().map(|stream| stream.jitter_ms).fold(0.0, f64::max);
    let (bytes, block) = (sum(|stream| stream.bytes), params.block as f64);
    let reordered: f64 = lines.iter().filter_map(Line::out_of_order).sum();
    let beyond = bytes / block - (datagrams - lost);
    if !(-reordered..=reordered + REPEATS * f64::from(params.threads)).contains(&beyond) {
        let arrived = datagrams - lost;
        return Err(format!("iperf contradicts itself: {bytes} B are not {arrived} datagrams of {block} B"));
    }
    let details = details([
        ("bytes", json!(bytes)),
        ("streams", json!(received.len() as f64)),
        ("sent", json!(sent.iter().sum::<f64>() / 8.0)),
        ("lost", json!(lost)),
        ("datagrams", json!(datagrams)),
        ("loss", json!(lost / datagrams)),
        ("reordered", json!(reordered)),
        ("jitter", json!(jitter_ms * 1e-3)),
    ]);
    Reading::throughput(TOOL, sum(|stream| stream.bits_per_second) / 8.0, details)
}

/// The words of a line that begins with a stream's number, after its interval.
struct Line<'a>(Vec<&'a str>);

struct Received {
    bytes: f64,
    bits_per_second: f64,
    jitter_ms: f64,
    lost: f64,
    datagrams: f64,
}

impl<'a> Line<'a> {
    fn read(line: &'a str) -> Option<Self> {
        let (number, rest) = line.strip_prefix('[')?.split_once(']')?;
        number.trim().parse::<u32>().ok()?;
        Some(Self(rest.split_once(" sec ")?.1.split([' ', '/']).filter(|word| !word.is_empty()).collect()))
    }

    /// Bits per second of the client: `[  1] 0.0000-1.0002 sec  12504640 Bytes  100020617 bits/sec`.
    fn sent(&self) -> Option<f64> {
        let [_, "Bytes", bits, "bits", "sec"] = self.0[..] else { return None };
        count(bits)
    }

    /// The same line of the server ends with `0.001 ms 169503/283326 (60%)`.
    fn received(&self) -> Option<Received> {
        let [bytes, "Bytes", bits, "bits", "sec", jitter, "ms", lost, datagrams, _] = self.0[..] else { return None };
        let [bytes, bits_per_second, jitter_ms] = [count(bytes)?, count(bits)?, count(jitter)?];
        Some(Received { bytes, bits_per_second, jitter_ms, lost: count(lost)?, datagrams: count(datagrams)? })
    }

    fn out_of_order(&self) -> Option<f64> {
        let [count_of, "datagrams", "received", "out-of-order", ..] = self.0[..] else { return None };
        count(count_of)
    }
}

fn count(text: &str) -> Option<f64> {
    number_in(text).filter(|number| *number >= 0.0)
}

#[cfg(test)]
mod tests {
    use model::sample::MetricName;

    use super::*;
    use crate::rate_search::sent_too_fast;
    use crate::tests::fixtures::{assert_refused, net, recorded, said, target, with_net};
    use crate::tool::ReferenceTool;

    fn stream(threads: u32) -> Experiment {
        net(Protocol::Tcp, NetMode::Stream, 128 << 10, threads)
    }

    #[test]
    fn its_ends_are_where_ours_are_and_its_server_on_loopback_only() {
        let experiment = stream(2);
        let target = target(&experiment);
        let invocation = Iperf.invocation(&target).unwrap();
        let expected = "/opt/tool -c127.0.0.1 -p{port} -l131072 -P2 -t1 -yC";
        assert_eq!((invocation.argv.join(" ").as_str(), invocation.cpus), (expected, vec![0]));
        let server = invocation.server.unwrap();
        assert_eq!(
            (server.argv.join(" ").as_str(), server.cpus),
            ("/opt/tool -s -B127.0.0.1 -p{port} -l131072", vec![1])
        );
    }

    #[test]
    fn what_it_cannot_do_alike_is_refused() {
        let why = |experiment: &Experiment| Iperf.supports(experiment).unwrap_err();
        assert!(why(&net(Protocol::Udp, NetMode::Blast, 15, 1)).contains("16 B to 65507 B"));
        assert!(why(&net(Protocol::Udp, NetMode::NoDrop, 65_508, 1)).contains("16 B to 65507 B"));
        assert!(why(&net(Protocol::Tcp, NetMode::Pingpong, 1024, 1)).contains("streams"));
        let with = |change: fn(&mut NetParams)| why(&with_net(stream(1), change));
        assert!(with(|params| params.direction = Some(Direction::Both)).contains("from client to server"));
        assert!(with(|params| params.zero_copy = Some(true)).contains("zero copy"));
        assert!(with(|params| params.path = "10.0.0.1".to_owned()).contains("loopback"));
    }

    #[test]
    fn recorded_runs_are_read_as_the_sum_of_their_streams() {
        let reading = |name: &str, threads| Iperf.parse(&said(&recorded(name)), &stream(threads)).unwrap();
        let two = reading("iperf-2.1.8-tcp-128KiB-t2.csv", 2);
        assert_eq!((two.metric, two.value), (MetricName::Throughput, (2_110_436_962.0 + 1_712_838_198.0) / 8.0));
        let one = reading("iperf-2.1.8-tcp-128KiB-t1.csv", 1);
        assert_eq!((one.value, &one.details["bytes"]), (3_711_693_319.0 / 8.0, &json!(470_024_252.0)));
    }

    #[test]
    fn what_it_did_not_measure_is_no_reading() {
        let whole = recorded("iperf-2.1.8-tcp-128KiB-t1.csv");
        assert_refused(
            &Iperf,
            &stream(1),
            [
                (String::new(), "streams 0 and not 1"),
                (whole.repeat(2), "streams 2 and not 1"),
                (whole.replace(",1,0.0-", ",-1,0.0-"), "streams 0"),
                (whole.trim_end().rsplit_once(',').unwrap().0.to_owned(), "streams 0"),
                (
                    whole.trim_end().rsplit_once(',').map(|(rest, _)| format!("{rest},fast")).unwrap(),
                    "no number as the rate",
                ),
                (whole.trim_end().rsplit_once(',').map(|(rest, _)| format!("{rest},0")).unwrap(), "an impossible"),
            ],
        );
        let silent = Output { stderr: "tcp connect failed: Connection refused".to_owned(), ..said("") };
        assert!(Iperf.parse(&silent, &stream(1)).unwrap_err().contains("Connection refused"));
    }

    fn datagrams(mode: NetMode, threads: u32) -> Experiment {
        let goal = (mode == NetMode::NoDrop).then_some(1000);
        with_net(net(Protocol::Udp, mode, 1472, threads), |params| params.loss_goal_per_million = goal)
    }

    #[test]
    fn over_udp_it_is_offered_all_or_its_part_of_a_rate() {
        let with = |experiment: &Experiment, offered_rate: Option<f64>, version: &str| {
            let invocation =
                Iperf.invocation(&Target { our_rate: Some(1e9), version, offered_rate, ..target(experiment) });
            invocation.map(|invocation| (invocation.argv.join(" "), invocation.server.unwrap()))
        };
        let (argv, server) = with(&datagrams(NetMode::Blast, 2), None, "2.1.8").unwrap();
        assert_eq!(argv, "/opt/tool -c127.0.0.1 -p{port} -u -b1000000000000 -l1472 -P2 -t1 -fb");
        assert_eq!(
            (server.argv.join(" ").as_str(), server.listens_for),
            ("/opt/tool -s -B127.0.0.1 -p{port} -u -l1472", ListensFor::Udp)
        );
        let (paced, _) = with(&datagrams(NetMode::NoDrop, 2), Some(50e6), "2.1.8").unwrap();
        assert!(paced.contains(" -b200000000 "), "a half of it each: {paced}");
        let old = with(&datagrams(NetMode::Blast, 1), None, "2.0.13").unwrap_err();
        assert!(old.contains("2.1 is required"), "{old}");
        assert!(with(&stream(1), None, "2.0.13").is_ok(), "over TCP it is known");
    }

    #[test]
    fn recorded_runs_over_udp_are_read_at_the_server() {
        let text = recorded("iperf-2.1.8-udp-1472B-t1.txt");
        let experiment = datagrams(NetMode::Blast, 1);
        let reading = Iperf.parse(&said(&text), &experiment).unwrap();
        assert_eq!((reading.metric, reading.value), (MetricName::Throughput, 1_343_660_868.0 / 8.0));
        let read = ["bytes", "sent", "lost", "datagrams", "loss", "jitter"].map(|key| reading.details[key].clone());
        let sent = 3_332_248_343.0 / 8.0;
        let wanted = [167_547_456.0, sent, 169_503.0, 283_326.0, 169_503.0 / 283_326.0, 1e-6];
        assert_eq!(read, wanted.map(|value| json!(value)));
        assert_eq!(sent_too_fast(&experiment, &reading), None, "no goal is asked for");
        assert_eq!(sent_too_fast(&datagrams(NetMode::NoDrop, 1), &reading), Some(sent), "more than 0.1 % are lost");
        let two = datagrams(NetMode::NoDrop, 2);
        let reading = Iperf.parse(&said(&recorded("iperf-2.1.8-udp-1472B-rate-t2.txt")), &two).unwrap();
        let (lost, datagrams) = (&reading.details["lost"], &reading.details["datagrams"]);
        let both = (100_026_544.0 + 100_452_188.0) / 8.0;
        assert_eq!((reading.value, lost, datagrams), (both, &json!(1.0), &json!(16_990.0)));
        assert_eq!(sent_too_fast(&two, &reading), None);
    }

    #[test]
    fn what_it_did_not_measure_over_udp_is_no_reading() {
        let whole = recorded("iperf-2.1.8-udp-1472B-t1.txt");
        let at_server = "167547456 Bytes  1343660868 bits/sec   0.001 ms 169503/283326";
        assert!(whole.contains(at_server));
        let other = |instead: &str| whole.replace(at_server, instead);
        assert_refused(
            &Iperf,
            &datagrams(NetMode::Blast, 1),
            [
                (String::new(), "streams 0 and not 1"),
                (recorded("iperf-2.1.8-udp-no-report.txt"), "streams 0 and not 1"),
                (whole.repeat(2), "streams 2 and not 1"),
                (other("167547456 Bytes  fast bits/sec   0.001 ms 169503/283326"), "streams 0 and not 1"),
                (other("167547456 Bytes  nan bits/sec   0.001 ms 169503/283326"), "streams 0 and not 1"),
                (other("167547456 Bytes  1343660868 bits/sec   0.001 ms 169503"), "streams 0 and not 1"),
                (other("0 Bytes  0 bits/sec   0.001 ms 283326/283326"), "an impossible"),
                (other("0 Bytes  8 bits/sec   0.001 ms 0/0"), "an impossible"),
                (other("83773728 Bytes  671830434 bits/sec   0.001 ms 169503/283326"), "contradicts itself"),
            ],
        );
        let unanswered = Output {
            stderr: "[  3] WARNING: did not receive ack of last datagram after 10 tries.".to_owned(),
            ..said(&recorded("iperf-2.1.8-udp-no-report.txt"))
        };
        let reason = Iperf.parse(&unanswered, &datagrams(NetMode::Blast, 1)).unwrap_err();
        assert!(reason.contains("did not receive ack"), "{reason}");
    }

    #[test]
    fn datagrams_out_of_order_and_repeated_ones_are_no_contradiction() {
        let whole = recorded("iperf-2.1.8-udp-1472B-t1.txt");
        let repeated = whole.replace("167547456 Bytes", &format!("{} Bytes", 167_547_456 + 1472 * 9));
        let reading = Iperf.parse(&said(&repeated), &datagrams(NetMode::Blast, 1)).unwrap();
        assert_eq!(reading.details["reordered"], json!(0.0));
        let reordered = format!("{whole}[  1] 0.0000-0.9976 sec  3 datagrams received out-of-order\n");
        let reading = Iperf.parse(&said(&reordered), &datagrams(NetMode::Blast, 1)).unwrap();
        assert_eq!(reading.details["reordered"], json!(3.0));
    }
}
