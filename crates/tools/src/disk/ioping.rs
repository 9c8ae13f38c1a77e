//! ioping beside random direct reads of one request at a time: the same file, blocks and engine, on the same CPU.
//!
//! The figure is its requests over the whole time (`load`), as ours is; its other one (`stat`) counts only the time
//! inside its requests. Its offsets are drawn anew for each request, so that a block can come twice; it has no
//! percentiles. It is given an existing file and never told to write: ioping makes and removes files of its own only
//! where it is given a directory.

use model::experiment::{DiskParams, Experiment};
use model::io::{DiskEngine, DiskLayout, DiskOp, DiskPattern};
use model::sample::MetricName;
use serde_json::{Map, Value, json};

use super::disk::{not_beside, one_at_a_time};
use super::{
    About, Invocation, NeededFile, Output, Reading, Reason, Reference, Rule, Side, Target, Version, arguments,
    bare_environment, complaint, distinct, examples, positive, succeeded,
};

pub(super) struct Ioping;

static ABOUT: About = About {
    tool: "ioping",
    program: "ioping",
    launcher: None,
    // Its JSON came with 1.2.
    version: Version::Asked { argument: "-v", prefix: "ioping ", oldest: (1, 2) },
    stands_beside: "random direct reads of a disk, one at a time, by system calls that wait or by libaio",
    equal: "the block, the engine, the file and the CPU",
    rules: &[&OUTSIDE, &REPEATS],
    how_to_get: "Debian package ioping; https://github.com/koct9i/ioping",
};
static OUTSIDE: Rule = Rule { name: "outside-requests", when: None, makes_it: Side::Slower };
static REPEATS: Rule = Rule { name: "repeated-offsets", when: None, makes_it: Side::Either };

/// Seconds that a run takes beside its measured time: its first request is not counted.
const START_SECONDS: f64 = 0.1;

/// The parameters, if ioping can do exactly this.
fn parameters(experiment: &Experiment) -> Result<&DiskParams, String> {
    let params = one_at_a_time(ABOUT.tool, experiment)?;
    let refuse = |why: &str| Err(not_beside(ABOUT.tool, why));
    if params.op != DiskOp::Read {
        return refuse("it is used for reads only");
    }
    if params.pattern != DiskPattern::Random {
        return refuse("only random requests are compared");
    }
    if params.threads != 1 {
        return refuse("it has one request at a time, on one thread");
    }
    if params.layout != DiskLayout::Shared {
        return refuse("each thread has a file of its own");
    }
    match params.engine {
        DiskEngine::Sync | DiskEngine::Libaio => Ok(params),
        engine => refuse(&format!("it has no {engine}")),
    }
}

impl Reference for Ioping {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn example(&self) -> Experiment {
        examples::random_reads(DiskEngine::Sync, 1)
    }

    fn stands_beside(&self, experiment: &Experiment) -> Result<(), String> {
        parameters(experiment).map(|_| ())
    }

    fn invocation(&self, target: &Target<'_>) -> Result<Invocation, String> {
        let params = parameters(target.experiment)?;
        let file = target.file.ok_or("ioping needs the file of the experiment")?;
        let words = [
            "-D".to_owned(),
            if params.engine == DiskEngine::Libaio { "-A".to_owned() } else { String::new() },
            "-J".to_owned(),
            "-q".to_owned(),
            "-i0".to_owned(),
            // A bare number is whole seconds.
            format!("-w{:.0}ms", (1e3 * target.seconds).max(1.0)),
            format!("-s{}", params.block),
            format!("-S{}", params.size),
            file.path.clone(),
        ];
        let expected_seconds = START_SECONDS + target.seconds;
        Ok(Invocation {
            argv: arguments(target.program, words),
            env: bare_environment(),
            cpus: distinct(target.cpus),
            files: vec![NeededFile { path: file.path.clone().into(), bytes: params.size, overwritten: false }],
            expected_seconds,
            timeout_seconds: 20.0 + 4.0 * expected_seconds,
            ..Invocation::default()
        })
    }

    fn parse(&self, _version: &str, output: &Output, experiment: &Experiment) -> Result<Reading, String> {
        let params = parameters(experiment)?;
        let tool = ABOUT.tool;
        succeeded(tool, output)?;
        let reports: Vec<Value> = serde_json::from_str(&output.stdout)
            .map_err(|error| format!("ioping's report is no JSON ({error}): {}", complaint(output)))?;
        let [report] = reports.as_slice() else {
            return Err(format!("ioping reports {} times and not once", reports.len()));
        };
        let number = |part: &str, key: &str| {
            let found = report[part][key].as_f64().filter(|number| number.is_finite());
            found.ok_or_else(|| format!("ioping reports no {part}.{key}"))
        };
        let (requests, bytes) = (number("stat", "count")?, number("stat", "size")?);
        if (bytes - requests * params.block as f64).abs() > 0.5 {
            return Err(format!("ioping read {bytes} B in {requests} requests, and not {} B in each", params.block));
        }
        let value = positive(tool, "load.iops", number("load", "iops")?)?;
        let mut details = Map::new();
        details.insert("requests".into(), json!(requests));
        details.insert("iops_inside_requests".into(), json!(number("stat", "iops")?));
        let mut latency = Map::new();
        // Nanoseconds.
        for (name, key) in [("min", "min"), ("mean", "avg"), ("max", "max"), ("mean_deviation", "mdev")] {
            latency.insert(name.into(), json!(number("stat", key)? * 1e-9));
        }
        details.insert("latency".into(), Value::Object(latency));
        Ok(Reading { metric: MetricName::Iops, value, bytes_factor: 1.0, details })
    }

