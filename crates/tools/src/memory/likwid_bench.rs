//! likwid-bench beside our arithmetic kernels and memory streams: loops in assembly of the same vector width, on the
//! same CPUs, over a working set of the same size.
//!
//! It counts a fused multiply-add as two flop, and of a copy the bytes read and the bytes written; write-allocate
//! traffic it does not count. All of that is how we count, so its bytes are taken as they are. Sizes are of all arrays
//! and all threads together; a thread's part is rounded down to whole steps of its loop.
//!
//! `-s` takes whole seconds and finds its own number of iterations, from one; given our own rate, `-i` makes blocks of
//! any length. About a second more goes into its calibration of the clock.

use model::experiment::{CpuParams, Experiment, MemoryParams, Params};
use model::isa::{CpuOp, Element, Isa, MemoryOp, Pages};
use model::sample::MetricName;
use serde_json::{Map, Value, json};

use super::memory::{no_loop, stream};
use super::{
    About, Invocation, Output, Reading, Reason, Reference, Rule, Side, Target, Version, arguments, bare_environment,
    distinct, examples, positive, succeeded,
};

pub(super) struct LikwidBench;

static ABOUT: About = About {
    tool: "likwid-bench",
    program: "likwid-bench",
    launcher: None,
    version: Version::Asked { argument: "-v", prefix: "likwid-bench -- Version ", oldest: (5, 2) },
    stands_beside: "multiply-add of fp64 and fp32; sequential reads, writes, copies and triads of memory and caches",
    equal: "the vector width, the CPUs and the working set",
    rules: &[&LOADS, &BASE_PAGES, &SMALLER],
    how_to_get: "Debian package likwid; https://github.com/RRZE-HPC/likwid",
};
static LOADS: Rule = Rule { name: "operand-load", when: Some("beside arithmetic"), makes_it: Side::Slower };
static BASE_PAGES: Rule = Rule { name: "base-pages", when: Some("ours is in pages of 2 MiB"), makes_it: Side::Slower };
static SMALLER: Rule = Rule {
    name: "working-set",
    when: Some("its arrays, rounded to its loop, are more than 1 % smaller than ours"),
    makes_it: Side::Either,
};

/// Seconds until it begins to measure: it waits two halves of one for the clock, and looks at the machine.
const START_SECONDS: f64 = 1.1;
/// Bytes that a thread fills per second at least, pages included, for the expected time.
const FILL_BYTES_PER_SECOND: f64 = 0.5e9;
/// Bytes that each thread of an arithmetic loop goes over: half of the smallest L1 caches that there are (32 KiB).
const ARITHMETIC_BYTES: u64 = 16 << 10;
/// The most that two of its own figures may contradict each other: it prints seven digits.
const CONTRADICTION: f64 = 1e-3;

/// One of its loops.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Loop {
    name: &'static str,
    /// Work of one pass over a byte of the working set, flop or bytes, as `likwid-bench -l` says.
    work_per_byte: f64,
}

/// The loop of the same arithmetic: width, type, and whether it is fused.
fn arithmetic(params: &CpuParams, method: &str) -> Result<Loop, String> {
    if params.op != CpuOp::Fma {
        return Err(format!("likwid-bench has no loop for {} of {}", params.op, params.element));
    }
    let fused = method.starts_with("cpu-fma/");
    let loop_of = |name, flop_per_element: f64, bytes: f64| Ok(Loop { name, work_per_byte: flop_per_element / bytes });
    match (params.element, params.isa, fused) {
        (Element::Fp64, Isa::Avx512, true) => loop_of("peakflops_avx512_fma", 30.0, 8.0),
        (Element::Fp64, Isa::Avx2, true) => loop_of("peakflops_avx_fma", 30.0, 8.0),
        (Element::Fp64, Isa::Sse2, false) => loop_of("peakflops_sse", 16.0, 8.0),
        (Element::Fp64, Isa::Scalar, false) => loop_of("peakflops", 16.0, 8.0),
        (Element::Fp32, Isa::Avx512, true) => loop_of("peakflops_sp_avx512_fma", 30.0, 4.0),
        (Element::Fp32, Isa::Avx2, true) => loop_of("peakflops_sp_avx_fma", 30.0, 4.0),
        (Element::Fp32, Isa::Sse2, false) => loop_of("peakflops_sp_sse", 16.0, 4.0),
        (Element::Fp32, Isa::Scalar, false) => loop_of("peakflops_sp", 16.0, 4.0),
        (_, Isa::Scalar, true) => Err("likwid-bench's scalar loop multiplies and adds apart, ours is fused".to_owned()),
        (element, isa, _) => Err(format!("likwid-bench has no multiply-add of {element} with {isa}")),
    }
}

