//! qperf beside our ping-pongs and TCP streams of one connection on the loopback interface: messages of the same size, its
//! client on the CPUs of our near end and its server on those of our far end.
//!
//! What it calls latency is half of the mean round trip; the figure here is that doubled. Ours is a median, so that a
//! tail sets the two apart. Its bandwidth is what the receiver counted. Both are exact numbers because of `-uu`, which
//! takes prefixes and rounding away. Its server has no way to listen at one address only: while a run lasts (seconds)
//! it answers at every address of this machine.

use model::experiment::{Experiment, NetParams, Params};
use model::io::{Direction, NetMode, Protocol, Wait};
use model::sample::MetricName;
use serde_json::{Map, json};

use super::rules::roaming;
use super::{
    About, Invocation, ListensFor, Output, PORT, Reading, Reason, Reference, Rule, Server, Side, Target, Version,
    arguments, bare_environment, complaint, distinct, examples, positive, succeeded,
};

pub(super) struct Qperf;

static ABOUT: About = About {
    tool: "qperf",
    program: "qperf",
    launcher: None,
    version: Version::Asked { argument: "--version", prefix: "qperf ", oldest: (0, 4) },
    stands_beside: "ping-pongs, TCP and UDP, and TCP streams of one connection, on the loopback interface",
    equal: "the message or block and the CPUs of each end",
    rules: &[&MEAN, &UNPINNED],
    how_to_get: "Debian package qperf; https://github.com/linux-rdma/qperf",
};
static UNPINNED: Rule = Rule { name: "unpinned", when: Some("beside streams"), makes_it: Side::Either };
static MEAN: Rule = Rule { name: "mean", when: Some("beside round trips"), makes_it: Side::Slower };

/// Seconds that a run takes beside its measured time: synchronising its two ends.
const START_SECONDS: f64 = 0.5;
/// The largest datagram over IPv4: 65535 less 20 of IP header and 8 of UDP header.
const LARGEST_DATAGRAM: u64 = 65_507;

/// The parameters and the name of its test, if qperf can do this.
fn parameters(experiment: &Experiment) -> Result<(&NetParams, &'static str), String> {
    let Params::Net(params) = &experiment.params else { return Err("qperf measures networks".to_owned()) };
    let refuse = |why: &str| Err(format!("qperf is not run beside this: {why}"));
    let test = match (params.protocol, params.mode) {
        (Protocol::Tcp, NetMode::Pingpong) => "tcp_lat",
        (Protocol::Udp, NetMode::Pingpong) if params.block <= LARGEST_DATAGRAM => "udp_lat",
        (Protocol::Udp, NetMode::Pingpong) => return refuse("its largest datagram is 65507 B"),
        (Protocol::Tcp, NetMode::Stream) if params.direction == Some(Direction::Up) => "tcp_bw",
        (Protocol::Tcp, NetMode::Stream) => return refuse("it sends to its server only"),
        _ => return refuse("only ping-pongs and TCP streams are compared"),
    };
    if params.path != "loopback" {
        return refuse("only the loopback interface is compared");
    }
    if params.threads != 1 {
        return refuse("it has one connection");
    }
    if params.zero_copy == Some(true) {
        return refuse("it copies");
    }
    if params.wait == Some(Wait::Spinning) {
        return refuse("it sleeps until a message comes");
    }
    Ok((params, test))
}

impl Reference for Qperf {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn example(&self) -> Experiment {
        examples::net(Protocol::Udp, NetMode::Pingpong, 14, 1)
    }

    fn stands_beside(&self, experiment: &Experiment) -> Result<(), String> {
        parameters(experiment).map(|_| ())
    }

