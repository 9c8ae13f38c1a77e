//! stress-ng's memrate beside reads and writes that go straight through memory with one thread: the one of its many
//! figures that counts what ours count.
//!
//! Its worker goes through a buffer of the size that it is told with one loop after the other, named for the bits that
//! each takes at a time; we read the one as wide as our vectors (`read256` for `avx2`). Its `MB` are 2^20 B: it divides
//! KiB by 1024 (`stress-memrate.c`), and it counts each byte once. Which instructions a loop became is its compiler's
//! choice; its buffer is in huge pages where the system gives them for the asking.
//!
//! Several of its workers would each be in another loop at the same time, so only one is compared; and since it looks at
//! the clock around every pass, only buffers that take a while to go through.
//!
//! Not compared: `--stream`, whose one figure is over its four loops together; `--memcpy`, whose buffers fit into a
//! first-level cache; `--cpu` and the other bogo operations, which count rounds of its own making.

use model::experiment::{Experiment, MemoryParams};
use model::isa::{Isa, MemoryOp, Pages};
use model::sample::MetricName;
use serde_json::{Map, json};

use super::memory::{no_loop, stream};
use super::{
    About, Invocation, Output, OwnFolder, Reading, Reason, Reference, Rule, Side, Target, Version, arguments,
    bare_environment, complaint, distinct, examples, positive, succeeded,
};

pub(super) struct StressNg;

static ABOUT: About = About {
    tool: "stress-ng",
    program: "stress-ng",
    launcher: None,
    version: Version::Asked { argument: "--version", prefix: "stress-ng, version ", oldest: (0, 15) },
    stands_beside: "reads and writes of memory from 1 MiB, by one thread (its memrate)",
    equal: "the working set, the CPU and the bits that a loop takes at a time",
    rules: &[&COMPILED, &HUGE],
    how_to_get: "Debian package stress-ng; https://github.com/ColinIanKing/stress-ng",
};
static COMPILED: Rule = Rule { name: "compiler-loop", when: None, makes_it: Side::Either };
static HUGE: Rule = Rule { name: "huge-pages", when: Some("ours is in base pages"), makes_it: Side::Faster };

/// Bytes of its `MB`.
const MIB: f64 = (1 << 20) as f64;
/// The smallest buffer that is compared: a look at the clock is less than a thousandth of a pass over it.
const LEAST_BYTES: u64 = 1 << 20;
/// Loops that it goes through in a round, ours among them: versions have some more or less.
const LOOPS: f64 = 30.0;
/// The share of a run's time that is for the one loop that we read: all others take as long.
const SHARE: f64 = 0.2;
/// Bytes per second that its loops reach on average at least, for the expected time: one takes a byte at a time.
const SLOWEST_BYTES_PER_SECOND: f64 = 1e9;

/// The parameters, and the name of its loop.
fn parameters(experiment: &Experiment) -> Result<(&MemoryParams, &'static str), String> {
    let params = stream(ABOUT.tool, experiment)?;
    if params.threads != 1 {
        return Err("stress-ng's workers would each be in another loop at the same time".to_owned());
    }
    if params.working_set < LEAST_BYTES || !params.working_set.is_multiple_of(1024) {
        return Err(
            "stress-ng is compared over whole KiB from 1 MiB on: it looks at the clock around every pass".into()
        );
    }
    let name = match (params.op, params.isa) {
        (MemoryOp::Read, Isa::Scalar) => "read64",
        (MemoryOp::Read, Isa::Sse2) => "read128",
        (MemoryOp::Read, Isa::Avx2) => "read256",
        (MemoryOp::Read, Isa::Avx512) => "read512",
        (MemoryOp::Write, Isa::Scalar) => "write64",
        (MemoryOp::Write, Isa::Sse2) => "write128",
        (MemoryOp::Write, Isa::Avx2) => "write256",
        (MemoryOp::Write, Isa::Avx512) => "write512",
        (MemoryOp::WriteNt, Isa::Sse2) => "write128nt",
        (MemoryOp::WriteNt, isa) => return Err(format!("stress-ng has no stores past the cache with {isa}")),
        (op, _) => return Err(no_loop(ABOUT.tool, op)),
    };
    Ok((params, name))
}