    fn reasons(&self, _version: &str, _experiment: &Experiment, reading: &Reading) -> Vec<Reason> {
        let inside = reading.details.get("iops_inside_requests").and_then(serde_json::Value::as_f64);
        let share = inside.map(|inside| (100.0 * (1.0 - reading.value / inside)).max(0.0));
        let outside =
            share.map(|share| OUTSIDE.says(format!("ioping spends {share:.0} % of its time outside its requests")));
        outside.into_iter().chain([REPEATS.says("ioping draws its offsets with repetition")]).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use model::io::DiskCache;
    use model::wire::HeldFile;

    use super::*;
    use crate::reference::tests::{difference, disk, failed, recorded, said};
    use crate::tests::disk_params;

    const RECORDED: &str = "ioping-1.3-randread-4KiB.json";

    fn one_at_a_time() -> DiskParams {
        DiskParams { engine: DiskEngine::Sync, ..disk_params(1) }
    }

    #[test]
    fn one_request_at_a_time_of_our_file_and_never_a_write() {
        let experiment = disk(DiskParams { size: 1 << 20, ..one_at_a_time() });
        let file = HeldFile { path: "/proc/7/fd/3".to_owned(), bytes: 1 << 20, ..HeldFile::default() };
        let target = Target {
            experiment: &experiment,
            program: Path::new("/usr/bin/ioping"),
            launcher: None,
            cpus: &[1],
            other_cpus: &[],
            seconds: 0.5,
            file: Some(&file),
            our_rate: None,
            version: "1.3",
            offered_rate: None,
        };
        let invocation = Ioping.invocation(&target).unwrap();
        let expected = "/usr/bin/ioping -D -J -q -i0 -w500ms -s4096 -S1048576 /proc/7/fd/3";
        assert_eq!((invocation.argv.join(" ").as_str(), invocation.cpus), (expected, vec![1]));
        assert!(!invocation.files[0].overwritten);
        let libaio = disk(DiskParams { size: 1 << 20, engine: DiskEngine::Libaio, ..disk_params(1) });
        let invocation = Ioping.invocation(&Target { experiment: &libaio, ..target }).unwrap();
        assert!(invocation.argv.contains(&"-A".to_owned()));
        assert!(Ioping.invocation(&Target { file: None, ..target }).is_err());
    }

    #[test]
    fn what_it_cannot_do_alike_is_refused() {
        let why = |params: DiskParams| Ioping.stands_beside(&disk(params)).unwrap_err();
        let alike = one_at_a_time();
        assert!(why(DiskParams { op: DiskOp::Write, ..alike.clone() }).contains("reads only"));
        assert!(why(DiskParams { pattern: DiskPattern::Sequential, ..alike.clone() }).contains("random"));
        assert!(why(DiskParams { threads: 2, ..alike.clone() }).contains("one request"));
        assert!(why(DiskParams { depth: 2, ..alike.clone() }).contains("one request"));
        assert!(why(DiskParams { load_percent: Some(50), ..alike.clone() }).contains("due"));
        assert!(why(DiskParams { direct: false, cache: DiskCache::Warm, ..alike.clone() }).contains("direct"));
        assert!(why(DiskParams { layout: DiskLayout::PerThread, ..alike.clone() }).contains("file of its own"));
        assert!(why(DiskParams { engine: DiskEngine::IoUring, ..alike.clone() }).contains("io_uring"));
        assert!(why(DiskParams { engine: DiskEngine::Null, ..alike }).contains("no device"));
    }

    #[test]
    fn a_recorded_run_is_read_over_its_whole_time() {
        let text = recorded(RECORDED);
        let report: Value = serde_json::from_str(&text).unwrap();
        let reading = Ioping.parse("1.3", &said(&text), &disk(one_at_a_time())).unwrap();
        assert_eq!((reading.metric, Some(reading.value)), (MetricName::Iops, report[0]["load"]["iops"].as_f64()));
        let latency = |key: &str| reading.details["latency"][key].as_f64().unwrap();
        assert!(latency("min") < latency("mean") && latency("mean") < latency("max"));
        assert!((latency("mean") - report[0]["stat"]["avg"].as_f64().unwrap() * 1e-9).abs() < 1e-15);
        // What it spends outside its requests is what sets its two figures apart.
        assert!(reading.value < reading.details["iops_inside_requests"].as_f64().unwrap());
        let sentence = difference(&Ioping, "1.3", &disk(one_at_a_time()), &reading).unwrap();
        assert!(sentence.contains("% of its time outside its requests"), "{sentence}");
    }

    #[test]
    fn what_it_did_not_measure_is_no_reading() {
        let whole = recorded(RECORDED);
        for (text, why) in [
            (String::new(), "no JSON"),
            ("[]".to_owned(), "0 times"),
            (whole.replace("\"load\"", "\"toll\""), "no load.iops"),
            (whole.replace("\"size\": ", "\"size\": 1"), "and not 4096 B in each"),
            (whole[..whole.len() / 2].to_owned(), "no JSON"),
        ] {
            let reason = Ioping.parse("1.3", &said(&text), &disk(one_at_a_time())).unwrap_err();
            assert!(reason.contains(why), "{why}: {reason}");
        }
        let refused = Ioping.parse("1.3", &failed(2, "ioping: stat failed"), &disk(one_at_a_time()));
        assert!(refused.unwrap_err().contains("stat failed"));
    }
}
