//! The STREAM in the HPC Challenge beside our copy, scale, add and triad.
//!
//! The challenge takes the size of its arrays from the order of its HPL: three of them in each process fill what one
//! matrix fills in all. So it is given the order whose matrix is as large as our working set, and what it then printed as
//! the size of its arrays must agree. It runs the loops in every process at once (`StarSTREAM`) and in one alone
//! (`SingleSTREAM`): one thread of ours is compared with the one alone, of a run with one process, and more of them with the
//! rate of all processes at once, of a run with as many.
//!
//! A loop is timed between two barriers of all processes. Of nine passes the best counts, of each pass the time of the
//! process that saw it shortest; the rate of all is that of a process times their number. A GB is 10^9 B, counted as we
//! count.

use model::experiment::{Experiment, MemoryParams};
use model::isa::Element;
use model::linpack::{LinpackEngine, LinpackOp, LinpackParams};
use model::unit::format_size;
use serde_json::json;

use crate::error::ToolError;
use crate::memory::passes::{STREAM_ARRAYS, STREAM_ELEMENT_BYTES, no_loop, not_validated, sequential, stream_loop};
use crate::output::{Output, Reading, details};
use crate::parsing::Text;

/// Working sets beside which it is run: below, its clock of a microsecond is coarse beside a pass over them; beyond, its
/// other benchmarks, over as much memory, take longer than is worth it.
const WORKING_SETS: std::ops::RangeInclusive<u64> = (4 << 20)..=(32 << 20);
/// How far its arrays may be from our working set: the order of a matrix is a whole number.
const OTHER_SIZE: f64 = 0.01;
/// The width of its HPL's panels: that is not what is measured.
const PANEL: u32 = 64;

/// The parameters of a benchmark that it measures, and the name of its loop.
pub(super) fn parameters<'a>(
    tool: &str,
    experiment: &'a Experiment,
) -> Result<(&'a MemoryParams, &'static str), ToolError> {
    let measures = |why: ToolError| ToolError::Unsuitable(format!("{why}; {tool} measures copy, scale, add and triad"));
    let params = sequential(tool, experiment).map_err(measures)?;
    let name = stream_loop(params.op).ok_or_else(|| measures(no_loop(tool, params.op)))?;
    if !WORKING_SETS.contains(&params.working_set) {
        let [least, most] = [WORKING_SETS.start(), WORKING_SETS.end()].map(|bytes| format_size(*bytes));
        let reason = format!("{tool} measures memory from {least} to {most}: its other benchmarks use as much");
        return Err(ToolError::Unsuitable(reason));
    }
    Ok((params, name))
}

/// The system of linear equations that makes its arrays as large as ours.
pub(super) fn system(params: &MemoryParams) -> LinpackParams {
    let elements = params.working_set / 8;
    let floor = elements.isqrt();
    let n = if floor * floor < elements { floor + 1 } else { floor };
    LinpackParams {
        op: LinpackOp::Lu,
        engine: LinpackEngine::Own,
        n,
        nb: Some(PANEL),
        lda: n,
        align: 64,
        threads: params.threads,
        element: Element::Fp64,
        isa: Some(params.isa),
    }
}

/// What its output means for a loop.
pub(super) fn read(
    tool: &'static str,
    output: &Output,
    params: &MemoryParams,
    name: &str,
) -> Result<Reading, ToolError> {
    output.succeeded(tool)?;
    let star = section(tool, &output.stdout, "StarSTREAM")?;
    let single = section(tool, &output.stdout, "SingleSTREAM")?;
    let element_bytes = star.number("This system uses")?;
    let elements = star.number("Array size =")?;
    let processes = Text::new(tool, &output.stdout).number("CommWorldProcs=")?;
    if (processes - f64::from(params.threads)).abs() > 0.0 {
        let reason = format!("{tool} ran {processes} processes and not {}", params.threads);
        return Err(ToolError::OtherSettings(reason));
    }
    let working_set = elements * element_bytes * STREAM_ARRAYS * processes;
    let another_size = (working_set / params.working_set as f64 - 1.0).abs() > OTHER_SIZE;
    if (element_bytes - STREAM_ELEMENT_BYTES).abs() > 0.0 || another_size {
        return Err(ToolError::OtherSettings(format!(
            "{tool} went over {elements} elements of {element_bytes} B in each array, {working_set} B in all, and not \
             over {} B",
            params.working_set
        )));
    }
    let right = [star, single].iter().all(|section| section.text.contains("with error 0\n"));
    if !right || !star.text.contains("Solution Validates") {
        return Err(not_validated(tool));
    }
    let alone = single.number(&format!("Single STREAM {name} GB/s"))? * 1e9;
    let rate =
        if params.threads == 1 { alone } else { star.number(&format!("Average {name} GB/s"))? * 1e9 * processes };
    let mut details = details([
        ("kernel", json!(name)),
        ("elements_per_array", json!(elements)),
        ("working_set", json!(working_set)),
        ("processes", json!(processes)),
        ("passes", json!(star.number("Each test is run")? - 1.0)),
    ]);
    if params.threads > 1 {
        details.insert("one_process_alone".to_owned(), json!(alone));
    }
    Reading::throughput(tool, rate, details)
}

/// What is between the beginning and the end of a part of its results.
fn section<'a>(tool: &'static str, text: &'a str, name: &str) -> Result<Text<'a>, ToolError> {
    let begun = text.split_once(&format!("Begin of {name} section.")).map(|(_, rest)| rest);
    let whole = begun.and_then(|rest| rest.split_once(&format!("End of {name} section.")));
    whole
        .map(|(section, _)| Text::new(tool, section))
        .ok_or_else(|| ToolError::Unreadable(format!("{tool} printed no whole section {name}")))
}