/// The loop of the same stream. Where it has two that differ in their arithmetic alone, the fused one: it takes more
/// elements at a time.
fn loop_of(params: &MemoryParams) -> Result<Loop, String> {
    let names = match params.op {
        MemoryOp::Read => ["load_sse", "load_avx", "load_avx512"],
        MemoryOp::Write => ["store_sse", "store_avx", "store_avx512"],
        MemoryOp::WriteNt => ["store_mem_sse", "store_mem_avx", "store_mem_avx512"],
        MemoryOp::Copy => ["copy_sse", "copy_avx", "copy_avx512"],
        MemoryOp::CopyNt => ["copy_mem_sse", "copy_mem_avx", "copy_mem_avx512"],
        // What it calls a triad has four arrays; its stream is STREAM's triad.
        MemoryOp::Triad => ["stream_sse", "stream_avx_fma", "stream_avx512_fma"],
        MemoryOp::TriadNt => ["stream_mem_sse", "stream_mem_avx_fma", "stream_mem_avx512"],
        MemoryOp::Update => return Err("likwid-bench's update stores what it has loaded, ours changes it".to_owned()),
        op => return Err(no_loop(ABOUT.tool, op)),
    };
    let name = match params.isa {
        Isa::Sse2 => names[0],
        Isa::Avx2 => names[1],
        Isa::Avx512 => names[2],
        isa => return Err(format!("likwid-bench has no {} with {isa}", params.op)),
    };
    // Every byte of every array once, loaded or stored.
    Ok(Loop { name, work_per_byte: 1.0 })
}

/// The loop and the bytes that all threads go over together.
fn work(experiment: &Experiment) -> Result<(Loop, u64), String> {
    match &experiment.params {
        Params::Cpu(params) => {
            Ok((arithmetic(params, &experiment.method)?, ARITHMETIC_BYTES * u64::from(params.threads)))
        }
        Params::Memory(params) => {
            stream(ABOUT.tool, experiment)?;
            Ok((loop_of(params)?, params.working_set))
        }
        _ => Err("likwid-bench measures arithmetic and memory".to_owned()),
    }
}

impl Reference for LikwidBench {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn example(&self) -> Experiment {
        examples::memory(MemoryOp::Read, Isa::Sse2, 64 << 20, 1)
    }

    fn stands_beside(&self, experiment: &Experiment) -> Result<(), String> {
        work(experiment).map(|_| ())
    }

    fn invocation(&self, target: &Target<'_>) -> Result<Invocation, String> {
        let (kernel, bytes) = work(target.experiment)?;
        let threads = target.experiment.params.threads();
        // Each thread makes all iterations, over its own part.
        let passes = target.our_rate.map(|rate| rate * target.seconds / (kernel.work_per_byte * bytes as f64));
        let length = match passes.filter(|passes| passes.is_finite() && *passes >= 0.0) {
            Some(passes) => ["-i".to_owned(), format!("{:.0}", passes.round().max(1.0))],
            None => ["-s".to_owned(), "1".to_owned()],
        };
        let [flag, length] = length;
        let fill_seconds = bytes as f64 / FILL_BYTES_PER_SECOND;
        let expected_seconds = START_SECONDS + fill_seconds + target.seconds.max(0.1);
        Ok(Invocation {
            argv: arguments(
                target.program,
                [
                    "-t".to_owned(),
                    kernel.name.to_owned(),
                    "-W".to_owned(),
                    format!("N:{bytes}B:{threads}"),
                    flag,
                    length,
                ],
            ),
            env: bare_environment(),
            // Its thread domains shrink to the CPUs it may use: `N` is then exactly these.
            cpus: distinct(target.cpus),
            expected_seconds,
            timeout_seconds: 20.0 + 10.0 * expected_seconds,
            ..Invocation::default()
        })
    }

