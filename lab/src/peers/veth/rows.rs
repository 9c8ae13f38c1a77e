//! Which benchmarks are compared over veth, on which CPUs, and how their pairs become a ratio. Pure.

use model::experiment::{Experiment, LOOPBACK, NetParams, net_id};
use model::io::{Direction, NetMode, Protocol, Segmentation, Wait};
use model::unit::{format_size, parse_size};
use serde_json::{Value, json};
use stats::{Better, RatioVerdict, ratio, summarise};

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Row(NetParams);

pub(super) fn of_suite(text: &str) -> Result<Vec<Row>, String> {
    let suite: toml::Table = text.parse().map_err(|error| format!("the suite: {error}"))?;
    let stanzas = suite.get("net").and_then(toml::Value::as_array).ok_or("the suite has no [[net]]")?;
    let mut rows = Vec::new();
    for stanza in stanzas {
        let words = |key: &str, otherwise: &'static str| -> Vec<&str> {
            let list = stanza.get(key).and_then(toml::Value::as_array);
            list.map_or_else(
                || vec![otherwise],
                |list| list.iter().map(|word| word.as_str().unwrap_or_default()).collect(),
            )
        };
        let mode = stanza.get("mode").and_then(toml::Value::as_str).unwrap_or_default();
        for protocol in words("protocol", "") {
            for block in words("block", "") {
                for segmentation in words("segmentation", "off") {
                    for threads in words("threads", "1") {
                        rows.push(Row::read(protocol, mode, block, segmentation, threads)?);
                    }
                }
            }
        }
    }
    Ok(rows)
}

impl Row {
    fn read(protocol: &str, mode: &str, block: &str, segmentation: &str, threads: &str) -> Result<Self, String> {
        let not = |what: &str| format!("cannot read '{what}' in the suite");
        let protocol: Protocol = protocol.parse().map_err(|_| not(protocol))?;
        let mode: NetMode = mode.parse().map_err(|_| not(mode))?;
        let stream = matches!(mode, NetMode::Stream | NetMode::NoDrop | NetMode::Blast);
        let segmentation: Segmentation = segmentation.parse().map_err(|_| not(segmentation))?;
        Ok(Self(NetParams {
            protocol,
            mode,
            block: parse_size(block).map_err(|_| not(block))?,
            direction: stream.then_some(Direction::Up),
            threads: threads.parse().map_err(|_| not(threads))?,
            path: LOOPBACK.to_owned(),
            zero_copy: None,
            segmentation: (stream && protocol == Protocol::Udp).then_some(segmentation),
            loss_goal_per_million: (mode == NetMode::NoDrop).then_some(1000),
            wait: (mode == NetMode::Pingpong).then_some(Wait::Blocking),
        }))
    }

    pub(super) fn id(&self) -> String {
        net_id(&self.0)
    }

    pub(super) fn threads(&self) -> u32 {
        self.0.threads
    }

    pub(super) fn is_latency(&self) -> bool {
        self.0.mode == NetMode::Pingpong
    }

    pub(super) fn experiment(&self) -> Experiment {
        Experiment::new(self.id(), self.0.clone(), "")
    }

    pub(super) fn arguments(&self, address: &str, key: &str) -> Vec<String> {
        let NetParams { protocol, mode, block, threads, .. } = &self.0;
        let mut line: Vec<String> = ["net", "--to", address, "--key-file", key].map(str::to_owned).into();
        let mut option = |name: &str, value: String| line.extend([format!("--{name}"), value]);
        option("protocol", protocol.to_string());
        option("mode", mode.to_string());
        option("block", format_size(*block));
        option("threads", threads.to_string());
        if let Some(segmentation) = self.0.segmentation {
            option("segmentation", segmentation.to_string());
        }
        if let Some(goal) = self.0.loss_goal_per_million {
            option("loss-goal", goal.to_string());
        }
        if let Some(wait) = self.0.wait {
            option("wait", wait.to_string());
        }
        option("repeat", "1".to_owned());
        option("json", "-".to_owned());
        line
    }
}

/// The CPUs of client and server: one per thread each, and not shared if there are enough.
pub(super) fn cpus(threads: u32, all: &[u32]) -> [Vec<u32>; 2] {
    let threads = (threads as usize).min(all.len());
    let (client, rest) = all.split_at(threads);
    let server = if rest.is_empty() { all } else { &rest[..threads.min(rest.len())] };
    [client.to_vec(), server.to_vec()]
}

/// Whether a table such as `/proc/net/tcp` has a socket at this local port that listens (0A) or receives datagrams (07).
pub(super) fn has_port(table: &str, port: u16) -> bool {
    let port = format!(":{port:04X}");
    table.lines().skip(1).any(|line| {
        let mut fields = line.split_whitespace().skip(1);
        let (local, state) = (fields.next(), fields.nth(1));
        local.is_some_and(|local| local.ends_with(&port)) && matches!(state, Some("0A" | "07"))
    })
}

pub(super) fn without_value(row: &Row) -> Value {
    let (name, unit, better) =
        if row.is_latency() { ("latency", "s", "lower") } else { ("throughput", "B/s", "higher") };
    json!({"experiments": [{"id": row.id(), "metrics": [{"name": name, "unit": unit, "better": better}]}]})
}

