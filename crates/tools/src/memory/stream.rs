//! STREAM beside our copy, scale, add and triad: the program that everybody compiles for themselves.
//!
//! Its arrays are as large as they were compiled, which only its output says. They must hold as many bytes together as
//! our working set, which is how it is known that they do not come from a cache either. It counts bytes as we do: two
//! or three words for each element, and no write-allocate traffic.
//!
//! Whether its stores go past the cache was its compiler's choice (gcc calls memcpy for the copy, which decides by
//! size, and stores the others through the cache), so it stands beside our stores through the cache, and the
//! explanation says what is not known.
//!
//! Its figure is the one it is known by: the best of its passes after the first. Compiled with two passes
//! (`-DNTIMES=2`) that is the rate of one; with more it is the best of several, where ours is the rate over all.

use std::collections::BTreeMap;

use model::experiment::{Experiment, MemoryParams};
use model::isa::{Isa, MemoryOp};
use model::sample::MetricName;
use model::unit::format_size;
use serde_json::{Map, Value, json};

use super::memory::{no_loop, stream};
use super::{
    About, Invocation, Output, Reading, Reason, Reference, Rule, Side, Target, Version, arguments, bare_environment,
    distinct, examples, positive, succeeded,
};

pub(super) struct Stream;

static ABOUT: About = About {
    tool: "stream",
    program: "stream",
    launcher: None,
    version: Version::Written { prefix: "STREAM version $Revision: ", oldest: (5, 10) },
    stands_beside: "copy, scale, add and triad of memory at the size that it was compiled with",
    equal: "the operation, the threads and their CPUs",
    rules: &[&STORES, &PAGES, &BEST],
    how_to_get: "https://github.com/jeffhammond/STREAM; compile stream.c with OpenMP, \
                 -DSTREAM_ARRAY_SIZE= a 24th of the working set in bytes, and -DNTIMES=2",
};
static STORES: Rule = Rule { name: "compiler-stores", when: None, makes_it: Side::Either };
static PAGES: Rule = Rule { name: "unasked-pages", when: None, makes_it: Side::Either };
static BEST: Rule =
    Rule { name: "best-pass", when: Some("it was compiled with more than two passes"), makes_it: Side::Faster };

/// Arrays that it has, of which copy and scale use two at a time.
const ARRAYS: f64 = 3.0;
/// Bytes of an element: it can be compiled for others, which is another arithmetic.
const ELEMENT_BYTES: f64 = 8.0;
/// Its arrays together must have at least this share of the bytes of ours.
const LEAST_SHARE: f64 = 0.95;
/// And at most so many times.
const GREATEST_SHARE: f64 = 4.0;
/// Bytes per second that its slowest pass moves at least, for the expected time.
const SLOWEST_BYTES_PER_SECOND: f64 = 2e9;
/// Passes over its arrays that a program with two repetitions makes, its set-up included.
const PASSES: f64 = 10.0;

/// The parameters, and the name of its loop.
fn parameters(experiment: &Experiment) -> Result<(&MemoryParams, &'static str), String> {
    let params = stream(ABOUT.tool, experiment)?;
    match params.op {
        MemoryOp::Copy => Ok((params, "Copy")),
        MemoryOp::Scale => Ok((params, "Scale")),
        MemoryOp::Add => Ok((params, "Add")),
        MemoryOp::Triad => Ok((params, "Triad")),
        MemoryOp::CopyNt | MemoryOp::ScaleNt | MemoryOp::AddNt | MemoryOp::TriadNt => {
            Err("whether stream's stores go past the cache was its compiler's choice".to_owned())
        }
        op => Err(no_loop(ABOUT.tool, op)),
    }
}

impl Reference for Stream {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn example(&self) -> Experiment {
        examples::memory(MemoryOp::Triad, Isa::Avx2, 1 << 30, 1)
    }

    fn stands_beside(&self, experiment: &Experiment) -> Result<(), String> {
        parameters(experiment).map(|_| ())
    }

    fn invocation(&self, target: &Target<'_>) -> Result<Invocation, String> {
        let (params, _) = parameters(target.experiment)?;
        let cpus = distinct(target.cpus);
        let expected_seconds = 0.1 + PASSES * params.working_set as f64 / SLOWEST_BYTES_PER_SECOND;
        Ok(Invocation {
            argv: arguments(target.program, []),
            env: environment(params.threads, &cpus),
            cpus,
            expected_seconds,
            // Nobody knows how many passes it was compiled with.
            timeout_seconds: 60.0 + 10.0 * expected_seconds,
            ..Invocation::default()
        })
    }

