//! `IOzone` compared with direct I/O at one request at a time: records as large as our blocks, a process for each thread,
//! and a file for each process.
//!
//! It lays out its own data in [`OwnFiles`], sized by our rate: test `-i 0` writes and rewrites them, as our writes do, and
//! the tests that read follow. One process prints one line of the table of its automatic mode (`-a`); several print their
//! total, the slowest and the fastest.
//! Its `kB` are 1024 B; `-s` is per process. `-I` is `O_DIRECT`, `-o` `O_SYNC`, `-+D` `O_DSYNC`. Flush and close (`-e`, `-c`)
//! do not count, as with us. Tests 9 and 10 use `pwrite` and `pread`, the others seek first. `-+n` skips the second pass;
//! `-+N` keeps test 9 from truncating the file.

use model::experiment::{DiskParams, Experiment};
use model::io::{DiskEngine, DiskOp, DiskPattern, DiskSync};
use serde_json::{Map, Value, json};

use super::{BASE_PAGES, in_pieces, one_at_a_time, reading};
use crate::examples;
use crate::invocation::{FILES, Invocation, OwnFiles, Target};
use crate::output::{Output, Reading, not_comparable, number_in, positive, refuse_if};
use crate::tool::{Adapter, Reason, Rule, Side, ToolDescription, VersionSource};

pub(crate) struct Iozone;

const TOOL: &str = "iozone";
static DESCRIPTION: ToolDescription = ToolDescription {
    id: TOOL,
    program: "iozone",
    launcher: None,
    version: VersionSource::Asked { argument: "-v", prefix: "Version $Revision: ", oldest: (3, 398) },
    compared_with: "direct reads and writes of a disk, one request at a time: in order, backward, with a stride, at random",
    equal: "the block, the number of requests at a time, direct I/O, the file system and the CPUs",
    rules: &[&OTHER_SIZE, &FILE_EACH, &WAITS, &SEEKS, &SAME_BYTE, &BASE_PAGES],
    how_to_get: "https://www.iozone.org; no Debian package in main (non-free: iozone3)",
    example: || examples::random_reads(DiskEngine::Sync, 1),
};
static OTHER_SIZE: Rule = Rule::new("file-size", Some("its files differ in size from ours"), Side::Either);
static FILE_EACH: Rule =
    Rule::new("file-each", Some("several processes have files that are together as large as ours"), Side::Either);
static WAITS: Rule = Rule::new("engine", Some("ours uses an engine other than sync"), Side::Either);
static SEEKS: Rule = Rule::new("seek", Some("ours is sync and the mode is not one of pread or pwrite"), Side::Slower);
static SAME_BYTE: Rule = Rule::new("same-byte", Some("it writes"), Side::Faster);

const KIB: u64 = 1024;
const START_SECONDS: f64 = 0.5;
/// Lowest write rate of a disk, for the timeout.
const SLOWEST_BYTES_PER_SECOND: f64 = 20e6;
/// Assumed rate where ours is unknown.
const UNKNOWN_BYTES_PER_SECOND: f64 = 100e6;
/// Minimum records per process: with fewer, the first ends before the last begins.
const LEAST_RECORDS: u64 = 16;

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Test {
    op: DiskOp,
    pattern: DiskPattern,
    /// Uses system calls that take a position.
    positioned: bool,
    /// Options after `-i 0`, which lays out the data.
    options: &'static [&'static str],
    passes: u32,
    /// Values on a line of the table, and the index of this test's.
    columns: usize,
    column: usize,
    processes: &'static str,
}

/// Sequential read; the other tests differ in some fields.
const READ: Test = Test {
    op: DiskOp::Read,
    pattern: DiskPattern::Sequential,
    positioned: false,
    options: &["-i", "1", "-+n"],
    passes: 2,
    columns: 4,
    column: 2,
    processes: "readers",
};

