//! fio compared with our disk benchmarks: the same file, system calls, block, depth, threads and CPUs; direct I/O only.
//!
//! Random results are compared by requests per second, sequential ones by bytes per second. Latencies are `lat_ns`: with
//! `io_uring` a request can complete before submission returns, and `clat_ns` is then nearly 0.
//! Backward, fio skips the last block, because its gap counts from the end of a block. In a mixture it draws whether a
//! request reads; ours alternate.
//! fio creates, extends and unlinks files by itself. It gets ours through /proc, where it cannot unlink, and only at full
//! size: [`NeededFile`] is checked before each run, and `--allow_file_create=0 --overwrite=0` forbid the rest.

use model::experiment::{DiskParams, Experiment};
use model::io::{DiskEngine, DiskLayout, DiskOp, DiskPattern, DiskSync};
use serde_json::{Map, Value, json};

use super::{BASE_PAGES, direct, in_pieces, reading};
use crate::examples;
use crate::invocation::{Invocation, NeededFile, Otherwise, Target, distinct};
use crate::json::{json_number, json_report};
use crate::output::{Output, Reading, details, only, positive, refuse_if, unless};
use crate::tool::{Adapter, Reason, Rule, Side, ToolDescription, VersionSource};

pub(crate) struct Fio;

const TOOL: &str = "fio";
static DESCRIPTION: ToolDescription = ToolDescription {
    id: TOOL,
    program: "fio",
    launcher: None,
    version: VersionSource::Asked { argument: "--version", prefix: "fio-", oldest: (3, 0) },
    compared_with: "direct reads and writes of a disk: random, sequential, backward, and random mixed",
    equal: "the block, the queue depth, the engine, the file and the CPUs",
    rules: &[&BUSY, &BASE_PAGES],
    how_to_get: "Debian package fio; https://github.com/axboe/fio",
    example: || examples::random_reads(DiskEngine::Sync, 4),
};
static BUSY: Rule = Rule::new("cpu-bound", Some("its jobs were busy more than 90 % of the time"), Side::Slower);

/// Seconds of a run outside its measured time: start, layout of buffers, report.
const START_SECONDS: f64 = 0.3;
const RAMP_SECONDS: f64 = 0.1;
/// Registers buffers with the ring. They count against the limit of locked memory: 8 MiB for most users.
const FIXED_BUFFERS: &str = "--fixedbufs";
/// What fio prints beyond that limit. Our ring then does without registered buffers, too.
const NO_FIXED_BUFFERS: &str = "Cannot allocate memory";
const CPU_BOUND: f64 = 0.9;

impl Adapter for Fio {
    const DESCRIPTION: &'static ToolDescription = &DESCRIPTION;
    type Work<'a> = &'a DiskParams;

    fn work(experiment: &Experiment) -> Result<&DiskParams, String> {
        let params = direct(TOOL, experiment)?;
        let in_order = params.pattern != DiskPattern::Random;
        let parts = params.engine == DiskEngine::Sync && in_order && params.depth > 1;
        let reasons = [
            (matches!(params.op, DiskOp::Rewrite | DiskOp::Reread), "it does not repeat recent accesses"),
            (params.pattern == DiskPattern::Strided, "with a stride it accesses only one block in seventeen"),
            (
                params.op == DiskOp::Mixed && in_order,
                "it would use separate streams for reads and writes, ours are one stream",
            ),
            (params.layout != DiskLayout::Shared, "each thread has a file of its own"),
            (parts, "each of its threads would have a part of the file, ours share one stream"),
        ];
        refuse_if(TOOL, &reasons).map(|()| params)
    }

    fn command(params: &DiskParams, target: &Target<'_>) -> Result<Invocation, String> {
        let file = target.held_file(TOOL)?;
        if file.bytes < params.size || params.size < params.block {
            let (has, needs) = (file.bytes, params.size.max(params.block));
            return Err(format!("the file has {has} B and not {needs} B: fio would extend it"));
        }
        let expected_seconds = START_SECONDS + RAMP_SECONDS + target.seconds;
        let mut invocation = Invocation::new(target, "--name=assay", [expected_seconds, 20.0 + 4.0 * expected_seconds]);
        // A colon separates file names.
        invocation.argv.push(format!("--filename={}", file.path.replace(':', "\\:")));
        let (part, how) = (part_of_the_file(params, target.cpus), how_it_works(params));
        let polls = if file.polled && params.engine == DiskEngine::IoUring { "--hipri" } else { "" };
        let words = format!(
            "{part} {how} {polls} --time_based --ramp_time={:.0}ms --runtime={:.0}ms --lat_percentiles=1 \
             --clat_percentiles=0 --group_reporting --output-format=json",
            1e3 * RAMP_SECONDS,
            (1e3 * target.seconds).max(1.0)
        );
        invocation.argv.extend(words.split_whitespace().map(str::to_owned));
        if invocation.argv.iter().any(|word| word == FIXED_BUFFERS) {
            let argv = invocation.argv.iter().filter(|word| *word != FIXED_BUFFERS).cloned().collect();
            invocation.otherwise = Some(Otherwise { when_it_says: NO_FIXED_BUFFERS, argv });
        }
        let (path, overwritten) = (file.path.clone().into(), params.op.writes());
        invocation.files = vec![NeededFile { path, bytes: params.size, overwritten }];
        Ok(invocation)
    }

