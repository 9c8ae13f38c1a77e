//! likwid-bench compared with our arithmetic kernels and memory streams: assembly loops of the same vector width, on the same
//! CPUs, over a working set of the same size.
//!
//! It counts as we do: two flop per fused multiply-add, bytes read and written, no write-allocate traffic. Sizes are of all
//! arrays and threads together; a thread's part is rounded down to whole loop steps, and from 2 GiB on the size to whole kB.
//! `-s` takes whole seconds; with our rate known, `-i` sets the iterations. Its clock calibration takes another second.

use model::experiment::{CpuParams, Experiment, MemoryParams};
use model::isa::{CpuOp, Element, Isa, MemoryOp, Pages};
use serde_json::json;

use super::{no_loop, sequential};
use crate::examples;
use crate::invocation::{Invocation, Target};
use crate::output::{Output, Reading, Text, details, positive, unless};
use crate::tool::{Adapter, Reason, Rule, Side, ToolDescription, VersionSource};

pub(crate) struct LikwidBench;

const TOOL: &str = "likwid-bench";
static DESCRIPTION: ToolDescription = ToolDescription {
    id: TOOL,
    program: "likwid-bench",
    launcher: None,
    version: VersionSource::Asked { argument: "-v", prefix: "likwid-bench -- Version ", oldest: (5, 2) },
    compared_with: "multiply-add of fp64 and fp32; sequential reads, writes, copies and triads of memory and caches",
    equal: "the vector width, the CPUs and the working set",
    rules: &[&LOADS, &BASE_PAGES, &SMALLER],
    how_to_get: "Debian package likwid; https://github.com/RRZE-HPC/likwid",
    example: || examples::memory(MemoryOp::Read, Isa::Sse2, 64 << 20, 1),
};
static LOADS: Rule = Rule::new("operand-load", Some("compared with arithmetic"), Side::Slower);
static BASE_PAGES: Rule = Rule::new("base-pages", Some("ours is in pages of 2 MiB"), Side::Slower);
static SMALLER: Rule = Rule::new(
    "working-set",
    Some("its arrays, rounded to its loop, are more than 1 % smaller than ours"),
    Side::Either,
);

/// Seconds until it measures: two half seconds of clock calibration, and discovery.
const START_SECONDS: f64 = 1.1;
/// Minimum fill rate of a thread, page faults included, for the estimate.
const FILL_BYTES_PER_SECOND: f64 = 0.5e9;
/// Bytes per thread of an arithmetic loop: half of the smallest L1 cache (32 KiB).
const ARITHMETIC_BYTES: u64 = 16 << 10;

#[derive(Debug)]
pub(crate) struct Work<'a> {
    name: String,
    /// Flop or bytes counted per byte of the working set and pass, from `likwid-bench -l`.
    amount_per_byte: f64,
    bytes: u64,
    threads: u32,
    side: OurSide<'a>,
}

