//! iperf3 beside our TCP streams on the loopback interface: the same block, the same number of connections, its sender
//! on the CPUs of our near end and its receiver on those of our far end.
//!
//! The figure is the receiver's: bits that arrived per second, by 8. Both sides count the bytes of the stream, without
//! any header, so they are taken as they are. It measures whole seconds, and its first moments with them: there is no
//! shorter run and no warm-up.

use model::experiment::{Experiment, NetParams, Params};
use model::io::{Direction, NetMode, Protocol};
use model::sample::MetricName;
use serde_json::{Map, Value, json};

use super::{
    About, Invocation, ListensFor, Output, PORT, Reading, Reference, Server, Target, Version, arguments,
    bare_environment, complaint, distinct, major_minor, positive, succeeded,
};

pub(super) struct Iperf3;

static ABOUT: About = About {
    tool: "iperf3",
    program: "iperf3",
    version: Version::Asked { argument: "--version", prefix: "iperf ", oldest: (3, 1) },
    stands_beside: "TCP streams on the loopback interface",
    how_to_get: "Debian package iperf3; https://github.com/esnet/iperf",
};

/// The largest block that it takes over TCP (`MAX_BLOCKSIZE`, as its help and its refusal say).
const LARGEST_BLOCK: u64 = 1 << 20;
/// The most streams that it takes, as its refusal says.
const MOST_STREAMS: u32 = 128;
/// The first version with a thread for each stream.
const THREAD_PER_STREAM: (u32, u32) = (3, 16);
/// Seconds that a run takes beside its measured time.
const START_SECONDS: f64 = 0.2;
/// The CPU share above which an end is called bound by the CPU.
const CPU_BOUND: f64 = 0.95;

/// The parameters, if iperf3 can do exactly this.
fn parameters(experiment: &Experiment) -> Result<&NetParams, String> {
    let Params::Net(params) = &experiment.params else { return Err("iperf3 measures networks".to_owned()) };
    let refuse = |why: String| Err(format!("iperf3 is not run beside this: {why}"));
    if params.protocol != Protocol::Tcp || params.mode != NetMode::Stream {
        return refuse("only TCP streams are compared".to_owned());
    }
    if params.path != "loopback" {
        return refuse("only the loopback interface is compared".to_owned());
    }
    if params.direction.is_some_and(|direction| direction != Direction::Up) {
        return refuse("only streams towards the far end are compared".to_owned());
    }
    if params.zero_copy == Some(true) {
        return refuse("its zero copy is sendfile, ours is not".to_owned());
    }
    if params.block > LARGEST_BLOCK {
        return refuse(format!("its largest block is {LARGEST_BLOCK} B"));
    }
    if params.threads > MOST_STREAMS {
        return refuse(format!("it takes {MOST_STREAMS} streams at most"));
    }
    Ok(params)
}

impl Reference for Iperf3 {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn stands_beside(&self, experiment: &Experiment) -> Result<(), String> {
        parameters(experiment).map(|_| ())
    }

