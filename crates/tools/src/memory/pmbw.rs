//! pmbw compared with our reads and writes: unrolled loops of the same vector width, over an area of the same size.
//!
//! It counts each byte once, as we do. Its areas come from a fixed list. It repeats passes until they take a second.
//! It removes and rewrites a file with its results, so it gets its own standard error for that, which cannot be removed.
//! Without `-M` it fills most of the memory.

use model::experiment::{Experiment, MemoryParams};
use model::isa::{Isa, MemoryOp, MemoryPattern, Pages};
use model::unit::format_size;
use serde_json::json;

use super::{any_pattern, no_loop, sequential};
use crate::examples;
use crate::invocation::{Invocation, Target};
use crate::output::{Output, Reading, Text, details, only, positive};
use crate::tool::{Adapter, Reason, Rule, Side, ToolDescription, VersionSource};

pub(crate) struct Pmbw;

const TOOL: &str = "pmbw";
static DESCRIPTION: ToolDescription = ToolDescription {
    id: TOOL,
    program: "pmbw",
    launcher: None,
    version: VersionSource::Unsaid { argument: "-h", help: "Limit the maximum amount of memory allocated at startup" },
    compared_with: "sequential reads and writes of memory, up to 256 bits at a time",
    equal: "the vector width, the CPUs and the working set",
    rules: &[&BASE_PAGES, &UNPINNED, &LONG],
    how_to_get: "https://github.com/bingmann/pmbw; ./configure && make",
    example: || examples::memory(MemoryOp::Write, Isa::Avx2, 64 << 20, 1),
};
static BASE_PAGES: Rule = Rule::new("base-pages", Some("ours is in pages of 2 MiB"), Side::Slower);
static UNPINNED: Rule = Rule::new("unpinned", Some("it has several threads"), Side::Slower);
static LONG: Rule = Rule::new("long-passes", None, Side::Either);

/// Its results file: its own standard error, because nothing in /proc can be removed.
const RESULTS: &str = "/proc/self/fd/2";
/// Above this, its areas are powers of two.
const POWERS_FROM: u64 = 64 << 20;
/// Its areas up to 64 MiB that we use, in KiB: powers of two and half as much again.
const AREAS_KIB: &[u64] = &[
    1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144,
    8192, 12_288, 16_384, 24_576, 32_768, 49_152, 65_536,
];
/// Minimum distance of two threads' areas (4 MiB and 16 KiB).
const SPACING_BYTES: u64 = (4 << 20) + (16 << 10);
/// A thread's area is rounded up to at most this: sixteen accesses of 32 bytes.
const ROUNDING_BYTES: u64 = 512;
/// Target of its last repetition, plus the longest one before it.
const MEASURED_SECONDS: f64 = 1.5 + 1.0;
const FILL_BYTES_PER_SECOND: f64 = 0.5e9;

fn is_listed(bytes: u64) -> bool {
    if bytes > POWERS_FROM {
        bytes.is_power_of_two() && bytes <= 1 << 40
    } else {
        bytes.is_multiple_of(1024) && AREAS_KIB.contains(&(bytes / 1024))
    }
}

/// The limit with which it allocates enough: it takes half of the next power of two.
fn memory_limit(params: &MemoryParams) -> u64 {
    let threads = u64::from(params.threads.max(1));
    let part = (params.working_set / threads).next_multiple_of(ROUNDING_BYTES).max(SPACING_BYTES);
    2 * (part * threads).next_power_of_two()
}

impl Adapter for Pmbw {
    const DESCRIPTION: &'static ToolDescription = &DESCRIPTION;
    type Work<'a> = (&'a MemoryParams, String);

    fn work(experiment: &Experiment) -> Result<Self::Work<'_>, String> {
        let unsuitable = |reason: String| Err(reason);
        if any_pattern(TOOL, experiment)?.pattern == MemoryPattern::Chase {
            return unsuitable("pmbw's chain has a node every 8 B, several in each cache line".to_owned());
        }
        let params = sequential(TOOL, experiment)?;
        let what = match params.op {
            MemoryOp::Read => "Read",
            MemoryOp::Write => "Write",
            op => return Err(no_loop(TOOL, op)),
        };
        let bits = match params.isa {
            Isa::Scalar => 64,
            Isa::Sse2 => 128,
            Isa::Avx2 => 256,
            isa => return unsuitable(format!("pmbw has no {} with {isa}", params.op)),
        };
        if !is_listed(params.working_set) {
            let size = format_size(params.working_set);
            return unsuitable(format!("pmbw has no size {size}; it has 1GiB and other powers of two"));
        }
        Ok((params, format!("Scan{what}{bits}PtrUnrollLoop")))
    }

    fn command((params, name): Self::Work<'_>, target: &Target<'_>) -> Result<Invocation, String> {
        let limit = memory_limit(params);
        let expected_seconds = MEASURED_SECONDS + limit as f64 / 2.0 / FILL_BYTES_PER_SECOND;
        let (size, threads) = (params.working_set, params.threads);
        let words = format!("-f {name} -s {size} -S {size} -p {threads} -P {threads} -M {limit} -o {RESULTS}");
        Ok(Invocation::new(target, &words, [expected_seconds, 20.0 + 4.0 * expected_seconds]))
    }

    fn read((params, name): Self::Work<'_>, output: &Output) -> Result<Reading, String> {
        output.succeeded(TOOL)?;
        let results = output.stdout.lines().filter_map(|line| line.strip_prefix("RESULT\t")).collect();
        let lines = only(TOOL, "results", results, output)?.replace('\t', "\n");
        let text = Text::new(TOOL, &lines);
        text.ran_as("funcname=", &name)?;
        text.ran_with("areasize=", params.working_set as f64)?;
        text.ran_with("nthreads=", params.threads)?;
        let bandwidth = text.number("bandwidth=")?;
        let (bytes, seconds) = (text.number("testvol=")?, positive(TOOL, "time", text.number("time=")?)?);
        let details = details([
            ("kernel", json!(name)),
            ("version", json!(text.after("version=")?)),
            ("seconds", json!(seconds)),
            ("working_set", json!(text.number("testsize=")?)),
            ("passes", json!(text.number("repeats=")?)),
        ]);
        let reading = Reading::throughput(TOOL, bandwidth, details)?;
        reading.check_against(TOOL, bytes, seconds)?;
        Ok(reading)
    }

    fn differences((params, _): Self::Work<'_>, _version: &str, _reading: &Reading) -> Vec<Option<Reason>> {
        let unpinned = "pmbw's threads share our CPUs unpinned and one of them has filled its area";
        vec![
            BASE_PAGES.says_if(params.pages == Pages::Huge2M, "pmbw's area is in base pages, ours in pages of 2 MiB"),
            UNPINNED.says_if(params.threads > 1, unpinned),
            LONG.says("pmbw measures for more than a second at a time"),
        ]
    }
}