    fn read(params: &DiskParams, output: &Output) -> Result<Reading, String> {
        output.succeeded(TOOL)?;
        let report = json_report(TOOL, &output.stdout, output)?;
        let jobs = report["jobs"].as_array().into_iter().flatten().collect();
        let job = only(TOOL, "groups of jobs", jobs, output)?;
        if job["error"].as_i64() != Some(0) {
            return Err(format!("fio reports error {} of its job: {}", job["error"], output.complaint()));
        }
        check_options(&job["job options"], params)?;
        let side = &job[if params.op == DiskOp::Mixed { "mixed" } else { params.op.name() }];
        let throughput = positive(TOOL, "bw_bytes", json_number(TOOL, side, "bw_bytes")?)?;
        let iops = positive(TOOL, "iops", json_number(TOOL, side, "iops")?)?;
        Ok(reading(params, iops, throughput, all_details(side, job, throughput, iops)?))
    }

    fn differences(params: &DiskParams, _version: &str, reading: &Reading) -> Vec<Option<Reason>> {
        let share = reading.detail("cpu_share").unwrap_or_default();
        let busy = format!("fio was bound by the CPU: its jobs were busy {:.0} % of the time", 100.0 * share);
        vec![BUSY.says_if(share > CPU_BOUND, busy), in_pieces(TOOL, params)]
    }
}

fn part_of_the_file(params: &DiskParams, cpus: &[u32]) -> String {
    let jobs = jobs(params);
    let part = if params.pattern != DiskPattern::Random && jobs > 1 {
        // Each thread has its own part of a sequential file, as ours.
        let part = (params.size / params.block / u64::from(jobs)).max(1) * params.block;
        format!("--size={part} --offset_increment={part}")
    } else {
        format!("--size={}", params.size)
    };
    let cpus: Vec<String> = distinct(cpus).iter().map(u32::to_string).collect();
    let allowed = format!("--cpus_allowed={} --cpus_allowed_policy=split", cpus.join(","));
    let allowed = if cpus.is_empty() { "" } else { &allowed };
    format!("--allow_file_create=0 --overwrite=0 {part} --numjobs={jobs} {allowed}")
}

fn how_it_works(params: &DiskParams) -> String {
    let (block, depth, order) = (params.block, params.depth, order(params));
    let engine = match params.engine {
        // Our ring also uses registered files and buffers.
        DiskEngine::IoUring => format!("--ioengine=io_uring --registerfiles {FIXED_BUFFERS} --iodepth={depth}"),
        DiskEngine::Libaio => format!("--ioengine=libaio --iodepth={depth}"),
        DiskEngine::Sync | DiskEngine::Null => "--ioengine=psync".to_owned(),
    };
    let mixture = if params.op == DiskOp::Mixed { "--rwmixread=50 --unified_rw_reporting=1" } else { "" };
    let random = if params.pattern == DiskPattern::Random { "--norandommap --randrepeat=0" } else { "" };
    // Random contents with a mark for each request: they can be neither compressed nor merged.
    let contents = if params.op.writes() { "--refill_buffers=0 --scramble_buffers=1" } else { "" };
    let sync = match params.sync {
        DiskSync::Dsync if params.op.writes() => "--sync=dsync",
        // Older versions know only the number.
        DiskSync::Sync if params.op.writes() => "--sync=1",
        _ => "",
    };
    format!("--thread --direct=1 --bs={block} {engine} --rw={order} {mixture} {random} {contents} {sync}")
}

