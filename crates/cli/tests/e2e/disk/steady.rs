//! Disks that are written until they are steady. Whether one becomes steady is not asserted, only what the document says.

use serde_json::Value;

use crate::common::{Scratch, codes, is_verified, listed, number, rows, same, samples, suite, text};
use crate::disk::support::directory;

/// Few and short rounds on a small file, and a read after them.
const TINY: &str = r#"
name = "tiny"
sampling.disk = { samples = 6, per_launch = 6, sample = "50ms", warm_up = ["20ms", "40ms"], target = 0.05 }
disk = [
    { pattern = "random", op = ["read"], block = ["4KiB"], depth = [4], size = "64MiB", threads = ["1"] },
    { pattern = "random", op = ["write"], block = ["4KiB"], depth = [4], size = "64MiB", threads = ["1"], steady = { rounds = 6, round = "100ms" } },
]
"#;

const WRITES: &str = "disk/random-write/4KiB/d4/steady/t1";

/// The rows of a run of the suite; `None` without a disk.
fn measured(options: &str) -> Option<Vec<Value>> {
    let scratch = Scratch::new();
    let directory = directory(&scratch, "writes until a disk is steady")?;
    let arguments = format!("{} {options} --dir {}", suite(&scratch, TINY), directory.display());
    Some(rows(&crate::common::measured(&scratch, &arguments)).to_vec())
}

fn of<'a>(rows: &'a [Value], id: &str) -> &'a Value {
    rows.iter().find(|row| text(row, "id") == id).unwrap()
}

#[test]
fn rounds_are_samples_of_one_launch_before_all_others_until_the_drive_is_steady() {
    let Some(rows) = measured("") else { return };
    let row = of(&rows, WRITES);
    assert!(is_verified(row), "{row:#}");
    assert_eq!(row["method"], "disk-steady/3");
    let rounds = samples(row);
    assert!((5..=6).contains(&rounds.len()), "{row:#}");
    assert!(rounds.iter().all(|round| round["launch"] == 1), "one process run, the first: {row:#}");
    assert_eq!(row["conditions"]["launches"], 1);
    let (seen, reason) = (&row["conditions"]["disk"], text(&row["conditions"], "stop_reason"));
    let marked = |round: &&Value| round["flags"].as_array().unwrap().iter().any(|flag| flag == "before_steady");
    let before = rounds.iter().filter(marked).count();
    assert!(number(seen, "steady_drift") >= 0.0 && number(seen, "steady_range") >= 0.0);
    if text(&row["conditions"], "stop") == "steady" {
        assert!(reason.starts_with(&format!("steady after {} rounds: the last five range", rounds.len())), "{reason}");
        assert_eq!((seen["steady_rounds"].as_u64(), before), (Some(rounds.len() as u64), rounds.len() - 5));
        let mean = rounds[before..].iter().map(|round| number(round, "value")).sum::<f64>() / 5.0;
        same(number(seen, "steady_iops"), mean);
        assert!(number(seen, "steady_range") <= 0.2 && number(seen, "steady_drift") <= 0.1, "{seen:#}");
    } else {
        assert_eq!(text(&row["conditions"], "stop"), "not_steady");
        assert!(reason.starts_with("6 rounds without a steady state: the last five range"), "{reason}");
        assert!(seen["steady_rounds"].is_null() && seen["steady_iops"].is_null() && before == 0, "{seen:#}");
        assert!(codes(row).contains(&"no_steady_state") && row["confidence"] == "low", "{row:#}");
    }
    assert!(is_verified(of(&rows, "disk/random-read/4KiB/d4/t1")));
}

#[test]
fn a_number_of_rounds_that_is_asked_for_is_exact_and_a_check_is_one() {
    let Some(rows) = measured("--repeat 7") else { return };
    let row = of(&rows, WRITES);
    assert!(samples(row).len() == 7 && row["conditions"]["launches"] == 1, "{row:#}");
    assert_eq!(text(&row["conditions"], "stop"), "planned");
    let Some(rows) = measured("--verify") else { return };
    assert!(is_verified(of(&rows, WRITES)) && samples(of(&rows, WRITES)).len() == 1);
}

#[test]
fn rounds_end_where_the_budget_of_writes_does() {
    // The file, the file once more, and the rest for rounds is written in the first of them.
    let Some(rows) = measured("--write-budget 134283264") else { return };
    let row = of(&rows, WRITES);
    assert!(is_verified(row) && samples(row).len() == 1, "{row:#}");
    assert_eq!(row["conditions"]["disk"]["laid_out_bytes"], 2 << 26);
    assert_eq!(text(&row["conditions"], "stop_reason"), "write_budget");
    assert!(is_verified(of(&rows, "disk/random-read/4KiB/d4/t1")), "reads write nothing");
    let Some(rows) = measured("--write-budget 134217728") else { return };
    assert_eq!((text(of(&rows, WRITES), "status"), text(of(&rows, WRITES), "reason")), ("skipped", "write_budget"));
}

#[test]
fn the_suite_is_listed_with_all_its_rounds_and_part_of_no_other() {
    let kinds = ["random-write/4KiB/d32/steady", "random-read/4KiB/d32", "random-mixed/4KiB/d32"];
    assert!(listed("run steady").into_iter().eq(kinds.map(|kind| format!("disk/{kind}/t1"))));
    assert!(listed("run quick").iter().all(|id| !id.contains("steady")));
}
