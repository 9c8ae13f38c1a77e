//! iperf3 compared with our streams on loopback, TCP and UDP: the same block, connections, direction, and CPUs of each end.
//!
//! The value is the receiver's, the sum of both directions where both are measured. It measures whole seconds without a
//! warm-up. Its own pinning (`-A`) puts all streams on one CPU and is not used: a process inherits the CPUs of its end.
//! Over UDP it makes a system call per datagram, with our receive buffer (`-w`, for both ends); segmentation offload (`--gsro`) is used
//! where ours is, from the first version with it. It cannot search for the highest rate within a loss goal: it runs
//! unlimited (`-b 0`), or at the rate that [`crate::rate_search`] finds before the first pair.

use model::experiment::{Experiment, NetParams};
use model::io::{Direction, NetMode, Protocol, Segmentation};
use serde_json::{Map, Value, json};

use super::{over_udp, sender, server, streams};
use crate::examples;
use crate::invocation::{Invocation, ListensFor, PORT, Target};
use crate::json::{json_number, json_report};
use crate::output::{Output, Reading, details, positive, refuse_if, unless};
use crate::tool::{Adapter, Reason, Rule, Side, ToolDescription, VersionSource};
use crate::version::major_minor;

pub(crate) struct Iperf3;

const TOOL: &str = "iperf3";
static DESCRIPTION: ToolDescription = ToolDescription {
    id: TOOL,
    program: "iperf3",
    launcher: None,
    version: VersionSource::Asked { argument: "--version", prefix: "iperf ", oldest: (3, 1) },
    compared_with: "streams on the loopback interface, TCP and UDP, in any direction",
    equal: "the block, the connections, the direction, the CPUs of both sides, and over UDP the receive buffer",
    rules: &[&ONE_THREAD, &CALL_EACH, &BUSY, &UNPINNED],
    how_to_get: "Debian package iperf3; https://github.com/esnet/iperf",
    example: || examples::net(Protocol::Tcp, NetMode::Stream, 128 << 10, 1),
};
static ONE_THREAD: Rule = Rule::new("one-thread", Some("it has several streams and is older than 3.16"), Side::Slower);
static UNPINNED: Rule = Rule::new("unpinned", Some("over TCP"), Side::Either);
static CALL_EACH: Rule = Rule::new("call-each", Some("over UDP without its own segmentation offload"), Side::Slower);
static BUSY: Rule = Rule::new("cpu-bound", Some("one of its ends was busy more than 95 % of the time"), Side::Slower);

/// The largest TCP block (`MAX_BLOCKSIZE` in its help).
const LARGEST_BLOCK: u64 = 1 << 20;
/// Maximum streams, from its error message.
const MOST_STREAMS: u32 = 128;
const THREAD_PER_STREAM: (u32, u32) = (3, 16);
/// The first version with segmentation offload (`--gsro`), from its release notes.
const WITH_OFFLOAD: (u32, u32) = (3, 21);
/// The first version with `--bidir`, from its release notes.
const WITH_BOTH: (u32, u32) = (3, 7);
/// The first version whose UDP report has `sum_received` (iperf#584).
const WITH_RECEIVED: (u32, u32) = (3, 11);
const CPU_BOUND: f64 = 0.95;

fn offload(params: &NetParams, version: &str) -> bool {
    params.segmentation == Some(Segmentation::Gso)
        && major_minor(version).is_some_and(|version| version >= WITH_OFFLOAD)
}

impl Adapter for Iperf3 {
    const DESCRIPTION: &'static ToolDescription = &DESCRIPTION;
    type Work<'a> = &'a NetParams;

    fn work(experiment: &Experiment) -> Result<&NetParams, String> {
        let params = streams(TOOL, experiment)?;
        let reasons = [
            (params.protocol == Protocol::Tcp && params.block > LARGEST_BLOCK, "its largest block is 1 MiB"),
            (params.zero_copy == Some(true), "its zero copy uses sendfile, ours does not"),
            (params.threads > MOST_STREAMS, "it has at most 128 streams"),
        ];
        refuse_if(TOOL, &reasons).map(|()| params)
    }