fn check_options(options: &Value, params: &DiskParams) -> Result<(), String> {
    let settings = [("direct", "1".to_owned()), ("bs", params.block.to_string()), ("rw", order(params))];
    settings.iter().try_for_each(|(key, asked)| {
        let ran = options[key].as_str().unwrap_or(asked);
        unless(ran == asked, TOOL, key, ran, asked)
    })
}

fn order(params: &DiskParams) -> String {
    let does = if params.op == DiskOp::Mixed { "rw" } else { params.op.name() };
    match params.pattern {
        DiskPattern::Random => format!("rand{does}"),
        // The offset counts from the end of the last block: one block back is two.
        DiskPattern::Backward => format!("{does}:-{}", 2 * params.block),
        DiskPattern::Sequential | DiskPattern::Strided => does.to_owned(),
    }
}

/// Without asynchronous requests each of them needs a job.
fn jobs(params: &DiskParams) -> u32 {
    if params.engine == DiskEngine::Sync { params.threads * params.depth.max(1) } else { params.threads }
}

fn all_details(side: &Value, job: &Value, throughput: f64, iops: f64) -> Result<Map<String, Value>, String> {
    let number = |object: &Value, key: &str| json_number(TOOL, object, key);
    let latency = &side["lat_ns"];
    let mut latencies = Map::new();
    for (name, percent) in [("p50", 50.0), ("p90", 90.0), ("p99", 99.0), ("p99.9", 99.9), ("p99.99", 99.99)] {
        // Its keys are numbers with six decimals.
        let is_it = |key: &str| key.parse().is_ok_and(|key: f64| (key - percent).abs() < 1e-3);
        let found = latency["percentile"].as_object().and_then(|all| all.iter().find(|(key, _)| is_it(key)));
        let seconds = found.and_then(|(_, nanoseconds)| nanoseconds.as_f64()).map(|nanoseconds| nanoseconds * 1e-9);
        latencies.extend(seconds.map(|seconds| (name.to_owned(), json!(seconds))));
    }
    latencies.insert("mean".to_owned(), json!(number(latency, "mean")? * 1e-9));
    latencies.insert("max".to_owned(), json!(number(latency, "max")? * 1e-9));
    let cpu_share = (number(job, "usr_cpu")? + number(job, "sys_cpu")?) / 100.0;
    let mut details = details([
        ("throughput", json!(throughput)),
        ("iops", json!(iops)),
        ("latency", Value::Object(latencies)),
        ("cpu_share", json!(cpu_share)),
        ("seconds", json!(number(side, "runtime")? * 1e-3)),
    ]);
    // Its shares are of `job_runtime`, which adds up the jobs (ms).
    let requests = side["total_ios"].as_f64().filter(|requests| *requests > 0.0);
    let each = requests.zip(job["job_runtime"].as_f64()).map(|(requests, ms)| cpu_share * ms * 1e-3 / requests);
    details.extend(each.map(|seconds| ("cpu_seconds_per_request".to_owned(), json!(seconds))));
    Ok(details)
}

#[cfg(test)]
mod tests {
    use model::io::DiskCache;
    use model::sample::MetricName;
    use model::wire::HeldFile;

    use super::*;
    use crate::tests::fixtures::{assert_refused, cpu, disk, disk_params, recorded, said, target};
    use crate::tool::ReferenceTool;

    const PATH: &str = "/proc/123/fd/9";

    fn invocation(params: DiskParams, cpus: &[u32], path: &str) -> Result<Invocation, String> {
        invocation_on(false, params, cpus, path)
    }

    fn invocation_on(polled: bool, params: DiskParams, cpus: &[u32], path: &str) -> Result<Invocation, String> {
        let file = HeldFile { path: path.to_owned(), polled, bytes: 256 << 20, ..HeldFile::default() };
        let experiment = disk(params);
        Fio.invocation(&Target { cpus, file: Some(&file), ..target(&experiment) })
    }

    fn params(pattern: DiskPattern, op: DiskOp, engine: DiskEngine) -> DiskParams {
        DiskParams { pattern, op, engine, size: 256 << 20, ..disk_params(4) }
    }

