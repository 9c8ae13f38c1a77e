//! pmbw beside our reads and writes: its unrolled loops of the same vector width, over an area of the same size.
//!
//! It counts each byte once, as we do for reads and for writes. Areas come from a list of its own; others are refused.
//! It repeats its passes until they take a second, so it measures for a second or two, whatever we ask for.
//!
//! It writes its results to a file too, after removing what stands there, and without `-M` it fills most of the
//! memory: it is given its own standard error for the former, which cannot be removed, and a limit.

use model::experiment::{Experiment, MemoryParams, Params};
use model::isa::{Isa, MemoryOp, MemoryPattern, Pages};
use model::sample::MetricName;
use model::unit::format_size;
use serde_json::{Map, json};

use super::memory::{no_loop, of_memory, stream};
use super::{
    About, Invocation, Output, Reading, Reason, Reference, Rule, Side, Target, Version, arguments, bare_environment,
    complaint, distinct, examples, positive, succeeded,
};

pub(super) struct Pmbw;

static ABOUT: About = About {
    tool: "pmbw",
    program: "pmbw",
    launcher: None,
    version: Version::Unsaid { argument: "-h", help: "Limit the maximum amount of memory allocated at startup" },
    stands_beside: "sequential reads and writes of memory, up to 256 bits at a time",
    equal: "the vector width, the CPUs and the working set",
    rules: &[&BASE_PAGES, &UNPINNED, &LONG],
    how_to_get: "https://github.com/bingmann/pmbw; ./configure && make",
};
static BASE_PAGES: Rule = Rule { name: "base-pages", when: Some("ours is in pages of 2 MiB"), makes_it: Side::Slower };
static UNPINNED: Rule = Rule { name: "unpinned", when: Some("it has several threads"), makes_it: Side::Slower };
static LONG: Rule = Rule { name: "long-passes", when: None, makes_it: Side::Either };

/// Where it also writes its results: its own standard error. Nothing in /proc can be removed.
const RESULTS: &str = "/proc/self/fd/2";
/// Beyond this its areas are the powers of two.
const POWERS_FROM: u64 = 64 << 20;
/// Its areas of at most 64 MiB that we ask for, in KiB: those of them that are powers of two, and half as much again.
const AREAS_KIB: &[u64] = &[
    1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144,
    8192, 12_288, 16_384, 24_576, 32_768, 49_152, 65_536,
];
/// The least distance of two threads' areas, in bytes (4 MiB and 16 KiB).
const SPACING_BYTES: u64 = (4 << 20) + (16 << 10);
/// Bytes that a thread's area is rounded up to at most: sixteen accesses of 32 bytes.
const ROUNDING_BYTES: u64 = 512;
/// Seconds that its last repetition aims at, and the one before it takes at most.
const MEASURED_SECONDS: f64 = 1.5 + 1.0;
/// Bytes per second that it fills its memory with at least, for the expected time.
const FILL_BYTES_PER_SECOND: f64 = 0.5e9;
/// The most that two of its own figures may contradict each other.
const CONTRADICTION: f64 = 1e-3;

/// The parameters, and the name of its loop.
fn parameters(experiment: &Experiment) -> Result<(&MemoryParams, String), String> {
    if of_memory(ABOUT.tool, experiment)?.pattern == MemoryPattern::Chase {
        return Err("pmbw's chain has a node every 8 B, several in each line".to_owned());
    }
    let params = stream(ABOUT.tool, experiment)?;
    let what = match params.op {
        MemoryOp::Read => "Read",
        MemoryOp::Write => "Write",
        op => return Err(no_loop(ABOUT.tool, op)),
    };
    let bits = match params.isa {
        Isa::Scalar => 64,
        Isa::Sse2 => 128,
        Isa::Avx2 => 256,
        isa => return Err(format!("pmbw has no {} with {isa}", params.op)),
    };
    if !is_listed(params.working_set) {
        let size = format_size(params.working_set);
        return Err(format!("pmbw's areas come from a list in which {size} is not; 1GiB and other powers of two are"));
    }
    Ok((params, format!("Scan{what}{bits}PtrUnrollLoop")))
}

/// Whether this is one of its areas.
fn is_listed(bytes: u64) -> bool {
    if bytes > POWERS_FROM {
        bytes.is_power_of_two() && bytes <= 1 << 40
    } else {
        bytes.is_multiple_of(1024) && AREAS_KIB.contains(&(bytes / 1024))
    }
}