    fn command(params: &NetParams, target: &Target<'_>) -> Result<Invocation, String> {
        let old = |first: (u32, u32)| major_minor(target.version).is_some_and(|version| version < first);
        let both = params.direction == Some(Direction::Both);
        let reasons = [
            (both && old(WITH_BOTH), "both directions at once are supported from version 3.7 on"),
            (
                both && params.protocol == Protocol::Udp && old(WITH_RECEIVED),
                "before version 3.11 its UDP report has no received datagrams of both directions",
            ),
        ];
        refuse_if(TOOL, &reasons)?;
        let seconds = target.seconds.round().clamp(1.0, 3600.0);
        let direction = match params.direction {
            Some(Direction::Down) => "-R",
            Some(Direction::Both) => "--bidir",
            _ => "",
        };
        let client = format!(
            "-c127.0.0.1 -p{PORT} {} {} {direction} -l{} -P{} -t{seconds} -J",
            over_udp(params, target, 0.0),
            if offload(params, target.version) { "--gsro" } else { "" },
            params.block,
            params.threads
        );
        // It announces even UDP tests over TCP.
        let server = server(target, &format!("-s -1 -B127.0.0.1 -p{PORT}"), ListensFor::Tcp);
        Ok(sender(target, seconds, &client, server))
    }

    fn read(params: &NetParams, output: &Output) -> Result<Reading, String> {
        let report = json_report(TOOL, &output.stdout, output);
        // With `-J` it can report an error and exit with 0.
        if let Some(error) = report.as_ref().ok().and_then(|report| report["error"].as_str()) {
            return Err(format!("iperf3 reports: {error}"));
        }
        output.succeeded(TOOL)?;
        let report = report?;
        check_settings(&report["start"]["test_start"], params)?;
        let mut end = report["end"].clone();
        if params.protocol == Protocol::Udp && end["sum_received"].is_null() {
            end["sum_received"] = received_of(&end["sum"], params)?;
        }
        let end = &end;
        let received = |name: &str| json_number(TOOL, &end[name], "bits_per_second").map(|bits| bits / 8.0);
        let mut rate = received("sum_received")?;
        if params.direction == Some(Direction::Both) {
            rate += received("sum_received_bidir_reverse")?;
        }
        let mut details = details_of_streams(end, params);
        if params.protocol == Protocol::Udp {
            details.append(&mut details_of_datagrams(end)?);
        }
        Reading::throughput(TOOL, rate, details)
    }

    fn differences(params: &NetParams, version: &str, reading: &Reading) -> Vec<Option<Reason>> {
        let threads = params.threads;
        let one_thread = threads > 1 && major_minor(version).is_some_and(|version| version < THREAD_PER_STREAM);
        let call_each = format!(
            "iperf3 {version} makes a system call for each datagram, at either end; ours sends and receives many in each"
        );
        let ends =
            [("sender", "sender_cpu"), ("receiver", "receiver_cpu"), ("client", "near_cpu"), ("server", "far_cpu")];
        let busy = ends.into_iter().find_map(|(end, key)| {
            let percent = 100.0 * reading.detail(key).filter(|share| *share > CPU_BOUND)?;
            BUSY.says(format!("iperf3's {end} was bound by the CPU: busy {percent:.0} % of the time"))
        });
        let tcp = params.protocol == Protocol::Tcp;
        vec![
            ONE_THREAD.says_if(
                one_thread,
                format!("iperf3 {version} serves all {threads} streams from one thread on each side"),
            ),
            CALL_EACH.says_if(!tcp && !offload(params, version), call_each),
            busy,
            UNPINNED.says_if(tcp, "iperf3's threads move between the CPUs, ours are pinned"),
        ]
    }
}

/// What arrived, from the sum of a version before 3.11, whose bytes are those that were sent.
fn received_of(sum: &Value, params: &NetParams) -> Result<Value, String> {
    let number = |key: &str| json_number(TOOL, sum, key);
    let (packets, lost, seconds) = (number("packets")?, number("lost_packets")?, number("seconds")?);
    let bytes = (packets - lost) * params.block as f64;
    let bits_per_second = 8.0 * bytes / positive(TOOL, "time", seconds)?;
    let mut received = sum.clone();
    (received["bytes"], received["bits_per_second"]) = (json!(bytes), json!(bits_per_second));
    Ok(received)
}