    fn parse(&self, _version: &str, output: &Output, experiment: &Experiment) -> Result<Reading, String> {
        let tool = ABOUT.tool;
        succeeded(tool, output)?;
        let (kernel, _) = work(experiment)?;
        if text(output, "Test")? != kernel.name {
            return Err(format!("{tool} ran '{}' and not '{}'", text(output, "Test")?, kernel.name));
        }
        let cpus = hardware_threads(output);
        let threads = experiment.params.threads();
        if cpus.len() != threads as usize {
            return Err(format!("{tool} ran {} threads and not {threads}", cpus.len()));
        }
        let (rate, total) = match experiment.params {
            Params::Cpu(_) => ("MFlops/s", "Number of Flops"),
            _ => ("MByte/s", "Data volume (Byte)"),
        };
        let value = positive(tool, rate, number(output, rate)? * 1e6)?;
        let (work, seconds) = (number(output, total)?, positive(tool, "time", number(output, "Time")?)?);
        if (work / seconds / value - 1.0).abs() > CONTRADICTION {
            return Err(format!("{tool} contradicts itself: {work} in {seconds} s are not {value} a second"));
        }
        let mut details = Map::new();
        details.insert("kernel".into(), json!(kernel.name));
        details.insert("seconds".into(), json!(seconds));
        details.insert("working_set".into(), json!(number(output, "Size (Byte)")?));
        details.insert("iterations_per_thread".into(), json!(number(output, "Iterations per thread")?));
        details.insert("cpus".into(), json!(cpus));
        Ok(Reading { metric: MetricName::Throughput, value, bytes_factor: 1.0, details })
    }

    fn reasons(&self, _version: &str, experiment: &Experiment, reading: &Reading) -> Vec<Reason> {
        match &experiment.params {
            Params::Cpu(params) => {
                // Fifteen fused ones, or eight of each kind, per element loaded (`likwid-bench -l`).
                let per_load = if params.isa == Isa::Avx512 || params.isa == Isa::Avx2 { 15 } else { 16 };
                vec![LOADS.says(format!(
                    "likwid-bench's loop also loads an operand from the L1 cache for every {per_load} arithmetic \
                     instructions, ours keeps all of them in registers"
                ))]
            }
            Params::Memory(params) => {
                let mut reasons = Vec::new();
                if params.pages == Pages::Huge2M {
                    reasons.push(BASE_PAGES.says("likwid-bench's arrays are in base pages, ours in pages of 2 MiB"));
                }
                let its = reading.details.get("working_set").and_then(Value::as_f64);
                if let Some(its) = its.filter(|its| *its < 0.99 * params.working_set as f64) {
                    reasons.push(
                        SMALLER.says(format!("likwid-bench went over {its} B, we over {} B", params.working_set)),
                    );
                }
                reasons
            }
            _ => Vec::new(),
        }
    }
}

/// What stands behind a label, such as `MFlops/s:`.
fn text<'a>(output: &'a Output, label: &str) -> Result<&'a str, String> {
    let behind = |line: &'a str| line.strip_prefix(label)?.strip_prefix(':').map(str::trim);
    output.stdout.lines().find_map(behind).ok_or_else(|| format!("{} printed no '{label}'", ABOUT.tool))
}

/// The number behind a label; a unit may follow.
fn number(output: &Output, label: &str) -> Result<f64, String> {
    let text = text(output, label)?;
    let word = text.split_whitespace().next().unwrap_or_default();
    let number = word.parse::<f64>().ok().filter(|number| number.is_finite());
    number.ok_or_else(|| format!("{} printed '{text}' as its '{label}': that is no number", ABOUT.tool))
}