    #[test]
    fn random_reads_through_io_uring() {
        let invocation =
            invocation(params(DiskPattern::Random, DiskOp::Read, DiskEngine::IoUring), &[1], PATH).unwrap();
        assert_eq!(
            invocation.argv.join(" "),
            "/opt/tool --name=assay --filename=/proc/123/fd/9 --allow_file_create=0 --overwrite=0 --size=268435456 \
             --numjobs=1 --cpus_allowed=1 --cpus_allowed_policy=split --thread --direct=1 --bs=4096 \
             --ioengine=io_uring --registerfiles --fixedbufs --iodepth=4 --rw=randread --norandommap --randrepeat=0 \
             --time_based --ramp_time=100ms --runtime=500ms --lat_percentiles=1 --clat_percentiles=0 \
             --group_reporting --output-format=json"
        );
        let file = NeededFile { path: PATH.into(), bytes: 256 << 20, overwritten: false };
        assert_eq!((&invocation.files, &invocation.cpus), (&vec![file], &vec![1]));
        // Without registered buffers where the limit of locked memory forbids them.
        let otherwise = invocation.otherwise.unwrap();
        assert_eq!(otherwise.argv.join(" "), invocation.argv.join(" ").replace(" --fixedbufs", ""));
    }

    #[test]
    fn a_device_that_ours_polls_is_polled() {
        let has = |polled, engine| {
            let params = params(DiskPattern::Random, DiskOp::Read, engine);
            invocation_on(polled, params, &[1], PATH).unwrap().argv.contains(&"--hipri".to_owned())
        };
        let asked = [(true, DiskEngine::IoUring), (true, DiskEngine::Libaio), (false, DiskEngine::IoUring)];
        assert_eq!(asked.map(|(polled, engine)| has(polled, engine)), [true, false, false]);
    }

    #[test]
    fn threads_that_write_in_order_have_parts_and_random_contents() {
        let mut params = params(DiskPattern::Sequential, DiskOp::Write, DiskEngine::IoUring);
        (params.threads, params.block, params.sync) = (3, 1 << 20, DiskSync::Dsync);
        let invocation = invocation(params, &[0, 1], "/a:b").unwrap();
        let has = |word: &str| invocation.argv.iter().any(|argument| argument == word);
        // 85 blocks of 1 MiB each.
        assert!(has("--size=89128960") && has("--offset_increment=89128960") && has("--numjobs=3"), "{invocation:?}");
        assert!(has("--rw=write") && has("--refill_buffers=0") && has("--sync=dsync") && has("--filename=/a\\:b"));
        assert!(invocation.files[0].overwritten);
    }

    #[test]
    fn a_depth_of_blocking_calls_is_so_many_jobs() {
        let invocation = invocation(params(DiskPattern::Random, DiskOp::Read, DiskEngine::Sync), &[], PATH).unwrap();
        let text = invocation.argv.join(" ");
        assert!(text.contains("--numjobs=4") && text.contains("--ioengine=psync"), "{text}");
        assert!(!text.contains("iodepth") && !text.contains("cpus_allowed"), "{text}");
        assert_eq!(invocation.otherwise, None);
    }

    #[test]
    fn every_order_mixture_and_kind_of_write_has_its_words() {
        let words = |pattern, op, sync| {
            let params = DiskParams { sync, depth: 128, ..params(pattern, op, DiskEngine::IoUring) };
            let argv = invocation(params, &[0], PATH).unwrap().argv;
            assert!(argv.contains(&"--iodepth=128".to_owned()));
            let options = ["--rw", "--sync", "--unified", "--norandommap", "--scramble"];
            let is_requested = |word: &&String| options.iter().any(|prefix| word.starts_with(prefix));
            argv.iter().filter(is_requested).cloned().collect::<Vec<_>>().join(" ")
        };
        let none = DiskSync::None;
        for (pattern, op, sync, expected) in [
            (DiskPattern::Backward, DiskOp::Read, none, "--rw=read:-8192"),
            (DiskPattern::Backward, DiskOp::Write, none, "--rw=write:-8192 --scramble_buffers=1"),
            (
                DiskPattern::Random,
                DiskOp::Mixed,
                none,
                "--rw=randrw --rwmixread=50 --unified_rw_reporting=1 --norandommap --scramble_buffers=1",
            ),
            (DiskPattern::Sequential, DiskOp::Write, DiskSync::Dsync, "--rw=write --scramble_buffers=1 --sync=dsync"),
            (DiskPattern::Sequential, DiskOp::Write, DiskSync::Sync, "--rw=write --scramble_buffers=1 --sync=1"),
            (DiskPattern::Sequential, DiskOp::Read, DiskSync::Sync, "--rw=read"),
        ] {
            assert_eq!(words(pattern, op, sync), expected);
        }
        let mixed = invocation(params(DiskPattern::Random, DiskOp::Mixed, DiskEngine::Sync), &[0], PATH).unwrap();
        assert!(mixed.files[0].overwritten, "half of it are writes");
        let backward = DiskParams { threads: 2, ..params(DiskPattern::Backward, DiskOp::Read, DiskEngine::IoUring) };
        let text = invocation(backward, &[0, 1], PATH).unwrap().argv.join(" ");
        assert!(text.contains("--size=134217728") && text.contains("--offset_increment=134217728"), "{text}");
    }