fn check_settings(test: &Value, params: &NetParams) -> Result<(), String> {
    let protocol = if params.protocol == Protocol::Udp { "UDP" } else { "TCP" };
    let reverse = u64::from(params.direction == Some(Direction::Down));
    let settings = [
        ("num_streams", json!(params.threads)),
        ("blksize", json!(params.block)),
        ("protocol", json!(protocol)),
        ("reverse", json!(reverse)),
    ];
    settings.iter().try_for_each(|(key, asked)| unless(test[key] == *asked, TOOL, key, &test[key], asked))
}

fn over_directions(end: &Value, sum: &str, key: &str) -> Option<f64> {
    let back = end[format!("{sum}_bidir_reverse")][key].as_f64();
    end[sum][key].as_f64().map(|there| there + back.unwrap_or(0.0))
}

fn details_of_streams(end: &Value, params: &NetParams) -> Map<String, Value> {
    let mut details = Map::new();
    let mut add = |key: &str, value: &Value, factor: f64| {
        if let Some(number) = value.as_f64() {
            details.insert(key.to_owned(), json!(number * factor));
        } else if let Some(text) = value.as_str() {
            details.insert(key.to_owned(), json!(text));
        }
    };
    let cpu = &end["cpu_utilization_percent"];
    let sum = |name: &str, key: &str| json!(over_directions(end, name, key));
    add("retransmits", &sum("sum_sent", "retransmits"), 1.0);
    add("sent", &sum("sum_sent", "bits_per_second"), 1.0 / 8.0);
    add("seconds", &end["sum_received"]["seconds"], 1.0);
    add("bytes", &sum("sum_received", "bytes"), 1.0);
    // The host is the client.
    let (host, remote) = match params.direction {
        Some(Direction::Both) => ("near_cpu", "far_cpu"),
        Some(Direction::Down) => ("receiver_cpu", "sender_cpu"),
        _ => ("sender_cpu", "receiver_cpu"),
    };
    add(host, &cpu["host_total"], 0.01);
    add(remote, &cpu["remote_total"], 0.01);
    if params.direction == Some(Direction::Both) {
        add("up", &end["sum_received"]["bits_per_second"], 1.0 / 8.0);
        add("down", &end["sum_received_bidir_reverse"]["bits_per_second"], 1.0 / 8.0);
    }
    add("sender_congestion_control", &end["sender_tcp_congestion"], 1.0);
    add("receiver_congestion_control", &end["receiver_tcp_congestion"], 1.0);
    let streams = end["streams"].as_array().map_or(&[][..], Vec::as_slice);
    // A remote sender reports 0, which is unknown.
    let known = |stream: &Value, key: &str| stream["sender"][key].as_f64().filter(|value| *value > 0.0);
    let largest = |key: &str| streams.iter().filter_map(|stream| known(stream, key)).reduce(f64::max);
    add("largest_congestion_window", &json!(largest("max_snd_cwnd")), 1.0);
    add("largest_mean_round_trip", &json!(largest("mean_rtt")), 1e-6);
    details
}

fn details_of_datagrams(end: &Value) -> Result<Map<String, Value>, String> {
    let missing = |key: &str| format!("iperf3's report has no number '{key}'");
    let sum = |key: &str| over_directions(end, "sum_received", key).ok_or_else(|| missing(key));
    let (lost, datagrams) = (sum("lost_packets")?, positive(TOOL, "number of datagrams", sum("packets")?)?);
    let streams = end["streams"].as_array().into_iter().flatten();
    let reordered: f64 = streams.filter_map(|stream| stream["udp"]["out_of_order"].as_f64()).sum();
    let mut details = details([
        ("lost", json!(lost)),
        ("datagrams", json!(datagrams)),
        ("loss", json!(lost / datagrams)),
        ("reordered", json!(reordered)),
    ]);
    let jitter = end["sum_received"]["jitter_ms"].as_f64();
    details.extend(jitter.map(|milliseconds| ("jitter".to_owned(), json!(milliseconds * 1e-3))));
    Ok(details)
}

#[cfg(test)]
mod tests {
    use model::sample::MetricName;

    use super::*;
    use crate::rate_search::sent_too_fast;
    use crate::tests::fixtures::{assert_refused, cpu, net, recorded, said, target, with_net};
    use crate::tool::ReferenceTool;

    fn stream(block: u64, threads: u32) -> Experiment {
        net(Protocol::Tcp, NetMode::Stream, block, threads)
    }

