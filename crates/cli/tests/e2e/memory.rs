//! Memory: chosen nodes, core-to-core handoffs, and what results say of their threads and pages.

use crate::common::{ids, number, refused, rows, samples, skip, text, verified};
use crate::system::process::allowed_cpus;

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