    #[test]
    fn what_it_cannot_do_alike_is_refused() {
        let base = params(DiskPattern::Random, DiskOp::Read, DiskEngine::IoUring);
        for other in [
            DiskParams { direct: false, ..base.clone() },
            DiskParams { cache: DiskCache::Warm, ..base.clone() },
            DiskParams { pattern: DiskPattern::Strided, ..base.clone() },
            DiskParams { pattern: DiskPattern::Sequential, op: DiskOp::Mixed, ..base.clone() },
            DiskParams { pattern: DiskPattern::Backward, op: DiskOp::Mixed, ..base.clone() },
            DiskParams { op: DiskOp::Rewrite, ..base.clone() },
            DiskParams { op: DiskOp::Reread, ..base.clone() },
            DiskParams { load_percent: Some(50), ..base.clone() },
            DiskParams { cache: DiskCache::Cold, ..base.clone() },
            DiskParams { engine: DiskEngine::Sync, pattern: DiskPattern::Backward, ..base.clone() },
            DiskParams { layout: DiskLayout::PerThread, ..base.clone() },
            DiskParams { engine: DiskEngine::Null, ..base.clone() },
            DiskParams { engine: DiskEngine::Sync, pattern: DiskPattern::Sequential, ..base.clone() },
        ] {
            assert!(Fio.supports(&disk(other.clone())).is_err(), "{other:?}");
        }
        assert!(Fio.supports(&cpu(model::isa::Isa::Avx2, 1)).is_err());
        let larger = DiskParams { size: 512 << 20, ..base.clone() };
        assert!(invocation(larger, &[0], PATH).unwrap_err().contains("would extend"));
        let smaller = DiskParams { size: 512, ..base };
        assert!(invocation(smaller, &[0], PATH).is_err());
    }

    #[test]
    fn recorded_runs_are_read() {
        let random = disk(params(DiskPattern::Random, DiskOp::Read, DiskEngine::IoUring));
        let text = recorded("fio-3.33-randread-4KiB-d4.json");
        let reading = Fio.parse(&said(&text), &random).unwrap();
        assert_eq!(reading.metric, MetricName::Iops);
        let throughput = reading.details["throughput"].as_f64().unwrap();
        assert!((throughput / reading.value - 4096.0).abs() < 1.0, "{reading:?}");
        let latency = &reading.details["latency"];
        let p50 = latency["p50"].as_f64().unwrap();
        // Little's law: four requests are in flight.
        let mean = latency["mean"].as_f64().unwrap();
        assert!((reading.value * mean / 4.0 - 1.0).abs() < 0.1, "{reading:?}");
        let cpu_seconds = reading.details["cpu_seconds_per_request"].as_f64().unwrap();
        assert!((cpu_seconds / (0.292 * 0.5 / 22_090.0) - 1.0).abs() < 1e-9, "{reading:?}");
        assert!(p50 > 0.0 && latency["max"].as_f64().unwrap() >= latency["p99.99"].as_f64().unwrap());
        let warned = format!("fio: this is a warning\n{text}");
        assert_eq!(Fio.parse(&said(&warned), &random), Ok(reading));

        let mut params = params(DiskPattern::Sequential, DiskOp::Write, DiskEngine::IoUring);
        (params.threads, params.block) = (2, 1 << 20);
        let text = recorded("fio-3.33-write-1MiB-d4-t2.json");
        let reading = Fio.parse(&said(&text), &disk(params)).unwrap();
        assert_eq!(reading.metric, MetricName::Throughput);
        // CPU time of both jobs: 9.66 % of 1004 ms for 711 requests.
        let cpu_seconds = reading.details["cpu_seconds_per_request"].as_f64().unwrap();
        assert!((cpu_seconds / (0.096_613_55 * 1.004 / 711.0) - 1.0).abs() < 1e-6, "{reading:?}");
        let iops = reading.details["iops"].as_f64().unwrap();
        assert!((reading.value / iops / f64::from(1 << 20) - 1.0).abs() < 0.01, "both jobs are in it: {reading:?}");
    }

