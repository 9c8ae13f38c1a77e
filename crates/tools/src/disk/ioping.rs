//! ioping compared with random direct reads, one request at a time, on the same file, block, engine and CPU.
//!
//! Its value is `load`, requests over the whole time, as ours; `stat` counts only time inside requests. It may read a block
//! twice, and it has no percentiles. It gets an existing file and never writes: it creates files only in a directory.

use model::experiment::{DiskParams, Experiment};
use model::io::{DiskEngine, DiskLayout, DiskOp, DiskPattern};
use serde_json::{Value, json};

use super::{one_at_a_time, reading};
use crate::examples;
use crate::invocation::{Invocation, NeededFile, Target};
use crate::json::{json_number, json_report};
use crate::output::{Output, Reading, details, only, positive, refuse_if};
use crate::tool::{Adapter, Reason, Rule, Side, ToolDescription, VersionSource};

pub(crate) struct Ioping;

const TOOL: &str = "ioping";
static DESCRIPTION: ToolDescription = ToolDescription {
    id: TOOL,
    program: "ioping",
    launcher: None,
    // JSON since 1.2.
    version: VersionSource::Asked { argument: "-v", prefix: "ioping ", oldest: (1, 2) },
    compared_with: "random direct reads of a disk, one at a time, by blocking system calls or libaio",
    equal: "the block, the engine, the file and the CPU",
    rules: &[&OUTSIDE, &REPEATS],
    how_to_get: "Debian package ioping; https://github.com/koct9i/ioping",
    example: || examples::random_reads(DiskEngine::Sync, 1),
};
static OUTSIDE: Rule = Rule::new("outside-requests", None, Side::Slower);
static REPEATS: Rule = Rule::new("repeated-offsets", None, Side::Either);

/// Seconds of a run outside its measured time: the first request is not counted.
const START_SECONDS: f64 = 0.1;

impl Adapter for Ioping {
    const DESCRIPTION: &'static ToolDescription = &DESCRIPTION;
    type Work<'a> = &'a DiskParams;

    fn work(experiment: &Experiment) -> Result<&DiskParams, String> {
        let params = one_at_a_time(TOOL, experiment)?;
        let reasons = [
            (params.op != DiskOp::Read, "only its reads are compared"),
            (params.pattern != DiskPattern::Random, "only random requests are compared"),
            (params.threads != 1, "it has one request at a time, on one thread"),
            (params.layout != DiskLayout::Shared, "each thread has a file of its own"),
            (params.engine == DiskEngine::IoUring, "it has no io_uring"),
        ];
        refuse_if(TOOL, &reasons).map(|()| params)
    }

    fn command(params: &DiskParams, target: &Target<'_>) -> Result<Invocation, String> {
        let file = target.held_file(TOOL)?;
        let engine = if params.engine == DiskEngine::Libaio { "-A" } else { "" };
        let milliseconds = (1e3 * target.seconds).max(1.0);
        let words = format!("-D {engine} -J -q -i0 -w{milliseconds:.0}ms -s{} -S{}", params.block, params.size);
        let expected_seconds = START_SECONDS + target.seconds;
        let mut invocation = Invocation::new(target, &words, [expected_seconds, 20.0 + 4.0 * expected_seconds]);
        invocation.argv.push(file.path.clone());
        invocation.files = vec![NeededFile { path: file.path.clone().into(), bytes: params.size, overwritten: false }];
        Ok(invocation)
    }

    fn read(params: &DiskParams, output: &Output) -> Result<Reading, String> {
        output.succeeded(TOOL)?;
        let report = json_report(TOOL, &output.stdout, output)?;
        let report = only(TOOL, "reports", report.as_array().into_iter().flatten().collect(), output)?;
        let inside = |key: &str| json_number(TOOL, &report["stat"], key);
        let (requests, bytes) = (inside("count")?, inside("size")?);
        if (bytes - requests * params.block as f64).abs() > 0.5 {
            let block = params.block;
            return Err(format!("ioping read {bytes} B in {requests} requests, and not {block} B in each"));
        }
        let iops = positive(TOOL, "load.iops", json_number(TOOL, &report["load"], "iops")?)?;
        let seconds = |key: &str| inside(key).map(|nanoseconds| json!(nanoseconds * 1e-9));
        let latency = details([
            ("min", seconds("min")?),
            ("mean", seconds("avg")?),
            ("max", seconds("max")?),
            ("mean_deviation", seconds("mdev")?),
        ]);
        let details = details([
            ("requests", json!(requests)),
            ("iops_inside_requests", json!(inside("iops")?)),
            ("latency", Value::Object(latency)),
        ]);
        Ok(reading(params, iops, bytes, details))
    }

