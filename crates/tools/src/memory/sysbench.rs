//! sysbench's memory test beside reads and writes that go straight through memory: as many bytes in as many threads.
//!
//! As it comes, its block is 1 KiB and all of its threads share one: that measures a first-level cache, whatever is
//! quoted. Here each thread has a block of its own (`--memory-scope=local`) as large as ours, so that it goes through as
//! much memory. Its loops take 8 bytes at a time, in C, with a check of the time after each block; vector instructions
//! are faster where memory is not the limit, which the explanation says. Its MiB are 2^20 bytes, and it counts each byte
//! once.
//!
//! Its cpu test looks for prime numbers and its fileio test makes files of its own: nothing of ours is like them.

use model::experiment::{Experiment, MemoryParams};
use model::isa::{Isa, MemoryOp};
use serde_json::{Map, json};

use super::passes::{no_loop, sequential};
use crate::difference::rules::{Reason, Rule, Side};
use crate::error::ToolError;
use crate::examples;
use crate::invocation::{Invocation, Target};
use crate::output::{Output, Reading};
use crate::parsing::{Text, number_in};
use crate::tool::{Adapter, ToolDescription};
use crate::version::source::VersionSource;

pub(crate) struct Sysbench;

const TOOL: &str = "sysbench";
static DESCRIPTION: ToolDescription = ToolDescription {
    id: TOOL,
    program: "sysbench",
    launcher: None,
    version: VersionSource::Asked { argument: "--version", prefix: "sysbench ", oldest: (1, 0) },
    compared_with: "reads and writes of memory, by 8 bytes at a time",
    equal: "the working set, the threads and the CPUs",
    rules: &[&NARROW],
    how_to_get: "Debian package sysbench; https://github.com/akopytov/sysbench",
    example: || examples::memory(MemoryOp::Read, Isa::Avx2, 64 << 20, 2),
};
static NARROW: Rule = Rule::new("narrow-loop", None, Side::Slower);

const MIB: f64 = (1 << 20) as f64;
/// Bytes of its elements: the block of each thread has whole ones.
const ELEMENT: u64 = 8;
/// Bytes per second that it writes at least before it measures, for the expected time.
const BYTES_PER_SECOND: f64 = 0.5e9;
/// A total that is never reached: the time ends a run.
const NO_TOTAL: &str = "100T";

/// What it is to do.
pub(crate) struct Work<'a> {
    params: &'a MemoryParams,
    /// Its word for the operation.
    operation: &'static str,
    /// Bytes of each thread's block.
    block: u64,
}

impl Adapter for Sysbench {
    const DESCRIPTION: &'static ToolDescription = &DESCRIPTION;
    type Work<'a> = Work<'a>;