#[derive(Clone, Copy, Debug)]
enum OurSide<'a> {
    Arithmetic(&'a CpuParams),
    Stream(&'a MemoryParams),
}

/// The loop with the same arithmetic, and its operations per element: those of x86-64 and of Arm are in `bench/x86-64` and
/// `bench/armv8` of its source.
fn arithmetic(experiment: &Experiment, params: &CpuParams) -> Result<(String, u32), String> {
    if params.op != CpuOp::Fma {
        return Err(format!("likwid-bench has no loop for {} of {}", params.op, params.element));
    }
    let fused = experiment.method.starts_with("cpu-fma/");
    let vector_bits = experiment.kernel.as_ref().map_or(0, |kernel| kernel.accumulator_bits);
    let isa = match (params.isa, fused) {
        (Isa::Avx512, true) => "_avx512_fma",
        (Isa::Avx2, true) => "_avx_fma",
        (Isa::Sse2, false) => "_sse",
        (Isa::Scalar, false) => "",
        (Isa::Neon, true) => "_neon_fma",
        (Isa::Sve, true) => match vector_bits {
            128 => "_sve128_fma",
            256 => "_sve256_fma",
            512 => "_sve512_fma",
            bits => return Err(format!("likwid-bench has no loop for SVE with {bits} bits")),
        },
        (isa, _) => {
            let how = if fused { "fused" } else { "separate" };
            return Err(format!("likwid-bench has no {how} multiply-add of {} with {isa}", params.element));
        }
    };
    let element = match params.element {
        Element::Fp64 => "",
        Element::Fp32 => "_sp",
        other => return Err(format!("likwid-bench has no multiply-add of {other}")),
    };
    Ok((format!("peakflops{element}{isa}"), operations_per_element(params.isa)))
}

/// Operations on each element loaded (`likwid-bench -l`).
fn operations_per_element(isa: Isa) -> u32 {
    match isa {
        Isa::Neon | Isa::Sve => 56,
        Isa::Avx512 | Isa::Avx2 => 30,
        _ => 16,
    }
}

/// The loop of the same stream; of two that differ in arithmetic alone the fused one, which takes more elements at a time.
fn stream_loop(params: &MemoryParams) -> Result<&'static str, String> {
    let names = match params.op {
        MemoryOp::Read => ["load_sse", "load_avx", "load_avx512"],
        MemoryOp::Write => ["store_sse", "store_avx", "store_avx512"],
        MemoryOp::WriteNt => ["store_mem_sse", "store_mem_avx", "store_mem_avx512"],
        MemoryOp::Copy => ["copy_sse", "copy_avx", "copy_avx512"],
        MemoryOp::CopyNt => ["copy_mem_sse", "copy_mem_avx", "copy_mem_avx512"],
        // Its triad has four arrays; its `stream` is STREAM's triad.
        MemoryOp::Triad => ["stream_sse", "stream_avx_fma", "stream_avx512_fma"],
        MemoryOp::TriadNt => ["stream_mem_sse", "stream_mem_avx_fma", "stream_mem_avx512"],
        MemoryOp::Update => {
            let reason = "likwid-bench's update stores what it has loaded, ours changes it";
            return Err(reason.to_owned());
        }
        op => return Err(no_loop(TOOL, op)),
    };
    let width = [Isa::Sse2, Isa::Avx2, Isa::Avx512].iter().position(|isa| *isa == params.isa);
    width.map(|width| names[width]).ok_or_else(|| format!("{TOOL} has no {} with {}", params.op, params.isa))
}

impl Adapter for LikwidBench {
    const DESCRIPTION: &'static ToolDescription = &DESCRIPTION;
    type Work<'a> = Work<'a>;