static TESTS: &[Test] = &[
    READ,
    Test { positioned: true, options: &["-i", "10", "-+n"], processes: "pread readers", ..READ },
    Test { op: DiskOp::Write, options: &[], columns: 2, column: 1, processes: "rewriters", ..READ },
    Test {
        op: DiskOp::Write,
        positioned: true,
        options: &["-i", "9", "-+n", "-+N"],
        processes: "pwrite writers",
        ..READ
    },
    Test { pattern: DiskPattern::Random, options: &["-i", "2"], passes: 4, processes: "random readers", ..READ },
    Test {
        op: DiskOp::Write,
        pattern: DiskPattern::Random,
        options: &["-i", "2"],
        passes: 4,
        column: 3,
        processes: "random writers",
        ..READ
    },
    Test {
        pattern: DiskPattern::Backward,
        options: &["-i", "3", "-+n"],
        columns: 3,
        processes: "reverse readers",
        ..READ
    },
    Test {
        pattern: DiskPattern::Strided,
        // Without `-j` the stride would also be 17 records.
        options: &["-i", "5", "-+n", "-j", "17"],
        columns: 3,
        processes: "stride readers",
        ..READ
    },
];

/// The longest record: its `MAXBUFLEN`.
const MOST_RECORD: u64 = 16 << 20;

/// The largest file: it reads KiB as 32 bits with a sign.
const MOST_FILE: u64 = (i32::MAX as u64) * KIB;

/// Bytes per process: whole records, as many as fill the time of a run.
fn bytes_each(params: &DiskParams, our_rate: Option<f64>, seconds: f64) -> u64 {
    let per_value = if params.pattern == DiskPattern::Random { params.block as f64 } else { 1.0 };
    let rate = our_rate.map_or(UNKNOWN_BYTES_PER_SECOND, |rate| rate * per_value);
    let threads = u64::from(params.threads);
    let most = (params.size / threads).min(MOST_FILE) / params.block;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a number of records, then bounded")]
    let wanted = (rate.max(0.0) * seconds / params.block as f64) as u64 / threads;
    wanted.max(LEAST_RECORDS).min(most).max(1) * params.block
}

/// One process prints a table, except in the tests that take a position.
const fn in_a_table(params: &DiskParams, test: &Test) -> bool {
    params.threads == 1 && !test.positioned
}

impl Adapter for Iozone {
    const DESCRIPTION: &'static ToolDescription = &DESCRIPTION;
    type Work<'a> = (&'a DiskParams, &'static Test);