    fn differences(_params: &DiskParams, _version: &str, reading: &Reading) -> Vec<Option<Reason>> {
        let outside = reading.detail("iops_inside_requests").and_then(|inside| {
            let percent = (100.0 * (1.0 - reading.value / inside)).max(0.0);
            OUTSIDE.says(format!("ioping spends {percent:.0} % of its time outside its requests"))
        });
        vec![outside, REPEATS.says("ioping draws its offsets with repetition")]
    }
}

#[cfg(test)]
mod tests {
    use model::io::DiskCache;
    use model::sample::MetricName;
    use model::wire::HeldFile;

    use super::*;
    use crate::tests::fixtures::{assert_refused, disk, disk_params, recorded, said, target};
    use crate::tool::ReferenceTool;

    const RECORDED: &str = "ioping-1.3-randread-4KiB.json";

    #[test]
    fn one_request_at_a_time_of_our_file_and_never_a_write() {
        let experiment = disk(disk_params(1));
        let file = HeldFile { path: "/proc/7/fd/3".to_owned(), bytes: 1 << 20, ..HeldFile::default() };
        let target = Target { cpus: &[1], file: Some(&file), ..target(&experiment) };
        let invocation = Ioping.invocation(&target).unwrap();
        let expected = "/opt/tool -D -J -q -i0 -w500ms -s4096 -S1048576 /proc/7/fd/3";
        assert_eq!((invocation.argv.join(" ").as_str(), invocation.cpus), (expected, vec![1]));
        assert!(!invocation.files[0].overwritten);
        let libaio = disk(DiskParams { engine: DiskEngine::Libaio, ..disk_params(1) });
        let invocation = Ioping.invocation(&Target { experiment: &libaio, ..target }).unwrap();
        assert!(invocation.argv.contains(&"-A".to_owned()));
        assert!(Ioping.invocation(&Target { file: None, ..target }).is_err());
    }

    #[test]
    fn what_it_cannot_do_alike_is_refused() {
        let why = |params: DiskParams| Ioping.supports(&disk(params)).unwrap_err();
        assert!(why(DiskParams { op: DiskOp::Write, ..disk_params(1) }).contains("only its reads"));
        assert!(why(DiskParams { pattern: DiskPattern::Sequential, ..disk_params(1) }).contains("random"));
        assert!(why(DiskParams { threads: 2, ..disk_params(1) }).contains("one request at a time"));
        assert!(why(disk_params(2)).contains("queue depth is 1"));
        assert!(why(DiskParams { load_percent: Some(50), ..disk_params(1) }).contains("open loop"));
        assert!(why(DiskParams { direct: false, cache: DiskCache::Warm, ..disk_params(1) }).contains("direct"));
        assert!(why(DiskParams { layout: DiskLayout::PerThread, ..disk_params(1) }).contains("file of its own"));
        assert!(why(DiskParams { engine: DiskEngine::IoUring, ..disk_params(1) }).contains("io_uring"));
        assert!(why(DiskParams { engine: DiskEngine::Null, ..disk_params(1) }).contains("no device"));
    }

    #[test]
    fn a_recorded_run_is_read_over_its_whole_time() {
        let text = recorded(RECORDED);
        let report: Value = serde_json::from_str(&text).unwrap();
        let reading = Ioping.parse(&said(&text), &disk(disk_params(1))).unwrap();
        assert_eq!((reading.metric, Some(reading.value)), (MetricName::Iops, report[0]["load"]["iops"].as_f64()));
        let latency = |key: &str| reading.details["latency"][key].as_f64().unwrap();
        assert!(latency("min") < latency("mean") && latency("mean") < latency("max"));
        assert!((latency("mean") - report[0]["stat"]["avg"].as_f64().unwrap() * 1e-9).abs() < 1e-15);
        assert!(reading.value < reading.details["iops_inside_requests"].as_f64().unwrap());
    }

    #[test]
    fn what_it_did_not_measure_is_no_reading() {
        let whole = recorded(RECORDED);
        assert_refused(
            &Ioping,
            &disk(disk_params(1)),
            [
                (String::new(), "not JSON"),
                ("[]".to_owned(), "0 reports"),
                (whole.replace("\"load\"", "\"toll\""), "no number 'iops'"),
                (whole.replace("\"size\": ", "\"size\": 1"), "and not 4096 B in each"),
                (whole[..whole.len() / 2].to_owned(), "not JSON"),
            ],
        );
    }
}
