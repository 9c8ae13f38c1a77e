//! Helpers for the tests of the adapters.

use std::path::Path;

use model::experiment::{CpuParams, DiskParams, Experiment, MemoryParams, NetParams, Params, cpu_id};
use model::io::DiskEngine;
use model::isa::{CpuOp, Element, Isa};
use model::linpack::LinpackParams;

use crate::examples::random_reads;
pub(crate) use crate::examples::{chase, disk, linpack, memory, net};
use crate::invocation::Target;
use crate::output::Output;
use crate::tool::ReferenceTool;

pub(crate) fn recorded(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("recorded").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

pub(crate) fn said(stdout: &str) -> Output {
    Output { stdout: stdout.to_owned(), stderr: String::new(), status: Some(0) }
}

pub(crate) fn failed(status: i32, stderr: &str) -> Output {
    Output { stdout: String::new(), stderr: stderr.to_owned(), status: Some(status) }
}

pub(crate) fn tool(id: &str) -> &'static dyn ReferenceTool {
    crate::find(id).unwrap()
}

pub(crate) fn target(experiment: &Experiment) -> Target<'_> {
    Target { cpus: &[0], other_cpus: &[1], ..Target::new(experiment, Path::new("/opt/tool"), 0.5) }
}

pub(crate) fn cpu(isa: Isa, threads: u32) -> Experiment {
    let params = CpuParams { op: CpuOp::Fma, element: Element::Fp64, isa, threads };
    Experiment::new(cpu_id(&params), params, "cpu-fma/1")
}

pub(crate) fn disk_params(depth: u32) -> DiskParams {
    random_reads(DiskEngine::Sync, depth).disk().cloned().unwrap()
}

/// Asserts that none of these outputs has a value, each with words of the error.
pub(crate) fn assert_refused<const N: usize>(
    tool: &dyn ReferenceTool,
    experiment: &Experiment,
    cases: [(String, &str); N],
) {
    for (text, why) in cases {
        let reason = tool.parse(&said(&text), experiment).unwrap_err();
        assert!(reason.contains(why), "{why}: {reason}");
    }
}

pub(crate) fn with_memory(mut experiment: Experiment, change: impl FnOnce(&mut MemoryParams)) -> Experiment {
    let Params::Memory(params) = &mut experiment.params else { panic!("{experiment:?}") };
    change(params);
    experiment
}

pub(crate) fn with_linpack(mut experiment: Experiment, change: impl FnOnce(&mut LinpackParams)) -> Experiment {
    let Params::Linpack(params) = &mut experiment.params else { panic!("{experiment:?}") };
    change(params);
    experiment
}

pub(crate) fn with_net(mut experiment: Experiment, change: impl FnOnce(&mut NetParams)) -> Experiment {
    let Params::Net(params) = &mut experiment.params else { panic!("{experiment:?}") };
    change(params);
    experiment
}
