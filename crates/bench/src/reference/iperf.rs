//! iperf 2 beside our TCP streams on the loopback interface: the same block and number of connections, its client on the
//! CPUs of our near end and its server on those of our far end.
//!
//! The figure is its client's, the only end whose report is at hand: bytes that were handed to the kernel per second.
//! Ours are counted where they arrive, so that iperf's counts what still stands in buffers when it ends (a few MB of
//! some GB). It counts the bytes of the stream, without any header. Its report in CSV rounds its seconds to a tenth,
//! so that the rate is taken as printed. Over UDP its 2.1 counts at a server whose report does not always come; that is
//! not used.

use model::experiment::{Experiment, NetParams, Params};
use model::io::{Direction, NetMode, Protocol};
use model::sample::MetricName;
use serde_json::{Map, json};

use super::{
    About, Invocation, ListensFor, Output, PORT, Reading, Reference, Server, Target, Version, arguments,
    bare_environment, complaint, distinct, examples, positive, succeeded,
};

pub(super) struct Iperf;

static ABOUT: About = About {
    tool: "iperf",
    program: "iperf",
    launcher: None,
    version: Version::Asked { argument: "-v", prefix: "iperf version ", oldest: (2, 0) },
    stands_beside: "TCP streams on the loopback interface, from the client to the server",
    equal: "the block, the connections and the CPUs of each end",
    how_to_get: "Debian package iperf; https://sourceforge.net/projects/iperf2",
};

/// Seconds that a run takes beside its measured time.
const START_SECONDS: f64 = 0.2;
/// Fields of a line of its report: time, two addresses with ports, id, interval, bytes, bits per second.
const FIELDS: usize = 9;
/// The id of a line that adds up the others.
const SUM: &str = "-1";

/// The parameters, if iperf can do exactly this.
fn parameters(experiment: &Experiment) -> Result<&NetParams, String> {
    let Params::Net(params) = &experiment.params else { return Err("iperf measures networks".to_owned()) };
    let refuse = |why: &str| Err(format!("iperf is not run beside this: {why}"));
    if (params.protocol, params.mode) != (Protocol::Tcp, NetMode::Stream) {
        return refuse("only streams over TCP are compared");
    }
    if params.direction != Some(Direction::Up) {
        return refuse("only what its client sends is compared");
    }
    if params.path != "loopback" {
        return refuse("only the loopback interface is compared");
    }
    if params.zero_copy == Some(true) {
        return refuse("it copies");
    }
    Ok(params)
}

impl Reference for Iperf {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn example(&self) -> Experiment {
        examples::net(Protocol::Tcp, NetMode::Stream, 128 << 10, 1)
    }

    fn stands_beside(&self, experiment: &Experiment) -> Result<(), String> {
        parameters(experiment).map(|_| ())
    }

