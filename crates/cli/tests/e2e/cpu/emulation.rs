//! Older processors under qemu-user: the program chooses kernels that they have, and these compute correctly.

use std::io::Write;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::common::{Ran, Scratch, program, ran, skip, text};
use crate::system::process::{allowed_cpu, has, wrapped};

const QEMU: &str = "qemu-x86_64";

struct Model {
    name: &'static str,
    /// Its kernel for FMA (or multiply and add) in FP64.
    fma: &'static str,
    /// Its vector kernel for the dot product of bytes.
    dot: Option<&'static str>,
    /// Kernels of other operations.
    others: &'static [&'static str],
    /// An instruction set that it lacks.
    cannot: &'static str,
}

const MODELS: &[Model] = &[
    Model {
        name: "Haswell",
        fma: "avx2",
        dot: Some("avx2"),
        others: &[
            "dot/int16/avx2",
            "muladd/int8/avx2",
            "muladd/int64/avx2",
            "all_pipes/fp32/avx2",
            "plain/fp64/scalar",
        ],
        cannot: "avx512",
    },
    Model {
        name: "Nehalem",
        fma: "sse2",
        dot: Some("ssse3"),
        others: &["muladd/int32/sse4_1", "plain/int8/scalar"],
        cannot: "avx2",
    },
    Model {
        name: "qemu64",
        fma: "sse2",
        dot: None,
        others: &["dot/int16/sse2", "muladd/int8/sse2", "muladd/int64/sse2", "add/fp32/sse2", "plain/int64/scalar"],
        cannot: "avx2",
    },
];

fn emulator_is_here() -> bool {
    let here = has(QEMU);
    if !here {
        skip("older processors", "qemu-x86_64 is missing (Debian: qemu-user)");
    }
    here
}

fn on(model: &str, scratch: &Scratch, arguments: &str) -> Command {
    let mut command = Command::new(QEMU);
    command.args(["-cpu", model]).arg(program()).args(arguments.split_whitespace());
    wrapped(scratch, command)
}

fn planned(model: &str, arguments: &str) -> String {
    let ran = ran(on(model, &Scratch::new(), &format!("{arguments} --list")));
    assert_eq!(ran.status, Some(0), "{model}: '{arguments}': {ran:?}");
    ran.stdout
}

#[test]
fn the_plan_has_the_widest_kernels_that_the_processor_has() {
    if !emulator_is_here() {
        return;
    }
    for model in MODELS {
        let plan = planned(model.name, "run quick --area cpu");
        assert!(plan.contains(&format!("cpu/fma/fp64/{}/t1\t", model.fma)), "{}: {plan}", model.name);
        assert!(plan.contains("cpu/fma/fp64/scalar/t1\t") && !plan.contains("avx512"), "{}: {plan}", model.name);
        let dots: Vec<&str> = plan.lines().filter(|line| line.starts_with("cpu/dot/")).collect();
        let vector = dots.iter().filter(|line| !line.contains("/scalar/")).collect::<Vec<_>>();
        match model.dot {
            Some(isa) => assert!(vector.iter().all(|line| line.starts_with(&format!("cpu/dot/int8/{isa}/")))),
            None => assert!(vector.is_empty(), "{}: {vector:?}", model.name),
        }
        assert_eq!(vector.is_empty(), model.dot.is_none(), "{}: {plan}", model.name);
        let plan = planned(model.name, "cpu --threads 1");
        for id in model.others.iter().map(|kernel| format!("cpu/{kernel}/t1\t")) {
            assert!(plan.contains(&id), "{}: no '{id}' in {plan}", model.name);
        }
    }
}

#[test]
fn a_run_whose_workers_are_not_emulated_is_refused_with_the_reason() {
    let scratch = Scratch::new();
    if !emulator_is_here() {
        return;
    }
    let mut command = Command::new(QEMU);
    command.args(["-cpu", "Haswell"]).arg(program());
    command.args("cpu --op fma --type fp64 --isa scalar --threads 1 --repeat 1 --json -".split(' '));
    let ran = ran(wrapped(&scratch, command));
    assert_eq!(ran.status, Some(1), "{ran:?}");
    let document: Value = serde_json::from_str(&ran.stdout).unwrap();
    for row in crate::common::rows(&document) {
        let reason = text(row, "reason");
        assert!(reason.contains("the program runs on an emulated processor") && reason.contains("Haswell"), "{reason}");
    }
}

/// The last message of a worker that is started by hand with this experiment.
pub(crate) fn last_word(mut worker: Command, experiment: &Value) -> Value {
    let task = json!({
        "experiment": experiment, "cpus": [allowed_cpu()], "launch": 1, "block": 1, "seed": 5, "samples": 1, "sample_seconds": 0.02,
        "warm_up_seconds": [0.0, 0.0], "run_began": 0.0, "imul_cycles": 3, "parent": std::process::id(),
    });
    let mut worker = worker.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    writeln!(worker.stdin.take().unwrap(), "{task}").unwrap();
    let ran: Ran = worker.wait_with_output().unwrap().into();
    let last = ran.stdout.lines().last().unwrap_or_else(|| panic!("the worker said nothing: {ran:?}"));
    serde_json::from_str(last).unwrap()
}

fn memory(op: &str, isa: &str) -> Value {
    let pattern = if op == "load" { "chase" } else { "sequential" };
    json!({
        "id": format!("memory/{pattern}-{op}/{isa}/t1"), "area": "memory", "method": format!("memory-{op}/1"),
        "classic": null,
        "params": {
            "pattern": pattern, "op": op, "block": null, "working_set": 4 << 20, "pages": "4KiB", "isa": isa, "chains": 1,
            "threads": 1, "level": null, "nodes": null,
        },
    })
}

pub(crate) fn cpu(op: &str, element: &str, isa: &str) -> Value {
    json!({
        "id": format!("cpu/{op}/{element}/{isa}/t1"), "area": "cpu", "method": format!("cpu-{op}/1"), "classic": null,
        "params": {"op": op, "type": element, "isa": isa, "threads": 1},
    })
}

#[test]
fn emulated_kernels_compute_what_they_should() {
    if !emulator_is_here() {
        return;
    }
    for model in MODELS {
        // The interpreter of kernels/tests checks every kernel; here the worker chooses and runs those that are here.
        for experiment in [cpu("fma", "fp64", model.fma), memory("copy_nt", model.fma), memory("load", "scalar")] {
            let last = last_word(on(model.name, &Scratch::new(), "worker"), &experiment);
            assert_eq!(text(&last, "kind"), "done", "{}: {}: {last}", model.name, experiment["id"]);
        }
        let last = last_word(on(model.name, &Scratch::new(), "worker"), &cpu("fma", "fp64", model.cannot));
        assert_eq!(text(&last, "kind"), "unavailable", "{}: {last}", model.name);
        assert!(text(&last, "reason").contains(model.cannot), "{}: {last}", model.name);
    }
}