    fn work(experiment: &Experiment) -> Result<Work<'_>, String> {
        let threads = experiment.params.threads();
        if let Some(params) = experiment.cpu() {
            let (name, operations) = arithmetic(experiment, params)?;
            let element_bytes = if params.element == Element::Fp64 { 8.0 } else { 4.0 };
            let amount_per_byte = f64::from(operations) / element_bytes;
            let bytes = ARITHMETIC_BYTES * u64::from(threads);
            return Ok(Work { name, amount_per_byte, bytes, threads, side: OurSide::Arithmetic(params) });
        }
        if experiment.memory().is_none() {
            return Err("likwid-bench measures arithmetic and memory".to_owned());
        }
        let params = sequential(TOOL, experiment)?;
        let (name, bytes) = (stream_loop(params)?.to_owned(), params.working_set);
        Ok(Work { name, amount_per_byte: 1.0, bytes, threads, side: OurSide::Stream(params) })
    }

    fn command(work: Work<'_>, target: &Target<'_>) -> Result<Invocation, String> {
        let Work { name, amount_per_byte, bytes, threads, .. } = work;
        // Every thread makes all iterations over its own part.
        let passes = target.our_rate.map(|rate| rate * target.seconds / (amount_per_byte * bytes as f64));
        let length = match passes.filter(|passes| passes.is_finite() && *passes >= 0.0) {
            Some(passes) => format!("-i {:.0}", passes.round().max(1.0)),
            None => "-s 1".to_owned(),
        };
        let fill_seconds = bytes as f64 / FILL_BYTES_PER_SECOND;
        let expected_seconds = START_SECONDS + fill_seconds + target.seconds.max(0.1);
        // Its thread domains shrink to the CPUs it may use, so `N` is exactly these.
        let words = format!("-t {name} -W N:{}:{threads} {length}", size(bytes));
        Ok(Invocation::new(target, &words, [expected_seconds, 20.0 + 10.0 * expected_seconds]))
    }

    fn read(work: Work<'_>, output: &Output) -> Result<Reading, String> {
        output.succeeded(TOOL)?;
        let text = Text::new(TOOL, &output.stdout);
        text.ran_as("Test:", &work.name)?;
        let cpus = hardware_threads(output);
        unless(cpus.len() == work.threads as usize, TOOL, "threads", cpus.len(), work.threads)?;
        let (rate, total) = match work.side {
            OurSide::Arithmetic(_) => ("MFlops/s:", "Number of Flops:"),
            OurSide::Stream(_) => ("MByte/s:", "Data volume (Byte):"),
        };
        let (rate, total) = (text.number(rate)? * 1e6, text.number(total)?);
        let seconds = positive(TOOL, "time", text.number("Time:")?)?;
        let details = details([
            ("kernel", json!(work.name)),
            ("seconds", json!(seconds)),
            ("working_set", json!(text.number("Size (Byte):")?)),
            ("iterations_per_thread", json!(text.number("Iterations per thread:")?)),
            ("cpus", json!(cpus)),
        ]);
        let reading = Reading::throughput(TOOL, rate, details)?;
        reading.check_against(TOOL, total, seconds)?;
        Ok(reading)
    }

    fn differences(work: Work<'_>, _version: &str, reading: &Reading) -> Vec<Option<Reason>> {
        match work.side {
            OurSide::Arithmetic(params) => {
                // A fused instruction is two operations.
                let is_fused = matches!(params.isa, Isa::Avx512 | Isa::Avx2 | Isa::Neon | Isa::Sve);
                let per_load = operations_per_element(params.isa) / if is_fused { 2 } else { 1 };
                vec![LOADS.says(format!(
                    "likwid-bench's loop also loads an operand from the L1 cache for every {per_load} arithmetic \
                     instructions, ours keeps all of them in registers"
                ))]
            }
            OurSide::Stream(params) => {
                let base_pages = "likwid-bench's arrays are in base pages, ours in pages of 2 MiB";
                let ours = params.working_set;
                let its = reading.detail("working_set").filter(|its| *its < 0.99 * ours as f64);
                vec![
                    BASE_PAGES.says_if(params.pages == Pages::Huge2M, base_pages),
                    its.and_then(|its| SMALLER.says(format!("likwid-bench went over {its} B, we over {ours} B"))),
                ]
            }
        }
    }
}

/// A size in the smallest unit whose number it can hold: it reads 32 bits with a sign (`str2int` in its `strUtil.c`). Its kB
/// are 1000 B.
fn size(bytes: u64) -> String {
    let units = [(1, "B"), (1000, "kB"), (1_000_000, "MB"), (1_000_000_000, "GB")];
    let fits = |factor: u64| i32::try_from(bytes / factor).is_ok();
    let (factor, unit) = units.into_iter().find(|(factor, _)| fits(*factor)).unwrap_or(units[3]);
    format!("{}{unit}", bytes / factor)
}

fn hardware_threads(output: &Output) -> Vec<u32> {
    let cpu = |line: &str| {
        let rest = line.strip_prefix("Group: ")?.split_once("running on hwthread ")?.1;
        rest.split_whitespace().next()?.parse().ok()
    };
    output.stdout.lines().filter_map(cpu).collect()
}

#[cfg(test)]
mod tests {
    use model::experiment::Loop;
    use model::sample::MetricName;

    use super::*;
    use crate::tests::fixtures::{assert_refused, chase, cpu, memory, recorded, said, target};
    use crate::tool::ReferenceTool;

    fn parse(text: &str, experiment: &Experiment) -> Result<Reading, String> {
        LikwidBench.parse(&said(text), experiment)
    }