    fn work(experiment: &Experiment) -> Result<Self::Work<'_>, String> {
        let params = one_at_a_time(TOOL, experiment)?;
        // Only sequential tests exist with both kinds of system calls.
        let positioned = params.engine == DiskEngine::Sync && params.pattern == DiskPattern::Sequential;
        let is_it = |test: &&Test| (test.op, test.pattern, test.positioned) == (params.op, params.pattern, positioned);
        let only_reads = params.sync != DiskSync::None && !params.op.writes();
        let reasons = [
            (!params.block.is_multiple_of(KIB), "its records are multiples of 1 KiB"),
            (params.block > MOST_RECORD, "its records are at most 16 MiB"),
            (only_reads, "synchronous writes do not apply to a benchmark that only reads"),
        ];
        refuse_if(TOOL, &reasons)?;
        let none = || format!("it has no test for {} {}", params.pattern, params.op);
        let test = TESTS.iter().find(is_it).ok_or_else(|| not_comparable(TOOL, &none()))?;
        Ok((params, test))
    }

    fn command((params, test): Self::Work<'_>, target: &Target<'_>) -> Result<Invocation, String> {
        let directory = target.held_file(TOOL)?.directory.clone().into();
        let (bytes_each, count) = (bytes_each(params, target.our_rate, target.seconds), params.threads);
        let sync = match params.sync {
            DiskSync::None => "",
            DiskSync::Dsync => "-+D",
            DiskSync::Sync => "-o",
        };
        let files = if in_a_table(params, test) {
            format!("-f {FILES}")
        } else {
            // At least and at most this many processes.
            format!("-l {count} -u {count} -F {FILES}")
        };
        let words = format!(
            "-I -w -s{}k -r{}k {sync} -i 0 {} {files}",
            bytes_each / KIB,
            params.block / KIB,
            test.options.join(" ")
        );
        let all_bytes = bytes_each as f64 * f64::from(count) * f64::from(test.passes);
        let expected_seconds = START_SECONDS + f64::from(test.passes) * target.seconds;
        let most_seconds = 20.0 + 4.0 * expected_seconds + all_bytes / SLOWEST_BYTES_PER_SECOND;
        Ok(Invocation {
            own_files: Some(OwnFiles { directory, count, bytes_each }),
            ..Invocation::new(target, &words, [expected_seconds, most_seconds])
        })
    }

    fn read((params, test): Self::Work<'_>, output: &Output) -> Result<Reading, String> {
        // It prints errors on standard output.
        if let Some(line) = output.stdout.lines().find(|line| line.starts_with("Error: ")) {
            return Err(format!("iozone reports: {}", line.trim_start_matches("Error: ").trim()));
        }
        output.succeeded(TOOL)?;
        let mut details = Map::new();
        let mut add = |name: &str, value| details.insert(name.to_owned(), value);
        let rate = if in_a_table(params, test) {
            let line = of_one_process(output, params.block, test)?;
            add("bytes_per_process", json!(line.file_bytes));
            line.rates[test.column]
        } else {
            let group = of_processes(&output.stdout, params, test)?;
            add("bytes_per_process", json!(group.bytes_each));
            add("process_min", json!(group.min));
            add("process_max", json!(group.max));
            add("throughput_with_the_wait_for_the_last", json!(group.parent));
            group.children
        };
        let throughput = positive(TOOL, test.processes, rate)?;
        add("test", json!(test.processes));
        add("throughput", json!(throughput));
        Ok(reading(params, throughput / params.block as f64, throughput, details))
    }

    fn differences((params, test): Self::Work<'_>, _version: &str, reading: &Reading) -> Vec<Option<Reason>> {
        let (threads, size, engine) = (params.threads, params.size, params.engine);
        let bytes = reading.details.get("bytes_per_process").and_then(Value::as_u64);
        let other_size = bytes.filter(|bytes| bytes.saturating_mul(u64::from(threads)) != size);
        let whose = if threads == 1 { "file has" } else { "processes have a file each of" };
        let seeks = engine == DiskEngine::Sync && !test.positioned;
        vec![
            other_size.and_then(|bytes| OTHER_SIZE.says(format!("iozone's {whose} {bytes} B, ours has {size} B"))),
            FILE_EACH.says_if(
                other_size.is_none() && threads > 1,
                "iozone's processes have a file each, our threads share one",
            ),
            WAITS.says_if(
                engine != DiskEngine::Sync,
                format!("iozone blocks in a system call for each record, ours uses {engine}"),
            ),
            SEEKS.says_if(seeks, "iozone makes two system calls per record, a seek and the transfer"),
            in_pieces(TOOL, params),
            SAME_BYTE
                .says_if(params.op.writes(), "iozone writes almost only one byte value, which some devices compress"),
        ]
    }
}

#[derive(Clone, Debug, PartialEq)]
struct TableLine {
    file_bytes: u64,
    record_bytes: u64,
    /// Bytes per second for each test, first pass before second; 0: left out.
    rates: Vec<f64>,
}

fn table(text: &str) -> Vec<TableLine> {
    let behind = text.lines().skip_while(|line| !line.split_whitespace().take(2).eq(["kB", "reclen"]));
    let line = |line: &str| {
        let numbers: Option<Vec<u64>> = line.split_whitespace().map(|word| word.parse().ok()).collect();
        let [file, record, rates @ ..] = numbers.as_deref()? else { return None };
        let rates: Vec<f64> = rates.iter().map(|rate| (*rate as f64) * KIB as f64).collect();
        Some(TableLine { file_bytes: file.checked_mul(KIB)?, record_bytes: record.checked_mul(KIB)?, rates })
    };
    behind.skip(1).filter_map(line).collect()
}

fn of_one_process(output: &Output, block: u64, test: &Test) -> Result<TableLine, String> {
    let line = table(&output.stdout).into_iter().find(|line| line.record_bytes == block);
    let (kib, complaint) = (block / KIB, output.complaint());
    let line = line.ok_or_else(|| format!("iozone printed no values for records of {kib} KiB: {complaint}"))?;
    let (found, wanted) = (line.rates.len(), test.columns);
    if found != wanted {
        let reason =
            format!("iozone printed {found} values and not {wanted}: it may be built without one of its tests");
        return Err(reason);
    }
    Ok(line)
}

