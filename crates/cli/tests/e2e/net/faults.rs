//! Networks that are slow, lossy or drop long packets: what is injected is what is measured, and what cannot be measured
//! fails within seconds with a reason.

use std::time::Duration;

use serde_json::Value;

use crate::common::{Ran, Scratch, is_verified, list, metric, number, rows, skip, stored, suite, text};
use crate::system::family::ended_within;
use crate::system::process::{Running, assert_no_orphans, unshared};

/// Longer than anything here, shorter than a hang.
const PATIENCE: Duration = Duration::from_secs(60);

/// Several times the 5 s after which a silent end is given up.
const IN_SECONDS: f64 = 30.0;

/// Runs a suite of one row with these samples, in milliseconds, in a network namespace whose loopback interface this shell
/// line has degraded; `None` where that is impossible.
fn on_a_bad_loopback(what: &str, set_up: &str, row: &str, (samples, milliseconds): (u32, u32)) -> Option<(Ran, Value)> {
    let scratch = Scratch::new();
    let text = format!(
        "name = \"faulty\"\nsampling.net = {{ samples = {samples}, per_launch = {samples}, sample = \"{milliseconds}ms\", \
         warm_up = [\"100ms\", \"200ms\"] }}\nnet = [{{ threads = [\"1\"], {row} }}]\n"
    );
    let run = suite(&scratch, &text);
    let Some(command) = unshared(&scratch, "-n", &format!("ip link set lo up && {set_up}"), &run) else {
        skip(what, "it needs the superuser, unshare, ip, tc and nft (Debian: util-linux, iproute2, nftables)");
        return None;
    };
    let ran = ended_within(Running::read(command), PATIENCE);
    assert_no_orphans();
    let document = stored(&scratch);
    assert_eq!(rows(&document).len(), 1, "{ran:?}");
    Some((ran, document))
}

/// A firewall rule that drops matching packets as they arrive (`input`), or leave (`output`): then the sender gets an error.
fn dropping(hook: &str, what: &str) -> String {
    format!(
        "nft 'add table inet t; add chain inet t c {{ type filter hook {hook} priority 0; }}; \
         add rule inet t c {what} drop'"
    )
}

#[test]
fn a_rate_limit_is_what_a_stream_reports() {
    // 200 Mbit/s, with a bucket of a few of loopback's largest packets.
    let limit = 200e6 / 8.0;
    let set_up = "tc qdisc add dev lo root tbf rate 200mbit burst 256kb latency 100ms";
    let stream = "protocol = [\"tcp\"], mode = \"stream\", block = [\"128KiB\"]";
    let Some((_, document)) = on_a_bad_loopback("a rate limit", set_up, stream, (3, 500)) else { return };
    let row = &rows(&document)[0];
    assert!(is_verified(row), "{row:#}");
    for sample in list(metric(row, "throughput"), "samples") {
        let rate = number(sample, "value");
        // A full bucket adds 2 % in half a second; congestion control may cost some of the rate.
        assert!((0.5 * limit..=1.05 * limit).contains(&rate), "{rate} B/s of {limit}");
    }
}

#[test]
fn what_a_firewall_drops_of_a_blast_is_in_its_loss() {
    let blast = "protocol = [\"udp\"], mode = \"blast\", block = [\"1472B\"]";
    let set_up = dropping("input", "udp length > 1000 numgen random mod 100 < 5");
    let Some((_, document)) = on_a_bad_loopback("random loss", &set_up, blast, (3, 300)) else { return };
    let row = &rows(&document)[0];
    assert!(is_verified(row), "{row:#}");
    for sample in list(metric(row, "loss"), "samples") {
        // A receiver that cannot keep up loses more.
        assert!((0.045..1.0).contains(&number(sample, "value")), "{sample:#}");
    }
    for name in ["duplicates", "reordered"] {
        let samples = list(metric(row, name), "samples");
        assert!(samples.iter().all(|sample| number(sample, "value") <= 0.0), "nothing came {name}: {samples:?}");
    }
}

#[test]
fn what_a_firewall_does_not_let_out_is_not_blamed_on_the_other_end() {
    let blast = "protocol = [\"udp\"], mode = \"blast\", block = [\"1000B\"]";
    let set_up = dropping("output", "udp length > 100");
    let found = on_a_bad_loopback("a firewall on the way out", &set_up, blast, (3, 100));
    let Some((_, document)) = found else { return };
    let row = &rows(&document)[0];
    let reason = text(row, "reason");
    assert!(reason.contains("firewall") && !reason.contains("lost the connection"), "{reason}");
    assert_eq!(row["status"], "failed");
}

#[test]
fn a_path_that_swallows_long_packets_is_a_failed_row_in_seconds() {
    let set_up = format!("ip link set lo mtu 1500 && {}", dropping("input", "ip length > 1400"));
    let stream = "protocol = [\"tcp\"], mode = \"stream\", block = [\"128KiB\"]";
    let found = on_a_bad_loopback("a black hole for long packets", &set_up, stream, (3, 100));
    let Some((ran, document)) = found else { return };
    let row = &rows(&document)[0];
    assert_eq!((ran.status, &row["status"]), (Some(1), &Value::from("failed")), "{row:#}");
    let reason = text(row, "reason");
    assert!(reason.contains("seem to vanish on the path") && reason.contains("ICMP"), "{reason}");
    assert!(number(&document["run"], "seconds") < IN_SECONDS, "{reason}");
}