    #[test]
    fn the_same_width_and_the_same_arithmetic() {
        let name = |element, isa, method: &str, accumulator_bits| {
            let params = CpuParams { op: CpuOp::Fma, element, isa, threads: 1 };
            let mut experiment = Experiment::new(String::new(), params.clone(), method);
            experiment.kernel = Some(Loop { accumulator_bits, ..Loop::default() });
            arithmetic(&experiment, &params).map(|(name, _)| name)
        };
        for (element, isa, method, bits, expected) in [
            (Element::Fp64, Isa::Avx512, "cpu-fma/1", 512, "peakflops_avx512_fma"),
            (Element::Fp32, Isa::Avx2, "cpu-fma/1", 256, "peakflops_sp_avx_fma"),
            (Element::Fp64, Isa::Sse2, "cpu-mul-add/1", 128, "peakflops_sse"),
            (Element::Fp64, Isa::Scalar, "cpu-mul-add/1", 64, "peakflops"),
            (Element::Fp32, Isa::Neon, "cpu-fma/1", 128, "peakflops_sp_neon_fma"),
            (Element::Fp64, Isa::Sve, "cpu-fma/1", 256, "peakflops_sve256_fma"),
        ] {
            assert_eq!(name(element, isa, method, bits).as_deref(), Ok(expected));
        }
        for (element, isa, bits, why) in [
            (Element::Fp64, Isa::Scalar, 64, "no fused multiply-add"),
            (Element::Fp64, Isa::Sve, 1024, "SVE with 1024 bits"),
            (Element::Fp16, Isa::Avx512, 512, "no multiply-add of fp16"),
        ] {
            let reason = name(element, isa, "cpu-fma/1", bits).unwrap_err();
            assert!(reason.contains(why), "{reason}");
        }
        let dot = CpuParams { op: CpuOp::Dot, element: Element::Int8, isa: Isa::Avx512Vnni, threads: 1 };
        assert!(arithmetic(&Experiment::new(String::new(), dot.clone(), "cpu-dot/1"), &dot).is_err());
    }

    #[test]
    fn the_same_width_and_the_same_stream() {
        let name = |op, isa| LikwidBench::work(&memory(op, isa, 1 << 30, 1)).map(|work| work.name);
        for (op, isa, expected) in [
            (MemoryOp::Read, Isa::Avx512, "load_avx512"),
            (MemoryOp::Write, Isa::Sse2, "store_sse"),
            (MemoryOp::WriteNt, Isa::Avx2, "store_mem_avx"),
            (MemoryOp::CopyNt, Isa::Avx512, "copy_mem_avx512"),
            (MemoryOp::Triad, Isa::Avx2, "stream_avx_fma"),
            (MemoryOp::TriadNt, Isa::Sse2, "stream_mem_sse"),
        ] {
            assert_eq!(name(op, isa).as_deref(), Ok(expected));
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
        assert!(LikwidBench::work(&chase(1 << 30)).unwrap_err().contains("our chase pattern"));
    }

    #[test]
    fn iterations_follow_from_our_rate() {
        let experiment = memory(MemoryOp::CopyNt, Isa::Avx2, 1 << 30, 2);
        let target = Target { cpus: &[3, 1], our_rate: Some(30e9), ..target(&experiment) };
        let invocation = LikwidBench.invocation(&target).unwrap();
        // 30 GB/s for 0.5 s are 13.97 passes over 1 GiB.
        assert_eq!(invocation.argv.join(" "), "/opt/tool -t copy_mem_avx -W N:1073741824B:2 -i 14");
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
            assert_eq!(reading.details["working_set"], bytes as f64, "{name}");
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
        assert_refused(
            &LikwidBench,
            &experiment,
            [
                (String::new(), "no 'Test:'"),
                ("\u{fffd}garbage\n".repeat(9), "no 'Test:'"),
                (whole.split("MFlops").next().unwrap().to_owned(), "no 'MFlops/s:'"),
                (whole.replace("MFlops/s:\t\t", "MFlops/s:\t\tnan "), "not a number"),
                (whole.replace("MFlops/s:\t\t", "MFlops/s:\t\t9"), "contradicts"),
                (whole.replace("peakflops_avx512_fma", "peakflops"), "and not"),
                (whole.replace("running on hwthread", "somewhere"), "threads 0"),
            ],
        );
        assert!(parse(&whole, &cpu(Isa::Avx512, 2)).unwrap_err().contains("threads 1 and not 2"));
    }
}