/// The limit that makes it allocate enough: it takes half of the next power of two.
fn memory_limit(params: &MemoryParams) -> u64 {
    let threads = u64::from(params.threads.max(1));
    let part = (params.working_set / threads).next_multiple_of(ROUNDING_BYTES).max(SPACING_BYTES);
    2 * (part * threads).next_power_of_two()
}

impl Reference for Pmbw {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn example(&self) -> Experiment {
        examples::memory(MemoryOp::Write, Isa::Avx2, 64 << 20, 1)
    }

    fn stands_beside(&self, experiment: &Experiment) -> Result<(), String> {
        parameters(experiment).map(|_| ())
    }

    fn invocation(&self, target: &Target<'_>) -> Result<Invocation, String> {
        let (params, name) = parameters(target.experiment)?;
        let limit = memory_limit(params);
        let expected_seconds = MEASURED_SECONDS + limit as f64 / 2.0 / FILL_BYTES_PER_SECOND;
        let (size, threads) = (params.working_set.to_string(), params.threads.to_string());
        let words = [
            ("-f", name),
            ("-s", size.clone()),
            ("-S", size),
            ("-p", threads.clone()),
            ("-P", threads),
            ("-M", limit.to_string()),
            ("-o", RESULTS.to_owned()),
        ];
        let mut argv = arguments(target.program, []);
        argv.extend(words.into_iter().flat_map(|(option, value)| [option.to_owned(), value]));
        Ok(Invocation {
            argv,
            env: bare_environment(),
            cpus: distinct(target.cpus),
            expected_seconds,
            timeout_seconds: 20.0 + 4.0 * expected_seconds,
            ..Invocation::default()
        })
    }

    fn parse(&self, _version: &str, output: &Output, experiment: &Experiment) -> Result<Reading, String> {
        let tool = ABOUT.tool;
        succeeded(tool, output)?;
        let (params, name) = parameters(experiment)?;
        let results: Vec<&str> = output.stdout.lines().filter_map(|line| line.strip_prefix("RESULT\t")).collect();
        let [result] = results[..] else {
            return Err(format!("{tool} printed {} results and not 1: {}", results.len(), complaint(output)));
        };
        let said = text(result, "funcname")?;
        if said != name {
            return Err(format!("{tool} ran '{said}' and not '{name}'"));
        }
        let (area, threads) = (number(result, "areasize")?, number(result, "nthreads")?);
        if (area - params.working_set as f64).abs() > 0.0 || (threads - f64::from(params.threads)).abs() > 0.0 {
            let (ours, its) = (params.working_set, params.threads);
            return Err(format!("{tool} ran {threads} threads over {area} B and not {its} over {ours} B"));
        }
        let value = positive(tool, "bandwidth", number(result, "bandwidth")?)?;
        let (bytes, seconds) = (number(result, "testvol")?, positive(tool, "time", number(result, "time")?)?);
        if (bytes / seconds / value - 1.0).abs() > CONTRADICTION {
            return Err(format!("{tool} contradicts itself: {bytes} B in {seconds} s are not {value} B/s"));
        }
        let mut details = Map::new();
        details.insert("kernel".into(), json!(said));
        details.insert("version".into(), json!(text(result, "version")?));
        details.insert("seconds".into(), json!(seconds));
        details.insert("working_set".into(), json!(number(result, "testsize")?));
        details.insert("passes".into(), json!(number(result, "repeats")?));
        Ok(Reading { metric: MetricName::Throughput, value, bytes_factor: 1.0, details })
    }

    fn reasons(&self, _version: &str, experiment: &Experiment, _reading: &Reading) -> Vec<Reason> {
        let mut reasons = Vec::new();
        if matches!(&experiment.params, Params::Memory(params) if params.pages == Pages::Huge2M) {
            reasons.push(BASE_PAGES.says("pmbw's area is in base pages, ours in pages of 2 MiB"));
        }
        if experiment.params.threads() > 1 {
            reasons.push(UNPINNED.says("pmbw's threads share our CPUs unpinned and one of them has filled its area"));
        }
        reasons.push(LONG.says("pmbw measures for more than a second at a time"));
        reasons
    }
}

/// What stands behind a key.
fn text<'a>(result: &'a str, key: &str) -> Result<&'a str, String> {
    let of_key = |pair: &'a str| pair.split_once('=').filter(|(name, _)| *name == key).map(|(_, value)| value);
    result.split('\t').find_map(of_key).ok_or_else(|| format!("{}'s result has no '{key}'", ABOUT.tool))
}