#[derive(Debug, PartialEq)]
struct Group {
    bytes_each: u64,
    children: f64,
    parent: f64,
    min: f64,
    max: f64,
}

fn of_processes(text: &str, params: &DiskParams, test: &Test) -> Result<Group, String> {
    let missing = |what: &str| format!("iozone printed no {what} for its {}", test.processes);
    let laid_out = text.lines().map(str::trim).find_map(|line| line.strip_prefix("Each process writes a "));
    let mut words = laid_out.ok_or_else(|| missing("file size"))?.split_whitespace();
    let (file, record) = (words.next().and_then(kib), words.nth(3).and_then(kib));
    let (file, record) = file.zip(record).ok_or_else(|| missing("file size"))?;
    if record != params.block {
        return Err(format!("iozone's records have {record} B and not {} B", params.block));
    }
    let heading = format!("Children see throughput for {} {}", params.threads, test.processes);
    let squeezed = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let is_it = |line: &str| squeezed(line).strip_prefix(&heading).is_some_and(|rest| rest.trim().starts_with('='));
    let mut lines = text.lines().skip_while(|line| !is_it(line));
    let children = lines.next().and_then(rate).ok_or_else(|| missing("throughput"))?;
    let of_test: Vec<&str> = lines.take_while(|line| !line.contains("Children see")).collect();
    let value = |what: &str| {
        let line = of_test.iter().find(|line| line.trim_start().starts_with(what));
        line.and_then(|line| rate(line)).ok_or_else(|| missing(what))
    };
    let group = Group {
        bytes_each: file,
        children,
        parent: value("Parent sees throughput")?,
        min: value("Min throughput per process")?,
        max: value("Max throughput per process")?,
    };
    // The total is between N times the slowest and N times the fastest.
    let processes = f64::from(params.threads);
    if !(group.min * processes * 0.999..=group.max * processes * 1.001).contains(&group.children) {
        return Err(format!("iozone contradicts itself: {processes} processes did {group:?}"));
    }
    Ok(group)
}

fn kib(word: &str) -> Option<u64> {
    word.parse::<u64>().ok()?.checked_mul(KIB)
}

