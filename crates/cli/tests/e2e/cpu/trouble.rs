//! Trouble of the cpu area: instruction sets that are missing on this machine or one of its CPUs, fewer CPUs than threads,
//! CPUs that go offline between the plan and a process run.

use serde_json::Value;

use crate::common::{
    Scratch, assay, check, codes, command, document, ids, is_verified, list, measured, only_row, printed, ran, refusal,
    rows, samples, skip, suite, text,
};
use crate::cpu::emulation::{cpu, last_word};
use crate::interference::disturbances::SwitchedOff;
use crate::system::process::{Running, allowed_cpu, allowed_cpus, has, samples_in_journal, through_shell};

/// Kernels of instruction sets that few machines have: operation, element type, instruction set.
#[cfg(target_arch = "aarch64")]
const RARE: &[[&str; 3]] = &[
    ["fma", "fp16", "neon_fp16"],
    ["dot", "int8", "neon_dotprod"],
    ["dot", "bf16", "neon_bf16"],
    ["matrix", "int8", "neon_i8mm"],
];
#[cfg(not(target_arch = "aarch64"))]
const RARE: &[[&str; 3]] = &[
    ["matrix", "int8", "amx"],
    ["dot", "int8", "avx_vnni_int8"],
    ["fma", "fp16", "avx512_fp16"],
    ["dot", "bf16", "avx512_bf16"],
    ["fma", "fp64", "avx512"],
];

/// One of another architecture, which a suite may name.
const FOREIGN: [&str; 3] =
    if cfg!(target_arch = "aarch64") { ["matrix", "int8", "amx"] } else { ["fma", "fp16", "neon_fp16"] };

/// What can disable an instruction set.
const CULPRITS: [&str; 3] = ["CPU", "operating system", "hypervisor"];

fn missing(what: &str) -> Vec<[&'static str; 3]> {
    let scratch = Scratch::new();
    // A capture measures no clocks.
    let info = printed(&assay(&scratch, &format!("info --json --capture {}", scratch.join("machine").display())));
    let has = list(&info["machine"]["cpu"], "isa");
    let missing: Vec<_> = RARE.iter().copied().filter(|[.., isa]| !has.contains(&Value::from(*isa))).collect();
    if missing.is_empty() {
        skip(what, "this machine has every instruction set that a kernel is for");
    }
    missing
}

/// Asserts that a sentence names the missing instruction set and the cause.
#[track_caller]
fn assert_explains(sentence: &str, isa: &str) {
    assert!(sentence.to_lowercase().contains(isa), "{isa}: {sentence}");
    assert!(CULPRITS.iter().any(|culprit| sentence.contains(culprit)), "{isa}: {sentence}");
}

#[test]
fn an_instruction_set_that_this_machine_lacks_is_refused_where_it_is_asked_for_by_name() {
    for [op, element, isa] in missing("an instruction set by name that is missing") {
        let scratch = Scratch::new();
        let ran = assay(&scratch, &format!("cpu --op {op} --type {element} --isa {isa} --threads 1"));
        assert_explains(refusal(&ran), isa);
        assert!(!scratch.join("store/runs").exists(), "nothing is measured");
    }
}

#[test]
fn an_instruction_set_that_this_machine_lacks_is_a_skipped_row_of_a_suite() {
    let scratch = Scratch::new();
    let mut missing = missing("an instruction set of a suite that is missing");
    missing.push(FOREIGN);
    let stanza = |[op, element, isa]: &[&str; 3]| {
        format!("[[cpu]]\nop = \"{op}\"\ntype = [\"{element}\"]\nisa = [\"{isa}\"]\nthreads = [\"1\"]\n")
    };
    let stanzas: String = missing.iter().chain(&[["fma", "fp64", "scalar"]]).map(stanza).collect();
    let rare = suite(&scratch, &format!("name = \"rare\"\n{stanzas}"));
    let document = measured(&scratch, &format!("{rare} --repeat 1"));
    assert_eq!(rows(&document).len(), missing.len() + 1, "{:?}", ids(&document));
    let row = |id: &str| rows(&document).iter().find(|row| row["id"] == id).unwrap_or_else(|| panic!("no '{id}'"));
    for [op, element, isa] in missing {
        let row = row(&format!("cpu/{op}/{element}/{isa}/t1"));
        assert_eq!(row["status"], "skipped", "{row:#}");
        assert_explains(text(row, "reason"), isa);
        assert!(samples(row).is_empty(), "{row:#}");
    }
    assert!(is_verified(row("cpu/fma/fp64/scalar/t1")), "the others are measured");
}

/// As on a machine whose CPUs differ.
#[test]
fn a_worker_on_a_cpu_without_the_instruction_set_says_that_it_is_unavailable() {
    for [op, element, isa] in missing("a worker on a CPU without the instruction set") {
        let last = last_word(command(&Scratch::new(), ["worker"]), &cpu(op, element, isa));
        assert_eq!(text(&last, "kind"), "unavailable", "{last}");
        assert_explains(text(&last, "reason"), isa);
    }
}

#[test]
fn more_threads_than_the_affinity_allows_are_measured_and_said_to_share_cpus() {
    if !has("taskset") {
        return skip("an affinity to fewer CPUs than threads", "taskset is missing");
    }
    let arguments = "cpu --op fma --type fp64 --isa vector --threads 2 --repeat 3 --json -";
    let line = format!("exec taskset -c {} \"$@\"", allowed_cpu());
    let row = only_row(&ran(through_shell(&Scratch::new(), &line, arguments)));
    assert!(is_verified(&row) && row["params"]["threads"] == 2, "{row:#}");
    assert!(codes(&row).contains(&"oversubscribed"), "{:#}", row["warnings"]);
    assert_ne!(text(&row, "confidence"), "high", "{row:#}");
}

/// A row on every CPU, with enough process runs to switch a CPU off meanwhile.
fn on_every_cpu(scratch: &Scratch, cpus: usize) -> String {
    let text = format!(
        "name = \"every-cpu\"\nsampling.cpu = {{ samples = 100, per_launch = 1, sample = \"100ms\", target = 0.000001 }}\n\
         cpu = [{{ op = \"fma\", type = [\"fp64\"], isa = [\"vector\"], threads = [\"{cpus}\"] }}]\n"
    );
    suite(scratch, &text)
}

#[test]
fn a_cpu_that_is_switched_off_before_a_launch_is_a_failed_row_that_names_it() {
    let what = "a CPU that is switched off between plan and process run";
    let cpus = allowed_cpus();
    let Some(last) = cpus.last().filter(|_| cpus.len() > 1) else { return skip(what, "there is one CPU") };
    let scratch = Scratch::new();
    let run = Running::assay(&scratch, &on_every_cpu(&scratch, cpus.len()));
    let folder = samples_in_journal(&scratch, 1);
    let Some(off) = SwitchedOff::take(*last) else {
        return skip(what, "it needs the superuser, and a kernel and a machine that can (cpuN/online in /sys)");
    };
    let ran = run.end();
    drop(off);
    assert_eq!(ran.status, Some(1), "{ran:?}");
    let document = document(&folder);
    check(&document);
    let row = &rows(&document)[0];
    assert_eq!(row["status"], "failed", "{row:#}");
    for part in [format!("CPU {last}:"), "switched off".to_owned(), "start the run again".to_owned()] {
        assert!(text(row, "reason").contains(&part), "no '{part}': {}", text(row, "reason"));
    }
    assert!(ran.stderr.contains("switched off"), "the progress says why: {ran:?}");
}