    #[test]
    fn recorded_runs_of_mixtures_backwards_and_to_the_medium_are_read() {
        for (name, kind, metric, block, requests) in [
            ("randrw-4KiB-d128", (DiskPattern::Random, DiskOp::Mixed), MetricName::Iops, 4096, 23_795.0),
            ("read-backward-1MiB-d4", (DiskPattern::Backward, DiskOp::Read), MetricName::Throughput, 1 << 20, 558.0),
            ("randwrite-4KiB-dsync", (DiskPattern::Random, DiskOp::Write), MetricName::Iops, 4096, 90.0),
        ] {
            let depth = if name.ends_with("d128") { 128 } else { 4 };
            let params = DiskParams { block, depth, ..params(kind.0, kind.1, DiskEngine::IoUring) };
            let text = recorded(&format!("fio-3.33-{name}.json"));
            let reading = Fio.parse(&said(&text), &disk(params.clone())).unwrap();
            assert_eq!(reading.metric, metric, "{name}");
            let detail = |key: &str| reading.details[key].as_f64().unwrap();
            // Requests in flight at the start count in the bytes only, or in the requests only.
            assert!((detail("throughput") / detail("iops") / block as f64 - 1.0).abs() < 0.01, "{name}: {reading:?}");
            assert!((detail("iops") * detail("seconds") / requests - 1.0).abs() < 0.01, "{name}: {reading:?}");
            assert!(reading.details["latency"]["p50"].as_f64() > Some(0.0), "{name}: {reading:?}");
            let other = if params.op == DiskOp::Mixed { DiskOp::Read } else { DiskOp::Mixed };
            let other = disk(DiskParams { op: other, pattern: DiskPattern::Random, ..params });
            assert!(Fio.parse(&said(&text), &other).is_err(), "{name}");
        }
    }

    #[test]
    fn what_it_did_not_measure_is_no_reading() {
        let experiment = disk(params(DiskPattern::Random, DiskOp::Read, DiskEngine::IoUring));
        let whole = recorded("fio-3.33-randread-4KiB-d4.json");
        let report: Value = serde_json::from_str(&whole).unwrap();
        let changed = |change: &dyn Fn(&mut Value)| {
            let mut report = report.clone();
            change(&mut report);
            report.to_string()
        };
        assert_refused(
            &Fio,
            &experiment,
            [
                (String::new(), "not JSON"),
                (whole[..whole.len() / 2].to_owned(), "not JSON"),
                ("fio: something\n".to_owned(), "not JSON"),
                ("{}".to_owned(), "0 groups"),
                (r#"{"jobs": 3}"#.to_owned(), "0 groups"),
                (r#"{"jobs": [{}, {}]}"#.to_owned(), "2 groups"),
                (changed(&|report| report["jobs"][0]["error"] = json!(5)), "error 5"),
                (changed(&|report| report["jobs"][0]["read"]["iops"] = json!(0.0)), "an impossible"),
                (changed(&|report| report["jobs"][0]["read"]["bw_bytes"] = json!(-4)), "an impossible"),
                (changed(&|report| report["jobs"][0]["read"]["iops"] = json!("nan")), "no number 'iops'"),
                // fio 2 called it `lat`, in microseconds, and had no `bw_bytes`.
                (changed(&|report| report["jobs"][0]["read"]["lat_ns"] = Value::Null), "no number 'mean'"),
                (whole.replace("bw_bytes", "bw_something"), "no number 'bw_bytes'"),
            ],
        );
        let refused = Output { status: Some(1), ..said(&recorded("fio-3.33-no-file.json")) };
        assert!(Fio.parse(&refused, &experiment).unwrap_err().contains("status 1"));
        let writes = disk(params(DiskPattern::Random, DiskOp::Write, DiskEngine::IoUring));
        assert!(Fio.parse(&said(&whole), &writes).unwrap_err().contains("ran with rw randread and not randwrite"));
        let as_requested = whole.replace(r#""rw" : "randread""#, r#""rw" : "randwrite""#);
        assert!(Fio.parse(&said(&as_requested), &writes).unwrap_err().contains("an impossible"));
        for (requested, other, why) in [
            (r#""direct" : "1""#, r#""direct" : "0""#, "ran with direct 0 and not 1"),
            (r#""bs" : "4096""#, r#""bs" : "8192""#, "ran with bs 8192 and not 4096"),
        ] {
            assert!(whole.contains(requested));
            let reason = Fio.parse(&said(&whole.replace(requested, other)), &experiment).unwrap_err();
            assert!(reason.contains(why), "{reason}");
        }
    }
}