    fn blast(threads: u32) -> Experiment {
        net(Protocol::Udp, NetMode::Blast, 1472, threads)
    }

    fn no_drop(threads: u32, goal: u32) -> Experiment {
        let experiment = net(Protocol::Udp, NetMode::NoDrop, 1472, threads);
        with_net(experiment, |params| params.loss_goal_per_million = Some(goal))
    }

    fn way(experiment: Experiment, direction: Direction) -> Experiment {
        with_net(experiment, |params| params.direction = Some(direction))
    }

    #[test]
    fn each_end_is_on_the_cpus_of_ours() {
        let experiment = stream(128 << 10, 2);
        let target = Target { cpus: &[0, 1], other_cpus: &[3, 2], ..target(&experiment) };
        let invocation = Iperf3.invocation(&target).unwrap();
        assert_eq!(invocation.argv.join(" "), "/opt/tool -c127.0.0.1 -p{port} -l131072 -P2 -t1 -J");
        assert_eq!(invocation.cpus, [0, 1]);
        let server = invocation.server.unwrap();
        assert_eq!(server.argv.join(" "), "/opt/tool -s -1 -B127.0.0.1 -p{port}");
        assert_eq!((server.cpus, server.listens_for), (vec![2, 3], ListensFor::Tcp));
        let longer = Iperf3.invocation(&Target { seconds: 2.4, ..target }).unwrap();
        assert!(longer.argv.contains(&"-t2".to_owned()), "whole seconds");
    }

    #[test]
    fn direction_rate_and_offload_are_asked_for_as_ours_are() {
        let argv = |experiment: &Experiment, version: &str, offered_rate: Option<f64>| {
            let target = Target { our_rate: Some(1e9), version, offered_rate, ..target(experiment) };
            Iperf3.invocation(&target).unwrap().argv.join(" ")
        };
        let down = argv(&way(stream(1024, 1), Direction::Down), "3.12", None);
        assert_eq!(down, "/opt/tool -c127.0.0.1 -p{port} -R -l1024 -P1 -t1 -J");
        let both = argv(&way(stream(1024, 1), Direction::Both), "3.12", None);
        assert_eq!(both, "/opt/tool -c127.0.0.1 -p{port} --bidir -l1024 -P1 -t1 -J");
        assert_eq!(argv(&blast(2), "3.12", None), "/opt/tool -c127.0.0.1 -p{port} -u -b0 -l1472 -P2 -t1 -J");
        let paced = argv(&no_drop(2, 1000), "3.12", Some(50e6));
        assert_eq!(paced, "/opt/tool -c127.0.0.1 -p{port} -u -b200000000 -l1472 -P2 -t1 -J", "a half of it each");
        let paced = argv(&way(no_drop(2, 1000), Direction::Both), "3.12", Some(50e6));
        assert!(paced.contains(" -b100000000 --bidir "), "a quarter of it each, two each way: {paced}");
        let offloading = with_net(no_drop(1, 1000), |params| params.segmentation = Some(Segmentation::Gso));
        assert!(argv(&offloading, "3.21", None).contains(" -u -b0 --gsro -l1472"));
        assert!(!argv(&offloading, "3.20", None).contains("--gsro"), "as it comes");
        assert!(!argv(&no_drop(1, 1000), "3.21", None).contains("--gsro"), "ours does without, too");
    }

    #[test]
    fn what_it_cannot_do_alike_is_refused() {
        for other in [
            net(Protocol::Udp, NetMode::Stream, 1024, 1),
            net(Protocol::Tcp, NetMode::Pingpong, 1024, 1),
            stream(2 << 20, 1),
            stream(1024, 129),
            net(Protocol::Udp, NetMode::Blast, 15, 1),
            net(Protocol::Udp, NetMode::NoDrop, 65_508, 1),
            net(Protocol::Tcp, NetMode::Transfer, 1024, 1),
            cpu(model::isa::Isa::Avx2, 1),
        ] {
            assert!(Iperf3.supports(&other).is_err(), "{}", other.id);
        }
        assert!(Iperf3.supports(&with_net(stream(1024, 1), |params| params.zero_copy = Some(true))).is_err());
        assert!(Iperf3.supports(&with_net(stream(1024, 1), |params| params.path = "10.0.0.2".into())).is_err());
    }