    fn invocation(&self, target: &Target<'_>) -> Result<Invocation, String> {
        let (params, test) = parameters(target.experiment)?;
        // A bare number is seconds, whole ones.
        let seconds = target.seconds.ceil().clamp(1.0, 3600.0);
        let port = ["-lp".to_owned(), PORT.to_owned()];
        let client = [
            "-t".to_owned(),
            seconds.to_string(),
            "-m".to_owned(),
            params.block.to_string(),
            "-v".to_owned(),
            "-uu".to_owned(),
            "127.0.0.1".to_owned(),
            test.to_owned(),
        ];
        let mut argv = arguments(target.program, port.clone());
        argv.extend(client);
        Ok(Invocation {
            argv,
            env: bare_environment(),
            cpus: distinct(target.cpus),
            server: Some(Server {
                argv: arguments(target.program, port),
                env: bare_environment(),
                cpus: distinct(target.other_cpus),
                listens_for: ListensFor::Tcp,
            }),
            expected_seconds: START_SECONDS + seconds,
            timeout_seconds: 15.0 + 2.0 * seconds,
            ..Invocation::default()
        })
    }

    fn parse(&self, _version: &str, output: &Output, experiment: &Experiment) -> Result<Reading, String> {
        let (params, test) = parameters(experiment)?;
        succeeded(ABOUT.tool, output)?;
        let text = &output.stdout;
        if !text.lines().any(|line| line.trim_end() == format!("{test}:")) {
            return Err(format!("qperf printed nothing of {test}: {}", complaint(output)));
        }
        let size = figure(text, "msg_size", "bytes")?;
        if (size - params.block as f64).abs() > 0.0 {
            return Err(format!("qperf sent messages of {size} B and not {} B", params.block));
        }
        let (metric, name, value) = match params.mode {
            NetMode::Pingpong => (MetricName::Latency, "latency", 2e-9 * figure(text, "latency", "ns")?),
            _ => (MetricName::Throughput, "bw", figure(text, "bw", "bytes/sec")?),
        };
        let value = positive(ABOUT.tool, name, value)?;
        let mut details = Map::new();
        details.insert("seconds".into(), json!(1e-9 * figure(text, "time", "ns")?));
        details.insert("messages_per_second".into(), json!(figure(text, "msg_rate", "/sec")?));
        if metric == MetricName::Latency {
            details.insert("doubled".into(), json!(true));
        }
        Ok(Reading { metric, value, bytes_factor: 1.0, details })
    }

    fn reasons(&self, _version: &str, experiment: &Experiment, _reading: &Reading) -> Vec<Reason> {
        let Ok((params, _)) = parameters(experiment) else { return Vec::new() };
        vec![if params.mode == NetMode::Pingpong {
            MEAN.says("qperf reports half of a mean round trip, which its slowest ones raise; ours is a median")
        } else {
            UNPINNED.says(roaming("qperf"))
        }]
    }
}