impl Reference for StressNg {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn example(&self) -> Experiment {
        examples::memory(MemoryOp::Read, Isa::Sse2, 16 << 20, 1)
    }

    fn stands_beside(&self, experiment: &Experiment) -> Result<(), String> {
        parameters(experiment).map(|_| ())
    }

    fn invocation(&self, target: &Target<'_>) -> Result<Invocation, String> {
        let (params, _) = parameters(target.experiment)?;
        let bytes = params.working_set as f64;
        let rounds = target.our_rate.map_or(1.0, |rate| (rate * SHARE * target.seconds / bytes).ceil().clamp(1.0, 1e3));
        let expected_seconds = 0.1 + (rounds * LOOPS + 2.0) * bytes / SLOWEST_BYTES_PER_SECOND;
        let timeout_seconds = 20.0 + 10.0 * expected_seconds;
        let words = [
            "--memrate".to_owned(),
            "1".to_owned(),
            "--memrate-bytes".to_owned(),
            params.working_set.to_string(),
            "--memrate-ops".to_owned(),
            rounds.to_string(),
            // Beyond the time after which we end it: the rounds do.
            "--timeout".to_owned(),
            format!("{:.0}s", 2.0 * timeout_seconds),
            "--metrics-brief".to_owned(),
        ];
        Ok(Invocation {
            argv: arguments(target.program, words),
            env: bare_environment(),
            cpus: distinct(target.cpus),
            // For its temporary files, should it want any.
            folder: Some(OwnFolder::default()),
            expected_seconds,
            timeout_seconds,
            ..Invocation::default()
        })
    }

    fn parse(&self, _version: &str, output: &Output, experiment: &Experiment) -> Result<Reading, String> {
        let (params, name) = parameters(experiment)?;
        let tool = ABOUT.tool;
        succeeded(tool, output)?;
        // Versions differ in which stream they write to.
        let lines = || output.stdout.lines().chain(output.stderr.lines());
        let buffer = lines().find_map(|line| line.split_once("memrate: using buffer size of ")?.1.split('K').next());
        let wanted = (params.working_set >> 10).to_string();
        // Of 0.15; later ones do not say it.
        if let Some(buffer) = buffer.filter(|buffer| *buffer != wanted) {
            return Err(format!("stress-ng used a buffer of {buffer} KiB and not {wanted} KiB"));
        }
        let rates: Vec<f64> = lines().filter_map(|line| rate(line, name)).collect();
        let [rate] = rates[..] else {
            let (found, said) = (rates.len(), complaint(output));
            return Err(format!("stress-ng printed {found} figures for its loop {name} and not 1: {said}"));
        };
        let value = positive(tool, name, rate * MIB)?;
        let mut details = Map::new();
        details.insert("loop".into(), json!(name));
        details.insert("working_set".into(), json!(params.working_set));
        Ok(Reading { metric: MetricName::Throughput, value, bytes_factor: 1.0, details })
    }

    fn reasons(&self, _version: &str, experiment: &Experiment, _reading: &Reading) -> Vec<Reason> {
        let Ok((params, name)) = parameters(experiment) else { return Vec::new() };
        let mut reasons = vec![
            COMPILED
                .says(format!("stress-ng's loop {name} became what instructions its compiler chose, ours are stated")),
        ];
        if params.pages == Pages::Base4K {
            reasons
                .push(HUGE.says("stress-ng's buffer is in huge pages where the system has them, ours in base pages"));
        }
        reasons
    }
}