    fn parse(&self, _version: &str, output: &Output, experiment: &Experiment) -> Result<Reading, String> {
        let tool = ABOUT.tool;
        succeeded(tool, output)?;
        let (params, name) = parameters(experiment)?;
        let text = output.stdout.as_str();
        let element_bytes = number(text, "This system uses ")?;
        if (element_bytes - ELEMENT_BYTES).abs() > 0.0 {
            return Err(format!("{tool} was compiled for elements of {element_bytes} B, and not for fp64"));
        }
        let elements = number(text, "Array size = ")?;
        same_size(elements * ELEMENT_BYTES * ARRAYS, params.working_set)?;
        // Without OpenMP it says nothing of threads.
        let threads = if text.contains("Number of Threads counted") {
            number(text, "Number of Threads counted = ")?
        } else {
            1.0
        };
        if (threads - f64::from(params.threads)).abs() > 0.0 {
            return Err(format!("{tool} ran {threads} threads and not {}", params.threads));
        }
        let [best, average, ..] = figures(text, name)?;
        if !text.contains("Solution Validates") {
            return Err(format!("{tool} does not say that its results are right"));
        }
        let value = positive(tool, name, best * 1e6)?;
        let mut details = Map::new();
        details.insert("kernel".into(), json!(name));
        details.insert("passes".into(), json!(number(text, "Each kernel will be executed ")? - 1.0));
        details.insert("mean_seconds".into(), json!(positive(tool, "mean time", average)?));
        details.insert("working_set".into(), json!(elements * ELEMENT_BYTES * ARRAYS));
        Ok(Reading { metric: MetricName::Throughput, value, bytes_factor: 1.0, details })
    }

    fn reasons(&self, _version: &str, _experiment: &Experiment, reading: &Reading) -> Vec<Reason> {
        let mut reasons = vec![
            STORES.says("stream's stores go past the cache or through it as its compiler chose, ours go through it"),
            PAGES.says("stream's arrays are in the pages that the system gives unasked"),
        ];
        let passes = reading.details.get("passes").and_then(Value::as_f64).filter(|passes| *passes > 1.0);
        reasons.extend(passes.map(|passes| BEST.says(format!("stream reports the best of {passes} passes"))));
        reasons
    }
}

/// As many threads as ours, each on a CPU of its own among ours.
fn environment(threads: u32, cpus: &[u32]) -> BTreeMap<String, String> {
    let mut environment = bare_environment();
    environment.insert("OMP_NUM_THREADS".to_owned(), threads.to_string());
    environment.insert("OMP_DYNAMIC".to_owned(), "false".to_owned());
    if !cpus.is_empty() {
        let places: Vec<String> = cpus.iter().map(|cpu| format!("{{{cpu}}}")).collect();
        environment.insert("OMP_PROC_BIND".to_owned(), "close".to_owned());
        environment.insert("OMP_PLACES".to_owned(), places.join(","));
    }
    environment
}

/// Its arrays must be as far beyond the caches as ours, and not be another experiment.
fn same_size(its: f64, ours: u64) -> Result<(), String> {
    let share = its / ours as f64;
    if (LEAST_SHARE..=GREATEST_SHARE).contains(&share) {
        return Ok(());
    }
    Err(format!(
        "stream was compiled for arrays of {:.0} MiB together, ours have {}: -DSTREAM_ARRAY_SIZE={} makes them alike",
        its / f64::from(1 << 20),
        format_size(ours),
        ours.div_ceil(24)
    ))
}

/// The number behind words at the beginning of a line.
fn number(text: &str, words: &str) -> Result<f64, String> {
    let line = text.lines().find_map(|line| line.strip_prefix(words));
    let word = line.and_then(|rest| rest.split_whitespace().next());
    word.and_then(|word| word.parse().ok())
        .ok_or_else(|| format!("{} printed no number behind '{}'", ABOUT.tool, words.trim_end()))
}

