//! sockperf's ping-pong compared with ours on loopback, TCP and UDP: the same message and CPUs of each end.
//!
//! The value is the median of the full round trip (`--full-rtt`; by default it reports half). Sockets block, or poll at both
//! ends (`--nonblocked`), as ours. It drops the first 400 ms and the last 50 ms of a run, and calibrates its clock for 2 s.

use model::experiment::{Experiment, NetParams};
use model::io::{NetMode, Protocol, Wait};
use serde_json::{Map, Value, json};

use super::{loopback, server};
use crate::examples;
use crate::invocation::{Invocation, ListensFor, PORT, Target};
use crate::output::{Output, Reading, refuse_if};
use crate::tool::{Adapter, Reason, Rule, Side, ToolDescription, VersionSource};

pub(crate) struct Sockperf;

const TOOL: &str = "sockperf";
static DESCRIPTION: ToolDescription = ToolDescription {
    id: TOOL,
    program: "sockperf",
    launcher: None,
    version: VersionSource::Asked { argument: "--version", prefix: "sockperf, version ", oldest: (3, 7) },
    compared_with: "ping-pongs of 14 B and more, TCP and UDP, on the loopback interface",
    equal: "the message, the wait mode and the CPUs of both sides",
    rules: &[&LOST],
    how_to_get: "Debian package sockperf; https://github.com/Mellanox/sockperf",
    example: || examples::net(Protocol::Udp, NetMode::Pingpong, 14, 1),
};
static LOST: Rule = Rule::new("lost", Some("messages were dropped"), Side::Slower);

const MESSAGES: std::ops::RangeInclusive<u64> = 14..=65_507;
const START_SECONDS: f64 = 2.3;

impl Adapter for Sockperf {
    const DESCRIPTION: &'static ToolDescription = &DESCRIPTION;
    type Work<'a> = &'a NetParams;

    fn work(experiment: &Experiment) -> Result<&NetParams, String> {
        let params = loopback(TOOL, experiment)?;
        let reasons = [
            (params.mode != NetMode::Pingpong, "only ping-pongs are compared"),
            (!MESSAGES.contains(&params.block), "its messages are 14 B to 65507 B"),
            (params.threads != 1, "its client has one thread"),
        ];
        refuse_if(TOOL, &reasons).map(|()| params)
    }

    fn command(params: &NetParams, target: &Target<'_>) -> Result<Invocation, String> {
        let seconds = target.seconds.ceil().clamp(1.0, 3600.0);
        let (protocol, listens_for) = match params.protocol {
            Protocol::Tcp => ("--tcp", ListensFor::Tcp),
            Protocol::Udp => ("", ListensFor::Udp),
        };
        let wait = if params.wait == Some(Wait::Spinning) { "--nonblocked" } else { "" };
        let address = format!("-i 127.0.0.1 -p {PORT}");
        let client = format!("pp {protocol} --full-rtt {wait} {address} -m {} -t {seconds}", params.block);
        let expected_seconds = START_SECONDS + seconds;
        Ok(Invocation {
            server: Some(server(target, &format!("sr {protocol} {wait} {address}"), listens_for)),
            ..Invocation::new(target, &client, [expected_seconds, 15.0 + 2.0 * expected_seconds])
        })
    }

    fn read(_params: &NetParams, output: &Output) -> Result<Reading, String> {
        output.succeeded(TOOL)?;
        let text = without_colours(&output.stdout);
        // It exits with 0 even if it cannot connect.
        let error = |line: &&str| line.contains("ERROR") || line.contains("No messages were received");
        if let Some(line) = text.lines().find(error) {
            return Err(format!("sockperf reports: {}", line.trim_start_matches("sockperf:").trim()));
        }
        if !text.contains("Summary: Round trip") {
            return Err(format!("sockperf printed no summary of round trips: {}", output.complaint()));
        }
        let seconds = |label: &str| observation(&text, label).map(|microseconds| microseconds * 1e-6);
        let median = seconds("percentile 50.000").ok_or_else(|| "sockperf printed no 50th percentile".to_owned())?;
        let mut details = counts(&text);
        for (name, label) in [
            ("p90", "percentile 90.000"),
            ("p99", "percentile 99.000"),
            ("p99.9", "percentile 99.900"),
            ("p99.99", "percentile 99.990"),
            ("min", "<MIN>"),
            ("max", "<MAX>"),
        ] {
            details.extend(seconds(label).map(|seconds| (name.to_owned(), json!(seconds))));
        }
        Reading::latency(TOOL, median, details)
    }

    fn differences(_params: &NetParams, _version: &str, reading: &Reading) -> Vec<Option<Reason>> {
        let dropped = reading.detail("dropped").unwrap_or_default();
        vec![LOST.says_if(dropped > 0.0, format!("sockperf lost {dropped} messages and waited for them"))]
    }
}

fn counts(text: &str) -> Map<String, Value> {
    let valid = text.split_once("[Valid Duration]").map_or("", |(_, rest)| rest);
    let after = |label: &str| {
        let rest = valid.split_once(label)?.1.trim_start_matches([' ', '=']);
        let digits: String = rest.chars().take_while(|c| c.is_ascii_digit() || *c == '.').collect();
        digits.parse::<f64>().ok()
    };
    let labels = [
        ("dropped", "# dropped messages"),
        ("duplicates", "# duplicated messages"),
        ("reordered", "# out-of-order messages"),
        ("messages", "ReceivedMessages="),
        ("seconds", "RunTime="),
    ];
    labels.into_iter().filter_map(|(name, label)| Some((name.to_owned(), json!(after(label)?)))).collect()
}

