//! The system's ping beside our UDP ping-pong on the loopback interface: ICMP echo requests with as many bytes as our
//! messages, in packets of the same length.
//!
//! The figure is the median of the times that it prints, whole microseconds of the full round trip. It is another
//! measurement than ours, and says so: the kernel answers an echo request itself, so that no process has to wake up at
//! the other end, and requests leave every 2 ms (200 where the system allows ordinary users no less) and not one after
//! the other.

use model::experiment::{Experiment, NetParams, Params};
use model::io::{NetMode, Protocol, Wait};
use model::sample::MetricName;
use serde_json::{Map, json};

use super::{
    About, Invocation, Otherwise, Output, Reading, Reason, Reference, Rule, Side, Target, Version, arguments,
    bare_environment, complaint, distinct, examples, positive, succeeded,
};

pub(super) struct Ping;

static ABOUT: About = About {
    tool: "ping",
    program: "ping",
    launcher: None,
    version: Version::Asked { argument: "-V", prefix: "ping from iputils ", oldest: (20_200_821, 0) },
    stands_beside: "UDP ping-pongs of 16 B and more on the loopback interface",
    equal: "the message",
    rules: &[&KERNEL, &RARE, &WHOLE],
    how_to_get: "Debian package iputils-ping; https://github.com/iputils/iputils",
};
/// Seconds of which a microsecond is more than the 5 % that are worth explaining.
const COARSE_BELOW: f64 = 20e-6;

static KERNEL: Rule = Rule { name: "kernel-answers", when: None, makes_it: Side::Faster };
static RARE: Rule = Rule { name: "rare-requests", when: None, makes_it: Side::Slower };
static WHOLE: Rule = Rule {
    name: "whole-microseconds",
    when: Some("its round trip is below 20 µs, of which one microsecond is more than 5 %"),
    makes_it: Side::Either,
};

/// The fewest bytes with which it tells times: its own time stamp (`struct timeval`), as its manual says.
const SMALLEST_MESSAGE: u64 = 16;
/// The most bytes of an echo request over IPv4: 65535 less 20 of IP header and 8 of ICMP header.
const LARGEST_MESSAGE: u64 = 65_507;
/// Milliseconds between two requests: the least that it allows ordinary users since 2022 (`MIN_USER_INTERVAL_MS`).
const INTERVAL_MS: u64 = 2;
/// The least that it allowed them before.
const SLOW_INTERVAL_MS: u64 = 200;
/// What it says where an interval is refused.
const REFUSED: &str = "minimal interval allowed for user";
/// Requests at least, however long their interval.
const FEWEST: f64 = 10.0;
/// Answers of which a 99th percentile can be told.
const FOR_P99: usize = 100;
/// Seconds for the last answer.
const PATIENCE_SECONDS: u64 = 1;

/// The parameters, if ping can stand beside this.
fn parameters(experiment: &Experiment) -> Result<&NetParams, String> {
    let Params::Net(params) = &experiment.params else { return Err("ping measures networks".to_owned()) };
    let refuse = |why: String| Err(format!("ping is not run beside this: {why}"));
    if (params.protocol, params.mode) != (Protocol::Udp, NetMode::Pingpong) {
        return refuse("only ping-pongs over UDP are compared".to_owned());
    }
    if params.path != "loopback" {
        return refuse("only the loopback interface is compared".to_owned());
    }
    if params.wait == Some(Wait::Spinning) {
        return refuse("it sleeps until an answer comes".to_owned());
    }
    if !(SMALLEST_MESSAGE..=LARGEST_MESSAGE).contains(&params.block) {
        return refuse(format!("it tells times of {SMALLEST_MESSAGE} B to {LARGEST_MESSAGE} B"));
    }
    if params.threads != 1 {
        return refuse("it has one thread".to_owned());
    }
    Ok(params)
}

/// Requests in so many seconds.
fn requests(seconds: f64, interval_ms: u64) -> f64 {
    (seconds * 1e3 / interval_ms as f64).clamp(FEWEST, 1e6).round()
}

impl Reference for Ping {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn example(&self) -> Experiment {
        examples::net(Protocol::Udp, NetMode::Pingpong, 16, 1)
    }

    fn stands_beside(&self, experiment: &Experiment) -> Result<(), String> {
        parameters(experiment).map(|_| ())
    }

