//! sysbench's memory test beside reads and writes that go straight through memory: as many bytes in as many threads.
//!
//! As it comes, its block is 1 KiB and all of its threads share one: that measures a first-level cache, whatever is
//! quoted. Here each thread has a block of its own (`--memory-scope=local`) as large as ours, so that it goes through as
//! much memory. Its loops take 8 bytes at a time, in C, with a check of the time after each block; they are no match for
//! a vector instruction where memory is not the limit, and that is said beside the figure. Its MiB are 2^20 bytes, and
//! it counts each byte once.
//!
//! Its cpu test looks for prime numbers and its fileio test makes files of its own: nothing of ours is like them.

use model::experiment::{Experiment, MemoryParams};
use model::isa::{Isa, MemoryOp};
use model::sample::MetricName;
use serde_json::{Map, json};

use super::memory::{no_loop, stream};
use super::{
    About, Invocation, Output, Reading, Reason, Reference, Rule, Side, Target, Version, arguments, bare_environment,
    complaint, distinct, examples, positive, succeeded,
};

pub(super) struct Sysbench;

static ABOUT: About = About {
    tool: "sysbench",
    program: "sysbench",
    launcher: None,
    version: Version::Asked { argument: "--version", prefix: "sysbench ", oldest: (1, 0) },
    stands_beside: "reads and writes of memory, by 8 bytes at a time",
    equal: "the working set, the threads and the CPUs",
    rules: &[&NARROW],
    how_to_get: "Debian package sysbench; https://github.com/akopytov/sysbench",
};
static NARROW: Rule = Rule { name: "narrow-loop", when: None, makes_it: Side::Slower };

const MIB: f64 = (1 << 20) as f64;
/// Bytes of its elements: the block of each thread has whole ones.
const ELEMENT: u64 = 8;
/// Bytes per second that it writes at least before it measures, for the expected time.
const BYTES_PER_SECOND: f64 = 0.5e9;
/// A total that is never reached: the time ends a run.
const NO_TOTAL: &str = "100T";

/// The parameters, its word for the operation, and the bytes of each thread's block.
fn parameters(experiment: &Experiment) -> Result<(&MemoryParams, &'static str, u64), String> {
    let params = stream(ABOUT.tool, experiment)?;
    let operation = match params.op {
        MemoryOp::Read => "read",
        MemoryOp::Write => "write",
        op => return Err(no_loop(ABOUT.tool, op)),
    };
    let threads = u64::from(params.threads);
    let block = params.working_set / threads.max(1);
    if block == 0 || block * threads != params.working_set || !block.is_multiple_of(ELEMENT) {
        let bytes = params.working_set;
        return Err(format!("sysbench's {threads} blocks of whole elements of {ELEMENT} B are not {bytes} B"));
    }
    if !block.is_power_of_two() {
        return Err(format!("sysbench's blocks are powers of two, and {block} B is none"));
    }
    Ok((params, operation, block))
}

impl Reference for Sysbench {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn example(&self) -> Experiment {
        examples::memory(MemoryOp::Read, Isa::Avx2, 64 << 20, 2)
    }

    fn stands_beside(&self, experiment: &Experiment) -> Result<(), String> {
        parameters(experiment).map(|_| ())
    }

    fn invocation(&self, target: &Target<'_>) -> Result<Invocation, String> {
        let (params, operation, block) = parameters(target.experiment)?;
        let seconds = target.seconds.ceil().clamp(1.0, 3600.0);
        let words = [
            "memory".to_owned(),
            format!("--memory-block-size={block}"),
            "--memory-scope=local".to_owned(),
            format!("--memory-oper={operation}"),
            format!("--memory-total-size={NO_TOTAL}"),
            format!("--threads={}", params.threads),
            format!("--time={seconds}"),
            "run".to_owned(),
        ];
        let bytes = params.working_set as f64;
        let expected_seconds = bytes / BYTES_PER_SECOND + seconds;
        Ok(Invocation {
            argv: arguments(target.program, words),
            env: bare_environment(),
            cpus: distinct(target.cpus),
            expected_seconds,
            timeout_seconds: 20.0 + 10.0 * expected_seconds,
            ..Invocation::default()
        })
    }

    fn parse(&self, _version: &str, output: &Output, experiment: &Experiment) -> Result<Reading, String> {
        let (params, operation, block) = parameters(experiment)?;
        let tool = ABOUT.tool;
        succeeded(tool, output)?;
        let text = &output.stdout;
        let said = |label: &str| {
            let line = text.lines().find_map(|line| line.trim_start().strip_prefix(label)).map(str::trim);
            line.ok_or_else(|| format!("sysbench printed no '{label}': {}", complaint(output)))
        };
        // It prints the KiB of a block without their rest.
        let kib = format!("{}KiB", block >> 10);
        for (label, wanted) in
            [("Number of threads:", params.threads.to_string()), ("block size:", kib), ("operation:", operation.into())]
        {
            let ran_with = said(label)?;
            if ran_with != wanted {
                return Err(format!("sysbench ran with {label} {ran_with} and not {wanted}"));
            }
        }
        let moved = text.lines().find(|line| line.contains("MiB transferred (")).unwrap_or_default();
        let rate = moved.split_once('(').and_then(|(_, rest)| rest.split_whitespace().next());
        let rate = rate.and_then(|word| word.parse::<f64>().ok()).filter(|rate| rate.is_finite());
        let rate = rate.ok_or_else(|| format!("sysbench printed no rate in MiB/sec: {}", complaint(output)))?;
        let value = positive(tool, "rate", rate * MIB)?;
        let mut details = Map::new();
        let number = |label: &str| said(label).ok()?.trim_end_matches('s').parse::<f64>().ok();
        details.extend(number("total number of events:").map(|blocks| ("blocks".to_owned(), json!(blocks))));
        details.extend(number("total time:").map(|seconds| ("seconds".to_owned(), json!(seconds))));
        details.insert("bytes_at_a_time".into(), json!(ELEMENT));
        Ok(Reading { metric: MetricName::Throughput, value, bytes_factor: 1.0, details })
    }