/// The number after `=`, in bytes per second.
fn rate(line: &str) -> Option<f64> {
    let mut words = line.split_once('=')?.1.split_whitespace();
    let number = number_in(words.next()?)?;
    let unit = words.next()?;
    let is_kib = unit.eq_ignore_ascii_case("kB/sec") || unit.eq_ignore_ascii_case("kBytes/sec");
    is_kib.then_some(number * KIB as f64)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use model::io::DiskLayout;
    use model::sample::MetricName;
    use model::wire::HeldFile;

    use super::*;
    use crate::tests::fixtures::{assert_refused, disk, disk_params, recorded, said, target};
    use crate::tool::ReferenceTool;

    const MIB: u64 = 1 << 20;

    fn params(op: DiskOp, pattern: DiskPattern, engine: DiskEngine, threads: u32) -> DiskParams {
        let size = 16 * MIB * u64::from(threads);
        DiskParams { op, pattern, engine, threads, block: MIB, size, depth: 1, ..disk_params(1) }
    }

    fn argv(params: DiskParams, our_rate: Option<f64>) -> Result<(String, OwnFiles), String> {
        let file = HeldFile { directory: "/data".to_owned(), bytes: params.size, ..HeldFile::default() };
        let experiment = disk(params);
        let invocation =
            Iozone.invocation(&Target { cpus: &[1, 0], file: Some(&file), our_rate, ..target(&experiment) })?;
        assert!(invocation.files.is_empty(), "it is never given our own file");
        Ok((invocation.argv.join(" "), invocation.own_files.unwrap()))
    }

    #[test]
    fn each_process_has_a_file_of_its_own_as_large_as_our_rate_fills() {
        let read = params(DiskOp::Read, DiskPattern::Sequential, DiskEngine::IoUring, 2);
        let (called, files) = argv(DiskParams { size: 1 << 30, ..read.clone() }, Some(100.0 * MIB as f64)).unwrap();
        assert_eq!(called, "/opt/tool -I -w -s25600k -r1024k -i 0 -i 1 -+n -l 2 -u 2 -F {files}");
        assert_eq!((files.directory.as_path(), files.count, files.bytes_each), (Path::new("/data"), 2, 25 * MIB));
        let (called, files) = argv(read, None).unwrap();
        assert!(called.contains("-s16384k") && files.bytes_each == 16 * MIB, "no more than ours: {called}");
        let random = DiskParams {
            block: 4096,
            size: 1 << 30,
            sync: DiskSync::Dsync,
            ..params(DiskOp::Write, DiskPattern::Random, DiskEngine::Sync, 1)
        };
        // 1000 requests per second for half a second.
        let (called, _) = argv(random, Some(1000.0)).unwrap();
        assert_eq!(called, "/opt/tool -I -w -s2000k -r4k -+D -i 0 -i 2 -f {files}");
    }

    #[test]
    fn the_system_calls_are_ours_where_it_has_them() {
        let called = |op, pattern, engine| argv(params(op, pattern, engine, 1), None).unwrap().0;
        let (read, write) = (DiskOp::Read, DiskOp::Write);
        let (in_order, at_random) = (DiskPattern::Sequential, DiskPattern::Random);
        for (op, pattern, engine, options) in [
            (read, in_order, DiskEngine::Sync, "-i 0 -i 10 -+n -l 1 -u 1 -F {files}"),
            (read, in_order, DiskEngine::Libaio, "-i 0 -i 1 -+n -f {files}"),
            (write, in_order, DiskEngine::Sync, "-i 0 -i 9 -+n -+N -l 1 -u 1 -F {files}"),
            (write, in_order, DiskEngine::IoUring, "-i 0 -f {files}"),
            (read, at_random, DiskEngine::Sync, "-i 0 -i 2 -f {files}"),
            (read, DiskPattern::Backward, DiskEngine::Sync, "-i 0 -i 3 -+n -f {files}"),
            (read, DiskPattern::Strided, DiskEngine::Sync, "-i 0 -i 5 -+n -j 17 -f {files}"),
        ] {
            assert!(called(op, pattern, engine).ends_with(options), "{op} {pattern} {engine}");
        }
        let synced = DiskParams { sync: DiskSync::Sync, ..params(write, in_order, DiskEngine::IoUring, 1) };
        assert!(argv(synced, None).unwrap().0.contains("-r1024k -o -i 0"));
    }

    #[test]
    fn only_what_it_does_is_compared() {
        let read = params(DiskOp::Read, DiskPattern::Sequential, DiskEngine::IoUring, 1);
        let why = |params| Iozone.supports(&disk(params)).unwrap_err();
        for (params, reason) in [
            (DiskParams { depth: 4, ..read.clone() }, "queue depth is 1"),
            (DiskParams { direct: false, ..read.clone() }, "direct"),
            (DiskParams { block: 512, ..read.clone() }, "multiples of 1 KiB"),
            (DiskParams { block: 80 << 20, ..read.clone() }, "at most 16 MiB"),
            (DiskParams { engine: DiskEngine::Null, ..read.clone() }, "no device"),
            (DiskParams { op: DiskOp::Mixed, ..read.clone() }, "no test for sequential mixed"),
            (DiskParams { op: DiskOp::Reread, ..read.clone() }, "no test"),
            (DiskParams { load_percent: Some(50), ..read.clone() }, "open loop"),
        ] {
            assert!(why(params).contains(reason), "{reason}");
        }
        let layout = DiskLayout::PerThread;
        assert_eq!(Iozone.supports(&disk(DiskParams { layout, threads: 2, ..read })), Ok(()));
    }

    fn read(name: &str, params: DiskParams) -> Result<Reading, String> {
        Iozone.parse(&said(&recorded(name)), &disk(params))
    }

    #[test]
    fn recorded_runs_are_read_as_they_stand() {
        let (reads, writes, in_order) = (DiskOp::Read, DiskOp::Write, DiskPattern::Sequential);
        let several = read("iozone-3.471-read-1MiB-t2.txt", params(reads, in_order, DiskEngine::IoUring, 2)).unwrap();
        assert_eq!((several.metric, several.value), (MetricName::Throughput, 1_166_611.06 * 1024.0));
        let detail = |key: &str| several.details[key].as_f64().unwrap();
        assert_eq!((detail("process_min"), detail("process_max")), (570_831.56 * 1024.0, 595_779.50 * 1024.0));
        assert_eq!(several.details["throughput_with_the_wait_for_the_last"], 1_084_642.43 * 1024.0);
        assert_eq!(several.details["bytes_per_process"], 16 * MIB);
        for (name, op, engine, threads, kib) in [
            ("iozone-3.508-read-1MiB-t2.txt", reads, DiskEngine::IoUring, 2, 808_644.16),
            ("iozone-3.508-pwrite-1MiB-t2.txt", writes, DiskEngine::Sync, 2, 1_502_084.75),
            ("iozone-3.508-pread-1MiB-t1.txt", reads, DiskEngine::Sync, 1, 584_952.12),
            ("iozone-3.508-write-1MiB-t1.txt", writes, DiskEngine::Libaio, 1, 1_670_104.0),
        ] {
            let reading = read(name, params(op, in_order, engine, threads)).unwrap();
            assert_eq!((reading.metric, reading.value), (MetricName::Throughput, kib * 1024.0), "{name}");
        }
        for (op, kib) in [(reads, 42_363.0), (writes, 43_753.0)] {
            let random = DiskParams { block: 4096, ..params(op, DiskPattern::Random, DiskEngine::Sync, 1) };
            let reading = read("iozone-3.508-random-4KiB-t1.txt", random).unwrap();
            assert_eq!((reading.metric, reading.value), (MetricName::Iops, kib / 4.0));
        }
    }

    #[test]
    fn the_table_of_its_automatic_mode_is_read_line_by_line() {
        let lines = table(&recorded("iozone-3.508-automatic.txt"));
        let sizes: Vec<(u64, u64)> =
            lines.iter().map(|line| (line.file_bytes >> 10, line.record_bytes >> 10)).collect();
        let all =
            [(64, 64), (128, 64), (128, 128), (256, 64), (256, 128), (256, 256), (512, 64), (512, 128), (512, 256)];
        assert_eq!(sizes, all);
        assert!(lines.iter().all(|line| line.rates.len() == 13), "write to freread");
        assert_eq!((lines[0].rates[0], lines[8].rates[12]), (1_553_394.0 * 1024.0, 15_471_149.0 * 1024.0));
    }

    #[test]
    fn what_it_did_not_measure_is_no_reading() {
        let two = params(DiskOp::Read, DiskPattern::Sequential, DiskEngine::IoUring, 2);
        let whole = recorded("iozone-3.508-read-1MiB-t2.txt");
        assert_refused(
            &Iozone,
            &disk(two),
            [
                (String::new(), "no file size"),
                (whole.replace("1024 kByte records", "64 kByte records"), "65536 B and not 1048576 B"),
                (whole.split("2 readers").next().unwrap().to_owned(), "no throughput for its readers"),
                (whole.replace("kB/sec", "ops/sec"), "no throughput"),
                (whole.replace("808644.16", "nan"), "no throughput"),
                (whole.replace("808644.16", "1808644.16"), "contradicts itself"),
                (
                    whole.split("Max throughput per process \t\t\t=  420").next().unwrap().to_owned(),
                    "no Max throughput",
                ),
            ],
        );
        let one = params(DiskOp::Write, DiskPattern::Sequential, DiskEngine::IoUring, 1);
        let table = recorded("iozone-3.508-write-1MiB-t1.txt");
        assert_refused(
            &Iozone,
            &disk(one.clone()),
            [
                (table.replace("   1670104", ""), "printed 1 values and not 2"),
                (table.replace("1670104", "-"), "no values for records of 1024 KiB"),
                (table.replace("1670104", "0"), "an impossible"),
                (table.replace("    1024   13", "    2048   13"), "no values for records of 1024 KiB"),
            ],
        );
        let refused = read("iozone-3.508-record-100MiB.txt", one.clone()).unwrap_err();
        assert!(refused.contains("102400 kB is greater than maximum buffer size 16384 kB"), "{refused}");
    }
}
