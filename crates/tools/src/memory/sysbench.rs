//! sysbench's memory test compared with sequential reads and writes: as many bytes in as many threads.
//!
//! By default all threads share one block of 1 KiB, which measures an L1 cache. Here each thread has a block as large as
//! ours (`--memory-scope=local`). Its C loop moves 8 bytes at a time and checks the clock after each block. Its MiB are 2^20
//! bytes, each byte counted once. Its cpu and fileio tests have no counterpart here.

use model::experiment::{Experiment, MemoryParams};
use model::isa::{Isa, MemoryOp};
use serde_json::{Map, json};

use super::{no_loop, sequential};
use crate::examples;
use crate::invocation::{Invocation, Target};
use crate::output::{Output, Reading, Text, number_in};
use crate::tool::{Adapter, Reason, Rule, Side, ToolDescription, VersionSource};

pub(crate) struct Sysbench;

const TOOL: &str = "sysbench";
static DESCRIPTION: ToolDescription = ToolDescription {
    id: TOOL,
    program: "sysbench",
    launcher: None,
    version: VersionSource::Asked { argument: "--version", prefix: "sysbench ", oldest: (1, 0) },
    compared_with: "reads and writes of memory, 8 bytes at a time",
    equal: "the working set, the threads and the CPUs",
    rules: &[&NARROW],
    how_to_get: "Debian package sysbench; https://github.com/akopytov/sysbench",
    example: || examples::memory(MemoryOp::Read, Isa::Avx2, 64 << 20, 2),
};
static NARROW: Rule = Rule::new("narrow-loop", None, Side::Slower);

const MIB: f64 = (1 << 20) as f64;
const ELEMENT: u64 = 8;
const BYTES_PER_SECOND: f64 = 0.5e9;
/// A total that it never reaches: the time ends a run.
const NO_TOTAL: &str = "100T";

pub(crate) struct Work<'a> {
    params: &'a MemoryParams,
    operation: &'static str,
    block: u64,
}

impl Adapter for Sysbench {
    const DESCRIPTION: &'static ToolDescription = &DESCRIPTION;
    type Work<'a> = Work<'a>;

    fn work(experiment: &Experiment) -> Result<Work<'_>, String> {
        let params = sequential(TOOL, experiment)?;
        let operation = match params.op {
            MemoryOp::Read => "read",
            MemoryOp::Write => "write",
            op => return Err(no_loop(TOOL, op)),
        };
        let (threads, bytes) = (u64::from(params.threads), params.working_set);
        let block = bytes / threads.max(1);
        if block < ELEMENT || block * threads != bytes || !block.is_power_of_two() {
            let reason = format!("sysbench's {threads} blocks are powers of two, of whole elements of {ELEMENT} B");
            return Err(format!("{reason}, which are not {bytes} B in all"));
        }
        Ok(Work { params, operation, block })
    }

    fn command(work: Work<'_>, target: &Target<'_>) -> Result<Invocation, String> {
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

    fn read(work: Work<'_>, output: &Output) -> Result<Reading, String> {
        output.succeeded(TOOL)?;
        let text = Text::new(TOOL, &output.stdout);
        text.ran_with("Number of threads:", work.params.threads)?;
        // It prints whole KiB.
        text.ran_as("block size:", &format!("{}KiB", work.block >> 10))?;
        text.ran_as("operation:", work.operation)?;
        let moved = text.text.lines().find(|line| line.contains("MiB transferred (")).unwrap_or_default();
        let rate = moved.split_once('(').and_then(|(_, rest)| number_in(rest.split_whitespace().next()?));
        let rate = rate.ok_or_else(|| format!("sysbench printed no rate in MiB/sec: {}", output.complaint()))?;
        let mut details = Map::new();
        for (name, label) in [("blocks", "total number of events:"), ("seconds", "total time:")] {
            let number = text.after(label).ok().and_then(|number| number_in(number.trim_end_matches('s')));
            details.extend(number.map(|number| (name.to_owned(), json!(number))));
        }
        details.insert("bytes_at_a_time".to_owned(), json!(ELEMENT));
        Reading::throughput(TOOL, rate * MIB, details)
    }

    fn differences(work: Work<'_>, _version: &str, _reading: &Reading) -> Vec<Option<Reason>> {
        let Work { params, operation, .. } = work;
        let ours = params.isa;
        vec![NARROW.says(format!("sysbench's loop {operation}s {ELEMENT} bytes at a time, ours uses {ours}"))]
    }
}

#[cfg(test)]
mod tests {
    use model::isa::Isa;
    use model::sample::MetricName;

    use super::*;
    use crate::tests::fixtures::{assert_refused, memory, recorded, said, target};
    use crate::tool::ReferenceTool;

    fn reading_of(name: &str, op: MemoryOp, threads: u32) -> Result<Reading, String> {
        let experiment = memory(op, Isa::Avx2, u64::from(threads) << 26, threads);
        Sysbench.parse(&said(&recorded(name)), &experiment)
    }

    #[test]
    fn every_thread_has_a_block_as_large_as_ours() {
        let experiment = memory(MemoryOp::Read, Isa::Avx2, 1 << 30, 2);
        let target = Target { cpus: &[0, 1], ..target(&experiment) };
        let invocation = Sysbench.invocation(&target).unwrap();
        let expected = "/opt/tool memory --memory-block-size=536870912 --memory-scope=local --memory-oper=read \
                        --memory-total-size=100T --threads=2 --time=1 run";
        assert_eq!((invocation.argv.join(" ").as_str(), invocation.cpus), (expected, vec![0, 1]));
    }

    #[test]
    fn what_it_cannot_do_alike_is_refused() {
        let why = |op, bytes, threads| Sysbench.supports(&memory(op, Isa::Avx2, bytes, threads)).unwrap_err();
        assert!(why(MemoryOp::Copy, 1 << 30, 1).contains("no loop for copy"));
        assert!(why(MemoryOp::WriteNt, 1 << 30, 1).contains("no loop for write_nt"));
        // With a last-level cache over 260 MiB, a working set is no power of two; sysbench rejects that.
        for (bytes, threads) in [(1000, 3), (0, 1), (4, 1), (1040 << 20, 2)] {
            assert!(why(MemoryOp::Read, bytes, threads).contains("powers of two"));
        }
    }

    #[test]
    fn recorded_runs_are_read_in_bytes() {
        let reading = reading_of("sysbench-1.0.20-read-64MiB-t2.txt", MemoryOp::Read, 2).unwrap();
        let of = |key: &str| reading.details[key].as_f64().unwrap();
        assert_eq!(reading.metric, MetricName::Throughput);
        // Blocks of 64 MiB over the printed seconds.
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
        assert_refused(
            &Sysbench,
            &experiment,
            [
                (String::new(), "printed no 'Number of threads:'"),
                (whole.replace("65536KiB", "1KiB"), "block size: 1KiB and not 65536KiB"),
                (whole.split("General").next().unwrap().replace("MiB transferred", "KiB"), "no rate"),
                (whole.replace("transferred (", "transferred (nan "), "no rate"),
                (whole.replace("transferred (", "transferred (0 "), "an impossible"),
            ],
        );
    }
}