    #[test]
    fn a_recorded_run_is_read_at_the_receiver() {
        let text = recorded("iperf3-3.12-tcp-128KiB-t2.json");
        let experiment = stream(128 << 10, 2);
        let reading = Iperf3.parse(&said(&text), &experiment).unwrap();
        assert_eq!(reading.metric, MetricName::Throughput);
        let detail = |key: &str| reading.details[key].as_f64().unwrap();
        assert!((detail("bytes") / detail("seconds") / reading.value - 1.0).abs() < 1e-3, "{reading:?}");
        assert!(detail("retransmits").abs() < 0.5);
        assert!((0.0..=2.0).contains(&detail("sender_cpu")) && (0.0..=2.0).contains(&detail("receiver_cpu")));
        assert!(detail("largest_congestion_window") > 0.0);
        assert!(reading.details["sender_congestion_control"].is_string());
    }

    #[test]
    fn recorded_runs_of_every_direction_are_read_at_the_receivers() {
        let down = way(stream(128 << 10, 2), Direction::Down);
        let reading = Iperf3.parse(&said(&recorded("iperf3-3.12-tcp-128KiB-down-t2.json")), &down).unwrap();
        assert!((reading.value - 16_080_125_369.480_787 / 8.0).abs() < 1.0, "{reading:?}");
        assert_eq!(reading.details["retransmits"], json!(10.0));
        assert!(reading.details["sender_cpu"].as_f64() > reading.details["receiver_cpu"].as_f64(), "it is the server");
        assert!(!reading.details.contains_key("largest_congestion_window"), "unknown is not 0");
        let both = way(stream(128 << 10, 2), Direction::Both);
        let reading = Iperf3.parse(&said(&recorded("iperf3-3.12-tcp-128KiB-both-t2.json")), &both).unwrap();
        assert!((reading.value - (12_788_509_300.005_4 + 1_277_802_691.533_326_4) / 8.0).abs() < 1.0, "{reading:?}");
        let detail = |key: &str| reading.details[key].as_f64().unwrap();
        assert!((detail("up") + detail("down") - reading.value).abs() < 1.0);
        assert!((detail("bytes") - (1_599_078_400.0 + 159_776_768.0)).abs() < 0.5);
        assert!(reading.details.contains_key("near_cpu") && !reading.details.contains_key("sender_cpu"));
    }

    #[test]
    fn datagrams_and_their_loss_are_counted_at_the_receiver() {
        let text = recorded("iperf3-3.12-udp-1472B-t1.json");
        let reading = Iperf3.parse(&said(&text), &blast(1)).unwrap();
        assert!((reading.value - 5_795_049_954.951_847 / 8.0).abs() < 1.0, "not what was sent: {reading:?}");
        let detail = |key: &str| reading.details[key].as_f64().unwrap();
        assert_eq!((detail("lost"), detail("datagrams"), detail("reordered")), (18_706.0, 510_833.0, 0.0));
        assert!((detail("loss") - 0.036_618_6).abs() < 1e-6 && (detail("jitter") - 1.369e-6).abs() < 1e-9);
        let both = way(blast(1), Direction::Both);
        let reading = Iperf3.parse(&said(&recorded("iperf3-3.12-udp-1472B-both-t1.json")), &both).unwrap();
        let lost = reading.details["lost"].as_f64().unwrap();
        assert!((lost - (685_480.0 + 672_150.0)).abs() < 0.5, "of both directions: {lost}");
        let down = way(blast(1), Direction::Down);
        let reading = Iperf3.parse(&said(&recorded("iperf3-3.12-udp-1472B-down-t1.json")), &down).unwrap();
        assert!((reading.value - 5_683_176_397.059_632 / 8.0).abs() < 1.0, "{reading:?}");
        // Another direction's output.
        assert!(Iperf3.parse(&said(&text), &down).unwrap_err().contains("reverse 0 and not 1"));
        assert!(Iperf3.parse(&said(&text), &both).unwrap_err().contains("bits_per_second"));
        let cut = text.replace("lost_packets", "lost_something");
        assert!(Iperf3.parse(&said(&cut), &blast(1)).unwrap_err().contains("'lost_packets'"));
    }

