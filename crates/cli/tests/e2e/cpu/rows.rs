//! Arithmetic: the plan, kernels, scaling, totals done in full.

use serde_json::Value;

use crate::common::{
    Scratch, codes, ids, is_verified, list, listed, measured, median, number, only_run, rows, same, samples, succeed,
    text,
};

#[test]
fn the_plan_has_every_precision_at_every_rung() {
    let ids = listed("cpu --threads doubling");
    for element in ["fp64", "fp32", "int8", "int16", "int32", "int64"] {
        let of = |op: &str| ids.iter().any(|id| id.starts_with(&format!("cpu/{op}/{element}/")));
        assert!(of("plain"), "{element}: {ids:#?}");
        assert!(of("fma") || of("dot") || of("muladd"), "{element}: {ids:#?}");
    }
    assert!(ids.iter().any(|id| id.starts_with("cpu/all_pipes/")) || !ids.iter().any(|id| id.contains("/avx2/")));
    let unique: std::collections::HashSet<_> = ids.iter().collect();
    assert_eq!(unique.len(), ids.len(), "{ids:#?}");
}

#[test]
fn a_set_that_was_named_is_measured_wherever_there_is_a_kernel_for_it() {
    let ids = listed("cpu --isa sse2 --threads 1");
    assert!(ids.iter().all(|id| id.contains("/sse2/")), "{ids:#?}");
    for op in ["fma/fp64", "add/fp32", "dot/int16", "muladd/int64"] {
        assert!(ids.iter().any(|id| id.contains(op)), "{op}: {ids:#?}");
    }
}

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
fn plain_rows_show_the_scalar_peak_and_what_vectors_could_do() {
    let document = measured(&Scratch::new(), "cpu --op plain --type fp64 --threads 1 --repeat 3");
    let metric = &rows(&document)[0]["metrics"][0];
    let kinds: Vec<&str> = list(metric, "peaks").iter().map(|peak| text(peak, "kind")).collect();
    let scalar = kinds.iter().any(|kind| ["sustained", "inferred"].contains(kind));
    assert!(scalar, "{kinds:?}");
    if metric["efficiency"].is_object() {
        assert_ne!(metric["efficiency"]["of"], "platform_maximum");
    }
}

/// A suite of one row with a total of 2 x 10^8 operations.
fn with_total(scratch: &Scratch) -> std::path::PathBuf {
    let path = scratch.join("total.toml");
    let text = "name = \"total\"\n[[cpu]]\nop = \"plain\"\ntype = [\"int32\"]\nisa = [\"scalar\"]\n\
                threads = [\"1\", \"2\"]\ntotal = 2e8\n";
    std::fs::write(&path, text).unwrap();
    path
}

#[test]
fn a_total_is_done_in_full_where_that_is_asked_for() {
    let scratch = Scratch::new();
    let suite = with_total(&scratch);
    let document = measured(&scratch, &format!("run {} --exact-workload", suite.display()));
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
