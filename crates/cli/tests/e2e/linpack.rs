//! LINPACK: systems and products that are solved and checked, refusals, interruptions.

use std::time::Duration;

use serde_json::Value;

use crate::common::{
    Scratch, assay, check, codes, document, is_verified, list, median, metric, number, printed, ran, refusal, refused,
    rows, samples, skip, stored, stored_runs, text, verified,
};
use crate::system::cgroup::Cgroup;
use crate::system::process::{Running, allowed_cpus, signal, wait_for};

#[test]
fn systems_of_every_shape_are_solved_and_checked() {
    let document = verified("linpack --op lu --n 1,300 --threads 1,3 --isa all --verify");
    for row in rows(&document) {
        let n = number(&row["params"], "n");
        assert!(median(row, "throughput") > 0.0 && median(row, "latency") > 0.0, "{row:#}");
        // The operations are counted as HPL counts them.
        let work = number(&samples(row)[0], "work");
        assert!((work / ((2.0 / 3.0 * n + 1.5) * n * n) - 1.0).abs() < 1e-9, "{row:#}");
        assert!((0.0..16.0).contains(&median(row, "residual")) && median(row, "clock") > 0.0, "{row:#}");
        let seen = &row["conditions"]["linpack"];
        assert!(number(seen, "mapped_bytes") >= number(seen, "matrix_bytes"), "{row:#}");
        assert!(number(seen, "fma_clock_hz") > 1e6, "{row:#}");
    }
}

#[test]
fn factors_in_bf16_are_of_the_matrix_of_hpl_mxp_and_those_in_fp16_are_refused() {
    refused("linpack --op lu_mixed --type fp16 --n 100", &["AMX-FP16"]);
    let arguments = "linpack --op lu_mixed --type bf16 --n 1,500 --threads 1,2";
    let ran = assay(&Scratch::new(), &format!("{arguments} --verify --json -"));
    if ran.status == Some(2) {
        assert!(refusal(&ran).contains("lu_mixed of bf16 needs "), "{}", ran.stderr);
        return skip("factors in bf16", "this machine has no AVX512_BF16, and says so");
    }
    let document = printed(&ran);
    check(&document);
    assert_eq!(rows(&document).len(), 4);
    for row in rows(&document) {
        assert!(text(row, "id").ends_with("/bf16") && text(row, "method") == "linpack-lu-mixed-dominant/1", "{row:#}");
        assert_eq!(row["conditions"]["linpack"]["matrix"], "diagonally_dominant", "{row:#}");
        assert!(is_verified(row) && (0.0..16.0).contains(&median(row, "residual")), "{row:#}");
        assert!(number(&row["conditions"]["linpack"], "fma_clock_hz") > 1e6, "{row:#}");
    }
}

#[test]
fn the_largest_order_that_a_control_group_has_room_for_is_solved_in_it() {
    let Some(group) = Cgroup::make("LINPACK in a small control group", "memory") else { return };
    // 64 MiB may be needed in addition to the matrix, and the program itself is in the group.
    group.allow_memory(160 << 20);
    let run =
        |n: u64| ran(group.assay(&Scratch::new(), &format!("linpack --op lu --n {n} --threads 2 --verify --json -")));
    let refused = run(100_000);
    let sentence = refusal(&refused);
    let largest: u64 = sentence.trim().rsplit(' ').next().unwrap().trim_end_matches('.').parse().unwrap();
    assert!((500..4000).contains(&largest), "{sentence}");
    // The program's own memory differs from run to run.
    let ran = run(largest * 19 / 20);
    assert_eq!(ran.status, Some(0), "{largest}: {}", ran.stderr);
    assert!(rows(&printed(&ran)).iter().all(is_verified), "{ran:?}");
}

#[test]
fn the_memory_is_the_matrix_and_little_more_also_with_more_threads_than_cpus() {
    let cpus = allowed_cpus().len();
    let document = verified(&format!("linpack --op lu,lu_mixed --n 500 --threads 1,{} --verify", cpus + 1));
    for row in rows(&document) {
        let seen = &row["conditions"]["linpack"];
        let (mapped, matrix) = (number(seen, "mapped_bytes"), number(seen, "matrix_bytes"));
        assert!(mapped - matrix <= f64::max(0.05 * matrix, 64.0 * 1024.0 * 1024.0), "{seen:#}");
        let is_over = number(&row["params"], "threads") > cpus as f64;
        assert_eq!(codes(row).contains(&"oversubscribed"), is_over, "{row:#}");
    }
}

#[test]
fn the_same_seed_is_the_same_system() {
    let residuals = |seed: u32| {
        let document = verified(&format!("linpack --op lu --n 200 --threads 2 --repeat 2 --seed {seed}"));
        let of = |row: &Value| {
            let samples = list(metric(row, "residual_raw"), "samples");
            samples.iter().map(|sample| number(sample, "value").to_bits()).collect::<Vec<_>>()
        };
        rows(&document).iter().map(of).collect::<Vec<_>>()
    };
    let first = residuals(1);
    assert_eq!(first, residuals(1), "to the last bit");
    assert_ne!(first, residuals(2));
}

#[test]
fn faer_solves_where_it_is_in_the_program_and_is_refused_with_how_to_get_it_elsewhere() {
    if cfg!(feature = "faer") {
        let document = verified("linpack --engine faer --op lu,gemm --n 1,150 --threads 1,2 --verify");
        assert_eq!(rows(&document).len(), 8);
        for row in rows(&document) {
            assert!(text(row, "id").contains("/faer/"), "{row:#}");
            assert!(text(&row["conditions"]["linpack"], "kernel").starts_with("faer "), "{row:#}");
        }
        return;
    }
    refused("linpack --engine faer --n 100", &["cargo build --release --features faer"]);
}

#[test]
fn what_cannot_be_is_refused_with_what_can() {
    refused("linpack --n 0", &["'0'", "auto"]);
    refused("linpack --n 1000000", &["N = 1000000", "the largest N that fits is"]);
    refused("linpack --align 48", &["'48'", "power of two"]);
    refused("linpack --op qr", &["qr", "lu"]);
    refused("linpack --op lu --type int8", &["no lu of int8", "fp64"]);
    refused("linpack --engine cray", &["cray", "own"]);
}

#[test]
fn an_interrupt_ends_a_long_solution_and_keeps_what_was_finished() {
    let scratch = Scratch::new();
    // With this seed the small system is first; the large one takes minutes.
    let arguments = "linpack --op lu --n 64,12000 --threads 1 --repeat 1 --isa scalar --seed 1 --quiet";
    let run = Running::assay(&scratch, arguments);
    let finished = wait_for(Duration::from_secs(120), || {
        let folder = stored_runs(&scratch).into_iter().find(|run| run.join("run.json").is_file())?;
        rows(&document(&folder)).iter().any(|row| row["status"] == "ok").then_some(())
    });
    assert!(finished.is_some(), "nothing was measured");
    signal(run.id(), "INT");
    let status = run.end().status;
    let stored = stored(&scratch);
    let (ok, not): (Vec<&Value>, Vec<&Value>) = rows(&stored).iter().partition(|row| row["status"] == "ok");
    assert_eq!((status, stored["run"]["complete"].as_bool()), (Some(130), Some(false)), "{stored:#}");
    assert!(ok.len() == 1 && text(ok[0], "id") == "linpack/lu/n64/scalar/t1" && not.len() == 1, "{stored:#}");
}