    fn invocation(&self, target: &Target<'_>) -> Result<Invocation, String> {
        let params = parameters(target.experiment)?;
        let seconds = target.seconds.round().clamp(1.0, 3600.0);
        let port = ["-p".to_owned(), PORT.to_owned()].concat();
        let client = [
            "-c127.0.0.1".to_owned(),
            port.clone(),
            format!("-l{}", params.block),
            format!("-P{}", params.threads),
            format!("-t{seconds}"),
            "-J".to_owned(),
        ];
        let server = ["-s".to_owned(), "-1".to_owned(), "-B127.0.0.1".to_owned(), port];
        Ok(Invocation {
            argv: arguments(target.program, client),
            env: bare_environment(),
            cpus: distinct(target.cpus),
            server: Some(Server {
                argv: arguments(target.program, server),
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
        let report: Value = match serde_json::from_str(&output.stdout) {
            Ok(report) => report,
            Err(error) => {
                succeeded(ABOUT.tool, output)?;
                return Err(format!("iperf3's report is no JSON ({error}): {}", complaint(output)));
            }
        };
        // With `-J` it can say what went wrong and still leave with 0.
        if let Some(error) = report["error"].as_str() {
            return Err(format!("iperf3 says: {error}"));
        }
        succeeded(ABOUT.tool, output)?;
        let test = &report["start"]["test_start"];
        for (key, wanted) in [("num_streams", u64::from(params.threads)), ("blksize", params.block)] {
            if test[key].as_u64() != Some(wanted) {
                return Err(format!("iperf3 ran with {key} {} and not {wanted}", test[key]));
            }
        }
        let end = &report["end"];
        let value = positive(ABOUT.tool, "rate", number(&end["sum_received"], "bits_per_second")? / 8.0)?;
        Ok(Reading { metric: MetricName::Throughput, value, bytes_factor: 1.0, details: details(end) })
    }

    fn difference(&self, version: &str, experiment: &Experiment, reading: &Reading) -> Option<String> {
        let threads = experiment.params.threads();
        if threads > 1 && major_minor(version).is_some_and(|version| version < THREAD_PER_STREAM) {
            return Some(format!("iperf3 {version} serves all {threads} streams from one thread at either end."));
        }
        let busy = |end: &str| reading.details.get(end)?.as_f64().filter(|share| *share > CPU_BOUND);
        let (end, share) = [("sender", "sender_cpu"), ("receiver", "receiver_cpu")]
            .into_iter()
            .find_map(|(end, key)| busy(key).map(|share| (end, share)))?;
        Some(format!("iperf3's {end} was bound by the CPU: busy {:.0} % of the time.", 100.0 * share))
    }
}

/// What else it reports; what a version leaves out is left out here too.
fn details(end: &Value) -> Map<String, Value> {
    let mut details = Map::new();
    let mut add = |key: &str, value: &Value, factor: f64| {
        if let Some(number) = value.as_f64() {
            details.insert(key.to_owned(), json!(number * factor));
        } else if let Some(text) = value.as_str() {
            details.insert(key.to_owned(), json!(text));
        }
    };
    let cpu = &end["cpu_utilization_percent"];
    add("retransmits", &end["sum_sent"]["retransmits"], 1.0);
    add("sent", &json!(end["sum_sent"]["bits_per_second"].as_f64()), 1.0 / 8.0);
    add("seconds", &end["sum_received"]["seconds"], 1.0);
    add("bytes", &end["sum_received"]["bytes"], 1.0);
    add("sender_cpu", &cpu["host_total"], 0.01);
    add("receiver_cpu", &cpu["remote_total"], 0.01);
    add("sender_congestion_control", &end["sender_tcp_congestion"], 1.0);
    add("receiver_congestion_control", &end["receiver_tcp_congestion"], 1.0);
    let streams = end["streams"].as_array().map_or(&[][..], Vec::as_slice);
    let largest = |key: &str| streams.iter().filter_map(|stream| stream["sender"][key].as_f64()).reduce(f64::max);
    add("largest_congestion_window", &json!(largest("max_snd_cwnd")), 1.0);
    add("largest_mean_round_trip", &json!(largest("mean_rtt")), 1e-6);
    details
}

fn number(object: &Value, key: &str) -> Result<f64, String> {
    object[key].as_f64().ok_or_else(|| format!("iperf3's report has no number '{key}'"))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::reference::tests::{cpu, failed, net, recorded, said};

    fn stream(block: u64, threads: u32) -> Experiment {
        net(Protocol::Tcp, NetMode::Stream, block, threads)
    }

    #[test]
    fn each_end_is_on_the_cpus_of_ours() {
        let experiment = stream(128 << 10, 2);
        let target = Target {
            experiment: &experiment,
            program: Path::new("/usr/bin/iperf3"),
            cpus: &[0, 1],
            other_cpus: &[3, 2],
            seconds: 0.5,
            file: None,
            our_rate: None,
        };
        let invocation = Iperf3.invocation(&target).unwrap();
        assert_eq!(invocation.argv.join(" "), "/usr/bin/iperf3 -c127.0.0.1 -p{port} -l131072 -P2 -t1 -J");
        assert_eq!(invocation.cpus, [0, 1]);
        let server = invocation.server.unwrap();
        assert_eq!(server.argv.join(" "), "/usr/bin/iperf3 -s -1 -B127.0.0.1 -p{port}");
        assert_eq!((server.cpus, server.listens_for), (vec![2, 3], ListensFor::Tcp));
        let longer = Iperf3.invocation(&Target { seconds: 2.4, ..target }).unwrap();
        assert!(longer.argv.contains(&"-t2".to_owned()), "whole seconds");
    }

    #[test]
    fn what_it_cannot_do_alike_is_refused() {
        for other in [
            net(Protocol::Udp, NetMode::Stream, 1024, 1),
            net(Protocol::Tcp, NetMode::Pingpong, 1024, 1),
            stream(2 << 20, 1),
            stream(1024, 129),
            cpu(model::isa::Isa::Avx2, 1),
        ] {
            assert!(Iperf3.stands_beside(&other).is_err(), "{}", other.id);
        }
        let mut experiment = stream(1024, 1);
        let base = experiment.params.clone();
        let Params::Net(base) = base else { panic!("a network experiment") };
        for params in [
            NetParams { direction: Some(Direction::Down), ..base.clone() },
            NetParams { zero_copy: Some(true), ..base.clone() },
            NetParams { path: "10.0.0.2".into(), ..base },
        ] {
            experiment.params = Params::Net(params);
            assert!(Iperf3.stands_beside(&experiment).is_err(), "{:?}", experiment.params);
        }
    }

    #[test]
    fn a_recorded_run_is_read_at_the_receiver() {
        let text = recorded("iperf3-3.12-tcp-128KiB-t2.json");
        let experiment = stream(128 << 10, 2);
        let reading = Iperf3.parse("3.12", &said(&text), &experiment).unwrap();
        assert_eq!(reading.metric, MetricName::Throughput);
        let detail = |key: &str| reading.details[key].as_f64().unwrap();
        assert!((detail("bytes") / detail("seconds") / reading.value - 1.0).abs() < 1e-3, "{reading:?}");
        assert!(detail("retransmits").abs() < 0.5);
        assert!((0.0..=2.0).contains(&detail("sender_cpu")) && (0.0..=2.0).contains(&detail("receiver_cpu")));
        assert!(detail("largest_congestion_window") > 0.0);
        assert!(reading.details["sender_congestion_control"].is_string());
        let why = Iperf3.difference("3.12", &experiment, &reading).unwrap();
        assert!(why.contains("one thread"), "{why}");
        let later = Iperf3.difference("3.16", &experiment, &reading);
        assert!(later.is_none_or(|why| why.contains("bound by the CPU")));
    }

    #[test]
    fn what_it_did_not_measure_is_no_reading() {
        let experiment = stream(128 << 10, 2);
        let whole = recorded("iperf3-3.12-tcp-128KiB-t2.json");
        for (text, why) in [
            (String::new(), "no JSON"),
            (whole[..whole.len() - 300].to_owned(), "no JSON"),
            ("[  5] 0.00-1.00 sec 1.66 GBytes".to_owned(), "no JSON"),
            ("{}".to_owned(), "num_streams null"),
            (recorded("iperf3-3.12-refused.json"), "Connection refused"),
            (whole.replace("sum_received", "sum_something"), "no number 'bits_per_second'"),
            (whole.replace("\"num_streams\":\t2", "\"num_streams\":\t1"), "num_streams 1 and not 2"),
            (whole.replace("\"blksize\":\t131072", "\"blksize\":\t1024"), "blksize 1024"),
        ] {
            let reason = Iperf3.parse("3.12", &said(&text), &experiment).unwrap_err();
            assert!(reason.contains(why), "{why}: {reason}");
        }
        let mut report: Value = serde_json::from_str(&whole).unwrap();
        report["end"]["sum_received"]["bits_per_second"] = json!(0);
        let silent = Iperf3.parse("3.12", &said(&report.to_string()), &experiment).unwrap_err();
        assert!(silent.contains("no measurement"), "{silent}");
        let refused = failed(1, "iperf3: parameter error - block size too large");
        assert!(Iperf3.parse("3.12", &refused, &experiment).unwrap_err().contains("block size too large"));
    }
}
