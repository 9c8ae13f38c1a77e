//! Arithmetic: kernels, scaling, totals done in full, the classic table.

use serde_json::Value;

use crate::common::{
    Scratch, codes, ids, is_verified, list, measured, median, number, only_run, rows, same, samples, succeed, suite,
    text,
};

#[test]
fn low_precisions_on_any_number_of_threads() {
    let document = measured(&Scratch::new(), "cpu --type int8,bf16 --op dot,matrix --threads 1,2,4 --repeat 1");
    let dots = || rows(&document).iter().filter(|row| text(row, "id").starts_with("cpu/dot/int8/"));
    for row in dots() {
        assert!(is_verified(row) && text(&row["kernel"], "accumulator").starts_with("s32 <- "), "{row:#}");
        assert!(number(&row["kernel"], "operations") > 0.0 && !list(&row["kernel"], "instructions").is_empty());
    }
    // Scaling is relative to the fewest threads; more threads than CPUs are labelled.
    let cpus = crate::system::process::allowed_cpus().len();
    for row in dots() {
        let threads = row["params"]["threads"].as_u64().unwrap();
        assert_eq!(row["scaling"].is_null(), threads == 1, "{row:#}");
        assert_eq!(codes(row).contains(&"oversubscribed"), threads > cpus as u64, "{row:#}");
        if let Some(scaling) = row["scaling"].as_object() {
            let first = rows(&document).iter().find(|one| one["id"] == scaling["from"]).unwrap();
            let speed_up = median(row, "throughput") / median(first, "throughput");
            same(scaling["speed_up"].as_f64().unwrap(), speed_up);
            same(scaling["parallel_efficiency"].as_f64().unwrap(), speed_up / threads as f64);
        }
    }
}

#[test]
fn a_total_is_done_in_full_where_that_is_asked_for() {
    let scratch = Scratch::new();
    let text = "name = \"total\"\n\
                cpu = [{ op = \"plain\", type = [\"int32\"], isa = [\"scalar\"], threads = [\"1\", \"2\"], total = 2e8 }]\n";
    let document = measured(&scratch, &format!("{} --exact-workload", suite(&scratch, text)));
    for row in rows(&document) {
        assert!(is_verified(row), "{row:#}");
        assert_eq!((samples(row).len(), number(&row["classic"], "total")), (3, 2e8), "{row:#}");
        for sample in samples(row) {
            let work = number(sample, "work");
            assert!((2e8..2.02e8).contains(&work), "{sample:#}");
            same(number(sample, "value"), work / number(sample, "seconds"));
            same(list(sample, "per_thread").iter().map(|part| number(part, "work")).sum(), work);
        }
    }
}

#[test]
fn the_classic_table_has_every_workload_plain_and_vector() {
    let scratch = Scratch::new();
    let document = measured(&scratch, "run classic --area cpu --threads 1 --repeat 1");
    for workload in ["QP", "HP", "SP", "DP"] {
        for class in ["plain", "vector"] {
            let is_it = |row: &&Value| row["classic"]["workload"] == workload && row["classic"]["class"] == class;
            let row = rows(&document).iter().find(is_it).unwrap_or_else(|| panic!("{workload} {class}"));
            assert_eq!(row["classic"]["total"].as_f64(), Some(1e12));
        }
    }
    assert!(succeed(&scratch, "runs").stdout.contains("classic"));
    assert!(ids(&document).len() >= 10, "{:?}", ids(&document));
    let shown = succeed(&scratch, &format!("report {} --format text", only_run(&scratch).display()));
    assert!(shown.stdout.contains("The classic CPU table"), "{}", shown.stdout);
    assert!(["QP", "HP", "SP", "DP"].iter().all(|label| shown.stdout.contains(label)), "{}", shown.stdout);
}