    fn work(experiment: &Experiment) -> Result<Work<'_>, ToolError> {
        let params = sequential(TOOL, experiment)?;
        let operation = match params.op {
            MemoryOp::Read => "read",
            MemoryOp::Write => "write",
            op => return Err(no_loop(TOOL, op)),
        };
        let (threads, bytes) = (u64::from(params.threads), params.working_set);
        let block = bytes / threads.max(1);
        let reason = if block == 0 || block * threads != bytes || !block.is_multiple_of(ELEMENT) {
            format!("sysbench's {threads} blocks of whole elements of {ELEMENT} B are not {bytes} B")
        } else if !block.is_power_of_two() {
            format!("sysbench's blocks are powers of two, and {block} B is none")
        } else {
            return Ok(Work { params, operation, block });
        };
        Err(ToolError::Unsuitable(reason))
    }

    fn command(work: Work<'_>, target: &Target<'_>) -> Result<Invocation, ToolError> {
        let Work { params, operation, block } = work;
        let seconds = target.seconds.ceil().clamp(1.0, 3600.0);
        let words = format!(
            "memory --memory-block-size={block} --memory-scope=local --memory-oper={operation} \
             --memory-total-size={NO_TOTAL} --threads={} --time={seconds} run",
            params.threads
        );
        let expected_seconds = params.working_set as f64 / BYTES_PER_SECOND + seconds;
        Ok(Invocation::new(target, &words, [expected_seconds, 20.0 + 10.0 * expected_seconds]))
    }

    fn read(work: Work<'_>, output: &Output) -> Result<Reading, ToolError> {
        output.succeeded(TOOL)?;
        let text = Text::new(TOOL, &output.stdout);
        // It prints the KiB of a block without their rest.
        let kib = format!("{}KiB", work.block >> 10);
        let threads = work.params.threads.to_string();
        for (label, asked) in
            [("Number of threads:", threads.as_str()), ("block size:", &kib), ("operation:", work.operation)]
        {
            let ran_with = text.after(label)?;
            if ran_with != asked {
                return Err(ToolError::other_setting(TOOL, label, ran_with, asked));
            }
        }
        let moved = text.text.lines().find(|line| line.contains("MiB transferred (")).unwrap_or_default();
        let rate = moved.split_once('(').and_then(|(_, rest)| number_in(rest.split_whitespace().next()?));
        let rate = rate.ok_or_else(|| {
            ToolError::Unreadable(format!("sysbench printed no rate in MiB/sec: {}", output.complaint()))
        })?;
        let mut details = Map::new();
        for (name, label) in [("blocks", "total number of events:"), ("seconds", "total time:")] {
            let number = text.after(label).ok().and_then(|number| number_in(number.trim_end_matches('s')));
            details.extend(number.map(|number| (name.to_owned(), json!(number))));
        }
        details.insert("bytes_at_a_time".to_owned(), json!(ELEMENT));
        Reading::throughput(TOOL, rate * MIB, details)
    }

    fn differences(work: Work<'_>, _version: &str, _reading: &Reading) -> Vec<Reason> {
        let Work { params, operation, .. } = work;
        let ours = params.isa;
        vec![NARROW.says(format!("sysbench's loop {operation}s {ELEMENT} bytes at a time, ours uses {ours}"))]
    }
}

#[cfg(test)]
mod tests {
    use model::sample::MetricName;
    use std::path::Path;

    use model::isa::Isa;

    use super::*;
    use crate::tests::fixtures::{failed, memory, recorded, said, target};
    use crate::tool::ReferenceTool;

    fn reading_of(name: &str, op: MemoryOp, threads: u32) -> Result<Reading, ToolError> {
        let experiment = memory(op, Isa::Avx2, u64::from(threads) << 26, threads);
        Sysbench.parse(&said(&recorded(name)), &experiment)
    }

    #[test]
    fn every_thread_has_a_block_as_large_as_ours() {
        let experiment = memory(MemoryOp::Read, Isa::Avx2, 1 << 30, 2);
        let target = Target { program: Path::new("/usr/bin/sysbench"), cpus: &[0, 1], ..target(&experiment) };
        let invocation = Sysbench.invocation(&target).unwrap();
        let expected = "/usr/bin/sysbench memory --memory-block-size=536870912 --memory-scope=local --memory-oper=read \
                        --memory-total-size=100T --threads=2 --time=1 run";
        assert_eq!((invocation.argv.join(" ").as_str(), invocation.cpus), (expected, vec![0, 1]));
    }

    #[test]
    fn what_it_cannot_do_alike_is_refused() {
        let why = |op, bytes, threads| Sysbench.supports(&memory(op, Isa::Avx2, bytes, threads)).unwrap_err();
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
        assert_eq!(reading.metric, MetricName::Throughput);
        // Blocks of 64 MiB in its seconds, as far as it prints digits.
        let counted = of("blocks") * f64::from(1 << 26) / of("seconds");
        assert!((reading.value / counted - 1.0).abs() < 0.01, "{reading:?}");
        reading_of("sysbench-1.0.20-write-64MiB-t1.txt", MemoryOp::Write, 1).unwrap();
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
            let reason = Sysbench.parse(&said(&text), &experiment).unwrap_err();
            assert!(reason.contains(why), "{why}: {reason}");
        }
        let refused = Sysbench.parse(&failed(1, "FATAL: invalid option"), &experiment).unwrap_err();
        assert!(refused.contains("invalid option"), "{refused}");
    }
}