/// The CPU of each thread, as it says.
fn hardware_threads(output: &Output) -> Vec<u32> {
    let cpu = |line: &str| {
        let rest = line.strip_prefix("Group: ")?.split_once("running on hwthread ")?.1;
        rest.split_whitespace().next()?.parse().ok()
    };
    output.stdout.lines().filter_map(cpu).collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::reference::tests::{chase, cpu, failed, memory, recorded, said};

    fn parse(text: &str, experiment: &Experiment) -> Result<Reading, String> {
        LikwidBench.parse("5.2.2", &said(text), experiment)
    }

    #[test]
    fn the_same_width_and_the_same_arithmetic() {
        let name = |element, isa, method: &str| {
            let params = CpuParams { op: CpuOp::Fma, element, isa, threads: 1 };
            arithmetic(&params, method).map(|kernel| kernel.name)
        };
        assert_eq!(name(Element::Fp64, Isa::Avx512, "cpu-fma/1"), Ok("peakflops_avx512_fma"));
        assert_eq!(name(Element::Fp32, Isa::Avx2, "cpu-fma/1"), Ok("peakflops_sp_avx_fma"));
        assert_eq!(name(Element::Fp64, Isa::Sse2, "cpu-mul-add/1"), Ok("peakflops_sse"));
        assert_eq!(name(Element::Fp64, Isa::Scalar, "cpu-mul-add/1"), Ok("peakflops"));
        assert!(name(Element::Fp64, Isa::Scalar, "cpu-fma/1").unwrap_err().contains("apart"));
        assert!(name(Element::Fp16, Isa::Avx512Fp16, "cpu-fma/1").is_err());
        let dot = CpuParams { op: CpuOp::Dot, element: Element::Int8, isa: Isa::Avx512Vnni, threads: 1 };
        assert!(arithmetic(&dot, "cpu-dot/1").is_err());
    }

    #[test]
    fn the_same_width_and_the_same_stream() {
        let name = |op, isa| work(&memory(op, isa, 1 << 30, 1)).map(|(kernel, _)| kernel.name);
        for (op, isa, expected) in [
            (MemoryOp::Read, Isa::Avx512, "load_avx512"),
            (MemoryOp::Write, Isa::Sse2, "store_sse"),
            (MemoryOp::WriteNt, Isa::Avx2, "store_mem_avx"),
            (MemoryOp::CopyNt, Isa::Avx512, "copy_mem_avx512"),
            (MemoryOp::Triad, Isa::Avx2, "stream_avx_fma"),
            (MemoryOp::TriadNt, Isa::Sse2, "stream_mem_sse"),
        ] {
            assert_eq!(name(op, isa), Ok(expected));
        }
        for (op, isa, why) in [
            (MemoryOp::Update, Isa::Avx2, "ours changes it"),
            (MemoryOp::Scale, Isa::Avx2, "no loop for scale"),
            (MemoryOp::Mix31, Isa::Avx2, "no loop for mix_3_1"),
            (MemoryOp::Memcpy, Isa::Scalar, "no loop for memcpy"),
            (MemoryOp::Read, Isa::Scalar, "no read with scalar"),
        ] {
            let reason = name(op, isa).unwrap_err();
            assert!(reason.contains(why), "{reason}");
        }
        assert!(work(&chase(1 << 30)).unwrap_err().contains("no chase pattern"));
    }

    #[test]
    fn iterations_follow_from_our_rate() {
        let experiment = memory(MemoryOp::CopyNt, Isa::Avx2, 1 << 30, 2);
        let target = Target {
            experiment: &experiment,
            program: Path::new("/usr/bin/likwid-bench"),
            cpus: &[3, 1],
            other_cpus: &[],
            seconds: 0.5,
            file: None,
            our_rate: Some(30e9),
            version: "",
            offered_rate: None,
            launcher: None,
        };
        let invocation = LikwidBench.invocation(&target).unwrap();
        // 30 GB/s for 0.5 s are 15 GB, and a pass over 1 GiB counts as so many bytes: 13.97.
        assert_eq!(invocation.argv.join(" "), "/usr/bin/likwid-bench -t copy_mem_avx -W N:1073741824B:2 -i 14");
        assert_eq!(invocation.cpus, [1, 3]);
        assert_eq!(invocation.env.keys().collect::<Vec<_>>(), ["HOME", "LC_ALL", "TMPDIR"]);
        let unknown = LikwidBench.invocation(&Target { our_rate: None, ..target }).unwrap();
        assert!(unknown.argv.join(" ").ends_with("-s 1"), "{:?}", unknown.argv);
        let experiment = cpu(Isa::Avx512, 2);
        let arithmetic = LikwidBench.invocation(&Target { experiment: &experiment, ..target }).unwrap();
        // 30 flop for each of 4096 elements: 30e9 x 0.5 / 122 880.
        assert!(arithmetic.argv.join(" ").ends_with("-W N:32768B:2 -i 122070"), "{:?}", arithmetic.argv);
    }

    #[test]
    fn recorded_runs_are_read() {
        let reading = parse(&recorded("likwid-bench-5.2.2-peakflops_avx512_fma-t1.txt"), &cpu(Isa::Avx512, 1)).unwrap();
        assert_eq!(reading.metric, MetricName::Throughput);
        assert_eq!(reading.details["kernel"], "peakflops_avx512_fma");
        assert_eq!(reading.details["working_set"], 16384.0);
        assert!((1e10..1e12).contains(&reading.value), "{reading:?}");
        let experiment = memory(MemoryOp::CopyNt, Isa::Avx2, 256 << 20, 2);
        let reading = parse(&recorded("likwid-bench-5.2.2-copy_mem_avx-t2.txt"), &experiment).unwrap();
        assert_eq!(reading.details["cpus"], json!([0, 1]));
        assert_eq!(reading.details["working_set"], f64::from(256 << 20));
        assert!((1e9..1e12).contains(&reading.value), "{reading:?}");
        for (name, op, isa, bytes) in [
            ("likwid-bench-5.2.2-stream_mem_avx_fma-t1.txt", MemoryOp::TriadNt, Isa::Avx2, 96 << 20),
            ("likwid-bench-5.2.2-load_avx512-16KiB-t1.txt", MemoryOp::Read, Isa::Avx512, 16 << 10),
        ] {
            let reading = parse(&recorded(name), &memory(op, isa, bytes, 1)).unwrap();
            assert_eq!((reading.bytes_factor, &reading.details["working_set"]), (1.0, &json!(bytes as f64)), "{name}");
            let detail = |key: &str| reading.details[key].as_f64().unwrap();
            let bytes = detail("iterations_per_thread") * bytes as f64;
            assert!(
                (bytes / detail("seconds") / reading.value - 1.0).abs() < 1e-3,
                "every byte once a pass: {reading:?}"
            );
        }
    }

    #[test]
    fn what_it_did_not_measure_is_no_reading() {
        let whole = recorded("likwid-bench-5.2.2-peakflops_avx512_fma-t1.txt");
        let experiment = cpu(Isa::Avx512, 1);
        for (text, why) in [
            (String::new(), "no 'Test'"),
            ("\u{fffd}garbage\n".repeat(9), "no 'Test'"),
            (whole.split("MFlops").next().unwrap().to_owned(), "no 'MFlops/s'"),
            (whole.replace("MFlops/s:\t\t", "MFlops/s:\t\tnan "), "no number"),
            (whole.replace("MFlops/s:\t\t", "MFlops/s:\t\t9"), "contradicts"),
            (whole.replace("peakflops_avx512_fma", "peakflops"), "and not"),
            (whole.replace("running on hwthread", "somewhere"), "0 threads"),
        ] {
            let reason = parse(&text, &experiment).unwrap_err();
            assert!(reason.contains(why), "{why}: {reason}");
        }
        assert!(parse(&whole, &cpu(Isa::Avx512, 2)).unwrap_err().contains("1 threads and not 2"));
        let refused = LikwidBench.parse("5.2.2", &failed(1, "Error: Unknown test case nosuch"), &experiment);
        assert!(refused.unwrap_err().contains("Unknown test case"));
    }
}
