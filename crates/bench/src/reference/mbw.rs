//! mbw beside the C library's copy: its memcpy test over two arrays of the same size, on one thread.
//!
//! It counts the bytes that were copied, we those that were read and those that were written: its figure counts twice.
//! Sizes are whole MiB of each array.

use model::experiment::{Experiment, MemoryParams};
use model::isa::{Isa, MemoryOp, Pages};
use model::sample::MetricName;
use serde_json::{Map, json};

use super::memory::{no_loop, stream};
use super::{
    About, Invocation, Output, Reading, Reason, Reference, Rule, Side, Target, Version, arguments, bare_environment,
    complaint, distinct, examples, positive, succeeded,
};

pub(super) struct Mbw;

static ABOUT: About = About {
    tool: "mbw",
    program: "mbw",
    launcher: None,
    version: Version::Unsaid { argument: "-h", help: "[options] array_size_in_MiB" },
    stands_beside: "the C library's copy of memory on one thread",
    equal: "the CPU and the arrays",
    rules: &[&LIBRARY, &BASE_PAGES, &FIRST_PASS],
    how_to_get: "Debian package mbw; https://github.com/raas/mbw",
};
static LIBRARY: Rule = Rule { name: "library-copy", when: None, makes_it: Side::Either };
static BASE_PAGES: Rule = Rule { name: "base-pages", when: Some("ours is in pages of 2 MiB"), makes_it: Side::Slower };
static FIRST_PASS: Rule = Rule { name: "first-pass", when: None, makes_it: Side::Slower };

const MIB: f64 = (1 << 20) as f64;
/// Bytes that we count for each that it counts: one read, one written.
const BYTES_FACTOR: f64 = 2.0;
/// Passes where our own rate is not known: its default.
const PASSES: f64 = 10.0;
/// Bytes per second that it fills and copies at least, for the expected time.
const BYTES_PER_SECOND: f64 = 0.5e9;

/// The parameters, and MiB of each of its arrays.
fn parameters(experiment: &Experiment) -> Result<(&MemoryParams, u64), String> {
    let params = stream(ABOUT.tool, experiment)?;
    if params.op != MemoryOp::Memcpy {
        return Err(no_loop(ABOUT.tool, params.op));
    }
    if params.threads != 1 {
        return Err("mbw has one thread".to_owned());
    }
    let mib = params.working_set >> 21;
    if mib == 0 || mib << 21 != params.working_set {
        return Err(format!("mbw's two arrays have whole MiB, and ours {} B together", params.working_set));
    }
    Ok((params, mib))
}

impl Reference for Mbw {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn example(&self) -> Experiment {
        examples::memory(MemoryOp::Memcpy, Isa::Scalar, 64 << 20, 1)
    }

    fn stands_beside(&self, experiment: &Experiment) -> Result<(), String> {
        parameters(experiment).map(|_| ())
    }

    fn invocation(&self, target: &Target<'_>) -> Result<Invocation, String> {
        let (params, mib) = parameters(target.experiment)?;
        let bytes = params.working_set as f64;
        let passes = target.our_rate.map_or(PASSES, |rate| rate * target.seconds / bytes).round().clamp(1.0, 1e6);
        let words = ["-q".to_owned(), "-t0".to_owned(), "-n".to_owned(), passes.to_string(), mib.to_string()];
        let expected_seconds = bytes / BYTES_PER_SECOND + target.seconds;
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
        let tool = ABOUT.tool;
        succeeded(tool, output)?;
        let (_, mib) = parameters(experiment)?;
        let of_memcpy = |line: &&str| line.contains("Method: MEMCPY");
        let lines: Vec<&str> = output.stdout.lines().filter(of_memcpy).collect();
        let Some((mean, passes)) = lines.split_last().filter(|(mean, _)| mean.starts_with("AVG")) else {
            return Err(format!("{tool} printed no mean: {}", complaint(output)));
        };
        let size = number(mean, "MiB: ")?;
        if (size - mib as f64).abs() > 0.0 {
            return Err(format!("{tool} copied {size} MiB and not {mib}"));
        }
        let value = positive(tool, "mean", number(mean, "Copy: ")? * MIB * BYTES_FACTOR)?;
        let mut details = Map::new();
        details.insert("passes".into(), json!(passes.len()));
        details.insert("mean_seconds".into(), json!(number(mean, "Elapsed: ")?));
        Ok(Reading { metric: MetricName::Throughput, value, bytes_factor: BYTES_FACTOR, details })
    }

