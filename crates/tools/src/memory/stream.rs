//! STREAM compared with our copy, scale, add and triad.
//!
//! Its array size is fixed at compile time and known only from its output; it must match our working set, which also keeps
//! it out of the caches. It counts bytes as we do: two or three words per element, no write-allocate traffic.
//! The compiler chose whether its stores bypass the cache: gcc calls memcpy for copy and stores the rest through the cache.
//! So it is compared with our stores through the cache.
//! Its value is the best pass after the first: with `-DNTIMES=2` the rate of one pass, else the best of several.

use model::experiment::{Experiment, MemoryParams};
use model::isa::{Isa, MemoryOp};
use model::unit::format_size;
use serde_json::json;

use super::{STREAM_ARRAYS, STREAM_ELEMENT_BYTES, no_loop, not_validated, sequential, stream_differences, stream_loop};
use crate::examples;
use crate::invocation::{Invocation, Target, openmp_environment};
use crate::output::{Output, Reading, Text, details, number_in, positive};
use crate::tool::{Adapter, Reason, Rule, Side, ToolDescription, VersionSource};

pub(crate) struct Stream;

const TOOL: &str = "stream";
static DESCRIPTION: ToolDescription = ToolDescription {
    id: TOOL,
    program: "stream",
    launcher: None,
    version: VersionSource::Written { prefix: "STREAM version $Revision: ", oldest: (5, 10) },
    compared_with: "copy, scale, add and triad of memory at its compiled size",
    equal: "the operation, the threads and their CPUs",
    rules: &[&STORES, &PAGES, &BEST],
    how_to_get: "https://github.com/jeffhammond/STREAM; compile stream.c with OpenMP, \
                 -DSTREAM_ARRAY_SIZE= a 24th of the working set in bytes, and -DNTIMES=2",
    example: || examples::memory(MemoryOp::Triad, Isa::Avx2, 1 << 30, 1),
};
static STORES: Rule = Rule::new("compiler-stores", None, Side::Either);
static PAGES: Rule = Rule::new("unasked-pages", None, Side::Either);
static BEST: Rule = Rule::new("best-pass", Some("it was compiled with more than two passes"), Side::Faster);

const LEAST_SHARE: f64 = 0.95;
const GREATEST_SHARE: f64 = 4.0;
const SLOWEST_BYTES_PER_SECOND: f64 = 2e9;
/// Passes of a program with two repetitions, set-up included.
const PASSES: f64 = 10.0;

impl Adapter for Stream {
    const DESCRIPTION: &'static ToolDescription = &DESCRIPTION;
    type Work<'a> = (&'a MemoryParams, &'static str);

    fn work(experiment: &Experiment) -> Result<Self::Work<'_>, String> {
        let params = sequential(TOOL, experiment)?;
        if matches!(params.op, MemoryOp::CopyNt | MemoryOp::ScaleNt | MemoryOp::AddNt | MemoryOp::TriadNt) {
            let reason = "whether stream's stores go past the cache was its compiler's choice";
            return Err(reason.to_owned());
        }
        Ok((params, stream_loop(params.op).ok_or_else(|| no_loop(TOOL, params.op))?))
    }

    fn command((params, _): Self::Work<'_>, target: &Target<'_>) -> Result<Invocation, String> {
        let expected_seconds = 0.1 + PASSES * params.working_set as f64 / SLOWEST_BYTES_PER_SECOND;
        // The number of passes is fixed at compile time.
        let seconds = [expected_seconds, 60.0 + 10.0 * expected_seconds];
        let env = openmp_environment(params.threads, target.cpus);
        Ok(Invocation { env, ..Invocation::new(target, "", seconds) })
    }

    fn read((params, name): Self::Work<'_>, output: &Output) -> Result<Reading, String> {
        output.succeeded(TOOL)?;
        let text = Text::new(TOOL, &output.stdout);
        let element_bytes = text.number("This system uses")?;
        if (element_bytes - STREAM_ELEMENT_BYTES).abs() > 0.0 {
            return Err(format!("{TOOL} was compiled for elements of {element_bytes} B and not for fp64"));
        }
        let working_set = text.number("Array size =")? * STREAM_ELEMENT_BYTES * STREAM_ARRAYS;
        same_size(working_set, params.working_set)?;
        // Without OpenMP it does not print its threads.
        let counted = "Number of Threads counted =";
        if params.threads > 1 || text.after(counted).is_ok() {
            text.ran_with(counted, params.threads)?;
        }
        let [best, average, ..] = loop_values(text, name)?;
        if !text.text.contains("Solution Validates") {
            return Err(not_validated(TOOL));
        }
        let details = details([
            ("kernel", json!(name)),
            ("passes", json!(text.number("Each kernel will be executed")? - 1.0)),
            ("mean_seconds", json!(positive(TOOL, "mean time", average)?)),
            ("working_set", json!(working_set)),
        ]);
        Reading::throughput(TOOL, best * 1e6, details)
    }

    fn differences(_: Self::Work<'_>, _version: &str, reading: &Reading) -> Vec<Option<Reason>> {
        stream_differences(TOOL, [&STORES, &PAGES, &BEST], reading)
    }
}

