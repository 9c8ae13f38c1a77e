//! Which benchmarks are compared over veth, on which CPUs, and how their pairs become a ratio. Pure.

use std::path::Path;

use bench::host;
use model::experiment::{Experiment, NetParams, net_id};
use model::io::NetMode;
use model::machine::Machine;
use model::unit::format_size;
use serde_json::{Value, json};
use stats::{Better, RatioVerdict, ratio, summarise};

pub(super) fn of_suite(path: &Path, machine: &Machine) -> Result<Vec<NetParams>, String> {
    let suite = host::suite(&path.display().to_string()).map_err(|error| error.to_string())?;
    let plan = areas::plan(&host::request(suite, machine), machine).map_err(|error| error.to_string())?;
    Ok(plan.rows.iter().filter_map(|row| row.experiment.net().cloned()).collect())
}

pub(super) fn better(row: &NetParams) -> Better {
    if row.mode == NetMode::Pingpong { Better::Lower } else { Better::Higher }
}

pub(super) fn experiment(row: &NetParams) -> Experiment {
    Experiment::new(net_id(row), row.clone(), "")
}

/// Our arguments that select exactly this benchmark.
pub(super) fn arguments(row: &NetParams, address: &str, key: &str) -> Vec<String> {
    let options = [
        ("to", Some(address.to_owned())),
        ("key-file", Some(key.to_owned())),
        ("protocol", Some(row.protocol.to_string())),
        ("mode", Some(row.mode.to_string())),
        ("block", Some(format_size(row.block))),
        ("threads", Some(row.threads.to_string())),
        ("segmentation", row.segmentation.map(|segmentation| segmentation.to_string())),
        ("loss-goal", row.loss_goal_per_million.map(|goal| goal.to_string())),
        ("wait", row.wait.map(|wait| wait.to_string())),
        ("repeat", Some("1".to_owned())),
        ("json", Some("-".to_owned())),
    ];
    let options = options.into_iter().filter_map(|(name, value)| Some([format!("--{name}"), value?]));
    std::iter::once("net".to_owned()).chain(options.flatten()).collect()
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

pub(super) fn without_value(row: &NetParams) -> Value {
    let (name, unit, better) = match better(row) {
        Better::Lower => ("latency", "s", "lower"),
        Better::Higher => ("throughput", "B/s", "higher"),
    };
    json!({"experiments": [{"id": net_id(row), "metrics": [{"name": name, "unit": unit, "better": better}]}]})
}

/// Adds the ratio of these pairs to a reference, or the reason why it has none.
pub(super) fn put_ratio(reference: &mut Value, pairs: &[(f64, f64)], better: Better) {
    let side = |side: fn(&(f64, f64)) -> f64| summarise(&pairs.iter().map(side).collect::<Vec<_>>());
    let (Some(ratio), Some(ours), Some(theirs)) = (ratio(pairs), side(|pair| pair.0), side(|pair| pair.1)) else {
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

    #[test]
    fn the_arguments_select_exactly_each_row_of_the_suite() {
        let suite = Path::new(env!("CARGO_MANIFEST_DIR")).join("../suites/peers.toml");
        let rows = of_suite(&suite, &Machine::default()).unwrap();
        assert_eq!(rows.len(), 12);
        let line = |id: &str| {
            let row = rows.iter().find(|row| net_id(row) == id).unwrap_or_else(|| panic!("no {id}"));
            arguments(row, "h", "k").join(" ")
        };
        assert_eq!(
            line("net/udp-no_drop/1472B/loss1000ppm/gso/t1"),
            "net --to h --key-file k --protocol udp --mode no_drop --block 1472B --threads 1 --segmentation gso \
             --loss-goal 1000 --repeat 1 --json -"
        );
        let pingpong = line("net/tcp-pingpong/14B/t1");
        assert!(pingpong.contains("--wait blocking") && !pingpong.contains("segmentation"), "{pingpong}");
        assert!(line("net/tcp-stream/1KiB/t8").contains("--threads 8"));
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