/// Microseconds of a line such as `---> percentile 50.000 =   20.096`.
fn observation(text: &str, label: &str) -> Option<f64> {
    let line = text.lines().find(|line| line.contains("--->") && line.contains(label))?;
    line.rsplit_once('=')?.1.trim().parse().ok()
}

fn without_colours(text: &str) -> String {
    let mut pieces = text.split("\u{1b}[");
    let first = pieces.next().unwrap_or_default().to_owned();
    pieces.fold(first, |mut plain, piece| {
        plain.push_str(piece.split_once('m').map_or("", |(_, rest)| rest));
        plain
    })
}

#[cfg(test)]
mod tests {
    use model::sample::MetricName;

    use super::*;
    use crate::tests::fixtures::{assert_refused, net, recorded, said, target, with_net};
    use crate::tool::ReferenceTool;

    fn pingpong(protocol: Protocol, block: u64) -> Experiment {
        net(protocol, NetMode::Pingpong, block, 1)
    }

    fn parse(text: &str) -> Result<Reading, String> {
        Sockperf.parse(&said(text), &pingpong(Protocol::Tcp, 14))
    }

    #[test]
    fn the_client_is_on_the_measuring_ends_cpus() {
        let experiment = pingpong(Protocol::Tcp, 14);
        let target = target(&experiment);
        let invocation = Sockperf.invocation(&target).unwrap();
        let expected = "/opt/tool pp --tcp --full-rtt -i 127.0.0.1 -p {port} -m 14 -t 1";
        assert_eq!((invocation.argv.join(" ").as_str(), invocation.cpus), (expected, vec![0]));
        let server = invocation.server.unwrap();
        assert_eq!(server.argv.join(" "), "/opt/tool sr --tcp -i 127.0.0.1 -p {port}");
        assert_eq!((server.cpus, server.listens_for), (vec![1], ListensFor::Tcp));
        let experiment = pingpong(Protocol::Udp, 8192);
        let udp = Sockperf.invocation(&Target { experiment: &experiment, seconds: 1.2, ..target }).unwrap();
        let expected = "/opt/tool pp --full-rtt -i 127.0.0.1 -p {port} -m 8192 -t 2";
        assert_eq!(udp.argv.join(" "), expected);
        assert_eq!(udp.server.unwrap().listens_for, ListensFor::Udp);
    }

    #[test]
    fn sockets_are_asked_again_and_again_at_both_ends_where_ours_are() {
        let experiment = with_net(pingpong(Protocol::Udp, 14), |params| params.wait = Some(Wait::Spinning));
        let invocation = Sockperf.invocation(&target(&experiment)).unwrap();
        assert_eq!(invocation.argv.join(" "), "/opt/tool pp --full-rtt --nonblocked -i 127.0.0.1 -p {port} -m 14 -t 1");
        assert_eq!(invocation.server.unwrap().argv.join(" "), "/opt/tool sr --nonblocked -i 127.0.0.1 -p {port}");
    }

    #[test]
    fn what_it_cannot_do_alike_is_refused() {
        let why = |experiment: &Experiment| Sockperf.supports(experiment).unwrap_err();
        for bytes in [1, 1 << 20] {
            assert!(why(&pingpong(Protocol::Tcp, bytes)).contains("14 B to 65507 B"));
        }
        assert!(why(&net(Protocol::Tcp, NetMode::Stream, 1024, 1)).contains("ping-pongs"));
        assert!(why(&net(Protocol::Tcp, NetMode::Pingpong, 1024, 2)).contains("one thread"));
    }

    #[test]
    fn recorded_runs_are_read_as_full_round_trips() {
        for name in ["sockperf-3.7-tcp-14B.txt", "sockperf-3.7-udp-14B.txt", "sockperf-3.7-udp-14B-spinning.txt"] {
            let text = recorded(name);
            let reading = parse(&text).unwrap();
            assert_eq!(reading.metric, MetricName::Latency);
            let printed = observation(&text, "percentile 50.000").unwrap();
            assert!((reading.value - printed * 1e-6).abs() < 1e-15, "{name}");
            let detail = |key: &str| reading.details[key].as_f64().unwrap();
            let order = ["min", "p90", "p99", "p99.9", "p99.99", "max"].map(detail);
            assert!(order.is_sorted() && order[0] <= reading.value, "{reading:?}");
            assert_eq!((detail("dropped"), detail("duplicates"), detail("reordered")), (0.0, 0.0, 0.0));
            assert!(detail("messages") > 1000.0 && (0.4..0.7).contains(&detail("seconds")), "{reading:?}");
        }
    }

    #[test]
    fn what_it_did_not_measure_is_no_reading() {
        let whole = recorded("sockperf-3.7-tcp-14B.txt");
        assert_refused(
            &Sockperf,
            &pingpong(Protocol::Tcp, 14),
            [
                (String::new(), "no summary"),
                ("\u{1b}[garbage\u{1b}[".to_owned(), "no summary"),
                (whole.split("Summary").next().unwrap().to_owned(), "no summary"),
                (whole.split("---> percentile 90").next().unwrap().to_owned(), "no 50th percentile"),
                (whole.replace("percentile 50.000 =", "percentile 50.000 = nan #"), "no 50th percentile"),
                (whole.replace("percentile 50.000 =", "percentile 50.000 = 0.0 = 0.000"), "50th"),
                (recorded("sockperf-3.7-tcp-1024B-halved.txt"), "no summary of round trips"),
                (recorded("sockperf-3.7-refused.txt"), "Connection refused"),
                (recorded("sockperf-3.7-silent.txt"), "No messages were received"),
            ],
        );
        let zero = whole.lines().map(|line| if line.contains(" 50.000") { "---> percentile 50.000 = 0" } else { line });
        assert!(parse(&zero.collect::<Vec<_>>().join("\n")).unwrap_err().contains("an impossible"));
    }
}
