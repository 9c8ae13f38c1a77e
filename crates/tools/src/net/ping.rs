//! ping compared with our UDP ping-pong on loopback: ICMP echo requests with as many bytes as our messages.
//!
//! The value is the median of the printed round trips, in whole microseconds. It measures something else, and its rules say
//! so: the kernel answers without waking a process, and requests leave every 2 ms (200 ms for users of older systems).

use model::experiment::{Experiment, NetParams};
use model::io::{NetMode, Protocol, Wait};
use serde_json::json;

use super::loopback;
use crate::examples;
use crate::invocation::{Invocation, Otherwise, Target, command_line};
use crate::output::{Output, Reading, details, number_in, refuse_if};
use crate::tool::{Adapter, Reason, Rule, Side, ToolDescription, VersionSource};

pub(crate) struct Ping;

const TOOL: &str = "ping";
static DESCRIPTION: ToolDescription = ToolDescription {
    id: TOOL,
    program: "ping",
    launcher: None,
    version: VersionSource::Asked { argument: "-V", prefix: "ping from iputils ", oldest: (20_200_821, 0) },
    compared_with: "UDP ping-pongs of 16 B and more on the loopback interface",
    equal: "the message",
    rules: &[&KERNEL, &RARE, &WHOLE],
    how_to_get: "Debian package iputils-ping; https://github.com/iputils/iputils",
    example: || examples::net(Protocol::Udp, NetMode::Pingpong, 16, 1),
};
static KERNEL: Rule = Rule::new("kernel-answers", None, Side::Faster);
static RARE: Rule = Rule::new("rare-requests", None, Side::Slower);
static WHOLE: Rule = Rule::new(
    "whole-microseconds",
    Some("its round trip is below 20 µs, so one microsecond is more than 5 %"),
    Side::Either,
);

/// Below this, a microsecond is more than the 5 % that are worth explaining.
const COARSE_BELOW: f64 = 20e-6;
/// From its time stamp (`struct timeval`, from its manual) to the longest echo request over IPv4: 65535 less 28 of headers.
const MESSAGES: std::ops::RangeInclusive<u64> = 16..=65_507;
/// Milliseconds between requests: the minimum for users since 2022 (`MIN_USER_INTERVAL_MS`).
const INTERVAL_MS: u64 = 2;
const SLOW_INTERVAL_MS: u64 = 200;
const REFUSED: &str = "minimal interval allowed for user";
const FEWEST: f64 = 10.0;
const FOR_P99: usize = 100;
const PATIENCE_SECONDS: u64 = 1;

fn requests(seconds: f64, interval_ms: u64) -> f64 {
    (seconds * 1e3 / interval_ms as f64).clamp(FEWEST, 1e6).round()
}

impl Adapter for Ping {
    const DESCRIPTION: &'static ToolDescription = &DESCRIPTION;
    type Work<'a> = &'a NetParams;

    fn work(experiment: &Experiment) -> Result<&NetParams, String> {
        let params = loopback(TOOL, experiment)?;
        let udp = (params.protocol, params.mode) == (Protocol::Udp, NetMode::Pingpong);
        let reasons = [
            (!udp, "only UDP ping-pongs are compared"),
            (params.wait == Some(Wait::Spinning), "it sleeps until the answer arrives"),
            (!MESSAGES.contains(&params.block), "its messages are 16 B to 65507 B"),
            (params.threads != 1, "it has one thread"),
        ];
        refuse_if(TOOL, &reasons).map(|()| params)
    }

    fn command(params: &NetParams, target: &Target<'_>) -> Result<Invocation, String> {
        let every = |interval_ms: u64| {
            let (count, interval) = (requests(target.seconds, interval_ms), interval_ms as f64 / 1e3);
            format!("-n -c{count} -i{interval} -s{} -W{PATIENCE_SECONDS} 127.0.0.1", params.block)
        };
        let slow_seconds = requests(target.seconds, SLOW_INTERVAL_MS) * SLOW_INTERVAL_MS as f64 / 1e3;
        let argv = command_line(target.program, &every(SLOW_INTERVAL_MS));
        Ok(Invocation {
            otherwise: Some(Otherwise { when_it_says: REFUSED, argv }),
            ..Invocation::new(target, &every(INTERVAL_MS), [target.seconds, 15.0 + 2.0 * slow_seconds])
        })
    }

    fn read(params: &NetParams, output: &Output) -> Result<Reading, String> {
        let counts = counts(&output.stdout);
        // It exits with 1 if answers are missing, which its counts show.
        if output.status != Some(1) || counts.is_none() {
            output.succeeded(TOOL)?;
        }
        let (sent, received) = counts.ok_or_else(|| format!("ping printed no count: {}", output.complaint()))?;
        // An echo has 8 more bytes of ICMP header.
        let echo = format!("{} bytes from ", params.block + 8);
        let mut times: Vec<f64> =
            output.stdout.lines().filter(|line| line.starts_with(&echo)).filter_map(time).collect();
        times.sort_by(f64::total_cmp);
        let (Some(shortest), Some(longest)) = (times.first(), times.last()) else {
            let complaint = output.complaint();
            return Err(format!("ping printed no time for any of its {sent} requests: {complaint}"));
        };
        let mut details = details([
            ("requests", json!(sent)),
            ("answers", json!(received)),
            ("min", json!(shortest)),
            ("max", json!(longest)),
        ]);
        if times.len() >= FOR_P99 {
            details.insert("p99".to_owned(), json!(percentile(&times, 0.99)));
        }
        Reading::latency(TOOL, percentile(&times, 0.5), details)
    }