#[cfg(test)]
mod tests {
    use model::sample::MetricName;

    use super::*;
    use crate::tests::fixtures::{assert_refused, chase, memory, recorded, said, target};
    use crate::tool::ReferenceTool;

    fn parse(text: &str) -> Result<Reading, String> {
        Pmbw.parse(&said(text), &memory(MemoryOp::Read, Isa::Avx2, 1 << 30, 1))
    }

    #[test]
    fn one_loop_over_one_area_of_our_size_and_no_more_memory() {
        let argv = |experiment: &Experiment| {
            let target = Target { cpus: &[1, 0], ..target(experiment) };
            Pmbw.invocation(&target).unwrap().argv.join(" ")
        };
        assert_eq!(
            argv(&memory(MemoryOp::Read, Isa::Avx2, 1 << 30, 1)),
            "/opt/tool -f ScanRead256PtrUnrollLoop -s 1073741824 -S 1073741824 -p 1 -P 1 -M 2147483648 \
             -o /proc/self/fd/2"
        );
        // Two areas 4 MiB and 16 KiB apart need 16 MiB.
        assert_eq!(
            argv(&memory(MemoryOp::Write, Isa::Sse2, 16 << 10, 2)),
            "/opt/tool -f ScanWrite128PtrUnrollLoop -s 16384 -S 16384 -p 2 -P 2 -M 33554432 -o /proc/self/fd/2"
        );
    }

    #[test]
    fn what_it_cannot_do_alike_is_refused() {
        let why = |experiment: &Experiment| Pmbw.supports(experiment).unwrap_err();
        assert!(why(&memory(MemoryOp::Read, Isa::Avx512, 1 << 30, 1)).contains("no read with avx512"));
        assert!(why(&memory(MemoryOp::Copy, Isa::Avx2, 1 << 30, 1)).contains("no loop for copy"));
        assert!(why(&memory(MemoryOp::WriteNt, Isa::Avx2, 1 << 30, 1)).contains("no loop for write_nt"));
        assert!(why(&memory(MemoryOp::Read, Isa::Avx2, 1040 << 20, 1)).contains("no size 1040MiB"));
        assert!(why(&chase(1 << 30)).contains("every 8 B"));
    }

    #[test]
    fn its_areas_are_those_of_its_list() {
        for bytes in [1 << 10, 16 << 10, 48 << 10, 512 << 10, 3 << 20, 64 << 20, 128 << 20, 1 << 30, 1 << 40] {
            assert!(is_listed(bytes), "{bytes}");
        }
        for bytes in [0, 1000, 1025, 5 << 10, 96 << 20, 192 << 20, 1040 << 20, 1 << 41] {
            assert!(!is_listed(bytes), "{bytes}");
        }
    }

    #[test]
    fn recorded_runs_are_read() {
        let text = recorded("pmbw-0.6.3-read256-1GiB-t1.txt");
        let reading = parse(&text).unwrap();
        assert_eq!(reading.metric, MetricName::Throughput);
        assert_eq!((&reading.details["version"], &reading.details["passes"]), (&json!("0.6.3"), &json!(16.0)));
        assert!((reading.value - 11_919_416_951.188_436).abs() < 1.0, "{reading:?}");
        let written = memory(MemoryOp::Write, Isa::Sse2, 64 << 20, 2);
        let reading = Pmbw.parse(&said(&recorded("pmbw-0.6.3-write128-64MiB-t2.txt")), &written).unwrap();
        assert!((1e9..1e12).contains(&reading.value), "{reading:?}");
    }

    #[test]
    fn what_it_did_not_measure_is_no_reading() {
        let whole = recorded("pmbw-0.6.3-read256-1GiB-t1.txt");
        assert_refused(
            &Pmbw,
            &memory(MemoryOp::Read, Isa::Avx2, 1 << 30, 1),
            [
                (String::new(), "0 results"),
                ("RESULT \u{fffd}\n".repeat(3), "0 results"),
                (whole.repeat(2), "2 results"),
                (whole.split("\tbandwidth").next().unwrap().to_owned(), "no 'bandwidth='"),
                (whole.replace("bandwidth=", "bandwidth=nan"), "not a number"),
                (whole.replace("bandwidth=", "bandwidth=9"), "contradicts"),
                (whole.replace("ScanRead256", "ScanRead128"), "and not ScanRead256PtrUnrollLoop"),
                (whole.replace("nthreads=1", "nthreads=2"), "nthreads= 2 and not 1"),
                (whole.replace("areasize=1", "areasize=2"), "areasize= 2073741824"),
            ],
        );
    }
}
