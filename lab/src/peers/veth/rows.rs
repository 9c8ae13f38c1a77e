//! Which rows are compared over veth, on which CPUs, and how a comparison's figures are put into words. Pure.

use model::experiment::{Experiment, LOOPBACK, NetParams, net_id};
use model::io::{Direction, NetMode, Protocol, Segmentation, Wait};
use model::unit::{format_size, parse_size};
use serde_json::{Value, json};
use stats::{Better, RatioVerdict, ratio, summarise};

/// One row.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Row(NetParams);

/// The network rows of a suite, in its order.
///
/// # Errors
/// What is not understood.
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
        let not = |what: &str| format!("'{what}' in the suite is not understood");
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

    /// The id of the same row on loopback.
    pub(super) fn id(&self) -> String {
        net_id(&self.0)
    }

    pub(super) fn threads(&self) -> u32 {
        self.0.threads
    }

    pub(super) fn is_latency(&self) -> bool {
        self.0.mode == NetMode::Pingpong
    }

    /// What adapters are asked beside: the row on loopback, since only the address differs.
    pub(super) fn experiment(&self) -> Experiment {
        Experiment::new(self.id(), self.0.clone(), "")
    }

    /// The program's arguments for one sample of it.
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

/// The CPUs of the near and of the far end: as many as there are threads each, and others for each where there are so
/// many.
pub(super) fn cpus(threads: u32, all: &[u32]) -> [Vec<u32>; 2] {
    let threads = (threads as usize).min(all.len());
    let near = all[..threads].to_vec();
    let rest = &all[threads..];
    let far = if rest.is_empty() { all } else { &rest[..threads.min(rest.len())] };
    [near, far.to_vec()]
}

/// A list as the kernel writes it: `0-3,8`.
pub(super) fn cpu_list(text: &str) -> Vec<u32> {
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.parse::<u32>().ok()?..=last.parse::<u32>().ok()?)
    };
    text.split(',').filter_map(range).flatten().collect()
}

/// Whether a table of sockets (`/proc/net/tcp`) has one at this local port that waits: for connections (0A), or for
/// datagrams of anybody (07).
pub(super) fn has_port(table: &str, port: u16) -> bool {
    let port = format!(":{port:04X}");
    table.lines().skip(1).any(|line| {
        let mut fields = line.split_whitespace().skip(1);
        let (local, state) = (fields.next(), fields.nth(1));
        local.is_some_and(|local| local.ends_with(&port)) && matches!(state, Some("0A" | "07"))
    })
}

/// The document of a row of which there is no figure.
pub(super) fn without_figure(row: &Row) -> Value {
    let (name, unit, better) =
        if row.is_latency() { ("latency", "s", "lower") } else { ("throughput", "B/s", "higher") };
    json!({"experiments": [{"id": row.id(), "metrics": [{"name": name, "unit": unit, "better": better}]}]})
}

/// Puts the ratio of these pairs into a reference, or why there is none.
pub(super) fn put_ratio(reference: &mut Value, pairs: &[(f64, f64)], better: Better) {
    let side = |side: fn(&(f64, f64)) -> f64| summarise(&pairs.iter().map(side).collect::<Vec<_>>());
    let (Ok(ratio), Ok(ours), Ok(theirs)) = (ratio(pairs), side(|pair| pair.0), side(|pair| pair.1)) else {
        (reference["status"], reference["reason"]) = (json!("failed"), json!("its figures have no ratio"));
        return;
    };
    (reference["ours"], reference["median"]) = (json!(ours.median), json!(theirs.median));
    (reference["ratio"], reference["ratio_ci95"]) = (json!(ratio.ratio), json!(ratio.interval));
    (reference["half_width"], reference["verdict"]) = (json!(ratio.half_width), json!(verdict(ratio.verdict(better))));
    reference["spread"] = json!({"ours": ours.cv_robust, "theirs": theirs.cv_robust});
}

/// Puts the ratio of the 99th percentiles beside it, where every pair has them.
pub(super) fn put_tail(reference: &mut Value, tails: &[(f64, f64)]) {
    let mut tail = json!({"name": "latency_p99"});
    put_ratio(&mut tail, tails, Better::Lower);
    if tails.len() as u64 == reference["pairs"].as_u64().unwrap_or(0) && tail["ratio"].is_number() {
        tail["theirs"] = tail["median"].clone();
        reference["also"] = json!([tail]);
    }
}

/// A verdict in the words of the document.
pub(super) fn verdict(found: RatioVerdict) -> &'static str {
    match found {
        RatioVerdict::AtLeast => "at_least",
        RatioVerdict::Below => "below",
        RatioVerdict::Inconclusive => "inconclusive",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SUITE: &str = include_str!("../../../../suites/peers.toml");

    #[test]
    fn the_rows_are_those_of_the_suite() {
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
    fn the_program_is_asked_for_exactly_the_row() {
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
    fn each_end_has_cpus_of_its_own_where_there_are_enough() {
        assert_eq!(cpus(1, &[0, 1]), [vec![0], vec![1]]);
        assert_eq!(cpus(2, &[0, 1, 2, 3]), [vec![0, 1], vec![2, 3]]);
        assert_eq!(cpus(2, &[0, 1, 2]), [vec![0, 1], vec![2]]);
        assert_eq!(cpus(8, &[0, 1]), [vec![0, 1], vec![0, 1]]);
        assert_eq!(cpus(1, &[5]), [vec![5], vec![5]]);
        assert_eq!(cpu_list("0-2,7"), [0, 1, 2, 7]);
    }

    #[test]
    fn a_server_that_waits_is_told_from_its_connections() {
        let table = "  sl  local_address rem_address   st\n   0: 0201D312:145B 00000000:0000 0A 0\n\
                     \x20  1: 0201D312:145C 0101D312:9999 01 0\n   2: 0201D312:14B5 00000000:0000 07 0\n";
        assert!(has_port(table, 0x145B) && has_port(table, 0x14B5));
        assert!(!has_port(table, 0x145C) && !has_port(table, 0x9999) && !has_port("", 1));
    }

    #[test]
    fn figures_become_a_ratio_with_its_verdict_and_none_a_reason() {
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
