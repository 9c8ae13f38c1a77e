//! Sampling: sessions, repeated process runs, waiting for a quiet machine.

use crate::common::{Ran, Scratch, codes, is_verified, list, number, rows, samples, skip, stored, succeed, suite};
use crate::system::process::{Running, allowed_cpus, has, spinning};

fn run(scratch: &Scratch, sessions: u32, more: &str) -> Ran {
    let text = format!(
        "name = \"short\"\nsessions = {sessions}\npause = \"100ms\"\nrepeat_share = 1.0\n\
         sampling.cpu = {{ samples = 6, per_launch = 1, sample = \"60ms\", warm_up = [\"10ms\", \"50ms\"] }}\n\
         cpu = [{{ op = \"fma\", type = [\"fp64\"], isa = [\"scalar\"], threads = [\"1\"] }}]\n"
    );
    succeed(scratch, &format!("{} --details {more}", suite(scratch, &text)))
}

#[test]
fn samples_are_spread_over_sessions() {
    let scratch = Scratch::new();
    let ran = run(&scratch, 3, "");
    let document = stored(&scratch);
    assert_eq!(document["run"]["sessions"], 3);
    let row = &rows(&document)[0];
    let sessions: Vec<u64> = samples(row).iter().map(|sample| sample["session"].as_u64().unwrap()).collect();
    assert!(sessions.is_sorted() && [1, 2, 3].iter().all(|session| sessions.contains(session)), "{sessions:?}");
    let start = |session: u64| {
        let of = |sample: &&serde_json::Value| sample["session"] == session;
        samples(row).iter().filter(of).map(|sample| number(sample, "start")).fold(f64::INFINITY, f64::min)
    };
    assert!(start(2) - start(1) >= 0.1 && start(3) - start(2) >= 0.1, "a pause lies in between");
    assert!(ran.stdout.contains("in 3 sessions"), "{}", ran.stdout);
}

#[test]
fn a_disturbed_process_run_is_repeated_and_both_are_kept_and_marked() {
    if !has("taskset") {
        return skip("a repeated process run", "taskset is missing");
    }
    let scratch = Scratch::new();
    // Other processes on every CPU: wherever the row is pinned, it gets half of it.
    let others: Vec<Running> = allowed_cpus().into_iter().map(spinning).collect();
    let ran = run(&scratch, 1, "");
    drop(others);
    let document = stored(&scratch);
    let row = &rows(&document)[0];
    let marked =
        |mark: &str| samples(row).iter().filter(|sample| list(sample, "flags").iter().any(|flag| flag == mark)).count();
    let conditions = &row["conditions"];
    assert!(marked("disturbed") >= 3, "{row:#}");
    assert!((1..=6).contains(&marked("repeat")), "as many again as planned at most: {row:#}");
    assert_eq!(samples(row).len(), 6 + marked("repeat"), "none is left out");
    assert_eq!(conditions["repeated_launches"], marked("repeat"), "{conditions:#}");
    assert_eq!(conditions["disturbed_launches"], marked("disturbed"), "{conditions:#}");
    assert!(codes(row).contains(&"cpu_shared") && row["confidence"] == "low", "{:#}", row["warnings"]);
    assert!((0.1..=0.8).contains(&number(conditions, "cpu_share")), "{conditions:#}");
    assert!(number(conditions, "lost_share") > 0.15, "{conditions:#}");
    assert!(ran.stdout.contains("repeated."), "{}", ran.stdout);
}

#[test]
fn a_busy_machine_is_waited_for_and_then_measured_all_the_same() {
    let scratch = Scratch::new();
    if !has("taskset") {
        return skip("a busy machine", "taskset is missing");
    }
    let others: Vec<Running> = allowed_cpus().into_iter().map(spinning).collect();
    let ran = run(&scratch, 1, "--wait-quiet 1s --repeat 2");
    drop(others);
    assert!(ran.stderr.contains("did not become quiet"), "{}", ran.stderr);
    let document = stored(&scratch);
    assert!(number(&document["conditions"], "waited_seconds") >= 1.0, "{:#}", document["conditions"]);
    let row = &rows(&document)[0];
    assert!(is_verified(row) && samples(row).len() == 2, "exactly as --repeat says: {row:#}");
}
