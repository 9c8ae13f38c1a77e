//! Memory: every operation at every size verifies; curves, blocks, chases, core-to-core handoffs.

use serde_json::Value;

use crate::common::{ids, list, listed, metric, number, refused, rows, samples, skip, text, verified};
use crate::system::process::allowed_cpus;

/// Operations that traverse the working set in order.
const STREAMS: &str = "read,write,write_nt,copy,copy_nt,update,scale,scale_nt,add,add_nt,triad,triad_nt,mix_3_1,mix_2_1,\
                       mix_1_1,rep_movsb,memcpy,byte_loop";

#[test]
fn every_stream_verifies() {
    let document = verified(&format!("memory --op {STREAMS} --working-set 3MiB --threads 2 --verify"));
    for op in STREAMS.split(',') {
        let of = |row: &&Value| row["params"]["op"] == op;
        assert!(rows(&document).iter().filter(of).count() >= 1, "{op}: {:#?}", ids(&document));
    }
}

#[test]
fn working_sets_of_every_cache_verify() {
    let document = verified("memory --op copy,triad --working-set 6KiB,1MiB,3MiB --threads 1 --verify");
    assert!(rows(&document).len() >= 6, "{:#?}", ids(&document));
    let document = verified("memory --pattern chase --working-set 4KiB,1MiB --pages 4KiB,2MiB --threads 1 --verify");
    assert!(rows(&document).len() >= 4, "{:#?}", ids(&document));
}

#[test]
fn a_pair_of_nodes_is_measured_and_one_that_is_not_there_refused() {
    // Without NUMA information there is no node to choose.
    if !std::path::Path::new("/sys/devices/system/node/node0/meminfo").exists() {
        return skip("rows of chosen memory nodes", "the kernel reports no node 0");
    }
    let document = verified("memory --nodes 0-0 --op read,load --working-set 16MiB --threads 1 --verify");
    assert!(rows(&document).iter().all(|row| row["params"]["nodes"] == "0-0"), "{:#?}", ids(&document));
    assert_eq!(rows(&document).len(), 2, "{:#?}", ids(&document));
    refused("memory --nodes 0-99999 --op read", &["there is no node 99999 with memory"]);
}

#[test]
fn blocks_are_accessed_in_order_and_at_random() {
    let document = verified("memory --block 8,1MiB --working-set 4MiB --threads 2 --repeat 2");
    for pattern in ["sequential", "random"] {
        for op in ["read", "write", "copy"] {
            let of = |row: &&Value| row["params"]["pattern"] == pattern && row["params"]["op"] == op;
            assert_eq!(rows(&document).iter().filter(of).count(), 2, "{pattern} {op}: {:#?}", ids(&document));
        }
    }
    // Throughput and latency count the same work.
    for row in rows(&document) {
        let counted = if row["params"]["op"] == "copy" { 2.0 } else { 1.0 } * number(&row["params"], "block");
        for (throughput, latency) in
            list(metric(row, "throughput"), "samples").iter().zip(list(metric(row, "latency"), "samples"))
        {
            let accesses = number(latency, "work");
            assert!((number(throughput, "work") / counted / accesses - 1.0).abs() < 1e-9, "{row:#}");
        }
    }
}

#[test]
fn rows_say_how_far_apart_their_threads_were_and_what_they_rest_on() {
    let document = verified("memory --op memcpy,increment --working-set 8MiB --threads 1,2 --repeat 2");
    for row in rows(&document) {
        let (seen, op) = (&row["conditions"], text(&row["params"], "op"));
        let is_alone = number(&row["params"], "threads") < 2.0;
        for name in ["start_spread_seconds", "slowest_over_fastest"] {
            assert_eq!(seen[name].is_null(), is_alone, "{name}: {row:#}");
        }
        if !is_alone {
            assert!(number(seen, "start_spread_seconds") >= 0.0, "{row:#}");
            assert!((0.0..=1.0).contains(&number(seen, "slowest_over_fastest")), "{row:#}");
        }
        assert_eq!(seen["c_library"].is_null(), op != "memcpy", "{row:#}");
        assert_eq!(seen["order_seconds"].is_null(), op != "increment", "{row:#}");
    }
}

#[test]
fn chains_and_groups_verify() {
    let document = verified("memory --pattern chase --chains 1,3,32 --working-set 4MiB --threads 2 --verify");
    let chains = |row: &Value| row["params"]["chains"].as_u64().unwrap();
    for count in [1, 3, 32] {
        assert!(rows(&document).iter().any(|row| chains(row) == count), "{count}: {:#?}", ids(&document));
    }
    // One chain has a latency, several have a rate.
    for row in rows(&document) {
        let headline = if chains(row) == 1 { "latency" } else { "throughput" };
        assert_eq!(text(&list(row, "metrics")[0], "name"), headline, "{row:#}");
    }
    verified("memory --filter memory/chase-load/4KiB/g256KiB/t1 --verify");
}

#[test]
fn a_chase_under_load_has_a_latency_and_the_load_it_stood_under() {
    if allowed_cpus().len() < 2 {
        return skip("latency under load", "there is one CPU");
    }
    let document = verified("memory --filter memory/chase-load/2MiB/with-read-p0/t2 --threads 2 --repeat 2");
    assert_eq!(rows(&document).len(), 1, "{:#?}", ids(&document));
    for row in rows(&document) {
        assert_eq!(text(&list(row, "metrics")[0], "name"), "latency");
        assert!(number(&metric(row, "throughput")["summary"], "median") > 0.0, "{row:#}");
        assert!(row["params"]["background"]["pause_ns"].is_u64(), "{row:#}");
    }
}

#[test]
fn cores_hand_a_line_to_each_other() {
    if allowed_cpus().len() < 2 {
        return skip("core-to-core latency", "there is one CPU");
    }
    let document = verified("memory --pattern pair --repeat 3");
    for row in rows(&document) {
        let nodes = text(&row["params"], "nodes");
        assert!(text(row, "id").ends_with(nodes) && nodes.starts_with("cpu"), "{row:#}");
        assert_eq!(samples(row).len(), 3);
        assert!(samples(row).iter().all(|sample| number(sample, "value") > 1e-9), "{row:#}");
    }
}

#[test]
fn nothing_faults_inside_what_is_timed() {
    let document = verified("memory --op read,write_nt,copy,load --working-set 64MiB --threads 2 --repeat 2");
    for row in rows(&document) {
        assert_eq!(row["conditions"]["page_faults"], 0, "{row:#}");
    }
}

#[test]
fn the_classic_tables_of_memory_have_every_workload_and_block() {
    let ids = listed("run classic --area memory");
    for pattern in ["sequential", "random"] {
        for op in ["copy", "write", "read"] {
            for block in ["8B", "1KiB", "8KiB", "1MiB", "8MiB", "10MiB", "80MiB"] {
                for threads in [1, 2, 4, 8] {
                    let id = format!("memory/{pattern}-{op}/{block}/t{threads}");
                    assert!(ids.contains(&id), "{id}: {ids:#?}");
                }
            }
        }
    }
}