    fn invocation(&self, target: &Target<'_>) -> Result<Invocation, String> {
        let params = parameters(target.experiment)?;
        let every = |interval_ms: u64| {
            let words = [
                "-n".to_owned(),
                format!("-c{}", requests(target.seconds, interval_ms)),
                format!("-i{}", interval_ms as f64 / 1e3),
                format!("-s{}", params.block),
                format!("-W{PATIENCE_SECONDS}"),
                "127.0.0.1".to_owned(),
            ];
            arguments(target.program, words)
        };
        let slow_seconds = requests(target.seconds, SLOW_INTERVAL_MS) * SLOW_INTERVAL_MS as f64 / 1e3;
        Ok(Invocation {
            argv: every(INTERVAL_MS),
            otherwise: Some(Otherwise { when_it_says: REFUSED, argv: every(SLOW_INTERVAL_MS) }),
            env: bare_environment(),
            cpus: distinct(target.cpus),
            expected_seconds: target.seconds,
            timeout_seconds: 15.0 + 2.0 * slow_seconds,
            ..Invocation::default()
        })
    }

    fn parse(&self, _version: &str, output: &Output, experiment: &Experiment) -> Result<Reading, String> {
        let params = parameters(experiment)?;
        // It leaves with 1 where answers are missing, which its counts tell.
        if output.status != Some(1) {
            succeeded(ABOUT.tool, output)?;
        }
        let (sent, came) = counts(&output.stdout).ok_or_else(|| {
            succeeded(ABOUT.tool, output)
                .err()
                .unwrap_or_else(|| format!("ping printed no count: {}", complaint(output)))
        })?;
        // Its echo is 8 bytes of ICMP header longer than what it was asked for.
        let echo = format!("{} bytes from ", params.block + 8);
        let mut times: Vec<f64> =
            output.stdout.lines().filter(|line| line.starts_with(&echo)).filter_map(time).collect();
        times.sort_by(f64::total_cmp);
        if times.is_empty() {
            return Err(format!("none of the {sent} requests of ping was answered with a time: {}", complaint(output)));
        }
        let value = positive(ABOUT.tool, "median", percentile(&times, 0.5))?;
        let mut details = Map::from_iter([
            ("requests".to_owned(), json!(sent)),
            ("answers".to_owned(), json!(came)),
            ("min".to_owned(), json!(times[0])),
            ("max".to_owned(), json!(times[times.len() - 1])),
        ]);
        if times.len() >= FOR_P99 {
            details.insert("p99".to_owned(), json!(percentile(&times, 0.99)));
        }
        Ok(Reading { metric: MetricName::Latency, value, bytes_factor: 1.0, details })
    }

    fn reasons(&self, _version: &str, _experiment: &Experiment, reading: &Reading) -> Vec<Reason> {
        let mut reasons = vec![
            KERNEL.says("ping's echo is answered by the kernel, with no process that has to wake up at the other end"),
            RARE.says("ping sends one request every some milliseconds, between which the CPUs fall asleep"),
        ];
        if reading.value < COARSE_BELOW {
            reasons.push(WHOLE.says("ping tells whole microseconds"));
        }
        reasons
    }
}

/// Requests and answers: `200 packets transmitted, 200 received, 0% packet loss`.
fn counts(text: &str) -> Option<(u64, u64)> {
    let line = text.lines().find(|line| line.contains(" packets transmitted, "))?;
    let (sent, rest) = line.split_once(" packets transmitted, ")?;
    Some((sent.parse().ok()?, rest.split_once(" received")?.0.parse().ok()?))
}

/// The seconds of an answer: `72 bytes from 127.0.0.1: icmp_seq=1 ttl=64 time=0.012 ms`.
fn time(line: &str) -> Option<f64> {
    let milliseconds: f64 = line.split_once(" time=")?.1.strip_suffix(" ms")?.parse().ok()?;
    (milliseconds.is_finite() && milliseconds >= 0.0).then_some(milliseconds * 1e-3)
}