fn same_size(its: f64, ours: u64) -> Result<(), String> {
    if (LEAST_SHARE..=GREATEST_SHARE).contains(&(its / ours as f64)) {
        return Ok(());
    }
    Err(format!(
        "stream was compiled for arrays of {:.0} MiB together, ours have {}: -DSTREAM_ARRAY_SIZE={} makes them alike",
        its / f64::from(1 << 20),
        format_size(ours),
        ours.div_ceil(24)
    ))
}

/// The line of a loop: best rate in MB/s; mean, least and greatest time in seconds.
fn loop_values(text: Text<'_>, name: &str) -> Result<[f64; 4], String> {
    let values: Option<Vec<f64>> = text.after(&format!("{name}:"))?.split_whitespace().map(number_in).collect();
    let values = values.and_then(|values| <[f64; 4]>::try_from(values).ok());
    values.ok_or_else(|| format!("{TOOL} printed no four numbers for {name}"))
}

#[cfg(test)]
mod tests {
    use model::isa::Isa;
    use model::sample::MetricName;

    use super::*;
    use crate::tests::fixtures::{assert_refused, memory, recorded, said, target};
    use crate::tool::ReferenceTool;

    const GIB: u64 = 1 << 30;

    fn parse(text: &str, op: MemoryOp, threads: u32) -> Result<Reading, String> {
        Stream.parse(&said(text), &memory(op, Isa::Avx2, GIB, threads))
    }

    #[test]
    fn its_threads_are_bound_to_our_cpus() {
        let experiment = memory(MemoryOp::Triad, Isa::Avx2, GIB, 2);
        let target = Target { cpus: &[3, 1], ..target(&experiment) };
        let invocation = Stream.invocation(&target).unwrap();
        assert_eq!((invocation.argv, invocation.cpus), (vec!["/opt/tool".to_owned()], vec![1, 3]));
        assert_eq!(invocation.env["OMP_PLACES"], "{1},{3}");
    }

    #[test]
    fn only_what_it_does_is_compared() {
        let why = |op| Stream.supports(&memory(op, Isa::Avx2, GIB, 1)).unwrap_err();
        assert!(why(MemoryOp::TriadNt).contains("compiler's choice"));
        assert!(why(MemoryOp::Read).contains("no loop for read"));
        for op in [MemoryOp::Copy, MemoryOp::Scale, MemoryOp::Add, MemoryOp::Triad] {
            assert_eq!(Stream.supports(&memory(op, Isa::Avx2, GIB, 1)), Ok(()));
        }
    }

    #[test]
    fn recorded_runs_are_read() {
        let text = recorded("stream-5.10-1043MiB-t2.txt");
        for op in [MemoryOp::Copy, MemoryOp::Scale, MemoryOp::Add, MemoryOp::Triad] {
            let reading = parse(&text, op, 2).unwrap();
            assert_eq!(reading.metric, MetricName::Throughput);
            let arrays = if matches!(op, MemoryOp::Copy | MemoryOp::Scale) { 2.0 } else { 3.0 };
            let seconds = reading.details["mean_seconds"].as_f64().unwrap();
            let of_mean = arrays * 8.0 * 45_600_000.0 / seconds;
            assert!((reading.value / of_mean - 1.0).abs() < 1e-3, "one pass is its best and its mean: {reading:?}");
            assert_eq!(reading.details["passes"], 1.0);
        }
        let serial = recorded("stream-5.10-91MiB-serial.txt");
        let small = memory(MemoryOp::Copy, Isa::Avx2, 96_000_000, 1);
        let reading = Stream.parse(&said(&serial), &small).unwrap();
        assert_eq!(reading.details["passes"], 9.0);
    }

    #[test]
    fn arrays_of_another_size_are_refused_with_the_one_that_is_alike() {
        let reason = parse(&recorded("stream-5.10-91MiB-serial.txt"), MemoryOp::Copy, 1).unwrap_err();
        assert!(reason.contains("92 MiB") && reason.contains("-DSTREAM_ARRAY_SIZE=44739243"), "{reason}");
        let whole = recorded("stream-5.10-1043MiB-t2.txt");
        let small = memory(MemoryOp::Copy, Isa::Avx2, 64 << 20, 2);
        assert!(Stream.parse(&said(&whole), &small).unwrap_err().contains("1044 MiB"));
        let reason = parse(&recorded("stream-5.10-float.txt"), MemoryOp::Copy, 1).unwrap_err();
        assert!(reason.contains("elements of 4 B"), "{reason}");
    }

    #[test]
    fn what_it_did_not_measure_is_no_reading() {
        let whole = recorded("stream-5.10-1043MiB-t2.txt");
        assert_refused(
            &Stream,
            &memory(MemoryOp::Triad, Isa::Avx2, GIB, 2),
            [
                (String::new(), "no 'This system uses'"),
                ("\u{fffd}garbage\n".repeat(9), "printed no"),
                (whole.split("Triad:").next().unwrap().to_owned(), "no 'Triad:'"),
                (whole.split("Solution").next().unwrap().to_owned(), "does not report that its results are correct"),
                (whole.replace("Triad:  ", "Triad: inf "), "no four numbers"),
                (whole.replace("Triad:  ", "Triad: - "), "no four numbers"),
                (whole.replace("counted = 2", "counted = 3"), "3 and not 2"),
                (whole.replace('.', ","), "no four numbers"),
            ],
        );
    }
}