/// The line of a loop: best rate in MB/s, mean, least and greatest time in seconds.
fn figures(text: &str, name: &str) -> Result<[f64; 4], String> {
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    let numbers: Option<Vec<f64>> =
        line.map(|line| line.split_whitespace().map_while(|word| word.parse().ok()).collect());
    numbers
        .and_then(|numbers| <[f64; 4]>::try_from(numbers).ok())
        .ok_or_else(|| format!("{} printed no four figures for {name}", ABOUT.tool))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use model::isa::Isa;

    use super::*;
    use crate::reference::tests::{difference, failed, memory, recorded, said};

    const GIB: u64 = 1 << 30;

    fn parse(text: &str, op: MemoryOp, threads: u32) -> Result<Reading, String> {
        Stream.parse("5.10", &said(text), &memory(op, Isa::Avx2, GIB, threads))
    }

    #[test]
    fn its_threads_are_bound_to_our_cpus() {
        let experiment = memory(MemoryOp::Triad, Isa::Avx2, GIB, 2);
        let target = Target {
            experiment: &experiment,
            program: Path::new("/opt/stream"),
            cpus: &[3, 1],
            other_cpus: &[],
            seconds: 0.5,
            file: None,
            our_rate: None,
            version: "",
            offered_rate: None,
            launcher: None,
        };
        let invocation = Stream.invocation(&target).unwrap();
        assert_eq!((invocation.argv, invocation.cpus), (vec!["/opt/stream".to_owned()], vec![1, 3]));
        let env: Vec<String> = invocation.env.iter().map(|(name, value)| format!("{name}={value}")).collect();
        assert_eq!(
            env.join(" "),
            "HOME={folder} LC_ALL=C OMP_DYNAMIC=false OMP_NUM_THREADS=2 OMP_PLACES={1},{3} OMP_PROC_BIND=close \
             TMPDIR={folder}"
        );
    }

    #[test]
    fn only_what_it_does_is_compared() {
        let why = |op| Stream.stands_beside(&memory(op, Isa::Avx2, GIB, 1)).unwrap_err();
        assert!(why(MemoryOp::TriadNt).contains("compiler's choice"));
        assert!(why(MemoryOp::Read).contains("no loop for read"));
        for op in [MemoryOp::Copy, MemoryOp::Scale, MemoryOp::Add, MemoryOp::Triad] {
            assert_eq!(Stream.stands_beside(&memory(op, Isa::Avx2, GIB, 1)), Ok(()));
        }
    }

    #[test]
    fn recorded_runs_are_read() {
        let text = recorded("stream-5.10-1043MiB-t2.txt");
        for op in [MemoryOp::Copy, MemoryOp::Scale, MemoryOp::Add, MemoryOp::Triad] {
            let reading = parse(&text, op, 2).unwrap();
            assert_eq!((reading.metric, reading.bytes_factor), (MetricName::Throughput, 1.0));
            let arrays = if matches!(op, MemoryOp::Copy | MemoryOp::Scale) { 2.0 } else { 3.0 };
            let seconds = reading.details["mean_seconds"].as_f64().unwrap();
            let of_mean = arrays * 8.0 * 45_600_000.0 / seconds;
            assert!((reading.value / of_mean - 1.0).abs() < 1e-3, "one pass is its best and its mean: {reading:?}");
            assert_eq!(
                (&reading.details["passes"], reading.details["kernel"].as_str().map(str::len) > Some(2)),
                (&json!(1.0), true)
            );
        }
        let serial = recorded("stream-5.10-91MiB-serial.txt");
        let small = memory(MemoryOp::Copy, Isa::Avx2, 96_000_000, 1);
        let reading = Stream.parse("5.10", &said(&serial), &small).unwrap();
        assert_eq!(reading.details["passes"], 9.0);
        let explained = difference(&Stream, "5.10", &small, &reading).unwrap();
        assert!(explained.contains("as its compiler chose") && explained.contains("best of 9 passes"), "{explained}");
    }

    #[test]
    fn arrays_of_another_size_are_refused_with_the_one_that_is_alike() {
        let reason = parse(&recorded("stream-5.10-91MiB-serial.txt"), MemoryOp::Copy, 1).unwrap_err();
        assert!(reason.contains("92 MiB") && reason.contains("-DSTREAM_ARRAY_SIZE=44739243"), "{reason}");
        let whole = recorded("stream-5.10-1043MiB-t2.txt");
        let small = memory(MemoryOp::Copy, Isa::Avx2, 64 << 20, 2);
        assert!(Stream.parse("5.10", &said(&whole), &small).unwrap_err().contains("1044 MiB"));
        let reason = parse(&recorded("stream-5.10-float.txt"), MemoryOp::Copy, 1).unwrap_err();
        assert!(reason.contains("elements of 4 B"), "{reason}");
    }

    #[test]
    fn what_it_did_not_measure_is_no_reading() {
        let whole = recorded("stream-5.10-1043MiB-t2.txt");
        for (text, why) in [
            (String::new(), "no number behind 'This system uses'"),
            ("\u{fffd}garbage\n".repeat(9), "no number behind"),
            (whole.split("Triad:").next().unwrap().to_owned(), "no four figures for Triad"),
            (whole.split("Solution").next().unwrap().to_owned(), "does not say that its results are right"),
            (whole.replace("Triad:  ", "Triad: inf "), "no four figures"),
            (whole.replace("Triad:  ", "Triad: - "), "no four figures"),
            (whole.replace("counted = 2", "counted = 3"), "3 threads and not 2"),
        ] {
            let reason = parse(&text, MemoryOp::Triad, 2).unwrap_err();
            assert!(reason.contains(why), "{why}: {reason}");
        }
        let refused = Stream.parse("5.10", &failed(1, "out of memory"), &memory(MemoryOp::Copy, Isa::Avx2, GIB, 1));
        assert!(refused.unwrap_err().contains("out of memory"));
    }
}