/// The MB per second of a loop, if the line is on it: `… memrate  65536.00 read128 MB per sec (… mean of 1 instances)`.
fn rate(line: &str, name: &str) -> Option<f64> {
    let mut words = line.split_whitespace().skip_while(|word| *word != "memrate").skip(1);
    let number: f64 = words.next()?.parse().ok()?;
    let is_it = words.next()? == name && words.take(3).eq(["MB", "per", "sec"]);
    (is_it && number.is_finite()).then_some(number)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::reference::tests::{difference, failed, memory, recorded, said};

    const RECORDED: &str = "stress-ng-0.15.06-memrate-16MiB.txt";

    fn parse(text: &str, op: MemoryOp, isa: Isa) -> Result<Reading, String> {
        StressNg.parse("0.15.06", &said(text), &memory(op, isa, 16 << 20, 1))
    }

    /// The figure of a loop, read by hand.
    fn by_hand(name: &str) -> f64 {
        let words: Vec<String> = recorded(RECORDED).split_whitespace().map(str::to_owned).collect();
        let at = words.iter().position(|word| word == name).unwrap();
        words[at - 1].parse::<f64>().unwrap() * f64::from(1 << 20)
    }

    #[test]
    fn the_loop_as_wide_as_ours_is_read() {
        for (op, isa, name) in [
            (MemoryOp::Read, Isa::Scalar, "read64"),
            (MemoryOp::Read, Isa::Sse2, "read128"),
            (MemoryOp::Read, Isa::Avx2, "read256"),
            (MemoryOp::Read, Isa::Avx512, "read512"),
            (MemoryOp::Write, Isa::Sse2, "write128"),
            (MemoryOp::Write, Isa::Avx512, "write512"),
            (MemoryOp::WriteNt, Isa::Sse2, "write128nt"),
        ] {
            let reading = parse(&recorded(RECORDED), op, isa).unwrap();
            assert_eq!((reading.metric, reading.value), (MetricName::Throughput, by_hand(name)), "{name}");
            let sentence = difference(&StressNg, "0.15.06", &memory(op, isa, 16 << 20, 1), &reading).unwrap();
            assert!(sentence.contains(name) && sentence.contains("huge pages"), "{sentence}");
        }
    }

    #[test]
    fn its_rounds_are_as_many_as_our_rate_allows() {
        let experiment = memory(MemoryOp::Read, Isa::Avx2, 16 << 20, 1);
        let target = Target {
            experiment: &experiment,
            program: Path::new("/usr/bin/stress-ng"),
            launcher: None,
            cpus: &[1],
            other_cpus: &[],
            seconds: 0.5,
            file: None,
            our_rate: Some(10.0 * f64::from(16 << 20)),
            version: "0.15.06",
            offered_rate: None,
        };
        let called = |target: &Target<'_>| StressNg.invocation(target).unwrap().argv.join(" ");
        assert!(
            called(&target).starts_with("/usr/bin/stress-ng --memrate 1 --memrate-bytes 16777216 --memrate-ops 1 ")
        );
        let fast = Target { our_rate: Some(1000.0 * f64::from(16 << 20)), ..target };
        assert!(called(&fast).contains("--memrate-ops 100 "), "a tenth of a second for the one loop");
    }

    #[test]
    fn only_what_it_does_is_compared() {
        let why = |op, isa, bytes, threads| StressNg.stands_beside(&memory(op, isa, bytes, threads)).unwrap_err();
        assert!(why(MemoryOp::Read, Isa::Avx2, 16 << 20, 2).contains("another loop"));
        assert!(why(MemoryOp::Read, Isa::Avx2, 64 << 10, 1).contains("1 MiB"));
        assert!(why(MemoryOp::WriteNt, Isa::Avx2, 16 << 20, 1).contains("no stores past the cache with avx2"));
        assert!(why(MemoryOp::Triad, Isa::Avx2, 16 << 20, 1).contains("no loop for triad"));
    }

    #[test]
    fn what_it_did_not_measure_is_no_reading() {
        let whole = recorded(RECORDED);
        let line = whole.lines().find(|line| line.contains(" read256 ")).unwrap();
        for (text, why) in [
            (String::new(), "0 figures for its loop read256"),
            (whole.replace("size of 16384K", "size of 1024K"), "1024 KiB and not 16384 KiB"),
            (whole.replace(" read256 MB", " read256 GB"), "0 figures"),
            (format!("{whole}{line}\n"), "2 figures"),
            (whole.replace(line, "stress-ng: metrc: [1] memrate  nan read256 MB per sec (mean)"), "0 figures"),
            (whole.replace(line, "stress-ng: metrc: [1] memrate  0.00 read256 MB per sec (mean)"), "no measurement"),
        ] {
            let reason = parse(&text, MemoryOp::Read, Isa::Avx2).unwrap_err();
            assert!(reason.contains(why), "{why}: {reason}");
        }
        let experiment = memory(MemoryOp::Read, Isa::Avx2, 16 << 20, 1);
        let refused = StressNg.parse("0.15.06", &failed(1, "Unknown option"), &experiment).unwrap_err();
        assert!(refused.contains("Unknown option"), "{refused}");
    }
}