    fn differences(_params: &NetParams, _version: &str, reading: &Reading) -> Vec<Option<Reason>> {
        vec![
            KERNEL.says("the kernel answers ping, so no process has to wake up on the server"),
            RARE.says("ping sends a request every few milliseconds, and the CPUs sleep in between"),
            WHOLE.says_if(reading.value < COARSE_BELOW, "ping reports whole microseconds"),
        ]
    }
}

/// Requests and answers: `200 packets transmitted, 200 received, 0% packet loss`.
fn counts(text: &str) -> Option<(u64, u64)> {
    let line = text.lines().find(|line| line.contains(" packets transmitted, "))?;
    let (sent, rest) = line.split_once(" packets transmitted, ")?;
    Some((sent.parse().ok()?, rest.split_once(" received")?.0.parse().ok()?))
}

/// Seconds of an answer: `72 bytes from 127.0.0.1: icmp_seq=1 ttl=64 time=0.012 ms`.
fn time(line: &str) -> Option<f64> {
    let milliseconds = number_in(line.split_once(" time=")?.1.strip_suffix(" ms")?)?;
    (milliseconds >= 0.0).then_some(milliseconds * 1e-3)
}

/// A percentile of ascending values, by rank.
fn percentile(ascending: &[f64], share: f64) -> f64 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a rank among values in memory")]
    let rank = (share * ascending.len() as f64).ceil() as usize;
    ascending.get(rank.saturating_sub(1)).copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use model::sample::MetricName;

    use super::*;
    use crate::tests::fixtures::{failed, net, recorded, said, target, with_net};
    use crate::tool::ReferenceTool;

    fn pingpong(block: u64) -> Experiment {
        net(Protocol::Udp, NetMode::Pingpong, block, 1)
    }

    #[test]
    fn it_sends_as_many_bytes_and_slower_where_it_must() {
        let experiment = pingpong(64);
        let target = Target { cpus: &[1], other_cpus: &[0], ..target(&experiment) };
        let invocation = Ping.invocation(&target).unwrap();
        assert_eq!(invocation.argv.join(" "), "/opt/tool -n -c250 -i0.002 -s64 -W1 127.0.0.1");
        let slow = invocation.otherwise.unwrap();
        assert_eq!(slow.argv.join(" "), "/opt/tool -n -c10 -i0.2 -s64 -W1 127.0.0.1");
        assert!("ping: cannot flood; minimal interval allowed for user is 200ms".contains(slow.when_it_says));
        assert_eq!((invocation.cpus, invocation.server), (vec![1], None), "the kernel answers");
    }

    #[test]
    fn what_it_cannot_do_alike_is_refused() {
        let why = |experiment: &Experiment| Ping.supports(experiment).unwrap_err();
        assert!(why(&pingpong(14)).contains("16 B"));
        assert!(why(&net(Protocol::Tcp, NetMode::Pingpong, 64, 1)).contains("UDP"));
        assert!(why(&net(Protocol::Udp, NetMode::Pingpong, 64, 2)).contains("one thread"));
        let spinning = with_net(pingpong(64), |params| params.wait = Some(Wait::Spinning));
        assert!(why(&spinning).contains("sleeps"));
        assert!(why(&with_net(pingpong(64), |params| params.path = "10.0.0.2".into())).contains("loopback"));
    }

    #[test]
    fn a_recorded_run_is_read_as_its_median() {
        let text = recorded("ping-20221126-64B.txt");
        let reading = Ping.parse(&said(&text), &pingpong(64)).unwrap();
        assert_eq!((reading.metric, &reading.details["answers"]), (MetricName::Latency, &json!(200)));
        let detail = |key: &str| reading.details[key].as_f64().unwrap();
        assert!([detail("min"), reading.value, detail("p99"), detail("max")].is_sorted(), "{reading:?}");
        // Its own summary: rtt min/avg/max/mdev = 0.001/0.005/0.022/0.005 ms.
        assert!((detail("min") - 1e-6).abs() < 1e-9 && (detail("max") - 22e-6).abs() < 1e-9, "{reading:?}");
        let above = text.lines().filter_map(time).filter(|seconds| *seconds > reading.value).count();
        assert!(above <= 100, "half of them are no longer");
    }

    #[test]
    fn what_it_did_not_measure_is_no_reading() {
        let whole = recorded("ping-20221126-64B.txt");
        for (output, why) in [
            (said(""), "no count"),
            (said(whole.split("---").next().unwrap()), "no count"),
            (said(&recorded("ping-20221126-6B-no-times.txt")), "any of its 3 requests"),
            (said(&whole.replace("72 bytes", "60 bytes")), "any of its 200 requests"),
            (said(&whole.replace("time=0.0", "time=nan")), "any of its 200"),
            (failed(2, "ping: unknown host"), "unknown host"),
        ] {
            let reason = Ping.parse(&output, &pingpong(64)).unwrap_err();
            assert!(reason.contains(why), "{why}: {reason}");
        }
        let zero: Vec<_> =
            whole.lines().map(|line| line.split(" time=").next().unwrap().to_owned() + " time=0 ms").collect();
        let zero = format!("{}\n200 packets transmitted, 200 received", zero.join("\n"));
        assert!(Ping.parse(&said(&zero), &pingpong(64)).unwrap_err().contains("an impossible"));
    }
}