/// `    bw              =   691142656 bytes/sec`, in its unit.
fn figure(text: &str, name: &str, unit: &str) -> Result<f64, String> {
    let is_it = |line: &&str| line.split('=').next().is_some_and(|label| label.trim() == name);
    let words = text.lines().find(is_it).and_then(|line| line.split_once('=')).map(|(_, rest)| rest.split_whitespace());
    let found = words.and_then(|mut words| {
        let number: f64 = words.next()?.parse().ok()?;
        (words.next()? == unit && number.is_finite()).then_some(number)
    });
    found.ok_or_else(|| format!("qperf printed no {name} in {unit}"))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::reference::tests::{failed, net, recorded, said};

    fn pingpong(protocol: Protocol) -> Experiment {
        net(protocol, NetMode::Pingpong, 14, 1)
    }

    #[test]
    fn its_ends_are_where_ours_are() {
        let experiment = pingpong(Protocol::Udp);
        let target = Target {
            experiment: &experiment,
            program: Path::new("/usr/bin/qperf"),
            launcher: None,
            cpus: &[0],
            other_cpus: &[1],
            seconds: 0.5,
            file: None,
            our_rate: None,
            version: "0.4.11",
            offered_rate: None,
        };
        let invocation = Qperf.invocation(&target).unwrap();
        let expected = "/usr/bin/qperf -lp {port} -t 1 -m 14 -v -uu 127.0.0.1 udp_lat";
        assert_eq!((invocation.argv.join(" ").as_str(), invocation.cpus), (expected, vec![0]));
        let server = invocation.server.unwrap();
        assert_eq!((server.argv.join(" ").as_str(), server.cpus), ("/usr/bin/qperf -lp {port}", vec![1]));
    }

    #[test]
    fn what_it_cannot_do_alike_is_refused() {
        let why = |experiment: &Experiment| Qperf.stands_beside(experiment).unwrap_err();
        assert!(why(&net(Protocol::Tcp, NetMode::Stream, 1024, 2)).contains("one connection"));
        assert!(why(&net(Protocol::Udp, NetMode::Blast, 1024, 1)).contains("only ping-pongs"));
        assert!(why(&net(Protocol::Udp, NetMode::Pingpong, 65_508, 1)).contains("65507"));
        let with = |change: fn(&mut NetParams)| {
            let mut experiment = net(Protocol::Tcp, NetMode::Stream, 1024, 1);
            if let Params::Net(params) = &mut experiment.params {
                change(params);
            }
            why(&experiment)
        };
        assert!(with(|params| params.direction = Some(Direction::Down)).contains("to its server"));
        assert!(with(|params| params.zero_copy = Some(true)).contains("copies"));
        assert!(with(|params| params.path = "10.0.0.1".to_owned()).contains("loopback"));
        assert!(
            with(|params| (params.mode, params.wait) = (NetMode::Pingpong, Some(Wait::Spinning))).contains("sleeps")
        );
    }

    #[test]
    fn recorded_runs_are_read_there_and_back() {
        for (name, protocol, nanoseconds) in [
            ("qperf-0.4.11-tcp_lat-14B.txt", Protocol::Tcp, 7718.0),
            ("qperf-0.4.11-udp_lat-14B.txt", Protocol::Udp, 11393.0),
        ] {
            let reading = Qperf.parse("0.4.11", &said(&recorded(name)), &pingpong(protocol)).unwrap();
            assert_eq!((reading.metric, &reading.details["doubled"]), (MetricName::Latency, &json!(true)));
            assert!((reading.value - 2e-9 * nanoseconds).abs() < 1e-15, "{name}: {reading:?}");
            // Each message is one way: twice as many as there are round trips.
            let messages = reading.details["messages_per_second"].as_f64().unwrap();
            assert!((messages * reading.value / 2.0 - 1.0).abs() < 1e-3, "{name}: {reading:?}");
        }
        let stream = net(Protocol::Tcp, NetMode::Stream, 128 << 10, 1);
        let reading = Qperf.parse("0.4.11", &said(&recorded("qperf-0.4.11-tcp_bw-128KiB.txt")), &stream).unwrap();
        assert_eq!((reading.metric, reading.value), (MetricName::Throughput, 691_142_656.0));
    }

    #[test]
    fn what_it_did_not_measure_is_no_reading() {
        let whole = recorded("qperf-0.4.11-tcp_lat-14B.txt");
        let parse = |text: &str| Qperf.parse("0.4.11", &said(text), &pingpong(Protocol::Tcp)).unwrap_err();
        for (text, why) in [
            (String::new(), "nothing of tcp_lat"),
            (whole.replace("tcp_lat", "udp_lat"), "nothing of tcp_lat"),
            (whole.replace("14 bytes", "15 bytes"), "15 B and not 14 B"),
            (whole.replace(" ns", " us"), "no latency in ns"),
            (whole.replace("7718", "nan"), "no latency in ns"),
            (whole.replace("7718", "0"), "no measurement"),
        ] {
            let reason = parse(&text);
            assert!(reason.contains(why), "{why}: {reason}");
        }
        let refused = Qperf.parse("0.4.11", &failed(1, "127.0.0.1: failed to connect"), &pingpong(Protocol::Tcp));
        assert!(refused.unwrap_err().contains("failed to connect"));
    }
}