/// Adds the ratio of these pairs to a reference, or the reason why it has none.
pub(super) fn put_ratio(reference: &mut Value, pairs: &[(f64, f64)], better: Better) {
    let side = |side: fn(&(f64, f64)) -> f64| summarise(&pairs.iter().map(side).collect::<Vec<_>>());
    let (Ok(ratio), Ok(ours), Ok(theirs)) = (ratio(pairs), side(|pair| pair.0), side(|pair| pair.1)) else {
        (reference["status"], reference["reason"]) = (json!("failed"), json!("its values have no ratio"));
        return;
    };
    let verdict = match ratio.verdict(better) {
        RatioVerdict::AtLeast => "at_least",
        RatioVerdict::Below => "below",
        RatioVerdict::Inconclusive => "inconclusive",
    };
    (reference["ours"], reference["median"]) = (json!(ours.median), json!(theirs.median));
    (reference["ratio"], reference["ratio_ci95"]) = (json!(ratio.ratio), json!(ratio.interval));
    (reference["half_width"], reference["verdict"]) = (json!(ratio.half_width), json!(verdict));
    reference["spread"] = json!({"ours": ours.cv_robust, "theirs": theirs.cv_robust});
}

/// Adds the ratio of the 99th percentiles, if every pair has them.
pub(super) fn put_tail(reference: &mut Value, tails: &[(f64, f64)]) {
    let mut tail = json!({"name": "latency_p99"});
    put_ratio(&mut tail, tails, Better::Lower);
    if tails.len() as u64 == reference["pairs"].as_u64().unwrap_or(0) && tail["ratio"].is_number() {
        tail["theirs"] = tail["median"].clone();
        reference["also"] = json!([tail]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SUITE: &str = include_str!("../../../../suites/peers.toml");

    #[test]
    fn every_network_row_of_the_suite_is_read() {
        let ids: Vec<String> = of_suite(SUITE).unwrap().iter().map(Row::id).collect();
        for id in [
            "net/tcp-stream/128KiB/t1",
            "net/tcp-stream/1KiB/t8",
            "net/udp-no_drop/1472B/loss1000ppm/gso/t1",
            "net/udp-no_drop/1472B/loss1000ppm/t1",
            "net/tcp-pingpong/14B/t1",
            "net/udp-pingpong/14B/t1",
        ] {
            assert_eq!(ids.iter().filter(|found| *found == id).count(), 1, "{id} in {ids:?}");
        }
        assert_eq!(ids.len(), 12);
        for bad in ["", "net = 3", "[[net]]\nprotocol = [\"sctp\"]\nmode = \"stream\"\nblock = [\"1KiB\"]"] {
            assert!(of_suite(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn the_arguments_select_exactly_the_row() {
        let row = Row::read("udp", "no_drop", "1472B", "gso", "2").unwrap();
        assert_eq!(
            row.arguments("198.18.211.2", "/key").join(" "),
            "net --to 198.18.211.2 --key-file /key --protocol udp --mode no_drop --block 1472B --threads 2 \
             --segmentation gso --loss-goal 1000 --repeat 1 --json -"
        );
        let row = Row::read("tcp", "pingpong", "14B", "off", "1").unwrap();
        let line = row.arguments("h", "k").join(" ");
        assert!(line.contains("--wait blocking") && !line.contains("segmentation"), "{line}");
    }

    #[test]
    fn client_and_server_share_no_cpu_if_there_are_enough() {
        assert_eq!(cpus(1, &[0, 1]), [vec![0], vec![1]]);
        assert_eq!(cpus(2, &[0, 1, 2, 3]), [vec![0, 1], vec![2, 3]]);
        assert_eq!(cpus(2, &[0, 1, 2]), [vec![0, 1], vec![2]]);
        assert_eq!(cpus(8, &[0, 1]), [vec![0, 1], vec![0, 1]]);
        assert_eq!(cpus(1, &[5]), [vec![5], vec![5]]);
    }

    #[test]
    fn a_listening_socket_is_not_one_of_its_connections() {
        let table = "  sl  local_address rem_address   st\n   0: 0201D312:145B 00000000:0000 0A 0\n\
                     \x20  1: 0201D312:145C 0101D312:9999 01 0\n   2: 0201D312:14B5 00000000:0000 07 0\n";
        assert!(has_port(table, 0x145B) && has_port(table, 0x14B5));
        assert!(!has_port(table, 0x145C) && !has_port(table, 0x9999) && !has_port("", 1));
    }

    #[test]
    fn pairs_become_a_ratio_and_no_pairs_a_reason() {
        let mut reference = json!({"pairs": 6, "status": "ok"});
        let pairs = [(2.0, 1.0), (2.1, 1.0), (2.0, 1.1), (2.0, 1.0), (2.2, 1.0), (2.0, 1.0)];
        put_ratio(&mut reference, &pairs, Better::Higher);
        assert_eq!((&reference["ratio"], &reference["verdict"]), (&json!(2.0), &json!("at_least")));
        put_tail(&mut reference, &pairs);
        let tail = &reference["also"][0];
        assert_eq!((&tail["ours"], &tail["theirs"], &tail["verdict"]), (&json!(2.0), &json!(1.0), &json!("below")));
        put_tail(&mut reference, &pairs[..5]);
        let mut empty = json!({"status": "ok"});
        put_ratio(&mut empty, &[], Better::Higher);
        assert_eq!(empty["status"], "failed");
    }
}