/// The value that so large a share of them does not exceed, of ascending values.
fn percentile(ascending: &[f64], share: f64) -> f64 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a rank among values in memory")]
    let rank = (share * ascending.len() as f64).ceil() as usize;
    ascending.get(rank.saturating_sub(1)).copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::reference::tests::{difference, failed, net, recorded, said};

    fn pingpong(block: u64) -> Experiment {
        net(Protocol::Udp, NetMode::Pingpong, block, 1)
    }

    #[test]
    fn it_sends_as_many_bytes_and_slower_where_it_must() {
        let experiment = pingpong(64);
        let target = Target {
            experiment: &experiment,
            program: Path::new("/usr/bin/ping"),
            cpus: &[1],
            other_cpus: &[0],
            seconds: 0.5,
            file: None,
            our_rate: None,
            version: "",
            offered_rate: None,
            launcher: None,
        };
        let invocation = Ping.invocation(&target).unwrap();
        assert_eq!(invocation.argv.join(" "), "/usr/bin/ping -n -c250 -i0.002 -s64 -W1 127.0.0.1");
        let slow = invocation.otherwise.unwrap();
        assert_eq!(slow.argv.join(" "), "/usr/bin/ping -n -c10 -i0.2 -s64 -W1 127.0.0.1");
        assert!("ping: cannot flood; minimal interval allowed for user is 200ms".contains(slow.when_it_says));
        assert_eq!((invocation.cpus, invocation.server), (vec![1], None), "the kernel answers");
    }

    #[test]
    fn what_it_cannot_do_alike_is_refused() {
        let why = |experiment: &Experiment| Ping.stands_beside(experiment).unwrap_err();
        assert!(why(&pingpong(14)).contains("16 B"));
        assert!(why(&net(Protocol::Tcp, NetMode::Pingpong, 64, 1)).contains("UDP"));
        assert!(why(&net(Protocol::Udp, NetMode::Pingpong, 64, 2)).contains("one thread"));
        let mut experiment = pingpong(64);
        let Params::Net(base) = experiment.params.clone() else { panic!("a network experiment") };
        for (params, says) in [
            (NetParams { wait: Some(Wait::Spinning), ..base.clone() }, "sleeps"),
            (NetParams { path: "10.0.0.2".into(), ..base }, "loopback"),
        ] {
            experiment.params = Params::Net(params);
            assert!(why(&experiment).contains(says));
        }
    }

    #[test]
    fn a_recorded_run_is_read_as_its_median() {
        let text = recorded("ping-20221126-64B.txt");
        let reading = Ping.parse("20221126", &said(&text), &pingpong(64)).unwrap();
        assert_eq!((reading.metric, &reading.details["answers"]), (MetricName::Latency, &json!(200)));
        let detail = |key: &str| reading.details[key].as_f64().unwrap();
        assert!([detail("min"), reading.value, detail("p99"), detail("max")].is_sorted(), "{reading:?}");
        // Its own summary: rtt min/avg/max/mdev = 0.001/0.005/0.022/0.005 ms.
        assert!((detail("min") - 1e-6).abs() < 1e-9 && (detail("max") - 22e-6).abs() < 1e-9, "{reading:?}");
        let above = text.lines().filter_map(time).filter(|seconds| *seconds > reading.value).count();
        assert!(above <= 100, "half of them are no longer");
        assert!(difference(&Ping, "20221126", &pingpong(64), &reading).unwrap().contains("kernel"));
    }

    #[test]
    fn what_it_did_not_measure_is_no_reading() {
        let whole = recorded("ping-20221126-64B.txt");
        for (output, why) in [
            (said(""), "no count"),
            (said(whole.split("---").next().unwrap()), "no count"),
            (said(&recorded("ping-20221126-6B-no-times.txt")), "none of the 3 requests"),
            (said(&whole.replace("72 bytes", "60 bytes")), "none of the 200 requests"),
            (said(&whole.replace("time=0.0", "time=nan")), "none of the 200"),
            (failed(2, "ping: unknown host"), "unknown host"),
        ] {
            let reason = Ping.parse("20221126", &output, &pingpong(64)).unwrap_err();
            assert!(reason.contains(why), "{why}: {reason}");
        }
        let zero: Vec<_> =
            whole.lines().map(|line| line.split(" time=").next().unwrap().to_owned() + " time=0 ms").collect();
        let zero = format!("{}\n200 packets transmitted, 200 received", zero.join("\n"));
        assert!(Ping.parse("20221126", &said(&zero), &pingpong(64)).unwrap_err().contains("no measurement"));
    }
}