    fn reasons(&self, _version: &str, experiment: &Experiment, _reading: &Reading) -> Vec<Reason> {
        let Ok((params, operation, _)) = parameters(experiment) else { return Vec::new() };
        let ours = params.isa;
        vec![NARROW.says(format!("sysbench's loop {operation}s {ELEMENT} bytes at a time, ours uses {ours}"))]
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use model::isa::Isa;

    use super::*;
    use crate::reference::tests::{difference, failed, memory, recorded, said};

    fn reading_of(name: &str, op: MemoryOp, threads: u32) -> Result<Reading, String> {
        let experiment = memory(op, Isa::Avx2, u64::from(threads) << 26, threads);
        Sysbench.parse("1.0.20", &said(&recorded(name)), &experiment)
    }

    #[test]
    fn every_thread_has_a_block_as_large_as_ours() {
        let experiment = memory(MemoryOp::Read, Isa::Avx2, 1 << 30, 2);
        let target = Target {
            experiment: &experiment,
            program: Path::new("/usr/bin/sysbench"),
            launcher: None,
            cpus: &[0, 1],
            other_cpus: &[],
            seconds: 0.5,
            file: None,
            our_rate: None,
            version: "1.0.20",
            offered_rate: None,
        };
        let invocation = Sysbench.invocation(&target).unwrap();
        let expected = "/usr/bin/sysbench memory --memory-block-size=536870912 --memory-scope=local --memory-oper=read \
                        --memory-total-size=100T --threads=2 --time=1 run";
        assert_eq!((invocation.argv.join(" ").as_str(), invocation.cpus), (expected, vec![0, 1]));
    }

    #[test]
    fn what_it_cannot_do_alike_is_refused() {
        let why = |op, bytes, threads| Sysbench.stands_beside(&memory(op, Isa::Avx2, bytes, threads)).unwrap_err();
        assert!(why(MemoryOp::Copy, 1 << 30, 1).contains("no loop for copy"));
        assert!(why(MemoryOp::WriteNt, 1 << 30, 1).contains("no loop for write_nt"));
        assert!(why(MemoryOp::Read, 1000, 3).contains("whole elements"));
        assert!(why(MemoryOp::Read, 0, 1).contains("whole elements"));
        // Beyond a last-level cache of 260 MiB a working set is no power of two: sysbench ends with an error then.
        assert!(why(MemoryOp::Read, 1040 << 20, 2).contains("powers of two"));
    }

    #[test]
    fn recorded_runs_are_read_in_bytes() {
        let reading = reading_of("sysbench-1.0.20-read-64MiB-t2.txt", MemoryOp::Read, 2).unwrap();
        let of = |key: &str| reading.details[key].as_f64().unwrap();
        assert_eq!((reading.metric, reading.bytes_factor), (MetricName::Throughput, 1.0));
        // Blocks of 64 MiB in its seconds, as far as it prints digits.
        let counted = of("blocks") * f64::from(1 << 26) / of("seconds");
        assert!((reading.value / counted - 1.0).abs() < 0.01, "{reading:?}");
        reading_of("sysbench-1.0.20-write-64MiB-t1.txt", MemoryOp::Write, 1).unwrap();
        let sentence =
            difference(&Sysbench, "1.0.20", &memory(MemoryOp::Read, Isa::Avx2, 1 << 26, 1), &reading).unwrap();
        assert!(sentence.contains("8 bytes at a time") && sentence.contains("avx2"), "{sentence}");
    }

    #[test]
    fn what_it_did_not_measure_is_no_reading() {
        let whole = recorded("sysbench-1.0.20-write-64MiB-t1.txt");
        let experiment = memory(MemoryOp::Write, Isa::Avx2, 1 << 26, 1);
        let wrong = |op, threads| reading_of("sysbench-1.0.20-write-64MiB-t1.txt", op, threads).unwrap_err();
        assert!(wrong(MemoryOp::Read, 1).contains("operation: write and not read"));
        assert!(wrong(MemoryOp::Write, 2).contains("Number of threads: 1 and not 2"));
        for (text, why) in [
            (String::new(), "printed no 'Number of threads:'"),
            (whole.replace("65536KiB", "1KiB"), "block size: 1KiB and not 65536KiB"),
            (whole.split("General").next().unwrap().replace("MiB transferred", "KiB"), "no rate"),
            (whole.replace("transferred (", "transferred (nan "), "no rate"),
            (whole.replace("transferred (", "transferred (0 "), "no measurement"),
        ] {
            let reason = Sysbench.parse("1.0.20", &said(&text), &experiment).unwrap_err();
            assert!(reason.contains(why), "{why}: {reason}");
        }
        let refused = Sysbench.parse("1.0.20", &failed(1, "FATAL: invalid option"), &experiment).unwrap_err();
        assert!(refused.contains("invalid option"), "{refused}");
    }
}
