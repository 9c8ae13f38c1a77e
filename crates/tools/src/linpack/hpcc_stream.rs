//! The STREAM in the HPC Challenge beside our copy, scale, add and triad.
//!
//! The challenge takes the size of its arrays from the order of its HPL: three of them in each process fill what one
//! matrix fills in all. So it is given the order whose matrix is as large as our working set, and what it then printed as
//! the size of its arrays must agree. It runs the loops in every process at once (`StarSTREAM`) and in one alone
//! (`SingleSTREAM`): beside one thread of ours stands the one alone, of a run with one process, and beside more of them
//! the rate of all processes at once, of a run with as many.
//!
//! A loop is timed between two barriers of all processes. Of nine passes the best counts, of each pass the time of the
//! process that saw it shortest; the rate of all is that of a process times their number. A GB is 10^9 B, counted as we
//! count.

use model::experiment::{Experiment, MemoryParams};
use model::isa::{Element, MemoryOp};
use model::linpack::{LinpackEngine, LinpackOp, LinpackParams};
use model::sample::MetricName;
use model::unit::format_size;
use serde_json::{Map, json};

use super::memory::{no_loop, stream};
use super::{Output, Reading, positive, succeeded};

/// Arrays that it has, of which copy and scale use two at a time.
const ARRAYS: f64 = 3.0;
/// Bytes of an element.
const ELEMENT_BYTES: f64 = 8.0;
/// Working sets beside which it is run: below, its clock of a microsecond is coarse beside a pass over them; beyond, its
/// other benchmarks, over as much memory, take longer than is worth it.
const WORKING_SETS: std::ops::RangeInclusive<u64> = (4 << 20)..=(32 << 20);
/// How far its arrays may be from our working set: the order of a matrix is a whole number.
const OTHER_SIZE: f64 = 0.01;
/// The width of its HPL's panels: that is not what is measured.
const PANEL: u32 = 64;

/// The parameters of an experiment that it measures, and the name of its loop.
///
/// # Errors
/// One sentence.
pub(super) fn parameters<'a>(
    tool: &str,
    experiment: &'a Experiment,
) -> Result<(&'a MemoryParams, &'static str), String> {
    let params =
        stream(tool, experiment).map_err(|why| format!("{why}; {tool} measures copy, scale, add and triad"))?;
    let name = match params.op {
        MemoryOp::Copy => "Copy",
        MemoryOp::Scale => "Scale",
        MemoryOp::Add => "Add",
        MemoryOp::Triad => "Triad",
        op => return Err(format!("{}: it measures copy, scale, add and triad", no_loop(tool, op))),
    };
    if !WORKING_SETS.contains(&params.working_set) {
        let [least, most] = [WORKING_SETS.start(), WORKING_SETS.end()].map(|bytes| format_size(*bytes));
        return Err(format!("{tool} measures memory from {least} to {most}: its other benchmarks use as much"));
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

/// What it says of a loop.
///
/// # Errors
/// One sentence.
pub(super) fn read(tool: &str, output: &Output, params: &MemoryParams, name: &str) -> Result<Reading, String> {
    succeeded(tool, output)?;
    let star = section(tool, &output.stdout, "StarSTREAM")?;
    let single = section(tool, &output.stdout, "SingleSTREAM")?;
    let bytes_of_element = number(tool, star, "This system uses ")?;
    let elements = number(tool, star, "Array size = ")?;
    let processes = number(tool, &output.stdout, "CommWorldProcs=")?;
    if (processes - f64::from(params.threads)).abs() > 0.0 {
        return Err(format!("{tool} ran {processes} processes and not {}", params.threads));
    }
    let working_set = elements * bytes_of_element * ARRAYS * processes;
    if (bytes_of_element - ELEMENT_BYTES).abs() > 0.0
        || (working_set / params.working_set as f64 - 1.0).abs() > OTHER_SIZE
    {
        return Err(format!(
            "{tool} went over {elements} elements of {bytes_of_element} B in each array, {working_set} B in all, and not \
             over {} B",
            params.working_set
        ));
    }
    if !star.contains("Solution Validates") || [star, single].iter().any(|text| !text.contains("with error 0\n")) {
        return Err(format!("{tool} does not say that its results are right"));
    }
    let alone = params.threads == 1;
    let (text, words) =
        if alone { (single, format!("Single STREAM {name} GB/s ")) } else { (star, format!("Average {name} GB/s ")) };
    let value = positive(tool, "rate", number(tool, text, &words)? * 1e9 * processes)?;
    let mut details = Map::new();
    details.insert("kernel".into(), json!(name));
    details.insert("elements_per_array".into(), json!(elements));
    details.insert("working_set".into(), json!(working_set));
    details.insert("processes".into(), json!(processes));
    details.insert("passes".into(), json!(number(tool, star, "Each test is run ")? - 1.0));
    if !alone {
        let single = number(tool, single, &format!("Single STREAM {name} GB/s "))?;
        details.insert("one_process_alone".into(), json!(single * 1e9));
    }
    Ok(Reading { metric: MetricName::Throughput, value, bytes_factor: 1.0, details })
}

/// What stands between the beginning and the end of a part of its results.
fn section<'a>(tool: &str, text: &'a str, name: &str) -> Result<&'a str, String> {
    let begun = text.split_once(&format!("Begin of {name} section.")).map(|(_, rest)| rest);
    let whole = begun.and_then(|rest| rest.split_once(&format!("End of {name} section.")));
    whole.map(|(section, _)| section).ok_or_else(|| format!("{tool} printed no whole section {name}"))
}

/// The number behind words at the beginning of a line.
fn number(tool: &str, text: &str, words: &str) -> Result<f64, String> {
    let line = text.lines().find_map(|line| line.strip_prefix(words));
    let word = line.and_then(|rest| rest.split([' ', ',']).next());
    word.and_then(|word| word.trim().parse().ok())
        .filter(|number: &f64| number.is_finite())
        .ok_or_else(|| format!("{tool} printed no number behind '{}'", words.trim_end()))
}