/// The number behind a key.
fn number(result: &str, key: &str) -> Result<f64, String> {
    let text = text(result, key)?;
    let number = text.parse::<f64>().ok().filter(|number| number.is_finite());
    number.ok_or_else(|| format!("{} printed '{text}' as its '{key}': that is no number", ABOUT.tool))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::reference::tests::{chase, difference, failed, memory, recorded, said};

    fn parse(text: &str) -> Result<Reading, String> {
        Pmbw.parse("", &said(text), &memory(MemoryOp::Read, Isa::Avx2, 1 << 30, 1))
    }

    #[test]
    fn one_loop_over_one_area_of_our_size_and_no_more_memory() {
        let argv = |experiment: &Experiment| {
            let target = Target {
                experiment,
                program: Path::new("/opt/pmbw"),
                cpus: &[1, 0],
                other_cpus: &[],
                seconds: 0.5,
                file: None,
                our_rate: None,
                version: "",
                offered_rate: None,
                launcher: None,
            };
            Pmbw.invocation(&target).unwrap().argv.join(" ")
        };
        assert_eq!(
            argv(&memory(MemoryOp::Read, Isa::Avx2, 1 << 30, 1)),
            "/opt/pmbw -f ScanRead256PtrUnrollLoop -s 1073741824 -S 1073741824 -p 1 -P 1 -M 2147483648 \
             -o /proc/self/fd/2"
        );
        // Two areas 4 MiB and 16 KiB apart need 16 MiB.
        assert_eq!(
            argv(&memory(MemoryOp::Write, Isa::Sse2, 16 << 10, 2)),
            "/opt/pmbw -f ScanWrite128PtrUnrollLoop -s 16384 -S 16384 -p 2 -P 2 -M 33554432 -o /proc/self/fd/2"
        );
    }

    #[test]
    fn what_it_cannot_do_alike_is_refused() {
        let why = |experiment: &Experiment| Pmbw.stands_beside(experiment).unwrap_err();
        assert!(why(&memory(MemoryOp::Read, Isa::Avx512, 1 << 30, 1)).contains("no read with avx512"));
        assert!(why(&memory(MemoryOp::Copy, Isa::Avx2, 1 << 30, 1)).contains("no loop for copy"));
        assert!(why(&memory(MemoryOp::WriteNt, Isa::Avx2, 1 << 30, 1)).contains("no loop for write_nt"));
        assert!(why(&memory(MemoryOp::Read, Isa::Avx2, 1040 << 20, 1)).contains("1040MiB is not"));
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
        assert_eq!((reading.metric, reading.bytes_factor), (MetricName::Throughput, 1.0));
        assert_eq!((&reading.details["version"], &reading.details["passes"]), (&json!("0.6.3"), &json!(16.0)));
        assert!((reading.value - 11_919_416_951.188_436).abs() < 1.0, "{reading:?}");
        let written = memory(MemoryOp::Write, Isa::Sse2, 64 << 20, 2);
        let reading = Pmbw.parse("", &said(&recorded("pmbw-0.6.3-write128-64MiB-t2.txt")), &written).unwrap();
        assert!((1e9..1e12).contains(&reading.value), "{reading:?}");
        let explained = difference(&Pmbw, "", &written, &reading).unwrap();
        assert!(explained.contains("unpinned") && explained.contains("more than a second"), "{explained}");
    }

    #[test]
    fn what_it_did_not_measure_is_no_reading() {
        let whole = recorded("pmbw-0.6.3-read256-1GiB-t1.txt");
        for (text, why) in [
            (String::new(), "0 results"),
            ("RESULT \u{fffd}\n".repeat(3), "0 results"),
            (whole.repeat(2), "2 results"),
            (whole.split("\tbandwidth").next().unwrap().to_owned(), "no 'bandwidth'"),
            (whole.replace("bandwidth=", "bandwidth=nan"), "no number"),
            (whole.replace("bandwidth=", "bandwidth=9"), "contradicts"),
            (whole.replace("ScanRead256", "ScanRead128"), "and not 'ScanRead256PtrUnrollLoop'"),
            (whole.replace("nthreads=1", "nthreads=2"), "2 threads over"),
            (whole.replace("areasize=1", "areasize=2"), "over 2073741824 B"),
        ] {
            let reason = parse(&text).unwrap_err();
            assert!(reason.contains(why), "{why}: {reason}");
        }
        let refused =
            Pmbw.parse("", &failed(255, "Error allocating memory."), &memory(MemoryOp::Read, Isa::Avx2, 1 << 30, 1));
        assert!(refused.unwrap_err().contains("Error allocating memory."));
    }
}
