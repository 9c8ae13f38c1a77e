//! The STREAM in HPC Challenge compared with our copy, scale, add and triad.
//!
//! It sizes its arrays by the order of its HPL: three arrays in each process fill what one matrix fills in all. So it gets the
//! order whose matrix is as large as our working set. `SingleSTREAM`, one process alone, is compared with one thread of
//! ours; `StarSTREAM`, all processes at once, with several.
//! A pass is timed between two barriers; the best of nine counts, by the process with the shortest time. The total is that
//! rate times the processes. A GB is 10^9 B.

use model::experiment::{Experiment, MemoryParams};
use model::isa::Element;
use model::linpack::{LinpackEngine, LinpackOp, LinpackParams};
use model::unit::format_size;
use serde_json::json;

use crate::memory::{STREAM_ARRAYS, STREAM_ELEMENT_BYTES, no_loop, not_validated, sequential, stream_loop};
use crate::output::{Output, Reading, Text, details};

/// Working sets compared: below, its clock of 1 us is too coarse; beyond, its other benchmarks take too long.
const WORKING_SETS: std::ops::RangeInclusive<u64> = (4 << 20)..=(32 << 20);
/// How far its arrays may differ from our working set, because the order is a whole number.
const OTHER_SIZE: f64 = 0.01;
/// Panel width of its HPL, which is not compared here.
const PANEL: u32 = 64;

pub(super) fn parameters<'a>(
    tool: &str,
    experiment: &'a Experiment,
) -> Result<(&'a MemoryParams, &'static str), String> {
    let measures = |why: String| format!("{why}; {tool} measures copy, scale, add and triad");
    let params = sequential(tool, experiment).map_err(measures)?;
    let name = stream_loop(params.op).ok_or_else(|| measures(no_loop(tool, params.op)))?;
    if !WORKING_SETS.contains(&params.working_set) {
        let [least, most] = [WORKING_SETS.start(), WORKING_SETS.end()].map(|bytes| format_size(*bytes));
        return Err(format!(
            "{tool} measures memory from {least} to {most}, because its other benchmarks use the same size"
        ));
    }
    Ok((params, name))
}

/// The system whose matrix makes its arrays as large as ours.
pub(super) fn system(params: &MemoryParams) -> LinpackParams {
    let n = (params.working_set / 8).saturating_sub(1).isqrt() + 1;
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

pub(super) fn read(tool: &'static str, output: &Output, params: &MemoryParams, name: &str) -> Result<Reading, String> {
    output.succeeded(tool)?;
    let star = section(tool, &output.stdout, "StarSTREAM")?;
    let single = section(tool, &output.stdout, "SingleSTREAM")?;
    let element_bytes = star.number("This system uses")?;
    let elements = star.number("Array size =")?;
    Text::new(tool, &output.stdout).ran_with("CommWorldProcs=", params.threads)?;
    let processes = f64::from(params.threads);
    let working_set = elements * element_bytes * STREAM_ARRAYS * processes;
    let another_size = (working_set / params.working_set as f64 - 1.0).abs() > OTHER_SIZE;
    if (element_bytes - STREAM_ELEMENT_BYTES).abs() > 0.0 || another_size {
        return Err(format!(
            "{tool} went over {elements} elements of {element_bytes} B in each array, {working_set} B in all, and not \
             over {} B",
            params.working_set
        ));
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

fn section<'a>(tool: &'static str, text: &'a str, name: &str) -> Result<Text<'a>, String> {
    let begun = text.split_once(&format!("Begin of {name} section.")).map(|(_, rest)| rest);
    let whole = begun.and_then(|rest| rest.split_once(&format!("End of {name} section.")));
    let (section, _) = whole.ok_or_else(|| format!("{tool} printed no complete section {name}"))?;
    Ok(Text::new(tool, section))
}