    fn reasons(&self, _version: &str, experiment: &Experiment, _reading: &Reading) -> Vec<Reason> {
        let mut reasons = vec![LIBRARY.says("mbw's C library and ours may choose other stores for the same copy")];
        if parameters(experiment).is_ok_and(|(params, _)| params.pages == Pages::Huge2M) {
            reasons.push(BASE_PAGES.says("mbw's arrays are in base pages, ours in pages of 2 MiB"));
        }
        reasons.push(FIRST_PASS.says("the first of mbw's passes counts, ours are warm"));
        reasons
    }
}

/// The number behind a label on a line.
fn number(line: &str, label: &str) -> Result<f64, String> {
    let word = line.split_once(label).and_then(|(_, rest)| rest.split_whitespace().next());
    let number = word.and_then(|word| word.parse::<f64>().ok()).filter(|number| number.is_finite());
    number.ok_or_else(|| format!("{} printed no number behind '{}'", ABOUT.tool, label.trim_end()))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use model::isa::Isa;

    use super::*;
    use crate::reference::tests::{failed, memory, recorded, said};

    fn copy(working_set: u64, threads: u32) -> Experiment {
        memory(MemoryOp::Memcpy, Isa::Scalar, working_set, threads)
    }

    #[test]
    fn passes_follow_from_our_rate() {
        let experiment = copy(1 << 30, 1);
        let target = Target {
            experiment: &experiment,
            program: Path::new("/usr/bin/mbw"),
            cpus: &[1],
            other_cpus: &[],
            seconds: 0.5,
            file: None,
            our_rate: Some(10e9),
            version: "",
            offered_rate: None,
            launcher: None,
        };
        let argv = |our_rate| Mbw.invocation(&Target { our_rate, ..target }).unwrap().argv.join(" ");
        // 5 GB, in passes that count 1.07 GB.
        assert_eq!(argv(Some(10e9)), "/usr/bin/mbw -q -t0 -n 5 512");
        assert_eq!(argv(None), "/usr/bin/mbw -q -t0 -n 10 512");
    }

    #[test]
    fn what_it_cannot_do_alike_is_refused() {
        let why = |experiment: &Experiment| Mbw.stands_beside(experiment).unwrap_err();
        assert!(why(&copy(1 << 30, 2)).contains("one thread"));
        assert!(why(&copy(3 << 20, 1)).contains("whole MiB"));
        assert!(why(&copy(0, 1)).contains("whole MiB"));
        assert!(why(&memory(MemoryOp::Copy, Isa::Avx2, 1 << 30, 1)).contains("no loop for copy"));
    }

    #[test]
    fn what_was_copied_is_read_and_written() {
        let text = recorded("mbw-1.2.2-memcpy-64MiB.txt");
        let reading = Mbw.parse("", &said(&text), &copy(128 << 20, 1)).unwrap();
        assert_eq!((reading.metric, reading.bytes_factor), (MetricName::Throughput, 2.0));
        assert_eq!(reading.details["passes"], 3);
        let seconds = reading.details["mean_seconds"].as_f64().unwrap();
        let moved = f64::from(128 << 20);
        assert!((reading.value * seconds / moved - 1.0).abs() < 1e-3, "{reading:?}");
    }

    #[test]
    fn what_it_did_not_measure_is_no_reading() {
        let whole = recorded("mbw-1.2.2-memcpy-64MiB.txt");
        for (text, why) in [
            (String::new(), "no mean"),
            ("\u{fffd}garbage\n".repeat(9), "no mean"),
            (whole.split("AVG").next().unwrap().to_owned(), "no mean"),
            (whole.replace("64.00000", "63.00000"), "63 MiB and not 64"),
            (whole.replace("Copy: ", "Copy: nan "), "no number behind 'Copy:'"),
            (whole.replace("Copy: ", "Copy: 0 "), "no measurement"),
        ] {
            let reason = Mbw.parse("", &said(&text), &copy(128 << 20, 1)).unwrap_err();
            assert!(reason.contains(why), "{why}: {reason}");
        }
        let refused = Mbw.parse("", &failed(1, "Error allocating memory"), &copy(128 << 20, 1));
        assert!(refused.unwrap_err().contains("Error allocating memory"));
    }
}