    fn invocation(&self, target: &Target<'_>) -> Result<Invocation, String> {
        let params = parameters(target.experiment)?;
        let seconds = target.seconds.ceil().clamp(1.0, 3600.0);
        let port = ["-p".to_owned(), PORT.to_owned()].concat();
        let client = [
            "-c127.0.0.1".to_owned(),
            port.clone(),
            format!("-l{}", params.block),
            format!("-P{}", params.threads),
            format!("-t{seconds}"),
            "-yC".to_owned(),
        ];
        Ok(Invocation {
            argv: arguments(target.program, client),
            env: bare_environment(),
            cpus: distinct(target.cpus),
            server: Some(Server {
                argv: arguments(target.program, ["-s".to_owned(), "-B127.0.0.1".to_owned(), port]),
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
        let params = parameters(experiment)?;
        succeeded(ABOUT.tool, output)?;
        let lines = output.stdout.lines().map(|line| line.split(',').collect::<Vec<_>>());
        let streams: Vec<Vec<&str>> = lines.filter(|fields| fields.len() == FIELDS && fields[5] != SUM).collect();
        // It leaves with 0 even where it could not connect.
        if streams.len() != params.threads as usize {
            let (found, wanted) = (streams.len(), params.threads);
            return Err(format!("iperf reports on {found} streams and not on {wanted}: {}", complaint(output)));
        }
        let sum = |field: usize, what: &str| {
            let numbers = streams.iter().map(|fields| fields[field].trim().parse::<f64>());
            let sum: Result<f64, _> = numbers.sum();
            sum.map_err(|_| format!("iperf printed no number as the {what} of a stream"))
        };
        let value = positive(ABOUT.tool, "rate", sum(8, "rate")? / 8.0)?;
        let mut details = Map::new();
        details.insert("bytes".into(), json!(sum(7, "bytes")?));
        details.insert("streams".into(), json!(streams.len()));
        Ok(Reading { metric: MetricName::Throughput, value, bytes_factor: 1.0, details })
    }

    fn difference(&self, _version: &str, _experiment: &Experiment, _reading: &Reading) -> Option<String> {
        Some(
            "iperf counts what its client hands to the kernel, ours what arrives; and it sets neither its buffers nor the \
             CPU of each thread."
                .to_owned(),
        )
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::reference::tests::{failed, net, recorded, said};

    fn stream(threads: u32) -> Experiment {
        net(Protocol::Tcp, NetMode::Stream, 128 << 10, threads)
    }

    #[test]
    fn its_ends_are_where_ours_are_and_its_server_on_loopback_only() {
        let experiment = stream(2);
        let target = Target {
            experiment: &experiment,
            program: Path::new("/usr/bin/iperf"),
            launcher: None,
            cpus: &[0],
            other_cpus: &[1],
            seconds: 0.5,
            file: None,
            our_rate: None,
            version: "2.1.8",
            offered_rate: None,
        };
        let invocation = Iperf.invocation(&target).unwrap();
        let expected = "/usr/bin/iperf -c127.0.0.1 -p{port} -l131072 -P2 -t1 -yC";
        assert_eq!((invocation.argv.join(" ").as_str(), invocation.cpus), (expected, vec![0]));
        let server = invocation.server.unwrap();
        assert_eq!((server.argv.join(" ").as_str(), server.cpus), ("/usr/bin/iperf -s -B127.0.0.1 -p{port}", vec![1]));
    }

    #[test]
    fn what_it_cannot_do_alike_is_refused() {
        let why = |experiment: &Experiment| Iperf.stands_beside(experiment).unwrap_err();
        assert!(why(&net(Protocol::Udp, NetMode::Blast, 1024, 1)).contains("over TCP"));
        assert!(why(&net(Protocol::Tcp, NetMode::Pingpong, 1024, 1)).contains("streams"));
        let with = |change: fn(&mut NetParams)| {
            let mut experiment = stream(1);
            if let Params::Net(params) = &mut experiment.params {
                change(params);
            }
            why(&experiment)
        };
        assert!(with(|params| params.direction = Some(Direction::Both)).contains("its client sends"));
        assert!(with(|params| params.zero_copy = Some(true)).contains("copies"));
        assert!(with(|params| params.path = "10.0.0.1".to_owned()).contains("loopback"));
    }

    #[test]
    fn recorded_runs_are_read_as_the_sum_of_their_streams() {
        let reading = |name: &str, threads| Iperf.parse("2.1.8", &said(&recorded(name)), &stream(threads)).unwrap();
        let two = reading("iperf-2.1.8-tcp-128KiB-t2.csv", 2);
        assert_eq!((two.metric, two.value), (MetricName::Throughput, (2_110_436_962.0 + 1_712_838_198.0) / 8.0));
        let one = reading("iperf-2.1.8-tcp-128KiB-t1.csv", 1);
        assert_eq!((one.value, &one.details["bytes"]), (3_711_693_319.0 / 8.0, &json!(470_024_252.0)));
    }

    #[test]
    fn what_it_did_not_measure_is_no_reading() {
        let whole = recorded("iperf-2.1.8-tcp-128KiB-t1.csv");
        for (text, why) in [
            (String::new(), "0 streams and not on 1"),
            (whole.repeat(2), "2 streams and not on 1"),
            (whole.replace(",1,0.0-", ",-1,0.0-"), "0 streams"),
            (whole.trim_end().rsplit_once(',').unwrap().0.to_owned(), "0 streams"),
            (
                whole.trim_end().rsplit_once(',').map(|(rest, _)| format!("{rest},fast")).unwrap(),
                "no number as the rate",
            ),
            (whole.trim_end().rsplit_once(',').map(|(rest, _)| format!("{rest},0")).unwrap(), "no measurement"),
        ] {
            let reason = Iperf.parse("2.1.8", &said(&text), &stream(1)).unwrap_err();
            assert!(reason.contains(why), "{why}: {reason}");
        }
        let silent = Output { stderr: "tcp connect failed: Connection refused".to_owned(), ..said("") };
        assert!(Iperf.parse("2.1.8", &silent, &stream(1)).unwrap_err().contains("Connection refused"));
        assert!(Iperf.parse("2.1.8", &failed(1, "bad port"), &stream(1)).unwrap_err().contains("bad port"));
    }
}