    #[test]
    fn versions_before_3_11_have_no_sum_of_received_datagrams() {
        let experiment = net(Protocol::Udp, NetMode::Blast, 32_768, 1);
        let text = recorded("iperf3-3.9-udp-32KiB-t1.json");
        let reading = Iperf3.parse(&said(&text), &experiment).unwrap();
        assert!((reading.value - 40.0 * 32_768.0 / 10.000_115).abs() < 1e-3, "{reading:?}");
        let lossy = text.replace("\"lost_packets\":\t0", "\"lost_packets\":\t10");
        let reading = Iperf3.parse(&said(&lossy), &experiment).unwrap();
        assert!((reading.value - 30.0 * 32_768.0 / 10.000_115).abs() < 1e-3, "not what was sent: {reading:?}");
        assert_eq!((&reading.details["lost"], &reading.details["datagrams"]), (&json!(10.0), &json!(40.0)));
        for (lost, why) in [("41", "impossible"), ("-1", "-1.0 as lost")] {
            let text = text.replace("\"lost_packets\":\t0", &format!("\"lost_packets\":\t{lost}"));
            assert!(Iperf3.parse(&said(&text), &experiment).unwrap_err().contains(why), "{lost}");
        }
        let both = |protocol, mode| way(net(protocol, mode, 1472, 1), Direction::Both);
        let refused =
            |experiment: &Experiment, version| Iperf3.invocation(&Target { version, ..target(experiment) }).err();
        let (udp, tcp) = (both(Protocol::Udp, NetMode::Blast), both(Protocol::Tcp, NetMode::Stream));
        assert!(refused(&udp, "3.9").is_some_and(|why| why.contains("before version 3.11")));
        assert!(refused(&tcp, "3.6").is_some_and(|why| why.contains("from version 3.7 on")));
        assert_eq!([refused(&udp, "3.12"), refused(&tcp, "3.9"), refused(&blast(1), "3.1")], [None, None, None]);
    }

    #[test]
    fn a_run_that_breaks_the_loss_goal_is_to_be_slower() {
        let fast = recorded("iperf3-3.12-udp-1472B-t1.json");
        let at = |experiment: &Experiment, text: &str| {
            let reading = Iperf3.parse(&said(text), experiment).unwrap();
            sent_too_fast(experiment, &reading)
        };
        let sent = at(&no_drop(1, 1000), &fast).unwrap();
        assert!((sent - 6_016_056_703.376_263 / 8.0).abs() < 1.0, "what it sent: {sent}");
        assert_eq!(at(&no_drop(1, 40_000), &fast), None);
        assert_eq!(at(&blast(1), &fast), None, "as many as it can, whatever is lost");
        let slow = recorded("iperf3-3.12-udp-1472B-rate-t1.json");
        assert_eq!(at(&no_drop(1, 0), &slow), None, "nothing was lost");
        // Without a loss count the goal is not known to be kept.
        let mut reading = Iperf3.parse(&said(&slow), &no_drop(1, 0)).unwrap();
        reading.details.remove("loss");
        assert!(sent_too_fast(&no_drop(1, 0), &reading).is_some());
    }

    #[test]
    fn what_it_did_not_measure_is_no_reading() {
        let experiment = stream(128 << 10, 2);
        let whole = recorded("iperf3-3.12-tcp-128KiB-t2.json");
        assert_refused(
            &Iperf3,
            &experiment,
            [
                (String::new(), "not JSON"),
                (whole[..whole.len() - 300].to_owned(), "not JSON"),
                ("[  5] 0.00-1.00 sec 1.66 GBytes".to_owned(), "not JSON"),
                ("{}".to_owned(), "num_streams null"),
                (recorded("iperf3-3.12-refused.json"), "Connection refused"),
                (whole.replace("sum_received", "sum_something"), "no number 'bits_per_second'"),
                (whole.replace("\"num_streams\":\t2", "\"num_streams\":\t1"), "num_streams 1 and not 2"),
                (whole.replace("\"blksize\":\t131072", "\"blksize\":\t1024"), "blksize 1024"),
            ],
        );
        let mut report: Value = serde_json::from_str(&whole).unwrap();
        report["end"]["sum_received"]["bits_per_second"] = json!(0);
        let silent = Iperf3.parse(&said(&report.to_string()), &experiment).unwrap_err();
        assert!(silent.contains("an impossible"), "{silent}");
    }
}
