//! What the tests of the adapters have in common.

use std::path::Path;

use model::experiment::{Area, CpuParams, DiskParams, Experiment, Params, cpu_id};
use model::io::DiskEngine;
use model::isa::{CpuOp, Element, Isa};

use crate::examples::random_reads;
pub(crate) use crate::examples::{chase, disk, linpack, memory, net};
use crate::invocation::Target;
use crate::output::Output;
use crate::tool::ReferenceTool;

/// What a tool printed once, from `recorded/`.
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

/// A run of half a second on the first CPU.
pub(crate) fn target(experiment: &Experiment) -> Target<'_> {
    Target {
        experiment,
        program: Path::new("/opt/tool"),
        launcher: None,
        cpus: &[0],
        other_cpus: &[1],
        seconds: 0.5,
        file: None,
        our_rate: None,
        version: "",
        offered_rate: None,
    }
}

pub(crate) fn cpu(isa: Isa, threads: u32) -> Experiment {
    let params = CpuParams { op: CpuOp::Fma, element: Element::Fp64, isa, threads };
    Experiment {
        id: cpu_id(&params),
        area: Area::Cpu,
        params: Params::Cpu(params),
        method: "cpu-fma/1".to_owned(),
        classic: None,
        kernel: None,
    }
}

/// Random reads of 4 KiB by system calls that wait, this many at a time.
pub(crate) fn disk_params(depth: u32) -> DiskParams {
    random_reads(DiskEngine::Sync, depth).disk().cloned().unwrap()
}
